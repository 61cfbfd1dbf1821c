"""A run and its rows, from which the theorems take what they need."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from linsep.mistake_bounds import exclusions, theorems
from linsep.mistake_bounds.bounds import Unknown
from linsep.mistake_bounds.problems import Problem, problems_of, seen_rows
from linsep.mistake_bounds.theorems import Compared

#: bounds of a comparator
HINGES = ("hinge", "hinge, sharp", "squared hinge", "total distance")
#: with more passes only the bound after the last is computed
MOST_PASSES = 100_000


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
            return exclusions.perceptron(self.problems, self.compared, numbers.get("rate", 1.0))
        if learner == "pa":
            return exclusions.passive_aggressive(self.problems, numbers["C"])
        if learner == "balanced-winnow" and self.n_classes == 2:
            mistakes = self.run.mistakes or 0
            return exclusions.balanced_winnow(self.problems[0], numbers["promotion"], mistakes)
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
