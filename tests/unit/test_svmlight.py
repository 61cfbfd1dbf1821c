"""svmlight text: what is read, what is refused and how, files, compression, chunks and threads."""

import threading
from itertools import pairwise

import numpy as np
import pytest

from data_files import CODECS, write_text
from linsep import open_source
from linsep.errors import DataError
from linsep.sources import formats
from linsep.sources.svmlight import SvmlightSource
from refusals import refused
from whole_files import load_svmlight, parse_svmlight

SOME = b"+1 1:0.5 3:-2e-3\n-1 2:1\n\n# nothing here\n+1\n-1 1:4 2:5 7:6 # last\n"


def write(folder, text, name="rows.svm"):
    return write_text(folder / name, text)


def rows_of(X, base):
    bounds = X.indptr.tolist()
    pairs = list(zip((X.indices + base).tolist(), X.data.tolist(), strict=True))
    return [pairs[a:b] for a, b in pairwise(bounds)]


def many_lines(rows, base=1, seed=0):
    rng = np.random.default_rng(seed)
    lines = []
    for row in range(rows):
        columns = np.flatnonzero(rng.random(30) < 0.3)
        pairs = (
            f"{c + base}:{v:.{d}g}"
            for c, v, d in zip(
                columns, rng.standard_normal(30), rng.integers(1, 18, 30), strict=False
            )
        )
        lines.append(f"{row % 3 - 1} {' '.join(pairs)}" + " # comment" * (row % 7 == 0))
    return ("\n".join(lines) + "\n").encode()


def assert_same(one, other):
    for a, b in zip(one, other, strict=True):
        if isinstance(a, np.ndarray):
            np.testing.assert_array_equal(a, b)
        else:
            assert a.shape == b.shape
            np.testing.assert_array_equal(a.data, b.data)
            np.testing.assert_array_equal(a.indices, b.indices)
            np.testing.assert_array_equal(a.indptr, b.indptr)


LINES = [
    (b"+1 1:2", 1, [(1, 2)]),
    (b"1 1:2\r", 1, [(1, 2)]),
    (b" \t-1\t 1:2 \t 5:-.5\t", -1, [(1, 2), (5, -0.5)]),
    (b"1e3", 1000, []),
    (b"1 3: .50 4:\t-2 5:1 # 6: 7", 1, [(3, 0.5), (4, -2), (5, 1)]),
    (b".5 # comment: 3:4 \xff\x00", 0.5, []),
    (b"-1.#comment", -1, []),
    (b"3 0001:+4 2:5.#", 3, [(1, 4), (2, 5)]),
    (b"0 00000000000000000000003:1", 0, [(3, 1)]),
    (b"0 2147483646:1", 0, [(2147483646, 1)]),
    (b"0 1:1e-400000 ", 0, [(1, 0.0)]),
    (b"0 1:0e99999999999999999999999999", 0, [(1, 0.0)]),
    (b"0 1:5e-324 2:2.2250738585072011e-308", 0, [(1, 5e-324), (2, 2.2250738585072011e-308)]),
    (b"0 1:1.7976931348623157e308", 0, [(1, 1.7976931348623157e308)]),
    (b"0 1:9007199254740993.0 2:9007199254740993.0000000000000000000000000001", 0,
     [(1, 9007199254740992), (2, 9007199254740994)]),
    (b"-9007199254740991 1:12345678.12345678 2:123456789012345678901234567890.",
     -9007199254740991,
     [(1, 12345678.12345678), (2, 123456789012345678901234567890.0)]),
    (b"0 1:0." + b"0" * 400 + b"1e401", 0, [(1, 1.0)]),
]  # fmt: skip


@pytest.mark.compiled
def test_reads_a_line(tmp_path):
    for line, label, pairs in LINES:
        X, y = load_svmlight(write(tmp_path, line), index_base=0)
        assert y.tolist() == [label], line
        assert rows_of(X, 0) == [pairs], line
        assert parse_svmlight(line) == ([label], [pairs]), line


BAD_LINES = {
    "missing-value": [b"1:2 3:4", b"1 3:", b"1 3: 4:5"], "duplicate-name": [b"1 3:1 3:1"],
    "not-finite": [b"nan 3:4", b"1 3:NaN", b"1 3:-Infinity"], "unsupported": [b"1 qid:4 3:1"],
    "not-exact": [b"-1e999 3:4", b"9007199254740992"],
    "not-a-number": [
        b"abc 1:2", b"1_0 1:2", b"1 3:4:5", b"1 3:4 3:x", b"1 3:.", b"1 3:-", b"1 3:1e",
        b"1 3:1.2.3", b"1 3:/", b"1 3:0x10", b"1 3:1_0",
        "\N{ARABIC-INDIC DIGIT THREE} 1:2".encode(),
    ],
    "bad-value": [b"1,2 3:4", b"1 x:4", b"1 1.5:4", b"1 +3:4", b"1 :4", b"1 qid:x 3:4"],
    "out-of-range": [
        b"1 -3:4", b"1 2147483647:4", b"1 1099511627776:1", b"1 18446744073709551617:1",
        b"1 " + b"9" * 5000 + b":1",
    ],
    "bad-line": [
        b"1 3:1 2:1", b"1 123456789:1 3:1", b"1 3 :4", b"1 3", b"1 3:4\x0b5:6", b"1 3:4\r5:6",
        b"1\r# comment",
    ],
    "overflow": [b"1 3:1e309", b"1 3:1.7976931348623159e308"],
    "encoding": [b"1 3:4\x00", b"\x89PNG\r"],
}  # fmt: skip


@pytest.mark.compiled
def test_refuses_a_line(tmp_path):
    """As the plain parser does, and names what it finds."""
    for line, code in [(line, code) for code, lines in BAD_LINES.items() for line in lines]:
        text = SOME + line + b"\n" + SOME
        path = write(tmp_path, text)
        with pytest.raises(DataError) as caught:
            load_svmlight(path, chunk_bytes=16)
        assert (caught.value.path, caught.value.row) == (path, 7), line
        with pytest.raises(ValueError, match="7"):
            parse_svmlight(text)
        assert caught.value.code == code, line
        with pytest.raises(DataError) as at_end:
            load_svmlight(write(tmp_path, line))
        assert (at_end.value.row, at_end.value.code) == (1, caught.value.code), line


def test_index_base_is_found_in_the_first_chunk(tmp_path):
    one = SvmlightSource([write(tmp_path, b"1 1:5 3:6\n")])
    assert one.recipe() == {"format": "svmlight", "index_base": 1}
    batch = next(one.batches())
    assert batch.X.toarray().tolist() == [[5, 0, 6]]
    zero = SvmlightSource([write(tmp_path, b"1 1:5 3:6\n1 0:7\n")])
    assert next(zero.batches()).X.toarray().tolist() == [[0, 5, 0, 6], [7, 0, 0, 0]]
    assert zero.index_base == 0
    assert zero.options() == {"format": "svmlight", "index_base": 0}
    late = SvmlightSource([write(tmp_path, b"1\n-1\n1\n1 0:7\n")], chunk_bytes=2)
    assert late.index_base == 0
    assert SvmlightSource([write(tmp_path, b"1\n-1\n")]).index_base == 1


def test_index_zero_in_a_one_based_file(tmp_path):
    path = write(tmp_path, b"1 1:5\n" * 20 + b"1 0:5\n")
    for options in ({"index_base": 1}, {"chunk_bytes": 16}):
        with refused(DataError, "out-of-range"):
            load_svmlight(path, **options)
    X, _ = load_svmlight(path, index_base=0, chunk_bytes=16)
    assert X.shape == (21, 2)
    with refused(DataError, "bad-line", row=1):
        load_svmlight(write(tmp_path, b"1 3:1 0:1\n"))


def test_batches_are_canonical_and_never_narrower(tmp_path):
    source = SvmlightSource([write(tmp_path, many_lines(200))], chunk_bytes=500, threads=2)
    width = first = 0
    for batch in source.batches():
        assert batch.first == first
        assert batch.X.shape[1] >= max(width, batch.X.indices.max() + 1)
        width, first = batch.X.shape[1], first + len(batch.y)
        assert batch.X.has_canonical_format
        assert batch.X.indices.dtype == batch.X.indptr.dtype == np.int32
        batch.X.check_format(full_check=True)
        assert type(batch.X).__name__ == "csr_matrix"
        del batch.X._has_canonical_format
        assert batch.X.has_canonical_format
    assert first == 200
    assert {batch.X.shape[1] for batch in source.batches()} == {width}


@pytest.mark.compiled
@pytest.mark.parametrize(("base", "end"), [(0, b""), (1, b"\n\n# end")])
def test_every_chunk_size_gives_the_same_rows(tmp_path, base, end):
    text = many_lines(100, base).rstrip() + end
    path = write(tmp_path, text)
    whole = load_svmlight(path, index_base=base)
    labels, rows = parse_svmlight(text)
    assert whole[1].tolist() == labels
    assert rows_of(whole[0], base) == rows
    for chunk_bytes in (1, 64, len(text), len(text) + 1):
        assert_same(load_svmlight(path, index_base=base, chunk_bytes=chunk_bytes), whole)


@pytest.mark.parametrize("ending", CODECS)
def test_compressed(tmp_path, ending):
    text = many_lines(40)
    plain = load_svmlight(write(tmp_path, text))
    path = write(tmp_path, text, f"rows.svm.{ending}")
    for chunk_bytes in (100, 1 << 20):
        source = SvmlightSource([path], chunk_bytes=chunk_bytes)
        assert sum(len(batch.y) for batch in source.batches()) == 40
        assert source.position == source.size == path.stat().st_size
        assert_same(load_svmlight(path, chunk_bytes=chunk_bytes), plain)
    whole = path.read_bytes()
    path.write_bytes(whole + whole)
    assert load_svmlight(path)[0].shape[0] == 80
    for cut in (len(whole) // 2, len(whole) - 3, len(whole) + 30):
        path.write_bytes((whole + whole)[:cut])
        with refused(DataError, "damaged-file"):
            load_svmlight(path)
    path.write_bytes(text)
    with refused(DataError, "damaged-file"):
        load_svmlight(path)


def test_several_files_are_one_stream(tmp_path):
    texts = [many_lines(5, seed=1), b"# none\n", many_lines(7, seed=2).rstrip(), many_lines(3)]
    names = ["a.svm", "b.svm", "c.svm.gz", "d.svm.zst"]
    paths = [write(tmp_path, *both) for both in zip(texts, names, strict=True)]
    source = SvmlightSource(paths, chunk_bytes=64)
    assert source.name == f"{paths[0]} and 3 more"
    assert source.paths == paths
    joined = write(tmp_path, b"\n".join(texts))
    assert_same(load_svmlight(paths, chunk_bytes=64), load_svmlight(joined))
    for _ in source.batches():
        assert 0 < source.position <= source.size
    assert source.position == source.size == sum(path.stat().st_size for path in paths)
    assert source.where(0) == f"{paths[0]} line 1"
    assert source.where(11) == f"{paths[2]} line 7"
    assert source.where(12) == f"{paths[3]} line 1"
    with pytest.raises(IndexError):
        source.where(15)
    paths[3].unlink()
    write(tmp_path, many_lines(3) + b"1 1:x", "d.svm.zst")
    with refused(DataError, "not-a-number"):
        load_svmlight(paths, chunk_bytes=64)


@pytest.mark.parametrize("chunk_bytes", [1, 30])
def test_where_counts_lines_not_rows(tmp_path, chunk_bytes):
    path = write(tmp_path, SOME + b" \t \r\n \t# x\n 5 1:1")
    source = SvmlightSource([path], chunk_bytes=chunk_bytes)
    assert [source.where(row) for row in range(5)] == [f"{path} line {k}" for k in (1, 2, 5, 6, 9)]


def test_no_rows(tmp_path):
    for text in (b"", b"# only a comment", b"\r\n \t\n"):
        path = write(tmp_path, text)
        for paths in (path, [path, path]):
            with refused(DataError, "no-rows"):
                load_svmlight(paths)


def test_files_that_cannot_be_opened(tmp_path, monkeypatch):
    with refused(DataError, "no-file"):
        load_svmlight(tmp_path / "nowhere.svm")
    assert SvmlightSource([tmp_path / "nowhere.svm"]).size is None
    with refused(DataError, "not-a-file"):
        load_svmlight(str(tmp_path))
    path = write(tmp_path, SOME)
    with refused(DataError, "bad-option"):
        SvmlightSource([path], index_base=2)
    with refused(DataError, "no-file"):
        open_source([])

    class Closed:
        @staticmethod
        def OSFile(path):
            raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(formats, "pa", Closed)
    with refused(DataError, "cannot-read"):
        load_svmlight(path)


def running():
    """Names of our threads, but for those that receive remote files, which stay."""
    names = [thread.name for thread in threading.enumerate()]
    return [n for n in names if n.startswith("linsep-") and not n.startswith("linsep-receive-")]


def test_threads_end_with_the_batches(tmp_path):
    source = SvmlightSource([write(tmp_path, many_lines(300))], chunk_bytes=200, threads=3)
    for batch in source.batches():
        assert running()
        if batch.first > 20:
            break
    del batch
    assert not running()

    def consumer():
        for _ in source.batches():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        consumer()
    assert not running()
    assert sum(len(batch.y) for batch in source.batches()) == 300
    assert not running()
