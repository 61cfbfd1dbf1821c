"""Margins by their definitions; comparators of hinge bounds, total distances, and majorities."""

from fractions import Fraction
from math import floor, log

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.linear_model import Perceptron as TheirPerceptron

from linsep import (
    LogisticRegression as OurLogisticRegression,
    Perceptron,
    Winnow,
    bounds,
    cosine_margin,
    functional_margin,
    geometric_margin,
    l1_margin,
    margin_distribution,
    unsigned_margin,
)
from refusals import refused

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


def test_margins_of_a_multinomial_logistic_regression():
    model = OurLogisticRegression(reference=1, l2=0.1).fit(X, Y)
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


def test_the_l1_margin_by_its_definition():
    rows, labels = np.abs(X[50:]), Y[50:] == 1
    model = Perceptron(max_iter=3).fit(rows, labels)
    w = np.append(model.coef_, model.intercept_)
    z = np.hstack([rows, np.ones((len(rows), 1))])
    found = [s * (w @ r) / abs(w).sum() / max(r) for s, r in zip(2 * labels - 1, z, strict=True)]
    assert l1_margin(model, rows, labels) == pytest.approx(min(found))


@pytest.mark.parametrize(
    ("model", "y"),
    [(Perceptron(multiclass="ovo", max_iter=9), Y), (TheirPerceptron(), Y == 0)],
)
def test_a_positive_margin_is_a_right_prediction(model, y):
    model.fit(X, y)
    right = model.predict(X) == y
    margins = margin_distribution(model, X, y).rows
    if getattr(model, "multiclass", "native") == "ovo":  # a class may lose a match and win
        assert right[margins > 0].all()
    else:
        assert (right == (margins > 0))[margins != 0].all()
    assert geometric_margin(model, X, y) == margins.min()


def planes(seed, n=8):
    """Rows of two features, the reflected rows, and the directions of the plane."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n, 2)), np.arange(n) % 2
    angles = np.linspace(0, 2 * np.pi, 20_001)
    return X, y, X * (2 * y - 1)[:, None], np.array([np.cos(angles), np.sin(angles)])


def test_hinge_bounds_come_with_their_weights():
    X, y, Z, _ = planes(9, n=20)
    Z = np.hstack([Z, (2 * y - 1)[:, None]])
    R2 = (Z**2).sum(axis=1).max()
    for name in ("hinge", "hinge, sharp"):
        bound = bounds(X, y, passes=3)[name]
        w = np.array(bound.comparator)
        losses, a = np.maximum(0, 1 - Z @ w), np.linalg.norm(w) * R2**0.5
        expected = {
            "hinge": a**2 + 2 * 3 * losses.sum(),
            "hinge, sharp": ((a + (a**2 + 12 * losses.sum()) ** 0.5) / 2) ** 2,
        }[name]
        assert bound.value == pytest.approx(expected, rel=1e-6)
        assert bound.distance == pytest.approx(losses.sum() / np.linalg.norm(w), rel=1e-6)


def test_the_total_distance_is_the_smallest_over_all_directions():
    gamma = 0.4
    X, y, Z, directions = planes(0)
    found = bounds(X, y, fit_intercept=False, gamma=gamma)["total distance"]
    best = np.maximum(0, gamma - Z @ directions).sum(axis=0).min()
    assert best * (1 - 1e-4) <= found.distance <= 1.02 * best
    R2 = (X**2).sum(axis=1).max()
    assert found.value == pytest.approx(R2 / gamma**2 + 2 * found.distance / gamma, rel=1e-9)


def test_majorities_by_winnow():
    r, k, d = 3, 2, 12
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
    assert "majority" in bounds(X, ~y, literals=r, majority=k).left_out


@pytest.mark.parametrize(("model", "rows", "y", "kind", "code"), [
    (Perceptron(), X, Y, ValueError, "unsupported"),
    ([1, 2, 3, 4], X, Y, ValueError, "bad-value"),
    (LEARNED, X, Y + 1, ValueError, "unknown-label"),
    (LEARNED, X * np.nan, Y, ValueError, "missing-value"),
])  # fmt: skip
def test_bad_input(model, rows, y, kind, code):
    LEARNED.fit(X, Y)
    with refused(kind, code):
        geometric_margin(model, rows, y)
