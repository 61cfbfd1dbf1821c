"""Wald tests of linear hypotheses, and contrasts of the levels of a factor.

A hypothesis R b = q of r restrictions has the statistic d' (R V R')^-1 d, where d = R b - q for the
estimates b and their covariance V (Wald, Transactions of the American Mathematical Society 54,
1943). It is approximately chi-squared with r degrees of freedom. Divided by r, it has the F
distribution, exactly so for least squares with normal residuals.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import inf, isinf
from typing import Any

import numpy as np
import scipy.linalg as sla
from scipy.special import chdtrc

from linsep.errors import DataError, ParameterError
from linsep.estimators._common.showing import linear_sum
from linsep.inference.factors import Factor, factor_of
from linsep.inference.restrictions import Restriction, restrictions_of
from linsep.inference.table import Facts, JointTest, Table, check_level
from linsep.inference.tails import f_tail, t_reach, t_tail
from linsep.words import counted


def root_of(covariance: np.ndarray) -> tuple[np.ndarray, float]:
    """Return a matrix whose transpose times itself is a covariance, with zeros where it has NaN,
    and the relative rounding error of sums of its columns.
    """
    errors = np.sqrt(np.maximum(np.nan_to_num(np.diag(covariance)), 0.0))
    scales = np.where(errors > 0.0, errors, 1.0)
    correlation = np.nan_to_num(covariance / scales / scales[:, None])
    values, vectors = np.linalg.eigh(correlation)
    factor = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T * scales
    return factor, float(np.sqrt(len(errors) * np.finfo(float).eps))


@dataclass(frozen=True, repr=False)
class WaldTest(JointTest):
    """A joint Wald test of linear hypotheses: ``print`` it, or use its attributes.

    Attributes
    ----------
    columns : dict of str to list, one row per restriction
        ``hypothesis``; ``estimate``, its left side minus its right side; ``standard_error``;
        ``statistic`` (t or z) and ``p_value`` of the restriction alone.
    statistic, p_value : float, for all restrictions together
    distribution : "F" or "chi2"
    df : int, number of restrictions
    df_residual : float, degrees of freedom of F's denominator, infinite for chi-squared
    """

    distribution: str = "chi2"
    df_residual: float = inf


def wald(model: Any, hypotheses: Any, q: Any, test: str | None) -> WaldTest:
    """Return the test of hypotheses of a fitted regression; see ``HasInference.wald_test``."""
    if test not in (None, "F", "chi2"):
        raise ParameterError(f"test is {test!r}: choose 'F' or 'chi2'.", option="test", value=test)
    given = _given(model, hypotheses, q)
    R, right = np.split(np.array([one.row for one in given]), [-1], axis=1)
    b, (root, noise), degrees = _known(model, R), model._covariance_root(), model._degrees
    if (test or ("F" if model._statistic == "t" else "chi2")) == "chi2":
        degrees = np.inf
    elif isinf(degrees):
        degrees = model.df_residual_
    df = len(given)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # which have own errors
        parts, apart = root @ R.T, R @ b + right[:, 0]
        errors = np.linalg.norm(parts, axis=0)
        unit, columns = apart / errors, _singly(apart, errors, degrees)
    for (text, _), row, error in zip(given, R, errors.tolist(), strict=True):
        if not row.any():
            why = f"'{text}' has no parameter with a nonzero coefficient: leave it out."
            raise ParameterError(why, code="bad-hypothesis", value=text)
        if not 0.0 < error < np.inf:
            code = "overflow" if isinf(error) else "no-estimate"
            why = f"'{text}' cannot be tested: its standard error is {error:g}."
            raise DataError(why, code=code, value=text)
    # Without squares of standard errors, a QR factor of the parts has the digits of the root.
    _, triangle, order = sla.qr(parts / errors, mode="economic", pivoting=True)
    pivots = np.abs(np.diag(triangle))
    if (many := int((pivots > noise).sum())) < df:
        scales = np.nan_to_num(model.standard_errors_.ravel(), posinf=0.0)
        scaled = R * np.where(scales > 0.0, scales, 1.0)
        scaled /= np.linalg.norm(scaled, axis=1, keepdims=True)
        alike = np.linalg.matrix_rank(scaled) < df
        raise (ParameterError if alike else DataError)(
            f"The {df} restrictions {'are dependent' if alike else 'have a singular covariance'}: "
            f"test at most {many} at a time.", code="bad-hypothesis",
        )  # fmt: skip
    statistic = float(np.square(sla.solve_triangular(triangle, unit[order], trans="T")).sum())
    letter, name, p = "chi-squared", "chi2", float(chdtrc(df, statistic))
    header: Facts = [("degrees of freedom", df)]
    if not isinf(degrees):
        letter, name, statistic = "F", "F", statistic / df
        p = float(f_tail(statistic, df, degrees))
        header.append(("degrees of freedom, residuals", degrees))
    return WaldTest(
        "Wald test", [(letter, statistic), *header, (f"p of {letter}", p)],
        {"hypothesis": [one.text for one in given], **columns}, [],
        statistic, p, df, name, float(degrees),
    )  # fmt: skip


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
        for row, name in zip(np.diag(signs).astype(float), names, strict=True):
            known[name] = None if name in known else np.append(row, 0.0)
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
    if not np.isfinite([*rows.ravel(), *right]).all():
        raise ParameterError("R and q must be finite numbers.", code="not-finite")
    return [
        Restriction(f"{linear_sum(row * signs, names)} = {value:.6g}", np.append(row, -value))
        for row, value in zip(rows, right.tolist(), strict=True)
    ]


def _known(model: Any, R: np.ndarray) -> np.ndarray:
    """Return the estimates, zero for parameters that no restriction has."""
    about, words = R.any(axis=0), model._words.ravel()
    for j in np.flatnonzero(about & (words != "")):
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


class Contrasts(Table):
    """Differences between levels of a factor: ``print`` them, or call ``tidy()``.

    Attributes
    ----------
    columns : dict of str to list, one row per contrast
        ``contrast``, ``estimate``, ``standard_error``, ``t`` or ``z``, ``p_value``,
        ``adjusted_p_value`` if adjusted, and ``low`` and ``high``, its individual interval.
    """


def contrasts(
    model: Any, name: str, compare: Any, adjust: str | None, level: float | None
) -> Contrasts:
    """Return contrasts of a factor of a fitted regression; see ``HasInference.contrasts``."""
    if adjust not in ("holm", None):
        raise ParameterError(
            f"adjust is {adjust!r}: choose 'holm' or None.", option="adjust", value=adjust
        )
    level, factor = check_level(model._level if level is None else level), factor_of(model, name)
    if why := model._without_errors():
        raise DataError(why, code="no-estimate")
    if len(factor.levels) < 2:
        raise DataError("The factor has one level.", code="too-few-rows", column=factor.name)
    wanted, several = _wanted(factor, compare), model._equations
    words, width = model._words.ravel(), model._params.shape[-1]
    effects = np.zeros((len(factor.levels), width))
    for row, coding in zip(effects, factor.levels.values(), strict=True):
        row[[width - model.n_features_in_ + j for j in coding]] = list(coding.values())
    rows = np.kron(np.eye(max(1, len(several))), [one.row[:-1] for one in wanted] @ effects)
    texts = [one.text for one in wanted]
    texts = [f"{one}: {text}" for one in several for text in texts] or texts
    known = ~(rows != 0.0)[:, words != ""].any(axis=1)
    estimates = rows @ np.where(words == "", model._params.ravel(), 0.0)
    errors = np.linalg.norm(model._covariance_root()[0] @ rows.T, axis=0)
    errors[~known | ~(errors > 0.0)] = estimates[~known] = np.nan
    columns, reach = _singly(estimates, errors, model._degrees), t_reach(level, model._degrees)
    notes = [f"Intervals are individual {100 * level:.6g}% intervals."]
    if factor.within:
        products = ", ".join(factor.within[:4]) + ", ..." * (len(factor.within) > 4)
        notes.insert(0, f"The factor is part of {products}: differences hold where these are 0.")
    if not known.all():
        notes.insert(0, "A dash: a coefficient of the level diverges, or its column is left out.")
    if adjust is not None:
        columns["adjusted_p_value"] = holm(np.array(columns["p_value"])).tolist()
        many = counted(len(known), "contrast")
        notes.insert(0, f"p-values are adjusted by Holm's method for {many}.")
    ends = {
        "low": (estimates - reach * errors).tolist(),
        "high": (estimates + reach * errors).tolist(),
    }
    found = {"contrast": texts} | columns | ends
    return Contrasts(f"Contrasts of {factor.name}", [], found, notes)


def holm(p: np.ndarray) -> np.ndarray:
    """Return p-values adjusted by Holm's method (Scandinavian Journal of Statistics 6, 1979), NaN
    as one that is not rejected.
    """
    order = np.argsort(p, kind="stable")  # NaN last
    raised = np.nan_to_num(p[order], nan=1.0) * np.arange(len(p), 0, -1)
    found = np.where(np.isnan(p), np.nan, 1.0)
    found[order] *= np.minimum(np.maximum.accumulate(raised), 1.0)
    return found


def _wanted(factor: Factor, compare: Any) -> list[Restriction]:
    names = list(factor.levels)
    units = dict(zip(names, np.eye(len(names), len(names) + 1), strict=True))
    if compare == "pairs":
        compare = [(b, a) for a, b in combinations(names, 2)]
    elif compare == "reference":
        compare = [(name, factor.reference) for name in names if name != factor.reference]
    found: list[Restriction] = []
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
