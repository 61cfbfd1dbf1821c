"""Residuals, leverages and influences of the rows of a fitted regression, and tests of fit.

Both regressions solve weighted least squares: the linear one with the weights of the rows, the
logistic one, in the last step of Newton's method, with these times p (1 - p). Leverages, influences
and collinearity are computed from the columns of this problem.

The five assumptions of a linear regression: y has a mean and a variance for every x (existence),
rows are independent, the mean is linear, the variance is constant, and the errors are normal. Data
can contradict the last four but cannot prove them; single rows can determine a fit. Each test
follows the paper it cites.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import chdtrc, expit, xlogy

from linsep.batches import Batch
from linsep.drawing import display
from linsep.errors import DataError, ParameterError
from linsep.estimators._common.frames import Named
from linsep.estimators._common.labels import (
    check_sample_weight,
    importance,
    label_a_row,
    label_text,
    unknown_labels,
)
from linsep.estimators._common.predicting import codes_in
from linsep.inference.collinearity import Collinearity, collinearity_of
from linsep.inference.table import Printed, as_frame, number_text, p_text
from linsep.inference.tails import f_tail, t_tail
from linsep.layout import table_lines, wrapped
from linsep.linear.inference import ROUNDING, Inference
from linsep.linear.least_squares import IllConditionedWarning, LeastSquares, least_squares
from linsep.logistic.solution import SEPARATED
from linsep.logistic.task import NO_WEIGHT
from linsep.parameters import fitted_parameter
from linsep.words import counted, escaped

#: rows that are printed
MOST_ROWS = 5
#: values of an array with a column for each feature that fit in memory: two gigabytes
MOST_VALUES = 1 << 28
#: rows that are computed at a time
PART = 8192
#: smallest 1 - leverage that keeps eight of sixteen digits
CANCELLED = 1e-8
#: share of the residual variance without a row that is rounding error: that fit is perfect
PERFECT = 1e-13
#: relative change that rounding of the rows may make, of a residual norm, and of a deviance as a
#: share of that without features; the same of a limit and of the weights that stand for it
SAME, SAME_DEVIANCE, NEAR_LIMIT = 1e-3, 1e-6, 0.1
#: smallest weight of a row, as a share of the largest, that counts in least squares
LEAST_WEIGHT = 1e-250
#: fewest groups of the Hosmer-Lemeshow test: the statistic has two degrees of freedom fewer
LEAST_GROUPS = 3
#: arrays with a value for each row, in the order of tables
OF_ROWS = (
    "pearson", "deviance", "working", "leverage", "standardized", "standardized_deviance",
    "studentized", "cooks_distance",
)  # fmt: skip
#: most values of the matrix of White's test, which has a column for each product of two features
WHITE_VALUES = 1 << 23
#: most rows for which p-values of the Shapiro-Wilk test are valid
SHAPIRO_ROWS = 5000
#: p-values below this contradict an assumption
DOUBT = 0.05
#: share of the variance of y below which the residuals are rounding errors
NOTHING = 1e-12
#: the assumption of each test, and its paper
TESTS = {
    "RESET": (
        "linearity", "Ramsey, Journal of the Royal Statistical Society B 31, 1969, 350-371"
    ),
    "Breusch-Pagan": (
        "equal variance",
        "Breusch and Pagan, Econometrica 47, 1979, 1287-1294; Koenker, Journal of Econometrics 17, "
        "1981, 107-112",
    ),
    "White": ("equal variance", "White, Econometrica 48, 1980, 817-838"),
    "Jarque-Bera": (
        "normality", "Jarque and Bera, International Statistical Review 55, 1987, 163-172"
    ),
    "Shapiro-Wilk": ("normality", "Shapiro and Wilk, Biometrika 52, 1965, 591-611"),
    "Durbin-Watson": ("independence", "Durbin and Watson, Biometrika 38, 1951, 159-177"),
    "leverage": ("influence", "Hoaglin and Welsch, American Statistician 32, 1978, 17-22"),
    "Cook's distance": ("influence", "Cook, Technometrics 19, 1977, 15-18"),
    "studentized residual": (
        "influence", "Belsley, Kuh and Welsch, Regression Diagnostics, 1980, section 2.1"
    ),
}  # fmt: skip


@dataclass(frozen=True, repr=False)
class Diagnostics:
    """Residuals, leverages and influences of the rows of a fit, and collinearity; ``print`` it.

    Rows of weight 0 are left out. Undefined numbers are NaN; ``notes`` give the reason.

    Attributes
    ----------
    title : str
    numbers : array of shape (rows,)
        The number of each row in the data as given, from 0; rows left out for missing values count.
        With the frequency weights of a linear regression, a row of weight w is repeated w times.
    index : array of shape (rows,)
        The label of each row in the index of the data frame; without one, its number.
    y : array of shape (rows,)
        The targets; for classes, 0 for the reference and 1 for the other class; for counts, shares.
    weights : array of shape (rows,)
    fitted : array of shape (rows,)
        Predictions; for classes, the probabilities of the class that is not the reference.
    pearson : array of shape (rows,)
        (y - fitted) sqrt(weight) divided by the square root of the variance function: 1 for
        numbers, p (1 - p) for classes.
    deviance : array of shape (rows,)
        Signed square roots of the contributions to the deviance; for numbers, equal to ``pearson``.
    working : array of shape (rows,)
        (y - fitted) divided by the derivative of the mean by the linear predictor.
    partial : array of shape (rows, features)
        Working residuals plus the part of the linear predictor that is due to a feature, whose mean
        over the rows is zero if there is an intercept; NaN for features left out.
    leverage : array of shape (rows,), between 0 and 1
        Diagonal of the hat matrix of (the last step of iteratively reweighted) least squares.
    standardized : array of shape (rows,)
        Pearson residuals divided by their standard deviation, which falls with the leverage.
    standardized_deviance : array of shape (rows,), the same for deviance residuals
    studentized : array of shape (rows,)
        For numbers: residuals divided by their standard deviation as estimated from the other rows.
        For classes: signed square roots of the approximate decrease of the deviance when the row is
        left out (Williams 1987).
    dfbetas : array of shape (rows, parameters)
        The change of each estimate, in standard errors, when the row is added to the others; the
        intercept comes first, if there is one. For numbers it is exact, with the residual variance
        of the other rows. For classes it is one Newton step from the fit (Pregibon 1981), in
        standard errors of the fit, and too small where the influence is large. With Firth's penalty
        the step uses Firth's score, y - p + h (1/2 - p) per row, with the leverages h of the other
        rows held fixed.
    cooks_distance : array of shape (rows,)
        Distance that all estimates move by the same step, in the metric of their covariance.
    params : array of shape (parameters,), the estimates, as ``params_`` of the model
    collinearity : Collinearity
    notes : list of str
    X : array or sparse matrix of shape (rows, features)

    References
    ----------
    D. Belsley, E. Kuh and R. Welsch, Regression Diagnostics, Wiley 1980. D. Pregibon, Logistic
    regression diagnostics, Annals of Statistics 9, 1981, 705-724. D. Williams, Generalized linear
    model diagnostics using the deviance and single case deletions, Applied Statistics 36, 1987,
    181-191.
    """

    title: str
    numbers: np.ndarray
    index: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    fitted: np.ndarray
    pearson: np.ndarray
    deviance: np.ndarray
    working: np.ndarray
    partial: np.ndarray
    leverage: np.ndarray
    standardized: np.ndarray
    standardized_deviance: np.ndarray
    studentized: np.ndarray
    dfbetas: np.ndarray
    cooks_distance: np.ndarray
    params: np.ndarray
    collinearity: Collinearity
    notes: list[str] = field(default_factory=list)
    X: Any = field(default=None, repr=False)

    @property
    def vif(self) -> np.ndarray:
        """Variance inflation factors of the features, NaN for features left out."""
        return self.collinearity.vif

    @property
    def condition_indices(self) -> np.ndarray:
        """Condition indices of the columns, increasing from 1 (Belsley, Kuh and Welsch)."""
        return self.collinearity.condition_indices

    @property
    def variance_proportions(self) -> np.ndarray:
        """Shares of the variances of the estimates that are due to each condition index."""
        return self.collinearity.variance_proportions

    def most_influential(self, most: int = MOST_ROWS) -> list[Any]:
        """Return the labels (``index``) of the rows with the largest Cook's distances, or with the
        largest residuals where these are undefined; copies of a row appear once.
        """
        return self.index[self._largest(most)].tolist()

    def _largest(self, most: int = MOST_ROWS) -> np.ndarray:
        """Return the positions of these rows in the arrays."""
        for sizes in (self.cooks_distance, self.standardized, self.pearson):
            if not np.isnan(sizes).all():
                _, once = np.unique(self.numbers, return_index=True)
                known = once[~np.isnan(sizes[once])]
                return known[np.argsort(-np.abs(sizes[known]), kind="stable")][:most]
        return np.zeros(0, dtype=np.intp)

    def tidy(self) -> Any:
        """Return the diagnostics of the rows as a data frame.

        Returns
        -------
        pandas.DataFrame, or pyarrow.Table where pandas is not installed
            One row per row of the fit: ``row`` (its label, see ``index``), ``y``,
            ``weight``, ``fitted``, ``pearson``, ``deviance``, ..., ``cooks_distance``, and for each
            feature and parameter ``partial NAME`` and ``dfbetas NAME``.
        """
        return as_frame({name: values.tolist() for name, values in self._columns().items()})

    def _columns(self) -> dict[str, np.ndarray]:
        found = {"row": self.index, "y": self.y, "weight": self.weights, "fitted": self.fitted}
        found |= {name: getattr(self, name) for name in OF_ROWS}
        known = self.collinearity
        for what, names in (("partial", known.features), ("dfbetas", known.params)):
            columns = zip(names, getattr(self, what).T, strict=True)
            found |= {f"{what} {name}": column for name, column in columns}
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return everything but X as plain JSON; numbers may be NaN."""
        columns = self._columns()
        plain = [x if isinstance(x, int | float) else str(x) for x in self.index.tolist()]
        columns["row"] = np.array(plain, dtype=object)
        rows = zip(*(values.tolist() for values in columns.values()), strict=True)
        return {
            "title": self.title,
            "rows": [dict(zip(columns, row, strict=True)) for row in rows],
            **self.collinearity.to_dict(),
            "notes": list(self.notes),
        }

    def plot(self, **kwargs: Any) -> Any:
        """Plot residuals against fitted values, influence, and partial residuals.

        Parameters
        ----------
        **kwargs : passed to :meth:`linsep.plot.DiagnosticsDisplay.from_diagnostics`

        Returns
        -------
        linsep.plot.DiagnosticsDisplay
        """
        return display("DiagnosticsDisplay").from_diagnostics(self, **kwargs)

    def __str__(self) -> str:
        parts = [self._lines_of_rows(), *self._tests(), self.collinearity.lines()]
        parts.append([line for note in self.notes for line in wrapped(escaped(note))])
        lines = wrapped(escaped(f"{self.title}, {counted(self.y.size, 'row')}"))
        for part in parts:
            lines += ["", *part] if part else []
        return "\n".join(lines)

    __repr__ = __str__

    def _tests(self) -> list[list[str]]:
        """Return the lines of each test."""
        return []

    def _lines_of_rows(self) -> list[str]:
        """Return the table of the most influential rows."""
        rows = self._largest()
        if not rows.size:
            return []
        by = "residual" if np.isnan(self.cooks_distance).all() else "Cook's distance"
        cells = [
            ["row", "y", "fitted", "pearson", "standardized", "leverage", "Cook's", "DFBETAS", ""]
        ]
        arrays = self.y, self.fitted, self.pearson, self.standardized, self.leverage
        for k in rows:
            values = [number_text(values[k], 4) for values in (*arrays, self.cooks_distance)]
            moved, name = self.dfbetas[k], ""
            if not np.isnan(moved).all():
                j = int(np.nanargmax(np.abs(moved)))
                moved, name = moved[j], self.collinearity.params[j]
            text = f"{moved:+.3g}" if name else "-"
            cells.append([escaped(str(self.index[k])), *values, text, name])
        about = f"Rows of the largest {by}; DFBETAS of the estimate that moves most"
        table = table_lines(cells, [*[True] * (len(cells[0]) - 1), False])
        return [*wrapped(about), *table, _counted_from(self.index)]


def _counted_from(index: np.ndarray) -> str:
    """Return what the rows of diagnostics are called by."""
    return (
        "Rows have the labels of the index."
        if index.dtype == object
        else "Rows are counted from 0."
    )


@dataclass(frozen=True, repr=False)
class HosmerLemeshow(Printed):
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

    _apart, header = False, ()

    @property
    def title(self) -> str:  # type: ignore[override]
        """The numbers of the test in a line."""
        groups, found = counted(self.rows.size, "group"), number_text(self.statistic)
        test = f"chi-squared {found}, df {max(self.df, 0)}, p {p_text(self.p_value)}"
        return f"Hosmer-Lemeshow, {groups}: {test}"

    @property
    def notes(self) -> list[str]:  # type: ignore[override]
        """The limitation, if there is one."""
        return [self.note] if self.note else []

    def _columns(self) -> dict[str, list[float]]:
        names = ("low", "high", "rows", "observed", "expected")
        return {name: getattr(self, name).tolist() for name in names}

    def _cells(self, digits: int = 6) -> list[list[str]]:
        rows = zip(*self._columns().values(), strict=True)
        return [
            ["probability", "rows", "observed", "expected"],
            *(
                [f"{low:.4f} to {high:.4f}", f"{many:.6g}", f"{seen:.6g}", f"{expected:.2f}"]
                for low, high, many, seen, expected in rows
            ),
        ]

    def tidy(self) -> Any:
        """Return the table as a pandas data frame, or as an Arrow table without pandas: one row per
        group, with the columns ``low``, ``high``, ``rows``, ``observed`` and ``expected``.
        """
        return as_frame(self._columns())

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON; numbers may be NaN."""
        found = {name: getattr(self, name) for name in ("statistic", "df", "p_value")}
        return found | self._columns() | {"note": self.note}


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
    # weighted quantiles, rounded as R's (type 7)
    counts = np.cumsum(weights)
    at = 1.0 + max(counts[-1] - 1.0, 0.0) * (np.arange(1, groups) * (1 / groups))
    ends = [np.searchsorted(counts, place) for place in (np.floor(at), np.ceil(at))]
    low, high = (p[np.minimum(end, p.size - 1)] for end in ends)
    share = at - np.floor(at)
    edges = np.unique(np.where(low == high, low, (1.0 - share) * low + share * high))
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
    df, note = rows.size - 2, undefined
    statistic = float(parts.sum()) if df > 0 else np.nan
    if df < 1:
        note = f"The probabilities form only {counted(rows.size, 'group')}, too few for a test."
    elif rows.size < groups and not note:
        note = f"Because of tied probabilities, there are {rows.size} groups instead of {groups}."
    p_value = float(chdtrc(df, statistic)) if df > 0 and not undefined else np.nan
    return HosmerLemeshow(statistic, df, p_value, p[first], p[last], rows, observed, expected, note)


@dataclass(frozen=True, repr=False)
class LogisticDiagnostics(Diagnostics):
    """:class:`linsep.inference.diagnostics.Diagnostics` of probabilities.

    Attributes
    ----------
    labels : pair of str, the reference and the other class
    """

    labels: tuple[str, str] = ("", "")

    def hosmer_lemeshow(self, groups: int = 10) -> HosmerLemeshow:
        """Run the Hosmer-Lemeshow test of fit, on groups of about equal size.

        Parameters
        ----------
        groups : int, default=10

        Returns
        -------
        HosmerLemeshow
            Print it, or call ``tidy()`` for its table of observed and expected counts.

        Raises
        ------
        ParameterError
            If ``groups`` is less than 3.
        """
        undefined = ""
        if np.isnan(self.leverage).all():
            undefined = (
                "The p-value is not defined, because the fit did not reach a maximum of the "
                "likelihood."
            )
        return hosmer_lemeshow(self.y, self.fitted, self.weights, groups, undefined)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but X as plain JSON; numbers may be NaN."""
        return super().to_dict() | {"hosmer_lemeshow": self.hosmer_lemeshow().to_dict()}

    def _tests(self) -> list[list[str]]:
        test = self.hosmer_lemeshow()
        return [[line for said in (test.title, *test.notes) for line in wrapped(said)]]


def _check_size(rows: int, features: int) -> None:
    """Raise DataError if an array of so many rows and features would not fit in memory."""
    if rows * features > MOST_VALUES:
        raise DataError(
            f"Diagnostics have one value for each of {rows:,} rows and {features:,} features, "
            "which do not fit in memory: fit and diagnose a sample of the rows, or fewer "
            "features.",
            code="too-large",
        )


def _partial(X: Any, coef: np.ndarray, working: np.ndarray, centered: bool) -> np.ndarray:
    """Return the partial residuals of each feature, of shape (rows, features); the part of each has
    mean zero if it is centered.
    """
    parts = np.array(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        for factor in (1.0, coef):  # again, for the rounding error of the first mean
            parts *= factor
            parts -= parts.mean(axis=0) if centered else 0.0
    return parts + working[:, None]


def _in_parts(of: Callable[[Any], np.ndarray], X: Any) -> np.ndarray:
    """Return a function of rows as dense arrays, computed in parts."""
    parts = (X[first : first + PART] for first in range(0, max(1, X.shape[0]), PART))
    return np.concatenate([of(part.toarray() if sp.issparse(part) else part) for part in parts])


def _leverages(fit: LeastSquares, X: Any, weights: np.ndarray) -> np.ndarray:
    """Return the leverages of the rows of a fit, of shape (rows,)."""
    return weights * _in_parts(Inference(fit).leverage, X)


def _directions(fit: LeastSquares, X: Any, weights: np.ndarray) -> np.ndarray:
    """Return for each row and estimate the derivative of the estimate, in standard deviations of a
    residual variance of 1, by the residual times the square root of the weight.

    An array of shape (rows, parameters), the intercept first if there is one, NaN for features left
    out: (X' W X)^-1 x sqrt(w), each divided by the square root of the diagonal of (X' W X)^-1.
    """
    first = int(fit.fit_intercept)
    root = fit.root[:, 1 - first :]
    with np.errstate(invalid="ignore"):
        units = root / np.linalg.norm(root, axis=0)
    features = fit.root[first:, 1:].T

    def of(rows: np.ndarray) -> np.ndarray:
        parts = np.asarray(fit.centered(rows) @ features, dtype=np.float64)
        alike = np.full((len(parts), first), 1 / np.sqrt(fit.total_weight))
        return np.asarray(np.column_stack([alike, parts]) @ units)

    return _in_parts(of, X) * np.sqrt(weights)[:, None]


def _of_leverage_one(rows: Sequence[Any]) -> list[str]:
    """Return a note on rows whose leverage is 1, if there are any."""
    listed = ", ".join(map(str, rows[:5])) + ", ..." * (len(rows) > 5)
    which = f"row{'s' * (len(rows) > 1)} {listed} is"
    return [
        f"The leverage of {which} 1: the fit passes through any y there, so the residual cannot "
        "be standardized, and an estimate is undetermined without the row."
    ] * bool(len(rows))


class _Examined(NamedTuple):
    """Residuals of the rows of a linear fit, also as shares of their norm, and the effect of
    leaving each out; ``decided``: the leverage is 1; ``undefined``: why they cannot be tested.
    """

    raw: np.ndarray
    residuals: np.ndarray
    shares: np.ndarray
    leverage: np.ndarray
    free: np.ndarray
    standardized: np.ndarray
    studentized: np.ndarray
    cooks_distance: np.ndarray
    decided: np.ndarray
    perfect_without: np.ndarray
    undefined: str


def _examined(fit: LeastSquares, block: Batch) -> _Examined:
    """Compute the residuals of a fit on its rows, and the deletion diagnostics; DataError if their
    residual sum of squares differs from the fit's.
    """
    weights = np.ones(block.y.size) if block.weights is None else block.weights
    raw = np.concatenate([fit.residuals(part.dense(), part.y) for part in block.cut(PART)])
    residuals, known = raw * np.sqrt(weights), fit.residual_norm
    found, size = (float(np.linalg.norm(part)) for part in (residuals, block.y * np.sqrt(weights)))
    if abs(found - known) > SAME * (known + size * SAME):
        raise DataError(
            f"These are not the rows of the fit: their residual sum of squares is "
            f"{number_text(found * found)}, not {number_text(fit.rss)}.",
            code="other-rows",
        )
    if fit.perfect:
        raw, residuals = np.zeros_like(raw), np.zeros_like(raw)
    shares, leverage = residuals / (known or 1.0), _leverages(fit, block.X, weights)
    df, undefined = fit.n_rows - fit.rank, ""
    if not fit.rank:
        undefined = "not defined: no weights were estimated"
    elif df <= 0:
        undefined = "not defined: no residual degrees of freedom are left"
    elif fit.perfect:
        undefined = "not defined: the fit is perfect, so the residual variance is zero"
    free, standardized, studentized, cooks = (np.full(raw.size, np.nan) for _ in range(4))
    decided = perfect = np.zeros(raw.size, dtype=bool)
    if not undefined:
        free = 1 - leverage
        decided = free <= CANCELLED
        free[decided] = np.nan
        with np.errstate(divide="ignore", invalid="ignore"):
            without = 1 - shares * (shares / free)
            perfect = (without <= PERFECT) & (df > 1)
            cooks = np.square(shares / free) * leverage * (df / fit.rank)
            studentized = shares * np.sqrt((df - 1) / (without * free))
            standardized = shares * np.sqrt(df / free)
        studentized[perfect | (df == 1)] = np.nan
    return _Examined(
        raw, residuals, shares, leverage, free, standardized, studentized, cooks, decided, perfect,
        undefined,
    )  # fmt: skip


def linear_diagnostics(
    model: Any, block: Batch, numbers: np.ndarray, index: np.ndarray
) -> Diagnostics:
    """Return the diagnostics of a linear regression on the rows of its fit, which have numbers and
    labels (``index``).
    """
    fit, first = model.solution_, int(model.solution_.fit_intercept)
    _check_size(block.y.size, fit.coef.size)
    seen = _examined(fit, block)
    with np.errstate(invalid="ignore", divide="ignore"):
        moved = (seen.studentized / np.sqrt(seen.free))[:, None]
    weights = np.ones(block.y.size) if block.weights is None else block.weights
    notes = [f"Standardized residuals and influences are {seen.undefined}."] * bool(seen.undefined)
    if seen.perfect_without.any():
        row = index[np.argmax(seen.perfect_without)]
        notes.append(
            f"Without row {row} the fit is perfect, so its studentized residual and DFBETAS are "
            "not defined."
        )
    return Diagnostics(
        title="Diagnostics of a linear regression", numbers=numbers, index=index,
        y=block.y, weights=weights, fitted=fit.predicted(block.X), pearson=seen.residuals,
        deviance=seen.residuals, working=seen.raw,
        partial=_partial(block.X, model._params[first:], seen.raw, fit.fit_intercept),
        leverage=seen.leverage, standardized=seen.standardized,
        standardized_deviance=seen.standardized, studentized=seen.studentized,
        dfbetas=_directions(fit, block.X, weights) * moved, cooks_distance=seen.cooks_distance,
        params=model._params, collinearity=collinearity_of(model, fit),
        notes=[*notes, *_of_leverage_one(index[seen.decided].tolist())], X=block.X,
    )  # fmt: skip


def refuse_classes(model: Any) -> None:
    """Raise DataError for a logistic regression whose rows have no diagnostics."""
    for wrong, why, code in (
        (len(model.classes_) > 2, "Diagnostics need a model of two classes, and this model has "
         f"{len(model.classes_)}: fit one model per class against the reference (Begg and Gray, "
         "Biometrika 71, 1984)", "class-count"),
        ((model._limits == NO_WEIGHT).any(), "Only one class has rows of positive weight, so there "
         "are no residuals", "class-count"),
        (np.isnan(model.log_likelihood_), f"The weights come from {model.method_} and were not "
         "fitted to rows, so there are no residuals to test", "unsupported"),
    ):  # fmt: skip
        if wrong:
            raise DataError(f"{why}.", code=code)


def logistic_diagnostics(
    model: Any, X: Any, y: Any, sample_weight: Any, named: Named, offset: np.ndarray | None,
    counts: tuple[np.ndarray, np.ndarray] | None = None,
) -> LogisticDiagnostics:  # fmt: skip
    """Return the diagnostics of a logistic regression for the rows that it was fitted to.

    Parameters
    ----------
    model : fitted LogisticRegression
    X : array or CSR matrix of shape (rows, features), checked
    y, sample_weight : as given to ``fit``
    named : function of indices of rows that returns their numbers and labels
    offset : array of shape (rows,) or None
    counts : successes and trials, arrays of shape (rows,), in place of y and weights

    Raises
    ------
    DataError
        If these are not the rows of the fit.
    """
    _check_size(*X.shape)
    y, weights = _outcomes(model, y, sample_weight, X.shape[0]) if counts is None else counts
    some = np.flatnonzero(weights)
    if some.size < weights.size:
        X, y, weights = X[some], y[some], weights[some]
    if counts is not None:
        y = y / weights if model.reference_ == model.classes_[0] else 1.0 - y / weights
    numbers, index = named(some)
    scores = model._scores(X, None if offset is None else offset[some])
    scores = scores if model.reference_ == model.classes_[0] else -scores
    p, q = expit(scores), expit(-scores)
    with np.errstate(over="ignore"):  # without differences, which would lose digits
        pearson = np.sqrt(weights) * (y * np.exp(-scores / 2) - (1 - y) * np.exp(scores / 2))
        working = y * (1.0 + np.exp(-scores)) - (1 - y) * (1.0 + np.exp(scores))
    losses = y * np.logaddexp(0.0, -scores) + (1 - y) * np.logaddexp(0.0, scores)
    losses += xlogy(y, y) + xlogy(1 - y, 1 - y)
    deviance = np.sign(working) * np.sqrt(2.0 * weights * losses)
    found, share = float(deviance @ deviance), SAME_DEVIANCE
    if model.stop_reason_ in SEPARATED:
        share = NEAR_LIMIT
    close = abs(found - model.deviance_) <= share * abs(model.null_deviance_)
    if y.size != model.n_rows_ or not close:
        raise DataError(
            f"These are not the {model.n_rows_:,} rows of the fit: these {y.size:,} rows of "
            f"positive weight have the deviance {number_text(found)}, not "
            f"{number_text(model.deviance_)}.",
            code="other-rows",
        )
    undefined, curvature = _undefined(model), weights * p * q
    has_step = not undefined or fitted_parameter(model, "l2")
    fit = _newton_step(model, X, curvature) if has_step else None
    step = None if undefined else fit
    arrays, notes = _influences(model, X, step, curvature, p, pearson, deviance)
    decided = index[arrays.pop("decided")].tolist()
    notes = [undefined] if undefined else [*notes, *_of_leverage_one(decided)]
    reference, other = label_text(model.reference_), model._others()[0]
    first = int(fitted_parameter(model, "fit_intercept"))
    return LogisticDiagnostics(
        title=f"Diagnostics of a logistic regression of {other} against {reference}",
        numbers=numbers, index=index, y=y, weights=weights, fitted=p,
        pearson=pearson, deviance=deviance, working=working,
        partial=_partial(X, model._params[first:], working, bool(first)), params=model._params,
        collinearity=collinearity_of(model, fit), notes=notes, X=X, labels=(reference, other),
        **arrays,
    )  # fmt: skip


def _outcomes(model: Any, y: Any, sample_weight: Any, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return whether each row has the class of the equation, and the weights."""
    labels, classes = label_a_row(model, y, n_rows), model.classes_
    codes = codes_in(classes, labels, "y")
    if (codes == classes.size).any():
        raise DataError(
            f"y has {unknown_labels(labels, classes)}, which is not a class of the fit: pass the "
            "rows of the fit.",
            code="unknown-label",
        )
    weights = check_sample_weight(sample_weight, codes.size)
    weights = importance(fitted_parameter(model, "class_weight"), classes, codes, weights)
    weights = weights if weights.size else np.ones(codes.size)
    return (classes[codes] != model.reference_).astype(np.float64), weights


def _influences(
    model: Any, X: Any, fit: LeastSquares | None, curvature: np.ndarray, p: np.ndarray,
    pearson: np.ndarray, deviance: np.ndarray,
) -> tuple[dict[str, np.ndarray], list[str]]:  # fmt: skip
    """Return leverages, standardized residuals, influences and which rows have leverage 1, by
    Newton's step, with a note; nothing is known if that is None.
    """
    names = ("leverage", "standardized", "standardized_deviance", "studentized", "cooks_distance")
    found = dict.fromkeys(names, np.full(p.size, np.nan))
    found["dfbetas"] = np.full((p.size, model._params.size), np.nan)
    found["decided"] = np.zeros(p.size, dtype=bool)
    if fit is None:
        return found, []
    notes = ["DFBETAS and Cook's distances are from one Newton step without the row."]
    leverage = found["leverage"] = _leverages(fit, X, curvature)
    decided = found["decided"] = 1.0 - leverage <= CANCELLED
    free = np.where(decided, np.nan, 1.0 - leverage)
    found["standardized"] = pearson / np.sqrt(free)
    found["standardized_deviance"] = deviance / np.sqrt(free)
    if model.method_ == "Firth":  # whose score has y - p + h (1/2 - p) for y - p, h over the weight
        roots = np.sqrt(curvature)
        halves = np.divide(0.5 - p, roots, out=np.zeros_like(roots), where=roots > 0)
        pearson = pearson + leverage * halves
        notes = [
            "Leverages are computed from the information at Firth's estimates. DFBETAS and "
            "Cook's distances are from one Newton step on Firth's score without the row, with "
            "the penalty of the other rows held fixed. Studentized residuals are not defined."
        ]
    else:
        lost = leverage * np.square(found["standardized"])
        found["studentized"] = np.sign(deviance) * np.sqrt(np.square(deviance) + lost)
    found["cooks_distance"] = leverage * np.square(pearson / free) / fit.rank
    found["dfbetas"] = _directions(fit, X, curvature) * (pearson / free)[:, None]
    if (size := np.sqrt(model.dispersion_)) != 1.0:
        for name in ("standardized", "standardized_deviance", "studentized", "dfbetas"):
            found[name] = found[name] / size
        found["cooks_distance"] = found["cooks_distance"] / size**2
    return found, notes


def _undefined(model: Any) -> str:
    """Return why influences are not defined; empty if they are defined."""
    which = "Leverages, standardized residuals and influences are not defined"
    if fitted_parameter(model, "l2"):
        return f"{which} with l2, because standard errors are not known."
    if model.stop_reason_ in SEPARATED:
        return (
            f"{which}: the likelihood has no maximum, and residuals are computed near its limit. "
            "With penalty='firth' they are defined."
        )
    unknown = model._covariance is None or not model._inferable
    return f"{which}: standard errors are not known (summary() says why)." * unknown


def _newton_step(model: Any, X: Any, curvature: np.ndarray) -> LeastSquares | None:
    """Return the least squares problem of Newton's step, of which only the columns matter; None if
    there are too many weights or no rows.
    """
    some = curvature > LEAST_WEIGHT * curvature.max(initial=0.0)
    if model._wide or not some.any():
        return None
    estimated = model._limits[0, : X.shape[1]] != "dependent"
    if not estimated.all():  # a column of zeros is left out
        X = X.multiply(estimated).tocsr() if sp.issparse(X) else X * estimated
    block = Batch(X[some], np.zeros(int(some.sum())), weights=curvature[some])
    with warnings.catch_warnings():  # about these columns, which are not the user's
        warnings.simplefilter("ignore", IllConditionedWarning)
        return least_squares(
            lambda: iter([block]), fit_intercept=bool(fitted_parameter(model, "fit_intercept"))
        )


class Finding(NamedTuple):
    """Result of one test of one assumption.

    Attributes
    ----------
    assumption : "linearity", "equal variance", "normality", "independence" or "influence"
    test : str, its name
    statistic : float, NaN if not defined
    p_value : float, NaN if not defined
    conclusion : str, the interpretation
    source : str, the paper
    """

    assumption: str
    test: str
    statistic: float
    p_value: float
    conclusion: str
    source: str


@dataclass(frozen=True, repr=False)
class Assumptions(Printed):
    """Results of all tests, and residuals, leverages and influences; ``print`` it.

    Attributes
    ----------
    findings : list of Finding
    residuals : array of shape (rows,)
        Residuals of the rows of positive weight, multiplied by the square roots of the weights.
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
        15-18). NaN if the leverage is 1, because an estimate is undetermined without the row.
    numbers : array of shape (rows,)
        The number of each row in the data as given, from 0. With frequency weights, a row of weight
        w is repeated w times.
    index : array of shape (rows,)
        The label of each row in the index of the data frame; without one, its number.
    """

    findings: list[Finding]
    residuals: np.ndarray
    fitted: np.ndarray
    leverage: np.ndarray
    standardized: np.ndarray
    studentized: np.ndarray
    cooks_distance: np.ndarray
    numbers: np.ndarray
    index: np.ndarray
    title, header, notes = "Assumptions of a linear regression", (), ()

    def __getitem__(self, test: str) -> Finding:
        """Return the finding of the test with this name."""
        for finding in self.findings:
            if finding.test == test:
                return finding
        known = ", ".join(repr(finding.test) for finding in self.findings)
        raise KeyError(f"There is no test {test!r}: choose one of {known}.")

    def plot(self, **kwargs: Any) -> Any:
        """Plot one panel per assumption.

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
        why = "not testable: y must have a mean and a variance for every x"
        return [
            ["assumption", "test", "statistic", "p", "conclusion"],
            *(
                [one.assumption, one.test, number_text(one.statistic), p_text(one.p_value),
                 one.conclusion]
                for one in self.findings
            ),
            ["existence", "-", "-", "-", why],
        ]  # fmt: skip

    def _cells(self, digits: int = 6) -> list[list[str]]:
        return self.rows()

    def __str__(self) -> str:
        lines = table_lines(self.rows(), [False, False, True, True, False], sentences=True)
        if any("row " in found.conclusion for found in self.findings):
            lines += ["", _counted_from(self.index)]
        return "\n".join(lines)

    __repr__ = __str__


#: statistic, p and conclusion of a test
Result = tuple[float, float, str]


def check_assumptions(
    model: Any, block: Batch, numbers: np.ndarray, index: np.ndarray
) -> Assumptions:
    """Test the assumptions of a linear regression on the rows of its fit, which have numbers, equal
    for copies of a row, and labels; DataError if these are other rows.
    """
    fit = model.solution_
    copies, seen = bool((np.diff(numbers) == 0).any()), _examined(fit, block)
    shares = seen.shares
    leverage = _leverage(fit, seen, index)
    results = [_not(seen.undefined)] * 6 + [leverage] + [_not(seen.undefined)] * 2
    if not seen.undefined:
        results = [
            _reset(fit, block, (block.y - fit.mean_y) - seen.raw),
            _variance(fit, block.X, shares, "the variance changes with the features"),
            _white(fit, block, shares),
            _jarque_bera(shares),
            _shapiro_wilk(fit, shares, copies),
            _durbin_watson(shares, copies),
            leverage,
            _cook(seen, index),
            _studentized(fit, seen, index),
        ]
    findings = [
        Finding(assumption, test, *result, source)
        for (test, (assumption, source)), result in zip(TESTS.items(), results, strict=True)
    ]
    return Assumptions(
        findings, seen.residuals, fit.predicted(block.X), seen.leverage, seen.standardized,
        seen.studentized, seen.cooks_distance, numbers, index,
    )  # fmt: skip


def _not(why: str) -> Result:
    return np.nan, np.nan, why


def _tested(statistic: float, p: float, against: str, more: str = "") -> Result:
    """Return the result of a test with a p-value."""
    return statistic, p, (against if p < DOUBT else f"not rejected at {DOUBT:.0%}") + more


def _reset(fit: LeastSquares, block: Batch, about: np.ndarray) -> Result:
    """Test linearity by squares and cubes of the centered predictions (RESET)."""
    against = "not linear: powers of the predictions explain more"
    if not fit.explained_norm > NOTHING * fit.y_norm:
        return _not("not defined: the predictions are the same in all rows")
    about = about / np.abs(about).max()
    powers = np.column_stack([about**2, about**3])

    def beside() -> Iterator[Batch]:  # in parts, to avoid a copy of the whole
        for part, first in zip(block.cut(PART), range(0, block.y.size, PART), strict=True):
            both = part.X, powers[first : first + PART]
            yield part._replace(
                X=sp.hstack(both, "csr") if sp.issparse(part.X) else np.hstack(both)
            )

    more = least_squares(beside, fit_intercept=fit.fit_intercept)
    added, rest = more.rank - fit.rank, fit.n_rows - more.rank
    if added <= 0 or rest <= 0:
        return _not("not defined: powers of the predictions leave no degrees of freedom")
    if more.perfect:
        return _tested(np.inf, 0.0, f"{against}, all of the remaining variance")
    left = (more.residual_norm / fit.residual_norm) ** 2
    f = max(1 - left, 0.0) / added / (left / rest)
    return _tested(f, float(f_tail(f, added, rest)), against)


def _white(fit: LeastSquares, block: Batch, shares: np.ndarray) -> Result:
    """Test whether features, their squares and products explain squared residuals."""
    n, d = block.X.shape
    if n * d * (d + 3) / 2 > WHITE_VALUES:
        return _not("not computed: there are too many products of features")
    X = np.asarray(block.dense(), dtype=np.float64)
    if fit.fit_intercept:
        X = np.column_stack([np.ones(n), fit.centered(X) / np.where(fit.spread, fit.spread, 1)])
    first, second = np.triu_indices(X.shape[1])
    against = "the variance changes with squares or products of the features"
    return _variance(fit, X[:, first] * X[:, second], shares, against)


def _variance(fit: LeastSquares, X: Any, shares: np.ndarray, against: str) -> Result:
    """Test by n R^2 of a regression whether columns explain squared residuals (Koenker's form of
    Breusch and Pagan's test, without normality).
    """
    squares = shares**2
    with warnings.catch_warnings():  # about these columns, which are not the user's
        warnings.simplefilter("ignore", IllConditionedWarning)
        found = Inference(least_squares(lambda: iter([Batch(X, squares)])))
    if found.df_model == 0:
        return _not("not defined: no feature can explain the squares of the residuals")
    if found.df_residual <= 0:
        return _not("not defined: the test has as many regressors as rows")
    sizes = fit.y_norm + np.abs(fit.coef) @ fit.spread
    rounding = ROUNDING * (1 + sizes / fit.residual_norm) * squares.max()
    if np.ptp(squares) <= rounding:  # residuals of equal size: the squares have no variance
        return _tested(0.0, 1.0, against)
    lm = shares.size * found.r_squared
    return _tested(lm, float(chdtrc(found.df_model, lm)), against)


def _jarque_bera(shares: np.ndarray) -> Result:
    """Test normality by skewness and kurtosis."""
    about = shares - shares.mean()
    variance = np.mean(about**2)
    skew = float(np.mean(about**3) / variance**1.5)
    kurtosis = float(np.mean(about**4) / variance**2)
    jb = shares.size / 6 * (skew**2 + (kurtosis - 3) ** 2 / 4)
    more = f": skewness {skew:.3g} (0 if normal), kurtosis {kurtosis:.3g} (3)"
    return _tested(jb, float(np.exp(-jb / 2)), "residuals are not normal", more)


def _shapiro_wilk(fit: LeastSquares, shares: np.ndarray, copies: bool) -> Result:
    """Test normality by the sorted residuals."""
    if not 3 <= shares.size <= SHAPIRO_ROWS:
        return _not(f"not computed: its p-values hold for 3 to {SHAPIRO_ROWS:,} rows")
    if fit.n_rows - fit.rank < 2:
        return _not("not computed: with one degree of freedom, residuals have only one shape")
    if copies:
        return _not("not computed: its p-values do not hold for copies of a row")
    from scipy.stats import shapiro

    w, p = map(float, shapiro(shares))
    return _tested(w, p, "residuals are not normal")


def _durbin_watson(shares: np.ndarray, copies: bool) -> Result:
    """Measure the correlation of neighboring residuals."""
    if copies:
        return _not("not defined: copies of a row have no order")
    dw = float(np.sum(np.diff(shares) ** 2) / (shares @ shares))
    near = f"{1 - dw / 2:.2f}"
    return dw, np.nan, f"2 if neighboring rows are independent; their correlation is about {near}"


def _leverage(fit: LeastSquares, seen: _Examined, index: np.ndarray) -> Result:
    many, row = 2 * fit.rank / fit.n_rows, index[np.argmax(seen.leverage)]
    high = int((seen.leverage > many).sum())
    text = f"row {row}; {high:,} of {fit.n_rows:,} rows have more than twice the mean, {many:.3g}"
    if seen.decided.any():
        row = index[np.argmax(seen.decided)]
        text += f"; the leverage of row {row} is 1, so its residual is zero for every y"
    return float(seen.leverage.max()), np.nan, text


def _cook(seen: _Examined, index: np.ndarray) -> Result:
    if np.isnan(seen.cooks_distance).all():
        return _not("not defined: all leverages are 1")
    most = int(np.nanargmax(seen.cooks_distance))
    text = f"row {index[most]}; near 1, the estimates move far without the row"
    return float(seen.cooks_distance[most]), np.nan, text


def _studentized(fit: LeastSquares, seen: _Examined, index: np.ndarray) -> Result:
    """Test the row with the largest studentized residual as an outlier."""
    df = fit.n_rows - fit.rank - 1
    if df < 1:
        return _not("not defined: without one row, no residual degrees of freedom are left")
    if seen.perfect_without.any():
        row = index[np.argmax(seen.perfect_without)]
        return _not(
            f"not defined: without row {row} the fit is perfect, so the residual variance is zero"
        )
    if np.isnan(seen.studentized).all():
        return _not("not defined: all leverages are 1")
    row = int(np.nanargmax(np.abs(seen.studentized)))
    t = float(seen.studentized[row])
    p = min(1.0, fit.n_rows * float(t_tail(t, df)))
    return t, p, f"row {index[row]}; p is for the largest of {fit.n_rows:,} (Bonferroni)"
