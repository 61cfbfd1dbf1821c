"""The files of a table: how they are opened, which columns are read, and in what pieces."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa

from linsep.errors import DataError, NoRows, hint
from linsep.sources.formats import format_by_name, unknown_format
from linsep.sources.remote.file import File
from linsep.sources.tables.arrow_files import FrameFile, IpcFile, ParquetFile
from linsep.sources.tables.columns import (
    Columns,
    check_may_become,
    check_target,
    family_of,
)
from linsep.sources.tables.csv import CsvFile
from linsep.sources.tables.documents import Documents
from linsep.sources.tables.frames import with_missing
from linsep.sources.tables.json_lines import JsonFile
from linsep.sources.tables.reading_options import AS_USUAL, ReadingOptions
from linsep.sources.tables.table_file import TableFile, listed

#: bytes of rows from which on fewer of them make a table
MOST_BYTES = 1 << 25
#: the same where words are counted, while other rows are read and learned
MOST_TEXT = 1 << 23


def open_table(
    path: File, format: str | None = None, options: ReadingOptions = AS_USUAL
) -> TableFile:
    """Open a file of a format, by default inferred from its name."""
    kind = format or format_by_name(path)
    if kind not in _OPENED:
        raise unknown_format(path)
    return _OPENED[kind](path, options)


#: what opens a file of each format
_OPENED: dict[str | None, Callable[[File, ReadingOptions], TableFile]] = {
    "csv": CsvFile, "tsv": lambda path, options: CsvFile(path, options, "tsv"),
    "jsonl": lambda path, options: JsonFile(path, options.max_line),
    "parquet": lambda path, _: ParquetFile(path), "arrow": lambda path, _: IpcFile(path),
    "folder": lambda path, options: Documents([path], max_bytes=options.max_line),
}  # fmt: skip


def open_tables(
    paths: list[Any], format: str | None, options: ReadingOptions, mixed: bool, labeled: bool = True
) -> list[TableFile]:
    """Open files as :func:`open_table` does, and Arrow tables; texts are one table, ``mixed`` if
    they are learned.
    """
    if any(isinstance(path, pa.Table) for path in paths):
        marks = options.null_cells()
        return [FrameFile(with_missing(path, marks) if marks else path) for path in paths]
    documents = [p for p in paths if (format or format_by_name(p)) == "folder"]
    others = [open_table(p, format, options) for p in paths if p not in documents]
    if not documents:
        return others
    return [Documents(documents, mixed, options.max_line, labeled), *others]


def check_separated(path: File, kinds: Iterable[str], options: ReadingOptions) -> None:
    """Raise DataError for a delimiter without CSV files."""
    marks = {"null_values"} if "frame" in kinds else set[str]()
    given = {name: x for name, x in options.of_csv.items() if x is not None and name not in marks}
    if given and not {"csv", "tsv"} & {*kinds}:
        raise DataError(
            f"{path} is {' and '.join(sorted({*kinds}))}, which has no delimiters",
            hint("leave out {}", **given), code="conflict", path=path,
        )  # fmt: skip


def kinds_in(
    file: TableFile, columns: Columns, require_target: bool, first: File | None
) -> dict[str, str]:
    """Return the columns to read from `file` and their kinds; ``first`` is the file whose columns
    all have, None if a model defines them.
    """
    beside, inputs, found = columns.beside, columns.inputs, file.columns()
    model = "the model was trained on" if first is None else f"{first} has"
    wanted = require_target or columns.weight in found
    kinds = {
        name: "text" if what == "groups" else "number"
        for name, what in beside.items() if wanted or what == "offsets"
    } | inputs  # fmt: skip
    if (require_target and columns.successes is None) or columns.target in found:
        if columns.target is None:
            check_target(file.path, found, None)
        kind = columns.target_kind
        kinds[str(columns.target)] = "number" if kind in {"int", "float", None} else kind
    absent = [name for name in kinds if name not in found]
    if absent and isinstance(file, JsonFile):
        later = file.later_types(absent)
        absent = [name for name in absent if name not in later]
    if absent:
        name, others = absent[0], f", only {listed(found)}"
        skip = hint("if other lines come before the names, skip them with {}", skip_rows=1)
        raise file.error(
            f" has no column '{name}', which {model}{others * (name == columns.target)}",
            "add it", *[skip] * (isinstance(file, CsvFile) and len(found) < len(kinds)),
            code="unknown-column", column=name,
        )  # fmt: skip
    for name in found.keys() - {*kinds, *beside, *columns.exclude} if first else ():
        raise file.error(
            f" has a column '{name}' that {first} does not have", "add it there",
            hint("leave it out with {}", exclude=[name]), code="mixed-formats", column=name,
        )  # fmt: skip
    written = {*columns.categorical, *columns.converted, columns.group}
    for name, kind in kinds.items():
        stored, how = found.get(name), columns.converted.get(name, "categorical")
        if name in written and not file.typed:
            kinds[name] = file.kind_as_written(name)
            if kinds[name] == "number" and name not in columns.converted:
                kinds[name] = "digits"
        elif name in written and stored is not None and name != columns.group:
            check_may_become(file, name, stored, how.partition("=")[0])
        elif stored is not None and name not in written and not _fits(stored, kind, name in inputs):
            said = f", column '{name}' holds {stored}, but {model} {kind}"
            raise file.error(said, "convert it", code="column-type", column=name)
    return kinds


def _fits(stored: pa.DataType, kind: str, is_input: bool) -> bool:
    decoded = stored if is_input or not pa.types.is_dictionary(stored) else stored.value_type
    family = family_of(decoded)
    mixed = {family, kind} == {"number", "bool"} and is_input
    return family == kind or mixed or pa.types.is_null(stored)  # no value is of any kind


def rechunked(
    chunks: Iterable[pa.RecordBatch], rows: int, words: bool = False
) -> Iterator[pa.Table]:
    """Yield tables of `rows` rows, or fewer if they are large; ``words`` are to be counted."""
    held: list[pa.RecordBatch] = []
    count = size = 0
    for chunk in chunks:
        start = 0
        while start < chunk.num_rows:
            held.append(chunk.slice(start, rows - count))
            added = held[-1].num_rows
            start, count, size = start + added, count + added, size + held[-1].nbytes
            if count == rows or size > (MOST_TEXT if words else MOST_BYTES):
                yield pa.Table.from_batches(held)
                held, count, size = [], 0, 0
    if count:
        yield pa.Table.from_batches(held)


class FilesInOrder:
    """Reads the files of a table one after the other."""

    stage = "reading"
    doing: Callable[[], str] | None = None

    def __init__(self, files: list[Any]):
        self._files, self._running = files, 0
        self.name = str(files[0].path)

    @property
    def size(self) -> int:
        return sum(file.size for file in self._files)

    @property
    def position(self) -> int:
        *done, running = self._files[: self._running + 1]
        return int(sum(file.size for file in done) + running.position)

    def each_file(self) -> Iterator[Any]:
        for number, file in enumerate(self._files):
            self._running = number
            yield file


def all_dropped(name: str) -> NoRows:
    return NoRows(
        f"{name} has a missing value in every row, so dropping such rows leaves no rows",
        hint("choose {}", missing="zero"), hint("{}", missing="mean"),
        "leave out columns without values, which `linsep describe` shows",
    )  # fmt: skip
