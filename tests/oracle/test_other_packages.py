"""Regressions in the hands of other packages: maketables and marginaleffects, and frames of their
numbers, beside statsmodels.
"""

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

from linsep import LinearRegression, LogisticRegression, open_source
from linsep.errors import DataError, SeparationWarning
from refusals import refused

pytestmark = pytest.mark.uncompiled

FORMULAS = {LinearRegression: "y ~ x * g + w", LogisticRegression: "c ~ x * g + w"}


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(3)
    frame = pd.DataFrame({"x": random.normal(size=150), "w": random.normal(3, 2, 150)})
    frame["g"] = random.choice(["a", "b", "c"], 150)
    frame["y"] = 1 + frame.x - 0.5 * frame.w + 0.7 * (frame.g == "b") + random.normal(size=150)
    odds = 0.3 + 0.8 * frame.x - 0.3 * frame.w + 0.9 * (frame.g == "c")
    frame["c"] = (random.random(150) < 1 / (1 + np.exp(-odds))).astype(int)
    return frame


def _both(kind, rows):
    formula = FORMULAS[kind]
    theirs = smf.ols if kind is LinearRegression else smf.logit
    typed = rows.assign(g=rows.g.astype("category"))
    how = {} if kind is LinearRegression else {"disp": 0}
    return kind().fit(open_source(rows, formula=formula)), theirs(formula, typed).fit(**how)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of polars, in marginaleffects
@pytest.mark.parametrize("kind", FORMULAS)
def test_adjusted_predictions_and_contrasts(kind, rows):
    effects = pytest.importorskip("marginaleffects")
    if int(pytest.importorskip("polars").__version__.split(".")[0]) > 1:
        pytest.skip("marginaleffects needs polars before 2")
    model, theirs = _both(kind, rows)
    ours = model.for_marginaleffects(rows)
    for call in (
        lambda one: effects.avg_predictions(one, by="g"),
        lambda one: effects.avg_slopes(one, variables="x"),
        lambda one: effects.avg_comparisons(one, variables="g"),
    ):
        found, known = call(ours), call(theirs)
        for name, rel in (("estimate", 1e-9), ("std_error", 1e-3)):  # by finite differences
            np.testing.assert_allclose(found[name].to_numpy(), known[name].to_numpy(), rtol=rel)
    several = LogisticRegression().fit(rows[["x", "w"]], rows.g)
    found = effects.avg_predictions(several.for_marginaleffects(rows))
    means = several.predict_proba(rows[["x", "w"]]).mean(axis=0)
    np.testing.assert_allclose(found["estimate"].to_numpy(), means, rtol=1e-9)


def test_coefficients_that_diverge_have_no_adjusted_predictions():
    pytest.importorskip("marginaleffects")
    frame = pd.DataFrame({"x": [0.0, 1, 2, 3]})
    with pytest.warns(SeparationWarning):
        model = LogisticRegression().fit(frame, [0, 0, 1, 1])
    with refused(DataError, "separated"):
        model.for_marginaleffects(frame)


def test_models_side_by_side(rows):
    tables = pytest.importorskip("maketables")
    models = [LinearRegression().fit(rows[["x"]], rows.y), _both(LogisticRegression, rows)[0]]
    table = tables.ETable(models)
    assert "Observations" in table.make(type="tex")
    for model in models:
        frame = model.__maketables_coef_table__
        np.testing.assert_array_equal(frame["b"], model.params_)
        np.testing.assert_array_equal(frame["se"], model.standard_errors_)
        np.testing.assert_array_equal(frame[["ci95l", "ci95u"]], model.confidence_intervals())


def test_the_plug_in_format_of_tables(rows):
    model = LinearRegression(covariance="CR1").fit(rows[["x"]], rows.y, clusters=rows.g)
    named = {
        "N": 150,
        "n_clusters": 3,
        "r2": model.r_squared_,
        "se_type": "CR1",
        "unheard of": None,
    }
    assert {name: model.__maketables_stat__(name) for name in named} == named


def test_numbers_have_the_names_of_statsmodels(rows):
    model, theirs = _both(LogisticRegression, rows)
    assert model.params_.index.tolist() == model.covariance_.index.tolist() == model.param_names_
    assert model.params_["x"] == pytest.approx(theirs.params["x"], rel=1e-6)
    assert model.covariance_.loc["x", "w"] == pytest.approx(theirs.cov_params().loc["x", "w"])
    glance = model.glance()
    assert glance["log_likelihood"][0] == pytest.approx(theirs.llf)
    assert glance["df_residual"][0] == theirs.df_resid


def test_residuals_of_rows_in_memory(rows):
    X = rows[["x", "w"]]
    linear, logistic = LinearRegression().fit(X, rows.y), LogisticRegression().fit(X, rows.c)
    np.testing.assert_allclose(linear.residuals_, smf.ols("y ~ x + w", rows).fit().resid)
    theirs = smf.logit("c ~ x + w", rows).fit(disp=0)
    np.testing.assert_allclose(logistic.residuals_, theirs.resid_response, atol=1e-8)
    turned = LogisticRegression(reference=1).fit(X, rows.c)
    np.testing.assert_allclose(turned.residuals_, -logistic.residuals_, atol=1e-8)


def test_a_row_for_each_target(rows):
    model = LinearRegression().fit(rows[["x"]], rows[["y", "w"]])
    assert model.glance()["target"].tolist() == ["y", "w"]
    assert model.params_.loc["w", "x"] == model.params_.to_numpy()[1, 1]
