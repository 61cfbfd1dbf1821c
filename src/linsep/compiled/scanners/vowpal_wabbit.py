"""The scanner of Vowpal Wabbit's text format: names are hashed as they are read."""

from functools import partial

import numpy as np

from linsep.compiled.hashing import murmur, room_for_heads, sort_keys
from linsep.compiled.jit import exact, inlined, part
from linsep.compiled.scanners.numbers import MINUS, ONE, PLUS, ZERO, U, number

# Inlined, since LLVM would call them for every feature.
whole = partial(inlined, fastmath=False)

#: outcomes: all lines were read, or one is refused
DONE, REFUSED = 0, 1

NEWLINE, RETURN, TAB, SPACE, COLON, BAR, QUOTE, DOT = (U(ord(c)) for c in "\n\r\t :|'.")
MOST_TOKENS = 4
M32, TEN, NINE = U(0xFFFFFFFF), U(10), U(9)
FNV_PRIME, HALF = np.int64(16777619), np.int64(32)
LOW = np.int64(0xFFFFFFFF)
#: what a byte ends: the name of a feature (1), and a whole token (2)
NAME, TOKEN = np.uint8(1), np.uint8(2)
STOPS = np.zeros(256, np.uint8)
STOPS[[ord(c) for c in " \t|"]] = NAME | TOKEN
STOPS[ord(":")] = NAME
LABELS_BELOW = 2.0**53
NOT_FINITE = tuple(np.frombuffer(word, np.uint8) for word in (b"nan", b"inf", b"infinity"))


@exact
def count(text, size):
    """Count the lines, and blanks and bars, of which one stands before each feature."""
    lines, starts = 1, 0
    for at in range(size):
        byte = text[U(at)]
        lines += byte == NEWLINE
        starts += byte in (SPACE, TAB, BAR)
    return lines, starts


@whole
def name_hash(text, at, end, seed):
    """Return the hash of ``text[at:end]``: digits count from the seed, all else is scrambled."""
    while at < end and text[at] <= SPACE:
        at += ONE
    while end > at and text[end - ONE] <= SPACE:
        end -= ONE
    found, place = ZERO, at
    while place < end:
        digit = U(text[place]) - U(48)
        if digit > NINE:
            return murmur(text, at, end, seed & M32)
        found = found * TEN + digit
        place += ONE
    return found + seed


@part
def is_word(text, at, end, word):
    """Return whether ``text[at:end]`` is this word of small letters, whatever its case."""
    if end - at != U(word.size):
        return False
    same = 0
    for k in range(word.size):
        same += U(text[at + U(k)]) | U(32) == U(word[k])
    return same == word.size


@part
def is_text(text, at, end):
    """Return whether a value is text, which is hashed like a name."""
    if at == end:
        return False
    first = U(text[at])
    if first in (MINUS, PLUS, DOT) or first - U(48) <= NINE:
        return False
    place = at
    while place < end:
        if text[place] == COLON:
            return False
        place += ONE
    number_words = 0
    for word in NOT_FINITE:
        number_words += is_word(text, at, end, word)
    return number_words == 0


@part
def head(text, at, bar, numbers, starts):
    """Read the part before a bar: label, importance and base; NaN where Python must read them.

    Fills ``numbers`` and the places ``starts`` of their text; returns how many there are, or -1 if
    they are refused.
    """
    found, last, place = 0, at, at
    while place < bar:
        if text[place] in (SPACE, TAB):
            place += ONE
            continue
        last = place
        while place < bar and text[place] not in (SPACE, TAB):
            place += ONE
        if place == bar or text[last] == QUOTE:  # a tag, if it is the last
            rest = place
            while rest < bar and text[rest] in (SPACE, TAB):
                rest += ONE
            if rest == bar:
                return found
        if found == MOST_TOKENS - 1:
            return -1
        numbers[found], good = number(text, last, place)
        if not good:
            return -1
        starts[found] = last
        found += 1
    return found


@exact
def scan(text, size, mask, left_out, out, deferred, factors):
    """Read whole lines; ``text`` ends with ``PADDING`` newlines more.

    Parameters
    ----------
    text, size : uint8 array, and the length of the lines as uint64
    mask : uint64, the number of columns minus one
    left_out : bool array of shape (256,), first bytes of the namespaces that are not read
    out : (labels, importance, lines, starts, columns, values, spaces)
        Filled: per row the label (NaN: none), importance, where its line starts, and where its
        features do; per feature its column, value and the first byte of its namespace.
    deferred, factors : arrays of shape (numbers, 2) and (numbers,)
        Numbers that Python must read: the feature, or -1 - 2 * row for a label and -2 - 2 * row
        for an importance; where its text starts; and what it is multiplied by.

    Returns
    -------
    outcome, at : ``DONE``, or why the scan stopped, and a position in that line
    rows, features, deferred : int, their numbers
    """
    labels, importance, lines, starts, columns, values, spaces = out
    row, feature, late = 0, 0, 0
    at, limit = ZERO, U(size)
    numbers, places = np.empty(MOST_TOKENS), np.empty(MOST_TOKENS, np.uint64)
    starts[0] = 0
    while at < limit:
        line, end = at, at
        while text[end] != NEWLINE:
            end += ONE
        after = end + ONE
        if end > line and text[end - ONE] == RETURN:
            end -= ONE
        while end > line and text[end - ONE] in (SPACE, TAB):
            end -= ONE
        bar = line
        while bar < end and text[bar] != BAR:
            bar += ONE
        if end == line:
            at = after
            continue
        if bar == end:
            return REFUSED, line, row, feature, late
        found = head(text, line, bar, numbers, places)
        if found < 0 or (found > 2 and numbers[2] != 0.0):
            return REFUSED, line, row, feature, late
        labels[row] = numbers[0] if found > 0 else np.nan
        importance[row] = numbers[1] if found > 1 else 1.0
        if importance[row] < 0 or abs(labels[row]) >= LABELS_BELOW:
            return REFUSED, line, row, feature, late
        for k in range(min(found, 2)):
            if np.isnan(numbers[k]):
                deferred[late, 0], deferred[late, 1] = -1 - k - 2 * row, places[k]
                factors[late] = 1.0
                late += 1
        at = bar
        while at < end:
            outcome, at, feature, late = namespace(
                text, at + ONE, end, mask, left_out, (columns, values, spaces), deferred, factors,
                feature, late,
            )  # fmt: skip
            if outcome != DONE:
                return outcome, line, row, feature, late
        lines[row] = line
        row += 1
        starts[row] = feature
        at = after
    return DONE, limit, row, feature, late


@whole
def namespace(text, at, end, mask, left_out, out, deferred, factors, feature, late):
    """Read the features of the namespace whose bar is before ``at``, up to the next one."""
    columns, values, spaces = out
    start = at
    while at < end and not STOPS[text[at]] & NAME:
        at += ONE
    space, seed, weight = U(SPACE), ZERO, 1.0
    if at > start:
        space, seed = U(text[start]), name_hash(text, start, at, ZERO)
    if at < end and text[at] == COLON:
        first = at + ONE
        at = first
        while at < end and not STOPS[text[at]] & TOKEN:
            at += ONE
        weight, good = number(text, first, at)
        if not good or first == start + ONE or not np.isfinite(weight):
            return REFUSED, at, feature, late
    unnamed, read = ZERO, not left_out[space] and weight != 0.0
    while at < end and text[at] != BAR:
        if text[at] in (SPACE, TAB):
            at += ONE
            continue
        first = at
        while at < end and not STOPS[text[at]] & NAME:
            at += ONE
        colon, value = at, 1.0
        place = seed + unnamed if colon == first else name_hash(text, first, colon, seed)
        if at < end and text[at] == COLON:
            while at < end and not STOPS[text[at]] & TOKEN:
                at += ONE
            if is_text(text, colon + ONE, at):
                if colon == first:
                    return REFUSED, at, feature, late
                place = name_hash(text, colon + ONE, at, place)
            else:
                value, good = number(text, colon + ONE, at)
                if not good:
                    return REFUSED, at, feature, late
                if np.isnan(value) and read:
                    deferred[late, 0], deferred[late, 1] = feature, colon + ONE
                    factors[late] = weight
                    late += 1
                value *= weight
                if np.isinf(value):
                    return REFUSED, at, feature, late
            unnamed += U(colon == first)
        else:
            value = weight
        if value != 0.0 and read:
            columns[feature], values[feature], spaces[feature] = place & mask, value, space
            feature += 1
    return DONE, at, feature, late


@exact
def combine(columns, values, spaces, starts, mask, pairs):
    """Add the products of pairs of namespaces, and sum the values of each column.

    The arrays are as :func:`scan` fills them, ``mask`` is the number of columns minus one, and
    ``pairs``, of shape (pairs, 2), are first bytes of namespaces. Returns columns (int32, sorted in
    each row), values and starts of a CSR matrix, and the first row that overflows float64, or -1.
    """
    rows = starts.size - 1
    most, longest = _sizes(spaces, starts, pairs)
    found, amounts, ends = np.empty(most, np.int32), np.empty(most), np.zeros(rows + 1, np.int64)
    keys, spare, terms = np.empty(longest, np.int64), np.empty(longest, np.int64), np.empty(longest)
    heads, n = room_for_heads(), np.int64(0)
    for row in range(rows):
        first, end = starts[row], starts[row + 1]
        size = _terms(columns, values, spaces, first, end, mask, pairs, keys, terms)
        ordered = sort_keys(keys, spare, heads, size, HALF, mask + 1)
        last = np.int64(-1)
        for k in range(size):
            column, term = ordered[k] >> HALF, terms[ordered[k] & LOW]
            if column == last:
                amounts[n - 1] += term
            else:
                found[n], amounts[n] = column, term
                n, last = n + 1, column
            if not np.isfinite(amounts[n - 1]):
                return found[:0], amounts[:0], ends, row
        ends[row + 1] = n
    return found[:n].copy(), amounts[:n].copy(), ends, -1


@part
def _sizes(spaces, starts, pairs):
    """Return upper bounds on the terms of all rows, and of the longest row."""
    total, longest = np.int64(0), np.int64(0)
    for row in range(starts.size - 1):
        size = starts[row + 1] - starts[row]
        for p in range(pairs.shape[0]):
            left, right = np.int64(0), np.int64(0)
            for k in range(starts[row], starts[row + 1]):
                left += spaces[k] == pairs[p, 0]
                right += spaces[k] == pairs[p, 1]
            size += left * (left + 1) // 2 if pairs[p, 0] == pairs[p, 1] else left * right
        total, longest = total + size, max(longest, size)
    return total, longest


@part
def _terms(columns, values, spaces, first, end, mask, pairs, keys, terms):
    """Fill the values of a row and keys of column and place; return how many there are."""
    size = np.int64(0)
    for k in range(first, end):
        if values[k] != 0.0:  # numbers that Python reads may underflow
            keys[size], terms[size] = np.int64(columns[k]) << HALF | size, values[k]
            size += 1
    for p in range(pairs.shape[0]):
        for i in range(first, end):
            if spaces[i] != pairs[p, 0] or values[i] == 0.0:
                continue
            raised = FNV_PRIME * np.int64(columns[i])
            for j in range(i if pairs[p, 0] == pairs[p, 1] else first, end):
                if spaces[j] == pairs[p, 1] and values[j] != 0.0:
                    column = (raised ^ np.int64(columns[j])) & mask
                    keys[size], terms[size] = column << HALF | size, values[i] * values[j]
                    size += 1
    return size
