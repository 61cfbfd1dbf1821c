"""``details=True``: from files and on the command line as from arrays, within the time limit."""

import json
import pickle
import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

from command_line import here
from linsep import from_json, open_source, separation
from linsep.errors import ParameterError
from linsep.separability import data as rows_of_data, deciding_columns
from refusals import refused

pytestmark = pytest.mark.uncompiled


@pytest.fixture
def frame():
    """The sum of a and b separates y but for noise, where rare is 0; c is empty, d is b again."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(-5, 6, size=(2, 60))
    y = np.where(a + b + rng.integers(-3, 4, size=60) > 0, "yes", "no")
    rare = (np.arange(60) % 7 == 0) & (y == "yes")
    return pd.DataFrame({"a": a, "b": b, "rare": rare.astype(int), "c": 0, "d": b, "y": y})


def columns(verdict):
    found = verdict.deciding_columns
    return found.alone, found.touching, found.sufficient, found.minimal, found.needed


def test_quasi_separable(frame):
    X, y = frame.drop(columns="y"), frame["y"]
    verdict = separation(X, y, details=True)
    assert columns(verdict) == ((), (2,), (2,), True, (2,))
    text = re.sub(" +", " ", str(verdict))
    assert "\nalone rare: quasi-separates the classes without the others\n" in text
    assert "\nsufficient 1 of 5 columns gives the same verdict: rare\n" in text
    assert "\nneeded rare: if it is left out, the verdict changes\n" in text
    plain = separation(X, y)
    assert columns(plain) == ((), (2,), None, False, None)
    assert plain.deciding_columns.plain() == {"alone": [], "touching": ["rare"]}
    assert separation(X.to_numpy(), y).deciding_columns.plain()["touching"] == ["x2"]
    assert from_json(verdict.to_json()).deciding_columns is None
    assert columns(pickle.loads(pickle.dumps(verdict))) == columns(verdict)


def test_one_of_two_equal_columns(frame):
    X = frame[["b", "d", "a", "c"]]
    y = X["a"] + X["b"] > 0
    found = separation(X, y, details=True).deciding_columns
    assert found.sufficient in ((0, 2), (1, 2))
    assert found.needed == (2,)


@pytest.mark.parametrize("kind", ["quasi-separable", "separable"])
def test_files_sparse_rows_and_short_lanes(frame, tmp_path, monkeypatch, kind):
    frame = frame.sort_values("y") if kind == "separable" else frame
    if kind == "separable":
        frame["y"] = frame["a"] + frame["b"] > 0
    X, y = frame.drop(columns="y"), frame["y"]
    wanted = separation(X, y, details=True)
    assert wanted.kind == kind
    frame.to_csv(tmp_path / "t.csv", index=False)
    monkeypatch.setattr(rows_of_data, "LANE_VALUES", 20)
    monkeypatch.setattr(rows_of_data, "SPARSE_ROWS", 3)
    monkeypatch.setattr(deciding_columns, "FIRST_ROWS", 2)
    of_file = separation(open_source(tmp_path / "t.csv", target="y"), details=True)
    of_sparse = separation(sp.csr_matrix(X.to_numpy(dtype=float)), y, details=True)
    assert columns(of_file) == columns(of_sparse) == columns(wanted)


def test_command_line(frame, tmp_path):
    frame.to_csv(tmp_path / "t.csv", index=False)
    done = here("separate", "t.csv", "--target", "y", "--details", cwd=tmp_path)
    assert "\nsufficient  1 of 5 columns gives the same verdict: rare\n" in done.stdout
    done = here("separate", "t.csv", "--target", "y", "--details", "--json", cwd=tmp_path)
    (verdict,) = json.loads(done.stdout)["verdicts"]
    assert verdict["deciding_columns"] == {
        "alone": [], "touching": ["rare"], "sufficient": ["rare"], "minimal": True,
        "needed": ["rare"],
    }  # fmt: skip


def test_sums_of_columns_after_the_time(monkeypatch):
    """The verdict stands, with the smallest set that was found."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 8))
    y = X[:, 1] - X[:, 4] > 0
    tried = []

    def suffices(self, columns, whole=deciding_columns.ColumnSearch.suffices):
        tried.append(columns)
        if len(tried) > 2:
            raise deciding_columns.TooLarge
        return whole(self, columns)

    monkeypatch.setattr(deciding_columns.ColumnSearch, "suffices", suffices)
    verdict = separation(X, y, details=True)
    assert verdict.kind == "separable"
    found = verdict.deciding_columns
    assert (found.minimal, found.needed) == (False, None)
    assert {1, 4} <= set(found.sufficient)
    assert "the same verdict (the time was up before smaller sets were tried): " in str(verdict)
    verdict = separation(X, y, details=True, time_limit=1e-4)
    assert verdict.kind in ("separable", "undecided")


def test_gram_matrices_have_no_columns_that_decide():
    with refused(ParameterError, "conflict", option="K"):
        separation(K=[[1, 0], [0, 1]], y=[0, 1], details=True)


def test_the_overlap_of_files(tmp_path):
    X, y = load_iris(return_X_y=True, as_frame=True)
    X[50:].assign(y=y).to_csv(tmp_path / "two.csv", index=False)
    found = separation(X[50:], y[50:], details=True).overlap
    assert found.low <= 5.6 <= found.high < found.low + 1e-6
    assert (found.most, found.most_errors) == (100, 5)
    done = here("separate", "two.csv", "--target", "y", "--details", cwd=tmp_path)
    assert f"overlap     {found}" in done.stdout
    done = here("separate", "two.csv", "--target", "y", "--details", "--json", cwd=tmp_path)
    (verdict,) = json.loads(done.stdout)["verdicts"]
    assert verdict["overlap"] == found.plain()
