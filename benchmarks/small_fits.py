"""Fits of few rows beside their peers, and of more rows."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from sklearn import linear_model, svm
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.naive_bayes import GaussianNB

from benchmarks.harness import Race
from benchmarks.learners import AVERAGE
from linsep import (
    GaussianNaiveBayes,
    KernelSoftMargin,
    LinearRegression,
    LogisticRegression,
    PassiveAggressive,
    Perceptron,
    SoftMargin,
)

TEN: dict[str, Any] = {"max_iter": 10, "random_state": 0}
TIGHT: dict[str, Any] = {"tol": 1e-6, "max_iter": 1_000_000}
RADIAL: dict[str, Any] = {"kernel": "rbf", "gamma": 0.05, "C": 1.0}


def small(name: str, rows: int, columns: int, against: str) -> Race:
    """A fit of one shape."""
    import statsmodels.api as sm

    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, columns))
    score = X @ rng.standard_normal(columns) * 0.7
    y = score + rng.standard_normal(rows)
    labels = (rng.random(rows) < 1 / (1 + np.exp(-score))).astype(int)

    def wald() -> Any:
        found = LinearRegression().fit(X, y)
        return found.standard_errors_, found.p_values_

    def ols() -> Any:
        found = sm.OLS(y, sm.add_constant(X)).fit()
        return found.bse, found.pvalues

    def firth(intervals: str) -> Any:
        return LogisticRegression(penalty="firth", intervals=intervals).fit(X, labels)

    def firthmodels(method: Any) -> Any:
        from firthmodels import FirthLogisticRegression

        return FirthLogisticRegression().fit(X, labels).conf_int(method=method)

    def both(ours: Any, theirs: Any) -> tuple[Callable[[], Any], Callable[[], Any]]:
        return lambda: ours.fit(X, labels), lambda: theirs.fit(X, labels)

    perceptrons = {
        f"Perceptron, {passes:,} pass{'es' * (passes > 1)}": both(
            Perceptron(max_iter=passes), linear_model.Perceptron(max_iter=passes, tol=None)
        )
        for passes in (1, 1000)
    }
    sides = perceptrons | {
        "least squares": (wald, ols),
        "logistic": (
            lambda: LogisticRegression().fit(X, labels),
            lambda: sm.Logit(labels, sm.add_constant(X)).fit(disp=0).bse,
        ),
        "naive Bayes": both(GaussianNaiveBayes(), GaussianNB()),
        "soft margin": both(SoftMargin(), svm.LinearSVC(loss="hinge", tol=1e-6, max_iter=100_000)),
        "Firth, Wald": (partial(firth, "wald"), partial(firthmodels, "wald")),
        "Firth, profiles": (partial(firth, "profile"), partial(firthmodels, "pl")),
    }
    return Race(f"small fit, {rows:,} x {columns}: {name}", against, *sides[name], quick=True)


@cache
def noisy(rows: int, columns: int, most: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Normal columns and labels of a logistic model, all or the first ones."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, columns))
    chance = 1 / (1 + np.exp(-2 * X @ rng.standard_normal(columns) / np.sqrt(columns)))
    return X[:most], (rng.random(rows) < chance).astype(int)[:most]


@cache
def cancer() -> tuple[np.ndarray, np.ndarray]:
    """The tumors of scikit-learn, standardized."""
    X, y = load_breast_cancer(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def reaching(work: str, against: str, ours: Any, theirs: Any, measure: str = "accuracy") -> Race:
    """Two sides that return what they reached."""
    reached = lambda: (float(ours()), float(theirs()))  # noqa: E731
    return Race(work, against, ours, theirs, reached=reached, measure=measure, quick=True)


def scored(work: str, against: str, ours: Any, theirs: Any, rows: Callable[[], Any]) -> Race:
    """Two estimators, fitted to rows and scored on them."""
    X, y = rows()
    return reaching(
        work, against, lambda: ours.fit(X, y).score(X, y), lambda: theirs.fit(X, y).score(X, y)
    )


def scikit_learn() -> list[tuple[Any, ...]]:
    """Pairs with scikit-learn."""
    large = partial(noisy, 100_000, 50)
    return [
        ("100,000 x 50, averaged perceptron, ten passes", "SGDClassifier(average=True)",
         Perceptron(keep="average", **TEN), linear_model.SGDClassifier(**AVERAGE, **TEN), large),
        ("digits, 1,797 x 64, ten classes, ten passes", "Perceptron", Perceptron(**TEN),
         linear_model.Perceptron(tol=None, **TEN), partial(load_digits, return_X_y=True)),
        *(
            ("100,000 x 50, logistic, l2=1, with standard errors", f"{solver}, without",
             LogisticRegression(l2=1.0), linear_model.LogisticRegression(
                 C=1.0, solver=solver, tol=1e-8, max_iter=1000), large)
            for solver in ("lbfgs", "newton-cholesky")
        ),
    ]  # fmt: skip


def liblinear() -> list[tuple[Any, ...]]:
    """Pairs with LIBLINEAR and libsvm."""
    few = partial(noisy, 20_000, 20, 5000)
    penalized = {"penalize_intercept": True}
    linear = [
        (f"{name}, {norm} loss", "LinearSVC", SoftMargin(loss=loss, **penalized),
         svm.LinearSVC(loss=loss, **TIGHT), rows)
        for name, rows in (("tumors, 569 x 30", cancer),
                           ("20,000 x 20, noisy", partial(noisy, 20_000, 20)))
        for norm, loss in (("L2", "squared_hinge"), ("L1", "hinge"))
    ]  # fmt: skip
    kernels = [
        (f"{name}, radial kernel", "SVC", KernelSoftMargin(**RADIAL),
         svm.SVC(tol=1e-6, **RADIAL), rows)
        for name, rows in (("tumors, 569 x 30", cancer), ("5,000 x 20", few))
    ]  # fmt: skip
    plain = ("5,000 x 20, noisy, linear, intercept without a penalty", "SVC", SoftMargin(),
             svm.SVC(kernel="linear", tol=1e-6), few)  # fmt: skip
    return [*linear, plain, *kernels]


def inference(rows: int, columns: int, kind: str) -> Race:
    """A pair with statsmodels, to the last standard error."""
    import statsmodels.api as sm

    X, labels = noisy(rows, columns)
    y = X[:, 0] + np.random.default_rng(1).standard_normal(rows)
    robust = "HC3" if kind == "HC3" else None

    def ours() -> float:
        logistic = kind == "logistic"
        model = LogisticRegression() if logistic else LinearRegression(covariance=robust)
        return np.ravel(model.fit(X, labels if logistic else y).standard_errors_)[-1]

    def theirs() -> float:
        Z = sm.add_constant(X)
        if kind == "logistic":
            return sm.Logit(labels, Z).fit(disp=0).bse[-1]
        return sm.OLS(y, Z).fit(cov_type=robust or "nonrobust").bse[-1]

    work = "logistic" if kind == "logistic" else f"least squares, {kind} errors"
    peer = "Logit" if kind == "logistic" else "OLS"
    return reaching(f"{rows:,} x {columns}, {work}", peer, ours, theirs, "last error")


def river(single: bool) -> Race:
    """A pair with river."""
    from river import linear_model as of_river

    X, y = cancer()
    rows = [dict(enumerate(row)) for row in X.tolist()]

    def stream() -> float:
        model, right = of_river.PAClassifier(C=1.0, mode=1), 0
        for row, label in zip(rows, y, strict=True):
            right += model.predict_one(row) == bool(label)
            model.learn_one(row, bool(label))
        return right / len(y)

    def one_by_one() -> float:
        model, right = PassiveAggressive(), 0
        for i in range(len(X)):
            right += i > 0 and model.predict(X[i : i + 1])[0] == y[i]
            model.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1])
        return right / len(y)

    def whole() -> float:
        return PassiveAggressive(max_iter=1, shuffle=False).fit(X, y).progressive_accuracy_

    work = "tumors, 569 x 30, PA-I, one array"
    if single:
        work = "the same, PA-I, `partial_fit` and `predict` row by row"
    return reaching(work, "one row at a time", one_by_one if single else whole, stream)


#: the fits of each shape, and their peers
SMALL = {
    "least squares": "statsmodels OLS", "logistic": "statsmodels Logit",
    "naive Bayes": "scikit-learn GaussianNB", "Perceptron, 1 pass": "scikit-learn Perceptron",
    "Perceptron, 1,000 passes": "scikit-learn Perceptron",
    "soft margin": "scikit-learn LinearSVC", "Firth, Wald": "firthmodels",
    "Firth, profiles": "firthmodels",
}  # fmt: skip


def races() -> dict[str, Callable[[], Race]]:
    """Every race of this file by its name: those of a page are named after it."""
    found: dict[str, Callable[[], Race]] = {
        f"small-fit-{rows}x{columns}-{name}": partial(small, name, rows, columns, peer)
        for rows, columns in ((200, 5), (2000, 10))
        for name, peer in SMALL.items()
    }
    for page, pairs in (("scikit-learn", scikit_learn()), ("liblinear", liblinear())):
        for number, pair in enumerate(pairs, 1):
            found[f"from-{page}-{number}"] = partial(scored, *pair)
    sizes = [(*size, kind) for size in ((200, 5), (100_000, 20))
             for kind in ("classical", "HC3", "logistic")]  # fmt: skip
    for number, size in enumerate(sizes, 1):
        found[f"from-statsmodels-{number}"] = partial(inference, *size)
    return found | {"from-river-1": partial(river, False), "from-river-2": partial(river, True)}
