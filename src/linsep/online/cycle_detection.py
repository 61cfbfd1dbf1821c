"""Weights that come back at the start of a pass: then no number of passes will separate the rows.

A perceptron whose rate and order never change does the same from the same weights, and each of
several machines by itself. Comparing costs a hash a pass, of few weights only; before anything is
claimed, the passes are replayed in whole numbers (:mod:`linsep.certificate.cycles`), so that
neither a hash nor rounding can lie. Of a kernel machine scores are compared, for different weights
of the rows can be the same in the space of the kernel.
"""

from typing import TYPE_CHECKING

import numpy as np

from linsep.compiled.core.rows import Csr, Dense
from linsep.online.keeping import KeepLast
from linsep.online.learner import Learner, State
from linsep.online.rows.array import RowBatch, RowStream
from linsep.online.rows.kernel import KernelStream

if TYPE_CHECKING:
    from linsep.certificate.cycles import Cycle, Cycles
    from linsep.separability.exact.replaying import Given

#: to hash more weights would show in the time of a pass over few rows
MOST_WEIGHTS = 1024
#: sums of short decimals are the same if they are so in steps of 1 / GRID
GRID = 1e9
#: passes whose weights are remembered, some 100 bytes each
MOST_PASSES = 100_000
#: values that a replay may look at: less than a second
MOST_VALUES = 2_000_000
#: repeats that exact arithmetic did not confirm, after which nothing more is compared
MOST_FAILURES = 3


class CycleDetection:
    """Remembers the weights of each machine at the start of each pass, as hashes."""

    def __init__(self, state: State, stream: RowStream, rate: float, update: str, tie: str) -> None:
        self.rate, self.update, self.tie, self.failures = rate, update, tie, 0
        self._seen: list[dict[int, int]] = [
            {key: 0} for key in _keys(_standing(state, stream), state)
        ]

    def after(self, state: State, stream: RowStream, passes: int) -> "Cycle | Cycles | None":
        """The cycle that so many passes have closed, None if there is none."""
        if self.failures == MOST_FAILURES or state.W.size > MOST_WEIGHTS:
            return None
        standing = _standing(state, stream)
        lengths = []
        for seen, key in zip(self._seen, _keys(standing, state), strict=True):
            lengths.append(passes - seen.get(key, passes))
            seen[key] = passes
        if 0 in lengths:  # some machine has never been here before
            if len(self._seen[0]) > MOST_PASSES:
                self._seen = [{} for _ in self._seen]
            return None
        found = self._confirmed(state, stream, standing, lengths, passes)
        self.failures += found is None
        return found

    def _confirmed(
        self, state: State, stream: RowStream, standing: np.ndarray, lengths: list[int], again: int
    ) -> "Cycle | Cycles | None":
        from linsep.separability.exact.replaying import machines
        from linsep.separability.search.cycle_search import Standing, find_cycles

        gram = isinstance(stream, KernelStream)
        found = machines(
            state.multiclass, state.n_classes, self.update, self.tie, gram, bool(state.bias)
        )
        most = MOST_VALUES // (sum(lengths) * found[0].n_vectors)
        given = (
            _gram_rows(stream, most)
            if isinstance(stream, KernelStream)
            else _plain_rows(stream, most)
        )
        if not given:
            return None
        parts = [
            Standing(machine, weights, length)
            for machine, weights, length in zip(
                found, _of_machines(standing, state, gram), lengths, strict=True
            )
        ]
        cycle = find_cycles(given, parts, self.rate, len(given) if gram else state.n_features)
        return None if cycle is None else cycle.of_run(again)


def watched(
    state: State, learner: Learner, keeping: KeepLast, stream: RowStream, tie: str
) -> CycleDetection | None:
    """Who watches a run, if its weights can come back: one rate, one order, nothing else kept."""
    update = learner.replayed
    if update is None or not learner.schedule.is_constant:  # type: ignore[attr-defined]
        return None
    if type(keeping) is not KeepLast or stream.shuffle or state.W.size > MOST_WEIGHTS:
        return None
    if isinstance(stream, KernelStream) and not stream.replayable:
        return None
    rate = float(learner.schedule.rate)  # type: ignore[attr-defined]
    return CycleDetection(state, stream, rate, update, tie)


def _standing(state: State, stream: RowStream) -> np.ndarray:
    """What comes back: the weights, or the scores of the rows by which a kernel knows them; two
    axes for several classes.
    """
    return stream.scores_now() if isinstance(stream, KernelStream) else state.W


def _of_machines(standing: np.ndarray, state: State, gram: bool) -> list[np.ndarray]:
    """The vectors of each machine: weights and intercept, or scores."""
    columns = standing.reshape(len(standing), -1)[:, : state.n_columns]
    used = columns if gram else np.vstack([columns[: state.n_features], columns[-1:]])
    return [used.T] if state.n_machines == 1 else [row[None] for row in used.T]


def _keys(standing: np.ndarray, state: State) -> list[int]:
    """For each machine the same for the same weights but for rounding, however much room for
    features there is.
    """
    with np.errstate(over="ignore"):
        whole = standing * GRID
    np.rint(whole, out=whole)
    whole += 0.0  # no zero is negative
    if state.n_machines == 1:
        return [_key(whole.tobytes(), whole[-1].nbytes)]
    return [_key(row.tobytes(), 8) for row in whole.T[: state.n_columns]]


def _key(text: bytes, intercept: int) -> int:
    return hash(text[-intercept:] + text[:-intercept].rstrip(b"\0"))


def _plain_rows(stream: RowStream, most_values: int) -> "list[Given] | None":
    """The rows learnt, in order; None if they are not at hand, too many, weighted or scaled."""
    from linsep.separability.exact.replaying import Given

    row_batches, given, values = stream.learnt(), [], 0
    for row_batch in row_batches or ():
        if row_batch.importance.size or not isinstance(row_batch.rows, Dense | Csr):
            return None
        for i in row_batch.order:
            row = _row(row_batch, int(i))
            values += len(row[1])
            if values > most_values:
                return None
            given.append(Given(*row, int(row_batch.codes[i])))
    return given


def _row(row_batch: RowBatch, i: int) -> tuple[np.ndarray, np.ndarray]:
    rows = row_batch.rows
    if isinstance(rows, Dense):
        return np.arange(rows.values.shape[1]), rows.values[i]
    assert isinstance(rows, Csr)
    at = slice(rows.starts[i], rows.starts[i + 1])
    return rows.columns[at], rows.values[at]


def _gram_rows(stream: KernelStream, most_values: int) -> "list[Given] | None":
    """The rows of the Gram matrix; None if they are too many."""
    from linsep.separability.exact.replaying import Given

    n = stream.codes.size
    if n * n > most_values:
        return None
    columns, gram = np.arange(n), stream.gram()
    return [Given(columns, gram[i], int(code)) for i, code in enumerate(stream.codes)]
