"""Rows that do not fit in memory: blocks, which are read again for every pass."""

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp


class Block(NamedTuple):
    """Some rows, with their numbers."""

    where: slice
    X: Any


class Blocks:
    """Rows in blocks, in their order.

    Parameters
    ----------
    read : function that returns an iterator over arrays or CSR matrices, the same every time
    shape : rows and features
    chosen : ascending numbers of the rows used; default all
    """

    def __init__(
        self, read: Callable[[], Any], shape: tuple[int, int], chosen: np.ndarray | None = None
    ):
        self.read, self.chosen = read, chosen
        self.shape = (shape[0] if chosen is None else chosen.size), shape[1]

    def __getitem__(self, rows: np.ndarray) -> "Blocks":
        """Return blocks of some rows, in ascending order."""
        assert self.chosen is None
        return Blocks(self.read, self.shape, rows)

    def __iter__(self) -> Iterator[Block]:
        done = first = 0
        with closing(self.read()) as reading:
            for whole in reading:
                end, part = done + whole.shape[0], whole
                if self.chosen is not None:
                    end = int(np.searchsorted(self.chosen, first + whole.shape[0]))
                    part = whole[self.chosen[done:end] - first]
                if end > done:
                    yield Block(slice(done, end), part)
                done, first = end, first + whole.shape[0]


def blocks_of(X: Any) -> Iterator[Block]:
    """Yield the blocks of rows, which are one block if they are in memory."""
    if isinstance(X, Blocks):
        yield from X
    else:
        yield Block(slice(0, X.shape[0]), X)


def row_squares(X: Any) -> np.ndarray:
    """Return the squared length of every row."""
    found = np.empty(X.shape[0])
    for where, part in blocks_of(X):
        if sp.issparse(part):
            squares = np.square(part.data, dtype=np.float64), part.indices, part.indptr
            found[where] = np.asarray(sp.csr_matrix(squares, part.shape).sum(axis=1)).ravel()
        else:
            found[where] = np.einsum("ij,ij->i", part, part, dtype=np.float64)
    return found
