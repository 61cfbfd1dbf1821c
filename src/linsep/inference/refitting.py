"""Tests that need the rows of the fit: of each term by leaving it out, and of additional columns by
their scores.

Likelihood-ratio tests fit the model again without a term (R's ``drop1``); terms that are part of
products in the model stay, since leaving them out would change the meaning of the products. With
Firth's penalty, which depends on the columns, the coefficients of a term are held at 0 instead
(Heinze and Schemper, Statistics in Medicine 21, 2002). Rao's score test needs no fit of the larger
model, which may have no maximum (Proceedings of the Cambridge Philosophical Society 44, 1948).
"""

import warnings
from dataclasses import dataclass
from math import isnan, nan
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import chdtrc

from linsep.batches import Batch, joined
from linsep.errors import DataError, ParameterError
from linsep.estimators._common.frames import to_score
from linsep.estimators._common.offsets import has_offset
from linsep.inference.comparing import (
    SUPREMUM,
    Test,
    likelihood_ratio,
    note_of_supremum,
    refuse_without_likelihood,
    tested,
)
from linsep.inference.factors import Term, terms_of
from linsep.inference.summary import Table
from linsep.parameters import as_fitted, fitted_parameter
from linsep.sources.base import Source, is_frame
from linsep.validation.sparse import as_csr
from linsep.words import counted, size_text

#: relative difference of likelihoods, or of residuals, from which rows are others than in the fit
_OTHERS = 1e-6


class LikelihoodRatioTests(Table):
    """Tests of the terms of a regression: ``print`` them, or call ``to_dict()`` or ``tidy()``.

    Attributes
    ----------
    columns : dict of str to list, one row per term
        ``term``; ``df``, the number of its parameters; ``aic`` and ``log_likelihood`` of the model
        without it (with Firth's penalty, the penalized log-likelihood and no AIC), or for least
        squares its ``rss`` and ``sum_of_squares``, the increase of the residual sum of squares;
        ``chi2`` or ``F``, and ``p_value``.
    """


@dataclass(frozen=True, repr=False)
class ScoreTest(Table):
    """Rao's score test of additional columns: ``print`` it, or use its attributes.

    Attributes
    ----------
    statistic, p_value : float
    df : int, number of parameters that the columns would add
    """

    statistic: float = nan
    p_value: float = nan
    df: int = 0


class FirthTests(NamedTuple):
    """Firth's likelihood of rows, without the penalty and with it (``value``), and ``held``: for
    each term the largest penalized likelihood with its coefficients at zero, NaN if that was not
    reached, and their number.
    """

    n_rows: int
    log_likelihood: float
    value: float
    held: list[tuple[float, int]]


class Scored(NamedTuple):
    """The score statistic of rows at the estimates of a model, and the number of independent
    parameters of the larger model.
    """

    n_rows: int
    log_likelihood: float
    statistic: float
    n_parameters: int


class FitRows(NamedTuple):
    """Features, y and weights of rows in memory; weights are None if all are 1."""

    X: Any
    y: Any
    weights: Any

    def columns(self, kept: list[int]) -> Any:
        """Return some features; without features, a column of zeros, which has no effect."""
        return self.X[:, kept] if kept else np.zeros((self.X.shape[0], 1))


def rows_of(model: Any, X: Any, y: Any, sample_weight: Any) -> FitRows:
    """Return the rows of a fit as features in memory."""
    if has_offset(model) or getattr(model, "_saturated", None) is not None:
        raise DataError(
            "Tests that refit the model do not support offsets or counts: fit the smaller models "
            "with them and call linsep.compare.",
            code="unsupported",
        )
    source = to_score(model, X, y)
    if isinstance(source, Source):
        parts: list[Batch] = []
        for batch in source.batches():
            parts.append(batch)
            if sum(part.nbytes for part in parts) > source.memory_bytes:
                raise DataError(
                    f"The rows of {source.name} need more than {size_text(source.memory_bytes)} "
                    "in memory: fit the smaller models and call linsep.compare.",
                    code="too-large", path=source.name,
                )  # fmt: skip
        if not parts:
            raise DataError(
                f"{source.name} has no rows: pass the rows of the fit.",
                code="no-rows", path=source.name,
            )  # fmt: skip
        read = joined(parts, model.n_features_in_)
        return FitRows(read.X, read.y, read.weights)
    features = as_csr(model.features_of(X))
    features = features if sp.issparse(features) else np.asarray(features)
    if features.ndim != 2 or features.shape[1] != model.n_features_in_:
        raise DataError(
            f"X has the shape {features.shape}, but the model has {model.n_features_in_} "
            "features: pass the rows of the fit.",
            code="shape",
        )
    return FitRows(features, y, sample_weight)


def refitted(model: Any, X: Any, rows: FitRows) -> Any:
    """Return a model like this one, fitted to some columns of its rows."""
    changed: dict[str, Any] = {}
    if model._statistic == "z":
        changed = {"intervals": "wald", "on_separation": "warn", "trace": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of separation and dependence: said beside the tests
        return as_fitted(model, **changed).fit(X, rows.y, rows.weights)


def _check_rows(model: Any, n_rows: int, found: float, fitted: float) -> None:
    """Raise DataError unless these are the rows of the fit: the same number, with the same
    likelihood.
    """
    if n_rows != model.n_rows_:
        raise DataError(
            f"The model was fitted to {counted(model.n_rows_, 'row')} of positive weight, but "
            f"{n_rows:,} were given: pass the rows of the fit.",
            code="other-rows",
        )
    if abs(found - fitted) > _OTHERS * max(abs(fitted), 1e-300):
        raise DataError(
            "These are not the rows of the fit, which had other residuals: pass the rows of the "
            "fit with their weights.",
            code="other-rows",
        )


def likelihood_ratio_tests(model: Any, X: Any, y: Any, sample_weight: Any) -> LikelihoodRatioTests:
    """Return the test of each term; see ``HasInference.likelihood_ratio_tests``."""
    refuse_without_likelihood(model, "The model", firth=True)
    if not (terms := terms_of(model)):
        raise DataError(
            "The model has no features, so there are no terms to test.", code="unsupported"
        )
    rows = rows_of(model, X, y, sample_weight)
    tried = [one for one in terms if not any(one.parts < other.parts for other in terms)]
    if getattr(model, "method_", "") == "Firth":
        columns, notes = _held(model, rows, tried)
    else:
        columns, notes = _left_out(model, rows, tried)
    if within := [one.name for one in terms if one not in tried]:
        notes.append(f"Not tested, as part of a product: {', '.join(within)}.")
    if any(isnan(p) for p in columns["p_value"]):
        notes.append(_why_dashes(model))
    return LikelihoodRatioTests(
        "F tests of terms" if model._statistic == "t" else "Likelihood-ratio tests of terms",
        [("rows", model.n_rows_)], columns, notes,
    )  # fmt: skip


def _why_dashes(model: Any) -> str:
    """Return a note on p-values that are not defined."""
    if model._statistic == "z":
        return "A dash: the term adds no parameter, or no maximum exists to compare."
    if model.rss_ and model.df_residual_ > 0:
        return "A dash: the term adds no parameter."
    return (
        "A dash: F is not defined, because the fit leaves no residual variance (it is perfect, or "
        "has as many estimates as rows)."
    )


def _left_out(
    model: Any, rows: FitRows, terms: list[Term]
) -> tuple[dict[str, list[Any]], list[str]]:
    """Return the tests by fits without each term."""
    full, linear = refitted(model, rows.X, rows), model._statistic == "t"
    one, other = (f.rss_ if linear else f.log_likelihood_ for f in (full, model))
    _check_rows(model, full.n_rows_, one, other)
    everything = range(model.n_features_in_)
    others = [[j for j in everything if j not in one.features] for one in terms]
    fits = [refitted(model, rows.columns(kept), rows) for kept in others]
    tests = [
        tested(fit, full, full)
        if linear or not isnan(fit.aic_)
        else Test(full.n_parameters_ - fit.n_parameters_, nan, nan)
        for fit in fits
    ]
    columns: dict[str, list[Any]] = {"term": [one.name for one in terms]}
    columns["df"] = [test.df for test in tests]
    if linear:
        columns["sum_of_squares"] = [max(0.0, fit.rss_ - full.rss_) for fit in fits]
        columns["rss"] = [fit.rss_ for fit in fits]
    else:
        columns["log_likelihood"] = [float(fit.log_likelihood_) for fit in fits]
    columns["aic"] = [float(fit.aic_) for fit in fits]
    columns["F" if linear else "chi2"] = [test.statistic for test in tests]
    columns["p_value"] = [test.p_value for test in tests]
    supremum = any(note_of_supremum(fit) for fit in (full, *fits))
    return columns, [SUPREMUM] * supremum


def _held(model: Any, rows: FitRows, terms: list[Term]) -> tuple[dict[str, list[Any]], list[str]]:
    """Return the tests by Firth's likelihood with the coefficients of each term held at 0."""
    found = model._held_at_zero(*rows, [one.features for one in terms])
    _check_rows(model, found.n_rows, found.log_likelihood, model.log_likelihood_)
    tests = [likelihood_ratio(found.value - value, df) for value, df in found.held]
    return {
        "term": [one.name for one in terms],
        "df": [test.df for test in tests],
        "log_likelihood": [value for value, _ in found.held],
        "chi2": [test.statistic for test in tests],
        "p_value": [test.p_value for test in tests],
    }, ["Penalized likelihoods (Firth), with the coefficients of a term held at 0."]


def score_test(model: Any, X: Any, y: Any, more: Any, sample_weight: Any) -> ScoreTest:
    """Return Rao's score test of additional columns; see ``HasInference.score_test``."""
    refuse_without_likelihood(model, "The model", firth=True)
    if fitted_parameter(model, "penalty"):
        raise DataError(
            "The model was fitted with Firth's penalty, whose scores depend on the columns: fit "
            "the larger model and call its likelihood_ratio_tests.",
            code="unsupported", option="penalty",
        )  # fmt: skip
    if note_of_supremum(model):
        raise DataError(
            "Coefficients of the model diverge because the classes are separated, so there are "
            "no estimates for a score test: fit the larger model and call linsep.compare.",
            code="separated",
        )
    rows = rows_of(model, X, y, sample_weight)
    added = _added(more)
    if added.ndim != 2 or added.shape[0] != rows.X.shape[0]:
        raise DataError(
            f"X has {rows.X.shape[0]:,} rows, but more has the shape {added.shape}: pass columns "
            "of the same rows.", code="shape", option="more",
        )  # fmt: skip
    either = sp.issparse(added) or sp.issparse(rows.X)
    wide = sp.csr_matrix(sp.hstack([rows.X, added])) if either else np.hstack([rows.X, added])
    test = (_scores if model._statistic == "z" else _explained)(model, wide, rows)
    columns: dict[str, list[Any]] = {
        "test": ["added columns"], "df": [test.df], "chi2": [test.statistic],
        "p_value": [test.p_value],
    }  # fmt: skip
    notes = [] if test.df else ["The columns are linear combinations of the model's columns."]
    return ScoreTest("Score test", [], columns, notes, test.statistic, test.p_value, test.df)


def _added(more: Any) -> Any:
    """Return the columns to add as a matrix of numbers; DataError names one that has text."""
    if more is None:
        raise ParameterError(
            "more is missing: pass the columns to add.", code="needs-option", option="more"
        )
    names = None
    if is_frame(more):
        names = [str(name) for name in getattr(more, "column_names", None) or more.columns]
    elif getattr(more, "name", None) is not None:
        names = [str(more.name)]
    added = as_csr(more)
    if sp.issparse(added):
        return added
    added = np.asarray(added)
    added = added[:, None] if added.ndim == 1 else added
    if added.dtype.kind in "biuf":
        return added
    for k in range(added.shape[1] if added.ndim == 2 else 0):
        try:
            added[:, k].astype(np.float64)
        except (TypeError, ValueError):
            column = names[k] if names else k
            raise DataError(
                f"Column {column!r} of more holds values that are not numbers",
                "pass numbers, such as one column of zeros and ones per level",
                code="not-a-number", option="more", column=column,
            ) from None  # fmt: skip
    return added.astype(np.float64)


def _explained(model: Any, wide: Any, rows: FitRows) -> Test:
    """Return the score test of least squares: n times the share of the residual sum of squares
    that the larger model explains (Breusch and Pagan, Review of Economic Studies 47, 1980).
    """
    larger, smaller = refitted(model, wide, rows), refitted(model, rows.X, rows)
    _check_rows(model, smaller.n_rows_, smaller.rss_, model.rss_)
    if not model.rss_:
        raise DataError(
            "The model fits perfectly, so no variance is left to explain.", code="no-estimate"
        )
    share = larger.solution_.residual_norm / model.solution_.residual_norm
    return _chi_squared(
        max(0.0, model.n_rows_ * (1.0 - share) * (1.0 + share)),
        larger.n_parameters_ - model.n_parameters_,
    )


def _scores(model: Any, wide: Any, rows: FitRows) -> Test:
    """Return the score test of a logistic regression."""
    found = model._scored(wide, rows.y, rows.weights)
    _check_rows(model, found.n_rows, found.log_likelihood, model.log_likelihood_)
    return _chi_squared(found.statistic, found.n_parameters - model.n_parameters_)


def _chi_squared(statistic: float, df: int) -> Test:
    return Test(df, statistic, float(chdtrc(df, statistic)) if df else nan)
