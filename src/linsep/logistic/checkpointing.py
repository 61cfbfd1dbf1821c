"""Checkpoints of a logistic regression: the results of its passes over the rows.

An ascent is deterministic, and nearly all of its time is spent in these passes: with their results
another process repeats its steps to the bit.
"""

from collections.abc import Callable
from hashlib import blake2b
from typing import Any

import numpy as np

from linsep.checkpoints.fits import SavedFit


class Journal:
    """Results of passes over the rows, in order; ``after()`` is called after each new pass."""

    def __init__(self, after: Callable[[], None]) -> None:
        self.records: list[tuple[str, np.ndarray]] = []
        self.after, self._next = after, 0

    def result(self, what: str, given: np.ndarray, compute: Callable[[], np.ndarray]) -> np.ndarray:
        """Return the next result: the recorded one if it is of the same pass, else ``compute()``,
        recorded in the place of all that followed.
        """
        key = f"{what} {blake2b(given.tobytes(), digest_size=16).hexdigest()}"
        place, self._next = self._next, self._next + 1
        if place < len(self.records) and self.records[place][0] == key:
            return self.records[place][1]
        array = compute()
        self.records[place:] = [(key, array)]
        self.after()
        return array


class SavedAscent(SavedFit):
    """Saves a logistic regression between two passes over its rows."""

    def __enter__(self) -> "SavedAscent":
        self.journal, self._fresh = Journal(self._passed), False
        super().__enter__()
        return self

    def __exit__(self, kind: Any, *rest: Any) -> None:
        # Before a new pass, the file is as it should be, and the rows may not have been checked.
        resumable = KeyboardInterrupt, RuntimeError  # the second when a cluster is lost
        wanted = self.checkpoint.keep if kind is None else issubclass(kind, resumable)
        if self._fresh and wanted:
            self._write()
        super().__exit__(kind, *rest)

    def begin(self, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> None:
        """Take the results of the passes made."""
        passes = [(key, arrays[str(k)]) for k, key in enumerate(about["passes"])]
        if not all(isinstance(key, str) for key, _ in passes):
            raise ValueError("results of passes without keys")
        self.journal.records += passes

    def agree(self, **more: Any) -> None:
        """Add to what must be unchanged; raise CheckpointError if it changed."""
        super().agree(**more)
        if more and self.journal.records:  # the rows are the last
            self.checkpoint.on_resume(f"after {len(self.journal.records):,} passes over the rows")

    def _passed(self) -> None:
        self._fresh = True
        if self.due:
            self._write()

    def _write(self) -> None:
        self._fresh = False
        self.write(
            {str(k): array for k, (_, array) in enumerate(self.journal.records)},
            {"fit": self.agreed, "passes": [key for key, _ in self.journal.records]},
        )
