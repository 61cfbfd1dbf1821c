"""Fits of random data with random options: each warns if, and only if, its model is worse than
saying the same of every row of the training data, as ``linsep score`` counts it.
"""

import json
import random

import numpy as np
import pytest

from command_line import here
from linsep.catalog import LEARNERS

pytestmark = pytest.mark.compiled

SAID = "the model predicts worse than the baseline"


def table(draw, classes):
    """A table of few rows whose classes are of different size and overlap."""
    rng, rows = np.random.default_rng(draw.getrandbits(32)), draw.choice([20, 40, 60])
    y = rng.choice(classes, size=rows, p=rng.dirichlet(np.full(classes, draw.choice([1.0, 5.0]))))
    y[: 2 * classes] = np.tile(np.arange(classes), 2)
    X = rng.random((rows, draw.choice([1, 2, 4]))).round(2) + draw.choice([0, 0.3, 1]) * y[:, None]
    lines = [",".join(map(str, [*x, f"c{k}"])) for x, k in zip(X.tolist(), y, strict=True)]
    return "\n".join([",".join([*(f"x{j}" for j in range(X.shape[1])), "kind"]), *lines]) + "\n"


def options(draw, classes):
    """A learner and some of its options."""
    learner = draw.choice([*LEARNERS, "logistic", "naive-bayes"])
    found = ["--learner", learner]

    def perhaps(share, *words):
        found.extend(words if draw.random() < share else ())

    if learner in LEARNERS:
        found += ["--max-iter", draw.choice([1, 2, 5, 10])]
        found += ["--keep", draw.choice(["last", "average", "vote", "best"])]
        perhaps(0.4, "--early-stopping", "--validation-fraction", draw.choice([0.1, 0.2, 0.4]))
        perhaps(0.3, "--multiclass", draw.choice(["native", "ovr", "ovo"]))
        perhaps(0.3, "--tie", draw.choice(["negative", "positive", "random"]))
        perhaps(0.2, "--no-shuffle")
    if learner not in ("winnow", "kernel", "naive-bayes"):
        perhaps(0.2, "--no-fit-intercept")
    if learner != "naive-bayes":
        one = f"c{draw.randrange(classes)}={draw.choice([0, 0.1, 5])}"
        perhaps(0.3, "--class-weight", draw.choice(["balanced", one]))
    if learner != "winnow":
        perhaps(0.3, "--scale", draw.choice(["none", "standard"]))
    return found


def asked(seed, folder):
    """Make a fit; returns whether it warned, and whether its model is worse than the baseline, or
    None where the fit ended with an error.
    """
    draw = random.Random(seed)
    classes = draw.choice([2, 2, 3, 4])
    (folder / "t.csv").write_text(table(draw, classes))
    fit = ("fit", "t.csv", "--target", "kind", "--model", "m", "--force", *options(draw, classes))
    done = here(*fit, "--json", cwd=folder)
    if done.returncode:
        return None
    summary = json.loads(done.stdout)
    score = json.loads(here("score", "m", "t.csv", "--json", cwd=folder).stdout)
    assert summary["training_rows"] == score["rows"], fit
    assert summary["training_accuracy"] == pytest.approx(score["accuracy"], abs=1e-12), fit
    assert summary["training_baseline"] == pytest.approx(score["most_frequent"], abs=1e-12), fit
    assert (SAID in done.stderr) == bool(summary["warnings"]), fit
    worse = score["accuracy"] < score["most_frequent"] - 1e-9
    if "--class-weight" in fit:  # which trades accuracy for the recall of classes
        recall = score["metrics"]["balanced_accuracy"]
        worse = worse and recall["value"] < recall["baseline"] - 1e-9
    return bool(summary["warnings"]), worse


@pytest.mark.thorough
def test_models_worse_than_the_baseline_and_no_others_are_warned_of(tmp_path):
    found = [one for seed in range(60) if (one := asked(seed, tmp_path)) is not None]
    assert len(found) > 50
    assert all(warned == worse for warned, worse in found)
    assert 0 < sum(worse for _, worse in found) <= len(found) / 2


@pytest.mark.parametrize(
    "left_out",
    [
        ["--early-stopping", "--validation-fraction", "0.4", "--keep", "last"],
        ["--class-weight", "b=0"],
    ],
)
@pytest.mark.parametrize("learner", ["perceptron", "kernel"])
def test_rows_that_were_not_learned_count(tmp_path, learner, left_out):
    rng = np.random.default_rng(3)
    lines = [f"{x},{'ab'[k % 2]}" for k, x in enumerate(rng.random(20).round(2).tolist())]
    (tmp_path / "t.csv").write_text("\n".join(["x,kind", *lines, "0.5,b", "0.5,c"]) + "\n")
    fit = ("fit", "t.csv", "--target", "kind", "--learner", learner, "--model", "m", *left_out)
    done = here(*fit, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "% of 22 rows right (" in done.stdout
    score = json.loads(here("score", "m", "t.csv", "--json", cwd=tmp_path).stdout)
    assert f"{100 * score['accuracy']:.2f}% of 22 rows right" in done.stdout
    assert "baseline 50.00%" in done.stdout
