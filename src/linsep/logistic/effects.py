"""Marginal effects on the probabilities of classes, averaged over rows or at given values.

For P_k the probability of class k, b_l the weights of equation l and V the covariance of all, the
average effect of feature j is f = mean P_k sum_l (d_kl - P_l) b_lj, with Kronecker's d; the effect
of a level, or of a 0/1 feature, is a difference of means of P_k. Their variance is J V J', J the
gradient of f in the weights (Greene, Econometric Analysis, 5th ed. 2003, sec. 21.3). A column in
several terms of a formula acts on P_k through all of them, as in R's margins.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from linsep.errors import DataError, ParameterError
from linsep.estimators._common.frames import to_average
from linsep.estimators._common.labels import check_sample_weight, label_text
from linsep.estimators._common.offsets import refuse_with_offset
from linsep.inference.table import Coefficient, Summary, check_level
from linsep.inference.tails import t_reach, t_tail
from linsep.logistic.delta import MOST, Curves, delta_errors, widened_rows
from linsep.logistic.solution import SEPARATED
from linsep.logistic.task import NO_WEIGHT
from linsep.logistic.variables import MOST_NAMED, Variable, variables_of
from linsep.parameters import fitted_parameter

#: how far a 0/1 feature of a scaled column may be from its two values
NEARLY = 1e-6
#: some rows with their weights
Part = tuple[Any, np.ndarray]


def marginal_effects(
    model: Any, X: Any, at: Any, level: float | None, sample_weight: Any, discrete: Any
) -> Summary:
    """Return the table of effects; see :meth:`linsep.LogisticRegression.marginal_effects`."""
    check_is_fitted(model)
    level = check_level(fitted_parameter(model, "level", 0.95) if level is None else level)
    curves, variables, means = Curves(model), variables_of(model), at == "mean"
    values, cells = _set_to(at, variables)
    refuse_with_offset(model, "Marginal effects")
    source = model._source_of(to_average(model, X))
    parts, d = _parts(curves, source, sample_weight), curves.n_features
    n_rows, total, center, binary = _survey(parts, variables, d)
    if not total:
        raise DataError(
            "All rows of X have weight 0, so there is nothing to average.", code="no-rows"
        )
    has_table = hasattr(source, "changed") and not means
    differ = _differing(curves, variables, binary, source if has_table else None, discrete)

    def read(source: Any) -> Iterator[Part]:
        """Yield the rows at which effects are computed, with weights that sum to 1."""
        if means:
            yield center[None, :], np.ones(1)
            return
        for rows, weights in _parts(curves, source, sample_weight):
            yield replaced(rows, values), weights / total

    for v, cell in cells:
        if not has_table:
            raise DataError(
                f"'{v.name}' is in several terms of the formula: set it in the rows of X instead "
                "of in `at`.", code="unsupported", option="at", column=v.name,
            )  # fmt: skip
        source = v.changed(source, cell)
    effects = _effects(curves, variables, differ, source if has_table else None, read)
    slopes = _Slopes(curves, effects)
    for rows, weights in read(source):
        slopes.add(weights, rows)
        for effect in effects:
            if effect.ends is not None:
                one, base = (replaced(rows, end) for end in effect.ends)
                effect.add_difference(weights, one, base)
    slopes.finish()
    header: list[tuple[str, str | int | float]] = [("rows", n_rows)]
    if total != n_rows:
        header.append(("sum of their weights", total))
    what = "Marginal effects at the means" if means else "Average marginal effects"
    if isinstance(at, dict) and at:
        what += f" at {', '.join(f'{name} = {value}' for name, value in at.items())}"
    notes = _notes(model, variables, differ, has_table, means)
    return _table(curves, effects, level, what, header, notes)


def _effects(
    curves: Curves, variables: list[Variable], differ: set[str], table: Any,
    read: Callable[[Any], Iterator[Part]],
) -> list["_Effect"]:  # fmt: skip
    """Return the effects, with the values of those that need a table with other cells."""
    effects = []
    for v in variables:
        if v.tangled and table is None:
            effects.append(_Effect(curves, v, v.name, value=np.nan))
        elif v.levels is None and v.name not in differ:
            effects.append(_Effect(curves, v, v.name))
            if v.tangled:
                ways = _directions(curves, v, table)
                for (rows, weights), D in zip(read(table), ways, strict=True):
                    effects[-1].add_slope(weights, rows, D)
        else:
            ends = dict(v.ends)
            base = ends.pop(v.base)
            for level, one in ends.items():
                name = v.name if v.levels is None else f"{v.name}={level}"
                effects.append(_Effect(curves, v, name, None if v.tangled else (one, base)))
                if v.tangled:
                    pairs = zip(*(read(v.changed(table, x)) for x in (one, base)), strict=True)
                    for (rows, weights), (others, _) in pairs:
                        effects[-1].add_difference(weights, rows, others)
    return effects


def _directions(curves: Curves, v: Variable, source: Any) -> Iterator[Any]:
    """Yield how the features of each row move with a tangled column of numbers."""
    if "formula" in curves.model.recipe_:
        yield from (D for D, _ in _parts(curves, source.slopes(v.name)))
        return
    # features of products are linear or quadratic in a column, so that differences are exact
    up, down = (
        _parts(curves, source.changed(v.name, lambda x, step=step: x + step))
        for step in (1.0, -1.0)
    )
    for (high, _), (low, _) in zip(up, down, strict=True):
        yield (high - low) / 2.0


def replaced(X: Any, values: dict[int, float]) -> Any:
    """Return rows with some features set to values; the rows themselves without such features."""
    if not values:
        return X
    columns, given = list(values), np.array(list(values.values()))
    if not sp.issparse(X):
        X = X.copy()
        X[:, columns] = given
        return X
    keep, row = np.ones(X.shape[1]), np.zeros((1, X.shape[1]))
    keep[columns], row[0, columns] = 0.0, given
    every = sp.csr_array(np.ones((X.shape[0], 1))) @ sp.csr_array(row)
    return sp.csr_array(X @ sp.diags_array(keep) + every)


def _parts(curves: Curves, source: Any, sample_weight: Any = None) -> Iterator[Part]:
    """Yield the rows, some at a time, and their weights."""
    d, prediction, seen = curves.n_features, curves.model.predictions(source), 0
    some = max(1, MOST // max(d + 1, curves.classes**3))
    given = check_sample_weight(sample_weight, np.size(sample_weight), all_may_be_zero=True)
    for batch in prediction.batches():
        for part in batch.cut(some):
            rows, n = prediction.fitted_width(part.X, d), part.size
            weights = given[seen : seen + n] if given.size else part.importance
            seen += n
            if given.size and seen > given.size:
                break
            yield widened_rows(rows, d), weights if weights.size else np.ones(n)
    if given.size and seen != given.size:
        raise DataError(
            f"sample_weight has {given.size:,} values, but X has "
            f"{f'{seen:,}' if seen < given.size else 'more'} rows: pass one weight per row.",
            code="shape", option="sample_weight",
        )  # fmt: skip


def _survey(
    parts: Iterable[Part], variables: list[Variable], d: int
) -> tuple[int, float, np.ndarray, np.ndarray]:
    """Return the number of all rows and their weight, the means of the features, and which of these
    are 0 in some rows and 1 in all others.
    """
    zero, one, near = np.zeros(d), np.ones(d), np.zeros(d)
    for v in variables:
        if v.plain is not None:
            zero[v.plain], one[v.plain] = v.zero, v.zero + v.unit
            near[v.plain] = NEARLY * abs(v.unit) * (v.unit != 1.0)
    total, rows, means = 0.0, 0, np.zeros(d)
    only, some = np.ones(d, dtype=bool), np.zeros((2, d), dtype=bool)
    for X, weights in parts:
        rows += X.shape[0]
        total += weights.sum()
        means += weights @ X
        if not sp.issparse(X):
            is_zero, is_one = np.abs(X - zero) <= near, np.abs(X - one) <= near
            only &= (is_zero | is_one).all(axis=0)
            some |= [is_zero.any(axis=0), is_one.any(axis=0)]
    return rows, float(total), means / (total or 1.0), only & some.all(axis=0)


def _set_to(
    at: Any, variables: list[Variable]
) -> tuple[dict[int, float], list[tuple[Variable, Any]]]:
    """Return the values that features are set to in every row, and tangled columns, which are set
    in the table, with their values.
    """
    values: dict[int, float] = {}
    cells: list[tuple[Variable, Any]] = []
    if isinstance(at, str) and at in ("overall", "mean"):
        return values, cells
    if not isinstance(at, dict):
        raise ParameterError(
            f"at is {at!r}: choose 'overall', 'mean', or a dict of values such as {{'age': 40}}.",
            option="at", value=at,
        )  # fmt: skip
    known: dict[Any, Variable] = {variable.name: variable for variable in variables}
    for name, value in at.items():
        if name not in known:
            some = ", ".join(list(known)[:MOST_NAMED])
            raise DataError(
                f"`at` names '{name}', which is not a column of the model: choose {some}.",
                code="unknown-column", option="at", column=name,
            )  # fmt: skip
        given = known[name].at(value)
        if known[name].tangled:
            cells.append((known[name], given))
        else:
            values |= given
    return values, cells


def _differing(
    curves: Curves, variables: list[Variable], binary: np.ndarray, table: Any, discrete: Any
) -> set[str]:
    """Return the columns of numbers whose effects are differences of probabilities: those given, or
    those of zeros and ones; ``table`` is None without the columns of a formula.
    """
    numbers = [v for v in variables if v.levels is None]
    if discrete is not None:
        if unknown := {*discrete} - {v.name for v in numbers}:
            raise DataError(
                f"`discrete` names '{min(unknown)}', which is not a numeric feature.",
                code="unknown-column", option="discrete", column=min(unknown),
            )  # fmt: skip
        return {*discrete}
    found = {v.name for v in numbers if v.is_bool}
    found |= {v.name for v in numbers if v.plain is not None and binary[v.plain]}
    for v in numbers:
        if v.tangled and v.plain is None and v.name not in found and table is not None:
            # all features are the column
            *_, alike = _survey(_parts(curves, table.values(v.name)), [], curves.n_features)
            found |= {v.name} if alike[0] else set()
    return found


class _Effect:
    """The mean effect of a variable on each class, in the order of :class:`Curves`.

    Attributes
    ----------
    ends : the features at a level and at the one it is compared with, None for slopes and tangled
        columns
    values : array of shape (classes,)
    gradient : array of shape (classes, classes - 1, parameters), the derivatives in the weights
    lost : bool, whether the effect is through weights that diverge
    inside : bool, whether some row has probabilities other than 0 and 1
    """

    def __init__(
        self, curves: Curves, v: Variable, name: str, ends: Any = None, value: float = 0.0
    ):
        self.curves, self.variable, self.name, self.ends = curves, v, name, ends
        self.features, K = list(v.features), curves.classes
        if ends is not None:
            self.features = [j for j in self.features if ends[0][j] != ends[1][j]]
        self.values, self.gradient = np.full(K, value), np.zeros((K, *curves.B.shape))
        self.lost, self.inside = bool(np.isnan(value)), False

    def add_difference(self, weights: np.ndarray, one: Any, base: Any) -> None:
        """Add the change of the probabilities from rows to others."""
        curves, terms = self.curves, []
        for X, side in ((one, weights), (base, -weights)):
            P = curves.probabilities(X)
            self.values += side @ P
            self.inside |= bool(_inside(P, weights).any())
            terms.append(curves.diverging(X))
            if curves.covariance is not None:
                self.gradient += _summed(side, _moves(P)[1], curves.with_ones(X))
        self.lost |= bool((terms[0] != terms[1])[weights > 0].any())

    def add_slope(self, weights: np.ndarray, X: Any, D: Any) -> None:
        """Add the derivative along what moves the features of each row in its own direction."""
        curves, constant = self.curves, self.curves.constant
        P = curves.probabilities(X)
        (moves, bends), inside = _bends(P), _inside(P, weights)
        along = np.asarray(D @ curves.B[:, constant:].T)
        through = curves.diverging(D, constant=0.0).any(axis=1)
        self.values += np.einsum("i,ikl,il->k", weights, moves, along)
        self.values += np.nan if (through & inside).any() else 0.0  # a step there
        self.inside |= bool(inside.any())
        self.lost |= bool((through & (weights > 0)).any())
        if curves.covariance is not None:
            bent = np.einsum("ikml,il->ikm", bends, along)
            self.gradient += _summed(weights, bent, curves.with_ones(X))
            self.gradient[:, :, constant:] += _summed(weights, moves, D)

    def errors(self) -> np.ndarray:
        """Return the standard errors, NaN in a limit."""
        V = self.curves.covariance
        if V is None or self.lost or (self.curves.in_limit and not self.inside):
            return np.full(len(self.values), np.nan)
        return delta_errors(self.gradient.reshape(len(self.values), -1), V)


class _Slopes:
    """The effects of all columns of numbers that are features themselves.

    Attributes
    ----------
    of : list of the effects
    moves : array of shape (classes, classes - 1), so that the effects are ``moves @ B``
    bends : array of shape (classes, classes - 1, classes - 1, parameters), the derivatives of
        ``moves[k, l]`` in the weights of equation m
    """

    def __init__(self, curves: Curves, effects: list[_Effect]):
        self.curves, (q, width) = curves, curves.B.shape
        plain = [one for one in effects if one.ends is None and not one.variable.tangled]
        self.of, self.moves, self.inside = plain, np.zeros((q + 1, q)), False
        self.bends = np.zeros((q + 1, q, q, 0 if curves.covariance is None else width))

    def add(self, weights: np.ndarray, X: Any) -> None:
        P = self.curves.probabilities(X)
        self.inside |= bool(_inside(P, weights).any())
        moves, bends = _bends(P)
        self.moves += np.einsum("i,ikl->kl", weights, moves)
        if self.curves.covariance is not None:
            self.bends += _summed(weights, bends, self.curves.with_ones(X))

    def finish(self) -> None:
        """Give the effects their values and gradients."""
        for effect in self.of:
            unit, at = effect.variable.unit, effect.features[0] + self.curves.constant
            along = unit * self.curves.B[:, at]
            effect.values, effect.inside = self.moves @ along, self.inside
            effect.lost = self.curves.signs[at] != 0
            effect.values += np.nan if effect.lost else 0.0
            if self.curves.covariance is not None:
                effect.gradient = np.einsum("kmlw,l->kmw", self.bends, along)
                effect.gradient[:, :, at] += unit * self.moves


def _inside(P: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return which rows with weight have probabilities other than 0 and 1."""
    return np.asarray((P > 0).all(axis=1) & (weights > 0))


def _bends(P: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the second of :func:`_moves` and its derivatives in the log-odds of equation m,
    P_k ((d_km - P_m) (d_kl - P_l) - P_m (d_ml - P_l)), by row, k, m and l.
    """
    others, moves = _moves(P)
    bends = others[:, :, :, None] * others[:, :, None, :] - moves[:, None, :-1, :]
    return moves, P[:, :, None, None] * bends


def _moves(P: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return d_kl - P_l and P_k (d_kl - P_l) for each row, class k and equation l; the differences
    from 1 are sums of the other probabilities.
    """
    K = P.shape[1]
    others = np.repeat(-P[:, None, :-1], K, axis=1)
    for k in range(K - 1):
        others[:, k, k] = np.delete(P, k, axis=1).sum(axis=1)
    return others, P[:, :, None] * others


def _summed(weights: np.ndarray, parts: np.ndarray, Z: Any) -> np.ndarray:
    """Return the weighted sum over rows of products of numbers with the parameters' features."""
    flat = (weights.reshape(-1, *[1] * (parts.ndim - 1)) * parts).reshape(len(weights), -1)
    found: np.ndarray = np.asarray(Z.T @ flat).T.reshape(*parts.shape[1:], Z.shape[1])
    return found


def _table(
    curves: Curves, effects: list[_Effect], level: float, what: str,
    header: list[tuple[str, str | int | float]], notes: list[str],
) -> Summary:  # fmt: skip
    """Return the effects as a table: on all classes, or, of two classes, on the one that is not the
    reference.
    """
    model, several = curves.model, curves.classes > 2
    classes = [label_text(label) for label in model.classes_.tolist()]
    limits = np.atleast_2d(model.limits_)[:, curves.constant :]
    reach, rows = t_reach(level, model._degrees), []
    errors = [effect.errors() for effect in effects]
    for k in np.argsort(curves.order).tolist() if several else [0]:
        own = f"{classes[curves.order[k]]}: " * several
        for effect, error in zip(effects, errors, strict=True):
            words, value, s = limits[:, effect.features], float(effect.values[k]), float(error[k])
            word = "limit" if curves.in_limit and np.isnan(s) else ""
            word = "unknown" if np.isnan(value) else word
            if (words[min(k, len(words) - 1)] == NO_WEIGHT).any():
                word, value, s = NO_WEIGHT, np.nan, np.nan
            if (words == "dependent").all():
                word, value, s = "dependent", np.nan, np.nan
            z = value / s if s > 0 else np.nan
            p, ends = float(t_tail(z, model._degrees)), (value - reach * s, value + reach * s)
            rows.append(Coefficient(own + effect.name, value, s, z, p, *ends, word))
    on = "probabilities of the classes" if several else f"probability of {model._others()[0]}"
    return Summary(
        f"{what} on the {on}", header, rows, model._statistic, level, notes, "effect",
        classes if several else [],
    )  # fmt: skip


def _notes(
    model: Any, variables: list[Variable], differ: set[str], has_table: bool, means: bool
) -> list[str]:
    """Return sentences that explain the effects, and which effects are unknown."""
    lost = [v.name for v in variables if v.tangled and not has_table]
    notes, listed = [], [f"{v.name} (from 0 to 1)" for v in variables if v.name in differ]
    listed += [f"{v.name} (from {v.base})" for v in variables if v.levels]
    if listed:
        more = f" and {len(listed) - MOST_NAMED} more" if len(listed) > MOST_NAMED else ""
        notes.append(f"Differences, not slopes: {', '.join(listed[:MOST_NAMED])}{more}.")
    if lost:
        why = "at means of features" if means else "without the columns of the formula"
        notes.append(
            f"In several terms of the formula, so unknown {why}: {', '.join(lost[:MOST_NAMED])}."
        )
    if model.stop_reason_ not in SEPARATED:
        return notes + model._notes()
    notes.append(
        f"The classes are {model.stop_reason_}, so effects are limits; those through coefficients "
        "that diverge have no standard errors or tests: use Firth's penalty, or profiles of the "
        "coefficients."
    )
    return notes
