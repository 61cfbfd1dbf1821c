"""Count the mistakes of given weights, without learning."""

from collections.abc import Iterator

import numpy as np

from linsep.compiled.core.loop import ERRORS, Watch, pass_loop
from linsep.compiled.core.weights import Last
from linsep.learners.state import State, Unlearnable, sparing
from linsep.rows.arrays import RowBatch, rows_per_slice, slices


def count_mistakes(
    state: State,
    weights: np.ndarray,
    row_batches: Iterator[RowBatch],
    tie: str,
    zero: str = "mistake",
) -> tuple[np.ndarray, int, int]:
    """Return the weighted mistakes of each machine, the number of rows predicted wrongly, and the
    number of rows.
    """
    watch, tally, rows = Watch(np.zeros(state.n_machines)), np.zeros(3, np.int64), 0
    rule = sparing(watch, zero, np.zeros(state.n_machines, np.int64))
    scheme = state.scheme(tie, count_errors=True, learning=False)
    for row_batch in row_batches:
        for piece in slices(row_batch.order, rows_per_slice(row_batch.rows, state.n_columns)):
            done = pass_loop(
                scheme, rule, Last(), weights, state.bias, row_batch.rows, row_batch.codes,
                row_batch.importance, piece, 0, tally,
            )  # fmt: skip
            rows += done
            if done < piece.size:
                first = row_batch.first
                raise Unlearnable(None if first is None else first + int(piece[done]))
    return watch.mistakes, int(tally[ERRORS]), rows
