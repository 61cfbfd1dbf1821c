"""Notations of numbers and dates, by Arrow: units, signs and separators of many countries; columns
of text that become numbers.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from linsep.errors import DataError, Hint, hint
from linsep.sources.tables.table_file import Place, is_text, text_codes

#: missing numbers in CSV, as Arrow reads them
NULL_VALUES = pa.csv.ConvertOptions().null_values
#: cells that have no number
NO_NUMBER = {"", *NULL_VALUES}
_PLAIN = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
#: minus signs beside the hyphen: a soft one, hyphens, dashes, superscripts, small and wide ones
_SAME = dict.fromkeys("\u00ad\u2010\u2011\u2012\u2013\u2212\u207b\ufe63\uff0d", "-")
_SAME |= dict.fromkeys("\u207a\ufe62\uff0b", "+") | dict.fromkeys("\u2019\u02bc", "'")
_SAME |= dict.fromkeys("\u00a0\u2009\u202f\u2007", " ")
_SAME |= dict.fromkeys("\u066a\ufe6a\uff05", "%")
#: between thousands in Switzerland, and as ISO 31 has it
_WITH_UNITS = "' "
#: currencies of letters, and signs of currencies in all scripts
_NAMES, _SIGNS = r"[A-Z]{3}|kr\.?|Fr\.?|z\x{142}|Rs\.?", r"\p{Sc}"
_BEFORE, _BEHIND = rf"(?:{_NAMES}|(?:US|A|C|HK|NZ|R)?\$|{_SIGNS})?", rf"(?:{_NAMES}|{_SIGNS}|%)?"
#: a number in brackets; with a sign behind it, as SAP writes it; between a sign and a unit
_IN_BRACKETS = rf"^({_BEFORE})\s*\((.*)\)\s*({_BEHIND})$"
_SIGNED_BEHIND = rf"^([^-+]*[0-9])-(\s*{_BEHIND})$"
_DRESSED = (
    rf"^(?P<sign>[-+]?)\s*(?P<before>{_BEFORE})\s*(?P<inner>[-+]?)\s*"
    rf"(?P<number>(?:[0-9.,].*?)?)\s*(?P<behind>{_BEHIND})$"
)
#: signs and names of one unit
_SAME_UNITS = {
    "$": "USD", "US$": "USD", "\u20ac": "EUR", "\u00a3": "GBP", "Fr": "CHF", "z\u0142": "PLN",
}  # fmt: skip


class Spelling(NamedTuple):
    """How numbers are written."""

    decimal: str = "."
    thousands: str | None = None  #: between groups of three digits, or of two as in India
    #: percent signs, currencies, brackets around negative amounts, minus signs other than the
    #: hyphen, digits of other scripts, and the dash of a currency for 0, as accountants write it
    units: bool = False

    def parts(self, texts: pa.Array) -> tuple[pa.Array, pa.Array]:
        """Return numbers in Python's notation, null for other texts, and the currency or percent
        sign beside each number, "" without one.
        """
        found, unit = pc.utf8_trim_whitespace(texts), pa.repeat("", len(texts))
        if self.units:
            found, unit = _undressed(found)
        for mark in (self.thousands or "") + _WITH_UNITS * self.units:
            grouped = pc.match_substring_regex(found, _grouped(mark, self.decimal))
            if pc.any(grouped).as_py():
                found = pc.if_else(grouped, pc.replace_substring(found, mark, ""), found)
        if self.decimal != ".":
            found = pc.if_else(pc.match_substring(found, "."), "", found)
            found = pc.replace_substring(found, self.decimal, ".")
        return pc.if_else(pc.match_substring_regex(found, _PLAIN), found, None), unit


PLAIN = Spelling()
#: what is tried to find out how the numbers of a column are written: the first options that do
KNOWN: tuple[dict[str, Any], ...] = (
    {"thousands": ","}, {"decimal": ","}, {"units": True}, {"decimal": ",", "thousands": "."},
    {"units": True, "thousands": ","}, {"units": True, "decimal": ","},
    {"units": True, "decimal": ",", "thousands": "."},
)  # fmt: skip
#: formats of dates that are tried, "" for ISO 8601
DATES = (
    "", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y", "%d.%m.%y", "%m/%d/%y",
    "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%d-%b-%Y", "%d.%m.%Y %H:%M",
    "%m/%d/%Y %H:%M", "%d/%m/%Y %H:%M", "%Y/%m/%d %H:%M", "%d.%m.%Y %H:%M:%S", "%m/%d/%Y %H:%M:%S",
)  # fmt: skip
#: share of the values that must be numbers or dates for a column to be meant so
MOST = 0.8
#: what is a number as it is, or a code such as 02134
_AS_IT_IS = rf"^\s*{_PLAIN[1:-1]}\s*$"
_NUMBER = re.compile(r"[-+]?(0|[1-9]\d*)(\.\d*)?([eE][-+]?\d{1,3})?", re.ASCII)
_MIDNIGHT = re.compile(r"(\d{4}-\d\d-\d\d)[ T]00:00:00(\.0+)?")


def canonical(text: str) -> str:
    """Return the one spelling of a value that files write in several ways: 1 for 1.0, true for
    True, a date for its midnight. Codes such as 02134 stay as they are.
    """
    if _NUMBER.fullmatch(text):
        number = Decimal(text)
        plain = f"{number:f}"
        plain = plain.rstrip("0").rstrip(".") if "." in plain else plain
        return plain.lstrip("+") if number else "0"
    if (day := _MIDNIGHT.fullmatch(text)) is not None:
        return day[1]
    return text.lower() if text.lower() in ("true", "false") else text


def spellings(same: str) -> list[str]:
    """Return what databases write for a value with this canonical spelling."""
    found, midnight = [same], f"{same} 00:00:00"
    if _NUMBER.fullmatch(same) and canonical(number := repr(float(same))) == same:
        found += [number, number if "." in number else number.replace("e", ".0e")]
    return found + [one for one in (same.title(), midnight) if canonical(one) == same != one]


def by_spelling(levels: Collection[str]) -> dict[str, str]:
    """Return levels by their canonical spelling, but for those that share one."""
    found = Counter(map(canonical, levels))
    return {same: level for level in levels if found[same := canonical(level)] == 1}


def number_options(values: pa.Array) -> dict[str, Any] | None:
    """Return the reading options by which most of some different values are numbers, if some are
    not as they are; None if there are none.
    """
    odd = values.filter(pc.invert(pc.match_substring_regex(values, _AS_IT_IS)))
    for options in KNOWN if len(odd) else ():
        others = Spelling(**options).parts(odd)[0].null_count
        # A number as it is may be another one, or none, with these options.
        if others < len(odd) and len(values) - others >= MOST * len(values):
            return options
    return None


def date_formats(values: pa.Array) -> list[str]:
    """Return the formats by which most of some different values are dates, "" for ISO 8601."""
    some = values.filter(pc.invert(pc.match_substring_regex(values, r"^\s*[0-9]+\s*$")))
    least = MOST * len(values)
    return [f for f in DATES if len(some) - days(some, f).null_count >= least]


def _undressed(texts: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return numbers in ASCII without units and brackets, and the units; null for other texts."""
    for character in set("".join(texts.to_pylist())):
        same = _SAME.get(character, character)
        same = str(unicodedata.digit(same)) if same.isdecimal() else same
        if same != character:
            texts = pc.replace_substring(texts, character, same)
    texts = pc.replace_substring_regex(texts, _IN_BRACKETS, r"-\1\2\3")
    texts = pc.replace_substring_regex(texts, _SIGNED_BEHIND, r"-\1\2")
    parts = pc.extract_regex(texts, _DRESSED)
    sign, before, inner, number, behind = (pc.struct_field(parts, k) for k in range(5))
    unit = pc.utf8_rtrim(pc.if_else(pc.equal(before, ""), behind, before), ".")
    value = pc.binary_join_element_wise(sign, inner, number, "")
    dash = pc.and_(pc.equal(value, "-"), pc.not_equal(unit, ""))  # of accountants
    for name, same in _SAME_UNITS.items():
        unit = pc.if_else(pc.equal(unit, name), same, unit)
    return pc.if_else(dash, "0", value), unit


def _grouped(mark: str, decimal: str) -> str:
    """Return what matches a number whose thousands are separated as they should be."""
    m, groups = re.escape(mark), "[1-9][0-9]{0,2}(M[0-9]{3})*|[1-9][0-9]?(M[0-9]{2})*M[0-9]{3}"
    return rf"^[-+]?({groups.replace('M', m)})(?:{re.escape(decimal)}.*)?$"


#: parts of formats that Arrow reads as Python does
_OF_ARROW = re.compile(r"(?:[^%]|%[YmdHMSybBIp])*")
#: microseconds
DAY = 86_400_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def days(texts: pa.Array, format: str) -> pa.Array:
    """Return the days from 1970 to dates in ISO 8601, or in a format as of ``strptime``, with a
    time as their fraction; null for other texts.
    """
    texts, found = pc.utf8_trim_whitespace(texts), pa.nulls(len(texts), pa.int64())
    if format and _OF_ARROW.fullmatch(format):
        read = pc.strptime(texts, format=format, unit="us", error_is_null=True)
        # To Arrow, 30 February is 1 March, and 24 a year.
        sure = pc.and_(pc.greater(pc.day(read), 3), pc.greater(pc.year(read), 999))
        found = pc.if_else(sure, read, None).cast(pa.int64())
    left = texts.filter(found.is_null()).drop_null().unique()
    if len(left):
        others = pa.array([_one_date(text, format) for text in left.to_pylist()], pa.int64())
        found = pc.coalesce(found, others.take(pc.index_in(texts, left)))
    return pc.divide(found.cast(pa.float64(), safe=False), DAY)


def _one_date(text: str, format: str) -> int | None:
    try:
        found = datetime.strptime(text, format) if format else datetime.fromisoformat(text)
    except ValueError:
        return None
    found = found if found.tzinfo else found.replace(tzinfo=UTC)
    return (found - _EPOCH) // timedelta(microseconds=1)


def converted(
    table: pa.Table, columns: dict[str, str], spelling: Spelling, place: Place,
    known: dict[str, tuple[str, str]],
) -> pa.Table:  # fmt: skip
    """Return a table with the columns that are converted, to "number", "date", or "date=" and a
    format, as numbers. ``known`` is the unit of the numbers of a column and a text with that, as
    far as they are known.
    """
    for name in [name for name in columns if name in table.column_names]:
        column, how = table.column(name), columns[name]
        if pa.types.is_temporal(column.type) and how != "number":
            values = _days_of(column)
        elif how != "number" or pa.types.is_dictionary(column.type) or is_text(column.type):
            values = _read(column, name, how, spelling, place, known)
        else:
            continue
        table = table.set_column(table.column_names.index(name), name, values)
    return table


def _days_of(column: pa.ChunkedArray) -> pa.Array:
    whole = column.cast(pa.timestamp("us"), safe=False)
    moments = whole.cast(pa.int64()).to_numpy().astype(np.float64)
    if pa.types.is_timestamp(column.type) and column.type.unit == "ns":  # rounded to a double
        rest = pc.subtract(column.cast(pa.int64()), whole.cast(column.type).cast(pa.int64()))
        moments += rest.to_numpy() / 1000
    return pa.array(moments / DAY, from_pandas=True)


def _read(
    column: pa.ChunkedArray, name: str, how: str, spelling: Spelling, place: Place,
    known: dict[str, tuple[str, str]],
) -> pa.Array:  # fmt: skip
    """Return the numbers or dates of texts, null where one is missing; DataError for others."""
    codes, different = text_codes(column, name, place)
    texts = pa.array(different, pa.string())
    missing = pc.is_in(pc.utf8_trim_whitespace(texts), pa.array([*NO_NUMBER]))

    def refuse(bad: pa.Array, said: str, *ways: str | Hint, code: str) -> None:
        if (first := bad.index(True).as_py()) >= 0:
            where, text = place(int(np.argmax(codes == first))), different[first]
            said = f", column '{name}' holds {text[:60]!r}, {said}"
            raise DataError(where + said, *ways, code=code, column=name, value=text)

    if how != "number":
        format = how.partition("=")[2]
        values = days(texts, format)
        said = f"not a date {f'as {format} says' if format else 'of the form 2024-01-31'}"
        bad = pc.and_not(values.is_null(), missing)
        fitting = date_formats(texts.filter(bad)[:1])[:1]
        others = [hint("set the date format with {}", date=[f"{name}={f}"]) for f in fitting if f]
        refuse(bad, said, "correct it", *others, code="bad-value")
    else:
        plain, units = spelling.parts(texts)
        values = plain.cast(pa.float64())
        bad = pc.and_not(values.is_null(), missing)
        refuse(bad, "not a number", "correct it", code="not-a-number")
        named = pc.and_(values.is_valid(), pc.not_equal(units, ""))
        if (first := named.index(True).as_py()) >= 0:
            known.setdefault(name, (units[first].as_py(), different[first]))
        one, example = known.get(name, ("", ""))
        other_unit = pc.and_(named, pc.not_equal(units, one))  # 5 EUR are not 5 USD
        said = f"but {example[:60]!r} in an earlier row, of another unit"
        refuse(other_unit, said, "convert them to one unit", code="bad-value")
    return values.take(pa.array(codes, mask=codes < 0))
