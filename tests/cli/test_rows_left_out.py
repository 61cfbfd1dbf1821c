"""Rows and values that do not count are told: left out, or unknown to the model."""

import json
import re

import numpy as np
import pytest

from command_line import here
from linsep import Perceptron
from linsep.sources import open_source
from linsep.validation.values import of_features
from refusals import refused


@pytest.fixture
def folder(tmp_path):
    rows = [f"{k % 5},{'red' if k % 3 else 'blue'},{'ab'[k % 2]}" for k in range(40)]
    (tmp_path / "t.csv").write_text("\n".join(["x,color,kind", *rows, ",red,a", "1,,b"]) + "\n")
    (tmp_path / "new.csv").write_text("x,color,kind\n1,green,a\n2,red,b\n3,gray,a\n,red,a\n")
    (tmp_path / "t.svm").write_text("0 1:1\n1 2:1\n" * 9)
    (tmp_path / "wide.svm").write_text("0 1:1 7:2 9:1\n1 2:1 3:5\n")
    (tmp_path / "narrow.svm").write_text("0 1:1\n")
    return tmp_path


FIT = ("fit", "t.csv", "--target", "kind", "--missing", "drop", "--model", "m")


def test_rows_left_out_are_counted_on_the_screen_and_in_json(folder):
    shown = here(*FIT, "--test", "new.csv", cwd=folder).stdout
    assert re.search("left out +2 rows with missing values", shown)
    assert re.search("test .*; left out 1 row with missing values; unknown 2 values of col", shown)
    told = json.loads(here(*FIT, "--force", "--json", "--test", "new.csv", cwd=folder).stdout)
    assert (told["rows"], told["rows_dropped"]) == (40, 2)
    assert (told["test"]["rows"], told["test"]["rows_dropped"]) == (3, 1)
    shown = here("score", "m", "new.csv", cwd=folder).stdout
    assert re.search("left out +1 row with missing values", shown)
    told = json.loads(here("score", "m", "new.csv", "--json", cwd=folder).stdout)
    assert (told["rows_dropped"], told["unknown_values"]) == (1, {"color": 2})
    assert "left out" not in here("fit", "t.svm", cwd=folder).stdout


def test_rows_left_out_are_counted_from_the_cache_too(folder, monkeypatch):
    monkeypatch.setattr("linsep.sources.base.Source.memory_bytes", 0)
    fit = (*FIT, "--force", "--cache", "rows", "--json")
    first, again = (json.loads(here(*fit, cwd=folder).stdout) for _ in range(2))
    assert first["cache"] == again["cache"] is not None
    assert first["rows_dropped"] == again["rows_dropped"] == 2


def test_values_taken_for_others_are_counted_from_the_cache_too(folder, monkeypatch):
    monkeypatch.setattr("linsep.sources.base.Source.memory_bytes", 0)
    fit = ("fit", "t.csv", "--target", "kind", "--missing", "mean", "--json", "--cache", "rows")
    for _ in range(2):
        told = json.loads(here(*fit, cwd=folder).stdout)
        assert told["values_filled"] == {"x": 1, "color": 1}


def test_values_taken_for_others_are_counted_of_rows_that_were_converted(folder):
    assert here("convert", "t.csv", "t.rows", "--target", "kind", "--missing", "zero", cwd=folder)
    told = json.loads(here("fit", "t.rows", "--json", cwd=folder).stdout)
    assert told["values_filled"] == {"x": 1, "color": 1}


def test_files_that_are_learned_from_are_no_test(folder):
    here(*FIT, cwd=folder)
    rows = ("--test", f"{folder}/t.csv", "--calibrate", "new2.csv", "--calibrate", "t.csv")
    (folder / "new2.csv").write_text((folder / "t.csv").read_text())
    done = here(*FIT, *rows, "--force", cwd=folder)
    assert done.returncode == 0
    assert re.search(
        "^linsep: warning: --test .*t.csv is also training data, so its score does not", done.stderr
    )
    assert re.search("\nlinsep: warning: --calibrate t.csv is also training data, ", done.stderr)
    rows = ("--test", "new2.csv", "--calibrate", "new2.csv", "--force")
    assert "too:" not in here(*FIT, *rows, cwd=folder).stderr


def test_a_file_that_is_given_twice_is_told(folder):
    done = here("fit", "t.csv", "./t.csv", *FIT[2:], cwd=folder)
    assert done.returncode == 0
    told = [line for line in done.stderr.splitlines() if "given" in line]
    assert told == ["linsep: warning: t.csv is given 2 times, so each of its rows is used 2 times."]
    (folder / "other.csv").write_text((folder / "t.csv").read_text())
    assert "given" not in here("fit", "t.csv", "other.csv", *FIT[2:], "--force", cwd=folder).stderr


def test_values_unknown_to_the_model_are_counted(folder):
    here(*FIT, cwd=folder)
    (folder / "new.csv").write_text("x,color,kind\n1,green,a\n2,red,b\n3,gray,a\n")
    done = here("predict", "m", "new.csv", cwd=folder)
    assert done.stdout.count("\n") == 3
    unknown = "2 values of column 'color' not seen in training"
    assert done.stderr == f"linsep: warning: {unknown}; predicted without an indicator.\n"
    shown = here("score", "m", "new.csv", cwd=folder).stdout
    assert re.search("unknown +2 values of column 'color' not seen in training", shown)
    here("fit", "t.svm", "--model", "s", cwd=folder)
    told = json.loads(here("score", "s", "wide.svm", "--json", cwd=folder).stdout)
    assert told["unknown_values"] == {"features": 3}
    done = here("predict", "s", "wide.svm", cwd=folder)
    assert done.stderr.startswith("linsep: warning: 3 values of features not seen in training")
    assert here("predict", "s", "narrow.svm", cwd=folder).stderr == ""


def test_a_source_is_predicted_and_scored_as_arrays_are(folder, monkeypatch):
    monkeypatch.setattr("linsep.sources.tables.table._BATCH_VALUES", 60)
    train = open_source(folder / "t.csv", target="kind", missing="drop")
    for tie in ("negative", "random"):
        model = Perceptron(max_iter=5, tie=tie).fit(train)
        again = open_source(folder / "t.csv", recipe=model.recipe_)
        batches = [(b.X.toarray(), b.y) for b in again.batches()]
        X, y = (np.concatenate(part) for part in zip(*batches, strict=True))
        del model.feature_names_in_
        with of_features():
            expected = model.decision_function(X), model.predict(X), model.score(X, y)
        for source in (train, again):
            assert np.array_equal(model.decision_function(source), expected[0])
            assert np.array_equal(model.predict(source), expected[1])
            assert model.score(source) == expected[2]
    with pytest.raises(ValueError, match="omit y and sample_weight"):
        model.score(again, y)


def test_a_source_that_is_read_otherwise_is_refused(folder):
    model = Perceptron(max_iter=2).fit(open_source(folder / "t.csv", target="kind", missing="drop"))
    for other in ({"missing": "zero"}, {"missing": "zero", "hash_bits": 3},
                  {"missing": "zero", "exclude": "x"}):  # fmt: skip
        source = open_source(folder / "new.csv", target="kind", **other)
        with refused(ValueError, "other-model"):
            model.predict(source)
    narrow = Perceptron().fit(np.eye(3), [0, 1, 1])
    (folder / "n.csv").write_text("x,z,kind\n1,2,a\n2,1,b\n")
    with refused(ValueError, "shape"):
        narrow.predict(open_source(folder / "n.csv", target="kind"))
    bare = open_source(folder / "n.csv", target="kind", exclude="z")
    model = Perceptron().fit(bare)
    (folder / "bare.csv").write_text("x\n1\n")
    source = open_source(folder / "bare.csv", recipe=model.recipe_, labeled=False)
    assert model.predict(source).shape == (1,)
    with refused(ValueError, "no-labels"):
        model.score(source)
