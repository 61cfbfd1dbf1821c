"""Small random sets for the fewest errors: duplicates, ties, weights, columns that depend."""

from fractions import Fraction

import numpy as np


def random_set(seed, most=14, dimensions=4):
    """Rows, labels and weights (or None); and whether there is an intercept."""
    rng = np.random.default_rng(seed)
    n, d = int(max(rng.integers(1, most + 1, 2))), int(rng.integers(1, dimensions + 1))
    top = int(rng.choice([1, 2, 3, 10, 1000]))
    X = rng.integers(-top, top + 1, (n, d)).astype(object)
    kind = rng.integers(6)
    if kind == 0:  # thirds, and tenths that are not
        X = X * (Fraction(1, 3) if rng.random() < 0.5 else 0.1)
    if kind == 1:
        X[:, -1] = X[:, 0] * int(rng.integers(-2, 3))
    if kind == 2 and n > 1:  # repeated rows
        X = X[rng.integers(0, max(1, n // 2), n)]
    if kind == 3:
        X[rng.random(n) < 0.3] = 0
    if kind == 4:  # far from zero, and huge beside tiny
        X = X * 2.0 ** int(rng.integers(-30, 30)) + [2.0**20] * d
    w = rng.integers(-3, 4, d + 1)
    y = np.where(X.astype(float) @ w[:-1] + w[-1] + rng.normal(0, top, n) > 0, 1, -1)
    y = np.where(rng.random(n) < rng.choice([0, 0.2, 0.5]), -y, y)
    weights = None
    if rng.random() < 0.5:
        weights = [Fraction(int(k), int(m)) for k, m in rng.integers((0, 1), (5, 4), (n, 2))]
    return X.tolist(), y.tolist(), weights, bool(rng.random() < 0.7)


def nearly_tied(seed):
    """Points that are on lines and planes but for a last bit, and so far out that floats end."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (12, int(rng.integers(2, 4)))).astype(object)
    X = X * 2 ** int(rng.choice([60, 2000])) + rng.integers(-1, 2, X.shape)
    return X.tolist(), rng.choice([-1, 1], 12).tolist()
