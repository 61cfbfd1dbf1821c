"""Every learner beside the rule of its twin, and data that both can learn."""

import numpy as np

from linsep import textbook
from linsep.catalog import LINEAR
from linsep.compiled.jit import COMPILING
from linsep.teaching.tracing import rule_of
from storages import SCHEMES, replayed
from thoroughness import THOROUGH

KEEPS = ("last", "average", "vote", "best")
#: learners by their names on the command line, with parameters that show more than the defaults, or
#: with which no row lands on a threshold, where rounding decides
CONFIGURED = {
    "perceptron": ("perceptron", {}),
    "inverse": ("perceptron", {"schedule": "inverse", "learning_rate": 3.0}),
    "root": ("perceptron", {"schedule": "inverse_sqrt"}),
    "callable": ("perceptron", {"learning_rate": lambda k: 2.0 / (3.0 + k)}),
    "batch": ("perceptron", {"update": "batch", "schedule": "inverse"}),
    "margin": ("margin", {"gamma": 0.3, "epsilon": 0.4}),
    "halving": ("margin", {}),
    "pa": ("pa", {"C": 0.2}),
    "pa2": ("pa", {"C": 0.2, "loss": "squared_hinge"}),
    "winnow": ("winnow", {"promotion": 1.5}),
    "balanced": ("balanced-winnow", {"promotion": 1.2}),
    "arow": ("arow", {"r": 0.7}),
    "online-logistic": ("online-logistic", {"learning_rate": 0.3, "l2": 0.01}),
    "online-logistic-plain": (
        "online-logistic",
        {"learning_rate": 0.1, "adaptive": False, "rescale": False, "invariant": False},
    ),
    "scw": ("scw", {"C": 0.4}),
}
_named = {own for own, _ in CONFIGURED.values()}
#: every linear learner: its estimator, parameters, and the rule of its twin with these
LEARNERS = {
    name: (LINEAR[own], parameters, rule_of(LINEAR[own](**parameters)))
    for name, (own, parameters) in (
        CONFIGURED | {name: (name, {}) for name in LINEAR if name not in _named}
    ).items()
}
#: each rule once, and every scheme and keep, in loops that tests/frozen compiles as well
ONE_OF_EACH_RULE = (
    ("perceptron", "binary", "last"),
    ("margin", "binary", "best"),
    ("pa", "native", "vote"),
    ("winnow", "ovr", "average"),
    ("balanced", "ovo", "best"),
    ("arow", "native", "vote"),
    ("scw", "ovr", "vote"),
    ("online-logistic", "ovr", "best"),
)


def covered():
    """Learner, scheme and keep: of a Latin square, in which every two meet, two for each learner;
    all of it if there is time.
    """
    for a, learner in enumerate(LEARNERS):
        for b, scheme in enumerate(SCHEMES):
            if scheme == "native" and LEARNERS[learner][2].native is None:
                continue
            if THOROUGH or (a + b) % 2 == 0 or scheme == "native":
                yield learner, scheme, KEEPS[(b - a) % 4]


def storage_of(learner, scheme, keep):
    """Dense or sparse: every learner, scheme and keep meets both, in loops that tests share."""
    if COMPILING:
        return "csr32" if scheme == "binary" else "dense64"
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
