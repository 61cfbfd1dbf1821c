"""Rows in memory, and in lanes."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.lanes import in_lanes

#: numbers in a lane of dense rows: few enough to stay in the processor's cache
PIECE_VALUES = 1 << 18
#: rows in a lane of sparse rows
SPARSE_ROWS = 1 << 15
#: error bound of a product that underflows
TINY = 2.0**-1074


class Piece(NamedTuple):
    """Rows in memory.

    Attributes
    ----------
    X : array or CSR matrix of shape (rows, features)
    codes, numbers : int arrays of shape (rows,)
        Class code and number of every row.
    exact : array of Python numbers of shape (rows, features), or None
        The exact numbers, if X holds them rounded.
    """

    X: Any
    codes: np.ndarray
    numbers: np.ndarray
    exact: np.ndarray | None = None

    def products(self, W: np.ndarray) -> np.ndarray:
        """Return ``X @ W[:, :features].T``, plus the last column of ``W`` if it has one more."""
        d = self.X.shape[1]
        X = self.X if sp.issparse(self.X) else self.X.astype(np.float64, copy=False)
        scores = X @ np.ascontiguousarray(W[:, :d].T)
        return scores + W[:, d] if W.shape[1] > d else scores

    def row(self, row: int) -> tuple[np.ndarray, np.ndarray]:
        """Return columns and exact values of a row: floats if these are exact, whatever type
        other rows need.
        """
        if sp.issparse(self.X):
            start, end = self.X.indptr[row : row + 2]
            return self.X.indices[start:end], self.X.data[start:end]
        values = self.X[row]
        if self.exact is not None and (self.exact[row] != values).any():
            values = self.exact[row]
        return np.arange(len(values)), values

    def lengths(self) -> np.ndarray:
        """Return the length of every row, rounded up where squares underflow."""
        X = self.X
        if sp.issparse(X):
            squares = sp.csr_matrix((X.data.astype(np.float64) ** 2, X.indices, X.indptr), X.shape)
            total = np.asarray(squares.sum(axis=1)).ravel()
        else:
            X = X.astype(np.float64, copy=False)
            total = np.einsum("ij,ij->i", X, X)
        return np.sqrt(total + X.shape[1] * TINY)

    def only(self, chosen: np.ndarray) -> "Piece":
        """Return the rows selected by the mask ``chosen``."""
        return self if chosen.all() else self.at(np.flatnonzero(chosen))

    def at(self, places: np.ndarray) -> "Piece":
        """Return the rows at these places."""
        exact = None if self.exact is None else self.exact[places]
        return Piece(self.X[places], self.codes[places], self.numbers[places], exact)

    def of_classes(self, active: np.ndarray) -> "Piece":
        """Return the rows of the classes selected by the mask ``active``."""
        return self.only(active[self.codes])


class Part(NamedTuple):
    """Neighbouring rows: as in :class:`Piece`, with the number of the first."""

    X: Any
    codes: np.ndarray
    first: int
    exact: np.ndarray | None

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.codes)

    def between(self, start: int, stop: int) -> "Part":
        """Return some of the rows, without a copy."""
        exact = None if self.exact is None else self.exact[start:stop]
        X = _lines(self.X, start, stop) if sp.issparse(self.X) else self.X[start:stop]
        return Part(X, self.codes[start:stop], self.first + start, exact)

    def piece(self) -> Piece:
        """Return the rows with their numbers."""
        numbers = np.arange(self.first, self.first + len(self.codes))
        return Piece(self.X, self.codes, numbers, self.exact)


def _lines(X: Any, start: int, stop: int) -> sp.csr_matrix:
    """Return some rows of a CSR matrix, without a copy."""
    found = sp.csr_matrix((stop - start, X.shape[1]), dtype=X.dtype)
    first, last = X.indptr[[start, stop]]
    # set one by one, the arrays are neither copied nor checked
    found.data, found.indices = X.data[first:last], X.indices[first:last]
    found.indptr = X.indptr[start : stop + 1] - first
    return found


def part_of(X: Any, codes: np.ndarray, first: int) -> Part:
    """Return rows of any type of number as a part."""
    if X.dtype != object:
        return Part(X, codes, first, None)
    return Part(X.astype(np.float64), codes, first, X)


def lane_rows(sparse: bool, width: int) -> int:
    """Return the number of rows of a lane."""
    return SPARSE_ROWS if sparse else max(1, PIECE_VALUES // max(1, width))


def lanes_of(parts: Iterable[Part], rows: int) -> Iterator[Part]:
    """Yield the rows in lanes of so many rows, the last perhaps with fewer."""
    return in_lanes(parts, rows, _joined)


def _joined(parts: list[Part]) -> Part:
    """Return the rows of neighbouring parts as one."""
    if len(parts) == 1:
        return parts[0]
    every = [part.X for part in parts]
    X = sp.vstack(every, format="csr") if sp.issparse(every[0]) else np.concatenate(every)
    exact = None
    if any(part.exact is not None for part in parts):
        exact = np.concatenate([p.X.astype(object) if p.exact is None else p.exact for p in parts])
    return Part(X, np.concatenate([part.codes for part in parts]), parts[0].first, exact)
