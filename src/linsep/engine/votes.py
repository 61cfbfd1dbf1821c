"""Every version of the weights votes with the number of rounds it survived (FS99).

Kept are the changes that made the versions, 16 bytes each, and their survival counts, never the
vectors; a prediction walks over all changes once. So both memory and the time of a prediction grow
with the number of updates times the length of the rows that caused them.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep.compiled.keep import Vote
from linsep.compiled.rows import Csr, Dense, Unit
from linsep.engine.decide import decision, predicted
from linsep.engine.feed import Visit
from linsep.engine.keeping import KeepLast, concatenated, count_changes
from linsep.engine.state import State
from linsep.errors import LinsepError

CHANGES_AT_ONCE = 1 << 20
BYTES_PER_CHANGE = 16
# Versions are scored in blocks of about so many numbers.
BLOCK_VALUES = 1 << 22


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
            self._room = Vote(
                np.empty(most_changes, np.int32), np.empty(most_changes, np.int32),
                np.empty(most_changes), np.empty(most_changes, np.int64),
                np.empty(most_changes, np.int64), np.empty(most_changes, np.int32),
                np.zeros(2, np.int64),
            )  # fmt: skip
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
        self._bytes += BYTES_PER_CHANGE * changes
        if self._bytes > self.most_bytes:
            raise TooManyVotes(
                f"keep='vote' has to remember more than {self.most_bytes / 1e6:g} MB of updates: "
                "raise vote_megabytes, or use keep='average', which needs one more vector only."
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
        if not sound or [a.dtype.kind for a in changes.values()] != list("iifiii"):
            raise ValueError("votes of the wrong shape")
        edges = np.concatenate([[0], starts, [last]])
        for numbers, low, high in (
            (features, -1, state.n_features - 1), (columns, 0, state.n_columns - 1),
            (machines, 0, state.n_machines - 1), (np.diff(edges), 0, last),
        ):  # fmt: skip
            if numbers.size and not (numbers.min() >= low and numbers.max() <= high):
                raise ValueError("votes that do not fit the weights")
        self.first, self._taken = first, [tuple(changes.values())]
        self._bytes = BYTES_PER_CHANGE * last

    def changes(self) -> dict[str, np.ndarray]:
        """All changes and versions as six arrays; see :class:`linsep.compiled.keep.Vote`."""
        columns = list(zip(*self._taken, strict=True)) or [()] * 6
        features, cols, amounts, starts, rounds, machines = columns
        before = np.cumsum([0, *(part.size for part in amounts)])
        moved = [part + n for part, n in zip(starts, before, strict=False)]
        return {
            "features": concatenated(features, np.int32),
            "columns": concatenated(cols, np.int32),
            "amounts": concatenated(amounts, np.float64),
            "starts": concatenated(moved, np.int64),
            "rounds": concatenated(rounds, np.int64),
            "machines": concatenated(machines, np.int32),
        }

    def errors(self, state: State, visits: Iterator[Visit], tie: str) -> tuple[int, int]:
        """By what is predicted; a random tie counts as if the lowest class were drawn."""
        wrong = rows = 0
        for visit in visits:
            chosen = np.asarray(visit.order)
            scores = self.scores(state, visit.rows, visit.codes.size)[chosen]
            drawn = "negative" if tie == "random" else tie
            codes = predicted(decision(state, scores, drawn), drawn, None)
            wrong += int((codes != visit.codes[chosen]).sum())
            rows += chosen.size
        return wrong, rows

    def scores(self, state: State, rows: Dense | Csr | Unit, n_rows: int) -> np.ndarray:
        """Share of the votes: in [-1, 1] of a machine, in [0, 1] of a class of the native rule."""
        self._taken = [tuple(self.changes().values())] if self._taken else []
        log = self.changes()
        votes = state.scores(rows, n_rows, self.first_weights(state))
        votes = votes.reshape(n_rows, -1)
        poll = _Poll(state, log, self.tie)
        X, scale = _matrix(rows, n_rows, state.n_features)
        joint = state.n_classes > 2 and state.multiclass == "native"
        if joint:
            return poll.classes(X, scale, votes)
        out = np.empty_like(votes)
        for k in range(state.n_columns):
            out[:, k] = poll.machine(X, scale, votes[:, k], k)
        return out[:, 0] if state.n_classes == 2 else out


class _Poll:
    """Versions asked block by block."""

    def __init__(self, state: State, log: dict[str, np.ndarray], tie: str):
        self.state, self.log, self.tie = state, log, tie
        self.ends = np.append(log["starts"][1:], log["amounts"].size)
        self.rounds = state.machine_rounds()

    def machine(self, X: Any, scale: np.ndarray | None, scores: np.ndarray, k: int) -> np.ndarray:
        """Mean over all rounds of the sign of the scores of machine k."""
        mine = np.flatnonzero(self.log["machines"] == k)
        made = self.log["rounds"][mine]
        survived = np.diff(made, append=self.rounds[k])
        total = self._sign(scores) * (made[0] if made.size else self.rounds[k])
        for block, moved in self._moved(X, scale, mine, k):
            path = scores[:, None] + np.cumsum(moved, axis=1)
            total += self._sign(path) @ survived[block]
            scores = path[:, -1]
        return total / max(1, self.rounds[k])

    def classes(self, X: Any, scale: np.ndarray | None, scores: np.ndarray) -> np.ndarray:
        """Share of the rounds whose weights would have predicted each class."""
        made = self.log["rounds"]
        survived = np.diff(made, append=self.rounds[0])
        votes = np.zeros_like(scores)
        rows = np.arange(len(votes))
        votes[rows, self._best(scores)] += made[0] if made.size else self.rounds[0]
        everyone = np.arange(made.size)
        columns = [self._moved(X, scale, everyone, k) for k in range(self.state.n_classes)]
        for blocks in zip(*columns, strict=True):
            path = [scores[:, k, None] + np.cumsum(m, axis=1) for k, (_, m) in enumerate(blocks)]
            stacked = np.stack(path, axis=2)
            for v, weight in enumerate(survived[blocks[0][0]].tolist()):
                votes[rows, self._best(stacked[:, v])] += weight
            scores = stacked[:, -1]
        return votes / max(1, self.rounds[0])

    def _moved(self, X: Any, scale: np.ndarray | None, versions: np.ndarray, k: int) -> Any:
        """By how much each version moves the scores of column k, a block of versions at a time."""
        width = self.state.n_features + 1
        at_once = max(1, BLOCK_VALUES // max(width, X.shape[0]))
        for start in range(0, versions.size, at_once):
            block = versions[start : start + at_once]
            D, constant = self._dense(block, k, width)
            moved = X @ D[: X.shape[1]]
            if scale is not None:
                moved *= scale[:, None]
            yield slice(start, start + block.size), moved + self.state.bias * constant

    def _dense(self, block: np.ndarray, k: int, width: int) -> tuple[np.ndarray, np.ndarray]:
        """Changes of these versions to column k, (features, versions), and to its constant."""
        sizes = self.ends[block] - self.log["starts"][block]
        at = np.repeat(self.log["starts"][block] - np.cumsum(sizes) + sizes, sizes)
        at += np.arange(at.size)
        version = np.repeat(np.arange(block.size), sizes)
        mine = self.log["columns"][at] == k
        at, version = at[mine], version[mine]
        D = np.zeros((width, block.size))
        np.add.at(D, (self.log["features"][at], version), self.log["amounts"][at])
        return D[:-1], D[-1]

    def _sign(self, scores: np.ndarray) -> np.ndarray:
        at_zero = {"negative": -1.0, "positive": 1.0}.get(self.tie, 0.0)
        return np.where(scores == 0.0, at_zero, np.sign(scores))

    def _best(self, scores: np.ndarray) -> np.ndarray:
        if self.tie == "positive":
            return scores.shape[1] - 1 - scores[:, ::-1].argmax(axis=1)
        return scores.argmax(axis=1)


def _matrix(
    rows: Dense | Csr | Unit, n_rows: int, n_features: int
) -> tuple[Any, np.ndarray | None]:
    """The rows as scipy or numpy multiplies them, and their scales if they have any."""
    if isinstance(rows, Unit):
        return _matrix(rows.rows, n_rows, n_features)[0], rows.scales
    if isinstance(rows, Dense):
        return rows.values, None
    return sp.csr_array((rows.values, rows.columns, rows.starts), shape=(n_rows, n_features)), None
