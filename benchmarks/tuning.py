"""Grids of parameters from rows to the best model: linsep tune against GridSearchCV.

On one hold-out, linsep compares sixteen models on a fifth of the rows and learns the best again
from all rows. GridSearchCV makes all passes of the same models, with the same hold-out or with its
default, five folds. Both use all processors.
"""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import GridSearchCV, StratifiedShuffleSplit

from benchmarks.data import sparse, svmlight_text
from benchmarks.harness import Race
from linsep import PassiveAggressive, open_source
from linsep.tuning import SideBySide, grids_of

MEGABYTES = 80  # 100,000 different rows
STEPS = [0.001, 0.01, 0.1, 1.0]
GRID = {"C": STEPS, "loss": ["hinge", "squared_hinge"], "keep": ["last", "average"]}


class Ours:
    """What ``linsep tune --learner pa`` does with a grid of C, loss and keep."""

    model: Any

    def __call__(self) -> None:
        with tempfile.TemporaryDirectory(prefix=f"linsep-bench-{os.getpid()}-") as cache:
            source = open_source(svmlight_text(MEGABYTES), cache=Path(cache))
            common = {"max_iter": 10, "validation_fraction": 0.2, "early_stopping": True}
            grid = grids_of(GRID, {"pa": {}})["pa"]
            race = SideBySide([(c, PassiveAggressive(**common, **c)) for c in grid], source)
            self.model = race.run(
                lambda kept: PassiveAggressive(max_iter=10, **race.best.values).fit(kept)
            )


class Theirs:
    """The same grid for scikit-learn's SGD with the steps of PA-I and PA-II; ``cv`` None is the
    default.
    """

    model: Any

    def __init__(self, cv: StratifiedShuffleSplit | None):
        self.cv = cv

    def __call__(self) -> None:
        X, y = load_svmlight_file(str(svmlight_text(MEGABYTES)))
        X.indices, X.indptr = X.indices.astype("int32"), X.indptr.astype("int32")
        learner = SGDClassifier(loss="hinge", penalty=None, max_iter=10, tol=None)
        grid = {"eta0": STEPS, "learning_rate": ["pa1", "pa2"], "average": [False, True]}
        self.model = GridSearchCV(learner, grid, cv=self.cv, n_jobs=-1).fit(X, y).best_estimator_


def race(how: str, cv: StratifiedShuffleSplit | None) -> Race:
    """Text to the best of sixteen models."""
    ours, theirs = Ours(), Theirs(cv)

    def accuracies() -> tuple[float, float]:
        X, y = sparse(20_000, seed=1)
        width = theirs.model.n_features_in_
        return ours.model.score(X[:, : ours.model.n_features_in_], y), float(
            np.mean(theirs.model.predict(X[:, :width]) == y)
        )

    return Race(
        f"tune: 80 MB of svmlight text, 16 models, ten passes, {how}",
        "scikit-learn GridSearchCV", ours, theirs, 3, accuracies,
    )  # fmt: skip


def races() -> dict[str, Callable[[], Race]]:
    """The races of this file by their short names: one hold-out for both, or five folds."""
    one = StratifiedShuffleSplit(1, test_size=0.2, random_state=0)
    return {
        "tune": lambda: race("one hold-out", one),
        "tune-folds": lambda: race("one hold-out against five folds", None),
    }
