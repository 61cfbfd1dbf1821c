"""The data sets of the lecture notes give the numbers that the notes print."""

import numpy as np
import pandas as pd
import pytest

from linsep import LinearRegression, Perceptron, datasets, separation

pytestmark = pytest.mark.compiled


def perceptron(**options):
    return Perceptron(shuffle=False, **options)


@pytest.mark.parametrize("name", datasets.__all__)
def test_data_come_as_those_of_scikit_learn(name):
    load = getattr(datasets, name)
    bunch, framed = load(), load(as_frame=True)
    assert bunch.data.shape == (len(bunch.target), len(bunch.feature_names))
    assert bunch.DESCR.endswith(".")
    assert bunch.frame is None
    assert isinstance(framed.frame, pd.DataFrame)
    assert list(framed.data.columns) == bunch.feature_names
    assert np.array_equal(framed.frame[framed.target.name], bunch.target)
    X, y = load(return_X_y=True)
    assert np.array_equal(X, bunch.data)
    assert np.array_equal(y, bunch.target)
    bunch.data[:] = 0  # no call sees what another has changed
    assert load().data.any()


def test_runs_are_those_of_the_notes():
    X, y = datasets.load_four_points(return_X_y=True)
    model = perceptron(fit_intercept=False).fit(X, y)
    assert (model.mistakes_.tolist(), model.coef_.tolist()) == ([3, 0], [[1.0, -3.0]])
    X, y = datasets.load_exclusive_or(return_X_y=True)
    assert perceptron(fit_intercept=False).fit(X, y).stop_reason_ == "cycle"
    X, y = datasets.load_five_points(return_X_y=True)
    model = perceptron().fit(X, y, coef_init=[[0, 0]], intercept_init=[-1])
    assert (model.n_iter_, model.n_updates_) == (232, 446)
    assert (model.intercept_.tolist(), model.coef_.tolist()) == ([-31.0], [[12.0, 2.0]])
    X, y = datasets.load_inseparable_points(return_X_y=True)
    model = perceptron().fit(X, y == 1, coef_init=[[1, 1]], intercept_init=[1])
    assert (model.cycle_.first, model.cycle_.again) == (121, 130)
    assert separation(X, y).kind == "overlapping"
    X, y = datasets.load_students(return_X_y=True)
    start = {"coef_init": [[0.25] * 4], "intercept_init": [0.25]}
    model = perceptron().fit(X, y == "A", **start)
    assert [*model.intercept_, *model.coef_[0]] == [-0.75, 1.25, -0.75, -0.75, -0.75]


def test_lines_are_those_of_the_notes():
    model = LinearRegression().fit(*datasets.load_line(return_X_y=True))
    assert [*model.coef_, model.intercept_] == pytest.approx([1.16216, 1.10811], abs=5e-6)
    assert model.correlation_ == pytest.approx(0.98032, abs=5e-6)
    X, y = datasets.load_blood_pressure(return_X_y=True)
    assert [X.mean(), y.mean()] == pytest.approx([45.13, 142.53], abs=5e-3)
    moments = np.cov(X[:, 0], y)
    assert [moments[0, 0], moments[1, 1], moments[0, 1]] == pytest.approx(
        [233.91, 509.91, 227.10], abs=5e-3
    )
    model = LinearRegression().fit(X, y)
    assert [*model.coef_, model.intercept_] == pytest.approx([0.97, 98.71], abs=5e-3)
