"""What ``describe`` says of labels, of blanks among numbers, and of rows that are decided."""

import json
import random
import re
import shlex

import pytest

from command_line import assert_refused, here, table
from linsep import model_files

pytestmark = pytest.mark.uncompiled


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("describe")
    draw = random.Random(3)
    rows = [
        [
            round(draw.gauss(0, 1), 3), draw.choice("abc") if k % 100 else "rare", f"n{k}",
            f"n{k // 3}", k % 95, k % 20, k % 21,
            "no" if k % 100 == 0 else draw.choice(["no", "yes"]),
        ]
        for k in range(700)
    ]  # fmt: skip
    header = ["x", "town", "id", "family", "age", "twenty", "more", "y"]
    table(path, "t.csv", header, rows)
    table(path, "level.csv", [*header[:3], "y"], [[*row[:3], row[-1]] for row in rows])
    for name, blank in BLANKS.items():
        marked = [[blank if k % 53 == 5 else row[0], *row[1:]] for k, row in enumerate(rows)]
        table(path, name, header, marked)
    table(path, "far.csv", ["x", "z", "y"], [[k % 9, k % 7, "yes" if k % 9 > 7 else "no"]
                                             for k in range(90)])  # fmt: skip
    return path


BLANKS = {"one.csv": " ", "three.csv": "   ", "sixteen.csv": " " * 16}


@pytest.mark.parametrize(
    ("target", "kind", "classes"),
    [("age", "numbers", 0), ("twenty", "classes", 20), ("more", "numbers", 0),
     ("y", "classes", 2), ("town", "classes", 4), ("family", "classes", 234), ("x", "numbers", 0)],
)  # fmt: skip
def test_labels_are_classes_if_they_are_few(folder, target, kind, classes):
    found = json.loads(here("describe", "t.csv", "--target", target, "--json", cwd=folder).stdout)
    assert (found["label"]["kind"], len(found["label"]["classes"])) == (kind, classes)
    assert ("--learner linear" in found["next"]) == (kind == "numbers")


def test_a_class_a_row_is_no_label(folder):
    assert_refused("describe", "t.csv", "--target", "id", cwd=folder, code="class-count")


COMMANDS = ["fit", "separate", "bounds", "describe", "convert", "tune", "predict", "score", "trace"]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", BLANKS)
def test_blanks_among_numbers_are_told_with_what_reads_them(folder, command, name):
    words = [command, name]
    if command in ("predict", "score"):
        here("fit", "t.csv", "--target", "y", "--exclude", "id", "--model", "m", cwd=folder)
        words = [command, "m", name]
    else:
        words += ["out.rows"] if command == "convert" else []
        words += ["--target", "y"]
    words += ["--grid", "keep=last,average"] if command == "tune" else []
    done = here(*words, cwd=folder)
    said = done.stdout if command == "describe" else done.stderr
    assert "--null-values ''" in said
    assert done.returncode == (command != "describe")


@pytest.mark.compiled
@pytest.mark.parametrize("name", BLANKS)
def test_the_command_to_type_next_reads_blanks(folder, name):
    found = json.loads(here("describe", name, "--target", "y", "--json", cwd=folder).stdout)
    words = found["next"].split()[1:]
    assert "--missing" in words
    words = ["" if word == "''" else word for word in words]
    done = here(*words, "--force", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["values_filled"] == {"x": 14}


@pytest.mark.parametrize(
    ("file", "said"),
    [("level.csv", "quasi-separable: town=rare decides 7 rows, and no hyperplane separates the "
      "other 693 (proved on 700 rows, without id)"),
     ("far.csv", "yes: a hyperplane separates")],
)  # fmt: skip
def test_quasi_separable_says_which_rows(folder, file, said):
    shown = here("describe", file, "--target", "y", cwd=folder).stdout
    assert said in shown


def test_numbers_that_decide_rows_are_named(folder):
    """All ills are at x = 3, where some are healthy; below all are healthy."""
    rows = [[k % 4, k % 7 // 4, "ill" if k % 8 == 3 else "well"] for k in range(112)]
    table(folder, "quasi.csv", ["x", "z", "y"], rows)
    shown = here("describe", "quasi.csv", "--target", "y", cwd=folder).stdout
    assert "quasi-separable: x decides 84 rows, and no hyperplane separates the other 28" in shown
    assert "learner    logistic: no hyperplane separates all rows, and the penalty" in shown
    done = here("separate", "quasi.csv", "--target", "y", cwd=folder).stdout
    assert "28 of 112 rows must lie on the boundary" in done


def test_numbers_that_decide_rows_have_the_numbers_of_the_file(tmp_path):
    """Feature 7 of svmlight text is the fifth that occurs."""
    rows = [" ".join(f"{j + 1}:1" for j in range(4) if k >> j & 1) for k in range(16)]
    lines = [f"{label} {row}" for row in rows for label in (0, 1)]
    lines += [f"1 {row} 7:1" for row in rows[:5]]
    (tmp_path / "rows.svm").write_text("\n".join(lines) + "\n")
    shown = here("describe", "rows.svm", cwd=tmp_path).stdout
    alone = here("separate", "rows.svm", cwd=tmp_path).stdout
    assert "x7" in re.search("^separable .*$", shown, re.M)[0]
    assert "x5" not in shown
    assert re.search("^alone +x7", alone, re.M)


def test_numbers_of_different_units_are_left_out(tmp_path):
    (tmp_path / "prices.csv").write_text("x,v,y\n1,10%,p\n2,20%,q\n3,$5,p\n4,(3),q\n")
    shown = here("describe", "prices.csv", "--target", "y", cwd=tmp_path).stdout
    command = shlex.split(re.search("^next +linsep (.*)$", shown, re.M)[1])
    assert command[command.index("--exclude") + 1] == "v"
    assert here(*command, cwd=tmp_path).returncode == 0
    done = here("fit", "prices.csv", "--target", "y", cwd=tmp_path)
    assert "column 'v' holds numbers with different units (such as '10%' and '$5')" in done.stderr


REFERENCE = {
    (): "coding +an indicator for every value of town;.* like --reference-level first",
    ("--reference-level", "first"): "reference +town=a; other values are compared",
    ("--reference-level", "town=rare"): "reference +town=rare; other values",
    ("--reference-level", "none"): "coding +an indicator for every value of town",
}


@pytest.mark.parametrize("words", REFERENCE)
def test_separate_says_its_coding_and_takes_that_of_fit(folder, words):
    data = ["t.csv", "--target", "y", "--include", "town", "--include", "x", *words]
    proof = ["--proof", "proof.json", "--force"]
    done = here("separate", *data, *proof, cwd=folder)
    assert re.search(REFERENCE[words], done.stdout), done.stdout
    typed = done.stdout.splitlines()[-1].removesuffix("   checks it").split()[1:]
    assert here(*typed, cwd=folder).returncode == 0
    here("fit", *data, "--learner", "logistic", "--l2", "1", "--model", "l", "--force", cwd=folder)
    coefficients = set(model_files.load(folder / "l").recipe_["text"]["town"])
    levels = len(coefficients) if words else 4  # a regression leaves one out without being told
    assert f" {1 + levels} features" in done.stdout


@pytest.mark.parametrize("levels", [["town"], ["first", "town=a"], ["none", "town=a"]])
def test_levels_that_name_nothing_are_refused(folder, levels):
    words = [word for level in levels for word in ("--reference-level", level)]
    for command in ("separate", "fit"):
        assert_refused(command, "t.csv", "--target", "y", *words, cwd=folder, exit_code=2,
                       said="once per column, or 'first' or 'none'")  # fmt: skip
