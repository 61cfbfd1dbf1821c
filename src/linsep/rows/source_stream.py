"""Passes over a source: the first while reading it, later ones from memory or a row cache.

The order of rows is the same as for rows in memory, so the weights are bit-identical.
"""

import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from copy import copy
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

import linsep
from linsep._system.files import scratch_folder
from linsep._system.interrupts import interruption_point, interrupts_deferred
from linsep._system.threads import in_background
from linsep.batches import NO_IMPORTANCE, Batch, weight_totals
from linsep.compiled.rows import as_rows, packed
from linsep.errors import DataError, LinsepError, hint
from linsep.rows.arrays import (
    ClassRuns,
    HoldOut,
    RowBatch,
    RowStream,
    held_groups,
    shuffled,
    without_first,
)
from linsep.rows.label_book import LabelBook
from linsep.rows.stored import Keeper, Sample, StartAgain, shuffled_batches
from linsep.sources.base import Source
from linsep.sources.limits import check_weights
from linsep.sources.row_cache import (
    RowCache,
    RowCacheWriter,
    row_cache_path,
    row_folder,
    source_key,
)  # fmt: skip
from linsep.validation.checks import tidy

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
        if not self._owns_files:
            return
        self._open_cache()
        if isinstance(self._kept, RowCache):
            for batch in self._kept.iterate() if self._counts else ():
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

    @property
    def in_memory(self) -> bool:
        return isinstance(self._kept, Batch)

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
            self._kept = row_cache
            self.book = LabelBook(row_cache.labels, self.book.reference)
            self.n_rows, self.n_features = row_cache.n_rows, row_cache.n_features
            self.source.dropped, self.source.filled = row_cache.dropped, row_cache.filled
            self.source.stage = "reading the cache"

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
        try:
            for given in reading:
                X, y = tidy(given.X) if self._lengths else given.X, self._numbers(given, reading)
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

    def _numbers(self, batch: Batch, reading: Generator[Batch, None, None]) -> np.ndarray:
        if batch.y is None:
            raise DataError(f"{self.source.name} has no labels to train on.", code="no-labels")

        def where(row: int) -> str:
            reading.close()
            return self.source.where(batch.first + row)

        return self.book.numbers(batch.y, where)

    # Passes.

    def start(self) -> None:
        """Fix the classes, so that batches have class codes."""
        self._class_importance = NO_IMPORTANCE
        if self._importance is not None:
            totals = np.bincount(self.book.codes, self._totals) if self._counts else None
            self._class_importance = self._importance(self.classes, totals)
        self._class_runs, self._hold = ClassRuns(), None
        if self._fraction is not None:
            masks = self._groups if self.source.grouped else None
            self._hold = HoldOut(self._fraction, self.classes.size, self.seed, masks=masks)
        self._compile()

    def _compile(self) -> None:
        """Prepare rows in memory once, for all passes."""
        self._rows: Any = None
        if isinstance(self._kept, Batch):
            self._rows = as_rows(self._kept.X, self._unit)
            if self.classes.size > 2 and not self._lengths:
                self._rows = packed(self._rows)

    def hold_out(self, fraction: float | None) -> None:
        """Start with this share of the rows held out, None for none."""
        self._fraction = fraction
        self.start()

    def learn_all(self, state: Any, keeping: Any) -> None:
        self.hold_out(None)

    def resume(self, passes: int, arrays: dict[str, np.ndarray]) -> None:
        if passes:  # the first determines much
            for _ in self.row_batches(0):
                interruption_point()

    def row_batches(self, pass_number: int, start: int = 0) -> RowBatches:
        if pass_number == 0:
            self.sample = Sample(self.classes.size)
        return self._visited(pass_number, start)

    def held_out(self, alone: bool = False) -> RowBatches:
        """Return the held-out rows, ``alone`` or among the others."""
        return self._visited(which="alone" if alone else "held out")

    def training_rows(self) -> RowBatches | None:
        return None if self._kept is None else self._visited()

    def every_row(self) -> RowBatches | None:
        """Return all rows as given, used or not, with their own weights; None if not kept."""
        return None if self._kept is None else self._visited(which="all")

    def _visited(
        self, pass_number: int | None = None, start: int = 0, which: str = "learned"
    ) -> RowBatches:
        """Return rows in the order of a pass, by default as given; :meth:`close` ends it."""
        row_batches = without_first(start, (
            self._row_batch(*ordered, which, draw=pass_number == 0)
            for ordered in self._in_order(pass_number or 0)
        ))  # fmt: skip
        if isinstance(self._kept, RowCache):
            row_batches = in_background(row_batches)
        self._row_batches = row_batches
        return row_batches

    def _row_batch(
        self, batch: Batch, first: int | None, places: slice | np.ndarray, order: np.ndarray,
        which: str, draw: bool,
    ) -> RowBatch:  # fmt: skip
        """Return some rows of a batch; with ``draw``, take note of what the first pass sees."""
        batch = batch._replace(y=self.book.codes[batch.y])
        if draw:
            self._class_runs.see(batch.y)
            of_cache = None if self.offsets is None else self.offsets[places]
            self.sample.take(batch if of_cache is None else batch._replace(offset=of_cache))
        own = weights = batch.importance
        if self._class_importance.size:
            of_classes = self._class_importance[batch.y]
            weights = of_classes * own if own.size else of_classes
        if which != "all":
            if self._hold is not None:
                held = self._hold.mask(batch.y, places, draw)[order]
                order = order[~held if which == "learned" else held]
            if weights.size:
                order = order[weights[order] > 0]
        rows = self._rows
        if which == "alone" or (which == "held out" and own.size):  # all with weights are scored
            batch, rows, first = batch.rows(order), None, None
            own, order = batch.importance, np.arange(batch.size)
        if rows is None:
            rows = as_rows(batch.X, self._unit)
        weights = weights if which == "learned" else own  # in a score, classes have none
        return RowBatch(rows, batch.y, weights, order, batch.X.shape[1], first)

    def _in_order(self, pass_number: int) -> Iterator[Ordered]:
        """Yield batches in the order of a pass, whose y are numbers of labels."""
        kept, shuffle = self._kept, self.shuffle and pass_number > 0
        how = self.seed, pass_number, self._class_runs.group_size
        if isinstance(kept, Batch):
            order = shuffled(kept.size, *how) if shuffle else np.arange(kept.size)
            yield kept, 0, slice(kept.size), order
        elif kept is not None and shuffle:
            for batch, numbers, order in shuffled_batches(kept, BATCH_BYTES, *how):
                yield batch, None, numbers, order
        else:
            seen = 0
            for batch in self._streamed() if kept is None else kept.iterate():
                places = slice(seen, seen + batch.size)
                yield batch, batch.first, places, np.arange(batch.size)
                seen = places.stop

    def _streamed(self) -> Iterator[Batch]:
        """Yield batches while reading the source; the first time, collect labels and features."""
        known = self.classes.size
        reading, first = self._reading or self._read(), self._first
        self._reading, self._first = None, []
        with closing(reading):
            for numbered in chain(first, reading):
                if self.classes.size > known:
                    for _ in reading:
                        pass
                    raise StartAgain("a class was seen late")
                yield numbered
        self._compile()
