"""Factors of formulas: valid content, and values. They are never run as Python.

A factor is a column, arithmetic of columns of numbers, ``C(column)`` with contrasts, or a
transformation ``poly``, ``bs`` or ``cr``. Its text is parsed, and whatever is not in the lists
below is refused, in formulas that users write as in recipes of model files.
"""

import ast
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

#: characters of a formula
LONGEST = 10_000
#: functions of numbers
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "I": lambda x: x, "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "log10": np.log10,
    "log2": np.log2, "log1p": np.log1p,
    "abs": lambda x: x * np.sign(np.real(x)),  # also of a complex step
}  # fmt: skip
#: transformations of numbers, which learn constants, with their settings in order
TRANSFORMS = {
    "poly": ("degree", "raw"),
    "bs": ("df", "knots", "degree", "include_intercept", "lower_bound", "upper_bound"),
    "cr": ("df", "knots", "lower_bound", "upper_bound", "constraints"),
}
#: contrasts of levels, with their settings in order
CONTRASTS = {
    "treatment": ("base",), "SAS": ("base",), "sum": (), "helmert": ("reverse", "scale"),
    "diff": ("backward",), "poly": ("scores",),
}  # fmt: skip
#: other names of contrasts, as in patsy and statsmodels
_OF_PATSY = {
    "Treatment": "treatment", "Sum": "sum", "Helmert": "helmert", "Diff": "diff", "Poly": "poly",
}  # fmt: skip
_ARITHMETIC: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply, ast.Div: np.divide,
    ast.Pow: np.power,
}  # fmt: skip
#: the largest degree, and the most degrees of freedom and knots
_DEGREE, _MOST = 50, 1000
_LARGEST = float(np.finfo(np.float64).max)
_QUOTED = re.compile(r"`([^`]*)`")
#: powers as R writes them, and texts, which may have the same character
_POWERS = re.compile(r"""\^|"[^"]*"|'[^']*'""")


class NotAllowed(Exception):
    """A factor that is refused.

    Attributes
    ----------
    what : str
        Continues after the place: "calls foo, which formulas do not have".
    advice : str
    at : int
        The character of the factor where it is.
    end : int or None
        The character behind it.
    """

    def __init__(self, what: str, advice: str, node: ast.AST | None = None, at: int = 0):
        super().__init__(f"{what}: {advice}")
        self.what, self.advice = what, advice
        self.at = getattr(node, "col_offset", at)
        self.end: int | None = getattr(node, "end_col_offset", None)


class Factor(NamedTuple):
    """A factor of a formula.

    Attributes
    ----------
    kind : "column", "number" (of arithmetic), "levels" (of ``C``), or the name of a transformation
    columns : names of the columns, the only one for "column" and "levels"
    node : the arithmetic, also inside a transformation; None for "column" and "levels"
    called : column by its name in ``node``
    settings : of the transformation by name; of ``C`` "contrast" with its own "settings", "levels"
    """

    kind: str
    columns: tuple[str, ...]
    node: ast.expr | None = None
    called: dict[str, str] = {}  # noqa: RUF012 - never changed
    settings: dict[str, Any] = {}  # noqa: RUF012 - never changed

    def values(self, column: Callable[[str], np.ndarray]) -> Any:
        """Return the arithmetic of columns of floats."""
        return _value(self.node, lambda name: column(self.called.get(name, name)))


def column_factor(name: str) -> Factor:
    """Return the factor that is a column."""
    return Factor("column", (name,))


def factor_of(text: str) -> Factor:
    """Return the factor of a text that is more than a name; NotAllowed for anything else."""
    node, called = _parsed(text)
    name = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
    if name in ("C", "factor"):
        return _levels(node, called)
    if name in TRANSFORMS:
        assert isinstance(node, ast.Call)
        if not node.args or isinstance(node.args[0], ast.Starred):
            raise NotAllowed(f"gives {name} nothing to transform", f"write {name}(column, ...)")
        settings = _settings(name, TRANSFORMS[name], node.args[1:], node.keywords)
        inner = node.args[0]
        return Factor(name, _columns(inner, called), inner, called, settings)
    return Factor("number", _columns(node, called), node, called)


def _parsed(text: str) -> tuple[ast.expr, dict[str, str]]:
    """Return the expression of a text, and the columns whose names it quotes by ours."""
    called: dict[str, str] = {}

    def name(quoted: re.Match[str]) -> str:
        ours = f"column_{len(called)}_"
        while ours in text:
            ours += "_"
        called[ours] = quoted[1]
        return ours

    plain = _QUOTED.sub(name, text)
    plain = _POWERS.sub(lambda found: "**" if found[0] == "^" else found[0], plain)
    if len(plain) > LONGEST:
        raise NotAllowed("is very long", f"write at most {LONGEST:,} characters")
    try:
        return ast.parse(plain.strip(), mode="eval").body, called
    except SyntaxError as error:
        raise NotAllowed(
            "does not parse", "correct it", at=max(0, (error.offset or 1) - 1)
        ) from None
    except (ValueError, RecursionError, MemoryError):
        raise NotAllowed("does not parse", "correct it") from None


def _columns(node: ast.expr, called: dict[str, str]) -> tuple[str, ...]:
    """Return the columns of arithmetic; NotAllowed if it is something else, or has none."""
    try:
        found = dict.fromkeys(called.get(name, name) for name in _names(node))
    except RecursionError:
        raise NotAllowed("is nested too deeply", "write it in several terms") from None
    if not found:
        raise NotAllowed("names no column", "name one, or leave it out")
    return tuple(found)


def _names(node: ast.AST) -> list[str]:
    """Return the names in arithmetic, which is all that it may be."""
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        if not abs(node.value) <= _LARGEST:  # type: ignore[arg-type]
            raise NotAllowed("has a number that overflows float64", "correct it", node)
        return []
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        return _names(node.operand)
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        return _names(node.left) + _names(node.right)
    if isinstance(node, ast.Call):
        name, argument = ast.unparse(node.func)[:40], node.args[0] if len(node.args) == 1 else None
        if not isinstance(node.func, ast.Name) or name not in FUNCTIONS:
            raise NotAllowed(
                f"calls {name} within arithmetic",
                f"call {', '.join(FUNCTIONS)}, and {', '.join(TRANSFORMS)}, C and offset as terms "
                "by themselves", node,
            )  # fmt: skip
        if argument is None or node.keywords or isinstance(argument, ast.Starred):
            raise NotAllowed(f"gives {name} other than one argument", f"write {name}(column)", node)
        return _names(argument)
    raise NotAllowed(
        "has an expression that is not arithmetic",
        "use columns, numbers, +, -, *, / and **, with backticks around other names; conditions "
        "are columns of their own, and text is for levels only, as in C(city, Treatment('Rome'))",
        node,
    )


def _levels(node: Any, called: dict[str, str]) -> Factor:
    """Return the factor ``C(column, contrasts, levels=[...])``."""
    if not node.args or not isinstance(node.args[0], ast.Name) or len(node.args) > 2:
        raise NotAllowed("has C without a column", "write C(column), perhaps with contrasts")
    name = node.args[0].id
    given = {keyword.arg: keyword.value for keyword in node.keywords}
    if len(node.args) == 2:
        given["contrasts"] = node.args[1]
    if other := given.keys() - {"contrasts", "levels"}:
        raise NotAllowed(
            f"gives C {min(map(str, other))}", "it has contrasts and levels", node.col_offset
        )
    found: dict[str, Any] = {"contrast": "treatment", "settings": {}, "levels": None}
    if "contrasts" in given:
        found["contrast"], found["settings"] = _contrast(given["contrasts"])
    if "levels" in given:
        levels = _constant(given["levels"])
        if not isinstance(levels, list) or not levels or len(set(levels)) < len(levels):
            raise NotAllowed(
                "has levels that are not a list of different values", 'write levels=["a", "b"]',
                given["levels"],
            )  # fmt: skip
        found["levels"] = levels
    return Factor("levels", (called.get(name, name),), settings=found)


def _contrast(node: ast.expr) -> tuple[str, dict[str, Any]]:
    """Return the name of contrasts and their settings."""
    call = node if isinstance(node, ast.Call) else None
    which = node.func if isinstance(node, ast.Call) else node
    name = None
    if isinstance(which, ast.Name):
        name = _OF_PATSY.get(which.id)
    elif isinstance(which, ast.Attribute) and isinstance(which.value, ast.Name):
        name = which.attr if which.value.id == "contr" and which.attr in CONTRASTS else None
    if name is None:
        raise NotAllowed(
            f"has {ast.unparse(node)[:40]} for contrasts",
            "use contr.treatment, contr.sum, contr.helmert, contr.poly, contr.diff or contr.SAS",
            node,
        )
    if call is None:
        return name, {}
    number = call.args and isinstance(call.args[0], ast.Constant) and not isinstance(
        call.args[0].value, str
    )  # fmt: skip
    if number and isinstance(which, ast.Attribute) and name == "treatment":
        raise NotAllowed(
            f"has {ast.unparse(node)[:40]}, which means a number of levels in R",
            "write contr.treatment(base=...) or Treatment(...) for the reference level", node,
        )  # fmt: skip
    keywords = [ast.keyword("base", k.value) if k.arg == "reference" else k for k in call.keywords]
    return name, _settings(f"contr.{name}", CONTRASTS[name], call.args, keywords)


def _settings(
    name: str, allowed: tuple[str, ...], args: list[ast.expr], keywords: list[ast.keyword]
) -> dict[str, Any]:
    """Return the settings of a transformation or of contrasts by name."""
    pairs = [*zip(allowed, args, strict=False), *((k.arg, k.value) for k in keywords)]
    given = {str(setting): node for setting, node in pairs}
    if len(args) > len(allowed) or len(given) < len(pairs) or not given.keys() <= {*allowed}:
        raise NotAllowed(
            f"gives {name} arguments that it does not have, or one twice",
            f"it has {', '.join(allowed) or 'none'}",
        )
    return {setting: _setting(name, setting, node) for setting, node in given.items()}


def _setting(name: str, setting: str, node: ast.expr) -> Any:
    """Return the value of a setting; NotAllowed if it has another type or is too large."""
    value = _constant(node)
    number = _is_number(value)
    numbers = isinstance(value, list) and len(value) <= _MOST and all(map(_is_number, value))
    fine = {
        "degree": type(value) is int and 1 <= value <= _DEGREE,
        "df": type(value) is int and 1 <= value <= _MOST,
        "knots": numbers, "scores": numbers, "lower_bound": number, "upper_bound": number,
        "constraints": value == "center",
        "base": not isinstance(value, list),
    }.get(setting, type(value) is bool)  # fmt: skip
    if not fine:
        raise NotAllowed(
            f"has {ast.unparse(node)[:40]} for {setting} of {name}", "give it a value of its type",
            node,
        )  # fmt: skip
    return value


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) <= _LARGEST


def _constant(node: ast.expr) -> Any:
    """Return a number, a text, True, False, or a list of these."""
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        value = None
    value = list(value) if isinstance(value, tuple) else value
    for one in value if isinstance(value, list) else [value]:
        if type(one) not in (int, float, str, bool):
            raise NotAllowed(
                f"has {ast.unparse(node)[:40]} where values are written out",
                "write a number or a text",
                node,
            )
    return value


def _value(node: ast.AST | None, column: Callable[[str], np.ndarray]) -> Any:
    """Return the value of arithmetic that :func:`_names` has accepted."""
    if isinstance(node, ast.Name):
        return column(node.id)
    if isinstance(node, ast.Constant):
        return np.float64(node.value)  # type: ignore[arg-type]
    if isinstance(node, ast.UnaryOp):
        value = _value(node.operand, column)
        return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.BinOp):
        left, right = _value(node.left, column), _value(node.right, column)
        return _ARITHMETIC[type(node.op)](left, right)
    assert isinstance(node, ast.Call)
    assert isinstance(node.func, ast.Name)
    return FUNCTIONS[node.func.id](_value(node.args[0], column))
