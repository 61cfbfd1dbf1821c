"""Text columns of a table, whose words are features, and their place beside other columns."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from linsep.errors import DataError, hint
from linsep.sources.tables.arrow import TableFile
from linsep.sources.tables.cells import decoded

if TYPE_CHECKING:
    from linsep.sources.text.counting import TextCounter

#: names of analyzers, and of norms: None for none
ANALYZERS = ("word", "char", "char_wb")
NORMS = {"l2": "l2", "l1": "l1", "none": None}
#: text columns that users name, alone or with :class:`linsep.Text` objects
Given = str | Iterable[str] | dict[str, Any] | None


def settings_of(text: Given) -> dict[str, Any]:
    """Return the settings of each text column; ParameterError for an invalid one."""
    if not text:
        return {}
    from linsep.sources.text.settings import Settings

    if isinstance(text, dict):
        return {name: how.settings() for name, how in text.items()}
    return dict.fromkeys([text] if isinstance(text, str) else text, Settings())


def counters_of(settings: dict[str, Any]) -> dict[str, "TextCounter"]:
    """Return what counts the words of each text column, and keeps some that are hashed."""
    if not settings:
        return {}
    from linsep.sources.text.counting import TextCounter

    return {name: TextCounter(how, keep_terms=True) for name, how in settings.items()}


def check_kind(file: TableFile, name: str, kind: pa.DataType, family: str | None) -> None:
    """Raise DataError unless a column may hold text."""
    dates = pa.types.is_temporal(kind) and not file.typed  # text that looks like dates to Arrow
    if family == "text" or dates or pa.types.is_null(kind):
        return
    if pa.types.is_binary(kind) and not file.typed:
        for _ in file.chunks({name: "text"}):  # raises DataError, which names the line
            pass
    what = {"number": "numbers", "bool": "true and false"}.get(
        family or "", f"values of type {kind}"
    )
    raise DataError(
        f"{file.path}, column '{name}' holds {what}, not text",
        hint("leave out {}", text=[name]),
        "convert it to text",
    )


def learn_words(
    table: pa.Table, counters: dict[str, "TextCounter"], kept: Any, place: Callable[[int], str]
) -> None:
    """Add the rows kept to what is learnt of text columns before the first batch."""
    for name, counter in counters.items():
        if counter.settings.learns:
            _told(counter.learn, _texts(table, name, kept), name, place)


def finish_words(counters: dict[str, "TextCounter"], who: str) -> None:
    """Fix the vocabularies and weights; ``who`` is the name of the table in errors."""
    for name, counter in counters.items():
        try:
            counter.finish()
        except DataError as error:
            raise error.at(f"{who}, column '{name}': ") from None


def with_words(
    X: np.ndarray | sp.csr_matrix, table: pa.Table, counters: dict[str, "TextCounter"], kept: Any,
    place: Callable[[int], str],
) -> sp.csr_matrix:  # fmt: skip
    """Return the rows kept with the features of their text columns behind the others.

    ``place`` says where a row that is kept stands.
    """
    blocks = [X] if X.shape[1] else []
    for name, counter in counters.items():
        rows = _told(counter.rows, _texts(table, name, kept), name, place)
        blocks.append(rows if rows.dtype == X.dtype else rows.astype(X.dtype))
    if len(blocks) == 1:
        return blocks[0]
    joined = sp.hstack([sp.csr_matrix(block) for block in blocks], format="csr", dtype=X.dtype)
    joined.has_canonical_format = True
    return joined


def empty_texts(table: pa.Table, names: Iterable[str], kept: Any) -> dict[str, int]:
    """Return how many texts are missing in the rows kept, by column."""
    gaps = {name: table.column(name) for name in names}
    if kept is not None:
        gaps = {name: column.filter(pa.array(kept)) for name, column in gaps.items()}
    return {name: column.null_count for name, column in gaps.items()}


def _texts(table: pa.Table, name: str, kept: Any) -> pa.ChunkedArray:
    """Return texts of a column; one that is missing is empty."""
    column = table.column(name)
    column = decoded(column, name)
    if kept is not None:
        column = column.filter(pa.array(kept))
    column = column.cast(pa.large_string()) if column.type != pa.string() else column
    return column.fill_null("") if column.null_count else column


def _told(method: Any, texts: pa.Array, name: str, place: Callable[[int], str]) -> Any:
    """Call a method of a counter, and say where it found bytes that are no text."""
    from linsep.sources.text.counting import NotUtf8

    try:
        return method(texts)
    except NotUtf8 as error:
        raise DataError(
            f"{place(error.text)}, column '{name}' is not UTF-8 text ({error})",
            "correct it",
            hint("leave the column out with {}", exclude=[name]),
        ) from None
    except DataError as error:
        raise error.at(f"Column '{name}': ") from None
