"""svmlight and libsvm text: scanned by compiled code on several threads, yielded in file order.

Every line is a label and ``index:value`` pairs, blanks between them, and perhaps a comment::

    +1 3:0.5 17:1e-3  # the features that are not 0

The format comes from T. Joachims' SVMlight (1999) and LIBSVM's tools. The parser in plain Python,
one line at a time, explains what the scanner refuses.
"""

import re
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import closing
from itertools import islice
from math import isfinite
from typing import Any, NoReturn

import numpy as np

from linsep.batches import Batch
from linsep.compiled.scanners.numbers import PADDING
from linsep.compiled.scanners.svmlight import DONE, INDEX_ZERO, count, scan
from linsep.errors import DataError, hint
from linsep.sources.limits import MAX_LINE
from linsep.sources.lines import (
    CHUNK_BYTES,
    Chunk,
    LineReader,
    ScannedChunk,
    ScannedFiles,
    line_at,
    no_text,
)
from linsep.sources.remote.file import File
from linsep.words import counted

#: so that the number of features still fits into 32 bits
LARGEST_INDEX = 2**31 - 2

#: from here on, floats no longer distinguish whole numbers
LABELS_BELOW = 2.0**53

BLANKS = re.compile(rb"[ \t]+")
#: what Python's float() reads, without underscores, surrounding space, nan and inf
DECIMAL = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
NOT_FINITE = re.compile(rb"[+-]?(?:nan|inf|infinity)", re.IGNORECASE)
WHOLE = re.compile(rb"[0-9]+")
NEGATIVE = re.compile(rb"-[0-9]+")
QUERY = re.compile(rb"qid:[0-9]+")
#: a line with one
_RANKED = re.compile(rb"^[^#\n]*[ \t](?=qid:[0-9])", re.MULTILINE)

#: the command that repairs lines
_MENDS = "`linsep convert FILE OUT.svm` {}"

Pairs = list[tuple[int, float]]


def parse_line(line: bytes, index_base: int = 0) -> tuple[float, Pairs] | None:
    """Read one line without its newline: its label and pairs, or None when it holds no row.

    Indices are as they stand in the text; a base of 1 refuses the index 0.
    """
    content = line.removesuffix(b"\r").split(b"#")[0].strip(b" \t")
    if not content:
        return None
    try:
        label, *fields = BLANKS.split(_BLANK_VALUE.sub(b":", content))
        parsed_label = parse_label(label)
        if fields and QUERY.fullmatch(fields[0]):
            raise DataError(
                f"{quoted(fields[0])} is the group of a ranking, which linsep does not train",
                _MENDS.format("leaves the groups out"),
                code="unsupported",
            )
        pairs: Pairs = []
        for field in fields:
            index = parse_index(field, index_base, pairs[-1][0] if pairs else -1)
            name, _, value = field.partition(b":")
            pairs.append((index, parse_value(value, name, "the pair", "3:0.5")))
    except DataError:
        refuse_binary(line)
        raise
    return parsed_label, pairs


#: faults of tokens, the first that applies: a pattern, the code, and what to say of the token
Faults = tuple[tuple[re.Pattern[bytes], str, str], ...]
NO_DECIMAL = re.compile(rb"(?!%b$).*" % DECIMAL.pattern, re.DOTALL)
_LABEL_FAULTS: Faults = (
    (re.compile(rb".*,.*", re.DOTALL), "bad-value",
     "the label {} lists several labels: keep one label per row"),
    (NOT_FINITE, "not-finite", "the label {} is not finite: give a finite number, such as +1"),
    (re.compile(rb"[0-9]+.*:.*", re.DOTALL), "missing-value",
     "the line has no label before {}: begin it with one, such as +1"),
    (NO_DECIMAL, "not-a-number",
     "the label {} is not a number: begin the line with one, such as +1"),
)  # fmt: skip
_INDEX_FAULTS: Faults = (
    (NEGATIVE, "out-of-range", "the index {} is negative: number the features from 0 or 1"),
    (re.compile(rb"(?![0-9]+$).*", re.DOTALL), "bad-value",
     "the index {} is not a whole number: number the features from 0 or 1"),
)  # fmt: skip


def refuse_faults(token: bytes, faults: Faults) -> None:
    """Raise DataError for a token with one of these faults."""
    for pattern, code, sentence in faults:
        if pattern.fullmatch(token):
            refuse(code, sentence.format(quoted(token)))


def parse_label(token: bytes) -> float:
    """Return the label, a finite number that a float holds to its last digit."""
    refuse_faults(token, _LABEL_FAULTS)
    if not isfinite(float(token)):
        refuse("not-finite", f"the label {quoted(token)} is not finite: give a finite number")
    if abs(float(token)) >= LABELS_BELOW:
        refuse("not-exact", f"the label {quoted(token)} has too many digits: shorten the labels")
    return float(token)


def parse_index(field: bytes, index_base: int, previous: int) -> int:
    """Return the index of a pair, larger than the ``previous`` one of its row (-1: none)."""
    token, colon, _ = field.partition(b":")
    if not colon:
        refuse("bad-line", f"{quoted(field)} is not an index:value pair: write it like 3:0.5")
    refuse_faults(token, _INDEX_FAULTS)
    token = token.lstrip(b"0")
    index = int(token or b"0") if len(token) <= 10 else LARGEST_INDEX + 1
    if index > LARGEST_INDEX:
        refuse(
            "out-of-range",
            f"the index {quoted(token)} is larger than {LARGEST_INDEX}, the largest allowed: "
            "renumber or hash the features",
        )
    if index > previous and index >= index_base:
        return index
    code, said, advice = (
        ("duplicate-name", f"the index {index} occurs twice", "keep one value per feature")
        if index == previous
        else ("bad-line", f"the index {index} comes after {previous}", _MENDS.format("sorts lines"))
    )
    if index < index_base:
        code, said = "out-of-range", "the index is 0, but the features are numbered from 1"
        raise DataError(said, hint("count from 0 with {}", index_base=0), code=code, value=index)
    raise DataError(said, advice, code=code, value=index)


def parse_value(token: bytes, name: bytes, what: str, example: str) -> float:
    """Return the value after the name of a feature, finite; errors call both together ``what``."""
    if not token:
        missing = f"the value after {quoted(name + b':')} is missing: complete the line"
        refuse("missing-value", f"{missing}, which may be truncated")
    finite = f"the value {{}} is not finite: leave {what} out or give a number"
    number = f"the value {{}} is not a number: write {what} like {example}"
    faults = (NOT_FINITE, "not-finite", finite), (NO_DECIMAL, "not-a-number", number)
    refuse_faults(token, faults)
    if not isfinite(float(token)):
        refuse("overflow", f"the value {quoted(token)} is too large for float64: scale the feature")
    return float(token)


def refuse_binary(line: bytes) -> None:
    """Raise DataError if an unreadable line is not text."""
    if (strange := no_text(line)) is not None:
        raise strange
    try:
        line.decode("utf-8")
        text = b"\0" not in line
    except UnicodeDecodeError:
        text = False
    if not text:
        refuse(
            "wrong-format",
            "this does not look like svmlight text: give lines such as '+1 3:0.5 17:1'",
        )


def refuse(code: str, sentence: str) -> NoReturn:
    """Raise the DataError of one sentence; whoever knows the file and line puts them in front."""
    raise DataError(sentence + ".", code=code)


def quoted(token: bytes) -> str:
    """Return a token for a message: quoted, escaped, at most 40 characters."""
    text = token.decode("utf-8", "replace")
    return repr(text if len(text) <= 40 else text[:37] + "...")


TOKEN = re.compile(rb"[^\0- :#]*")
PAIR = re.compile(rb"[0-9]+:")
_WHOLE_PAIR = re.compile(rb"[0-9]+:[^:]*")
WRITTEN = re.compile(r"([0-9]+):([-+]?[0-9]+)(?=\s|$)")
#: the colon of a pair with blanks before its value, as in LIBSVM's protein
_BLANK_VALUE = re.compile(rb"(?<=[0-9]):[ \t]+(?=[-+.0-9][^:\s]*(?:\s|$))")
DATA_LINE = re.compile(rb"^[ \t]*[^ \t\r\n#]", re.MULTILINE)


class SvmlightSource(ScannedFiles):
    """Rows of svmlight text files, as one stream.

    A line is ``label index:value index:value ...`` with growing indices, all numbers finite;
    ``#`` begins a comment. Groups of rankings (``qid:N`` after the label) are refused. A few chunks
    are in memory at a time, whatever the size of the files. X of a batch has shape (rows, highest
    column so far + 1), ``has_canonical_format`` and its own memory; the width is kept between
    readings.

    Parameters
    ----------
    paths : list of Path
        Text files; those ending in .gz, .bz2 and .zst are decompressed while reading.
    index_base : 0, 1 or None
        The index of the first feature, which becomes column 0. None (the default) finds out: 0
        when the first chunk with any pair holds an index 0, else 1.
    chunk_bytes : int
        Bytes of text scanned at once, 2 MiB by default.
    threads : int or None
        Threads that scan; None takes one for each processor, at most 8. One more reads.
    require_labels : bool
        False takes files whose lines all begin with a pair, too; their Batch.y is None.
    max_line : int
        Bytes that a line may have.

    Attributes
    ----------
    mends : bool
        Whether to sort indices, drop duplicate pairs and ignore groups of rankings instead of
        raising errors; two values of one index are always an error.
    """

    mends = False

    kind = "svmlight"
    example = "+1 3:0.5 17:1"
    written, called, comment = WRITTEN, "feature {}", b"#"

    def __init__(
        self,
        paths: Sequence[str | File],
        *,
        index_base: int | None = None,
        chunk_bytes: int = CHUNK_BYTES,
        threads: int | None = None,
        require_labels: bool = True,
        max_line: int = MAX_LINE,
    ):
        if not paths:
            raise DataError("paths must name at least one file.", code="no-file", option="paths")
        if index_base not in {None, 0, 1}:
            raise DataError(
                f"index_base must be 0, 1 or None, not {index_base!r}.",
                code="bad-option", option="index_base", value=index_base,
            )  # fmt: skip
        if chunk_bytes < 1 or (threads is not None and threads < 1):
            raise DataError("chunk_bytes and threads must be at least 1.", code="bad-option")
        super().__init__(paths, chunk_bytes, threads, max_line)
        self._base = index_base
        self._width = 0
        self._mended: list[Counter[str]] = []  # of chunks, which threads append
        self._bare = [
            not require_labels and _begins_with_pair(path, max_line) for path in self.paths
        ]

    @property
    def index_base(self) -> int:
        """The index of the first feature, 0 or 1; reads the first chunk if it must find out."""
        if self._base is None:
            with closing(self._scanned()) as batches:
                while self._base is None:
                    next(batches, None)
        return self._base

    @property
    def mended(self) -> list[str]:
        """Repairs of the last reading, in sentences."""
        count = sum(self._mended, Counter[str]())
        said = {
            "sorted": "{} had unsorted indices, which were sorted",
            "repeated": "{} had a pair twice, which was read once",
            "ranked": "the groups of a ranking (qid) of {} are left out",
        }
        return [said[k].format(counted(count[k], "line")) for k in said if count[k]]

    def recipe(self) -> dict[str, Any]:
        """Return the format and the index base."""
        return {"format": "svmlight", "index_base": self.index_base}

    def feature(self, column: int) -> str:
        """By its index in the file."""
        return f"feature {column + self.index_base}"

    def options(self) -> dict[str, Any]:
        """Return the recipe."""
        return self.recipe()

    def _scanned(self) -> Generator[Batch, None, None]:
        self._mended.clear()
        with closing(self._parts()) as parts:
            for first, part in parts:
                if part.columns.size:
                    self._base = part.base
                self._width = max(self._width, part.width)
                if part.labels.size:
                    labels = None if self._bare[part.file] else part.labels
                    yield Batch(self._matrix(part, self._width), labels, first)
        if self._base is None:
            self._base = 1

    def _is_row(self, line: bytes) -> bool:
        return DATA_LINE.match(line) is not None

    def _ahead(self) -> int:
        # Before the index base is known, a second chunk could not be scanned.
        return 1 if self._base is None else super()._ahead()

    def _scan(self, chunk: Chunk) -> ScannedChunk:
        if self._bare[chunk.file]:  # the label 0 before each row
            text = bytes(chunk.text[: chunk.size])
            chunk = _padded(chunk.file, DATA_LINE.sub(lambda row: b"0 " + row[0], text))
        part = scan_chunk(chunk, self._base)
        if part.refused is not None:
            chunk = _padded(chunk.file, _BLANK_VALUE.sub(b":", bytes(chunk.text[: chunk.size])))
            part = scan_chunk(chunk, self._base)
        if part.refused is None or not self.mends:
            return part
        chunk, lines = mended(chunk)
        self._mended.append(lines)
        return scan_chunk(chunk, self._base)

    def _parse(self, line: bytes, part: ScannedChunk) -> None:
        parse_line(line, part.base)


def _begins_with_pair(path: File, max_line: int) -> bool:
    """Return whether the first line of a file that holds a row has no label."""
    for chunk in LineReader([path], CHUNK_BYTES, max_line=max_line).chunks():
        if row := DATA_LINE.search(chunk.text, 0, chunk.size):
            return PAIR.match(chunk.text, row.end() - 1) is not None
    return False


def _padded(file: int, text: bytes) -> Chunk:
    return Chunk(file, bytearray(text + b"\n" * PADDING), len(text))


def mended(chunk: Chunk) -> tuple[Chunk, Counter[str]]:
    """The same lines with sorted indices, each pair once, and without groups of rankings; and how
    many lines are "sorted", "repeated" and "ranked".
    """
    count: Counter[str] = Counter()
    lines = bytes(chunk.text[: chunk.size]).split(b"\n")
    for number, line in enumerate(lines):
        content, mark, comment = line.partition(b"#")
        label, *fields = BLANKS.split(content.strip(b" \t\r")) if content.strip() else [b""]
        kept = [field for field in fields if not QUERY.fullmatch(field)]
        if not all(map(_WHOLE_PAIR.fullmatch, kept)):
            continue  # refused as it is
        once = dict.fromkeys(sorted(kept, key=lambda field: int(field.partition(b":")[0])))
        found = {
            "ranked": len(kept) < len(fields),
            "repeated": len(once) < len(kept),
            "sorted": list(once) != list(dict.fromkeys(kept)),
        }
        if any(found.values()):
            count.update(name for name, is_so in found.items() if is_so)
            lines[number] = b" ".join([label, *once]) + mark + comment
    return _padded(chunk.file, b"\n".join(lines)), count


def scan_chunk(chunk: Chunk, base: int | None) -> ScannedChunk:
    """Read one chunk, padded by ``PADDING``; a ``base`` of None becomes 0 or 1."""
    text = np.frombuffer(chunk.text, np.uint8)
    with np.errstate(over="ignore"):  # words wrap around, which numpy warns about when not compiled
        colons, newlines = count(text, chunk.size)
        index = np.int32 if colons < 2**31 else np.int64
        labels, starts = np.empty(newlines + 1), np.empty(newlines + 2, index)
        values, columns = np.empty(colons), np.empty(colons, index)
        doubts = np.empty((newlines + 1 + colons, 2), np.int64)
        numbers = (chunk.size, 1 if base is None else base, LARGEST_INDEX)
        outcome, at, rows, pairs, doubtful, width = scan(
            text, *map(np.uint64, numbers), labels, starts, values, columns, doubts
        )
        refused_at = None if outcome == DONE else int(at)
        refused = False  # the first one counts, but those after it must not stay unread
        for place, start in doubts[: int(doubtful)].tolist():
            value = float(TOKEN.match(chunk.text, start)[0])  # type: ignore[index]
            array, slot = (values, place) if place >= 0 else (labels, -1 - place)
            array[slot] = value
            if not isfinite(array[slot]) and not refused:
                refused, outcome, refused_at = True, DONE, start
    if outcome == INDEX_ZERO and base is None:
        return scan_chunk(chunk, 0)
    for place in (_too_large(chunk, labels[:rows]), _ranked(chunk)):
        if place is not None:
            refused_at = place if refused_at is None else min(place, refused_at)
    return ScannedChunk(
        file=chunk.file,
        lines=newlines,
        labels=labels[:rows],
        columns=columns[:pairs],
        values=values[:pairs],
        starts=starts[: rows + 1],
        refused=None if refused_at is None else line_at(chunk, refused_at),
        base=numbers[1],
        width=int(width),
    )


def _ranked(chunk: Chunk) -> int | None:
    """Return where the first group of a ranking stands, or None."""
    if chunk.text.find(b"qid:", 0, chunk.size) < 0:
        return None
    found = _RANKED.search(chunk.text, 0, chunk.size)
    return None if found is None else found.end()


def _too_large(chunk: Chunk, labels: np.ndarray) -> int | None:
    """Return where the first row begins whose label has too many digits, or None."""
    if not labels.size or max(labels.max(), -labels.min()) < LABELS_BELOW:
        return None
    row = int(np.argmax(np.abs(labels) >= LABELS_BELOW))
    return next(islice(DATA_LINE.finditer(chunk.text, 0, chunk.size), row, None)).start()
