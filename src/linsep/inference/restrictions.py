"""Linear functions of parameters, written as text: ``x1 = x2, 2 * x3 - x4 = 1``."""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from linsep.errors import ParameterError

_NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_WORD = re.compile(r"[^\s+*/=,()-]+")
_SIGNS = "+-*/(),="
#: parentheses within parentheses
_DEEPEST = 50
#: names that an error lists
_LISTED = 12


class Restriction(NamedTuple):
    """A linear function of parameters that is zero under a hypothesis.

    Attributes
    ----------
    text : str, as it was written
    row : array of shape (parameters + 1,), the coefficients and an added constant
    """

    text: str
    row: np.ndarray


def restrictions_of(
    text: str, names: Mapping[str, np.ndarray | None], what: str = "parameter"
) -> list[Restriction]:
    """Return the restrictions of a text.

    Restrictions are separated by commas; each is a sum, which is compared with zero, or sums joined
    by ``=``. Sums consist of numbers, names, ``+``, ``-``, ``*``, ``/`` and parentheses. The
    longest matching name is used; any name may be in backticks.

    Parameters
    ----------
    text : str
    names : dict of name to array of shape (parameters + 1,)
        The linear function of each name; None for an ambiguous name.
    what : str, what the names refer to, for messages

    Raises
    ------
    ParameterError
        If the text has another form, or an unknown name.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # refused
        return _Parser(text, names, what).restrictions()


class _Token(NamedTuple):
    """A sign, or the linear function of a number or a name, and where it is."""

    sign: str
    row: Any
    at: int
    end: int


class _Parser:
    def __init__(self, text: str, names: Mapping[str, np.ndarray | None], what: str):
        self.text, self.names, self.what = text, names, what
        self._longest = sorted(names, key=len, reverse=True)
        self._width = next((len(row) for row in names.values() if row is not None), 1)
        self._tokens = [*self._read(), _Token("end", None, len(text), len(text))]
        self._next = 0

    def _read(self) -> Iterator[_Token]:
        at = 0
        while at < len(self.text):
            if self.text[at].isspace():
                at += 1
                continue
            token = self._token(at)
            yield token
            at = token.end

    def _token(self, at: int) -> _Token:
        """Return the token that begins at a character."""
        text = self.text
        if text[at] == "`":
            end = text.find("`", at + 1)
            if end < 0:
                raise self._refused(at, "has an unmatched backtick")
            return self._named(text[at + 1 : end], at, end + 1)
        number = _NUMBER.match(text, at)
        name = next((name for name in self._longest if name and self._is_here(name, at)), "")
        if number and len(number[0]) >= len(name):
            value = float(number[0])
            if not math.isfinite(value):
                raise self._refused(at, "has a number that overflows float64")
            return _Token("number", self._constant(value), at, number.end())
        if name:
            return self._named(name, at, at + len(name))
        if text[at] in _SIGNS:
            return _Token(text[at], None, at, at + 1)
        word = _WORD.match(text, at)
        return self._named(word[0] if word else text[at], at, at + 1)

    def _is_here(self, name: str, at: int) -> bool:
        """Return whether a name starts at a character and is not part of a longer word."""
        end = at + len(name)
        if not self.text.startswith(name, at):
            return False
        return not (_in_word(name[-1]) and end < len(self.text) and _in_word(self.text[end]))

    def _named(self, name: str, at: int, end: int) -> _Token:
        if name not in self.names:
            known = [f"`{one}`" if "`" not in one else one for one in self.names]
            more = f" ... ({len(known)} in all)" if len(known) > _LISTED else ""
            raise ParameterError(
                f"'{self.text}' names '{name}', which is not a {self.what}",
                f"choose among {', '.join(known[:_LISTED])}{more}",
                code="bad-hypothesis", value=name,
            )  # fmt: skip
        row = self.names[name]
        if row is None:
            raise ParameterError(
                f"'{self.text}' names '{name}', which is the name of several {self.what}s",
                "pass a matrix", "give the columns different names",
                code="duplicate-name", value=name,
            )  # fmt: skip
        return _Token("name", row, at, end)

    def _constant(self, value: float) -> np.ndarray:
        row = np.zeros(self._width)
        row[-1] = value
        return row

    def _refused(self, at: int, what: str) -> ParameterError:
        return ParameterError(
            f"'{self.text}' {what}, at character {at + 1}",
            f"write sums of numbers and {self.what}s, such as 'a = b, 2 * c - d = 1', and names "
            "with signs in backticks", code="bad-hypothesis", value=self.text,
        )  # fmt: skip

    def _taken(self, signs: str) -> str:
        """Return the next token if it is one of these signs, and step over it; else ""."""
        sign = self._tokens[self._next].sign
        if sign not in tuple(signs):
            return ""
        self._next += 1
        return sign

    def restrictions(self) -> list[Restriction]:
        found: list[Restriction] = []
        while True:
            begun = self._tokens[self._next].at
            left = self._sum(0)
            between = self._text(begun)
            compared = False
            while self._taken("="):
                compared, begun = True, self._tokens[self._next].at
                right = self._sum(0)
                said = self._text(begun)
                found.append(Restriction(f"{between} = {said}", left - right))
                left, between = right, said
            if not compared:
                found.append(Restriction(between, left))
            if not self._taken(","):
                break
        if self._tokens[self._next].sign != "end":
            raise self._refused(self._tokens[self._next].at, "is missing an operator")
        return found

    def _text(self, begun: int) -> str:
        """Return what was read since a character."""
        return self.text[begun : self._tokens[self._next - 1].end]

    def _sum(self, depth: int) -> np.ndarray:
        total = self._product(depth)
        while sign := self._taken("+-"):
            term = self._product(depth)
            total = total + term if sign == "+" else total - term
        return self._finite(total)

    def _product(self, depth: int) -> np.ndarray:
        left = self._part(depth)
        while sign := self._taken("*/"):
            at = self._tokens[self._next].at
            right = self._part(depth)
            if sign == "/":
                if right[:-1].any() or not right[-1]:
                    raise self._refused(at, "divides by zero or by something other than a number")
                left = left / right[-1]
            elif left[:-1].any() and right[:-1].any():
                raise self._refused(at, f"multiplies {self.what}s")
            else:
                left = left * right[-1] if left[:-1].any() else right * left[-1]
        return self._finite(left)

    def _finite(self, row: np.ndarray) -> np.ndarray:
        if not np.isfinite(row).all():
            raise self._refused(0, "has a number that overflows float64")
        return row

    def _part(self, depth: int) -> np.ndarray:
        """Return a number, a name, what is in parentheses, or one of these with a sign."""
        if depth > _DEEPEST:
            raise self._refused(self._tokens[self._next].at, "is nested too deeply")
        if sign := self._taken("+-"):
            part = self._part(depth + 1)
            return part if sign == "+" else -part
        if self._taken("("):
            inner = self._sum(depth + 1)
            if not self._taken(")"):
                raise self._refused(self._tokens[self._next].at, "has no closing parenthesis")
            return inner
        token = self._tokens[self._next]
        if token.row is None:
            what = "ends where a name or a number is expected"
            if token.sign != "end":
                what = f"has '{token.sign}' where a name or a number is expected"
            raise self._refused(token.at, what)
        self._next += 1
        return np.asarray(token.row)


def _in_word(character: str) -> bool:
    return character.isalnum() or character == "_"
