"""svmlight text against others: the plain reader, Python's numbers, scikit-learn's loader."""

import math
import struct
import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.datasets import load_svmlight_file

from linsep.compiled.jit import COMPILING
from linsep.compiled.scanners.numbers import LEAST_POWER, MOST_POWER, PADDING
from linsep.errors import DataError
from linsep.sources.lines import Chunk
from linsep.sources.svmlight import LABELS_BELOW, scan_chunk
from thoroughness import THOROUGH, examples
from whole_files import load_svmlight, parse_svmlight

pytestmark = pytest.mark.both

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data" / "libsvm"
SEED = np.random.default_rng(0)


def scan_text(text, base):
    """What the scanner makes of a text: like parse_svmlight, indices as they stand in it."""
    padded = bytearray(text + b"\n" * PADDING)
    scanned = scan_chunk(Chunk(0, padded, len(text)), base)
    if scanned.refused is not None:
        return scanned.refused[0] + 1
    bounds = scanned.starts.tolist()
    assert scanned.width == max(scanned.columns.tolist(), default=-1) + 1
    pairs = list(zip((scanned.columns + base).tolist(), map(bits, scanned.values), strict=True))
    rows = [pairs[a:b] for a, b in pairwise(bounds)]
    return [bits(label) for label in scanned.labels], rows


def read_plainly(text, base):
    try:
        labels, rows = parse_svmlight(text, base)
    except ValueError as error:
        return error.args[0]
    rows = [[(index, bits(value)) for index, value in row] for row in rows]
    return [bits(label) for label in labels], rows


def bits(value):
    return struct.pack("d", value)


alphabet = st.sampled_from([*b"0123456789", *b"  ::\n\n..--++eE#,\t\r", *b"qidnaf_/\x00\x0b\xff"])
tokens = st.sampled_from(
    [
        b"\n", b"\n", b"\r\n", b"\n1", b"\n-1 ", b" ", b"\t", b":", b" 1:1", b" 2:0.5", b" 3:-.5e3",
        b" 4:123456789", b" 12345678:1", b" 123456789:2", b" 2147483646:1", b" 2147483647:1",
        b" 0:1", b" 5:", b"#", b" # no\n", b" qid:7", b" 9:1e400", b" 9:1e39", b" 9:nan", b"e",
        b" 99:0.1234567890123456789012345678901", b"+", b"-", b"7", b"0", b"\x00", b"\r",
        b"1,2", b".",
    ]
)  # fmt: skip
arbitrary = st.one_of(
    st.binary(max_size=300),
    st.lists(alphabet, max_size=200).map(bytes),
    st.lists(tokens, max_size=60).map(b"".join),
)
bases = st.sampled_from([0, 1])


@examples(1500, 120)
@given(arbitrary, bases)
def test_arbitrary_bytes(text, base):
    assert scan_text(text, base) == read_plainly(text, base)


@st.composite
def valid_text(draw):
    lines = []
    for _ in range(draw(st.integers(1, 12))):
        columns = sorted(draw(st.sets(st.integers(1, 200), max_size=12)))
        values = st.one_of(
            st.integers(-9, 9), st.floats(-1e3, 1e3), st.floats(-9, 9).map(lambda v: round(v, 3))
        )
        pairs = "".join(f" {column}:{draw(values)!r}" for column in columns)
        lines.append(draw(st.sampled_from(["1", "-1", "+1", "0.5", "# "])) + pairs)
    return draw(st.sampled_from(["\n", "\r\n", " \n"])).join(lines).encode()


@st.composite
def mutated_text(draw):
    text = bytearray(draw(valid_text()))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(text)))
        match draw(st.sampled_from(["flip", "insert", "delete", "cut"])):
            case "flip" if at < len(text):
                text[at] ^= 1 << draw(st.integers(0, 7))
            case "insert":
                text[at:at] = bytes([draw(alphabet)])
            case "delete":
                del text[at : at + draw(st.integers(1, 4))]
            case "cut":
                del text[at:]
    return bytes(text)


@examples(600, 60)
@given(mutated_text(), bases)
def test_mutated_text(text, base):
    assert scan_text(text, base) == read_plainly(text, base)


@examples(60, 12)
@given(st.one_of(valid_text(), mutated_text()), st.integers(1, 100), st.integers(1, 3))
def test_chunks_make_no_difference(text, chunk_bytes, threads):
    def load(**options):
        try:
            X, y = load_svmlight(path, index_base=1, **options)
        except DataError as error:
            return str(error)
        return X.shape, X.data.tobytes(), X.indices.tolist(), X.indptr.tolist(), y.tobytes()

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.svm"
        path.write_bytes(text)
        assert load(chunk_bytes=chunk_bytes, threads=threads) == load()


digits = st.text("0123456789", min_size=1, max_size=40)
signs = st.sampled_from(["", "+", "-"])
exponents = st.one_of(
    st.just(""),
    st.integers(-30, 30).map("e{}".format),
    st.integers(-400, 400).map("E{:+}".format),
    st.sampled_from([LEAST_POWER, MOST_POWER]).flatmap(
        lambda power: st.integers(power - 2, power + 2).map("e{}".format)
    ),
)
decimals = st.one_of(
    st.builds("{}{}{}".format, signs, digits, exponents),
    st.builds("{}{}.{}{}".format, signs, digits, digits, exponents),
    st.builds("{}.{}{}".format, signs, digits, exponents),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(allow_nan=False, allow_infinity=False).map("{:.18e}".format),
)


def halfway(value, after):
    """The decimal digits of the point between a float and the next, perhaps a little beyond."""
    mantissa, exponent = math.frexp(value)
    twice = int(mantissa * 2**53) * 2 + 1
    power = int(exponent) - 54
    if power >= 0:
        return f"{twice * 2**power}{after}"
    return f"{twice * 5**-power}{after}e{power - len(after)}"


halfways = st.builds(
    halfway, st.floats(1e-30, 1e30), st.sampled_from(["", "0", "1", "0" * 30 + "1"])
)


@examples(600, 40)
@given(st.lists(st.one_of(decimals, halfways), min_size=1, max_size=30))
def test_numbers_are_those_of_python(numbers):
    finite = [number for number in numbers if math.isfinite(float(number))]
    # A label of too many digits is refused.
    first = [number if abs(float(number)) < LABELS_BELOW else "1" for number in finite]
    lines = [f"{first[index]} {index}:{number}" for index, number in enumerate(finite)]
    wanted = [bits(float(number)) for number in finite]
    labels, rows = scan_text("\n".join(lines).encode(), 0)
    assert labels == [bits(float(label)) for label in first]
    assert rows == [[(index, value)] for index, value in enumerate(wanted)]
    for number in set(numbers) - set(finite):
        assert scan_text(f"1 1:{number}".encode(), 0) == 1


def test_a_million_numbers():
    count = 500 if not COMPILING else 300_000 if THOROUGH else 100_000
    for values, form in (
        (SEED.standard_normal(count) * 10.0 ** SEED.uniform(-300, 300, count), "{:.18e}".format),
        (SEED.integers(0, 2**64, count, dtype=np.uint64).view(np.float64), repr),
    ):
        texts = [form(float(value)) for value in values if np.isfinite(value)]
        text = "1 " + " ".join(f"{k}:{number}" for k, number in enumerate(texts)) + "\n"
        padded = bytearray(text.encode() + b"\n" * PADDING)
        scanned = scan_chunk(Chunk(0, padded, len(text)), 0)
        assert scanned.values.tobytes() == np.array([float(number) for number in texts]).tobytes()


@pytest.mark.skipif(not SHARED.exists(), reason="no shared data")
@pytest.mark.parametrize(
    "name", ["heart_scale.gz", "a9a.gz", "ijcnn1.bz2"][: 3 if COMPILING else 1]
)
def test_agrees_with_scikit_learn(name):
    X, y = load_svmlight(SHARED / name)
    wanted, labels = load_svmlight_file(str(SHARED / name), zero_based=False)
    np.testing.assert_array_equal(y, labels)
    np.testing.assert_array_equal(X.data.view(np.int64), wanted.data.view(np.int64))
    np.testing.assert_array_equal(X.indices, wanted.indices)
    np.testing.assert_array_equal(X.indptr, wanted.indptr)
