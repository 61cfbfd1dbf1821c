"""Columns of values that are large against their spread."""

import pickle
from copy import copy
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.naive_bayes import GaussianNB

import linsep
from linsep import GaussianNaiveBayes, LogisticRegression
from linsep.errors import SeparationWarning
from parameters_in_order import last
from thoroughness import THOROUGH, met, some

pytestmark = pytest.mark.compiled

BASES = (0.0, 1e6, 1e12, 1e14, 1.7e15, 9e15)
SOME_BASES = BASES if THOROUGH else BASES[1::2]
FILES = some([("csv", 2), ("csv", 3), ("svm", 2), ("svm", 3)])


def rows(classes=2, seed=0, n=300):
    """Whole numbers, to which a base is added without rounding, in classes that overlap."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    X = np.round(rng.normal(size=(n, 3)) * 4 + y[:, None] * [3, -2, 1]) * 2
    return X, y


def moments(X, y, weights):
    """Class means and pooled variances in exact fractions."""
    classes, total = np.unique(y), Fraction(0)
    means, squares = [], [Fraction(0)] * X.shape[1]
    for k in classes:
        own = [(Fraction(float(w)), [Fraction(float(x)) for x in row])
               for row, w in zip(X[y == k], weights[y == k], strict=True)]  # fmt: skip
        weight = sum(w for w, _ in own)
        mean = [sum(w * row[j] for w, row in own) / weight for j in range(X.shape[1])]
        for j in range(X.shape[1]):
            squares[j] += sum(w * (row[j] - mean[j]) ** 2 for w, row in own)
        means.append(mean)
        total += weight
    return means, [float(square / total) for square in squares]


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("base", BASES)
def test_naive_bayes_has_the_moments_of_fractions(base, weighted, storage):
    X, y = rows(3)
    X = X + base
    weights = np.random.default_rng(1).uniform(0.1, 3, len(y)) if weighted else np.ones(len(y))
    model = GaussianNaiveBayes().fit(storage(X), y, weights if weighted else None)
    means, variances = moments(X, y, weights)
    assert model.variances_ == pytest.approx(variances, rel=1e-13)
    assert model.means_.tolist() == [[float(m) for m in row] for row in means] or np.allclose(
        model.means_, np.array(means, dtype=float), rtol=1e-14, atol=1e-14
    )


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("base", BASES)
def test_naive_bayes_does_not_depend_on_the_base(base, classes):
    X, y = rows(classes)
    near, far = GaussianNaiveBayes().fit(X, y), GaussianNaiveBayes().fit(X + base, y)
    for storage in (np.asarray, sp.csr_matrix):
        Z = storage(X + base)
        assert far.predict_proba(Z) == pytest.approx(near.predict_proba(X), abs=1e-12)
        assert far.decision_function(Z) == pytest.approx(near.decision_function(X), abs=1e-10)
        assert far.predict(Z).tolist() == near.predict(X).tolist()
    assert far.score(X + base, y) == near.score(X, y)
    implied = far.to_logistic()
    assert implied.predict_proba(X + base) == pytest.approx(near.predict_proba(X), abs=1e-12)


def test_naive_bayes_at_1e15_is_as_accurate_as_scikit_learn_without_the_base():
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    shift = np.round(rng.normal(size=(400, 1)) + 4 * y[:, None])
    model = GaussianNaiveBayes().fit(1.7e15 + shift, y)
    theirs = GaussianNB().fit(shift, y).score(shift, y)
    assert theirs > 0.9
    assert model.score(1.7e15 + shift, y) == pytest.approx(theirs, abs=0.02)


def test_constant_means_equal():
    rng = np.random.default_rng(0)
    spread = 1e6 + 1e-8 * np.round(rng.normal(size=(100, 1)))
    assert len(np.unique(spread)) > 2
    y = np.arange(100) % 2
    model = GaussianNaiveBayes().fit(spread, y)  # no warning: it varies within the classes
    assert model.variances_[0] > 0
    tenths = np.full((100, 1), 0.1)
    for X in (tenths, sp.csr_matrix(tenths)):
        model = GaussianNaiveBayes().fit(X, y, np.full(100, 0.3))
        assert model.variances_.tolist() == [0.0]
        assert model.to_logistic().coef_.tolist() == [[0.0]]
    with pytest.warns(SeparationWarning, match="varies between the classes, but has zero"):
        GaussianNaiveBayes().fit(np.where(y[:, None], np.nextafter(0.1, 1), 0.1), y)


@pytest.mark.parametrize("names", ["abc", "cab", "bca"])
@pytest.mark.parametrize("away", [1e8, 1e12])
def test_a_class_far_away_does_not_spoil_the_others(away, names):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 200)
    X = rng.normal(size=(600, 2)) + np.array([[0, 0], [4, 2], [away, 0]])[y]
    labels = np.array(list(names))[y]
    model = GaussianNaiveBayes().fit(X, labels)
    two = X[:400], labels[:400]
    pair = GaussianNaiveBayes().fit(*two)
    assert model.score(*two) == pytest.approx(pair.score(*two), abs=0.01)
    assert model.score(X, labels) > 0.98
    # the definition, with the variances of the model, around the origin, where both classes are
    m, s2 = model.means_, model.variances_
    near = [list(model.classes_).index(name) for name in names[:2]]
    logs = np.array([-0.5 * ((X[:400] - m[k]) ** 2 / s2).sum(axis=1) for k in near]).T
    expected = np.exp(logs - logs.max(axis=1, keepdims=True))
    expected /= expected.sum(axis=1, keepdims=True)
    assert model.predict_proba(X[:400])[:, near] == pytest.approx(expected, abs=1e-7)


def test_two_pairs_of_classes_far_from_each_other():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2, 3], 100)
    X = rng.normal(size=(400, 1)) + np.array([[0.0], [4.0], [1e8], [1e8 + 4]])[y]
    model = GaussianNaiveBayes().fit(X, y)
    assert model.score(X, y) > 0.95
    decided = model.classes_[model.decision_function(X).argmax(axis=1)]
    assert decided.tolist() == model.predict(X).tolist()


def table(folder, X, y, storage):
    """A file of rows whose values are written with all their digits."""
    if storage == "svm":
        path = folder / "rows.svm"
        lines = [f"{k} " + " ".join(f"{j + 1}:{float(x)!r}" for j, x in enumerate(row))
                 for k, row in zip(y, X, strict=True)]  # fmt: skip
    else:
        path = folder / "rows.csv"
        lines = ["a,b,c,y"] + [
            ",".join(repr(float(x)) for x in row) + f",{k}" for k, row in zip(y, X, strict=True)
        ]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize(("storage", "classes"), FILES)
def test_naive_bayes_of_files_model_files_and_clusters(tmp_path, client, classes, storage):
    X, y = rows(classes)
    near, X = GaussianNaiveBayes().fit(X, y), X + 1.7e15
    path, read = table(tmp_path, X, y, storage), {} if storage == "svm" else {"target": "y"}
    model = GaussianNaiveBayes().fit(linsep.open_source(path, **read))
    other = linsep.distributed.fit(
        GaussianNaiveBayes(), linsep.open_source(path, **read), client=client, shard_mb=0.003
    )
    again = linsep.load(linsep.save(model, tmp_path / "m.linsep"))
    for one in (model, other, again, pickle.loads(pickle.dumps(model))):
        source = linsep.open_source(path, recipe=model.recipe_)
        found = one.predict_proba(source)
        assert found == pytest.approx(near.predict_proba(X - 1.7e15), abs=1e-12)
        assert np.array_equal(found, model.predict_proba(source))
        assert one.score(source) == near.score(X - 1.7e15, y)


@pytest.mark.parametrize(
    ("base", "classes", "how"),
    met(SOME_BASES, [2, 3], [{}, {"l2": 0.1}, {"penalty": "firth"}, {"solver": "lbfgs"}]),
)
def test_logistic_regression_does_not_depend_on_the_base(base, classes, how):
    X, y = rows(classes, n=150)
    near = LogisticRegression(**how).fit(X, y)
    far = LogisticRegression(**how).fit(X + base, y)
    for storage in (np.asarray, sp.csr_matrix):
        Z = storage(X + base)
        assert far.predict_proba(Z) == pytest.approx(near.predict_proba(X), abs=1e-9)
        assert far.decision_function(Z) == pytest.approx(near.decision_function(X), abs=1e-7)
    assert far.score(X + base, y) == near.score(X, y)
    assert far.coef_ == pytest.approx(near.coef_, rel=1e-6)
    single = (X + base).astype(np.float32)
    if base in (0.0, 1e6):
        assert far.predict_proba(single) == pytest.approx(near.predict_proba(X), abs=1e-6)


def test_nearly_dependent_columns_far_from_zero():
    X, y = rows(2, n=150)
    X = np.column_stack([X, X[:, 0] * 64 + 2 * (np.arange(150) % 3)])
    near = LogisticRegression().fit(X, y)
    for base in (1e12, 1e14):
        far = LogisticRegression().fit(X + base, y)
        assert far.predict_proba(X + base) == pytest.approx(near.predict_proba(X), abs=1e-8)


def test_separable_rows_far_from_zero_are_separated():
    X, y = rows(2, n=60)
    X[:, 0] += 100 * y
    for base in BASES:
        with pytest.warns(SeparationWarning):
            model = LogisticRegression().fit(X + base, y)
        assert model.score(X + base, y) == 1.0


def test_weights_that_were_changed_predict():
    X, y = rows(2, n=100)
    model = LogisticRegression().fit(X + 1e6, y)
    model.coef_ = np.zeros_like(model.coef_)
    model.intercept_[:] = 3.0
    assert np.array_equal(model.decision_function(X), np.full(100, 3.0))


@pytest.mark.parametrize(("storage", "classes"), FILES)
def test_logistic_regression_of_files_model_files_and_clusters(tmp_path, client, classes, storage):
    X, y = rows(classes, n=150)
    near = LogisticRegression().fit(X, y).predict_proba(X)
    path = table(tmp_path, X + 1.7e15, y, storage)
    read = {} if storage == "svm" else {"target": "y"}
    model = LogisticRegression().fit(linsep.open_source(path, **read))
    other = linsep.distributed.fit(
        LogisticRegression(), linsep.open_source(path, **read), client=client, shard_mb=0.003
    )
    saved = LogisticRegression().fit(linsep.open_source(path, **read), checkpoint=tmp_path / "c")
    again = linsep.load(linsep.save(model, tmp_path / "m.linsep"))
    for one in (model, other, saved, again, pickle.loads(pickle.dumps(model)), copy(model)):
        found = one.predict_proba(linsep.open_source(path, recipe=model.recipe_))
        assert found == pytest.approx(near, abs=1e-9)
        assert np.array_equal(
            found, model.predict_proba(linsep.open_source(path, recipe=model.recipe_))
        )


def test_a_class_without_weight_far_from_zero():
    X, y = rows(3, n=150)
    weights = (y != 1).astype(float)
    with pytest.warns(UserWarning, match="weight 0"):
        near = LogisticRegression().fit(X, y, weights).predict_proba(X)
    with pytest.warns(UserWarning, match="weight 0"):
        far = LogisticRegression().fit(X + 1e14, y, weights).predict_proba(X + 1e14)
    assert far == pytest.approx(near, abs=1e-9)


class Stop:
    """A callback that ends a fit after two iterations."""

    def setup(self, estimator, context):
        pass

    teardown = on_fit_task_begin = setup

    def on_fit_task_end(self, estimator, context, **_):
        return context.parent is not None and context.task_id == 1


def test_a_fit_that_was_stopped_keeps_its_center():
    X, y = rows(2, n=150)
    found = []
    for base in (0.0, 1.7e15):
        model = LogisticRegression().set_callbacks(Stop())
        with pytest.warns(UserWarning, match="A callback stopped the fit"):
            model.fit(X + base, y)
        found.append(model.predict_proba(X + base))
    assert found[1] == pytest.approx(found[0], abs=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("base", SOME_BASES)
def test_quasi_separable_rows_far_from_zero(base, classes):
    X, y = rows(classes, n=90)
    X[:, 2] = 4.0 * (np.arange(90) % 9 == 0)
    y[X[:, 2] > 0] = 1
    with pytest.warns(SeparationWarning, match="quasi-separable"):
        near = LogisticRegression().fit(X, y)
    with pytest.warns(SeparationWarning, match="quasi-separable"):
        far = LogisticRegression().fit(X + base, y)
    assert far.predict_proba(X + base) == pytest.approx(near.predict_proba(X), abs=1e-6)
    assert far.coef_[:, :2] == pytest.approx(near.coef_[:, :2], rel=1e-5)
    errors = last(near, "standard_errors_")[:, :2]
    assert last(far, "standard_errors_")[:, :2] == pytest.approx(errors, rel=1e-4, nan_ok=True)
