"""Columns that are read as text and become numbers: other notations, dates, and columns that users
name."""

import fnmatch
import math
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from linsep.errors import DataError, hint
from linsep.sources.exact import EXACT, SMALLER, is_rounded
from linsep.sources.tables.spellings import Spelling, days, unit
from linsep.sources.tables.table_file import Place, decoded, is_text, text_codes, unknown_column

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
        for one in self.date:
            pattern, _, format = one.partition("=")
            if _among(name, (pattern,)):
                found.append(f"date={format}" if format else "date")
        if len(found) > 1:
            said = " and ".join(each.partition("=")[0] for each in found)
            raise DataError(
                f"Column '{name}' is declared as {said}",
                "choose one of these",
                code="conflict",
                column=name,
            )
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
    units: dict[str, tuple[str, str]],
) -> pa.Table:
    """Return a table with the columns that are converted, to "number", "date", or "date=" and a
    format, as numbers. ``units`` are the unit of the numbers of a column and a text with that, as
    far as they are known.
    """
    for name, how in columns.items():
        if name in table.column_names:
            values = _numbers(table.column(name), name, how, spelling, place, units)
            table = table.set_column(table.column_names.index(name), name, values)
    return table


def _numbers(
    column: pa.ChunkedArray, name: str, how: str, spelling: Spelling, place: Place,
    units: dict[str, tuple[str, str]],
) -> pa.ChunkedArray:  # fmt: skip
    kind = column.type
    if how == "number" and not (pa.types.is_dictionary(kind) or is_text(kind)):
        return column
    if how != "number" and (moments := _moments(decoded(column), how.partition("=")[2])):
        seconds = moments.cast(pa.int64()).cast(pa.float64(), safe=False).to_numpy() / 1e6
        return pa.chunked_array([pa.array(seconds / 86_400, from_pandas=True)])
    codes, texts = text_codes(column, name, place)
    values = np.full(len(texts) + 1, np.nan)  # the last is what code -1, missing, picks
    for code, text in enumerate(texts):
        try:
            values[code] = value_of(text, how, spelling, name)
            if how == "number" and spelling.units and (found := unit(text)) is not None:
                known, example = units.setdefault(name, (found, text))
                if known != found:  # 5 EUR are not 5 USD
                    raise DataError(
                        f"holds {text[:60]!r}, but {example[:60]!r} in an earlier row: the numbers "
                        "of a column need the same unit",
                        "convert them",
                        code="bad-value", value=text,
                    )  # fmt: skip
        except DataError as error:
            where = place(int(np.argmax(codes == code)))
            raise error.at(f"{where}, column '{name}' ", column=name) from None
    return pa.chunked_array([pa.array(values[codes], from_pandas=True)])


def _moments(column: pa.ChunkedArray, format: str) -> pa.ChunkedArray | None:
    """Return dates, or texts that Arrow reads as dates; None for others, which Python reads."""
    if pa.types.is_temporal(column.type):
        return column.cast(pa.timestamp("us"), safe=False)
    text = is_text(column.type)
    for zone in (None, "UTC") if text and not format else ():
        with suppress(pa.ArrowInvalid):
            return column.cast(pa.timestamp("us", zone))
    if text and format:
        with suppress(pa.ArrowInvalid):
            found = pc.strptime(column, format=format, unit="s")
            if pc.all(pc.equal(pc.strftime(found, format=format), column)).as_py():  # no 31 June
                return found.cast(pa.timestamp("us"))
    return None


def value_of(text: str, how: str, spelling: Spelling, name: str) -> float:
    """Return the number or date of a cell, NaN if it is missing. Raises DataError, which continues
    after the name of the column, for other text.
    """
    if text.strip() in NO_NUMBER:
        return math.nan
    if how == "number":
        plain = spelling.plain(text)
        if plain is None:
            raise DataError(
                f"holds {text[:60]!r}, not a number",
                "correct it",
                code="not-a-number", value=text,
            )  # fmt: skip
        if abs(float(plain)) >= EXACT and is_rounded(plain):
            raise DataError(
                f"holds {text[:60]!r}, which is not exactly representable as float64",
                SMALLER,
                code="not-exact", value=text,
            )  # fmt: skip
        return float(plain)
    format = how.partition("=")[2]
    found = days(text, format or None)
    if found is None:
        what = f"as {format} says" if format else "of the form 2024-01-31"
        written = hint("set the date format with {}", date=[f"{name}=%d.%m.%Y"])
        raise DataError(
            f"holds {text[:60]!r}, not a date {what}",
            "correct it", written,
            code="bad-value", value=text,
        )  # fmt: skip
    return found
