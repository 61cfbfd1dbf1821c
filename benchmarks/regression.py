"""Least squares with inference in races, and its digits on the certified sets of NIST."""

import csv
import json
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression as TheirRegression

from benchmarks.accuracy import SHARED
from benchmarks.harness import Race, Side
from linsep import LinearRegression

ROWS, FEATURES = 1_000_000, 100


@cache
def rows() -> tuple[np.ndarray, np.ndarray]:
    """Normal features about means of their own, and a noisy sum of them."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((ROWS, FEATURES)) + 3 * rng.standard_normal(FEATURES)
    return X, X @ rng.standard_normal(FEATURES) + rng.standard_normal(ROWS)


def ours() -> Any:
    """Fit, and all numbers of the table."""
    model = LinearRegression().fit(*rows())
    return model, model.summary()


def statsmodels_ols() -> Any:
    """The same by statsmodels, whose numbers are computed when they are asked for."""
    import statsmodels.api as sm

    X, y = rows()
    found = sm.OLS(y, sm.add_constant(X)).fit()
    return (
        found,
        found.bse,
        found.pvalues,
        found.conf_int(),
        found.rsquared,
        found.f_pvalue,
        found.aic,
    )


def races() -> dict[str, Callable[[], Race]]:
    """Both races; their accuracies are R^2."""

    def both() -> tuple[float, float]:
        return ours()[0].score(*rows()), TheirRegression().fit(*rows()).score(*rows())

    work = f"least squares with inference, {ROWS:,} x {FEATURES} float64"
    us, them = Side("linsep", ours), Side("statsmodels OLS", statsmodels_ols)
    plain = Side("scikit-learn LinearRegression", lambda: TheirRegression().fit(*rows()))
    return {
        "least-squares": lambda: Race(work, us, them, 8, 3, both, "R²"),
        "least-squares-plain": lambda: Race(work, us, plain, 3, 3, both, "R²"),
    }


def digits(found: Any, certified: list[str]) -> float:
    """In how many digits, at most 16, all numbers agree with those certified."""
    truth = np.array(certified, dtype=float)
    apart = np.abs(np.asarray(found) - truth) / np.where(truth == 0, 1, np.abs(truth))
    return float(-np.log10(max(apart.max(), 1e-16)))


def read(name: str, certified: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """The set's features, powers of x where it is a polynomial, and y."""
    with open(SHARED / "nist" / f"{name}.csv", newline="") as file:
        cells = np.array([[float(cell) for cell in row] for row in list(csv.reader(file))[1:]])
    degree = certified["degree"]
    if degree:
        return np.column_stack([cells[:, 1] ** k for k in range(1, degree + 1)]), cells[:, 0]
    return cells[:, 1:], cells[:, 0]


def nist() -> None:
    """Print digits of estimates and standard errors: ours and theirs."""
    if not SHARED.is_dir():
        print("skipped: no shared data")
        return
    import statsmodels.api as sm

    names = f"{'linsep':>12s} {'statsmodels':>12s} {'sklearn':>8s}"
    print(f"{'NIST set':10s} {names}")
    for name, certified in json.loads((SHARED / "nist" / "certified.json").read_text()).items():
        intercept, said = certified["intercept"], []
        X, y = read(name, certified)
        found = LinearRegression(fit_intercept=intercept).fit(X, y)
        said.append(_both(found.params_, found.standard_errors_, certified))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = sm.OLS(y, sm.add_constant(X) if intercept else X).fit()
            said.append(_both(theirs.params, theirs.bse, certified))
            plain = TheirRegression(fit_intercept=intercept).fit(X, y)
        estimates = [*([plain.intercept_] if intercept else []), *plain.coef_]
        said.append(f"{max(digits(estimates, certified['estimate']), 0):8.1f}")
        print(f"{name:10s} " + " ".join(said))
    print("estimates / standard errors; floats of Filip's powers determine 7.6 digits and no more")


def _both(estimates: Any, errors: Any, certified: dict[str, Any]) -> str:
    pair = digits(estimates, certified["estimate"]), digits(errors, certified["standard_error"])
    return f"{max(pair[0], 0):5.1f} /{max(pair[1], 0):5.1f}"
