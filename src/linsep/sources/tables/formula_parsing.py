"""Formulas as users write them: a label, and terms, which are products of factors."""

import re
from collections.abc import Iterable
from itertools import chain, product
from typing import NamedTuple

from linsep.errors import DataError
from linsep.sources.tables.formula_factors import (
    LONGEST,
    TEXT,
    Factor,
    NotAllowed,
    column_factor,
    factor_of,
)

_PIECES = re.compile(rf"\s*({TEXT}|`[^`]+`|[\w.]+|\*\*|%\w*%|\S)")
_NAME = re.compile(r"`[^`]+`|[\w.]*[^\W\d][\w.]*")
#: operators between terms: which bind closer have larger numbers
_BINDING = {"*": 1, "/": 1, ":": 2, "**": 3, "^": 3}
#: what to do about pieces that formulas of other programs have
_ADVICE = {
    "%in%": ("has %in%", "write x:z for x %in% z"),
    "|": ("has several parts", "write one, without a bar"),
}
#: the names of the factors of terms, whatever their order, and in their order
Terms = dict[frozenset[str], tuple[str, ...]]
_ONE: Terms = {frozenset(): ()}


class Parsed(NamedTuple):
    """A formula.

    Attributes
    ----------
    text : str
    target : name of the column on the left side, None without one
    intercept : whether it has an intercept, as it has unless it says ``- 1`` or ``+ 0``
    factors : factors of the right side by their names
    terms : names of the factors of each, from few to many, without the intercept
    offsets : what stands in each ``offset(...)``, and its arithmetic
    """

    text: str
    target: str | None
    intercept: bool
    factors: dict[str, Factor]
    terms: list[tuple[str, ...]]
    offsets: dict[str, Factor]

    @property
    def columns(self) -> list[str]:
        every = (*self.factors.values(), *self.offsets.values())
        return list(dict.fromkeys(name for f in every for name in f.columns))


class _Reader:
    """Reads the pieces of a formula, one by one; a dot stands for the columns ``names``."""

    names: list[str]

    def __init__(self, text: str):
        self.text, self.at = text, 0
        self.pieces = [(m[1], m.start(1)) for m in _PIECES.finditer(text)] + [("", len(text))]
        self.factors: dict[str, Factor] = {}

    @property
    def piece(self) -> str:
        return self.pieces[self.at][0]

    def refused(
        self, at: int, what: str = "does not parse", advice: str = "correct it"
    ) -> DataError:
        piece, start = self.pieces[at]
        place = f"at character {start + 1}, '{piece[:40]}'" if piece else "at its end"
        return DataError(
            f"The formula '{shown(self.text)}' {what}, {place}", advice,
            code="bad-formula", value=piece,
        )  # fmt: skip

    def sum(self, found: Terms) -> Terms:
        """Read terms that are added to or taken from those ``found``."""
        first = self.at
        while self.at == first or self.piece in ("+", "-"):
            added = True
            while self.piece in ("+", "-"):
                added ^= self.piece == "-"
                self.at += 1
            if self.piece in ("0", "1"):
                terms, added = _ONE, added == (self.piece == "1")
                self.at += 1
            else:
                terms = self.product()
            if not added and any(self.factors[x].kind == "offset" for x in chain(*terms.values())):
                raise self.refused(self.at, "subtracts an offset", "add offset(-z)")
            rest = {key: names for key, names in found.items() if key not in terms}
            found = _both(found, terms) if added else rest
        return found

    def product(self, binding: int = 0) -> Terms:
        """Read terms joined by operators that bind closer."""
        found = self.atom()
        while (closer := _BINDING.get(self.piece, 0)) > binding:
            operator, base = self.piece, found
            self.at += 1
            if closer == 3:
                if not re.fullmatch(r"[1-9]\d*", self.piece):
                    raise self.refused(self.at, "has a power that is not a positive integer")
                for _ in range(min(int(self.piece), len(self.factors)) - 1):
                    found = _crossed(found, base)
                self.at += 1
                continue
            others = self.product(closer)
            if operator == "/":
                every = tuple(dict.fromkeys(chain(*found.values())))
                found = _both(found, _crossed({frozenset(every): every}, others))
            else:
                alone = _both(found, others) if operator == "*" else {}
                found = _both(alone, _crossed(found, others))
        return found

    def atom(self) -> Terms:
        """Read terms in brackets, one factor, or a dot."""
        first, (piece, start) = self.at, self.pieces[self.at]
        self.at += 1
        if piece == "(":
            found = self.sum({})
            if self.piece != ")":
                raise self.refused(self.at)
            self.at += 1
            return found
        named, depth = _NAME.fullmatch(piece), 0
        if named and self.piece == "(":
            while self.piece and (depth or self.at == first + 1):
                depth += (self.piece == "(") - (self.piece == ")")
                self.at += 1
            try:
                factors = [factor_of(self.text[start : self.pieces[self.at - 1][1] + 1])]
            except NotAllowed as error:
                raise self.refused(first, *error.args) from None
        elif named or piece == ".":
            factors = list(map(column_factor, [piece.strip("`")] if named else self.names))
        else:
            raise self.refused(first, *_ADVICE.get(piece, ()))
        if any(self.factors.setdefault(f.text, f).kind != f.kind for f in factors):
            raise self.refused(first, "has two features of one name", "rename a column")
        return {frozenset([factor.text]): (factor.text,) for factor in factors}


def _both(found: Terms, others: Terms) -> Terms:
    return found | {key: names for key, names in others.items() if key not in found}


def _crossed(found: Terms, others: Terms) -> Terms:
    made: Terms = {}
    for names, more in product(found.values(), others.values()):
        made.setdefault(frozenset(names + more), tuple(dict.fromkeys(names + more)))
    return made


def parsed(text: str, names: Iterable[str] = ()) -> Parsed:
    """Parse a formula; DataError, with the place, where it does not parse or holds what formulas
    may not.

    ``names`` are the columns that a dot stands for, without the label and columns of offsets.
    """
    if not isinstance(text, str) or not text.strip() or len(text) > LONGEST:
        raise DataError(
            f"formula is {shown(repr(text))}",
            f"write one of at most {LONGEST:,} characters, such as 'y ~ x + C(rank)'",
            code="bad-formula", value=text,
        )  # fmt: skip
    reader = _Reader(text)
    label = next((k for k, (piece, _) in enumerate(reader.pieces) if piece == "~"), -1)
    target = reader.pieces[0][0].strip("`") if label > 0 else None
    if label > 1 or (target is not None and not _NAME.fullmatch(reader.pieces[0][0])):
        raise reader.refused(
            0, "has a label that is not one column",
            "add a column with these values to the data and name it there",
        )  # fmt: skip
    if not reader.pieces[label + 1][0]:
        raise reader.refused(label + 1, "has no terms", "write 1 for the intercept alone")
    reader.at, reader.names = label + 1, [name for name in names if name != target]
    try:
        terms = reader.sum(_ONE)
    except RecursionError:
        raise reader.refused(label + 1, "is nested too deeply", "use fewer brackets") from None
    if reader.piece:
        raise reader.refused(reader.at)
    found = Parsed(text, target, frozenset() in terms, {}, [], {})
    for term in sorted(filter(None, terms.values()), key=len):
        factors = {name: reader.factors[name] for name in term}
        if all(factor.kind != "offset" for factor in factors.values()):
            found.factors.update(factors)
            found.terms.append(term)
        elif len(term) > 1:
            raise reader.refused(label + 1, "multiplies an offset", "write + offset(z) by itself")
        else:
            found.offsets[term[0].removeprefix("offset(")[:-1]] = factors[term[0]]
    if target in found.columns:
        raise DataError(
            f"The formula '{shown(text)}' has its label '{target}' on both sides",
            "remove one",
            code="bad-formula", column=target,
        )  # fmt: skip
    taken = {name for factor in found.offsets.values() for name in factor.columns}
    rest = [name for name in reader.names if name not in taken]
    return found if len(rest) == len(reader.names) else parsed(text, rest)


def shown(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:200]}..."
