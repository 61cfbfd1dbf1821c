"""The objective of a logistic regression: log-likelihood less penalty, its gradient and Hessian, as
sums of the terms of fixed-size blocks of rows (lanes), in standardized features. Terms can be
pickled, so that any process can compute them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from operator import add
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp

from linsep._system.interrupts import interruption_point
from linsep.batches import Batch, weighed
from linsep.compiled import logistic
from linsep.compiled.rows import as_rows
from linsep.errors import FeatureOverflow
from linsep.inference.robust import CLUSTERED, Scores, added_scores
from linsep.lanes import Add, in_lanes
from linsep.logistic.task import Batches, RowLanes, Task, Work, block_rows, lane_rows

MOST_SPREAD = 1e100  #: largest spread of values, and inverse of the smallest
#: a spread that is a smaller share of the values is treated as none, as in a constant column
CONSTANT = 1e-12
#: distances from the span of earlier columns, relative: dependent below, no turn needed above
LOST, APART = 1e-12, 1e-3
TAKEN = 1e-9  #: share of its length that a column takes from another it depends on, at least


class Penalty(NamedTuple):
    """L2 penalty: half the squared weights of each class in the metric ``square``, an array or
    sparse matrix of shape (width, width).

    With several classes (``share`` is 1 / their number, else 0) the weights of all, shifted to sum
    to zero, are penalized, so that the choice of the reference does not matter.
    """

    square: Any
    share: float = 0.0

    def times(self, B: np.ndarray) -> np.ndarray:
        """Return the gradient at B."""
        return np.asarray((B - self.share * B.sum(axis=0)) @ self.square)

    def value(self, B: np.ndarray) -> float:
        """Return the penalty of B."""
        return 0.5 * float((B * self.times(B)).sum())

    def matrix(self, q: int) -> np.ndarray:
        """Return the Hessian."""
        return np.kron(np.eye(q) - self.share, self.square @ np.eye(self.square.shape[0]))

    def diagonal(self, q: int) -> np.ndarray:
        """Return the diagonal of the Hessian, in the shape of the weights."""
        return np.tile((1.0 - self.share) * self.square.diagonal(), (q, 1))


class Moves(NamedTuple):
    """Effect of a step on the scores of rows with weight: the largest increase and decrease of the
    difference between the score of a row's class and another, and of that between any two scores;
    largest absolute values of the columns, and weighted sums of their squares; the weight of the
    rows, and the number of blocks in which they were read.
    """

    forward: float
    backward: float
    apart: float
    reach: np.ndarray
    weight: float
    blocks: float
    squares: np.ndarray


def furthest(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the effect on the rows of both, in the form of :meth:`Terms.moves`."""
    most = (len(one) + 1) // 2
    return np.append(np.maximum(one[:most], other[:most]), one[most:] + other[most:])


class Point(NamedTuple):
    """An objective evaluated at some weights, or arrays of points at several: its value, gradient
    and negative Hessian (weights are numbered row by row), class probabilities for each lane, the
    value without the penalty, and Firth's part of the gradient.
    """

    value: Any
    gradient: np.ndarray
    hessian: Any = None
    shares: Any = None
    log_likelihood: Any = np.nan
    pull: Any = None


@dataclass(frozen=True)
class Terms:
    """The terms of the rows of a lane, in features standardized to (x - center) * scale, then times
    ``turn``; and weights of these as weights of the raw features, and back.

    ``q`` is the number of classes without the reference, and its code. Scale 0 leaves a feature
    out; with ``intercept`` weights have one more column, for a constant 1; ``turn``, upper
    triangular, makes nearly dependent features orthogonal. ``dependent`` are the features left out,
    with those that they are combinations of; the number of features stands for the intercept.
    """

    q: int
    centers: np.ndarray
    scales: np.ndarray
    intercept: bool
    turn: np.ndarray | None = None
    dependent: dict[int, list[int]] = field(default_factory=dict)

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

    def raw(self, B: np.ndarray) -> np.ndarray:
        """Convert weights to the raw features, the intercept last."""
        d, W = len(self.scales), B.copy()
        W[:, :d] = self.scales * (W[:, :d] if self.turn is None else W[:, :d] @ self.turn.T)
        if self.intercept:
            W[:, d] -= W[:, :d] @ self.centers
        return W

    def standard(self, W: np.ndarray) -> np.ndarray:
        """Convert weights of the raw features; weights of features left out become 0."""
        d, B, kept = len(self.scales), np.zeros_like(W), np.flatnonzero(self.scales)
        B[:, kept] = W[:, kept] / self.scales[kept]
        if self.turn is not None:
            B[:, kept] = sla.solve_triangular(self.turn[np.ix_(kept, kept)], B[:, kept].T).T
        if self.intercept:
            B[:, d] = W[:, d] + W[:, :d] @ self.centers
        return B

    def matrix(self) -> np.ndarray:
        """Return the matrix that converts flat weights to the raw features."""
        one = self.raw(np.eye(self.width)).T
        return one if self.q == 1 else np.kron(np.eye(self.q), one)

    def scores(self, Z: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Return the products of standardized rows with weights."""
        return np.ascontiguousarray(Z @ B.T)

    def back(self, amounts: np.ndarray, Z: np.ndarray) -> np.ndarray:
        """Return the sums of rows times amounts of each class."""
        return amounts.T @ Z

    def blocks(self, lane: Batch) -> Iterator[tuple[int, Any]]:
        """Yield standardized rows in a buffer; those of weight 0 are 0: scores may overflow."""
        d, rows, weights = len(self.scales), as_rows(lane.X), lane.importance
        most = block_rows(d)
        room = np.empty((min(most, lane.size), self.width))
        for start in range(0, lane.size, most):
            Z = room[: lane.size - start]
            logistic.standardized(rows, start, Z, self.centers, self.scales)
            if self.turn is not None:
                Z[:, :d] = Z[:, :d] @ self.turn
            if weights.size:
                Z[weights[start : start + len(Z)] == 0] = 0.0
            yield start, Z

    def residuals(
        self, lane: Batch, start: int, Z: np.ndarray, B: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """Return, of a block from row ``start`` of a lane on, class probabilities, weighted
        residuals, 1 - p of the likeliest class, and the log-likelihood; of two classes curvatures.
        """
        P = self.scores(Z, B)
        n_rows, residuals = len(P), np.empty_like(P)
        if lane.offset is not None:
            P += lane.offset[start : start + n_rows].reshape(n_rows, -1)
        known, rest = (lane.y, lane.importance, start), np.empty(n_rows)
        if self.q == 1:
            value = logistic.two_classes(P[:, 0], *known, residuals[:, 0], rest)
            return rest[:, None], residuals, rest, value
        return P, residuals, rest, logistic.several_classes(P, *known, residuals, rest)

    def point(self, lane: Batch, B: np.ndarray, hessian: bool = False, shares: bool = False) -> Any:
        """Return value, gradient and Hessian in one array, and the class probabilities."""
        value, gradient, kept = 0.0, np.zeros(self.shape), np.empty((lane.size, self.q))
        H = np.zeros((*self.shape, *self.shape) if hessian else 0)
        for start, Z in self.blocks(lane):
            P, residuals, rest, own = self.residuals(lane, start, Z, B)
            value += own
            gradient += self.back(residuals, Z)
            kept[start : start + len(P)] = P
            if hessian and self.q == 1:
                logistic.times(Z, np.sqrt(rest), Z)
                H[0, :, 0] += Z.T @ Z
            elif hessian:  # of classes k and m: w p_k (1[k = m] - p_m) z z'
                weights = lane.importance[start : start + len(P)]
                weighted = P * weights[:, None] if weights.size else P
                own_curvature = weighted * np.where(P > 0.5, rest[:, None], 1.0 - P)
                for k in range(self.q):
                    for m in range(k + 1):
                        curvature = own_curvature[:, k] if m == k else -weighted[:, k] * P[:, m]
                        H[k, :, m] += Z.T @ (Z * curvature[:, None])
        for k in range(self.q * hessian):
            for m in range(k):
                H[m, :, k] = H[k, :, m].T
        found = np.concatenate([[value], gradient.ravel(), H.ravel()])
        return (found, kept) if shares else found

    def moves(self, lane: Batch, step: np.ndarray) -> np.ndarray:
        """Return what :class:`Moves` holds of a step, in one array."""
        most, blocks, reach, squares = np.zeros(3), 0, np.zeros(self.width), np.zeros(self.width)
        for start, Z in self.blocks(lane):
            if not sp.issparse(Z):
                logistic.extents(Z, lane.importance, start, reach, squares)
            scores = self.scores(Z, step)
            most = np.maximum(most, logistic.moves(scores, lane.y, lane.importance, start))
            blocks += 1
        weight = lane.size if lane.weights is None else float(lane.weights.sum())
        return np.concatenate([most, reach, [weight, blocks], squares])

    def curved(self, lane: Batch, P: np.ndarray, V: np.ndarray) -> np.ndarray:
        """Return the negative Hessian where the class probabilities are P, times V."""
        out = np.zeros(self.shape)
        for start, Z in self.blocks(lane):
            amounts = self.scores(Z, V)
            part = P[start : start + len(amounts)]
            amounts *= part
            if self.q > 1:
                amounts -= part * amounts.sum(axis=1, keepdims=True)
                if lane.weights is not None:
                    amounts *= lane.weights[start : start + len(part), None]
            out += self.back(amounts, Z)
        return out

    def diagonal(self, lane: Batch, P: np.ndarray) -> np.ndarray:
        """Return the diagonal of the negative Hessian where the class probabilities are P; of
        several classes with a row for the reference, as if its weights were not zero.
        """
        if self.q > 1:
            P = np.column_stack([P, np.maximum(0.0, 1.0 - P.sum(axis=1))])
            P = P * (1.0 - P) if lane.weights is None else P * (1.0 - P) * lane.weights[:, None]
        out = np.zeros((P.shape[1], self.width))
        for start, Z in self.blocks(lane):
            squares = Z.power(2) if sp.issparse(Z) else np.square(Z, out=Z)
            out += self.back(P[start : start + Z.shape[0]], squares)
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

    def row_scores(
        self, lane: Batch, B: np.ndarray, covariance: str, pairs: bool = False
    ) -> Scores:
        """Return the scores of the rows at weights B, w (y - p) x of each class beside the
        reference, for a robust covariance; with ``pairs``, two rows each have one, of counts.
        """
        found, groups = list[Scores](), lane.groups if covariance == CLUSTERED else None
        for start, Z in self.blocks(lane):
            _, residuals, _, _ = self.residuals(lane, start, Z, B)
            rows = (residuals[:, :, None] * Z[:, None, :]).reshape(len(Z), -1)
            own = None if groups is None else groups[start : start + len(Z)]
            if pairs:
                rows, own = rows[::2] + rows[1::2], None if own is None else own[::2]
            found.append(added_scores((rows, own)))
        return added_scores(*found)

    def pearson(self, lane: Batch, B: np.ndarray) -> float:
        """Return Pearson's chi-squared of counts, which are two rows each, at weights B."""
        total = 0.0
        for start, Z in self.blocks(lane):
            curvatures, residuals, _, _ = self.residuals(lane, start, Z, B)
            errors, variances = ((of[::2] + of[1::2])[:, 0] for of in (residuals, curvatures))
            total += float((errors[variances > 0] ** 2 / variances[variances > 0]).sum())
        return total


@dataclass(frozen=True)
class SparseTerms(Terms):
    """Terms of CSR rows with too many weights for a Hessian; features are not centered."""

    lane_rows = 8192

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

    def products(self, lane: Batch) -> np.ndarray:
        """Return weighted sums of products of the features, shape (width, width)."""
        return Terms(self.q, self.centers, self.scales, self.intercept).products(lane)


def columns_of(task: Task) -> Terms:
    """Return the terms in standardized features, computed from a sample if that suffices. Features
    that depend on the intercept and earlier features are left out, and others that nearly do are
    turned. With l2 neither is looked for.
    """
    if not task.factored:
        return _as_they_are(task)
    sample = task.sample
    few = task.batches if sample is None else lambda: [sample]
    found = moments(task, few)
    if task.model.l2:
        return replace(found, scales=np.where(found.scales > 0, found.scales, 1.0))
    products = RowLanes(few).sum(found.products, add, found.lane_rows)
    factor, failed = sla.lapack.dpotrf(products)
    if not failed and (factor.diagonal() > APART * np.linalg.norm(factor, axis=0)).all():
        return found
    if sample is not None:
        found = moments(task, task.batches)
    R = RowLanes(task.batches).sum(found.triangle, _stacked, found.lane_rows)
    return _without_dependent(found, R)


def _as_they_are(task: Task) -> Terms:
    """Return the terms in very many features, not centered to keep zeros."""
    d, top, sparse = task.n_features, np.zeros(task.n_features), False
    for batch in weighed(task.batches()):
        interruption_point()
        if batch.size:
            most, sparse = abs(batch.X).max(axis=0), sp.issparse(batch.X)
            most = most.toarray().ravel() if sparse else most
            top[: len(most)] = np.maximum(top[: len(most)], most)
    _refuse_sizes(top)
    kind, l2 = SparseTerms if sparse else Terms, task.model.l2
    absent: dict[int, list[int]] = {} if l2 else {j: [] for j in np.flatnonzero(top == 0).tolist()}
    scales = np.ones(d) if l2 else np.sign(top)
    return kind(task.q, np.zeros(d), scales, task.intercept, None, absent)


@np.errstate(over="ignore", invalid="ignore")  # refused at the end
def moments(task: Task, batches: Batches, marks: bool = False) -> Terms:
    """Return the terms with means (0 without an intercept) as centers, and 1 / root mean square
    around them (0 if that is 0) as scales; with ``marks``, columns of zeros and ones are only
    centered. Sums are of differences from the first row, to keep the digits of a small spread.
    """
    d, first, total = task.n_features, np.empty(0), 0.0
    top, sums, squares, marked = *np.zeros((3, d)), np.full(d, marks)
    plain = Terms(task.q, np.zeros(d), np.ones(d), False)
    for lane in in_lanes(weighed(batches()), plain.lane_rows):
        for start, X in plain.blocks(lane):
            interruption_point()
            if not total:
                first = X[0] * task.intercept
            np.maximum(top, np.abs(X).max(axis=0), out=top)
            if marks:
                marked &= ((X == 0.0) | (X == 1.0)).all(axis=0)
            Z = X - first
            weights = np.ones(len(Z)) if lane.weights is None else lane.weights[start:][: len(Z)]
            total += float(weights.sum())
            sums += weights @ Z
            squares += weights @ np.square(Z)
    means = sums / total * task.intercept
    spread = np.sqrt(np.maximum(squares / total - means**2, 0.0))
    _refuse_sizes(np.where(top > MOST_SPREAD, top, spread))
    varies = spread > (CONSTANT * top if task.intercept else 0.0)
    scales = np.where(varies, 1.0 / np.where(varies & ~marked, spread, 1.0), 0.0)
    return replace(plain, centers=means + first, scales=scales, intercept=task.intercept)


def _refuse_sizes(top: np.ndarray) -> None:
    bad = (top > MOST_SPREAD) | ((top > 0) & (top < 1.0 / MOST_SPREAD))
    if bad.any():
        raise FeatureOverflow(int(np.argmax(bad)))


def _stacked(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.qr(np.vstack([one, other]), mode="r"))


def _without_dependent(found: Terms, R: np.ndarray) -> Terms:
    """Return the terms without dependent features, turned if some nearly are."""
    d, first = len(found.scales), int(found.intercept)
    order, lengths = [d] * first + list(range(d)), np.linalg.norm(R, axis=0)
    kept, lost, basis, least = list[int](), list[int](), np.zeros((len(R), 0)), 1.0
    for k, length in enumerate(lengths.tolist()):
        own = R[:, k]
        for _ in range(2):  # twice is enough
            own = own - basis @ (basis.T @ own)
        left = float(np.linalg.norm(own))
        if left <= LOST * length or len(kept) == len(R):
            lost.append(k)
            continue
        kept.append(k)
        basis, least = np.column_stack([basis, own / left]), min(least, left / length)
    shares = np.abs(np.linalg.lstsq(R[:, kept], R[:, lost], rcond=None)[0]) * lengths[kept, None]
    taken = shares > TAKEN * lengths[lost]
    parts = {
        order[k]: [order[kept[m]] for m in np.flatnonzero(taken[:, n])] or [d] * first
        for n, k in enumerate(lost)
    }
    scales, turn = found.scales.copy(), None
    scales[list(parts)] = 0.0
    if least <= APART:
        features = kept[first:]
        factor = np.triu((basis.T @ R[:, features])[first:])
        places, turn = [order[k] for k in features], np.zeros((d, d))
        turn[np.ix_(places, places)] = np.linalg.inv(factor / lengths[features[0]])
    return replace(found, scales=scales, dependent=parts, turn=turn)


class Objective:
    """The log-likelihood of rows in standardized features, less a penalty; results of passes over
    the rows are recorded in a journal, and looked up instead of made.
    """

    def __init__(
        self, lanes: RowLanes, terms: Terms, penalty: Penalty | None = None,
        journal: Any = None,
    ):  # fmt: skip
        self.lanes, self.terms, self.journal = lanes, terms, journal
        self.q, self.width, self.shape = terms.q, terms.width, terms.shape
        self.penalty = penalty or Penalty(np.zeros((self.width, self.width)))
        self.penalized = bool(self.penalty.square.diagonal().any())
        #: mask of the columns that are not left out
        self.used = np.append(terms.scales > 0.0, np.ones(int(terms.intercept), dtype=bool))

    def at(self, B: np.ndarray, hessian: bool = True, shares: bool = False) -> Point:
        """Evaluate at weights B of shape (q, width), with Hessian or shares if asked."""
        given, size, kept = np.ascontiguousarray(B), B.size, None
        work = partial(self.terms.point, B=given, hessian=hessian, shares=shares)
        if shares:  # which are not recorded
            found, kept = self.lanes.sum_and_keep(work, add, self.terms.lane_rows)
        else:
            found = self.sum(work, add, None, f"at {hessian:d}", given)
        value, gradient = float(found[0]), found[1 : size + 1].reshape(self.shape)
        square = found[size + 1 :].reshape(size, size) if hessian else None
        if not self.penalized:
            return Point(value, gradient, square, kept, value)
        square = None if square is None else square + self.penalty.matrix(self.q)
        least, pull = value - self.penalty.value(B), self.penalty.times(B)
        return Point(least, gradient - pull, square, kept, value)

    def moves(self, step: np.ndarray) -> Moves:
        """Return the effect of a step, of the shape of the weights, on the scores."""
        given = np.ascontiguousarray(step)
        found = self.sum(partial(self.terms.moves, step=given), furthest, None, "moves", given)
        most, sums = np.split(found, [(len(found) + 1) // 2])
        return Moves._make([*most[:3].tolist(), most[3:], *sums[:2].tolist(), sums[2:]])

    def curved(self, point: Point, V: np.ndarray) -> np.ndarray:
        """Return the negative Hessian at a point with shares, times V of the weights' shape."""
        work = partial(self.terms.curved, V=np.ascontiguousarray(V))
        return self.sum(work, add, point.shares, "curved", V) + self.penalty.times(V)

    def diagonal(self, point: Point) -> np.ndarray:
        """Return the diagonal of the information at a point with shares; of several classes with a
        last row for the reference, as if its weights were not zero.
        """
        return self.sum(self.terms.diagonal, add, point.shares, "diagonals", point.gradient)

    def sum(self, work: Work, adding: Add = add, kept: Any = None, *key: Any) -> Any:
        """Return the sum of ``work(lane)``, or ``work(lane, what was kept)``, over all lanes; a
        pass with a key, its name and the weights, is recorded.
        """
        compute: Any = partial(self.lanes.sum, work, adding, self.terms.lane_rows, kept)
        return self.journal.result(*key, compute) if self.journal and key else compute()
