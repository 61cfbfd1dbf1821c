"""Checkpoints of online learners: between two slices of rows, at any row of any pass."""

from hashlib import blake2b
from typing import Any

import numpy as np

from linsep.checkpoints.fits import SavedFit
from linsep.checkpoints.saving import Checkpoint
from linsep.estimators._common.fitted_state import StopReason
from linsep.learners.passes import Best, Course, PassReport, Progress, Run, over
from linsep.learners.state import Remembered, State

Arrays = dict[str, np.ndarray]


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
            stream.resume(passed, _within("rows", arrays))
            restore_contents(arrays, where, run, course, progress)
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
        arrays, where = contents_of(run, stream, course, progress)
        classes = self.estimator.classes_.tolist()
        plain = all(isinstance(label, str | int | float) for label in classes)
        about = {
            "fit": self.agreed | {"start": self._start},
            "course": where,
            "seed": run.seed,
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


def contents_of(run: Run, stream: Any, course: Course, progress: Progress) -> tuple[Arrays, Any]:
    """Return all that a run needs to go on, between two slices of rows."""
    state, best, detection = run.state, course.best, course.detection
    rows, tally = progress.of_pass(course.number)
    arrays = {"tally": tally}
    arrays |= _named("state", _of_state(state)) | _named("kept", run.keeping.arrays())
    arrays |= _named("rows", stream.arrays())
    if best is not None:
        arrays |= _named("best", _of_state(best.state))
    if detection is not None:
        arrays |= _named("cycle", detection.arrays())
    return arrays, {
        "number": course.number,
        "learnt": course.learnt,
        "rows": rows,
        "features": state.n_features,
        "rounds": state.rounds,
        "n_updates": course.n_updates,
        "since_best": course.since_best,
        "best": None if best is None else [best.score, best.state.rounds, best.kept],
        "reports": [list(report) for report in run.reports[: course.number]],
    }


def restore_contents(
    arrays: Arrays, about: dict[str, Any], run: Run, course: Course, progress: Progress
) -> None:
    """Put a run where another stood; raise ValueError if the arrays do not fit."""
    state = run.state
    number, rows = _count(about["number"]), _count(about["rows"])
    reports = [_report(*fields) for fields in about["reports"]]
    if len(reports) != number:
        raise ValueError(f"{len(reports)} reports of {number} passes")
    n_features = _count(about["features"])
    found = _to_state(state, _within("state", arrays), _count(about["rounds"]), n_features)
    state.restore(found)
    state.n_features, state.n_updates = n_features, _count(about["n_updates"])
    run.keeping.set_arrays(state, _within("kept", arrays))
    run.reports[:] = reports
    course.number, course.learnt = number, about["learnt"] is True
    course.n_updates, course.since_best = state.n_updates, _count(about["since_best"])
    if about["best"] is not None:
        score, rounds, kept = about["best"]
        best = _to_state(state, _within("best", arrays), _count(rounds), n_features)
        course.best = Best(float(score), best, kept)
    if course.detection is not None:
        course.detection.restore(_within("cycle", arrays))
    tally = arrays["tally"]
    if tally.shape != (3,) or tally.dtype != np.int64:
        raise ValueError(f"counts of shape {tally.shape}")
    progress.resume(number, rows, tally, [report.mistakes for report in reports])


def _of_state(state: State | Remembered) -> Arrays:
    return _named("shaped", state.shaped) | _named("counts", state.counts)


def _to_state(state: State, arrays: Arrays, rounds: int, n_features: int) -> Remembered:
    """Return weights and counters for ``state``; raise ValueError if they do not fit."""
    shaped, counts = _within("shaped", arrays), _within("counts", arrays)
    shape = shaped["W"].shape
    if shape[1:] != state.W.shape[1:] or not shape or shape[0] < n_features + 1:
        raise ValueError(f"weights of shape {shape} for {n_features} features")
    for name, array in shaped.items():
        if array.shape != shape or array.dtype != np.float64:
            raise ValueError(f"{name} of {array.dtype} {array.shape}")
    for name, array in counts.items():
        if array.shape != (state.n_machines,) or array.dtype not in (np.int64, np.float64):
            raise ValueError(f"{name} of {array.dtype} {array.shape}")
    return Remembered(shaped, counts, rounds)


def _report(*fields: Any) -> PassReport:
    report = PassReport(*fields)
    reason = report.stop_reason
    return report._replace(stop_reason=None if reason is None else StopReason(reason))


def _named(prefix: str, arrays: Arrays) -> Arrays:
    return {f"{prefix}.{name}": array for name, array in arrays.items()}


def _within(prefix: str, arrays: Arrays) -> Arrays:
    start = f"{prefix}."
    return {k.removeprefix(start): array for k, array in arrays.items() if k.startswith(start)}


def _count(number: Any) -> int:
    if type(number) is not int or number < 0:
        raise ValueError(f"a count of {number!r}")
    return number
