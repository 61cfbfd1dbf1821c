"""Numbers beside the features of rows of tables: offsets, and counts of binomial groups."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from linsep.batches import Batch
from linsep.errors import DataError
from linsep.sources.tables.columns import Columns
from linsep.sources.tables.table_file import Place, numbers_in
from linsep.validation.counts import check_counts


class Beside(NamedTuple):
    """Numbers beside the rows that are kept, each an array of shape (rows,) or None."""

    offset: np.ndarray | None = None
    successes: np.ndarray | None = None
    trials: np.ndarray | None = None

    def of_batch(self, batch: Batch) -> Batch:
        """Return the rows with their offsets, and two rows for each row with counts: successes of
        class 1, and failures of class 0, with their numbers as weights.
        """
        offset, unanswered = self.offset, batch.unanswered
        if offset is not None and (gaps := np.isnan(offset)).any():  # of rows without predictions
            offset = np.where(gaps, 0.0, offset)
            unanswered = gaps if unanswered is None else gaps | unanswered
        batch = batch._replace(offset=offset, unanswered=unanswered)
        if self.successes is None or self.trials is None:
            return batch
        twice = batch.rows(np.repeat(np.arange(batch.size), 2))
        weights = np.column_stack([self.successes, self.trials - self.successes]).ravel()
        y = np.tile(np.array([1, 0]), batch.size)
        return twice._replace(y=y, weights=weights)


def beside_rows(
    table: pa.Table, columns: Columns, place: Place, kept: np.ndarray | None, wanted: bool
) -> Beside:
    """Return the numbers beside the rows of a table that are kept; counts only if they are
    ``wanted``.

    Raises
    ------
    DataError
        If an offset is missing or not finite, unless such rows get no prediction; if trials are
        below successes, or a count is not a whole number of at least 0. The message names the row.
    """
    every = np.arange(table.num_rows) if kept is None else np.flatnonzero(kept)
    offset = _offsets(table, columns)
    if offset is not None:
        offset = offset[every]
        good = np.isfinite(offset) | (np.isnan(offset) & (columns.missing == "skip"))
        if not good.all():
            row = int(np.argmin(good))
            missing = np.isnan(offset[row])
            found = "missing" if missing else f"{offset[row]:g}"
            raise DataError(
                place(int(every[row])) + f" has an offset that is {found}, not a finite number: "
                "correct it or leave the row out.",
                code="missing-value" if missing else "not-finite",
                column=columns.offset,
            )
    if not wanted or columns.successes is None or columns.trials is None:
        return Beside(offset)
    named = columns.successes, columns.trials
    successes, trials = (numbers_in(table, name)[every] for name in named)
    check_counts(successes, trials, lambda row: place(int(every[row])))
    return Beside(offset, successes, trials)


def _offsets(table: pa.Table, columns: Columns) -> np.ndarray | None:
    """Return the sum of the column of offsets and the offsets of a formula, None without either."""
    parts = [] if columns.formula is None else columns.formula.offset_values(table)
    if columns.offset is not None:
        parts.append(numbers_in(table, columns.offset))
    with np.errstate(over="ignore"):
        return np.sum(parts, axis=0) if parts else None
