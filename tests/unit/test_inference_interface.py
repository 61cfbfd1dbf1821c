"""What linear and logistic regressions say of their parameters has the same names and order."""

import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import statsmodels.api as sm
from sklearn.linear_model import LinearRegression as Theirs

import linsep
from command_line import here
from linsep import LinearRegression, LogisticRegression
from linsep.errors import SeparationWarning
from linsep.linear.least_squares import DependentFeaturesWarning
from refusals import refused

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
    ratios = model.odds_ratios().tidy()
    assert np.allclose(np.log(ratios["estimate"]), model.coef_.ravel())
    assert ratios["class"].tolist() == ["1"] * 3 + ["2"] * 3
    assert ratios["term"].tolist() == [*X.columns] * 2
    ends = np.exp(model.confidence_intervals()[:, 1:].reshape(-1, 2))
    assert np.allclose(ratios[["low", "high"]], ends)
    assert np.allclose(ratios["p_value"], model.p_values_[:, 1:].ravel())
    errors = np.exp(model.coef_) * model.standard_errors_[:, 1:]  # the delta method
    assert np.allclose(ratios["standard_error"], errors.ravel())
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
    assert model.params_["above"] == np.inf
    assert np.isnan(model.params_["twice"])
    covariance = model.covariance_.to_numpy()
    assert np.isnan(covariance[4:]).all()
    assert np.isfinite(covariance[:4, :4]).all()
    frame = model.tidy()
    assert frame["status"].tolist() == model.limits_.tolist()
    assert frame["estimate"][4] == np.inf
    with pytest.warns(DependentFeaturesWarning):
        line = LinearRegression().fit(far, Y)
    assert np.isnan(line.params_["twice"])
    assert line.tidy()["status"].tolist() == ["finite"] * 5 + ["dependent"]


RNG = np.random.default_rng(11)
FEATURES = pd.DataFrame(RNG.normal(size=(40, 3)), columns=["a", "b", "c"])
TARGETS = FEATURES.to_numpy() @ RNG.normal(size=(3, 2)) + RNG.normal(size=(40, 2))
PAIRS = pd.DataFrame(TARGETS, columns=["u", "v"])
WEIGHTS = RNG.integers(1, 5, 40).astype(float)
OF_EACH = (
    "coef_", "intercept_", "params_", "standard_errors_", "statistics_", "p_values_", "r_squared_",
    "adjusted_r_squared_", "f_statistic_", "f_p_value_", "df_residual_", "df_model_", "aic_",
    "bic_", "log_likelihood_", "residual_variance_", "residual_error_", "rss_", "correlation_",
)  # fmt: skip


@pytest.mark.parametrize(
    ("options", "weights"),
    [({}, None), ({"fit_intercept": False}, WEIGHTS), ({"l2": 3.0}, None)],
)
def test_numbers_are_those_of_a_fit_for_each_target(options, weights):
    model = LinearRegression(**options).fit(FEATURES, PAIRS, weights)
    each = [LinearRegression(**options).fit(FEATURES, PAIRS[name], weights) for name in PAIRS]
    assert model.targets_ == ["u", "v"]
    for name in OF_EACH:
        expected = np.array([getattr(one, name) for one in each])
        assert np.array_equal(getattr(model, name), expected, equal_nan=True), name
    ends = np.stack([one.confidence_intervals(0.9) for one in each])
    assert np.array_equal(model.confidence_intervals(0.9), ends, equal_nan=True)
    assert np.array_equal(
        model.predict(FEATURES), np.column_stack([one.predict(FEATURES) for one in each])
    )
    known = [one.score(FEATURES, PAIRS[y], weights) for one, y in zip(each, PAIRS, strict=True)]
    if weights is None and not options:
        known = Theirs().fit(FEATURES, PAIRS).score(FEATURES, PAIRS)
    assert model.score(FEATURES, PAIRS, weights) == pytest.approx(np.mean(known))


def test_the_table_names_targets_and_features():
    model = LinearRegression().fit(FEATURES, PAIRS)
    assert model.param_names_[3:5] == ["u: c", "v: intercept"]
    frame = model.tidy()
    assert frame["target"].tolist() == ["u"] * 4 + ["v"] * 4
    assert frame["term"].tolist() == ["intercept", "a", "b", "c"] * 2


def test_frames_arrays_and_text():
    model = LinearRegression().fit(FEATURES, PAIRS)
    arrays = LinearRegression().fit(FEATURES.to_numpy(), PAIRS.to_numpy())
    assert (arrays.coef_.tolist(), arrays.targets_) == (model.coef_.tolist(), ["y0", "y1"])
    text = FEATURES.assign(kind=np.where(FEATURES["a"] > 0, "big", "small"))
    mixed = LinearRegression().fit(text, PAIRS)
    assert mixed.predict(text).shape == (40, 2)
    alone = LinearRegression().fit(text, PAIRS["v"])
    assert np.allclose(mixed.predict(text)[:, 1], alone.predict(text))
    bands = mixed.predict(text, interval="prediction")
    assert np.array_equal(bands.low[:, 1], alone.predict(text, interval="prediction").low)
    with pytest.warns(UserWarning, match="column-vector y"):
        one = LinearRegression().fit(FEATURES, PAIRS[["u"]])
    assert not hasattr(one, "targets_")
    assert LinearRegression().fit(FEATURES, PAIRS).fit(FEATURES, PAIRS["u"]).coef_.shape == (3,)


def test_files(tmp_path):
    model = LinearRegression().fit(FEATURES, PAIRS, WEIGHTS)
    copy = linsep.load(linsep.save(model, tmp_path / "m.linsep"))
    assert str(copy.summary()) == str(model.summary())
    assert np.array_equal(copy.predict(FEATURES), model.predict(FEATURES))
    assert np.array_equal(copy.covariance_, model.covariance_)
    assert "v: intercept" in here("summary", "m.linsep", cwd=tmp_path).stdout
    arrays, facts = model.get_state()
    for change in (
        {"correlations": np.ones((3, 3))}, {"correlations": np.full((2, 2), np.nan)},
        {"kept 1": np.array([True, True, False])}, {"coef 0": np.ones(4)},
    ):  # fmt: skip
        with pytest.raises((ValueError, LookupError)):
            LinearRegression().set_state(arrays | change, facts)
    with pytest.raises(ValueError, match="names"):
        LinearRegression().set_state(arrays, {"targets": [facts["targets"][0]] * 2})


def test_hypotheses_across_targets():
    model = LinearRegression().fit(FEATURES, PAIRS)
    R = np.zeros((1, 8))
    R[0, 1], R[0, 5] = 1.0, -1.0
    found = model.wald_test("u: a = v: a")
    variance = (R @ model.covariance_.to_numpy() @ R.T).item()
    expected = (model.coef_[0, 0] - model.coef_[1, 0]) / np.sqrt(variance)
    assert found.statistic == pytest.approx(expected**2, rel=1e-9)
    with refused(ValueError, "unsupported"):
        linsep.compare(LinearRegression().fit(FEATURES[["a"]], PAIRS), model)


def test_what_is_of_one_target_says_so(tmp_path):
    model = LinearRegression().fit(FEATURES, PAIRS)
    for ask in (
        lambda: model.assumptions(FEATURES, PAIRS), lambda: model.plot(FEATURES, PAIRS),
        lambda: model.solution_,
        lambda: linsep.export(model, tmp_path / "m.sql"),
    ):  # fmt: skip
        with refused(ValueError, "unsupported"):
            ask()
    with refused(ValueError, "duplicate-name"):
        LinearRegression().fit(FEATURES, PAIRS.set_axis(["u", "u"], axis=1))
    with refused(ValueError, "missing-value", row=1):
        LinearRegression().fit(FEATURES, PAIRS.assign(v=np.nan))
