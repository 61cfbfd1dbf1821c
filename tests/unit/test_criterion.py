"""J_p and misclassified rows after every pass, by their definitions and beside the batch rule."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from linsep import MarginPerceptron, Perceptron, PerceptronCriterion, datasets, open_source, trace
from linsep.errors import DataError
from linsep.plot import LearningCurveDisplay
from refusals import refused
from storages import blobs

pytestmark = pytest.mark.compiled


def by_definition(X, signs, w):
    """J_p and the number of misclassified rows of weights with the intercept first."""
    scores = signs * (X @ w[1:] + w[0])
    return -scores[scores < 0].sum(), (scores <= 0).sum()


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix, pd.DataFrame])
def test_both_by_their_definitions(storage):
    X, y = datasets.load_inseparable_points(return_X_y=True)
    model, measured = Perceptron(shuffle=False, max_iter=20), PerceptronCriterion()
    model.set_callbacks(measured)
    for _ in range(2):  # a second fit starts anew
        model.fit(storage(X) if storage is not pd.DataFrame else pd.DataFrame(X).add_prefix("x"), y)
    ends = trace(Perceptron(shuffle=False, max_iter=20), X, y)[4::5]
    expected = [by_definition(X, np.where(y == 2, 1, -1), np.array(r.weights[0])) for r in ends]
    assert measured.criterion_.tolist() == [jp for jp, _ in expected]
    assert measured.misclassified_.tolist() == [count for _, count in expected]
    assert measured.misclassified_.tolist() != model.mistakes_.tolist()


def test_they_are_those_of_the_batch_rule():
    X, y = blobs(60, k=2, spread=1.5)
    measured = PerceptronCriterion()
    model = Perceptron(update="batch", max_iter=40).set_callbacks(measured).fit(X, y)
    assert measured.criterion_[:-1] == pytest.approx(model.criterion_[1:], rel=1e-9)
    assert measured.misclassified_[:-1].tolist() == model.mistakes_[1:].tolist()


@pytest.mark.parametrize("model", [Perceptron(keep="average"), MarginPerceptron(gamma=0.1),
                                   Perceptron(normalize=True)])  # fmt: skip
def test_they_are_of_the_weights_that_predict(model):
    X, y = blobs(60, k=2, spread=1.5)
    measured = PerceptronCriterion()
    model.set_params(max_iter=5).set_callbacks(measured).fit(X, y)
    assert len(measured.criterion_) == model.n_iter_
    scores = np.where(y == model.classes_[1], 1, -1) * model.decision_function(X)
    assert measured.misclassified_[-1] == (scores <= 0).sum()
    assert measured.criterion_[-1] == pytest.approx(-scores[scores < 0].sum())


def test_they_can_be_drawn():
    X, y = blobs(60, k=2, spread=1.5)
    measured = PerceptronCriterion()
    Perceptron(max_iter=8).set_callbacks(measured).fit(X, y)
    display = LearningCurveDisplay(
        mistakes=measured.misclassified_, criterion=measured.criterion_
    ).plot()
    assert display.criterion_.get_ydata().tolist() == measured.criterion_.tolist()


def test_what_is_not_measured_is_refused(tmp_path):
    X, y = blobs(60, k=3, spread=1.5)
    with refused(DataError, "class-count"):
        Perceptron().set_callbacks(PerceptronCriterion()).fit(X, y)
    (tmp_path / "a.svm").write_text("1 1:1\n0 1:2\n")
    with refused(DataError, "unsupported"):
        Perceptron().set_callbacks(PerceptronCriterion()).fit(open_source(tmp_path / "a.svm"))
