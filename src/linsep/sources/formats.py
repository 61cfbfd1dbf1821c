"""Formats and compressions of files (declared, by name or by first line), and opened files."""

import atexit
import lzma
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
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
#: columns of a folder of texts
TEXT, LABEL = "text", "label"
#: stands for a delimiter: any run of blanks and tabs
WHITESPACE = "whitespace"
#: what may replace missing values, what is done about them, and columns of numbers
FILLED = ("zero", "mean", "indicator")
MISSING = ("error", "drop", *FILLED)
SCALES = ("none", "standard")
#: formats that are never compressed from outside
BINARY = ("parquet", "arrow")
#: what reading a damaged file raises
DAMAGE = (OSError, EOFError, lzma.LZMAError)

#: what files with other endings are, and what to do
_FOREIGN = {
    **dict.fromkeys(
        (".lzma", ".lz4", ".br", ".zip", ".7z", ".rar", ".tar", ".tgz"),
        ("is compressed in a format that linsep does not read", "unpack it"),
    ),
    **dict.fromkeys((".xlsx", ".xls", ".ods"), ("is a spreadsheet", "save it as CSV")),
    ".mbox": ("is a mailbox", "save its messages as .eml files, in a folder for each label"),
}

#: endings of text of any format, whose first lines are looked at
_TEXT = {".txt", ".dat", ".data"}

_PEEK_BYTES, _PEEK_LINES = 1 << 16, 100
# A label and pairs, a number alone, or pairs alone; perhaps with a comment.
_PAIR = rb"\w+:[^\s:]+"
_SVMLIGHT = re.compile(
    rb"[ \t]*([^\s:;#]+([ \t]+%b)+|[-+.\deE]+|%b([ \t]+%b)*)[ \t]*(#.*)?" % (_PAIR, _PAIR, _PAIR)
)
# Up to three numbers, perhaps a tag, and a bar that is followed by a namespace or by a feature.
_VW = re.compile(rb"[ \t]*([-+.\deE]+[ \t]+){0,3}('[^\s|]*[ \t]*)?\|(?P<features>.*)")


def is_delimiter(given: Any) -> bool:
    if isinstance(given, str) and given == WHITESPACE:
        return True
    one = isinstance(given, str) and len(given) == 1 and given.isascii()
    return one and not given.isalnum() and given not in '"\r\n\0'


def format_by_name(path: File) -> str | None:
    """Return the format by the ending of a name, "folder" for a folder, or None."""
    endings = [ending.lower() for ending in path.suffixes]
    compressed = bool(endings) and endings[-1] in CODECS
    found = ENDINGS.get("".join(endings[-2:-1] if compressed else endings[-1:]))
    if found is None and path.is_dir():
        return "folder"
    return None if compressed and found in BINARY else found


def format_of(path: File, declared: str | None = None) -> str:
    """Return the format of a file: as ``declared``, by its name, or by its first lines."""
    if declared is not None:
        if declared not in FORMATS:
            *most, last = FORMATS
            raise DataError(
                f"format is {declared!r}: choose {', '.join(most)} or {last}.",
                code="bad-option", option="format", value=declared,
            )  # fmt: skip
        return declared
    if not named_vaguely(path):
        return format_by_name(path) or "svmlight"  # opening it reports that it is missing
    found = format_by_content(path)
    if found is None and first_lines(path) != []:
        raise unknown_format(path)
    return found or "svmlight"  # which reports that there are no rows


def named_vaguely(path: File) -> bool:
    """Return whether a file exists whose name does not determine its format."""
    endings = [e for e in (ending.lower() for ending in path.suffixes) if e not in CODECS]
    vague = format_by_name(path) is None or endings[-1:] == [".txt"]
    return vague and path.exists()


def unknown_format(path: File) -> DataError:
    endings = [ending for ending in path.suffixes if ending.lower() not in CODECS]
    ending = endings[-1] if endings else ""
    if ENDINGS.get(ending.lower()) in BINARY:
        return DataError(
            f"{path} is a compressed {ending} file", "decompress it", code="wrong-format", path=path
        )
    if ending.lower() in _FOREIGN:
        what, change = _FOREIGN[ending.lower()]
        return DataError(f"{path} {what}", change, code="wrong-format", path=path)
    known = " ".join(one for one in ENDINGS if one not in _TEXT)
    return DataError(
        f"Neither the name of {path} nor its first lines determine its format",
        hint("set its format, such as {}", format="csv"),
        f"rename it (known endings: {known}; text may add .gz .bz2 .xz .zst)",
        code="wrong-format", path=path,
    )  # fmt: skip


def format_by_content(path: File) -> str | None:
    """Return "svmlight" or "vw" if the first line of a file, after comments, and most of the next
    ones are such; None otherwise.
    """
    lines = first_lines(path)
    if not lines:
        return None
    pairs = [_SVMLIGHT.fullmatch(row) for row in lines]
    if _most(pairs) and any(b":" in match[0] for match in pairs if match):
        return "svmlight"
    found = [_VW.fullmatch(row) for row in lines]
    # Where features are numbers only, it may as well be a table with bars between its cells.
    names = b"".join(match["features"] for match in found if match)
    return "vw" if _most(found) and re.search(rb"[A-Za-z_:]", names) else None


def _most(found: list[Any]) -> bool:
    return bool(found[0]) and 2 * sum(map(bool, found)) > len(found)


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
            f"{path} cannot be opened ({_reason(error)})", "check its name and its permissions",
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


def bytes_on_disk(paths: Sequence[File]) -> int | None:
    try:
        return sum(path.stat().st_size for path in paths)
    except OSError:
        return None


def damage(path: File, error: Exception) -> DataError:
    message, codec = _reason(error), codec_of(path)
    if codec is None:
        said = f"{path} cannot be read ({message})"
        return DataError(said, "check the disk", code="cannot-read", path=path)
    said = f"{path} is truncated, damaged or not a {codec} file ({message})"
    return DataError(said, "copy it again", code="damaged-file", path=path)


def _reason(error: Exception) -> str:
    return str(error).partition("\n")[0].rstrip(".")


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
