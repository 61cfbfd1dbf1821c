"""Detect weights that recur at the start of a pass, which proves the rows inseparable.

A perceptron with constant rate and order repeats itself from the same weights, as does each of
several binary classifiers. Each pass hashes the weights, if they are few. Before a cycle is
reported, its passes are replayed in integers (:mod:`linsep.certificate.cycles`), so neither hashes
nor rounding matter. For a kernel classifier, scores are compared, because different dual weights
can be the same vector in the feature space of the kernel.
"""

from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np

from linsep.compiled.rows import Csr, Dense
from linsep.learners.keeping import KeepLast
from linsep.learners.state import Learner, State
from linsep.rows.arrays import RowBatch

if TYPE_CHECKING:
    from linsep.certificate.cycles import Cycle, Cycles
    from linsep.separability.cycles import FloatRow

#: most weights to hash; more would slow down passes over few rows
MOST_WEIGHTS = 1024
#: sums of short decimals are compared in steps of 1 / GRID
GRID = 1e9
#: most passes remembered, some 100 bytes each
MOST_PASSES = 100_000
#: most values in a replay, which takes less than a second
MOST_VALUES = 2_000_000
#: unconfirmed recurrences after which detection stops
MOST_FAILURES = 3


class CycleDetection:
    """Stores hashes of the weights of each binary classifier at the start of each pass."""

    def __init__(
        self, state: State, stream: Any, rate: float, update: str, tie: str, zero: str
    ) -> None:
        self.rate, self.update, self.tie, self.zero, self.failures = rate, update, tie, zero, 0
        self._seen: list[dict[int, int]] = [
            {key: 0} for key in _hashes_of_machines(_compared_weights(state, stream), state)
        ]

    def after(self, state: State, stream: Any, passes: int) -> "Cycle | Cycles | None":
        """Return the cycle that ended with this pass, or None."""
        if self.failures == MOST_FAILURES or _too_many(state):
            return None
        weights = _compared_weights(state, stream)
        known = list(zip(self._seen, _hashes_of_machines(weights, state), strict=True))
        lengths = [passes - seen.get(key, passes) for seen, key in known]
        found = None
        if 0 not in lengths:  # else the weights of some binary classifier are new
            found = self._confirmed(state, stream, weights, lengths, passes)
            self.failures += found is None
        elif len(self._seen[0]) >= MOST_PASSES:
            self._seen = [{} for _ in self._seen]
            return None
        if found is None:  # else a run that is saved now finds it again
            for seen, key in known:
                seen[key] = passes
        return found

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the hashes, the pass of each and the failures as arrays, to be stored."""
        found = {"failures": np.array([self.failures])}
        for k, seen in enumerate(self._seen):
            found[f"{k}.keys"] = np.fromiter(seen.keys(), np.uint64, len(seen))
            found[f"{k}.passes"] = np.fromiter(seen.values(), np.int64, len(seen))
        return found

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Restore what :meth:`arrays` returned."""
        self.failures = int(arrays["failures"][0])
        self._seen = [
            dict(zip(arrays[f"{k}.keys"].tolist(), arrays[f"{k}.passes"].tolist(), strict=True))
            for k in range(len(self._seen))
        ]

    def _confirmed(
        self, state: State, stream: Any, weights: np.ndarray, lengths: list[int], again: int
    ) -> "Cycle | Cycles | None":
        from linsep.separability.cycles import Standing, find_cycles, machines

        gram = not stream.of_features
        found = machines(
            state.multiclass, state.n_classes, self.update, self.tie, gram, bool(state.bias),
            self.zero,
        )  # fmt: skip
        most = MOST_VALUES // (sum(lengths) * found[0].n_vectors)
        given = _gram_rows(stream, most) if gram else _plain_rows(stream, most)
        if not given:
            return None
        parts = [
            Standing(machine, vector, length)
            for machine, vector, length in zip(
                found, _of_machines(weights, state, gram), lengths, strict=True
            )
        ]
        cycle = find_cycles(given, parts, self.rate, len(given) if gram else state.n_features)
        return None if cycle is None else cycle.of_run(again)


def cycle_detection_for(
    state: State, learner: Learner, keeping: KeepLast, stream: Any, tie: str
) -> CycleDetection | None:
    """Return the detection for a run, or None unless its rate and order are constant and only the
    last weights are kept.
    """
    update = learner.replayed
    if update is None or not learner.schedule.is_constant:  # type: ignore[attr-defined]
        return None
    if type(keeping) is not KeepLast or stream.shuffle or _too_many(state):
        return None
    if not (stream.of_features or stream.replayable):
        return None
    rate = float(learner.schedule.rate)  # type: ignore[attr-defined]
    zero: str = learner.zero  # type: ignore[attr-defined]
    return CycleDetection(state, stream, rate, update, tie, zero)


def _too_many(state: State) -> bool:
    return (state.n_features + 1) * state.W[0].size > MOST_WEIGHTS


def _compared_weights(state: State, stream: Any) -> np.ndarray:
    """Return the values to compare: the weights, or for a kernel the scores of the rows; two axes
    for several classes.
    """
    return state.W if stream.of_features else stream.scores_now()


def _of_machines(weights: np.ndarray, state: State, gram: bool) -> list[np.ndarray]:
    """Return the vector of each binary classifier: weights and intercept, or scores."""
    columns = weights.reshape(len(weights), -1)[:, : state.n_columns]
    used = columns if gram else np.vstack([columns[: state.n_features], columns[-1:]])
    return [used.T] if state.n_machines == 1 else [row[None] for row in used.T]


def _hashes_of_machines(weights: np.ndarray, state: State) -> list[int]:
    """Return a hash for each binary classifier, equal for weights that are equal up to rounding,
    and independent of the capacity for features.
    """
    with np.errstate(over="ignore"):
        whole = weights * GRID
    np.rint(whole, out=whole)
    whole += 0.0  # replaces -0.0
    if state.n_machines == 1:
        return [_hash_of_weights(whole.tobytes(), whole[-1].nbytes)]
    return [_hash_of_weights(row.tobytes(), 8) for row in whole.T[: state.n_columns]]


def _hash_of_weights(text: bytes, intercept: int) -> int:
    parts = text[-intercept:] + text[:-intercept].rstrip(b"\0")
    return int.from_bytes(blake2b(parts, digest_size=8).digest(), "little")


def _plain_rows(stream: Any, most_values: int) -> "list[FloatRow] | None":
    """Return the training rows in order; None if not kept, too many, weighted or scaled."""
    from linsep.separability.cycles import FloatRow

    row_batches, given, values = stream.training_rows(), [], 0
    for row_batch in row_batches or ():
        if row_batch.importance.size or not isinstance(row_batch.rows, Dense | Csr):
            return None
        for i in row_batch.order:
            row = _columns_and_values(row_batch, int(i))
            values += len(row[1])
            if values > most_values:
                return None
            given.append(FloatRow(*row, int(row_batch.codes[i])))
    return given


def _columns_and_values(row_batch: RowBatch, i: int) -> tuple[np.ndarray, np.ndarray]:
    rows = row_batch.rows
    if isinstance(rows, Dense):
        return np.arange(rows.values.shape[1]), rows.values[i]
    assert isinstance(rows, Csr)
    at = slice(rows.starts[i], rows.starts[i + 1])
    return rows.columns[at], rows.values[at]


def _gram_rows(stream: Any, most_values: int) -> "list[FloatRow] | None":
    """Return the rows of the Gram matrix; None if there are too many."""
    from linsep.separability.cycles import FloatRow

    n = stream.codes.size
    if n * n > most_values:
        return None
    columns, gram = np.arange(n), stream.gram()
    return [FloatRow(columns, gram[i], int(code)) for i, code in enumerate(stream.codes)]
