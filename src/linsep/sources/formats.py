"""Formats and compressions of files (declared, by name or by first line), and opened files."""

import atexit
import lzma
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from weakref import WeakSet

import pyarrow as pa

from linsep.errors import DataError, hint
from linsep.sources.remote.file import File, RemoteFile, no_file

CODECS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".xz": "xz"}
#: first bytes of compressed files, whatever their names
_MAGIC = re.compile(
    rb"(?P<gzip>\x1f\x8b\x08)|(?P<bz2>BZh.1AY&SY)|(?P<zstd>\x28\xb5\x2f\xfd)|(?P<xz>\xfd7zXZ\0)"
)
ENDINGS = {
    ".svm": "svmlight", ".svmlight": "svmlight", ".libsvm": "svmlight", ".txt": "svmlight",
    ".vw": "vw",
    ".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl",
    ".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow", ".feather": "arrow",
    ".ipc": "arrow",
}  # fmt: skip
FORMATS = (*dict.fromkeys(ENDINGS.values()), "folder")
#: kinds of data, in words
WORDS = {
    "table": "a table", "frame": "in memory", "arrays": "arrays in memory",
    "svmlight": "svmlight text", "vw": "Vowpal Wabbit's text",
}  # fmt: skip
#: columns of a folder of texts
TEXT, LABEL = "text", "label"
#: stands for a delimiter: any run of blanks and tabs
WHITESPACE = "whitespace"
_DELIMITER = re.compile(rf'{WHITESPACE}|(?![a-zA-Z0-9"\r\n\0])[\x00-\x7f]')
#: what may replace missing values, what is done about them, and columns of numbers
FILLED = ("zero", "mean", "indicator")
MISSING = ("error", "drop", *FILLED)
SCALES = ("none", "standard")
#: formats that are never compressed from outside
BINARY = ("parquet", "arrow")
#: what reading a damaged file raises
DAMAGE = (OSError, EOFError, lzma.LZMAError)

#: what to do with files of other endings
_FOREIGN = {
    **dict.fromkeys((".lzma", ".lz4", ".br", ".zip", ".7z", ".rar", ".tar", ".tgz"), "unpack it"),
    **dict.fromkeys((".xlsx", ".xls", ".ods"), "save it as CSV"),
    ".mbox": "save its messages as .eml files, in a folder for each label",
}

_PEEK_BYTES, _PEEK_LINES = 1 << 16, 100
# A label and pairs, a number alone, or pairs alone; perhaps with a comment.
_PAIR = rb"\w+:[^\s:]+"
_SVMLIGHT = re.compile(
    rb"[ \t]*([^\s:;#]+([ \t]+%b)+|[-+.\deE]+|%b([ \t]+%b)*)[ \t]*(#.*)?" % (_PAIR, _PAIR, _PAIR)
)


def is_delimiter(given: Any) -> bool:
    return isinstance(given, str) and _DELIMITER.fullmatch(given) is not None


def format_by_name(path: File) -> str | None:
    """Return the format by the ending of a name, "folder" for a folder, or None."""
    found = ENDINGS.get(_ending(path))
    if found is None and path.is_dir():
        return "folder"
    return None if path.suffix.lower() in CODECS and found in BINARY else found


def _ending(path: File) -> str:
    """Return the last ending of a name but for those of compressions."""
    return next((e for e in map(str.lower, reversed(path.suffixes)) if e not in CODECS), "")


def format_of(path: File, declared: str | None = None) -> str:
    """Return the format of a file: as ``declared``, by its name, or by its first lines."""
    if declared is not None:
        if declared not in FORMATS:
            said, known = f"format is {declared!r}", f"choose one of {', '.join(FORMATS)}"
            raise DataError(said, known, code="bad-option", option="format", value=declared)
        return declared
    if not named_vaguely(path):
        return format_by_name(path) or "svmlight"  # opening it reports that it is missing
    if not is_svmlight(path) and first_lines(path) != []:
        raise unknown_format(path)
    return "svmlight"  # which reports that there are no rows


def named_vaguely(path: File) -> bool:
    """Return whether a file exists whose name does not determine its format."""
    return (format_by_name(path) is None or _ending(path) == ".txt") and path.exists()


def unknown_format(path: File) -> DataError:
    ending = _ending(path)
    change = "decompress it" if ENDINGS.get(ending) in BINARY else _FOREIGN.get(ending)
    if change is not None:
        said = f"{path} is not in a format that linsep reads"
        return DataError(said, change, code="wrong-format", path=path)
    known = " ".join(one for one in ENDINGS if one != ".txt")
    return DataError(
        f"Neither the name of {path} nor its first lines determine its format",
        hint("set its format, such as {}", format="csv"),
        f"rename it (known endings: {known}; text may add .gz .bz2 .xz .zst)",
        code="wrong-format", path=path,
    )  # fmt: skip


def is_svmlight(path: File) -> bool:
    """Return whether the first line of a file, after comments, and most of the next ones are
    svmlight text.
    """
    found = [_SVMLIGHT.fullmatch(row) for row in first_lines(path) or [b""]]
    most = bool(found[0]) and 2 * sum(map(bool, found)) > len(found)
    return most and any(b":" in match[0] for match in found if match)


def first_lines(path: File) -> list[bytes] | None:
    """Return the first lines of a file, without their ends, that are neither blank nor comments;
    None if it is damaged.
    """
    try:
        with opened(path) as (stream, _):
            text = stream.read(_PEEK_BYTES)
    except DAMAGE:
        return None
    lines = text.removeprefix(b"\xef\xbb\xbf").splitlines()
    whole = lines[:-1] if len(text) == _PEEK_BYTES and len(lines) > 1 else lines
    return [line for line in whole if re.match(rb"\s*[^\s#]", line)][:_PEEK_LINES]


@contextmanager
def opened(path: File, encoding: str | None = None) -> Iterator[tuple[Any, Callable[[], int]]]:
    """Open a file, decompressed, and from another encoding as UTF-8; yield the stream and what
    returns the bytes on disk read so far.
    """
    codec = codec_of(path)
    with ExitStack() as stack:
        raw = path.reading() if isinstance(path, RemoteFile) else local_file(path)
        stream = raw = stack.enter_context(raw)
        if codec == "xz":
            stream = stack.enter_context(lzma.LZMAFile(raw))
        elif codec is not None:
            stream = stack.enter_context(pa.CompressedInputStream(arrow_file(raw), codec))
        if encoding is not None:
            stream = pa.transcoding_input_stream(arrow_file(stream), encoding, "utf-8")
        yield stream, raw.tell


def local_file(path: Path) -> pa.NativeFile:
    try:
        if path.exists() and not path.is_file():
            raise DataError(
                f"{path} is a folder, a pipe or a device", "name files",
                "give - for standard input to a command", code="not-a-file", path=path,
            )  # fmt: skip
        # Arrow's file may have a name of any bytes, and does not block other threads while it
        # reads.
        return pa.OSFile(os.fsencode(path))
    except FileNotFoundError:
        raise no_file(path) from None
    except OSError as error:
        raise DataError(
            f"{path} cannot be opened ({first_line(error)})", "check its name and its permissions",
            code="cannot-read", path=path,
        ) from error  # fmt: skip


def codec_of(path: File) -> str | None:
    """Return how a file is compressed: as the ending of its name says or, on this machine, its
    first bytes; None if it is not.
    """
    if (named := CODECS.get(path.suffix.lower())) or isinstance(path, RemoteFile):
        return named
    with suppress(OSError):
        if path.is_file():  # a pipe has no first bytes
            with open(path, "rb") as file:
                found = _MAGIC.match(file.read(10))
            return found.lastgroup if found else None
    return None


def damage(path: File, error: Exception) -> DataError:
    message, codec = first_line(error), codec_of(path)
    if codec is None:
        said = f"{path} cannot be read ({message})"
        return DataError(said, "check the disk", code="cannot-read", path=path)
    said = f"{path} is truncated, damaged or not a {codec} file ({message})"
    return DataError(said, "copy it again", code="damaged-file", path=path)


def first_line(error: BaseException | str) -> str:
    """Return the first line of what `error` says, without its full stop."""
    said = str(error).strip() or type(error).__name__
    return said.splitlines()[0].strip().rstrip(".")[:200]


# Arrow's threads read some Python files. The last to let go of one may be such a thread, which
# needs Python for that: if Python ends meanwhile, the thread is torn out of C++ and the process
# aborts. So the end waits.
#: most seconds that the end of the process waits, as it does for files that are never closed
PATIENCE = 0.2
_given: "WeakSet[Any]" = WeakSet()


def arrow_file(stream: Any) -> pa.NativeFile:
    if isinstance(stream, pa.NativeFile):
        return stream
    _given.add(stream)
    return pa.PythonFile(stream, "r")


@atexit.register
def wait_for_threads() -> None:
    end = time.monotonic() + PATIENCE
    while len(_given) and time.monotonic() < end:
        time.sleep(0.0005)
