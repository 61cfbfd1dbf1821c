"""Passes over rows in the feature space of a kernel.

The stream provides the scores of a block of rows; within the block the loop updates them
(:class:`linsep.compiled.rows.Block`). If kernel values are cached, all rows are one block, and the
loop stops at a row whose kernel values are needed for the first time. Otherwise the scores of a
block are updated with one Gram matrix for all weights that have changed since its rows were last
scored.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import lapack, solve_triangular

from linsep._system.interrupts import interruption_point, interrupts_allowed
from linsep.batches import NO_IMPORTANCE
from linsep.compiled.rows import Block, block, catch_up, csr_rows, settle
from linsep.kernels.base import Kernel, rows_of
from linsep.kernels.gram_cache import GramCache
from linsep.learners.state import KeepLast, State
from linsep.rows.arrays import MemoryStream, RowBatch, slices

#: squared residual below which a support vector is a combination of others up to rounding
ROUNDING = 1e-10


def reduced_support(
    gram: np.ndarray, weights: np.ndarray, budget: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of at most ``budget`` support vectors to keep, and the matrix of shape
    (kept, supports) by which their weights replace those of all, shape (supports, columns).
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


def _provide(rows: Block, kept: GramCache, codes: np.ndarray, rest: np.ndarray) -> None:
    """Compute the kernel values of a row, and of those of the next that may be mistakes, too."""
    row = int(rows.waiting[0])
    some = rest[: 0 if kept.kernel.rows_at_once == 1 else WAITING]
    some = some[~rows.known[some]]
    scores = rows.scores[some]
    predicted = scores > 0.0 if scores.ndim == 1 else scores.argmax(axis=1)
    likely = some[predicted != codes[some]][: max(ROWS_AT_ONCE, AT_ONCE // rows.known.size)]
    kept.keep(np.append(likely, row))
    settle(rows, kept.values[row])


class KernelStream(MemoryStream):
    """Blocks of rows with their scores and their Gram matrix.

    ``examples`` are prepared rows, to which the weights of the state belong; the last of them are
    the training rows. All kernel values are cached if they fit in ``cache_bytes``. ``rest`` are
    arguments of :class:`linsep.rows.arrays.MemoryStream`.
    """

    of_features = False

    def __init__(
        self, kernel: Kernel, examples: Any, cache_bytes: float, budget: int | None, state: State,
        keeping: KeepLast, *rest: Any,
    ):  # fmt: skip
        super().__init__(*rest)
        self.kernel, self.examples, self.budget = kernel, examples, budget
        self.n_features = rows_of(examples)
        self.offset = self.n_features - self.codes.size
        # With a budget, support vectors come and go, and few of their values are needed.
        cached = budget is None and not self.offset and 8 * self.n_features**2 <= cache_bytes
        self.cache = GramCache(kernel, examples) if cached else None
        #: whether passes can be replayed
        self.replayable = cached and not self.importance.size
        self._begin(state, keeping)

    def learn_all(self, state: State, keeping: KeepLast) -> None:
        super().learn_all(state, keeping)
        self._begin(state, keeping)

    def _begin(self, state: State, keeping: KeepLast) -> None:
        self.state, self.keeping = state, keeping
        self.scores = np.zeros((self.codes.size, *state.W.shape[1:]))
        #: changes that are not yet in all scores: example, column and amount of each
        self.changes = np.empty((0, 3))
        #: the number of them that are in the score of each row
        self.seen = np.zeros(self.codes.size, np.int64)
        self._note(np.arange(self.n_features), 0.0)

    def _weights(self, array: np.ndarray) -> np.ndarray:
        return array[: self.n_features].reshape(self.n_features, -1)

    def _note(self, examples: np.ndarray, before: Any) -> None:
        moved = self._weights(self.state.W)[examples] - before
        at, columns = np.nonzero(moved)
        more = np.column_stack([examples[at], columns, moved[at, columns]])
        self.changes = np.concatenate([self.changes, more])

    def between(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        interruption_point()
        with interrupts_allowed():  # a kernel may be a user's function
            if self.cache is not None:
                return self.cache.between(a, b)
            return self.kernel.gram(self.examples[a], self.examples[b])

    def scores_now(self) -> np.ndarray:
        used = self.state.features_in_use()
        rows = np.arange(self.offset, self.n_features)
        return self.between(rows, used) @ self._weights(self.state.W)[used]

    def arrays(self) -> dict[str, np.ndarray]:
        found = {"scores": self.scores, "seen": self.seen, "changes": self.changes}
        return found if self.cache is None else found | self.cache.arrays()

    def resume(self, passes: int, arrays: dict[str, np.ndarray]) -> None:
        self.scores[:], self.seen[:] = arrays["scores"], arrays["seen"]
        self.changes = arrays["changes"]
        if self.cache is not None and "gram.rows" in arrays:
            computed = arrays["gram.examples"]
            self.cache.values[computed], self.cache.known[computed] = arrays["gram.rows"], True

    def row_batches(self, pass_number: int, start: int = 0) -> Iterator[RowBatch]:
        order, at_once = self.order(pass_number), self.kernel.rows_at_once
        pieces = slices(order[start:], at_once * (LAZY if self.budget is None else 1))
        if (cache := self.cache) is not None:
            every = block(self.scores, cache.values, np.arange(self.codes.size), cache.known)
            for piece in pieces:
                yield self._batch(every, cache, self.codes, self.importance, piece)
            return
        # A function takes rows one by one, so values between all of them are expensive.
        waiting = min(WAITING, max(at_once, self.budget or 0))
        if start:  # the run was interrupted before or after this
            self._reduce_support(waiting)
        for rows in pieces:
            examples, scores = rows + self.offset, self._caught_up(rows)
            before = self._weights(self.state.W)[examples]
            kept = GramCache(self.kernel, self.examples[examples])
            found = block(scores, kept.values, examples, kept.known)
            importance = self.importance[rows] if self.importance.size else NO_IMPORTANCE
            yield self._batch(found, kept, self.codes[rows], importance, range(rows.size))
            self._note(examples, before)
            self.scores[rows], self.seen[rows] = scores, len(self.changes)
            self._reduce_support(waiting)
        self._reduce_support(waiting=0)
        in_all = int(self.seen[order].min(initial=len(self.changes)))
        self.changes, self.seen = self.changes[in_all:], self.seen - in_all

    def _batch(
        self, rows: Block, kept: GramCache, codes: np.ndarray, importance: np.ndarray, order: Any
    ) -> RowBatch:
        provide = partial(_provide, rows, kept, codes)
        return RowBatch(rows, codes, importance, order, self.n_features, None, provide)

    def _reduce_support(self, waiting: int) -> None:
        """Project all weights onto few examples if those exceed the budget by over ``waiting``."""
        used = self.state.features_in_use()
        if self.budget is None or used.size <= self.budget + waiting:
            return
        weights = [self._weights(array) for array in self.state.shaped.values()]
        before = self._weights(self.state.W)[used]
        mean = self._weights(self.keeping.weights(self.state))[used]
        gram = self.between(used, used)
        kept, represents = reduced_support(gram, np.hstack([before, mean]), self.budget)
        for array in weights:
            projected = represents @ array[used]
            array[used] = 0.0
            array[used[kept]] = projected
        self._note(used, before)

    def _caught_up(self, rows: np.ndarray) -> np.ndarray:
        scores, seen = self.scores[rows], self.seen[rows]
        first = int(seen.min())
        examples, columns = self.changes[first:, :2].T.astype(np.int64)
        amounts = self.changes[first:, 2]
        supports, places = np.unique(examples, return_inverse=True)
        for some in slices(range(supports.size), max(1, GRAM_VALUES // rows.size)):
            mine = np.isin(places, some)
            skipped = np.concatenate([[0], np.cumsum(mine)])[seen - first]
            catch_up(
                self.between(rows + self.offset, supports[some]), skipped, places[mine] - some[0],
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
