"""Columns that are read as text and become numbers: other notations, dates, and columns that users
name."""

import fnmatch
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from linsep.errors import DataError, Hint, hint
from linsep.sources.exact import EXACT, SMALLER, is_rounded
from linsep.sources.tables.spellings import DAY, Spelling, days
from linsep.sources.tables.table_file import Place, is_text, text_codes, unknown_column

#: missing numbers in CSV, as Arrow reads them
NULL_VALUES = pa.csv.ConvertOptions().null_values
#: cells that have no number
NO_NUMBER = {"", *NULL_VALUES}


class ColumnTypes(NamedTuple):
    """Column options of users, by names or globs such as "price_*".

    Attributes
    ----------
    categorical : columns with an indicator per value
    numeric : columns of numbers
    date : columns of dates, each alone, or with ``=`` and a format as of ``strptime``
    include : the only columns that may be features; empty for all
    """

    categorical: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    date: tuple[str, ...] = ()
    include: tuple[str, ...] = ()

    def told(self, name: str) -> str | None:
        """Return "categorical", "number", or "date" with its format; None if undeclared.

        Raises DataError for a column of several types.
        """
        found = ["categorical"] * _among(name, self.categorical)
        found += ["number"] * _among(name, self.numeric)
        dates = (one.partition("=") for one in self.date)
        found += ["date" + is_ + format for one, is_, format in dates if _among(name, (one,))]
        if len(found) > 1:
            said = " and ".join(each.partition("=")[0] for each in found)
            raise DataError(
                f"Column '{name}' is declared as {said}", "choose one of these",
                code="conflict", column=name,
            )  # fmt: skip
        return found[0] if found else None

    def check_all_there(self, path: Any, names: list[str]) -> None:
        """Raise DataError for a name or glob that no column has."""
        for option, patterns in self._asdict().items():
            for one in patterns:
                pattern = one.partition("=")[0] if option == "date" else one
                if not any(_among(name, (pattern,)) for name in names):
                    raise unknown_column(path, names, pattern, option=option)

    def left_out(self, name: str) -> bool:
        return bool(self.include) and not _among(name, self.include)


def matching(patterns: Iterable[str], names: list[str]) -> list[str]:
    """Return the patterns, with the names that match in the place of each glob that any does."""
    found: list[str] = []
    for pattern in patterns:
        glob = pattern not in names and bool(set("*?[") & set(pattern))
        found += (fnmatch.filter(names, pattern) if glob else []) or [pattern]
    return list(dict.fromkeys(found))


def _among(name: str, patterns: tuple[str, ...]) -> bool:
    return any(name == pattern or fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def converted(
    table: pa.Table,
    columns: dict[str, str],
    spelling: Spelling,
    place: Place,
    known: dict[str, tuple[str, str]],
) -> pa.Table:
    """Return a table with the columns that are converted, to "number", "date", or "date=" and a
    format, as numbers. ``known`` is the unit of the numbers of a column and a text with that, as
    far as they are known.
    """
    for name, how in columns.items():
        if name in table.column_names:
            values = _numbers(table.column(name), name, how, spelling, place, known)
            table = table.set_column(table.column_names.index(name), name, values)
    return table


def _numbers(
    column: pa.ChunkedArray, name: str, how: str, spelling: Spelling, place: Place,
    known: dict[str, tuple[str, str]],
) -> pa.ChunkedArray:  # fmt: skip
    kind = column.type
    if pa.types.is_temporal(kind) and how.startswith("date"):
        whole = column.cast(pa.timestamp("us"), safe=False)
        moments = whole.cast(pa.int64()).to_numpy().astype(np.float64)
        if pa.types.is_timestamp(kind) and kind.unit == "ns":  # rounded to a double
            rest = pc.subtract(column.cast(pa.int64()), whole.cast(kind).cast(pa.int64()))
            moments += rest.to_numpy() / 1000
        return pa.chunked_array([pa.array(moments / DAY, from_pandas=True)])
    if how == "number" and not (pa.types.is_dictionary(kind) or is_text(kind)):
        return column
    codes, texts = text_codes(column, name, place)
    numbers, problem = _read(pa.array(texts, pa.string()), how, spelling, name, known)
    if problem is not None:
        where = place(int(np.argmax(codes == problem[0])))
        raise problem[1].at(f"{where}, column '{name}' ", column=name)
    return pa.chunked_array([numbers.take(pa.array(codes, mask=codes < 0))])


def value_of(text: str, how: str, spelling: Spelling, name: str) -> float:
    """Return the number or date of a cell, NaN if it is missing. Raises DataError, which continues
    after the name of the column, for other text.
    """
    values, problem = _read(pa.array([text]), how, spelling, name, {})
    if problem is not None:
        raise problem[1]
    return float(values.fill_null(np.nan)[0].as_py())


def _read(
    texts: pa.Array, how: str, spelling: Spelling, name: str, known: dict[str, tuple[str, str]]
) -> tuple[pa.Array, tuple[int, DataError] | None]:
    """Return the numbers or dates of texts, null where one is missing, and the first text that is
    neither, with an error.
    """
    missing = pc.is_in(pc.utf8_trim_whitespace(texts), pa.array([*NO_NUMBER]))
    if how == "number":
        plain, units = spelling.parts(texts)
        values = plain.cast(pa.float64())
        far = plain.filter(pc.greater_equal(pc.abs(values), EXACT)).to_pylist()
        long = pc.is_in(plain, pa.array(filter(is_rounded, far), pa.string()))
        named = pc.and_(values.is_valid(), pc.not_equal(units, ""))
        if (first := named.index(True).as_py()) >= 0:
            known.setdefault(name, (units[first].as_py(), texts[first].as_py()))
        one, example = known.get(name, ("", ""))
        other = pc.and_(named, pc.not_equal(units, one))  # 5 EUR are not 5 USD
        of_one = f"but {example[:60]!r} in an earlier row, of another unit"
        cases: list[tuple[Any, str, list[str | Hint], str]] = [
            (pc.and_not(values.is_null(), missing), "not a number", ["correct it"], "not-a-number"),
            (long, "which is not exactly representable as float64", [SMALLER], "not-exact"),
            (other, of_one, ["convert them to one unit"], "bad-value"),
        ]
    else:
        format = how.partition("=")[2]
        values = days(texts, format)
        said = f"not a date {f'as {format} says' if format else 'of the form 2024-01-31'}"
        ways: list[str | Hint] = ["correct it"]
        ways.append(hint("set the date format with {}", date=[f"{name}=%d.%m.%Y"]))
        cases = [(pc.and_not(values.is_null(), missing), said, ways, "bad-value")]
    for where, said, hints, code in cases:
        if (first := where.index(True).as_py()) >= 0:
            text = texts[first].as_py()
            said = f"holds {text[:60]!r}, {said}"  # noqa: PLW2901
            return values, (first, DataError(said, *hints, code=code, value=text))
    return values, None
