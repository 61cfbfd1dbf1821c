"""The log-likelihood of a logistic regression on sparse rows with very many weights."""

import numpy as np
import scipy.sparse as sp

from linsep.compiled import logistic
from linsep.regression.logistic.likelihood import Batch, Likelihood, Moves, Point


class SparseLikelihood(Likelihood):
    """Likelihood of CSR rows with too many weights for a Hessian; features are not centred."""

    def _lane(
        self, batch: Batch, first: int, last: int, B: np.ndarray, hessian: bool, shares: bool
    ) -> Point:
        G, W = np.zeros((len(self.scales) + 1, self.q)), self._raw(B)
        kept = np.empty((last - first, self.q))
        value = logistic.sparse_pass(
            batch.rows, batch.codes, batch.weights, first, last, W, G, kept
        )
        return Point(value, self._seen(G), None, [kept])

    def moves(self, step: np.ndarray) -> Moves:
        """Return the effect of a step on the scores, without the columns' values."""
        W, nothing = self._raw(step), np.zeros(0)

        def lane(batch: Batch, first: int, last: int) -> np.ndarray:
            values, columns, starts = batch.rows  # type: ignore[misc]
            a, b = starts[first], starts[last]
            part = values[a:b], columns[a:b], starts[first : last + 1] - a
            X = sp.csr_matrix(part, shape=(last - first, len(W) - 1))
            scores = np.ascontiguousarray(X @ W[:-1] + W[-1])
            return np.array(logistic.moves(scores, batch.codes, batch.weights, first))

        forward, backward, apart = np.maximum.reduce(list(self._lanes(lane))).tolist()
        return Moves(forward, backward, apart, nothing, nothing)

    def _raw(self, B: np.ndarray) -> np.ndarray:
        """Return the weights of the raw features, a column per class, the intercept last."""
        d = len(self.scales)
        W = np.zeros((d + 1, self.q))
        W[:d] = (B[:, :d] * self.scales).T
        if self.intercept:
            W[d] = B[:, d]
        return W

    def _seen(self, G: np.ndarray) -> np.ndarray:
        """Convert a gradient with respect to raw weights to one with respect to B."""
        d = len(self.scales)
        return np.column_stack([G[:d].T * self.scales, G[d:].T])[:, : self.width]

    def curved(self, point: Point, V: np.ndarray) -> np.ndarray:
        """Return the negative Hessian at a point with shares, times V of the weights' shape."""
        W = self._raw(V)

        def lane(batch: Batch, first: int, last: int, P: np.ndarray) -> np.ndarray:
            out = np.zeros_like(W)
            logistic.sparse_curvature(batch.rows, batch.weights, first, last, P, W, out)
            return out

        found = self._with_shares(lane, iter(point.shares or ()))
        return self._seen(sum(found, np.zeros_like(W)))

    def diagonal(self, point: Point) -> np.ndarray:
        """Return the diagonal of the negative Hessian at a point with shares."""

        def lane(batch: Batch, first: int, last: int, P: np.ndarray) -> np.ndarray:
            out = np.zeros((len(self.scales) + 1, self.q))
            logistic.sparse_diagonal(batch.rows, batch.weights, first, last, P, out)
            return out

        shape = (len(self.scales) + 1, self.q)
        G = sum(self._with_shares(lane, iter(point.shares or ())), np.zeros(shape))
        d = len(self.scales)
        return np.column_stack([G[:d].T * self.scales**2, G[d:].T])[:, : self.width]
