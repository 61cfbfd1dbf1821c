"""Row streams, and the stream of rows in memory."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.batches import NO_IMPORTANCE, Batch, weight_totals
from linsep.compiled.loop import BLOCK, interleave
from linsep.compiled.rows import Block, Csr, Dense, Unit, as_rows, packed

# Constants of SplitMix64 (S. Vigna): shift and multiply, twice; then shift.
SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))
FACTORS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


def mixed_bits(numbers: np.ndarray) -> np.ndarray:
    """Return uint64 hashes, every bit of which depends on all bits of the input."""
    for shift, factor in zip(SHIFTS, FACTORS, strict=False):
        numbers = (numbers ^ (numbers >> shift)) * factor
    return numbers ^ (numbers >> SHIFTS[-1])


def held_groups(groups: np.ndarray, fraction: float, seed: int) -> np.ndarray:
    """Return the mask of the rows of held-out groups, about a ``fraction`` of all: those whose
    number (uint64), mixed with the seed, is small, so that neither batches nor order matter.
    """
    mixed = mixed_bits(groups + np.uint64(seed * 0x9E3779B97F4A7C15 % 2**64))
    return mixed * 2.0**-64 < fraction


class HoldOut:
    """Draws the held-out rows, independently of the batches: an even sample of every class, or
    whole ``groups``, of which ``masks`` are results of :func:`held_groups` (may still be added to).

    ``weights`` are those of all rows for scoring, empty if all are 1.
    """

    def __init__(
        self, fraction: float, n_classes: int, seed: int, weights: np.ndarray = NO_IMPORTANCE,
        masks: list[np.ndarray] | None = None, groups: np.ndarray | None = None,
    ):  # fmt: skip
        if groups is not None:
            masks = [held_groups(groups, fraction, seed)]
        self._grouped, self._masks = masks is not None, [] if masks is None else masks
        self.fraction, self.weights = fraction, weights
        #: of each class: a number in [0, 1) that decides which rows, and how many were seen
        self.start = np.random.default_rng([seed, n_classes]).random(n_classes)
        self.seen = np.zeros(n_classes, dtype=np.int64)

    def draw(self, codes: np.ndarray) -> np.ndarray:
        """Return the mask of the held-out rows among the next rows."""
        held = np.zeros(codes.size, dtype=bool)
        for code in np.flatnonzero(np.bincount(codes)):  # a batch may hold few of many classes
            members, seen = np.flatnonzero(codes == code), self.seen[code]
            shares = self.start[code] + self.fraction * np.arange(seen, seen + members.size + 1)
            # A row is held out where the share of rows so far passes a whole number: evenly spread.
            held[members[np.diff(np.floor(shares)) > 0]] = True
            self.seen[code] += members.size
        return held

    def mask(self, codes: np.ndarray, rows: slice | np.ndarray, draw: bool) -> np.ndarray:
        """Return the mask of some rows, drawn in the first pass and kept."""
        if draw and not self._grouped:
            self._masks.append(self.draw(codes))
            return self._masks[-1]
        self._masks[:] = [np.concatenate(self._masks)]
        return self._masks[0][rows]


# About a twentieth of a second of work between checks for Ctrl-C and updates of the progress.
VALUES_PER_SLICE = 1 << 24
#: up to so many rows are permuted one by one; larger data in blocks, which a disk reads at once
SMALL = 16_384
#: blocks that are interleaved where neighboring rows are of many classes, and where of one
FEW, MANY = 2, 256


class ClassRuns:
    """Measures in the first pass how well the classes of neighboring rows are mixed."""

    def __init__(self) -> None:
        self._counts = np.zeros(0, dtype=np.int64)
        self._changes, self._last = 0, -1

    def see(self, codes: np.ndarray) -> "ClassRuns":
        """Count the class changes in the next rows."""
        if codes.size:
            self._counts = weight_totals(self._counts, codes, NO_IMPORTANCE)
            self._changes += int(np.count_nonzero(codes[1:] != codes[:-1]))
            self._changes += self._last not in (-1, codes[0])
            self._last = int(codes[-1])
        return self

    @property
    def group_size(self) -> int:
        """Number of blocks to interleave: many if neighboring rows share a class too often, so that
        it changes less than half as often as in a random order.
        """
        shares = self._counts / max(1, self._counts.sum())
        expected = (1.0 - (shares**2).sum()) * self._counts.sum()
        return MANY if self._changes < expected / 2 else FEW


def permuted(n: int, seed: int, pass_number: int) -> np.ndarray:
    """Return the numbers up to ``n`` in the random order of a pass."""
    return np.random.default_rng([seed, pass_number]).permutation(n)


def block_sizes(n_rows: int, blocks: np.ndarray) -> np.ndarray:
    """Return the number of rows in each block: 64, except in the last."""
    return np.minimum(BLOCK, n_rows - blocks * BLOCK)


def shuffled(n_rows: int, seed: int, pass_number: int, group_size: int = FEW) -> np.ndarray:
    """Return the row numbers in the shuffled order of a pass, ``group_size`` blocks interleaved."""
    if n_rows <= SMALL:
        return permuted(n_rows, seed, pass_number)
    blocks = permuted(-(-n_rows // BLOCK), seed, pass_number)
    return interleave(blocks * BLOCK, block_sizes(n_rows, blocks), group_size)


def slices(order: np.ndarray | range, rows_per_slice: int) -> Iterator[np.ndarray]:
    """Yield an order in slices short enough for progress and Ctrl-C."""
    for start in range(0, len(order), rows_per_slice):
        piece = order[start : start + rows_per_slice]
        yield np.arange(piece.start, piece.stop) if isinstance(piece, range) else piece


def rows_per_slice(rows: Dense | Csr | Unit | Block, columns: int) -> int:
    """Return the number of rows per slice, from their average length."""
    long = row_lengths(rows)
    return max(1, int(VALUES_PER_SLICE / (long.sum() / max(1, long.size) + 1) / columns))


def row_lengths(rows: Dense | Csr | Unit | Block) -> np.ndarray:
    """Return the number of weights that each row changes; of dense rows, one number for all."""
    if isinstance(rows, Unit):
        return row_lengths(rows.rows)
    if isinstance(rows, Csr):
        return rows.starts[1:] - rows.starts[:-1]
    return np.array([rows.values.shape[1] if isinstance(rows, Dense) else 1])


class RowBatch(NamedTuple):
    """Training rows, with their codes, weights and order.

    ``order`` lists row numbers within ``rows`` (a range, or an array if some are left out or
    shuffled). ``first`` is the number of the first row in the data, None for shuffled rows.
    ``provide`` is called with the rest of the order where a block waits for kernel values.
    """

    rows: Any
    codes: np.ndarray
    importance: np.ndarray
    order: np.ndarray | range
    n_features: int
    first: int | None
    provide: Any = None

    def as_batch(self) -> Batch:
        """Return all rows, in any order and with those left out, as a batch whose y are codes."""
        X = self.rows.values
        if isinstance(self.rows, Csr):
            parts = X, self.rows.columns, self.rows.starts
            X = sp.csr_matrix(parts, shape=(self.codes.size, self.n_features))
        weights = self.importance if self.importance.size else None
        return Batch(X, self.codes, self.first or 0, weights)


class RowStream(ABC):
    """Passes over the rows of one data set."""

    #: None until it is known
    n_rows: int | None
    #: whether passes after the first are
    shuffle: bool
    #: whether rows are read from files, and whether weights belong to features, not examples
    reads, of_features = False, True

    @abstractmethod
    def row_batches(self, pass_number: int, start: int = 0) -> Iterator[RowBatch]:
        """Yield the training rows in the order of a pass, without the first ``start``."""

    @abstractmethod
    def held_out(self) -> Iterator[RowBatch]:
        """Yield the held-out rows in the given order; ``importance`` weighs them in scores."""

    @abstractmethod
    def training_rows(self) -> Iterator[RowBatch] | None:
        """Return the training rows in the given order; None if they would be parsed again."""

    def arrays(self) -> dict[str, np.ndarray]:
        """Return what rows in the middle of a run depend on besides data and parameters."""
        return {}

    def resume(self, passes: int, arrays: dict[str, np.ndarray]) -> None:  # noqa: B027
        """Prepare to resume after so many passes, with these :meth:`arrays`, or ValueError."""

    def learn_all(self, state: Any, keeping: Any) -> None:  # noqa: B027
        """Stop holding rows out, in a run that begins again with this state."""


class MemoryStream(RowStream):
    """Base class of streams over rows in memory: their order, by class ``codes`` (int32) and
    weights (float64, or empty; rows of weight 0 are skipped).
    """

    def __init__(
        self, codes: np.ndarray, importance: np.ndarray, seed: int, shuffle: bool,
        hold_out: HoldOut | None = None,
    ):  # fmt: skip
        self.codes, self.importance, self.seed, self.shuffle = codes, importance, seed, shuffle
        self.n_rows, self._group_size = codes.size, 0
        self._learnable = importance > 0 if importance.size else None
        self.held_out_rows: np.ndarray | range = range(0)
        #: weights of held-out rows in scores, empty if all are 1
        self.score_weights = NO_IMPORTANCE
        if hold_out is not None:
            held = hold_out.mask(codes, slice(codes.size), draw=True)
            counted = True if self._learnable is None else self._learnable
            self._learnable, self.held_out_rows = counted & ~held, np.flatnonzero(counted & held)
            self.score_weights = hold_out.weights

    def order(self, pass_number: int) -> np.ndarray | range:
        """Return the training rows, shuffled after the first pass with ``shuffle``."""
        if not (self.shuffle and pass_number):
            every = range(self.codes.size)
            return every if self._learnable is None else np.flatnonzero(self._learnable)
        if not self._group_size and self.codes.size > SMALL:
            self._group_size = ClassRuns().see(self.codes).group_size
        order = shuffled(self.codes.size, self.seed, pass_number, self._group_size)
        return order if self._learnable is None else order[self._learnable[order]]

    def learn_all(self, state: Any, keeping: Any) -> None:
        self._learnable = self.importance > 0 if self.importance.size else None
        self.held_out_rows, self.score_weights = range(0), NO_IMPORTANCE


class ArrayStream(MemoryStream):
    """Passes over rows in memory: ``X`` is a C-contiguous array or a CSR matrix, not copied, whose
    rows ``unit`` scales to length 1.
    """

    def __init__(
        self, X: Any, codes: np.ndarray, importance: np.ndarray, seed: int, shuffle: bool,
        hold_out: HoldOut | None = None, unit: bool = False,
    ):  # fmt: skip
        super().__init__(codes, importance, seed, shuffle, hold_out)
        self.rows, self.n_features = as_rows(X, unit), X.shape[1]
        self._X, self._unit = X, unit

    def pack(self) -> None:
        """Pack rows that are mostly zeros, so that passes of several classes take a third of the
        time. Not if norms matter, which would differ in the last bit.
        """
        self.rows = packed(self.rows)

    def row_batches(self, pass_number: int, start: int = 0) -> Iterator[RowBatch]:
        order = self.order(pass_number)[start:]
        yield RowBatch(self.rows, self.codes, self.importance, order, self.n_features, 0)

    def held_out(self) -> Iterator[RowBatch]:
        held, weights, width = self.held_out_rows, self.score_weights, self.n_features
        if weights.size:  # these rows alone, because all rows that have weights are scored
            rows, order = as_rows(self._X[held], self._unit), range(len(held))
            yield RowBatch(rows, self.codes[held], weights[held], order, width, None)
        else:
            yield RowBatch(self.rows, self.codes, NO_IMPORTANCE, held, width, 0)

    def training_rows(self) -> Iterator[RowBatch]:
        return self.row_batches(0)
