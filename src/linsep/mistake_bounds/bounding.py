"""The mistake bounds of a run: the theorems of its learner applied to its rows.

A run and its rows form a *case*, the input of each theorem. The theorems assume real arithmetic:
they do not cover runs whose floats may have underflowed or saturated. Products below 2^-1074 are
rounded to zero, and multiplied weights are clipped. A score error of 2^-1074 per feature is
negligible beside eta R^2, the change of a score by a mistake, and the loss in an update beside eta
times the margin (for hinge bounds eta over ||w||), as long as these are much larger. Sizes are
compared by logarithms, which do not overflow.

A run of p passes is a sequence of p times as many rows: Novikoff's bound is the same, and hinge
losses are multiplied by p. Bounds of several binary classifiers are summed. All bounds are rounded
up: no value is below the theorem's in real arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from linsep.certificate.checking import TIME_LIMIT
from linsep.certificate.numbers import check_labels
from linsep.errors import DataError
from linsep.mistake_bounds.bounds import Bound, Bounds, Unknown
from linsep.mistake_bounds.problems import (
    Comparator,
    Problem,
    best_comparator,
    comparator_of_length,
    problems_of,
    seen_rows,
)
from linsep.mistake_bounds.rounding import ROUNDING, length
from linsep.separability.programs import COARSE, solved
from linsep.separability.time_limit import Task, TooLarge, limited
from linsep.validation.labels import labels_of

#: most entries of the program for the L1 margin: two variables per weight, a constraint per row
MOST_ENTRIES = 20_000_000
#: squares of larger ratios overflow
HUGE = 1e153
#: with more passes only the bound after the last is computed
MOST_PASSES = 100_000
NOVIKOFF = "A. Novikoff, On convergence proofs for perceptrons (1962)"


class Theorem(NamedTuple):
    """A theorem about a case.

    Attributes
    ----------
    name : str
    value : function without arguments
        Returns the bound, or an array of bounds after one pass, two passes, ...; raises Unknown.
    what : str
        The bounded quantity: "mistakes", "updates" or "margin".
    source : str
        The source of the proof.
    compared : function without arguments or None
        Returns the comparator of each problem, if the theorem has one.
    """

    name: str
    value: Callable[[], Any]
    what: str
    source: str
    compared: Callable[[], list[Compared]] | None = None


class RunSummary(NamedTuple):
    """The learner and the counts of a run, as input of its theorems.

    Attributes
    ----------
    learner : :class:`linsep.learners.classifier.LinearClassifier`
        The learner, with the parameters of the run.
    multiclass, fit_intercept, unit : as in the estimator
    passes : int
    mistakes, updates : int or None
        Over all passes; None if not counted.
    widest : float or None
        ||w||/M, if the run computed it.
    literals, majority, gamma : as in :func:`linsep.bounds`
    in_advance : bool
        Whether there is no run yet, so theorems choose the best parameters.
    """

    learner: Any
    multiclass: str = "native"
    fit_intercept: bool = True
    unit: bool = False
    passes: int = 1
    mistakes: int | None = None
    updates: int | None = None
    widest: float | None = None
    literals: int | None = None
    majority: int = 1
    gamma: float | None = None
    in_advance: bool = False


def bounds_of_run(
    run: RunSummary, X: Any, y: Any, classes: np.ndarray, weights: Any = None
) -> Bounds:
    """Return the bounds of a run on its training rows."""
    case = Case(run, X, np.searchsorted(classes, labels_of(y)), len(classes), weights)
    check_labels(case.Z.shape[0], len(case.codes))
    found = run.learner.theorems(case)
    if (widest := run.widest) is not None:
        found.append(Theorem("||w||/M", lambda: widest, "margin", NOVIKOFF))
    why = run.learner.beyond_floats(case) if run.mistakes is not None else None
    known, left_out = [], {}
    for theorem in found:
        try:
            if why is not None and theorem.what != "margin":
                raise Unknown(why)
            known.append(case.bound(theorem))
        except Unknown as unknown:
            left_out[theorem.name] = str(unknown)
    longest = max(np.ldexp(problem.longest, problem.exponent) for problem in case.problems)
    return Bounds(
        tuple(known), left_out, float(longest) / case.stretch, case.margin, run.mistakes,
        None if run.mistakes is None else run.passes,
    )  # fmt: skip


class Case:
    """A run and its rows; everything else is computed on first use."""

    def __init__(
        self, run: RunSummary, X: Any, codes: np.ndarray, n_classes: int, weights: Any
    ) -> None:
        self.run, self.X, self.codes, self.n_classes = run, X, codes, n_classes
        scaled = run.learner.scales_rows
        self.Z = seen_rows(X, run.fit_intercept, run.unit, scaled)
        self.joint = n_classes > 2 and run.multiclass == "native"
        #: the joint rule changes two weight vectors at once, so that its updates are longer
        self.stretch = np.sqrt(2.0) if self.joint else 1.0
        if self.joint and scaled:
            self.Z, self.stretch = self.Z / self.stretch, 1.0
        self.weights = None if weights is None else self._fitting(weights)

    def _fitting(self, weights: Any) -> np.ndarray:
        w, width = np.ravel(np.asarray(weights, dtype=np.float64)), self.Z.shape[1]
        if self.run.fit_intercept and w.size == width - 1:
            w = np.append(w, 0.0)
        if self.n_classes > 2 or w.size != width or not np.isfinite(w).all():
            raise DataError(
                f"weights must be {width} finite numbers (the intercept last, if it is fitted), "
                f"for two classes only: got shape {np.shape(weights)}, {self.n_classes} classes.",
                code="shape" if self.n_classes == 2 else "class-count", option="weights",
            )  # fmt: skip
        return w

    @cached_property
    def problems(self) -> list[Problem]:
        """One problem per binary classifier."""
        found = problems_of(self.Z, self.codes, self.n_classes, self.run.multiclass)
        if self.weights is not None:
            found[0].suppose(self.weights)
        return found

    @cached_property
    def margin(self) -> tuple[float, float] | None:
        """The interval of the widest margin, if a theorem needs it."""
        if not self.run.learner.euclidean:
            return None
        try:
            widest(self.problems)
        except Unknown:
            return None
        ends = [[np.ldexp(end, p.exponent) for end in p.margin] for p in self.problems if p.margin]
        low, high = np.min(ends, axis=0).tolist()
        return low, high

    @cached_property
    def compared(self) -> list[Compared]:
        """The comparators of learners that add examples, the best for this number of passes."""
        return comparisons(self.problems, self.run.passes, self.weights)

    @cached_property
    def moved(self) -> list[Compared]:
        """The comparator of length 1/gamma that has the smallest hinge loss."""
        assert self.run.gamma is not None
        return [moved_comparison(self.only_problem(), self.run.gamma, self.weights)]

    def hinge_theorem(
        self, name: str, formula: Callable[[Compared, Any], Any], source: str,
        compared: Callable[[], list[Compared]] | None = None,
    ) -> Theorem:  # fmt: skip
        """Return a theorem on mistakes that compares a run with other weights; ``formula`` computes
        the bound after some passes.
        """
        comparators = compared or (lambda: self.compared)

        def value() -> Any:
            last = self.run.passes
            passes = np.arange(1.0 if last <= MOST_PASSES else last, last + 1)
            with np.errstate(over="ignore"):
                return np.sum([formula(one, passes) for one in comparators()], axis=0)

        return Theorem(name, value, "mistakes", source, comparators)

    def only_problem(self) -> Problem:
        """Return the problem of a two-class run."""
        if self.n_classes > 2:
            raise Unknown("it is stated for two classes")
        return self.problems[0]

    def bound(self, theorem: Theorem) -> Bound:
        """Return the bound of a theorem; raise Unknown if it does not apply."""
        run = self.run
        counted = {"mistakes": run.mistakes, "updates": run.updates}
        value, by_pass = theorem.value(), None
        if isinstance(value, np.ndarray):
            by_pass = tuple(value.tolist()) if run.passes <= MOST_PASSES else None
            value = float(value[-1])
        if not np.isfinite(value):
            raise Unknown("it overflows float64")
        margin = self.margin[0] if theorem.what == "margin" and self.margin else None
        return Bound(
            theorem.name, value, theorem.what, type(run.learner).__name__, theorem.source,
            counted.get(theorem.what, margin), by_pass, *self._comparator(theorem),
        )  # fmt: skip

    def _comparator(self, theorem: Theorem) -> tuple[np.ndarray | None, float | None]:
        """Return the weights of a hinge bound and their total distance, if it has one of each."""
        if self.n_classes > 2 or theorem.compared is None:
            return None, None
        found, exponent = theorem.compared()[0].weights, self.problems[0].exponent
        distance = total_distance(found)
        return (
            np.ldexp(found.w, -exponent),
            None if distance is None else float(np.ldexp(distance, exponent)),
        )


def widest(problems: Sequence[Problem]) -> tuple[float, float]:
    """Return the interval of the smallest widest margin of the binary classifiers."""
    margins = [problem.margin for problem in problems]
    for problem, margin in zip(problems, margins, strict=True):
        if margin is None:
            raise Unknown(f"the rows are {problem.verdict}")
    low = min(margin[0] for margin in margins if margin)
    if not low:
        raise Unknown("the margin overflows float64")
    return low, min(margin[1] for margin in margins if margin)


def novikoff(problems: Sequence[Problem]) -> float:
    """Return (R / gamma)^2, summed over the binary classifiers."""
    widest(problems)
    ratios = [p.longest / p.margin[0] for p in problems if p.margin]
    return sum(ratio**2 for ratio in ratios) * (1 + ROUNDING) if max(ratios) < HUGE else np.inf


class Compared(NamedTuple):
    """A problem's R^2, and the comparator; ``passes`` are one or several numbers of passes."""

    square: float
    weights: Comparator

    def linear(self, passes: Any) -> Any:
        """Return ||w||^2 R^2 + 2 hinge(w)."""
        loss = passes * self.weights.hinge
        return (self.weights.square * self.square + 2 * loss) * (1 + ROUNDING)

    def sharp(self, passes: Any) -> Any:
        """Return the largest M with M - hinge(w) <= ||w|| R sqrt(M), one step earlier in the proof.

        From there ``sqrt(ab) <= (a + b) / 2`` gives :meth:`linear`.
        """
        a = np.sqrt(self.weights.square * self.square)
        loss = passes * self.weights.hinge
        return (a + np.sqrt(a**2 + 4 * loss)) ** 2 / 4 * (1 + ROUNDING)


def comparisons(
    problems: Sequence[Problem], passes: int, given: np.ndarray | None = None
) -> list[Compared]:
    """Return comparators, one per binary classifier, the best for this number of passes."""
    found = []
    for problem in problems:
        square = problem.longest**2 * (1 + ROUNDING) or 1.0
        best = best_comparator(problem, 2 * passes / square, brought(problem, given))
        found.append(Compared(square, best))
    return found


def moved_comparison(problem: Problem, gamma: float, given: np.ndarray | None = None) -> Compared:
    """Return the comparator of length 1/gamma: its hinge loss is TD_gamma/gamma, so the linear
    bound is R^2/gamma^2 + 2 TD_gamma/gamma.
    """
    long = float(np.ldexp(1.0 / gamma, problem.exponent))
    if not 0 < long * problem.longest < HUGE:
        raise Unknown("a margin of this size overflows float64")
    found = comparator_of_length(problem, long, brought(problem, given))
    return Compared(problem.longest**2 * (1 + ROUNDING) or 1.0, found)


def total_distance(weights: Comparator) -> float | None:
    """Return hinge(w)/||w||, the total distance that rows must be moved for the margin 1/||w||."""
    long = length(weights.w)
    return weights.hinge / long * (1 + ROUNDING) if long else None


def brought(problem: Problem, given: np.ndarray | None) -> np.ndarray | None:
    """Return weights with the same values on the rescaled rows of the problem, or None."""
    if given is None or not problem.exponent:
        return given
    with np.errstate(over="ignore"):
        brought = np.ldexp(given, problem.exponent)
    return brought if np.isfinite(brought).all() else given


def l1_margin(problem: Problem) -> float:
    """Return the widest margin of weights of L1 norm 1, by a linear program."""
    A = problem.A
    n, d = A.shape
    if n * d > MOST_ENTRIES:
        raise Unknown("the linear program would have too many entries")
    dense = A.toarray() if hasattr(A, "toarray") else A
    largest = float(abs(dense).max()) or 1.0
    rows = np.hstack([-dense / largest, dense / largest, np.ones((n, 1))])
    cost = np.append(np.zeros(2 * d), -1.0)
    length = np.append(np.ones(2 * d), 0.0)[None, :]
    between = np.append(np.full(n, -np.inf), 1.0), np.append(np.zeros(n), 1.0)
    bounds = np.append(np.zeros(2 * d), -np.inf), np.inf
    try:
        with limited(Task(TIME_LIMIT)):
            found = solved(cost, np.vstack([rows, length]), between, bounds, COARSE)
    except TooLarge:
        raise Unknown(
            f"the linear program for the L1 margin took longer than {TIME_LIMIT:g} s"
        ) from None
    if found is None:
        raise Unknown("the linear program for the L1 margin found no solution")
    w = found.x[:d] - found.x[d : 2 * d]
    total = float(np.abs(w).sum()) * (1 + problem.rounding)
    gamma = float(problem.values(w).min()) / total * (1 - ROUNDING) if total else 0.0
    if gamma <= 0:
        raise Unknown("no separating weights are known")
    return gamma
