"""Residuals, leverages and influences of the rows of a fitted regression, collinearity of its
columns, and tests of fit.

Both regressions solve weighted least squares, in the last step of Newton's method with weights
times p (1 - p). All is computed from the columns of this problem in an orthonormal basis.
"""

import warnings
from functools import partial
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import expit, xlogy

from linsep.batches import Batch
from linsep.drawing import display
from linsep.errors import DataError, refuse
from linsep.estimators import labels
from linsep.inference.factors import terms_of
from linsep.inference.results import SEPARATED, check_option, check_rows, t_tail, upper_tail
from linsep.inference.robust import triangle
from linsep.inference.table import Printed, Table, number_text, p_text
from linsep.layout import elided, table_lines, wrapped
from linsep.parameters import fitted_parameter
from linsep.words import counted

#: rows, terms and letters of names that are printed; values of an array with a column for each
#: feature that fit in memory; features of a fit with l2 whose collinearity is computed
MOST, MOST_LETTERS, MOST_VALUES, MOST_PENALIZED = 5, 150, 1 << 28, 2500
#: share of a column, left by those before it, that is rounding error, and a much smaller one
REPEATED, NEGLIGIBLE = 2e-14, 1e-15
#: smallest 1 - leverage with eight digits, and share of the residual variance of a perfect fit
CANCELLED, PERFECT = 1e-8, 1e-13
#: relative change by rounding of rows: of a residual norm, of a (null) deviance, and of a limit
SAME, SAME_DEVIANCE, NEAR_LIMIT = 1e-3, 1e-6, 0.1
MOST_ODDS = 700.0  #: largest log-odds in exponents: exp of more would overflow
#: arrays with a value for each row, in the order of tables, first those of all fits
OF_ROWS = (
    "pearson", "deviance", "working", "leverage", "standardized", "standardized_deviance",
    "studentized", "cooks_distance",
)  # fmt: skip
#: most values of the products of White's test, and most rows for p-values of the Shapiro-Wilk test
WHITE_VALUES, SHAPIRO_ROWS = 1 << 23, 5000
DOUBT = 0.05  #: p-values below this contradict an assumption
#: share of a column, of the variance of y, or of equal squares of residuals, that is rounding error
NOTHING = 1e-12


def orthonormal(
    X: np.ndarray, weights: np.ndarray, first: int, kept: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the columns of weighted least squares, an intercept (if ``first`` is 1, not 0) and the
    features kept that do not repeat earlier ones, in an orthonormal basis Q; ``root``, with zeros
    for parameters left out: the estimates are root' Q' y, and their covariance is root' root times
    the residual variance; the lengths of the columns, and those about their means.
    """
    roots, means = np.sqrt(weights), np.zeros(first + X.shape[1])
    if first:
        means[1:] = weights @ X / weights.sum()
    Z = np.column_stack([np.ones((len(X), first)), X - means[first:]]) * roots[:, None]
    spread = np.linalg.norm(Z, axis=0)
    lengths = np.hypot(spread, means * np.linalg.norm(roots))
    columns = np.flatnonzero(kept)
    R = triangle(Z[:, columns])
    # rows of its own keep a column that repeats others from taking a direction of the rest
    left = triangle(np.vstack([R, np.diag(NEGLIGIBLE * lengths[columns])])).diagonal()
    new = np.abs(left) > REPEATED * lengths[columns]
    inverse = np.linalg.inv(triangle(R[:, new]))
    root = np.zeros((len(inverse), kept.size))
    root[:, columns[new]] = inverse.T
    root[:, 0] -= root @ means
    return Z[:, columns[new]] @ inverse, root, lengths, spread


class Inflation(NamedTuple):
    """Generalized variance inflation of the ``df`` estimated features of a term: the square of the
    enlargement of their joint confidence region, and ``per_df`` = inflation^(1 / (2 df)).
    """

    name: str
    df: int
    inflation: float
    per_df: float


class Collinearity(Printed):
    """Variance inflation and condition indices of a regression; ``print`` it.

    Attributes
    ----------
    features, params : list of str, names of the features, and of the parameters
    vif : array of shape (features,), variance of an estimate divided by that without correlations
    terms : list of Inflation, of text columns and terms of a formula with several features
    condition_indices : array of shape (rank,), increasing, the first is 1
        The largest singular value of the columns scaled to length 1, not centered, by each value.
    variance_proportions : array of shape (rank, parameters)
        The share of the variance of each estimate that is due to each singular value.

    References
    ----------
    D. Belsley, E. Kuh and R. Welsch, Regression Diagnostics, Wiley 1980, chapter 3. J. Fox and
    G. Monette, Journal of the American Statistical Association 87, 1992, 178-183.
    """

    title, header = "Variance inflation, of factors generalized", ()

    def __init__(self, model: Any, root: np.ndarray, lengths: np.ndarray, spread: np.ndarray):
        self.features, self.params = labels.feature_names(model), model.param_names_
        kept = np.asarray(root.any(axis=0))
        first = kept.size - len(self.features)
        self.variance_proportions = np.full(root.shape, np.nan)
        # the singular values of root times lengths are the inverses of those of the scaled columns
        _, inverse, V = np.linalg.svd(root[:, kept] * lengths[kept])
        parts = np.square(V.T * inverse)
        self.variance_proportions[:, kept] = (parts / parts.sum(axis=1, keepdims=True)).T[::-1]
        self.condition_indices = (inverse / inverse.min(initial=np.inf))[::-1]
        vif = np.where(kept, np.square(root * spread).sum(axis=0), np.nan)
        self.vif, self.terms, found = vif[first:], list[Inflation](), list[Inflation]()
        for term, numbers in terms_of(model).items():
            own = [first + j for j in numbers if kept[first + j]]
            if own and len(numbers) > 1:
                # det R_11 det R_22 / det R of the correlations of estimates, R_11 of the term's
                others = [j for j in np.flatnonzero(kept)[first:] if j not in own]
                alone, beside = (
                    triangle(root[:, some]).diagonal()[-len(own) :] for some in (own, others + own)
                )
                inflation = float(np.square(alone / beside).prod())
                sizes = len(own), inflation, inflation ** (0.5 / len(own))
                self.terms.append(Inflation(":".join(term), *sizes))
            elif own:
                inflation = float(vif[own[0]])
                found.append(Inflation(self.features[numbers[0]], 1, inflation, inflation**0.5))
        self._sorted = sorted([*self.terms, *found], key=lambda one: -one.per_df)
        self.notes = [f"{len(self._sorted) - MOST:,} are smaller."] * (len(self._sorted) > MOST)
        shares = zip(self.condition_indices, self.variance_proportions, strict=True)
        for index, of in [*shares][:-4:-1]:
            much = [k for k in np.argsort(-of, kind="stable") if of[k] > 0.5]
            if text := ", ".join(f"{self.params[k]} {of[k]:.2f}" for k in much):
                about = f"Condition index {number_text(index)}, of the variance"
                self.notes.append(f"{about}: {elided(text, MOST_LETTERS)}.")

    @property
    def columns(self) -> dict[str, list[Any]]:
        """The terms and other features with estimates, those of the largest inflation first."""
        return {k: [getattr(one, k) for one in self._sorted] for k in Inflation._fields}

    def _cells(self, digits: int = 6) -> list[list[str]]:
        return super()._cells(digits)[: 1 + MOST]


class Diagnostics(Printed):
    """Residuals, leverages and influences of the rows of a fit, and collinearity; ``print`` it.

    Rows of weight 0 are left out. Undefined numbers are NaN; ``notes`` give the reason.

    Attributes
    ----------
    title : str
    numbers, index : arrays of shape (rows,)
        The number of each row in the data as given, from 0 (repeated by frequency weights), and its
        label in the index of the data frame, or the number.
    y, fitted, weights : arrays of shape (rows,)
        For classes, y is 1, not 0, if not of the reference, and ``fitted`` the probability of this;
        for counts, y are shares.
    pearson, deviance, working : arrays of shape (rows,), residuals
        (y - fitted) sqrt(weight / (p (1 - p))), for numbers without p; signed roots of the parts of
        the deviance; (y - fitted) divided by the derivative of the mean by the linear predictor.
    partial : array of shape (rows, features)
        Working residuals plus a feature's part of the linear predictor (centered with intercept).
    leverage : array of shape (rows,), between 0 and 1, the diagonal of the hat matrix
    standardized, standardized_deviance : arrays of shape (rows,)
        Pearson and deviance residuals divided by their standard deviation.
    studentized : array of shape (rows,)
        For numbers divided by the standard deviation from the other rows: Student's t. For classes
        signed roots of the approximate decrease of the deviance without the row (Williams 1987).
    dfbetas : array of shape (rows, parameters)
        The change of each estimate by the row, in standard errors: for numbers exact, with the
        residual variance of the other rows; for classes one Newton step from the fit (Pregibon
        1981), with Firth's penalty on its score, y - p + h (1/2 - p), with the leverages h fixed.
    cooks_distance : array of shape (rows,), how far all estimates move, by their covariance
    params : array of shape (parameters,), the estimates, as ``params_`` of the model
    collinearity, vif, condition_indices, variance_proportions : Collinearity, and its arrays
    notes : list of str
    X : array of shape (rows, features)
    labels : pair of str, the reference and the other class; empty for numbers

    References
    ----------
    D. Belsley, E. Kuh and R. Welsch, Regression Diagnostics, Wiley 1980. D. Pregibon, Annals of
    Statistics 9, 1981, 705-724. D. Williams, Applied Statistics 36, 1987, 181-191.
    """

    header = ()

    @np.errstate(divide="ignore", invalid="ignore")
    def __init__(
        self, model: Any, X: np.ndarray, curvature: np.ndarray, working: np.ndarray, sigma: float,
        undefined: str, *, title: str, numbers: np.ndarray, index: np.ndarray, y: np.ndarray,
        weights: np.ndarray, fitted: np.ndarray, labels: Any = (), known: bool = True,
        df: int | None = None, deviance: Any = None, penalty: Any = None,
    ):  # fmt: skip
        """From the weighted least squares of the ``working`` residuals, with weights ``curvature``.

        What changes without a row is exact with ``df``, residual degrees of freedom; else it is one
        Newton step on the score, to which Firth's ``penalty`` adds a multiple of the leverage.
        ``sigma`` is NaN if ``undefined``; the curvatures may not be ``known`` then.
        """
        self.title, self.numbers, self.index, self.labels = title, numbers, index, labels
        self.X, self.y, self.weights, self.fitted, self.working = X, y, weights, fitted, working
        self.params, self.pearson = np.ravel(model.params_), working * np.sqrt(curvature)
        self.deviance = self.pearson if deviance is None else deviance
        first, kept = self.params.size - X.shape[1], ~np.isnan(self.params) & known
        Q, root, lengths, spread = orthonormal(X, curvature, first, kept)
        self.collinearity = of = Collinearity(model, root, lengths, spread)
        self.vif, self.condition_indices = of.vif, of.condition_indices
        self.variance_proportions = of.variance_proportions
        self.leverage = np.square(Q).sum(axis=1) * (np.nan if undefined and df is None else 1.0)
        free = np.where(self.leverage < 1.0 - CANCELLED, 1.0 - self.leverage, np.nan)
        self.standardized = self.pearson / (sigma * np.sqrt(free))
        self.standardized_deviance = self.deviance / (sigma * np.sqrt(free))
        score = self.pearson if penalty is None else self.pearson + self.leverage * penalty
        step = score / (sigma * free)
        self.cooks_distance = self.leverage * np.square(step) / len(root)
        if df is not None:
            without = 1.0 - np.square(self.standardized) / df  # the share of the residual variance
            without[(without <= PERFECT) | (df == 1)] = np.nan
            self.studentized = self.standardized * np.sqrt((df - 1.0) / (df * without))
            step = self.studentized / np.sqrt(free)
        else:
            sizes = np.hypot(self.deviance / sigma, np.sqrt(self.leverage) * self.standardized)
            self.studentized = np.sign(self.deviance) * (sizes if penalty is None else np.nan)
        self.dfbetas = Q @ (root / np.linalg.norm(root, axis=0)) * step[:, None]
        parts = X - X.mean(axis=0) * first
        parts = parts - parts.mean(axis=0) * first  # again, as means are rounded
        self.partial = parts * self.params[first:] + working[:, None]
        about = "have the labels of the index" if index.dtype == object else "are counted from 0"
        self._counted = f"Rows {about}."
        what, alone = "studentized residuals, dfbetas, Cook's distance", np.isnan(free)
        cases = {
            "whose leverage is 1: standardized and " + what: alone,
            "as the others fit perfectly or leave no degrees of freedom: studentized residuals, "
            "dfbetas": np.isnan(self.studentized) & ~alone & (penalty is None),
        }
        self.notes = [
            f"Not defined in row {', '.join(map(str, index[rows][:MOST]))}"
            f"{', ...' * bool(rows.sum() > MOST)}, {why}."
            for why, rows in cases.items()
            if rows.any()
        ] + ["Not defined with Firth's penalty: studentized residuals."] * (penalty is not None)
        if undefined:
            leverage = "leverage, " * (df is None)
            self.notes = [f"Not defined {undefined}: {leverage}standardized and {what}."]

    def most_influential(self, most: int = MOST) -> np.ndarray:
        """Return the places of the rows with the largest Cook's distances, or residuals where these
        are undefined; copies of a row appear once.
        """
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
        features, params = self.collinearity.features, self.collinearity.params
        found |= dict(zip([f"partial {name}" for name in features], self.partial.T, strict=True))
        found |= dict(zip([f"dfbetas {name}" for name in params], self.dfbetas.T, strict=True))
        return {name: values.tolist() for name, values in found.items()}

    def _body(self) -> dict[str, Any]:
        known = self.collinearity
        shares = zip(known.condition_indices, known.variance_proportions, strict=True)
        found = super()._body() | {
            "vif": dict(zip(known.features, known.vif, strict=True)),
            "terms": [term._asdict() for term in known.terms],
            "condition_indices": [
                {"index": index, "variance_proportions": dict(zip(known.params, of, strict=True))}
                for index, of in shares
            ],
        }
        if self.labels:
            test = self.hosmer_lemeshow()
            found["hosmer_lemeshow"] = test.columns | {
                name: getattr(test, name) for name in ("statistic", "df", "p_value", "notes")
            }
        return found

    @np.errstate(divide="ignore", invalid="ignore")
    def hosmer_lemeshow(self, groups: int = 10) -> Table:
        """Run the Hosmer-Lemeshow test of fit of probabilities, on groups of about equal size.

        Parameters
        ----------
        groups : int of at least 3, default=10

        Returns
        -------
        linsep.inference.table.Table
            ``statistic``, ``df`` (groups - 2), ``p_value`` (chi-squared); ``columns`` ``low`` and
            ``high``, ends of probabilities, ``rows``, ``observed`` and ``expected``, of weights.

        References
        ----------
        D. Hosmer and S. Lemeshow, Communications in Statistics A 10, 1980, 1043-1069.
        """
        if not self.labels:
            raise DataError("Only probabilities have this test.", code="unsupported")
        valid = isinstance(groups, Integral) and not isinstance(groups, bool) and groups >= 3
        check_option(valid, "groups", groups, "give a whole number of at least 3")
        order = np.argsort(self.fitted, kind="stable")
        y, p, weights = self.y[order], self.fitted[order], self.weights[order]
        # between weighted quantiles of p, rounded as R's (type 7), each in the lower group
        counts = np.cumsum(weights)
        at = 1.0 + max(counts[-1] - 1.0, 0.0) * (np.arange(1, groups) * (1 / groups))
        low, high = (
            p[np.minimum(np.searchsorted(counts, place), p.size - 1)]
            for place in (np.floor(at), np.ceil(at))
        )
        share = at - np.floor(at)
        edges = np.where(low == high, low, (1.0 - share) * low + share * high)
        group = np.searchsorted(edges[edges > p[0]], p)  # equal quantiles make one group less
        _, first, places = np.unique(group, return_index=True, return_inverse=True)
        rows, observed, expected = (np.bincount(places, weights * of) for of in (1.0, y, p))
        # (o - e)^2 / e + ((n - o) - (n - e))^2 / (n - e)
        parts = np.square(observed - expected) * (1 / expected + 1 / (rows - expected))
        df, statistic = rows.size - 2, float(np.nansum(parts))
        known = df > 0 and not np.isnan(self.leverage).all()
        p_value = upper_tail(statistic, df) if known else np.nan
        columns = {
            "low": p[first], "high": p[np.append(first[1:], p.size) - 1], "rows": rows,
            "observed": observed, "expected": expected,
        }  # fmt: skip
        numbers = f"chi-squared {number_text(statistic)}, df {max(df, 0)}, p {p_text(p_value)}"
        return Table(
            f"Hosmer-Lemeshow, {counted(rows.size, 'group')}: {numbers}", [],
            {name: column.tolist() for name, column in columns.items()},
            ["p is not defined, for too few groups, or no maximum of the likelihood."]
            * (not known), statistic, p_value, df,
        )  # fmt: skip

    def plot(self, **kwargs: Any) -> Any:
        """Plot it by :meth:`linsep.plot.DiagnosticsDisplay.from_diagnostics` with the arguments."""
        return display("DiagnosticsDisplay").from_diagnostics(self, **kwargs)

    def _cells(self, digits: int = 4) -> list[list[str]]:
        rows = self.most_influential()
        moved = np.nan_to_num(self.dfbetas[rows])
        most = np.argmax(np.abs(moved), axis=1)
        names = "y", "fitted", "pearson", "standardized", "leverage", "cooks_distance"
        columns = {"row": self.index[rows].astype(str)} | {
            **{name: getattr(self, name)[rows] for name in names},
            "dfbetas": moved[range(rows.size), most],
            "": np.array(self.collinearity.params)[most],
        }
        return Table("", [], {name: of.tolist() for name, of in columns.items()})._cells(digits)

    def _lines(self) -> list[str]:
        by = "residual" if np.isnan(self.cooks_distance).all() else "Cook's distance"
        about = wrapped(f"Rows of the largest {by}, and the estimate that each moves most:")
        lines = ["", *about, *table_lines(self._cells(), [True] * 8 + [False]), self._counted, ""]
        if self.labels:
            test = self.hosmer_lemeshow()
            lines += [line for text in (test.title, *test.notes, "") for line in wrapped(text)]
        return [*lines, *str(self.collinearity).splitlines()]


def _dense(X: Any) -> np.ndarray:
    if X.shape[0] * X.shape[1] > MOST_VALUES:
        why = "Diagnostics of so many rows and features do not fit in memory: fit a sample."
        raise DataError(why, code="too-large")
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)


def _no_variance(fit: Any) -> str:
    undefined = fit.perfect or not 0 < fit.rank < fit.n_rows
    return "as the fit is perfect, or has no estimates or degrees of freedom" * undefined


def linear_diagnostics(
    model: Any, block: Batch, numbers: np.ndarray, index: np.ndarray
) -> Diagnostics:
    """Return the diagnostics of a linear regression on the rows of its fit."""
    fit, X, y = model.solution_, _dense(block.X), block.y
    weights = np.ones(y.size) if block.weights is None else block.weights
    residuals, undefined = fit.residuals(X, y), _no_variance(fit)
    norm, size = (float(np.linalg.norm(part * np.sqrt(weights))) for part in (residuals, y))
    check_rows(abs(norm - fit.residual_norm) <= SAME * (fit.residual_norm + size * SAME))
    df = fit.n_rows - fit.rank
    return Diagnostics(
        model, X, weights, np.zeros(y.size) if fit.perfect else residuals,
        np.nan if undefined else fit.residual_norm / np.sqrt(df), undefined, df=df, y=y,
        title=f"Diagnostics of a linear regression, {counted(y.size, 'row')}", numbers=numbers,
        index=index, weights=weights, fitted=fit.predicted(X),
    )  # fmt: skip


def logistic_diagnostics(
    model: Any, X: Any, scores: np.ndarray, y: Any, sample_weight: Any, named: Any,
    counts: tuple[np.ndarray, np.ndarray] | None = None,
) -> Diagnostics:  # fmt: skip
    """Return the diagnostics of a logistic regression on the rows of its fit with their log-odds;
    ``named`` returns numbers and labels of rows, ``counts`` successes and trials instead of y.
    """
    refuse(
        DataError,
        (len(model.classes_) > 2, "Diagnostics need two classes: fit one model per class against "
         "the reference (Begg and Gray, Biometrika 71, 1984).", "class-count", None),
        (np.isnan(model.log_likelihood_), f"The weights come from {model.method_} and were not "
         "fitted to rows, so there are no residuals.", "unsupported", None),
    )  # fmt: skip
    X = _dense(X)
    if counts is None:
        given, classes = labels.label_a_row(model, y, len(X)), model.classes_
        codes = labels.known_codes(classes, given)
        weights = np.ones(len(X)) if sample_weight is None else sample_weight
        weights = labels.check_sample_weight(weights, len(X))
        by_class = fitted_parameter(model, "class_weight")
        weights = labels.importance(by_class, classes, codes, weights)
        counts = codes * weights, weights
    some = np.flatnonzero(counts[1])
    (numbers, index), X, scores, weights = named(some), X[some], scores[some], counts[1][some]
    y = counts[0][some] / weights
    if model.reference_ != model.classes_[0]:
        y, scores = 1.0 - y, -scores
    odds = np.clip(scores, -MOST_ODDS, MOST_ODDS)
    p, curvature = expit(scores), weights * expit(odds) * expit(-odds)
    # without differences, which would lose digits
    working = y * (1.0 + np.exp(-odds)) - (1 - y) * (1.0 + np.exp(odds))
    losses = y * np.logaddexp(0.0, -scores) + xlogy(y, y)
    losses += (1 - y) * np.logaddexp(0.0, scores) + xlogy(1 - y, 1 - y)
    deviance = np.sign(working) * np.sqrt(2.0 * weights * losses)
    separated, l2 = model.stop_reason_ in SEPARATED, bool(fitted_parameter(model, "l2"))
    share = abs(model.null_deviance_) * (NEAR_LIMIT if separated else SAME_DEVIANCE)
    check_rows(abs(deviance @ deviance - model.deviance_) <= share and y.size == model.n_rows_)
    known = not (l2 or separated or np.isnan(model.standard_errors_).all())
    firth = model.method_ == "Firth"  # whose score has y - p + h (1/2 - p) for y - p
    (other,) = model.classes_[model.classes_ != model.reference_].tolist()
    reference, other = labels.label_text(model.reference_), labels.label_text(other)
    return Diagnostics(
        model, X, curvature, working, np.sqrt(model.dispersion_) if known else np.nan,
        "" if known else "with l2" if l2 else "without a maximum, or standard errors",
        known=known or (l2 and X.shape[1] < MOST_PENALIZED),
        deviance=deviance, penalty=(0.5 - p) / np.sqrt(curvature) if firth else None,
        title=f"Diagnostics of a logistic regression of {other} against {reference}, "
        + counted(p.size, "row"), numbers=numbers, index=index, y=y, weights=weights, fitted=p,
        labels=(reference, other),
    )  # fmt: skip


class Finding(NamedTuple):
    """Result of one test of one assumption: "linearity", "equal variance", "normality",
    "independence" or "influence"; undefined numbers are NaN, ``source`` is the paper.
    """

    assumption: str
    test: str
    statistic: float
    p_value: float
    conclusion: str
    source: str


class Assumptions(Diagnostics):
    """Results of tests of all assumptions, and the diagnostics of the rows; ``print`` it.

    Attributes
    ----------
    findings : list of Finding, beside all that :class:`Diagnostics` has
    """

    _body, _cells = Printed._body, Printed._cells

    def __init__(self, model: Any, block: Batch, numbers: np.ndarray, index: np.ndarray):
        vars(self).update(vars(linear_diagnostics(model, block, numbers, index)))
        self.title, self.notes = "Assumptions of a linear regression", [*self.notes, self._counted]
        self.findings, self.kind, fit = list[Finding](), type(model), model.solution_
        for name, assumption, test, against, source in TESTS:
            why = "" if name == "leverage" else _no_variance(fit)
            result = why or test(self, fit)
            if isinstance(result, str):
                result = np.nan, np.nan, f"not defined {result}"
            statistic, p, text = result
            if against and not np.isnan(p):
                text = (against if p < DOUBT else f"not rejected at {DOUBT:.0%}") + text
            self.findings.append(Finding(assumption, name, statistic, p, text, source))

    def __getitem__(self, test: str) -> Finding:
        """Return the finding of the test with this name."""
        return {finding.test: finding for finding in self.findings}[test]

    def plot(self, **kwargs: Any) -> Any:
        """Plot it by :meth:`linsep.plot.AssumptionsDisplay.from_assumptions` with the arguments."""
        return display("AssumptionsDisplay").from_assumptions(self, **kwargs)

    @property
    def columns(self) -> dict[str, list[Any]]:
        """The findings and the assumption without a test, by column."""
        why = "not testable: y must have a mean and a variance for every x"
        rows = [*self.findings, Finding("existence", "-", np.nan, np.nan, why, "")]
        return {name: [getattr(row, name) for row in rows] for name in Finding._fields[:5]}

    def _lines(self) -> list[str]:
        return table_lines(self._cells(), [False, False, True, True, False], sentences=True)


#: statistic, p and conclusion of a test, or why it is not defined
Result = tuple[float, float, str] | str


def _regressed(found: Any, X: np.ndarray, y: np.ndarray, weights: Any = None, **how: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of columns that are left out as dependent
        return found.kind(**how).fit(X, y, weights).solution_


def _reset(found: Diagnostics, fit: Any) -> Result:
    if not fit.explained_norm > NOTHING * fit.y_norm:
        return "if the predictions are the same in all rows"
    about = (found.y - fit.mean_y) - found.working
    powers = np.power.outer(about / np.abs(about).max(), (2, 3))
    wide = np.hstack([found.X[:, fit.kept], powers])
    larger = _regressed(found, wide, found.y, found.weights, fit_intercept=fit.fit_intercept)
    added, df = larger.rank - fit.rank, larger.df_residual
    if not added or df <= 0:
        return "if powers of the predictions leave no degrees of freedom"
    f = (fit.rss - larger.rss) / added / (larger.rss / df) if larger.rss else np.inf
    return f, upper_tail(f, added, df), ""


def _variance(found: Diagnostics, fit: Any, products: bool = False) -> Result:
    # n R^2 of a regression of squared residuals (Koenker's form, which needs no normality)
    X, (n, d), squares = found.X, found.X.shape, np.square(found.pearson)
    if products:
        if n * d * (d + 3) / 2 > WHITE_VALUES:
            return "for so many products of features"
        X = np.column_stack([np.ones((n, int(fit.fit_intercept))), fit.centered(X)])
        first, second = np.triu_indices(X.shape[1])
        X = X[:, first] * X[:, second]
    of_squares = _regressed(found, X, squares)
    alike = NOTHING * (1 + fit.y_norm / fit.residual_norm) * squares.max()
    if not 0 < of_squares.df_model < n - 1 or np.ptp(squares) <= alike:
        return "if no feature, or as many as rows, can explain squares of residuals"
    lm = n * of_squares.r_squared
    return lm, upper_tail(lm, of_squares.df_model), ""


def _jarque_bera(found: Diagnostics, fit: Any) -> Result:
    from scipy.stats import kurtosis, skew

    skewness, size = float(skew(found.pearson)), float(kurtosis(found.pearson, fisher=False))
    jb = found.y.size / 6 * (skewness**2 + (size - 3) ** 2 / 4)
    text = f": skewness {skewness:.3g} (0 if normal), kurtosis {size:.3g} (3)"
    return jb, upper_tail(jb, 2), text


def _shapiro_wilk(found: Diagnostics, fit: Any) -> Result:
    from scipy.stats import shapiro

    few, copied = fit.n_rows - fit.rank < 2, (np.diff(found.numbers) == 0).any()
    if few or copied or not 3 <= found.y.size <= SHAPIRO_ROWS:
        return f"but for 3 to {SHAPIRO_ROWS:,} rows without copies, and two degrees of freedom"
    test = shapiro(found.pearson)
    return float(test.statistic), float(test.pvalue), ""


def _durbin_watson(found: Diagnostics, fit: Any) -> Result:
    if (np.diff(found.numbers) == 0).any():
        return "for copies of a row, which have no order"
    dw = float(np.square(np.diff(found.pearson)).sum() / np.square(found.pearson).sum())
    text = f"2 if neighboring rows are independent; their correlation is about {1 - dw / 2:.2f}"
    return dw, np.nan, text


def _influence(found: Diagnostics, fit: Any, of: str) -> Result:
    values, n = getattr(found, of), fit.n_rows
    alone = found.index[np.isnan(values) & ~np.isnan(found.standardized)]
    if alone.size:
        return f"as without row {alone[0]} the fit is perfect, or no degree of freedom is left"
    most, twice = int(np.nanargmax(np.abs(values))), 2 * fit.rank / n
    p, text = np.nan, "near 1, the estimates move far without the row"
    if of == "leverage":
        text = (
            f"{(values > twice).sum():,} of {n:,} rows have more than twice the mean, {twice:.3g}"
        )
    elif of == "studentized":
        p = min(1.0, n * float(t_tail(values[most], n - fit.rank - 1)))
        text = f"p is for the largest of {n:,} (Bonferroni)"
    return float(values[most]), p, f"row {found.index[most]}; {text}"


#: each test, its assumption, its function, what small p-values say, and its paper
TESTS: tuple[tuple[str, str, Any, str, str], ...] = (
    ("RESET", "linearity", _reset, "not linear: powers of the predictions explain more",
     "Ramsey, Journal of the Royal Statistical Society B 31, 1969, 350-371"),
    ("Breusch-Pagan", "equal variance", _variance, "the variance changes with the features",
     "Breusch and Pagan, Econometrica 47, 1979, 1287-1294; Koenker, Journal of Econometrics 17, "
     "1981, 107-112"),
    ("White", "equal variance", partial(_variance, products=True),
     "the variance changes with squares or products of the features",
     "White, Econometrica 48, 1980, 817-838"),
    ("Jarque-Bera", "normality", _jarque_bera, "residuals are not normal",
     "Jarque and Bera, International Statistical Review 55, 1987, 163-172"),
    ("Shapiro-Wilk", "normality", _shapiro_wilk, "residuals are not normal",
     "Shapiro and Wilk, Biometrika 52, 1965, 591-611"),
    ("Durbin-Watson", "independence", _durbin_watson, "",
     "Durbin and Watson, Biometrika 38, 1951, 159-177"),
    ("leverage", "influence", partial(_influence, of="leverage"), "",
     "Hoaglin and Welsch, American Statistician 32, 1978, 17-22"),
    ("Cook's distance", "influence", partial(_influence, of="cooks_distance"), "",
     "Cook, Technometrics 19, 1977, 15-18"),
    ("studentized residual", "influence", partial(_influence, of="studentized"), "",
     "Belsley, Kuh and Welsch, Regression Diagnostics, 1980, section 2.1"),
)  # fmt: skip
