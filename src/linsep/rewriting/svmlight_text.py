"""Rows of any source as svmlight text, every number with as many digits as it needs."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from linsep.errors import DataError
from linsep.sources.base import Batch, Source
from linsep.sources.exact import EXACT, unrounded

#: rows that are formatted at a time
_ROWS = 4096


class SvmlightWriter:
    """Writes the rows of a source as svmlight text.

    Parameters
    ----------
    source : Source
        With labels. Text as labels becomes numbers by order: -1 and 1 for two classes, else 0, 1,
        2, ...; the source is then read twice.

    Attributes
    ----------
    rows : number of rows written
    labels : the number of each label that is text or a boolean, empty for numbers
    lost : what the format has no place for, in sentences
    """

    def __init__(self, source: Source):
        self._source, self.rows = source, 0
        self.labels: dict[Any, int] = {}

    def write(self, file: Any) -> None:
        """Write all rows to a binary file; DataError if they cannot be read or have no labels."""
        for batch in unrounded(self._source):
            if batch.y is None:
                raise DataError(
                    f"{self._source.name} has no labels, which svmlight text begins with."
                )
            if batch.y.dtype.kind not in "iuf" and not self.labels:
                self._number_labels()
            self._check_labels(batch)
            self._write(file, batch)
            self.rows += batch.X.shape[0]

    def _check_labels(self, batch: Batch) -> None:
        """Raise DataError for a whole number that a double does not tell from the next."""
        y = np.asarray(batch.y)
        if y.dtype.kind in "iu" and (long := (y >= EXACT) | (y <= -EXACT)).any():
            row = int(np.argmax(long))
            raise DataError(
                f"{self._source.where(batch.first + row)} has the label {y[row]}, and labels of "
                "svmlight text are read as floats: shorten the labels."
            )

    def _number_labels(self) -> None:
        """Read all labels, and number them in order."""
        found: set[Any] = set()
        for batch in self._source.batches():
            if batch.y is not None:
                found.update(np.unique(batch.y).tolist())
        ordered = sorted(found)
        codes = [-1, 1] if len(ordered) == 2 else range(len(ordered))
        self.labels = dict(zip(ordered, codes, strict=True))

    def _write(self, file: Any, batch: Batch) -> None:
        y = np.asarray(batch.y)
        if self.labels:
            values, places = np.unique(y, return_inverse=True)
            y = np.array([self.labels[label] for label in values.tolist()])[places]
        for start in range(0, len(y), _ROWS):
            X = batch.X[start : start + _ROWS]
            file.write(
                svmlight_lines(
                    sp.csr_matrix(X) if sp.issparse(X) else stored(X), y[start : start + _ROWS]
                )
            )

    @property
    def lost(self) -> list[str]:
        """What was left out or changed, after writing."""
        source, found = self._source, []
        names = source.feature_names
        if names is not None:
            shown = ", ".join(f"{k} = {name}" for k, name in enumerate(names[:3], 1))
            more = " and so on" if len(names) > 3 else ""
            found.append(f"names of features are left out; their numbers are {shown}{more}")
        if self.labels:
            pairs = [f"{number} = {label}" for label, number in [*self.labels.items()][:6]]
            more = " and so on" if len(self.labels) > 6 else ""
            found.append(f"labels are numbers: {', '.join(pairs)}{more}")
        if source.weighted:
            found.append("weights of rows are left out")
        if source.grouped:
            found.append("groups of rows are left out")
        return found


def stored(X: np.ndarray) -> sp.csr_matrix:
    """Return dense rows as a CSR matrix of what is not 0.0; -0.0 is stored."""
    rows, columns = np.nonzero((X != 0) | np.signbit(X))
    starts = np.searchsorted(rows, np.arange(X.shape[0] + 1))
    return sp.csr_matrix((X[rows, columns], columns, starts), shape=X.shape)


def svmlight_lines(X: sp.csr_matrix, y: np.ndarray) -> memoryview:
    """Return rows as lines; a number is the shortest decimal that is read as the same double."""
    indices = pa.array(X.indices.astype(np.int64) + 1).cast(pa.string())
    values = pa.array(X.data.astype(np.float64)).cast(pa.string())
    pairs = pc.binary_join_element_wise(indices, values, ":")
    rows = pc.binary_join(pa.ListArray.from_arrays(pa.array(X.indptr, pa.int32()), pairs), " ")
    whole = y.dtype.kind in "iu" or bool((np.trunc(y) == y).all() and (np.abs(y) < 2**53).all())
    labels = pa.array(y.astype(np.int64) if whole else y).cast(pa.string())
    lines = pc.binary_join_element_wise(labels, rows, " ")
    text = pc.binary_join_element_wise(lines, pa.scalar(""), "\n")
    return _bytes_of(text)


def _bytes_of(text: pa.StringArray) -> memoryview:
    """Return the bytes of all texts, one after the other."""
    offsets, data = text.buffers()[1:]
    first, last = np.frombuffer(offsets, np.int32)[[text.offset, text.offset + len(text)]].tolist()
    return memoryview(data)[first:last]
