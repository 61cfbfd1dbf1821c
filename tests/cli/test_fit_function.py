"""``linsep.fit`` in Python is the command ``linsep fit``: the same bits from the same data."""

import json
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest

import linsep
from command_line import here
from documents import ROOT
from linsep.catalog import USUAL
from linsep.errors import DataError, ParameterError
from linsep.parameters import parameters_of
from refusals import refused


@pytest.fixture
def people(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    n = 120
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "height": rng.standard_normal(n).round(3),
            "city": rng.choice(["Bonn", "Aachen", "Ulm"], n),
            "rank": rng.integers(1, 5, n),
            "far": rng.integers(0, n, n) / 8 - 2e6,
        }
    )
    score = frame.age + 10 * (frame.city == "Bonn") + 4 * frame["rank"] + 5 * frame.height
    return frame.assign(label=np.where(score + 9 * rng.standard_normal(n) > 60, "old", "young"))


def command(frame, learner, *options):
    frame.to_csv("people.csv", index=False)
    saved = ("--model", "m.linsep", "--force")
    done = here(
        "fit", "people.csv", "--target", "label", "--learner", learner, *saved, *options, cwd="."
    )
    assert done.returncode == 0, done.stderr
    return linsep.load("m.linsep")


@pytest.mark.parametrize("learner", ["perceptron", "kernel", "linear", "logistic", "naive-bayes"])
@pytest.mark.parametrize("form", ["pandas", "polars", "CSV", "Parquet"])
def test_the_bits_of_the_command(people, learner, form):
    if learner == "linear":
        people["label"] = people.age * 2.0 + people.height
    of_command = command(people, learner, "--categorical", "rank")
    people.to_parquet("people.parquet")
    data = {"pandas": people, "polars": pl.from_pandas(people), "CSV": "people.csv",
            "Parquet": "people.parquet"}[form]  # fmt: skip
    model = linsep.fit(data, target="label", learner=learner, categorical="rank")
    raw = people.drop(columns="label")
    assert model.predict(raw).tolist() == of_command.predict(raw).tolist()
    assert model.predict(raw).tolist() == of_command.predict("people.csv").tolist()
    if hasattr(model, "coef_"):
        assert model.coef_.tobytes() == of_command.coef_.tobytes()
        assert np.array_equal(model.intercept_, of_command.intercept_)
    assert model.recipe_ == of_command.recipe_ | {"delimiter": None}


def test_results_of_functions_are_those_of_commands(people):
    """As JSON, and printed."""
    command(people, "logistic", "--l2", "1")
    model = linsep.fit(people, target="label", learner="logistic", l2=1.0)
    grid = {"learner": "logistic", "grid": {"l2": [0.1, 1.0]}, "cv": 3}
    results = {
        "inspect m.linsep --top 2": linsep.inspect("m.linsep", 2),
        "audit m.linsep people.csv --row 3": linsep.explain(model, people, 2),
        "effects m.linsep people.csv --at age=40": linsep.effects(model, people, at={"age": 40}),
        "tune people.csv --target label --learner logistic --grid l2=0.1,1 --cv 3": linsep.tune(
            people, "label", **grid
        ),
        "fit people.csv --target label --learner logistic --l2 1": model.report(),
    }
    of_files = {"row", "recipe", "seconds", "command", "model", "test"}
    for words, found in results.items():
        told, ours = json.loads(here(*words.split(), "--json", cwd=".").stdout), found.to_dict()
        for name in ours.keys() - of_files:
            assert ours[name] == told[name], name
        printed = here(*words.split(), cwd=".").stdout.splitlines()
        lines = {line for line in str(found).splitlines() if not re.match("row|time", line)}
        assert lines <= {*printed}
    *_, (_, tuned), _ = results.items()
    best = linsep.fit(people, "label", learner="logistic", l2=tuned.best["l2"])
    assert tuned.fitted.coef_.tobytes() == best.coef_.tobytes()


def test_functions_of_models_refuse(people):
    curve = linsep.fit(people, target="label", learner="kernel")
    line = linsep.Perceptron().fit([[1.0], [3.0]], [0, 1])
    for function, code, *given in (
        (linsep.explain, "unsupported", curve, people),
        (linsep.effects, "unsupported", curve, people),
        (linsep.explain, "out-of-range", line, [[1.0]], -1),
    ):  # fmt: skip
        with refused(DataError, code):
            function(*given)
    for wrong in ({"learner": "tree"}, {"metric": "f1"}, {"cv": 3, "grid": {"nothing": [1]}}):
        with pytest.raises(ParameterError):
            linsep.tune(people, "label", **wrong)


def test_options_of_reading_and_of_the_learner(people):
    people.loc[3, "height"] = np.nan
    model = linsep.fit(
        people, target="label", exclude="ra*", missing="drop", scale="none", keep="last",
        max_iter=3, random_state=7, class_weight="balanced", reference="old",
    )  # fmt: skip
    of_command = command(
        people, "perceptron", "--exclude", "ra*", "--missing", "drop", "--scale", "none", "--keep",
        "last", "--max-iter", "3", "--random-state", "7", "--class-weight", "balanced",
        "--reference", "old",
    )  # fmt: skip
    assert model.coef_.tobytes() == of_command.coef_.tobytes()
    assert model.get_params()["learner__max_iter"] == 3


def test_scores_and_calibration(people):
    model = linsep.fit(people[:80], target="label", test=people[80:], calibrate=people[80:])
    assert model.test_scores_["rows"] == 40
    assert model.test_scores_["accuracy"] == model.score(people[80:], people.label[80:])
    assert model.predict_proba(people[80:]).shape == (40, 2)


def test_refusals(people):
    for options, error, code in (
        ({"learner": "percptron"}, ParameterError, "bad-option"),
        ({"target": "lable"}, DataError, "unknown-column"),
        ({"keep": "first"}, ValueError, "bad-option"),
    ):
        with refused(error, code):
            linsep.fit(people, **{"target": "label"} | options)
    for options in ({"keeep": "last"}, {"alpha": 1}, {"learner": "linear", "reference": 1}):
        with pytest.raises(TypeError):
            linsep.fit(people, **{"target": "label"} | options)
    with pytest.raises(TypeError):
        linsep.Perceptron().fit("x.csv")


@pytest.mark.parametrize("learner", ["perceptron", "linear"])
def test_frames_and_files_are_scored_by_their_own_labels(people, learner):
    target = "age" if learner == "linear" else "label"
    model = linsep.fit(people[:80], target=target, learner=learner)
    new = people[80:].reset_index(drop=True)
    new.to_csv("new.csv", index=False)
    expected = model.score(new, new[target])
    assert model.score(new) == pytest.approx(expected, rel=1e-12)
    assert model.score("new.csv") == pytest.approx(expected, rel=1e-12)
    with pytest.raises((DataError, ValueError)):
        model.score(new.drop(columns=target))


def test_the_table_of_defaults_is_true():
    page = (ROOT / "docs" / "how-to/files.md").read_text("utf-8")
    row = r"^\|[^|]*\(`(\w+)`\) \|(.*)\|(.*)\|$"
    said = {
        name: (of_fit.strip(), plain.strip().replace(",", ""))
        for name, of_fit, plain in re.findall(row, page, re.M)
    }
    plain = {name: str(parameters_of(linsep.Perceptron)[name].default) for name in USUAL}
    known = {name: (str(value), plain[name]) for name, value in USUAL.items()}
    assert said == known | {"scale": ("standard", "none")}
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "y": [0, 1, 1]})
    assert linsep.fit(frame, target="y").recipe_["scale"]
    assert not linsep.open_source(frame, target="y").recipe()["scale"]
