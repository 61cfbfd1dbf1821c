"""Words as columns: MurmurHash3, and sorting the columns of a row, which are bounded integers."""

import numpy as np

from linsep.compiled.jit import inlined, part

U = np.uint64
ZERO, ONE, THREE, FOUR, FIVE, EIGHT, TWELVE = U(0), U(1), U(3), U(4), U(5), U(8), U(12)
ADDED, M32 = U(0xE6546B64), U(0xFFFFFFFF)
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
def joined(h, k):
    """Return ``h`` combined with four bytes."""
    k = (k * C1) & M32
    return h ^ ((((k << B15) | (k >> B17)) & M32) * C2 & M32)


@inlined
def with_block(h, k):
    """Return the hash with four bytes more, which are not the last."""
    h = joined(h, k)
    return ((((h << B13) | (h >> B19)) & M32) * FIVE + ADDED) & M32


@inlined
def with_end(h, data, at, begin, end):
    """Return the hash with the last bytes, fewer than four, from ``at`` on."""
    h = joined(h, four(data, at) & ((ONE << ((end - at) << B3)) - ONE)) ^ (end - begin)
    h = ((h ^ (h >> B16)) * C3) & M32
    h = ((h ^ (h >> B13)) * C4) & M32
    return h ^ (h >> B16)


@inlined
def murmur(data, begin, end, seed):
    """Return the 32-bit MurmurHash3 (Appleby, 2011) of ``data[begin:end]``.

    Positions are unsigned, so negative ones need no test. Up to four bytes behind the end are read
    and ignored.
    """
    h, at = seed, begin
    while at + FOUR <= end:
        h = with_block(h, four(data, at))
        at += FOUR
    return with_end(h, data, at, begin, end)


@inlined
def murmur_of_word(data, begin, end):
    """Return the same as :func:`murmur` with seed 0, without an unpredictable branch on the length
    of words shorter than twelve bytes. Up to eight bytes behind the end are read.
    """
    size = end - begin
    if size >= TWELVE:
        return murmur(data, begin, end, ZERO)
    one = with_block(ZERO, four(data, begin))
    h = one if size >= FOUR else ZERO
    two = with_block(h, four(data, begin + FOUR))
    h = two if size >= EIGHT else h
    return with_end(h, data, begin + (size & ~THREE), begin, end)


#: keys for which an insertion sort is faster
FEW = 24
#: bits of a digit of a radix sort, of up to MANY keys and of more
DIGIT, MANY, LARGE_DIGIT = 6, 700, 9


@part
def room_for_heads():
    """Return a buffer for the start of the keys of each digit."""
    return np.empty(1 << LARGE_DIGIT, np.int64)


@part
def sort_keys(keys, spare, heads, n, shift, n_columns):
    """Return one of two arrays, in which ``keys[:n]`` are sorted by their columns, the bits from
    ``shift`` on. The lower bits keep their order or are sorted, too.

    A radix sort, least digit first, or for a few keys an insertion sort.
    """
    if n <= FEW:
        for k in range(1, n):
            key, at = keys[k], k
            while at and keys[at - 1] > key:
                keys[at] = keys[at - 1]
                at -= 1
            keys[at] = key
        return keys
    bits = DIGIT if n <= MANY else LARGE_DIGIT
    low, left = U((1 << bits) - 1), n_columns - 1
    while left:
        for digit in range(low + U(1)):
            heads[digit] = 0
        for k in range(n):
            heads[(U(keys[k]) >> U(shift)) & low] += 1
        total = 0
        for digit in range(low + U(1)):
            heads[digit], total = total, total + heads[digit]
        for k in range(n):
            at_head = (U(keys[k]) >> U(shift)) & low
            spare[U(heads[at_head])] = keys[k]
            heads[at_head] += 1
        keys, spare = spare, keys
        shift, left = shift + bits, left >> bits
    return keys
