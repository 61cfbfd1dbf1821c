"""Exact integers and decimals of a file, for proofs. Learners round them to floats."""

import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from linsep.errors import DataError, Hint, hint

#: whole numbers up to here are floats
EXACT = 2**53
#: advice for columns of numbers that are too long
SMALLER = "round it, or subtract a constant from the whole column"
_DIGITS = re.compile(r"\s*[-+]?[0-9]+\s*")


def exact_numbers(
    table: pa.Table,
    names: list[str],
    X: np.ndarray,
    sparse: bool,
    place: Callable[[int], str],
) -> np.ndarray:
    """Return X, floats of the columns of a table with these names, or an array of Python numbers
    if these have more digits. ``sparse`` rows, of tables with text columns, hold floats only.
    """
    found = X
    for number, name in enumerate(names):
        if sparse:
            refuse_rounded(table, name, X[:, number], place, 0.0)
            continue
        for row, value in rounded_cells(table.column(name), X[:, number]).items():
            if found is X:
                found = X.astype(object)
            found[row, number] = value
    return found


def rounded_cells(
    column: pa.ChunkedArray, floats: np.ndarray, least: float = 0.0
) -> dict[int, int | Fraction]:
    """Return the numbers of a column that are not the ``floats`` that were read, by their rows:
    64-bit integers and decimals of files that state types, from ``least`` on.
    """
    if not may_be_rounded(column.type):
        return {}
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    rows = np.flatnonzero(np.abs(floats) >= (least if pa.types.is_decimal(kind) else EXACT))
    if not rows.size:
        return {}
    some = column.take(pa.array(rows))
    values = (some.cast(kind) if some.type != kind else some).to_pylist()
    pairs = zip(rows.tolist(), values, floats[rows].tolist(), strict=True)
    return {
        row: value if isinstance(value, int) else Fraction(value)
        for row, value, double in pairs
        if value is not None and value != double
    }


def may_be_rounded(kind: pa.DataType) -> bool:
    """Return whether doubles cannot represent all numbers of a type that a file states."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.types.is_decimal(kind) or (pa.types.is_integer(kind) and kind.bit_width == 64)


def refuse_rounded(
    table: pa.Table, name: str, floats: np.ndarray, place: Callable[[int], str],
    least: float = EXACT,
) -> None:  # fmt: skip
    """Raise DataError for a number in a column, from ``least`` on, that no double equals."""
    for row, value in rounded_cells(table.column(name), floats, least).items():
        raise DataError(
            place(row) + f", column '{name}' is {value}, which is not exactly representable as "
            "float64",
            SMALLER, hint("leave the column out with {}", exclude=[name]),
            code="not-exact", column=name, value=value,
        )  # fmt: skip


class WholeNumbers:
    """The whole numbers of a text file that are rounded when they are read as floats.

    Parameters
    ----------
    file : TextFile
    """

    def __init__(self, file: Any):
        self._file, self._cells, self._passed = file, file.written(), 0

    def check(self, start: int, numbers: pa.Table, kept: np.ndarray | None, proof: bool) -> None:
        """Raise DataError for a whole number, in digits, that no double equals; ``proof`` is
        whether it would be exact in a file that states types. Others are as for :meth:`long`.
        """
        for row, name, text in self.long(start, numbers, kept):
            if not is_rounded(text):
                continue
            parquet = "export the data as Parquet instead"
            raise _rounded(
                self._file.where(start + row) + f", column '{name}'", text,
                parquet if proof else SMALLER,
                path=self._file.path, row=start + row + 1, column=name,
            )  # fmt: skip

    def long(
        self, start: int, numbers: pa.Table, kept: np.ndarray | None = None
    ) -> Iterator[tuple[int, str, str]]:
        """Yield row of the table, column and digits of whole numbers, in the rows with one of 2^53
        or more. ``start`` is the number of the first row in the file, larger in every call;
        ``numbers`` are the columns, as floats; ``kept`` is which rows count, None for all.
        """
        long = np.zeros(numbers.num_rows, bool)
        for column in numbers.columns:
            if pa.types.is_floating(column.type):
                long |= np.abs(column.to_numpy()) >= EXACT
        for row in (start + np.flatnonzero(long if kept is None else long & kept)).tolist():
            cells = next(islice(self._cells, row - self._passed, None))
            self._passed = row + 1
            for name in numbers.column_names:
                if _DIGITS.fullmatch(cells.get(name, "")):
                    yield row - start, name, cells[name]


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
    """Raise DataError for a whole number, in digits, in a line that no double equals; ``written``
    matches the name and the digits of a feature.
    """
    for name, digits in written.findall(line):
        if is_rounded(digits):
            raise _rounded(f"{place}, {feature.format(name)}", digits, SMALLER, column=name)


def _rounded(place: str, digits: str, *hints: str | Hint, **fields: Any) -> DataError:
    return DataError(
        f"{place} is {digits.strip()[:60]}, which is not exactly representable as float64",
        *hints,
        code="not-exact", value=digits, **fields,
    )  # fmt: skip
