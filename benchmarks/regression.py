"""Regressions with inference beside their peers; logistic ones judged by the log loss reached."""

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from sklearn.linear_model import (
    LinearRegression as TheirLinear,
    LogisticRegression as TheirLogistic,
)

from benchmarks.harness import Race
from linsep import LinearRegression, LogisticRegression


@cache
def numbers(rows: int = 1_000_000, features: int = 100) -> tuple[np.ndarray, np.ndarray]:
    """Normal features about means of their own, and a noisy sum of them."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, features)) + 3 * rng.standard_normal(features)
    return X, X @ rng.standard_normal(features) + rng.standard_normal(rows)


@cache
def labels(n_rows: int = 1_000_000, n_features: int = 50) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian rows, labels drawn from a logistic teacher."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_features))
    odds = X @ rng.standard_normal(n_features) * 0.3
    return X, (rng.random(n_rows) < 1 / (1 + np.exp(-odds))).astype(int)


def least_squares(against: str) -> Race:
    """Fit, and all numbers of the table; those of statsmodels are computed when asked for."""
    import statsmodels.api as sm

    X, y = numbers()

    def ols() -> Any:
        one = sm.OLS(y, sm.add_constant(X)).fit()
        return one.bse, one.pvalues, one.conf_int(), one.rsquared, one.f_pvalue, one.aic

    plain = TheirLinear()
    return Race(
        "least squares with inference, 1,000,000 x 100 float64", against,
        lambda: LinearRegression().fit(X, y).summary(),
        ols if against == "statsmodels OLS" else lambda: plain.fit(X, y), 3,
        lambda: (LinearRegression().fit(X, y).score(X, y), plain.fit(X, y).score(X, y)), "R²",
    )  # fmt: skip


def logistic(against: str) -> Race:
    """Coefficients and standard errors of a million rows, to the same optimum."""
    import statsmodels.api as sm

    (X, y), fitted = labels(), dict[str, Any]()
    Z = sm.add_constant(X, prepend=False)

    def ours() -> None:
        fitted["ours"] = LogisticRegression(tol=1e-6).fit(X, y)

    def theirs() -> None:
        with warnings.catch_warnings(action="ignore"):
            if against == "statsmodels Logit":
                fitted["theirs"] = sm.Logit(y, Z).fit(disp=0, method="newton", maxiter=100)
            else:
                model = TheirLogistic(C=np.inf, solver="newton-cholesky", tol=1e-8, max_iter=100)
                fitted["theirs"] = model.fit(X, y)

    def mean_loss(model: Any) -> float:
        if hasattr(model, "llf"):
            return -model.llf / len(y)
        return float(-model.predict_log_proba(X)[np.arange(len(y)), y].mean())

    return Race(
        "logistic with inference, 1,000,000 x 50, gradient 1e-8", against, ours, theirs, 3,
        lambda: (mean_loss(fitted["ours"]), mean_loss(fitted["theirs"])), "log loss",
    )  # fmt: skip


def races() -> dict[str, Callable[[], Race]]:
    """Every race of this file by its short name."""
    return {
        "least-squares": lambda: least_squares("statsmodels OLS"),
        "least-squares-plain": lambda: least_squares("scikit-learn LinearRegression"),
        "logistic": lambda: logistic("statsmodels Logit"),
        "logistic-cholesky": lambda: logistic("scikit-learn newton-cholesky"),
    }
