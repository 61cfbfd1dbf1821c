"""What an online classifier has learnt, as arrays and plain JSON, and back.

Arrays: ``coef`` and ``intercept`` to predict with, ``last.*`` the current weights if others
predict, ``weights.NAME.*`` other arrays of their shape, ``counts.NAME`` one number per machine,
``vote.*`` the changes of a vote, ``calibration.K`` its curves. A kernel classifier adds
``support.*``.
"""

from typing import Any

import numpy as np

from linsep.estimators._common.calibration import METHODS, Calibration
from linsep.estimators._common.fitted_state import StopReason, classes_of, count, described
from linsep.estimators._common.labels import is_turned
from linsep.learners import proofs
from linsep.learners.keeping import KeepVote, keeping_of
from linsep.learners.passes import PassReport, Run
from linsep.learners.state import State, columns_of

VOTES = ("features", "columns", "amounts", "starts", "rounds", "machines")


def state_of(model: Any) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return the arrays of a fitted classifier, and the rest as plain JSON."""
    run = model.fitted_run()
    calibration = getattr(model, "calibration_", None)
    return arrays_of(model), {
        "classes": described(model.classes_),
        "calibration": getattr(calibration, "method", None),
        "kernel": None,
        "training": {
            "n_updates": model.n_updates_,
            "rounds": run.state.rounds,
            "stop_reason": model.stop_reason_,
            "passes": [list(report) for report in run.reports],
            "open_mistakes": run.open_mistakes,
            "accuracy": getattr(model, "training_accuracy_", None),
            "began": _began(model, run),
            "cycle": None if run.cycle is None else run.cycle.to_json(),
            "rows_seen": None,
        },
    }


def _began(model: Any, run: Run) -> dict[str, Any]:
    """Return what theorems need to know about the start."""
    changed = hasattr(model, "bounds") and proofs.runs_otherwise(model)
    return {
        "fresh": run.fresh and run.mixture is None and not changed, "weighted": run.weighted,
        "left_out": run.left_out or changed, "seed": run.seed,
    }  # fmt: skip


def set_state(model: Any, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
    """Give an estimator what :func:`state_of` returned; raise ValueError if it is inconsistent."""
    training = facts["training"]
    model.classes_ = classes_of(**facts["classes"])
    is_turned(model.reference, model.classes_)  # refuses one that is no class
    model._learnt_with = model.get_params(deep=False)
    model._run = _restored(model, arrays, training.pop("rounds"))
    if getattr(model, "kernel", None) is None:
        model.n_features_in_ = model._run.state.n_features
    _remember_training(model, **training)
    if facts.get("calibration") is not None:
        model.calibration_ = _calibrated(model, arrays, facts["calibration"])


def _calibrated(model: Any, arrays: dict[str, np.ndarray], method: str) -> Calibration:
    """Return the calibration of a model file; raise ValueError if its curves are none."""
    k = model.classes_.size
    curves = [arrays[f"calibration.{number}"] for number in range(1 if k == 2 else k)]
    for curve in curves:
        shape = (2,) if method == "sigmoid" else (2, curve.shape[-1])
        if method not in METHODS or curve.dtype != np.float64 or curve.shape != shape:
            raise ValueError(f"a calibration of {curve.dtype} {curve.shape}")
        if not np.isfinite(curve).all() or not curve.size:
            raise ValueError("a calibration that is not finite")
        ends = (0.0, 1.0) if method == "sigmoid" else curve[1, [0, -1]]
        if (method == "isotonic" and (np.diff(curve) < 0).any()) or ends[0] < 0 or ends[1] > 1:
            raise ValueError("an isotonic calibration that is none")
    return Calibration(method, curves)


def arrays_of(model: Any) -> dict[str, np.ndarray]:
    """Return arrays by name, see this module."""
    run = model.fitted_run()
    state, keeping = run.state, run.keeping
    coef, intercept = run.weights()
    found = {"coef": coef, "intercept": intercept}
    if model.keep != "last":
        found["last.coef"], found["last.intercept"] = state.split(state.W)
    for name, array in state.shaped.items():
        if name == "pocket" or (name != "W" and array.any()):
            found[f"weights.{name}.coef"], found[f"weights.{name}.intercept"] = state.split(array)
    found |= {f"counts.{name}": array for name, array in state.counts.items()}
    if calibration := getattr(model, "calibration_", None):
        found |= {f"calibration.{k}": curve for k, curve in enumerate(calibration.curves)}
    if isinstance(keeping, KeepVote) and keeping.first is not None:
        first = keeping.first_weights(state)
        found["vote.first.coef"], found["vote.first.intercept"] = state.split(first)
        found |= {f"vote.{name}": array for name, array in keeping.changes().items()}
    return {name: np.ascontiguousarray(array) for name, array in found.items()}


def _restored(model: Any, arrays: dict[str, np.ndarray], rounds: int) -> Run:
    """Return the run of ``model``; raise ValueError if the arrays are inconsistent."""
    coef = arrays["coef"]
    if coef.ndim != 2 or len(coef) != columns_of(model.multiclass, model.classes_.size):
        raise ValueError(f"weights of shape {coef.shape}")
    learner, intercept = model.learner(), bool(getattr(model, "fit_intercept", False))
    state = State(model.multiclass, model.classes_.size, coef.shape[1], intercept, learner.fill)
    state.rounds = count(rounds)
    keeping = keeping_of(
        model.keep, getattr(model, "vote_mb", np.inf), model.tie, getattr(model, "zero", "mistake")
    )
    last = "last." if "last.coef" in arrays else ""
    _fill(state, state.W, arrays, last)
    for key, array in arrays.items():
        if key.startswith("weights.") and key.endswith(".coef"):
            name = key.split(".")[1]
            _fill(state, state.like_weights(name), arrays, f"weights.{name}.")
        if key.startswith("counts."):
            own = state.per_machine(key.removeprefix("counts."), array.dtype.type)
            if array.shape != own.shape:
                raise ValueError(f"{key} of shape {array.shape}")
            own[:] = array
    if isinstance(keeping, KeepVote) and "vote.first.coef" in arrays:
        first = np.zeros_like(state.W)
        _fill(state, first, arrays, "vote.first.")
        keeping.restore(state, first, {name: arrays[f"vote.{name}"] for name in VOTES})
    return Run(state, learner, keeping)


def _fill(state: State, array: np.ndarray, arrays: dict[str, np.ndarray], prefix: str) -> None:
    for own, name in zip(state.split(array), ("coef", "intercept"), strict=True):
        stored = arrays[prefix + name]
        if stored.shape != own.shape or stored.dtype != np.float64:
            raise ValueError(f"{prefix}{name} of {stored.dtype} {stored.shape}")
        if not np.isfinite(stored).all():
            raise ValueError(f"{prefix}{name} that is not finite")
        own[:] = stored


def _remember_training(
    model: Any,
    n_updates: int,
    stop_reason: str | None,
    passes: list[list[Any]],
    open_mistakes: int | None,
    accuracy: float | None,
    began: dict[str, Any],
    cycle: str | None = None,
    rows_seen: int | None = None,
) -> None:
    reports = [PassReport(*fields) for fields in passes]
    for one in [n_updates, open_mistakes or 0, *(n for report in reports for n in report[:5])]:
        count(one)
    shares = [accuracy, *(share for report in reports for share in report[5:8])]
    for share in shares:
        if not isinstance(share, float | int | None):
            raise ValueError("an invalid accuracy")
        float(share or 0)  # OverflowError for an integer beyond floats
    run = model._run
    run.state.n_updates, run.open_mistakes = n_updates, open_mistakes
    run.reports = [report._replace(stop_reason=_reason(report.stop_reason)) for report in reports]
    model.stop_reason_, model.training_accuracy_ = _reason(stop_reason), accuracy
    run.fresh, run.weighted = began["fresh"] is True, began["weighted"] is not False
    run.left_out = began["left_out"] is not False
    run.seed = None if began["seed"] is None else int(began["seed"])
    run.cycle = None if cycle is None else _cycle(cycle, len(reports))


def _cycle(stored: str, passes: int) -> Any:
    from linsep.certificate.cycles import Cycle, Cycles
    from linsep.certificate.proofs import from_json

    claim = from_json(stored)
    if not isinstance(claim, Cycle | Cycles):
        raise ValueError("an invalid cycle")
    return claim.of_run(passes)


def _reason(stored: str | None) -> StopReason | None:
    return None if stored is None else StopReason(stored)
