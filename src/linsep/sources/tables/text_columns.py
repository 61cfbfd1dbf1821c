"""Text columns that are no features: numbers with something else among them, and ids."""

import re

import numpy as np
import pyarrow as pa

from linsep.errors import DataError, Hint, hint
from linsep.sources.tables.arrow import TableFile
from linsep.sources.tables.cells import coded
from linsep.sources.tables.encoding import Columns
from linsep.sources.tables.roles import first_rows

#: rows from which a text column without a repeated value counts as an id
_MANY_ROWS = 100
#: different numbers from which a text column with few other values counts as numeric
_MANY_NUMBERS, _FEW_ODD = 10, 0.1
# Text with a leading zero, such as 02134, is a code and not a number.
NUMBER = r"\s*[-+]?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][-+]?\d+)?\s*"
_NUMBER = re.compile(NUMBER)
#: what stands for a missing value where all others are numbers
_MARK = re.compile(r"[^\w\s]+")
_DECIMAL_COMMA = re.compile(r"\s*[-+]?(\d{1,3}(\.\d{3})+|\d+)(,\d+)?\s*")
_GROUPED = re.compile(r"\s*[-+]?(0|[1-9]\d{0,2}(,\d{3})*)(\.\d+)?\s*")


def check_text_columns(files: list[TableFile], columns: Columns) -> None:
    """Raise DataError for text columns whose first values are numbers, or nearly all, or never
    repeat.

    With hashing, values may be as many as they like.
    """
    if columns.words and not columns.text and columns.hash_bits is not None:
        raise DataError(
            f"hash_bits is {columns.hash_bits}, but words are hashed by a setting of their own",
            hint("take {}", text_bits=columns.hash_bits),
        )
    file, head = first_rows(files)
    for name in columns.text:
        error = text_refusal(file, name, head.column(name), columns.hash_bits is not None)
        if error is not None:
            raise error


def text_refusal(
    file: TableFile, name: str, first: pa.Array, hashed: bool = False
) -> DataError | None:
    """Return why a text column with these first values is no feature; None if it is one."""
    codes, values = coded(pa.chunked_array([first]), name, file.where)
    filled = int(np.count_nonzero(codes >= 0))
    odd = [code for code, value in enumerate(values) if not _NUMBER.fullmatch(value)]
    marks = {values[code].strip() for code in odd} if file.marks_missing else set()
    if len(marks) == 1 and len(odd) < len(values) and _MARK.fullmatch(min(marks)):
        return DataError(
            f"{file.path}, column '{name}' holds numbers and '{min(marks)}'",
            *missing_mark(min(marks)),
            hint("leave the column out with {}", exclude=[name]),
        )
    if values and not odd:
        later = [hint("say what stands for a missing value with {}", null_values=None)]
        return DataError(
            f"{file.path}, column '{name}' looks like numbers stored as text (such as "
            f"'{values[0]}')",
            "convert it to numbers",
            *later * file.marks_missing,
            hint("leave it out with {}", exclude=[name]),
        )
    if odd and (message := _commas(values)):
        return DataError(
            f"{file.path}, column '{name}' has {message} (such as '{values[odd[0]]}')",
            "write numbers without them" if "thousands" in message else "write points",
            hint("leave it out with {}", exclude=[name]),
        )
    rows = np.flatnonzero(np.isin(codes, odd))
    if len(values) - len(odd) >= _MANY_NUMBERS and rows.size <= _FEW_ODD * filled:
        more = f" (one of {rows.size:,} such rows)" if rows.size > 1 else ""
        return DataError(
            f"{file.where(int(rows[0]))}, column '{name}' holds "
            f"'{values[codes[rows[0]]][:60]}'{more}, where nearly all others are numbers",
            "correct it",
            hint("leave the cell empty and choose {}", missing="mean"),
            *missing_mark(values[codes[rows[0]]]) * file.marks_missing,
            hint("leave the column out with {}", exclude=[name]),
        )
    if len(values) == filled >= _MANY_ROWS and not hashed:
        return DataError(
            f"{file.path}, column '{name}' has another text in each of its first "
            f"{filled:,} rows, as ids and sentences have, of which nothing can be learnt",
            hint("read its words with {}", text=[name]),
            hint("leave it out with {}", exclude=[name]),
            hint("if its values do come again later, hash them with {}", hash_bits=20),
        )
    return None


def missing_mark(value: str) -> list[Hint]:
    """Return the advice for something that may stand for a missing value; none if it has digits."""
    if any(letter.isdigit() for letter in value):
        return []
    return [hint("take it for a missing value with {}", null_values=[value.strip()])]


def _commas(values: list[str]) -> str | None:
    """Return what commas mean if all values are numbers, some with commas."""
    if not any("," in value or "." in value for value in values):
        return None  # codes with leading zeros
    grouped, decimal = (all(map(p.fullmatch, values)) for p in (_GROUPED, _DECIMAL_COMMA))
    # Commas before three digits, as in 1,234, may be either; more often they separate thousands.
    return "commas between thousands" if grouped else "decimal commas" if decimal else None
