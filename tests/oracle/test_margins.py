"""Margins by their definitions; comparators of hinge bounds, total distances, and majorities."""

from fractions import Fraction
from math import floor, log

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression, Perceptron as TheirPerceptron, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from linsep import (
    LogisticRegression as OurLogisticRegression,
    MarginPerceptron,
    Perceptron,
    Winnow,
    bounds,
    cosine_margin,
    datasets,
    functional_margin,
    geometric_margin,
    l1_margin,
    margin_distribution,
    unsigned_margin,
)
from linsep.errors import DataError
from linsep.mistake_bounds.theorems import most_mistakes
from refusals import refused
from thoroughness import examples

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
    assert margin_distribution([1, 0], ROWS, LABELS).rows.tolist() == [1, -1, 0.05, 1]


@pytest.mark.parametrize(("fit_intercept", "reference"), [(False, None), (True, 1)])
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


@pytest.mark.parametrize(("model", "y"), [
    (Perceptron(normalize=True), Y == 0), (Perceptron(multiclass="ovo", max_iter=9), Y),
    (Perceptron(fit_intercept=False, max_iter=9), np.array(list("abc"))[Y]),
    (TheirPerceptron(), Y == 0),
    (RidgeClassifier(), Y),
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


def test_more_bad_input():
    with refused(DataError, "class-count"):
        unsigned_margin(Perceptron(max_iter=1).fit(X, Y), X)


def planes(seed, n=8):
    """Rows of two features, the reflected rows, and the directions of the plane."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n, 2)), np.arange(n) % 2
    angles = np.linspace(0, 2 * np.pi, 20_001)
    return X, y, X * (2 * y - 1)[:, None], np.array([np.cos(angles), np.sin(angles)])


def test_rows_with_that_margin_need_not_be_moved():
    X, y = datasets.load_four_points(return_X_y=True)
    found = bounds(X, y, fit_intercept=False, gamma=0.7)["total distance"]
    assert found.distance == pytest.approx(0, abs=1e-6)
    assert found.value == pytest.approx(16 / 0.49, rel=1e-5)
    given = bounds(X, y, fit_intercept=False, gamma=0.5, weights=[1, -3])["total distance"]
    scores = np.array([4, 2, 3, 4]) / 10**0.5
    assert given.distance == pytest.approx(np.maximum(0, 0.5 - scores).sum(), abs=1e-9)


@pytest.mark.parametrize(("fit_intercept", "scale"), [(True, 1.0), (False, 2.0**-120)])
def test_hinge_bounds_come_with_their_weights(fit_intercept, scale):
    X, y, Z, _ = planes(9, n=20)
    X, Z = X * scale, Z * scale
    if fit_intercept:
        Z = np.hstack([Z, (2 * y - 1)[:, None]])
    R2 = (Z**2).sum(axis=1).max()
    for name in ("hinge", "hinge, sharp"):
        bound = bounds(X, y, fit_intercept=fit_intercept, passes=3)[name]
        w = np.array(bound.comparator)
        losses, a = np.maximum(0, 1 - Z @ w), np.linalg.norm(w) * R2**0.5
        expected = {
            "hinge": a**2 + 2 * 3 * losses.sum(),
            "hinge, sharp": ((a + (a**2 + 12 * losses.sum()) ** 0.5) / 2) ** 2,
        }[name]
        assert bound.value == pytest.approx(expected, rel=1e-6)
        assert bound.distance == pytest.approx(losses.sum() / np.linalg.norm(w), rel=1e-6)
    run = Perceptron(fit_intercept=fit_intercept, max_iter=3).fit(X, y)
    assert np.array_equal(run.bounds(X, y)["hinge"].comparator, bound.comparator)


def test_only_hinge_bounds_of_two_classes_have_weights():
    X, y, *_ = planes(1, n=9)
    assert bounds(X, y)["hinge"].distance > 0
    assert bounds(X, np.arange(9) % 3)["hinge"].comparator is None
    found = bounds(X, np.arange(9) % 3, gamma=0.5)
    assert "total distance" in found.left_out
    X, y = datasets.load_exclusive_or(return_X_y=True)
    zero = bounds(X, y, fit_intercept=False)["hinge"]
    assert zero.comparator.tolist() == [0, 0]
    assert zero.distance is None
    X, y = datasets.load_four_points(return_X_y=True)
    assert bounds(X, y)["Novikoff"].comparator is None


def test_a_majority_of_one_is_a_disjunction_and_needs_small_promotions():
    assert most_mistakes(20, 3, 1.25, 10.0, 1) == most_mistakes(20, 3, 1.25, 10.0)
    X = np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1], [1, 0, 0], [0, 0, 1]], float)
    y = [1, 1, 1, 0, 0]
    found = Winnow().fit(X, y).bounds(X, y, literals=3, majority=2)
    assert "majority" in found.left_out
    assert "majority" in bounds(X / 2, y, literals=3, majority=2).left_out


@pytest.mark.parametrize("gamma", [0.05, 0.4, 3.0])
def test_the_total_distance_is_the_smallest_over_all_directions(gamma):
    X, y, Z, directions = planes(0)
    found = bounds(X, y, fit_intercept=False, gamma=gamma)["total distance"]
    best = np.maximum(0, gamma - Z @ directions).sum(axis=0).min()
    assert best * (1 - 1e-4) <= found.distance <= 1.02 * best
    R2 = (X**2).sum(axis=1).max()
    assert found.value == pytest.approx(R2 / gamma**2 + 2 * found.distance / gamma, rel=1e-9)
    w = np.array(found.comparator)
    assert np.linalg.norm(w) == pytest.approx(1 / gamma)
    zero = bounds(X, y, fit_intercept=False, gamma=gamma, weights=[0, 0])["total distance"]
    assert zero.distance >= found.distance
    assert found.distance == pytest.approx(np.maximum(0, gamma - Z @ w * gamma).sum(), rel=1e-6)


@pytest.mark.parametrize(("r", "k", "d"), [(3, 2, 12), (4, 4, 10)])
def test_majorities_by_winnow(r, k, d):
    rng = np.random.default_rng(r)
    X = (rng.random((200, d)) < 0.4).astype(float)
    y = X[:, :r].sum(axis=1) >= k
    # A linear program in rational numbers: most u + v with k u - (k - 1) v <= r L, v <= c + a u.
    a, theta = Fraction(1) + Fraction(1, 2 * k), Fraction(d, 2)
    reach, c = r * (floor(log(theta) / log(a)) + 1), a * d / ((a - 1) * theta)
    u = (reach + (k - 1) * c) / (k - (k - 1) * a)
    found = Winnow(promotion=1 + 1 / (2 * k)).fit(X, y).bounds(X, y, literals=r, majority=k)
    assert found["majority"].value == pytest.approx(float(u + c + a * u))
    assert found["majority"].kept
    assert found["majority"].counted > 5
    ahead = bounds(X, y, literals=r, majority=k)["majority"]
    assert ahead.value == pytest.approx(found["majority"].value)
    assert "majority" in bounds(X, ~y, literals=r, majority=k).left_out


@pytest.mark.parametrize(("model", "rows", "y", "kind", "code"), [
    (GaussianNB().fit(X, Y), X, Y, ValueError, "unsupported"),
    (Perceptron(), X, Y, ValueError, "unsupported"),
    (SVC(kernel="linear").fit(X, Y), X, Y, ValueError, "unsupported"),
    ([1, 2, 3, 4], X, Y, ValueError, "bad-value"),
    ([1, 2], X, Y == 0, ValueError, "shape"),
    ([1, np.nan, 2, 3], X, Y == 0, ValueError, "bad-value"),
    (LEARNED, X, Y + 1, ValueError, "unknown-label"),
    (LEARNED, X, Y[:-1], ValueError, "shape"),
    (LEARNED, X * np.nan, Y, ValueError, "missing-value"),
])  # fmt: skip
def test_bad_input(model, rows, y, kind, code):
    LEARNED.fit(X, Y)
    with refused(kind, code):
        geometric_margin(model, rows, y)
