"""Diagnostics of the rows of a fitted regression, linear or logistic."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from linsep.drawing import display
from linsep.errors import DataError
from linsep.inference.collinearity import Collinearity
from linsep.inference.summary import as_frame
from linsep.layout import table_lines, wrapped
from linsep.words import counted, escaped

#: rows that are printed
MOST_ROWS = 5
#: values of an array with a column for each feature that fit in memory: two gigabytes
MOST_VALUES = 1 << 28
#: smallest 1 - leverage that keeps eight of sixteen digits
CANCELLED = 1e-8
#: arrays with a value for each row, in the order of tables
OF_ROWS = (
    "pearson", "deviance", "working", "leverage", "standardized", "standardized_deviance",
    "studentized", "cooks_distance",
)  # fmt: skip


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
        The targets; for classes, 0 for the reference and 1 for the other class.
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
        arrays = (self.y, self.fitted, self.pearson, self.standardized, self.leverage)
        for k in rows:
            values = [_text(values[k]) for values in (*arrays, self.cooks_distance)]
            cells.append([escaped(str(self.index[k])), *values, *self._most_moved(k)])
        about = f"Rows of the largest {by}; DFBETAS of the estimate that moves most"
        table = table_lines(cells, [*[True] * (len(cells[0]) - 1), False])
        return [*wrapped(about), *table, counted_from(self)]

    def _most_moved(self, k: int) -> tuple[str, str]:
        row = self.dfbetas[k]
        if np.isnan(row).all():
            return "-", ""
        j = int(np.nanargmax(np.abs(row)))
        return f"{row[j]:+.3g}", self.collinearity.params[j]


def counted_from(found: Any) -> str:
    """Return what the rows of diagnostics are called by."""
    labeled = found.index.dtype == object
    return "Rows have the labels of the index." if labeled else "Rows are counted from 0."


def _text(value: float) -> str:
    return "-" if np.isnan(value) else f"{value + 0.0:.4g}"


def check_size(rows: int, features: int) -> None:
    """Raise DataError if an array of so many rows and features would not fit in memory."""
    if rows * features > MOST_VALUES:
        raise DataError(
            f"Diagnostics have one value for each of {rows:,} rows and {features:,} features, "
            "which do not fit in memory: fit and diagnose a sample of the rows, or fewer "
            "features.",
            code="too-large",
        )


def partial_residuals(X: Any, coef: np.ndarray, working: np.ndarray, centered: bool) -> np.ndarray:
    """Return the partial residuals of each feature, of shape (rows, features).

    Parameters
    ----------
    X : array or sparse matrix of shape (rows, features)
    coef : array of shape (features,), NaN for features left out
    working : array of shape (rows,), the working residuals
    centered : bool, whether the part of each feature has mean zero
    """
    parts = np.array(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    if centered:
        parts -= parts.mean(axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        parts *= coef
        if centered:
            parts -= parts.mean(axis=0)  # of the rounding error of the first mean
    return parts + working[:, None]


def in_parts(of: Callable[[Any], np.ndarray], X: Any, width: int) -> np.ndarray:
    """Return a function of rows as dense arrays, computed in parts, of shape (rows, width)."""
    found = np.empty((X.shape[0], width))
    for first in range(0, X.shape[0], 8192):
        part = X[first : first + 8192]
        found[first : first + 8192] = of(part.toarray() if hasattr(part, "toarray") else part)
    return found


def of_leverage_one(numbers: Sequence[Any]) -> list[str]:
    """Return a note on rows whose leverage is 1, if there are any."""
    if not len(numbers):
        return []
    listed = ", ".join(map(str, numbers[:5])) + (", ..." if len(numbers) > 5 else "")
    which = f"row {listed} is" if len(numbers) == 1 else f"rows {listed} is"
    return [
        f"The leverage of {which} 1: the fit passes through any y there, so the residual cannot "
        "be standardized, and an estimate is undetermined without the row."
    ]
