"""Base class of sources, which yield the same batches of rows each time they are read."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from linsep.batches import Batch, numbers_of_weighed, weighed
from linsep.errors import DataError, hint

if TYPE_CHECKING:
    from linsep.sources.remote.file import File
    from linsep.sources.tables.reading_options import ReadingOptions


class Source(ABC):
    """Batches of rows from arrays, a file, or several files, which can be read repeatedly.

    Every call of :meth:`batches` starts at the first row and yields the same rows in the same
    order. Between calls, a source holds at most one batch and what it inferred about columns.
    """

    #: name of this source in messages: a path or a glob
    name: str
    #: the files, in reading order
    paths: list["File"]
    #: folder where rows that do not fit in memory are kept for later passes and later runs; None
    #: keeps them in a temporary folder for one run
    cache: Path | None = None
    #: rows up to this size in bytes stay in memory after the first pass
    memory_bytes: int = 256 << 20

    #: most features to learn weights for, None for what the size of the files justifies
    max_features: int | None = None
    #: format: arrays, svmlight, csv, ...
    kind: str = ""
    #: number of rows, None before they have all been read
    n_rows: int | None = None
    #: rows left out in the last reading, because of missing values
    dropped: int = 0
    #: rows of the last reading without a prediction, because of missing values
    skipped: int = 0
    #: missing values of the last reading that were replaced, by column
    filled: Mapping[str, int] = MappingProxyType({})
    #: how text is read, for sources of text and tables
    reading: "ReadingOptions"
    #: rows have weights
    weighted: bool = False
    #: rows have offsets
    offsets: bool = False
    #: each row of counts becomes two: successes and failures, weighted by their numbers
    counts: bool = False
    #: rows of a group are held out together, see :class:`Batch`
    grouped: bool = False
    #: a model determines how the rows are read
    by_recipe: bool = False
    #: predictions warn of values that the recipe does not have
    warns: bool = True
    #: current stage, for progress displays
    stage: str = "reading"
    #: returns a description of the current step of a long stage, for progress displays
    doing: Callable[[], str] | None = None
    #: called before text needs more memory, with the number of bytes; raises an error to refuse
    before_growth: Callable[[int], None] | None = None
    #: where the last run left its parsed rows for the next, or None
    kept: Path | None = None
    #: a stream that has read and kept all rows, for later fits
    kept_rows: Any = None
    #: whether rows of weight 0 are left out of what is read now
    _proving = False

    def __repr__(self) -> str:
        rows = "rows not counted yet" if self.n_rows is None else f"{self.n_rows:,} rows"
        return f"<{type(self).__name__} {self.name}: {self.kind}, {rows}>"

    def _read(self) -> Iterator[Batch]:
        raise NotImplementedError

    def _place(self, row: int) -> str:
        raise NotImplementedError

    def batches(self) -> Iterator[Batch]:
        """Yield the rows from the first to the last; raise DataError if they are unusable."""
        self._proving = False
        return self._read()

    def exactly(self) -> Iterator[Batch]:
        """Yield the rows for proofs, without those of weight 0, which do not matter to them; rows
        in memory as arrays of Python numbers where they have more digits than float64.
        """
        self._proving = True
        return weighed(self._read())

    def where(self, row: int) -> str:
        """Return the place of a row (0-based, of the last reading), for errors: it may read the
        file again.
        """
        return self._place(self.number(row) - 1)

    def number(self, row: int) -> int:
        """Return the number, from 1, that a row (0-based, of the last reading) has among all rows
        of the files, including rows that are left out.
        """
        return int(self.numbers(row + 1)[row]) + 1

    def numbers(self, rows: int) -> np.ndarray:
        """Return the numbers, from 0, that the first ``rows`` rows of the last reading have among
        all rows of the files; see :meth:`number`.
        """
        weighed = self._proving and self.weighted
        return numbers_of_weighed(self._read())[:rows] if weighed else np.arange(rows)

    def check_files(self) -> None:  # noqa: B027 - rows in memory have none
        """Raise DataError if a local file has changed since the source was opened."""

    @property
    def unseen(self) -> dict[str, int]:
        """Values of the last reading that the recipe does not have, by text column."""
        return {}

    def gaps(self, row: int) -> dict[str, dict[str, int]]:
        """Return :attr:`unseen` and :attr:`filled` of a single row of the last reading."""
        return {"unknown_values": {}, "values_filled": {}}

    @property
    def ignored(self) -> dict[str, str]:
        """Fields of the last reading that the recipe does not have, with their first places."""
        return {}

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the columns of X seen so far; None when the format has no names."""
        return None

    def feature(self, column: int) -> str:
        """Return the name of a column of X for messages."""
        names = self.feature_names
        return f"feature {column if names is None else repr(names[column])}"

    @property
    def memory_needed(self) -> int | None:
        """Bytes that all rows would take in memory; None if unknown before reading."""
        return None

    @property
    def size(self) -> int | None:
        return None

    @property
    def position(self) -> int:
        return 0

    def cells(self, columns: list[str]) -> Iterator[Any]:
        """Yield Arrow tables of some columns of all rows as stored in the files; names, globs, or
        several of these with commas between them. DataError if there are no columns.
        """
        said, leave = f"{self.name} has no named columns", hint("leave out {}", keep_columns=None)
        raise DataError(said, leave, code="no-columns", option="keep_columns")

    @abstractmethod
    def options(self) -> dict[str, Any]:
        """Return what the rows depend on besides the files, as JSON."""

    def of_groups(self) -> dict[str, Any]:
        """Return what other sources need, besides :meth:`recipe`, to read the groups of rows."""
        return {}

    def layout(self) -> dict[str, Any]:
        """Return the recipe as far as it is known before all rows are read."""
        return self.recipe()

    @abstractmethod
    def recipe(self) -> dict[str, Any]:
        """Return how raw rows become features, as plain JSON, which models store."""


def as_matrix(
    values: np.ndarray, columns: np.ndarray, starts: np.ndarray, width: int
) -> sp.csr_matrix:
    """Return a canonical matrix: set one by one, its arrays are neither copied nor checked."""
    index = columns.dtype if values.size < 2**31 else np.dtype(np.int64)
    X = sp.csr_matrix((starts.size - 1, width), dtype=values.dtype)
    X.data, X.indices = values, columns.astype(index, copy=False)
    X.indptr = starts.astype(index, copy=False)
    X.has_canonical_format = True
    return X


def is_frame(data: Any) -> bool:
    """Return whether ``data`` is a table in memory, which gives an Arrow C stream."""
    gives = hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")
    return gives and (hasattr(data, "columns") or hasattr(data, "schema"))
