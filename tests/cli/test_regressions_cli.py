"""Regressions on the command line: the table, intervals, probabilities, and what is refused."""

import json
import re

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
    assert shown.startswith("Linear regression of pressure\n")
    assert re.search(rf"\nage  +{model.coef_[0]:.6g} ", shown)
    r2 = model.score(AGES[:, None], PRESSURE)
    assert f"R^2 {r2:.6g}, rms error " in shown
    assert " LinearRegression, 60 rows, 1 feature\n" in shown
    table = printed("summary", "m", cwd=folder)
    assert shown.startswith(table.partition("\n\nequation")[0])
    told = json.loads(printed("summary", "m", "--json", cwd=folder))
    equation = str(saved.equation_)
    assert table.endswith(f"{equation}\n")
    assert equation == f"pressure = {model.intercept_:.4g} + {model.coef_[0]:.4g} age"
    assert told == saved.summary().to_dict() | {"equation": equation}
    scored = json.loads(printed("score", "m", "t.csv", "--json", cwd=folder))
    assert scored["r_squared"] == pytest.approx(r2, abs=1e-12)
    errors = np.abs(model.predict(AGES[:, None]) - PRESSURE)
    assert scored["mean_absolute_error"] == pytest.approx(errors.mean())
    assert scored["largest_error"] == pytest.approx(errors.max())
    assert f"R^2       {r2:.6g} of 60 rows" in printed("score", "m", "t.csv", cwd=folder)
    assert re.search("weights +pressure: 1 nonzero", printed("inspect", "m", cwd=folder))


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


def test_a_text_column_beside_an_intercept_is_dependent_and_said(folder):
    done = here(*LINEAR, "--reference-level", "none", cwd=folder)
    assert done.returncode == 0
    said = "place=[a-z]+ is a linear combination of .* and the intercept: it is dropped"
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("linsep: warning: ")
    assert re.search(said, done.stderr)
    assert "  dependent\n" in done.stdout


def test_logistic_regression_from_a_table(folder):
    fit = ("fit", "t.csv", "--target", "ill", "--learner", "logistic", "--exclude", "place")
    shown = printed(*fit, "--model", "m", "--test", "new.csv", cwd=folder)
    X = np.column_stack([AGES, PRESSURE.round(1)])
    model = linsep.LogisticRegression().fit(X, ILL)
    saved = linsep.load(folder / "m")
    np.testing.assert_allclose(saved.coef_, model.coef_, rtol=1e-9)
    assert shown.startswith("Logistic regression of yes against no\n")
    assert "% of 60 rows right; baseline " in shown
    assert f"\ntraining  {100 * model.score(X, ILL):.2f}% right; baseline " in shown
    assert "\nlearned   LogisticRegression, 2 classes (no, yes), " in shown
    assert printed("summary", "m", cwd=folder).partition("\n\nequation")[0] in shown
    lines = printed("predict", "m", "t.csv", "--probabilities", cwd=folder).splitlines()
    assert [line.split("\t")[0] for line in lines] == model.predict(X).tolist()
    told = np.array([line.split("\t")[1:] for line in lines], dtype=float)
    np.testing.assert_allclose(told, model.predict_proba(X), rtol=1e-9)
    lines = printed("predict", "m", "t.csv", "--scores", cwd=folder).splitlines()
    scores = [float(line.split("\t")[1]) for line in lines]
    np.testing.assert_allclose(scores, model.decision_function(X), rtol=1e-9)
    row = json.loads(
        printed("predict", "m", "t.csv", "--probabilities", "--json", cwd=folder).splitlines()[0]
    )
    assert row["probabilities"] == pytest.approx(told[0].tolist())
    accuracy = json.loads(printed("score", "m", "t.csv", "--json", cwd=folder))["accuracy"]
    assert accuracy == model.score(X, ILL)


def test_of_several_classes_any_is_the_reference(folder):
    fit = ("fit", "t.svm", "--learner", "logistic", "--reference", 1, "--l2", 0.1, "--model", "m")
    shown = printed(*fit, cwd=folder)
    assert shown.startswith("Logistic regression of 0, 2 against 1\n")
    assert "\n2: x3  " in shown  # as the file counts them
    assert "\n0 against 1  intercept " in printed("inspect", "m", cwd=folder)
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


def test_a_rate_that_is_too_large_is_said(folder):
    fit = ("fit", "t.csv", "--target", "ill", "--learner", "logistic", "--exclude", "place")
    ascent = ("--solver", "gradient_ascent", "--learning-rate")
    done = here(*fit, *ascent, 10, cwd=folder)
    assert done.stderr.startswith("linsep: warning: Gradient ascent ended before the maximum")
    assert "lower it" in done.stderr


def test_separation_is_said_beside_the_table(folder):
    rows = "".join(f"{int(k > 9)} 1:{k} 2:{k * k % 7}\n" for k in range(20))
    (folder / "s.svm").write_text(rows)
    fit = ("fit", "s.svm", "--learner", "logistic")
    done = here(*fit, "--model", "m", cwd=folder)
    assert done.returncode == 0
    assert (
        "linsep: warning: The data are separable, so the likelihood has no maximum" in done.stderr
    )
    assert "The classes are separable: no coefficient has a finite estimate." in done.stdout
    assert "log-odds of" not in done.stdout  # its numbers would only be where the fit ended
    assert "  +inf\n" in done.stdout
    model = linsep.load(folder / "m")
    X = np.array([[k, k * k % 7] for k in range(20)], dtype=float)
    assert model.separation_.verify(X, (np.arange(20) > 9).astype(int))
    assert_refused(*fit, "--on-separation", "raise", cwd=folder, code="separated")


def test_firth_and_profiles_are_options(folder):
    rows = "".join(f"{int(k > 9)} 1:{k} 2:{k * k % 7}\n" for k in range(20))
    (folder / "s.svm").write_text(rows)
    fit = ("fit", "s.svm", "--learner", "logistic")
    shown = printed(*fit, "--penalty", "firth", "--model", "m", cwd=folder)
    assert "\nestimated by  " in shown
    assert "P>chi2" in shown
    assert printed("summary", "m", cwd=folder).partition("\n\nequation")[0] in shown
    shown = printed(*fit, "--penalty", "firth", "--intervals", "wald", "--level", "0.9", cwd=folder)
    assert "90% high" in shown
    assert "profile" not in shown
    assert_refused(
        *fit, "--penalty", "firth", "--l2", "1", cwd=folder, code="conflict", exit_code=2
    )


@pytest.mark.parametrize(
    ("words", "code", "exit_code"),
    [
        (("--learner", "linear", "--target", "place"), "not-a-number", 1),
        (("--learner", "logistic", "--target", "pressure"), "label-type", 1),
        (("--learner", "linear", "--target", "age", "--class-weight", "balanced"), None, 2),
        (("--learner", "naive-bayes", "--target", "ill", "--reference", "no"), None, 2),
        (("--learner", "logistic", "--target", "ill", "--l2", -1), None, 2),
    ],
)
def test_what_does_not_go_together_is_refused(folder, words, code, exit_code):
    words = ("fit", "t.csv", "--model", "m", *words)
    assert_refused(*words, cwd=folder, code=code, exit_code=exit_code)


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
    table = printed("summary", "m", cwd=folder)
    shown = printed("summary", "m", "t.csv", cwd=folder)
    assert shown.startswith(table)
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
    model = linsep.load(folder / "l")
    found = model.diagnostics(folder / "t.csv")
    table = printed("summary", "l", cwd=folder)
    shown = printed("summary", "l", "t.csv", cwd=folder)
    assert shown == f"{table}\n{found}\n"
    assert all(len(line) <= 80 for line in str(found).splitlines())
    told = json.loads(printed("summary", "l", "t.csv", "--json", cwd=folder))["diagnostics"]
    assert [row["deviance"] for row in told["rows"]] == pytest.approx(found.deviance)
    test = found.hosmer_lemeshow()
    assert told["hosmer_lemeshow"]["statistic"] == pytest.approx(test.statistic)
    assert told["hosmer_lemeshow"]["observed"] == test.columns["observed"]
    assert [one["index"] for one in told["condition_indices"]] == pytest.approx(
        found.condition_indices
    )
    few = "".join((folder / "t.csv").read_text().splitlines(keepends=True)[:30])
    (folder / "part.csv").write_text(few)
    assert_refused("summary", "l", "part.csv", cwd=folder, code="other-rows")
