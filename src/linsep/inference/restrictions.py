"""Linear functions of parameters, written as text: ``x1 = x2, 2 * x3 - x4 = 1``."""

import ast
import re
from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from linsep.errors import ParameterError

_NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_WORD = re.compile(r"[^\s+*/=,()-]+")

Names = Mapping[str, np.ndarray | None]


class Restriction(NamedTuple):
    """A linear function of parameters that is zero under a hypothesis.

    Attributes
    ----------
    text : str, as it was written
    row : array of shape (parameters + 1,), the coefficients and an added constant
    """

    text: str
    row: np.ndarray


def restrictions_of(text: str, names: Names, what: str = "parameter") -> list[Restriction]:
    """Return the restrictions of a text.

    Restrictions are separated by commas; each is a sum, which is compared with zero, or sums joined
    by ``=``. The longest matching name is used; any name may be in backticks. ``names`` has the
    linear function of each name, None for an ambiguous one.
    """
    marked, said, rows = _marked(text, names, what)
    width = next((len(row) for row in names.values() if row is not None), 1)
    one, found = np.eye(width)[-1], list[Restriction]()
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            for part in marked.split(","):
                sides = list[Restriction]()
                for side in part.split("="):
                    row = _linear(ast.parse(side.strip(), mode="eval").body, rows, one)
                    shown = re.sub(r"_(\d+)_", lambda mark: said[int(mark[1])], side)
                    sides.append(Restriction(shown.strip(), row))
                pairs = [Restriction(f"{a} = {b}", x - y) for (a, x), (b, y) in pairwise(sides)]
                found += pairs or sides
        if not np.isfinite([one.row for one in found]).all():
            raise ValueError
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ParameterError(
            f"'{text}' is not a linear hypothesis",
            f"write sums of numbers and {what}s, such as 'a = b, 2 * c - d = 1', and names with "
            "signs in backticks", code="bad-hypothesis", value=text,
        ) from None  # fmt: skip
    return found


def _marked(text: str, names: Names, what: str) -> tuple[str, list[str], list[np.ndarray]]:
    """Return the text with a mark for each name, what the marks stand for, and its functions."""
    each = "|".join(
        re.escape(name) + r"(?!\w)" * bool(re.search(r"\w$", name))
        for name in sorted(filter(None, names), key=len, reverse=True)
    )
    longest, marked, at = re.compile("`[^`]+`|" + (each or "$.")), "", 0
    said, rows = list[str](), list[np.ndarray]()
    while at < len(text):
        number, known = _NUMBER.match(text, at), longest.match(text, at)
        found = known or _WORD.match(text, at)
        if number and not (known and known.end() > number.end()):
            marked, at = marked + number[0], number.end()
        elif not found:
            marked, at = marked + text[at], at + 1
        else:
            name = re.sub(r"^`(.+)`$", r"\1", found[0])
            if (row := names.get(name)) is None:
                raise _unknown(text, name, names, what)
            marked, at = f"{marked}_{len(rows)}_", found.end()
            said.append(found[0])
            rows.append(row)
    return marked, said, rows


def _unknown(text: str, name: str, names: Names, what: str) -> ParameterError:
    if name in names:
        return ParameterError(
            f"'{text}' names '{name}', which is the name of several {what}s",
            "pass a matrix", "give the columns different names", code="duplicate-name", value=name,
        )  # fmt: skip
    known = [f"`{one}`" if "`" not in one else one for one in names]
    more = f" ... ({len(known)} in all)" if len(known) > 12 else ""
    return ParameterError(
        f"'{text}' names '{name}', which is not a {what}",
        f"choose among {', '.join(known[:12])}{more}", code="bad-hypothesis", value=name,
    )  # fmt: skip


def _linear(node: ast.AST, rows: list[np.ndarray], one: np.ndarray) -> np.ndarray:
    """Return the linear function of an expression; ValueError if it is none."""
    match node:
        case ast.Constant(value=int() | float() as value):
            return one * value
        case ast.Name(id=name):
            return rows[int(name.strip("_"))]
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=inner):
            return _linear(inner, rows, one) * (-1.0 if isinstance(sign, ast.USub) else 1.0)
        case ast.BinOp(left=before, op=sign, right=after):
            a, b = _linear(before, rows, one), _linear(after, rows, one)
            if isinstance(sign, ast.Add | ast.Sub):
                return a + b if isinstance(sign, ast.Add) else a - b
            if isinstance(sign, ast.Mult) and not (a[:-1].any() and b[:-1].any()):
                return a * b[-1] if a[:-1].any() else b * a[-1]
            if isinstance(sign, ast.Div) and b[-1] and not b[:-1].any():
                return a / b[-1]
    raise ValueError("not linear")
