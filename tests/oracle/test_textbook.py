"""Reference implementations: by hand, against scikit-learn, and what they refuse."""

from fractions import Fraction
from inspect import getsource
from math import exp, inf, log

import numpy as np
import pytest

from linsep import textbook
from linsep.teaching.textbook import (
    BalancedWinnow,
    BatchPerceptron,
    MarginPerceptron,
    PassiveAggressive,
    Perceptron,
    Winnow,
    binary_perceptron,
    kept,
    native_perceptron,
    ovo_perceptron,
    ovr_perceptron,
    plain_perceptron,
    run,
)
from storages import blobs, with_margin

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
SIGNED = [(4, 0), (1, 1), (0, 1), (-2, -2)], [1, 0, 0, 1]
XOR = [(1, 1), (1, -1), (-1, 1), (-1, -1)], [1, 0, 0, 1]


def after(rule, X, y, passes=1, **how):
    """(weights, intercept) after so many passes of two classes."""
    *_, step = run(rule, "binary", X, y, max_iter=passes, **how)
    return step.weights, step.intercept


def test_the_ten_lines_are_the_perceptron():
    assert len(getsource(plain_perceptron).split('"""')[2].strip().splitlines()) <= 10
    X, y = blobs(60, 4, 2, seed=3)
    plain = list(plain_perceptron([[*x, 1.0] for x in X.tolist()], 2 * y - 1, [0] * 5, 9))
    assert plain == [
        [*s.weights, s.intercept] for s in run(Perceptron(), "binary", X, y, max_iter=9)
    ]


def test_batch_rule_by_hand():
    X, y = [(2, 0), (1, 1), (0, 2)], [1, 0, 1]
    steps = list(run(BatchPerceptron(Fraction(1), "inverse"), "binary", X, y, max_iter=3))
    # All scores are 0: the sum of y z is (2, 0, 1) - (1, 1, 1) + (0, 2, 1).
    assert [s.weights for s in steps[:3]] == [[0, 0], [0, 0], [1, 1]]
    # Then only the second row, of score 3, is wrong: half of (-1, -1, -1).
    assert [s.score for s in steps[3:6]] == [3, 3, 3]
    assert [s.criterion for s in steps[:6]] == [0, 0, 0, 0, 3, 0]
    assert (steps[5].weights, steps[5].intercept) == ([HALF, HALF], HALF)
    assert [s.round for s in steps] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert [s.mistakes for s in steps] == [1, 1, 1, 0, 1, 0, 0, 1, 0]
    assert [s.updates for s in steps] == [0, 0, 1] * 3
    # 1/3 of (-1, -1, -1) is left to take off; the mean is that of the three passes.
    assert steps[-1].weights == [HALF - THIRD] * 2
    assert kept(steps, "average", "binary").weights == [(1 + HALF + HALF - THIRD) / 3] * 2


def test_schedules_are_exact_on_fractions():
    X, y = [[Fraction(2)], [Fraction(1)]], [1, 0]
    steps = list(run(Perceptron(Fraction(6), "inverse"), "binary", X, y, max_iter=1))
    assert [(s.weights, s.intercept) for s in steps] == [([12], 6), ([9], 3)]
    assert all(isinstance(s.weights[0], Fraction) for s in steps)
    assert after(Perceptron(lambda k: Fraction(6, k)), X, y) == ([9], 3)
    w, b = after(Perceptron(1, "inverse_sqrt"), X, y)
    assert (w[0], b) == pytest.approx((2 - 0.5**0.5, 1 - 0.5**0.5))


def test_halving_ends_where_the_margin_allows():
    assert textbook.most_updates(0.1) == pytest.approx(8 / 0.1**2)
    # A separator of margin 0.02 exists, so no aim below that fails.
    X, y = (given.tolist() for given in with_margin(0.02, n=60, d=4))
    steps = list(run(MarginPerceptron(), "binary", X, y, fit_intercept=False, max_iter=10_000))
    last = steps[-1]
    gamma = 0.5 ** (last.attempt + 1)
    assert last.attempt >= 1
    assert 0.01 < gamma < 0.5
    for attempt in range(last.attempt):
        made = sum(s.updates for s in steps if s.attempt == attempt)
        assert made > textbook.most_updates(0.5 ** (attempt + 1))


def test_winnow_by_hand():
    X, y = [(1, 0, 2), (1, 1, 0)], [1, 0]
    steps = list(run(Winnow(Fraction(2), 4), "binary", X, y, max_iter=2))
    # 3 < 4 promotes by 2 and 4; then 3 < 4 is right; 2 + 8 = 10 > 4 is right.
    assert [s.score for s in steps] == [-1, -1, 6, -1]
    assert [s.weights for s in steps] == [[2, 1, 4]] * 4
    assert {s.intercept for s in steps} == {-4}
    native = next(run(Winnow(Fraction(2)), "native", X, y, 2))
    assert (native.score, native.weights) == ([3, 3], [[HALF, 1, Fraction(1, 4)], [2, 1, 4]])
    assert native.intercept == [0, 0]


def test_balanced_winnow_is_two_winnows():
    X, y = blobs(30, 3, 2, seed=5)
    X = X / 4
    u, v = [1.0] * 4, [1.0] * 4
    for step in run(
        BalancedWinnow(1.5), "binary", X.tolist(), y.tolist(), max_iter=3, tie="positive"
    ):
        z, sign = [*X[step.row], 1.0], 2 * y[step.row] - 1
        s = sum((p - q) * f for p, q, f in zip(u, v, z, strict=True))
        assert step.score == pytest.approx(s, rel=1e-9, abs=1e-9)
        if sign * s <= 0:
            u = [p * exp(sign * f * log(1.5)) for p, f in zip(u, z, strict=True)]
            v = [q * exp(-sign * f * log(1.5)) for q, f in zip(v, z, strict=True)]
        w = [p - q for p, q in zip(u, v, strict=True)]
        assert [*step.weights, step.intercept] == pytest.approx(w, rel=1e-9, abs=1e-9)


def test_plain_passive_aggressive_makes_the_example_right_by_one():
    X, y = [[Fraction(3), Fraction(1)], [Fraction(1), Fraction(2)]], [1, 0]
    for step in run(PassiveAggressive(inf), "binary", X, y, fit_intercept=False, max_iter=9):
        margin = (2 * y[step.row] - 1) * textbook.score(X[step.row], step.weights, 0)
        assert margin == 1 or step.updates == 0
        assert margin >= 1
    native = next(run(PassiveAggressive(inf), "native", X, y, 2, fit_intercept=False))
    a, b = textbook.scores(X[0], native.weights, [0, 0])
    assert (b - a, native.weights[0]) == (1, [-w for w in native.weights[1]])
    soft = run(PassiveAggressive(1, "squared_hinge"), "binary", [[0], [0]], [1, 0], max_iter=1)
    assert [(s.updates, s.intercept) for s in soft] == [(1, 2), (1, -4)]


def test_average_and_vote_by_hand():
    steps = list(run(Perceptron(), "binary", *SIGNED, fit_intercept=False))
    # (4, 0) once, (3, -1) twice, (1, -3) five times: in its own round and the clean pass.
    mean = kept(steps, "average", "binary")
    assert mean.weights == [(4 + 6 + 5) / 8, (-2 - 15) / 8]
    vote = kept(steps, "vote", "binary")
    assert [(v.machine.weights, v.rounds) for v in vote.versions[0]] == [
        ([4, 0], 1), ([3, -1], 2), ([1, -3], 5),
    ]  # fmt: skip
    assert vote.weights == [1, -3]
    # Their scores of (2, 1) are 8, 5 and -1; of (0, 1): 0, -1 and -3.
    assert (vote.scores([2, 1]), vote.predict([2, 1])) == ((1 + 2 - 5) / 8, 0)
    assert [kept(steps, "vote", "binary", tie=t).scores([0, 1]) for t in
            ("negative", "positive", "random")] == [-1, -0.75, -0.875]  # fmt: skip


def test_pocket_by_hand():
    steps = list(run(Perceptron(), "binary", *XOR, fit_intercept=False, max_iter=5))
    pocket = kept(steps, "best", "binary", X=XOR[0], y=XOR[1])
    # Every version lives one round; the first of them is wrong in 3 rows, the last in all 4.
    assert pocket.weights == [1, 1]
    assert kept(steps, "longest", "binary").weights == [1, 1]
    with pytest.raises(ValueError, match="last, average"):
        kept(steps, "first", "binary")


X = [(1, 2), (-1, -2), (3, 1)]


def test_labels_and_rows_that_are_none():
    with pytest.raises(ValueError, match="Row 1 has the label"):
        list(binary_perceptron(X, [1, 0, -1]))
    for learn in (native_perceptron, ovr_perceptron, ovo_perceptron):
        with pytest.raises(ValueError, match="Row 2 has the class"):
            list(learn(X, [0, 1, 3], 3))
        assert list(learn(np.array(X), np.array([0, 1, 2]), 3))
