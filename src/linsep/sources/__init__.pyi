"""Public names, as :mod:`lazy_loader` finds them at run time and type checkers read them."""

from .arrays import ArraySource as ArraySource
from .base import Batch as Batch
from .base import Source as Source
from .opening import open_source as open_source
from .svmlight import SvmlightSource as SvmlightSource
from .svmlight import load_svmlight as load_svmlight
from .tables import TableSource as TableSource
from .tables import load_table as load_table
