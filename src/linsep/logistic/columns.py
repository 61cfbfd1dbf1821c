"""Standardize features: center, scale, leave out dependent ones, and turn nearly dependent ones."""

from collections.abc import Iterator
from contextlib import closing, nullcontext
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp

from linsep._system.interrupts import interruption_point
from linsep.batches import Batch
from linsep.compiled import logistic
from linsep.compiled.rows import as_rows
from linsep.errors import FeatureOverflow
from linsep.lanes import in_lanes
from linsep.logistic.objective import Terms
from linsep.logistic.task import Batches, RowLanes, block_rows, lane_rows

#: largest spread of values, and inverse of the smallest
MOST_SPREAD = 1e100
#: a spread that is a smaller share of the values is treated as none, as in a constant column
CONSTANT = 1e-12
#: with very many features, those with values below 2 to this, and above its inverse, are not scaled
ORDINARY = 10
#: a relative Cholesky pivot above this proves that no column is dependent, even so nearly that
#: floats lose half their digits
SURE = 1e-7
#: a column whose distance from the span of earlier ones is a smaller share of its length is
#: dependent; columns with a larger one need no turn
LOST, APART = 1e-12, 1e-3
#: share of its length that a column takes from another it depends on, at least
TAKEN = 1e-9
#: combinations of which floats are exact: coefficients and values are multiples of these, and sums
#: of their products at most the third
GRID, VALUES, MOST = 2.0**-4, 2.0**-12, 2.0**36
#: half a unit in the last place of 1.0
UNIT = 2.0**-53


class Columns(NamedTuple):
    """Standardization of features to (x - center) * scale, then times ``turn``.

    Attributes
    ----------
    centers, scales : arrays of shape (features,); scale 0 leaves a feature out
    dependent : dict of the features left out, as combinations of others, to these; the number of
        features stands for the intercept
    nearly : indices of those among them that are combinations of others up to rounding only
    turn : upper triangular array of shape (features, features), which makes nearly dependent
        features orthogonal, or None
    noise : array of shape (features,), errors of the turned values beside rounding, or None
    """

    centers: np.ndarray
    scales: np.ndarray
    dependent: dict[int, list[int]] = {}  # noqa: RUF012 - never changed
    nearly: tuple[int, ...] = ()
    turn: np.ndarray | None = None
    noise: np.ndarray | None = None

    @property
    def left_out(self) -> list[int]:
        """Indices of the features left out."""
        return list(self.dependent)

    def terms(self, q: int, intercept: bool, kind: type[Terms] = Terms) -> Terms:
        """Return the terms of rows of ``q`` classes and the reference."""
        return kind(q, self.centers, self.scales, intercept, self.turn)

    def raw(self, B: np.ndarray, intercept: bool) -> np.ndarray:
        """Convert weights to the raw features, the intercept last."""
        d, W = len(self.scales), B.copy()
        turned = W[:, :d] if self.turn is None else W[:, :d] @ self.turn.T
        W[:, :d] = turned * self.scales
        if intercept:
            W[:, d] -= W[:, :d] @ self.centers
        return W

    def standard(self, W: np.ndarray, intercept: bool) -> np.ndarray:
        """Convert weights of the raw features; weights of features left out become 0."""
        d, B = len(self.scales), W.copy()
        kept = self.scales > 0
        B[:, :d] = np.where(kept, W[:, :d] / np.where(kept, self.scales, 1.0), 0.0)
        if self.turn is not None:
            turn = self.turn + np.diag(np.where(kept, 0.0, 1.0))
            B[:, :d] = sla.solve_triangular(turn, B[:, :d].T).T
        if intercept:
            B[:, d] += W[:, :d] @ self.centers
        return B

    def matrix(self, intercept: bool) -> np.ndarray:
        """Return the matrix that converts standardized weights to the raw features."""
        return self.raw(np.eye(len(self.scales) + intercept), intercept).T


def sampled(batches: Batches, most: int) -> tuple[Batches, bool]:
    """Return about ``most`` evenly spread rows of the first batch, and whether they are all rows.

    Sparse rows are copied, dense rows are views.
    """
    given = iter(batches())
    with closing(given) if hasattr(given, "close") else nullcontext():  # type: ignore[type-var]
        first = next(given)
        step = first.size // most
        if step < 4:
            more = next(given, None)
            return lambda: iter([first]), more is None
        part = first.rows(np.arange(0, first.size, step))
        return lambda: iter([part]), False


def standardization(
    sample: Batches, everything: Batches, whole: bool, d: int, intercept: bool, find: bool = True,
) -> Columns:  # fmt: skip
    """Return the standardization, computed from a sample if that suffices.

    Without ``find``, dependent features are not searched for, and no feature is left out.

    Raises
    ------
    FeatureOverflow
        If the spread of a feature is too large or too small.
    """
    found = _moments(sample, d, intercept)
    if not find:
        return Columns(found.centers, np.where(found.scales > 0, found.scales, 1.0))
    if _independent(sample, found, intercept):
        return found
    if not whole:
        found = _moments(everything, d, intercept)
        if _independent(everything, found, intercept):
            return found
    return _turned(everything, found, intercept)


def sized(batches: Batches, d: int, find: bool) -> Columns:
    """Return the standardization of very many features: none is centered, to keep zeros, and those
    with very large or small values are divided by a power of two.

    With ``find``, features that are zero in all rows are left out.
    """
    top = np.zeros(d)
    for batch in batches():
        interruption_point()
        if sp.issparse(batch.X):
            X, counted = batch.X, batch.importance > 0
            chosen = slice(None) if counted.all() else np.repeat(counted, np.diff(X.indptr))
            np.maximum.at(top, X.indices[chosen], np.abs(X.data[chosen]).astype(np.float64))
            continue
        for X, _ in counted_blocks(lambda it=batch: [it], d):  # type: ignore[misc]
            np.maximum(top, np.abs(X).max(axis=0), out=top)
    _refuse_sizes(top)
    exponents = np.where(top > 0, np.frexp(top)[1], 0)
    scales = np.ldexp(1.0, np.where(np.abs(exponents) > ORDINARY, -exponents, 0))
    if not find:
        return Columns(np.zeros(d), scales)
    absent: dict[int, list[int]] = {j: [] for j in np.flatnonzero(top == 0).tolist()}
    return Columns(np.zeros(d), np.where(top > 0, scales, 0.0), absent)


def of_all(batches: Batches, d: int, intercept: bool) -> Columns:
    """Return the standardization of all columns, dependent or not; columns of zeros and ones are
    only centered.
    """
    found = _moments(batches, d, intercept)
    marks = found.scales > 0
    for batch in batches():
        if sp.issparse(batch.X):
            marks[batch.X.indices[(batch.X.data != 0.0) & (batch.X.data != 1.0)]] = False
        else:
            marks &= ((batch.X == 0.0) | (batch.X == 1.0)).all(axis=0)
    return found._replace(scales=np.where(marks, 1.0, found.scales))


def _moments(batches: Batches, d: int, intercept: bool) -> Columns:
    """Return means (0 without an intercept) and 1 / root mean square around them (0 if that is 0).

    Sums are of differences from the first row, to keep the digits of a small spread far from zero.
    """
    first, top, sizes = None, np.zeros(d), np.zeros(d)
    means, squares, total = np.zeros(d), np.zeros(d), 0.0
    for X, weights in counted_blocks(batches, d):
        if first is None:
            first = X[0].copy() if intercept else np.zeros(d)
        np.maximum(sizes, np.abs(X).max(axis=0), out=sizes)
        _refuse_sizes(sizes, small=False)  # before squares overflow
        Z, more = X - first, float(weights.sum())
        np.maximum(top, np.abs(Z).max(axis=0), out=top)
        total += more
        own = weights @ Z / more if intercept else means
        shift = own - means
        squares += (total - more) * more / total * shift**2 + weights @ (Z - own) ** 2
        means = means + shift * more / total
    _refuse_sizes(top)
    varies = top > (CONSTANT * sizes if intercept else 0.0)
    spread = np.sqrt(squares / max(total, 1e-300))
    scales = np.where(varies, 1.0 / np.where(varies & (spread > 0), spread, 1.0), 0.0)
    return Columns((np.zeros(d) if first is None else first) + means, scales)


def _refuse_sizes(top: np.ndarray, small: bool = True) -> None:
    """Raise FeatureOverflow for features whose largest values are too large or too small."""
    tiny = (top > 0) & (top < 1.0 / MOST_SPREAD) & small
    bad = (top > MOST_SPREAD) | tiny
    if bad.any():
        first = int(np.argmax(bad))
        raise FeatureOverflow(first, small=bool(tiny[first]))


def raw_blocks(batches: Any, d: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield blocks of raw rows as float64, in a buffer that is reused, and their weights."""
    most = block_rows(d)
    room, one, none = np.empty((most, d)), np.ones(d), np.zeros(d)
    for lane in in_lanes(batches, lane_rows(d)):
        rows = as_rows(lane.X)
        for start in range(0, lane.size, most):
            interruption_point()
            X = room[: min(most, lane.size - start)]
            logistic.standardized(rows, start, X, none, one)
            known = lane.importance[start : start + len(X)]
            yield X, known if known.size else np.ones(len(X))


def counted_blocks(batches: Batches, d: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the rows with weight of :func:`raw_blocks`, with their weights."""
    for X, weights in raw_blocks(batches(), d):
        counted = weights > 0
        if counted.all():
            yield X, weights
        elif counted.any():
            yield X[counted], weights[counted]


def _independent(batches: Batches, found: Columns, intercept: bool) -> bool:
    """Return whether a Cholesky factor of the Gram matrix proves all columns independent."""
    if not (found.scales > 0).all():
        return False
    terms = found.terms(1, intercept)
    gram = RowLanes(batches).sum(terms.products, np.add, terms.lane_rows)
    roots = 1.0 / np.sqrt(np.maximum(np.diag(gram), 1e-300))
    try:
        factor = sla.cholesky(gram * roots * roots[:, None], check_finite=False)
    except np.linalg.LinAlgError:
        return False
    return bool(np.diag(factor).min(initial=1.0) ** 2 > SURE)


class _Triangular(NamedTuple):
    """The triangular factor of the rows of a lane, and the largest values of the columns."""

    R: np.ndarray
    reach: np.ndarray

    def __add__(self, other: Any) -> "_Triangular":
        R = np.asarray(np.linalg.qr(np.vstack([self.R, other.R]), mode="r"))
        return _Triangular(R, np.maximum(self.reach, other.reach))


def _triangular(terms: Terms, lane: Batch) -> _Triangular:
    found = _Triangular(np.zeros((0, terms.width)), np.zeros(terms.width))
    for _, Z in terms.blocks(lane):
        found = found + _Triangular(Z, np.abs(Z).max(axis=0, initial=0.0))
    return found


def _turned(batches: Batches, found: Columns, intercept: bool) -> Columns:
    """Return the standardization that leaves out features dependent on the intercept and earlier
    features, and turns the others if they are nearly dependent.
    """
    d, terms = len(found.scales), found.terms(1, intercept)
    whole: Any = _Triangular(np.zeros((0, d + intercept)), np.zeros(d + intercept))
    for lane in in_lanes(batches(), terms.lane_rows):
        interruption_point()
        whole = whole + _triangular(terms, lane)
    R, reach = whole
    kept: list[int] = []
    basis, least, parts = np.zeros((len(R), 0)), 1.0, {}
    nearly = []
    for j in [d] * intercept + list(range(d)):
        own, length = R[:, j], float(np.linalg.norm(R[:, j]))
        for _ in range(2):  # twice is enough
            own = own - basis @ (basis.T @ own)
        left = float(np.linalg.norm(own))
        if left > LOST * length and len(kept) < len(R):
            least = min(least, left / length)
            kept.append(j)
            basis = np.column_stack([basis, own / left])
            continue
        shares = np.linalg.lstsq(R[:, kept], R[:, j], rcond=None)[0]
        taken = np.abs(shares) * np.linalg.norm(R[:, kept], axis=0) > TAKEN * length
        parts[j] = {kept[k]: float(shares[k]) for k in np.flatnonzero(taken)}
        # as many columns as rows span any others
        if len(kept) < len(R) and not _exactly(batches, found, j, parts[j], intercept):
            nearly.append(j)
    scales = found.scales.copy()
    scales[list(parts)] = 0.0
    named = {j: list(of) or [d] * intercept for j, of in parts.items()}
    done = found._replace(scales=scales, dependent=named, nearly=tuple(nearly))
    if least > APART:
        return done
    features = sorted(k for k in kept if k < d)
    factor = np.asarray(np.linalg.qr(R[:, features], mode="r")) / np.linalg.norm(R[:, features[0]])
    turn, places = np.zeros((d, d)), np.ix_(features, features)
    turn[places] = sla.solve_triangular(factor, np.eye(len(features)))
    noise = 2.0 * (d + 3) * UNIT * (reach[:d] @ np.abs(turn))
    return done._replace(turn=turn, noise=noise)


def _exactly(
    batches: Batches, found: Columns, j: int, parts: dict[int, float], intercept: bool
) -> bool:
    """Return whether a feature is exactly this combination of others, in standardized features.

    Known for combinations of few bits only, or of a single feature, of which floats are exact.
    """
    d = len(found.scales)
    features = [k for k in parts if k < d]
    scale = found.scales[j]
    if not scale:  # a constant, if not only nearly
        ends = [(X[:, j].min(), X[:, j].max()) for X, _ in counted_blocks(batches, d)]
        return min(ends)[0] == max(high for _, high in ends)
    exact = np.array([parts[k] * found.scales[k] / scale for k in features])
    c = np.rint(exact / GRID) * GRID
    constant = found.centers[j] - c @ found.centers[features] if intercept else 0.0
    constant = float(np.rint(constant / GRID) * GRID)
    single = len(features) == 1 and abs(c[0]) in (0.5, 1.0, 2.0) and not constant
    for X, _ in counted_blocks(batches, d):
        some, own = X[:, features], X[:, j]
        if not (some @ c + constant == own).all():
            return False
        on_grid = (np.rint(some / VALUES) * VALUES == some).all()
        if not single and not (on_grid and (np.abs(some) @ np.abs(c) <= MOST).all()):
            return False
    return True
