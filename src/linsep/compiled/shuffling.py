"""Random orders of many passes at once, identical to the orders of numpy's generators."""

import numpy as np

from linsep.compiled.jit import exact, inlined

U = np.uint64
M32, B16, B32, ONE = U(0xFFFFFFFF), U(16), U(32), U(1)
# numpy's SeedSequence: first values, and factors, of the constants that words are hashed with
FIRST_IN, FACTOR_IN = U(0x43B0D7E5), U(0x931E8875)
FIRST_OUT, FACTOR_OUT = U(0x8B51F9DD), U(0x58F38DED)
LEFT, RIGHT = U(0xCA01F9DD), U(0x4973F715)
POOL, WORDS = 4, 8
# PCG64's factor: its high and its low half
HIGH, LOW = U(0x2360ED051FC65DA4), U(0x4385DF649FCCF645)


@inlined
def _hashed(word, constant, factor):
    """Return a hashed word, and the next constant."""
    following = (constant * factor) & M32
    word = ((word ^ constant) * following) & M32
    return word ^ (word >> B16), following


@inlined
def _seed(seed, number, pool, words):
    """Write the words that numpy's SeedSequence makes of two numbers below 2**32."""
    constant = FIRST_IN
    for k in range(POOL):
        given = U(seed) if k == 0 else U(number) if k == 1 else U(0)
        pool[k], constant = _hashed(given, constant, FACTOR_IN)
    for source in range(POOL):
        for to in range(POOL):
            if source != to:
                word, constant = _hashed(pool[source], constant, FACTOR_IN)
                mixed = (LEFT * pool[to] - RIGHT * word) & M32
                pool[to] = mixed ^ (mixed >> B16)
    constant = FIRST_OUT
    for k in range(WORDS):
        words[k], constant = _hashed(pool[k % POOL], constant, FACTOR_OUT)


@inlined
def _times_and_plus(high, low, more_high, more_low):
    """Return a number of 128 bits times PCG64's factor, plus another, in halves."""
    a, b, c, d = low >> B32, low & M32, LOW >> B32, LOW & M32
    across, middle = a * d, b * c
    carried = ((b * d) >> B32) + (across & M32) + (middle & M32)
    top = a * c + (across >> B32) + (middle >> B32) + (carried >> B32)
    bottom = low * LOW + more_low
    over = ONE if bottom < more_low else U(0)
    return top + high * LOW + low * HIGH + more_high + over, bottom


@exact
def permutations(n, seed, first, orders):
    """Write ``np.random.default_rng([seed, number]).permutation(n)`` to every row of ``orders``,
    for the numbers from ``first`` on.

    SeedSequence and PCG64 (M. O'Neill, PCG: a family of simple fast space-efficient statistically
    good algorithms for random number generation, 2014); the swaps of Fisher and Yates, with indices
    drawn by rejection in as few bits as needed.
    """
    pool, words = np.empty(POOL, np.uint64), np.empty(WORDS, np.uint64)
    for number in range(orders.shape[0]):
        order = orders[number]
        for k in range(n):
            order[k] = k
        _seed(seed, first + number, pool, words)
        more_high = ((words[6] | (words[7] << B32)) >> U(63)) | (
            (words[4] | (words[5] << B32)) << ONE
        )
        more_low = ((words[6] | (words[7] << B32)) << ONE) | ONE
        low = (words[2] | (words[3] << B32)) + more_low
        high = (words[0] | (words[1] << B32)) + more_high + (ONE if low < more_low else U(0))
        high, low = _times_and_plus(high, low, more_high, more_low)
        i, mask = U(n - 1), U(0)
        while mask < i:
            mask = (mask << ONE) | ONE
        while i:
            high, low = _times_and_plus(high, low, more_high, more_low)
            turn, drawn = high >> U(58), high ^ low
            drawn = (drawn >> turn) | (drawn << ((U(64) - turn) & U(63)))
            for _ in range(2):  # half of the bits each
                j = drawn & M32 & mask
                drawn >>= B32
                good = j <= i  # without a branch, which no processor can foresee
                j = j if good else i
                order[i], order[j] = order[j], order[i]
                i -= U(good)
                if mask >> ONE >= i:
                    mask >>= ONE
                if not i:
                    break
