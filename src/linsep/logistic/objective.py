"""The objective of a logistic regression: log-likelihood less penalty, its gradient and Hessian, as
sums of the terms of fixed-size blocks of rows (lanes).

Terms can be pickled, so that any process can compute them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.linalg.blas import dsyrk

from linsep.batches import Batch
from linsep.compiled import logistic
from linsep.compiled.rows import as_rows
from linsep.lanes import Add
from linsep.logistic.task import RowLanes, Work, block_rows, lane_rows

if TYPE_CHECKING:
    from linsep.logistic.checkpointing import Journal

#: classes whose pairs are added one by one
FEW = 4
#: values of rows times each of their factors that are in memory at a time
SPREAD_VALUES = 1 << 21
#: rows in a lane of :class:`SparseTerms`
SPARSE_LANE_ROWS = 8192
#: pieces of a batch that make a sample, and the fewest rows in a piece
SAMPLES, SAMPLE_ROWS = 16, 64


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


class Sums(NamedTuple):
    """Sums over rows that bound rounding errors.

    Attributes
    ----------
    weight : float, total weight of the rows
    blocks : float, number of blocks in which the rows were read
    """

    weight: float = 0.0
    blocks: float = 0.0

    def __add__(self, other: Any) -> "Sums":
        return Sums(self.weight + other.weight, self.blocks + other.blocks)


class Moves(NamedTuple):
    """Effect of a step on the scores of rows with weight.

    Attributes
    ----------
    forward, backward, apart : float
        Largest increase and decrease of the difference between the score of a row's class and
        another, and of the difference between any two scores of a row.
    reach, squares : arrays of shape (width,)
        Largest absolute values of the columns, and their weighted sums of squares.
    """

    forward: float
    backward: float
    apart: float
    reach: np.ndarray
    squares: np.ndarray

    @property
    def separates(self) -> bool:
        """Whether weights that move the scores so from zero have every row on its side."""
        return self.backward <= 0.0 < self.forward


def furthest(one: Moves, other: Moves) -> Moves:
    """Return the effect on the rows of both."""
    forward, backward, apart = map(max, one[:3], other[:3])
    reach = np.maximum(one.reach, other.reach)
    return Moves(forward, backward, apart, reach, one.squares + other.squares)


class Point(NamedTuple):
    """An objective evaluated at some weights.

    Attributes
    ----------
    value : float
    gradient : array of the shape of the weights
    hessian : array of shape (weights, weights) or None
        The negative Hessian, without a penalty the information; weights are numbered row by row.
    shares : list or None
        Class probabilities for each lane, for :meth:`Objective.curved`.
    sums : Sums
    log_likelihood : float, the value without the penalty
    pull : array of the shape of the weights, Firth's part of the gradient, or None
    """

    value: float
    gradient: np.ndarray
    hessian: Any = None
    shares: list[Any] | None = None
    sums: Sums = Sums()
    log_likelihood: float = np.nan
    pull: Any = None


def together(one: Point, other: Point) -> Point:
    """Return the sum of two points without shares."""
    hessian = None if one.hessian is None else one.hessian + other.hessian
    gradient = one.gradient + other.gradient
    return Point(one.value + other.value, gradient, hessian, None, one.sums + other.sums)


class Information:
    """Sum of the negative Hessian over blocks of rows: of c_kl z z', c_kl = w p_k (1[k = l] - p_l),
    for classes k and l.

    Parameters
    ----------
    q : int, number of classes without the reference
    width : int, number of weights per class
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
        self._cross(Z, P * np.sqrt(weights)[:, None] if weights.size else P)
        room, weighted = np.empty_like(Z), P * weights[:, None] if weights.size else P
        for k in range(self.q):
            left = np.where(P[:, k] > 0.5, rest, 1.0 - P[:, k])
            logistic.times(Z, weighted[:, k] * left, room)
            self._own[k] += Z.T @ room

    def _cross(self, Z: np.ndarray, factors: np.ndarray) -> None:
        """Add the part of different classes: pair by pair, or by one product for many classes."""
        if self.q <= FEW:
            room = np.empty_like(Z)
            for k, m in combinations(range(self.q), 2):
                logistic.times(Z, -factors[:, k] * factors[:, m], room)
                self._crossed[self._of(m), self._of(k)] += Z.T @ room
            return
        most = max(16, SPREAD_VALUES // (self.q * self.width))
        for start in range(0, len(Z), most):
            part = slice(start, start + most)
            room = np.empty((len(Z[part]), self.q, self.width))
            logistic.spread(Z[part], factors[part], room)
            rows = room.reshape(len(room), -1).T
            self._crossed = dsyrk(-1.0, rows, 1.0, self._crossed, lower=1, overwrite_c=1)

    def _of(self, k: int) -> slice:
        return slice(k * self.width, (k + 1) * self.width)

    def matrix(self) -> np.ndarray:
        """Return the sum, of shape (q width, q width)."""
        if self.q == 1:
            return self._own[0]
        found = self._crossed.T  # its upper triangle is filled
        for k in range(self.q):
            here, behind = self._of(k), (k + 1) * self.width
            found[here, here] = self._own[k]
            found[behind:, here] = found[here, behind:].T
        return found


@dataclass(frozen=True)
class Terms:
    """Terms of the rows of a lane, in standardized features.

    Parameters
    ----------
    q : int, number of classes without the reference, and the code of the reference
    centers, scales : arrays of shape (features,)
        Features are standardized to (x - center) * scale.
    intercept : bool
        Whether weights have one more column, for a constant 1.
    turn : array of shape (features, features) or None
        What the standardized features are then multiplied by.
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

    def given(self, B: np.ndarray) -> np.ndarray:
        """Return weights as the terms of a lane need them."""
        return np.ascontiguousarray(B)

    def blocks(self, lane: Batch) -> Iterator[tuple[int, np.ndarray]]:
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
        P, residuals = np.ascontiguousarray(Z @ B.T), np.empty((len(Z), self.q))
        if lane.offset is not None:
            P += lane.offset[start : start + len(Z), None]
        known, rest = (lane.y, lane.importance, start), np.empty(len(Z))
        if self.q == 1:
            found = logistic.two_classes(P[:, 0], *known, residuals[:, 0], rest)
            P = rest[:, None]
        else:
            found = logistic.several_classes(P, *known, residuals, rest)
        return P, residuals, rest, found

    def point(
        self, lane: Batch, B: np.ndarray, hessian: bool, shares: bool = False
    ) -> tuple[Point, np.ndarray]:
        """Return value, gradient and, if wanted, the Hessian at the weights B, and the class
        probabilities, shape (rows, q), if wanted.
        """
        value, gradient, sums = 0.0, np.zeros(self.shape), Sums()
        information = Information(self.q, self.width) if hessian else None
        kept = np.empty((lane.size if shares else 0, self.q))
        for start, Z in self.blocks(lane):
            P, residuals, rest, own = self.residuals(lane, start, Z, B)
            value += own
            weights = lane.importance[start : start + len(Z)]
            counted = float(weights.sum()) if weights.size else float(len(Z))
            sums = sums + Sums(counted, 1.0)
            gradient += residuals.T @ Z
            if shares:
                kept[start : start + len(Z)] = P
            if information is not None:
                information.add(Z, P, rest, weights)
        square = None if information is None else information.matrix()
        return Point(value, gradient, square, None, sums), kept

    def point_alone(self, lane: Batch, **form: Any) -> Point:
        """Return the point without class probabilities."""
        return self.point(lane, **form)[0]

    def moves(self, lane: Batch, step: np.ndarray) -> Moves:
        """Return the effect of a step, of the shape of the weights, on the scores."""
        most, reach, squares = (np.zeros(size) for size in (3, self.width, self.width))
        for start, Z in self.blocks(lane):
            logistic.extents(Z, lane.importance, start, reach, squares)
            scores = np.ascontiguousarray(Z @ step.T)
            most = np.maximum(most, logistic.moves(scores, lane.y, lane.importance, start))
        forward, backward, apart = most.tolist()
        return Moves(forward, backward, apart, reach, squares)

    def curved(self, lane: Batch, P: np.ndarray, V: np.ndarray) -> np.ndarray:
        """Return the negative Hessian where the class probabilities are P, times V."""
        out = np.zeros(self.shape)
        for start, Z in self.blocks(lane):
            part = P[start : start + len(Z)]
            amounts = part * (Z @ V.T)
            if self.q > 1:
                amounts -= part * amounts.sum(axis=1, keepdims=True)
                if lane.importance.size:
                    amounts *= lane.importance[start : start + len(Z), None]
            out += amounts.T @ Z
        return out

    def diagonal(self, lane: Batch, P: np.ndarray) -> np.ndarray:
        """Return the diagonal of the negative Hessian where the class probabilities are P; of
        several classes with a row for the reference, as if its weights were not zero.
        """
        P = _of_all(P)
        out = np.zeros((P.shape[1], self.width))
        for start, Z in self.blocks(lane):
            part = P[start : start + len(Z)]
            amounts = part if self.q == 1 else part * (1.0 - part)
            if self.q > 1 and lane.importance.size:
                amounts = amounts * lane.importance[start : start + len(Z), None]
            out += amounts.T @ np.square(Z, out=Z)
        return out

    def weighted_squares(self, lane: Batch) -> float:
        """Return the weighted sum of all squared values."""
        weights = np.ones(lane.size) if lane.weights is None else lane.weights
        return float(replace(self, q=1).diagonal(lane, weights[:, None]).sum())

    def products(self, lane: Batch, weighted: bool = False) -> np.ndarray:
        """Return sums of products of the features of rows with weight, shape (width, width)."""
        found = np.zeros((self.width, self.width))
        for start, Z in self.blocks(lane):
            weights = lane.importance[start : start + len(Z)]
            found += Z.T @ (Z * weights[:, None] if weighted and weights.size else Z)
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

    def point(
        self, lane: Batch, B: np.ndarray, hessian: bool, shares: bool = False
    ) -> tuple[Point, np.ndarray]:
        """Return value, gradient and class probabilities at the weights B."""
        G, kept = np.zeros_like(B), np.empty((lane.size, self.q))
        offsets = np.empty(0) if lane.offset is None else lane.offset
        value = logistic.sparse_pass(
            as_rows(lane.X), lane.y, lane.importance, offsets, 0, lane.size, B, G, kept
        )
        return Point(value, self._seen(G)), kept

    def moves(self, lane: Batch, step: np.ndarray) -> Moves:
        """Return the effect of a step on the scores, without the columns' values."""
        nothing = np.zeros(0)
        scores = np.ascontiguousarray(lane.X @ step[: lane.X.shape[1]] + step[-1])
        forward, backward, apart = logistic.moves(scores, lane.y, lane.importance, 0)
        return Moves(forward, backward, apart, nothing, nothing)

    def curved(self, lane: Batch, P: np.ndarray, V: np.ndarray) -> np.ndarray:
        """Return the negative Hessian where the class probabilities are P, times V."""
        out = np.zeros_like(V)
        logistic.sparse_curvature(as_rows(lane.X), lane.importance, 0, lane.size, P, V, out)
        return self._seen(out)

    def diagonal(self, lane: Batch, P: np.ndarray) -> np.ndarray:
        """Return the diagonal of the negative Hessian as for dense rows."""
        P = _of_all(P)
        G = np.zeros((len(self.scales) + 1, P.shape[1]))
        logistic.sparse_diagonal(as_rows(lane.X), lane.importance, 0, lane.size, P, G)
        return self._seen(G, 2)

    def given(self, B: np.ndarray) -> np.ndarray:
        """Return the weights of the raw features, a column per class, the intercept last."""
        d = len(self.scales)
        W = np.zeros((d + 1, self.q))
        W[:d] = (B[:, :d] * self.scales).T
        if self.intercept:
            W[d] = B[:, d]
        return W

    def _seen(self, G: np.ndarray, power: int = 1) -> np.ndarray:
        """Convert a derivative with respect to raw weights to one with respect to B."""
        found = np.ascontiguousarray(G.T)
        found[:, : len(self.scales)] *= self.scales**power
        return found[:, : self.width]


class Objective:
    """The log-likelihood of rows in standardized features, less a penalty.

    Parameters
    ----------
    lanes : RowLanes
    terms : Terms
    penalty : Penalty or None
    noise : array of shape (features,) or None
        Errors of the standardized features, beside rounding.
    journal : Journal or None
        Where the results of passes over the rows are recorded, and looked up instead of made.
    """

    def __init__(
        self, lanes: RowLanes, terms: Terms, penalty: Penalty | None = None,
        noise: np.ndarray | None = None, journal: "Journal | None" = None,
    ):  # fmt: skip
        self.lanes, self.terms, self.journal = lanes, terms, journal
        self.q, self.width, self.shape = terms.q, terms.width, terms.shape
        self.penalty = Penalty(np.zeros(self.width)) if penalty is None else penalty
        self._matrix: np.ndarray | None = None
        self.noise = np.zeros(self.width)
        if noise is not None:
            self.noise[: len(terms.scales)] = noise

    @property
    def used(self) -> np.ndarray:
        """Mask of the columns that are not left out."""
        constant = np.ones(int(self.terms.intercept), dtype=bool)
        return np.append(self.terms.scales > 0.0, constant)

    def at(self, B: np.ndarray, hessian: bool = True, shares: bool = False) -> Point:
        """Evaluate at weights B of shape (q, width), with Hessian or shares if asked."""
        form: dict[str, Any] = {"B": self.terms.given(B), "hessian": hessian}
        kept: list[Any] | None = None
        if shares:  # which are not recorded
            work = partial(self.terms.point, **form, shares=True)
            (value, gradient, square, _, sums, *_), kept = self.lanes.sum_and_keep(
                work, together, self.terms.lane_rows
            )
        else:

            def compute() -> list[np.ndarray]:
                point = self.sum(partial(self.terms.point_alone, **form), together)
                more = [] if point.hessian is None else [point.hessian]
                return [np.array([point.value, *point.sums]), point.gradient, *more]

            found = self._recorded(f"at {hessian:d}", B, compute)
            (value, *bounds), gradient, *more = found
            sums, square = Sums(*map(float, bounds)), more[0] if more else None
        lost = 0.0
        if self.penalty.factors.any():
            pull = self.penalty.times(B)
            lost, gradient = 0.5 * float((B * pull).sum()), gradient - pull
            if square is not None:
                if self._matrix is None:
                    self._matrix = self.penalty.matrix(self.q)
                square = square + self._matrix
        return Point(float(value) - lost, gradient, square, kept, sums, float(value))

    def moves(self, step: np.ndarray) -> Moves:
        """Return the effect of a step, of the shape of the weights, on the scores."""

        def compute() -> list[np.ndarray]:
            work = partial(self.terms.moves, step=self.terms.given(step))
            forward, backward, apart, *more = self.sum(work, furthest)
            return [np.array([forward, backward, apart]), *more]

        (forward, backward, apart), reach, squares = self._recorded("moves", step, compute)
        return Moves(float(forward), float(backward), float(apart), reach, squares)

    def curved(self, point: Point, V: np.ndarray) -> np.ndarray:
        """Return the negative Hessian at a point with shares, times V of the weights' shape."""
        work = partial(self.terms.curved, V=self.terms.given(V))
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

    def first_rows(self) -> int:
        """Return the number of rows of the first batch."""
        return next(iter(self.lanes.batches())).size

    def moments(self, n_rows: int) -> np.ndarray:
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
