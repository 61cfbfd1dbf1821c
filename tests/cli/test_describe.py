"""linsep describe: contents, advice, and the next command; the same in Python."""

import csv
import io
import json
import random
import shlex
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import linsep
from command_line import assert_refused, here, table
from linsep.describing import tables
from linsep.errors import DataError
from refusals import refused

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
    return folder


def described(*arguments, cwd):
    done = here("describe", *arguments, "--json", cwd=cwd)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_tables_are_what_pandas_says(folder, frame, name, monkeypatch):
    monkeypatch.setattr(tables.tables, "rows_at_once", lambda *_: 64)
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
    assert [column["name"] for column in found["columns"] if column["constant"]] == ["zero"]
    assert (found["left_out"], found["words"]) == (["id"], ["note"])
    counts = {one["label"]: one["rows"] for one in found["label"]["classes"]}
    assert counts == frame["y"].value_counts().to_dict()
    assert found["separable"]["verdict"] == "overlapping"
    assert found["separable"]["without"] == ["id", "note"]


@pytest.mark.parametrize("kind", ["svm", "vw"])
def test_vectors_are_what_numpy_says(tmp_path, kind):
    rng = np.random.default_rng(0)
    X = rng.integers(1, 4, (200, 30)) * (rng.random((200, 30)) < 0.2).astype(float)
    names = [[f"{j + 1}:{v:g}" for j, v in enumerate(row) if v] for row in X.tolist()]
    between = " " if kind == "svm" else " 2.5 | "
    lines = [f"{k % 3}{between}{' '.join(row)}\n" for k, row in enumerate(names)]
    (tmp_path / f"t.{kind}").write_text("".join(lines))
    found = described(f"t.{kind}", cwd=tmp_path)
    assert (found["rows"], found["stored"]) == (200, np.count_nonzero(X) / 200)
    assert (found["min"], found["max"]) == (1.0, 3.0)
    assert (found["separable"]["features"], found["separable"]["verdict"]) == (30, "overlapping")
    assert [one["rows"] for one in found["label"]["classes"]] == [67, 67, 66]
    assert found["next"] == f"linsep fit t.{kind} --learner logistic --l2 1 --model t.linsep"


def test_a_sample_proves_that_classes_overlap_but_not_that_they_do_not(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "SAMPLE_ROWS", 50)
    for a, y, verdict, of_sample in (
        (lambda k: k % 10 // 2, lambda k: k % 2, None, None),  # every eighth row has one class
        (lambda k: k // 3 % 5, lambda k: k // 8 % 2, "overlapping", "overlapping"),
        (lambda k: 2 * k, lambda k: k > 200, None, "separable"),
    ):
        table(tmp_path, "t.csv", ["a", "b", "y"], [(a(k), 1, "pq"[y(k)]) for k in range(400)])
        found = described("t.csv", "--target", "y", cwd=tmp_path)["separable"]
        assert found["verdict"] == verdict
        assert of_sample is None or found.get("of_sample", verdict) == of_sample
    table(tmp_path, "t.csv", ["a", "b", "y"], [(k, 1, "pq"[k > 20]) for k in range(40)])
    assert described("t.csv", "--target", "y", cwd=tmp_path)["separable"]["verdict"] == "separable"


@pytest.mark.parametrize(
    ("options", "contains"),
    [
        (["t.csv", "--target", "y"], "--exclude id --text note --missing mean --model t.linsep"),
        (["t.parquet", "--target", "flag"], "--exclude id --text note"),
        (["t.csv", "--target", "height"], "--learner linear"),
    ],
)
def test_the_next_command_works(folder, tmp_path, options, contains):
    name, *rest = options
    command = described(folder / name, *rest, cwd=tmp_path)["next"]
    assert contains in command
    done = here(*shlex.split(command)[1:], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["t.linsep"]


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


def test_one_class_is_not_separated_from_others(tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n1,a\n2,a\n")
    (tmp_path / "t.svm").write_text("1 1:1\n1 2:1\n")
    for words in (("t.csv", "--target", "y"), ("t.svm",)):
        found = described(*words, cwd=tmp_path)
        assert len(found["label"]["classes"]) == 1
        assert found["separable"] is None


def test_next_leaves_out_rows_without_a_label_alone(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,y\n1,,p\n2,,q\n3,4,\n4,,p\n5,,q\n,1,p\n")
    told = json.loads(here("describe", "t.csv", "--target", "y", "--json", cwd=tmp_path).stdout)
    assert " --unlabeled drop --missing mean " in told["next"]
    done = here(*shlex.split(told["next"])[1:], "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["rows"] == 5


def test_rows_without_labels_have_no_next_command(tmp_path):
    for lines in ("| a b\n| a c\n", "1 | a\n| b\n"):
        (tmp_path / "t.vw").write_text(lines)
        assert described("t.vw", cwd=tmp_path)["next"] is None


def test_standard_input(folder, monkeypatch):
    text = (folder / "t.csv").read_text()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    found = described("-", "--format", "csv", "--target", "y", cwd=folder)
    assert found["rows"] == ROWS
    assert found["next"].startswith("linsep fit - --target y --format csv ")


def test_refusals(folder):
    for name, text in {
        "empty.csv": "", "head.csv": "a,b\n", "late.csv": "a,b\n" + "1,2\n" * 300_000 + "x,3\n",
        "day.csv": "day,b\n2024-01-01,2\n2024-01-02,3\n", "bad.svm": "1 1:1\n1 1:x\n",
        "t.svm": "1 1:1\n", "twice.csv": "p,q\n" + "a,b\n" * 20_000 + "p,q\n",
    }.items():  # fmt: skip
        (folder / name).write_text(text)
    for options, code in (
        (["t.csv", "--target", "w"], "unknown-column"), (["none.csv"], "no-file"),
        (["empty.csv"], "no-rows"), (["head.csv"], "no-rows"), (["late.csv"], "not-a-number"),
        (["day.csv", "--target", "day"], "label-type"), (["bad.svm"], "not-a-number"),
        (["t.csv", "--index-base", 1], "conflict"), (["t.svm", "--target", "y"], "conflict"),
        (["twice.csv"], "bad-line"),
    ):  # fmt: skip
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


@pytest.fixture(scope="module")
def advised(tmp_path_factory):
    path = tmp_path_factory.mktemp("describe")
    draw = random.Random(3)
    rows = [
        [round(draw.gauss(0, 1), 3), f"n{k}", f"n{k // 3}", k % 20, k % 21,
         "no" if k % 100 == 0 else draw.choice(["no", "yes"])]
        for k in range(700)
    ]  # fmt: skip
    header = ["x", "id", "family", "twenty", "more", "y"]
    table(path, "t.csv", header, rows)
    marked = [["   " if k % 53 == 5 else row[0], *row[1:]] for k, row in enumerate(rows)]
    table(path, "blank.csv", header, marked)
    return path


@pytest.mark.parametrize(
    ("target", "kind", "classes"),
    [("twenty", "classes", 20), ("more", "numbers", 0), ("y", "classes", 2),
     ("family", "classes", 234), ("x", "numbers", 0)],
)  # fmt: skip
def test_labels_are_classes_if_they_are_few(advised, target, kind, classes):
    found = described("t.csv", "--target", target, cwd=advised)
    assert (found["label"]["kind"], len(found["label"]["classes"])) == (kind, classes)
    assert ("--learner linear" in found["next"]) == (kind == "numbers")


def test_the_command_to_type_next_reads_blanks(advised):
    said = "--null-values ''"  # what reads them
    assert_refused("fit", "blank.csv", "--target", "y", cwd=advised, said=said)
    found = described("blank.csv", "--target", "y", cwd=advised)
    assert said in found["next"]
    words = shlex.split(found["next"])[1:]
    done = here(*words, "--max-iter", "2", "--force", "--json", cwd=advised)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["values_filled"] == {"x": 14}


def test_what_describe_warns_of(tmp_path):
    """A column that decides alone, though others have gaps; marks of missing values; a rare class;
    a row of units; a code with letters late in the file.
    """
    rng = np.random.default_rng(0)
    x, odd = rng.normal(size=(2, 400)).round(3)
    y = np.where(x + rng.normal(size=400) > 0, "yes", "no")
    frame = pd.DataFrame({"x": x, "odd": odd, "y": y})
    leak = frame.assign(leak=np.where(y == "yes", 5, -5) + x / 9, odd=np.where(x > 0.5, odd, None))
    leak.to_csv(tmp_path / "l.csv", index=False)
    found = described("l.csv", "--target", "y", cwd=tmp_path)
    assert found["separable"]["without"] == ["odd"]
    assert found["separable"]["alone"].startswith("leak: separates the classes")
    town = np.where(odd > 0, "NA", np.where(odd < -1, "a", "b"))
    marked = frame.assign(y=np.where(x > 2, "NA", y), town=town)
    marked.to_csv(tmp_path / "n.csv", index=False)
    shown = here("describe", "n.csv", "--target", "y", cwd=tmp_path).stdout
    assert "--null-values NA" in shown
    assert "--class-weight balanced or --threshold" in shown
    rated = frame.assign(rate=[None if k % 9 == 2 else "None" if k % 7 == 2 else k % 5
                               for k in range(400)])  # fmt: skip
    rated.to_csv(tmp_path / "r.csv", index=False)
    assert "--null-values None" in described("r.csv", "--target", "y", cwd=tmp_path)["next"]
    some, seg = rng.permutation(9**4)[:400], rng.choice(["a", "A ", "b"], 400)
    codes = frame.assign(code=rng.permutation(400) + 10**6, ownID=some, seg=seg, whole=some)
    codes.to_csv(tmp_path / "i.csv", index=False)
    found = described("i.csv", "--target", "y", cwd=tmp_path)
    assert found["left_out"] == found["separable"]["without"] == ["code", "ownID"]
    assert [len(column["alike"]) for column in found["columns"]] == [0, 0, 0, 0, 0, 2, 0]
    (tmp_path / "u.csv").write_text("x,y\n[mm],\n1,a\n2,b\n3,a\n4,b\n")
    (units, _) = described("u.csv", cwd=tmp_path)["columns"]
    assert units["invalid"] == "u.csv row 1, column 'x' holds '[mm]'"
    (tmp_path / "c.csv").write_text("code,y\n" + "12345678,a\n" * 120_000 + "A1,b\n")
    said = "row 120001, column 'code' holds 'A1'.*--categorical code"
    assert_refused("describe", "c.csv", cwd=tmp_path, code="not-a-number", said=said)


def test_columns_are_read_as_fit_can_read_them(tmp_path):
    """Dates, of two kinds; titles that rarely come again; one text, which has no words."""
    rng = np.random.default_rng(0)
    days = pd.date_range("2024-01-01", periods=400)
    frame = pd.DataFrame({
        "x": rng.normal(size=400).round(3), "y": rng.choice(["no", "yes"], 400),
        "day": days.strftime("%Y-%m-%d"), "tag": days.strftime("%d.%m.%Y"),
        "same": [None, *["the same words"] * 399],
        "title": [f"t{k // 2 * 2 if k % 5 else k}" for k in range(400)],
    })  # fmt: skip
    frame.to_csv(tmp_path / "m.csv", index=False)
    found = described("m.csv", "--target", "y", cwd=tmp_path)
    assert (found["left_out"], found["words"]) == (["title"], [])
    assert " --learner logistic --date day --date tag=%d.%m.%Y --exclude title " in found["next"]
    assert here(*shlex.split(found["next"])[1:], cwd=tmp_path).returncode == 0


@pytest.fixture
def people(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    n = 60
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n).astype(float),
            "city": rng.choice(["Bonn", "Aachen", "Köln"], n),
            "member": rng.random(n) < 0.5,
            "id": [f"k{k}" for k in range(n)],
            "y": rng.choice(["no", "yes"], n),
        }
    )
    frame.loc[3, "age"] = np.nan
    frame.to_csv("people.csv", index=False)
    frame.to_parquet("people.parquet")
    (tmp_path / "a.svm").write_text("1 1:2 3:4\n-1 2:1\n1 1:1\n")
    (tmp_path / "odd.csv").write_text("a,b\n1,x\ninf,y\n2,x\n")
    return frame


@pytest.mark.parametrize(
    ("data", "options"),
    [
        (["people.parquet"], {"target": "y"}),
        ("a.svm", {"index_base": 1}),
        ("odd.csv", {"target": "b", "null_values": "?"}),
    ],
)
def test_files(people, data, options):
    words = [word for n, x in options.items() for word in (f"--{n.replace('_', '-')}", x)]
    names = [data] if isinstance(data, str) else data
    printed = here("describe", *names, *words, cwd=".")
    known = json.loads(here("describe", *names, *words, "--json", cwd=".").stdout)
    facts = linsep.describe(data, **options)
    assert f"{facts}\n" == printed.stdout
    assert facts.to_dict() == known
    assert (facts.rows, facts.label) == (known["rows"], known["label"])


@pytest.mark.parametrize("form", ["pandas", "polars", "Arrow"])
@pytest.mark.parametrize("target", ["y", None])
def test_frames(people, form, target):
    frame = {"pandas": people, "polars": pl.from_pandas(people),
             "Arrow": pa.Table.from_pandas(people)}[form]  # fmt: skip
    facts, known = linsep.describe(frame, target=target), linsep.describe("people.parquet")
    assert facts.columns == known.columns
    assert (facts.data, facts.format, facts.rows) == ("the table", "in memory", 60)
    assert "in memory" in str(facts)
    if target is None:
        assert facts.next == "linsep.describe(frame, target=...)"
        return
    learned = "learner='logistic', exclude=['id'], missing='mean'"
    assert facts.next == f"linsep.fit(frame, target='y', {learned})"
    assert eval(facts.next, {"linsep": linsep, "frame": frame}).classes_.tolist() == ["no", "yes"]
    of_file = linsep.describe("people.parquet", target="y")
    assert (facts.label, facts.separable) == (of_file.label, of_file.separable)


def test_refusals_in_python(people):
    for data, options, code in (
        (people, {"target": "lable"}, "unknown-column"), (people, {"delimiter": ";"}, "conflict"),
        ("none.csv", {}, "no-file"),
    ):  # fmt: skip
        with refused(DataError, code):
            linsep.describe(data, **options)
    for data, options in ((3, {}), ("people.csv", {"alpha": 3})):
        with pytest.raises(TypeError):
            linsep.describe(data, **options)
