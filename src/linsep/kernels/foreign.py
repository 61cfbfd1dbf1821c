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


@dataclass(frozen=True, repr=False)
class Callable(Kernel):
    """Any function of two rows, called once for every pair.

    Parameters
    ----------
    function : callable
        Called with two rows of X (sparse rows as dense arrays); returns a number. Must be
        symmetric.
    """

    function: Any
    takes: ClassVar[str] = "anything"
    rows_at_once: ClassVar[int] = 1  # computes no value that is not needed
    advice: ClassVar[str] = "make the function return finite numbers"

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ParameterError(
                f"Callable takes a function of two rows, but {self.function!r} cannot be called.",
                option="function",
                value=self.function,
            )

    def __repr__(self) -> str:
        return f"Callable({self._name})"

    @property
    def _name(self) -> str:
        return getattr(self.function, "__name__", type(self.function).__name__)

    def _prepare(self, X: Any) -> Any:
        if sp.issparse(X):
            X = X.tocsr()
        elif not isinstance(X, np.ndarray):
            X = listed(X)
        return Parts(X, np.arange(rows_of(X)))

    def _gram(self, A: Any, B: Any) -> np.ndarray:
        K = np.empty((len(A), len(B)))
        right = list(_numbered(B))
        for i, (number, x) in enumerate(_numbered(A)):
            first = i if A is B else 0
            for j in range(first, len(B)):
                K[i, j] = self._value(x, right[j][1], number, right[j][0])
            if A is B:
                K[i:, i] = K[i, i:]
        return K

    def _diagonal(self, A: Any) -> np.ndarray:
        return np.array([self._value(x, x, number, number) for number, x in _numbered(A)], float)

    def _value(self, x: Any, y: Any, i: int, j: int) -> float:
        """Return the function's value; raise DataError that names the rows if it fails."""
        try:
            value = self.function(x, y)
        except Exception as problem:
            raise DataError(
                f"The kernel {self._name} failed on the rows of index {i} and {j} with "
                f"{type(problem).__name__}: {problem}; correct the function or remove the row.",
                code="bad-kernel",
            ) from problem
        plain = value.item() if isinstance(value, np.ndarray) and value.size == 1 else value
        if not isinstance(plain, Real) or not np.isfinite(float(plain)):
            raise DataError(
                f"The kernel {self._name} returned {value!r} for the rows of index {i} and {j}: it "
                "must return a finite number for every pair of rows.",
                code="bad-kernel",
                value=value,
            )
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
    advice: ClassVar[str] = "compute the Gram matrix without NaN and infinity"

    def _prepare(self, X: Any) -> Any:
        if sp.issparse(X):
            raise DataError(
                "A precomputed Gram matrix must be dense: pass X.toarray().", code="bad-value"
            )
        X = vectors(X, self)
        return GramRows(X, np.arange(len(X)))

    def _gram(self, A: Any, B: Any) -> np.ndarray:
        if B.learned != A.learned or (B.numbers.size and B.numbers.max() >= A.learned):
            raise DataError(
                f"Gram matrices of shapes {A.shape} and {B.shape} do not match: for training it "
                f"must be square, for prediction it needs one column per training row.",
                code="shape",
            )
        return A.values[np.ix_(A.numbers, B.numbers)].astype(np.float64)

    def _diagonal(self, A: Any) -> np.ndarray:
        if A.numbers.size and A.numbers.max() >= A.learned:
            raise DataError(
                f"A Gram matrix of shape {A.shape} has no diagonal: for training it must be "
                "square.",
                code="shape",
            )
        return A.values[A.numbers, A.numbers].astype(np.float64)


class GramRows:
    """Some rows of a Gram matrix, given by their ``numbers``.

    ``values`` is the whole matrix, because only some columns of the rows are needed and a copy of
    the rows would be wasteful.
    """

    def __init__(self, values: np.ndarray, numbers: np.ndarray):
        self.values, self.numbers = values, numbers

    @property
    def whole(self) -> np.ndarray | None:
        """The matrix, without a copy, if these are all its rows; None otherwise."""
        all_of_them = np.array_equal(self.numbers, np.arange(len(self.values)))
        ready = self.values.dtype == np.float64 and self.values.flags.c_contiguous
        return self.values if ready and all_of_them else None

    @property
    def learned(self) -> int:
        """Number of training rows."""
        return int(self.values.shape[1])

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, training rows)."""
        return len(self.numbers), self.learned

    def __getitem__(self, key: Any) -> GramRows:
        return GramRows(self.values, self.numbers[key])
