"""Tables that cannot be used: each refusal names what is wrong, where, and what to do."""

import bz2
import gzip
import lzma
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data_files import write, write_text
from linsep import open_source
from linsep.errors import DataError
from linsep.sources.tables import text_file
from linsep.sources.tables.table import TableSource
from refusals import refused
from whole_files import load_table

GOOD = {"a": [1.5, 2.5], "t": ["p", "q"], "y": [0, 1]}


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(text_file, "BLOCK_BYTES", 64)


def assert_refused(path, code, row=None, column=None, target="y", **options):
    """The table is refused, in one sentence with advice, with this code and place."""
    with refused(DataError, code, row=row, column=column) as problem:
        load_table(path, target=target, **options)
    said = str(problem.value)
    assert said.endswith((".", "?"))
    assert "\n" not in said
    assert re.search(r": \w+", said), "no advice"
    return said


def written(folder, text, name="a.csv"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def parquet(folder, columns, name="a.parquet"):
    path = folder / name
    pq.write_table(pa.table(columns), path)
    return path


CSV = [
    ("", "no-rows", None, None),
    ("a,y\n", "no-rows", None, None),
    ("a,y\nr1,1,0\nr2,2,1\n", "field-count", 1, None),
    ("a,y\n1,0\n\n1,0,7\n", "field-count", 2, None),
    ("a,y\n1,0\n1,0\n1", "field-count", 3, None),
    ('a,y\n1,0\n"x\n2,1\n3,1\n', "bad-line", 2, None),
    ("a,y\n1,0\n# a, b, c\n1,1\n", "bad-line", 2, None),
    ("y\n1\n0\n", "no-columns", None, None),
    ("a,y\n1,0\n,1\n", "missing-value", 2, "a"),
    ("t,y\np,0\n,1\n", "missing-value", 2, "t"),
    ("a,y\n1,0\n\n2,\n", "missing-value", 2, "y"),
    ("a,y\n1,0\n1e999,1\n", "not-finite", 2, "a"),
    ("a,y\n1,0.5\n1,inf\n", "not-finite", 2, "y"),
    ("a,y\n1,0\n1,9007199254740993\n", "not-exact", 2, "y"),
    ("a,d,y\n1,2020-01-01,0\n", "column-type", None, "d"),
    (b"a,t,y\n1,caf\xe9,0\n", "encoding", 1, "t"),
    (b"a,caf\xe9,y\n1,x,0\n", "encoding", 1, None),
    (b"\x93\x00\x01binary\xff\x00" * 9, "encoding", None, None),
    (b"a,y\n" + b"1,0\n" * 300_000 + b"1,\0\n", "encoding", None, None),
    ("a,y\n1,0\n".encode("utf-16"), "encoding", None, None),
]


def test_csv(tmp_path):
    for text, *expected in CSV:
        assert_refused(written(tmp_path, text), *expected)


LATER = [
    (b"abc,true,p,1", "not-a-number", "a"),
    (b"1,maybe,p,1", "bad-value", "b"),
    (b"1,true,p", "field-count", None),
    (b"1,true,\xff,1", "encoding", "t"),
    (b",true,p,1", "missing-value", "a"),
    (b"1,true,p,", "missing-value", "y"),
]


def test_csv_after_the_first_block(tmp_path, small_blocks):
    for line, code, column in LATER:
        text = b"a,b,t,y\n" + b"1,true,p,0\n" * 60 + line + b"\n" + b"1,true,p,0\n" * 60
        assert_refused(written(tmp_path, text), code, 61, column)


JSON = [
    ("", "no-rows", None, None),
    ('{"a":1,"y":0}\n{"a":1,', "bad-line", 2, None),
    ('{"a":1,"y":0}\n\n{"a":"x","y":1}\n', "not-a-number", 2, "a"),
    ('{"a":1,"y":0}\n\n{"a":1,"a":2,"y":1}\n', "duplicate-name", 2, "a"),
    ('{"a":1,"y":0}\n{"y":1}\n', "missing-value", 2, "a"),
    ('{"a":1,"y":0}\n{"a":1}\n', "missing-value", 2, "y"),
    ('{"a":[1],"y":0}\n', "column-type", None, "a"),
    ('{"a":"1","y":0}\n{"a":"2.5","y":1}\n', "column-type", None, "a"),
    (b'{"a":"p","y":0}\n{"a":"caf\xe9","y":1}\n', "encoding", 2, "a"),
    ('{"a":1,"y":0}\n'.encode("utf-16"), "encoding", None, None),
]
JSON_LATER = [
    ('{"a":"x","b":true,"t":"p","y":1}', "not-a-number", "a"),
    ('{"a":1e999,"b":true,"t":"p","y":1}', "not-a-number", "a"),
    ('{"a":1,"b":2,"t":"p","y":1}', "bad-value", "b"),
    ('{"a":1,"b":true,"t":3,"y":1}', "bad-value", "t"),
    ('{"a":1,"b":true,"t":"p","y":"no"}', "not-a-number", "y"),
    ('{"a":1,"b":true,"t":"p","y":0,"z":1}', "unknown-column", "z"),
]


def test_json(tmp_path, monkeypatch):
    for text, *expected in JSON:
        assert_refused(written(tmp_path, text, "a.jsonl"), *expected)
    monkeypatch.setattr(text_file, "BLOCK_BYTES", 64)
    good = '{"a":1,"b":true,"t":"p","y":0}\n'
    for line, code, column in JSON_LATER:
        path = written(tmp_path, good * 30 + "\n" + line + "\n" + good * 30, "a.jsonl")
        assert_refused(path, code, 31, column)
    recipe = TableSource([written(tmp_path, good * 9, "b.jsonl")], target="y").recipe()
    assert load_table(path, recipe=recipe)[0].shape == (61, 3)


def test_parquet_and_arrow_cut_short_foreign_or_damaged(tmp_path):
    whole = parquet(tmp_path, GOOD).read_bytes()
    for raw in (whole[:-1], whole[: len(whole) // 2], whole[:10], b"a,y\n1,0\n",
                whole[:4] + b"\xff" * (len(whole) - 8) + whole[-4:]):  # fmt: skip
        assert_refused(written(tmp_path, raw, "b.parquet"), "damaged-file")
    table = pa.table(GOOD)
    with pa.ipc.new_file(tmp_path / "a.arrow", table.schema) as writer:
        writer.write_table(table)
    whole = (tmp_path / "a.arrow").read_bytes()
    for raw in (whole[:-9], b"a,y\n1,0\n" * 9):
        assert_refused(written(tmp_path, raw, "b.arrow"), "damaged-file")
    assert_refused(written(tmp_path, b"FEA1....FEA1", "b.feather"), "damaged-file")
    with pa.ipc.new_stream(tmp_path / "s.arrow", table.schema) as writer:
        writer.write_table(table)
    raw = (tmp_path / "s.arrow").read_bytes()[:-60]
    assert_refused(written(tmp_path, raw, "t.arrow"), "damaged-file")
    for name in ("a.parquet", "a.arrow"):
        assert_refused(written(tmp_path, b"", name), "no-rows")
    none = pa.table({"a": pa.array([], pa.float64()), "y": pa.array([], pa.int64())})
    pq.write_table(none, tmp_path / "a.parquet")
    assert_refused(tmp_path / "a.parquet", "no-rows")


PARQUET = [
    ({"a": ["1", "2"]}, "column-type", None),
    ({"a": [f"name {i}" for i in range(150)]}, "column-type", None),
    ({"a": [1.0, float("nan")]}, "missing-value", 2),
    ({"a": pa.array(["p", b"\xff"], pa.binary()).view(pa.string())}, "encoding", 2),
]


def test_parquet_columns_and_labels(tmp_path):
    for columns, code, row in PARQUET:
        rows = len(columns["a"])
        path = parquet(tmp_path, columns | {"b": np.arange(rows), "y": np.arange(rows) % 2})
        assert_refused(path, code, row, "a")
        load_table(path, target="y", exclude=["a"])
    path = parquet(tmp_path, {"a": [1, 2], "y": pa.array([1, 2], pa.timestamp("us"))})
    assert_refused(path, "label-type", None, "y")
    path = parquet(tmp_path, {"a": [1, 2], "y": [1.0, float("nan")]})
    assert_refused(path, "missing-value", 2, "y", missing="zero")
    table = pa.Table.from_arrays([pa.array([1]), pa.array([1])], names=["a", "a"])
    pq.write_table(table, tmp_path / "a.parquet")
    assert_refused(tmp_path / "a.parquet", "duplicate-name", None, "a", target="a")


@pytest.mark.parametrize(("codec", "ending"), [("gz", "csv"), ("bz2", "jsonl"), ("zst", "csv")])
def test_compressed_file_cut_short_or_not_compressed(tmp_path, codec, ending):
    values = np.random.default_rng(0).random(20_000).tolist()
    line = "{},{}\n" if ending == "csv" else '{{"a":{},"y":{}}}\n'
    text = "a,y\n" * (ending == "csv") + "".join(line.format(a, int(a > 0.5)) for a in values)
    path = write_text(tmp_path / f"a.{ending}.{codec}", text.encode())
    assert load_table(path, target="y")[0].shape == (20_000, 1)
    written(tmp_path, path.read_bytes()[:-20_000], path.name)
    assert_refused(path, "damaged-file")
    written(tmp_path, text, path.name)
    assert_refused(path, "damaged-file")


def test_bytes_behind_compressed_data(tmp_path):
    for ending, pack in (("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)):
        packed = pack(b"1 1:2\n0 1:3\n" * 50)
        path = written(tmp_path, packed + b"\0" * 512, f"a.svm.{ending}")
        with refused(DataError, "damaged-file"):
            list(open_source(path).batches())


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_files_that_cannot_be_opened(tmp_path, name, monkeypatch):
    path = tmp_path / name
    assert_refused(path, "no-file")
    path.mkdir()
    assert_refused(path, "not-a-file")
    path.rmdir()
    path.write_bytes(b"x")

    def denied(name):
        raise PermissionError(13, "Permission denied", name)

    monkeypatch.setattr(pa, "OSFile", denied)
    assert_refused(path, "cannot-read")


def test_names_that_say_no_table(tmp_path):
    for name in ("a.data", "a", "a.parquet.gz", "a.gz"):
        assert_refused(written(tmp_path, "a,y\n1,0\n", name), "wrong-format")


def test_targets_and_options(tmp_path):
    path = written(tmp_path, "width,label\n1,0\n")
    for target, code, options in [
        (None, "no-labels", {}),
        ("lable", "unknown-column", {}),
        ("label", "column-role", {"exclude": ["label"]}),
        ("label", "unknown-column", {"exclude": ["widht"]}),
        ("label", "bad-option", {"missing": "no"}),
        ("label", "bad-option", {"hash_bits": 31}),
    ]:
        with refused(DataError, code):
            load_table(path, target=target, **options)


OTHERS = [
    ("b.csv", "a,y\n1,0\n", "unknown-column", None, "t"),
    ("b.csv", "a,t,z,y\n1,p,2,0\n", "mixed-formats", None, "z"),
    ("b.csv", "t,a\np,1\n", "unknown-column", None, "y"),
    ("b.csv", "t,a,y\np,q,1\n", "not-a-number", 1, "a"),
    ("b.csv", "t,a,y\np,1,1\np,,1\n", "missing-value", 2, "a"),
    ("b.jsonl", '{"t":"p","y":1}\n', "unknown-column", None, "a"),
    ("b.jsonl", '{"t":"p","y":1}\n{"a":1,"y":1}\n', "missing-value", 1, "a"),
    ("b.jsonl", '{"a":1,"t":"p","y":1,"z":1}\n', "mixed-formats", None, "z"),
]


def test_a_second_file_with_other_columns_or_types(tmp_path):
    one = written(tmp_path, "a,t,y\n1,p,0\n2,p,1\n")
    for name, text, *expected in OTHERS:
        assert_refused([one, written(tmp_path, text, name)], *expected)
    for column, values in [("a", ["p"]), ("t", [1]), ("y", ["yes"]), ("y", [True])]:
        columns = {"a": [1.0], "t": ["p"], "y": [0]} | {column: values}
        two = parquet(tmp_path, columns, "b.parquet")
        assert_refused([one, two], "column-type", None, column)


@pytest.mark.parametrize("column", ["a", "w"])
def test_no_advice_to_leave_out_columns_that_are_needed(tmp_path, column):
    roles = {"target": "y", "weight": "w"}
    one = written(tmp_path, "a,y,w\n1,0,1\n2,1,1\n")
    row = {"a": "1", "y": "1", "w": "1"} | {column: "x"}
    two = written(tmp_path, "\n".join(map(",".join, (row, row.values()))), "b.csv")
    assert "exclude" not in assert_refused([one, two], "not-a-number", 1, column, **roles)


def test_values_that_are_missing_everywhere_or_too_many(tmp_path, monkeypatch):
    path = written(tmp_path, "a,b,y\n,1,0\n,,1\n")
    assert_refused(path, "missing-value", None, "a", missing="mean")
    assert_refused(path, "no-rows", missing="drop")
    path = written(tmp_path, "t,y\nhi you,0\nhi there,1\n")
    assert_refused(path, "conflict", text=["t"], hash_bits=10)
    monkeypatch.setattr("linsep.sources.tables.encoding.MOST_VALUES", 3)
    path = written(tmp_path, "t,y\n" + "".join(f"v{i % 4},0\n" for i in range(9)))
    assert_refused(path, "too-large", None, "t")
    load_table(path, target="y", hash_bits=3)


def test_recipes_and_new_files(tmp_path):
    path = written(tmp_path, "a,b,t,y\n1,1,p,0\n2,1,q,1\n")
    recipe = TableSource([path], target="y").recipe()
    new = written(tmp_path, "b,c,y\n1,1,0\n", "new.csv")
    assert_refused(new, "unknown-column", None, "a", recipe=recipe)
    new = written(tmp_path, "|a title\n1,1,p,0\n", "new.csv")
    assert "skip_rows" in assert_refused(new, "unknown-column", None, "a", recipe=recipe)
    text = parquet(tmp_path, {"a": ["x"], "b": [1], "t": ["p"], "y": [1]})
    assert_refused(text, "column-type", None, "a", recipe=recipe)
    for damage in (
        {"numeric": None},
        {"text": {"t": ["p"]}},
        {"missing": "maybe"},
        {"hash_bits": "many"},
    ):
        assert_refused(path, "bad-model-file", recipe=recipe | damage)


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet", "a.arrow", "a.csv.gz"])
def test_mutated_files_are_read_or_refused(tmp_path, name):
    """Whatever bytes come, the answer is rows or a DataError."""
    rng = np.random.default_rng(7)
    columns = {"a": rng.random(20), "t": ["p", "q"] * 10, "y": [0, 1] * 10}
    path = write(tmp_path, columns, name.removeprefix("a."))
    whole = bytearray(path.read_bytes())
    for _ in range(60):
        mutant = bytearray(whole)
        for place in rng.integers(0, len(whole), rng.integers(1, 4)):
            mutant[place] = rng.integers(0, 256)
        path.write_bytes(mutant)
        try:
            X, labels, _ = load_table(path, target="y", missing="zero")
        except DataError:
            continue
        assert X.shape[0] == len(labels) > 0
