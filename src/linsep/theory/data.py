"""The data that a claim is about: pieces of rows, again and again, from arrays or a source."""

import warnings
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array, check_consistent_length, column_or_1d

from linsep.errors import DataError
from linsep.sparse_rows import as_csr

#: so many numbers of a dense array are looked at at a time: they stay in the cache
PIECE_VALUES = 1 << 18
#: products below the smallest number vanish: each may be wrong by this much
TINY = 2.0**-1074
#: so many classes are nothing to wonder at
FEW_CLASSES = 10
KEPT_TYPES = [np.float64, np.float32, *(np.dtype(f"{s}{b}") for s in "iu" for b in (1, 2, 4, 8))]


class Piece(NamedTuple):
    """Rows in memory: ``X`` of shape (rows, features), their class codes and their numbers."""

    X: Any
    codes: np.ndarray
    numbers: np.ndarray

    def products(self, W: np.ndarray) -> np.ndarray:
        """``X @ W[:, :features].T``, and the last column of ``W`` where there is one more."""
        d = self.X.shape[1]
        X = self.X if sp.issparse(self.X) else self.X.astype(np.float64, copy=False)
        scores = X @ np.ascontiguousarray(W[:, :d].T)
        return scores + W[:, d] if W.shape[1] > d else scores

    def row(self, row: int) -> tuple[np.ndarray, np.ndarray]:
        """Columns and values of the row that is number ``row`` of this piece."""
        if sp.issparse(self.X):
            start, end = self.X.indptr[row : row + 2]
            return self.X.indices[start:end], self.X.data[start:end]
        return np.arange(self.X.shape[1]), self.X[row]

    def lengths(self) -> np.ndarray:
        """The length of every row, or a little more where squares vanish."""
        X = self.X
        if sp.issparse(X):
            squares = sp.csr_matrix((X.data.astype(np.float64) ** 2, X.indices, X.indptr), X.shape)
            total = np.asarray(squares.sum(axis=1)).ravel()
        else:
            X = X.astype(np.float64, copy=False)
            total = np.einsum("ij,ij->i", X, X)
        return np.sqrt(total + X.shape[1] * TINY)

    def only(self, chosen: np.ndarray) -> "Piece":
        """Some of the rows; ``chosen`` says of each whether it is one of them."""
        return self if chosen.all() else Piece(*(part[chosen] for part in self))

    def of_classes(self, active: np.ndarray) -> "Piece":
        """The rows of some classes; ``active`` says of every code whether it is one of them."""
        return self.only(active[self.codes])


class Data:
    """Rows and labels, ready to be walked through many times.

    Attributes
    ----------
    classes : array
        The labels, sorted; codes number them.
    n_rows, n_features : int
    names : list of str or None
        Of the features.
    sparse : bool
    """

    def __init__(self, parts: Any, classes: np.ndarray, shape: tuple[int, int], names: Any) -> None:
        self._parts = parts
        self.classes = classes
        self.n_rows, self.n_features = shape
        self.names = None if names is None else [str(name) for name in names]
        self.sparse = False
        self.where: Any = None

    def pieces(self) -> Iterator[Piece]:
        """Every row, in order."""
        for X, codes, first in self._parts():
            step = X.shape[0] if sp.issparse(X) else max(1, PIECE_VALUES // max(1, X.shape[1]))
            for start in range(0, X.shape[0], step):
                rows = slice(start, start + step)
                numbers = np.arange(first + start, first + min(start + step, X.shape[0]))
                yield Piece(X[rows] if step < X.shape[0] else X, codes[rows], numbers)

    def batches(self) -> Iterator[tuple[Any, np.ndarray]]:
        """Every row as it was given, and the codes of the labels."""
        return ((X, codes) for X, codes, _ in self._parts())

    @cached_property
    def longest(self) -> float:
        """A number that no row is longer than."""
        return max(float(piece.lengths().max()) for piece in self.pieces())

    def labels(self) -> list[Any]:
        """The classes as plain values."""
        return plain_labels(self.classes)

    def rows(self, numbers: np.ndarray) -> Iterator[tuple[int, Piece, int]]:
        """The rows with these sorted numbers: (number, its piece, its place there)."""
        wanted = iter(numbers.tolist())
        number = next(wanted, None)
        for piece in self.pieces():
            while number is not None and number <= piece.numbers[-1]:
                yield number, piece, number - int(piece.numbers[0])
                number = next(wanted, None)
            if number is None:
                return


def plain_labels(classes: np.ndarray) -> list[Any]:
    """Labels as Python values; whole floats are ints, so that files and arrays agree."""
    plain = classes.tolist()
    return [int(x) if isinstance(x, float) and x.is_integer() else x for x in plain]


def data_of(X: Any, y: Any = None) -> Data:
    """Data from arrays, a data frame, a sparse matrix, or a :mod:`linsep.sources` source (no y).

    Integers stay integers, so that those beyond 2^53 keep every digit.

    Raises
    ------
    ValueError
        For NaN, infinity, fewer than two classes, X and y of different lengths.
    """
    if isinstance(X, Data):
        return X
    if y is None and hasattr(X, "batches"):
        return _from_source(X)
    if y is None:
        raise ValueError("Give the labels y beside X: without them there is nothing to separate.")
    names = getattr(X, "columns", None)
    with np.errstate(over="ignore", invalid="ignore"):  # it adds all numbers up
        X = check_array(as_csr(X), accept_sparse="csr", dtype=KEPT_TYPES, order="C")
    y = column_or_1d(y, warn=True)
    check_consistent_length(X, y)
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError("y contains NaN or infinity: every row needs a label.")
    classes, codes = np.unique(y, return_inverse=True)
    _two_classes(classes)
    data = Data(lambda: iter([(tidy(X), codes, 0)]), classes, X.shape, names)
    data.sparse = sp.issparse(X)
    return data


def tidy(X: Any) -> Any:
    """CSR without repeated entries, and of a type that numpy multiplies exactly as stored."""
    if sp.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def warn_of_many_classes(classes: np.ndarray, n_rows: int, stacklevel: int = 4) -> None:
    """Warn where each of many different numbers is a class: more than a tenth of the rows.

    Of ten numbers or fewer nothing is said, however few the rows.
    """
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
    """One pass to learn the classes and the width; rows stay in memory while they are few."""
    kept: list[Any] | None = []
    labels: set[Any] = set()
    n_rows = width = size = 0
    sparse = False
    for X, y, first in source.batches():
        labels.update(y.tolist())
        n_rows, width, sparse = first + X.shape[0], max(width, X.shape[1]), sp.issparse(X)
        size += X.data.nbytes + (X.indices.nbytes if sparse else 0)
        if kept is not None:
            kept.append((X.copy(), y.copy(), first))
            kept = kept if size <= source.memory_bytes else None
    if not n_rows:
        raise DataError(f"{source.name} has no rows.")
    classes = np.array(sorted(labels))
    _two_classes(classes)

    def parts() -> Iterator[tuple[Any, np.ndarray, int]]:
        for X, y, first in source.batches() if kept is None else kept:
            yield _widened(X, width), np.searchsorted(classes, y), first

    data = Data(parts, classes, (n_rows, width), source.feature_names)
    data.sparse, data.where = sparse, source.where
    return data


def _widened(X: Any, width: int) -> Any:
    """The same rows with columns for the features that later batches brought."""
    if X.shape[1] == width:
        return tidy(X)
    if sp.issparse(X):
        return tidy(sp.csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], width)))
    return np.hstack([X, np.zeros((X.shape[0], width - X.shape[1]), X.dtype)])
