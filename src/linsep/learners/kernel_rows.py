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
from linsep.kernels.foreign import GramRows
from linsep.kernels.gram_cache import GramCache
from linsep.learners.keeping import KeepLast
from linsep.learners.state import State
from linsep.rows.arrays import MemoryStream, RowBatch, slices


class Grams:
    """Kernel values between examples, by their numbers.

    Parameters
    ----------
    kernel : a fitted :class:`linsep.kernels.Kernel`
    examples : rows prepared by it
    n_examples : number of examples
    cache_bytes : values are cached if the whole Gram matrix fits in this many bytes
    """

    def __init__(self, kernel: Any, examples: Any, n_examples: int, cache_bytes: float = 0):
        self.kernel, self.examples, self.n_examples = kernel, examples, n_examples
        self.rows_at_once = kernel.rows_at_once
        size = 8 * n_examples**2
        #: whether values are cached
        self.cached = size <= cache_bytes
        #: whether it takes longer to look for values that are needed than to compute a whole row
        self.cheap = isinstance(examples, GramRows) or (
            kernel.takes == "vectors" and self.rows_at_once > 1
        )
        #: the cached values, NaN where unknown, once there are any, or cached rows
        self._known: np.ndarray | None = None
        self._rows: GramCache | None = None
        if self.cached:
            _check_memory(size, n_examples)

    def all_rows(self) -> GramCache | None:
        """Return the rows of the whole Gram matrix computed so far, if they are cached."""
        if self._rows is None and self.cached and self.cheap:
            self._rows = GramCache(self.kernel, self.examples)
        return self._rows

    def rows_among(self, examples: np.ndarray) -> GramCache:
        """Return the rows of the Gram matrix of some examples, valid until the next call."""
        if self.cheap:
            return GramCache(self.kernel, self.examples[examples])
        there = GramRows(self.between(examples, examples), np.arange(examples.size))
        return GramCache(self.kernel, there)

    def forget(self) -> None:
        """Drop the cached values: computed together with other rows, they could differ in the last
        digit.
        """
        self._known = self._rows = None

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the cached values, NaN where unknown: computed together with other rows, they
        could differ in the last digit.
        """
        if self._rows is not None:
            return self._rows.arrays()
        return {} if self._known is None else {"gram": self._known}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Restore what :meth:`arrays` returned; raise ValueError if it does not fit."""
        if "gram.rows" in arrays and (rows := self.all_rows()) is not None:
            rows.restore(arrays)
        if self.cached and "gram" in arrays:
            if arrays["gram"].shape != 2 * (self.n_examples,):
                raise ValueError(f"a Gram matrix of shape {arrays['gram'].shape}")
            self._known = np.array(arrays["gram"])

    def between(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return kernel values of shape (a.size, b.size)."""
        interruption_point()
        if self._rows is not None:
            return self._rows.between(a, b)
        if not self.cached or self.cheap:
            return self._computed(a, b)
        if self._known is None:
            self._known = np.full(2 * (self.n_examples,), np.nan)
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
        with interrupts_allowed():  # a kernel may be a user's function
            return self.kernel.gram(self.examples[a], self.examples[b])


def memory_bytes() -> int | None:
    """Return the memory of this computer; None if unknown."""
    if not hasattr(os, "sysconf"):
        return None
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _check_memory(size: int, n_examples: int) -> None:
    """Raise DataError if the computer has less memory than the cache needs."""
    there = memory_bytes()
    if there is not None and size > there:
        raise DataError(
            f"The Gram matrix of {n_examples:,} rows takes {size / 1e6:,.0f} MB, but this "
            f"computer has {there / 1e6:,.0f}",
            hint("lower {}", cache_mb=None), code="too-large", option="cache_mb",
        )  # fmt: skip


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
    """Compute the kernel values that a block waits for, and some for rows of its ``rest``."""
    row = int(rows.waiting[0])
    kept.keep(np.append(_next_mistakes(rows, codes, rest), row))
    settle(rows, kept.values[row])


#: arrays of one number per change
CHANGE = ("examples", "columns", "amounts")


class Changes:
    """Changes of the dual weights that are not yet in the scores of all rows.

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
        mine, of, amounts = self._parts
        self._parts = (
            np.append(mine, examples[at]), np.append(of, columns),
            np.append(amounts, moved[at, columns]),
        )  # fmt: skip

    def since(self, first: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return example, column and amount of the changes from number ``first`` on."""
        examples, columns, amounts = (part[first - self.dropped :] for part in self._parts)
        return examples, columns, amounts

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the changes as arrays, to be stored."""
        some = zip(CHANGE, self.since(self.dropped), strict=True)
        return {f"changes.{name}": np.ascontiguousarray(part) for name, part in some} | {
            "changes.dropped": np.array([self.dropped])
        }

    def restore(self, arrays: dict[str, np.ndarray], n_examples: int) -> None:
        """Restore what :meth:`arrays` returned; raise ValueError if it is inconsistent."""
        examples, columns, amounts = (arrays[f"changes.{name}"] for name in CHANGE)
        if not examples.shape == columns.shape == amounts.shape == (examples.size,):
            raise ValueError("changes of different lengths")
        if examples.size and not 0 <= examples.min() <= examples.max() < n_examples:
            raise ValueError("changes of weights that do not exist")
        self._parts = examples, columns, amounts
        self.dropped = int(arrays["changes.dropped"][0])

    def drop(self, first: int) -> None:
        """Drop the changes before number ``first``."""
        self._parts, self.dropped = self.since(first), first


class KernelStream(MemoryStream):
    """Blocks of rows with their scores and their Gram matrix.

    Parameters
    ----------
    grams : :class:`linsep.learners.kernel_rows.Grams`
        The last ``codes.size`` of its examples are the training rows.
    codes, importance, seed, shuffle, hold_out : see :class:`linsep.rows.arrays.MemoryStream`
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
        """Set the state to train; no row has been scored yet."""
        self.state, self.keeping, self.changes = state, keeping, Changes()
        self.scores = np.zeros((self.codes.size, *state.W.shape[1:]))
        self.seen = np.zeros(self.codes.size, np.int64)
        #: weights, and the scores of all rows by them, once computed
        self._then: tuple[np.ndarray, np.ndarray] | None = None
        W = self._weights()
        examples = np.flatnonzero(W.any(axis=1))
        self.changes.add(examples, np.zeros_like(W[examples]), W[examples])

    def learn_all(self, state: State, keeping: KeepLast) -> None:
        """Stop holding out rows; cached kernel values stay if they would not change."""
        super().learn_all(state, keeping)
        if (self.budget is not None or self.offset) and self.grams.rows_at_once > 1:
            self.grams.forget()
        self.begin(state, keeping)

    def _weights(self) -> np.ndarray:
        return self.state.W[: self.n_features].reshape(self.n_features, -1)

    @property
    def replayable(self) -> bool:
        """Whether passes can be replayed: only mistakes change weights, all by the same amount, and
        kernel values are cached.
        """
        return self.budget is None and not self.importance.size and self.grams.cached

    def scores_now(self) -> np.ndarray:
        """Return the scores of all rows by the current weights, shape (rows, columns)."""
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
        """Return the Gram matrix of the rows, shape (rows, rows)."""
        rows = np.arange(self.offset, self.grams.n_examples)
        return self.grams.between(rows, rows)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return scores, the changes that are not yet in them, and the cached kernel values."""
        found = {"scores": self.scores, "seen": self.seen} | self.changes.arrays()
        if self._then is not None:
            found |= dict(zip(("then.weights", "then.scores"), self._then, strict=True))
        return found | self.grams.arrays()

    def resume(self, passes: int, arrays: dict[str, np.ndarray]) -> None:
        """Restore what :meth:`arrays` returned; raise ValueError if it does not fit."""
        for name, own in (("scores", self.scores), ("seen", self.seen)):
            if (arrays[name].shape, arrays[name].dtype) != (own.shape, own.dtype):
                raise ValueError(f"{name} of shape {arrays[name].shape}")
            own[:] = arrays[name]
        if "then.weights" in arrays:
            self._then = arrays["then.weights"], arrays["then.scores"]
            columns = self._weights().shape[1]
            fits = self.n_features, columns, self.codes.size, columns
            if (*self._then[0].shape, *self._then[1].shape) != fits:
                raise ValueError("scores that do not match their weights")
        self.changes.restore(arrays, self.n_features)
        self.grams.restore(arrays)

    @property
    def _waiting(self) -> int:
        # A function takes rows one by one, so values between all of them are expensive.
        return min(WAITING, max(self.grams.rows_at_once, self.budget or 0))

    def row_batches(self, pass_number: int, start: int = 0) -> Iterator[RowBatch]:
        """Yield the training rows in blocks, in the order of a pass, from the ``start``-th on."""
        order = self.order(pass_number)
        several = LAZY if self.grams.cheap and self.budget is None else 1
        pieces = slices(order[start:], several * self.grams.rows_at_once)
        alone = self.budget is None and not self.offset and not self.changes.end
        if alone and (kept := self.grams.all_rows()) is not None:
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
        kept = self.grams.rows_among(examples)
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
        kept, represents = reduced_support(self.grams.between(used, used), both, self.budget)
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
                self.grams.between(rows + self.offset, some), skipped, places[mine] - start,
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
            gram = self.grams.between(rows + self.offset, supports)
            starts = np.arange(rows.size + 1) * supports.size
            sparse = csr_rows(gram.reshape(-1), np.tile(supports, rows.size), starts)
            yield RowBatch(
                sparse, self.codes[rows], importance[rows] if importance.size else NO_IMPORTANCE,
                range(rows.size), self.n_features, None,
            )  # fmt: skip
