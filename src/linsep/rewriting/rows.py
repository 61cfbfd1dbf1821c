"""Rows of any source as a file that is read without parsing."""

from pathlib import Path

from linsep.errors import DataError
from linsep.interrupts import checkpoint
from linsep.sources.base import Source
from linsep.sources.exact import unrounded
from linsep.sources.row_cache.source import KEY
from linsep.sources.row_cache.writing import RowCacheWriter, footer_of


class RowsWriter:
    """Writes the rows of a source, their labels, weights and recipe.

    Attributes
    ----------
    rows : number of rows written
    lost : what the format has no place for, in sentences
    """

    def __init__(self, source: Source):
        self._source, self.rows = source, 0
        self.lost: list[str] = []

    def write_to(self, path: Path) -> None:
        """Write all rows; the file appears when it is whole.

        Raises DataError if rows have no labels, RowCacheError if the disk is full.
        """
        source, width = self._source, 0
        with RowCacheWriter(path, KEY) as writer:
            for batch in unrounded(source):
                checkpoint()
                if batch.y is None:
                    raise DataError(f"{source.name} has no labels, which a file of rows needs.")
                writer.write(batch)
                self.rows, width = self.rows + batch.X.shape[0], max(width, batch.X.shape[1])
            writer.commit(width, **footer_of(source)).close()
        self.lost = ["groups of rows are left out"] if source.grouped else []
