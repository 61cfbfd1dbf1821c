"""Columns of row numbers and row labels, as pandas writes them, which are no features."""

import re

from linsep.errors import DataError, hint
from linsep.sources.remote.file import File

_LEVEL = re.compile(r"__index_level_\d+__")


def is_row_label(name: str) -> bool:
    """Return whether a column of this name seems to hold row numbers or labels."""
    return not name.strip() or _LEVEL.fullmatch(name) is not None


def check_feature(path: File, name: str) -> None:
    """Raise DataError for a column of such a name."""
    if not is_row_label(name):
        return
    leave_out = hint("leave it out with {}", exclude=[name])
    if name.strip():
        said = f"{path}, column '{name}' holds the row labels of a pandas table"
        raise DataError(said, "rename it", leave_out)
    said = f"{path} has a column without a name, such as row numbers that pandas wrote"
    raise DataError(said, "name it", leave_out)
