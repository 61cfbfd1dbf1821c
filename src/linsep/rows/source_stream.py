"""Passes over a source: the first while reading it, later ones from memory or a row cache.

The order of rows is the same as for rows in memory, so the weights are bit-identical.
"""

import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np

import linsep
from linsep._system.files import scratch_folder
from linsep._system.interrupts import interruption_point, interrupts_deferred
from linsep._system.threads import chained, in_background
from linsep.batches import NO_IMPORTANCE, Batch, weight_totals
from linsep.compiled.rows import as_rows
from linsep.errors import DataError
from linsep.rows.arrays import (
    ArrayStream,
    ClassRuns,
    HoldOut,
    RowBatch,
    RowStream,
    held_groups,
    without_first,
)  # fmt: skip
from linsep.rows.label_book import LabelBook
from linsep.rows.stored import Keeper, Sample, StartAgain, shuffled_batches
from linsep.sources.base import Source
from linsep.sources.limits import check_weights
from linsep.sources.row_cache import (
    RowCache,
    RowCacheError,
    RowCacheWriter,
    row_cache_path,
    row_folder,
    source_key,
)  # fmt: skip
from linsep.validation.sparse import tidy

BATCH_BYTES = 16 << 20
RowBatches = Generator[RowBatch, None, None]


class SourceStream(RowStream):
    """Passes over the rows of a source.

    Parameters
    ----------
    source : Source
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
        self.row_cache: RowCache | None = None
        self._fraction, self._importance, self._counts = fraction, importance, counts
        self._expected, self._unit, self._lengths = set(expected), unit, lengths
        self._temporary: tempfile.TemporaryDirectory | None = None
        self._folder: Path | None = None
        self._key: dict[str, Any] = {}
        # what was read: y are the numbers of labels, which the book turns into codes
        self._memory: Batch | None = None
        self._fed: ArrayStream | None = None
        self._reading: Generator[Batch, None, None] | None = None
        self._row_batches_of: RowBatches | None = None
        self._totals = np.zeros(0)
        self._groups: list[np.ndarray] = []
        #: of all rows once they have been read, None without groups; 8 bytes per row in memory
        self.offsets: np.ndarray | None = None
        self._hold: HoldOut | None = None
        self._owns_files = True

    def again(self, *, shuffle: bool, unit: bool, fraction: float | None) -> "SourceStream":
        """Return a stream of the same rows, which are in memory or in a row cache after the first
        pass, without parsing again. Close it before this one.

        Parameters
        ----------
        shuffle, unit, fraction : see :class:`SourceStream`
        """
        stream = copy(self)
        stream.shuffle, stream._unit, stream._fraction = shuffle, unit, fraction
        stream._fed = stream._row_batches_of = None
        stream._owns_files = False
        return stream

    def begin(self) -> None:
        """Read the first rows, or all if classes or their counts are needed before learning."""
        if not self._owns_files:
            return
        self._open_cache()
        if self.row_cache is not None:
            for batch in self.row_cache.iterate(BATCH_BYTES) if self._counts else ():
                interruption_point()
                self._totals = weight_totals(self._totals, batch.y, batch.importance)
            return
        reading = self._read()
        self._reading = chained(next(reading), reading)
        late = not self._expected.issubset(self.book.labels)
        if self.classes.size < 2 or self._counts or late:
            for _ in self._reading:
                pass
            self._reading = None

    @property
    def classes(self) -> np.ndarray:
        """Labels so far, in the order of their codes."""
        return self.book.classes

    @property
    def in_memory(self) -> bool:
        """Whether the rows are in memory, as they may be after the first pass."""
        return self._memory is not None

    def recipe(self) -> dict[str, Any]:
        """Return the recipe of the source; see :meth:`linsep.sources.base.Source.recipe`."""
        cached = None if self.row_cache is None else self.row_cache.recipe
        return self.source.recipe() if cached is None else cached

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the features, if the format has any."""
        return (self.source if self.row_cache is None else self.row_cache).feature_names

    def stop_reading(self) -> None:
        """Stop all iterators: no thread reads the source any more."""
        for going_on in (self._row_batches_of, self._reading):
            if going_on is not None:
                going_on.close()

    def close(self) -> None:
        """Stop all iterators and remove temporary files."""
        self.stop_reading()
        if not self._owns_files:
            return
        self.source.kept = None
        if self.row_cache is not None:
            self.row_cache.close()
            self.source.kept = None if self._temporary else self.row_cache.path
        if self._temporary is not None:
            self._temporary.cleanup()

    # First reading, which keeps the rows.

    def _open_cache(self) -> None:
        # Other versions of linsep may parse differently.
        options = self.source.options() | {"version": linsep.__version__}
        if self.source.cache is not None and self.source.paths:
            self._folder = row_folder(self.source.cache)
        if self._folder is None:
            return
        self._key = source_key(self.source.paths, options)
        if self.source.offsets or (self.source.grouped and self._fraction is not None):
            return  # caches have neither offsets nor groups
        row_cache = RowCache.open(row_cache_path(self._folder, self._key), self._key)
        if row_cache is not None:
            self.row_cache = row_cache
            self.book = LabelBook(row_cache.labels, self.book.reference)
            self.n_rows, self.n_features = row_cache.n_rows, row_cache.n_features
            self.source.dropped, self.source.filled = row_cache.dropped, row_cache.filled
            self.source.stage = "reading the cache"

    def _writer(self) -> RowCacheWriter:
        if self._folder is None:
            try:
                with interrupts_deferred():
                    self._temporary = scratch_folder()
            except OSError as problem:
                raise RowCacheError(
                    f"Rows cannot be kept in a temporary folder ({problem.strerror}): free space "
                    "there, or choose a cache folder.", code="cannot-write",
                ) from None  # fmt: skip
            return RowCacheWriter(Path(self._temporary.name) / "rows.rows", self._key)
        return RowCacheWriter(row_cache_path(self._folder, self._key), self._key)

    def _read(self) -> Generator[Batch, None, None]:
        """Yield every batch with numbers for its labels, and keep the rows if needed."""
        memory, needed = self.source.memory_bytes, self.source.memory_needed or 0
        # If the rows will not fit, do not fill the memory first.
        keeper = Keeper(self._writer, memory if needed <= memory else 0) if self.keep else None
        rows = 0
        self._totals = np.zeros(0)
        self._groups.clear()
        offsets: list[np.ndarray] = []
        reading = in_background(self.source.batches())
        try:
            for given in reading:
                batch = given._replace(X=tidy(given.X)) if self._lengths else given
                numbers = self._numbers(batch, reading)
                self._totals = weight_totals(self._totals, numbers, batch.importance)
                if self._fraction is not None and batch.groups is not None:
                    self._groups.append(held_groups(batch.groups, self._fraction, self.seed))
                offsets += [] if batch.offset is None else [batch.offset]
                rows, self.n_features = rows + len(numbers), max(self.n_features, batch.X.shape[1])
                check_weights(self.source, self.n_features, len(self.classes))
                if keeper is not None and not self._try_keep(keeper.keep, batch):
                    keeper = None
                yield batch._replace(y=numbers)
            if rows == 0:
                raise DataError(f"{self.source.name} has no rows to train on.", code="no-rows")
            self.n_rows = rows
            self.offsets = np.concatenate(offsets) if offsets else None
            if keeper is not None:
                self._try_keep(self._store, keeper)
        except BaseException:
            reading.close()
            if keeper is not None:
                keeper.abort()
            raise

    def _numbers(self, batch: Batch, reading: Generator[Batch, None, None]) -> np.ndarray:
        if batch.y is None:
            raise DataError(f"{self.source.name} has no labels to train on.", code="no-labels")

        def where(row: int) -> str:
            reading.close()
            return self.source.where(batch.first + row)

        return self.book.numbers(batch.y, where)

    def _try_keep(self, keep: Callable[[Any], None], what: Any) -> bool:
        """Keep rows; return False if the disk is full and they can be read again in order."""
        try:
            keep(what)
        except RowCacheError:
            if self.shuffle or self._fraction is not None:
                raise
            self.keep = False
        return self.keep

    def _store(self, keeper: Keeper) -> None:
        kept = keeper.finish(self.n_features, self.source)
        if isinstance(kept, RowCache):
            self.row_cache = kept
        else:
            self._memory = kept._replace(y=self.book.numbers(kept.y))

    # Passes.

    def start(self) -> None:
        """Fix the classes, so that batches have class codes."""
        k = self.classes.size
        self._class_importance = NO_IMPORTANCE
        if self._importance is not None:
            totals = np.bincount(self.book.codes, self._totals) if self._counts else None
            self._class_importance = self._importance(self.classes, totals)
        weights = NO_IMPORTANCE if self._memory is None else self._memory.importance
        self._hold = None
        if self._fraction is not None:
            masks = self._groups if self.source.grouped else None
            self._hold = HoldOut(self._fraction, k, self.seed, weights, masks)
        self._class_runs = ClassRuns()
        if self._memory is not None:
            X, codes = self._memory.X, self.book.codes[self._memory.y]
            self._fed = ArrayStream(
                X, codes, self._weights(codes, weights), self.seed, self.shuffle, self._hold,
                self._unit,
            )  # fmt: skip
            if k > 2 and not self._lengths:
                self._fed.pack()

    def hold_out(self, fraction: float | None) -> None:
        """Start with this share of the rows held out, None for none."""
        self._fraction = fraction
        self.start()

    def learn_all(self, state: Any, keeping: Any) -> None:
        """Stop holding rows out, in passes that begin again."""
        self.hold_out(None)

    def resume(self, passes: int, arrays: dict[str, np.ndarray]) -> None:
        """Read the rows again if the first pass is over, for everything that it determines."""
        if passes:
            for _ in self.row_batches(0):
                interruption_point()

    def row_batches(self, pass_number: int, start: int = 0) -> Iterator[RowBatch]:
        """Yield the training rows in the order of a pass, without the first ``start``."""
        if pass_number == 0:
            self.sample = Sample(self.classes.size)
        if self._fed is not None:
            if self._memory is not None and pass_number == 0:
                self.sample.take(self._coded(self._memory))
            return self._fed.row_batches(pass_number, start)
        if self.row_cache is not None:
            if self.shuffle and pass_number:
                return self._cached(without_first(start, self._shuffled(pass_number)))
            return self._cached(without_first(start, self._sequential(draw=pass_number == 0)))
        if pass_number and self.shuffle:
            raise DataError(
                f"{self.source.name} cannot be visited in random order without a cache: choose a "
                "cache folder with free space, or do not shuffle.", code="unsupported",
            )  # fmt: skip
        return self._watched(without_first(start, self._streamed(draw=pass_number == 0)))

    def held_out(self) -> Iterator[RowBatch]:
        """Yield the held-out rows in the given order."""
        if self._fed is not None:
            return self._fed.held_out()
        return self._cached(self._sequential("held out"))

    def training_rows(self) -> Iterator[RowBatch] | None:
        """Return the training rows in the given order; None if they were not kept."""
        if self._fed is not None:
            return self._fed.training_rows()
        return self._cached(self._sequential()) if self.row_cache is not None else None

    def every_row(self) -> Iterator[RowBatch] | None:
        """Return all rows in given order, used or not, with their own weights (without class
        weights); None if they were not kept.
        """
        if self._memory is not None and self._fed is not None:
            weights = self._memory.importance
            return (batch._replace(importance=weights) for batch in self._fed.every_row())
        return self._cached(self._sequential("all")) if self.row_cache is not None else None

    def _cached(self, row_batches: RowBatches) -> RowBatches:
        return self._watched(in_background(row_batches))

    def _watched(self, row_batches: RowBatches) -> RowBatches:
        """Yield the batches; :meth:`close` ends the iteration."""
        self._row_batches_of = row_batches
        return row_batches

    def _weights(self, codes: np.ndarray, own: np.ndarray) -> np.ndarray:
        """Return class weights times row weights; empty if all are 1."""
        if not self._class_importance.size:
            return own
        of_classes = self._class_importance[codes]
        return of_classes * own if own.size else of_classes

    def _coded(self, batch: Batch) -> Batch:
        """Return a batch with class codes for the numbers of its labels."""
        return batch._replace(y=self.book.codes[batch.y])

    def _of_batch(self, batch: Batch, first: int, draw: bool, which: str = "learned") -> RowBatch:
        """Return the rows of a batch in order, and with ``draw`` what the first pass learns of it;
        ``first`` rows came before it.
        """
        order = np.arange(batch.size)
        if draw:
            self._class_runs.see(batch.y)
            self.sample.take(batch)
        if self._hold is not None and which != "all":
            mask = self._hold.mask(batch.y, first, draw)
            order = order[mask if which == "held out" else ~mask]
        return self._row_batch(batch, order, batch.first, which)

    def _row_batch(
        self, batch: Batch, order: np.ndarray, first: int | None, which: str = "learned"
    ) -> RowBatch:
        weights = self._weights(batch.y, batch.importance)
        if weights.size and which != "all":
            order = order[weights[order] > 0]
        if which != "learned":  # in a score, classes have no weights
            weights = batch.importance
        rows = as_rows(batch.X, self._unit)
        return RowBatch(rows, batch.y, weights, order, batch.X.shape[1], first)

    def _streamed(self, draw: bool) -> RowBatches:
        """Yield batches while reading the source; the first time, collect labels and features."""
        known, seen = self.classes.size, 0
        reading, self._reading = self._reading or self._read(), None
        with closing(reading):
            for numbered in reading:
                if self.classes.size > known:
                    for _ in reading:
                        pass
                    raise StartAgain("a class was seen late")
                yield self._of_batch(self._coded(numbered), seen, draw)
                seen += numbered.size
        if self._memory is not None:
            self.start()  # rows that fit in memory are now streamed as an array

    def _sequential(self, which: str = "learned", draw: bool = False) -> RowBatches:
        assert self.row_cache is not None
        for numbered in self.row_cache.iterate(BATCH_BYTES):
            batch = self._coded(numbered)
            if self.offsets is not None:  # which samples have
                at = slice(batch.first, batch.first + batch.size)
                batch = batch._replace(offset=self.offsets[at])
            yield self._of_batch(batch, batch.first, draw, which)

    def _shuffled(self, pass_number: int) -> RowBatches:
        assert self.row_cache is not None
        how = self.seed, pass_number, self._class_runs.group_size
        for batch, numbers, order in shuffled_batches(self.row_cache, BATCH_BYTES, *how):
            held = None if self._hold is None else self._hold.drawn()[numbers[order]]
            learned = order if held is None else order[~held]
            yield self._row_batch(self._coded(batch), learned, None)
