"""Exact integers and decimals of a file, for proofs: learners round them to floats."""

import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from linsep.errors import DataError, Hint, hint
from linsep.sources.base import Batch, Source

#: whole numbers up to here are floats
EXACT = 2**53
_DIGITS = re.compile(r"\s*[-+]?[0-9]+\s*")


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


def unrounded(source: Source) -> Iterator[Batch]:
    """Yield all rows of a source as floats; raise DataError for a number that no double equals."""
    for batch in source.exactly(weightless=True):
        if batch.X.dtype != object:
            yield batch
            continue
        X = batch.X.astype(np.float64)
        if (long := X != batch.X).any():
            row, column = np.argwhere(long)[0].tolist()
            raise DataError(
                f"{source.where(batch.first + row)}, {source.feature(column)} is "
                f"{batch.X[row, column]}, which float64 does not hold: shorten it."
            )
        yield batch._replace(X=X)


class WholeNumbers:
    """Checks that no whole number in a text file is rounded.

    Parameters
    ----------
    file : TextFile
    """

    def __init__(self, file: Any):
        self._file, self._cells, self._passed = file, file.written(), 0

    def check(self, start: int, numbers: pa.Table, kept: np.ndarray | None) -> None:
        """Raise DataError for a whole number, in digits, that no double equals.

        Parameters
        ----------
        start : number of the first row of the table in the file, larger in every call
        numbers : the columns of numbers, as floats
        kept : which rows count, None for all
        """
        long = np.zeros(numbers.num_rows, bool)
        for column in numbers.columns:
            if pa.types.is_floating(column.type):
                long |= np.abs(column.to_numpy()) >= EXACT
        for row in (start + np.flatnonzero(long if kept is None else long & kept)).tolist():
            cells = next(islice(self._cells, row - self._passed, None))
            self._passed = row + 1
            for name in numbers.column_names:
                if is_rounded(cells.get(name, "")):
                    leave_out = hint("leave the column out with {}", exclude=[name])
                    place = self._file.where(row)
                    raise rounded(place, f"column '{name}'", cells[name], leave_out)


def is_rounded(text: str) -> bool:
    """Return whether text is a whole number, in digits, that no double equals."""
    return bool(_DIGITS.fullmatch(text)) and Decimal(text.strip()) != Decimal(float(text))


def rounded(place: str, column: str, text: str, *hints: Hint) -> DataError:
    """Return what to raise where this is so."""
    return DataError(
        f"{place}, {column} is {text.strip()[:60]}, which float64 does not hold, and numbers in "
        "text are read as floats",
        "save them as Parquet in the program that they come from",
        *hints,
    )
