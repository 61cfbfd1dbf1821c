"""Runs worked by hand in lecture notes: the twin and the estimator give them to the last digit."""

from itertools import islice
from typing import NamedTuple

import numpy as np
import pytest

from linsep import Perceptron, datasets
from linsep.teaching.textbook import binary_perceptron, native_perceptron, predict_native


class Run(NamedTuple):
    X: list
    y: list
    weights: list
    intercept: float
    fit_intercept: bool = True


def of(name, *start, positive=1, fit_intercept=True):
    """A run of points from initial weights, with the intercept first."""
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    signs = [1 if label == positive else -1 for label in y]
    return Run(X.tolist(), signs, [*start[1:]], start[0], fit_intercept)


SIGNED = of("four_points", 0, 0, 0, fit_intercept=False)
XOR = of("exclusive_or", 0, 0, 0, fit_intercept=False)
LONG, OVERLAP = of("five_points", -1, 0, 0), of("inseparable_points", 1, 1, 1)


def twin(run, passes=1000):
    """The steps of the twin."""
    how = {"fit_intercept": run.fit_intercept, "max_iter": passes}
    return list(binary_perceptron(*run[:2], weights=run.weights, intercept=run.intercept, **how))


def estimator(run, passes=1000):
    """The estimator after at most so many passes, whose weights are those of the twin."""
    model = Perceptron(shuffle=False, max_iter=passes, fit_intercept=run.fit_intercept)
    model.fit(*run[:2], [run.weights], [run.intercept] if run.fit_intercept else None)
    if model.stop_reason_ != "cycle":
        last = twin(run, passes)[-1]
        assert (model.coef_[0].tolist(), model.intercept_[0]) == (last.weights, last.intercept)
    return model


def after(run, passes):
    """[b, w1, w2, ...] after so many passes, or at the end."""
    model = estimator(run, passes)
    return [model.intercept_[0], *model.coef_[0].tolist()]


def test_signed_examples():
    assert [s.weights for s in twin(SIGNED, 1)] == [[4, 0], [3, -1], [3, -1], [1, -3]]
    assert [s.mistakes for s in twin(SIGNED)] == [1, 1, 0, 1, 0, 0, 0, 0]
    model = estimator(SIGNED)
    assert (model.n_iter_, model.stop_reason_) == (2, "converged")
    assert model.mistakes_.tolist() == [3, 0]


def test_exclusive_or_cycles():
    assert [s.weights for s in twin(XOR, 20)] == [[1, 1], [0, 2], [1, 1], [0, 0]] * 20
    model = estimator(XOR, 20)
    assert (model.coef_.tolist(), model.mistakes_.tolist()) == ([[0, 0]], [4])
    assert model.stop_reason_ == "cycle"


def test_long_run():
    assert [step.score for step in islice(twin(LONG), 5)] == [-1, -1, 14, 17, 12]
    steps, model = twin(LONG), estimator(LONG)
    assert (steps[-1].pass_number + 1, model.n_iter_) == (232, 232)
    assert (sum(step.mistakes for step in steps), model.n_updates_) == (446, 446)
    assert after(LONG, 1) == [-1, 1, -1]
    assert after(LONG, 230) != after(LONG, 231) == after(LONG, 1000) == [-31, 12, 2]
    assert model.stop_reason_ == "converged"


@pytest.mark.parametrize(("start", "end"), [
    ((0.25,) * 5, [-0.75, 1.25, -0.75, -0.75, -0.75]),
    ((0, 0.5, 0.5, 0, 0), [-1, 1.5, -0.5, -1, -1]),
])  # fmt: skip
def test_students(start, end):
    assert after(of("students", *start, positive="A"), 1000) == end


def test_overlap_cycles_after_121_passes():
    updates = [[s.intercept, *s.weights] for s in twin(OVERLAP, 2) if s.mistakes]
    assert updates == [[0, 0, -2], [1, 2, -1], [0, 1, -4]]
    assert [after(OVERLAP, passes) for passes in (1, 2)] == [updates[0], updates[2]]
    # The weights at the start of pass p, counted from 0, are those after p passes.
    ends = [[s.intercept, *s.weights] for s in twin(OVERLAP, 140)][4::5]
    starts = {p: ends[p - 1] for p in range(119, 140)}
    assert all(starts[p + 9] == starts[p] for p in range(121, 131))
    assert all(starts[p] != starts[121] for p in range(122, 130))
    assert starts[129] != starts[120]
    model = estimator(OVERLAP)
    assert (model.stop_reason_, model.n_iter_) == ("cycle", 130)
    assert (model.cycle_.first, model.cycle_.again) == (121, 130)
    assert model.cycle_.verify(OVERLAP.X, OVERLAP.y)


def test_one_step_of_three_classes():
    X, W = [(-2, 3, 1)], [(-2, 2, 1), (0, 3, 4), (1, 4, -2)]
    step = next(native_perceptron(X, [2], 3, weights=W, fit_intercept=False))
    assert (step.score, predict_native(step.score)) == ([11, 13, 8], 1)
    assert step.weights == [[-2, 2, 1], [2, 0, 3], [-1, 7, -1]]
    model = Perceptron(fit_intercept=False).partial_fit(X, [2], classes=[0, 1, 2])
    model.fitted_run().state.set_weights(np.array(W, float), None)
    assert model.partial_fit(X, [2]).coef_.tolist() == step.weights
