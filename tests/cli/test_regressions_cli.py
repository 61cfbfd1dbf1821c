"""Regressions on the command line: the table, intervals, probabilities, and what is refused."""

import json

import numpy as np
import pandas as pd
import pytest

import linsep
from command_line import assert_refused, here

pytestmark = pytest.mark.compiled

rng = np.random.default_rng(3)
AGES = rng.integers(20, 80, 60)
PRESSURE = 90 + AGES + rng.normal(0, 8, 60).round(1)
PLACES = np.array(["north", "south", "west"])[rng.integers(0, 3, 60)]
ILL = np.where(rng.random(60) < 1 / (1 + np.exp(-(AGES - 50) / 8)), "yes", "no")
TABLE = "age,pressure,place,ill\n" + "".join(
    f"{a},{p:.1f},{where},{ill}\n"
    for a, p, where, ill in zip(AGES, PRESSURE, PLACES, ILL, strict=True)
)
SVM = "".join(
    f"{k} 1:{a} 3:{p}\n"
    for k, a, p in zip(rng.integers(0, 3, 60), AGES / 10, PRESSURE / 10, strict=True)
)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "t.csv").write_text(TABLE)
    (tmp_path / "new.csv").write_text(TABLE)
    (tmp_path / "t.svm").write_text(SVM)
    return tmp_path


def printed(*arguments, cwd):
    done = here(*arguments, cwd=cwd)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


LINEAR = ("fit", "t.csv", "--target", "pressure", "--learner", "linear", "--exclude", "ill")


def test_linear_regression_from_a_table(folder):
    fit = (*LINEAR, "--exclude", "place", "--model", "m", "--test", "new.csv")
    shown = printed(*fit, cwd=folder)
    model = linsep.LinearRegression().fit(AGES[:, None], PRESSURE)
    saved = linsep.load(folder / "m")
    assert (saved.coef_[0], saved.intercept_) == (model.coef_[0], model.intercept_)
    r2 = model.score(AGES[:, None], PRESSURE)
    table = printed("summary", "m", cwd=folder)
    assert shown.startswith("test  ")
    assert table.partition("\n\nequation")[0] in shown
    told = json.loads(printed("summary", "m", "--json", cwd=folder))
    assert told == saved.summary().to_dict() | {"equation": str(saved.equation_)}
    scored = json.loads(printed("score", "m", "t.csv", "--json", cwd=folder))
    assert scored["r_squared"] == pytest.approx(r2, abs=1e-12)
    errors = np.abs(model.predict(AGES[:, None]) - PRESSURE)
    assert scored["mean_absolute_error"] == pytest.approx(errors.mean())
    assert scored["largest_error"] == pytest.approx(errors.max())
    assert f"R^2       {r2:.6g} of 60 rows" in printed("score", "m", "t.csv", cwd=folder)


def test_intervals_of_predictions(folder):
    printed(*LINEAR, "--exclude", "place", "--model", "m", cwd=folder)
    model = linsep.load(folder / "m")
    X = pd.DataFrame({"age": AGES.astype(float)})
    plain = np.loadtxt(printed("predict", "m", "t.csv", cwd=folder).splitlines())
    assert np.array_equal(plain, model.predict(X))
    for interval in ("confidence", "prediction"):
        lines = printed("predict", "m", "t.csv", "--interval", interval, "--level", 0.9, cwd=folder)
        told = np.array([line.split("\t") for line in lines.splitlines()], dtype=float)
        bands = np.column_stack(model.predict(X, interval=interval, level=0.9))
        assert np.array_equal(told, bands)
    as_json = printed("predict", "m", "t.csv", "--interval", "prediction", "--json", cwd=folder)
    first = json.loads(as_json.splitlines()[0])
    assert list(first) == ["prediction", "low", "high"]
    assert first["low"] < first["prediction"] < first["high"]


def test_logistic_regression_from_a_table(folder):
    fit = ("fit", "t.csv", "--target", "ill", "--learner", "logistic", "--exclude", "place")
    shown = printed(*fit, "--model", "m", "--test", "new.csv", "--cv", 3, cwd=folder)
    assert [line.split(" ")[0] for line in shown.splitlines()[:2]] == ["test", "cv"]
    X = np.column_stack([AGES, PRESSURE.round(1)])
    model = linsep.LogisticRegression().fit(X, ILL)
    saved = linsep.load(folder / "m")
    np.testing.assert_allclose(saved.coef_, model.coef_, rtol=1e-9)
    assert f"\ntraining  {100 * model.score(X, ILL):.2f}% right; baseline " in shown
    assert printed("summary", "m", cwd=folder).partition("\n\nequation")[0] in shown
    lines = printed("predict", "m", "t.csv", "--probabilities", cwd=folder).splitlines()
    assert [line.split("\t")[0] for line in lines] == model.predict(X).tolist()
    told = np.array([line.split("\t")[1:] for line in lines], dtype=float)
    np.testing.assert_allclose(told, model.predict_proba(X), rtol=1e-9)
    lines = printed("predict", "m", "t.csv", "--scores", cwd=folder).splitlines()
    scores = [float(line.split("\t")[1]) for line in lines]
    np.testing.assert_allclose(scores, model.decision_function(X), rtol=1e-9)
    accuracy = json.loads(printed("score", "m", "t.csv", "--json", cwd=folder))["accuracy"]
    assert accuracy == model.score(X, ILL)


def test_of_several_classes_any_is_the_reference(folder):
    fit = ("fit", "t.svm", "--learner", "logistic", "--reference", 1, "--l2", 0.1, "--model", "m")
    shown = printed(*fit, cwd=folder)
    assert "\n2: x3  " in shown  # as the file counts them
    assert linsep.load(folder / "m").reference_ == 1
    other = ("fit", "t.svm", "--learner", "logistic", "--reference", 7)
    assert_refused(*other, cwd=folder, code="unknown-label")


@pytest.mark.parametrize("solver", ["newton", "gradient_ascent"])
def test_solvers_and_their_options(folder, solver):
    fit = ("fit", "t.svm", "--learner", "logistic", "--solver", solver, "--scale", "standard")
    assert_refused(*fit, cwd=folder, code="conflict")
    fit = ("fit", "t.csv", "--target", "ill", "--learner", "logistic", "--solver", solver)
    options = ("--scale", "standard", "--exclude", "place", "--class-weight", "balanced",
               "--max-iter", 5000)  # fmt: skip
    shown = printed(*fit, *options, "--json", cwd=folder)
    estimate = json.loads(shown)["summary"]["coefficients"][1]["estimate"]
    X = np.column_stack([AGES, PRESSURE.round(1)])
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = linsep.LogisticRegression(class_weight="balanced").fit(X, ILL)
    assert estimate == pytest.approx(model.coef_[0, 0], rel=1e-5)


def test_separation_is_said_beside_the_table(folder):
    rows = "".join(f"{int(k > 9)} 1:{k} 2:{k * k % 7}\n" for k in range(20))
    (folder / "s.svm").write_text(rows)
    fit = ("fit", "s.svm", "--learner", "logistic")
    done = here(*fit, "--model", "m", cwd=folder)
    assert done.returncode == 0
    assert "linsep: warning: The data are separable" in done.stderr
    assert "log-odds of" not in done.stdout  # its numbers would only be where the fit ended
    assert "  +inf\n" in done.stdout
    model = linsep.load(folder / "m")
    X = np.array([[k, k * k % 7] for k in range(20)], dtype=float)
    assert model.separation_.verify(X, (np.arange(20) > 9).astype(int))
    assert_refused(*fit, "--on-separation", "raise", cwd=folder, code="separated")
    shown = printed(*fit, "--penalty", "firth", "--model", "f", cwd=folder)
    assert "P>chi2" in shown  # of profiles
    shown = printed(*fit, "--penalty", "firth", "--intervals", "wald", "--level", "0.9", cwd=folder)
    assert ("90% high" in shown, "profile" in shown) == (True, False)
    firth = (*fit, "--penalty", "firth", "--l2", "1")
    assert_refused(*firth, cwd=folder, code="conflict", exit_code=2)


def test_what_does_not_go_together_is_refused(folder):
    for words, code, exit_code in (
        (("--learner", "linear", "--target", "place"), "not-a-number", 1),
        (("--learner", "logistic", "--target", "pressure"), "label-type", 1),
        (("--learner", "linear", "--target", "age", "--class-weight", "balanced"), None, 2),
        (("--learner", "naive-bayes", "--target", "ill", "--reference", "no"), None, 2),
        (("--learner", "logistic", "--target", "ill", "--l2", -1), None, 2),
    ):
        fit = ("fit", "t.csv", "--model", "m", *words)
        assert_refused(*fit, cwd=folder, code=code, exit_code=exit_code)


def test_what_a_model_does_not_know_is_refused(folder):
    numbers = ("--exclude", "place", "--model")
    printed("fit", "t.csv", "--target", "ill", *numbers, "p", cwd=folder)
    printed(*LINEAR, *numbers, "l", cwd=folder)
    for words in (
        ("summary", "p"),
        ("predict", "p", "t.csv", "--probabilities"),
        ("predict", "p", "t.csv", "--interval", "confidence"),
        ("predict", "l", "t.csv", "--scores"),
    ):
        assert_refused(*words, cwd=folder, code="unsupported")


def test_residuals_and_assumptions_of_the_rows_of_a_fit(folder):
    printed(*LINEAR, "--exclude", "place", "--model", "m", cwd=folder)
    model = linsep.LinearRegression().fit(AGES[:, None], PRESSURE)
    shown = printed("summary", "m", "t.csv", cwd=folder)
    found = linsep.load(folder / "m").diagnostics(folder / "t.csv")
    tests = model.assumptions(AGES[:, None], PRESSURE)
    assert shown.endswith(f"{tests}\n\n{found.collinearity}\n")
    told = json.loads(printed("summary", "m", "t.csv", "--json", cwd=folder))
    fitted = model.predict(AGES[:, None])
    assert [found["test"] for found in told["assumptions"]][:2] == ["RESET", "Breusch-Pagan"]
    rows = told["diagnostics"]["rows"]
    assert [row["fitted"] for row in rows] == pytest.approx(fitted, rel=1e-14)
    assert [row["dfbetas age"] for row in rows] == pytest.approx(found.dfbetas[:, 1])
    assert told["diagnostics"]["vif"] == {"age": pytest.approx(1.0)}


def test_diagnostics_of_the_rows_of_a_logistic_fit(folder):
    fit = ("fit", "t.csv", "--target", "ill", "--learner", "logistic", "--model")
    printed(*fit, "l", "--on-separation", "warn", cwd=folder)
    found = linsep.load(folder / "l").diagnostics(folder / "t.csv")
    assert printed("summary", "l", "t.csv", cwd=folder).endswith(f"\n{found}\n")
    told = json.loads(printed("summary", "l", "t.csv", "--json", cwd=folder))["diagnostics"]
    assert [row["deviance"] for row in told["rows"]] == pytest.approx(found.deviance)
    test = found.hosmer_lemeshow()
    assert told["hosmer_lemeshow"]["statistic"] == pytest.approx(test.statistic)
    assert told["hosmer_lemeshow"]["observed"] == test.columns["observed"]
    few = "".join((folder / "t.csv").read_text().splitlines(keepends=True)[:30])
    (folder / "part.csv").write_text(few)
    assert_refused("summary", "l", "part.csv", cwd=folder, code="other-rows")
