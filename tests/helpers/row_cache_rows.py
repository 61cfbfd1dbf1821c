"""Rows to put into a row cache, and ways to put them there, for the tests of row caches."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import scipy.sparse as sp

from linsep.batches import Batch
from linsep.sources.row_cache import RowCacheWriter

KEY = {"files": [["rows.svm", 10, 20]], "options": {"zero_based": True}}


def sparse_rows(rng, rows, width, dtype=np.float64, index=np.int32):
    """Rows of random bits (NaN and infinity too); some are empty, some full."""
    kept = rng.random((rows, width)) < rng.choice([0, 0.3, 1], (rows, 1))
    bits = rng.bytes(np.dtype(dtype).itemsize * int(kept.sum()))
    indptr = np.append(0, np.cumsum(kept.sum(axis=1))).astype(index)
    columns = np.nonzero(kept)[1].astype(index)
    X = sp.csr_matrix((rows, width), dtype=dtype)
    X.data, X.indices, X.indptr = np.frombuffer(bits, dtype).copy(), columns, indptr
    return X


def some_rows(rows=150, width=5, kind="csr", seed=0):
    rng = np.random.default_rng(seed)
    X = sparse_rows(rng, rows, width)
    X.data[:] = rng.normal(size=X.nnz)
    X = X if kind == "csr" else X.toarray()
    return X, rng.integers(0, 2, rows).astype(np.int32)


def write(path, X, y, cuts=(), key=KEY, labels=("no", "yes"), **about):
    batches = (Batch(X[lo:hi], y[lo:hi], lo) for lo, hi in pairwise([0, *cuts, X.shape[0]]))
    return written(path, batches, X.shape[1], labels, key, **about)


def written(path, batches, width, labels=("no", "yes"), key=KEY, **about):
    """The row cache of some batches, which are read with a recipe, with names, and so on."""
    told = {"feature_names": None, "recipe": dict, "dropped": 0, "filled": {}} | about
    writer = RowCacheWriter(path, key)
    try:
        for batch in batches:
            writer.write(batch)
        return writer.commit(width, [*labels], SimpleNamespace(**told))
    finally:
        writer.abort()
