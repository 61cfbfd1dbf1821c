"""Soft margins on the command line: from a table to labels, probabilities and other programs."""

import json
import re

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

import linsep
from command_line import assert_refused, here

FIT = "fit", "train.csv", "--target", "target", "--learner", "soft-margin"
KERNEL = "fit", "train.csv", "--target", "target", "--learner", "kernel-soft-margin"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("soft")
    frame = load_breast_cancer(as_frame=True).frame.iloc[:, [0, 1, 4, 30]]
    frame["target"] = np.where(frame["target"] == 1, "benign", "malignant")
    parts = {"train": slice(0, 120), "held": slice(120, 300), "new": slice(300, 360)}
    for name, rows in parts.items():
        frame[rows].to_csv(folder / f"{name}.csv", index=False)
    (folder / "apart.csv").write_text("a,b,kind\n1,1,x\n2,1,x\n4,5,y\n5,5,y\n")
    return folder


@pytest.mark.parametrize("fit", [FIT, KERNEL])
def test_what_a_fit_prints(folder, fit):
    said = " ".join(here(*fit, "--C", 0.1, "--test", "new.csv", cwd=folder).stdout.split())
    found = re.search(
        r"objective ([\d.]+), within (\S+) of the optimum support (\d+) support vectors, "
        r"(\d+) of them inside the margin stopped converged: the objective is",
        said,
    )
    assert found is not None, said
    model = linsep.fit(folder / "train.csv", target="target", learner=fit[-1], C=0.1)
    assert float(found[1]) == pytest.approx(model.objective_, rel=1e-5)
    assert float(found[2]) < 1e-4
    assert [int(found[3]), int(found[4])] == [len(model.support_), len(model.bounded_support_)]


def test_all_that_a_model_is_for(folder, tmp_path):
    path = tmp_path / "m.linsep"
    assert here(*FIT, "--calibrate", "held.csv", "--model", path, cwd=folder).returncode == 0
    model = linsep.load(path)
    labels = here("predict", path, "new.csv", cwd=folder).stdout.split()
    assert labels == model.predict(folder / "new.csv").tolist()
    shares = here("predict", path, "new.csv", "--probabilities", cwd=folder).stdout.splitlines()
    assert float(shares[0].split()[1]) + float(shares[0].split()[2]) == pytest.approx(1)
    told = json.loads(here("score", path, "new.csv", "--json", cwd=folder).stdout)
    assert told["accuracy"] == pytest.approx(model.score(folder / "new.csv"))
    inspected = json.loads(here("inspect", path, "--json", cwd=folder).stdout)
    assert inspected["duality_gap"] == model.duality_gap_
    assert here("export", path, tmp_path / "m.sql", cwd=folder).returncode == 0


def test_a_kernel_is_inspected_and_predicts(folder, tmp_path):
    path = tmp_path / "k.linsep"
    assert here(*KERNEL, "--C", "5", "--model", path, cwd=folder).returncode == 0
    model = linsep.load(path)
    about = json.loads(here("inspect", path, "--json", cwd=folder).stdout)
    assert (about["learner"], about["duality_gap"]) == ("KernelSoftMargin", model.duality_gap_)
    labels = here("predict", path, "new.csv", cwd=folder).stdout.split()
    assert labels == model.predict(folder / "new.csv").tolist()


@pytest.mark.parametrize(
    "options", ["--C inf", "--C 0", "--loss square", "--kernel linear", "--keep average"]
)
def test_options_that_are_refused(folder, options):
    assert_refused(*FIT, *options.split(), cwd=folder, exit_code=2)
    if "inf" in options:
        assert_refused(*KERNEL, "--C", "inf", cwd=folder, code="bad-option", exit_code=2)


def test_a_matrix_that_is_no_kernel_proves_nothing(folder):
    (folder / "gram.csv").write_text("a,b,c,target\n2,1,-1.9,in\n1,2,1,out\n-1.9,1,2,in\n")
    fit = ["fit", "gram.csv", *KERNEL[2:], "--scale", "none", "--kernel", "precomputed"]
    done = here(*fit, cwd=folder)
    assert done.stderr.startswith("linsep: warning: ")
    assert "gap to the optimum not proved" in done.stdout


def test_a_hard_margin_is_where_the_advice_leads(folder):
    done = here("separate", "apart.csv", "--target", "kind", "--margin", "max", cwd=folder)
    low = float(re.search(r"margin +from ([\d.]+)", done.stdout)[1])
    model = linsep.fit(
        folder / "apart.csv", target="kind", learner="soft-margin", C=1e4, scale="none"
    )
    assert 1 / np.linalg.norm(model.coef_) == pytest.approx(low, rel=1e-5)
    assert model.n_bounded_.tolist() == [0]


def test_c_is_tuned_in_folds(folder):
    tune = ("tune", "train.csv", "--target", "target", "--learner", "soft-margin", "--cv", 3)
    found = json.loads(here(*tune, "--grid", "C=0.01,1", "--json", cwd=folder).stdout)
    assert [one["learner"] for one in found["models"]] == ["soft-margin"] * 2
    told = json.loads(here(*FIT, "--threshold", "recall=0.99", "--json", cwd=folder).stdout)
    assert told["threshold"]["measured"]["chosen"]["recall"] >= 0.99
