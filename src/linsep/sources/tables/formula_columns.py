"""The columns that a formula names, with types from the first rows of a table."""

from typing import Any

from linsep.errors import DataError
from linsep.sources.tables.column_types import first_rows
from linsep.sources.tables.columns import Columns, check_text_columns, guess_columns
from linsep.sources.tables.conversions import ColumnTypes
from linsep.sources.tables.formula_parsing import parsed, shown
from linsep.sources.tables.formulas import Formula
from linsep.sources.tables.reading_options import ROLES
from linsep.sources.tables.spellings import Spelling
from linsep.sources.tables.table_file import TableFile, unknown_column


def used_in_formula(options: dict[str, Any], names: list[str]) -> set[str]:
    """Return the columns that a formula or another option names, of those with these names."""
    beside = [options[role] for role in ROLES if options[role] is not None]
    found = parsed(options["formula"], [name for name in names if name not in beside])
    return {name for name in names if name in {found.target, *found.columns, *beside}}


def guess_formula(
    files: list[TableFile], columns: Columns, require_target: bool, told: ColumnTypes,
    spelling: Spelling, text: str,
) -> None:  # fmt: skip
    """Infer the types of the columns that a formula names, as
    :func:`linsep.sources.tables.columns.guess_columns` does; other columns are left out.
    """
    file, _ = first_rows(files)
    names, others = list(file.columns()), dict(columns.beside)
    found = parsed(text, [name for name in names if name not in others])
    if found.target is None and columns.successes is None:
        raise DataError(
            f"The formula '{shown(text)}' has no label",
            "write it before a tilde, as in 'y ~ x'",
            code="no-labels",
        )
    if found.target is not None and columns.successes is not None:
        raise DataError(
            f"The formula '{shown(text)}' has the label '{found.target}', but successes and trials "
            "replace the label",
            "start the formula with '~'",
            code="conflict", column=found.target,
        )  # fmt: skip
    for name in filter(None, [found.target, *found.columns]):
        if name not in names:
            raise unknown_column(file.path, names, name, "column of the formula")
        if name in others:
            raise DataError(
                f"Column '{name}' is named for {others[name]}, but is in the formula",
                "choose one of them",
                code="column-role", column=name,
            )  # fmt: skip
    if not found.factors and not found.intercept:
        raise DataError(
            f"The formula '{text}' has no terms", "add one, such as a column", code="bad-formula"
        )
    columns.target = found.target
    taken = {found.target, *found.columns, *others}
    columns.exclude = [name for name in names if name not in taken]
    of_numbers = [f for f in found.factors.values() if f.kind != "levels"]
    numbers = {c for f in (*of_numbers, *found.offsets.values()) for c in f.columns}
    levels = [name for name in found.columns if name not in numbers]
    guess_columns(files, columns, require_target, told, spelling)
    check_text_columns(files, columns, levels)
    kinds = columns.numeric | dict.fromkeys(columns.text, "text")
    inputs = {name: kinds[name] for name in found.columns}
    columns.formula = Formula(
        text, found.intercept, inputs, found, columns.levels, list(found.offsets)
    )
    columns.numeric, columns.text, columns.dtype = {}, {}, "float64"
