"""Estimators and results draw themselves, also in a notebook."""

import pickle

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

import linsep
from linsep import (
    LogisticRegression,
    Perceptron,
    datasets,
    descent,
    drawing,
    plot,
)

X, Y = load_iris(return_X_y=True, as_frame=True)
TWO, SIDES = X[Y > 0], Y[Y > 0]
WIDTH = TWO[["petal width (cm)"]]


def test_an_estimator_draws_itself():
    for model, rows, labels, display in [
        (linsep.Perceptron(max_iter=5), X, Y, plot.DecisionDisplay),
        (linsep.LogisticRegression(), WIDTH, SIDES, plot.LogisticDisplay),
        (linsep.LogisticRegression(), TWO.iloc[:, :2], SIDES, plot.LogisticDisplay),
        (linsep.LogisticRegression(), TWO, SIDES, plot.DecisionDisplay),
        (linsep.GaussianNaiveBayes(), WIDTH, SIDES, plot.LogisticDisplay),
        (linsep.GaussianNaiveBayes(), X, Y, plot.DecisionDisplay),
        (linsep.LinearRegression(), WIDTH, TWO.iloc[:, 0], plot.RegressionDisplay),
        (linsep.LinearRegression(), TWO.iloc[:, :3], TWO.iloc[:, 3], plot.CoefficientDisplay),
    ]:
        with pytest.raises(NotFittedError):
            model.plot(rows, labels)
        drawn = model.fit(rows, labels).plot(rows, labels)
        assert type(drawn) is display
        mine = Figure().add_subplot()
        assert model.plot(rows, labels, ax=mine).ax_ is mine
    chosen = model.plot(rows, labels, feature=1)
    assert isinstance(chosen, plot.RegressionDisplay)
    assert chosen.ax_.get_xlabel() == "sepal width (cm)"
    assert isinstance(model.assumptions(rows, labels).plot(), plot.AssumptionsDisplay)


def test_a_verdict_a_cycle_and_a_trace_draw_themselves():
    X, y = np.array([[4.0, 0], [1, 1], [0, 1], [-2, -2]]), np.array([1, -1, -1, 1])
    drawn = linsep.separation(X, y, margin="max").plot(X, y)
    assert isinstance(drawn, plot.SeparationDisplay)
    X, y = [[0.0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1]
    cycle = linsep.Perceptron(shuffle=False).fit(X, y).cycle_
    assert isinstance(cycle.plot(X, y), plot.CycleDisplay)
    made = linsep.trace(linsep.Perceptron(shuffle=False, max_iter=2), X, y, feature_names="ab")
    drawn = made.plot()
    assert isinstance(drawn, plot.UpdateDisplay)
    assert len(drawn.updates) == min(9, sum(row.updates for row in made))
    assert drawn.names == ["a", "b"]
    assert [one.mistake for one in made.plot(mistake=2, n_mistakes=1).updates] == [2]
    found = descent.minimize(lambda x: float(x @ x), [3.0], lambda x: 2 * x, trace=True)
    assert isinstance(found.plot(lambda x: float(x @ x)), plot.DescentDisplay)


ROWS, KINDS = load_iris(return_X_y=True)
PICTURE = 'src="data:image/png;base64,iVBOR'


def test_the_picture_is_beside_the_table(monkeypatch):
    rows, labels = datasets.load_inseparable_points(return_X_y=True)
    begin = {"coef_init": [1, 1], "intercept_init": 1}
    results = [
        linsep.separation(ROWS, KINDS == 0),
        linsep.trace(Perceptron(shuffle=False), rows, labels, max_rounds=20),
        LogisticRegression(l2=1.0).fit(ROWS, KINDS).summary(),
        Perceptron(shuffle=False).fit(rows, labels, **begin).cycle_,
    ]
    shown = [result._repr_html_() for result in results]
    monkeypatch.setattr(drawing, "find_spec", lambda _: None)
    for html, result in zip(shown, results, strict=True):
        alone = result._repr_html_()
        assert PICTURE in html
        assert PICTURE not in alone
        assert alone in html


def test_what_is_large_or_cannot_be_drawn_is_a_table():
    many = np.vstack([ROWS] * 10)
    for result in (
        linsep.separation(many, np.tile(KINDS == 0, 10)),  # 1,500 rows
        linsep.separation(ROWS[:, :1], KINDS == 0),  # no plane
        linsep.separation(ROWS, KINDS),  # several verdicts
        linsep.trace(Perceptron(), ROWS, KINDS == 1, max_rounds=101),
        linsep.trace(Perceptron(shuffle=False), ROWS, KINDS, max_rounds=9),  # three classes
    ):
        shown = result._repr_html_()
        assert "<table>" in shown
        assert "<img" not in shown


def test_rows_that_a_verdict_remembers_are_not_part_of_it():
    found = linsep.separation(ROWS, KINDS == 0)
    again = pickle.loads(pickle.dumps(found))
    assert again == found
    assert again.__dict__.keys() < found.__dict__.keys()
    assert "<img" not in again._repr_html_()
    assert again.verify(ROWS, KINDS == 0)
