"""Passes over rows that are known to each other by a kernel.

The dual weights of the rows are weights like any others, so the loop, the schemes and what is kept
of the weights need not know. What is done here is to have the scores ready: a block of rows is
scored by all weights that have changed since each row was seen last, by one Gram matrix; within the
block the walk itself keeps the scores right (:mod:`linsep.compiled.dual`). So the mistakes are
those of the algorithm that scores one row at a time, but for rounding.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from linsep.compiled.dual import Block, catch_up
from linsep.compiled.rows import csr_rows
from linsep.engine.budget import given_up
from linsep.engine.feed import NO_IMPORTANCE, MemoryFeed, Visit
from linsep.engine.keeping import KeepLast
from linsep.engine.order import slices
from linsep.engine.state import State

#: kernel values that are held at once beside a cache
GRAM_VALUES = 1 << 21
#: most support vectors beyond a budget that may wait: many are given up as fast as one
WAITING = 512


class Changes:
    """Every change of the dual weights that some row has not been scored with yet.

    Changes are numbered from the beginning; those that all rows know of are dropped.
    """

    def __init__(self) -> None:
        self.dropped = self.end = 0
        self._parts: tuple[np.ndarray, ...] = (
            np.empty(0, np.int64),
            np.empty(0, np.int64),
            np.empty(0),
        )

    def add(self, examples: np.ndarray, before: np.ndarray, after: np.ndarray) -> None:
        """Note the weights of ``examples`` that are not what they were, a row each."""
        moved = after - before
        at, columns = np.nonzero(moved)
        self._append(examples[at], columns, moved[at, columns])

    def _append(self, *fresh: np.ndarray) -> None:
        used, more = self.end - self.dropped, fresh[0].size
        if used + more > self._parts[0].size:
            room = max(1024, 2 * (used + more))
            self._parts = tuple(np.resize(part, room) for part in self._parts)
        for part, new in zip(self._parts, fresh, strict=True):
            part[used : used + more] = new
        self.end += more

    def since(self, first: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Example, column and amount of the changes from number ``first`` on."""
        some = slice(first - self.dropped, self.end - self.dropped)
        examples, columns, amounts = (part[some] for part in self._parts)
        return examples, columns, amounts

    def drop(self, first: int) -> None:
        """Forget the changes before number ``first``."""
        self._parts = tuple(part.copy() for part in self.since(first))
        self.dropped = first


class KernelFeed(MemoryFeed):
    """Blocks of rows with their scores and their Gram matrix.

    Parameters
    ----------
    grams : who computes kernel values, see :class:`linsep.engine.grams.Grams`; its rows are the
        examples, of which the last ``codes.size`` are learnt from
    codes, importance, seed, shuffle, hold_out : see :class:`linsep.engine.feed.MemoryFeed`
    """

    state: State
    keeping: KeepLast
    of_features = False

    def __init__(
        self, grams: Any, budget: int | None, codes: np.ndarray, importance: np.ndarray, *rest: Any
    ):
        super().__init__(codes, importance, *rest)
        self.budget = budget
        self.grams, self.n_features = grams, grams.n_examples
        self.offset = grams.n_examples - codes.size

    def begin(self, state: State, keeping: KeepLast) -> None:
        """Take over what will be learnt: no row is scored by any of its weights yet."""
        self.state, self.keeping, self.changes = state, keeping, Changes()
        self.scores = np.zeros((self.codes.size, *state.W.shape[1:]))
        self.seen = np.zeros(self.codes.size, np.int64)
        #: weights, and the scores of all rows by them, once they are asked for
        self._then: tuple[np.ndarray, np.ndarray] | None = None
        W = self._weights()
        examples = np.flatnonzero(W.any(axis=1))
        self.changes.add(examples, np.zeros_like(W[examples]), W[examples])

    def _weights(self) -> np.ndarray:
        return self.state.W[: self.n_features].reshape(self.n_features, -1)

    @property
    def replayable(self) -> bool:
        """Whether a pass can be replayed: nothing but mistakes changes weights, all by as much, and
        kernel values are at hand once more.
        """
        return self.budget is None and not self.importance.size and self.grams.cached

    def scores_now(self) -> np.ndarray:
        """The scores of all rows by the weights as they are: shape (rows, columns)."""
        if self._then is None:
            W = self._weights()
            self._then = np.zeros_like(W), np.zeros((self.codes.size, W.shape[1]))
        moved = self._weights() - self._then[0]
        changed = np.flatnonzero(moved.any(axis=1))
        if changed.size:
            rows = np.arange(self.offset, self.grams.n_examples)
            scores = self._then[1] + self.grams.between(rows, changed) @ moved[changed]
            self._then = self._weights().copy(), scores
        return self._then[1]

    def gram(self) -> np.ndarray:
        """The Gram matrix of the rows: shape (rows, rows)."""
        rows = np.arange(self.offset, self.grams.n_examples)
        return self.grams.between(rows, rows)

    def visits(self, pass_number: int) -> Iterator[Visit]:
        """A visit a block, in the order of that pass."""
        order = self.order(pass_number)
        for piece in slices(order, self.grams.rows_at_once):
            yield from self._block(piece)
        self._give_up(waiting=0)
        self.changes.drop(int(self.seen[order].min(initial=self.changes.end)))

    def _block(self, rows: np.ndarray) -> Iterator[Visit]:
        examples = rows + self.offset
        scores, before = self._caught_up(rows), self._weights()[examples]
        block = Block(scores, self.grams.between(examples, examples), examples)
        importance = self.importance[rows] if self.importance.size else NO_IMPORTANCE
        yield Visit(block, self.codes[rows], importance, range(rows.size), self.n_features, None)
        self.changes.add(examples, before, self._weights()[examples])
        self.scores[rows], self.seen[rows] = scores, self.changes.end
        # Of a function, whose rows come one by one, the values among all of them are dear.
        self._give_up(waiting=min(WAITING, max(self.grams.rows_at_once, self.budget or 0)))

    def _give_up(self, waiting: int) -> None:
        """Have as many support vectors as the budget allows, if there are more than ``waiting``
        beyond: all arrays of weights are projected on them.
        """
        if self.budget is None:
            return
        used = self.keeping.features_in_use(self.state)
        if used.size <= self.budget + waiting:
            return
        before = self._weights()[used]
        mean = self.keeping.weights(self.state)[: self.n_features]
        both = np.hstack([before, mean.reshape(self.n_features, -1)[used]])
        kept, represents = given_up(self.grams.between(used, used), both, self.budget)
        for array in self.state.shaped.values():
            weights = array[: self.n_features].reshape(self.n_features, -1)
            projected = represents @ weights[used]
            weights[used] = 0.0
            weights[used[kept]] = projected
        self.changes.add(used, before, self._weights()[used])

    def _caught_up(self, rows: np.ndarray) -> np.ndarray:
        """The scores of ``rows`` by the weights as they are now."""
        scores, seen = self.scores[rows], self.seen[rows]
        first = int(seen.min())
        examples, columns, amounts = self.changes.since(first)
        supports, places = np.unique(examples, return_inverse=True)
        at_once = max(1, GRAM_VALUES // rows.size)
        for start in range(0, supports.size, at_once):
            some = supports[start : start + at_once]
            mine = (places >= start) & (places < start + some.size)
            skipped = np.concatenate([[0], np.cumsum(mine)])[seen - first]
            catch_up(
                self.grams.between(rows + self.offset, some), skipped, places[mine] - start,
                columns[mine], amounts[mine], scores.reshape(rows.size, -1),
            )  # fmt: skip
        return scores

    def held_out(self) -> Iterator[Visit]:
        """The held-out rows, as sparse rows of their kernel values."""
        return self._sparse(self.held_out_rows())

    def learnt(self) -> Iterator[Visit]:
        """The learnable rows in given order, as sparse rows of their kernel values."""
        return self._sparse(self.order(0))

    def _sparse(self, order: np.ndarray | range) -> Iterator[Visit]:
        supports = self.keeping.features_in_use(self.state)
        for rows in slices(order, max(1, GRAM_VALUES // max(1, supports.size))):
            gram = self.grams.between(rows + self.offset, supports)
            starts = np.arange(rows.size + 1) * supports.size
            sparse = csr_rows(gram.reshape(-1), np.tile(supports, rows.size), starts)
            yield Visit(
                sparse, self.codes[rows], self.importance[rows] if self.importance.size else
                NO_IMPORTANCE, range(rows.size), self.n_features, None,
            )  # fmt: skip
