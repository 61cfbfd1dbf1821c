"""Formulas as users write them: a label, and terms, which are products of factors; the columns that
they name, with types from the first rows of a table.
"""

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import reduce
from itertools import chain, product
from typing import Any

from linsep.sources.tables.column_types import first_rows
from linsep.sources.tables.columns import Columns, guess_columns
from linsep.sources.tables.conversions import ColumnTypes
from linsep.sources.tables.formula_factors import Factor, column_factor, factor_of, parse, refused
from linsep.sources.tables.formulas import Formula
from linsep.sources.tables.spellings import Spelling
from linsep.sources.tables.table_file import TableFile, unknown_column

#: the factors of terms, whatever their order, and in their order; of two terms with the same
#: factors, the first stays (``terms | others | terms``)
Terms = dict[frozenset[Factor], tuple[Factor, ...]]
#: the intercept
_ONE: Terms = {frozenset(): ()}


@dataclass
class _Reader:
    """Returns the terms of syntax trees."""

    names: list[str]  #: the columns that a dot stands for
    factors: dict[tuple[str, str], Factor] = field(default_factory=dict)  #: each once

    def terms(self, node: ast.expr) -> Terms:
        match node:
            case ast.Constant(1):
                return _ONE
            case ast.Constant(value) if value is ...:
                factors = list(map(column_factor, self.names))
            case ast.Name(name):
                factors = [column_factor(name.strip("`"))]
            case ast.Call():
                factors = [factor_of(node)]
            case ast.BinOp(_, ast.Add() | ast.Sub(), _):
                return self.sum(node, {})
            case ast.BinOp(left, ast.Mult(), right):
                terms, others = self.terms(left), self.terms(right)
                alone = terms | others | terms
                return alone | _crossed(terms, others) | alone
            case ast.BinOp(left, ast.Div(), right):
                terms = self.terms(left)
                every = tuple(dict.fromkeys(chain(*terms.values())))
                return terms | _crossed({frozenset(every): every}, self.terms(right)) | terms
            case ast.BinOp(left, ast.Pow(), ast.UnaryOp(ast.Invert(), right)):
                return _crossed(self.terms(left), self.terms(right))
            case ast.BinOp(left, ast.Pow(), ast.Constant(int(power))) if power > 0:
                terms = self.terms(left)
                return reduce(_crossed, [terms] * min(power - 1, len(terms)), terms)
            case _:
                raise refused(ast.unparse(node), "is no term", "write it as in I(x**2 - z)")
        known = [self.factors.setdefault((f.kind, f.text), f) for f in factors]
        return {frozenset([factor]): (factor,) for factor in known}

    def sum(self, node: ast.expr, terms: Terms) -> Terms:
        """Return terms with those that a sum adds, and without those that it subtracts."""
        parts: list[tuple[Any, ast.expr]] = []
        while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            parts.append((node.op, node.right))
            node = node.left
        first = node if isinstance(node, ast.UnaryOp) else ast.UnaryOp(ast.UAdd(), node)
        for sign, part in reversed([*parts, (first.op, first.operand)]):
            none = isinstance(part, ast.Constant) and part.value == 0  # - 1 is + 0
            others = _ONE if none else self.terms(part)
            if isinstance(sign, ast.Add | ast.UAdd) != none:
                terms = terms | others | terms
            else:
                terms = {key: term for key, term in terms.items() if key not in others}
        return terms


def _crossed(terms: Terms, others: Terms) -> Terms:
    made: Terms = {}
    for factors, more in product(terms.values(), others.values()):
        made.setdefault(frozenset(factors + more), tuple(dict.fromkeys(factors + more)))
    return made


def parsed(text: str, names: Iterable[str] = ()) -> Formula:
    """Parse a formula; DataError where it does not parse or holds what formulas may not.

    ``names`` are the columns that a dot stands for, without the label and columns of offsets.
    """
    left, _, right = text.partition("~") if "~" in text else ("", "", text)
    label = parse(left) if left.strip() else None
    if not isinstance(label, ast.Name | None):
        advice = "add a column with these values to the data and name it there"
        raise refused(left.strip(), "is a label that is not one column", advice)
    target = label.id.strip("`") if label else None
    if not right.strip():
        raise refused(text, "has no terms", "write 1 for the intercept alone")
    names = [name for name in names if name != target]
    reader = _Reader(names)
    terms = reader.sum(parse(right), _ONE)
    every = sorted(filter(None, terms.values()), key=len)
    offsets = [factor for factor in reader.factors.values() if factor.kind == "offset"]
    if not {*offsets} <= {factors[0] for factors in every if len(factors) == 1}:
        raise refused(text, "multiplies or subtracts an offset", "write + offset(z) by itself")
    plain = [factors for factors in every if factors[0] not in offsets]
    found = Formula(text, target, frozenset() in terms, plain, offsets)
    if target in found.columns:
        raise refused(text, f"has its label '{target}' on both sides", "remove one")
    taken = {name for factor in offsets for name in factor.columns}
    rest = [name for name in names if name not in taken]
    return found if len(rest) == len(names) else parsed(text, rest)


def guess_formula(
    files: list[TableFile], columns: Columns, require_target: bool, told: ColumnTypes,
    spelling: Spelling, text: str,
) -> None:  # fmt: skip
    """Infer the types of the columns that a formula names, as
    :func:`linsep.sources.tables.columns.guess_columns` does; other columns are left out.
    """
    file, _ = first_rows(files)
    names, others = list(file.columns()), columns.beside
    found = parsed(text, [name for name in names if name not in others])
    if found.target is None and columns.successes is None:
        advice = "write it before a tilde, as in 'y ~ x'"
        raise refused(text, "has no label", advice, code="no-labels")
    if found.target is not None and columns.successes is not None:
        raise refused(text, "has a label beside successes", "start with a tilde", code="conflict")
    for name in filter(None, [found.target, *found.columns]):
        if name in others:
            what = f"is named for {others[name]}, too"
            raise refused(name, what, "choose one of them", code="column-role")
        if name not in names:
            raise unknown_column(file.path, names, name, "column of the formula")
    if not found.terms and not found.intercept:
        raise refused(text, "has no terms", "add one, such as a column")
    columns.target = found.target
    taken = {found.target, *found.columns, *others}
    columns.exclude = [name for name in names if name not in taken]
    of_numbers = [factor for factor in found.factors if factor.kind != "levels"] + found.offset
    numbers = {name for factor in of_numbers for name in factor.columns}
    levels = {*found.columns} - numbers
    guess_columns(files, columns, require_target, told, spelling, levels)
    for factor in of_numbers:
        if factor.kind != "column" and (texts := {*columns.text} & {*factor.columns}):
            what = f"needs numbers, but column '{min(texts)}' holds text"
            raise refused(factor.text, what, "write C(column) by itself")
    kinds = columns.numeric | dict.fromkeys(columns.text, "text")
    found.inputs, found.orders = {name: kinds[name] for name in found.columns}, columns.levels
    columns.formula = found
    columns.numeric, columns.text, columns.dtype = {}, {}, "float64"
