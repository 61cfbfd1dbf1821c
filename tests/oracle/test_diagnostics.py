"""Diagnostics of rows: the numbers of statsmodels, of fits without a row, and published ones."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.linalg import solve
from scipy.special import expit
from scipy.stats import chi2
from statsmodels.stats.outliers_influence import variance_inflation_factor

import linsep
from linsep import LinearRegression, LogisticRegression
from linsep.inference.diagnostics import Diagnostics
from published import DUNCAN
from refusals import refused


def data(name):
    loaded = getattr(sm.datasets, name).load()
    X, y = np.asarray(loaded.exog, dtype=float), np.asarray(loaded.endog, dtype=float)
    return X[:, np.ptp(X, axis=0) > 0], y


def outcomes(n=200, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, (rng.random(n) < expit(X @ np.linspace(1.5, -1, d) - 0.3)).astype(int)


@pytest.mark.parametrize("name", ["stackloss", "longley"])
def test_linear_numbers_are_those_of_statsmodels(name):
    X, y = data(name)
    found = LinearRegression().fit(X, y).diagnostics(X, y)
    scaled = sm.add_constant((X - X.mean(axis=0)) / X.std(axis=0))
    influence = sm.OLS(y, scaled).fit(method="qr").get_influence()
    near = {"rtol": 1e-7, "atol": 1e-10}
    np.testing.assert_allclose(found.dfbetas[:, 1:], influence.dfbetas[:, 1:], **near)
    np.testing.assert_allclose(found.leverage, influence.hat_matrix_diag, **near)
    np.testing.assert_allclose(found.cooks_distance, influence.cooks_distance[0], **near)
    np.testing.assert_allclose(found.standardized, influence.resid_studentized_internal, **near)
    np.testing.assert_allclose(found.studentized, influence.resid_studentized_external, **near)
    vif = [variance_inflation_factor(scaled, j) for j in range(1, scaled.shape[1])]
    np.testing.assert_allclose(found.vif, vif, rtol=1e-6)


def test_logistic_numbers_are_those_of_statsmodels():
    X, y = data("spector")
    found = LogisticRegression().fit(X, y).diagnostics(X, y)
    fit = sm.GLM(y, sm.add_constant(X), family=sm.families.Binomial()).fit(tol=1e-14)
    theirs = fit.get_influence()
    near = {"rtol": 1e-8, "atol": 1e-11}
    np.testing.assert_allclose(found.pearson, fit.resid_pearson, **near)
    np.testing.assert_allclose(found.deviance, fit.resid_deviance, **near)
    np.testing.assert_allclose(found.working, fit.resid_working, **near)
    np.testing.assert_allclose(found.leverage, theirs.hat_matrix_diag, **near)
    np.testing.assert_allclose(found.standardized, theirs.resid_studentized, **near)
    np.testing.assert_allclose(found.cooks_distance, theirs.cooks_distance[0], **near)
    np.testing.assert_allclose(found.dfbetas, theirs.dfbetas, **near)
    np.testing.assert_allclose(found.fitted, fit.fittedvalues, **near)
    roots = np.sqrt(fit.resid_deviance**2 + found.leverage * found.standardized**2)
    np.testing.assert_allclose(found.studentized, np.sign(fit.resid_deviance) * roots, **near)


def test_a_row_that_counts_three_times_is_three_rows():
    X, y = outcomes(50, 2, 1)
    weights = 1.0 + np.arange(50) % 3
    copies = np.repeat(np.arange(50), weights.astype(int))
    one = LogisticRegression().fit(X, y, weights).diagnostics(X, y, weights)
    many = LogisticRegression().fit(X[copies], y[copies]).diagnostics(X[copies], y[copies])
    first = np.searchsorted(copies, np.arange(50))
    root = np.sqrt(weights)
    np.testing.assert_allclose(one.pearson, root * many.pearson[first], rtol=1e-8)
    np.testing.assert_allclose(one.working, many.working[first], rtol=1e-8)
    np.testing.assert_allclose(one.leverage, weights * many.leverage[first], rtol=1e-8)
    ours, theirs = one.hosmer_lemeshow(7), many.hosmer_lemeshow(7)
    assert ours.statistic == pytest.approx(theirs.statistic, rel=1e-8)
    frequency = LinearRegression(weight_type="frequency").fit(X, y, weights)
    line = frequency.diagnostics(X, y, weights)
    assert line.numbers.tolist() == copies.tolist()
    ordinary = LinearRegression().fit(X[copies], y[copies]).diagnostics(X[copies], y[copies])
    np.testing.assert_allclose(line.dfbetas, ordinary.dfbetas, rtol=1e-8, atol=1e-12)


def test_partial_residuals():
    X, y = data("stackloss")
    model = LinearRegression().fit(X, y)
    found = model.diagnostics(X, y)
    wanted = (y - model.predict(X))[:, None] + (X - X.mean(axis=0)) * model.coef_
    np.testing.assert_allclose(found.partial, wanted, atol=1e-11)
    X, y = outcomes()
    model = LogisticRegression(fit_intercept=False).fit(X, y)
    found = model.diagnostics(X, y)
    p = model.predict_proba(X)[:, 1]
    wanted = ((y - p) / (p * (1 - p)))[:, None] + X * model.coef_
    np.testing.assert_allclose(found.partial, wanted, rtol=1e-9)


def test_published_numbers_of_longley():
    X, y = data("longley")
    found = LinearRegression().fit(X, y).diagnostics(X, y)
    # SAS PROC REG with COLLIN; Belsley, Kuh and Welsch's scaling with the intercept
    indices = [1, 9.14172, 12.25574, 25.33661, 230.42395, 1048.08030, 43275]
    assert found.condition_indices == pytest.approx(indices, rel=2e-6)
    proportions = found.variance_proportions
    assert proportions.sum(axis=0) == pytest.approx(np.ones(7))
    assert proportions[-1, 0] > 0.99  # the intercept and the year


def belsley(Z):
    _, sizes, V = np.linalg.svd(Z / np.sqrt((Z**2).sum(axis=0)), full_matrices=False)
    parts = (V.T / sizes) ** 2
    return sizes[0] / sizes, (parts / parts.sum(axis=1, keepdims=True)).T


def test_condition_indices_are_those_of_the_weighted_columns():
    X, y = outcomes(80, 3, 4)
    X = np.column_stack([X + np.array([3, 0, 0]), X[:, 0] + 0.01 * X[:, 1] ** 2])
    Z = np.column_stack([np.ones(80), X])
    weights = np.linspace(0.5, 2, 80)
    line = LinearRegression().fit(X, X[:, 1] + y, weights)
    for found, known in (
        (line.diagnostics(X, X[:, 1] + y, weights), weights),
        (_diagnosed(LogisticRegression(), X, y), None),
    ):
        own = found.fitted * (1 - found.fitted) if known is None else known
        indices, proportions = belsley(Z * np.sqrt(own)[:, None])
        np.testing.assert_allclose(found.condition_indices, indices, rtol=1e-7)
        np.testing.assert_allclose(found.variance_proportions, proportions, rtol=1e-6, atol=1e-9)
    cov = LogisticRegression().fit(X, y).covariance_[1:, 1:]
    R = cov / np.sqrt(np.outer(np.diag(cov), np.diag(cov)))
    np.testing.assert_allclose(found.vif, np.diag(np.linalg.inv(R)), rtol=1e-6)  # car::vif


def _diagnosed(model, X, y, **known):
    return model.fit(X, y, **known).diagnostics(X, y, **known)


def test_published_generalized_inflation():
    # car's help page: vif(lm(prestige ~ income + education + type, data = Duncan))
    X, y = DUNCAN[["income", "education", "type"]], DUNCAN["prestige"]
    model = LinearRegression().fit(X, y)
    found = model.diagnostics(X, y)
    (term,) = found.collinearity.terms
    assert (term.name, term.df) == ("type", 2)
    assert term.inflation == pytest.approx(5.098592, abs=5e-7)
    assert term.per_df == pytest.approx(1.502666, abs=5e-7)
    assert found.vif[:2] == pytest.approx([2.209178, 5.297584], abs=5e-7)
    recipe = linsep.open_source(DUNCAN, formula="prestige ~ income + education + type")
    by_formula = LinearRegression().fit(recipe).diagnostics(DUNCAN)
    assert by_formula.collinearity.terms[0][1:] == pytest.approx(term[1:])


def hoslem(y, p, groups):
    """ResourceSelection::hoslem.test, line by line."""
    cuts = np.unique(np.quantile(p, np.linspace(0, 1, groups + 1)))
    group = pd.cut(p, cuts, include_lowest=True)
    table = pd.DataFrame({"y": y, "p": p}).groupby(group, observed=True).agg(["sum", "size"])
    observed, expected, n = table["y"]["sum"], table["p"]["sum"], table["y"]["size"]
    one, zero = (observed - expected) ** 2 / expected, (observed - expected) ** 2 / (n - expected)
    return float((one + zero).sum()), observed, expected, n


def hosmer_lemeshow(y, p, weights, groups):
    rows = SimpleNamespace(y=y, fitted=p, weights=weights, leverage=0 * p, labels=("0", "1"))
    return Diagnostics.hosmer_lemeshow(rows, groups)


@pytest.mark.parametrize(("groups", "ties"), [(10, False), (13, True)])
def test_hosmer_lemeshow(groups, ties):
    X, y = outcomes(150, 2, 7)
    X = np.round(X) if ties else X
    found = _diagnosed(LogisticRegression(), X, y)
    test = found.hosmer_lemeshow(groups)
    statistic, observed, expected, n = hoslem(y, found.fitted, groups)
    assert test.statistic == pytest.approx(statistic, rel=1e-9)
    assert test.columns["observed"] == observed.tolist()
    assert test.columns["rows"] == n.tolist()
    np.testing.assert_allclose(test.columns["expected"], expected)
    assert test.df == len(test.columns["rows"]) - 2
    assert test.p_value == pytest.approx(chi2.sf(statistic, test.df))
    assert (test.tidy()["low"][1:].to_numpy() > test.columns["high"][:-1]).all()


@pytest.mark.parametrize(
    ("n", "groups", "rows", "statistic"),
    [
        (181, 10, [19, 18, 18, 18, 18, 18, 18, 18, 18, 18], 1.898638412858),
        (91, 9, [11, 10, 10, 10, 10, 10, 9, 11, 10], 1.621466714987),
    ],
)
def test_hosmer_lemeshow_rounds_quantiles_as_r(n, groups, rows, statistic):
    """R 4.2: cut(p, quantile(p, seq(0, 1, 1/g)), include.lowest = TRUE), as hoslem.test."""
    k = np.arange(1, n + 1)
    p, y = k / (n + 1), (37 * k % 101 / 101 < k / (n + 1)).astype(float)
    test = hosmer_lemeshow(y, p, np.ones(n), groups)
    assert test.columns["rows"] == rows
    assert test.statistic == pytest.approx(statistic, rel=1e-11)
    twice = hosmer_lemeshow(np.repeat(y, 2), np.repeat(p, 2), np.ones(2 * n), groups)
    weighted = hosmer_lemeshow(y, p, np.full(n, 2.0), groups)
    assert weighted.columns["rows"] == twice.columns["rows"]


def test_hosmer_lemeshow_needs_three_groups():
    y, p = np.array([0, 1, 0, 1]), np.array([0.2, 0.2, 0.8, 0.8])
    assert np.isnan(hosmer_lemeshow(y, p, np.ones(4), 10).p_value)
    with refused(ValueError, "bad-option", option="groups"):
        hosmer_lemeshow(y, p, np.ones(4), 2)


def test_firths_leverages_are_those_of_the_information_at_its_estimates():
    X, y = data("spector")
    model = LogisticRegression(penalty="firth", intervals="wald").fit(X, y)
    found = model.diagnostics(X, y)
    p, Z = model.predict_proba(X)[:, 1], sm.add_constant(X)
    A = Z * np.sqrt(p * (1 - p))[:, None]
    hat = np.diag(A @ np.linalg.inv(A.T @ A) @ A.T)
    np.testing.assert_allclose(found.leverage, hat, rtol=1e-7)
    # Firth's modified score is zero: the leverages are those that its penalty has
    np.testing.assert_allclose(Z.T @ (y - p + hat * (0.5 - p)), np.zeros(4), atol=1e-6)
    assert np.isnan(found.studentized).all()
    errors, score = model.standard_errors_, y - p + hat * (0.5 - p)
    for k in (13,):
        rest = np.arange(32) != k
        step = solve((Z[rest].T * (p * (1 - p))[rest]) @ Z[rest], Z[rest].T @ score[rest])
        assert found.dfbetas[k] == pytest.approx(-step / errors, abs=1e-5)
        moved = step @ (A.T @ A) @ step / 4
        assert found.cooks_distance[k] == pytest.approx(moved, abs=1e-5)


@pytest.mark.filterwarnings("ignore::linsep.errors.SeparationWarning")
def test_what_is_not_defined_says_so():
    X, y = outcomes(40, 2, 0)
    ridge = _diagnosed(LogisticRegression(l2=1.0), X, y)
    assert np.isnan(ridge.leverage).all()
    assert np.isfinite(ridge.deviance).all()
    assert np.isfinite(ridge.vif).all()
    assert np.isnan(ridge.hosmer_lemeshow().p_value)
    apart = _diagnosed(LogisticRegression(), X, X[:, 0] > 0)
    assert np.abs(apart.pearson).max() < 0.1
    perfect = _diagnosed(LinearRegression(), X, 1 + X[:, 0])
    assert np.isnan(perfect.dfbetas).all()
    assert not perfect.pearson.any()
    alone = _diagnosed(LinearRegression(), np.column_stack([X, np.arange(40) == 7]), X[:, 0] + y)
    one_left = _diagnosed(LinearRegression(), X[:4], [1.0, 2.0, 4.0, 4.0])
    firth = _diagnosed(LogisticRegression(penalty="firth"), X, y)
    for found in (ridge, apart, perfect, alone, one_left, firth):
        (note,) = found.notes  # which names what is NaN, and nothing else
        arrays = {
            "leverage": found.leverage,
            "standardized": found.standardized,
            "dfbetas": found.dfbetas,
            "studentized": found.studentized,
            "Cook": found.cooks_distance,
        }
        said = {name for name in arrays if name in note.replace("whose leverage is 1", "")}
        assert said == {name for name, values in arrays.items() if np.isnan(values).any()}


@pytest.mark.filterwarnings("ignore::linsep.linear.least_squares.DependentFeaturesWarning")
def test_features_left_out_have_no_numbers():
    X, y = outcomes(50, 2, 1)
    X = np.column_stack([X, X[:, 0] - X[:, 1], np.zeros(50)])
    for model in (LogisticRegression(), LinearRegression()):
        found, few = _diagnosed(model, X, y), _diagnosed(model, X[:, :2], y)
        np.testing.assert_allclose(found.dfbetas[:, :3], few.dfbetas, atol=1e-9)
        assert np.isnan(found.dfbetas[:, 3:]).all()
        assert np.isnan(found.partial[:, 2:]).all()
        assert np.isnan(found.vif).tolist() == [False, False, True, True]
        assert found.variance_proportions.shape == (3, 5)
        np.testing.assert_allclose(found.condition_indices, few.condition_indices)


def gapped():
    """Duncan's occupations with gaps and a row of weight 0; statsmodels' fit of the other rows."""
    frame = DUNCAN[["income", "education", "prestige"]].astype(float)
    frame["w"] = 1.0
    frame.loc[[0, 3, 20], "income"] = np.nan
    frame.loc[10, "w"] = 0.0
    used = frame.index.delete([0, 3, 10, 20])
    frame.index = [f"job {k:02}" for k in range(len(frame))]
    known = frame.iloc[used]
    Z = sm.add_constant(known[["income", "education"]])
    return frame, used, sm.OLS(known["prestige"], Z).fit().get_influence().cooks_distance[0]


def test_rows_have_the_numbers_and_labels_of_the_data_as_given():
    """After gaps and weights of 0, too."""
    frame, used, cooks = gapped()
    how = {"missing": "drop", "weight": "w"}
    model = linsep.fit(frame, target="prestige", learner="linear", **how)
    found, tests = model.diagnostics(frame), model.assumptions(frame)
    farthest = used[np.argsort(-cooks)]
    labels = frame.index[farthest]
    np.testing.assert_allclose(found.cooks_distance, cooks, rtol=1e-9)
    for one in (found, tests):
        assert one.numbers.tolist() == used.tolist()
    assert found.index[found.most_influential()].tolist() == labels[:5].tolist()
    assert [note.get_text() for note in found.plot().named_] == [str(x) for x in labels[:3]]
    assert tests["Cook's distance"].conclusion.startswith(f"row {labels[0]};")
    assert found.tidy()["row"].tolist() == frame.index[used].tolist()


def test_other_rows_and_models_are_refused():
    X, y = outcomes(40, 2, 0)
    model = LogisticRegression().fit(X, y)
    three = LogisticRegression().fit(X, np.arange(40) % 3)
    for one, rows, code in (
        (model, (X[1:], y[1:]), "other-rows"), (model, (X[::-1], y), "other-rows"),
        (three, (X, np.arange(40) % 3), "class-count"),
    ):  # fmt: skip
        with refused(ValueError, code):
            one.diagnostics(*rows)
