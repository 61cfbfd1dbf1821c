"""Loops that count the n-grams of texts, by hashed columns or by a vocabulary."""

from typing import Any, NamedTuple

import numpy as np

from linsep.compiled.core.jit import borrow, exact, generic, inlined
from linsep.compiled.text_cutting import CHAR_WB, GROWTH, WORD, cut, longest

U = np.uint64
M32, C1, C2, C3, C4 = U(0xFFFFFFFF), U(0xCC9E2D51), U(0x1B873593), U(0x85EBCA6B), U(0xC2B2AE35)
FIVE, ADDED = U(5), U(0xE6546B64)
B8, B13, B15, B16, B17, B19, B24 = U(8), U(13), U(15), U(16), U(17), U(19), U(24)


class Hashed(NamedTuple):
    """Columns by hash. ``keys`` and ``counts`` are the columns of one text, a table with ``-1``
    in free places, ``size[0]`` of which are in use.
    """

    keys: Any
    counts: Any
    size: Any
    n_columns: int
    signed: bool
    seen: Any


class Seen(NamedTuple):
    """Some terms of each hashed column, for people who ask what a column is.

    Attributes
    ----------
    hashes : int32 array of shape (columns, places); the terms of a column, in order of appearance
    counts : uint8 array of shape (columns,); how many terms are known, 255 for none to be kept
    pool, ends : bytes of the terms and where each ends; columns : the column of each
    size : number of terms, and number of bytes
    """

    hashes: Any
    counts: Any
    pool: Any
    ends: Any
    columns: Any
    size: Any


class Known(NamedTuple):
    """Columns of a vocabulary; the fields of :class:`Hashed` and those of :class:`Vocabulary`."""

    keys: Any
    counts: Any
    size: Any
    words: Any


class Vocabulary(NamedTuple):
    """Terms and in how many texts they occur.

    Attributes
    ----------
    places : int32 array, a table of term numbers by hash, -1 where it is free
    hashes : uint32 array of shape (most terms,)
    pool, ends : the bytes of all terms, and where each ends (ends[0] = 0)
    texts : how many texts have the term; last : the last of them
    size : number of terms, number of the text at hand, whether room has run out
    """

    places: Any
    hashes: Any
    pool: Any
    ends: Any
    texts: Any
    last: Any
    size: Any


@inlined
def four(data, at):
    """Return the four bytes from ``at`` on as a number."""
    place = U(at)  # unsigned indices need no test for negative ones
    return (
        U(data[place])
        | (U(data[place + U(1)]) << B8)
        | (U(data[place + U(2)]) << B16)
        | (U(data[place + U(3)]) << B24)
    )


@inlined
def murmur(data, begin, end):
    """Return the 32-bit MurmurHash3 (Appleby, 2011) of ``data[begin:end]``; seed 0."""
    h, at = U(0), begin
    while at + 4 <= end:
        k = (four(data, at) * C1) & M32
        k = (((k << B15) | (k >> B17)) & M32) * C2 & M32
        h ^= k
        h = ((((h << B13) | (h >> B19)) & M32) * FIVE + ADDED) & M32
        at += 4
    if at < end:
        k = U(data[at])
        if at + 1 < end:
            k |= U(data[at + 1]) << B8
        if at + 2 < end:
            k |= U(data[at + 2]) << B16
        k = (k * C1) & M32
        h ^= (((k << B15) | (k >> B17)) & M32) * C2 & M32
    h ^= U(end - begin)
    h = ((h ^ (h >> B16)) * C3) & M32
    h = ((h ^ (h >> B13)) * C4) & M32
    return h ^ (h >> B16)


@generic(0)
def take(sink, out, begin, end):
    """Give an n-gram, ``out[begin:end]``, to what counts it."""


@inlined
def count(sink, column, amount):
    """Add ``amount`` to a column of the text at hand."""
    keys = sink.keys
    mask = sink.size[1]
    place = U(column & mask)
    while keys[place] != column:
        if keys[place] < 0:
            keys[place] = column
            sink.counts[place] = 0
            sink.size[0] += 1
            break
        place = (place + U(1)) & U(mask)
    sink.counts[place] += amount


@inlined
def note(seen, column, h, out, begin, end):
    """Keep a term of a column unless it is known, or the column or the memory is full."""
    n = seen.counts[column]
    for k in range(n):
        if seen.hashes[column, k] == h:
            return
    term, size = seen.size[0], seen.size[1]
    if (
        n == seen.hashes.shape[1]
        or term == seen.columns.size
        or size + end - begin > seen.pool.size
    ):
        return
    seen.hashes[column, n] = h
    seen.counts[column] = n + 1
    for k in range(end - begin):
        seen.pool[size + k] = out[begin + k]
    seen.columns[term] = column
    seen.ends[term + 1] = size + end - begin
    seen.size[0], seen.size[1] = term + 1, size + end - begin


@take.when(Hashed)
def _take_hashed(sink, out, begin, end):
    h = np.int64(murmur(out, begin, end))
    negative = h >= 0x80000000
    column = 0x100000000 - h if negative else h
    mask = sink.n_columns - 1
    column = column & mask if sink.n_columns & mask == 0 else column % sink.n_columns
    count(sink, column, -1 if sink.signed and negative else 1)
    if sink.seen.counts.size:
        note(sink.seen, column, np.uint32(h), out, begin, end)


@inlined
def find(words, h, out, begin, end):
    """Return the number of a term, or ``-1 - place`` of a free place in the table."""
    mask = words.places.size - 1
    place = np.int64(h) & mask
    while True:
        term = words.places[place]
        if term < 0:
            return -1 - place
        if words.hashes[term] == h:
            first = words.ends[term]
            same = words.ends[term + 1] - first == end - begin
            k = 0
            while same and k < end - begin:
                same = words.pool[first + k] == out[begin + k]
                k += 1
            if same:
                return np.int64(term)
        place = (place + 1) & mask


@take.when(Known)
def _take_known(sink, out, begin, end):
    term = find(sink.words, np.uint32(murmur(out, begin, end)), out, begin, end)
    if term >= 0:
        count(sink, term, 1)


@take.when(Vocabulary)
def _take_new(sink, out, begin, end):
    h = np.uint32(murmur(out, begin, end))
    term = find(sink, h, out, begin, end)
    if term < 0:
        place, term = -1 - term, sink.size[0]
        at = sink.ends[term]
        if term == sink.hashes.size or at + end - begin > sink.pool.size:
            sink.size[2] = 1
            return
        for k in range(end - begin):
            sink.pool[at + k] = out[begin + k]
        sink.ends[term + 1] = at + end - begin
        sink.hashes[term] = h
        sink.texts[term], sink.last[term] = 0, -1
        sink.places[place] = term
        sink.size[0] = term + 1
    if sink.last[term] != sink.size[1]:
        sink.last[term] = sink.size[1]
        sink.texts[term] += 1


@inlined
def take_grams(sink, cutting, out, starts, units):
    """Give all n-grams of a text to what counts them."""
    gap = 1 if cutting.analyzer == WORD else 0
    first = 0
    while first < units:
        last = units
        if cutting.analyzer == CHAR_WB:  # a word ends with the next blank
            last = first + 1
            while out[starts[last]] != 32:
                last += 1
            last += 1
        for n in range(cutting.low, cutting.high + 1):
            if cutting.analyzer == CHAR_WB and last - first <= n:  # a short word counts once
                take(sink, out, starts[first], starts[last])
                break
            for i in range(first, last - n + 1):
                take(sink, out, starts[i], starts[i + n] - gap)
        first = last


@exact
def hash_of(data):
    """Return the 32-bit MurmurHash3 of all bytes of ``data``."""
    return murmur(data, 0, data.size)


@exact
def learn_terms(texts, first, cutting, words):
    """Add the terms of texts from number ``first`` on to a vocabulary.

    Returns the number of the text for which there is no room (to go on from, with more), or of
    texts; and ``-1 - byte`` where a text is no UTF-8, or 0.
    """
    room = GROWTH * longest(texts, first) + 8
    out, starts = np.empty(room, np.uint8), np.empty(room + 1, np.int64)
    for i in range(first, texts.offsets.size - 1):
        units = cut(texts.data, texts.offsets[i], texts.offsets[i + 1], cutting, out, starts)
        if units < 0:
            return i, units
        take_grams(borrow(words), cutting, borrow(out), borrow(starts), units)
        if words.size[2]:
            return i, 0
        words.size[1] += 1
    return texts.offsets.size - 1, 0


@exact
def add_terms(texts, words):
    """Add texts that are terms to a vocabulary that has room for them."""
    for i in range(texts.offsets.size - 1):
        take(words, texts.data, texts.offsets[i], texts.offsets[i + 1])
        words.size[1] += 1


@exact
def rebuilt(places, hashes, size):
    """Write the numbers of ``size`` terms to an empty table."""
    mask = places.size - 1
    for term in range(size):
        place = np.int64(hashes[term]) & mask
        while places[place] >= 0:
            place = (place + 1) & mask
        places[place] = term


@generic(0)
def with_table(sink, keys, counts):
    """Return what counts n-grams with a table of another size."""


@with_table.when(Hashed)
def _hashed_with(sink, keys, counts):
    return Hashed(keys, counts, sink.size, sink.n_columns, sink.signed, sink.seen)


@with_table.when(Known)
def _known_with(sink, keys, counts):
    return Known(keys, counts, sink.size, sink.words)


@exact
def count_terms(texts, cutting, sink, n_columns):
    """Count the columns of the n-grams of texts.

    Returns counts (float64), columns (int32, sorted in each row) and starts (int64) of a CSR
    matrix; if a text is no UTF-8, its number and ``-1 - byte``, else 0 and 0.
    """
    n_texts = texts.offsets.size - 1
    room = GROWTH * longest(texts, 0) + 8
    out, starts = np.empty(room, np.uint8), np.empty(room + 1, np.int64)
    ends = np.zeros(n_texts + 1, np.int64)
    values, columns = np.empty(1024), np.empty(1024, np.int32)
    keys, counts = np.full(256, -1, np.int32), np.empty(256, np.int64)
    order = np.empty(256, np.int64)
    n = 0
    for i in range(n_texts):
        units = cut(texts.data, texts.offsets[i], texts.offsets[i + 1], cutting, out, starts)
        if units < 0:
            return values[:0], columns[:0], ends, i, units
        most = min(units * (cutting.high - cutting.low + 1), n_columns)
        table = 16
        while table < 2 * most:
            table *= 2
        if table > keys.size:
            keys, counts = np.full(table, -1, np.int32), np.empty(table, np.int64)
            order = np.empty(table, np.int64)
        sink.size[0], sink.size[1] = 0, table - 1
        tables = with_table(borrow(sink), borrow(keys), borrow(counts))
        take_grams(tables, cutting, borrow(out), borrow(starts), units)
        if n + sink.size[0] > columns.size:
            more = 2 * (n + sink.size[0])
            grown_values, grown_columns = np.empty(more), np.empty(more, np.int32)
            grown_values[:n], grown_columns[:n] = values[:n], columns[:n]
            values, columns = grown_values, grown_columns
        found = 0
        for place in range(table):
            if keys[place] >= 0:
                order[found] = (np.int64(keys[place]) << 32) | place
                found += 1
        for pair in np.sort(order[:found]):
            place = pair & 0xFFFFFFFF
            columns[n], values[n] = pair >> 32, counts[place]
            keys[place] = -1
            n += 1
        ends[i + 1] = n
    return values[:n].copy(), columns[:n].copy(), ends, 0, 0


@exact
def weigh_rows(values, columns, ends, idf, power):
    """Multiply counts by the weights of their columns (none if empty), and divide each row by its
    norm: the sum of absolute values (power 1) or the root of the squares' (2); 0 leaves it.
    """
    if idf.size:
        for at in range(values.size):
            values[at] *= idf[columns[at]]
    if power == 0:
        return
    for i in range(ends.size - 1):
        total = 0.0
        for at in range(ends[i], ends[i + 1]):
            total += abs(values[at]) if power == 1 else values[at] * values[at]
        if total != 0.0:
            if power == 2:
                total = np.sqrt(total)
            for at in range(ends[i], ends[i + 1]):
                values[at] /= total
