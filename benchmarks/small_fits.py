"""Fits of few rows beside their peers: how much of a fit is not its mathematics."""

import warnings
from collections.abc import Callable
from multiprocessing import Process, cpu_count
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import Perceptron as TheirPerceptron
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from linsep import (
    GaussianNaiveBayes,
    LinearRegression,
    LogisticRegression,
    Perceptron,
    SoftMargin,
)

SHAPES = ((200, 5), (2000, 10))
#: seconds for each side, and fewest fits
SECONDS, FEWEST = 0.4, 7


class Contest(NamedTuple):
    """Our fit, the peer's, and how many times as long ours may take, if there is a goal."""

    ours: Callable[[], Any]
    theirs: Callable[[], Any]
    most: float | None = None


def wald(X: np.ndarray, y: np.ndarray) -> Any:
    """Return standard errors of our least squares, which are computed when they are asked for."""
    found = LinearRegression().fit(X, y)
    return found.standard_errors_, found.p_values_


def ols(X: np.ndarray, y: np.ndarray) -> Any:
    """Return those of statsmodels."""
    import statsmodels.api as sm

    found = sm.OLS(y, sm.add_constant(X)).fit()
    return found.bse, found.pvalues


def contests(rows: int, columns: int) -> dict[str, Contest]:
    """Return the fits of one shape by name."""
    import statsmodels.api as sm

    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, columns))
    score = X @ rng.standard_normal(columns) * 0.7
    y = score + rng.standard_normal(rows)
    labels = (rng.random(rows) < 1 / (1 + np.exp(-score))).astype(int)
    return {
        "least squares": Contest(lambda: wald(X, y), lambda: ols(X, y), 2.0),
        "logistic": Contest(
            lambda: LogisticRegression().fit(X, labels),
            lambda: sm.Logit(labels, sm.add_constant(X)).fit(disp=0).bse,
            2.0,
        ),
        "naive Bayes": Contest(
            lambda: GaussianNaiveBayes().fit(X, labels), lambda: GaussianNB().fit(X, labels), 2.0
        ),
        "Perceptron, 1 pass": Contest(
            lambda: Perceptron(max_iter=1).fit(X, labels),
            lambda: TheirPerceptron(max_iter=1, tol=None).fit(X, labels),
            1.0,
        ),
        "Perceptron, 1,000 passes": Contest(
            lambda: Perceptron(max_iter=1000).fit(X, labels),
            lambda: TheirPerceptron(max_iter=1000, tol=None).fit(X, labels),
            1.0,
        ),
        "soft margin": Contest(
            lambda: SoftMargin().fit(X, labels),
            lambda: LinearSVC(loss="hinge", tol=1e-6, max_iter=100_000).fit(X, labels),
        ),
        **_firth(X, labels),
    }


def _firth(X: np.ndarray, labels: np.ndarray) -> dict[str, Contest]:
    from firthmodels import FirthLogisticRegression

    def ours(intervals: str) -> Any:
        return LogisticRegression(penalty="firth", intervals=intervals).fit(X, labels)

    def theirs(method: Any) -> Any:
        return FirthLogisticRegression().fit(X, labels).conf_int(method=method)

    return {
        "Firth, Wald": Contest(lambda: ours("wald"), lambda: theirs("wald"), 3.0),
        "Firth, profiles": Contest(lambda: ours("profile"), lambda: theirs("pl")),
    }


def timed(*sides: Callable[[], Any]) -> list[float]:
    """Return the median seconds of each side, whose fits alternate."""
    seconds: list[list[float]] = [[] for _ in sides]
    for fit in sides:
        fit()
    began = perf_counter()
    while len(seconds[0]) < FEWEST or perf_counter() - began < SECONDS * len(sides):
        for taken, fit in zip(seconds, sides, strict=True):
            start = perf_counter()
            fit()
            taken.append(perf_counter() - start)
    return [median(taken) for taken in seconds]


def report(title: str) -> None:
    """Print a table of milliseconds."""
    print(f"\n{title:40}{'linsep':>9}{'peer':>9}{'times':>7}{'most':>6}")
    for rows, columns in SHAPES:
        for name, (ours, theirs, most) in contests(rows, columns).items():
            mine, peer = timed(ours, theirs)
            print(f"{rows:5} x {columns:<5}{name:27}{mine * 1e3:9.2f}{peer * 1e3:9.2f}"
                  f"{mine / peer:7.1f}{most or '-':>6}", flush=True)  # fmt: skip


def busy() -> None:
    """Keep a processor busy."""
    while True:
        pass


def main() -> None:
    """Median milliseconds of fits, on the machine as it is and beside busy loops."""
    warnings.simplefilter("ignore")
    report("milliseconds")
    loops = [Process(target=busy, daemon=True) for _ in range(cpu_count())]
    for loop in loops:
        loop.start()
    try:
        report("beside a busy loop for each processor")
    finally:
        for loop in loops:
            loop.kill()
