"""Runs worked by hand in lecture notes: the twin and the estimator give them to the last digit.

Every run goes through the twin step by step, and through the estimator twice: once with the
passes of ``fit``, once row by row with ``partial_fit``, whose weights must be those of the twin
after every single step.
"""

from itertools import islice
from typing import NamedTuple

import numpy as np

from linsep import Perceptron
from linsep.teaching.textbook import Step, binary_perceptron


class Run(NamedTuple):
    X: list
    y: list
    weights: list
    intercept: float
    fit_intercept: bool = True


SIGNED = Run([(4, 0), (1, 1), (0, 1), (-2, -2)], [1, -1, -1, 1], [0, 0], 0, False)
XOR = Run([(1, 1), (1, -1), (-1, 1), (-1, -1)], [1, -1, -1, 1], [0, 0], 0, False)
LONG = Run([(1, 1), (3, 2), (2, 4), (3, 4), (2, 3)], [-1, 1, 1, 1, -1], [0, 0], -1)
OVERLAP = Run([(2, 1), (4, 3), (3, 5), (1, 3), (5, 6)], [1, 1, 1, -1, -1], [1, 1], 1)


def twin(run: Run, passes: int = 1000) -> list[Step]:
    return list(
        binary_perceptron(
            run.X, run.y, weights=run.weights, intercept=run.intercept,
            fit_intercept=run.fit_intercept, max_iter=passes,
        )
    )  # fmt: skip


def estimator(run: Run, passes: int = 1000) -> Perceptron:
    """The estimator after at most so many passes."""
    model = Perceptron(shuffle=False, max_iter=passes, fit_intercept=run.fit_intercept)
    start = [run.intercept] if run.fit_intercept else None
    return model.fit(np.array(run.X, float), run.y, [run.weights], start)


def bare(model: Perceptron) -> tuple[list, float]:
    return model.coef_[0].tolist(), model.intercept_[0]


def after_pass(run: Run, passes: int) -> list[float]:
    """[b, w1, w2, ...] after so many passes, the twin and the estimator agreeing."""
    step = twin(run, passes)[-1]
    w, b = bare(estimator(run, passes))
    assert (step.weights, step.intercept) == (w, b)
    return [b, *w]


def weights_in_first_pass(run: Run) -> list:
    """The weights after each step of the first pass, of the twin and of one-row partial fits."""
    steps = twin(run, 1)
    model = Perceptron(fit_intercept=run.fit_intercept, max_iter=1)
    model.partial_fit(np.array(run.X[:1], float), run.y[:1], classes=[-1, 1])
    model.fitted_run().state.set_weights(
        np.array([run.weights], float), np.array([run.intercept], float)
    )
    for x, label, step in zip(run.X, run.y, steps, strict=True):
        model.partial_fit(np.array([x], float), [label])
        assert bare(model) == (step.weights, step.intercept)
    return [tuple(step.weights) for step in steps]


def test_long_run():
    assert [step.score for step in islice(twin(LONG), 5)] == [-1, -1, 14, 17, 12]
    weights_in_first_pass(LONG)
    assert after_pass(LONG, 1) == [-1, 1, -1]
    steps, model = twin(LONG), estimator(LONG)
    assert (steps[-1].pass_number + 1, model.n_iter_) == (232, 232)
    assert (sum(step.mistakes for step in steps), model.n_updates_) == (446, 446)
    assert after_pass(LONG, 1000) == [-31, 12, 2]
    assert after_pass(LONG, 231) == [-31, 12, 2]
    assert after_pass(LONG, 230) != [-31, 12, 2]
    assert model.stop_reason_ == "converged"


def test_overlap_cycles_after_121_passes():
    updates = [[s.intercept, *s.weights] for s in twin(OVERLAP, 2) if s.mistakes]
    assert updates == [[0, 0, -2], [1, 2, -1], [0, 1, -4]]
    weights_in_first_pass(OVERLAP)
    assert [after_pass(OVERLAP, passes) for passes in (1, 2)] == [updates[0], updates[2]]
    # The weights at the start of pass p, counted from 0, are those after p passes.
    starts = {p: after_pass(OVERLAP, p) for p in range(119, 131)}
    steps = twin(OVERLAP, 140)[len(OVERLAP.X) - 1 :: len(OVERLAP.X)]
    starts |= {p: [steps[p - 1].intercept, *steps[p - 1].weights] for p in range(131, 140)}
    assert starts[130] == starts[121]
    assert all(starts[p + 9] == starts[p] for p in range(121, 131))
    assert all(starts[p] != starts[121] for p in range(122, 130))
    assert starts[129] != starts[120]
    model = estimator(OVERLAP, 1000)
    assert (model.stop_reason_, model.n_iter_) == ("cycle", 130)
    assert (model.cycle_.first, model.cycle_.again) == (121, 130)
    assert model.cycle_.verify(OVERLAP.X, OVERLAP.y)
