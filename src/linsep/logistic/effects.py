"""Probabilities of a logistic regression: predictions of sources, with confidence intervals, and
marginal effects, averaged over rows or at given values.

For P_k the probability of class k, b_l the weights of equation l and V the covariance of all, the
average effect of feature j is f = mean P_k sum_l (d_kl - P_l) b_lj, with Kronecker's d; that of a
level, or of a 0/1 feature, is a difference of means of P_k. Their variance is J V J', J the
gradient of f in the weights (Greene, Econometric Analysis, 5th ed. 2003, sec. 21.3).

Classes are in the order of the weights: the equations, then the reference, whose weights are zero.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import expit, logsumexp, softmax
from sklearn.utils.validation import check_is_fitted

from linsep.batches import Batch
from linsep.errors import DataError, ParameterError, refuse
from linsep.estimators.frames import to_predict
from linsep.estimators.labels import (
    check_sample_weight,
    has_offset,
    label_text,
    refuse_offset,
    words_and_signs,
)
from linsep.estimators.predicting import Prediction, codes_of, decided
from linsep.inference.factors import products_and_factors, reference_of
from linsep.inference.results import SEPARATED, Bands, check_level, t_reach, t_tail
from linsep.inference.table import Coefficient, Facts, Summary
from linsep.logistic.task import UNKNOWN, order_of
from linsep.parameters import fitted_parameter
from linsep.sources.feature_names import names_in_recipe
from linsep.validation.checks import check_beside

MOST = 1 << 22  #: numbers of an array that is made of some rows at once
HUGE = 1e300  #: log-odds of a probability of 0 or 1
#: signs of estimates that diverge, by their limits; of others the sign is unknown
SIGNS = {"+inf": 1.0, "-inf": -1.0, "finite": 0.0, "dependent": 0.0}
#: a variance that is a smaller share of the sum of its terms' sizes has lost its digits
LOST = 1e-12
NEARLY = 1e-6  #: how far a 0/1 feature of a scaled column may be from its two values
MOST_NAMED = 10  #: names that a sentence lists
#: the levels of boolean columns in a formula, as files and numbers spell them
BOOLEANS = {"0": "False", "1": "True", "false": "False", "true": "True"}
Part = tuple[np.ndarray, np.ndarray]  #: some rows with their weights


def delta_errors(J: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Return the roots of the diagonal of J V J'; NaN where rounding leaves no digits."""
    found = np.einsum("ij,ij->i", J @ covariance, J)
    sizes = np.einsum("ij,ij->i", np.abs(J) @ np.abs(covariance), np.abs(J))
    return np.sqrt(np.where(found < LOST * sizes, np.nan, found))


class Curves:
    """The probabilities of the classes as functions of the features.

    ``B`` are the weights, shape (classes - 1, parameters), ``order`` the codes of the classes, and
    ``constant`` 1 with an intercept, else 0. ``covariance`` is of ``B.ravel()``, zero for weights
    that were left out or diverge, or None. ``in_limit``: some weight diverges; ``signs``:
    then those of the weights, NaN if unknown, as for several classes, and zero for finite ones.
    """

    def __init__(self, model: Any):
        self.model, self.order = model, order_of(model.reference_, model.classes_)
        self.classes = len(self.order)
        self.constant = int(bool(fitted_parameter(model, "fit_intercept")))
        self.B, limits = np.atleast_2d(model._shown), np.atleast_2d(model.limits_)
        separated, V = model.stop_reason_ in SEPARATED, model._covariance_matrix
        signs = np.vectorize(lambda word: SIGNS.get(word, np.nan), otypes=[float])(limits)
        self.in_limit = bool(separated and (signs != 0.0).any())
        signs = signs[0] if self.classes == 2 else np.full(len(signs[0]), np.nan)
        self.signs = signs if self.in_limit else np.zeros(len(signs))
        known = V is not None and (separated or not (limits == UNKNOWN).any())
        self.covariance = np.where(np.isfinite(V), V, 0.0) if known else None
        #: columns of gradients in the parameters, none of which are needed without a covariance
        self.needed = slice(None) if known else slice(0)

    def with_ones(self, X: np.ndarray, constant: float = 1.0) -> np.ndarray:
        """Return rows with the constant feature before the others."""
        return np.hstack([np.full((len(X), self.constant), constant), X])

    def log_odds(self, X: np.ndarray, offset: np.ndarray | None = None) -> np.ndarray:
        """Return the log-odds against the reference, shape (rows, classes), zeros last."""
        scores = self.model._scores(X, offset)
        if scores.ndim == 1:
            scores = np.column_stack([np.zeros(len(scores)), scores])
        return np.clip(scores[:, self.order] - scores[:, self.order[-1:]], -HUGE, HUGE)

    def probabilities(self, X: np.ndarray, offset: np.ndarray | None = None) -> np.ndarray:
        """Return the probabilities, shape (rows, classes), or their limits; NaN if unknown."""
        found: np.ndarray = softmax(self.log_odds(X, offset), axis=1)
        if self.in_limit:
            terms = self.diverging(X)
            up, down = (terms > 0).any(axis=1), (terms < 0).any(axis=1)
            found[up] = np.eye(self.classes)[0]
            found[down] = np.eye(self.classes)[-1]
            found[(up & down) | np.isnan(terms).any(axis=1)] = np.nan
        return found

    def diverging(self, X: np.ndarray, constant: float = 1.0) -> np.ndarray:
        """Return the signs of the terms that diverge, shape (rows, terms); NaN if unknown."""
        columns = np.flatnonzero(self.signs)
        part = self.with_ones(X, constant)[:, columns]
        return np.where(part == 0, 0.0, np.sign(part) * self.signs[columns])

    def bands(self, X: np.ndarray, level: float, offset: np.ndarray | None = None) -> Bands:
        """Return the probabilities, shape (rows, classes) as ``classes_``, and intervals."""
        against, inverse = self.log_odds(X, offset), np.argsort(self.order)
        others = [logsumexp(np.delete(against, k, axis=1), axis=1) for k in range(self.classes)]
        log_odds, reach = against - np.column_stack(others), np.full(against.shape, np.nan)
        if self.covariance is not None:
            # a limit of 0 or 1 has no error
            known = (self.probabilities(X, offset) > 0).all(axis=1) | (not self.in_limit)
            Z = self.with_ones(X[known])
            for k, total in enumerate(others):
                shares = -np.exp(np.minimum(against[known] - total[known, None], 0.0))
                shares[:, k] = 1.0  # the derivatives in the log-odds against the reference
                J = (shares[:, :-1, None] * Z[:, None, :]).reshape(len(Z), self.B.size)
                reach[known, k] = delta_errors(J, self.covariance)
            reach *= t_reach(level, self.model._degrees)
        ends = [expit(side)[:, inverse] for side in (log_odds, log_odds - reach, log_odds + reach)]
        return Bands(*ends)


class LogisticPrediction(Prediction):
    """Predictions of a logistic regression for the rows of a source."""

    def codes(self) -> Iterator[tuple[Batch, np.ndarray, np.ndarray]]:
        """Yield each batch with its log-odds and class codes."""
        for batch in self.batches():
            known = self.fitted_width(batch.X, self.model.n_features_in_)
            scores = batch.answers(self.model._scores(known, self.offset_of(batch)))
            yield batch, scores, decided(self.model, scores, codes_of(scores))

    def dense(self, batch: Batch, values: int) -> Iterator[tuple[Batch, np.ndarray]]:
        """Yield parts of a batch with the features as an array, of few ``values`` at once."""
        d = self.model.n_features_in_
        for part in batch.cut(max(1, MOST // max(d + 1, values))):
            X = self.fitted_width(part.X, d)
            X = X.toarray() if sp.issparse(X) else X.astype(np.float64, copy=False)
            yield part, np.pad(X, ((0, 0), (0, d - X.shape[1]))) if X.shape[1] < d else X

    def with_bands(self, level: float) -> Iterator[tuple[Batch, np.ndarray, np.ndarray, Bands]]:
        """Yield the same with the probabilities and their confidence intervals."""
        curves = Curves(self.model)
        for batch, scores, codes in self.codes():
            parts = [
                curves.bands(X, level, self.offset_of(part))
                for part, X in self.dense(batch, curves.B.size)
            ]
            bands = (np.concatenate(some) for some in zip(*parts, strict=True))
            yield batch, scores, codes, Bands(*map(batch.answers, bands))


class Variable(NamedTuple):
    """A column whose features change together.

    ``zero``, ``unit`` : the feature where a number is 0, and its change per unit
    ``levels`` : the features {number: value} of each level, the others being zero, or of a tangled
        column its value in the table; None for numbers
    ``base`` : the level, or zero, that others are compared with
    ``tangled`` : whether its features also depend on other columns, or are not linear in it
    ``plain`` : the feature that is the column itself, which shows zeros and ones, or None
    """

    name: str
    features: tuple[int, ...]
    zero: float = 0.0
    unit: float = 1.0
    is_bool: bool = False
    levels: dict[str, Any] | None = None
    base: str = "0"
    tangled: bool = False
    plain: int | None = None

    def at(self, value: Any) -> Any:
        """Return the features of a value, or the cell of a tangled column; else DataError."""
        if self.levels is not None:
            text, ends = label_text(value), self.ends
            for name in (str(value), text, BOOLEANS.get(text.lower(), text)):
                if name in ends:
                    return ends[name]
            raise DataError(
                f"'{self.name}' has no level '{value}': choose one of {first_of([*ends])}.",
                code="unknown-value", option="at", column=self.name, value=value,
            )  # fmt: skip
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            raise DataError(
                f"`at` has {value!r} for '{self.name}': give it a finite number.",
                code="bad-value", option="at", column=self.name, value=value,
            )  # fmt: skip
        return number if self.tangled else {self.features[0]: self.zero + self.unit * number}

    @property
    def ends(self) -> dict[str, Any]:
        """The levels, or zero and one, with what :meth:`at` returns of them."""
        if self.levels is None:
            return {"0": self.at(0), "1": self.at(1)}
        none = dict.fromkeys(self.features, 0.0)
        return self.levels if self.tangled else {x: none | own for x, own in self.levels.items()}

    def changed(self, source: Any, cell: Any) -> Any:
        """Return a source of tables in which the column has one value."""
        new = cell if isinstance(cell, str) else lambda x: np.full(x.size, float(cell))
        return source.changed(self.name, new)


def variables_of(model: Any) -> list[Variable]:
    """Return the columns that the features of a fitted model are made of, in their order."""
    recipe = getattr(model, "recipe_", None) or {}
    names, signs = words_and_signs(model)
    if recipe.get("formula"):
        return _of_formula(model, recipe["formula"], names)
    found, rest = [], set(range(len(names)))
    if recipe.get("format") == "table":
        found = _of_table(model, recipe, names)
        rest -= {j for variable in found for j in variable.features}
        rest -= {j for product in recipe.get("products", ()) for *_, j in product["features"]}
    # a word that is hashed with a negative sign adds minus its feature
    found += [Variable(names[j], (j,), 0.0, float(signs[j]), plain=j) for j in rest]
    return sorted(found, key=lambda variable: variable.features)


def _of_table(model: Any, recipe: dict[str, Any], names: list[str]) -> list[Variable]:
    """Return the columns of a table, but for those whose features are words or hashed."""
    found, factors = [], products_and_factors(model)[1]
    tangled = {name for product in recipe.get("products", ()) for name in product["columns"]}
    for j, name in enumerate(recipe["numeric"]):
        center, spread = recipe.get("scale", {}).get(name, (0.0, 1.0))
        is_bool, shown = name in recipe.get("bool", ()), name if name in tangled else names[j]
        ends = -center / spread, 1.0 / spread
        found.append(Variable(shown, (j,), *ends, is_bool, tangled=name in tangled, plain=j))
    shown_as = names_in_recipe(recipe)
    for name, places in recipe["text"].items():
        factor = factors.get(shown_as[name])
        if not places or factor is None:  # hashed
            continue
        levels: dict[str, Any] = factor
        if name in tangled:
            levels = {level: level for level in levels}
            if rare := recipe.get("rare", {}).get(name):  # whose level has a name of its own
                levels[rare["level"]] = rare["values"][0]
        own = Variable(name, tuple(places.values()), levels=levels, base=reference_of(factor))
        found.append(own._replace(tangled=name in tangled))
    return found


def _of_formula(model: Any, stored: dict[str, Any], names: list[str]) -> list[Variable]:
    """Return the columns; tangled unless features are their levels, or a column itself."""
    from linsep.sources.tables.formulas import Formula

    formula, factors = Formula.from_json(stored), products_and_factors(model)[1]
    features = formula.features or ()
    uses: dict[str, list[int]] = {}
    for j, (_, _, parts) in enumerate(features):
        # each once, in the order of the term: a set would have an order of its own in each process
        for name in dict.fromkeys(c for k, _ in parts for c in formula.blocks[k].columns):
            uses.setdefault(name, []).append(j)
    found = []
    for name, own in uses.items():
        terms, factor = [features[j] for j in own], factors.get(name)
        used = sorted({k for _, _, parts in terms for k, _ in parts})
        blocks = [b for b in (formula.blocks[k] for k in used) if name in b.columns]
        alone = len(used) == 1 and all(len(parts) == 1 for _, _, parts in terms)
        cells = next((b.levels for b in blocks if b.levels is not None), None)
        column = Variable(name, tuple(own), is_bool=formula.inputs[name] == "bool", tangled=True)
        if cells is not None:
            plain = alone and factor is not None
            levels = factor if alone and factor else {str(level): level for level in cells}
            base = reference_of(factor) if factor else next(iter(levels))
            column = Variable(name, tuple(own), levels=levels, base=base, tangled=not plain)
        elif alone and blocks[0].kind == "column":
            (j,), ((_, scale, _),) = own, terms
            column = Variable(names[j], (j,), 0.0, scale, column.is_bool, plain=j)
        found.append(column)
    return found


def marginal_effects(
    model: Any, X: Any, at: Any, level: float | None, sample_weight: Any, discrete: Any
) -> Summary:
    """Return the table of effects; see :meth:`linsep.LogisticRegression.marginal_effects`."""
    check_is_fitted(model)
    check_beside(X, sample_weight=sample_weight)
    level = check_level(fitted_parameter(model, "level", 0.95) if level is None else level)
    curves, variables, means = Curves(model), variables_of(model), at == "mean"
    values, cells = _set_to(at, variables)
    refuse_offset(has_offset(model), "Marginal effects need a fit without an offset")
    source = model._source_of(to_predict(model, X, weighted=True))
    n_rows, total, center, binary = _survey(_parts(curves, source, sample_weight), variables)
    nothing = "All rows of X have weight 0, so there is nothing to average."
    refuse(DataError, (not total, nothing, "no-rows", None))
    table = source if hasattr(source, "changed") and not means else None
    differ = _differing(curves, variables, binary, table, discrete)

    def read(source: Any) -> Iterator[Part]:  # with weights that sum to 1
        if means:
            yield center[None, :], np.ones(1)
            return
        for rows, weights in _parts(curves, source, sample_weight):
            yield replaced(rows, values), weights / total

    for v, cell in cells:
        if table is None:
            raise DataError(
                f"'{v.name}' is in several terms of the formula: set it in the rows of X instead "
                "of in `at`.", code="unsupported", option="at", column=v.name,
            )  # fmt: skip
        source = table = v.changed(table, cell)
    effects = list(_effects(curves, variables, differ, table))
    for effect in effects:
        if effect.v.tangled:
            effect.add_table(table, read)
    q, inside = len(curves.B), False
    moves, bends = np.zeros((q + 1, q)), np.zeros(())  # slopes are moves @ B
    for rows, weights in read(source):
        P = curves.probabilities(rows)
        inside |= bool(_inside(P, weights).any())
        own_moves, own_bends = _bends(P)
        moves += np.einsum("i,ikl->kl", weights, own_moves)
        bends = bends + _summed(weights, own_bends, curves.with_ones(rows)[:, curves.needed])
        for effect in effects:
            if effect.ends is not None and not effect.v.tangled:
                effect.add_difference(weights, *(replaced(rows, end) for end in effect.ends))
    for effect in effects:
        if effect.ends is None and not effect.v.tangled:
            unit, place = effect.v.unit, effect.features[0] + curves.constant
            along = unit * curves.B[:, place]
            effect.lost, effect.inside = bool(curves.signs[place] != 0), inside
            effect.values = moves @ along + (np.nan if effect.lost else 0.0)
            effect.gradient = np.einsum("kmlw,l->kmw", bends, along)
            effect.gradient[:, :, place : place + 1] += unit * moves[:, :, None]
    weighed = [("sum of their weights", total)] * (total != n_rows)
    header: Facts = [("rows", n_rows), *weighed]
    what = "Marginal effects at the means" if means else "Average marginal effects"
    if isinstance(at, dict) and at:
        what += f" at {', '.join(f'{name} = {value}' for name, value in at.items())}"
    notes = _notes(model, variables, differ, table is not None, means)
    return _table(curves, effects, level, what, header, notes)


def _effects(
    curves: Curves, variables: list[Variable], differ: set[str], table: Any
) -> Iterator["_Effect"]:
    for v in variables:
        if (v.tangled and table is None) or (v.levels is None and v.name not in differ):
            yield _Effect(curves, v, v.name, None)
            continue
        ends = dict(v.ends)
        base = ends.pop(v.base)
        for level, one in ends.items():
            name = v.name if v.levels is None else f"{v.name}={level}"
            yield _Effect(curves, v, name, (one, base))


def replaced(X: np.ndarray, values: dict[int, float]) -> np.ndarray:
    """Return rows with some features set to values."""
    X = X.copy()
    X[:, list(values)] = list(values.values())
    return X


def _parts(curves: Curves, source: Any, sample_weight: Any = None) -> Iterator[Part]:
    prediction, seen = curves.model.predictions(source), 0
    given = check_sample_weight(sample_weight, np.size(sample_weight), all_may_be_zero=True)
    for batch in prediction.batches():
        for part, rows in prediction.dense(batch, curves.classes**3):
            own, seen = given[seen : seen + part.size], seen + part.size
            weights = np.resize(own, part.size) if given.size else part.importance
            yield rows, weights if weights.size else np.ones(part.size)
    wrong, unlike = given.size not in (0, seen), f"{given.size:,} values, but X has {seen:,} rows"
    refuse(DataError, (wrong, f"sample_weight has {unlike}", "shape", "sample_weight"))


def _survey(
    parts: Iterable[Part], variables: list[Variable]
) -> tuple[int, float, np.ndarray, np.ndarray]:
    """Return the numbers of rows, their weight, the features' means and which are 0 and 1."""
    rows, total, sums, only, some = 0, 0.0, np.zeros(1), np.ones(1, bool), np.zeros((2, 1), bool)
    for X, weights in parts:
        zero, one, near = np.zeros(X.shape[1]), np.ones(X.shape[1]), np.zeros(X.shape[1])
        for v in variables:
            if (j := v.plain) is not None:
                zero[j], one[j] = v.zero, v.zero + v.unit
                near[j] = NEARLY * abs(v.unit) * (v.unit != 1.0)
        rows, total, sums = rows + len(X), total + weights.sum(), sums + weights @ X
        is_zero, is_one = np.abs(X - zero) <= near, np.abs(X - one) <= near
        only = only & (is_zero | is_one).all(axis=0)
        some = some | [is_zero.any(axis=0), is_one.any(axis=0)]
    return rows, float(total), sums / (total or 1.0), only & some.all(axis=0)


def _set_to(
    at: Any, variables: list[Variable]
) -> tuple[dict[int, float], list[tuple[Variable, Any]]]:
    """Return the values that features are set to, and tangled columns with their values."""
    values, cells = dict[int, float](), list[tuple[Variable, Any]]()
    if isinstance(at, str) and at in ("overall", "mean"):
        return values, cells
    if not isinstance(at, dict):
        raise ParameterError(
            f"at is {at!r}: choose 'overall', 'mean', or a dict of values such as {{'age': 40}}.",
            option="at", value=at,
        )  # fmt: skip
    known = {variable.name: variable for variable in variables}
    for name, value in at.items():
        if name not in known:
            raise DataError(
                f"`at` names '{name}', which is not a column of the model: choose "
                f"{first_of([*known])}.",
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
    """Return the numeric columns whose effects are differences; ``table`` may be None."""
    numbers = [v for v in variables if v.levels is None]
    if discrete is not None:
        if unknown := {*discrete} - {v.name for v in numbers}:
            raise DataError(
                f"`discrete` names '{min(unknown)}', which is not a numeric feature.",
                code="unknown-column", option="discrete", column=min(unknown),
            )  # fmt: skip
        return {*discrete}

    def of_two_values(v: Variable) -> bool:
        if v.plain is not None or table is None or not v.tangled:
            return v.plain is not None and bool(binary[v.plain])
        return bool(_survey(_parts(curves, table.by_formula(shown=v.name)), [])[-1][0])

    return {v.name for v in numbers if v.is_bool or of_two_values(v)}


class _Effect:
    """The mean effect of a variable on each class, in the order of :class:`Curves`.

    ``ends`` are what :meth:`Variable.at` returns of a level and of its base, None for slopes;
    ``gradient``, shape (classes, classes - 1, parameters), the derivatives in the weights.
    ``lost``: weights of the effect diverge; ``inside``: some probabilities are not 0 or 1.
    """

    def __init__(self, curves: Curves, v: Variable, name: str, ends: Any):
        self.curves, self.v, self.name, self.ends = curves, v, name, ends
        self.features, self.lost, self.inside = list(v.features), False, False
        if ends is not None and not v.tangled:
            self.features = [j for j in self.features if ends[0][j] != ends[1][j]]
        self.values = np.zeros(curves.classes)
        self.gradient = np.zeros((curves.classes, *curves.B[:, curves.needed].shape))

    def add_table(self, table: Any, read: Callable[[Any], Iterator[Part]]) -> None:
        """Add the rows of a table, whose cells a tangled column changes; unknown without."""
        v, curves = self.v, self.curves
        if table is None:
            self.values[:], self.lost = np.nan, True
        elif self.ends is not None:
            pairs = zip(*(read(v.changed(table, x)) for x in self.ends), strict=True)
            for (rows, weights), (others, _) in pairs:
                self.add_difference(weights, rows, others)
        else:
            if "formula" in curves.model.recipe_:
                ways = (D for D, _ in _parts(curves, table.by_formula(slope=v.name)))
            else:  # products are linear or quadratic in a column, so that differences are exact
                sides = (table.changed(v.name, lambda x, by=by: x + by) for by in (1.0, -1.0))
                pairs = zip(*(_parts(curves, side) for side in sides), strict=True)
                ways = ((high - low) / 2.0 for (high, _), (low, _) in pairs)
            for (rows, weights), D in zip(read(table), ways, strict=True):
                self.add_slope(weights, rows, D)

    def add_difference(self, weights: np.ndarray, one: np.ndarray, base: np.ndarray) -> None:
        curves, terms = self.curves, []
        for X, side in ((one, weights), (base, -weights)):
            P = curves.probabilities(X)
            self.values += side @ P
            self.inside |= bool(_inside(P, weights).any())
            terms.append(curves.diverging(X))
            self.gradient += _summed(side, _moves(P)[1], curves.with_ones(X)[:, curves.needed])
        self.lost |= bool((terms[0] != terms[1])[weights > 0].any())

    def add_slope(self, weights: np.ndarray, X: np.ndarray, D: np.ndarray) -> None:
        """Add the derivative along what moves the features of each row in its own direction."""
        curves, constant = self.curves, self.curves.constant
        P = curves.probabilities(X)
        (moves, bends), inside = _bends(P), _inside(P, weights)
        along = D @ curves.B[:, constant:].T
        through = curves.diverging(D, constant=0.0).any(axis=1)
        self.values += np.einsum("i,ikl,il->k", weights, moves, along)
        self.values += np.nan if (through & inside).any() else 0.0  # a step there
        self.inside |= bool(inside.any())
        self.lost |= bool((through & (weights > 0)).any())
        bent = np.einsum("ikml,il->ikm", bends, along)
        self.gradient += _summed(weights, bent, curves.with_ones(X)[:, curves.needed])
        self.gradient[:, :, constant:] += _summed(weights, moves, D[:, curves.needed])


def _inside(P: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return np.asarray((P > 0).all(axis=1) & (weights > 0))


def _moves(P: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return d_kl - P_l and P_k (d_kl - P_l) for each row, class k and equation l; the differences
    from 1 are sums of the other probabilities.
    """
    same = np.eye(P.shape[1])
    rest = P @ (1.0 - same)
    others = np.where(same[:, :-1], rest[:, :, None], -P[:, None, :-1])
    return others, P[:, :, None] * others


def _bends(P: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the second of :func:`_moves` and its derivatives in the log-odds of equation m,
    P_k ((d_km - P_m) (d_kl - P_l) - P_m (d_ml - P_l)), by row, k, m and l.
    """
    others, moves = _moves(P)
    bends = others[:, :, :, None] * others[:, :, None, :] - moves[:, None, :-1, :]
    return moves, P[:, :, None, None] * bends


def _summed(weights: np.ndarray, parts: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """Return the weighted sum over rows of products of numbers with the parameters' features."""
    flat = (weights.reshape(-1, *[1] * (parts.ndim - 1)) * parts).reshape(len(weights), -1)
    return (Z.T @ flat).T.reshape(*parts.shape[1:], Z.shape[1])


def _table(
    curves: Curves, effects: list[_Effect], level: float, what: str, header: Facts,
    notes: list[str],
) -> Summary:  # fmt: skip
    """Return the effects on all classes, or, of two, on the one that is not the reference; errors
    are NaN in a limit.
    """
    model, several, V = curves.model, curves.classes > 2, curves.covariance
    classes = [label_text(label) for label in model.classes_.tolist()]
    limits = np.atleast_2d(model.limits_)[:, curves.constant :]
    reach, rows, errors = t_reach(level, model._degrees), [], []
    for effect in effects:
        known = not effect.lost and (effect.inside or not curves.in_limit)
        J, unknown = effect.gradient.reshape(curves.classes, -1), np.full(curves.classes, np.nan)
        errors.append(delta_errors(J, V) if known and V is not None else unknown)
    for k in np.argsort(curves.order).tolist() if several else [0]:
        own = f"{classes[curves.order[k]]}: " * several
        for effect, error in zip(effects, errors, strict=True):
            words, value, s = limits[:, effect.features], float(effect.values[k]), float(error[k])
            word = "limit" if curves.in_limit and np.isnan(s) else ""
            word = "unknown" if np.isnan(value) else word
            if words.size and (words == "dependent").all():
                word, value, s = "dependent", np.nan, np.nan
            z = value / s if s > 0 else np.nan
            p, ends = float(t_tail(z, model._degrees)), (value - reach * s, value + reach * s)
            rows.append(Coefficient(own + effect.name, value, s, z, p, *ends, word))
    on = "probabilities of the classes" if several else f"probability of {model._others()[0]}"
    return Summary(
        f"{what} on the {on}", header, rows, model._statistic, level, notes, "effect",
        classes if several else [],
    )  # fmt: skip


def first_of(names: list[str]) -> str:
    """Return the first names, listed."""
    return ", ".join(names[:MOST_NAMED]) + ", ..." * (len(names) > MOST_NAMED)


def _notes(
    model: Any, variables: list[Variable], differ: set[str], has_table: bool, means: bool
) -> list[str]:
    lost = [v.name for v in variables if v.tangled and not has_table]
    listed = [f"{v.name} (from 0 to 1)" for v in variables if v.name in differ]
    listed += [f"{v.name} (from {v.base})" for v in variables if v.levels]
    notes = [f"Differences, not slopes: {first_of(listed)}."] * bool(listed)
    if lost:
        why = "at means of features" if means else "without the columns of the formula"
        notes.append(f"In several terms of the formula, so unknown {why}: {first_of(lost)}.")
    if model.stop_reason_ not in SEPARATED:
        return notes + model._notes()
    return [
        *notes,
        f"The classes are {model.stop_reason_}, so effects are limits; those through coefficients "
        "that diverge have no standard errors or tests: use Firth's penalty, or profiles of the "
        "coefficients.",
    ]
