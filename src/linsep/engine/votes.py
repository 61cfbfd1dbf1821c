"""Every version of the weights votes with the number of rounds it survived (FS99).

Kept are the changes that made the versions, 16 bytes each, and their survival counts, 20 a
version, never the vectors; a prediction walks over all changes once. So both memory and the time of
a prediction grow with the number of updates times the length of the rows that caused them.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from linsep.compiled.keep import Vote
from linsep.compiled.rows import Csr, Dense, Unit
from linsep.engine.decide import decision, predicted
from linsep.engine.feed import Visit
from linsep.engine.keeping import KeepLast, concatenated, count_changes
from linsep.engine.poll import Poll
from linsep.engine.state import State
from linsep.errors import LinsepError, way

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
                way("raise {}", vote_megabytes=None),
                way("use {}, which needs one more vector only", keep="average"),
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
        """All changes and versions as six arrays; see :class:`linsep.compiled.keep.Vote`."""
        return dict(zip(Vote._fields, joined(self._taken), strict=False))

    def errors(self, state: State, visits: Iterator[Visit], tie: str) -> tuple[int, int]:
        """By what is predicted; a random tie counts as if the lowest class were drawn."""
        wrong = rows = 0
        for visit in visits:
            chosen = np.asarray(visit.order)
            scores = self.scores(state, visit.rows, visit.codes.size)[chosen]
            drawn = "negative" if tie == "random" else tie
            codes = predicted(decision(state, scores, drawn), drawn)
            wrong += int((codes != visit.codes[chosen]).sum())
            rows += chosen.size
        return wrong, rows

    def scores(self, state: State, rows: Dense | Csr | Unit, n_rows: int) -> np.ndarray:
        """Share of the votes: in [-1, 1] of a machine, in [0, 1] of a class of the native rule."""
        self._taken = [joined(self._taken)] if self._taken else []
        first = state.scores(rows, n_rows, self.first_weights(state)).reshape(n_rows, -1)
        votes = Poll(state, self.changes(), self.tie).votes(rows, first)
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
