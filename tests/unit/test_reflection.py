"""Reflected rows: the inequalities that separating weights satisfy."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from linsep import Perceptron, datasets, reflection
from refusals import refused


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_weights_separate_where_all_products_are_positive(fit_intercept):
    X, y = datasets.load_four_points(return_X_y=True)
    model = Perceptron(fit_intercept=fit_intercept).fit(X, y)
    w = np.append(model.intercept_, model.coef_)[not fit_intercept :]
    products = reflection(X, y, fit_intercept=fit_intercept).rows @ w
    assert products.tolist() == (y * model.decision_function(X)).tolist()
    assert (products > 0).all()


def test_the_students_of_the_notes(monkeypatch):
    monkeypatch.setenv("COLUMNS", "90")
    frame = datasets.load_students(as_frame=True)
    people = frame.data.set_index(pd.Index(["Jane", "Steve", "Mary", "Peter"]))
    found = reflection(people, frame.target, reference="F")
    assert found.rows.tolist() == [
        [1, 1, 1, -1, -1], [-1, -1, -1, -1, -1], [-1, 1, 1, 1, -1], [1, 1, -1, -1, 1]
    ]  # fmt: skip
    assert str(found).splitlines() == [
        "row    class  intercept  attendance  tall  sleeps  gum  allows",
        "Jane   A              1           1     1      -1   -1  a0 + a1 + a2 - a3 - a4 > 0",
        "Steve  F             -1          -1    -1      -1   -1  -a0 - a1 - a2 - a3 - a4 > 0",
        "Mary   F             -1           1     1       1   -1  -a0 + a1 + a2 + a3 - a4 > 0",
        "Peter  A              1           1    -1      -1    1  a0 + a1 - a2 - a3 + a4 > 0",
    ]
    assert (found.rows @ [-0.75, 1.25, -0.75, -0.75, -0.75] > 0).all()
    opposite = reflection(sp.csr_matrix(frame.data), frame.target)
    assert opposite.rows.tolist() == (0 - found.rows).tolist()
    assert opposite.weights == ["intercept", "x0", "x1", "x2", "x3"]


def test_bad_input():
    for X, y, how, code in (
        ([[1], [2], [3]], [1, 2, 3], {}, "class-count"), ([[1], [2]], [1, 1], {}, "class-count"),
        ([[1], [2]], [1, 2, 1], {}, "shape"),
        ([[1], [2]], [1, 2], {"reference": 3}, "unknown-label"),
        ([[1], [2]], [1, 2], {"feature_names": ["a", "b"]}, "shape"),
    ):  # fmt: skip
        with refused(ValueError, code):
            reflection(X, y, **how)
