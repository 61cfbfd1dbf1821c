"""Models on disk: safetensors with JSON metadata. Nothing in the file is ever executed.

A SHA-256 checksum of the whole file detects damage. It is not a signature: anyone can write a file
with a valid checksum. So what a file declares is checked before it is used, and nothing may be
larger than the file itself. Files are written in format 2; those of format 1 can be read
(:mod:`linsep.model_files.format_1`).
"""

import hashlib
import json
import os
import re
import secrets
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
from linsep.errors import ModelFileError, hint
from linsep.estimators._common.checking import check_parameters
from linsep.estimators.learners import LEARNERS, REGRESSIONS
from linsep.interrupts import held
from linsep.kernels.base import Kernel
from linsep.kernels.naming import kernel_from_dict
from linsep.model_files import format_1, linear, logistic, naive_bayes, online
from linsep.model_files.labels import plain
from linsep.scratch import process_mark, sweep, sync_folder

FORMAT = 2
#: key of the checksum in the header, and its placeholder while it is computed
SEAL = re.compile(rb'"sha256":"([0-9a-f]{64})"')
BLANK = b"0" * 64
#: largest header in bytes, as in safetensors
MOST_HEADER = 100_000_000
KINDS: dict[str, Any] = {kind.__name__: kind for kind in (LEARNERS | REGRESSIONS).values()}
#: module for each kind of model, if not ``online``
OTHERS = {
    "LinearRegression": linear,
    "LogisticRegression": logistic,
    "GaussianNaiveBayes": naive_bayes,
}


def save(model: BaseEstimator, path: str | Path, *, force: bool = False) -> Path:
    """Write a fitted estimator of this library to ``path``.

    The write is atomic: a temporary file in the same folder is written, synced, then renamed.

    Parameters
    ----------
    model : fitted estimator
    path : the file; an existing one is only replaced with ``force``

    Raises
    ------
    ModelFileError
        If the file exists or cannot be written, or labels have a type that JSON lacks.
    NotFittedError
        If the model is not fitted.
    """
    path = Path(path)
    check_free(path, force)
    kind = type(model).__name__
    if KINDS.get(kind) is not type(model):
        raise ModelFileError(f"A {kind} cannot be saved in a model file, only {', '.join(KINDS)}.")
    check_is_fitted(model, msg="This %(name)s has learnt nothing to save: call fit first.")
    tensors, rest = OTHERS.get(kind, online).contents(model)
    content = sealed(tensors, _describe(model) | rest)
    with written_whole(path, force=force) as file:
        file.write(content)
    return path


def sealed(tensors: dict[str, np.ndarray], about: dict[str, Any]) -> bytes:
    """Return the bytes of a model file: arrays, description and checksum."""
    metadata = {"linsep": json.dumps(about, default=plain), "sha256": BLANK.decode()}
    content = to_bytes(tensors, metadata)
    # The description is JSON within JSON, with escaped quotes.
    (seal,) = SEAL.finditer(content, 0, _header_end(content[:8]))
    digest = hashlib.sha256(content).hexdigest().encode()
    return content[: seal.start(1)] + digest + content[seal.end(1) :]


def _header_end(begin: bytes) -> int:
    """Return the end of a safetensors header, from the first eight bytes."""
    return 8 + int.from_bytes(begin, "little")


def check_free(path: Path, force: bool) -> None:
    """Raise ModelFileError if :func:`written_whole` could not write, to fail before the work.

    An existing file may be replaced only with ``force``, and only if it is a regular file.
    """
    try:
        folder = Path(os.path.realpath(path)).parent
        if path.is_dir():
            raise ModelFileError(f"{path} is a directory; name a file.")
        if path.exists() and not path.is_file():
            raise ModelFileError(f"{path} is a device or a pipe; name a file.")
        if path.exists() and not force:
            raise _exists(path)
        if not folder.exists():
            raise ModelFileError(f"The folder {path.parent} does not exist; make it first.")
        if not folder.is_dir():
            raise ModelFileError(f"{path.parent} is not a folder; choose another.")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise ModelFileError(f"The folder {folder} cannot be written to; choose another.")
    except OSError as problem:
        raise ModelFileError(f"{path} cannot be written: {problem.strerror}.") from None


@contextmanager
def written_whole(path: Path, mode: str = "wb", *, force: bool) -> Iterator[Any]:
    """Open a file to write that replaces ``path`` atomically at the end, or not at all.

    Others see the old or the new file; without ``force`` a file created at ``path`` meanwhile
    stays. Of a symbolic link the target is replaced. Raises ModelFileError if writing fails, such
    as when the disk is full.
    """
    path = Path(os.path.realpath(path))
    temporary = None
    try:
        with held():
            sweep(path.parent)
            descriptor, temporary = _beside(path)
        with os.fdopen(descriptor, mode, encoding=None if "b" in mode else "utf-8") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        with held():
            _put_in_place(temporary, path, force)
            temporary = None
            sync_folder(path.parent)
    except FileExistsError:
        raise _exists(path) from None
    except OSError as problem:
        raise ModelFileError(
            f"{path} cannot be written: {problem.strerror}; nothing was changed."
        ) from None
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


def _exists(path: Path) -> ModelFileError:
    return ModelFileError(
        f"{path} exists", "choose another name", hint("overwrite it with {}", force=True)
    )


def _beside(path: Path) -> tuple[int, Path]:
    """Create a temporary file in the same folder; return its descriptor and path.

    It gets the permissions of the file it will replace, else the default ones, which the system
    determines: reading this process's umask would change it for a moment.
    """
    temporary = path.parent / f".{path.name[:40]}.{process_mark()}{secrets.token_hex(4)}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    descriptor = os.open(temporary, flags, 0o666)
    if path.exists():
        os.chmod(temporary, path.stat().st_mode & 0o777)
    return descriptor, temporary


def _put_in_place(temporary: Path, path: Path, force: bool) -> None:
    """Rename the finished file; raise FileExistsError if ``path`` exists, unless ``force``."""
    if not force:
        try:
            os.link(temporary, path)
        except FileExistsError:
            raise
        except OSError:  # no hard links on this file system: create the name, then replace it
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
            try:
                os.replace(temporary, path)
            except OSError:
                path.unlink()
                raise
        else:
            temporary.unlink()
        return
    os.replace(temporary, path)


def load(path: str | Path) -> Any:
    """Load a model written by :func:`save`; its predictions are the same to the bit.

    A checksum of the whole file detects damage. It is not a signature: a file from someone else may
    hold any weights, but no code.

    Raises
    ------
    ModelFileError
        If the file is missing, truncated, altered, not a linsep model, or of a later format.
    """
    path = Path(path)
    tensors, about = _read(path)
    if about.get("format") != FORMAT:
        raise ModelFileError(
            f"{path} has model format {about.get('format')!r}, this linsep reads 1 and {FORMAT}; "
            f"use the linsep that wrote it ({about.get('version', 'unknown version')})."
        )
    with _whole(path):
        return _rebuild(tensors, about)


@contextmanager
def _whole(path: Path) -> Iterator[None]:
    """Context manager that turns any error from an invalid description into ModelFileError."""
    try:
        yield
    except ModelFileError:
        raise
    except (
        LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError,
        MemoryError,
    ) as problem:  # fmt: skip
        raise ModelFileError(
            f"{path} does not describe a whole model ({problem}); fit again."
        ) from None


def _read(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return arrays and description of a file after checking its checksum and sizes."""
    try:
        if path.is_dir():
            raise ModelFileError(f"{path} is a directory, not a model file.")
        if path.exists() and not path.is_file():
            raise ModelFileError(f"{path} is a device or a pipe, not a model file.")
        header = _checked_header(path)
        with safe_open(path, framework="numpy") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except FileNotFoundError:
        raise ModelFileError(f"There is no model file {path}.") from None
    except OSError as problem:
        raise ModelFileError(f"{path} cannot be read: {problem.strerror or problem}.") from None
    except (SafetensorError, TypeError, AttributeError):  # AttributeError: types that numpy lacks
        raise _foreign(path) from None
    try:
        about = json.loads(header["__metadata__"]["linsep"])
    except (ValueError, RecursionError):
        about = None
    if not isinstance(about, dict):
        raise ModelFileError(f"{path} was altered or damaged (its description); fit again.")
    if "sha256" in header["__metadata__"]:
        return tensors, about
    if about.get("format") != format_1.FORMAT:
        raise ModelFileError(f"{path} has no checksum; fit again with this linsep.")
    with _whole(path):
        return format_1.upgraded(path, tensors, about)


def _checked_header(path: Path) -> dict[str, Any]:
    """Return the header of a file after checking declared sizes and the checksum, if there (files
    of format 1 have it elsewhere).
    """
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        begin = file.read(8)
        end = _header_end(begin)
        if len(begin) < 8 or not 8 < end <= min(size, MOST_HEADER):
            raise _foreign(path)
        text = file.read(end - 8)
        header = _plain_header(path, text)
        if "sha256" in header["__metadata__"]:
            _check_seal(path, header["__metadata__"]["sha256"], begin + text, file)
    for name, tensor in header.items():
        shape = tensor["shape"] if name != "__metadata__" else []
        if max(shape, default=0) > size:  # an empty array could declare any width
            raise ModelFileError(f"{path} declares {name} of shape {shape}, larger than the file.")
    return header


def _check_seal(path: Path, given: str, header: bytes, rest: Any) -> None:
    """Raise ModelFileError unless ``given`` is the checksum of the header and the rest."""
    seals = list(SEAL.finditer(header))
    if len(seals) != 1 or given != seals[0][1].decode():
        raise ModelFileError(f"{path} has no checksum; fit again with this linsep.")
    at = seals[0].span(1)
    digest = hashlib.sha256(header[: at[0]] + BLANK + header[at[1] :])
    while part := rest.read(1 << 20):
        digest.update(part)
    if digest.hexdigest() != given:
        raise ModelFileError(f"{path} was altered or damaged (its checksum is wrong); fit again.")


def _plain_header(path: Path, text: bytes) -> dict[str, Any]:
    """Parse the header and check that it has the metadata of a model."""
    try:
        header = json.loads(text)
        metadata = header.get("__metadata__", {})
        if "linsep" not in metadata:
            raise ModelFileError(f"{path} is a safetensors file, but not of linsep.")
        shapes = [tensor["shape"] for name, tensor in header.items() if name != "__metadata__"]
        if all(type(n) is int for shape in shapes for n in shape):
            return header
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as problem:
        if isinstance(problem, ModelFileError):
            raise
    raise _foreign(path)


def _foreign(path: Path) -> ModelFileError:
    return ModelFileError(
        f"{path} is not a model file, or it is cut short; `linsep fit` writes one."
    )


def _describe(model: Any) -> dict[str, Any]:
    """Return the description common to all kinds of models."""
    parameters = model.get_params(deep=False)
    if not isinstance(parameters.get("random_state"), Integral | None):
        parameters["random_state"] = None  # a generator has no number
    if callable(parameters.get("learning_rate")):
        raise ModelFileError(
            "A learning_rate that is a function cannot be saved in a model file, only numbers: set "
            "it to a number first (predictions do not depend on it)."
        )
    if isinstance(parameters.get("class_weight"), dict):
        parameters["class_weight"] = [[plain(k), v] for k, v in parameters["class_weight"].items()]
    if isinstance(parameters.get("kernel"), Kernel):
        parameters["kernel"] = parameters["kernel"].to_dict()
    names = getattr(model, "feature_names_in_", None)
    return {
        "format": FORMAT,
        "version": linsep.__version__,
        "saved": datetime.now(UTC).isoformat(timespec="seconds"),
        "learner": type(model).__name__,
        "parameters": parameters,
        "features": getattr(model, "n_features_in_", None),
        "feature_names": None if names is None else [str(name) for name in names],
        "recipe": getattr(model, "recipe_", None),
    }


def _rebuild(tensors: dict[str, np.ndarray], about: dict[str, Any]) -> Any:
    """Return the model; an invalid description may raise any exception."""
    stored, tensors = format_1.by_present_names(about["parameters"], tensors)
    if about["learner"] == "LogisticRegression":
        stored = logistic.parameters(stored, about)
    model = KINDS[about["learner"]](**_parameters(stored))
    check_parameters(model, model._parameters)
    width = OTHERS.get(about["learner"], online).rebuild(model, tensors, about)
    if width is not None:
        model.n_features_in_ = width
    names, recipe = about["feature_names"], about["recipe"]
    if names is not None:
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise ValueError("feature names that are not a list of text")
        if len(names) != width:
            raise ValueError(f"{len(names)} names for {width} features")
        model.feature_names_in_ = np.array(names, dtype=object)
    if recipe is not None:
        if not isinstance(recipe["format"], str):
            raise ValueError("a recipe without a format")
        model.recipe_ = recipe
    return model


def _parameters(stored: dict[str, Any]) -> dict[str, Any]:
    weights, seed = stored.get("class_weight"), stored.get("random_state")
    if isinstance(stored.get("kernel"), dict):
        stored = stored | {"kernel": kernel_from_dict(stored["kernel"])}
    if isinstance(weights, list):
        weights = {label: float(weight) for label, weight in weights}
    if weights not in (None, "balanced") and not isinstance(weights, dict):
        raise ValueError(f"class_weight {weights!r}")
    if not isinstance(seed, int | None):
        raise ValueError(f"random_state {seed!r}")
    return stored | ({"class_weight": weights} if "class_weight" in stored else {})
