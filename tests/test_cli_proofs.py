"""``linsep separate`` and ``linsep verify``, run for real."""

import json

import pytest
from sklearn.datasets import load_iris

from command_line import run
from linsep import from_json


@pytest.fixture
def folder(tmp_path):
    iris = load_iris()
    lines = ["a,b,c,d,species"]
    for row, code in zip(iris.data.tolist(), iris.target.tolist(), strict=True):
        lines.append(",".join(map(str, row)) + f",{iris.target_names[code]}")
    (tmp_path / "iris.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "two.csv").write_text("\n".join([lines[0], *lines[51:]]) + "\n")
    (tmp_path / "first.csv").write_text("\n".join(lines[:101]) + "\n")
    (tmp_path / "rows.svm").write_text("1 1:1 2:1\n-1 1:1 2:-1\n-1 1:-1 2:1\n1 1:-1 2:-1\n")
    return tmp_path


def test_overlapping(folder):
    done = run("separate", "two.csv", "--target", "species", "--proof", "p.json", cwd=folder)
    assert done.returncode == 0
    assert done.stdout.startswith("verdict     overlapping: ")
    assert (
        "checked     It holds: overlapping, checked over 100 rows in exact arithmetic."
        in done.stdout
    )
    proof = from_json((folder / "p.json").read_text())
    for row in proof.witness.rows:
        assert f"two.csv line {row + 2} " in done.stdout
    checked = run("verify", "p.json", "two.csv", cwd=folder)
    assert (checked.returncode, checked.stderr) == (0, "")
    assert checked.stdout.startswith("It holds: overlapping")


def test_separable_and_several_classes(folder):
    done = run("separate", "first.csv", "--target", "species", "--margin", "max", cwd=folder)
    assert "separable: a hyperplane has every row on its side" in done.stdout
    assert "margin" in done.stdout
    done = run("separate", "iris.csv", "--target", "species", "--proof", "all.json", cwd=folder)
    assert "setosa against the rest" in done.stdout
    assert "every class above every other  quasi-separable" in done.stdout
    checked = run("verify", "all.json", "iris.csv", cwd=folder)
    assert checked.stdout.startswith("They hold, all 7.")


def test_svmlight_text_names_features_as_the_file_does(folder):
    done = run("separate", "rows.svm", cwd=folder)
    assert "overlapping" in done.stdout
    assert "x1 -1, x2 -1" in done.stdout
    assert "rows.svm line 4" in done.stdout


def test_json(folder):
    done = run("separate", "two.csv", "--target", "species", "--json", cwd=folder)
    told = json.loads(done.stdout)
    assert told["verdicts"][0]["kind"] == "overlapping"
    assert told["checked"].startswith("It holds")
    run("separate", "two.csv", "--target", "species", "--proof", "p.json", cwd=folder)
    checked = run("verify", "p.json", "two.csv", "--json", cwd=folder)
    assert json.loads(checked.stdout)["holds"] is True


@pytest.mark.parametrize(
    ("change", "data", "said"),
    [
        (lambda text: text, "iris.csv", "It does not hold: it is about 100 rows of 4 features"),
        (lambda text: text.replace('"0x', '"0x1', 1), "two.csv", "should be zero is not"),
        (lambda text: text.replace('"0x', '"-0x', 1), "two.csv", "a multiplier is not positive"),
        (lambda text: text[:500], "two.csv", "p.json: This is no proof, or a damaged one"),
        (lambda text: "a,b\n1,2\n", "two.csv", "p.json: This is no proof, or a damaged one"),
        (lambda text: text.replace("proof 1", "proof 9"), "two.csv", "can be read"),
    ],
)
def test_what_does_not_hold_is_exit_code_1_and_one_sentence(folder, change, data, said):
    run("separate", "two.csv", "--target", "species", "--proof", "p.json", cwd=folder)
    path = folder / "p.json"
    path.write_text(change(path.read_text()))
    done = run("verify", "p.json", data, cwd=folder)
    assert done.returncode == 1
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_a_proof_is_not_overwritten_without_force(folder):
    (folder / "p.json").write_text("mine")
    done = run("separate", "two.csv", "--target", "species", "--proof", "p.json", cwd=folder)
    assert done.returncode == 1
    assert (folder / "p.json").read_text() == "mine"
    run("separate", "two.csv", "--target", "species", "--proof", "p.json", "--force", cwd=folder)
    assert from_json((folder / "p.json").read_text()).kind == "overlapping"


def test_one_class_only(folder):
    (folder / "one.svm").write_text("1 1:1\n1 1:2\n")
    done = run("separate", "one.svm", cwd=folder)
    assert done.returncode == 1
    assert "All rows have the label 1: separation needs at least two classes." in done.stderr
