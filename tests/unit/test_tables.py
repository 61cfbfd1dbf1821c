"""Tables: every format gives the same rows, text becomes indicators, recipes read alike."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from sklearn.base import clone

import linsep
from data_files import FORMATS, dense, encoded, sample, write
from linsep import Perceptron, open_source
from linsep.errors import DataError
from linsep.rows.source_stream import Keeper
from linsep.sources.opening import find_files
from linsep.sources.tables import text_file
from linsep.sources.tables.table import TableSource
from refusals import refused
from thoroughness import examples
from whole_files import load_table


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(text_file, "BLOCK_BYTES", 64)


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


@pytest.mark.parametrize(
    ("ending", "batch_rows"), [("csv", 1), ("jsonl", 4), ("parquet", 1), ("stream.arrow", 1000)]
)
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


@pytest.mark.parametrize(
    ("written", "typed"),
    [(["1.0", "2.0", "3.0"], [1.0, 2.0, 3.0]), (["True", "False", "True"], [True, False, True]),
     (["1e-05", "2", "1e12"], [1e-5, 2.0, 1e12])],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("formula", [False, True])
def test_a_category_is_the_same_in_every_format(tmp_path, written, typed, formula):
    """As text in CSV, as numbers in Parquet, JSON lines and frames."""
    frame = pd.DataFrame({"v": written * 20, "x": range(60), "y": [0, 1] * 30})
    frame.to_csv(tmp_path / "t.csv", index=False)
    how = {"formula": "y ~ C(v) + x"} if formula else {"target": "y", "categorical": "v"}
    model = linsep.fit(tmp_path / "t.csv", learner="logistic", l2=1.0, **how)
    other = frame.assign(v=typed * 20)
    expected = model.predict_proba(open_source(tmp_path / "t.csv", recipe=model.recipe_))
    other.to_parquet(tmp_path / "t.parquet")
    other.to_json(tmp_path / "t.jsonl", orient="records", lines=True)
    for data in (other, tmp_path / "t.parquet", tmp_path / "t.jsonl")[: 3 - formula]:
        source = open_source(data, recipe=model.recipe_)
        np.testing.assert_array_equal(model.predict_proba(source), expected)


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


@pytest.mark.parametrize(
    ("written", "labels"),
    [
        (["0", "1"], [0, 1]),
        (["true", "false"], [True, False]),
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


def test_csv_numbers_may_change_their_look_after_the_first_block(tmp_path, small_blocks):
    path = tmp_path / "a.csv"
    path.write_text("a,b,y\n" + "1,true,0\n" * 60 + "2.5,0,1\n" + "NA,1,1\nnan,,0\n" + "-inf,1,1\n")
    with refused(DataError, "not-finite", row=64, column="a"):
        load_table(path, target="y", missing="zero")
    path.write_text(path.read_text().replace("-inf", "+7e1"))
    X, _, _ = load_table(path, target="y", missing="zero")
    assert X[-4:].tolist() == [[2.5, 0], [0, 1], [0, 0], [70, 1]]


@pytest.mark.thorough
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
    for times in (5, 40):  # 50 and 400 MB
        path.write_bytes(header + b"\n" + body * times)
        done = subprocess.run(
            [sys.executable, "-c", code, str(path)], check=True, capture_output=True, text=True
        )
        peaks.append(int(done.stdout) / 1024)
    # Up to 64 MB of tables wait in memory until their text values are known.
    assert peaks[1] < min(peaks[0] + 64 + 60, 400)


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
    assert places == ["one.csv row 1", "one.csv row 2", "one.csv row 3",
                      "two.parquet row 1", "two.parquet row 2", "three.jsonl row 1"]  # fmt: skip
    with pytest.raises(IndexError):
        source.where(6)
    assert source.position == source.size


def test_columns_of_nulls_are_of_any_kind(tmp_path):
    """As pandas writes a part of a table in which a column has no value."""
    some = {"a": [1.5, 2], "b": [True, False], "t": ["p", "q"], "y": ["yes", "no"]}
    one = write(tmp_path, some, "parquet", "one")
    none = {name: pa.nulls(2) for name in ("a", "b", "t")}
    two = write(tmp_path, none | {"y": ["yes", "yes"]}, "parquet", "two")
    X, _, names = load_table([one, two], target="y", missing="mean")
    assert names == ["a", "b", "t=p", "t=q"]
    assert dense(X).tolist() == [[1.5, 1, 1, 0], [2, 0, 0, 1], [1.75, 0.5, 0, 0], [1.75, 0.5, 0, 0]]
    recipe = TableSource([one], target="y", missing="zero").recipe()
    assert not load_table(two, recipe=recipe)[0].toarray().any()
    three = write(tmp_path, some | {"y": pa.nulls(2)}, "arrow", "three")
    with refused(DataError, "missing-value", row=1, column="y"):
        load_table([one, three], target="y")


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_what_a_column_holds_whose_first_rows_are_empty_is_seen_later(tmp_path, kind, monkeypatch):
    monkeypatch.setattr(text_file, "BLOCK_BYTES", 64)
    n = 50
    late = {"a": [1.5, 2], "b": [True, False], "t": ['p, "q"\nr', "s"], "y": ["yes", "no"]}
    columns = {name: [None] * n + cells for name, cells in late.items() if name != "y"}
    columns |= {
        "never": [None] * (n + 2),
        "x": list(range(n + 2)),
        "y": ["yes", "no"] * (n // 2 + 1),
    }
    path = write(tmp_path, columns, kind)
    X, _, names = load_table(path, target="y", missing="zero")
    assert names == ["a", "b", "never", "x", "t=" + late["t"][0], "t=s"]
    assert dense(X)[-2:].tolist() == [[1.5, 1, 0, n, 1, 0], [2, 0, 0, n + 1, 0, 1]]


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
    with refused(DataError, "no-file"):
        find_files([tmp_path / "results.csv"])


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


HOLES = {"a": [1.0, None, 4.0, 4.0], "t": ["p", "q", None, "q"], "b": [True, False, True, None],
         "y": [0, 1, 0, 1]}  # fmt: skip


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("missing", ["zero", "mean", "drop", "indicator"])
@pytest.mark.parametrize("batch_rows", [1, None])
def test_missing_values(tmp_path, ending, missing, batch_rows):
    path = write(tmp_path, HOLES, ending)
    source = TableSource([path], target="y", missing=missing, batch_rows=batch_rows)
    means = {"a": 3.0, "b": 2 / 3} if missing in ("mean", "indicator") else {}
    assert source.recipe()["means"] == means
    X, y, names = load_table(path, target="y", missing=missing, batch_rows=batch_rows)
    expected_names, expected, labels = encoded(HOLES, "y", missing, means)
    assert names == expected_names
    np.testing.assert_allclose(dense(X), expected, rtol=1e-15)
    assert y.tolist() == labels


def test_a_missing_value_may_be_a_feature():
    frame = pd.DataFrame(HOLES | {"t": ["p", None, None, "q"]})
    told = frame.assign(a=frame.a.fillna(3.0), t=frame.t.fillna("(missing)"), no=frame.a.isna() + 0)
    how = {"target": "y", "products": ["a:t"], "exclude": "b"}
    source = open_source(frame, missing="indicator", **how)
    X = np.vstack([dense(batch.X) for batch in source.batches()])
    expected = dense(next(open_source(told, **how | {"exclude": ["b", "no"]}).batches()).X)
    order = [0, 2, 3, 1, 5, 6, 4]  # in which the level is the last one
    assert X.tolist() == np.insert(expected[:, order], 4, told.no, axis=1).tolist()
    again = open_source(frame.assign(t=None), recipe=source.recipe(), labeled=False)
    unseen = np.vstack([dense(batch.X)[:, 1:5] for batch in again.batches()])
    assert unseen.tolist() == [[0, 0, 1, gap] for gap in told.no]
    assert (source.filled, again.filled, again.unseen) == ({"a": 1}, {"a": 1}, {})
    model = linsep.fit(frame, learner="logistic", l2=1.0, missing="indicator", **how)
    effects = linsep.fit(frame, target="y", learner="logistic", l2=1.0, missing="indicator")
    assert "a=(missing)" in list(effects.marginal_effects(frame).tidy().term)
    assert (model.predict(frame) == clone(model).fit(frame).predict(frame)).all()


def test_dropped_rows_keep_their_line_numbers(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,y\n1,0\n,1\n3,\n4,0\n,\n,\n,\n8,1\n")
    source = TableSource([path], target="y", missing="drop", batch_rows=2)
    batches = list(source.batches())
    assert [(batch.first, batch.X.ravel().tolist()) for batch in batches] == [
        (0, [1]), (1, [4]), (2, [8])]  # fmt: skip
    assert [Path(source.where(row)).name for row in range(3)] == [
        "a.csv row 1", "a.csv row 4", "a.csv row 8"]  # fmt: skip


def test_rows_without_a_label_are_left_out_by_an_option_of_their_own():
    gaps = pa.table({"a": [1.0, None, 3.0, None], "y": ["p", "q", None, None]})
    for how, missing in ({}, "error"), ({"unlabeled": "drop"}, "error"):
        with refused(DataError, "missing-value", column="a" if how else "y"):
            list(open_source(gaps, target="y", missing=missing, **how).batches())
    source = open_source(gaps, target="y", unlabeled="drop", missing="zero")
    (batch,) = source.batches()
    assert (batch.X.tolist(), batch.y.tolist(), source.dropped) == ([[1], [0]], ["p", "q"], 2)
    again = open_source(gaps, recipe=source.recipe())
    assert next(again.batches()).y.tolist() == ["p", "q"]


def test_rows_of_counts_are_not_skipped_in_training():
    gaps = pa.table({"a": [1.0, None], "k": [1, 2], "n": [3, 3]})
    with refused(DataError, "missing-value", column="a") as caught:
        list(open_source(gaps, successes="k", trials="n").batches())
    assert "skip" not in str(caught.value)


def test_a_class_that_is_left_out_whole_is_named():
    gaps = pa.table({"a": [1.0, 2.0, None, None], "y": ["p", "q", "r", None]})
    with pytest.warns(UserWarning, match="r in column 'y'"):
        linsep.fit(gaps, target="y", missing="drop")


@pytest.mark.parametrize(
    ("missing", "hash_bits"), [("error", None), ("mean", 4), ("indicator", None)]
)
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
    learned = TableSource([old], target="y")
    list(learned.batches())
    columns = {"z": [9, 9, 9], "u": ["m", "m", "m"], "t": ["r", "q", "s"], "a": [5, 6, 7]}
    new = write(tmp_path, columns, "csv", "new")
    source = TableSource([new], target=None, recipe=learned.recipe(), require_target=False)
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


REFUSALS = ("no mean", "leaves no rows")

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
    st.sampled_from(["zero", "drop", "mean", "indicator"]),
    st.integers(1, 13),
)
@examples(150)
@pytest.mark.filterwarnings("ignore:All rows of")
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
        if missing in ("mean", "indicator") and not any(isinstance(v, str) for v in column)
    }
    expected_names, expected, labels = encoded(columns, "y", missing, means)
    assert y.tolist() == labels
    assert names == expected_names
    rounding = 1e-12 * np.abs(expected).max(initial=0.0)  # of the sum of a mean
    np.testing.assert_allclose(dense(X), expected, rtol=1e-12, atol=rounding)


TABLE = pd.DataFrame({"a": np.arange(20) % 7, "y": ["p"] * 10 + ["q"] * 10})


def test_a_label_may_have_any_name(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(",a\np,1\nq,2\n")
    assert load_table(path, target="")[1].tolist() == ["p", "q"]


def test_hashed_values_have_the_same_places_in_every_process(tmp_path):
    path = write(tmp_path, {"x": [1, 2], "t": ["p", "q"], "u": ["é", "q"], "y": [0, 1]}, "csv")
    (batch,) = TableSource([path], target="y", hash_bits=5).batches()
    # CRC-32 of t=p, u=é; t=q, u=q: the places never change.
    assert batch.X.shape == (2, 33)
    assert batch.X.indices.tolist() == [0, 17, 29, 0, 11, 30]
    X, _, _ = load_table(path, target="y", hash_bits=1, exclude="x")
    assert X.sum(axis=1).ravel().tolist() == [[2, 2]]  # values that collide add up
    assert X.has_canonical_format


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet"])
def test_row_names_of_pandas_are_noticed(tmp_path, name):
    path, some = tmp_path / name, TABLE[TABLE["a"] > 0]
    some.to_csv(path) if name == "rows.csv" else some.to_parquet(path)
    column = "" if name == "rows.csv" else "__index_level_0__"
    with refused(DataError, "column-type", path=path, column=column):
        load_table(path, target="y")
    X, _, names = load_table(path, target="y", exclude=column)
    assert names == ["a"]
    assert X.ravel().tolist() == TABLE["a"][TABLE["a"] > 0].tolist()
    found = linsep.describe(path, target="y").next
    assert f" --exclude {column or repr('')} " in found
