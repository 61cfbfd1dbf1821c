"""The objective of a logistic regression: log-likelihood less penalty, its gradient and Hessian, as
sums of the terms of fixed-size blocks of rows (lanes), in standardized features.

Terms can be pickled, so that any process can compute them.
"""

from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp
from scipy.linalg.blas import dsyrk

from linsep._system.interrupts import interruption_point
from linsep.batches import Batch
from linsep.compiled import logistic
from linsep.compiled.rows import as_rows
from linsep.errors import FeatureOverflow
from linsep.lanes import Add, in_lanes
from linsep.logistic.task import Batches, RowLanes, Task, Work, block_rows, lane_rows

if TYPE_CHECKING:
    from linsep.logistic.checkpointing import Journal

#: largest spread of values, and inverse of the smallest
MOST_SPREAD = 1e100
#: a spread that is a smaller share of the values is treated as none, as in a constant column
CONSTANT = 1e-12
#: a column whose distance from the span of earlier ones is a smaller share of its length is
#: dependent; columns with a larger one need no turn
LOST, APART = 1e-12, 1e-3
#: share of its length that a column takes from another it depends on, at least
TAKEN = 1e-9
#: values of rows times each of their factors that are in memory at a time
SPREAD_VALUES = 1 << 21
#: rows in a lane of :class:`SparseTerms`
SPARSE_LANE_ROWS = 8192
#: pieces of a batch that make a sample, and the fewest rows in a piece
SAMPLES, SAMPLE_ROWS = 16, 64


class Columns(NamedTuple):
    """Standardization of features to (x - center) * scale, then times ``turn``.

    Attributes
    ----------
    centers, scales : arrays of shape (features,); scale 0 leaves a feature out
    dependent : dict of the features left out, as combinations of others, to these; the number of
        features stands for the intercept
    turn : upper triangular array of shape (features, features), which makes nearly dependent
        features orthogonal, or None
    """

    centers: np.ndarray
    scales: np.ndarray
    dependent: dict[int, list[int]] = {}  # noqa: RUF012 - never changed
    turn: np.ndarray | None = None

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

    def matrix(self, q: int, intercept: bool) -> np.ndarray:
        """Return the matrix that converts flat weights of ``q`` classes to the raw features."""
        one = self.raw(np.eye(len(self.scales) + intercept), intercept).T
        return one if q == 1 else np.kron(np.eye(q), one)


def sampled(task: Task) -> tuple[Batches, bool]:
    """Return evenly spread rows of the first batch, enough for a start, and whether they are all.

    Sparse rows are copied, dense rows are views.
    """
    given = iter(task.batches())
    with closing(given) if hasattr(given, "close") else nullcontext():  # type: ignore[type-var]
        first = next(given)
        step = first.size // max(20_000, 20 * task.q * task.width)
        if step < 4:
            more = next(given, None)
            return lambda: iter([first]), more is None
        part = first.rows(np.arange(0, first.size, step))
        return lambda: iter([part]), False


def columns_of(task: Task, sample: Batches, whole: bool) -> Columns:
    """Return the standardization, computed from a sample if that suffices.

    Features that depend on the intercept and earlier features are left out, and others that nearly
    do are turned. With l2 neither is looked for. Of very many features none is centered, to keep
    zeros, and those that are zero in all rows are left out.
    """
    if not task.factored:
        top = _largest(task)
        absent: dict[int, list[int]] = {j: [] for j in np.flatnonzero(top == 0).tolist()}
        scales = np.ones(task.n_features)
        if not task.model.l2:
            scales[list(absent)] = 0.0
        return Columns(np.zeros(task.n_features), scales, {} if task.model.l2 else absent)
    found = moments(task, sample)
    if task.model.l2:
        return found._replace(scales=np.where(found.scales > 0, found.scales, 1.0))
    R = _triangle(task, sample, found)
    if not (whole or _apart(R)):
        found = moments(task, task.batches)
        R = _triangle(task, task.batches, found)
    return found if _apart(R) else _without_dependent(found, R, task.intercept)


def _largest(task: Task) -> np.ndarray:
    """Return the largest absolute value of each feature, of rows with weight."""
    top = np.zeros(task.n_features)
    for batch in task.batches():
        interruption_point()
        X = batch.X[batch.importance > 0] if batch.importance.size else batch.X
        if X.shape[0]:
            most = abs(X).max(axis=0)
            most = most.toarray().ravel() if sp.issparse(X) else most
            top[: len(most)] = np.maximum(top[: len(most)], most)
    _refuse_sizes(top)
    return top


def _raw(task: Task, batches: Batches) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield raw rows with weight in blocks, in a buffer that is reused, and their weights."""
    terms = Terms(1, np.zeros(task.n_features), np.ones(task.n_features), False)
    for lane in in_lanes(batches(), terms.lane_rows):
        for start, X in terms.blocks(lane):
            interruption_point()
            weights = lane.importance[start : start + len(X)]
            counted = weights > 0
            if counted.all():
                yield X, weights if weights.size else np.ones(len(X))
            elif counted.any():
                yield X[counted], weights[counted]


def moments(task: Task, batches: Batches, marks: bool = False) -> Columns:
    """Return means (0 without an intercept) and 1 / root mean square around them (0 if that is 0);
    with ``marks``, columns of zeros and ones are only centered.

    Sums are of differences from the first row, to keep the digits of a small spread far from zero.

    Raises
    ------
    FeatureOverflow
        If the spread of a feature is too large or too small.
    """
    d = task.n_features
    first, top, sizes, marked = None, np.zeros(d), np.zeros(d), np.full(d, marks)
    means, squares, total = np.zeros(d), np.zeros(d), 0.0
    for X, weights in _raw(task, batches):
        if first is None:
            first = X[0].copy() if task.intercept else np.zeros(d)
        np.maximum(sizes, np.abs(X).max(axis=0), out=sizes)
        _refuse_sizes(sizes, small=False)  # before squares overflow
        if marks:
            marked &= ((X == 0.0) | (X == 1.0)).all(axis=0)
        Z, more = X - first, float(weights.sum())
        np.maximum(top, np.abs(Z).max(axis=0), out=top)
        total += more
        own = weights @ Z / more if task.intercept else means
        shift = own - means
        squares += (total - more) * more / total * shift**2 + weights @ (Z - own) ** 2
        means = means + shift * more / total
    _refuse_sizes(top)
    varies = top > (CONSTANT * sizes if task.intercept else 0.0)
    spread = np.sqrt(squares / max(total, 1e-300))
    scales = np.where(varies, 1.0 / np.where(varies & (spread > 0), spread, 1.0), 0.0)
    centers = (np.zeros(d) if first is None else first) + means
    return Columns(centers, np.where(marked & varies, 1.0, scales))


def _refuse_sizes(top: np.ndarray, small: bool = True) -> None:
    """Raise FeatureOverflow for features whose largest values are too large or too small."""
    tiny = (top > 0) & (top < 1.0 / MOST_SPREAD) & small
    bad = (top > MOST_SPREAD) | tiny
    if bad.any():
        first = int(np.argmax(bad))
        raise FeatureOverflow(first, small=bool(tiny[first]))


def _triangle(task: Task, batches: Batches, how: Columns) -> np.ndarray:
    """Return the triangular factor of the standardized rows, the intercept first."""
    terms = Terms(1, how.centers, how.scales, task.intercept)
    return RowLanes(batches).sum(terms.triangle, _stacked, terms.lane_rows)


def _stacked(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    rows = np.vstack([one, other])
    return np.triu(sla.lapack.dgeqrf(rows)[0][: rows.shape[1]])


def _apart(R: np.ndarray) -> bool:
    """Return whether no column is anywhere near the span of earlier ones."""
    left = np.abs(R.diagonal()) > APART * np.linalg.norm(R, axis=0)[: len(R)]
    return bool(len(R) == R.shape[1] and left.all())


def _without_dependent(found: Columns, R: np.ndarray, intercept: bool) -> Columns:
    """Return the standardization without dependent features, turned if some nearly are."""
    kept: list[int] = []
    d, least, parts = len(found.scales), 1.0, {}
    order, basis = [d] * intercept + list(range(d)), np.zeros((len(R), 0))
    for k, j in enumerate(order):
        own, length = R[:, k], float(np.linalg.norm(R[:, k]))
        for _ in range(2):  # twice is enough
            own = own - basis @ (basis.T @ own)
        left = float(np.linalg.norm(own))
        if left > LOST * length and len(kept) < len(R):
            least = min(least, left / length)
            kept.append(k)
            basis = np.column_stack([basis, own / left])
            continue
        shares = np.linalg.lstsq(R[:, kept], R[:, k], rcond=None)[0]
        taken = np.abs(shares) * np.linalg.norm(R[:, kept], axis=0) > TAKEN * length
        parts[j] = [order[kept[m]] for m in np.flatnonzero(taken)] or [d] * intercept
    scales = found.scales.copy()
    scales[list(parts)] = 0.0
    done = found._replace(scales=scales, dependent=parts)
    if least > APART:
        return done
    features = [k for k in kept if order[k] < d]
    factor = np.asarray(np.linalg.qr(R[:, features], mode="r"))
    factor /= np.linalg.norm(R[:, features[0]])
    turn, places = np.zeros((d, d)), [order[k] for k in features]
    turn[np.ix_(places, places)] = sla.solve_triangular(factor, np.eye(len(features)))
    return done._replace(turn=turn)


class Penalty(NamedTuple):
    """L2 penalty: half the weighted squared norm of the weights.

    With several classes the weights of all classes, shifted to sum to zero, are penalized, so that
    the choice of the reference does not matter.

    Attributes
    ----------
    factors : array of shape (width,), factors of the squared weights
    share : 1 / classes for several classes, 0 for two
    levels : arrays of column numbers, of equal factors each
        Columns of the levels of a text column but one: the weights of all levels, shifted to sum to
        zero, are penalized, so that the choice of the reference level does not matter.
    """

    factors: np.ndarray
    share: float = 0.0
    levels: tuple[np.ndarray, ...] = ()

    def times(self, B: np.ndarray) -> np.ndarray:
        """Return the gradient at B."""
        found = self.factors * (B - self.share * B.sum(axis=0))
        for of in self.levels:
            found[:, of] -= found[:, of].sum(axis=1, keepdims=True) / (len(of) + 1)
        return found

    def value(self, B: np.ndarray) -> float:
        """Return the penalty of B."""
        return 0.5 * float((B * self.times(B)).sum())

    def matrix(self, q: int) -> np.ndarray:
        """Return the Hessian."""
        of_class = np.diag(self.factors)
        for of in self.levels:
            of_class[np.ix_(of, of)] -= self.factors[of] / (len(of) + 1)
        return np.kron(np.eye(q) - self.share, of_class)

    def diagonal(self, q: int) -> np.ndarray:
        """Return the diagonal of the Hessian, in the shape of the weights."""
        of_class = self.factors * (1.0 - self.share)
        for of in self.levels:
            of_class[of] *= len(of) / (len(of) + 1)
        return np.tile(of_class, (q, 1))


class Moves(NamedTuple):
    """Effect of a step on the scores of rows with weight.

    Attributes
    ----------
    forward, backward, apart : float
        Largest increase and decrease of the difference between the score of a row's class and
        another, and of the difference between any two scores of a row.
    weight, blocks : float, total weight of the rows, and number of blocks in which they were read
    reach, squares : arrays of shape (width,)
        Largest absolute values of the columns, and their weighted sums of squares.
    """

    forward: float
    backward: float
    apart: float
    weight: float
    blocks: float
    reach: np.ndarray
    squares: np.ndarray

    @property
    def separates(self) -> bool:
        """Whether weights that move the scores so from zero have every row on its side."""
        return self.backward <= 0.0 < self.forward


def furthest(one: Moves, other: Moves) -> Moves:
    """Return the effect on the rows of both."""
    forward, backward, apart = map(max, one[:3], other[:3])
    weight, blocks = one.weight + other.weight, one.blocks + other.blocks
    reach, squares = np.maximum(one.reach, other.reach), one.squares + other.squares
    return Moves(forward, backward, apart, weight, blocks, reach, squares)


class Point(NamedTuple):
    """An objective evaluated at some weights, or arrays of points at several.

    Attributes
    ----------
    value : float
    gradient : array of the shape of the weights
    hessian : array of shape (weights, weights) or None
        The negative Hessian, without a penalty the information; weights are numbered row by row.
    shares : list or None
        Class probabilities for each lane, for :meth:`Objective.curved`.
    log_likelihood : float, the value without the penalty
    pull : array of the shape of the weights, Firth's part of the gradient, or None
    """

    value: Any
    gradient: np.ndarray
    hessian: Any = None
    shares: Any = None
    log_likelihood: Any = np.nan
    pull: Any = None


def together(one: Point, other: Point) -> Point:
    """Return the sum of two points without shares."""
    hessian = None if one.hessian is None else one.hessian + other.hessian
    return Point(one.value + other.value, one.gradient + other.gradient, hessian)


class Information:
    """Sum of the negative Hessian over blocks of rows: of c_kl z z', c_kl = w p_k (1[k = l] - p_l),
    for ``q`` classes k and l beside the reference, of ``width`` weights each.
    """

    def __init__(self, q: int, width: int):
        self.q, self.width = q, width
        self._own = np.zeros((q, width, width))
        self._crossed = np.zeros((q * width,) * 2 if q > 1 else (0, 0), order="F")

    def add(self, Z: np.ndarray, P: np.ndarray, rest: np.ndarray, weights: np.ndarray) -> None:
        """Add a block. ``rest`` is the curvature of two classes, else 1 - p of the likeliest
        class; Z may be overwritten.
        """
        if self.q == 1:
            logistic.roots_times(Z, rest)
            self._own[0] += Z.T @ Z
            return
        factors = P * np.sqrt(weights)[:, None] if weights.size else P
        most = max(16, SPREAD_VALUES // (self.q * self.width))
        for start in range(0, len(Z), most):
            part = slice(start, start + most)
            room = np.empty((len(Z[part]), self.q, self.width))
            logistic.spread(Z[part], factors[part], room)
            rows = room.reshape(len(room), -1).T
            self._crossed = dsyrk(-1.0, rows, 1.0, self._crossed, lower=1, overwrite_c=1)
        room, weighted = np.empty_like(Z), P * weights[:, None] if weights.size else P
        for k in range(self.q):
            left = np.where(P[:, k] > 0.5, rest, 1.0 - P[:, k])
            logistic.times(Z, weighted[:, k] * left, room)
            self._own[k] += Z.T @ room

    def matrix(self) -> np.ndarray:
        """Return the sum, of shape (q width, q width)."""
        if self.q == 1:
            return self._own[0]
        found = self._crossed.T  # its upper triangle is filled
        for k, own in enumerate(self._own):
            here, behind = slice(k * self.width, (k + 1) * self.width), (k + 1) * self.width
            found[here, here] = own
            found[behind:, here] = found[here, behind:].T
        return found


@dataclass(frozen=True)
class Terms:
    """Terms of the rows of a lane, in standardized features.

    Parameters
    ----------
    q : int, number of classes without the reference, and the code of the reference
    centers, scales, turn : see :class:`Columns`
    intercept : bool
        Whether weights have one more column, for a constant 1.
    """

    q: int
    centers: np.ndarray
    scales: np.ndarray
    intercept: bool
    turn: np.ndarray | None = None

    @property
    def width(self) -> int:
        """Number of weights per class."""
        return len(self.scales) + self.intercept

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the weights."""
        return self.q, self.width

    @property
    def lane_rows(self) -> int:
        """Number of rows in a lane."""
        return lane_rows(len(self.scales))

    @property
    def block_rows(self) -> int:
        """Most rows in a block."""
        return block_rows(len(self.scales))

    def scores(self, Z: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Return the products of standardized rows with weights."""
        return np.ascontiguousarray(Z @ B.T)

    def back(self, amounts: np.ndarray, Z: np.ndarray) -> np.ndarray:
        """Return the sums of rows times amounts of each class."""
        return amounts.T @ Z

    def blocks(self, lane: Batch) -> Iterator[tuple[int, Any]]:
        """Yield the standardized rows of a lane in blocks, in a buffer that is reused; rows of
        weight 0 are zero, because their scores may overflow float64.
        """
        most, rows, weights, d = self.block_rows, as_rows(lane.X), lane.importance, len(self.scales)
        room = np.empty((min(most, lane.size), self.width))
        for start in range(0, lane.size, most):
            Z = room[: min(most, lane.size - start)]
            logistic.standardized(rows, start, Z, self.centers, self.scales)
            if self.turn is not None:
                Z[:, :d] = Z[:, :d] @ self.turn
            if weights.size:
                Z[weights[start : start + len(Z)] == 0] = 0.0
            yield start, Z

    def residuals(
        self, lane: Batch, start: int, Z: np.ndarray, B: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """Return, for a block of standardized rows from row ``start`` of a lane on: class
        probabilities (of two classes the curvature), weighted residuals, what
        :meth:`Information.add` calls ``rest``, and the log-likelihood.
        """
        P = self.scores(Z, B)
        n_rows, residuals = len(P), np.empty_like(P)
        if lane.offset is not None:
            P += lane.offset[start : start + n_rows].reshape(n_rows, -1)
        known, rest = (lane.y, lane.importance, start), np.empty(n_rows)
        if self.q == 1:
            found = logistic.two_classes(P[:, 0], *known, residuals[:, 0], rest)
            P = rest[:, None]
        else:
            found = logistic.several_classes(P, *known, residuals, rest)
        return P, residuals, rest, found

    def point(self, lane: Batch, B: np.ndarray, hessian: bool) -> Point:
        """Return value, gradient and, if wanted, the Hessian at the weights B."""
        return self.point_with_shares(lane, B, hessian)[0]

    def point_with_shares(
        self, lane: Batch, B: np.ndarray, hessian: bool = False
    ) -> tuple[Point, np.ndarray]:
        """Return the point, and the class probabilities, shape (rows, q)."""
        value, gradient, shares = 0.0, np.zeros(self.shape), np.empty((lane.size, self.q))
        information = Information(self.q, self.width) if hessian else None
        for start, Z in self.blocks(lane):
            P, residuals, rest, own = self.residuals(lane, start, Z, B)
            value += own
            gradient += self.back(residuals, Z)
            shares[start : start + len(P)] = P
            if information is not None:
                information.add(Z, P, rest, lane.importance[start : start + len(P)])
        square = None if information is None else information.matrix()
        return Point(value, gradient, square), shares

    def moves(self, lane: Batch, step: np.ndarray) -> Moves:
        """Return the effect of a step, of the shape of the weights, on the scores."""
        most, blocks, reach, squares = np.zeros(3), 0, np.zeros(self.width), np.zeros(self.width)
        for start, Z in self.blocks(lane):
            logistic.extents(Z, lane.importance, start, reach, squares)
            scores = np.ascontiguousarray(Z @ step.T)
            most = np.maximum(most, logistic.moves(scores, lane.y, lane.importance, start))
            blocks += 1
        weight = lane.size if lane.weights is None else float(lane.weights.sum())
        forward, backward, apart = most.tolist()
        return Moves(forward, backward, apart, weight, blocks, reach, squares)

    def curved(self, lane: Batch, P: np.ndarray, V: np.ndarray) -> np.ndarray:
        """Return the negative Hessian where the class probabilities are P, times V."""
        out = np.zeros(self.shape)
        for start, Z in self.blocks(lane):
            amounts = self.scores(Z, V)
            part = P[start : start + len(amounts)]
            amounts *= part
            if self.q > 1:
                amounts -= part * amounts.sum(axis=1, keepdims=True)
                if lane.importance.size:
                    amounts *= lane.importance[start : start + len(part), None]
            out += self.back(amounts, Z)
        return out

    def diagonal(self, lane: Batch, P: np.ndarray) -> np.ndarray:
        """Return the diagonal of the negative Hessian where the class probabilities are P; of
        several classes with a row for the reference, as if its weights were not zero.
        """
        P = _of_all(P)
        out = np.zeros((P.shape[1], self.width))
        for start, Z in self.blocks(lane):
            part = P[start : start + Z.shape[0]]
            amounts = part if self.q == 1 else part * (1.0 - part)
            if self.q > 1 and lane.importance.size:
                amounts = amounts * lane.importance[start : start + len(part), None]
            out += self.back(amounts, Z.power(2) if sp.issparse(Z) else np.square(Z, out=Z))
        return out

    def weighted_squares(self, lane: Batch) -> float:
        """Return the weighted sum of all squared values."""
        weights = np.ones(lane.size) if lane.weights is None else lane.weights
        return float(replace(self, q=1).diagonal(lane, weights[:, None]).sum())

    def products(self, lane: Batch) -> np.ndarray:
        """Return weighted sums of products of the features, shape (width, width)."""
        found = np.zeros((self.width, self.width))
        for start, Z in self.blocks(lane):
            weights = lane.importance[start : start + len(Z)]
            found += Z.T @ (Z * weights[:, None] if weights.size else Z)
        return found

    def triangle(self, lane: Batch) -> np.ndarray:
        """Return the triangular factor of the rows with weight, the intercept first."""
        found = np.zeros((0, self.width))
        for _, Z in self.blocks(lane):
            found = _stacked(found, np.roll(Z, self.intercept, axis=1))
        return found


def _of_all(P: np.ndarray) -> np.ndarray:
    """Return the probabilities of several classes, with the reference's."""
    if P.shape[1] == 1:
        return P
    return np.column_stack([P, np.maximum(0.0, 1.0 - P.sum(axis=1))])


@dataclass(frozen=True)
class SparseTerms(Terms):
    """Terms of CSR rows with too many weights for a Hessian; features are not centered."""

    @property
    def lane_rows(self) -> int:
        """Number of rows in a lane."""
        return SPARSE_LANE_ROWS

    def blocks(self, lane: Batch) -> Iterator[tuple[int, Any]]:
        """Yield all rows of the lane."""
        yield 0, lane.X

    def scores(self, Z: Any, B: np.ndarray) -> np.ndarray:
        """Return the products of rows with weights."""
        found = np.ascontiguousarray(Z @ B[:, : Z.shape[1]].T)
        return found + B[:, -1] if self.intercept else found

    def back(self, amounts: np.ndarray, Z: Any) -> np.ndarray:
        """Return the sums of rows times amounts of each class."""
        found = np.zeros((amounts.shape[1], self.width))
        found[:, : Z.shape[1]] = (Z.T @ amounts).T
        if self.intercept:
            found[:, -1] = amounts.sum(axis=0)
        return found

    def moves(self, lane: Batch, step: np.ndarray) -> Moves:
        """Return the effect of a step on the scores, without the columns' values."""
        nothing = np.zeros(0)
        most = logistic.moves(self.scores(lane.X, step), lane.y, lane.importance, 0)
        forward, backward, apart = most
        return Moves(forward, backward, apart, 0.0, 0.0, nothing, nothing)

    def products(self, lane: Batch) -> np.ndarray:
        """Return weighted sums of products of the features, shape (width, width)."""
        return Terms(self.q, self.centers, self.scales, self.intercept).products(lane)


class Objective:
    """The log-likelihood of rows in standardized features, less a penalty.

    Parameters
    ----------
    lanes : RowLanes
    terms : Terms
    penalty : Penalty or None
    journal : Journal or None
        Where the results of passes over the rows are recorded, and looked up instead of made.
    """

    def __init__(
        self, lanes: RowLanes, terms: Terms, penalty: Penalty | None = None,
        journal: "Journal | None" = None,
    ):  # fmt: skip
        self.lanes, self.terms, self.journal = lanes, terms, journal
        self.q, self.width, self.shape = terms.q, terms.width, terms.shape
        self.penalty = Penalty(np.zeros(self.width)) if penalty is None else penalty
        self.penalized = bool(self.penalty.factors.any())
        #: mask of the columns that are not left out
        self.used = np.append(terms.scales > 0.0, np.ones(int(terms.intercept), dtype=bool))

    def at(self, B: np.ndarray, hessian: bool = True, shares: bool = False) -> Point:
        """Evaluate at weights B of shape (q, width), with Hessian or shares if asked."""
        given, kept = np.ascontiguousarray(B), None
        if shares:  # which are not recorded
            work = partial(self.terms.point_with_shares, B=given)
            point, kept = self.lanes.sum_and_keep(work, together, self.terms.lane_rows)
        else:

            def compute() -> list[np.ndarray]:
                found = self.sum(partial(self.terms.point, B=given, hessian=hessian), together)
                return [np.array([found.value]), found.gradient, *([found.hessian] * hessian)]

            (value,), *derivatives = self._recorded(f"at {hessian:d}", B, compute)
            point = Point(float(value), *derivatives)
        if not self.penalized:
            return point._replace(shares=kept, log_likelihood=point.value)
        pull = self.penalty.times(B)
        square = None if point.hessian is None else point.hessian + self.penalty.matrix(self.q)
        value = point.value - 0.5 * float((B * pull).sum())
        return Point(value, point.gradient - pull, square, kept, point.value)

    def moves(self, step: np.ndarray) -> Moves:
        """Return the effect of a step, of the shape of the weights, on the scores."""

        def compute() -> list[np.ndarray]:
            found = self.sum(partial(self.terms.moves, step=np.ascontiguousarray(step)), furthest)
            return [np.array(found[:5], dtype=np.float64), *found[5:]]

        numbers, *columns = self._recorded("moves", step, compute)
        return Moves(*numbers.tolist(), *columns)

    def curved(self, point: Point, V: np.ndarray) -> np.ndarray:
        """Return the negative Hessian at a point with shares, times V of the weights' shape."""
        work = partial(self.terms.curved, V=np.ascontiguousarray(V))
        (found,) = self._recorded("curved", V, lambda: [self._with_shares(point, work)])
        return found + self.penalty.times(V)

    def diagonal(self, point: Point) -> np.ndarray:
        """Return the diagonal of the information at a point with shares; of several classes with a
        last row for the reference, as if its weights were not zero.
        """
        (found,) = self._recorded(
            "diagonals", point.gradient, lambda: [self._with_shares(point, self.terms.diagonal)]
        )
        return found

    def _recorded(
        self, what: str, given: np.ndarray, compute: Callable[[], list[np.ndarray]]
    ) -> list[np.ndarray]:
        """Return the result of a pass over the rows: from the journal if it is there."""
        if self.journal is None:
            return compute()
        return [array.copy() for array in self.journal.result(what, given, compute)]

    def sum(self, work: Work, adding: Add) -> Any:
        """Return the sum of ``work(lane)`` over all lanes."""
        return self.lanes.sum(work, adding, self.terms.lane_rows)

    def _with_shares(self, point: Point, work: Work) -> np.ndarray:
        return self.lanes.sum_with(point.shares or [], work, add, self.terms.lane_rows)

    def products(self, n_rows: int) -> np.ndarray:
        """Return sums of products of the features over about ``n_rows`` rows, evenly spread over
        the first batch, shape (width, width).
        """
        batch, found = next(iter(self.lanes.batches())), np.zeros((self.width, self.width))
        pieces = max(1, min(SAMPLES, batch.size // SAMPLE_ROWS))
        each = -(-n_rows // pieces)
        for k in range(pieces):
            first = batch.size * k // pieces
            last = min(first + each, batch.size * (k + 1) // pieces)
            found += self.terms.products(batch.between(first, last))
        return found
