"""Models as equations: read as text and computed, they predict what the model predicts."""

import re

import numpy as np
import pytest
from sklearn.datasets import load_iris

import linsep
from linsep import (
    GaussianNaiveBayes,
    KernelPerceptron,
    KernelSoftMargin,
    LinearRegression,
    LogisticRegression,
    Perceptron,
    datasets,
)
from linsep.linear.least_squares import DependentFeaturesWarning

IRIS = load_iris(as_frame=True)
FRAME = IRIS.data.set_axis(["sl", "sw", "pl", "pw"], axis=1)
SPECIES = IRIS.target_names[IRIS.target]
TWO = IRIS.target > 0


def side(text, frame):
    """The value of one side of an equation, as it is written, for every row of a frame."""
    signs = {"+": 1.0, "-": -1.0}
    parts = re.split(r" ([+-]) ", text)
    total = np.zeros(len(frame))
    for sign, term in zip(["+", *parts[1::2]], parts[::2], strict=True):
        number, _, name = term.rpartition(" ")
        if name in frame:
            column = frame[name]
        elif name == "|x|":
            column = np.linalg.norm(frame, axis=1)
        elif name.lstrip("-") in frame:  # a weight of 1
            number, column = f"{name[: -len(name.lstrip('-'))]}1", frame[name.lstrip("-")]
        else:
            number, column = name, 1.0
        total += signs[sign] * float(number or 1) * np.asarray(column)
    return total


def scores(model, frame):
    """Left minus right of every line that says what a positive score means."""
    lines = [line for line in str(model.equation_).splitlines() if " > " in line]
    sides = [line.split(" means ")[0].split(" > ") for line in lines]
    return np.array([side(left, frame) - side(right, frame) for left, right in sides])


def test_the_equations_of_the_notes():
    X, y = datasets.load_students(return_X_y=True, as_frame=True)
    start = {"coef_init": [[0.25] * 4], "intercept_init": [0.25]}
    model = Perceptron(shuffle=False).fit(X, np.where(y == "A", "pass: A", "fail"), **start)
    assert str(model.equation_) == (
        "1.25 attendance - 0.75 tall - 0.75 sleeps - 0.75 gum > 0.75 means pass: A"
    )
    X, y = datasets.load_blood_pressure(return_X_y=True, as_frame=True)
    model = LinearRegression().fit(X, y.rename("pressure"))
    assert str(model.equation_) == "pressure = 98.71 + 0.9709 age"
    X, y = datasets.load_five_points(return_X_y=True)
    model = Perceptron(shuffle=False, max_iter=500).fit(
        X, y, coef_init=[[0, 0]], intercept_init=[-1]
    )
    assert str(model.equation_) == "12 x0 + 2 x1 > 31 means 1"


def test_scores_of_several_classes_and_pairs():
    model = Perceptron(max_iter=5).fit(FRAME, SPECIES)
    lines = str(model.equation_).splitlines()
    assert lines.pop() == "The class with the largest score is predicted."
    heads, texts = zip(*(line.split(" = ") for line in lines), strict=True)
    assert heads == tuple(f"score of {label}" for label in model.classes_)
    values = np.column_stack([side(text, FRAME) for text in texts])
    assert values == pytest.approx(model.decision_function(FRAME), abs=2e-3 * np.abs(values).max())
    pairs = Perceptron(multiclass="ovo", max_iter=5).fit(FRAME, SPECIES)
    lines = str(pairs.equation_).splitlines()
    assert [line.split(" means ")[1] for line in lines[:-1]] == [
        "versicolor, else setosa", "virginica, else setosa", "virginica, else versicolor"
    ]  # fmt: skip
    known = FRAME.to_numpy() @ pairs.coef_.T + pairs.intercept_
    assert pytest.approx(known, abs=2e-3 * np.abs(known).max()) == scores(pairs, FRAME).T


def test_log_odds():
    model = LogisticRegression().fit(FRAME[TWO], SPECIES[TWO])
    head, text = str(model.equation_).split(" = ")
    assert head == "log-odds of virginica"
    odds = np.log(model.predict_proba(FRAME[TWO]))
    assert side(text, FRAME[TWO]) == pytest.approx(odds[:, 1] - odds[:, 0], abs=0.05)
    three = LogisticRegression(l2=1.0).fit(FRAME, SPECIES)
    first, second = str(three.equation_).splitlines()
    assert first.startswith("log-odds of setosa against virginica = ")
    odds = np.log(three.predict_proba(FRAME))
    assert side(second.split(" = ")[1], FRAME) == pytest.approx(odds[:, 1] - odds[:, 2], abs=0.02)
    bayes = GaussianNaiveBayes().fit(FRAME[TWO], SPECIES[TWO])
    odds = np.log(bayes.predict_proba(FRAME[TWO]))
    text = str(bayes.equation_).removeprefix("log-odds of virginica = ")
    assert side(text, FRAME[TWO]) == pytest.approx(odds[:, 1] - odds[:, 0], abs=0.05)


def test_the_scaling_of_a_table_is_part_of_the_equation(tmp_path):
    table = FRAME[TWO].assign(color=np.where(FRAME["sl"][TWO] > 6, "red", "blue"))
    table.assign(kind=SPECIES[TWO]).to_csv(tmp_path / "t.csv", index=False)
    source = linsep.open_source(tmp_path / "t.csv", target="kind", scale="standard")
    model = LogisticRegression(l2=1.0).fit(source)
    text = str(model.equation_)
    frame = table.assign(**{
        name: (table["color"] == name.split("=")[1]).astype(float)
        for name in model.feature_names_in_[4:]
    }).drop(columns="color")  # fmt: skip
    known = np.asarray(model.decision_function(source))
    assert side(text.split(" = ", 1)[1], frame) == pytest.approx(known, abs=0.05)
    linsep.save(model, tmp_path / "m")
    assert str(linsep.load(tmp_path / "m").equation_) == text


def test_numbers_names_and_signs():
    X = np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 4.0]])
    model = LinearRegression(fit_intercept=False).fit(X[:, 1:], -X[:, 1])
    assert str(model.equation_) == "y = -x0"
    with pytest.warns(DependentFeaturesWarning):
        model = LinearRegression().fit(X, [20_001.5, 1e6, 3e16])
    assert re.fullmatch(r"y = -1\.\d+e\+16 \+ 1\.\d+e\+16 x1", str(model.equation_))
    ties = Perceptron(tie="positive", fit_intercept=False).fit([[1.0], [-1.0]], ["a\x1b", "b"])
    assert str(ties.equation_) == "-x0 >= 0 means b"
    wide = LinearRegression().fit(np.eye(40)[:, :30], np.arange(40.0))
    text = str(wide.equation_)
    assert text.endswith(" + 10 smaller terms")
    assert text.count(" x") == 20


def test_what_has_no_equation():
    for model in (
        Perceptron(keep="vote", max_iter=2).fit(FRAME, SPECIES),
        KernelPerceptron(max_iter=2).fit(FRAME, SPECIES),
        KernelSoftMargin().fit(FRAME, SPECIES),
        Perceptron(),
        LinearRegression(),
    ):
        assert not hasattr(model, "equation_")
