"""Rows in memory with their labels and weights: a batch, and operations on several batches.

Rows that can be read again are a function without arguments that returns an iterator over batches,
from the first row: :data:`Batches`. :meth:`linsep.sources.Source.batches` is one.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp

from linsep.errors import DataError

#: the weights of rows that all weigh 1
NO_IMPORTANCE = np.empty(0)
#: what the weights of all rows add up to at most, so that sums of products with features are finite
MOST_WEIGHT = 1e200
#: share of nonzeros below which operations on sparse rows are worthwhile
WORTHWHILE = 0.05


class Batch(NamedTuple):
    """Neighboring rows in memory, in their order.

    Attributes
    ----------
    X : C-contiguous float array or csr_matrix of shape (rows, features)
        In a sequence of batches, the width is the number of features seen so far: later batches may
        be wider, with features that are zero in the earlier ones. For proofs, an array of Python
        numbers if some are not representable as doubles.
    y : array of shape (rows,) or None
        Labels as given in the data (floats, ints, bools or strings), or class numbers.
    first : int
        How many rows of the data come before this batch.
    weights : float64 array of shape (rows,) or None
        Finite and at least 0; None if all weights are 1.
    groups : uint64 array of shape (rows,) or None
        The same number for rows that are held out together; None if every row is drawn by itself.
    unanswered : bool array of shape (rows,) or None
        Which rows have a missing value, in whose place X has zeros, and get no prediction; None
        unless the rows are read with ``missing="skip"``.
    offset : float64 array of shape (rows,) or None
        Added to the linear predictor of each row of a regression, finite.
    """

    X: Any
    y: Any
    first: int = 0
    weights: np.ndarray | None = None
    groups: np.ndarray | None = None
    unanswered: np.ndarray | None = None
    offset: np.ndarray | None = None

    @property
    def size(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def importance(self) -> np.ndarray:
        """The weights in the form that compiled loops expect: an empty array if all are 1."""
        return NO_IMPORTANCE if self.weights is None else self.weights

    def between(self, start: int, stop: int) -> "Batch":
        """Return some neighboring rows, as a view."""
        if start == 0 and stop >= self.size:  # lanes are often whole batches
            return self
        X, y, first, *others = self
        y, *others = (None if a is None else a[start:stop] for a in (y, *others))
        if sp.issparse(X):
            starts = X.indptr[start : stop + 1]
            begin, end = starts[0], starts[-1]
            found = sp.csr_matrix((starts.size - 1, X.shape[1]), dtype=X.dtype)
            # Set one by one, the arrays are neither copied nor checked.
            found.data, found.indices = X.data[begin:end], X.indices[begin:end]
            found.indptr = starts - begin
            X = found
        else:
            X = X[start:stop]
        return Batch(X, y, first + start, *others)

    def rows(self, chosen: Any) -> "Batch":
        """Return the rows that a slice, a mask or an array of indices selects; ``first`` stays."""
        X, y, first, *others = self
        y, *others = (None if a is None else a[chosen] for a in (y, *others))
        return Batch(X[chosen], y, first, *others)

    def answers(self, values: np.ndarray) -> np.ndarray:
        """Return what was computed for the rows, NaN for those that get no prediction."""
        if self.unanswered is None or not self.unanswered.any():
            return values
        found = values.astype(np.float64)
        found[self.unanswered] = np.nan
        return found

    def cut(self, rows: int) -> Iterator["Batch"]:
        """Yield the rows in batches of at most ``rows`` rows."""
        for start in range(0, self.size, rows):
            yield self.between(start, start + rows)

    @property
    def sparse(self) -> bool:
        """Whether sparse operations pay off."""
        X = self.X
        return sp.issparse(X) and X.nnz < WORTHWHILE * X.shape[0] * X.shape[1]

    def dense(self) -> np.ndarray:
        """Return the features as an array."""
        return self.X.toarray() if sp.issparse(self.X) else self.X


#: rows that can be read again: each call returns an iterator over all rows, from the first
Batches: TypeAlias = Callable[[], Iterator[Batch]]


def weighed(batches: Iterable[Batch]) -> Iterator[Batch]:
    """Yield X, y and weights of the rows, without those of weight 0, which ``first`` leaves out."""
    first = 0
    for batch in batches:
        counted = batch if batch.weights is None else batch.rows(batch.weights > 0)
        yield Batch(counted.X, counted.y, first, counted.weights)
        first += counted.size


def numbers_of_weighed(batches: Iterable[Batch]) -> np.ndarray:
    """Return the numbers, among all rows, of the rows that :func:`weighed` yields."""
    parts = [batch.first + np.flatnonzero(np.asarray(batch.weights)) for batch in batches]
    return np.concatenate(parts)


def join(parts: list[Any], n_features: int) -> Any:
    """Stack features of equal or growing width into one matrix of ``n_features`` columns.

    The list is emptied while its parts are copied, so the rows are held in memory about once.
    """
    rows, sparse = sum(part.shape[0] for part in parts), sp.issparse(parts[0])
    # Python's numbers may come after floats, see Batch.X.
    dtype = np.result_type(*{part.dtype for part in parts})
    if sparse:
        size = sum(part.nnz for part in parts)
        index = np.int64 if size >= 2**31 else parts[0].indices.dtype
        data, indices, indptr = (
            np.empty(size, dtype), np.empty(size, index), np.zeros(rows + 1, index)
        )  # fmt: skip
    else:
        whole = np.zeros((rows, n_features), dtype)
    row = begin = 0
    parts.reverse()
    while parts:
        part = parts.pop()
        stop = row + part.shape[0]
        if sparse:
            end = begin + part.nnz
            data[begin:end], indices[begin:end] = part.data, part.indices
            np.add(part.indptr[1:], begin, out=indptr[row + 1 : stop + 1], dtype=index)
            begin = end
        else:
            whole[row:stop, : part.shape[1]] = part
        row = stop
    return sp.csr_matrix((data, indices, indptr), shape=(rows, n_features)) if sparse else whole


def joined(batches: list[Batch], n_features: int | None = None) -> Batch:
    """Return neighboring batches as one, as wide as the widest unless ``n_features``
    is given; the list is emptied, see :func:`join`. A single batch is not copied.
    """
    first, width = batches[0], n_features or max(batch.X.shape[1] for batch in batches)
    if len(batches) == 1 and first.X.shape[1] == width:
        batches.clear()
        return first
    weights = None
    if any(batch.weights is not None for batch in batches):
        ones = np.ones(max(batch.size for batch in batches))
        own = [ones[: b.size] if b.weights is None else b.weights for b in batches]
        weights = np.concatenate(own)
    y, groups, offset = (
        None if getattr(first, of) is None else np.concatenate([getattr(b, of) for b in batches])
        for of in ("y", "groups", "offset")
    )
    parts = [batch.X for batch in batches]
    batches.clear()
    return Batch(join(parts, width), y, first.first, weights, groups, offset=offset)


def check_summable(weights: np.ndarray, name: str = "the weights") -> None:
    """Raise DataError if the sum of the weights of rows, or of classes, is too large or small."""
    with np.errstate(over="ignore"):
        total = weights.sum()
    if total and not 1 / MOST_WEIGHT <= total <= MOST_WEIGHT:
        raise DataError(
            f"The sum of {name} is {total:.3g}: divide the weights by the largest.", code="overflow"
        )


def weight_totals(totals: np.ndarray, codes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return ``totals`` plus the weights (ones if empty) of the rows of each code, extended by new
    codes. Rows are added one after the other, so the sum does not depend on the batches.
    """
    counts = np.bincount(codes, minlength=totals.size).astype(totals.dtype)
    found = np.pad(totals, (0, counts.size - totals.size))
    if not weights.size:
        return found + counts
    with np.errstate(over="ignore"):
        np.add.at(found, codes, weights)
    check_summable(found)
    return found
