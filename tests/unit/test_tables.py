"""Tables: every format gives the same rows, text becomes indicators, recipes read alike."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings, strategies as st

from linsep import Perceptron
from linsep.errors import DataError
from linsep.online.rows.stored import Keeper
from linsep.sources import text_files
from linsep.sources.base import Batch
from linsep.sources.opening import find_files, open_source
from linsep.sources.tables.table import TableSource, load_table

pytestmark = pytest.mark.compiled

FORMATS = ["csv", "tsv", "csv.gz", "csv.bz2", "csv.zst", "jsonl", "ndjson", "json", "jsonl.gz",
           "parquet", "pq", "arrow", "feather", "ipc", "stream.arrow"]  # fmt: skip
CODECS = {"gz": "gzip", "bz2": "bz2", "zst": "zstd"}


def write(folder, table, ending, name="rows"):
    """Write a dict of columns or an Arrow table in the format of the ending."""
    table = table if isinstance(table, pa.Table) else pa.table(table)
    path = folder / f"{name}.{ending}"
    if ending in {"parquet", "pq"}:
        pq.write_table(table, path, row_group_size=7)
    elif ending == "stream.arrow":
        with pa.ipc.new_stream(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=5)
    elif ending in {"arrow", "feather", "ipc"}:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=5)
    else:
        if "json" in ending:
            text = "".join(json.dumps(row) + "\n" for row in table.to_pylist()).encode()
        else:
            sink = pa.BufferOutputStream()
            options = pa.csv.WriteOptions(delimiter="\t" if "tsv" in ending else ",")
            pa.csv.write_csv(table, sink, write_options=options)
            text = sink.getvalue().to_pybytes()
        write_text(path, text)
    return path


def write_text(path, text):
    codec = CODECS.get(path.suffix[1:])
    if codec is None:
        path.write_bytes(text)
    else:
        with pa.CompressedOutputStream(str(path), codec) as stream:
            stream.write(text)
    return path


def dense(X):
    return X.toarray() if sp.issparse(X) else X


def sample(rows=23, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "height": rng.standard_normal(rows).round(3),
        "colour": rng.choice(["red", "green", "blue, or so"], rows).tolist(),
        "label": rng.integers(0, 2, rows),
        "count": rng.integers(-5, 5, rows),
        "town": rng.choice(["Bern", "Zürich", 'the "Hague"', "a\nb"], rows).tolist(),
        "flag": rng.random(rows) < 0.5,
    }


def encoded(columns, target, missing="error", means=None):
    """Say in plain Python what the features of a dict of columns are: names and dense rows."""
    means = means or {}
    texts = [n for n, c in columns.items() if n != target and any(isinstance(v, str) for v in c)]
    names = [name for name in columns if name != target and name not in texts]
    rows = list(zip(*columns.values(), strict=True))
    if missing == "drop":
        rows = [row for row in rows if None not in row]
    rows = [dict(zip(columns, row, strict=True)) for row in rows]
    numbers = list(names)
    for name in texts:
        values = {row[name] for row in rows if row[name] is not None}
        names += [f"{name}={value}" for value in sorted(values)]
    X = np.zeros((len(rows), len(names)))
    for i, row in enumerate(rows):
        for name in numbers:
            X[i, names.index(name)] = means.get(name, 0.0) if row[name] is None else row[name]
        for name in texts:
            if row[name] is not None:
                X[i, names.index(f"{name}={row[name]}")] = 1
    return names, X, [row[target] for row in rows]


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(text_files, "BLOCK_BYTES", 64)


@pytest.mark.parametrize("ending", FORMATS)
def test_every_format_gives_the_same_rows(tmp_path, ending):
    columns = sample()
    X, y, names = load_table(write(tmp_path, columns, ending), target="label")
    expected_names, expected, labels = encoded(columns, "label")
    assert names == expected_names
    assert isinstance(X, sp.csr_matrix)
    np.testing.assert_array_equal(dense(X), expected)
    np.testing.assert_array_equal(y, labels)
    assert y.dtype == np.int64


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "arrow", "stream.arrow"])
@pytest.mark.parametrize("batch_rows", [1, 4, 1000])
def test_rows_do_not_depend_on_batches_or_blocks(tmp_path, small_blocks, ending, batch_rows):
    columns = sample(61, seed=3)
    path = write(tmp_path, columns, ending)
    source = TableSource([path], target="label", batch_rows=batch_rows)
    for _ in range(2):
        batches = list(source.batches())
        assert [batch.first for batch in batches] == list(range(0, 61, batch_rows))
        assert sum(len(batch.y) for batch in batches) == 61
    X, y, names = load_table(path, target="label", batch_rows=batch_rows)
    expected_names, expected, labels = encoded(columns, "label")
    assert names == expected_names
    np.testing.assert_array_equal(dense(X), expected)
    np.testing.assert_array_equal(y, labels)


def test_batches_are_canonical_and_of_one_width(tmp_path):
    path = write(tmp_path, {"t": ["a", "b", "a", "c"], "x": [1, 0, 2, 3], "y": [0, 1, 0, 1]}, "csv")
    batches = list(TableSource([path], target="y", batch_rows=1).batches())
    assert [batch.X.shape for batch in batches] == [(1, 4)] * 4
    for batch in batches:
        assert isinstance(batch, Batch)
        assert batch.X.has_canonical_format
        assert batch.X.has_sorted_indices
        assert batch.X.indices.dtype == np.int32
    assert batches[1].X.nnz == 1  # the zero is not stored


def test_numbers_only_give_a_contiguous_array(tmp_path):
    path = write(tmp_path, {"a": [1, 2], "y": ["p", "q"], "b": [True, False]}, "csv")
    source = TableSource([path], target="y")
    (batch,) = source.batches()
    assert batch.X.flags.c_contiguous
    assert batch.X.flags.writeable
    assert batch.X.dtype == np.float64
    np.testing.assert_array_equal(batch.X, [[1, 1], [2, 0]])
    assert source.feature_names == ["a", "b"]
    assert source.size == source.position == path.stat().st_size


@pytest.mark.parametrize(("kind", "dtype"), [("f4", np.float32), ("f8", np.float64)])
def test_float32_columns_stay_float32(tmp_path, kind, dtype):
    columns = {"a": np.array([0.1, 0.2], kind), "b": np.array([3, 4], "f4"), "y": [0, 1]}
    path = write(tmp_path, columns, "parquet")
    source = TableSource([path], target="y")
    X, _, _ = load_table(path, target="y")
    assert X.dtype == dtype
    np.testing.assert_array_equal(X[:, 0], columns["a"])
    text = write(tmp_path, columns, "csv")
    again, _, _ = load_table(text, target="y", recipe=source.recipe())
    assert again.dtype == dtype


def test_arrow_types_that_are_numbers_or_text(tmp_path):
    table = pa.table(
        {
            "i8": pa.array([1, 2], pa.int8()),
            "u64": pa.array([2**63, 5], pa.uint64()),
            "half": pa.array(np.array([0.5, 1.5], np.float16)),
            "money": pa.array([1, 2], pa.decimal128(7, 2)),
            "coded": pa.array([3.5, 4.5]).dictionary_encode(),
            "word": pa.array(["p", "q"]).dictionary_encode(),
            "long": pa.array(["s", "t"], pa.large_string()),
            "y": pa.array(["no", "yes"]).dictionary_encode(),
        }
    )
    for ending in ("parquet", "arrow"):
        X, y, names = load_table(write(tmp_path, table, ending), target="y")
        assert names == ["i8", "u64", "half", "money", "coded",
                         "word=p", "word=q", "long=s", "long=t"]  # fmt: skip
        assert dense(X).tolist() == [
            [1, 2.0**63, 0.5, 1, 3.5, 1, 0, 1, 0],
            [2, 5, 1.5, 2, 4.5, 0, 1, 0, 1],
        ]
        assert y.tolist() == ["no", "yes"]


@pytest.mark.parametrize(
    ("written", "labels"),
    [
        (["0", "1"], [0, 1]),
        (["yes", "no"], ["yes", "no"]),
        (["true", "false"], [True, False]),
        (["2.0", "3.5"], [2.0, 3.5]),
        (["1", "2.5"], [1.0, 2.5]),
        (["2020-01-01", "2020-01-02"], ["2020-01-01", "2020-01-02"]),
    ],
)
def test_csv_labels_keep_their_look(tmp_path, written, labels):
    path = tmp_path / "a.csv"
    path.write_text("y,x\n" + "".join(f"{label},1\n" for label in written))
    _, y, _ = load_table(path, target="y")
    assert y.tolist() == labels
    assert [type(value) for value in y.tolist()] == [type(value) for value in labels]


def test_whole_number_labels_become_floats_when_a_later_one_is_no_whole_number(
    tmp_path, small_blocks
):
    path = tmp_path / "a.csv"
    path.write_text("y,x\n" + "1,5\n" * 60 + "2.5,5\n")
    source = TableSource([path], target="y", batch_rows=10)
    kinds = [batch.y.dtype.kind for batch in source.batches()]
    assert kinds == ["i"] * 6 + ["f"]
    assert source.recipe()["target_kind"] == "float"


def test_csv_numbers_may_change_their_look_after_the_first_block(tmp_path, small_blocks):
    path = tmp_path / "a.csv"
    path.write_text("a,b,y\n" + "1,true,0\n" * 60 + "2.5,0,1\n" + "NA,1,1\nnan,,0\n" + "-inf,1,1\n")
    with pytest.raises(DataError, match=r"a\.csv line 65, column 'a' is infinite"):
        load_table(path, target="y", missing="zero")
    path.write_text(path.read_text().replace("-inf", "+7e1"))
    X, _, _ = load_table(path, target="y", missing="zero")
    assert X[-4:].tolist() == [[2.5, 0], [0, 1], [0, 0], [70, 1]]


def test_csv_dialect(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b'\xef\xbb\xbfa,"t,u",y\r\n\r\n1,"x\r\ny",0\r\n\r\n2,"say ""hi""",1\r\n3,NA,0')
    source = TableSource([path], target="y", exclude=[])
    X, _, names = load_table(path, target="y")
    assert names == ["a", "t,u=NA", 't,u=say "hi"', "t,u=x\r\ny"]
    assert dense(X)[:, 0].tolist() == [1, 2, 3]
    assert [source.where(row)[-6:] for row in range(3)] == ["line 3", "line 6", "line 7"]


def test_a_first_row_longer_than_a_block(tmp_path, small_blocks):
    path = tmp_path / "a.csv"
    row = ",".join(map(str, range(200)))
    path.write_text(",".join(f"c{i}" for i in range(200)) + "\n" + f"{row}\n" * 9)
    X, y, _ = load_table(path, target="c7")
    assert X.shape == (9, 199)
    assert set(y) == {7}


def test_json_fields_may_be_absent_and_in_any_order(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"a":1,"t":"p","y":0}\n\n{"y":1,"a":null}\n{"t":"q","y":1}\n')
    X, _, names = load_table(path, target="y", missing="zero")
    assert names == ["a", "t=p", "t=q"]
    assert dense(X).tolist() == [[1, 1, 0], [0, 0, 0], [0, 0, 1]]
    assert TableSource([path], target="y", missing="zero").where(1).endswith("line 3")


def test_arrow_files_are_never_mapped(tmp_path, monkeypatch):
    """One that is cut short under a map of it ends the process with a bus error."""
    monkeypatch.setattr(pa, "memory_map", None)
    columns = sample()
    X, y, names = load_table(write(tmp_path, columns, "arrow"), target="label")
    expected_names, expected, _ = encoded(columns, "label")
    assert names == expected_names
    np.testing.assert_array_equal(dense(X), expected)
    np.testing.assert_array_equal(y, columns["label"])


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_does_not_grow_with_the_file(tmp_path):
    columns = {f"x{i}": np.random.default_rng(i).random(50_000) for i in range(10)}
    path = write(tmp_path, columns | {"t": ["p", "q"] * 25_000, "y": [0, 1] * 25_000}, "csv")
    header, _, body = path.read_bytes().partition(b"\n")
    code = (
        "import sys; from pathlib import Path; from linsep.sources import TableSource\n"
        "for _ in TableSource([Path(sys.argv[1])], target='y').batches(): pass\n"
        "print(next(l for l in open('/proc/self/status') if l.startswith('VmHWM')).split()[1])"
    )
    peaks = []
    for times in (5, 40):  # 50 MB, 400 MB
        with path.open("wb") as file:
            file.write(header + b"\n")
            for _ in range(times):
                file.write(body)
        done = subprocess.run(
            [sys.executable, "-c", code, str(path)], check=True, capture_output=True, text=True
        )
        peaks.append(int(done.stdout) / 1024)
    # Up to 64 MB of tables wait in memory until their text values are known.
    assert peaks[1] < peaks[0] + 64 + 60
    assert peaks[1] < 400


def test_several_files_in_other_column_orders_and_formats(tmp_path):
    one = write(tmp_path, {"a": [1, 2, 3], "t": ["p", "q", "p"], "y": [0, 1, 0]}, "csv", "one")
    two = write(tmp_path, {"y": [1, 1], "t": ["r", "p"], "a": [4.5, 5]}, "parquet", "two")
    three = write(tmp_path, {"t": ["q"], "y": [0], "a": [6]}, "jsonl", "three")
    source = TableSource([one, two, three], target="y", batch_rows=2)
    batches = list(source.batches())
    assert [batch.first for batch in batches] == [0, 2, 3, 5]
    X, y, names = load_table([one, two, three], target="y")
    assert names == ["a", "t=p", "t=q", "t=r"]
    assert dense(X)[:, 0].tolist() == [1, 2, 3, 4.5, 5, 6]
    assert y.tolist() == [0, 1, 0, 1, 1, 0]
    places = [Path(source.where(row)).name for row in range(6)]
    assert places == ["one.csv line 2", "one.csv line 3", "one.csv line 4",
                      "two.parquet row 1", "two.parquet row 2", "three.jsonl line 1"]  # fmt: skip
    with pytest.raises(IndexError, match="6 rows, no row 6"):
        source.where(6)
    assert source.position == source.size


def test_where_works_before_any_pass(tmp_path):
    one = write(tmp_path, {"a": [1, 2], "y": [0, 1]}, "csv", "one")
    two = write(tmp_path, {"a": [1, 2], "y": [0, 1]}, "csv", "two")
    assert TableSource([one, two], target="y").where(3).endswith("two.csv line 3")


HOLES = {"a": [1.0, None, 4.0, 4.0], "t": ["p", "q", None, "q"], "b": [True, False, True, None],
         "y": [0, 1, 0, 1]}  # fmt: skip


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "arrow"])
@pytest.mark.parametrize("missing", ["zero", "mean", "drop"])
@pytest.mark.parametrize("batch_rows", [1, 3, None])
def test_missing_values(tmp_path, ending, missing, batch_rows):
    path = write(tmp_path, HOLES, ending)
    source = TableSource([path], target="y", missing=missing, batch_rows=batch_rows)
    means = {"a": 3.0, "b": 2 / 3} if missing == "mean" else {}
    assert source.recipe()["means"] == means
    X, y, names = load_table(path, target="y", missing=missing, batch_rows=batch_rows)
    expected_names, expected, labels = encoded(HOLES, "y", missing, means)
    assert names == expected_names
    np.testing.assert_allclose(dense(X), expected, rtol=1e-15)
    assert y.tolist() == labels


def test_dropped_rows_keep_their_line_numbers(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,y\n1,0\n,1\n3,\n4,0\n,\n,\n,\n8,1\n")
    source = TableSource([path], target="y", missing="drop", batch_rows=2)
    batches = list(source.batches())
    assert [(batch.first, batch.X.ravel().tolist()) for batch in batches] == [
        (0, [1]), (1, [4]), (2, [8])]  # fmt: skip
    assert [Path(source.where(row)).name for row in range(3)] == [
        "a.csv line 2", "a.csv line 5", "a.csv line 9"]  # fmt: skip


def test_nan_counts_as_missing(tmp_path):
    path = write(tmp_path, {"a": [1.0, float("nan")], "y": [0, 1]}, "parquet")
    assert load_table(path, target="y", missing="mean")[0].tolist() == [[1], [1]]


def test_hashing_is_the_same_in_every_process(tmp_path):
    path = write(tmp_path, {"x": [1, 2], "t": ["p", "q"], "u": ["é", "q"], "y": [0, 1]}, "csv")
    code = (
        "import sys; from linsep.sources.tables.table import load_table; "
        "X, _, names = load_table(sys.argv[1], target='y', hash_bits=5); "
        "print(X.shape, X.indices.tolist(), X.data.tolist(), names)"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code, str(path)],
            check=True, capture_output=True, text=True, env={"PYTHONHASHSEED": seed},
        ).stdout.strip()
        for seed in ("1", "2")
    }  # fmt: skip
    # CRC-32 of t=p, u=é; t=q, u=q: the places never change.
    assert outputs == {"(2, 33) [0, 17, 29, 0, 11, 30] [1.0, 1.0, 1.0, 2.0, 1.0, 1.0] None"}


def test_hashed_values_that_collide_add_up(tmp_path):
    path = write(tmp_path, {"t": list("abcd"), "u": list("efgh"), "y": [0, 1, 0, 1]}, "csv")
    X, _, _ = load_table(path, target="y", hash_bits=1)
    assert X.shape == (4, 2)
    assert X.sum(axis=1).ravel().tolist() == [[2, 2, 2, 2]]
    assert X.has_canonical_format


@pytest.mark.parametrize("missing", ["error", "zero", "mean", "drop"])
@pytest.mark.parametrize("hash_bits", [None, 4])
def test_a_recipe_reads_new_files_the_same_way(tmp_path, missing, hash_bits):
    path = write(tmp_path, sample(), "parquet")
    options = {"missing": missing, "hash_bits": hash_bits, "exclude": ["count"]}
    source = TableSource([path], target="label", **options)
    assert [batch.X.shape for batch in source.batches()] == [(23, 2 + (16 if hash_bits else 7))]
    recipe = json.loads(json.dumps(source.recipe()))
    assert recipe["format"] == "table"
    X, y, names = load_table(path, target="label", **options)
    for ending in FORMATS:
        again = load_table(write(tmp_path, sample(), ending, "new"), recipe=recipe)
        np.testing.assert_array_equal(dense(again[0]), dense(X))
        np.testing.assert_array_equal(again[1], y)
        assert again[2] == names
    assert TableSource([path], target=None, recipe=recipe).recipe() == recipe


def test_a_recipe_counts_unknown_values_and_ignores_other_columns(tmp_path):
    old = write(tmp_path, {"a": [1, 2], "t": ["p", "q"], "u": ["m", "m"], "y": [0, 1]}, "csv")
    learnt = TableSource([old], target="y")
    list(learnt.batches())
    new = write(
        tmp_path,
        {"z": [9, 9, 9], "u": ["m", "m", "m"], "t": ["r", "q", "s"], "a": [5, 6, 7]},
        "csv",
        "new",
    )
    source = TableSource([new], target=None, recipe=learnt.recipe(), require_target=False)
    for _ in range(2):
        (batch,) = source.batches()
        assert batch.y is None
        assert batch.X.toarray().tolist() == [[5, 0, 0, 1], [6, 0, 1, 1], [7, 0, 0, 1]]
        assert source.unseen == {"t": 2}
    assert source.feature_names == ["a", "t=p", "t=q", "u=m"]


def test_a_recipe_keeps_the_kind_of_the_labels(tmp_path):
    old = write(tmp_path, {"a": [1, 2], "y": ["1", "x"]}, "csv")
    recipe = TableSource([old], target="y").recipe()
    new = write(tmp_path, {"a": [1, 2], "y": [1, 2]}, "csv", "new")
    assert load_table(new, recipe=recipe)[1].tolist() == ["1", "2"]


def test_labels_are_optional_when_predicting(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,y\n1,0\n2,\n3,1\n")
    source = TableSource([path], target="y", require_target=False, batch_rows=1)
    assert [None if b.y is None else b.y.tolist() for b in source.batches()] == [[0], None, [1]]
    bare = tmp_path / "b.csv"
    bare.write_text("a\n1\n")
    (batch,) = TableSource([bare], target=None, require_target=False).batches()
    assert batch.y is None


def test_folders_and_globs_name_the_files_a_shell_would(tmp_path):
    inner = tmp_path / "inner" / "deep"
    inner.mkdir(parents=True)
    (tmp_path / "results.csv").mkdir()
    kept = [tmp_path / "a.csv", tmp_path / "b.tsv", tmp_path / "inner" / "c.csv", inner / "d.csv"]
    hidden = [tmp_path / "._a.csv", tmp_path / ".b.csv"]
    for path in (*kept, *hidden, tmp_path / "notes.md"):
        path.write_text("x,y\n1,0\n")
    assert find_files([tmp_path]) == kept[:2]
    assert find_files([f"{tmp_path}/*.tsv"]) == kept[1:2]
    assert find_files([f"{tmp_path}/[ab].?sv"]) == kept[:2]
    assert find_files([f"{tmp_path}/**/*.csv"]) == [kept[0], *kept[2:]]
    assert find_files([hidden[0]]) == hidden[:1]  # named, it is meant
    with pytest.raises(DataError, match="holds no data file"):
        find_files([tmp_path / "results.csv"])


def test_open_source_makes_a_table_source(tmp_path):
    write(tmp_path, {"a": [1, 2], "y": [0, 1]}, "csv")
    source = open_source(tmp_path, target="y", missing="zero")
    assert isinstance(source, TableSource)
    assert json.loads(json.dumps(source.options()))["missing"] == "zero"


REFUSALS = ("no mean", "leaves none")
# The first letter keeps a word from being a number, a bool or "NA" in CSV.
letters = st.characters(codec="utf-8", exclude_characters="\0")
words = st.one_of(st.none(), st.text(letters, max_size=3).map("w".__add__))
numbers = st.one_of(st.none(), st.floats(-1e300, 1e300), st.integers(-(2**53), 2**53).map(float))


@st.composite
def tables(draw):
    """Draw a table of numbers, bools and words with holes, and a label column."""
    rows = draw(st.integers(1, 12))
    kinds = draw(st.lists(st.sampled_from([numbers, words, st.booleans()]), min_size=1, max_size=4))
    columns = {}
    for number, kind in enumerate(kinds):
        columns[f"c{number}"] = draw(st.lists(kind, min_size=rows, max_size=rows))
    columns["y"] = draw(st.lists(st.sampled_from(["yes", "no"]), min_size=rows, max_size=rows))
    return columns


@given(
    tables(),
    st.sampled_from(["parquet", "arrow", "jsonl", "csv"]),
    st.sampled_from(["zero", "drop", "mean"]),
    st.integers(1, 13),
)
@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_any_table_is_encoded_as_in_plain_python(tmp_path, columns, ending, missing, batch_rows):
    path = write(tmp_path, columns, ending)
    try:
        X, y, names = load_table(path, target="y", missing=missing, batch_rows=batch_rows)
    except DataError as error:
        if not any(said in str(error) for said in REFUSALS):
            raise
        return
    means = {
        name: float(np.mean([v for v in column if v is not None]))
        for name, column in columns.items()
        if missing == "mean" and not any(isinstance(v, str) for v in column)
    }
    expected_names, expected, labels = encoded(columns, "y", missing, means)
    assert y.tolist() == labels
    assert names == expected_names
    np.testing.assert_allclose(dense(X), expected, rtol=1e-12)


def test_parquet_rows_that_will_not_fit_never_fill_the_memory(tmp_path, monkeypatch):
    """How many rows there are stands in the file: rows that go to disk go there at once."""
    columns = {"a": np.arange(5000.0), "b": np.arange(5000) % 7, "y": np.arange(5000) % 2}
    path = write(tmp_path, columns, "parquet")
    source = TableSource([path], target="y", batch_rows=100)
    assert source.memory_needed == 5000 * 2 * 8
    texts = write(tmp_path, columns | {"t": ["p", "q"] * 2500}, "parquet", "texts")
    assert TableSource([texts], target="y").memory_needed == 5000 * 3 * 12
    assert TableSource([write(tmp_path, columns, "csv")], target="y").memory_needed is None
    held = []
    keep = Keeper.keep

    def keeping(self, batch):
        keep(self, batch)
        held.append(len(self._parts))

    monkeypatch.setattr(Keeper, "keep", keeping)
    whole = Perceptron(max_iter=2).fit(source)
    assert max(held) == 50
    source.memory_bytes = 79_000
    held.clear()
    cached = Perceptron(max_iter=2).fit(source)
    assert max(held) == 0
    assert np.array_equal(cached.coef_, whole.coef_)
