"""Loops that cut texts in UTF-8 into words or characters, in lower case.

A text is written to a buffer in lower case and cut into units: words or characters. An n-gram is
then a piece of that buffer.
"""

from typing import Any, NamedTuple

import numpy as np

from linsep.compiled.jit import borrow, exact, inlined, part

#: what a code point is; the table has four times its lower case plus this
LETTER, BLANK = 1, 2
WORD, CHAR, CHAR_WB = 0, 1, 2
#: growth of a text in bytes when it is lower-cased and its words are separated
GROWTH = 3


class Texts(NamedTuple):
    """Texts as in Arrow: the bytes of text i are ``data[offsets[i]:offsets[i + 1]]``."""

    data: Any
    offsets: Any


class Cutting(NamedTuple):
    """How texts are cut: ``table`` of code points, analyzer, fewest and most units."""

    table: Any
    analyzer: int
    low: int
    high: int


@inlined
def decoded(data, at, stop):
    """Return a code point of two bytes or more and its length, or 0 for invalid UTF-8."""
    first = np.int64(data[at])
    length = 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    if first < 0xC2 or first > 0xF4 or at + length > stop:
        return 0, 0
    point = first & (0x7F >> length)
    for k in range(1, length):
        byte = np.int64(data[at + k])
        if byte & 0xC0 != 0x80:
            return 0, 0
        point = (point << 6) | (byte & 0x3F)
    least = 0x80 if length == 2 else 0x800 if length == 3 else 0x10000
    if point < least or point > 0x10FFFF or 0xD800 <= point < 0xE000:
        return 0, 0
    return point, length


@inlined
def put(out, size, point):
    """Write a code point in UTF-8 and return where the next begins."""
    if point < 0x80:
        out[np.uint64(size)] = point
        return size + 1
    if point < 0x800:
        out[size] = 0xC0 | (point >> 6)
        out[size + 1] = 0x80 | (point & 0x3F)
        return size + 2
    if point < 0x10000:
        out[size] = 0xE0 | (point >> 12)
        out[size + 1] = 0x80 | ((point >> 6) & 0x3F)
        out[size + 2] = 0x80 | (point & 0x3F)
        return size + 3
    out[size] = 0xF0 | (point >> 18)
    out[size + 1] = 0x80 | ((point >> 12) & 0x3F)
    out[size + 2] = 0x80 | ((point >> 6) & 0x3F)
    out[size + 3] = 0x80 | (point & 0x3F)
    return size + 4


@inlined
def next_entry(data, at, stop, table):
    """Return the table entry of a code point, and its length, or 0 for invalid UTF-8."""
    byte = data[np.uint64(at)]
    if byte < 0x80:
        return table[byte], 1
    point, length = decoded(data, at, stop)
    return table[point], length


@inlined
def close(out, size, edges, units):
    """End a unit with a blank."""
    out[size] = 32
    edges[units + 1] = size + 1


@inlined
def fold_ascii(data, table, out, letters):
    """Write ASCII in lower case to ``out``, and which bytes belong to words to ``letters``; return
    False if ``data`` is not ASCII. LLVM vectorizes each loop.
    """
    high, upper = np.uint8(0), np.uint8((table[65] >> 2) - 65)
    for k in range(data.size):
        high = np.uint8(high | data[k])
    if high >= 0x80:
        return False
    for k in range(data.size):
        byte = data[k]
        out[k] = byte + upper if (byte >= 65) & (byte <= 90) else byte
    for k in range(data.size):
        byte = data[k]
        letters[k] = (
            ((byte >= 97) & (byte <= 122)) | ((byte >= 65) & (byte <= 90))
            | ((byte >= 48) & (byte <= 57)) | (byte == 95)
        )  # fmt: skip
    return True


@inlined
def cut_ascii(letters, edges):
    """Write where words begin and end; return the number of such positions."""
    n = inside = np.int64(0)
    for k in range(letters.size):
        # No branch in here depends on where words end, which no processor can foresee.
        letter = np.int64(letters[k])
        edges[np.uint64(n)] = k
        n += letter ^ inside
        inside = letter
    edges[n] = letters.size
    return n + inside


@inlined
def cut_unicode(data, begin, stop, table, out, edges):
    """Write a text in lower case, and where its words begin and end; return the number of such
    positions, or ``-1 - at`` where it is not valid UTF-8.
    """
    at, size, n, inside = begin, 0, 0, 0
    while at < stop:
        byte = data[np.uint64(at)]
        entry, length = table[byte], 1
        if byte >= 0x80:
            entry, length = next_entry(data, at, stop, table)
            if length == 0:
                return -1 - at
        letter = entry & LETTER
        edges[np.uint64(n)] = size
        n += letter ^ inside
        inside = letter
        if byte < 0x80:
            out[np.uint64(size)] = entry >> 2
            size += 1
        else:
            size = put(out, size, entry >> 2)
        at += length
    edges[n] = size
    return n + inside


@part
def cut_words(data, begin, stop, table, out, edges):
    """Cut a text into words of two letters or more (see :func:`cut`)."""
    size = stop - begin
    letters = out[size : 2 * size]
    if fold_ascii(data[begin:stop], table, out, letters):
        n = cut_ascii(letters, edges)
    else:
        n = cut_unicode(data, begin, stop, table, out, edges)
    units = 0
    for k in range(0, n, 2):
        first, last = edges[k], edges[k + 1]
        edges[2 * units], edges[2 * units + 1] = first, last
        units += last - first > length_of(out[first])
    return units if n >= 0 else n


@inlined
def length_of(first):
    """Return the number of bytes of the character that begins with this one."""
    return 1 + (first >= 0xC0) + (first >= 0xE0) + (first >= 0xF0)


@inlined
def join_words(out, edges, units):
    """Move words together, with one blank behind each."""
    size = 0
    for k in range(units):
        first, last = edges[2 * k], edges[2 * k + 1]
        edges[2 * k] = size
        for at in range(first, last):
            out[size] = out[at]
            size += 1
        edges[2 * k + 1] = size
        out[size] = 32
        size += 1


@part
def cut_characters(data, begin, stop, table, out, edges):
    """Cut a text into characters, of which two blanks or more are one: a space."""
    at, size, units, blanks = begin, 0, 0, 0
    while at < stop:
        entry, length = next_entry(data, at, stop, table)
        if length == 0:
            return -1 - at
        at += length
        blanks = blanks + 1 if entry & 3 == BLANK else 0
        if blanks > 1:
            size = edges[units - 1]
            close(out, size, edges, units - 1)
            size += 1
        else:
            size = put(out, size, entry >> 2)
            units += 1
            edges[units] = size
    return units


@part
def cut_padded(data, begin, stop, table, out, edges):
    """Cut a text into the characters of its words, with a space before and after each word."""
    at, size, units = begin, 0, 0
    inside = False
    while at < stop:
        entry, length = next_entry(data, at, stop, table)
        if length == 0:
            return -1 - at
        at += length
        letter = entry & 3 != BLANK
        if letter != inside:
            close(out, size, edges, units)
            size, units = size + 1, units + 1
        if letter:
            size = put(out, size, entry >> 2)
            units += 1
            edges[units] = size
        inside = letter
    if inside:
        close(out, size, edges, units)
        units += 1
    return units


@part
def cut(data, begin, stop, cutting, out, edges):
    """Cut one text; return the number of units, or ``-1 - at`` where it is not valid UTF-8.

    Word i is ``out[edges[2 * i]:edges[2 * i + 1]]``, character i ``out[edges[i]:edges[i + 1]]``.
    For n-grams of several words, one blank separates words.
    """
    edges[0] = 0
    table = borrow(cutting.table)
    if cutting.analyzer == WORD:
        units = cut_words(data, begin, stop, table, out, edges)
        if cutting.high > 1:
            join_words(out, edges, units)
        return units
    if cutting.analyzer == CHAR:
        return cut_characters(data, begin, stop, table, out, edges)
    return cut_padded(data, begin, stop, table, out, edges)


@inlined
def longest(texts, first):
    """Return the number of bytes of the longest text from ``first`` on."""
    most = 0
    for i in range(first, texts.offsets.size - 1):
        most = max(most, texts.offsets[i + 1] - texts.offsets[i])
    return most


@exact
def special_texts(texts):
    """Return which texts have a code point whose lower case needs more than a table: U+0130, whose
    is two characters, or U+03A3, whose depends on the letters around it.
    """
    found = np.zeros(texts.offsets.size - 1, np.bool_)
    leading = 0
    for at in range(texts.offsets[0], texts.offsets[-1]):
        leading += (texts.data[np.uint64(at)] == 0xC4) | (texts.data[np.uint64(at)] == 0xCE)
    if leading == 0:
        return found
    for i in range(texts.offsets.size - 1):
        for at in range(texts.offsets[i], texts.offsets[i + 1] - 1):
            byte = texts.data[at]
            if (byte == 0xC4 and texts.data[at + 1] == 0xB0) or (
                byte == 0xCE and texts.data[at + 1] == 0xA3
            ):
                found[i] = True
                break
    return found
