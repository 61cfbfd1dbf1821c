"""Limits of files: no changes while they are read, no endless lines, no excessive decompression."""

import re
from typing import Any

from linsep.errors import DataError, Hint, hint
from linsep.sources.remote.file import File
from linsep.words import size_text

#: default limit of the length of a line, in bytes
MAX_LINE = 64 << 20
#: compressed text may grow so many times; what is not worth a look is let alone
MOST_GROWTH, WORTH_A_LOOK = 500, 64 << 20

#: weights that any input may ask for, and more of them for each byte of the input
FREE_WEIGHTS, WEIGHTS_PER_BYTE = 1 << 24, 16

#: what parsers of 32 bits can be given
LARGEST = 1 << 30

_UNITS = {"": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMG]?B?)", re.IGNORECASE)


def bytes_of(size: int | str, what: str = "a line") -> int:
    """Parse a size such as 1000, "500 kB" or "64MB" (of 1,024 kB) to bytes.

    Raises DataError, which calls what has this size ``what``, unless it is a size from one byte to
    a gigabyte.
    """
    found = _SIZE.fullmatch(str(size).strip())
    if found is not None:
        unit = found[2].upper().removesuffix("B")
        count = int(float(found[1]) * _UNITS[unit + "B" if unit else ""])
        if 1 <= count <= LARGEST:
            return count
    raise DataError(
        f"{size!r} is no size of {what}: give bytes, or a number with a unit such as '64MB', up to "
        "1GB."
    )


def line_too_long(path: File, line: int, limit: int) -> DataError:
    """Return the error for a line longer than ``limit`` bytes."""
    return DataError(
        f"{path} line {line} is longer than {size_text(limit)}", "split it", *longer_lines(limit)
    )


def longer_lines(limit: int) -> list[Hint]:
    """Return the advice to allow lines longer than ``limit`` bytes, if there is more to allow."""
    longer = size_text(min(4 * limit, LARGEST)).replace("bytes", "B").replace(" ", "")
    return [hint("allow longer lines with {}", max_line=longer)] if limit < LARGEST else []


def check_growth(path: File, on_disk: int, read: int, instead: str = "decompress it first") -> None:
    """Raise DataError where ``on_disk`` compressed bytes became far too many to be rows.

    ``instead`` says what to do where it is as it should be.
    """
    if read > WORTH_A_LOOK and read > MOST_GROWTH * on_disk:
        raise DataError(
            f"{path} becomes more than {MOST_GROWTH} times as large when it is decompressed: "
            f"{instead} if that is meant."
        )


def check_weights(source: Any, n_features: int, n_classes: int) -> None:
    """Raise DataError if the bytes of a source ask for far too many weights.

    Weights are dense: one index of nine digits asks for gigabytes. Rows in memory have no bytes.
    """
    n_bytes, n_columns = source.size or source.position, n_classes if n_classes > 2 else 1
    if n_bytes and n_features * n_columns > FREE_WEIGHTS + WEIGHTS_PER_BYTE * n_bytes:
        each = f" for each of {n_columns:,} classes" if n_columns > 1 else ""
        raise DataError(
            f"{source.name} has {n_bytes:,} bytes and asks for {n_features:,} weights{each}",
            *_fewer(source),
        )


def _fewer(source: Any) -> list[Hint | str]:
    """Return how the rows of a source can have fewer features."""
    layout = {} if source.kind in ("svmlight", "arrays") else source.layout()
    if layout.get("words"):
        fewer = hint("hash them into fewer features with {}", text_bits=12)
        return [hint("learn the words with {}", vocabulary=True), fewer]
    if source.kind == "vw" or layout.get("hash_bits"):
        return [hint("choose fewer {}", hash_bits=None)]
    return ["number its features from 0 or 1 without large gaps"]
