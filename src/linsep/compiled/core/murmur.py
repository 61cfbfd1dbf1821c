"""MurmurHash3, by which words become columns."""

import numpy as np

from linsep.compiled.core.jit import inlined

U = np.uint64
ONE, FOUR, FIVE, ADDED, M32 = U(1), U(4), U(5), U(0xE6546B64), U(0xFFFFFFFF)
C1, C2, C3, C4 = U(0xCC9E2D51), U(0x1B873593), U(0x85EBCA6B), U(0xC2B2AE35)
B3, B8, B13, B15, B16, B17, B19, B24 = U(3), U(8), U(13), U(15), U(16), U(17), U(19), U(24)


@inlined
def four(data, at):
    """Return four bytes as a number, the first lowest (LLVM makes it one load)."""
    return (
        U(data[at])
        | (U(data[at + U(1)]) << B8)
        | (U(data[at + U(2)]) << B16)
        | (U(data[at + U(3)]) << B24)
    )


@inlined
def murmur(data, begin, end, seed):
    """Return the 32-bit MurmurHash3 (Appleby, 2011) of ``data[begin:end]``.

    The places are unsigned, whose use needs no test for negative ones. Up to four bytes behind the
    end are read, and ignored.
    """
    h, at = seed, begin
    while at + FOUR <= end:
        k = (four(data, at) * C1) & M32
        k = (((k << B15) | (k >> B17)) & M32) * C2 & M32
        h ^= k
        h = ((((h << B13) | (h >> B19)) & M32) * FIVE + ADDED) & M32
        at += FOUR
    k = four(data, at) & ((ONE << ((end - at) << B3)) - ONE)
    k = (k * C1) & M32
    h ^= (((k << B15) | (k >> B17)) & M32) * C2 & M32
    h ^= end - begin
    h = ((h ^ (h >> B16)) * C3) & M32
    h = ((h ^ (h >> B13)) * C4) & M32
    return h ^ (h >> B16)
