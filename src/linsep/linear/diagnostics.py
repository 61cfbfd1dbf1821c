"""Residuals and influences of the rows of a linear regression, and tests of its assumptions.

The five assumptions: y has a mean and a variance for every x (existence), rows are independent, the
mean is linear, the variance is constant, and the errors are normal. Data can contradict the last
four but cannot prove them; single rows can determine a fit. Each test follows the paper it cites.
"""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import gammaincc

from linsep.batches import Batch
from linsep.drawing import display
from linsep.errors import DataError
from linsep.inference.collinearity import Collinearity, collinearity
from linsep.inference.diagnostics import (
    CANCELLED,
    Diagnostics,
    check_size,
    counted_from,
    in_parts,
    of_leverage_one,
    partial_residuals,
)
from linsep.inference.factors import Term
from linsep.inference.summary import number_text, p_text
from linsep.inference.tails import f_tail, t_tail
from linsep.layout import table_lines
from linsep.linear.inference import ROUNDING, Inference
from linsep.linear.least_squares import IllConditionedWarning, LeastSquares, least_squares

#: relative change of a residual norm that rounding of the rows may make
SAME = 1e-3
#: share of the residual variance without a row that is rounding error: that fit is perfect
PERFECT = 1e-13


class Examined(NamedTuple):
    """Residuals of the rows of a fit, and the effect of leaving each out; arrays of shape (rows,),
    NaN where a number is not defined.

    Attributes
    ----------
    raw : residuals, zeros of a perfect fit
    residuals : multiplied by the square roots of the weights
    shares : these divided by the residual norm
    leverage : multiplied by the weights
    free : 1 - leverage
    standardized, studentized : internally and externally studentized residuals
    cooks_distance : Cook's distances
    decided : bool, whether the leverage is 1: the fit goes through the row whatever its y
    perfect_without : bool, whether the fit without the row is perfect
    undefined : why residuals cannot be tested; empty if they can
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


def examined(fit: LeastSquares, block: Batch) -> Examined:
    """Compute the residuals of a fit on its rows, and the deletion diagnostics; DataError if their
    residual sum of squares differs from the fit's.
    """
    weights = np.ones(block.y.size) if block.weights is None else block.weights
    raw = np.concatenate([fit.residuals(part.dense(), part.y) for part in block.cut(8192)])
    check_rows(fit, block.y * np.sqrt(weights), raw * np.sqrt(weights))
    raw = np.zeros_like(raw) if fit.perfect else raw
    residuals, leverage = raw * np.sqrt(weights), leverages(fit, block.X, weights)
    # Ratios depend on shapes, not sizes, and squares of unscaled residuals might overflow.
    shares = np.zeros_like(residuals) if fit.perfect else residuals / fit.residual_norm
    undefined = undefined_residuals(fit)
    free, standardized, studentized, cooks = (np.full(raw.size, np.nan) for _ in range(4))
    decided = perfect = np.zeros(raw.size, dtype=bool)
    if not undefined:
        df, free = fit.n_rows - fit.rank, 1 - leverage
        decided = free <= CANCELLED
        with np.errstate(divide="ignore", invalid="ignore"):
            without = 1 - shares * (shares / free)
            perfect = ~decided & (without <= PERFECT) & (df > 1)
            cooks = np.square(shares / free) * leverage * (df / fit.rank)
            studentized = shares * np.sqrt((df - 1) / (without * free))
            standardized = shares * np.sqrt(df / free)
        for values in (free, standardized, studentized, cooks):
            values[decided] = np.nan
        studentized[perfect | (df == 1)] = np.nan
    return Examined(
        raw, residuals, shares, leverage, free, standardized, studentized, cooks, decided, perfect,
        undefined,
    )  # fmt: skip


def check_rows(fit: LeastSquares, y: np.ndarray, residuals: np.ndarray) -> None:
    """Raise DataError if residuals belong to other rows; y is multiplied like them."""
    largest = float(np.abs(y).max()) or 1.0
    found, known = float(np.linalg.norm(residuals / largest)), fit.residual_norm / largest
    if abs(found - known) > SAME * (known + float(np.linalg.norm(y / largest)) * SAME):
        norm = found * largest
        raise DataError(
            "These are not the rows of the fit: their residual sum of squares is "
            f"{number_text(norm * norm)}, not {number_text(fit.rss)}.",
            code="other-rows",
        )


def undefined_residuals(fit: LeastSquares) -> str:
    """Return why residuals cannot be tested; empty if they can."""
    if not fit.rank:
        return "not defined: no weights were estimated"
    if fit.n_rows <= fit.rank:
        return "not defined: no residual degrees of freedom are left"
    return "not defined: the fit is perfect, so the residual variance is zero" * fit.perfect


def diagnosed(
    fit: LeastSquares, block: Batch, numbers: np.ndarray, index: np.ndarray,
    features: Sequence[str], terms: Sequence[Term],
) -> Diagnostics:  # fmt: skip
    """Return the diagnostics of a fit on its rows, which have numbers and labels (``index``)."""
    check_size(block.y.size, fit.coef.size)
    seen = examined(fit, block)
    with np.errstate(invalid="ignore", divide="ignore"):
        moved = (seen.studentized / np.sqrt(seen.free))[:, None]
    weights = np.ones(block.y.size) if block.weights is None else block.weights
    coef = np.where(fit.kept, fit.coef, np.nan)
    rows = index[seen.decided].tolist()
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
        partial=partial_residuals(block.X, coef, seen.raw, fit.fit_intercept),
        leverage=seen.leverage, standardized=seen.standardized,
        standardized_deviance=seen.standardized, studentized=seen.studentized,
        dfbetas=directions(fit, block.X, weights) * moved, cooks_distance=seen.cooks_distance,
        params=Inference(fit).estimates, collinearity=collinearity_of(fit, features, terms),
        notes=[*notes, *of_leverage_one(rows)], X=block.X,
    )  # fmt: skip


def leverages(fit: LeastSquares, X: Any, weights: np.ndarray) -> np.ndarray:
    """Return the leverages of the rows of a fit, of shape (rows,)."""
    inference = Inference(fit)
    return weights * in_parts(lambda rows: inference.leverage(rows)[:, None], X, 1)[:, 0]


def directions(fit: LeastSquares, X: Any, weights: np.ndarray) -> np.ndarray:
    """Return for each row and estimate the derivative of the estimate, in standard deviations of a
    residual variance of 1, by the residual times the square root of the weight.

    An array of shape (rows, parameters), the intercept first if there is one, NaN for features left
    out: (X' W X)^-1 x sqrt(w), each divided by the square root of the diagonal of (X' W X)^-1.
    """
    first = int(fit.fit_intercept)
    root = fit.root[:, 1 - first :]
    sizes = np.abs(root).max(axis=0, initial=0.0)
    sizes[sizes == 0] = np.nan
    units = root / sizes
    units /= np.sqrt(np.square(units).sum(axis=0))
    features = fit.root[first:, 1:].T

    def of(rows: np.ndarray) -> np.ndarray:
        parts = np.asarray(fit.centered(rows) @ features, dtype=np.float64)
        alike = np.full((len(parts), first), 1 / np.sqrt(fit.total_weight))
        return np.asarray(np.column_stack([alike, parts]) @ units)

    return in_parts(of, X, root.shape[1]) * np.sqrt(weights)[:, None]


def collinearity_of(
    fit: LeastSquares, features: Sequence[str], terms: Sequence[Term]
) -> Collinearity:
    """Return the collinearity of the columns of a fit."""
    first, ones = int(fit.fit_intercept), np.sqrt(fit.total_weight)
    lengths = np.concatenate([[ones] * first, np.hypot(fit.spread, ones * fit.means)])
    return collinearity(fit.root[:, 1 - first :], lengths, fit.inflation, features, terms)


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


@dataclass(frozen=True)
class Assumptions:
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

    def __str__(self) -> str:
        right = [False, False, True, True, False]
        lines = table_lines(self.rows(), right, sentences=True)
        if any("row " in found.conclusion for found in self.findings):
            lines += ["", counted_from(self)]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head, *body = self.rows()
        first = "".join(f"<th>{escape(cell)}</th>" for cell in head)
        rest = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in body
        )
        return f"<table><tr>{first}</tr>{rest}</table>"


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

#: statistic, p and conclusion of a test
Result = tuple[float, float, str]


def check_assumptions(
    fit: LeastSquares, block: Batch, numbers: np.ndarray, index: np.ndarray
) -> Assumptions:
    """Test the assumptions of a fit on its rows, which have numbers, equal for copies of a row, and
    labels; DataError if their residual sum of squares differs from the fit's.
    """
    copies, seen = bool((np.diff(numbers) == 0).any()), examined(fit, block)
    no, shares = seen.undefined, seen.shares
    results = [
        _reset(fit, block, (block.y - fit.mean_y) - seen.raw, no),
        _variance(fit, block.X, shares, no, "the variance changes with the features"),
        _white(fit, block, shares, no),
        _jarque_bera(shares, no),
        _shapiro_wilk(fit, shares, copies, no),
        _durbin_watson(shares, copies, no),
        _leverage(fit, seen, index),
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


def _tested(statistic: float, p: float, against: str, more: str = "") -> Result:
    """Return the result of a test with a p-value."""
    return statistic, p, (against if p < DOUBT else f"not rejected at {DOUBT:.0%}") + more


def _not(why: str) -> Result:
    return np.nan, np.nan, why


def _reset(fit: LeastSquares, block: Batch, about: np.ndarray, undefined: str) -> Result:
    """Test linearity by squares and cubes of the centered predictions (RESET)."""
    against = "not linear: powers of the predictions explain more"
    if undefined or not fit.explained_norm > NOTHING * fit.y_norm:
        return _not(undefined or "not defined: the predictions are the same in all rows")
    about = about / np.abs(about).max()
    powers = np.column_stack([about**2, about**3])
    more = least_squares(lambda: _beside(block, powers), fit_intercept=fit.fit_intercept)
    added, rest = more.rank - fit.rank, fit.n_rows - more.rank
    if added <= 0 or rest <= 0:
        return _not("not defined: powers of the predictions leave no degrees of freedom")
    if more.perfect:
        return _tested(np.inf, 0.0, f"{against}, all of the remaining variance")
    left = (more.residual_norm / fit.residual_norm) ** 2
    f = max(1 - left, 0.0) / added / (left / rest)
    return _tested(f, float(f_tail(f, added, rest)), against)


def _beside(block: Batch, more: np.ndarray) -> Iterator[Batch]:
    """Yield the rows with more columns, in parts, to avoid a copy of the whole."""
    rows = 1 << 14
    for part, first in zip(block.cut(rows), range(0, block.y.size, rows), strict=True):
        added = more[first : first + rows]
        both = sp.hstack([part.X, added], "csr") if sp.issparse(part.X) else None
        yield part._replace(X=np.column_stack([part.X, added]) if both is None else both)


def _white(fit: LeastSquares, block: Batch, residuals: np.ndarray, undefined: str) -> Result:
    """Test whether features, their squares and products explain squared residuals."""
    n, d = block.X.shape
    if undefined or n * d * (d + 3) / 2 > WHITE_VALUES:
        return _not(undefined or "not computed: there are too many products of features")
    X = np.asarray(block.dense(), dtype=np.float64)
    if fit.fit_intercept:
        X = np.column_stack([np.ones(n), fit.centered(X) / np.where(fit.spread, fit.spread, 1)])
    first, second = np.triu_indices(X.shape[1])
    against = "the variance changes with squares or products of the features"
    return _variance(fit, X[:, first] * X[:, second], residuals, undefined, against)


def _variance(
    fit: LeastSquares, X: Any, residuals: np.ndarray, undefined: str, against: str
) -> Result:
    """Test by n R^2 of a regression whether columns explain squared residuals (Koenker's form of
    Breusch and Pagan's test, without normality).
    """
    if undefined:
        return _not(undefined)
    squares = residuals**2
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
    lm = residuals.size * found.r_squared
    return _tested(lm, float(gammaincc(found.df_model / 2, lm / 2)), against)


def _jarque_bera(residuals: np.ndarray, undefined: str) -> Result:
    """Test normality by skewness and kurtosis."""
    if undefined:
        return _not(undefined)
    about = residuals - residuals.mean()
    variance = np.mean(about**2)
    skew = float(np.mean(about**3) / variance**1.5)
    kurtosis = float(np.mean(about**4) / variance**2)
    jb = residuals.size / 6 * (skew**2 + (kurtosis - 3) ** 2 / 4)
    more = f": skewness {skew:.3g} (0 if normal), kurtosis {kurtosis:.3g} (3)"
    return _tested(jb, float(np.exp(-jb / 2)), "residuals are not normal", more)


def _shapiro_wilk(fit: LeastSquares, residuals: np.ndarray, copies: bool, undefined: str) -> Result:
    """Test normality by the sorted residuals."""
    if not undefined and not 3 <= residuals.size <= SHAPIRO_ROWS:
        undefined = f"not computed: its p-values hold for 3 to {SHAPIRO_ROWS:,} rows"
    elif not undefined and fit.n_rows - fit.rank < 2:
        undefined = "not computed: with one degree of freedom, residuals have only one shape"
    elif not undefined and copies:
        undefined = "not computed: its p-values do not hold for copies of a row"
    if undefined:
        return _not(undefined)
    from scipy.stats import shapiro

    w, p = map(float, shapiro(residuals))
    return _tested(w, p, "residuals are not normal")


def _durbin_watson(residuals: np.ndarray, copies: bool, undefined: str) -> Result:
    """Measure the correlation of neighboring residuals."""
    if undefined or copies:
        return _not(undefined or "not defined: copies of a row have no order")
    dw = float(np.sum(np.diff(residuals) ** 2) / (residuals @ residuals))
    near = f"{1 - dw / 2:.2f}"
    return dw, np.nan, f"2 if neighboring rows are independent; their correlation is about {near}"


def _leverage(fit: LeastSquares, seen: Examined, index: np.ndarray) -> Result:
    many, row = 2 * fit.rank / fit.n_rows, index[np.argmax(seen.leverage)]
    high = int((seen.leverage > many).sum())
    text = f"row {row}; {high:,} of {fit.n_rows:,} rows have more than twice the mean, {many:.3g}"
    if seen.decided.any():
        row = index[np.argmax(seen.decided)]
        text += f"; the leverage of row {row} is 1, so its residual is zero for every y"
    return float(seen.leverage.max()), np.nan, text


def _cook(seen: Examined, index: np.ndarray) -> Result:
    if np.isnan(seen.cooks_distance).all():
        return _not(seen.undefined or "not defined: all leverages are 1")
    most = int(np.nanargmax(seen.cooks_distance))
    text = f"row {index[most]}; near 1, the estimates move far without the row"
    return float(seen.cooks_distance[most]), np.nan, text


def _studentized(fit: LeastSquares, seen: Examined, index: np.ndarray) -> Result:
    """Test the row with the largest studentized residual as an outlier."""
    df = fit.n_rows - fit.rank - 1
    if seen.undefined or df < 1:
        why = "not defined: without one row, no residual degrees of freedom are left"
        return _not(seen.undefined or why)
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
