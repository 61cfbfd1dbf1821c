"""linsep tune --cv: learners and parameters compared on the same folds."""

import json
import shlex

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import balanced_accuracy_score, log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_score

from command_line import assert_refused, here
from linsep import (
    GaussianNaiveBayes,
    KernelPerceptron,
    LinearRegression,
    LogisticRegression,
    PassiveAggressive,
    Perceptron,
    load,
)
from linsep.sources.svmlight import SvmlightSource
from linsep.tuning.comparing import Candidate, complexity

pytestmark = pytest.mark.uncompiled
ROWS = 150


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(ROWS, 4)) * [1, 5, 1, 1]
    return X, np.where(X @ [1, 0.2, -1, 0] + rng.normal(size=ROWS) > 0.4, "yes", "no")


@pytest.fixture(scope="module")
def folder(rows, tmp_path_factory):
    folder = tmp_path_factory.mktemp("folds")
    X, y = rows
    rng = np.random.default_rng(6)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=y)
    frame.to_csv(folder / "plain.csv", index=False)
    frame["town"] = rng.choice(["Bonn", "Kiel", "Ulm"], ROWS)
    frame["g"] = rng.integers(0, 30, ROWS)
    frame["w"] = rng.integers(1, 4, ROWS)
    frame.to_csv(folder / "t.csv", index=False)
    (folder / "t.svm").write_text(
        "".join(
            f"{1 if label == 'yes' else -1} "
            + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(row))
            + "\n"
            for label, row in zip(y, np.abs(X).tolist(), strict=True)
        )
    )
    return folder


def tuned(*arguments, cwd):
    done = here("tune", *arguments, "--json", cwd=cwd)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


PLAIN = ["plain.csv", "--target", "y", "--scale", "none"]
FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)


def test_every_learner_against_scikit_learn_on_the_same_folds(folder, rows):
    X, y = rows
    learners = ["--learner", "naive-bayes,perceptron,pa", "--learner", "logistic,kernel"]
    grid = ["logistic.l2=0.1,10", "keep=last,average", "pa.C=0.1", "kernel.gamma=0.5"]
    words = [word for pair in grid for word in ("--grid", pair)]
    found = tuned(*PLAIN, *learners, *words, "--max-iter", 3, "--cv", 5, cwd=folder)
    classes = {
        "naive-bayes": GaussianNaiveBayes, "perceptron": Perceptron, "pa": PassiveAggressive,
        "logistic": LogisticRegression, "kernel": KernelPerceptron,
    }  # fmt: skip
    count = {name: 0 for name in classes}
    for model in found["models"]:
        name = model["learner"]
        usual = {"max_iter": 3} if name not in ("naive-bayes", "logistic") else {}
        alone = classes[name](**usual, **model["parameters"])
        scores = [
            alone.fit(X, y, sample_weight=np.isin(np.arange(ROWS), some) * 1.0).score(
                X[rest], y[rest]
            )
            if name == "kernel"  # whose rows are visited in one order in all folds
            else alone.fit(X[some], y[some]).score(X[rest], y[rest])
            for some, rest in FOLDS.split(X, y)
        ]
        np.testing.assert_allclose(model["folds"], scores)
        assert model["mean"] == pytest.approx(np.mean(scores))
        assert model["standard_error"] == pytest.approx(np.std(scores, ddof=1) / np.sqrt(5))
        count[name] += 1
    assert count == {"naive-bayes": 2, "perceptron": 2, "pa": 2, "logistic": 2, "kernel": 2}
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
def test_metrics(folder, rows, metric, expected):
    X, y = rows
    grid = ["--learner", "logistic", "--grid", "l2=0.1,100", "--metric", metric]
    found = tuned(*PLAIN, *grid, "--cv", 5, cwd=folder)
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


COMMANDS = {
    "one regression": ["t.csv", "--target", "y", "--exclude", "g", "--learner", "logistic"],
    "a regression among others": [
        "t.csv", "--target", "y", "--exclude", "g", "--learner", "logistic,pa", "--grid",
        "pa.C=1e-9", "--one-se", "--class-weight", "balanced", "--weight", "w",
        "--random-state", "3",
    ],
    "groups": [
        "t.csv", "--target", "y", "--group", "g", "--learner", "pa,perceptron", "--grid",
        "perceptron.keep=vote", "--reference", "yes", "--max-iter", "4",
    ],
    "naive Bayes": ["t.csv", "--target", "y", "--exclude", "w", "--learner", "naive-bayes"],
    "a kernel of svmlight text": [
        "t.svm", "--learner", "kernel", "--grid", "gamma=0.1,1", "--max-iter", "2", "--no-cache",
    ],
    "numbers": ["t.csv", "--target", "a", "--exclude", "y", "--learner", "linear"],
}  # fmt: skip


@pytest.mark.parametrize("case", COMMANDS)
def test_the_command_learns_the_same_model(folder, tmp_path, case, monkeypatch):
    readings, once = [], SvmlightSource.batches
    monkeypatch.setattr(SvmlightSource, "batches", lambda self: readings.append(self) or once(self))
    found = tuned(*COMMANDS[case], "--cv", 3, "--model", tmp_path / "m", cwd=folder)
    assert len(readings) == ("t.svm" in COMMANDS[case])
    linsep, *words = shlex.split(found["command"])
    assert linsep == "linsep"
    done = here(*words, "--model", tmp_path / "n", cwd=folder)
    assert done.returncode == 0, done.stderr
    ours, theirs = load(tmp_path / "m"), load(tmp_path / "n")
    assert type(ours) is type(theirs)
    assert ours.get_params() == theirs.get_params()
    apart = {"exclude": None, "group": None}  # of a group, which a fit excludes
    assert ours.recipe_ | apart == theirs.recipe_ | apart
    for name in ("coef_", "intercept_", "dual_coef_"):
        if hasattr(ours, name):
            np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))


def test_the_command_names_what_differs_from_a_fit_of_its_learner_alone(folder):
    found = tuned(*COMMANDS["a regression among others"], "--cv", 3, cwd=folder)
    assert found["learner"] == "logistic"
    words = ["--scale standard", "--reference-level none", "--class-weight balanced", "--weight w"]
    for word in words:
        assert word in found["command"]
    alone = tuned(*COMMANDS["one regression"], "--cv", 3, cwd=folder)
    assert alone["command"].startswith(
        "linsep fit t.csv --target y --exclude g --learner logistic --l2 "
    )


def test_the_simplest_within_one_standard_error(folder):
    words = [*PLAIN, "--learner", "perceptron,logistic", "--grid", "logistic.l2=0.001,0.01,1000"]
    best = tuned(*words, "--cv", 5, cwd=folder)
    near = [m for m in best["models"] if m["behind"] <= m["behind_standard_error"] + 1e-12]
    chosen = tuned(*words, "--cv", 5, "--one-se", cwd=folder)
    first = chosen["models"][0]
    assert first in near
    assert all(
        (first["learner"], -first["parameters"].get("l2", 0))
        <= (m["learner"], -m["parameters"].get("l2", 0))
        or first["learner"] == "perceptron"
        for m in near
    )
    assert chosen["best"] == first["parameters"]
    text = here("tune", *words, "--cv", 5, "--one-se", cwd=folder).stdout
    assert text.startswith(f"best      {first['learner']} ")


def test_which_model_is_simpler():
    order = ["kernel", "logistic", "pa"]

    def of(learner, estimator, **values):
        return complexity(Candidate(learner, values, estimator), order)

    kernel, logistic, pa = KernelPerceptron(), LogisticRegression(), PassiveAggressive()
    assert of("logistic", logistic, l2=1.0) < of("logistic", logistic, l2=0.1) < of("pa", pa, C=0.1)
    assert of("pa", pa, C=0.1) < of("pa", pa, C=1.0) < of("kernel", kernel, gamma=0.1)
    assert of("kernel", kernel, gamma=0.1) < of("kernel", kernel, gamma=1.0)


def test_numbers(folder, rows):
    X, _ = rows
    words = ["--target", "a", "--exclude", "y", "--learner", "linear", "--cv", 5]
    found = tuned("plain.csv", *words, "--grid", "fit_intercept=true,false", cwd=folder)
    from sklearn.model_selection import KFold

    for model in found["models"]:
        scores = cross_val_score(
            LinearRegression(**model["parameters"]), X[:, 1:], X[:, 0],
            cv=KFold(5, shuffle=True, random_state=0),
        )  # fmt: skip
        np.testing.assert_allclose(model["folds"], scores)
    assert found["metric"] == "r2"


def test_what_is_printed(folder):
    words = ["t.csv", "--target", "y", "--exclude", "g", "--learner", "naive-bayes,logistic"]
    done = here("tune", *words, "--cv", 3, "--repeats", 2, "--test", "t.csv", cwd=folder)
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines[:8]] == [
        "best", "accuracy", "test", "metrics", "compared", "time", "model", "command",
    ]  # fmt: skip
    assert "% in 3 folds, 2 times; baseline " in lines[1]
    assert lines[4] == "compared  6 models of 2 learners on 150 rows"
    assert lines[7].startswith("command   linsep fit t.csv --target y --exclude g ")
    table = lines[9:]
    assert table[0].split() == ["learner", "parameters", "accuracy,", "%", "behind"]
    assert table[1].endswith(" -")
    assert len(table) == 7
    assert max(map(len, table)) <= 80


REFUSALS = [
    (["--cv", 100], r"rows, fewer than the 100 folds: choose --cv", 1),
    (["--cv", 31, "--group", "g"], "29 groups, fewer than the 31 folds: choose --cv 29", 1),
    (["--cv", 3, "--group", "g", "--by-time"], "leave out --by-time or --group", 2),
    (["--repeats", 2, "--grid", "keep=last"], "--repeats needs --cv N, the number of folds", 2),
    (["--by-time", "--grid", "keep=last"], "--by-time needs --cv N, the number of folds", 2),
    (["--metric", "f1", "--grid", "keep=last"], "--metric needs --cv N", 2),
    (["--one-se", "--grid", "keep=last"], "--one-se needs --cv N", 2),
    (["--cv", 3, "--metric", "f2"], "--metric must be one of accuracy, .*, not 'f2'", 2),
    (["--cv", 3, "--metric", "log_loss"], "log_loss needs probabilities", 1),
    (["--learner", "pa,perceptron", "--grid", "keep=last"], "one learner without --cv N", 2),
    (["--learner", "kernel", "--grid", "gamma=1"], "--learner must be one of .* without --cv", 2),
    (["--cv", 3, "--learner", "pa,tree"], "--learner must be one of .* not 'tree'", 2),
    (["--cv", 3, "--learner", "pa,linear"], "linear predicts numbers and the other learners", 2),
    (["--cv", 3, "--grid", "pa.C=1"], "for pa, which is not compared: add --learner pa", 2),
    (["--cv", 3, "--grid", "tree.C=1"], "does not name a learner", 2),
    (["--cv", 3, "--learner", "pa,perceptron", "--grid", "l2=1"], "--grid l2 is for .*logistic", 2),
    (["--cv", 3, "--learner", "pa,perceptron", "--l2", "1"], "--l2 is for .*logistic", 2),
    (["--cv", 3, "--C", "1", "--learner", "pa", "--grid", "C=1"], "is given as well as", 2),
    (["--cv", 3, "--validation-fraction", "0.5"], "no effect with --cv: leave it out", 2),
    (["--cv", 3, "--learner", "winnow,pa"], "does not accept negative values, which scaled", 2),
]  # fmt: skip


@pytest.mark.parametrize(("options", "said", "code"), REFUSALS)
def test_refusals(folder, options, said, code):
    words = ["tune", "t.csv", "--target", "y", *options]
    assert_refused(*words, cwd=folder, said=said, exit_code=code)


def test_learners_of_positive_values_with_others(folder):
    found = tuned("t.svm", "--learner", "winnow,perceptron", "--cv", 3, cwd=folder)
    assert {model["learner"] for model in found["models"]} == {"winnow", "perceptron"}
