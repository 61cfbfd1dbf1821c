"""Beside the features of rows of tables: weights, groups, offsets, counts of binomial groups."""

from hashlib import blake2b

import numpy as np
import pyarrow as pa

from linsep.batches import Batch
from linsep.errors import DataError
from linsep.sources.tables.columns import Columns
from linsep.sources.tables.conversions import NO_NUMBER
from linsep.sources.tables.spellings import canonical
from linsep.sources.tables.table_file import Place, numbers_in, text_codes
from linsep.validation.checks import check_counts


def with_beside(
    batch: Batch, table: pa.Table, columns: Columns, place: Place, rows: np.ndarray, wanted: bool
) -> Batch:
    """Return the ``rows`` of a table with their offsets; if they are ``wanted``, with weights and
    groups, and two rows for each row with counts: successes of class 1, and failures of class 0,
    with their numbers as weights.

    Raises DataError, which names the row, for an offset, a weight or a count that cannot be, and
    for a row without a group.
    """
    if wanted:
        weights, groups = _weights(table, columns, place), _groups(table, columns, place)
        batch = batch._replace(
            weights=None if weights is None else weights[rows],
            groups=None if groups is None else groups[rows],
        )
    parts = [] if columns.formula is None else columns.formula.offset_values(table)
    if columns.offset is not None:
        parts.append(numbers_in(table, columns.offset))
    if parts:
        with np.errstate(over="ignore"):
            offset = np.sum(parts, axis=0)[rows]
        gaps = np.isnan(offset)
        good = np.isfinite(offset) | (gaps & (columns.missing == "skip"))
        if not good.all():
            row = int(np.argmin(good))
            raise DataError(
                place(int(rows[row])) + " has an offset that is "
                f"{'missing' if gaps[row] else f'{offset[row]:g}'}, not a finite number",
                "correct it or leave the row out",
                code="missing-value" if gaps[row] else "not-finite",
                column=columns.offset,
            )
        others = False if batch.unanswered is None else batch.unanswered
        batch = batch._replace(
            offset=np.where(gaps, 0.0, offset),
            unanswered=gaps | others if gaps.any() else batch.unanswered,
        )
    if not wanted or columns.successes is None or columns.trials is None:
        return batch
    successes, trials = (numbers_in(table, n)[rows] for n in (columns.successes, columns.trials))
    check_counts(successes, trials, lambda row: place(int(rows[row])))
    twice = batch.rows(np.repeat(np.arange(batch.size), 2))
    weights = np.column_stack([successes, trials - successes]).ravel()
    return twice._replace(y=np.tile(np.array([1, 0]), batch.size), weights=weights)


def _weights(table: pa.Table, columns: Columns, place: Place) -> np.ndarray | None:
    """Return the weights of the rows, None if the table has no column of them.

    Raises DataError for a weight that is missing, negative or not finite.
    """
    name = columns.weight
    if name is None or name not in table.column_names:
        return None
    found = numbers_in(table, name)
    bad = ~(np.isfinite(found) & (found >= 0))
    if bad.any():
        row = int(np.argmax(bad))
        missing = table.column(name)[row].as_py() is None
        what = "no value" if missing else f"the weight {found[row]:g}"
        raise DataError(
            place(row) + f", column '{name}' has {what}: weights must be finite and at least 0.",
            code="missing-value" if missing else "out-of-range",
            column=name,
        )
    return found


def _groups(table: pa.Table, columns: Columns, place: Place) -> np.ndarray | None:
    """Return a number of 64 bits for the group of each row, None if there is no column of groups.

    Raises DataError for a row without a group.
    """
    name = columns.group
    if name is None or name not in table.column_names:
        return None
    codes, values = text_codes(table.column(name), name, place)
    numbers = columns.group_kind == "number"
    # The last entry is what code -1, missing, picks.
    missing = np.array([*(numbers and x.strip() in NO_NUMBER for x in values), True])[codes]
    if missing.any():
        raise DataError(
            place(int(np.argmax(missing))) + f", column '{name}' has no value",
            "every row needs a group",
            code="missing-value",
            column=name,
        )
    # Of a million groups, two share a number about once in forty million tables.
    spelled = (canonical(value.strip()) if numbers else value for value in values)
    digests = [blake2b(value.encode(), digest_size=8).digest() for value in spelled]
    return np.frombuffer(b"".join(digests), "<u8").astype(np.uint64)[codes]
