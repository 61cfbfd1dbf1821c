"""``linsep bounds``: what linsep.bounds and the margins return, on the screen and as JSON."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_iris

import linsep
from command_line import assert_refused, here, table
from linsep import datasets
from linsep.validation.checks import of_features

ROWS, SIGNS = [(1, -1), (-1, -1), (0.05, 0), (-1, 0)], ["+", "+", "+", "-"]


@pytest.fixture
def files(tmp_path):
    X, y = datasets.load_four_points(return_X_y=True)
    table(tmp_path, "four.csv", ["x1", "x2", "y"], np.column_stack([X, y]).tolist())
    text = [f"{k} 1:{a} 2:{b}\n" for (a, b), k in zip(X, y, strict=True)]
    (tmp_path / "four.svm").write_text("".join(text))
    rows = [[*row, sign] for row, sign in zip(ROWS, SIGNS, strict=True)]
    table(tmp_path, "notes.csv", ["x1", "x2", "y"], rows)
    return tmp_path


def said(*arguments, cwd):
    done = here("bounds", *arguments, "--json", cwd=cwd)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", ["four.csv", "four.svm"])
def test_bounds_of_a_file_are_those_of_arrays(files, name):
    how = ("--target", "y") if name == "four.csv" else ()
    found = said(name, *how, "--no-fit-intercept", "--gamma", 2, cwd=files)
    X, y = datasets.load_four_points(return_X_y=True)
    expected = linsep.bounds(X, y, fit_intercept=False, gamma=2)
    values = {b["name"]: b["value"] for b in found["bounds"]}
    assert values == pytest.approx({b.name: b.value for b in expected}, rel=1e-9)
    assert [b["passes"] for b in found["bounds"][:3]] == [None, 1, 1]
    assert found["bounds"][1]["comparator"] == pytest.approx(list(expected["hinge"].comparator))
    assert found["left_out"] == expected.left_out
    assert found["margin"] == list(expected.margin)
    least = linsep.total_distance(X, y, 2.0, fit_intercept=False)
    assert found["total_distance"]["high"] == pytest.approx(least.high)
    assert found["total_distance"]["most_errors"] == pytest.approx(least.high / 2)


def test_margins_of_a_model(files):
    X, y = load_iris(return_X_y=True)
    table(files, "iris.csv", [*"abcd", "y"], np.column_stack([X, y]).tolist())
    for scale in ("none", "standard"):
        fit = ("fit", "iris.csv", "--target", "y", "--scale", scale, "--model", "m", "--force")
        assert here(*fit, cwd=files).returncode == 0
        model, rows = linsep.load(files / "m"), X
        if scale == "standard":
            rows = (X - X.mean(axis=0)) / X.std(axis=0)
        found = said("iris.csv", "--model", "m", cwd=files)
        with of_features():
            expected = linsep.geometric_margin(model, rows, y.astype(float))
        assert found["margins"]["geometric"] == pytest.approx(expected, rel=1e-9)
        assert found["longest"] == pytest.approx(
            (2 * ((rows**2).sum(axis=1) + 1).max()) ** 0.5 / 2**0.5
        )
    assert "unsigned" not in found["margins"]


def test_targets_of_winnow(files):
    rng = np.random.default_rng(1)
    X = (rng.random((60, 8)) < 0.5).astype(int)
    y = (X[:, :3].sum(axis=1) >= 2).astype(int)
    table(files, "bits.csv", [*"abcdefgh", "y"], np.column_stack([X, y]).tolist())
    found = said("bits.csv", "--target", "y", "--literals", 3, "--majority", 2, cwd=files)
    expected = linsep.bounds(X, y, literals=3, majority=2)["majority"]
    assert expected.value in [b["value"] for b in found["bounds"] if b["name"] == "majority"]


def test_what_does_not_fit_is_refused(files):
    for options, code in (
        (("--weights", "1,2"), 1), (("--weights", "1,2,3", "--target", "x1"), 1),
        (("--majority", 3), 2), (("--weights", "1,1,1", "--model", "m"), 2),
    ):  # fmt: skip
        assert_refused("bounds", "four.csv", "--target", "y", *options, cwd=files, exit_code=code)
