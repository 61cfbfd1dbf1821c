"""Reading numbers from text, correctly rounded: separators 64 bytes, digits 8 at a time.

Every function takes ``text``, a uint8 array, and positions as uint64: numba adds a test for
negative ones to a signed index, and turns uint64 mixed with int64 into a float. The caller pads the
text with ``PADDING`` bytes, the first of them a newline: nothing is read beyond them.

Eight digits in one word and the product with one truncated power of five are from D. Lemire,
"Number parsing at a gigabyte per second", Software: Practice and Experience 51 (2021).
"""

import math
from functools import partial

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from linsep.compiled import jit
from linsep.compiled.jit import COMPILING, part

#: bytes that the text needs beyond its end: a block of 64 and a word may start there
PADDING = 64 + 8

# Inlined, since LLVM would call the function for every number, at a quarter of the speed.
inlined = partial(jit.inlined, fastmath=False)

U = np.uint64
ZERO, ONE, EIGHT, WORD_BITS = U(0), U(1), U(8), U(64)
PLUS, MINUS, DOT, SMALL_E = (U(ord(c)) for c in "+-.e")
TO_SMALL = U(32)

ZEROS = U(0x3030303030303030)
OVER_NINE = U(0x7676767676767676)
HIGH_BITS = U(0x8080808080808080)
BYTES, PAIRS, FOURS = U(8), U(16), U(32)
OF_PAIRS, OF_FOURS = U(0x00FF00FF00FF00FF), U(0x0000FFFF0000FFFF)
JOIN_BYTES, JOIN_PAIRS, JOIN_FOURS = U(10 << 8 | 1), U(100 << 16 | 1), U(10_000 << 32 | 1)
HALF, LOW_HALF = U(32), U(0xFFFFFFFF)

POINTS = U((ord(".") ^ ord("0")) * 0x0101010101010101)
LOW_BITS = U(0x7F7F7F7F7F7F7F7F)

# The power of ten to divide by, by the position of the decimal point in a number that ends in
# byte 7 (8: no point); the second half for negative numbers. 0 / -1.0 is -0.0, as it should be.
DIVISORS = np.ones(32)
DIVISORS[:8] = 10.0 ** np.arange(7, -1, -1)
DIVISORS[16:] = -DIVISORS[:16]

#: powers of ten that are exact as floats
TEN_TO = np.array([10.0**k for k in range(23)])
EXACT_POWER, EXACT_MANTISSA = 22, U(2**53)
HUNDRED_MILLION, ROOM_FOR_EIGHT, ROOM_FOR_ONE = U(10**8), U(10**11), U(10**18)
#: longer than any text, so that zeros cannot compensate for an exponent this large
ENORMOUS = 10**16

# Times 1 to 2**64, a power of ten in this range is neither subnormal nor infinite.
LEAST_POWER, MOST_POWER = -307, 288
#: the 64 leading bits of each power of five, rounded down
FIVE_TO = np.array([
    (5**k << 64) >> (5**k).bit_length() if k >= 0 else (1 << (63 + (5**-k).bit_length())) // 5**-k
    for k in range(LEAST_POWER, MOST_POWER + 1)
], dtype=U)  # fmt: skip


def separators(text, at):
    """Return a bit for each of 64 bytes: whether it is blank, a control byte, ``:`` or ``#``."""
    block = text[at : at + WORD_BITS]
    bits = (block <= ord(" ")) | (block == ord(":")) | (block == ord("#"))
    return np.packbits(bits, bitorder="little").view(U)[0]


def trailing_zeros(word):
    """Return the number of low zero bits, 0 to 64."""
    return U(64) if word == 0 else U((int(word) & -int(word)).bit_length() - 1)


def leading_zeros(word):
    """Return the number of high zero bits, 0 to 64."""
    return U(64 - int(word).bit_length())


def _separators(typing_context, text, at):
    """Make 64 comparisons at once: LLVM has vectors of any size, numba has none."""

    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        block = ir.VectorType(ir.IntType(8), 64)
        address = builder.bitcast(builder.gep(data, [arguments[1]]), block.as_pointer())
        read = builder.load(address, align=1)

        def compare(how, byte):
            return builder.icmp_unsigned(how, read, ir.Constant(block, [ord(byte)] * 64))

        bits = builder.or_(compare("<=", " "), compare("==", ":"))
        return builder.bitcast(builder.or_(bits, compare("==", "#")), ir.IntType(64))

    return types.uint64(text, types.uint64), generate


def _zeros(counted):
    """Make an intrinsic of one instruction of LLVM, which is defined for 0."""

    def zeros(typing_context, word):
        def generate(context, builder, signature, arguments):
            return getattr(builder, counted)(arguments[0], ir.Constant(ir.IntType(1), 0))

        return types.uint64(types.uint64), generate

    return intrinsic(zeros)


if COMPILING:
    separators = intrinsic(_separators)
    trailing_zeros, leading_zeros = _zeros("cttz"), _zeros("ctlz")


@part
def load(text, at):
    """Return the 8 bytes from ``at`` as one word, the first lowest (LLVM makes it one load)."""
    word = U(text[at])
    for k in range(1, 8):
        word |= U(text[at + U(k)]) << U(8 * k)
    return word


@part
def not_digits(word):
    """Set the high bit of bytes above 9; bits above the first set one are arbitrary."""
    return (word + OVER_NINE | word) & HIGH_BITS


@part
def joined(word):
    """Return the number whose 8 digits are the bytes of ``word``, the first lowest."""
    word = (word * JOIN_BYTES) >> BYTES
    word = ((word & OF_PAIRS) * JOIN_PAIRS) >> PAIRS
    return ((word & OF_FOURS) * JOIN_FOURS) >> FOURS


@part
def digits(text, at, mantissa):
    """Append the digits from ``at`` to ``mantissa``, up to 19 significant ones.

    Returns the end position, the mantissa, and the number of digits dropped.
    """
    dropped = ZERO
    while mantissa < ROOM_FOR_EIGHT:
        word = load(text, at) ^ ZEROS
        if not_digits(word):
            break
        mantissa = mantissa * HUNDRED_MILLION + joined(word)
        at += EIGHT
    digit = U(text[at]) - U(48)
    while digit <= U(9):
        if mantissa < ROOM_FOR_ONE:
            mantissa = mantissa * U(10) + digit
        else:
            dropped += ONE
        at += ONE
        digit = U(text[at]) - U(48)
    return at, mantissa, dropped


@inlined
def short_number(text, first, end):
    """Read a number of 1 to 8 characters, and perhaps a minus before them, without an exponent;
    return whether it is such, and its value.

    There is no branch on the sign, the point or the number of digits, which would be mispredicted:
    the word is shifted so that it ends in the highest byte, and the digits before the point move up
    by one byte over it.
    """
    negative = U(text[first] == MINUS)
    first += negative
    length = end - first
    if length - ONE >= EIGHT:
        return False, 0.0
    word = (load(text, first) ^ ZEROS) << (WORD_BITS - EIGHT * length)
    point = word ^ POINTS
    point = ~((point & LOW_BITS) + LOW_BITS | point) & HIGH_BITS
    has_point = U(point != ZERO)
    up_to_point = (point << ONE) - has_point
    word = (word & ~up_to_point) | (word << EIGHT & up_to_point)
    good = not not_digits(word) and length != has_point
    divisor = DIVISORS[trailing_zeros(point) >> U(3) | negative << U(4)]
    return good, np.float64(np.int64(joined(word))) / divisor


@part
def exponent(text, at):
    """Return end and value of the integer at ``at``, with optional sign (end ``at``: none)."""
    start = at
    negative = text[at] == MINUS
    if negative or text[at] == PLUS:
        at += ONE
    first, value = at, np.int64(0)
    while U(text[at]) - U(48) <= U(9):
        if value < ENORMOUS:
            value = value * 10 + np.int64(text[at]) - 48
        at += ONE
    if at == first:
        return start, np.int64(0)
    return at, -value if negative else value


@part
def number(text, at, end):
    """Read the decimal number that fills ``text[at:end]``; a separator must stand at ``end``.

    Returns its value and whether it is one. The value is bit-identical to Python's ``float()``, or
    NaN if Python must read it: about one in a thousand values with more than 15 digits, and values
    near the ends of the range.
    """
    negative = text[at] == MINUS
    if negative or text[at] == PLUS:
        at += ONE
    first = at
    at, mantissa, dropped = digits(text, at, ZERO)
    count = at - first
    power = np.int64(dropped)
    if text[at] == DOT:
        first = at + ONE
        at, mantissa, more = digits(text, first, mantissa)
        count += at - first
        power -= np.int64(at - first - more)
        dropped += more
    if count and U(text[at]) | TO_SMALL == SMALL_E:
        first = at + ONE
        at, raised = exponent(text, first)
        power += raised
        count *= U(at != first)
    value = scaled(mantissa, power, dropped != ZERO)
    return -value if negative else value, count != ZERO and at == end


@part
def scaled(mantissa, power, truncated):
    """Return ``mantissa * 10**power`` correctly rounded, or NaN if this method cannot decide.

    ``truncated`` means that the true mantissa is up to 1 larger. Short numbers take one exact
    division. Otherwise the product with the 64 leading bits of the power of five is known to
    ``slack`` units of its upper word, which has 10 or 11 bits more than a float and so nearly
    always decides the rounding.
    """
    if mantissa == ZERO:
        return 0.0
    if mantissa <= EXACT_MANTISSA and abs(power) <= EXACT_POWER and not truncated:
        if power < 0:
            return np.float64(mantissa) / TEN_TO[-power]
        return np.float64(mantissa) * TEN_TO[power]
    if power < LEAST_POWER or power > MOST_POWER:
        return np.nan
    zeros = leading_zeros(mantissa)
    product = high_product(mantissa << zeros, FIVE_TO[power - LEAST_POWER])
    slack = U(2) + (U(truncated) << zeros)
    extra = U(11) - leading_zeros(product)
    half = ONE << (extra - ONE)
    rest = product & ((ONE << extra) - ONE)
    if rest <= half < rest + slack:
        return np.nan
    rounded = (product >> extra) + U(rest > half)
    # 217706 / 2**16 approximates log2(10): the floor is exact over the whole table.
    doublings = (217706 * power >> 16) + 1 + np.int64(extra) - np.int64(zeros)
    return math.ldexp(np.float64(rounded), int(doublings))


@part
def high_product(a, b):
    """Return the upper word of ``a * b``."""
    a_high, a_low, b_high, b_low = a >> HALF, a & LOW_HALF, b >> HALF, b & LOW_HALF
    middle = a_high * b_low + (a_low * b_low >> HALF)
    other = a_low * b_high + (middle & LOW_HALF)
    return a_high * b_high + (middle >> HALF) + (other >> HALF)
