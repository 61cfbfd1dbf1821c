"""Grids of parameters from rows to the best model: linsep tune against GridSearchCV.

On one hold-out, linsep compares sixteen models on a fifth of the rows and learns the best again
from all rows. GridSearchCV makes all passes of the same models, with the same hold-out or with its
default, five folds. In folds, both compare a perceptron, logistic regressions, radial kernels and
naive Bayes. Both use all processors.
"""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import LogisticRegression, Perceptron, SGDClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold, StratifiedShuffleSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

import linsep
from benchmarks.data import sparse, svmlight_text
from benchmarks.harness import Race, Side
from benchmarks.table_sets import LABEL, sets
from linsep import PassiveAggressive, open_source
from linsep.cross_validation import Folds, kept, labeled_rows
from linsep.sources.arrays import ArraySource
from linsep.tuning import Candidate, SideBySide, combinations, compare

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
            grid = combinations(GRID)
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
        Side("linsep", ours), Side("scikit-learn GridSearchCV", theirs), 10, 3, accuracies,
    )  # fmt: skip


def tune() -> Race:
    """Both with one hold-out."""
    return race("one hold-out", StratifiedShuffleSplit(1, test_size=0.2, random_state=0))


def tune_folds() -> Race:
    """One hold-out against five folds."""
    return race("one hold-out against five folds", None)


#: the same grids for both: scikit-learn's C is 1 / l2
L2, GAMMA = [0.01, 0.1, 1.0, 10.0], [0.01, 0.03, 0.1]


class OurFolds:
    """What ``linsep tune --cv 5`` does with four learners."""

    best = 0.0

    def __init__(self, X: np.ndarray, y: np.ndarray):
        self.X, self.y = X, y

    def __call__(self) -> None:
        passes: dict[str, Any] = {"max_iter": 10, "keep": "average"}
        candidates = [
            Candidate("naive-bayes", {}, linsep.GaussianNaiveBayes(variances="by_class")),
            Candidate("perceptron", {}, linsep.Perceptron(**passes)),
            *(Candidate("logistic", {"l2": x}, linsep.LogisticRegression(l2=x)) for x in L2),
            *(
                Candidate("kernel", {"gamma": x}, linsep.KernelPerceptron(gamma=x, **passes))
                for x in GAMMA
            ),
        ]
        rows = labeled_rows(*kept(ArraySource(self.X, self.y)))
        self.best = compare(candidates, rows, Folds(5), "accuracy").ranked[0].mean


class TheirFolds:
    """The same folds and grids in scikit-learn."""

    best = 0.0

    def __init__(self, X: np.ndarray, y: np.ndarray):
        self.X, self.y = X, y

    def __call__(self) -> None:
        folds, found = StratifiedKFold(5, shuffle=True, random_state=0), []
        for learner, grid in (
            (GaussianNB(), {}),
            (Perceptron(), {}),
            (LogisticRegression(max_iter=1000), {"C": [1 / x for x in L2]}),
            (SVC(), {"gamma": GAMMA}),
        ):
            search = GridSearchCV(learner, grid, cv=folds, n_jobs=-1, refit=False)
            found.append(search.fit(self.X, self.y).best_score_)
        self.best = max(found)


def tune_learners() -> Race:
    """Four learners in five folds."""
    table = sets()["waveform"]()
    y, X = table.pop(LABEL).to_numpy(), table.to_numpy(float)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    ours, theirs = OurFolds(X, y), TheirFolds(X, y)
    return Race(
        "tune: 5,000 rows of 21 numbers, 9 models of 4 learners, five folds",
        Side("linsep", ours), Side("scikit-learn GridSearchCV", theirs), 5, 3,
        lambda: (ours.best, theirs.best),
    )  # fmt: skip


def races() -> dict[str, Callable[[], Race]]:
    """The races of this file by their short names."""
    return {"tune": tune, "tune-folds": tune_folds, "tune-learners": tune_learners}
