"""Passes over rows that are known to each other by a kernel.

The dual weights of the rows are weights like any others, so the loop, the schemes and what is kept
of the weights need not know. What is done here is to have the scores ready: a block of rows is
scored by all weights that have changed since each row was seen last, by one Gram matrix; within the
block the loop itself keeps the scores right (:mod:`linsep.compiled.core.kernel_rows`). So the
mistakes are those of the algorithm that scores one row at a time, but for rounding.
"""

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.linalg import lapack, solve_triangular

from linsep.compiled.core.kernel_rows import Block, catch_up
from linsep.compiled.core.rows import csr_rows
from linsep.errors import DataError, hint
from linsep.interrupts import checkpoint, window
from linsep.online.keeping import KeepLast
from linsep.online.learner import State
from linsep.online.rows.array import NO_IMPORTANCE, MemoryStream, RowBatch, slices


class Grams:
    """Kernel values between examples that are called by their numbers.

    Parameters
    ----------
    kernel : a :class:`linsep.kernels.Kernel` that knows its numbers
    examples : rows prepared by it
    n_examples : how many
    cache_bytes : if the Gram matrix of all fits in, values are kept; else none is
    """

    def __init__(self, kernel: Any, examples: Any, n_examples: int, cache_bytes: float = 0):
        self.kernel, self.examples, self.n_examples = kernel, examples, n_examples
        self.rows_at_once = kernel.rows_at_once
        size = 8 * n_examples**2
        self._known: np.ndarray | None = None
        if size <= cache_bytes:
            _check_memory(size, n_examples)
            self._known = np.full((n_examples, n_examples), np.nan)

    @property
    def cached(self) -> bool:
        """Whether values are kept."""
        return self._known is not None

    def between(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Kernel values of shape (a.size, b.size)."""
        checkpoint()
        if self._known is None:
            return self._computed(a, b)
        found = self._known[np.ix_(a, b)]
        missing = np.isnan(found)
        if missing.any():
            rows, columns = a[missing.any(axis=1)], b[missing.any(axis=0)]
            values = self._computed(rows, columns)
            self._known[np.ix_(rows, columns)] = values
            self._known[np.ix_(columns, rows)] = values.T
            found = self._known[np.ix_(a, b)]
        return found

    def _computed(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        with window():  # a kernel may be anybody's function
            return self.kernel.gram(self.examples[a], self.examples[b])


def memory_bytes() -> int | None:
    """What memory this machine has; None where it does not say."""
    if not hasattr(os, "sysconf"):
        return None
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _check_memory(size: int, n_examples: int) -> None:
    """Raise DataError where the machine has less memory than the cache would take."""
    there = memory_bytes()
    if there is not None and size > there:
        raise DataError(
            f"The Gram matrix of {n_examples:,} rows takes {size / 1e6:,.0f} MB, but this machine "
            f"has {there / 1e6:,.0f}",
            hint("lower {}", cache_mb=None),
        )


#: what is left of a support vector that others represent but for rounding, in squares
ROUNDING = 1e-10


def given_up(gram: np.ndarray, weights: np.ndarray, budget: int) -> tuple[np.ndarray, np.ndarray]:
    """Which support vectors to keep, and what represents each.

    Parameters
    ----------
    gram : shape (supports, supports)
    weights : shape (supports, columns), of which none is all zero in its row
    budget : most to keep, at least 1

    Returns
    -------
    kept : int array of at most ``budget`` numbers
    represents : array of shape (kept, supports)
        Weights A become ``represents @ A`` of those kept.
    """
    scale = np.sqrt(np.einsum("jk,jk->j", weights, weights))
    scaled = scale[:, None] * gram * scale
    tolerance = ROUNDING * scaled.diagonal().max()
    factor, pivots, rank, _ = lapack.dpstrf(scaled, tol=tolerance, lower=1)
    many, order = min(budget, rank), pivots - 1
    corner, rest = factor[:many, :many], factor[many:, :many]
    represents = np.empty((many, len(gram)))
    represents[:, order[:many]] = np.eye(many)
    away = solve_triangular(corner, rest.T, lower=True, trans="T")
    represents[:, order[many:]] = scale[order[:many], None] * away / scale[order[many:]]
    return order[:many], represents


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


class KernelStream(MemoryStream):
    """Blocks of rows with their scores and their Gram matrix.

    Parameters
    ----------
    grams : who computes kernel values, see :class:`linsep.online.rows.kernel.Grams`; its rows are
    the     examples, of which the last ``codes.size`` are learnt from
    codes, importance, seed, shuffle, hold_out : see :class:`linsep.online.rows.array.MemoryStream`
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

    def row_batches(self, pass_number: int) -> Iterator[RowBatch]:
        """A visit a block, in the order of that pass."""
        order = self.order(pass_number)
        for piece in slices(order, self.grams.rows_at_once):
            yield from self._block(piece)
        self._give_up(waiting=0)
        self.changes.drop(int(self.seen[order].min(initial=self.changes.end)))

    def _block(self, rows: np.ndarray) -> Iterator[RowBatch]:
        examples = rows + self.offset
        scores, before = self._caught_up(rows), self._weights()[examples]
        block = Block(scores, self.grams.between(examples, examples), examples)
        importance = self.importance[rows] if self.importance.size else NO_IMPORTANCE
        yield RowBatch(block, self.codes[rows], importance, range(rows.size), self.n_features, None)
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

    def held_out(self) -> Iterator[RowBatch]:
        """The held-out rows, as sparse rows of their kernel values, and what they count."""
        return self._sparse(self.held_out_rows(), self.score_weights)

    def learnt(self) -> Iterator[RowBatch]:
        """The learnable rows in given order, as sparse rows of their kernel values."""
        return self._sparse(self.order(0), self.importance)

    def _sparse(self, order: np.ndarray | range, importance: np.ndarray) -> Iterator[RowBatch]:
        supports = self.keeping.features_in_use(self.state)
        for rows in slices(order, max(1, GRAM_VALUES // max(1, supports.size))):
            gram = self.grams.between(rows + self.offset, supports)
            starts = np.arange(rows.size + 1) * supports.size
            sparse = csr_rows(gram.reshape(-1), np.tile(supports, rows.size), starts)
            yield RowBatch(
                sparse, self.codes[rows], importance[rows] if importance.size else NO_IMPORTANCE,
                range(rows.size), self.n_features, None,
            )  # fmt: skip
