"""The estimator: what fit, partial_fit and predict promise beyond the arithmetic of the twin."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.base import clone

import linsep.learners.online
import linsep.learners.passes
import linsep.rows.arrays
from linsep import Perceptron
from linsep.compiled import rows
from linsep.errors import DataError
from linsep.rows.arrays import ArrayStream, HoldOut
from linsep.sources import ArraySource
from refusals import refused
from storages import SCHEMES, STORAGES, blobs, classes_of, store, weights


def test_stops_at_the_first_clean_pass_and_then_knows_every_row():
    X, y = blobs(60, k=3, spread=1.5, seed=5)
    model = Perceptron(max_iter=300).fit(X, y)
    assert model.stop_reason_ == "converged"
    assert model.mistakes_[-1] == 0 < model.mistakes_[:-1].min()
    assert 2 < model.n_iter_ == len(model.mistakes_) < 300
    assert model.score(X, y) == 1.0
    cut = Perceptron(max_iter=model.n_iter_ - 1).fit(X, y)
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


@pytest.fixture
def seen(monkeypatch):
    """Every X that reaches the compiled code."""
    found = []

    def spy(as_rows):
        def call(X, unit=False):
            found.append(X)
            return as_rows(X, unit)

        return call

    for module in (linsep.rows.arrays, linsep.learners.online):
        monkeypatch.setattr(module, "as_rows", spy(module.as_rows))
    return found


def buffers(X):
    return [X.data, X.indices, X.indptr] if sp.issparse(X) else [X]


@pytest.mark.parametrize(("storage", "writeable"), [("dense32", False), ("csr64", True)])
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


@pytest.mark.parametrize("place", [-1, (1 << 32) + 1])
def test_indices_beyond_32_bits_are_never_cut_off(place):
    X = store(np.eye(3), "csr64")
    X.indices[1] = place
    with refused(DataError, "out-of-range"):
        Perceptron().fit(X, [0, 1, 0])
    assert rows.as_rows(X).columns[1] == place


@pytest.mark.parametrize(
    ("scheme", "storage"),
    list(zip(SCHEMES, ["dense64", "csr32", "dense32", "messy64"], strict=True)),
)
def test_partial_fit_does_not_care_how_rows_are_cut(scheme, storage, monkeypatch):
    k, multiclass = classes_of(scheme)
    values, y = blobs(41, 19, k, spread=5.0)
    X, cost = store(values, storage), np.random.default_rng(1).random(41)
    pieces = {"whole": [0, 41], "chunks": [0, 1, 7, 8, 30, 41], "rows": list(range(42))}
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


def test_runs_repeat_to_the_bit_and_seeds_differ():
    X, y = blobs(80, spread=6.0)

    def run(**options):
        return weights(Perceptron(max_iter=4, **options).fit(X, y))

    assert run(random_state=3) == run(random_state=3)
    assert run(random_state=3) == run(random_state=np.random.RandomState(3))
    assert run(random_state=3) != run(random_state=4)
    assert run(random_state=3) != run(shuffle=False)
    assert run(shuffle=False, random_state=3) == run(shuffle=False, random_state=4)


def without_a_score(n=200, k=1, seed=0):
    """Rows that have values in two columns only which every row learned left empty."""
    rng = np.random.default_rng(seed)
    return np.hstack([np.zeros((n, k)), rng.integers(-9, 10, (n, 2)) / 4 + 10 * np.eye(n, 2)])


@pytest.mark.parametrize(("k", "multiclass"), [(2, "native"), (3, "ovo")])
def test_random_ties_depend_on_the_seed_and_the_row_alone(k, multiclass):
    X, y = np.eye(k, k + 2), list(range(k))
    options = {"multiclass": multiclass, "tie": "random", "fit_intercept": False}
    models = [Perceptron(random_state=s, **options).fit(X, y) for s in (1, 1, 2)]
    rows = without_a_score(300, k)
    a, b, c = (model.predict(rows).tolist() for model in models)
    assert a == b != c
    assert np.abs(np.bincount(a, minlength=k) - 300 / k).max() < 4 * np.sqrt(300 / k)
    model = models[0]
    assert [model.predict(row[None])[0] for row in rows[:40]] == a[:40]
    order = np.random.default_rng(5).permutation(300)
    assert model.predict(rows[order]).tolist() == np.array(a)[order].tolist()
    for storage in STORAGES:
        stored = store(rows, storage)
        assert model.predict(stored).tolist() == a
        if storage.startswith("csr"):
            assert model.predict(stored[7:9]).tolist() == a[7:9]
    assert model.predict(np.where(rows == 0, -0.0, rows)).tolist() == a
    assert model.predict(ArraySource(rows, np.zeros(300), batch_rows=7)).tolist() == a
    assert model.predict(X).tolist() == y


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (["no", "yes", "perhaps"], "U"),
        (np.array(["no", "yes", "a longer one"], dtype=np.dtypes.StringDType()), "O"),
        ([False, True], "b"),
        ([2**62, 2**62 + 1, -(2**62)], "i"),
        (np.array([2**63 + 1, 3], dtype=np.uint64), "u"),
        ([0.0, 2.0, 7.0], "f"),
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


@pytest.mark.parametrize(("k", "multiclass"), [(2, "native"), (4, "native"), (4, "ovo")])
def test_initial_weights_count(k, multiclass):
    X, y = blobs(40, 5, k, spread=0.1)
    model = Perceptron(multiclass=multiclass)
    found = clone(model).fit(X, y)
    same = clone(model).fit(X, y, found.coef_.tolist(), found.intercept_)
    assert (same.n_updates_, same.n_iter_, weights(same)) == (0, 1, weights(found))
    if k == 2:  # as a vector and a number, too
        assert clone(model).fit(X, y, found.coef_[0], found.intercept_[0]).n_updates_ == 0
    assert clone(model).fit(X, y, -found.coef_, -found.intercept_).n_updates_ > 0
    with refused(ValueError, "conflict", option="intercept_init"):
        model.set_params(fit_intercept=False).fit(X, y, intercept_init=found.intercept_)


@pytest.mark.parametrize("scheme", ["binary", "ovo"])
def test_rows_of_weight_zero_are_as_good_as_absent(scheme):
    k, multiclass = classes_of(scheme)
    X, y = blobs(50, k=k, spread=5.0)
    weight = np.where(np.arange(50) % 3 == 0, 0.0, 2.0)
    weight[:k] = 1.0
    kept = weight > 0
    options = {"multiclass": multiclass, "shuffle": False, "max_iter": 5}
    whole = Perceptron(**options).fit(X, y, sample_weight=weight)
    part = Perceptron(**options).fit(X[kept], y[kept], sample_weight=weight[kept])
    assert weights(whole) == weights(part)
    assert whole.mistakes_.tolist() == part.mistakes_.tolist()
    shuffled = Perceptron(max_iter=30, random_state=1).fit(X, y, sample_weight=weight)
    spoilt = np.where(kept[:, None], X, 1e6)
    assert weights(shuffled) == weights(
        Perceptron(max_iter=30, random_state=1).fit(spoilt, y, sample_weight=weight)
    )


@pytest.mark.parametrize("scheme", ["binary", "ovr"])
def test_class_weight_is_a_row_weight(scheme):
    k, multiclass = classes_of(scheme)
    X, y = blobs(50, k=k, spread=5.0)
    y[:20] = 0
    cost = {0: 0.3, 1: 2.0, 2: 5.0}
    balanced = 50 / (k * np.bincount(y))
    options = {"multiclass": multiclass, "max_iter": 4}
    for given, per_class in ((cost, cost), ("balanced", balanced)):
        per_row = np.array([per_class[c] for c in y])
        a = Perceptron(class_weight=given, **options).fit(X, y)
        b = Perceptron(**options).fit(X, y, sample_weight=per_row)
        assert weights(a) == weights(b)
    assert weights(a) != weights(Perceptron(**options).fit(X, y))


def noisy(n=300, k=4):
    """Overlapping classes of very different size."""
    X, y = blobs(n, 8, k, spread=5.0)
    return X, np.minimum(y, np.arange(n) % 7)


def test_held_out_rows_are_never_learned_and_come_from_every_class():
    X, y = noisy()
    model = Perceptron(early_stopping=True, validation_fraction=0.25, max_iter=1).fit(X, y)
    held = HoldOut(0.25, 4, model.draw_seed()).draw(y.astype(np.int32))
    assert np.abs(np.bincount(y[held]) - 0.25 * np.bincount(y)).max() < 1
    # With one pass, the held-out scores cannot change which weights are kept.
    spoilt = np.where(held[:, None], -17.0 * X, X)
    other = clone(model).fit(spoilt, y)
    assert weights(model) == weights(other)
    assert model.validation_scores_[0] != other.validation_scores_[0]
    assert weights(model) != weights(clone(model).fit(np.where(held[:, None], X, -17.0 * X), y))


def test_hold_out_is_the_same_however_rows_arrive():
    codes = np.random.default_rng(0).integers(0, 3, 500).astype(np.int32)
    whole = HoldOut(0.2, 3, 7).draw(codes)
    pieces = HoldOut(0.2, 3, 7)
    drawn = [pieces.draw(codes[a:b]) for a, b in pairwise([0, 1, 1, 99, 100, 420, 500])]
    assert_array_equal(np.concatenate(drawn), whole)
    assert 96 <= whole.sum() <= 104
    assert whole.tolist() != HoldOut(0.2, 3, 8).draw(codes).tolist()


def test_early_stopping_needs_rows_on_both_sides():
    X, y = blobs(6, k=2)
    with refused(ValueError, "too-few-rows", option="validation_fraction"):
        Perceptron(early_stopping=True, validation_fraction=1e-6).fit(X, y)
    with refused(ValueError, "no-rows"):
        Perceptron(early_stopping=True, validation_fraction=1 - 1e-6).fit(X, y)


def test_an_interrupted_pass_counts_what_it_learned(monkeypatch):
    X, y = blobs(40, spread=9.0)
    row_batches = ArrayStream.row_batches

    def interrupted(self, number, *start):
        for row_batch in row_batches(self, number, *start):
            if number == 1:
                yield row_batch._replace(order=row_batch.order[:25])
                raise KeyboardInterrupt
            yield row_batch

    monkeypatch.setattr(ArrayStream, "row_batches", interrupted)
    model = Perceptron(shuffle=False)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    monkeypatch.undo()
    same = Perceptron(shuffle=False, max_iter=1).fit(X, y).partial_fit(X[:25], y[:25])
    assert model.stop_reason_ == "interrupted"
    assert weights(model) == weights(same)
    assert model.mistakes_.tolist() == same.mistakes_.tolist()
    assert model.n_updates_ == same.n_updates_
    assert model.predict(X).tolist() == same.predict(X).tolist()


def test_zeros_of_both_signs_are_one_class():
    X = blobs(12, k=2)[0]
    for zeros in ([-0.0, 0.0], np.array([-0.0, 0], dtype=object)):
        model = Perceptron().fit(X, [zeros[0], 1, zeros[1], 1] * 3)
        assert model.classes_.tolist() == [0.0, 1.0]
        assert not np.signbit(model.predict(X)).any()
