"""Gaussian naive Bayes with variances of each class is scikit-learn's ``GaussianNB``."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.naive_bayes import GaussianNB

import linsep
from command_line import here
from estimator_configurations import failures
from linsep import GaussianNaiveBayes, LogisticRegression
from linsep.errors import LinsepError, ParameterError, SeparationWarning
from refusals import refused

pytestmark = pytest.mark.uncompiled
SETS = {"cancer": load_breast_cancer, "iris": load_iris}


@pytest.fixture(params=SETS)
def rows(request):
    X, y = SETS[request.param](return_X_y=True)
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


@pytest.mark.parametrize("smoothing", [1e-9, 1e-3, 1.0])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
def test_what_it_is(rows, smoothing, storage):
    X, y = rows
    found = own(var_smoothing=smoothing).fit(storage(X), y)
    known = GaussianNB(var_smoothing=smoothing).fit(X, y)
    assert found._epsilon == pytest.approx(known.epsilon_, rel=1e-9)
    assert_same(found, known, X)
    scores = found.decision_function(storage(X))
    assert scores.shape == ((len(X),) if len(found.classes_) == 2 else (len(X), 3))
    assert np.allclose(found.predict_proba(storage(X)), known.predict_proba(X), atol=1e-8)


@pytest.mark.parametrize("uneven", [False, True])
def test_priors(rows, uneven):
    X, y = rows
    k = len(np.unique(y))
    priors = np.arange(1, k + 1) / (k * (k + 1) / 2) if uneven else [1 / k] * k
    assert_same(own(priors=priors).fit(X, y), GaussianNB(priors=np.array(priors)).fit(X, y), X)


def test_weights_are_numbers_of_rows(rows):
    X, y = rows
    weights = np.random.default_rng(1).integers(0, 4, len(y))
    known = GaussianNB().fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert_same(own().fit(X, y, weights), known, X)


@pytest.mark.parametrize("cuts", [[1, 2, 5], [40], [10, 11, 12, 100, 140]])
@pytest.mark.parametrize("variances", ["by_class", "shared"])
def test_any_split_into_batches(rows, cuts, variances):
    X, y = rows
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
    if variances == "by_class":
        known = GaussianNB().fit(np.repeat(X, weights.astype(int), axis=0),
                                 np.repeat(y, weights.astype(int)))  # fmt: skip
        assert_same(model, known, X)


def test_partial_fit_goes_on_after_fit_and_from_a_file(rows, tmp_path):
    X, y = rows
    model = own().fit(X[:90], y[:90])
    linsep.save(model, tmp_path / "m.linsep")
    for one in (model, linsep.load(tmp_path / "m.linsep")):
        assert_same(one.partial_fit(X[90:], y[90:]), GaussianNB().fit(X, y), X)


def test_shared_variances_with_priors_and_smoothing(rows):
    X, y = rows
    k = len(np.unique(y))
    model = GaussianNaiveBayes(priors=[1 / k] * k, var_smoothing=1e-3).fit(X, y)
    plain = GaussianNaiveBayes().fit(X, y)
    assert np.allclose(model.variances_, plain.variances_ + 1e-3 * X.var(axis=0).max())
    logs = -(((X[:, None] - model.means_) ** 2) / model.variances_).sum(axis=2) / 2
    P = np.exp(logs - logs.max(axis=1, keepdims=True))
    assert np.allclose(model.predict_proba(X), P / P.sum(axis=1, keepdims=True), atol=1e-10)
    assert np.allclose(model.to_logistic().predict_proba(X), model.predict_proba(X), atol=1e-10)


def test_columns_far_from_zero():
    X, y = load_iris(return_X_y=True)
    near, far = own(var_smoothing=0.0).fit(X, y), own(var_smoothing=0.0).fit(X + 2.0**30, y)
    assert np.allclose(far.predict_proba(X + 2.0**30), near.predict_proba(X), atol=1e-5)


def test_a_class_without_spread_or_without_rows_yet():
    X, y = np.array([[1.0, 2.0], [1.0, 3.0], [4.0, 1.0], [6.0, 9.0]]), [0, 0, 1, 1]
    with pytest.warns(
        SeparationWarning, match="Feature 0 varies, but has zero variance within some class"
    ):
        model = own(var_smoothing=0.0).fit(X, y)
    assert model.predict(X).tolist() == y
    one = own().partial_fit(X[:2], y[:2], classes=[0, 1])
    assert one.priors_.tolist() == [1.0, 0.0]
    assert one.predict_proba(X[:1]).tolist() == [[1.0, 0.0]]


@pytest.mark.parametrize(
    "model",
    [own(), own(priors=None, var_smoothing=0.0), GaussianNaiveBayes(var_smoothing=1e-9)],
    ids=["own", "own, no smoothing", "shared, smoothing"],
)
def test_checks_of_scikit_learn(model):
    assert failures(model, {}) == []


def test_files_commands_and_clones(rows, tmp_path):
    X, y = rows
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])]).assign(y=y)
    frame.to_csv(tmp_path / "t.csv", index=False)
    how = ("--learner", "naive-bayes", "--variances", "by_class", "--var-smoothing", "1e-9")
    done = here("fit", "t.csv", "--target", "y", *how, "--model", "m.linsep", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "std of" in done.stdout
    features = frame.drop(columns="y")
    assert_same(linsep.load(tmp_path / "m.linsep"), GaussianNB().fit(features, y), features)
    predicted = here("predict", "m.linsep", "t.csv", cwd=tmp_path).stdout.split()
    assert predicted == [str(label) for label in GaussianNB().fit(X, y).predict(X)]
    assert here("inspect", "m.linsep", cwd=tmp_path).returncode == 0
    refused = here("export", "m.linsep", "m.sql", cwd=tmp_path)
    assert refused.returncode == 1
    said = "boundaries are curved and it has no weights: retrain the model with --variances shared"
    assert said in refused.stderr
    k = len(np.unique(y))
    fitted = linsep.fit(frame, target="y", learner="naive-bayes", variances="by_class",
                        priors=[1 / k] * k)  # fmt: skip
    assert clone(fitted).get_params() == fitted.get_params()
    linsep.save(fitted, tmp_path / "p.linsep")
    again = linsep.load(tmp_path / "p.linsep")
    assert again.predict(frame).tolist() == fitted.predict(frame).tolist()


def test_what_needs_weights_is_refused(rows):
    model = own().fit(*rows)
    for use in (lambda: model.equation_, model.to_logistic, lambda: linsep.export(model, "m.sql")):
        with refused(LinsepError, "unsupported", option="variances"):
            use()


@pytest.mark.parametrize(
    ("how", "error", "code"),
    [
        ({"priors": [0.5]}, ParameterError, "bad-option"),
        ({"priors": "even"}, ParameterError, "bad-option"),
        ({"priors": "sum"}, ParameterError, "bad-option"),
        ({"variances": "own"}, ParameterError, "bad-option"),
        ({"var_smoothing": -1.0}, ParameterError, "bad-option"),
    ],
)
def test_refusals(rows, how, error, code):
    X, y = rows
    if how.get("priors") == "sum":
        how = {"priors": [0.4] * len(np.unique(y))}
    with refused(error, code):
        GaussianNaiveBayes(**how).fit(X, y)


def test_refusals_of_partial_fit(rows):
    X, y = rows
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        own().partial_fit(X, y)
    model = own().partial_fit(X, y, classes=np.unique(y))
    with pytest.raises(ValueError, match="classes differ from the first call"):
        model.partial_fit(X, y, classes=[0, 7])
    with pytest.raises(ValueError, match="labels that are not in classes: 9"):
        model.partial_fit(X[:1], [9])
    with pytest.raises(ValueError, match="variances differs"):
        model.set_params(variances="shared").partial_fit(X, y)
    assert isinstance(GaussianNaiveBayes().fit(X, y).to_logistic(), LogisticRegression)
