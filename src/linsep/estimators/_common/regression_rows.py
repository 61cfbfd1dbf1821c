"""Rows of a source for least squares, and what is looked at in their targets and weights."""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from linsep.errors import DataError, hint
from linsep.estimators._common.from_source import Reading
from linsep.estimators._common.predicting_sources import Residuals, numbers
from linsep.regression.blocks import Block, Blocks
from linsep.sources.base import Source


class TwoValues:
    """Whether y has only two values, and its standard deviation, computed block by block."""

    def __init__(self) -> None:
        self._values: np.ndarray | None = np.zeros(0)
        self._about_mean = Residuals()

    @property
    def deviation(self) -> float:
        """The standard deviation of y, which is the RMS error of predicting its mean."""
        return float(np.sqrt(self._about_mean.spread / (self._about_mean.weight or 1.0)))

    def see(self, y: np.ndarray, weights: np.ndarray | None = None) -> None:
        """Add some values; repeated passes over the same values are allowed."""
        self._about_mean = self._about_mean.and_more(y, y, weights)
        if self._values is None or not y.size:
            return
        both = np.unique(np.concatenate([self._values, [y.min(), y.max()]]))
        known = (y == both[0]) | (y == both[-1])
        self._values = both if both.size < 3 and known.all() else None

    def both(self) -> tuple[float, float] | None:
        """Return the two values, or None."""
        values = self._values
        return None if values is None or values.size != 2 else (float(values[0]), float(values[1]))


def check_whole(weights: np.ndarray, place: Callable[[int], str]) -> None:
    """Raise DataError for a weight that is no number of rows."""
    if (parts := weights % 1 != 0).any():
        row = int(np.argmax(parts))
        raise DataError(
            f"{place(row)} has the weight {weights[row]:g}, which is no number of rows",
            hint("take weights for inverse variances with {}", weight_type="precision"),
        )


def _place(source: Source, first: int, row: int) -> str:
    return source.where(first + row)


def source_blocks(
    source: Source, values: TwoValues, reading: Reading, whole: bool = False
) -> Blocks:
    """Return the blocks of a source; the last has all features, and ``values`` gets every y.

    ``whole`` refuses weights that are no whole numbers.
    """

    def blocks() -> Iterator[Block]:
        for batch in reading.of(iter(source.batches())):
            y = numbers(batch.y, source, batch.first)
            X, weights = batch.X, batch.weights
            values.see(y, weights)
            reading.count(y.size)
            if whole and weights is not None:
                check_whole(weights, partial(_place, source, batch.first))
            if weights is not None and not weights.all():
                X, y, weights = X[weights > 0], y[weights > 0], weights[weights > 0]
            yield Block(X, y, weights)
        if not reading.rows:
            raise DataError(f"{source.name} has no rows to learn from.")

    return blocks
