"""Comparators of the hinge bounds, total distances, and Winnow's bound for majorities."""

from fractions import Fraction
from math import floor, log

import numpy as np
import pytest

from linsep import Perceptron, Winnow, bounds, datasets
from linsep.learners.winnow import most_mistakes
from thoroughness import THOROUGH

pytestmark = pytest.mark.compiled


def planes(seed, n=8):
    """Rows of two features, the reflected rows, and the directions of the plane."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n, 2)), np.arange(n) % 2
    angles = np.linspace(0, 2 * np.pi, 20_001)
    return X, y, X * (2 * y - 1)[:, None], np.array([np.cos(angles), np.sin(angles)])


@pytest.mark.parametrize("seed", range(4 if THOROUGH else 2))
@pytest.mark.parametrize("gamma", [0.05, 0.4, 3.0])
def test_the_total_distance_is_the_smallest_over_all_directions(seed, gamma):
    X, y, Z, directions = planes(seed)
    found = bounds(X, y, fit_intercept=False, gamma=gamma)["total distance"]
    best = np.maximum(0, gamma - Z @ directions).sum(axis=0).min()
    assert best * (1 - 1e-4) <= found.distance <= 1.02 * best
    R2 = (X**2).sum(axis=1).max()
    assert found.value == pytest.approx(R2 / gamma**2 + 2 * found.distance / gamma, rel=1e-9)
    w = np.array(found.comparator)
    assert np.linalg.norm(w) == pytest.approx(1 / gamma)
    assert found.distance == pytest.approx(np.maximum(0, gamma - Z @ w * gamma).sum(), rel=1e-6)


def test_rows_with_that_margin_need_not_be_moved():
    X, y = datasets.load_four_points(return_X_y=True)
    found = bounds(X, y, fit_intercept=False, gamma=0.7)["total distance"]
    assert found.distance == pytest.approx(0, abs=1e-6)
    assert found.value == pytest.approx(16 / 0.49, rel=1e-5)
    given = bounds(X, y, fit_intercept=False, gamma=0.5, weights=[1, -3])["total distance"]
    scores = np.array([4, 2, 3, 4]) / 10**0.5
    assert given.distance == pytest.approx(np.maximum(0, 0.5 - scores).sum(), abs=1e-9)


@pytest.mark.parametrize(
    ("fit_intercept", "scale"), [(False, 1.0), (True, 1.0), (False, 2.0**-120)]
)
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
    assert found.left_out["total distance"] == "it is stated for two classes"
    X, y = datasets.load_exclusive_or(return_X_y=True)
    zero = bounds(X, y, fit_intercept=False)["hinge"]
    assert zero.comparator.tolist() == [0, 0]
    assert zero.distance is None
    X, y = datasets.load_four_points(return_X_y=True)
    assert bounds(X, y)["Novikoff"].comparator is None


@pytest.mark.parametrize(("r", "k", "d"), [(3, 2, 12), (5, 3, 20), (4, 4, 10), (7, 2, 15)])
def test_majorities_by_winnow(r, k, d):
    rng = np.random.default_rng(r)
    X = (rng.random((200, d)) < 0.4).astype(float)
    y = X[:, :r].sum(axis=1) >= k
    # A linear program in rational numbers: most u + v with k u - (k - 1) v <= r L, v <= c + a u.
    a, theta = Fraction(1) + Fraction(1, 2 * k), Fraction(d, 2)
    reach, c = r * (floor(log(theta) / log(a)) + 1), a * d / ((a - 1) * theta)
    u = (reach + (k - 1) * c) / (k - (k - 1) * a)
    model = Winnow(promotion=1 + 1 / (2 * k)).fit(X, y)
    found = model.bounds(X, y, literals=r, majority=k)["majority"]
    assert found.value == pytest.approx(float(u + c + a * u))
    assert found.kept
    assert found.counted > 5
    assert bounds(X, y, literals=r, majority=k)["majority"].value == pytest.approx(found.value)
    assert (
        f"no {r} features are known" in bounds(X, ~y, literals=r, majority=k).left_out["majority"]
    )


def test_a_majority_of_one_is_a_disjunction_and_needs_small_promotions():
    assert most_mistakes(20, 3, 1.25, 10.0, 1) == most_mistakes(20, 3, 1.25, 10.0)
    X = np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1], [1, 0, 0], [0, 0, 1]], float)
    y = [1, 1, 1, 0, 0]
    found = Winnow().fit(X, y).bounds(X, y, literals=3, majority=2)
    assert found.left_out["majority"] == (
        "for 2 of several features, the bound needs a promotion below 2"
    )
    assert "not all 0 or 1" in bounds(X / 2, y, literals=3, majority=2).left_out["majority"]


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"majority": 2}, "majority is 2, but literals None: literals must be at least majority"),
        ({"majority": 3, "literals": 2}, "majority is 3, but literals 2"),
        ({"majority": 0}, "majority is 0: it must be a whole number"),
        ({"gamma": 0}, "gamma is 0: it must be a finite number above 0"),
        ({"gamma": float("inf")}, "gamma is inf"),
        ({"gamma": "a"}, "gamma is 'a'"),
    ],
)
def test_bad_numbers_are_refused(how, said):
    with pytest.raises(ValueError, match=said):
        bounds([[1.0], [2.0]], [0, 1], **how)
