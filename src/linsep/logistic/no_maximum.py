"""What a logistic regression is if its likelihood seems to have no maximum: whether that is so, and
the limit.

Along a direction with no row on the wrong side the likelihood keeps growing. In the limit the rows
on the right side have probability 1 and no information; those on the boundary determine the
coefficients that stay finite (Albert and Anderson 1984; Geyer 2009: the limiting conditional
model).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep._system.interrupts import interruption_point, interrupts_allowed
from linsep.batches import Batch, weighed
from linsep.certificate.numbers import padded
from linsep.certificate.verdicts import QuasiSeparable, Separable, Separations, Undecided, Verdict
from linsep.inference.robust import CLUSTERED, Robust, Scores, scores_of, without_noise
from linsep.inference.summary import OPPOSITE
from linsep.logistic.fitting import Fit, problem_of, resume, sharpened
from linsep.logistic.inference import FAR
from linsep.logistic.outcomes import FitOutcome, Steps
from linsep.logistic.preparing import Standardization, of_all
from linsep.logistic.rows import MOST_WEIGHTS as MOST_FACTORED, UNSIGNED, BatchRows, Rows, Task
from linsep.logistic.sandwich import each_class, robust_of, with_robust
from linsep.logistic.vanishing import down_ridges
from linsep.separability.data import Data, data_of
from linsep.separability.deciding import separated_by, separation
from linsep.separability.recession import Cone, cone_of
from linsep.separability.search import MOST_WEIGHTS
from linsep.separability.time_limit import Task as Timed, TooLarge, limited

#: seconds for a verdict in a fit, which :func:`linsep.separation` may exceed
TIME_LIMIT = 10.0
#: difference of scores that saturates the probabilities
CERTAIN = 40.0
#: a difference of scores below this share of their terms is treated as zero
TIE = 1e-9
#: loss of log-likelihood, in rows of mean weight, below which the classes may be separable
FEW = 10.0


@dataclass(frozen=True)
class Limit:
    """The limit of the likelihood.

    Attributes
    ----------
    weights : array of shape (q, width)
        Finite coefficients are estimates; the others come from a vanishing ridge.
    limits : array of str of shape (q, width): "finite", "+inf", "-inf", "infinite",
        "sign not checked" or "not checked"
    log_likelihood : float, the supremum
    covariance : array of shape (q width, q width), NaN for estimates that are not finite
    at : array of shape (q,), the scores at the center
    clusters : int or None, their number if the covariance is summed over clusters
    """

    weights: np.ndarray
    limits: np.ndarray
    log_likelihood: float
    covariance: np.ndarray
    at: np.ndarray
    clusters: int | None = None


def question_weights(weights: np.ndarray, order: list[int]) -> np.ndarray:
    """Return weights of a regression as weights of a verdict; :class:`Contrasts` converts them
    back.

    Parameters
    ----------
    weights : array of shape (q, width)
    order : class codes in the order of the regression, the reference last
    """
    every = np.zeros((len(order), weights.shape[1]))
    every[order[:-1]] = weights
    return (every[1] - every[0] if len(order) == 2 else every[:-1] - every[-1]).ravel()


class Contrasts:
    """Converts a verdict's weights to the weights of a regression: differences from the reference.

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

    def of(self, number: Any, center: np.ndarray) -> np.ndarray:
        """Convert numbers per weight of the verdict to an array like the regression's weights, with
        intercepts at the center, which are exact.
        """
        found = [
            [sum(s * number(i) for i, s in self.functional(row, j).items()) for j in self._all()]
            for row in range(len(self.order) - 1)
        ]
        for j in np.flatnonzero(center).tolist():
            for line in found:
                line[-1] += Fraction(line[j]) * Fraction(float(center[j]))
        top = max((abs(x) for line in found for x in line), default=0) or 1
        return np.array([[float(x / top) for x in line] for line in found])

    def _all(self) -> range:
        return range(self.width)

    def _n_moving(self) -> int:
        """Return how many weights of the verdict can be nonzero: columns of zeros have weight 0."""
        if isinstance(self.verdict, QuasiSeparable):
            return len(self.verdict.direction)
        return sum(int(np.count_nonzero(row)) for row in self.verdict.coef)

    def direction(self, center: np.ndarray) -> np.ndarray:
        """Return a direction along which the likelihood keeps growing, scaled to maximum 1, with
        intercepts at the center.
        """
        verdict = self.verdict
        if isinstance(verdict, QuasiSeparable):
            return self.of(lambda i: verdict.direction.get(i, 0), center)
        d = verdict.subject.n_features
        flat: list[Any] = []
        for row, b in zip(verdict.coef, verdict.intercept, strict=True):
            flat += [*row[:d], *([b] if verdict.subject.fit_intercept else [])]
        return self.of(lambda i: flat[i], center)

    def _told(self, functions: list[dict[int, int]]) -> list[str] | None:
        """Return the limits of functions by the verdict, if it is about them or their negatives."""
        if not isinstance(self.verdict, QuasiSeparable) or any(len(f) > 1 for f in functions):
            return None
        words = list(self.verdict.limits().values())
        if "dependent" in words:
            return None
        signed = [item for function in functions for item in function.items()]
        return [words[j] if m > 0 else OPPOSITE.get(words[j], words[j]) for j, m in signed]

    def limits(self) -> np.ndarray:
        """Return the limit of every weight, "not checked" after the time limit.

        With more than 2,500 weights no sign is searched for. Where the classes are separable, every
        weight can diverge.
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
            told = self._told(functions)
            open_ones = [k for k, word in enumerate(told or ()) if word == UNSIGNED]
            if told is not None and not open_ones:
                return np.array(told, dtype=limits.dtype).reshape(limits.shape)
            cone = cone_of(self.verdict, self.data)
            if told is not None:
                cone.look_for_both_signs([functions[k] for k in open_ones], corners=False)
                for k in open_ones:
                    told[k] = "infinite" if cone.has_both_signs(functions[k]) else told[k]
                return np.array(told, dtype=limits.dtype).reshape(limits.shape)
            cone.look_for_both_signs(functions)
            cone.look_for_single_rows([f for f in functions if not cone.has_both_signs(f)])
            for place, function in zip(places, functions, strict=True):
                limits[place] = _limit_of(cone, function)
        except TooLarge:  # those found so far are valid
            return limits
        return limits


def _limit_of(cone: Cone, function: dict[int, int]) -> str:
    """Return the limit of a linear function of the weights."""
    if not cone.boundary.remainder(function):
        return "finite"
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
    center: np.ndarray, offset: np.ndarray, robust: Callable[[Scores], Robust] | None = None,
    clusters: np.ndarray | None = None,
) -> Limit:  # fmt: skip
    """Compute the limit of the regression.

    Parameters
    ----------
    contrasts : of a verdict on these rows, Separable or QuasiSeparable
    Z : array of shape (rows, width)
        The rows less the center, with a 1 for the intercept.
    codes : array of shape (rows,), index of each row's class in the order of the contrasts
    weights : array of shape (rows,)
    last : array of shape (q, width)
        Weights of a small ridge, with intercepts at the center.
    center : array of shape (features,), zeros without an intercept
    offset : array of shape (rows,)
    robust : function of the scores of the rows that returns the inner part of their covariance;
        None for the inverse information
    clusters : array of shape (rows,), their numbers, or None
    """
    verdict, order, many = contrasts.verdict, contrasts.order, None
    direction, limits = contrasts.direction(center), contrasts.limits()
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
    boundary = Choices.of(Z, codes, weights, ~behind, offset)
    B, value, covariance = boundary.maximum()
    if robust is not None:
        inner = robust(boundary.scores(B, clusters))
        covariance, many = without_noise(boundary.sandwich(B, inner), covariance), inner.clusters
    if isinstance(verdict, Separable):  # in exact arithmetic, even where floats are equal
        value = 0.0
    W = B + boundary.without_effect(last - B)
    if not (_gaps(W, Z, codes, offset)[behind] > 0).all():  # the ridge was not small enough
        needed = CERTAIN - _gaps(B, Z, codes, offset)[behind]
        with np.errstate(divide="ignore", invalid="ignore"):
            far = (needed / (own[:, None] - scores)[behind]).max(initial=0.0)
        W = B + max(0.0, float(far)) * direction
    fixed = limits == "finite"
    if center.any():  # the scores there may grow though those at zero do not
        fixed[:, -1] = False
    found = _with_raw_intercepts(np.where(fixed, B, W), limits, value, covariance, center)
    return replace(found, clusters=many)


def _with_raw_intercepts(
    W: np.ndarray, limits: np.ndarray, value: float, covariance: np.ndarray, center: np.ndarray
) -> Limit:
    """Return a limit whose intercepts are at the center with those at zero."""
    at = W[:, -1].copy()
    if center.any():
        back = np.eye(W.shape[1])
        back[-1, :-1] = -center
        T = np.kron(np.eye(len(W)), back)
        covariance = np.asarray(T @ covariance @ T.T)
        W = W.copy()
        W[:, -1] = at - W[:, :-1] @ center
    out = (limits != "finite").ravel()
    covariance[out] = covariance[:, out] = np.nan
    return Limit(W, limits, value, covariance, at)


def _gaps(W: np.ndarray, Z: np.ndarray, codes: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Return how far the score of each row's class is above the scores of all classes."""
    scores = np.column_stack([Z @ W.T + offset[:, None], np.zeros(len(Z))])
    return scores[np.arange(len(Z)), codes][:, None] - scores


def separates(W: np.ndarray, Z: np.ndarray, codes: np.ndarray, offset: np.ndarray) -> bool:
    """Return whether the class of every row has the highest score."""
    gaps = _gaps(W, Z, codes, offset)
    gaps[np.arange(len(Z)), codes] = np.inf
    return bool((gaps > 0).all())


def folded(Z: np.ndarray, W: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Return weights of some columns, which span all, with the same scores of the rows.

    Parameters
    ----------
    Z : array of shape (rows, width)
    W : array of shape (q, width)
    kept : array of shape (rows, columns)
    """
    if kept.shape[1] == Z.shape[1]:
        return W
    scale = np.sqrt((kept**2).mean(axis=0))
    scale = np.where(scale > 0, scale, 1.0)
    return np.linalg.lstsq(kept / scale, Z @ W.T, rcond=None)[0].T / scale


class Choices(NamedTuple):
    """Rows with weight that can each only belong to some classes, at least two.

    Attributes
    ----------
    Z : array of shape (rows, width), the features divided by their root mean squares
    scale : array of shape (width,), these
    codes : array of shape (rows,); the code of the reference is q
    weights : array of shape (rows,)
    allowed : array of bool of shape (rows, q + 1)
    offset : array of shape (rows,), added to the scores of all classes but the reference
    used : array of int, the numbers of these rows among all
    """

    Z: np.ndarray
    scale: np.ndarray
    codes: np.ndarray
    weights: np.ndarray
    allowed: np.ndarray
    offset: np.ndarray
    used: np.ndarray

    @classmethod
    def of(
        cls, Z: np.ndarray, codes: np.ndarray, weights: np.ndarray, allowed: np.ndarray,
        offset: np.ndarray,
    ) -> "Choices":  # fmt: skip
        """Return the rows that have a choice."""
        used = (allowed.sum(axis=1) > 1) & (weights > 0)
        Z, codes, weights, allowed, offset = (
            part[used] for part in (Z, codes, weights, allowed, offset)
        )
        scale = np.sqrt((Z**2).mean(axis=0)) if len(Z) else np.ones(Z.shape[1])
        scale = np.where(scale > 0, scale, 1.0)
        return cls(Z / scale, scale, codes, weights, allowed, offset, np.flatnonzero(used))

    def maximum(self) -> tuple[np.ndarray, float, np.ndarray]:
        """Return the weights of the greatest likelihood, shape (q, width), their log-likelihood,
        and the pseudo-inverse of their information.

        Weights that the rows do not determine have minimum norm in standardized features.
        """
        q, width = self.allowed.shape[1] - 1, self.Z.shape[1]
        B = np.zeros((q, width))
        value, slope, H = self._terms(B)
        for _ in range(100):
            interruption_point()
            step = (_regular_inverse(H) @ slope.ravel()).reshape(q, width)
            gain = float((step * slope).sum())
            if gain <= 1e-18:
                break
            for halving in range(40):
                there = self._terms(B + step / 2**halving)
                if there[0] >= value - 1e-13 * max(1.0, -value):
                    break
            B, (value, slope, H) = B + step / 2**halving, there
        back = np.tile(1.0 / self.scale, q)
        return B / self.scale, value, _regular_inverse(H) * back * back[:, None]

    def scores(self, B: np.ndarray, clusters: np.ndarray | None) -> Scores:
        """Return the scores of all rows at weights B, zero for those without a choice.

        ``clusters`` are the numbers of the clusters of all rows, or None.
        """
        residuals = self._residuals(B * self.scale)[0] * np.sqrt(self.weights)[:, None]
        rows = each_class(residuals, self.Z)
        if clusters is None:
            return scores_of(rows, None)
        every = np.zeros((clusters.size, rows.shape[1]))
        every[self.used] = rows
        return scores_of(every, clusters)

    def sandwich(self, B: np.ndarray, inner: Robust) -> np.ndarray:
        """Return the robust covariance at weights B, the inner part of which is given."""
        _, _, H = self._terms(B * self.scale)
        root = inner.root @ _regular_inverse(H) / np.tile(self.scale, len(B))
        return np.asarray(root.T @ root)

    def without_effect(self, W: np.ndarray) -> np.ndarray:
        """Return what is left of weights, shape (q, width), less what changes a choice."""
        plain = self._replace(offset=np.zeros(len(self.Z)))
        _, _, H = plain._terms(np.zeros(W.shape))  # all choices count
        flat = (W * self.scale).ravel()
        return (flat - _regular_inverse(H) @ (H @ flat)).reshape(W.shape) / self.scale

    def _terms(self, B: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the log-likelihood, its gradient and the information."""
        q, width = B.shape
        residuals, P, value = self._residuals(B)
        slope = (self.weights[:, None] * residuals).T @ self.Z
        H = np.empty((q, width, q, width))
        for k in range(q):
            for m in range(q):
                bend = self.weights * P[:, k] * (float(k == m) - P[:, m])
                H[k, :, m, :] = self.Z.T @ (self.Z * bend[:, None])
        return value, slope, H.reshape(q * width, q * width)

    def _residuals(self, B: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Return y - p of all classes but the reference, the probabilities of all, and the
        log-likelihood.
        """
        q = len(B)
        scores = np.column_stack([self.Z @ B.T + self.offset[:, None], np.zeros(len(self.Z))])
        scores[~self.allowed] = -np.inf
        scores -= scores.max(axis=1, keepdims=True, initial=-1e300)
        P = np.exp(scores)
        sums = P.sum(axis=1, keepdims=True)
        P /= sums
        rows = np.arange(len(self.Z))
        value = float((self.weights * (scores[rows, self.codes] - np.log(sums[:, 0]))).sum())
        own = np.zeros_like(P)
        own[rows, self.codes] = 1.0
        return (own - P)[:, :q], P, value


def _regular_inverse(H: np.ndarray) -> np.ndarray:
    """Return the pseudo-inverse: the inverse on the space with information."""
    return np.linalg.pinv(H, rcond=1e-10, hermitian=True) if H.any() else np.zeros_like(H)


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

    def by_either(self, fit: Fit, ridge: Callable[[], Fit]) -> Any:
        """Return the verdict proved by the weights of the fit, or by the weights of a ridge if the
        fit lost so little that they may classify all rows correctly; None if a search is quick.
        """
        if fit.ridge is not None:
            return self.by_weights(fit)
        if self.quick:
            return None
        little = -fit.log_likelihood < FEW * self.task.totals.sum() / self.task.n_rows
        return self.by_weights(fit) or (self.by_weights(ridge()) if little else None)

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
    """Decide separability; if there is a maximum, continue to it, else compute the limit.

    Coefficients without a finite estimate come from a vanishing ridge; with too many weights for a
    Hessian, or more rows than a source may keep in memory, all are. Exactly dependent features are
    left out of the verdict; nearly dependent ones are not, because they may separate the classes.

    Unless a search is quick, the weights at hand are checked exactly first, in one pass. The
    search, with the limit of the weights, takes no longer than the time limit of a verdict.
    """
    steps.suspect = fit.outcome(limits)
    asked = _verdict_data(task, given, fit)
    if asked is None:
        return fit.without_proof(limits)
    ridge = cache(lambda: predicting(task, fit))
    verdict = asked.by_either(fit, ridge)
    if verdict is None and (asked.dependent or fit.ridge is not None):
        return fit.without_proof(limits)
    with limited(Timed(TIME_LIMIT)):
        verdict = verdict or asked.by_search()
        if proves(verdict):
            found = _without_maximum(asked, ridge(), limits, verdict)
            return replace(found, rounded=fit.rounded)
    steps.suspect = None
    if fit.reason == "suspect":
        fit = resume(task, fit, steps)
    if not isinstance(verdict, Undecided):
        sharp = None
        if task.factored and fit.reason in ("converged", "stuck"):
            fit, sharp = sharpened(task, fit)
        found = with_robust(task, fit).outcome(limits)
        return replace(found, verdict=verdict, sharpness=sharp)
    separated = asked.by_weights(fit)
    if separated is None:
        return replace(fit.without_proof(limits), verdict=verdict, reason="undecided")
    with limited(Timed(TIME_LIMIT)):
        return _without_maximum(asked, ridge(), limits, separated)


def predicting(task: Task, fit: Fit) -> Fit:
    """Return the fit with the weights of a vanishing ridge.

    The ridge penalizes coefficients per standard deviation, or per unit for columns of zeros and
    ones, and columns that depend on others share their weight. The columns of the fit are kept with
    too many weights for a Hessian, and where its replacements of nearly dependent columns separate
    the classes.
    """
    if not task.factored:
        return _by_ridges(task, fit, fit.standardization)[0]
    how = of_all(task.batches, task.n_features, task.intercept)
    found, right = _by_ridges(task, fit, how)
    if right or fit.standardization.straight is None:
        return found
    return _by_ridges(task, fit, fit.standardization)[0]


def _by_ridges(task: Task, fit: Fit, how: Standardization) -> tuple[Fit, bool]:
    """Return the fit with the weights of a vanishing ridge in features standardized so, and
    whether all rows are on the right side.
    """
    problem = problem_of(replace(task, l2=0.0), how)
    if fit.ridge is None:
        path = down_ridges(task, *problem)
    else:  # the weights of the same ridge in other features are near
        start = how.standard(fit.weights, task.intercept, fit.around)
        path = down_ridges(task, *problem, start, fit.ridge)
    found = replace(fit, weights=how.raw(path.B, task.intercept), B=path.B, standardization=how)
    return found, path.right


def _verdict_data(task: Task, given: Rows | BatchRows, fit: Fit) -> VerdictData | None:
    """Return the data to decide about; None if they differ from the data of the fit."""
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
    # columns of a source cannot be left out; columns of zeros, among very many, need not be
    return VerdictData(
        task, data, np.arange(task.width), order, None, task.factored and bool(dependent)
    )


def _around(task: Task, fit: Fit, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights of some columns around a center, which is zero but for columns that are
    far from zero against their spread.
    """
    weights, kept = fit.weights[:, columns], columns[: len(columns) - task.intercept]
    if fit.around is None:
        return weights, np.zeros(len(kept))
    (middle, at), scales = fit.around, fit.standardization.scales
    center = np.where(np.abs(middle * scales) > FAR, middle, 0.0)
    near = np.where(center, 0.0, middle)
    if center.any():
        weights[:, -1] = at - fit.weights[:, : task.n_features] @ near
    return weights, center[kept]


def exactly_dependent(fit: Fit) -> list[int]:
    """Return the features that are exact linear combinations of others."""
    return sorted(set(fit.standardization.dependent) - set(fit.standardization.nearly))


def _without_maximum(asked: VerdictData, fit: Fit, limits: np.ndarray, verdict: Any) -> FitOutcome:
    """Return the limit for a likelihood that has no maximum, by the verdict.

    The fit has the weights of a small ridge. They are kept for rows that are not in memory and for
    too many weights.
    """
    task, rows, columns = asked.task, asked.rows, asked.columns
    contrasts, lost = asked.contrasts(verdict), limits.astype("U16")
    if rows is None or not task.factored:
        found = _of_ridge(fit, verdict)
        with interrupts_allowed():
            lost[:, columns] = UNSIGNED if asked.dependent else contrasts.limits()
        lost[limits == "dependent"] = "dependent"
        return replace(found, limits=lost)
    counted, every = rows.counted(), np.arange(task.width)
    codes, d = rows.places[counted], task.n_features
    weights = rows.weights[counted] if rows.weights.size else np.ones(len(counted))
    offset = np.zeros(len(counted)) if rows.offset is None else rows.offset[counted]
    Z = rows.augmented(counted, every[:d], task.intercept)
    last, center = _around(task, fit, every)
    Z[:, :d] -= center
    wide = Embedding(task, columns)
    if isinstance(verdict, Separable) and separates(last, Z, codes, offset):
        with interrupts_allowed():
            lost[:, columns] = contrasts.limits()
        nothing = wide.square(np.full((task.q * len(columns),) * 2, np.nan))
        return replace(_of_ridge(fit, verdict), limits=lost, covariance=nothing, at_limit=True)
    features, kept = columns[columns < d], Z[:, columns]
    last = folded(Z, last, kept)
    with interrupts_allowed():
        robust = None
        if task.covariance is not None:
            robust = partial(robust_of, task, width=len(columns))
        clusters = rows.clusters if task.covariance == CLUSTERED else None
        end = limit(
            contrasts, kept, codes, weights, last, center[features], offset, robust, clusters
        )  # fmt: skip
    middle = np.zeros(d)
    middle[features] = center[features]
    lost[:, columns] = end.limits
    return FitOutcome(
        wide.flat(end.weights), lost, end.log_likelihood, wide.square(end.covariance),
        str(verdict.kind), fit.n_iter, verdict, around=(middle, end.at) if middle.any() else None,
        clusters=end.clusters,
    )  # fmt: skip


def _of_ridge(fit: Fit, verdict: Any) -> FitOutcome:
    """Return the weights of a small ridge; the supremum is known of separable classes only."""
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
    data = Data(parts, np.sort(given.known.labels), shape, None)
    data.sparse = sp.issparse(next(parts()).X)
    return data
