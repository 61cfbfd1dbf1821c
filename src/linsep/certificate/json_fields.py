"""Fields of proofs in JSON: one entry reads, validates and writes each kind of value.

A value has exactly one form: the text read must equal the text written. Long integers are
hexadecimal text: no digit is lost, and Python's limit on the length of decimal integers does not
apply.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from linsep.certificate.constraints import Combination
from linsep.certificate.integers import Row, Space

#: most hexadecimal digits of one number: arithmetic with more takes too long
MOST_DIGITS = 1 << 18
#: and of a number of a cycle; the search finds shorter ones
MOST_DIGITS_OF_CYCLE = 1 << 11
#: counts and positions are below this
MOST = 1 << 53
HEX = re.compile(r"-?0x([0-9a-f]+)")


class Malformed(ValueError):
    """A proof is malformed; the message is a phrase with the reason."""


class Field(NamedTuple):
    """A kind of value: ``read`` converts a JSON value, or raises Malformed for another type or
    size; ``write`` returns the JSON value.
    """

    read: Callable[[Any], Any]
    write: Callable[[Any], Any] = lambda value: value


def fields_of(plain: Any, fields: Iterable[str]) -> dict[str, Any]:
    """Return a JSON object; raise Malformed unless it has these fields, in this order."""
    if not isinstance(plain, dict) or list(plain) != list(fields):
        raise Malformed(f"an object needs the keys {', '.join(fields)}")
    return plain


def items_of(plain: Any) -> list[Any]:
    """Return a JSON list."""
    if not isinstance(plain, list):
        raise Malformed("a list is missing")
    return plain


def read_fields(plain: Mapping[str, Any], fields: Mapping[str, Field]) -> dict[str, Any]:
    """Return the values of some fields of a JSON object."""
    return {name: field.read(plain[name]) for name, field in fields.items()}


def write_fields(given: Any, fields: Mapping[str, Field]) -> dict[str, Any]:
    """Return the attributes of these names as a JSON object."""
    return {name: field.write(getattr(given, name)) for name, field in fields.items()}


def list_of(field: Field, check: Callable[[tuple[Any, ...]], Any] = bool) -> Field:
    """Return the field of a tuple; ``check`` raises Malformed for some."""

    def read(plain: Any) -> tuple[Any, ...]:
        found = tuple(map(field.read, items_of(plain)))
        check(found)
        return found

    return Field(read, lambda values: [field.write(value) for value in values])


def by_number(field: Field) -> Field:
    """Return the field of a dict with integers for keys, written in their order."""

    def read(plain: Any) -> dict[int, Any]:
        if not isinstance(plain, dict):
            raise Malformed("an object keyed by column is missing")
        return {COUNT.read(int(j)): field.read(value) for j, value in plain.items()}

    return Field(read, lambda values: {str(j): field.write(values[j]) for j in sorted(values)})


def _of_type(kind: type, what: str) -> Field:
    """Return the field of values of exactly this type: True is not an integer."""

    def read(plain: Any) -> Any:
        if type(plain) is not kind:
            raise Malformed(f"{what} is missing")
        if isinstance(plain, str):
            plain.encode()  # ValueError for a lone surrogate
        return plain

    return Field(read)


TEXT, FLAG = _of_type(str, "a text"), _of_type(bool, "true or false")
INTEGER, FLOAT = _of_type(int, "a whole number"), _of_type(float, "a number")


def _long_integer(most_digits: int) -> Field:
    def read(plain: Any) -> int:
        found = HEX.fullmatch(TEXT.read(plain))
        if not found or len(found[1]) > most_digits:
            raise Malformed("a long integer is malformed")
        return int(plain, 16)

    return Field(read, hex)


LONG, LONG_OF_CYCLE = _long_integer(MOST_DIGITS), _long_integer(MOST_DIGITS_OF_CYCLE)


def _read_count(plain: Any) -> int:
    if type(plain) is not int or not 0 <= plain < MOST:
        raise Malformed("a count is not a whole number of at least 0")
    return plain


def _ascending(items: Iterable[Any]) -> None:
    if any(not low < high for low, high in pairwise(items)):
        raise Malformed("items are not sorted, or repeated")


def _read_pair(plain: Any) -> tuple[int, int]:
    first, second = items_of(plain)
    return COUNT.read(first), COUNT.read(second)


COUNT = Field(_read_count)
#: different counts in order, and pairs of them
COUNTS, PAIRS = list_of(COUNT, _ascending), list_of(Field(_read_pair), _ascending)


def _read_weight(plain: Any) -> float:
    return LONG.read(plain) if isinstance(plain, str) else FLOAT.read(plain)


def _read_margin(plain: Any) -> tuple[float, float]:
    low, high = items_of(plain)
    return FLOAT.read(low), math.inf if high is None else FLOAT.read(high)


#: a float, or an integer where floats are too short; -0.0, which means nothing else, becomes 0.0
WEIGHT = Field(_read_weight, lambda w: hex(w) if isinstance(w, int) else w + 0.0)
#: the lower and the upper bound, which is infinite if it is not known
MARGIN = Field(
    _read_margin, lambda ends: [ends[0] + 0.0, None if ends[1] == math.inf else ends[1] + 0.0]
)


def _coprime(numbers: Iterable[int]) -> None:
    if math.gcd(*numbers) > 1:
        raise Malformed("integers are not in lowest terms")


def _read_row(plain: Any) -> Row:
    found: Row = by_number(LONG).read(plain)
    _coprime(found.values())
    if not all(found.values()):
        raise Malformed("there are zeros among the integers")
    return found


ROW = Field(_read_row, by_number(LONG).write)


def _read_space(plain: Any) -> Space:
    found = Space(by_number(ROW).read(plain))
    for pivot, row in found.rows.items():
        others = row.keys() - {pivot}
        if row.get(pivot, 0) <= 0 or min(row) < pivot or others & found.rows.keys():
            raise Malformed("a space is not in reduced echelon form")
    return found


SPACE = Field(_read_space, lambda space: by_number(ROW).write(space.rows))
PARTS = {"rows": list_of(COUNT), "which": list_of(COUNT), "multipliers": list_of(LONG)}


def _read_combination(plain: Any) -> Combination:
    found = Combination(**read_fields(fields_of(plain, PARTS), PARTS))
    if not len(found.rows) == len(found.which) == len(found.multipliers):
        raise Malformed("a combination must have one multiplier per row")
    if min(found.multipliers, default=1) <= 0:
        raise Malformed("a multiplier is not positive")
    _ascending(zip(found.rows, found.which, strict=True))
    _coprime(found.multipliers)
    return found


COMBINATION = Field(_read_combination, lambda given: write_fields(given, PARTS))
