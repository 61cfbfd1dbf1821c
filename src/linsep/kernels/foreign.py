"""Other kernels: functions of two rows, and Gram matrices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from linsep.errors import DataError, ParameterError
from linsep.kernels.base import Kernel, Parts, listed, rows_of, vectors

#: most rows for which eigenvalues are computed
MOST_ROWS = 2000
#: rows of a Gram matrix that are compared at a time
BLOCK = 512
#: rounding error of a zero, relative to the largest value
ROUNDING = 1e-8


@dataclass(frozen=True, repr=False)
class Callable(Kernel):
    """Any symmetric ``function`` of two rows (sparse rows as dense arrays), which returns a number;
    called once for every pair.
    """

    function: Any
    takes: ClassVar[str] = "anything"
    rows_at_once: ClassVar[int] = 1  # computes no value that is not needed

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ParameterError(
                f"Callable takes a function of two rows, but {self.function!r} cannot be called.",
                option="function", value=self.function,
            )  # fmt: skip

    def __repr__(self) -> str:
        name = getattr(self.function, "__name__", type(self.function).__name__)
        return f"Callable({name})"

    def prepare(self, X: Any) -> Any:
        """Return rows that can be sliced, with their numbers."""
        if sp.issparse(X):
            X = X.tocsr()
        elif not isinstance(X, np.ndarray):
            X = listed(X)
        return Parts(X, np.arange(rows_of(X)))

    def _gram(self, A: Any, B: Any) -> np.ndarray:
        K = np.empty((len(A), len(B)))
        right = list(_numbered(B))
        for i, left in enumerate(_numbered(A)):
            first = i if A is B else 0
            K[i, first:] = [self._value(left, other) for other in right[first:]]
            if A is B:
                K[i:, i] = K[i, i:]
        return K

    def _diagonal(self, A: Any) -> np.ndarray:
        return np.array([self._value(row, row) for row in _numbered(A)], float)

    def _value(self, left: tuple[int, Any], right: tuple[int, Any]) -> float:
        """Return the function's value; raise DataError that names the rows if it fails."""
        (i, x), (j, y) = left, right
        try:
            value = self.function(x, y)
        except Exception as problem:
            raise DataError(
                f"{self!r} failed on the rows of index {i} and {j} with {type(problem).__name__}: "
                f"{problem}; correct the function or remove the row.", code="bad-kernel",
            ) from problem  # fmt: skip
        plain = value.item() if isinstance(value, np.ndarray) and value.size == 1 else value
        if not isinstance(plain, Real) or not np.isfinite(float(plain)):
            raise DataError(
                f"{self!r} returned {value!r} for the rows of index {i} and {j}: it must return "
                "a finite number.", code="bad-kernel", value=value,
            )  # fmt: skip
        return float(plain)


def _numbered(rows: Parts) -> Iterator[tuple[int, Any]]:
    """Yield (row number in the data set, row)."""
    values, numbers = rows.parts
    for k, number in enumerate(numbers.tolist()):
        yield number, (values[[k]].toarray()[0] if sp.issparse(values) else values[k])


@dataclass(frozen=True)
class Precomputed(Kernel):
    """Rows of a Gram matrix: the kernel values of a row with each training row.

    In training the matrix is square; in prediction it has a column for each training row. Prepared
    rows store their numbers, and ``gram(A, B)`` selects the columns of A with the numbers of B, so
    B must be rows of the training matrix.
    """

    takes: ClassVar[str] = "gram"

    def prepare(self, X: Any) -> Any:
        """Return rows that know their numbers."""
        if sp.issparse(X):
            raise DataError(
                "A precomputed Gram matrix must be dense: pass X.toarray().", code="bad-value"
            )
        X = vectors(X, self, np.float64)
        return GramRows(X, np.arange(len(X)))

    def _gram(self, A: Any, B: Any) -> np.ndarray:
        A.match(B)
        return A.values[np.ix_(A.numbers, B.numbers)]

    def _diagonal(self, A: Any) -> np.ndarray:
        A.match(A)
        return A.values[A.numbers, A.numbers]


class GramRows:
    """Rows of a Gram matrix ``values``, by their ``numbers``: only some columns are needed."""

    def __init__(self, values: np.ndarray, numbers: np.ndarray):
        self.values, self.numbers = values, numbers

    @property
    def whole(self) -> np.ndarray | None:
        """The matrix, without a copy, if these are all its rows; None otherwise."""
        all_of_them = np.array_equal(self.numbers, np.arange(len(self.values)))
        return self.values if all_of_them else None

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, training rows)."""
        return len(self.numbers), self.values.shape[1]

    def match(self, other: GramRows) -> None:
        """Raise DataError unless there is a column for each of the other rows."""
        if self.shape[1] != other.shape[1] or other.numbers.max(initial=-1) >= self.shape[1]:
            raise DataError(
                f"Gram matrices of shapes {self.shape} and {other.shape} do not match: for "
                "training it must be square, for prediction it needs a column per training row.",
                code="shape",
            )

    def __getitem__(self, key: Any) -> GramRows:
        return GramRows(self.values, self.numbers[key])


class NotPositiveSemidefiniteWarning(UserWarning):
    """A Gram matrix is not symmetric or not positive semidefinite, so it belongs to no kernel."""


def check_gram(K: Any) -> str | None:
    """Return a sentence for :class:`NotPositiveSemidefiniteWarning` if an array of shape (rows,
    rows) cannot be the Gram matrix of a kernel, else None; DataError if it is not square or finite.

    For up to 2,000 rows, None means that no eigenvalue is negative, up to rounding. For more rows,
    only the necessary conditions ``K_ii >= 0`` and ``|K_ij| <= sqrt(K_ii K_jj)`` are checked.
    """
    K = np.asarray(K)
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise DataError(
            "A precomputed Gram matrix must be square, one row and one column for every row of "
            f"the data, but it has shape {K.shape}.", code="shape",
        )  # fmt: skip
    if not np.isfinite(K).all():
        raise DataError(
            "The Gram matrix has NaN or infinity: compute it again without them.", code="not-finite"
        )
    if not len(K):
        return None
    end = "training continues, without the guarantees of a kernel."
    if why := _worst(K, lambda part: np.abs(K[part] - K[:, part].T)):
        i, j = why
        there = f"K[{i}, {j}] is {K[i, j]:.6g} and K[{j}, {i}] is {K[j, i]:.6g}"
        return f"The Gram matrix is not symmetric: {there}; {end}"
    roots, said = np.sqrt(np.maximum(np.diag(K), 0)), ""
    if why := _worst(K, lambda part: np.abs(K[part]) - roots[part, None] * roots):
        i, j = why
        there = f"K[{i}, {i}] is {K[i, i]:.6g} and K[{j}, {j}] is {K[j, j]:.6g}"
        said = f"K[{i}, {j}] is {K[i, j]:.6g}, but {there}"
    elif len(K) <= MOST_ROWS:
        least, most = np.linalg.eigvalsh(K.astype(np.float64, copy=False))[[0, -1]].tolist()
        if least < -ROUNDING * max(most, -least):
            said = f"its smallest eigenvalue is {least:.6g}, its largest {most:.6g}"
    return f"The Gram matrix is not positive semidefinite: {said}; {end}" if said else None


def _worst(K: np.ndarray, excess: Any) -> tuple[int, int] | None:
    """Return where a matrix computed in blocks of rows exceeds rounding; None if nowhere."""
    for start in range(0, len(K), BLOCK):
        found = excess(slice(start, start + BLOCK))
        if found.max() > ROUNDING * np.abs(K).max():
            i, j = np.unravel_index(found.argmax(), found.shape)
            return start + int(i), int(j)
    return None
