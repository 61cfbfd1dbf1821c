"""Online learners in a model file: weights, the state to continue from, and training reports."""

import json
from typing import Any

import numpy as np
import scipy.sparse as sp

import linsep
from linsep.certificate.cycles import Cycle, Cycles
from linsep.errors import ModelFileError
from linsep.estimators._common.calibration import METHODS, Calibration
from linsep.estimators._common.reference import is_turned
from linsep.estimators._common.stop_reasons import StopReason
from linsep.estimators._common.stored import classes_of, count, described
from linsep.kernels.naming import kernel_from_dict
from linsep.kernels.rows import listed
from linsep.learners.keeping import KeepVote, keeping_of
from linsep.learners.kernel import KernelPerceptron
from linsep.learners.passes import PassReport
from linsep.learners.proofs import Proofs
from linsep.learners.state import State, columns_of

VOTES = ("features", "columns", "amounts", "starts", "rounds", "machines")


def contents(model: Any) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return the arrays of a fitted learner, and the rest as plain JSON."""
    model._check_same("save")
    kernel, calibration = (getattr(model, name, None) for name in ("kernel_", "calibration_"))
    return arrays_of(model), {
        "classes": described(model.classes_),
        "calibration": getattr(calibration, "method", None),
        "kernel": None if kernel is None else kernel.to_dict(),
        "training": {
            "n_updates": model.n_updates_,
            "rounds": model._state.rounds,
            "stop_reason": model.stop_reason_,
            "passes": [list(report) for report in model._passes],
            "open_mistakes": model._open_mistakes,
            "accuracy": getattr(model, "training_accuracy_", None),
            "began": _began(model),
            "cycle": None if model._cycle is None else model._cycle.to_json(),
            "rows_seen": getattr(model, "_rows_seen", None),
        },
    }


def _began(model: Any) -> dict[str, Any] | None:
    """Return what theorems need to know about the start; None if unknown."""
    if not hasattr(model, "_fresh"):
        return None
    changed = isinstance(model, Proofs) and model._runs_otherwise()
    return {
        "fresh": model._fresh and not changed, "weighted": model._weighted,
        "left_out": model._left_out or changed, "seed": getattr(model, "_run_seed", None),
    }  # fmt: skip


def rebuild(model: Any, tensors: dict[str, np.ndarray], about: dict[str, Any]) -> int | None:
    """Set the fitted attributes of ``model`` and return its number of features or None."""
    model.classes_ = classes_of(**about["classes"])
    is_turned(model.reference, model.classes_)  # refuses one that is no class
    restore(model, tensors, about["training"].pop("rounds"))
    width = model._state.n_features if about.get("kernel") is None else _width(about["features"])
    if isinstance(model, KernelPerceptron):
        restore_supports(model, tensors, about["kernel"], width)
    _remember_training(model, **about["training"])
    if about.get("calibration") is not None:
        model.calibration_ = _calibrated(model, tensors, about["calibration"])
    return width


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


def _width(declared: Any) -> int | None:
    """Return the number of features of a kernel's rows, None for other types of rows."""
    return None if declared is None else count(declared, 1)


def arrays_of(model: Any) -> dict[str, np.ndarray]:
    """Return arrays by name: ``coef`` and ``intercept`` to predict with, and others.

    ``last.*`` are the current weights if others predict, ``weights.NAME.*`` other arrays of their
    shape, ``counts.NAME`` one number per machine, ``vote.*`` the changes of a vote.
    """
    state = model._state
    coef, intercept = state.split(model._keeping.weights(state))
    found = {"coef": coef, "intercept": intercept}
    if isinstance(model, KernelPerceptron):
        found |= _supports_of(model)
    if model.keep != "last":
        found["last.coef"], found["last.intercept"] = state.split(state.W)
    for name, array in state.shaped.items():
        if name == "pocket" or (name != "W" and array.any()):
            found[f"weights.{name}.coef"], found[f"weights.{name}.intercept"] = state.split(array)
    found |= {f"counts.{name}": array for name, array in state.counts.items()}
    if calibration := getattr(model, "calibration_", None):
        found |= {f"calibration.{k}": curve for k, curve in enumerate(calibration.curves)}
    if isinstance(model._keeping, KeepVote) and model._keeping.first is not None:
        first = model._keeping.first_weights(state)
        found["vote.first.coef"], found["vote.first.intercept"] = state.split(first)
        found |= {f"vote.{name}": array for name, array in model._keeping.changes().items()}
    return {name: np.ascontiguousarray(array) for name, array in found.items()}


def restore(model: Any, arrays: dict[str, np.ndarray], rounds: int) -> None:
    """Restore the state of ``model``; raise ValueError if the arrays are inconsistent."""
    coef = arrays["coef"]
    if coef.ndim != 2 or len(coef) != columns_of(model.multiclass, model.classes_.size):
        raise ValueError(f"weights of shape {coef.shape}")
    fill, intercept = model._learner().fill, bool(getattr(model, "fit_intercept", False))
    state = State(model.multiclass, model.classes_.size, coef.shape[1], intercept, fill)
    model._state, state.rounds = state, count(rounds)
    model._learnt_with = model.get_params(deep=False)
    model._keeping = keeping_of(
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
    if isinstance(model._keeping, KeepVote) and "vote.first.coef" in arrays:
        first = np.zeros_like(state.W)
        _fill(state, first, arrays, "vote.first.")
        model._keeping.restore(state, first, {name: arrays[f"vote.{name}"] for name in VOTES})


def _supports_of(model: KernelPerceptron) -> dict[str, np.ndarray]:
    """Return ``support.numbers`` and the rows: an array, parts of a CSR matrix, or JSON strings."""
    rows, found = model.support_vectors_, {"support.numbers": model.support_}
    if sp.issparse(rows):
        parts = {"values": rows.data, "columns": rows.indices, "starts": rows.indptr}
        return found | {f"support.{name}": part for name, part in parts.items()}
    if rows.dtype != object:
        return found | {"support.rows": rows}
    return found | {"support.text": np.frombuffer(_as_json(rows), np.uint8)}


def _as_json(rows: np.ndarray) -> bytes:
    plain = [row.decode("latin-1") if isinstance(row, bytes) else row for row in rows]
    if not all(isinstance(row, str) for row in plain):
        raise ModelFileError("Only support vectors of numbers or strings can be saved.")
    kind = "bytes" if len(rows) and isinstance(rows[0], bytes) else "str"
    return json.dumps({kind: plain}).encode()


def restore_supports(
    model: KernelPerceptron, arrays: dict[str, np.ndarray], kernel: dict[str, Any],
    width: int | None,
) -> None:  # fmt: skip
    """Restore kernel and support vectors of ``model``, which has a state; raise ValueError if they
    are inconsistent.
    """
    numbers, many = arrays["support.numbers"], model._state.n_features
    model.kernel_ = kernel_from_dict(kernel)
    if numbers.shape != (many,) or numbers.dtype != np.int64:
        raise ValueError(f"{numbers.dtype} numbers of shape {numbers.shape}")
    if "support.text" in arrays:
        ((kind, texts),) = json.loads(arrays["support.text"].tobytes()).items()
        rows: Any = listed([text.encode("latin-1") if kind == "bytes" else text for text in texts])
    elif "support.values" in arrays:
        parts = (arrays[f"support.{name}"] for name in ("values", "columns", "starts"))
        rows = sp.csr_matrix(tuple(parts), shape=(many, width))
        rows.check_format()
    elif model.kernel_.takes == "gram":
        rows = np.empty((many, 0))
    else:
        rows = arrays["support.rows"]
        if rows.shape[1:] != (width,) or rows.dtype not in (np.float64, np.float32):
            raise ValueError(f"{rows.dtype} support vectors of shape {rows.shape}")
    if rows.shape[0] != many:
        raise ValueError(f"{rows.shape[0]} support vectors for {many} weights")
    model.support_, model._examples = numbers, rows
    model._rows_seen = int(numbers.max(initial=-1)) + 1
    if model.kernel_.takes != "gram":
        model._prepare_examples()


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
    began: dict[str, Any] | None = None,
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
    model._state.n_updates, model._open_mistakes = n_updates, open_mistakes
    model._passes = [report._replace(stop_reason=_reason(report.stop_reason)) for report in reports]
    model.stop_reason_, model.training_accuracy_ = _reason(stop_reason), accuracy
    if began is not None:
        model._fresh, model._weighted = began["fresh"] is True, began["weighted"] is not False
        model._left_out = began.get("left_out") is not False  # unknown in older files
        seed = began.get("seed")
        model._run_seed = None if seed is None else int(seed)
    model._cycle = None if cycle is None else _cycle(cycle, len(reports))
    if isinstance(model, KernelPerceptron):  # older files: continue after the last support vector
        model._rows_seen = max(model._rows_seen, count(rows_seen or 0))


def _cycle(stored: str, passes: int) -> Cycle | Cycles:
    claim = linsep.from_json(stored)
    if not isinstance(claim, Cycle | Cycles):
        raise ValueError("an invalid cycle")
    return claim.of_run(passes)


def _reason(stored: str | None) -> StopReason | None:
    return None if stored is None else StopReason(stored)
