"""Races of online learners on rows in memory."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.linear_model import Perceptron as TheirPerceptron, SGDClassifier
from sklearn.svm import SVC

from benchmarks.data import dense, digits, held_out, sparse
from benchmarks.harness import Race, fits
from linsep import AROW, KernelPerceptron, PassiveAggressive, Perceptron
from linsep.kernels import Polynomial

ONCE: dict[str, Any] = {"max_iter": 1, "shuffle": False}
TEN: dict[str, Any] = {"max_iter": 10, "shuffle": True}
AVERAGE: dict[str, Any] = {"loss": "perceptron", "penalty": None, "learning_rate": "constant",
                           "eta0": 1.0, "average": True, "tol": None}  # fmt: skip


def perceptrons(work: str, data: tuple, repeats: int, how: dict[str, Any], **ours: Any) -> Race:
    """linsep's Perceptron against scikit-learn's with the same parameters."""
    theirs = TheirPerceptron(tol=None, **how)
    name = "scikit-learn Perceptron"
    return fits(work, name, Perceptron(**how, **ours), theirs, held_out(*data), repeats)


def average() -> Race:
    """Ten shuffled passes, averaged."""
    return fits(
        'keep="average", CSR 400,000 rows, ten shuffled passes', "scikit-learn SGD, average",
        Perceptron(keep="average", max_iter=10), SGDClassifier(max_iter=10, **AVERAGE),
        held_out(*sparse(420_000)),
    )  # fmt: skip


def arow_costs() -> Race:
    """One pass with variances against one pass averaged."""
    return fits(
        "AROW, CSR 400,000 rows, one pass", 'linsep Perceptron, keep="average"',
        AROW(**ONCE), Perceptron(keep="average", **ONCE), held_out(*sparse(420_000)), 9,
    )  # fmt: skip


def passive_aggressive() -> Race:
    """PA-I in ten shuffled passes."""
    theirs = SGDClassifier(
        loss="hinge", penalty=None, learning_rate="pa1", eta0=1.0, max_iter=10, tol=None
    )
    return fits(
        "PassiveAggressive PA-I, CSR 400,000 rows, ten passes", "scikit-learn SGD, pa1",
        PassiveAggressive(max_iter=10), theirs, held_out(*sparse(420_000)),
    )  # fmt: skip


def mnist() -> Race:
    """Ten classes jointly, averaged, against ten classes one-vs-rest."""
    return fits(
        "MNIST, native, averaged, ten passes", "scikit-learn Perceptron, ovr",
        Perceptron(keep="average", max_iter=10), TheirPerceptron(max_iter=10, tol=None),
        (*digits("train"), *digits("t10k")),
    )  # fmt: skip


def of_degree_4(predict: bool) -> Race:
    """Machines of Freund and Schapire (1999) on MNIST that vote, against an SVC."""
    X, y = digits("train")
    order = np.random.default_rng(0).permutation(len(y))
    X, y, (X_test, y_test) = X[order], y[order], digits("t10k")
    how: dict[str, Any] = {"kernel": Polynomial(4), "multiclass": "ovr", "keep": "vote"}
    ten = KernelPerceptron(max_iter=10, shuffle=False, **how)
    svc = SVC(kernel="poly", degree=4, gamma=1.0, coef0=1.0, cache_size=2000)
    work = "MNIST, (1 + <x, y>)^4, "
    race = fits(f"{work}ten classes, ten passes: fit", "scikit-learn SVC, same kernel",
                ten, svc, (X, y, X_test, y_test))  # fmt: skip
    if not predict:
        return race
    thirty = KernelPerceptron(max_iter=30, shuffle=False, **how)
    for model in (ten, thirty, svc):
        model.fit(X, y)
    return race._replace(
        work=f"{work}thirty passes: predict 10,000 digits by vote",
        ours=lambda: thirty.predict(X_test), theirs=lambda: svc.predict(X_test),
    )  # fmt: skip


def races() -> dict[str, Callable[[], Race]]:
    """Every race of this file by its short name."""
    warnings.simplefilter("ignore", FutureWarning)
    return {
        "dense": lambda: perceptrons(
            "dense 500,000 x 128 float32, one pass in order", dense(520_000), 9, ONCE
        ),
        "csr": lambda: perceptrons(
            "CSR 400,000 x 47,236, one pass in order", sparse(420_000), 9, ONCE
        ),
        "csr-shuffled": lambda: perceptrons(
            "CSR 400,000 x 47,236, ten shuffled passes", sparse(420_000), 5, TEN
        ),
        "csr-ovr": lambda: perceptrons(
            "CSR 100,000 rows, 20 classes one-vs-rest, ten passes", sparse(120_000, 20), 3, TEN,
            multiclass="ovr",
        ),
        "average": average, "pa": passive_aggressive, "arow-costs": arow_costs, "mnist": mnist,
        "mnist-kernels-svc-fit": lambda: of_degree_4(False),
        "mnist-kernels-svc-predict": lambda: of_degree_4(True),
    }  # fmt: skip
