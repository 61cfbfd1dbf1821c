"""Early stopping on mixed tables: the best weights of the trial, which does not learn the held-out
rows, against weights of all rows, learned in as many passes as the trial made or until its best.
"""

from statistics import mean, stdev
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.model_selection import train_test_split

from benchmarks.table_sets import LABEL, sets
from linsep import Perceptron

SPLITS, ROWS, COLUMNS = 6, 1500, 400


class StopAfter:
    """A callback that asks to stop after a pass."""

    def __init__(self, number: int):
        self.number = number

    def setup(self, estimator: Any, context: Any) -> None:
        """Nothing to set up."""

    teardown = on_fit_task_begin = setup

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool:
        """Return whether this is the pass."""
        return context.parent is not None and context.task_id == self.number


def features(table: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Columns of mean 0 and standard deviation 1, an indicator for each text, and the classes."""
    table = table.sample(min(ROWS, len(table)), random_state=0)
    y = table[LABEL].astype(str).to_numpy()
    X = pd.get_dummies(table.drop(columns=LABEL), dtype=float).to_numpy(float)
    X = np.nan_to_num(X)[:, :COLUMNS]
    X = X[:, X.std(axis=0) > 0]
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def accuracies(model: Any, X: np.ndarray, y: np.ndarray, split: int) -> list[float]:
    """On other rows: the trial, all rows in its passes, in those up to its best, without any."""
    learned, other, classes, truth = train_test_split(
        X, y, test_size=0.3, random_state=split, stratify=y
    )
    scores = clone(model).set_params(early_stopping=True).fit(learned, classes).validation_scores_
    trial = clone(model).set_params(early_stopping=True)
    trial.set_callbacks(StopAfter(len(scores) - 1)).fit(learned, classes)
    passes = len(scores), int(scores.argmax()) + 1, model.max_iter
    fits = [clone(model).set_params(max_iter=n).fit(learned, classes) for n in passes]
    return [100 * one.score(other, truth) for one in (trial, *fits)]


def main() -> None:
    """Print mean accuracies, and their differences from the trial."""
    tables = [features(load()) for load in sets().values()]
    print(f"\nearly stopping on {len(tables)} tables of up to {ROWS:,} rows, {SPLITS} splits each")
    for keep in ("last", "average", "best"):
        model = Perceptron(keep=keep, max_iter=10)
        rows = [
            np.mean([accuracies(model, X, y, split) for split in range(SPLITS)], axis=0)
            for X, y in tables
        ]
        print(f"keep={keep}: {mean(row[0] for row in rows):.2f}% with the trial")
        names = "all rows", "all rows, up to the best pass", "no early stopping"
        for k, name in enumerate(names, start=1):
            gains = [row[k] - row[0] for row in rows]
            print(f"  {name}: {mean(gains):+.2f} ± {stdev(gains) / len(gains) ** 0.5:.2f}")


if __name__ == "__main__":
    main()
