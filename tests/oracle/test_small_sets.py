"""Kinds, boundaries, signs and widest margins of 2,000 random sets against brute force in fractions
(``test_fewest_errors.py`` has the fewest errors of such sets, with weights).
"""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from exact_solve import solved
from fewest_errors_oracle import reflected
from fewest_errors_sets import random_set
from fourier_motzkin import kind_of, limits_of
from linsep import separation
from thoroughness import THOROUGH


def squared_margin(rows, sides, intercept):
    """The squared distance of two hulls, or of a hull and zero: the nearest points are those of the
    flats through some rows that are inside the rows' hulls.
    """
    groups = sides if intercept else [1] * len(rows)
    names, best = sorted(set(groups)), None
    product = [[sum(x * z for x, z in zip(a, b, strict=True)) for b in rows] for a in rows]
    for size in range(len(names), len(rows[0]) + 3):
        for chosen in combinations(range(len(rows)), size):
            inside = [[Fraction(int(groups[i] == g)) for i in chosen] for g in names]
            if not all(map(any, inside)):
                continue
            zeros = [Fraction(0)] * len(names)
            gram = [[product[i][j] for j in chosen] for i in chosen]
            A = [row + [line[k] for line in inside] for k, row in enumerate(gram)]
            A += [line + zeros for line in inside]
            x = solved(A, [Fraction(0)] * size + [Fraction(1)] * len(names))
            if x is None or min(x[:size]) <= 0:
                continue
            square = sum(
                p * q * row[j]
                for p, row in zip(x, gram, strict=False)
                for j, q in enumerate(x[:size])
            )
            best = square if best is None else min(best, square)
    return best / len(names) ** 2


def test_a_worked_margin():
    rows = [[Fraction(x) for x in row] for row in ([4, 3], [4, -3], [1, 0])]
    assert squared_margin(rows, [1, 1, -1], True) == Fraction(25, 4)
    assert squared_margin(rows[:2], [1, 1], False) == 16


@pytest.mark.parametrize("part", range(4))
def test_brute_force_agrees(part):
    for seed in range(part, 2_000, 4 if THOROUGH else 160):
        X, y, _, intercept = random_set(seed, most=8, dimensions=3)
        if len(set(y)) < 2:
            continue
        rows = [reflected(x, label, intercept) for x, label in zip(X, y, strict=True)]
        kind, bound = kind_of(rows)
        given = np.array(X, dtype=object)
        verdict = separation(given, y, fit_intercept=intercept, margin="max")
        assert verdict.kind == kind, seed
        assert verdict.verify(given, y), seed
        if kind == "quasi-separable":
            assert list(verdict.boundary) == bound, seed
            limits = limits_of(rows, len(rows[0]), intercept)
            assert list(verdict.limits().values()) == limits, seed
        if kind == "separable":
            flipped = [[Fraction(v) * s for v in x] for x, s in zip(X, y, strict=True)]
            low, high = map(Fraction, verdict.margin)
            assert low**2 <= squared_margin(flipped, y, intercept) <= high**2, seed
            assert high <= low * (1 + Fraction(2, 1_000_000)), seed
