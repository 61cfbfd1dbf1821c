"""Several targets of a linear regression beside a fit of each, and statsmodels."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import statsmodels.api as sm
from sklearn.linear_model import LinearRegression as Theirs

import linsep
from command_line import here
from linsep import LinearRegression
from refusals import refused

rng = np.random.default_rng(11)
X = pd.DataFrame(rng.normal(size=(40, 3)), columns=["a", "b", "c"])
TARGETS = X.to_numpy() @ rng.normal(size=(3, 2)) + rng.normal(size=(40, 2))
Y = pd.DataFrame(TARGETS, columns=["u", "v"])
WEIGHTS = rng.integers(1, 5, 40).astype(float)
OF_EACH = (
    "coef_", "intercept_", "params_", "standard_errors_", "statistics_", "p_values_", "r_squared_",
    "adjusted_r_squared_", "f_statistic_", "f_p_value_", "df_residual_", "df_model_", "aic_",
    "bic_", "log_likelihood_", "residual_variance_", "residual_error_", "rss_", "correlation_",
)  # fmt: skip


@pytest.mark.parametrize(
    ("options", "weights"),
    [({}, None), ({"fit_intercept": False}, WEIGHTS), ({"weight_type": "frequency"}, WEIGHTS),
     ({"l2": 3.0}, None)],
)  # fmt: skip
def test_numbers_are_those_of_a_fit_for_each_target(options, weights):
    model = LinearRegression(**options).fit(X, Y, weights)
    each = [LinearRegression(**options).fit(X, Y[name], weights) for name in Y]
    assert model.targets_ == ["u", "v"]
    for name in OF_EACH:
        expected = np.array([getattr(one, name) for one in each])
        assert np.array_equal(getattr(model, name), expected, equal_nan=True), name
    ends = np.stack([one.confidence_intervals(0.9) for one in each])
    assert np.array_equal(model.confidence_intervals(0.9), ends, equal_nan=True)
    assert np.array_equal(model.predict(X), np.column_stack([one.predict(X) for one in each]))
    assert model.score(X, Y, weights) == pytest.approx(
        Theirs().fit(X, Y).score(X, Y) if weights is None and not options else
        np.mean([one.score(X, Y[name], weights) for one, name in zip(each, Y, strict=True)])
    )  # fmt: skip


@pytest.mark.parametrize(("intercept", "weights"), [(True, WEIGHTS), (False, None)])
def test_the_covariance_of_all_estimates(intercept, weights):
    model = LinearRegression(fit_intercept=intercept).fit(X, Y, weights)
    Z = sm.add_constant(X) if intercept else X
    each = [sm.WLS(Y[name], Z, 1.0 if weights is None else weights).fit() for name in Y]
    residuals = np.column_stack([one.wresid for one in each])
    expected = np.kron(residuals.T @ residuals / each[0].df_resid, each[0].normalized_cov_params)
    assert np.allclose(model.covariance_, expected, rtol=1e-9)
    errors = np.sqrt(np.diag(model.covariance_))
    assert np.allclose(errors, model.standard_errors_.ravel(), rtol=1e-12)


def test_the_table_names_targets_and_features():
    model = LinearRegression().fit(X, Y)
    assert model.param_names_[3:5] == ["u: c", "v: intercept"]
    text = str(model.summary())
    for said in (
        "Linear regression of u, v",
        "R^2 of u",
        "residual standard error of v",
        "p of F of v",
    ):
        assert said in text
    frame = model.tidy()
    assert frame["target"].tolist() == ["u"] * 4 + ["v"] * 4
    assert frame["term"].tolist() == ["intercept", "a", "b", "c"] * 2
    assert str(model.equation_).splitlines()[1].startswith("v = ")
    constant = LinearRegression().fit(X, Y.assign(v=1.0)).summary().notes
    assert [note.split(":")[0] for note in constant] == ["v"]


def test_frames_arrays_and_text():
    model = LinearRegression().fit(X, Y)
    assert np.array_equal(LinearRegression().fit(X.to_numpy(), Y.to_numpy()).coef_, model.coef_)
    assert LinearRegression().fit(X.to_numpy(), Y.to_numpy()).targets_ == ["y0", "y1"]
    polars = LinearRegression().fit(pl.from_pandas(X), pl.from_pandas(Y))
    assert np.allclose(polars.coef_, model.coef_, rtol=1e-13)
    assert polars.targets_ == ["u", "v"]
    text = X.assign(kind=np.where(X["a"] > 0, "big", "small"))
    mixed = LinearRegression().fit(text, Y)
    assert mixed.predict(text).shape == (40, 2)
    alone = LinearRegression().fit(text, Y["v"])
    assert np.allclose(mixed.predict(text)[:, 1], alone.predict(text))
    bands = mixed.predict(text, interval="prediction")
    assert np.array_equal(bands.low[:, 1], alone.predict(text, interval="prediction").low)
    with pytest.warns(UserWarning, match="column-vector y"):
        one = LinearRegression().fit(X, Y[["u"]])
    assert not hasattr(one, "targets_")
    assert LinearRegression().fit(X, Y).fit(X, Y["u"]).coef_.shape == (3,)


def test_files(tmp_path):
    model = LinearRegression().fit(X, Y, WEIGHTS)
    copy = linsep.load(linsep.save(model, tmp_path / "m.linsep"))
    assert str(copy.summary()) == str(model.summary())
    assert np.array_equal(copy.predict(X), model.predict(X))
    assert np.array_equal(copy.covariance_, model.covariance_)
    for words in (["summary", "m.linsep"], ["inspect", "m.linsep"]):
        done = here(*words, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
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
    model = LinearRegression().fit(X, Y)
    R = np.zeros((1, 8))
    R[0, 1], R[0, 5] = 1.0, -1.0
    found = model.wald_test("u: a = v: a")
    variance = (R @ model.covariance_ @ R.T).item()
    expected = (model.coef_[0, 0] - model.coef_[1, 0]) / np.sqrt(variance)
    assert found.statistic == pytest.approx(expected**2, rel=1e-9)
    with refused(ValueError, "unsupported"):
        linsep.compare(LinearRegression().fit(X[["a"]], Y), model)


def test_what_is_of_one_target_says_so(tmp_path):
    model = LinearRegression().fit(X, Y)
    for ask in (
        lambda: model.assumptions(X, Y), lambda: model.plot(X, Y), lambda: model.solution_,
        lambda: linsep.export(model, tmp_path / "m.sql"),
    ):  # fmt: skip
        with refused(ValueError, "unsupported"):
            ask()
    with refused(ValueError, "duplicate-name"):
        LinearRegression().fit(X, Y.set_axis(["u", "u"], axis=1))
    with refused(ValueError, "missing-value", row=1):
        LinearRegression().fit(X, Y.assign(v=np.nan))
