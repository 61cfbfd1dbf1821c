"""Shuffled passes over a spool: batches of blocks in the order of engine/order.py."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from linsep.compiled.dealing import deal
from linsep.compiled.records import BLOCK
from linsep.engine.order import SMALL, block_sizes, shuffled, shuffled_blocks
from linsep.engine.store import join
from linsep.sources.spool import Spool

#: blocks are dealt whole while those on the table take at most so many batches of memory
MOST_BATCHES = 4


class Shuffled(NamedTuple):
    """Rows of a spool: their numbers, X, label numbers, and in which order to visit them."""

    rows: np.ndarray
    X: Any
    numbers: np.ndarray
    order: np.ndarray


def shuffled_batches(
    spool: Spool, batch_bytes: int, seed: int, pass_number: int, hands: int
) -> Iterator[Shuffled]:
    """Every row of ``spool`` once, in the very order of :func:`linsep.engine.order.shuffled`.

    Parameters
    ----------
    batch_bytes : about what a batch may take in memory
    seed, pass_number, hands : as in :func:`linsep.engine.order.shuffled`
    """
    n, per_block = spool.n_rows, max(1, spool.n_bytes // spool.n_blocks)
    fit = max(1, batch_bytes // per_block)
    if n <= SMALL or hands > MOST_BATCHES * fit:
        yield from _picked(spool, shuffled(n, seed, pass_number, hands), BLOCK * fit)
        return
    at_once = max(hands, fit // hands * hands)
    blocks = shuffled_blocks(n, seed, pass_number)
    odd = blocks.size % at_once
    for start in range(odd - at_once if odd else 0, blocks.size, at_once):
        chosen = blocks[max(0, start) : start + at_once]
        X, numbers = spool.read_blocks(chosen)
        sizes = block_sizes(n, chosen)
        order = deal(np.cumsum(sizes) - sizes, sizes, hands)
        yield Shuffled(_rows_of(chosen, n), X, numbers, order)


def _picked(spool: Spool, order: np.ndarray, at_once: int) -> Iterator[Shuffled]:
    """Batches of ``at_once`` rows, for few or very wide rows.

    Each batch picks its rows from all the blocks that hold one, read piece by piece.
    """
    n = order.size
    for start in range(0, n, at_once):
        wanted = order[start : start + at_once]
        rows = np.sort(wanted)
        blocks = np.unique(rows // BLOCK)
        parts, numbers = [], []
        for piece in np.array_split(blocks, -(-BLOCK * blocks.size // at_once)):
            X, found = spool.read_blocks(piece)
            asked = np.isin(_rows_of(piece, n), rows)
            parts.append(X[asked])
            numbers.append(found[asked])
        X, found = join(parts, spool.n_features), np.concatenate(numbers)
        yield Shuffled(rows, X, found, np.searchsorted(rows, wanted))


def _rows_of(blocks: np.ndarray, n_rows: int) -> np.ndarray:
    """Numbers of the rows in these blocks."""
    rows = (blocks[:, None] * BLOCK + np.arange(BLOCK)).ravel()
    return rows[rows < n_rows]
