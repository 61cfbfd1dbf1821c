"""Residuals, leverages and influences of the rows of a fitted regression, and tests of fit.

Both regressions solve weighted least squares: the linear one with the weights of the rows, the
logistic one, in the last step of Newton's method, with these times p (1 - p). Leverages, influences
and collinearity are computed from the columns of this problem in an orthonormal basis.

The five assumptions of a linear regression: y has a mean and a variance for every x (existence),
rows are independent, the mean is linear, the variance is constant, and the errors are normal. Data
can contradict the last four but cannot prove them; single rows can determine a fit. Each test
follows the paper it cites.
"""

from dataclasses import dataclass, field
from numbers import Integral
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg as sla
from scipy.special import chdtrc, expit, xlogy

from linsep.batches import Batch
from linsep.drawing import display
from linsep.errors import DataError, ParameterError
from linsep.estimators._common import labels
from linsep.estimators._common.frames import Named
from linsep.estimators._common.predicting import codes_in
from linsep.inference.collinearity import Basis, Collinearity, collinearity_of, dense, triangle
from linsep.inference.robust import refuse
from linsep.inference.table import Printed, Table, number_text, p_text, t_tail, upper_tail
from linsep.layout import table_lines, wrapped
from linsep.parameters import fitted_parameter
from linsep.words import counted

#: rows that are printed, and values of an array with a column for each feature that fit in memory
MOST_ROWS, MOST_VALUES = 5, 1 << 28
#: smallest 1 - leverage that keeps eight of sixteen digits, and share of the residual variance
#: without a row that is rounding error: that fit is perfect
CANCELLED, PERFECT = 1e-8, 1e-13
#: relative change that rounding of the rows may make, of a residual norm, and of a deviance as a
#: share of that without features; the same of a limit and of the weights that stand for it
SAME, SAME_DEVIANCE, NEAR_LIMIT = 1e-3, 1e-6, 0.1
#: states of fits whose likelihood has no maximum
SEPARATED = ("separable", "quasi-separable")
#: largest log-odds in exponents: exp of more would overflow
MOST_ODDS = 700.0
#: arrays with a value for each row, in the order of tables, first those of all fits
OF_ROWS = (
    "pearson", "deviance", "working", "leverage", "standardized", "standardized_deviance",
    "studentized", "cooks_distance",
)  # fmt: skip
#: most values of the matrix of White's test, with a column for each product of two features, and
#: most rows for which p-values of the Shapiro-Wilk test are valid
WHITE_VALUES, SHAPIRO_ROWS = 1 << 23, 5000
#: what is said of rows without labels
COUNTED = "Rows are counted from 0."
#: p-values below this contradict an assumption
DOUBT = 0.05
#: share of a column, of the variance of y, or of equal squares of residuals, that is rounding error
NOTHING = 1e-12


@dataclass(frozen=True, repr=False)
class Diagnostics(Printed):
    """Residuals, leverages and influences of the rows of a fit, and collinearity; ``print`` it.

    Rows of weight 0 are left out. Undefined numbers are NaN; ``notes`` give the reason.

    Attributes
    ----------
    title : str
    numbers, index : arrays of shape (rows,)
        The number of each row in the data as given, from 0, and its label in the index of the data
        frame, or the number. With frequency weights w, a row is repeated w times.
    y, fitted, weights : arrays of shape (rows,)
        The targets and their predictions. For classes, 0 for the reference and 1 for the other
        class, and the probabilities of the other; for counts, shares.
    pearson, deviance, working : arrays of shape (rows,), residuals
        (y - fitted) sqrt(weight) divided by the square root of the variance function (1 for
        numbers, p (1 - p) for classes); signed square roots of the contributions to the deviance;
        (y - fitted) divided by the derivative of the mean by the linear predictor.
    partial : array of shape (rows, features)
        Working residuals plus the part of the linear predictor that is due to a feature, whose mean
        over the rows is zero if there is an intercept; NaN for features left out.
    leverage : array of shape (rows,), between 0 and 1, the diagonal of the hat matrix
    standardized, standardized_deviance : arrays of shape (rows,)
        Pearson and deviance residuals divided by their standard deviation, which falls with the
        leverage (internally studentized). NaN if the leverage is 1.
    studentized : array of shape (rows,)
        For numbers: residuals divided by their standard deviation as estimated from the other rows,
        which follow Student's t; NaN if these fit perfectly. For classes: signed square roots of
        the approximate decrease of the deviance when the row is left out (Williams 1987); NaN with
        Firth's penalty.
    dfbetas : array of shape (rows, parameters)
        The change of each estimate, in standard errors, when the row is added to the others. For
        numbers it is exact, with the residual variance of the other rows. For classes it is one
        Newton step from the fit (Pregibon 1981), in standard errors of the fit; with Firth's
        penalty on Firth's score, y - p + h (1/2 - p), with the leverages h held fixed.
    cooks_distance : array of shape (rows,)
        Distance that all estimates move by the same step, in the metric of their covariance.
    params : array of shape (parameters,), the estimates, as ``params_`` of the model
    collinearity : Collinearity
    notes : list of str
    X : array or sparse matrix of shape (rows, features)
    labels : pair of str, the reference and the other class; empty for numbers

    References
    ----------
    D. Belsley, E. Kuh and R. Welsch, Regression Diagnostics, Wiley 1980. D. Pregibon, Annals of
    Statistics 9, 1981, 705-724. D. Williams, Applied Statistics 36, 1987, 181-191.
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
    X: Any = None
    labels: Any = ()

    header, _apart = (), True

    vif = property(attrgetter("collinearity.vif"), doc="See :class:`Collinearity`.")
    condition_indices = property(attrgetter("collinearity.condition_indices"), doc=vif.__doc__)
    variance_proportions = property(
        attrgetter("collinearity.variance_proportions"), doc=vif.__doc__
    )

    def most_influential(self, most: int = MOST_ROWS) -> list[Any]:
        """Return the labels (``index``) of the rows with the largest Cook's distances, or with the
        largest residuals where these are undefined; copies of a row appear once.
        """
        return self.index[self._largest(most)].tolist()

    def _largest(self, most: int = MOST_ROWS) -> np.ndarray:
        choices = self.cooks_distance, self.standardized, self.pearson
        sizes = next(one for one in choices if one is self.pearson or not np.isnan(one).all())
        once = np.unique(self.numbers, return_index=True)[1]
        known = once[~np.isnan(sizes[once])]
        return known[np.argsort(-np.abs(sizes[known]), kind="stable")[:most]]

    @property
    def columns(self) -> dict[str, list[Any]]:
        """A row per row of the fit: ``row`` (its label), ``y``, ``weight``, ``fitted``, ``pearson``
        to ``cooks_distance``, and ``partial NAME`` and ``dfbetas NAME`` of features and parameters.
        """
        found = {"row": self.index, "y": self.y, "weight": self.weights, "fitted": self.fitted}
        found |= {name: getattr(self, name) for name in OF_ROWS}
        known = self.collinearity
        for what, names in (("partial", known.features), ("dfbetas", known.params)):
            called = [f"{what} {name}" for name in names]
            found |= dict(zip(called, getattr(self, what).T, strict=True))
        return {name: values.tolist() for name, values in found.items()}

    def to_dict(self) -> dict[str, Any]:
        """Return everything but X as plain JSON."""
        found = super().to_dict() | self.collinearity.to_dict()
        for row in found["rows"]:
            row["row"] = row["row"] if isinstance(row["row"], int | float) else str(row["row"])
        test = {"hosmer_lemeshow": self.hosmer_lemeshow().to_dict()} if self.labels else {}
        return found | test

    def hosmer_lemeshow(self, groups: int = 10) -> "HosmerLemeshow":
        """Run the Hosmer-Lemeshow test of fit of probabilities, on groups of about equal size.

        Parameters
        ----------
        groups : int of at least 3, default=10

        Raises
        ------
        DataError
            For a linear regression.
        """
        if not self.labels:
            raise DataError("Only probabilities have this test.", code="unsupported")
        known = not np.isnan(self.leverage).all()
        return hosmer_lemeshow(self.y, self.fitted, self.weights, groups, known)

    def plot(self, **kwargs: Any) -> Any:
        """Plot residuals against fitted values, influence, and partial residuals, by
        :meth:`linsep.plot.DiagnosticsDisplay.from_diagnostics`, which takes the arguments.
        """
        return display("DiagnosticsDisplay").from_diagnostics(self, **kwargs)

    def _cells(self, digits: int = 4) -> list[list[str]]:
        cells = [
            ["row", "y", "fitted", "pearson", "standardized", "leverage", "Cook's", "DFBETAS", ""]
        ]
        arrays = (self.y, self.fitted, self.pearson, self.standardized, self.leverage,
                  self.cooks_distance)  # fmt: skip
        for k in self._largest():
            moved = np.nan_to_num(self.dfbetas[k])
            most = int(np.argmax(np.abs(moved)))
            moves = [f"{moved[most]:+.3g}", self.collinearity.params[most]]
            values = [number_text(values[k], digits) for values in arrays]
            cells.append([str(self.index[k]), *values, *(moves if moved[most] else ["-", ""])])
        return cells

    def _lines(self) -> list[str]:
        by = "residual" if np.isnan(self.cooks_distance).all() else "Cook's distance"
        lines = wrapped(f"Rows of the largest {by}; DFBETAS of the estimate that moves most")
        lines += [*table_lines(self._cells(), [True] * 8 + [False]), _counted_from(self.index)]
        if self.labels:
            test = self.hosmer_lemeshow()
            lines += ["", *(line for text in (test.title, *test.notes) for line in wrapped(text))]
        more = self.collinearity.lines()
        return lines + [""] * bool(more) + more


def _counted_from(index: np.ndarray) -> str:
    return "Rows have the labels of the index." if index.dtype == object else COUNTED


class HosmerLemeshow(Table):
    """Result of the Hosmer-Lemeshow test, with its table of groups; ``print`` it.

    Attributes
    ----------
    statistic : float
        Sum over groups and both classes of (observed - expected)^2 / expected.
    df : int, degrees of freedom, the number of groups minus 2
    p_value : float, from the chi-squared distribution; NaN if it is not defined
    low, high, rows, observed, expected : arrays of shape (groups,), also the ``columns``
        The smallest and the largest probability of a group, the total weight of its rows, that of
        its rows of class 1, and the sum of their probabilities.

    References
    ----------
    D. Hosmer and S. Lemeshow, Communications in Statistics A 10, 1980, 1043-1069.
    """

    def __getattr__(self, name: str) -> np.ndarray:
        if name not in ("low", "high", "rows", "observed", "expected"):
            raise AttributeError(name)
        return np.array(self.columns[name])

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON; numbers may be NaN."""
        numbers = {"statistic": self.statistic, "df": self.df, "p_value": self.p_value}
        return numbers | self.columns | {"notes": self.notes}


def hosmer_lemeshow(
    y: np.ndarray, p: np.ndarray, weights: np.ndarray, groups: int, known: bool = True
) -> HosmerLemeshow:
    """Run the test of outcomes ``y`` with probabilities ``p`` in so many groups; without p if the
    maximum of the likelihood is not known.

    Groups lie between quantiles of the probabilities, as in R's hoslem.test; a probability equal
    to a quantile is in the lower group, and equal quantiles make one group less.
    """
    if not isinstance(groups, Integral) or isinstance(groups, bool) or groups < 3:
        raise ParameterError(f"groups is {groups!r}: give a whole number of at least 3.",
                             option="groups", value=groups)  # fmt: skip
    order = np.argsort(p, kind="stable")
    y, p, weights = y[order], p[order], weights[order]
    # weighted quantiles, rounded as R's (type 7)
    counts = np.cumsum(weights)
    at = 1.0 + max(counts[-1] - 1.0, 0.0) * (np.arange(1, groups) * (1 / groups))
    low, high = (
        p[np.minimum(np.searchsorted(counts, place), p.size - 1)]
        for place in (np.floor(at), np.ceil(at))
    )
    share = at - np.floor(at)
    edges = np.where(low == high, low, (1.0 - share) * low + share * high)
    edges = np.unique(edges[(edges > p[0]) & (edges < p[-1])])
    _, first, places = np.unique(np.searchsorted(edges, p), return_index=True, return_inverse=True)
    rows, observed, expected = (np.bincount(places, weights * part) for part in (1.0, y, p))
    last = np.append(first[1:], p.size) - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        # (o - e)^2 / e + ((n - o) - (n - e))^2 / (n - e)
        parts = (observed - expected) ** 2 * (1 / expected + 1 / (rows - expected))
    df, notes = rows.size - 2, []
    statistic = float(parts[observed != expected].sum()) if df > 0 else np.nan
    p_value = float(chdtrc(df, statistic)) if known else np.nan
    if df < 1 or not known:
        notes = ["p is not defined, for too few groups, or no maximum of the likelihood."]
    elif rows.size < groups:
        notes = [f"Tied probabilities leave {rows.size} of {groups} groups."]
    found = {"low": p[first], "high": p[last], "rows": rows, "observed": observed}
    columns = {name: part.tolist() for name, part in (found | {"expected": expected}).items()}
    numbers = f"chi-squared {number_text(statistic)}, df {max(df, 0)}, p {p_text(p_value)}"
    title = f"Hosmer-Lemeshow, {counted(rows.size, 'group')}: {numbers}"
    return HosmerLemeshow(title, [], columns, notes, statistic, p_value, df)


def _check_size(rows: int, features: int) -> None:
    if rows * features > MOST_VALUES:
        raise DataError(
            f"Diagnostics of {rows:,} rows and {features:,} features do not fit in memory: fit "
            "and diagnose a sample of the rows, or fewer features.", code="too-large",
        )  # fmt: skip


def _check_rows(close: bool, what: str, found: float, fitted: float) -> None:
    """Raise DataError unless a number of the rows is close to that of the fit."""
    if not close:
        raise DataError(
            f"These are not the rows of the fit: their {what} is {number_text(found)}, not "
            f"{number_text(fitted)}.", code="other-rows",
        )  # fmt: skip


def _made(model: Any, basis: Basis | None, X: Any, working: np.ndarray, **more: Any) -> Diagnostics:
    first, parts = model._params.size - X.shape[1], dense(X)
    for _ in range(2 * first):  # twice, as means are rounded
        parts = parts - parts.mean(axis=0)
    return Diagnostics(
        X=X, working=working, partial=parts * model._params[first:] + working[:, None],
        params=model._params, collinearity=collinearity_of(model, basis), **more,
    )  # fmt: skip


@np.errstate(divide="ignore", invalid="ignore")
def _influences(
    basis: Basis, sigma: float, pearson: np.ndarray, deviance: np.ndarray, score: np.ndarray,
    df: float | None = None,
) -> dict[str, np.ndarray]:  # fmt: skip
    """Return leverages, standardized residuals and what changes when a row is left out.

    That is exact for residuals of numbers with ``df`` degrees of freedom; else it is one Newton
    step on the score. All are NaN if the standard deviation of the residuals, ``sigma``, is.
    """
    leverage = np.square(basis.Q).sum(axis=1)
    free = np.where(leverage < 1.0 - CANCELLED, 1.0 - leverage, np.nan)
    units = basis.root / np.linalg.norm(basis.root, axis=0)
    standardized, of_deviance = (one / (sigma * np.sqrt(free)) for one in (pearson, deviance))
    step = score / (sigma * free)
    cooks = leverage * np.square(step) / len(basis.root)
    if df is None:
        sizes = np.hypot(deviance / sigma, np.sqrt(leverage) * standardized)
        studentized = np.sign(deviance) * sizes
    else:
        without = 1.0 - np.square(standardized) / df  # the share of the residual variance
        without[(without <= PERFECT) | (df == 1)] = np.nan
        studentized = standardized * np.sqrt((df - 1.0) / (df * without))
        step = studentized / np.sqrt(free)
    return {
        "leverage": leverage, "standardized": standardized, "standardized_deviance": of_deviance,
        "studentized": studentized, "cooks_distance": cooks,
        "dfbetas": basis.Q @ units * step[:, None],
    }  # fmt: skip


def _of_leverage_one(leverage: np.ndarray, index: np.ndarray) -> list[str]:
    rows = list(map(str, index[leverage >= 1.0 - CANCELLED]))
    which = ", ".join(rows[:5]) + ", ..." * (len(rows) > 5)
    return [
        f"The leverage of row {which} is 1: the fit passes through any y there, so the residual "
        "cannot be standardized, and an estimate is undetermined without the row."
    ] * bool(rows)


def _no_variance(fit: Any) -> str:
    """Return why the residuals of a linear regression cannot be tested; empty if they can."""
    if not fit.rank or fit.n_rows <= fit.rank:
        return "no residual degrees of freedom are left, or no weights were estimated"
    return "the fit is perfect, so the residual variance is zero" * fit.perfect


def linear_diagnostics(
    model: Any, block: Batch, numbers: np.ndarray, index: np.ndarray
) -> Diagnostics:
    """Return the diagnostics of a linear regression on the rows of its fit, which have numbers and
    labels (``index``).
    """
    fit, (X, y), rows = model.solution_, block[:2], counted(block.size, "row")
    _check_size(*X.shape)
    weights = np.ones(y.size) if block.weights is None else block.weights
    raw = fit.residuals(X, y)
    norm, size = (float(np.linalg.norm(part * np.sqrt(weights))) for part in (raw, y))
    close = abs(norm - fit.residual_norm) <= SAME * (fit.residual_norm + size * SAME)
    _check_rows(close, "residual sum of squares", norm * norm, fit.rss)
    raw = np.zeros_like(raw) if fit.perfect else raw
    basis = Basis.of(X, weights, fit.fit_intercept, fit.kept)
    pearson, df, undefined = raw * np.sqrt(weights), fit.n_rows - fit.rank, _no_variance(fit)
    sigma = np.nan if undefined else fit.residual_norm / np.sqrt(df)
    arrays = _influences(basis, sigma, pearson, pearson, pearson, df)
    notes = _of_leverage_one(arrays["leverage"], index)
    if undefined:
        notes = [f"Standardized residuals and influences are not defined: {undefined}."]
    elif (row := _perfect_without(arrays, index)) is not None and df > 1:
        text = "the fit is perfect, so its studentized residual and DFBETAS are not defined."
        notes.insert(0, f"Without row {row} {text}")
    return _made(
        model, basis, X, raw, title=f"Diagnostics of a linear regression, {rows}", y=y,
        numbers=numbers, index=index, weights=weights, fitted=fit.predicted(X), pearson=pearson,
        deviance=pearson, notes=notes, **arrays,
    )  # fmt: skip


def _perfect_without(arrays: dict[str, np.ndarray], index: np.ndarray) -> Any:
    """Return the label of a row without which the fit is perfect, or None."""
    perfect = np.isnan(arrays["studentized"]) & ~np.isnan(arrays["standardized"])
    return index[np.argmax(perfect)] if perfect.any() else None


def logistic_diagnostics(
    model: Any, X: Any, y: Any, sample_weight: Any, named: Named, offset: np.ndarray | None,
    counts: tuple[np.ndarray, np.ndarray] | None = None,
) -> Diagnostics:  # fmt: skip
    """Return the diagnostics of a logistic regression on the rows of its fit.

    ``named`` returns the numbers and labels of rows; ``counts`` are successes and trials, in place
    of y and weights.
    """
    refuse(
        DataError,
        (len(model.classes_) > 2, "Diagnostics need two classes: fit one model per class against "
         "the reference (Begg and Gray, Biometrika 71, 1984).", "class-count", None),
        ((model._limits == "no weight").any(), "Only one class has rows of positive weight, so "
         "there are no residuals.", "class-count", None),
        (np.isnan(model.log_likelihood_), f"The weights come from {model.method_} and were not "
         "fitted to rows, so there are no residuals.", "unsupported", None),
    )  # fmt: skip
    _check_size(*X.shape)
    y, weights = _outcomes(model, y, sample_weight, X.shape[0]) if counts is None else counts
    some = np.flatnonzero(weights)
    (numbers, index), X, y, weights = named(some), X[some], y[some], weights[some]
    y = y if counts is None else y / weights
    scores = model._scores(X, None if offset is None else offset[some])
    if model.reference_ != model.classes_[0]:
        y, scores = 1.0 - y, -scores
    p, odds = expit(scores), np.clip(scores, -MOST_ODDS, MOST_ODDS)
    # without differences, which would lose digits
    pearson = np.sqrt(weights) * (y * np.exp(-odds / 2) - (1 - y) * np.exp(odds / 2))
    working = y * (1.0 + np.exp(-odds)) - (1 - y) * (1.0 + np.exp(odds))
    losses = y * np.logaddexp(0.0, -scores) + (1 - y) * np.logaddexp(0.0, scores)
    losses += xlogy(y, y) + xlogy(1 - y, 1 - y)
    deviance = np.sign(working) * np.sqrt(2.0 * weights * losses)
    total = float(deviance @ deviance)
    share = NEAR_LIMIT if model.stop_reason_ in SEPARATED else SAME_DEVIANCE
    close = abs(total - model.deviance_) <= share * abs(model.null_deviance_)
    _check_rows(close and y.size == model.n_rows_, "deviance", total, model.deviance_)
    basis, undefined, curvature = None, _undefined(model), weights * p * expit(-scores)
    if not model._wide and (not undefined or fitted_parameter(model, "l2")):
        kept = model._limits[0, : X.shape[1]] != "dependent"
        basis = Basis.of(X, curvature, bool(fitted_parameter(model, "fit_intercept")), kept)
    if basis is None or undefined:
        arrays = dict.fromkeys(OF_ROWS[3:], np.full(p.size, np.nan))
        arrays["dfbetas"], notes = np.full((p.size, model._params.size), np.nan), [undefined]
    else:
        score, firth = pearson, model.method_ == "Firth"
        if firth:  # whose score has y - p + h (1/2 - p) for y - p
            leverage = np.square(basis.Q).sum(axis=1)
            score = pearson + leverage * (0.5 - p) / np.sqrt(curvature)
        arrays = _influences(basis, np.sqrt(model.dispersion_), pearson, deviance, score)
        notes = _of_leverage_one(arrays["leverage"], index)
        if firth:
            arrays["studentized"] = np.full(p.size, np.nan)
            notes.append("Studentized residuals are not defined with Firth's penalty.")
    reference, other = labels.label_text(model.reference_), model._others()[0]
    title = f"Diagnostics of a logistic regression of {other} against {reference}"
    return _made(
        model, basis, X, working, title=f"{title}, {counted(p.size, 'row')}", numbers=numbers,
        index=index, y=y, weights=weights, fitted=p, pearson=pearson, deviance=deviance,
        notes=notes, labels=(reference, other), **arrays,
    )  # fmt: skip


def _outcomes(model: Any, y: Any, sample_weight: Any, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    given, classes = labels.label_a_row(model, y, n_rows), model.classes_
    codes = codes_in(classes, given, "y")
    if (codes == classes.size).any():
        raise DataError(f"y has {labels.unknown_labels(given, classes)}, which is not a class of "
                        "the fit.", code="unknown-label")  # fmt: skip
    weights = labels.check_sample_weight(sample_weight, codes.size)
    weights = labels.importance(fitted_parameter(model, "class_weight"), classes, codes, weights)
    return codes.astype(np.float64), weights if weights.size else np.ones(codes.size)


def _undefined(model: Any) -> str:
    """Return why influences are not defined; empty if they are defined."""
    reasons = (
        (fitted_parameter(model, "l2"), " with l2: standard errors are not known."),
        (model.stop_reason_ in SEPARATED, ": the likelihood has no maximum (penalty='firth' has)."),
        (model._covariance is None or not model._inferable, ": standard errors are not known."),
    )
    which = "Leverages, standardized residuals and influences are not defined"
    return next((f"{which}{why}" for applies, why in reasons if applies), "")


class Finding(NamedTuple):
    """Result of one test of one assumption.

    Attributes
    ----------
    assumption : "linearity", "equal variance", "normality", "independence" or "influence"
    test : str, its name
    statistic, p_value : float, NaN if not defined
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
class Assumptions(Diagnostics):
    """Results of tests of all assumptions, and the diagnostics of the rows; ``print`` it.

    Attributes
    ----------
    findings : list of Finding
    fitted, leverage, studentized, ... : as those of :class:`Diagnostics`
    """

    findings: list[Finding] = field(default_factory=list)

    _apart = False
    to_dict, _cells = Printed.to_dict, Printed._cells

    residuals = property(attrgetter("pearson"), doc="The same as ``pearson``.")

    def __getitem__(self, test: str) -> Finding:
        """Return the finding of the test with this name."""
        return {finding.test: finding for finding in self.findings}[test]

    def plot(self, **kwargs: Any) -> Any:
        """Plot one panel per assumption, by
        :meth:`linsep.plot.AssumptionsDisplay.from_assumptions`, which takes the arguments.
        """
        return display("AssumptionsDisplay").from_assumptions(self, **kwargs)

    @property
    def columns(self) -> dict[str, list[Any]]:
        """The findings and the assumption without a test, by column."""
        why = "not testable: y must have a mean and a variance for every x"
        rows = [*self.findings, Finding("existence", "-", np.nan, np.nan, why, "")]
        return {name: [getattr(row, name) for row in rows] for name in Finding._fields[:5]}

    def _lines(self) -> list[str]:
        return table_lines(self._cells(), [False, False, True, True, False], sentences=True)


#: statistic, p and conclusion of a test
Result = tuple[float, float, str]


def check_assumptions(
    model: Any, block: Batch, numbers: np.ndarray, index: np.ndarray
) -> Assumptions:
    """Test the assumptions of a linear regression on the rows of its fit, which have numbers, equal
    for copies of a row, and labels.
    """
    fit, found = model.solution_, linear_diagnostics(model, block, numbers, index)
    shares, why = found.pearson / (fit.residual_norm or 1.0), _no_variance(fit)
    findings = []
    for name, assumption, test, source in TESTS:
        result = _nothing(why) if why and name != "leverage" else test(fit, found, shares)
        findings.append(Finding(assumption, name, *result, source))
    about_rows = any("row " in finding.conclusion for finding in findings)
    changed = {"title": "Assumptions of a linear regression",
               "notes": [_counted_from(index)] * about_rows}  # fmt: skip
    return Assumptions(**vars(found) | changed, findings=findings)


def _nothing(why: str) -> Result:
    return np.nan, np.nan, f"not defined: {why}"


def _tested(statistic: float, p: float, against: str, more: str = "") -> Result:
    return statistic, p, (against if p < DOUBT else f"not rejected at {DOUBT:.0%}") + more


def _explained(columns: np.ndarray, y: np.ndarray, whole: np.ndarray) -> tuple[int, float]:
    """Return the dimension of what is left of columns of the lengths ``whole``, and the length of
    the projection of y on them.
    """
    sizes = np.linalg.norm(columns, axis=0)
    scaled = columns / np.where(sizes > NOTHING * whole, sizes, np.inf)
    R = triangle(np.column_stack([scaled, y]))
    Q, pivoted, _ = sla.qr(R[:, :-1], pivoting=True)
    rank = int((np.abs(np.diag(pivoted)) > NOTHING).sum())
    return rank, float(np.linalg.norm(Q[:, :rank].T @ R[:, -1]))


def _copied(found: Diagnostics) -> bool:
    return bool((np.diff(found.numbers) == 0).any())


def _reset(fit: Any, found: Diagnostics, shares: np.ndarray) -> Result:
    if not fit.explained_norm > NOTHING * fit.y_norm:
        return _nothing("the predictions are the same in all rows")
    about = (found.y - fit.mean_y) - found.working
    about = about / np.abs(about).max()
    powers = np.column_stack([about**2, about**3]) * np.sqrt(found.weights)[:, None]
    Q, left = Basis.of(found.X, found.weights, fit.fit_intercept, fit.kept).Q, powers
    for _ in range(2):  # again, for the rounding errors of the first
        left = left - Q @ (Q.T @ left)
    added, explained = _explained(left, shares, np.linalg.norm(powers, axis=0))
    df = fit.n_rows - fit.rank - added
    if not added or df <= 0:
        return _nothing("powers of the predictions leave no degrees of freedom")
    with np.errstate(divide="ignore"):
        f = np.divide(explained**2 / added, max(1.0 - explained**2, 0.0) / df)
    against = "not linear: powers of the predictions explain more"
    return _tested(float(f), upper_tail(f, added, df), against)


def _breusch_pagan(fit: Any, found: Diagnostics, shares: np.ndarray) -> Result:
    return _variance(fit, dense(found.X), shares, "the variance changes with the features")


def _white(fit: Any, found: Diagnostics, shares: np.ndarray) -> Result:
    n, d = found.X.shape
    if n * d * (d + 3) / 2 > WHITE_VALUES:
        return _nothing("there are too many products of features")
    X = np.column_stack([np.ones((n, int(fit.fit_intercept))), fit.centered(found.X)])
    first, second = np.triu_indices(X.shape[1])
    against = "the variance changes with squares or products of the features"
    return _variance(fit, X[:, first] * X[:, second], shares, against)


def _variance(fit: Any, X: np.ndarray, shares: np.ndarray, against: str) -> Result:
    """Test by n R^2 of a regression whether columns explain squared residuals (Koenker's form of
    Breusch and Pagan's test, without normality).
    """
    squares = shares**2
    about = squares - squares.mean()
    df, explained = _explained(X - X.mean(axis=0), about, np.linalg.norm(X, axis=0))
    if not 0 < df < squares.size - 1:
        return _nothing("no feature, or as many as rows, can explain squares of residuals")
    if np.ptp(squares) <= NOTHING * (1 + fit.y_norm / fit.residual_norm) * squares.max():
        return _tested(0.0, 1.0, against)  # residuals of equal size
    lm = squares.size * (explained / float(np.linalg.norm(about))) ** 2
    return _tested(lm, float(chdtrc(df, lm)), against)


def _jarque_bera(fit: Any, found: Diagnostics, shares: np.ndarray) -> Result:
    from scipy.stats import jarque_bera, kurtosis, skew

    skewness, size = skew(shares), kurtosis(shares, fisher=False)
    more = f": skewness {skewness:.3g} (0 if normal), kurtosis {size:.3g} (3)"
    statistic, p = jarque_bera(shares)
    return _tested(float(statistic), float(p), "residuals are not normal", more)


def _shapiro_wilk(fit: Any, found: Diagnostics, shares: np.ndarray) -> Result:
    few = shares.size < 3 or fit.n_rows - fit.rank < 2
    if few or shares.size > SHAPIRO_ROWS or _copied(found):
        return _nothing(f"p holds for 3 to {SHAPIRO_ROWS:,} rows without copies, and two degrees")
    from scipy.stats import shapiro

    statistic, p = shapiro(shares)
    return _tested(float(statistic), float(p), "residuals are not normal")


def _durbin_watson(fit: Any, found: Diagnostics, shares: np.ndarray) -> Result:
    if _copied(found):
        return _nothing("copies of a row have no order")
    dw = float(np.sum(np.diff(shares) ** 2) / (shares @ shares))
    near = f"their correlation is about {1 - dw / 2:.2f}"
    return dw, np.nan, f"2 if neighboring rows are independent; {near}"


def _farthest(values: np.ndarray, found: Diagnostics) -> tuple[Any, float]:
    most = int(np.nanargmax(np.abs(values)))
    return found.index[most], float(values[most])


def _leverage(fit: Any, found: Diagnostics, shares: np.ndarray) -> Result:
    (row, most), twice = _farthest(found.leverage, found), 2 * fit.rank / fit.n_rows
    high = int((found.leverage > twice).sum())
    text = f"row {row}; {high:,} of {fit.n_rows:,} rows have more than twice the mean, {twice:.3g}"
    if most >= 1.0 - CANCELLED and not _no_variance(fit):
        text += f"; the leverage of row {row} is 1, so its residual is zero for every y"
    return most, np.nan, text


def _cook(fit: Any, found: Diagnostics, shares: np.ndarray) -> Result:
    if np.isnan(found.cooks_distance).all():
        return _nothing("all leverages are 1")
    row, most = _farthest(found.cooks_distance, found)
    return most, np.nan, f"row {row}; near 1, the estimates move far without the row"


def _studentized(fit: Any, found: Diagnostics, shares: np.ndarray) -> Result:
    df, row = fit.n_rows - fit.rank - 1, _perfect_without(vars(found), found.index)
    if df > 0 and row is not None:
        return _nothing(f"without row {row} the fit is perfect, so the residual variance is zero")
    if np.isnan(found.studentized).all():
        return _nothing("without a row, an estimate or the residual variance is undetermined")
    row, t = _farthest(found.studentized, found)
    p = min(1.0, fit.n_rows * float(t_tail(t, df)))
    return t, p, f"row {row}; p is for the largest of {fit.n_rows:,} (Bonferroni)"


#: each test, its assumption, its function and its paper
TESTS = (
    ("RESET", "linearity", _reset,
     "Ramsey, Journal of the Royal Statistical Society B 31, 1969, 350-371"),
    ("Breusch-Pagan", "equal variance", _breusch_pagan,
     "Breusch and Pagan, Econometrica 47, 1979, 1287-1294; Koenker, Journal of Econometrics 17, "
     "1981, 107-112"),
    ("White", "equal variance", _white, "White, Econometrica 48, 1980, 817-838"),
    ("Jarque-Bera", "normality", _jarque_bera,
     "Jarque and Bera, International Statistical Review 55, 1987, 163-172"),
    ("Shapiro-Wilk", "normality", _shapiro_wilk,
     "Shapiro and Wilk, Biometrika 52, 1965, 591-611"),
    ("Durbin-Watson", "independence", _durbin_watson,
     "Durbin and Watson, Biometrika 38, 1951, 159-177"),
    ("leverage", "influence", _leverage,
     "Hoaglin and Welsch, American Statistician 32, 1978, 17-22"),
    ("Cook's distance", "influence", _cook, "Cook, Technometrics 19, 1977, 15-18"),
    ("studentized residual", "influence", _studentized,
     "Belsley, Kuh and Welsch, Regression Diagnostics, 1980, section 2.1"),
)  # fmt: skip
