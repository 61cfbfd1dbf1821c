"""Kernels on strings: lists of str, compared by code points, or of bytes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import repeat
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from linsep.errors import DataError, ParameterError, warn_caller
from linsep.kernels.base import Kernel, Parts, listed, number
from linsep.kernels.exact import Ratio, weighted_counts
from linsep.kernels.vectors import add_sparse_products, squares
from linsep.words import row_text

#: multiplications in a dense matrix product that take the time of one sparse addition
DENSE_SPEED = 80
#: integers up to which sums in float32 are exact
EXACT32 = 2.0**24


def strings_of(X: Any, kernel: Any) -> list[Any]:
    """Return X as a list of str or of bytes; DataError if it is not one."""
    rows = listed(X).tolist()
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


def counted(rows: list[Any], p: int) -> tuple[sp.csr_array, np.ndarray]:
    """Count the substrings of length p in every string, and return them, sorted."""
    lengths = np.array([len(row) for row in rows])
    many = np.maximum(lengths - p + 1, 0)
    starts = np.concatenate([[0], np.cumsum(many)])
    places = np.arange(starts[-1]) + np.repeat(np.cumsum(lengths) - lengths - starts[:-1], many)
    text = rows[0][:0].join(rows)
    letters = np.array([text]).view(np.uint8 if isinstance(text, bytes) else np.uint32)
    # substrings as integers below ``most``, in their order
    codes, most, base = np.zeros(len(places), np.int64), 1, int(letters.max()) + 1
    for at in range(p if len(places) else 0):
        if most * base > 2**63:
            codes, most = np.unique(codes, return_inverse=True)[1], len(codes)
        codes, most = codes * base + letters[places + at], most * base
    different, columns = np.unique(codes, return_inverse=True)
    some_place = np.empty(len(different), np.int64)
    some_place[columns] = places
    substrings = [text[i : i + p] for i in some_place.tolist()]
    names = np.array(substrings, dtype="S" if isinstance(text, bytes) else "U")
    matrix = sp.csr_array((np.ones(len(columns)), columns, starts), (len(rows), len(names)))
    matrix.sum_duplicates()
    return matrix, names


def count_products(left: Any, right: Any, names: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return sums of products of counts over all substrings, float64, exact below 2^53."""
    same = left is right
    if names is not others:
        if names.dtype.kind != others.dtype.kind:
            raise DataError(
                "One side has str and the other bytes: use the same type on both sides.",
                code="bad-value",
            )
        _, here, there = np.intersect1d(names, others, True, return_indices=True)
        left, right = left[:, here], right[:, there]
    rows = [np.bincount(M.indices, minlength=left.shape[1]) for M in (left, right)]
    # columns for which a dense product is faster
    dense = rows[0] * rows[1] * DENSE_SPEED > left.shape[0] * right.shape[0]
    single = squares(left).max(initial=0) * squares(right).max(initial=0) < EXACT32**2
    kind = np.float32 if single else np.float64
    a = left[:, dense].astype(kind).toarray()
    b = a if same else right[:, dense].astype(kind).toarray()
    out = (a @ b.T).astype(np.float64)
    add_sparse_products(left[:, ~dense], right[:, ~dense], out)
    return out


class OnStrings(Kernel):
    """Base class of kernels that count substrings: prepared rows have counts for each length."""

    takes: ClassVar[str] = "strings"
    _weights: ClassVar[Any]

    def prepare(self, X: Any) -> Any:
        """Return the counts of substrings in the strings for every length, and the substrings."""
        rows = strings_of(X, self)
        found = [counted(rows, q) for q in self._lengths(max(map(len, rows)))]
        return Parts(*(counts for counts, _ in found), shared=[names for _, names in found])

    def _lengths(self, longest: int) -> Iterable[int]:
        raise NotImplementedError

    def _exact(self, X: Any) -> Ratio | None:
        return weighted_counts(self.counts(self.prepare(X)))

    def _gram(self, A: Any, B: Any) -> np.ndarray:
        parts = zip(A.parts, B.parts, A.shared, B.shared, strict=False)
        weighted = zip(self._weights, parts, strict=False)
        return sum(weight * count_products(*part) for weight, part in weighted)

    def _diagonal(self, A: Any) -> np.ndarray:
        weighted = zip(self._weights, A.parts, strict=False)
        return sum(weight * squares(part) for weight, part in weighted)

    def counts(self, A: Any) -> tuple[np.ndarray, Any, np.ndarray]:
        """Return the substrings in prepared strings, their counts, and their weights."""
        weights = [np.full(len(own), w) for own, w in zip(A.shared, self._weights, strict=False)]
        matrix = sp.hstack(A.parts, format="csr")
        return np.concatenate(A.shared), matrix, np.concatenate(weights)


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

    def _lengths(self, longest: int) -> Iterable[int]:
        return [self.p]


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

    def _lengths(self, longest: int) -> Iterable[int]:
        return range(1, max(1, min(self.p, longest)) + 1)

    @property
    def _weights(self) -> Iterable[float]:
        return repeat(1.0) if self.weights is None else self.weights
