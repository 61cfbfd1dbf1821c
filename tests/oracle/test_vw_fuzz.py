"""Vowpal Wabbit's text against others: the plain reader, and columns that Vowpal Wabbit printed."""

import re
import struct
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st

from linsep.compiled.scanners.numbers import PADDING
from linsep.sources.lines import Chunk
from linsep.sources.vw import Rules, scan_chunk
from thoroughness import examples
from whole_files import hash_name, parse_vw

pytestmark = pytest.mark.both


def bits(value):
    return struct.pack("d", value)


def scanned(text, rules, labeled):
    """What the scanner makes of a text, like :func:`read`."""
    padded = bytearray(text + b"\n" * PADDING)
    found = scan_chunk(Chunk(0, padded, len(text)), rules, labeled)
    if found.refused is not None:
        return found.refused[0] + 1
    rows = []
    for k, (a, b) in enumerate(pairwise(found.starts.tolist())):
        features = zip(found.columns[a:b].tolist(), map(bits, found.values[a:b]), strict=True)
        rows.append((bits(found.labels[k]), bits(found.importance[k]), list(features)))
    return rows


def read(text, rules, labeled):
    rows = []
    for number, line in enumerate(text.split(b"\n"), 1):
        try:
            found = parse_vw(line, rules, labeled)
        except ValueError:
            return number
        if found is not None:
            label, importance, _, sums = found
            features = [(column, bits(value)) for column, value in sums.items()]
            rows.append((bits(label), bits(importance), features))
    return rows


alphabet = st.sampled_from(
    [*b"0123456789", *b"  ||::\n\n..--++eE',\t\r", *b"abnif\x00\x0b\xff\xc3\xa9"]
)
tokens = st.sampled_from(
    [
        b"\n1 |", b"\n-1 2 'tag |", b"\n|", b"\n1 2 0 |", b"\r\n", b" ", b"\t", b"|", b" |a",
        b" |b:0.5", b" |12:-2", b" |a:1e-400", b" |b:0", b" a", b" b:0.5", b" abc:-1.5e3",
        b" 12:2", b" 007", b" x:text", b" :3", b" :", b" a:nan", b" a:infinity", b" a:1e400",
        b" a:1e308", b" a:0.1234567890123456789012345678901", b" a:1e-400", b" \xc3\xa9",
        b" a:0.10000000000000000000000000000000001", b" 18446744073709551616", b" \xff",
        b" a:1:2", b" a:x:y", b"\n1 -1 |", b"\n1,2 |", b"\n1 2 3 4 |", b"\nshared |", b"\n1|",
        b"\n9007199254740993 |", b"\n1 0.30000000000000000000000000000004 |", b"\n", b"\x00",
        b"\n1 1 0.10000000000000000000000000000001 |",
    ]
)  # fmt: skip
arbitrary = st.one_of(
    st.binary(max_size=200),
    st.lists(alphabet, max_size=120).map(bytes),
    st.lists(tokens, max_size=40).map(b"".join),
)
rules = st.sampled_from(
    [
        Rules(),
        Rules(30, ((97, 98),)),
        Rules(3, ((97, 97), (98, 32)), frozenset(b"1")),
        Rules(1, (), frozenset(range(256)) - {97}),
    ]
)


@examples(700, 100)
@given(arbitrary, rules, st.booleans())
def test_arbitrary_bytes(text, rules, labeled):
    # The weight of a namespace must not have so many digits that Python has to read it.
    text = re.sub(rb"(\|[^\s:|]*:[-+.0-9]*)([0-9.]{17}|[eE])", rb"\1", text)
    assert scanned(text, rules, labeled) == read(text, rules, labeled)


@pytest.mark.compiled
@pytest.mark.parametrize("bits", [1, 8, 18, 30])
def test_long_rows(bits):
    """Sorted by digits; equal columns are summed in the order of the line."""
    rng = np.random.default_rng(bits)
    lines = [
        " ".join(f"w{name}:{value:.3f}" for name, value in zip(*pair, strict=True))
        for size in (23, 24, 25, 64, 65, 1000)
        for pair in [(rng.integers(0, size, size), rng.normal(size=size))]
    ]
    text = "".join(f"1 | {line}\n" for line in lines).encode()
    for pairs in ((), ((32, 32),))[: 1 + (bits == 18)]:
        assert scanned(text, Rules(bits, pairs), True) == read(text, Rules(bits, pairs), True)


#: from ``vw --audit`` 9.11
RECORDED = [
    (b"1 |a x y:2 12 |b z:0.5 |c w", [], [55432, 42847, 92606, 124687, 64070]),
    (b"1 | x :3 :4 :0 :5", [], [170779, 0, 1, 3]),
    (b"1 |7 x 12", [], [13408, 19]),
    (b"1 | \xc3\xa9 \xc3\xa9t\xc3\xa9 18446744073709551616", [], [67463, 222735, 0]),
    (b"1 |a x:abc", [], [249710]),
    (b"1 |a x y:2 |b z:0.5", ["ab"], [55432, 42847, 124687, 80151, 171394]),
    (b"1 |a x |b z:0.5", ["ba"], [55432, 124687, 156693]),
    (b"1 |a x y:2 12", ["aa"], [55432, 42847, 92606, 1680, 31047, 112550, 253394, 135987, 8100]),
]


@pytest.mark.parametrize(("line", "pairs", "columns"), RECORDED)
def test_recorded_columns(line, pairs, columns):
    own = tuple((ord(a), ord(b)) for a, b in pairs)
    assert [feature.column for feature in parse_vw(line, Rules(18, own))[2]] == columns
    assert hash_name(b"", 0) == 0
