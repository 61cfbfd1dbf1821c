"""A run of online learning as arrays and JSON, and back."""

from typing import Any

import numpy as np

from linsep.estimators._common.stop_reasons import StopReason
from linsep.learners.course import Best, Course
from linsep.learners.passes import PassReport, Progress, Run
from linsep.learners.state import Remembered, State

Arrays = dict[str, np.ndarray]


def saved(run: Run, stream: Any, course: Course, progress: Progress) -> tuple[Arrays, Any]:
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


def restore(
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


def of_rows(arrays: Arrays) -> Arrays:
    """Return the arrays of the row stream."""
    return _within("rows", arrays)


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
