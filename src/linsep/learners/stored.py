"""An online classifier in files: its fitted state, and the progress of its fit.

Both are arrays and plain JSON. The arrays: ``coef`` and ``intercept`` for prediction, ``last.*``
the current weights, if different, ``weights.NAME.*`` others of their shape, ``counts.NAME`` a
number per binary classifier, ``vote.*``, ``calibration.K``, and ``support.*`` of kernels.
"""

import re
from collections.abc import Callable
from typing import Any

import joblib
import numpy as np

from linsep.checkpoints.fits import SavedFit
from linsep.estimators import fitted_state
from linsep.estimators.fitted_state import Array, as_it_is, count, flag, restored
from linsep.estimators.labels import is_turned
from linsep.estimators.reading import StopReason
from linsep.estimators.thresholds import Calibration
from linsep.learners.passes import Course, PassReport, Run
from linsep.learners.proofs import runs_otherwise
from linsep.learners.state import Arrays, columns_of, keeping_of


def _optional(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else read(value)


_share, _reason = _optional(float), _optional(StopReason)


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


#: what files hold of a run besides the arrays of its state
RUN: dict[str, Any] = {
    "training.n_updates": count,
    "training.rounds": count,
    "training.passes": _optional(_reports),
    "training.trial": _optional(_reports),
}
#: also of a fit in progress, between two slices of rows
POSITION: dict[str, Any] = RUN | {
    "tally": Array("4", np.int64),
    "course.number": count,
    "course.learned": flag,
    "course.since_best": count,
    "course.best": as_it_is,
}
#: also of a fitted model
STATE: dict[str, Any] = RUN | {
    "classes": fitted_state.classes_from,
    "calibration": as_it_is,
    "kernel": as_it_is,
    "training.stop_reason": _reason,
    "training.open_mistakes": _optional(count),
    "training.accuracy": _share,
    "training.began": as_it_is,
    "training.cycle": _optional(_cycle),
    "training.rows_seen": as_it_is,
}


def _known(run: Run, passes: int | None = None) -> dict[str, Any]:
    return {
        "n_updates": run.state.n_updates,
        "rounds": run.state.rounds,
        "passes": list(map(list, run.reports[:passes])),
        "trial": run.trial and list(map(list, run.trial)),
    }


def state_of(model: Any) -> tuple[Arrays, dict[str, Any]]:
    """Return the arrays of a fitted classifier, and its other state as plain JSON."""
    run, changed = model.fitted_run(), runs_otherwise(model)
    _, facts = fitted_state.state_of(STATE, _known(run) | {
        "classes": fitted_state.described(model.classes_),
        "calibration": getattr(getattr(model, "calibration_", None), "method", None),
        "kernel": None,
        "stop_reason": model.stop_reason_,
        "open_mistakes": run.open_mistakes,
        "accuracy": getattr(model, "training_accuracy_", None),
        "began": {
            "fresh": run.fresh and run.mixture is None and not changed, "weighted": run.weighted,
            "left_out": run.left_out or changed, "seed": run.seed,
        },
        "cycle": run.cycle and run.cycle.to_json(),
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
    arrays = {f"last.{part}": arrays[part] for part in ("coef", "intercept")} | arrays
    for name, array in arrays.items():
        infinite = array.dtype.kind == "f" and not np.isfinite(array).all()
        if infinite and not name.startswith("counts."):
            raise ValueError(f"{name} that is not finite")
    learner, n_classes, (many, width) = model.learner(), model.classes_.size, arrays["coef"].shape
    if many != columns_of(model.multiclass, n_classes):
        raise ValueError(f"{many} weight vectors")
    state = model.new_state(learner, n_classes, width).with_arrays(arrays, found["rounds"])
    state.n_updates, reports = found["n_updates"], found["passes"] or []
    model._run = Run(
        state, learner, keeping_of(model), reports,
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
    """An online fit in a checkpoint."""

    def begin(self, arrays: Arrays, about: dict[str, Any]) -> None:
        self.seed, self.classes = int(about["seed"]), tuple(about["classes"])
        self.trial = restored(RUN, arrays, about)["trial"]

    def resume(self, course: Course) -> None:
        run, state = course.run, course.run.state
        changed = np.flatnonzero(state.W[: state.n_features] != state.fill)
        start = [changed, state.W[:-1].ravel()[changed], state.W[-1]]
        self.agreed["start"] = joblib.hash(start)
        # Of a trial and the run after it, only the interrupted one resumes.
        if self.found is None or (self.trial is None) != (run.trial is None):
            return
        # Learning changes the arrays, and a class that is seen late restarts the first pass.
        arrays, about = {k: array.copy() for k, array in self.found[0].items()}, self.found[1]
        with self.as_checkpoint_error():
            n_classes, n_columns = about["machines"]
            if (n_classes, n_columns) != (state.n_classes, state.n_columns):
                return
            self.agree()
            self._restore(course, arrays, about)
        place = f"pass {course.number + 1}, after {course.rows:,} of its rows"
        ended = run.reports and run.reports[-1].stop_reason is not None
        self.checkpoint.on_resume("training is complete" if ended else place)

    def _restore(self, course: Course, arrays: Arrays, about: dict[str, Any]) -> None:
        run, state, stream = course.run, course.run.state, course.stream
        found = restored(POSITION, arrays, about)
        course.number, course.learned = found["number"], found["learned"]
        course.since_best, course.tally = found["since_best"], found["tally"]
        stream.resume(course.number + course.learned, _part("rows", arrays))
        run.reports = found["passes"]
        if len(run.reports) != course.number:
            raise ValueError(f"{len(run.reports)} reports of {course.number} passes")
        state.n_features, state.n_updates = arrays["last.coef"].shape[1], found["n_updates"]
        state.restore(state.with_arrays(arrays, found["rounds"]))
        if found["best"] is not None:
            score, rounds = found["best"]
            course.best = float(score), state.with_arrays(_part("best", arrays), count(rounds))
        if course.detection is not None:
            course.detection.restore(_part("cycle", arrays))
        if not stream.of_features and stream.n_features != state.n_features:
            raise ValueError(f"{state.n_features} examples")

    def save(self, course: Course) -> None:
        run, best, arrays = course.run, course.best, course.run.state.arrays()
        parts = {"rows": course.stream, "best": best and best[1], "cycle": course.detection}
        for prefix, part in parts.items():
            found = {} if part is None else part.arrays()
            arrays |= {f"{prefix}.{name}": array for name, array in found.items()}
        position, about = fitted_state.state_of(POSITION, _known(run, course.number) | {
            "tally": course.tally, "number": course.number, "learned": course.learned,
            "since_best": course.since_best, "best": best and [best[0], best[1].rounds],
        })  # fmt: skip
        classes = self.estimator.classes_.tolist()
        plain = all(isinstance(label, str | int | float) for label in classes)
        self.write(arrays | position, about | {
            "fit": self.agreed,
            "seed": run.seed,
            "classes": classes if plain else [],
            "machines": [run.state.n_classes, run.state.n_columns],
        })  # fmt: skip


def _part(prefix: str, arrays: Arrays) -> Arrays:
    start = f"{prefix}."
    return {k.removeprefix(start): array for k, array in arrays.items() if k.startswith(start)}
