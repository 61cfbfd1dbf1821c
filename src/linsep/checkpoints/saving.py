"""A fit that is not saved: what every fit calls, and what a checkpoint overrides."""

from typing import Any, Self

import numpy as np


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

    def resume(self, run: Any, stream: Any, course: Any, progress: Any) -> None:
        """Go on with an earlier run, if there is one: restore its state and its course."""

    def pause(self, run: Any, stream: Any, course: Any, progress: Any) -> None:
        """Save the run between two slices of rows, if it is time."""

    def interrupted(self, run: Any, stream: Any, course: Any, progress: Any) -> None:
        """Save the run, because it is stopped now."""

    def ended(self, run: Any, stream: Any, course: Any, progress: Any) -> None:
        """Save the run, which is over, if something is still to be done with it."""
