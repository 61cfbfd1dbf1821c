"""Blocks of rows, the input of least squares."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.errors import NoRows


class Block(NamedTuple):
    """A block of rows.

    Attributes
    ----------
    X : array or CSR matrix of shape (rows, features)
        Later blocks may have more features, which are zero in earlier blocks.
    y : array of shape (rows,)
    weights : array of shape (rows,), all positive; None if all are 1
    """

    X: Any
    y: np.ndarray
    weights: np.ndarray | None

    def cut(self, rows: int) -> Iterator["Block"]:
        """Yield the rows in blocks of at most ``rows`` rows."""
        for first in range(0, self.y.size, rows):
            yield self.between(first, first + rows)

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.y)

    def between(self, start: int, stop: int) -> "Block":
        """Return some of the rows."""
        weights = None if self.weights is None else self.weights[start:stop]
        return Block(self.X[start:stop], self.y[start:stop], weights)

    @property
    def sparse(self) -> bool:
        """Whether sparse operations are worthwhile."""
        return sp.issparse(self.X) and self.X.nnz < 0.05 * self.X.shape[0] * self.X.shape[1]

    def dense(self) -> np.ndarray:
        """Return the features as an array."""
        return self.X.toarray() if sp.issparse(self.X) else self.X


#: each call iterates over all rows from the first
Blocks = Callable[[], Iterator[Block]]


def columns(block: Block, width: int) -> Any:
    """Return the columns 1, y and the features, ``width`` in all, as one array or CSR matrix."""
    ones = np.ones(block.y.size)
    if block.sparse:
        X = sp.csr_array(block.X)
        X.resize(X.shape[0], width - 2)
        return sp.csr_array(sp.hstack([sp.csr_array(np.column_stack([ones, block.y])), X]))
    Z = np.zeros((block.y.size, width), np.promote_types(block.X.dtype, np.float64))
    Z[:, 0], Z[:, 1] = ones, block.y
    Z[:, 2 : 2 + block.X.shape[1]] = block.dense()
    return Z


def no_weight() -> NoRows:
    """Return the error for rows of which none has a positive weight."""
    return NoRows("Every row has weight 0: check the weights.")
