"""linsep convert: the same numbers to the bit, and nothing half-written."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import load_svmlight_file

from command_line import assert_refused, here
from linsep.rewriting.converting import stored, svmlight_lines
from linsep.sources.opening import open_source

ROWS = 200


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Numbers of all sizes, in every format."""
    folder = tmp_path_factory.mktemp("convert")
    rng = np.random.default_rng(2)
    bits = rng.integers(0, 2**64, (ROWS, 3), dtype=np.uint64).view(np.float64)
    X = np.where(np.isfinite(bits) & (abs(bits) < 1e300), bits, 0.0)
    X[0] = [5e-324, -0.0, 0.1]
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["town"] = rng.choice(["Bonn", "Köln", 'x,"y"'], ROWS)
    frame["w"], frame["kind"] = rng.integers(0, 3, ROWS), rng.choice(["p", "q", "r"], ROWS)
    frame.to_csv(folder / "t.csv", index=False)
    frame.to_parquet(folder / "t.parquet")
    lines = [
        f"{k % 3 - 1} {k % 2 + 1} | " + " ".join(f"{j}:{v!r}" for j, v in enumerate(row) if v)
        for k, row in enumerate(X.tolist())
    ]
    (folder / "t.vw").write_text("\n".join(lines) + "\n")
    (folder / "t.svm").write_bytes(bytes(svmlight_lines(stored(X), np.arange(ROWS) % 3)))
    return folder


def converted(*arguments, cwd):
    done = here("convert", *arguments, "--json", cwd=cwd)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def rows_of(path, **how):
    """All rows as the bits of doubles, their labels and their weights."""
    batches = list(open_source(path, **how).batches())
    width = max(batch.X.shape[1] for batch in batches)
    dense = np.zeros((sum(batch.X.shape[0] for batch in batches), width))
    for batch in batches:
        part = batch.X.toarray() if hasattr(batch.X, "toarray") else batch.X
        dense[batch.first : batch.first + len(part), : part.shape[1]] = part
    weights = [batch.weights for batch in batches]
    y = None if batches[0].y is None else np.concatenate([batch.y for batch in batches])
    return (dense + 0.0).view(np.uint64), y, None if weights[0] is None else np.concatenate(weights)


KIND = ["--target", "kind"]


@pytest.mark.parametrize(("name", "out"), [("t.csv", "o.svm"), ("t.parquet", "o.libsvm.zst")])
def test_tables_as_svmlight_text(folder, tmp_path, name, out):
    found = converted(folder / name, out, *KIND, "--weight", "w", cwd=tmp_path)
    ours, y, _ = rows_of(tmp_path / out)
    theirs, kinds, _ = rows_of(folder / name, target="kind", weight="w")
    np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(y, np.searchsorted(["p", "q", "r"], kinds))
    assert len(found["lost"]) == 3  # names, labels and weights
    if out == "o.svm":
        X, labels = load_svmlight_file(str(tmp_path / out))
        np.testing.assert_array_equal((X.toarray() + 0.0).view(np.uint64), ours)
        np.testing.assert_array_equal(labels, y)


def test_svmlight_and_vowpal_wabbits_text(folder, tmp_path):
    converted(folder / "t.svm", "o.svm", cwd=tmp_path)
    assert (tmp_path / "o.svm").read_bytes() == (folder / "t.svm").read_bytes()
    assert converted(folder / "t.vw", "v.svm", "--hash-bits", 8, cwd=tmp_path)["lost"] == [
        "row weights are not written"
    ]
    ours, y, _ = rows_of(tmp_path / "v.svm")
    theirs, labels, _ = rows_of(folder / "t.vw", hash_bits=8)
    np.testing.assert_array_equal(ours, theirs[:, : ours.shape[1]])
    assert not theirs[:, ours.shape[1] :].any()
    np.testing.assert_array_equal(y, labels)


def test_tables_as_parquet_keep_every_column(folder, tmp_path):
    (tmp_path / "b.csv").write_text(
        "a,when,flag,gap\n1,2024-05-01,true,\n-0.0,2024-05-02,false,x\n"
    )
    assert converted("b.csv", "b.parquet", cwd=tmp_path)["rows"] == 2
    table = pq.read_table(tmp_path / "b.parquet")
    assert table.to_pylist() == [
        {"a": 1.0, "when": "2024-05-01", "flag": True, "gap": None},
        {"a": -0.0, "when": "2024-05-02", "flag": False, "gap": "x"},
    ]
    converted(folder / "t.csv", "t.parquet", cwd=tmp_path)
    how = {"target": "kind", "weight": "w"}
    for ours, theirs in zip(
        rows_of(tmp_path / "t.parquet", **how), rows_of(folder / "t.csv", **how), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)
    converted(folder / "t.parquet", "again.parquet", "--exclude", "b", cwd=tmp_path)
    again = pq.read_table(tmp_path / "again.parquet")
    kept = pq.read_table(folder / "t.parquet").drop_columns("b")
    assert again.to_pylist() == kept.to_pylist()


def test_sparse_rows_as_parquet(folder, tmp_path):
    converted(folder / "t.svm", "o.parquet", cwd=tmp_path)
    assert pq.read_schema(tmp_path / "o.parquet").names == ["label", "1", "2", "3"]
    ours, y, _ = rows_of(tmp_path / "o.parquet", target="label")
    theirs, labels, _ = rows_of(folder / "t.svm")
    np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(y, labels)
    converted(folder / "t.vw", "v.parquet", "--hash-bits", 3, cwd=tmp_path)
    ours, y, w = rows_of(tmp_path / "v.parquet", target="label", weight="weight")
    theirs, labels, weights = rows_of(folder / "t.vw", hash_bits=3)
    np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(w, weights)


def test_refusals(folder):
    (folder / "bad.svm").write_text("1 1:1\n" * 5000 + "1 x\n")
    (folder / "list.jsonl").write_text('{"a": [1]}\n')
    columns = " ".join(f"--exclude {name}" for name in ("a", "b", "c", "town", "w", "kind"))
    for words, code, exit_code in (
        ("t.svm o.csv", None, 2), ("t.svm t.parquet", "file-exists", 1),
        ("t.svm t.svm --force", "conflict", 1), ("t.csv o.svm", "no-labels", 1),
        ("t.csv o.parquet --text town", None, 2),
        ("t.csv o.parquet --target z", "unknown-column", 1),
        (f"t.csv o.parquet {columns}", "no-columns", 1), ("t.vw o.parquet", "too-large", 1),
        ("bad.svm o.svm", None, 1), ("list.jsonl o.parquet", "column-type", 1),
        ("t.svm none/o.svm", "no-file", 1),
    ):  # fmt: skip
        assert_refused("convert", *words.split(), cwd=folder, code=code, exit_code=exit_code)


LONG = 2**53 + 1


def test_no_digit_of_a_column_is_lost(tmp_path):
    """Text is read as doubles, which do not hold the whole numbers that columns are written as."""
    (tmp_path / "t.csv").write_text(f"a,w,y\n{LONG},0,1\n1,1,2\n")
    assert_refused("convert", "t.csv", "o.parquet", cwd=tmp_path, code="not-exact")
    pq.write_table(pa.table({"a": [LONG, 1], "y": [1, 2]}), tmp_path / "t.parquet")
    assert here("convert", "t.parquet", "o.parquet", cwd=tmp_path).returncode == 0
    assert pq.read_table(tmp_path / "o.parquet")["a"].to_pylist() == [LONG, 1]


def test_ctrl_c_leaves_nothing(folder, tmp_path, monkeypatch):
    def pressed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("linsep.rewriting.converting.svmlight_lines", pressed)
    assert here("convert", folder / "t.svm", "o.svm", cwd=tmp_path).returncode == 130
    assert list(tmp_path.iterdir()) == []


def test_codes_with_zeros_in_front_stay_text(tmp_path, monkeypatch):
    """01067 became 1067.0, also if it came late."""
    monkeypatch.setattr("linsep.sources.tables.text_file.BLOCK_BYTES", 64)
    rows = "".join(f"{91067 - 10000 * k:05},{k},{k % 2}\n" for k in range(10))
    (tmp_path / "t.csv").write_text("zip,n,y\n" + rows)
    assert here("convert", "t.csv", "t.parquet", cwd=tmp_path).returncode == 0
    found = pq.read_table(tmp_path / "t.parquet")
    assert found["zip"].to_pylist()[-2:] == ["11067", "01067"]
    assert found["n"].to_pylist()[:2] == [0, 1]
