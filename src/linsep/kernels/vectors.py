"""Kernels on rows of numbers, dense or CSR."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import row_norms

from linsep._system.threads import split_rows
from linsep.compiled.kernels import multiply_sparse, powers
from linsep.compiled.rows import csr_rows
from linsep.errors import DataError, ParameterError
from linsep.kernels import exact
from linsep.kernels.base import (
    CACHED,
    Combined,
    Kernel,
    Parts,
    number,
    rows_of,
    same_width,
    vectors,
)


def products(A: Any, B: Any) -> np.ndarray:
    """Return <a, b> of every pair of rows as a dense array, in the precision of the rows."""
    same_width(A, B)
    if sp.issparse(A) and sp.issparse(B):
        out = np.zeros((A.shape[0], B.shape[0]))
        add_sparse_products(A, B, out)
        return out
    return np.ascontiguousarray((B @ A.T).T) if sp.issparse(B) else A @ B.T


def add_sparse_products(A: Any, B: Any, out: np.ndarray) -> None:
    """Add <a, b> of every pair of CSR rows to a float64 array."""
    turned = B.T.tocsr()
    cost = float(np.bincount(A.indices, minlength=A.shape[1]) @ np.diff(turned.indptr))
    left, right = (csr_rows(M.data, M.indices, M.indptr) for M in (A, turned))
    split_rows(lambda i, j: multiply_sparse(left, right, i, j, out), len(out), cost)


def squares(X: Any) -> np.ndarray:
    """Return ||x||^2 of every row, float64."""
    if not sp.issparse(X):  # without a copy of floats of single precision
        return np.einsum("ij,ij->i", X, X, dtype=np.float64)
    found: np.ndarray = row_norms(X.astype(np.float64), squared=True)
    return found


class OnVectors(Kernel):
    """Base class of kernels whose rows need no more than a check."""

    def prepare(self, X: Any) -> Any:
        """Return checked rows."""
        return vectors(X, self)


@dataclass(frozen=True)
class Linear(OnVectors):
    """<x, y>.

    Rows of float32 are multiplied in float32: twice as fast, to about seven digits.
    """

    def _exact(self, X: Any) -> exact.Ratio | None:
        return exact.products(X)

    def _gram(self, A: Any, B: Any) -> np.ndarray:
        return products(A, B).astype(np.float64, copy=False)

    def _diagonal(self, A: Any) -> np.ndarray:
        return squares(A)


class WithGamma(Kernel):
    """A kernel with a ``gamma``: a number, or "scale" or "auto", computed by :meth:`fitted`."""

    gamma: float | str

    def __post_init__(self) -> None:
        if self.gamma not in ("scale", "auto"):
            number(self, "gamma")

    def fitted(self, X: Any) -> Kernel:
        """Return the kernel with gamma as a number."""
        if not isinstance(self.gamma, str):
            return self
        X = vectors(X, self)
        gamma = 1 / X.shape[1] if self.gamma == "auto" else _scale(X)
        return replace(self, gamma=gamma)  # type: ignore[call-arg]

    @property
    def factor(self) -> float:
        """Gamma as a number."""
        if isinstance(self.gamma, str):
            raise ParameterError(
                f"gamma={self.gamma!r} needs training rows: use the kernel that fitted(X) returns.",
                code="needs-option", option="gamma", value=self.gamma,
            )  # fmt: skip
        return float(self.gamma)


def _scale(X: Any) -> float:
    """Return 1 / (features * variance of all values), as in scikit-learn's SVC."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if sp.issparse(X):
            size = np.prod(X.shape, dtype=float)
            mean = X.sum(dtype=np.float64) / size
            variance = (np.square(X.data - mean).sum() + (size - X.nnz) * mean**2) / size
        else:
            variance = X.var(dtype=np.float64)
        gamma = float(1 / (X.shape[1] * variance)) if variance > 0 else 1.0
    if not (gamma > 0 and np.isfinite(gamma)):
        raise DataError(
            "The variance of X, from which gamma='scale' is computed, overflows float64: scale "
            "the features, or set gamma to a number.", code="overflow", option="gamma",
        )  # fmt: skip
    return gamma


@dataclass(frozen=True)
class Polynomial(WithGamma, OnVectors):
    """(gamma <x, y> + coef0)^degree: all products of up to ``degree`` features.

    Parameters
    ----------
    degree : whole number of at least 1, default 3
    gamma : number above 0, default 1; "scale" is 1 / (features * variance of X) and "auto"
        1 / features, as in scikit-learn
    coef0 : number of at least 0, default 1
        With 0, only products of exactly ``degree`` features. Negative values do not define a
        kernel.

    Notes
    -----
    Rows of float32 are multiplied in float32: twice as fast, to about seven digits.
    """

    degree: int = 3
    gamma: float | str = 1.0
    coef0: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        number(self, "degree", whole=True)
        if self.coef0 != 0:
            number(self, "coef0")

    def _exact(self, X: Any) -> exact.Ratio | None:
        inner, n = exact.products(X), rows_of(X)
        scaled = inner.times(exact.constant(n, self.factor))
        return scaled.plus(exact.constant(n, self.coef0)).power(int(self.degree))

    def _gram(self, A: Any, B: Any) -> np.ndarray:
        inner = products(A, B)
        return self._powers(inner, inner if inner.dtype == np.float64 else np.empty(inner.shape))

    def _diagonal(self, A: Any) -> np.ndarray:
        inner = squares(A)
        return self._powers(inner, inner)

    def _powers(self, inner: np.ndarray, out: np.ndarray) -> np.ndarray:
        """Return the powers of all products; ``out`` may be ``inner``."""
        read, write = np.ravel(inner), out.reshape(-1)
        how = (self.factor, float(self.coef0), int(self.degree), CACHED)

        split_rows(lambda i, j: powers(read[i:j], *how, write[i:j]), read.size, float(read.size))
        return out


@dataclass(frozen=True)
class RBF(WithGamma):
    """exp(-gamma ||x - y||^2), the radial basis function kernel.

    Parameters
    ----------
    gamma : number above 0, "scale" (default: 1 / (features * variance of X)) or "auto"
        (1 / features), as in scikit-learn
    """

    gamma: float | str = "scale"

    def prepare(self, X: Any) -> Any:
        """Return checked rows with their squared lengths."""
        X = vectors(X, self, np.float64)
        return Parts(X, squares(X))

    def _gram(self, A: Any, B: Any) -> np.ndarray:
        K, left, right = products(A.parts[0], B.parts[0]), A.parts[1], B.parts[1]

        def work(start: int, stop: int) -> None:
            with np.errstate(over="ignore", invalid="ignore"):  # of this thread
                for row, length in zip(K[start:stop], left[start:stop], strict=True):
                    np.maximum(row * -2.0 + length + right, 0.0, out=row)  # despite rounding
                    np.exp(row * -self.factor, out=row)

        split_rows(work, len(K), 3.0 * K.size)
        if A is B:
            np.fill_diagonal(K, 1)
        return K

    def _diagonal(self, A: Any) -> np.ndarray:
        return np.ones(len(A))


@dataclass(frozen=True)
class AllSubsets(OnVectors):
    """prod (1 + x_i y_i): the products of all subsets of the features, including the empty one.

    Values overflow for a few hundred features.

    References
    ----------
    J. Shawe-Taylor and N. Cristianini, Kernel Methods for Pattern Analysis (2004), section 9.2.
    """

    def prepare(self, X: Any) -> Any:
        """Return checked rows."""
        return vectors(X, self, np.float64)

    def _exact(self, X: Any) -> exact.Ratio | None:
        return exact.subsets(X)

    def _gram(self, A: Any, B: Any) -> np.ndarray:
        same_width(A, B)
        K = np.ones((rows_of(A), rows_of(B)))
        if not (sp.issparse(A) or sp.issparse(B)):
            for x, y in zip(A.T, B.T, strict=True):
                K *= 1.0 + np.outer(x, y)
            return K
        left, right = sp.csc_array(A), sp.csc_array(B)
        for j in np.flatnonzero(np.diff(left.indptr) * np.diff(right.indptr)):
            some, others = (slice(*M.indptr[j : j + 2]) for M in (left, right))
            factors = 1.0 + np.outer(left.data[some], right.data[others])
            K[np.ix_(left.indices[some], right.indices[others])] *= factors
        return K

    def _diagonal(self, A: Any) -> np.ndarray:
        if not sp.issparse(A):
            return np.prod(1.0 + A**2, axis=1)
        factors = 1.0 + A.data**2
        return np.array([np.prod(factors[i:j]) for i, j in pairwise(A.indptr.tolist())])


@dataclass(frozen=True)
class Normalized(Combined):
    """K(x, y) / sqrt(K(x, x) K(y, y)), the cosine in the feature space.

    Values of a row with K(x, x) = 0 are 0.
    """

    kernel: Kernel

    def prepare(self, X: Any) -> Any:
        """Return the rows of the inner kernel with the inverses of their lengths in its space."""
        rows = self.kernel.prepare(X)
        lengths = np.sqrt(np.maximum(self.kernel.diagonal(rows), 0))
        inverse = np.divide(1, lengths, out=np.zeros(len(lengths)), where=lengths > 0)
        return Parts(rows, inverse)

    def _gram(self, A: Any, B: Any) -> np.ndarray:
        K, left, right = self.kernel.gram(A.parts[0], B.parts[0]), A.parts[1], B.parts[1]
        step = max(1, CACHED // max(1, len(right)))
        for start in range(0, len(K), step):  # a symmetric K stays exactly symmetric
            K[start : start + step] *= left[start : start + step, None] * right
        return K

    def _diagonal(self, A: Any) -> np.ndarray:
        return (A.parts[1] > 0).astype(np.float64)

    def counts(self, A: Any) -> tuple[np.ndarray, Any, np.ndarray] | None:
        """Return the substrings of the inner kernel, with counts divided by sqrt(K(x, x))."""
        found = self.kernel.counts(A.parts[0])
        if found is None:
            return None
        names, counts, weights = found
        return names, (sp.diags_array(A.parts[1]) @ counts).tocsr(), weights
