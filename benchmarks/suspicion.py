"""How often a logistic regression suspects separation where there is none, and what that costs.

200 data sets, each with both classes on both sides of every hyperplane: strong signals, separable
rows with a few labels changed, and real rows.
"""

import time
import warnings
from collections.abc import Iterator
from statistics import median
from unittest.mock import patch

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from linsep import LogisticRegression
from linsep.logistic import limits as no_maximum

Rows = tuple[str, np.ndarray, np.ndarray]


def _strong(draw: np.random.Generator) -> Rows:
    """Labels of a logistic model with long weights, on features of different scales."""
    n, p = int(draw.integers(60, 1500)), int(draw.integers(2, 15))
    X = draw.normal(size=(n, p))
    w = draw.normal(size=p) * draw.choice([2.0, 5.0, 15.0])
    y = draw.random(n) < 1 / (1 + np.exp(-(X @ w)))
    return "strong signal", X * 10.0 ** draw.integers(-3, 4, p), y


def _nearly(draw: np.random.Generator) -> Rows:
    """Rows beside a hyperplane, with one to five labels changed."""
    n, p = int(draw.integers(60, 1500)), int(draw.integers(2, 10))
    X = draw.normal(size=(n, p))
    y = X @ draw.normal(size=p) > 0
    y[draw.choice(n, int(draw.integers(1, 6)), replace=False)] ^= True
    return "nearly separable", X, y


def _real(draw: np.random.Generator) -> Rows:
    """Some columns and rows of a real data set, one class against the others."""
    load = draw.choice([load_iris, load_wine, load_breast_cancer, load_digits])
    X, y = load(return_X_y=True)
    rows = draw.choice(len(X), int(draw.integers(len(X) // 2, len(X))), replace=False)
    columns = draw.choice(X.shape[1], int(draw.integers(2, min(X.shape[1], 12) + 1)), replace=False)
    return "real rows", X[np.ix_(rows, columns)], y[rows] == draw.integers(y.max() + 1)


def sets(count: int = 200) -> Iterator[Rows]:
    """Yield ``count`` data sets that overlap, of the three kinds in turn."""
    draw, made = np.random.default_rng(0), 0
    while made < count:
        name, X, y = (_strong, _nearly, _real)[made % 3](draw)
        if y.any() and not y.all() and _overlap(X, y):
            made += 1
            yield name, X, y


def _overlap(X: np.ndarray, y: np.ndarray) -> bool:
    from linsep import separation

    return separation(X, y).kind == "overlapping"


def suspected(X: np.ndarray, y: np.ndarray) -> tuple[bool, float, float]:
    """Return whether a fit suspects separation, its seconds, and the seconds of the check."""
    asked = [0.0]

    def timed(*given):
        start = time.perf_counter()
        try:
            return question(*given)
        finally:
            asked.append(time.perf_counter() - start)

    question = no_maximum.outcome_of_suspect
    with patch.object(no_maximum, "outcome_of_suspect", timed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        LogisticRegression().fit(X, y)
        return len(asked) > 1, time.perf_counter() - start, sum(asked)


def main() -> None:
    """Print the table."""
    LogisticRegression().fit([[1.0], [2.0], [3.0], [4.0]], [0, 1, 0, 1])  # compiled from here on
    found: dict[str, list[tuple[bool, float, float]]] = {}
    for name, X, y in sets():
        found.setdefault(name, []).append(suspected(X, y))
    found["all"] = [fit for every in found.values() for fit in every]
    print(
        f"{'data':18s} {'sets':>5s} {'suspected':>10s} {'median fit':>11s} {'share of time':>14s}"
    )
    for name, every in found.items():
        suspects, fits, asked = zip(*every, strict=True)
        print(
            f"{name:18s}{len(every):15d}{sum(suspects):15d}{1e3 * median(fits):12.1f} ms"
            f"{sum(asked) / sum(fits):15.1%}"
        )
