"""CSV without a header row: no row is taken for names of columns unnoticed."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_iris

from command_line import assert_refused, assert_they_run, here
from linsep import Perceptron, open_source
from linsep.distributed.shards import Reading, read_shard, shards_of
from linsep.errors import DataError
from linsep.sources.tables import text_file
from linsep.sources.tables.reading_options import ReadingOptions
from refusals import refused
from whole_files import load_table

pytestmark = pytest.mark.compiled

ROWS = ["5.1,3.5,setosa", "4.9,3.0,setosa", "7.0,3.2,versicolor", "6.3,3.3,virginica"]
ADVICE = "read it as data with header=False or as column names with header=True."


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    place = tmp_path / "a.csv"
    place.write_text("\n".join(ROWS) + "\n")
    return place


def refusal(text, **options):
    with open("a.csv", "w", newline="") as file:
        file.write(text)
    with pytest.raises(DataError) as caught:
        load_table("a.csv", **options)
    return str(caught.value)


def test_a_row_that_is_taken_for_names_is_noticed(path):
    said = refusal("\n".join(ROWS), target="setosa")
    assert said == (
        "a.csv line 1 does not seem to be a header row: 'setosa' is also a value of its column: "
        + ADVICE
    )
    said = refusal("1,2\n3,4\n", target="2")
    assert said == (
        "a.csv line 1 holds numbers instead of column names: add column names, " + ADVICE
    )
    assert refusal("a,a,y\n1,2,0\n", target="y") == (
        "a.csv has 2 columns named 'a': rename all but one or read line 1 as data with "
        "header=False."
    )
    long = "word " * 100
    said = refusal(f"p,{long}\nq,{long}\n", target="p")
    assert f"'{long[:40]}...' is also a value of its column" in said


def test_names_may_be_values_where_that_is_said(path):
    _, y, names = load_table(path, target="setosa", header=True)
    assert names == ["5.1", "3.5"]
    assert y.tolist() == ["setosa", "versicolor", "virginica"]
    path.write_text("2019,2020\n1,2\n3,4\n")
    assert load_table(path, target="2020", header=True)[1].tolist() == [2, 4]


@pytest.mark.parametrize("block", [8, 1 << 20])
def test_every_row_is_read(path, block, monkeypatch):
    monkeypatch.setattr(text_file, "BLOCK_BYTES", block)
    source = open_source(path, target="column_3", header=False)
    batches = list(source.batches())
    assert np.concatenate([b.X for b in batches]).tolist() == [
        [5.1, 3.5],
        [4.9, 3],
        [7, 3.2],
        [6.3, 3.3],
    ]
    assert source.feature_names == ["column_1", "column_2"]
    assert source.where(0) == "a.csv line 1".replace("a.csv", str(path))
    assert source.where(3).endswith("line 4")
    assert source.recipe()["header"] is False
    again = open_source(path, recipe=source.recipe(), labeled=False)
    assert sum(len(b.X) for b in again.batches()) == 4
    path.write_text("5,3,setosa\n4,x,setosa\n")
    with refused(DataError, "not-a-number", row=2, column="column_2"):
        list(open_source(path, recipe=source.recipe()).batches())


def test_a_model_is_that_of_the_same_rows_with_names(tmp_path):
    X, y = load_iris(return_X_y=True)
    rows = "".join(
        f"{','.join(map(repr, x.tolist()))},k{label}\n" for x, label in zip(X, y, strict=True)
    )
    (tmp_path / "without.csv").write_text(rows)
    (tmp_path / "with.csv").write_text("a,b,c,d,y\n" + rows)
    with_names = Perceptron(max_iter=3).fit(open_source(tmp_path / "with.csv", target="y"))
    without = Perceptron(max_iter=3).fit(
        open_source(tmp_path / "without.csv", target="column_5", header=False)
    )
    assert without.coef_.tobytes() == with_names.coef_.tobytes()
    commands = (
        "fit without.csv --no-header --target column_5 --model m",
        "predict m without.csv --output labels.txt",
        "score m without.csv",
        "convert without.csv rows.parquet --no-header",
        "split without.csv --no-header --target column_5 --test 0.2",
        "separate without.csv --no-header --target column_5",
        "describe without.csv --no-header --target column_5",
    )
    assert_they_run(commands, tmp_path)
    assert len((tmp_path / "labels.txt").read_text().split()) == 150
    parts = [(tmp_path / f"without-{part}.csv").read_text() for part in ("train", "test")]
    assert sorted("".join(parts).splitlines()) == sorted(rows.splitlines())
    done = here(*["describe", "without.csv", "--no-header", "--json"], cwd=tmp_path)
    assert json.loads(done.stdout)["rows"] == 150
    done = here(*["describe", "without.csv", "--no-header"], cwd=tmp_path)
    assert "linsep describe without.csv --no-header --target COLUMN" in " ".join(
        done.stdout.split()
    )


@pytest.mark.parametrize("command", ["fit a.csv --target", "describe a.csv --target",
                                     "split a.csv --test 0.5 --target"])  # fmt: skip
def test_commands_notice_it(path, command):
    assert_refused(
        *command.split(), "setosa", cwd=path.parent,
        code="bad-line",
    )  # fmt: skip


def test_shards_without_a_header(path):
    path.write_text("".join(f"{k},t{k % 2}\n" for k in range(300)))
    source = open_source(path, target="column_2", header=False)
    shards = shards_of(source, 700)
    reading = Reading(source.recipe(), source.reading)
    assert len(shards) > 2
    found = np.concatenate([read_shard(shard, reading).batch.X for shard in shards])
    assert found.ravel().tolist() == [*range(300)]
    path.write_text("".join(f"{k},t{k % 2}\n" for k in range(299)) + "x,t1\n")
    with refused(DataError, "not-a-number", row=300, column="column_1"):
        [read_shard(s, reading) for s in shards_of(source, 700)]


@pytest.mark.parametrize("bad", [{"header": "no"}, {"quotes": 2}])
def test_what_is_neither_true_nor_false_is_refused(path, bad):
    (_name,) = bad
    with refused(DataError, "bad-option"):
        open_source(path, target="setosa", **bad)
    assert ReadingOptions(**bad).recipe() == {"delimiter": None}


def test_a_model_reads_its_own_data_again(path):
    path.write_text("2019,2020\n1,2\n3,4\n0,2\n5,4\n")
    here(*["fit", "a.csv", "--header", "--target", "2020", "--model", "m"], cwd=path.parent)
    assert here(*["score", "m", "a.csv"], cwd=path.parent).returncode == 0
    source = open_source(path, target="2020", header=True)
    list(source.batches())
    assert list(open_source(path, recipe=source.recipe(), labeled=False).batches())


MARK = "\ufeff"


@pytest.mark.parametrize("header", ["", "a,y\n", '"a",y\n'])
def test_a_byte_order_mark_is_no_part_of_a_row(path, header):
    rows = ['"1",A', "2,A", "3,B", "4,B", "5,A", "6,B"]
    for name in ("a.csv", "b.csv"):
        path.with_name(name).write_text(MARK + header + "\n".join(rows) + "\n")
    option = [] if header else ["--no-header"]
    done = here("split", "a.csv", "b.csv", *option, "--test", "0.25", "--in-order", cwd=path.parent)
    assert (done.returncode, done.stderr) == (0, "")
    parts = [path.with_name(f"a-{part}.csv").read_text() for part in ("train", "test")]
    top = MARK + header if header else ""
    assert all(part.startswith(top) for part in parts)
    assert "".join(part.removeprefix(top) for part in parts).splitlines() == rows * 2


def test_groups_and_times_stay_whole_behind_a_mark(path):
    path.write_text(MARK + "A,1\nA,2\nB,3\nA,4\nB,5\nB,6\nA,7\nA,8\n")
    for seed in range(4):
        command = (
            f"split a.csv --no-header --group column_1 --test 0.5 --force --random-state {seed}"
        )
        assert here(*command.split(), cwd=path.parent).returncode == 0
        groups = [
            {line[0] for line in path.with_name(f"a-{part}.csv").read_text().splitlines()}
            for part in ("train", "test")
        ]
        assert groups[0].isdisjoint(groups[1])
    path.write_text(MARK + "2025-05-31,A\n2025-05-30,A\n2025-05-29,B\n2025-05-28,B\n")
    command = "split a.csv --no-header --time column_1 --test 0.25 --force"
    assert here(*command.split(), cwd=path.parent).returncode == 0
    assert path.with_name("a-test.csv").read_text() == "2025-05-31,A\n"


def test_shards_of_blank_lines_are_empty(path):
    path.write_text("".join(f"{k},t{k % 2}\n" for k in range(50)) + "\n" * 300)
    source = open_source(path, target="column_2", header=False)
    reading = Reading(source.recipe(), source.reading)
    assert sum(read_shard(shard, reading).batch.size for shard in shards_of(source, 200)) == 50
    path.write_text("\n\n")
    with refused(DataError, "no-rows"):
        open_source(path, target="column_2", header=False)


def test_a_late_value_may_be_a_name(path):
    path.write_text("a,y\n" + "".join(f"{k},p{k % 2}\n" for k in range(12_000)) + "5,y\n")
    assert load_table(path, target="y")[1].size == 12_001
    done = here(*["split", "a.csv", "--target", "y", "--test", "0.25"], cwd=path.parent)
    assert (done.returncode, done.stderr) == (0, "")
