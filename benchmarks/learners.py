"""Races of the other learners and of the weights kept, on the rows of in_memory.py and on MNIST."""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import Perceptron as TheirPerceptron, SGDClassifier
from sklearn.svm import SVC

from benchmarks.accuracy import SHARED, digits
from benchmarks.data import sparse
from benchmarks.harness import Race, Side
from linsep import AROW, KernelPerceptron, PassiveAggressive, Perceptron

HELD_OUT = 20_000


def race(
    work: str, name: str, ours: Any, theirs: Any, data: tuple, goal: float, repeats: int
) -> Race:
    """Two estimators on the same rows, their accuracies on others."""
    X, y, X_test, y_test = data
    return Race(
        work, Side("linsep", lambda: ours.fit(X, y)), Side(name, lambda: theirs.fit(X, y)), goal,
        repeats, lambda: (ours.score(X_test, y_test), theirs.score(X_test, y_test)),
    )  # fmt: skip


def split(X: Any, y: np.ndarray) -> tuple:
    """The last rows held out."""
    return X[:-HELD_OUT], y[:-HELD_OUT], X[-HELD_OUT:], y[-HELD_OUT:]


def average() -> Race:
    """Ten shuffled passes, averaged, against the average of scikit-learn's SGD."""
    theirs = SGDClassifier(
        loss="perceptron", penalty=None, learning_rate="constant", eta0=1.0, average=True,
        max_iter=10, tol=None,
    )  # fmt: skip
    return race(
        'keep="average", CSR 400,000 rows, ten shuffled passes', "scikit-learn SGD, average",
        Perceptron(keep="average", max_iter=10), theirs, split(*sparse(420_000)), 5, 3,
    )  # fmt: skip


def average_costs() -> Race:
    """One pass averaged against one pass that keeps the last weights: under 1.5 times as long."""
    once = {"max_iter": 1, "shuffle": False}
    return race(
        'keep="average", CSR 400,000 rows, one pass', 'linsep, keep="last"',
        Perceptron(keep="average", **once), Perceptron(**once), split(*sparse(420_000)), 1 / 1.5, 9,
    )  # fmt: skip


def arow_costs() -> Race:
    """One pass with variances against one pass averaged: under 1.6 times as long."""
    once = {"max_iter": 1, "shuffle": False}
    return race(
        "AROW, CSR 400,000 rows, one pass", 'linsep Perceptron, keep="average"',
        AROW(**once), Perceptron(keep="average", **once), split(*sparse(420_000)), 1 / 1.6, 9,
    )  # fmt: skip


def passive_aggressive() -> Race:
    """PA-I in ten shuffled passes."""
    theirs = SGDClassifier(
        loss="hinge", penalty=None, learning_rate="pa1", eta0=1.0, max_iter=10, tol=None
    )
    return race(
        "PassiveAggressive PA-I, CSR 400,000 rows, ten passes", "scikit-learn SGD, pa1",
        PassiveAggressive(max_iter=10), theirs, split(*sparse(420_000)), 4, 3,
    )  # fmt: skip


def mnist() -> Race:
    """Ten classes jointly, averaged, against ten classes one-vs-rest."""
    data = (*digits("train"), *digits("t10k"))
    return race(
        "MNIST, native, averaged, ten passes", "scikit-learn Perceptron, ovr",
        Perceptron(keep="average", max_iter=10), TheirPerceptron(max_iter=10, tol=None),
        data, 8, 3,
    )  # fmt: skip


def radial(n_rows: int) -> Race:
    """Five passes of the kernel perceptron, with the kernel of an SVC that is fitted whole."""
    X, y = make_classification(n_rows + 2_000, 20, n_informative=10, random_state=0)
    return race(
        f"KernelPerceptron, {n_rows:,} x 20, radial kernel, five passes", "scikit-learn SVC",
        KernelPerceptron(max_iter=5), SVC(), (X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:]),
        1, 5,
    )  # fmt: skip


def races() -> dict[str, Callable[[], Race]]:
    """Every race of this file by its short name."""
    warnings.simplefilter("ignore", FutureWarning)
    found = {"average": average, "average-costs": average_costs, "pa": passive_aggressive}
    found |= {"arow-costs": arow_costs}
    found |= {f"kernel-{n}": partial(radial, n) for n in (1_000, 2_000, 4_000, 6_000, 16_000)}
    return found | ({"mnist": mnist} if SHARED.is_dir() else {})
