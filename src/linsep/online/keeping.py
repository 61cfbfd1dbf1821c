"""Which weights to predict with: the last, their average, a vote of all, or the best so far."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal

import numpy as np

from linsep.compiled.core.rows import Csr, Dense, Unit
from linsep.compiled.core.weights import Average, Best, Last, Vote
from linsep.errors import LinsepError, hint
from linsep.online.deciding import decision, predicted
from linsep.online.evaluation import count_mistakes
from linsep.online.learner import State, Unlearnable
from linsep.online.rows.array import RowBatch
from linsep.online.vote_scoring import VoteScoring

Learnt = Callable[[], Iterator[RowBatch] | None]


class KeepLast:
    """The weights as they are at the end."""

    def compiled(self, state: State, most_changes: int) -> Any:
        """What the compiled loop remembers of weights that change, ``most_changes`` at most."""
        return Last()

    def rows_at_once(self, state: State, longest: int) -> int | None:
        """How many rows of at most so many values may be learnt at once; None for any number."""
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

    def errors(self, state: State, row_batches: Iterator[RowBatch], tie: str) -> tuple[int, int]:
        """How many of the visited rows are predicted wrongly, and how many there are."""
        _, errors, rows = count_mistakes(state, self.weights(state), row_batches, tie)
        return errors, rows

    def weighed_errors(
        self, state: State, row_batches: Iterator[RowBatch], tie: str
    ) -> tuple[float, float]:
        """The same, each row counting its ``importance`` where the rows visited have one."""
        wrong = total = 0.0
        for row_batch in row_batches:
            if row_batch.importance.size:
                missed = self.missed(state, row_batch, tie)
                weights = row_batch.importance[np.asarray(row_batch.order)]
                errors = float(weights[missed].sum())
                rows = errors + float(weights[~missed].sum())
            else:
                errors, rows = self.errors(state, iter([row_batch]), tie)
            wrong, total = wrong + errors, total + rows
        return wrong, total

    def missed(self, state: State, row_batch: RowBatch, tie: str) -> np.ndarray:
        """Which of the visited rows are predicted wrongly, a random tie going to the lowest class;
        Unlearnable where a score is beyond floating point.
        """
        chosen = np.asarray(row_batch.order)
        scores = self.scores(state, row_batch.rows, row_batch.codes.size)[chosen]
        if not np.isfinite(scores).all():
            raise Unlearnable(None)
        codes = predicted(decision(state, scores, tie), "negative" if tie == "random" else tie)
        return codes != row_batch.codes[chosen]

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
            state.like_weights("longest_surviving"),
            state.per_machine("record"),
            state.per_machine("created"),
        )

    def close_pass(self, state: State, learnt: Learnt, tie: str) -> None:
        """Put a candidate in the pocket where it makes fewer mistakes."""
        last = state.machine_rounds() - state.per_machine("created")
        longest = np.maximum(last, state.per_machine("record"))
        for candidate, survived in ((self._longest_surviving(state), longest), (state.W, last)):
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
        return state.shaped.get("pocket", self._longest_surviving(state))

    def start_again(self, state: State) -> None:
        """Empty the pocket."""
        state.shaped.pop("pocket", None)

    def open_pocket(self, state: State) -> None:
        """Go on without ratchet, from the weights in the pocket: more rows come, once only."""
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


CHANGES_AT_ONCE = 1 << 20
BYTES_PER_CHANGE, BYTES_PER_VERSION = 16, 20


#: of the arrays of compiled.keep.Vote, but for the last
KINDS = (np.int32, np.int32, np.float64, np.int64, np.int64, np.int32)


class TooManyVotes(LinsepError, ValueError):
    """The changes of all versions take more memory than allowed."""


class KeepVote(KeepLast):
    """The changes of every version since the ``first`` weights.

    Parameters
    ----------
    megabytes : what the changes may take
    tie : what a version says of a score of exactly zero
    """

    def __init__(self, megabytes: float, tie: str):
        self.most_bytes, self.tie = megabytes * 1e6, tie
        self.first: np.ndarray | None = None
        self._taken: list[tuple[np.ndarray, ...]] = []
        self._bytes = 0
        self._room: Vote | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Without the room, which holds nothing between calls."""
        return self.__dict__ | {"_room": None}

    def compiled(self, state: State, most_changes: int) -> Any:
        """Room for the changes of the next rows."""
        if self.first is None:
            self.first = state.W.copy()
        if self._room is None or self._room.amounts.size < most_changes:
            room = [np.empty(most_changes, kind) for kind in KINDS]
            self._room = Vote._make([*room, np.zeros(2, np.int64)])
        return self._room

    def rows_at_once(self, state: State, longest: int) -> int | None:
        """As many as there is room for, should each change all it may."""
        return max(1, CHANGES_AT_ONCE // count_changes(state, longest))

    def take(self, state: State) -> None:
        """Move the changes out of the room; TooManyVotes where they are more than allowed."""
        room = self._room
        if room is None or not room.used[1]:
            return
        changes, versions = room.used.tolist()
        room.used[:] = 0
        # The constant feature comes last, which is elsewhere when more features have come.
        room.features[:changes][room.features[:changes] == state.W.shape[0] - 1] = -1
        self._taken.append(
            tuple(a[:changes].copy() for a in (room.features, room.columns, room.amounts))
            + tuple(a[:versions].copy() for a in (room.starts, room.rounds, room.machines))
        )
        # Rows may come one by one: small parts are joined, so that there are but few.
        while len(self._taken) > 1 and self._taken[-1][0].size >= self._taken[-2][0].size:
            self._taken[-2:] = [joined(self._taken[-2:])]
        self._bytes += _size(changes, versions)
        if self._bytes > self.most_bytes:
            raise TooManyVotes(
                f"A vote has to remember more than {self.most_bytes / 1e6:g} MB of updates",
                hint("raise {}", vote_mb=None),
                hint("use {}, which needs one more vector only", keep="average"),
            )

    def remember(self) -> Callable[[], None]:
        """Note where the changes end now."""
        taken, size = list(self._taken), self._bytes

        def recall() -> None:
            self._taken, self._bytes = taken, size

        return recall

    def start_again(self, state: State) -> None:
        """Forget all versions."""
        self.first, self._taken, self._bytes = None, [], 0

    def features_in_use(self, state: State) -> np.ndarray:
        """Those of the last weights, and all that any version has a weight for."""
        used = np.zeros(state.n_features, dtype=bool)
        used[super().features_in_use(state)] = True
        for features, *_ in self._taken:
            used[features[features >= 0]] = True
        first = self.first_weights(state)[: state.n_features]
        return np.flatnonzero(used | first.reshape(state.n_features, -1).any(axis=1))

    def select(self, state: State, features: np.ndarray) -> None:
        """Renumber the changes too."""
        first = self.first_weights(state)
        self.first = None if self.first is None else np.concatenate([first[features], first[-1:]])
        places = np.full(state.n_features + 1, -1, np.int32)
        places[features] = np.arange(features.size)
        self._taken = [(places[changed], *rest) for changed, *rest in self._taken]
        state.select(features)

    def first_weights(self, state: State) -> np.ndarray:
        """Version 0, with room for the features that came later."""
        if self.first is None:
            return state.W
        wide = np.full_like(state.W, state.fill)
        wide[: self.first.shape[0] - 1], wide[-1] = self.first[:-1], self.first[-1]
        return wide

    def restore(self, state: State, first: np.ndarray, changes: dict[str, np.ndarray]) -> None:
        """Take over what :meth:`changes` gave; ValueError where it makes no sense."""
        features, columns, amounts, starts, rounds, machines = changes.values()
        last = amounts.size
        sound = features.shape == columns.shape == amounts.shape == (last,)
        sound &= starts.shape == rounds.shape == machines.shape == (starts.size,)
        if not sound or [a.dtype for a in changes.values()] != list(KINDS):
            raise ValueError("votes of the wrong shape")
        edges = np.concatenate([[0], starts, [last]])
        for numbers, low, high in (
            (features, -1, state.n_features - 1), (columns, 0, state.n_columns - 1),
            (machines, 0, state.n_machines - 1), (np.diff(edges), 0, last),
        ):  # fmt: skip
            if numbers.size and not (numbers.min() >= low and numbers.max() <= high):
                raise ValueError("votes that do not fit the weights")
        self.first, self._taken = first, [tuple(changes.values())]
        self._bytes = _size(last, starts.size)

    def changes(self) -> dict[str, np.ndarray]:
        """All changes and versions as six arrays; see
        :class:`linsep.compiled.core.weights.Vote`.
        """
        return dict(zip(Vote._fields, joined(self._taken), strict=False))

    def errors(self, state: State, row_batches: Iterator[RowBatch], tie: str) -> tuple[int, int]:
        """By what is predicted; a random tie counts as if the lowest class were drawn."""
        wrong = rows = 0
        for row_batch in row_batches:
            missed = self.missed(state, row_batch, tie)
            wrong, rows = wrong + int(missed.sum()), rows + missed.size
        return wrong, rows

    def scores(self, state: State, rows: Dense | Csr | Unit, n_rows: int) -> np.ndarray:
        """Share of the votes: in [-1, 1] of a machine, in [0, 1] of a class of the native rule."""
        self._taken = [joined(self._taken)] if self._taken else []
        first = state.scores(rows, n_rows, self.first_weights(state)).reshape(n_rows, -1)
        votes = VoteScoring(state, self.changes(), self.tie).votes(rows, first)
        return votes[:, 0] if state.n_classes == 2 else votes


def joined(parts: list[tuple[np.ndarray, ...]]) -> tuple[np.ndarray, ...]:
    """Changes taken one after the other as if they had been taken at once."""
    columns = list(zip(*parts, strict=True)) or [()] * len(KINDS)
    found = [concatenated(arrays, kind) for arrays, kind in zip(columns, KINDS, strict=True)]
    starts = Vote._fields.index("starts")
    before = np.cumsum([0, *(amounts.size for amounts in columns[2])])[:-1]
    found[starts] += np.repeat(before, [part.size for part in columns[starts]])
    return tuple(found)


def _size(changes: int, versions: int) -> int:
    return BYTES_PER_CHANGE * changes + BYTES_PER_VERSION * versions


#: the names of the ways to keep weights
Keep = Literal["last", "average", "vote", "best"]


def keeping_of(keep: str, vote_mb: float, tie: str) -> KeepLast:
    """A new keeper of weights; ``vote_mb`` and ``tie`` matter to a vote only."""
    if keep == "vote":
        return KeepVote(vote_mb, tie)
    return {"last": KeepLast, "average": KeepAverage, "best": KeepBest}[keep]()
