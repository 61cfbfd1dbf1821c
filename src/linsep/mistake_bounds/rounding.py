"""Outward rounding, so that a stated bound is never below the theorem's.

A share that covers rounding (``ROUNDING``) is added to sums of floats; the rest of a bound is
computed in fractions, or in balls (``arb`` of FLINT) where logarithms are needed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg

from linsep._system.threads import one_precision

if TYPE_CHECKING:
    from flint import arb

#: relative rounding error of sums of up to 4,000 floats
ROUNDING = 1e-12
#: precision of balls, in bits
PRECISION = 192


def share_of(terms: int) -> float:
    """Return a bound on the rounding error of a sum, as a share of its terms."""
    return max(ROUNDING, ROUNDING * terms / 4000)


def float_above(value: Fraction | arb) -> float:
    """Return the smallest float that is not below a number; infinity if there is none."""
    if not isinstance(value, Fraction):
        if not value.is_finite():
            return math.inf
        mantissa, exponent = (int(part) for part in value.upper().man_exp())
        value = Fraction(mantissa) * Fraction(2) ** exponent
    try:
        nearest = float(value)
    except OverflowError:
        return math.inf if value > 0 else -float(np.finfo(float).max)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def parameter_readings(number: float) -> tuple[Fraction, Fraction]:
    """Return a parameter as its float and as its printed decimal."""
    return Fraction(number), Fraction(str(number))


@contextmanager
def balls() -> Iterator[None]:
    """Compute with balls of ``PRECISION`` bits in the block."""
    from flint import ctx

    with one_precision, ctx.workprec(PRECISION):
        yield


def as_ball(value: Fraction) -> arb:
    """Return a fraction as a ball."""
    from flint import arb

    return arb(value.numerator) / arb(value.denominator)


def length(w: Any) -> float:
    """Return ||w|| without overflow or underflow."""
    return float(scipy.linalg.norm(np.ravel(w), check_finite=False))


def shown(value: float, digits: int = 4) -> str:
    """Return a positive number in ``digits`` digits, rounded up by more than a share of 1e-8."""
    if not math.isfinite(value):
        return str(value)
    context = Context(prec=digits, rounding=ROUND_CEILING)
    rounded = context.create_decimal(Decimal(value * (1 - 1e-8)))
    return f"{float(rounded):.{digits}g}"
