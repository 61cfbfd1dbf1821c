"""Regression tables for publications: estimate, interval and p-value, to a few digits, in Markdown
and LaTeX.
"""

import re
from math import isfinite, isnan
from typing import Any

from linsep.inference.summary import units_of
from linsep.words import escaped

#: what LaTeX reads as commands
_SPECIAL = {c: f"\\{c}" for c in "&%$#_{}"} | {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}",
}  # fmt: skip


#: a number of the table, or an estimate that diverges
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*(e[-+]?\d+)?|inf)")
_INFINITE = r"\infty"


def markdown(table: Any, digits: int) -> str:
    """Return the table in Markdown, with columns of equal width."""
    cells = [[cell.replace("|", "\\|") for cell in row] for row in _cells(table, digits)]
    widths = [max(3, *(len(row[k]) for row in cells)) for k in range(4)]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    lines = [
        f"| {row[0]:<{widths[0]}} | "
        + " | ".join(f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True))
        + " |"
        for row in (cells[0], rule, *cells[1:])
    ]
    return "\n".join(lines + [f"\n{note}" for note in map(escaped, units_of(table))])


def latex(table: Any, digits: int) -> str:
    """Return the table as a LaTeX tabular with the rules of the booktabs package."""
    head, *rows = [[_in_latex(cell) for cell in row] for row in _cells(table, digits)]
    lines = [rf"{' & '.join(row)} \\" for row in rows]
    return "\n".join(
        [
            r"\begin{tabular}{lrrr}", r"\toprule", rf"{' & '.join(head)} \\", r"\midrule", *lines,
            r"\bottomrule", r"\end{tabular}", *map(_in_latex, units_of(table)),
        ]
    )  # fmt: skip


def _cells(table: Any, digits: int) -> list[list[str]]:
    head = ["", table.heading, f"{100 * table.level:.6g}% CI", "p"]
    return [head, *(_row(row, digits) for row in table.coefficients)]


def _row(row: Any, digits: int) -> list[str]:
    known = not (isnan(row.low) and isnan(row.high))
    ends = f"{_rounded(row.low, digits)} to {_rounded(row.high, digits)}" if known else ""
    p = row.p_value
    p_value = "" if isnan(p) else "<0.001" if p < 0.001 else f"{p:.3f}"
    return [escaped(row.name), _rounded(row.estimate, digits) or row.status, ends, p_value]


def _rounded(value: float, digits: int) -> str:
    """Format a number with significant digits, without an exponent where that is short."""
    if not isfinite(value) or value == 0:
        return "" if isnan(value) else f"{value + 0.0:g}"
    text = f"{value + 0.0:#.{digits}g}"
    if "e" in text and 1e-4 <= abs(value) < 1e9:
        text = f"{value:.0f}"
    return text.removesuffix(".")


def _in_latex(text: str) -> str:
    parts = text.split(" to ")
    if all(_NUMBER.fullmatch(part) for part in parts):
        return " to ".join(f"${part.replace('inf', _INFINITE)}$" for part in parts)
    return "".join(_SPECIAL.get(c, c) for c in text)
