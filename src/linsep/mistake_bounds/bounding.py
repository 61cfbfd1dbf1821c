"""Mistake bounds for data before learning, or for a finished run."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length

from linsep.errors import DataError
from linsep.label_faults import check_beside, labels_of
from linsep.mistake_bounds import theorems
from linsep.mistake_bounds.bounds import Bound, Bounds, Unknown
from linsep.mistake_bounds.cases import MOST_PASSES, Case, RunSummary
from linsep.mistake_bounds.theorems import Compared

#: the largest float
LARGEST = float(np.finfo(np.float64).max)

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
