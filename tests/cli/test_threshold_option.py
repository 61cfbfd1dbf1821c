"""``linsep fit --threshold``: a threshold in the model, and everything that then uses it."""

import json

import numpy as np
import pytest

import linsep
from command_line import assert_refused, here

pytestmark = pytest.mark.uncompiled
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


@pytest.mark.parametrize("learner", ["perceptron", "logistic", "naive-bayes", "kernel"])
def test_it_is_chosen_in_folds_and_used_by_all_commands(folder, tmp_path, learner):
    path = tmp_path / "m.linsep"
    options = ("--threshold", "recall=0.8", "--learner", learner, "--test", "test.csv")
    found = fit(folder, *options, "--model", path)
    about = found["threshold"]
    assert found["warnings"] == []
    assert about["measured"]["on"] == "5 folds"
    assert about["measured"]["rows"] == 400
    assert about["measured"]["chosen"]["recall"] >= 0.8
    assert about["positive"] == "fraud"
    assert about["of"] == ("score" if learner in ("perceptron", "kernel") else "probability")
    model = linsep.load(path)
    assert found["test"]["accuracy"] == pytest.approx(model.score(folder / "test.csv"))
    labels = model.predict(folder / "test.csv").tolist()
    assert here("predict", path, "test.csv", cwd=folder).stdout.split() == labels
    scored = json.loads(here("score", path, "test.csv", "--json", cwd=folder).stdout)
    assert scored["accuracy"] == found["test"]["accuracy"]
    shown = here("inspect", path, cwd=folder).stdout
    assert "threshold" in shown
    assert "recall=0.8 on 5 folds (400 rows): recall 8" in shown
    assert "; by default: recall" in shown
    assert json.loads(here("inspect", path, "--json", cwd=folder).stdout)["threshold"] == about
    usual = here("predict", path, "test.csv", "--threshold",
                 0.5 if about["of"] == "probability" else 0, cwd=folder)  # fmt: skip
    assert usual.stdout.split() != labels
    assert "fraud is predicted where its" in usual.stderr
    again = linsep.fit(folder / "train.csv", target="kind", exclude="who", learner=learner,
                       threshold="recall=0.8")  # fmt: skip
    assert again.threshold_ == model.threshold_
    audited = here("audit", path, "test.csv", "--row", labels.index("fraud") + 1, cwd=folder)
    assert "prediction  fraud" in audited.stdout or learner != "logistic"


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
    ("fit", *GROUPED, "naive-bayes"),
    ("tune", *GROUPED, "naive-bayes,logistic"),
    ("tune", *GROUPED[:5], "--grid", "max_iter=1,2"),
])  # fmt: skip
def test_intervals_of_test_rows_are_those_of_groups(folder, command):
    done = here(*command, "--test", "test.csv", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["test"]["intervals"]["of"] == "groups"
    header = (folder / "test.csv").read_text().replace(",who\n", ",someone\n")
    (folder / "renamed.csv").write_text(header)
    said = "renamed.csv has no column 'who' of groups: add it"
    assert_refused(*command, "--test", "renamed.csv", cwd=folder, said=said)


def test_a_number_needs_no_rows_and_is_a_parameter_of_winnow(folder):
    about = fit(folder, "--threshold", 0.2, "--learner", "logistic")["threshold"]
    assert (about["rule"], about["measured"]) == ("0.2", None)
    assert about["at"] == pytest.approx(0.2)
    winnow = ("--learner", "balanced-winnow", "--threshold")
    assert "threshold" not in fit(folder, *winnow, 1.5)
    assert fit(folder, *winnow, "recall=0.9")["threshold"]["rule"] == "recall=0.9"
    model = linsep.fit(
        folder / "train.csv", target="kind", learner="balanced-winnow", threshold=1.5
    )
    assert (model.threshold, hasattr(model, "threshold_")) == (1.5, False)


@pytest.mark.parametrize(
    ("options", "said", "code"),
    [
        (("--threshold", "recall=1.5"), "'recall=1.5', but a recall must be above 0", 2),
        (("--threshold", "cost=10"), "choose recall=0.9, precision=0.8, cost=10:1", 2),
        (("--threshold", "cost=0:1"), "costs must be above 0", 2),
        (("--threshold", "best"), "or a number such as 0.3", 2),
        (("--threshold", 2, "--learner", "logistic"), "choose one from 0 to 1", 2),
        (("--threshold", "precision=0.999999", "--learner", "naive-bayes", "--exclude", "a",
          "--exclude", "b"), "the highest precision is", 1),
        (("--threshold", "f1", "--calibrate", "fine.csv"), "of class fraud", 1),
        (("--threshold", "f1", "--keep", "last"), "choose --keep average or choose it on", 1),
        (("--threshold", "f1", "--dask", "local"), "which cannot be combined with --dask", 2),
        (("--threshold", "f1", "--checkpoint", "c", "--model", "m"), "combined with --check", 2),
        (("--threshold", "f1", "--learner", "linear"), "linear predicts numbers: leave out", 2),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence(folder, options, said, code):
    assert_refused("fit", *READ, *options, cwd=folder, said=said, code=code)


def test_more_classes_are_refused(folder):
    refused = ("fit", "three.csv", "--target", "kind", "--threshold", "f1")
    assert_refused(*refused, cwd=folder, said="this Perceptron has 3", code=1)


def test_help_says_what_a_number_is_with_winnow(folder):
    for learner in ("perceptron", "winnow"):
        shown = here("fit", "--learner", learner, "--help", cwd=folder).stdout
        assert shown.count("--threshold") == 1
        assert "cost=10:1" in shown
