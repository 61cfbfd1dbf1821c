"""Soft margins beside LIBLINEAR, each to the same gap, and the gaps that are reached on tables."""

import warnings
from collections.abc import Callable
from statistics import median
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from benchmarks.accuracy import svmlight
from benchmarks.data import sparse
from benchmarks.table_sets import LABEL, sets
from linsep import SoftMargin

COSTS, LOSSES, TURNS = (0.1, 1.0, 10.0), ("hinge", "squared_hinge"), 3
SETS: dict[str, Callable[[], Any]] = {
    "a9a": lambda: svmlight("a9a.gz", 123),
    "w8a": lambda: svmlight("w8a.gz", 300),
    "Zipf's columns": lambda: sparse(400_000),
}
#: tolerance of LIBLINEAR, most of its iterations, and turns, where they are others
FEWER = {"Zipf's columns": (0.1, 1000, 1)}


def timed(fit: Callable[[], Any], turns: int) -> tuple[float, Any]:
    """Median CPU time of some turns, in seconds, and the model."""
    seconds, model = [], None
    for _ in range(turns):
        began = process_time()
        model = fit()
        seconds.append(process_time() - began)
    return median(seconds), model


def objective(model: Any, X: Any, signs: np.ndarray, C: float, loss: str) -> float:
    """The objective of LIBLINEAR, whose intercept is penalized."""
    w, b = model.coef_[0], float(model.intercept_[0])
    short = np.maximum(0.0, 1.0 - signs * (X @ w + b))
    return float(w @ w + b * b) / 2 + C * float((short if loss == "hinge" else short**2).sum())


def main() -> None:
    """CPU time of LIBLINEAR, and of linsep to the gap that LIBLINEAR reaches."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(f"{'':16}{'C':>6} {'loss':14}{'LIBLINEAR':>10}{'its gap':>10}{'linsep':>8}{'times':>7}"
          f"{'to 1e-6':>9}")  # fmt: skip
    for name, make in SETS.items():
        X, y = make()
        signs, (tol, most, turns) = np.where(y > 0, 1.0, -1.0), FEWER.get(name, (1e-3, 1000, TURNS))
        for C in COSTS:
            for loss in LOSSES:
                how = {"C": C, "loss": loss, "random_state": 0}
                peer = LinearSVC(tol=tol, max_iter=most, dual=True, **how)
                theirs, model = timed(lambda: peer.fit(X, signs), turns)  # noqa: B023
                how |= {"penalize_intercept": True}
                fine = 1e-6 if turns > 1 else 1e-4
                best = SoftMargin(tol=fine, **how)
                longer, best = timed(lambda: best.fit(X, signs), 1)  # noqa: B023
                gap = max(objective(model, X, signs, C, loss) / best.lower_bound_ - 1, fine)
                same = SoftMargin(tol=gap, **how)
                ours, _ = timed(lambda: same.fit(X, signs), turns)  # noqa: B023
                print(f"{name:16}{C:6g} {loss:14}{theirs:10.2f}{gap:10.1e}{ours:8.2f}"
                      f"{theirs / ours:7.1f}{longer:9.2f}", flush=True)  # fmt: skip


def tables() -> None:
    """The largest certified gap of each table, of 5,000 rows at most, over C from 1e-3 to 1e3 and
    both losses, raw and standardized.
    """
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(f"{'':18}{'rows':>7}{'columns':>9}{'raw':>10}{'scaled':>10}{'seconds':>9}")
    for name, make in sets().items():
        table = make()
        table = table.sample(min(len(table), 5_000), random_state=0)
        labels = table.pop(LABEL)
        signs = np.where(labels == labels.value_counts().index[0], 1.0, -1.0)
        plain = table.apply(lambda c: c if c.dtype.kind in "ifb" else c.astype(str))
        raw = np.nan_to_num(pd.get_dummies(plain).to_numpy(float))
        spread = raw.std(axis=0)
        scaled = (raw - raw.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        worst, began = {"raw": 0.0, "scaled": 0.0}, process_time()
        for which, X in (("raw", raw), ("scaled", scaled)):
            for C in 10.0 ** np.arange(-3, 4):
                for loss in LOSSES:
                    model = SoftMargin(C=C, loss=loss, tol=1e-6).fit(X, signs)
                    worst[which] = max(worst[which], model.duality_gap_)
        print(f"{name:18}{raw.shape[0]:7}{raw.shape[1]:9}{worst['raw']:10.0e}"
              f"{worst['scaled']:10.0e}{process_time() - began:9.1f}", flush=True)  # fmt: skip
