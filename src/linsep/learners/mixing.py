"""Iterative parameter mixing: each shard makes one pass from the same weights; the results are
mixed.

R. McDonald, K. Hall and G. Mann, Distributed training strategies for the structured perceptron,
NAACL 2010, Figure 3. The result does not depend on which process trains a shard, or when: results
of shards are summed in a fixed reduction tree over their order. A
:class:`linsep.learners.state.Learner` declares how other arrays, such as variances, are mixed.
"""

from collections.abc import Callable
from functools import reduce
from time import perf_counter
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from sklearn.base import BaseEstimator

from linsep._system.interrupts import interrupts_allowed
from linsep.batches import Batch
from linsep.checkpoints.saving import Saving
from linsep.compiled.loop import UPDATES
from linsep.errors import DataError, LinsepError, ParameterError
from linsep.estimators._common import labels
from linsep.estimators._common.labels import codes_given
from linsep.learners.keeping import KeepAverage, keeping_of
from linsep.learners.passes import (
    NO_SCORES,
    Course,
    Run,
    Scores,
    check_some_rows,
    one_pass,
    passes,
)
from linsep.learners.state import Arrays, Unlearnable
from linsep.parameters import check_parameters
from linsep.rows.arrays import ArrayStream
from linsep.validation.sparse import tidy

#: how the weights of shards are mixed
MixingName = Literal["uniform", "mistakes"]


class ShardSums(NamedTuple):
    """The results of some shards in a pass, in the form in which their learner mixes them.

    Attributes
    ----------
    sums : arrays by name
        Sums of changes, and of arrays times the amounts of their shards; "say" is the sum of the
        shards' shares in the mean of each weight, "rounds" of the examples that each binary
        classifier has seen.
    largest : arrays by name, largest values
    counts : int64 array of shape (shards, 6)
        Mistakes, updates, errors and rows; the share in the mixture before division by the sum, 1
        or the number of mistakes, 0 without rows; and whether scores of zero remain that are
        treated as correct.
    """

    sums: Arrays
    largest: Arrays
    counts: np.ndarray


ROWS, AMOUNT, ZEROS = 3, 4, 5


def added_sums(parts: list[ShardSums]) -> ShardSums:
    """Return the sum of parts, from the first to the last."""
    sums, largest, counts = zip(*parts, strict=True)
    return ShardSums(
        {name: reduce(np.add, (one[name] for one in sums)) for name in sums[0]},
        {name: reduce(np.maximum, (one[name] for one in largest)) for name in largest[0]},
        np.concatenate(counts),
    )


def arrays_of(run: Run) -> Arrays:
    """Return copies of what is mixed: weights, arrays that belong to them, a kept average."""
    state, learner = run.state, run.learner
    learner.rule(state)  # which makes them
    found = {"W": state.W} | {name: state.array(name) for name in learner.beside}
    if isinstance(run.keeping, KeepAverage):
        found["average"] = run.keeping.weights(state)
    return {name: array.copy() for name, array in found.items()}


def _begun(start: Arrays) -> Arrays:
    """Return the start of a pass; a pass without rows does not change the average."""
    return start | {"average": start["W"]} if "average" in start else start


def _put(run: Run, mixed: Arrays) -> None:
    """Set a state to the mixture, except for the average."""
    run.learner.rule(run.state)
    for name in ("W", *run.learner.beside):
        run.state.array(name)[:] = mixed[name]


def _sums(run: Run, start: Arrays, amount: int) -> tuple[Arrays, Arrays]:
    """Return the sums and the largest values of one shard that was trained from ``start``."""
    state, learner, own = run.state, run.learner, arrays_of(run)
    say = learner.say(state, start, own)
    sums, largest = {"say": amount * say, "rounds": state.machine_rounds().copy()}, dict[str, Any]()
    before = learner.to_mix(state, _begun(start))
    for name, array in learner.to_mix(state, own).items():
        how = learner.beside.get(name, "mean")
        if how == "sum":
            sums[name] = array - before[name]
        elif how == "largest":
            largest[name] = array
        else:
            sums[name] = amount * (say * array if say.shape == array.shape else array)
    return sums, largest


def mix(run: Run, before: Arrays, total: ShardSums, number: int) -> Arrays:
    """Return the mixture after pass ``number`` (from 0). A pass without mistakes and updates
    changes nothing, nor does a pass in which no shard has a share; nor do shards without a share in
    a weight change it.
    """
    found, (mistakes, updates, *_) = _begun(before), total.counts.sum(axis=0).tolist()
    amounts, say = total.counts[:, AMOUNT].sum(), total.sums["say"]
    if amounts and (mistakes or updates):
        form = dict(run.learner.to_mix(run.state, found))
        for name, array in form.items():
            how = run.learner.beside.get(name, "mean")
            if how == "sum":
                form[name] = array + total.sums[name]
            elif how == "largest":
                form[name] = total.largest[name]
            else:
                share = say if say.shape == array.shape else amounts
                mean = total.sums[name] / np.where(share > 0, share, 1)
                form[name] = np.where(share > 0, mean, array)
        found = run.learner.from_mix(run.state, form)
    if "average" in before:
        mean = (number * before["average"] + found["average"]) / (number + 1)
        found = found | {"average": mean}
    return found


class Mixture(NamedTuple):
    """Counts of a fit by parameter mixing, of every pass (rows) and shard (columns).

    Attributes
    ----------
    mistakes : int array of shape (passes, shards)
    amounts : int array of shape (passes, shards)
        Relative shares of the shards in the mixed weights; some learners multiply them by the
        precision of a weight in the shard.
    rows : tuple of int, rows in each shard
    mixing : "uniform" or "mistakes"
    """

    mistakes: np.ndarray
    amounts: np.ndarray
    rows: tuple[int, ...]
    mixing: str

    @property
    def shares(self) -> np.ndarray:
        """The mixture coefficients; by mistakes they are 0 in a clean pass, which mixes nothing."""
        totals = self.amounts.sum(axis=1, keepdims=True)
        return self.amounts / np.maximum(totals, 1)

    @property
    def weighted_mistakes(self) -> float:
        """The mistakes, each times the share of its shard."""
        return float((self.shares * self.mistakes).sum())


#: parameters that the pass of a shard cannot keep, and the values that it can
MIXABLE = {
    "keep": ("last", "average"), "schedule": ("constant",), "update": ("single",),
    "early_stopping": (False,),
}  # fmt: skip


class Setting(NamedTuple):
    """The settings of a shard's pass, besides its rows and the mixed weights.

    Attributes
    ----------
    estimator : unfitted estimator
    classes : array of the sorted labels of all shards
    class_weights : array with one weight per class, or None
    n_features : int
    seed : int
    mixing : "uniform" or "mistakes"
    """

    estimator: Any
    classes: np.ndarray
    class_weights: np.ndarray | None
    n_features: int
    seed: int
    mixing: MixingName

    def coded(self, rows: Batch) -> Batch:
        """Return rows for training, with codes of their labels, which are in ``classes``."""
        model, codes = self.estimator, labels.encode_with(rows.y, self.classes)
        assert codes is not None
        X = tidy(rows.X) if model.normalize or model.learner().needs_lengths else rows.X
        return rows._replace(X=X, y=codes_given(model, self.classes, codes))

    def learn(self, shard: int, rows: Batch, start: Arrays, number: int) -> ShardSums:
        """Return the result of a shard's pass ``number`` (from 0), from the mixture before it."""
        model, n_classes, importance = self.estimator, self.classes.size, rows.importance
        learner = model.learner()
        run = Run(model.new_state(learner, n_classes, self.n_features), learner, keeping_of(model))
        course = Course(run, None, model.tie, number=number)
        learner.start(run.state, warm=True)
        _put(run, start)
        if self.class_weights is not None:  # in scores, classes have no weights
            of_class = self.class_weights[codes_given(model, self.classes, rows.y)]
            importance = of_class if rows.weights is None else of_class * rows.weights
        some = bool(rows.size and (not importance.size or importance.any()))
        if some:
            course.stream = ArrayStream(
                rows.X, rows.y, importance, self.seed + shard, bool(model.shuffle),
                unit=bool(model.normalize),
            )  # fmt: skip
            if n_classes > 2 and model.max_iter > 1 and not learner.needs_lengths:
                course.stream.pack()
            try:
                one_pass(course)
            except Unlearnable as problem:
                row = "" if problem.row is None else f"row {problem.row + 1:,} of "
                raise DataError(
                    f"{row}shard {shard + 1:,}: {problem}.", code=problem.code
                ) from None
        amount = course.mistakes if self.mixing == "mistakes" else int(some)
        counts = [*course.tally.tolist(), amount, int(learner.leaves_zeros(run.state))]
        return ShardSums(*_sums(run, start, amount), np.array([counts]))


#: returns the sum of what all shards learn in a pass, given what was mixed and its number
LearnAll = Callable[[Arrays, int], ShardSums]


def refuse_unmixable(estimator: Any, mixing: str) -> None:
    """Raise ParameterError for estimators and parameters whose weights cannot be mixed."""
    if mixing not in get_args(MixingName):
        raise ParameterError(
            f"mixing is {mixing!r}: choose 'uniform' or 'mistakes'.", option="mixing", value=mixing
        )
    name = type(estimator).__name__
    if not getattr(estimator, "mixable", False):
        raise ParameterError(
            f"{name} cannot be fitted in shards: mixing needs a learner whose updates add "
            f"examples to the weights, such as Perceptron or AROW.",
            code="unsupported",
        )
    check_parameters(estimator)
    for parameter, allowed in MIXABLE.items():
        value = getattr(estimator, parameter, allowed[0])
        if value not in allowed:
            choices = " or ".join(map(repr, allowed))
            raise ParameterError(
                f"{name} with {parameter}={value!r} cannot be fitted in shards: choose {choices}.",
                option=parameter, value=value,
            )  # fmt: skip
    if callable(getattr(estimator, "learning_rate", None)):
        raise ParameterError(
            f"{name} with a function as learning_rate cannot be fitted in shards: set a number.",
            option="learning_rate",
        )


def setting_of(
    estimator: Any, classes: np.ndarray, totals: np.ndarray, n_features: int, mixing: MixingName,
    saving: Saving | None = None,
) -> Setting:  # fmt: skip
    """Return the settings of a fit; ``totals`` are the summed row weights of the classes."""
    labels.check_two_classes(classes, "the data")
    weights = None
    if estimator.class_weight is not None:
        weights = labels.weigh_classes(estimator.class_weight, classes, totals)
        labels.warn_of_weightless(classes, weights)
    alone = BaseEstimator.__sklearn_clone__(estimator).set_params(warm_start=False, verbose=0)
    return Setting(alone, classes, weights, n_features, estimator.draw_seed(saving), mixing)


def fit_mixed(
    estimator: Any, setting: Setting, learn: LearnAll, n_shards: int, weighted: bool,
    coef_init: Any = None, intercept_init: Any = None, saving: Saving | None = None,
) -> None:  # fmt: skip
    """Fit ``estimator`` by passes over shards, by ``learn``; save the mixture between passes."""
    run = estimator.start_run(
        estimator.learner(), setting.classes, setting.n_features, coef_init, intercept_init
    )
    run.seed, run.weighted = setting.seed, weighted or setting.class_weights is not None
    none: Any = np.zeros((0, n_shards), dtype=np.int64)
    run.mixture = Mixture(none, none, (0,) * n_shards, setting.mixing)
    shards = Shards(run, learn)
    course = Course(run, shards, estimator.tie, estimator.max_iter, saving or Saving())
    estimator.run_passes(course, passes(course, shards.one_pass))


class Shards:
    """Passes over shards, and the mixture between them, as the row stream of a run."""

    of_features = shuffle = True
    n_rows: int | None = None

    def __init__(self, run: Run, learn: LearnAll) -> None:
        self.run, self.learn, self.mixed = run, learn, arrays_of(run)

    def arrays(self) -> Arrays:
        mixture = self.run.mixture
        counts = {"mistakes": mixture.mistakes, "amounts": mixture.amounts}
        return self.mixed | counts | {"rows": np.array(mixture.rows, np.int64)}

    def resume(self, number: int, arrays: Arrays) -> None:
        """Restore what :meth:`arrays` returned after so many passes; ValueError if it is wrong."""
        mixture = self.run.mixture
        mistakes, amounts = arrays["mistakes"], arrays["amounts"]
        wrong = {mistakes.shape, amounts.shape} != {(number, mixture.mistakes.shape[1])}
        for name, own in self.mixed.items():
            stored = arrays[name]
            wrong |= (stored.dtype, stored.shape) != (own.dtype, own.shape)
        if wrong:
            raise ValueError("weights or counts of other shards")
        self.mixed = {name: arrays[name] for name in self.mixed}
        rows = tuple(arrays["rows"].tolist())
        self.run.mixture = Mixture(mistakes, amounts, rows, mixture.mixing)

    def one_pass(self, course: Course) -> Scores:
        """Let all shards learn once, and mix their weights."""
        run, state, number = self.run, self.run.state, course.number
        if course.saving.due:
            course.saving.save(course)
        course.stage, started = "learning", perf_counter()
        try:
            with interrupts_allowed():
                total = self.learn(self.mixed, number)
            mixed = mix(run, self.mixed, total, number)
        except (KeyboardInterrupt, LinsepError) as problem:  # the last if the cluster is lost
            course.tally[:] = 0  # what was learned since the last mixture is lost
            if number and not isinstance(problem, KeyboardInterrupt):
                course.saving.save(course)
            raise
        course.seconds["learn"] += perf_counter() - started
        if not np.isfinite([mixed["W"].min(), mixed["W"].max()]).all():
            raise DataError(
                "A mixed weight overflows float64: scale the features.", code="overflow"
            )
        self.mixed, sums = mixed, total.counts.sum(axis=0)
        course.tally[:] = sums[:AMOUNT]
        check_some_rows(course)
        _put(run, mixed)
        state.rounds += course.rows
        state.n_updates += int(course.tally[UPDATES])
        if sums[ZEROS]:
            state.per_machine("spared")[:] = 1
        if state.multiclass == "ovo" and state.n_classes > 2:
            state.per_machine("rounds")[:] += total.sums["rounds"]
        if "average" in mixed:
            rounds = state.per_column(state.machine_rounds())
            state.like_weights("sums")[:] = (mixed["W"] - mixed["average"]) * rounds
        before, counts = run.mixture, total.counts.T
        run.mixture = Mixture(
            np.vstack([before.mistakes, counts[0]]), np.vstack([before.amounts, counts[AMOUNT]]),
            tuple(counts[ROWS].tolist()), before.mixing,
        )  # fmt: skip
        return NO_SCORES
