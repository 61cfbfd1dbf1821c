"""Kernels on strings: lists of str, compared by code points, or of bytes. This file has the strings
as rows (checked, counted by substrings), products of counts, and the kernels.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse as sp

from linsep.errors import DataError, ParameterError, warn_caller
from linsep.kernels.base import Kernel, Parts, number
from linsep.kernels.vectors import add_sparse_products, squares
from linsep.words import row_text

if TYPE_CHECKING:
    from linsep.kernels.exact import Ratio

#: multiplications in a dense matrix product that take the time of one sparse addition
DENSE_SPEED = 80
#: integers up to which sums in float32 are exact
EXACT32 = 2.0**24
#: bytes of counts made dense at a time
DENSE_BYTES = 256_000_000


class Counts:
    """Counts of substrings in every string, a CSR ``matrix``, and the substrings of its columns,
    sorted: an array of str or bytes, which rows counted together share.
    """

    def __init__(self, matrix: sp.csr_array, names: np.ndarray):
        self.matrix, self.names = matrix, names

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    def __getitem__(self, key: Any) -> Counts:
        return Counts(self.matrix[key], self.names)


def strings_of(X: Any, kernel: Any) -> list[Any]:
    """Return X as a list of str or of bytes; DataError if it is not one."""
    if isinstance(X, str | bytes) or getattr(X, "ndim", 1) != 1 or not hasattr(X, "__iter__"):
        raise DataError(
            f"X is {X!r:.40}, but {kernel!r} takes strings: pass a list of str or bytes.",
            code="bad-value",
        )
    rows = X.tolist() if isinstance(X, np.ndarray) else list(X)
    if not rows:
        raise DataError(f"X has no rows: {kernel!r} needs at least one string.", code="no-rows")
    kind = bytes if isinstance(rows[0], bytes) else str
    for i, row in enumerate(rows):
        if not isinstance(row, kind):
            raise DataError(
                f"{row_text(i).capitalize()} is {row!r}, {type(row).__name__}: {kernel!r} takes a "
                "list of str or a list of bytes.", code="bad-value", row=i + 1,
            )  # fmt: skip
    return rows


def counted(rows: list[Any], p: int) -> Counts:
    """Count every substring of length p in every string."""
    many = [max(len(row) - p + 1, 0) for row in rows]
    places: dict[Any, int] = {}
    found = [
        places.setdefault(row[i : i + p], len(places))
        for row, n in zip(rows, many, strict=True)
        for i in range(n)
    ]
    names = np.array(list(places), dtype="S" if isinstance(rows[0], bytes) else "U")
    order = np.argsort(names)
    columns = np.argsort(order)[np.array(found, np.int64)]
    starts = np.concatenate([[0], np.cumsum(many)])
    matrix = sp.csr_array((np.ones(len(columns)), columns, starts), (len(rows), len(names)))
    matrix.sum_duplicates()
    return Counts(matrix, names[order])


def count_products(A: Counts, B: Counts) -> np.ndarray:
    """Return sums of products of counts over all substrings, float64, exact below 2^53."""
    left, right, out = A.matrix, B.matrix, np.zeros((len(A), len(B)))
    if A.names is not B.names:
        if A.names.dtype.kind != B.names.dtype.kind:
            raise DataError(
                "One side has str and the other bytes: use the same type on both sides.",
                code="bad-value",
            )
        _, some, others = np.intersect1d(A.names, B.names, True, return_indices=True)
        left, right = left[:, some], right[:, others]
    if not (left.nnz and right.nnz):
        return out
    # columns for which a dense product is faster
    work = np.bincount(left.indices, minlength=left.shape[1])
    work = work * np.bincount(right.indices, minlength=left.shape[1])
    dense = work * DENSE_SPEED > out.size
    single = np.sqrt(squares(left).max() * squares(right).max()) < EXACT32
    kind = np.float32 if single else np.float64
    frequent, step = np.flatnonzero(dense), max(1, DENSE_BYTES // (4 * (len(A) + len(B))))
    for at in range(0, len(frequent), step):
        columns = frequent[at : at + step]
        a = left[:, columns].astype(kind).toarray()
        out += a @ (a if A is B else right[:, columns].astype(kind).toarray()).T
    if (rare := np.flatnonzero(~dense & (work > 0))).size:
        add_sparse_products(left[:, rare], right[:, rare], out)
    return out


class OnStrings(Kernel):
    """Base class of kernels that count substrings: prepared rows have a part for each length, with
    a weight each.
    """

    takes: ClassVar[str] = "strings"
    _weights: ClassVar[Any]

    def _exact(self, X: Any) -> Ratio | None:
        from linsep.kernels.exact import weighted_counts

        return weighted_counts(self.counts(self.prepare(X)))

    def _gram(self, A: Any, B: Any) -> np.ndarray:
        K = np.zeros((len(A), len(B)))
        for weight, a, b in zip(self._weights, A.parts, B.parts, strict=False):
            K += weight * count_products(a, a if A is B else b)
        return K

    def _diagonal(self, A: Any) -> np.ndarray:
        found = np.zeros(len(A))
        for weight, a in zip(self._weights, A.parts, strict=False):
            found += weight * squares(a.matrix)
        return found

    def counts(self, A: Any) -> tuple[np.ndarray, Any, np.ndarray]:
        """Return the substrings in prepared strings, their counts, and their weights."""
        names = [part.names for part in A.parts]
        weights = [np.full(len(own), w) for own, w in zip(names, self._weights, strict=False)]
        matrix = sp.hstack([part.matrix for part in A.parts], format="csr")
        return np.concatenate(names), matrix, np.concatenate(weights)


@dataclass(frozen=True)
class Spectrum(OnStrings):
    """The number of common substrings of length p, counted with multiplicity.

    K(x, y) is the sum over all strings u of length p of (count of u in x) * (count of u in y).

    Parameters
    ----------
    p : whole number of at least 1
        K is 0 for strings of fewer letters.

    References
    ----------
    C. Leslie, E. Eskin and W. S. Noble, The spectrum kernel, PSB 2002, section 2.
    """

    p: int
    _weights: ClassVar[Any] = (1.0,)

    def __post_init__(self) -> None:
        number(self, "p", whole=True)

    def fitted(self, X: Any) -> Kernel:
        """Return the kernel; warn if it matches nothing."""
        longest = max(map(len, strings_of(X, self)))
        if longest < self.p:
            warn_caller(
                f"{self!r} matches nothing in these strings, which have at most {longest} "
                f"letters: lower p."
            )
        return self

    def prepare(self, X: Any) -> Any:
        """Return the counts of the strings."""
        return Parts(counted(strings_of(X, self), self.p))


@dataclass(frozen=True)
class BlendedSpectrum(OnStrings):
    """Common substrings of every length up to p: the sum of ``weights[q-1] * Spectrum(q)``.

    Parameters
    ----------
    p : whole number of at least 1
    weights : p numbers above 0, for lengths 1 to p; default 1 each

    References
    ----------
    J. Shawe-Taylor and N. Cristianini, Kernel Methods for Pattern Analysis (2004), section 11.2.
    """

    p: int
    weights: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        number(self, "p", whole=True)
        if self.weights is None:
            return
        try:
            weights = tuple(float(weight) for weight in self.weights)
        except (TypeError, ValueError):
            weights = ()
        if len(weights) != self.p or not all(0 < weight < np.inf for weight in weights):
            raise ParameterError(
                f"weights of BlendedSpectrum must be {self.p} numbers above 0, one per length up "
                f"to p, not {self.weights!r}.", option="weights", value=self.weights,
            )  # fmt: skip
        object.__setattr__(self, "weights", weights)

    def prepare(self, X: Any) -> Any:
        """Return the counts of the strings for every length of which there are substrings."""
        rows = strings_of(X, self)
        longest = max(1, *map(len, rows))
        return Parts(*(counted(rows, q) for q in range(1, min(self.p, longest) + 1)))

    @property
    def _weights(self) -> Iterable[float]:
        return repeat(1.0) if self.weights is None else self.weights
