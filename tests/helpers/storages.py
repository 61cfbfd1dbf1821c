"""Rows to learn from in every storage that learning takes, and the twin that fits a scheme."""

from itertools import groupby

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from linsep import textbook
from linsep.rows.arrays import shuffled

SCHEMES = ("binary", "native", "ovr", "ovo")
STORAGES = ("dense32", "dense64", "csr32", "csr64", "messy32", "messy64")


def store(X, storage):
    """``X`` as float32 or float64 array, or as CSR with int32 or int64 indices.

    The messy ones hold every row backwards, its first value in two equal halves and a stored zero.
    """
    X = np.asarray(X, dtype=float)
    if storage.startswith("dense"):
        return np.ascontiguousarray(X, dtype=f"f{int(storage[-2:]) // 8}")
    kind = np.dtype(f"i{int(storage[-2:]) // 8}")
    values, columns, starts = [], [], [0]
    for x in X:
        stored = [(j, v) for j, v in enumerate(x) if v]
        if storage.startswith("messy") and stored:
            (j, v), *rest = stored
            stored = [*reversed(rest), (j, v / 2), (0, 0.0), (j, v / 2)]
        columns += [j for j, _ in stored]
        values += [v for _, v in stored]
        starts.append(len(values))
    return csr(np.array(values), np.array(columns, kind), np.array(starts, kind), X.shape)


def csr(values, columns, starts, shape):
    """A CSR array that holds these very arrays, whatever index type scipy would choose."""
    made = sp.csr_array(shape, dtype=values.dtype)
    made.data, made.indices, made.indptr = values, columns, starts
    return made


def blobs(n=90, d=6, k=3, spread=1.0, seed=0):
    """Float rows of k classes around k centers; a spread of 0.1 makes them separable."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    centers = 3 * rng.standard_normal((k, d))
    return centers[y] + spread * rng.standard_normal((n, d)), y


def with_margin(gamma, n=300, d=10, seed=0):
    """Rows of unit length, all at least gamma from a plane through zero."""
    rng = np.random.default_rng(seed)
    w = rng.standard_normal(d)
    w /= np.linalg.norm(w)
    X = rng.standard_normal((50 * n, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    X = X[np.abs(X @ w) >= gamma][:n]
    return X, (X @ w > 0).astype(int)


def classes_of(scheme):
    return (2, "native") if scheme == "binary" else (3, scheme)


def weights(model):
    return model.coef_.tobytes() + model.intercept_.tobytes()


def twin_steps(scheme, X, y, n_classes, *, learning_rate=1, **how):
    """The steps of the twin on rows of plain numbers and class codes."""
    return list(textbook.run(textbook.Perceptron(learning_rate), scheme, X, y, n_classes, **how))


def twin_predict(scheme, scores, n_classes, tie="negative"):
    """Class code by the twin's scores of one row."""
    return textbook.schemes.SCHEMES[scheme](n_classes, tie).predict(scores)


def replayed(n_rows, random_state):
    """The visiting orders of a shuffled fit with this seed."""
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    return lambda number: shuffled(n_rows, seed, number) if number else range(n_rows)


def per_pass(steps, what="mistakes"):
    """The sum of a field of the steps of each pass: of mistakes, or of the criterion, J_p."""
    passes = groupby(steps, key=lambda step: step.pass_number)
    return [sum(getattr(step, what) for step in own) for _, own in passes]
