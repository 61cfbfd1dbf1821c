"""The table of a fit: what is printed, and what programs get."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import linsep
from command_line import assert_refused, assert_they_run, here, table
from linsep.inference.table import Coefficient, Summary
from linsep.plot import CoefficientDisplay

pytestmark = pytest.mark.compiled

NAN = float("nan")
SUMMARY = Summary(
    "Linear regression",
    [("rows", 12345), ("R^2", 0.96103), ("F", 12.5), ("p of F", 0.00001)],
    [
        Coefficient("intercept", 1.10811, 0.3, 3.69369, 0.0345, 0.15, 2.06),
        Coefficient("x<1>", 1.16216, 0.135, 8.6, 0.0000332, 0.73, 1.59),
        Coefficient("x2", status="dependent"),
        Coefficient("x3", 1.0, 0.0, NAN, NAN, 1.0, 1.0),
    ],
    "t",
    notes=["x2 is left out."],
)


def test_text_is_aligned_and_p_values_are_not_zero():
    assert str(SUMMARY) == (
        "Linear regression\n"
        "rows   12,345    F         12.5\n"
        "R^2   0.96103    p of F  <0.001\n"
        "\n"
        "            estimate  std. error      t   P>|t|  95% low  95% high\n"
        "intercept    1.10811         0.3  3.694   0.035     0.15      2.06\n"
        "x<1>         1.16216       0.135  8.600  <0.001     0.73      1.59\n"
        "x2         dependent\n"
        "x3                 1           0      -       -        1         1\n"
        "\n"
        "x2 is left out."
    )


def test_columns_without_a_value_are_left_out():
    rows = [Coefficient("a", 1.5), Coefficient("b", 2.0, p_value=0.5)]
    some = replace(SUMMARY, coefficients=rows)
    shown = " ".join(str(some).split("\n\n")[1].split())
    assert shown == "estimate P>|t| a 1.5 - b 2 0.500"
    assert some.to_markdown().splitlines()[0].split() == ["|", "|", "estimate", "|", "p", "|"]
    assert some.to_dict()["coefficients"][0]["standard_error"] is None


def test_programs_get_all_digits_and_no_nan():
    told = json.loads(json.dumps(SUMMARY.to_dict(), allow_nan=False))
    assert told["header"]["p of F"] == 0.00001
    assert told["coefficients"][1]["p_value"] == 0.0000332
    assert told["coefficients"][2]["status"] == "dependent"
    assert told["coefficients"][3]["statistic"] is None
    assert math.isclose(told["level"], 0.95)


def test_tables_for_a_paper():
    shown = replace(
        SUMMARY,
        coefficients=[
            *SUMMARY.coefficients, Coefficient("a_b|c", 1234567.0, 1.0, 1.0, 0.25, -2.5e-7, 0.0),
            Coefficient("far", NAN, NAN, NAN, 0.0214, -math.inf, 1.5, "-inf"),
        ],
    )  # fmt: skip
    assert shown.to_markdown() == (
        "|           |  estimate |         95% CI |      p |\n"
        "| --------- | --------: | -------------: | -----: |\n"
        "| intercept |      1.11 |  0.150 to 2.06 |  0.035 |\n"
        "| x<1>      |      1.16 |  0.730 to 1.59 | <0.001 |\n"
        "| x2        | dependent |                |        |\n"
        "| x3        |      1.00 |   1.00 to 1.00 |        |\n"
        "| a_b\\|c    |   1234567 | -2.50e-07 to 0 |  0.250 |\n"
        "| far       |      -inf |   -inf to 1.50 |  0.021 |"
    )
    latex = shown.to_latex(2).splitlines()
    assert latex[:3] == [
        r"\begin{tabular}{lrrr}", r"\toprule", r" & estimate & 95\% CI & p \\",
    ]  # fmt: skip
    assert r"x\textless{}1\textgreater{} & $1.2$ & $0.73$ to $1.6$ & \textless{}0.001 \\" in latex
    assert r"a\_b|c & $1234567$ & $-2.5e-07$ to $0$ & $0.250$ \\" in latex
    assert r"far & $-\infty$ & $-\infty$ to $1.5$ & $0.021$ \\" in latex
    assert latex[-1] == r"\end{tabular}"


@pytest.mark.uncompiled
def test_the_command_prints_tables_for_a_paper(tmp_path):
    table(tmp_path, "t.csv", ["x", "y"], [(k, k * k % 7) for k in range(12)])
    fit = ["fit", "t.csv", "--target", "y", "--learner", "linear", "--model", "m"]
    assert here(*fit, cwd=tmp_path).returncode == 0
    model = linsep.load(tmp_path / "m")
    shown = here("summary", "m", "--table", "markdown", cwd=tmp_path).stdout
    assert shown == model.summary().to_markdown() + "\n"
    for words in (("t.csv", "--table", "latex"), ("--table", "latex", "--json"), ("--level", "1")):
        assert_refused("summary", "m", *words, cwd=tmp_path, exit_code=2)
    ends = model.confidence_intervals(0.9)
    told = json.loads(here("summary", "m", "--level", "0.9", "--json", cwd=tmp_path).stdout)
    assert told["level"] == 0.9
    assert [[one["low"], one["high"]] for one in told["coefficients"]] == ends.tolist()
    paper = here("summary", "m", "--level", "0.9", "--table", "latex", cwd=tmp_path).stdout
    assert r"90\% CI" in paper


@pytest.mark.uncompiled
def test_profile_intervals_of_another_level_are_refused(tmp_path):
    table(tmp_path, "t.csv", ["x", "y"], [(k, k * k % 7 > 2) for k in range(12)])
    fit = ["fit", "t.csv", "--target", "y", "--learner", "logistic", "--penalty", "firth"]
    assert here(*fit, "--model", "m", cwd=tmp_path).returncode == 0
    assert_refused("summary", "m", "--level", "0.9", cwd=tmp_path, code="bad-option", exit_code=2)
    assert_refused(
        "plot", "assumptions", "m", "t.csv", "--output", "a.svg", cwd=tmp_path, code="unsupported"
    )


# How sure a learner is of its weights: in ``inspect``, in ``audit`` and in a picture.


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sure")
    rows = "a,b,c,kind\n1,1,0,x\n3,2,0,y\n2,4,0,z\n3,4,1,y\n2,3,0,x\n"
    (folder / "several.csv").write_text(rows)
    (folder / "two.csv").write_text(rows.replace(",z\n", ",y\n"))
    (folder / "words.csv").write_text(
        "kind,said\nham,see you\nspam,win a prize now\nham,see me now\n"
    )
    arow = ("--learner", "arow", "--scale", "none")
    for name, words in {
        "several": ("several.csv", *arow),
        "two": ("two.csv", *arow, "--exclude", "c", "--max-iter", "1"),
        "words": ("words.csv", *arow, "--text", "said"),
        "p": ("several.csv", "--learner", "perceptron"),
    }.items():
        how = ("--target", "kind", "--model", f"{name}.linsep")
        done = here("fit", *words, *how, cwd=folder)
        assert done.returncode == 0, done.stderr
    return folder


def printed(folder, *words):
    done = here(*words, cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.uncompiled
def test_inspect_shows_standard_deviations(folder):
    model = linsep.load(folder / "two.linsep")
    lines = printed(folder, "inspect", "two.linsep").splitlines()
    (own,) = np.sqrt(model.variances_)
    order = np.argsort(-np.abs(model.coef_[0]), kind="stable")
    shown = [line.split() for line in lines[-2:]]
    assert [row[0] for row in shown] == [["a", "b"][j] for j in order]
    assert [float(row[2]) for row in shown] == pytest.approx(own[order].tolist(), rel=1e-5)
    (found,) = json.loads(printed(folder, "inspect", "two.linsep", "--json"))["weights"]
    assert found["standard_deviations"] == own[order].tolist()
    assert found["intercept_standard_deviation"] == np.sqrt(model.intercept_variances_[0])


@pytest.mark.uncompiled
@pytest.mark.parametrize("name", ["two", "words"])
def test_audit_has_a_column_for_them(folder, name):
    words = ("audit", f"{name}.linsep", f"{name}.csv", "--row", "2")
    assert "std. dev." in printed(folder, *words)
    terms = json.loads(printed(folder, *words, "--json"))["terms"]
    assert all(0 < term["standard_deviation"] <= 1 for term in terms)
    assert "std. dev." not in printed(folder, "audit", "p.linsep", "several.csv")


@pytest.mark.uncompiled
@pytest.mark.parametrize("name", ["two", "words"])
def test_the_picture_has_a_bar_for_every_weight(folder, name):
    model = linsep.load(folder / f"{name}.linsep")
    top = 4
    display = CoefficientDisplay.from_estimator(model, top=top)
    assert len(display.names) == min(top, model.coef_.size)
    assert np.all(np.abs(display.estimates[:-1]) >= np.abs(display.estimates[1:]))
    spread = (display.high - display.low) / 2
    for shown, weight, own in zip(display.names, display.estimates, spread, strict=True):
        machine, _, feature = shown.rpartition(": ")
        k = model.classes_.tolist().index(machine) if machine else 0
        j = np.argmin(np.abs(np.abs(model.coef_[k]) - abs(weight)))
        expected = model.coef_[k][j], model.variances_[k][j]
        assert name == "words" or feature == "abc"[j]
        assert (abs(weight), own) == pytest.approx((abs(expected[0]), np.sqrt(expected[1])))
    assert display.ax_.get_xlabel() == "weight ± one standard deviation"


@pytest.mark.uncompiled
def test_the_command_draws_it_without_odds(folder):
    odds = ("plot", "coefficients", "two.linsep", "--odds", "-o", "odds.svg")
    assert_refused(*odds, cwd=folder, code="unsupported")


def test_columns_that_are_not_scaled_have_no_line(tmp_path):
    table(tmp_path, "t.csv", ["x", "y"], [[k * k % 7, "ab"[k % 2]] for k in range(12)])
    fit = "fit t.csv --target y --learner naive-bayes --model m"
    assert_they_run([fit, "summary m"], tmp_path)
