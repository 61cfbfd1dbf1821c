"""Marginal effects on the probabilities of classes, averaged over rows or at given values.

For P_k the probability of class k, b_l the weights of equation l and V the covariance of all, the
average effect of feature j is f = mean P_k sum_l (d_kl - P_l) b_lj, with Kronecker's d; the effect
of a level, or of a 0/1 feature, is a difference of means of P_k. Their variance is J V J', J the
gradient of f in the weights (Greene, Econometric Analysis, 5th ed. 2003, sec. 21.3). A column in
several terms of a formula acts on P_k through all of them, as in R's margins.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

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

#: how far a 0/1 feature of a scaled column may be from its two values
NEARLY = 1e-6
#: shares of rows that differ by less are equal
ROUNDED = 1e-12
#: a variable and one of its levels, None for its slope
Key = tuple[str, int, str | None]
#: the key of the rows themselves
ROWS: Key = ("", -1, None)
#: some rows with their weights
Part = tuple[Any, np.ndarray]


class Where(NamedTuple):
    """The rows at which effects are computed.

    Attributes
    ----------
    means : bool, whether at the means of the features instead of each row
    values : dict of feature to the value it is set to in every row
    cells : list of the same for tangled columns, which are set in the table: variable and value
    text : str, for the title
    """

    means: bool
    values: dict[int, float]
    cells: list[tuple[Variable, Any]]
    text: str


class Survey(NamedTuple):
    """What is known of all rows: their number and weight, the means of the features, and which of
    these are 0 in some rows and 1 in all others.
    """

    rows: int
    weight: float
    means: np.ndarray
    binary: np.ndarray


def marginal_effects(
    model: Any, X: Any, at: Any, level: float | None, sample_weight: Any, discrete: Any
) -> Summary:
    """Return the table of effects; see :meth:`linsep.LogisticRegression.marginal_effects`."""
    check_is_fitted(model)
    level = check_level(model._level if level is None else level)
    variables = variables_of(model)
    where = _where(at, variables)
    refuse_with_offset(model, "Marginal effects")
    source = model._source_of(to_average(model, X))
    parts = _rows(model, source, sample_weight)
    survey = _survey(parts, variables, model.n_features_in_)
    if not survey.weight:
        raise DataError(
            "All rows of X have weight 0, so there is nothing to average.", code="no-rows"
        )
    has_table = hasattr(source, "changed") and not where.means
    zeros_and_ones = _of_zeros_and_ones(model, source, variables) if has_table else set()
    differences = _differences(variables, survey, zeros_and_ones, discrete)
    curves = Curves(model)
    sums = _Sums(curves, differences)

    def read(source: Any) -> Iterator[Part]:
        return _placed(_rows(model, source, sample_weight), where, survey)

    for v, value in where.cells:
        if not has_table:
            raise DataError(
                f"'{v.name}' is in several terms of the formula: set it in the rows of X instead "
                "of in `at`.", code="unsupported", option="at", column=v.name,
            )  # fmt: skip
        source = v.changed(source, value)
    for part in read(source):
        sums.add(*part)
    for v in variables:
        if v.tangled and has_table and v.key in differences:
            for one in differences[v.key][0]:
                for part in read(v.changed(source, one)):
                    sums.add_level((*v.key, one), *part)
        elif v.tangled and has_table:
            for part, D in zip(read(source), _directions(model, v, source), strict=True):
                sums.add_along((*v.key, None), *part, D)
    effects = list(_effects(curves, sums, variables))
    header: list[tuple[str, str | int | float]] = [("rows", survey.rows)]
    if survey.weight != survey.rows:
        header.append(("sum of their weights", float(survey.weight)))
    notes = _notes(model, variables, sums, where)
    return _table(model, curves, effects, level, _title(model, where), header, notes)


def _placed(parts: Callable[[], Iterator[Part]], where: Where, survey: Survey) -> Iterator[Part]:
    """Yield the rows at which effects are computed, with weights that sum to 1."""
    if where.means:
        yield survey.means[None, :], np.ones(1)
        return
    for rows, weights in parts():
        yield replaced(rows, where.values), weights / survey.weight


def _directions(model: Any, v: Variable, source: Any) -> Iterator[Any]:
    """Yield how the features of each row move with a tangled column of numbers."""
    if "formula" in model.recipe_:
        for D, _ in _rows(model, source.slopes(v.name), None)():
            yield D
        return
    # features of products are linear or quadratic in a column, so that differences are exact
    up, down = (
        _rows(model, source.changed(v.name, lambda x, step=step: x + step), None)()
        for step in (1.0, -1.0)
    )
    for (high, _), (low, _) in zip(up, down, strict=True):
        yield (high - low) / 2.0


def replaced(X: Any, values: dict[int, float]) -> Any:
    """Return rows with some features set to values; the rows themselves without such features."""
    if not values:
        return X
    columns = np.array(list(values), dtype=np.intp)
    given = np.array(list(values.values()))
    if not sp.issparse(X):
        X = X.copy()
        X[:, columns] = given
        return X
    keep, shape = np.ones(X.shape[1]), X.shape
    keep[columns] = 0.0
    columns, given = columns[given != 0], given[given != 0]
    ends = np.arange(shape[0] + 1) * columns.size
    more = (np.tile(given, shape[0]), np.tile(columns, shape[0]), ends)
    return sp.csr_array(X @ sp.diags_array(keep) + sp.csr_array(more, shape=shape))


def _rows(model: Any, source: Any, sample_weight: Any) -> Callable[[], Iterator[Part]]:
    """Return what yields the rows, some at a time, and their weights."""
    d, prediction, given = model.n_features_in_, model.predictions(source), np.empty(0)
    some = max(1, MOST // (d + 1))
    if sample_weight is not None:
        given = check_sample_weight(sample_weight, np.size(sample_weight), all_may_be_zero=True)

    def parts() -> Iterator[Part]:
        seen = 0
        for batch in prediction.batches():
            for part in batch.cut(some):
                rows, n = prediction.fitted_width(part.X, d), part.X.shape[0]
                weights = given[seen : seen + n] if given.size else part.weights
                seen += n
                if given.size and seen > given.size:
                    break
                yield widened_rows(rows, d), np.ones(n) if weights is None else weights
        if given.size and seen != given.size:
            raise DataError(
                f"sample_weight has {given.size:,} values, but X has "
                f"{f'{seen:,}' if seen < given.size else 'more'} rows: pass one weight per row.",
                code="shape", option="sample_weight",
            )  # fmt: skip

    return parts


def _survey(parts: Callable[[], Iterator[Part]], variables: list[Variable], d: int) -> Survey:
    zero, one, near = np.zeros(d), np.ones(d), np.zeros(d)
    for variable in variables:
        if (j := variable.plain) is not None:
            zero[j], one[j] = variable.zero, variable.one
            near[j] = NEARLY * abs(variable.unit) if variable.unit != 1.0 else 0.0
    total, rows, means, base = 0.0, 0, np.zeros(d), None
    only, some = np.ones(d, dtype=bool), np.zeros((2, d), dtype=bool)
    for X, weights in parts():
        rows += X.shape[0]
        total += weights.sum()
        if sp.issparse(X):
            means += weights @ X
            continue
        base = X[0].copy() if base is None else base  # far columns keep their digits
        means += weights @ (X - base)
        is_zero, is_one = np.abs(X - zero) <= near, np.abs(X - one) <= near
        only &= (is_zero | is_one).all(axis=0)
        some |= [is_zero.any(axis=0), is_one.any(axis=0)]
    means = means / (total or 1.0) + (0.0 if base is None else base)
    return Survey(rows, total, means, only & some.all(axis=0))


def _of_zeros_and_ones(model: Any, source: Any, variables: list[Variable]) -> set[str]:
    """Return the columns of a formula that hold zeros and ones, of those that no feature shows."""
    shown, found = [Variable("", (0,), plain=0)], set()
    for v in variables:
        if v.tangled and v.levels is None and v.plain is None:
            parts = _rows(model, source.values(v.name), None)
            if _survey(parts, shown, model.n_features_in_).binary[0]:
                found.add(v.name)
    return found


def _where(at: Any, variables: list[Variable]) -> Where:
    if isinstance(at, str) and at in ("overall", "mean"):
        return Where(at == "mean", {}, [], "")
    if not isinstance(at, dict):
        raise ParameterError(
            f"at is {at!r}: choose 'overall', 'mean', or a dict of values such as {{'age': 40}}.",
            option="at", value=at,
        )  # fmt: skip
    known: dict[Any, Variable] = {variable.name: variable for variable in variables}
    values: dict[int, float] = {}
    cells: list[tuple[Variable, Any]] = []
    for name, value in at.items():
        if name not in known:
            some = ", ".join(list(known)[:MOST_NAMED])
            raise DataError(
                f"`at` names '{name}', which is not a column of the model: choose {some}.",
                code="unknown-column", option="at", column=name,
            )  # fmt: skip
        features = known[name].at(value)
        if known[name].tangled:
            cells.append((known[name], value))
        else:
            values |= features
    return Where(False, values, cells, ", ".join(f"{name} = {value}" for name, value in at.items()))


#: of each variable whose effects are differences: the features of its levels, None where it is
#: tangled, and the level that others are compared with
Differences = dict[tuple[str, int], tuple[dict[str, dict[int, float] | None], str]]


def _differences(
    variables: list[Variable], survey: Survey, zeros_and_ones: set[str], discrete: Any
) -> Differences:
    """Return the variables whose effects are differences of probabilities."""
    numbers = {v.name for v in variables if v.levels is None}
    if discrete is not None and (unknown := {*discrete} - numbers):
        raise DataError(
            f"`discrete` names '{min(unknown)}', which is not a numeric feature.",
            code="unknown-column", option="discrete", column=min(unknown),
        )  # fmt: skip
    found: Differences = {}
    for v in variables:
        if v.levels is not None:
            zero = dict.fromkeys(v.features, 0.0)
            levels = {x: None if v.tangled else zero | own for x, own in v.levels.items()}
            found[v.key] = levels, v.base
            continue
        j, binary = v.features[0], v.name in zeros_and_ones
        binary |= v.plain is not None and bool(survey.binary[v.plain])
        if v.name in discrete if discrete is not None else v.is_bool or binary:
            ends = {"0": {j: v.zero}, "1": {j: v.one}}
            found[v.key] = dict.fromkeys(ends) if v.tangled else {**ends}, "0"
    return found


class _Sums:
    """Sums over rows of what effects and their gradients are made of.

    Attributes
    ----------
    slopes : array of shape (classes, classes - 1), so that the effects of features of numbers are
        ``slopes @ B``
    bends : array of shape (classes, classes - 1, classes - 1, parameters), the derivatives of
        ``slopes[k, l]`` in the weights of equation m
    means : dict of a variable and a level to the mean probabilities of the classes there, or of a
        tangled variable and None to its slope
    gradients : dict of the same to their derivatives, (classes, classes - 1, parameters)
    diverging : dict of a variable and a level to the shares of the rows in which each weight that
        diverges raises and lowers the log-odds, or of a tangled variable and None to the share in
        which its slope goes through such a weight
    inside : dict of the same, or of :data:`ROWS`, to the share of the rows with probabilities other
        than 0 and 1, where weights diverge
    """

    def __init__(self, curves: Curves, differences: Differences):
        self.curves, self.differences = curves, differences
        K, w = curves.classes, curves.B.shape[1]
        self.slopes = np.zeros((K, K - 1))
        self.bends = np.zeros((K, K - 1, K - 1, w) if curves.covariance is not None else (0,))
        self.means: dict[Key, np.ndarray] = defaultdict(lambda: np.zeros(K))
        self.gradients: dict[Key, np.ndarray] = defaultdict(lambda: np.zeros((K, K - 1, w)))
        self.diverging: dict[Key, Any] = defaultdict(float)
        self.inside: dict[Key, Any] = defaultdict(float)

    def add(self, X: Any, weights: np.ndarray) -> None:
        """Add rows, whose weights sum to 1 over all rows."""
        some = max(1, MOST // self.curves.classes**3)
        for start in range(0, X.shape[0], some):
            self._add(X[start : start + some], weights[start : start + some])

    def _add(self, X: Any, weights: np.ndarray) -> None:
        P = self.curves.probabilities(X)
        self.inside[ROWS] += weights @ (P > 0).all(axis=1)
        moves, bends = _bends(P)
        self.slopes += np.einsum("i,ikl->kl", weights, moves)
        if self.curves.covariance is not None:
            self.bends += _summed(weights, bends, self.curves.with_ones(X))
        for key, (levels, _) in self.differences.items():
            for level, values in levels.items():
                if values is not None:
                    self.add_level((*key, level), replaced(X, values), weights)

    def add_along(self, pair: Key, X: Any, weights: np.ndarray, D: Any) -> None:
        """Add rows to the slope of what moves the features of each in a direction of its own."""
        P, constant = self.curves.probabilities(X), self.curves.constant
        moves, bends = _bends(P)
        along = np.asarray(D @ self.curves.B[:, constant:].T)
        self.means[pair] += np.einsum("i,ikl,il->k", weights, moves, along)
        if self.curves.signs is not None:
            through = self.curves.diverging(D, constant=0.0).any(axis=1)
            inside = (P > 0).all(axis=1)
            self.diverging[pair] += weights @ through
            self.inside[pair] += weights @ inside
            if (through & inside & (weights > 0)).any():  # a step there
                self.means[pair] += np.nan
        if self.curves.covariance is not None:
            bent = np.einsum("ikml,il->ikm", bends, along)
            found = _summed(weights, bent, self.curves.with_ones(X))
            found[:, :, constant:] += _summed(weights, moves, D)
            self.gradients[pair] += found

    def add_level(self, pair: Key, X: Any, weights: np.ndarray) -> None:
        P = self.curves.probabilities(X)
        self.means[pair] += weights @ P
        if self.curves.signs is not None:
            terms = self.curves.diverging(X)
            self.diverging[pair] += weights @ np.hstack([terms > 0, terms < 0])
            self.inside[pair] += weights @ (P > 0).all(axis=1)
        if self.curves.covariance is not None:
            moves = _moves(P)[1]
            self.gradients[pair] += _summed(weights, moves, self.curves.with_ones(X))

    def _has_no_error(self, *keys: Key) -> bool:
        """Return whether the covariance is unknown, or there are only limits of 0 and 1."""
        limits = self.curves.signs is not None and not any(self.inside[key] for key in keys)
        return limits or self.curves.covariance is None

    def slope(self, j: int) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the effects of a numeric feature on the classes, and their gradients."""
        at, B = j + self.curves.constant, self.curves.B
        if self._has_no_error(ROWS):
            return self.slopes @ B[:, at], None
        J = np.einsum("kmlw,l->kmw", self.bends, B[:, at])
        J[:, :, at] += self.slopes
        return self.slopes @ B[:, at], J.reshape(len(J), -1)

    def knows(self, v: Variable) -> bool:
        """Return whether rows were added for a tangled column."""
        return any(key[:2] == v.key for key in self.means)

    def along(self, v: Variable) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the same for a tangled numeric column; no gradient if weights diverge along it."""
        key = (*v.key, None)
        return self._difference(key, (*v.key, ""), bool(self.diverging[key]))

    def difference(self, v: Variable, level: str) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the same for a level of a variable against its first; no gradient if weights that
        diverge make a difference.
        """
        one, base = (*v.key, level), (*v.key, self.differences[v.key][1])
        changed = np.abs(self.diverging[one] - self.diverging[base])
        return self._difference(one, base, bool((changed > ROUNDED).any()))

    def _difference(self, one: Key, base: Key, lost: bool) -> tuple[np.ndarray, np.ndarray | None]:
        found = self.means[one] - self.means[base]
        if lost or self._has_no_error(one, base):
            return found, None
        return found, (self.gradients[one] - self.gradients[base]).reshape(len(found), -1)


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


class _Effect(NamedTuple):
    """An effect on each class, in the order of :class:`Curves`, and its gradient, if it has one."""

    name: str
    features: list[int]
    values: np.ndarray
    gradient: np.ndarray | None


def _effects(curves: Curves, sums: _Sums, variables: list[Variable]) -> Iterator[_Effect]:
    lost = np.full(curves.classes, np.nan)
    for v in variables:
        j = v.features[0]
        if v.tangled and not sums.knows(v):
            yield _Effect(v.name, list(v.features), lost, None)
        elif v.tangled and v.key not in sums.differences:
            yield _Effect(v.name, list(v.features), *sums.along(v))
        elif v.key not in sums.differences:
            values, J = sums.slope(j)
            runs_away = curves.signs is not None and curves.signs[j + curves.constant] != 0
            unit = np.nan if runs_away else v.unit
            yield _Effect(v.name, [j], unit * values, None if J is None else unit * J)
        elif v.levels is None:
            yield _Effect(v.name, list(v.features), *sums.difference(v, "1"))
        else:
            for level, own in v.levels.items():
                if level != v.base:
                    features = list(v.features if v.tangled else own or v.levels[v.base])
                    yield _Effect(f"{v.name}={level}", features, *sums.difference(v, level))


def _table(
    model: Any, curves: Curves, effects: list[_Effect], level: float, title: str,
    header: list[tuple[str, str | int | float]], notes: list[str],
) -> Summary:  # fmt: skip
    """Return the effects as a table: on all classes, or, of two classes, on the one that is not the
    reference.
    """
    several = curves.classes > 2
    shown = np.argsort(curves.order).tolist() if several else [0]
    classes = [label_text(label) for label in model.classes_.tolist()]
    limits = np.atleast_2d(model.limits_)[:, curves.constant :]
    reach, rows = t_reach(level, model._degrees), []
    V, nothing = curves.covariance, np.full(curves.classes, np.nan)
    gradients = [effect.gradient for effect in effects]
    errors = [nothing if J is None or V is None else delta_errors(J, V) for J in gradients]
    for k in shown:
        own = f"{classes[curves.order[k]]}: " * several
        for effect, error in zip(effects, errors, strict=True):
            name = own + effect.name
            words = limits[:, effect.features]
            if (words == "dependent").all() or (words[min(k, len(words) - 1)] == NO_WEIGHT).any():
                word = "dependent" if (words == "dependent").all() else NO_WEIGHT
                rows.append(Coefficient(name, status=word))
                continue
            value, s = float(effect.values[k]), float(error[k])
            z = value / s if s > 0 else np.nan
            p = float(t_tail(z, model._degrees))
            in_limit = curves.signs is not None and np.isnan(s)
            word = "unknown" if np.isnan(value) else "limit" if in_limit else ""
            low, high = value - reach * s, value + reach * s
            rows.append(Coefficient(name, value, s, z, p, low, high, word))
    return Summary(
        title, header, rows, model._statistic, level, notes, "effect", classes if several else []
    )


def _title(model: Any, where: Where) -> str:
    what = "Marginal effects at the means" if where.means else "Average marginal effects"
    what += f" at {where.text}" if where.text else ""
    others = model._others()
    on = "probabilities of the classes" if len(others) > 1 else f"probability of {others[0]}"
    return f"{what} on the {on}"


def _notes(model: Any, variables: list[Variable], sums: _Sums, where: Where) -> list[str]:
    """Return sentences that explain the effects, and which effects are unknown."""
    binary = [v.name for v in variables if v.levels is None and v.key in sums.differences]
    factors = [f"{v.name} (from {v.base})" for v in variables if v.levels]
    notes = []
    if binary or factors:
        listed = [f"{name} (from 0 to 1)" for name in binary] + factors
        more = f" and {len(listed) - MOST_NAMED} more" if len(listed) > MOST_NAMED else ""
        notes.append(f"Differences, not slopes: {', '.join(listed[:MOST_NAMED])}{more}.")
    if lost := [v.name for v in variables if v.tangled and not sums.knows(v)]:
        why = "at means of features" if where.means else "without the columns of the formula"
        notes.append(
            f"In several terms of the formula, so unknown {why}: {', '.join(lost[:MOST_NAMED])}."
        )
    if model.stop_reason_ not in SEPARATED:
        return notes + model._notes(profiles=False)
    notes.append(
        f"The classes are {model.stop_reason_}: effects are computed in the limit, where "
        "coefficients are infinite. Effects through these have no standard errors or tests: for "
        "tests and intervals, profile the likelihood (intervals 'profile') or use Firth's "
        "penalty. Other standard errors take probabilities of 0 and 1 in the limit as known. An "
        "unknown effect may have no limit."
    )
    return notes
