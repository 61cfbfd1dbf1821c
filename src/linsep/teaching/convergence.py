"""The two quantities of Novikoff's proof, update by update."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from linsep.errors import ArgumentError, DataError
from linsep.estimators.frames import in_memory
from linsep.estimators.labels import codes_given
from linsep.layout import table_lines, wrapped
from linsep.learners.margin import MarginPerceptron
from linsep.learners.perceptron import Perceptron
from linsep.mistake_bounds.bounds import length
from linsep.mistake_bounds.margins import seen_rows
from linsep.mistake_bounds.theorems import Problem, best_comparator, problems_of
from linsep.teaching.tables import short_number
from linsep.teaching.trace_table import TraceRow
from linsep.teaching.tracing import trace
from linsep.validation.checks import labels_of
from linsep.words import a

#: shorter weights than that are those of rounding
LEAST_LENGTH = 1e-100
#: smallest square of a length whose multiples and parts have all their digits
SMALLEST_SQUARE = 1e-280
HEADS = ("mistake", "round", "row", "<w, u>", "at least", "||w||", "at most", "cos", "alpha")


@dataclass(frozen=True, eq=False)
class Convergence:
    """Growth of a perceptron's weights w along a separator u, and in norm.

    With an intercept, all vectors refer to z = [x; 1], the intercept last. Every mistake adds at
    least ``rate * gamma`` to <w, u>, and at most ``(rate * longest)^2`` to ||w||^2. As <w, u> is at
    most ||w||, the number of mistakes is limited. An update of a margin perceptron with the target
    t adds at most (1 - epsilon) t + 1 / (2 ||w||) to ||w|| (Blum's theorem 3).

    Attributes
    ----------
    rounds, rows : int arrays of shape (mistakes,)
        The step of each mistake, counted from 1, and its row.
    products, least : arrays of shape (mistakes + 1,)
        <w, u> at the start and after each mistake, and its lower bound in the proof.
    lengths, most : arrays of shape (mistakes + 1,)
        ||w||, and its upper bound in the proof: of a margin perceptron after the weights before.
    cosines, angles : arrays of shape (mistakes + 1,)
        cos(alpha) = <w, u> / ||w||, and alpha in degrees; NaN for zero weights.
    comparator : array
        u, of length 1.
    gamma : float
        The margin of u. If u does not separate the rows, it is 1 / ||w*|| for the weights w* of the
        hinge losses, and ``least`` is reduced by the shortfalls of the rows with mistakes.
    longest : float
        R, the length of the longest z.
    rate : float
    separates : bool
        Whether u separates the rows.
    limit : float or None
        Number of mistakes at which ``least`` reaches ``most``: (R / gamma)^2 from zero weights, of
        a margin perceptron 2 / (epsilon gamma)^2 if the target is gamma. None if u does not
        separate the rows with the target.
    target, epsilon : float or None
        Those of a margin perceptron.

    ``print(convergence)`` shows a table.
    """

    rounds: np.ndarray
    rows: np.ndarray
    products: np.ndarray
    least: np.ndarray
    lengths: np.ndarray
    most: np.ndarray
    comparator: np.ndarray
    gamma: float
    longest: float
    rate: float
    separates: bool
    target: float | None = None
    epsilon: float = 0.5

    @property
    def cosines(self) -> np.ndarray:
        """<w, u> / ||w||."""
        with np.errstate(invalid="ignore"):
            return np.clip(self.products / self.lengths, -1.0, 1.0)

    @property
    def angles(self) -> np.ndarray:
        """The angle between w and u, in degrees."""
        return np.degrees(np.arccos(self.cosines))

    @property
    def limit(self) -> float | None:
        """The number of mistakes at which ``least`` reaches ``most``."""
        if not self.separates or (self.target or 0.0) > self.gamma:
            return None
        if self.target is not None:
            low, high = (float(curve) for curve in self.curves(0.0))
            return (high - low) / (self.gamma - (1 - self.epsilon / 2) * self.target)
        unit = self.rate * self.longest  # in which no square underflows
        a, b, gamma = self.least[0] / unit, self.lengths[0] / unit, self.gamma / self.longest
        half = 0.5 - a * gamma
        root = np.hypot(half, gamma * np.sqrt(max(0.0, (b - a) * (b + a))))
        with np.errstate(over="ignore"):
            return float((half + root) / np.float64(gamma) / gamma)

    def curves(self, mistakes: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return ``least`` and ``most`` for any numbers of mistakes, if u separates the rows."""
        k = np.asarray(mistakes, dtype=np.float64)
        least = self.least[0] + self.rate * self.gamma * k
        if self.target is not None:  # once ||w|| is 1 / (epsilon t), it grows by no more than this
            first = max(float(self.lengths[0]), 1 / (self.epsilon * self.target))
            return least, first + (1 - self.epsilon / 2) * self.target * k
        return least, np.sqrt(self.lengths[0] ** 2 + (self.rate * self.longest) ** 2 * k)

    def __str__(self) -> str:
        bounds = self.products, self.least, self.lengths, self.most
        numbers = *bounds, self.cosines, self.angles.round(4)
        places = [("", ""), *zip(self.rounds.tolist(), (self.rows + 1).tolist(), strict=True)]
        lines: list[tuple[str, ...]] = [HEADS]
        for k, (place, *values) in enumerate(zip(places, *numbers, strict=True)):
            shown = ("" if np.isnan(v) else short_number(float(v)) for v in values)
            lines.append((str(k), *map(str, place), *shown))
        texts = table_lines(lines, [True] * len(HEADS))
        end = "u does not separate the rows" + " with the target" * self.separates
        if self.limit is not None:
            end = f"at least exceeds at most beyond {int(self.limit):,} mistakes"
        about = f"R {short_number(self.longest)}, gamma {short_number(self.gamma)}"
        return "\n".join([*texts, *wrapped(f"{about}: {end}")])


def convergence(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    weights: Any = None,
    coef_init: Any = None,
    intercept_init: Any = None,
    max_rounds: int = 1000,
) -> Convergence:
    """Return the quantities of Novikoff's convergence proof after every mistake of a perceptron, or
    of the proof for the margin perceptron.

    Parameters
    ----------
    estimator : Perceptron or MarginPerceptron
        With a constant rate or a number as gamma, updates at every mistake and no class weights;
        its parameters are used as in :func:`linsep.trace`.
    X : array or sparse matrix of shape (rows, features)
    y : array of shape (rows,)
        Two classes.
    weights : array of shape (features,), or with the intercept (features + 1,); default=None
        The comparator u, of any length. None uses the separator of widest margin or, for
        inseparable rows, the comparator of the best hinge bound.
    coef_init, intercept_init : initial weights, as for the ``fit`` of the estimator
    max_rounds : int, default=1000
        Number of examples after which the run is stopped.

    Returns
    -------
    Convergence

    Raises
    ------
    TypeError
        If the estimator is not a perceptron.
    ValueError
        For other rates, updates, classes or weights, and as in :func:`linsep.trace`.

    References
    ----------
    A. Novikoff, On convergence proofs for perceptrons (1962); A. Blum, Machine Learning Theory,
    lecture 4 (2014), theorem 3.

    Examples
    --------
    >>> from linsep import Perceptron, convergence, datasets
    >>> X, y = datasets.load_four_points(return_X_y=True)
    >>> print(convergence(Perceptron(fit_intercept=False, shuffle=False), X, y, weights=[1, -3]))
    mistake  round  row   <w, u>  at least    ||w||  at most       cos    alpha
          0                    0         0        0        0
          1      1    1  1.26491  0.632456        4        4  0.316228  71.5651
          2      2    2  1.89737   1.26491  3.16228  5.65685       0.6  53.1301
          3      4    4  3.16228   1.89737  3.16228   6.9282         1        0
    R 4, gamma 0.632456: at least exceeds at most beyond 40 mistakes
    """
    _check_provable(estimator)
    X, y, *_ = in_memory(X, y)
    made = trace(
        estimator, X, y, coef_init=coef_init, intercept_init=intercept_init,
        max_rounds=max_rounds, row_names=range(len(labels_of(y))),
    )  # fmt: skip
    classes, codes = np.unique(labels_of(y), return_inverse=True)
    if len(classes) != 2:
        raise DataError(
            f"The proof needs two classes, but y has {len(classes)}.", code="class-count"
        )
    margin = isinstance(estimator, MarginPerceptron)
    rows = seen_rows(X, bool(estimator.fit_intercept), bool(estimator.normalize), margin)
    codes = codes_given(estimator, classes, codes)
    (problem,) = problems_of(rows, codes, 2, "native")
    u, gamma = _comparator(problem, weights, made[-1].pass_number, bool(estimator.fit_intercept))
    mistakes = [one for one in made if one.updates]
    W = _weights_of(made[:], mistakes)[:, not estimator.fit_intercept :]
    W = np.roll(W, -1, axis=1) if estimator.fit_intercept else W
    learned = [int(one.row) for one in mistakes]
    longest, rate = problem.longest, float(getattr(estimator, "learning_rate", 1.0))
    gains = np.minimum(gamma, np.asarray(problem.A[learned] @ u))
    with np.errstate(over="ignore", invalid="ignore"):
        products, lengths = W @ u, np.linalg.norm(W, axis=1)
        growth = np.square(rate * longest) * np.arange(len(mistakes) + 1)
    if not np.isfinite([lengths.max(), growth[-1]]).all():
        raise DataError(
            "The squared length of the weights overflows float64: choose a smaller learning rate "
            "or scale the features.",
            code="overflow",
        )
    most, more = np.sqrt(lengths[0] ** 2 + growth), tuple[float, ...]()
    if margin:
        target, epsilon = more = float(estimator.gamma), float(estimator.epsilon)
        before = np.maximum(lengths[:-1], LEAST_LENGTH)
        added = (1 - epsilon) * target + 1 / (2 * before)
        most[1:] = np.where(lengths[:-1] > 0, before + added, 1.0)
    found = Convergence(
        np.array([one.round for one in mistakes], dtype=int), np.array(learned, dtype=int),
        products,
        products[0] + rate * np.append(0.0, np.cumsum(gains)), lengths,
        most, u, gamma, longest, rate, problem.margin is not None, *more,
    )  # fmt: skip
    if np.square(rate * longest) >= SMALLEST_SQUARE and found.limit != np.inf:
        return found
    raise DataError(
        "The squares of the rows, or of their margin, underflow float64: scale the features.",
        code="overflow",
    )


def _check_provable(estimator: Any) -> None:
    """Raise unless the proof covers this learner."""
    if not isinstance(estimator, Perceptron | MarginPerceptron):
        raise ArgumentError(f"The proof covers a Perceptron, not {a(type(estimator).__name__)}.")
    why = None
    if isinstance(estimator, MarginPerceptron):
        why = "a number as gamma" if estimator.gamma == "auto" else None
    elif estimator.update == "batch":
        why = "updates at every mistake: omit update='batch'"
    elif callable(estimator.learning_rate) or estimator.schedule != "constant":
        why = "a constant rate: omit the schedule"
    if estimator.class_weight is not None:
        why = "equal class weights: omit class_weight"
    if why is not None:
        raise DataError(f"The proof needs {why}.", code="unsupported")


def _comparator(
    problem: Problem, weights: Any, passes: int, fit_intercept: bool
) -> tuple[np.ndarray, float]:
    """The unit vector u, and gamma."""
    width = problem.A.shape[1]
    given = None if weights is None else np.ravel(np.asarray(weights, dtype=np.float64))
    if given is not None:
        if fit_intercept and given.size == width - 1:
            given = np.append(given, 0.0)
        if given.size != width or not np.isfinite(given).all() or not given.any():
            raise DataError(
                f"weights must be {width} finite numbers, not all zero, with the intercept last "
                f"if it is fitted: got shape {np.shape(weights)}.",
                code="bad-option",
                option="weights",
            )
        problem.supposed = given
    if problem.margin is not None:
        return problem.separator / length(problem.separator), problem.margin[0]
    if given is None:
        given = best_comparator(problem, 2 * passes / problem.square).w
        if not given.any():
            raise DataError(
                "The best hinge bound of these rows has zero weights: pass the weights for the "
                "comparison.",
                code="needs-option",
                option="weights",
            )
    return given / length(given), 1 / length(given)


def _weights_of(rounds: list[TraceRow], mistakes: list[TraceRow]) -> np.ndarray:
    """The weights at the start and after each mistake, the intercept first."""
    start = np.subtract(rounds[0].weights[0], rounds[0].change[0])
    return np.array([start, *(one.weights[0] for one in mistakes)])
