"""Where a run stands, as data: what it needs to go on, besides its rows and its state."""

from typing import Any, NamedTuple

import numpy as np

from linsep.learners.cycle_detection import CycleDetection
from linsep.learners.state import Remembered


class Best(NamedTuple):
    """Weights to put back at the end of a run with held-out rows, and their score."""

    score: float
    state: Remembered
    kept: Any


class Course:
    """Position of a run between two slices of rows.

    Attributes
    ----------
    number : int, passes that are over
    learnt : bool, whether all rows of the next pass are learnt and its last update is made
    n_updates : int, updates in the passes that are over
    best, since_best : Best or None, and the passes since then
    detection : CycleDetection or None
    """

    def __init__(
        self, n_updates: int, detection: CycleDetection | None = None, number: int = 0
    ) -> None:
        self.number, self.learnt, self.n_updates = number, False, n_updates
        self.best: Best | None = None
        self.since_best = 0
        self.detection = detection

    def advance(self, n_updates: int) -> None:
        """Count a pass."""
        self.number, self.learnt, self.n_updates = self.number + 1, False, n_updates


def nothing_counted() -> np.ndarray:
    """Return a pass's counts of mistakes, updates and errors at its start."""
    return np.zeros(3, dtype=np.int64)
