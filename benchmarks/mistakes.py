"""Mistakes of Winnow and of the perceptron where theory says that the one or the other wins, and of
learners that know how sure they are beside what LIBOL has published.

Winnow's mistakes grow with the number of relevant features times the logarithm of all of them,
the perceptron's with the length of the examples: dense examples with a sparse target are Winnow's,
sparse examples with a dense target are the perceptron's (A. Blum, 15-859(B), lecture 4).
"""

from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.accuracy import SHARED, svmlight
from linsep import ALMA, AROW, SCW, BalancedWinnow, Perceptron, Winnow

FEATURES, RELEVANT = 1_000_000, 1_000
#: LIBOL has no intercept
ONCE = {"max_iter": 1, "shuffle": False, "fit_intercept": False}
#: percent of mistakes on ijcnn1 by S. Hoi, J. Wang and P. Zhao, LIBOL, JMLR 15 (2014), whose
#: parameters were tuned
PUBLISHED: dict[str, tuple[Any, float]] = {
    "Perceptron": (Perceptron(**ONCE), 10.6),
    'AROW(covariance_type="full")': (AROW(covariance_type="full", **ONCE), 8.2),
    'SCW(eta=0.8, covariance_type="full")': (SCW(eta=0.8, covariance_type="full", **ONCE), 6.0),
    "ALMA(alpha=0.5)": (ALMA(alpha=0.5, **ONCE), 7.1),
}
ORDERS = 5


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

    if SHARED.is_dir():
        published()


def published() -> None:
    """Print the mistakes in one pass over all rows of ijcnn1, in random orders."""
    parts = [svmlight(name, 22) for name in ("ijcnn1.bz2", "ijcnn1.t.bz2")]
    X, y = sp.vstack([X for X, _ in parts]).toarray(), np.concatenate([y for _, y in parts])
    orders = [np.random.default_rng(seed).permutation(len(y)) for seed in range(ORDERS)]
    print(f"{f'mistakes on ijcnn1, {len(y):,} rows, {ORDERS} orders, %':58s} {'linsep':>8s} "
          f"{'LIBOL':>10s}")  # fmt: skip
    for name, (model, theirs) in PUBLISHED.items():
        found = [1 - model.fit(X[order], y[order]).progressive_accuracy_ for order in orders]
        print(f"{name:58s} {100 * np.mean(found):8.2f} {theirs:10.1f}")


def _row(work: str, winnow: Any, perceptron: Any) -> None:
    mistakes = [int(model.mistakes_.sum()) for model in (winnow, perceptron)]
    reasons = f"{winnow.stop_reason_}, {perceptron.stop_reason_}"
    print(f"{work:58s} {mistakes[0]:8,d} {mistakes[1]:10,d}  {reasons}")
