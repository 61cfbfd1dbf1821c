"""Tests that compare likelihoods: of nested models, of each term by leaving it out, and of
additional columns by their scores.

For n rows, a smaller model with k fewer parameters and the residual sum of squares S has F = ((S -
S1) / k) / (S0 / (n - r)), where S1 belongs to the larger model, and S0 and r parameters to the
largest. For logistic models the statistic is twice the difference of log-likelihoods, approximately
chi-squared with k degrees of freedom (Wilks, Annals of Mathematical Statistics 9, 1938).

A term is left out by fitting again (R's ``drop1``); terms that are part of products in the model
stay, since leaving them out would change the meaning of the products. With Firth's penalty, which
depends on the columns, the coefficients of a term are held at 0 instead (Heinze and Schemper,
Statistics in Medicine 21, 2002). Rao's score test needs no fit of the larger model, which may have
no maximum (Proceedings of the Cambridge Philosophical Society 44, 1948).
"""

import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isnan, nan
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import chdtrc
from sklearn.utils.validation import check_is_fitted

from linsep.batches import Batch, joined
from linsep.errors import DataError, ParameterError
from linsep.estimators._common.frames import to_score
from linsep.estimators._common.labels import label_text
from linsep.estimators._common.offsets import has_offset
from linsep.inference.factors import terms_of
from linsep.inference.robust import no_counts, pairs_joined
from linsep.inference.table import Table
from linsep.inference.tails import f_tail
from linsep.parameters import as_fitted, fitted_parameter
from linsep.sources.base import Source, is_frame
from linsep.sources.feature_names import names_in_recipe
from linsep.validation.sparse import as_csr
from linsep.words import counted, size_text

#: relative difference of likelihoods, or of residuals, from which rows are others than in the fit
_OTHERS = 1e-6
#: what is said of tests in which the likelihood has no maximum
SUPREMUM = (
    "The classes are separated for some model, whose log-likelihood is the supremum; p is then "
    "only a rough guide."
)


class Comparison(Table):
    """Nested models, the smallest first: ``print`` it, or call ``to_dict()`` or ``tidy()``.

    Attributes
    ----------
    columns : dict of str to list, one row per model
        ``model``, ``parameters``, ``log_likelihood``, ``aic`` and ``bic``; for least squares
        ``rss`` and ``df_residual``; for the test against the model before ``df``, ``F`` or
        ``chi2``, and ``p_value``, None in the first row.
    """


def compare(*models: Any, names: Sequence[str] | None = None) -> Comparison:
    """Compare nested regressions that were fitted to the same rows.

    Parameters
    ----------
    *models : fitted LinearRegression, or fitted LogisticRegression, two or more
        In increasing order: each has all features of the one before, and more. Features are matched
        by name, so the models must be fitted to data frames or to files with named columns.
    names : list of str, default "model 1", "model 2", ...
        Names of the models in the table.

    Returns
    -------
    Comparison
        Log-likelihood, AIC and BIC of each model, and its test against the one before: for least
        squares an F test with the residual variance of the largest model, as in R's ``anova``; else
        a likelihood-ratio test, approximately chi-squared.

    Raises
    ------
    ParameterError
        If there are fewer than two models, or they are not fitted regressions of the same kind.
    DataError
        If the models are not nested, or were fitted to different rows or to rows in another order;
        or if their likelihoods cannot be compared: with l2, Firth's penalty, or robust covariances.

    Notes
    -----
    For separated classes, the supremum of the log-likelihood is compared.
    """
    called = list(names) if names is not None else [f"model {k + 1}" for k in range(len(models))]
    if len(models) < 2 or len(called) != len(models):
        raise ParameterError(
            f"There are {len(models)} models and {len(called)} names: pass at least two fitted "
            "regressions, and one name for each.",
            code="needs-option" if len(models) < 2 else "shape",
            option=None if len(models) < 2 else "names",
        )  # fmt: skip
    for model, name in zip(models, called, strict=True):
        if not hasattr(type(model), "wald_test"):
            raise ParameterError(
                f"{name} is a {type(model).__name__}: pass fitted linear or logistic regressions.",
                code="unsupported",
            )
        check_is_fitted(model)
    pairs = [(*two, *said) for two, said in zip(pairwise(models), pairwise(called), strict=True)]
    for pair in pairs:
        _check_alike(*pair)
    for model, name in zip(models, called, strict=True):
        refuse_without_likelihood(model, name)
    for pair in pairs:
        _check_nested(*pair)
    tests = [_tested(a, b, models[-1]) for a, b in pairwise(models)]
    linear = models[0]._equation == "target"
    quasi = fitted_parameter(models[0], "dispersion")
    attributes = [*["rss", "df_residual"] * linear, "log_likelihood", "aic", "bic"]
    columns: dict[str, list[Any]] = {
        "model": called, "parameters": [one.n_parameters_ for one in models],
        **{name: [getattr(one, f"{name}_") for one in models] for name in attributes},
        "df": [None, *(test.df for test in tests)],
        "F" if linear or quasi else "chi2": [None, *(test.statistic for test in tests)],
        "p_value": [None, *(test.p_value for test in tests)],
    }  # fmt: skip
    notes = ["Each model is tested against the model above it."]
    notes += [SUPREMUM] * any(map(_is_supremum, models))
    if any(isnan(test.p_value) for test in tests):
        notes.append("A dash: the model adds no parameter, or leaves no residual variance.")
    title = f"Nested {'linear' if linear else 'logistic'} regressions"
    return Comparison(title, [("rows", models[0].n_rows_)], columns, notes)


class _Test(NamedTuple):
    """The test of some parameters; the statistic and p are NaN without a test."""

    df: int
    statistic: float
    p_value: float


def _chi_squared(statistic: float, df: int) -> _Test:
    statistic = statistic if isnan(statistic) else max(0.0, float(statistic))
    return _Test(df, statistic, float(chdtrc(df, statistic)) if df else nan)


def _tested(smaller: Any, larger: Any, largest: Any) -> _Test:
    """Return the test of a smaller model within a larger one; the largest has the variance."""
    if larger._equation == "class":
        gained = 2.0 * (larger.log_likelihood_ - smaller.log_likelihood_)
        df = larger.n_parameters_ - smaller.n_parameters_
        if not fitted_parameter(largest, "dispersion") or not df:
            return _chi_squared(gained, df)
        f, degrees = max(0.0, gained) / df / largest.dispersion_, largest.df_residual_
        return _Test(df, f, float(f_tail(f, df, degrees)))
    df, degrees = smaller.df_residual_ - larger.df_residual_, largest.df_residual_
    unit = largest.residual_error_  # norms keep the digits that squares would lose
    if not (df and degrees > 0 and unit > 0):
        return _Test(df, nan, nan)
    a, b = (one.solution_.residual_norm / unit for one in (smaller, larger))
    statistic = max(0.0, (a - b) * (a + b) / df)
    return _Test(df, statistic, float(f_tail(statistic, df, degrees)))


def _is_supremum(model: Any) -> bool:
    """Return whether the log-likelihood of a model is a supremum, because no maximum exists."""
    return getattr(model, "stop_reason_", None) in ("separable", "quasi-separable")


def refuse_without_likelihood(model: Any, name: str, firth: bool = False) -> None:
    """Raise DataError for a model whose likelihood cannot be compared with others; ``firth`` allows
    Firth's penalty.
    """
    why = getattr(model, "stop_reason_", "too few rows")
    quasi = fitted_parameter(model, "dispersion")
    for wrong, said, code, option in (
        (len(getattr(model, "targets_", ())) > 1, "has several targets: fit a regression for each",
         "unsupported", None),
        (fitted_parameter(model, "l2"), "was fitted with l2 and does not maximize the likelihood: "
         "fit without l2", "unsupported", "l2"),
        (fitted_parameter(model, "penalty") and not firth, "was fitted with Firth's penalty, which "
         "depends on the columns: call likelihood_ratio_tests of the larger model instead",
         "unsupported", "penalty"),
        (fitted_parameter(model, "covariance") is not None, "has a robust covariance, for which "
         "likelihood-ratio tests are not valid: use wald_test instead",
         "unsupported", "covariance"),
        (why == "interrupted" or (np.isnan(model.aic_).any() and not quasi), "has no known maximum "
         f"likelihood ({why}): print summary() for the reason", "no-estimate", None),
    ):  # fmt: skip
        if wrong:
            raise DataError(f"{name} {said}.", code=code, option=option)


def _check_alike(smaller: Any, larger: Any, first: str, second: str) -> None:
    """Raise DataError for models of different kinds."""

    def facts(model: Any) -> dict[str, Any]:
        found: dict[str, Any] = {"kind": type(model).__name__}
        if hasattr(model, "classes_"):
            found["classes"] = sorted(map(label_text, model.classes_.tolist()))
            found["reference"] = label_text(model.reference_)
        names = ("fit_intercept", "weight_type", "dispersion")
        return found | {name: fitted_parameter(model, name) for name in names}

    theirs = facts(larger)
    for what, ours in facts(smaller).items():
        if ours != theirs.get(what):
            raise DataError(
                f"{first} and {second} have another {what} ({ours} and {theirs.get(what)}): fit "
                "both with the same.",
                code="other-model", option=what if hasattr(smaller, what) else None,
            )  # fmt: skip


def _check_nested(smaller: Any, larger: Any, first: str, second: str) -> None:
    """Raise DataError unless the other model was fitted to the same rows, and has all features of
    the smaller one, computed in the same way.
    """
    few, many = _definitions(smaller), _definitions(larger)
    missing = [name for name in few if name not in many]
    unnamed = [
        name for model, name in ((smaller, first), (larger, second))
        if getattr(model, "feature_names_in_", None) is None and model.n_features_in_
    ]  # fmt: skip
    changed = [name for name, made in few.items() if made != many.get(name, made)]
    signatures = {getattr(one, "rows_signature_", None) for one in (smaller, larger)}
    same = smaller.n_rows_ == larger.n_rows_ and len(signatures) == 1 and None not in signatures
    for wrong, said, code in (
        (unnamed, f"The features of {' and '.join(unnamed)} have no names and cannot be matched: "
         "fit to data frames, or to files with named columns", "other-model"),
        (missing and set(many) <= set(few), f"{first} has more features than {second}: pass the "
         "smaller model first", "other-model"),
        (missing, f"{first} is not nested in {second}, which lacks {', '.join(missing[:3])}: "
         "the larger model needs all features of the smaller one", "other-model"),
        (len(few) == len(many), f"{first} and {second} have the same features: there is nothing to "
         "test", "other-model"),
        (not same, f"{first} was fitted to {counted(smaller.n_rows_, 'row')} and {second} to "
         f"{counted(larger.n_rows_, 'row')}, which differ, or have another order, other weights or "
         "offsets: fit both to the same rows, such as those without a missing value", "other-rows"),
        (changed, f"Feature '{'' if not changed else changed[0]}' of {first} and of {second} was "
         "computed in different ways (scaled, filled, converted, or by a formula): fit both with "
         "the same options", "other-model"),
    ):  # fmt: skip
        if wrong:
            column = changed[0] if wrong is changed else None
            raise DataError(f"{said}.", code=code, column=column)


def _definitions(model: Any) -> dict[str, str]:
    """Return how each feature was computed from the columns of a table, by its name; "" for an
    unchanged column.
    """
    names = [str(name) for name in getattr(model, "feature_names_in_", ())]
    made, recipe = dict.fromkeys(names, ""), getattr(model, "recipe_", None) or {}
    if recipe.get("format") != "table":
        return made
    if formula := recipe.get("formula"):
        blocks = formula["blocks"]
        for name, scale, parts in formula["features"]:
            whole = [scale, [[blocks[block], at] for block, at in parts]]
            plain = len(parts) == 1 and set(blocks[parts[0][0]]) == {"column"} and scale == 1.0
            made[str(name)] = "" if plain else json.dumps(whole, sort_keys=True)
        return made
    own = {}
    for column, name in names_in_recipe(recipe).items():
        steps = {k: recipe.get(k) or {} for k in ("scale", "means", "converted", "rare", "words")}
        done = {k: of[column] for k, of in steps.items() if column in of}
        own[column] = json.dumps(done, sort_keys=True, default=str) if done else ""
        if name in made:
            made[name] = own[column]
        for place in recipe["text"].get(column, {}).values():
            made[names[int(place)]] = own[column]
    for product in recipe.get("products", ()):
        for *_, place in product["features"]:
            made[names[int(place)]] = "".join(own[column] for column in product["columns"])
    return made


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


class _Rows(NamedTuple):
    """Features of rows in memory, and what ``fit`` takes beside them, without what is None."""

    X: Any
    beside: dict[str, Any]


def _rows_of(model: Any, X: Any, y: Any, **beside: Any) -> _Rows:
    """Return the rows of a fit as features in memory."""
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
            raise DataError(f"{source.name} has no rows.", code="no-rows", path=source.name)
        if _counts(model):
            parts = list(pairs_joined(parts, model.classes_[1]))
        read = joined(parts, model.n_features_in_)
        names = ("successes", "trials") if _counts(model) else ("y", "sample_weight")
        beside = dict(zip(names, (read.y, read.weights), strict=True)) | {"offset": read.offset}
        features = read.X
    else:
        if _counts(model) and "successes" not in beside:
            raise no_counts()
        if has_offset(model) and beside.get("offset") is None:
            raise DataError(
                "The model was fitted with an offset: pass it.",
                code="needs-option",
                option="offset",
            )
        beside["y"], features = y, as_csr(model.features_of(X))
    features = features if sp.issparse(features) else np.asarray(features)
    if features.ndim != 2 or features.shape[1] != model.n_features_in_:
        raise DataError(
            f"X has the shape {features.shape}, but the model has {model.n_features_in_} "
            "features: pass the rows of the fit.",
            code="shape",
        )
    return _Rows(features, {name: value for name, value in beside.items() if value is not None})


def _counts(model: Any) -> bool:
    return getattr(model, "_saturated", None) is not None


def _refuse_counts(model: Any) -> None:
    """Raise DataError for a model of counts, or with an offset."""
    if has_offset(model) or _counts(model):
        raise DataError(
            "This test does not support offsets or counts: fit the smaller or larger model with "
            "them and call linsep.compare.",
            code="unsupported",
        )


def _refitted(model: Any, X: Any, rows: _Rows) -> Any:
    """Return a model like this one, fitted to some columns of its rows."""
    changed = {"intervals": "wald", "on_separation": "warn", "trace": False}
    if not X.shape[1]:
        X = np.zeros((X.shape[0], 1))  # which has no effect
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of separation and dependence: said beside the tests
        again = as_fitted(model, **(changed if model._equation == "class" else {}))
        return again.fit(X, **rows.beside)


def _check_rows(model: Any, n_rows: int, found: float, fitted: float) -> None:
    """Raise DataError unless these are the rows of the fit: the same number, with the same
    likelihood.
    """
    if n_rows != model.n_rows_ or abs(found - fitted) > _OTHERS * max(abs(fitted), 1e-300):
        raise DataError(
            f"The model was fitted to other rows than these {counted(n_rows, 'row')} of positive "
            f"weight ({model.n_rows_:,} rows, or other residuals): pass the rows of the fit with "
            "their weights.",
            code="other-rows",
        )


def likelihood_ratio_tests(model: Any, X: Any, y: Any, **beside: Any) -> LikelihoodRatioTests:
    """Return the test of each term; see ``HasInference.likelihood_ratio_tests``."""
    refuse_without_likelihood(model, "The model", firth=True)
    if not (terms := terms_of(model)):
        raise DataError(
            "The model has no features, so there are no terms to test.", code="unsupported"
        )
    rows, linear = _rows_of(model, X, y, **beside), model._equation == "target"
    letter = "F" if linear or fitted_parameter(model, "dispersion") else "chi2"
    tried = [one for one in terms if not any(one.parts < other.parts for other in terms)]
    columns: dict[str, list[Any]] = {}
    if getattr(model, "method_", "") == "Firth":
        _refuse_counts(model)
        single = rows.X, rows.beside["y"], rows.beside.get("sample_weight")
        held = model._held_at_zero(*single, [one.features for one in tried])
        _check_rows(model, held.n_rows, held.log_likelihood, model.log_likelihood_)
        tests = [_chi_squared(2.0 * (held.value - value), df) for value, df in held.held]
        columns["log_likelihood"] = [value for value, _ in held.held]
        notes = ["Penalized likelihoods (Firth), with the coefficients of a term held at 0."]
    else:
        full = _refitted(model, rows.X, rows)
        one, other = (f.rss_ if linear else f.log_likelihood_ for f in (full, model))
        _check_rows(model, full.n_rows_, one, other)
        kept = [np.setdiff1d(np.arange(model.n_features_in_), one.features) for one in tried]
        fits = [_refitted(model, rows.X[:, some], rows) for some in kept]
        tests = [
            _tested(fit, full, full)
            if linear or not isnan(fit.likelihood_ratio_[0])
            else _Test(full.n_parameters_ - fit.n_parameters_, nan, nan)
            for fit in fits
        ]
        if linear:
            columns["sum_of_squares"] = [max(0.0, fit.rss_ - full.rss_) for fit in fits]
        for name in ("rss" if linear else "log_likelihood", "aic"):
            columns[name] = [float(getattr(fit, f"{name}_")) for fit in fits]
        notes = [SUPREMUM] * any(map(_is_supremum, (full, *fits)))
    if within := [one.name for one in terms if one not in tried]:
        notes.append(f"Not tested, as part of a product: {', '.join(within)}.")
    if any(isnan(test.p_value) for test in tests):
        notes.append(
            "A dash: the term adds no parameter, or the fit leaves no residual variance."
            if linear
            else "A dash: the term adds no parameter, or no maximum exists to compare."
        )
    columns = {
        "term": [one.name for one in tried], "df": [test.df for test in tests], **columns,
        letter: [test.statistic for test in tests],
        "p_value": [test.p_value for test in tests],
    }  # fmt: skip
    return LikelihoodRatioTests(
        "F tests of terms" if letter == "F" else "Likelihood-ratio tests of terms",
        [("rows", model.n_rows_)], columns, notes,
    )  # fmt: skip


def score_test(model: Any, X: Any, y: Any, more: Any, sample_weight: Any) -> ScoreTest:
    """Return Rao's score test of additional columns; see ``HasInference.score_test``."""
    refuse_without_likelihood(model, "The model")
    if _is_supremum(model):
        raise DataError(
            "Coefficients of the model diverge because the classes are separated, so there are "
            "no estimates for a score test: fit the larger model and call linsep.compare.",
            code="separated",
        )
    _refuse_counts(model)
    rows, added = _rows_of(model, X, y, sample_weight=sample_weight), _added(more)
    if added.ndim != 2 or added.shape[0] != rows.X.shape[0]:
        raise DataError(
            f"X has {rows.X.shape[0]:,} rows, but more has the shape {added.shape}: pass columns "
            "of the same rows.", code="shape", option="more",
        )  # fmt: skip
    either = sp.issparse(added) or sp.issparse(rows.X)
    wide = sp.csr_matrix(sp.hstack([rows.X, added])) if either else np.hstack([rows.X, added])
    if model._equation == "class":
        found = model._scored(wide, rows.beside["y"], rows.beside.get("sample_weight"))
        _check_rows(model, found.n_rows, found.log_likelihood, model.log_likelihood_)
        statistic, width = found.statistic, found.n_parameters
    else:
        # n times the share of the residual sum of squares that the larger model explains (Breusch
        # and Pagan, Review of Economic Studies 47, 1980)
        larger, smaller = _refitted(model, wide, rows), _refitted(model, rows.X, rows)
        _check_rows(model, smaller.n_rows_, smaller.rss_, model.rss_)
        if not model.rss_:
            raise DataError(
                "The model fits perfectly, so no variance is left to explain.", code="no-estimate"
            )
        share = larger.solution_.residual_norm / model.solution_.residual_norm
        statistic, width = model.n_rows_ * (1.0 - share) * (1.0 + share), larger.n_parameters_
    test = _chi_squared(statistic, width - model.n_parameters_)
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
    names = [str(more.name)] if getattr(more, "name", None) is not None else None
    if is_frame(more):
        names = [str(name) for name in getattr(more, "column_names", None) or more.columns]
    added = as_csr(more)
    if sp.issparse(added):
        return added
    added = np.asarray(added)
    added = added[:, None] if added.ndim == 1 else added
    for k, column in enumerate(added.T if added.ndim == 2 else ()):
        try:
            column.astype(np.float64)
        except (TypeError, ValueError):
            name = names[k] if names else k
            raise DataError(
                f"Column {name!r} of more holds values that are not numbers",
                "pass numbers, such as one column of zeros and ones per level",
                code="not-a-number", option="more", column=name,
            ) from None  # fmt: skip
    return added.astype(np.float64)
