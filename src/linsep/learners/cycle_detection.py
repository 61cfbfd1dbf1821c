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

    def __init__(self, state: State, stream: Any, learner: Any, tie: str) -> None:
        self.learner, self.tie, self.failures = learner, tie, 0
        self._seen: list[dict[int, int]] = [
            {_hash_of(vector): 0} for vector in _vectors(state, stream)
        ]

    def after(self, state: State, stream: Any, passes: int) -> "Cycle | Cycles | None":
        """Return the cycle that ended with this pass, or None."""
        if self.failures == MOST_FAILURES or _too_many(state):
            return None
        vectors = _vectors(state, stream)
        keys = [_hash_of(vector) for vector in vectors]
        known = list(zip(self._seen, keys, strict=True))
        lengths = [passes - seen.get(key, passes) for seen, key in known]
        found = None
        if 0 not in lengths:  # else the weights of some binary classifier are new
            found = self._confirmed(state, stream, vectors, lengths, passes)
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
        self, state: State, stream: Any, vectors: list[np.ndarray], lengths: list[int], again: int
    ) -> "Cycle | Cycles | None":
        from linsep.separability.cycles import Standing, find_cycles, machines

        gram, learner = not stream.of_features, self.learner
        found = machines(
            state.multiclass, state.n_classes, learner.replayed, self.tie, gram, bool(state.bias),
            learner.zero,
        )  # fmt: skip
        rows = _rows(stream, MOST_VALUES // (sum(lengths) * found[0].n_vectors))
        if not rows:
            return None
        parts = [Standing(*one) for one in zip(found, vectors, lengths, strict=True)]
        rate, width = float(learner.schedule.rate), len(rows) if gram else state.n_features
        cycle = find_cycles(rows, parts, rate, width)
        return None if cycle is None else cycle.of_run(again)


def cycle_detection_for(
    state: State, learner: Learner, keeping: KeepLast, stream: Any, tie: str
) -> CycleDetection | None:
    """Return the detection for a run, or None unless its rate and order are constant and only the
    last weights are kept.
    """
    constant = learner.replayed is not None and learner.schedule.is_constant  # type: ignore[attr-defined]
    if not constant or type(keeping) is not KeepLast or stream.shuffle or _too_many(state):
        return None
    if not (stream.of_features or stream.replayable):
        return None
    return CycleDetection(state, stream, learner, tie)


def _too_many(state: State) -> bool:
    return (state.n_features + 1) * state.W[0].size > MOST_WEIGHTS


def _vectors(state: State, stream: Any) -> list[np.ndarray]:
    """Return what is compared of each binary classifier: its weights and intercept, or for a kernel
    the scores of the rows; shape (vectors, values).
    """
    if stream.of_features:
        coef, intercept = state.split(state.W)
        used = np.column_stack([coef, intercept])
    else:
        used = stream.scores_now()[:, : state.n_columns].T
    return [used] if state.n_machines == 1 else list(used[:, None])


def _hash_of(vector: np.ndarray) -> int:
    """Return a hash that is equal for weights that are equal up to rounding, whatever the number of
    features without a weight.
    """
    with np.errstate(over="ignore"):
        whole = np.rint(vector * GRID) + 0.0  # replaces -0.0
    text = whole[:, -1].tobytes() + np.ascontiguousarray(whole[:, :-1].T).tobytes().rstrip(b"\0")
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "little")


def _rows(stream: Any, most_values: int) -> "list[FloatRow] | None":
    """Return the training rows in order, or the rows of their Gram matrix; None if they are not
    kept, too many, weighted or scaled.
    """
    from linsep.separability.cycles import FloatRow

    if not stream.of_features:
        n = stream.codes.size
        if n * n > most_values:
            return None
        columns, rows = np.arange(n), zip(stream.gram(), stream.codes.tolist(), strict=True)
        return [FloatRow(columns, row, code) for row, code in rows]
    given, values = [], 0
    for batch in stream.training_rows() or ():
        rows = batch.rows
        if batch.importance.size or not isinstance(rows, Dense | Csr):
            return None
        for i in batch.order:
            if isinstance(rows, Dense):
                row = np.arange(rows.values.shape[1]), rows.values[i]
            else:
                at = slice(rows.starts[i], rows.starts[i + 1])
                row = rows.columns[at], rows.values[at]
            values += len(row[1])
            if values > most_values:
                return None
            given.append(FloatRow(*row, int(batch.codes[i])))
    return given
