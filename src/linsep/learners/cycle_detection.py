"""Detect weights that recur at the start of a pass, which proves the rows inseparable.

A perceptron with constant rate and order repeats itself from the same weights, as does each of
several binary classifiers. Each pass hashes the weights, if they are few; then the passes of a
cycle are replayed in integers (:mod:`linsep.certificate.cycles`), so neither hashes nor rounding
matter. Of kernels, scores are compared: different dual weights can be the same vector.
"""

from hashlib import blake2b
from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep.compiled.rows import Csr, Dense
from linsep.learners.state import KeepLast, State

#: most weights to hash; more would slow down passes over few rows
MOST_WEIGHTS = 1024
#: sums of short decimals are compared in steps of 1 / GRID
GRID = 1e9
#: most values in a replay, which takes less than a second
MOST_VALUES = 2_000_000
#: unconfirmed recurrences after which detection stops
MOST_FAILURES = 3


class CycleDetection:
    """Stores hashes of the weights of each binary classifier at the start of each pass."""

    def __init__(self, state: State, stream: Any, learner: Any, tie: str) -> None:
        self.learner, self.tie, self.failures = learner, tie, 0
        _, self.seen = _hashed(state, stream)

    def after(self, state: State, stream: Any, passes: int) -> Any:
        """Return the cycle that this pass has closed, a certificate, or None."""
        if self.failures == MOST_FAILURES or _too_many(state):
            return None
        vectors, hashes = _hashed(state, stream)
        same = self.seen == hashes
        if same.any(axis=0).all():  # else the weights of some binary classifier are new
            lengths = (same[::-1].argmax(axis=0) + 1).tolist()
            cycle = _replayed(state, self.learner, self.tie, stream, vectors, lengths)
            if cycle is not None:  # a run that is saved now finds it again
                return cycle.of_run(passes)
            self.failures += 1
        self.seen = np.vstack([self.seen, hashes])
        return None

    def arrays(self) -> dict[str, np.ndarray]:
        return {"failures": np.array([self.failures]), "seen": self.seen}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        self.failures, self.seen = int(arrays["failures"][0]), arrays["seen"]


def cycle_detection_for(run: Any, stream: Any, tie: str) -> CycleDetection | None:
    """Return the detection for a run that keeps its last weights, with constant rate and order."""
    repeats = run.learner.constant_rate is not None and type(run.keeping) is KeepLast
    known = (stream.of_features or stream.replayable) and not _too_many(run.state)
    if repeats and known and not stream.shuffle:
        return CycleDetection(run.state, stream, run.learner, tie)
    return None


def _too_many(state: State) -> bool:
    return (state.n_features + 1) * state.W[0].size > MOST_WEIGHTS


def _hashed(state: State, stream: Any) -> tuple[list[np.ndarray], np.ndarray]:
    """Return what is compared of each binary classifier, of shape (vectors, values), and its
    hashes up to rounding, whatever the number of features of weight 0.
    """
    if stream.of_features:
        used = np.column_stack(state.split(state.W))
    else:
        used = stream.scores_now()[:, : state.n_columns].T
    vectors, found = [used] if state.n_machines == 1 else list(used[:, None]), []
    for vector in vectors:
        whole = np.rint(vector * GRID) + 0.0  # replaces -0.0
        features = np.ascontiguousarray(whole[:, :-1].T).tobytes().rstrip(b"\0")
        found.append(blake2b(whole[:, -1].tobytes() + features, digest_size=8).digest())
    return vectors, np.frombuffer(b"".join(found), np.uint64)[None, :]


def _replayed(
    state: State, learner: Any, tie: str, stream: Any, vectors: list[np.ndarray],
    lengths: list[int],
) -> Any:  # fmt: skip
    from linsep.separability.cycles import Standing, find_cycles, machines

    gram = not stream.of_features
    found = machines(
        state.multiclass, state.n_classes, learner.replayed, tie, gram, bool(state.bias),
        learner.zero,
    )  # fmt: skip
    rows = _rows(stream, MOST_VALUES // (sum(lengths) * found[0].n_vectors))
    if not rows:
        return None
    parts = [Standing(*one) for one in zip(found, vectors, lengths, strict=True)]
    return find_cycles(rows, parts, learner.constant_rate, len(rows) if gram else state.n_features)


def _rows(stream: Any, most_values: int) -> list[Any] | None:
    """Return the training rows, or those of their Gram matrix; None if not kept, or weighted."""
    from linsep.separability.cycles import FloatRow

    if not stream.of_features:
        columns = np.arange(stream.codes.size)
        if columns.size**2 > most_values:
            return None
        gram = stream.between(columns, columns)
        return list(map(FloatRow, [columns] * columns.size, gram, stream.codes.tolist()))
    given: list[Any] = []
    for batch in stream.training_rows() or ():
        known = isinstance(batch.rows, Dense | Csr)
        most_values -= batch.rows.values.size if known else most_values + 1
        if batch.importance.size or most_values < 0:
            return None
        order = np.asarray(batch.order)
        X = sp.csr_matrix(batch.as_batch().X)[order]
        parts = (np.split(part, X.indptr[1:-1]) for part in (X.indices, X.data))
        given += map(FloatRow, *parts, batch.codes[order].tolist())
    return given
