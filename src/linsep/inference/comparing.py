"""Tests of nested regressions of the same rows: F for least squares, else likelihood ratios.

For n rows, a smaller model with k fewer parameters and the residual sum of squares S has F = ((S -
S1) / k) / (S0 / (n - r)), where S1 belongs to the larger model, and S0 and r parameters to the
largest. For logistic models the statistic is twice the difference of log-likelihoods, approximately
chi-squared with k degrees of freedom (Wilks, Annals of Mathematical Statistics 9, 1938).
"""

import json
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import isnan, nan
from typing import Any, NamedTuple

import numpy as np
from scipy.special import chdtrc
from sklearn.utils.validation import check_is_fitted

from linsep.errors import DataError, ParameterError
from linsep.estimators._common.labels import label_text
from linsep.inference.summary import Table
from linsep.inference.tails import f_tail
from linsep.parameters import fitted_parameter
from linsep.sources.feature_names import names_in_recipe
from linsep.words import counted


class Test(NamedTuple):
    """The test of a smaller model within a larger one.

    Attributes
    ----------
    df : int, difference in the number of parameters
    statistic, p_value : float, NaN without a test
    """

    df: int
    statistic: float
    p_value: float


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
    if len(models) < 2:
        raise ParameterError(
            "There is nothing to compare: pass at least two fitted regressions.",
            code="needs-option",
        )
    called = list(names) if names is not None else [f"model {k + 1}" for k in range(len(models))]
    if len(called) != len(models):
        raise ParameterError(
            f"There are {len(models)} models, but {len(called)} names.",
            code="shape", option="names",
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
        _check_rows(*pair)
        _check_features(*pair)
    tests = [None, *(tested(a, b, models[-1]) for a, b in pairwise(models))]
    return _table(models, called, tests)


def tested(smaller: Any, larger: Any, largest: Any) -> Test:
    """Return the test of a smaller model within a larger one; the largest has the variance."""
    if larger._statistic == "z":
        return likelihood_ratio(
            larger.log_likelihood_ - smaller.log_likelihood_,
            larger.n_parameters_ - smaller.n_parameters_,
        )
    df, degrees = smaller.df_residual_ - larger.df_residual_, largest.df_residual_
    unit = largest.residual_error_  # norms, since squares could overflow
    if not (df and degrees > 0 and unit > 0):
        return Test(df, nan, nan)
    norms = [one.solution_.residual_norm / unit for one in (smaller, larger)]
    statistic = max(0.0, (norms[0] - norms[1]) * (norms[0] + norms[1]) / df)
    return Test(df, statistic, float(f_tail(statistic, df, degrees)))


def likelihood_ratio(gained: float, df: int) -> Test:
    """Return the test of a gain of log-likelihood by some parameters."""
    statistic = max(0.0, 2.0 * gained) if not isnan(gained) else nan
    return Test(df, statistic, float(chdtrc(df, statistic)) if df else nan)


def _table(models: Sequence[Any], called: list[str], tests: list[Test | None]) -> Comparison:
    linear = models[0]._statistic == "t"
    columns: dict[str, list[Any]] = {"model": called}
    columns["parameters"] = [one.n_parameters_ for one in models]
    if linear:
        columns["rss"] = [one.rss_ for one in models]
        columns["df_residual"] = [one.df_residual_ for one in models]
    for name in ("log_likelihood", "aic", "bic"):
        columns[name] = [float(getattr(one, f"{name}_")) for one in models]
    columns["df"] = [None if test is None else test.df for test in tests]
    columns["F" if linear else "chi2"] = [None if one is None else one.statistic for one in tests]
    columns["p_value"] = [None if test is None else test.p_value for test in tests]
    first = models[0]
    kind = "linear" if linear else "logistic"
    notes = ["Each model is tested against the model above it."]
    if any(note_of_supremum(model) for model in models):
        notes.append(SUPREMUM)
    if any(test is not None and isnan(test.p_value) for test in tests):
        notes.append("A dash: the model adds no parameter, or leaves no residual variance.")
    return Comparison(f"Nested {kind} regressions", [("rows", first.n_rows_)], columns, notes)


#: what is said of tests in which the likelihood has no maximum
SUPREMUM = (
    "The classes are separated for some model, whose log-likelihood is the supremum; p is then "
    "only a rough guide."
)


def note_of_supremum(model: Any) -> bool:
    """Return whether the log-likelihood of a model is a supremum, because no maximum exists."""
    return getattr(model, "stop_reason_", None) in ("separable", "quasi-separable")


def refuse_without_likelihood(model: Any, name: str, firth: bool = False) -> None:
    """Raise DataError for a model whose likelihood cannot be compared with others; ``firth`` allows
    Firth's penalty.
    """
    why = getattr(model, "stop_reason_", "too few rows")
    for wrong, said, code, option in (
        (len(getattr(model, "targets_", ())) > 1, "has several targets: fit a regression for each",
         "unsupported", None),
        (fitted_parameter(model, "l2"), "was fitted with l2 and does not maximize the likelihood: "
         "fit without l2", "unsupported", "l2"),
        (fitted_parameter(model, "penalty") and not firth, "was fitted with Firth's penalty, which "
         "differs between models: call likelihood_ratio_tests of the larger model instead",
         "unsupported", "penalty"),
        (fitted_parameter(model, "covariance") is not None, "has a robust covariance, for which "
         "likelihood-ratio tests are not valid: use wald_test instead",
         "unsupported", "covariance"),
        (why == "interrupted" or np.isnan(model.aic_).any(), "has no known maximum likelihood "
         f"({why}): print summary() for the reason", "no-estimate", None),
    ):  # fmt: skip
        if wrong:
            raise DataError(f"{name} {said}.", code=code, option=option)


def _check_alike(smaller: Any, larger: Any, first: str, second: str) -> None:
    """Raise DataError for models of different kinds."""

    def facts(model: Any) -> Iterator[tuple[str, Any]]:
        yield "kind", type(model).__name__
        if hasattr(model, "classes_"):
            yield "classes", sorted(map(label_text, model.classes_.tolist()))
            yield "reference", label_text(model.reference_)
        for name in ("fit_intercept", "weight_type"):
            yield name, fitted_parameter(model, name)

    for (what, ours), (_, theirs) in zip(facts(smaller), facts(larger), strict=False):
        if ours != theirs:
            raise DataError(
                f"{first} and {second} have another {what} ({ours} and {theirs}): fit both with "
                "the same.", code="other-model", option=what if hasattr(smaller, what) else None,
            )  # fmt: skip


def _check_nested(smaller: Any, larger: Any, first: str, second: str) -> None:
    """Raise DataError unless the other model has all features of the smaller one."""
    few, many = (_names(one) for one in (smaller, larger))
    missing = [name for name in few if name not in many]
    more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
    unnamed = [
        name for model, name in ((smaller, first), (larger, second))
        if getattr(model, "feature_names_in_", None) is None and model.n_features_in_
    ]  # fmt: skip
    for wrong, said in (
        (unnamed, f"The features of {' and '.join(unnamed)} have no names and cannot be matched: "
         "fit to data frames, or to files with named columns"),
        (missing and set(many) <= set(few), f"{first} has more features than {second}: pass the "
         "smaller model first"),
        (missing, f"{first} is not nested in {second}, which lacks {', '.join(missing[:3])}{more}: "
         "the larger model needs all features of the smaller one"),
        (len(few) == len(many), f"{first} and {second} have the same features: there is nothing to "
         "test"),
    ):  # fmt: skip
        if wrong:
            raise DataError(f"{said}.", code="other-model")


def _names(model: Any) -> list[str]:
    """Return the names of the features, which are known or none."""
    return [str(name) for name in getattr(model, "feature_names_in_", ())]


def _check_features(smaller: Any, larger: Any, first: str, second: str) -> None:
    """Raise DataError for a feature that the two models computed in different ways."""
    many = _definitions(larger)
    for name, made in _definitions(smaller).items():
        if made != many[name]:
            raise DataError(
                f"Feature '{name}' of {first} and of {second} was computed in different ways "
                "(scaled, filled, converted, or by a formula): fit both with the same options.",
                code="other-model", column=name,
            )  # fmt: skip


def _definitions(model: Any) -> dict[str, str]:
    """Return how each feature was computed from the columns of a table, by its name; "" for an
    unchanged column.
    """
    names = _names(model)
    made = dict.fromkeys(names, "")
    recipe = getattr(model, "recipe_", None) or {}
    if recipe.get("format") != "table":
        return made
    if formula := recipe.get("formula"):
        blocks = formula["blocks"]
        for name, scale, parts in formula["features"]:
            whole = [scale, [[blocks[block], at] for block, at in parts]]
            plain = len(parts) == 1 and set(blocks[parts[0][0]]) == {"column"} and scale == 1.0
            made[str(name)] = "" if plain else json.dumps(whole, sort_keys=True)
        return made
    shown = names_in_recipe(recipe)
    own = {column: _of_column(recipe, column) for column in shown}
    for column, name in shown.items():
        if name in made:
            made[name] = own[column]
    for column, places in recipe["text"].items():
        for place in places.values():
            made[names[int(place)]] = own[column]
    for product in recipe.get("products", ()):
        for *_, place in product["features"]:
            made[names[int(place)]] = "".join(own[column] for column in product["columns"])
    return made


def _of_column(recipe: dict[str, Any], column: str) -> str:
    """Return the preprocessing of a column."""
    done = {
        key: recipe[key][column]
        for key in ("scale", "means", "converted", "rare", "words")
        if column in (recipe.get(key) or {})
    }
    return json.dumps(done, sort_keys=True, default=str) if done else ""


def _check_rows(smaller: Any, larger: Any, first: str, second: str) -> None:
    """Raise DataError unless both models were fitted to the same rows."""
    if smaller.n_rows_ != larger.n_rows_:
        raise DataError(
            f"{first} was fitted to {counted(smaller.n_rows_, 'row')} and {second} to "
            f"{counted(larger.n_rows_, 'row')}: fit both to the same rows, such as those without a "
            "missing value in any column.",
            code="other-rows",
        )
    ours, theirs = (getattr(one, "rows_signature_", None) for one in (smaller, larger))
    if ours is None or ours != theirs:
        raise DataError(
            f"{first} and {second} were fitted to different rows, or in another order, or with "
            "other weights or offsets: fit both to the same rows.",
            code="other-rows",
        )
