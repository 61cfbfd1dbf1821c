"""Passes over rows that another stream of the same source has read and kept."""

from linsep.rows.source_stream import SourceStream


class RowsAgain(SourceStream):
    """A stream of rows that are in memory or in a row cache already; nothing is parsed.

    Parameters
    ----------
    kept : stream whose first pass is done, which is closed after this one
    shuffle, unit, fraction : see :class:`SourceStream`; all else is as in ``kept``
    """

    def __init__(self, kept: SourceStream, *, shuffle: bool, unit: bool, fraction: float | None):
        self.__dict__.update(kept.__dict__)
        self.shuffle, self._unit, self._fraction = shuffle, unit, fraction
        self._fed = self._row_batches_of = None
        self.draws_sample = True
        self.from_cache = False  # a damaged cache is an error: it cannot be made again from here

    def begin(self) -> None:
        """Do nothing: the rows have been read."""

    def close(self) -> None:
        """Stop the iteration; the files are those of the other stream."""
        if self._row_batches_of is not None:
            self._row_batches_of.close()
