"""Values of proofs as JSON, read and written by the annotations of the classes that hold them.

A value has exactly one form, because the text read must equal the text written: what stands in
another order, or has other fields, needs no check here. Long integers are hexadecimal text: no
digit is lost, and Python's limit on the length of decimal integers does not apply.
"""

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import fields, is_dataclass
from functools import cache, partial
from itertools import pairwise
from types import NoneType
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

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


def well_formed(good: Any, why: str) -> None:
    """Raise Malformed with this reason unless a condition holds."""
    if not good:
        raise Malformed(why)


class Field(NamedTuple):
    """A kind of value: ``read`` converts a JSON value, or raises one of the errors that
    :func:`linsep.certificate.proofs.read` expects; ``write`` returns the JSON value.
    """

    read: Callable[[Any], Any]
    write: Callable[[Any], Any] = lambda value: value


def read_object(kind: Any, plain: Any, **others: Any) -> Any:
    """Return an object of a class with annotated fields, given as JSON and as ``others``."""
    own = {name: field.read(plain[name]) for name, _, field in _fields_of(kind) if name in plain}
    return kind(**others, **own)


def write_object(given: Any) -> dict[str, Any]:
    """Return an object as JSON, without fields that have their default."""
    values = [(name, getattr(given, name), *rest) for name, *rest in _fields_of(given.__class__)]
    return {name: field.write(x) for name, x, default, field in values if x != default}


@cache
def _fields_of(kind: Any) -> list[tuple[str, Any, Field]]:
    """Return name, default and field of what a proof has of a class: what is compared, with
    keyword-only fields last.
    """
    kinds = get_type_hints(kind, include_extras=True)
    kept = sorted((one for one in fields(kind) if one.compare), key=lambda one: bool(one.kw_only))
    every = [(one.name, one.default, field_of(kinds[one.name])) for one in kept]
    return [one for one in every if one[2] is not ELSEWHERE]


def field_of(kind: Any) -> Field:
    """Return the field of an annotation."""
    items, origin = get_args(kind), get_origin(kind)
    if origin is Annotated:
        found: Field = kind.__metadata__[0]
        return found
    if NoneType in items:
        one = field_of(items[0])
        return Field(lambda x: x if x is None else one.read(x),
                     lambda x: x if x is None else one.write(x))  # fmt: skip
    if origin is tuple:
        return list_of(field_of(items[0]))
    if origin is dict:
        return by_number(field_of(items[1]))
    if is_dataclass(kind):
        return Field(partial(read_object, kind), write_object)
    return Field(partial(_of_type, kind))


def _of_type(kind: type, plain: Any) -> Any:
    """Return a value of exactly this type: True is not an integer."""
    well_formed(type(plain) is kind, f"a value of type {kind.__name__} is missing")
    if isinstance(plain, str):
        plain.encode()  # ValueError for a lone surrogate
    return plain


def list_of(field: Field, check: Callable[[tuple[Any, ...]], Any] = bool) -> Field:
    """Return the field of a tuple; ``check`` raises Malformed for some."""

    def read(plain: Any) -> tuple[Any, ...]:
        found = tuple(map(field.read, plain))
        check(found)
        return found

    return Field(read, lambda values: [field.write(value) for value in values])


def by_number(field: Field) -> Field:
    """Return the field of a dict with counts for keys, written in their order."""
    return Field(
        lambda plain: {_read_count(int(j)): field.read(value) for j, value in plain.items()},
        lambda values: {str(j): field.write(values[j]) for j in sorted(values)},
    )


def in_order(items: Iterable[Any]) -> None:
    """Raise Malformed unless items are sorted and differ."""
    well_formed(all(a < b for a, b in pairwise(items)), "items are not sorted, or repeated")


def coprime(numbers: Iterable[int]) -> None:
    """Raise Malformed unless integers are in lowest terms."""
    well_formed(math.gcd(*numbers) <= 1, "integers are not in lowest terms")


def _read_count(plain: Any) -> int:
    well_formed(type(plain) is int and 0 <= plain < MOST, "a count is no whole number")
    return plain


def _long(most_digits: int, plain: Any) -> int:
    found = HEX.fullmatch(plain)
    well_formed(found and len(found[1]) <= most_digits, "a long integer is malformed")
    return int(plain, 16)


def _read_pair(plain: Any) -> tuple[int, int]:
    first, second = map(_read_count, plain)
    return first, second


COUNT, LONG = Field(_read_count), Field(partial(_long, MOST_DIGITS), hex)
Count = Annotated[int, COUNT]
#: different counts in order
Counts = Annotated[tuple[int, ...], list_of(COUNT, in_order)]
Pairs = Annotated[tuple[tuple[int, int], ...], list_of(Field(_read_pair), in_order)]
Long = Annotated[int, LONG]
LongOfCycle = Annotated[int, Field(partial(_long, MOST_DIGITS_OF_CYCLE), hex)]


def _read_weight(plain: Any) -> float:
    return LONG.read(plain) if isinstance(plain, str) else _of_type(float, plain)


def _read_margin(plain: Any) -> tuple[float, float]:
    low, high = plain
    return _of_type(float, low), math.inf if high is None else _of_type(float, high)


def _read_row(plain: Any) -> Row:
    found: Row = by_number(LONG).read(plain)
    coprime(found.values())
    well_formed(all(found.values()), "there are zeros among the integers")
    return found


def _read_space(plain: Any) -> Space:
    found = Space(by_number(ROW).read(plain))
    for pivot, row in found.rows.items():
        reduced = row.keys() & found.rows.keys() == {pivot} == {min(row)} and row[pivot] > 0
        well_formed(reduced, "a space is not in reduced echelon form")
    return found


ROW = Field(_read_row, by_number(LONG).write)
#: a float, or an integer where floats are too short; -0.0, which means nothing else, becomes 0.0
Weight = Annotated[float, Field(_read_weight, lambda w: hex(w) if isinstance(w, int) else w + 0.0)]
#: the lower and the upper bound, which is infinite if it is not known
Margin = Annotated[
    tuple[float, float],
    Field(
        _read_margin,
        lambda ends: [ends[0] + 0.0, None if ends[1] == math.inf else ends[1] + 0.0],
    ),
]
Direction = Annotated[Row, ROW]
SpaceOfRows = Annotated[Space, Field(_read_space, lambda space: by_number(ROW).write(space.rows))]
#: a field that is written by the object around it
ELSEWHERE = Field(lambda plain: plain)
