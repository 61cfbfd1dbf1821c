"""Iterative parameter mixing: each shard makes one pass from the same weights; the results are
mixed.

R. McDonald, K. Hall and G. Mann, Distributed training strategies for the structured perceptron,
NAACL 2010, Figure 3. The result does not depend on which process trains a shard, or when: results
of shards are summed in a fixed reduction tree over their order. A
:class:`linsep.learners.state.Learner` declares how other arrays, such as variances, are mixed.
"""

from collections.abc import Callable, Iterator
from functools import reduce
from time import perf_counter
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from sklearn.base import BaseEstimator

from linsep._system.interrupts import interrupts_allowed
from linsep.batches import Batch
from linsep.checkpoints.saving import Saving
from linsep.errors import DataError, LinsepError, ParameterError
from linsep.estimators._common import labels
from linsep.estimators._common.labels import codes_given
from linsep.estimators._common.stop_reasons import StopReason
from linsep.learners.keeping import KeepAverage, keeping_of
from linsep.learners.passes import (
    NO_SCORES,
    Course,
    PassReport,
    Plan,
    Progress,
    Run,
    check_some_rows,
    one_pass,
)
from linsep.learners.state import Arrays, Unlearnable
from linsep.parameters import check_parameters
from linsep.rows.arrays import ArrayStream, summed

#: how the weights of shards are mixed
MixingName = Literal["uniform", "mistakes"]


class Counts(NamedTuple):
    """The counts of one pass over a shard. ``amount`` is its share in the mixture before division
    by the sum: 1 or the number of mistakes, 0 without rows. ``zeros`` is 1 if scores of zero remain
    that are treated as correct.
    """

    rows: int
    mistakes: int
    updates: int
    errors: int
    amount: int
    zeros: int


class ShardSums(NamedTuple):
    """The results of some shards in a pass, in the form in which their learner mixes them.

    Attributes
    ----------
    sums : arrays by name
        Sums of changes, and of arrays times the amounts of their shards; "say" is the sum of the
        shards' shares in the mean of each weight, if they differ by weight.
    largest : arrays by name, largest values
    rounds : array, the examples that each binary classifier has seen
    counts : list of Counts, one for each shard, in order
    """

    sums: Arrays
    largest: Arrays
    rounds: np.ndarray
    counts: list[Counts]


def added_sums(parts: list[ShardSums]) -> ShardSums:
    """Return the sum of parts, from the first to the last."""

    def add(a: ShardSums, b: ShardSums) -> ShardSums:
        sums = {name: array + b.sums[name] for name, array in a.sums.items()}
        largest = {name: np.maximum(array, b.largest[name]) for name, array in a.largest.items()}
        return ShardSums(sums, largest, a.rounds + b.rounds, a.counts + b.counts)

    return reduce(add, parts)


def arrays_of(run: Run) -> Arrays:
    """Return the start of a pass for shards: the weights, the mean over earlier passes of their
    averages, if these are kept, and the arrays that belong to the weights.
    """
    state, learner = run.state, run.learner
    found = {"W": state.W.copy()}
    if isinstance(run.keeping, KeepAverage):
        found["average"] = np.zeros_like(state.W)
    if learner.beside:
        learner.rule(state)  # which makes them
    return found | {name: state.array(name).copy() for name in learner.beside}


def sums_of(run: Run, start: Arrays, amount: int) -> tuple[Arrays, Arrays]:
    """Return the sums and the largest values of one shard that was trained from ``start``."""
    state, learner = run.state, run.learner
    own = {"W": state.W} | {name: state.array(name) for name in learner.beside}
    if "average" in start:
        own["average"] = run.keeping.weights(state)
    sums: Arrays = {}
    largest: Arrays = {}
    say = learner.say(state, start, own)
    if say is not None:
        sums["say"] = amount * say
    before = learner.to_mix(state, _begun(start))
    for name, array in learner.to_mix(state, own).items():
        how = learner.beside.get(name, "mean")
        if how == "sum":
            sums[name] = array - before[name]
        elif how == "largest":
            largest[name] = array.copy()
        else:
            counted = say is not None and say.shape == array.shape
            sums[name] = amount * (say * array if counted else array)
    return sums, largest


def _begun(start: Arrays) -> Arrays:
    """Return the start of a pass; a pass without rows does not change the average."""
    return start | {"average": start["W"]} if "average" in start else start


def mix(run: Run, before: Arrays, total: ShardSums, number: int) -> Arrays:
    """Return the mixture after pass ``number`` (from 0). A pass without mistakes and updates
    changes nothing, nor does a pass in which no shard has a share.
    """
    amounts = sum(counts.amount for counts in total.counts)
    found = _begun(before)
    if amounts and any(counts.mistakes or counts.updates for counts in total.counts):
        learner = run.learner
        form = dict(learner.to_mix(run.state, found))
        for name, array in form.items():
            how = learner.beside.get(name, "mean")
            if how == "sum":
                form[name] = array + total.sums[name]
            elif how == "largest":
                form[name] = total.largest[name]
            else:
                form[name] = _mean(array, total.sums[name], total.sums.get("say"), amounts)
        found = learner.from_mix(run.state, form)
    if "average" in before:
        mean = (number * before["average"] + found["average"]) / (number + 1)
        found = found | {"average": mean}
    return found


def _mean(
    before: np.ndarray, total: np.ndarray, say: np.ndarray | None, amounts: int
) -> np.ndarray:
    """Return the mean of an array over shards; unchanged where no shard has a share."""
    if say is None or say.shape != before.shape:
        return total / amounts
    return np.where(say > 0.0, total / np.where(say > 0.0, say, 1.0), before)


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
        """Return the mixture coefficients; by mistakes they are 0 in a clean pass, which mixes
        nothing.
        """
        totals = self.amounts.sum(axis=1, keepdims=True)
        return self.amounts / np.maximum(totals, 1)

    @property
    def weighted_mistakes(self) -> float:
        """The mistakes, each times the share of its shard."""
        return float((self.shares * self.mistakes).sum())

    def and_pass(self, counts: list[Counts]) -> "Mixture":
        """Return the mixture with one more pass."""
        more = np.array([[c.mistakes for c in counts]]), np.array([[c.amount for c in counts]])
        return Mixture(
            np.concatenate([self.mistakes, more[0]]), np.concatenate([self.amounts, more[1]]),
            tuple(c.rows for c in counts), self.mixing,
        )  # fmt: skip


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
        X = summed(rows.X) if model.normalize or model.learner().needs_lengths else rows.X
        return rows._replace(X=X, y=codes_given(model, self.classes, codes))

    def importance(self, rows: Batch) -> np.ndarray:
        """Return the training weight of each row: class weight times row weight; empty if all are
        1.
        """
        # Class weights do not count in scores, so they are not part of the row weights.
        if self.class_weights is None:
            return rows.importance
        of_class = self.class_weights[codes_given(self.estimator, self.classes, rows.y)]
        return of_class if rows.weights is None else of_class * rows.weights

    def learn(self, shard: int, rows: Batch, start: Arrays, number: int) -> ShardSums:
        """Return the result of a shard's pass ``number`` (from 0), starting from the mixture before
        it.
        """
        model, n_classes = self.estimator, self.classes.size
        learner = model.learner()
        state = model.new_state(learner, n_classes, self.n_features)
        learner.begin(state)
        run = Run(state, learner, keeping_of(model))
        _put(run, start)
        progress = Progress()
        importance = self.importance(rows)
        some = rows.size and (not importance.size or importance.any())
        if some:
            stream = ArrayStream(
                rows.X, rows.y, importance, self.seed + shard, bool(model.shuffle),
                unit=bool(model.normalize),
            )  # fmt: skip
            if n_classes > 2 and model.max_iter > 1 and not learner.needs_lengths:
                stream.pack()
            try:
                plan = Plan(1, None, model.tie)
                one_pass(Course(run, stream, plan, progress, Saving(), number))
            except Unlearnable as problem:
                row = "" if problem.row is None else f"row {problem.row + 1:,} of "
                raise DataError(
                    f"{row}shard {shard + 1:,}: {problem}.", code=problem.code
                ) from None
        mistakes, updates, errors, _ = progress.tally.tolist()
        amount = mistakes if self.mixing == "mistakes" else int(bool(some))
        zeros = int(learner.leaves_zeros(state))
        counts = Counts(progress.rows, mistakes, updates, errors, amount, zeros)
        return ShardSums(*sums_of(run, start, amount), state.machine_rounds().copy(), [counts])


def _put(run: Run, mixed: Arrays) -> None:
    """Set a state to the mixture, except for the average."""
    state, learner = run.state, run.learner
    if learner.beside:
        learner.rule(state)
    for name in ("W", *learner.beside):
        state.array(name)[:] = mixed[name]
    learner.start(state)


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
    """Fit ``estimator`` by passes over shards; ``learn`` makes a pass over all shards. ``saving``
    saves the mixed weights between passes.
    """
    run = estimator.start_run(
        estimator.learner(), setting.classes, setting.n_features, coef_init, intercept_init
    )
    run.seed, run.weighted = setting.seed, weighted or setting.class_weights is not None
    none: Any = np.zeros((0, n_shards), dtype=np.int64)
    run.mixture = Mixture(none, none, (0,) * n_shards, setting.mixing)
    estimator.run_passes(
        lambda plan: _passes(estimator, run, learn, plan, saving or Saving()), None, None, None
    )


class _Between:
    """The state between two passes, as the row stream of a saved run."""

    of_features = True

    def __init__(self, run: Run, mixed: Arrays) -> None:
        self.run, self.mixed = run, mixed

    def arrays(self) -> Arrays:
        """Return the mixture and the counts of all passes."""
        mixture = self.run.mixture
        counts = {"mistakes": mixture.mistakes, "amounts": mixture.amounts}
        return self.mixed | counts | {"rows": np.array(mixture.rows, np.int64)}

    def resume(self, passes: int, arrays: Arrays) -> None:
        """Restore what :meth:`arrays` returned; raise ValueError if it does not fit."""
        mixture = self.run.mixture
        mixed = {name: arrays[name] for name in self.mixed}
        wrong = [n for n, a in mixed.items() if _kind(a) != _kind(self.mixed[n])]
        mistakes, amounts = arrays["mistakes"], arrays["amounts"]
        expected = (passes, mixture.mistakes.shape[1])
        if wrong or mistakes.shape != expected or amounts.shape != expected:
            raise ValueError("weights or counts of other shards")
        self.mixed = mixed
        rows = tuple(arrays["rows"].tolist())
        self.run.mixture = Mixture(mistakes, amounts, rows, mixture.mixing)


def _kind(array: np.ndarray) -> tuple[Any, ...]:
    return array.dtype, array.shape


def _passes(
    estimator: Any, run: Run, learn: LearnAll, plan: Plan, saving: Saving
) -> Iterator[PassReport]:
    """Yield a report of every pass, with the weights mixed after it."""
    progress = estimator.progress_
    between = _Between(run, arrays_of(run))
    course = Course(run, between, plan, progress, saving)
    saving.resume(course)
    if course.over:
        yield course.last_again()
        return
    try:
        while course.number < plan.max_iter:
            progress.begin(course.number, None)
            started = perf_counter()
            with interrupts_allowed():
                total = learn(between.mixed, course.number)
            progress.learning += perf_counter() - started
            between.mixed = mix(run, between.mixed, total, course.number)
            _take_mixed(run, between.mixed, total)
            report = _report(course.number, total.counts, plan)
            progress.tally[:] = report.mistakes, report.updates, report.errors, report.rows
            check_some_rows(progress)
            run.reports.append(report)
            course.advance()
            if report.stop_reason is None:
                saving.pause(course)
            else:
                saving.ended(course)
            yield report
            if report.stop_reason is not None:
                return
    except (KeyboardInterrupt, GeneratorExit, LinsepError):  # the last if the cluster is lost
        if course.number and run.reports[-1].stop_reason is None:
            progress.begin(course.number, None)  # what was learned since the last mixture is lost
            saving.interrupted(course)
        raise


def _take_mixed(run: Run, mixed: Arrays, total: ShardSums) -> None:
    """Set the state to the mixture, and count."""
    state, W = run.state, mixed["W"]
    if not np.isfinite([W.min(), W.max()]).all():
        raise DataError("A mixed weight overflows float64: scale the features.", code="overflow")
    _put(run, mixed)
    state.rounds += sum(counts.rows for counts in total.counts)
    state.n_updates += sum(counts.updates for counts in total.counts)
    if state.multiclass == "ovo" and state.n_classes > 2:
        state.per_machine("rounds")[:] += total.rounds
    if "average" in mixed:
        rounds = state.per_column(state.machine_rounds())
        state.like_weights("sums")[:] = (W - mixed["average"]) * rounds
    run.mixture = run.mixture.and_pass(total.counts)


def _report(number: int, counts: list[Counts], plan: Plan) -> PassReport:
    rows, mistakes, updates, errors, _, zeros = np.sum(counts, axis=0).tolist()
    reason = None
    if not mistakes:
        reason = StopReason.CLEAN if zeros or updates else StopReason.CONVERGED
    elif number + 1 == plan.max_iter:
        reason = StopReason.MAX_ITER
    return PassReport(number, rows, mistakes, updates, errors, *NO_SCORES, reason)
