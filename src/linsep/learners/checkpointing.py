"""Checkpoints of online learners: between two slices of rows, at any row of any pass."""

from hashlib import blake2b
from typing import Any

import numpy as np

from linsep.checkpoints.file import Checkpoint, as_checkpoint
from linsep.checkpoints.fits import SavedFit
from linsep.checkpoints.saving import Saving
from linsep.learners import run_contents as contents
from linsep.learners.course import Course
from linsep.learners.passes import over
from linsep.learners.state import State


def saving_of(checkpoint: Any, estimator: Any) -> Saving:
    """Return how a fit of ``estimator`` is saved; ``checkpoint`` as given to ``fit``."""
    return Saving() if checkpoint is None else Saved(as_checkpoint(checkpoint), estimator)


class Saved(SavedFit):
    """Saves an online fit, and goes on from what is there."""

    def __init__(self, checkpoint: Checkpoint, estimator: Any) -> None:
        super().__init__(checkpoint, estimator)
        self._at, self._start = (0, 0), ""

    def begin(self, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> None:
        """Take the seed and the classes."""
        self.seed, self.classes = int(about["seed"]), tuple(about["classes"])

    def resume(self, run: Any, stream: Any, course: Course, progress: Any) -> None:
        """Go on with an earlier run, if there is one: restore its state and its course."""
        self._start = _digest(run.state)
        if self.found is None:
            return
        arrays, about = self.found
        # Learning changes them; a damaged row cache may restart the run.
        arrays = {name: array.copy() for name, array in arrays.items()}
        with self.sound():
            n_classes, n_columns = about["machines"]
            # A class that this stream has not met yet restarts the first pass, as it did then.
            if [n_classes, n_columns] != [run.state.n_classes, run.state.n_columns]:
                return
            self.agree(start=self._start)
            where = about["course"]
            passed = where["number"] + (where["learnt"] is True)
            stream.resume(passed, contents.of_rows(arrays))
            contents.restore(arrays, where, run, course, progress)
            if not stream.of_features and stream.n_features != run.state.n_features:
                raise ValueError(f"{run.state.n_features} examples")
        self._at = course.number, progress.rows
        place = f"pass {course.number + 1}, after {progress.rows:,} of its rows"
        self.checkpoint.on_resume("all is learnt" if over(run.reports) else place)

    def pause(self, run: Any, stream: Any, course: Course, progress: Any) -> None:
        """Save the run between two slices of rows, if it is time."""
        number, rows = self._at
        fresh = progress.rows - rows
        if number != course.number:
            fresh = run.reports[-1].rows - rows + progress.rows
        self._at = course.number, progress.rows
        if self.writing.due(fresh):
            self._write(run, stream, course, progress)

    def interrupted(self, run: Any, stream: Any, course: Course, progress: Any) -> None:
        """Save the run, because it is stopped now."""
        self._write(run, stream, course, progress)

    def ended(self, run: Any, stream: Any, course: Course, progress: Any) -> None:
        """Save the run, which is over, unless the file is removed next."""
        if self.checkpoint.keep:
            self._write(run, stream, course, progress)

    def _write(self, run: Any, stream: Any, course: Course, progress: Any) -> None:
        arrays, where = contents.saved(run, stream, course, progress)
        classes = self.estimator.classes_.tolist()
        plain = all(isinstance(label, str | int | float) for label in classes)
        about = {
            "fit": self.agreed | {"start": self._start},
            "course": where,
            "seed": self.estimator._run_seed,
            "classes": classes if plain else [],
            "machines": [run.state.n_classes, run.state.n_columns],
        }
        self.writing.write(arrays, about)


def _digest(state: State) -> str:
    """Return a hash of the initial weights, which does not depend on the room for features."""
    W = state.W[: state.n_features]
    at = np.flatnonzero(state.fill != W)
    parts = at, W.ravel()[at], state.W[-1:]
    return blake2b(b"".join(part.tobytes() for part in parts), digest_size=16).hexdigest()
