"""Rows of a source for least squares, and the check of their weights."""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from linsep.errors import DataError, hint
from linsep.estimators._common.predicting_sources import numbers
from linsep.estimators._common.reading import Reading
from linsep.regression.blocks import Block, Blocks
from linsep.rows.sample import added
from linsep.sources.base import Source


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


def source_blocks(source: Source, reading: Reading, whole: bool = False) -> Blocks:
    """Return the blocks of a source.

    ``whole`` refuses weights that are no whole numbers.
    """

    def blocks() -> Iterator[Block]:
        total = np.zeros(1)
        for batch in reading.of(iter(source.batches())):
            y = numbers(batch.y, source, batch.first)
            X, weights = batch.X, batch.weights
            reading.count(y.size)
            if whole and weights is not None:
                check_whole(weights, partial(_place, source, batch.first))
            if weights is not None:
                total = added(total, np.zeros(y.size, dtype=np.intp), weights)
            if weights is not None and not weights.all():
                X, y, weights = X[weights > 0], y[weights > 0], weights[weights > 0]
            yield Block(X, y, weights)
        if not reading.rows:
            raise DataError(f"{source.name} has no rows to learn from.")

    return blocks
