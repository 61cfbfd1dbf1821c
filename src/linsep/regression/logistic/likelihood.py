"""The log-likelihood of a logistic regression, its gradient and its Hessian.

Rows are cut into lanes that depend neither on the batches in which they are read nor on the number
of threads or machines, and the sums of lanes are added in a fixed tree, so the results are the same
to the bit on any machine with the same libraries.
"""

from functools import partial
from operator import add
from typing import Any, Protocol

import numpy as np

from linsep.regression.lanes import Add
from linsep.regression.logistic.lanes import Batches, Work
from linsep.regression.logistic.terms import Moves, Point, Terms, furthest, together

#: pieces of a batch that make a sample, and the fewest rows in a piece
SAMPLES, SAMPLE_ROWS = 16, 64


class Lanes(Protocol):
    """Sums over lanes of rows: see :class:`linsep.regression.logistic.lanes.RowLanes`."""

    batches: Batches

    def replaced(self, how: Any) -> "Lanes":
        """Return the lanes with the columns that a standardisation replaces."""
        ...

    def sum(self, work: Work, add: Add, size: int) -> Any:
        """Return the sum of ``work(lane)``."""
        ...

    def sum_and_keep(self, work: Work, add: Add, size: int) -> tuple[Any, list[Any]]:
        """Return the sum of the first of two results, and the others."""
        ...

    def sum_with(self, kept: list[Any], work: Work, add: Add, size: int) -> Any:
        """Return the sum of ``work(lane, what was kept of it)``."""
        ...


class Likelihood:
    """The log-likelihood of rows in standardised features.

    Parameters
    ----------
    lanes : Lanes
    terms : Terms
    noise : array of shape (features,) or None
        Errors of the standardised features, beside rounding.
    """

    def __init__(self, lanes: Lanes, terms: Terms, noise: np.ndarray | None = None):
        self.lanes, self.terms = lanes, terms
        self.q, self.width, self.shape = terms.q, terms.width, terms.shape
        self.noise = np.zeros(self.width)
        if noise is not None:
            self.noise[: len(terms.scales)] = noise

    @property
    def used(self) -> np.ndarray:
        """Mask of the columns that are not left out."""
        constant = np.ones(int(self.terms.intercept), dtype=bool)
        return np.append(self.terms.scales > 0.0, constant)

    def at(self, B: np.ndarray, hessian: bool = True, shares: bool = False) -> Point:
        """Evaluate at weights B of shape (weight rows, width), with Hessian or shares if asked."""
        weights = self.terms.given(B)
        if not shares:
            return self.sum(partial(self.terms.point, B=weights, hessian=hessian), together)
        work = partial(self.terms.point_and_shares, B=weights, hessian=hessian)
        point, kept = self.lanes.sum_and_keep(work, together, self.terms.lane_rows)
        return point._replace(shares=kept)

    def moves(self, step: np.ndarray) -> Moves:
        """Return the effect of a step, of the shape of the weights, on the scores."""
        return self.sum(partial(self.terms.moves, step=self.terms.given(step)), furthest)

    def curved(self, point: Point, V: np.ndarray) -> np.ndarray:
        """Return the negative Hessian at a point with shares, times V of the weights' shape."""
        return self._with_shares(point, partial(self.terms.curved, V=self.terms.given(V)))

    def diagonal(self, point: Point) -> np.ndarray:
        """Return the diagonal of the negative Hessian at a point with shares."""
        return self._with_shares(point, self.terms.diagonal)

    def sum(self, work: Work, adding: Add) -> Any:
        """Return the sum of ``work(lane)`` over all lanes."""
        return self.lanes.sum(work, adding, self.terms.lane_rows)

    def _with_shares(self, point: Point, work: Work) -> np.ndarray:
        return self.lanes.sum_with(point.shares or [], work, add, self.terms.lane_rows)

    def moments(self, n_rows: int) -> np.ndarray:
        """Return sums of products of the features over about ``n_rows`` rows, evenly spread over
        the first batch, shape (width, width).
        """
        batch, found = next(iter(self.lanes.batches())), np.zeros((self.width, self.width))
        pieces = max(1, min(SAMPLES, batch.size // SAMPLE_ROWS))
        each = -(-n_rows // pieces)
        for k in range(pieces):
            first = batch.size * k // pieces
            last = min(first + each, batch.size * (k + 1) // pieces)
            found += self.terms.products(batch.between(first, last))
        return found
