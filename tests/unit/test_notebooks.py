"""Results in a notebook: the table, and beside it the picture where it is small."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_iris

import linsep
from linsep import LinearRegression, LogisticRegression, Perceptron, datasets, drawing

pytestmark = pytest.mark.compiled
X, Y = load_iris(return_X_y=True)
PICTURE = 'src="data:image/png;base64,iVBOR'


def results():
    """A result of each kind that knows what its picture needs."""
    rows, labels = datasets.load_inseparable_points(return_X_y=True)
    begin = {"coef_init": [1, 1], "intercept_init": 1}
    return {
        "verdict": linsep.separation(X, Y == 0),
        "trace": linsep.trace(Perceptron(shuffle=False), rows, labels, max_rounds=20),
        "summary": LinearRegression().fit(X[:, :2], X[:, 2]).summary(),
        "logistic": LogisticRegression(l2=1.0).fit(X, Y).summary(),
        "cycle": Perceptron(shuffle=False).fit(rows, labels, **begin).cycle_,
    }


@pytest.mark.parametrize("name", results())
def test_the_picture_is_beside_the_table(name, monkeypatch):
    result = results()[name]
    shown = result._repr_html_()
    assert PICTURE in shown
    monkeypatch.setattr(drawing, "find_spec", lambda _: None)
    alone = result._repr_html_()
    assert PICTURE not in alone
    assert alone in shown


def test_what_is_large_or_cannot_be_drawn_is_a_table():
    many = np.vstack([X] * 10)
    for result in (
        linsep.separation(many, np.tile(Y == 0, 10)),  # 1,500 rows
        linsep.separation(X[:, :1], Y == 0),  # no plane
        linsep.separation(X, Y),  # several verdicts
        linsep.trace(Perceptron(), X, Y == 1, max_rounds=101),
        linsep.trace(Perceptron(shuffle=False), X, Y, max_rounds=9),  # three classes
    ):
        shown = result._repr_html_()
        assert "<table>" in shown
        assert "<img" not in shown


def test_rows_that_a_verdict_remembers_are_not_part_of_it():
    found = linsep.separation(X, Y == 0)
    again = pickle.loads(pickle.dumps(found))
    assert again == found
    assert again.__dict__.keys() < found.__dict__.keys()
    assert "<img" not in again._repr_html_()
    assert again.verify(X, Y == 0)
