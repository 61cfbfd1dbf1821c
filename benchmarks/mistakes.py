"""Mistakes of Winnow and of the perceptron where theory says that the one or the other wins.

Winnow's mistakes grow with the number of relevant features times the logarithm of all of them,
the perceptron's with the length of the examples: dense examples with a sparse target are Winnow's,
sparse examples with a dense target are the perceptron's (A. Blum, 15-859(B), lecture 4).
"""

from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep import BalancedWinnow, Perceptron, Winnow

FEATURES, RELEVANT = 1_000_000, 1_000


def sparse_target(n_rows: int = 200_000, active: int = 100) -> tuple[sp.csr_array, np.ndarray]:
    """Rows with 100 features on; in half of them one is of the 1,000 relevant ones: those are +."""
    rng = np.random.default_rng(0)
    y = np.arange(n_rows) % 2
    columns = rng.integers(RELEVANT, FEATURES, (n_rows, active))
    columns[y == 1, 0] = rng.integers(0, RELEVANT, int(y.sum()))
    return on(columns, FEATURES), y


def dense_target(n_rows: int = 20_000, active: int = 10) -> tuple[sp.csr_array, np.ndarray]:
    """Rows with 10 of 1,000 features on, each of which weighs +1 or -1: every feature matters."""
    rng = np.random.default_rng(1)
    X = on(rng.integers(0, RELEVANT, (n_rows, active)), RELEVANT)
    scores = X @ rng.choice([-1.0, 1.0], RELEVANT)
    return X[scores != 0], (scores[scores != 0] > 0).astype(int)


def on(columns: np.ndarray, n_features: int) -> sp.csr_array:
    """Rows of zeros with a one in these columns."""
    n_rows, active = columns.shape
    starts = np.arange(0, n_rows * active + 1, active)
    columns = np.sort(columns, axis=1).ravel()
    X = sp.csr_array((np.ones(columns.size), columns, starts), shape=(n_rows, n_features))
    X.sum_duplicates()
    X.data[:] = 1.0
    return X


def main() -> None:
    """Print the table."""
    print(f"{'mistakes until a clean pass':58s} {'Winnow':>8s} {'perceptron':>10s}")
    X, y = sparse_target()
    winnow = Winnow(threshold=150.0, max_iter=100).fit(X, y)
    perceptron = Perceptron(max_iter=100).fit(X, y)
    _row("1,000 relevant of 1,000,000 features, 100 on in a row", winnow, perceptron)
    X, y = dense_target()
    winnow = BalancedWinnow(promotion=1.5, fit_intercept=False, max_iter=200).fit(X, y)
    perceptron = Perceptron(fit_intercept=False, max_iter=200).fit(X, y)
    _row("1,000 relevant of 1,000 features, 10 on in a row", winnow, perceptron)


def _row(work: str, winnow: Any, perceptron: Any) -> None:
    mistakes = [int(model.mistakes_.sum()) for model in (winnow, perceptron)]
    reasons = f"{winnow.stop_reason_}, {perceptron.stop_reason_}"
    print(f"{work:58s} {mistakes[0]:8,d} {mistakes[1]:10,d}  {reasons}")
