"""Values of a proof's JSON, each of exactly the type it must have; ValueError or TypeError else."""

import re
from fractions import Fraction
from typing import Any

from linsep.theory.row_space import Reduced
from linsep.theory.verdicts import Combination, Subject

HEX = re.compile(r"-?0x[0-9a-f]+")


def fields(plain: Any, names: Any) -> dict[str, Any]:
    """An object with exactly these keys."""
    if not isinstance(plain, dict) or plain.keys() != set(names):
        raise ValueError(f"an object needs the keys {', '.join(names)}")
    return plain


def listed(plain: Any) -> list[Any]:
    """A list."""
    if not isinstance(plain, list):
        raise TypeError("a list is missing")
    return plain


def count(plain: Any) -> int:
    """A whole number that is not negative."""
    if type(plain) is not int or plain < 0:
        raise ValueError("a count is none")
    return plain


def yes_or_no(plain: Any) -> bool:
    """True or false."""
    if type(plain) is not bool:
        raise ValueError("true or false is missing")
    return plain


def text(plain: Any) -> str:
    """A string."""
    if not isinstance(plain, str):
        raise TypeError("a text is missing")
    return plain


def long_number(plain: Any) -> int:
    """A whole number in hexadecimal digits."""
    if not HEX.fullmatch(text(plain)):
        raise ValueError("a long whole number is none")
    return int(plain, 16)


def fraction(plain: Any) -> Fraction:
    """Two long numbers, the second positive."""
    above, below = (long_number(part) for part in text(plain).split("/"))
    if below <= 0:
        raise ValueError("a fraction is none")
    return Fraction(above, below)


def weight(plain: Any) -> float:
    """A float, or a long number where floats are too short."""
    if isinstance(plain, str):
        return long_number(plain)
    if type(plain) not in (int, float):
        raise TypeError("a number is missing")
    return float(plain)


def row_of(plain: Any, number: Any) -> dict[int, Any]:
    """{column: number}, from an object."""
    if not isinstance(plain, dict) or not all(key.isdecimal() for key in plain):
        raise ValueError("columns are none")
    return {int(j): number(x) for j, x in plain.items()}


def space(plain: Any) -> Reduced:
    """Rows in reduced echelon form: no row has entries in, or before, a pivot column."""
    found = Reduced(row_of(plain, lambda line: row_of(line, fraction)))
    for pivot, line in found.rows.items():
        if line.keys() & found.rows.keys() or min(line, default=pivot + 1) < pivot:
            raise ValueError("a space is not in reduced echelon form")
        if not all(line.values()):
            raise ValueError("a space has zeros among its numbers")
    return found


def combination(plain: Any) -> Combination:
    """Rows, which constraints of theirs, and multipliers."""
    given = fields(plain, Combination.__annotations__)
    found = Combination(
        tuple(count(row) for row in listed(given["rows"])),
        tuple(count(which) for which in listed(given["which"])),
        tuple(long_number(m) for m in listed(given["multipliers"])),
    )
    if not len(found.rows) == len(found.which) == len(found.multipliers):
        raise ValueError("a combination has not as many multipliers as rows")
    return found


def subject(plain: Any) -> Subject:
    """What a verdict is about."""
    given = fields(plain, Subject.__annotations__)
    classes, positive, negative = (
        tuple(listed(given[name])) for name in ("classes", "positive", "negative")
    )
    if not all(type(label) in (str, int, float, bool) for label in classes):
        raise ValueError("a label is none")
    sides = [*positive, *negative]
    if not all(label in classes for label in sides) or len(set(sides)) < len(sides):
        raise ValueError("the sides are not made of the classes")
    if bool(positive) != bool(negative):
        raise ValueError("a side has no classes")
    n_features, names = count(given["n_features"]), given["names"]
    if names is not None and len(listed(names)) != n_features:
        raise ValueError("there are not as many names as features")
    columns, n_rows = given["columns"], count(given["n_rows"])
    if columns is not None:
        columns = tuple(count(j) for j in listed(columns))
        if len(columns) != n_features or sorted({j for j in columns if j < n_rows}) != list(
            columns
        ):
            raise ValueError("the rows that span a space are none")
    return Subject(
        classes,
        positive,
        negative,
        yes_or_no(given["fit_intercept"]),
        n_rows,
        n_features,
        None if names is None else tuple(text(name) for name in names),
        text(given["fingerprint"]),
        columns,
    )
