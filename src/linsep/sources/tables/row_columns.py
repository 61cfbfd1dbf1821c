"""Columns that say something about rows and are no features: their weights and their groups."""

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from linsep.errors import DataError
from linsep.sources.exact import EXACT, WholeNumbers
from linsep.sources.tables.arrow import TableFile
from linsep.sources.tables.cells import Place, as_text, coded, plain
from linsep.sources.tables.encoding import Columns
from linsep.sources.text_files import TextFile


def check_row_columns(file: TableFile, columns: Columns) -> None:
    """Raise DataError unless the columns of weights and groups are in the first file and have no
    other role.
    """
    found = file.columns()
    for role, name in (("weights", columns.weight), ("groups", columns.group)):
        if name is None:
            continue
        others = {"the label column": columns.target, "left out": None}
        if name in columns.exclude:
            others["left out"] = name
        if name in columns.words:
            others["read as text"] = name
        if role == "groups":
            others["the column of weights"] = columns.weight
        for other, taken in others.items():
            if taken == name:
                raise DataError(
                    f"Column '{name}' is named for {role}, but is {other}: choose one of the two."
                )
        if name not in found:
            raise DataError(
                f"{file.path} has no column '{name}' of {role}, only "
                f"{', '.join(list(found)[:20])}: check its name."
            )


def kinds_of_row_columns(
    file: TableFile, columns: Columns, found: dict[str, pa.DataType | None], by_recipe: bool
) -> dict[str, str]:
    """Return the kinds to read the columns of weights and groups as, which were ``found`` with
    their types; DataError if they are not there, or weights not numbers.
    """
    path, kinds = file.path, {}
    if columns.weight is not None:
        if file.absent([columns.weight]):
            of_model = "with which the model learnt" if by_recipe else "as the first file has"
            raise DataError(
                f"{path} has no column '{columns.weight}' of weights, {of_model}: add it, of ones "
                "to count all rows alike."
            )
        stored = found.get(columns.weight)
        if stored is not None and not _is_number(stored):
            raise DataError(
                f"{path}, column '{columns.weight}' holds {stored}, but weights are numbers: "
                "convert it, or name another column."
            )
        kinds[columns.weight] = "number"
    if columns.group is not None and not by_recipe:
        if file.absent([columns.group]):
            raise DataError(f"{path} has no column '{columns.group}' of groups: add it.")
        kinds[columns.group] = columns.group_kind
    return kinds


def _is_number(kind: pa.DataType) -> bool:
    types = pa.types
    kind = kind.value_type if types.is_dictionary(kind) else kind
    tests = (types.is_integer, types.is_floating, types.is_decimal, types.is_null)
    return any(test(kind) for test in tests)


def check_first_weights(file: TableFile, name: str, head: pa.ChunkedArray) -> None:
    """Raise DataError, which names the row, where the first weights are no numbers."""
    kind = file.columns()[name] or head.type
    if _is_number(kind):
        return
    if not pa.types.is_string(kind):
        raise DataError(
            f"{file.path}, column '{name}' holds {kind}, but weights are numbers: name another "
            "column."
        )
    codes, values = coded(head, name, file.where)
    odd = [code for code, value in enumerate(values) if not _reads_as_number(value)]
    row = int(np.argmax(np.isin(codes, odd or [0])))
    raise DataError(
        f"{file.where(row)}, column '{name}' holds '{values[codes[row]][:60]}', but weights are "
        "numbers: correct it, or name another column."
    )


def _reads_as_number(text: str) -> bool:
    try:
        return float(text) == float(text)
    except ValueError:
        return False


def of_rows(
    table: pa.Table, columns: Columns, place: Place, kept: np.ndarray | None, wanted: bool
) -> list[Any]:
    """Return the weights and the groups of the rows that are kept, None if there are none or they
    are not ``wanted``.
    """
    if not wanted:
        return [None, None]
    found = (read(table, columns, place) for read in (row_weights, row_groups))
    return [each if each is None or kept is None else each[kept] for each in found]


def row_weights(table: pa.Table, columns: Columns, place: Place) -> np.ndarray | None:
    """Return the weights of the rows, None if the table has no column of them.

    Raises DataError for a weight that is missing, negative or not finite.
    """
    name = columns.weight
    if name is None or name not in table.column_names:
        return None
    found = np.array(plain(table.column(name), name).cast(pa.float64()).to_numpy())
    bad = ~(np.isfinite(found) & (found >= 0))
    if bad.any():
        row = int(np.argmax(bad))
        missing = table.column(name)[row].as_py() is None
        what = "no value" if missing else f"the weight {found[row]:g}"
        raise DataError(
            f"{place(row)}, column '{name}' has {what}: weights must be finite and at least 0."
        )
    return found


def exact_groups(
    file: TableFile, columns: Columns, tables: Iterator[tuple[int, pa.Table]]
) -> Iterator[tuple[int, pa.Table]]:
    """Yield the tables of a file, each with the number of its first row; groups of text files that
    were read as floats come as text, whole numbers with all their digits.
    """
    name = columns.group
    whole = WholeNumbers(file) if isinstance(file, TextFile) else None
    for start, table in tables:
        floats = columns.group_kind == "number" and name in table.column_names
        if whole is None or name is None or not floats:
            yield start, table
            continue
        digits = dict(_digits(table.select([name]), whole, start))
        groups = _spelled(table.column(name), name, digits)
        yield start, table.set_column(table.column_names.index(name), name, groups)


def _digits(groups: pa.Table, whole: WholeNumbers, start: int) -> Iterator[tuple[int, str]]:
    """Yield the rows of whole numbers from 2^53 on, and their digits."""
    for row, _, text in whole.long(start, groups):
        yield row, str(int(text))


def _spelled(column: pa.ChunkedArray, name: str, digits: dict[int, str]) -> pa.ChunkedArray:
    """Return numbers as text; ``digits`` are those of large ones."""
    floats = column.to_numpy()
    small = (floats == np.trunc(floats)) & (np.abs(floats) < EXACT)
    whole = column.cast(pa.int64(), safe=False).cast(pa.string())
    groups = pc.if_else(pa.array(small), whole, as_text(column, name))
    if not digits:
        return groups
    some = groups.to_pylist()
    for row, text in digits.items():
        some[row] = text
    return pa.chunked_array([pa.array(some, pa.string())])


def row_groups(table: pa.Table, columns: Columns, place: Place) -> np.ndarray | None:
    """Return a number of 64 bits for the group of each row, None if there is no column of groups.

    Raises DataError for a row without a group.
    """
    name = columns.group
    if name is None or name not in table.column_names:
        return None
    codes, values = coded(table.column(name), name, place)
    if (codes < 0).any():
        row = int(np.argmax(codes < 0))
        raise DataError(f"{place(row)}, column '{name}' has no value: give every row a group.")
    digests = [blake2b(value.encode(), digest_size=8).digest() for value in values]
    return np.frombuffer(b"".join(digests), "<u8").astype(np.uint64)[codes]
