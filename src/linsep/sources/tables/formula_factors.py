"""Factors of formulas: a column, arithmetic of columns of numbers, ``C(column)`` with contrasts, or
a transformation. They are never run as Python.

The text of a factor is parsed, and whatever is not in the tables below is refused, in formulas that
users write as in recipes of model files. What is left is evaluated node by node, with complex
numbers for derivatives.
"""

import ast
import re
from collections.abc import Callable
from keyword import iskeyword
from typing import Any, NamedTuple

import numpy as np

from linsep.errors import DataError

#: characters of a formula
LONGEST = 10_000
#: functions of numbers, also of complex ones
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "I": lambda x: x, "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "log10": np.log10,
    "log2": np.log2, "log1p": np.log1p, "abs": lambda x: x * np.sign(np.real(x)),
}  # fmt: skip
_OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply, ast.Div: np.divide,
    ast.Pow: np.power,
    ast.Gt: lambda a, b: 1.0 * (np.real(a) > np.real(b)),
    ast.GtE: lambda a, b: 1.0 * (np.real(a) >= np.real(b)),
    ast.Lt: lambda a, b: 1.0 * (np.real(a) < np.real(b)),
    ast.LtE: lambda a, b: 1.0 * (np.real(a) <= np.real(b)),
    ast.Eq: lambda a, b: 1.0 * (np.real(a) == np.real(b)),
    ast.NotEq: lambda a, b: 1.0 * (np.real(a) != np.real(b)),
}  # fmt: skip
_LARGEST = float(np.finfo(np.float64).max)
#: knots that a transformation may have learned, and as many splines
_MOST_LEARNED = 2000
#: transformations of numbers, which learn constants, with their settings in order
TRANSFORMS: dict[str, tuple[str, ...]] = {
    "poly": ("degree", "raw"), "bs": ("df", "knots", "degree"),
    "cr": ("df", "knots", "constraints"), "offset": (),
}  # fmt: skip
#: contrasts of levels, with their settings
CONTRASTS: dict[str, tuple[str, ...]] = {
    "treatment": ("base",), "SAS": (), "sum": (), "helmert": (), "diff": (), "poly": (),
}  # fmt: skip


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) <= _LARGEST


def _is_level(value: Any) -> bool:
    return type(value) in (int, float, str, bool)


#: which values a setting may have
_VALID: dict[str, Callable[[Any], bool]] = {
    "degree": lambda value: type(value) is int and 1 <= value <= 50,
    "df": lambda value: type(value) is int and 1 <= value <= 1000,
    "knots": lambda value: (
        type(value) is list and len(value) <= 1000 and all(map(_is_number, value))
    ),
    "raw": lambda value: type(value) is bool,
    "constraints": lambda value: bool(value == "center"),
    "base": _is_level,
    "levels": lambda value: (
        type(value) is list and all(map(_is_level, value)) and 0 < len(value) == len({*value})
    ),
}
#: what to write for functions of R that are not here
_ADVICE = {
    "ns": "write cr(x, df=4, constraints='center')", "s": "write cr(x, df=8, constraints='center')",
    "scale": "write the mean and the deviation, as in I((x - 5) / 2)",
    "cut": "write conditions, as in I(x > 5), or add a column of classes",
}  # fmt: skip
#: contrasts by the names of R, and of patsy and statsmodels
_CONTRASTS = {f"contr.{name}": name for name in CONTRASTS} | {
    name.capitalize(): name for name in CONTRASTS
}
#: texts, and what is written otherwise in Python: quoted names, and powers
TEXT = r""""(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'"""
_OF_R = re.compile(rf"{TEXT}|`[^`]*`|\*\*|\^")


class NotAllowed(ValueError):
    """A factor that is refused: what it does, and advice."""


class Factor(NamedTuple):
    """A factor of a formula.

    Attributes
    ----------
    text : its name in features
    kind : "column", "number" (of arithmetic), "levels" (of ``C``), or the name of a transformation
    columns : names of the columns, the only one for "column" and "levels"
    node : the arithmetic, also inside a transformation
    settings : of the transformation or the contrasts by name; the "contrast" and "levels" of ``C``
    constants : what a transformation has learned
    levels : values of the column, None if it has no levels
    coding : array, a row of numbers for each level
    """

    text: str
    kind: str
    columns: tuple[str, ...]
    node: ast.expr
    settings: dict[str, Any] = {}  # noqa: RUF012 - never changed
    constants: dict[str, Any] | None = None
    levels: list[Any] | None = None
    coding: np.ndarray | None = None

    def numbers(self, column: Callable[[str], np.ndarray]) -> Any:
        return _value(self.node, column)

    def values(self, column: Callable[[str], np.ndarray]) -> np.ndarray:
        """Return its columns, if it has no levels."""
        x = np.asarray(self.numbers(column))
        if self.constants is None:
            return x[:, None]
        return _transformed(self.kind, x, self.settings, self.constants)

    @property
    def width(self) -> int:
        with np.errstate(all="ignore"):
            columns = self.values(lambda _: np.zeros(1)) if self.coding is None else self.coding
        return int(columns.shape[1])

    def learned(self, column: Callable[[str], np.ndarray]) -> "Factor":
        if self.kind not in TRANSFORMS:
            return self
        try:
            with np.errstate(all="ignore"):
                x = np.asarray(self.numbers(column))
                return self._replace(constants=_learned(self.kind, x, self.settings))
        except (ValueError, IndexError) as error:
            raise DataError(
                f"'{self.text}' of the formula cannot be computed from these rows ({error})",
                "choose a lower degree or fewer knots",
                code="bad-formula", value=self.text,
            ) from None  # fmt: skip

    def coded(self, reduced: bool) -> tuple["Factor", list[str]]:
        """Return it as it is coded, ``reduced`` by a level, and the names of its columns."""
        if self.levels is not None:
            names, coding = contrasts(self, self.levels, reduced)
            return self._replace(coding=coding), [f"{self.text}[{name}]" for name in names]
        if self.constants is None:
            return self, [self.text]
        first = 0 if self.settings.get("raw") else 1
        return self, [f"{self.text}[{k}]" for k in range(first, first + self.width)]

    def to_json(self) -> dict[str, Any]:
        if self.coding is not None:
            rows = [[np.flatnonzero(row).tolist(), row[row != 0].tolist()] for row in self.coding]
            stored = {"column": self.columns[0], "levels": self.levels, "width": self.width}
            return stored | {"coding": rows}
        stored = {"column" if self.kind == "column" else "expression": self.text}
        return stored | ({} if self.constants is None else {"constants": self.constants})

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "Factor":
        """Return the factor of plain JSON; ValueError, LookupError, TypeError if it is damaged."""
        if "expression" in stored:
            factor, constants = factor_of(stored["expression"]), stored.get("constants")
            if (factor.kind in TRANSFORMS) != (constants is not None) or factor.kind == "levels":
                raise ValueError(f"{factor.kind} with other constants")
            return factor._replace(constants=constants and _checked(constants))
        factor, levels = column_factor(str(stored["column"])), stored.get("levels")
        if levels is None:
            return factor
        if not (all(map(_is_level, levels)) and 0 <= stored["width"] <= len(levels)):
            raise ValueError("other levels")
        coding = np.zeros((len(levels), int(stored["width"])))
        for row, (places, values) in zip(coding, stored["coding"], strict=True):
            row[np.array(places, dtype=np.intp)] = np.array(values, dtype=np.float64)
        return factor._replace(levels=list(levels), coding=coding)


def column_factor(name: str) -> Factor:
    return Factor(name, "column", (name,), ast.Name(f"`{name}`"))


def factor_of(text: str) -> Factor:
    """Return the factor of a text that is more than a name; NotAllowed for anything else."""
    if len(text) > LONGEST:
        raise NotAllowed("is very long", f"write at most {LONGEST:,} characters")
    quoted: dict[str, str] = {}

    def plain(found: re.Match[str]) -> str:
        piece, name = found[0], found[0][1:-1]
        if piece[0] != "`":
            return "**" if piece == "^" else piece
        if not name.isidentifier() or iskeyword(name):
            name = "_" * len(text) + str(len(quoted))  # longer than any name in the text
            quoted[name] = piece
        return f" {name} "

    try:
        node = ast.parse(_OF_R.sub(plain, text).strip(), mode="eval").body
        for one in ast.walk(node):
            if isinstance(one, ast.Name):
                one.id = quoted.get(one.id, one.id)
        name = ast.unparse(node).replace("\n", " ")
        if "^" in _OF_R.findall(text):
            name = _OF_R.sub(lambda found: "^" if found[0] == "**" else found[0], name)
        return _factor(name, node)
    except (SyntaxError, MemoryError):
        raise NotAllowed("does not parse", "correct it") from None
    except RecursionError:
        raise NotAllowed("is nested too deeply", "write it in several terms") from None


def _factor(text: str, node: ast.expr) -> Factor:
    columns: dict[str, None] = {}

    def seen(name: str) -> Any:
        columns[name] = None
        return np.float64(1.0)

    kind, settings = "number", {}
    match node:
        case ast.Call(ast.Name("C" | "factor"), [ast.Name() as inner, *rest], keywords):
            kind, settings, node = "levels", _coding(rest, keywords), inner
        case ast.Call(ast.Name(name), [inner, *rest], keywords) if name in TRANSFORMS:
            kind, node = name, inner
            settings = _settings(name, TRANSFORMS[name], rest, keywords)
    with np.errstate(all="ignore"):
        _value(node, seen)
    if not columns:
        raise NotAllowed("names no column", "name one, or leave it out")
    return Factor(text, kind, tuple(columns), node, settings)


def _value(node: ast.expr, column: Callable[[str], Any]) -> Any:
    """Return the value of arithmetic; NotAllowed for anything else."""
    match node:
        case ast.Name(name):
            return column(name.strip("`"))
        case ast.Constant(number) if _is_number(number):
            return np.float64(number)  # type: ignore[arg-type]
        case ast.UnaryOp(ast.UAdd() | ast.USub() as sign, operand):
            return _value(operand, column) * (1 if isinstance(sign, ast.UAdd) else -1)
        case ast.BinOp(left, operator, right) | ast.Compare(left, [operator], [right]) if (
            type(operator) in _OPERATORS
        ):
            return _OPERATORS[type(operator)](_value(left, column), _value(right, column))
        case ast.Call(ast.Name(name), [argument], []) if name in FUNCTIONS:
            return FUNCTIONS[name](_value(argument, column))
    called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
    raise NotAllowed(
        f"has {ast.unparse(node)[:40]}, which is not arithmetic",
        _ADVICE.get(called)
        or f"use columns, numbers, +, -, *, /, **, <, >, ==, {', '.join(FUNCTIONS)}, and "
        f"{', '.join(TRANSFORMS)} and C as terms by themselves, with backticks around other names; "
        "text is for levels only, as in C(city, Treatment('Rome'))",
    )


def _coding(contrasts: list[ast.expr], keywords: list[ast.keyword]) -> dict[str, Any]:
    """Return the settings of ``C(column, contrasts, levels=[...])``."""
    named = {keyword.arg: keyword.value for keyword in keywords}
    node = (contrasts or [named.pop("contrasts", ast.Name("contr.treatment"))])[0]
    call = node if isinstance(node, ast.Call) else ast.Call(node, [], [])
    which = ast.unparse(call.func)
    # In R the number of levels.
    counted = which == "contr.treatment" and any(type(_constant(x)) is not str for x in call.args)
    if which not in _CONTRASTS or counted or len(contrasts) > 1:
        raise NotAllowed(
            f"has {ast.unparse(node)[:40]} for contrasts",
            f"use {', '.join(f'contr.{name}' for name in CONTRASTS)}, and for a reference level "
            "contr.treatment(base=...) or Treatment(...)",
        )
    kind = _CONTRASTS[which]
    for keyword in call.keywords:
        keyword.arg = "base" if keyword.arg == "reference" else keyword.arg
    found = _settings(which, CONTRASTS[kind], call.args, call.keywords)
    others = [ast.keyword(name, value) for name, value in named.items()]
    return {"contrast": kind} | found | _settings("C", ("levels",), [], others)


def _settings(
    name: str, allowed: tuple[str, ...], args: list[ast.expr], keywords: list[ast.keyword]
) -> dict[str, Any]:
    found: dict[Any, Any] = {}
    pairs = [*zip([*allowed, None], args, strict=False), *((k.arg, k.value) for k in keywords)]
    for setting, node in pairs:
        value = _constant(node)
        if setting not in allowed or setting in found or not _VALID[setting](value):
            raise NotAllowed(
                f"gives {name} {ast.unparse(node)[:40]}",
                f"it has {', '.join(allowed) or 'no arguments'}",
            )
        found[setting] = value
    return found


def _constant(node: ast.expr) -> Any:
    """Return a number, a text, True, False, or a list of these; None for anything else."""
    if isinstance(node, ast.Name):
        return {"TRUE": True, "FALSE": False}.get(node.id)
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError):
        return None
    return list(value) if isinstance(value, tuple) else value


def contrasts(factor: Factor, levels: list[Any], reduced: bool) -> tuple[list[Any], np.ndarray]:
    """Return the names of the columns of a factor with levels, and a row of numbers per level."""
    count, settings = len(levels), factor.settings
    rows, steps = np.arange(count)[:, None], np.arange(1, count)
    if not reduced:
        return levels, np.eye(count)
    if (kind := settings.get("contrast", "treatment")) in ("treatment", "SAS"):
        base = settings.get("base", levels[0 if kind == "treatment" else -1])
        if base not in levels:
            raise DataError(
                f"The formula names {base!r} as a level of column '{factor.columns[0]}', which "
                f"has {', '.join(map(repr, levels[:20]))}",
                "choose one of these",
                code="unknown-value", column=factor.columns[0], value=base,
            )  # fmt: skip
        others = [k for k in range(count) if k != levels.index(base)]
        return [f"T.{levels[k]}" for k in others], np.eye(count)[:, others]
    if kind == "poly":
        names = [".L", ".Q", ".C", *(f"^{k}" for k in range(4, count))][: count - 1]
        return names, _polynomials(np.arange(float(count)), count - 1, [], [])
    if kind == "sum":
        names = [f"S.{one}" for one in levels[:-1]]
        return names, np.where(rows == count - 1, -1.0, rows + 1 == steps)
    if kind == "helmert":
        matrix = np.where(rows < steps, -1.0, np.where(rows == steps, steps, 0))
    else:
        matrix = steps / count - (rows < steps)
    return [f"{kind[0].upper()}.{one}" for one in levels[1:]], matrix


def _polynomials(x: np.ndarray, degree: int, alpha: list[float], norms2: list[float]) -> np.ndarray:
    """Return the orthonormal polynomials by their recurrence; learn its constants if they are
    empty.
    """
    made = [np.ones_like(x)]
    for k in range(degree + 1):
        if len(norms2) == k:
            norms2.append(float(np.sum(made[k] ** 2)))
        if k == degree:
            break
        if len(alpha) == k:
            alpha.append(float(np.sum(x * made[k] ** 2)) / norms2[k])
        made.append((x - alpha[k]) * made[k])
        if k:
            made[-1] -= norms2[k] / norms2[k - 1] * made[k - 1]
    return np.column_stack(made[1:]) / np.sqrt(norms2[1:])


def _learned(kind: str, x: np.ndarray, settings: dict[str, Any]) -> dict[str, Any]:
    """Return the constants of a transformation of numbers; ValueError if it has none."""
    constants: dict[str, Any] = {}
    if kind == "poly":
        if (different := len(np.unique(x))) <= (degree := settings.get("degree", 1)):
            raise ValueError(f"there are {different} different values")
        if not settings.get("raw"):
            constants = {"alpha": [], "norms2": []}
            _polynomials(x, degree, **constants)
        return _checked(constants)
    constants = _checked(_knots(kind, x, **settings))
    if "constraints" in settings:
        means = _transformed(kind, x, settings, constants).mean(axis=0)
        constants["basis"] = np.linalg.qr(means[:, None], mode="complete")[0][:, 1:].tolist()
    return constants


def _knots(
    kind: str, x: np.ndarray, df: int | None = None, knots: list[float] | None = None,
    degree: int = 3, constraints: str | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Return the knots of a spline, from the smallest number to the largest."""
    low, high, inner = float(x.min()), float(x.max()), sorted(knots or [])
    least = degree if kind == "bs" else 2 - (constraints is not None)
    if (df is None) == (knots is None) and (kind == "cr" or df is not None):
        raise ValueError("it has either df or knots")
    if df is not None:
        if df < least:
            raise ValueError(f"df is at least {least}")
        of = x if kind == "bs" else np.unique(x)
        inner = np.quantile(of, np.linspace(0, 1, df - least + 2)[1:-1]).tolist()
    every = [low, *inner, high]
    if every != sorted(every) or (kind == "cr" and len({*every}) < len(every)):
        raise ValueError("its knots are not between all numbers, or not different")
    more = degree if kind == "bs" else 0
    return {"lower_bound": low, "upper_bound": high, "knots": [low] * more + every + [high] * more}


def _checked(constants: dict[str, Any]) -> dict[str, Any]:
    """Return constants; ValueError unless they are finite numbers and lists of these."""
    for name, value in constants.items():
        numbers = np.array(value, dtype=np.float64)
        if max(numbers.shape, default=0) > _MOST_LEARNED or not np.isfinite(numbers).all():
            raise ValueError(f"{name} {value!r:.100}")
    return constants


def _transformed(
    kind: str, x: np.ndarray, settings: dict[str, Any], constants: dict[str, Any]
) -> np.ndarray:
    """Return the columns of a transformation of numbers, also of complex ones."""
    from scipy.interpolate import BSpline, CubicSpline

    if kind == "poly":
        degree = settings.get("degree", 1)
        if settings.get("raw"):
            return np.column_stack([np.power(x, k) for k in range(1, degree + 1)])
        return _polynomials(x, degree, constants["alpha"], constants["norms2"])
    knots, basis = (np.array(constants.get(key, []), np.float64) for key in ("knots", "basis"))
    degree = settings.get("degree", 3)
    if kind == "bs":
        spline = BSpline(knots, np.eye(len(knots) - degree - 1), degree)
    else:
        spline = CubicSpline(knots, np.eye(len(knots)), bc_type="natural")
    inside = np.clip(x.real, constants["lower_bound"], constants["upper_bound"])
    made = spline(inside)
    if (x != inside).any():  # beyond the bounds a straight line, and along a complex step
        made = made + spline(inside, 1) * (x - inside)[:, None]
    if basis.size:  # sums in one order for every row, which a matrix product has not
        return np.asarray(sum(made[:, k, None] * weights for k, weights in enumerate(basis)))
    return made[:, 1:] if kind == "bs" else made
