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


def _cache_of(kernel: Kernel, examples: Any, n_examples: int, most_bytes: float) -> Any:
    """Return the cache of all kernel values if it has at most so many bytes, else None."""
    size, there = 8 * n_examples**2, memory_bytes()
    if size > most_bytes:
        return None
    if there is not None and size > there:
        raise DataError(
            f"The Gram matrix of {n_examples:,} rows takes {size / 1e6:,.0f} MB, but this "
            f"computer has {there / 1e6:,.0f}",
            hint("lower {}", cache_mb=None), code="too-large", option="cache_mb",
        )  # fmt: skip
    return GramCache(kernel, examples)


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
    """Compute the kernel values that a block waits for, and some for rows of its ``rest``, but not
    by a function that takes rows one by one.
    """
    row = int(rows.waiting[0])
    more = rest[:0] if kept.kernel.rows_at_once == 1 else _next_mistakes(rows, codes, rest)
    with interrupts_allowed():  # a kernel may be a user's function
        kept.keep(np.append(more, row))
    settle(rows, kept.values[row])


#: arrays of one number per change
CHANGE = ("examples", "columns", "amounts")


class Changes:
    """Changes of the dual weights that are not yet in the scores of all rows: example, column and
    amount of each.

    Changes are numbered from the start of the run; changes that are in all scores are dropped.
    """

    def __init__(self) -> None:
        self.dropped = 0
        self._parts = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)

    @property
    def end(self) -> int:
        """Number of the next change."""
        return self.dropped + self._parts[0].size

    def add(self, examples: np.ndarray, before: np.ndarray, after: np.ndarray) -> None:
        """Record the weights of ``examples`` (one row each) that have changed."""
        moved = after - before
        at, columns = np.nonzero(moved)
        more = examples[at], columns, moved[at, columns]
        examples, columns, amounts = map(np.append, self._parts, more)
        self._parts = examples, columns, amounts

    def since(self, first: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the changes from number ``first`` on."""
        examples, columns, amounts = (part[first - self.dropped :] for part in self._parts)
        return examples, columns, amounts

    def drop(self, first: int) -> None:
        """Drop the changes before number ``first``."""
        self._parts, self.dropped = self.since(first), first

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the changes as arrays, to be stored."""
        some = zip(CHANGE, self._parts, strict=True)
        found = {f"changes.{name}": np.ascontiguousarray(part) for name, part in some}
        return found | {"changes.dropped": np.array([self.dropped])}

    def restore(self, arrays: dict[str, np.ndarray], n_examples: int) -> None:
        """Restore what :meth:`arrays` returned; raise ValueError if it is inconsistent."""
        examples, columns, amounts = (arrays[f"changes.{name}"] for name in CHANGE)
        if not examples.shape == columns.shape == amounts.shape == (examples.size,):
            raise ValueError("changes of different lengths")
        if examples.size and not 0 <= examples.min() <= examples.max() < n_examples:
            raise ValueError("changes of weights that do not exist")
        self._parts = examples, columns, amounts
        self.dropped = int(arrays["changes.dropped"][0])


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
        most = cache_bytes if budget is None else 0.0
        self.cache = _cache_of(kernel, examples, self.n_features, most)

    def begin(self, state: State, keeping: KeepLast) -> None:
        """Set the state to train; no row has been scored yet."""
        self.state, self.keeping, self.changes = state, keeping, Changes()
        self.scores = np.zeros((self.codes.size, *state.W.shape[1:]))
        self.seen = np.zeros(self.codes.size, np.int64)
        W = self._weights()
        examples = np.flatnonzero(W.any(axis=1))
        self.changes.add(examples, np.zeros_like(W[examples]), W[examples])

    def learn_all(self, state: State, keeping: KeepLast) -> None:
        """Stop holding out rows; cached kernel values stay if they would not change."""
        super().learn_all(state, keeping)
        if self.cache is not None and self.offset:
            self.cache = GramCache(self.kernel, self.examples)
        self.begin(state, keeping)

    def _weights(self) -> np.ndarray:
        return self.state.W[: self.n_features].reshape(self.n_features, -1)

    @property
    def replayable(self) -> bool:
        """Whether passes can be replayed: only mistakes change weights, all by the same amount, and
        kernel values are cached.
        """
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
        """Return scores, the changes that are not yet in them, and the cached kernel values."""
        found = {"scores": self.scores, "seen": self.seen} | self.changes.arrays()
        return found if self.cache is None else found | self.cache.arrays()

    def resume(self, passes: int, arrays: dict[str, np.ndarray]) -> None:
        """Restore what :meth:`arrays` returned; raise ValueError if it does not fit."""
        for name, own in (("scores", self.scores), ("seen", self.seen)):
            if (arrays[name].shape, arrays[name].dtype) != (own.shape, own.dtype):
                raise ValueError(f"{name} of shape {arrays[name].shape}")
            own[:] = arrays[name]
        self.changes.restore(arrays, self.n_features)
        if self.cache is not None:
            self.cache.restore(arrays)

    @property
    def _waiting(self) -> int:
        # A function takes rows one by one, so values between all of them are expensive.
        return min(WAITING, max(self.kernel.rows_at_once, self.budget or 0))

    def row_batches(self, pass_number: int, start: int = 0) -> Iterator[RowBatch]:
        """Yield the training rows in blocks, in the order of a pass, from the ``start``-th on."""
        order = self.order(pass_number)
        several = LAZY if self.budget is None else 1
        pieces = slices(order[start:], several * self.kernel.rows_at_once)
        alone = not self.offset and not self.changes.end
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
        self.changes.drop(int(self.seen[order].min(initial=self.changes.end)))

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
        self.changes.add(examples, before, self._weights()[examples])
        self.scores[rows], self.seen[rows] = scores, self.changes.end
        self._reduce_support(self._waiting)

    def _reduce_support(self, waiting: int) -> None:
        """Reduce the support vectors to the budget if it is exceeded by more than ``waiting``: all
        arrays of weights are projected onto the kept ones.
        """
        if self.budget is None:
            return
        used = self.keeping.features_in_use(self.state)
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
        self.changes.add(used, before, self._weights()[used])

    def _caught_up(self, rows: np.ndarray) -> np.ndarray:
        """Return the scores of ``rows`` by the current weights."""
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
                self.between(rows + self.offset, some), skipped, places[mine] - start,
                columns[mine], amounts[mine], scores.reshape(rows.size, -1),
            )  # fmt: skip
        return scores

    def held_out(self) -> Iterator[RowBatch]:
        """Yield the held-out rows as sparse rows of kernel values, with their weights in scores."""
        return self._sparse(self.held_out_rows(), self.score_weights)

    def training_rows(self) -> Iterator[RowBatch]:
        """Yield the training rows in the given order as sparse rows of kernel values."""
        return self._sparse(self.order(0), self.importance)

    def _sparse(self, order: np.ndarray | range, importance: np.ndarray) -> Iterator[RowBatch]:
        supports = self.keeping.features_in_use(self.state)
        for rows in slices(order, max(1, GRAM_VALUES // max(1, supports.size))):
            gram = self.between(rows + self.offset, supports)
            starts = np.arange(rows.size + 1) * supports.size
            sparse = csr_rows(gram.reshape(-1), np.tile(supports, rows.size), starts)
            yield RowBatch(
                sparse, self.codes[rows], importance[rows] if importance.size else NO_IMPORTANCE,
                range(rows.size), self.n_features, None,
            )  # fmt: skip
