"""Ctrl-C while a source is read for statistics: those of the rows so far are kept."""

import warnings
from collections.abc import Generator, Iterator
from contextlib import closing
from typing import Any

from linsep.engine.stop import StopReason
from linsep.interrupts import window


class Reading:
    """Readings of the rows of a source; Ctrl-C in the first ends it, and later ones end there too.

    To be used within :class:`linsep.interrupts.held`, so that it takes effect nowhere else. In a
    later reading, or before the first row, it is raised: what was read is no use then.

    Attributes
    ----------
    interrupted : bool
    rows : int, how many were read by the last reading
    """

    def __init__(self) -> None:
        self.interrupted, self.rows = False, 0
        self._limit: int | None = None
        self._whole = False

    def of(self, items: Iterator[Any]) -> Generator[Any, None, None]:
        """The same items as long as nobody interrupts; :meth:`count` is told their rows."""
        self.rows = 0
        with closing(items):  # type: ignore[type-var]
            while self._limit is None or self.rows < self._limit:
                try:
                    with window():
                        item = next(items, None)
                except KeyboardInterrupt:
                    if self._whole or self._limit is not None or not self.rows:
                        raise
                    self._limit, self.interrupted = self.rows, True
                    return
                if item is None:
                    self._whole = True
                    return
                yield item

    def count(self, rows: int) -> None:
        """Note that so many rows were taken in."""
        self.rows += rows

    def tell(self, model: Any, name: str) -> None:
        """Say of a model that was interrupted what its estimates are, and let Ctrl-C go on."""
        model.stop_reason_ = StopReason.INTERRUPTED
        warnings.warn(
            f"The reading was interrupted: the estimates are those of the first {self.rows:,} rows "
            f"of {name}.",
            stacklevel=4,
        )
        raise KeyboardInterrupt
