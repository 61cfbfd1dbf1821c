"""The data sets of the lecture notes."""

import numpy as np
import pandas as pd
import pytest
from test_worked_numbers import LONG, OVERLAP, SIGNED, XOR

from linsep import datasets


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


@pytest.mark.parametrize(
    ("name", "positive", "run"),
    [
        ("four_points", 1, SIGNED), ("exclusive_or", 1, XOR), ("five_points", 1, LONG),
        ("inseparable_points", 1, OVERLAP),
    ],
)  # fmt: skip
def test_points_are_those_of_the_runs(name, positive, run):
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    assert np.array_equal(X, run.X)
    assert np.where(y == positive, 1, -1).tolist() == run.y
