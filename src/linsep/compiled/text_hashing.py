"""Loops that hash terms of texts, and keep some of them for people who ask what a column is."""

from typing import Any, NamedTuple

import numpy as np

from linsep.compiled.core.jit import exact, inlined

U = np.uint64
M32, C1, C2, C3, C4 = U(0xFFFFFFFF), U(0xCC9E2D51), U(0x1B873593), U(0x85EBCA6B), U(0xC2B2AE35)
ONE, THREE, FOUR, FIVE, ADDED = U(1), U(3), U(4), U(5), U(0xE6546B64)
B8, B13, B15, B16, B17, B19, B24 = U(8), U(13), U(15), U(16), U(17), U(19), U(24)


class Seen(NamedTuple):
    """Some terms of each hashed column, for people who ask what a column is.

    Attributes
    ----------
    hashes : uint32 array of shape (4 * columns,), in order of appearance; 0 for free places
    pool, ends : bytes of the terms and where each ends; columns : the column of each
    size : number of terms, and number of bytes
    """

    hashes: Any
    pool: Any
    ends: Any
    columns: Any
    size: Any


class News(NamedTuple):
    """Terms that may be new to :class:`Seen`, in order of appearance, some of them repeatedly.

    Attributes
    ----------
    recent : uint32 array, hashes of terms that are here, each at the place of its lowest bits
    hashes, columns, pool, ends : of the terms; size : number of terms, and number of bytes
    """

    recent: Any
    hashes: Any
    columns: Any
    pool: Any
    ends: Any
    size: Any


@inlined
def four(data, at):
    """Return the four bytes from ``at`` on as a number."""
    return (
        U(data[at])
        | (U(data[at + U(1)]) << B8)
        | (U(data[at + U(2)]) << B16)
        | (U(data[at + U(3)]) << B24)
    )


@inlined
def murmur(data, begin, end):
    """Return the 32-bit MurmurHash3 (Appleby, 2011) of ``data[begin:end]``; seed 0.

    Up to four bytes behind the end are read, and ignored.
    """
    # Unsigned indices need no test for negative ones.
    h, at, stop = U(0), U(begin), U(end)
    while at + FOUR <= stop:
        k = (four(data, at) * C1) & M32
        k = (((k << B15) | (k >> B17)) & M32) * C2 & M32
        h ^= k
        h = ((((h << B13) | (h >> B19)) & M32) * FIVE + ADDED) & M32
        at += FOUR
    k = four(data, at) & ((ONE << ((stop - at) << THREE)) - ONE)
    k = (k * C1) & M32
    h ^= (((k << B15) | (k >> B17)) & M32) * C2 & M32
    h ^= stop - U(begin)
    h = ((h ^ (h >> B16)) * C3) & M32
    h = ((h ^ (h >> B13)) * C4) & M32
    return h ^ (h >> B16)


@exact
def hash_of(data):
    """Return the 32-bit MurmurHash3 of ``data`` without its last four bytes."""
    return murmur(data, 0, data.size - 4)


@inlined
def is_known(seen, column, h):
    """Return whether a term of a column is kept, or its column is full."""
    hashes, place = seen.hashes, U(column) * FOUR
    # All places are in one line of the cache: to look at each is faster than to choose.
    return (
        (hashes[place] == h)
        | (hashes[place + U(1)] == h)
        | (hashes[place + U(2)] == h)
        | (hashes[place + THREE] == h)
        | (hashes[place + THREE] != 0)
    )


@inlined
def note(news, column, h, out, begin, end):
    """Add a term to the news, unless it is there or there is no room."""
    recent = U(h) & U(news.recent.size - 1)
    term, size = news.size[0], news.size[1]
    if news.recent[recent] == h or term == news.columns.size or size + end - begin > news.pool.size:
        return
    news.recent[recent] = h
    news.hashes[term], news.columns[term] = h, column
    for k in range(end - begin):
        news.pool[size + k] = out[begin + k]
    news.ends[term + 1] = size + end - begin
    news.size[0], news.size[1] = term + 1, size + end - begin


@exact
def keep_news(seen, news):
    """Keep the terms of the news, each unless it is known, or its column or the memory is full."""
    for k in range(news.size[0]):
        column, h = news.columns[k], news.hashes[k]
        begin, length = news.ends[k], news.ends[k + 1] - news.ends[k]
        term, size = seen.size[0], seen.size[1]
        full = term == seen.columns.size or size + length > seen.pool.size
        if full or is_known(seen, column, h):
            continue
        place = 4 * column
        while seen.hashes[place]:
            place += 1
        seen.hashes[place] = h
        seen.pool[size : size + length] = news.pool[begin : begin + length]
        seen.columns[term], seen.ends[term + 1] = column, size + length
        seen.size[0], seen.size[1] = term + 1, size + length
