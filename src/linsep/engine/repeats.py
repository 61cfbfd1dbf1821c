"""Weights that come back at the start of a pass: then no number of passes will separate the rows.

A perceptron whose rate and order never change does the same from the same weights. Comparing
costs a hash a pass, of few weights only; before anything is claimed, the passes are replayed in
whole numbers (:mod:`linsep.theory.cycles`), so that neither a hash nor rounding can lie.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from linsep.compiled.rows import Csr, Dense
from linsep.engine.feed import Feed, Visit
from linsep.engine.keeping import KeepLast
from linsep.engine.learners import Learner, PerceptronLearner
from linsep.engine.state import State

if TYPE_CHECKING:
    from linsep.theory.cycles import Cycle

#: to hash more weights would show in the time of a pass over few rows
MOST_WEIGHTS = 1024
#: sums of short decimals are the same if they are so in steps of 1 / GRID
GRID = 1e9
#: passes whose weights are remembered, some 100 bytes each
MOST_PASSES = 100_000
#: values that a replay may look at: less than a second
MOST_VALUES = 2_000_000
#: repeats that exact arithmetic did not confirm, after which nothing more is compared
MOST_FAILURES = 3


class Repeats:
    """Remembers the weights at the start of each pass, as hashes."""

    def __init__(self, state: State, rate: float) -> None:
        self.rate, self.failures = rate, 0
        self._seen = {_key(state): 0}

    def after(self, state: State, feed: Feed, passes: int) -> "Cycle | None":
        """The cycle that so many passes have closed, None if there is none."""
        if self.failures == MOST_FAILURES or state.W.size > MOST_WEIGHTS:
            return None
        first = self._seen.setdefault(_key(state), passes)
        if first == passes:
            if len(self._seen) > MOST_PASSES:
                self._seen = {}
            return None
        found = self._confirmed(state, feed, first, passes)
        self.failures += found is None
        return found

    def _confirmed(self, state: State, feed: Feed, first: int, again: int) -> "Cycle | None":
        from linsep.theory.cycles import find_cycle

        given = _plain_rows(feed, MOST_VALUES // (again - first))
        if given is None:
            return None
        w = np.append(state.W[: state.n_features], state.W[-1])
        return find_cycle(given, w, bool(state.bias), self.rate, first, again)


def watched(state: State, learner: Learner, keeping: KeepLast, feed: Feed) -> Repeats | None:
    """Who watches a run, if its weights can come back: one rate, one order, nothing else kept."""
    if type(learner) is not PerceptronLearner or not learner.schedule.is_constant:
        return None
    fixed = type(keeping) is KeepLast and not feed.shuffle and state.n_classes == 2
    if not fixed or state.W.size > MOST_WEIGHTS:
        return None
    return Repeats(state, float(learner.schedule.rate))  # type: ignore[arg-type]


def _key(state: State) -> int:
    """The same for the same weights but for rounding, however much room for features there is."""
    with np.errstate(over="ignore"):
        whole = state.W * GRID
    np.rint(whole, out=whole)
    whole += 0.0  # no zero is negative
    text = whole.tobytes()
    return hash(text[-8:] + text[:-8].rstrip(b"\0"))


def _plain_rows(feed: Feed, most_values: int) -> list[Any] | None:
    """The rows learnt, in order; None if they are not at hand, too many, weighted or scaled."""
    from linsep.theory.cycles import Given

    visits, given, values = feed.learnt(), [], 0
    for visit in visits or ():
        if visit.importance.size or not isinstance(visit.rows, Dense | Csr):
            return None
        for i in visit.order:
            row = _row(visit, int(i))
            values += len(row[1])
            if values > most_values:
                return None
            given.append(Given(*row, 1 if visit.codes[i] == 1 else -1))
    return given or None


def _row(visit: Visit, i: int) -> tuple[np.ndarray, np.ndarray]:
    rows = visit.rows
    if isinstance(rows, Dense):
        return np.arange(rows.values.shape[1]), rows.values[i]
    assert isinstance(rows, Csr)
    at = slice(rows.starts[i], rows.starts[i + 1])
    return rows.columns[at], rows.values[at]
