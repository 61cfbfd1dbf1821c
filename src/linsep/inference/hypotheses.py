"""Wald tests of linear hypotheses, and contrasts of the levels of a factor.

A hypothesis R b = q of r restrictions has the statistic d' (R V R')^-1 d, where d = R b - q for the
estimates b and their covariance V (Wald, Transactions of the American Mathematical Society 54,
1943), about chi-squared with r degrees of freedom; divided by r it has the F distribution, exactly
so for least squares with normal residuals.
"""

import ast
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from math import inf, isinf
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from linsep.errors import DataError, ParameterError, refuse
from linsep.estimators._common.showing import linear_sum
from linsep.inference.factors import Factor, factor_of
from linsep.inference.results import HasInference, check_option, t_reach, t_tail, upper_tail
from linsep.inference.table import Table
from linsep.words import counted

#: a linear function that is zero under a hypothesis, as it was written, and its coefficients and an
#: added constant, an array of shape (parameters + 1,)
Restriction = tuple[str, np.ndarray]

_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_SIGNS = {ast.Add: 1.0, ast.Sub: -1.0, ast.UAdd: 1.0, ast.USub: -1.0}


class WithHypotheses(HasInference):
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
        check_option(test in (None, "F", "chi2"), "test", test, "choose 'F' or 'chi2'")
        texts, rows = zip(*_given(self, hypotheses, q), strict=True)
        R, q, df, degrees = np.array(rows)[:, :-1], np.array(rows)[:, -1], len(rows), inf
        distribution = test or ("F" if self._statistic == "t" else "chi2")
        if distribution == "F":
            degrees = float(self.df_residual_ if isinf(self._degrees) else self._degrees)
        about, words = R.any(axis=0), self._words.ravel()
        for j in np.flatnonzero(about & (words != ""))[:1]:
            name = self._words_and_signs()[0][j]
            known = words[j] in ("dependent", "no weight", "not checked")
            raise DataError(
                f"'{name}' has no finite estimate ({words[j]})",
                "leave it out of the tests, or call likelihood_ratio_tests",
                code="no-estimate" if known else "separated", column=name,
            )  # fmt: skip
        root, noise = self._known_root()
        apart, parts = R @ np.where(about, self._params.ravel(), 0.0) + q, root @ R.T
        errors = np.linalg.norm(parts, axis=0)
        for k in np.flatnonzero(~((errors > 0.0) & (errors < inf)))[:1]:
            raise (DataError if R[k].any() else ParameterError)(
                f"'{texts[k]}' cannot be tested: its standard error is {errors[k]:g}.",
                code="no-estimate" if R[k].any() else "bad-hypothesis", value=texts[k],
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
        p, count = upper_tail(statistic, df, degrees), "degrees of freedom"
        residual = [(f"{count}, residuals", degrees)] * (not isinf(degrees))
        return Table(
            "Wald test", [(name, statistic), (count, df), *residual, (f"p of {name}", p)],
            {"hypothesis": [*texts], **_singly(apart, errors, degrees)}, [],
            statistic, p, df, distribution, degrees,
        )  # fmt: skip

    def _known_root(self: Any) -> tuple[np.ndarray, float]:
        if why := self._without_errors():
            raise DataError(why, code="no-estimate")
        return self._covariance_root()

    def contrasts(self: Any, factor: str, compare: Any = "pairs") -> Table:
        """Compare levels of a factor: a text column, categories, or ``C(column)`` or a boolean
        column of a formula.

        Parameters
        ----------
        factor : str, name of the column
        compare : "pairs", "reference", str or list of str, default="pairs"
            Each level minus each earlier level, or minus the reference level, whose parameter is
            zero; or contrasts such as ``["b - a", "(b + c) / 2 - a"]``.

        Returns
        -------
        linsep.inference.table.Table
            ``columns`` have a row per contrast: ``contrast``, ``estimate``, ``standard_error``,
            ``t`` or ``z``, ``p_value``, ``adjusted_p_value`` (by Holm's method, for all contrasts
            of all classes), and ``low`` and ``high``, the ends of individual intervals at the
            ``level`` of the model, or 0.95.

        Raises
        ------
        ParameterError
            If a level is unknown, or the coefficients of a contrast do not sum to zero.
        DataError
            If there is no such factor, or standard errors are unknown.
        """
        check_is_fitted(self)
        of, words, params = factor_of(self, factor), self._words.ravel(), self._params
        if len(of.levels) < 2:
            raise DataError("The factor has one level.", code="too-few-rows", column=of.name)
        wanted, effects = _wanted(of, compare), np.zeros((len(of.levels), params.shape[-1]))
        for row, coding in zip(effects, of.levels.values(), strict=True):
            row[[feature - self.n_features_in_ for feature in coding]] = [*coding.values()]
        rows = np.kron(np.eye(len(self._equations) or 1), [row[:-1] for _, row in wanted] @ effects)
        lost = (rows != 0.0)[:, words != ""].any(axis=1)
        estimates = rows @ np.where(words == "", params.ravel(), 0.0)
        errors = np.linalg.norm(self._known_root()[0] @ rows.T, axis=0)
        errors[lost | ~(errors > 0.0)] = estimates[lost] = np.nan
        columns, level = _singly(estimates, errors, self._degrees), self._level
        order = np.argsort(columns["p_value"])  # NaN last, counted, not rejected
        steps = np.array(columns["p_value"])[order] * np.arange(len(order), 0, -1)
        raised = np.minimum(np.maximum.accumulate(steps), 1.0)
        columns["adjusted_p_value"] = raised[np.argsort(order)].tolist()
        reach = t_reach(level, self._degrees) * errors
        columns |= {"low": (estimates - reach).tolist(), "high": (estimates + reach).tolist()}
        products = ", ".join(of.within[:4]) + ", ..." * (len(of.within) > 4)
        notes = {
            f"p-values are adjusted by Holm's method for {counted(len(lost), 'contrast')}.": True,
            "A dash: a coefficient of the level diverges, or its column is left out.": lost.any(),
            f"The factor is part of {products}: differences hold where these are 0.": products,
            f"Intervals are individual {100 * level:.6g}% intervals.": True,
        }
        of_each = [f"{one}: " for one in self._equations] or [""]
        texts = [one + text for one in of_each for text, _ in wanted]
        return Table(
            f"Contrasts of {of.name}", [], {"contrast": texts} | columns,
            [note for note, applies in notes.items() if applies],
        )  # fmt: skip


def _singly(estimates: np.ndarray, errors: np.ndarray, degrees: float) -> dict[str, list[Any]]:
    t, letter = estimates / errors, "z" if isinf(degrees) else "t"
    found = {"estimate": estimates, "standard_error": errors, letter: t}
    return {name: x.tolist() for name, x in (found | {"p_value": t_tail(t, degrees)}).items()}


def _given(model: Any, hypotheses: Any, q: Any) -> list[Restriction]:
    names, signs = model._words_and_signs()
    texts = [hypotheses] if isinstance(hypotheses, str) else hypotheses
    if isinstance(texts, Sequence) and texts and all(isinstance(one, str) for one in texts):
        if q is not None:
            raise ParameterError("q needs a matrix of hypotheses.", code="conflict", option="q")
        known = dict[str, Any](zip(names, np.diag([*signs, 0.0])[:-1], strict=True))
        known |= {name: None for name, times in Counter(names).items() if times > 1}
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
    text: str, names: Mapping[str, np.ndarray | None], what: str = "parameter"
) -> list[Restriction]:
    """Return the restrictions of a text; ``names`` has linear functions, None if ambiguous."""
    width = next((len(row) for row in names.values() if row is not None), 1)
    one, marked, found = np.eye(width)[-1], list[Restriction](), list[Restriction]()
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
            several, known = name in names, ", ".join(f"`{one}`" for one in list(names)[:12])
            raise ParameterError(
                f"'{text}' names '{name}', which is {'several' if several else 'no'} {what}s",
                "pass a matrix" if several else f"choose among {known}, ...",
                code="duplicate-name" if several else "bad-hypothesis", value=name,
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
            case ast.BinOp(left=left, op=ast.Mult() | ast.Div() as op, right=right):
                a, b = linear(left), linear(right)
                if isinstance(op, ast.Mult) and b[:-1].any():
                    a, b = b, a
                if not b[:-1].any():
                    return a * b[-1] if isinstance(op, ast.Mult) else a / b[-1]
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
            f"write sums of numbers and {what}s, such as 'a = b, 2 * c - d = 1', and names with "
            "signs in backticks", code="bad-hypothesis", value=text,
        ) from None  # fmt: skip
    return found


def _wanted(factor: Factor, compare: Any) -> list[Restriction]:
    names, reference = list(factor.levels), factor.reference
    units = dict(zip(names, np.eye(len(names), len(names) + 1), strict=True))
    if compare in ("pairs", "reference"):
        pairs = [(a, b) for a, b in combinations(names, 2)]
        if compare == "reference":
            pairs = [(reference, name) for name in names if name != reference]
        return [(f"{b} - {a}", units[b] - units[a]) for a, b in pairs]
    texts = [compare] if isinstance(compare, str) else compare
    valid = isinstance(texts, Sequence) and texts and all(isinstance(one, str) for one in texts)
    advice = "choose 'pairs', 'reference', or contrasts such as ['a - b']"
    check_option(bool(valid), "compare", compare, advice)
    found = [one for text in texts for one in _restrictions_of(text, units, "level")]
    for text, row in found:
        if row[-1] or abs(row.sum()) > 1e-12 * np.abs(row).sum() or not row.any():
            raise ParameterError(
                f"'{text}' is not a contrast: coefficients must sum to zero, as in '(a + b) / 2 - "
                "c' (levels that look like numbers need backticks).",
                code="bad-hypothesis", option="compare", value=text,
            )  # fmt: skip
    return found
