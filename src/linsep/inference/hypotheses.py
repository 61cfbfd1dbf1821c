"""Tests of linear functions of parameters (Wald), of contrasts of the levels of a factor, of terms
by leaving them out, of additional columns by their scores, and of nested models.

R b = q of r restrictions has the statistic d' (R V R')^-1 d with d = R b - q and the covariance V,
about chi-squared with r degrees of freedom, or r times F (Wald, Transactions of the American
Mathematical Society 54, 1943). k parameters less, and the residual sum of squares S, have F = ((S -
S1) / k) / (S0 / (n - r)) with S1 of the larger, S0 and r parameters of the largest model; of
logistic models, twice the difference of log-likelihoods (Wilks, Annals of Mathematical Statistics
9, 1938), with Firth's penalty with coefficients held at 0 (Heinze and Schemper, Statistics in
Medicine 21, 2002). Scores: Rao, Proceedings of the Cambridge Philosophical Society 44, 1948.
"""

import ast
import re
import warnings
from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from math import inf, isclose, isinf, isnan, nan
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from linsep.batches import Batch
from linsep.errors import DataError, ParameterError, refuse
from linsep.estimators.labels import has_offset, label_text, offset_to_predict
from linsep.estimators.showing import linear_sum
from linsep.inference import factors, results
from linsep.inference.robust import pairs_joined
from linsep.inference.table import Table
from linsep.parameters import as_fitted, fitted_parameter
from linsep.sources.feature_names import names_in_recipe
from linsep.steps import learner_of
from linsep.validation.checks import as_csr, check_beside, faults_named
from linsep.words import counted

#: a linear function that is zero, as it was written, and its coefficients with a constant last
Restriction = tuple[str, np.ndarray]

_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_SIGNS = {ast.Add: 1.0, ast.Sub: -1.0, ast.UAdd: 1.0, ast.USub: -1.0}


class WithTests(results.HasInference):
    """Mixin of regressions: tests of parameters, contrasts, terms and additional columns."""

    def wald_test(self: Any, hypotheses: Any, q: Any = None, *, test: str | None = None) -> Table:
        """Test linear hypotheses about the parameters jointly (Wald test).

        Parameters
        ----------
        hypotheses : str, list of str, or array of shape (restrictions, parameters)
            Such as ``"x1 = x2, 2 * x3 - x4 = 1"``: sums of numbers and names of ``param_names_``
            (the longest that match; any may be in backticks), joined by ``=``; a sum alone is
            compared with zero. Or the matrix R of R b = q, in the order of ``param_names_``.
        q : float or array of shape (restrictions,), default zeros
            Right sides, for a matrix.
        test : "F" or "chi2", default: "F" for least squares and clusters, else "chi2"
            "F" has ``df_residual_`` degrees of freedom, with clusters (CR1) their number - 1.

        Returns
        -------
        linsep.inference.table.Table
            The joint test. ``columns`` have a row per restriction alone: ``hypothesis``;
            ``estimate``, left minus right side; ``standard_error``; ``t`` or ``z``; ``p_value``.

        Raises
        ------
        ParameterError
            If a name is unknown, or a restriction follows from others.
        DataError
            Without finite estimates and standard errors, or if their covariance is singular.
        """
        check_is_fitted(self)
        results.check_option(test in (None, "F", "chi2"), "test", test, "choose 'F' or 'chi2'")
        texts, rows = zip(*_given(self, hypotheses, q), strict=True)
        R, df, degrees = np.array(rows)[:, :-1], len(rows), inf
        distribution = test or ("F" if self._statistic == "t" else "chi2")
        if distribution == "F":
            degrees = float(self.df_residual_ if isinf(self._degrees) else self._degrees)
        if not R.any(axis=1).all():
            why = "A restriction has no parameter with a nonzero coefficient: leave it out."
            raise ParameterError(why, code="bad-hypothesis")
        apart, errors, parts, noise = self._functions(R, np.array(rows)[:, -1])
        for k in np.flatnonzero(~(errors < inf))[:1]:
            terms = zip(self._words_and_signs()[0], self._words.flat, R[k], strict=True)
            lost = ((name, word) for name, word, times in terms if times and word)
            name, word = next(lost, (None, "no standard error"))
            raise DataError(
                f"'{texts[k]}' has no Wald test ({word})",
                "leave it out, or call likelihood_ratio_tests",
                code="separated" if "inf" in word or word == "sign not checked" else "no-estimate",
                column=name, value=texts[k],
            )  # fmt: skip
        # without squares of standard errors, singular values have the digits of the root
        _, sizes, V = np.linalg.svd(parts / errors, full_matrices=False)
        if (many := int((sizes > noise).sum())) < df:
            alike = np.linalg.matrix_rank(R / np.linalg.norm(R, axis=1, keepdims=True)) < df
            raise (ParameterError if alike else DataError)(
                f"The {df} restrictions are dependent, or their covariance is singular: test at "
                f"most {many} at a time.", code="bad-hypothesis",
            )  # fmt: skip
        statistic = float(np.square(V @ (apart / errors) / sizes).sum())
        statistic, name = (statistic, "chi-squared") if isinf(degrees) else (statistic / df, "F")
        p, count = results.upper_tail(statistic, df, degrees), "degrees of freedom"
        return Table(
            "Wald test", [(name, statistic), (count, df), *[(f"{count}, residuals", degrees)]
                          * (not isinf(degrees)), (f"p of {name}", p)],
            {"hypothesis": [*texts], **_singly(apart, errors, degrees)}, [], statistic, p, df,
        )  # fmt: skip

    def _functions(
        self: Any, R: np.ndarray, constants: Any = 0.0
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """Return R b plus constants, or NaN, standard errors, their root and its relative error."""
        if why := self._without_errors():
            raise DataError(why, code="no-estimate")
        (root, noise), known = self._covariance_root(), self._words.ravel() == ""
        found, parts = R @ np.where(known, self._params.ravel(), 0.0) + constants, root @ R.T
        errors, lost = np.linalg.norm(parts, axis=0), (R[:, ~known] != 0.0).any(axis=1)
        errors[lost | ~(errors > 0.0)] = found[lost] = np.nan
        return found, errors, parts, noise

    def contrasts(self: Any, factor: str, compare: Any = "pairs") -> Table:
        """Compare levels of a factor: a text column, categories, or ``C(column)`` or a boolean
        column of a formula.

        Parameters
        ----------
        factor : str, name of the column
        compare : "pairs", "reference", str or list of str, default="pairs"
            Each level minus earlier levels, or the reference; or ``["b - a", "(b + c) / 2 - a"]``.

        Returns
        -------
        linsep.inference.table.Table
            With ``contrast``, ``estimate``, ``standard_error``, ``t`` or ``z``, ``p_value``, Holm's
            ``adjusted_p_value`` (of all classes), ``low`` and ``high`` at the model's ``level``.

        Raises
        ------
        ParameterError
            If a level is unknown, or the coefficients of a contrast do not sum to zero.
        DataError
            If there is no such factor, or standard errors are unknown.
        """
        check_is_fitted(self)
        (name, levels), width = factors.factor_of(self, factor), self._params.shape[-1]
        if len(levels) < 2:
            raise DataError("The factor has one level.", code="too-few-rows", column=name)
        wanted, effects = _wanted(levels, compare), np.zeros((len(levels), width))
        for row, coding in zip(effects, levels.values(), strict=True):
            row[[feature - self.n_features_in_ for feature in coding]] = [*coding.values()]
        rows = np.kron(np.eye(len(self._equations) or 1), [row[:-1] for _, row in wanted] @ effects)
        estimates, errors, *_ = self._functions(rows)
        columns, level = _singly(estimates, errors, self._degrees), self._level
        order, tested = np.argsort(columns["p_value"]), int((~np.isnan(errors)).sum())  # NaN last
        steps = np.array(columns["p_value"])[order] * np.arange(tested, tested - len(order), -1)
        raised = np.maximum.accumulate(steps)[np.argsort(order)]
        columns["adjusted_p_value"] = np.minimum(raised, 1.0).tolist()
        reach = results.t_reach(level, self._degrees) * errors
        columns |= {"low": (estimates - reach).tolist(), "high": (estimates + reach).tolist()}
        within = [term for term in factors.terms_of(self) if {name, f"C({name})"} & {*term}]
        products = ", ".join([":".join(term) for term in within if len(term) > 1])
        notes = {
            f"p-values are adjusted by Holm's method for {counted(tested, 'contrast')}.": True,
            "A dash: a coefficient of the level diverges, or its column is left out.": tested
            < len(rows),
            "Tests and intervals are Wald's; those of summary() are by profile, against the "
            "reference, and hold where both differ.": getattr(self, "_profile", None) is not None,
            f"The factor is part of {products}: differences hold where these are 0.": products,
            f"Intervals are individual {100 * level:.6g}% intervals.": True,
        }
        of = [f"{one}: " for one in self._equations] or [""]
        texts = [one + text for one in of for text, _ in wanted]
        return Table(
            f"Contrasts of {name}", [], {"contrast": texts} | columns,
            [note for note, applies in notes.items() if applies],
        )  # fmt: skip

    def likelihood_ratio_tests(
        self: Any, X: Any, y: Any = None, sample_weight: Any = None, offset: Any = None,
        successes: Any = None, trials: Any = None,
    ) -> Table:  # fmt: skip
        """Test each feature or factor by leaving it out, as R's ``drop1``; see :func:`compare`.

        All features of a factor or a term of a formula are left out together; a term that is part
        of a product is not tested. With Firth's penalty they are held at zero, as in logistf.

        Parameters
        ----------
        X, y, sample_weight, offset, successes, trials : the arguments of the fit
            Or a source, a file or a data frame with the training columns, read into memory.

        Returns
        -------
        linsep.inference.table.Table
            With ``term``, ``df``, ``aic`` and ``log_likelihood``, with Firth's penalty
            ``penalized_log_likelihood``, or ``rss`` and its increase ``sum_of_squares``, without
            it; ``chi2`` or ``F``, and ``p_value``.

        Raises
        ------
        DataError
            For other rows, without a known maximum, with l2 or a robust covariance.
        """
        _refuse(self, "The model", firth=True)
        if not (terms := factors.terms_of(self)):
            raise DataError("The model has no features, and so no terms.", code="unsupported")
        tried = [one for one in terms if not any({*one} < {*other} for other in terms)]
        rows, beside = _rows_of(self, X, y, sample_weight, offset, successes, trials)
        if fitted_parameter(self, "penalty"):
            full, fits, weights = self, list[Any](), beside["sample_weight"]
            n_rows, fitness, value, held = self._held_at_zero(
                rows, beside["y"], weights, [terms[one] for one in tried]
            )
            gains = [(2.0 * (value - other), df) for other, df in held]
            columns = {"penalized_log_likelihood": [value for value, _ in held]}
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
        _check_fit(self, n_rows, fitness)
        tests = _tests(full, gains)
        notes += _notes([*fits, full], tests["p_value"])
        if within := ", ".join([":".join(one) for one in terms if one not in tried]):
            notes.insert(0, f"Not tested, as part of a product: {within}.")
        names = {"term": [":".join(one) for one in tried], "df": tests.pop("df")}
        title = f"{'F' if 'F' in tests else 'Likelihood-ratio'} tests of terms"
        return Table(title, [("rows", self.n_rows_)], names | columns | tests, notes)

    def score_test(
        self: Any, X: Any, y: Any = None, more: Any = None, sample_weight: Any = None
    ) -> Table:
        """Test whether additional columns would improve the model (Rao's score test).

        Of least squares the statistic is the number of rows times the share of the residual sum of
        squares that they explain. With them the likelihood need not have a maximum.

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
            For other rows, infinite estimates, l2, Firth's penalty or a robust covariance.
        """
        _refuse(self, "The model", scores=True)
        if more is None:
            raise ParameterError("more: pass columns to add.", code="needs-option", option="more")
        rows, beside = _rows_of(self, X, y, sample_weight)
        check_beside(X, more=more)
        more = more.to_frame() if hasattr(more, "to_frame") else more  # of one column
        with faults_named(more):
            added = as_csr(more) if sp.issparse(more) else np.asarray(more, dtype=np.float64)
        added = added[:, None] if added.ndim == 1 else added
        if added.ndim != 2 or added.shape[0] != rows.shape[0]:
            raise DataError("more has not the rows of X.", code="shape", option="more")
        dense = isinstance(rows, np.ndarray) and isinstance(added, np.ndarray)
        wide = np.hstack([rows, added]) if dense else sp.hstack([rows, added], "csr")
        if self._equation == "class":
            given = beside["y"], beside["sample_weight"]
            n_rows, fitness, statistic, width = self._scored(wide, *given)
            df = width - self.n_parameters_
        else:
            # Breusch and Pagan, Review of Economic Studies 47, 1980
            larger, smaller = (_refitted(self, columns, beside) for columns in (wide, rows))
            n_rows, fitness, (gained, df) = smaller.n_rows_, smaller.rss_, _gained(self, larger)
            statistic = n_rows * gained / (smaller.rss_ or nan)
        _check_fit(self, n_rows, fitness)
        statistic = float(np.maximum(0.0, statistic))
        p = results.upper_tail(statistic, df)
        columns = {"test": ["added columns"], "df": [df], "chi2": [statistic], "p_value": [p]}
        notes = ["The columns are linear combinations of the model's columns."] * (not df)
        return Table("Score test", [], columns, notes, statistic, p, df)


def compare(*models: Any, names: Sequence[str] | None = None) -> Table:
    """Compare nested regressions that were fitted to the same rows.

    Parameters
    ----------
    *models : fitted LinearRegression, or fitted LogisticRegression, two or more, in any order
        The larger has all features of the smaller, and more, matched by name, as columns of data
        frames and files have.
    names : list of str, default "model 1", "model 2", ...

    Returns
    -------
    linsep.inference.table.Table
        By size: ``model``, ``parameters``, ``log_likelihood``, ``aic`` and ``bic``; ``rss`` and
        ``df_residual``; and the test against the model before: ``df``, ``F`` or ``chi2``, and
        ``p_value``. Least squares, and counts with an estimated dispersion, have F with the
        variance of the largest model, as in R's ``anova``; others a likelihood ratio.

    Raises
    ------
    ParameterError
        If there are fewer than two models, or they are not fitted regressions.
    DataError
        If they are not nested, or of other rows; with l2, Firth's penalty, or robust covariances.
    """
    models = tuple(map(learner_of, models))
    called = list(names) if names is not None else [f"model {k + 1}" for k in range(len(models))]
    why = "Pass at least two fitted regressions, and one name for each."
    refuse(ParameterError, (len(models) < 2, why, "needs-option", None),
           (len(called) != len(models), why, "shape", "names"))  # fmt: skip
    for model, name in zip(models, called, strict=True):
        if not isinstance(model, WithTests):
            raise ParameterError(f"{name} is no regression: pass regressions.", code="unsupported")
        check_is_fitted(model)
        _refuse(model, name)
    order = sorted(range(len(models)), key=lambda k: models[k].n_features_in_)
    models, called = tuple(models[k] for k in order), [called[k] for k in order]
    for (smaller, larger), pair in zip(pairwise(models), pairwise(called), strict=True):
        said, few, many = " and ".join(pair), _definitions(smaller), _definitions(larger)
        facts, known = _facts(smaller), _facts(larger)
        other = next((name for name, fact in facts.items() if known[name] != fact), None)
        differs = next((name for name in few if few[name] != many.get(name)), None)
        rows = [(one.n_rows_, one.rows_signature_) for one in (smaller, larger)]
        apart = differs is not None or not smaller.n_features_in_ <= len(few) < len(many)
        if other or apart:
            raise DataError(
                f"{said} are not nested, or of another {other or 'width'}: the larger needs the "
                "named features of the smaller, computed alike, and more.", code="other-model",
                column=differs, option=None if other in ("kind", "classes") else other,
            )  # fmt: skip
        refuse(DataError, (rows[0] != rows[1] or None in rows[0], f"{said} were fitted to other "
               "rows, weights or offsets, or in another order.", "other-rows", None))  # fmt: skip
    tests = _tests(models[-1], [_gained(*pair) for pair in pairwise(models)])
    linear, attributes = models[0]._equation == "target", ["log_likelihood", "aic", "bic"]
    columns = {
        "model": called, "parameters": [one.n_parameters_ for one in models],
        **{name: [getattr(one, f"{name}_") for one in models]
           for name in ["rss", "df_residual"] * linear + attributes},
        **{name: [None, *cells] for name, cells in tests.items()},
    }  # fmt: skip
    return Table(
        f"Nested {'linear' if linear else 'logistic'} regressions",
        [("rows", models[0].n_rows_)], columns,
        ["Each model is tested against the model above it.", *_notes(models, tests["p_value"])],
    )  # fmt: skip


def _gained(smaller: Any, larger: Any) -> tuple[float, int]:
    df, gained = larger.n_parameters_ - smaller.n_parameters_, nan
    if larger._equation == "target":
        a, b = (one.solution_.residual_norm for one in (smaller, larger))
        gained = (a - b) * (a + b)
    elif not isnan(smaller.likelihood_ratio_[0]):
        gained = 2.0 * (larger.log_likelihood_ - smaller.log_likelihood_)
    return float(np.maximum(0.0, gained)), df


def _tests(largest: Any, gains: list[tuple[float, int]]) -> dict[str, list[Any]]:
    name, residual, unit = "chi2", inf, 1.0
    if largest._equation == "target" or fitted_parameter(largest, "dispersion"):
        name, residual = "F", largest.df_residual_
        unit = largest.dispersion_ if largest._equation == "class" else largest.residual_variance_
        unit = unit if unit > 0 and residual > 0 else nan
    df = [df for _, df in gains]
    found = [gained / unit / (k or nan if name == "F" else 1) for gained, k in gains]
    p = [results.upper_tail(x, k, residual) for x, k in zip(found, df, strict=True)]
    return {"df": df, name: found, "p_value": p}


def _notes(models: Sequence[Any], p_values: list[float]) -> list[str]:
    apart = any(getattr(one, "stop_reason_", None) in results.SEPARATED for one in models)
    return [
        "A log-likelihood of separated classes is the supremum; p is often too small."
    ] * apart + [
        "A dash: no parameter is tested, no residual variance is left, or no maximum exists."
    ] * any(map(isnan, p_values))


def _refuse(model: Any, name: str, firth: bool = False, scores: bool = False) -> None:
    why, penalized = getattr(model, "stop_reason_", ""), fitted_parameter(model, "penalty")
    unknown = np.isnan(model.aic_).any() and not fitted_parameter(model, "dispersion")
    several = model._equation == "target" and model._equations
    counts = has_offset(model) or getattr(model, "_saturated", None) is not None
    refuse(
        DataError,
        (fitted_parameter(model, "l2"), f"{name} was fitted with l2, so it has no tests: fit it "
         "without.", "unsupported", "l2"),
        (penalized and not firth, f"{name} was fitted with Firth's penalty: test its terms by "
         "likelihood_ratio_tests, in Python.", "unsupported", "penalty"),
        (fitted_parameter(model, "covariance"), f"{name} has a robust covariance: test its "
         "coefficients by wald_test, in Python.", "unsupported", "covariance"),
        (several or (counts and (scores or penalized)), f"{name} has several targets, offsets or "
         "counts: fit both models, of one target, and call linsep.compare.", "unsupported", None),
        (why == "interrupted" or unknown, f"{name} has no known maximum likelihood ({why}).",
         "no-estimate", None),
        (scores and why in results.SEPARATED, "Separated classes: call compare instead.",
         "separated", None),
    )  # fmt: skip


def _facts(model: Any) -> dict[str, Any]:
    return {
        "kind": type(model).__name__,
        **{k: fitted_parameter(model, k) for k in ("fit_intercept", "weight_type", "dispersion")},
        "classes": sorted(map(label_text, getattr(model, "classes_", []))),
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
        name: [of[columns[one]] for of in steps for one in some if columns.get(one) in of]
        for name, some in zip(names, factors.products_and_factors(model)[0], strict=False)
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
    if getattr(model, "_saturated", None) is None:
        return features, {"y": labels, "sample_weight": weights, "offset": offset}
    if successes is None:
        pairs = pairs_joined(Batch(features, labels, 0, weights, offset=offset), model.classes_[1])
        features, successes, trials, offset = pairs.X, pairs.y, pairs.weights, pairs.offset
    return features, {"successes": successes, "trials": trials, "offset": offset}


def _refitted(model: Any, X: Any, beside: dict[str, Any]) -> Any:
    plain = {"intervals": "wald", "on_separation": "warn", "trace": False}
    if not X.shape[1]:
        X = np.zeros((X.shape[0], 1))  # which has no effect
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of separation and dependence: said beside the tests
        return as_fitted(model, **plain if model._equation == "class" else {}).fit(X, **beside)


def _fitness(model: Any) -> float:
    return float(model.rss_ if model._equation == "target" else model.log_likelihood_)


def _check_fit(model: Any, n_rows: int, found: float) -> None:
    results.check_rows(n_rows == model.n_rows_ and isclose(found, _fitness(model), rel_tol=1e-6))


def _singly(estimates: np.ndarray, errors: np.ndarray, degrees: float) -> dict[str, list[Any]]:
    t, letter = estimates / errors, "z" if isinf(degrees) else "t"
    p = results.t_tail(t, degrees)
    found = {"estimate": estimates, "standard_error": errors, letter: t, "p_value": p}
    return {name: x.tolist() for name, x in found.items()}


def _given(model: Any, hypotheses: Any, q: Any) -> list[Restriction]:
    names, signs = model._words_and_signs()
    texts = [hypotheses] if isinstance(hypotheses, str) else hypotheses
    if isinstance(texts, Sequence) and texts and all(isinstance(one, str) for one in texts):
        if q is not None:
            raise ParameterError("q needs a matrix of hypotheses.", code="conflict", option="q")
        known = dict(zip(names, np.diag([*signs, 0.0])[:-1], strict=True))
        return [found for text in texts for found in _restrictions_of(text, known)]
    try:
        rows = np.atleast_2d(np.asarray(hypotheses, dtype=np.float64))
        right = np.broadcast_to(np.asarray(0.0 if q is None else q, dtype=np.float64), len(rows))
    except (TypeError, ValueError):
        raise ParameterError(
            "Pass text such as 'x1 = x2', or numbers: R of shape (restrictions, parameters) and q.",
            code="bad-hypothesis",
        ) from None
    refuse(
        ParameterError,
        (rows.shape != (len(rows) or 1, len(names)), f"R needs {len(names)} numbers per "
         "restriction, in the order of param_names_.", "shape", "hypotheses"),
        (not np.isfinite([*rows.flat, *right]).all(), "R and q must be finite numbers.",
         "not-finite", None),
    )  # fmt: skip
    return [
        (f"{linear_sum(row * signs, names)} = {value:.6g}", np.append(row, -value))
        for row, value in zip(rows, right.tolist(), strict=True)
    ]


@np.errstate(all="ignore")  # what is not finite is refused
def _restrictions_of(
    text: str, names: Mapping[str, np.ndarray], what: str = "parameter"
) -> list[Restriction]:
    one, marked, found = np.eye(1 + len(names))[-1], list[Restriction](), list[Restriction]()
    each = [
        re.escape(name) + r"(?!\w)" * bool(re.search(r"\w$", name))
        for name in sorted(names, key=len, reverse=True)
        if not re.fullmatch(f"{_NUMBER}|", name)
    ]

    def mark(part: re.Match[str]) -> str:
        if part["number"]:
            return part[0]
        name = re.sub(r"^`(.+)`$", r"\1", part[0])
        if (row := names.get(name)) is None:
            raise ParameterError(
                f"'{text}' names '{name}', which is no {what}",
                f"choose among {', '.join([*names][:12])}, ...", code="bad-hypothesis", value=name,
            )  # fmt: skip
        marked.append((part[0], row))
        return f"_{len(marked) - 1}_"

    def linear(node: ast.AST) -> np.ndarray:
        match node:
            case ast.Constant(value=int() | float() as value):
                return one * value
            case ast.Name(id=name):
                return marked[int(name.strip("_"))][1]
            case ast.UnaryOp(op=op, operand=inner):
                return _SIGNS[type(op)] * linear(inner)
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
                return linear(left) + _SIGNS[type(op)] * linear(right)
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                number, row = sorted(map(linear, (left, right)), key=lambda row: row[:-1].any())
                if not number[:-1].any():
                    return number[-1] * row
            case ast.BinOp(left=left, op=ast.Div(), right=right) if not linear(right)[:-1].any():
                return linear(left) / linear(right)[-1]
        raise ValueError("not linear")

    parts = "`[^`]+`", *each, f"(?P<number>{_NUMBER})", r"[^\s+*/=,()-]+"
    marks = re.sub("|".join(parts), mark, text)
    try:
        for equation in marks.split(","):
            sides = [
                (re.sub(r"_(\d+)_", lambda mark: marked[int(mark[1])][0], side),
                 linear(ast.parse(side, mode="eval").body))
                for side in map(str.strip, equation.split("="))
            ]  # fmt: skip
            pairs = [(f"{a} = {b}", x - y) for (a, x), (b, y) in pairwise(sides)]
            found += pairs or sides
        if not np.isfinite([row for _, row in found]).all():
            raise ValueError
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ParameterError(
            f"'{text}' is not a linear hypothesis",
            f"write sums of numbers and {what}s, such as 'a = 2 * `c-d` + 1'",
            code="bad-hypothesis", value=text,
        ) from None  # fmt: skip
    return found


def _wanted(levels: factors.Levels, compare: Any) -> list[Restriction]:
    names = list(levels)
    units = dict(zip(names, np.eye(len(names), len(names) + 1), strict=True))
    if compare in ("pairs", "reference"):
        pairs = [(a, b) for a, b in combinations(names, 2)]
        if compare == "reference":
            reference = factors.reference_of(levels)
            pairs = [(reference, name) for name in names if name != reference]
        return [(f"{b} - {a}", units[b] - units[a]) for a, b in pairs]
    texts = [compare] if isinstance(compare, str) else compare
    valid = isinstance(texts, Sequence) and texts and all(isinstance(one, str) for one in texts)
    results.check_option(bool(valid), "compare", compare, "choose 'pairs', 'reference', or 'b - a'")
    found = [one for text in texts for one in _restrictions_of(text, units, "level")]
    for text, row in found:
        if row[-1] or abs(row.sum()) > 1e-12 * np.abs(row).sum() or not row.any():
            raise ParameterError(
                f"'{text}' is not a contrast: coefficients must sum to zero, as in '(a + b) / 2 - "
                "c' (levels that look like numbers need backticks).",
                code="bad-hypothesis", option="compare", value=text,
            )  # fmt: skip
    return found
