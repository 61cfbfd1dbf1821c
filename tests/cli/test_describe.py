"""linsep describe: what pandas and numpy say of the same rows, and commands that work."""

import csv
import io
import json
import re
import shlex
import sys
from fractions import Fraction
from math import isqrt

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from command_line import assert_refused, here, table
from data_files import write
from linsep.describing import columns, describing, facts, tables, vectors
from linsep.describing.describing import Description
from linsep.sources.svmlight import SvmlightSource
from linsep.sources.tables import text_file

pytestmark = pytest.mark.compiled
ROWS = 300


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "age": rng.integers(0, 90, ROWS).astype(float), "height": rng.normal(size=ROWS),
            "zero": np.zeros(ROWS), "flag": rng.random(ROWS) < 0.5,
            "town": rng.choice(["Bonn", "Köln", "x,y"], ROWS), "id": [f"k{k}" for k in range(ROWS)],
        }
    )  # fmt: skip
    frame["again"], frame["there"] = frame["height"], frame["town"]
    frame["note"] = [
        f"{a} went to {b} once" for a, b in zip(frame["id"], frame["town"], strict=True)
    ]
    frame["y"] = np.where(frame["height"] + rng.normal(size=ROWS) > 0, "yes", "no")
    frame.loc[::7, "age"] = np.nan
    frame.loc[::9, "town"] = frame.loc[::9, "there"] = None
    return frame


@pytest.fixture(scope="module")
def folder(frame, tmp_path_factory):
    folder = tmp_path_factory.mktemp("describe")
    frame.to_csv(folder / "t.csv", index=False)
    frame.to_parquet(folder / "t.parquet")
    frame.to_json(folder / "t.jsonl", orient="records", lines=True, double_precision=15)
    return folder


def described(*arguments, cwd):
    done = here("describe", *arguments, "--json", cwd=cwd)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.jsonl"])
def test_tables_are_what_pandas_says(folder, frame, name, monkeypatch):
    monkeypatch.setattr(tables, "rows_at_once", lambda *_: 64)
    found = described(name, "--target", "y", cwd=folder)
    assert found["rows"] == ROWS
    assert [column["name"] for column in found["columns"]] == list(frame)
    for column in found["columns"]:
        values = frame[column["name"]]
        assert column["missing"] == values.isna().sum()
        assert column["values"] == values.nunique()
        if column["type"] in ("number", "int", "bool"):
            values = values.astype(float)
            ends = column["min"], column["max"]
            assert ends == pytest.approx((values.min(), values.max()), rel=1e-14)
            assert column["mean"] == pytest.approx(values.mean(), abs=1e-12)
            assert column["std"] == pytest.approx(values.std(ddof=0), abs=1e-12)
    types = {column["name"]: column["type"] for column in found["columns"]}
    assert types == {
        "age": "int", "height": "number", "zero": "int", "flag": "bool", "town": "text",
        "id": "text", "again": "number", "there": "text", "note": "text", "y": "text",
    }  # fmt: skip
    assert found["constant"] == ["zero"]
    assert sorted(map(sorted, found["duplicates"])) == [["again", "height"], ["there", "town"]]
    assert (found["left_out"], found["words"]) == (["id"], ["note"])
    counts = {one["label"]: one["rows"] for one in found["label"]["classes"]}
    assert counts == frame["y"].value_counts().to_dict()
    assert found["separable"]["verdict"] == "overlapping"
    assert found["separable"]["without"] == ["id", "note"]


def test_columns_of_small_numbers_are_told_apart():
    """Of all columns of three digits, only those that are equal have equal hashes."""
    rows = np.array(np.meshgrid(*[[0, 1, 2, -1]] * 3)).reshape(3, -1).astype(float)
    found = (columns.of_numbers(rows) * columns.of_rows(0, 3)[:, None]).sum(axis=0)
    assert np.unique(found).size == rows.shape[1] == 64
    assert columns.of_numbers(np.array([0.0, -0.0])).tolist() == [0, 0]
    assert np.unique(columns.of_numbers(np.array([np.nan, -np.nan]))).size == 1


@pytest.mark.parametrize("kind", ["svm", "vw"])
def test_vectors_are_what_numpy_says(tmp_path, kind, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.integers(1, 4, (200, 30)) * (rng.random((200, 30)) < 0.2).astype(float)
    X[:, 3], X[:, 4], X[:, 6] = 2.0, X[:, 5], 0.0
    names = [[f"{j + 1}:{v:g}" for j, v in enumerate(row) if v] for row in X.tolist()]
    between = " " if kind == "svm" else " 2.5 | "
    lines = [f"{k % 3}{between}{' '.join(row)}\n" for k, row in enumerate(names)]
    (tmp_path / f"t.{kind}").write_text("".join(lines))
    found = described(f"t.{kind}", cwd=tmp_path)
    assert (found["rows"], found["stored"]) == (200, np.count_nonzero(X) / 200)
    assert (found["min"], found["max"]) == (1.0, 3.0)
    assert found["used"] == np.count_nonzero(X.any(axis=0)) == 29
    assert (found["n_constant"], found["n_duplicates"]) == (1, 1)
    if kind == "svm":
        assert (found["constant"], found["duplicates"]) == (["4"], [["5", "6"]])
        assert found["features"] == 30
        assert found["weights"] is None
    else:
        assert found["weights"] == [2.5, 2.5]
    assert [one["rows"] for one in found["label"]["classes"]] == [67, 67, 66]
    monkeypatch.setattr("linsep.describing.vectors.MOST_FEATURES", 20)
    found = described(f"t.{kind}", cwd=tmp_path)
    assert found["used"] is found["constant"] is None
    text = here("describe", f"t.{kind}", cwd=tmp_path).stdout
    assert f"\nnext       linsep fit t.{kind} --learner perceptron --model t.linsep\n" in text
    assert "\nseparable  no: no hyperplane separates the classes (proved on 200 rows)\n" in text


def test_a_sample_proves_that_classes_overlap_but_not_that_they_do_not(tmp_path, monkeypatch):
    monkeypatch.setattr(columns, "SAMPLE_ROWS", 50)
    rows = [(k % 10, k, "p" if k % 2 else "q") for k in range(400)]
    table(tmp_path, "no.csv", ["a", "b", "y"], [(a // 2, 1, y) for a, _, y in rows])
    found = described("no.csv", "--target", "y", cwd=tmp_path)["separable"]
    assert found["verdict"] is None  # every eighth row has one class
    table(
        tmp_path, "no.csv", ["a", "b", "y"], [(k // 3 % 5, 1, "pq"[k // 8 % 2]) for _, k, _ in rows]
    )
    found = described("no.csv", "--target", "y", cwd=tmp_path)["separable"]
    assert (found["verdict"], found["rows"]) == ("overlapping", 50)
    table(tmp_path, "yes.csv", ["a", "b", "y"], [(k, 1, "pq"[k > 200]) for _, k, _ in rows])
    found = described("yes.csv", "--target", "y", cwd=tmp_path)["separable"]
    assert (found["verdict"], found["of_sample"]) == (None, "separable")
    text = here("describe", "yes.csv", "--target", "y", cwd=tmp_path).stdout
    assert "not decided: 50 of 400 rows are separable; `linsep separate` decides" in text
    dated = [(k, "2025-01-01", "pq"[k > 200]) for _, k, _ in rows]
    table(tmp_path, "yes.csv", ["a", "day", "y"], dated)
    text = here("describe", "yes.csv", "--target", "y", cwd=tmp_path).stdout
    assert "not decided: 50 of 400 rows, without day, are separable; `linsep separate`" in text
    table(tmp_path, "yes.csv", ["a", "b", "y"], [(k, 1, "pq"[k > 20]) for _, k, _ in rows[:40]])
    text = here("describe", "yes.csv", "--target", "y", cwd=tmp_path).stdout
    assert "yes: a hyperplane separates the classes (all 40 rows)" in text


def test_memory_does_not_grow_with_rows(folder, monkeypatch):
    """Values that are too many are forgotten, and the sample stays small."""
    for name in ("MOST_VALUES", "MOST_LABELS", "MOST_TEXTS"):
        monkeypatch.setattr(columns, name, 2)
    monkeypatch.setattr(columns, "SAMPLE_ROWS", 20)
    monkeypatch.setattr(tables, "rows_at_once", lambda *_: 64)
    description = Description([str(folder / "t.csv")], target="y")
    found = description.read()
    assert description.source.sample.num_rows <= 20
    assert [c["name"] for c in found["columns"] if c["values"] is not None] == ["zero", "flag", "y"]


@pytest.mark.parametrize(
    ("options", "contains"),
    [
        (["t.csv", "--target", "y"], "--exclude id --text note --missing mean --model t.linsep"),
        (["t.parquet", "--target", "flag"], "--exclude id --text note"),
        (["t.csv", "--target", "height"], "--learner linear"),
        (["t.csv", "--target", "age"], "--learner linear"),
    ],
)
def test_the_next_command_works(folder, tmp_path, options, contains):
    name, *rest = options
    command = described(folder / name, *rest, cwd=tmp_path)["next"]
    assert contains in command
    done = here(*shlex.split(command)[1:], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["t.linsep"]


def test_dates_odd_names_and_labels_that_are_missing(tmp_path):
    rows = [
        (f"2024-01-{k % 28 + 1:02}", k % 5, "inf" if k == 3 else k, k % 5 // 3 if k % 4 else "", "")
        for k in range(40)
    ]
    table(tmp_path, "my data.csv", ["day", "the size", "far", "kind", "none"], rows)
    found = described("my data.csv", "--target", "kind", cwd=tmp_path)
    assert found["left_out"] == ["day", "far", "none"]
    assert found["separable"]["verdict"] == "separable"
    assert found["label"]["missing"] == 10
    assert (
        "linsep fit 'my data.csv' --target kind --learner perceptron --exclude day "
        in found["next"]
    )
    text = here("describe", "my data.csv", cwd=tmp_path).stdout
    assert "next      linsep describe 'my data.csv' --target COLUMN" in text
    assert "infinite  far" in text
    assert re.search(r"\nday +date", text)


@pytest.mark.parametrize("name", ["late.csv", "late.jsonl"])
def test_columns_whose_first_rows_are_empty_are_what_comes_later(tmp_path, name, monkeypatch):
    monkeypatch.setattr(text_file, "BLOCK_BYTES", 64)
    n = 50
    columns = {
        "word": [None] * n + ["p", "q"],
        "never": [None] * (n + 2),
        "y": [0, 1] * (n // 2 + 1),
    }
    write(tmp_path, columns, name.partition(".")[2], "late")
    shown = described(name, cwd=tmp_path)
    found = {column["name"]: (column["type"], column["missing"]) for column in shown["columns"]}
    assert found == {"word": ("text", n), "never": ("int", n + 2), "y": ("int", 0)}
    assert here("convert", name, "late.parquet", cwd=tmp_path).returncode == 0
    assert pq.read_table(tmp_path / "late.parquet")["word"].to_pylist()[-2:] == ["p", "q"]


def test_missing_values_of_columns_that_are_no_features(tmp_path):
    rows = [{"day": "2024-01-01" if k % 3 else None, "x": [k], "y": k % 2} for k in range(30)]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, rows)))
    text = here("describe", "t.jsonl", cwd=tmp_path).stdout
    assert "\nmissing  day 10; not counted in x\n" in text
    table(tmp_path, "t.csv", ["day", "y"], [(row["day"] or "", row["y"]) for row in rows])
    assert described("t.csv", cwd=tmp_path)["columns"][0]["missing"] == 10
    frame = pd.DataFrame(rows)
    frame.to_parquet(tmp_path / "t.parquet")
    found = described("t.parquet", cwd=tmp_path)["columns"]
    assert [column["missing"] for column in found] == frame.isna().sum().tolist()


def test_a_folder_of_texts(tmp_path):
    """Also its conversion, and a grid."""
    for k in range(20):
        kind = tmp_path / "mails" / ("spam" if k % 2 else "ham")
        kind.mkdir(parents=True, exist_ok=True)
        (kind / f"{k}.txt").write_text(f"hello {'prize' if k % 2 else 'friend'} number {k}")
    found = described("mails", cwd=tmp_path)
    assert (found["rows"], found["words"], found["label"]["column"]) == (20, ["text"], "label")
    assert found["next"] == (
        "linsep fit mails --target label --learner arow --text text --model mails.linsep"
    )
    assert here(*shlex.split(found["next"])[1:], cwd=tmp_path).returncode == 0
    assert_refused("predict", "mails.linsep", "mails/spam/1.txt", cwd=tmp_path, code="wrong-format")
    assert here("predict", "mails.linsep", "mails/spam", cwd=tmp_path).stdout == "spam\n" * 10
    assert here("convert", "mails", "mails.parquet", cwd=tmp_path).returncode == 0
    rows = pd.read_parquet(tmp_path / "mails.parquet")
    assert rows["label"].value_counts().to_dict() == {"ham": 10, "spam": 10}
    assert set(rows["text"][rows["label"] == "spam"].str[6:11]) == {"prize"}
    assert here("tune", "mails", "--grid", "keep=last,average", cwd=tmp_path).returncode == 0


def test_a_number_that_is_none(tmp_path):
    table(
        tmp_path,
        "t.csv",
        ["a", "code", "y"],
        [("?" if k == 30 else k, k, k % 2) for k in range(40)],
    )
    found = described("t.csv", "--target", "y", cwd=tmp_path)
    assert found["left_out"] == []
    assert "--null-values '?' --missing mean" in found["next"]
    text = here("describe", "t.csv", cwd=tmp_path).stdout
    assert "\ninvalid  t.csv line 32, column 'a' holds '?'; other values are numbers\n" in text


def test_next_leaves_out_what_fit_refuses(tmp_path):
    """02134 is a code, of CSV and of Parquet; 1,234 is read with an option; texts without a repeat
    are refused.
    """
    rows = [
        (
            f"0213{k % 3}",
            "1,234" if k % 2 else "12",
            "k" if k == 299 else f"k{k % 299}",
            "pq"[k % 2],
        )
        for k in range(300)
    ]
    frame = pd.DataFrame(rows, columns=["code", "sum", "late", "y"])
    frame.to_csv(tmp_path / "t.csv", index=False, quoting=csv.QUOTE_ALL)
    frame.to_parquet(tmp_path / "t.parquet")
    for name in ("t.csv", "t.parquet"):
        found = described(name, "--target", "y", cwd=tmp_path)
        assert found["left_out"] == ["late"]
        assert "--thousands ," in found["next"]
        assert here(*shlex.split(found["next"])[1:], "--force", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("name", "text"), [("t.csv", "x,y\n1,a\n2,a\n"), ("t.svm", "1 1:1\n1 2:1\n")]
)
def test_one_class_is_not_separated_from_others(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    target = ("--target", "y") if name == "t.csv" else ()
    done = here("describe", name, *target, cwd=tmp_path)
    assert ", 1 class: " in done.stdout or "1 class: 1" in done.stdout
    assert "separa" not in done.stdout


def test_next_leaves_out_sentences_without_a_name(tmp_path):
    rows = [(k, "a b c d" if k % 3 else "b c d e", "pq"[k % 2]) for k in range(40)]
    table(tmp_path, "t.csv", ["a", "", "y"], rows)
    found = described("t.csv", "--target", "y", cwd=tmp_path)
    assert (found["left_out"], found["words"]) == ([""], [])
    assert here(*shlex.split(found["next"])[1:], cwd=tmp_path).returncode == 0


def test_next_leaves_rows_and_columns(tmp_path):
    """Where a label is missing rows are dropped, but not for a column that is mostly missing."""
    (tmp_path / "t.csv").write_text("a,b,y\n1,,p\n2,,q\n3,4,\n4,,p\n5,,q\n,1,p\n")
    told = json.loads(here("describe", "t.csv", "--target", "y", "--json", cwd=tmp_path).stdout)
    assert " --exclude b --missing drop " in told["next"]
    done = here(*shlex.split(told["next"])[1:], "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["rows"] == 4
    (tmp_path / "t.csv").write_text("id,b,y\nu1,,p\nu2,,q\nu3,4,\nu4,,p\n")
    told = json.loads(here("describe", "t.csv", "--target", "y", "--json", cwd=tmp_path).stdout)
    assert told["next"] is None


def test_many_texts_are_classes(folder, monkeypatch):
    for module in (columns, describing, facts):
        monkeypatch.setattr(module, "MOST_LABELS", 2)
    found = described("t.csv", "--target", "town", cwd=folder)
    assert (found["label"]["kind"], found["label"]["classes"]) == ("classes", None)
    assert "--learner" not in found["next"]
    assert "label     town, more than 2 classes" in here(
        "describe", "t.csv", "--target", "town", cwd=folder
    ).stdout  # fmt: skip


@pytest.mark.parametrize("lines", ["| a b\n| a c\n", "1 | a\n| b\n"])
def test_rows_without_labels_have_no_next_command(tmp_path, lines):
    (tmp_path / "t.vw").write_text(lines)
    assert described("t.vw", cwd=tmp_path)["next"] is None
    assert "next" not in here("describe", "t.vw", cwd=tmp_path).stdout


def test_texts_that_are_too_many_to_compare_are_not_called_unique(folder, monkeypatch):
    monkeypatch.setattr(tables, "rows_at_once", lambda *_: 64)
    assert [c.get("unique") for c in Description([str(folder / "t.csv")]).read()["columns"]][5]
    monkeypatch.setattr(columns, "MOST_TEXTS", 50)
    (column,) = (
        c for c in Description([str(folder / "t.csv")]).read()["columns"] if c["name"] == "id"
    )
    assert column["unique"] is None


@pytest.mark.parametrize("name", ["t.csv", "t.svm"])
def test_no_batch_leaves_an_empty_part_of_the_sample(tmp_path, name, monkeypatch):
    monkeypatch.setattr(columns, "SAMPLE_ROWS", 4)
    monkeypatch.setattr(tables, "rows_at_once", lambda *_: 2)
    (tmp_path / "t.csv").write_text("y\n" + "1\n" * 64)
    (tmp_path / "t.svm").write_text("1 1:1\n" * 64)
    drawn, add = [], columns.SpreadSample.add

    def watched(self, *rows):
        add(self, *rows)
        drawn.append([len(part.y if name == "t.svm" else part) for part in self.parts])

    monkeypatch.setattr(columns.SpreadSample, "add", watched)
    if name == "t.csv":
        Description([str(tmp_path / name)], target="y").read()
    else:
        vectors.VectorDescription(SvmlightSource([tmp_path / name], chunk_bytes=16)).describe()
    assert len(drawn) > 4
    assert all(rows > 0 for sample in drawn for rows in sample)
    assert sum(drawn[-1]) == 4


def test_standard_input(folder, monkeypatch):
    text = (folder / "t.csv").read_text()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    found = described("-", "--format", "csv", "--target", "y", cwd=folder)
    assert found["rows"] == ROWS
    assert found["next"].startswith("linsep fit - --target y --format csv ")


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["t.csv", "--target", "w"], "unknown-column"),
        (["none.csv"], "no-file"),
        (["empty.csv"], "no-rows"),
        (["head.csv"], "no-rows"),
        (["late.csv"], "not-a-number"),
        (["day.csv", "--target", "day"], "label-type"),
        (["t.csv", "--index-base", 1], "conflict"),
        (["bad.svm"], "not-a-number"),
        (["t.svm", "--target", "y"], "conflict"),
    ],
)
def test_refusals(folder, options, code):
    (folder / "empty.csv").write_text("")
    (folder / "head.csv").write_text("a,b\n")
    (folder / "late.csv").write_text("a,b\n" + "1,2\n" * 300_000 + "x,3\n")
    (folder / "day.csv").write_text("day,b\n2024-01-01,2\n2024-01-02,3\n")
    (folder / "bad.svm").write_text("1 1:1\n1 1:x\n")
    (folder / "t.svm").write_text("1 1:1\n")
    assert_refused("describe", *options, cwd=folder, code=code)


def test_numbers_in_a_spelling_that_is_told_are_numbers(tmp_path):
    lines = ["a;b;y", *(f"{k},5;{k}%;{'uv'[k % 2]}" for k in range(40))]
    (tmp_path / "t.csv").write_text("\n".join(lines), "utf-8")
    how = ("--delimiter", ";", "--target", "y", "--units")
    found = described("t.csv", *how, "--decimal", ",", cwd=tmp_path)
    a, b, _ = found["columns"]
    assert (a["type"], a["min"], a["max"]) == ("number", 0.5, 39.5)
    assert (b["type"], b["mean"]) == ("int", 19.5)
    assert "--delimiter ';' --decimal , --units --learner logistic" in found["next"]
    a, b, _ = described("t.csv", *how, cwd=tmp_path)["columns"]
    assert (a["type"], b["type"]) == ("text", "int")


def test_text_in_another_encoding_is_refused_with_its_line(tmp_path):
    (tmp_path / "t.csv").write_bytes("name,y\nBo,1\nJäger,2\n".encode("latin-1"))
    said = r"line 3, column 'name' .*--encoding latin-1"
    assert_refused("describe", "t.csv", cwd=tmp_path, code="encoding", said=said)


def test_suspicious_labels_are_listed_with_reasons(tmp_path):
    path = tmp_path / "rows.csv"
    rows = ["dose,age,sick", "1,1,no", "2,3,no", "3,1,no", "8,2,yes", "9,3,yes", "10,1,yes"]
    path.write_text("\n".join([*rows, "9.5,2,no", ",2,no"]) + "\n")
    done = here("describe", path, "--target", "sick", "--suspicious", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    shown = done.stdout[done.stdout.index("why the label may be wrong") :].splitlines()
    assert shown[1].split(maxsplit=3) == [
        "7", "no", "1.00", "without it a hyperplane separates the classes",
    ]  # fmt: skip
    listed = json.loads(
        here("describe", path, "--target", "sick", "--suspicious", "--json", cwd=tmp_path).stdout
    )["suspicious"]
    assert (listed[0]["row"], listed[0]["label"], listed[0]["score"]) == (7, "no", 1.0)
    refused = here("describe", path, "--suspicious", cwd=tmp_path)
    assert refused.returncode == 1
    assert "has no class labels" in refused.stderr


def test_no_label_is_suspicious_of_rows_far_apart(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_text("1 1:0\n1 1:0\n2 1:9\n2 1:9\n")
    done = here("describe", path, "--suspicious", cwd=tmp_path)
    assert done.stdout.splitlines()[-1] == "no label is suspicious"


@pytest.mark.parametrize(
    "values",
    [
        [1e300, 3e300, -2e300, 5e299],
        [1e-300, 2e-300, 5e-301, 0.0],
        [1.7e308, -1.7e308, 1e308],
        [5e-324, 1e-322, 0.0],
        [3e200, 3e200],
    ],
    ids=["huge", "tiny", "largest", "smallest", "equal"],
)
def test_deviations_of_huge_and_tiny_numbers_are_exact_ones(values, tmp_path):
    rows = "".join(f"{value!r},{'ab'[i % 2]}\n" for i, value in enumerate(values))
    (tmp_path / "far.csv").write_text("x,y\n" + rows, "utf-8")
    column = described("far.csv", "--target", "y", cwd=tmp_path)["columns"][0]
    exact = [Fraction(value) for value in values]
    mean = sum(exact) / len(exact)
    variance = sum((value - mean) ** 2 for value in exact) / len(exact)
    root = Fraction(isqrt(int(variance * Fraction(4) ** 1300)), 2**1300)
    assert column["mean"] == pytest.approx(float(mean), rel=1e-12, abs=5e-324)
    assert column["std"] == pytest.approx(float(root), rel=1e-12, abs=5e-324)


def test_numbers_of_very_different_size_have_a_deviation(tmp_path, monkeypatch):
    """The first rows do not show the size of later ones."""
    text = "x,y\n1e-200,a\n" + "2e-200,b\n" * 2000 + "1e300,a\n"
    (tmp_path / "far.csv").write_text(text, "utf-8")
    for rows in (8192, 64):
        monkeypatch.setattr(tables, "rows_at_once", lambda *_, rows=rows: rows)
        column = described("far.csv", "--target", "y", cwd=tmp_path)["columns"][0]
        assert column["std"] == pytest.approx(1e300 * 2001**0.5 / 2002, rel=1e-12)
        assert (column["max"], column["mean"]) == (1e300, pytest.approx(1e300 / 2002))
