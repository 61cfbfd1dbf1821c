"""Files that are not what they seem: none crashes a parser, is read wrongly, or changes unseen."""

import csv
import gzip
import json
import os
import re
import subprocess
import sys
import tracemalloc

import numpy as np
import pyarrow as pa
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
from linsep.sources import text_files
from linsep.sources.limits import bytes_of
from linsep.sources.svmlight.source import load_svmlight
from linsep.sources.tables.json_lines import MOST_DEPTH
from linsep.sources.tables.loading import load_table
from linsep.sources.tables.thrift import read_struct

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
    number = 1 + before.count("\n")
    if line == "\ufeff{}" and not before:  # a byte-order mark
        with pytest.raises(DataError, match="line 1"):
            read(path)
        return
    with pytest.raises(DataError, match=rf"a\.jsonl line {number} is not one JSON object: write"):
        read(path, missing="drop")


@pytest.mark.parametrize("kind", [("[", "]"), ('{"a":', "}")])
def test_values_nested_too_deep_are_refused(tmp_path, kind):
    path = tmp_path / "a.jsonl"
    path.write_text(GOOD + nested(MOST_DEPTH - 1, *kind))
    assert sum(batch.X.shape[0] for batch in read(path, exclude="z")) == 3
    for depth in (MOST_DEPTH, 100_000):
        path.write_text(GOOD + nested(depth, *kind))
        with pytest.raises(DataError, match="line 3 has values nested more than 100 deep: leave"):
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
    monkeypatch.setattr(text_files, "BLOCK_BYTES", 64)
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
    monkeypatch.setattr(text_files, "BLOCK_BYTES", 64)
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
    with pytest.raises(DataError, match=rf"(line|row) 3 has a label (with )?{said} in column 'y'"):
        load_table(path, target="y")


def test_binary_data_behind_text(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"x,y\n" + b"1,0\n" * 300_000 + b"1,\0\n")
    with pytest.raises(DataError, match="line 300002 holds binary data"):
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
    line = later + 2 + (kind == "csv")
    said = rf"a\.{kind} line {line} is longer than 4 kB: split it or allow longer lines with max_li"
    with pytest.raises(DataError, match=said + 'ne="16kB"'):
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
    with pytest.raises(DataError, match=r"line 1 is longer than 64 MB: .*max_line=\"256MB\""):
        list(open_source(tmp_path / name, **options).batches())
    assert tracemalloc.get_traced_memory()[1] < 400 << 20
    tracemalloc.stop()


def test_text_that_swells_beyond_measure(tmp_path):
    path = tmp_path / "a.svm.zst"
    with pa.CompressedOutputStream(str(path), "zstd") as file:
        for _ in range(70):
            file.write((b"#" * 1023 + b"\n") * 1024)
    with pytest.raises(DataError, match="more than 500 times as large when it is decompressed"):
        list(open_source(path).batches())


@pytest.mark.parametrize(
    ("size", "count"), [("64MB", 64 << 20), ("1.5 kb", 1536), (7, 7), ("1g", 1 << 30), ("9 B", 9)]
)
def test_sizes(size, count):
    assert bytes_of(size) == count


@pytest.mark.parametrize("size", ["", "MB", "-1", "0", "2GB", "1TB", "1e3", None])
def test_what_is_no_size(size):
    with pytest.raises(DataError, match="is no size of a line: give bytes, or a number with a un"):
        bytes_of(size)


def test_the_option_of_the_commands(tmp_path):
    (tmp_path / "a.svm").write_text("0 1:1\n1 1:2\n1 1:" + "3" * 300 + "\n")
    said = "line 3 is longer than 100 bytes: split it or allow longer lines with --max-line 400B"
    assert_refused("fit", "a.svm", "--max-line", "100", cwd=tmp_path, said=said)
    said = "is no size of a line"
    assert_refused("fit", "a.svm", "--max-line", "x", cwd=tmp_path, said=said, code=2)


def many_rows(folder, kind):
    """A file of so many blocks that some are not read when the first rows come."""
    path = folder / f"rows.{kind}"
    rows = 120_000 if kind == "svm" else 400_000
    x, y = np.arange(rows) * 1.5, np.arange(rows) % 2
    if kind in ("parquet", "arrow"):
        table = pa.table({"x": x, "y": y})
        if kind == "parquet":
            pq.write_table(table, path, row_group_size=1000)
        else:
            with pa.ipc.new_file(path, table.schema) as sink:
                sink.write_table(table, max_chunksize=1000)
        return path
    line = {"csv": "{0},{1}\n", "jsonl": '{{"x":{0},"y":{1}}}\n', "svm": "{1} 1:{0}\n"}[kind]
    text = "x,y\n" * (kind == "csv") + "".join(line.format(a, b) for a, b in zip(x, y, strict=True))
    path.write_text(text * (3 if kind == "svm" else 1))
    return path


def cut(path):
    os.truncate(path, path.stat().st_size // 2)


def emptied(path):
    path.write_bytes(b"")


def appended(path):
    with path.open("ab") as file:
        file.write(b"\n")


def touched(path):
    os.utime(path, ns=(1, 1))


def replaced(path):
    other = path.with_name("other")
    other.write_bytes(path.read_bytes())
    os.utime(other, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
    other.replace(path)


def removed(path):
    path.unlink()


@pytest.mark.parametrize("change", [cut, emptied, appended, touched, replaced, removed])
@pytest.mark.parametrize("kind", ["svm", "csv", "jsonl", "parquet", "arrow"])
def test_files_that_change_while_they_are_read(tmp_path, kind, change, monkeypatch):
    """An Arrow file cut short under a map of it ended the process; svmlight text gave a model."""
    monkeypatch.setattr(text_files, "BLOCK_BYTES", 4096)
    path = many_rows(tmp_path, kind)
    options = {} if kind == "svm" else {"target": "y"}
    source = open_source(path, **options)
    batches = source.batches()
    next(batches)
    change(path)
    with pytest.raises(DataError, match=rf"rows\.{kind} (changed|was removed) while it was read"):
        list(batches)


def test_files_that_change_between_two_readings(tmp_path):
    path = many_rows(tmp_path, "csv")
    source = open_source(path, target="y")
    list(source.batches())
    appended(path)
    with pytest.raises(DataError, match=r"1 bytes|changed while it was read \("):
        list(source.batches())
    model = Perceptron(max_iter=1)
    with pytest.raises(DataError, match="changed while it was read"):
        model.fit(source)
    assert not hasattr(model, "coef_")


ROWS = 12_000_000  # 96 MB of zeros


def swollen_parquet(path):
    table = pa.table({"x": np.zeros(ROWS), "kind": np.arange(ROWS) % 2 == 0})
    plain = {"use_dictionary": False, "compression": "zstd", "write_statistics": False}
    pq.write_table(table, path, row_group_size=ROWS, **plain)


def swollen_arrow(path, new=pa.ipc.new_file):
    table = pa.table({"x": np.zeros(ROWS), "kind": np.arange(ROWS) % 2 == 0})
    with new(path, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table, max_chunksize=ROWS)


def swollen_stream(path):
    swollen_arrow(path, pa.ipc.new_stream)


@pytest.mark.parametrize(
    ("name", "write"),
    [("b.parquet", swollen_parquet), ("b.arrow", swollen_arrow), ("c.arrow", swollen_stream)],
)
def test_columns_that_swell_are_refused_before_they_do(tmp_path, name, write):
    path = tmp_path / name
    write(path)
    before = pa.total_allocated_bytes()
    for data in (path, afar(path)):
        with pytest.raises(DataError, match=f"{name} becomes more than 500 times as large"):
            next(open_source(data, target="kind").batches())
        assert pa.total_allocated_bytes() - before < 1 << 20


def afar(path):
    """Return the address of the same bytes as a remote file."""
    memory = pytest.importorskip("fsspec").filesystem("memory")
    memory.pipe(f"/hostile/{path.name}", path.read_bytes())
    return f"memory://hostile/{path.name}"


def zigzag(number):
    """A number as Thrift writes it."""
    number, data = number << 1, b""
    while number > 127:
        data, number = data + bytes([number & 127 | 128]), number >> 7
    return data + bytes([number])


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("dictionary", [True, False])
@pytest.mark.parametrize(("which", "said"), [(1, "damaged"), (0, "becomes more than 500 times")])
def test_pages_that_claim_gigabytes_are_refused(tmp_path, version, dictionary, which, said):
    """Arrow made room for what the header of a page asks for, whatever the footer says."""
    path = tmp_path / "p.parquet"
    table = pa.table({"x": np.arange(20_000.0) % 7, "kind": np.arange(20_000) % 2})
    plain = {"use_dictionary": dictionary, "compression": "zstd", "write_statistics": False}
    pq.write_table(table, path, data_page_version=version, **plain)
    (batch,) = open_source(path, target="kind").batches()
    assert batch.X.shape == (20_000, 1)
    data = path.read_bytes()
    sizes = [data[5:].index(b"\x15") + 6]  # after the type of the page, then after its first size
    sizes.append(sizes[0] + data[sizes[0] :].index(b"\x15") + 1)
    start = sizes[which]
    end = start + next(k for k in range(9) if data[start + k] < 128) + 1
    large = zigzag(2_000_000_000)
    cut = 40 + len(large) - (end - start)  # as many bytes less of the page, so that the footer fits
    path.write_bytes(data[:start] + large + data[end : end + 40] + data[end + cut :])
    assert path.stat().st_size == len(data)
    for place in (path, afar(path)):
        with pytest.raises(DataError, match=said):
            next(open_source(place, target="kind").batches())
        assert pa.default_memory_pool().max_memory() < 1 << 30


@pytest.mark.parametrize(
    "model", [Perceptron(), PassiveAggressive(), LogisticRegression(l2=1.0), GaussianNaiveBayes()]
)
@pytest.mark.parametrize("ending", ["svm", "svm.gz"])
def test_a_few_bytes_do_not_ask_for_gigabytes_of_weights(tmp_path, model, ending):
    path = tmp_path / f"rows.{ending}"
    write = gzip.open if ending.endswith("gz") else open
    with write(path, "wb") as file:
        file.write(b"0 1:1\n1 2147483000:1\n")
    said = f"{path} has {path.stat().st_size} bytes and asks for 2,147,483,000 weights: number its"
    with pytest.raises(DataError, match=re.escape(said)):
        clone(model).fit(open_source(path))
    X, _ = load_svmlight(path)
    assert X.shape == (2, 2147483000)


@pytest.mark.parametrize(
    ("name", "how", "advice"),
    [
        ("t.csv", {"text": "s"}, "learn the words with vocabulary=True or hash them into fewer "
         "features with text_bits=12"),
        ("t.csv", {"hash_bits": 20}, "choose fewer hash_bits"),
        ("t.vw", {"hash_bits": 20}, "choose fewer hash_bits"),
    ],
)  # fmt: skip
def test_fewer_hashed_features_are_what_a_small_file_needs(tmp_path, name, how, advice):
    rows = [f"{k} |s a{k}" if name == "t.vw" else f"{k},a{k % 60} b c" for k in range(70)]
    (tmp_path / name).write_text("\n".join(["y,s"] * (name == "t.csv") + rows))
    how = how if name == "t.vw" else how | {"target": "y"}
    with pytest.raises(DataError, match=f"for each of 70 classes: {advice}[.]$"):
        Perceptron().fit(open_source(tmp_path / name, **how))


def test_weights_are_counted_for_each_class_and_byte(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_text("0 1:1\n1 3000000:1\n2 2:1\n3 3:1\n")
    assert Perceptron().fit(open_source(path)).n_features_in_ == 3_000_000
    path.write_text("".join(f"{k} {3_000_000 + k}:1\n" for k in range(6)))
    with pytest.raises(DataError, match="3,000,005 weights for each of 6 classes"):
        Perceptron().fit(open_source(path))
    path.write_text("".join(f"{k % 6} {3_000_000 + k}:1\n" for k in range(9000)))
    assert Perceptron(max_iter=1).fit(open_source(path)).n_features_in_ == 3_008_999


FOOTERS = """
import sys
from pathlib import Path
from linsep import open_source
from linsep.errors import DataError

path = Path(sys.argv[1])
data, read = path.read_bytes(), 0
beginning = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
for at in range(beginning, len(data) - 8):
    for flip in (1, 2, 128):
        path.write_bytes(data[:at] + bytes([data[at] ^ flip]) + data[at + 1 :])
        try:
            list(open_source(path, target="kind").batches())
            read += 1
        except (DataError, ValueError):
            pass
print(read)
"""


DEEP = {
    "lists": b"\x19" * 9999,
    "structures": b"\x1c" * 9999,
    "maps": b"\x1b\x01" + b"\xbb\x01" * 9999,
}


@pytest.mark.parametrize("data", DEEP.values(), ids=DEEP)
def test_structures_without_end_are_damaged(data):
    """They are deeper than Python's stack."""
    with pytest.raises(ValueError, match="without end"):
        read_struct(data)


def test_no_damaged_footer_ends_the_process(tmp_path):
    """Arrow's objects of a footer's columns abort on some, such as counts of levels that differ."""
    path = tmp_path / "p.parquet"
    table = pa.table({"x": [1.0, 2.0] * 4, "word": ["a", "b"] * 4, "kind": [0, 0, 1, 1] * 2})
    pq.write_table(table.replace_schema_metadata(None), path)
    code = "import warnings; warnings.simplefilter('ignore')" + FOOTERS
    done = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-500:]
    assert int(done.stdout) > 100


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow"])
def test_long_text_said_once_and_pointed_at_often_is_refused(tmp_path, name):
    codes = pa.array(np.zeros(20_000, np.int32))
    text = pa.DictionaryArray.from_arrays(codes, pa.array(["a" * 100_000]))  # 2 GB of text
    table = pa.table({"x": np.arange(20_000.0), "t": text, "kind": np.arange(20_000) % 2})
    path = tmp_path / name
    if name.endswith("parquet"):
        pq.write_table(table, path, store_schema=False)
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    with pytest.raises(DataError, match=r"Column 't' has .* of text in .* rows: leave it out with"):
        list(open_source(path, target="kind").batches())
    rows = list(open_source(path, target="kind", exclude="t").batches())
    assert sum(batch.X.shape[0] for batch in rows) == 20_000


def test_text_that_repeats_is_read_as_it_was(tmp_path):
    words = ["a", None, "b", "", "a"] * 700
    table = pa.table({"t": words, "u": pa.array(words, pa.large_string()), "kind": [0, 1] * 1750})
    pq.write_table(table, tmp_path / "w.parquet", row_group_size=1000)
    (batch,) = open_source(tmp_path / "w.parquet", target="kind", missing="zero").batches()
    expected = [[w == v for _ in "tu" for v in ("", "a", "b")] for w in words]
    assert batch.X.toarray().tolist() == expected
