"""Offsets of linear and logistic regressions, beside statsmodels and optima by brute force."""

import json

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

import linsep
from command_line import assert_refused, here
from linsep import LinearRegression, LogisticRegression, open_source
from linsep.errors import DataError
from refusals import refused

N = 120


def rows(seed, spread=1.0):
    rng = np.random.default_rng(seed)
    X, offset = rng.normal(size=(N, 3)) * [1.0, 30.0, 0.01] + [0, 1000, 0], rng.normal(size=N)
    scores = X @ [1.0, 0.02, -50.0] - 20 + spread * offset
    return X, (rng.random(N) < 1 / (1 + np.exp(-scores))).astype(int), spread * offset


def binomial(X, y, offset, weights=None):
    family = sm.families.Binomial()
    model = sm.GLM(y, X, family=family, offset=offset, freq_weights=weights)
    return model.fit(tol=1e-14, maxiter=200)


@pytest.mark.parametrize(
    ("spread", "parameters"), [(6.0, {"intervals": "profile"}), (1.0, {"reference": 1})]
)
def test_logistic_beside_statsmodels(spread, parameters):
    X, y, offset = rows(0, spread)
    theirs = binomial(sm.add_constant(X), y, offset)
    sign = -1.0 if parameters.get("reference") == 1 else 1.0
    ours = LogisticRegression(**parameters).fit(X, y, offset=sign * offset)
    np.testing.assert_allclose(sign * ours.coef_[0], theirs.params[1:], rtol=1e-7)
    np.testing.assert_allclose(sign * ours.intercept_[0], theirs.params[0], rtol=1e-7)
    np.testing.assert_allclose(ours.standard_errors_, theirs.bse, rtol=1e-6)
    np.testing.assert_allclose(ours.log_likelihood_, theirs.llf, rtol=1e-12)
    np.testing.assert_allclose(ours.null_deviance_, theirs.null_deviance, rtol=1e-9)
    p = theirs.predict(sm.add_constant(X), offset=offset)
    found = ours.predict_proba(X, offset=sign * offset)[:, 1]
    np.testing.assert_allclose(found, p, rtol=1e-7)


def test_weights_and_no_intercept():
    X, y, offset = rows(1)
    weights = np.random.default_rng(2).integers(0, 4, N)
    X = X - X.mean(axis=0)
    theirs = binomial(X, y, offset, weights)
    ours = LogisticRegression(fit_intercept=False).fit(X, y, weights, offset=offset)
    np.testing.assert_allclose(ours.coef_[0], theirs.params, rtol=1e-7)
    null = -(weights * np.logaddexp(0, np.where(y, -offset, offset))).sum()
    assert ours.null_log_likelihood_ == pytest.approx(null, rel=1e-14)


def test_limits_of_separated_data_do_not_depend_on_offsets():
    rng = np.random.default_rng(6)
    group = np.repeat([0.0, 1.0], 40)
    X = np.column_stack([group, rng.normal(size=80)])
    y = np.where(group == 1, 1, rng.random(80) < 0.5).astype(int)
    offset = rng.normal(size=80) * 5
    with pytest.warns(linsep.errors.SeparationWarning):
        ours = LogisticRegression().fit(X, y, offset=offset)
    assert ours.limits_.tolist() == ["finite", "+inf", "finite"]
    inside = group == 0  # rows whose choice is left decide about the rest
    theirs = binomial(sm.add_constant(X[inside, 1:]), y[inside], offset[inside])
    np.testing.assert_allclose([ours.intercept_[0], ours.coef_[0, 1]], theirs.params, rtol=1e-7)
    assert ours.log_likelihood_ == pytest.approx(theirs.llf, rel=1e-10)
    assert (ours.predict(X, offset=offset)[group == 1] == 1).all()


def test_linear_is_the_regression_of_the_difference():
    X, _, offset = rows(10)
    y = X @ [1.0, 2.0, 300.0] + np.random.default_rng(11).normal(size=N)
    weights = np.random.default_rng(12).random(N)
    theirs = sm.WLS(y - offset, sm.add_constant(X), weights=weights).fit()
    ours = LinearRegression().fit(X, y, weights, offset=offset)
    np.testing.assert_allclose(ours.coef_, theirs.params[1:], rtol=1e-9)
    np.testing.assert_allclose(ours.standard_errors_, theirs.bse, rtol=1e-9)
    assert ours.r_squared_ == pytest.approx(theirs.rsquared, rel=1e-10)
    assert ours.f_statistic_ == pytest.approx(theirs.fvalue, rel=1e-9)
    bands = ours.predict(X, "prediction", offset=offset)
    frame = theirs.get_prediction(sm.add_constant(X)).summary_frame()
    np.testing.assert_allclose(bands.prediction, frame["mean"] + offset, rtol=1e-9)
    np.testing.assert_allclose(ours.predict(X, offset=offset), bands.prediction, rtol=0)


def test_linear_shifts_are_exact():
    rng = np.random.default_rng(13)
    X, y = rng.integers(-9, 9, (30, 2)).astype(float), rng.integers(-50, 50, 30).astype(float)
    plain = LinearRegression().fit(X, y)
    moved = LinearRegression().fit(X, y, offset=3 * X[:, 0])
    assert moved.coef_[1] == pytest.approx(plain.coef_[1], rel=1e-13)
    assert moved.intercept_ == pytest.approx(plain.intercept_, rel=1e-13)
    assert moved.coef_[0] == pytest.approx(plain.coef_[0] - 3, rel=1e-14)
    assert moved.solution_.rss == pytest.approx(plain.solution_.rss, rel=1e-13)


BAD = [
    (np.r_[0, np.inf, np.zeros(N - 2)], "not-finite", 2), (["x"] * N, "not-a-number", None),
    (np.zeros(3), "shape", None),
]  # fmt: skip


def test_bad_offsets():
    X, y, _ = rows(14)
    for offset, code, row in BAD:
        with refused(DataError, code, option="offset", row=row):
            LogisticRegression().fit(X, y, offset=offset)


@pytest.mark.parametrize("kind", [LinearRegression, LogisticRegression])
def test_predictions_need_an_offset(kind, tmp_path):
    X, y, offset = rows(15)
    model, plain = kind().fit(X, y, offset=offset), kind().fit(X, y)
    for one in (model, linsep.load(linsep.save(model, tmp_path / "m.linsep"))):
        with refused(DataError, "needs-option", option="offset"):
            one.predict(X)
        assert (one.predict(X, offset=offset) == model.predict(X, offset=offset)).all()
    with refused(DataError, "unsupported", option="offset"):
        plain.predict(X, offset=offset)


def test_several_classes_are_refused():
    X, _, offset = rows(16)
    with refused(DataError, "class-count", option="offset"):
        LogisticRegression().fit(X, np.arange(N) % 3, offset=offset)


def test_several_targets_are_refused_and_a_ridge_is_not():
    X, y, offset = rows(23)
    targets = np.column_stack([y, offset])
    with refused(DataError, "unsupported", option="offset"):
        LinearRegression().fit(X, targets, offset=offset)
    ridge = LinearRegression(l2=3.0).fit(X, y, offset=offset)
    expected = LinearRegression(l2=3.0).fit(X, y - offset)
    assert ridge.coef_.tolist() == expected.coef_.tolist()


def test_thresholds():

    X, y, offset = rows(19)
    model = LogisticRegression().fit(X, y, offset=offset)
    linsep.set_threshold(model, "recall=0.9", X, y, offset=offset)
    assert (model.predict(X, offset=offset)[y == 1] == 1).mean() >= 0.9


def test_models_of_other_offsets_are_not_nested():
    X, y, offset = rows(20)
    features = pd.DataFrame(X, columns=["a", "b", "c"])
    few = features[["a", "b"]]
    larger = LogisticRegression().fit(features, y, offset=offset)
    found = linsep.compare(LogisticRegression().fit(few, y, offset=offset), larger)
    full = binomial(sm.add_constant(X), y, offset).llf
    less = binomial(sm.add_constant(X[:, :2]), y, offset).llf
    assert found.columns["chi2"][1] == pytest.approx(2 * (full - less), rel=1e-7)
    with refused(DataError, "other-rows"):
        linsep.compare(LogisticRegression().fit(few, y, offset=offset + 1), larger)


@pytest.mark.parametrize("kind", [LinearRegression, LogisticRegression])
def test_terms_are_left_out_beside_offsets_and_counts(kind):
    X, y, offset = rows(21)
    model = kind().fit(X, y, offset=offset)
    counts = {"successes": y, "trials": 1}
    counted = LogisticRegression().fit(X, **counts)
    found = model.likelihood_ratio_tests(X, y, offset=offset).columns
    fewer = kind().fit(X[:, 1:], y, offset=offset)
    assert found["aic"][0] == pytest.approx(fewer.aic_, rel=1e-12)
    known = LogisticRegression().fit(X, y).likelihood_ratio_tests(X, y).columns
    of_counts = counted.likelihood_ratio_tests(X, **counts).columns
    assert of_counts["chi2"] == pytest.approx(known["chi2"], rel=1e-9)
    with refused(DataError, "needs-option", option="offset"):
        model.likelihood_ratio_tests(X, y)
    with refused(DataError, "needs-option", option="successes"):
        counted.likelihood_ratio_tests(X, y)


def test_diagnostics_have_the_offsets():
    X, y, offset = rows(22)
    theirs = binomial(sm.add_constant(X), y, offset)
    model = LogisticRegression().fit(X, y, offset=offset)
    found = model.diagnostics(X, y, offset=offset)
    np.testing.assert_allclose(found.pearson, theirs.resid_pearson, rtol=1e-6)
    np.testing.assert_allclose(found.deviance, theirs.resid_deviance, rtol=1e-6)
    leverage = theirs.get_influence().hat_matrix_diag
    np.testing.assert_allclose(found.leverage, leverage, rtol=1e-6)
    with refused(DataError, "needs-option", option="offset"):
        model.diagnostics(X, y)
    linear = LinearRegression().fit(X, y, offset=offset)
    errors = y - linear.predict(X, offset=offset)
    np.testing.assert_allclose(linear.diagnostics(X, y, offset=offset).pearson, errors, atol=1e-9)


MANY = 300


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    data = pd.DataFrame(rng.normal(size=(MANY, 3)), columns=["a", "b", "o"])
    data["town"] = rng.choice(["x", "y", "z"], MANY)
    data["y"] = (rng.random(MANY) < 1 / (1 + np.exp(-data.a - data.o))).astype(int)
    data["v"] = data.a + data.o + rng.normal(size=MANY)
    return data


@pytest.fixture
def path(table, tmp_path):
    table.to_csv(tmp_path / "table.csv", index=False)
    return str(tmp_path / "table.csv")


def arrays(table):
    return pd.get_dummies(table[["a", "b", "town"]], drop_first=True).astype(float)


LEARNERS = [("logistic", "y", LogisticRegression), ("linear", "v", LinearRegression)]


@pytest.mark.parametrize(("learner", "target", "kind"), LEARNERS, ids=["logistic", "linear"])
def test_columns_and_formulas(table, path, learner, target, kind: type):
    other = {"y": "v", "v": "y"}[target]
    expected = kind().fit(arrays(table), table[target], offset=table.o)
    predicted = expected.predict(arrays(table), offset=table.o)
    asked = [
        {"target": target, "offset": "o", "exclude": other},
        {"formula": f"{target} ~ offset(2 * o) + a + b + town + offset(log(exp(-o)))"},
    ]
    score = expected.score(arrays(table), table[target], offset=table.o)
    for how, data in zip(asked, (table, path), strict=True):
        model = linsep.fit(data, learner=learner, **how)
        np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-9)
        np.testing.assert_allclose(model.predict(data), predicted, rtol=1e-9)
        assert model.score(data) == pytest.approx(score)
    beside = linsep.score(expected, (arrays(table), table[target]), offset=table.o)
    there = linsep.score(model, table)["metrics"]
    values = {name: metric["value"] for name, metric in there.items()}
    assert {k: m["value"] for k, m in beside["metrics"].items()} == pytest.approx(values)


def test_offsets_of_the_command_line(table, path, tmp_path):
    model = str(tmp_path / "m.linsep")
    options = ["--target", "y", "--learner", "logistic", "--exclude", "v"]
    done = here("fit", path, *options, "--offset", "o", "--model", model, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    loaded = linsep.load(model)
    expected = LogisticRegression().fit(arrays(table), table.y, offset=table.o)
    np.testing.assert_allclose(loaded.coef_, expected.coef_, rtol=1e-9)
    done = here("predict", model, path, "--probabilities", "--json", cwd=tmp_path)
    lines = [json.loads(line)["probabilities"] for line in done.stdout.splitlines()]
    p = expected.predict_proba(arrays(table), offset=table.o)
    np.testing.assert_allclose(lines, p, rtol=1e-9)
    terms = json.loads(here("audit", model, path, "--row", "5", "--json", cwd=tmp_path).stdout)[
        "terms"
    ]
    (offset,) = [term for term in terms if term["feature"] == "offset"]
    assert offset["contribution"] == table.o[4]
    table.drop(columns="o").to_csv(tmp_path / "without.csv", index=False)
    without = str(tmp_path / "without.csv")
    assert_refused("predict", model, without, cwd=tmp_path, code="unknown-column")


REFUSED_COLUMNS = [
    ({"offset": "y"}, "column-role"), ({"offset": "o", "weight": "o"}, "column-role"),
    ({"formula": "y ~ a + o", "offset": "o"}, "column-role"),
    ({"formula": "y ~ a:offset(o)"}, "bad-formula"),
    ({"formula": "y ~ a + offset(__import__('os'))"}, "bad-formula"),
    ({"formula": "y ~ a + offset(y)"}, "bad-formula"),
    ({"formula": "y ~ a + offset(log(o))"}, "missing-value"),
]  # fmt: skip


def test_refused_columns(path):
    for how, code in REFUSED_COLUMNS:
        target = {} if "formula" in how else {"target": "y"}
        with refused(DataError, code):
            linsep.fit(path, learner="logistic", **target, **how)


def test_forged_recipes(table):
    model = linsep.fit(table, formula="y ~ a + offset(o)", learner="logistic")
    for forged in (["__import__('os')"], ["q"], 5):
        recipe = json.loads(json.dumps(model.recipe_))
        recipe["formula"]["offset"] = forged
        with pytest.raises(DataError):
            open_source(table, recipe=recipe)


def test_other_uses_are_refused(table):
    source = open_source(table, target="y", offset="o", exclude="v")
    for kind in ("Perceptron", "GaussianNaiveBayes", "SoftMargin"):
        with refused(DataError, "unsupported", option="offset"):
            getattr(linsep, kind)().fit(source)
    with refused(DataError, "conflict", option="offset"):
        LogisticRegression().fit(source, offset=table.o)
