"""Kernels on strings: lists of str, compared by code points, or of bytes. This file has the strings
as rows (checked, encoded as numbers, counted by substrings), products of counts, and the kernels.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse as sp

from linsep.compiled.kernels import count_rows
from linsep.errors import DataError, ParameterError, warn_caller
from linsep.kernels.base import Kernel, Parts, number
from linsep.kernels.vectors import add_sparse_products, squares
from linsep.words import row_text

if TYPE_CHECKING:
    from linsep.kernels.exact import Ratio

#: largest numbers whose product fits in an int64
MOST_CODES = 2**62
#: multiplications in a dense matrix product that take the time of one sparse addition
DENSE_SPEED = 80
#: integers up to which sums in float32 are exact
EXACT32 = 2.0**24
#: rows of a block of products
ROWS_AT_A_TIME = 1024
#: bytes of counts made dense at a time
DENSE_BYTES = 256_000_000


class Letters:
    """Concatenated strings: string i is ``text[begins[i]:ends[i]]``, code points or bytes."""

    def __init__(self, text: np.ndarray, begins: np.ndarray, ends: np.ndarray):
        self.text, self.begins, self.ends = text, begins, ends

    def __len__(self) -> int:
        return len(self.begins)

    def __getitem__(self, key: Any) -> Letters:
        return Letters(self.text, self.begins[key], self.ends[key])

    @property
    def lengths(self) -> np.ndarray:
        """Length of every string."""
        return self.ends - self.begins


class Grams:
    """The substrings of the columns, sorted: an array of shape (columns,) of str or bytes.

    Rows counted together share one instance. Common columns of two instances are cached in the
    first as long as the second exists.
    """

    def __init__(self, names: np.ndarray):
        self.names = names
        self._common: weakref.WeakKeyDictionary[Grams, Any] = weakref.WeakKeyDictionary()

    def __reduce__(self) -> Any:
        return Grams, (self.names,)

    def common(self, other: Grams) -> tuple[np.ndarray, np.ndarray]:
        """Return the columns of both with the same substrings."""
        if other not in self._common:
            at = np.searchsorted(other.names, self.names)
            at = np.minimum(at, max(len(other.names) - 1, 0))
            same = other.names[at] == self.names if len(other.names) else np.zeros(len(at), bool)
            self._common[other] = np.flatnonzero(same), at[same]
        return self._common[other]


class Counts:
    """Counts of the substrings of ``grams`` in every string, as a CSR ``matrix``."""

    def __init__(self, matrix: sp.csr_array, grams: Grams):
        self.matrix, self.grams = matrix, grams

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    def __getitem__(self, key: Any) -> Counts:
        return Counts(self.matrix[key], self.grams)


def letters_of(X: Any, kernel: Any) -> Letters:
    """Return X as :class:`Letters`, uint32 code points of str or uint8 of bytes.

    Raises
    ------
    DataError
        If X is not a list of str or of bytes: no rows, a single string, numbers, None, or both.
    """
    if isinstance(X, str | bytes):
        raise DataError(
            f"X is a single string, but {kernel!r} takes a list of strings.", code="bad-value"
        )
    if sp.issparse(X) or getattr(X, "ndim", 1) != 1 or not hasattr(X, "__iter__"):
        shape = f"an array of shape {X.shape}" if hasattr(X, "shape") else f"{X!r}"
        raise DataError(
            f"X is {shape}, but {kernel!r} takes strings: pass a list of str or bytes.",
            code="bad-value",
        )
    rows = X.tolist() if isinstance(X, np.ndarray) else list(X)
    if not rows:
        raise DataError(f"X has no rows: {kernel!r} needs at least one string.", code="no-rows")
    kind = bytes if isinstance(rows[0], bytes) else str
    for i, row in enumerate(rows):
        if not isinstance(row, kind):
            message = f"{row!r}, {type(row).__name__}"
            first = (
                f", while row 1 is {kind.__name__}" if i and isinstance(row, str | bytes) else ""
            )
            raise DataError(
                f"{row_text(i).capitalize()} is {message}{first}: {kernel!r} takes a "
                "list of str or a list of bytes.",
                code="bad-value",
                row=i + 1,
            )
    if kind is bytes:
        text = np.frombuffer(b"".join(rows), dtype=np.uint8)
    else:
        text = np.frombuffer("".join(rows).encode("utf-32-le", "surrogatepass"), dtype="<u4")
    ends = np.cumsum(np.fromiter(map(len, rows), np.int64, len(rows)))
    return Letters(text, np.concatenate([[0], ends[:-1]]), ends)


def same_kind(a: np.ndarray, b: np.ndarray) -> None:
    """Raise DataError if one array has bytes and the other has str."""
    if (a.dtype.itemsize == 1 or a.dtype.kind == "S") != (
        b.dtype.itemsize == 1 or b.dtype.kind == "S"
    ):
        raise DataError(
            "One side has str and the other bytes: use the same type on both sides.",
            code="bad-value",
        )


def alphabet(text: np.ndarray) -> np.ndarray:
    """Return the letters that occur, sorted, with the dtype of ``text``."""
    return np.flatnonzero(np.bincount(text)).astype(text.dtype)


def ranks(text: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return the index of every letter in ``known`` (sorted, with all letters) as int64."""
    table = np.zeros(int(known[-1]) + 1 if len(known) else 1, dtype=np.int64)
    table[known] = np.arange(len(known))
    return table[text]


def window_codes(digits: np.ndarray, base: int, p: int) -> tuple[np.ndarray, int]:
    """Return a code for every window of p digits, equal for equal windows, and a bound on them.

    Codes are in the order of the windows. If windows are too long for numbers of that base, the two
    halves are numbered first, and then the pairs.
    """
    n = max(0, len(digits) - p + 1)
    if base**p < MOST_CODES:
        codes = np.zeros(n, dtype=np.int64)
        for k in range(p):
            codes *= base
            codes += digits[k : k + n]
        return codes, base**p
    half = p // 2
    left, right = (distinct(*window_codes(digits, base, size)) for size in (half, p - half))
    bound = right[1]
    return left[0][:n] * bound + right[0][half : half + n], left[1] * bound


def distinct(codes: np.ndarray, bound: int) -> tuple[np.ndarray, int]:
    """Return the codes renumbered from 0 without gaps, in their order, and their number."""
    if bound > 2 * len(codes) + 65_536:
        values, numbered = np.unique(codes, return_inverse=True)
        return numbered, len(values)
    table = np.zeros(bound, dtype=np.int64)
    table[codes] = 1
    table = np.cumsum(table)
    return table[codes] - 1, int(table[-1]) if bound else 0


def counted(rows: Letters, p: int) -> tuple[sp.csr_array, np.ndarray]:
    """Count every substring of length p in every string.

    Returns a CSR matrix of shape (rows, substrings) and the substrings as letters, an array of
    shape (substrings, p), in order.
    """
    text, longest = rows.text, int(rows.lengths.max(initial=0))
    if p > longest:
        return sp.csr_array((len(rows), 0)), text[:0].reshape(0, 1)
    known = alphabet(text)
    codes, bound = window_codes(ranks(text, known), max(len(known), 2), p)
    inside = np.ones(len(text), dtype=bool)
    for k in range(1, p):  # no window starts at the last p - 1 places of a string
        places = rows.ends - k
        inside[places[places >= rows.begins]] = False
    places = np.flatnonzero(inside[: len(codes)])
    columns, n_grams = distinct(codes[places], bound)
    first = np.zeros(n_grams, dtype=np.int64)
    first[columns] = places
    starts = np.concatenate([[0], np.cumsum(np.maximum(rows.lengths - p + 1, 0))])
    values, indices, indptr = count_rows(columns, starts, n_grams)
    matrix = sp.csr_array((values, indices, indptr), shape=(len(rows), n_grams))
    return matrix, text[first[:, None] + np.arange(p)]


def as_strings(grams: np.ndarray) -> np.ndarray:
    """Convert substrings from letters of shape (substrings, p) to an array of str or bytes."""
    n, p = grams.shape
    kind = f"S{p}" if grams.dtype.itemsize == 1 else f"U{p}"
    return np.ascontiguousarray(grams).view(kind).reshape(n)


def count_products(A: Counts, B: Counts) -> np.ndarray:
    """Return sums of products of counts over all substrings, float64, exact below 2^53."""
    left, right = _aligned(A, B)
    out = np.zeros((len(A), len(B)))
    if not (left.nnz and right.nnz):
        return out
    frequent, rare = _split(left, right)
    single = np.sqrt(squares(left).max() * squares(right).max()) < EXACT32
    kind = np.float32 if single else np.float64
    step = max(1, DENSE_BYTES // (4 * (len(A) + len(B))))
    for at in range(0, len(frequent), step):
        columns = frequent[at : at + step]
        _add_dense(left[:, columns].astype(kind), right[:, columns].astype(kind), A is B, out)
    if len(rare):
        few, others = left[:, rare], right[:, rare]
        for rows, first in _blocks(len(A), A is B):
            add_sparse_products(few[rows], others[first:], out[rows, first:])
    if A is B:
        for start in range(0, len(out), ROWS_AT_A_TIME):
            part = slice(start, start + ROWS_AT_A_TIME)
            out[start:, part] = out[part, start:].T
    return out


def _aligned(A: Counts, B: Counts) -> tuple[sp.csr_array, sp.csr_array]:
    """Return both matrices with the same columns."""
    if A.grams is B.grams:
        return A.matrix, B.matrix
    same_kind(A.grams.names, B.grams.names)
    # The larger side caches the lookup, so that it is freed with the rows to predict.
    columns, others = B.grams.common(A.grams)
    return A.matrix[:, others], B.matrix[:, columns]


def _split(left: sp.csr_array, right: sp.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns for which a dense product is faster, and the other common columns."""
    n_left = np.bincount(left.indices, minlength=left.shape[1])
    work = n_left * np.bincount(right.indices, minlength=right.shape[1])
    dense = work * DENSE_SPEED > left.shape[0] * right.shape[0]
    return np.flatnonzero(dense), np.flatnonzero(~dense & (work > 0))


def _blocks(n: int, symmetric: bool) -> Iterator[tuple[slice, int]]:
    """Yield blocks of rows, each with the first column to compute."""
    for start in range(0, n, ROWS_AT_A_TIME):
        yield slice(start, start + ROWS_AT_A_TIME), start if symmetric else 0


def _add_dense(left: sp.csr_array, right: sp.csr_array, symmetric: bool, out: np.ndarray) -> None:
    a = left.toarray()
    b = a if symmetric else right.toarray()
    for rows, first in _blocks(len(a), symmetric):
        out[rows, first:] += a[rows] @ b[first:].T


class OnStrings(Kernel):
    """Base class of kernels that compare parts of p letters."""

    takes: ClassVar[str] = "strings"
    advice: ClassVar[str] = "use shorter strings or a smaller p"

    def _exact(self, X: Any) -> Ratio | None:
        from linsep.kernels.exact import weighted_counts

        return weighted_counts(self.counts(self.prepare(X)))

    def counts(self, A: Any) -> tuple[np.ndarray, Any, np.ndarray]:
        """Return the substrings in prepared strings, their counts and weights."""
        raise NotImplementedError


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

    def __post_init__(self) -> None:
        number(self, "p", whole=True)

    def _fitted(self, X: Any) -> Kernel:
        longest = int(letters_of(X, self).lengths.max())
        if longest < self.p:
            warn_caller(
                f"{self!r} matches nothing in these strings, which have at most {longest} "
                f"letters: lower p."
            )
        return self

    def _prepare(self, X: Any) -> Any:
        matrix, grams = counted(letters_of(X, self), self.p)
        return Counts(matrix, Grams(as_strings(grams)))

    def _gram(self, A: Any, B: Any) -> np.ndarray:
        return count_products(A, B)

    def _diagonal(self, A: Any) -> np.ndarray:
        return squares(A.matrix)

    def counts(self, A: Any) -> tuple[np.ndarray, Any, np.ndarray]:
        """Return the substrings in prepared strings, their counts, and weights of 1."""
        return A.grams.names, A.matrix, np.ones(len(A.grams.names))


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
                f"to p, not {self.weights!r}.",
                option="weights",
                value=self.weights,
            )
        object.__setattr__(self, "weights", weights)

    def _prepare(self, X: Any) -> Any:
        rows = letters_of(X, self)
        longest = int(rows.lengths.max(initial=0))  # longer substrings do not occur
        each = [counted(rows, q) for q in range(1, min(self.p, max(1, longest)) + 1)]
        return Parts(*(Counts(matrix, Grams(as_strings(grams))) for matrix, grams in each))

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
        """Return the substrings in prepared strings, their counts, and the weights by length."""
        names = [part.grams.names for part in A.parts]
        weights = [np.full(len(own), w) for own, w in zip(names, self._weights, strict=False)]
        matrix = sp.hstack([part.matrix for part in A.parts], format="csr")
        return np.concatenate(names), matrix, np.concatenate(weights)

    @property
    def _weights(self) -> Iterable[float]:
        return repeat(1.0) if self.weights is None else self.weights
