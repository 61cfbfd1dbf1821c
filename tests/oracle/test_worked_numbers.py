"""Runs worked by hand in lecture notes: the twin and the estimator give them to the last digit."""

from itertools import islice
from typing import NamedTuple

from linsep import Perceptron, datasets
from linsep.teaching.textbook import binary_perceptron


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


def test_long_run():
    assert [step.score for step in islice(twin(LONG), 5)] == [-1, -1, 14, 17, 12]
    steps, model = twin(LONG), estimator(LONG)
    assert (steps[-1].pass_number + 1, model.n_iter_) == (232, 232)
    assert (sum(step.mistakes for step in steps), model.n_updates_) == (446, 446)
    assert after(LONG, 1) == [-1, 1, -1]
    assert after(LONG, 230) != after(LONG, 231) == after(LONG, 1000) == [-31, 12, 2]
    assert model.stop_reason_ == "converged"


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
