"""Warnings point at the line of the user."""

import warnings

import numpy as np
import pandas as pd

import linsep
from linsep import GaussianNaiveBayes, LinearRegression, LogisticRegression, Perceptron

X = np.array([[0.0, 1.0], [1.0, 2.0], [2.0, 3.0], [3.0, 4.0], [4.0, 5.0], [5.0, 6.0]])
FRAME = pd.DataFrame(X, columns=["a", "b"])
HALVES = [0, 0, 0, 1, 1, 1]
NAMES = pd.Series(["u", "v"] * 3)
CALLS = {
    "many classes": lambda: Perceptron().fit(np.vstack([X] * 4), np.arange(24.0)),
    "dependent": lambda: LinearRegression().fit(X, [1.0, 2, 2, 3, 5, 8]),
    "separable": lambda: LogisticRegression().fit(X[:, :1], HALVES),
    "weightless": lambda: Perceptron().fit(X, [0, 1, 2] * 2, sample_weight=[1, 1, 0] * 2),
    "without width": lambda: GaussianNaiveBayes().fit(np.array([HALVES, X[:, 0]]).T, HALVES),
    "other order": lambda: Perceptron(max_iter=2).fit(FRAME, NAMES[::-1]),
    "function": lambda: linsep.fit(FRAME.assign(y=HALVES), target="y", learner="logistic"),
}


def test_warnings_point_at_the_line_of_the_user():
    for call in CALLS.values():
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            call()
        assert found
        assert {one.filename for one in found} == {__file__}
