"""Bounds on the corrections of ALMA with p = 2, on rows of length 1.

C. Gentile, A new approximate maximal margin classification algorithm, JMLR 2 (2001), theorem 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import sqrt

import numpy as np

from linsep.mistake_bounds.bounding import brought, widest
from linsep.mistake_bounds.bounds import Unknown
from linsep.mistake_bounds.problems import Problem, best_comparator
from linsep.mistake_bounds.rounding import ROUNDING, float_above, parameter_readings

GENTILE = "C. Gentile, A new approximate maximal margin classification algorithm, JMLR 2 (2001)"
#: how far from theirs constants may be that floats cannot give exactly
TOLERANCE = 1e-12


def corrections_of_separable(problems: Sequence[Problem], alpha: float) -> float:
    """Return the most corrections on separable rows, rounded up, for every binary classifier with
    the margin g: (2 / g^2) (2 / alpha - 1)^2 + 8 / alpha - 4. It holds for B = sqrt(8) / alpha, C =
    sqrt(2).
    """
    widest(problems)
    total = 0.0
    for problem in problems:
        assert problem.margin is not None
        g = Fraction(problem.margin[0])
        most = max(
            2 / g**2 * (2 / reading - 1) ** 2 + 8 / reading - 4
            for reading in parameter_readings(alpha)
        )
        total += float_above(most)
    return total * (1 + ROUNDING)


def corrections_of_any(
    problems: Sequence[Problem], passes: int, alpha: float, B: float, C: float,
    given: np.ndarray | None = None,
) -> float:  # fmt: skip
    """Return the most corrections on any rows, rounded up, if C^2 + 2 (1 - alpha) B C = 1: for
    weights u, with H their hinge loss in all steps and q = |u| / C, at most H + q^2 / 2 + sqrt(q^4
    / 4 + q^2 H + q^2).
    """
    constants = product(*(parameter_readings(number) for number in (alpha, B, C)))
    if not any(abs(c * c + 2 * (1 - a) * b * c - 1) <= TOLERANCE for a, b, c in constants):
        raise Unknown("C^2 + 2 (1 - alpha) B C is not 1")
    total = 0.0
    for problem in problems:
        found = best_comparator(problem, passes * C * C, brought(problem, given))
        H, q2 = passes * found.hinge, found.square / (C * C)
        total += H + q2 / 2 + sqrt(q2 * q2 / 4 + q2 * H + q2)
    return total * (1 + ROUNDING)
