"""Rows from tables: CSV, TSV, JSON lines, Parquet, Arrow IPC files and folders of texts."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from copy import copy
from dataclasses import replace
from itertools import chain
from typing import Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from linsep._system.threads import in_background
from linsep.batches import Batch
from linsep.errors import DataError, NoRows, warn_caller
from linsep.sources.base import Source
from linsep.sources.feature_names import FeatureNames
from linsep.sources.formats import FILLED, format_by_name
from linsep.sources.remote.file import File, changed, located
from linsep.sources.tables.columns import (
    Columns,
    add_products,
    check_column,
    from_recipe,
    guess_columns,
    guess_formula,
    matching,
    to_recipe,
    word_counters,
)
from linsep.sources.tables.documents import Documents
from linsep.sources.tables.encoding import Encoder, Survey
from linsep.sources.tables.files import (
    FilesInOrder,
    all_dropped,
    check_separated,
    kinds_in,
    open_tables,
    rechunked,
)
from linsep.sources.tables.reading_options import ROLES, TableOptions
from linsep.sources.tables.spellings import converted
from linsep.sources.tables.table_file import (
    Kinds,
    Others,
    listed,
    numbers_in,
    rows_at_once,
    unknown_column,
)

_BATCH_VALUES = 1 << 21


class TableSource(FilesInOrder, Source):
    """Rows of one table in one or several files, read in batches with flat memory.

    X is a C-contiguous array when there is no text column, else a canonical csr_matrix; float32
    when the files hold nothing wider than float32 and at least one such column, else float64. The
    first file (with the recipe, if there is one) says what the columns mean; others must have the
    same columns, in any order.

    Scaling, means and the values of text columns are computed from all rows before the first batch.
    A table that takes up to a quarter of :attr:`memory_bytes` is kept in memory meanwhile, a larger
    one is read twice. The batches, and so all results, are the same either way.

    With a recipe, other columns are ignored, and unknown text values set no indicator and are
    counted in :attr:`unseen`. Without ``require_target``, Batch.y is None where labels are missing,
    and weights and groups are not read. ``given`` are fields of :class:`TableOptions`.
    """

    #: what :meth:`changed` does to each table
    _changes: Callable[[pa.Table], pa.Table] = staticmethod(lambda table: table)

    def __init__(
        self, paths: Sequence[str | File], *, format: str | None = None,
        batch_rows: int | None = None, recipe: dict[str, Any] | None = None,
        require_target: bool = True, **given: Any,
    ):  # fmt: skip
        self._given = options = TableOptions(**given)
        self._recipe_given, self._require_target = recipe, require_target
        self._words = word_counters(options.text)
        self.reading = options.or_of(recipe or {})
        self._as = [format, options.delimiter]
        opening = [path if isinstance(path, pa.Table) else located(path) for path in paths]
        mixed = recipe is None and require_target
        files = open_tables(opening, format, self.reading, mixed, require_target)
        super().__init__(partitioned(files, all_columns=recipe is not None))
        named = [path for path in opening if not isinstance(path, pa.Table)]
        kinds = {format or format_by_name(path) or "unknown" for path in named} or {"frame"}
        self.kind = " and ".join(sorted(kinds))
        self.paths = [path for file in self._files for path in file.files]
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        self.name = str(self._files[0].path) + more
        check_separated(self._files[0].path, kinds, options)
        self.by_recipe = recipe is not None
        if recipe is None:
            taken = ("target", "missing", "hash_bits", "exclude", "unlabeled", *ROLES)
            own = {name: getattr(options, name) for name in taken}
            columns = self._columns = Columns({}, {}, words=self._words, **own)
            self._guess(options, columns)
        else:
            columns = self._columns = from_recipe(recipe)
        self._batch_rows, formula = batch_rows, columns.formula
        self.counts = require_target and columns.successes is not None
        self.weighted = self.counts or (require_target and columns.weight is not None)
        self.offsets = columns.offset is not None or bool(formula and formula.offset)
        self.grouped = columns.group is not None
        first = None if self.by_recipe else self._files[0].path
        self._kinds = [kinds_in(f, columns, require_target, first) for f in self._files]
        self._encoder = Encoder(columns, require_target)
        self._moments = options.scale != "none" or columns.missing in ("mean", "indicator")
        self._surveyed = self.by_recipe or not (
            formula is not None
            or (columns.text and columns.hash_bits is None)
            or (columns.numeric and self._moments)
            or any(counter.learns for counter in columns.words.values())
        )
        self._units: dict[str, tuple[str, str]] = {}
        self._starts: list[int] = []  # number of the first row of every file reached so far

    def _guess(self, options: TableOptions, columns: Columns) -> None:
        path = self._files[0].path
        labeled = self._require_target and columns.successes is None
        if options.formula is not None:
            return guess_formula(self._files, columns, labeled, options)
        guess_columns(self._files, columns, labeled, options)
        if not (columns.numeric or columns.text or columns.words):
            raise DataError(
                f"{path} has no feature columns (its columns: {listed(self.column_names)})",
                "give a file with features", code="no-columns", path=path,
            )  # fmt: skip
        levels = options.reference_level
        for name in levels if isinstance(levels, dict) else ():
            if name not in columns.text:
                raise unknown_column(path, columns.text, name, "text column", "reference_level")
        add_products(columns, options.products, path)
        if columns.missing == "indicator":
            columns.text |= {name: {} for name in columns.numeric}

    @property
    def _rows_at_once(self) -> int:
        columns = self._columns
        width = max(len(columns.inputs), len(columns.numeric) + len(columns.text))
        return self._batch_rows or rows_at_once(width, _BATCH_VALUES // 4, _BATCH_VALUES)

    def check_files(self) -> None:
        for file in self._files:
            file.unchanged.check(file.path)

    def changed(self, name: str, change: Callable[[np.ndarray], np.ndarray] | str) -> "TableSource":
        """Return the same rows with other values of a column, where it has one.

        ``change`` maps the numbers of the column to new ones, or is the text of all rows.
        """
        found, before = copy(self), self._changes
        filled = self._columns.missing in FILLED

        def changes(table: pa.Table) -> pa.Table:
            table = before(table)
            old = table.column(name)
            if isinstance(change, str):
                cells = pa.repeat(pa.scalar(change), table.num_rows)
                cells = cells if filled else pc.if_else(old.is_valid(), cells, None)
            else:
                values = numbers_in(table, name)
                if filled:
                    values[np.isnan(values)] = self._columns.means.get(name, 0.0)
                new = np.where(np.isnan(values), np.nan, change(values))
                cells = pa.array(new, from_pandas=True)
            return table.set_column(table.column_names.index(name), name, cells)

        found._changes = changes
        return found

    def by_formula(self, **how: str) -> "TableSource":
        """Return rows of other values that a formula computes: derivatives in the column ``slope``,
        or the numbers in the column ``shown``.
        """
        found, formula = copy(self), copy(self._columns.formula)
        vars(formula).update(how)
        found._columns = replace(self._columns, formula=formula)
        return found

    def _read(self) -> Iterator[Batch]:
        return (batch for batch, _ in self._numbered())

    def _numbered(self) -> Iterator[tuple[Batch, np.ndarray]]:
        """Yield the rows, each with its number among all rows of the files."""
        kept, columns = self._survey(), self._columns
        self.stage = "reading"
        encoder = self._encoder = Encoder(columns, self._require_target)
        self.dropped, self.skipped, self.filled = 0, 0, {}
        sent, read = 0, 0
        # No name holds the iterator, so that an error closes it at once.
        for number, start, table in (
            in_background(self._every_table()) if kept is None
            else (kept.pop(0) for _ in range(len(kept)))  # so that rows are in memory about once
        ):  # fmt: skip
            table = self._changes(table)  # noqa: PLW2901
            # Files without rows begin where the next one does.
            self._starts += [read] * (number + 1 - len(self._starts))
            batch, rows = encoder.encode(table, self._files[number].places_from(start))
            if encoder.unseen and not self.by_recipe:
                raise changed(self.name)
            self.dropped += table.num_rows - rows.size
            if batch.size:
                yield batch._replace(first=sent), read + np.repeat(rows, 1 + self.counts)
                self.skipped += 0 if batch.unanswered is None else int(batch.unanswered.sum())
            sent, read = sent + batch.size, read + table.num_rows
        self._starts += [read] * (len(self._files) - len(self._starts))
        self.n_rows, self.filled = sent, dict(+encoder.filled)
        lost = encoder.met - encoder.kept - {None}
        if lost and self.warns and not self.by_recipe:
            self.warns = False  # in later passes
            names = f"{listed(sorted(lost))} in column '{columns.target}' of {self.name}"
            warn_caller(
                f"All rows of {names} miss a value and are left out, as if there were none."
            )
        if not read:
            raise NoRows(f"{self.name} has no rows: give a file with rows.")
        if not sent:
            raise all_dropped(self.name)

    def _survey(self) -> list[tuple[int, int, pa.Table]] | None:
        """Learn what must be known of all rows, unless it is known; the tables that were read for
        it, if they are few enough to be kept.
        """
        if self._surveyed:
            return None
        self.stage, options, rows = "surveying", self._given, 0
        encoder, at_once = Encoder(self._columns, self._require_target), self._rows_at_once
        survey = Survey(encoder, self.name, self._moments, options.min_count)
        kept: list[tuple[int, int, pa.Table]] | None = []
        held = 0
        with closing(in_background(self._every_table())) as tables:
            for number, start, table in tables:
                rows += survey.take(table, self._files[number].places_from(start))
                held += table.nbytes
                if kept is not None:
                    kept.append((number, start, table))
                if held > self.memory_bytes // 4:
                    kept = None
        if not rows:
            return kept
        survey.finish(options.scale != "none", options.reference_level)
        self._surveyed = True
        return kept if self._rows_at_once == at_once else None

    def _every_table(self) -> Iterator[tuple[int, int, pa.Table]]:
        for number, file in enumerate(self.each_file()):
            for start, table in self._tables(number):
                yield number, start, table
            for path in file.files:
                file.unchanged.check(path)
        # Arrow keeps what it freed for what it may read next; passes from a cache read nothing.
        pa.default_memory_pool().release_unused()

    def _place(self, row: int) -> str:
        number, at = self._file_of(row)
        return self._files[number].where(at)

    def _file_of(self, row: int) -> tuple[int, int]:
        number = max(0, bisect_right(self._starts, row) - 1)
        return number, row - (self._starts[number] if self._starts else 0)

    def numbers(self, rows: int) -> np.ndarray:
        if self.n_rows is not None and rows > self.n_rows:
            raise IndexError(f"{self.name} has {self.n_rows} rows, but not row {rows - 1}.")
        weighed = self._proving and self.weighted
        if not (self.dropped or weighed):
            return np.arange(rows) // (1 + self.counts)
        found, sent = list[np.ndarray](), 0
        for batch, numbers in copy(self)._numbered():
            found.append(numbers[np.asarray(batch.weights) > 0] if weighed else numbers)
            sent += found[-1].size
            if sent >= rows:
                break
        return np.concatenate(found)[:rows]

    def gaps(self, row: int) -> dict[str, dict[str, int]]:
        number, at = self._file_of(self.number(row) - 1)
        encoder = Encoder(self._columns, wanted=False)
        for start, table in self._tables(number):
            if at < start + table.num_rows:
                cells = self._changes(table.slice(at - start, 1))
                encoder.encode(cells, self._files[number].places_from(at))
                break
        return {"unknown_values": dict(encoder.unseen), "values_filled": dict(+encoder.filled)}

    def cells(self, columns: list[str]) -> Iterator[pa.Table]:
        cells = list[Iterator[pa.RecordBatch]]()
        for file in self._files:
            there = list(file.columns())
            asked = [p for one in columns for p in ([one] if one in there else one.split(","))]
            for name in (names := matching(asked, there)):
                check_column(file.path, there, name)
            cells.append(file.cells(names))
        return (pa.Table.from_batches([batch]) for batch in chain.from_iterable(cells))

    @property
    def feature_names(self) -> list[str] | None:
        columns = self._columns
        hashes = bool(columns.text) and columns.hash_bits is not None
        if hashes or not all(c.settings.vocabulary for c in columns.words.values()):
            return None
        return FeatureNames(to_recipe(columns)).all()[0]

    def feature(self, column: int) -> str:
        if not self._columns.words:
            return super().feature(column)
        return f"feature '{FeatureNames(to_recipe(self._columns)).of(column)[0]}'"

    @property
    def unseen(self) -> dict[str, int]:
        return dict(self._encoder.unseen)

    @property
    def ignored(self) -> dict[str, str]:
        columns, found = self._columns, dict[str, str]()
        known = {columns.target, *columns.beside, *columns.exclude}
        for file in self._files:
            for name in sorted(file.others.keys() - known - found.keys()):
                found[name] = f"{file.path} row {file.others[name]}"
        return found

    @property
    def memory_needed(self) -> int | None:
        columns, rows = self._columns, [file.n_rows for file in self._files]
        if columns.words or None in rows:
            return None
        values = len(columns.numeric) + len(columns.products) + len(columns.text)
        each = values * (np.dtype(columns.dtype).itemsize + 4 * bool(columns.text))  # and an index
        return each * (1 + self.counts) * sum(rows)

    @property
    def given_options(self) -> dict[str, Any]:
        """The options that are not at their defaults, as arguments of :func:`open_source`."""
        return self._given.given | ({"format": self._as[0]} if self._as[0] else {})

    @property
    def column_names(self) -> list[str]:
        return list(self._files[0].columns())

    def options(self) -> dict[str, Any]:
        words = {name: counter.parameters for name, counter in self._words.items()}
        return self._given.given | {
            "format": "table", "as": self._as, "recipe": self._recipe_given,
            **({"text": words} if words else {}),
        }  # fmt: skip

    def recipe(self) -> dict[str, Any]:
        """Return the roles of the columns, with the text values learned so far.

        ``numeric`` (of which ``bool``) lists columns in feature order, ``text`` maps column to
        value to feature (empty when hashed into 2**``hash_bits``), ``reference`` to the value that
        has none; ``means`` is filled for ``missing`` "mean", ``scale`` with mean and standard
        deviation. Reads the file when these are needed and not known yet.
        """
        self._survey()
        documents = {"documents": True} if isinstance(self._files[0], Documents) else {}
        return to_recipe(self._columns) | self.reading.recipe() | documents

    def of_groups(self) -> dict[str, Any]:
        return {"group": self._columns.group, "group_kind": self._columns.group_kind}

    def layout(self) -> dict[str, Any]:
        if self._surveyed:
            return self.recipe()
        unknown = {"missing": "error", "scale": {}}
        return to_recipe(self._columns) | self.reading.recipe() | unknown

    def _tables(self, number: int) -> Iterator[tuple[int, pa.Table]]:
        start = 0
        others = None if self.by_recipe else self._columns.exclude
        chunks = self._files[number].chunks(self._kinds[number], others)
        for table in rechunked(chunks, self._rows_at_once, bool(self._columns.words)):
            how = self._columns.converted, self.reading.spelling
            place = self._files[number].places_from(start)
            yield start, converted(table, *how, place, self._units)
            start += table.num_rows


class _Partitioned:
    """A table file in a folder whose name holds the value of a column, which is the last one."""

    def __init__(self, file: Any, values: dict[str, Any]):
        self._file, self._values = file, values

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def columns(self) -> dict[str, pa.DataType | None]:
        return self._file.columns() | {
            n: pa.scalar(value).type for n, value in self._values.items()
        }

    def sample(self) -> pa.RecordBatch:
        return self._with(self._file.sample(), list(self.columns()))

    def chunks(self, kinds: Kinds, others: Others = None) -> Iterator[pa.RecordBatch]:
        own = {name: kind for name, kind in kinds.items() if name not in self._values}
        return (self._with(batch, [*kinds]) for batch in self._file.chunks(own, others))

    def cells(self, names: list[str]) -> Iterator[pa.RecordBatch]:
        own = [name for name in names if name not in self._values]
        return (self._with(batch, names) for batch in self._file.cells(own))

    def _with(self, batch: pa.RecordBatch, names: list[str]) -> pa.RecordBatch:
        own = {n: pa.repeat(value, batch.num_rows) for n, value in self._values.items()}
        cells = {name: own[name] if name in own else batch.column(name) for name in names}
        return pa.RecordBatch.from_pydict(cells)


def partitioned(files: list[Any], all_columns: bool) -> list[Any]:
    """Return table files with the columns in the names of their folders, as in kind=a/0.parquet,
    without those of one value unless ``all_columns`` are wanted. Whole numbers are numbers.
    """
    each = list[dict[str, Any]]()
    for file in files:
        pairs = (part.partition("=") for part in str(file.path).split("/")[:-1])
        each.append({name: unquote(x) for name, sign, x in pairs if sign and name.isidentifier()})
    for name in dict.fromkeys(chain(*each)):
        values = [own.get(name) for own in each]
        whole = all(value is not None and value.isdecimal() for value in values)
        for own, value in zip(each, values, strict=True):
            own.pop(name, None)
            if value is not None and (all_columns or len({*values}) > 1):
                own[name] = int(value) if whole else value
    return [_Partitioned(file, own) if own else file for file, own in zip(files, each, strict=True)]
