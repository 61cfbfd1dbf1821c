"""Every learner beside the rule of its twin, and data that both can learn."""

import numpy as np

from linsep import BalancedWinnow, MarginPerceptron, PassiveAggressive, Perceptron, Winnow, textbook
from linsep.compiled.core.jit import COMPILING
from storages import SCHEMES, replayed
from thoroughness import THOROUGH

KEEPS = ("last", "average", "vote", "best")
LEARNERS = {
    "perceptron": (Perceptron, {}, textbook.Perceptron()),
    "inverse": (
        Perceptron,
        {"schedule": "inverse", "learning_rate": 3.0},
        textbook.Perceptron(3.0, "inverse"),
    ),
    "root": (Perceptron, {"schedule": "inverse_sqrt"}, textbook.Perceptron(1.0, "inverse_sqrt")),
    "callable": (
        Perceptron,
        {"learning_rate": lambda k: 2.0 / (3.0 + k)},
        textbook.Perceptron(lambda k: 2.0 / (3.0 + k)),
    ),
    "batch": (
        Perceptron,
        {"update": "batch", "schedule": "inverse"},
        textbook.BatchPerceptron(1.0, "inverse"),
    ),
    "margin": (
        MarginPerceptron,
        {"gamma": 0.3, "epsilon": 0.4},
        textbook.MarginPerceptron(0.3, 0.4),
    ),
    "halving": (MarginPerceptron, {}, textbook.MarginPerceptron()),
    "pa": (PassiveAggressive, {"C": 0.2}, textbook.PassiveAggressive(0.2)),
    "pa2": (
        PassiveAggressive,
        {"C": 0.2, "loss": "squared_hinge"},
        textbook.PassiveAggressive(0.2, "squared_hinge"),
    ),
    "winnow": (Winnow, {"promotion": 1.5}, textbook.Winnow(1.5)),
    "balanced": (BalancedWinnow, {"promotion": 1.2}, textbook.BalancedWinnow(1.2)),
}
COMPILED_ALIKE = {
    "pa2",
    "halving",
    "root",
    "callable",
    "inverse",
    "batch",
}  # or not worth another minute of compiling


def covered():
    """Learner, scheme and keep: a Latin square, in which every two meet; all without the compiler
    if there is time, and no two that compile alike with it.
    """
    left_out = COMPILED_ALIKE if COMPILING else set()
    for a, learner in enumerate(LEARNERS):
        for b, scheme in enumerate(SCHEMES):
            for c, keep in enumerate(KEEPS):
                in_square = (a + b + c) % 4 == 0 or (THOROUGH and not COMPILING)
                if in_square and learner not in left_out:
                    yield learner, scheme, keep


def storage_of(learner, scheme, keep):
    """Dense or sparse: every learner, scheme and keep meets both, in loops that tests share."""
    return ("dense64", "csr32")[sum(map(ord, learner + scheme + keep)) % 2]


def rows(seed, k, positive, n=30, d=5):
    """Overlapping rows of k classes with many zeros, the larger classes less frequent."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    y = np.minimum(y, rng.permutation(y))
    y[:k] = np.arange(k)
    X = (rng.standard_normal((k, d))[y] + rng.standard_normal((n, d))) * (rng.random((n, d)) < 0.7)
    X[:, 0] += 0.01  # no row of zeros
    return (np.abs(X) if positive else X), y


def twin_run(learner, scheme, X, y, k, *, max_iter, random_state=None, tie="negative", **how):
    """Steps of the twin."""
    orders = None if random_state is None else replayed(len(X), random_state)
    rule = LEARNERS[learner][2]
    return list(
        textbook.run(
            rule, scheme, np.asarray(X, float).tolist(), list(map(int, y)), k, orders=orders,
            max_iter=max_iter, tie=tie, **how,
        )
    )  # fmt: skip
