"""The checkpoint that a user passes to a fit, and its file."""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from linsep._system.files import check_free, remove_abandoned, written_whole
from linsep._system.sealed import FileKind, sealed, unsealed
from linsep.errors import CheckpointError, ModelFileError, ParameterError

CHECKPOINT = FileKind(
    "checkpoint", "name another file, or remove it to start again", CheckpointError, "checkpoint", 1
)
EVERY = re.compile(r"(\d+(?:\.\d+)?) ?(s|m|h)")
SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}


class Checkpoint:
    """A file in which a fit saves its state, so that it can resume if the process ends.

    Pass it to ``fit`` as ``checkpoint``. If the file exists, the fit resumes from it, and its
    result is bit-identical to an uninterrupted fit. It is written regularly, on Ctrl-C, and by the
    command line on SIGTERM; atomically, with a checksum and without code. It is removed when the
    fit has ended.

    Parameters
    ----------
    path : str or Path
    every : str or float, default="60s"
        Seconds between two writes, or text: "90s", "10m" or "2h". It is written between batches of
        rows; rows in memory are one batch, so once per pass.
    keep : bool, default=False
        Keep the file when the fit has ended, so that repeating the fit does not train again, until
        :meth:`remove` is called.

    Raises
    ------
    ValueError
        If ``every`` is not a positive duration.

    Examples
    --------
    >>> import linsep
    >>> checkpoint = linsep.Checkpoint("fit.checkpoint", every="10m")
    >>> model = linsep.Perceptron().fit([[1.0], [-1.0]], [1, 0], checkpoint=checkpoint)
    """

    def __init__(self, path: str | Path, every: str | float = "60s", *, keep: bool = False):
        self.path, self.every, self.keep = Path(path), every, keep
        #: called with the place where a fit resumes
        self.on_resume: Callable[[str], None] = lambda place: None
        #: how the fit was started on the command line, stored with it
        self.command: dict[str, Any] | None = None
        self.seconds = _seconds(every)

    def __repr__(self) -> str:
        return f"Checkpoint({str(self.path)!r}, every={self.every!r})"

    def read(self) -> tuple[dict[str, np.ndarray], dict[str, Any]] | None:
        """Return the arrays and the description; None if there is no file.

        Raises CheckpointError for a damaged or other file, and one of another version of linsep.
        """
        return contents(self.path, CHECKPOINT) if self.path.exists() else None

    def write(self, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> None:
        """Replace the file atomically; raise ModelFileError if it cannot be written."""
        about = {CHECKPOINT.key: CHECKPOINT.format, "command": self.command} | about
        content = sealed({k: np.ascontiguousarray(a) for k, a in arrays.items()}, about)
        with written_whole(self.path, force=True) as file:
            file.write(content)

    def remove(self) -> None:
        """Remove the file."""
        Path(os.path.realpath(self.path)).unlink(missing_ok=True)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Context in which no other process uses the file; raises CheckpointError if one does."""
        from filelock import FileLock, Timeout  # slow to import, and few fits have a checkpoint

        path = Path(os.path.realpath(self.path))
        file = path.with_name(f".{path.name}.lock")
        lock = FileLock(file, timeout=0)
        try:
            check_free(path, force=True)
            lock.acquire()
        except ModelFileError as problem:
            raise CheckpointError(str(problem), code=problem.code, **problem.fields) from None
        except Timeout:
            raise CheckpointError(
                f"{path} is in use by another running fit; wait for it, or choose another name.",
                code="in-use", path=path,
            ) from None  # fmt: skip
        try:
            remove_abandoned(path.parent)  # what killed processes left
            yield
        finally:
            with suppress(OSError):  # Windows removes no open file
                file.unlink(missing_ok=True)
            lock.release()


def _seconds(every: str | float) -> float:
    found = EVERY.fullmatch(every) if isinstance(every, str) else None
    seconds = float(found[1]) * SECONDS[found[2]] if found else every
    if isinstance(seconds, str) or not 0 < seconds < np.inf:
        raise ParameterError(
            f"every={every!r} is not an interval between checkpoints: give one such as 60s, 10m "
            "or 2h.", code="bad-option", option="every", value=every,
        )  # fmt: skip
    return float(seconds)


def as_checkpoint(given: Any) -> Checkpoint:
    """Return a checkpoint from the argument of ``fit``: a path, or a checkpoint."""
    return given if isinstance(given, Checkpoint) else Checkpoint(given)


def contents(path: Path, kind: FileKind) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return arrays and description of a file, or raise ``kind.error``."""
    arrays, about = unsealed(path, kind)
    if kind.key not in about:
        raise kind.error(
            f"{path} is not a {kind.name}: {kind.remedy}.", code="wrong-format", path=path
        )
    if about[kind.key] != kind.format:
        version = about.get("version", "another version")
        raise kind.error(
            f"{path} is a {kind.name} of format {about[kind.key]!r}, but this linsep reads "
            f"{kind.format}: use the linsep that wrote it ({version}).",
            code="other-version", path=path,
        )  # fmt: skip
    return arrays, about


@contextmanager
def complete(path: Path, kind: FileKind, passed: type[Exception]) -> Iterator[None]:
    """Turn errors from an invalid description of a file into those of its kind, but ``passed``."""
    try:
        yield
    except passed:
        raise
    except (
        LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError,
        MemoryError,
    ) as problem:  # fmt: skip
        raise kind.error(
            f"{path} does not describe a complete {kind.name} ({problem}); {kind.remedy}.",
            path=path,
        ) from None
