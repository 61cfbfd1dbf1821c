"""Shards of files: row groups of Parquet, ranges of bytes of text split at lines, or whole files.

The starts of shards depend only on the files and the size of a shard, never on the workers. Workers
get the location of a shard and read the file themselves.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from socket import gethostname
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq
import scipy.sparse as sp

from linsep._system.files import process_mark
from linsep.batches import Batch, joined
from linsep.errors import DataError, LinsepError, NoRows
from linsep.sources.base import Source
from linsep.sources.fingerprints import Unchanged
from linsep.sources.formats import codec_of, format_of
from linsep.sources.opening import open_source
from linsep.sources.remote.file import RemoteFile, located
from linsep.sources.tables.reading_options import ReadingOptions
from linsep.sources.tables.table import TableSource

#: bytes of a shard by default: of text as it is, of Parquet without compression
SHARD_BYTES = 64 << 20
#: formats whose rows are lines, and the ones whose first line names the columns
LINES, HEADED = ("svmlight", "vw", "csv", "tsv", "jsonl"), ("csv", "tsv")
_COPIED = 8 << 20
SECOND = 1_000_000_000
_MARK = b"\xef\xbb\xbf"


class Shard(NamedTuple):
    """The location of some rows: a file from byte (for Parquet: row group) ``start`` to ``stop``,
    both 0 for a whole file. A range of bytes stands for the lines that begin in it. ``size`` is the
    number of bytes of the file, and ``written`` when it was modified, in ns; None for remote files,
    which keep their own state.
    """

    path: str | RemoteFile
    format: str
    start: int = 0
    stop: int = 0
    size: int | None = None
    written: int | None = None

    def __str__(self) -> str:
        if not self.stop:
            return str(self.path)
        if self.format == "parquet":
            last = self.stop - 1
            groups = f"groups {self.start:,} to {last:,}" if last > self.start else (
                f"group {self.start:,}"
            )  # fmt: skip
            return f"{self.path}, row {groups}"
        return f"{self.path}, bytes {self.start:,} to {self.stop:,}"


class Reading(NamedTuple):
    """Options for reading the rows of all shards."""

    recipe: dict[str, Any]
    options: ReadingOptions = ReadingOptions()


class RowGroups(TableSource):
    """Some row groups of a Parquet file."""

    def __init__(self, shard: Shard, recipe: dict[str, Any]):
        super().__init__([Path(str(shard.path))], target=None, format="parquet", recipe=recipe)
        for file in self._files:
            file.row_groups = range(shard.start, shard.stop)


class ShardRows(NamedTuple):
    """The rows read from a shard.

    Attributes
    ----------
    batch : Batch; sparse rows may have fewer columns than other shards
    dropped : int, rows left out for missing values
    filled : dict, missing values that were replaced, by column
    """

    batch: Batch
    dropped: int = 0
    filled: dict[str, int] = {}  # noqa: RUF012


def shards_of(source: Source, shard_bytes: int = SHARD_BYTES) -> list[Shard]:
    """Return the shards of the files of a source, in the order of their rows."""
    if not source.paths or source.kind in ("folder", "rows"):
        raise DataError(
            f"{source.name} cannot be split into shards: use files of svmlight text, Vowpal "
            "Wabbit text, CSV, JSON lines, Parquet or Arrow.", code="unsupported",
        )  # fmt: skip
    found: list[Shard] = []
    declared = source.options().get("as", [None])[0]
    # The first byte identifies lines without rows, and characters of several bytes.
    cut = not (isinstance(source, TableSource) and source.reading.of_whole_files)
    for path in source.paths:
        kind = source.kind if source.kind in ("svmlight", "vw") else format_of(path, declared)
        if isinstance(path, RemoteFile):
            found.append(Shard(path, kind))
            continue
        about = path.stat()
        spans = [(0, 0)]
        if kind == "parquet":
            spans = _row_groups(path, shard_bytes)
        elif kind in LINES and cut and codec_of(path) is None:
            starts = range(0, about.st_size, shard_bytes)
            spans = [(a, min(a + shard_bytes, about.st_size)) for a in starts] or spans
        found += [Shard(str(path), kind, *s, about.st_size, about.st_mtime_ns) for s in spans]
    return found


def _row_groups(path: Path, shard_bytes: int) -> list[tuple[int, int]]:
    """Return runs of row groups of about ``shard_bytes``."""
    metadata = pq.read_metadata(str(path))
    spans, first, taken = [], 0, 0
    for group in range(metadata.num_row_groups):
        taken += metadata.row_group(group).total_byte_size
        if taken >= shard_bytes:
            spans.append((first, group + 1))
            first, taken = group + 1, 0
    if first < metadata.num_row_groups or not spans:
        spans.append((first, metadata.num_row_groups))
    return spans


def read_shard(shard: Shard, reading: Reading) -> ShardRows:
    """Return the rows of a shard; DataError names the file, and the line or the range."""
    parts: list[Batch] = []
    dropped, filled = 0, dict[str, int]()
    with _opened(shard, reading) as source:
        try:
            if source is not None:
                parts = list(source.batches())
                dropped, filled = source.dropped, dict(source.filled)
        except NoRows:
            dropped = 0 if source is None else source.dropped
    if not parts:
        return ShardRows(Batch(sp.csr_matrix((0, 0)), np.zeros(0)), dropped)
    if any(part.y is None for part in parts):
        raise DataError(f"{shard} has no labels.", code="no-labels", path=shard.path)
    return ShardRows(joined(parts), dropped, filled)


@contextmanager
def _opened(shard: Shard, reading: Reading) -> Iterator[Source | None]:
    """Open the rows of a shard as a source; None if no line begins in it.

    A range of lines is copied to a temporary file of the worker.
    """
    how: dict[str, Any] = {
        "recipe": reading.recipe, "format": shard.format, "max_line": reading.options.max_line,
    }  # fmt: skip
    if shard.format in HEADED:
        how |= reading.options.of_csv
    with _on_this_machine():
        unchanged = Unchanged([located(shard.path)])
        _check_file(shard)
    try:
        if not shard.stop:
            files: Any = [shard.path]
            yield _of_data(open_source(files, **how))
        elif shard.format == "parquet":
            with _named(shard, str(shard.path), lambda: _rows_before(shard)):
                yield _of_data(RowGroups(shard, reading.recipe))
        else:
            with TemporaryDirectory(prefix=process_mark()) as folder:
                path = Path(folder) / "shard"
                begins = _copied(shard, path, reading.options)
                before = partial(_lines_before, shard, begins, reading.options)
                with _named(shard, str(path), before):
                    yield None if begins is None else _of_data(open_source(path, **how))
    except OSError as error:
        reason = error.strerror or error
        raise DataError(
            f"{shard} cannot be read ({reason}): check the disk.",
            code="cannot-read", path=shard.path,
        ) from error  # fmt: skip
    with _on_this_machine():
        unchanged.check(located(shard.path))


@contextmanager
def _on_this_machine() -> Iterator[None]:
    """Add the machine to errors about files that differ."""
    try:
        yield
    except DataError as error:
        raise error.at(f"On the machine {gethostname()}, ") from error.__cause__


def _check_file(shard: Shard) -> None:
    """Raise DataError if the file is missing, or differs from the file that was split."""
    if isinstance(shard.path, RemoteFile):
        shard.path.check()  # compares it with what the client saw
        return
    try:
        now = os.stat(shard.path)
    except OSError as error:
        raise DataError(
            f"{shard.path} cannot be read ({error.strerror}): all machines need the same files "
            "under the same paths.", code="cannot-read", path=shard.path,
        ) from error  # fmt: skip
    times = now.st_mtime_ns, shard.written or 0
    if any(time % SECOND == 0 for time in times):  # as scp and tar keep it
        times = times[0] // SECOND, times[1] // SECOND
    if now.st_size != shard.size or times[0] != times[1]:
        raise DataError(
            f"{shard} has another size or modification time than when it was split into shards: "
            "all machines need the same, unchanged files, copied with their times (cp -p, "
            "rsync -t).", code="file-changed", path=shard.path,
        )  # fmt: skip


def _of_data(source: Source) -> Source:
    """Let the errors of a source refer to training data, not to the data of a model."""
    source.by_recipe = False
    return source


@contextmanager
def _named(shard: Shard, name: str, before: Any) -> Iterator[None]:
    """Name the file, and the line or row in it, in errors about the rows of a shard."""
    place = re.compile(re.escape(name) + r"(?: (line|row) (\d+))?")

    def said(found: re.Match) -> str:
        if not found[2]:
            return str(shard)
        return f"{shard.path} {found[1]} {int(found[2]) + before()}"

    try:
        yield
    except LinsepError as error:
        hints = (h if not isinstance(h, str) else place.sub(said, h) for h in error.hints)
        fields = error.fields | {"path": shard.path}
        if error.row is not None:
            fields["row"] = error.row + before()
        raise DataError(place.sub(said, error.message), *hints, code=error.code, **fields) from None


def _rows_before(shard: Shard) -> int:
    metadata = pq.read_metadata(str(shard.path))
    return sum(metadata.row_group(group).num_rows for group in range(shard.start))


def _lines_before(shard: Shard, begins: int | None, options: ReadingOptions) -> int:
    """Return how many lines to add to the number of a line in the copy of a range."""
    with open(str(shard.path), "rb") as file:
        lines, left = 0, begins or 0
        while left and (block := file.read(min(left, _COPIED))):
            lines, left = lines + block.count(b"\n"), left - len(block)
        return lines - (1 if begins and _has_header(shard, options) else 0)


def _has_header(shard: Shard, options: ReadingOptions) -> bool:
    return shard.format in HEADED and options.header is not False


def _copied(shard: Shard, path: Path, options: ReadingOptions) -> int | None:
    """Copy the lines that begin in a range to a file, behind the header if there is one.

    Returns where they begin; None if there is none.
    """
    with open(str(shard.path), "rb") as file, open(path, "wb") as copy:
        header = b""
        if shard.start and _has_header(shard, options):
            while not header.strip(b"\r\n \t" + _MARK):
                header = file.readline()
        begins, end = _line_start(file, shard.start), _line_start(file, shard.stop)
        if begins == end:
            return None
        copy.write(header)
        file.seek(begins)
        quotes, left, blank = 0, end - begins, True
        while left and (block := file.read(min(left, _COPIED))):
            copy.write(block)
            blank = blank and not block.strip(b"\r\n \t" + _MARK)
            quotes, left = quotes + block.count(b'"'), left - len(block)
    if blank and not _has_header(shard, options):
        return None
    if quotes % 2 and options.quotes is not False and shard.format in HEADED:
        raise DataError(
            f"{shard} ends within quotes: a field with line breaks cannot be split; convert the "
            "table to Parquet with `linsep convert`.", code="unsupported", path=shard.path,
        )  # fmt: skip
    return begins


def _line_start(file: Any, byte: int) -> int:
    """Return where the first line begins at or behind a byte."""
    if not byte:
        return 0
    file.seek(byte - 1)
    file.readline()
    return int(file.tell())
