"""Rows that ``linsep convert`` wrote to a file of its own, as a source."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from linsep.batches import Batch, number_of_weighed, weighed
from linsep.errors import DataError
from linsep.sources.base import Source
from linsep.sources.remote.file import File, local
from linsep.sources.row_cache import RowCache, RowCacheDamaged

#: key of such files, which do not depend on others
KEY = {"rows": 1}
_BATCH_BYTES = 16 << 20


class RowsSource(Source):
    """Rows of one file with the ending .rows: features as they were made, labels and weights.

    Its recipe is that of the source it was made from, so that a model learnt from it reads such
    files, too.

    Raises DataError if the file was not written by ``linsep convert``, or others may write to it.
    """

    kind = "rows"

    def __init__(self, paths: list[File]):
        if len(paths) > 1:
            raise DataError(f"{paths[0]} holds rows with their recipe: give it alone.")
        self.paths, self.name = paths, str(paths[0])
        self._position, self._proving = 0, False
        self._cache = self._open()
        self.weighted = self._cache.weighted
        self.dropped, self.filled = self._cache.dropped, self._cache.filled
        self.n_rows: int | None = self._cache.n_rows

    def _open(self) -> RowCache:
        (path,) = local(self.paths)
        found = RowCache.open(path, KEY, mark=False)
        if found is None or found.recipe is None:
            raise DataError(
                f"{self.name} is no whole file of rows that linsep convert wrote on a machine of "
                "this kind, or others may write to it: convert the data again."
            )
        return found

    def batches(self) -> Iterator[Batch]:
        """Yield the rows, each checked; DataError if the file is damaged."""
        self._proving = False
        return self._batches()

    def exactly(self, weightless: bool = False) -> Iterator[Batch]:
        """Yield the rows; those of weight 0 are left out unless ``weightless``."""
        self._proving = self.weighted and not weightless
        return weighed(self._batches()) if self._proving else self._batches()

    def _batches(self) -> Iterator[Batch]:
        labels = np.array(self._cache.labels)
        try:
            for batch in self._cache.iterate(_BATCH_BYTES):
                yield batch._replace(y=labels[batch.y])
                read = batch.first + batch.size
                self._position = self._cache.n_bytes * read // self._cache.n_rows
        except RowCacheDamaged as error:
            raise DataError(f"{self.name} is damaged: convert the data again.") from error

    def where(self, row: int) -> str:
        """Return ``file.rows row 18``, counted from 1."""
        number = number_of_weighed(self._batches(), row) if self._proving else row
        return f"{self.name} row {number + 1}"

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the features, if they had any."""
        return self._cache.feature_names

    @property
    def memory_needed(self) -> int:
        """About as many bytes as on disk."""
        return self._cache.n_bytes

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return self._cache.n_bytes

    @property
    def position(self) -> int:
        """Bytes read so far."""
        return self._position

    def options(self) -> dict[str, Any]:
        """Nothing: the file has all."""
        return {}

    def recipe(self) -> dict[str, Any]:
        """Return the recipe of the source that the rows were made from."""
        assert self._cache.recipe is not None
        return self._cache.recipe
