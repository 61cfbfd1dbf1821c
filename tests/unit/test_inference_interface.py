"""What linear and logistic regressions say of their parameters has the same names and order."""

import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import statsmodels.api as sm

from linsep import LinearRegression, LogisticRegression
from linsep.errors import SeparationWarning
from linsep.linear.least_squares import DependentFeaturesWarning

rng = np.random.default_rng(4)
X = pd.DataFrame(rng.normal(size=(60, 3)), columns=["age", "dose", "weight"])
Y = 2.0 + X["age"] - X["dose"] + rng.normal(size=60)
KINDS = np.digitize(Y + rng.normal(size=60), [1.0, 3.0])
REGRESSIONS = (LinearRegression, LogisticRegression)


def fitted(kind, **how):
    return kind(**how).fit(X, Y if kind is LinearRegression else (KINDS > 0).astype(int))


def of_statsmodels(kind, intercept):
    Z = sm.add_constant(X) if intercept else X
    if kind is LinearRegression:
        return sm.OLS(Y, Z).fit()
    return sm.Logit((KINDS > 0).astype(int), Z).fit(disp=False, tol=1e-10)


@pytest.mark.parametrize(
    ("kind", "intercept"), [(LinearRegression, True), (LogisticRegression, False)]
)
def test_names_and_order_are_those_of_statsmodels(kind, intercept):
    model, theirs = fitted(kind, fit_intercept=intercept), of_statsmodels(kind, intercept)
    names = ["intercept"] * intercept + list(X.columns)
    assert model.param_names_ == names
    for name, expected in (
        ("params_", theirs.params), ("standard_errors_", theirs.bse), ("p_values_", theirs.pvalues),
        ("statistics_", theirs.tvalues), ("covariance_", theirs.cov_params()),
    ):  # fmt: skip
        assert np.allclose(getattr(model, name), expected, rtol=1e-6, atol=1e-9), name
    assert np.allclose(model.confidence_intervals(0.9), theirs.conf_int(0.1), rtol=1e-6)
    assert np.allclose(model.params_[-3:], model.coef_)
    table = model.summary(0.9)
    assert [row.name for row in table.coefficients] == names
    assert table.columns()[-2:] == ["90% low", "90% high"]
    assert [row.low for row in table.coefficients] == model.confidence_intervals(0.9)[:, 0].tolist()


def test_several_classes_have_a_row_of_parameters_each():
    model = LogisticRegression(reference=0).fit(X, KINDS)
    theirs = sm.MNLogit(KINDS, sm.add_constant(X)).fit(disp=False, tol=1e-10)
    assert model.params_.shape == model.limits_.shape == model.p_values_.shape == (2, 4)
    assert np.allclose(model.params_, theirs.params.T, rtol=1e-5)
    assert np.allclose(model.standard_errors_, theirs.bse.T, rtol=1e-5)
    assert model.confidence_intervals().shape == (2, 4, 2)
    assert np.allclose(model.covariance_, theirs.cov_params(), rtol=1e-4, atol=1e-8)
    names = ["intercept", "age", "dose", "weight"]
    assert model.param_names_ == [f"{k}: {name}" for k in (1, 2) for name in names]
    odds = model.odds_ratios()
    ratios = odds.tidy()
    assert np.allclose(np.log(ratios["estimate"]), model.coef_.ravel())
    assert ratios["class"].tolist() == ["1"] * 3 + ["2"] * 3
    assert ratios["term"].tolist() == [*X.columns] * 2
    ends = np.exp(model.confidence_intervals()[:, 1:].reshape(-1, 2))
    assert np.allclose(ratios[["low", "high"]], ends)
    assert np.allclose(ratios["p_value"], model.p_values_[:, 1:].ravel())
    errors = np.exp(model.coef_) * model.standard_errors_[:, 1:]  # the delta method
    assert np.allclose(ratios["standard_error"], errors.ravel())
    assert odds.columns()[1] == "odds ratio"
    assert str(odds).startswith("Odds ratios of 1, 2 against 0\n")
    frame = model.tidy()
    assert frame["class"].tolist() == ["1"] * 4 + ["2"] * 4
    assert frame["term"].tolist() == ["intercept", *X.columns] * 2


@pytest.mark.parametrize("kind", REGRESSIONS)
def test_the_table_as_a_frame(kind, monkeypatch):
    model = fitted(kind)
    found = model.tidy(0.8)
    assert isinstance(found, pd.DataFrame)
    assert found.columns.tolist() == [
        "term", "estimate", "standard_error", "statistic", "p_value", "low", "high", "status",
    ]  # fmt: skip
    assert np.allclose(found["estimate"], model.params_)
    assert np.allclose(found[["low", "high"]], model.confidence_intervals(0.8))
    monkeypatch.setitem(sys.modules, "pandas", None)
    without = model.tidy(0.8)
    assert isinstance(without, pa.Table)
    assert without["p_value"].to_pylist() == model.p_values_.tolist()


def test_what_has_no_estimate_is_infinite_or_missing():
    far = X.assign(above=(X["age"] > 1).astype(float), twice=2 * X["dose"])
    y = ((X["age"] > 1) | (rng.random(60) < 0.5)).astype(int)
    with pytest.warns(SeparationWarning):
        model = LogisticRegression().fit(far, y)
    assert model.limits_.tolist() == ["finite"] * 4 + ["+inf", "dependent"]
    assert model.params_[4] == np.inf
    assert np.isnan(model.params_[5])
    assert np.isnan(model.covariance_[4:]).all()
    assert np.isfinite(model.covariance_[:4, :4]).all()
    frame = model.tidy()
    assert frame["status"].tolist() == model.limits_.tolist()
    assert frame["estimate"][4] == np.inf
    with pytest.warns(DependentFeaturesWarning):
        line = LinearRegression().fit(far, Y)
    assert np.isnan(line.params_[5])
    assert line.tidy()["status"].tolist() == ["finite"] * 5 + ["dependent"]


def test_old_names_say_the_new_ones():
    model = fitted(LinearRegression)
    for old in ("summary_", "weights_", "z_", "estimates_", "inference_", "weight_names"):
        assert not hasattr(model, old)
        with pytest.raises(AttributeError, match="use "):
            getattr(model, old)
