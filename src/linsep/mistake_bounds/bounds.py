"""Results of :func:`linsep.bounds`, rounded outward: no bound is below the theorem's."""

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Context
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.linalg

from linsep.layout import folded

#: largest numbers of rows, and rates, that are handled
SIZES = 1e-100, 1e100
#: relative rounding error of sums of up to 4,000 floats
ROUNDING = 1e-12


@dataclass(frozen=True)
class Bound:
    """An upper bound ``value``, by a theorem.

    Attributes
    ----------
    name, learner, source : str
        The theorem, the learner to which it applies, and the source of its proof.
    value : float
        Rounded up: at least the theorem's value in real arithmetic.
    what, counted : {"mistakes", "updates", "margin"}, and float or None
        The bounded quantity, and its number in a run, if any.
    passes, by_pass : int, and tuple of float, or None
        The number of passes for which it holds, None for any; the bounds after one pass, after two,
        and so on up to ``value``, if they differ.
    comparator, distance : array and float, or None
        The weights w of a hinge bound of two classes, the intercept last if it is fitted, and the
        total distance that the rows of a pass must move to have the margin 1/||w|| from w.
    """

    name: str
    value: float
    what: str
    learner: str
    source: str
    counted: float | None = None
    passes: int | None = None
    by_pass: tuple[float, ...] | None = field(default=None, repr=False)
    comparator: np.ndarray | None = field(default=None, repr=False, compare=False)
    distance: float | None = field(default=None, repr=False)

    @property
    def kept(self) -> bool | None:
        """Whether the count is within the bound; None without a count."""
        return None if self.counted is None else bool(self.counted <= self.value)

    @property
    def ratio(self) -> float | None:
        """The count divided by the bound."""
        return self.counted / self.value if self.counted is not None and self.value else None

    def __str__(self) -> str:
        unit, most, noun = "margin ", shown(self.value), ""
        if self.what != "margin":  # counts are integers: at most 132.7 mistakes are at most 132
            unit, most = "", whole_count(self.value)
            noun = (
                f" {self.what.removesuffix('s') if most == '1' else self.what} in "
                f"{self.passes or 'any number of'} pass{'es' * (self.passes != 1)}"
            )
        start = self.learner if self.counted is None else "kept" if self.kept else "BROKEN"
        count = "" if self.counted is None else f"{self.counted:{'.4g' if unit else ','}} of "
        return f"{start}: {unit}{count}at most {most}{noun} ({self.name})"


@dataclass(frozen=True)
class Bounds:
    """All bounds that apply, and why others do not.

    ``bounds["Novikoff"]`` is the bound with that name; ``print(bounds)`` shows all bounds.

    Attributes
    ----------
    bounds, left_out : tuple of Bound, and dict
        Those that apply, and {name: reason} of others.
    longest, margin : float, and (low, high), or None
        R, the length of the longest row z (z = [x; 1] with an intercept), rounded up; an interval
        that contains the widest margin of separable z, the smallest over several classifiers.
    mistakes, passes : int or None
        Counts of the run, if any.
    """

    bounds: tuple[Bound, ...]
    left_out: dict[str, str]
    longest: float | None = None
    margin: tuple[float, float] | None = None
    mistakes: int | None = None
    passes: int | None = None

    def __getitem__(self, name: str) -> Bound:
        found = {bound.name: bound for bound in self.bounds}
        if name not in found:
            raise KeyError(f"{name}: {self.left_out.get(name, f'the known ones are {[*found]}')}")
        return found[name]

    def __iter__(self) -> Iterator[Bound]:
        return iter(self.bounds)

    @property
    def kept(self) -> bool:
        """Whether no bound is violated."""
        return all(bound.kept is not False for bound in self.bounds)

    def __str__(self) -> str:
        counted = self.mistakes is not None and self.passes is not None
        ends = " to ".join(dict.fromkeys(f"{end:.4g}" for end in self.margin or ()))
        about = (
            f"{self.mistakes:,} mistakes in {self.passes:,} passes" if counted else "",
            "" if self.longest is None else f"rows of length at most {shown(self.longest)}",
            f"margin {ends}" if ends else "",
        )
        lines = [", ".join(filter(None, about)), *map(str, self.bounds)]
        lines += [f"not known: {name}: {why}" for name, why in self.left_out.items()]
        return "\n".join(line for text in lines if text for line in folded(text))


def share_of(terms: int) -> float:
    """Return a bound on the rounding error of a sum, as a share of its terms."""
    return max(ROUNDING, ROUNDING * terms / 4000)


def above(value: Fraction) -> float:
    """Return the smallest float that is not below a number; infinity if there is none."""
    nearest = float(min(value, Fraction(sys.float_info.max)))
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def length(w: Any) -> float:
    """Return ||w|| without overflow or underflow."""
    return float(scipy.linalg.norm(np.ravel(w), check_finite=False))


def shown(value: float, digits: int = 4) -> str:
    """Return a positive number in ``digits`` digits, rounded up by more than a share of 1e-8."""
    up = Context(prec=digits, rounding=ROUND_CEILING)
    return f"{float(up.create_decimal_from_float(value * (1 - 1e-8))):.{digits}g}"


def whole_count(value: float) -> str:
    """Return the largest count that a bound allows, as text."""
    return f"{int(value):,}" if value < 1e15 else shown(value, 3)
