"""Checkpoints of online learners: between two slices of rows, at any row of any pass."""

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any

import numpy as np

from linsep.checkpoints import agreement, contents
from linsep.checkpoints.file import CHECKPOINT, Checkpoint, Writing, as_checkpoint
from linsep.errors import CheckpointError, LinsepError
from linsep.online.course import Course, Saving
from linsep.online.learner import State


def saving_of(checkpoint: Any, estimator: Any) -> Saving:
    """Return how a fit of ``estimator`` is saved; ``checkpoint`` as given to ``fit``."""
    return Saving() if checkpoint is None else Saved(as_checkpoint(checkpoint), estimator)


class Saved(Saving):
    """Saves a fit in a checkpoint, and goes on from what is there.

    Within this context, no other process uses the file. It is removed at the end, unless there was
    an error or it is to be kept.

    Parameters
    ----------
    checkpoint : Checkpoint
    estimator : the one to be fitted
    """

    def __init__(self, checkpoint: Checkpoint, estimator: Any) -> None:
        self.checkpoint, self.estimator = checkpoint, estimator
        self._agreed = agreement.of_estimator(estimator)
        self._found: tuple[dict[str, np.ndarray], dict[str, Any]] | None = None
        self._lock, self._writing = checkpoint.locked(), Writing(checkpoint)
        self._at, self._start = (0, 0), ""

    def __enter__(self) -> "Saved":
        self._lock.__enter__()
        try:
            self._found = self.checkpoint.read()
            self._agree()
            if self._found is not None:
                with self._sound():
                    about = self._found[1]
                    self.seed, self.classes = int(about["seed"]), tuple(about["classes"])
        except BaseException:
            self._lock.__exit__()
            raise
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is None and not self.checkpoint.keep:
            self.checkpoint.remove()
        self._lock.__exit__()

    def _agree(self, **more: Any) -> None:
        """Add to what must be as it was; raise CheckpointError if it is not."""
        self._agreed |= more
        if self._found is not None:
            with self._sound():
                saved = self._found[1]["fit"]
                then = {name: saved.get(name) for name in self._agreed}
                agreement.refuse_other(self.checkpoint.path, then, self._agreed)

    @contextmanager
    def _sound(self) -> Iterator[None]:
        """Turn errors from an invalid description into CheckpointError."""
        try:
            yield
        except LinsepError:
            raise
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as problem:
            path = self.checkpoint.path
            raise CheckpointError(
                f"{path} does not describe a whole fit ({problem}); {CHECKPOINT.remedy}."
            ) from None

    def check_arrays(self, X: Any, *labels: np.ndarray) -> None:
        """Raise CheckpointError if the run to go on with learnt other rows."""
        self._agree(rows=agreement.of_arrays(X, *labels))

    def check_source(self, source: Any) -> None:
        """Raise CheckpointError if the run to go on with read other files, or in another way."""
        self._agree(data=agreement.of_source(source))

    def resume(self, run: Any, stream: Any, course: Course, progress: Any) -> None:
        """Go on with an earlier run, if there is one: restore its state and its course."""
        self._start = _digest(run.state)
        if self._found is None:
            return
        arrays, about = self._found
        with self._sound():
            n_classes, n_columns = about["machines"]
            # A class that this stream has not met yet restarts the first pass, as it did then.
            if [n_classes, n_columns] != [run.state.n_classes, run.state.n_columns]:
                return
            self._agree(start=self._start)
            stream.resume(about["course"]["number"], contents.of_rows(arrays))
            contents.restore(arrays, about["course"], run, course, progress)
            if not stream.of_features and stream.n_features != run.state.n_features:
                raise ValueError(f"{run.state.n_features} examples")
        self._at = course.number, progress.rows

    def pause(self, run: Any, stream: Any, course: Course, progress: Any) -> None:
        """Save the run between two slices of rows, if it is time."""
        number, rows = self._at
        fresh = progress.rows - rows
        if number != course.number:
            fresh = run.reports[-1].rows - rows + progress.rows
        self._at = course.number, progress.rows
        if self._writing.due(fresh):
            self._write(run, stream, course, progress)

    def interrupted(self, run: Any, stream: Any, course: Course, progress: Any) -> None:
        """Save the run, because it is stopped now."""
        self._write(run, stream, course, progress)

    def _write(self, run: Any, stream: Any, course: Course, progress: Any) -> None:
        arrays, where = contents.saved(run, stream, course, progress)
        classes = self.estimator.classes_.tolist()
        plain = all(isinstance(label, str | int | float) for label in classes)
        about = {
            "fit": self._agreed | {"start": self._start},
            "course": where,
            "seed": self.estimator._run_seed,
            "classes": classes if plain else [],
            "machines": [run.state.n_classes, run.state.n_columns],
        }
        self._writing.write(arrays, about)


def _digest(state: State) -> str:
    """Return a hash of the initial weights, which does not depend on the room for features."""
    W = state.W[: state.n_features]
    at = np.flatnonzero(state.fill != W)
    parts = at, W.ravel()[at], state.W[-1:]
    return blake2b(b"".join(part.tobytes() for part in parts), digest_size=16).hexdigest()
