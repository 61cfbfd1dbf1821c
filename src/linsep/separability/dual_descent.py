"""Weights for many rows and columns by coordinate descent on the dual of the hard margin.

Hsieh and others, "A dual coordinate descent method for large-scale linear SVM" (ICML 2008), without
an upper bound on the dual variables. The rows are scaled to length 1. Callers check whether the
weights separate.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from linsep.batches import Batch
from linsep.certificate.constraints import Question
from linsep.separability.data import Data, doubles, lengths, products, sides_of
from linsep.separability.time_limit import within_time

#: visits of all rows that are not set aside, before the errors are counted
VISITS = 10
#: the fewest errors must fall by this factor within some counts
FALL, COUNTS = 1.1, 4


class Lane(NamedTuple):
    """The dual variables of a lane; signs are divided by the lengths of the rows, of which the
    first in order are visited.
    """

    order: np.ndarray
    dual: np.ndarray
    signs: np.ndarray


def descended(data: Data, question: Question) -> np.ndarray | None:
    """Return weights that separate two sides in floats.

    None as soon as the number of errors no longer falls fast.
    """
    from linsep.compiled.rows import as_rows
    from linsep.compiled.soft_margin import descend

    lanes: dict[int, Lane] = {}
    visited: dict[int, int] = {}
    bias, random = float(question.intercept), np.random.default_rng(0)
    w = np.zeros(question.width + (not question.intercept))

    def of_data() -> Iterator[tuple[Batch, Lane]]:
        for batch in within_time(data.lanes()):
            if batch.first not in lanes:
                order = np.flatnonzero(question.active[batch.y])
                signs = sides_of(question)[batch.y] / np.hypot(lengths(doubles(batch.X)), bias)
                lanes[batch.first] = Lane(order, np.zeros(batch.size), signs)
                visited[batch.first] = order.size
            yield batch, lanes[batch.first]

    fewest, since = float("inf"), 0
    while since < COUNTS and np.isfinite(w).all():
        limits = np.array([np.inf, -np.inf])  # no row is set aside
        for _ in range(VISITS):
            high = low = 0.0
            for batch, lane in of_data():
                order, every = lane.order[: visited[batch.first]], np.ones(batch.size)
                random.shuffle(order)
                highest, lowest, visited[batch.first] = descend(
                    as_rows(doubles(batch.X)), order, lane.dual, lane.signs, np.inf * every, every,
                    w, bias, False, limits,
                )  # fmt: skip
                high, low = max(high, highest), min(low, lowest)
            limits = np.array([high or np.inf, low or -np.inf])
        errors = 0
        for batch, lane in of_data():
            scores = products(doubles(batch.X), w[None, : question.size])[:, 0]
            errors += int(np.count_nonzero(~(scores * lane.signs > 0)[lane.order]))
            visited[batch.first] = lane.order.size
        if not errors:
            return w[: question.size]
        falling = errors * FALL <= fewest
        fewest, since = (errors, 0) if falling else (fewest, since + 1)
    return None
