"""Passes over rows in the feature space of a kernel.

The dual weights of the rows are weights like any others for the loop, the schemes and the keepers.
The stream provides the scores of a block of rows; within the block the loop updates them
(:class:`linsep.compiled.rows.Block`). If kernel values are cached, all rows are one block, and the
loop stops at a row whose kernel values are needed for the first time. Otherwise the scores of a
block are updated with one Gram matrix for all weights that have changed since its rows were last
scored. The mistakes are therefore the same as when scoring one row at a time, up to rounding.
"""

import os
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import lapack, solve_triangular

from linsep._system.interrupts import interruption_point, interrupts_allowed
from linsep.batches import NO_IMPORTANCE
from linsep.compiled.rows import Block, block, catch_up, csr_rows, settle
from linsep.errors import DataError, hint
from linsep.estimators._common.fitted_state import Array
from linsep.kernels.base import Kernel, rows_of
from linsep.kernels.gram_cache import GramCache
from linsep.learners.keeping import KeepLast
from linsep.learners.state import State
from linsep.rows.arrays import MemoryStream, RowBatch, slices


def memory_bytes() -> int | None:
    """Return the memory of this computer; None if unknown."""
    if not hasattr(os, "sysconf"):
        return None
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


#: squared residual below which a support vector is a combination of others up to rounding
ROUNDING = 1e-10


def reduced_support(
    gram: np.ndarray, weights: np.ndarray, budget: int
) -> tuple[np.ndarray, np.ndarray]:
    """Choose the support vectors to keep, and represent the others by them.

    Parameters
    ----------
    gram : shape (supports, supports)
    weights : shape (supports, columns), no row all zero
    budget : largest number to keep, at least 1

    Returns
    -------
    kept : int array of at most ``budget`` indices
    represents : array of shape (kept, supports)
        Weights A become the weights ``represents @ A`` of the kept ones.
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


#: most kernel values in memory beside a cache
GRAM_VALUES = 1 << 21
#: kernel values, and rows of them, computed at least before the loop learns on: that costs as much
AT_ONCE, ROWS_AT_ONCE = 1 << 15, 16
#: most support vectors beyond the budget before a reduction, which costs the same for one or many
WAITING = 512
#: times as many rows in a block, without a budget, if few rows of their own Gram matrix are needed
LAZY = 2


def _next_mistakes(rows: Block, codes: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Predict which of the next rows of a block will be mistakes and need kernel values."""
    some = order[:WAITING]
    some = some[~rows.known[some]]
    scores = rows.scores[some]
    predicted = scores > 0.0 if scores.ndim == 1 else scores.argmax(axis=1)
    return some[predicted != codes[some]][: max(ROWS_AT_ONCE, AT_ONCE // rows.known.size)]


def _provide(rows: Block, kept: GramCache, codes: np.ndarray, rest: np.ndarray) -> None:
    row = int(rows.waiting[0])
    more = rest[:0] if kept.kernel.rows_at_once == 1 else _next_mistakes(rows, codes, rest)
    with interrupts_allowed():  # a kernel may be a user's function
        kept.keep(np.append(more, row))
    settle(rows, kept.values[row])


class KernelStream(MemoryStream):
    """Blocks of rows with their scores and their Gram matrix.

    Parameters
    ----------
    kernel : a fitted :class:`linsep.kernels.Kernel`
    examples : rows prepared by it, of which the last ``codes.size`` are the training rows
    cache_bytes : all kernel values are cached if they fit in so many bytes
    budget : largest number of support vectors, or None
    codes, importance, seed, shuffle, hold_out : see :class:`linsep.rows.arrays.MemoryStream`
    """

    state: State
    keeping: KeepLast
    of_features = False

    def __init__(
        self, kernel: Kernel, examples: Any, cache_bytes: float, budget: int | None, *rest: Any
    ):
        super().__init__(*rest)
        self.kernel, self.examples, self.budget = kernel, examples, budget
        self.n_features = 0 if examples is None else rows_of(examples)
        self.offset = self.n_features - self.codes.size
        # With a budget, support vectors come and go, and few of their values are needed.
        self.cache, size = None, 8 * self.n_features**2
        if budget is None and size <= cache_bytes:
            if size > (memory_bytes() or size):
                raise DataError(
                    f"The Gram matrix of {self.n_features:,} rows takes {size / 1e6:,.0f} MB, "
                    "which is more memory than this computer has",
                    hint("lower {}", cache_mb=None), code="too-large", option="cache_mb",
                )  # fmt: skip
            self.cache = GramCache(kernel, examples)

    def begin(self, state: State, keeping: KeepLast) -> None:
        """Set the state to train; no row has been scored yet."""
        self.state, self.keeping = state, keeping
        self.scores = np.zeros((self.codes.size, *state.W.shape[1:]))
        #: changes that are not yet in all scores: example, column and amount of each
        self.changes = np.empty((0, 3))
        #: the number of them that are in the score of each row
        self.seen = np.zeros(self.codes.size, np.int64)
        examples = np.flatnonzero(self._weights().any(axis=1))
        self._note(examples, 0.0)

    def _note(self, examples: np.ndarray, before: Any) -> None:
        """Record the changes of the weights of ``examples``, which were ``before``."""
        moved = self._weights()[examples] - before
        at, columns = np.nonzero(moved)
        more = np.column_stack([examples[at], columns, moved[at, columns]])
        self.changes = np.concatenate([self.changes, more])

    def learn_all(self, state: State, keeping: KeepLast) -> None:
        super().learn_all(state, keeping)
        if self.cache is not None and self.offset:
            self.cache = GramCache(self.kernel, self.examples)
        self.begin(state, keeping)

    def _weights(self) -> np.ndarray:
        return self.state.W[: self.n_features].reshape(self.n_features, -1)

    @property
    def replayable(self) -> bool:
        """Whether passes can be replayed: no weights of rows, and kernel values are cached."""
        return not self.importance.size and self.cache is not None

    def between(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return the kernel values of examples with others, by their numbers."""
        interruption_point()
        with interrupts_allowed():  # a kernel may be a user's function
            if self.cache is not None:
                return self.cache.between(a, b)
            return self.kernel.gram(self.examples[a], self.examples[b])

    def scores_now(self) -> np.ndarray:
        """Return the scores of all rows by the current weights, shape (rows, columns)."""
        rows, W = np.arange(self.offset, self.n_features), self._weights()
        used = np.flatnonzero(W.any(axis=1))
        return self.between(rows, used) @ W[used]

    def gram(self) -> np.ndarray:
        """Return the Gram matrix of the rows, shape (rows, rows)."""
        rows = np.arange(self.offset, self.n_features)
        return self.between(rows, rows)

    def arrays(self) -> dict[str, np.ndarray]:
        found = {"scores": self.scores, "seen": self.seen, "changes": self.changes}
        return found if self.cache is None else found | self.cache.arrays()

    def resume(self, passes: int, arrays: dict[str, np.ndarray]) -> None:
        for name, own in (("scores", self.scores), ("seen", self.seen)):
            if (arrays[name].shape, arrays[name].dtype) != (own.shape, own.dtype):
                raise ValueError(f"{name} of shape {arrays[name].shape}")
            own[:] = arrays[name]
        self.changes = Array("changes, 3").checked("changes", arrays, {})
        for column, size in enumerate((self.n_features, self._weights().shape[1])):
            if not ((self.changes[:, column] >= 0) & (self.changes[:, column] < size)).all():
                raise ValueError("changes of weights that do not exist")
        if self.cache is not None:
            self.cache.restore(arrays)

    @property
    def _waiting(self) -> int:
        # A function takes rows one by one, so values between all of them are expensive.
        return min(WAITING, max(self.kernel.rows_at_once, self.budget or 0))

    def row_batches(self, pass_number: int, start: int = 0) -> Iterator[RowBatch]:
        order = self.order(pass_number)
        several = LAZY if self.budget is None else 1
        pieces = slices(order[start:], several * self.kernel.rows_at_once)
        alone = not self.offset and not len(self.changes)
        if alone and (kept := self.cache) is not None:
            whole = block(self.scores, kept.values, np.arange(self.codes.size), kept.known)
            for piece in pieces:
                yield self._batch(whole, kept, self.codes, self.importance, piece)
            return
        if start:  # the run was interrupted before or after this
            self._reduce_support(self._waiting)
        for piece in pieces:
            yield from self._block(piece)
        self._reduce_support(waiting=0)
        in_all = int(self.seen[order].min(initial=len(self.changes)))
        self.changes, self.seen = self.changes[in_all:], self.seen - in_all

    def _batch(
        self, rows: Block, kept: GramCache, codes: np.ndarray, importance: np.ndarray, order: Any
    ) -> RowBatch:
        provide = partial(_provide, rows, kept, codes)
        return RowBatch(rows, codes, importance, order, self.n_features, None, provide)

    def _block(self, rows: np.ndarray) -> Iterator[RowBatch]:
        examples = rows + self.offset
        scores, before = self._caught_up(rows), self._weights()[examples]
        kept = GramCache(self.kernel, self.examples[examples])
        found = block(scores, kept.values, examples, kept.known)
        importance = self.importance[rows] if self.importance.size else NO_IMPORTANCE
        yield self._batch(found, kept, self.codes[rows], importance, range(rows.size))
        self._note(examples, before)
        self.scores[rows], self.seen[rows] = scores, len(self.changes)
        self._reduce_support(self._waiting)

    def _reduce_support(self, waiting: int) -> None:
        """Project all weights onto few examples if those exceed the budget by over ``waiting``."""
        if self.budget is None:
            return
        used = self.state.features_in_use()
        if used.size <= self.budget + waiting:
            return
        before = self._weights()[used]
        mean = self.keeping.weights(self.state)[: self.n_features]
        both = np.hstack([before, mean.reshape(self.n_features, -1)[used]])
        kept, represents = reduced_support(self.between(used, used), both, self.budget)
        for array in self.state.shaped.values():
            weights = array[: self.n_features].reshape(self.n_features, -1)
            projected = represents @ weights[used]
            weights[used] = 0.0
            weights[used[kept]] = projected
        self._note(used, before)

    def _caught_up(self, rows: np.ndarray) -> np.ndarray:
        """Return the scores of ``rows`` by the current weights."""
        scores, seen = self.scores[rows], self.seen[rows]
        first = int(seen.min())
        examples, columns = self.changes[first:, :2].T.astype(np.int64)
        amounts = np.ascontiguousarray(self.changes[first:, 2])
        supports, places = np.unique(examples, return_inverse=True)
        at_once = max(1, GRAM_VALUES // rows.size)
        for start in range(0, supports.size, at_once):
            some = supports[start : start + at_once]
            mine = (places >= start) & (places < start + some.size)
            skipped = np.concatenate([[0], np.cumsum(mine)])[seen - first]
            catch_up(
                self.between(rows + self.offset, some), skipped, places[mine] - start,
                columns[mine], amounts[mine], scores.reshape(rows.size, -1),
            )  # fmt: skip
        return scores

    def held_out(self) -> Iterator[RowBatch]:
        return self._sparse(self.held_out_rows, self.score_weights)

    def training_rows(self) -> Iterator[RowBatch]:
        return self._sparse(self.order(0), self.importance)

    def _sparse(self, order: np.ndarray | range, importance: np.ndarray) -> Iterator[RowBatch]:
        supports = self.state.features_in_use()
        for rows in slices(order, max(1, GRAM_VALUES // max(1, supports.size))):
            gram = self.between(rows + self.offset, supports)
            starts = np.arange(rows.size + 1) * supports.size
            sparse = csr_rows(gram.reshape(-1), np.tile(supports, rows.size), starts)
            yield RowBatch(
                sparse, self.codes[rows], importance[rows] if importance.size else NO_IMPORTANCE,
                range(rows.size), self.n_features, None,
            )  # fmt: skip
