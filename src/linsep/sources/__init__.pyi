"""Public names, as :mod:`lazy_loader` finds them at run time and type checkers read them."""

from .arrays import ArraySource as ArraySource
from .base import Batch as Batch, Source as Source
from .opening import open_source as open_source
from .svmlight import SvmlightSource as SvmlightSource
from .tables.table import TableSource as TableSource
