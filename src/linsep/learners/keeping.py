"""Weights for prediction: the last, the average, the best, or a vote of all versions.

Versions of the weights are stored as changes of the first.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from linsep.compiled.loop import ERRORS, Watch, pass_loop
from linsep.compiled.rows import Csr, Dense, Unit
from linsep.compiled.votes import AT_ONCE, count_votes
from linsep.compiled.weights import Average, Best, Last, Vote
from linsep.errors import LinsepError, hint
from linsep.learners.state import Arrays, State, Unlearnable, decision, predicted, sparing
from linsep.rows.arrays import RowBatch, rows_per_slice, slices


def count_mistakes(
    state: State,
    weights: np.ndarray,
    row_batches: Iterable[RowBatch],
    tie: str,
    zero: str = "mistake",
) -> tuple[np.ndarray, int, int]:
    """Return the weighted mistakes of each binary classifier, the number of rows predicted wrongly,
    and the number of rows.
    """
    watch, tally, rows = Watch(np.zeros(state.n_machines)), np.zeros(4, np.int64), 0
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


Learned = Callable[[], Iterator[RowBatch] | None]


class KeepLast:
    """Keep the last weights."""

    #: whether predictions depend little on the last rows, so that more passes do not harm them
    steady = False

    def compiled(self, state: State, most_changes: int) -> Any:
        """Return the recorder of the compiled loop for up to ``most_changes`` weight changes."""
        return Last()

    def rows_at_once(self, state: State, longest: int) -> int | None:
        """Return how many rows of at most ``longest`` values may be processed at once; None: any
        number.
        """
        return None

    def take(self, state: State) -> None:
        """Collect the records of the compiled loop."""

    def close_pass(self, state: State, learned: Learned, tie: str) -> None:
        """Finish a pass; ``learned`` returns its training rows, if kept."""

    def remember(self) -> Any:
        """Return a snapshot for :meth:`put_back`."""

    def put_back(self, before: Any) -> None:
        """Restore a snapshot of :meth:`remember`."""

    def changes(self) -> Arrays:
        """Return the arrays kept outside the state, by name."""
        return {}

    def restore(self, state: State, changes: Arrays) -> None:
        """Restore what :meth:`changes` returned; raise ValueError if it is inconsistent."""

    def start_again(self, state: State) -> None:
        """Reset, because the weights are zero again."""

    def features_in_use(self, state: State) -> np.ndarray:
        """Return the features with a nonzero weight in training or prediction."""
        arrays = (array[: state.n_features] for array in state.shaped.values())
        used = [array.reshape(state.n_features, -1).any(axis=1) for array in arrays]
        return np.flatnonzero(np.any(used, axis=0))

    def select(self, state: State, features: np.ndarray) -> None:
        """Restrict the state to these features."""
        state.select(features)

    def weights(self, state: State) -> np.ndarray:
        """Return the weights for prediction, with the shape of ``state.W``."""
        return state.W

    def errors(
        self, state: State, row_batches: Iterable[RowBatch], tie: str
    ) -> tuple[float, float]:
        """Return the weight of the rows predicted wrongly and of all rows, by their ``importance``
        if they have any.
        """
        wrong = right = 0.0
        for row_batch in row_batches:
            if row_batch.importance.size or isinstance(self, KeepVote):
                missed = self.missed(state, row_batch, tie)
                weights = np.ones(missed.size)
                if row_batch.importance.size:
                    weights = row_batch.importance[np.asarray(row_batch.order)]
                # Row by row, so that no digit depends on the batches.
                wrong = float(np.cumsum(np.append(wrong, weights[missed]))[-1])
                right = float(np.cumsum(np.append(right, weights[~missed]))[-1])
            else:
                _, errors, rows = count_mistakes(state, self.weights(state), [row_batch], tie)
                wrong, right = wrong + errors, right + rows - errors
        return wrong, wrong + right

    def missed(self, state: State, row_batch: RowBatch, tie: str) -> np.ndarray:
        """Return which visited rows are predicted wrongly; random ties are predicted as the lowest
        class.

        Raises Unlearnable if a score overflows float64.
        """
        chosen = np.asarray(row_batch.order)
        scores = self.scores(state, row_batch.rows, row_batch.codes.size)[chosen]
        if not np.isfinite(scores).all():
            raise Unlearnable(None)
        codes = predicted(decision(state, scores, tie), "negative" if tie == "random" else tie)
        return codes != row_batch.codes[chosen]

    def scores(self, state: State, rows: Dense | Csr | Unit, n_rows: int) -> np.ndarray:
        """Return the scores for prediction, with the shape of :meth:`State.scores`."""
        return state.scores(rows, n_rows, self.weights(state))


class KeepAverage(KeepLast):
    """Keep the mean of the weights over all steps, computed from the changes."""

    steady = True

    def compiled(self, state: State, most_changes: int) -> Any:
        """Return the sum of all changes, each times its step number."""
        return Average(state.like_weights("sums"))

    def weights(self, state: State) -> np.ndarray:
        """Return the mean weights."""
        rounds = np.maximum(state.per_column(state.machine_rounds()), 1)
        return state.W - state.like_weights("sums") / rounds


class KeepBest(KeepLast):
    """Keep the best weights (pocket algorithm with ratchet): after every pass the mistakes of the
    longest-surviving and the last weights on all rows are counted, and the best so far are kept.

    During the first pass, and with partial_fit, these are the longest-surviving weights.

    Parameters
    ----------
    zero : meaning of a score of zero when mistakes are counted: "mistake", "negative" or "correct"
    """

    steady = True

    def __init__(self, zero: str = "mistake"):
        self.zero = zero

    def compiled(self, state: State, most_changes: int) -> Any:
        """Return the record of the longest-surviving weights."""
        return Best(
            state.like_weights("longest_surviving"),
            state.per_machine("record"),
            state.per_machine("created"),
        )

    def close_pass(self, state: State, learned: Learned, tie: str) -> None:
        """Put candidates that make fewer mistakes in the pocket."""
        last = state.machine_rounds() - state.per_machine("created")
        longest = np.maximum(last, state.per_machine("record"))
        for candidate, survived in ((self._longest_surviving(state), longest), (state.W, last)):
            rows = learned()
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
    """Copy the weights of the chosen binary classifiers into an array."""
    if chosen.size == 1:
        if chosen[0]:
            into[:] = weights
        return
    columns = np.flatnonzero(state.per_column(chosen))
    into[:, columns] = weights[:, columns]


def count_changes(state: State, longest: int) -> int:
    """Return the number of weights that an example with ``longest`` values may change."""
    if state.n_classes == 2:
        machines = 1
    else:
        joint = state.n_classes if state.moves_all_classes else 2
        by_scheme = {"native": joint, "ovr": state.n_classes}
        machines = by_scheme.get(state.multiclass, state.n_classes - 1)
    return (longest + 1) * machines


#: most changes that a slice of rows may cause
CHANGES_AT_ONCE = 1 << 20
BYTES_PER_CHANGE, BYTES_PER_VERSION = 16, 20
#: dtypes of the arrays of Vote in compiled/weights.py: of changes, and of versions
OF_CHANGES, OF_VERSIONS = (np.int32, np.int32, np.float64), (np.int64, np.int64, np.int32)
#: their names
CHANGES = Vote._fields[:-1]


class TooManyVotes(LinsepError, ValueError):
    """The changes of all versions exceed the memory limit."""

    code = "too-large"


def _room(changes: int, versions: int) -> Vote:
    """Return an empty record with room for changes and versions."""
    arrays = [np.empty(changes, kind) for kind in OF_CHANGES]
    arrays += [np.empty(versions, kind) for kind in OF_VERSIONS]
    return Vote._make([*arrays, np.zeros(2, np.int64)])


class KeepVote(KeepLast):
    """Keep all versions: the ``first`` weights of the state, and a record of changes that grows.

    Parameters
    ----------
    megabytes : memory limit of the changes
    tie : class of a score of exactly zero in a vote
    """

    steady = True

    def __init__(self, megabytes: float, tie: str):
        self.most_bytes, self.tie = megabytes * 1e6, tie
        self.log, self._before = _room(0, 0), 0

    def start_again(self, state: State) -> None:
        """Drop all versions."""
        self.log, self._before = _room(0, 0), 0

    def __getstate__(self) -> dict[str, Any]:
        """Omit the room that is not used."""
        return vars(self) | {"log": self._used()}

    def compiled(self, state: State, most_changes: int) -> Any:
        """Return the record, with room for the changes of the next rows."""
        if "first" not in state.shaped:
            state.shaped["first"] = state.W.copy()
        changes, versions = self.remember()
        if max(changes, versions) + most_changes > self.log.amounts.size:
            size = 2 * max(changes, versions) + most_changes
            old, self.log = self.log, _room(size, size)
            for array, before in zip(self.log, old, strict=True):
                array[: before.size] = before
        self._before = changes
        return self.log

    def rows_at_once(self, state: State, longest: int) -> int | None:
        """Return the number of rows that cause a limited number of changes."""
        return max(1, CHANGES_AT_ONCE // count_changes(state, longest))

    def take(self, state: State) -> None:
        """Mark the changes of the constant feature, whose position moves when features are added;
        raise TooManyVotes beyond the memory limit.
        """
        changes, versions = self.remember()
        fresh = self.log.features[self._before : changes]
        fresh[fresh == state.W.shape[0] - 1] = -1
        if BYTES_PER_CHANGE * changes + BYTES_PER_VERSION * versions > self.most_bytes:
            raise TooManyVotes(
                f"A vote has to store more than {self.most_bytes / 1e6:g} MB of updates",
                hint("raise {}", vote_mb=None),
                hint("use {}, which needs only one more vector", keep="average"),
                option="vote_mb",
            )

    def remember(self) -> tuple[int, int]:
        """Return the number of changes and of versions."""
        changes, versions = self.log.used.tolist()
        return changes, versions

    def put_back(self, before: tuple[int, int]) -> None:
        """Drop the changes and versions after those."""
        self.log.used[:] = before

    def _used(self) -> Vote:
        """Return the part of the record that is in use."""
        changes, versions = self.remember()
        arrays = [array[:changes] for array in self.log[:3]]
        arrays += [array[:versions] for array in self.log[3:6]]
        return Vote._make([*arrays, self.log.used])

    def changes(self) -> Arrays:
        """Return all changes and versions, by name."""
        return dict(zip(CHANGES, self._used(), strict=False))

    def restore(self, state: State, changes: Arrays) -> None:
        """Restore what :meth:`changes` returned; raise ValueError if it is inconsistent."""
        features, columns, amounts, starts, rounds, machines = arrays = [
            changes[name] for name in CHANGES
        ]
        last = amounts.size
        sound = features.shape == columns.shape == amounts.shape == (last,)
        sound &= starts.shape == rounds.shape == machines.shape == (starts.size,)
        if not sound or [a.dtype for a in arrays] != [*OF_CHANGES, *OF_VERSIONS]:
            raise ValueError("votes of the wrong shape")
        edges = np.concatenate([[0], starts, [last]])
        for numbers, low, high in (
            (features, -1, state.n_features - 1), (columns, 0, state.n_columns - 1),
            (machines, 0, state.n_machines - 1), (np.diff(edges), 0, last),
        ):  # fmt: skip
            if numbers.size and not (numbers.min() >= low and numbers.max() <= high):
                raise ValueError("votes that do not match the weights")
        self.log = Vote._make([*arrays, np.array([last, starts.size])])

    def features_in_use(self, state: State) -> np.ndarray:
        """Return the features with a nonzero weight in any version."""
        used = np.zeros(state.n_features + 1, dtype=bool)  # the last for the constant feature, -1
        used[super().features_in_use(state)] = True
        used[self._used().features] = True
        return np.flatnonzero(used[:-1])

    def select(self, state: State, features: np.ndarray) -> None:
        """Restrict the state to these features and renumber the changes."""
        places = np.full(state.n_features + 1, -1, np.int32)
        places[features] = np.arange(features.size)
        changed = self._used().features
        changed[:] = places[changed]
        state.select(features)

    def scores(self, state: State, rows: Dense | Csr | Unit, n_rows: int) -> np.ndarray:
        """Return shares of votes: in [-1, 1] for a binary classifier, in [0, 1] for a class of the
        native rule.
        """
        first = state.shaped.get("first", state.W)
        first = state.scores(rows, n_rows, first).reshape(n_rows, -1)
        total, votes = state.machine_rounds(), np.empty_like(first)
        joint = state.n_machines < state.n_columns
        at_zero = {"negative": -1.0, "positive": 1.0, "random": 0.0}[self.tie]
        values = np.zeros((state.n_features + 1, AT_ONCE))
        count_votes(rows, state.bias, values, self._used(), first, total, joint, at_zero, votes)
        votes /= np.maximum(total, 1)
        return votes[:, 0] if state.n_classes == 2 else votes


def keeping_of(model: Any) -> KeepLast:
    """Return a new keeper for the ``keep`` parameter of a model."""
    if model.keep == "vote":
        return KeepVote(getattr(model, "vote_mb", np.inf), model.tie)
    if model.keep == "best":
        return KeepBest(getattr(model, "zero", "mistake"))
    return KeepAverage() if model.keep == "average" else KeepLast()
