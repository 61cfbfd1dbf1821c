"""Kernels divided by the lengths of both rows in the feature space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep.kernels.base import CACHED, Around, Kernel, Parts
from linsep.kernels.vectors import AllSubsets


@dataclass(frozen=True)
class Normalized(Around):
    """K(x, y) / sqrt(K(x, x) K(y, y)), the cosine in the feature space.

    Values of a row with K(x, x) = 0 are 0. Values of AllSubsets are divided as mantissa and
    exponent, so they cannot overflow.
    """

    kernel: Kernel

    def _prepare(self, X: Any) -> Any:
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
