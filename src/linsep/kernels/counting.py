"""Products of counts: frequent columns by dense matrix products, rare ones by sparse products."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep._system.threads import split_rows
from linsep.compiled.kernels import multiply_sparse
from linsep.compiled.rows import csr_rows
from linsep.kernels.letters import Counts, same_kind

#: multiplications in a dense matrix product that take the time of one sparse addition
DENSE_SPEED = 80
#: integers up to which sums in float32 are exact
EXACT32 = 2.0**24
BLOCK = 1024
DENSE_BYTES = 256_000_000


def count_products(A: Counts, B: Counts) -> np.ndarray:
    """Return sums of products of counts over all substrings, float64, exact below 2^53."""
    left, right = _aligned(A, B)
    out = np.zeros((len(A), len(B)))
    if not (left.nnz and right.nnz):
        return out
    frequent, rare = _split(left, right)
    single = np.sqrt(squares(left).max() * squares(right).max()) < EXACT32
    kind = np.float32 if single else np.float64
    step = max(1, DENSE_BYTES // (4 * (len(A) + len(B))))
    for at in range(0, len(frequent), step):
        columns = frequent[at : at + step]
        _add_dense(left[:, columns].astype(kind), right[:, columns].astype(kind), A is B, out)
    if len(rare):
        _add_sparse(left[:, rare], right[:, rare], A is B, out)
    if A is B:
        for start in range(0, len(out), BLOCK):
            part = slice(start, start + BLOCK)
            out[start:, part] = out[part, start:].T
    return out


def squares(matrix: sp.csr_array) -> np.ndarray:
    """Return the sum of squares of every row."""
    return np.ravel(matrix.multiply(matrix).sum(axis=1))


def _aligned(A: Counts, B: Counts) -> tuple[sp.csr_array, sp.csr_array]:
    """Return both matrices with the same columns."""
    if A.grams is B.grams:
        return A.matrix, B.matrix
    same_kind(A.grams.names, B.grams.names)
    # The larger side caches the lookup, so that it is freed with the rows to predict.
    columns, others = B.grams.common(A.grams)
    return A.matrix[:, others], B.matrix[:, columns]


def _split(left: sp.csr_array, right: sp.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns for which a dense product is faster, and the other common columns."""
    n_left = np.bincount(left.indices, minlength=left.shape[1])
    work = n_left * np.bincount(right.indices, minlength=right.shape[1])
    dense = work * DENSE_SPEED > left.shape[0] * right.shape[0]
    return np.flatnonzero(dense), np.flatnonzero(~dense & (work > 0))


def _blocks(n: int, symmetric: bool) -> Any:
    """Yield blocks of rows, each with the first column to compute."""
    for start in range(0, n, BLOCK):
        yield slice(start, start + BLOCK), start if symmetric else 0


def _add_dense(left: sp.csr_array, right: sp.csr_array, symmetric: bool, out: np.ndarray) -> None:
    a = left.toarray()
    b = a if symmetric else right.toarray()
    for rows, first in _blocks(len(a), symmetric):
        out[rows, first:] += a[rows] @ b[first:].T


def _add_sparse(left: sp.csr_array, right: sp.csr_array, symmetric: bool, out: np.ndarray) -> None:
    n_right = np.bincount(right.indices, minlength=right.shape[1])
    for rows, first in _blocks(left.shape[0], symmetric):
        mine, others = left[rows], right[first:].T.tocsr()
        parts = [csr_rows(M.data, M.indices, M.indptr) for M in (mine, others)]
        place, cost = out[rows, first:], float(n_right[mine.indices].sum())
        _spread_rows(parts, place, cost)


def _spread_rows(parts: list, place: np.ndarray, cost: float) -> None:
    split_rows(lambda i, j: multiply_sparse(*parts, i, j, place), len(place), cost)
