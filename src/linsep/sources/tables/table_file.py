"""What table files of every format share, and the cells of their columns as numbers or text.

A table file yields the columns asked for as Arrow record batches, from the first row to the last,
holding only a bounded part of the file at a time.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from linsep.errors import DataError, Hint, Located, hint
from linsep.sources.formats import arrow_file, first_line, local_file
from linsep.sources.remote.file import File, RemoteFile, Unchanged, no_file

#: what each column is read as: "number", "bool" or "text"
Kinds = Mapping[str, str]
#: columns that are not read but may exist; None: any
Others = list[str] | None
#: rows shown to whoever guesses what the columns mean
SAMPLE_ROWS = 10_000


class TableFile(ABC):
    """One file with named columns, of at least one byte."""

    #: the column types are written in the file, not guessed from its first rows
    typed = True
    #: how many rows there are, where the file says so and its columns were asked for
    n_rows: int | None = None
    #: options can say what stands for a missing value
    marks_missing = False

    #: fields that the last reading left out, each with the row where it first occurs
    others: Mapping[str, int] = MappingProxyType({})
    #: the share of the rows that was read
    _done = 0.0
    _sample: pa.RecordBatch | None = None

    def __init__(self, path: File):
        self.path, self.unchanged = path, Unchanged([path])
        if not path.exists():
            raise no_file(path)
        self.size = path.stat().st_size
        if self.size == 0:
            raise self.error(" is empty", "give a file with rows", code="no-rows")

    @property
    def files(self) -> list[File]:
        return [self.path]

    @property
    def position(self) -> int:
        return int(self.size * self._done)

    @abstractmethod
    def columns(self) -> dict[str, pa.DataType | None]:
        """Return the column names in file order, with their type where the file states it."""

    @abstractmethod
    def head(self) -> pa.RecordBatch:
        """Return the first rows (at most SAMPLE_ROWS, none in a file without rows)."""

    def sample(self) -> pa.RecordBatch:
        if self._sample is None:
            self._sample = self.head()
        return self._sample

    def later_types(self, names: list[str]) -> dict[str, pa.DataType]:
        """Return the types of columns, as the file states them or its first values show."""
        return {name: kind for name, kind in self.columns().items() if kind and name in names}

    def kind_as_written(self, name: str) -> str:
        """Return the kind by which a format without types yields a column unchanged."""
        return "text"

    @abstractmethod
    def chunks(self, kinds: Kinds, others: Others = None) -> Iterator[pa.RecordBatch]:
        """Yield the columns named by `kinds`, in that order; formats without types use the kinds.

        A field of JSON lines that is neither among them nor one of the `others` is refused, or left
        out if `others` is None.
        """

    def cells(self, names: list[str]) -> Iterator[pa.RecordBatch]:
        """Yield columns as they stand in the file, text of text formats as it is written."""
        yield from self.chunks(dict.fromkeys(names, "text"))

    def where(self, row: int) -> str:
        return Located(f"{self.path} row {row + 1}", path=self.path, row=int(row) + 1)

    def places_from(self, start: int) -> "Place":
        """Return what says where row i of a table stands, whose first row is number ``start``."""
        return lambda row: self.where(start + row)

    def error(
        self, what: str, *ways: str | Hint, code: str, row: int | None = None, **fields: Any
    ) -> DataError:
        """Return the error ``what`` of the file, or of a row, which is counted from 1."""
        place = self.path if row is None else f"{self.path} row {row}"
        return DataError(f"{place}{what}", *ways, code=code, path=self.path, row=row, **fields)


@contextmanager
def opened_raw(path: File, parts: bool = False) -> Iterator[pa.NativeFile]:
    """Open a file for Arrow, in order or in ``parts``."""
    if isinstance(path, RemoteFile):
        with path.reading(parts) as stream:
            yield arrow_file(stream)
    else:
        with local_file(path) as raw:
            yield raw


@contextmanager
def reading(path: File, what: str, unchanged: Unchanged | None = None) -> Iterator[None]:
    """Turn errors of opening and reading `path`, which should be ``what``, into a DataError."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        if unchanged is not None:
            unchanged.check(path)
        raise DataError(
            f"{path} is damaged or not {what} ({first_line(error)})", "write it again or rename it",
            code="damaged-file", path=path,
        ) from error  # fmt: skip


def rows_at_once(columns: int, few: int, many: int) -> int:
    """Return how many rows of so many columns to take at a time: rows of ``few`` values, at most
    65,536; for wide rows 1,024 while they are at most ``many`` values, since each column costs some
    time whatever its length; never fewer than 64.
    """
    columns = max(1, columns)
    return max(64, min(65_536, max(few // columns, min(1024, many // columns))))


def listed(names: Iterable[str]) -> str:
    names = list(names)
    more = f" and {len(names) - 20} more" if len(names) > 20 else ""
    return ", ".join(names[:20]) + more


def unknown_column(
    path: Any, names: Iterable[str], name: str, what: str = "column", option: str | None = None
) -> DataError:
    """Return the error for a name that is not one of ``names``; ``what`` it should be."""
    names = list(names)
    choose = hint("choose one of these with {}", **{option: None}) if option else "check its name"
    near: list[str | Hint] = [f"did you mean '{one}'?" for one in get_close_matches(name, names, 1)]
    return DataError(
        f"{path} has no {what} '{name}', only {listed(names)}", *(near or [choose]),
        code="unknown-column", path=path, column=name, option=option,
    )  # fmt: skip


#: returns the place of row i of the current table, for errors
Place = Callable[[int], str]


def plain_values(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the column with a dictionary replaced by its values, and decimals by floats."""
    column = decoded(column)
    return column.cast(pa.float64()) if pa.types.is_decimal(column.type) else column


def decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the column with a dictionary replaced by its values."""
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column of any Arrow type as plain strings."""
    found = decoded(column)
    text = found.cast(pa.string())
    if pa.types.is_decimal(found.type) and found.type.scale > 0:  # the zeros are of the type
        text = pc.utf8_rtrim(pc.utf8_rtrim(text, "0"), ".")
    return text


def numbers_in(table: pa.Table, name: str) -> np.ndarray:
    return np.array(plain_values(table.column(name)).cast(pa.float64(), safe=False).to_numpy())


def text_codes(
    column: pa.ChunkedArray, name: str | None, place: Place
) -> tuple[np.ndarray, list[str]]:
    """Return each row's text as a number, -1 where it is null, and the different texts, by first
    appearance. Raises DataError where text is not UTF-8.
    """
    found = as_text(column).combine_chunks().dictionary_encode()
    codes = found.indices.fill_null(-1).to_numpy()
    try:
        return codes, found.dictionary.to_pylist()
    except UnicodeDecodeError as error:
        texts = found.dictionary.cast(pa.binary()).to_pylist()
        bad = next(k for k, x in enumerate(texts) if x != x.decode(errors="ignore").encode())
        raise DataError(
            place(int(np.argmax(codes == bad))) + f", column '{name}' is not UTF-8 text",
            "correct it", code="encoding", column=name,
        ) from error  # fmt: skip


def is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
