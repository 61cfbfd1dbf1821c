"""Where a stream's rows stay after the first pass: in memory if they fit, else in a spool."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep.sources.base import Batch
from linsep.sources.spool import Spool
from linsep.sources.spool_writer import SpoolWriter


def nbytes(X: Any) -> int:
    """Bytes of the rows of an array or CSR matrix."""
    return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if sp.issparse(X) else X.nbytes


def join(parts: list[Any], n_features: int) -> Any:
    """Row blocks of equal or growing width as one matrix of ``n_features`` columns."""
    if not sp.issparse(parts[0]):
        return np.ascontiguousarray(np.concatenate(parts))
    starts, offset = [np.zeros(1, dtype=np.int64)], 0
    for part in parts:
        starts.append(part.indptr[1:].astype(np.int64) + offset)
        offset += int(part.indptr[-1])
    data = np.concatenate([part.data for part in parts])
    indices = np.concatenate([part.indices for part in parts])
    indptr = np.concatenate(starts).astype(indices.dtype)
    return sp.csr_matrix((data, indices, indptr), shape=(indptr.size - 1, n_features))


class Keeper:
    """Takes batches as they stream by and keeps them for later passes.

    Up to ``memory_bytes`` they stay in memory; beyond, everything goes to a spool that
    ``writer()`` starts. :meth:`finish` says where they are.
    """

    def __init__(self, writer: Callable[[], SpoolWriter], memory_bytes: int):
        self._start_spool, self._memory_bytes = writer, memory_bytes
        self._parts: list[Batch] = []
        self._held = 0
        self._spool: SpoolWriter | None = None

    def keep(self, batch: Batch) -> None:
        """Keep the rows of one batch; may raise SpoolError, leaving nothing behind."""
        if self._spool is not None:
            self._spool.write(batch)
            return
        self._parts.append(batch)
        self._held += nbytes(batch.X)
        if self._held > self._memory_bytes:
            self._spool = self._start_spool()
            for part in self._parts:
                self._spool.write(part)
            self._parts = []

    def finish(
        self, n_features: int, names: list[str] | None, recipe: dict[str, Any]
    ) -> Spool | tuple[Any, np.ndarray]:
        """The finished spool, or all rows and labels in memory."""
        if self._spool is not None:
            return self._spool.commit(n_features, names, recipe)
        X = join([part.X for part in self._parts], n_features)
        y = np.concatenate([np.asarray(part.y) for part in self._parts])
        self._parts = []
        return X, y

    def abort(self) -> None:
        """Forget everything; no file is left behind."""
        self._parts = []
        if self._spool is not None:
            self._spool.abort()
