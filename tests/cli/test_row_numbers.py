"""Rows have one number wherever they are printed, and those left out are counted."""

import json
import re

import numpy as np
import pandas as pd
import pytest

import linsep
from command_line import assert_refused, here, table
from linsep import Perceptron
from linsep.errors import DataError
from linsep.sources import open_source
from linsep.validation.checks import of_features
from refusals import refused

#: which rows are left out, by their numbers: one with a gap, one of weight 0
FILES = {"gaps": ([2, 9], []), "both": ([3], [7, 11])}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows")
    for name, (gaps, weightless) in FILES.items():
        rows = [
            ["" if k in gaps else k % 5, k % 3, "ab"[k * k % 11 > 4], int(k not in weightless)]
            for k in range(1, 41)
        ]
        table(path, f"{name}.csv", ["x", "z", "y", "w"], rows)
    (path / "plain.svm").write_text(
        "# a comment\n\n"
        + "".join(f"{k * k % 11 > 4:d} 1:{k % 5} 2:{k % 3}\n" for k in range(1, 41))
    )
    return path


def _options(name):
    if name == "plain.svm":
        return []
    return ["--target", "y", "--missing", "drop", "--weight", "w"]


@pytest.mark.parametrize("name", ["both.csv", "plain.svm"])
def test_a_witness_of_separate_is_the_row_that_audit_explains(folder, name):
    words = _options(name)
    done = here("separate", name, *words, cwd=folder)
    line = next(line for line in done.stdout.splitlines() if line.startswith("witness   "))
    rows = [int(number) for number in re.search(r": ([\d, ]+) \(", line)[1].split(", ")]
    gaps, weightless = FILES.get(name.removesuffix(".csv"), ([], []))
    assert not {*gaps, *weightless} & set(rows)
    assert len(rows) >= 2
    here("fit", name, *words, "--model", f"{name}.m", "--force", cwd=folder)
    for row in rows:
        explain = ("audit", f"{name}.m", name, "--row", row, "--json")
        found = json.loads(here(*explain, cwd=folder).stdout)
        assert found["row"].endswith(f" {row + 2 * (name == 'plain.svm')}")


def test_numbers_count_the_rows_of_all_files_that_are_left_out_too(folder):
    for name, weight in (("gaps", None), ("both", "w")):
        path = [folder / f"{name}.csv"] * 2
        source = open_source(path, target="y", missing="drop", weight=weight)
        out = set(FILES[name][0]) | (set(FILES[name][1]) if weight else set())
        rows = list(source.exactly())
        total = sum(batch.size for batch in rows)
        numbers = [source.number(row) for row in range(total)]
        assert numbers == [k for k in range(1, 81) if (k - 1) % 40 + 1 not in out]
    source = open_source(folder / "plain.svm")
    list(source.batches())
    assert [source.number(row) for row in (0, 39)] == [1, 40]


def test_a_row_with_a_gap_is_not_explained(folder):
    here("fit", "gaps.csv", *_options("gaps.csv"), "--model", "g", "--force", cwd=folder)
    words = ("audit", "g", "gaps.csv", "--row")
    assert_refused(*words, 2, cwd=folder, code="missing-value", said="gaps.csv row 2")
    assert here(*words, 3, cwd=folder).returncode == 0


def test_support_vectors_have_the_numbers_of_the_data(folder):
    frame = pd.read_csv(folder / "both.csv")
    how = {"target": "y", "weight": "w", "missing": "drop", "scale": "none", "kernel": "rbf"}
    model = linsep.fit(frame, learner="kernel-soft-margin", gamma=0.5, **how)
    rows = frame[["x", "z"]].to_numpy()
    linsep.save(model, folder / "k", force=True)
    for one in (model, linsep.load(folder / "k")):
        assert not {3, 7, 11} & {*(one.support_ + 1)}
        assert np.array_equal(rows[one.support_], one.support_vectors_)
        assert {*one.bounded_support_} < {*one.support_}
    shown = here("inspect", "k", "--top", "40", cwd=folder).stdout
    numbers = [int(row) for row in re.findall(r"^(?:\S+ +)?row (\d+) ", shown, re.M)]
    assert sorted(numbers) == sorted(model.support_ + 1)


@pytest.mark.parametrize("name", ["gaps", "both"])
def test_residuals_and_diagnostics_have_the_numbers_of_the_file_from_0(folder, name):
    gaps, weightless = FILES[name]
    of_file = [row for row in range(40) if row + 1 not in gaps]
    used = [row for row in of_file if row + 1 not in weightless]
    words = [*_options(name), "--model", f"{name}.r", "--force"]
    here("fit", f"{name}.csv", "--learner", "logistic", *words, cwd=folder)
    done = here("summary", f"{name}.r", f"{name}.csv", "--json", cwd=folder)
    found = json.loads(done.stdout)["diagnostics"]["rows"]
    assert [row["row"] for row in found] == used
    words[1] = "z"
    here("fit", f"{name}.csv", "--learner", "linear", *words, cwd=folder)
    done = here("summary", f"{name}.r", f"{name}.csv", "--json", cwd=folder)
    found = json.loads(done.stdout)["diagnostics"]["rows"]
    assert [row["row"] for row in found] == used
    assert [row["y"] for row in found] == [(row + 1) % 3 for row in used]


@pytest.fixture
def partly(tmp_path):
    rows = [f"{k % 5},{'red' if k % 3 else 'blue'},{'ab'[k % 2]}" for k in range(40)]
    (tmp_path / "t.csv").write_text("\n".join(["x,color,kind", *rows, ",red,a", "1,,b"]) + "\n")
    (tmp_path / "new.csv").write_text("x,color,kind\n1,green,a\n2,red,b\n3,gray,a\n,red,a\n")
    (tmp_path / "t.svm").write_text("0 1:1\n1 2:1\n" * 9)
    (tmp_path / "wide.svm").write_text("0 1:1 7:2 9:1\n1 2:1 3:5\n")
    (tmp_path / "narrow.svm").write_text("0 1:1\n")
    return tmp_path


FIT = ("fit", "t.csv", "--target", "kind", "--missing", "drop", "--model", "m")


def test_rows_left_out_are_counted_on_the_screen_and_in_json(partly):
    shown = here(*FIT, "--test", "new.csv", cwd=partly).stdout
    assert re.search("left out +2 rows with missing values", shown)
    told = json.loads(here(*FIT, "--force", "--json", "--test", "new.csv", cwd=partly).stdout)
    assert (told["rows"], told["rows_dropped"]) == (40, 2)
    assert (told["test"]["rows"], told["test"]["rows_dropped"]) == (3, 1)
    told = json.loads(here("score", "m", "new.csv", "--json", cwd=partly).stdout)
    assert (told["rows_dropped"], told["unknown_values"]) == (1, {"color": 2})


def test_a_file_that_is_given_twice_is_told(partly):
    done = here("fit", "t.csv", "./t.csv", *FIT[2:], cwd=partly)
    assert (done.returncode, done.stderr.count("t.csv is given 2 times")) == (0, 1)
    (partly / "other.csv").write_text((partly / "t.csv").read_text())
    assert "given" not in here("fit", "t.csv", "other.csv", *FIT[2:], "--force", cwd=partly).stderr


def test_values_unknown_to_the_model_are_counted(partly):
    here("fit", "t.svm", "--model", "s", cwd=partly)
    told = json.loads(here("score", "s", "wide.svm", "--json", cwd=partly).stdout)
    assert told["unknown_values"] == {"features": 3}
    done = here("predict", "s", "wide.svm", cwd=partly)
    assert done.stdout.count("\n") == 2
    assert "3 values of features not seen in training" in done.stderr
    assert here("predict", "s", "narrow.svm", cwd=partly).stderr == ""


def test_a_source_is_predicted_and_scored_as_arrays_are(partly, monkeypatch):
    monkeypatch.setattr("linsep.sources.tables.table._BATCH_VALUES", 60)
    train = open_source(partly / "t.csv", target="kind", missing="drop")
    for tie in ("negative", "random"):
        model = Perceptron(max_iter=5, tie=tie).fit(train)
        again = open_source(partly / "t.csv", recipe=model.recipe_)
        batches = [(b.X.toarray(), b.y) for b in again.batches()]
        X, y = (np.concatenate(part) for part in zip(*batches, strict=True))
        del model.feature_names_in_
        with of_features():
            expected = model.decision_function(X), model.predict(X), model.score(X, y)
        for source in (train, again):
            assert np.array_equal(model.decision_function(source), expected[0])
            assert np.array_equal(model.predict(source), expected[1])
            assert model.score(source) == expected[2]
    with refused(DataError, "conflict", option="y"):
        model.score(again, y)


def test_rows_left_out_and_filled_are_counted_from_the_cache_too(partly, monkeypatch):
    monkeypatch.setattr("linsep.sources.base.Source.memory_bytes", 0)
    for missing, name, expected in (("drop", "rows_dropped", 2),
                                    ("mean", "values_filled", {"x": 1, "color": 1})):  # fmt: skip
        fit = ("fit", "t.csv", "--target", "kind", "--missing", missing, "--json", "--cache", "c")
        first, again = (json.loads(here(*fit, cwd=partly).stdout) for _ in range(2))
        assert first["cache"] == again["cache"] is not None
        assert first[name] == again[name] == expected
