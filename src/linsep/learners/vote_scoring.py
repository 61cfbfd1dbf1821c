"""Score rows by the votes of all versions of the weights.

Rows and versions are processed in blocks: one matrix product updates the scores of a block of rows
by a block of versions, then the versions vote one after another. A version consists of parts, one
for each column of the weights that it changed.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep._system.threads import split_rows
from linsep.compiled.loop import first_votes, score_single_votes, score_votes
from linsep.compiled.rows import Csr, Dense, Unit
from linsep.learners.state import TIES, State

# Approximate number of values in a block of versions or rows.
BLOCK_VALUES = 1 << 22
ROWS_AT_ONCE = 4096


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
        #: rounds that each version survived, and those of each machine's first weights
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
        """Return shares of votes, of the shape of ``first_scores``, the scores of version 0."""
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
