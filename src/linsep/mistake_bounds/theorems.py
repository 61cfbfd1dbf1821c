"""The mistake bounds of a run: the theorems of its learner applied to its rows.

The bounds of several binary classifiers are summed. A run of p passes is a sequence of p times as
many rows: Novikoff's bound is the same, and hinge losses are multiplied by p. The theorems assume
real arithmetic, with values and rates between 1e-100 and 1e100; all bounds are rounded up.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from math import floor, log
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog, milp, minimize
from scipy.special import logsumexp
from sklearn.utils.extmath import row_norms

from linsep._system.interrupts import cached_property
from linsep._system.threads import one_blas_thread
from linsep.certificate.canonical import check_labels
from linsep.certificate.constraints import Fails, need
from linsep.certificate.verdicts import Separable
from linsep.errors import DataError, refuse
from linsep.mistake_bounds.bounds import ROUNDING, SIZES, Bound, Bounds, above, length, share_of
from linsep.mistake_bounds.margins import seen_rows

#: multiplied weights are clipped to [1 / this, this]
MOST_WEIGHT = 1e150
#: relative rounding error of such weights after millions of updates, and of logarithms
DRIFT, LOG = 1e-9, 2.0**-50
NOVIKOFF = (
    "A. Novikoff, On convergence proofs for perceptrons (1962)",
    "M. Collins, Discriminative training methods for hidden Markov models (2002), theorem 1",
)
HINGE = (
    "A. Blum, Machine Learning Theory, lecture 4 (2014), times R^2; S. Shalev-Shwartz, Online "
    "learning and online convex optimization (2012), section 3.3"
)


class Problem:
    """The sign-flipped rows a of A of a binary classifier: w separates them if all <w, a> > 0.

    ``rivals`` consecutive rows of A belong to one row of the data. ``longest`` bounds their length,
    ``square`` is its square (1 if all are zero), ``rounding`` the share of rounding in a sum over a
    row. ``supposed`` weights replace the search for the best.
    """

    def __init__(self, A: Any, rivals: int = 1, supposed: np.ndarray | None = None) -> None:
        self.A, self.rivals, self.supposed = A, rivals, supposed
        if (top := float(abs(A).max())) and not SIZES[0] <= top <= SIZES[1]:
            raise DataError(f"The largest number, {top:.4g}, is beyond 1e-100 to 1e100: scale the "
                            "features.", code="overflow")  # fmt: skip
        self.rounding = share_of(A.shape[1])
        self.longest = float(row_norms(A).max()) * (1 + self.rounding)
        self.square = self.longest**2 * (1 + ROUNDING) or 1.0

    def values(self, w: np.ndarray) -> np.ndarray:
        """Return the smallest <w, a> of each row of the data, rounded down."""
        sure = np.asarray(self.A @ w) - self.rounding * self.longest * length(w)
        return sure.reshape(-1, self.rivals).min(axis=1)

    @cached_property
    def margin(self) -> tuple[float, float] | None:
        """An interval that contains the widest margin of A; None if no ``separator`` is known."""
        if self.supposed is not None:
            self.separator, long = self.supposed, length(self.supposed) * (1 + self.rounding)
            low = float(self.values(self.separator).min()) / (long or 1.0) * (1 - ROUNDING)
            return (low, float("inf")) if low > 0 else None
        from linsep.separability.deciding import separation  # whose solvers most fits do not need

        # separation needs two classes: the first row once more, turned
        signs = np.append(np.ones(self.A.shape[0]), -1.0)
        rows = sp.diags(signs) @ self.A[np.append(np.arange(self.A.shape[0]), 0)]
        found = separation(rows, signs, fit_intercept=False, margin="max")
        if not isinstance(found, Separable):
            return None
        top = Fraction(max(map(abs, found.coef[0])))  # floats may be too short for them
        self.separator = np.array([float(Fraction(one) / top) for one in found.coef[0]])
        return found.margin


def problems_of(
    Z: Any, codes: np.ndarray, n_classes: int, multiclass: str, weights: np.ndarray | None = None
) -> list[Problem]:
    """Return one problem, or one per class or pair of classes."""
    if n_classes > 2 and multiclass == "native":
        Z, others = sp.csr_matrix(Z), n_classes - 1
        if 2 * Z.nnz * others > 100_000_000:
            raise DataError("The joint rule of so many classes needs too much memory here; the "
                            'bounds of multiclass="ovr" need less.', code="too-large")  # fmt: skip
        differences = np.eye(n_classes)[codes][:, None] - np.eye(n_classes)  # own class and others
        C = differences[np.arange(n_classes) != codes[:, None]]
        Z = Z[np.repeat(np.arange(len(codes)), others)]
        return [Problem(sp.csr_matrix(sp.hstack([sp.diags(c) @ Z for c in C.T])), others)]
    if n_classes > 2 and multiclass == "ovr":
        machines = [(k, codes >= 0) for k in range(n_classes)]
    else:
        machines = [(b, np.isin(codes, (a, b))) for a, b in combinations(range(n_classes), 2)]
    return [
        Problem(sp.diags(np.where(codes[own] == k, 1.0, -1.0)) @ Z[own], supposed=weights)
        for k, own in machines if own.any()
    ]  # fmt: skip


class Comparator:
    """Weights w; ||w||^2, the hinge loss (the sum of max(0, 1 - <w, a>)) and the total distance
    hinge / ||w|| that rows must be moved for the margin 1/||w||, rounded up.
    """

    def __init__(self, problem: Problem, w: np.ndarray) -> None:
        self.w, long = np.asarray(w, dtype=np.float64), length(w)
        losses = np.maximum(0.0, 1.0 - problem.values(self.w))
        self.square = float(self.w @ self.w) * (1 + problem.rounding)
        self.hinge = float(losses.sum()) * (1 + ROUNDING * len(losses))
        self.distance = self.hinge / long * (1 + ROUNDING) if long else None


def best_comparator(problem: Problem, price: float) -> Comparator:
    """Search for the weights with the smallest ``||w||^2 + price * hinge(w)``: of those proposed,
    the best multiple s w has the slope 2 s ||w||^2 - price * (sum of values below 1 / s).
    """
    found = [Comparator(problem, np.zeros(problem.A.shape[1]))]
    for w in proposed(problem, [price]):
        values = problem.values(w)
        order = np.sort(values[values > 0])[::-1]
        ends = np.append(1.0 / order, np.inf)  # where one more row reaches 1
        left = np.append(np.cumsum(order[::-1])[::-1], 0.0) + values[values < 0].sum()
        stationary = price * left / (2 * float(w @ w) or 1.0)
        factors = np.clip(stationary, np.append(0.0, ends[:-1]), ends)
        found.append(Comparator(problem, factors[stationary <= ends][0] * w))
    return min(found, key=lambda one: one.square + price * one.hinge)


def comparator_of_length(problem: Problem, long: float) -> Comparator:
    """Search for weights of this length with the smallest hinge loss, from the best directions."""
    starts = proposed(problem, np.array([0.01, 1.0, 100.0]) / problem.square)
    units = [w / length(w) for w in (*starts, np.ones(problem.A.shape[1])) if length(w) > 0]
    found = sorted((Comparator(problem, long * u) for u in units), key=lambda one: one.hinge)
    for one in found[: 4 if problem.supposed is None else 0]:
        direction = searched(problem, 1.0, one.w / long, long)
        found.append(Comparator(problem, long / length(direction) * direction))
    return min(found, key=lambda one: one.hinge)


def proposed(problem: Problem, prices: Any) -> list[np.ndarray]:
    """Return the supposed weights, or those searched at each price and the separator, if any."""
    if problem.supposed is not None:
        return [problem.supposed]
    found = [searched(problem, price, np.zeros(problem.A.shape[1])) for price in prices]
    return found if problem.margin is None else [*found, problem.separator]


@one_blas_thread  # threads would only wait for each other in the small steps of L-BFGS
def searched(problem: Problem, price: float, v: np.ndarray, long: float | None = None) -> Any:
    """Return weights with small ``||w||^2 + price * hinge(w)``, by equilibrated columns, or the
    direction from v of those of a length; the hinge loss is smoothed over decreasing widths.
    """
    A, usual = problem.A, 1e-30 < problem.longest < 1e30
    squares = np.ravel(A.multiply(A).sum(axis=0)) if sp.issparse(A) else (A**2).sum(axis=0)
    scale = 1.0 / np.sqrt(np.where(squares > 0, squares / A.shape[0], 1.0))
    unit = 1.0 if usual else problem.square  # L-BFGS ends where changes are small beside 1

    def objective(v: np.ndarray, width: float) -> tuple[float, np.ndarray]:
        w = v * (scale if long is None else long / float(np.linalg.norm(v)))
        short = (1.0 - A @ w).reshape(-1, problem.rivals) / width
        loss = logsumexp(np.insert(short, 0, 0.0, axis=1), axis=1, keepdims=True)
        slope = -price * (A.T @ np.exp(short - loss).ravel())
        value = price * width * float(loss.sum())
        if long is None:
            return unit * (value + float(w @ w)), unit * (slope + 2 * w) * scale
        return value, (slope - (slope @ v) * v / (v @ v)) * long / float(np.linalg.norm(v))

    for width in (1.0, 0.1, 0.01, 0.001):
        v = minimize(objective, v, width, jac=True, method="L-BFGS-B", options={"maxiter": 500}).x
    return v * scale if long is None else v


@dataclass(eq=False)
class Case:
    """A run of a learner and its rows; ``in_advance``, theorems choose the best parameters."""

    learner: Any
    X: Any
    codes: np.ndarray
    n_classes: int
    multiclass: str
    fit_intercept: bool
    run: Bounds
    updates: int | None = None
    literals: int | None = None
    majority: int = 1
    gamma: float | None = None
    weights: Any = None
    in_advance: bool = False

    def __post_init__(self) -> None:
        self.passes, unit = self.run.passes or 1, bool(self.learner.normalize)
        self.scaled = type(self.learner).__name__ == "MarginPerceptron"
        self.Z = seen_rows(self.X, self.fit_intercept, unit, self.scaled)
        n_rows, width = self.Z.shape
        check_labels(n_rows, len(self.codes))
        self.longest = float(row_norms(self.Z).max()) * (1 + share_of(width))
        self.joint = self.n_classes > 2 and self.multiclass == "native"
        if self.joint and self.scaled:  # it changes two weight vectors at once
            self.Z = self.Z / np.sqrt(2.0)
        if self.weights is not None:
            w = np.ravel(np.asarray(self.weights, dtype=np.float64))
            self.weights = w = np.append(w, 0.0) if self.fit_intercept and w.size < width else w
            refuse(
                DataError,
                (self.n_classes > 2 or w.size != width or not np.isfinite(w).all(),
                 f"weights must be {width} finite numbers (the intercept last), for two classes: "
                 f"got shape {w.shape}, {self.n_classes} classes.",
                 "shape" if self.n_classes == 2 else "class-count", "weights"),
            )  # fmt: skip

    @cached_property
    def problems(self) -> list[Problem]:
        """One problem per binary classifier."""
        return problems_of(self.Z, self.codes, self.n_classes, self.multiclass, self.weights)

    @property
    def problem(self) -> Problem:
        """The problem of a two-class run."""
        need(self.n_classes == 2, "it is stated for two classes")
        return self.problems[0]

    @property
    def margins(self) -> np.ndarray:
        """Intervals of the widest margins of the problems."""
        found = [one.margin for one in self.problems if one.margin is not None]
        need(len(found) == len(self.problems), "no weights are known that separate the rows")
        return np.array(found)

    @cached_property
    def best(self) -> list[Comparator]:
        """The comparators with the smallest hinge bounds for this number of passes."""
        return [best_comparator(one, 2 * self.passes / one.square) for one in self.problems]

    def bounds(self) -> Bounds:
        """Return the bounds of all theorems about the learner."""
        known, left_out, learner = list[Bound](), dict[str, str](), type(self.learner).__name__
        what, count = ("updates", self.updates) if self.scaled else ("mistakes", self.run.mistakes)
        for name, source, theorem in THEORIES[learner](self):
            try:
                found, compared = theorem(self)
                values = np.ravel(found).tolist()
                need(np.isfinite(values[-1]), "it overflows float64")
            except Fails as reason:  # the bound does not apply
                left_out[name] = str(reason)
                continue
            passes = self.passes if compared else None
            each = tuple(values) if len(values) == passes else None
            w = (compared[0].w, compared[0].distance) if compared and self.n_classes == 2 else ()
            known.append(Bound(name, values[-1], what, learner, source, count, passes, each, *w))
        euclidean = not hasattr(self.learner, "promotion") and all(p.margin for p in self.problems)
        margin = tuple(self.margins.min(axis=0).tolist()) if euclidean else None
        known += [replace(one, counted=margin[0] if margin else None) for one in self.run]
        return replace(
            self.run, bounds=tuple(known), left_out=left_out, longest=self.longest, margin=margin
        )


#: what a theorem returns: the bound, or the bounds after each pass, and the comparators
Result = tuple[Any, list[Comparator]]


def novikoff(case: Case) -> Result:
    """Return (R / gamma)^2, summed over the binary classifiers."""
    pairs = zip(case.problems, case.margins, strict=True)
    return sum((one.longest / low) ** 2 for one, (low, _) in pairs) * (1 + ROUNDING), []


def hinge(case: Case, compared: list[Comparator], sharp: bool = False) -> Result:
    """Return ||w||^2 R^2 + 2 hinge(w), or ``sharp`` the largest M <= hinge(w) + ||w|| R sqrt(M)."""
    last, pairs = case.passes, zip(case.problems, compared, strict=True)
    passes = np.arange(1.0 if last <= 100_000 else last, last + 1)  # the last only, if too many
    terms = [(w.square * one.square, w.hinge * passes) for one, w in pairs]
    bounds = [(np.sqrt(S) + np.sqrt(S + 4 * H)) ** 2 / 4 if sharp else S + 2 * H for S, H in terms]
    return np.sum(bounds, axis=0) * (1 + ROUNDING), compared


def total_distance(case: Case) -> Result:
    """Return R^2/gamma^2 + 2 TD/gamma, the smallest hinge bound at the length 1/gamma."""
    problem, long = case.problem, 1.0 / (case.gamma or 1.0)
    need(SIZES[0] < long * problem.longest < SIZES[1], "a margin of this size overflows float64")
    return hinge(case, [comparator_of_length(problem, long)])


def updates(case: Case) -> Result:
    """Return 2 / (epsilon gamma)^2 for the margin found or given, in advance that of the rows."""
    model, (low, high) = case.learner, case.margins.min(axis=0).tolist()
    gamma = model.gamma if case.in_advance else model.gamma_
    target = min(low, 1.0) if gamma == "auto" else float(gamma)
    need(target <= low, f"the margin of the rows is below {high:.4g}, the target {target:.4g}")
    margin, epsilon = (min(Fraction(x), Fraction(str(x))) for x in (target, float(model.epsilon)))
    return above(len(case.problems) * 2 / (epsilon * margin) ** 2), []


def winnow(case: Case) -> Result:
    """Return the bound for a disjunction of features, or for at least k of r features."""
    model, k, d = case.learner, case.majority, case.problem.A.shape[1] - case.fit_intercept
    X = sp.csr_matrix(case.Z).toarray()[:, :d]
    need(np.isin(X, (0.0, 1.0)).all(), "features are not all 0 or 1")
    promotion = 1 + 1 / (2 * k) if case.in_advance and k > 1 else float(model.promotion)
    theta = d / 2 if model.threshold is None else float(model.threshold)
    r = relevant(X, case.codes == 1, case.literals, k)
    return above(most_mistakes(d, r, promotion, theta, k)), []


def relevant(X: np.ndarray, positive: np.ndarray, r: Any, k: int) -> int:
    """Return r, or the smallest number if it is None, if exactly the positive rows have at least k
    of that many features, or fewer, on: by an integer program.
    """
    limits, one = np.where(positive, -k, k - 1), np.ones(X.shape[1])
    fewest = milp(
        one, integrality=one, bounds=(0, 1), options={"time_limit": 5.0},
        constraints=(np.where(positive[:, None], -X, X), -np.inf, limits),
    ).x  # fmt: skip
    chosen = 0 * one if fewest is None else fewest > 0.5
    right = chosen.sum() <= (r or X.shape[1]) and np.array_equal(X @ chosen >= k, positive)
    need(right, f"no features are known of which exactly the positive rows have {k} or more on")
    return r or int(chosen.sum())


def most_mistakes(d: int, r: int, promotion: float, threshold: float, k: int = 1) -> Fraction:
    """Return the bound for Winnow on "at least k of r" of d binary features, from weights of 1.

    A promotion multiplies by a at least k of the r weights, if they are at most theta, and a
    demotion divides at most k - 1: k u - (k - 1) v <= r L for u promotions, v demotions and L =
    floor(log_a(theta)) + 1, with room for the drift of floats. The sum of weights, d at first,
    grows by at most (a - 1) theta, falls by at least (1 - 1/a) theta and stays above 0: v < a d /
    ((a - 1) theta) + a u. Both limit u if k > (k - 1) a. Clipping changes no whole mistake.
    """
    clipped = threshold >= MOST_WEIGHT or promotion * d / MOST_WEIGHT >= 1e-40 * threshold
    need(not clipped, f"a threshold of {threshold:.3g} is beyond weights from 1e-150 to 1e150")
    a, theta = Fraction(promotion), Fraction(threshold)
    step = log(promotion) - LOG
    need(step > 0, "a promotion so close to 1 is lost in rounding")
    reach = r * max(0, floor(log(threshold * (1 + DRIFT)) / step) + 1)
    c, gain = a * d / ((a - 1) * theta), k - (k - 1) * a
    need(gain > 0, f"for {k} of several features, the bound needs a smaller promotion")
    u = (reach + (k - 1) * c) / gain
    return u + c + a * u


def l1_margin(case: Case) -> Result:
    """Return ln(2 D) / (eta gamma - ln cosh(eta X)), in advance for the best eta = gamma / X^2.

    With eta = ln(promotion), X = max |z_j| and D pairs of weights, their sum is 2 D at first and
    grows at most cosh(eta X) times a mistake; the log of its largest term grows by at least eta
    gamma, where gamma is the widest L1 margin, found by a linear program.
    """
    problem, rate = case.problem, log(case.learner.promotion)
    (n, d), largest = problem.A.shape, float(abs(problem.A).max())
    need(n * d <= 20_000_000, "the linear program for the L1 margin has too many entries")
    A = sp.csr_matrix(problem.A) / (largest or 1.0)
    parts = linprog(np.ones(2 * d), sp.hstack([-A, A]), -np.ones(n), options={"time_limit": 60.0}).x
    w = np.zeros(d) if parts is None else parts[:d] - parts[d:]
    total = float(np.abs(w).sum()) * (1 + problem.rounding)
    gamma = float(problem.values(w).min()) / (total or 1.0) * (1 - ROUNDING)
    need(gamma > 0, "no separating weights are known")
    best, grown = gamma / largest**2, (case.run.mistakes or 0) * rate * largest
    need(grown <= log(MOST_WEIGHT), f"weights may have reached {MOST_WEIGHT:.0e}, and are clipped")
    eta = best if case.in_advance else rate
    log_cosh = eta * largest + np.log1p(np.expm1(-2 * eta * largest) / 2)
    gain = eta * gamma - log_cosh - 16 * LOG * eta * largest
    need(gain > 0, f"the L1 margin {gamma:.4g} needs a smaller promotion, at best exp({best:.3g})")
    return log(2 * d) / gain * (1 + ROUNDING), []


#: the names, sources and functions of theorems about learners, by the names of their classes
THEORIES: dict[str, Callable[[Case], list[tuple[str, str, Callable[[Case], Result]]]]] = {
    "Perceptron": lambda case: [
        ("Novikoff", NOVIKOFF[case.joint], novikoff),
        ("hinge", HINGE, lambda case: hinge(case, case.best)),
        ("hinge, sharp", HINGE, lambda case: hinge(case, case.best, sharp=True)),
        *([] if case.gamma is None else [("total distance", HINGE, total_distance)]),
    ],
    "MarginPerceptron": lambda case: [(
        "8/gamma^2" if case.learner.epsilon == 0.5 else "2/(epsilon gamma)^2",
        "A. Blum, Machine Learning Theory, lecture 4 (2014)", updates,
    )],
    "Winnow": lambda case: [(
        "disjunction" if case.majority == 1 else "majority",
        "the argument of N. Littlestone, Machine Learning 2 (1988), for weights that are divided, "
        "not dropped", winnow,
    )],
    "BalancedWinnow": lambda case: [(
        "L1 margin", "the argument of A. Grove, N. Littlestone and D. Schuurmans, Machine Learning "
        "43 (2001), for this update", l1_margin,
    )],
}  # fmt: skip
#: parameters that theorems about a run, or ||w||/M, depend on
PREMISES = (
    "learning_rate", "schedule", "update", "epsilon", "promotion", "threshold", "early_stopping"
)  # fmt: skip


def obstacle_of(learner: Any) -> str | None:
    """Return why mistake bounds do not apply to a run of a learner; None if they may."""
    if type(learner).__name__ not in THEORIES:
        return f"linsep has no theorem about {type(learner).__name__}"
    rate, run = getattr(learner, "learning_rate", 1.0), learner.fitted_run()
    if callable(rate) or getattr(learner, "schedule", "constant") != "constant":
        return "its rate is not constant"
    if not SIZES[0] <= float(rate) <= SIZES[1]:
        return f"its rate of {rate:g} is not between 1e-100 and 1e100"
    if getattr(learner, "update", "") == "batch":
        return "the bounds hold for updates at every mistake"
    return "its weights were mixed from shards" if run.mixture is not None else run.obstacle()
