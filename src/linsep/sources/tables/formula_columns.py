"""The columns that a formula names, with types from the first rows of a table."""

from typing import Any

from linsep.errors import DataError
from linsep.sources.tables.column_types import first_rows
from linsep.sources.tables.columns import Columns, check_text_columns, guess_columns
from linsep.sources.tables.conversions import ColumnTypes
from linsep.sources.tables.formula_factors import refused, shown
from linsep.sources.tables.formula_parsing import parsed
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
    if (found.target is None) == (columns.successes is None):
        raise DataError(
            f"The formula '{shown(text)}' has {'no' if found.target is None else 'a'} label",
            "write it before a tilde, as in 'y ~ x', or '~ x' with successes and trials",
            code="no-labels" if found.target is None else "conflict", column=found.target,
        )  # fmt: skip
    for name in filter(None, [found.target, *found.columns]):
        if name in others:
            raise DataError(
                f"Column '{name}' is named for {others[name]}, but is in the formula",
                "choose one of them",
                code="column-role", column=name,
            )  # fmt: skip
        if name not in names:
            raise unknown_column(file.path, names, name, "column of the formula")
    if not found.terms and not found.intercept:
        raise refused(text, "has no terms", "add one, such as a column")
    columns.target = found.target
    taken = {found.target, *found.columns, *others}
    columns.exclude = [name for name in names if name not in taken]
    guess_columns(files, columns, require_target, told, spelling)
    of_numbers = [factor for factor in found.factors if factor.kind != "levels"] + found.offsets
    numbers = {name for factor in of_numbers for name in factor.columns}
    check_text_columns(files, columns, [name for name in found.columns if name not in numbers])
    for factor in of_numbers:
        if factor.kind != "column" and (texts := {*columns.text} & {*factor.columns}):
            raise refused(
                factor.text,
                f"needs numbers, but column '{min(texts)}' holds text",
                "write C(column) by itself",
            )
    kinds = columns.numeric | dict.fromkeys(columns.text, "text")
    inputs = {name: kinds[name] for name in found.columns}
    columns.formula = Formula(text, found.intercept, inputs, found.offsets, found, columns.levels)
    columns.numeric, columns.text, columns.dtype = {}, {}, "float64"
