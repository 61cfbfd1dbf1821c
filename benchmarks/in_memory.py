"""Races on rows in memory."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.linear_model import Perceptron as TheirPerceptron

from benchmarks.data import dense, sparse
from benchmarks.harness import Race, Side
from linsep import Perceptron

HELD_OUT = 20_000


def race(work: str, X: Any, y: np.ndarray, goal: float, repeats: int, **both: Any) -> Race:
    """linsep's Perceptron against scikit-learn's on the same rows with the same parameters.

    The accuracy is that on held-out rows of the same teacher.
    """
    multiclass = {"multiclass": both.pop("multiclass")} if "multiclass" in both else {}
    X_train, y_train, X_test, y_test = X[:-HELD_OUT], y[:-HELD_OUT], X[-HELD_OUT:], y[-HELD_OUT:]
    ours = Perceptron(**both, **multiclass)
    theirs = TheirPerceptron(tol=None, **both)
    return Race(
        work,
        Side("linsep", lambda: ours.fit(X_train, y_train)),
        Side("scikit-learn Perceptron", lambda: theirs.fit(X_train, y_train)),
        goal,
        repeats,
        lambda: (ours.score(X_test, y_test), theirs.score(X_test, y_test)),
    )


def races() -> dict[str, Callable[[], Race]]:
    """Every race of this file by its short name."""
    once = {"max_iter": 1, "shuffle": False}
    ten = {"max_iter": 10, "shuffle": True}
    return {
        "dense": lambda: race(
            "dense 500,000 x 128 float32, one pass in order", *dense(520_000), 10, 9, **once
        ),
        "csr": lambda: race(
            "CSR 400,000 x 47,236, one pass in order", *sparse(420_000), 2.5, 9, **once
        ),
        "csr-shuffled": lambda: race(
            "CSR 400,000 x 47,236, ten shuffled passes", *sparse(420_000), 5, 5, **ten
        ),
        "csr-ovr": lambda: race(
            "CSR 100,000 rows, 20 classes one-vs-rest, ten passes",
            *sparse(120_000, 20),
            8,
            3,
            multiclass="ovr",
            **ten,
        ),
    }
