"""The data sets of the lecture notes; runs on their points are in test_worked_numbers.py."""

import sys

import numpy as np
import pandas as pd
import pytest

from linsep import datasets
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
