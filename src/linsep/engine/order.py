"""In which order a pass visits the rows.

The first pass visits rows as they come, so a file can be learnt while it is read and its
mistakes are a progressive validation. Later passes are shuffled (on request) by a rule that
depends on nothing but the seed, the pass and the number of rows, so rows in memory and rows in a
file are visited alike.

Up to ``SMALL`` rows any order is possible. Beyond, blocks of 64 neighbouring rows are drawn at
random and dealt four at a time, one row from each in turn: memory (or disk) is still read in
stretches, while neighbours, which often share a class, are kept apart.
"""

from collections.abc import Iterator

import numpy as np

SMALL = 16_384
BLOCK = 64
HANDS = 4


def shuffled_blocks(n_rows: int, seed: int, pass_number: int) -> np.ndarray:
    """Random order of the blocks of ``n_rows`` rows; a last, shorter block stays last.

    It stays there so that every deal but the last has full blocks, whatever the batch size.
    """
    whole = n_rows // BLOCK
    order = np.random.default_rng([seed, pass_number]).permutation(whole)
    return order if n_rows % BLOCK == 0 else np.append(order, whole)


def deal(n_rows: int, blocks: np.ndarray) -> np.ndarray:
    """Row numbers in visiting order for some blocks, a multiple of four unless they are the last.

    With ``blocks=np.arange(n)`` the result tells how to visit blocks that lie one after another.
    """
    hands = len(blocks) // HANDS * HANDS
    dealt = blocks[:hands].reshape(-1, 1, HANDS) * BLOCK + np.arange(BLOCK).reshape(1, -1, 1)
    rest = blocks[hands:, None] * BLOCK + np.arange(BLOCK)
    order = np.concatenate([dealt.ravel(), rest.ravel()])
    return order[order < n_rows]


def shuffled(n_rows: int, seed: int, pass_number: int) -> np.ndarray:
    """Row numbers 0..n_rows-1 in the shuffled order of one pass."""
    if n_rows <= SMALL:
        return np.random.default_rng([seed, pass_number]).permutation(n_rows)
    return deal(n_rows, shuffled_blocks(n_rows, seed, pass_number))


def hold_out(codes: np.ndarray, fraction: float, start: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Which rows are kept from learning: an even sample of every class, as the rows stream by.

    ``start`` (one number in [0, 1) a class) decides which rows are drawn; ``seen`` (int64, one a
    class) counts the rows so far and is added to. Rows in one call or many give the same sample.
    """
    held = np.zeros(codes.size, dtype=bool)
    for code in range(seen.size):
        members = np.flatnonzero(codes == code)
        turns = np.arange(seen[code], seen[code] + members.size + 1)
        held[members[np.diff(np.floor(start[code] + fraction * turns)) > 0]] = True
        seen[code] += members.size
    return held


def slices(order: np.ndarray, rows_per_slice: int) -> Iterator[np.ndarray]:
    """Cut an order into pieces short enough for progress and Ctrl-C."""
    for start in range(0, order.size, rows_per_slice):
        yield order[start : start + rows_per_slice]
