"""Arrow IPC files, which are also called Feather version 2, and Arrow streams.

Arrow allocates whatever a file declares: a few kilobytes can demand all memory. So the sizes that
compressed buffers declare are read first, from messages (flatbuffers) that Arrow does not expose.
"""

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa

from linsep.errors import DataError
from linsep.sources.limits import check_growth
from linsep.sources.remote.file import File
from linsep.sources.tables.table_file import (
    SAMPLE_ROWS,
    UNCOMPRESSED,
    Kinds,
    Others,
    TableFile,
    check_ends,
    no_rows,
    opened_raw,
    reading,
    typed_columns,
)

_OLD_FEATHER = b"FEA1"
#: what marks the beginning of a message
_CONTINUES = b"\xff\xff\xff\xff"
#: kinds of messages: values of a dictionary, and rows
_DICTIONARY, _ROWS = 2, 3
#: what an Arrow file begins with, and how it ends: the length of its footer, and that again
_MAGIC = b"ARROW1"
_END = struct.Struct("<i6s")
#: fields of a footer: where the dictionaries and the record batches are
_DICTIONARIES, _BATCHES = 2, 3
_FIELD = struct.Struct("<H")


class IpcFile(TableFile):
    """An Arrow IPC file (also called Feather version 2) or an Arrow stream.

    A record batch is read whole, in the columns that are needed: a file that is one huge batch
    takes as much memory. It is not mapped, because truncating a mapped file would end the process.
    """

    #: the first record batch, which may be large, from :meth:`head` to :meth:`chunks`
    _first: pa.RecordBatch | None = None

    def columns(self) -> dict[str, pa.DataType | None]:
        """Return names and types from the file's schema."""
        with self._open(None) as (schema, _):
            return typed_columns(self.path, schema)

    def head(self) -> pa.RecordBatch:
        """Return the first rows of all columns."""
        with self._open(None) as (schema, batches):
            for number, batch in enumerate(batches):
                if batch.num_rows:
                    self._first = None if number else batch
                    return batch.slice(0, SAMPLE_ROWS)
            return no_rows(schema)

    def chunks(self, kinds: Kinds, others: Others = None) -> Iterator[pa.RecordBatch]:
        """Yield the columns, one record batch of the file after the other."""
        first, self._first, self._sample = self._first, None, None
        self._done = 0.0
        with self._open(list(kinds), first) as (_, batches):
            for batch in batches:
                self.unchanged.check(self.path)
                yield batch.select(list(kinds))

    @contextmanager
    def _open(
        self, names: list[str] | None, first: pa.RecordBatch | None = None
    ) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
        with reading(self.path, "an Arrow file", self.unchanged), self.path.open("rb") as start:
            magic = start.read(len(_MAGIC))
        if magic[:4] == _OLD_FEATHER:
            raise DataError(
                f"{self.path} has the old Feather format: write it again as Arrow.",
                code="wrong-format",
                path=self.path,
            )
        if magic != _MAGIC:
            with (
                reading(self.path, "an Arrow file", self.unchanged),
                self._opened() as (raw, checks),
            ):
                stream = pa.ipc.open_stream(raw)
                yield stream.schema, self._stream(stream, raw, checks)
            return
        check_ends(self.path, _MAGIC, "an Arrow file")
        with (
            reading(self.path, "an Arrow file", self.unchanged),
            self._opened(known=0 if first is None else 1) as (raw, checks),
        ):
            file = pa.ipc.open_file(raw)
            schema = file.schema
            if names is not None and set(schema.names) - set(names):  # Arrow copies what it chooses
                chosen = [i for i, name in enumerate(schema.names) if name in set(names)]
                options = pa.ipc.IpcReadOptions(included_fields=chosen)
                file = pa.ipc.open_file(raw, options=options)
            yield schema, self._file(file, checks, first)

    @contextmanager
    def _opened(self, known: int = 0) -> Iterator[tuple[Any, Iterator[None]]]:
        """Open the bytes of the file, of which some record batches are known; also yields checks,
        one before each record batch.
        """
        with opened_raw(self.path) as raw, self.path.open("rb") as other:
            yield raw, checked_batches(self.path, other, self.size, known)

    def _file(
        self, file: Any, checks: Iterator[None], first: pa.RecordBatch | None
    ) -> Iterator[pa.RecordBatch]:
        for number in range(file.num_record_batches):
            if next(checks, "none"):
                raise OSError("its end names fewer record batches than it has")
            if number == 0 and first is not None:
                yield first
                continue
            # Arrow trusts what it reads; one wrong text offset would end the process.
            batch = file.get_batch(number)
            batch.validate(full=True)
            self._done = (number + 1) / file.num_record_batches
            yield batch

    def _stream(
        self, stream: pa.ipc.RecordBatchStreamReader, raw: pa.NativeFile, checks: Iterator[None]
    ) -> Iterator[pa.RecordBatch]:
        while True:
            next(checks, None)
            batch = next(stream, None)
            if batch is None:
                return
            batch.validate(full=True)
            self._done = raw.tell() / self.size
            yield batch


def checked_batches(path: File, file: BinaryIO, size: int, known: int = 0) -> Iterator[None]:
    """Yield after each record batch that was checked, with the dictionaries before it; the first
    ``known`` record batches were checked before.

    Each compressed buffer begins with its size after decompression, which is all that is read.
    Raises DataError where a record batch becomes far too large, and OSError as :func:`messages`.
    """
    passed = 0
    for start, kind, buffers, _ in messages(file, size):
        swollen = compressed = 0
        for offset, length in buffers if passed >= known else ():
            if length >= 8 and start + offset + length <= size:
                file.seek(start + offset)
                swollen += max(0, int.from_bytes(file.read(8), "little", signed=True))
                compressed += length
        check_growth(path, max(1, compressed), swollen, UNCOMPRESSED)
        if kind == _ROWS:
            passed += 1
            yield


def _placed_messages(file: BinaryIO, size: int, field: int) -> list[int]:
    """Return where messages of a kind start in an Arrow file, from its footer; empty for a stream,
    which has no footer, or if it cannot be read.
    """
    file.seek(max(0, size - _END.size))
    end = file.read(_END.size)
    if len(end) < _END.size or not end.endswith(_MAGIC):
        return []
    length = _END.unpack(end)[0]
    if not 0 < length <= size - _END.size:
        return []
    file.seek(size - _END.size - length)
    footer = file.read(length)
    try:
        listed = _field(footer, struct.unpack_from("<I", footer)[0], field)
        vector = _follow(footer, listed)
        count = struct.unpack_from("<I", footer, vector)[0] if listed else 0
        places = struct.iter_unpack("<q16x", footer[vector + 4 : vector + 4 + 24 * count])
        return [start for (start,) in places]
    except (struct.error, IndexError):
        return []


class Message(NamedTuple):
    """Where the body of a message begins, its kind, its compressed buffers, and where it ends."""

    start: int
    kind: int
    buffers: list[tuple[int, int]]
    end: int


def messages(file: BinaryIO, size: int) -> Iterator[Message]:
    """Yield the messages of a file or a stream in the order in which Arrow reads them: for a file,
    the messages in its footer, dictionaries first; for a stream, all messages.

    Raises OSError at a message that cannot be followed, which Arrow must not read then.
    """
    file.seek(0)
    if file.read(len(_MAGIC)) == _MAGIC:
        for field in (_DICTIONARIES, _BATCHES):
            for place in _placed_messages(file, size, field):
                yield _message_at(file, size, place)
        return
    at = 0
    while not _ends_at(file, size, at):
        message = _message_at(file, size, at)
        yield message
        at = message.end


def _ends_at(file: BinaryIO, size: int, at: int) -> bool:
    """Return whether a stream ends at a place: there, or with a message of length 0."""
    file.seek(min(at, size))
    start = file.read(8)
    return not start or start[:4] == bytes(4) or start == _CONTINUES + bytes(4)


def _message_at(file: BinaryIO, size: int, at: int) -> Message:
    """Return the message at a place; OSError if there is none.

    It begins with its length, before which Arrow writes a mark since 2019.
    """
    file.seek(max(0, at))
    start = file.read(4)
    marked = start == _CONTINUES
    length = int.from_bytes(file.read(4) if marked else start, "little", signed=True)
    head = at + (8 if marked else 4)
    if at < 0 or not 0 < length <= size - head:
        raise OSError(f"no message is at byte {at}")
    message = file.read(length)
    try:
        kind, buffers, body = _described(message)
    except (struct.error, IndexError):
        raise OSError(f"the message at byte {at} cannot be read") from None
    if body < 0:
        raise OSError(f"the message at byte {at} has a body of {body} bytes")
    return Message(head + length, kind, buffers, head + length + body)


def _described(message: bytes) -> tuple[int, list[tuple[int, int]], int]:
    """Return the kind of a message (a flatbuffer), the compressed buffers that it describes, and
    the length of its body.
    """
    root = struct.unpack_from("<I", message)[0]
    length = _field(message, root, 3)
    body = struct.unpack_from("<q", message, length)[0] if length else 0
    at = _field(message, root, 1)
    kind = message[at] if at else 0
    if kind not in {_DICTIONARY, _ROWS}:
        return kind, [], body
    table = _follow(message, _field(message, root, 2))
    if kind == _DICTIONARY:
        table = _follow(message, _field(message, table, 1))
    listed = _field(message, table, 2)
    if not listed or not _field(message, table, 3):  # no buffers, or not compressed
        return kind, [], body
    vector = _follow(message, listed)
    count = struct.unpack_from("<I", message, vector)[0]
    pairs = struct.iter_unpack("<qq", message[vector + 4 : vector + 4 + 16 * count])
    return kind, [(max(0, offset), length) for offset, length in pairs], body


def _follow(message: bytes, at: int) -> int:
    return at + struct.unpack_from("<I", message, at)[0]


def _field(message: bytes, table: int, number: int) -> int:
    """Return where a field of a flatbuffer's table is, 0 where it is not given."""
    fields = table - struct.unpack_from("<i", message, table)[0]
    if fields < 0 or 4 + 2 * number >= _FIELD.unpack_from(message, fields)[0]:
        return 0
    offset = _FIELD.unpack_from(message, fields + 4 + 2 * number)[0]
    return table + offset if offset else 0
