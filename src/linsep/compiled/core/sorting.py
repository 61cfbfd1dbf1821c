"""Sorting the columns of a row, which are whole numbers below a known one."""

import numpy as np

from linsep.compiled.core.jit import exact

U = np.uint64
#: keys for which an insertion sort is faster
FEW = 24
#: bits of a digit of a radix sort, of up to MANY keys and of more
DIGIT, MANY, LARGE_DIGIT = 6, 700, 9


@exact
def room_for_heads():
    """Return room for where the keys of each digit begin."""
    return np.empty(1 << LARGE_DIGIT, np.int64)


@exact
def sort_keys(keys, spare, heads, n, shift, n_columns):
    """Return one of two arrays, in which ``keys[:n]`` are sorted by their columns, the bits from
    ``shift`` on; what is below keeps its order, or is sorted, too.

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
