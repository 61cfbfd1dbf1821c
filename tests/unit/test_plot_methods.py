"""Estimators and results draw themselves, with the picture that is right for them."""

import subprocess
import sys

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

import linsep
from linsep import descent, plot

pytestmark = pytest.mark.compiled

X, Y = load_iris(return_X_y=True, as_frame=True)
TWO, SIDES = X[Y > 0], Y[Y > 0]
WIDTH = TWO[["petal width (cm)"]]


def test_an_estimator_draws_itself():
    for model, rows, labels, display in [
        (linsep.Perceptron(max_iter=5), X, Y, plot.DecisionDisplay),
        (linsep.PassiveAggressive(max_iter=5), TWO, SIDES, plot.DecisionDisplay),
        (linsep.KernelPerceptron(max_iter=5), X.iloc[:, :2], Y, plot.DecisionDisplay),
        (linsep.LogisticRegression(), WIDTH, SIDES, plot.LogisticDisplay),
        (linsep.LogisticRegression(), TWO.iloc[:, :2], SIDES, plot.LogisticDisplay),
        (linsep.LogisticRegression(), TWO, SIDES, plot.DecisionDisplay),
        (linsep.LogisticRegression(l2=1.0), X.iloc[:, :2], Y, plot.DecisionDisplay),
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


def test_keywords_choose_among_the_features():
    model = linsep.LinearRegression().fit(TWO.iloc[:, :3], TWO.iloc[:, 3])
    drawn = model.plot(TWO.iloc[:, :3], TWO.iloc[:, 3], feature=1)
    assert isinstance(drawn, plot.RegressionDisplay)
    assert drawn.ax_.get_xlabel() == "sepal width (cm)"


def test_a_summary_draws_its_coefficients():
    summary = linsep.LogisticRegression().fit(TWO, SIDES).summary()
    drawn = summary.plot(odds=True, intercept=True)
    assert drawn.names == [row.name for row in summary.coefficients]
    assert np.allclose(drawn.estimates, np.exp([row.estimate for row in summary.coefficients]))


def test_assumptions_draw_themselves():
    model = linsep.LinearRegression().fit(TWO.iloc[:, :3], TWO.iloc[:, 3])
    found = model.assumptions(TWO.iloc[:, :3], TWO.iloc[:, 3])
    drawn = found.plot(size=9.0)
    assert isinstance(drawn, plot.AssumptionsDisplay)
    assert drawn.found is found


def test_a_descent_draws_its_path():
    found = descent.minimize(lambda x: float(x @ x), [3.0], lambda x: 2 * x, trace=True)
    drawn = found.plot(lambda x: float(x @ x))
    assert isinstance(drawn, plot.DescentDisplay)


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


def test_nothing_of_matplotlib_is_imported_before_a_picture_is_drawn():
    script = (
        "import sys, linsep; linsep.Perceptron().fit([[1.0], [2.0]], [0, 1]); "
        "linsep.LinearRegression().fit([[1.0], [2.0], [4.0]], [0, 1, 5]).summary(); "
        "sys.exit('matplotlib' in sys.modules or 'linsep.plot' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
