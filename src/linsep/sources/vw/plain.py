"""Vowpal Wabbit's text format read in plain Python, one line at a time.

A line is a label, what it counts, a tag, and namespaces of features::

    1 2.5 'tag |words free prize |numbers:0.5 length:3 urgent

with blanks between them. A feature without ``:value`` is 1; the value of a namespace multiplies its
features. The format and its hash are those of J. Langford, L. Li and A. Strehl, Vowpal Wabbit
(2007).
"""

import re
from math import isfinite
from typing import NamedTuple

from linsep.sources.svmlight.plain import BLANKS, DECIMAL, LABELS_BELOW, NOT_FINITE, refuse, show

DEFAULT_BITS = 18
MASK_32, MASK_64 = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF
#: prime of Fowler, Noll and Vo's hash, by which the columns of two features are combined
FNV_PRIME = 16777619
ANONYMOUS = ord(" ")
_NAMESPACE = re.compile(rb"[^ \t:|]*")
_TOKEN = re.compile(rb"[^ \t|]+")
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
    """A line: its label (None without one), importance and features, those of pairs last."""

    label: float | None
    importance: float
    features: list[Feature]


def parse_line(line: bytes, rules: Rules, labelled: bool = True) -> Line | None:
    """Read one line without its newline; None if it is blank.

    ``labelled`` refuses lines without a label.
    """
    content = line.removesuffix(b"\r").rstrip(b" \t")
    if not content.lstrip(b" \t"):
        return None
    try:
        content.decode()
    except UnicodeDecodeError as error:
        refuse(f"byte {error.start + 1} is not UTF-8: save the file as UTF-8")
    head, bar, _ = content.partition(b"|")
    if not bar:
        refuse(f"there is no | before the features in {show(content)}: write '1 | a b:0.5'")
    label, importance = _parse_head(head, labelled)
    features: list[Feature] = []
    at = len(head)
    while at < len(content):
        at = _parse_namespace(content, at + 1, rules, features)
    return Line(label, importance, features + list(_paired(features, rules)))


def _parse_head(head: bytes, labelled: bool) -> tuple[float | None, float]:
    """Return label and importance, which stand before the first bar."""
    tokens = BLANKS.split(head.strip(b" \t")) if head.strip(b" \t") else []
    tag = None
    if tokens and (tokens[-1][:1] == b"'" or head[-1:] not in b" \t"):
        tag = tokens.pop()
    if not tokens:
        if labelled and tag is not None and DECIMAL.fullmatch(tag):
            refuse(f"{show(tag)} touches the |, which makes it a tag: put a blank between them")
        if labelled:
            refuse("the line has no label: begin it with one, such as '1 | a b:0.5'")
        return None, 1.0
    if tokens[0] == b"shared":
        refuse(
            "the line is shared by those after it, which belongs to contextual bandits: give every "
            "row its own features"
        )
    if len(tokens) > 3:
        refuse(
            f"there are {len(tokens)} numbers before the |: write one label, and then what the row "
            "counts"
        )
    label = _number(tokens[0], "label")
    if abs(label) >= LABELS_BELOW:
        refuse(f"the label {show(tokens[0])} has too many digits: shorten the labels")
    importance = _number(tokens[1], "importance") if len(tokens) > 1 else 1.0
    if importance < 0:
        refuse(f"the importance {show(tokens[1])} is negative: give a number of at least 0")
    if len(tokens) > 2 and _number(tokens[2], "base") != 0:
        refuse(f"the base {show(tokens[2])} is no 0, and linsep starts every score at 0: remove it")
    return label, importance


def _number(token: bytes, what: str) -> float:
    """Return a finite number that stands before the bar."""
    if b"," in token or b":" in token:
        refuse(f"the {what} {show(token)} is a list or has costs: keep one label a row")
    if NOT_FINITE.fullmatch(token):
        refuse(f"the {what} {show(token)} is not finite: give a finite number")
    if not DECIMAL.fullmatch(token):
        refuse(f"the {what} {show(token)} is not a number: write '1 | a b:0.5'")
    if not isfinite(float(token)):
        refuse(f"the {what} {show(token)} is too large: give a smaller number")
    return float(token)


def _parse_namespace(text: bytes, at: int, rules: Rules, features: list[Feature]) -> int:
    """Add the features of the namespace whose bar is before ``at``; return where it ends."""
    found = _NAMESPACE.match(text, at)
    assert found is not None
    name, at, weight = found[0], found.end(), 1.0
    if text[at : at + 1] == b":":
        token = _TOKEN.match(text, at)
        assert token is not None
        if not name:
            refuse(f"the namespace before {show(token[0])} has no name: write '|name:0.5 a b'")
        weight, at = _value(token[0][1:], name), token.end()
    space, seed = name[0] if name else ANONYMOUS, hash_name(name, 0) if name else 0
    end = text.find(b"|", at)
    end = len(text) if end < 0 else end
    unnamed = 0
    for token in _TOKEN.finditer(text, at, end):
        own, colon, written = token[0].partition(b":")
        value, place, factor = 1.0, seed, weight
        if own:
            place = hash_name(own, seed)
        elif not colon:
            continue
        if colon and _is_text(written):
            if own:
                place, factor = hash_name(written, place), 1.0  # as in Vowpal Wabbit
                own = own + b":" + written
            else:
                refuse(f"{show(token[0])} has no name before its text: write it like a:0.5")
        elif colon:
            value = _value(written, own)
        if not own:
            place, unnamed = seed + unnamed, unnamed + 1
        value *= factor
        if not isfinite(value):
            refuse(f"{show(token[0])} times the weight of its namespace is too large: scale it")
        if value and space not in rules.left_out:
            full = name + b"^" + own if name else own
            features.append(Feature(place & (1 << rules.bits) - 1, value, space, full))
    return end


def _is_text(written: bytes) -> bool:
    """Return whether what stands for a value is text, which is hashed like a name."""
    if not written or _STARTS_A_NUMBER.match(written) or b":" in written:
        return False
    return NOT_FINITE.fullmatch(written) is None


def _value(token: bytes, name: bytes) -> float:
    """Return the value of a feature or namespace."""
    if not token:
        refuse(f"the value after {show(name + b':')} is missing: complete the line, it may be cut")
    if NOT_FINITE.fullmatch(token):
        refuse(f"the value {show(token)} is not finite: leave it out or give a number")
    if not DECIMAL.fullmatch(token):
        refuse(f"the value {show(token)} is not a number: write it like a:0.5")
    if not isfinite(float(token)):
        refuse(f"the value {show(token)} is too large for float64: scale the feature")
    return float(token)


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
                    refuse(f"{show(name)} is too large for float64: scale the features")
                found.append(Feature(column, value, 0, name))
    return found


def summed(features: list[Feature]) -> dict[int, float]:
    """Return the sum of the values of each column, columns in order."""
    found: dict[int, float] = {}
    for one in features:
        found[one.column] = found.get(one.column, 0.0) + one.value
        if not isfinite(found[one.column]):
            refuse(f"the sum of {show(one.name)} is too large for float64: scale the features")
    return dict(sorted(found.items()))


def hash_name(name: bytes, seed: int) -> int:
    """Return the hash of a name: a whole number counts from the seed, all else is scrambled."""
    start = 0
    while start < len(name) and name[start] <= 0x20:
        start += 1
    end = len(name)
    while end > start and name[end - 1] <= 0x20:
        end -= 1
    name = name[start:end]
    if all(48 <= byte <= 57 for byte in name):
        return (int(name or b"0") + seed) & MASK_64
    return murmurhash3(name, seed & MASK_32)


def murmurhash3(key: bytes, seed: int) -> int:
    """Return the 32-bit MurmurHash3 of ``key`` (A. Appleby, 2011)."""
    h = seed
    for start in range(0, len(key), 4):
        k = int.from_bytes(key[start : start + 4], "little") * 0xCC9E2D51 & MASK_32
        k = (k << 15 | k >> 17) * 0x1B873593 & MASK_32
        h ^= k
        if start + 4 <= len(key):
            h = ((h << 13 | h >> 19) * 5 + 0xE6546B64) & MASK_32
    h ^= len(key)
    h = (h ^ h >> 16) * 0x85EBCA6B & MASK_32
    h = (h ^ h >> 13) * 0xC2B2AE35 & MASK_32
    return h ^ h >> 16
