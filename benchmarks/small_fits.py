"""Fits of few rows beside their peers: how much of a fit is not its mathematics."""

import warnings
from collections.abc import Callable
from multiprocessing import Process, cpu_count
from statistics import median
from time import perf_counter, process_time
from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import Perceptron as TheirPerceptron
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from benchmarks import harness
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
    """Our fit, the peer's and its name, and how many times as long ours may take, if there is a
    goal.
    """

    ours: Callable[[], Any]
    theirs: Callable[[], Any]
    peer: str
    most: float | None = None


def wald(X: np.ndarray, y: np.ndarray) -> Any:
    """Return standard errors of our least squares, which are computed when they are asked for."""
    found = LinearRegression().fit(X, y)
    return found.standard_errors_, found.p_values_


def ols(X: np.ndarray, y: np.ndarray) -> Any:
    """Return the standard errors of statsmodels."""
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
        "least squares": Contest(lambda: wald(X, y), lambda: ols(X, y), "statsmodels OLS", 2.0),
        "logistic": Contest(
            lambda: LogisticRegression().fit(X, labels),
            lambda: sm.Logit(labels, sm.add_constant(X)).fit(disp=0).bse,
            "statsmodels Logit",
            2.0,
        ),
        "naive Bayes": Contest(
            lambda: GaussianNaiveBayes().fit(X, labels),
            lambda: GaussianNB().fit(X, labels),
            "scikit-learn GaussianNB",
            2.0,
        ),
        "Perceptron, 1 pass": Contest(
            lambda: Perceptron(max_iter=1).fit(X, labels),
            lambda: TheirPerceptron(max_iter=1, tol=None).fit(X, labels),
            "scikit-learn Perceptron",
            1.0,
        ),
        "Perceptron, 1,000 passes": Contest(
            lambda: Perceptron(max_iter=1000).fit(X, labels),
            lambda: TheirPerceptron(max_iter=1000, tol=None).fit(X, labels),
            "scikit-learn Perceptron",
        ),
        "soft margin": Contest(
            lambda: SoftMargin().fit(X, labels),
            lambda: LinearSVC(loss="hinge", tol=1e-6, max_iter=100_000).fit(X, labels),
            "scikit-learn LinearSVC",
            3.0 if rows == 200 else None,
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
        "Firth, Wald": Contest(lambda: ours("wald"), lambda: theirs("wald"), "firthmodels", 3.0),
        "Firth, profiles": Contest(lambda: ours("profile"), lambda: theirs("pl"), "firthmodels"),
    }


def timed(clock: Callable[[], float], *sides: Callable[[], Any]) -> list[float]:
    """Return the median seconds of each side by a clock; fits alternate."""
    seconds: list[list[float]] = [[] for _ in sides]
    for fit in sides:
        fit()
    began = perf_counter()
    while len(seconds[0]) < FEWEST or perf_counter() - began < SECONDS * len(sides):
        for taken, fit in zip(seconds, sides, strict=True):
            start = clock()
            fit()
            taken.append(clock() - start)
    return [median(taken) for taken in seconds]


def report(title: str, clock: Callable[[], float]) -> list[dict[str, Any]]:
    """Print a table of milliseconds; return the rows of docs/explanation/speed.md.

    With one BLAS thread: the peers' others wait for work for some milliseconds after a fit, and
    take the processor from whatever comes next.
    """
    found = []
    print(f"\n{title:40}{'linsep':>9}{'peer':>9}{'times':>7}{'most':>6}")
    for rows, columns in SHAPES:
        for name, (ours, theirs, peer, most) in contests(rows, columns).items():
            with threadpool_limits(1, "blas"):
                mine, other = timed(clock, ours, theirs)
            print(f"{rows:5} x {columns:<5}{name:27}{mine * 1e3:9.2f}{other * 1e3:9.2f}"
                  f"{mine / other:7.1f}{most or '-':>6}", flush=True)  # fmt: skip
            work = f"small fit, {rows:,} x {columns}: {name}"
            label = f"small-fit-{rows}x{columns}-{name}"
            found.append({"name": label} | harness.row(work, peer, mine, other))
    return found


def busy() -> None:
    """Keep a processor busy."""
    while True:
        pass


def main() -> list[dict[str, Any]]:
    """Median milliseconds of fits: of the processor, and by the clock beside busy loops."""
    warnings.simplefilter("ignore")
    found = report("milliseconds of CPU time", process_time)
    loops = [Process(target=busy, daemon=True) for _ in range(cpu_count())]
    for loop in loops:
        loop.start()
    try:
        report("beside a busy loop for each processor", perf_counter)
    finally:
        for loop in loops:
            loop.kill()
    return found
