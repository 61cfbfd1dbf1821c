"""Exact integers and decimals of a table, for proofs: learners round them to floats."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from linsep.errors import DataError, hint

#: whole numbers up to here are floats
EXACT = 2**53


def exact_numbers(
    table: pa.Table,
    names: list[str],
    kept: np.ndarray | None,
    X: np.ndarray,
    sparse: bool,
    place: Callable[[int], str],
) -> np.ndarray:
    """Return X, or an array of Python's numbers if columns of the table have more digits.

    Parameters
    ----------
    table : its columns with these names are those of X
    kept : which of its rows X holds, None for all
    X : their floats, with what stands for missing values
    sparse : whether there is text beside, so that rows are sparse, of floats only
    place : function from a row of X to where it stands, for errors
    """
    found = X
    for number, name in enumerate(names):
        column = table.column(name)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if not _may_be_long(column, X[:, number]):
            continue
        values = (column if kept is None else column.filter(pa.array(kept))).to_pylist()
        for row, value in enumerate(values):
            if value is None or _exact(value) == float(X[row, number]):
                continue
            if sparse:
                raise DataError(
                    f"{place(row)}, column '{name}' is {value}, which float64 does not hold, and "
                    "beside columns of text there are floats only",
                    hint("leave the column out with {}", exclude=[name]),
                )
            if found is X:
                found = X.astype(object)
            found[row, number] = _exact(value)
    return found


def _may_be_long(column: pa.ChunkedArray, floats: np.ndarray) -> bool:
    """Return whether a column may hold numbers that doubles do not represent."""
    if pa.types.is_decimal(column.type):
        return True
    if not pa.types.is_integer(column.type) or column.type.bit_width < 64 or not len(floats):
        return False
    return bool(np.abs(floats).max() >= EXACT)


def _exact(value: Any) -> int | Fraction:
    return value if isinstance(value, int) else Fraction(value)
