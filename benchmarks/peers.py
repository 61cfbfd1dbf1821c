"""Fits beside fits of the programs that pages for their users compare: CPU time, one BLAS thread.

The rows of a page are named after it, and ``--record`` writes them into its table.
"""

import warnings
from collections.abc import Callable, Iterator
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from sklearn import linear_model, svm
from sklearn.datasets import load_breast_cancer, load_digits
from threadpoolctl import threadpool_limits

from benchmarks import harness
from benchmarks.small_fits import timed
from linsep import (
    KernelSoftMargin,
    LinearRegression,
    LogisticRegression,
    PassiveAggressive,
    Perceptron,
    SoftMargin,
)


class Pair(NamedTuple):
    """A fit of ours and one of theirs, which return what they reached, or None."""

    work: str
    against: str
    ours: Callable[[], Any]
    theirs: Callable[[], Any]
    measure: str = "accuracy"


def noisy(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Return normal columns and labels of a logistic model."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, columns))
    chance = 1 / (1 + np.exp(-2 * X @ rng.standard_normal(columns) / np.sqrt(columns)))
    return X, (rng.random(rows) < chance).astype(int)


def cancer() -> tuple[np.ndarray, np.ndarray]:
    """Return the tumors of scikit-learn, standardized."""
    X, y = load_breast_cancer(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def scikit_learn() -> Iterator[Pair]:
    """Pairs of docs/how-to/from-scikit-learn.md."""
    X, y = noisy(100_000, 50)
    digits, numbers = load_digits(return_X_y=True)
    ten: dict[str, Any] = {"max_iter": 10, "random_state": 0}
    yield Pair(
        "100,000 x 50, averaged perceptron, ten passes", "SGDClassifier(average=True)",
        lambda: Perceptron(keep="average", **ten).fit(X, y).score(X, y),
        lambda: linear_model.SGDClassifier(
            loss="perceptron", penalty=None, learning_rate="constant", eta0=1.0, average=True,
            tol=None, **ten,
        ).fit(X, y).score(X, y),
    )  # fmt: skip
    yield Pair(
        "digits, 1,797 x 64, ten classes, ten passes", "Perceptron",
        lambda: Perceptron(**ten).fit(digits, numbers).score(digits, numbers),
        lambda: linear_model.Perceptron(tol=None, **ten).fit(digits, numbers).score(
            digits, numbers),
    )  # fmt: skip
    for solver in ("lbfgs", "newton-cholesky"):
        yield Pair(
            "100,000 x 50, logistic, l2=1, with standard errors", f"{solver}, without",
            lambda: LogisticRegression(l2=1.0).fit(X, y).score(X, y),
            lambda solver=solver: linear_model.LogisticRegression(
                C=1.0, solver=solver, tol=1e-8, max_iter=1000).fit(X, y).score(X, y),
        )  # fmt: skip


def liblinear() -> Iterator[Pair]:
    """Pairs of docs/how-to/from-liblinear.md."""
    small, tumors = cancer()
    X, y = noisy(20_000, 20)
    fewer, labels = X[:5000], y[:5000]
    tight: dict[str, Any] = {"tol": 1e-6, "max_iter": 1_000_000}
    for name, rows, of in (("tumors, 569 x 30", small, tumors), ("20,000 x 20, noisy", X, y)):
        yield Pair(
            f"{name}, L2 loss", "LinearSVC",
            lambda rows=rows, of=of: SoftMargin(
                loss="squared_hinge", penalize_intercept=True).fit(rows, of).score(rows, of),
            lambda rows=rows, of=of: svm.LinearSVC(**tight).fit(rows, of).score(rows, of),
        )  # fmt: skip
        yield Pair(
            f"{name}, L1 loss", "LinearSVC",
            lambda rows=rows, of=of: SoftMargin(penalize_intercept=True).fit(rows, of).score(
                rows, of),
            lambda rows=rows, of=of: svm.LinearSVC(loss="hinge", **tight).fit(rows, of).score(
                rows, of),
        )  # fmt: skip
    yield Pair(
        "5,000 x 20, noisy, linear, intercept without a penalty", "SVC",
        lambda: SoftMargin().fit(fewer, labels).score(fewer, labels),
        lambda: svm.SVC(kernel="linear", tol=1e-6).fit(fewer, labels).score(fewer, labels),
    )  # fmt: skip
    for name, rows, of in (("tumors, 569 x 30", small, tumors), ("5,000 x 20", fewer, labels)):
        curved: dict[str, Any] = {"kernel": "rbf", "gamma": 0.05, "C": 1.0}
        yield Pair(
            f"{name}, radial kernel", "SVC",
            lambda rows=rows, of=of, curved=curved: KernelSoftMargin(**curved).fit(
                rows, of).score(rows, of),
            lambda rows=rows, of=of, curved=curved: svm.SVC(tol=1e-6, **curved).fit(
                rows, of).score(rows, of),
        )  # fmt: skip


def statsmodels() -> Iterator[Pair]:
    """Pairs of docs/how-to/from-statsmodels.md."""
    import statsmodels.api as sm

    for rows, columns in ((200, 5), (100_000, 20)):
        X, labels = noisy(rows, columns)
        y = X[:, 0] + np.random.default_rng(1).standard_normal(rows)
        size = f"{rows:,} x {columns}"
        for robust in (None, "HC3"):
            yield Pair(
                f"{size}, least squares, {robust or 'classical'} errors", "OLS",
                lambda X=X, y=y, robust=robust: _errors(
                    LinearRegression(covariance=robust).fit(X, y)),
                lambda X=X, y=y, robust=robust: sm.OLS(y, sm.add_constant(X)).fit(
                    cov_type=robust or "nonrobust").bse[-1],
                "last error",
            )  # fmt: skip
        yield Pair(
            f"{size}, logistic", "Logit",
            lambda X=X, labels=labels: _errors(LogisticRegression().fit(X, labels)),
            lambda X=X, labels=labels: sm.Logit(labels, sm.add_constant(X)).fit(disp=0).bse[-1],
            "last error",
        )  # fmt: skip


def _errors(fitted: Any) -> float:
    """Return the standard error of the last coefficient."""
    return float(np.ravel(fitted.standard_errors_)[-1 if len(np.shape(fitted.coef_)) else 0])


def river() -> Iterator[Pair]:
    """Pairs of docs/how-to/from-river.md."""
    from river import linear_model as theirs

    X, y = cancer()
    rows = [dict(enumerate(row)) for row in X.tolist()]

    def stream(model: Any) -> float:
        right = 0
        for row, label in zip(rows, y, strict=True):
            right += model.predict_one(row) == bool(label)
            model.learn_one(row, bool(label))
        return right / len(y)

    def single(model: Any) -> float:
        right = 0
        for i in range(len(X)):
            right += i > 0 and model.predict(X[i : i + 1])[0] == y[i]
            model.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1])
        return right / len(y)

    yield Pair(
        "tumors, 569 x 30, PA-I, one array", "one row at a time",
        lambda: PassiveAggressive(max_iter=1, shuffle=False).fit(X, y).progressive_accuracy_,
        lambda: stream(theirs.PAClassifier(C=1.0, mode=1)),
    )  # fmt: skip
    yield Pair(
        "the same, PA-I, `partial_fit` and `predict` row by row", "one row at a time",
        lambda: single(PassiveAggressive()), lambda: stream(theirs.PAClassifier(C=1.0, mode=1)),
    )  # fmt: skip


PAGES = {
    "from-scikit-learn": scikit_learn,
    "from-liblinear": liblinear,
    "from-statsmodels": statsmodels,
    "from-river": river,
}


def main() -> list[dict[str, Any]]:
    """Time both sides of every pair, and return the rows of the pages."""
    warnings.simplefilter("ignore")
    found = []
    for page, pairs in PAGES.items():
        for number, pair in enumerate(pairs(), 1):
            with threadpool_limits(1, "blas"):
                reached = float(pair.ours()), float(pair.theirs())
                ours, theirs = timed(process_time, pair.ours, pair.theirs)
            label = f"{page}-{number}"
            row = harness.row(pair.work, pair.against, ours, theirs, *reached, pair.measure)
            found.append({"name": label} | row)
            print(f"{label:22}{pair.work:58}{ours * 1e3:9.2f}{theirs * 1e3:9.2f} ms "
                  f"{theirs / ours:7.2f}  {reached}", flush=True)  # fmt: skip
    return found
