"""The estimator: what fit, partial_fit and predict promise beyond the arithmetic of the twin."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

import linsep.engine.feed
import linsep.engine.loop
import linsep.estimators.base
from linsep import Perceptron
from storages import SCHEMES, STORAGES, blobs, classes_of, store, weights

SEVERAL = ("native", "ovr", "ovo")


# Stopping.


@pytest.mark.parametrize("scheme", SCHEMES)
def test_stops_at_the_first_clean_pass_and_then_knows_every_row(scheme):
    k, multiclass = classes_of(scheme)
    X, y = blobs(60, k=k, spread=1.5, seed=5)
    model = Perceptron(multiclass=multiclass, max_iter=300).fit(X, y)
    assert model.stop_reason_ == "converged"
    assert model.mistakes_[-1] == 0
    assert (model.mistakes_[:-1] > 0).all()
    assert 2 < model.n_iter_ == len(model.mistakes_) < 300
    assert model.score(X, y) == 1.0
    cut = Perceptron(multiclass=multiclass, max_iter=model.n_iter_ - 1).fit(X, y)
    assert (cut.stop_reason_, cut.n_iter_) == ("max_iter", model.n_iter_ - 1)
    assert weights(cut) == weights(model)


@pytest.mark.parametrize("tie", ["negative", "positive"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_progressive_accuracy_is_that_of_predicting_before_learning(scheme, tie):
    k, multiclass = classes_of(scheme)
    X, y = blobs(60, k=k, spread=4.0)
    X[::7] = 0.0  # without an intercept these rows are ties throughout
    options = {"multiclass": multiclass, "tie": tie, "fit_intercept": False}
    model = Perceptron(**options, max_iter=3).fit(X, y)
    stepwise, right = Perceptron(**options), 0
    stepwise.partial_fit(np.zeros_like(X[:1]), [0], classes=range(k))
    for i in range(60):
        right += int(stepwise.predict(X[i : i + 1])[0] == y[i])
        stepwise.partial_fit(X[i : i + 1], y[i : i + 1])
    assert model.progressive_accuracy_ == pytest.approx(right / 60, abs=1e-12)


# Memory.


@pytest.fixture
def seen(monkeypatch):
    """Every X that reaches the compiled code."""
    found = []

    def spy(as_rows):
        def call(X, unit=False):
            found.append(X)
            return as_rows(X, unit)

        return call

    for module in (linsep.engine.feed, linsep.estimators.base):
        monkeypatch.setattr(module, "as_rows", spy(module.as_rows))
    return found


def buffers(X):
    return [X.data, X.indices, X.indptr] if sp.issparse(X) else [X]


@pytest.mark.parametrize("writeable", [True, False])
@pytest.mark.parametrize("storage", STORAGES)
def test_rows_are_never_copied(storage, writeable, seen):
    values, y = blobs(12, 4, 2)
    X = store(values, storage)
    for buffer in buffers(X):
        buffer.flags.writeable = writeable
    before = [buffer.copy() for buffer in buffers(X)]
    model = Perceptron(max_iter=2).fit(X, y).partial_fit(X, y)
    model.decision_function(X)
    assert len(seen) == 3
    for used in seen:
        for mine, theirs in zip(buffers(X), buffers(used), strict=True):
            assert mine.dtype == theirs.dtype
            assert np.shares_memory(mine, theirs)
    for mine, old in zip(buffers(X), before, strict=True):
        assert_array_equal(mine, old)


def test_int64_indices_reach_the_loop_as_int64(seen):
    values, y = blobs(12, 4, 2)
    model = Perceptron(max_iter=3).fit(store(values, "csr64"), y)
    assert seen[0].indices.dtype == seen[0].indptr.dtype == np.int64
    assert weights(model) == weights(Perceptron(max_iter=3).fit(store(values, "csr32"), y))


# One call, many calls, one pass of fit.


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_partial_fit_does_not_care_how_rows_are_cut(scheme, storage, monkeypatch):
    k, multiclass = classes_of(scheme)
    values, y = blobs(41, 19, k, spread=5.0)
    X, cost = store(values, storage), np.random.default_rng(1).random(41)
    pieces = {
        "whole": [0, 41],
        "chunks": [0, 1, 7, 8, 30, 41],
        "rows": list(range(42)),
    }
    models = {}
    for name, cuts in pieces.items():
        models[name] = Perceptron(multiclass=multiclass, max_iter=1, shuffle=False)
        for a, b in pairwise(cuts):
            models[name].partial_fit(X[a:b], y[a:b], classes=range(k), sample_weight=cost[a:b])
    models["fit"] = Perceptron(multiclass=multiclass, max_iter=1, shuffle=False)
    models["fit"].fit(X, y, sample_weight=cost)
    monkeypatch.setattr(linsep.engine.order, "VALUES_PER_SLICE", 100)
    models["slices"] = Perceptron(multiclass=multiclass, max_iter=1, shuffle=False)
    models["slices"].fit(X, y, sample_weight=cost)
    for name, model in models.items():
        assert weights(model) == weights(models["whole"]), name
        assert model.mistakes_.tolist() == models["whole"].mistakes_.tolist()
        assert model.n_updates_ == models["whole"].n_updates_ > 5
    assert models["whole"].stop_reason_ is None


def test_partial_fit_goes_on_after_fit_as_one_more_pass():
    X, y = blobs(30, spread=6.0)
    model = Perceptron(max_iter=2, shuffle=False).fit(X, y)
    for a, b in ((0, 10), (10, 30)):
        model.partial_fit(X[a:b], y[a:b])
    longer = Perceptron(max_iter=3, shuffle=False).fit(X, y)
    assert weights(model) == weights(longer)
    assert model.mistakes_.tolist() == longer.mistakes_.tolist()
    assert model.n_updates_ == longer.n_updates_
    assert model.stop_reason_ is None


# Randomness.


@pytest.mark.parametrize("scheme", SCHEMES)
def test_runs_repeat_to_the_bit_and_seeds_differ(scheme):
    k, multiclass = classes_of(scheme)
    X, y = blobs(80, k=k, spread=6.0)

    def run(**options):
        return weights(Perceptron(multiclass=multiclass, max_iter=4, **options).fit(X, y))

    assert run(random_state=3) == run(random_state=3)
    assert run(random_state=3) == run(random_state=np.random.RandomState(3))
    assert run(random_state=3) != run(random_state=4)
    assert run(random_state=3) != run(shuffle=False)
    assert run(shuffle=False, random_state=3) == run(shuffle=False, random_state=4)


def test_random_ties_depend_on_the_seed_alone():
    X, y = [[1.0], [-1.0]], [0, 1]
    zeros = np.zeros((200, 1))
    models = [
        Perceptron(tie="random", random_state=s, fit_intercept=False).fit(X, y) for s in (1, 1, 2)
    ]
    a, b, c = (model.predict(zeros).tolist() for model in models)
    assert a == b != c
    assert 60 < sum(a) < 140
    assert models[0].predict(X).tolist() == y


@pytest.mark.parametrize("tie", ["negative", "positive", "random"])
@pytest.mark.parametrize("multiclass", SEVERAL)
@pytest.mark.parametrize("k", [2, 3])
def test_ties_go_where_they_are_told(k, multiclass, tie):
    X, y = np.eye(k), list("abc")[:k]
    model = Perceptron(multiclass=multiclass, tie=tie, fit_intercept=False).fit(X, y)
    # Converged, every row is predicted rightly whatever the rule and whatever is drawn.
    assert model.stop_reason_ == "converged"
    for seed in range(10):
        assert model.set_params(random_state=seed).predict(X).tolist() == y
    winner = {"negative": 0, "positive": k - 1}.get(tie)
    ties = [[0.0] * k] * 100
    if winner is not None:
        assert model.predict(ties).tolist() == [y[winner]] * 100
    else:
        assert set(model.predict(ties)) == set(y)


# Labels and names.


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (["no", "yes", "perhaps"], "U"),
        (np.array(["no", "yes", "a longer one"], dtype=object), "O"),
        ([False, True], "b"),
        ([-1, 1], "i"),
        ([2**62, 2**62 + 1, -(2**62)], "i"),
        (np.array([2**63 + 1, 3], dtype=np.uint64), "u"),
        ([0.0, 2.0, 7.0], "f"),
        (np.array([5, -1], dtype=np.int8), "i"),
    ],
)
def test_labels_of_any_type(labels, kind):
    labels = np.asarray(labels)
    X, codes = blobs(30, k=len(labels), spread=0.1)
    y = labels[codes]
    model = Perceptron().fit(X, y)
    assert model.classes_.dtype.kind == kind
    assert model.classes_.tolist() == sorted(labels.tolist())
    predicted = model.predict(X)
    assert predicted.dtype == model.classes_.dtype
    assert predicted.tolist() == y.tolist()
    online = Perceptron()
    for _ in range(model.n_iter_ + 20):
        online.partial_fit(X, y, classes=labels)
    assert online.predict(X).tolist() == y.tolist()


def test_the_larger_label_is_positive():
    X = [[1.0], [-1.0]]
    assert Perceptron().fit(X, ["b", "a"]).coef_[0, 0] > 0
    assert Perceptron().fit(X, ["a", "b"]).coef_[0, 0] < 0


def test_rare_labels_beyond_the_first_rows_are_found():
    X, y = blobs(3000, 3, 2, spread=0.1)
    y[2500] = 5
    assert Perceptron(max_iter=1).fit(X, y).classes_.tolist() == [0, 1, 5]


def test_names_of_a_frame_are_kept_and_checked():
    X, y = blobs(30, 3, spread=0.1)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = Perceptron().fit(frame, pd.Series(y, name="what"))
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert model.n_features_in_ == 3
    assert model.predict(frame).tolist() == model.classes_[y].tolist()
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[["b", "a", "c"]])
    assert not hasattr(Perceptron().fit(X, y), "feature_names_in_")
