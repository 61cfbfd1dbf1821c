"""The table of planted label noise on the page is what the code gives."""

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from linsep import suspicious_labels
from thoroughness import THOROUGH

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to/wrong-labels.md"
LINE = re.compile(r"\| (.*) \| (\d+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|")


def sets():
    """Rows and their right labels, under the names of the page."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    scores = X @ [1, 2, -1]
    yield "200 x 3, normal, separable before", X, (scores > 0).astype(int)
    noisy = (scores + rng.normal(size=200) > 0).astype(int)
    yield "200 x 3, normal, overlapping before", X, noisy
    X, y = load_iris(return_X_y=True)
    yield "iris, versicolor and virginica, 100 x 4", X[50:], y[50:] - 1
    yield "breast cancer, 569 x 30", *load_breast_cancer(return_X_y=True)


def found(X, y, flips, rng):
    """Shares of flipped labels among the first rows of both rankings: as many rows, and twice."""
    flipped = rng.choice(len(y), flips, replace=False)
    noisy = y.copy()
    noisy[flipped] ^= 1
    scores = suspicious_labels(X, noisy, time_limit=10).scores(len(y))
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    every = cross_val_predict(model, X, noisy, cv=5, method="predict_proba")
    given = every[np.arange(len(y)), noisy]
    return [
        np.isin(np.argsort(order, kind="stable")[:k], flipped).sum() / flips
        for order in (-scores, given)
        for k in (flips, 2 * flips)
    ]


@pytest.mark.uncompiled
@pytest.mark.skipif(not THOROUGH, reason="minutes: in the thorough tier")
def test_planted_noise():
    shown = {name: line for name, *line in LINE.findall(PAGE.read_text("utf-8"))}
    for name, X, y in sets():
        flips, *wanted = (float(cell) for cell in shown.pop(name))
        rng = np.random.default_rng(1)
        shares = np.mean([found(X, y, int(flips), rng) for _ in range(5)], axis=0)
        # the search ends with its time, which finds more or fewer contradictions
        assert shares[:2] == pytest.approx(wanted[:2], abs=0.08), name
        assert shares[2:] == pytest.approx(wanted[2:], abs=0.011), name
    assert not shown
