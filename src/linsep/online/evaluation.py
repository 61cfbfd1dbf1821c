"""Counting what given weights get wrong, without learning."""

from collections.abc import Iterator

import numpy as np

from linsep.compiled.core.loop import ERRORS, Watch, walk
from linsep.compiled.core.weights import Last
from linsep.online.learner import State, Unlearnable
from linsep.online.rows.array import Visit, rows_per_slice, slices


def count_mistakes(
    state: State, weights: np.ndarray, visits: Iterator[Visit], tie: str
) -> tuple[np.ndarray, int, int]:
    """What ``weights`` get wrong: what the mistakes of each machine count, rows predicted wrongly,
    and rows.
    """
    rule, tally, rows = Watch(np.zeros(state.n_machines)), np.zeros(3, np.int64), 0
    scheme = state.scheme(tie, count_errors=True, learning=False)
    for visit in visits:
        for piece in slices(visit.order, rows_per_slice(visit.rows, state.n_columns)):
            done = walk(
                scheme, rule, Last(), weights, state.bias, visit.rows, visit.codes,
                visit.importance, piece, 0, tally,
            )  # fmt: skip
            rows += done
            if done < piece.size:
                first = visit.first
                raise Unlearnable(None if first is None else first + int(piece[done]))
    return rule.mistakes, int(tally[ERRORS]), rows
