"""Shards of files: row groups of Parquet, ranges of bytes of text split at lines, or whole files.

The starts of shards depend only on the files and the size of a shard, never on the workers. Workers
get the location of a shard and read the file themselves.
"""

import os
import re
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from socket import gethostname
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq
import scipy.sparse as sp
from fsspec.utils import read_block

from linsep._system import scratch_folder
from linsep.batches import Batch, joined
from linsep.errors import DataError, LinsepError, NoRows
from linsep.sources import Source, TableSource, open_source
from linsep.sources.formats import codec_of, format_of
from linsep.sources.remote import RemoteFile
from linsep.sources.tables import ReadingOptions

#: bytes of a shard by default: of text as it is, of Parquet without compression
SHARD_BYTES = 64 << 20
#: formats whose rows are lines, and the ones whose first line names the columns
LINES, HEADED = ("svmlight", "vw", "csv", "tsv", "jsonl"), ("csv", "tsv")
SECOND = 1_000_000_000


class Shard(NamedTuple):
    """The location of some rows: a file from byte (for Parquet: row group) ``start`` to ``stop``,
    both 0 for a whole file. A range of bytes stands for the lines that begin in it. ``size`` is the
    number of bytes of the file, and ``written`` when it was modified, in ns; remote files keep
    their own state.
    """

    path: str | RemoteFile
    format: str
    start: int = 0
    stop: int = 0
    size: int = 0
    written: int = 0

    def __str__(self) -> str:
        if not self.stop:
            return str(self.path)
        what, last = ("row groups", 1) if self.format == "parquet" else ("bytes", 0)
        return f"{self.path}, {what} {self.start:,} to {self.stop - last:,}"


class Reading(NamedTuple):
    """Options for reading the rows of all shards."""

    recipe: dict[str, Any]
    options: ReadingOptions = ReadingOptions()


class RowGroups(TableSource):
    """Some row groups of a Parquet file."""

    def __init__(self, shard: Shard, recipe: dict[str, Any]):
        super().__init__([Path(str(shard.path))], target=None, format="parquet", recipe=recipe)
        self._files[0].row_groups = range(shard.start, shard.stop)


class ShardRows(NamedTuple):
    """The rows read from a shard.

    Attributes
    ----------
    batch : Batch; sparse rows may have fewer columns than other shards
    dropped : int, rows left out for missing values
    filled : dict, missing values that were replaced, by column
    """

    batch: Batch = Batch(sp.csr_matrix((0, 0)), np.zeros(0))
    dropped: int = 0
    filled: dict[str, int] = {}  # noqa: RUF012


def shards_of(source: Source, shard_bytes: int = SHARD_BYTES) -> list[Shard]:
    """Return the shards of the files of a source, in the order of their rows."""
    if not source.paths or source.kind == "folder":
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
    metadata, edges, taken = pq.read_metadata(str(path)), [0], 0
    for group in range(metadata.num_row_groups):
        taken += metadata.row_group(group).total_byte_size
        if taken >= shard_bytes or group + 1 == metadata.num_row_groups:
            edges.append(group + 1)
            taken = 0
    return [*pairwise(edges)] or [(0, 0)]


def read_shard(shard: Shard, reading: Reading) -> ShardRows:
    """Return the rows of a shard; DataError names the file, and the line or the range."""
    _check_file(shard)
    with scratch_folder() as folder:
        try:
            found = _read(shard, reading, Path(folder) / "shard")
        except OSError as error:
            raise DataError(
                f"{shard} cannot be read ({error.strerror or error}): check the disk.",
                code="cannot-read", path=shard.path,
            ) from error  # fmt: skip
    _check_file(shard)
    return found


def _check_file(shard: Shard) -> None:
    """Raise DataError if the file is missing, or differs from the file that was split."""
    if isinstance(shard.path, RemoteFile):
        shard.path.check()  # compares it with what the client saw
        return
    size = time = 0
    with suppress(OSError):
        about = os.stat(shard.path)
        size, time = about.st_size, about.st_mtime_ns
    unit = 1 if time % SECOND and shard.written % SECOND else SECOND  # as scp and tar keep it
    if (size, time // unit) != (shard.size, shard.written // unit):
        raise DataError(
            f"On the machine {gethostname()}, {shard} cannot be read, or has another size or "
            "modification time than when it was split into shards: all machines need the same, "
            "unchanged files under the same paths, copied with their times (cp -p, rsync -t).",
            code="file-changed", path=shard.path,
        )  # fmt: skip


def _read(shard: Shard, reading: Reading, copy: Path) -> ShardRows:
    """Read the rows of a shard; a range of lines is copied to a file, behind the header."""
    how: dict[str, Any] = {
        "recipe": reading.recipe, "format": shard.format, "max_line": reading.options.max_line,
    }  # fmt: skip
    headed = shard.format in HEADED and reading.options.header is not False
    path: Any = shard.path
    if shard.format in HEADED:
        how |= reading.options.of_csv
    if shard.stop and shard.format != "parquet":
        with open(path, "rb") as file:
            header = next((line for line in file if line.strip()), b"")
            start = max(0, shard.start - 1)
            text = read_block(file, start, shard.stop - 1 - start, b"\n")
        if shard.format in HEADED and reading.options.quotes is not False and text.count(b'"') % 2:
            raise DataError(
                f"{shard} ends within quotes: a field with line breaks cannot be split; convert "
                "the table to Parquet with `linsep convert`.", code="unsupported", path=path,
            )  # fmt: skip
        if not text.strip():
            return ShardRows()
        path = copy
        path.write_bytes(header + text if headed and shard.start else text)
    try:
        groups = shard.stop and shard.format == "parquet"
        source = RowGroups(shard, reading.recipe) if groups else open_source([path], **how)
        source.by_recipe = False  # errors refer to training data, not to the data of a model
        parts = list(source.batches())
    except NoRows:
        return ShardRows(dropped=source.dropped)
    except LinsepError as error:
        if not shard.stop:
            raise
        raise _named(shard, str(path), error, headed) from None
    return ShardRows(joined(parts), source.dropped, dict(source.filled))


def _named(shard: Shard, name: str, error: LinsepError, headed: bool) -> DataError:
    """Return an error that names the file, and the line or row in it."""
    before = _rows_before(shard, headed)

    def said(found: re.Match) -> str:
        return f"{shard.path} {found[1]} {int(found[2]) + before}" if found[2] else str(shard)

    message = re.sub(rf"{re.escape(name)}(?: (line|row) (\d+))?", said, error.message)
    fields = error.fields | {"path": shard.path, "row": error.row and error.row + before}
    return DataError(message, *error.hints, code=error.code, **fields)


def _rows_before(shard: Shard, headed: bool) -> int:
    """Return how many rows, or lines, of the file come before those of a shard."""
    if shard.format == "parquet":
        metadata = pq.read_metadata(str(shard.path))
        return sum(metadata.row_group(group).num_rows for group in range(shard.start))
    lines, left = int(shard.start > 0 and not headed), max(0, shard.start - 1)
    with open(str(shard.path), "rb") as file:
        while left and (block := file.read(min(left, 1 << 20))):
            lines, left = lines + block.count(b"\n"), left - len(block)
    return lines
