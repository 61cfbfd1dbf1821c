"""Configurations of the online estimators for scikit-learn's checks, and which cannot pass, why.

``configurations`` are every value of every parameter by itself, and then as few as cover all pairs
of values. ``make campaign PARTS=estimators`` runs all checks of all of them.
"""

import contextlib
import io
import random
import warnings
from itertools import combinations

import numpy as np
from sklearn.utils.estimator_checks import check_estimator

import linsep
from linsep import kernels


def falling_rate(k):
    """A learning rate that is a function, which can be pickled."""
    return 1.0 / k


COMMON = {
    "multiclass": ["native", "ovr", "ovo"],
    "shuffle": [True, False],
    "random_state": [0, 7],
    "early_stopping": [False, True],
    "validation_fraction": [0.1, 0.4],
    "n_iter_no_change": [5, 1],
    "warm_start": [False, True],
    "verbose": [0, 1],
    "tie": ["negative", "positive", "random"],
    "class_weight": [None, "balanced", {1: 2.0}],
    "keep": ["last", "average", "vote", "best"],
}
LINEAR = COMMON | {"vote_megabytes": [256.0, 512.0]}
INTERCEPT = {"fit_intercept": [True, False]}
NORMALIZE = {"normalize": [False, True]}
GRIDS = {
    "Perceptron": LINEAR | INTERCEPT | NORMALIZE | {
        "schedule": ["constant", "inverse", "inverse_sqrt"],
        "learning_rate": [1.0, 0.25, falling_rate],
        "update": ["single", "batch"],
    },
    "MarginPerceptron": LINEAR | INTERCEPT | {
        "gamma": ["auto", 0.05, 0.5], "epsilon": [0.5, 0.1, 0.9],
    },
    "PassiveAggressive": LINEAR | INTERCEPT | NORMALIZE | {
        "loss": ["hinge", "squared_hinge"], "C": [1.0, 0.01, np.inf],
    },
    "Winnow": LINEAR | NORMALIZE | {"promotion": [2.0, 1.1], "threshold": [None, 1.0]},
    "BalancedWinnow": LINEAR | INTERCEPT | NORMALIZE | {
        "promotion": [2.0, 1.1], "threshold": [0.0, 1.0],
    },
    "KernelPerceptron": COMMON | {
        "kernel": [
            "rbf", "linear", "poly", "sigmoid", "laplacian", "cosine", "chi2", "additive_chi2",
            "precomputed", kernels.RBF(0.5) + kernels.Polynomial(2), kernels.AllSubsets(),
        ],
        "budget": [None, 20], "cache_mb": [200.0, 0.01], "degree": [3, 1], "gamma": [None, 0.1],
        "coef0": [1.0, 0.0],
    },
}  # fmt: skip


def goes_together(given):
    """Whether these parameters are not refused by each other."""
    if given.get("learning_rate") is falling_rate and given.get("schedule") != "constant":
        return False
    if given.get("budget") is not None and given["keep"] == "vote":
        return False
    return not (given.get("gamma") == "auto" and given["warm_start"])


def configurations(name):
    """What deviates from the defaults, one dict a configuration."""
    grid = GRIDS[name]
    usual = {parameter: values[0] for parameter, values in grid.items()}
    alone = [{p: value} for p, values in grid.items() for value in values[1:]]
    found = [{}, *(one for one in alone if goes_together(usual | one))]
    return found + [one for one in _pairs(grid) if one not in found]


def _pairs(grid):
    """As few dicts as a greedy draw finds that have every two values that go together."""
    draw = random.Random(0)

    def drawn():
        while True:
            one = {p: draw.randrange(len(values)) for p, values in grid.items()}
            if goes_together({p: grid[p][k] for p, k in one.items()}):
                return one

    def pairs(one):
        return set(combinations(one.items(), 2))

    left = set().union(*(pairs(drawn()) for _ in range(3000)))
    while left:
        best = max((drawn() for _ in range(200)), key=lambda one: len(pairs(one) & left))
        left -= pairs(best)
        yield {p: grid[p][k] for p, k in best.items() if k}


def failures(estimator, expected):
    """What scikit-learn's checks of an estimator say against it that is not expected."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        with contextlib.redirect_stdout(io.StringIO()):
            found = check_estimator(
                estimator, on_skip=None, on_fail=None, expected_failed_checks=expected
            )
    return [
        f"{one['check_name']}: {one['exception']!r:.300}"
        for one in found
        if one["status"] == "failed"
    ]


def built(name, given):
    """The estimator; thirty passes do for all that is asked."""
    return getattr(linsep, name)(max_iter=30, **given)
