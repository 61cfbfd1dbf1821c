"""Reference implementations: by hand, against scikit-learn, and what they refuse."""

from fractions import Fraction
from math import exp, inf, log

import numpy as np
import pytest
from hypothesis import given, strategies as st

from linsep import textbook
from linsep.teaching.textbook import (
    AROW,
    SCW,
    BalancedWinnow,
    BatchPerceptron,
    MarginPerceptron,
    OnlineLogistic,
    PassiveAggressive,
    Perceptron,
    Winnow,
    binary_perceptron,
    kept,
    native_perceptron,
    ovo_perceptron,
    ovr_perceptron,
    run,
)
from storages import blobs, with_margin

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
SIGNED = [(4, 0), (1, 1), (0, 1), (-2, -2)], [1, 0, 0, 1]
XOR = [(1, 1), (1, -1), (-1, 1), (-1, -1)], [1, 0, 0, 1]
RULES = {
    "perceptron": Perceptron(),
    "inverse": Perceptron(0.5, "inverse"),
    "inverse_sqrt": Perceptron(2, "inverse_sqrt"),
    "callable": Perceptron(lambda k: 1 / (k + 1)),
    "batch": BatchPerceptron(1, "inverse"),
    "margin": MarginPerceptron(0.25, 0.25),
    "pa1": PassiveAggressive(0.5),
    "pa2": PassiveAggressive(2.0, "squared_hinge"),
    "winnow": Winnow(1.5, 3),
    "balanced": BalancedWinnow(1.25),
}
REMEMBERING = {"arow": AROW(2.0), "scw": SCW(0.8), "online-logistic": OnlineLogistic(l2=0.01)}


def after(rule, X, y, passes=1, **how):
    """(weights, intercept) after so many passes of two classes."""
    *_, step = run(rule, "binary", X, y, max_iter=passes, **how)
    return step.weights, step.intercept


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


def test_a_rate_that_is_none_is_named():
    for rate in (0, -1, inf, float("nan")):
        learn = run(Perceptron({1: 1, 2: rate}.get), "binary", *XOR)
        next(learn)
        with pytest.raises(ValueError, match=rf"learning_rate\(2\) is {rate}"):
            next(learn)


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
    first = next(s for s in steps if s.attempt == 1)
    assert first.weights == pytest.approx([v * (2 * y[first.row] - 1) for v in X[first.row]])
    w = np.array(kept(steps, "average", "binary").weights)
    own = [s.weights for s in steps if s.attempt == last.attempt]
    assert w == pytest.approx(np.mean(own, axis=0))


def test_rows_without_length_have_no_margin():
    with pytest.raises(ValueError, match="Row 1 is all zeros"):
        next(run(MarginPerceptron(0.5), "binary", [[1], [0]], [1, 0], fit_intercept=False))
    steps = run(MarginPerceptron(0.5), "binary", [[1], [0]], [1, 0], max_iter=1, row_weights=[1, 0])
    assert len(list(steps)) == 1


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
    with pytest.raises(ValueError, match=r"Feature 1 of row 1 is -3;.*BalancedWinnow"):
        next(run(Winnow(), "binary", [(1, 1), (1, -3)], [1, 0]))


def test_multiplied_weights_never_overflow():
    for rule in [Winnow(2), BalancedWinnow(2)]:
        X, y = [[3000.0, 1], [1, 3000]] * 3, [1, 0, 0, 1, 0, 1]
        for step in run(rule, "binary", X, y, max_iter=5, row_weights=[9.0] * 6):
            assert all(abs(w) <= 1.1e150 for w in [*step.weights, step.intercept])


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
    zero = next(run(PassiveAggressive(), "binary", [[0], [1]], [1, 0]))
    assert (zero.mistakes, zero.updates, zero.intercept) == (1, 0, 0)
    soft = list(
        run(PassiveAggressive(1, "squared_hinge"), "binary", [[0], [0]], [1, 0], max_iter=1)
    )
    assert [(s.updates, s.intercept) for s in soft] == [(1, 2), (1, -4)]
    rule = PassiveAggressive(1, "squared_hinge")
    still = next(run(rule, "binary", [[0], [1]], [1, 0], fit_intercept=False))
    assert (still.mistakes, still.updates, still.weights) == (1, 0, [0])


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@given(
    x=st.lists(st.fractions(-3, 3, max_denominator=8), min_size=1, max_size=3),
    C=st.fractions(Fraction(1, 50), 20),
    weight=st.fractions(Fraction(1, 50), 1000),
    fit_intercept=st.booleans(),
    scheme=st.sampled_from(["binary", "native"]),
)
def test_the_weight_of_a_row_multiplies_c_and_overshoots_nothing(
    loss, x, C, weight, fit_intercept, scheme
):
    def margin(C, weight):
        """y s after the row was seen once."""
        step = next(run(
            PassiveAggressive(C, loss), scheme, [x, x], [1, 0], 2, fit_intercept=fit_intercept,
            row_weights=[weight, 1], max_iter=1,
        ))  # fmt: skip
        if scheme == "binary":
            return textbook.score(x, step.weights, step.intercept)
        down, up = textbook.scores(x, step.weights, step.intercept)
        return up - down

    weighted, alone = margin(C, weight), margin(C, 1)
    assert weighted <= max(alone, 1)
    assert (weighted >= alone) == (weight >= 1 or weighted == alone)
    if not fit_intercept:  # then C alone keeps every step short enough
        assert weighted == margin(C * weight, 1) <= 1


@pytest.mark.thorough
@pytest.mark.parametrize("how", ["last", "average", "vote", "longest", "best"])
@pytest.mark.parametrize("rule", (RULES | REMEMBERING).values(), ids=RULES | REMEMBERING)
@pytest.mark.parametrize("scheme", ["ovr", "ovo"])
def test_machines_know_nothing_of_each_other(scheme, rule, how):
    """Each machine of several is the binary learner on the rows it sees."""
    rng = np.random.default_rng(1)
    X = rng.integers(0, 4, (24, 3)).tolist()
    y = [0, 1, 2, *rng.integers(0, 3, 21).tolist()]
    steps = list(run(rule, scheme, X, y, 3, max_iter=1))
    together = kept(steps, how, scheme, 3, X=X, y=y)
    matches = [(0, 1), (0, 2), (1, 2)] if scheme == "ovo" else [(None, k) for k in range(3)]
    alone = []
    for smaller, larger in matches:
        rows = [i for i, c in enumerate(y) if smaller is None or c in (smaller, larger)]
        A, b = [X[i] for i in rows], [int(y[i] == larger) for i in rows]
        alone.append(kept(run(rule, "binary", A, b, max_iter=1), how, "binary", X=A, y=b))
    assert together.weights == [machine.weights for machine in alone]
    assert together.intercept == [machine.intercept for machine in alone]
    assert together.scores([1, 2, 3]) == [machine.scores([1, 2, 3]) for machine in alone]


def learned_as(rule, weights):
    """Weights on the scale on which the rule adds."""
    if isinstance(rule, Winnow):
        return np.log(weights)
    return np.arcsinh(weights / 2) if isinstance(rule, BalancedWinnow) else weights


def test_native_moves_two_classes_by_opposite_amounts():
    for rule in RULES.values():
        rng = np.random.default_rng(2)
        X, y = rng.integers(0, 4, (20, 3)).tolist(), rng.integers(0, 3, 20).tolist()
        for step in run(rule, "native", X, y, 3, max_iter=3, tie="random"):
            moves = learned_as(rule, np.array(step.weights, float))
            assert moves.sum(axis=0) == pytest.approx([0, 0, 0])
            if rule.learns_intercept:
                moves = learned_as(rule, np.array(step.intercept, float))
            assert moves.sum() == pytest.approx(0)
            assert step.seen == (0,)
            assert step.error <= step.mistakes


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
    exact = [[Fraction(v) for v in x] for x in SIGNED[0]]
    steps = run(Perceptron(), "binary", exact, SIGNED[1], fit_intercept=False)
    assert kept(steps, "average", "binary").weights == [Fraction(15, 8), Fraction(-17, 8)]


def test_the_first_weights_are_a_version_too():
    # (0, 1) is right already, (1, 0) is not.
    steps = list(
        run(Perceptron(), "binary", [(0, 1), (1, 0)], [1, 1], weights=[-1, 1], fit_intercept=False)
    )
    assert [s.weights for s in steps] == [[-1, 1], [0, 1], [0, 1], [1, 1], [1, 1], [1, 1]]
    assert [v.rounds for v in kept(steps, "vote", "binary").versions[0]] == [1, 2, 3]


def test_vote_of_classes_by_hand():
    X, y = [[1, 0], [0, 1], [1, 1]], [0, 1, 2]
    steps = list(run(Perceptron(), "native", X, y, 3, fit_intercept=False, max_iter=1))
    assert [s.weights for s in steps] == [
        [[0, 0], [0, 0], [0, 0]],
        [[0, -1], [0, 1], [0, 0]],
        [[0, -1], [-1, 0], [1, 1]],
    ]
    vote = kept(steps, "vote", "native", 3)
    # (0, 1): all equal; 1 is best; 2 is best.
    assert vote.scores([0, 1]) == [1 / 3] * 3
    assert kept(steps, "vote", "native", 3, tie="positive").scores([0, 1]) == [0, 1 / 3, 2 / 3]
    assert vote.predict([-1, 0]) == 0


def test_pocket_by_hand():
    steps = list(run(Perceptron(), "binary", *XOR, fit_intercept=False, max_iter=5))
    pocket = kept(steps, "best", "binary", X=XOR[0], y=XOR[1])
    # Every version lives one round; the first of them is wrong in 3 rows, the last in all 4.
    assert pocket.weights == [1, 1]
    assert kept(steps, "longest", "binary").weights == [1, 1]
    steps = list(run(Perceptron(), "binary", *SIGNED, fit_intercept=False))
    assert kept(steps[:3], "best", "binary", X=SIGNED[0], y=SIGNED[1]).weights == [3, -1]
    assert kept(steps, "best", "binary", X=SIGNED[0], y=SIGNED[1]).weights == [1, -3]
    assert kept(steps[:5], "longest", "binary").weights == [3, -1]
    with pytest.raises(ValueError, match="last, average"):
        kept(steps, "first", "binary")


def test_the_pocket_can_weigh_mistakes():
    X, y = [[1], [2]], [1, 0]
    counts = [1, 3]
    steps = list(run(Perceptron(), "binary", X, y, fit_intercept=False, max_iter=1,
                     row_weights=counts))  # fmt: skip
    assert [s.weights for s in steps] == [[1], [-5]]
    # Each gets one row wrong: the first that came stays, unless its row counts more.
    assert kept(steps, "best", "binary", X=X, y=y).weights == [1]
    assert kept(steps, "best", "binary", X=X, y=y, row_weights=counts).weights == [-5]


def test_unit_rows():
    assert textbook.unit_rows([(3, 4), (0, 0)]) == [[0.6, 0.8], [0, 0]]


X = [(1, 2), (-1, -2), (3, 1)]


def test_labels_and_rows_that_are_none():
    for labels in ([1, 0, -1], [1, True, -1], [1, 0.5, -1], [1, "+1", -1], [1], [1, 1, 1, 1]):
        with pytest.raises(ValueError, match=r"Row 1 has the label|3 rows"):
            list(binary_perceptron(X, labels))
    for one in (1, 1.0, np.int64(1), np.float32(1)):
        assert next(binary_perceptron(X, [one, -1, 1])).weights == [1, 2]
    for learn in (native_perceptron, ovr_perceptron, ovo_perceptron):
        for code in (-1, 3, 0.5, 1.0, "1", None):
            with pytest.raises(ValueError, match="Row 2 has the class"):
                list(learn(X, [0, 1, code], 3))
        assert list(learn(np.array(X), np.array([0, 1, 2]), 3))
    for scheme, rows, codes, k in (
        ("binary", X, [-1, 1, 1], 2), ("native", X, [0, 2, 1], 2), ("binary", X, [0, 2, 1], 3),
        ("binary", [], [], 2),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"Row|binary|no rows"):
            list(run(Perceptron(), scheme, rows, codes, k))
