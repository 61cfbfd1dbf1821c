"""Gaussian naive Bayes: its definition, and scikit-learn's ``GaussianNB``."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.naive_bayes import GaussianNB

import linsep
from command_line import here
from linsep import GaussianNaiveBayes
from linsep.errors import DataError, LinsepError, ParameterError, SeparationWarning
from refusals import refused
from scikit_learn_checks import failures


def by_hand(X, y, rows):
    """P(y | x) of the definition, in plain numpy."""
    classes = np.unique(y)
    means = np.array([X[y == k].mean(axis=0) for k in classes])
    variance = sum(((X[y == k] - X[y == k].mean(axis=0)) ** 2).sum(axis=0) for k in classes) / len(
        X
    )
    logs = [
        np.log((y == k).mean()) - 0.5 * ((rows - m) ** 2 / variance).sum(axis=1)
        for k, m in zip(classes, means, strict=True)
    ]
    P = np.exp(np.array(logs).T - np.max(logs, axis=0)[:, None])
    return P / P.sum(axis=1, keepdims=True)


@pytest.mark.parametrize(
    ("load", "storage"), [(load_breast_cancer, np.asarray), (load_iris, sp.csr_matrix)]
)
def test_probabilities_are_those_of_the_definition(storage, load):
    X, y = load(return_X_y=True)
    model = GaussianNaiveBayes().fit(storage(X), y)
    assert np.allclose(model.predict_proba(storage(X)), by_hand(X, y, X), atol=1e-12)
    for reference in (None, 1):
        implied = model.to_logistic(reference)
        assert np.allclose(implied.predict_proba(X), by_hand(X, y, X), atol=1e-12)


def test_a_constant_feature_has_no_weight():
    X = np.array([[1.0, 5.0], [2.0, 5.0], [2.5, 5.0], [4.0, 5.0]])
    model = GaussianNaiveBayes().fit(X, [0, 0, 1, 1])
    assert model.to_logistic().coef_[0, 1] == 0.0


def test_a_feature_without_width_is_said():
    X = [[1.0, 0.0], [2.0, 0.0], [3.0, 1.0]]
    with pytest.warns(SeparationWarning):
        model = GaussianNaiveBayes().fit(X, [0, 0, 1])
    assert model.predict(X).tolist() == [0, 0, 1]


def test_bad_input_is_refused():
    X = [[1.0], [2.0], [3.0]]
    with refused(DataError, "class-count"):
        GaussianNaiveBayes().fit(X, [1, 1, 1])


SETS = {"cancer": load_breast_cancer, "iris": load_iris}


@pytest.fixture(params=SETS)
def rows(request):
    return shuffled(request.param)


@pytest.fixture
def iris():
    return shuffled("iris")


def shuffled(name):
    X, y = SETS[name](return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order]


def own(**how):
    return GaussianNaiveBayes(**{"variances": "by_class", "var_smoothing": 1e-9} | how)


def assert_same(found, known, X):
    assert found.var_smoothing == known.var_smoothing
    assert np.allclose(found.means_, known.theta_, rtol=1e-11)
    assert np.allclose(found.variances_, known.var_, rtol=1e-9)
    assert np.allclose(found.priors_, known.class_prior_, rtol=1e-12)
    logs = known.predict_log_proba(X)
    assert np.allclose(found.predict_log_proba(X), logs, rtol=1e-8, atol=1e-8)
    assert found.predict(X).tolist() == known.predict(X).tolist()


@pytest.mark.parametrize(("smoothing", "storage"), [(1e-9, sp.csr_matrix), (1e-3, np.asarray)])
def test_what_it_is(rows, smoothing, storage):
    X, y = rows
    found = own(var_smoothing=smoothing).fit(storage(X), y)
    known = GaussianNB(var_smoothing=smoothing).fit(X, y)
    assert_same(found, known, X)
    assert np.allclose(found.predict_proba(storage(X)), known.predict_proba(X), atol=1e-8)


def test_priors(iris):
    X, y = iris
    priors = [1 / 6, 1 / 3, 1 / 2]
    assert_same(own(priors=priors).fit(X, y), GaussianNB(priors=np.array(priors)).fit(X, y), X)


def test_weights_are_numbers_of_rows(iris):
    X, y = iris
    weights = np.random.default_rng(1).integers(0, 4, len(y))
    known = GaussianNB().fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert_same(own().fit(X, y, weights), known, X)


@pytest.mark.parametrize("variances", ["by_class", "shared"])
def test_any_split_into_batches(iris, variances):
    cuts = [1, 2, 5]
    X, y = iris
    weights = np.random.default_rng(1).integers(0, 4, len(y)).astype(float)
    weights[[0, 1, *cuts]] = 1.0
    model = own(variances=variances)
    for part in np.split(np.arange(len(y)), cuts):
        model.partial_fit(X[part], y[part], classes=np.unique(y), sample_weight=weights[part])
    whole = own(variances=variances).fit(X, y, weights)
    for name in ("means_", "variances_", "priors_", "_epsilon"):
        assert np.allclose(getattr(model, name), getattr(whole, name), rtol=1e-10), name
    assert model.n_rows_ == whole.n_rows_
    assert model.predict(X).tolist() == whole.predict(X).tolist()


def test_partial_fit_goes_on_after_fit_and_from_a_file(iris, tmp_path):
    X, y = iris
    model = own().fit(X[:90], y[:90])
    linsep.save(model, tmp_path / "m.linsep")
    for one in (model, linsep.load(tmp_path / "m.linsep")):
        assert_same(one.partial_fit(X[90:], y[90:]), GaussianNB().fit(X, y), X)


def test_shared_variances_with_priors_and_smoothing(iris):
    X, y = iris
    k = len(np.unique(y))
    model = GaussianNaiveBayes(priors=[1 / k] * k, var_smoothing=1e-3).fit(X, y)
    plain = GaussianNaiveBayes().fit(X, y)
    assert np.allclose(model.variances_, plain.variances_ + 1e-3 * X.var(axis=0).max())
    logs = -(((X[:, None] - model.means_) ** 2) / model.variances_).sum(axis=2) / 2
    P = np.exp(logs - logs.max(axis=1, keepdims=True))
    assert np.allclose(model.predict_proba(X), P / P.sum(axis=1, keepdims=True), atol=1e-10)
    assert np.allclose(model.to_logistic().predict_proba(X), model.predict_proba(X), atol=1e-10)


def test_a_class_without_spread_or_without_rows_yet():
    X, y = np.array([[1.0, 2.0], [1.0, 3.0], [4.0, 1.0], [6.0, 9.0]]), [0, 0, 1, 1]
    with pytest.warns(SeparationWarning):
        model = own(var_smoothing=0.0).fit(X, y)
    assert model.predict(X).tolist() == y
    one = own().partial_fit(X[:2], y[:2], classes=[0, 1])
    assert one.priors_.tolist() == [1.0, 0.0]
    assert one.predict_proba(X[:1]).tolist() == [[1.0, 0.0]]


@pytest.mark.parametrize(
    "model", [own(), GaussianNaiveBayes(var_smoothing=1e-9)], ids=["own", "shared"]
)
def test_checks_of_scikit_learn(model):
    assert failures(model, {}) == []


def test_files_commands_and_clones(iris, tmp_path):
    X, y = iris
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])]).assign(y=y)
    frame.to_csv(tmp_path / "t.csv", index=False)
    how = ("--learner", "naive-bayes", "--variances", "by_class", "--var-smoothing", "1e-9")
    done = here("fit", "t.csv", "--target", "y", *how, "--model", "m.linsep", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    features = frame.drop(columns="y")
    assert_same(linsep.load(tmp_path / "m.linsep"), GaussianNB().fit(features, y), features)
    predicted = here("predict", "m.linsep", "t.csv", cwd=tmp_path).stdout.split()
    assert predicted == [str(label) for label in GaussianNB().fit(X, y).predict(X)]
    fitted = linsep.fit(frame, target="y", learner="naive-bayes", priors=[0.5, 0.25, 0.25])
    again = linsep.load(linsep.save(fitted, tmp_path / "p.linsep"))
    assert again.predict(frame).tolist() == fitted.predict(frame).tolist()


def test_what_needs_weights_is_refused(iris):
    model = own().fit(*iris)
    for use in (lambda: model.equation_, model.to_logistic):
        with refused(LinsepError, "unsupported", option="variances"):
            use()


def test_refusals(iris):
    for how in ({"priors": [0.5]}, {"variances": "own"}, {"var_smoothing": -1.0}):
        with refused(ParameterError, "bad-option"):
            GaussianNaiveBayes(**how).fit(*iris)


def test_refusals_of_partial_fit(iris):
    X, y = iris
    with refused(DataError, "needs-option", option="classes"):
        own().partial_fit(X, y)
    model = own().partial_fit(X, y, classes=np.unique(y))
    with refused(DataError, "unknown-label"):
        model.partial_fit(X[:1], [9])
