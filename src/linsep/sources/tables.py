"""Rows from tables: CSV, TSV, JSON lines, Parquet and Arrow IPC files."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from linsep.errors import DataError, way
from linsep.sources.arrow_files import IpcFile, ParquetFile, TableFile
from linsep.sources.base import Batch, Source
from linsep.sources.csv_files import CsvFile
from linsep.sources.encode import Encoder
from linsep.sources.formats import format_by_name, unknown_format
from linsep.sources.json_files import JsonFile
from linsep.sources.moments import Moments
from linsep.sources.roles import (
    check_delimiter,
    check_options,
    check_target,
    check_text_columns,
    family_of,
    from_recipe,
    guess_columns,
    listed,
    to_recipe,
)

_BATCH_VALUES = 1 << 21


class TableSource(Source):
    """Rows of one table in one or several files, read in batches with flat memory.

    Numeric and bool columns are features in file order; text columns become indicator features
    (see :mod:`linsep.sources.encode`). X is a C-contiguous array when there is no text column,
    else a canonical csr_matrix; float32 when the files hold nothing wider than float32 and at
    least one such column, else float64. The first file (with the recipe, if there is one) says
    what the columns mean; others must have the same columns, in any order.

    Parameters
    ----------
    paths : list of Path
        Files named .csv .tsv .jsonl .ndjson .json .parquet .pq .arrow .feather .ipc; text
        may be compressed (.gz .bz2 .zst).
    target : str or None
        The label column; labels may be text, whole numbers, floats or bools. With a recipe, None
        takes the recipe's.
    missing : "error", "zero", "drop" or "mean"
        What to do with null, NaN and empty cells in features: refuse, take as zero, leave the row
        out, or take the column's mean over all files (read once more for it, before the first
        batch). In text columns "zero" and "mean" set no indicator. A missing label is refused
        unless "drop".
    hash_bits : int or None
        Hash text values into 2**hash_bits features (1 to 30) instead of learning them.
    exclude : str or list of str
        Column or columns to leave out.
    scale : bool
        Subtract the mean of each numeric column and divide by its standard deviation, over all
        files (read once more for them, before the first batch).
    format : str or None
        What the files are, of :data:`linsep.sources.formats.FORMATS`; None goes by their names.
    delimiter : str or None
        One character that separates the fields of CSV; None takes that of the recipe, else a comma,
        in TSV a tab.
    batch_rows : int or None
        Rows per batch; the last batch of each file may have fewer, and so may any with "drop".
        None fits batches to about two million values. Rows and columns come out the same.
    recipe : dict or None
        What :meth:`recipe` returned: columns mean exactly the same again, other columns are
        ignored, `missing`, `hash_bits`, `exclude` and `scale` are taken from it, and unknown text
        values set no indicator and are counted in :attr:`unseen`.
    require_target : bool
        False allows files without labels: Batch.y is then None, also where some are missing.

    Raises
    ------
    DataError
        When the files cannot be used as they are; here, and from :meth:`batches`.
    """

    def __init__(
        self,
        paths: list[Path],
        *,
        target: str | None,
        missing: str = "error",
        hash_bits: int | None = None,
        exclude: str | list[str] | None = None,
        scale: bool = False,
        format: str | None = None,
        delimiter: str | None = None,
        batch_rows: int | None = None,
        recipe: dict[str, Any] | None = None,
        require_target: bool = True,
    ):
        if not paths:
            raise DataError("There is no file to read: name at least one.")
        if batch_rows is not None and batch_rows < 1:
            raise DataError(f"batch_rows is {batch_rows}: give 1 or more.")
        check_options(missing, hash_bits)
        self.paths = [Path(path) for path in paths]
        others = len(paths) - 1
        self.name = str(self.paths[0]) + (f" and {others} more" if others else "")
        exclude = [exclude] if isinstance(exclude, str) else list(exclude or [])
        self._options = {
            "format": "table", "target": target, "missing": missing, "hash_bits": hash_bits,
            "exclude": exclude, "recipe": recipe, "as": [format, delimiter], "scale": scale,
        }  # fmt: skip
        self._delimiter = (recipe or {}).get("delimiter") if delimiter is None else delimiter
        check_delimiter(self._delimiter)
        self.kind = " and ".join(
            sorted({format or format_by_name(path) or "unknown" for path in self.paths})
        )
        self._files = [open_table(path, format, self._delimiter) for path in self.paths]
        if delimiter is not None and not any(isinstance(file, CsvFile) for file in self._files):
            raise DataError(
                f"{self.paths[0]} is {self.kind}, where nothing separates fields",
                way("leave out {}", delimiter=None),
            )
        self.by_recipe = recipe is not None
        self._scale = scale and recipe is None
        self._require_target = require_target
        self._others_allowed = recipe is not None or bool(exclude)
        if recipe is None:
            self._columns = guess_columns(self._files, target, exclude, require_target)
            self._columns.missing, self._columns.hash_bits = missing, hash_bits
            check_text_columns(self._files, self._columns)
        else:
            self._columns = from_recipe(recipe, target)
        self._kinds = [self._kinds_in(file) for file in self._files]
        self._encoder = Encoder(self._columns, not self.by_recipe, require_target)
        width = len(self._columns.numeric) + len(self._columns.text)
        self._batch_rows = batch_rows or max(64, min(65_536, _BATCH_VALUES // width))
        self._starts: list[int] = []  # number of the first row of every file reached so far
        self._running = 0

    def batches(self) -> Iterator[Batch]:
        """Yield the rows; see the class for X. Raises DataError naming file, row and column."""
        try:
            yield from self._batches()
        except DataError as problem:
            if not self.by_recipe:
                raise
            raise problem.of_model() from problem.__cause__

    def _batches(self) -> Iterator[Batch]:
        self._learn_moments()
        self._encoder.unseen, self.dropped = {}, 0
        first, some = 0, False
        for number, file in enumerate(self._files):
            self._running = number
            if number == len(self._starts):
                self._starts.append(first)
            for start, table in self._tables(number):
                some = True
                X, y, _ = self._encoder.encode(table, partial(_place, file, start))
                self.dropped += table.num_rows - X.shape[0]
                if X.shape[0]:
                    yield Batch(X, y, first)
                    first += X.shape[0]
        self.n_rows = first
        if not some:
            raise DataError(f"{self.name} has no rows: give a file with rows.")
        if first == 0:
            raise DataError(
                f"{self.name} has a missing value in every row, so that dropping them leaves none",
                way("choose {}", missing="zero"),
                way("{}", missing="mean"),
            )

    def where(self, row: int) -> str:
        """Return "file.csv line 18" or "file.parquet row 17" for the row of that number.

        Text formats count lines of the file (the header is line 1), others rows from 1. Rows left
        out by "drop" have no number but their lines count. Reads the file again up to the row;
        IndexError beyond the last.
        """
        number = max(0, bisect_right(self._starts, row) - 1)
        before = self._starts[number] if self._starts else 0
        for file_number in range(number, len(self._files)):
            file = self._files[file_number]
            for start, table in self._tables(file_number):
                kept = self._encoder.kept(table, partial(_place, file, start))
                rows = np.arange(table.num_rows) if kept is None else np.flatnonzero(kept)
                if row - before < rows.size:
                    return file.where(start + int(rows[row - before]))
                before += rows.size
        raise IndexError(f"{self.name} has {before} rows, no row {row}.")

    @property
    def feature_names(self) -> list[str] | None:
        """Column names and ``column=value`` names seen so far; None when values are hashed."""
        return self._columns.names

    @property
    def unseen(self) -> dict[str, int]:
        """Values of the last reading, by text column, that the recipe does not have."""
        return dict(self._encoder.unseen)

    @property
    def ranges(self) -> dict[str, float]:
        """How far the values of each numeric column are apart, of the rows read so far."""
        with np.errstate(all="ignore"):
            apart = (self._encoder.highs - self._encoder.lows).tolist()
        return dict(zip(self._columns.numeric, apart, strict=True))

    @property
    def size(self) -> int:
        """Bytes on disk, as they were when the source was made."""
        return sum(file.size for file in self._files)

    @property
    def position(self) -> int:
        """Bytes on disk read so far, about: text is counted as it is read ahead."""
        done = sum(file.size for file in self._files[: self._running])
        return done + self._files[self._running].position

    def options(self) -> dict[str, Any]:
        """The arguments that change what rows come out."""
        return self._options

    def recipe(self) -> dict[str, Any]:
        """What the columns mean, with the text values learnt so far.

        ``numeric`` (of which ``bool``) lists columns in feature order, ``text`` maps column to
        value to feature (empty when hashed into 2**``hash_bits``); ``means`` is filled for
        ``missing`` "mean". Reads the file when these are needed and not known yet.
        """
        self._learn_moments()
        return to_recipe(self._columns) | {"delimiter": self._delimiter}

    def _tables(self, number: int) -> Iterator[tuple[int, pa.Table]]:
        """Yield tables of one file, each with the number of its first row in the file."""
        start = 0
        chunks = self._files[number].chunks(self._kinds[number], self._others_allowed)
        for table in _rechunk(chunks, self._batch_rows):
            yield start, table
            start += table.num_rows

    def _learn_moments(self) -> None:
        """Read all rows for means and spreads, if they are needed and not known yet."""
        known, names = self._columns, list(self._columns.numeric)
        means = known.missing == "mean" and not known.means
        scale = self._scale and not known.scale
        if not names or not (means or scale):
            return
        moments = Moments(len(names))
        for number, file in enumerate(self._files):
            self._running = number
            for start, table in self._tables(number):
                moments.add(self._encoder.numbers(table, partial(_place, file, start)))
        for name, count in zip(names, moments.counts, strict=True):
            if means and not count:
                raise DataError(
                    f"{self.name}, column '{name}' has no value at all and so no mean",
                    way("leave it out with {}", exclude=[name]),
                )
        if means:
            known.means = dict(zip(names, moments.means.tolist(), strict=True))
        if scale:
            pairs = np.column_stack([moments.means, moments.spreads]).tolist()
            known.scale = dict(zip(names, pairs, strict=True))

    def _kinds_in(self, file: TableFile) -> dict[str, str]:
        """Return the columns to read from `file` and their kinds, or say what does not fit."""
        columns = self._columns
        found = file.columns()
        kinds = columns.numeric | dict.fromkeys(columns.text, "text")
        model = "the model was learnt from" if self.by_recipe else f"{self.paths[0]} has"
        absent = [f"'{name}'" for name in kinds if name not in found]
        if absent and not file.sparse:
            names, them = ", ".join(absent[:20]), "it" if len(absent) == 1 else "them"
            raise DataError(f"{file.path} has no column {names}, which {model}: add {them}.")
        if not self.by_recipe:
            known = {*kinds, *columns.exclude, columns.target}
            for name in found:
                if name not in known:
                    raise DataError(
                        f"{file.path} has a column '{name}' that {self.paths[0]} lacks",
                        "add it there",
                        way("leave it out with {}", exclude=[name]),
                    )
        if self._require_target or columns.target in found:
            if self.by_recipe and columns.target not in found:
                raise DataError(
                    f"{file.path} has no column '{columns.target}', the labels that the model "
                    f"learnt, only {listed(list(found))}",
                    "add it",
                    "rename one",
                )
            check_target(file.path, found, columns.target, [])
            assert columns.target is not None
            kind = columns.target_kind
            kinds[columns.target] = "number" if kind in {"int", "float", None} else kind
        for name, kind in kinds.items():
            stored = found.get(name)
            if stored is not None and not self._fits(name, family_of(stored), kind):
                raise DataError(
                    f"{file.path}, column '{name}' holds {stored} where {model} {kind}: convert it."
                )
        return kinds

    def _fits(self, name: str, family: str | None, kind: str) -> bool:
        mixed = {family, kind} == {"number", "bool"} and name != self._columns.target
        return family == kind or mixed


def _place(file: TableFile, start: int, row: int) -> str:
    return file.where(start + row)


def open_table(path: Path, format: str | None = None, delimiter: str | None = None) -> TableFile:
    """Open a file of a format, by default as its name says; DataError where that is no table's."""
    format = format or format_by_name(path)
    if format in {"csv", "tsv"}:
        return CsvFile(path, delimiter or ("," if format == "csv" else "\t"))
    if format == "jsonl":
        return JsonFile(path)
    if format == "parquet":
        return ParquetFile(path)
    if format == "arrow":
        return IpcFile(path)
    raise unknown_format(path)


def load_table(
    paths: str | Path | Iterable[str | Path], *, target: str | None = None, **options: Any
) -> tuple[np.ndarray | sp.csr_matrix, np.ndarray | None, list[str] | None]:
    """Read whole tables into memory.

    Parameters
    ----------
    paths : one path or several
    target : str or None
        The label column; None needs ``require_target=False``.
    **options : the other parameters of :class:`TableSource`

    Returns
    -------
    X : array or csr_matrix of shape (rows, features)
    y : array of shape (rows,) or None
    feature_names : list of str, or None when text values are hashed

    Raises DataError as :class:`TableSource` does.
    """
    given = [paths] if isinstance(paths, str | Path) else list(paths)
    source = TableSource([Path(path) for path in given], target=target, **options)
    batches = list(source.batches())
    labels = [batch.y for batch in batches if batch.y is not None]
    y = np.concatenate(labels) if len(labels) == len(batches) else None
    if not sp.issparse(batches[0].X):
        return np.concatenate([batch.X for batch in batches]), y, source.feature_names
    width = batches[-1].X.shape[1]
    for batch in batches:
        batch.X.resize(batch.X.shape[0], width)
    X = sp.vstack([batch.X for batch in batches], format="csr")
    X.has_canonical_format = True
    return X, y, source.feature_names


def _rechunk(chunks: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.Table]:
    """Yield the rows in tables of `rows` rows, the last with what is left."""
    held: list[pa.RecordBatch] = []
    count = 0
    for chunk in chunks:
        held.append(chunk)
        count += chunk.num_rows
        if count < rows:
            continue
        table = pa.Table.from_batches(held)
        whole = count - count % rows
        for start in range(0, whole, rows):
            yield table.slice(start, rows)
        held, count = table.slice(whole).to_batches(), count - whole
    if count:
        yield pa.Table.from_batches(held)
