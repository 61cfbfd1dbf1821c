"""Loops that hash terms of texts, and keep some of them for people who ask what a column is."""

from typing import Any, NamedTuple

import numpy as np

from linsep.compiled.core.jit import exact, inlined
from linsep.compiled.core.murmur import murmur

U = np.uint64
ZERO, ONE, THREE, FOUR = U(0), U(1), U(3), U(4)


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


@exact
def hash_of(data):
    """Return the 32-bit MurmurHash3 of ``data`` without its last four bytes."""
    return murmur(data, ZERO, U(data.size - 4), ZERO)


@inlined
def is_known(seen, column, h):
    """Return whether a term of a column is kept, or its column is full."""
    hashes, place = seen.hashes, U(column) * FOUR
    # All places are in one line of the cache: to look at each is faster than to choose.
    return (
        (hashes[place] == h)
        | (hashes[place + ONE] == h)
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
