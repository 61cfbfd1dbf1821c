"""Vowpal Wabbit's text: scanned by compiled code on several threads, yielded in file order.

A line is a label, an importance, a tag, and namespaces of features::

    1 2.5 'tag |words free prize |numbers:0.5 length:3 urgent

with blanks between them. A feature without ``:value`` is 1; the value of a namespace multiplies its
features. The format and its hash come from J. Langford, L. Li and A. Strehl, Vowpal Wabbit (2007).
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from linsep.compiled.scanners.numbers import PADDING
from linsep.compiled.scanners.vowpal_wabbit import DONE, LABELS_BELOW, combine, count, scan
from linsep.errors import DataError, refuse
from linsep.sources.limits import MAX_LINE, check_growth
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
from linsep.sources.svmlight import BLANKS, DECIMAL

DEFAULT_BITS = 18
#: prime of Fowler, Noll and Vo's hash, by which the columns of two features are combined
FNV_PRIME = 16777619
_TAG = re.compile(rb"('[^\s|]*\s*|[^\s|]*)$")
_NUMBER, _END = DECIMAL.pattern, rb"(?![^\s|])"
#: what is wrong with the numbers before the first bar, if labels are needed and in any case; and
#: with the rest of a line, see :func:`refuse_faults`
_UNLABELED: Faults = (
    (rb"^%b(?=\|)" % _NUMBER, "{} touches the |, which makes it a tag", "bad-line",
     "insert a blank"),
    (rb"^('[^\s|]*\s*|[^\s|]*)\|", "there is no label before {}", "missing-value",
     "write one, such as '1 | a b:0.5'"),
)  # fmt: skip
_OF_HEAD: Faults = (
    (rb"^shared(?!\S)", "lines share features", "unsupported", "give every row its own"),
    (rb"\S*[,:]\S*", "{} is a list or has costs", "bad-value", "keep one label per row"),
    (rb"(?<!\S)%b" % NOT_FINITE, "{} is not finite", "not-finite", "give a finite number"),
    (rb"(?<!\S)(?!%b(?!\S))\S+" % _NUMBER, "{} before the | is not a number", "not-a-number",
     "write '1 | a b:0.5'"),
    (rb"\S+(\s+\S+){3}", "{} are more numbers than a label and an importance", "bad-line",
     "leave the others out"),
    (rb"(?<=\s)-\S*[1-9]\S*", "the importance {} is negative", "out-of-range",
     "give a number from 0 on"),
)  # fmt: skip
_OF_FEATURES: Faults = (
    (rb"\|:[^\s|]*", "a namespace {} has no name", "bad-line", "write '|name:0.5 a b'"),
    (rb"[^\s|:]+:%b" % _END, "there is no value after {}", "missing-value", COMPLETE),
    (rb"(?<=:)[+-]?(?:nan|inf|infinity)%b" % _END, "the value {} is not finite", "not-finite",
     "give a finite number"),
    (rb"(?<![^\s]):(?![-+.0-9])[^\s|:]*%b" % _END, "{} has no name", "bad-line",
     "write it like a:0.5"),
    (rb"\|[^\s|:]+:(?!%b%b)[^\s|]*|(?<=[^\s|]:)(?=[-+.0-9]|[^\s|]*:)(?!%b%b)[^\s|]*"
     % (_NUMBER, _END, _NUMBER, _END), "{} is not a number", "not-a-number", "write it like 0.5"),
)  # fmt: skip


class Rules(NamedTuple):
    """How features become 2**bits columns: first bytes of pairs of namespaces whose features are
    multiplied, and of the namespaces that are left out.
    """

    bits: int = DEFAULT_BITS
    pairs: tuple[tuple[int, int], ...] = ()
    left_out: frozenset[int] = frozenset()


#: bytes of memory of a product of two features: its column and its value
PRODUCT_BYTES = 12


class VwSource(ScannedFiles):
    """Rows of files in Vowpal Wabbit's text format, as one stream.

    Columns are the same as in Vowpal Wabbit for the same text and bits, without its constant, which
    the intercept replaces. Batch.weights holds the importances. ``require_labels=False`` takes
    lines without labels; their Batch.y is None. Other options are those of :func:`open_source`.
    """

    kind = "vw"
    example = "1 | a b:0.5"
    row = re.compile(rb"[ \t\r]*[^ \t\r]")

    def __init__(
        self, paths: Sequence[str | File], *, bits: int = DEFAULT_BITS,
        interactions: Sequence[str] = (), ignore_namespaces: str | Sequence[str] | None = None,
        keep_namespaces: str | Sequence[str] | None = None, require_labels: bool = True,
        chunk_bytes: int = CHUNK_BYTES, threads: int | None = None, max_line: int = MAX_LINE,
    ):  # fmt: skip
        super().__init__(paths, chunk_bytes, threads, max_line)
        self._labeled = require_labels
        kept, ignored = (
            None if letters is None else "".join(letters)
            for letters in (keep_namespaces, ignore_namespaces)
        )  # fmt: skip
        self._given: dict[str, Any] = {
            "bits": bits, "interactions": list(interactions),
            "ignore_namespaces": ignored, "keep_namespaces": kept,
        }  # fmt: skip
        said, number = f"hash_bits is {bits}", "choose a number from 1 to 30"
        refuse(DataError, (not 1 <= bits <= 30, said, "bad-option", "hash_bits", number))
        pairs: dict[frozenset[int], tuple[int, int]] = {}
        for letters in interactions:
            pair, two = letters.encode(), "give the first letters of two namespaces, such as 'ab'"
            said, bad = f"The interaction {letters!r} is not a pair", len(pair) != 2 or b":" in pair
            refuse(DataError, (bad, said, "bad-option", "interactions", two))
            pairs.setdefault(frozenset(pair), (pair[0], pair[1]))
        only = kept.encode() if kept else range(256)
        left_out = frozenset(range(256)).difference(only) | {*(ignored or "").encode()}
        self.rules = Rules(bits, tuple(pairs.values()), left_out)

    def recipe(self) -> dict[str, Any]:
        return {"format": "vw", **self._given}

    def feature(self, column: int) -> str:
        return f"the feature of column {column}"

    def _scan(self, chunk: Chunk) -> ScannedChunk:
        return scan_chunk(chunk, self.rules, self._labeled, self._check_products)

    def _check_products(self, chunk: Chunk, size: int) -> None:
        if self.before_growth is not None:
            self.before_growth(size)
        path, shorter = self.paths[chunk.file], "leave out interactions of long namespaces"
        check_growth(path, chunk.size, size, shorter)

    def _explain(self, line: bytes, part: ScannedChunk) -> None:
        text = line.strip()
        head, bar, features = text.partition(b"|")
        said, one = f"there is no | before the features in {quoted(text)}", "write '1 | a b:0.5'"
        refuse(DataError, (not bar, said, "bad-line", None, one))
        refuse_faults(text, _UNLABELED if self._labeled else ())
        refuse_faults(numbers := _TAG.sub(b"", head).strip(), _OF_HEAD)
        label, _, base = (*map(float, numbers.split()), 0.0, 0.0, 0.0)[:3]
        refuse(
            DataError,
            (abs(label) >= LABELS_BELOW, f"the label {label} has too many digits", "not-exact",
             None, "shorten the labels"),
            (base, f"the base {base} is not 0", "unsupported", None, "remove it"),
        )  # fmt: skip
        refuse_faults(bar + features, _OF_FEATURES)
        said = "a number, product or sum is too large, or a namespace has a long number"
        raise DataError(said, "scale the features", "shorten the number", code="overflow")

    def names(self, line: bytes) -> dict[int, list[str]]:
        """Return the names of the features of a line, by their columns."""
        names, lines = list[tuple[int, bytes]](), list[bytes]()
        for start, *tokens in map(BLANKS.split, line.strip().split(b"|")[1:]):
            space, unnamed = start.partition(b":")[0], 0
            for token in filter(None, tokens):
                own, _, value = token.partition(b":")
                if value and not DECIMAL.fullmatch(value):  # text is part of the name
                    own = token
                names.append((ord(space[:1] or b" "), space + b"^" * bool(space) + own))
                # A feature without a name has the column of its number.
                lines.append(b"|%b %b%b" % (start, b"%d" % unnamed * (not own), token))
                unnamed += not own
        text = b"\n".join(lines)
        chunk = Chunk(0, bytearray(text + b"\n" * PADDING), len(text))
        part = scan_chunk(chunk, self.rules._replace(pairs=()), labeled=False)
        rows = np.flatnonzero(np.diff(part.starts))  # those that are read and not 0
        read = [(*names[row], int(part.columns[part.starts[row]])) for row in rows]
        found: dict[int, list[str]] = {}
        for _, name, column in read:
            found.setdefault(column, []).append(name.decode() or "(no name)")
        for pair in self.rules.pairs:
            left, right = ([one for one in read if one[0] == space] for space in pair)
            for k, (_, a, column) in enumerate(left):
                for _, b, other in right[k:] if pair[0] == pair[1] else right:
                    product = (FNV_PRIME * column ^ other) & (1 << self.rules.bits) - 1
                    found.setdefault(product, []).append((a + b"*" + b).decode())
        return {column: list(dict.fromkeys(names)) for column, names in found.items()}


def scan_chunk(
    chunk: Chunk,
    rules: Rules,
    labeled: bool,
    check_products: Callable[[Chunk, int], None] | None = None,
) -> ScannedChunk:
    """Read one chunk, padded by ``PADDING``; ``check_products`` receives the bytes of products of
    features before they are made.
    """
    text = np.frombuffer(chunk.text, np.uint8)
    left_out = np.zeros(256, dtype=bool)
    left_out[list(rules.left_out)] = True
    pairs, mask = np.array(rules.pairs, np.int64).reshape(-1, 2), (1 << rules.bits) - 1
    # hashes wrap around, which numpy warns about when not compiled
    with np.errstate(over="ignore"):
        lines, most = (int(n) for n in count(text, chunk.size))
        labels, importance = np.empty(lines), np.empty(lines)
        at, starts = np.empty(lines, np.int64), np.empty(lines + 1, np.int64)
        columns, values, spaces = np.empty(most, np.int32), np.empty(most), np.empty(most, np.uint8)
        deferred = np.empty((most + 2 * lines, 2), np.int64)
        factors = np.empty(len(deferred))
        out = labels, importance, at, starts, columns, values, spaces
        outcome, place, rows, n, late = scan(
            text, chunk.size, np.uint64(mask), left_out, out, deferred, factors
        )
        refused = [] if outcome == DONE else [int(place)]
        for (which, start), factor in zip(deferred[:late].tolist(), factors, strict=False):
            token = DECIMAL.match(chunk.text, start)
            assert token is not None
            own = values if which >= 0 else (labels, importance)[~which % 2]
            slot = which if which >= 0 else ~which // 2
            own[slot] = float(token[0]) * factor
            if not abs(own[slot]) < (LABELS_BELOW if own is labels else np.inf):
                refused.append(start)
        starts = starts[: rows + 1]
        if rules.pairs and check_products is not None:
            of_row = np.repeat(np.arange(rows), np.diff(starts))
            sizes = {k: np.bincount(of_row[spaces[:n] == k], minlength=rows) for k in {*pairs.flat}}
            products = sum(int(sizes[a] @ sizes[b]) for a, b in rules.pairs)
            check_products(chunk, PRODUCT_BYTES * products)
        filled = columns[:n], values[:n], spaces[:n], starts
        found, amounts, bounds, bad = combine(*filled, mask, pairs)
    labels = labels[:rows]
    refused += [] if bad < 0 else [int(at[bad])]
    refused += at[:rows][np.isnan(labels)][:1].tolist() if labeled else []
    try:
        str(memoryview(chunk.text)[: chunk.size], "utf-8")
    except UnicodeDecodeError as error:
        refused.append(error.start)
    return ScannedChunk(
        chunk.file, lines - 1, labels, found, amounts, bounds,
        line_at(chunk, min(refused)) if refused else None, importance[:rows], 1 << rules.bits,
    )  # fmt: skip
