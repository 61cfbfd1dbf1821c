"""Predictions beside rows; values that were not seen in training."""

import csv
import io
import json
import warnings
from contextlib import suppress

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import linsep
from command_line import assert_refused, here
from linsep import model_files
from linsep.errors import DataError
from linsep.sources import open_source

TRAIN = "id,age,town,ill\n" + "".join(
    f"{k:03},{20 + k % 7},{('ulm', 'bonn', 'köln')[k % 3]},{('no', 'yes')[k * k % 7 > 2]}\n"
    for k in range(60)
)
NEW = (
    'id,age,town,day\n007,21,ulm,2024-01-02\n008,,bonn,\n009,23,,2024-01-03\n"0,10",24,bonn,?\n'
    "011,25,köln,x\n"
)
IDS, EMPTY = ["007", "008", "009", "0,10", "011"], [False, True, True, False, False]
LEARNERS = {
    "logistic": ["--learner", "logistic", "--l2", "1"],
    "perceptron": ["--learner", "perceptron"],
    "reference": ["--learner", "pa", "--reference", "yes"],
    "calibrated": ["--learner", "perceptron", "--calibrate", "train.csv"],
    "linear": ["--learner", "linear", "--target", "age", "--exclude", "ill"],
    "three": ["--learner", "perceptron", "--target", "town", "--exclude", "ill"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("predict")
    (path / "train.csv").write_text(TRAIN)
    (path / "new.csv").write_text(NEW)
    frame = pd.read_csv(io.StringIO(NEW), dtype={"id": str})
    frame.to_parquet(path / "new.parquet")
    lines = [{k: None if v == "" else v for k, v in row.items()} for row in _rows(NEW)]
    for line in lines:
        line["age"] = None if line["age"] is None else int(line["age"])
    (path / "new.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    for name, words in LEARNERS.items():
        target = [] if "--target" in words else ["--target", "ill"]
        fit = ["fit", "train.csv", *target, "--exclude", "id", *words, "--model", f"{name}.linsep"]
        done = here(*fit, cwd=path)
        assert done.returncode == 0, done.stderr
    return path


def _rows(text, delimiter=","):
    return list(csv.DictReader(io.StringIO(text), delimiter=delimiter))


@pytest.mark.parametrize("file", ["new.csv", "new.parquet", "new.jsonl"])
def test_rows_with_gaps_have_empty_lines_and_the_others_the_predictions_they_had(folder, file):
    (folder / "some.csv").write_text(
        "".join(line for k, line in enumerate(NEW.splitlines(True)) if k not in (2, 3))
    )
    for name in ("logistic", "perceptron", "calibrated"):
        done = here("predict", f"{name}.linsep", file, "--missing", "skip", cwd=folder)
        assert done.returncode == 0, done.stderr
        assert "no prediction for 2 rows with missing values" in done.stderr
        some = here("predict", f"{name}.linsep", "some.csv", cwd=folder).stdout.splitlines()
        found = done.stdout.splitlines()
        assert [line == "" for line in found] == EMPTY
        assert [line for line in found if line] == some


@pytest.mark.parametrize("file", ["new.csv", "new.parquet", "new.jsonl"])
@pytest.mark.parametrize("output", ["out.csv", "out.tsv", "out.parquet"])
def test_columns_are_copied_as_they_stand(folder, file, output):
    words = ["--keep-columns", "day", "--keep-columns", "i*,age", "--probabilities", "--force"]
    done = here(
        "predict", "logistic.linsep", file, "--missing", "skip", "-o", output, *words, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    probabilities = ["probability no", "probability yes"]
    if output == "out.parquet":
        found = pq.read_table(folder / output).to_pylist()
        assert [row["prediction"] is None for row in found] == EMPTY
    else:
        text = (folder / output).read_text()
        found = _rows(text, "," if output == "out.csv" else "\t")
        assert [row["prediction"] == "" for row in found] == EMPTY
    assert list(found[0]) == ["day", "id", "age", "prediction", *probabilities]
    assert [row["id"] for row in found] == IDS
    assert [row["day"] for row in found] == ["2024-01-02", found[1]["day"], "2024-01-03", "?", "x"]
    assert found[1]["day"] in ("", None)
    if file == "new.csv":
        assert [row["age"] for row in found] == ["21", "", "23", "24", "25"]
    done = here("predict", "logistic.linsep", "new.csv", "--missing", "skip", "--probabilities",
                cwd=folder)  # fmt: skip
    plain = [line.split("\t")[1:] for line in done.stdout.splitlines()]
    for row, told in zip(found, plain, strict=True):
        assert ["" if row[p] is None else str(row[p]) for p in probabilities] == told


def test_numbers_with_intervals_skip_rows_too(folder):
    words = ["--missing", "skip", "--interval", "prediction", "--keep-columns", "id"]
    (folder / "gap.csv").write_text("id,town\n1,ulm\n2,\n3,bonn\n")
    lines = here("predict", "linear.linsep", "gap.csv", *words, cwd=folder).stdout.splitlines()
    assert lines[1] == "2\t\t\t"
    model = model_files.load(folder / "linear.linsep")
    bands = model.predict(folder / "gap.csv", interval="prediction", missing="skip")
    assert np.isnan(bands.low).tolist() == [False, True, False]
    assert lines[2].split("\t")[1:] == [repr(float(part[2])) for part in bands]


def test_what_makes_no_sense_is_refused(folder):
    (folder / "clash.csv").write_text("age,town,prediction\n1,ulm,2\n")
    (folder / "t.svm").write_text("0 1:1\n1 2:1\n")
    here("fit", "t.svm", "--model", "svm.linsep", "--force", cwd=folder)
    for words, code, exit_code in (
        ("linear.linsep new.csv --threshold 1", "unsupported", 1),
        ("three.linsep new.csv --threshold 1", "class-count", 1),
        ("logistic.linsep new.csv --threshold 2", None, 2),
        ("logistic.linsep new.csv --threshold x", None, 2),
        ("logistic.linsep new.csv --keep-columns ids", "unknown-column", 1),
        ("logistic.linsep new.csv --missing drop", None, 2),
        ("logistic.linsep new.csv", "missing-value", 1),
        ("logistic.linsep clash.csv --keep-columns prediction -o p.csv", "duplicate-name", 1),
        ("svm.linsep t.svm --keep-columns id", "no-columns", 1),
        ("svm.linsep t.svm --missing skip", "conflict", 1),
    ):
        assert_refused("predict", *words.split(), cwd=folder, code=code, exit_code=exit_code)


@pytest.mark.parametrize("name", ["calibrated", "perceptron", "reference"])
def test_the_positive_class_is_predicted_from_the_threshold_on(folder, name):
    model = model_files.load(folder / f"{name}.linsep")
    source = open_source(folder / "train.csv", recipe=model.recipe_, labeled=False)
    positive = 0 if name == "reference" else 1
    if hasattr(model, "predict_proba"):
        numbers = model.predict_proba(source)[:, positive]
    else:
        numbers = model.decision_function(source) * (1 if positive else -1)
    for k in (5, 30):
        least = numbers[numbers.argsort()[k]]  # a row on the threshold is positive
        wanted = [model.classes_[positive if x >= least else 1 - positive] for x in numbers]
        words = ["predict", f"{name}.linsep", "train.csv", f"--threshold={float(least)!r}"]
        assert here(*words, cwd=folder).stdout.split() == wanted
        assert len(set(wanted)) == 2


@pytest.mark.parametrize("name", ["logistic", "perceptron", "three"])
def test_python_gives_none_and_nan_in_place(folder, name):
    model = model_files.load(folder / f"{name}.linsep")
    frame = pd.read_csv(io.StringIO(NEW), dtype={"id": str})
    empty = frame["age"].isna() if name == "three" else np.array(EMPTY)
    for rows in (frame, folder / "new.csv", folder / "new.parquet"):
        labels = model.predict(rows, missing="skip")
        assert [label is None for label in labels] == list(empty)
        scores = model.decision_function(rows, missing="skip")
        assert np.isnan(scores.reshape(5, -1)).all(axis=1).tolist() == list(empty)
        known = frame[~empty]
        np.testing.assert_array_equal(labels[~empty], model.predict(known))
        np.testing.assert_array_equal(scores[~empty], model.decision_function(known))
        if hasattr(model, "predict_proba"):
            shares = model.predict_proba(rows, missing="skip")
            np.testing.assert_array_equal(shares[~empty], model.predict_proba(known))
            assert np.isnan(shares[empty]).all()


@pytest.mark.parametrize("how", ["zero", "mean", "indicator"])
def test_gaps_are_filled_as_in_training_or_an_error_if_asked_for(tmp_path, how):
    table = pd.DataFrame({"a": [1.0, np.nan, 2.0, 3.0] * 5, "y": [0, 1] * 10})
    table.to_csv(tmp_path / "t.csv", index=False)
    model = linsep.fit(table, target="y", missing=how)
    linsep.save(model, tmp_path / "m")
    assert len(here("predict", "m", "t.csv", cwd=tmp_path).stdout.splitlines()) == 20
    assert_refused("predict", "m", "t.csv", "--missing", "error", cwd=tmp_path,
                   code="missing-value", said="row 2, column 'a'")  # fmt: skip
    for rows in (table, tmp_path / "t.csv"):
        assert len(model.predict(rows)) == 20
        with pytest.raises(DataError) as error:
            model.predict(rows, missing="error")
        assert (error.value.row, error.value.column) == (2, "a")


CODES = np.array([1, 2, 3] * 20)
TOLD = pd.DataFrame({
    "code": CODES, "x": np.linspace(-2, 2, 60).round(3), "note": ["good day", "bad day"] * 30,
    "day": pd.date_range("2024-01-01", periods=60).strftime("%Y-%m-%d"),
    "kind": np.where(CODES == 1, "yes", "no"), "price": 3.0 * CODES,
})  # fmt: skip
#: the columns beside code, and how they are read
BESIDE = {
    "alone": ({}, ["x"]), "date": ({"date": ["day"]}, ["x", "day"]),
    "text": ({"text": {"note": linsep.Text(n_features=8)}}, ["x", "note"]),
}  # fmt: skip


def other_codes(some=False):
    """The same rows with other codes, in all of them or in those of the first code."""
    codes = TOLD.code.astype(str)
    return TOLD.assign(code=codes.where(TOLD.code > 1, "91") if some else "9" + codes)


@pytest.mark.parametrize("beside", BESIDE)
@pytest.mark.parametrize("learner", ["perceptron", "logistic"])
def test_python_warns_of_unseen_values_as_the_command_line_does(tmp_path, learner, beside):
    how, columns = BESIDE[beside]
    table = TOLD[["code", *columns, "kind"]]
    with warnings.catch_warnings(action="ignore"):  # words are few
        l2 = {"l2": 1.0} if learner == "logistic" else {}
        model = linsep.fit(table, target="kind", learner=learner, categorical=["code"], **how, **l2)
    linsep.save(model, tmp_path / "m")
    new = other_codes(some=True)[["code", *columns, "kind"]]
    new.to_csv(tmp_path / "new.csv", index=False)
    said = here("predict", "m", "new.csv", cwd=tmp_path).stderr
    assert said.count("\n") == 1
    expected = said.removeprefix("linsep: warning: ").strip()
    X = new.drop(columns="kind")
    source = linsep.open_source(new, recipe=model.recipe_)
    calls = [
        lambda: model.predict(X), lambda: model.predict(tmp_path / "new.csv"),
        lambda: model.predict(X, missing="skip"), lambda: model.predict(source),
        lambda: model.decision_function(X), lambda: model.score(new), lambda: model.score(source),
        lambda: linsep.score(model, new),
    ]  # fmt: skip
    if learner == "logistic":
        calls += [lambda: model.predict_proba(X), lambda: model.marginal_effects(X)]
    for call in calls:
        with warnings.catch_warnings(record=True, action="always") as seen, suppress(DataError):
            call()
        assert {str(one.message) for one in seen} == {expected}
        assert {one.filename for one in seen} == {__file__}
    with warnings.catch_warnings(action="error"):
        model.score(table)


def test_every_command_that_reads_rows_for_a_model_warns_of_unseen_values(tmp_path):
    table = TOLD[["code", "x", "kind"]]
    fit = {"learner": "logistic", "l2": 1.0, "categorical": ["code"]}
    linsep.save(linsep.fit(table, target="kind", **fit), tmp_path / "m")
    new = other_codes(some=True)[["code", "x", "kind"]]
    new.to_csv(tmp_path / "new.csv", index=False)
    for words in (
        "predict m new.csv", "effects m new.csv", "bounds --model m new.csv",
        "plot decision m new.csv -o p.png --force", "plot probability m new.csv -o p.png --force",
    ):  # fmt: skip
        done = here(*words.split(), cwd=tmp_path)
        assert done.stderr.count("20 values of column 'code' not seen in training") == 1, words
