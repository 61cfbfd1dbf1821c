"""Tables that cannot be used: each refusal is one sentence saying what, where and what to do."""

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data_files import assert_refused
from linsep.errors import DataError
from linsep.sources.tables import text_file
from linsep.sources.tables.table import TableSource
from refusals import refused
from whole_files import load_table

pytestmark = pytest.mark.compiled

GOOD = {"a": [1.5, 2.5], "t": ["p", "q"], "y": [0, 1]}


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(text_file, "BLOCK_BYTES", 64)


def refusal(path, target="y", **options):
    return assert_refused(load_table, path, target=target, **options)


def written(folder, text, name="a.csv"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def parquet(folder, columns, name="a.parquet"):
    path = folder / name
    pq.write_table(pa.table(columns), path)
    return path


CSV = [
    ("", "a.csv is empty"),
    ("\n\n", "a.csv has no header row"),
    ("a,y\n", "a.csv has no rows"),
    ("a,y", "a.csv has no rows"),
    ("1,2\n3,4\n", "a.csv line 1 holds numbers instead of column names"),
    ("a,a,y\n1,2,0\n", "a.csv has 2 columns named 'a'"),
    (
        "a,y\nr1,1,0\nr2,2,1\n",
        "a.csv line 2 has 3 fields, but the header has 2: correct the line or name the column "
        "of row names in line 1, or write the file without it (in R, row.names = FALSE)",
    ),
    ("sep=;\na;y\n1;0\n", "a.csv line 1 is Excel's 'sep=' line: skip the line with"),
    ("a,y\n1,0\n\n1,0,7\n", "a.csv line 4 has 3 fields, but the header has 2: correct the line"),
    ("a,y\n1,0\n1\n1,0\n", "a.csv line 3 has 1 field, but the header has 2"),
    ("a,y\n1,0\n1,0\n1", "a.csv line 4 has 1 field, but the header has 2"),
    ('a,y\n1,0\n"x\n2,1\n3,1\n', "a.csv line 3 opens a quote that is never closed"),
    ("y\n1\n0\n", "a.csv has no feature columns (its columns: y)"),
    ("a,y\n1,0\n,1\n", "a.csv line 3, column 'a' has no value: fill it in, replace it by 0 with "
                       'missing="zero", by the column mean with missing="mean", leave out such '
                       'rows with missing="drop" or leave out the column with exclude=["a"].'),
    ("a,y\n1,0\nNA,1\n", "a.csv line 3, column 'a' has no value"),
    ("t,y\np,0\n,1\n", "a.csv line 3, column 't' has no value"),
    ("a,y\n1,0\n\n2,\n", "a.csv line 4 has no label in column 'y'"),
    ("a,y\n1,p\n2,\n", "a.csv line 3 has no label in column 'y'"),
    ("a,y\n1,0\ninf,1\n", "a.csv line 3, column 'a' is infinite"),
    ("a,y\n1,0\n1e999,1\n", "a.csv line 3, column 'a' is infinite"),
    ("a,y\n1,0.5\n1,inf\n", "a.csv line 3 has an infinite label in column 'y'"),
    ("a,y\n1,0\n1,9007199254740993\n", "a.csv line 3 has a label in column 'y' with too many"),
    ("a,d,y\n1,2020-01-01,0\n", "a.csv, column 'd' holds dates or times (date32[day]): read days "
                                'with date=["d"] or leave it out with exclude=["d"].'),
    ("a,d,y\n1,2020-01-01 10:00:00,0\n", "a.csv, column 'd' holds dates or times (timestamp[s])"),
    (b"a,t,y\n1,caf\xe9,0\n", "a.csv line 2, column 't' is not UTF-8 text"),
    (b"a,caf\xe9,y\n1,x,0\n", "a.csv line 1 is not UTF-8 text"),
    (b"\x93\x00\x01binary\xff\x00" * 9, "a.csv holds binary data, not UTF-8 text"),
    ("a,y\n1,0\n".encode("utf-16"), 'a.csv is UTF-16 text: read it with encoding="utf-16"'),
]  # fmt: skip


@pytest.mark.parametrize(("text", "said"), CSV, ids=range(len(CSV)))
def test_csv(tmp_path, text, said):
    assert refusal(written(tmp_path, text)).startswith(said)


LATER = [
    ("abc,true,p,1", "a.csv line 62, column 'a' holds 'abc', not a number"),
    ("1_0,true,p,1", "a.csv line 62, column 'a' holds '1_0', not a number"),
    ("1,maybe,p,1", "a.csv line 62, column 'b' holds 'maybe', not true or false"),
    ("1,true,p", "a.csv line 62 has 3 fields, but the header has 4"),
    (b"1,true,\xff,1", "a.csv line 62, column 't' is not UTF-8 text"),
    (",true,p,1", "a.csv line 62, column 'a' has no value"),
    ("1,,p,1", "a.csv line 62, column 'b' has no value"),
    ("1,true,p,", "a.csv line 62 has no label in column 'y'"),
]


@pytest.mark.parametrize(("line", "said"), LATER, ids=range(len(LATER)))
@pytest.mark.parametrize("batch_rows", [7, None])
def test_csv_after_the_first_block(tmp_path, small_blocks, line, said, batch_rows):
    line = line if isinstance(line, bytes) else line.encode()
    text = b"a,b,t,y\n" + b"1,true,p,0\n" * 60 + line + b"\n" + b"1,true,p,0\n" * 60
    assert refusal(written(tmp_path, text), batch_rows=batch_rows).startswith(said)


JSON = [
    ("", "a.jsonl is empty"),
    ("\n \n", "a.jsonl has no rows"),
    ('[{"a":1,"y":0}]\n', "a.jsonl line 1 is not one JSON object: write one object per line"),
    ('{"a":1,"y":0}\n{"a":1,', "a.jsonl line 2 is not one JSON object"),
    ('{"a":1,"y":0}\nhello\n', "a.jsonl line 2 is not one JSON object"),
    ('{"a":1,"y":0}\n\n{"a":"x","y":1}\n', "a.jsonl line 3, column 'a' holds \"x\", not a number"),
    ('{"a":1,"y":0}\n\n{"a":null,"y":1}\n', "a.jsonl line 3, column 'a' has no value"),
    ('{"a":1,"y":0}\n{"y":1}\n', "a.jsonl line 2, column 'a' has no value"),
    ('{"a":1,"y":0}\n{"a":1}\n', "a.jsonl line 2 has no label in column 'y'"),
    ('{"a":[1],"y":0}\n', "a.jsonl, column 'a' holds lists or objects (list<"),
    ('{"a":{"b":1},"y":0}\n', "a.jsonl, column 'a' holds lists or objects (struct<"),
    ('{"a":"2020-01-01","y":0}\n', "a.jsonl, column 'a' holds dates or times"),
    ('{"a":"1","y":0}\n{"a":"2.5","y":1}\n', "a.jsonl, column 'a' looks like numbers stored as "
                                             "text (such as '1'): read them with"),
    (b'{"a":"p","y":0}\n{"a":"caf\xe9","y":1}\n', "a.jsonl"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "said"), JSON, ids=range(len(JSON)))
def test_json(tmp_path, text, said):
    assert refusal(written(tmp_path, text, "a.jsonl")).startswith(said)


JSON_LATER = [
    ('{"a":"x","b":true,"t":"p","y":1}', "column 'a' holds \"x\", not a number"),
    ('{"a":1e999,"b":true,"t":"p","y":1}', "column 'a' holds Infinity, not a number"),
    ('{"a":1,"b":2,"t":"p","y":1}', "column 'b' holds 2, not true or false"),
    ('{"a":1,"b":true,"t":3,"y":1}', "column 't' holds 3, not text"),
    ('{"a":1,"b":true,"t":"p","y":"no"}', "column 'y' holds \"no\", not a number"),
]


@pytest.mark.parametrize(("line", "said"), JSON_LATER, ids=range(len(JSON_LATER)))
def test_json_after_the_first_block(tmp_path, small_blocks, line, said):
    good = '{"a":1,"b":true,"t":"p","y":0}\n'
    path = written(tmp_path, good * 30 + "\n" + line + "\n" + good * 30, "a.jsonl")
    assert refusal(path).startswith(f"a.jsonl line 32, {said}")


def test_json_field_that_turns_up_late(tmp_path, small_blocks):
    text = '{"a":1,"y":0}\n' * 30 + '{"a":1,"y":0,"z":1}\n'
    path = written(tmp_path, text, "a.jsonl")
    said = refusal(path)
    assert said.startswith(
        "a.jsonl line 31 has a field 'z' that the first lines do not have: add it"
    )
    recipe = TableSource([path], target="y").recipe()
    assert load_table(path, recipe=recipe)[0].shape == (31, 1)


def test_parquet_cut_short_foreign_or_damaged(tmp_path):
    whole = parquet(tmp_path, GOOD).read_bytes()
    for keep in (len(whole) - 1, len(whole) // 2, 10):
        path = written(tmp_path, whole[:keep], "b.parquet")
        assert refusal(path).startswith("b.parquet is a Parquet file that is truncated")
    path = written(tmp_path, "a,y\n1,0\n", "b.parquet")
    assert refusal(path).startswith("b.parquet is not a Parquet file")
    path = written(tmp_path, whole[:4] + b"\xff" * (len(whole) - 8) + whole[-4:], "b.parquet")
    assert refusal(path).startswith("b.parquet is damaged or not a Parquet file")
    path = written(tmp_path, b"", "b.parquet")
    assert refusal(path).startswith("b.parquet is empty")


def test_arrow_cut_short_or_foreign(tmp_path):
    table = pa.table(GOOD)
    with pa.ipc.new_file(tmp_path / "a.arrow", table.schema) as writer:
        writer.write_table(table)
    whole = (tmp_path / "a.arrow").read_bytes()
    path = written(tmp_path, whole[:-9], "b.arrow")
    assert refusal(path).startswith("b.arrow is an Arrow file that is truncated")
    path = written(tmp_path, "a,y\n1,0\n" * 9, "b.arrow")
    assert refusal(path).startswith("b.arrow is damaged or not an Arrow file")
    path = written(tmp_path, b"FEA1....FEA1", "b.feather")
    assert refusal(path).startswith("b.feather has the old Feather format")
    with pa.ipc.new_stream(tmp_path / "s.arrow", table.schema) as writer:
        writer.write_table(table)
    path = written(tmp_path, (tmp_path / "s.arrow").read_bytes()[:-60], "t.arrow")
    assert refusal(path).startswith("t.arrow is damaged or not an Arrow file")


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_typed_files_without_rows(tmp_path, ending):
    table = pa.table({"a": pa.array([], pa.float64()), "y": pa.array([], pa.int64())})
    path = tmp_path / f"a.{ending}"
    if ending == "parquet":
        pq.write_table(table, path)
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    assert refusal(path).startswith(f"a.{ending} has no rows")


PARQUET = [
    ({"a": ["1", "2"]}, "a.parquet, column 'a' looks like numbers stored as text (such as '1'): "
                        "read them with"),
    ({"a": [f"name {i}" for i in range(150)]}, "a.parquet, column 'a' has a different text in each "
                                               "of its first 150 rows, so it looks like an ID"),
    ({"a": pa.array([1, 2], pa.timestamp("us"))}, "a.parquet, column 'a' holds dates or times"),
    ({"a": pa.array([1, 2], pa.duration("us"))}, "a.parquet, column 'a' holds dates or times"),
    ({"a": [[1], [2]]}, "a.parquet, column 'a' holds lists or objects"),
    ({"a": [b"x", b"y"]}, "a.parquet, column 'a' holds values of type binary"),
    ({"a": [1.0, None]}, "a.parquet row 2, column 'a' has no value"),
    ({"a": [1.0, float("nan")]}, "a.parquet row 2, column 'a' has no value"),
    ({"a": [1.0, float("-inf")]}, "a.parquet row 2, column 'a' is infinite"),
    ({"a": pa.array(["p", b"\xff"], pa.binary()).view(pa.string())},
     "a.parquet row 2, column 'a' is not UTF-8 text"),
]  # fmt: skip


@pytest.mark.parametrize(("columns", "said"), PARQUET, ids=range(len(PARQUET)))
def test_parquet_columns(tmp_path, columns, said):
    rows = len(columns["a"])
    path = parquet(tmp_path, columns | {"b": np.arange(rows), "y": np.arange(rows) % 2})
    assert refusal(path).startswith(said)
    if "missing=" not in said and rows > 2:
        load_table(path, target="y", hash_bits=4)
    load_table(path, target="y", exclude=["a"])


def test_parquet_labels(tmp_path):
    path = parquet(tmp_path, {"a": [1, 2], "y": pa.array([1, 2], pa.timestamp("us"))})
    assert refusal(path).startswith("a.parquet, label column 'y' holds dates or times")
    path = parquet(tmp_path, {"a": [1, 2], "y": [1, None]})
    assert refusal(path).startswith("a.parquet row 2 has no label in column 'y'")
    path = parquet(tmp_path, {"a": [1, 2], "y": [1.0, float("nan")]})
    assert refusal(path, missing="zero").startswith("a.parquet row 2 has no label")


def test_two_parquet_columns_of_one_name(tmp_path):
    table = pa.Table.from_arrays([pa.array([1]), pa.array([1])], names=["a", "a"])
    pq.write_table(table, tmp_path / "a.parquet")
    assert refusal(tmp_path / "a.parquet", "a").startswith("a.parquet has 2 columns named 'a'")


@pytest.mark.parametrize("codec", ["gz", "bz2", "zst"])
@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_compressed_file_cut_short_or_not_compressed(tmp_path, codec, ending):
    rng = np.random.default_rng(0)
    rows = zip(rng.random(30_000).tolist(), rng.integers(0, 2, 30_000), strict=True)
    if ending == "csv":
        text = "a,y\n" + "".join(f"{a},{y}\n" for a, y in rows)
    else:
        text = "".join(f'{{"a":{a},"y":{y}}}\n' for a, y in rows)
    path = tmp_path / f"a.{ending}.{codec}"
    kind = {"gz": "gzip", "bz2": "bz2", "zst": "zstd"}[codec]
    with pa.CompressedOutputStream(str(path), kind) as stream:
        stream.write(text.encode())
    assert load_table(path, target="y")[0].shape == (30_000, 1)
    written(tmp_path, path.read_bytes()[:-20_000], path.name)
    assert refusal(path).startswith(f"{path.name} is truncated in its {kind} data")
    written(tmp_path, text, path.name)
    assert refusal(path).startswith(f"{path.name} is damaged or not a {kind} file")


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet", "a.arrow"])
def test_files_that_cannot_be_opened(tmp_path, name, monkeypatch):
    path = tmp_path / name
    assert refusal(path).startswith(f"{name} does not exist")
    path.mkdir()
    assert refusal(path).startswith(f"{name} is a directory")
    path.rmdir()
    path.write_bytes(b"x")
    path.chmod(0)
    if os.access(path, os.R_OK):  # whoever runs this may read everything

        def denied(name):
            raise PermissionError(13, "Permission denied", name)

        monkeypatch.setattr(pa, "OSFile", denied)
    assert refusal(path).startswith(f"No permission to read {name}")


def test_names_that_say_no_table(tmp_path):
    for name in ("a.data", "a", "a.parquet.gz", "a.gz"):
        said = refusal(written(tmp_path, "a,y\n1,0\n", name))
        expected = "rename it (known endings: .svm"
        assert ("which does not determine its format" in said) == ("parquet" not in name)
        assert ("fields between commas: read them with" in said) == (name in ("a", "a.data"))
        assert ("a compressed .parquet file" if "parquet" in name else expected) in said


def test_target(tmp_path):
    path = written(tmp_path, "width,label\n1,0\n")
    assert refusal(path, None) == (
        "a.csv (columns: width, label) needs a label column: name it with target."
    )
    assert refusal(path, "lable") == (
        "a.csv has no label column 'lable', only width, label: did you mean 'label'?"
    )
    assert refusal(path, "zzz").endswith("width, label: choose one of these with target.")
    assert refusal(path, "label", exclude=["label"]).startswith("The label column 'label' is also")
    assert refusal(path, "label", exclude=["widht"]) == (
        "a.csv has no column 'widht' to exclude: did you mean 'width'?"
    )
    wide = written(tmp_path, ",".join(f"c{i}" for i in range(50)) + "\n" + "1," * 49 + "1\n")
    assert refusal(wide, None).startswith("a.csv (columns: c0, c1")
    assert "c18, c19 and 30 more) needs a label column" in refusal(wide, None)


def test_options(tmp_path):
    path = written(tmp_path, "a,y\n1,0\n")
    assert refusal(path, missing="no").startswith("missing is 'no': choose error, zero")
    for bits in (0, 31):
        assert refusal(path, hash_bits=bits).startswith(f"hash_bits is {bits}: choose")
    assert refusal(path, batch_rows=0).startswith("batch_rows is 0")
    with refused(DataError, "no-file"):
        TableSource([], target="y")


OTHERS = [
    ("b.csv", "a,y\n1,0\n", "b.csv has no column 't', which a.csv has: add it"),
    (
        "b.csv",
        "a,t,z,y\n1,p,2,0\n",
        "b.csv has a column 'z' that a.csv does not have: add it there or",
    ),
    ("b.csv", "t,a\np,1\n", "b.csv has no label column 'y'"),
    ("b.csv", "t,a,y\np,q,1\n", "b.csv line 2, column 'a' holds 'q', not a number"),
    ("b.csv", "t,a,y\np,1,1\np,,1\n", "b.csv line 3, column 'a' has no value"),
    ("b.jsonl", '{"t":"p","y":1}\n', "b.jsonl has no column 'a', which a.csv has: add it (null"),
    ("b.jsonl", '{"t":"p","y":1}\n{"a":1,"y":1}\n', "b.jsonl line 1, column 'a' has no value"),
    (
        "b.jsonl",
        '{"a":1,"t":"p","y":1,"z":1}\n',
        "b.jsonl has a column 'z' that a.csv does not have",
    ),
]


@pytest.mark.parametrize(("name", "text", "said"), OTHERS, ids=range(len(OTHERS)))
def test_second_file(tmp_path, name, text, said):
    one = written(tmp_path, "a,t,y\n1,p,0\n2,p,1\n")
    assert refusal([one, written(tmp_path, text, name)]).startswith(said)


@pytest.mark.parametrize(
    ("column", "values"), [("a", ["p"]), ("t", [1]), ("y", ["yes"]), ("y", [True])]
)
def test_second_file_of_another_type(tmp_path, column, values):
    one = written(tmp_path, "a,t,y\n1,p,0\n2,p,1\n")
    two = parquet(tmp_path, {"a": [1.0], "t": ["p"], "y": [0]} | {column: values}, "b.parquet")
    assert refusal([one, two]).startswith(f"b.parquet, column '{column}' holds ")


@pytest.mark.parametrize(
    ("column", "advice"),
    [
        ("a", 'correct it, leave the column out with exclude=["a"] or read it as a missing value'),
        ("y", 'correct it, read it as a missing value with null_values=["x"] or read all labels'),
        ("w", "correct it."),
        ("g", "correct it."),
    ],
)
def test_no_advice_to_leave_out_columns_that_are_needed(tmp_path, column, advice):
    roles = {"target": "y", "weight": "w", "group": "g"}
    one = written(tmp_path, "a,y,w,g\n1,0,1,1\n2,1,1,1\n")
    row = {"a": "1", "y": "1", "w": "1", "g": "1"} | {column: "x"}
    two = written(tmp_path, "\n".join(map(",".join, (row, row.values()))), "b.csv")
    with pytest.raises(DataError) as problem:
        load_table([one, two], **roles)
    assert f"column '{column}' holds 'x', not a number: {advice}" in str(problem.value)
    source = TableSource([two], recipe=TableSource([one], **roles).recipe(), target=None)
    if column != "g":  # which a model does not need
        with pytest.raises(DataError) as problem:
            list(source.batches())
        assert ("exclude" in str(problem.value)) == (column == "a")


def test_mean_of_nothing_and_dropping_all(tmp_path):
    path = written(tmp_path, "a,b,y\n,1,0\n,,1\n")
    assert refusal(path, missing="mean").startswith("a.csv, column 'a' has no values and")
    assert refusal(path, missing="drop").startswith("a.csv has a missing value in every row")


def test_bits_of_words_are_named_as_python_takes_them(tmp_path):
    path = written(tmp_path, "t,y\nhi you,0\nhi there,1\n")
    said = refusal(path, text=["t"], hash_bits=10)
    assert said.endswith("words are hashed with a separate setting: take Text(n_features=1024).")


def test_too_many_values_of_a_text_column(tmp_path, monkeypatch):
    monkeypatch.setattr("linsep.sources.tables.survey.MOST_VALUES", 3)
    path = written(tmp_path, "t,y\n" + "".join(f"v{i % 4},0\n" for i in range(9)))
    assert refusal(path).startswith("Column 't' has more than 3 different values: leave it out")
    load_table(path, target="y", hash_bits=3)


def test_recipe_and_new_file(tmp_path):
    path = written(tmp_path, "a,b,t,y\n1,1,p,0\n2,1,q,1\n")
    recipe = TableSource([path], target="y").recipe()
    new = written(tmp_path, "b,c,y\n1,1,0\n", "new.csv")
    assert refusal(new, recipe=recipe) == (
        "new.csv has no columns 'a', 't', which the model was trained on: add them.")  # fmt: skip
    text = parquet(tmp_path, {"a": ["x"], "b": [1], "t": ["p"], "y": [1]})
    assert refusal(text, recipe=recipe).startswith("a.parquet, column 'a' holds string, but")


@pytest.mark.parametrize(
    "damage",
    [{"numeric": None}, {"text": {"t": {"p": 7}}}, {"text": {"t": ["p"]}}, {"dtype": "int8"},
     {"missing": "maybe"}, {"missing": "mean"}, {"format": "svmlight"}, {"target_kind": "date"},
     {"hash_bits": "many"}],
)  # fmt: skip
def test_damaged_recipe(tmp_path, damage):
    path = written(tmp_path, "a,t,y\n1,p,0\n2,q,1\n")
    source = TableSource([path], target="y")
    list(source.batches())
    said = refusal(path, recipe=source.recipe() | damage)
    assert said == "The recipe for reading tables is damaged: train the model again."


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet", "a.arrow", "a.csv.gz"])
def test_mutated_files_are_read_or_refused(tmp_path, name):
    """Whatever bytes come, the answer is rows or a DataError."""
    rng = np.random.default_rng(7)
    table = pa.table({"a": rng.random(20), "t": ["p", "q"] * 10, "y": [0, 1] * 10})
    path = tmp_path / name
    if name == "a.parquet":
        pq.write_table(table, path)
    elif name == "a.arrow":
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    elif name == "a.jsonl":
        path.write_text("".join(f'{{"a":{i},"t":"p","y":{i % 2}}}\n' for i in range(20)))
    else:
        with pa.CompressedOutputStream(str(path), "gzip") if "gz" in name else path.open("wb") as f:
            f.write(b"a,t,y\n" + b'1.5,"p",0\n2,q,1\n' * 10)
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
