"""Weights to predict with: the last, their average, or the best; the vote of all is in voting."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from linsep.compiled.loop import ERRORS, Watch, pass_loop
from linsep.compiled.rows import Csr, Dense, Unit
from linsep.compiled.weights import Average, Best, Last
from linsep.learners.state import State, Unlearnable, decision, predicted, sparing
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


Learnt = Callable[[], Iterator[RowBatch] | None]


class KeepLast:
    """Keep the last weights."""

    def compiled(self, state: State, most_changes: int) -> Any:
        """Return what the compiled loop records of at most ``most_changes`` changes of weights."""
        return Last()

    def rows_at_once(self, state: State, longest: int) -> int | None:
        """Return how many rows of at most ``longest`` values may be learnt at once; None: any."""
        return None

    def take(self, state: State) -> None:
        """Collect what the compiled loop recorded."""

    def close_pass(self, state: State, learnt: Learnt, tie: str) -> None:
        """Finish a pass; ``learnt`` returns its training rows, if kept."""

    def remember(self) -> Any:
        """Return what :meth:`put_back` needs to return to this moment."""

    def put_back(self, before: Any) -> None:
        """Return to the moment of :meth:`remember`."""

    def arrays(self) -> dict[str, np.ndarray]:
        """Return what is kept outside the state, by name."""
        return {}

    def set_arrays(self, state: State, arrays: dict[str, np.ndarray]) -> None:
        """Restore what :meth:`arrays` returned; raise ValueError if it is inconsistent."""

    def start_again(self, state: State) -> None:
        """Reset, as the weights are zero again."""

    def features_in_use(self, state: State) -> np.ndarray:
        """Return the features with a nonzero weight in training or prediction."""
        arrays = (array[: state.n_features] for array in state.shaped.values())
        used = [array.reshape(state.n_features, -1).any(axis=1) for array in arrays]
        return np.flatnonzero(np.any(used, axis=0))

    def select(self, state: State, features: np.ndarray) -> None:
        """Restrict the state to these features."""
        state.select(features)

    def weights(self, state: State) -> np.ndarray:
        """Return the weights to predict with, of the shape of ``state.W``."""
        return state.W

    def errors(self, state: State, row_batches: Iterator[RowBatch], tie: str) -> tuple[int, int]:
        """Return the number of rows predicted wrongly, and the number of rows."""
        _, errors, rows = count_mistakes(state, self.weights(state), row_batches, tie)
        return errors, rows

    def weighed_errors(
        self, state: State, row_batches: Iterator[RowBatch], tie: str
    ) -> tuple[float, float]:
        """Return the same with rows counted by their ``importance``, if they have one."""
        wrong = right = 0.0
        for row_batch in row_batches:
            if row_batch.importance.size:
                missed = self.missed(state, row_batch, tie)
                weights = row_batch.importance[np.asarray(row_batch.order)]
                # Row by row, so that no digit depends on the batches.
                wrong = float(np.cumsum(np.append(wrong, weights[missed]))[-1])
                right = float(np.cumsum(np.append(right, weights[~missed]))[-1])
            else:
                errors, rows = self.errors(state, iter([row_batch]), tie)
                wrong, right = wrong + errors, right + rows - errors
        return wrong, wrong + right

    def missed(self, state: State, row_batch: RowBatch, tie: str) -> np.ndarray:
        """Return which visited rows are predicted wrongly, random ties as the lowest class.

        Raises Unlearnable if a score is beyond floating point.
        """
        chosen = np.asarray(row_batch.order)
        scores = self.scores(state, row_batch.rows, row_batch.codes.size)[chosen]
        if not np.isfinite(scores).all():
            raise Unlearnable(None)
        codes = predicted(decision(state, scores, tie), "negative" if tie == "random" else tie)
        return codes != row_batch.codes[chosen]

    def scores(self, state: State, rows: Dense | Csr | Unit, n_rows: int) -> np.ndarray:
        """Return the scores to predict with, of the shape of :meth:`State.scores`."""
        return state.scores(rows, n_rows, self.weights(state))


class KeepAverage(KeepLast):
    """Keep the mean of the weights over all rounds, computed from the changes."""

    def compiled(self, state: State, most_changes: int) -> Any:
        """Return the sum of all changes, each times its round."""
        return Average(state.like_weights("sums"))

    def weights(self, state: State) -> np.ndarray:
        """Return the mean weights."""
        rounds = state.per_column(state.machine_rounds())
        return state.W - state.like_weights("sums") / np.maximum(rounds, 1)


class KeepBest(KeepLast):
    """Keep the best weights (pocket algorithm with ratchet): after every pass the mistakes of the
    longest-surviving and the last weights on all rows are counted, and the best so far are kept.

    During the first pass, and with partial_fit, these are the longest-surviving weights.

    Parameters
    ----------
    zero : what a score of zero is, when mistakes are counted: "mistake", "negative" or "correct"
    """

    def __init__(self, zero: str = "mistake"):
        self.zero = zero

    def compiled(self, state: State, most_changes: int) -> Any:
        """Return the record of the longest-surviving weights."""
        return Best(
            state.like_weights("longest_surviving"),
            state.per_machine("record"),
            state.per_machine("created"),
        )

    def close_pass(self, state: State, learnt: Learnt, tie: str) -> None:
        """Put candidates that make fewer mistakes in the pocket."""
        last = state.machine_rounds() - state.per_machine("created")
        longest = np.maximum(last, state.per_machine("record"))
        for candidate, survived in ((self._longest_surviving(state), longest), (state.W, last)):
            rows = learnt()
            if rows is None:  # the rows were not kept
                return
            fewest = state.per_machine("pocket_mistakes", np.float64)
            if "pocket" not in state.shaped:
                fewest[:] = np.inf
            pocket = state.like_weights("pocket")
            found, _, _ = count_mistakes(state, candidate, rows, tie, self.zero)
            better = found < fewest
            fewest[better] = found[better]
            state.per_machine("pocket_record")[better] = survived[better]
            _choose(state, better, candidate, pocket)
        state.per_machine("record")[:] = 0

    def weights(self, state: State) -> np.ndarray:
        """Return the weights in the pocket, else the longest-surviving ones."""
        return state.shaped.get("pocket", self._longest_surviving(state))

    def start_again(self, state: State) -> None:
        """Empty the pocket."""
        state.shaped.pop("pocket", None)

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
    """Copy the weights of the chosen machines into an array."""
    if chosen.size == 1:
        if chosen[0]:
            into[:] = weights
        return
    columns = np.flatnonzero(state.per_column(chosen))
    into[:, columns] = weights[:, columns]


def count_changes(state: State, longest: int) -> int:
    """Return how many weights an example with ``longest`` values may change."""
    if state.n_classes == 2:
        machines = 1
    else:
        machines = {"native": 2, "ovr": state.n_classes}.get(state.multiclass, state.n_classes - 1)
    return (longest + 1) * machines
