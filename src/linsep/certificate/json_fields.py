"""Values of proofs as JSON, read and written by the annotations of the classes that hold them.

A value has exactly one form, because the text read must equal the text written: what stands in
another order, twice, not in lowest terms, or beside other fields differs when it is written. Long
integers are hexadecimal text, which has no limit on the number of digits.
"""

import math
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import cache, partial
from types import NoneType
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

#: most hexadecimal digits of one number: arithmetic with more takes too long
MOST_DIGITS = 1 << 18
#: counts and positions are below this
MOST = 1 << 53


def well_formed(good: Any, why: str) -> None:
    """Raise ValueError with this reason, a phrase, unless a condition holds."""
    if not good:
        raise ValueError(why)


class Field(NamedTuple):
    """A kind of value: ``read`` converts a JSON value, and ``write`` returns it."""

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
    """Return name, default and field of what is compared, keyword-only fields last, without the
    subject, which is written once for all verdicts.
    """
    kinds = get_type_hints(kind, include_extras=True)
    kept = [one for one in fields(kind) if one.compare and one.name != "subject"]
    kept.sort(key=lambda one: bool(one.kw_only))
    return [(one.name, one.default, field_of(kinds[one.name])) for one in kept]


def field_of(kind: Any) -> Field:
    """Return the field of an annotation."""
    items, origin = get_args(kind), get_origin(kind)
    if origin is Annotated:
        return kind.__metadata__[0]
    if NoneType in items:
        one = field_of(items[0])
        return Field(lambda x: x if x is None else one.read(x),
                     lambda x: x if x is None else one.write(x))  # fmt: skip
    if origin is tuple:
        each = field_of(items[0])
        return Field(lambda x: tuple(map(each.read, x)), lambda x: list(map(each.write, x)))
    if origin is dict:
        return by_number(field_of(items[1]))
    if is_dataclass(kind):
        return Field(partial(read_object, kind), write_object)
    return Field(partial(_of_type, kind))


def _of_type(kind: type, plain: Any) -> Any:
    well_formed(type(plain) is kind, f"a value of type {kind.__name__} is missing")
    return plain


def by_number(field: Field) -> Field:
    """Return the field of a dict with counts for keys, written in their order."""
    return Field(
        lambda plain: {_read_count(int(j)): field.read(value) for j, value in plain.items()},
        lambda values: {str(j): field.write(values[j]) for j in sorted(values)},
    )


def _read_count(plain: Any) -> int:
    well_formed(type(plain) is int and 0 <= plain < MOST, "a count is no whole number")
    return plain


def _read_long(plain: str) -> int:
    well_formed(len(plain) <= MOST_DIGITS, "an integer is too long")
    return int(plain, 16)


def _read_pair(plain: Any) -> tuple[int, int]:
    first, second = map(_read_count, plain)
    return first, second


def in_order(read: Callable[[Any], Any]) -> Field:
    """Return the field of a tuple of different items in order."""
    return Field(lambda plain: tuple(sorted(set(map(read, plain)))))


def _read_weight(plain: Any) -> float:
    return _read_long(plain) if isinstance(plain, str) else _of_type(float, plain)


def _read_margin(plain: Any) -> tuple[float, float]:
    low, high = plain
    return _of_type(float, low), math.inf if high is None else _of_type(float, high)


COUNT, LONG = Field(_read_count), Field(_read_long, hex)
Count = Annotated[int, COUNT]
Counts = Annotated[tuple[int, ...], in_order(_read_count)]
Pairs = Annotated[tuple[tuple[int, int], ...], in_order(_read_pair)]
Long = Annotated[int, LONG]
#: a float, or an integer where floats are too short; -0.0, which means nothing else, becomes 0.0
Weight = Annotated[float, Field(_read_weight, lambda w: hex(w) if isinstance(w, int) else w + 0.0)]
#: the lower and the upper bound, which is infinite if it is not known
Margin = Annotated[
    tuple[float, float],
    Field(_read_margin, lambda ends: [x + 0.0 if x < math.inf else None for x in ends]),
]
