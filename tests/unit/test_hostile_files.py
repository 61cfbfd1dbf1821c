"""Text files that are not what they seem: none crashes a parser, is misread or fills memory."""

import csv
import gzip
import json
import subprocess
import sys
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given, strategies as st
from sklearn.base import clone

from command_line import assert_refused
from linsep import (
    GaussianNaiveBayes,
    LogisticRegression,
    PassiveAggressive,
    Perceptron,
    open_source,
)
from linsep.compiled.scanners.json_lines import FINE, NOT_ONE_OBJECT, TOO_DEEP, look_at_lines
from linsep.errors import DataError
from linsep.sources.limits import bytes_of
from linsep.sources.tables import text_file
from linsep.sources.tables.json_lines import MOST_DEPTH
from refusals import refused
from whole_files import load_svmlight, load_table

pytestmark = pytest.mark.compiled

GOOD = '{"x":1,"t":"a"}\n{"x":2,"t":"b"}\n'


def read(path, target="t", **options):
    return [batch for batch in open_source(path, target=target, **options).batches()]


def nested(depth, open_="[", close="]"):
    return '{"x":3,"t":"a","z":' + open_ * depth + "1" * (open_ != "[") + close * depth + "}\n"


@pytest.mark.parametrize("before", ["", GOOD], ids=["first", "later"])
@pytest.mark.parametrize(
    "line",
    [
        "null",
        "[1]",
        "3",
        '"s"',
        "true",
        ",",
        "}",
        "{",
        '{"x":1',
        "[" * 30_000,
        "\x0c{}",
        "\ufeff{}",
        '{"x":1,"t":"a"} null',
        '{"x":1,"t":"a"}{"x":3,"t":"b"}',
        '{"x":1,\n"t":"a"}',
        '{"x":"\n"}',
    ],
)
def test_lines_that_are_no_object_never_reach_the_parser(tmp_path, before, line):
    """A first line null, or many open brackets, ended the process."""
    path = tmp_path / "a.jsonl"
    path.write_text(before + line + "\n" + GOOD)
    1 + before.count("\n")
    if line == "\ufeff{}" and not before:  # a byte-order mark
        with refused(DataError, "missing-value", row=1, column="t"):
            read(path)
        return
    with refused(DataError, "bad-line"):
        read(path, missing="drop")


@pytest.mark.parametrize("kind", [("[", "]"), ('{"a":', "}")])
def test_values_nested_too_deep_are_refused(tmp_path, kind):
    path = tmp_path / "a.jsonl"
    path.write_text(GOOD + nested(MOST_DEPTH - 1, *kind))
    assert sum(batch.X.shape[0] for batch in read(path, exclude="z")) == 3
    for depth in (MOST_DEPTH, 100_000):
        path.write_text(GOOD + nested(depth, *kind))
        with refused(DataError, "bad-line", row=3):
            read(path, exclude="z")


PIECES = ["{", "}", "[", "]", '"', "\\", '\\"', ":", ",", "1", "null", " ", "\t", "\n", "\r\n", "é"]
OBJECTS = ['{"a":1}', '{"a":{"b":[1,2]}}', '{"a":"}\\"\\\\{"}', "{}", ' {"a":"\\n"} ', "", "  "]


def is_object(line):
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


@given(st.lists(st.sampled_from(PIECES + OBJECTS), max_size=12).map("".join))
def test_lines_that_pass_begin_and_end_one_object(text):
    data = text.encode()
    ended, at = look_at_lines(np.frombuffer(data, np.uint8), len(data), 3)
    lines = text.replace("\r", "\n").split("\n")
    filled = [line for line in lines if line.strip(" \t")]
    if all(map(is_object, filled)):
        assert ended == FINE
    if ended == FINE:
        # Which bracket closes which is for the parser to say.
        ends = {line.strip(" \t")[0] + line.strip(" \t")[-1] for line in filled}
        assert ends <= {"{}", "{]"}
    if ended == NOT_ONE_OBJECT:
        assert not is_object(lines[data[: at + 1].replace(b"\r", b"\n").count(b"\n")])


def test_brackets_in_strings_do_not_count():
    data = b'{"a":"[[[[[[","b":[[1]]}\n{"a":[[[1]]]}\n'
    assert look_at_lines(np.frombuffer(data, np.uint8), len(data), 3) == (TOO_DEEP, 32)


def test_line_breaks_in_quotes_stay_as_they_are(tmp_path, monkeypatch):
    """A carriage return at the end of a block lost the newline at the start of the next."""
    monkeypatch.setattr(text_file, "BLOCK_BYTES", 64)
    path = tmp_path / "a.csv"
    values = ["a\r\nb", "c\rd", "e\nf", "g\r\n\r\nh", "\r\n"]
    for shift in range(66):
        head = "x" * (1 + shift)
        rows = [f'{k},"{value}",{k % 2}' for k, value in enumerate(values * 4)]
        path.write_bytes("\r\n".join([f"{head},t,y", *rows, ""]).encode())
        _, y, names = load_table(path, target="y")
        assert sorted(names[1:]) == sorted(f"t={value}" for value in values)
        assert y.size == 20


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_any_line_ending(tmp_path, ending, monkeypatch):
    monkeypatch.setattr(text_file, "BLOCK_BYTES", 64)
    path = tmp_path / "a.csv"
    path.write_bytes(ending.join(["x,y", *(f"{k},{k % 2}" for k in range(60)), ""]).encode())
    X, y, _ = load_table(path, target="y")
    assert X[:, 0].tolist() == list(range(60))
    assert y.tolist() == [0, 1] * 30


@pytest.mark.parametrize("place", ["header", "first", "later"])
def test_cells_of_any_length_wherever_they_stand(tmp_path, place):
    """The first rows refused more than 131,072 characters, later ones did not."""
    path, limit = tmp_path / "a.csv", csv.field_size_limit()
    long = "é" * 200_000
    rows = ["t,y", "p,0", "q,1", "p,0"]
    row = ["header", "first", "later"].index(place)
    rows[row] = rows[row].replace(rows[row][0], long, 1)
    path.write_text("\n".join(rows) + "\n")
    _, y, names = load_table(path, target="y")
    assert y.tolist() == [0, 1, 0]
    assert any(long in name for name in names)
    assert csv.field_size_limit() == limit


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
@pytest.mark.parametrize(
    ("label", "said"), [("p\0", "a NUL character"), ("p" * 1001, "of 1,001 characters")]
)
def test_labels_that_would_be_cut_are_refused(tmp_path, kind, label, said):
    """A NUL at the end is no character to numpy: "p" and "p\\0" were one class."""
    path = tmp_path / f"a.{kind}"
    rows = [{"x": k, "y": value} for k, value in enumerate(["p", "q", label, "p"])]
    if kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        pq.write_table(pa.Table.from_pylist(rows), path)
    with refused(DataError, "bad-value", row=3, column="y"):
        load_table(path, target="y")


def test_binary_data_behind_text(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"x,y\n" + b"1,0\n" * 300_000 + b"1,\0\n")
    with refused(DataError, "encoding", row=300002):
        load_table(path, target="y")


LONG = {"a.svm": "1 1:0." + "1" * 4998, "a.csv": '0,"' + "p" * 5000 + '"'}
LONG["a.jsonl"] = '{"x":0,"t":"' + "p" * 5000 + '"}'


@pytest.mark.parametrize("kind", ["svm", "csv", "jsonl"])
@pytest.mark.parametrize("later", [0, 2000])
@pytest.mark.parametrize("last", [True, False])
def test_lines_have_a_limit(tmp_path, kind, later, last):
    head = "x,t\n" * (kind == "csv")
    good = {"svm": "0 1:1\n", "csv": "1,q\n", "jsonl": '{"x":1,"t":"q"}\n'}[kind]
    (path := tmp_path / f"a.{kind}").write_text(
        head + good * (later + 1) + LONG[path.name] + "\n" * (not last) + good * (not last)
    )
    options = {} if kind == "svm" else {"target": "t", "exclude": []}
    later + 2 + (kind == "csv")
    with refused(DataError, "too-large"):
        list(open_source(path, max_line="4kB", **options).batches())
    if kind == "svm":  # elsewhere it would be a label
        batches = list(open_source(path, max_line=5010, **options).batches())
        assert sum(batch.X.shape[0] for batch in batches) == later + 1 + 1 + (not last)


@pytest.mark.parametrize("name", ["a.svm.gz", "a.csv.gz", "a.jsonl.gz"])
def test_a_small_file_of_one_endless_line(tmp_path, name):
    """200 kB of gzip took gigabytes."""
    with gzip.open(tmp_path / name, "wb", compresslevel=1) as file:
        for _ in range(80):
            file.write(b" " * (1 << 20))
    tracemalloc.start()
    options = {} if "svm" in name else {"target": "t"}
    with refused(DataError, "too-large", row=1):
        list(open_source(tmp_path / name, **options).batches())
    assert tracemalloc.get_traced_memory()[1] < 400 << 20
    tracemalloc.stop()


@pytest.mark.parametrize("name", ["a.svm.zst", "a.parquet", "a.arrow"])
def test_files_that_swell_beyond_measure(tmp_path, name):
    path, rows = tmp_path / name, 12_000_000  # 96 MB of zeros
    table = pa.table({"x": np.zeros(rows), "t": np.zeros(rows, bool)})
    if name == "a.parquet":
        pq.write_table(table, path, compression="zstd", row_group_size=rows, use_dictionary=False)
    elif name == "a.arrow":
        pa.feather.write_feather(table, path, compression="zstd", chunksize=rows)
    else:
        with pa.CompressedOutputStream(str(path), "zstd") as file:
            for _ in range(70):
                file.write((b"#" * 1023 + b"\n") * 1024)
    with refused(DataError, "too-large", path=path):
        list(open_source(path, target=None if "svm" in name else "t").batches())


FOOTERS = """
import sys, warnings
from pathlib import Path
from linsep import open_source
from linsep.errors import DataError
warnings.simplefilter("ignore")
path = Path(sys.argv[1])
data, read = path.read_bytes(), 0
beginning = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
for at in range(beginning, len(data) - 8):
    path.write_bytes(data[:at] + bytes([data[at] ^ (1, 2, 128)[at % 3]]) + data[at + 1 :])
    try:
        list(open_source(path, target="kind").batches())
        read += 1
    except (DataError, ValueError):
        pass
print(read)
"""


@pytest.mark.thorough
def test_no_damaged_footer_ends_the_process(tmp_path):
    path = tmp_path / "p.parquet"
    table = pa.table({"x": [1.0, 2.0] * 4, "word": ["a", "b"] * 4, "kind": [0, 0, 1, 1] * 2})
    pq.write_table(table.replace_schema_metadata(None), path)
    done = subprocess.run(
        [sys.executable, "-c", FOOTERS, path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-500:]
    assert int(done.stdout) > 40


@pytest.mark.parametrize(
    ("size", "count"), [("64MB", 64 << 20), ("1.5 kb", 1536), (7, 7), ("1g", 1 << 30), ("9 B", 9)]
)
def test_sizes(size, count):
    assert bytes_of(size) == count


@pytest.mark.parametrize("size", ["", "MB", "-1", "0", "2GB", "1TB", "1e3", None])
def test_what_is_no_size(size):
    with refused(DataError, "bad-option"):
        bytes_of(size)


def test_the_option_of_the_commands(tmp_path):
    (tmp_path / "a.svm").write_text("0 1:1\n1 1:2\n1 1:" + "3" * 300 + "\n")
    said = "line 3 is longer than 100 bytes: split it or allow longer lines with --max-line 400B"
    assert_refused("fit", "a.svm", "--max-line", "100", cwd=tmp_path, code="too-large")
    said = "is not a valid size of a line"
    assert_refused("fit", "a.svm", "--max-line", "x", cwd=tmp_path, said=said, exit_code=2)


@pytest.mark.parametrize(
    "model", [Perceptron(), PassiveAggressive(), LogisticRegression(l2=1.0), GaussianNaiveBayes()]
)
@pytest.mark.parametrize("ending", ["svm", "svm.gz"])
def test_a_few_bytes_do_not_ask_for_gigabytes_of_weights(tmp_path, model, ending):
    path = tmp_path / f"rows.{ending}"
    write = gzip.open if ending.endswith("gz") else open
    with write(path, "wb") as file:
        file.write(b"0 1:1\n1 2147483000:1\n")
    f"{path} has {path.stat().st_size} bytes but needs 2,147,483,000 weights: number its"
    with refused(DataError, "too-large"):
        clone(model).fit(open_source(path))
    X, _ = load_svmlight(path)
    assert X.shape == (2, 2147483000)


@pytest.mark.parametrize(
    ("name", "how", "advice"),
    [
        ("t.csv", {"text": "s"}, "build a vocabulary with vocabulary=True or hash them into fewer "
         "features with Text(n_features=4096)"),
        ("t.csv", {"hash_bits": 20}, "choose fewer hash_bits"),
        ("t.vw", {"hash_bits": 20}, "choose fewer hash_bits"),
    ],
)  # fmt: skip
def test_fewer_hashed_features_are_what_a_small_file_needs(tmp_path, name, how, advice):
    rows = [f"{k} |s a{k}" if name == "t.vw" else f"{k},a{k % 60} b c" for k in range(70)]
    (tmp_path / name).write_text("\n".join(["y,s"] * (name == "t.csv") + rows))
    how = how if name == "t.vw" else how | {"target": "y"}
    with refused(DataError, "too-large"):
        Perceptron().fit(open_source(tmp_path / name, **how))


def test_weights_are_counted_for_each_class_and_byte(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_text("0 1:1\n1 3000000:1\n2 2:1\n3 3:1\n")
    assert Perceptron().fit(open_source(path)).n_features_in_ == 3_000_000
    path.write_text("".join(f"{k} {3_000_000 + k}:1\n" for k in range(6)))
    with refused(DataError, "too-large"):
        Perceptron().fit(open_source(path))
    path.write_text("".join(f"{k % 6} {3_000_000 + k}:1\n" for k in range(9000)))
    assert Perceptron(max_iter=1).fit(open_source(path)).n_features_in_ == 3_008_999
