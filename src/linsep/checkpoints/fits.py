"""Fits in a checkpoint: locked, read, and refused if version, parameters or data have changed."""

import re
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack
from datetime import UTC, datetime
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import scipy.sparse as sp

import linsep
from linsep.checkpoints.saving import CHECKPOINT, Checkpoint, Saving, complete
from linsep.errors import CheckpointError, LinsepError, warn_caller
from linsep.kernels.base import Kernel
from linsep.sources.fingerprints import hashes, state_of
from linsep.sources.remote.file import located

#: longest text of a value in a message
LONGEST = 90
#: where an object is in memory, in its text
PLACE = re.compile(r" at 0x[0-9a-fA-F]+")
#: parameters that do not change the result
FREE = ("verbose", "n_jobs")
#: messages for differences without values to show
OTHERS = {
    "hash": "the values of the rows, their labels or weights have changed",
    "start": "the initial weights have changed",
    "order": "its files had a different order",
}
OF_FILES = {
    "content": "{} had different content, with the same size and time",
    "marks": "{} was copied, moved or written since, which its size and time do not show",
}


def of_estimator(estimator: Any) -> dict[str, Any]:
    """Return the version, the kind of estimator, and its parameters as text."""
    given = estimator.get_params(deep=False)
    parameters = {name: _text(value) for name, value in given.items() if name not in FREE}
    return {
        "version": linsep.__version__,
        "learner": type(estimator).__name__,
        "parameters": parameters,
    }


def _text(value: Any) -> str:
    """Return a parameter as text, without places in memory; functions with a hash of their code."""
    text = PLACE.sub("", repr(value))
    codes = [_code(function.__code__) for function in _functions(value)]
    return f"{text} of code {' '.join(codes)}" if codes else text


def _functions(value: Any) -> Iterator[Any]:
    """Yield the functions in a parameter: itself, or the functions of a kernel and its parts."""
    if hasattr(value, "__code__"):
        yield value
    elif isinstance(value, partial):
        yield from _functions(value.func)
    elif isinstance(value, Kernel):
        for part in vars(value).values():
            yield from _functions(part)
    elif callable(value) and not isinstance(value, type):
        yield from _functions(type(value).__call__)


def _code(code: Any) -> str:
    """Return a hash of the code of a function, without what it refers to."""
    # Constants, too: functions of other numbers, such as a tolerance, have the same instructions.
    constants = [_code(c) if hasattr(c, "co_code") else repr(c) for c in code.co_consts]
    text = repr((code.co_code, constants, code.co_names, code.co_varnames))
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def of_arrays(X: Any, *labels: np.ndarray) -> dict[str, Any]:
    """Return the shape and a hash of rows in memory, with their labels and weights."""
    parts = [X.data, X.indices, X.indptr] if sp.issparse(X) else [X]
    given = [np.ascontiguousarray(part) for part in (*parts, *labels)]  # strides are hashed, too
    return {"shape": list(X.shape), "hash": joblib.hash(given)}


def of_source(source: Any, then: dict[str, Any] | None, whole: bool) -> dict[str, Any]:
    """Return the fingerprints of the files of a source, and how they are read.

    Parameters
    ----------
    then : what this function returned to the fit to resume, or None
    whole : whether to hash all bytes for a new fit, so that it can resume with copies of its files
    """
    if not source.paths:
        raise CheckpointError(
            f"{source.name} cannot be read again in another process, so its fit cannot have a "
            "checkpoint: save the rows in a file first.", code="unsupported",
        )  # fmt: skip
    files = [state_of(located(path)) for path in source.paths]
    found: dict[str, Any] = {
        "files": {f.name: f"of {f.size:,} bytes, {_written(f.version)}" for f in files},
        "order": [f.name for f in files],
        "content": {f.name: f.sample for f in files},
        "marks": {f.name: list(f.marks) for f in files},
        "options": {name: repr(value) for name, value in source.options().items()},
    }
    if then is None:
        taken = hashes(files) if whole else [None] * len(files)
        return found | {"hashes": dict(zip(found["order"], taken, strict=True))}
    for file in files:
        marks, hashed = then["marks"].get(file.name), then["hashes"].get(file.name)
        alike = found["content"][file.name] == then["content"].get(file.name)
        if alike and list(file.marks) != marks and hashed is not None:
            (now,) = hashes([file])
            found["content" if now != hashed else "marks"][file.name] = marks
    return found | {"hashes": then["hashes"]}


def _written(state: Any) -> str:
    """Return when a file was written, in words; of remote files, their version."""
    if isinstance(state, int):
        return f"written at {datetime.fromtimestamp(state / 1e9, UTC):%Y-%m-%d %H:%M:%S.%f} UTC"
    return f"version {state}"


def refuse_other(path: Path, then: dict[str, Any], now: dict[str, Any]) -> None:
    """Raise CheckpointError with the first difference between what was saved and what is given."""
    found = _difference(then, now)
    if found is not None:
        raise CheckpointError(
            f"{path} is the checkpoint of another fit: {found}. Repeat that fit, choose another "
            "name, or remove the file to start again.", path=path,
        )  # fmt: skip


def _difference(then: dict[str, Any], now: dict[str, Any]) -> str | None:
    for name in [*now, *(name for name in then if name not in now)]:
        before, after = then.get(name), now.get(name)
        if before == after:
            continue
        if name in OF_FILES and before is not None and after is not None:
            file = next(file for file in after if after[file] != before.get(file))
            return OF_FILES[name].format(file)
        if isinstance(before, dict) and isinstance(after, dict):
            return _difference(before, after)
        if name in OTHERS:
            return OTHERS[name]
        if max(len(str(before)), len(str(after))) > LONGEST:
            return f"{name} was different"
        was, now_is = ("missing" if value is None else value for value in (before, after))
        return f"{name} was {was} and is {now_is}"
    return None


class SavedFit(Saving):
    """A fit in a checkpoint.

    Within this context, no other process uses the file. It is removed at the end, except after an
    error or with ``keep``.

    Parameters
    ----------
    checkpoint : Checkpoint
    estimator : the one to be fitted
    """

    def __init__(self, checkpoint: Checkpoint, estimator: Any) -> None:
        self.checkpoint, self.estimator = checkpoint, estimator
        self.found: tuple[dict[str, np.ndarray], dict[str, Any]] | None = None
        self.agreed = of_estimator(estimator)
        self._written, self._failed = time.monotonic(), False

    def __enter__(self) -> "SavedFit":
        with ExitStack() as lock:
            lock.enter_context(self.checkpoint.locked())
            self.found = self.checkpoint.read()
            self.agree()
            if self.found is not None:
                with self.as_checkpoint_error():
                    self.begin(*self.found)
            self._lock = lock.pop_all()
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is None and not self.checkpoint.keep:
            self.checkpoint.remove()
        self._lock.close()

    @property
    def due(self) -> bool:
        """Whether it is time to write."""
        return time.monotonic() - self._written >= self.checkpoint.seconds

    def write(self, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> None:
        """Write now; warn once if that fails, because training can continue."""
        try:
            self.checkpoint.write(arrays, about)
            self._failed = False
        except LinsepError as problem:
            if not self._failed:
                warn_caller(f"The checkpoint was not written; the fit continues: {problem}")
            self._failed = True
        self._written = time.monotonic()

    def begin(self, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> None:
        """Collect what is needed before the rows are known."""

    def agree(self, **more: Any) -> None:
        """Add values that must not have changed; raise CheckpointError if they have."""
        self.agreed |= more
        if self.found is not None:
            with self.as_checkpoint_error():
                saved = self.found[1]["fit"]
                then = {name: saved.get(name) for name in self.agreed}
                refuse_other(self.checkpoint.path, then, self.agreed)

    def as_checkpoint_error(self) -> AbstractContextManager[None]:
        """Return a context that turns errors from an invalid description into CheckpointError."""
        return complete(self.checkpoint.path, CHECKPOINT, LinsepError)

    def check_arrays(self, X: Any, *labels: np.ndarray) -> None:
        """Raise CheckpointError if the run to resume had other rows."""
        self.agree(rows=of_arrays(X, *labels))

    def check_source(self, source: Any, whole: bool = True) -> None:
        """Raise CheckpointError if the run to resume read other files, or in another way."""
        with self.as_checkpoint_error():
            then = None if self.found is None else self.found[1]["fit"].get("data")
            data = of_source(source, then, whole)
        self.agree(data=data)
