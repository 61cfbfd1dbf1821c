"""Columns in the names of folders, as in kind=a/0.parquet."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from linsep.sources.tables.table_file import Kinds, Others


class Partitioned:
    """A table file in a folder whose name holds the value of a column, which is the last one."""

    def __init__(self, file: Any, values: dict[str, Any]):
        self._file, self._values = file, values

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def columns(self) -> dict[str, pa.DataType | None]:
        own = {name: pa.scalar(value).type for name, value in self._values.items()}
        return self._file.columns() | own

    def sample(self) -> pa.RecordBatch:
        return self._with(self._file.sample(), list(self.columns()))

    def chunks(self, kinds: Kinds, others: Others = None) -> Iterator[pa.RecordBatch]:
        own = {name: kind for name, kind in kinds.items() if name not in self._values}
        return (self._with(batch, [*kinds]) for batch in self._file.chunks(own, others))

    def cells(self, names: list[str]) -> Iterator[pa.RecordBatch]:
        own = [name for name in names if name not in self._values]
        return (self._with(batch, names) for batch in self._file.cells(own))

    def absent(self, names: Any) -> list[str]:
        return self._file.absent([name for name in names if name not in self._values])

    def _with(self, batch: pa.RecordBatch, names: list[str]) -> pa.RecordBatch:
        cells = {
            name: pa.repeat(self._values[name], batch.num_rows)
            if name in self._values else batch.column(name)
            for name in names
        }  # fmt: skip
        return pa.RecordBatch.from_pydict(cells)


def partitioned(files: list[Any], all_columns: bool) -> list[Any]:
    """Return table files with the columns in the names of their folders, without those of one value
    unless ``all_columns`` are wanted. Whole numbers are numbers.
    """
    found = [_values_in(str(file.path)) for file in files]
    names = list(dict.fromkeys(name for values in found for name in values))
    for name in names:
        each = [values.get(name) for values in found]
        whole = all(value is not None and value.isdecimal() for value in each)
        for values in found:
            if name in values and (all_columns or len({*each}) > 1):
                values[name] = int(values[name]) if whole else values[name]
            else:
                values.pop(name, None)
    pairs = zip(files, found, strict=True)
    return [Partitioned(file, values) if values else file for file, values in pairs]


def _values_in(path: str) -> dict[str, Any]:
    pairs = (part.partition("=") for part in path.split("/")[:-1])
    return {name: unquote(value) for name, sign, value in pairs if sign and name.isidentifier()}
