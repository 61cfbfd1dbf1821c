"""Weights as numbers of equal rows, and as inverse variances: two inferences from one fit."""

import numpy as np
import pandas as pd
import pytest

from command_line import here
from linsep import LinearRegression, LogisticRegression, open_source
from linsep.errors import DataError
from refusals import refused

rng = np.random.default_rng(5)
X = rng.normal(size=(40, 3))
Y = X @ [1.0, -2.0, 0.3] + rng.normal(size=40)
COUNTS = rng.integers(0, 5, 40)


def statistics(model):
    found = model
    return [
        *found.standard_errors_, *found.statistics_, *found.p_values_,
        *found.confidence_intervals(0.9).ravel(), found.r_squared_, found.adjusted_r_squared_,
        found.f_statistic_, found.log_likelihood_, found.aic_, found.bic_, found.df_residual_,
    ]  # fmt: skip


def test_frequencies_are_repeated_rows():
    ours = LinearRegression(weight_type="frequency").fit(X, Y, COUNTS)
    rows = np.repeat(np.arange(40), COUNTS)
    theirs = LinearRegression().fit(X[rows], Y[rows])
    assert ours.coef_ == pytest.approx(theirs.coef_, rel=1e-12)
    assert statistics(ours) == pytest.approx(statistics(theirs), rel=1e-10)
    a = ours._inference.bands(X, ours.predict(X), "prediction", 0.9)
    b = theirs._inference.bands(X, theirs.predict(X), "prediction", 0.9)
    assert np.allclose(a, b, rtol=1e-10)
    found, known = ours.assumptions(X, Y, COUNTS), theirs.assumptions(X[rows], Y[rows])
    for finding, other in zip(found.findings, known.findings, strict=True):
        if finding.test not in ("Shapiro-Wilk", "Durbin-Watson"):  # none of copies
            assert finding[2:4] == pytest.approx(other[2:4], rel=1e-10, nan_ok=True)
    assert np.allclose(found.cooks_distance, known.cooks_distance, rtol=1e-10)
    assert found.numbers.tolist() == rows.tolist()


def test_both_kinds_are_those_of_statsmodels():
    sm = pytest.importorskip("statsmodels.api")
    rows, design = COUNTS > 0, sm.add_constant(X)
    frequency = LinearRegression(weight_type="frequency").fit(X, Y, COUNTS)
    theirs = sm.GLM(Y, design, freq_weights=COUNTS).fit()
    assert frequency.standard_errors_ == pytest.approx(theirs.bse, rel=1e-8)
    assert frequency.df_residual_ == theirs.df_resid
    precision = LinearRegression().fit(X, Y, COUNTS)
    theirs = sm.WLS(Y[rows], design[rows], COUNTS[rows]).fit()
    assert statistics(precision)[:4] == pytest.approx(theirs.bse, rel=1e-8)
    assert precision.log_likelihood_ == pytest.approx(theirs.llf)
    assert precision.df_residual_ == theirs.df_resid
    theirs = sm.GLM(Y[rows], design[rows], var_weights=COUNTS[rows]).fit()
    assert precision.standard_errors_ == pytest.approx(theirs.bse, rel=1e-8)


def test_logistic_regression_is_the_same_for_both():
    sm = pytest.importorskip("statsmodels.api")
    y, design = (np.arange(40) % 3 == 0).astype(float), sm.add_constant(X)
    ours = LogisticRegression().fit(X, y, COUNTS)
    for kind in ("freq_weights", "var_weights"):
        theirs = sm.GLM(y, design, sm.families.Binomial(), **{kind: COUNTS}).fit()
        assert np.append(ours.intercept_, ours.coef_) == pytest.approx(theirs.params, rel=1e-6)
        assert sorted(ours.standard_errors_.ravel()) == pytest.approx(sorted(theirs.bse), rel=1e-6)
        assert ours.log_likelihood_ == pytest.approx(theirs.llf)


def test_files_say_the_same(tmp_path):
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=Y, n=COUNTS)
    frame.to_parquet(tmp_path / "rows.parquet")
    source = open_source(tmp_path / "rows.parquet", target="y", weight="n")
    ours = LinearRegression(weight_type="frequency").fit(source)
    theirs = LinearRegression(weight_type="frequency").fit(X, Y, COUNTS)
    assert statistics(ours) == statistics(theirs)
    learn = ["fit", "rows.parquet", "--target", "y", "--weight", "n", "--learner", "linear"]
    done = here(*learn, "--weight-type", "frequency", "--model", "m", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    shown = here("summary", "m", cwd=tmp_path).stdout
    assert f"{COUNTS.sum()}" in shown


def test_weights_that_are_no_counts(tmp_path):
    weights = COUNTS + 0.0
    weights[7] = 2.5
    with refused(DataError, "bad-value"):
        LinearRegression(weight_type="frequency").fit(X, Y, weights)
    pd.DataFrame(X).assign(y=Y, n=weights).to_csv(tmp_path / "rows.csv", index=False)
    source = open_source(tmp_path / "rows.csv", target="y", weight="n")
    with refused(DataError, "bad-value", row=9):
        LinearRegression(weight_type="frequency").fit(source)
