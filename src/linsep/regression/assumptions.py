"""Results of the tests of the assumptions of a linear regression: their table and their picture."""

from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

import numpy as np

from linsep.drawing import display
from linsep.regression.summary import number_text, p_text


class Finding(NamedTuple):
    """Result of one test of one assumption.

    Attributes
    ----------
    assumption : "linearity", "equal variance", "normality", "independence" or "influence"
    test : str, its name
    statistic : float, NaN if not defined
    p_value : float, NaN if there is none
    conclusion : str, what the numbers mean
    source : str, the paper
    """

    assumption: str
    test: str
    statistic: float
    p_value: float
    conclusion: str
    source: str


@dataclass(frozen=True)
class Assumptions:
    """Results of all tests, and residuals, leverages and influences; ``print`` it.

    Attributes
    ----------
    findings : list of Finding
    residuals : array of shape (rows,)
        Of rows of positive weight, multiplied by the square roots of the weights.
    fitted : array of shape (rows,), their predictions
    leverage : array of shape (rows,), between 0 and 1
    standardized : array of shape (rows,)
        Residuals divided by their estimated standard deviation, which falls with the leverage
        (internally studentized). NaN if the leverage is 1.
    studentized : array of shape (rows,)
        Residuals divided by their standard deviation as estimated from the other rows (externally
        studentized); they follow Student's t with n - p - 1 degrees of freedom. NaN if the fit
        without the row is perfect, or the leverage is 1.
    cooks_distance : array of shape (rows,)
        Distance that the estimates move when the row is left out (Cook, Technometrics 19, 1977,
        15-18). NaN if the leverage is 1: without the row, an estimate is undetermined.
    numbers : array of shape (rows,)
        The place of each row in those given, from 0. With frequency weights a row is there as often
        as it counts.
    """

    findings: list[Finding]
    residuals: np.ndarray
    fitted: np.ndarray
    leverage: np.ndarray
    standardized: np.ndarray
    studentized: np.ndarray
    cooks_distance: np.ndarray
    numbers: np.ndarray

    def __getitem__(self, test: str) -> Finding:
        """Return the finding of the test with this name."""
        for finding in self.findings:
            if finding.test == test:
                return finding
        known = ", ".join(repr(finding.test) for finding in self.findings)
        raise KeyError(f"There is no test {test!r}; there are {known}.")

    def plot(self, **kwargs: Any) -> Any:
        """Draw a panel for each assumption.

        Parameters
        ----------
        **kwargs : passed to :meth:`linsep.plot.AssumptionsDisplay.from_assumptions`

        Returns
        -------
        linsep.plot.AssumptionsDisplay
        """
        return display("AssumptionsDisplay").from_assumptions(self, **kwargs)

    def rows(self) -> list[list[str]]:
        """Return the cells of the table, its header first."""
        cells = [["assumption", "test", "statistic", "p", "what it says"]]
        for found in self.findings:
            numbers = [number_text(found.statistic), p_text(found.p_value)]
            cells.append([found.assumption, found.test, *numbers, found.conclusion])
        cells.append(
            [
                "existence",
                "-",
                "-",
                "-",
                "that y has a mean and a variance for every x: no data can test it",
            ]
        )
        return cells

    def __str__(self) -> str:
        table = self.rows()
        widths = [max(len(row[k]) for row in table) for k in range(4)]
        lines = []
        for row in table:
            first = f"{row[0]:<{widths[0]}}  {row[1]:<{widths[1]}}"
            numbers = f"{row[2]:>{widths[2]}}  {row[3]:>{widths[3]}}"
            lines.append(f"{first}  {numbers}  {row[4]}")
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head, *body = self.rows()
        first = "".join(f"<th>{escape(cell)}</th>" for cell in head)
        rest = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in body
        )
        return f"<table><tr>{first}</tr>{rest}</table>"
