"""Online logistic regression in plain Python: worked numbers, their facts, and Vowpal Wabbit."""

from math import exp, expm1

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


def test_l2_shrinks_the_features_of_a_row_but_not_its_constant():
    plain, shrunk = (OnlineLogistic(0.5, **OFF, l2=l2) for l2 in (0, 0.25))
    row = [(2.0, 0.0)]
    how = {"n_classes": 2, "max_iter": 1, "row_weights": [3]}
    start = {"weights": [[1.0, 1.0]] * 2, "intercept": [1.0] * 2}
    (one,), (other,) = (run(rule, "native", row, [1], **how, **start) for rule in (plain, shrunk))
    W, V = np.reshape(one.weights, (-1, 2)), np.reshape(other.weights, (-1, 2))
    assert V[:, 0] == pytest.approx(W[:, 0] / (1 + 0.25 * 3 * 0.5))
    assert V[:, 1] == pytest.approx(W[:, 1])
    assert other.intercept == one.intercept


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
