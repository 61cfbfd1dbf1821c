"""Exact integers and decimals of a file, for proofs. Learners round them to floats."""

import re
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from linsep.errors import DataError, Hint

#: whole numbers up to here are floats
EXACT = 2**53
#: advice for columns of numbers that are too long
SMALLER = "round it, or subtract a constant from the whole column"
_DIGITS = re.compile(r"\s*[-+]?[0-9]+\s*")


def rounded_cells(
    column: pa.ChunkedArray, floats: np.ndarray, least: float = 0.0
) -> dict[int, int | Fraction]:
    """Return the numbers of a column that are not the ``floats`` that were read, by their rows:
    64-bit integers and decimals of files that state types, from ``least`` on.
    """
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not pa.types.is_decimal(kind):
        least = EXACT
        if not (pa.types.is_integer(kind) and kind.bit_width == 64):
            return {}
    rows = np.flatnonzero(np.abs(floats) >= least)
    values = column.take(pa.array(rows)).cast(kind).to_pylist() if rows.size else []
    return {
        row: value if isinstance(value, int) else Fraction(value)
        for row, value, double in zip(rows.tolist(), values, floats[rows].tolist(), strict=True)
        if value is not None and value != double
    }


class WholeNumbers:
    """The whole numbers of a text file that are rounded when they are read as floats."""

    def __init__(self, file: Any):
        self._file, self._cells, self._passed = file, file.written(), 0

    def check(self, start: int, numbers: pa.Table, rows: np.ndarray) -> None:
        """Raise DataError for a whole number, in digits, that no double equals, in columns read as
        floats, of which some ``rows`` count; ``start`` is the number of the first row in the file,
        larger in every call.
        """
        long = np.zeros(numbers.num_rows, bool)
        for column in numbers.columns:
            if pa.types.is_floating(column.type):
                long |= np.abs(column.to_numpy()) >= EXACT
        for row in (start + rows[long[rows]]).tolist():
            cells = next(islice(self._cells, row - self._passed, None))
            self._passed = row + 1
            for name in numbers.column_names:
                if is_rounded(text := cells.get(name, "")):
                    where = self._file.where(row) + f", column '{name}'"
                    raise not_exact(where, text, column=name)


def is_rounded(text: str) -> bool:
    """Return whether text is a whole number, in digits, that no double equals."""
    return bool(_DIGITS.fullmatch(text)) and Decimal(text.strip()) != Decimal(float(text))


def far_rows(X: Any) -> list[int]:
    """Return the rows of a CSR matrix with a value of 2^53 or more, which may have been rounded."""
    if not X.data.size or max(X.data.max(), -X.data.min()) < EXACT:
        return []
    far = np.flatnonzero(np.abs(X.data) >= EXACT)
    return np.unique(np.searchsorted(X.indptr, far, "right") - 1).tolist()


def check_written(place: str, feature: str, line: str, written: re.Pattern[str]) -> None:
    """Raise DataError for a whole number in a line that no double equals; ``written`` matches the
    name and the digits of a feature.
    """
    for name, digits in written.findall(line):
        if is_rounded(digits):
            raise not_exact(f"{place}, {feature.format(name)}", digits, column=name)


def not_exact(place: str, value: Any, *others: Hint, **fields: Any) -> DataError:
    said = f" is {str(value).strip()[:60]}, which is not exactly representable as float64"
    return DataError(place + said, SMALLER, *others, code="not-exact", value=value, **fields)
