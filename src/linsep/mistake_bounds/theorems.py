"""The mistake bounds of a run: the theorems of its learner applied to its rows.

A run and its rows form a *case*, the input of each theorem. The theorems assume real arithmetic,
with values and rates between 1e-100 and 1e100. A run of p passes is a sequence of p times as many
rows: Novikoff's bound is the same, and hinge losses are multiplied by p. Bounds of several binary
classifiers are summed. All bounds are rounded up: no value is below the theorem's in real
arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import floor, log
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import Bounds as Box, LinearConstraint, linprog, milp

from linsep.certificate.numbers import check_labels
from linsep.errors import DataError
from linsep.mistake_bounds.bounds import Bound, Bounds, Unknown, need
from linsep.mistake_bounds.margins import lengths, seen_rows
from linsep.mistake_bounds.problems import (
    SIZES,
    Comparator,
    Problem,
    best_comparator,
    comparator_of_length,
    problems_of,
)
from linsep.mistake_bounds.rounding import ROUNDING, float_above, share_of, shown

#: most entries of the program for the L1 margin: two variables per weight, a constraint per row
MOST_ENTRIES = 20_000_000
#: seconds for this program, and for a search for the features of a target
LONG, SHORT = 60.0, 5.0
#: with more passes only the bound after the last is computed
MOST_PASSES = 100_000
#: multiplied weights are clipped to [1 / this, this]
MOST_WEIGHT = 1e150
#: relative rounding error of such weights after millions of updates, and of logarithms
DRIFT, LOG = 1e-9, 2.0**-50
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


@dataclass(eq=False)
class Case:
    """A run of a learner and its rows, with the names of :func:`linsep.bounds` and estimators.

    ``codes`` are the classes of the rows, ``widest`` is ||w||/M, if the run computed it, and
    ``in_advance`` tells that there is no run yet, so that theorems choose the best parameters.
    """

    learner: Any
    X: Any
    codes: np.ndarray
    n_classes: int
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
    weights: Any = None
    in_advance: bool = False

    def __post_init__(self) -> None:
        scaled = theory_of(self.learner).scales_rows
        self.Z = seen_rows(self.X, self.fit_intercept, self.unit, scaled)
        n_rows, width = self.Z.shape
        check_labels(n_rows, len(self.codes))
        self.longest = float(lengths(self.Z).max()) * (1 + share_of(width))
        self.joint = self.n_classes > 2 and self.multiclass == "native"
        if self.joint and scaled:  # it changes two weight vectors at once
            self.Z = self.Z / np.sqrt(2.0)
        if self.weights is not None:
            w = np.ravel(np.asarray(self.weights, dtype=np.float64))
            self.weights = w = np.append(w, 0.0) if self.fit_intercept and w.size < width else w
            if self.n_classes > 2 or w.size != width or not np.isfinite(w).all():
                raise DataError(
                    f"weights must be {width} finite numbers (the intercept last, if it is "
                    f"fitted), for two classes: got shape {w.shape}, {self.n_classes} classes.",
                    code="shape" if self.n_classes == 2 else "class-count", option="weights",
                )  # fmt: skip

    @cached_property
    def problems(self) -> list[Problem]:
        """One problem per binary classifier."""
        found = problems_of(self.Z, self.codes, self.n_classes, self.multiclass)
        found[0].supposed = self.weights
        return found

    @property
    def problem(self) -> Problem:
        """The problem of a two-class run."""
        need(self.n_classes == 2, "it is stated for two classes")
        return self.problems[0]

    @property
    def margins(self) -> np.ndarray:
        """Intervals of the widest margins of the problems; raise Unknown if there are none."""
        found = [one.margin for one in self.problems if one.margin is not None]
        need(len(found) == len(self.problems), "no weights are known that separate the rows")
        return np.array(found)

    @cached_property
    def best(self) -> list[Comparator]:
        """The comparators with the smallest hinge bounds for this number of passes."""
        return [best_comparator(one, 2 * self.passes / square_of(one)) for one in self.problems]

    def bounds(self) -> Bounds:
        """Return the bounds of all theorems about the learner."""
        theory, known, left_out = theory_of(self.learner), list[Bound](), dict[str, str]()
        learner, count = type(self.learner).__name__, getattr(self, theory.what)
        for name, (source, theorem) in theory.theorems(self).items():
            try:
                value, compared = theorem(self)
            except Unknown as unknown:
                left_out[name] = str(unknown)
                continue
            values = np.ravel(value)
            if not np.isfinite(values[-1]):
                left_out[name] = "it overflows float64"
                continue
            by_pass = tuple(values.tolist()) if compared and len(values) == self.passes else None
            w, distance = None, None
            if compared and self.n_classes == 2:
                w, distance = compared[0].w, compared[0].distance
            known.append(Bound(
                name, float(values[-1]), theory.what, learner, source, count, by_pass, w, distance
            ))  # fmt: skip
        margin = low = None
        if theory.euclidean and all(one.margin for one in self.problems):
            margin = low, _ = tuple(self.margins.min(axis=0).tolist())
        if self.widest is not None:
            known.append(Bound("||w||/M", self.widest, "margin", learner, NOVIKOFF, low))
        passes = None if self.mistakes is None else self.passes
        return Bounds(tuple(known), left_out, self.longest, margin, self.mistakes, passes)


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


# Theorems: each returns the bound, or the bounds after each pass, and the comparators.

Result = tuple[Any, list[Comparator]]


def novikoff(case: Case) -> Result:
    """Return (R / gamma)^2, summed over the binary classifiers."""
    pairs = zip(case.problems, case.margins, strict=True)
    return sum((one.longest / low) ** 2 for one, (low, _) in pairs) * (1 + ROUNDING), []


def linear(square: float, hinge: Any) -> Any:
    """Return ||w||^2 R^2 + 2 hinge(w)."""
    return square + 2 * hinge


def sharp(square: float, hinge: Any) -> Any:
    """Return the largest M with M - hinge(w) <= ||w|| R sqrt(M), one step earlier in the proof.

    From there ``sqrt(ab) <= (a + b) / 2`` gives :func:`linear`.
    """
    return (np.sqrt(square) + np.sqrt(square + 4 * hinge)) ** 2 / 4


def hinge(case: Case, formula: Callable[[float, Any], Any], compared: list[Comparator]) -> Result:
    """Return the bounds of a comparison with other weights; ``formula`` has ||w||^2 R^2 and the
    hinge losses of the passes.
    """
    last = case.passes
    passes = np.arange(1.0 if last <= MOST_PASSES else last, last + 1)
    pairs = zip(case.problems, compared, strict=True)
    terms = [formula(w.square * square_of(one), passes * w.hinge) for one, w in pairs]
    return np.sum(terms, axis=0) * (1 + ROUNDING), compared


def total_distance(case: Case) -> Result:
    """Return the linear bound at the length 1/gamma with the smallest hinge loss TD_gamma/gamma: it
    is R^2/gamma^2 + 2 TD_gamma/gamma.
    """
    problem, long = case.problem, 1.0 / (case.gamma or 1.0)
    usual = SIZES[0] < long * problem.longest < SIZES[1]
    need(usual, "a margin of this size overflows float64")
    return hinge(case, linear, [comparator_of_length(problem, long)])


def updates(case: Case) -> Result:
    """Return the bound 2 / (epsilon gamma)^2 on updates for the margin found, the margin given or,
    in advance, the margin of the rows, with the parameters as floats or as printed decimals.
    """
    model, (low, high) = case.learner, case.margins.min(axis=0).tolist()
    gamma = model.gamma_ if hasattr(model, "_run") else model.gamma
    target, epsilon = min(low, 1.0) if gamma == "auto" else float(gamma), float(model.epsilon)
    why = f"the target margin is {target:.4g}, but the margin of the rows is below {shown(high)}"
    need(target <= low, why)
    smallest = [min(Fraction(number), Fraction(str(number))) for number in (target, epsilon)]
    return float_above(len(case.problems) * 2 / (smallest[0] * smallest[1]) ** 2), []


def winnow(case: Case) -> Result:
    """Return the bound for a disjunction of features, or for at least k of r features."""
    model, k = case.learner, case.majority
    d = case.problem.A.shape[1] - case.fit_intercept
    promotion = 1 + 1 / (2 * k) if case.in_advance and k > 1 else float(model.promotion)
    theta = d / 2 if model.threshold is None else model.threshold
    X = case.Z[:, :d].toarray() if hasattr(case.Z, "toarray") else case.Z[:, :d]
    need(np.isin(X, (0.0, 1.0)).all(), "features are not all 0 or 1")
    r = relevant(X, case.codes == 1, case.literals, k)
    return most_mistakes(d, r, promotion, theta, k), []


def relevant(X: np.ndarray, positive: np.ndarray, r: Any, k: int) -> int:
    """Return r, or a small number if it is None, if there are so many features, or fewer, that
    exactly the positive rows have k or more of them on; else raise Unknown.

    The fewest features of a disjunction are NP-hard to find, and any disjunction gives a valid
    bound: a greedy search is followed by an integer program if it finds more than r.
    """
    if k == 1:
        left, found = X[positive] * ~(X[~positive] > 0).any(axis=0), 0
        while len(left):
            best = int(left.sum(axis=0).argmax())
            covers = left[:, best].any()
            need(covers, "no disjunction of features is true of exactly the positive rows")
            left, found = left[left[:, best] == 0], found + 1
        if r is None or found <= r:
            return r or found
    d, sides = X.shape[1], np.where(positive[:, None], -X, X)
    best = milp(
        np.ones(d), integrality=np.ones(d), bounds=Box(0, 1), options={"time_limit": SHORT},
        constraints=[
            LinearConstraint(np.ones((1, d)), k, r),
            LinearConstraint(sides, -np.inf, np.where(positive, -k, k - 1)),
        ],
    ).x  # fmt: skip
    chosen = np.zeros(d) if best is None else best > 0.5
    right = chosen.sum() <= r and np.array_equal(X @ chosen >= k, positive)
    need(right, f"no {r} features are known of which exactly the positive rows have {k} or more on")
    return r


def most_mistakes(d: int, r: int, promotion: float, threshold: float, k: int = 1) -> float:
    """Return the bound for Winnow on "at least k of r" of d binary features, from weights of 1.

    A promotion multiplies at least k of the r weights, each at most the threshold, and a demotion
    divides at most k - 1: with L = floor(log_a(theta)) + 1, u promotions and v demotions, k u - (k
    - 1) v <= r L. A promotion adds at most (a - 1) theta to the sum of all weights, d at first; a
    demotion subtracts at least (1 - 1/a) theta, and the sum stays above 0: v is less than a d / ((a
    - 1) theta) + a u. Both limit u if k > (k - 1) a; for a disjunction (k = 1) to r L. Since
    weights are clipped at 1 / MOST, a demotion may subtract only (1 - 1/a) (theta - a d / MOST).
    """
    need(threshold > 0, "the threshold is not above 0")
    a, theta = Fraction(promotion), Fraction(threshold)
    taken = theta - a * d / Fraction(MOST_WEIGHT)
    why = f"a threshold of {threshold:.3g} is not reached by weights up to {MOST_WEIGHT:.0e}"
    need(theta < MOST_WEIGHT and taken > 0, why)
    # How often a weight is promoted in real numbers or in floats, whose products have relative
    # errors of 2^-53; beside promotions also demotions are rounded, where k is not 1.
    way, step = log(threshold * (1 + DRIFT) if k > 1 else threshold), log(promotion) - LOG
    need(step > 0, "a promotion so close to 1 is lost in rounding")
    reach = r * max(0, floor(way * (1 + LOG) / step) + 1)

    def most(taken: Fraction) -> Fraction:
        first, each = a * d / ((a - 1) * taken), a * theta / taken
        gain = k - (k - 1) * each
        need(gain > 0, f"for {k} of several features, the bound needs a smaller promotion")
        return (reach + (k - 1) * first) / gain * (1 + each) + first

    # With few mistakes no weight may have shrunk so far.
    fewest = most(theta)
    reached = fewest <= log(MOST_WEIGHT) / log(promotion) - 1
    return float_above(fewest if reached else most(taken))


def l1_margin(case: Case) -> Result:
    """Return the bound by the L1 margin, in advance for the best promotion.

    With eta = ln(promotion), X = max |z_j|, D weights and a target of L1 length 1 and margin gamma:
    P = sum of u_j + v_j starts at 2 D and by convexity of exp grows at most cosh(eta X) times a
    mistake, while the log of its largest term is at least eta gamma times the mistakes. So M <=
    ln(2 D) / (eta gamma - ln cosh(eta X)); with eta = gamma / X^2, 2 X^2 ln(2 D) / gamma^2.
    """
    model, problem = case.learner, case.problem
    need(not model.threshold, "it is stated for threshold 0")
    largest, gamma = float(abs(problem.A).max()), widest_l1(problem)
    grown = (case.mistakes or 0) * log(model.promotion) * largest
    need(grown <= log(MOST_WEIGHT), f"weights may have reached {MOST_WEIGHT:.0e}, and are clipped")
    eta = gamma / largest**2 if case.in_advance else log(model.promotion)
    t = eta * largest
    grows = np.logaddexp(t, -t) - log(2) if t > 1 else np.log1p(2 * np.sinh(t / 2) ** 2)
    gain = eta * gamma - grows - 16 * LOG * t * max(1.0, gamma / largest)
    if gain <= 0:
        raise Unknown(
            f"the L1 margin {gamma:.4g} allows a bound only for small promotions; the best is 1 + "
            f"{np.expm1(gamma / largest**2):.3g}"
        )
    return float(log(2 * problem.A.shape[1]) / gain) * (1 + 16 * LOG), []


def widest_l1(problem: Problem) -> float:
    """Return the widest margin of weights of L1 norm 1, by a linear program."""
    n, d = problem.A.shape
    need(n * d <= MOST_ENTRIES, "the linear program for the L1 margin has too many entries")
    dense = problem.A.toarray() if hasattr(problem.A, "toarray") else problem.A
    dense = dense / (float(abs(dense).max()) or 1.0)
    found = linprog(
        np.append(np.zeros(2 * d), -1.0), np.hstack([-dense, dense, np.ones((n, 1))]), np.zeros(n),
        np.append(np.ones(2 * d), 0.0)[None, :], [1.0], [(0, None)] * 2 * d + [(None, None)],
        options={"time_limit": LONG},
    )  # fmt: skip
    w = np.zeros(d) if found.x is None else found.x[:d] - found.x[d : 2 * d]
    total = float(np.abs(w).sum()) * (1 + problem.rounding)
    gamma = float(problem.values(w).min()) / total * (1 - ROUNDING) if total else 0.0
    need(gamma > 0, "no separating weights are known")
    return gamma


class Theory(NamedTuple):
    """What theorems say of a learner: {name: (source, function of a case)}, which returns a result
    or raises Unknown; what they bound; the parameters they are about, beside early stopping; why
    they do not apply to a run, or None; whether they are about Euclidean lengths; and whether the
    rule scales rows, with their constant feature, to length 1.
    """

    theorems: Callable[[Case], dict[str, tuple[str, Callable[[Case], Result]]]]
    what: str = "mistakes"
    premises: tuple[str, ...] = ()
    obstacle: Callable[[Any], str | None] = lambda learner: None
    euclidean: bool = True
    scales_rows: bool = False


def of_perceptron(case: Case) -> dict[str, tuple[str, Callable[[Case], Result]]]:
    """Return Novikoff's theorem, and the theorems for inseparable rows."""
    return {
        "Novikoff": (COLLINS if case.joint else NOVIKOFF, novikoff),
        "hinge": (HINGE, lambda case: hinge(case, linear, case.best)),
        "hinge, sharp": (HINGE, lambda case: hinge(case, sharp, case.best)),
    } | ({} if case.gamma is None else {"total distance": (HINGE, total_distance)})


def obstacle_of_perceptron(model: Any) -> str | None:
    """Return what the theorems do not allow."""
    rate = model.learning_rate
    if callable(rate) or model.schedule != "constant":
        return "its rate is not constant"
    if not SIZES[0] <= float(rate) <= SIZES[1]:
        return f"its rate of {rate:g} is not between 1e-100 and 1e100"
    return "the bounds hold for updates at every mistake" if model.update == "batch" else None


NONE = Theory(lambda case: {})
#: the theories of learners, by their names on the command line
THEORIES = {
    "perceptron": Theory(
        of_perceptron, premises=("learning_rate", "schedule"), obstacle=obstacle_of_perceptron
    ),
    "margin": Theory(
        lambda case: {
            "8/gamma^2" if case.learner.epsilon == 0.5 else "2/(epsilon gamma)^2": (BLUM, updates)
        },
        "updates", ("epsilon",), scales_rows=True,
    ),
    "winnow": Theory(
        lambda case: {"disjunction" if case.majority == 1 else "majority": (LITTLESTONE, winnow)},
        premises=("promotion", "threshold"), euclidean=False,
    ),
    "balanced-winnow": Theory(
        lambda case: {"L1 margin": (GROVE, l1_margin)}, premises=("promotion", "threshold"),
        euclidean=False,
    ),
}  # fmt: skip


def theory_of(learner: Any) -> Theory:
    """Return the theory of a learner, also of a class that derives from it."""
    return THEORIES.get(getattr(learner, "command_name", ""), NONE)


def premises_of(learner: Any) -> tuple[Any, ...]:
    """Return the parameters that theorems about a run, or ||w||/M, depend on."""
    names = (*theory_of(learner).premises, "early_stopping")
    return tuple(getattr(learner, name) for name in names)
