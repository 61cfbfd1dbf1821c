"""Weights for many rows and columns by coordinate descent on the dual of the hard margin.

Hsieh and others, "A dual coordinate descent method for large-scale linear SVM" (ICML 2008), without
an upper bound on the dual variables. The rows are scaled to length 1. Callers check whether the
weights separate.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from linsep.batches import Batch
from linsep.certificate.constraints import Question
from linsep.separability.data import Data, doubles, lengths, products
from linsep.separability.time_limit import check_time

#: visits of all rows that are not set aside, before the errors are counted
VISITS = 10
#: the fewest errors must fall by this factor within some counts
FALL, COUNTS = 1.1, 4
#: a number above all slopes, and one below: no row is set aside
NONE_ASIDE = np.array([np.inf, -np.inf])


class Lane(NamedTuple):
    """The dual variables of a lane, and the order of its rows: those that are visited first."""

    order: np.ndarray
    dual: np.ndarray
    signs: np.ndarray


class DualDescent:
    """The weights of two sides, and a dual variable of each row, by the number of its lane."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.bias = float(question.intercept)
        self.w = np.zeros(question.width + (not question.intercept))
        self._lanes: dict[int, Lane] = {}
        self._active: dict[int, int] = {}
        self._random = np.random.default_rng(0)

    @property
    def weights(self) -> np.ndarray:
        """The weights, of the size of the question."""
        return self.w[: self.question.size]

    def _open(self, batch: Batch) -> Lane:
        """Return the variables of a lane; signs are divided by the lengths of the rows."""
        if batch.first not in self._lanes:
            order = np.flatnonzero(self.question.active[batch.y])
            of_class = np.array([float(C[0, 0]) if len(C) else 0.0 for C in self.question.signs])
            norms = np.hypot(lengths(doubles(batch.X)), self.bias)
            self._lanes[batch.first] = Lane(order, np.zeros(batch.size), of_class[batch.y] / norms)
            self._active[batch.first] = order.size
        return self._lanes[batch.first]

    def visit(self, limits: np.ndarray, lanes: Iterable[Batch]) -> tuple[float, float]:
        """Visit the rows that are not set aside once; return the largest and smallest slope."""
        from linsep.compiled.rows import as_rows
        from linsep.compiled.soft_margin import descend

        high, low = 0.0, 0.0
        for batch in lanes:
            check_time()
            lane, key = self._open(batch), batch.first
            order = lane.order[: self._active[key]]
            self._random.shuffle(order)
            every = np.ones(batch.size)
            highest, lowest, self._active[key] = descend(
                as_rows(doubles(batch.X)), order, lane.dual, lane.signs, np.inf * every, every,
                self.w, self.bias, False, limits,
            )  # fmt: skip
            high, low = max(high, highest), min(low, lowest)
        return high or np.inf, low or -np.inf

    def errors(self, lanes: Iterable[Batch]) -> int:
        """Return the number of rows that the weights get wrong, in floats; all rows take part in
        the next visit.
        """
        wrong = 0
        for batch in lanes:
            check_time()
            lane = self._open(batch)
            scores = products(doubles(batch.X), self.weights[None])[:, 0]
            wrong += int(np.count_nonzero(~(scores * lane.signs > 0)[lane.order]))
            self._active[batch.first] = lane.order.size
        return wrong


def descended(data: Data, question: Question) -> np.ndarray | None:
    """Return weights that separate two sides in floats.

    None as soon as the number of errors no longer falls fast.
    """
    state, fewest, since = DualDescent(question), float("inf"), 0
    while since < COUNTS and np.isfinite(state.w).all():
        limits = NONE_ASIDE
        for _ in range(VISITS):
            limits = np.array(state.visit(limits, data.lanes()))
        errors = state.errors(data.lanes())
        if not errors:
            return state.weights
        falling = errors * FALL <= fewest
        fewest, since = (errors, 0) if falling else (fewest, since + 1)
    return None
