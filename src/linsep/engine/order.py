"""In which order a pass visits the rows.

The first pass visits rows as they come, so a file can be learnt while it is read and its
mistakes are a progressive validation. Later passes are shuffled (on request) by a rule that
depends on nothing but the seed, the pass and the number of rows, so rows in memory and rows in a
file are visited alike.

Up to ``SMALL`` rows any order is possible. Beyond, blocks of 64 neighbouring rows are drawn at
random and dealt a few at a time, one row from each in turn, so that memory (or disk) is still
read in stretches. Two at a time are as good as a full shuffle where neighbours are unlike each
other; where they share a class (a file sorted by label), 256 are needed.
"""

from collections.abc import Iterator

import numpy as np

from linsep.compiled.dealing import deal
from linsep.compiled.dual import Block
from linsep.compiled.records import BLOCK
from linsep.compiled.rows import Csr, Dense, Unit

Rows = Dense | Csr | Unit | Block

# About a twentieth of a second of work between two looks at Ctrl-C and the progress bar.
VALUES_PER_SLICE = 1 << 24
SMALL = 16_384
FEW, MANY = 2, 256


def shuffled_blocks(n_rows: int, seed: int, pass_number: int) -> np.ndarray:
    """Random order of the blocks of ``n_rows`` rows."""
    return np.random.default_rng([seed, pass_number]).permutation(-(-n_rows // BLOCK))


class Mixing:
    """How well neighbouring rows are mixed, counted as they pass by."""

    def __init__(self) -> None:
        self._counts = np.zeros(0, dtype=np.int64)
        self._changes, self._last = 0, -1

    def see(self, codes: np.ndarray) -> "Mixing":
        """Count the class codes of the next rows."""
        if codes.size:
            fresh = np.bincount(codes, minlength=self._counts.size)
            fresh[: self._counts.size] += self._counts
            self._counts = fresh
            self._changes += int(np.count_nonzero(codes[1:] != codes[:-1]))
            self._changes += self._last not in (-1, codes[0])
            self._last = int(codes[-1])
        return self

    @property
    def hands(self) -> int:
        """How many blocks to deal at a time: many if neighbours share a class too often.

        That is, if the class changes less than half as often as in a random order.
        """
        shares = self._counts / max(1, self._counts.sum())
        expected = (1.0 - (shares**2).sum()) * self._counts.sum()
        return MANY if self._changes < expected / 2 else FEW


def block_sizes(n_rows: int, blocks: np.ndarray) -> np.ndarray:
    """Rows in each block: 64, but for the last of all."""
    return np.minimum(BLOCK, n_rows - blocks * BLOCK)


def shuffled(n_rows: int, seed: int, pass_number: int, hands: int = FEW) -> np.ndarray:
    """Row numbers 0..n_rows-1 in the shuffled order of one pass, ``hands`` blocks at a time."""
    if n_rows <= SMALL:
        return np.random.default_rng([seed, pass_number]).permutation(n_rows)
    blocks = shuffled_blocks(n_rows, seed, pass_number)
    return deal(blocks * BLOCK, block_sizes(n_rows, blocks), hands)


def hold_out(codes: np.ndarray, fraction: float, start: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Which rows are kept from learning: an even sample of every class, as the rows stream by.

    ``start`` (one number in [0, 1) a class) decides which rows are drawn; ``seen`` (int64, one a
    class) counts the rows so far and is added to. Rows in one call or many give the same sample.
    """
    held = np.zeros(codes.size, dtype=bool)
    for code in np.flatnonzero(np.bincount(codes)):  # a batch may hold few of many classes
        members = np.flatnonzero(codes == code)
        turns = np.arange(seen[code], seen[code] + members.size + 1)
        held[members[np.diff(np.floor(start[code] + fraction * turns)) > 0]] = True
        seen[code] += members.size
    return held


def slices(order: np.ndarray | range, rows_per_slice: int) -> Iterator[np.ndarray]:
    """Cut an order into pieces short enough for progress and Ctrl-C."""
    for start in range(0, len(order), rows_per_slice):
        piece = order[start : start + rows_per_slice]
        yield np.arange(piece.start, piece.stop) if isinstance(piece, range) else piece


def rows_per_slice(rows: Rows, columns: int) -> int:
    """How many rows make a slice, from their average length."""
    if isinstance(rows, Unit):
        return rows_per_slice(rows.rows, columns)
    if isinstance(rows, Dense):
        width = rows.values.shape[1]
    elif isinstance(rows, Block):
        width = 1
    else:
        width = rows.values.size / max(1, rows.starts.size - 1)
    return max(1, int(VALUES_PER_SLICE / (width + 1) / columns))


def longest_row(rows: Rows) -> int:
    """The most weights that a row changes."""
    if isinstance(rows, Unit):
        return longest_row(rows.rows)
    if isinstance(rows, Dense):
        return rows.values.shape[1]
    if isinstance(rows, Block):
        return 1
    return int(np.diff(rows.starts).max(initial=0))
