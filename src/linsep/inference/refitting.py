"""Tests that compare likelihoods: of nested models, of each term by leaving it out, and of
additional columns by their scores.

Of n rows, a smaller model with k fewer parameters and the residual sum of squares S has F = ((S -
S1) / k) / (S0 / (n - r)), where S1 belongs to the larger model, and S0 and r parameters to the
largest. The statistic of logistic models is twice the difference of log-likelihoods, about
chi-squared with k degrees of freedom (Wilks, Annals of Mathematical Statistics 9, 1938). Firth's
penalty depends on the columns, so coefficients are held at 0 (Heinze and Schemper, Statistics in
Medicine 21, 2002). Rao's score test: Proceedings of the Cambridge Philosophical Society 44, 1948.
"""

import warnings
from collections.abc import Sequence
from itertools import pairwise
from math import inf, isnan, nan
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from linsep.batches import Batch
from linsep.errors import DataError, ParameterError, refuse
from linsep.estimators._common.labels import has_offset, label_text, offset_to_predict
from linsep.inference.factors import products_and_factors, terms_of
from linsep.inference.hypotheses import WithHypotheses
from linsep.inference.results import SEPARATED, upper_tail
from linsep.inference.robust import pairs_joined
from linsep.inference.table import Table
from linsep.parameters import as_fitted, fitted_parameter
from linsep.sources.feature_names import names_in_recipe
from linsep.validation.sparse import as_csr
from linsep.validation.values import faults_named


class WithRefits(WithHypotheses):
    """Mixin of regressions: tests of terms, and of additional columns."""

    def likelihood_ratio_tests(
        self: Any, X: Any, y: Any = None, sample_weight: Any = None, offset: Any = None,
        successes: Any = None, trials: Any = None,
    ) -> Table:  # fmt: skip
        """Test each feature or factor by leaving it out, as R's ``drop1``.

        The tests are those of :func:`linsep.compare`. All features of a factor, or of another term
        of a formula, are left out together; a term that is part of a product is not tested. With
        Firth's penalty the penalized likelihoods are compared, with the coefficients of the term
        held at zero, as in logistf.

        Parameters
        ----------
        X, y, sample_weight, offset, successes, trials : the arguments of the fit
            Or a source, a file or a data frame with the training columns. The rows are read into
            memory.

        Returns
        -------
        linsep.inference.table.Table
            ``columns`` have a row per term: ``term``; ``df``, the number of its parameters; ``aic``
            and ``log_likelihood`` of the model without it (with Firth's penalty penalized, and no
            AIC), or for least squares its ``rss`` and the increase ``sum_of_squares``; ``chi2`` or
            ``F``, and ``p_value``.

        Raises
        ------
        DataError
            If these are not the rows of the fit, if the maximum of the likelihood is unknown, or
            with l2 or a robust covariance.
        """
        _refuse_without_likelihood(self, "The model", firth=True)
        if not (terms := terms_of(self)):
            raise DataError("The model has no features, and so no terms.", code="unsupported")
        tried = [one for one in terms if not any({*one} < {*other} for other in terms)]
        rows, beside = _rows_of(self, X, y, sample_weight, offset, successes, trials)
        if fitted_parameter(self, "penalty"):
            full, fits, weights = self, list[Any](), beside["sample_weight"]
            n_rows, fitness, value, held = self._held_at_zero(
                rows, beside["y"], weights, [terms[one] for one in tried]
            )
            gains = [(2.0 * (value - other), df) for other, df in held]
            columns = {"log_likelihood": [value for value, _ in held]}
            notes = ["Penalized likelihoods (Firth), with the coefficients of a term held at 0."]
        else:
            full, notes = _refitted(self, rows, beside), list[str]()
            n_rows, fitness = full.n_rows_, _fitness(full)
            kept = [np.setdiff1d(np.arange(rows.shape[1]), terms[one]) for one in tried]
            fits = [_refitted(self, rows[:, some], beside) for some in kept]
            gains, name = [_gained(fit, full) for fit in fits], "log_likelihood"
            columns = {}
            if self._equation == "target":
                columns, name = {"sum_of_squares": [gained for gained, _ in gains]}, "rss"
            columns |= {name: [*map(_fitness, fits)], "aic": [float(fit.aic_) for fit in fits]}
        _check_rows(self, n_rows, fitness)
        tests = _tests(full, gains)
        notes += _notes([*fits, full], tests["p_value"])
        if within := ", ".join([":".join(one) for one in terms if one not in tried]):
            notes.insert(0, f"Not tested, as part of a product: {within}.")
        names = {"term": [":".join(one) for one in tried], "df": tests.pop("df")}
        title = "F" if "F" in tests else "Likelihood-ratio"
        return Table(
            f"{title} tests of terms", [("rows", self.n_rows_)], names | columns | tests, notes
        )

    def score_test(
        self: Any, X: Any, y: Any = None, more: Any = None, sample_weight: Any = None
    ) -> Table:
        """Test whether additional columns would improve the model (Rao's score test).

        The larger model is not fitted, and its likelihood need not have a maximum. The statistic is
        approximately chi-squared; of least squares the number of rows times the share of the
        residual sum of squares that the larger model explains.

        Parameters
        ----------
        X, y, sample_weight : the rows of the fit, as for :meth:`likelihood_ratio_tests`
        more : array or sparse matrix of shape (rows,) or (rows, columns)
            The columns to add, tested jointly.

        Returns
        -------
        linsep.inference.table.Table
            The joint test; ``df`` is the number of parameters that the columns would add.

        Raises
        ------
        DataError
            If these are not the rows of the fit, if the model has no finite estimates, or with l2,
            Firth's penalty or a robust covariance.
        """
        _refuse_without_likelihood(self, "The model", scores=True)
        if more is None:
            raise ParameterError("more: pass columns to add.", code="needs-option", option="more")
        rows, beside = _rows_of(self, X, y, sample_weight)
        try:
            more = more.to_frame() if hasattr(more, "to_frame") else more  # of one column
            with faults_named(more):
                added = as_csr(more) if sp.issparse(more) else np.asarray(more, dtype=np.float64)
        except DataError as fault:
            fault.option = "more"
            raise
        added = added[:, None] if added.ndim == 1 else added
        if added.ndim != 2 or added.shape[0] != rows.shape[0]:
            raise DataError("more has not the rows of X.", code="shape", option="more")
        sparse = sp.issparse(added) or sp.issparse(rows)
        wide = sp.hstack([rows, added], "csr") if sparse else np.hstack([rows, added])
        if self._equation == "class":
            weights = beside["sample_weight"]
            n_rows, fitness, statistic, width = self._scored(wide, beside["y"], weights)
            df = width - self.n_parameters_
        else:
            # n times the share of the residual sum of squares that the larger model explains
            # (Breusch and Pagan, Review of Economic Studies 47, 1980)
            larger, smaller = (_refitted(self, columns, beside) for columns in (wide, rows))
            n_rows, fitness, (gained, df) = smaller.n_rows_, smaller.rss_, _gained(self, larger)
            statistic = n_rows * gained / (smaller.rss_ or nan)
        _check_rows(self, n_rows, fitness)
        statistic = float(np.maximum(0.0, statistic))
        p = upper_tail(statistic, df)
        columns = {"test": ["added columns"], "df": [df], "chi2": [statistic], "p_value": [p]}
        notes = ["The columns are linear combinations of the model's columns."] * (not df)
        return Table("Score test", [], columns, notes, statistic, p, df)


def compare(*models: Any, names: Sequence[str] | None = None) -> Table:
    """Compare nested regressions that were fitted to the same rows.

    Parameters
    ----------
    *models : fitted LinearRegression, or fitted LogisticRegression, two or more
        In increasing order: each has all features of the one before, and more. Features are matched
        by name, so the models must be fitted to data frames or to files with named columns.
    names : list of str, default "model 1", "model 2", ...

    Returns
    -------
    linsep.inference.table.Table
        ``columns`` have a row per model: ``model``, ``parameters``, ``log_likelihood``, ``aic`` and
        ``bic``; for least squares ``rss`` and ``df_residual``; and the test against the model
        before, None in the first row: ``df``, ``F`` or ``chi2``, and ``p_value``. Least squares
        and counts with an estimated dispersion have an F test with the variance of the largest
        model, as in R's ``anova``; other models a likelihood-ratio test, approximately chi-squared,
        for separated classes by the supremum, where p is only a rough guide.

    Raises
    ------
    ParameterError
        If there are fewer than two models, or they are not fitted regressions.
    DataError
        If the models are not nested, or were fitted to other rows or in another order; with l2,
        Firth's penalty, or robust covariances.
    """
    called = list(names) if names is not None else [f"model {k + 1}" for k in range(len(models))]
    why = "Pass at least two fitted regressions, and one name for each."
    refuse(ParameterError, (len(models) < 2, why, "needs-option", None),
           (len(called) != len(models), why, "shape", "names"))  # fmt: skip
    for model, name in zip(models, called, strict=True):
        if not isinstance(model, WithRefits):
            raise ParameterError(f"{name} is no regression: pass regressions.", code="unsupported")
        check_is_fitted(model)
        _refuse_without_likelihood(model, name)
    for (smaller, larger), pair in zip(pairwise(models), pairwise(called), strict=True):
        said, few, many = " and ".join(pair), _definitions(smaller), _definitions(larger)
        facts, known = _facts(smaller), _facts(larger)
        other = next((name for name, fact in facts.items() if known[name] != fact), None)
        differs = next((name for name in few if few[name] != many.get(name)), None)
        rows = [(one.n_rows_, one.rows_signature_) for one in (smaller, larger)]
        apart = differs is not None or not smaller.n_features_in_ <= len(few) < len(many)
        if other or apart:
            raise DataError(
                f"{said} are not nested, or of another {other or 'width'}: the larger needs all "
                "features of the smaller, computed alike, and more, all with names, as columns of "
                "data frames and files have.", code="other-model", column=differs,
                option=None if other in ("kind", "classes") else other,
            )  # fmt: skip
        refuse(DataError, (rows[0] != rows[1] or None in rows[0], f"{said} were fitted to other "
               "rows, weights or offsets, or in another order.", "other-rows", None))  # fmt: skip
    tests = _tests(models[-1], [_gained(*pair) for pair in pairwise(models)])
    linear = models[0]._equation == "target"
    attributes = [*["rss", "df_residual"] * linear, "log_likelihood", "aic", "bic"]
    columns = {
        "model": called, "parameters": [one.n_parameters_ for one in models],
        **{name: [getattr(one, f"{name}_") for one in models] for name in attributes},
        **{name: [None, *cells] for name, cells in tests.items()},
    }  # fmt: skip
    return Table(
        f"Nested {'linear' if linear else 'logistic'} regressions",
        [("rows", models[0].n_rows_)], columns,
        ["Each model is tested against the model above it.", *_notes(models, tests["p_value"])],
    )  # fmt: skip


def _gained(smaller: Any, larger: Any) -> tuple[float, int]:
    """Return the decrease of the residual sum of squares or the deviance, and added parameters."""
    df, gained = larger.n_parameters_ - smaller.n_parameters_, nan
    if larger._equation == "target":
        a, b = (one.solution_.residual_norm for one in (smaller, larger))
        gained = (a - b) * (a + b)
    elif not isnan(smaller.likelihood_ratio_[0]):
        gained = 2.0 * (larger.log_likelihood_ - smaller.log_likelihood_)
    return float(np.maximum(0.0, gained)), df


def _tests(largest: Any, gains: list[tuple[float, int]]) -> dict[str, list[Any]]:
    """Return the columns of tests, given what their parameters gain in the largest model."""
    name, residual, unit = "chi2", inf, 1.0
    if largest._equation == "target" or fitted_parameter(largest, "dispersion"):
        name, residual = "F", largest.df_residual_
        unit = largest.dispersion_ if largest._equation == "class" else largest.residual_variance_
        unit = unit if unit > 0 and residual > 0 else nan
    df = [df for _, df in gains]
    found = [gained / unit / (k or nan if name == "F" else 1) for gained, k in gains]
    p = [upper_tail(x, k, residual) for x, k in zip(found, df, strict=True)]
    return {"df": df, name: found, "p_value": p}


def _notes(models: Sequence[Any], p_values: list[float]) -> list[str]:
    supremum = "A log-likelihood of separated classes is the supremum; p is only a rough guide."
    dash = "A dash: no parameter is tested, no residual variance is left, or no maximum exists."
    apart = any(getattr(model, "stop_reason_", None) in SEPARATED for model in models)
    return [supremum] * apart + [dash] * any(map(isnan, p_values))


def _refuse_without_likelihood(
    model: Any, name: str, firth: bool = False, scores: bool = False
) -> None:
    why, penalized = getattr(model, "stop_reason_", ""), fitted_parameter(model, "penalty")
    unknown = np.isnan(model.aic_).any() and not fitted_parameter(model, "dispersion")
    several = model._equation == "target" and model._equations
    counts = (scores or penalized) and (has_offset(model) or _counts(model))
    refuse(
        DataError,
        *(
            (fitted_parameter(model, option) and not (firth and option == "penalty"), f"{name} was "
             f"fitted with {option}: use wald_test with robust covariances, "
             "likelihood_ratio_tests with Firth's penalty.", "unsupported", option)
            for option in ("l2", "penalty", "covariance")
        ),
        (several or counts, f"{name} has several targets, offsets or counts, which this test does "
         "not support: fit both models, of one target, and call linsep.compare.", "unsupported",
         None),
        (why == "interrupted" or unknown, f"{name} has no known maximum likelihood ({why}).",
         "no-estimate", None),
        (scores and why in SEPARATED, "Separated classes: call compare instead.", "separated",
         None),
    )  # fmt: skip


def _facts(model: Any) -> dict[str, Any]:
    names, classes = ("fit_intercept", "weight_type", "dispersion"), getattr(model, "classes_", [])
    return {
        "kind": type(model).__name__, **{name: fitted_parameter(model, name) for name in names},
        "classes": sorted(map(label_text, list(classes))),
        "reference": label_text(getattr(model, "reference_", "")),
    }  # fmt: skip


def _definitions(model: Any) -> dict[str, list[Any]]:
    """Return how each named feature was computed from columns, [] for an unchanged one."""
    recipe = getattr(model, "recipe_", None) or {}
    if formula := recipe.get("formula"):
        blocks, made = formula["blocks"], {}
        for name, scale, parts in formula["features"]:
            own = [[blocks[k], at] for k, at in parts]
            plain = scale == 1.0 and len(own) == 1 and set(own[0][0]) == {"column"}
            made[str(name)] = [] if plain else [scale, own]
        return made
    names = map(str, getattr(model, "feature_names_in_", ()))
    table = recipe.get("format") == "table"
    columns = {shown: name for name, shown in names_in_recipe(recipe).items()} if table else {}
    steps = [recipe.get(k) or {} for k in ("scale", "means", "converted", "rare", "words") if table]
    return {
        name: [of[columns[one]] for of in steps for one, _ in some if columns.get(one) in of]
        for name, some in zip(names, products_and_factors(model)[0], strict=False)
    }


def _rows_of(
    model: Any, X: Any, y: Any, sample_weight: Any = None, offset: Any = None,
    successes: Any = None, trials: Any = None,
) -> tuple[Any, dict[str, Any]]:  # fmt: skip
    labels = y if successes is None else successes
    with model.fitted_rows(X, labels, sample_weight, offset) as (rows, labels, weights, known, _):
        features = as_csr(rows) if sp.issparse(rows) else np.asarray(rows)
    if features.shape[1:] != (model.n_features_in_,):
        raise DataError(f"X needs {model.n_features_in_} columns, as in the fit.", code="shape")
    offset = offset_to_predict(model, known, features.shape[0])
    if not _counts(model):
        return features, {"y": labels, "sample_weight": weights, "offset": offset}
    if successes is None:
        pairs = pairs_joined(Batch(features, labels, 0, weights, offset=offset), model.classes_[1])
        features, successes, trials, offset = pairs.X, pairs.y, pairs.weights, pairs.offset
    return features, {"successes": successes, "trials": trials, "offset": offset}


def _counts(model: Any) -> bool:
    return getattr(model, "_saturated", None) is not None


def _refitted(model: Any, X: Any, beside: dict[str, Any]) -> Any:
    logistic = model._equation == "class"
    changed = {"intervals": "wald", "on_separation": "warn", "trace": False} if logistic else {}
    if not X.shape[1]:
        X = np.zeros((X.shape[0], 1))  # which has no effect
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of separation and dependence: said beside the tests
        return as_fitted(model, **changed).fit(X, **beside)


def _fitness(model: Any) -> float:
    return float(model.rss_ if model._equation == "target" else model.log_likelihood_)


def _check_rows(model: Any, n_rows: int, found: float) -> None:
    fitted = _fitness(model)
    if n_rows != model.n_rows_ or abs(found - fitted) > 1e-6 * max(abs(fitted), 1e-300):
        raise DataError("These are not the rows of the fit with their weights.", code="other-rows")
