"""Readings of a source by an estimator: attributes set afterward, and Ctrl-C."""

from collections.abc import Generator, Iterator
from contextlib import closing
from typing import Any

import numpy as np

from linsep._system.interrupts import interrupts_allowed
from linsep.errors import warn_caller
from linsep.estimators._common.stop_reasons import StopReason


def describe(model: Any, read: Any, n_features: int) -> None:
    """Set ``n_features_in_``, ``feature_names_in_`` and ``recipe_`` after reading."""
    names = read.feature_names or []
    model.n_features_in_, model.recipe_ = max(n_features, len(names)), read.recipe()
    model.__dict__.pop("feature_names_in_", None)
    if names:
        model.feature_names_in_ = np.array(names, dtype=object)


class Reading:
    """Readings of a source; Ctrl-C ends the first one early, and later ones stop at the same row.

    Use it within ``interrupts_deferred``, so Ctrl-C takes effect nowhere else. Before the first
    row, or in a later reading, KeyboardInterrupt is raised.

    Attributes
    ----------
    interrupted : bool
    rows : int, number of rows read by the last reading
    """

    def __init__(self) -> None:
        self.interrupted, self.rows = False, 0
        self._limit: int | None = None
        self._whole = False

    def of(self, items: Iterator[Any]) -> Generator[Any, None, None]:
        """Yield the items until interrupted; call :meth:`count` with the rows of each."""
        self.rows = 0
        with closing(items):  # type: ignore[type-var]
            while self._limit is None or self.rows < self._limit:
                try:
                    with interrupts_allowed():
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
        """Add to the number of rows read."""
        self.rows += rows

    def finish_interrupted(self, model: Any, name: str) -> None:
        """Set the stop reason of an interrupted model, warn, and raise KeyboardInterrupt."""
        model.stop_reason_ = StopReason.INTERRUPTED
        warn_caller(
            f"The reading was interrupted: the estimates use the first {self.rows:,} rows of "
            f"{name}."
        )
        raise KeyboardInterrupt
