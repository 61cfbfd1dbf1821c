"""Which weights to predict with: the last, their average, a vote of all, or the best so far."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from linsep.compiled.keep import Average, Best, Last
from linsep.compiled.rows import Csr, Dense, Unit
from linsep.engine.feed import Visit
from linsep.engine.recount import count_mistakes
from linsep.engine.state import State

Learnt = Callable[[], Iterator[Visit] | None]


class KeepLast:
    """The weights as they are at the end."""

    def compiled(self, state: State, most_changes: int) -> Any:
        """What the compiled loop remembers of weights that change, ``most_changes`` at most."""
        return Last()

    def rows_at_once(self, state: State, longest: int) -> int | None:
        """How many rows of at most so many values may be walked at once; None for any number."""
        return None

    def take(self, state: State) -> None:
        """Take over what the compiled loop wrote down."""

    def close_pass(self, state: State, learnt: Learnt, tie: str) -> None:
        """A pass has ended; ``learnt`` gives the rows it learnt from once more, if kept."""

    def remember(self) -> Callable[[], None]:
        """Copy all that changes; the function returned puts it back."""
        return lambda: None

    def start_again(self, state: State) -> None:
        """Forget everything, the weights being zero again."""

    def features_in_use(self, state: State) -> np.ndarray:
        """The features that what is predicted with, or learnt on, has a weight for."""
        arrays = (array[: state.n_features] for array in state.shaped.values())
        used = [array.reshape(state.n_features, -1).any(axis=1) for array in arrays]
        return np.flatnonzero(np.any(used, axis=0))

    def select(self, state: State, features: np.ndarray) -> None:
        """Go on with these features of the state only."""
        state.select(features)

    def weights(self, state: State) -> np.ndarray:
        """Weights to predict with, like ``state.W``."""
        return state.W

    def errors(self, state: State, visits: Iterator[Visit], tie: str) -> tuple[int, int]:
        """How many of the visited rows are predicted wrongly, and how many there are."""
        _, errors, rows = count_mistakes(state, self.weights(state), visits, tie)
        return errors, rows

    def scores(self, state: State, rows: Dense | Csr | Unit, n_rows: int) -> np.ndarray:
        """Scores to predict by, of the shape :meth:`State.scores` has."""
        return state.scores(rows, n_rows, self.weights(state))


class KeepAverage(KeepLast):
    """The mean over all rounds of the weights after the round, never summed round by round."""

    def compiled(self, state: State, most_changes: int) -> Any:
        """The sum of all changes, each times its round."""
        return Average(state.like_weights("sums"))

    def weights(self, state: State) -> np.ndarray:
        """The mean."""
        rounds = state.per_column(state.machine_rounds())
        return state.W - state.like_weights("sums") / np.maximum(rounds, 1)


class KeepBest(KeepLast):
    """The pocket with ratchet: at the end of every pass the longest-lived weights and the last are
    counted out on all rows, and those with the fewest mistakes so far are kept.

    Before a pass has ended, or where rows are never seen again (partial_fit), it is the
    longest-lived weights.
    """

    def compiled(self, state: State, most_changes: int) -> Any:
        """Those of the weights that survived longest."""
        return Best(
            state.like_weights("steadiest"), state.per_machine("record"), state.per_machine("born")
        )

    def close_pass(self, state: State, learnt: Learnt, tie: str) -> None:
        """Put a candidate in the pocket where it makes fewer mistakes."""
        last = state.machine_rounds() - state.per_machine("born")
        longest = np.maximum(last, state.per_machine("record"))
        for candidate, survived in ((self._steadiest(state), longest), (state.W, last)):
            rows = learnt()
            if rows is None:  # they were not kept
                return
            fewest = state.per_machine("pocket_mistakes", np.float64)
            if "pocket" not in state.shaped:
                fewest[:] = np.inf
            pocket = state.like_weights("pocket")
            found, _, _ = count_mistakes(state, candidate, rows, tie)
            better = found < fewest
            fewest[better] = found[better]
            state.per_machine("pocket_record")[better] = survived[better]
            _choose(state, better, candidate, pocket)
        state.per_machine("record")[:] = 0

    def weights(self, state: State) -> np.ndarray:
        """The pocket, or the longest-lived weights while there is none."""
        return state.shaped.get("pocket", self._steadiest(state))

    def start_again(self, state: State) -> None:
        """Empty the pocket."""
        state.shaped.pop("pocket", None)

    def open_pocket(self, state: State) -> None:
        """Go on without ratchet, from the weights in the pocket: more rows come, once only."""
        pocket = state.shaped.pop("pocket", None)
        if pocket is not None:
            state.like_weights("steadiest")[:] = pocket
            state.per_machine("record")[:] = state.per_machine("pocket_record")

    def _steadiest(self, state: State) -> np.ndarray:
        running = state.machine_rounds() - state.per_machine("born")
        steadiest = state.like_weights("steadiest").copy()
        _choose(state, running > state.per_machine("record"), state.W, steadiest)
        return steadiest


def _choose(state: State, chosen: np.ndarray, weights: np.ndarray, into: np.ndarray) -> None:
    """Copy the weights of the chosen machines."""
    if chosen.size == 1:
        if chosen[0]:
            into[:] = weights
        return
    columns = np.flatnonzero(state.per_column(chosen))
    into[:, columns] = weights[:, columns]


def count_changes(state: State, longest: int) -> int:
    """How many weights one example with so many values may change."""
    if state.n_classes == 2:
        machines = 1
    else:
        machines = {"native": 2, "ovr": state.n_classes}.get(state.multiclass, state.n_classes - 1)
    return (longest + 1) * machines


def concatenated(parts: Iterable[np.ndarray], kind: Any) -> np.ndarray:
    """The parts as one array, empty of that type if there are none."""
    parts = list(parts)
    return np.concatenate(parts) if parts else np.zeros(0, dtype=kind)
