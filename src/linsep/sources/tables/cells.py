"""Cells of a column, whatever Arrow type it has, as numbers or text."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from linsep.errors import DataError, hint
from linsep.sources.declared import check_decoded, is_view

#: returns the place of row i of the current table, for errors
Place = Callable[[int], str]


def plain(column: pa.ChunkedArray, name: str | None) -> pa.ChunkedArray:
    """Return the column with a dictionary replaced by its values, and decimals by floats.

    Raises DataError, which names the column, where that would be too much text for memory.
    """
    column = decoded(column, name)
    return column.cast(pa.float64()) if pa.types.is_decimal(column.type) else column


def decoded(column: pa.ChunkedArray, name: str | None) -> pa.ChunkedArray:
    """Return the column with a dictionary replaced by its values, and views by plain text; raises
    as :func:`plain` does.
    """
    if is_view(column.type):
        check_decoded(column, name)
        return column.cast(pa.large_string())
    if not pa.types.is_dictionary(column.type):
        return column
    check_decoded(column, name)
    kind = column.type.value_type
    if is_view(kind):  # which Arrow cannot look up
        texts = [chunk.dictionary.cast(pa.large_string()) for chunk in column.chunks]
        pairs = zip(texts, column.chunks, strict=True)
        return pa.chunked_array([t.take(c.indices) for t, c in pairs], pa.large_string())
    return decoded(column.cast(kind), name)


def as_text(column: pa.ChunkedArray, name: str | None) -> pa.ChunkedArray:
    """Return a column of any Arrow type as plain strings; raises as :func:`plain` does."""
    found = decoded(column, name)
    text = found.cast(pa.string())
    if pa.types.is_decimal(found.type) and found.type.scale > 0:  # the zeros are of the type
        text = pc.utf8_rtrim(pc.utf8_rtrim(text, "0"), ".")
    return text


def coded(column: pa.ChunkedArray, name: str | None, place: Place) -> tuple[np.ndarray, list[str]]:
    """Return each row's text as a number and the different texts, by first appearance.

    Parameters
    ----------
    column : pa.ChunkedArray of shape (rows,)
    name : what the column is called in errors
    place : function from a row to where it stands, for errors

    Returns
    -------
    codes : int32 array of shape (rows,), -1 where the column is null
    values : list of str; ``values[code]`` is the text

    Raises DataError where text is not UTF-8.
    """
    found = as_text(column, name).combine_chunks().dictionary_encode()
    codes = found.indices.fill_null(-1).to_numpy()
    try:
        return codes, found.dictionary.to_pylist()
    except UnicodeDecodeError as error:
        bad = next(code for code, value in enumerate(found.dictionary) if not _is_utf8(value))
        raise DataError(
            f"{place(int(np.argmax(codes == bad)))}, column '{name}' is not UTF-8 text",
            "correct it",
            hint("leave the column out with {}", exclude=[name]),
        ) from error


def _is_utf8(value: pa.StringScalar) -> bool:
    try:
        value.as_py()
    except UnicodeDecodeError:
        return False
    return True
