"""Kernels on rows of numbers, dense or CSR."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import row_norms

from linsep._system.threads import split_rows
from linsep.compiled.kernels import all_subsets, multiply_sparse, powers
from linsep.compiled.rows import Whole, csr_rows, read_only
from linsep.errors import DataError, ParameterError
from linsep.kernels.base import (
    CACHED,
    Combined,
    Kernel,
    Parts,
    dense_blocks,
    number,
    refuse_text,
    rows_of,
    same_width,
    vectors,
)

if TYPE_CHECKING:
    from linsep.kernels.exact import Ratio


def products(A: Any, B: Any) -> np.ndarray:
    """Return <a, b> of every pair of rows as a dense array, in the precision of the rows."""
    same_width(A, B)
    if sp.issparse(A) and sp.issparse(B):
        out = np.zeros((A.shape[0], B.shape[0]))
        add_sparse_products(A, B, out)
        return out
    if sp.issparse(B):
        return np.ascontiguousarray((B @ A.T).T)
    with np.errstate(over="ignore", invalid="ignore"):  # one error names the kernel
        return A @ B.T


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


@dataclass(frozen=True)
class Linear(Kernel):
    """<x, y>.

    Rows of float32 are multiplied in float32: twice as fast, to about seven digits.
    """

    def prepare(self, X: Any) -> Any:
        """Return checked rows."""
        return vectors(X, self)

    def _exact(self, X: Any) -> Ratio | None:
        from linsep.kernels import exact

        refuse_text(X, self)
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
            absent = (size - X.nnz) * mean**2
            variance = (np.square(X.data - mean).sum() + absent) / size
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
class Polynomial(WithGamma):
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

    def prepare(self, X: Any) -> Any:
        """Return checked rows."""
        return vectors(X, self)

    def _exact(self, X: Any) -> Ratio | None:
        from linsep.kernels import exact

        refuse_text(X, self)
        inner, n = exact.products(X), rows_of(X)
        scaled = inner and inner.times(exact.constant(n, self.factor))
        return scaled and scaled.plus(exact.constant(n, self.coef0)).power(int(self.degree))

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

        def work(start: int, stop: int) -> None:
            with np.errstate(over="ignore", invalid="ignore"):  # the error names the kernel
                powers(read[start:stop], *how, write[start:stop])

        split_rows(work, read.size, float(read.size))
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
            with np.errstate(over="ignore", invalid="ignore"):  # the error names the kernel
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
class AllSubsets(Kernel):
    """prod (1 + x_i y_i): the products of all subsets of the features, including the empty one.

    Values overflow for a few hundred features. :meth:`scaled_gram` returns them as mantissa and
    exponent, so ``Normalized(AllSubsets())`` is accurate for any number of features.

    References
    ----------
    J. Shawe-Taylor and N. Cristianini, Kernel Methods for Pattern Analysis (2004), section 9.2.
    """

    def prepare(self, X: Any) -> Any:
        """Return checked rows."""
        return vectors(X, self)

    def _exact(self, X: Any) -> Ratio | None:
        from linsep.kernels import exact

        refuse_text(X, self)
        return exact.subsets(X)

    def scaled_gram(self, A: Any, B: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return every value m 2^e as (m, e), float64 arrays of shape (rows of A, rows of B).

        ``|m|`` is 0 or between 1/2 and 1.
        """
        same_width(A, B)
        mantissas = np.empty((rows_of(A), rows_of(B)))
        exponents, rows = np.empty(mantissas.shape), _compiled(B)
        cost = float(B.nnz if sp.issparse(B) else B.size)

        def work(start: int, stop: int) -> None:
            all_subsets(block[start:stop], rows, some[start:stop], others[start:stop])

        for places, block in dense_blocks(A):
            some, others = mantissas[places], exponents[places]
            split_rows(work, len(block), len(block) * cost)
        return mantissas, exponents

    def scaled_diagonal(self, A: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return K(a, a) of every row as (m, e), two arrays of shape (rows,)."""
        mantissas, exponents = np.empty(rows_of(A)), np.empty(rows_of(A))
        for places, block in dense_blocks(A):
            for i, row in enumerate(block, places.start):
                one = row[None], Whole(row[None]), mantissas[i : i + 1, None]
                all_subsets(*one, exponents[i : i + 1, None])
        return mantissas, exponents

    def _gram(self, A: Any, B: Any) -> np.ndarray:
        return _value(*self.scaled_gram(A, B))

    def _diagonal(self, A: Any) -> np.ndarray:
        return _value(*self.scaled_diagonal(A))


def _value(mantissas: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):  # the error names the kernel
        return np.ldexp(mantissas, np.clip(exponents, -5000, 5000).astype(np.int32))


def _compiled(X: Any) -> Any:
    """Return prepared rows for compiled loops."""
    return csr_rows(X.data, X.indices, X.indptr) if sp.issparse(X) else Whole(read_only(X))


@dataclass(frozen=True)
class Normalized(Combined):
    """K(x, y) / sqrt(K(x, x) K(y, y)), the cosine in the feature space.

    Values of a row with K(x, x) = 0 are 0. Values of AllSubsets are divided as mantissa and
    exponent, so they cannot overflow.
    """

    kernel: Kernel
    made_of: ClassVar[tuple[str, ...]] = ("kernel",)

    def prepare(self, X: Any) -> Any:
        """Return the rows of the inner kernel with their lengths in its space."""
        rows = self.kernel.prepare(X)
        if isinstance(self.kernel, AllSubsets):
            mantissas, exponents = self.kernel.scaled_diagonal(rows)
            odd = exponents % 2
            return Parts(rows, np.sqrt(mantissas * (1 + odd)), (exponents - odd) / 2)
        return Parts(rows, np.sqrt(np.maximum(self.kernel.diagonal(rows), 0)))

    def _gram(self, A: Any, B: Any) -> np.ndarray:
        if isinstance(self.kernel, AllSubsets):
            return _divided(self.kernel, A.parts, B.parts)
        K = self.kernel.gram(A.parts[0], B.parts[0])
        return _times(K, _inverse(A.parts[1]), _inverse(B.parts[1]))

    def _diagonal(self, A: Any) -> np.ndarray:
        return (A.parts[1] > 0).astype(np.float64)

    def counts(self, A: Any) -> tuple[np.ndarray, Any, np.ndarray] | None:
        """Return the substrings of the inner kernel, with counts divided by sqrt(K(x, x))."""
        found = self.kernel.counts(A.parts[0])
        if found is None:
            return None
        names, counts, weights = found
        return names, (sp.diags_array(_inverse(A.parts[1])) @ counts).tocsr(), weights


def _divided(kernel: AllSubsets, A: tuple, B: tuple) -> np.ndarray:
    """Return quotients of numbers given by mantissas and exponents."""
    mantissas, exponents = kernel.scaled_gram(A[0], B[0])
    _times(mantissas, _inverse(A[1]), _inverse(B[1]))
    exponents -= A[2][:, None] + B[2]
    # Quotients are at most 1, and 0 below 2^-2000.
    return np.ldexp(mantissas, np.maximum(exponents, -2000).astype(np.int32))


def _times(K: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Compute K_ij left_i right_j in place, in blocks; a symmetric K stays exactly symmetric."""
    step = max(1, CACHED // max(1, len(right)))
    for start in range(0, len(K), step):
        K[start : start + step] *= left[start : start + step, None] * right
    return K


def _inverse(lengths: np.ndarray) -> np.ndarray:
    """Return 1 / length, or 0 for length 0."""
    return np.divide(1, lengths, out=np.zeros(len(lengths)), where=lengths > 0)
