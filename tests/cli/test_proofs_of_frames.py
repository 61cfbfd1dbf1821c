"""What is proved and shown of a data frame is what commands say of the file with its columns."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import linsep
from command_line import here
from linsep.errors import DataError
from refusals import refused

pytestmark = pytest.mark.uncompiled

FORMS = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "Arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


@pytest.fixture
def people(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 80, 60),
            "city": rng.choice(["Bonn", "Aachen", "Köln"], 60),
            "member": rng.random(60) < 0.5,
        },
    )
    y = pd.Series(np.where(X.age + 10 * (X.city == "Bonn") > 50, "old", "young"), name="label")
    X.assign(label=y).to_csv("people.csv", index=False)
    return X, y


def said(*command):
    done = here(*command, "--target", "label", cwd=".")
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(params=FORMS)
def rows(people, request):
    X, y = people
    return FORMS[request.param](X), y if request.param == "pandas" else y.to_numpy()


def test_separation(rows):
    of_command = json.loads(said("separate", "people.csv", "--json"))
    found = json.loads(linsep.separation(*rows).to_json())
    del of_command["recipe"], of_command["checked"], found["recipe"]
    for verdict in of_command["verdicts"]:
        del verdict["deciding_columns"]  # which are no part of the proof
    assert found == of_command
    assert json.loads(linsep.Perceptron().separation(*rows).to_json()) == found | {"recipe": None}


def test_bounds(rows):
    of_command = said("bounds", "people.csv", "--gamma", "0.1")
    assert str(linsep.bounds(*rows, gamma=0.1)) == of_command.split("\n\n")[0].strip()


def test_trace(rows):
    of_command = said("trace", "people.csv", "--max-iter", "2", "--format", "csv")
    names = [f"line {k + 2}" for k in range(60)]
    found = linsep.trace(
        linsep.Perceptron(max_iter=2, random_state=0), *rows, row_names=names
    ).to_csv()
    assert found == of_command


def encoded(people):
    y = people[1]
    of_file = linsep.open_source("people.csv", target="label")
    (batch,) = of_file.batches()
    return pd.DataFrame(batch.X.toarray(), columns=of_file.feature_names), y


def test_reflection_and_convergence(rows, people):
    of_numbers = encoded(people)
    assert str(linsep.reflection(*rows)) == str(linsep.reflection(*of_numbers))
    learner = linsep.Perceptron(max_iter=5)
    assert str(linsep.convergence(learner, *rows)) == str(linsep.convergence(learner, *of_numbers))


@pytest.mark.parametrize("scale", ["none", "standard"])
def test_margins_and_bounds_of_a_model(rows, people, scale):
    X, y = people
    model = linsep.fit(X.assign(label=y), target="label", scale=scale)
    features = model.features_of(X)
    assert features.shape == (60, 5)
    again = linsep.Perceptron(max_iter=10, keep="average").fit(features, y)
    assert linsep.geometric_margin(model, *rows) == linsep.geometric_margin(again, features, y)
    assert linsep.unsigned_margin(model, rows[0]) == linsep.unsigned_margin(again, features)
    assert str(model.bounds(*rows)) == str(again.bounds(features, y))
    with refused(DataError, "other-rows"):
        model.bounds(X[::-1].reset_index(drop=True), y)


def test_unit_rows_and_kernels(rows, people):
    X, y = encoded(people)
    for learner in (linsep.Perceptron(normalize=True), linsep.KernelPerceptron(kernel="poly")):
        found, known = learner.separation(*rows), learner.separation(X.to_numpy(), y)
        assert str(found).splitlines()[3:] == str(known).splitlines()[3:]


def test_what_takes_no_frame_names_what_does(people):
    verdict = linsep.separation(*people)
    source = linsep.open_source(people[0].assign(label=people[1]), target="label")
    assert verdict.verify(source)
    with pytest.raises(TypeError, match=r"linsep.open_source\('people.csv', target=...\)"):
        linsep.separation("people.csv")


def test_a_verdict_is_checked_on_the_frame(rows):
    X, y = rows
    verdict = linsep.separation(X, y)
    assert verdict.verify(X, y)
    assert not verdict.verify(X, np.where(np.arange(60) < 30, "old", "young"))
    read = linsep.from_json(verdict.to_json())
    assert read.verify(X, y)


@pytest.mark.compiled
@pytest.mark.parametrize("learner", ["perceptron", "kernel", "naive-bayes"])
def test_a_model_is_drawn_with_the_frame(rows, learner):
    X, y = rows
    model = linsep.fit(pd.read_csv("people.csv"), target="label", learner=learner)
    drawn = model.plot(X, y)
    features = model.features_of(X)
    # the first coordinate of a curved boundary is the score
    assert drawn.points[:, 1].tolist() == drawn.plane.coordinates(features)[:, 1].tolist()
    assert ((drawn.points[:, 0] > 0) == (model.predict(X) == model.classes_[1])).all()
