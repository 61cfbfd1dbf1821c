"""Models on disk: safetensors with JSON metadata. Nothing in the file is ever executed."""

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_bytes
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

import linsep
from linsep.engine.loop import PassReport
from linsep.engine.stop import StopReason
from linsep.errors import ModelFileError, way
from linsep.estimators.facts import check_parameters
from linsep.estimators.kernel import KernelPerceptron
from linsep.estimators.learners import LEARNERS as BY_COMMAND
from linsep.kernels.base import Kernel
from linsep.kernels.naming import kernel_from_dict
from linsep.model_state import arrays_of, restore, restore_supports

FORMAT = 1
LEARNERS = {learner.__name__: learner for learner in BY_COMMAND.values()}


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
    NotFittedError
        When the model has not learnt anything yet.
    """
    path = Path(path)
    check_free(path, force)
    if LEARNERS.get(type(model).__name__) is not type(model):
        raise ModelFileError(
            f"A {type(model).__name__} cannot be saved in a model file, only {', '.join(LEARNERS)}."
        )
    check_is_fitted(model, msg="This %(name)s has learnt nothing to save: call fit first.")
    model._check_same("save")
    tensors = arrays_of(model)
    about = _describe(model)
    about["sha256"] = _digest(tensors, about)
    content = to_bytes(tensors, {"linsep": json.dumps(about, default=_json)})
    with written_whole(path) as file:
        file.write(content)
    return path


def check_free(path: Path, force: bool) -> None:
    """Raise ModelFileError where :func:`written_whole` could not write; costs nothing beforehand.

    An existing file is only free with ``force``, and only if it is a regular one.
    """
    try:
        folder = Path(os.path.realpath(path)).parent
        if path.is_dir():
            raise ModelFileError(f"{path} is a directory; name a file.")
        if path.exists() and not path.is_file():
            raise ModelFileError(f"{path} is a device or a pipe; name a file.")
        if path.exists() and not force:
            raise ModelFileError(
                f"{path} exists", "choose another name", way("overwrite it with {}", force=True)
            )
        if not folder.exists():
            raise ModelFileError(f"The folder {path.parent} does not exist; make it first.")
        if not folder.is_dir():
            raise ModelFileError(f"{path.parent} is not a folder; choose another.")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise ModelFileError(f"The folder {folder} cannot be written to; choose another.")
    except OSError as problem:
        raise ModelFileError(f"{path} cannot be written: {problem.strerror}.") from None


@contextmanager
def written_whole(path: Path, mode: str = "wb") -> Iterator[Any]:
    """A file to write that takes its place at ``path`` in one step at the end, or not at all.

    Others see the old file or the whole new one. A symbolic link stays one: what it points at is
    replaced. Raises ModelFileError, which says so, when the disk is full or the like.
    """
    path = Path(os.path.realpath(path))
    temporary = None
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name[:50]}.", dir=path.parent)
        with os.fdopen(descriptor, mode, encoding=None if "b" in mode else "utf-8") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _permissions(path))
        os.replace(temporary, path)
        temporary = None
    except OSError as problem:
        raise ModelFileError(
            f"{path} cannot be written: {problem.strerror}; nothing was changed."
        ) from None
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


def _permissions(path: Path) -> int:
    """Those of the file that will be replaced, else those of any new file."""
    if path.exists():
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


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
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as problem:
        raise ModelFileError(
            f"{path} does not describe a whole model ({problem}); fit again."
        ) from None


def _read(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    try:
        if path.is_dir():
            raise ModelFileError(f"{path} is a directory, not a model file.")
        if path.exists() and not path.is_file():
            raise ModelFileError(f"{path} is a device or a pipe, not a model file.")
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            if "linsep" not in metadata:
                raise ModelFileError(f"{path} is a safetensors file, but not of linsep.")
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except FileNotFoundError:
        raise ModelFileError(f"There is no model file {path}.") from None
    except OSError as problem:
        raise ModelFileError(f"{path} cannot be read: {problem.strerror or problem}.") from None
    except (SafetensorError, TypeError, AttributeError):  # the latter: types that numpy lacks
        raise ModelFileError(
            f"{path} is not a model file, or it is cut short; `linsep fit` writes one."
        ) from None
    try:
        about = json.loads(metadata["linsep"])
    except (ValueError, RecursionError):
        about = None
    if not isinstance(about, dict):
        raise ModelFileError(f"{path} was altered or damaged (its description); fit again.")
    return tensors, about


def _describe(model: Any) -> dict[str, Any]:
    parameters = model.get_params(deep=False)
    if not isinstance(parameters["random_state"], Integral | None):
        parameters["random_state"] = None  # a generator has no number
    if callable(parameters.get("learning_rate")):
        raise ModelFileError(
            "A learning_rate that is a function cannot be saved in a model file, only numbers: set "
            "it to a number first (predictions do not depend on it)."
        )
    if isinstance(parameters["class_weight"], dict):
        parameters["class_weight"] = [[_json(k), v] for k, v in parameters["class_weight"].items()]
    names, kernel = getattr(model, "feature_names_in_", None), getattr(model, "kernel_", None)
    if isinstance(parameters.get("kernel"), Kernel):
        parameters["kernel"] = parameters["kernel"].to_dict()
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
        "kernel": None if kernel is None else kernel.to_dict(),
        "features": getattr(model, "n_features_in_", None),
        "feature_names": None if names is None else [str(name) for name in names],
        "recipe": getattr(model, "recipe_", None),
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


def _began(model: Any) -> dict[str, bool] | None:
    """What theorems need to know of the start; None of a model that does not say."""
    if not hasattr(model, "_fresh"):
        return None
    return {"fresh": model._fresh, "weighted": model._weighted}


def _json(label: Any) -> Any:
    plain = label.item() if isinstance(label, np.generic) else label
    if not isinstance(plain, str | int | float | bool):
        raise ModelFileError(
            f"The label {label!r} is a {type(label).__name__}; a model file keeps text, numbers "
            "and booleans, so convert the labels first."
        )
    return plain


def _rebuild(tensors: dict[str, np.ndarray], about: dict[str, Any]) -> Any:
    """The model that was described; raises whatever comes where the description makes no sense."""
    model = LEARNERS[about["learner"]](**_parameters(about["parameters"]))
    check_parameters(model, model._parameters)
    model.classes_ = _classes(**about["classes"])
    restore(model, tensors, about["training"].pop("rounds"))
    width = model._state.n_features if about.get("kernel") is None else about["features"]
    if width is not None:
        model.n_features_in_ = width
    if isinstance(model, KernelPerceptron):
        restore_supports(model, tensors, about["kernel"], width)
    _remember_training(model, **about["training"])
    names, recipe = about["feature_names"], about["recipe"]
    if names is not None:
        if len(names) != width or not all(isinstance(name, str) for name in names):
            raise ValueError(f"{len(names)} names for {width} features")
        model.feature_names_in_ = np.array(names, dtype=object)
    if recipe is not None:
        if not isinstance(recipe["format"], str):
            raise ValueError("a recipe of no format")
        model.recipe_ = recipe
    return model


def _parameters(stored: dict[str, Any]) -> dict[str, Any]:
    weights, seed = stored["class_weight"], stored["random_state"]
    if isinstance(stored.get("kernel"), dict):
        stored = stored | {"kernel": kernel_from_dict(stored["kernel"])}
    if isinstance(weights, list):
        weights = {label: float(weight) for label, weight in weights}
    if weights not in (None, "balanced") and not isinstance(weights, dict):
        raise ValueError(f"class_weight {weights!r}")
    if not isinstance(seed, int | None):
        raise ValueError(f"random_state {seed!r}")
    return stored | {"class_weight": weights}


def _classes(type: str, values: list[Any]) -> np.ndarray:
    """Sorted labels; text is as wide as its longest label, whatever the file says."""
    kind = np.dtype(type)
    classes = np.array(values, dtype=str if kind.kind == "U" else kind)
    ordered = classes.ndim == 1 and classes.size > 1 and (classes[1:] > classes[:-1]).all()
    if kind.kind not in "biufUO" or not ordered or classes.tolist() != values:
        raise ValueError(f"classes {values!r}")
    return classes


def _remember_training(
    model: Any,
    n_updates: int,
    stop_reason: str | None,
    passes: list[list[Any]],
    open_mistakes: int | None,
    accuracy: float | None,
    began: dict[str, bool] | None = None,
    cycle: str | None = None,
    rows_seen: int | None = None,
) -> None:
    reports = [PassReport(*fields) for fields in passes]
    counts = [n_updates, open_mistakes or 0, *(n for report in reports for n in report[:5])]
    shares = [accuracy, *(share for report in reports for share in report[5:8])]
    if not all(isinstance(n, int) and n >= 0 for n in counts):
        raise ValueError("a count that is none")
    if not all(isinstance(share, float | int | None) for share in shares):
        raise ValueError("an accuracy that is none")
    model._state.n_updates, model._open_mistakes = n_updates, open_mistakes
    model._passes = [report._replace(stop_reason=_reason(report.stop_reason)) for report in reports]
    model.stop_reason_, model.training_accuracy_ = _reason(stop_reason), accuracy
    if began is not None:
        model._fresh, model._weighted = began["fresh"] is True, began["weighted"] is not False
    model._cycle = None if cycle is None else linsep.from_json(cycle)
    if isinstance(model, KernelPerceptron):  # a file of before goes on after its last support
        model._rows_seen = max(model._rows_seen, int(rows_seen or 0))


def _reason(stored: str | None) -> StopReason | None:
    return None if stored is None else StopReason(stored)


def _digest(tensors: dict[str, np.ndarray], about: dict[str, Any]) -> str:
    digest = hashlib.sha256(json.dumps(about, sort_keys=True, default=_json).encode())
    for name in sorted(tensors):
        digest.update(name.encode() + repr(tensors[name].shape).encode())
        digest.update(np.ascontiguousarray(tensors[name]).data)
    return digest.hexdigest()
