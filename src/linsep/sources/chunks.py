"""Chunks of whole lines from plain or compressed files, in reused buffers."""

import os
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import pyarrow as pa

from linsep.errors import DataError
from linsep.sources.arrow_files import arrow_file
from linsep.sources.limits import MAX_LINE, Unchanged, check_growth, line_too_long
from linsep.sources.remote.file import File, RemoteFile

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
CODECS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}


class Chunk(NamedTuple):
    """Whole lines of one file.

    Attributes
    ----------
    file : int
        Which of the files, counted from 0.
    text : bytearray
        The lines, and after them newlines as padding.
    size : int
        Length of the lines; only the last line of a file may lack its newline.
    """

    file: int
    text: bytearray
    size: int


class LineReader:
    """Reads files one after the other as chunks of whole lines.

    Parameters
    ----------
    paths : list of Path
        Read as compressed when the name ends in .gz, .bz2 or .zst.
    chunk_bytes : int
        Bytes in a chunk, about; a line longer than that makes a larger one.
    padding : int
        Newlines to put after the lines of each chunk.
    max_line : int
        Bytes that a line may have.
    unchanged : Unchanged or None
        Checks that the files stay as they are; None looks at them now.
    returns : bool
        Whether carriage returns alone end lines where there are no newlines.

    Attributes
    ----------
    position : int
        Bytes on disk read so far, over all files.
    marked : bool
        Whether the file at hand begins with a byte-order mark.
    """

    def __init__(
        self,
        paths: list[File],
        chunk_bytes: int,
        padding: int = 1,
        *,
        max_line: int = MAX_LINE,
        unchanged: Unchanged | None = None,
        returns: bool = False,
    ):
        self.paths = paths
        self._max_line, self._returns = max_line, returns
        self._unchanged = unchanged or Unchanged(paths)
        self.position, self.marked = 0, False
        self._padding = padding
        self._length = chunk_bytes + padding
        # A deque may be filled and emptied by different threads.
        self._free: deque[bytearray] = deque()

    def chunks(self) -> Generator[Chunk, None, None]:
        """Yield the chunks, a byte-order mark as blanks.

        Raises DataError for a file that cannot be opened, is damaged, or changes meanwhile.
        """
        before = 0
        for file, path in enumerate(self.paths):
            with opened(path) as (stream, tell):
                self._unchanged.check(path)
                compressed = path.suffix.lower() in CODECS
                tail, ended, read = b"", False, 0
                while not ended:
                    buffer, size, end, ended = self._fill(path, stream, tail, read)
                    self._unchanged.check(path)
                    if read == 0:
                        self.marked = buffer.startswith(BYTE_ORDER_MARK)
                        if self.marked:
                            buffer[: len(BYTE_ORDER_MARK)] = b" " * len(BYTE_ORDER_MARK)
                    read += size
                    self.position = before + tell()
                    if compressed:
                        check_growth(path, tell(), read)
                    tail = bytes(memoryview(buffer)[size:end])
                    buffer[size : size + self._padding] = b"\n" * self._padding
                    if size:
                        yield Chunk(file, buffer, size)
                before += tell()

    def give_back(self, chunk: Chunk) -> None:
        """Let the buffer of a chunk be used again; its text must not be touched any more."""
        self._free.append(chunk.text)

    def _fill(
        self, path: File, stream: Any, tail: bytes, read: int
    ) -> tuple[bytearray, int, int, bool]:
        """Fill a buffer behind the ``tail`` of the last one up to at least one newline.

        Returns the buffer, the end of its last whole line, the end of its text, and whether the
        file has ended. ``read`` bytes were in the lines before.
        """
        buffer = self._free.pop() if self._free else bytearray(self._length)
        if len(buffer) <= len(tail) + self._padding:
            buffer = bytearray(2 * len(tail) + self._length)
        buffer[: len(tail)] = tail
        end = searched = len(tail)
        while True:
            room = len(buffer) - self._padding
            end, ended = self._read(path, stream, buffer, end, room)
            if ended:
                self._check_lines(path, buffer, end, read)
                return buffer, end, end, True
            size = buffer.rfind(b"\n", searched, end) + 1
            if not size and self._returns:  # a newline may be behind the last byte
                size = buffer.rfind(b"\r", 0, end - 1) + 1
            if size:
                self._check_lines(path, buffer, size, read)
                return buffer, size, end, False
            if end > self._max_line:
                raise line_too_long(path, self.line_at(path, read), self._max_line)
            searched = end
            buffer.extend(bytes(room))

    def _check_lines(self, path: File, buffer: bytearray, size: int, read: int) -> None:
        """Raise DataError for a line that is too long; only large buffers can hold one."""
        if size <= self._max_line:
            return
        start = 0
        while start < size:
            end = buffer.find(b"\n", start, size) + 1 or size
            if end - start > self._max_line:
                raise line_too_long(path, self.line_at(path, read + start), self._max_line)
            start = end

    def line_at(self, path: File, byte: int) -> int:
        """Return the number of the line that has this byte of the text; reads it again."""
        lines = 1
        with opened(path) as (stream, _):
            while byte > 0 and (block := stream.read(min(byte, self._length))):
                lines += block.count(b"\n")
                byte -= len(block)
        return lines

    def _read(
        self, path: File, stream: Any, buffer: bytearray, end: int, room: int
    ) -> tuple[int, bool]:
        """Fill ``buffer[end:room]``: where the text ends now, and whether the file has."""
        with memoryview(buffer) as view:
            while end < room:
                try:
                    count = stream.readinto(view[end:room])
                except OSError as error:
                    raise DataError(_damage(path, error)) from error
                if not count:
                    return end, True
                end += count
        return end, False


@contextmanager
def opened(path: File) -> Iterator[tuple[Any, Callable[[], int]]]:
    """Open a file for reading what it holds, decompressed by the ending of its name.

    Yields the stream and a function that says how many bytes on disk it has read. Raises
    DataError when there is no such file, or it is a directory or may not be read.
    """
    codec = CODECS.get(path.suffix.lower())
    if isinstance(path, RemoteFile):
        with path.reading() as stream:
            yield from _decompressed(stream, codec)
        return
    try:
        if path.is_dir():
            raise DataError(f"{path} is a directory: give the files in it.")
        if path.exists() and not path.is_file():
            raise DataError(
                f"{path} is a pipe or a device, which can be read only once: give a file (commands "
                "take - for standard input)."
            )
        raw = pa.OSFile(os.fsencode(path))  # whose name may be of any bytes
    except FileNotFoundError as error:
        raise DataError(f"{path} does not exist: check the path.") from error
    except PermissionError as error:
        raise DataError(f"{path} may not be read: ask for permission to read it.") from error
    except OSError as error:
        raise DataError(f"{path} cannot be opened ({_reason(error)}): check the path.") from error
    with raw:
        yield from _decompressed(raw, codec)


def _decompressed(raw: Any, codec: str | None) -> Iterator[tuple[Any, Callable[[], int]]]:
    if codec is None:
        yield raw, raw.tell
    else:
        file = raw if isinstance(raw, pa.NativeFile) else arrow_file(raw)
        with pa.CompressedInputStream(file, codec) as stream:
            yield stream, raw.tell


def bytes_on_disk(paths: Sequence[File]) -> int | None:
    """Sum of the file sizes; None when a file cannot be found."""
    try:
        return sum(path.stat().st_size for path in paths)
    except OSError:
        return None


def _damage(path: File, error: OSError) -> str:
    message = _reason(error)
    codec = CODECS.get(path.suffix.lower())
    if codec is None:
        return f"{path} cannot be read ({message}): check the disk."
    if "runcated compressed stream" in message:
        return f"{path} is cut short in its {codec} data: copy it again from where it is whole."
    return f"{path} is damaged or not a {codec} file ({message}): copy it again or rename it."


def _reason(error: OSError) -> str:
    return str(error).partition("\n")[0].rstrip(".")
