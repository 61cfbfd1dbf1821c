"""The terms of a logistic likelihood of sparse rows with very many weights."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from linsep.compiled import logistic
from linsep.regression.logistic.lanes import Batch
from linsep.regression.logistic.terms import Moves, Point, Terms

#: rows in a lane
SPARSE_LANE_ROWS = 8192


@dataclass(frozen=True)
class SparseTerms(Terms):
    """Terms of CSR rows with too many weights for a Hessian; features are not centred."""

    @property
    def lane_rows(self) -> int:
        """Number of rows in a lane."""
        return SPARSE_LANE_ROWS

    def point_and_shares(
        self, lane: Batch, B: np.ndarray, hessian: bool, shares: bool = True
    ) -> tuple[Point, np.ndarray]:
        """Return value, gradient and class probabilities at the weights B."""
        G, kept = np.zeros_like(B), np.empty((lane.size, self.q))
        value = logistic.sparse_pass(lane.rows, lane.codes, lane.weights, 0, lane.size, B, G, kept)
        return Point(value, self._seen(G)), kept

    def moves(self, lane: Batch, step: np.ndarray) -> Moves:
        """Return the effect of a step on the scores, without the columns' values."""
        nothing = np.zeros(0)
        values, columns, starts = lane.rows  # type: ignore[misc]
        inside = slice(starts[0], starts[-1])
        part = values[inside], columns[inside], starts - starts[0]
        X = sp.csr_matrix(part, shape=(lane.size, len(step) - 1))
        scores = np.ascontiguousarray(X @ step[:-1] + step[-1])
        forward, backward, apart = logistic.moves(scores, lane.codes, lane.weights, 0)
        return Moves(forward, backward, apart, nothing, nothing)

    def curved(self, lane: Batch, P: np.ndarray, V: np.ndarray) -> np.ndarray:
        """Return the negative Hessian where the class probabilities are P, times V."""
        out = np.zeros_like(V)
        logistic.sparse_curvature(lane.rows, lane.weights, 0, lane.size, P, V, out)
        return self._seen(out)

    def diagonal(self, lane: Batch, P: np.ndarray) -> np.ndarray:
        """Return the diagonal of the negative Hessian where the class probabilities are P."""
        G = np.zeros((len(self.scales) + 1, self.q))
        logistic.sparse_diagonal(lane.rows, lane.weights, 0, lane.size, P, G)
        return self._seen(G, 2)

    def given(self, B: np.ndarray) -> np.ndarray:
        """Return the weights of the raw features, a column per class, the intercept last."""
        d = len(self.scales)
        W = np.zeros((d + 1, self.q))
        W[:d] = (B[:, :d] * self.scales).T
        if self.intercept:
            W[d] = B[:, d]
        return W

    def _seen(self, G: np.ndarray, power: int = 1) -> np.ndarray:
        """Convert a derivative with respect to raw weights to one with respect to B."""
        found = np.ascontiguousarray(G.T)
        found[:, : len(self.scales)] *= self.scales**power
        return found[:, : self.width]
