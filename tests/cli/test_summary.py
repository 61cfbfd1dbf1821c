"""The table of a fit: what is printed, and what programs get."""

import json
import math
from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

import linsep
from command_line import assert_refused, here, table
from linsep.inference.summary import Coefficient, Summary

pytestmark = pytest.mark.compiled

NAN = float("nan")
SUMMARY = Summary(
    "Linear regression",
    [("rows", 12345), ("R^2", 0.96103), ("F", 12.5), ("p of F", 0.00001)],
    [
        Coefficient("intercept", 1.10811, 0.3, 3.69369, 0.0345, 0.15, 2.06),
        Coefficient("x<1>", 1.16216, 0.135, 8.6, 0.0000332, 0.73, 1.59),
        Coefficient.without("x2", "dependent"),
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


def test_rich_and_html_say_the_same():
    console = Console(width=100, record=True, file=StringIO())
    console.print(SUMMARY)
    text = console.export_text()
    for row in SUMMARY.rows():
        assert all(cell in text for cell in row)
    html = SUMMARY._repr_html_()
    assert "x&lt;1&gt;" in html
    assert "&lt;0.001" in html
    assert "x2 is left out." in html


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
    for form, expected in (
        ("markdown", model.summary().to_markdown()), ("latex", model.summary().to_latex()),
    ):  # fmt: skip
        assert here("summary", "m", "--table", form, cwd=tmp_path).stdout == expected + "\n"
    for words, said, code in (
        (("t.csv", "--table", "latex"), "--table does not depend on data: leave out DATA", 2),
        (("--table", "latex", "--json"), "cannot be combined", 2),
        (("--table", "word"), "markdown", 2),
    ):
        assert_refused("summary", "m", *words, cwd=tmp_path, said=said, exit_code=code)


@pytest.mark.uncompiled
def test_the_level_of_intervals_and_the_count_of_rows(tmp_path):
    table(tmp_path, "t.csv", ["x", "y"], [(k, k * k % 7) for k in range(12)])
    fit = ["fit", "t.csv", "--target", "y", "--learner", "linear", "--model", "m"]
    assert here(*fit, cwd=tmp_path).returncode == 0
    ends = linsep.load(tmp_path / "m").confidence_intervals(0.9)
    assert "90% low" in here("summary", "m", "--level", "0.9", cwd=tmp_path).stdout
    told = json.loads(here("summary", "m", "--level", "0.9", "--json", cwd=tmp_path).stdout)
    assert told["level"] == 0.9
    assert [[one["low"], one["high"]] for one in told["coefficients"]] == ends.tolist()
    paper = here("summary", "m", "--level", "0.9", "--table", "latex", cwd=tmp_path).stdout
    assert r"90\% CI" in paper
    said = r"--level.* 1 is not in the range|--level"
    assert_refused("summary", "m", "--level", "1", cwd=tmp_path, said=said, exit_code=2)
    rows = here("summary", "m", "t.csv", cwd=tmp_path).stdout
    assert "Residuals; rows are counted from 0." in rows
    assert "\nRows are counted from 0.\n" in rows


@pytest.mark.uncompiled
def test_profile_intervals_of_another_level_are_refused(tmp_path):
    table(tmp_path, "t.csv", ["x", "y"], [(k, k * k % 7 > 2) for k in range(12)])
    fit = ["fit", "t.csv", "--target", "y", "--learner", "logistic", "--penalty", "firth"]
    assert here(*fit, "--model", "m", cwd=tmp_path).returncode == 0
    assert_refused("summary", "m", "--level", "0.9", cwd=tmp_path, code="bad-option", exit_code=2)
    assert_refused(
        "plot", "assumptions", "m", "t.csv", "--output", "a.svg", cwd=tmp_path, code="unsupported"
    )
