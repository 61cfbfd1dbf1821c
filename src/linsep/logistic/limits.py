"""The limit of a logistic regression whose likelihood has no maximum.

Along a direction with no row on the wrong side the likelihood keeps growing. In the limit the rows
on the right side have probability 1 and no information; those on the boundary determine the
coefficients that stay finite (Albert and Anderson 1984; Geyer 2009: the limiting conditional
model).
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from linsep._system.interrupts import interruption_point
from linsep.certificate.verdicts import QuasiSeparable, Separable, Verdict
from linsep.logistic.classes import UNSIGNED
from linsep.separability.data import Data
from linsep.separability.recession import Cone, both_signs, cone_of
from linsep.separability.time_limit import TooLarge

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
        """Return the limit of every weight, "not checked" after the time limit."""
        limits = np.full((len(self.order) - 1, self.width), "not checked", dtype="U16")
        places = list(np.ndindex(*limits.shape))
        functions = [self.functional(row, j) for row, j in places]
        try:
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
        return _raw(last, limits, 0.0, covariance, centre)
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
    return _raw(np.where(fixed, B, B + far * direction), limits, value, covariance, centre)


def _raw(
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
    value, slope, H = _known(Z, codes, weights, allowed, B)
    for _ in range(100):
        interruption_point()
        step = (_regular_inverse(H) @ slope.ravel()).reshape(q, width)
        gain = float((step * slope).sum())
        if gain <= 1e-18:
            break
        for halving in range(40):
            there = _known(Z, codes, weights, allowed, B + step / 2**halving)
            if there[0] >= value - 1e-13 * max(1.0, -value):
                break
        B, (value, slope, H) = B + step / 2**halving, there
    back = np.tile(1.0 / scale, q)
    return B / scale, value, _regular_inverse(H) * back * back[:, None]


def _regular_inverse(H: np.ndarray) -> np.ndarray:
    """Return the pseudo-inverse: the inverse on the space with information."""
    return np.linalg.pinv(H, rcond=1e-10, hermitian=True) if H.any() else np.zeros_like(H)


def _known(
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
