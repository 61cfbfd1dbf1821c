"""Rows of a logistic regression in lanes, and sums over lanes.

A lane is a fixed number of rows, counted from the first row of the data: it does not depend on the
batches in which rows come, nor on who adds them up.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from itertools import chain, islice
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from linsep._system.interrupts import interruption_point
from linsep._system.threads import thread_count
from linsep.compiled.rows import Csr, Dense, csr_rows
from linsep.lanes import Add, Tree, in_lanes

#: longest time before a Ctrl-C is noticed while lanes are processed
SECONDS = 0.1
#: values in a block of dense rows, which fits in the cache
BLOCK_VALUES = 1 << 16
#: fewest and most rows in a lane of dense rows, and values in between: short lanes cost threads
#: more than they share out
LEAST_LANE_ROWS, MOST_LANE_ROWS, LANE_VALUES = 1 << 10, 1 << 15, 1 << 21
#: fewest rows and values in the first batch of a stream, of which a sample is taken
HEAD_ROWS, HEAD_VALUES = 20_000, 1 << 21


class Batch(NamedTuple):
    """Rows as compiled code sees them, their class codes and weights (empty where all are 1).

    The values of some ``columns`` are replaced by those in ``extra``, shape (rows, columns).
    """

    rows: Dense | Csr
    codes: np.ndarray
    weights: np.ndarray
    columns: tuple[int, ...] = ()
    extra: np.ndarray = np.empty((0, 0))

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.codes)

    def between(self, start: int, stop: int) -> "Batch":
        """Return some of the rows, which are not copied."""
        if stop - start == self.size:
            return self
        rows: Any = self.rows
        if isinstance(rows, Csr):
            rows = rows._replace(starts=rows.starts[start : stop + 1])
        else:
            rows = rows._replace(values=rows.values[start:stop])
        return Batch(
            rows, self.codes[start:stop], self.weights[start:stop], self.columns,
            self.extra[start:stop],
        )  # fmt: skip


Batches = Callable[[], Iterable[Batch]]
#: from a lane to its sum, or from a lane and what was kept of it
Work: TypeAlias = Callable[..., Any]


def block_rows(n_features: int) -> int:
    """Return the number of dense rows in a block."""
    return max(64, min(2048, BLOCK_VALUES // (n_features + 1)))


def lane_rows(n_features: int) -> int:
    """Return the number of dense rows in a lane, a multiple of those in a block."""
    most = min(MOST_LANE_ROWS, LANE_VALUES // (n_features + 1))
    rows = block_rows(n_features)
    return rows * -(-max(LEAST_LANE_ROWS, most) // rows)


def lanes_of(batches: Iterable[Batch], rows: int) -> Iterator[Batch]:
    """Yield the rows of batches in lanes of so many rows; the last may be shorter."""
    return in_lanes(batches, rows, joined)


def joined(batches: list[Batch]) -> Batch:
    """Return the rows of batches as one."""
    if len(batches) == 1:
        return batches[0]
    weights = np.zeros(0)
    if any(batch.weights.size for batch in batches):
        weights = np.concatenate(
            [batch.weights if batch.weights.size else np.ones(batch.size) for batch in batches]
        )
    return Batch(
        _stacked([batch.rows for batch in batches]),
        np.concatenate([batch.codes for batch in batches]),
        weights,
        batches[0].columns,
        np.concatenate([batch.extra for batch in batches]),
    )


def _stacked(parts: list[Any]) -> Dense | Csr:
    first = parts[0]
    if isinstance(first, Dense):
        values = np.concatenate([rows.values for rows in parts])
        values.flags.writeable = False
        return first._replace(values=values)
    spans = [slice(rows.starts[0], rows.starts[-1]) for rows in parts]
    lengths = np.concatenate([np.diff(rows.starts) for rows in parts])
    starts = np.append(0, np.cumsum(lengths)).astype(first.starts.dtype)
    return csr_rows(
        np.concatenate([rows.values[span] for rows, span in zip(parts, spans, strict=True)]),
        np.concatenate([rows.columns[span] for rows, span in zip(parts, spans, strict=True)]),
        starts,
    )


def with_head(batches: Iterable[Batch], n_features: int) -> Iterator[Batch]:
    """Yield the batches of a stream, the first with a number of rows that does not depend on how
    they were read.
    """
    most = max(HEAD_ROWS, HEAD_VALUES // (n_features + 1))
    held: list[Batch] = []
    count = 0
    for batch in batches:
        if count == most:
            yield batch
            continue
        taken = min(batch.size, most - count)
        held.append(batch.between(0, taken))
        count += taken
        if count == most:
            yield joined(held)
            if taken < batch.size:
                yield batch.between(taken, batch.size)
    if held and count < most:
        yield joined(held)


class RowLanes:
    """Sums over the rows of batches, by the threads of a pool.

    Parameters
    ----------
    batches : function that returns an iterator over all batches, always in the same order
    pool : ThreadPoolExecutor
    """

    def __init__(self, batches: Batches, pool: ThreadPoolExecutor):
        self.batches, self._pool = batches, pool

    def replaced(self, how: Any) -> "RowLanes":
        """Return the lanes with the columns that a standardisation replaces."""
        return RowLanes(how.batches(self.batches), self._pool)

    def sum(self, work: Work, add: Add, size: int) -> Any:
        """Return the sum of ``work(lane)`` over all lanes, of ``size`` rows each."""
        return self._added(self._done((work, lane) for lane in self._lanes(size)), add)

    def sum_and_keep(self, work: Work, add: Add, size: int) -> tuple[Any, list[Any]]:
        """Return the sum of the first of two results of ``work(lane)``, and the others, for
        :meth:`sum_with`.
        """
        kept: list[Any] = []

        def values() -> Iterator[Any]:
            for value, other in self._done((work, lane) for lane in self._lanes(size)):
                kept.append(other)
                yield value

        return self._added(values(), add), kept

    def sum_with(self, kept: list[Any], work: Work, add: Add, size: int) -> Any:
        """Return the sum of ``work(lane, what was kept of it)``."""
        pairs = zip(self._lanes(size), kept, strict=True)
        return self._added(self._done((work, *pair) for pair in pairs), add)

    def _lanes(self, size: int) -> Iterator[Batch]:
        return lanes_of(self.batches(), size)

    def _added(self, values: Iterator[Any], add: Add) -> Any:
        tree = Tree(add)
        for value in values:
            tree.push(value)
        return tree.total()

    def _done(self, calls: Iterator[tuple[Any, ...]]) -> Iterator[Any]:
        """Yield the results of calls, in order; Ctrl-C takes effect between waits and ends them."""
        running: deque[Future[Any]] = deque()
        first = list(islice(calls, 2))
        if len(first) == 1:  # too few rows for threads
            interruption_point()
            yield first[0][0](*first[0][1:])
            return
        try:
            for call in chain(first, calls):
                running.append(self._pool.submit(*call))
                if len(running) > 2 * thread_count():
                    yield _result(running.popleft())
            while running:
                yield _result(running.popleft())
        finally:
            for left in running:
                left.cancel()


def _result(call: "Future[Any]") -> Any:
    interruption_point()
    while not call.done():
        wait([call], SECONDS)
        interruption_point()
    return call.result()
