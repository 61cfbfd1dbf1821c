"""The scanner of svmlight text: one pass over the bytes, into the arrays of a CSR matrix.

Grammar of a line: an optional label and pairs, then an optional comment::

    label index:value index:value ... # comment

with blanks (spaces, tabs) between the parts and before values, and a line break. Lines without a
label are skipped. Labels and values are finite decimal numbers, indices are increasing integers.
"""

import numpy as np

from linsep.compiled.jit import exact, part
from linsep.compiled.scanners.numbers import (
    EIGHT,
    ONE,
    WORD_BITS,
    ZERO,
    ZEROS,
    U,
    digits,
    inlined,
    joined,
    load,
    not_digits,
    number,
    separators,
    short_number,
    trailing_zeros,
)

#: outcomes of a scan
DONE, REFUSED, INDEX_ZERO = 0, 1, 2

NEWLINE, RETURN, TAB, SPACE, COLON, HASH = (U(ord(c)) for c in "\n\r\t :#")
#: from here on, floats no longer distinguish whole numbers
LABELS_BELOW = 2.0**53


@exact
def count(text, size):
    """Count ``:`` and newlines in ``text[:size]``: upper bounds on pairs and lines."""
    colons, newlines = np.int64(0), np.int64(0)
    for start in range(0, size, 128):
        # One-byte sums let LLVM add 64 comparisons at once; 128 of them cannot overflow.
        c, n = np.uint8(0), np.uint8(0)
        for at in range(start, min(start + 128, size)):
            c = np.uint8(c + np.uint8(text[U(at)] == COLON))
            n = np.uint8(n + np.uint8(text[U(at)] == NEWLINE))
        colons += np.int64(c)
        newlines += np.int64(n)
    return colons, newlines


@part
def next_separator(text, block, bits):
    """Return the position of the next separator; ``bits`` marks the remaining ones of ``block``."""
    while bits == ZERO:
        block += WORD_BITS
        bits = separators(text, block)
    return block + trailing_zeros(bits), block, bits & (bits - ONE)


@inlined
def short_pair(text, at, colon, end):
    """Read ``index:value`` of 1 to 8 characters each; return whether they are such, and both."""
    length = colon - at
    if length - ONE >= EIGHT:
        return False, ZERO, 0.0
    x = (load(text, at) ^ ZEROS) << (WORD_BITS - EIGHT * length)
    first = colon + ONE
    if end - first == ONE and text[first] == U(49):
        return not not_digits(x), joined(x), 1.0
    good, value = short_number(text, first, end)
    return good and not not_digits(x), joined(x), value


@part
def long_pair(text, at, colon, first, end, least, limit):
    """Read any ``index:value``; return the outcome and both. NaN: Python must read the value."""
    stop, index, dropped = digits(text, at, ZERO)
    if stop != colon or at == colon or dropped or index > limit:
        return REFUSED, ZERO, 0.0
    if index < least:
        return (INDEX_ZERO if index == ZERO else REFUSED), ZERO, 0.0
    value, good = number(text, first, end)
    return (DONE if good else REFUSED), index, value


@inlined
def scan_pairs(text, end, block, bits, base, limit, pair, values, columns, n_deferred, deferred):
    """Read the pairs after the label that ends at ``end``, up to anything but a blank or pair.

    Returns the outcome, the end position, the block and its bits, the counts of pairs and of
    deferred numbers, and the width of the row.
    """
    outcome, least = DONE, base
    mark = text[end]
    while mark in (SPACE, TAB):
        at = end + ONE
        end, block, bits = next_separator(text, block, bits)
        mark, colon = text[end], end
        if mark != COLON:
            if end != at:
                outcome = REFUSED
                break
            continue
        end, block, bits = next_separator(text, block, bits)
        mark = text[end]
        good, index, value = short_pair(text, at, colon, end)
        if not good or index < least:
            first = colon + ONE
            while end == first and mark in (SPACE, TAB):  # blanks before a value
                first = end + ONE
                end, block, bits = next_separator(text, block, bits)
                mark = text[end]
            outcome, index, value = long_pair(text, at, colon, first, end, least, limit)
            # A value may overflow in float32 only.
            if outcome != DONE or np.isinf(values.dtype.type(value)):
                outcome = max(outcome, REFUSED)
                break
            if np.isnan(value):
                deferred[n_deferred, 0], deferred[n_deferred, 1] = pair, first
                n_deferred += ONE
        least = index + ONE
        values[pair] = value
        columns[pair] = index - base
        pair += ONE
    return outcome, end, block, bits, pair, n_deferred, least - base


@part
def end_line(text, end, block, bits):
    """Skip from the separator at ``end`` to the end of its line; False if it is refused."""
    mark = text[end]
    if mark == HASH:
        while mark != NEWLINE:
            end, block, bits = next_separator(text, block, bits)
            mark = text[end]
    elif mark == RETURN and text[end + ONE] == NEWLINE:
        end, block, bits = next_separator(text, block, bits)
        mark = NEWLINE
    return mark == NEWLINE, end, block, bits


@exact
def scan(text, size, base, limit, labels, indptr, values, columns, deferred):
    """Read whole lines into the arrays of a CSR matrix.

    Parameters
    ----------
    text, size : the lines and ``PADDING`` newlines more, and the length of the lines
    base, limit : uint64
        The index that becomes column 0; the largest index allowed, at least 99,999,999 as shorter
        ones are not compared with it.
    labels, indptr, values, columns : arrays
        Filled; with room for one row per line (one entry more in ``indptr``), one pair per colon.
    deferred : int64 array of shape (lines + colons, 2)
        Filled with the index of each number that Python must read (its pair, or -1 - its row)
        and the position of its text.

    Returns
    -------
    outcome : ``DONE``, ``REFUSED``, or ``INDEX_ZERO`` for an index 0 where ``base`` is 1
    at : ``size``, or a position in the refused line
    rows, pairs, deferred : numbers of entries filled
    width : the highest column seen, plus 1
    """
    outcome, at = DONE, ZERO
    block, bits = ZERO, separators(text, ZERO)
    row, pair, n_deferred, width = ZERO, ZERO, ZERO, ZERO
    indptr[0] = 0
    while at < size:
        end, block, bits = next_separator(text, block, bits)
        if end == at and text[at] in (SPACE, TAB):
            at += ONE
            continue
        if end > at:
            labels[row], good = number(text, at, end)
            if not good or abs(labels[row]) >= LABELS_BELOW:
                return REFUSED, at, row, pair, n_deferred, width
            if np.isnan(labels[row]):
                deferred[n_deferred, 0], deferred[n_deferred, 1] = -1 - np.int64(row), at
                n_deferred += ONE
            outcome, end, block, bits, pair, n_deferred, row_width = scan_pairs(
                text, end, block, bits, base, limit, pair, values, columns, n_deferred, deferred
            )
            if outcome != DONE:
                return outcome, end, row, pair, n_deferred, width
            width = max(width, row_width)
            row += ONE
            indptr[row] = pair
        good, end, block, bits = end_line(text, end, block, bits)
        if not good:
            return REFUSED, end, row, pair, n_deferred, width
        at = end + ONE
    return DONE, size, row, pair, n_deferred, width
