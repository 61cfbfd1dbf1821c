"""Learners that know how sure they are of their weights, against worked numbers and their facts.

Numbers are runs of one pass over five rows with an intercept, from weights of zero; weights are
printed as [b, w1, w2].
"""

from fractions import Fraction
from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.optimize import minimize, minimize_scalar

from linsep.teaching.textbook import AROW, SCW, Covariance, run
from linsep.teaching.textbook.machine import Example, dot

X = [(1, 1), (3, 2), (2, 4), (3, 4), (2, 3)]
y = [0, 1, 1, 1, 0]
UPDATED = [0, 1, 2, 4]
FIRST = Example((0, 0), (1,))
fractions = st.fractions(-3, 3, max_denominator=5)
rows = st.lists(st.tuples(fractions, fractions, st.integers(0, 1)), min_size=1, max_size=4)


def learned(rule, X=X, y=y, passes=1, **how):
    return list(run(rule, "binary", X, y, max_iter=passes, **how))


def turned(step):
    """[b, w1, w2]."""
    return [step.intercept, *step.weights]


def example(x):
    return Example(x, (1,))


def before(steps):
    """Each step with the covariance before it."""
    first = Covariance.first(FIRST)
    return zip(steps, [first, *(s.memory[0] or first for s in steps)], strict=False)


def of(text):
    return [Fraction(number) for number in text.split()]


def test_arow_in_exact_fractions():
    steps = learned(AROW(1))
    assert [s.updates for s in steps] == [1, 1, 1, 0, 1]
    assert [s.mistakes for s in steps] == [1, 1, 0, 0, 1]
    made = [steps[k] for k in UPDATED]
    assert [turned(s) for s in made] == [
        of("-1/4 -1/4 -1/4"), of("-3/32 7/32 2/32"), of("-289/4608 1086/4608 574/4608"),
        of("-861232/2928384 328781/2928384 -4808/2928384"),
    ]  # fmt: skip
    found = [s.memory[0].variances[0] for s in made]
    assert [[b, *w] for *w, b in found] == [
        of("1/2 1/2 1/2"), of("1/3 1/11 1/6"), of("1/4 1/15 1/22"), of("1/5 1/19 1/31"),
    ]  # fmt: skip
    assert steps[3][5:] != steps[2][5:]
    assert turned(steps[3]) == turned(steps[2])


def test_native_arow_by_hand():
    W = [(-2, 2, 1), (0, 3, 4), (1, 4, -2)]
    step = next(run(AROW(), "native", [(-2, 3, 1)], [2], 3, weights=W, fit_intercept=False))
    assert step.weights[0] == [-2, 2, 1]
    assert step.weights[1] == of("12/29 69/29 110/29")
    assert step.weights[2] == of("17/29 134/29 -52/29")
    variances = step.memory[0].variances
    assert variances[0] == [1, 1, 1, 1]
    assert variances[1] == variances[2] == [*of("1/5 1/10 1/2"), 1]


@given(rows=rows, R=st.fractions(Fraction(1, 9), 9))
def test_arow_updates_below_a_margin_of_one(rows, R):
    labels = [label for *_, label in rows]
    steps = learned(AROW(R), [row[:2] for row in rows], labels)
    w = [0, 0, 0]
    for step, (a, b, label) in zip(steps, rows, strict=True):
        sign, z = 2 * label - 1, [a, b, 1]
        m = sign * dot(w, z)
        assert (step.updates, step.mistakes) == (m < 1, m <= 0)
        old, w = w, [*step.weights, step.intercept]
        if step.updates:
            sigma = next(s for t, s in before(steps) if t is step)
            v = dot(z, sigma.times(Example(z[:2], z[2:])).z)
            assert 1 - sign * dot(w, z) == (1 - m) * R / (v + R)
            # The gradient of the paper's objective in the mean vanishes.
            gradient = [p - q for p, q in zip(w, old, strict=True)]
            pull = sigma.times(Example(z[:2], z[2:])).z
            left = 1 - sign * dot(w, z)
            assert gradient == [left * sign * p / R for p in pull]
        else:
            assert w == old


def test_variances_minimize_the_objective_of_the_paper():
    steps = learned(AROW(Fraction(3, 2)))
    for step, sigma in before(steps):
        if not step.updates:
            continue
        after = step.memory[0].variances[0]
        for z, s, found in zip([*X[step.row], 1], sigma.variances[0], after, strict=True):

            def objective(x, s=float(s), z=z):
                return (x / s - np.log(x / s)) / 2 + z * z * x / (2 * 1.5)

            best = minimize_scalar(objective, bounds=(1e-6, 2), options={"xatol": 1e-10})
            assert float(found) == pytest.approx(best.x, abs=1e-6)


def test_a_weight_of_two_is_half_the_noise_and_what_two_updates_know():
    twice = learned(AROW(Fraction(2, 3)), [X[1], X[1]], [1, 1])[-1]
    heavy = learned(AROW(Fraction(2, 3)), [X[1]], [1], row_weights=[2])[-1]
    assert twice.weights != heavy.weights
    assert twice.memory == heavy.memory
    other = learned(AROW(Fraction(1, 3)), [X[1]], [1])[-1]
    assert (heavy.weights, heavy.memory) == (other.weights, other.memory)


def objective_of(rule, C, mean, variance, z, prior):
    """The divergence from the prior distribution, and C times the loss on an example."""
    loss = max(0.0, rule.phi * abs(z) * sqrt(variance) - mean * z)
    share = variance / prior[1]
    return (share - log(share) - 1 + (mean - prior[0]) ** 2 / prior[1]) / 2 + C * loss


@pytest.mark.parametrize(("C", "z"), [(0.2, 0.5), (5.0, 2.0)])
def test_scw_minimizes_its_objective(C, z):
    """With one weight, a diagonal matrix is the whole; from the first row on the mean is not 0."""
    rule, prior = SCW(0.8, C), (0.0, 1.0)
    for step in learned(rule, [(z,), (z / 2,)], [1, 0], fit_intercept=False):
        (mean,), variance, x = step.weights, step.memory[0].variances[0][0], (z, -z / 2)[step.row]
        reached = objective_of(rule, C, mean, variance, x, prior)
        for start in (prior, (mean, variance)):
            found = minimize(
                lambda p, x=x, prior=prior: objective_of(rule, C, p[0], p[1] ** 2, x, prior),
                [start[0], sqrt(start[1])], method="Nelder-Mead",
                options={"maxiter": 2000, "xatol": 1e-9, "fatol": 1e-13},
            )  # fmt: skip
            assert reached <= found.fun + 1e-9
        prior = mean, variance


def test_the_weight_of_a_row_multiplies_c():
    heavy = learned(SCW(0.9, 0.25), row_weights=[2.0] * 5)
    other = learned(SCW(0.9, 0.5))
    assert [turned(s) for s in heavy] == [turned(s) for s in other]
