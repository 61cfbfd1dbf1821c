"""Fit an online classifier by iterative parameter mixing, wherever its shards are learnt."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from time import perf_counter
from typing import Any, NamedTuple, get_args

import numpy as np
from sklearn.base import clone

from linsep.checkpoints.saving import Saving
from linsep.errors import DataError, LinsepError, ParameterError
from linsep.estimators._common import checking as labels
from linsep.estimators._common.reference import codes_given
from linsep.estimators._common.stop_reasons import StopReason
from linsep.interrupts import window
from linsep.lanes import Tree
from linsep.learners.course import Course
from linsep.learners.keeping import KeepAverage, keeping_of
from linsep.learners.mixing import (
    Counts,
    Mixed,
    MixingName,
    Mixture,
    Part,
    added,
    learn_part,
    mix,
    no_passes,
)
from linsep.learners.passes import NO_SCORES, PassReport, Plan, Run, check_some_rows, over
from linsep.learners.state import State, Unlearnable
from linsep.parameters import check_parameters
from linsep.rows.arrays import ArrayStream, AsGiven, summed
from linsep.sparse_rows import as_csr

#: parameters that the pass of a shard cannot keep, and the values that it can
MIXABLE = {
    "keep": ("last", "average"), "schedule": ("constant",), "update": ("single",),
    "early_stopping": (False,),
}  # fmt: skip
LEARNERS = ("Perceptron", "PassiveAggressive")


class Coded(NamedTuple):
    """The rows of a shard with their class codes, their weights in learning and those in scores,
    without class weights (both empty if all are 1).
    """

    X: Any
    codes: np.ndarray
    importance: np.ndarray
    weights: np.ndarray


class Setting(NamedTuple):
    """All that the pass of a shard depends on, besides its rows and the mixed weights.

    Attributes
    ----------
    estimator : not fitted
    classes : array of the sorted labels of all shards
    class_weights : array of one weight a class, or None
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

    def coded(self, X: Any, y: np.ndarray, weights: np.ndarray | None) -> Coded:
        """Return rows as they are learnt; ``y`` are labels, all of them in ``classes``."""
        model, weights = self.estimator, labels.NO_IMPORTANCE if weights is None else weights
        importance = weights
        codes = labels.encode_with(y, self.classes)
        assert codes is not None
        if self.class_weights is not None:
            per_row = self.class_weights[codes]
            importance = per_row * importance if importance.size else per_row
        X = summed(X) if model.normalize or model._learner().needs_lengths else X
        return Coded(X, codes_given(model, self.classes, codes), importance, weights)

    def learn(self, shard: int, rows: Coded, start: Mixed, number: int) -> Part:
        """Return what shard ``shard`` learns in pass ``number``."""
        model = self.estimator
        learner, n_classes = model._learner(), self.classes.size
        state = State(
            model.multiclass, n_classes, self.n_features, bool(model.fit_intercept), learner.fill
        )
        learner.begin(state)
        learner.start(state)
        run = Run(state, learner, keeping_of(model.keep, model.vote_mb, model.tie), [])
        some = rows.codes.size and (not rows.importance.size or rows.importance.any())
        stream = None
        if some:
            stream = ArrayStream(
                rows.X, rows.codes, rows.importance, self.seed + shard, bool(model.shuffle),
                unit=bool(model.normalize),
            )  # fmt: skip
            if n_classes > 2 and model.max_iter > 1 and not learner.needs_lengths:
                stream.pack()
        try:
            return learn_part(run, start, stream, Plan(1, None, model.tie), number, self.mixing)
        except Unlearnable as problem:
            row = "" if problem.row is None else f"row {problem.row + 1:,} of "
            raise DataError(f"{row}shard {shard + 1:,}: {problem}.") from None


#: returns the sum of what all shards learn in a pass, given the mixed weights and its number
LearnAll = Callable[[Mixed, int], Part]


def refuse_unmixable(estimator: Any, mixing: str) -> None:
    """Raise ParameterError for estimators and parameters whose weights cannot be mixed."""
    if mixing not in get_args(MixingName):
        raise ParameterError(f"mixing is {mixing!r}: choose 'uniform' or 'mistakes'.")
    name = type(estimator).__name__
    if name not in LEARNERS:
        raise ParameterError(
            f"{name} cannot be learnt in shards: mixing is for {' and '.join(LEARNERS)}, whose "
            "updates add examples to the weights."
        )
    check_parameters(estimator)
    for parameter, allowed in MIXABLE.items():
        value = getattr(estimator, parameter, allowed[0])
        if value not in allowed:
            choices = " or ".join(map(repr, allowed))
            raise ParameterError(
                f"{name} with {parameter}={value!r} cannot be learnt in shards: choose {choices}."
            )
    if callable(getattr(estimator, "learning_rate", None)):
        raise ParameterError(
            f"{name} with a function as learning_rate cannot be learnt in shards: give a number."
        )


def setting_of(
    estimator: Any, classes: np.ndarray, totals: np.ndarray, n_features: int, mixing: MixingName,
    saving: Saving | None = None,
) -> Setting:  # fmt: skip
    """Return the setting of a fit; ``totals`` are the summed row weights of the classes."""
    labels.check_two_classes(classes, "the data")
    weights = None
    if estimator.class_weight is not None:
        weights = labels.weigh_classes(estimator.class_weight, classes, totals)
        labels.warn_of_weightless(classes, weights)
    alone = clone(estimator).set_params(warm_start=False, verbose=0)
    return Setting(alone, classes, weights, n_features, estimator._seed(saving), mixing)


def fit_mixed(
    estimator: Any, setting: Setting, learn: LearnAll, n_shards: int, weighted: bool,
    coef_init: Any = None, intercept_init: Any = None, saving: Saving | None = None,
) -> None:  # fmt: skip
    """Fit ``estimator`` by passes over shards; ``learn`` makes a pass over all of them. ``saving``
    saves the mixed weights between two passes.
    """
    estimator.__dict__.pop("_schedule", None)
    run = estimator._start(
        estimator._learner(), setting.classes, setting.n_features, coef_init, intercept_init
    )
    # The theorems of one machine do not hold; :func:`bounds_of_mixture` has those of mixing.
    estimator._mixes, estimator._fresh = estimator._fresh, False
    estimator._weighted = weighted or setting.class_weights is not None
    estimator.mixture_ = no_passes(n_shards, setting.mixing)
    estimator._run(
        lambda plan: _passes(estimator, run, learn, plan, saving or Saving()), None, None, None
    )


class _Between(AsGiven):
    """What is between two passes, as the row stream of a run that is saved."""

    of_features = True

    def __init__(self, estimator: Any, mixed: Mixed) -> None:
        self.estimator, self.mixed = estimator, mixed

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the mixed weights and the counts of all passes."""
        mixture = self.estimator.mixture_
        found = {"W": self.mixed.W, "mistakes": mixture.mistakes, "amounts": mixture.amounts}
        if self.mixed.average is not None:
            found["average"] = self.mixed.average
        return found | {"rows": np.array(mixture.rows, np.int64)}

    def resume(self, passes: int, arrays: dict[str, np.ndarray]) -> None:
        """Restore what :meth:`arrays` returned; raise ValueError if it does not fit."""
        mixture, shape = self.estimator.mixture_, self.mixed.W.shape
        average = None if self.mixed.average is None else arrays["average"]
        wrong = [a.shape for a in (arrays["W"], average) if a is not None and a.shape != shape]
        mistakes, amounts = arrays["mistakes"], arrays["amounts"]
        expected = (passes, mixture.mistakes.shape[1])
        if wrong or mistakes.shape != expected or amounts.shape != expected:
            raise ValueError("weights or counts of other shards")
        self.mixed = Mixed(arrays["W"], average)
        rows = tuple(arrays["rows"].tolist())
        self.estimator.mixture_ = Mixture(mistakes, amounts, rows, mixture.mixing)


def _passes(
    estimator: Any, run: Run, learn: LearnAll, plan: Plan, saving: Saving
) -> Iterator[PassReport]:
    """Yield a report of every pass; weights are those mixed after it."""
    state, progress = run.state, estimator.progress_
    average = np.zeros_like(state.W) if isinstance(run.keeping, KeepAverage) else None
    between = _Between(estimator, Mixed(state.W.copy(), average))
    course = Course(state.n_updates)
    where = run, between, course, progress
    saving.resume(*where)
    if over(run.reports):
        progress.finish(run.reports)
        yield run.reports[-1]
        return
    try:
        while course.number < plan.max_iter:
            progress.begin(course.number, None)
            started = perf_counter()
            with window():
                total = learn(between.mixed, course.number)
            progress.learning += perf_counter() - started
            between.mixed = mix(between.mixed, total, course.number)
            _take(estimator, run, between.mixed, total)
            report = _report(course.number, total.counts, plan)
            progress.tally[:] = report.mistakes, report.updates, report.errors
            progress.rows = report.rows
            check_some_rows(progress)
            run.reports.append(report)
            course.advance(state.n_updates)
            if report.stop_reason is None:
                saving.pause(*where)
            else:
                saving.ended(*where)
            yield report
            if report.stop_reason is not None:
                return
    except (KeyboardInterrupt, GeneratorExit, LinsepError):  # the last if the cluster is lost
        if course.number and run.reports[-1].stop_reason is None:
            progress.begin(course.number, None)  # what was learnt since the last mixture is lost
            saving.interrupted(*where)
        raise


def _take(estimator: Any, run: Run, mixed: Mixed, total: Part) -> None:
    """Set the state to the mixed weights, and count."""
    state = run.state
    if not np.isfinite([mixed.W.min(), mixed.W.max()]).all():
        raise DataError("A mixed weight is beyond floating point: scale the features.")
    state.W[:] = mixed.W
    state.rounds += sum(counts.rows for counts in total.counts)
    state.n_updates += sum(counts.updates for counts in total.counts)
    if state.multiclass == "ovo" and state.n_classes > 2:
        state.per_machine("rounds")[:] += total.rounds
    if mixed.average is not None:
        rounds = state.per_column(state.machine_rounds())
        state.like_weights("sums")[:] = (mixed.W - mixed.average) * rounds
    estimator.mixture_ = estimator.mixture_.and_pass(total.counts)


def _report(number: int, counts: list[Counts], plan: Plan) -> PassReport:
    rows, mistakes, updates, errors, _, zeros = np.sum(counts, axis=0).tolist()
    reason = None
    if not mistakes:
        reason = StopReason.CLEAN if zeros else StopReason.CONVERGED
    elif number + 1 == plan.max_iter:
        reason = StopReason.MAX_ITER
    return PassReport(number, rows, mistakes, updates, errors, *NO_SCORES, reason)


def learn_here(setting: Setting, shards: list[Coded]) -> LearnAll:
    """Return a function that learns all shards in this process."""

    def learn(start: Mixed, number: int) -> Part:
        tree = Tree(lambda a, b: added([a, b]))  # which holds few parts at a time
        for k, rows in enumerate(shards):
            tree.push(setting.learn(k, rows, start, number))
        return tree.total()

    return learn


def fit_in_shards(
    estimator: Any, X: Any, y: Any, rows: list[int], mixing: MixingName = "uniform",
    saving: Saving | None = None,
) -> Any:  # fmt: skip
    """Fit to arrays cut into shards, in this process: what a cluster computes, to the bit.

    Parameters
    ----------
    X, y : arrays, or X a sparse matrix
    rows : number of rows in each shard, in order
    """
    refuse_unmixable(estimator, mixing)
    learner = estimator._learner()
    X, y = estimator._checked(X, y, learner, reset=True, checked=True)
    classes, codes = labels.encode(y)
    totals = np.bincount(codes, minlength=classes.size).astype(np.float64)
    setting = setting_of(estimator, classes, totals, X.shape[1], mixing, saving)
    edges = np.cumsum([0, *rows])
    shards = [setting.coded(as_csr(X[a:b]), y[a:b], None) for a, b in pairwise(edges)]
    fit_mixed(estimator, setting, learn_here(setting, shards), len(rows), False, saving=saving)
    return estimator


def bounds_of_mixture(model: Any, given: tuple[Any, Any], X: Any, codes: np.ndarray) -> Any:
    """Return the bound on the mistakes of a fit in shards, together with its mistakes.

    Parameters
    ----------
    model : fitted in shards
    given : X and y as passed; the fit is repeated on them, shard after shard
    X, codes : the same, checked
    """
    from linsep.learners.proofs import refuse_others, why_not_again
    from linsep.mistake_bounds.bounding import bounds_of_run
    from linsep.mistake_bounds.bounds import Bounds
    from linsep.mistake_bounds.cases import RunSummary

    learner, numbers = model._theorems()
    why = model._obstacle() or why_not_again(model)
    if learner != "perceptron":
        why = "the theorem of mixing is about the perceptron"
    if why is not None:
        return Bounds((), {"mistake bounds": why}, mistakes=int(model.mistakes_.sum()))
    refuse_others(model, *given)
    mixture = model.mixture_
    numbers |= {
        "shards": mixture.learning_shards, "weighted mistakes": mixture.weighted_mistakes
    }  # fmt: skip
    run = RunSummary(
        "mixing", numbers, model._state.multiclass, bool(model._state.bias), bool(model.normalize),
        model.n_iter_, int(model.mistakes_.sum()), widest=model._widest(learner)[0],
    )  # fmt: skip
    return bounds_of_run(run, X, codes, np.arange(len(model.classes_)))
