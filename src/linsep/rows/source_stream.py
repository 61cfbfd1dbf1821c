"""Passes over a source: the first while reading it, later ones from memory or a row cache.

The order of rows is the same as for rows in memory, so the weights are bit-identical.
"""

import mmap
import os
import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from copy import copy
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import linsep
from linsep._system.files import scratch_folder
from linsep._system.interrupts import interruption_point, interrupts_deferred
from linsep._system.threads import in_background
from linsep.batches import NO_IMPORTANCE, Batch, joined, weight_totals
from linsep.compiled.loop import BLOCK, interleave
from linsep.compiled.rows import as_rows, packed
from linsep.errors import DataError, LinsepError, hint
from linsep.rows.arrays import (
    SMALL,
    ClassRuns,
    HoldOut,
    RowBatch,
    RowStream,
    block_sizes,
    held_groups,
    permuted,
    shuffled,
)
from linsep.sources.base import Source
from linsep.sources.limits import check_weights
from linsep.sources.row_cache import (
    RowCache,
    RowCacheWriter,
    row_cache_path,
    row_folder,
    source_key,
)  # fmt: skip
from linsep.validation.checks import CONTINUOUS, tidy
from linsep.words import row_text

#: limit of the number of classes
MOST_CLASSES = 100_000


class LabelBook:
    """Numbers the labels in order of first appearance.

    Attributes
    ----------
    labels : known labels, in that order
    reference : the class of two that has code 0; None for the smaller
    classes : array of labels in the order of their codes
    codes : int32 array, the code of each number
    """

    def __init__(self, labels: Any = (), reference: Any = None):
        self.labels: list[Any] = list(labels)
        self.reference = reference
        self._sort()

    def _sort(self) -> None:
        labels = np.array(self.labels)
        self._numbers = np.argsort(labels).astype(np.int32)
        self.classes, self.codes = labels[self._numbers], np.argsort(self._numbers).astype(np.int32)
        self._sorted = self.classes
        if len(labels) == 2 and self.classes.tolist()[1] == self.reference:
            self.classes, self.codes = self.classes[::-1], 1 - self.codes

    def numbers(self, y: np.ndarray, where: Callable[[int], str] = row_text) -> np.ndarray:
        """Return the number of each label as int32; new labels get the next numbers.

        Raises DataError for the first invalid label, with its place.
        """
        if y.dtype.kind not in "biufU":  # Python objects
            labels = y.tolist()
            for index, label in enumerate(labels):
                self._check(label, (self.labels or labels)[0], index, where)
            y = np.array(labels)
        if self.labels and (self._sorted.dtype.kind == "U") == (y.dtype.kind == "U"):
            ranks = np.searchsorted(self._sorted, y)
            ranks[ranks == self._sorted.size] = 0
            if np.array_equal(self._sorted[ranks], y):
                return self._numbers[ranks]
        fresh, first = np.unique(y, return_index=True)
        known = set(self.labels)
        labels = (fresh + 0.0 if fresh.dtype.kind == "f" else fresh).tolist()  # -0.0 is 0.0
        for k in np.argsort(first).tolist():
            if labels[k] in known:
                continue
            self._check(labels[k], (self.labels or labels)[0], int(first[k]), where)
            if len(self.labels) == MOST_CLASSES:
                raise DataError(
                    where(int(first[k])) + ": up to here the labels have more than "
                    f"{MOST_CLASSES:,} different values; a classifier needs few classes, so choose "
                    "another target.", code="class-count",
                )  # fmt: skip
            self.labels.append(labels[k])
        self._sort()
        return self.numbers(y, where)

    def _check(self, label: Any, other: Any, index: int, where: Callable[[int], str]) -> None:
        why, text = "", isinstance(other, str)
        if isinstance(label, float) and not label.is_integer():
            why = CONTINUOUS.format(label)
        elif not isinstance(label, str | int | float) or isinstance(label, str) != text:
            why = (
                f"the label {label!r} is of type {type(label).__name__}, an earlier one of type "
                f"{type(other).__name__}; give text, whole numbers or booleans of one type"
            )
        if why:
            raise DataError(where(index) + f": {why}.", code="label-type")


#: smallest array with a memory map of its own: a process may have some 65,000 maps
LARGE = 1 << 20


def copied_apart(X: Any) -> Any:
    """Return a copy of rows whose memory the system gets back. Other memory that is freed piece by
    piece stays with the process, so joining rows would hold them twice.
    """
    if sp.issparse(X):
        copied = sp.csr_matrix(X.shape, dtype=X.dtype)
        copied.data, copied.indices = copied_apart(X.data), copied_apart(X.indices)
        copied.indptr = X.indptr.copy()
        return copied
    if X.nbytes < LARGE:
        return X.copy()
    private = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if os.name == "posix" else {}
    own = np.frombuffer(mmap.mmap(-1, X.nbytes, **private), X.dtype, X.size).reshape(X.shape)
    own[...] = X
    return own


class StartAgain(LinsepError):
    """A new class turned up late: start again, with all classes."""


class Keeper:
    """Keeps the batches of the first pass, whose y are numbers of labels: up to ``memory_bytes`` in
    memory, beyond that all in a row cache created by ``writer()``.
    """

    def __init__(self, writer: Callable[[], RowCacheWriter], memory_bytes: int):
        self._start_row_cache, self._memory_bytes = writer, memory_bytes
        self._parts: list[Batch] = []
        self._held = 0
        self._row_cache: RowCacheWriter | None = None

    def keep(self, batch: Batch) -> None:
        """Keep the rows of one batch."""
        if self._row_cache is not None:
            self._row_cache.write(batch)
            return
        self._parts.append(batch._replace(X=copied_apart(batch.X)))
        self._held += _bytes_of(batch.X, np.arange(batch.size))
        if self._held > self._memory_bytes:
            self._row_cache = self._start_row_cache()
            for part in self._parts:
                self._row_cache.write(part)
            self._parts = []

    def finish(self, n_features: int, labels: list[Any], source: Source) -> RowCache | Batch:
        """Return the finished row cache, or all rows in memory."""
        if self._row_cache is not None:
            return self._row_cache.commit(n_features, labels, source)
        return joined(self._parts, n_features)

    def abort(self) -> None:
        self._parts = []
        if self._row_cache is not None:
            self._row_cache.abort()


#: most batches of memory for whole blocks to interleave
MOST_BATCHES = 4
#: rows of a row cache, the number of each in the data, and the order in which to learn them
Shuffled = tuple[Batch, np.ndarray, np.ndarray]


def shuffled_batches(
    row_cache: RowCache, batch_bytes: int, seed: int, pass_number: int, group_size: int
) -> Iterator[Shuffled]:
    """Yield every row of a row cache once, in the order of :func:`linsep.rows.arrays.shuffled`, in
    batches of about ``batch_bytes``.
    """
    n, per_block = row_cache.n_rows, max(1, row_cache.n_bytes // row_cache.n_blocks)
    fit = max(1, batch_bytes // per_block)
    if n <= SMALL or group_size > MOST_BATCHES * fit:
        yield from _picked(row_cache, shuffled(n, seed, pass_number, group_size), BLOCK * fit)
        return
    at_once = max(group_size, fit // group_size * group_size)
    blocks = permuted(-(-n // BLOCK), seed, pass_number)
    odd = blocks.size % at_once
    for start in range(odd - at_once if odd else 0, blocks.size, at_once):
        chosen = blocks[max(0, start) : start + at_once]
        batch = row_cache.read_blocks(chosen)
        sizes = block_sizes(n, chosen)
        order = interleave(np.cumsum(sizes) - sizes, sizes, group_size)
        yield batch, _rows_of(chosen, n), order


def _picked(row_cache: RowCache, order: np.ndarray, at_once: int) -> Iterator[Shuffled]:
    """Yield batches of ``at_once`` rows, whose blocks are read one after another, for few or very
    wide rows.
    """
    n = order.size
    for start in range(0, n, at_once):
        wanted = order[start : start + at_once]
        rows = np.sort(wanted)
        blocks = np.unique(rows // BLOCK)
        parts = []
        for piece in np.array_split(blocks, -(-BLOCK * blocks.size // at_once)):
            asked = np.isin(_rows_of(piece, n), rows)
            parts.append(row_cache.read_blocks(piece).rows(asked))
        batch = joined(parts, row_cache.n_features)
        yield batch, rows, np.searchsorted(rows, wanted)


def _rows_of(blocks: np.ndarray, n_rows: int) -> np.ndarray:
    """Return the numbers of the rows in these blocks."""
    rows = (blocks[:, None] * BLOCK + np.arange(BLOCK)).ravel()
    return rows[rows < n_rows]


class Sample:
    """Every k-th row, used or not, and for each class the number and the weight of all rows.

    ``k`` is a power of two that grows with the stream, so that the sample does not depend on the
    batches: it has at most ``most_rows`` rows of ``most_bytes``, but at least one.
    """

    def __init__(self, n_classes: int, most_rows: int = 1 << 15, most_bytes: int = 8 << 20):
        self.counts, self.totals = np.zeros(n_classes, dtype=np.int64), np.zeros(n_classes)
        self._most_rows, self._most_bytes = most_rows, most_bytes
        self._every, self._seen, self._size = 1, 0, 0
        self._parts: list[Batch] = []

    def take(self, batch: Batch) -> None:
        """Add the rows of a batch, whose y are class codes."""
        self.counts += np.bincount(batch.y, minlength=self.counts.size)
        self.totals = weight_totals(self.totals, batch.y, batch.importance)
        while True:
            rows = np.arange(-self._seen % self._every, batch.size, self._every)
            # Counted before the rows are copied: a batch may be larger than the sample may become.
            size = self._size + _bytes_of(batch.X, rows)
            n_rows = rows.size + sum(part.size for part in self._parts)
            if n_rows <= 1 or (n_rows <= self._most_rows and size <= self._most_bytes):
                break
            self._every *= 2
            if self._parts:
                half = joined(self._parts).rows(slice(None, None, 2))
                self._parts, self._size = [half], _bytes_of(half.X, np.arange(half.size))
        if rows.size:
            self._parts.append(batch.rows(rows))
        self._size, self._seen = size, self._seen + batch.size

    def rows(self, n_features: int) -> Batch:
        """Return the sample, with at least ``n_features`` columns; y are class codes."""
        width = max(n_features, *(part.X.shape[1] for part in self._parts))
        return joined(list(self._parts), width)


def _bytes_of(X: Any, rows: np.ndarray) -> int:
    """Return the size of some rows, with one row start each."""
    if not sp.issparse(X):
        return int(rows.size * X[:1].nbytes)
    values = int((X.indptr[rows + 1] - X.indptr[rows]).sum())
    return values * (X.data.itemsize + X.indices.itemsize) + rows.size * X.indptr.itemsize


BATCH_BYTES = 16 << 20
RowBatches = Generator[RowBatch, None, None]
#: a batch, the number of its first row in the data (None if rows are shuffled), the places of all
#: its rows among those read, and the order in which to learn them
Ordered = tuple[Batch, int | None, slice | np.ndarray, np.ndarray]


class SourceStream(RowStream):
    """Passes over the rows of a source.

    Parameters
    ----------
    seed, shuffle : whether and how later passes are shuffled
    keep : whether there will be more than one pass
    fraction : share of each class to hold out, or None
    importance : function of classes and the weights of their rows (None before they are known) to
        the weight of each class, or None
    counts : whether ``importance`` needs these totals, which takes an additional reading
    expected : labels named by parameters such as class_weight; unless the first rows have all of
        them, the whole source is read for its labels before learning
    reference : the class of two that has code 0; None for the smaller
    unit : whether rows are scaled to length 1
    lengths : whether the norms of rows matter, so that duplicate columns have to be summed
    """

    reads, of_features = True, True

    def __init__(
        self, source: Source, *, seed: int, shuffle: bool, keep: bool,
        fraction: float | None = None,
        importance: Callable[[np.ndarray, np.ndarray | None], np.ndarray] | None = None,
        counts: bool = False, expected: Iterable[Any] = (), reference: Any = None,
        unit: bool = False, lengths: bool = False,
    ):  # fmt: skip
        self.source, self.seed, self.shuffle, self.keep = source, seed, shuffle, keep
        self.book = LabelBook(reference=reference)
        self.n_rows: int | None = None
        self.n_features = 0
        self._fraction, self._importance, self._counts = fraction, importance, counts
        self._expected, self._unit, self._lengths = set(expected), unit, lengths
        self._temporary: tempfile.TemporaryDirectory | None = None
        self._folder: Path | None = None
        self._key: dict[str, Any] = {}
        #: what was read: y are the numbers of labels, which the book turns into codes
        self._kept: Batch | RowCache | None = None
        self._reading: Generator[Batch, None, None] | None = None
        self._first: list[Batch] = []
        self._row_batches: RowBatches | None = None
        #: rows in memory as compiled loops take them
        self._rows: Any = None
        self._totals = np.zeros(0)
        self._groups: list[np.ndarray] = []
        #: of all rows once they have been read, None if they have none; 8 bytes a row
        self.offsets: np.ndarray | None = None
        self._owns_files = True

    def again(self, *, shuffle: bool, unit: bool, fraction: float | None) -> "SourceStream":
        """Return a stream of the same rows, which are in memory or in a row cache after the first
        pass, without parsing again. Close it before this one.
        """
        stream = copy(self)
        stream.shuffle, stream._unit, stream._fraction = shuffle, unit, fraction
        stream._row_batches, stream._owns_files = None, False
        return stream

    def begin(self) -> None:
        """Read the first rows, or all if classes or their counts are needed before learning."""
        source = self.source
        if not self._owns_files:
            return
        if source.cache is not None and source.paths:
            self._folder = row_folder(source.cache)
        if self._folder is not None:
            # Other versions of linsep may parse differently.
            options = source.options() | {"version": linsep.__version__}
            self._key = source_key(source.paths, options)
            # Caches have neither offsets nor groups.
            if not (source.offsets or (source.grouped and self._fraction is not None)):
                self._kept = RowCache.open(row_cache_path(self._folder, self._key), self._key)
        if isinstance(cached := self._kept, RowCache):
            self.book = LabelBook(cached.labels, self.book.reference)
            self.n_rows, self.n_features = cached.n_rows, cached.n_features
            source.dropped, source.filled = cached.dropped, cached.filled
            source.stage = "reading the cache"
            for batch in cached.iterate() if self._counts else ():
                interruption_point()
                self._totals = weight_totals(self._totals, batch.y, batch.importance)
            return
        self._reading = self._read()
        self._first = [next(self._reading)]
        late = not self._expected.issubset(self.book.labels)
        if self.classes.size < 2 or self._counts or late:
            for _ in self._reading:
                pass
            self._reading, self._first = None, []

    @property
    def classes(self) -> np.ndarray:
        return self.book.classes

    def recipe(self) -> dict[str, Any]:
        cached = self._kept.recipe if isinstance(self._kept, RowCache) else None
        return self.source.recipe() if cached is None else cached

    @property
    def feature_names(self) -> list[str] | None:
        named = self._kept if isinstance(self._kept, RowCache) else self.source
        return named.feature_names

    def stop_reading(self) -> None:
        """Stop all iterators: no thread reads the source any more."""
        for going_on in (self._row_batches, self._reading):
            if going_on is not None:
                going_on.close()

    def close(self) -> None:
        """Stop all iterators and remove temporary files."""
        self.stop_reading()
        if not self._owns_files:
            return
        self.source.kept = None
        if isinstance(self._kept, RowCache):
            self._kept.close()
            self.source.kept = None if self._temporary else self._kept.path
        if self._temporary is not None:
            self._temporary.cleanup()

    # First reading, which keeps the rows.

    def _writer(self) -> RowCacheWriter:
        if self._folder is not None:
            return RowCacheWriter(row_cache_path(self._folder, self._key), self._key)
        with interrupts_deferred():
            self._temporary = scratch_folder()
        return RowCacheWriter(Path(self._temporary.name) / "rows.rows", self._key)

    def _read(self) -> Generator[Batch, None, None]:
        """Yield every batch with numbers for its labels, and keep the rows if needed."""
        memory, needed = self.source.memory_bytes, self.source.memory_needed or 0
        # If the rows will not fit, do not fill the memory first.
        keeper = Keeper(self._writer, memory if needed <= memory else 0)
        rows = 0
        self._totals = np.zeros(0)
        self._groups.clear()
        offsets: list[np.ndarray] = []
        reading = in_background(self.source.batches())

        def where(row: int) -> str:
            reading.close()
            return self.source.where(given.first + row)

        try:
            for given in reading:
                if given.y is None:
                    name = self.source.name
                    raise DataError(f"{name} has no labels to train on.", code="no-labels")
                X, y = (
                    tidy(given.X) if self._lengths else given.X,
                    self.book.numbers(given.y, where),
                )
                batch = given._replace(X=X, y=y)
                self._totals = weight_totals(self._totals, y, batch.importance)
                if self._fraction is not None and batch.groups is not None:
                    self._groups.append(held_groups(batch.groups, self._fraction, self.seed))
                offsets += [] if batch.offset is None else [batch.offset]
                rows, self.n_features = rows + batch.size, max(self.n_features, batch.X.shape[1])
                check_weights(self.source, self.n_features, len(self.classes))
                with self._keeping(keeper):
                    if self.keep:
                        keeper.keep(batch)
                yield batch
            if rows == 0:
                raise DataError(f"{self.source.name} has no rows to train on.", code="no-rows")
            self.n_rows = rows
            self.offsets = np.concatenate(offsets) if offsets else None
            with self._keeping(keeper):
                if self.keep:
                    self._kept = keeper.finish(self.n_features, self.book.labels, self.source)
        except BaseException:
            reading.close()
            keeper.abort()
            raise

    @contextmanager
    def _keeping(self, keeper: Keeper) -> Iterator[None]:
        """Keep no rows if the disk is full and they can be read again in order."""
        try:
            yield
        except OSError as problem:
            keeper.abort()
            if self.shuffle or self._fraction is not None:
                said = f"Parsed rows cannot be kept in {self._folder or 'a temporary folder'}"
                raise LinsepError(
                    f"{said} ({problem.strerror})", "free some space there",
                    hint("choose another folder with {}", cache=None),
                    code="cannot-write", path=self._folder,
                ) from problem  # fmt: skip
            self.keep = False

    # Passes.

    def start(self, hold_out: bool = True) -> None:
        """Fix the classes, so that batches have class codes, and the rows that are held out."""
        self._class_importance = NO_IMPORTANCE
        if self._importance is not None:
            totals = np.bincount(self.book.codes, self._totals) if self._counts else None
            self._class_importance = self._importance(self.classes, totals)
        self._class_runs, self._hold, self._rows = ClassRuns(), None, None
        if hold_out and self._fraction is not None:
            masks = self._groups if self.source.grouped else None
            self._hold = HoldOut(self._fraction, self.classes.size, self.seed, masks=masks)

    def learn_all(self, state: Any, keeping: Any) -> None:
        self.start(hold_out=False)

    def resume(self, passes: int, arrays: dict[str, np.ndarray]) -> None:
        if passes:  # the first determines much
            for _ in self.row_batches(0):
                interruption_point()

    def row_batches(
        self, pass_number: int | None, start: int = 0, which: str = "learned"
    ) -> RowBatches:
        """Return rows in the order of a pass, or with None as given, of which nothing is noted:
        those that are "learned"; "held out", or "alone" without the others; or "all" with their
        own weights. :meth:`close` ends it.
        """
        if pass_number == 0:
            self.sample = Sample(self.classes.size)
        if self._rows is None and isinstance(self._kept, Batch):  # prepared once for all passes
            self._rows = as_rows(self._kept.X, self._unit)
            if self.classes.size > 2 and not self._lengths:
                self._rows = packed(self._rows)
        row_batches = self._prepared(pass_number, start, which)
        if isinstance(self._kept, RowCache):
            row_batches = in_background(row_batches)
        self._row_batches = row_batches
        return row_batches

    def held_out(self, alone: bool = False) -> RowBatches:
        """Return the held-out rows, ``alone`` or among the others."""
        return self.row_batches(None, which="alone" if alone else "held out")

    def training_rows(self, which: str = "learned") -> RowBatches | None:
        return None if self._kept is None else self.row_batches(None, which=which)

    def _prepared(self, pass_number: int | None, start: int, which: str) -> RowBatches:
        for ordered in self._in_order(pass_number or 0):
            numbered, first, places, order = ordered
            batch = numbered._replace(y=self.book.codes[numbered.y])
            if pass_number == 0:
                self._class_runs.see(batch.y)
                of_cache = None if self.offsets is None else self.offsets[places]
                self.sample.take(batch if of_cache is None else batch._replace(offset=of_cache))
            own = weights = batch.importance
            if self._class_importance.size:
                of_classes = self._class_importance[batch.y]
                weights = of_classes * own if own.size else of_classes
            if which != "all":
                if self._hold is not None:
                    held = self._hold.mask(batch.y, places, pass_number == 0)[order]
                    order = order[~held if which == "learned" else held]
                if weights.size:
                    order = order[weights[order] > 0]
            rows = self._rows
            if which == "alone" or (
                which == "held out" and own.size
            ):  # all with weights are scored
                batch, rows, first = batch.rows(order), None, None
                own, order = batch.importance, np.arange(batch.size)
            if start < order.size:
                rows = as_rows(batch.X, self._unit) if rows is None else rows
                weights = weights if which == "learned" else own  # in a score, classes have none
                width = batch.X.shape[1]
                yield RowBatch(rows, batch.y, weights, order[start:], width, first)
            start = max(0, start - order.size)

    def _in_order(self, pass_number: int) -> Iterator[Ordered]:
        """Yield batches in the order of a pass, whose y are numbers of labels; the first time while
        reading the source, whose labels and features are collected.
        """
        kept, shuffle = self._kept, self.shuffle and pass_number > 0
        how = self.seed, pass_number, self._class_runs.group_size
        if isinstance(kept, Batch):
            order = shuffled(kept.size, *how) if shuffle else np.arange(kept.size)
            yield kept, 0, slice(kept.size), order
            return
        if kept is not None and shuffle:
            for batch, numbers, order in shuffled_batches(kept, BATCH_BYTES, *how):
                yield batch, None, numbers, order
            return
        seen, known = 0, self.classes.size
        reading: Any = (self._reading or self._read()) if kept is None else kept.iterate()
        first, self._reading, self._first = self._first, None, []
        with closing(reading):
            for batch in chain(first, reading):
                if self.classes.size > known:
                    for _ in reading:
                        pass
                    raise StartAgain("a class was seen late")
                places = slice(seen, seen + batch.size)
                yield batch, batch.first, places, np.arange(batch.size)
                seen = places.stop
