"""Sums of products in pairs of floats, which hold about 106 bits."""

from functools import partial

import numpy as np

from linsep.compiled.core.jit import exact, inlined

whole = partial(inlined, fastmath=False)
#: splits a float into two of 26 bits (Dekker 1971)
SPLIT = float(2**27 + 1)


@whole
def _two_sum(a, b):
    """Return the rounded sum and its rounding error (Knuth)."""
    whole = a + b
    part = whole - a
    return whole, (a - (whole - part)) + (b - part)


@whole
def _two_product(a, b):
    """Return the rounded product and its rounding error (Dekker)."""
    whole = a * b
    up = SPLIT * a
    a_hi = up - (up - a)
    a_lo = a - a_hi
    up = SPLIT * b
    b_hi = up - (up - b)
    b_lo = b - b_hi
    return whole, ((a_hi * b_hi - whole) + a_hi * b_lo + a_lo * b_hi) + a_lo * b_lo


@exact
def pair_sums(D, hi, lo, out):
    """Write the sum over j of D[i, j] (hi[k, j] + lo[k, j]), rounded once, to out[i, k].

    ``hi`` and ``lo`` have one more column than D, for a constant 1.
    """
    d = D.shape[1]
    for k in range(out.shape[1]):
        used = np.flatnonzero(hi[k, :d])
        for i in range(out.shape[0]):
            total, rest = hi[k, d], lo[k, d]
            for j in used:
                product, error = _two_product(D[i, j], hi[k, j])
                total, lost = _two_sum(total, product)
                rest += lost + (error + D[i, j] * lo[k, j])
            out[i, k] = total + rest
