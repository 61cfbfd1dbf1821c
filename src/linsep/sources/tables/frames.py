"""Data frames as Arrow tables."""

from contextlib import suppress
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from linsep.errors import DataError
from linsep.sources.tables.table_file import is_text


def to_arrow(data: Any) -> pa.Table:
    """Return a data frame as an Arrow table, without the index of pandas. Values of several types
    in a column become text, as in a file. DataError for tables that Arrow cannot read.
    """
    if hasattr(data, "iloc"):
        return _of_pandas(data)
    try:
        table = pa.table(data)
    except pa.ArrowInvalid as error:  # of a type that Arrow does not have
        import narwhals.stable.v2 as nw

        frame = nw.from_native(data, pass_through=True)
        types = frame.schema.items() if isinstance(frame, nw.DataFrame) else ()
        if wide := [name for name, kind in types if kind in (nw.Int128, nw.UInt128)]:
            return to_arrow(frame.with_columns(nw.col(wide).cast(nw.String)).to_native())
        raise DataError(
            f"the table cannot be read ({error})", "convert its columns to other types",
            code="column-type",
        ) from error  # fmt: skip
    for at, field in enumerate(table.schema):  # before 2.0, polars gives an Enum without its order
        enum = any(key.startswith(b"_PL_ENUM") for key in field.metadata or ())
        if enum and pa.types.is_dictionary(field.type) and not field.type.ordered:
            codes = table.column(at).combine_chunks()
            codes = pa.DictionaryArray.from_arrays(codes.indices, codes.dictionary, ordered=True)
            table = table.set_column(at, field.name, codes)
    return table


def with_missing(table: pa.Table, marks: list[str]) -> pa.Table:
    """Return a table read as CSV with these marks of missing values: a column of texts that are
    numbers otherwise has numbers.
    """
    for at, column in enumerate(table.columns):
        if is_text(column.type):
            cells = pc.if_else(pc.is_in(column, pa.array(marks, column.type)), None, column)
            with suppress(pa.ArrowInvalid):
                cells = cells.cast(pa.float64())
            table = table.set_column(at, table.field(at).name, cells)
    return table


def _of_pandas(data: Any) -> pa.Table:
    """Return a frame of pandas; its categories are ordered as in their list."""
    if odd := [name for name in data.columns if not isinstance(name, str | int)]:
        said, way = f"the table has a column named {odd[0]!r}", "use text as column names"
        raise DataError(said, way, code="bad-value", column=odd[0])
    arrays = []
    for number in range(data.shape[1]):
        column = data.iloc[:, number]
        column = column.sparse.to_dense() if hasattr(column, "sparse") else column
        if hasattr(column, "cat"):
            intervals = hasattr(column.cat.categories, "closed")  # as of pandas.cut
            column = (column.cat.rename_categories(str) if intervals else column).cat.as_ordered()
        try:
            arrays.append(pa.array(column))
        except (pa.ArrowException, OverflowError):
            arrays.append(pa.array(column.map(str, na_action="ignore"), pa.string()))
    names = [str(name) for name in data.columns]
    return pa.Table.from_arrays([pa.chunked_array([array]) for array in arrays], names)
