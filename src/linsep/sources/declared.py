"""Check the sizes that compressed Arrow and Parquet files declare, before decompression.

Arrow makes room for whatever a file asks for: a few kilobytes can ask for all memory there is.
"""

import struct
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from linsep.errors import DataError, hint
from linsep.sources.limits import check_growth
from linsep.sources.remote.file import File
from linsep.words import size_text

#: bytes of the text of one column that may come in one batch of rows
MOST_TEXT = 128 << 20
#: what marks the beginning of a message
_CONTINUES = b"\xff\xff\xff\xff"
#: kinds of messages: values of a dictionary, and rows
_DICTIONARY, _ROWS = 2, 3
#: what an Arrow file begins with, and how it ends: the length of its footer, and that again
_MAGIC = b"ARROW1"
_END = struct.Struct("<i6s")
#: fields of a footer: where the dictionaries and the record batches are
_DICTIONARIES, _BATCHES = 2, 3
#: what to do where a file is as it should be
INSTEAD = "write it without compression"
_FIELD = struct.Struct("<H")


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
        check_growth(path, max(1, compressed), swollen, INSTEAD)
        if kind == _ROWS:
            passed += 1
            yield


def _placed_messages(file: BinaryIO, size: int, field: int) -> list[int]:
    """Return where messages of a kind start in an Arrow file, as its end says; none of a stream,
    which does not say it, or if it cannot be read.
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
    """Yield the messages of a file or a stream in the order in which Arrow reads them: those that
    the end of a file names, dictionaries first; all of a stream, whatever stands at its end.

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


def text_columns(schema: pa.Schema) -> list[str]:
    """Return the names of the columns that hold text or bytes."""
    return [field.name for field in schema if is_text(field.type)]


def check_decoded(column: pa.ChunkedArray, name: str | None) -> None:
    """Raise DataError where a dictionary or views of text would fill memory as plain text."""
    total = sum(int(text_sizes(chunk).sum()) for chunk in column.chunks)
    if total > MOST_TEXT:
        raise DataError(
            f"Column '{name}' has {size_text(total)} of text in {len(column):,} rows",
            hint("leave it out with {}", exclude=[name]),
        )


def text_sizes(column: pa.Array) -> np.ndarray:
    """Return the bytes of each row's text, of dictionaries and views, which may stand for more text
    than there is; nothing where they are few, or for another array.
    """
    kind, none = column.type, np.zeros(0, np.int64)
    if not len(column) or not (is_view(kind) or pa.types.is_dictionary(kind)):
        return none
    if is_view(kind):
        return _lengths(column)
    if not is_text(kind.value_type) or not len(column.dictionary):
        return none
    lengths = _lengths(column.dictionary)
    if int(lengths.max()) * len(column) <= MOST_TEXT // 64:
        return none
    codes = column.indices.fill_null(0).to_numpy(zero_copy_only=False)
    found: np.ndarray = np.where(
        column.is_valid().to_numpy(zero_copy_only=False), lengths[codes], 0
    )
    if is_view(kind.value_type):  # the dictionary becomes plain text, too
        found[0] += lengths.sum()
    return found


def _lengths(texts: pa.Array) -> np.ndarray:
    """Return the bytes of texts, 0 where they are null."""
    if not is_view(texts.type):
        found = pc.binary_length(texts).fill_null(0)
        return found.to_numpy(zero_copy_only=False).astype(np.int64)
    views = np.frombuffer(texts.buffers()[1], np.int32)  # four a text, its length first
    lengths = views[4 * texts.offset :: 4][: len(texts)].astype(np.int64)
    return np.where(texts.is_valid().to_numpy(zero_copy_only=False), lengths, 0)


def is_view(kind: pa.DataType) -> bool:
    """Return whether a type is of views of text or bytes, which may be the same many times."""
    return kind in (pa.string_view(), pa.binary_view())


def is_text(kind: pa.DataType) -> bool:
    """Return whether a type is of text or bytes."""
    if is_view(kind):
        return True
    checks = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary)
    return any(check(kind) for check in checks)
