"""Fits in a checkpoint: locked, read, and refused if version, parameters or data have changed."""

import re
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from hashlib import blake2b
from typing import Any

import joblib
import numpy as np
import scipy.sparse as sp

import linsep
from linsep.checkpoints.saving import CHECKPOINT, Checkpoint, complete
from linsep.errors import CheckpointError, LinsepError, warn_caller
from linsep.kernels.base import Kernel
from linsep.sources.remote.file import located, state_of

#: longest text of a value in a message
LONGEST = 90
#: where an object is in memory, in its text
PLACE = re.compile(r" at 0x[0-9a-fA-F]+")
#: parameters that do not change the result
FREE = ("n_jobs",)


def _text(value: Any) -> str:
    """Return a parameter as text, without places in memory; functions with a hash of their code."""
    codes = [_code(function.__code__) for function in _functions(value)]
    return " of code ".join([PLACE.sub("", repr(value)), *codes])


def _functions(value: Any) -> Iterator[Any]:
    """Yield the functions in a parameter: itself, or the functions of a kernel and its parts."""
    if hasattr(value, "__code__"):
        yield value
    elif isinstance(value, partial | Kernel):
        parts = vars(value).values() if isinstance(value, Kernel) else [value.func]
        for part in parts:
            yield from _functions(part)
    elif callable(value) and not isinstance(value, type):
        yield from _functions(type(value).__call__)


def _code(code: Any) -> str:
    """Return a hash of the code of a function, without what it refers to."""
    # Constants, too: functions of other numbers, such as a tolerance, have the same instructions.
    constants = [_code(c) if hasattr(c, "co_code") else repr(c) for c in code.co_consts]
    text = repr((code.co_code, constants, code.co_names, code.co_varnames))
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def _differences(then: dict[str, Any], now: dict[str, Any]) -> Iterator[str]:
    """Yield what differs between the description of a saved fit and of the one to resume."""
    for name in now | then:
        before, after = then.get(name, "missing"), now.get(name, "missing")
        if isinstance(before, dict) and isinstance(after, dict):
            yield from _differences(before, after)
        elif before != after:
            long = max(len(str(before)), len(str(after))) > LONGEST
            yield f"{name} was different" if long else f"{name} was {before} and is {after}"


class SavedFit:
    """A fit in a checkpoint, with seed, classes and reports of the trial of the run to resume.

    Within this context, no other process uses the file. It is removed at the end, except after an
    error or with ``keep``.
    """

    seed: int | None = None
    classes: tuple[Any, ...] = ()
    trial: Any = None

    def __init__(self, checkpoint: Checkpoint, estimator: Any) -> None:
        self.checkpoint, self.estimator, self.keep = checkpoint, estimator, checkpoint.keep
        self.found: tuple[dict[str, np.ndarray], dict[str, Any]] | None = None
        given = estimator.get_params(deep=False)
        self.agreed: dict[str, Any] = {
            "version": linsep.__version__,
            "learner": type(estimator).__name__,
            "parameters": {name: _text(given[name]) for name in given if name not in FREE},
        }
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
        if kind is None and not self.keep:
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
        """Take what is needed before the rows are known."""

    def agree(self, **more: Any) -> None:
        """Add values; raise CheckpointError if the run to resume had others."""
        self.agreed |= more
        if self.found is None:
            return
        with self.as_checkpoint_error():
            saved, path = self.found[1]["fit"], self.checkpoint.path
            then = {name: saved[name] for name in self.agreed if name in saved}
            for found in _differences(then, self.agreed):
                raise CheckpointError(
                    f"{path} is the checkpoint of another fit: {found}. Repeat that fit, choose "
                    "another name, or remove the file to start again.", path=path,
                )  # fmt: skip

    def as_checkpoint_error(self) -> AbstractContextManager[None]:
        """Return a context that turns errors from an invalid description into CheckpointError."""
        return complete(self.checkpoint.path, CHECKPOINT, LinsepError)

    def check_arrays(self, X: Any, *labels: np.ndarray) -> None:
        """Raise CheckpointError if the run to resume had other rows."""
        parts = [X.data, X.indices, X.indptr] if sp.issparse(X) else [X]
        given = [np.ascontiguousarray(part) for part in (*parts, *labels)]  # strides are hashed
        self.agree(rows={"shape": list(X.shape), "hash of the values": joblib.hash(given)})

    def check_source(self, source: Any) -> None:
        """Raise CheckpointError if the run to resume read other files, or in another way."""
        if not source.paths:
            raise CheckpointError(
                f"{source.name} cannot be read again in another process, so its fit cannot have a "
                "checkpoint: save the rows in a file first.", code="unsupported",
            )  # fmt: skip
        files = [state_of(located(path)) for path in source.paths]
        self.agree(data={
            "files": {name: f"of {n:,} bytes, version {when}" for name, n, when, *_ in files},
            "order": [name for name, *_ in files],
            "options": {name: repr(value) for name, value in source.options().items()},
        })  # fmt: skip
