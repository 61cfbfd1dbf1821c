"""No command ends well with a model that is worse than saying the same of every row, unsaid."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

import linsep
from command_line import here
from linsep.batches import Batch
from linsep.catalog import LEARNERS
from linsep.rows.stored import Sample
from linsep.sources import open_source

pytestmark = pytest.mark.uncompiled

SAID = "linsep: warning: the model predicts worse than the baseline: "


@pytest.fixture
def folder(tmp_path):
    """Labels that the columns say nothing of: one row in five is rare, at random."""
    rng = np.random.default_rng(0)
    for name, rows in (("t", 400), ("new", 200)):
        X, rare = rng.random((rows, 3)).round(3), rng.random(rows) < 0.2
        lines = [",".join(map(str, x)) + f",{'rare' if r else 'usual'},{10 * r}" for x, r in
                 zip(X, rare, strict=True)]  # fmt: skip
        (tmp_path / f"{name}.csv").write_text("\n".join(["a,b,c,kind,size", *lines]) + "\n")
    return tmp_path


def told(folder, *options, target="kind", **how):
    other = "size" if target == "kind" else "kind"
    fit = ("fit", "t.csv", "--target", target, "--exclude", other, *options)
    done = here(*fit, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("passes", [1, 3])
def test_every_learner_says_so(folder, learner, passes):
    options = ("--learner", learner, "--keep", "last", "--max-iter", passes)
    summary = json.loads(told(folder, *options, "--test", "new.csv", "--json").stdout)
    rows = [line.split(",") for line in (folder / "t.csv").read_text().split()[1:]]
    usual = np.mean([row[3] == "usual" for row in rows])
    assert summary["training_baseline"] == pytest.approx(usual)
    worse = [
        summary["training_accuracy"] < summary["training_baseline"],
        summary["test"]["accuracy"] < summary["test"]["most_frequent"],
    ]
    assert len(summary["warnings"]) == any(worse)
    for test in ((), ("--test", "new.csv")):
        done = told(folder, *options, *test)
        expected = worse[0] or (bool(test) and worse[1])
        assert (SAID in done.stderr) == expected
        assert done.stderr.count("\n") == expected
        assert ("of the training rows" in done.stderr) == worse[0]
        assert ("of the test rows" in done.stderr) == (bool(test) and worse[1])


def test_some_learners_are_worse_and_are_told_what_to_do(folder):
    done = told(folder, "--keep", "last", "--scale", "none", "--max-iter", 4, "--test", "new.csv")
    assert SAID in done.stderr
    assert "always predicting usual" in done.stderr
    assert done.stderr.endswith(
        ": choose --scale standard, choose --keep average, raise --max-iter or choose another "
        "--learner.\n"
    )


def test_with_class_weights_the_mean_recall_is_compared(folder):
    """Who weights rare classes gives accuracy for their recall, and is not told to take it back."""
    balanced = ("--class-weight", "balanced", "--test", "new.csv", "--json")
    summary = json.loads(told(folder, "--learner", "logistic", *balanced).stdout)
    assert summary["training_accuracy"] < summary["training_baseline"]
    found = summary["test"]["metrics"]["balanced_accuracy"]
    assert found["baseline"] == 0.5
    assert len(summary["warnings"]) == (found["value"] < 0.5)


@pytest.mark.parametrize("learner", ["perceptron", "kernel", "logistic"])
def test_class_weights_that_help_no_class_are_told(folder, learner, monkeypatch):
    monkeypatch.setattr("linsep.estimators._common.predicting.Prediction.balanced_accuracy",
                        lambda _: 0.25)  # fmt: skip
    done = told(folder, "--learner", learner, "--class-weight", "balanced")
    assert (
        f"{SAID}the mean recall of the classes is 25.00% on the training rows; always "
        "predicting one class gets 50.00%"
    ) in done.stderr
    assert "leave out --class-weight" in done.stderr


@pytest.mark.parametrize("learner", ["logistic", "naive-bayes"])
def test_regressions_that_find_nothing_are_as_good_as_the_baseline(folder, learner):
    summary = json.loads(told(folder, "--learner", learner, "--json").stdout)
    assert summary["training_accuracy"] == summary["training_baseline"]
    assert summary["training_rows"] == 400
    assert summary["warnings"] == []


def test_classes_that_differ_in_spread_mislead_naive_bayes(folder):
    rows = [f"{x},{k}" for k, xs in (("a", [-9, 9] * 4), ("b", [0, 0.1, 0.2])) for x in xs]
    (folder / "w.csv").write_text("\n".join(["x,kind", *rows, "0.3,b", "0.4,b"]) + "\n")
    fit = ("fit", "w.csv", "--target", "kind", "--learner", "naive-bayes", "--test", "w.csv")
    done = here(*fit, "--json", cwd=folder)
    summary = json.loads(done.stdout)
    worse = summary["training_accuracy"] < 8 / 13
    assert (SAID in done.stderr) == worse == bool(summary["warnings"])


def test_linear_regression_worse_than_the_mean(folder):
    done = told(folder, "--learner", "linear", "--test", "new.csv", target="size")
    assert f"{SAID}its rms error on the test rows is 3.9679; always pre" in done.stderr
    (folder / "t.csv").write_text("a,kind,size\n" + "".join(f"{a},u,100\n" for a in (-1, 1, 2, 0)))
    done = told(folder, "--learner", "linear", "--no-fit-intercept", target="size")
    assert f"{SAID}its rms error on the training rows is 91.2871; always" in done.stderr
    summary = json.loads(
        told(folder, "--learner", "linear", "--no-fit-intercept", "--json", target="size").stdout
    )
    assert len(summary["warnings"]) == 1
    (folder / "t.csv").write_text("a,kind,size\n1,u,5\n2,u,5\n3,u,5.5\n1,u,5.5\n")
    assert SAID not in told(folder, "--learner", "linear", target="size").stderr


def test_a_sample_is_spread_evenly_whatever_the_batches():
    X, codes = np.arange(1000.0)[:, None], np.arange(1000) % 3
    found = []
    for cuts in ([], [1, 2, 500], range(0, 1000, 7)):
        sample = Sample(3, most_rows=100)
        for rows in np.split(np.arange(1000), cuts):
            sample.take(Batch(X[rows], codes[rows]))
        rows, drawn, *_ = sample.rows(1)
        assert sample.counts.tolist() == [334, 333, 333]
        assert drawn.tolist() == codes[rows.ravel().astype(int)].tolist()
        found.append(rows.ravel().tolist())
    assert found[0] == found[1] == found[2] == list(range(0, 1000, 16))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("most_bytes", [1, 700, 5000, 1 << 20])
def test_a_sample_has_few_bytes_whatever_the_batches(sparse, most_bytes):
    """Every k-th row for the smallest power of two that is small enough, rows of any length."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 9)) * (rng.random((300, 9)) < rng.random((300, 1)))
    whole = sp.csr_matrix(X) if sparse else X
    codes, weights = rng.integers(0, 4, 300), rng.random(300)

    def size(rows):
        return 12 * whole[rows].nnz + 4 * rows.size if sparse else 72 * rows.size

    every = [np.arange(0, 300, 1 << k) for k in range(1, 10)]  # 300 rows are too many
    expected = next(rows for rows in every if rows.size == 1 or size(rows) <= most_bytes)
    for cuts in ([], [1, 2, 200], range(0, 300, 11), range(300)):
        sample = Sample(2, most_rows=250, most_bytes=most_bytes)
        for rows in np.split(np.arange(300), cuts):
            sample.take(Batch(whole[rows], codes[rows] % 2, weights=weights[rows]))
        found = sample.rows(9)
        assert np.array_equal(found.X.toarray() if sparse else found.X, X[expected])
        assert found.y.tolist() == (codes[expected] % 2).tolist()
        assert found.weights.tolist() == weights[expected].tolist()
        assert sample.totals == pytest.approx([weights[codes % 2 == k].sum() for k in (0, 1)])


@pytest.mark.parametrize("memory", [1 << 20, 0])
def test_one_pass_is_measured_on_a_sample(folder, memory):
    for learner in (linsep.Perceptron(keep="average", max_iter=1), linsep.LogisticRegression(),
                    linsep.GaussianNaiveBayes()):  # fmt: skip
        source = open_source(folder / "t.csv", target="kind", exclude="size")
        source.memory_bytes = memory
        learner.fit(source)
        again = open_source(folder / "t.csv", recipe=learner.recipe_)
        assert learner.training_accuracy_ == learner.score(again)
        assert learner.training_baseline_ == pytest.approx(0.8, abs=0.1)


def test_an_offset_is_not_for_accuracy(tmp_path):
    """The offset is given, so a fit with it may be worse than the most frequent class."""
    rng = np.random.default_rng(0)
    x, rare = rng.random(400).round(3), rng.random(400) < 0.2
    known = rng.choice([4, -4], 400, p=[0.85, 0.15])
    rows = zip(x, rare, known, strict=True)
    lines = [f"{a},{'rare' if r else 'usual'},{k}" for a, r, k in rows]
    (tmp_path / "t.csv").write_text("\n".join(["x,kind,known", *lines]) + "\n")
    fit = ("fit", "t.csv", "--target", "kind", "--learner", "logistic", "--json")
    done = here(*fit, "--offset", "known", cwd=tmp_path)
    summary = json.loads(done.stdout)
    assert summary["training_accuracy"] < summary["training_baseline"]
    assert done.stderr == ""
