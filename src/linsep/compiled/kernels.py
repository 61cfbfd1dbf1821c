"""Loops over pairs of rows, for kernels that are not matrix products."""

import numpy as np

from linsep.compiled.jit import compiled

U = np.uint64


@compiled
def powers(values, gamma, coef0, degree, step, out):
    """Write (gamma v + coef0)^degree of all values to ``out``, which may be the same array.

    By repeated squaring, ``step`` values at a time, so that they stay in the cache.
    """
    base = np.empty(step)
    for start in range(0, values.size, step):
        n = min(step, values.size - start)
        for i in range(n):
            base[i] = gamma * values[start + i] + coef0
            out[start + i] = base[i] if degree & 1 else 1.0
        left = degree >> 1
        while left:
            for i in range(n):
                base[i] *= base[i]
            if left & 1:
                for i in range(n):
                    out[start + i] *= base[i]
            left >>= 1


@compiled
def multiply_sparse(A, B, start, stop, out):
    """Add the product of two :class:`Csr` matrices to the rows ``start:stop`` of ``out``."""
    for i in range(start, stop):
        for at in range(U(A.starts[i]), U(A.starts[i + 1])):
            j, x = U(A.columns[at]), np.float64(A.values[at])
            for place in range(U(B.starts[j]), U(B.starts[j + U(1)])):
                out[i, U(B.columns[place])] += x * B.values[place]
