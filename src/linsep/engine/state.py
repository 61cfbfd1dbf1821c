"""Everything a linear learner carries from pass to pass."""

import numpy as np

from linsep.compiled.rows import Csr, Dense
from linsep.compiled.schemes import (
    HIGHEST,
    LOWEST,
    RANDOM,
    Binary,
    Native,
    OneVsOne,
    OneVsRest,
)
from linsep.compiled.walk import score_matrix, score_vector

LANES = 8


def pairs(n_classes: int) -> list[tuple[int, int]]:
    """The matches of one-vs-one, in the order of its machines: (0,1), (0,2), ..., (1,2), ..."""
    return [(a, b) for a in range(n_classes) for b in range(a + 1, n_classes)]


class State:
    """Weights and counters of one linear learner, for two classes or several.

    ``W`` has shape (features + 1,) for two classes, else (features + 1, columns) with the number
    of columns rounded up to a multiple of 8; the last row is the intercept.

    Parameters
    ----------
    multiclass : "native", "ovr" or "ovo"; with two classes they are the same
    n_classes : at least 2
    n_features : may grow later
    fit_intercept : whether the constant feature is 1 or 0
    """

    def __init__(self, multiclass: str, n_classes: int, n_features: int, fit_intercept: bool):
        self.multiclass, self.n_classes, self.n_features = multiclass, n_classes, n_features
        self.bias = float(fit_intercept)
        matches = n_classes * (n_classes - 1) // 2
        binary_columns = matches if multiclass == "ovo" else n_classes
        self.n_columns = 1 if n_classes == 2 else binary_columns
        self.W = np.zeros(self._shape(n_features))
        self.n_updates = 0

    def _shape(self, n_features: int) -> tuple[int, ...]:
        if self.n_classes == 2:
            return (n_features + 1,)
        return (n_features + 1, -(-self.n_columns // LANES) * LANES)

    def grow(self, n_features: int) -> None:
        """Make room for features not seen before; their weights are zero."""
        room = self.W.shape[0] - 1
        if n_features > room:
            larger = np.zeros(self._shape(max(n_features, 2 * room)))
            larger[: self.n_features] = self.W[: self.n_features]
            larger[-1] = self.W[-1]
            self.W = larger
        self.n_features = max(self.n_features, n_features)

    @property
    def coef(self) -> np.ndarray:
        """View of shape (columns, features): one row a machine."""
        W = self.W.reshape(self.W.shape[0], -1)
        return W[: self.n_features, : self.n_columns].T

    @property
    def intercept(self) -> np.ndarray:
        """View of shape (columns,)."""
        return self.W.reshape(self.W.shape[0], -1)[-1, : self.n_columns]

    def set_weights(self, coef: np.ndarray | None, intercept: np.ndarray | None) -> None:
        """Start from given weights, shapes (columns, features) and (columns,); None keeps zero."""
        if coef is not None:
            self.coef[:] = coef
        if intercept is not None:
            self.intercept[:] = intercept

    def scheme(self, tie: str, count_errors: bool) -> Binary | OneVsRest | OneVsOne | Native:
        """The compiled scheme that learns these classes.

        ``count_errors`` asks one-vs-one to score every machine for each row, which learning does
        not need; the other schemes count errors for nothing.
        """
        k, scores = self.n_classes, np.zeros(self.W.shape[-1])
        equals = {"negative": LOWEST, "positive": HIGHEST, "random": RANDOM}[tie]
        if k == 2:
            return Binary(equals)
        if self.multiclass == "ovr":
            return OneVsRest(k, equals, scores)
        if self.multiclass == "native":
            return Native(k, equals, scores)
        matches = pairs(k)
        mine = [[m for m, match in enumerate(matches) if c in match] for c in range(k)]
        machines = np.array(mine, dtype=np.int64)
        sides = np.array([[1.0 if matches[m][1] == c else -1.0 for m in mine[c]] for c in range(k)])
        return OneVsOne(k, equals, machines, sides, count_errors, scores, np.zeros((2, k)))

    def scores(self, rows: Dense | Csr, n_rows: int) -> np.ndarray:
        """Scores as learning sees them: shape (rows,) for two classes, else (rows, columns)."""
        if self.n_classes == 2:
            out = np.empty(n_rows)
            score_vector(rows, n_rows, self.W, self.bias, out)
            return out
        out = np.empty((n_rows, self.W.shape[1]))
        score_matrix(rows, n_rows, self.W, self.bias, out)
        return out[:, : self.n_columns]
