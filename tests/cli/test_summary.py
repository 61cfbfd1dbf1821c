"""The table of a fit: what is printed, and what programs get."""

import json
import math
from io import StringIO

import pytest
from rich.console import Console

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
