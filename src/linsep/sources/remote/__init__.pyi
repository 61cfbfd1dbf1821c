"""Public names, as :mod:`lazy_loader` finds them at run time and type checkers read them."""

from .address import shown as shown
from .file import (
    File as File,
    RemoteFile as RemoteFile,
)
