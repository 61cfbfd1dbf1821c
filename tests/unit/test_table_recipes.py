"""Tables with holes and text: missing values, hashing, recipes, any table as in plain Python."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from data_files import FORMATS, dense, encoded, sample, write
from linsep.errors import DataError
from linsep.sources.tables.table import TableSource
from thoroughness import examples
from whole_files import load_table

pytestmark = pytest.mark.compiled

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


@pytest.mark.thorough
def test_hashing_is_the_same_in_every_process(tmp_path):
    path = write(tmp_path, {"x": [1, 2], "t": ["p", "q"], "u": ["é", "q"], "y": [0, 1]}, "csv")
    code = (
        "import sys; from linsep.sources import TableSource; "
        "source = TableSource([sys.argv[1]], target='y', hash_bits=5); "
        "((X, *_),) = source.batches(); "
        "print(X.shape, X.indices.tolist(), X.data.tolist(), source.feature_names)"
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
    learned = TableSource([old], target="y")
    list(learned.batches())
    new = write(
        tmp_path,
        {"z": [9, 9, 9], "u": ["m", "m", "m"], "t": ["r", "q", "s"], "a": [5, 6, 7]},
        "csv",
        "new",
    )
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
    st.sampled_from(["zero", "drop", "mean"]),
    st.integers(1, 13),
)
@examples(150)
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
