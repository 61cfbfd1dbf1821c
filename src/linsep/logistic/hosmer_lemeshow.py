"""The Hosmer-Lemeshow test of fit: observed against expected counts in groups of rows."""

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from scipy.special import chdtrc

from linsep.errors import ParameterError
from linsep.inference.summary import as_frame, number_text, p_text
from linsep.layout import room, table_lines, wrapped
from linsep.words import counted

#: fewest groups: the statistic has two degrees of freedom fewer
LEAST_GROUPS = 3


@dataclass(frozen=True)
class HosmerLemeshow:
    """Result of the Hosmer-Lemeshow test, with its table; ``print`` it.

    Attributes
    ----------
    statistic : float
        Sum over groups and both classes of (observed - expected)^2 / expected.
    df : int, degrees of freedom, the number of groups minus 2
    p_value : float, from the chi-squared distribution; NaN if it is not defined
    low, high : arrays of shape (groups,), the smallest and the largest probability of a group
    rows : array of shape (groups,), total weight of the rows in a group
    observed, expected : arrays of shape (groups,)
        Total weight of the rows of class 1 in a group, and the sum of their probabilities.
    note : str, a limitation of the test; empty if there is none

    References
    ----------
    D. Hosmer and S. Lemeshow, A goodness-of-fit test for the multiple logistic regression model,
    Communications in Statistics A 10, 1980, 1043-1069.
    """

    statistic: float
    df: int
    p_value: float
    low: np.ndarray
    high: np.ndarray
    rows: np.ndarray
    observed: np.ndarray
    expected: np.ndarray
    note: str = ""

    def _columns(self) -> dict[str, np.ndarray]:
        names = ("low", "high", "rows", "observed", "expected")
        return {name: getattr(self, name) for name in names}

    def tidy(self) -> Any:
        """Return the table as a pandas data frame, or as an Arrow table without pandas: one row per
        group, with the columns ``low``, ``high``, ``rows``, ``observed`` and ``expected``.
        """
        return as_frame({name: values.tolist() for name, values in self._columns().items()})

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON; numbers may be NaN."""
        return {
            "statistic": self.statistic, "df": self.df, "p_value": self.p_value,
            **{name: values.tolist() for name, values in self._columns().items()},
            "note": self.note,
        }  # fmt: skip

    @property
    def sentence(self) -> str:
        """The numbers of the test in a line."""
        groups, found = counted(self.rows.size, "group"), number_text(self.statistic)
        test = f"chi-squared {found}, df {max(self.df, 0)}, p {p_text(self.p_value)}"
        return f"Hosmer-Lemeshow, {groups}: {test}"

    def lines(self) -> list[str]:
        """Return the test as lines of text."""
        cells = [["probability", "rows", "observed", "expected"]]
        for low, high, rows, seen, expected in zip(*self._columns().values(), strict=True):
            counts = [f"{rows:.6g}", f"{seen:.6g}", f"{expected:.2f}"]
            cells.append([f"{low:.4f} to {high:.4f}", *counts])
        table = [f"  {line}" for line in table_lines(cells, [True] * 4, width=room() - 2)]
        return [*wrapped(self.sentence), *table, *(wrapped(self.note) if self.note else [])]

    def __str__(self) -> str:
        return "\n".join(self.lines())

    __repr__ = __str__


def hosmer_lemeshow(
    y: np.ndarray, p: np.ndarray, weights: np.ndarray, groups: int, undefined: str = ""
) -> HosmerLemeshow:
    """Run the test.

    Groups lie between quantiles of the probabilities, as in R's hoslem.test; a probability equal
    to a quantile is in the lower group, and equal quantiles make one group less.

    Parameters
    ----------
    y : array of shape (rows,), 0 or 1
    p : array of shape (rows,), probabilities of 1
    weights : array of shape (rows,), how often each row counts
    groups : int, at least 3
    undefined : why there is no p-value; empty if there is

    Raises
    ------
    ParameterError
        If there are fewer groups.
    """
    if not isinstance(groups, Integral) or isinstance(groups, bool) or groups < LEAST_GROUPS:
        raise ParameterError(
            f"groups is {groups!r}: give a whole number of at least {LEAST_GROUPS}.",
            option="groups", value=groups,
        )  # fmt: skip
    order = np.argsort(p, kind="stable")
    y, p, weights = y[order], p[order], weights[order]
    edges = np.unique(_quantiles(p, weights, np.arange(1, groups) * (1 / groups)))
    places = np.unique(
        np.searchsorted(edges[(edges > p[0]) & (edges < p[-1])], p), return_inverse=True
    )[1]
    rows, observed, expected = (
        np.bincount(places, weights * part) for part in (np.ones(p.size), y, p)
    )
    first = np.searchsorted(places, np.arange(rows.size))
    last = np.append(first[1:], p.size) - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        # (o - e)^2 / e + ((n - o) - (n - e))^2 / (n - e)
        parts = (observed - expected) ** 2 * (1 / expected + 1 / (rows - expected))
    parts[observed == expected] = 0.0
    statistic, df, note = float(parts.sum()), rows.size - 2, undefined
    if df < 1:
        note = f"The probabilities form only {counted(rows.size, 'group')}, too few for a test."
    elif rows.size < groups and not note:
        note = f"Because of tied probabilities, there are {rows.size} groups instead of {groups}."
    known = df > 0 and not undefined
    p_value = float(chdtrc(df, statistic)) if known else np.nan
    return HosmerLemeshow(
        statistic if df > 0 else np.nan, df, p_value, p[first], p[last], rows, observed, expected,
        note,
    )  # fmt: skip


def _quantiles(p: np.ndarray, weights: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return weighted quantiles of sorted values, rounded as R's (type 7)."""
    counts = np.cumsum(weights)
    at = 1.0 + max(counts[-1] - 1.0, 0.0) * shares
    below = np.floor(at)
    low, high = (
        p[np.minimum(np.searchsorted(counts, place), p.size - 1)] for place in (below, np.ceil(at))
    )
    share = at - below
    return np.where(low == high, low, (1.0 - share) * low + share * high)
