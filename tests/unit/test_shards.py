"""Shards of files: every row in exactly one of them, as the whole file is read."""

import json
import os
import pickle
import shutil
import time

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from linsep import open_source
from linsep.distributed import shards as cutting
from linsep.distributed.shards import Reading, read_shard, shards_of
from linsep.errors import DataError
from refusals import refused

ROWS = 300


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shards")
    random = np.random.default_rng(0)
    table = pa.table(
        {
            "a": random.normal(size=ROWS),
            "b": random.integers(0, 9, ROWS),
            "c": [["x", 'quoted "y"', "z, or not"][k] for k in random.integers(0, 3, ROWS)],
            "y": [f"class {k}" for k in random.integers(0, 3, ROWS)],
            "w": random.integers(0, 3, ROWS).astype(float),
        }
    )
    pq.write_table(table, folder / "t.parquet", row_group_size=40)
    pa.csv.write_csv(table, folder / "t.csv")
    pa.csv.write_csv(table, folder / "t.tsv", pa.csv.WriteOptions(delimiter="\t"))
    (folder / "t.jsonl").write_text("\n".join(map(json.dumps, table.to_pylist())))
    lines = [
        f"{y[-1]} " + " ".join(f"{k}:{v}" for k, v in ((1, a), (2 + b, 1.5)))
        for a, b, y in zip(*(table[c].to_pylist() for c in "aby"), strict=True)
    ]
    (folder / "t.svm").write_text("# a comment\n\n" + "\n# another\n".join(lines))
    (folder / "t.vw").write_text("\n".join(f"{1 - 2 * (k % 2)} |n a:{k} b" for k in range(ROWS)))
    return folder


def rows(batches):
    parts = [(batch.X, batch.y, batch.weights) for batch in batches]
    width = max(X.shape[1] for X, *_ in parts)
    X = [np.asarray(X.todense()) if sp.issparse(X) else X for X, *_ in parts]
    X = np.concatenate([np.pad(x, ((0, 0), (0, width - x.shape[1]))) for x in X])
    return X, np.concatenate([y for _, y, _ in parts]), [w for *_, w in parts if w is not None]


@pytest.mark.parametrize(
    ("name", "size"),
    [(name, 700) for name in ("t.parquet", "t.csv", "t.tsv", "t.jsonl", "t.svm", "t.vw")]
    + [("t.csv", 1 << 20)],
)
def test_every_row_is_in_one_shard(folder, name, size):
    table = {"target": "y", "weight": "w", "scale": "standard"}
    how = {"t.svm": {}, "t.vw": {"hash_bits": 5}}.get(name, table)
    source = open_source(folder / name, **how)
    shards = shards_of(source, size)
    assert (len(shards) == 1) == (size == 1 << 20)
    reading = Reading(source.recipe())
    parts = (read_shard(shard, reading).batch for shard in shards)
    found = [batch for batch in parts if batch.size]
    (X, y, w), (X_known, y_known, w_known) = rows(found), rows(source.batches())
    assert np.array_equal(X, X_known)
    assert X.dtype == X_known.dtype
    assert np.array_equal(y, y_known)
    assert np.array_equal(np.concatenate(w or [[]]), np.concatenate(w_known or [[]]))


def test_errors_name_the_row_of_the_file(folder, tmp_path):
    name = "t.csv"
    lines = (folder / name).read_text().split("\n")
    source = open_source(folder / name, target="y")
    reading = Reading(source.recipe())
    lines[250] = 'wrong,1,"x","class 0",1'
    (tmp_path / name).write_text("\n".join(lines))
    about = (tmp_path / name).stat()
    there = {"path": str(tmp_path / name), "size": about.st_size, "written": about.st_mtime_ns}
    shards = [shard._replace(**there) for shard in shards_of(source, 3000)]
    with refused(DataError, "not-a-number", row=250, column="a"):
        for shard in shards:
            read_shard(shard, reading)


@pytest.mark.parametrize("name", ["t.parquet", "t.svm"])
def test_a_file_of_another_size_or_time_is_refused(folder, tmp_path, name):
    path = tmp_path / name
    shutil.copy(folder / name, path)
    source = open_source(path, **({} if name == "t.svm" else {"target": "y"}))
    reading, last = Reading(source.recipe()), shards_of(source, 3000)[-1]
    read_shard(last, reading)
    os.utime(path, ns=(last.written + 1, last.written + 1))
    with refused(DataError, "file-changed", path=str(path)):
        read_shard(last, reading)
    whole_seconds = last.written // 10**9 * 10**9
    os.utime(path, ns=(whole_seconds, whole_seconds))  # as scp -p keeps times
    read_shard(last, reading)
    path.write_bytes(path.read_bytes()[:-1])
    os.utime(path, ns=(whole_seconds, whole_seconds))
    with refused(DataError, "file-changed", path=str(path)):
        read_shard(last, reading)


def test_a_field_with_line_breaks_is_never_split(tmp_path):
    rows = [f'{k},"one\ntwo {k}",{k % 2}' for k in range(200)]
    (tmp_path / "t.csv").write_text("a,b,y\n" + "\n".join(rows) + "\n")
    source = open_source(tmp_path / "t.csv", target="y", exclude="b")
    reading = Reading(source.recipe())
    with refused(DataError, "unsupported"):
        [read_shard(shard, reading) for shard in shards_of(source, 1000)]


def test_shards_of_comments_or_of_dropped_rows_are_empty(tmp_path):
    (tmp_path / "t.svm").write_text("1 1:2\n" + "# nothing\n" * 100 + "-1 1:3\n")
    source = open_source(tmp_path / "t.svm")
    reading = Reading(source.recipe())
    sizes = [read_shard(shard, reading).batch.size for shard in shards_of(source, 300)]
    assert sizes == [1, 0, 0, 1]
    (tmp_path / "t.csv").write_text("a,y\n" + "1,0\n" * 50 + ",1\n" * 200)
    source = open_source(tmp_path / "t.csv", target="y", missing="drop")
    reading = Reading(source.recipe())
    found = [read_shard(shard, reading) for shard in shards_of(source, 204)]
    sizes = [(rows.batch.size, rows.dropped) for rows in found]
    assert sizes == [(50, 0), (0, 68), (0, 68), (0, 64)]


def test_what_has_no_shards_is_refused(tmp_path):
    for label in "ab":
        (tmp_path / label).mkdir()
        (tmp_path / label / "1.txt").write_text(f"text {label}")
    with refused(DataError, "unsupported"):
        shards_of(open_source(tmp_path, format="folder"))


@pytest.mark.parametrize("how", [{"skip_rows": 1}, {"comment": "#"}])
def test_files_whose_parts_cannot_be_read_alone_are_one_shard(tmp_path, how):
    path = tmp_path / "rows.csv"
    path.write_text("#\na,y\n" + "1,0\n2,1\n" * 500)
    source = open_source(path, target="y", **how)
    assert len(shards_of(source, 100)) == 1


def test_a_remote_file_of_another_version_is_refused():
    store = pytest.importorskip("fsspec").filesystem("memory")
    store.pipe("/shards/t.svm", b"1 1:1\n0 1:2\n")
    source = open_source("memory://shards/t.svm")
    (shard,) = pickle.loads(pickle.dumps(shards_of(source)))
    reading = Reading(source.recipe())
    assert read_shard(shard, reading).batch.y.tolist() == [1, 0]
    time.sleep(0.01)
    store.pipe("/shards/t.svm", b"0 1:1\n1 1:2\n")
    (shard,) = pickle.loads(pickle.dumps([shard]))  # as a task that is repeated gets it
    with refused(DataError, "file-changed"):
        read_shard(shard, reading)


def test_a_file_that_changes_while_a_shard_is_read(folder, tmp_path, monkeypatch):
    path = tmp_path / "t.svm"
    shutil.copy(folder / "t.svm", path)
    source = open_source(path)
    shard, read = shards_of(source, 3000)[1], cutting._read
    monkeypatch.setattr(cutting, "_read", lambda *given: os.utime(path) or read(*given))
    with refused(DataError, "file-changed"):
        read_shard(shard, Reading(source.recipe()))
