"""What a logistic regression is if its likelihood seems to have no maximum: whether that is so, and
the limit.

Along a direction with no row on the wrong side the likelihood keeps growing. In the limit the rows
on the right side have probability 1 and no information; those on the boundary determine the
coefficients that stay finite (Albert and Anderson 1984; Geyer 2009: the limiting conditional
model).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep._system.interrupts import interruption_point, interrupts_allowed
from linsep.batches import Batch, weighed
from linsep.certificate.checking import TIME_LIMIT
from linsep.certificate.numbers import padded
from linsep.certificate.verdicts import QuasiSeparable, Separable, Separations, Undecided, Verdict
from linsep.logistic.fitting import Fit, resume, sharpened
from linsep.logistic.inference import FAR
from linsep.logistic.outcomes import FitOutcome, Steps
from linsep.logistic.rows import MOST_WEIGHTS as MOST_FACTORED, UNSIGNED, BatchRows, Rows, Task
from linsep.separability.data import Data, LocalData, data_of
from linsep.separability.deciding import separated_by, separation
from linsep.separability.recession import Cone, both_signs, cone_of
from linsep.separability.search import MOST_WEIGHTS
from linsep.separability.time_limit import Task as Timed, TooLarge, limited

#: difference of scores that saturates the probabilities
CERTAIN = 40.0
#: a difference of scores below this share of their terms counts as zero
TIE = 1e-9


@dataclass(frozen=True)
class Limit:
    """The limit of the likelihood.

    Attributes
    ----------
    weights : array of shape (q, width)
        Finite coefficients are estimates; diverging ones are set large enough to saturate separated
        rows.
    limits : array of str of shape (q, width): "finite", "+inf", "-inf", "infinite",
        "sign not checked" or "not checked"
    log_likelihood : float, the supremum
    covariance : array of shape (q width, q width), NaN for estimates that are not finite
    at : array of shape (q,), the scores at the centre
    """

    weights: np.ndarray
    limits: np.ndarray
    log_likelihood: float
    covariance: np.ndarray
    at: np.ndarray


def question_weights(weights: np.ndarray, order: list[int]) -> np.ndarray:
    """Return weights of a regression as those of a verdict, which :class:`Contrasts` converts back.

    Parameters
    ----------
    weights : array of shape (q, width)
    order : class codes in the order of the regression, the reference last
    """
    every = np.zeros((len(order), weights.shape[1]))
    every[order[:-1]] = weights
    return (every[1] - every[0] if len(order) == 2 else every[:-1] - every[-1]).ravel()


class Contrasts:
    """Converts a verdict's weights to those of a regression: differences from the reference.

    Parameters
    ----------
    verdict : for two classes, or of the multinomial formulation
    data : its data, from :func:`linsep.separability.data.data_of`
    order : class codes in the order of the regression, the reference last
    """

    def __init__(self, verdict: Any, data: Data, order: list[int], width: int):
        self.verdict, self.data, self.order, self.width = verdict, data, order, width
        two = len(order) == 2
        self.block = {1: 0} if two else {code: code for code in range(len(order) - 1)}

    def functional(self, row: int, j: int) -> dict[int, int]:
        """Return a weight of the regression as a combination of the verdict's weights."""
        sides = ((self.order[row], 1), (self.order[-1], -1))
        return {self.block[c] * self.width + j: s for c, s in sides if c in self.block}

    def of(self, number: Any, centre: np.ndarray) -> np.ndarray:
        """Convert numbers per weight of the verdict to an array like the regression's weights, with
        intercepts at the centre, which are exact.
        """
        found = [
            [sum(s * number(i) for i, s in self.functional(row, j).items()) for j in self._all()]
            for row in range(len(self.order) - 1)
        ]
        for j in np.flatnonzero(centre).tolist():
            for line in found:
                line[-1] += Fraction(line[j]) * Fraction(float(centre[j]))
        top = max((abs(x) for line in found for x in line), default=0) or 1
        return np.array([[float(x / top) for x in line] for line in found])

    def _all(self) -> range:
        return range(self.width)

    def _n_moving(self) -> int:
        """Return how many weights of the verdict are not zero; those of columns of zeros are."""
        if isinstance(self.verdict, QuasiSeparable):
            return len(self.verdict.direction)
        return sum(int(np.count_nonzero(row)) for row in self.verdict.coef)

    def direction(self, centre: np.ndarray) -> np.ndarray:
        """Return a direction along which the likelihood keeps growing, scaled to maximum 1, with
        intercepts at the centre.
        """
        verdict = self.verdict
        if isinstance(verdict, QuasiSeparable):
            return self.of(lambda i: verdict.direction.get(i, 0), centre)
        d = verdict.subject.n_features
        flat: list[Any] = []
        for row, b in zip(verdict.coef, verdict.intercept, strict=True):
            flat += [*row[:d], *([b] if verdict.subject.fit_intercept else [])]
        return self.of(lambda i: flat[i], centre)

    def limits(self) -> np.ndarray:
        """Return the limit of every weight, "not checked" after the time limit.

        Of more than 2,500 weights no sign is looked for. Where the classes are separable, there is
        room for every weight to diverge.
        """
        limits = np.full((len(self.order) - 1, self.width), "not checked", dtype="U16")
        many = self._n_moving() > MOST_FACTORED
        if many and isinstance(self.verdict, Separable):
            limits[:] = UNSIGNED
            return limits
        places = list(np.ndindex(*limits.shape))
        functions = [self.functional(row, j) for row, j in places]
        try:
            if many:
                inside = self.verdict.space.holds
                for place, function in zip(places, functions, strict=True):
                    limits[place] = "finite" if inside(function) else UNSIGNED
                return limits
            cone = cone_of(self.verdict, self.data)
            both = both_signs(self.data, cone.working.question, functions)
            for place, function, free in zip(places, functions, both, strict=True):
                limits[place] = _limit_of(cone, function, free)
        except TooLarge:  # those found so far are valid
            return limits
        return limits


def _limit_of(cone: Cone, function: dict[int, int], both: bool) -> str:
    """Return the limit of a linear function of the weights; ``both``: it seems to have both signs.

    In that case nothing has to be proved: "infinite" claims no sign.
    """
    if not cone.boundary.remainder(function):
        return "finite"
    if both:
        return "infinite"
    try:
        sign = cone.sign(function)
    except TooLarge:
        return UNSIGNED
    return "infinite" if sign is None else "+inf" if sign.value > 0 else "-inf"


def proves(verdict: Verdict) -> bool:
    """Return whether the verdict proves that the likelihood has no maximum."""
    return isinstance(verdict, Separable | QuasiSeparable)


def limit(
    contrasts: Contrasts, Z: np.ndarray, codes: np.ndarray, weights: np.ndarray, last: np.ndarray,
    centre: np.ndarray,
) -> Limit:  # fmt: skip
    """Compute the limit of the regression.

    Parameters
    ----------
    contrasts : of a verdict on these rows, Separable or QuasiSeparable
    Z : array of shape (rows, width)
        The rows less the centre, with a 1 for the intercept.
    codes : array of shape (rows,), index of each row's class in the order of the contrasts
    weights : array of shape (rows,)
    last : array of shape (q, width)
        The weights of the last iteration, with intercepts at the centre.
    centre : array of shape (features,), zeros without an intercept
    """
    verdict, order = contrasts.verdict, contrasts.order
    direction, limits = contrasts.direction(centre), contrasts.limits()
    rows = np.arange(len(Z))
    scores = np.column_stack([Z @ direction.T, np.zeros(len(Z))])
    size = np.column_stack([np.abs(Z) @ np.abs(direction).T, np.zeros(len(Z))])
    own = scores[rows, codes]
    reach = TIE * (size.max(axis=1, keepdims=True) + 1e-300)
    behind = own[:, None] - scores > reach
    if len(order) == 2 and isinstance(verdict, QuasiSeparable):  # the verdict is exact in this case
        behind[:] = False
        behind[rows, 1 - codes] = True
        behind[list(verdict.boundary)] = False
    if isinstance(verdict, Separable) and _separates(last, Z, codes):
        covariance = np.full((limits.size, limits.size), np.nan)
        return _with_raw_intercepts(last, limits, 0.0, covariance, centre)
    B, value, covariance = conditional(Z, codes, weights, ~behind)
    if isinstance(verdict, Separable):  # in exact arithmetic, whatever floats can tell apart
        value = 0.0
    eta = np.column_stack([Z @ B.T, np.zeros(len(Z))])
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = (CERTAIN - (eta[rows, codes][:, None] - eta)) / (own[:, None] - scores)
    far = max(0.0, float(needed[behind].max(initial=0.0)))
    fixed = limits == "finite"
    if centre.any():  # the scores there may grow though those at zero do not
        fixed[:, -1] = False
    return _with_raw_intercepts(
        np.where(fixed, B, B + far * direction), limits, value, covariance, centre
    )


def _with_raw_intercepts(
    W: np.ndarray, limits: np.ndarray, value: float, covariance: np.ndarray, centre: np.ndarray
) -> Limit:
    """Return a limit whose intercepts are at the centre with those at zero."""
    at = W[:, -1].copy()
    if centre.any():
        back = np.eye(W.shape[1])
        back[-1, :-1] = -centre
        T = np.kron(np.eye(len(W)), back)
        covariance = np.asarray(T @ covariance @ T.T)
        W = W.copy()
        W[:, -1] = at - W[:, :-1] @ centre
    out = (limits != "finite").ravel()
    covariance[out] = covariance[:, out] = np.nan
    return Limit(W, limits, value, covariance, at)


def _separates(W: np.ndarray, Z: np.ndarray, codes: np.ndarray) -> bool:
    """Return whether the class of every row has the highest score."""
    scores = np.column_stack([Z @ W.T, np.zeros(len(Z))])
    own = scores[np.arange(len(Z)), codes].copy()
    scores[np.arange(len(Z)), codes] = -np.inf
    return bool((own > scores.max(axis=1)).all())


def conditional(
    Z: np.ndarray, codes: np.ndarray, weights: np.ndarray, allowed: np.ndarray
) -> tuple[np.ndarray, float, np.ndarray]:
    """Maximise the likelihood if each row can only belong to some classes.

    Weights that the rows do not determine have minimum norm in standardised features.

    Parameters
    ----------
    Z : array of shape (rows, width)
    codes : array of shape (rows,); the code of the reference is q
    weights : array of shape (rows,)
    allowed : array of bool of shape (rows, q + 1)

    Returns
    -------
    weights of shape (q, width), their log-likelihood, the pseudo-inverse of their information
    """
    used = (allowed.sum(axis=1) > 1) & (weights > 0)
    Z, codes, weights, allowed = Z[used], codes[used], weights[used], allowed[used]
    q, width = allowed.shape[1] - 1, Z.shape[1]
    scale = np.sqrt((Z**2).mean(axis=0)) if len(Z) else np.ones(width)
    scale = np.where(scale > 0, scale, 1.0)
    Z = Z / scale
    B = np.zeros((q, width))
    value, slope, H = _conditional_terms(Z, codes, weights, allowed, B)
    for _ in range(100):
        interruption_point()
        step = (_regular_inverse(H) @ slope.ravel()).reshape(q, width)
        gain = float((step * slope).sum())
        if gain <= 1e-18:
            break
        for halving in range(40):
            there = _conditional_terms(Z, codes, weights, allowed, B + step / 2**halving)
            if there[0] >= value - 1e-13 * max(1.0, -value):
                break
        B, (value, slope, H) = B + step / 2**halving, there
    back = np.tile(1.0 / scale, q)
    return B / scale, value, _regular_inverse(H) * back * back[:, None]


def _regular_inverse(H: np.ndarray) -> np.ndarray:
    """Return the pseudo-inverse: the inverse on the space with information."""
    return np.linalg.pinv(H, rcond=1e-10, hermitian=True) if H.any() else np.zeros_like(H)


def _conditional_terms(
    Z: np.ndarray, codes: np.ndarray, weights: np.ndarray, allowed: np.ndarray, B: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray]:
    """Return the log-likelihood, its gradient and the information."""
    q, width = B.shape
    scores = np.column_stack([Z @ B.T, np.zeros(len(Z))])
    scores[~allowed] = -np.inf
    scores -= scores.max(axis=1, keepdims=True, initial=-1e300)
    P = np.exp(scores)
    sums = P.sum(axis=1, keepdims=True)
    P /= sums
    rows = np.arange(len(Z))
    value = float((weights * (scores[rows, codes] - np.log(sums[:, 0]))).sum())
    own = np.zeros_like(P)
    own[rows, codes] = 1.0
    slope = (weights[:, None] * (own - P)[:, :q]).T @ Z
    H = np.empty((q, width, q, width))
    for k in range(q):
        for m in range(q):
            H[k, :, m, :] = Z.T @ (Z * (weights * P[:, k] * (float(k == m) - P[:, m]))[:, None])
    return value, slope, H.reshape(q * width, q * width)


class VerdictData(NamedTuple):
    """The data of a verdict on a likelihood that seems to have no maximum.

    Attributes
    ----------
    task : Task
    data : Data
    columns : int array, the numbers of the weights of each class that the verdict is about
    order : class codes of the data in the order of the regression, the reference last
    rows : the rows in memory, or None
    dependent : bool, whether some of the columns are exact linear combinations of others
    """

    task: Task
    data: Data
    columns: np.ndarray
    order: list[int]
    rows: Rows | None
    dependent: bool

    @property
    def quick(self) -> bool:
        """Whether the search for a separator is quick; it also bounds the margin."""
        few = self.task.q == 1 and len(self.columns) <= MOST_WEIGHTS
        return self.rows is not None and few

    def contrasts(self, verdict: Any) -> Contrasts:
        """Return the converter from the weights of a verdict."""
        return Contrasts(verdict, self.data, self.order, len(self.columns))

    def by_weights(self, fit: Fit) -> Any:
        """Return the verdict that the weights of the fit prove, or None."""
        weights = question_weights(fit.weights[:, self.columns], self.order)
        with interrupts_allowed():
            return separated_by(self.data, weights, self.task.intercept)

    def by_search(self) -> Any:
        """Return the multinomial verdict; Ctrl-C takes effect at any time."""
        joint = ("multinomial",)
        with interrupts_allowed():
            answer: Any = separation(
                self.data, fit_intercept=self.task.intercept, formulations=joint
            )
        return answer.multinomial if isinstance(answer, Separations) else answer


def outcome_of_suspect(
    task: Task, given: Rows | BatchRows, fit: Fit, limits: np.ndarray, steps: Steps
) -> FitOutcome:
    """Decide separability; if there is a maximum, go on maximising, else compute the limit.

    With too many weights for a Hessian, or more rows than a source may keep in memory, the weights
    of the last iteration stay. Exactly dependent features are left out of the verdict; nearly
    dependent ones are not, because they may separate the classes.

    Unless a search is quick, the weights at hand are checked exactly first, in one pass. The
    search, with the limit of the weights, takes no longer than the time limit of a verdict.
    """
    steps.suspect = fit.outcome(limits)
    asked = _verdict_data(task, given, fit)
    if asked is None:
        return fit.without_proof(limits)
    verdict = None if asked.quick else asked.by_weights(fit)
    if verdict is None and asked.dependent:
        return fit.without_proof(limits)
    with limited(Timed(TIME_LIMIT)):
        verdict = verdict or asked.by_search()
        if proves(verdict):
            return _without_maximum(asked, fit, limits, verdict)
    steps.suspect = None
    if fit.reason == "suspect":
        fit = resume(task, fit, steps)
    if not isinstance(verdict, Undecided):
        sharp = None
        if task.factored and fit.reason in ("converged", "stuck"):
            fit, sharp = sharpened(task, fit)
        return replace(fit.outcome(limits), verdict=verdict, sharpness=sharp)
    separated = asked.by_weights(fit)
    if separated is None:
        return replace(fit.without_proof(limits), verdict=verdict, reason="undecided")
    with limited(Timed(TIME_LIMIT)):
        return _without_maximum(asked, fit, limits, separated)


def _verdict_data(task: Task, given: Rows | BatchRows, fit: Fit) -> VerdictData | None:
    """Return the data to decide about; None if they are not those of the fit."""
    rows, order = given.in_memory(task), given.known.ranks
    dependent = exactly_dependent(fit)
    if rows is not None:
        counted = rows.counted()
        kept = np.setdiff1d(np.arange(task.n_features), dependent)
        everything = len(counted) == len(rows.places) and len(kept) == task.n_features
        # keeps the names of a data frame
        named = everything and hasattr(rows.given, "columns")
        X = rows.given if named else rows.X if everything else rows.X[counted][:, kept]
        data = data_of(X, rows.known.labels[rows.places[counted]])
        columns = np.concatenate([kept, [task.n_features] * task.intercept]).astype(int)
        return VerdictData(task, data, columns, order, rows, False)
    assert isinstance(given, BatchRows)
    with interrupts_allowed():
        data = data_of_batches(given) if given.source is None else data_of(given.source)
    if len(data.classes) != len(order):  # a weight of 0 leaves out a class that the data have
        return None
    # columns of a source cannot be left out; those of zeros, as in very many, need not be
    return VerdictData(
        task, data, np.arange(task.width), order, None, task.factored and bool(dependent)
    )


def _around(task: Task, fit: Fit, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights of some columns around a centre, which is zero but for columns that are
    far from zero against their spread.
    """
    weights, kept = fit.weights[:, columns], columns[: len(columns) - task.intercept]
    if fit.around is None:
        return weights, np.zeros(len(kept))
    (middle, at), scales = fit.around, fit.standardization.scales
    centre = np.where(np.abs(middle * scales) > FAR, middle, 0.0)
    near = np.where(centre, 0.0, middle)
    if centre.any():
        weights[:, -1] = at - fit.weights[:, : task.n_features] @ near
    return weights, centre[kept]


def exactly_dependent(fit: Fit) -> list[int]:
    """Return the features that are exact linear combinations of others."""
    return sorted(set(fit.standardization.dependent) - set(fit.standardization.nearly))


def _without_maximum(asked: VerdictData, fit: Fit, limits: np.ndarray, verdict: Any) -> FitOutcome:
    """Return the limit for a likelihood that has no maximum, by the verdict.

    Rows that are not in memory, and too many weights, keep the weights of the last iteration.
    """
    task, rows, columns = asked.task, asked.rows, asked.columns
    contrasts, lost = asked.contrasts(verdict), limits.astype("U16")
    if rows is None or not task.factored:
        found = _of_last_iteration(fit, verdict)
        with interrupts_allowed():
            lost[:, columns] = UNSIGNED if asked.dependent else contrasts.limits()
        lost[limits == "dependent"] = "dependent"
        return replace(found, limits=lost)
    counted = rows.counted()
    kept = columns[columns < task.n_features]
    Z = rows.augmented(counted, kept, task.intercept)
    weights = rows.weights[counted] if rows.weights.size else np.ones(len(counted))
    last, centre = _around(task, fit, columns)
    Z[:, : len(kept)] -= centre
    with interrupts_allowed():
        end = limit(contrasts, Z, rows.places[counted], weights, last, centre)
    wide, middle = Embedding(task, columns), np.zeros(task.n_features)
    middle[kept] = centre
    lost[:, columns] = end.limits
    return FitOutcome(
        wide.flat(end.weights), lost, end.log_likelihood, wide.square(end.covariance),
        str(verdict.kind), fit.n_iter, verdict, around=(middle, end.at) if middle.any() else None,
    )  # fmt: skip


def _of_last_iteration(fit: Fit, verdict: Any) -> FitOutcome:
    """Return the weights of the last iteration; the supremum is known of separable classes only."""
    value = 0.0 if isinstance(verdict, Separable) else fit.log_likelihood
    return replace(
        fit.outcome(np.zeros(0)), log_likelihood=value, covariance=None, verdict=verdict,
        reason=str(verdict.kind), at_limit=False,
    )  # fmt: skip


class Embedding:
    """Embeds arrays of the estimated weights into arrays of all weights."""

    def __init__(self, task: Task, columns: np.ndarray):
        self.task, self.columns = task, columns

    def flat(self, some: np.ndarray, rest: float = 0.0) -> np.ndarray:
        """Return an array of shape (q, width)."""
        found = np.full((self.task.q, self.task.width), rest)
        found[:, self.columns] = some
        return found

    def square(self, some: np.ndarray) -> np.ndarray:
        """Return an array of shape (q width, q width)."""
        found = np.zeros((self.task.q * self.task.width,) * 2)
        places = (np.arange(self.task.q)[:, None] * self.task.width + self.columns).ravel()
        found[np.ix_(places, places)] = some
        return found


def data_of_batches(given: BatchRows) -> Data:
    """Return the rows with weight as data of a verdict, which reads them again in every pass."""
    codes = np.array(given.known.ranks, dtype=np.int64)

    def parts() -> Iterator[Batch]:
        for batch in weighed(given.batches()):
            yield Batch(padded(batch.X, given.n_features), codes[batch.y], batch.first)

    shape = given._n_rows, given.n_features
    data = LocalData(parts, np.sort(given.known.labels), shape, None)
    data.sparse = sp.issparse(next(parts()).X)
    return data
