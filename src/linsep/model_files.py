"""Models on disk: safetensors with JSON metadata. No code in a file is ever executed."""

import json
from datetime import UTC, datetime
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

import linsep
from linsep._system.files import check_free, written_whole
from linsep._system.sealed import FileKind, sealed, unsealed
from linsep.catalog import CLASSES, class_named, is_regression
from linsep.checkpoints.saving import complete, contents
from linsep.errors import ModelFileError
from linsep.estimators.fitted_state import plain
from linsep.parameters import check_parameters, fitted_parameter
from linsep.steps import learner_of

#: parameters that are gone, and the values that files of before may have
LEFT = {"covariance_type": ("diagonal",), "loss": ("hinge",), "threshold": (0.0,),
        "warm_start": (False, True), "verbose": range(10)}  # fmt: skip
MODEL_FILE = FileKind("model file", "`linsep fit` writes one", ModelFileError, "format", 2)


def save(model: BaseEstimator, path: str | Path, *, force: bool = False) -> Path:
    """Write a fitted estimator of this library to ``path``, atomically.

    Parameters
    ----------
    model : fitted estimator
    path : the file to write; an existing file is replaced only with ``force``

    Raises
    ------
    ModelFileError
        If the file exists or cannot be written, or labels have a type without a JSON equivalent.
    NotFittedError
        If the model is not fitted.
    """
    path = Path(path)
    check_free(path, force)
    content = to_bytes(model)
    with written_whole(path, force=force) as file:
        file.write(content)
    return path


def holds(path: str | Path, model: BaseEstimator) -> bool:
    """Return whether a file is a model file of this model, ignoring when it was saved."""
    try:
        saved, about = unsealed(Path(path), MODEL_FILE)
    except ModelFileError:
        return False
    tensors, ours = _content(model)
    ours = json.loads(json.dumps(ours, default=plain)) | {"saved": about.get("saved")}
    return ours == about and _bytes_of(tensors) == _bytes_of(saved)


def _bytes_of(tensors: dict[str, np.ndarray]) -> dict[str, Any]:
    return {name: (a.dtype, a.shape, a.tobytes()) for name, a in tensors.items()}


def to_bytes(model: BaseEstimator) -> bytes:
    """Return the content of the file that :func:`save` writes."""
    return sealed(*_content(model), plain)


def _content(model: Any) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    whole, model = model, learner_of(model)
    columns = getattr(model, "_columns", None) if whole is model else whole[0].to_json()
    kind = type(model).__name__
    if class_named(kind) is not type(model):
        raise ModelFileError(
            f"A {kind} cannot be saved in a model file, only {', '.join(CLASSES)}.",
            code="unsupported",
        )
    check_is_fitted(
        model, msg="This %(name)s is not fitted, so there is nothing to save: call fit first."
    )
    tensors, rest = model.get_state()
    return tensors, _describe(model) | rest | ({"columns": columns} if columns else {})


def load(path: str | Path) -> Any:
    """Load a model written by :func:`save` or ``linsep fit``; its predictions are bit-identical.

    A model of a table is a :class:`linsep.TablePipeline`, an estimator that was saved by itself is
    one again. ``open_source(file, recipe=model.recipe_)`` reads files like the training data.

    A checksum of the whole file detects damage. It is not a signature: a file from someone else may
    contain any weights, but never code.

    Raises
    ------
    ModelFileError
        If the file is missing, truncated, altered, not a linsep model, or in a newer format.
    """
    model = loaded(path)
    if (stored := getattr(model, "_columns", None)) is None:
        return model
    from linsep.pipelines import TableEncoder, TablePipeline

    with complete(Path(path), MODEL_FILE, ModelFileError):
        encoder = TableEncoder.from_json(stored, model.recipe_)
    return TablePipeline([("columns", encoder), ("learner", model)]).joined()


def loaded(path: str | Path) -> Any:
    """Return the learner of a model file."""
    path = Path(path)
    tensors, about = contents(path, MODEL_FILE)
    with complete(path, MODEL_FILE, ModelFileError):
        return _rebuild(tensors, about)


def _describe(model: Any) -> dict[str, Any]:
    """Return the part of the description that all models share."""
    parameters = model.get_params(deep=False)
    if is_regression(model):  # parameters are stored as they were in the fit
        fit = {name: fitted_parameter(model, name) for name in parameters}
        parameters |= {name: value for name, value in fit.items() if not callable(value)}
    if hasattr(model, "later_parameters"):
        parameters = model.later_parameters()
    if not isinstance(parameters.get("random_state"), Integral | None):
        parameters["random_state"] = None  # a generator has no number
    if callable(parameters.get("learning_rate")):
        raise ModelFileError(
            "A model file can hold only a numeric learning_rate, not a function: set it to a "
            "number first (predictions do not depend on it).",
            code="unsupported", option="learning_rate",
        )  # fmt: skip
    if isinstance(parameters.get("class_weight"), dict):
        parameters["class_weight"] = [[plain(k), v] for k, v in parameters["class_weight"].items()]
    if hasattr(parameters.get("kernel"), "to_dict"):
        parameters["kernel"] = parameters["kernel"].to_dict()
    names = getattr(model, "feature_names_in_", None)
    threshold = getattr(model, "threshold_", None)
    return {
        MODEL_FILE.key: MODEL_FILE.format,
        "version": linsep.__version__,
        "saved": datetime.now(UTC).isoformat(timespec="seconds"),
        "learner": type(model).__name__,
        "parameters": parameters,
        "features": getattr(model, "n_features_in_", None),
        "feature_names": None if names is None else [str(name) for name in names],
        "recipe": getattr(model, "recipe_", None),
        **({} if threshold is None else {"threshold": threshold._asdict()}),
    }


def _rebuild(tensors: dict[str, np.ndarray], about: dict[str, Any]) -> Any:
    """Return the model; an invalid description may raise any exception."""
    kind = class_named(about["learner"])
    if kind is None:
        raise KeyError(about["learner"])
    own = kind._get_param_names()
    given = {
        name: value for name, value in about["parameters"].items()
        if name in own or value not in LEFT.get(name, ())
    }  # fmt: skip
    if isinstance(given.get("kernel"), dict):
        from linsep.kernels.naming import kernel_from_dict

        given["kernel"] = kernel_from_dict(given["kernel"])
    weights = given.get("class_weight")
    if isinstance(weights, list):
        given["class_weight"] = {label: float(weight) for label, weight in weights}
    model = kind(**given)
    check_parameters(model)
    model.set_state(tensors, about)
    names, recipe = about["feature_names"], about["recipe"]
    if names is not None:
        model.feature_names_in_ = np.array([*names], dtype=object)
    if recipe is not None:
        if not isinstance(recipe["format"], str):
            raise ValueError("a recipe without a format")
        if "formula" in recipe:
            from linsep.sources.tables.formulas import Formula

            Formula.from_json(recipe["formula"])  # expressions that formulas may not hold
        model.recipe_ = recipe
        if "columns" in about:
            model._columns = about["columns"]  # of the encoder, see load
    if about.get("threshold") is not None:
        from linsep.estimators.thresholds import Threshold

        model.threshold_ = Threshold.from_json(model, about["threshold"])
    return model
