"""A 64-bit checksum at memory speed: it notices bytes that changed on disk, not forgers.

Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8(14), 2003. Each step of a lane is
linear, invertible and has period 2^64 - 1. So a change inside one word is always noticed, and so is
an exchange of two words of one lane, however far apart they stand. Sixty-four lanes side by side,
because the compiler turns shifts and xors of neighbours into SIMD.
"""

import numpy as np

from linsep.compiled.jit import compiled

LANES = 64
LEFT, RIGHT, AGAIN = np.uint64(13), np.uint64(7), np.uint64(17)
# The lanes are folded with another step of full period: with the same one, a word exchanged with
# its neighbour one lane back and one step on would go unseen.
FOLD_LEFT, FOLD_RIGHT = np.uint64(7), np.uint64(9)


@compiled
def checksum(words, seed):
    """64-bit checksum of ``words``, a uint64 array of shape (n,), started from the uint64 ``seed``.

    It depends on every bit and its place, but not on ``n``: check lengths separately.
    """
    lanes = np.full(LANES, seed, np.uint64)
    whole = words.size // LANES * LANES
    for start in range(0, whole, LANES):
        for lane in range(LANES):
            mixed = lanes[lane] ^ words[start + lane]
            mixed ^= mixed << LEFT
            mixed ^= mixed >> RIGHT
            lanes[lane] = mixed ^ (mixed << AGAIN)
    for lane in range(words.size - whole):
        mixed = lanes[lane] ^ words[whole + lane]
        mixed ^= mixed << LEFT
        mixed ^= mixed >> RIGHT
        lanes[lane] = mixed ^ (mixed << AGAIN)
    total = seed
    for lane in range(LANES):
        total ^= lanes[lane]
        total ^= total << FOLD_LEFT
        total ^= total >> FOLD_RIGHT
    return total
