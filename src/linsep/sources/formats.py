"""File formats: as declared, by the ending of the name, or by the first line."""

import re

from linsep.errors import DataError, hint
from linsep.sources.chunks import CODECS, opened
from linsep.sources.remote.file import File

ENDINGS = {
    ".svm": "svmlight", ".svmlight": "svmlight", ".libsvm": "svmlight", ".txt": "svmlight",
    ".vw": "vw",
    ".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl",
    ".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow", ".feather": "arrow",
    ".ipc": "arrow", ".rows": "rows",
}  # fmt: skip
FORMATS = (*dict.fromkeys(ENDINGS.values()), "folder")
#: columns of a folder of texts
TEXT, LABEL = "text", "label"
#: formats that are never compressed from outside
BINARY = ("parquet", "arrow", "rows")

#: what files of other endings are, and what to do
_FOREIGN = {
    **dict.fromkeys(
        (".xz", ".lzma", ".lz4", ".br", ".zip", ".7z", ".rar", ".tar", ".tgz"),
        ("is packed in a way that linsep does not read", "unpack it"),
    ),
    **dict.fromkeys((".xlsx", ".xls", ".ods"), ("is a spreadsheet", "save it as CSV")),
    ".mbox": ("is a mailbox", "save its messages as .eml files, in a folder for each label"),
}

_PEEK_BYTES = 1 << 16
# A label and pairs, a number alone, or pairs alone; perhaps with a comment.
_PAIR = rb"\w+:[^\s:]+"
_SVMLIGHT = re.compile(
    rb"[ \t]*([^\s:;#]+([ \t]+%b)+|[-+.\deE]+|%b([ \t]+%b)*)[ \t]*(#.*)?" % (_PAIR, _PAIR, _PAIR)
)


def format_by_name(path: File) -> str | None:
    """Return the format by the ending of a name, without that of a compression, or None; that of a
    folder of texts is "folder".
    """
    endings = [ending.lower() for ending in path.suffixes]
    compressed = bool(endings) and endings[-1] in CODECS
    found = ENDINGS.get("".join(endings[-2:-1] if compressed else endings[-1:]))
    if found is None and path.is_dir():
        return "folder"
    return None if compressed and found in BINARY else found


def format_of(path: File, declared: str | None = None) -> str:
    """Return the format of a file: as ``declared``, by its name, or svmlight if it looks like it.

    Raises DataError for an unknown format.
    """
    if declared is not None:
        if declared not in FORMATS:
            *most, last = FORMATS
            raise DataError(f"format is {declared!r}: choose {', '.join(most)} or {last}.")
        return declared
    found = format_by_name(path)
    if found is None and path.exists() and not _looks_like_svmlight(path):
        raise unknown_format(path)
    return found or "svmlight"


def unknown_format(path: File) -> DataError:
    """Return the error for a file whose name does not show its format."""
    endings = [ending for ending in path.suffixes if ending.lower() not in CODECS]
    ending = endings[-1] if endings else ""
    if ENDINGS.get(ending.lower()) in BINARY:
        return DataError(f"{path} is a compressed {ending} file", "decompress it")
    if ending.lower() in _FOREIGN:
        what, change = _FOREIGN[ending.lower()]
        return DataError(f"{path} {what}", change)
    message = f"has the ending '{ending}'" if ending else "has no ending"
    return DataError(
        f"{path} {message}, which does not say what it holds",
        f"rename it (known are {' '.join(ENDINGS)}, of text also with .gz .bz2 .zst behind)",
        hint("say what it is, such as {}", format="csv"),
    )


def _looks_like_svmlight(path: File) -> bool:
    """Return whether the first line, after comments, is svmlight text: LIBSVM's files may have any
    name.
    """
    try:
        with opened(path) as (stream, _):
            lines = stream.read(_PEEK_BYTES).splitlines()
    except OSError:
        return False
    rows = [line for line in lines if line.strip() and not line.lstrip().startswith(b"#")]
    return not rows or _SVMLIGHT.fullmatch(rows[0].removeprefix(b"\xef\xbb\xbf")) is not None
