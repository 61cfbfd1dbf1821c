import re
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression as Theirs
from sklearn.preprocessing import StandardScaler

from linsep import LogisticRegression, textbook
from linsep.compiled.jit import COMPILING
from linsep.errors import SeparationError, SeparationWarning
from parameters_in_order import covariance, ends_of, last, weights_of
from refusals import refused
from thoroughness import examples

pytestmark = pytest.mark.both

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    sm = pytest.importorskip("statsmodels.api")


def close(ours, theirs, digits=8):
    assert np.allclose(ours, theirs, rtol=10.0**-digits, atol=1e-300)


def mixed(n=200, d=3, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * 10.0 ** np.arange(d) + 7
    return X, rng.integers(0, classes, n)


def loaded(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = getattr(sm.datasets, name).load_pandas()
    return data.exog.to_numpy(float), data.endog.to_numpy()


@pytest.mark.compiled
@pytest.mark.parametrize(("name", "cut"), [("spector", 0.5), ("fair", 0.0)])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
def test_statsmodels_agrees_to_eight_digits(name, cut, storage):
    X, y = loaded(name)
    y = (y > cut).astype(int)
    theirs = sm.Logit(y, sm.add_constant(X, prepend=False)).fit(disp=0, tol=1e-12)
    ours = LogisticRegression().fit(storage(X), y)
    close(weights_of(ours)[0], theirs.params)
    close(last(ours, "standard_errors_")[0], theirs.bse)
    close(last(ours, "statistics_")[0], theirs.tvalues)
    close(last(ours, "p_values_")[0], theirs.pvalues)
    close(np.array(ends_of(ours, 0.9))[:, 0].T, theirs.conf_int(0.1))
    close(covariance(ours), theirs.cov_params())
    names = ["log_likelihood_", "null_log_likelihood_", "mcfadden_r2_", "aic_", "bic_"]
    same = [theirs.llf, theirs.llnull, theirs.prsquared, theirs.aic, theirs.bic]
    close([getattr(ours, name) for name in names], same)
    close(ours.likelihood_ratio_[:2], (theirs.llr, theirs.df_model))
    close(ours.deviance_, -2 * theirs.llf)
    assert ours.stop_reason_ == "converged"


@pytest.mark.compiled
@pytest.mark.parametrize("reference", [None, 0, 3])
def test_statsmodels_agrees_on_several_classes(reference):
    X, y = loaded("anes96")
    y = y.astype(int)
    first = 6 if reference is None else reference  # theirs is the first label
    moved = np.where(y == first, -1, y)
    theirs = sm.MNLogit(moved, sm.add_constant(X, prepend=False)).fit(disp=0, tol=1e-12, maxiter=99)
    ours = LogisticRegression(reference=reference).fit(X, y)
    assert ours.reference_ == first
    close(weights_of(ours), theirs.params.T)
    close(last(ours, "standard_errors_"), theirs.bse.T)
    close(last(ours, "p_values_"), theirs.pvalues.T)
    close(ours.log_likelihood_, theirs.llf)
    close(ours.likelihood_ratio_[:2], (theirs.llr, theirs.df_model))
    labels = [-1, *[k for k in range(7) if k != first]]
    close(ours.predict_proba(X)[:, [first, *labels[1:]]], theirs.predict())


@examples(25)
@given(st.integers(0, 10_000), st.integers(1, 4), st.booleans())
def test_solvers_and_statsmodels_agree_on_any_overlapping_data(seed, d, intercept):
    X, y = mixed(60 + 20 * d, d, seed=seed)
    Z = sm.add_constant(X, prepend=False) if intercept else X
    theirs = sm.Logit(y, Z).fit(disp=0, tol=1e-12, maxiter=100)
    for solver, digits in (("newton", 7), ("lbfgs", 3)):
        ours = LogisticRegression(solver=solver, fit_intercept=intercept).fit(X, y)
        assert np.allclose(weights_of(ours)[0], theirs.params, rtol=10.0**-digits, atol=1e-6)
    assert np.allclose(last(ours, "standard_errors_")[0], theirs.bse, rtol=1e-4)


def test_the_textbook_is_its_twin():
    X, y = mixed(40, 2, seed=3)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    ours = LogisticRegression().fit(X, y)
    assert np.allclose(textbook.newton(X.tolist(), y.tolist(), 12), weights_of(ours)[0], rtol=1e-12)
    assert textbook.log_likelihood(X.tolist(), y, weights_of(ours)[0]) == pytest.approx(
        ours.log_likelihood_, rel=1e-13
    )
    rate, eps = 0.05, 1e-4
    steps = list(textbook.gradient_ascent(X.tolist(), y.tolist(), rate=rate, eps=eps))
    taught = LogisticRegression(
        solver="gradient_ascent", learning_rate=rate, tol=eps, trace=True
    ).fit(X, y)
    assert taught.n_iter_ == len(steps) - 1
    assert np.allclose(taught.ascent_.path, np.roll(steps, 1, axis=1), rtol=1e-9, atol=1e-12)
    assert np.allclose(weights_of(taught), weights_of(ours), atol=0.02)


def test_gradient_ascent_finds_its_own_rate():
    X, y = mixed(100, 2, classes=3, seed=1)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    taught = LogisticRegression(solver="gradient_ascent", max_iter=5000).fit(X, y)
    assert np.allclose(weights_of(taught), weights_of(LogisticRegression().fit(X, y)), atol=1e-5)
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        LogisticRegression(solver="gradient_ascent", max_iter=3).fit(X, y)


@pytest.mark.parametrize("classes", [2, 3, 4])
@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
def test_penalized_as_scikit_learn(classes, solver, storage):
    X, y = mixed(300, 4, classes, seed=2)
    X = X / 10.0 ** np.arange(4)
    theirs = Theirs(C=0.5, tol=1e-10, max_iter=10_000).fit(X, y)
    for reference in (None, 1):
        ours = LogisticRegression(l2=2.0, solver=solver, reference=reference).fit(storage(X), y)
        assert np.allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)
    assert np.isnan(ours.aic_)
    assert ours.covariance_ is None
    assert "l2=2" in str(ours.summary())


@pytest.mark.compiled
@pytest.mark.parametrize("most", [2500, 0], ids=["Newton's last steps", "alone"])
def test_lbfgs_on_columns_of_all_sizes(monkeypatch, most):
    """Without preconditioning, 1,000 iterations ended 27.8 below the maximum."""
    X, y = load_breast_cancer(return_X_y=True)
    best = LogisticRegression(l2=100.0).fit(X, y)
    monkeypatch.setattr("linsep.logistic.rows.MOST_WEIGHTS", most)
    found = LogisticRegression(l2=100.0, solver="lbfgs").fit(X, y)
    reached, highest = (m.log_likelihood_ - 50.0 * (m.coef_**2).sum() for m in (found, best))
    assert found.stop_reason_ == "converged"
    assert found.n_iter_ < 100
    assert highest - 1e-5 < reached < highest + 1e-9


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "storage", [pytest.param(np.asarray, marks=pytest.mark.compiled), sp.csr_matrix]
)
@pytest.mark.parametrize("weighted", [pytest.param(False, marks=pytest.mark.compiled), True])
def test_many_weights_go_without_a_factor(monkeypatch, classes, storage, weighted):
    X, y = mixed(300, 4, classes, seed=2)
    X, weights = X / 10.0 ** np.arange(4), np.arange(300) % 3 if weighted else None
    with_factor = LogisticRegression(l2=1.0).fit(X, y, weights)
    monkeypatch.setattr("linsep.logistic.rows.MOST_WEIGHTS", 0)
    ours = LogisticRegression(l2=1.0, tol=1e-10).fit(storage(X), y, weights)
    assert np.allclose(weights_of(ours), weights_of(with_factor), rtol=1e-6, atol=1e-7)
    assert ours.stop_reason_ == "converged"
    free = LogisticRegression(tol=1e-10).fit(storage(X), y, weights)
    assert free.covariance_ is None
    assert "too many weights" in str(free.summary())
    monkeypatch.undo()
    exact = LogisticRegression().fit(X, y, weights)
    assert np.allclose(weights_of(free), weights_of(exact), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("size", [1e-20, 1e12, 1e60])
def test_many_weights_of_features_of_any_size(monkeypatch, size, storage):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4)) * (rng.random((200, 4)) < 0.7)
    y = (X @ [1.0, -1.0, 0.5, 0.0] + rng.logistic(size=200) > 0).astype(int)
    weights = np.append(np.ones(199), 0.0)
    expected = LogisticRegression().fit(X, y, sample_weight=weights)
    X = X * [1.0, size, 1.0, 1.0]
    X[-1, 0] = 1e100  # which does not count
    monkeypatch.setattr("linsep.logistic.rows.MOST_WEIGHTS", 0)
    for solver in ("newton", "lbfgs"):
        model = LogisticRegression(solver=solver, tol=1e-8)
        model.fit(storage(X), y, sample_weight=weights)
        close = 1e-9 if solver == "newton" else 1e-6
        assert model.coef_ * [1.0, size, 1.0, 1.0] == pytest.approx(expected.coef_, rel=close)
        with refused(ValueError, "overflow", column=1):
            model.fit(storage(X * [1.0, 1e156 / size, 1.0, 1.0]), y, sample_weight=weights)


def test_weights_count_rows():
    X, y = mixed(80, 2, 3, seed=5)
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 4, 80)
    repeated = LogisticRegression().fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    weighted = LogisticRegression().fit(X, y, counts)
    assert np.allclose(weights_of(weighted), weights_of(repeated), rtol=1e-9)
    assert np.allclose(weighted.covariance_, repeated.covariance_, rtol=1e-8)
    for name in ("log_likelihood_", "aic_", "bic_", "likelihood_ratio_"):
        assert np.allclose(getattr(weighted, name), getattr(repeated, name), rtol=1e-9), name
    sums = dict(weighted.summary().header)
    assert (sums["rows"], sums["sum of their weights"]) == (np.count_nonzero(counts), counts.sum())
    assert "sum of their weights" not in dict(repeated.summary().header)
    two = LogisticRegression().fit(X, y > 0, counts)
    family = sm.families.Binomial()
    theirs = sm.GLM(y > 0, sm.add_constant(X), family, freq_weights=counts).fit()
    assert two.bic_ == pytest.approx(theirs.bic_llf)
    assert weighted.n_rows_ == (counts > 0).sum()
    doubled = LogisticRegression(class_weight={0: 2.0}).fit(X, y)
    same = LogisticRegression().fit(X, y, np.where(y == 0, 2.0, 1.0))
    assert np.array_equal(doubled.coef_, same.coef_)


@pytest.mark.skipif(not COMPILING, reason="too slow without the compiler")
def test_many_rows_start_from_a_sample():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100_000, 3)).astype(np.float32)
    y = rng.random(100_000) < 1 / (1 + np.exp(-X[:, 0]))
    ours = LogisticRegression().fit(X, y)
    theirs = sm.Logit(y, sm.add_constant(X.astype(float), prepend=False)).fit(disp=0, tol=1e-12)
    close(weights_of(ours)[0], theirs.params)
    assert ours.n_iter_ <= 4
    sparse = LogisticRegression().fit(sp.csr_matrix(X), y)
    assert np.allclose(weights_of(sparse), weights_of(ours), rtol=1e-12)


def test_references_and_scores():
    X, y = mixed(100, 2, seed=7)
    names = np.array(["no", "yes"])[y]
    plain = LogisticRegression().fit(X, names)
    turned = LogisticRegression(reference="yes").fit(X, names)
    assert plain.reference_ == "no"
    assert np.allclose(turned.coef_, -plain.coef_)
    assert np.allclose(turned.decision_function(X), plain.decision_function(X))
    assert np.array_equal(turned.predict(X), plain.predict(X))
    P = plain.predict_proba(X)
    assert np.allclose(np.log(P[:, 1] / P[:, 0]), plain.decision_function(X))
    assert np.allclose(np.exp(plain.predict_log_proba(X)), P)
    three = LogisticRegression(reference=1).fit(X, np.arange(100) % 3)
    assert (three.decision_function(X)[:, 1] == 0).all()
    assert three.param_names_[:4] == ["0: intercept", "0: x0", "0: x1", "2: intercept"]
    ratios = plain.odds_ratios().tidy()
    assert np.allclose(ratios["estimate"], np.exp(plain.coef_[0]))
    assert (ratios["low"] < ratios["estimate"]).all()
    assert (ratios["estimate"] < ratios["high"]).all()


@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
def test_dependent_columns_are_said(solver):
    X, y = mixed(100, 2, seed=1)
    more = np.column_stack([X[:, 0], np.full(100, 3.0), X, X[:, 0] + X[:, 1], np.zeros(100)])
    found = LogisticRegression(solver=solver).fit(more, y)
    plain = LogisticRegression(solver=solver).fit(X, y)
    words = ["finite", "dependent", "dependent", "finite", "dependent", "dependent", "finite"]
    assert last(found, "limits_")[0].tolist() == words
    assert np.allclose(found.predict_proba(more), plain.predict_proba(X), atol=1e-7)
    assert np.allclose(
        last(found, "standard_errors_")[0][[0, 3, 6]], last(plain, "standard_errors_")[0], rtol=1e-4
    )
    assert found.likelihood_ratio_[1] == 2
    assert "dependent" in str(found.summary())


def test_columns_of_any_size_and_place():
    X, y = mixed(200, 3, seed=4)
    plain = LogisticRegression().fit(X, y)
    scale, shift = np.array([1e-8, 1.0, 1e9]), np.array([0.0, 1e6, 1e12])
    far = LogisticRegression().fit(X * scale + shift, y)
    assert np.allclose(far.coef_ * scale, plain.coef_, rtol=1e-3)
    assert np.allclose(far.predict_proba(X * scale + shift), plain.predict_proba(X), atol=1e-4)


# Where the likelihood has no maximum.


def unlikely(X, y, **how):
    with pytest.warns(SeparationWarning) as caught:
        found = LogisticRegression(**how).fit(X, y)
    assert len(caught) == 1
    return found, caught[0].message


@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
def test_one_feature_that_separates(solver):
    X, y = np.array([[1.0], [2.0], [3.0], [4.0]]), [0, 0, 1, 1]
    found, warning = unlikely(X, y, solver=solver)
    assert warning.verdict.kind == "separable"
    assert warning.verdict.verify(X, y, exact=True)
    assert warning.limits == {"x0": "+inf", "intercept": "-inf"}
    assert found.predict(X).tolist() == y
    assert found.log_likelihood_ == 0.0
    assert np.isinf(last(found)).all()
    assert np.isnan(last(found, "standard_errors_")).all()
    assert re.search(r"x0 +\+inf\n", str(found.summary()))
    assert found.summary().to_dict()["coefficients"][0]["estimate"] is None


def test_a_column_that_predicts_one_class():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((200, 2)), rng.integers(0, 2, 200)
    mark = (rng.random(200) < 0.2) & (y == 1)
    wide = np.column_stack([X, mark])
    found, warning = unlikely(wide, y)
    assert warning.verdict.kind == "quasi-separable"
    assert warning.limits == {
        "x0": "finite", "x1": "finite", "x2": "+inf", "intercept": "finite",
    }  # fmt: skip
    inside = LogisticRegression().fit(X[~mark], y[~mark])
    assert np.allclose(weights_of(found)[0, [0, 1, 3]], weights_of(inside)[0], rtol=1e-9)
    assert np.allclose(
        last(found, "standard_errors_")[0, [0, 1, 3]],
        last(inside, "standard_errors_")[0],
        rtol=1e-8,
    )
    assert found.log_likelihood_ == pytest.approx(inside.log_likelihood_, rel=1e-12)
    assert (found.predict_proba(wide)[mark, 1] > 1 - 1e-5).all()
    ratios = found.odds_ratios().tidy()
    assert ratios["estimate"][2] == np.inf
    assert np.isnan(ratios["low"][2])


@pytest.mark.parametrize("reference", [None, 0, 1])
def test_iris_runs_away_from_setosa(reference):
    X, y = load_iris(return_X_y=True, as_frame=True)
    found, warning = unlikely(X, y, reference=reference)
    assert warning.verdict.verify(X, y, exact=True)
    others = LogisticRegression().fit(X[50:], y[50:])
    row = {None: 1, 0: None, 1: 1}[reference]
    if reference == 0:  # all that is finite is the difference of the two rows
        assert (last(found, "limits_") != "finite").all()
        assert np.allclose(np.diff(weights_of(found), axis=0), weights_of(others), rtol=1e-6)
        return
    assert last(found, "limits_")[row].tolist() == ["finite"] * 5
    sign = -1 if reference is None else 1
    assert np.allclose(sign * weights_of(found)[row], weights_of(others)[0], rtol=1e-7)
    assert np.allclose(
        last(found, "standard_errors_")[row], last(others, "standard_errors_")[0], rtol=1e-6
    )
    assert found.log_likelihood_ == pytest.approx(others.log_likelihood_, rel=1e-9)
    assert found.score(X, y) > 0.98


def test_separation_can_be_an_error():
    X, y = np.array([[1.0], [2.0], [3.0]]), [0, 0, 1]
    with refused(SeparationError, "separated") as caught:
        LogisticRegression(on_separation="raise").fit(X, y)
    assert caught.value.verdict.kind == "separable"


def test_nearly_separable_data_are_fitted():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((400, 2))
    y = (X[:, 0] > 0).astype(int)
    edge = np.argsort(np.abs(X[:, 0]))[2:5]
    y[edge] = 1 - y[edge]
    found = LogisticRegression().fit(X, y)
    assert found.stop_reason_ == "converged"
    theirs = sm.Logit(y, sm.add_constant(X, prepend=False)).fit(disp=0, maxiter=200, tol=1e-12)
    close(weights_of(found)[0], theirs.params, 6)


def test_rows_of_weight_zero_do_not_hide_separation():
    X, y = np.array([[1.0], [2.0], [3.0], [4.0], [0.0]]), [0, 0, 1, 1, 1]
    with pytest.warns(SeparationWarning):
        found = LogisticRegression().fit(X, y, [1, 1, 1, 1, 0])
    assert last(found, "limits_")[0].tolist() == ["+inf", "-inf"]


@pytest.mark.compiled
@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
def test_more_weights_than_a_matrix_is_made_for_are_not_silent(monkeypatch, solver):
    rng = np.random.default_rng(0)
    dense = np.where(rng.random((60, 200)) < 0.2, rng.random((60, 200)), 0.0)
    X, y = sp.csr_array(dense), np.arange(60) % 2
    monkeypatch.setattr("linsep.logistic.rows.MOST_WEIGHTS", 100)
    found, warning = unlikely(X, y, solver=solver)
    assert warning.verdict.verify(X, y)
    assert found.score(X, y) == 1.0
    assert found.covariance_ is None


@pytest.mark.parametrize("storage", [sp.csr_matrix, np.asarray])
def test_separation_with_weights_and_dependent_columns(storage):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((200, 2)), rng.integers(0, 2, 200)
    mark = (rng.random(200) < 0.2) & (y == 1)
    weights = rng.integers(0, 3, 200).astype(float)
    wide = np.column_stack([X, mark, 2 * X[:, 0]])
    with pytest.warns(SeparationWarning):
        found = LogisticRegression().fit(storage(wide), y, weights)
    assert last(found, "limits_")[0].tolist() == ["finite", "finite", "+inf", "dependent", "finite"]
    inside = LogisticRegression().fit(X[~mark], y[~mark], weights[~mark])
    assert np.allclose(weights_of(found)[0, [0, 1, 4]], weights_of(inside)[0], rtol=1e-8)
    assert np.allclose(
        last(found, "standard_errors_")[0, [0, 1, 4]],
        last(inside, "standard_errors_")[0],
        rtol=1e-7,
    )


# Bad input.


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"y": [0.5, 1.2, 3.3, 0.1]}, "continuous.*LinearRegression"),
        ({"y": [1, 1, 1, 1]}, "Only one class"),
        ({"y": [0, 1, np.nan, 1]}, "NaN"),
        ({"X": [[1.0], [np.nan], [2.0], [3.0]]}, "NaN"),
        ({"X": [[1.0], [np.inf], [2.0], [3.0]]}, "infinity"),
        ({"weights": [1, -1, 1, 1]}, r"sample_weight of row 2 \(index 1\) is -1.0"),
        ({"weights": [0, 0, 0, 0]}, "All values of sample_weight are zero"),
        ({"reference": 7}, "reference is 7, which is not a class of y: 0, 1"),
        ({"solver": "magic"}, "solver of LogisticRegression must be one of"),
        ({"l2": -1.0}, "l2 of LogisticRegression must be a number of at least 0"),
        ({"on_separation": "ignore"}, "must be one of 'warn', 'raise'"),
        ({"solver": "gradient_ascent", "learning_rate": 100.0}, "diverged.*too large"),
        ({"solver": "gradient_ascent", "learning_rate": lambda k: -1.0}, r"learning_rate\(1\)"),
    ],
)
def test_bad_input_is_refused(change, said):
    X = change.pop("X", [[1.0], [2.0], [1.5], [1.7]])
    y, weights = change.pop("y", [0, 1, 0, 1]), change.pop("weights", None)
    if "l2" not in change:
        change["l2"] = 0.1
    with pytest.raises(ValueError, match=said):
        LogisticRegression(**change).fit(X, y, weights)


def test_few_iterations_are_said():
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        LogisticRegression(max_iter=2).fit(X[:, :5], y)


def test_more_columns_than_rows():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((5, 9)), [0, 1, 0, 1, 1]
    found, warning = unlikely(X, y)
    assert warning.verdict.kind == "separable"
    assert found.score(X, y) == 1.0
    assert (last(found, "limits_") == "dependent").sum() == 5


def test_standardizing_changes_no_probability():
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :6]
    Z = StandardScaler().fit_transform(X)
    plain, other = LogisticRegression().fit(X, y), LogisticRegression().fit(Z, y)
    assert np.allclose(plain.predict_proba(X), other.predict_proba(Z), atol=1e-9)


def test_where_nothing_is_inferred_the_default_is_coarser(monkeypatch):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 4))
    y = (X[:, 0] + rng.normal(size=60) > 0).astype(int)
    exact = LogisticRegression(l2=1.0, tol=1e-8).fit(X, y)
    assert LogisticRegression(l2=1.0).fit(X, y).coef_.tolist() == exact.coef_.tolist()
    monkeypatch.setattr("linsep.logistic.rows.MOST_WEIGHTS", 3)
    coarse = LogisticRegression(l2=1.0).fit(X, y)
    said = LogisticRegression(l2=1.0, tol=1e-3).fit(X, y)
    assert coarse.coef_.tolist() == said.coef_.tolist()
    assert 0 < np.abs(coarse.coef_ - exact.coef_).max() < 1e-3


def test_squares_of_small_values_underflow():
    with refused(ValueError, "overflow", column=0):
        LogisticRegression().fit(np.array([[1.0], [2], [3], [4], [2]]) * 1e-160, [0, 1, 0, 1, 0])


def test_proportions_are_refused_with_the_way_to_fit_them():
    with pytest.raises(
        ValueError, match=r"fit counts of successes and trials \(--successes and --t"
    ):
        LogisticRegression().fit([[1.0], [2], [3]], [0.1, 0.5, 1.0])
    with pytest.raises(ValueError, match=r"or bin y into classes\.$"):
        LogisticRegression().fit([[1.0], [2], [3]], [0.1, 0.5, 1.5])
