"""The log-likelihood of a logistic regression, its gradient and its Hessian.

Rows come in batches that can be read repeatedly. Each batch is cut into lanes that do not depend on
the number of threads, and their sums are added in order, so the results are the same to the bit on
any machine with the same libraries.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from linsep.compiled import logistic
from linsep.compiled.core.rows import Csr, Dense
from linsep.interrupts import checkpoint

MOST_THREADS = 8
#: lanes per batch, and the fewest rows in a lane
LANES, LANE_ROWS = 8, 4096
#: longest time before a Ctrl-C is noticed while lanes are processed
SECONDS = 0.1
#: pieces of a batch that make a sample, and the fewest rows in a piece
SAMPLES, SAMPLE_ROWS = 16, 64
#: values in a block of dense rows, which fits in the cache
BLOCK_VALUES = 1 << 16


class Batch(NamedTuple):
    """Rows as compiled code sees them, their class codes and weights (empty where all are 1).

    The values of some ``columns`` are replaced by those in ``extra``, shape (rows, columns).
    """

    rows: Dense | Csr
    codes: np.ndarray
    weights: np.ndarray
    columns: tuple[int, ...] = ()
    extra: np.ndarray = np.empty((0, 0))

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.codes)


Batches = Callable[[], Iterable[Batch]]


class Sums(NamedTuple):
    """Sums over rows that bound rounding errors.

    Attributes
    ----------
    weight : float, total weight of the rows
    least : float, smallest product of a row's weight and its smallest class probability
    inverses : float, sum of the weights divided by these probabilities
    blocks : int, number of blocks in which the rows were read
    """

    weight: float = 0.0
    least: float = np.inf
    inverses: float = 0.0
    blocks: int = 0

    def __add__(self, other: Any) -> "Sums":
        least = min(self.least, other.least)
        return Sums(self.weight + other.weight, least, self.inverses + other.inverses,
                    self.blocks + other.blocks)  # fmt: skip


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


class Point(NamedTuple):
    """A log-likelihood evaluated at some weights.

    Attributes
    ----------
    value : float
    gradient : array of shape (weight rows, features + intercept)
    hessian : array of shape (weights, weights) or None
        The negative Hessian, which is the Fisher information; weights are numbered row by row.
    shares : list of arrays or None
        Class probabilities for each lane, for :meth:`Likelihood.curved`.
    sums : Sums
    """

    value: float
    gradient: np.ndarray
    hessian: np.ndarray | None = None
    shares: list[np.ndarray] | None = None
    sums: Sums = Sums()


class Likelihood:
    """The log-likelihood of rows in standardised features.

    Parameters
    ----------
    batches : function without arguments that returns all batches, always in the same order
    n_rows_of_weights : number of classes without the reference, and the code of the reference
    centres, scales : arrays of shape (features,)
        Features are standardised to (x - centre) * scale.
    intercept : bool
        Whether weights have one more column, for a constant 1.
    pool : ThreadPoolExecutor
    noise : array of shape (features,) or None
        Errors of the standardised features, beside rounding.
    """

    def __init__(
        self,
        batches: Batches,
        n_rows_of_weights: int,
        centres: np.ndarray,
        scales: np.ndarray,
        intercept: bool,
        pool: ThreadPoolExecutor,
        noise: np.ndarray | None = None,
    ):
        self.batches, self.q, self.pool = batches, n_rows_of_weights, pool
        self.centres, self.scales, self.intercept = centres, scales, intercept
        self.width = len(scales) + intercept
        self.noise = np.zeros(self.width)
        if noise is not None:
            self.noise[: len(scales)] = noise
        self.most_rows = max(64, min(2048, BLOCK_VALUES // self.width))
        self._broken_off = False

    @property
    def used(self) -> np.ndarray:
        """Mask of the columns that are not left out."""
        return np.append(self.scales > 0.0, np.ones(int(self.intercept), dtype=bool))

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the weights."""
        return self.q, self.width

    def at(self, B: np.ndarray, hessian: bool = True, shares: bool = False) -> Point:
        """Evaluate at weights B of shape (weight rows, width), with Hessian or shares if asked."""
        B = np.ascontiguousarray(B)
        value, gradient = 0.0, np.zeros(self.shape)
        information = np.zeros((B.size, B.size)) if hessian else None
        kept: list[np.ndarray] | None = [] if shares else None
        sums = Sums()
        for part in self._lanes(lambda batch, a, b: self._lane(batch, a, b, B, hessian, shares)):
            value += part.value
            gradient += part.gradient
            sums = sums + part.sums
            if information is not None:
                information += part.hessian
            if kept is not None:
                kept += part.shares
        return Point(value, gradient, information, kept, sums)

    def moves(self, step: np.ndarray) -> Moves:
        """Return the effect of a step, of the shape of the weights, on the scores."""
        step = np.ascontiguousarray(step)

        def lane(batch: Batch, first: int, last: int) -> Moves:
            most, reach, squares = (np.zeros(size) for size in (3, self.width, self.width))
            for start, Z in self.blocks(batch, first, last):
                logistic.extents(Z, batch.weights, start, reach, squares)
                scores = np.ascontiguousarray(Z @ step.T)
                some = logistic.moves(scores, batch.codes, batch.weights, start)
                most = np.maximum(most, some)
            forward, backward, apart = most.tolist()
            return Moves(forward, backward, apart, reach, squares)

        *most, reach, squares = zip(*self._lanes(lane), strict=True)
        forward, backward, apart = map(max, most)
        return Moves(forward, backward, apart, np.maximum.reduce(reach), np.sum(squares, axis=0))

    def _lanes(self, work: Callable[[Batch, int, int], Any]) -> Iterator[Any]:
        """Yield ``work(batch, first, last)`` for every lane of every batch, in order."""
        for batch in self.batches():
            checkpoint()
            edges = _edges(batch)
            if len(edges) == 2:
                yield work(batch, 0, batch.size)
                continue
            yield from self._finished(
                [self.pool.submit(work, batch, a, b) for a, b in pairwise(edges)]
            )

    def _finished(self, lanes: list[Future]) -> Iterator[Any]:
        """Yield the results of lanes in order; Ctrl-C takes effect between waits and ends them."""
        try:
            for lane in lanes:
                while wait([lane], SECONDS).not_done:
                    checkpoint()
                yield lane.result()
        except KeyboardInterrupt:
            self._broken_off = True
            raise

    def blocks(self, batch: Batch, first: int, last: int) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the standardised rows of a lane in blocks, in a buffer that is reused."""
        most = self.most_rows
        room = np.empty((min(most, last - first), self.width))
        for start in range(first, last, most):
            if self._broken_off:
                return
            Z = room[: min(most, last - start)]
            logistic.standardised(batch.rows, start, Z, self.centres, self.scales)
            if batch.columns:
                j, more = list(batch.columns), batch.extra[start : start + len(Z)]
                Z[:, j] = (more - self.centres[j]) * self.scales[j]
            yield start, Z

    def _lane(
        self, batch: Batch, first: int, last: int, B: np.ndarray, hessian: bool, shares: bool
    ) -> Point:
        value, gradient, sums = 0.0, np.zeros(self.shape), Sums()
        information = np.zeros((self.q, self.width) * 2) if hessian else None
        kept = np.empty((last - first if shares else 0, self.q))
        for start, Z in self.blocks(batch, first, last):
            P, residuals = np.ascontiguousarray(Z @ B.T), np.empty((len(Z), self.q))
            known, rest = (batch.codes, batch.weights, start), np.empty(len(Z))
            if self.q == 1:
                found = logistic.two_classes(P[:, 0], *known, residuals[:, 0], rest)
                P = rest[:, None]
            else:
                found = logistic.several_classes(P, *known, residuals, rest)
            value += found[0]
            weights = batch.weights[start : start + len(Z)]
            counted = float(weights.sum()) if weights.size else float(len(Z))
            _, least, inverses = found
            sums = sums + Sums(counted, least, inverses, 1)
            gradient += residuals.T @ Z
            if shares:
                kept[start - first : start - first + len(Z)] = P
            if information is not None:
                self._add_information(information, Z, P, rest, weights)
        square = None if information is None else information.reshape(B.size, B.size)
        return Point(value, gradient, square, [kept], sums)

    def _add_information(
        self, information: np.ndarray, Z: np.ndarray, P: np.ndarray, rest: np.ndarray,
        weights: np.ndarray,
    ) -> None:  # fmt: skip
        """Add sum of c_kl z z' over the rows, c_kl = w p_k (1[k = l] - p_l).

        ``rest`` is the curvature of two classes, else 1 - p of the likeliest class.
        """
        if self.q == 1:
            logistic.roots_times(Z, rest)
            information[0, :, 0, :] += Z.T @ Z
            return
        room, weighted = np.empty_like(Z), P * weights[:, None] if weights.size else P
        for k in range(self.q):
            for m in range(k + 1):
                other = -P[:, m] if m < k else np.where(P[:, k] > 0.5, rest, 1.0 - P[:, k])
                logistic.times(Z, weighted[:, k] * other, room)
                product = Z.T @ room
                information[k, :, m, :] += product
                if m < k:
                    information[m, :, k, :] += product

    def curved(self, point: Point, V: np.ndarray) -> np.ndarray:
        """Return the negative Hessian at a point with shares, times V of the weights' shape."""
        shares = iter(point.shares or ())

        def lane(batch: Batch, first: int, last: int, P: np.ndarray) -> np.ndarray:
            out = np.zeros(self.shape)
            for start, Z in self.blocks(batch, first, last):
                part = P[start - first : start - first + len(Z)]
                amounts = part * (Z @ V.T)
                if self.q > 1:
                    amounts -= part * amounts.sum(axis=1, keepdims=True)
                    if batch.weights.size:
                        amounts *= batch.weights[start : start + len(Z), None]
                out += amounts.T @ Z
            return out

        return sum(self._with_shares(lane, shares), np.zeros(self.shape))

    def _with_shares(
        self, work: Callable[[Batch, int, int, np.ndarray], Any], shares: Iterator[np.ndarray]
    ) -> Iterator[Any]:
        """Yield as :meth:`_lanes`, passing the shares of each lane."""
        for batch in self.batches():
            checkpoint()
            lanes = [(a, b, next(shares)) for a, b in pairwise(_edges(batch))]
            yield from self._finished([self.pool.submit(work, batch, a, b, P) for a, b, P in lanes])

    def moments(self, n_rows: int) -> np.ndarray:
        """Return sums of products of the features over about ``n_rows`` rows, evenly spread over
        the first batch, shape (width, width).
        """
        batch, found = next(iter(self.batches())), np.zeros((self.width, self.width))
        pieces = max(1, min(SAMPLES, batch.size // SAMPLE_ROWS))
        each = -(-n_rows // pieces)
        for k in range(pieces):
            first = batch.size * k // pieces
            last = min(first + each, batch.size * (k + 1) // pieces)
            for start, Z in self.blocks(batch, first, last):
                weights = batch.weights[start : start + len(Z)]
                counted = Z[weights > 0] if weights.size else Z
                found += counted.T @ counted
        return found

    def diagonal(self, point: Point) -> np.ndarray:
        """Return the diagonal of the negative Hessian at a point with shares."""
        shares = iter(point.shares or ())

        def lane(batch: Batch, first: int, last: int, P: np.ndarray) -> np.ndarray:
            out = np.zeros(self.shape)
            for start, Z in self.blocks(batch, first, last):
                part = P[start - first : start - first + len(Z)]
                amounts = part if self.q == 1 else part * (1.0 - part)
                if self.q > 1 and batch.weights.size:
                    amounts = amounts * batch.weights[start : start + len(Z), None]
                out += amounts.T @ np.square(Z, out=Z)
            return out

        return sum(self._with_shares(lane, shares), np.zeros(self.shape))


def _edges(batch: Batch) -> list[int]:
    """Return the boundaries of the lanes of a batch."""
    lanes = max(1, min(LANES, batch.size // LANE_ROWS))
    return [batch.size * k // lanes for k in range(lanes + 1)]
