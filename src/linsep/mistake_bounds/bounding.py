"""Mistake bounds for data before learning, or for a finished run.

A run and its rows are a *case*, from which each theorem takes what it needs. The theorems are about
real arithmetic: they do not cover runs whose floats may have underflowed or saturated. Products
below 2^-1074 are rounded to zero, and Winnow clips its weights at 1e150. A score error of 2^-1074
per feature is negligible beside eta R^2, the change of a score by a mistake, and the loss in an
update beside eta times the margin (for hinge bounds eta over ||w||), as long as these are much
larger. Sizes are compared by logarithms, which do not overflow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_consistent_length

from linsep.errors import DataError
from linsep.mistake_bounds import theorems
from linsep.mistake_bounds.bounds import Bound, Bounds, Unknown
from linsep.mistake_bounds.margins import lengths
from linsep.mistake_bounds.problems import Problem, problems_of, seen_rows
from linsep.mistake_bounds.theorems import MOST_WEIGHT, Compared
from linsep.validation.labels import check_beside, labels_of

#: the largest float
LARGEST = float(np.finfo(np.float64).max)
#: bounds of a comparator
HINGES = ("hinge", "hinge, sharp", "squared hinge", "total distance")
#: with more passes only the bound after the last is computed
MOST_PASSES = 100_000
#: factor by which steps must exceed the smallest number, as a power of two
FAR = -1000.0
TOO_SMALL = (
    "the theorems are about real arithmetic, and with rows so short, or steps so small, products "
    "may have been rounded to zero"
)
SATURATED = f"weights may have reached {MOST_WEIGHT:.0e}, where they are clipped"
NOVIKOFF = "A. Novikoff, On convergence proofs for perceptrons (1962)"
COLLINS = "M. Collins, Discriminative training methods for hidden Markov models (2002), theorem 1"
HINGE = (
    "A. Blum, Machine Learning Theory, lecture 4 (2014), times R^2; S. Shalev-Shwartz, Online "
    "learning and online convex optimization (2012), section 3.3"
)
SCHAPIRE = "Y. Freund and R. Schapire, Machine Learning 37 (1999), theorem 2"
MCDONALD = (
    "R. McDonald, K. Hall and G. Mann, Distributed training strategies for the structured "
    "perceptron (2010), theorem 3"
)
BLUM = "A. Blum, Machine Learning Theory, lecture 4 (2014)"
CRAMMER = "K. Crammer et al., Online passive-aggressive algorithms, JMLR 7 (2006), theorems 2, 4, 5"
LITTLESTONE = (
    "the argument of N. Littlestone, Machine Learning 2 (1988), for weights that are divided "
    "instead of dropped"
)
GROVE = (
    "the argument of A. Grove, N. Littlestone and D. Schuurmans, Machine Learning 43 (2001), for "
    "this update"
)


def bounds(
    X: Any,
    y: Any,
    *,
    fit_intercept: bool = True,
    multiclass: str = "native",
    weights: Any = None,
    mistakes: int | None = None,
    passes: int = 1,
    literals: int | None = None,
    majority: int = 1,
    gamma: float | None = None,
) -> Bounds:
    """Bound the number of mistakes of online learners on these rows, in any order.

    With an intercept the theory is about z = [x; 1]: R and the margin are those of z. For a run of
    a fitted estimator use ``estimator.bounds(X, y)``.

    Parameters
    ----------
    X : array or sparse matrix of shape (rows, features)
    y : array of shape (rows,)
        Labels, two or more classes.
    fit_intercept : bool, default=True
    multiclass : {"native", "ovr", "ovo"}, default="native"
        Bounds of several machines are summed; the native rule has 2 R^2 / gamma^2 (Collins).
    weights : array of shape (features,), or with the intercept (features + 1,); default=None
        A separator or comparator, two classes only; None searches for the best. Any weights give
        valid bounds.
    mistakes : int, default=None
        Counted mistakes of a perceptron, to compare with its bounds.
    passes : int, default=1
        Number of passes: the hinge loss counts once per pass; Novikoff's bound stays the same.
    literals : int, default=None
        Winnow: number of features of the disjunction, which is checked. None searches for a
        disjunction greedily.
    majority : int, default=1
        Winnow: how many of the ``literals`` are on in positive rows at least, and not in others,
        which is checked. Beyond 1 the bound is for ``promotion=1 + 1 / (2 * majority)``.
    gamma : float > 0, default=None
        Two classes: also bound the mistakes by the total distance TD that the rows must be moved to
        have this margin, R^2/gamma^2 + 2 TD/gamma; a local search finds their direction.

    Returns
    -------
    Bounds
        Bounds in real arithmetic, rounded up. (``estimator.bounds`` states none for a run whose
        floats may have underflowed, or whose Winnow weights may have reached 1e150.) For the
        perceptron (from zero weights, at a constant rate): ``Novikoff`` (R/gamma)^2 and, separable
        or not, ``hinge`` ||w||^2 R^2 + 2 hinge(w), ``hinge, sharp`` (the same proof without its
        last estimate) and ``squared hinge`` ((R + D)/gamma)^2, all at the w that minimises
        ``hinge``. For MarginPerceptron ``8/gamma^2`` (updates, rows of length 1), for Winnow
        ``disjunction`` or ``majority``, for BalancedWinnow ``L1 margin``. With ``gamma`` also
        ``total distance``. The hinge bounds of two classes have the ``comparator`` w and its
        ``distance``. Bounds that cannot be stated are in ``left_out``, with the reason.

    Raises
    ------
    ValueError
        For NaN, infinity, a single class, X and y of different lengths, and weights of the wrong
        shape.

    References
    ----------
    Each bound names its ``source``.

    Examples
    --------
    >>> print(bounds([[4, 0], [1, 1], [0, 1], [-2, -2]], [1, 0, 0, 1], fit_intercept=False,
    ...              mistakes=3)["Novikoff"])
    kept: 3 of at most 26 mistakes (Novikoff)
    """
    if multiclass not in ("native", "ovr", "ovo"):
        raise ValueError(f"multiclass is {multiclass!r}: choose native, ovr or ovo.")
    if passes < 1:
        raise ValueError(f"passes is {passes!r}: it must be at least 1.")
    check_literals(literals, majority)
    if gamma is not None and not (isinstance(gamma, Real) and 0 < gamma <= LARGEST):
        raise ValueError(f"gamma is {gamma!r}: it must be a finite number above 0.")
    target = {"literals": literals, "majority": majority}
    promotion = 2.0 if majority == 1 else 1 + 1 / (2 * majority)
    common = (multiclass, fit_intercept, False, passes)
    kinds: list[RunSummary] = [
        RunSummary("perceptron", {"gamma": gamma}, *common, mistakes=mistakes),
        RunSummary("margin", {"gamma": None, "epsilon": 0.5}, *common),
        RunSummary("winnow", target | {"promotion": promotion, "threshold": None}, *common),
        RunSummary("balanced-winnow", {"promotion": None, "threshold": 0.0}, *common),
    ]
    check_beside(X, y=y)
    y = labels_of(y)
    classes = np.unique(y)
    if len(classes) < 2:
        raise DataError(f"All rows have the label {classes[0]!s}: bounds need two classes.")
    found = [bounds_of_run(run, X, y, classes, weights) for run in kinds]
    return Bounds(
        tuple(bound for one in found for bound in one.bounds),
        {name: why for one in found for name, why in one.left_out.items()},
        found[0].longest,
        found[0].margin,
    )


def check_literals(literals: Any, majority: Any = 1) -> None:
    """Raise ValueError unless ``literals`` is None or a positive integer, and ``majority`` is a
    positive integer that is no larger.
    """
    for name, value in (("literals", 1 if literals is None else literals), ("majority", majority)):
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        if not (whole and value >= 1):
            raise ValueError(f"{name} is {value!r}: it must be a whole number of at least 1.")
    if majority > (literals or 1):
        raise ValueError(
            f"majority is {majority}, but literals {literals}: give as many literals, or more."
        )


class RunSummary(NamedTuple):
    """The learner and the counts of a run, as bounds need them.

    Attributes
    ----------
    learner : "perceptron", "mixing" (of perceptrons), "margin", "pa", "winnow" or "balanced-winnow"
    numbers : dict
        Its parameters, by name.
        multiclass, fit_intercept, unit : as in the estimator
    passes : int
    mistakes, updates, errors : int or None
        Over all passes; None if not counted.
    widest : float or None
        ||w||/M, if the run computed it.
    """

    learner: str
    numbers: dict[str, Any]
    multiclass: str = "native"
    fit_intercept: bool = True
    unit: bool = False
    passes: int = 1
    mistakes: int | None = None
    updates: int | None = None
    errors: int | None = None
    widest: float | None = None


def bounds_of_run(
    run: RunSummary, X: Any, y: Any, classes: np.ndarray, weights: Any = None
) -> Bounds:
    """Return the bounds of a run on the rows that it learnt from."""
    case = Case(run, X, np.searchsorted(classes, labels_of(y)), len(classes), weights)
    check_consistent_length(case.Z, case.codes)
    known, left_out = [], {}
    why = case.beyond_floats() if run.mistakes is not None else None
    for name, theorem, what, source in THEOREMS[run.learner](case):
        counted = {"mistakes": run.mistakes, "updates": run.updates, "errors": run.errors}
        counted["weighted mistakes"] = run.numbers.get("weighted mistakes")
        try:
            if why is not None and what != "margin":
                raise Unknown(why)
            value, by_pass = theorem(), None
            if isinstance(value, np.ndarray):
                by_pass = tuple(value.tolist()) if run.passes <= MOST_PASSES else None
                value = float(value[-1])
            if not np.isfinite(value):
                raise Unknown("it is beyond floating point")
            margin = case.margin[0] if what == "margin" and case.margin else None
            known.append(
                Bound(
                    name,
                    value,
                    what,
                    NAMES[run.learner],
                    source,
                    counted.get(what, margin),
                    by_pass,
                    *case.comparator(name),
                )
            )
        except Unknown as unknown:
            left_out[name] = str(unknown)
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
        self.Z = seen_rows(X, run.fit_intercept, run.unit, run.learner == "margin")
        self.joint = n_classes > 2 and run.multiclass == "native"
        #: the joint rule changes two weight vectors at once, so that its updates are longer
        self.stretch = np.sqrt(2.0) if self.joint else 1.0
        if self.joint and run.learner == "margin":  # which scales rows to length 1
            self.Z, self.stretch = self.Z / self.stretch, 1.0
        self.weights = None if weights is None else self._fitting(weights)

    def _fitting(self, weights: Any) -> np.ndarray:
        w, width = np.ravel(np.asarray(weights, dtype=np.float64)), self.Z.shape[1]
        if self.run.fit_intercept and w.size == width - 1:
            w = np.append(w, 0.0)
        if self.n_classes > 2 or w.size != width or not np.isfinite(w).all():
            raise ValueError(
                f"weights must be {width} finite numbers (the intercept last, if one is learnt) "
                f"and are for two classes: got shape {np.shape(weights)}, {self.n_classes} classes."
            )
        return w

    @cached_property
    def problems(self) -> list[Problem]:
        """One problem per machine."""
        found = problems_of(self.Z, self.codes, self.n_classes, self.run.multiclass)
        if self.weights is not None:
            found[0].suppose(self.weights)
        return found

    @cached_property
    def margin(self) -> tuple[float, float] | None:
        """The interval of the widest margin, if a theorem needs it."""
        if self.run.learner in ("winnow", "balanced-winnow"):
            return None
        try:
            theorems.widest(self.problems)
        except Unknown:
            return None
        ends = [[np.ldexp(end, p.exponent) for end in p.margin] for p in self.problems if p.margin]
        low, high = np.min(ends, axis=0).tolist()
        return low, high

    def beyond_floats(self) -> str | None:
        """Why underflow or saturation may have affected the run, as a phrase, or None."""
        learner, numbers = self.run.learner, self.run.numbers
        if learner in ("perceptron", "mixing"):
            return _perceptron_underflow(self.problems, self.compared, numbers.get("rate", 1.0))
        if learner == "pa":
            return _passive_aggressive_underflow(self.problems, numbers["C"])
        if learner == "balanced-winnow" and self.n_classes == 2:
            mistakes = self.run.mistakes or 0
            return _balanced_winnow_saturation(self.problems[0], numbers["promotion"], mistakes)
        return None  # rows of length 1, or features of 0 and 1

    @cached_property
    def compared(self) -> list[Compared]:
        """The perceptron's comparators."""
        return theorems.compared(self.problems, self.run.passes, self.weights)

    @cached_property
    def moved(self) -> Compared:
        """The comparator of length 1/gamma that has the smallest hinge loss."""
        return theorems.moved(self.only_problem(), self.run.numbers["gamma"], self.weights)

    def comparator(self, name: str) -> tuple[np.ndarray | None, float | None]:
        """Return the weights of a hinge bound and their total distance, if it has one of each."""
        if self.n_classes > 2 or name not in HINGES:
            return None, None
        found = self.moved if name == "total distance" else self.compared[0]
        w, exponent = found.weights.w, self.problems[0].exponent
        distance = theorems.distance(found.weights)
        return (
            np.ldexp(w, -exponent),
            None if distance is None else float(np.ldexp(distance, exponent)),
        )

    def by_pass(
        self, theorem: Callable[[Compared, Any], Any], compared: list[Compared] | None = None
    ) -> np.ndarray:
        """The perceptron's bounds after one pass, two, and so on, by the same comparators."""
        last = self.run.passes
        passes = np.arange(1.0 if last <= MOST_PASSES else last, last + 1)
        with np.errstate(over="ignore"):
            return np.sum([theorem(one, passes) for one in compared or self.compared], axis=0)

    def only_problem(self) -> Problem:
        """Return the problem of a two-class run."""
        if self.n_classes > 2:
            raise Unknown("it is stated for two classes")
        return self.problems[0]


Theorem = tuple[str, Callable[[], Any], str, str]


def _of_perceptron(case: Case) -> list[Theorem]:
    novikoff = COLLINS if case.joint else NOVIKOFF
    return [
        ("Novikoff", lambda: theorems.novikoff(case.problems), "mistakes", novikoff),
        ("hinge", lambda: case.by_pass(Compared.linear), "mistakes", HINGE),
        ("hinge, sharp", lambda: case.by_pass(Compared.sharp), "mistakes", HINGE),
        ("squared hinge", lambda: case.by_pass(Compared.distances), "mistakes", SCHAPIRE),
        *_moved(case),
        *_widest(case),
    ]


def _moved(case: Case) -> list[Theorem]:
    def most() -> np.ndarray:
        return case.by_pass(Compared.linear, [case.moved])

    given = case.run.numbers.get("gamma") is not None
    return [("total distance", most, "mistakes", HINGE)] if given else []


def _widest(case: Case) -> list[Theorem]:
    widest = case.run.widest
    return [] if widest is None else [("||w||/M", lambda: widest, "margin", NOVIKOFF)]


def _of_mixing(case: Case) -> list[Theorem]:
    """Return Novikoff's bound for mistakes that count the share of their shard in the mixture, and
    times the number of shards for all: shares are equal, or proportional to the mistakes.
    """
    shards = case.run.numbers["shards"]

    def most() -> float:
        return theorems.novikoff(case.problems)

    return [
        ("parameter mixing", most, "weighted mistakes", MCDONALD),
        ("parameter mixing, all shards", lambda: shards * most(), "mistakes", MCDONALD),
        *_widest(case),
    ]


def _of_margin(case: Case) -> list[Theorem]:
    epsilon = case.run.numbers["epsilon"]

    def most() -> float:
        low, _ = theorems.widest(case.problems)
        gamma = case.run.numbers["gamma"] or min(low, 1.0)
        return theorems.margin_learner(case.problems, gamma, epsilon)

    name = "8/gamma^2" if epsilon == 0.5 else "2/(epsilon gamma)^2"
    return [(name, most, "updates", BLUM), *_widest(case)]


def _of_pa(case: Case) -> list[Theorem]:
    C, soft = case.run.numbers["C"], case.run.numbers["soft"]

    def most() -> float:
        if len(case.problems) > 1:
            raise Unknown("errors of single machines are not counted")
        return theorems.passive_aggressive(case.problems, case.run.passes, C, soft, case.weights)

    return [("passive-aggressive", most, "errors", CRAMMER)]


def _of_winnow(case: Case) -> list[Theorem]:
    numbers = case.run.numbers

    def most() -> float:
        case.only_problem()
        d = case.X.shape[1] if hasattr(case.X, "shape") else np.shape(case.X)[1]
        theta = d / 2 if numbers["threshold"] is None else numbers["threshold"]
        r, k = numbers["literals"], numbers["majority"]
        Z = case.Z[:, :d]
        X = Z.toarray() if hasattr(Z, "toarray") else Z
        if k > 1:
            theorems.majority(X, case.codes == 1, r, k)
            return theorems.winnow(d, r, numbers["promotion"], theta, k)
        chosen = theorems.disjunction(X, case.codes == 1, r)
        return theorems.winnow(d, len(chosen) if r is None else r, numbers["promotion"], theta)

    name = "disjunction" if numbers["majority"] == 1 else "majority"
    return [(name, most, "mistakes", LITTLESTONE)]


def _of_balanced(case: Case) -> list[Theorem]:
    def most() -> float:
        problem = case.only_problem()
        if case.run.numbers["threshold"]:
            raise Unknown("it is stated for threshold 0")
        return theorems.balanced_winnow(problem, case.run.numbers["promotion"])[0]

    return [("L1 margin", most, "mistakes", GROVE)]


THEOREMS: dict[str, Callable[[Case], list[Theorem]]] = {
    "perceptron": _of_perceptron,
    "mixing": _of_mixing,
    "margin": _of_margin,
    "pa": _of_pa,
    "winnow": _of_winnow,
    "balanced-winnow": _of_balanced,
}
NAMES = {
    "perceptron": "Perceptron",
    "mixing": "Perceptron",
    "margin": "MarginPerceptron",
    "pa": "PassiveAggressive",
    "winnow": "Winnow",
    "balanced-winnow": "BalancedWinnow",
}


def _perceptron_underflow(
    problems: Sequence[Problem], compared: Sequence[Compared], rate: float
) -> str | None:
    """Return why underflow may have affected a perceptron at this rate, as a phrase, or None."""
    for problem, one in zip(problems, compared, strict=True):
        eta, R = math.log2(rate), _log(problem.longest, problem)
        steps = [eta + 2 * R]
        if problem.margin is not None:
            steps.append(eta + _log(problem.margin[0], problem))
        if one.weights.square:
            steps.append(eta + problem.exponent - math.log2(one.weights.square) / 2)
        if _too_small(steps, problem):
            return TOO_SMALL
    return None


def _passive_aggressive_underflow(problems: Sequence[Problem], C: float) -> str | None:
    """Return the same for steps up to C, and as long as a row is short."""
    for problem in problems:
        found = lengths(problem.A)
        shortest = 2 * _log(float(found[found > 0].min(initial=1.0)), problem)
        longest = math.log2(C) + 2 * _log(problem.longest, problem)
        if _too_small([shortest, longest], problem):
            return TOO_SMALL
    return None


def _balanced_winnow_saturation(problem: Problem, promotion: float, mistakes: int) -> str | None:
    """Return why weights may have saturated: each mistake changes a log weight by eta X at most."""
    eta, X = math.log(promotion), float(abs(problem.A).max())
    step = math.log2(eta) + _log(X, problem)
    if mistakes and step + math.log2(mistakes) > math.log2(math.log(MOST_WEIGHT)):
        return SATURATED
    return TOO_SMALL if _too_small([step + _log(X, problem)], problem) else None


def _log(size: float, problem: Problem) -> float:
    """Return the base-2 logarithm of a size in the units of the rows."""
    return math.log2(size) + problem.exponent if size else 0.0


def _too_small(steps: Any, problem: Problem) -> bool:
    return min(steps) < FAR + math.log2(problem.A.shape[1])
