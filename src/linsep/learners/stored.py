"""An online classifier in files: its fitted state, and the progress of its fit.

Both are arrays and plain JSON. The arrays of a trained model: ``coef`` and ``intercept`` for
prediction, ``last.*`` the current weights as a state stores them, if different, ``weights.NAME.*``
other arrays of their shape, ``counts.NAME`` one number per binary classifier, ``vote.*`` the
changes of a vote, ``calibration.K`` its curves. A kernel classifier adds ``support.*``.
"""

import re
from collections.abc import Callable
from typing import Any

import joblib
import numpy as np

from linsep.checkpoints.fits import SavedFit
from linsep.estimators import fitted_state
from linsep.estimators.fitted_state import (
    Array,
    as_it_is,
    classes_from,
    count,
    described,
    restored,
)
from linsep.estimators.labels import is_turned
from linsep.estimators.reading import StopReason
from linsep.estimators.thresholds import Calibration
from linsep.learners.keeping import keeping_of
from linsep.learners.passes import Course, PassReport, Run
from linsep.learners.proofs import runs_otherwise
from linsep.learners.state import Arrays, State, columns_of


def optional(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function that reads what ``read`` does, or None."""
    return lambda value: None if value is None else read(value)


_share, _reason = optional(float), optional(StopReason)


def _reports(stored: list[list[Any]]) -> list[PassReport]:
    return [
        PassReport._make([*map(count, fields[:5]), *map(_share, fields[5:8]), _reason(*fields[8:])])
        for fields in stored
    ]


def _cycle(stored: str) -> Any:
    from linsep.certificate.cycles import Cycle, Cycles
    from linsep.certificate.proofs import from_json

    claim = from_json(stored)
    if not isinstance(claim, Cycle | Cycles):
        raise ValueError("an invalid cycle")
    return claim


#: what a model file holds besides arrays: of a fit its counts, reports and start
STATE: dict[str, Any] = {
    "classes": classes_from,
    "calibration": as_it_is,
    "kernel": as_it_is,
    "training.n_updates": count,
    "training.rounds": count,
    "training.stop_reason": _reason,
    "training.passes": optional(_reports),
    "training.trial": optional(_reports),
    "training.open_mistakes": optional(count),
    "training.accuracy": _share,
    "training.began": as_it_is,
    "training.cycle": optional(_cycle),
    "training.rows_seen": as_it_is,
}


def state_of(model: Any) -> tuple[Arrays, dict[str, Any]]:
    """Return the arrays of a fitted classifier, and its other state as plain JSON."""
    run = model.fitted_run()
    changed = runs_otherwise(model)
    _, facts = fitted_state.state_of(STATE, {
        "classes": described(model.classes_),
        "calibration": getattr(getattr(model, "calibration_", None), "method", None),
        "kernel": None,
        "n_updates": model.n_updates_,
        "rounds": run.state.rounds,
        "stop_reason": model.stop_reason_,
        "passes": [list(report) for report in run.reports],
        "trial": None if run.trial is None else [list(report) for report in run.trial],
        "open_mistakes": run.open_mistakes,
        "accuracy": getattr(model, "training_accuracy_", None),
        "began": {
            "fresh": run.fresh and run.mixture is None and not changed, "weighted": run.weighted,
            "left_out": run.left_out or changed, "seed": run.seed,
        },
        "cycle": None if run.cycle is None else run.cycle.to_json(),
        "rows_seen": getattr(model, "_rows_seen", None),
    })  # fmt: skip
    coef, intercept = run.weights()
    arrays = {"coef": coef, "intercept": intercept} | run.state.arrays()
    if model.keep == "last":
        del arrays["last.coef"], arrays["last.intercept"]
    arrays |= calibration_arrays(model)
    return {name: np.ascontiguousarray(array) for name, array in arrays.items()}, facts


def set_state(model: Any, arrays: Arrays, facts: dict[str, Any]) -> None:
    """Set an estimator's state from :func:`state_of`; ValueError if it is inconsistent."""
    found = restored(STATE, arrays, facts)
    model.classes_, began = found["classes"], found["began"]
    is_turned(model.reference, model.classes_)  # raises an error for an unknown class
    model._learned_with = model.get_params(deep=False)
    arrays = {re.sub(r"^vote\.first\.", "weights.first.", name): a for name, a in arrays.items()}
    for part in ("coef", "intercept"):
        arrays.setdefault(f"last.{part}", arrays[part])
    for name, array in arrays.items():
        infinite = array.dtype.kind == "f" and not np.isfinite(array).all()
        if infinite and not name.startswith("counts."):
            raise ValueError(f"{name} that is not finite")
    coef, n_classes = arrays["coef"], model.classes_.size
    if coef.ndim != 2 or len(coef) != columns_of(model.multiclass, n_classes):
        raise ValueError(f"weights of shape {coef.shape}")
    state: State = model.new_state(model.learner(), n_classes, coef.shape[1])
    state = state.with_arrays(arrays, found["rounds"])
    state.n_updates, reports = found["n_updates"], found["passes"] or []
    model._run = Run(
        state, model.learner(), keeping_of(model), reports,
        seed=None if began["seed"] is None else int(began["seed"]), fresh=began["fresh"] is True,
        weighted=began["weighted"] is not False, left_out=began["left_out"] is not False,
        open_mistakes=found["open_mistakes"], trial=found["trial"],
        cycle=found["cycle"] and found["cycle"].of_run(len(reports)),
    )  # fmt: skip
    model.stop_reason_, model.training_accuracy_ = found["stop_reason"], found["accuracy"]
    if getattr(model, "kernel", None) is None:
        model.n_features_in_ = state.n_features
    if found["calibration"] is not None:
        model.calibration_ = calibration_of(model, arrays, found["calibration"])


def calibration_arrays(model: Any) -> Arrays:
    """Return the curves of the calibration of a model, if it has one."""
    curves = model.calibration_.curves if hasattr(model, "calibration_") else []
    return {f"calibration.{k}": curve for k, curve in enumerate(curves)}


def calibration_of(model: Any, arrays: Arrays, method: str) -> Calibration:
    """Return the calibration of a model file; raise ValueError if its curves are invalid."""
    several, shape = model.classes_.size > 2, {"sigmoid": "2", "isotonic": "2, points"}[method]
    names = [f"calibration.{k}" for k in range(model.classes_.size if several else 1)]
    curves = [Array(shape).checked(name, arrays, {}) for name in names]
    for curve in curves if method == "isotonic" else []:
        steps = np.diff(curve), np.diff(curve[1], prepend=0.0, append=1.0)
        if not curve.size or any((step < 0).any() for step in steps):
            raise ValueError("an invalid isotonic calibration")
    return Calibration(method, curves)


class SavedOnlineFit(SavedFit):
    """Saves an online fit, and resumes a saved one."""

    _start = ""

    def begin(self, arrays: Arrays, about: dict[str, Any]) -> None:
        self.seed, self.classes = int(about["seed"]), tuple(about["classes"])
        self.trial = optional(_reports)(about["course"]["trial"])

    def resume(self, course: Course) -> None:
        run, W = course.run, course.run.state.W
        changed = np.flatnonzero(W[: run.state.n_features] != run.state.fill)
        self._start = joblib.hash([changed, W[:-1].ravel()[changed], W[-1]])
        # Of a trial and the run after it, only the interrupted one resumes.
        if self.found is None or (self.trial is None) != (run.trial is None):
            return
        # Learning changes the arrays; a damaged row cache may restart the run.
        arrays, about = {k: array.copy() for k, array in self.found[0].items()}, self.found[1]
        with self.as_checkpoint_error():
            # A class that this stream has not met yet restarts the first pass, as it did then.
            n_classes, n_columns = about["machines"]
            if (n_classes, n_columns) != (run.state.n_classes, run.state.n_columns):
                return
            self.agree(start=self._start)
            self._restore(course, arrays, about["course"])
        over = " over all rows" * (run.trial is not None)
        place = f"pass {course.number + 1}{over}, after {course.rows:,} of its rows"
        ended = run.reports and run.reports[-1].stop_reason is not None
        self.checkpoint.on_resume("training is complete" if ended else place)

    def _restore(self, course: Course, arrays: Arrays, about: dict[str, Any]) -> None:
        run, stream, state, tally = course.run, course.stream, course.run.state, arrays["tally"]
        course.number, course.learned = count(about["number"]), about["learned"] is True
        course.since_best, course.tally = count(about["since_best"]), tally
        stream.resume(course.number + course.learned, _without_prefix("rows", arrays))
        run.reports[:] = _reports(about["reports"])
        if len(run.reports) != course.number or (tally.shape, tally.dtype) != ((4,), np.int64):
            raise ValueError(f"{len(run.reports)} reports of {course.number} passes")
        state.n_features = arrays["last.coef"].shape[1]
        state.restore(state.with_arrays(arrays, count(about["rounds"])))
        state.n_updates = count(about["n_updates"])
        if about["best"] is not None:
            score, rounds = about["best"]
            best = state.with_arrays(_without_prefix("best", arrays), count(rounds))
            course.best = float(score), best
        if course.detection is not None:
            course.detection.restore(_without_prefix("cycle", arrays))
        if not stream.of_features and stream.n_features != state.n_features:
            raise ValueError(f"{state.n_features} examples")

    def save(self, course: Course) -> None:
        run, state, best = course.run, course.run.state, course.best
        arrays = state.arrays() | {"tally": course.tally}
        parts = {"rows": course.stream, "best": best and best[1], "cycle": course.detection}
        for prefix, part in parts.items():
            if part is not None:
                arrays |= {f"{prefix}.{name}": array for name, array in part.arrays().items()}
        classes = self.estimator.classes_.tolist()
        plain = all(isinstance(label, str | int | float) for label in classes)
        self.write(arrays, {
            "fit": self.agreed | {"start": self._start},
            "course": {
                "number": course.number,
                "learned": course.learned,
                "rounds": state.rounds,
                "n_updates": state.n_updates,
                "since_best": course.since_best,
                "best": None if best is None else [best[0], best[1].rounds],
                "reports": [list(report) for report in run.reports[: course.number]],
                "trial": None if run.trial is None else [list(report) for report in run.trial],
            },
            "seed": run.seed,
            "classes": classes if plain else [],
            "machines": [state.n_classes, state.n_columns],
        })  # fmt: skip


def _without_prefix(prefix: str, arrays: Arrays) -> Arrays:
    start = f"{prefix}."
    return {k.removeprefix(start): array for k, array in arrays.items() if k.startswith(start)}
