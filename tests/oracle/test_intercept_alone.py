"""Regressions with an intercept alone, against statsmodels; columns named like the intercept."""

import math

import numpy as np
import pandas as pd
import pytest

import linsep
from command_line import here
from linsep.errors import DataError
from refusals import refused

smf = pytest.importorskip("statsmodels.formula.api")

RNG = np.random.default_rng(5)
N = 90
FRAME = pd.DataFrame({"x": RNG.normal(size=N), "n": RNG.integers(1, 4, N), "k": "a"})
FRAME["y"] = (FRAME["x"] + RNG.normal(size=N) + 1e6).round(3)
FRAME["ill"] = (FRAME["x"] + RNG.logistic(size=N) > 0.5).astype(int)


@pytest.mark.parametrize("how", [{"covariance": "HC1"}, {"weight": "n"}])
def test_the_mean_as_a_linear_regression(how):
    model = linsep.fit(FRAME, formula="y ~ 1", learner="linear", **how)
    ols = (
        smf.wls("y ~ 1", FRAME, weights=FRAME["n"]) if "weight" in how else smf.ols("y ~ 1", FRAME)
    )
    same = ols.fit(cov_type=how.get("covariance", "nonrobust"), use_t=True)
    assert model.param_names_ == ["intercept"]
    np.testing.assert_allclose(model.params_, same.params, rtol=1e-12)
    np.testing.assert_allclose(model.standard_errors_, same.bse, rtol=1e-6)
    np.testing.assert_allclose(model.confidence_intervals(), same.conf_int(), rtol=1e-9)
    assert model.r_squared_ == 0.0


def test_the_odds_as_a_logistic_regression():
    model = linsep.fit(FRAME, formula="ill ~ 1", learner="logistic")
    same = smf.logit("ill ~ 1", FRAME).fit(disp=False)
    ones = int(FRAME["ill"].sum())
    assert model.params_[0] == pytest.approx(math.log(ones / (N - ones)), rel=1e-12)
    np.testing.assert_allclose(model.standard_errors_, same.bse, rtol=1e-6)
    assert model.log_likelihood_ == pytest.approx(same.llf, rel=1e-12)
    assert model.null_log_likelihood_ == model.log_likelihood_
    np.testing.assert_allclose(model.predict_proba(FRAME)[:, 1], ones / N, rtol=1e-12)
    several = FRAME.assign(kind=RNG.choice(["a", "b", "c"], N))
    model = linsep.fit(several, formula="kind ~ 1", learner="logistic")
    shares = several["kind"].value_counts(normalize=True).sort_index()
    np.testing.assert_allclose(model.predict_proba(several)[0], shares, rtol=1e-9)


@pytest.mark.parametrize(("learner", "y"), [("linear", "y"), ("logistic", "ill")])
def test_models_of_an_intercept_alone_are_models(learner, y, tmp_path):
    FRAME.to_csv(tmp_path / "rows.csv", index=False)
    model = linsep.fit(tmp_path / "rows.csv", formula=f"{y} ~ 1", learner=learner)
    loaded = linsep.load(linsep.save(model, tmp_path / "m"))
    for rows in (FRAME, FRAME[["x"]], tmp_path / "rows.csv"):
        assert (loaded.predict(rows) == model.predict(FRAME)).all()
    assert loaded.score(FRAME) == model.score(tmp_path / "rows.csv")
    larger = linsep.fit(FRAME, formula=f"{y} ~ x", learner=learner)
    row = linsep.compare(loaded, larger).columns
    if learner == "linear":
        same = smf.ols("y ~ x", FRAME).fit()
        assert row["F"][1] == pytest.approx(same.fvalue, rel=1e-6)
    else:
        same = smf.logit("ill ~ x", FRAME).fit(disp=False)
        assert row["chi2"][1] == pytest.approx(same.llr, rel=1e-6)
    with refused(DataError, "unsupported"):
        model.likelihood_ratio_tests(FRAME)
    for words in ("summary m", "score m rows.csv"):
        assert here(*words.split(), cwd=tmp_path).returncode == 0, words


def test_an_offset_alone():
    model = linsep.fit(FRAME, formula="ill ~ offset(x)", learner="logistic")
    same = smf.logit("ill ~ 1", FRAME, offset=FRAME["x"]).fit(disp=False)
    np.testing.assert_allclose(model.params_, same.params, rtol=1e-6)
    assert model.log_likelihood_ == pytest.approx(same.llf, rel=1e-9)


LIKE_THE_INTERCEPT = FRAME[["x", "y", "ill"]].assign(intercept=FRAME["n"])


def test_a_column_named_like_the_intercept():
    model = linsep.fit(LIKE_THE_INTERCEPT, formula="ill ~ x + intercept", learner="logistic")
    assert model.param_names_ == ["intercept", "x", "intercept (column)"]
    same = smf.logit("ill ~ x + n", FRAME).fit(disp=False)
    test = model.wald_test("`intercept (column)` = 0")
    assert test.p_value == pytest.approx(same.pvalues["n"], rel=1e-5)
    test = model.wald_test("intercept = 0")
    assert test.p_value == pytest.approx(same.pvalues["Intercept"], rel=1e-5)
