"""Sums and products of two floats with their rounding errors."""

from functools import partial

from linsep.compiled.jit import inlined

# Rounding errors are found by differences that a compiler which may fuse would change.
_as_written = partial(inlined, fastmath=False)
#: splits a float into two of 26 bits (Dekker 1971)
SPLIT = float(2**27 + 1)


@_as_written
def two_sum(a, b):
    """Return the rounded sum and its rounding error (Knuth)."""
    whole = a + b
    part = whole - a
    return whole, (a - (whole - part)) + (b - part)


@_as_written
def two_product(a, b):
    """Return the rounded product and its rounding error (Dekker)."""
    whole = a * b
    up = SPLIT * a
    a_hi = up - (up - a)
    a_lo = a - a_hi
    up = SPLIT * b
    b_hi = up - (up - b)
    b_lo = b - b_hi
    return whole, ((a_hi * b_hi - whole) + a_hi * b_lo + a_lo * b_hi) + a_lo * b_lo
