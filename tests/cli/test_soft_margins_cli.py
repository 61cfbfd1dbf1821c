"""Soft margins on the command line: from a table to labels, probabilities and other programs."""

import json

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


def test_options_that_are_refused(folder):
    for options in ("--C inf", "--loss square", "--kernel linear", "--keep average"):
        assert_refused(*FIT, *options.split(), cwd=folder, exit_code=2)


def test_c_is_tuned_in_folds(folder):
    tune = ("tune", "train.csv", "--target", "target", "--learner", "soft-margin", "--cv", 3)
    found = json.loads(here(*tune, "--grid", "C=0.01,1", "--json", cwd=folder).stdout)
    assert [one["learner"] for one in found["models"]] == ["soft-margin"] * 2
    told = json.loads(here(*FIT, "--threshold", "recall=0.99", "--json", cwd=folder).stdout)
    assert told["threshold"]["measured"]["chosen"]["recall"] >= 0.99
