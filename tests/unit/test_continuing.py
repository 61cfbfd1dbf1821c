"""Runs that are cut short, gone on with, or changed in between."""

import pickle
import signal
from functools import partial
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp

import linsep
from family import KEEPS
from linsep import BalancedWinnow, MarginPerceptron, PassiveAggressive, Perceptron, Winnow, textbook
from linsep.compiled.jit import COMPILING
from linsep.learners import passes as loop
from linsep.sources import ArraySource
from refusals import refused
from storages import SCHEMES, blobs, classes_of, weights
from thoroughness import interpreted

# Ctrl-C while rows are walked.


@pytest.mark.parametrize(
    ("scheme", "keep"),
    interpreted(
        list(product(SCHEMES, KEEPS)),
        *[("binary", keep) for keep in KEEPS],
        ("native", "average"),
        ("ovr", "last"),
        ("ovo", "last"),
    ),
)
def test_ctrl_c_in_a_walk_leaves_what_is_kept_true(scheme, keep, monkeypatch):
    k, multiclass = classes_of(scheme)
    X, y = blobs(40, k=k, spread=9.0)
    walk, walks = loop.pass_loop, []

    def pressed(*args):
        done = walk(*args)
        walks.append(done)
        if len(walks) == 1:
            signal.raise_signal(signal.SIGINT)
        return done

    monkeypatch.setattr(loop, "pass_loop", pressed)
    model = Perceptron(multiclass=multiclass, keep=keep, shuffle=False)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    monkeypatch.undo()
    # All rows were walked, so the pass was closed before Ctrl-C took effect.
    same = Perceptron(multiclass=multiclass, keep=keep, shuffle=False, max_iter=1).fit(X, y)
    assert model.mistakes_.tolist() == same.mistakes_.tolist()
    for _ in range(2):
        assert model.fitted_run().state.rounds == same.fitted_run().state.rounds
        assert model.n_updates_ == same.n_updates_
        assert weights(model) == weights(same)
        assert np.array_equal(model.decision_function(X), same.decision_function(X))
        for one in (model, same):
            one.partial_fit(X, y)


# Parameters changed in between.


def test_what_shapes_a_model_cannot_change_under_it(tmp_path):
    X, y = blobs(30)
    positive = np.abs(X)
    for model, changed in (
        (Perceptron(), {"multiclass": "ovo"}),
        (Perceptron(), {"fit_intercept": False}),
        (Perceptron(keep="vote"), {"keep": "last"}),
        (Winnow(multiclass="ovr", threshold=3.0), {"threshold": 5.0}),
        (BalancedWinnow(multiclass="ovr", threshold=3.0), {"threshold": 5.0}),
    ):
        model.set_params(max_iter=2).fit(positive, y)
        name = next(iter(changed))
        before = model.decision_function(positive)
        with pytest.raises(ValueError, match=f"partial_fit needs the .*{name}.* of the last fit"):
            model.set_params(**changed).partial_fit(positive, y)
        with pytest.raises(ValueError, match=f"save needs the .*{name}.* of the last fit"):
            linsep.save(model, tmp_path / "m")
        assert not (tmp_path / "m").exists()
        assert np.array_equal(model.decision_function(positive), before)
        model.fit(positive, y)


def test_a_margin_that_is_given_anew_is_aimed_at():
    X, y = blobs(30, 3, 2)
    model = MarginPerceptron(gamma=0.9).partial_fit(X, y, classes=[0, 1])
    assert model.set_params(gamma=0.1).partial_fit(X, y).gamma_ == 0.1


def test_a_warm_start_that_is_refused_changes_nothing():
    X, y = blobs(30, spread=3.0)
    model = Perceptron(keep="average", warm_start=True, max_iter=3).fit(X, y)
    before = weights(model)
    with refused(ValueError, "shape", option="coef_init"):
        model.fit(X, y, coef_init=[1.0])
    assert weights(model) == before


# partial_fit.


def test_rows_of_weight_zero_may_come_alone():
    X, y = blobs(30, spread=3.0)
    weight = np.where(np.arange(30) % 3 == 0, 0.0, 2.0)
    whole, parts = Perceptron(keep="average"), Perceptron(keep="average")
    whole.partial_fit(X, y, classes=range(3), sample_weight=weight)
    for row in range(30):
        one = slice(row, row + 1)
        parts.partial_fit(X[one], y[one], classes=range(3), sample_weight=weight[one])
    assert weights(parts) == weights(whole)
    assert parts.fitted_run().state.rounds == whole.fitted_run().state.rounds == 20


def test_a_row_that_winnow_refuses_is_seen_before_any_is_learned():
    X, y = np.abs(blobs(20, 3, 2)[0]), np.arange(20) % 2
    X[4, 1] = -0.5
    model = Winnow()
    with refused(ValueError, "out-of-range", row=5, column=1):
        model.partial_fit(X, y, classes=[0, 1])
    assert not hasattr(model, "coef_")
    model.partial_fit(X[:4], y[:4], classes=[0, 1])
    before = weights(model)
    with refused(ValueError, "out-of-range", row=5, column=1):
        model.partial_fit(X, y)
    assert weights(model) == before


def test_a_row_without_a_margin_is_no_round_of_its_machines():
    X, y = blobs(12, 3, 3)
    X[7] = 0.0
    model, same = (
        MarginPerceptron(gamma=0.1, multiclass="ovo", fit_intercept=False, keep="average")
        for _ in range(2)
    )
    with pytest.raises(ValueError, match=r"Row 8 \(index 7\): it is all zeros"):
        model.partial_fit(X, y, classes=range(3))
    same.partial_fit(X[:7], y[:7], classes=range(3))
    assert weights(model) == weights(same)


def test_the_pocket_is_given_up_only_for_what_lives_longer():
    X, y = blobs(60, 4, 2, spread=9.0, seed=2)
    model = Perceptron(keep="best", max_iter=10).fit(X, y)
    pocket = weights(model)
    last = model.fitted_run().state.W
    assert pocket != weights(Perceptron(max_iter=10).fit(X, y))
    right = np.flatnonzero((X @ last[:-1] + last[-1]) * (2 * y - 1) > 0)[:1]
    model.partial_fit(X[right], y[right])
    assert weights(model) == pocket
    for _ in range(60):
        model.partial_fit(X[right], y[right])
    assert weights(model) == last.tobytes()


# Rates that are asked for.


def test_only_rates_that_are_used_must_be_sound():
    X, y = np.array([[1.0, 0.0], [-1.0, 0.0]]), [1, 0]
    assert Perceptron(learning_rate=lambda k: 1 - k / 9).fit(X, y).stop_reason_ == "converged"
    assert Perceptron(learning_rate=lambda k: [0, 1, 2][k]).fit(X, y).stop_reason_ == "converged"
    hard, labels = blobs(30, 3, 2, spread=5.0)
    with refused(ValueError, "bad-option", option="learning_rate"):
        Perceptron(learning_rate=lambda k: 1 - k / 9).fit(hard, labels)
    with pytest.raises(IndexError):
        Perceptron(learning_rate=lambda k: [0, 1, 2][k]).fit(hard, labels)
    online = Perceptron(learning_rate=lambda k: 1 - k / 9)
    with refused(ValueError, "bad-option", option="learning_rate"):
        online.partial_fit(hard, labels, classes=[0, 1])
    assert np.isfinite(online.coef_).all()


def test_rates_are_asked_for_once_over_all_calls():
    X, y = blobs(200, 3, 2, spread=5.0)
    asked = []
    model = Perceptron(learning_rate=lambda k: asked.append(k) or 1.0 / k)
    for row in range(200):
        model.partial_fit(X[row : row + 1], y[row : row + 1], classes=[0, 1])
    assert asked == list(range(1, len(asked) + 1))
    assert len(asked) <= model.n_updates_ + 1024


def test_a_new_fit_asks_anew():
    X, y = blobs(30, 3, 2, spread=5.0)
    rate = [1.0]
    model = Perceptron(learning_rate=lambda k: rate[0], max_iter=2)
    first = model.fit(X, y).coef_.copy()
    rate[0] = 2.0
    np.testing.assert_allclose(model.fit(X, y).coef_, 2 * first)


# Features that come late.


class Widening(ArraySource):
    """Sparse batches that are as wide as what was seen so far."""

    def batches(self):
        width = 1
        for batch in super().batches():
            width = max(width, int(batch.X.indices.max(initial=0)) + 1)
            yield batch._replace(X=batch.X[:, :width])


@pytest.mark.parametrize("keep", KEEPS)
@pytest.mark.parametrize(
    "learner", interpreted([partial(Winnow, threshold=1.5), Perceptron], Perceptron)
)
def test_features_that_come_late_had_their_first_weight_all_along(learner, keep):
    rng = np.random.default_rng(61)  # the weights that live longest are from before they came
    X = np.zeros((40, 6))
    X[:30, 0], X[:30, 1] = 1.0, rng.integers(0, 2, 30)
    y = X[:, 1].astype(int)
    X[30:, 1:], y[30:] = rng.integers(0, 2, (10, 5)), rng.integers(0, 2, 10)
    X = sp.csr_array(X)
    options = {"keep": keep, "max_iter": 1, "shuffle": False}
    whole = learner(**options).fit(X, y)
    source = Widening(X, y, batch_rows=5)
    source.memory_bytes = 0
    streamed = learner(**options).fit(source)
    assert weights(streamed) == weights(whole)
    assert np.array_equal(streamed.decision_function(X), whole.decision_function(X))


# Copies.


def test_a_pickle_of_a_vote_holds_its_changes_only():
    X, y = blobs(3000, 3, 2, spread=0.1)
    model = Perceptron(keep="vote").fit(X, y)
    content = pickle.dumps(model)
    assert len(content) < 100_000
    back = pickle.loads(content)
    assert np.array_equal(back.decision_function(X), model.decision_function(X))
    assert weights(back.partial_fit(X, y)) == weights(model.partial_fit(X, y))


@pytest.mark.skipif(not COMPILING, reason="too slow without the compiler")
def test_a_vote_of_rows_that_come_one_by_one_stays_small():
    X, y = blobs(3000, 1, 2, spread=9.0)
    parts, whole = Perceptron(keep="vote"), Perceptron(keep="vote")
    for row in range(3000):
        parts.partial_fit(X[row : row + 1], y[row : row + 1], classes=[0, 1])
    whole.partial_fit(X, y, classes=[0, 1])
    assert parts.n_updates_ > 1000
    assert len(pickle.dumps(parts)) < len(pickle.dumps(whole)) + 10_000
    assert np.array_equal(parts.decision_function(X), whole.decision_function(X))
    assert parts.fitted_run().keeping._bytes == whole.fitted_run().keeping._bytes
    most = parts.fitted_run().keeping._bytes / 1e6
    with pytest.raises(ValueError, match="raise vote_mb"):
        Perceptron(keep="vote", vote_mb=0.99 * most).partial_fit(X, y, classes=[0, 1])
    assert most == pytest.approx(parts.n_updates_ * (2 * 16 + 20) / 1e6)


# Rows as of length 1.


def test_lengths_are_those_of_whole_rows():
    twice = sp.csr_array((np.array([1.0, 2.0, 4.0]), [0, 0, 1], [0, 2, 3]), shape=(2, 2))
    once = sp.csr_array(np.array([[3.0, 0.0], [0.0, 4.0]]))
    model = Perceptron(normalize=True).fit(once, [0, 1])
    assert np.array_equal(model.decision_function(twice), model.decision_function(once))
    assert twice.nnz == 3
    for learner in (PassiveAggressive(max_iter=3), Perceptron(normalize=True, max_iter=3)):
        read, held = (learner.fit(*given).coef_.tolist() for given in (
            (ArraySource(twice, [0, 1]),), (twice, [0, 1])))  # fmt: skip
        assert read == held


@pytest.mark.filterwarnings("ignore:.*not seen in training")
def test_features_that_a_model_does_not_know_count_in_the_length_of_a_row():
    X, y = blobs(20, 3, 2)
    model = Perceptron(normalize=True).fit(X, y)
    wide = np.hstack([X, np.full((20, 1), 5.0)])
    length = np.linalg.norm(wide, axis=1, keepdims=True)
    expected = X / length @ model.coef_[0] + model.intercept_
    scores = model.decision_function(ArraySource(sp.csr_array(wide), y))
    np.testing.assert_allclose(scores, expected, rtol=1e-12)


@pytest.mark.parametrize("size", [1e-200, 1e200, 1e-300, 1e300])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_tiny_and_huge_rows_are_of_unit_length_too(make, size):
    X, y = blobs(20, 3, 2)
    expected = Perceptron(normalize=True, max_iter=3).fit(X, y)
    with np.errstate(over="ignore", under="ignore"):
        model = Perceptron(normalize=True, max_iter=3).fit(make(X * size), y)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-9)
    unit = textbook.unit_rows((X * size).tolist())
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1.0, rtol=1e-12)


@pytest.mark.parametrize("learner", [MarginPerceptron(gamma=0.3), PassiveAggressive()])
def test_rows_whose_length_is_beyond_floating_point_are_refused(learner):
    X, y = blobs(20, 3, 2)
    with np.errstate(over="ignore"), refused(ValueError, "overflow", row=1, column=0):
        learner.fit(X * 1e200, y)
