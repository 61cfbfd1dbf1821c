"""Vowpal Wabbit's text: scanned by compiled code on several threads, yielded in file order.

A line is a label, an importance, a tag, and namespaces of features::

    1 2.5 'tag |words free prize |numbers:0.5 length:3 urgent

with blanks between them. A feature without ``:value`` is 1; the value of a namespace multiplies its
features. The format and its hash come from J. Langford, L. Li and A. Strehl, Vowpal Wabbit (2007).
The parser in plain Python, one line at a time, explains what the scanner refuses.
"""

import re
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from itertools import islice
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import murmurhash3_32

from linsep.batches import Batch
from linsep.compiled.scanners.vowpal_wabbit import DONE, PLAINLY, combine, count, scan
from linsep.errors import DataError
from linsep.sources.limits import MAX_LINE, MOST_GROWTH, WORTH_A_LOOK
from linsep.sources.lines import CHUNK_BYTES, Chunk, ScannedChunk, ScannedFiles, line_at
from linsep.sources.remote.file import File
from linsep.sources.svmlight import (
    BLANKS,
    DECIMAL,
    LABELS_BELOW,
    NO_DECIMAL,
    NOT_FINITE,
    parse_value,
    quoted,
    refuse,
    refuse_faults,
)

DEFAULT_BITS = 18
MASK_32, MASK_64 = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF
#: prime of Fowler, Noll and Vo's hash, by which the columns of two features are combined
FNV_PRIME = 16777619
ANONYMOUS = ord(" ")
_LISTS = re.compile(rb".*[,:].*", re.DOTALL)
_STARTS_A_NUMBER = re.compile(rb"[-+.0-9]")


class Rules(NamedTuple):
    """How features become columns.

    Attributes
    ----------
    bits : int
        There are 2**bits columns.
    pairs : tuple of (int, int)
        First bytes of the namespaces whose features are multiplied with each other.
    left_out : frozenset of int
        First bytes of the namespaces that are not read.
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
    content = line.removesuffix(b"\r").rstrip(b" \t")
    if not content.lstrip(b" \t"):
        return None
    try:
        content.decode()
    except UnicodeDecodeError as error:
        refuse("encoding", f"byte {error.start + 1} is not UTF-8: save the file as UTF-8")
    head, *spaces = content.split(b"|")
    if not spaces:
        refuse(
            "bad-line",
            f"there is no | before the features in {quoted(content)}: write '1 | a b:0.5'",
        )
    label, importance = _parse_head(head, labeled)
    features = [one for space in spaces for one in _parse_namespace(space, rules)]
    return Line(label, importance, features + list(_paired(features, rules)))


def _parse_head(head: bytes, labeled: bool) -> tuple[float | None, float]:
    """Return label and importance, which stand before the first bar."""
    tokens = BLANKS.split(head.strip(b" \t")) if head.strip(b" \t") else []
    if tokens and (tokens[-1][:1] == b"'" or head[-1:] not in b" \t"):
        tag = tokens.pop()
        if labeled and not tokens and DECIMAL.fullmatch(tag):
            refuse("bad-line", f"{quoted(tag)} touches the |, which makes it a tag: insert a blank")
    if not tokens:
        if labeled:
            refuse("missing-value", "the line has no label: write one, such as '1 | a b:0.5'")
        return None, 1.0
    if tokens[0] == b"shared":
        refuse("unsupported", "lines share features: give every row its own")
    if len(tokens) > 3:
        refuse(
            "bad-line",
            f"there are {len(tokens)} numbers before the |: write a label and an importance",
        )
    numbers = [*map(_number, tokens, ("label", "importance", "base"))]
    label, importance, base = numbers + [1.0, 0.0][len(numbers) - 1 :]
    if abs(label) >= LABELS_BELOW:
        refuse(
            "not-exact", f"the label {quoted(tokens[0])} has too many digits: shorten the labels"
        )
    if importance < 0:
        refuse(
            "out-of-range",
            f"the importance {quoted(tokens[1])} is negative: give a number of at least 0",
        )
    if base:
        refuse("unsupported", f"the base {quoted(tokens[2])} is not 0: remove it")
    return label, importance


def _number(token: bytes, what: str) -> float:
    """Return a finite number that stands before the bar."""
    said = f"the {what} {{}} is"
    refuse_faults(
        token,
        (
            (_LISTS, "bad-value", f"{said} a list or has costs: keep one label per row"),
            (NOT_FINITE, "not-finite", f"{said} not finite: give a finite number"),
            (NO_DECIMAL, "not-a-number", f"{said} not a number: write '1 | a b:0.5'"),
        ),
    )
    if not isfinite(float(token)):
        refuse("overflow", f"the {what} {quoted(token)} is too large: give a smaller number")
    return float(token)


def _parse_namespace(text: bytes, rules: Rules) -> Iterator[Feature]:
    """Yield the features of a namespace, whose text follows its bar."""
    start, *tokens = BLANKS.split(text)
    name, colon, written = start.partition(b":")
    if colon and not name:
        refuse("bad-line", f"a namespace {quoted(start)} has no name: write '|name:0.5 a b'")
    weight = parse_value(written, name, "it", "a:0.5") if colon else 1.0
    space, seed = name[0] if name else ANONYMOUS, hash_name(name, 0) if name else 0
    unnamed = 0
    for token in filter(None, tokens):
        own, colon, written = token.partition(b":")
        value, place = weight, hash_name(own, seed)
        if colon and _is_text(written):
            if not own:
                refuse("bad-line", f"{quoted(token)} has no name: write it like a:0.5")
            place, value, own = hash_name(written, place), 1.0, token  # as in Vowpal Wabbit
        elif colon:
            value *= parse_value(written, own, "it", "a:0.5")
        if not own:
            place, unnamed = seed + unnamed, unnamed + 1
        if not isfinite(value):
            refuse(
                "overflow",
                f"{quoted(token)} times the weight of its namespace is too large: scale it",
            )
        if value and space not in rules.left_out:
            full = name + b"^" + own if name else own
            yield Feature(place & (1 << rules.bits) - 1, value, space, full)


def _is_text(written: bytes) -> bool:
    """Return whether a value is text, which is hashed like a name."""
    if not written or _STARTS_A_NUMBER.match(written) or b":" in written:
        return False
    return NOT_FINITE.fullmatch(written) is None


def _paired(features: list[Feature], rules: Rules) -> list[Feature]:
    """Return the products of the features of each pair of namespaces, one column each."""
    found = []
    for first, second in rules.pairs:
        left = [one for one in features if one.space == first]
        right = [one for one in features if one.space == second]
        for k, a in enumerate(left):
            for b in right[k:] if first == second else right:
                column = (FNV_PRIME * a.column ^ b.column) & (1 << rules.bits) - 1
                name, value = a.name + b"*" + b.name, a.value * b.value
                if not isfinite(value):
                    refuse(
                        "overflow", f"{quoted(name)} is too large for float64: scale the features"
                    )
                found.append(Feature(column, value, 0, name))
    return found


def summed(features: list[Feature]) -> dict[int, float]:
    """Return the sum of the values of each column, columns in order."""
    found: dict[int, float] = {}
    for one in features:
        found[one.column] = found.get(one.column, 0.0) + one.value
        if not isfinite(found[one.column]):
            refuse(
                "overflow",
                f"the sum of {quoted(one.name)} is too large for float64: scale the features",
            )
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
#: features with whole numbers
WRITTEN = re.compile(r"(\S+?):([-+]?[0-9]+)(?=[\s|]|$)")


class VwSource(ScannedFiles):
    """Rows of files in Vowpal Wabbit's text format, as one stream.

    Columns are the same as in Vowpal Wabbit for the same text and bits, without its constant, which
    the intercept replaces. Batch.weights holds the importances.

    Parameters
    ----------
    paths : list of Path
        Text files; those ending in .gz, .bz2 and .zst are decompressed while reading.
    bits : int
        There are 2**bits columns, 1 to 30.
    interactions : list of str
        Pairs of first letters of namespaces whose features are multiplied, such as "ab".
    ignore_namespaces, keep_namespaces : str or None
        First letters of the namespaces to leave out, or of the only ones to read.
    require_labels : bool
        False takes lines without labels; their Batch.y is None.
    chunk_bytes, threads, max_line : as for :class:`linsep.sources.svmlight.SvmlightSource`
    """

    kind = "vw"
    example = "1 | a b:0.5"
    written, called = WRITTEN, "feature '{}'"

    def __init__(
        self,
        paths: Sequence[str | File],
        *,
        bits: int = DEFAULT_BITS,
        interactions: Sequence[str] = (),
        ignore_namespaces: str | None = None,
        keep_namespaces: str | None = None,
        require_labels: bool = True,
        chunk_bytes: int = CHUNK_BYTES,
        threads: int | None = None,
        max_line: int = MAX_LINE,
    ):
        super().__init__(paths, chunk_bytes, threads, max_line)
        self._given: dict[str, Any] = {
            "bits": bits, "interactions": list(interactions),
            "ignore_namespaces": ignore_namespaces, "keep_namespaces": keep_namespaces,
        }  # fmt: skip
        self.rules = rules_of(**self._given)
        self._labeled = require_labels

    def recipe(self) -> dict[str, Any]:
        """Return the format and the rules."""
        return {"format": "vw", **self._given}

    def options(self) -> dict[str, Any]:
        """Return the recipe."""
        return self.recipe()

    def namespaces(self, rows: int) -> bytes:
        """Return the bytes with which the namespaces of the first ``rows`` begin, in order."""
        found: set[int] = set()
        with closing(self._data_lines()) as lines:
            for _, _, line in islice(lines, rows):
                read = parse_line(line, Rules(self.rules.bits), self._labeled)
                found |= {feature.space for feature in read.features} if read else set()
        return bytes(sorted(found))

    def feature(self, column: int) -> str:
        """By its column."""
        return f"the feature of column {column}"

    def _scanned(self) -> Generator[Batch, None, None]:
        with closing(self._parts()) as parts:
            for first, part in parts:
                if part.labels.size:
                    assert part.importance is not None
                    self.weighted = self.weighted or bool((part.importance != 1).any())
                    unlabeled = np.isnan(part.labels).any()
                    y = None if unlabeled else part.labels
                    yield Batch(self._matrix(part, 1 << self.rules.bits), y, first, part.importance)

    def _scan(self, chunk: Chunk) -> ScannedChunk:
        return scan_chunk(chunk, self.rules, self._labeled, self._check_products)

    def _check_products(self, chunk: Chunk, products: int) -> None:
        """Refuse text whose interactions would take far more memory than it has bytes."""
        if self.before_growth is not None:
            self.before_growth(products * PRODUCT_BYTES)
        growth = products * PRODUCT_BYTES
        if growth > WORTH_A_LOOK and growth > MOST_GROWTH * chunk.size:
            raise DataError(
                f"{self.paths[chunk.file]} grows to more than {MOST_GROWTH} times its size when "
                "its interactions are formed",
                "leave out interactions of long namespaces",
                code="too-large",
                path=self.paths[chunk.file],
            )

    def _parse(self, line: bytes, part: ScannedChunk) -> None:
        read_plainly(line, self.rules, self._labeled)

    def _is_row(self, line: bytes) -> bool:
        return bool(line.strip(b" \t\r"))


def rules_of(
    bits: int, interactions: Sequence[str], ignore_namespaces: str | None,
    keep_namespaces: str | None,
) -> Rules:  # fmt: skip
    """Return checked rules; raise DataError if they are invalid."""
    if not 1 <= bits <= 30:
        raise DataError(
            f"hash_bits is {bits}: choose a number from 1 to 30.",
            code="bad-option", option="hash_bits", value=bits,
        )  # fmt: skip
    found: list[tuple[int, int]] = []
    for letters in interactions:
        pair = letters.encode()
        if len(pair) != 2 or b":" in pair:
            raise DataError(
                f"The interaction {letters!r} is not a pair: give the first letters of two "
                "namespaces, such as 'ab'.",
                code="bad-option", option="interactions", value=letters,
            )  # fmt: skip
        if (pair[0], pair[1]) not in found and (pair[1], pair[0]) not in found:
            found.append((pair[0], pair[1]))
    left_out: frozenset[int] = frozenset((ignore_namespaces or "").encode())
    if keep_namespaces:
        left_out |= frozenset(range(256)) - frozenset(keep_namespaces.encode())
    return Rules(bits, tuple(found), left_out)


def checked_recipe(recipe: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of :class:`VwSource` in a recipe; raise DataError if it is damaged."""
    names = ("bits", "interactions", "ignore_namespaces", "keep_namespaces")
    try:
        found = {name: recipe[name] for name in names}
        rules_of(**found)
    except (KeyError, TypeError, AttributeError, DataError):
        raise DataError(
            "The recipe for reading Vowpal Wabbit's text is damaged: train the model again.",
            code="bad-model-file",
        ) from None
    return found


def read_plainly(line: bytes, rules: Rules, labeled: bool) -> tuple[Line, dict[int, float]] | None:
    """Return a line and the values of its columns, by the plain parser; None if it is blank."""
    found = parse_line(line, rules, labeled)
    return None if found is None else (found, summed(found.features))


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
    with np.errstate(
        over="ignore"
    ):  # hashes wrap around, which numpy warns about when not compiled
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
        if outcome == PLAINLY:
            return scan_plainly(chunk, rules, labeled)
        refused = [] if outcome == DONE else [int(place)]
        for (which, start), factor in zip(deferred[:late].tolist(), factors, strict=False):
            token = DECIMAL.match(chunk.text, start)
            assert token is not None
            own = values if which >= 0 else (labels, importance)[(-1 - which) % 2]
            slot = which if which >= 0 else (-1 - which) // 2
            own[slot] = float(token[0]) * factor
            bound = LABELS_BELOW if own is labels else np.inf
            if not abs(own[slot]) < bound:
                refused.append(start)
        filled = columns[:n], values[:n], spaces[:n], starts[: rows + 1]
        if rules.pairs and check_products is not None:
            check_products(chunk, number_of_products(spaces[:n], starts[: rows + 1], rules.pairs))
        found, amounts, bounds, bad = combine(*filled, mask, pairs)
    refused += [] if bad < 0 else [int(at[bad])]
    if labeled and np.isnan(labels[:rows]).any():
        refused.append(int(at[np.argmax(np.isnan(labels[:rows]))]))
    try:
        str(memoryview(chunk.text)[: chunk.size], "utf-8")
    except UnicodeDecodeError as error:
        refused.append(error.start)
    return ScannedChunk(
        chunk.file, lines - 1, labels[:rows], found, amounts, bounds,
        line_at(chunk, min(refused)) if refused else None, importance[:rows],
    )  # fmt: skip


def number_of_products(
    spaces: np.ndarray, starts: np.ndarray, pairs: Sequence[tuple[int, int]]
) -> int:
    """Return how many products of features the pairs of namespaces of all rows have."""

    def counts(letter: int) -> np.ndarray:
        passed = np.concatenate([[0], np.cumsum(spaces == letter)])
        of_rows: np.ndarray = np.diff(passed[starts])
        return of_rows

    return sum(int((counts(left) * counts(right)).sum()) for left, right in pairs)


def scan_plainly(chunk: Chunk, rules: Rules, labeled: bool) -> ScannedChunk:
    """Read a chunk in plain Python, which takes about a hundred times as long."""
    heads: list[tuple[float, float]] = []
    sums: list[dict[int, float]] = []
    lines = bytes(memoryview(chunk.text)[: chunk.size]).split(b"\n")
    refused = None
    for number, line in enumerate(lines):
        try:
            found = read_plainly(line, rules, labeled)
        except DataError:
            refused = number, line
            break
        if found is not None:
            label = np.nan if found[0].label is None else found[0].label
            heads.append((label, found[0].importance))
            sums.append(found[1])
    labels, importance = np.array(heads).reshape(-1, 2).T.copy()
    return ScannedChunk(
        chunk.file, len(lines) - 1, labels,
        np.array([column for row in sums for column in row], np.int32),
        np.array([value for row in sums for value in row.values()], np.float64),
        np.cumsum([0, *map(len, sums)]), refused, importance,
    )  # fmt: skip
