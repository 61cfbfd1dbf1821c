"""Wald tests of linear hypotheses, and contrasts of the levels of a factor.

A hypothesis R b = q of r restrictions has the statistic d' (R V R')^-1 d, where d = R b - q for the
estimates b and their covariance V (Wald, Transactions of the American Mathematical Society 54,
1943). It is approximately chi-squared with r degrees of freedom. Divided by r, it has the F
distribution, exactly so for least squares with normal residuals.
"""

from collections.abc import Sequence
from itertools import combinations
from math import inf, isinf
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from linsep.errors import DataError, ParameterError
from linsep.estimators._common.showing import linear_sum
from linsep.inference.factors import Factor, factor_of
from linsep.inference.restrictions import Restriction, restrictions_of
from linsep.inference.table import Facts, Table, check_level, t_reach, t_tail, upper_tail
from linsep.words import counted


class WithHypotheses:
    """Mixin of regressions: Wald tests of hypotheses, and contrasts."""

    def wald_test(self: Any, hypotheses: Any, q: Any = None, *, test: str | None = None) -> Table:
        """Test linear hypotheses about the parameters jointly (Wald test).

        Parameters
        ----------
        hypotheses : str, list of str, or array of shape (restrictions, parameters)
            Restrictions separated by commas, such as ``"x1 = x2, 2 * x3 - x4 = 1"``: sums of
            numbers and names of ``param_names_`` (the longest that match; any may be in backticks),
            joined by ``=``; a sum without ``=`` is compared with zero. Or the matrix R of the
            hypothesis R b = q, with columns in the order of ``param_names_``.
        q : float or array of shape (restrictions,), default zeros
            Right sides, for a matrix.
        test : "F" or "chi2", default: "F" for least squares and clusters, else "chi2"
            The distribution of the statistic. "F" has ``df_residual_`` degrees of freedom, with
            clusters (CR1) their number - 1.

        Returns
        -------
        linsep.inference.table.Table
            The joint test. ``columns`` have a row per restriction: ``hypothesis``; ``estimate``,
            its left side minus its right side; ``standard_error``; ``t`` or ``z``, and ``p_value``
            of the restriction alone.

        Raises
        ------
        ParameterError
            If a name is unknown, or a restriction follows from earlier ones.
        DataError
            If a parameter has no finite estimate, standard errors are unknown, or the covariance of
            the restrictions is singular.
        """
        check_is_fitted(self)
        if test not in (None, "F", "chi2"):
            why = f"test is {test!r}: choose 'F' or 'chi2'."
            raise ParameterError(why, option="test", value=test)
        given = _given(self, hypotheses, q)
        rows, df = np.array([one.row for one in given]), len(given)
        R, degrees = rows[:, :-1], self._degrees
        b, (root, noise) = _estimates(self, R), self._covariance_root()
        if (test or ("F" if self._statistic == "t" else "chi2")) == "chi2":
            degrees = inf
        elif isinf(degrees):
            degrees = self.df_residual_
        with np.errstate(over="ignore", invalid="ignore"):  # which have an error
            apart, parts = R @ b + rows[:, -1], root @ R.T
            errors = np.linalg.norm(parts, axis=0)
        for one, error in zip(given, errors.tolist(), strict=True):
            if not one.row[:-1].any():
                why = f"'{one.text}' has no parameter with a nonzero coefficient: leave it out."
                raise ParameterError(why, code="bad-hypothesis", value=one.text)
            if not 0.0 < error < inf:
                code = "overflow" if isinf(error) else "no-estimate"
                why = f"'{one.text}' cannot be tested: its standard error is {error:g}."
                raise DataError(why, code=code, value=one.text)
        # without squares of standard errors, singular values have the digits of the root
        _, sizes, V = np.linalg.svd(parts / errors, full_matrices=False)
        if (many := int((sizes > noise).sum())) < df:
            alike = np.linalg.matrix_rank(R / np.linalg.norm(R, axis=1, keepdims=True)) < df
            why = "are dependent" if alike else "have a singular covariance"
            raise (ParameterError if alike else DataError)(
                f"The {df} restrictions {why}: test at most {many} at a time.",
                code="bad-hypothesis",
            )
        statistic, name = float(np.square(V @ (apart / errors) / sizes).sum()), "chi-squared"
        header: Facts = [("degrees of freedom", df)]
        if not isinf(degrees):
            statistic, name = statistic / df, "F"
            header.append(("degrees of freedom, residuals", degrees))
        p = upper_tail(statistic, df, degrees)
        columns = {"hypothesis": [one.text for one in given], **_singly(apart, errors, degrees)}
        return Table(
            "Wald test", [(name, statistic), *header, (f"p of {name}", p)], columns, [],
            statistic, p, df, "F" if name == "F" else "chi2", float(degrees),
        )  # fmt: skip

    def contrasts(
        self: Any, factor: str, compare: Any = "pairs", *, adjust: str | None = "holm",
        level: float | None = None,
    ) -> Table:  # fmt: skip
        """Compare levels of a factor: a text column, categories, or ``C(column)`` or a boolean
        column of a formula.

        Parameters
        ----------
        factor : str, name of the column
        compare : "pairs", "reference" or list, default="pairs"
            Each level minus each earlier level, or minus the reference level, whose parameter is
            zero; or contrasts such as ``["b - a", "(b + c) / 2 - a"]``, or pairs ``[("b", "a")]``.
        adjust : "holm" or None, default="holm"
            Adjustment of the p-values for all contrasts of all classes.
        level : float between 0 and 1, default: the ``level`` of the model, or 0.95
            Confidence level of each individual interval.

        Returns
        -------
        linsep.inference.table.Table
            ``columns`` have a row per contrast: ``contrast``, ``estimate``, ``standard_error``,
            ``t`` or ``z``, ``p_value``, ``adjusted_p_value`` if adjusted, and ``low`` and ``high``.

        Raises
        ------
        ParameterError
            If a level is unknown, or the coefficients of a contrast do not sum to zero.
        DataError
            If there is no such factor, or standard errors are unknown.
        """
        check_is_fitted(self)
        if adjust not in ("holm", None):
            why = f"adjust is {adjust!r}: choose 'holm' or None."
            raise ParameterError(why, option="adjust", value=adjust)
        level, of = check_level(self._level if level is None else level), factor_of(self, factor)
        if why := self._without_errors():
            raise DataError(why, code="no-estimate")
        if len(of.levels) < 2:
            raise DataError("The factor has one level.", code="too-few-rows", column=of.name)
        wanted, words, params = _wanted(of, compare), self._words.ravel(), self._params
        effects = np.zeros((len(of.levels), params.shape[-1]))
        for row, coding in zip(effects, of.levels.values(), strict=True):
            for feature, value in coding.items():
                row[feature - self.n_features_in_] = value  # after the intercept
        several, texts = self._equations, [one.text for one in wanted]
        rows = np.kron(np.eye(len(several) or 1), [one.row[:-1] for one in wanted] @ effects)
        lost = (rows != 0.0)[:, words != ""].any(axis=1)
        estimates = rows @ np.where(words == "", params.ravel(), 0.0)
        errors = np.linalg.norm(self._covariance_root()[0] @ rows.T, axis=0)
        errors[lost | ~(errors > 0.0)] = estimates[lost] = np.nan
        columns = _singly(estimates, errors, self._degrees)
        notes = [f"Intervals are individual {100 * level:.6g}% intervals."]
        if of.within:
            products = ", ".join(of.within[:4]) + ", ..." * (len(of.within) > 4)
            why = f"The factor is part of {products}: differences hold where these are 0."
            notes.insert(0, why)
        if lost.any():
            why = "A dash: a coefficient of the level diverges, or its column is left out."
            notes.insert(0, why)
        if adjust is not None:
            columns["adjusted_p_value"] = _holm(np.array(columns["p_value"])).tolist()
            many = counted(len(lost), "contrast")
            notes.insert(0, f"p-values are adjusted by Holm's method for {many}.")
        reach = t_reach(level, self._degrees) * errors
        columns |= {"low": (estimates - reach).tolist(), "high": (estimates + reach).tolist()}
        texts = [f"{one}: {text}" for one in several for text in texts] or texts
        return Table(f"Contrasts of {of.name}", [], {"contrast": texts} | columns, notes)


def _singly(estimates: np.ndarray, errors: np.ndarray, degrees: float) -> dict[str, list[Any]]:
    """Return the columns of tests of single restrictions."""
    t, letter = estimates / errors, "z" if isinf(degrees) else "t"
    found = {"estimate": estimates, "standard_error": errors, letter: t}
    return {name: x.tolist() for name, x in (found | {"p_value": t_tail(t, degrees)}).items()}


def _given(model: Any, hypotheses: Any, q: Any) -> list[Restriction]:
    names, signs = model._words_and_signs()
    texts = [hypotheses] if isinstance(hypotheses, str) else hypotheses
    if isinstance(texts, Sequence) and texts and all(isinstance(one, str) for one in texts):
        if q is not None:
            raise ParameterError("q needs a matrix of hypotheses.", code="conflict", option="q")
        known: dict[str, np.ndarray | None] = {}
        for name, row in zip(names, np.diag([*signs, 0.0])[:-1], strict=True):
            known[name] = None if name in known else row
        return [found for text in texts for found in restrictions_of(text, known)]
    try:
        rows = np.atleast_2d(np.asarray(hypotheses, dtype=np.float64))
        right = np.broadcast_to(np.asarray(0.0 if q is None else q, dtype=np.float64), len(rows))
    except (TypeError, ValueError):
        raise ParameterError(
            "Pass text such as 'x1 = x2', or numbers: R of shape (restrictions, parameters) and q.",
            code="bad-hypothesis",
        ) from None
    if rows.ndim != 2 or rows.shape[1] != len(names) or not len(rows):
        why = f"R needs {len(names)} numbers per restriction, in the order of param_names_."
        raise ParameterError(why, code="shape", option="hypotheses")
    if not (np.isfinite(rows).all() and np.isfinite(right).all()):
        raise ParameterError("R and q must be finite numbers.", code="not-finite")
    return [
        Restriction(f"{linear_sum(row * signs, names)} = {value:.6g}", np.append(row, -value))
        for row, value in zip(rows, right.tolist(), strict=True)
    ]


def _estimates(model: Any, R: np.ndarray) -> np.ndarray:
    """Return the estimates, zero for parameters that no restriction has."""
    about, words = R.any(axis=0), model._words.ravel()
    for j in np.flatnonzero(about & (words != ""))[:1]:
        name = model._words_and_signs()[0][j]
        known = words[j] in ("dependent", "no weight", "not checked")
        raise DataError(
            f"'{name}' has no finite estimate ({words[j]})",
            "leave it out of the tests, or call likelihood_ratio_tests",
            code="no-estimate" if known else "separated", column=name,
        )  # fmt: skip
    if why := model._without_errors():
        raise DataError(why, code="no-estimate")
    return np.where(about, model._params.ravel(), 0.0)


def _holm(p: np.ndarray) -> np.ndarray:
    """Return p-values adjusted by Holm's method (Scandinavian Journal of Statistics 6, 1979), NaN
    as one that is not rejected.
    """
    order = np.argsort(p, kind="stable")  # NaN last
    raised = np.nan_to_num(p[order], nan=1.0) * np.arange(len(p), 0, -1)
    found = np.where(np.isnan(p), np.nan, 1.0)
    found[order] *= np.minimum(np.maximum.accumulate(raised), 1.0)
    return found


def _wanted(factor: Factor, compare: Any) -> list[Restriction]:
    names, found = list(factor.levels), list[Restriction]()
    units = dict(zip(names, np.eye(len(names), len(names) + 1), strict=True))
    if compare == "pairs":
        compare = [(b, a) for a, b in combinations(names, 2)]
    elif compare == "reference":
        compare = [(name, factor.reference) for name in names if name != factor.reference]
    compare = [compare] if isinstance(compare, str) else compare
    for one in compare:
        if isinstance(one, tuple | list) and len(one) == 2:
            (pair,) = restrictions_of(f"`{one[0]}` - `{one[1]}`", units, "level")
            found.append(pair._replace(text=f"{one[0]} - {one[1]}"))
        elif isinstance(one, str):
            found += restrictions_of(one, units, "level")
    if not found or len(found) < len(compare):
        raise ParameterError(
            f"compare is {compare!r}: choose 'pairs', 'reference', or a list of contrasts such as "
            "'a - b' or ('a', 'b').", option="compare", value=compare,
        )  # fmt: skip
    for text, row in found:
        if row[-1] or abs(row.sum()) > 1e-12 * np.abs(row).sum() or not row.any():
            raise ParameterError(
                f"'{text}' is not a contrast: coefficients must sum to zero, as in '(a + b) / 2 - "
                "c' (levels that look like numbers need backticks).",
                code="bad-hypothesis", option="compare", value=text,
            )  # fmt: skip
    return found
