"""Where a run stands, as data: what it needs to go on, besides its rows and its state."""

from typing import Any, NamedTuple, Self

import numpy as np

from linsep.online.cycle_detection import CycleDetection
from linsep.online.learner import Remembered


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


class Saving:
    """Whether and how a fit is saved, so that it can go on in another process. This one saves
    nothing.
    """

    #: seed and classes of the run to go on with
    seed: int | None = None
    classes: tuple[Any, ...] = ()
    #: passes over the rows that a regression has made, None if they are not recorded
    journal: Any = None
    #: rows in one such pass
    rows_per_pass = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        """End the fit."""

    def agree(self, **more: Any) -> None:
        """Raise CheckpointError if the run to go on with had other settings than these."""

    def check_arrays(self, X: Any, *labels: np.ndarray) -> None:
        """Raise CheckpointError if the run to go on with learnt other rows."""

    def check_source(self, source: Any, whole: bool = True) -> None:
        """Raise CheckpointError if the run to go on with read other files, or in another way;
        ``whole``: a new run hashes all bytes of its files, to go on with copies of them.
        """

    def resume(self, run: Any, stream: Any, course: Course, progress: Any) -> None:
        """Go on with an earlier run, if there is one: restore its state and its course."""

    def pause(self, run: Any, stream: Any, course: Course, progress: Any) -> None:
        """Save the run between two slices of rows, if it is time."""

    def interrupted(self, run: Any, stream: Any, course: Course, progress: Any) -> None:
        """Save the run, because it is stopped now."""

    def ended(self, run: Any, stream: Any, course: Course, progress: Any) -> None:
        """Save the run, which is over, if something is still to be done with it."""


def nothing_counted() -> np.ndarray:
    """Return a pass's counts of mistakes, updates and errors at its start."""
    return np.zeros(3, dtype=np.int64)
