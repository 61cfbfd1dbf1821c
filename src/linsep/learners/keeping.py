"""Weights for prediction: the last, the average, the best, or a vote of all versions.

Versions of the weights are stored as changes of the first. To vote, rows and versions are processed
in blocks: one matrix product updates the scores of a block of rows by a block of versions, then the
versions vote one after another. A version consists of parts, one for each column of the weights
that it changed.
"""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.compiled.loop import (
    ERRORS,
    Watch,
    first_votes,
    pass_loop,
    score_single_votes,
    score_votes,
)
from linsep.compiled.rows import Csr, Dense, Unit
from linsep.compiled.weights import Average, Best, Last, Vote
from linsep.errors import LinsepError, hint
from linsep.learners.state import TIES, State, Unlearnable, decision, predicted, sparing
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


#: approximate number of values in a block of versions or rows
BLOCK_VALUES = 1 << 22
ROWS_AT_ONCE = 4096
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

    steady = True

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
        votes = VoteScoring(state, self.changes(), self.tie).votes(rows, first)
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


class VoteScoring:
    """All versions of the weights, ready to vote.

    Parameters
    ----------
    state : the state they belong to
    log : the changes, as six arrays; see :class:`linsep.compiled.weights.Vote`
    tie : class of a score of exactly zero in a vote
    """

    def __init__(self, state: State, log: dict[str, np.ndarray], tie: str):
        self.state, self.log, self.tie = state, log, TIES[tie]
        self.joint = state.n_classes > 2 and state.multiclass == "native"
        self.ends = np.append(log["starts"][1:], log["amounts"].size)
        self.rounds = state.machine_rounds()
        #: steps that each version survived, and the first weights of each binary classifier
        self.survived = np.empty(log["rounds"].size, np.int64)
        self.at_first = np.empty(state.n_machines, np.int64)
        order = np.argsort(log["machines"], kind="stable")
        bounds = np.searchsorted(log["machines"][order], np.arange(1, state.n_machines))
        for machine, mine in enumerate(np.split(order, bounds)):
            lasted: np.ndarray = np.diff(
                log["rounds"][mine], prepend=0, append=self.rounds[machine]
            )
            self.at_first[machine], self.survived[mine] = lasted[0], lasted[1:]

    def votes(self, rows: Dense | Csr | Unit, first_scores: np.ndarray) -> np.ndarray:
        """Return shares of votes, with the shape of ``first_scores``, the scores of version 0."""
        X, scales = _matrix(rows, first_scores.shape[0], self.state.n_features)
        votes = np.zeros_like(first_scores)
        at_once = ROWS_AT_ONCE if sp.issparse(X) else max(1, BLOCK_VALUES // (X.shape[1] + 1))
        for start in range(0, votes.shape[0], at_once):
            some = slice(start, start + at_once)
            scale = None if scales is None else scales[some].reshape(-1, 1)
            self._vote(X[some], scale, first_scores[some], votes[some])
        return votes / np.maximum(self.rounds, 1)

    def _vote(self, X: Any, scale: Any, scores: np.ndarray, votes: np.ndarray) -> None:
        scores = scores.copy()
        first_votes(self.at_first, self.joint, self.tie, scores, votes)
        if scale is None and self._singles and not sp.issparse(X):
            self._vote_singles(X, scores, votes)
            return
        X = X if sp.issparse(X) else X.astype(np.float64, copy=False)
        for versions, changes, columns, starts in self._blocks(X):
            moved, constant = changes.times(X)
            if scale is not None:
                moved *= scale
            moved += self.state.bias * constant
            score_votes(
                moved, starts, columns, self.log["machines"][versions],
                self.survived[versions], self.joint, self.tie, scores, votes,
            )  # fmt: skip

    def _vote_singles(self, X: np.ndarray, scores: np.ndarray, votes: np.ndarray) -> None:
        """Let all versions vote in one compiled loop, in threads."""
        from linsep._system.threads import split_rows  # most fits need no threads

        log, starts = self.log, np.append(self.log["starts"], self.ends[-1])

        def vote(first: int, last: int) -> None:
            score_single_votes(
                X[first:last], log["features"], log["amounts"], log["columns"], starts,
                log["machines"], self.survived, self.joint, self.tie, scores[first:last],
                votes[first:last],
            )  # fmt: skip

        split_rows(vote, len(X), 2.0 * len(X) * log["amounts"].size)

    @cached_property
    def _singles(self) -> bool:
        """Whether each version changes at most one weight per score and never the intercept, as
        with a kernel.
        """
        log, columns = self.log, self.state.n_columns
        size, versions = log["features"].size, self.survived.size
        if not 0 < size <= columns * versions or log["features"].min() < 0:
            return False
        parts = np.repeat(np.arange(versions), self.ends - log["starts"]) * columns
        return bool(np.unique(parts + log["columns"]).size == size)

    def _blocks(self, X: Any) -> Iterator[tuple[slice, "Changes", np.ndarray, np.ndarray]]:
        """Yield versions, the changes of their parts, the column of each part, and the first part
        of each version.
        """
        width = 0 if sp.issparse(X) else X.shape[1]
        parts = BLOCK_VALUES // max(X.shape[0], self.state.n_columns, width)
        versions = max(1, parts // (2 if self.joint else 1))
        for first in range(0, self.survived.size, versions):
            block = slice(first, min(first + versions, self.survived.size))
            yield block, *self._parts(block)

    def _parts(self, block: slice) -> tuple["Changes", np.ndarray, np.ndarray]:
        log, starts, ends = self.log, self.log["starts"][block], self.ends[block]
        some, columns = slice(starts[0], ends[-1]), self.state.n_columns
        version = np.repeat(np.arange(starts.size), ends - starts)
        key = version * columns + log["columns"][some]
        there = np.zeros(starts.size * columns, dtype=bool)
        there[key] = True
        parts, part = np.flatnonzero(there), (np.cumsum(there) - 1)[key]
        feature = log["features"][some].astype(np.int64)
        feature[feature < 0] = self.state.n_features
        changes = Changes(feature, part, log["amounts"][some], self.state.n_features, parts.size)
        first = np.searchsorted(parts, np.arange(starts.size + 1) * columns)
        return changes, parts % columns, first


class Changes(NamedTuple):
    """Change number c adds ``amounts[c]`` to the weight of ``features[c]`` in ``parts[c]``; the
    constant feature is number ``width``.
    """

    features: np.ndarray
    parts: np.ndarray
    amounts: np.ndarray
    width: int
    n_parts: int

    def times(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the change of each row's score, and of the intercept, by each part."""
        if sp.issparse(X):
            shape = self.width + 1, self.n_parts
            D: Any = sp.csr_array((self.amounts, (self.features, self.parts)), shape=shape)
            return (X @ D[: self.width]).toarray(), D[[-1]].toarray()
        size = (self.width + 1) * self.n_parts
        D = np.bincount(self.features * self.n_parts + self.parts, self.amounts, size)
        D = D.reshape(self.width + 1, -1)
        with np.errstate(invalid="ignore", over="ignore"):  # such votes are refused with a sentence
            return X @ D[:-1], D[[-1]]


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
