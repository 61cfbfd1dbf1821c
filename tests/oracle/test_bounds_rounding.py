"""Bounds are no less than in exact arithmetic, in any unit, and runs that leave it have none."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from linsep import (
    BalancedWinnow,
    MarginPerceptron,
    Perceptron,
    Winnow,
    bounds,
)
from linsep.mistake_bounds.problems import Problem, comparator
from thoroughness import examples

pytestmark = pytest.mark.compiled

SIDES = np.array([[1.0], [-1.0]])


def test_the_bound_of_the_margin_perceptron_is_rounded_up():
    """8 / 0.1^2 is 799.9999999999999 in floats."""
    found = (
        MarginPerceptron(gamma=0.1, fit_intercept=False).fit(SIDES, [1, 0]).bounds(SIDES, [1, 0])
    )
    assert found["8/gamma^2"].value == 800
    assert "1 of at most 800 updates (8/gamma^2)" in str(found)
    for gamma in (0.1, 0.05, 0.025, 0.01, 0.3, 0.7, 0.2, 1 / 3):
        for epsilon in (0.5, 0.1, 0.3, 0.99):
            model = MarginPerceptron(gamma=gamma, epsilon=epsilon, fit_intercept=False)
            bound = next(iter(model.fit(SIDES, [1, 0]).bounds(SIDES, [1, 0])))
            for g, e in itertools.product(readings(gamma), readings(epsilon)):
                assert bound.value >= 2 / (e * g) ** 2
                assert bound.value <= 2 / (e * g) ** 2 * (1 + Fraction(1, 10**14))


def readings(number):
    return Fraction(number), Fraction(str(number))


@pytest.mark.parametrize("exponent", [-1000, -600, -200, 0, 200, 400])
def test_bounds_do_not_depend_on_the_unit_of_the_rows(exponent):
    rng = np.random.default_rng(3)
    X, y = rng.integers(-9, 10, (12, 2)) + 0.25, rng.integers(0, 2, 12)
    y = np.where(np.arange(12) < 9, X[:, 0] > 0, y) if exponent % 400 else (X[:, 0] > 0)
    usual = bounds(X, y, fit_intercept=False, passes=3)
    other = bounds(np.ldexp(X, exponent), y, fit_intercept=False, passes=3)
    for bound in usual:
        assert other[bound.name].value == pytest.approx(bound.value, rel=1e-9)
    assert other.left_out.keys() == usual.left_out.keys()
    assert other.longest == np.ldexp(usual.longest, exponent)
    scaled = None if usual.margin is None else tuple(np.ldexp(usual.margin, exponent).tolist())
    assert other.margin == scaled


@examples(40)
@given(st.integers(0, 10**6), st.integers(1, 4), st.booleans())
def test_bounds_are_no_less_than_in_exact_arithmetic(seed, d, separable):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 8))
    X = rng.choice([0.1, 0.3, 1.0, 7.0, 1e-8], (n, d)) * rng.integers(-3, 4, (n, d))
    w = rng.integers(-2, 3, d) * 0.7
    y = (X @ w > 0) if separable else np.arange(n) % 2 == 0
    if len(set(y.tolist())) < 2 or not X.any():
        return
    A = [[Fraction(v) * (1 if side else -1) for v in x] for x, side in zip(X, y, strict=True)]
    R = max(sum(v * v for v in a) for a in A)
    found = bounds(X, y, fit_intercept=False, weights=w, passes=2)
    assert Fraction(found.longest) ** 2 >= R
    values = [sum(Fraction(p) * q for p, q in zip(w, a, strict=True)) for a in A]
    square = sum(Fraction(p) ** 2 for p in w)
    if "Novikoff" in found.names():
        assert found["Novikoff"].value >= R * square / min(values) ** 2
    given_w = comparator(Problem(np.where(y, 1.0, -1.0)[:, None] * X), w)
    losses = [max(0, 1 - value) for value in values]
    assert given_w.square >= square
    assert given_w.hinge >= sum(losses)


def test_runs_that_leave_real_arithmetic_have_no_bound():
    y = [1, 0]
    short = Perceptron(fit_intercept=False, max_iter=100).fit(1e-200 * SIDES, y)
    found = short.bounds(1e-200 * SIDES, y)
    assert found.mistakes == 200  # as products of such rows are zero
    assert "rounded to zero" in found.left_out["Novikoff"]
    assert "rounded to zero" in found.left_out["hinge"]
    assert found.names() == ["||w||/M"]
    assert found.kept
    assert bounds(1e-200 * SIDES, y, fit_intercept=False)["Novikoff"].value == pytest.approx(1)
    slow = Perceptron(fit_intercept=False, max_iter=50, learning_rate=5e-324).fit(0.1 * SIDES, y)
    found = slow.bounds(0.1 * SIDES, y)
    assert (found.mistakes, found.names()) == (100, [])
    assert "rounded to zero" in slow.report_.left_out["||w||/M"]
    small = Perceptron(fit_intercept=False, learning_rate=1e-100).fit(SIDES, y).bounds(SIDES, y)
    assert small.kept
    assert "Novikoff" in small.names()
    high = Winnow(threshold=1e151, max_iter=600).fit(np.eye(2), y)
    assert high.mistakes_.sum() == 600
    assert "1e+150" in high.bounds(np.eye(2), y).left_out["disjunction"]
    most = Winnow(threshold=1e149, promotion=1e30, max_iter=600).fit(np.eye(2), y)
    assert most.bounds(np.eye(2), y)["disjunction"].kept
    rows = np.array([[1.0, 1.0], [1.0, -1.0], [1.0, 0.99]])
    fast = BalancedWinnow(promotion=1e9, fit_intercept=False, max_iter=50).fit(rows, [1, 0, 0])
    assert "1e+150" in fast.bounds(rows, [1, 0, 0]).left_out["L1 margin"]


def test_the_gain_of_balanced_winnow_is_no_difference_of_floats():
    """With a small promotion ln cosh(eta X) is all rounding in floats, and the bound too low."""
    found = BalancedWinnow(promotion=1 + 1e-7, fit_intercept=False, max_iter=2).fit(SIDES, [1, 0])
    eta = float(np.log1p(np.float64(1 + 1e-7) - 1))
    expected = np.log(2) / (eta - eta**2 / 2)
    assert found.bounds(SIDES, [1, 0])["L1 margin"].value == pytest.approx(expected, rel=1e-9)
