"""Weights for prediction: the last, the average, the best, or a vote of all versions.

Versions of the weights are stored as changes of the first.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep.compiled.loop import ERRORS, Watch, pass_loop
from linsep.compiled.rows import Csr, Dense, Unit
from linsep.compiled.weights import Average, Best, Last, Vote
from linsep.errors import LinsepError, hint
from linsep.learners.state import State, Unlearnable, decision, predicted, sparing
from linsep.rows.arrays import RowBatch, rows_per_slice, slices


def count_mistakes(
    state: State,
    weights: np.ndarray,
    row_batches: Iterator[RowBatch],
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
    #: whether nothing is collected between slices of rows, or counted after a pass
    needs_no_room = True

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

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays kept outside the state, by name."""
        return {}

    def set_arrays(self, state: State, arrays: dict[str, np.ndarray]) -> None:
        """Restore what :meth:`arrays` returned; raise ValueError if it is inconsistent."""

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

    def errors(self, state: State, row_batches: Iterator[RowBatch], tie: str) -> tuple[int, int]:
        """Return the number of rows predicted wrongly, and the number of rows."""
        _, errors, rows = count_mistakes(state, self.weights(state), row_batches, tie)
        return errors, rows

    def weighed_errors(
        self, state: State, row_batches: Iterator[RowBatch], tie: str
    ) -> tuple[float, float]:
        """Return the same, weighted by the ``importance`` of the rows, if any."""
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

    steady, needs_no_room = True, False

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


#: approximate number of scores of a block of versions, and rows at a time
BLOCK_VALUES, ROWS_AT_ONCE = 1 << 22, 1024
CHANGES_AT_ONCE = 1 << 20
BYTES_PER_CHANGE, BYTES_PER_VERSION = 16, 20


#: dtypes of the arrays of Vote in compiled/weights.py, except the last
KINDS = (np.int32, np.int32, np.float64, np.int64, np.int64, np.int32)


class TooManyVotes(LinsepError, ValueError):
    """The changes of all versions exceed the memory limit."""

    code = "too-large"


class KeepVote(KeepLast):
    """Keep all versions, as changes since the ``first`` weights.

    Parameters
    ----------
    megabytes : memory limit of the changes
    tie : class of a score of exactly zero in a vote
    """

    steady, needs_no_room = True, False

    def __init__(self, megabytes: float, tie: str):
        self.most_bytes, self.tie = megabytes * 1e6, tie
        self.first: np.ndarray | None = None
        self._taken: list[tuple[np.ndarray, ...]] = []
        self._bytes = 0
        self._room: Vote | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Omit the buffer, which is empty between calls."""
        return self.__dict__ | {"_room": None}

    def compiled(self, state: State, most_changes: int) -> Any:
        """Return a buffer for the changes of the next rows."""
        if self.first is None:
            self.first = state.W.copy()
        if self._room is None or self._room.amounts.size < most_changes:
            room = [np.empty(most_changes, kind) for kind in KINDS]
            self._room = Vote._make([*room, np.zeros(2, np.int64)])
        return self._room

    def rows_at_once(self, state: State, longest: int) -> int | None:
        """Return the number of rows that fit in the buffer in any case."""
        return max(1, CHANGES_AT_ONCE // count_changes(state, longest))

    def take(self, state: State) -> None:
        """Move the changes out of the buffer; raise TooManyVotes beyond the memory limit."""
        room = self._room
        if room is None or not room.used[1]:
            return
        changes, versions = room.used.tolist()
        room.used[:] = 0
        # The constant feature comes last; its position moves when features are added.
        room.features[:changes][room.features[:changes] == state.W.shape[0] - 1] = -1
        self._taken.append(
            tuple(a[:changes].copy() for a in (room.features, room.columns, room.amounts))
            + tuple(a[:versions].copy() for a in (room.starts, room.rounds, room.machines))
        )
        # Small parts are joined, because rows may come one by one.
        while len(self._taken) > 1 and self._taken[-1][0].size >= self._taken[-2][0].size:
            self._taken[-2:] = [joined_changes(self._taken[-2:])]
        self._bytes += _bytes_of_changes(changes, versions)
        if self._bytes > self.most_bytes:
            raise TooManyVotes(
                f"A vote has to store more than {self.most_bytes / 1e6:g} MB of updates",
                hint("raise {}", vote_mb=None),
                hint("use {}, which needs only one more vector", keep="average"),
                option="vote_mb",
            )

    def remember(self) -> tuple[int, int]:
        """Return the number of changes and of versions."""
        return (
            sum(changes[2].size for changes in self._taken),
            sum(changes[3].size for changes in self._taken),
        )

    def put_back(self, before: tuple[int, int]) -> None:
        """Drop the changes and versions after those."""
        changes, versions = before
        whole = joined_changes(self._taken)
        self._taken = [(*(a[:changes] for a in whole[:3]), *(a[:versions] for a in whole[3:]))]
        self._bytes = _bytes_of_changes(changes, versions)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the first weights and all changes, by name."""
        return {} if self.first is None else {"first": self.first} | self.changes()

    def set_arrays(self, state: State, arrays: dict[str, np.ndarray]) -> None:
        """Restore what :meth:`arrays` returned; raise ValueError if it is inconsistent."""
        if arrays:
            first = arrays["first"]
            if first.shape[1:] != state.W.shape[1:] or not 0 < len(first) <= len(state.W):
                raise ValueError(f"first weights of shape {first.shape}")
            self.restore(state, first, {name: arrays[name] for name in Vote._fields[:-1]})

    def start_again(self, state: State) -> None:
        """Drop all versions."""
        self.first, self._taken, self._bytes = None, [], 0

    def features_in_use(self, state: State) -> np.ndarray:
        """Return the features with a nonzero weight in any version."""
        used = np.zeros(state.n_features, dtype=bool)
        used[super().features_in_use(state)] = True
        for features, *_ in self._taken:
            used[features[features >= 0]] = True
        first = self.first_weights(state)[: state.n_features]
        return np.flatnonzero(used | first.reshape(state.n_features, -1).any(axis=1))

    def select(self, state: State, features: np.ndarray) -> None:
        """Restrict the state to these features and renumber the changes."""
        first = self.first_weights(state)
        self.first = None if self.first is None else np.concatenate([first[features], first[-1:]])
        places = np.full(state.n_features + 1, -1, np.int32)
        places[features] = np.arange(features.size)
        self._taken = [(places[changed], *rest) for changed, *rest in self._taken]
        state.select(features)

    def first_weights(self, state: State) -> np.ndarray:
        """Return version 0, extended by features added later."""
        if self.first is None:
            return state.W
        wide = np.full_like(state.W, state.fill)
        wide[: self.first.shape[0] - 1], wide[-1] = self.first[:-1], self.first[-1]
        return wide

    def restore(self, state: State, first: np.ndarray, changes: dict[str, np.ndarray]) -> None:
        """Restore the result of :meth:`changes`; raise ValueError if it is inconsistent."""
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
                raise ValueError("votes that do not match the weights")
        self.first, self._taken = first, [tuple(changes.values())]
        self._bytes = _bytes_of_changes(last, starts.size)

    def changes(self) -> dict[str, np.ndarray]:
        """Return all changes and versions as six arrays; see
        :class:`linsep.compiled.weights.Vote`.
        """
        return dict(zip(Vote._fields, joined_changes(self._taken), strict=False))

    def errors(self, state: State, row_batches: Iterator[RowBatch], tie: str) -> tuple[int, int]:
        """Count wrong predictions; a random tie is treated as if the lowest class were drawn."""
        wrong = rows = 0
        for row_batch in row_batches:
            missed = self.missed(state, row_batch, tie)
            wrong, rows = wrong + int(missed.sum()), rows + missed.size
        return wrong, rows

    def scores(self, state: State, rows: Dense | Csr | Unit, n_rows: int) -> np.ndarray:
        """Return shares of votes: in [-1, 1] for a binary classifier, in [0, 1] for a class of the
        native rule.
        """
        self._taken = [joined_changes(self._taken)] if self._taken else []
        first = state.scores(rows, n_rows, self.first_weights(state)).reshape(n_rows, -1)
        votes = vote_shares(state, self.changes(), self.tie, rows, first)
        return votes[:, 0] if state.n_classes == 2 else votes


def joined_changes(parts: list[tuple[np.ndarray, ...]]) -> tuple[np.ndarray, ...]:
    """Concatenate the changes of several parts."""
    columns = list(zip(*parts, strict=True)) or [()] * len(KINDS)
    found = [
        np.concatenate([np.zeros(0, dtype=kind), *arrays])
        for arrays, kind in zip(columns, KINDS, strict=True)
    ]
    starts = Vote._fields.index("starts")
    before = np.cumsum([0, *(amounts.size for amounts in columns[2])])[:-1]
    found[starts] += np.repeat(before, [part.size for part in columns[starts]])
    return tuple(found)


def _bytes_of_changes(changes: int, versions: int) -> int:
    return BYTES_PER_CHANGE * changes + BYTES_PER_VERSION * versions


def vote_shares(
    state: State, log: dict[str, np.ndarray], tie: str, rows: Any, first: np.ndarray
) -> np.ndarray:
    """Return the shares of votes, with the shape of ``first``, the scores of version 0.

    The score of a version is that of the version before it plus the change. Rows and versions are
    taken in blocks, which changes no bit.

    Parameters
    ----------
    log : the changes, as six arrays; see :class:`linsep.compiled.weights.Vote`
    tie : class of a score of exactly zero in a vote
    """
    X, scales = _matrix(rows, len(first), state.n_features)
    joint = state.n_classes > 2 and state.multiclass == "native"
    width = state.n_columns if joint else 1
    used, features = np.unique(log["features"], return_inverse=True)
    version = np.repeat(
        np.arange(log["starts"].size), np.diff(log["starts"], append=log["amounts"].size)
    )
    total, votes = state.machine_rounds(), np.zeros_like(first)
    for start in range(0, len(first), ROWS_AT_ONCE):
        some = slice(start, start + ROWS_AT_ONCE)
        Z = _used_values(X[some], used, state.bias, None if scales is None else scales[some])
        for machine in range(state.n_machines):
            own = log["machines"] == machine
            number, mine = np.cumsum(own) - 1, own[version]
            at = number[version[mine]] * width + (log["columns"][mine] if joint else 0)
            shape = int(own.sum()) * width, used.size
            D = sp.csr_array((log["amounts"][mine], (at, features[mine])), shape=shape)
            lasted = np.diff(log["rounds"][own], prepend=0, append=total[machine])
            columns = slice(None) if joint else slice(machine, machine + 1)
            scores = first[some, columns].T.copy()
            votes[some, columns] = _voted(D, Z, scores, lasted, joint, tie).T
    return votes / np.maximum(total, 1)


def _used_values(X: Any, used: np.ndarray, bias: float, scale: np.ndarray | None) -> np.ndarray:
    """Return the values of rows for the features that changes are about, one row for each; -1 is
    the constant feature.
    """
    own = X[:, used[used >= 0]]
    Z = np.full((used.size, X.shape[0]), bias)
    values = (own.toarray() if sp.issparse(own) else own).T
    Z[used >= 0] = values if scale is None else values * scale
    return Z


def _voted(
    D: Any, Z: np.ndarray, scores: np.ndarray, lasted: np.ndarray, joint: bool, tie: str
) -> np.ndarray:
    """Return the votes of version 0 with these ``scores`` (columns, rows) and of those that ``D``
    leads to, each times the steps that it lasted.
    """
    width, n_rows = scores.shape
    votes = _ballots(scores[None], lasted[:1], joint, tie)
    at_once = max(1, BLOCK_VALUES // max(1, scores.size))
    for start in range(0, lasted.size - 1, at_once):
        stop = min(start + at_once, lasted.size - 1)
        moved = (D[start * width : stop * width] @ Z).reshape(-1, width, n_rows)
        moved[0] += scores
        with np.errstate(invalid="ignore", over="ignore"):  # such votes are refused with a sentence
            for before, then in pairwise(moved):  # numpy's cumsum takes four times as long
                np.add(then, before, out=then)
        votes += _ballots(moved, lasted[start + 1 : stop + 1], joint, tie)
        scores = moved[-1]
    return votes


def _ballots(scores: np.ndarray, lasted: np.ndarray, joint: bool, tie: str) -> np.ndarray:
    """Return the votes of some versions: for the class that scores highest, or for a sign."""
    if not joint:
        signs = np.sign(scores[:, 0])
        signs[scores[:, 0] == 0] = {"negative": -1.0, "positive": 1.0, "random": 0.0}[tie]
        return lasted[None] @ signs
    top, best = scores[:, 0].copy(), np.zeros(scores[:, 0].shape, np.int32)
    for k in range(1, scores.shape[1]):
        best[scores[:, k] >= top if tie == "positive" else scores[:, k] > top] = k
        np.maximum(top, scores[:, k], out=top)
    weights = lasted.astype(np.float64)
    return np.array([weights @ (best == k).astype(np.float64) for k in range(scores.shape[1])])


def _matrix(
    rows: Dense | Csr | Unit, n_rows: int, n_features: int
) -> tuple[Any, np.ndarray | None]:
    """Return the rows as an array or CSR matrix, and their scales if any."""
    if isinstance(rows, Unit):
        return _matrix(rows.rows, n_rows, n_features)[0], rows.scales
    if isinstance(rows, Dense):
        return rows.values, None
    return sp.csr_array((rows.values, rows.columns, rows.starts), shape=(n_rows, n_features)), None


def keeping_of(model: Any) -> KeepLast:
    """Return a new keeper for the ``keep`` parameter of a model."""
    if model.keep == "vote":
        return KeepVote(getattr(model, "vote_mb", np.inf), model.tie)
    if model.keep == "best":
        return KeepBest(getattr(model, "zero", "mistake"))
    return KeepAverage() if model.keep == "average" else KeepLast()
