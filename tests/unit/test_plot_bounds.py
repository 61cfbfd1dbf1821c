"""Pictures of bounds: curves are the formulas of the theorems, computed here by numpy."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import Perceptron as OtherPerceptron

from linsep import Adversary, MarginPerceptron, Perceptron, datasets
from linsep.mistake_bounds.problems import Problem, best_comparator
from linsep.plot import BoundDisplay
from refusals import refused

pytestmark = pytest.mark.compiled
PNG = b"\x89PNG"
IRIS, SPECIES = load_iris(return_X_y=True)


def test_the_curves_are_the_bounds_of_every_pass():
    y = np.where(SPECIES == 1, 1.0, -1.0)
    model = Perceptron(max_iter=12).fit(IRIS, y)
    shown = BoundDisplay.from_estimator(model, IRIS, y)
    passes = np.arange(1, 13)
    assert np.array_equal(shown.mistakes_.get_xdata(), passes)
    assert np.array_equal(shown.mistakes_.get_ydata(), np.cumsum(model.mistakes_))
    A = y[:, None] * np.column_stack([IRIS, np.ones(150)])
    square = (A**2).sum(axis=1).max()
    w = best_comparator(Problem(A), 2 * 12 / square).w
    short = np.maximum(0, 1 - A @ w)
    long, hinge = w @ w * square, passes * short.sum()
    expected = {
        "hinge": long + 2 * hinge,
        "hinge, sharp": ((np.sqrt(long) + np.sqrt(long + 4 * hinge)) / 2) ** 2,
    }
    assert list(shown.bounds_) == list(expected)
    for name, line in shown.bounds_.items():
        assert line.get_ydata() == pytest.approx(expected[name])
        assert line.get_ydata()[-1] == model.bounds(IRIS, y)[name].value
        assert (np.cumsum(model.mistakes_) <= line.get_ydata()).all()
    heights = [line.get_ydata()[-1] for line in shown._handles()]
    assert heights == sorted(heights, reverse=True)


def test_rounds_are_those_of_the_run():
    X, y = datasets.load_five_points(return_X_y=True)
    model = Perceptron(shuffle=False, max_iter=6).fit(X, y)
    shown = BoundDisplay.from_estimator(model, X, y, rounds=True)
    w, expected = np.zeros(3), []
    for t in range(30):
        z, sign = np.append(X[t % 5], 1.0), y[t % 5]
        expected.append(sign * (w @ z) <= 0)
        w = w + sign * z * expected[-1]
    assert np.array_equal(shown.mistakes_.get_ydata(), np.cumsum(expected))
    assert shown.ax_.get_xlabel() == "round"
    found = model.bounds(X, y)
    hinge = shown.bounds_["hinge"].get_ydata()
    assert np.array_equal(hinge, np.repeat(found["hinge"].by_pass, 5))
    assert (shown.bounds_["Novikoff"].get_ydata() == found["Novikoff"].value).all()
    assert (np.cumsum(expected) <= hinge).all()


def test_rounds_in_random_order_add_up_to_the_passes():
    model = Perceptron(max_iter=4, random_state=3).fit(IRIS, SPECIES)
    shown = BoundDisplay.from_estimator(model, IRIS, SPECIES, rounds=True)
    total = shown.mistakes_.get_ydata()[149::150]
    assert np.array_equal(total, np.cumsum(model.mistakes_))
    unknown = Perceptron(max_iter=4, random_state=None).fit(IRIS, SPECIES)
    with refused(ValueError, "unsupported"):
        BoundDisplay.from_estimator(unknown, IRIS, SPECIES, rounds=True)


def test_the_bound_of_the_adversary_is_met_at_the_last_pass():
    game = Adversary(0.2)
    model = Perceptron(fit_intercept=False)
    game.run(model)
    shown = BoundDisplay.from_estimator(model, game.X, game.y)
    assert shown.mistakes_.get_ydata()[-1] == 25
    assert shown.bounds_["Novikoff"].get_ydata() == pytest.approx([25.0])
    assert shown.ax_.get_yscale() == "linear"


def test_far_bounds_have_a_logarithmic_axis_and_updates_a_mark():
    y = SPECIES == 0
    model = MarginPerceptron(gamma=0.01).fit(IRIS, y)
    shown = BoundDisplay.from_estimator(model, IRIS, y)
    (line,) = shown.bounds_.values()
    bound = model.bounds(IRIS, y)["8/gamma^2"]
    assert (line.get_ydata() == bound.value).all()
    assert shown.counted_["updates"].get_ydata()[0] == bound.counted
    assert shown.ax_.get_yscale() == "log"
    assert BoundDisplay.from_estimator(model, IRIS, y, log=False).ax_.get_yscale() == "linear"


def test_runs_without_bounds_are_refused_in_one_sentence():
    for model, X, code in [
        (Perceptron(schedule="inverse", max_iter=3), IRIS, "unsupported"),
        (Perceptron(max_iter=3), IRIS[:, :3], "shape"),
        (OtherPerceptron(), IRIS, "unsupported"),
    ]:
        model.fit(IRIS, SPECIES == 1)
        with refused(ValueError, code):
            BoundDisplay.from_estimator(model, X, SPECIES == 1)
