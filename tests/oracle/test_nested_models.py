"""Nested regressions: tests of R and statsmodels, and refusals of what is not comparable."""

import json

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from scipy import stats
from statsmodels.stats.anova import anova_lm

import linsep
from command_line import assert_refused, here
from linsep import LinearRegression, LogisticRegression, compare, lanes, open_source
from linsep.errors import DataError, SeparationWarning
from refusals import refused

rng = np.random.default_rng(4848)


N = 90
FRAME = pd.DataFrame({
    "region": rng.choice(["north", "south", "east"], N), "x1": rng.normal(size=N),
    "x2": rng.normal(size=N), "w": rng.integers(1, 4, N).astype(float),
})  # fmt: skip
FRAME["y"] = FRAME.x1 + (FRAME.region == "north") + rng.normal(size=N)
FRAME["k"] = (FRAME.y + rng.normal(size=N) > 0.5).astype(int)


FORMULAS = ["x1", "x1 + region", "x1 + region * x2"]


def models(learner, frame=FRAME, formulas=FORMULAS, **how):
    target = "y" if learner == "linear" else "k"
    return [linsep.fit(frame, formula=f"{target} ~ {f}", learner=learner, **how) for f in formulas]


def test_least_squares_are_compared_as_by_statsmodels():
    theirs = [smf.ols(f"y ~ {f}", FRAME).fit() for f in FORMULAS]
    found, expected = compare(*models("linear")).tidy(), anova_lm(*theirs)
    assert np.allclose(found.F[1:].astype(float), expected.F[1:], rtol=1e-8)
    # statsmodels takes the degrees of freedom of each model, R those of the largest
    p = stats.f.sf(expected.F[1:], expected.df_diff[1:], expected.df_resid[2])
    assert np.allclose(found.p_value[1:].astype(float), p, rtol=1e-7)
    assert np.allclose(found.rss, expected.ssr, rtol=1e-9)
    assert np.allclose(found.log_likelihood, [one.llf for one in theirs], rtol=1e-9)
    assert np.allclose(found.aic, [one.aic for one in theirs], rtol=1e-9)
    assert np.allclose(found.bic, [one.bic for one in theirs], rtol=1e-9)


def test_logistic_regressions_are_compared_as_by_statsmodels():
    family = sm.families.Binomial()
    theirs = [
        smf.glm(f"k ~ {f}", FRAME, family=family, freq_weights=FRAME.w).fit(tol=1e-12)
        for f in FORMULAS
    ]
    found = compare(*models("logistic", weight="w")).tidy()
    gained = 2 * np.diff([one.llf for one in theirs])
    assert np.allclose(found.chi2[1:].astype(float), gained, rtol=1e-6)
    p = stats.chi2.sf(gained, [2, 3])
    assert np.allclose(found.p_value[1:].astype(float), p, rtol=1e-6)
    assert np.allclose(found.log_likelihood, [one.llf for one in theirs], rtol=1e-8)
    assert found.parameters.tolist() == [2, 4, 7]


def test_separated_classes_are_compared_by_the_supremum():
    frame = FRAME[["x1"]].assign(marker=((FRAME.k == 1) & (FRAME.x1 > 0)).astype(float))
    small = LogisticRegression().fit(frame[["x1"]], FRAME.k)
    with pytest.warns(SeparationWarning):
        large = LogisticRegression().fit(frame, FRAME.k)
    found = compare(small, large)
    rest = frame.marker == 0  # the rows of the marker are fitted with probability 1
    limit = sm.Logit(FRAME.k[rest], sm.add_constant(frame.x1[rest])).fit(disp=False)
    gained = 2 * (limit.llf - small.log_likelihood_)
    assert np.isclose(found.tidy().chi2[1], gained, rtol=1e-6)


def test_model_files_and_the_command_line(tmp_path):
    paths = [tmp_path / f"{k}.linsep" for k in range(3)]
    fits = models("logistic")
    for model, path in zip(fits, paths, strict=True):
        linsep.save(model, path)
    expected = compare(*fits).to_dict()
    assert compare(*map(linsep.load, paths)).to_dict() == expected
    rows = json.loads(here("compare", *paths, "--json", cwd=tmp_path).stdout)["rows"]
    assert [row.pop("model") for row in rows] == list(map(str, paths))
    assert rows == [{k: v for k, v in row.items() if k != "model"} for row in expected["rows"]]
    assert_refused("compare", paths[1], paths[1], cwd=tmp_path, code="other-model")
    assert compare(*fits[::-1], names="cba").to_dict() == compare(*fits, names="abc").to_dict()


@pytest.mark.parametrize(
    ("learner", "weighted"), [(LinearRegression, True), (LogisticRegression, False)]
)
def test_signatures_are_those_of_rows_however_they_come(tmp_path, learner, weighted, monkeypatch):
    target = "y" if learner is LinearRegression else "k"
    frame = FRAME.assign(w=FRAME.w - 1 if weighted else 1.0)  # some weights are 0
    weights, how = (frame.w, {"weight": "w"}) if weighted else (None, {"exclude": ["w"]})
    X = frame[["x1", "x2"]]
    large = learner().fit(X, frame[target], weights)
    assert learner().fit(X.to_numpy()[:, :1], frame[target], weights).rows_signature_ == (
        large.rows_signature_
    )
    frame[["x1", "x2", target, "w"]].to_parquet(tmp_path / "rows.parquet")
    source = open_source(tmp_path / "rows.parquet", target=target, **how)
    whole = source.batches
    source.batches = lambda: (part for batch in whole() for part in batch.cut(7))
    assert learner().fit(source).rows_signature_ == large.rows_signature_
    monkeypatch.setattr(lanes, "DENSE_VALUES", 100)
    monkeypatch.setattr(lanes, "LEAST_ROWS", 13)
    monkeypatch.setattr("linsep.logistic.task.LEAST_LANE_ROWS", 16)
    small = learner().fit(X, frame[target], weights)
    assert small.rows_signature_ == large.rows_signature_


@pytest.mark.parametrize("learner", [LinearRegression, LogisticRegression])
def test_models_that_are_not_nested_are_refused(learner):
    target = FRAME.y if learner is LinearRegression else FRAME.k
    with refused(DataError, "other-model"):
        compare(learner().fit(FRAME[["x1"]], target), learner().fit(FRAME[["x2", "w"]], target))
    small, large = learner().fit(FRAME[["x1"]], target), learner().fit(FRAME[["x1", "x2"]], target)
    assert compare(small, large, names=["a", "b"]).columns["model"] == ["a", "b"]
    for other, code in (
        (learner(fit_intercept=False).fit(FRAME[["x1"]], target), "other-model"),
        (learner().fit(FRAME[["x1"]], target.to_numpy()[::-1]), "other-rows"),
        (learner().fit(FRAME[["x1"]], target, FRAME.w), "other-rows"),
    ):
        with refused(DataError, code):
            compare(other, large)


def test_other_kinds_of_models_are_refused():
    linear = models("linear", formulas=["x1"])[0]
    large = models("logistic", formulas=["x1 + x2"])[0]
    with refused(DataError, "other-model"):
        compare(linear, large)
    X = FRAME[["x1"]]
    with refused(DataError, "other-model", option="reference"):
        compare(LogisticRegression(reference=1).fit(X, FRAME.k), large)
    counts = [LinearRegression(weight_type=t).fit(X, FRAME.y) for t in ("frequency", "precision")]
    with refused(DataError, "other-model", option="weight_type"):
        compare(counts[0], LinearRegression().fit(FRAME[["x1", "x2"]], FRAME.y))
