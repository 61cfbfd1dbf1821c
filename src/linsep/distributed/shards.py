"""Shards of files: row groups of Parquet, ranges of bytes of text split at lines, or whole files.

The starts of shards depend only on the files and the size of a shard, never on the workers. Workers
get the location of a shard and read the file themselves.
"""

import os
import re
from collections.abc import Iterable, Iterator
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
from linsep._system.interrupts import interruption_point
from linsep.batches import Batch, joined
from linsep.errors import DataError, LinsepError, NoRows
from linsep.separability.data import exact_batches
from linsep.sources import fingerprints
from linsep.sources.base import Source
from linsep.sources.fingerprints import Unchanged
from linsep.sources.formats import codec_of, format_of
from linsep.sources.opening import open_source
from linsep.sources.remote.file import RemoteFile, located
from linsep.sources.tables.parquet import columns_in
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
    number of bytes of the file, and ``seen`` its fingerprint when it was split; None for remote
    files, which keep their own state.
    """

    path: str | RemoteFile
    format: str
    start: int = 0
    stop: int = 0
    size: int | None = None
    seen: "Fingerprint | None" = None

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


class Fingerprint(NamedTuple):
    """The state of a file that all machines must agree on before they read a shard.

    Attributes
    ----------
    written : int, when the file was modified, in ns
    begin, end : int, the bytes of the file that are the shard
    whole : bool, whether all of these are hashed, or a sample
    hash : str, of these bytes and of the head and tail of the file, which determine how it is read
    """

    written: int
    begin: int
    end: int
    whole: bool
    hash: str


class Reading(NamedTuple):
    """Options for reading the rows of all shards."""

    recipe: dict[str, Any]
    options: ReadingOptions = ReadingOptions()


class RowGroups(TableSource):
    """Some row groups of a Parquet file."""

    def __init__(self, shard: Shard, recipe: dict[str, Any]):
        super().__init__([Path(str(shard.path))], target=None, format="parquet", recipe=recipe)
        for file in self._files:
            file.row_groups = range(shard.start, shard.stop)  # type: ignore[attr-defined]


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


def shards_of(source: Source, shard_bytes: int = SHARD_BYTES, whole: bool = False) -> list[Shard]:
    """Return the shards of the files of a source, in the order of their rows; ``whole``: with
    fingerprints of all bytes, not of a sample.
    """
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
        size = path.stat().st_size
        shard = Shard(str(path), kind, size=size)
        spans: Iterable[tuple[int, int, int, int]] = [(0, 0, 0, size)]
        if kind == "parquet":
            spans = _row_groups(path, size, shard_bytes)
        elif kind in LINES and cut and codec_of(path) is None:
            starts = range(0, size, shard_bytes)
            ranges = [(a, min(a + shard_bytes, size)) for a in starts]
            spans = [(a, b, a, b) for a, b in ranges] or spans
        for start, stop, begin, end in spans:
            interruption_point()
            seen = _fingerprint(path, begin, end, whole)
            found.append(shard._replace(start=start, stop=stop, seen=seen))
    return found


def _row_groups(path: Path, size: int, shard_bytes: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield runs of row groups of about ``shard_bytes``, and their range of bytes in the file (the
    whole file if unknown).
    """
    metadata = pq.read_metadata(str(path))
    first = taken = 0
    for group in range(metadata.num_row_groups):
        taken += metadata.row_group(group).total_byte_size
        if taken >= shard_bytes:
            yield first, group + 1, *_span(metadata, first, group + 1, size)
            first, taken = group + 1, 0
    if first < metadata.num_row_groups or not first:
        yield first, metadata.num_row_groups, *_span(metadata, first, metadata.num_row_groups, size)


def _span(metadata: pq.FileMetaData, first: int, stop: int, size: int) -> tuple[int, int]:
    """Return where the columns of row groups begin and end in a file of some size."""
    groups = map(metadata.row_group, range(first, stop))
    parts = [part for group in groups for part in columns_in(group)]
    if not parts:
        return 0, size
    begin, end = min(begin for begin, _ in parts), max(end for _, end in parts)
    return (begin, end) if 0 <= begin <= end <= size else (0, size)  # damaged


def _fingerprint(path: str | Path, begin: int, end: int, whole: bool) -> Fingerprint:
    """Return the fingerprint of some bytes of a file; raise OSError if it cannot be read."""
    written = os.stat(path).st_mtime_ns
    hashed = fingerprints.hash_of_sample(path, begin, end)
    if whole:
        hashed += fingerprints.hash_of_bytes(path, begin, end)
    return Fingerprint(written, begin, end, whole, hashed)


def read_shard(shard: Shard, reading: Reading, exact: bool = False) -> ShardRows:
    """Return the rows of a shard; DataError names the file, and the line or the range.

    ``exact``: with the exact numbers of the file, as Python numbers where float64 is too short;
    rows of weight 0 are left out, and weights are not returned.
    """
    parts: list[Batch] = []
    dropped, filled = 0, dict[str, int]()
    with _opened(shard, reading) as source:
        try:
            if source is not None:
                parts = list(exact_batches(source) if exact else source.batches())
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
        shard.path.stat()  # which compares it with what the client saw
        return
    try:
        size = os.stat(shard.path).st_size
        other = _other(shard) if size == shard.size else None
    except OSError as error:
        raise DataError(
            f"{shard.path} cannot be read ({error.strerror}): all machines need the same files "
            "under the same paths.", code="cannot-read", path=shard.path,
        ) from error  # fmt: skip
    if size != shard.size:
        raise DataError(
            f"{shard.path} has {size:,} bytes, but had {shard.size:,} when it was split into "
            "shards: all machines need the same, unchanged files.",
            code="file-changed", path=shard.path,
        )  # fmt: skip
    if other is not None:
        raise DataError(
            f"{shard} has {other} than when it was split into shards: all machines need the same, "
            "unchanged files, copied with their times (cp -p, rsync -t).",
            code="file-changed", path=shard.path,
        )  # fmt: skip


def _other(shard: Shard) -> str | None:
    """Return what has changed in a shard since it was split; None if nothing has."""
    if (then := shard.seen) is None:
        return None
    now = _fingerprint(str(shard.path), then.begin, then.end, then.whole)
    if now.hash != then.hash:
        return "other bytes"
    times = now.written, then.written
    if any(time % SECOND == 0 for time in times):  # as scp and tar keep it
        times = now.written // SECOND, then.written // SECOND
    return "another modification time" if times[0] != times[1] else None


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
