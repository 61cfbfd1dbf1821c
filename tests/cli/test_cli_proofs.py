"""``linsep separate`` and ``linsep verify``."""

import json

import pytest
from sklearn.datasets import load_iris

from command_line import assert_refused, here
from linsep import Perceptron, from_json, open_source, separation
from linsep.certificate.canonical import sha256_of
from linsep.separability import deciding
from linsep.separability.time_limit import TooLarge

pytestmark = pytest.mark.compiled


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


TARGET = ("--target", "species")


def test_overlapping(folder):
    done = here("separate", "two.csv", *TARGET, "--proof", "p.json", cwd=folder)
    assert done.returncode == 0
    assert done.stdout.startswith("verdict     overlapping: ")
    assert (
        "checked     It holds: overlapping, checked over 100 rows in exact arithmetic."
        in done.stdout
    )
    proof = from_json((folder / "p.json").read_text())
    for row in proof.witness.rows:
        assert f"two.csv line {row + 2} " in done.stdout
    assert done.stdout.endswith("linsep verify p.json two.csv --target species   checks it\n")
    checked = here("verify", "p.json", "two.csv", *TARGET, cwd=folder)
    assert (checked.returncode, checked.stderr) == (0, "")
    assert checked.stdout.splitlines() == [
        "It holds: overlapping, checked over 100 rows in exact arithmetic.",
        "",
        "verdict    overlapping: every hyperplane has a row on the wrong side",
        "classes    virginica (positive side) against versicolor",
        "labels     versicolor, virginica",
        "features   4: a, b, c, d",
        "numbers    as stored: a float is a binary fraction, not the decimal it prints as; "
        "decimals in text are rounded to the nearest double",
        "intercept  yes",
        "rows       100",
        f"sha256     {proof.subject.sha256}",
    ]


def test_a_proof_that_is_not_there(folder):
    assert_refused("verify", "nothing.json", "rows.csv", cwd=folder, code="no-file")


def test_separable_and_several_classes(folder):
    done = here("separate", "first.csv", *TARGET, "--margin", "max", cwd=folder)
    assert "separable: a hyperplane has every row on the correct side" in done.stdout
    assert "margin" in done.stdout
    done = here("separate", "iris.csv", *TARGET, "--proof", "all.json", cwd=folder)
    assert "setosa against the rest" in done.stdout
    assert "every class above every other  quasi-separable" in done.stdout
    checked = here("verify", "all.json", "iris.csv", *TARGET, cwd=folder)
    assert checked.stdout.startswith("All 7 verdicts hold, checked over 150 rows in exact ")
    assert checked.stdout.count("verdict ") == 7


def test_the_reader_says_how_data_are_read_not_the_proof(folder):
    """A proof's own recipe could scale all columns to constants, or make the labels a feature."""
    here("separate", "two.csv", *TARGET, "--proof", "p.json", cwd=folder)
    for options, said in (
        (("--target", "a"), 'its data were read with target "species", these with "a"'),
        ((*TARGET, "--exclude", "a"), 'its data were read with exclude [], these with ["a"]'),
        ((*TARGET, "--missing", "zero"), 'with missing "error", these with "zero"'),
        ((), "needs a label column: name it with --target."),
    ):
        done = here("verify", "p.json", "two.csv", *options, cwd=folder)
        assert done.returncode == 1
        assert said in done.stderr
    plain = json.loads((folder / "p.json").read_text())
    for name, value in (
        ("scale", {name: [0.0, 1e300] for name in "abcd"}),
        ("target", "a"),
        ("missing", "zero"),
        ("exclude", ["a"]),
        ("numeric", ["b", "a", "c", "d"]),
        ("text", {"species": {"setosa": 4}}),
        ("more", 1),
    ):
        altered = plain | {"recipe": plain["recipe"] | {name: value}}
        (folder / "altered.json").write_text(json.dumps(altered, indent=1) + "\n")
        done = here("verify", "altered.json", "two.csv", *TARGET, cwd=folder)
        assert done.returncode == 1
        assert f"It does not hold: its data were read with {name} " in done.stderr
    names = plain | {"data": plain["data"] | {"names": list("abcx")}}
    (folder / "names.json").write_text(json.dumps(names, indent=1) + "\n")
    done = here("verify", "names.json", "two.csv", *TARGET, cwd=folder)
    assert "the features have other names" in done.stderr


def test_a_proof_from_arrays_is_checked_on_files(folder):
    iris = load_iris()
    X, y = iris.data[50:], iris.target_names[iris.target[50:]]
    (folder / "p.json").write_text(separation(X, y).to_json())
    assert here("verify", "p.json", "two.csv", *TARGET, cwd=folder).returncode == 0
    assert here("verify", "p.json", "first.csv", *TARGET, cwd=folder).returncode == 1


def test_names_of_svmlight_features_are_compared(folder):
    here("separate", "rows.svm", "--proof", "p.json", cwd=folder)
    assert here("verify", "p.json", "rows.svm", cwd=folder).returncode == 0
    text = (folder / "p.json").read_text()
    (folder / "p.json").write_text(text.replace('"x1"', '"x7"'))
    assert "other names" in here("verify", "p.json", "rows.svm", cwd=folder).stderr


def test_a_cycle_of_a_table_is_checked(folder):
    (folder / "xor.csv").write_text("a,b,is\n1,1,yes\n1,-1,no\n-1,1,no\n-1,-1,yes\n")
    source = open_source(str(folder / "xor.csv"), target="is")
    model = Perceptron(fit_intercept=False, shuffle=False).fit(source)
    (folder / "c.json").write_text(model.cycle_.to_json())
    done = here("verify", "c.json", "xor.csv", "--target", "is", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("It holds: 4 mistakes in 1 pass over 4 rows")
    assert f"labels     no, yes\nsha256     {sha256_of(source)}\n" in done.stdout
    assert "needs a label column" in here("verify", "c.json", "xor.csv", cwd=folder).stderr
    done = here("verify", "c.json", "xor.csv", "--target", "a", cwd=folder)
    assert (done.returncode, done.stdout) == (1, "")


def test_time_for_exact_arithmetic_is_bounded(folder):
    here("separate", "two.csv", *TARGET, "--proof", "p.json", cwd=folder)
    late = here("verify", "p.json", "two.csv", *TARGET, "--time-limit", "0", cwd=folder)
    assert late.returncode == 1
    assert late.stderr.startswith("linsep: error: The check is incomplete: exact arithmetic takes")
    done = here("verify", "p.json", "two.csv", *TARGET, "--time-limit", "0", "--json", cwd=folder)
    assert json.loads(done.stdout)["holds"] is None


def test_svmlight_text_names_features_as_the_file_does(folder):
    done = here("separate", "rows.svm", cwd=folder)
    assert "overlapping" in done.stdout
    assert "x1 -1, x2 -1" in done.stdout
    assert "rows.svm line 4" in done.stdout


def test_json(folder):
    done = here("separate", "two.csv", *TARGET, "--json", cwd=folder)
    told = json.loads(done.stdout)
    assert told["verdicts"][0]["kind"] == "overlapping"
    assert told["checked"].startswith("It holds")
    here("separate", "two.csv", *TARGET, "--proof", "p.json", cwd=folder)
    checked = here("verify", "p.json", "two.csv", *TARGET, "--json", cwd=folder)
    said = json.loads(checked.stdout)
    assert said["holds"] is True
    assert ["rows", "100"] in said["claim"]


@pytest.mark.parametrize(
    ("change", "data", "said"),
    [
        (lambda text: text, "iris.csv", "It does not hold: it is about 100 rows of 4 features"),
        (lambda text: text.replace('"0x', '"0x1', 1), "two.csv", "should be zero is not"),
        (lambda text: text.replace('"0x', '"-0x', 1), "two.csv", "(a multiplier is not positive)"),
        (lambda text: text[:500], "two.csv", "p.json: This is not a proof, or it was altered"),
        (lambda text: "a,b\n1,2\n", "two.csv", "p.json: This is not a proof, or it was altered"),
        (lambda text: text.replace("proof 3", "proof 9"), "two.csv", "is supported"),
        (lambda text: text.replace("proof 3", "proof 2"), "two.csv", "earlier format"),
    ],
)
def test_what_does_not_hold_is_exit_code_1_and_one_sentence(folder, change, data, said):
    here("separate", "two.csv", *TARGET, "--proof", "p.json", cwd=folder)
    path = folder / "p.json"
    path.write_text(change(path.read_text()))
    done = here("verify", "p.json", data, *TARGET, cwd=folder)
    assert done.returncode == 1
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_a_proof_is_not_overwritten_without_force(folder):
    (folder / "p.json").write_text("mine")
    done = here("separate", "two.csv", *TARGET, "--proof", "p.json", cwd=folder)
    assert done.returncode == 1
    assert (folder / "p.json").read_text() == "mine"
    here("separate", "two.csv", *TARGET, "--proof", "p.json", "--force", cwd=folder)
    assert from_json((folder / "p.json").read_text()).kind == "overlapping"


def test_undecided_is_exit_code_3_and_says_what_may_decide(folder):
    told = ("separate", "two.csv", "--target", "species", "--time-limit", "1e-9")
    done = here(*told, "--proof", "p.json", cwd=folder)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("linsep: undecided: the time limit of 1e-09 s ended")
    assert "a longer time limit" in done.stderr
    assert "--time-limit" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (folder / "p.json").exists()
    done = here(*told, "--json", cwd=folder)
    assert done.returncode == 3
    assert json.loads(done.stdout)["verdicts"][0]["kind"] == "undecided"
    done = here("separate", "two.csv", "--target", "species", "--time-limit", "0", cwd=folder)
    assert done.returncode == 2
    assert "must be above 0 seconds" in done.stderr


def test_undecided_questions_leave_the_others(folder, monkeypatch):
    ask = deciding.search

    def search(data, question, tolerance):
        if question.blocks > 1:
            raise TooLarge("rows would take too long")
        return ask(data, question, tolerance)

    monkeypatch.setattr(deciding, "search", search)
    monkeypatch.setenv("COLUMNS", "200")
    done = here("separate", "iris.csv", "--target", "species", "--proof", "p.json", cwd=folder)
    assert done.returncode == 3
    assert "setosa against the rest" in done.stdout
    assert "1 of 7 subproblems are undecided. All 6 verdicts hold" in done.stdout
    assert "linsep: 1 of 7 subproblems are undecided: rows would take too long;" in done.stderr
    assert here("verify", "p.json", "iris.csv", "--target", "species", cwd=folder).returncode == 1


def test_one_class_only(folder):
    (folder / "one.svm").write_text("1 1:1\n1 1:2\n")
    done = here("separate", "one.svm", cwd=folder)
    assert done.returncode == 1
    assert "All rows have the label 1: separation needs at least two classes." in done.stderr


def test_fewest_errors_and_the_total_distance(tmp_path):
    path = tmp_path / "xor.csv"
    path.write_text("a,b,y\n1,1,1\n1,-1,0\n-1,1,0\n-1,-1,1\n")
    how = ["separate", path, "--target", "y", "--errors", "--gamma", "0.5"]
    done = here(*how, "--proof", "xor.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = dict(line.split(maxsplit=1) for line in done.stdout.splitlines() if " " in line)
    assert lines["errors"] == "1 of 4 rows: no hyperplane has fewer"
    assert lines["distance"].startswith("rows are 2 in total from the margin 0.5")
    assert here("verify", "xor.json", path, "--target", "y", cwd=tmp_path).returncode == 0
    found = json.loads(here(*how, "--no-strict", "--json", cwd=tmp_path).stdout)
    assert found["total_distance"]["most_errors"] == pytest.approx(4.0)
    errors = found["verdicts"][0]["errors"]
    assert (errors["strict"], errors["least"], errors["most"]) == (False, "0x1", "0x1")
