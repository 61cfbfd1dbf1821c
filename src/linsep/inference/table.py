"""Tables of regressions and tests, in text, notebooks, Markdown, LaTeX, JSON and data frames."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import zip_longest
from math import isfinite, isnan, nan
from typing import Any, NamedTuple

import numpy as np

from linsep.drawing import beside, display
from linsep.layout import elided, pair_lines, room, table_lines, table_width, wrapped
from linsep.words import escaped

#: status of the coefficient of minus a feature
OPPOSITE = {"+inf": "-inf", "-inf": "+inf"}
ODDS_RATIO = "odds ratio"
#: estimates that are infinite, or 0, by what a table shows in their place
DIVERGING = {"+inf": np.inf, "-inf": -np.inf, "inf": np.inf, "0": 0.0}
#: headings of columns of tests whose names are longer
HEADINGS = {
    "standard_error": "std. error", "p_value": "p", "adjusted_p_value": "adjusted p",
    "df_residual": "residual df", "log_likelihood": "log-likelihood", "aic": "AIC", "bic": "BIC",
    "cooks_distance": "Cook's", "rss": "residual SS", "sum_of_squares": "sum of squares", "f": "F",
    "penalized_log_likelihood": "penalized log-likelihood",
}  # fmt: skip
#: what LaTeX reads as commands
_SPECIAL = str.maketrans({c: f"\\{c}" for c in "&%$#_{}"} | {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}",
})  # fmt: skip

Facts = list[tuple[str, str | int | float]]


class Printed:
    """What has a title, header, columns and notes as :class:`Table`: ``print`` it."""

    def _cells(self: Any, digits: int = 6) -> list[list[str]]:
        headings = [HEADINGS.get(name, name.replace("_", " ")) for name in self.columns]
        columns = [[cell_text(name, x, digits) for x in of] for name, of in self.columns.items()]
        if all(isinstance(cell, str) for cell in next(iter(self.columns.values()))):
            headings[0] = ""
        return [headings, *map(list, zip(*columns, strict=True))]

    def _published(self, digits: int) -> tuple[list[list[str]], list[str]]:
        return self._cells(), []

    def _lines(self: Any) -> list[str]:
        return table_lines(self._cells(), least=[
            k for k, name in enumerate(self.columns) if name in ("log_likelihood", "df_residual")
        ])  # fmt: skip

    def _body(self: Any) -> dict[str, Any]:
        cells = zip(*self.columns.values(), strict=True)
        return {"rows": [dict(zip(self.columns, row, strict=True)) for row in cells]}

    def to_dict(self: Any) -> dict[str, Any]:
        """Return everything as plain JSON: numbers unrounded, None if not finite."""
        found = {"title": self.title, "header": dict(self.header), **self._body()}
        text = json.dumps(
            found | {"notes": self.notes},
            default=lambda value: value.item() if isinstance(value, np.generic) else str(value),
        )
        return json.loads(text, parse_constant=lambda constant: None)

    def tidy(self: Any) -> Any:
        """Return the ``columns`` as a data frame of pandas, or without it as an Arrow table."""
        return as_frame(self.columns)

    def details(self: Any) -> list[tuple[str, str]]:
        """Return the header as text."""
        return [(escaped(name), cell_text(name, value)) for name, value in self.header]

    def __str__(self: Any) -> str:
        pairs, lines = self.details(), wrapped(escaped(self.title))
        if pairs:
            half = (len(pairs) + 1) // 2
            both = zip_longest(pairs[:half], pairs[half:], fillvalue=("", ""))
            rows = [(*left, f"  {name}", value) for left, (name, value) in both]
            if table_width(rows) > room():
                lines += pair_lines(pairs, room())
            else:
                lines += table_lines(rows, [False, True] * 2)
            lines.append("")
        notes = [line for note in self.notes for line in wrapped(escaped(note))]
        return "\n".join([*lines, *self._lines(), *[""] * bool(notes), *notes])

    __repr__ = __str__

    def _repr_html_(self: Any) -> str:
        def line(cells: Sequence[str], kind: str = "td") -> str:
            name, *rest = map(escape, cells)
            more = "".join(f"<{kind}>{cell}</{kind}>" for cell in rest)
            return f"<tr><th style='text-align:left'>{name}</th>{more}</tr>"

        head, *rows = self._cells()
        details, body = "".join(map(line, self.details())), "".join(map(line, rows))
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return (
            f"<table><caption>{escape(self.title)}</caption>{details}</table>"
            f"<table>{line(head, 'th')}{body}</table>{notes}"
        )

    def to_markdown(self, digits: int = 3) -> str:
        """Return the table in Markdown, to ``digits`` significant digits."""
        cells, notes = self._published(digits)
        cells = [[cell.replace("|", "\\|") for cell in row] for row in cells]
        first, *widths = (max(3, *map(len, column)) for column in zip(*cells, strict=True))
        rule = ["-" * first, *("-" * (width - 1) + ":" for width in widths)]
        lines = [
            f"| {name:<{first}} | {' | '.join(map(str.rjust, row, widths))} |"
            for name, *row in (cells[0], rule, *cells[1:])
        ]
        return "\n".join([*lines, *(f"\n{escaped(note)}" for note in notes)])

    def to_latex(self, digits: int = 3) -> str:
        """Return the same as a LaTeX tabular, which needs the booktabs package."""
        cells, notes = self._published(digits)
        head, *rows = (rf"{' & '.join(map(_in_latex, row))} \\" for row in cells)
        begin = rf"\begin{{tabular}}{{l{'r' * (len(cells[0]) - 1)}}}"
        end = [r"\bottomrule", r"\end{tabular}", *map(_in_latex, notes)]
        return "\n".join([begin, r"\toprule", head, r"\midrule", *rows, *end])


@dataclass(frozen=True, repr=False)
class Table(Printed):
    """A table of tests: ``print`` it, or call :meth:`to_dict` or :meth:`tidy`.

    Attributes
    ----------
    title : str
    header : list of (str, str, int or float), statistics of the whole table
    columns : dict of str to list of text, int, float (NaN if undefined) or None; names first
    notes : list of str, sentences below the table
    statistic, p_value, df : float and int, of the test of all rows together; NaN and 0 without one
    """

    title: str
    header: Facts
    columns: dict[str, list[Any]]
    notes: list[str] = field(default_factory=list)
    statistic: float = nan
    p_value: float = nan
    df: int = 0


class Coefficient(NamedTuple):
    """One row of the table; undefined numbers are NaN, ``low`` and ``high`` ends of the interval.

    ``status`` is shown instead of the estimate, such as ``dependent`` or ``+inf``; ``limit``: an
    effect of coefficients that diverge, without a standard error.
    """

    name: str
    estimate: float = nan
    standard_error: float = nan
    statistic: float = nan
    p_value: float = nan
    low: float = nan
    high: float = nan
    status: str = ""

    @np.errstate(over="ignore")
    def exponentiated(self) -> "Coefficient":
        """Return exp of the coefficient and its interval, with an error by the delta method."""
        ratio, low, high = np.exp([self.estimate, self.low, self.high]).tolist()
        return self._replace(
            estimate=ratio, standard_error=ratio * self.standard_error, low=low, high=high,
            status={"+inf": "inf", "-inf": "0"}.get(self.status, self.status),
        )  # fmt: skip


@dataclass(frozen=True, repr=False)
class Summary(Printed):
    """Summary of a fit: ``print`` it, or call :meth:`to_dict` or :meth:`tidy`.

    Attributes
    ----------
    title, header, notes : as those of :class:`Table`
    coefficients : list of Coefficient
    statistic : "t", "z" or "chi2"
    level : float between 0 and 1, of the intervals
    heading : str, of the estimates, such as "odds ratio"
    equations : list of str, the classes or targets, with as many rows each; empty for one equation
    equation : "class" or "target"
    standardized : list of str, features that the fit standardized, which the first note says
    """

    title: str
    header: Facts
    coefficients: list[Coefficient]
    statistic: str
    level: float = 0.95
    notes: list[str] = field(default_factory=list)
    heading: str = "estimate"
    equations: list[str] = field(default_factory=list)
    equation: str = "class"
    standardized: Sequence[str] = ()

    def largest(self, most: int) -> list[Coefficient]:
        """Return the coefficients with the largest statistics, or estimates, in the order of the
        table, diverging ones before others, without dependent ones.
        """
        rows = [row for row in self.coefficients if row.status != "dependent"]
        sizes = [(abs(row.estimate), abs(row.statistic), bool(row.status)) for row in rows]
        order = np.lexsort(-np.nan_to_num(np.reshape(sizes, (-1, 3)), nan=-1.0).T)
        return [rows[k] for k in np.sort(order[:most])]

    @property
    def columns(self) -> dict[str, list[Any]]:
        """``class`` or ``target`` of several, ``term``, and what :class:`Coefficient` has, with
        infinite estimates; the status of a finite one is "finite".
        """
        rows = [
            row._replace(estimate=DIVERGING.get(row.status, row.estimate),
                         status=row.status or "finite")
            for row in self.coefficients
        ]  # fmt: skip
        owners, terms = dict[str, list[Any]](), [row.name for row in rows]
        if self.equations:
            of = np.repeat(self.equations, len(rows) // len(self.equations)).tolist()
            terms = [term.removeprefix(f"{one}: ") for one, term in zip(of, terms, strict=True)]
            owners = {self.equation: of}
        values = {name: [getattr(row, name) for row in rows] for name in Coefficient._fields[1:]}
        return owners | {"term": terms} | values

    def _cells(self, digits: int = 6) -> list[list[str]]:
        letter, percent = self.statistic, f"{100 * self.level:.6g}%"
        p = "P>chi2" if letter == "chi2" else f"P>|{letter}|"
        cells = [["", self.heading, "std. error", letter, p, f"{percent} low", f"{percent} high"]]
        kinds = "estimate", "error", "t", "p_value", "low", "high"
        for name, *numbers, status in self.coefficients:
            first, *rest = (
                "" if status and isnan(x) else cell_text(kind, x, digits)
                for kind, x in zip(kinds, numbers, strict=True)
            )
            cells.append([escaped(name), first or status, *rest])
        return _without_empty_columns(cells)

    def _published(self, digits: int) -> tuple[list[list[str]], list[str]]:
        cells = [["", self.heading, f"{100 * self.level:.6g}% CI", "p"]]
        for row in self.coefficients:
            estimate, *ends = (_rounded(x, digits) for x in (row.estimate, row.low, row.high))
            numbers = [" to ".join(ends) * any(ends), p_text(row.p_value).removesuffix("-")]
            cells.append([escaped(row.name), estimate or row.status, *numbers])
        return _without_empty_columns(cells), self.notes[: bool(self.standardized)]

    def _lines(self) -> list[str]:
        for digits in (6, 5, 4):  # fewer where names of 20 letters would not fit
            table = self._cells(digits)
            if table_width([elided(name, 20), *cells] for name, *cells in table) <= room():
                break
        return table_lines(table, least=(3, 2) if len(table[0]) == 7 else ())

    def _repr_html_(self) -> str:
        return beside(super()._repr_html_(), self.plot if len(self.coefficients) <= 30 else None)

    def plot(self, **kwargs: Any) -> Any:
        """Plot it by :meth:`linsep.plot.CoefficientDisplay.from_summary` with the arguments."""
        return display("CoefficientDisplay").from_summary(self, **kwargs)

    def _body(self) -> dict[str, Any]:
        rows = [row._asdict() for row in self.coefficients]
        return {"statistic": self.statistic, "level": self.level, "coefficients": rows}


def _without_empty_columns(cells: list[list[str]]) -> list[list[str]]:
    values = [set(column) - {"", "-"} for column in zip(*cells[1:], strict=True)]
    return [[cell for k, cell in enumerate(row) if k < 2 or values[k]] for row in cells]


def as_frame(columns: dict[str, list[Any]]) -> Any:
    """Return columns as a data frame of pandas, or as an Arrow table where it is not installed."""
    try:
        import pandas as pd
    except ImportError:
        import pyarrow as pa

        return pa.table(columns)
    return pd.DataFrame(columns)


def p_text(p: float) -> str:
    """Format a p-value: three decimals, ``<0.001`` for smaller ones, a dash for NaN."""
    return "-" if not isfinite(p) else "<0.001" if p < 0.001 else f"{p:.3f}"


def number_text(value: float, digits: int = 6) -> str:
    """Format a number with six digits, zero without a sign; a dash for NaN."""
    return "-" if isnan(value) else f"{value + 0.0:.{digits}g}"


def cell_text(name: str, value: Any, digits: int = 6) -> str:
    """Format a cell of a column, or a statistic, of this name; None is empty."""
    if value is None or isinstance(value, str):
        return escaped(value or "")
    if not isinstance(value, float):
        return f"{value:,}"
    if name.startswith("p ") or "p_value" in name:
        return p_text(value)
    fixed = name in ("t", "z") and abs(value) < 1e6
    return f"{value:z.3f}" if fixed else number_text(value, digits)


def _rounded(value: float, digits: int) -> str:
    if not isfinite(value) or value == 0:
        return number_text(value).removesuffix("-")
    text = f"{value:#.{digits}g}"
    if "e" in text and 1e-4 <= abs(value) < 1e9:
        text = f"{value:.0f}"
    return text.removesuffix(".")


def _in_latex(text: str) -> str:
    number = r"([-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|inf))"
    if re.fullmatch(f"{number}( to {number})?", text):
        return re.sub(number, r"$\1$", text).replace("inf", r"\infty")
    return text.translate(_SPECIAL)
