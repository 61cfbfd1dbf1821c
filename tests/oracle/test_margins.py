"""Margins by their definitions, for estimators of this library and of scikit-learn."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression, Perceptron as TheirPerceptron, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC, LinearSVC

from linsep import (
    LogisticRegression as OurLogisticRegression,
    MarginPerceptron,
    Perceptron,
    cosine_margin,
    functional_margin,
    geometric_margin,
    l1_margin,
    margin_distribution,
    unsigned_margin,
)
from linsep.errors import DataError
from refusals import refused
from thoroughness import examples

pytestmark = pytest.mark.compiled

# N1: the second row is misclassified.
ROWS, LABELS = [(1, -1), (-1, -1), (0.05, 0), (-1, 0)], [1, 1, 1, -1]
X, Y = load_iris(return_X_y=True)
LEARNED = Perceptron(max_iter=2)  # by the test, not while tests are collected


def test_worked_numbers():
    assert unsigned_margin([1, 0], ROWS) == 0.05
    assert geometric_margin([1, 0], ROWS, LABELS) == -1
    assert geometric_margin([2, 0], ROWS, LABELS) == -1
    assert functional_margin([2, 0], ROWS, LABELS) == -2
    assert cosine_margin([2, 0], ROWS, LABELS) == pytest.approx(-(0.5**0.5))
    assert l1_margin([2, 0], ROWS, LABELS) == -1
    assert l1_margin([2, 2], ROWS, LABELS) == -1
    found = margin_distribution([1, 0], ROWS, LABELS, (0.0, 0.25, 1.0))
    assert found.rows.tolist() == [1, -1, 0.05, 1]
    assert found.quantiles == {0.0: -1, 0.25: -1, 1.0: 1}


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("reference", [None, 0, 1])
def test_margins_of_a_multinomial_logistic_regression(reference, fit_intercept):
    how = {"l2": 0.1, "fit_intercept": fit_intercept}
    model = OurLogisticRegression(reference=reference, **how).fit(X, Y)
    order = [k for k in range(3) if k != model.reference_]
    W, b = np.zeros((3, 4)), np.zeros(3)
    W[order], b[order] = model.coef_, model.intercept_
    scores, rivals = X @ W.T + b, [[k for k in range(3) if k != own] for own in Y]
    gaps = [[scores[i, own] - scores[i, k] for k in rivals[i]] for i, own in enumerate(Y)]
    norms = [[np.linalg.norm(W[own] - W[k]) for k in rivals[i]] for i, own in enumerate(Y)]
    assert functional_margin(model, X, Y) == pytest.approx(np.min(gaps))
    assert geometric_margin(model, X, Y) == pytest.approx(np.min(np.divide(gaps, norms)))
    found = margin_distribution(model, sp.csr_matrix(X), Y).rows
    assert found == pytest.approx(np.divide(gaps, norms).min(axis=1))
    assert ((found > 0) == (model.predict(X) == Y)).all()
    assert -1 < l1_margin(model, X, Y) < 0
    assert -1 < cosine_margin(model, X, Y) < 0


@pytest.mark.parametrize("labels", [Y, Y > 0])
@pytest.mark.filterwarnings("ignore:All rows of class")
def test_a_class_without_weight_has_no_margin(labels):
    model = OurLogisticRegression(l2=0.1).fit(X, labels, (Y > 0).astype(float))
    with refused(DataError, "undefined"):
        geometric_margin(model, X, labels)


def test_rows_of_one_side():
    assert geometric_margin([3, 4], [[1, 1]], [1]) == pytest.approx(7 / 5)
    assert geometric_margin([3, 4], [[1, 1]], [-1]) == pytest.approx(-7 / 5)
    assert geometric_margin([3, 4], [[1, 1]], [0]) == pytest.approx(-7 / 5)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_l1_margin_by_its_definition(fit_intercept):
    rows, labels = np.abs(X[50:]), Y[50:] == 1
    model = Perceptron(max_iter=3, fit_intercept=fit_intercept).fit(rows, labels)
    w = np.append(model.coef_, model.intercept_)
    z = np.hstack([rows, np.full((len(rows), 1), float(fit_intercept))])
    found = [s * (w @ r) / abs(w).sum() / max(r) for s, r in zip(2 * labels - 1, z, strict=True)]
    assert l1_margin(model, rows, labels) == pytest.approx(min(found))
    assert l1_margin(model, sp.csr_matrix(rows), labels) == pytest.approx(min(found))


weights = st.integers(-3, 3)


@examples(60)
@given(st.integers(2, 4), st.integers(1, 3), st.data())
def test_several_classes_by_the_definition(k, d, data):
    W = np.array(data.draw(st.lists(st.lists(weights, min_size=d, max_size=d),
                                    min_size=k, max_size=k)), float)  # fmt: skip
    b = np.array(data.draw(st.lists(weights, min_size=k, max_size=k)), float)
    rows = np.random.default_rng(0).integers(-4, 5, (6, d)).astype(float)
    y = np.arange(6) % k
    model = LogisticRegression()
    model.coef_, model.intercept_, model.classes_ = W, b, np.arange(k)
    if k == 2:
        model.coef_, model.intercept_ = W[1:] - W[:1], b[1:] - b[:1]

    def quotient(gap, length):
        return 0.0 if gap == 0 else np.inf * gap if length == 0 else gap / length

    far = [
        min(
            quotient((W[c] - W[r]) @ x + b[c] - b[r], np.linalg.norm(W[c] - W[r]))
            for r in range(k) if r != c
        )
        for x, c in zip(rows, y, strict=True)
    ]  # fmt: skip
    found = margin_distribution(model, sp.csr_matrix(rows), y).rows
    np.testing.assert_allclose(found, far, rtol=1e-12)
    assert geometric_margin(model, rows, y) == pytest.approx(min(far))
    gaps = [
        min((W[c] - W[r]) @ x + b[c] - b[r] for r in range(k) if r != c)
        for x, c in zip(rows, y, strict=True)
    ]
    assert functional_margin(model, rows, y) == pytest.approx(min(gaps))


@pytest.mark.parametrize("y", [Y == 0, Y, np.array(list("abc"))[Y]], ids=["two", "three", "text"])
@pytest.mark.parametrize("model", [
    Perceptron(), Perceptron(multiclass="ovr"), Perceptron(multiclass="ovo"),
    Perceptron(normalize=True), Perceptron(fit_intercept=False), MarginPerceptron(max_iter=50),
    TheirPerceptron(), LinearSVC(), RidgeClassifier(),
])  # fmt: skip
def test_a_positive_margin_is_a_right_prediction(model, y):
    model.fit(X, y)
    right = model.predict(X) == y
    margins = margin_distribution(model, X, y).rows
    if getattr(model, "multiclass", "native") == "ovo":  # a class may lose a match and win
        assert right[margins > 0].all()
    else:
        assert (right == (margins > 0))[margins != 0].all()
    assert geometric_margin(model, X, y) == margins.min()


def test_the_margin_that_the_margin_perceptron_proves():
    model = MarginPerceptron(gamma=0.1).fit(X, Y == 0)
    assert model.stop_reason_ == "converged"
    assert cosine_margin(model, X, Y == 0) >= 0.05 * (1 - 1e-9)


def test_rows_seen_as_of_length_one():
    model = Perceptron(normalize=True).fit(X, Y == 0)
    assert geometric_margin(model, 3 * X, Y == 0) == pytest.approx(
        geometric_margin(model, X, Y == 0)
    )


@pytest.mark.parametrize(("model", "rows", "y", "said"), [
    (GaussianNB().fit(X, Y), X, Y, "has no coef_"),
    (Perceptron(), X, Y, "fitted linear classifier"),
    (SVC(kernel="linear").fit(X, Y), X, Y, "3 rows for 3 classes"),
    ("weights", X, Y == 0, "neither a fitted estimator nor"),
    ([1, 2, 3, 4], X, Y, "for two classes"),
    ([1, 2], X, Y == 0, "X has 4 features, but the model has 2"),
    ([1, np.nan, 2, 3], X, Y == 0, "finite"),
    (LEARNED, X, Y + 1, "Row 101 .index 100. has the label .*3.*, which is not a class: 0, 1, 2"),
    (LEARNED, X, Y[:-1], "inconsistent numbers"),
    (LEARNED, X * np.nan, Y, "NaN"),
])  # fmt: skip
def test_bad_input(model, rows, y, said):
    LEARNED.fit(X, Y)
    with pytest.raises(ValueError, match=said):
        geometric_margin(model, rows, y)


def test_more_bad_input():
    with refused(DataError, "class-count"):
        unsigned_margin(Perceptron().fit(X, Y), X)
    with pytest.raises(ValueError, match="between 0 and 1"):
        margin_distribution([1, 0], ROWS, LABELS, (2.0,))
