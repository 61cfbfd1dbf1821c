"""What data can say about the assumptions that the tests of a linear regression rest on.

Five are taught: the mean of y exists for every x, and so does its variance (existence); rows do not
depend on each other; means lie on a line; the variance is the same everywhere; and deviations are
normal. Rows can speak against the last four, and single rows can decide a fit: each test
below has the formula of the paper it names. None can prove an assumption.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import betainc, gammaincc

from linsep.regression.blocks import Block
from linsep.regression.inference import Inference
from linsep.regression.least_squares import LeastSquares, least_squares
from linsep.regression.summary import number_text, p_text

#: White's test has a column for every product of two features: it is asked up to so many values
WHITE_VALUES = 1 << 23
#: Shapiro and Wilk's p-values hold up to so many rows
SHAPIRO_ROWS = 5000
#: p-values below this speak against an assumption
DOUBT = 0.05


class Finding(NamedTuple):
    """One test of one assumption.

    Attributes
    ----------
    assumption : "linearity", "equal variance", "normality", "independence" or "influence"
    test : str, its name
    statistic : float, NaN where it cannot be asked of these rows
    p_value : float, NaN where there is none
    said : str, a sentence of what the numbers mean
    source : str, the paper
    """

    assumption: str
    test: str
    statistic: float
    p_value: float
    said: str
    source: str


@dataclass(frozen=True)
class Assumptions:
    """What the rows say; ``print`` it.

    Attributes
    ----------
    findings : list of Finding
    residuals : array of shape (rows,)
        Of rows of positive weight, times the roots of their weights.
    fitted : array of shape (rows,), their predictions
    leverage : array of shape (rows,), between 0 and 1
    studentized : array of shape (rows,)
        Residuals over their standard deviation as the other rows estimate it; with n - p - 1
        degrees of freedom they follow Student's t.
    cooks_distance : array of shape (rows,)
        How far the estimates move when the row is left out (Cook, Technometrics 19, 1977, 15-18).
    """

    findings: list[Finding]
    residuals: np.ndarray
    fitted: np.ndarray
    leverage: np.ndarray
    studentized: np.ndarray
    cooks_distance: np.ndarray

    def __getitem__(self, test: str) -> Finding:
        """The finding of the test of this name."""
        for finding in self.findings:
            if finding.test == test:
                return finding
        known = ", ".join(repr(finding.test) for finding in self.findings)
        raise KeyError(f"There is no test {test!r}; there are {known}.")

    def rows(self) -> list[list[str]]:
        """The cells of the table, the names of its columns first."""
        cells = [["assumption", "test", "statistic", "p", "what it says"]]
        for found in self.findings:
            numbers = [number_text(found.statistic), p_text(found.p_value)]
            cells.append([found.assumption, found.test, *numbers, found.said])
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


def check_assumptions(fit: LeastSquares, block: Block) -> Assumptions:
    """Ask the rows of a fit for all that speaks against its assumptions.

    Parameters
    ----------
    fit : LeastSquares
    block : Block
        All rows of the fit, in their order.
    """
    weights = np.ones(block.y.size) if block.weights is None else block.weights
    fitted = np.asarray(block.X @ fit.coef, dtype=np.float64) + fit.intercept
    residuals = np.asarray(block.y - fitted, dtype=np.float64) * np.sqrt(weights)
    if fit.perfect:
        residuals = np.zeros_like(residuals)
    leverage = weights * _leverage(Inference(fit), block)
    studentized, cooks = _influence(fit, residuals, leverage)
    findings = [
        _reset(fit, block, fitted),
        _breusch_pagan(fit, block, residuals),
        _white(fit, block, residuals),
        _jarque_bera(fit, residuals),
        _shapiro_wilk(fit, residuals),
        _durbin_watson(fit, residuals),
        *_influential(fit, leverage, studentized, cooks),
    ]
    return Assumptions(findings, residuals, fitted, leverage, studentized, cooks)


def _verdict(p: float, against: str) -> str:
    """What a p-value says."""
    if np.isnan(p):
        return "cannot be asked of these rows"
    return against if p < DOUBT else "nothing against it"


def _leverage(inference: Inference, block: Block) -> np.ndarray:
    parts = [inference.leverage(part.dense()) for part in block.cut(8192)]
    return np.concatenate(parts).astype(np.float64)


def _residuals_wanted(fit: LeastSquares) -> bool:
    """Whether residuals are more than rounding."""
    return not fit.perfect and fit.n_rows > fit.rank


def _tail_f(f: float, a: int, b: int) -> float:
    return float(betainc(b / 2, a / 2, b / (b + a * f)))


def _reset(fit: LeastSquares, block: Block, fitted: np.ndarray) -> Finding:
    """Do squares and cubes of the predictions explain more?"""
    f = p = np.nan
    spread = float(np.std(fitted))
    if _residuals_wanted(fit) and spread > 0:
        about = fitted - (fitted.mean() if fit.fit_intercept else 0.0)
        about /= np.abs(about).max()
        powers = np.column_stack([about**2, about**3])
        more = least_squares(lambda: _beside(block, powers), fit_intercept=fit.fit_intercept)
        added, rest = more.rank - fit.rank, fit.n_rows - more.rank
        if added > 0 and rest > 0 and not more.perfect:
            f = max(fit.rss - more.rss, 0.0) / added / (more.rss / rest)
            p = _tail_f(f, added, rest)
    return Finding(
        "linearity", "RESET", f, p, _verdict(p, "no line: powers of the predictions explain more"),
        "Ramsey, Journal of the Royal Statistical Society B 31, 1969, 350-371",
    )  # fmt: skip


def _beside(block: Block, more: np.ndarray) -> Iterator[Block]:
    """The rows with more columns, in parts, so that they are not copied as a whole."""
    rows = 1 << 14
    for part, first in zip(block.cut(rows), range(0, block.y.size, rows), strict=True):
        added = more[first : first + rows]
        both = sp.hstack([part.X, added], "csr") if sp.issparse(part.X) else None
        yield part._replace(X=np.column_stack([part.X, added]) if both is None else both)


def _breusch_pagan(fit: LeastSquares, block: Block, residuals: np.ndarray) -> Finding:
    """Do the features explain the squares of the residuals? (Koenker: without normality.)"""
    lm, p = _explained(fit, block.X, residuals)
    return Finding(
        "equal variance", "Breusch-Pagan", lm, p,
        _verdict(p, "the variance changes with the features"),
        "Breusch and Pagan, Econometrica 47, 1979, 1287-1294; Koenker, Journal of Econometrics 17, "
        "1981, 107-112",
    )  # fmt: skip


def _white(fit: LeastSquares, block: Block, residuals: np.ndarray) -> Finding:
    """Do the features, their squares and products?"""
    n, d = block.X.shape
    lm = p = np.nan
    if n * d * (d + 3) / 2 <= WHITE_VALUES:
        X = np.asarray(block.dense(), dtype=np.float64)
        if fit.fit_intercept:
            X = np.column_stack([np.ones(n), (X - fit.means) / np.where(fit.spread, fit.spread, 1)])
        first, second = np.triu_indices(X.shape[1])
        lm, p = _explained(fit, X[:, first] * X[:, second], residuals)
    return Finding(
        "equal variance", "White", lm, p,
        _verdict(p, "the variance changes with squares or products of the features"),
        "White, Econometrica 48, 1980, 817-838",
    )  # fmt: skip


def _explained(fit: LeastSquares, X: Any, residuals: np.ndarray) -> tuple[float, float]:
    """n R^2 of a regression of the squared residuals, and its tail of chi-squared."""
    if not _residuals_wanted(fit):
        return np.nan, np.nan
    squares = residuals**2 / (residuals @ residuals)
    found = Inference(least_squares(lambda: iter([Block(X, squares, None)])))
    if found.df_model == 0 or np.isnan(found.r_squared) or found.df_residual <= 0:
        return np.nan, np.nan
    lm = residuals.size * found.r_squared
    return lm, float(gammaincc(found.df_model / 2, lm / 2))


def _jarque_bera(fit: LeastSquares, residuals: np.ndarray) -> Finding:
    """Are skewness and kurtosis those of a normal distribution?"""
    jb = p = np.nan
    said = _verdict(np.nan, "")
    if _residuals_wanted(fit):
        about = residuals - residuals.mean()
        variance = np.mean(about**2)
        skew = float(np.mean(about**3) / variance**1.5)
        kurtosis = float(np.mean(about**4) / variance**2)
        jb = residuals.size / 6 * (skew**2 + (kurtosis - 3) ** 2 / 4)
        p = float(np.exp(-jb / 2))
        said = _verdict(p, "residuals are not normal") + (
            f": skewness {skew:.3g} (0 if normal), kurtosis {kurtosis:.3g} (3)"
        )
    return Finding(
        "normality", "Jarque-Bera", jb, p, said,
        "Jarque and Bera, International Statistical Review 55, 1987, 163-172",
    )  # fmt: skip


def _shapiro_wilk(fit: LeastSquares, residuals: np.ndarray) -> Finding:
    """Are the residuals, in order, on the line of a normal sample?"""
    w = p = np.nan
    if _residuals_wanted(fit) and 3 <= residuals.size <= SHAPIRO_ROWS:
        from scipy.stats import shapiro

        w, p = map(float, shapiro(residuals))
    return Finding(
        "normality", "Shapiro-Wilk", w, p, _verdict(p, "residuals are not normal"),
        "Shapiro and Wilk, Biometrika 52, 1965, 591-611",
    )  # fmt: skip


def _durbin_watson(fit: LeastSquares, residuals: np.ndarray) -> Finding:
    """Are neighbouring residuals alike?"""
    dw, said = np.nan, _verdict(np.nan, "")
    if _residuals_wanted(fit):
        dw = float(np.sum(np.diff(residuals) ** 2) / (residuals @ residuals))
        said = (
            f"2 if neighbouring rows are independent; their correlation is about {1 - dw / 2:.2f}"
        )
    return Finding(
        "independence", "Durbin-Watson", dw, np.nan, said,
        "Durbin and Watson, Biometrika 38, 1951, 159-177",
    )  # fmt: skip


def _influence(
    fit: LeastSquares, residuals: np.ndarray, leverage: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Studentized residuals and Cook's distances."""
    nothing = np.full(residuals.size, np.nan)
    df = fit.n_rows - fit.rank
    if not _residuals_wanted(fit):
        return nothing, nothing
    variance, free = fit.rss / df, 1 - leverage
    free = np.where(free > 1e-12, free, np.nan)
    cooks = residuals**2 / (fit.rank * variance) * leverage / free**2
    if df < 2:
        return nothing, cooks
    without = (fit.rss - residuals**2 / free) / (df - 1)
    return residuals / np.sqrt(np.where(without > 0, without, np.nan) * free), cooks


def _influential(
    fit: LeastSquares, leverage: np.ndarray, studentized: np.ndarray, cooks: np.ndarray
) -> list[Finding]:
    """The rows that stand out most."""
    many = 2 * fit.rank / fit.n_rows
    row = int(np.argmax(leverage))
    high = int((leverage > many).sum())
    said = f"row {row}; {high:,} of {fit.n_rows:,} rows have more than twice the mean, {many:.3g}"
    found = [
        Finding(
            "influence", "leverage", float(leverage[row]), np.nan, said,
            "Hoaglin and Welsch, American Statistician 32, 1978, 17-22",
        )
    ]  # fmt: skip
    distance = p = t = np.nan
    said_cook = said_t = _verdict(np.nan, "")
    if not np.isnan(cooks).all():
        row = int(np.nanargmax(cooks))
        distance = float(cooks[row])
        said_cook = f"row {row}; the estimates move much without it where this is near 1"
    if not np.isnan(studentized).all():
        row, df = int(np.nanargmax(np.abs(studentized))), fit.n_rows - fit.rank - 1
        t = float(studentized[row])
        p = min(1.0, fit.n_rows * float(betainc(df / 2, 0.5, df / (df + t * t))))
        said_t = f"row {row}; p is of the largest of {fit.n_rows:,} (Bonferroni)"
    found += [
        Finding(
            "influence", "Cook's distance", distance, np.nan, said_cook,
            "Cook, Technometrics 19, 1977, 15-18",
        ),
        Finding(
            "influence", "studentized residual", t, p, said_t,
            "Belsley, Kuh and Welsch, Regression Diagnostics, 1980, section 2.1",
        ),
    ]  # fmt: skip
    return found
