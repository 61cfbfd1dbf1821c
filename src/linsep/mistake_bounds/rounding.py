"""Outward rounding: a stated bound is never below the theorem's."""

import math
from decimal import ROUND_CEILING, Context
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.linalg

#: largest numbers of rows, and rates, that are handled
SIZES = 1e-100, 1e100
#: relative rounding error of sums of up to 4,000 floats
ROUNDING = 1e-12


def share_of(terms: int) -> float:
    """Return a bound on the rounding error of a sum, as a share of its terms."""
    return max(ROUNDING, ROUNDING * terms / 4000)


def float_above(value: Fraction) -> float:
    """Return the smallest float that is not below a number; infinity if there is none."""
    try:
        nearest = float(value)
    except OverflowError:
        return math.inf
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def length(w: Any) -> float:
    """Return ||w|| without overflow or underflow."""
    return float(scipy.linalg.norm(np.ravel(w), check_finite=False))


def shown(value: float, digits: int = 4) -> str:
    """Return a positive number in ``digits`` digits, rounded up by more than a share of 1e-8."""
    up = Context(prec=digits, rounding=ROUND_CEILING)
    return f"{float(up.create_decimal_from_float(value * (1 - 1e-8))):.{digits}g}"
