"""The log-likelihood of a logistic regression over rows, its gradient and its curvature.

Rows come in batches, again and again. Each batch is cut into a few lanes, whatever the number of
threads, and their sums are added in order: so the results are the same to the bit on any machine
with the same libraries.
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
#: lanes of a batch, and the fewest rows in one
LANES, LANE_ROWS = 8, 4096
#: how long a Ctrl-C may wait to be noticed while lanes are worked on
SECONDS = 0.1
#: pieces of a batch that a sample consists of, and the fewest rows in one
SAMPLES, SAMPLE_ROWS = 16, 64
#: numbers in a block of dense rows, which stays in the cache
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
        """How many rows."""
        return len(self.codes)


Batches = Callable[[], Iterable[Batch]]


class Sums(NamedTuple):
    """What bounds on rounding errors take of the rows.

    Attributes
    ----------
    weight : float, of all rows
    least : float, the least weight of a row times its smallest probability of a class
    inverses : float, the sum of the weights, each divided by that probability
    blocks : int, in which the rows were read
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
    """How a step moves the scores of rows that count.

    Attributes
    ----------
    forward, backward, apart : float
        The most that the score of a row's class moves ahead of another's, and behind it; and that
        any two scores of a row move apart.
    reach, squares : arrays of shape (width,)
        The largest absolute values of the columns, and the weighted sums of their squares.
    """

    forward: float
    backward: float
    apart: float
    reach: np.ndarray
    squares: np.ndarray


class Point(NamedTuple):
    """What is known of a log-likelihood at some weights.

    Attributes
    ----------
    value : float
    gradient : array of shape (weight rows, features + intercept)
    hessian : array of shape (weights, weights) or None
        The negative Hessian, which is the Fisher information; weights are numbered row by row.
    shares : list of arrays or None
        For each lane what :meth:`Likelihood.curved` needs.
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
    batches : function without arguments, giving all batches in the same order each time
    n_rows_of_weights : classes but the reference, whose code is this number
    centres, scales : arrays of shape (features,)
        A feature is seen as (x - centre) * scale.
    intercept : bool
        Whether weights have one more column, for a constant 1.
    pool : ThreadPoolExecutor
    noise : array of shape (features,) or None
        How far features as they are seen may be from what they stand for, beside rounding.
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
        """Whether each column is no feature that is left out."""
        return np.append(self.scales > 0.0, np.ones(int(self.intercept), dtype=bool))

    @property
    def shape(self) -> tuple[int, int]:
        """Of the weights."""
        return self.q, self.width

    def at(self, B: np.ndarray, hessian: bool = True, shares: bool = False) -> Point:
        """Value, gradient, and what is asked for, at weights B of shape (weight rows, width)."""
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
        """How a step of the shape of the weights moves the scores of the rows."""
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
        """What ``work(batch, first, last)`` gives for every lane of every batch, in order."""
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
        """What lanes give, in order; Ctrl-C is heard between waits, and ends them."""
        try:
            for lane in lanes:
                while wait([lane], SECONDS).not_done:
                    checkpoint()
                yield lane.result()
        except KeyboardInterrupt:
            self._broken_off = True
            raise

    def blocks(self, batch: Batch, first: int, last: int) -> Iterator[tuple[int, np.ndarray]]:
        """The standardised rows of a lane, a block at a time, in memory that is used again."""
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
        """The negative Hessian at a point with shares times V, of the shape of the weights."""
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
        """As :meth:`_lanes`, with the shares of each lane."""
        for batch in self.batches():
            checkpoint()
            lanes = [(a, b, next(shares)) for a, b in pairwise(_edges(batch))]
            yield from self._finished([self.pool.submit(work, batch, a, b, P) for a, b, P in lanes])

    def moments(self, n_rows: int) -> np.ndarray:
        """Sums of the products of the features over about so many rows from all over the first
        batch, array of shape (width, width).
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
        """The diagonal of the negative Hessian at a point with shares."""
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
    """Where the lanes of a batch begin, and the last ends."""
    lanes = max(1, min(LANES, batch.size // LANE_ROWS))
    return [batch.size * k // lanes for k in range(lanes + 1)]
