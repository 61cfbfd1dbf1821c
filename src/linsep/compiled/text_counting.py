"""Loops that count the n-grams of texts, by hashed columns or by a vocabulary, which they learn."""

from typing import Any, NamedTuple

import numpy as np

from linsep.compiled.hashing import murmur, murmur_of_word, room_for_heads, sort_keys
from linsep.compiled.jit import borrow, exact, generic, inlined, prefetch
from linsep.compiled.text_cutting import CHAR_WB, GROWTH, WORD, cut, longest

U = np.uint64
ZERO, ONE, THREE, FOUR = U(0), U(1), U(3), U(4)


@exact
def hash_of(data):
    """Return the 32-bit MurmurHash3 of ``data`` without its last four bytes."""
    return murmur(data, ZERO, U(data.size - 4), ZERO)


#: n-grams that are hashed at a time, while the memory where they are looked up comes
GRAMS_AT_ONCE = 128


class TextColumns(NamedTuple):
    """The terms of one text: ``keys`` are twice the column of each, plus 1 for a count of -1."""

    keys: Any
    size: Any


class Grams(NamedTuple):
    """Some n-grams of ``length`` units of a text, ``number`` from unit ``first`` on.

    Unit i is between edges ``step * i`` and ``step * i + 1``; ``hashes`` is room for those.
    """

    edges: Any
    step: int
    first: int
    length: int
    number: int
    hashes: Any


class ByHash(NamedTuple):
    """Columns by hash."""

    found: Any
    n_columns: int
    signed: bool


class ByVocabulary(NamedTuple):
    """Columns of a vocabulary."""

    found: Any
    words: Any


class Vocabulary(NamedTuple):
    """Terms and the number of texts in which they occur, and the last of these.

    ``places`` is a table of term numbers by hash, int32, -1 where it is free; ``pool`` has the
    bytes of all terms, which end at ``ends``; ``size`` is the number of terms, the number of the
    current text, and whether space has run out.
    """

    places: Any
    hashes: Any
    pool: Any
    ends: Any
    texts: Any
    last: Any
    size: Any


@generic(0)
def count_grams(sink, out, grams):
    """Pass n-grams of ``out`` to a counter."""


@inlined
def place_of(grams, k):
    """Return where n-gram number k begins and ends."""
    at = U(grams.step) * (U(grams.first) + U(k))
    return grams.edges[at], grams.edges[at + U(grams.step * (grams.length - 1) + 1)]


@inlined
def hash_of_gram(out, grams, k):
    """Return the hash of n-gram number k."""
    begin, end = place_of(grams, k)
    return murmur_of_word(out, U(begin), U(end))


@count_grams.when(ByHash)
def _count_by_hash(sink, out, grams):
    mask, size = sink.n_columns - 1, U(sink.found.size[0])
    for k in range(U(grams.number)):
        h = np.int64(hash_of_gram(out, grams, k))
        negative = h >= 0x80000000
        column = 0x100000000 - h if negative else h
        column = column & mask if sink.n_columns & mask == 0 else column % sink.n_columns
        sink.found.keys[size + k] = (column << 1) | (sink.signed & negative)
    sink.found.size[0] += grams.number


@inlined
def find_term(words, h, out, begin, end):
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


@inlined
def hash_all(words, out, grams):
    """Hash n-grams, and prefetch the slots where they are looked up."""
    mask = U(words.places.size - 1)
    for k in range(U(grams.number)):
        h = hash_of_gram(out, grams, k)
        grams.hashes[k] = h
        prefetch(words.places, h & mask)


@count_grams.when(ByVocabulary)
def _count_by_vocabulary(sink, out, grams):
    hash_all(sink.words, out, grams)
    size = sink.found.size[0]
    for k in range(U(grams.number)):
        begin, end = place_of(grams, k)
        term = find_term(sink.words, grams.hashes[k], out, begin, end)
        if term >= 0:
            sink.found.keys[U(size)] = term << 1
            size += 1
    sink.found.size[0] = size


@count_grams.when(Vocabulary)
def _count_new_terms(sink, out, grams):
    hash_all(sink, out, grams)
    for k in range(U(grams.number)):
        if sink.size[2]:
            return
        begin, end = place_of(grams, k)
        add_term(sink, grams.hashes[k], out, begin, end)


@inlined
def add_term(sink, h, out, begin, end):
    """Add a term of the current text to a vocabulary; ``size[2]`` is 1 if there is no space."""
    term = find_term(sink, h, out, begin, end)
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
def take_grams(sink, cutting, out, edges, units, room):
    """Pass all n-grams of a text to a counter."""
    # A word has two edges of its own, and characters share them with the next.
    step = 2 if cutting.analyzer == WORD else 1
    first = 0
    while first < units:
        last = units
        if cutting.analyzer == CHAR_WB:  # a word ends with the next blank
            last = first + 1
            while out[edges[last]] != 32:
                last += 1
            last += 1
        for n in range(cutting.low, cutting.high + 1):
            short = cutting.analyzer == CHAR_WB and last - first <= n  # a short word counts once
            length = last - first if short else n
            for i in range(first, last - length + 1, GRAMS_AT_ONCE):
                number = min(GRAMS_AT_ONCE, last - length + 1 - i)
                count_grams(sink, out, Grams(edges, step, i, length, number, room))
            if short:
                break
        first = last


@exact
def learn_terms(texts, first, cutting, words):
    """Add the terms of texts from number ``first`` on to a vocabulary.

    Returns the number of the first text without space (to resume from there), or the number of
    texts; and ``-1 - byte`` where a text is not valid UTF-8, or 0.
    """
    room = GROWTH * longest(texts, first) + 8
    out, edges, hashed = (
        np.empty(room, np.uint8),
        np.empty(room + 1, np.int64),
        np.empty(GRAMS_AT_ONCE, np.uint32),
    )
    for i in range(first, texts.offsets.size - 1):
        units = cut(texts.data, texts.offsets[i], texts.offsets[i + 1], cutting, out, edges)
        if units < 0:
            return i, units
        take_grams(borrow(words), cutting, borrow(out), borrow(edges), units, borrow(hashed))
        if words.size[2]:
            return i, 0
        words.size[1] += 1
    return texts.offsets.size - 1, 0


@exact
def add_terms(texts, words):
    """Add distinct terms, eight more bytes after the last, to a vocabulary with space for them."""
    room, n_terms = np.empty(GRAMS_AT_ONCE, np.uint32), texts.offsets.size - 1
    for first in range(0, n_terms, GRAMS_AT_ONCE):
        number = min(GRAMS_AT_ONCE, n_terms - first)
        count_grams(words, texts.data, Grams(texts.offsets, 1, first, 1, number, room))


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
def with_keys(sink, found):
    """Return a counter of n-grams with another buffer for the keys of a text."""


with_keys.when(ByHash)(lambda sink, found: ByHash(found, sink.n_columns, sink.signed))
with_keys.when(ByVocabulary)(lambda sink, found: ByVocabulary(found, sink.words))


@inlined
def count_keys(keys, n, values, columns, first):
    """Write each column of sorted keys and its count from ``first`` on; return where they end."""
    at, last, total = first - 1, np.int64(-1), 0
    for k in range(n):
        key = np.int64(keys[k])
        # No branch depends on which columns occur again, which no processor can foresee.
        again = key >> 1 == last
        last = key >> 1
        at += 1 - again
        total = total * again + 1 - 2 * (key & 1)
        columns[U(at)], values[U(at)] = last, total
    return at + 1


@exact
def count_terms(texts, cutting, sink, n_columns):
    """Count the columns of the n-grams of texts.

    Returns counts (float64), columns (int32, sorted in each row) and starts (int64) of a CSR
    matrix; if a text is not valid UTF-8, its number and ``-1 - byte``, else 0 and 0.
    """
    n_texts = texts.offsets.size - 1
    room = GROWTH * longest(texts, 0) + 8
    out, edges, hashed = (
        np.empty(room, np.uint8),
        np.empty(room + 1, np.int64),
        np.empty(GRAMS_AT_ONCE, np.uint32),
    )
    starts = np.zeros(n_texts + 1, np.int64)
    most = 1024 + (texts.offsets[-1] - texts.offsets[0]) // 8
    values, columns = np.empty(most), np.empty(most, np.int32)
    keys, spare = np.empty(256, np.uint32), np.empty(256, np.uint32)
    size, heads = np.zeros(1, np.int64), room_for_heads()
    n = 0
    for i in range(n_texts):
        units = cut(texts.data, texts.offsets[i], texts.offsets[i + 1], cutting, out, edges)
        if units < 0:
            return values[:0], columns[:0], starts, i, units
        most = units * (cutting.high - cutting.low + 1)
        if most > keys.size:
            keys, spare = np.empty(2 * most, np.uint32), np.empty(2 * most, np.uint32)
        size[0] = 0
        taking = with_keys(borrow(sink), TextColumns(borrow(keys), borrow(size)))
        take_grams(taking, cutting, borrow(out), borrow(edges), units, borrow(hashed))
        if n + size[0] > columns.size:
            values, columns = grown(values, n, size[0]), grown(columns, n, size[0])
        found = sort_keys(keys, spare, heads, size[0], 1, n_columns)
        n = count_keys(borrow(found), size[0], borrow(values), borrow(columns), n)
        starts[i + 1] = n
    return values[:n], columns[:n], starts, 0, 0


@inlined
def grown(array, n, more):
    """Return the first ``n`` entries in an array with space for twice as many plus ``more``."""
    result = np.empty(2 * (n + more), array.dtype)
    result[:n] = array[:n]
    return result


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
