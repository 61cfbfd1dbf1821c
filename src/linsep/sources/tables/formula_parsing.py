"""Formulas as users write them: a label, and terms, which are products of factors."""

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain, product
from typing import Any

from linsep.sources.tables.formula_factors import (
    NAME,
    Factor,
    column_factor,
    factor_of,
    parse,
    refused,
)

#: the factors of terms, whatever their order, and in their order
Terms = dict[frozenset[Factor], tuple[Factor, ...]]
#: the intercept
_ONE: Terms = {frozenset(): ()}


@dataclass
class Parsed:
    """A formula.

    Attributes
    ----------
    target : name of the column on the left side, None without one
    intercept : whether it has an intercept, as it has unless it says ``- 1`` or ``+ 0``
    terms : the factors of each, from few to many, without the intercept
    offsets : what stands in each ``offset(...)``
    """

    target: str | None
    intercept: bool
    terms: list[tuple[Factor, ...]]
    offsets: list[Factor]

    @property
    def factors(self) -> list[Factor]:
        """The factors of the terms."""
        return list(dict.fromkeys(chain(*self.terms)))

    @property
    def columns(self) -> list[str]:
        """The columns of the right side."""
        return list(dict.fromkeys(name for f in self.factors + self.offsets for name in f.columns))


class _Terms:
    """Returns the terms of syntax trees; a dot stands for the columns ``names``."""

    def __init__(self, names: list[str]):
        self.names = names
        self.factors: dict[tuple[str, str], Factor] = {}

    def of(self, node: ast.expr) -> Terms:
        match node:
            case ast.Constant(1):
                return _ONE
            case ast.Constant(value) if value is ...:
                return self._each(map(column_factor, self.names))
            case ast.Name(name):
                return self._each([column_factor(name.strip("`"))])
            case ast.Call():
                return self._each([factor_of(node)])
            case ast.BinOp(_, ast.Add() | ast.Sub(), _):
                return self.sum(node, {})
            case ast.BinOp(left, ast.Mult(), right):
                terms, others = self.of(left), self.of(right)
                return _both(_both(terms, others), _crossed(terms, others))
            case ast.BinOp(left, ast.Div(), right):
                terms = self.of(left)
                every = tuple(dict.fromkeys(chain(*terms.values())))
                return _both(terms, _crossed({frozenset(every): every}, self.of(right)))
            case ast.BinOp(left, ast.Pow(), ast.UnaryOp(ast.Invert(), right)):
                return _crossed(self.of(left), self.of(right))
            case ast.BinOp(left, ast.Pow(), ast.Constant(int(power))) if power > 0:
                terms = powers = self.of(left)
                for _ in range(min(power, len(self.factors)) - 1):
                    powers = _crossed(powers, terms)
                return powers
            case ast.BinOp(left, ast.Pow(), ast.BinOp(ast.Constant() as power, ast.Pow(), right)):
                return self.of(ast.BinOp(ast.BinOp(left, ast.Pow(), power), ast.Pow(), right))
        raise refused(ast.unparse(node), "is no term", "write arithmetic as in I(x**2 - z)")

    def _each(self, factors: Iterable[Factor]) -> Terms:
        known = [self.factors.setdefault((f.kind, f.text), f) for f in factors]
        return {frozenset([factor]): (factor,) for factor in known}

    def sum(self, node: ast.expr, terms: Terms) -> Terms:
        """Return terms with those that a sum adds, and without those that it subtracts."""
        parts: list[tuple[Any, ast.expr]] = []
        while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            parts.append((node.op, node.right))
            node = node.left
        unsigned = (ast.Add(), node)
        parts.append((node.op, node.operand) if isinstance(node, ast.UnaryOp) else unsigned)
        for sign, part in reversed(parts):
            none = isinstance(part, ast.Constant) and part.value == 0  # - 1 is + 0
            others = _ONE if none else self.of(part)
            if isinstance(sign, ast.Add | ast.UAdd) != none:
                terms = _both(terms, others)
            else:
                terms = {key: term for key, term in terms.items() if key not in others}
        return terms


def _both(terms: Terms, others: Terms) -> Terms:
    return terms | others | terms  # in the order of the first


def _crossed(terms: Terms, others: Terms) -> Terms:
    made: Terms = {}
    for factors, more in product(terms.values(), others.values()):
        made.setdefault(frozenset(factors + more), tuple(dict.fromkeys(factors + more)))
    return made


def parsed(text: str, names: Iterable[str] = ()) -> Parsed:
    """Parse a formula; DataError where it does not parse or holds what formulas may not.

    ``names`` are the columns that a dot stands for, without the label and columns of offsets.
    """
    left, _, right = text.partition("~") if "~" in text else ("", "", text)
    target = left.strip().strip("`") or None
    if target and not re.fullmatch(NAME, left.strip()):
        raise refused(
            left.strip(), "is a label that is not one column",
            "add a column with these values to the data and name it there",
        )  # fmt: skip
    if not right.strip():
        raise refused(text, "has no terms", "write 1 for the intercept alone")
    names = [name for name in names if name != target]
    reader = _Terms(names)
    try:
        terms = reader.sum(parse(right), _ONE)
    except (RecursionError, OverflowError):
        raise refused(text, "is too long or has too large numbers", "shorten it") from None
    every = sorted(filter(None, terms.values()), key=len)
    offsets = [factor for factor in reader.factors.values() if factor.kind == "offset"]
    if not {*offsets} <= {factors[0] for factors in every if len(factors) == 1}:
        raise refused(text, "multiplies or subtracts an offset", "write + offset(z) by itself")
    found = Parsed(target, frozenset() in terms, [x for x in every if x[0] not in offsets], offsets)
    if target in found.columns:
        raise refused(text, f"has its label '{target}' on both sides", "remove one")
    taken = {name for factor in offsets for name in factor.columns}
    rest = [name for name in names if name not in taken]
    return found if len(rest) == len(names) else parsed(text, rest)
