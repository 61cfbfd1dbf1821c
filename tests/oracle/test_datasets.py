"""The data sets of the lecture notes; runs on their points are in test_worked_numbers.py."""

import sys

import numpy as np
import pandas as pd
import pytest

from linsep import LinearRegression, datasets
from linsep.errors import LinsepError
from refusals import refused


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


def test_frames_need_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with refused(LinsepError, "missing-package") as problem:
        datasets.load_line(as_frame=True)
    assert "pandas" in str(problem.value)
    assert datasets.load_line().frame is None


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
