"""Online logistic regression in plain Python: worked numbers, their facts, and Vowpal Wabbit."""

from math import exp, expm1, log

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.special import lambertw, softmax
from sklearn.linear_model import SGDClassifier

from linsep import OnlineLogistic as Estimator
from linsep.teaching.textbook import OnlineLogistic, invariant_step, run
from storages import blobs

X = [(1.0, 1.0), (3.0, 2.0), (2.0, 4.0), (3.0, 4.0), (2.0, 3.0)]
y = [0, 1, 1, 1, 0]
OFF = {"adaptive": False, "normalized": False, "invariant": False}
PARTS = [{"adaptive": a, "normalized": n, "invariant": i}
         for a in (False, True) for n in (False, True) for i in (False, True)]  # fmt: skip


def learned(rule, X=X, y=y, passes=1, **how):
    return list(run(rule, "binary", X, y, max_iter=passes, **how))


def turned(step):
    """[b, w1, w2]."""
    return [step.intercept, *step.weights]


def test_each_part_of_online_logistic_by_hand():
    for parts, expected in [
        ({"adaptive": True}, [-0.081535123937, -0.025347153535, 0.095090257415]),
        ({"adaptive": True, "normalized": True}, [0.048224376724, 0.038485211694, 0.052842289033]),
        ({"normalized": True}, [0.052822870558, 0.039128323093, 0.024660850817]),
        ({"invariant": True}, [-0.208856160562, 0.005796353013, -0.334913189227]),
    ]:
        steps = learned(OnlineLogistic(0.5, **OFF | parts))
        assert turned(steps[-1]) == pytest.approx(expected, abs=1e-12)
        assert [s.updates for s in steps] == [1] * 5


class GradientBeforeRescaling(OnlineLogistic):
    """The order of Vowpal Wabbit: scales and weights change after the gradient was taken."""

    def prepare(self, machine, x, one):
        return False

    def update(self, machine, example, y, s, importance):
        OnlineLogistic.prepare(self, machine, example.x, example.ones[0])
        return super().update(machine, example, y, s, importance)


def test_rescaling_comes_before_the_gradient():
    steps = learned(GradientBeforeRescaling(0.5, invariant=False))
    assert turned(steps[-1]) == pytest.approx([0.050932, 0.033598, 0.050795], abs=5e-7)


def test_first_invariant_steps_by_hand():
    rule = OnlineLogistic(0.5, **OFF | {"invariant": True})
    assert turned(learned(rule)[0]) == pytest.approx([-0.209117653195] * 3, abs=1e-12)
    heavy = learned(rule, row_weights=[2, 1, 1, 1, 1])[0]
    assert turned(heavy) == pytest.approx([-0.357909645852] * 3, abs=1e-12)


@pytest.mark.parametrize("classes", [2, 3])
def test_plain_steps_are_those_of_scikit_learn(classes):
    A, b = blobs(40, 3, classes, spread=2.0, seed=1)
    peer = SGDClassifier(
        loss="log_loss", penalty=None, learning_rate="constant", eta0=0.1, shuffle=False,
        max_iter=3, tol=None,
    ).fit(A, b)  # fmt: skip
    scheme = "binary" if classes == 2 else "ovr"
    rule = OnlineLogistic(0.1, **OFF)
    *_, step = run(rule, scheme, A.tolist(), b.tolist(), classes, max_iter=3)
    assert np.reshape(step.weights, peer.coef_.shape) == pytest.approx(peer.coef_, rel=1e-9)
    assert np.atleast_1d(step.intercept) == pytest.approx(peer.intercept_, rel=1e-9)


@given(m=st.floats(-700, 700), q=st.floats(1e-12, 1e6))
def test_an_invariant_step_solves_its_equation(m, q):
    d = invariant_step(m, q)
    assert 0 <= d <= q
    if m > 0:
        assert d * exp(-m) + expm1(d) == pytest.approx(q * exp(-m), rel=1e-12, abs=1e-300)
    elif m + d < 700:
        grown = exp(m + d) - exp(m) if d > 700 else exp(m) * expm1(d)
        assert d + grown == pytest.approx(q, rel=1e-12)
    if abs(m) < 20 and 1e-3 < q < 100:  # where the closed form does not cancel or overflow
        closed = q + exp(m) - lambertw(exp(q + m + exp(m))).real if q + m + exp(m) < 700 else None
        assert closed is None or d == pytest.approx(closed, rel=1e-6, abs=1e-6)


@given(m=st.floats(-30, 30), q=st.floats(1e-3, 50), parts=st.integers(2, 5))
def test_invariant_steps_add_up(m, q, parts):
    at = m
    for _ in range(parts):
        at += invariant_step(at, q / parts)
    assert at - m == pytest.approx(invariant_step(m, q), rel=1e-9, abs=1e-12)


def test_steps_beyond_exponents():
    for m, q in [(-1000.0, 1e-300), (-745.0, 1e5), (745.0, 1.0), (1000.0, 1e300), (1000.0, 1e-300)]:
        d = invariant_step(m, q)
        assert 0 <= d <= q
        if m > 0 and q == 1e300:
            assert m + d == pytest.approx(max(m, log(q)), rel=1e-3)
        if m < 0:
            # Far on the wrong side the margin grows by q, until it is about the logarithm of q.
            assert d == pytest.approx(min(q, log(q) - m), rel=1e-3)


def test_an_invariant_step_is_the_limit_of_small_ones():
    rule, small = OnlineLogistic(0.5, **OFF | {"invariant": True}), OnlineLogistic(0.5, **OFF)
    whole = learned(rule, X[:1], y[:1])[-1]
    n = 2000
    many = learned(small, X[:1] * n, y[:1] * n, row_weights=[1 / n] * n)[-1]
    assert turned(many) == pytest.approx(turned(whole), rel=1e-3)


@given(
    h=st.floats(0.1, 10), rate=st.floats(0.05, 2), scheme=st.sampled_from(["binary", "native"]),
    start=st.lists(st.floats(-2, 2), min_size=2, max_size=2),
)  # fmt: skip
def test_two_steps_of_a_weight_are_one_of_twice_it(h, rate, scheme, start):
    rule = OnlineLogistic(rate, **OFF | {"invariant": True})
    begin = (start, 0.5) if scheme == "binary" else ([start, start[::-1]], [0.5, 0.0])
    how = {"n_classes": 2, "weights": begin[0], "intercept": begin[1], "max_iter": 1}
    *_, twice = run(rule, scheme, X[1:2] * 2, [1, 1], row_weights=[h, h], **how)
    (once,) = run(rule, scheme, X[1:2], [1], row_weights=[2 * h], **how)
    assert np.ravel(twice.weights) == pytest.approx(np.ravel(once.weights), rel=1e-8, abs=1e-9)


def test_rates_do_not_depend_on_units():
    for parts in [part for part in PARTS if part["normalized"]]:
        rule = OnlineLogistic(0.5, **parts)
        other = [(1024 * a, b / 8) for a, b in X]
        pairs = zip(learned(rule, passes=3), learned(rule, other, passes=3), strict=True)
        for one, changed in pairs:
            assert changed.score == pytest.approx(one.score, rel=1e-9, abs=1e-12)
            w = [changed.weights[0] * 1024, changed.weights[1] / 8]
            assert w == pytest.approx(one.weights, rel=1e-9, abs=1e-12)


@given(
    rows=st.lists(st.tuples(*[st.floats(-3, 3)] * 2, st.integers(0, 2)), min_size=1, max_size=6),
    rate=st.floats(0.1, 1),
)
def test_native_steps_follow_the_gradient_of_the_softmax(rows, rate):
    X, y = [row[:2] for row in rows], [row[2] for row in rows]
    W = np.zeros((3, 3))
    for step in run(OnlineLogistic(rate, **OFF), "native", X, y, 3, max_iter=1):
        z = np.array([*X[step.row], 1.0])
        assert step.score == pytest.approx(W @ z, abs=1e-9)
        p = softmax(W @ z)
        W = W - rate * np.outer(p - (np.arange(3) == y[step.row]), z)
        made = np.column_stack([step.weights, step.intercept])
        assert made == pytest.approx(W, abs=1e-9)


@given(
    x=st.lists(st.integers(-30, 30), min_size=2, max_size=2), rate=st.floats(0.1, 1000),
    begin=st.lists(st.integers(-3, 3), min_size=8, max_size=8),
    parts=st.sampled_from([part for part in PARTS if part["invariant"]]),
)  # fmt: skip
def test_no_invariant_step_of_several_classes_overshoots(x, rate, begin, parts):
    W, x = np.reshape(begin, (4, 2)), [v / 10 for v in x]
    (step,) = run(
        OnlineLogistic(rate, **parts), "native", [x], [2], 4, weights=W.tolist(),
        intercept=[0.0] * 4, max_iter=1,
    )  # fmt: skip
    after = np.array(step.weights) @ x + step.intercept
    assert softmax(after)[2] >= softmax(W @ x)[2] * (1 - 1e-9)
    assert after[2] >= W[2] @ x - 1e-9


def test_rows_of_zeros_and_of_no_gradient_change_nothing():
    for parts in PARTS:
        rule = OnlineLogistic(0.5, **parts)
        steps = learned(rule, [(0.0, 0.0), (0.0, 0.0)], [1, 0], fit_intercept=False)
        assert [(s.mistakes, s.updates, s.weights) for s in steps] == [(1, 0, [0, 0])] * 2
        # So certain a score has a gradient that is 0 in floats, and weights stay where they are.
        sure = learned(rule, [(1.0, 0.0)], [1], weights=[2000.0, 3.0], fit_intercept=False)[0]
        assert (sure.mistakes, sure.weights) == (0, [2000.0, 3.0])


@pytest.mark.parametrize("scheme", ["binary", "native"])
def test_l2_shrinks_the_features_of_a_row_but_not_its_constant(scheme):
    plain, shrunk = (OnlineLogistic(0.5, **OFF, l2=l2) for l2 in (0, 0.25))
    row = [(2.0, 0.0)]
    how = {"n_classes": 2, "max_iter": 1, "row_weights": [3]}
    start = {"weights": [1.0, 1.0], "intercept": 1.0}
    if scheme != "binary":
        n = 1 if scheme == "ovo" else 2
        start = {"weights": [[1.0, 1.0]] * n, "intercept": [1.0] * n}
    (one,), (other,) = (run(rule, scheme, row, [1], **how, **start) for rule in (plain, shrunk))
    W, V = np.reshape(one.weights, (-1, 2)), np.reshape(other.weights, (-1, 2))
    assert V[:, 0] == pytest.approx(W[:, 0] / (1 + 0.25 * 3 * 0.5))
    assert V[:, 1] == pytest.approx(W[:, 1])
    assert other.intercept == one.intercept


def test_scales_and_squares_are_remembered():
    steps = learned(OnlineLogistic(0.5, invariant=False), row_weights=[1, 2, 1, 1, 1])
    scales, squares, seen, length = steps[-1].memory[0]
    assert scales == [3.0, 4.0, 1]
    assert (seen, len(squares)) == (6, 1)
    scaled = [((a / p) ** 2 + (b / q) ** 2 + 1) for (a, b), (p, q) in
              zip(X, [(1, 1), (3, 2), (3, 4), (3, 4), (3, 4)], strict=True)]  # fmt: skip
    assert length == pytest.approx(sum(scaled) + scaled[1])
    assert steps[0].memory[0].squares[0] == pytest.approx([0.25] * 3)
    # The first row does not scale weights that are given.
    (first,) = learned(OnlineLogistic(1e-9), X[1:2], y[1:2], weights=[-9.0, -9.0])
    assert first.weights == pytest.approx([-9.0, -9.0], abs=1e-6)


def test_parameters_that_are_none():
    for name, value in (("learning_rate", 0), ("l2", -1)):
        with pytest.raises(ValueError, match=f"{name} must be"):
            OnlineLogistic(**{name: value})


@pytest.mark.parametrize(
    ("options", "how", "weighted", "passes"),
    [
        ("", {}, True, 5),
        ("--sgd --adaptive --invariant", {"rescale": False}, False, 1),
        ("--sgd --adaptive", {"rescale": False, "invariant": False}, True, 1),
        ("--sgd --invariant --power_t 0", {"rescale": False, "adaptive": False}, False, 5),
    ],
)
def test_the_weights_are_vowpal_wabbits(options, how, weighted, passes):
    vowpal = pytest.importorskip("vowpalwabbit")
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (200, 6))
    y = X @ rng.normal(size=6) + rng.logistic(size=200) > 0
    weights = rng.integers(1, 4, 200).astype(float) if weighted else np.ones(200)
    theirs = vowpal.Workspace(
        f"--loss_function logistic -l 0.5 -b 10 --noconstant --quiet {options}"
    )
    for row, label, weight in passes * list(zip(X, y, weights, strict=True)):
        features = " ".join(f"{j}:{x}" for j, x in enumerate(row))
        theirs.learn(f"{1 if label else -1} {weight} | {features}")
    found = [theirs.get_weight(j) for j in range(6)]
    theirs.finish()
    ours = Estimator(keep="last", max_iter=passes, shuffle=False, fit_intercept=False, **how)
    ours.fit(X, y, sample_weight=weights if weighted else None)
    np.testing.assert_allclose(ours.coef_[0], found, rtol=1e-3, atol=1e-5)
