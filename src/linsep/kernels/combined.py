"""Combined kernels: sums, products, multiples, normalised kernels, and a constant."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep.errors import ParameterError
from linsep.kernels.base import HUGE, BeyondFloats, Kernel, number
from linsep.kernels.exact import Ratio, constant
from linsep.kernels.rows import CACHED, Parts, rows_of


@dataclass(frozen=True)
class Constant(Kernel):
    """The same value for every pair of rows of any type: an additional constant feature.

    ``kernel + 1`` gives the kernel perceptron an intercept.
    """

    value: float = 1.0
    takes = "anything"

    def __post_init__(self) -> None:
        number(self, "value")

    def _prepare(self, X: Any) -> Any:
        return np.empty((rows_of(X), 0))

    def _exact(self, X: Any) -> Ratio | None:
        return constant(rows_of(X), self.value)

    def _gram(self, A: Any, B: Any) -> np.ndarray:
        return np.full((rows_of(A), rows_of(B)), float(self.value))

    def _diagonal(self, A: Any) -> np.ndarray:
        return np.full(rows_of(A), float(self.value))


#: most levels of nested kernels, each of which needs a few nested calls
MOST_NESTED = 100


class Pair(Kernel):
    """Two kernels on the same rows."""

    left: Kernel
    right: Kernel

    def __post_init__(self) -> None:
        _nest(self, self.left, self.right)
        kinds = {self.left.takes, self.right.takes} - {"anything"}
        if len(kinds) > 1:
            raise ParameterError(
                f"{self.left!r} takes {self.left.takes} and {self.right!r} takes "
                f"{self.right.takes}: combine kernels on the same kind of rows."
            )

    @property
    def takes(self) -> str:  # type: ignore[override]
        """The type of rows that both kernels take."""
        left = self.left.takes  # read once, because kernels may be nested deeply
        return self.right.takes if left == "anything" else left

    @property
    def sparse(self) -> bool:  # type: ignore[override]
        """Whether both kernels take sparse rows."""
        return self.left.sparse and self.right.sparse

    @property
    def positive_only(self) -> bool:  # type: ignore[override]
        """Whether one of the kernels requires values of at least 0."""
        return self.left.positive_only or self.right.positive_only

    @property
    def rows_at_once(self) -> int:  # type: ignore[override]
        """The smaller of both: a function should compute no value that is not needed."""
        return min(self.left.rows_at_once, self.right.rows_at_once)

    def _fitted(self, X: Any) -> Kernel:
        return replace(self, left=self.left.fitted(X), right=self.right.fitted(X))  # type: ignore[call-arg]

    def _prepare(self, X: Any) -> Any:
        if self.left == self.right:
            return Parts(*[self.left.prepare(X)] * 2)
        return Parts(self.left.prepare(X), self.right.prepare(X))

    def _both_exact(self, X: Any) -> tuple[Ratio, Ratio] | None:
        left = self.left._exact(X)
        right = left if self.left == self.right else left and self.right._exact(X)
        return None if left is None or right is None else (left, right)

    def _both(self, A: Any, B: Any) -> tuple[np.ndarray, np.ndarray]:
        left, right = zip(A.parts, B.parts, strict=True)
        return self.left.gram(*left), self.right.gram(*right)


@dataclass(frozen=True)
class Sum(Pair):
    """K1(x, y) + K2(x, y): the features of both, side by side."""

    left: Kernel
    right: Kernel

    def _exact(self, X: Any) -> Ratio | None:
        both = self._both_exact(X)
        return both and both[0].plus(both[1])

    def _gram(self, A: Any, B: Any) -> np.ndarray:
        K, other = self._both(A, B)
        return np.add(K, other, out=K)

    def _diagonal(self, A: Any) -> np.ndarray:
        return self.left.diagonal(A.parts[0]) + self.right.diagonal(A.parts[1])


@dataclass(frozen=True)
class Product(Pair):
    """K1(x, y) K2(x, y): the products of every feature of one with every feature of the other."""

    left: Kernel
    right: Kernel

    def _exact(self, X: Any) -> Ratio | None:
        both = self._both_exact(X)
        return both and both[0].times(both[1])

    def _gram(self, A: Any, B: Any) -> np.ndarray:
        K, other = self._both(A, B)
        with np.errstate(over="ignore"):  # the error names the kernel
            return np.multiply(K, other, out=K)

    def _diagonal(self, A: Any) -> np.ndarray:
        with np.errstate(over="ignore"):
            return self.left.diagonal(A.parts[0]) * self.right.diagonal(A.parts[1])


class Around(Kernel):
    """A kernel that transforms the values of another one."""

    kernel: Kernel

    def __post_init__(self) -> None:
        _nest(self, self.kernel)

    @property
    def takes(self) -> str:  # type: ignore[override]
        """The type of rows that the inner kernel takes."""
        return self.kernel.takes

    @property
    def sparse(self) -> bool:  # type: ignore[override]
        """Whether the inner kernel takes sparse rows."""
        return self.kernel.sparse

    @property
    def positive_only(self) -> bool:  # type: ignore[override]
        """Whether the inner kernel requires values of at least 0."""
        return self.kernel.positive_only

    @property
    def rows_at_once(self) -> int:  # type: ignore[override]
        """That of the inner kernel."""
        return self.kernel.rows_at_once

    def _fitted(self, X: Any) -> Kernel:
        return replace(self, kernel=self.kernel.fitted(X))  # type: ignore[call-arg]


@dataclass(frozen=True)
class Scaled(Around):
    """``factor`` K(x, y), with a factor above 0."""

    kernel: Kernel
    factor: float

    def __post_init__(self) -> None:
        super().__post_init__()
        number(self, "factor")

    def _prepare(self, X: Any) -> Any:
        return self.kernel.prepare(X)

    def _exact(self, X: Any) -> Ratio | None:
        inner = self.kernel._exact(X)
        return inner and inner.times(constant(len(inner.above), self.factor))

    def _gram(self, A: Any, B: Any) -> np.ndarray:
        K = self.kernel.gram(A, B)
        with np.errstate(over="ignore"):  # the error names the kernel
            return np.multiply(K, self.factor, out=K)

    def _diagonal(self, A: Any) -> np.ndarray:
        with np.errstate(over="ignore"):
            return self.kernel.diagonal(A) * self.factor

    def _advice(self) -> str:
        return "choose a smaller factor" if self.factor > HUGE else self.advice


@dataclass(frozen=True)
class Normalized(Around):
    """K(x, y) / sqrt(K(x, x) K(y, y)), the cosine in the feature space.

    Values of a row with K(x, x) = 0 are 0. Values of AllSubsets and Subsequence are divided as
    mantissa and exponent, so that they cannot overflow.
    """

    kernel: Kernel

    def _prepare(self, X: Any) -> Any:
        rows = self.kernel.prepare(X)
        if isinstance(self.kernel, BeyondFloats):
            mantissas, exponents = self.kernel.scaled_diagonal(rows)
            odd = exponents % 2
            return Parts(rows, np.sqrt(mantissas * (1 + odd)), (exponents - odd) / 2)
        return Parts(rows, np.sqrt(np.maximum(self.kernel.diagonal(rows), 0)))

    def _gram(self, A: Any, B: Any) -> np.ndarray:
        if isinstance(self.kernel, BeyondFloats):
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


def _divided(kernel: BeyondFloats, A: tuple, B: tuple) -> np.ndarray:
    """Return quotients of numbers given by mantissas and exponents."""
    mantissas, exponents = kernel.scaled_gram(A[0], B[0])
    _times(mantissas, _inverse(A[1]), _inverse(B[1]))
    exponents -= A[2][:, None] + B[2]
    # Quotients are at most 1, and 0 below 2^-2000.
    return np.ldexp(mantissas, np.maximum(exponents, -2000).astype(np.int32))


def _times(K: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Compute K_ij left_i right_j in place, in blocks; a symmetric K stays so to the bit."""
    step = max(1, CACHED // max(1, len(right)))
    for start in range(0, len(K), step):
        K[start : start + step] *= left[start : start + step, None] * right
    return K


def _inverse(lengths: np.ndarray) -> np.ndarray:
    """Return 1 / length, or 0 for length 0."""
    return np.divide(1, lengths, out=np.zeros(len(lengths)), where=lengths > 0)


def _nest(owner: Kernel, *inner: Any) -> None:
    """Set the nesting depth of a kernel; raise ParameterError if it is too large."""
    for value in inner:
        if not isinstance(value, Kernel):
            raise ParameterError(
                f"{type(owner).__name__} takes kernels of linsep.kernels, not {value!r}: wrap a "
                "function as Callable(function)."
            )
    depth = 1 + max(getattr(one, "_depth", 0) for one in inner)
    if depth > MOST_NESTED:
        raise ParameterError(
            f"More than {MOST_NESTED} kernels are nested: add or multiply them in "
            "pairs, and the pairs in pairs."
        )
    object.__setattr__(owner, "_depth", depth)  # the dataclass is frozen
