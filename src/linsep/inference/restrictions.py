"""Linear functions of parameters, written as text: ``x1 = x2, 2 * x3 - x4 = 1``."""

import ast
import re
from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from linsep.errors import ParameterError

_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_WORD = r"[^\s+*/=,()-]+"


class Restriction(NamedTuple):
    """A linear function of parameters that is zero under a hypothesis, as it was written, and its
    coefficients and an added constant, an array of shape (parameters + 1,).
    """

    text: str
    row: np.ndarray


@np.errstate(all="ignore")  # what is not finite is refused
def restrictions_of(
    text: str, names: Mapping[str, np.ndarray | None], what: str = "parameter"
) -> list[Restriction]:
    """Return the restrictions of a text, as ``wald_test`` says; ``names`` has the linear function
    of each name, None for an ambiguous one.
    """
    width = next((len(row) for row in names.values() if row is not None), 1)
    one, marked = np.eye(width)[-1], list[Restriction]()  # these stand for names
    each = [
        re.escape(name) + r"(?!\w)" * bool(re.search(r"\w$", name))
        for name in sorted(names, key=len, reverse=True)
        if not re.fullmatch(f"{_NUMBER}|", name)
    ]

    def mark(found: re.Match[str]) -> str:
        if found["number"]:
            return found[0]
        name = re.sub(r"^`(.+)`$", r"\1", found[0])
        if (row := names.get(name)) is None:
            several, known = name in names, ", ".join(f"`{one}`" for one in list(names)[:12])
            raise ParameterError(
                f"'{text}' names '{name}', which is {'several' if several else 'no'} {what}s",
                "pass a matrix" if several else f"choose among {known}, ...",
                code="duplicate-name" if several else "bad-hypothesis", value=name,
            )  # fmt: skip
        marked.append(Restriction(found[0], row))
        return f"_{len(marked) - 1}_"

    parts = "`[^`]+`", *each, f"(?P<number>{_NUMBER})", _WORD
    equations, found = re.sub("|".join(parts), mark, text).split(","), list[Restriction]()
    try:
        for equation in equations:
            sides = [_side(side.strip(), marked, one) for side in equation.split("=")]
            pairs = [Restriction(f"{a} = {b}", x - y) for (a, x), (b, y) in pairwise(sides)]
            found += pairs or sides
        if not np.isfinite([each.row for each in found]).all():
            raise ValueError
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ParameterError(
            f"'{text}' is not a linear hypothesis",
            f"write sums of numbers and {what}s, such as 'a = b, 2 * c - d = 1', and names with "
            "signs in backticks", code="bad-hypothesis", value=text,
        ) from None  # fmt: skip
    return found


def _side(text: str, marked: list[Restriction], one: np.ndarray) -> Restriction:
    """Return a side of an equation; ValueError if it is not linear."""

    def linear(node: ast.AST) -> np.ndarray:
        match node:
            case ast.Constant(value=int() | float() as value):
                return one * value
            case ast.Name(id=name):
                return marked[int(name.strip("_"))].row
            case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=inner):
                return linear(inner) * (-1.0 if isinstance(sign, ast.USub) else 1.0)
            case ast.BinOp(left=before, op=sign, right=after):
                a, b = linear(before), linear(after)
                if isinstance(sign, ast.Add | ast.Sub):
                    return a + b if isinstance(sign, ast.Add) else a - b
                if isinstance(sign, ast.Mult) and not (a[:-1].any() and b[:-1].any()):
                    return a * b[-1] if a[:-1].any() else b * a[-1]
                if isinstance(sign, ast.Div) and not b[:-1].any():
                    return a / b[-1]
        raise ValueError("not linear")

    row = linear(ast.parse(text, mode="eval").body)
    return Restriction(re.sub(r"_(\d+)_", lambda mark: marked[int(mark[1])].text, text), row)
