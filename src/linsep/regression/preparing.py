"""What a regression sees of its features: centred, scaled, without those that others add up to."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, nullcontext
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg as sla

from linsep.compiled import logistic
from linsep.compiled.rows import Csr, as_rows, csr_rows
from linsep.regression.likelihood import Batch, Batches, Likelihood

#: a column this close, relatively, to the span of those before it depends on them
DEPENDENT = 1e-11
#: a Cholesky pivot above this share proves that none does
SURE = 1e-10


class Seen(NamedTuple):
    """How features are seen: (x - centre) * scale.

    Attributes
    ----------
    centres, scales : arrays of shape (features,); scale 0 leaves a feature out
    dependent : numbers of the features that are left out, as others add up to them
    """

    centres: np.ndarray
    scales: np.ndarray
    dependent: tuple[int, ...]

    def raw(self, B: np.ndarray, intercept: bool) -> np.ndarray:
        """Weights of the features as they are, the intercept last."""
        d = len(self.scales)
        W = B.copy()
        W[:, :d] *= self.scales
        if intercept:
            W[:, d] -= W[:, :d] @ self.centres
        return W

    def standard(self, W: np.ndarray, intercept: bool) -> np.ndarray:
        """The inverse of :meth:`raw`; weights of features left out become 0."""
        d = len(self.scales)
        B = W.copy()
        B[:, :d] = W[:, :d] / np.where(self.scales > 0, self.scales, np.inf)
        if intercept:
            B[:, d] += W[:, :d] @ self.centres
        return B

    def matrix(self, intercept: bool) -> np.ndarray:
        """What turns standardised weights into those of the features as they are."""
        d = len(self.scales)
        T = np.zeros((d + intercept, d + intercept))
        T[np.arange(d), np.arange(d)] = self.scales
        if intercept:
            T[d, :d] = -self.centres * self.scales
            T[d, d] = 1.0
        return T


def sampled(batches: Batches, most: int) -> tuple[Batches, bool]:
    """About ``most`` rows of the first batch, evenly spread; whether these are all rows there are.

    Sparse rows are copied, dense ones seen where they are.
    """
    given = iter(batches())
    with closing(given) if hasattr(given, "close") else nullcontext():  # type: ignore[type-var]
        return _sampled(given, most)


def _sampled(given: Iterator[Batch], most: int) -> tuple[Batches, bool]:
    first = next(given)
    step = first.size // most
    if step < 4:
        more = next(given, None)
        return lambda: iter([first]), more is None
    chosen = slice(None, None, step)
    rows: Any
    if isinstance(first.rows, Csr):
        rows = _rows_of(first.rows, np.arange(0, first.size, step))
    else:
        rows = as_rows(np.ascontiguousarray(first.rows.values[chosen]))
    weights = first.weights[chosen].copy() if first.weights.size else first.weights
    part = Batch(rows, first.codes[chosen].copy(), weights)
    return lambda: iter([part]), False


def _rows_of(rows: Csr, chosen: np.ndarray) -> Csr:
    lengths = rows.starts[chosen + 1] - rows.starts[chosen]
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(rows.starts.dtype)
    places = np.repeat(rows.starts[chosen] - starts[:-1], lengths) + np.arange(starts[-1])
    return csr_rows(rows.values[places], rows.columns[places], starts)


def seen(
    sample: Batches, everything: Batches, whole: bool, d: int, intercept: bool, find: bool,
    pool: ThreadPoolExecutor,
) -> Seen:  # fmt: skip
    """How to see the features, from a sample where that is enough.

    ``find`` says whether to look for features that depend on others; without, none is left out.
    """
    centres, scales = _moments(sample, d, intercept)
    if not find:
        return Seen(centres, np.where(scales > 0, scales, 1.0), ())
    if _independent(sample, centres, scales, intercept, pool):
        return Seen(centres, scales, ())
    if not whole:
        centres, scales = _moments(everything, d, intercept)
        if _independent(everything, centres, scales, intercept, pool):
            return Seen(centres, scales, ())
    dependent = _dependent(everything, centres, scales, intercept, pool)
    scales[list(dependent)] = 0.0
    return Seen(centres, scales, dependent)


def _moments(batches: Batches, d: int, intercept: bool) -> tuple[np.ndarray, np.ndarray]:
    """Means (0 without an intercept) and 1 / root mean square around them, 0 where that is 0."""
    centres, squares, total = np.zeros(d), np.zeros(d), 0.0
    for Z, weights in _blocks(batches, d):
        more = float(weights.sum())
        if not more:
            continue
        total += more
        means = weights @ Z / more if intercept else centres
        shift = means - centres
        squares += (total - more) * more / total * shift**2 + weights @ (Z - means) ** 2
        centres = centres + shift * more / total
    spread = np.sqrt(squares / max(total, 1e-300))
    # what is left of a constant column is rounding
    constant = spread <= 1e-13 * np.abs(centres)
    return centres, np.where(constant, 0.0, 1.0 / np.where(constant, 1.0, spread))


def _blocks(batches: Batches, d: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Blocks of rows as float64, and their weights."""
    most = max(64, min(2048, (1 << 16) // max(1, d)))
    room, one, none = np.empty((most, d)), np.ones(d), np.zeros(d)
    for batch in batches():
        for start in range(0, batch.size, most):
            Z = room[: min(most, batch.size - start)]
            logistic.standardised(batch.rows, start, Z, none, one)
            yield (
                Z,
                batch.weights[start : start + len(Z)] if batch.weights.size else np.ones(len(Z)),
            )


def _independent(
    batches: Batches, centres: np.ndarray, scales: np.ndarray, intercept: bool,
    pool: ThreadPoolExecutor,
) -> bool:  # fmt: skip
    """Whether a factor of the Gram matrix proves that no column depends on others."""
    if not (scales > 0).all():
        return False
    likelihood = Likelihood(batches, 1, centres, scales, intercept, pool)
    gram = likelihood.at(np.zeros(likelihood.shape)).hessian
    assert gram is not None
    roots = 1.0 / np.sqrt(np.maximum(np.diag(gram), 1e-300))
    try:
        factor = sla.cholesky(gram * roots * roots[:, None], check_finite=False)
    except np.linalg.LinAlgError:
        return False
    return bool(np.diag(factor).min(initial=1.0) ** 2 > SURE)


def _dependent(
    batches: Batches, centres: np.ndarray, scales: np.ndarray, intercept: bool,
    pool: ThreadPoolExecutor,
) -> tuple[int, ...]:  # fmt: skip
    """Which features others before them add up to, by orthogonal factors of blocks of rows.

    Rows of weight 0 do not count.
    """
    likelihood = Likelihood(batches, 1, centres, scales, intercept, pool)
    R = np.zeros((0, likelihood.width))
    for batch in batches():
        for start, Z in likelihood.blocks(batch, 0, batch.size):
            weights = batch.weights[start : start + len(Z)]
            more = Z[weights > 0] if weights.size else Z
            R = np.asarray(np.linalg.qr(np.vstack([R, more]), mode="r"))
    found, basis = [], np.zeros((len(R), 0))
    order = ([likelihood.width - 1] if intercept else []) + list(range(len(scales)))
    for j in order:
        left = R[:, j].copy()
        length = np.linalg.norm(left)
        for _ in range(2):
            left -= basis @ (basis.T @ left)
        if np.linalg.norm(left) <= DEPENDENT * length:
            found.append(j)
        else:
            basis = np.column_stack([basis, left / np.linalg.norm(left)])
    return tuple(found)
