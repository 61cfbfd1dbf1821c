"""Notations of numbers and dates: units, signs and separators of many countries."""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, NamedTuple

_PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
#: minus signs beside the hyphen: a soft one, hyphens, dashes, superscripts, small and wide ones
_MINUS = dict.fromkeys("\u00ad\u2010\u2011\u2012\u2013\u2212\u207b\ufe63\uff0d", "-")
_PLUS = dict.fromkeys("\u207a\ufe62\uff0b", "+")
_SIGNS = str.maketrans(_MINUS | _PLUS)
#: between thousands in Switzerland, and as ISO 31 has it
_SWISS, _THIN = "'\u2019\u02bc", " \u00a0\u2009\u202f\u2007"
_NAMES = r"[A-Z]{3}|kr\.?|Fr\.?|z\u0142|Rs\.?"
#: currencies, at either end, and signs of currencies and percent, as in all scripts
_UNIT = re.compile(
    rf"^(?:{_NAMES}|(?:US|A|C|HK|NZ|R)?\$)(?=[\s\d.,(+-])|(?<=[\s\d.,)])(?:{_NAMES})$|"
    "[$\u00a2-\u00a5\u058f\u060b\u09f2\u09f3\u0af1\u0bf9\u0e3f\u17db\u20a0-\u20cf\ufdfc\ufe69\uff04"
    "\uffe0\uffe1\uffe5\uffe6]|[%\u066a\ufe6a\uff05]+$"
)
#: signs and names of one unit
_SAME = {"$": "USD", "US$": "USD", "\u20ac": "EUR", "\u00a3": "GBP", "Fr": "CHF", "z\u0142": "PLN"}
_SAME |= dict.fromkeys("\u066a\ufe6a\uff05", "%")


class Spelling(NamedTuple):
    """How numbers are written.

    Attributes
    ----------
    decimal : str
        Decimal mark.
    thousands : str or None
        Separator of groups of three digits.
    units : bool
        Whether to accept a percent sign, a currency, brackets around negative amounts, minus signs
        other than the hyphen, digits of other scripts, and Swiss or thin spaces between thousands.
    """

    decimal: str = "."
    thousands: str | None = None
    units: bool = False

    def number(self, text: str) -> float | None:
        """Return the number in a text, without a percent sign; None if it is not a number."""
        plain = self.plain(text)
        return None if plain is None else float(plain)

    def plain(self, text: str) -> str | None:
        """Return a number in Python's notation; None for other text."""
        text = text.strip()
        if self.units:
            text, _ = _undressed(text)
        for mark in (self.thousands, *(_SWISS + _THIN if self.units else "")):
            if mark and mark in text:
                text = _ungrouped(text, mark, self.decimal)
        if self.decimal != ".":
            if "." in text:
                return None
            text = text.replace(self.decimal, ".")
        return text if _PLAIN.fullmatch(text) else None


PLAIN = Spelling()
#: what is tried to find out how the numbers of a column are written: the first options that do
KNOWN: tuple[dict[str, Any], ...] = (
    {"thousands": ","}, {"decimal": ","}, {"units": True}, {"decimal": ",", "thousands": "."},
    {"units": True, "thousands": ","}, {"units": True, "decimal": ","},
    {"units": True, "decimal": ",", "thousands": "."},
)  # fmt: skip
#: formats of dates that are tried, None for ISO 8601
DATES = (
    None, "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y", "%d.%m.%y", "%m/%d/%y",
    "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%d-%b-%Y", "%d.%m.%Y %H:%M",
    "%m/%d/%Y %H:%M", "%d/%m/%Y %H:%M", "%Y/%m/%d %H:%M", "%d.%m.%Y %H:%M:%S", "%m/%d/%Y %H:%M:%S",
)  # fmt: skip
#: share of the values that must be numbers or dates for a column to be meant so
_MOST = 0.8
#: what is a number as it is, or a code such as 02134
_AS_IT_IS = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)


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


def number_options(values: Sequence[str]) -> dict[str, Any] | None:
    """Return the reading options by which most of some different values are numbers, if some are
    not as they are; None if there are none.
    """
    odd = [value for value in values if not _AS_IT_IS.fullmatch(value)]
    plain = len(values) - len(odd)
    for options in KNOWN if odd else ():
        numbers = sum(Spelling(**options).number(value) is not None for value in odd)
        # A number as it is may be another one, or none, with these options.
        if numbers and numbers + plain >= _MOST * len(values):
            return options
    return None


def date_formats(values: Sequence[str]) -> list[str]:
    """Return the formats by which most of some different values are dates, "" for ISO 8601."""
    some = [value for value in values if not value.strip().isdigit()]  # rather a number
    return [
        format or "" for format in DATES
        if sum(days(value, format) is not None for value in some) >= _MOST * len(values)
    ]  # fmt: skip


def _undressed(text: str) -> tuple[str, str | None]:
    """Return a number without a percent sign, a currency and brackets, with a hyphen for a minus
    sign and ASCII digits, and the unit; 0 for the dash of a currency, as accountants write it.
    """
    text = "".join(str(unicodedata.digit(c, c)) if c.isdecimal() else c for c in text)
    text, sign, units = text.translate(_SIGNS).strip(), "", list[str]()
    for _ in range(2):  # the sign may be before or behind the currency
        if text[:1] in ("-", "+") and not sign:
            sign, text = text[0], text[1:].lstrip()
        elif text.startswith("(") and text.endswith(")") and not sign:
            sign, text = "-", text[1:-1].strip()
        units += _UNIT.findall(text)
        text = _UNIT.sub("", text).strip()
    if text.endswith("-") and text[-2:-1].isdigit() and not sign:  # as SAP writes it
        sign, text = "-", text[:-1]
    named = units[0].rstrip(".") if units else None
    text = "0" if not text and sign == "-" and units else sign + text
    return text, _SAME.get(named, named) if named else None


def unit(text: str) -> str | None:
    """Return the currency or percent sign that is written beside a number, None without one."""
    return None if _AS_IT_IS.fullmatch(text) else _undressed(text)[1]


def _ungrouped(text: str, mark: str, decimal: str) -> str:
    """Return a number without what separates its thousands, if that stands where it should; in
    India, groups beyond the thousands have two digits.
    """
    whole, point, rest = text.partition(decimal)
    m = re.escape(mark)
    grouped = rf"[-+]?([1-9]\d{{0,2}}({m}\d{{3}})*|[1-9]\d?({m}\d\d)*{m}\d{{3}})"
    return whole.replace(mark, "") + point + rest if re.fullmatch(grouped, whole) else text


def days(text: str, format: str | None) -> float | None:
    """Return the days from 1970 to a date in ISO 8601, or in a format as of ``strptime``, with a
    time as their fraction; None for other text.
    """
    try:
        found = (
            datetime.fromisoformat(text.strip())
            if format is None
            else datetime.strptime(text.strip(), format)
        )
    except ValueError:
        return None
    found = found if found.tzinfo else found.replace(tzinfo=UTC)
    return (found - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() / 86400
