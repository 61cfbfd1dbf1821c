"""Limits of files: no changes while they are read, no endless lines, no excessive decompression."""

import re
from typing import Any

from linsep.errors import DataError, Hint, hint
from linsep.sources.remote.file import File
from linsep.words import size_text

#: default limit of the length of a line, in bytes
MAX_LINE = 64 << 20
#: largest growth of compressed text; smaller text is not checked
MOST_GROWTH, WORTH_A_LOOK = 500, 64 << 20

#: weights allowed for any input, and additional weights per byte of the input
FREE_WEIGHTS, WEIGHTS_PER_BYTE = 1 << 24, 16

#: limit of 32-bit parsers
LARGEST = 1 << 30

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMG]?B?)", re.IGNORECASE)


def bytes_of(size: int | str, what: str = "a line") -> int:
    """Return the bytes of a size such as 1000, "500 kB" or "64MB" (of 1,024 kB), at most 1 GB."""
    if found := _SIZE.fullmatch(str(size).strip()):
        count = int(float(found[1]) * _UNITS[found[2].upper().removesuffix("B")])
        if 1 <= count <= LARGEST:
            return count
    raise DataError(
        f"{size!r} is not a valid size of {what}", "give bytes, or such as '64MB', up to 1GB",
        code="bad-option", value=size,
    )  # fmt: skip


def line_too_long(path: File, line: int, limit: int) -> DataError:
    longer = size_text(min(4 * limit, LARGEST)).replace("bytes", "B").replace(" ", "")
    return DataError(
        f"{path} line {line} is longer than {size_text(limit)}",
        "split it", hint("allow longer lines with {}", max_line=longer),
        code="too-large", path=path, row=line,
    )  # fmt: skip


def check_growth(path: File, on_disk: int, read: int, instead: str = "decompress it first") -> None:
    """Raise DataError where so many bytes of a file become far too many in memory."""
    if read > max(WORTH_A_LOOK, MOST_GROWTH * on_disk):
        said = f"{path} grows to more than {MOST_GROWTH} times its size when it is read"
        raise DataError(said, instead, code="too-large", path=path)


def check_weights(source: Any, n_features: int, n_classes: int) -> None:
    """Raise DataError if a source needs far more weights than its bytes justify: weights are
    dense, so one nine-digit index needs gigabytes. Rows in memory have no bytes.
    """
    n_bytes, n_columns = source.size or source.position, n_classes if n_classes > 2 else 1
    most = source.max_features or (FREE_WEIGHTS + WEIGHTS_PER_BYTE * n_bytes) // n_columns
    if not n_bytes or n_features <= most:
        return
    layout = {} if source.kind in ("svmlight", "arrays") else source.layout()
    fewer: list[Hint | str] = ["number its features from 0 or 1 without large gaps"]
    if layout.get("words"):
        fewer = [hint("build a vocabulary with {}", vocabulary=True)]
        fewer.append(hint("hash them into fewer features with {}", text_bits=12))
    elif source.kind == "vw" or layout.get("hash_bits"):
        fewer = [hint("choose fewer {}", hash_bits=None)]
    each = f" for each of {n_columns:,} classes" if n_columns > 1 else ""
    raise DataError(
        f"{source.name} has {n_bytes:,} bytes but needs {n_features:,} weights{each}",
        *fewer, hint("allow them with {}", max_features=n_features), code="too-large",
    )  # fmt: skip
