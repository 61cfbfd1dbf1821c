"""Residuals, leverages and influences of the rows of a logistic regression of two classes, and the
Hosmer-Lemeshow test of fit: observed against expected counts in groups of rows.

The last step of Newton's method is weighted least squares with the weights w p (1 - p). Leverages,
influences and collinearity are computed from its columns.
"""

import warnings
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import chdtrc, expit

from linsep.batches import Batch
from linsep.errors import DataError, ParameterError
from linsep.estimators._common.frames import Named
from linsep.estimators._common.labels import (
    check_sample_weight,
    feature_names,
    importance,
    label_a_row,
    label_text,
    unknown_labels,
)
from linsep.estimators._common.predicting import codes_in
from linsep.inference.collinearity import Collinearity, collinearity
from linsep.inference.diagnostics import (
    CANCELLED,
    Diagnostics,
    check_size,
    of_leverage_one,
    partial_residuals,
)
from linsep.inference.factors import terms_of
from linsep.inference.summary import as_frame, number_text, p_text
from linsep.layout import room, table_lines, wrapped
from linsep.linear.diagnostics import collinearity_of, directions, leverages
from linsep.linear.least_squares import IllConditionedWarning, LeastSquares, least_squares
from linsep.logistic.inference import LogisticResults
from linsep.logistic.solution import SEPARATED
from linsep.logistic.task import NO_WEIGHT
from linsep.parameters import fitted_parameter
from linsep.words import counted

#: difference of log-likelihoods that rounding of the rows may make, as a share of that without
#: features; of a limit and of the weights that stand for it
SAME, NEAR_LIMIT = 1e-6, 0.1
#: smallest weight of a row, as a share of the largest, that counts in least squares
LEAST_WEIGHT = 1e-250


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
        said = [test.sentence, *([test.note] if test.note else [])]
        return [[line for sentence in said for line in wrapped(sentence)]]


def diagnosed(
    model: LogisticResults, X: Any, y: Any, sample_weight: Any, named: Named,
    offset: np.ndarray | None = None,
) -> LogisticDiagnostics:  # fmt: skip
    """Return the diagnostics of a model for the rows that it was fitted to.

    Parameters
    ----------
    model : fitted LogisticRegression
    X : array or CSR matrix of shape (rows, features), checked
    y, sample_weight : as given to ``fit``
    named : function of indices of rows that returns their numbers and labels
    offset : array of shape (rows,) or None

    Raises
    ------
    DataError
        If there are more than two classes, or these are not the rows of the fit.
    """
    check_size(*X.shape)
    X, outcomes, weights, some = _of_weight(model, X, y, sample_weight)
    numbers, index = named(some)
    known = None if offset is None else offset[some]
    scores = model._scores(X, known)  # type: ignore[attr-defined]
    scores = scores if model.reference_ == model.classes_[0] else -scores
    _check_rows(model, outcomes, scores, weights)
    sides = np.where(outcomes == 1, 1.0, -1.0)
    against = -sides * scores  # log-odds of the class that the row has not
    with np.errstate(over="ignore"):
        pearson = sides * np.sqrt(weights) * np.exp(against / 2)
        working = sides * (1.0 + np.exp(against))
    deviance = sides * np.sqrt(2.0 * weights * np.logaddexp(0.0, against))
    curvature = weights * expit(scores) * expit(-scores)
    first, undefined = int(fitted_parameter(model, "fit_intercept")), _undefined(model)
    fit = None if undefined and not fitted_parameter(model, "l2") else _step(model, X, curvature)
    influence = _influence(
        model, X, fit, curvature, expit(scores), pearson, deviance, undefined
    )  # fmt: skip
    reference, other = label_text(model.reference_), model._others()[0]
    return LogisticDiagnostics(
        title=f"Diagnostics of a logistic regression of {other} against {reference}",
        numbers=numbers, index=index, y=outcomes, weights=weights, fitted=expit(scores),
        pearson=pearson, deviance=deviance, working=working,
        partial=partial_residuals(X, model.params_[first:], working, bool(first)),
        params=model.params_, collinearity=_collinearity(model, fit),
        notes=[*_notes(model, undefined), *of_leverage_one(index[influence.pop("decided")])],
        X=X, labels=(reference, other), **influence,
    )  # fmt: skip


def refuse_classes(model: LogisticResults) -> None:
    """Raise DataError for a model whose rows have no diagnostics."""
    if model._saturated is not None:
        raise DataError(
            "Diagnostics need single rows, and the model was fitted to counts: from the p of "
            "predict_proba, compute residuals (successes - trials p) / sqrt(trials p (1 - p)).",
            code="unsupported",
        )
    if len(model.classes_) > 2:
        raise DataError(
            f"Diagnostics need a model of two classes, and this model has {len(model.classes_)}: "
            "fit one model per class against the reference (Begg and Gray, Biometrika 71, 1984).",
            code="class-count",
        )
    if (model._limits == NO_WEIGHT).any():
        raise DataError(
            "Only one class has rows of positive weight, so there are no residuals.",
            code="class-count",
        )
    if np.isnan(model.log_likelihood_):
        raise DataError(
            f"The weights come from {model.method_} and were not fitted to rows, so there are no "
            "residuals to test.",
            code="unsupported",
        )


def _of_weight(
    model: LogisticResults, X: Any, y: Any, sample_weight: Any
) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray]:
    """Return the rows of positive weight, whether each has the class of the equation, their
    weights, and their indices among the given rows.
    """
    labels, classes = label_a_row(model, y, X.shape[0]), model.classes_
    codes = codes_in(classes, labels, "y")
    if (codes == classes.size).any():
        raise DataError(
            f"y has {unknown_labels(labels, classes)}, which is not a class of the fit: pass the "
            "rows of the fit.",
            code="unknown-label",
        )
    weights = check_sample_weight(sample_weight, codes.size)
    weights = importance(fitted_parameter(model, "class_weight"), classes, codes, weights)
    outcomes = (classes[codes] != model.reference_).astype(np.float64)
    if not weights.size:
        return X, outcomes, np.ones(codes.size), np.arange(codes.size)
    some = np.flatnonzero(weights)
    return (X if some.size == codes.size else X[some]), outcomes[some], weights[some], some


def _check_rows(
    model: LogisticResults, outcomes: np.ndarray, scores: np.ndarray, weights: np.ndarray
) -> None:
    """Raise DataError unless the rows have the number and likelihood of the rows of the fit."""
    if outcomes.size != model.n_rows_:
        raise DataError(
            f"The model was fitted to {model.n_rows_:,} rows of positive weight, but "
            f"{outcomes.size:,} were given: pass the rows of the fit.",
            code="other-rows",
        )
    found = float(-weights @ np.logaddexp(0.0, np.where(outcomes == 1, -scores, scores)))
    share = NEAR_LIMIT if model.stop_reason_ in SEPARATED else SAME
    if not abs(found - model.log_likelihood_) <= share * abs(model.null_log_likelihood_):
        raise DataError(
            "These are not the rows of the fit: their log-likelihood is "
            f"{number_text(found)}, not {number_text(model.log_likelihood_)}.",
            code="other-rows",
        )


def _undefined(model: LogisticResults) -> str:
    """Return why influences are not defined; empty if they are defined."""
    which = "Leverages, standardized residuals and influences are not defined"
    if fitted_parameter(model, "l2"):
        return f"{which} with l2, because standard errors are not known."
    if model.stop_reason_ in SEPARATED:
        return (
            f"{which}: the likelihood has no maximum, and residuals are computed near its limit. "
            "With penalty='firth' they are defined."
        )
    if model._covariance is None or not model._inferable:
        return f"{which}: standard errors are not known (summary() says why)."
    return ""


def _notes(model: LogisticResults, undefined: str) -> list[str]:
    if undefined:
        return [undefined]
    if model.method_ == "Firth":
        return [
            "Leverages are computed from the information at Firth's estimates. DFBETAS and "
            "Cook's distances are from one Newton step on Firth's score without the row, with "
            "the penalty of the other rows held fixed. Studentized residuals are not defined."
        ]
    return ["DFBETAS and Cook's distances are from one Newton step without the row."]


def _step(model: LogisticResults, X: Any, curvature: np.ndarray) -> LeastSquares | None:
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


def _influence(
    model: LogisticResults, X: Any, fit: LeastSquares | None, curvature: np.ndarray,
    fitted: np.ndarray, pearson: np.ndarray, deviance: np.ndarray, undefined: str,
) -> dict[str, np.ndarray]:  # fmt: skip
    """Return leverages, standardized residuals, influences, and which rows have leverage 1."""
    nothing = np.full(pearson.size, np.nan)
    names = ("leverage", "standardized", "standardized_deviance", "studentized", "cooks_distance")
    found = dict.fromkeys(names, nothing)
    found["dfbetas"] = np.full((pearson.size, model.params_.size), np.nan)
    found["decided"] = np.zeros(pearson.size, dtype=bool)
    if fit is None or undefined:
        return found
    leverage = leverages(fit, X, curvature)
    free = 1.0 - leverage
    found["leverage"], found["decided"] = leverage, free <= CANCELLED
    free[found["decided"]] = np.nan
    found["standardized"] = pearson / np.sqrt(free)
    found["standardized_deviance"] = deviance / np.sqrt(free)
    if model.method_ == "Firth":  # whose score has y - p + h (1/2 - p) for y - p, h over the weight
        pearson = pearson + leverage * _halves(curvature, fitted)
    else:
        lost = leverage * np.square(found["standardized"])
        found["studentized"] = np.sign(deviance) * np.sqrt(np.square(deviance) + lost)
    found["cooks_distance"] = leverage * np.square(pearson / free) / fit.rank
    found["dfbetas"] = directions(fit, X, curvature) * (pearson / free)[:, None]
    return found


def _halves(curvature: np.ndarray, fitted: np.ndarray) -> np.ndarray:
    """Return (1/2 - p) / sqrt(w p (1 - p)); 0 where the weight is, as leverages are 0 there."""
    roots = np.sqrt(curvature)
    return np.divide(0.5 - fitted, roots, out=np.zeros_like(roots), where=roots > 0)


def _collinearity(model: LogisticResults, fit: LeastSquares | None) -> Collinearity:
    """Return the collinearity of the columns of Newton's step, without numbers if there is none."""
    names = feature_names(model)
    if fit is not None:
        return collinearity_of(fit, names, terms_of(model))
    nothing, params = np.full(len(names), np.nan), model.params_.size
    return collinearity(np.zeros((0, params)), np.zeros(params), nothing, names, [])
