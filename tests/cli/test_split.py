"""linsep split: whole lines, exact shares, whole groups, the future held out."""

import bz2
import csv
import io
import json
import shlex
from fractions import Fraction
from itertools import islice

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

import linsep
from command_line import assert_refused, here, table
from linsep.rewriting import splitting
from linsep.rewriting.splitting import Lines, drawn_parts, draws
from linsep.sources.tables.reading_options import ReadingOptions

ROWS = 500


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "n": range(ROWS), "patient": rng.integers(0, 60, ROWS),
            "day": pd.date_range("2025-01-01", periods=ROWS).strftime("%Y-%m-%d"),
            "note": rng.choice(["plain", 'a "quoted"\nbreak, and comma', "", "ü"], ROWS),
            "y": rng.choice(["p", "q", "rare"], ROWS, p=[0.6, 0.35, 0.05]),
        }
    ).sample(frac=1, random_state=0)  # fmt: skip


@pytest.fixture
def folder(frame, tmp_path):
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet", index=False)
    frame.to_json(tmp_path / "t.jsonl", orient="records", lines=True, force_ascii=False)
    with pa.ipc.new_file(
        tmp_path / "t.arrow", (rows := pa.Table.from_pandas(frame, preserve_index=False)).schema
    ) as file:
        file.write_table(rows)
    lines = [f"{k % 3} 1:{k} # row {k}\n" for k in range(ROWS)]
    (tmp_path / "t.svm").write_text("# made up\n\n" + "".join(lines))
    (tmp_path / "t.vw").write_text("".join(f"{k % 2} |a b:{k}\n" for k in range(ROWS)))
    return tmp_path


def test_a_missing_group_is_refused_as_fit_does(tmp_path):
    for groups, cell, refused in (
        ("123456789", "NA", 1), ("123456789", "", 1), ("pqrstuvwz", "NA", 0), ("pqrstuvwz", "?", 1)
    ):  # fmt: skip
        rows = [(k, group, k % 2) for k, group in enumerate([*groups * 3, cell])]
        table(tmp_path, "t.csv", ["x", "g", "y"], rows)
        how = ("t.csv", "--group", "g", "--null-values", "?")
        split = here("split", *how, "--test", "0.3", "--force", cwd=tmp_path)
        fit = here("fit", *how, "--target", "y", "--early-stopping", "--max-iter", "2",
                   "--validation-fraction", "0.5", cwd=tmp_path)  # fmt: skip
        assert (split.returncode, fit.returncode) == (refused, refused), (split, fit)
        assert not refused or "t.csv row 28" in split.stderr


def split(*arguments, cwd):
    done = here("split", *arguments, "--json", "--force", cwd=cwd)
    assert done.returncode == 0, done.stderr
    return {part["part"]: cwd / part["file"] for part in json.loads(done.stdout)["files"]}


def read(path):
    readers = {".csv": pd.read_csv, ".parquet": pd.read_parquet, ".arrow": pd.read_feather}
    if path.suffix == ".jsonl":
        return pd.DataFrame(map(json.loads, path.read_text().splitlines()))
    return readers[path.suffix](
        path, **({"keep_default_na": False} if path.suffix == ".csv" else {})
    )


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.jsonl", "t.arrow"])
def test_shares_of_classes_are_exact_in_every_format(folder, frame, name):
    parts = split(name, "--test", 0.2, "--validation", 0.1, "--target", "y", cwd=folder)
    found = {part: read(path) for part, path in parts.items()}
    together = pd.concat(found.values()).sort_values("n")
    pd.testing.assert_frame_equal(
        together.reset_index(drop=True), frame.sort_values("n").reset_index(drop=True),
        check_dtype=False,
    )  # fmt: skip
    for part, share in (("test", 0.2), ("validation", 0.1), ("train", 0.7)):
        for label, rows in frame["y"].value_counts().items():
            assert abs((found[part]["y"] == label).sum() - share * rows) < 2
    places = {n: k for k, n in enumerate(frame["n"])}
    assert all(np.all(np.diff(rows["n"].map(places)) > 0) for rows in found.values())
    ours = set(found["test"]["n"])
    again = split("t.csv", "--test", 0.2, "--target", "y", cwd=folder)["test"]
    assert ours == set(read(again)["n"])
    other = split("t.csv", "--test", 0.2, "--target", "y", "--random-state", 1, cwd=folder)
    assert ours != set(read(other["test"])["n"])


def test_groups_stay_whole(folder, frame):
    parts = split("t.parquet", "--test", 0.25, "--group", "patient", cwd=folder)
    groups = {part: set(read(path)["patient"]) for part, path in parts.items()}
    assert not groups["test"] & groups["train"]
    assert len(groups["test"]) == frame["patient"].nunique() // 4


def test_the_latest_rows_are_held_out(folder, tmp_path):
    parts = split("t.csv", "--test", 0.2, "--validation", 0.1, "--time", "day", cwd=folder)
    days = {part: read(path)["day"] for part, path in parts.items()}
    assert days["train"].max() < days["validation"].min()
    assert days["validation"].max() < days["test"].min()
    assert [days[part].size for part in ("train", "validation", "test")] == [350, 50, 100]
    table(tmp_path, "r.csv", ["t", "y"], [(k // 40, k) for k in range(400)])
    parts = split("r.csv", "--test", 0.23, "--time", "t", cwd=tmp_path)
    assert read(parts["test"])["t"].unique().tolist() == [8, 9]  # rows of one time stay together


def test_in_order(folder, frame):
    parts = split("t.csv", "--test", 0.2, "--in-order", cwd=folder)
    assert read(parts["test"])["n"].tolist() == frame["n"].tolist()[-100:]


def test_lines_are_copied_byte_by_byte(tmp_path):
    """With their ends, quotes, comments, bytes that are not UTF-8, and a byte-order mark."""
    lines = [b'1,"a\r\nb",x\r\n', b"2, c ,\xff\r\n", b'3,"d""",\r\n', b"\r\n", b"4,e,f"] * 6
    (tmp_path / "t.csv").write_bytes(
        b"\xef\xbb\xbf\xefk,b,c\r\n"[:3] + b"k,b,c\r\n" + b"\r\n".join(lines)
    )
    parts = split("t.csv", "--test", 0.3, cwd=tmp_path)
    texts = [path.read_bytes() for path in parts.values()]
    rows = [text.removeprefix(b"\xef\xbb\xbfk,b,c\r\n") for text in texts]
    assert all(len(text) > len(own) for text, own in zip(texts, rows, strict=True))
    for line in set(lines) - {b"\r\n"}:
        assert sum(text.count(line.rstrip()) for text in rows) == lines.count(line)
    assert rows[1].count(b"\r\n\r\n") == 0


def test_other_text_formats(folder):
    for name in ("t.svm", "t.vw"):
        parts = split(name, "--test", 0.1, cwd=folder)
        train, test = (path.read_text().splitlines() for path in parts.values())
        assert sorted(train + test) == sorted((folder / name).read_text().splitlines())
        labels = [line[0] for line in test]
        assert abs(labels.count("0") - labels.count("1")) <= 1
    assert (folder / "t-train.svm").read_text().startswith("# made up\n\n0 1:0 #")
    (folder / "zero.svm").write_text("0 0:1\n" + "1 1:2\n" * 40)
    done = here("split", "zero.svm", "--test", 0.1, "--json", cwd=folder)
    assert "--index-base 0" in json.loads(done.stdout)["next"]
    (folder / "z.vw.bz2").write_bytes(bz2.compress((folder / "t.vw").read_bytes()))
    parts = split("z.vw.bz2", "--test", 0.1, cwd=folder)
    assert parts["test"].name == "z-test.vw.bz2"
    assert bz2.decompress(parts["test"].read_bytes()) == (folder / "t-test.vw").read_bytes()


@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 5))
def test_one_row_of_each_window_is_drawn(top, bottom, seed):
    share = Fraction(min(top, bottom), max(top, bottom))
    drawn = np.fromiter(islice(draws(share, seed, b"x"), 200), int)
    for rows in range(1, 201):
        assert abs(drawn[:rows].sum() - share * rows) <= 1
    if share < 1:
        each = drawn_parts([share, (1 - share) / 2], seed, b"")
        parts = np.bincount(list(islice(each, 400)), minlength=3)
        assert abs(parts[1] - 400 * share) <= 1
        assert abs(parts[2] - 200 * (1 - share)) <= 2


@given(st.lists(st.lists(st.text('a,"\n\r ', max_size=5), min_size=2, max_size=2), max_size=9))
def test_records_are_those_of_the_csv_module(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("records") / "t.csv"
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows([["x", "y"], *rows])
    path.write_text(text.getvalue(), newline="")
    found = Lines(path, "csv", ReadingOptions())
    kept = list(found.pieces())
    assert (found.header + b"".join(x for x, _ in kept)).decode() == text.getvalue()
    assert sum(row for _, row in kept) == len(rows)


#: what is refused, with the code of the error, None for wrong use
REFUSED = [
    ("t.csv", None), ("t.csv --test 2", None), ("t.csv --test 0.0", None),
    ("t.csv --test 0.6 --validation 0.4", None), ("t.csv --test 0.2 --group n --in-order", None),
    ("t.csv --test 0.2 --target z", "unknown-column"),
    ("t.parquet --test 0.2 --group z", "unknown-column"),
    ("t.csv --test 0.2 --time dya", "unknown-column"),
    ("t.svm --test 0.2 --group z", "unsupported"), ("t.csv t.svm --test 0.2", "mixed-formats"),
    ("t.csv --test 0.2 --time y", "bad-value"),
    ("t.csv --test 0.2 --target note", "missing-value"),
    ("one.csv --test 0.2 --group y", "too-few-rows"),
    ("mixed.csv --test 0.2 --time x", "bad-value"),
    ("one.csv --test 0.2 --time x", "too-few-rows"), ("one.csv --test 0.01", "too-few-rows"),
    ("empty.csv --test 0.2", "no-rows"), ("head.csv --test 0.2", "no-rows"),
    ("head.csv --test 0.2 --in-order", "no-rows"), ("odd.csv --test 0.2", "field-count"),
    ("t.csv odd.csv --test 0.2", "mixed-formats"),
    ("bad.jsonl --test 0.2 --target y", "bad-line"),
    ("twice.jsonl --test 0.2 --target y", "duplicate-name"), ("x.csv --test 0.2", "file-exists"),
    ("x-train.csv x.csv --test 0.2 --force", "too-few-rows"), ("mails --test 0.2", "unsupported"),
    ("x.csv x-train.csv --test 0.2 --force", "conflict"),
    ("t.csv --test 0.2 --output none", "no-file"),
]  # fmt: skip


def test_refusals(folder):
    texts = {
        "one.csv": "x,y\n1,a\n1,a\n1,a\n", "empty.csv": "", "head.csv": "x,y\n",
        "odd.csv": "x,y\n1,2\n1,2,3\n", "bad.jsonl": '{"y": 1}\n{"y"\n', "x.csv": "x,y\n1,2\n",
        "twice.jsonl": '{"x": 1, "y": 0}\n{"x": 2, "y": 1, "x": 3}\n', "x-test.csv": "",
        "x-train.csv": "x,y\n",
        "mixed.csv": "x,y\n2025-01-01,1\n2024-01-01,2\n2025,3\n",
    }  # fmt: skip
    (folder / "mails" / "ham").mkdir(parents=True)
    (folder / "mails" / "ham" / "1.txt").write_text("hello")
    for name, text in texts.items():
        (folder / name).write_text(text)
    for words, code in REFUSED:
        assert_refused("split", *words.split(), cwd=folder, code=code, exit_code=1 if code else 2)
    assert (folder / "x-test.csv").read_text() == ""


def test_one_number_in_two_spellings_is_one_group_and_one_class(tmp_path):
    """As pandas writes them: whole numbers become floats where a value is missing."""
    table(tmp_path, "a.csv", ["who", "y"], [(k // 2, k % 2) for k in range(40)])
    table(tmp_path, "b.csv", ["who", "y"], [(f" {k // 2}.0", f"+{k % 2}.00") for k in range(40)])
    parts = split("a.csv", "b.csv", "--test", 0.25, "--group", "who", cwd=tmp_path)
    found = {part: read(path)["who"].astype(float) for part, path in parts.items()}
    assert not set(found["test"]) & set(found["train"])
    assert [found[part].size for part in ("train", "test")] == [60, 20]
    parts = split("a.csv", "b.csv", "--test", 0.025, "--target", "y", cwd=tmp_path)
    assert read(parts["test"])["y"].astype(float).tolist() in ([0, 1], [1, 0])


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--target", "y", "--group", "who"], "linsep fit t-train.dat --target y --format csv "
         "--delimiter ';' --test t-test.dat --learner logistic --date day --exclude who --missing "
         "mean --model t-train.linsep"),
        (["--target", "n", "--in-order"], "linsep fit t-train.dat --target n --format csv "
         "--delimiter ';' --test t-test.dat --learner linear --date day --unlabeled drop --model "
         "t-train.linsep"),
    ],
)  # fmt: skip
def test_the_next_command_works(tmp_path, options, expected):
    """It reads the file as split did, and leaves out what fit would refuse, and groups."""
    rows = [
        f"2025-01-{k % 28 + 1:02};{k % 7};{'' if k % 9 == 4 else k * 1.5};{'pq'[k % 2]}"
        for k in range(90)
    ]
    (tmp_path / "t.dat").write_text("\n".join(["day;who;n;y", *rows]))
    how = "--format", "csv", "--delimiter", ";", "--json"
    done = here("split", "t.dat", "--test", 0.2, *options, *how, cwd=tmp_path)
    command = json.loads(done.stdout)["next"]
    assert command == expected
    done = here(*shlex.split(command)[1:], cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_split_describe_and_python_recommend_one_fit(tmp_path):
    X = np.random.default_rng(0).normal(size=(64, 6))  # of the training part, too few rows
    frame = pd.DataFrame(X, columns=[*"abcdef"]).assign(y=["p", "q"] * 32)
    frame.to_csv(tmp_path / "t.csv", index=False)
    for words in (["split", "t.csv", "--test", 0.25], ["describe", "t.csv"]):
        done = here(*words, "--target", "y", "--json", cwd=tmp_path)
        learner = json.loads(done.stdout)["next"].partition("--learner ")[2]
        assert learner.partition(" --model")[0] == "logistic"
    assert linsep.describe(frame, target="y").next == (
        "linsep.fit(frame, target='y', learner='logistic')"
    )


def test_ctrl_c_leaves_nothing(folder, monkeypatch):
    monkeypatch.setattr(splitting, "draws", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    before = sorted(folder.iterdir())
    assert here("split", "t.csv", "--test", 0.2, cwd=folder).returncode == 130
    assert sorted(folder.iterdir()) == before
