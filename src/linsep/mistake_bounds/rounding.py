"""Rounding outward: a number that is given as a bound is no less than the bound.

Sums of floats are measured with a share added that covers their rounding (``ROUNDING``); the rest
of a bound is computed in fractions, or in balls (``arb`` of FLINT) where logarithms are needed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, ctx

#: sums of up to 4,000 floats are off by less than this share of their terms
ROUNDING = 1e-12
#: of balls, in bits
PRECISION = 192


def share_of(terms: int) -> float:
    """The share of its terms that a sum of so many floats is off by, at most."""
    return max(ROUNDING, ROUNDING * terms / 4000)


def above(value: Fraction | arb) -> float:
    """The smallest float that is not below a number; infinity beyond all floats."""
    if isinstance(value, arb):
        if not value.is_finite():
            return math.inf
        mantissa, exponent = (int(part) for part in value.upper().man_exp())
        value = Fraction(mantissa) * Fraction(2) ** exponent
    try:
        nearest = float(value)
    except OverflowError:
        return math.inf if value > 0 else -float(np.finfo(float).max)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def typed(number: float) -> tuple[Fraction, Fraction]:
    """A number that somebody gave, as the float that it is and as the decimal that was meant."""
    return Fraction(number), Fraction(str(number))


@contextmanager
def balls() -> Iterator[None]:
    """Work with balls of ``PRECISION`` bits."""
    before = ctx.prec
    ctx.prec = PRECISION
    try:
        yield
    finally:
        ctx.prec = before


def exact(value: Fraction) -> arb:
    """A fraction as a ball."""
    return arb(value.numerator) / arb(value.denominator)


def length(w: Any) -> float:
    """||w||, also where squares would be beyond floating point."""
    w = np.ravel(w)
    top = float(np.abs(w).max(initial=0.0))
    if not 0.0 < top < math.inf:
        return top
    _, exponent = math.frexp(top)
    return math.ldexp(float(np.linalg.norm(np.ldexp(w, -exponent))), exponent)


def shown(value: float, digits: int = 4) -> str:
    """So many digits of a number above 0, rounded up but for a share of 1e-8, its own rounding."""
    if not math.isfinite(value):
        return str(value)
    context = Context(prec=digits, rounding=ROUND_CEILING)
    rounded = context.create_decimal(Decimal(value * (1 - 1e-8)))
    return f"{float(rounded):.{digits}g}"
