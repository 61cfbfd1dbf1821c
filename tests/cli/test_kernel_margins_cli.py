"""Support vector machines with kernels on the command line: fit, inspect, predict, tune, export."""

import json

import numpy as np
import pytest

import linsep
from command_line import assert_refused, here

pytestmark = pytest.mark.uncompiled

FIT = ["fit", "t.csv", "--target", "kind", "--learner", "kernel-soft-margin"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("margins")
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 2)).round(2)
    kinds = np.where(X[:, 0] + X[:, 1] ** 2 + 0.4 * random.normal(size=60) > 0.8, "in", "out")
    lines = [f"{a},{b},{kind}" for (a, b), kind in zip(X.tolist(), kinds, strict=True)]
    (folder / "t.csv").write_text("\n".join(["a,b,kind", *lines]) + "\n")
    assert here(*FIT, "--C", "5", "--model", "m", cwd=folder).returncode == 0
    return folder


def test_a_fit_says_what_it_proves(folder):
    done = here(*FIT, "--C", "5", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    said = dict(line.split(maxsplit=1) for line in done.stdout.splitlines())
    assert said["kernel"].startswith("RBF(gamma=0.5")
    model = linsep.load(folder / "m")
    many, inside = len(model.support_), len(model.bounded_support_)
    assert said["support"] == f"{many} support vectors, {inside} of them inside the margin"
    assert said["objective"].startswith(f"{model.objective_:.6g}, within ")
    assert said["stopped"].startswith("converged: the objective is within ")


def test_inspect_predict_and_tune(folder):
    shown = here("inspect", "m", "--json", cwd=folder)
    about = json.loads(shown.stdout)
    assert about["learner"] == "KernelSoftMargin"
    assert about["duality_gap"] < 1e-6
    found = here("predict", "m", "t.csv", cwd=folder).stdout.split()
    model = linsep.load(folder / "m")
    source = linsep.open_source(folder / "t.csv", recipe=model.recipe_)
    assert found == model.predict(source).tolist()
    tuned = here(
        "tune", "t.csv", "--target", "kind", "--learner", "kernel-soft-margin", "--cv", "3",
        "--grid", "C=1,10", "--grid", "gamma=0.1,1", cwd=folder,
    )  # fmt: skip
    assert tuned.returncode == 0
    assert "compared  4 models of 1 learner on 60 rows" in tuned.stdout


def test_what_is_refused_or_warned_of(folder):
    assert_refused(*FIT, "--C", "0", cwd=folder, said="--C must be a number above 0", exit_code=2)
    assert_refused(*FIT, "--C", "inf", cwd=folder, said="An infinite C requires", exit_code=2)
    (folder / "gram.csv").write_text("a,b,c,kind\n2,1,-1.9,in\n1,2,1,out\n-1.9,1,2,in\n")
    fit = ["fit", "gram.csv", *FIT[2:], "--scale", "none", "--kernel", "precomputed"]
    done = here(*fit, cwd=folder)
    assert "linsep: warning: The Gram matrix is not positive semidefinite" in done.stderr
    assert "gap to the optimum not proved" in done.stdout
    assert "so the gap to the optimum cannot be proved" in done.stdout
    assert_refused("export", "m", "m.sql", cwd=folder, said="export it to ONNX")
