"""Which learner `linsep describe` names, for which reason, and that its command runs."""

import shlex

import numpy as np
import pandas as pd
import pytest

import linsep
from command_line import here

pytestmark = pytest.mark.compiled


def table(rows, classes=2, noise=3.0, levels=3, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.normal(size=rows), "b": rng.normal(size=rows)})
    X["town"] = rng.choice([f"t{j}" for j in range(levels)], rows)
    scores = X.a.to_numpy()[:, None] * np.arange(classes) + noise * rng.normal(size=(rows, classes))
    return X.assign(y=[f"class {code}" for code in scores.argmax(axis=1)])


def apart(rows):
    frame = table(rows, noise=0.0)
    return frame.assign(y=np.where(frame.a > 0, "yes", "no"))


TABLES = {
    "overlapping": (lambda: table(300), "logistic", "the classes overlap"),
    "several classes": (lambda: table(300, classes=4), "logistic", "the classes overlap"),
    "separable": (lambda: apart(300), "perceptron", "separate"),
    "many weights": (lambda: table(2000, classes=8, levels=80), "perceptron", "any number"),
    "numbers": (lambda: table(300).assign(y=lambda t: t.a + t.b), "linear", "a number"),
}


SLOW = {"many weights": pytest.mark.thorough}


@pytest.mark.parametrize("name", [pytest.param(n, marks=SLOW.get(n, ())) for n in TABLES])
def test_the_learner_and_its_reason(name, tmp_path):
    make, learner, reason = TABLES[name]
    frame = make()
    found = linsep.describe(frame, target="y")
    assert found.learner["name"] == learner
    assert reason in found.learner["reason"]
    assert f"learner='{learner}'" in found.next
    frame.to_csv(tmp_path / "t.csv", index=False)
    said = here("describe", "t.csv", "--target", "y", cwd=tmp_path).stdout
    assert f"{learner}: " in said
    command = linsep.describe(tmp_path / "t.csv", target="y").next
    assert here(*shlex.split(command)[1:], cwd=tmp_path).returncode == 0


def test_the_call_for_a_frame_learns():
    frame = table(300)
    model = eval(linsep.describe(frame, target="y").next, {"linsep": linsep, "frame": frame})
    assert isinstance(model, linsep.LogisticRegression)
    assert model.l2 == 1


def test_a_test_file_is_split_without_a_verdict_and_without_a_learner(tmp_path):
    table(300).to_csv(tmp_path / "t.csv", index=False)
    said = here("split", "t.csv", "--test", "0.2", "--target", "y", cwd=tmp_path).stdout
    assert "--learner" not in said
