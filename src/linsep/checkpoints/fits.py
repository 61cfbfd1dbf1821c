"""What all fits with a checkpoint do: lock it, read it, and refuse those of other fits."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from linsep.checkpoints import agreement
from linsep.checkpoints.file import CHECKPOINT, Checkpoint, Writing
from linsep.checkpoints.saving import Saving
from linsep.errors import CheckpointError, LinsepError


class SavedFit(Saving):
    """A fit in a checkpoint.

    Within this context, no other process uses the file. It is removed at the end, unless there was
    an error or it is to be kept.

    Parameters
    ----------
    checkpoint : Checkpoint
    estimator : the one to be fitted
    """

    def __init__(self, checkpoint: Checkpoint, estimator: Any) -> None:
        self.checkpoint, self.estimator = checkpoint, estimator
        self.found: tuple[dict[str, np.ndarray], dict[str, Any]] | None = None
        self.agreed = agreement.of_estimator(estimator)
        self.writing = Writing(checkpoint)
        self._lock = checkpoint.locked()

    def __enter__(self) -> "SavedFit":
        self._lock.__enter__()
        try:
            self.found = self.checkpoint.read()
            self.agree()
            if self.found is not None:
                with self.sound():
                    self.begin(*self.found)
        except BaseException:
            self._lock.__exit__()
            raise
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is None and not self.checkpoint.keep:
            self.checkpoint.remove()
        self._lock.__exit__()

    def begin(self, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> None:
        """Take what is needed before the rows are known."""

    def agree(self, **more: Any) -> None:
        """Add to what must be as it was; raise CheckpointError if it is not."""
        self.agreed |= more
        if self.found is not None:
            with self.sound():
                saved = self.found[1]["fit"]
                then = {name: saved.get(name) for name in self.agreed}
                agreement.refuse_other(self.checkpoint.path, then, self.agreed)

    @contextmanager
    def sound(self) -> Iterator[None]:
        """Turn errors from an invalid description into CheckpointError."""
        try:
            yield
        except LinsepError:
            raise
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as problem:
            path = self.checkpoint.path
            raise CheckpointError(
                f"{path} does not describe a whole fit ({problem}); {CHECKPOINT.remedy}."
            ) from None

    def check_arrays(self, X: Any, *labels: np.ndarray) -> None:
        """Raise CheckpointError if the run to go on with learnt other rows."""
        self.agree(rows=agreement.of_arrays(X, *labels))

    def check_source(self, source: Any, whole: bool = True) -> None:
        """Raise CheckpointError if the run to go on with read other files, or in another way."""
        with self.sound():
            then = None if self.found is None else self.found[1]["fit"].get("data")
            data = agreement.of_source(source, then, whole)
        self.agree(data=data)
