"""Models on disk: safetensors with JSON metadata. Nothing in the file is ever executed."""

import hashlib
import json
import os
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_bytes
from sklearn.base import BaseEstimator

import linsep
from linsep.engine.loop import PassReport
from linsep.engine.state import State
from linsep.engine.stop import StopReason
from linsep.errors import ModelFileError
from linsep.estimators.perceptron import Perceptron

FORMAT = 1
LEARNERS = {learner.__name__: learner for learner in (Perceptron,)}


def save(model: BaseEstimator, path: str | Path, *, force: bool = False) -> Path:
    """Write a fitted estimator of this library to ``path``.

    The file appears whole or not at all: it is written beside its place, synced, then renamed.

    Parameters
    ----------
    model : fitted estimator
    path : the file; an existing one is only replaced with ``force``

    Raises
    ------
    ModelFileError
        When the file exists, cannot be written, or labels are of a type JSON does not know.
    """
    path = Path(path)
    check_free(path, force)
    tensors = {
        "coef": np.ascontiguousarray(model.coef_),
        "intercept": np.ascontiguousarray(model.intercept_),
    }
    about = _describe(model)
    about["sha256"] = _digest(tensors, about)
    _write_whole(path, to_bytes(tensors, {"linsep": json.dumps(about, default=_json)}))
    return path


def check_free(path: Path, force: bool) -> None:
    """Raise ModelFileError where :func:`save` would refuse ``path``; costs nothing beforehand."""
    if path.is_dir():
        raise ModelFileError(f"{path} is a directory; name a file for the model.")
    if path.exists() and not force:
        raise ModelFileError(f"{path} exists; choose another name or overwrite it with --force.")
    if not path.parent.is_dir():
        raise ModelFileError(f"The folder {path.parent} does not exist; make it first.")
    if not os.access(path.parent, os.W_OK):
        raise ModelFileError(f"The folder {path.parent} cannot be written to; choose another.")


def load(path: str | Path) -> Any:
    """Read a model that :func:`save` wrote; it predicts as the saved one did, to the bit.

    Raises
    ------
    ModelFileError
        When the file is missing, cut short, altered, not a linsep model, or of a newer format.
    """
    path = Path(path)
    tensors, about = _read(path)
    if about.get("format") != FORMAT:
        raise ModelFileError(
            f"{path} has model format {about.get('format')!r}, this linsep reads {FORMAT}; use the "
            f"linsep that wrote it ({about.get('version', 'unknown version')})."
        )
    digest = about.pop("sha256", None)
    if digest != _digest(tensors, about):
        raise ModelFileError(f"{path} was altered or damaged (its checksum is wrong); fit again.")
    try:
        return _rebuild(tensors, about)
    except (KeyError, TypeError, ValueError) as problem:
        raise ModelFileError(
            f"{path} does not describe a whole model ({problem}); fit again."
        ) from None


def _read(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    if path.is_dir():
        raise ModelFileError(f"{path} is a directory, not a model file.")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except FileNotFoundError:
        raise ModelFileError(f"There is no model file {path}.") from None
    except OSError as problem:
        raise ModelFileError(f"{path} cannot be read: {problem.strerror or problem}.") from None
    except SafetensorError:
        raise ModelFileError(
            f"{path} is not a model file, or it is cut short; `linsep fit` writes one."
        ) from None
    if "linsep" not in metadata:
        raise ModelFileError(f"{path} is a safetensors file, but not of linsep.")
    try:
        about = json.loads(metadata["linsep"])
    except json.JSONDecodeError:
        about = None
    if not isinstance(about, dict):
        raise ModelFileError(f"{path} was altered or damaged (its description); fit again.")
    return tensors, about


def _describe(model: Any) -> dict[str, Any]:
    parameters = model.get_params(deep=False)
    if not isinstance(parameters["random_state"], int | None):
        parameters["random_state"] = None
    if isinstance(parameters["class_weight"], dict):
        parameters["class_weight"] = [[_json(k), v] for k, v in parameters["class_weight"].items()]
    names = getattr(model, "feature_names_in_", None)
    return {
        "format": FORMAT,
        "version": linsep.__version__,
        "saved": datetime.now(UTC).isoformat(timespec="seconds"),
        "learner": type(model).__name__,
        "parameters": parameters,
        "classes": {
            "type": model.classes_.dtype.str,
            "values": [_json(label) for label in model.classes_],
        },
        "feature_names": None if names is None else [str(name) for name in names],
        "recipe": getattr(model, "recipe_", None),
        "training": {
            "n_updates": model.n_updates_,
            "stop_reason": model.stop_reason_,
            "passes": [list(report) for report in model._passes],
            "open_mistakes": model._open_mistakes,
            "accuracy": getattr(model, "training_accuracy_", None),
        },
    }


def _json(label: Any) -> Any:
    plain = label.item() if isinstance(label, np.generic) else label
    if not isinstance(plain, str | int | float | bool):
        raise ModelFileError(
            f"The label {label!r} is a {type(label).__name__}; a model file keeps text, numbers "
            "and booleans, so convert the labels first."
        )
    return plain


def _rebuild(tensors: dict[str, np.ndarray], about: dict[str, Any]) -> Any:
    parameters = dict(about["parameters"])
    if isinstance(parameters.get("class_weight"), list):
        parameters["class_weight"] = {label: weight for label, weight in parameters["class_weight"]}
    model = LEARNERS[about["learner"]](**parameters)
    classes = about["classes"]
    model.classes_ = np.array(classes["values"], dtype=np.dtype(classes["type"]))
    coef, intercept = tensors["coef"], tensors["intercept"]
    model._state = State(
        model.multiclass, model.classes_.size, coef.shape[1], bool(model.fit_intercept)
    )
    if coef.shape != model.coef_.shape or intercept.shape != model.intercept_.shape:
        raise ValueError(f"weights of shape {coef.shape} for {model.classes_.size} classes")
    model._state.set_weights(coef, intercept)
    training = about["training"]
    model._state.n_updates = training["n_updates"]
    reason = training["stop_reason"]
    model.stop_reason_ = None if reason is None else StopReason(reason)
    model._passes = [_report(fields) for fields in training["passes"]]
    model._open_mistakes = training["open_mistakes"]
    model.training_accuracy_ = training["accuracy"]
    model.n_features_in_ = coef.shape[1]
    if about["feature_names"] is not None:
        model.feature_names_in_ = np.array(about["feature_names"], dtype=object)
    if about["recipe"] is not None:
        model.recipe_ = about["recipe"]
    return model


def _report(fields: list[Any]) -> PassReport:
    *_, reason = report = PassReport(*fields)
    return report._replace(stop_reason=None if reason is None else StopReason(reason))


def _digest(tensors: dict[str, np.ndarray], about: dict[str, Any]) -> str:
    digest = hashlib.sha256(json.dumps(about, sort_keys=True, default=_json).encode())
    for name in sorted(tensors):
        digest.update(name.encode() + repr(tensors[name].shape).encode())
        digest.update(np.ascontiguousarray(tensors[name]).data)
    return digest.hexdigest()


def _write_whole(path: Path, content: bytes) -> None:
    """Write ``content`` to ``path`` in one step: others see the old file or the whole new one."""
    temporary = None
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
        temporary = None
    except OSError as problem:
        raise ModelFileError(
            f"The model cannot be written to {path}: {problem.strerror}; nothing was changed."
        ) from None
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
