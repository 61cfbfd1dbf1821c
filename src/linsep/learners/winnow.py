"""Winnow and balanced Winnow as scikit-learn estimators."""

from fractions import Fraction
from math import floor, inf, ldexp, log, log2
from typing import Any, ClassVar

import numpy as np

from linsep.compiled.rows import Csr, Dense, Unit, without_duplicates
from linsep.compiled.rules.winnow import BalancedWinnowRule, WinnowRule
from linsep.errors import DataError, ParameterError, hint
from linsep.learners.classifier import LinearClassifier
from linsep.learners.state import Learner, State, Unlearnable
from linsep.parameters import Control, Demonstration, parameter

#: weights are clipped to [1 / this, this]
MOST_WEIGHT = 1e150
#: most promotions that are counted one by one
FEW = 10_000
#: relative rounding error of a weight after millions of updates
DRIFT = 1e-9
#: time limit in seconds of the search for a disjunction
SEARCH_SECONDS = 5.0
LITTLESTONE = (
    "the argument of N. Littlestone, Machine Learning 2 (1988), for weights that are divided, not "
    "dropped"
)
GROVE = (
    "the argument of A. Grove, N. Littlestone and D. Schuurmans, Machine Learning 43 (2001), for "
    "this update"
)
PROMOTION = "factor of weights in an update, for a feature of 1"
CONTROLS = (Control(parameter="promotion", label="Promotion"),)


class Winnow(LinearClassifier):
    """Winnow: multiplicative updates, with a mistake bound logarithmic in irrelevant features.

    Features must be at least 0, and all weights start at 1. A row is positive if <w, x> exceeds the
    threshold; a mistake multiplies each weight by promotion^(y x_j). Weights saturate at 1e150 and
    1e-150. With features of 0 and 1, promotion 2 and threshold d/2, a disjunction of k of d
    features takes less than 3 k log2(d) + 4 mistakes. (The well-known bound 2 k log2(d) + 2 applies
    to Winnow1, which sets a weight to zero where this algorithm, Winnow2, halves it.)

    The other parameters and attributes are the same as for :class:`linsep.Perceptron`. The
    intercept is minus the threshold.

    Parameters
    ----------
    promotion : float above 1, default=2.0
    threshold : float or None, default=None
        None means half the number of features. The native rule for several classes has no
        threshold.

    References
    ----------
    N. Littlestone, Learning quickly when irrelevant attributes abound: a new linear-threshold
    algorithm, Machine Learning 2 (1988), Winnow2.

    Examples
    --------
    >>> from linsep import Winnow
    >>> X = [[1, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 1], [0, 0, 1, 0]]
    >>> w = Winnow(shuffle=False).fit(X, [1, 1, 0, 0])  # the first or the second feature
    >>> w.coef_.tolist(), w.mistakes_.tolist()
    ([[2.0, 2.0, 0.25, 1.0]], [2, 2, 0])
    """

    command_name = "winnow"
    bounded_in_advance, euclidean = True, False
    positive_only = True
    demonstrations = (
        Demonstration(
            name="winnow", title="Winnow", controls=CONTROLS, intercept=False, start=False
        ),
    )

    promotion: float = parameter(default=2.0, above=1.0, help=PROMOTION)
    threshold: float | None = parameter(
        default=None,
        help="score that a positive row exceeds; default: half the number of features",
    )
    fit_intercept: ClassVar[bool] = True  # type: ignore[misc]  # minus the threshold, never learned

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # unless the target is a disjunction of features
        return tags

    def learner(self) -> Learner:
        """Return the learner of these parameters; raise ValueError if they are incompatible."""
        threshold = None if self.threshold is None else float(self.threshold)
        return WinnowLearner(float(self.promotion), threshold)

    @property
    def learns_intercept(self) -> bool:
        """Whether the intercept is trained: it is minus the threshold."""
        return False

    def twin(self) -> Any:
        """Return the rule of :mod:`linsep.textbook` with these parameters."""
        from linsep.teaching.textbook.winnow import Winnow

        return Winnow(self.promotion, self.threshold)

    def theorems(self, case: Any) -> list[Any]:
        """Return the bound for a disjunction of features, or for at least k of r features."""
        from linsep.mistake_bounds.bounding import Theorem

        name = "disjunction" if case.run.majority == 1 else "majority"
        return [Theorem(name, lambda: self._most(case), "mistakes", LITTLESTONE)]

    def _most(self, case: Any) -> float:
        case.only_problem()
        r, k = case.run.literals, case.run.majority
        promotion, threshold = self.premises()
        if case.run.in_advance and k > 1:  # the largest that a bound allows
            promotion = 1 + 1 / (2 * k)
        d = case.X.shape[1] if hasattr(case.X, "shape") else np.shape(case.X)[1]
        theta = d / 2 if threshold is None else threshold
        Z, positive = case.Z[:, :d], case.codes == 1
        X = Z.toarray() if hasattr(Z, "toarray") else Z
        if k > 1:
            check_majority(X, positive, r, k)
            return most_mistakes(d, r, promotion, theta, k)
        chosen = disjunction(X, positive, r)
        return most_mistakes(d, len(chosen) if r is None else r, promotion, theta)

    def premises(self) -> tuple[Any, ...]:
        """Return the parameters that its theorem is about."""
        return float(self.promotion), self.threshold


class BalancedWinnow(LinearClassifier):
    """Winnow with weights of either sign and features of either sign.

    The weights are w = u - v with u = exp(L) and v = exp(-L), so w = 2 sinh(L) starts at 0. A
    mistake adds y x_j ln(promotion) to L_j, also for the constant feature.

    The other parameters and attributes are the same as for :class:`linsep.Perceptron`.

    Parameters
    ----------
    promotion : float above 1, default=2.0
    threshold : float, default=0.0
        Score that a positive row exceeds; ``intercept_`` is the weight of the constant feature
        minus the threshold, which must be 0 without an intercept.

    References
    ----------
    N. Littlestone, Mistake bounds and logarithmic linear-threshold learning algorithms, PhD thesis
    (1989); J. Kivinen and M. Warmuth, Exponentiated gradient versus gradient descent for linear
    predictors, Information and Computation 132 (1997).

    Examples
    --------
    >>> from linsep import BalancedWinnow
    >>> w = BalancedWinnow().fit([[1, -1], [-1, 1], [2, 0]], [1, 0, 1])
    >>> w.predict([[3, -3], [-1, 2]]).tolist(), str(w.stop_reason_)
    ([1, 0], 'converged')
    """

    command_name = "balanced-winnow"
    bounded_in_advance, euclidean = True, False
    demonstrations = (
        Demonstration(
            name="balanced-winnow", title="balanced Winnow", controls=CONTROLS, intercept=False
        ),
    )

    promotion: float = parameter(default=2.0, above=1.0, help=PROMOTION)
    threshold: float = parameter(default=0.0, help="score that a positive row exceeds")

    def learner(self) -> Learner:
        """Return the learner of these parameters; raise ValueError if they are incompatible."""
        if self.threshold and not self.fit_intercept:
            raise ParameterError(
                "The threshold is part of the intercept, which is not fitted",
                hint("leave it at {}", threshold=0),
                hint("set {}", fit_intercept=True),
                code="conflict", option="threshold", value=self.threshold,
            )  # fmt: skip
        return BalancedWinnowLearner(float(self.promotion), float(self.threshold))

    def twin(self) -> Any:
        """Return the rule of :mod:`linsep.textbook` with these parameters."""
        from linsep.teaching.textbook.winnow import BalancedWinnow

        return BalancedWinnow(self.promotion, self.threshold)

    def theorems(self, case: Any) -> list[Any]:
        """Return the bound by the L1 margin, in advance for the best promotion."""
        from linsep.mistake_bounds.bounding import Theorem
        from linsep.mistake_bounds.bounds import Unknown

        def most() -> float:
            problem = case.only_problem()
            if self.threshold:
                raise Unknown("it is stated for threshold 0")
            promotion = None if case.run.in_advance else float(self.promotion)
            return l1_margin_bound(problem, promotion)[0]

        return [Theorem("L1 margin", most, "mistakes", GROVE)]

    def premises(self) -> tuple[Any, ...]:
        """Return the parameters that its theorem is about."""
        return float(self.promotion), float(self.threshold)

    def beyond_floats(self, case: Any) -> str | None:
        """Return why weights may have saturated or steps may have been lost: each mistake changes
        the logarithm of a weight by at most eta X.
        """
        if case.n_classes > 2:
            return None
        problem, mistakes = case.problems[0], case.run.mistakes
        X = float(abs(problem.A).max())
        step = log2(log(float(self.promotion))) + problem.log2(X)
        if mistakes and step + log2(mistakes) > log2(log(MOST_WEIGHT)):
            return f"weights may have reached {MOST_WEIGHT:.0e}, where they are clipped"
        why: str | None = problem.underflow(step + problem.log2(X))
        return why


class WinnowLearner(Learner):
    """Multiplicative updates of weights that start at 1, with a threshold."""

    fill = 1.0

    def __init__(self, promotion: float, threshold: float | None):
        super().__init__(WinnowRule(promotion))
        self.threshold, self.needs_width = threshold, threshold is None

    def begin(self, state: State) -> None:
        """Set the threshold; the native rule has no threshold."""
        threshold = state.n_features / 2 if self.threshold is None else self.threshold
        native = state.n_machines < state.n_columns
        state.W[-1] = 0.0 if native else -threshold

    def check_initial(
        self, coef: np.ndarray | None, intercept: np.ndarray | None, warm: bool
    ) -> None:
        """Raise ValueError unless initial weights are positive and there is no intercept."""
        if coef is not None and not (coef > 0).all():
            raise DataError(
                "coef_init of Winnow must be above 0 everywhere.",
                code="out-of-range", option="coef_init",
            )  # fmt: skip
        if intercept is not None:
            raise ParameterError(
                "Winnow's intercept is minus its threshold: set threshold instead.",
                code="unsupported", option="intercept_init",
            )  # fmt: skip

    def check(self, rows: Dense | Csr | Unit) -> None:
        """Raise Unlearnable for a negative feature."""
        if isinstance(rows, Unit):
            return self.check(rows.rows)
        if isinstance(rows, Csr) and rows.values.size and rows.values.min() < 0:
            rows = without_duplicates(rows)
        if not rows.values.size or not rows.values.min() < 0:  # NaN shows in the score
            return None
        at = tuple(np.argwhere(rows.values < 0)[0].tolist())
        if isinstance(rows, Dense):
            row, column = at
        else:
            row = int(np.searchsorted(rows.starts, at[0], side="right")) - 1
            column = int(rows.columns[at[0]])
        value = rows.values[at]
        raise Unlearnable(
            row,
            f"Negative values in data: {{feature}} is {value:g}, but Winnow needs features of at "
            f"least 0; use the balanced Winnow, or shift the feature",
            column,
            "out-of-range",
        )


class BalancedWinnowLearner(Learner):
    """Multiplicative updates of weights of either sign that start at 0."""

    def __init__(self, promotion: float, threshold: float):
        super().__init__(BalancedWinnowRule(promotion, threshold))
        self.threshold = threshold

    def begin(self, state: State) -> None:
        """Subtract the threshold from the weight of the constant feature."""
        if self.threshold and state.n_machines < state.n_columns:
            raise ParameterError(
                "The native rule compares the scores of classes and has no threshold",
                hint("leave it at {}", threshold=0),
                hint("choose {}", multiclass="ovr"),
                hint("{}", multiclass="ovo"),
                code="conflict", option="threshold", value=self.threshold,
            )  # fmt: skip
        state.W[-1] -= self.threshold


def most_mistakes(d: int, r: int, promotion: float, threshold: float, k: int = 1) -> float:
    """Return the bound for Winnow on "at least k of r" of d binary features, from weights of 1.

    A promotion multiplies at least k of the r weights, each at most the threshold, and a demotion
    divides at most k - 1: with L = floor(log_a(theta)) + 1, u promotions and v demotions, k u - (k
    - 1) v <= r L. A promotion adds at most (a - 1) theta to the sum of all weights, d at first; a
    demotion subtracts at least (1 - 1/a) theta, and the sum stays above 0: v is less than a d / ((a
    - 1) theta) + a u. Both limit u if k > (k - 1) a; for a disjunction (k = 1) to r L. Since
    weights are clipped at 1 / MOST, a demotion may subtract only (1 - 1/a) (theta - a d / MOST).
    """
    from linsep.mistake_bounds.bounds import Unknown
    from linsep.mistake_bounds.rounding import float_above

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
    """Return how often a weight of 1 can be multiplied, at most, until it exceeds the threshold."""
    from flint import arb

    from linsep.mistake_bounds.bounds import Unknown
    from linsep.mistake_bounds.rounding import as_ball, balls, float_above, parameter_readings

    estimate = log(threshold) / log(promotion)
    if estimate < FEW:  # in floats and in real numbers
        weight, whole, times = 1.0, 0, 0
        while weight <= threshold:
            weight, times = weight * promotion, times + 1
        a, theta = parameter_readings(promotion)[1], parameter_readings(threshold)[1]
        while a**whole <= theta:
            whole += 1
        return max(times, whole)
    with balls():  # the relative error of a float product is 2^-53
        ratios = [
            as_ball(theta).log() / (as_ball(a).log() - arb(2) ** -52)
            for theta, a in zip(
                parameter_readings(threshold), parameter_readings(promotion), strict=True
            )
        ]
        if not all(ratio > 0 for ratio in ratios):
            raise Unknown("a promotion so close to 1 is lost in rounding")
        return max(floor(float_above(ratio)) + 1 for ratio in ratios)


def disjunction(X: np.ndarray, positive: np.ndarray, most: int | None = None) -> list[int]:
    """Return a small set of features, at least one of which is on in every positive row and none in
    a negative row.

    Greedy, since the fewest are NP-hard to find and any disjunction gives a valid bound. If the
    result has more than ``most`` features, an integer program searches for fewer.
    """
    from linsep.mistake_bounds.bounds import Unknown

    if not np.isin(X, (0.0, 1.0)).all():
        raise Unknown("features are not all 0 or 1")
    allowed = ~(X[~positive] > 0).any(axis=0)
    left, chosen = X[positive] * allowed, []
    while len(left):
        counts = left.sum(axis=0)
        best = int(counts.argmax())
        if not counts[best]:
            raise Unknown("no disjunction of features is true of exactly the positive rows")
        chosen.append(best)
        left = left[left[:, best] == 0]
    if most is not None and len(chosen) > most:
        chosen = _fewest(X[positive], np.flatnonzero(allowed), most)
    return chosen


def check_majority(X: np.ndarray, positive: np.ndarray, r: int, k: int) -> None:
    """Raise Unknown unless at least k of some r features are on in exactly the positive rows."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    from linsep.mistake_bounds.bounds import Unknown

    if not np.isin(X, (0.0, 1.0)).all():
        raise Unknown("features are not all 0 or 1")
    asked = [
        LinearConstraint(np.ones((1, X.shape[1])), lb=r, ub=r),
        LinearConstraint(np.where(positive[:, None], -X, X), ub=np.where(positive, -k, k - 1)),
    ]
    found = milp(
        np.zeros(X.shape[1]), constraints=asked, integrality=np.ones(X.shape[1]),
        bounds=Bounds(0, 1), options={"time_limit": SEARCH_SECONDS},
    )  # fmt: skip
    on = np.zeros(len(X)) if found.x is None else X[:, found.x > 0.5].sum(axis=1)
    if found.x is None or (found.x > 0.5).sum() != r or not np.array_equal(on >= k, positive):
        raise Unknown(
            f"no {r} features are known such that exactly the positive rows have {k} or more of "
            f"them on"
        )


def _fewest(rows: np.ndarray, allowed: np.ndarray, most: int) -> list[int]:
    """Return at most ``most`` of the allowed features, at least one of which is on in every row."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    from linsep.mistake_bounds.bounds import Unknown

    covering = LinearConstraint(rows[:, allowed], lb=1)
    found = milp(
        np.ones(allowed.size), constraints=covering, integrality=np.ones(allowed.size),
        bounds=Bounds(0, 1), options={"time_limit": SEARCH_SECONDS},
    )  # fmt: skip
    chosen = [] if found.x is None else allowed[found.x > 0.5].tolist()
    if not chosen or len(chosen) > most or not (rows[:, chosen] > 0).any(axis=1).all():
        features = "feature" if most == 1 else "features"
        raise Unknown(f"no disjunction of {most} {features} is known to be true of these rows")
    return chosen


def l1_margin_bound(problem: Any, promotion: float | None) -> tuple[float, float]:
    """Return the bound for balanced Winnow, and its promotion (None: the best for the margin).

    With eta = ln(promotion), X = max |z_j|, D weights and a target of L1 length 1 and margin gamma:
    P = sum of u_j + v_j starts at 2 D and by convexity of exp grows at most cosh(eta X) times a
    mistake, while the log of its largest term is at least eta gamma times the mistakes. So M <=
    ln(2 D) / (eta gamma - ln cosh(eta X)); with eta = gamma / X^2, 2 X^2 ln(2 D) / gamma^2.
    """
    from flint import arb

    from linsep.mistake_bounds.bounding import l1_margin
    from linsep.mistake_bounds.bounds import Unknown
    from linsep.mistake_bounds.rounding import balls, float_above

    A = problem.A
    largest, gamma = float(abs(A).max()), l1_margin(problem)
    with balls():
        # The rows are A times a power of two, which scales the rate.
        power = arb(2) ** problem.exponent
        best = arb(gamma) / (arb(largest) ** 2 * power)
        eta = arb(best.mid()) if promotion is None else arb(promotion).log()
        gain = eta * power * arb(gamma) - (eta * power * arb(largest)).cosh().log()
        if not gain.lower() > 0:
            raise Unknown(
                f"the L1 margin {ldexp(gamma, problem.exponent):.4g} allows a bound only for "
                f"small promotions; the best is 1 + {float(best.expm1().mid()):.3g}"
            )
        most = float_above(arb(2 * A.shape[1]).log() / gain)
        return most, inf if eta > 700 else float(eta.exp().mid())
