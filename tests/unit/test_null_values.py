"""What stands for a missing value in CSV."""

import json
import shlex

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from command_line import assert_refused, assert_they_run, here
from linsep import Perceptron, load, open_source
from linsep.distributed.shards import Reading, read_shard, shards_of
from linsep.errors import DataError
from linsep.sources.tables import csv, text_file
from linsep.sources.tables.reading_options import ReadingOptions
from refusals import refused
from whole_files import load_table

pytestmark = pytest.mark.compiled

ROWS = ["39,State,0", "50,?,1", "?,Private,0", "28, ?,1", " ?,State,1", "41,,0"]


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    place = tmp_path / "a.csv"
    place.write_text("\n".join(["age,work,y", *ROWS]) + "\n")
    return place


@pytest.mark.parametrize("block", [16, 1 << 20])
def test_they_are_missing_in_numbers_and_texts(path, block, monkeypatch):
    monkeypatch.setattr(text_file, "BLOCK_BYTES", block)
    X, y, names = load_table(path, target="y", null_values="?", missing="zero")
    theirs = pd.read_csv(path, na_values=["?"], skipinitialspace=True)
    assert names == ["age", "work=Private", "work=State"]
    assert np.array_equal(X.toarray()[:, 0], theirs["age"].fillna(0))
    for place, name in enumerate(["Private", "State"], 1):
        assert np.array_equal(X.toarray()[:, place], theirs["work"] == name)
    assert y.tolist() == theirs["y"].tolist()
    dropped = open_source(path, target="y", null_values=["?"], missing="drop")
    assert np.vstack([b.X.toarray() for b in dropped.batches()]).tolist() == [[39, 1]]
    assert dropped.dropped == 5


def test_a_missing_label_is_refused(path):
    path.write_text("a,y\n1,x\n2,?\n")
    with refused(DataError, "missing-value", row=3, column="y"):
        load_table(path, target="y", null_values=["?"])


@pytest.mark.parametrize("mark", ["?", "-", ".", "**"])
def test_a_column_of_numbers_and_a_mark_is_no_text(path, mark):
    path.write_text(f"a,b,y\n1,2,0\n{mark},3,1\n5,1e3,1\n")
    with pytest.raises(DataError) as caught:
        load_table("a.csv", target="y")
    assert str(caught.value) == (
        f"a.csv, column 'a' holds numbers and '{mark}': read it as a missing value with "
        f'null_values=["{mark}"] or leave the column out with exclude=["a"].'
    )
    assert load_table(path, target="y", null_values=[mark], missing="zero")[0][1].tolist() == [0, 3]


@pytest.mark.parametrize("cell", ["3+", "other", "a b", "1-2", "unknown"])
def test_columns_of_words_among_numbers_are_text(path, cell):
    path.write_text(f"a,y\n1,0\n2,1\n{cell},1\n")
    assert load_table(path, target="y")[2] == sorted(["a=1", "a=2", f"a={cell}"])


def test_a_mark_behind_the_first_rows_is_named(path, monkeypatch):
    monkeypatch.setattr(csv, "SAMPLE_ROWS", 100)
    path.write_text("a,y\n" + "1,0\n2,1\n" * 600 + "?,1\n")
    with pytest.raises(DataError) as caught:
        load_table("a.csv", target="y")
    said = "a.csv line 1202, column 'a' holds '?', but all values before it are numbers: "
    assert str(caught.value).startswith(said)
    assert 'read it as a missing value with null_values=["?"]' in str(caught.value)
    monkeypatch.setattr(text_file, "BLOCK_BYTES", 400)
    with pytest.raises(DataError) as caught:
        load_table("a.csv", target="y")
    assert str(caught.value).endswith('or read it as a missing value with null_values=["?"].')


def test_models_store_them(path):
    model = Perceptron().fit(open_source(path, target="y", null_values=["?"], missing="zero"))
    assert model.recipe_["null_values"] == ["?"]
    again = open_source(path, recipe=model.recipe_, labeled=False)
    assert len(model.predict(again)) == 6
    assert (
        "null_values" not in open_source(path, target="y", exclude="age", missing="zero").recipe()
    )
    with refused(DataError, "bad-option", option="null_values"):
        open_source(path, target="y", null_values=[3])


def test_shards_read_them(path, monkeypatch):
    source = open_source(path, target="y", null_values=["?"], missing="zero")
    expected = np.vstack([b.X.toarray() for b in source.batches()])
    shards = shards_of(source, 24)
    assert len(shards) > 1
    reading = Reading(source.recipe(), source.reading)
    batches = (read_shard(shard, reading).batch for shard in shards)
    found = [batch.X.toarray() for batch in batches if batch.size]
    assert np.array_equal(np.vstack(found), expected)


def test_commands(path):
    null = "--null-values ?"
    assert_they_run(
        [
            f"fit a.csv --target y {null} --missing zero --model m",
            "score m a.csv",
            f"convert a.csv a.parquet {null}",
            f"split a.csv --target y --test 0.5 {null}",
            f"describe a.csv {null}",
        ],
        path.parent,
    )
    predicted = here("predict", "m", "a.csv", "--output", "labels.txt", cwd=".")
    assert predicted.returncode == 0
    assert "'age' in 2 rows (imputed by 0)" in predicted.stderr
    assert len(path.with_name("labels.txt").read_text().split()) == 6
    assert pq.read_table("a.parquet")["work"].null_count == 3
    assert pq.read_table("a.parquet")["age"].null_count == 2
    found = json.loads(here("describe", "a.csv", *shlex.split(null), "--json", cwd=".").stdout)
    assert [column["missing"] for column in found["columns"]] == [2, 3, 0]
    done = here("describe", "a.csv", "--target", "y", *shlex.split(null), cwd=".")
    (command,) = [line for line in done.stdout.splitlines() if line.startswith("next")]
    words = shlex.split(command)[2:]
    assert "--null-values" in words
    assert here(*words, cwd=".").returncode == 0
    assert load("a.linsep").recipe_["null_values"] == ["?"]
    done = here(*f"separate a.csv --target y {null} --missing zero --proof p".split(), cwd=".")
    verify = shlex.split(done.stdout.splitlines()[-1].removesuffix("checks it"))[1:]
    assert here(*verify, cwd=".").returncode == 0


def test_commands_propose_them(path):
    assert_refused(
        "fit", "a.csv", "--target", "y", cwd=".",
        code="column-type",
    )  # fmt: skip
    path.with_name("a.svm").write_text("1 1:2\n0 1:1\n")
    assert_refused(
        "fit", "a.svm", "--null-values", "?", cwd=".", code="conflict",
    )  # fmt: skip


def test_split_takes_them_for_an_empty_cell():
    assert ReadingOptions(null_values=("?",)).null_cells() == ["?", " ?"]
