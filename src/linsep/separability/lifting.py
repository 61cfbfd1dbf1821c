"""Exact solutions of linear systems, digit by digit in base of a prime.

Dixon, Exact solution of linear equations using p-adic expansions (1982). The inverse modulo a prime
gives one digit of every number of the solution; what is left, divided by the prime, gives the next.
Products of digits are sums of integers below 2^53, which floats hold exactly whatever the order of
summation. The digits end when the numbers are determined: by Cramer's rule they are fractions of
minors, and by Hadamard's inequality no minor is larger than the product of the lengths of its rows.
"""

from math import isqrt
from typing import Any

import numpy as np
from flint import fmpz, fmpz_mat, nmod_mat

from linsep.separability.time_limit import check_time

#: entries with more bits, and smaller systems, are left to elimination
MOST_BITS, LEAST_ROWS = 256, 150
#: primes that are tried before the matrix is treated as singular
TRIES = 2


def lifted(square: fmpz_mat, right: fmpz_mat) -> tuple[list[int], int] | None:
    """Return the integers x with ``square x = right`` times a positive number, and that number.

    None if the matrix is singular, small, or has long entries.
    """
    n = square.nrows()
    if n < LEAST_ROWS:
        return None
    sides = zip(square.tolist(), right.tolist(), strict=True)
    both = [[*map(int, a), *map(int, b)] for a, b in sides]
    bits = max((abs(m).bit_length() for row in both for m in row), default=0)
    if bits > MOST_BITS:
        return None
    top = 1 << (54 - n.bit_length()) // 2
    for prime in _primes_below(top, TRIES):
        try:
            inverse = nmod_mat(square, prime).inv()
        except ZeroDivisionError:
            continue
        most = fmpz(
            min(
                _product_of_lengths(both),
                _product_of_lengths([list(line) for line in zip(*both, strict=True)]),
            )
        )
        steps = (isqrt(int(2 * most * most).bit_length() // (prime.bit_length() - 1)) + 1) ** 2
        table = np.array([list(map(int, row)) for row in inverse.tolist()], dtype=np.float64)
        digits = _digits(both, bits, table, prime, steps)
        return _fractions(_numbers(digits, prime), fmpz(prime) ** len(digits), most)
    return None


def _primes_below(top: int, count: int) -> list[int]:
    """Return the largest primes below a number."""
    found: list[int] = []
    while len(found) < count:
        top -= 1
        if fmpz(top).is_prime():
            found.append(top)
    return found


def _product_of_lengths(rows: list[list[int]]) -> int:
    """Return an upper bound of the minors that have all of these rows, or all but one."""
    found = 1
    for row in rows:
        found *= isqrt(sum(m * m for m in row)) + 1
    return found


def _digits(
    both: list[list[int]], bits: int, inverse: np.ndarray, prime: int, steps: int
) -> np.ndarray:
    """Return the lowest digits of the solution, between -prime / 2 and prime / 2, line by line.

    Integers are split into parts of few bits, the highest of which has the sign.
    """
    n = len(both)
    part = 54 - prime.bit_length() - n.bit_length()
    count = bits // part + 1
    whole = np.array(both, dtype=np.int64 if bits < 63 else object)
    mask = (1 << part) - 1
    parts = [whole >> part * k & mask for k in range(count - 1)] + [whole >> part * (count - 1)]
    table = np.concatenate([piece[:, :n] for piece in parts]).astype(np.float64)
    left = np.array([piece[:, n] for piece in parts]).astype(np.int64)
    half, found = prime // 2, np.empty((steps, n), np.int64)
    for k in range(steps):
        check_time()
        residue = left[-1] % prime
        for line in left[-2::-1]:
            residue = ((residue << part) + line) % prime
        digit = (inverse @ (residue - prime * (residue > half))).astype(np.int64) % prime
        digit -= prime * (digit > half)
        found[k] = digit
        left -= (table @ digit).astype(np.int64).reshape(count, n)
        carry: Any = 0
        for split in range(count - 1, -1, -1):
            left[split], carry = np.divmod(left[split] + (carry << part), prime)
    return found


def _numbers(digits: np.ndarray, prime: int) -> list[fmpz]:
    """Return the numbers that have these digits: as many sums of as many digits, then their sum."""
    root, n = isqrt(len(digits)), digits.shape[1]
    powers = [fmpz(prime) ** k for k in range(root + 1)]
    lowest_first = digits.reshape(root, root, n).transpose(1, 0, 2).ravel().tolist()
    sums = fmpz_mat(1, root, powers[:-1]) * fmpz_mat(root, root * n, lowest_first)
    powers = [powers[-1] ** k for k in range(root)]
    return list((fmpz_mat(1, root, powers) * fmpz_mat(root, n, sums.entries())).entries())


def _fractions(numbers: list[fmpz], modulus: fmpz, most: fmpz) -> tuple[list[int], int]:
    """Return fractions, whose terms over a common one are at most ``most``, from their residues.

    Wang, Guy and Davenport, p-adic reconstruction of rational numbers (1982): Euclid's algorithm
    ends at the first remainder that is small enough. Terms are unique if their product is less
    than half the modulus.
    """
    below, above = fmpz(1), list[fmpz]()
    for number in numbers:
        rest = _nearest(number * below, modulus)
        if abs(rest) > most:
            rest, factor = _fraction(rest, modulus, most)
            above, below = [m * factor for m in above], below * factor
        above.append(rest)
    return [int(m) for m in above], int(below)


def _nearest(number: fmpz, modulus: fmpz) -> fmpz:
    """Return the residue of a number that is nearest to zero."""
    rest = number % modulus
    return rest - modulus if 2 * rest > modulus else rest


def _fraction(number: fmpz, modulus: fmpz, most: fmpz) -> tuple[fmpz, fmpz]:
    """Return the fraction with terms of at most ``most`` that has a residue."""
    check_time()
    last, rest, before, factor = modulus, number % modulus, fmpz(0), fmpz(1)
    while rest > most:
        quotient = last // rest
        last, rest = rest, last - quotient * rest
        before, factor = factor, before - quotient * factor
    return (rest, factor) if factor > 0 else (-rest, -factor)
