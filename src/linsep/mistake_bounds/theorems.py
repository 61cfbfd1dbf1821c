"""The mistake bounds of a run: the theorems of its learner applied to its rows.

A run and its rows form a *case*, the input of each theorem. The theorems assume real arithmetic,
with values and rates between 1e-100 and 1e100. A run of p passes is a sequence of p times as many
rows: Novikoff's bound is the same, and hinge losses are multiplied by p. Bounds of several binary
classifiers are summed. All bounds are rounded up: no value is below the theorem's in real
arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import floor, log
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import Bounds as Box, LinearConstraint, linprog, milp

from linsep.certificate.numbers import check_labels
from linsep.errors import DataError
from linsep.mistake_bounds.bounds import Bound, Bounds, Unknown
from linsep.mistake_bounds.problems import (
    SIZES,
    Comparator,
    Problem,
    best_comparator,
    comparator_of_length,
    problems_of,
    seen_rows,
)
from linsep.mistake_bounds.rounding import (
    ROUNDING,
    as_ball,
    balls,
    float_above,
    parameter_readings,
    shown,
)
from linsep.validation.labels import labels_of

#: most entries of the program for the L1 margin: two variables per weight, a constraint per row
MOST_ENTRIES = 20_000_000
#: seconds for this program, and for a search for the features of a disjunction
LONG, SHORT = 60.0, 5.0
#: with more passes only the bound after the last is computed
MOST_PASSES = 100_000
#: multiplied weights are clipped to [1 / this, this]
MOST_WEIGHT = 1e150
#: relative rounding error of such weights after millions of updates
DRIFT = 1e-9
NOVIKOFF = "A. Novikoff, On convergence proofs for perceptrons (1962)"
COLLINS = "M. Collins, Discriminative training methods for hidden Markov models (2002), theorem 1"
HINGE = (
    "A. Blum, Machine Learning Theory, lecture 4 (2014), times R^2; S. Shalev-Shwartz, Online "
    "learning and online convex optimization (2012), section 3.3"
)
BLUM = "A. Blum, Machine Learning Theory, lecture 4 (2014)"
LITTLESTONE = (
    "the argument of N. Littlestone, Machine Learning 2 (1988), for weights that are divided, not "
    "dropped"
)
GROVE = (
    "the argument of A. Grove, N. Littlestone and D. Schuurmans, Machine Learning 43 (2001), for "
    "this update"
)


class Theorem(NamedTuple):
    """A theorem about a case: its name, a function that returns the bound, or an array of bounds
    after one pass, two passes, ..., or raises Unknown, what is bounded ("mistakes", "updates" or
    "margin"), the source of the proof, and the comparator of each problem, if there is one.
    """

    name: str
    value: Callable[[], Any]
    what: str
    source: str
    compared: Callable[[], list[Comparator]] | None = None


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


class Case:
    """A run and its rows; everything else is computed on first use."""

    def __init__(
        self, run: RunSummary, X: Any, codes: np.ndarray, n_classes: int, weights: Any
    ) -> None:
        self.run, self.codes, self.n_classes = run, codes, n_classes
        scaled = theory_of(run.learner).scales_rows
        self.Z = seen_rows(X, run.fit_intercept, run.unit, scaled)
        check_labels(self.Z.shape[0], len(codes))
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
        try:
            return widest(self.problems) if theory_of(self.run.learner).euclidean else None
        except Unknown:
            return None

    @cached_property
    def compared(self) -> list[Comparator]:
        """The comparators of learners that add examples, the best for this number of passes."""
        return [
            best_comparator(one, 2 * self.run.passes / square_of(one), self.weights)
            for one in self.problems
        ]

    @cached_property
    def moved(self) -> list[Comparator]:
        """The comparator of length 1/gamma that has the smallest hinge loss TD_gamma/gamma, so that
        the linear bound is R^2/gamma^2 + 2 TD_gamma/gamma.
        """
        problem, long = self.only_problem(), 1.0 / (self.run.gamma or 1.0)
        if not SIZES[0] < long * problem.longest < SIZES[1]:
            raise Unknown("a margin of this size overflows float64")
        return [comparator_of_length(problem, long, self.weights)]

    def only_problem(self) -> Problem:
        """Return the problem of a two-class run."""
        if self.n_classes > 2:
            raise Unknown("it is stated for two classes")
        return self.problems[0]

    def hinge(
        self, name: str, formula: Callable[[float, Any], Any],
        compared: Callable[[], list[Comparator]],
    ) -> Theorem:  # fmt: skip
        """Return a theorem that compares a run with other weights; ``formula`` has ||w||^2 R^2 and
        the hinge losses after some passes.
        """
        last = self.run.passes
        passes = np.arange(1.0 if last <= MOST_PASSES else last, last + 1)

        def value() -> Any:
            pairs = zip(self.problems, compared(), strict=True)
            terms = [formula(w.square * square_of(one), passes * w.hinge) for one, w in pairs]
            return np.sum(terms, axis=0) * (1 + ROUNDING)

        return Theorem(name, value, "mistakes", HINGE, compared)

    def bound(self, theorem: Theorem) -> Bound:
        """Return the bound of a theorem; raise Unknown if it does not apply."""
        run, by_pass = self.run, None
        value = theorem.value()
        if isinstance(value, np.ndarray):
            by_pass = tuple(value.tolist()) if run.passes <= MOST_PASSES else None
            value = float(value[-1])
        if not np.isfinite(value):
            raise Unknown("it overflows float64")
        counted = {
            "mistakes": run.mistakes, "updates": run.updates,
            "margin": self.margin[0] if theorem.what == "margin" and self.margin else None,
        }  # fmt: skip
        one = theorem.compared()[0] if theorem.compared and self.n_classes == 2 else None
        return Bound(
            theorem.name, value, theorem.what, type(run.learner).__name__, theorem.source,
            counted[theorem.what], by_pass, one and one.w, one and one.distance,
        )  # fmt: skip


def bounds_of_run(
    run: RunSummary, X: Any, y: Any, classes: np.ndarray, weights: Any = None
) -> Bounds:
    """Return the bounds of a run on its training rows."""
    case = Case(run, X, np.searchsorted(classes, labels_of(y)), len(classes), weights)
    found = theory_of(run.learner).theorems(case)
    if (most := run.widest) is not None:
        found.append(Theorem("||w||/M", lambda: most, "margin", NOVIKOFF))
    known, left_out = [], {}
    for theorem in found:
        try:
            known.append(case.bound(theorem))
        except Unknown as unknown:
            left_out[theorem.name] = str(unknown)
    longest = max(problem.longest for problem in case.problems) / case.stretch
    return Bounds(
        tuple(known), left_out, float(longest), case.margin, run.mistakes,
        None if run.mistakes is None else run.passes,
    )  # fmt: skip


def obstacle_of(learner: Any) -> str | None:
    """Return why mistake bounds do not apply to a learner, or to its run; None if they may."""
    theory = theory_of(learner)
    if theory is NONE:
        return f"linsep has no theorem about {type(learner).__name__}"
    if (why := theory.obstacle(learner)) is not None or not hasattr(learner, "_run"):
        return why
    run = learner.fitted_run()
    return "its weights were mixed from shards" if run.mixture is not None else run.obstacle()


def square_of(problem: Problem) -> float:
    """Return R^2."""
    return problem.longest**2 * (1 + ROUNDING) or 1.0


def widest(problems: Sequence[Problem]) -> tuple[float, float]:
    """Return the interval of the smallest widest margin of the binary classifiers."""
    margins = [problem.margin for problem in problems]
    for problem, margin in zip(problems, margins, strict=True):
        if margin is None:
            raise Unknown(f"the rows are {problem.verdict}")
    low, high = np.min(np.array(margins, dtype=np.float64), axis=0).tolist()
    return low, high


# Learners that add examples.


def novikoff(problems: Sequence[Problem]) -> float:
    """Return (R / gamma)^2, summed over the binary classifiers."""
    widest(problems)
    return sum((p.longest / p.margin[0]) ** 2 for p in problems if p.margin) * (1 + ROUNDING)


def linear(square: float, hinge: Any) -> Any:
    """Return ||w||^2 R^2 + 2 hinge(w)."""
    return square + 2 * hinge


def sharp(square: float, hinge: Any) -> Any:
    """Return the largest M with M - hinge(w) <= ||w|| R sqrt(M), one step earlier in the proof.

    From there ``sqrt(ab) <= (a + b) / 2`` gives :func:`linear`.
    """
    return (np.sqrt(square) + np.sqrt(square + 4 * hinge)) ** 2 / 4


def of_perceptron(case: Case) -> list[Theorem]:
    """Return Novikoff's theorem, and the theorems for inseparable rows."""
    source = COLLINS if case.joint else NOVIKOFF
    found = [
        Theorem("Novikoff", lambda: novikoff(case.problems), "mistakes", source),
        case.hinge("hinge", linear, lambda: case.compared),
        case.hinge("hinge, sharp", sharp, lambda: case.compared),
    ]
    if case.run.gamma is not None:
        found.append(case.hinge("total distance", linear, lambda: case.moved))
    return found


def obstacle_of_perceptron(model: Any) -> str | None:
    """Return what the theorems do not allow."""
    rate = model.learning_rate
    if callable(rate) or model.schedule != "constant":
        return "its rate is not constant"
    if not SIZES[0] <= float(rate) <= SIZES[1]:
        return f"its rate of {rate:g} is not between 1e-100 and 1e100"
    return "the bounds hold for updates at every mistake" if model.update == "batch" else None


def of_margin_perceptron(case: Case) -> list[Theorem]:
    """Return the bound 2 / (epsilon gamma)^2 on updates for the margin found, the margin given or,
    in advance, the margin of the rows, with the parameters as floats or as printed decimals.
    """
    model, problems = case.run.learner, case.problems
    gamma = model.gamma_ if hasattr(model, "_run") else model.gamma

    def most() -> float:
        low, high = widest(problems)
        target = min(low, 1.0) if gamma == "auto" else float(gamma)
        if target > low:
            raise Unknown(
                f"the target margin is {target:.4g}, but the margin of the rows is below "
                f"{shown(high)}"
            )
        pairs = product(parameter_readings(target), parameter_readings(float(model.epsilon)))
        return float_above(len(problems) * max(2 / (one * other) ** 2 for one, other in pairs))

    name = "8/gamma^2" if model.epsilon == 0.5 else "2/(epsilon gamma)^2"
    return [Theorem(name, most, "updates", BLUM)]


# Learners that multiply.


def of_winnow(case: Case) -> list[Theorem]:
    """Return the bound for a disjunction of features, or for at least k of r features."""
    run, model = case.run, case.run.learner
    r, k = run.literals, run.majority

    def most() -> float:
        case.only_problem()
        d = case.Z.shape[1] - run.fit_intercept
        promotion = 1 + 1 / (2 * k) if run.in_advance and k > 1 else float(model.promotion)
        theta = d / 2 if model.threshold is None else model.threshold
        Z, positive = case.Z[:, :d], case.codes == 1
        X = Z.toarray() if hasattr(Z, "toarray") else Z
        if not np.isin(X, (0.0, 1.0)).all():
            raise Unknown("features are not all 0 or 1")
        if k > 1:
            check_majority(X, positive, r, k)
            return most_mistakes(d, r or k, promotion, theta, k)
        chosen = disjunction(X, positive, r)
        return most_mistakes(d, len(chosen) if r is None else r, promotion, theta)

    return [Theorem("disjunction" if k == 1 else "majority", most, "mistakes", LITTLESTONE)]


def most_mistakes(d: int, r: int, promotion: float, threshold: float, k: int = 1) -> float:
    """Return the bound for Winnow on "at least k of r" of d binary features, from weights of 1.

    A promotion multiplies at least k of the r weights, each at most the threshold, and a demotion
    divides at most k - 1: with L = floor(log_a(theta)) + 1, u promotions and v demotions, k u - (k
    - 1) v <= r L. A promotion adds at most (a - 1) theta to the sum of all weights, d at first; a
    demotion subtracts at least (1 - 1/a) theta, and the sum stays above 0: v is less than a d / ((a
    - 1) theta) + a u. Both limit u if k > (k - 1) a; for a disjunction (k = 1) to r L. Since
    weights are clipped at 1 / MOST, a demotion may subtract only (1 - 1/a) (theta - a d / MOST).
    """
    if threshold <= 0:
        raise Unknown("the threshold is not above 0")
    a, theta = Fraction(promotion), Fraction(threshold)
    taken = theta - a * d / Fraction(MOST_WEIGHT)
    if theta >= MOST_WEIGHT or taken <= 0:
        raise Unknown(
            f"a threshold of {threshold:.3g} is not reached by promotions of {promotion:.3g} for "
            f"weights between {1 / MOST_WEIGHT:.0e} and {MOST_WEIGHT:.0e}"
        )
    # Beside promotions also demotions are rounded, where k is not 1.
    reach = r * promoted(promotion, threshold * (1 + DRIFT) if k > 1 else threshold)

    def most(taken: Fraction) -> Fraction:
        first, each = a * d / ((a - 1) * taken), a * theta / taken
        if not (gain := k - (k - 1) * each) > 0:
            raise Unknown(
                f"for {k} of several features, the bound needs a promotion below {k / (k - 1):.4g}"
            )
        return (reach + (k - 1) * first) / gain * (1 + each) + first

    # With few mistakes no weight may have shrunk so far.
    fewest = most(theta)
    reached = fewest <= log(MOST_WEIGHT) / log(promotion) - 1
    return float_above(fewest if reached else most(taken))


def promoted(promotion: float, threshold: float) -> int:
    """Return how often a weight of 1 can be multiplied, at most, until it exceeds the threshold,
    in real numbers or in floats, whose products have relative errors of 2^-53.
    """
    from flint import arb

    with balls():
        readings = zip(parameter_readings(threshold), parameter_readings(promotion), strict=True)
        steps = [(as_ball(theta).log(), as_ball(a).log() - arb(2) ** -52) for theta, a in readings]
        if not all(step > 0 for _, step in steps):
            raise Unknown("a promotion so close to 1 is lost in rounding")
        return max(0, *(floor(float_above(way / step)) + 1 for way, step in steps))


def disjunction(X: np.ndarray, positive: np.ndarray, most: int | None = None) -> list[int]:
    """Return a small set of features, at least one of which is on in every positive row and none in
    a negative row.

    Greedy, since the fewest are NP-hard to find and any disjunction gives a valid bound. If the
    result has more than ``most`` features, an integer program searches for fewer.
    """
    allowed = ~(X[~positive] > 0).any(axis=0)
    left, chosen = X[positive] * allowed, []
    while len(left):
        counts = left.sum(axis=0)
        best = int(counts.argmax())
        if not counts[best]:
            raise Unknown("no disjunction of features is true of exactly the positive rows")
        chosen.append(best)
        left = left[left[:, best] == 0]
    if most is None or len(chosen) <= most:
        return chosen
    fewer = _features(X[:, allowed], LinearConstraint(X[positive][:, allowed], lb=1))
    if not 0 < len(fewer) <= most:
        features = "feature" if most == 1 else "features"
        raise Unknown(f"no disjunction of {most} {features} is known to be true of these rows")
    return np.flatnonzero(allowed)[fewer].tolist()


def check_majority(X: np.ndarray, positive: np.ndarray, r: int | None, k: int) -> None:
    """Raise Unknown unless at least k of some r features are on in exactly the positive rows."""
    sides = np.where(positive[:, None], -X, X), -np.inf, np.where(positive, -k, k - 1)
    found = _features(X, LinearConstraint(np.ones((1, X.shape[1])), r, r), LinearConstraint(*sides))
    if len(found) != r or not np.array_equal(X[:, found].sum(axis=1) >= k, positive):
        raise Unknown(
            f"no {r} features are known such that exactly the positive rows have {k} or more of "
            f"them on"
        )


def _features(X: np.ndarray, *constraints: LinearConstraint) -> np.ndarray:
    """Return the fewest features that satisfy constraints; none if they are not found soon."""
    d = X.shape[1]
    found = milp(
        np.ones(d), constraints=constraints, integrality=np.ones(d), bounds=Box(0, 1),
        options={"time_limit": SHORT},
    )  # fmt: skip
    return np.flatnonzero(np.zeros(d) if found.x is None else found.x > 0.5)


def of_balanced_winnow(case: Case) -> list[Theorem]:
    """Return the bound by the L1 margin, in advance for the best promotion.

    With eta = ln(promotion), X = max |z_j|, D weights and a target of L1 length 1 and margin gamma:
    P = sum of u_j + v_j starts at 2 D and by convexity of exp grows at most cosh(eta X) times a
    mistake, while the log of its largest term is at least eta gamma times the mistakes. So M <=
    ln(2 D) / (eta gamma - ln cosh(eta X)); with eta = gamma / X^2, 2 X^2 ln(2 D) / gamma^2.
    """
    from flint import arb

    run, model = case.run, case.run.learner

    def most() -> float:
        problem = case.only_problem()
        if model.threshold:
            raise Unknown("it is stated for threshold 0")
        largest, gamma = float(abs(problem.A).max()), widest_l1(problem)
        if (run.mistakes or 0) * log(model.promotion) * largest > log(MOST_WEIGHT):
            raise Unknown(f"weights may have reached {MOST_WEIGHT:.0e}, where they are clipped")
        with balls():
            best = arb(gamma) / arb(largest) ** 2
            eta = arb(best.mid()) if run.in_advance else arb(float(model.promotion)).log()
            gain = eta * arb(gamma) - (eta * arb(largest)).cosh().log()
            if not gain.lower() > 0:
                raise Unknown(
                    f"the L1 margin {gamma:.4g} allows a bound only for small promotions; the best "
                    f"is 1 + {float(best.expm1().mid()):.3g}"
                )
            return float_above(arb(2 * problem.A.shape[1]).log() / gain)

    return [Theorem("L1 margin", most, "mistakes", GROVE)]


def widest_l1(problem: Problem) -> float:
    """Return the widest margin of weights of L1 norm 1, by a linear program."""
    n, d = problem.A.shape
    if n * d > MOST_ENTRIES:
        raise Unknown("the linear program for the L1 margin would have too many entries")
    dense = problem.A.toarray() if hasattr(problem.A, "toarray") else problem.A
    dense = dense / (float(abs(dense).max()) or 1.0)
    found = linprog(
        np.append(np.zeros(2 * d), -1.0), np.hstack([-dense, dense, np.ones((n, 1))]), np.zeros(n),
        np.append(np.ones(2 * d), 0.0)[None, :], [1.0], [(0, None)] * 2 * d + [(None, None)],
        options={"time_limit": LONG},
    )  # fmt: skip
    if found.x is None:
        raise Unknown("the linear program for the L1 margin found no solution")
    w = found.x[:d] - found.x[d : 2 * d]
    total = float(np.abs(w).sum()) * (1 + problem.rounding)
    gamma = float(problem.values(w).min()) / total * (1 - ROUNDING) if total else 0.0
    if gamma <= 0:
        raise Unknown("no separating weights are known")
    return gamma


class Theory(NamedTuple):
    """What theorems say of a learner.

    Attributes
    ----------
    theorems : function of a case
    premises : names of the parameters that they are about, beside early stopping
    obstacle : function of the learner that returns why they do not apply, or None
    euclidean : bool, whether they are about Euclidean lengths
    scales_rows : bool, whether the rule scales rows, with their constant feature, to length 1
    """

    theorems: Callable[[Case], list[Theorem]]
    premises: tuple[str, ...] = ()
    obstacle: Callable[[Any], str | None] = lambda learner: None
    euclidean: bool = True
    scales_rows: bool = False


NONE = Theory(lambda case: [])
#: the theories of learners, by their names on the command line
THEORIES = {
    "perceptron": Theory(of_perceptron, ("learning_rate", "schedule"), obstacle_of_perceptron),
    "margin": Theory(of_margin_perceptron, ("epsilon",), scales_rows=True),
    "winnow": Theory(of_winnow, ("promotion", "threshold"), euclidean=False),
    "balanced-winnow": Theory(of_balanced_winnow, ("promotion", "threshold"), euclidean=False),
}


def theory_of(learner: Any) -> Theory:
    """Return the theory of a learner, also of a class that derives from it."""
    return THEORIES.get(getattr(learner, "command_name", ""), NONE)


def premises_of(learner: Any) -> tuple[Any, ...]:
    """Return the parameters that theorems about a run, or ||w||/M, depend on."""
    names = (*theory_of(learner).premises, "early_stopping")
    return tuple(getattr(learner, name) for name in names)
