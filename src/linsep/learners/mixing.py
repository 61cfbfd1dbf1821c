"""Iterative parameter mixing: each shard makes one pass from the same weights; the results are
mixed.

R. McDonald, K. Hall and G. Mann, Distributed training strategies for the structured perceptron,
NAACL 2010, Figure 3. Results of shards are summed in a fixed tree over their order, whichever
process trains a shard. A learner declares how other arrays, such as variances, are mixed.
"""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from functools import reduce
from time import perf_counter
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from sklearn.base import BaseEstimator

from linsep._system.interrupts import interrupts_allowed
from linsep.batches import Batch
from linsep.compiled.loop import MISTAKES, ROWS, UPDATES
from linsep.errors import DataError, LinsepError, ParameterError, refuse
from linsep.estimators import labels
from linsep.learners.passes import NO_SCORES, Course, Run, Scores, nothing_learned, one_pass, passes
from linsep.learners.state import Arrays, KeepAverage, Unlearnable, keeping_of
from linsep.parameters import check_parameters
from linsep.validation.checks import tidy

#: how the weights of shards are mixed
MixingName = Literal["uniform", "mistakes"]
#: what some shards have learned in a pass, by how it is added and a name: arrays in the units in
#: which they are mixed, changes, or arrays times the amounts of their shards; "say", the sum of the
#: shards' shares in the mean of each weight; "rounds", the examples that each binary classifier has
#: seen; and "counts" of shape (shards, 6): mistakes, updates, errors and rows; the share in the
#: mixture, 1 or the mistakes, 0 without rows; whether scores of zero are left
ShardSums = dict[tuple[str, str], np.ndarray]
AMOUNT, ZEROS = 4, 5
ADDED: dict[str, Callable[..., np.ndarray]] = {
    "sum": np.add, "mean": np.add, "largest": np.maximum, "each": lambda a, b: np.vstack([a, b]),
}  # fmt: skip


def added_sums(parts: list[ShardSums]) -> ShardSums:
    """Return the sum of parts, from the first to the last."""
    return {key: reduce(ADDED[key[0]], (part[key] for part in parts)) for key in parts[0]}


def _own(run: Run) -> Arrays:
    run.learner.rule(run.state)  # which makes the arrays that belong to the weights
    every = run.state.shaped | run.state.counts
    return {name: every[name] for name in ("W", *run.learner.beside)}


def arrays_of(run: Run) -> Arrays:
    """Return copies of what is mixed: weights, arrays that belong to them, a kept average."""
    found = _own(run)
    if isinstance(run.keeping, KeepAverage):
        found["average"] = run.keeping.weights(run.state)
    return {name: array.copy() for name, array in found.items()}


def _put(run: Run, mixed: Arrays) -> None:
    for name, array in _own(run).items():
        array[:] = mixed[name]


def _scaled(by: np.ufunc, run: Run, arrays: Arrays) -> Arrays:
    units, weights = run.learner.units(run.state, arrays), arrays.keys() - run.learner.beside.keys()
    return arrays | {name: by(arrays[name], units) for name in weights}


def _sums(run: Run, start: Arrays, counts: list[int]) -> ShardSums:
    state, learner, own, amount = run.state, run.learner, arrays_of(run), counts[AMOUNT]
    say, before = learner.say(start, own), _scaled(np.multiply, run, start)
    sums: ShardSums = {
        ("sum", "say"): amount * say, ("sum", "rounds"): state.machine_rounds().copy(),
        ("each", "counts"): np.array([counts]),
    }  # fmt: skip
    for name, array in _scaled(np.multiply, run, own).items():
        how = learner.beside.get(name, "mean")
        mean = amount * (say * array if say.shape == array.shape else array)
        sums[how, name] = {"mean": mean, "sum": array - before[name], "largest": array}[how]
    return sums


def mix(run: Run, before: Arrays, total: ShardSums, number: int) -> Arrays:
    """Return the mixture after a pass, which changes nothing without mistakes and updates, or
    where no shard has a share.
    """
    # Without rows, the average of a pass is the weights before it.
    found = before | {name: before["W"] for name in before.keys() & {"average"}}
    counts, say = total["each", "counts"].sum(axis=0), total["sum", "say"]
    if counts[AMOUNT] and counts[: UPDATES + 1].any():
        form = _scaled(np.multiply, run, found)
        for name, array in form.items():
            how = run.learner.beside.get(name, "mean")
            new = total[how, name]
            if how == "mean":
                share = say if say.shape == array.shape else counts[AMOUNT]
                new = np.where(share > 0, new / np.where(share > 0, share, 1), array)
            form[name] = array + new if how == "sum" else new
        found = _scaled(np.divide, run, form)
    if "average" in found:
        mean = (number * before["average"] + found["average"]) / (number + 1)
        found = found | {"average": mean}
    return found


@dataclass(frozen=True)
class Mixture:
    """Counts of a fit by parameter mixing.

    Attributes
    ----------
    mistakes : int array of shape (passes, shards)
    amounts : the same of relative shares of the shards in the mixed weights; some learners multiply
        them by the precision of a weight in the shard
    shares : the mixture coefficients; by mistakes they are 0 in a clean pass, which mixes nothing
    rows : tuple of int, rows in each shard
    mixing : "uniform" or "mistakes"
    """

    counts: np.ndarray
    mixing: str

    mistakes = property(lambda self: self.counts[:, :, MISTAKES])
    amounts = property(lambda self: self.counts[:, :, AMOUNT])
    rows = property(lambda self: tuple(self.counts[-1:, :, ROWS].sum(axis=0).tolist()))

    @property
    def shares(self) -> np.ndarray:
        return self.amounts / np.maximum(self.amounts.sum(axis=1, keepdims=True), 1)


class Setting(NamedTuple):
    """The settings of a shard's pass, besides its rows and the mixed weights."""

    estimator: Any
    classes: np.ndarray
    class_weights: np.ndarray | None
    n_features: int
    seed: int
    mixing: MixingName

    def coded(self, rows: Batch) -> Batch:
        model, codes = self.estimator, labels.codes_in(self.classes, rows.y)
        X = tidy(rows.X) if model.normalize or model.learner().needs_lengths else rows.X
        return rows._replace(X=X, y=labels.codes_given(model, self.classes, codes))

    def learn(self, shard: int, rows: Batch, start: Arrays, number: int) -> ShardSums:
        """Return the result of a shard's pass from the mixture before it."""
        model, importance = copy(self.estimator), rows.importance
        learner = model.learner()
        state = model.new_state(learner, self.classes.size, self.n_features)
        run = model._run = Run(state, learner, keeping_of(model))
        _put(run, start)
        if self.class_weights is not None:  # in scores, classes have no weights
            of_class = self.class_weights[labels.codes_given(model, self.classes, rows.y)]
            importance = of_class if rows.weights is None else of_class * rows.weights
        some = bool(rows.size and (not importance.size or importance.any()))
        how = rows.y, importance, self.seed + shard, bool(model.shuffle)
        stream = model._stream(rows.X, model.max_iter > 1, *how)
        course = Course(run, stream, model.tie, number=number)
        try:
            if some:
                one_pass(course)
        except Unlearnable as problem:
            row = "" if problem.row is None else f"row {problem.row + 1:,} of "
            raise DataError(f"{row}shard {shard + 1:,}: {problem}.", code=problem.code) from None
        amount = course.mistakes if self.mixing == "mistakes" else int(some)
        zeros = int(np.any(run.state.counts.get("spared", 0)))
        return _sums(run, start, [*course.tally.tolist(), amount, zeros])


#: returns the sum of what all shards learn in a pass, given what was mixed and its number
LearnAll = Callable[[Arrays, int], ShardSums]
#: parameters that the pass of a shard cannot keep, and the values that it can
MIXABLE = {
    "keep": ("last", "average"), "schedule": ("constant",), "update": ("single",),
    "early_stopping": (False,), "mixing": get_args(MixingName),
}  # fmt: skip


def refuse_unmixable(estimator: Any, mixing: str) -> None:
    """Raise ParameterError for estimators and parameters whose weights cannot be mixed."""
    name = type(estimator).__name__
    refuse(ParameterError, (
        not getattr(estimator, "mixable", False),
        f"{name} cannot be fitted in shards: mixing needs updates that add examples to the "
        "weights, such as those of Perceptron or AROW.", "unsupported", None,
    ))  # fmt: skip
    check_parameters(estimator)
    given = {name: getattr(estimator, name, values[0]) for name, values in MIXABLE.items()}
    given["mixing"] = mixing
    wrong = {name: value for name, value in given.items() if value not in MIXABLE[name]}
    if callable(rate := getattr(estimator, "learning_rate", None)):
        wrong["learning_rate"] = rate
    for parameter, value in wrong.items():
        raise ParameterError(
            f"{name} with {parameter}={value!r} cannot be fitted in shards: choose "
            f"{' or '.join(map(repr, MIXABLE.get(parameter, ['a number'])))}.",
            option=parameter, value=value,
        )  # fmt: skip


def setting_of(
    estimator: Any, classes: np.ndarray, totals: np.ndarray, n_features: int, mixing: MixingName,
    saving: Any = None,
) -> Setting:  # fmt: skip
    """Return the settings of a fit; ``totals`` are the summed row weights of the classes."""
    labels.check_two_classes(classes, "the data")
    weights = None
    if estimator.class_weight is not None:
        weights = labels.weigh_classes(estimator.class_weight, classes, totals)
        labels.warn_of_weightless(classes, weights)
    alone = BaseEstimator.__sklearn_clone__(estimator)
    return Setting(alone, classes, weights, n_features, estimator.draw_seed(saving), mixing)


def fit_mixed(
    estimator: Any, setting: Setting, learn: LearnAll, n_shards: int, weighted: bool,
    coef_init: Any = None, intercept_init: Any = None, saving: Any = None,
) -> None:  # fmt: skip
    """Fit ``estimator`` by passes over shards, by ``learn``; save the mixture between passes."""
    run = estimator.start_run(
        estimator.learner(), setting.classes, setting.n_features, coef_init, intercept_init
    )
    run.seed, run.weighted = setting.seed, weighted or setting.class_weights is not None
    run.mixture = Mixture(np.zeros((0, n_shards, ZEROS + 1), np.int64), setting.mixing)
    shards = Shards(run, learn)
    course = Course(run, shards, estimator.tie, estimator.max_iter, saving)
    estimator.run_passes(course, passes(course, shards.one_pass))


class Shards:
    """Passes over shards, and the mixture between them, as the row stream of a run."""

    of_features = shuffle = True
    n_rows: int | None = None

    def __init__(self, run: Run, learn: LearnAll) -> None:
        self.run, self.learn, self.mixed = run, learn, arrays_of(run)

    def arrays(self) -> Arrays:
        return self.mixed | {"counts": self.run.mixture.counts}

    def resume(self, number: int, arrays: Arrays) -> None:
        counts = np.zeros((number, *self.run.mixture.counts.shape[1:]), np.int64)
        for name, own in (self.mixed | {"counts": counts}).items():
            if (own.dtype, own.shape) != (arrays[name].dtype, arrays[name].shape):
                raise ValueError("weights or counts of other shards")
        self.run.mixture = replace(self.run.mixture, counts=arrays["counts"])
        self.mixed = {name: arrays[name] for name in self.mixed}

    def one_pass(self, course: Course) -> Scores:
        run, state, number = self.run, self.run.state, course.number
        if course.saving is not None and course.saving.due:
            course.saving.save(course)
        course.stage, started = "learning", perf_counter()
        try:
            with interrupts_allowed():
                total = self.learn(self.mixed, number)
            mixed = mix(run, self.mixed, total, number)
        except (KeyboardInterrupt, LinsepError) as problem:  # the last if the cluster is lost
            course.tally[:] = 0  # what was learned since the last mixture is lost
            if number and course.saving is not None and isinstance(problem, LinsepError):
                course.saving.save(course)
            raise
        course.seconds["learn"] += perf_counter() - started
        self.mixed, counts = mixed, total["each", "counts"]
        course.tally[:] = counts[:, :AMOUNT].sum(axis=0)
        if not course.rows:
            raise nothing_learned()
        _put(run, mixed)
        state.rounds += course.rows
        state.n_updates += int(course.tally[UPDATES])
        if counts[:, ZEROS].any():
            state.per_machine("spared")[:] = 1
        if state.multiclass == "ovo" and state.n_classes > 2:
            state.per_machine("rounds")[:] += total["sum", "rounds"]
        if "average" in mixed:
            rounds = state.per_column(state.machine_rounds())
            state.like_weights("sums")[:] = (mixed["W"] - mixed["average"]) * rounds
        run.mixture = replace(run.mixture, counts=np.concatenate([run.mixture.counts, [counts]]))
        return NO_SCORES
