"""linsep tune: what each model of a grid is alone, from one reading; and, with --cv, learners and
parameters compared on the same folds."""

import json
import shlex

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import balanced_accuracy_score, log_loss
from sklearn.model_selection import StratifiedKFold

from command_line import assert_refused, here
from linsep import (
    GaussianNaiveBayes,
    KernelPerceptron,
    LogisticRegression,
    Perceptron,
    load,
)
from linsep.rows.source_stream import SourceStream
from linsep.sources.base import Source
from linsep.sources.svmlight import SvmlightSource
from linsep.steps import learner_of
from linsep.tuning import grids_of
from linsep.tuning.side_by_side import Missed, standard_error

ROWS = 400


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Overlapping rows of two classes and of three, as a table and as svmlight text."""
    folder = tmp_path_factory.mktemp("tune")
    rng = np.random.default_rng(3)
    X = rng.normal(size=(ROWS, 4)) * [1, 10, 1, 1]
    score = X @ [1.0, 0.1, -1.0, 0.5] + rng.normal(size=ROWS)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["side"] = np.where(score > 0, "yes", "no")
    frame["kind"] = np.array(["p", "q", "r"])[(score > 0) + 1 * (score > 1.5)]
    frame["w"], frame["patient"] = rng.integers(0, 4, ROWS), rng.integers(0, 80, ROWS)
    frame.to_csv(folder / "t.csv", index=False)
    (folder / "t.svm").write_text(
        "".join(
            f"{1 if s > 0 else -1} " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(row)) + "\n"
            for s, row in zip(score, X.tolist(), strict=True)
        )
    )
    return folder


def tuned(*arguments, cwd):
    done = here("tune", *arguments, "--json", cwd=cwd)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def alone(model, *arguments, cwd):
    """The held-out accuracy after the passes that a model made, by ``linsep fit``."""
    options = []
    for name, value in model["parameters"].items():
        if name != "max_iter" and (name, value) != ("normalize", False):  # which has no option
            options += [f"--{'no-' * (value is False)}{name.replace('_', '-')}"]
            options += [] if isinstance(value, bool) else [value]
    passes = ["--early-stopping", "--n-iter-no-change", 99, "--validation-fraction", 0.2]
    options += ["--max-iter", model["passes"]]
    done = here("fit", *arguments, *options, *passes, "--json", cwd=cwd)
    assert done.returncode == 0, done.stderr
    return 1 - json.loads(done.stdout)["curve"][-1]["held_out_error"]


TABLE = ["t.csv", "--exclude", "patient", "--exclude", "w"]


TWO = [*TABLE, "--exclude", "kind", "--target", "side"]


THREE = [*TABLE, "--exclude", "side", "--target", "kind"]


WEIGHED = ["t.csv", "--exclude", "kind", "--target", "side", "--weight", "w", "--group", "patient"]


@pytest.mark.parametrize(
    ("data", "grid"),
    [
        (TWO, ["learning_rate=1,0.1", "shuffle=true,false", "normalize=false,true"]),
        ([*THREE, "--scale", "none"], ["keep=last,best", "multiclass=native,ovr"]),
        (WEIGHED, ["max-iter=1,12", "keep=last,average"]),
    ],
)
def test_accuracies_are_those_of_models_fitted_alone(folder, data, grid):
    pairs = [word for pair in grid for word in ("--grid", pair)]
    found = tuned(*data, *pairs, cwd=folder)
    values = [pair.partition("=")[2].split(",") for pair in grid]
    assert len(found["models"]) == np.prod([len(each) for each in values])
    for model in found["models"]:
        own = alone(model, *data, cwd=folder)
        assert model["mean"] == pytest.approx(own, abs=1e-12)
        passes = model["parameters"].get("max_iter", 10)
        assert (model["passes"] < passes) == (model["stop_reason"] != "max_iter")
    kept = [m for m in found["models"] if m["stop_reason"] != "dropped"]
    assert found["best"] == kept[0]["parameters"]
    assert found["best"] == max(kept, key=lambda m: m["mean"])["parameters"]


@pytest.mark.parametrize("memory", [1 << 28, 1])
def test_a_file_is_read_once_and_the_best_is_what_fit_learns(folder, tmp_path, monkeypatch, memory):
    """In memory as well as through a row cache."""
    monkeypatch.setattr(Source, "memory_bytes", memory)
    readings, once = [], SvmlightSource.batches
    monkeypatch.setattr(SvmlightSource, "batches", lambda self: readings.append(self) or once(self))
    grid = ["--grid", "C=0.01,1", "--grid", "shuffle=true,false", "--no-cache", "--index-base", 1]
    model = tmp_path / "m"
    found = tuned("t.svm", "--learner", "pa", *grid, "--model", model, cwd=folder)
    assert len(readings) == 1
    assert found["model"] == str(model)
    here(*shlex.split(found["command"])[1:], "--model", tmp_path / "n", cwd=folder)
    ours, theirs = load(model), load(tmp_path / "n")
    np.testing.assert_array_equal(ours.coef_, theirs.coef_)
    assert ours.get_params() == theirs.get_params()
    assert ours.training_accuracy_ == theirs.training_accuracy_


def test_a_class_that_comes_late(folder, tmp_path, monkeypatch):
    """Learning begins again when it is seen."""
    lines = (folder / "t.svm").read_text().splitlines(keepends=True)
    (tmp_path / "late.svm").write_text("".join(lines) + "3 1:2 2:7\n" * 60)
    monkeypatch.setattr("linsep.sources.svmlight.CHUNK_BYTES", 4000)
    late = SvmlightSource.__init__.__kwdefaults__ | {"chunk_bytes": 4000}
    monkeypatch.setattr(SvmlightSource.__init__, "__kwdefaults__", late)
    found = tuned("late.svm", "--grid", "keep=last,average", cwd=tmp_path)
    for model in found["models"]:
        own = alone(model, "late.svm", cwd=tmp_path)
        assert model["mean"] == pytest.approx(own, abs=1e-12)


@pytest.fixture
def shifted(tmp_path):
    """Rows that need an intercept."""
    rng = np.random.default_rng(0)
    rows = [f"{1 if x > 5.5 else -1} 1:{x}\n" for x in rng.uniform(5, 6, 400).tolist()]
    (tmp_path / "s.svm").write_text("".join(rows))
    return tmp_path


GRID = ["--grid", "fit_intercept=false,true", "--grid", "keep=last,average"]


def test_clearly_worse_models_are_dropped_and_near_ones_are_not(shifted):
    found = tuned("s.svm", *GRID, "--max-iter", 40, cwd=shifted)
    dropped = [model for model in found["models"] if model["stop_reason"] == "dropped"]
    assert sum(not model["parameters"]["fit_intercept"] for model in dropped) == 2
    for model in dropped:
        assert model["passes"] in (1, 2, 4, 8, 16)
        assert model["behind"] > model["behind_standard_error"] > 0
    assert found["best"] == {"fit_intercept": True, "keep": "last"}
    assert found["passes"] < 80


def test_standard_errors():
    """Of a share, of weighted rows, and of a difference on the same rows."""
    rng = np.random.default_rng(0)
    wrong, best = rng.random((2, 500)) < [[0.3], [0.2]]
    one, other = Missed(), Missed()
    for missed, rows in ((one, wrong), (other, best)):
        missed.add(rows[:100], np.empty(0))
        missed.add(rows[100:], np.empty(0))
    assert one.accuracy == 1 - wrong.mean()
    error = standard_error(one.wrong, one.weights)
    assert error == pytest.approx(np.sqrt(wrong.mean() * (1 - wrong.mean()) / 500))
    apart = wrong.astype(float) - best
    assert one.behind(other) == pytest.approx((apart.mean(), apart.std() / np.sqrt(500)))
    assert standard_error(wrong, np.full(500, 2.0)) == pytest.approx(error)


def test_the_last_parameter_varies_fastest():
    assert grids_of({"C": [1.0, 2.0], "shuffle": [True, False]}, {"pa": {}})["pa"] == [
        {"C": 1.0, "shuffle": True}, {"C": 1.0, "shuffle": False},
        {"C": 2.0, "shuffle": True}, {"C": 2.0, "shuffle": False},
    ]  # fmt: skip


def test_ctrl_c_leaves_nothing(folder, tmp_path, monkeypatch):
    passes = SourceStream.row_batches

    def pressed(self, number, *how, **more):
        if number == 2:
            raise KeyboardInterrupt
        return passes(self, number, *how, **more)

    monkeypatch.setattr(SourceStream, "row_batches", pressed)
    done = here("tune", folder / "t.svm", "--grid", "keep=last", "--model", "m", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (130, "")
    assert list(tmp_path.iterdir()) == []


FOLD_ROWS = 150


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(FOLD_ROWS, 4)) * [1, 5, 1, 1]
    return X, np.where(X @ [1, 0.2, -1, 0] + rng.normal(size=FOLD_ROWS) > 0.4, "yes", "no")


@pytest.fixture(scope="module")
def folds(rows, tmp_path_factory):
    folds = tmp_path_factory.mktemp("folds")
    X, y = rows
    rng = np.random.default_rng(6)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=y)
    frame.to_csv(folds / "plain.csv", index=False)
    frame["town"] = rng.choice(["Bonn", "Kiel", "Ulm"], FOLD_ROWS)
    frame["g"] = rng.integers(0, 30, FOLD_ROWS)
    frame["w"] = rng.integers(1, 4, FOLD_ROWS)
    frame.to_csv(folds / "t.csv", index=False)
    (folds / "t.svm").write_text(
        "".join(
            f"{1 if label == 'yes' else -1} "
            + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(row))
            + "\n"
            for label, row in zip(y, np.abs(X).tolist(), strict=True)
        )
    )
    return folds


PLAIN = ["plain.csv", "--target", "y", "--scale", "none"]


FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)


def test_every_learner_against_scikit_learn_on_the_same_folds(folds, rows):
    X, y = rows
    learners = ["--learner", "naive-bayes,perceptron", "--learner", "logistic,kernel"]
    grid = ["logistic.l2=0.1,10", "keep=last,average", "kernel.gamma=0.5"]
    words = [word for pair in grid for word in ("--grid", pair)]
    found = tuned(*PLAIN, *learners, *words, "--max-iter", 3, "--cv", 5, cwd=folds)
    classes = {
        "naive-bayes": GaussianNaiveBayes, "perceptron": Perceptron,
        "logistic": LogisticRegression, "kernel": KernelPerceptron,
    }  # fmt: skip
    for model in found["models"]:
        name = model["learner"]
        usual = {"max_iter": 3} if name not in ("naive-bayes", "logistic") else {}
        alone = classes[name](**usual, **model["parameters"])
        scores = [
            alone.fit(X[some], y[some]).score(X[rest], y[rest]) for some, rest in FOLDS.split(X, y)
        ]
        np.testing.assert_allclose(model["folds"], scores)
        assert model["mean"] == pytest.approx(np.mean(scores))
        assert model["standard_error"] == pytest.approx(np.std(scores, ddof=1) / np.sqrt(5))
    assert sorted(model["learner"] for model in found["models"]) == sorted([*classes] * 2)
    best = max(found["models"], key=lambda model: model["mean"])
    assert found["models"][0]["mean"] == best["mean"]
    assert found["baseline"] == pytest.approx(max(np.mean(y == "yes"), np.mean(y == "no")))
    for model in found["models"]:
        apart = np.array(best["folds"]) - model["folds"]
        assert model["behind"] == pytest.approx(apart.mean())
        assert model["behind_standard_error"] == pytest.approx(apart.std(ddof=1) / np.sqrt(5))


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("balanced_accuracy", lambda model, X, y: balanced_accuracy_score(y, model.predict(X))),
        ("log_loss", lambda model, X, y: log_loss(y, model.predict_proba(X))),
    ],
)
def test_metrics(folds, rows, metric, expected):
    X, y = rows
    grid = ["--learner", "logistic", "--grid", "l2=0.1,100", "--metric", metric]
    found = tuned(*PLAIN, *grid, "--cv", 5, cwd=folds)
    means = []
    for model in found["models"]:
        scores = [
            expected(
                LogisticRegression(**model["parameters"]).fit(X[some], y[some]), X[rest], y[rest]
            )
            for some, rest in FOLDS.split(X, y)
        ]
        np.testing.assert_allclose(model["folds"], scores)
        means.append(np.mean(scores))
    assert means == sorted(means, reverse=metric != "log_loss")
    assert found["baseline"] is None


@pytest.mark.parametrize("case", range(3))
def test_the_command_learns_the_same_model(folds, tmp_path, case):
    case = [*COMMANDS][case]
    found = tuned(*COMMANDS[case], "--cv", 3, "--model", tmp_path / "m", cwd=folds)
    _, *words = shlex.split(found["command"])
    done = here(*words, "--model", tmp_path / "n", cwd=folds)
    assert done.returncode == 0, done.stderr
    ours, theirs = load(tmp_path / "m"), load(tmp_path / "n")
    assert type(ours) is type(theirs)
    assert learner_of(ours).get_params() == learner_of(theirs).get_params()
    apart = {"exclude": None, "group": None}  # of a group, which a fit excludes
    assert ours.recipe_ | apart == theirs.recipe_ | apart
    for name in ("coef_", "intercept_", "dual_coef_"):
        if hasattr(ours, name):
            np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))


def test_the_simplest_within_one_standard_error(folds):
    words = [*PLAIN, "--learner", "perceptron,logistic", "--grid", "logistic.l2=0.001,0.01,1000"]
    chosen = tuned(*words, "--cv", 5, "--one-se", cwd=folds)
    first = chosen["models"][0]
    near = [m for m in chosen["models"] if m["behind"] <= m["behind_standard_error"] + 1e-12]
    best = min(near, key=lambda m: (m["learner"] != "perceptron", -m["parameters"].get("l2", 0)))
    assert first == best
    assert chosen["best"] == first["parameters"]


COMMANDS = {
    "a regression among others": [
        "t.csv", "--target", "y", "--exclude", "g", "--learner", "logistic,pa", "--grid",
        "pa.C=1e-9", "--one-se", "--class-weight", "balanced", "--weight", "w",
        "--random-state", "3",
    ],
    "groups": [
        "t.csv", "--target", "y", "--group", "g", "--learner", "pa,perceptron", "--grid",
        "perceptron.keep=vote", "--reference", "yes", "--max-iter", "4",
    ],
    "a kernel of svmlight text": [
        "t.svm", "--learner", "kernel", "--grid", "gamma=0.1,1", "--max-iter", "2", "--no-cache",
    ],
}  # fmt: skip
#: exit codes and options
REFUSED = f"""
2
2 --grid keep=last,
2 --grid depth=1
2 --grid class_weight=balanced
2 --grid C=1
2 --grid max_iter=0
2 --grid shuffle=maybe
2 --grid early_stopping=true
2 --grid keep=last --keep vote
2 --grid keep=last --grid keep=vote
2 --grid max_iter={",".join(map(str, range(1, 1002)))}
1 --grid keep=last --validation-fraction 1e-9
1 --grid keep=last --model t.svm
1 --grid keep=last --model t.svm --force
1 --grid keep=last --reference 7
1 --cv 100
2 --cv 3 --group g --by-time
2 --repeats 2 --grid keep=last
2 --one-se --grid keep=last
2 --cv 3 --metric f2
1 --cv 3 --metric log_loss
2 --learner pa,perceptron --grid keep=last
2 --learner kernel --grid gamma=1
2 --cv 3 --learner pa,tree
2 --cv 3 --learner pa,linear
2 --cv 3 --grid pa.C=1
2 --cv 3 --learner pa,perceptron --l2 1
2 --cv 3 --C 1 --learner pa --grid C=1
2 --cv 3 --validation-fraction 0.5
"""


def test_refusals(folds):
    for line in REFUSED.strip().split("\n"):
        code, *options = line.split()
        data = ["t.csv", "--target", "y"] if "--group" in options else ["t.svm"]
        assert_refused("tune", *data, *options, cwd=folds, exit_code=int(code))
    (folds / "one.svm").write_text("1 1:1\n1 2:1\n")
    grid = ["--grid", "keep=last,average"]
    assert_refused("tune", "one.svm", *grid, cwd=folds, code="class-count")
