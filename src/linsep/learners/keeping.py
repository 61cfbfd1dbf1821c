"""Weights for prediction: the last, the average, the best, or a vote of all versions; all that is
kept is in the state.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from linsep.compiled.loop import ERRORS, ROWS, Watch, pass_loop
from linsep.compiled.rows import Csr, Dense, Unit
from linsep.compiled.votes import AT_ONCE, count_votes
from linsep.compiled.weights import Average, Best, Last, Vote
from linsep.errors import DataError, hint
from linsep.learners.state import NO_VOTES, VOTES, State, Unlearnable, decision, predicted, sparing
from linsep.rows.arrays import RowBatch, rows_per_slice, slices


def count_mistakes(
    state: State, weights: np.ndarray, row_batches: Iterable[RowBatch], tie: str,
    zero: str = "mistake",
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Return the weighted mistakes of each machine, and the tally of the loop."""
    watch, tally = Watch(np.zeros(state.n_machines)), np.zeros(4, np.int64)
    rule = sparing(watch, zero, np.zeros(state.n_machines, np.int64))
    scheme = state.scheme(tie, count_errors=True, learning=False)
    for row_batch in row_batches:
        for piece in slices(row_batch.order, rows_per_slice(row_batch.rows, state.n_columns)):
            done = pass_loop(
                scheme, rule, Last(), weights, state.bias, row_batch.rows, row_batch.codes,
                row_batch.importance, piece, 0, tally,
            )  # fmt: skip
            if done < piece.size:
                raise Unlearnable(int(piece[done])).beyond(row_batch.first)
    return watch.mistakes, tally


class KeepLast:
    """Keep the last weights: :meth:`weights` and :meth:`scores` are those to predict with."""

    def compiled(self, state: State, most_changes: int) -> Any:
        """Return the recorder of the compiled loop for up to ``most_changes`` weight changes."""
        return Last()

    def take(self, state: State) -> None:
        """Check what the compiled loop has recorded."""

    def close_pass(self, state: State, learned: Callable[[], Any], tie: str) -> None:
        """Finish a pass; ``learned`` returns its training rows, if kept."""

    def weights(self, state: State) -> np.ndarray:
        return state.W

    def scores(self, state: State, rows: Dense | Csr | Unit, n_rows: int) -> np.ndarray:
        return state.scores(rows, n_rows, self.weights(state))

    def accuracy(self, state: State, row_batches: Iterable[RowBatch], tie: str) -> float | None:
        """Return the share of the rows, or of their weights, predicted right; None without rows."""
        wrong = right = 0.0
        for row_batch in row_batches:
            order, weights = np.asarray(row_batch.order), row_batch.importance
            if weights.size or isinstance(self, KeepVote):
                missed = self.missed(state, row_batch, tie)
                weights = weights[order] if weights.size else np.ones(missed.size)
                # Row by row, so that no digit depends on the batches.
                wrong = float(np.cumsum(np.append(wrong, weights[missed]))[-1])
                right = float(np.cumsum(np.append(right, weights[~missed]))[-1])
            else:
                _, tally = count_mistakes(state, self.weights(state), [row_batch], tie)
                wrong, right = wrong + tally[ERRORS], right + tally[ROWS] - tally[ERRORS]
        return float(1.0 - wrong / (wrong + right)) if wrong + right else None

    def missed(self, state: State, row_batch: RowBatch, tie: str) -> np.ndarray:
        """Return which visited rows are predicted wrongly, of random ties as the lowest class."""
        chosen = np.asarray(row_batch.order)
        scores = self.scores(state, row_batch.rows, row_batch.codes.size)[chosen]
        if not np.isfinite(scores).all():
            raise Unlearnable(None)
        codes = predicted(decision(state, scores, tie), "negative" if tie == "random" else tie)
        return codes != row_batch.codes[chosen]


class KeepAverage(KeepLast):
    """Keep the mean of the weights over all steps, from changes times their step numbers."""

    def compiled(self, state: State, most_changes: int) -> Any:
        return Average(state.like_weights("sums"))

    def weights(self, state: State) -> np.ndarray:
        rounds = np.maximum(state.per_column(state.machine_rounds()), 1)
        return state.W - state.like_weights("sums") / rounds


class KeepBest(KeepLast):
    """Keep the best weights (pocket algorithm with ratchet): after every pass the mistakes of the
    longest-surviving and the last weights on all rows are counted, and the best so far are kept.
    During the first pass, and with partial_fit, these are the longest-surviving weights.
    """

    def __init__(self, zero: str = "mistake"):
        self.zero = zero

    def compiled(self, state: State, most_changes: int) -> Any:
        counts = state.per_machine("record"), state.per_machine("created")
        return Best(state.like_weights("longest_surviving"), *counts)

    def close_pass(self, state: State, learned: Callable[[], Any], tie: str) -> None:
        last = state.machine_rounds() - state.per_machine("created")
        longest = np.maximum(last, state.per_machine("record"))
        for candidate, survived in ((self._longest_surviving(state), longest), (state.W, last)):
            if (rows := learned()) is None:  # the rows were not kept
                return
            fewest = state.per_machine("pocket_mistakes", np.float64)
            if "pocket" not in state.shaped:
                fewest[:] = np.inf
            found, _ = count_mistakes(state, candidate, rows, tie, self.zero)
            better = found < fewest
            fewest[better] = found[better]
            state.per_machine("pocket_record")[better] = survived[better]
            _choose(state, better, candidate, state.like_weights("pocket"))
        state.per_machine("record")[:] = 0

    def weights(self, state: State) -> np.ndarray:
        return state.shaped.get("pocket", self._longest_surviving(state))

    def open_pocket(self, state: State) -> None:
        """Continue from the weights in the pocket without ratchet, for rows that come only once."""
        pocket = state.shaped.pop("pocket", None)
        if pocket is not None:
            state.like_weights("longest_surviving")[:] = pocket
            state.per_machine("record")[:] = state.per_machine("pocket_record")

    def _longest_surviving(self, state: State) -> np.ndarray:
        running = state.machine_rounds() - state.per_machine("created")
        longest_surviving = state.like_weights("longest_surviving").copy()
        _choose(state, running > state.per_machine("record"), state.W, longest_surviving)
        return longest_surviving


def _choose(state: State, chosen: np.ndarray, weights: np.ndarray, into: np.ndarray) -> None:
    columns = np.flatnonzero(state.per_column(chosen))
    into.reshape(len(into), -1)[:, columns] = weights.reshape(len(into), -1)[:, columns]


class KeepVote(KeepLast):
    """Keep all versions: the first weights, and all changes, up to so many megabytes."""

    def __init__(self, megabytes: float, tie: str):
        self.most_bytes, self.tie = megabytes * 1e6, tie
        self._taken = self._room = NO_VOTES

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_taken": NO_VOTES, "_room": NO_VOTES}

    def compiled(self, state: State, most_changes: int) -> Any:
        if "first" not in state.shaped:
            state.shaped["first"] = state.W.copy()
        size = int(state.votes.used.max()) + most_changes
        if state.votes is not self._taken or size > self._room.amounts.size:
            used = state.votes.used
            parts = [np.resize(part, size + int(used.max())) for part in state.votes[:-1]]
            self._room = Vote._make([*parts, used.copy()])
        return self._room

    def take(self, state: State) -> None:
        before, (changes, versions) = int(state.votes.used[0]), self._room.used.tolist()
        fresh = self._room.features[before:changes]
        fresh[fresh == state.W.shape[0] - 1] = -1
        ends = [changes if part.shape == "changes" else versions for part in VOTES.values()]
        parts = [part[:end] for part, end in zip(self._room, ends, strict=False)]
        state.votes = self._taken = Vote._make([*parts, self._room.used.copy()])
        if 16 * changes + 20 * versions > self.most_bytes:
            raise DataError(
                f"A vote has to store more than {self.most_bytes / 1e6:g} MB of updates",
                hint("raise {}", vote_mb=None),
                hint("use {}, which needs only one more vector", keep="average"),
                code="too-large", option="vote_mb",
            )  # fmt: skip

    def scores(self, state: State, rows: Dense | Csr | Unit, n_rows: int) -> np.ndarray:
        first = state.scores(rows, n_rows, state.shaped.get("first", state.W)).reshape(n_rows, -1)
        total, votes = state.machine_rounds(), np.empty_like(first)
        joint = state.n_machines < state.n_columns
        at_zero = {"negative": -1.0, "positive": 1.0, "random": 0.0}[self.tie]
        values = np.zeros((state.n_features + 1, AT_ONCE))
        count_votes(rows, state.bias, values, state.votes, first, total, joint, at_zero, votes)
        votes /= np.maximum(total, 1)
        return votes[:, 0] if state.n_classes == 2 else votes


def keeping_of(model: Any) -> KeepLast:
    """Return a new keeper for the ``keep`` parameter of a model."""
    if model.keep == "vote":
        return KeepVote(getattr(model, "vote_mb", np.inf), model.tie)
    if model.keep == "best":
        return KeepBest(getattr(model, "zero", "mistake"))
    return KeepAverage() if model.keep == "average" else KeepLast()
