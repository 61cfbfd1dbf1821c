"""Vowpal Wabbit's text: scanned by compiled code on several threads, yielded in file order.

A line is a label, an importance, a tag, and namespaces of features::

    1 2.5 'tag |words free prize |numbers:0.5 length:3 urgent

with blanks between them. A feature without ``:value`` is 1; the value of a namespace multiplies its
features. The format and its hash come from J. Langford, L. Li and A. Strehl, Vowpal Wabbit (2007).
The parser in plain Python, one line at a time, explains what the scanner refuses.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import islice
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import murmurhash3_32

from linsep.compiled.scanners.vowpal_wabbit import DONE, LABELS_BELOW, combine, count, scan
from linsep.errors import DataError, refuse
from linsep.sources.limits import MAX_LINE, MOST_GROWTH, WORTH_A_LOOK
from linsep.sources.lines import CHUNK_BYTES, Chunk, ScannedChunk, ScannedFiles, line_at
from linsep.sources.remote.file import File
from linsep.sources.svmlight import (
    BLANKS,
    DECIMAL,
    NOT_FINITE,
    parse_number,
    quoted,
)

DEFAULT_BITS = 18
MASK_32, MASK_64 = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF
#: prime of Fowler, Noll and Vo's hash, by which the columns of two features are combined
FNV_PRIME = 16777619
ANONYMOUS = ord(" ")
#: a value that is a number, or is to be one
_NUMBER = re.compile(rb"|[-+.0-9].*|.*:.*|" + NOT_FINITE.pattern, re.IGNORECASE | re.DOTALL)


class Rules(NamedTuple):
    """How features become 2**bits columns: first bytes of pairs of namespaces whose features are
    multiplied, and of the namespaces that are left out.
    """

    bits: int = DEFAULT_BITS
    pairs: tuple[tuple[int, int], ...] = ()
    left_out: frozenset[int] = frozenset()


class Feature(NamedTuple):
    """A feature of a row: column, value, first byte of its namespace, and name."""

    column: int
    value: float
    space: int
    name: bytes


class Line(NamedTuple):
    """A line: its label (None without one), importance and features, features of pairs last."""

    label: float | None
    importance: float
    features: list[Feature]


def parse_line(line: bytes, rules: Rules, labeled: bool = True) -> Line | None:
    """Read one line without its newline; None if it is blank.

    ``labeled`` refuses lines without a label.
    """
    content = line.removesuffix(b"\r").strip(b" \t")
    if not content:
        return None
    try:
        content.decode()
    except UnicodeDecodeError as error:
        said, save = f"byte {error.start + 1} is not UTF-8", "save the file as UTF-8"
        refuse(DataError, (True, said, "encoding", None, save))
    head, *spaces = content.split(b"|")
    said = f"there is no | before the features in {quoted(content)}"
    refuse(DataError, (not spaces, said, "bad-line", None, "write '1 | a b:0.5'"))
    label, importance = _parse_head(head, labeled)
    features = [one for space in spaces for one in _parse_namespace(space, rules)]
    mask, paired = (1 << rules.bits) - 1, []
    for first, second in rules.pairs:
        left, right = ([f for f in features if f.space == k] for k in (first, second))
        for k, a in enumerate(left):
            for b in right[k:] if first == second else right:
                column = (FNV_PRIME * a.column ^ b.column) & mask
                paired.append(Feature(column, a.value * b.value, 0, a.name + b"*" + b.name))
    return Line(label, importance, features + paired)


def _parse_head(head: bytes, labeled: bool) -> tuple[float | None, float]:
    tokens = [token for token in BLANKS.split(head) if token]
    tag = tokens.pop() if tokens and (tokens[-1][:1] == b"'" or head[-1:] not in b" \t") else b""
    bare, one = labeled and not tokens, "write one, such as '1 | a b:0.5'"
    listed = next((token for token in tokens if b"," in token or b":" in token), b"")
    refuse(
        DataError,
        (bare and DECIMAL.fullmatch(tag), f"{quoted(tag)} touches the |, which makes it a tag",
         "bad-line", None, "insert a blank"),
        (bare, "the line has no label", "missing-value", None, one),
        (tokens[:1] == [b"shared"], "lines share features", "unsupported", None,
         "give every row its own"),
        (len(tokens) > 3, f"there are {len(tokens)} numbers before the |", "bad-line", None,
         "write a label and an importance"),
        (listed, f"{quoted(listed)} is a list or has costs", "bad-value", None,
         "keep one label per row"),
    )  # fmt: skip
    what = ("the label", "the importance", "the base")
    numbers: list[Any] = [parse_number(*one, "'1 | a b:0.5'") for one in zip(tokens, what)]  # noqa: B905
    rest: list[Any] = [None, 1.0, 0.0]
    label, importance, base = numbers + rest[len(numbers) :]
    refuse(
        DataError,
        (abs(label or 0.0) >= LABELS_BELOW, f"the label {label} has too many digits", "not-exact",
         None, "shorten the labels"),
        (importance < 0, f"the importance {importance} is negative", "out-of-range", None,
         "give a number from 0 on"),
        (base, f"the base {base} is not 0", "unsupported", None, "remove it"),
    )  # fmt: skip
    return label, importance


def _parse_namespace(text: bytes, rules: Rules) -> Iterator[Feature]:
    start, *tokens = BLANKS.split(text)
    name, colon, written = start.partition(b":")
    said = f"a namespace {quoted(start)} has no name"
    refuse(DataError, (colon and not name, said, "bad-line", None, "write '|name:0.5 a b'"))
    weight = parse_number(written, f"the value of {quoted(name)}", "0.5") if colon else 1.0
    space, seed = name[0] if name else ANONYMOUS, hash_name(name, 0) if name else 0
    unnamed, read = 0, weight and space not in rules.left_out
    for token in filter(None, tokens):
        own, colon, written = token.partition(b":")
        value, place = weight, hash_name(own, seed)
        if colon and not _NUMBER.fullmatch(written):  # text, which is hashed like a name
            said = f"{quoted(token)} has no name"
            refuse(DataError, (not own, said, "bad-line", None, "write it like a:0.5"))
            place, value, own = hash_name(written, place), 1.0, token
        elif colon and read:
            value *= parse_number(written, f"the value of {quoted(own)}", "0.5")
        if not own:
            place, unnamed = seed + unnamed, unnamed + 1
        said = f"{quoted(token)} is too large for float64"
        refuse(DataError, (not isfinite(value), said, "overflow", None, "scale it"))
        if value and read:
            full = name + b"^" + own if name else own
            yield Feature(place & (1 << rules.bits) - 1, value, space, full)


def summed(features: list[Feature]) -> dict[int, float]:
    """Return the sum of the values of each column, columns in order."""
    found: dict[int, float] = {}
    for one in features:
        found[one.column] = found.get(one.column, 0.0) + one.value
    said, finite = "a sum of features is too large for float64", all(map(isfinite, found.values()))
    refuse(DataError, (not finite, said, "overflow", None, "scale the features"))
    return dict(sorted(found.items()))


def hash_name(name: bytes, seed: int) -> int:
    """Return the hash of a name: a whole number is added to the seed, other names are scrambled by
    the 32-bit MurmurHash3 (A. Appleby, 2011).
    """
    name = name.strip(bytes(range(33)))
    if not name.strip(b"0123456789"):
        return (int(name or b"0") + seed) & MASK_64
    return int(murmurhash3_32(name, seed & MASK_32, positive=True))


#: bytes of memory of a product of two features: its column and its value
PRODUCT_BYTES = 12


class VwSource(ScannedFiles):
    """Rows of files in Vowpal Wabbit's text format, as one stream.

    Columns are the same as in Vowpal Wabbit for the same text and bits, without its constant, which
    the intercept replaces. Batch.weights holds the importances.

    Parameters
    ----------
    bits : int
        There are 2**bits columns, 1 to 30.
    interactions : list of str
        Pairs of first letters of namespaces whose features are multiplied, such as "ab".
    ignore_namespaces, keep_namespaces : str, list of str or None
        First letters of the namespaces to leave out, or of the only ones to read.
    require_labels : bool
        False takes lines without labels; their Batch.y is None.
    paths, chunk_bytes, threads, max_line : as for :class:`linsep.sources.lines.ScannedFiles`
    """

    kind = "vw"
    example = "1 | a b:0.5"
    written, called = re.compile(r"(\S+?):([-+]?[0-9]+)(?=[\s|]|$)"), "feature '{}'"
    row = re.compile(rb"[ \t\r]*[^ \t\r]")

    def __init__(
        self,
        paths: Sequence[str | File],
        *,
        bits: int = DEFAULT_BITS,
        interactions: Sequence[str] = (),
        ignore_namespaces: str | Sequence[str] | None = None,
        keep_namespaces: str | Sequence[str] | None = None,
        require_labels: bool = True,
        chunk_bytes: int = CHUNK_BYTES,
        threads: int | None = None,
        max_line: int = MAX_LINE,
    ):
        super().__init__(paths, chunk_bytes, threads, max_line)
        ignored, kept = (
            letters and "".join(letters) for letters in (ignore_namespaces, keep_namespaces)
        )
        self._given: dict[str, Any] = {
            "bits": bits, "interactions": list(interactions),
            "ignore_namespaces": ignored, "keep_namespaces": kept,
        }  # fmt: skip
        self.rules = rules_of(**self._given)
        self._labeled = require_labels

    def recipe(self) -> dict[str, Any]:
        return {"format": "vw", **self._given}

    def namespaces(self, rows: int) -> bytes:
        """Return the bytes with which the namespaces of the first ``rows`` begin, in order."""
        with closing(self._data_lines()) as lines:
            text = b"\n".join(line for _, _, line in islice(lines, rows))
        return bytes(sorted({(name or b" ")[0] for name in re.findall(rb"\|([^ \t|:]?)", text)}))

    def feature(self, column: int) -> str:
        return f"the feature of column {column}"

    def _scan(self, chunk: Chunk) -> ScannedChunk:
        return scan_chunk(chunk, self.rules, self._labeled, self._check_products)

    def _check_products(self, chunk: Chunk, products: int) -> None:
        """Refuse text whose interactions would take far more memory than it has bytes."""
        growth = products * PRODUCT_BYTES
        if self.before_growth is not None:
            self.before_growth(growth)
        if growth > WORTH_A_LOOK and growth > MOST_GROWTH * chunk.size:
            raise DataError(
                f"{self.paths[chunk.file]} grows to more than {MOST_GROWTH} times its size when "
                "its interactions are formed",
                "leave out interactions of long namespaces",
                code="too-large",
                path=self.paths[chunk.file],
            )

    def _parse(self, line: bytes, part: ScannedChunk) -> None:
        if found := parse_line(line, self.rules, self._labeled):
            summed(found.features)


def rules_of(
    bits: int, interactions: Sequence[str], ignore_namespaces: str | None,
    keep_namespaces: str | None,
) -> Rules:  # fmt: skip
    said, number = f"hash_bits is {bits}", "choose a number from 1 to 30"
    refuse(DataError, (not 1 <= bits <= 30, said, "bad-option", "hash_bits", number))
    found: list[tuple[int, int]] = []
    for letters in interactions:
        pair = letters.encode()
        said = f"The interaction {letters!r} is not a pair"
        two = "give the first letters of two namespaces, such as 'ab'"
        refuse(DataError, (len(pair) != 2 or b":" in pair, said, "bad-option", "interactions", two))
        if (pair[0], pair[1]) not in found and (pair[1], pair[0]) not in found:
            found.append((pair[0], pair[1]))
    left_out: frozenset[int] = frozenset((ignore_namespaces or "").encode())
    if keep_namespaces:
        left_out |= frozenset(range(256)) - frozenset(keep_namespaces.encode())
    return Rules(bits, tuple(found), left_out)


def scan_chunk(
    chunk: Chunk,
    rules: Rules,
    labeled: bool,
    check_products: Callable[[Chunk, int], None] | None = None,
) -> ScannedChunk:
    """Read one chunk, padded by ``PADDING``; ``check_products`` receives the number of products of
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
            check_products(chunk, sum(int(sizes[a] @ sizes[b]) for a, b in rules.pairs))
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
