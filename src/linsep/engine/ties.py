"""Draws between equal scores, which depend on a seed and on what a row holds, on nothing else.

A row becomes one number of 64 bits, the sum over its columns of a hash of the column and the value
(zeros add nothing), so that a row draws alike wherever it stands and however it is stored. The hash
is that of SplitMix64 (G. Steele, D. Lea and C. Flood, Fast splittable pseudorandom number
generators, OOPSLA 2014).
"""

from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import Any

import numpy as np
import scipy.sparse as sp

#: from row numbers to a number of 64 bits for each
Draws = Callable[[np.ndarray], np.ndarray]

# Of SplitMix64: shift, then multiply, twice; then shift.
SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))
FACTORS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


def mixed(numbers: np.ndarray) -> np.ndarray:
    """uint64 numbers whose every bit depends on all bits of the given ones."""
    for shift, factor in zip(SHIFTS, FACTORS, strict=False):
        numbers = (numbers ^ (numbers >> shift)) * factor
    return numbers ^ (numbers >> SHIFTS[-1])


def numbered(X: Any, n_features: int) -> np.ndarray:
    """uint64 of shape (rows,), from the values of the first ``n_features`` columns of each row."""
    if sp.issparse(X):
        X = X[:, :n_features].tocsr()
        X.sum_duplicates()
        values, columns, starts = X.data, X.indices, X.indptr
    else:
        X = X[:, :n_features]
        rows, columns = np.nonzero(X)
        values, starts = X[rows, columns], np.searchsorted(rows, np.arange(X.shape[0] + 1))
    values = values.astype(np.float64)
    hashes = mixed(values.view(np.uint64) ^ mixed(columns.astype(np.uint64) + np.uint64(1)))
    hashes[values == 0] = 0  # a stored zero is none
    sums = np.append(np.uint64(0), np.cumsum(hashes, dtype=np.uint64))
    return sums[starts[1:]] - sums[starts[:-1]]


def numbered_texts(texts: Iterable[str | bytes]) -> np.ndarray:
    """uint64 of shape (rows,), from texts."""
    plain = (t.encode("utf-8", "surrogatepass") if isinstance(t, str) else t for t in texts)
    digests = b"".join(blake2b(text, digest_size=8).digest() for text in plain)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def seeded(numbers: Callable[[np.ndarray], np.ndarray], seed: int) -> Draws:
    """The draws of rows that ``numbers`` gives a number each, with this seed."""
    salt = mixed(np.array([seed], dtype=np.uint64))
    return lambda rows: mixed(numbers(rows) ^ salt)
