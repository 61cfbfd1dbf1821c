"""Loops over pairs of rows, for kernels that are not matrix products."""

import math

import numpy as np

from linsep.compiled.jit import compiled, generic, inlined
from linsep.compiled.rows import Csr, Whole

U = np.uint64
# A product within these bounds can be multiplied by one factor of at most HUGE.
TINY, HUGE = 2.0**-500, 2.0**500


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


@generic(0)
def product(rows, j, x):
    """Return (m, e) with m 2^e = prod (1 + x_i y_i) for row j of ``rows``, without overflow."""


@inlined
def _times(m, e, factor):
    """Multiply m 2^e by a factor, with m in bounds before and after."""
    if abs(factor) > HUGE:
        factor, more = math.frexp(factor)
        e += more
    m *= factor
    if not TINY < abs(m) < HUGE:
        m, more = math.frexp(m)
        e += more
    return m, e


@inlined
def _four(x, y, i):
    """Return the product of four factors."""
    first = (1.0 + x[i] * y[i]) * (1.0 + x[i + U(1)] * y[i + U(1)])
    return first * ((1.0 + x[i + U(2)] * y[i + U(2)]) * (1.0 + x[i + U(3)] * y[i + U(3)]))


@product.when(Whole)
def _dense_product(rows, j, x):
    # Eight factors are multiplied as a tree, to hide latency, unless the result is extreme.
    m, e = 1.0, 0
    y = rows.values[j]
    i, n = U(0), U(x.size)
    while i < n:
        many = _four(x, y, i) * _four(x, y, i + U(4)) if i + U(8) <= n else 0.0
        if TINY < abs(many) < HUGE:
            m, e = _times(m, e, many)
            i += U(8)
        else:
            for k in range(i, min(i + U(8), n)):
                m, e = _times(m, e, 1.0 + x[k] * y[k])
            i = min(i + U(8), n)
    return m, e


@product.when(Csr)
def _sparse_product(rows, j, x):
    m, e = 1.0, 0
    for at in range(rows.starts[j], rows.starts[j + 1]):
        m, e = _times(m, e, 1.0 + x[rows.columns[at]] * rows.values[at])
    return m, e


@compiled
def all_subsets(block, rows, mantissas, exponents):
    """Write prod (1 + x_i y_i) for every row of an array and every one of ``rows``."""
    for k in range(block.shape[0]):
        x = block[k]
        for j in range(mantissas.shape[1]):
            m, e = product(rows, j, x)
            m, more = math.frexp(m)
            mantissas[k, j] = m
            exponents[k, j] = e + more
