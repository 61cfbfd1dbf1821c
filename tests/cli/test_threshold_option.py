"""Thresholds and calibration on the command line."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import linsep
from command_line import assert_refused, here
from linsep import load, open_source
from linsep.cross_validation import Folds, kept, labeled_rows

RNG = np.random.default_rng(5)


def table(n):
    X = RNG.normal(size=(n, 3)).round(2)
    rare = X @ [1, -1, 0.5] + RNG.logistic(size=n) > 3.5
    lines = [f"{a},{b},{c},{'fraud' if y else 'fine'},{k % 9}"
             for k, ((a, b, c), y) in enumerate(zip(X, rare, strict=True))]  # fmt: skip
    return "\n".join(["a,b,c,kind,who", *lines, ""])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("thresholds")
    for name, n in (("train", 400), ("held", 300), ("test", 200)):
        (folder / f"{name}.csv").write_text(table(n))
    (folder / "fine.csv").write_text("\n".join(
        line for line in table(60).splitlines() if "fraud" not in line))  # fmt: skip
    (folder / "three.csv").write_text("a,kind\n" + "".join(f"{k},{'xyz'[k % 3]}\n"
                                                           for k in range(30)))  # fmt: skip
    (folder / "unlabeled.csv").write_text("a,b,c\n1,2,3\n")
    return folder


READ = ("train.csv", "--target", "kind", "--exclude", "who")


def fit(folder, *options):
    done = here("fit", *READ, *options, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("learner", ["perceptron", "logistic"])
def test_it_is_chosen_in_folds_and_used_by_all_commands(folder, tmp_path, learner):
    path = tmp_path / "m.linsep"
    options = ("--threshold", "recall=0.8", "--learner", learner, "--test", "test.csv")
    found = fit(folder, *options, "--model", path)
    about = found["threshold"]
    assert found["warnings"] == []
    assert (about["measured"]["on"], about["measured"]["rows"]) == ("5 folds", 400)
    assert about["measured"]["chosen"]["recall"] >= 0.8
    assert about["positive"] == "fraud"
    assert about["of"] == ("score" if learner == "perceptron" else "probability")
    model = linsep.load(path)
    assert found["test"]["accuracy"] == pytest.approx(model.score(folder / "test.csv"))
    labels = model.predict(folder / "test.csv").tolist()
    assert here("predict", path, "test.csv", cwd=folder).stdout.split() == labels
    scored = json.loads(here("score", path, "test.csv", "--json", cwd=folder).stdout)
    assert scored["accuracy"] == found["test"]["accuracy"]
    assert json.loads(here("inspect", path, "--json", cwd=folder).stdout)["threshold"] == about
    usual = here("predict", path, "test.csv", "--threshold",
                 0.5 if about["of"] == "probability" else 0, cwd=folder)  # fmt: skip
    assert usual.stdout.split() != labels
    again = linsep.fit(folder / "train.csv", target="kind", exclude="who", learner=learner,
                       threshold="recall=0.8")  # fmt: skip
    assert again.threshold_ == model.threshold_


def test_it_is_chosen_on_the_rows_of_calibrate(folder, tmp_path):
    path = tmp_path / "m.linsep"
    calibrated = ("--calibrate", "held.csv", "--threshold", "cost=10:1", "--model", path)
    about = fit(folder, *calibrated)["threshold"]
    model = linsep.load(path)
    assert about["of"] == "probability"
    assert about["measured"]["on"].endswith("held.csv")
    labels, truth = model.predict(folder / "held.csv"), []
    for line in (folder / "held.csv").read_text().splitlines()[1:]:
        truth.append(line.split(",")[3])
    missed = sum(a == "fraud" != b for a, b in zip(truth, labels, strict=True))
    alarms = sum(a != "fraud" == b for a, b in zip(truth, labels, strict=True))
    assert about["measured"]["chosen"]["cost"] == 10 * missed + alarms
    again = linsep.fit(folder / "train.csv", target="kind", exclude="who", threshold="cost=10:1",
                       calibrate=folder / "held.csv")  # fmt: skip
    assert again.threshold_.score == model.threshold_.score
    linsep.set_threshold(again, "cost=10:1", folder / "held.csv")
    assert again.threshold_.score == model.threshold_.score
    drawn = here("plot", "threshold", path, "test.csv", "-o", tmp_path / "t.png", cwd=folder)
    assert drawn.returncode == 0, drawn.stderr


def test_folds_may_be_those_of_cv_and_keep_groups_whole(folder):
    found = fit(folder, "--threshold", "f1", "--cv", "3", "--learner", "naive-bayes")
    assert found["threshold"]["measured"]["on"] == "3 folds"
    assert "cross_validation" in found
    done = here("fit", "train.csv", "--target", "kind", "--group", "who", "--threshold", "f1",
                "--learner", "naive-bayes", "--json", cwd=folder)  # fmt: skip
    assert done.returncode == 0, done.stderr
    grouped = json.loads(done.stdout)["threshold"]["measured"]["chosen"]
    assert grouped != found["threshold"]["measured"]["chosen"]


GROUPED = ("train.csv", "--target", "kind", "--group", "who", "--cv", "3", "--learner")


@pytest.mark.parametrize("command", [
    ("fit", *GROUPED, "naive-bayes"), ("tune", *GROUPED, "naive-bayes,logistic"),
])  # fmt: skip
def test_intervals_of_test_rows_are_those_of_groups(folder, command):
    done = here(*command, "--test", "test.csv", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["test"]["intervals"]["of"] == "groups"
    header = (folder / "test.csv").read_text().replace(",who\n", ",someone\n")
    (folder / "renamed.csv").write_text(header)
    assert_refused(*command, "--test", "renamed.csv", cwd=folder, code="unknown-column")


def test_a_number_needs_no_rows_and_is_a_parameter_of_winnow(folder):
    about = fit(folder, "--threshold", 0.2, "--learner", "logistic")["threshold"]
    assert (about["rule"], about["measured"]) == ("0.2", None)
    assert about["at"] == pytest.approx(0.2)
    (folder / "positive.csv").write_text((folder / "train.csv").read_text().replace("-", ""))
    for rule, expected in ((1.5, None), ("recall=0.9", "recall=0.9")):
        how = ("--target", "kind", "--exclude", "who", "--learner", "winnow", "--threshold", rule)
        found = json.loads(here("fit", "positive.csv", *how, "--json", cwd=folder).stdout)
        assert found.get("threshold", {"rule": None})["rule"] == expected
    rows = {"a": [1.0, 0.0], "kind": ["x", "y"]}
    model = linsep.fit(pd.DataFrame(rows), target="kind", learner="winnow", threshold=1.5)
    assert (model.threshold, hasattr(model, "threshold_")) == (1.5, False)


def test_bad_input_is_refused(folder):
    for options in (
        ("recall=1.5",), ("cost=10",), ("cost=0:1",), ("best",), (2, "--learner", "logistic"),
        ("f1", "--dask", "local"), ("f1", "--checkpoint", "c", "--model", "m"),
        ("f1", "--learner", "linear"),
    ):  # fmt: skip
        assert_refused("fit", *READ, "--threshold", *options, cwd=folder, exit_code=2)
    for options in (
        ("precision=0.999999", "--learner", "naive-bayes", "--exclude", "a", "--exclude", "b"),
        ("f1", "--calibrate", "fine.csv"), ("f1", "--keep", "last"),
    ):  # fmt: skip
        assert_refused("fit", *READ, "--threshold", *options, cwd=folder)
    more = ("fit", "three.csv", "--target", "kind", "--threshold", "f1")
    assert_refused(*more, cwd=folder, code="class-count")


def unbalanced(n=600, seed=3):
    """One row in sixteen is bought, and no row reaches a probability of one half."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    bought = rng.random(n) < 1 / (1 + np.exp(2.9 - 0.6 * X[:, 0]))
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    return frame.assign(kind=np.where(bought, "yes", "no"))


@pytest.mark.parametrize(("learner", "threshold"), [
    ("logistic", 0.08), ("perceptron", "f1"),
])  # fmt: skip
def test_every_number_of_a_fit_is_at_the_threshold(tmp_path, learner, threshold):
    frame = unbalanced()
    frame.to_csv(tmp_path / "t.csv", index=False)
    options = ("--learner", learner, "--threshold", threshold, "--cv", 4)
    done = here("fit", "t.csv", "--target", "kind", *options, "--json", "--model", "m.linsep",
                cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    model = linsep.load(tmp_path / "m.linsep")
    right = model.score(frame)
    assert found["training_accuracy"] == pytest.approx(right, abs=1e-12)
    again = linsep.fit(frame, target="kind", learner=learner, threshold=threshold, cv=4)
    assert again.training_accuracy_ == pytest.approx(right, abs=1e-12)
    folds = found["cross_validation"]["metrics"]["accuracy"]["folds"]
    np.testing.assert_allclose(again.cv_scores_["accuracy"], folds, rtol=1e-12)
    source, rows = kept(linsep.open_source(frame, target="kind", recipe=model.recipe_))
    known = labeled_rows(source, rows)
    expected = []
    for training, test in Folds(4).splits(known):
        X, y, *_ = known.batch.rows(training)
        fold = clone(again.learner).fit(X, y)
        fold.threshold_ = model.threshold_
        X, y, *_ = known.batch.rows(test)
        expected.append(np.mean(fold.predict(X) == y))
    np.testing.assert_allclose(folds, expected, rtol=1e-12)


def test_a_threshold_set_later_drops_the_training_accuracy():
    frame = unbalanced()
    model = linsep.fit(frame, target="kind", learner="logistic")
    assert model.training_accuracy_ == model.score(frame)
    assert linsep.set_threshold(model, 0.08).training_accuracy_ is None
    assert linsep.set_threshold(model, None).training_accuracy_ is None


def test_predictions_need_no_labels_and_no_weights(tmp_path):
    (tmp_path / "a.csv").write_text("a,y,w\n1,1,1\n2,0,1\n3,1,2\n-1,0,1\n")
    fit = "fit a.csv --target y --weight w --model m"
    assert here(*fit.split(), cwd=tmp_path).returncode == 0
    model = load(tmp_path / "m")
    (tmp_path / "c.csv").write_text("a\n1\n2\n")
    known = model.predict(open_source(tmp_path / "c.csv", recipe=model.recipe_, labeled=False))
    for cell in ("?", "2024-01-01"):
        (tmp_path / "b.csv").write_text(f"a,y,w\n1,{cell},{cell}\n2,1,1\n")
        done = here("predict", "m", "b.csv", cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.split() == [str(label) for label in known]
