"""Numbers beside the features of rows of tables: offsets, and counts of binomial groups."""

import numpy as np
import pyarrow as pa

from linsep.batches import Batch
from linsep.errors import DataError
from linsep.sources.tables.columns import Columns
from linsep.sources.tables.table_file import Place, numbers_in
from linsep.validation.checks import check_counts


def with_numbers(
    batch: Batch, table: pa.Table, columns: Columns, place: Place, kept: np.ndarray | None,
    wanted: bool,
) -> Batch:  # fmt: skip
    """Return the rows of a table that are ``kept`` with their offsets; if they are ``wanted``, two
    rows for each row with counts: successes of class 1, and failures of class 0, with their numbers
    as weights.

    Raises
    ------
    DataError
        If an offset is missing or not finite, unless such rows get no prediction; if trials are
        below successes, or a count is not a whole number of at least 0. The message names the row.
    """
    every = np.arange(table.num_rows) if kept is None else np.flatnonzero(kept)
    parts = [] if columns.formula is None else columns.formula.offset_values(table)
    if columns.offset is not None:
        parts.append(numbers_in(table, columns.offset))
    if parts:
        with np.errstate(over="ignore"):
            offset = np.sum(parts, axis=0)[every]
        gaps = np.isnan(offset)
        good = np.isfinite(offset) | (gaps & (columns.missing == "skip"))
        if not good.all():
            row = int(np.argmin(good))
            raise DataError(
                place(int(every[row])) + " has an offset that is "
                f"{'missing' if gaps[row] else f'{offset[row]:g}'}, not a finite number",
                "correct it or leave the row out",
                code="missing-value" if gaps[row] else "not-finite",
                column=columns.offset,
            )
        batch = batch._replace(offset=np.where(gaps, 0.0, offset))
        if gaps.any():
            others = False if batch.unanswered is None else batch.unanswered
            batch = batch._replace(unanswered=gaps | others)
    if not wanted or columns.successes is None or columns.trials is None:
        return batch
    named = columns.successes, columns.trials
    successes, trials = (numbers_in(table, name)[every] for name in named)
    check_counts(successes, trials, lambda row: place(int(every[row])))
    twice = batch.rows(np.repeat(np.arange(batch.size), 2))
    weights = np.column_stack([successes, trials - successes]).ravel()
    return twice._replace(y=np.tile(np.array([1, 0]), batch.size), weights=weights)
