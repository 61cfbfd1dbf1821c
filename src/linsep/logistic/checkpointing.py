"""Checkpoints of a logistic regression: the results of its passes over the rows, which another
process can reuse.

An ascent is deterministic, and almost all of its time is spent in passes over the rows. With the
recorded results of these passes it repeats its steps, with bit-identical results.
"""

from collections.abc import Callable
from hashlib import blake2b
from typing import Any

import numpy as np

from linsep.checkpoints.fits import SavedFit

Arrays = list[np.ndarray]


class Journal:
    """Results of passes over the rows, in order.

    Parameters
    ----------
    records : list of (key, arrays), from an earlier process
    after : function without arguments, called after each new pass
    """

    def __init__(
        self, records: list[tuple[str, Arrays]], after: Callable[[], None] = lambda: None
    ) -> None:
        self.records, self.after, self._next = records, after, 0

    def result(self, what: str, given: np.ndarray, compute: Callable[[], Arrays]) -> Arrays:
        """Return the next result: the recorded one if it is of the same pass, else ``compute()``,
        recorded in the place of all that followed.
        """
        key = f"{what} {blake2b(given.tobytes(), digest_size=16).hexdigest()}"
        if self._next < len(self.records) and self.records[self._next][0] == key:
            self._next += 1
            return self.records[self._next - 1][1]
        arrays = compute()
        self.records[self._next :] = [(key, arrays)]
        self._next += 1
        self.after()
        return arrays


#: what ends a fit that may be resumed: Ctrl-C, and the loss of a cluster
ENDINGS = (KeyboardInterrupt, RuntimeError)


class SavedAscent(SavedFit):
    """Saves a logistic regression between two passes over its rows."""

    def __enter__(self) -> "SavedAscent":
        self.journal, self._fresh = Journal([], self._passed), False
        super().__enter__()
        return self

    def __exit__(self, kind: Any, *rest: Any) -> None:
        # Before a new pass, the file is as it should be, and the rows may not have been checked.
        wanted = self.checkpoint.keep if kind is None else issubclass(kind, ENDINGS)
        if self._fresh and wanted:
            self._write()
        super().__exit__(kind, *rest)

    def begin(self, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> None:
        """Take the results of the passes made."""
        for k, (key, n_arrays) in enumerate(about["passes"]):
            record = [arrays[f"{k}.{part}"] for part in range(n_arrays)]
            if not isinstance(key, str) or any(array.dtype != np.float64 for array in record):
                raise ValueError(f"the results of pass {k}")
            self.journal.records.append((key, record))

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
        records = self.journal.records
        self._fresh = False
        self.write(
            {f"{k}.{n}": a for k, (_, record) in enumerate(records) for n, a in enumerate(record)},
            {"fit": self.agreed, "passes": [[key, len(record)] for key, record in records]},
        )
