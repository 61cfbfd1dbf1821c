"""Reading rows once, block by block, so that what is hashed is what is checked."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep.certificate.canonical import Canonical
from linsep.certificate.numbers import Labelled, labelled_rows, same_as_doubles, tidy

#: numbers in a block: few enough to stay in the processor's cache
BLOCK_VALUES = 1 << 18
#: error bound of a number that underflows, which may become zero
TINY = 2.0**-1021


class Block:
    """Some rows in memory.

    Attributes
    ----------
    X : array or CSR matrix without repeated entries, of shape (rows, features)
    numbers : int array of shape (rows,)
        Numbers of the labels, in order of first appearance.
    first : int
        The number of the first row.
    """

    def __init__(self, X: Any, numbers: np.ndarray, first: int) -> None:
        self.X, self.numbers, self.first = X, numbers, first

    @cached_property
    def floats(self) -> Any:
        """X in float64; numbers that are not doubles are rounded."""
        return self.X if self.X.dtype == np.float64 else self.X.astype(np.float64)

    @cached_property
    def lengths(self) -> np.ndarray:
        """The length of every row in float64; every square counts as at least TINY."""
        X = self.floats
        if sp.issparse(X):
            squares = sp.csr_matrix((X.data * X.data, X.indices, X.indptr), X.shape)
            total = np.asarray(squares.sum(axis=1)).ravel()
        else:
            total = np.einsum("ij,ij->i", X, X)
        return np.sqrt(total + X.shape[1] * TINY)

    def row(self, place: int) -> tuple[np.ndarray, np.ndarray]:
        """Return columns and values of a row of the block."""
        if sp.issparse(self.X):
            start, end = self.X.indptr[place : place + 2]
            return self.X.indices[start:end], self.X.data[start:end]
        return np.arange(self.X.shape[1]), self.X[place]


class Reading:
    """One reading of rows and labels, from arrays, a source, or data that are already open.

    Sources have ``exactly()``, which yields batches of rows and labels; open data have ``coded()``,
    which yields batches of rows and label indices into ``classes``.

    Attributes
    ----------
    canonical : Canonical
        Labels, counts and hash of the rows read so far.
    doubles : bool
        Whether all numbers read so far are doubles.
    """

    def __init__(self, X: Any, y: Any = None) -> None:
        several = hasattr(X, "coded") or (y is None and hasattr(X, "exactly"))
        self._given = X if several else labelled_rows(X, y)
        self.canonical = Canonical()
        self.doubles = True

    @property
    def names(self) -> tuple[str, ...] | None:
        """Feature names, or None."""
        given = self._given
        names = given.feature_names if hasattr(given, "feature_names") else given.names
        return None if names is None else tuple(map(str, names))

    def blocks(self) -> Iterator[Block]:
        """Yield all rows, in order."""
        first = 0
        for X, classes, codes in self._coded():
            numbers = self._numbers(classes, codes)
            X = tidy(X)  # noqa: PLW2901
            self.doubles = self.doubles and same_as_doubles(X)
            for rows in _cuts(X):
                part = X[rows]
                block = Block(part, numbers[rows], first)
                self.canonical.add(part, block.numbers)
                first += part.shape[0]
                yield block

    def _coded(self) -> Iterator[tuple[Any, np.ndarray, np.ndarray]]:
        """Yield batches of rows, the labels, and the index of each row's label."""
        given = self._given
        if isinstance(given, Labelled):
            yield given.X, given.classes, given.codes
        elif hasattr(given, "coded"):
            yield from ((X, given.classes, codes) for X, codes in given.coded())
        else:
            yield from ((X, *np.unique(y, return_inverse=True)) for X, y, *_ in given.exactly())

    def _numbers(self, classes: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Return the number of every row's label, in order of first appearance."""
        first = np.full(len(classes), len(codes))
        first[codes[::-1]] = np.arange(len(codes))[::-1]  # the last write wins: the first row
        numbers = np.full(len(classes), -1)
        for code in np.argsort(first)[: np.count_nonzero(first < len(codes))].tolist():
            numbers[code] = self.canonical.number(classes[code])
        return numbers[codes]


def _cuts(X: Any) -> Iterator[slice]:
    """Yield slices of rows with about BLOCK_VALUES numbers each."""
    n = X.shape[0]
    per_row = X.nnz / max(n, 1) if sp.issparse(X) else X.shape[1]
    step = max(1, int(BLOCK_VALUES // max(1, per_row)))
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


def read_whole(X: Any, y: Any = None) -> Canonical:
    """Read all rows and labels and return labels, counts and hash in canonical form."""
    reading = Reading(X, y)
    for _ in reading.blocks():
        pass
    return reading.canonical


def sha256_of(X: Any, y: Any = None) -> str:
    """Return the hash of rows and labels in the form of :mod:`linsep.certificate.canonical`."""
    return read_whole(X, y).sha256()
