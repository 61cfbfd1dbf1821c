"""The estimator: what fit, partial_fit and predict promise beyond the arithmetic of the twin."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

import linsep.learners.classifier
import linsep.learners.passes
import linsep.rows.arrays
from linsep import KernelPerceptron, Perceptron
from linsep.compiled import rows
from linsep.errors import DataError
from linsep.kernels import Spectrum
from linsep.sources import ArraySource
from refusals import refused
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

    for module in (linsep.rows.arrays, linsep.learners.classifier):
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


@pytest.mark.parametrize("few", [rows.FEW_INDICES, 0])
def test_int64_indices_are_those_of_int32(few, seen, monkeypatch):
    """Few are copied for the loop, and for many there is a loop of their own."""
    monkeypatch.setattr(rows, "FEW_INDICES", few)
    values, y = blobs(12, 4, 2)
    X = store(values, "csr64")
    assert rows.as_rows(X).columns.dtype == (np.int32 if few else np.int64)
    model = Perceptron(max_iter=3).fit(X, y)
    assert seen[0].indices.dtype == seen[0].indptr.dtype == np.int64
    assert weights(model) == weights(Perceptron(max_iter=3).fit(store(values, "csr32"), y))


@pytest.mark.parametrize("place", [-1, 1 << 31, (1 << 32) + 1, 1 << 60])
def test_indices_beyond_32_bits_are_never_cut_off(place):
    X = store(np.eye(3), "csr64")
    X.indices[1] = place
    with refused(DataError, "out-of-range"):
        Perceptron().fit(X, [0, 1, 0])
    assert rows.as_rows(X).columns[1] == place


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
    monkeypatch.setattr(linsep.rows.arrays, "VALUES_PER_SLICE", 100)
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


def without_a_score(n=200, k=1, seed=0):
    """Rows that have values in two columns only which every row learned left empty."""
    rng = np.random.default_rng(seed)
    return np.hstack([np.zeros((n, k)), rng.integers(-9, 10, (n, 2)) / 4 + 10 * np.eye(n, 2)])


@pytest.mark.parametrize("multiclass", SEVERAL)
@pytest.mark.parametrize("k", [2, 3])
def test_random_ties_depend_on_the_seed_and_the_row_alone(k, multiclass):
    X, y = np.eye(k, k + 2), list(range(k))
    options = {"multiclass": multiclass, "tie": "random", "fit_intercept": False}
    models = [Perceptron(random_state=s, **options).fit(X, y) for s in (1, 1, 2)]
    rows = without_a_score(300, k)
    a, b, c = (model.predict(rows).tolist() for model in models)
    assert a == b != c
    counts = np.bincount(a, minlength=k)
    assert np.abs(counts - 300 / k).max() < 4 * np.sqrt(300 / k)
    model = models[0]
    assert [model.predict(row[None])[0] for row in rows[:40]] == a[:40]
    order = np.random.default_rng(5).permutation(300)
    assert model.predict(rows[order]).tolist() == np.array(a)[order].tolist()
    for storage in STORAGES:
        stored = store(rows, storage)
        assert model.predict(stored).tolist() == a
        if storage.startswith("csr"):
            assert model.predict(stored[7:9]).tolist() == a[7:9]
    negative_zeros = np.where(rows == 0, -0.0, rows)
    assert model.predict(negative_zeros).tolist() == a
    assert model.predict(ArraySource(rows, np.zeros(300), batch_rows=7)).tolist() == a
    assert model.predict(X).tolist() == y


TEXTS = [f"{number}c" for number in range(200)]


@pytest.mark.parametrize(("kernel", "learned", "rows"), [
    ("linear", np.eye(2, 4), without_a_score(200, 2)),
    (lambda a, b: a @ b, np.eye(2, 4), without_a_score(200, 2)),
    (Spectrum(1), ["ab", "xy"], TEXTS),
    (lambda a, b: float(a == b), ["ab", "xy"], TEXTS),
    (lambda a, b: float(a == b), [b"ab", b"xy"], [text.encode() for text in TEXTS]),
])  # fmt: skip
def test_random_ties_of_kernel_machines_depend_on_the_seed_and_the_row_alone(kernel, learned, rows):
    one, other = (
        KernelPerceptron(kernel=kernel, tie="random", random_state=seed).fit(learned, [0, 1])
        for seed in (1, 2)
    )
    drawn = one.predict(rows).tolist()
    assert drawn != other.predict(rows).tolist()
    assert 60 < sum(drawn) < 140
    assert [one.predict(rows[i : i + 1])[0] for i in range(30)] == drawn[:30]
    if isinstance(rows, np.ndarray):
        assert one.predict(sp.csr_matrix(rows)).tolist() == drawn


def test_random_ties_of_what_only_the_kernel_can_read():
    model = KernelPerceptron(kernel=lambda a, b: float(a == b), tie="random")
    model.fit([{"a"}, {"b"}], [0, 1])
    rows = [{"c"}, {"a"}, {"d"}, {"b"}]
    drawn = model.predict(rows).tolist()
    assert drawn[1::2] == [0, 1]
    assert drawn[::-1] == model.predict(rows[::-1]).tolist()
    gram = KernelPerceptron(kernel="precomputed", tie="random").fit(np.eye(2), [0, 1])
    assert len(set(gram.predict(np.zeros((9, 2))).tolist())) == 1


@pytest.mark.parametrize("tie", ["negative", "positive", "random"])
@pytest.mark.parametrize("multiclass", SEVERAL)
@pytest.mark.parametrize("k", [2, 3])
def test_ties_go_where_they_are_told(k, multiclass, tie):
    X, y = np.eye(k, k + 2), list("abc")[:k]
    model = Perceptron(multiclass=multiclass, tie=tie, fit_intercept=False).fit(X, y)
    # Converged, every row is predicted rightly whatever the rule and whatever is drawn.
    assert model.stop_reason_ == "converged"
    for seed in range(10):
        assert model.set_params(random_state=seed).predict(X).tolist() == y
    winner = {"negative": 0, "positive": k - 1}.get(tie)
    ties = without_a_score(100, k)
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
