"""What learns where no learner is named: AROW text and wide sparse rows, the perceptron others."""

import csv
import json

import numpy as np
import pandas as pd
import pytest

import linsep
from command_line import here

pytestmark = pytest.mark.uncompiled

TEXT = ("sms.csv", "--target", "kind", "--text", "message")
SPARSE = "4,000 features, of which a row has 0.25%"


def vectors(features, each, vw=False, rows=200, times=1.0):
    """Lines of length 1 at most with so many features each, all of which occur."""
    rng, lines = np.random.default_rng(0), []
    for k in range(rows):
        at = np.sort((np.arange(each) * features // each + 37 * k) % features)
        size = times * rng.uniform(0.5, 1.0) / each**0.5
        own = [f"{j if vw else j + 1}:{size:.3f}" for j in at]
        lines.append(f"{2 * (k % 2) - 1} {'| ' * vw}" + " ".join(own))
    return "\n".join(lines) + "\n"


def texts(rows=60):
    rng = np.random.default_rng(1)
    said = {"ham": "see you at home then", "spam": "win free prize money now"}
    kinds = rng.choice(list(said), rows)
    return [(kind, " ".join(rng.permutation(said[kind].split())), str(rng.integers(9)))
            for kind in kinds]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("chosen")
    with (folder / "sms.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("kind", "message", "length"), *texts()])
    (folder / "wide.svm").write_text(vectors(4000, 10, rows=400))
    (folder / "narrow.svm").write_text(vectors(300, 2))
    (folder / "filled.svm").write_text(vectors(2000, 40))
    (folder / "long.svm").write_text(vectors(4000, 10, rows=400, times=5.0))
    (folder / "wide.vw").write_text(vectors(4000, 10, vw=True, rows=400))
    for name, (path, *how) in {
        "text": TEXT,
        "wide": ["wide.svm"],
        "narrow": ["narrow.svm"],
    }.items():
        done = here("convert", path, f"{name}.rows", *how, cwd=folder)
        assert done.returncode == 0, done.stderr
    (folder / "damaged.svm").write_text("1 2:x\n" + vectors(4000, 10))
    return folder


def learned(folder, *words):
    done = here("fit", *words, "--max-iter", "1", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    return found["learner"], found.get("chosen_for")


@pytest.mark.parametrize(("words", "learner", "chosen_for"), [
    (TEXT, "AROW", "text"),
    ((*TEXT, "--r", "0.5"), "AROW", "text"),
    ((*TEXT, "--keep", "last", "--multiclass", "ovr"), "AROW", "text"),
    ((*TEXT, "--schedule", "inverse"), "Perceptron", None),
    ((*TEXT, "--learner", "perceptron"), "Perceptron", None),
    ((*TEXT, "--learner", "arow"), "AROW", None),
    (("sms.csv", "--target", "kind"), "Perceptron", None),
    (("wide.svm",), "AROW", SPARSE),
    (("wide.svm", "--learner", "pa"), "PassiveAggressive", None),
    (("narrow.svm",), "Perceptron", None),
    (("long.svm",), "Perceptron", None),
    ((*TEXT, "--norm", "none"), "Perceptron", None),
    (("filled.svm",), "Perceptron", None),
    (("wide.vw",), "AROW", SPARSE),
    (("text.rows",), "AROW", "text"),
    (("wide.rows",), "AROW", SPARSE),
    (("narrow.rows",), "Perceptron", None),
])  # fmt: skip
def test_what_learns(folder, words, learner, chosen_for):
    assert learned(folder, *words) == (learner, chosen_for)


def test_the_output_says_why(folder):
    said = here("fit", *TEXT, cwd=folder).stdout
    assert "chosen       AROW for text; --learner selects another\n" in said
    assert "chosen" not in here("fit", *TEXT, "--learner", "arow", cwd=folder).stdout
    assert f"chosen       AROW for {SPARSE}" in here("fit", "wide.svm", cwd=folder).stdout


def test_a_frame_learns_what_the_command_learns(folder):
    here("fit", *TEXT, "--model", "text.linsep", cwd=folder)
    frame = pd.DataFrame(texts(), columns=["kind", "message", "length"])
    frame["length"] = frame["length"].astype(int)
    model = linsep.fit(frame, target="kind", text="message")
    saved = linsep.load(folder / "text.linsep")
    assert type(model) is type(saved) is linsep.AROW
    assert np.array_equal(model.coef_, saved.coef_)
    assert linsep.fit(frame, target="kind", text="message", r=2.0).r == 2.0
    assert type(linsep.fit(frame, target="kind")) is linsep.Perceptron
    with pytest.raises(TypeError, match="has no option 'r' for perceptron"):
        linsep.fit(frame, target="kind", r=2.0)
    assert type(linsep.fit(frame, target="kind", text="message", schedule="inverse")) is (
        linsep.Perceptron
    )


def test_damaged_rows_are_told_by_learning(folder):
    done = here("fit", "damaged.svm", cwd=folder)
    assert done.returncode == 1
    assert done.stderr.startswith(
        "linsep: error: damaged.svm line 1: the value 'x' is not a number"
    )


@pytest.mark.parametrize("folds", [(), ("--cv", "2")])
@pytest.mark.parametrize(("grid", "learner"), [
    ("keep=last,average", "arow"), ("r=1,10", "arow"), ("schedule=constant,inverse", "perceptron"),
])  # fmt: skip
def test_tune_compares_what_fit_learns_and_names_it(folder, grid, learner, folds):
    done = here("tune", *TEXT, "--grid", grid, *folds, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert f"--learner {learner}" in found["command" if folds else "options"]


def test_describe_names_it(folder):
    for words in (("sms.csv", "--target", "kind"), ("wide.svm",), ("wide.vw",)):
        done = here("describe", *words, "--json", cwd=folder)
        found = json.loads(done.stdout)
        assert found["learner"]["name"] == "arow"
    assert (
        json.loads(here("describe", "narrow.svm", "--json", cwd=folder).stdout)["learner"]["name"]
        != "arow"
    )
