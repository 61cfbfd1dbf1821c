"""Text files that are not what they seem: none fills memory or asks for it."""

import gzip
import json
import tracemalloc

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from command_line import assert_refused
from linsep import LogisticRegression, Perceptron, open_source
from linsep.errors import DataError
from linsep.sources import limits
from linsep.sources.limits import bytes_of
from linsep.sources.tables import text_file
from refusals import refused
from whole_files import load_table


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_any_line_ending(tmp_path, ending, monkeypatch):
    monkeypatch.setattr(text_file, "BLOCK_BYTES", 64)
    path = tmp_path / "a.csv"
    path.write_bytes(ending.join(["x,y", *(f"{k},{k % 2}" for k in range(60)), ""]).encode())
    X, y, _ = load_table(path, target="y")
    assert X[:, 0].tolist() == list(range(60))
    assert y.tolist() == [0, 1] * 30


@pytest.mark.parametrize(("kind", "label"), [("jsonl", "p\0"), ("parquet", "p" * 1001)])
def test_labels_that_would_be_cut_are_refused(tmp_path, kind, label):
    """A NUL at the end is no character to numpy: "p" and "p\\0" were one class."""
    path = tmp_path / f"a.{kind}"
    rows = [{"x": k, "y": value} for k, value in enumerate(["p", "q", label, "p"])]
    if kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        pq.write_table(pa.Table.from_pylist(rows), path)
    with refused(DataError, "bad-value", row=3, column="y"):
        load_table(path, target="y")


LONG = {"a.svm": "1 1:0." + "1" * 4998, "a.csv": '0,"' + "p" * 5000 + '"'}
LONG["a.jsonl"] = '{"x":0,"t":"' + "p" * 5000 + '"}'


@pytest.mark.parametrize(
    ("kind", "later", "last"), [("svm", 0, True), ("csv", 2000, False), ("jsonl", 9, False)]
)
def test_lines_have_a_limit(tmp_path, kind, later, last):
    head = "x,t\n" * (kind == "csv")
    good = {"svm": "0 1:1\n", "csv": "1,q\n", "jsonl": '{"x":1,"t":"q"}\n'}[kind]
    (path := tmp_path / f"a.{kind}").write_text(
        head + good * (later + 1) + LONG[path.name] + "\n" * (not last) + good * (not last)
    )
    options = {} if kind == "svm" else {"target": "t", "exclude": []}
    with refused(DataError, "too-large"):
        list(open_source(path, max_line="4kB", **options).batches())
    if kind == "svm":  # elsewhere it would be a label
        batches = list(open_source(path, max_line=5010, **options).batches())
        assert sum(batch.X.shape[0] for batch in batches) == later + 1 + 1 + (not last)


@pytest.mark.parametrize("name", ["a.svm.gz", "a.csv.gz"])
def test_a_small_file_of_one_endless_line(tmp_path, name):
    """200 kB of gzip took gigabytes."""
    (tmp_path / name).write_bytes(gzip.compress(b" " * (32 << 20), compresslevel=1))
    options = {} if "svm" in name else {"target": "t"}
    tracemalloc.start()
    with refused(DataError, "too-large", row=1):
        list(open_source(tmp_path / name, max_line="1MB", **options).batches())
    assert tracemalloc.get_traced_memory()[1] < 16 << 20
    tracemalloc.stop()


@pytest.mark.compiled
def test_files_that_swell_beyond_measure(tmp_path):
    path = tmp_path / "a.svm.zst"
    with pa.CompressedOutputStream(str(path), "zstd") as file:
        for _ in range(70):
            file.write((b"#" * 1023 + b"\n") * 1024)
    with refused(DataError, "too-large", path=path):
        list(open_source(path).batches())


def test_sizes(tmp_path):
    known = {"64MB": 64 << 20, "1.5 kb": 1536, 7: 7, "1g": 1 << 30, "9 B": 9}
    assert {size: bytes_of(size) for size in known} == known
    for size in ("", "MB", "-1", "0", "2GB", "1e3", None):
        with refused(DataError, "bad-option"):
            bytes_of(size)
    (tmp_path / "a.svm").write_text("0 1:1\n1 1:2\n1 1:" + "3" * 300 + "\n")
    assert_refused("fit", "a.svm", "--max-line", "100", cwd=tmp_path, code="too-large")
    assert_refused("fit", "a.svm", "--max-line", "x", cwd=tmp_path, exit_code=2)


@pytest.fixture
def fewer(monkeypatch):
    monkeypatch.setattr(limits, "FREE_WEIGHTS", 1 << 24)


def test_a_few_bytes_do_not_ask_for_gigabytes_of_weights(tmp_path):
    path = tmp_path / "rows.svm.gz"
    path.write_bytes(gzip.compress(b"0 1:1\n1 2147483000:1\n"))
    wide = open_source(path, max_features=54_686_452)  # as the first lines of KDD Cup 2012
    limits.check_weights(wide, 54_686_452, 2)
    for model in (Perceptron(), LogisticRegression(l2=1.0)):
        with refused(DataError, "too-large"):
            model.fit(open_source(path))


@pytest.mark.parametrize(
    ("name", "how", "advice"),
    [("t.csv", {"text": "s"}, "vocabulary"), ("t.vw", {"hash_bits": 20}, "hash_bits")],
)
def test_fewer_hashed_features_are_what_a_small_file_needs(tmp_path, fewer, name, how, advice):
    rows = [f"{k} |s a{k}" if name == "t.vw" else f"{k},a{k % 60} b c" for k in range(70)]
    (tmp_path / name).write_text("\n".join(["y,s"] * (name == "t.csv") + rows))
    how = how if name == "t.vw" else how | {"target": "y"}
    with refused(DataError, "too-large") as problem:
        Perceptron().fit(open_source(tmp_path / name, **how))
    assert advice in [key for h in problem.value.hints for key in getattr(h, "settings", {})]


@pytest.mark.compiled
def test_weights_are_counted_for_each_class_and_byte(tmp_path, fewer):
    path = tmp_path / "rows.svm"
    path.write_text("0 1:1\n1 3000000:1\n2 2:1\n3 3:1\n")
    assert Perceptron().fit(open_source(path)).n_features_in_ == 3_000_000
    path.write_text("".join(f"{k} {3_000_000 + k}:1\n" for k in range(6)))
    for most in (None, 3_000_004):
        with refused(DataError, "too-large"):
            Perceptron().fit(open_source(path, max_features=most))
    assert Perceptron().fit(open_source(path, max_features=3_000_005)).n_features_in_ == 3_000_005
    path.write_text("".join(f"{k % 6} {3_000_000 + k}:1\n" for k in range(9000)))
    assert Perceptron(max_iter=1).fit(open_source(path)).n_features_in_ == 3_008_999
