"""The kernel perceptron's twin: rows, its steps, and the dual weights of both."""

import numpy as np

from linsep import textbook
from storages import SCHEMES, replayed

KEEPS = ("last", "average", "vote")

PASSES = 4


def is_compiled(scheme, keep):
    """Whether loops of this pair are compiled for `make test`: one of each scheme."""
    return KEEPS.index(keep) == SCHEMES.index(scheme) % len(KEEPS)


def rows(seed, k, n=40, d=4):
    """Rows of small whole numbers, so that kernel values are exact, of classes that overlap."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    X = rng.integers(-2, 3, (n, d)) + rng.integers(-1, 2, (k, d))[y]
    X[:, 0] += (X == 0).all(axis=1)
    return X.astype(float), y


def twin(kernel, scheme, X, y, k, seed, tie="negative", weight=None, max_iter=PASSES):
    learned = list(X) if isinstance(X, list) else X.tolist()
    shown = textbook.dual_rows(kernel, learned)
    steps = list(
        textbook.run(
            textbook.KernelPerceptron(len(learned)), scheme, shown, y.tolist(), k,
            orders=replayed(len(learned), seed), max_iter=max_iter, tie=tie, row_weights=weight,
            fit_intercept=False,
        )
    )  # fmt: skip
    return steps, lambda keep, x: textbook.kept(steps, keep, scheme, k, tie=tie).predict(
        textbook.dual_row(kernel, x, learned)
    )


def duals(steps, scheme, keep, k, n, tie="negative"):
    """The dual weights to predict with, one row a machine."""
    kept = textbook.kept(steps, "last" if keep == "vote" else keep, scheme, k, tie=tie)
    W = [kept.weights] if scheme == "binary" else kept.weights
    return np.array(W, float)[:, :n]


def whole_duals(model, n):
    found = np.zeros((len(model.dual_coef_), n))
    found[:, model.support_] = model.dual_coef_
    return found
