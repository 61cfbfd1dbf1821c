"""The types of the columns of a table, stated by files or inferred by Arrow from the first rows
with a value; and text that represents another type, such as numbers with commas.
"""

import re
from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from linsep.errors import DataError, Hint, NoRows, hint
from linsep.sources.tables.conversions import NO_NUMBER
from linsep.sources.tables.spellings import date_formats, number_options, unit
from linsep.sources.tables.table_file import SAMPLE_ROWS, TableFile, as_text, is_text, text_codes

#: different values that are inspected to find out how numbers and dates are written
MOST_TRIED = 1000
#: rows from which a text column without a repeated value is treated as an ID
_MANY_ROWS = 100
#: different numbers from which a text column with few other values is treated as numeric
_MANY_NUMBERS, _FEW_ODD = 10, 0.1
#: or below a first cell, which may hold units
_UNITS = 3
#: different ones that mark missing values, however few numbers there are
_MARKS = 2
# Text with a leading zero, such as 02134, is a code and not a number.
NUMBER = r"\s*[-+]?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][-+]?\d+)?\s*"
_NUMBER = re.compile(NUMBER)
#: marks of missing values among numbers
_MARK = re.compile(r"[^\w\s]+")


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
    empty = {n for n, kind in found.items() if pa.types.is_null(kind)} - {*exclude}
    for other in files if empty else ():
        head = other.sample()
        seen = dict(zip(head.schema.names, head.schema.types, strict=True))
        seen |= {name: kind for name, kind in other.columns().items() if kind is not None}
        some = {name: seen[name] for name in empty & seen.keys() if head.num_rows}
        found |= some
        empty -= {name for name, kind in some.items() if not pa.types.is_null(kind)}
    for other in files if empty else ():
        found |= (some := other.later_types(list(empty)))
        empty -= some.keys()
    return found


def label_kind(file: TableFile, name: str, kind: pa.DataType) -> str:
    if pa.types.is_dictionary(kind):
        return label_kind(file, name, kind.value_type)
    family = family_of(kind)
    if family == "number":
        whole = pa.types.is_integer(kind) or pa.types.is_null(kind)
        return "int" if whole else "float"
    if family is not None:
        return family
    guessed = pa.types.is_temporal(kind) and not file.typed
    if guessed:  # text that looks like a date to Arrow is a name as good as any other
        return "text"
    raise no_feature(file, name, kind, role="label column", code="label-type")


def no_feature(
    file: TableFile, name: str, kind: pa.DataType, role: str = "column", code: str = "column-type"
) -> DataError:
    """Return the error for a column whose type has no use in its role; DataError, which names the
    line, for text of another encoding.
    """
    change: str | Hint = "convert it to numbers or text"
    what = f"values of type {kind}"
    if pa.types.is_binary(kind) and not file.typed:
        find_bytes(file, name)
    if pa.types.is_temporal(kind):
        moments = pa.types.is_date(kind) or pa.types.is_timestamp(kind)
        days = hint("read days with {}", date=[name])
        what = f"dates or times ({kind})"
        change = days if moments and role == "column" else "convert it to numbers"
    elif pa.types.is_nested(kind) and not pa.types.is_run_end_encoded(kind):
        what, change = f"lists or objects ({kind})", "flatten it"
    leave = [hint("leave it out with {}", exclude=[name])]
    return DataError(
        f"{file.path}, {role} '{name}' holds {what}", change, *leave * (role == "column"),
        code=code, path=file.path, column=name,
    )  # fmt: skip


def check_may_become(file: TableFile, name: str, kind: pa.DataType, how: str) -> None:
    """Raise DataError for a column whose stated type cannot be read as ``how``: "categorical",
    "number" or "date".
    """
    moments = pa.types.is_date(kind) or pa.types.is_timestamp(kind)
    others = pa.types.is_temporal(kind) and not (moments and how == "date")
    if pa.types.is_nested(kind) or (how != "categorical" and others):
        raise no_feature(file, name, kind)


def find_bytes(file: TableFile, name: str) -> None:
    """Read a column as text; raises DataError with the line where it is not text."""
    for _ in file.chunks({name: "text"}):
        pass


def check_is_text(file: TableFile, name: str, kind: pa.DataType, family: str | None) -> None:
    dates = pa.types.is_temporal(kind) and not file.typed  # text that looks like dates to Arrow
    if family == "text" or dates or pa.types.is_null(kind):
        return
    if pa.types.is_binary(kind) and not file.typed:
        find_bytes(file, name)
    what = {"number": "numbers", "bool": "true and false"}.get(
        family or "", f"values of type {kind}"
    )
    raise DataError(
        f"{file.path}, column '{name}' holds {what}, not text",
        hint("leave out {}", text=[name]), "convert it to text",
        code="column-type", path=file.path, column=name,
    )  # fmt: skip


def text_refusal(
    file: TableFile, name: str, first: pa.Array, hashed: bool = False
) -> DataError | None:
    """Return the error for a text column that cannot be a feature, judged by its first values; or
    None."""
    codes, values = text_codes(pa.chunked_array([first]), name, file.where)

    def refused(
        what: str, *ways: str | Hint, place: str = "", code: str = "column-type"
    ) -> DataError:
        place = place or str(file.path)
        return DataError(
            place + f", column '{name}' {what}", *ways, code=code, path=file.path, column=name
        )

    filled = int(np.count_nonzero(codes >= 0))
    odd = [code for code, value in enumerate(values) if not _NUMBER.fullmatch(value)]
    leave = hint("leave it out with {}", exclude=[name])
    if values and not odd:
        later = [hint("name the mark of missing values with {}", null_values=None)]
        return refused(
            f"looks like numbers stored as text (such as '{values[0]}')",
            hint("read them with {}", numeric=[name]), *later * file.marks_missing, leave,
        )  # fmt: skip
    keep = hint("keep its values as categories with {}", categorical=[name])
    some = [value for value in values if value.strip() not in NO_NUMBER][:MOST_TRIED]
    if (options := number_options(some)) is not None:
        units = {unit(value): value for value in reversed(some) if unit(value)}
        if "units" in options and len(units) > 1:
            pair = " and ".join(map(repr, list(units.values())[:2]))
            return refused(
                f"holds numbers with different units (such as {pair})",
                "convert them to one unit", keep, leave,
            )  # fmt: skip
        odd_one = next(value for value in some if not _NUMBER.fullmatch(value))
        return refused(
            f"holds numbers in a special notation (such as '{odd_one}')",
            hint("read them with {}", **options), keep,
        )  # fmt: skip
    if some and (formats := date_formats(some)):
        ways = [[f"{name}={format}" if format else name] for format in formats[:2]]
        days = [hint("read days with {}", date=way) for way in ways]
        return refused(f"holds dates (such as '{some[0]}')", *days, keep, leave)
    rows = np.flatnonzero(np.isin(codes, odd))
    marks = {values[code].strip() for code in odd}
    numbers = len(values) - len(odd)
    few = rows.size <= _FEW_ODD * filled or len(marks) <= max(_MARKS, _FEW_ODD * numbers)
    lone = len(marks) == 1 and _MARK.fullmatch(min(marks))
    second = rows.tolist() == [0]  # below the names
    many = numbers >= (1 if lone else _UNITS if second else _MANY_NUMBERS)
    if marks and ((few and many) or rows[0] >= SAMPLE_ROWS):
        more = f" (one of {rows.size:,} such rows)" if rows.size > 1 else ""
        cell, place = values[codes[rows[0]]], file.where(int(rows[0]))
        told = missing_mark(*(sorted(marks) if len(marks) <= 2 * _MARKS else [cell]))
        return refused(
            f"holds '{cell[:60]}'{more}, but nearly all other values are numbers",
            "remove the row if it holds units" if second else "correct it",
            *told * file.marks_missing,
            hint("leave the cell empty and choose {}", missing="mean"), keep,
            hint("leave the column out with {}", exclude=[name]), place=place, code="not-a-number",
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
