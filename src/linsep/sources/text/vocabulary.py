"""Terms in memory: learnt from texts within a bound, pruned, ordered, and looked up."""

from typing import Any

import numpy as np
import pyarrow as pa

from linsep.compiled.core.row_arrays import read_only
from linsep.compiled.text_counting import Vocabulary, add_terms, learn_terms, rebuilt
from linsep.compiled.text_cutting import Texts
from linsep.errors import DataError, hint

#: most terms of a vocabulary while it is learnt, and their bytes
MOST_TERMS, MOST_BYTES = 1 << 22, 1 << 27
_TERMS, _BYTES = 1 << 12, 1 << 16


def empty(n_terms: int = _TERMS, n_bytes: int = _BYTES) -> Vocabulary:
    """Return a vocabulary without terms that has room for so many."""
    table = 1 << max(4, 2 * n_terms - 1).bit_length()
    return Vocabulary(
        places=np.full(table, -1, np.int32),
        hashes=np.zeros(n_terms, np.uint32),
        pool=np.zeros(n_bytes, np.uint8),
        ends=np.zeros(n_terms + 1, np.int64),
        texts=np.zeros(n_terms, np.int64),
        last=np.zeros(n_terms, np.int64),
        size=np.zeros(3, np.int64),
    )


def learnt(words: Vocabulary, texts: Texts, cutting: Any) -> tuple[Vocabulary, int, int]:
    """Add the terms of texts; return the vocabulary, which may be a larger one, and the number of
    a text that is no UTF-8 and ``-1 - byte``, else 0 and 0.

    Raises DataError beyond :data:`MOST_TERMS` or :data:`MOST_BYTES`.
    """
    first, fault = learn_terms(texts, 0, cutting, words)
    while words.size[2]:
        words = _grown(words)
        # What was added of the text at hand is known, and not counted twice.
        first, fault = learn_terms(texts, first, cutting, words)
    return words, (first if fault else 0), fault


def of_terms(terms: list[str]) -> Vocabulary:
    """Return the vocabulary of different terms; their numbers are their places in the list."""
    texts = texts_of(pa.array([*terms, 8 * "\0"], pa.large_string()))
    words = empty(max(1, len(terms)), max(1, int(texts.offsets[-2])))
    add_terms(texts._replace(offsets=texts.offsets[:-1]), words)
    return words


def terms_of(words: Vocabulary, chosen: np.ndarray | None = None) -> list[str]:
    """Return the terms, or those of a boolean array, in the order of their numbers."""
    size = int(words.size[0])
    found = _as_arrow(words.pool, words.ends[: size + 1])
    return (found if chosen is None else found.filter(pa.array(chosen))).to_pylist()


def texts_of(column: pa.Array) -> Texts:
    """Return the buffers of an Arrow array of strings; missing values must be filled."""
    large = pa.types.is_large_string(column.type) or pa.types.is_large_binary(column.type)
    kind = np.int64 if large else np.int32
    _, offsets, data = column.buffers()
    begin = np.frombuffer(offsets, kind)[column.offset : column.offset + len(column) + 1]
    begin = begin.astype(np.int64)
    if data is None or not data.size:
        return Texts(read_only(np.zeros(1, np.uint8)), begin)
    return Texts(read_only(np.frombuffer(data, np.uint8)), begin)


def _as_arrow(pool: np.ndarray, ends: np.ndarray) -> pa.Array:
    buffers = [None, pa.py_buffer(ends.tobytes()), pa.py_buffer(pool[: ends[-1]].tobytes())]
    return pa.Array.from_buffers(pa.large_string(), len(ends) - 1, buffers)


def _grown(words: Vocabulary) -> Vocabulary:
    """Return a copy with twice the room."""
    n_terms, n_bytes = 2 * words.hashes.size, 2 * words.pool.size
    if words.size[0] < words.hashes.size:
        n_terms = words.hashes.size
    else:
        n_bytes = words.pool.size
    if n_terms > MOST_TERMS or n_bytes > MOST_BYTES:
        raise DataError(
            f"The vocabulary has more than {MOST_TERMS:,} different words and n-grams, or "
            f"{MOST_BYTES >> 20} MB of them",
            hint("hash them by leaving out {}", vocabulary=True),
            "learn shorter n-grams",
        )
    more, size = empty(n_terms, n_bytes), int(words.size[0])
    more.hashes[:size], more.texts[:size] = words.hashes[:size], words.texts[:size]
    more.last[:size], more.ends[: size + 1] = words.last[:size], words.ends[: size + 1]
    more.pool[: words.pool.size] = words.pool
    more.size[:2] = words.size[:2]
    rebuilt(more.places, more.hashes, size)
    return more
