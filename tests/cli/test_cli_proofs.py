"""``linsep separate`` and ``linsep verify``, of files and of data frames."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.datasets import load_iris

import linsep
from command_line import assert_refused, here
from linsep import Perceptron, from_json, open_source, separation
from linsep.certificate.canonical import sha256_of
from linsep.errors import DataError
from linsep.separability import deciding
from linsep.separability.time_limit import TooLarge
from refusals import refused


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


def test_a_proof_from_arrays_is_checked_on_files(folder):
    iris = load_iris()
    X, y = iris.data[50:], iris.target_names[iris.target[50:]]
    (folder / "p.json").write_text(separation(X, y).to_json())
    assert here("verify", "p.json", "two.csv", *TARGET, cwd=folder).returncode == 0
    assert here("verify", "p.json", "first.csv", *TARGET, cwd=folder).returncode == 1


def test_fewest_errors(tmp_path):
    path = tmp_path / "xor.csv"
    path.write_text("a,b,y\n1,1,1\n1,-1,0\n-1,1,0\n-1,-1,1\n")
    how = ["separate", path, "--target", "y", "--errors"]
    done = here(*how, "--proof", "xor.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = dict(line.split(maxsplit=1) for line in done.stdout.splitlines() if " " in line)
    assert lines["errors"] == "1 of 4 rows: no hyperplane has fewer"
    checked = here("verify", "xor.json", path, "--target", "y", "--json", cwd=tmp_path)
    assert ["errors", lines["errors"]] in json.loads(checked.stdout)["claim"]
    found = json.loads(here(*how, "--json", cwd=tmp_path).stdout)
    errors = found["verdicts"][0]["errors"]
    assert (errors["strict"], errors["least"], errors["most"]) == (True, "0x1", "0x1")


@pytest.fixture
def people(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 80, 60),
            "city": rng.choice(["Bonn", "Aachen", "Köln"], 60),
            "member": rng.random(60) < 0.5,
        }
    )
    y = pd.Series(np.where(X.age + 10 * (X.city == "Bonn") > 50, "old", "young"), name="label")
    X.assign(label=y).to_csv("people.csv", index=False)
    return X, y


def said(*command):
    done = here(*command, "--target", "label", cwd=".")
    assert done.returncode == 0, done.stderr
    return done.stdout


FORMS = {
    "pandas": lambda frame: frame,
    "Arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


@pytest.fixture(params=FORMS)
def rows(people, request):
    X, y = people
    return FORMS[request.param](X), y if request.param == "pandas" else y.to_numpy()


def test_separation(rows):
    of_command = json.loads(said("separate", "people.csv", "--json"))
    found = json.loads(linsep.separation(*rows).to_json())
    del of_command["recipe"], of_command["checked"], found["recipe"]
    for verdict in of_command["verdicts"]:
        del verdict["deciding_columns"]  # which are no part of the proof
    assert found == of_command
    assert json.loads(linsep.Perceptron().separation(*rows).to_json()) == found | {"recipe": None}


def test_margins_and_bounds_of_a_model(rows, people):
    X, y = people
    model = linsep.fit(X.assign(label=y), target="label", scale="standard")
    features = model.features_of(X)
    assert features.shape == (60, 5)
    again = linsep.Perceptron(max_iter=10, keep="average").fit(features, y)
    assert linsep.geometric_margin(model, *rows) == linsep.geometric_margin(again, features, y)
    assert linsep.unsigned_margin(model, rows[0]) == linsep.unsigned_margin(again, features)
    assert str(model.bounds(*rows)) == str(again.bounds(features, y))
    with refused(DataError, "other-rows"):
        model.bounds(X[::-1].reset_index(drop=True), y)


def test_a_verdict_is_printed_proved_and_checked(folder):
    done = here("separate", "two.csv", *TARGET, "--proof", "p.json", cwd=folder)
    assert done.returncode == 0
    assert done.stdout.startswith("verdict     overlapping: ")
    proof = from_json((folder / "p.json").read_text())
    rows = ", ".join(str(row + 1) for row in sorted(proof.witness.rows))
    assert f": {rows} (" in done.stdout
    assert done.stdout.endswith("linsep verify p.json two.csv --target species\n")
    checked = here("verify", "p.json", "two.csv", *TARGET, "--json", cwd=folder)
    told = json.loads(checked.stdout)
    assert told["holds"] is True
    assert {("rows", "100"), ("sha256", proof.subject.sha256)} <= {*map(tuple, told["claim"])}
    late = here("verify", "p.json", "two.csv", *TARGET, "--time-limit", "0", "--json", cwd=folder)
    assert (late.returncode, json.loads(late.stdout)["holds"]) == (1, None)
    before = (folder / "p.json").read_bytes()
    again = ("separate", "two.csv", *TARGET, "--proof", "p.json")
    assert_refused(*again, cwd=folder, code="file-exists")
    assert (folder / "p.json").read_bytes() == before
    assert here(*again, "--force", cwd=folder).returncode == 0


def test_several_classes(folder):
    done = here("separate", "iris.csv", *TARGET, "--proof", "all.json", "--json", cwd=folder)
    assert len(json.loads(done.stdout)["verdicts"]) == 7
    checked = here("verify", "all.json", "iris.csv", *TARGET, cwd=folder)
    assert checked.returncode == 0
    assert checked.stdout.count("verdict ") == 7


def test_the_reader_says_how_data_are_read_not_the_proof(folder):
    """A proof's own recipe could scale all columns to constants, or make the labels a feature."""
    here("separate", "two.csv", *TARGET, "--proof", "p.json", cwd=folder)
    for options in (
        ("--target", "a"), (*TARGET, "--exclude", "a"), (*TARGET, "--missing", "zero"), (),
    ):  # fmt: skip
        assert here("verify", "p.json", "two.csv", *options, cwd=folder).returncode == 1
    plain = json.loads((folder / "p.json").read_text())
    for name, value in (
        ("scale", {name: [0.0, 1e300] for name in "abcd"}), ("target", "a"), ("missing", "zero"),
        ("exclude", ["a"]), ("numeric", ["b", "a", "c", "d"]),
        ("text", {"species": {"setosa": 4}}), ("more", 1),
    ):  # fmt: skip
        altered = plain | {"recipe": plain["recipe"] | {name: value}}
        (folder / "altered.json").write_text(json.dumps(altered, indent=1) + "\n")
        done = here("verify", "altered.json", "two.csv", *TARGET, cwd=folder)
        assert done.returncode == 1
        assert f"read with {name} " in done.stderr
    names = plain | {"data": plain["data"] | {"names": list("abcx")}}
    (folder / "names.json").write_text(json.dumps(names, indent=1) + "\n")
    assert here("verify", "names.json", "two.csv", *TARGET, cwd=folder).returncode == 1


def test_what_does_not_hold_is_exit_code_1(folder):
    here("separate", "two.csv", *TARGET, "--proof", "p.json", cwd=folder)
    path, text = folder / "p.json", (folder / "p.json").read_text()
    for altered, data in (
        (text, "iris.csv"), (text.replace('"0x', '"0x1', 1), "two.csv"), (text[:500], "two.csv"),
        ("a,b\n1,2\n", "two.csv"), (text.replace("proof 3", "proof 9"), "two.csv"),
    ):  # fmt: skip
        path.write_text(altered)
        done = here("verify", "p.json", data, *TARGET, cwd=folder)
        assert (done.returncode, done.stderr.count("\n"), done.stdout) == (1, 1, "")
    assert_refused("verify", "nothing.json", "two.csv", cwd=folder, code="no-file")
    (folder / "one.svm").write_text("1 1:1\n1 1:2\n")
    assert_refused("separate", "one.svm", cwd=folder, code="class-count")


def test_undecided_is_exit_code_3(folder, monkeypatch):
    told = ("separate", "two.csv", "--target", "species", "--time-limit", "1e-9")
    done = here(*told, "--proof", "p.json", cwd=folder)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (3, "", 1)
    assert not (folder / "p.json").exists()
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
    assert here("verify", "p.json", "iris.csv", "--target", "species", cwd=folder).returncode == 1


def test_a_cycle_of_a_table_is_checked(folder):
    (folder / "xor.csv").write_text("a,b,is\n1,1,yes\n1,-1,no\n-1,1,no\n-1,-1,yes\n")
    source = open_source(str(folder / "xor.csv"), target="is")
    model = Perceptron(fit_intercept=False, shuffle=False).fit(source)
    (folder / "c.json").write_text(model.cycle_.to_json())
    done = here("verify", "c.json", "xor.csv", "--target", "is", cwd=folder)
    assert (done.returncode, sha256_of(source) in done.stdout) == (0, True)
    done = here("verify", "c.json", "xor.csv", "--target", "a", cwd=folder)
    assert (done.returncode, done.stdout) == (1, "")
