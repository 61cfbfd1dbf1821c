"""The shuffled orders of passes, identical to NumPy's generators, in plain Python.

References: M. O'Neill, PCG: a family of simple fast space-efficient statistically good algorithms
for random number generation (2014); M. Matsumoto and T. Nishimura, Mersenne Twister, ACM
Transactions on Modeling and Computer Simulation 8 (1998).
"""

from collections.abc import Callable
from random import Random

M32, M64, M128 = (1 << 32) - 1, (1 << 64) - 1, (1 << 128) - 1
# SeedSequence: first values, and factors, of the constants that words are hashed with
FIRST_IN, FACTOR_IN = 0x43B0D7E5, 0x931E8875
FIRST_OUT, FACTOR_OUT = 0x8B51F9DD, 0x58F38DED
LEFT, RIGHT = 0xCA01F9DD, 0x4973F715
PCG = 0x2360ED051FC65DA44385DF649FCCF645


def orders_of(n_rows: int, random_state: int, shuffle: bool) -> Callable[[int], list[int]]:
    """Return the function from a pass to the order of its rows: the first is never shuffled.

    The orders are the same as in a fit with this ``random_state`` on at most 16,384 rows.
    """
    seed = seed_of(random_state) if shuffle else 0
    plain = list(range(n_rows))
    return lambda number: permutation(n_rows, seed, number) if shuffle and number else plain


def seed_of(random_state: int) -> int:
    """Return ``np.random.RandomState(random_state).randint(2**31 - 1)``."""
    state = [random_state]
    for k in range(1, 624):
        state.append((1812433253 * (state[-1] ^ state[-1] >> 30) + k) & M32)
    generator = Random()
    generator.setstate((3, (*state, 624), None))
    found = M32
    while found >= 2**31 - 1:
        found = generator.getrandbits(32) & 0x7FFFFFFF
    return found


def permutation(n: int, seed: int, number: int) -> list[int]:
    """Return ``np.random.default_rng([seed, number]).permutation(n)``, of numbers below 2**32.

    Fisher-Yates shuffle, with indices drawn by rejection in as few bits as needed.
    """
    words = seed_words(seed, number)
    high, low, more_high, more_low = (words[k] | words[k + 1] << 32 for k in range(0, 8, 2))
    step = ((more_high << 64 | more_low) << 1 | 1) & M128
    state = ((high << 64 | low) + step) * PCG + step & M128
    order, halves = list(range(n)), list[int]()
    for i in range(n - 1, 0, -1):
        mask, j = (1 << i.bit_length()) - 1, n
        while j > i:
            if not halves:
                state = state * PCG + step & M128
                turn, drawn = state >> 122, (state >> 64 ^ state) & M64
                drawn = (drawn >> turn | drawn << (-turn & 63)) & M64
                halves = [drawn >> 32, drawn & M32]
            j = halves.pop() & mask
        order[i], order[j] = order[j], order[i]
    return order


def seed_words(*numbers: int) -> list[int]:
    """Return the eight words that NumPy's SeedSequence makes of up to four numbers."""
    constant = FIRST_IN

    def hashed(word: int, factor: int) -> int:
        nonlocal constant
        following = constant * factor & M32
        word = (word ^ constant) * following & M32
        constant = following
        return word ^ word >> 16

    pool = [hashed(word, FACTOR_IN) for word in (*numbers, 0, 0, 0, 0)[:4]]
    for source in range(4):
        for to in range(4):
            if source != to:
                mixed = LEFT * pool[to] - RIGHT * hashed(pool[source], FACTOR_IN) & M32
                pool[to] = mixed ^ mixed >> 16
    constant = FIRST_OUT
    return [hashed(pool[k % 4], FACTOR_OUT) for k in range(8)]
