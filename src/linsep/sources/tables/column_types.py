"""The types of the columns of a table, stated by files or inferred by Arrow from the first rows
with a value; and text that represents another type, such as numbers with commas.
"""

import re
from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from linsep.errors import DataError, Hint, NoRows, hint
from linsep.sources.tables.conversions import NO_NUMBER
from linsep.sources.tables.spellings import MOST, Spelling, date_formats, number_options
from linsep.sources.tables.table_file import SAMPLE_ROWS, TableFile, as_text, is_text, text_codes

#: different values that are inspected to find out how numbers and dates are written
MOST_TRIED = 1000
#: rows from which a text column without a repeated value is treated as an ID
_MANY_ROWS = 100
#: different numbers from which a text column with few other values is treated as numeric
_MANY_NUMBERS = 10
#: or below a first cell, which may hold units
_UNITS = 3
#: different ones that mark missing values, however few numbers there are
_MARKS = 3
# Text with a leading zero, such as 02134, is a code and not a number.
NUMBER = r"\s*[-+]?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][-+]?\d+)?\s*"
_NUMBER = re.compile(NUMBER)
#: marks of missing values among numbers
_MARK = re.compile(r"[^\w\s]+|\\N|#\S+|na|none|missing", re.IGNORECASE)


def family_of(kind: pa.DataType) -> str | None:
    """Return "number", "bool" or "text"; None for a type that cannot be a feature."""
    types = pa.types
    if types.is_dictionary(kind):
        family = family_of(kind.value_type)
        return "text" if is_ordered(kind) and family is not None else family
    if types.is_boolean(kind):
        return "bool"
    if is_text(kind):
        return "text"
    # A column without any value so far is treated as numeric.
    numbers = (types.is_integer, types.is_floating, types.is_decimal, types.is_null)
    return "number" if any(check(kind) for check in numbers) else None


def is_ordered(kind: pa.DataType) -> bool:
    """Return whether a type is of categories that have an order, not of values that come again."""
    return bool(pa.types.is_dictionary(kind) and kind.ordered)


def ordered_levels(column: pa.Array) -> list[str] | None:
    """Return the values of a column of ordered categories in their order; None for others."""
    if not is_ordered(column.type):
        return None
    levels: list[str] = as_text(pa.chunked_array([column.dictionary])).to_pylist()
    return levels


def first_rows(files: list[TableFile]) -> tuple[TableFile, pa.RecordBatch]:
    """Return the first file with rows, and some of them; DataError if there is none."""
    for file in files:
        head = file.sample()
        if head.num_rows:
            return file, head
    more = "" if len(files) == 1 else f" and the {len(files) - 1} other files"
    raise NoRows(f"{files[0].path}{more} has no rows: give a file with rows.", path=files[0].path)


def column_types(files: list[TableFile], exclude: Iterable[str] = ()) -> dict[str, pa.DataType]:
    """Return the types of all columns of the first file with rows: what it states or, in text, what
    its first rows show; for columns without a value there, what the first rows with a value show.
    Columns of ``exclude`` are not searched for values.
    """
    file, head = first_rows(files)
    guessed = zip(file.columns().items(), head.schema.types, strict=True)
    found = {name: stored or kind for (name, stored), kind in guessed}
    empty = [n for n, kind in found.items() if pa.types.is_null(kind) and n not in {*exclude}]
    for other in files if empty else ():
        found |= other.later_types(empty)
        empty = [name for name in empty if pa.types.is_null(found[name])]
    return found


def label_kind(file: TableFile, name: str, kind: pa.DataType) -> str:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    family = family_of(kind)
    if family == "number":
        whole = pa.types.is_integer(kind) or pa.types.is_null(kind)
        return "int" if whole else "float"
    if pa.types.is_temporal(kind) and not file.typed:  # text that Arrow takes for a date
        return "text"
    if family is None:
        raise no_feature(file, name, kind, role="label column", code="label-type")
    return family


def no_feature(
    file: TableFile, name: str, kind: pa.DataType, role: str = "column", code: str = "column-type"
) -> DataError:
    """Return the error for a column whose type has no use in its role; DataError, which names the
    line, for text of another encoding.
    """
    if pa.types.is_binary(kind) and not file.typed:
        find_bytes(file, name)
    what, change = f"values of type {kind}", [hint("convert it to numbers or text")]
    if pa.types.is_temporal(kind):
        what, change = f"dates or times ({kind})", [hint("convert it to numbers")]
        if role == "column" and (pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
            change = [hint("read days with {}", date=[name])]
    elif pa.types.is_nested(kind) and not pa.types.is_run_end_encoded(kind):
        what, change = f"lists or objects ({kind})", [hint("flatten it")]
    if role == "column":
        change.append(hint("leave it out with {}", exclude=[name]))
    return file.error(f", {role} '{name}' holds {what}", *change, code=code, column=name)


def check_may_become(file: TableFile, name: str, kind: pa.DataType, how: str) -> None:
    """Raise DataError for a column whose stated type cannot be read as ``how``: "categorical",
    "number" or "date".
    """
    moments = pa.types.is_date(kind) or pa.types.is_timestamp(kind)
    others = pa.types.is_temporal(kind) and not (moments and how == "date")
    if pa.types.is_nested(kind) or (how != "categorical" and others):
        raise no_feature(file, name, kind)


def find_bytes(file: TableFile, name: str) -> None:
    """Read a column as text; raises DataError with the row where it is not text."""
    for _ in file.chunks({name: "text"}):
        pass


def check_is_text(file: TableFile, name: str, kind: pa.DataType, family: str | None) -> None:
    dates = pa.types.is_temporal(kind) and not file.typed  # text that Arrow takes for dates
    if family == "text" or dates or pa.types.is_null(kind):
        return
    if family is None:
        raise no_feature(file, name, kind)
    what = "numbers" if family == "number" else "true and false"
    raise file.error(
        f", column '{name}' holds {what}, not text",
        hint("leave out {}", text=[name]), "convert it to text", code="column-type", column=name,
    )  # fmt: skip


def text_refusal(
    file: TableFile, name: str, first: pa.Array, hashed: bool = False
) -> DataError | None:
    """Return the error for a text column that cannot be a feature, judged by its first values; or
    None."""
    codes, values = text_codes(pa.chunked_array([first]), name, file.where)

    def refused(what: str, *ways: str | Hint) -> DataError:
        said = f", column '{name}' {what}"
        return file.error(said, *ways, code="column-type", column=name)

    filled = int(np.count_nonzero(codes >= 0))
    odd = [code for code, value in enumerate(values) if value and not _NUMBER.fullmatch(value)]
    leave = hint("leave it out with {}", exclude=[name])
    keep = hint("keep its values as categories with {}", categorical=[name])
    if values and not odd:
        later = hint("name the mark of missing values with {}", null_values=None)
        return refused(
            f"looks like numbers stored as text (such as '{values[0]}')",
            hint("read them with {}", numeric=[name]), *[later] * file.marks_missing, leave,
        )  # fmt: skip
    some = [value for value in values if value.strip() not in NO_NUMBER][:MOST_TRIED]
    tried = pa.array(some, pa.string())
    if (options := number_options(tried)) is not None:
        units = dict(zip(Spelling(units=True).parts(tried)[1].to_pylist(), some, strict=True))
        pair = [repr(text) for sign, text in units.items() if sign][:2]
        if "units" in options and len(pair) > 1:
            what = f"holds numbers with different units (such as {' and '.join(pair)})"
            return refused(what, "convert them to one unit", keep, leave)
        odd_one = next(value for value in some if not _NUMBER.fullmatch(value))
        what = f"holds numbers in a special notation (such as '{odd_one}')"
        return refused(what, hint("read them with {}", **options), keep)
    if some and (formats := date_formats(tried)):
        ways = [f"{name}={format}" if format else name for format in formats[:2]]
        days = [hint("read days with {}", date=[way]) for way in ways]
        return refused(f"holds dates (such as '{some[0]}')", *days, keep, leave)
    rows = np.flatnonzero(np.isin(codes, odd))
    marks = sorted({values[code].strip() for code in odd})
    numbers = len(values) - len(odd)
    few = rows.size <= (1 - MOST) * filled or len(marks) <= max(_MARKS, numbers // 10)
    lone = len(marks) == 1 and _MARK.fullmatch(marks[0])
    second = rows.tolist() == [0]  # below the names
    many = numbers >= (1 if lone else _UNITS if second else _MANY_NUMBERS)
    if marks and ((few and many) or rows[0] >= SAMPLE_ROWS):
        more = f" (one of {rows.size:,} such rows)" if rows.size > 1 else ""
        cell, place = values[codes[rows[0]]], file.where(int(rows[0]))
        told = missing_mark(*(marks if len(marks) <= 2 * _MARKS else [cell]))
        return DataError(
            place + f", column '{name}' holds '{cell[:60]}'{more}, but nearly all other values are "
            "numbers",
            "remove the row if it holds units" if second else "correct it",
            *told * file.marks_missing,
            hint("leave the cell empty and choose {}", missing="mean"), keep,
            hint("leave the column out with {}", exclude=[name]),
            code="not-a-number", path=file.path, column=name,
        )  # fmt: skip
    if len(values) == filled >= _MANY_ROWS and not hashed:
        return refused(
            f"has a different text in each of its first {filled:,} rows, so it looks like an ID or "
            "free text",
            hint("read its words with {}", text=[name]), leave,
            hint("if its values do repeat later, hash them with {}", hash_bits=20),
        )  # fmt: skip
    return None


def missing_mark(*values: str) -> list[Hint]:
    """Return the advice for texts that may mark missing values; empty if one has digits, but for
    the errors of spreadsheets.
    """
    if any(letter.isdigit() for text in values if not text.startswith("#") for letter in text):
        return []
    return [hint("read it as a missing value with {}", null_values=[x.strip() for x in values])]
