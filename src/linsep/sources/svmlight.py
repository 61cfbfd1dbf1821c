"""svmlight and libsvm text: scanned by compiled code on several threads, yielded in file order.

Every line is a label and ``index:value`` pairs, blanks between them, and perhaps a comment::

    +1 3:0.5 17:1e-3  # the features that are not 0

The format comes from T. Joachims' SVMlight (1999) and LIBSVM's tools.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from math import isinf
from typing import Any

import numpy as np

from linsep.batches import Batch
from linsep.compiled.scanners.numbers import PADDING
from linsep.compiled.scanners.svmlight import DONE, INDEX_ZERO, LABELS_BELOW, count, scan
from linsep.errors import DataError, hint, refuse
from linsep.sources.formats import first_lines
from linsep.sources.limits import MAX_LINE
from linsep.sources.lines import (
    CHUNK_BYTES,
    COMPLETE,
    NOT_FINITE,
    Chunk,
    Faults,
    ScannedChunk,
    ScannedFiles,
    line_at,
    quoted,
    refuse_faults,
)
from linsep.sources.remote.file import File

#: so that the number of features still fits into 32 bits
LARGEST_INDEX = 2**31 - 2

BLANKS = re.compile(rb"[ \t]+")
#: what Python's float() reads, without underscores, surrounding space, nan and inf
DECIMAL = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_TOKEN = re.compile(rb"[^\0- :#]*")
_PAIR = re.compile(rb"[0-9]+:")
#: the colon of a pair with blanks before its value, as in LIBSVM's protein
_BLANK_VALUE = re.compile(rb"(?<=[0-9]):[ \t]+(?=[-+.0-9][^:\s]*(?:\s|$))")
_RENUMBER = "number the features from 0 or 1"
#: what is wrong with a line without its comment, see :func:`refuse_faults`
_FAULTS: Faults = (
    (rb"^\S*,\S*", "{} lists several labels", "bad-value", "keep one per row"),
    (rb"^[0-9]+:\S*", "there is no label before {}", "missing-value", "write one, such as +1"),
    (rb"(?<=\s)qid:[0-9]+(?!\S)", "{} is the group of a ranking, which linsep does not train",
     "unsupported", "leave the groups out"),
    (rb"(?<=\s)[^:\s]+(?!\S)", "{} is not an index:value pair", "bad-line",
     "write it like 3:0.5"),
    (rb"(?<=\s)-[0-9]+(?=:)", "the index {} is negative", "out-of-range", _RENUMBER),
    (rb"(?<=\s)(?![0-9]+:)[^\s:]*(?=:)", "the index {} is not a whole number", "bad-value",
     _RENUMBER),
    (rb"[0-9]+:(?!\S)", "there is no value after {}", "missing-value", COMPLETE),
    (rb"(?:^|(?<=:))%b" % NOT_FINITE, "{} is not finite", "not-finite", "give a finite number"),
    (rb"(?:^|(?<=:))(?!%b(?!\S))\S+" % DECIMAL.pattern, "{} is not a number", "not-a-number",
     "write the line like '+1 3:0.5'"),
)  # fmt: skip


class SvmlightSource(ScannedFiles):
    """Rows of svmlight text files, as one stream.

    X of a batch has shape (rows, highest column so far + 1), ``has_canonical_format`` and its own
    memory; the width is kept between readings.

    Parameters
    ----------
    paths : list of Path
        Text files; those ending in .gz, .bz2 and .zst are decompressed while reading.
    index_base : 0, 1 or None
        The index of the first feature, which becomes column 0. None (the default) finds out: 0
        when the first chunk with any pair holds an index 0, else 1.
    require_labels : bool
        False takes files whose lines all begin with a pair, too; their Batch.y is None.
    chunk_bytes, threads, max_line : as for :class:`linsep.sources.lines.ScannedFiles`
    """

    kind = "svmlight"
    example = "+1 3:0.5 17:1"
    row = re.compile(rb"^[ \t]*[^ \t\r\n#]", re.MULTILINE)

    def __init__(
        self, paths: Sequence[str | File], *, index_base: int | None = None,
        require_labels: bool = True, chunk_bytes: int = CHUNK_BYTES, threads: int | None = None,
        max_line: int = MAX_LINE,
    ):  # fmt: skip
        if index_base not in {None, 0, 1}:
            raise DataError(
                f"index_base must be 0, 1 or None, not {index_base!r}.",
                code="bad-option", option="index_base", value=index_base,
            )  # fmt: skip
        super().__init__(paths, chunk_bytes, threads, max_line)
        self._base = index_base
        starts = [] if require_labels else [first_lines(path) or [b""] for path in self.paths]
        #: files whose lines have no labels
        self._bare = {n for n, lines in enumerate(starts) if _PAIR.match(lines[0].strip())}

    @property
    def index_base(self) -> int:
        """The index of the first feature, 0 or 1; reads the first chunk if it must find out."""
        if self._base is None:
            with closing(self._parts()) as parts:
                any(part.columns.size for part in parts)
        return 1 if self._base is None else self._base

    def recipe(self) -> dict[str, Any]:
        return {"format": "svmlight", "index_base": self.index_base}

    def feature(self, column: int) -> str:
        return f"feature {column + self.index_base}"

    def _read(self) -> Iterator[Batch]:
        yield from super()._read()
        self._base = 1 if self._base is None else self._base

    def _ahead(self) -> int:
        # Before the index base is known, a second chunk could not be scanned.
        return 1 if self._base is None else super()._ahead()

    def _scan(self, chunk: Chunk) -> ScannedChunk:
        bare = chunk.file in self._bare
        if bare:  # the label 0 before each row
            text = bytes(chunk.text[: chunk.size])
            text = self.row.sub(lambda row: b"0 " + row[0], text)
            chunk = Chunk(chunk.file, bytearray(text + b"\n" * PADDING), len(text))
        part = scan_chunk(chunk, self._base)
        if part.columns.size:
            self._base = part.base
        return part._replace(labels=np.full(part.labels.size, np.nan)) if bare else part

    def _explain(self, line: bytes, part: ScannedChunk) -> None:
        text = _BLANK_VALUE.sub(b":", line.partition(b"#")[0].strip())
        refuse_faults(text, _FAULTS)
        label, *pairs = text.split()
        said, digits = f"the label {quoted(label)} has too many digits", "shorten the labels"
        refuse(DataError, (abs(float(label)) >= LABELS_BELOW, said, "not-exact", None, digits))
        previous = -1.0
        for token, _, value in (pair.partition(b":") for pair in pairs):
            said, index = f"the index {quoted(token)} is", float(token)
            refuse(
                DataError,
                (index > LARGEST_INDEX, f"{said} larger than {LARGEST_INDEX}", "out-of-range",
                 None, "renumber or hash the features"),
                (index < part.base, f"{said} 0, but the features are numbered from 1",
                 "out-of-range", None, hint("count from 0 with {}", index_base=0)),
                (index == previous, f"{said} a repeated one", "duplicate-name", None,
                 "keep one value per feature"),
                (index < previous, f"{said} less than {previous:.0f} before it", "bad-line", None,
                 "sort the indices of each line"),
                (isinf(float(value)), f"the value {quoted(value)} is too large for float64",
                 "overflow", None, "give a smaller one"),
            )  # fmt: skip
            previous = index


def scan_chunk(chunk: Chunk, base: int | None) -> ScannedChunk:
    """Read one chunk, padded by ``PADDING``; a ``base`` of None becomes 0 or 1."""
    text = np.frombuffer(chunk.text, np.uint8)
    with np.errstate(over="ignore"):  # words wrap around, which numpy warns about when not compiled
        colons, newlines = count(text, chunk.size)
        index = np.int32 if colons < 2**31 else np.int64
        labels, starts = np.empty(newlines + 1), np.empty(newlines + 2, index)
        values, columns = np.empty(colons), np.empty(colons, index)
        deferred = np.empty((newlines + 1 + colons, 2), np.int64)
        numbers = (chunk.size, 1 if base is None else base, LARGEST_INDEX)
        outcome, at, rows, pairs, late, width = scan(
            text, *map(np.uint64, numbers), labels, starts, values, columns, deferred
        )
    if outcome == INDEX_ZERO and base is None:
        return scan_chunk(chunk, 0)
    refused = [] if outcome == DONE else [int(at)]
    for place, start in deferred[: int(late)].tolist():
        own, slot, bound = (values, place, np.inf) if place >= 0 else (labels, ~place, LABELS_BELOW)
        own[slot] = float(_TOKEN.match(chunk.text, start)[0])  # type: ignore[index]
        if not abs(own[slot]) < bound:
            refused.append(start)
    return ScannedChunk(
        chunk.file, newlines, labels[:rows], columns[:pairs], values[:pairs], starts[: rows + 1],
        line_at(chunk, min(refused)) if refused else None, None, int(width), numbers[1],
    )  # fmt: skip
