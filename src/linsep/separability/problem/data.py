"""Rows and labels in pieces that can be read many times, from arrays or sources."""

import warnings
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.certificate.numbers import labelled_rows, tidy
from linsep.errors import DataError

#: numbers in a piece of a dense array: few enough to stay in the processor's cache
PIECE_VALUES = 1 << 18
#: error bound of a product that underflows
TINY = 2.0**-1074
#: classes up to which no warning is given
FEW_CLASSES = 10


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
        """Return columns and exact values of a row of this piece."""
        if sp.issparse(self.X):
            start, end = self.X.indptr[row : row + 2]
            return self.X.indices[start:end], self.X.data[start:end]
        return np.arange(self.X.shape[1]), (self.X if self.exact is None else self.exact)[row]

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
        if chosen.all():
            return self
        exact = None if self.exact is None else self.exact[chosen]
        return Piece(self.X[chosen], self.codes[chosen], self.numbers[chosen], exact)

    def of_classes(self, active: np.ndarray) -> "Piece":
        """Return the rows of the classes selected by the mask ``active``."""
        return self.only(active[self.codes])


class Data:
    """Rows and labels that can be read many times.

    Attributes
    ----------
    classes : array
        The sorted labels; codes are indices into them.
    n_rows, n_features : int
    names : list of str or None
        Feature names.
    sparse : bool
    rounded : bool
        Whether pieces hold rounded numbers beside the exact ones.
    """

    def __init__(self, parts: Any, classes: np.ndarray, shape: tuple[int, int], names: Any) -> None:
        self._parts = parts
        self.classes = classes
        self.n_rows, self.n_features = shape
        self.names = None if names is None else [str(name) for name in names]
        self.sparse = self.rounded = False
        self.where: Any = None

    def pieces(self) -> Iterator[Piece]:
        """Yield all rows, in order."""
        for X, codes, first, exact in self._parts():
            step = X.shape[0] if sp.issparse(X) else max(1, PIECE_VALUES // max(1, X.shape[1]))
            for start in range(0, X.shape[0], step):
                rows = slice(start, start + step)
                numbers = np.arange(first + start, first + min(start + step, X.shape[0]))
                some = X[rows] if step < X.shape[0] else X
                yield Piece(some, codes[rows], numbers, None if exact is None else exact[rows])

    def codes(self) -> np.ndarray:
        """Return the codes of all labels."""
        return np.concatenate([codes for _, codes in self.coded()])

    def coded(self) -> Iterator[tuple[Any, np.ndarray]]:
        """Yield the rows as given, with the codes of their labels."""
        for X, codes, _, exact in self._parts():
            yield X if exact is None else exact, codes

    @cached_property
    def longest(self) -> float:
        """An upper bound on the length of every row."""
        return max(float(piece.lengths().max()) for piece in self.pieces())

    def labels(self) -> list[Any]:
        """Return the classes as plain values."""
        return plain_labels(self.classes)

    def rows(self, numbers: np.ndarray) -> Iterator[tuple[int, Piece, int]]:
        """Yield the rows with these sorted numbers as (number, piece, index in the piece)."""
        wanted = iter(numbers.tolist())
        number = next(wanted, None)
        for piece in self.pieces():
            while number is not None and number <= piece.numbers[-1]:
                yield number, piece, number - int(piece.numbers[0])
                number = next(wanted, None)
            if number is None:
                return


def plain_labels(classes: np.ndarray) -> list[Any]:
    """Return labels as Python values; integral floats become ints, as they are in files."""
    plain = classes.tolist()
    return [int(x) if isinstance(x, float) and x.is_integer() else x for x in plain]


def data_of(X: Any, y: Any = None) -> Data:
    """Open arrays, a data frame, a sparse matrix, or a :mod:`linsep.sources` source (without y).

    Numbers are kept exactly; see :mod:`linsep.certificate.numbers`.

    Raises
    ------
    ValueError
        For NaN, infinity, values that are not numbers, fewer than two classes, and X and y of
        different lengths.
    """
    if isinstance(X, Data):
        return X
    if y is None and hasattr(X, "batches"):
        return _from_source(X)
    rows, classes, codes, names = labelled_rows(X, y)
    _two_classes(classes)
    part = _part(rows, codes, 0)
    data = Data(lambda: iter([part]), classes, rows.shape, names)
    data.sparse, data.rounded = sp.issparse(rows), part.exact is not None
    return data


class Part(NamedTuple):
    """Rows as given, with their floats if they hold Python numbers."""

    X: Any
    codes: np.ndarray
    first: int
    exact: np.ndarray | None


def _part(X: Any, codes: np.ndarray, first: int) -> Part:
    if X.dtype != object:
        return Part(X, codes, first, None)
    return Part(X.astype(np.float64), codes, first, X)


def warn_of_many_classes(classes: np.ndarray, n_rows: int, stacklevel: int = 4) -> None:
    """Warn if a numeric target has more than ten classes, and more than a tenth as many as rows."""
    n = len(classes)
    if classes.dtype.kind in "iuf" and n > max(FEW_CLASSES, n_rows / 10):
        warnings.warn(
            f"The target holds {n:,} different numbers in {n_rows:,} rows, and each is taken for a "
            "class. If it is a measurement, fit a linear regression, or cut it into few classes.",
            stacklevel=stacklevel,
        )


def _two_classes(classes: np.ndarray) -> None:
    if len(classes) < 2:
        (only,) = plain_labels(classes)
        raise DataError(f"All rows have the label {only}: separation needs at least two classes.")


def _from_source(source: Any) -> Data:
    """Read a source once for its classes and width; keep its rows in memory if they are few."""
    kept: list[Any] | None = []
    labels: set[Any] = set()
    n_rows = width = size = 0
    sparse = rounded = False
    for X, y, first, *_ in source.exactly():
        labels.update(y.tolist())
        n_rows, width, sparse = first + X.shape[0], max(width, X.shape[1]), sp.issparse(X)
        rounded |= X.dtype == object
        size += X.data.nbytes * (5 if rounded else 1) + (X.indices.nbytes if sparse else 0)
        if kept is not None:
            kept.append((X.copy(), y.copy(), first))
            kept = kept if size <= source.memory_bytes else None
    if not n_rows:
        raise DataError(f"{source.name} has no rows.")
    classes = np.array(sorted(labels))
    _two_classes(classes)

    def parts() -> Iterator[Part]:
        for X, y, first, *_ in source.exactly() if kept is None else kept:
            yield _part(_widened(X, width), np.searchsorted(classes, y), first)

    data = Data(parts, classes, (n_rows, width), source.feature_names)
    data.sparse, data.rounded, data.where = sparse, rounded, source.where
    return data


def _widened(X: Any, width: int) -> Any:
    """Return the rows with zero columns for features that appear in later batches."""
    if X.shape[1] == width:
        return tidy(X)
    if sp.issparse(X):
        return tidy(sp.csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], width)))
    return np.hstack([X, np.zeros((X.shape[0], width - X.shape[1]), X.dtype)])
