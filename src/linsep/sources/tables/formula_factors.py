"""Factors of formulas: a column, arithmetic of columns of numbers, ``C(column)`` with contrasts, or
a transformation. They are never run as Python.

The text of a factor is parsed, and whatever is not in the tables below is refused, in formulas that
users write as in recipes of model files. What is left is evaluated node by node, with complex
numbers for derivatives.
"""

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from keyword import iskeyword
from typing import Any
from unicodedata import normalize

import numpy as np
import scipy

from linsep.errors import DataError

#: functions of numbers, also of complex ones
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "I": lambda x: x, "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "log10": np.log10,
    "log2": np.log2, "log1p": np.log1p, "abs": lambda x: x * np.sign(np.real(x)),
}  # fmt: skip
_OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply, ast.Div: np.divide,
    ast.Pow: np.power, ast.Gt: np.greater, ast.GtE: np.greater_equal, ast.Lt: np.less,
    ast.LtE: np.less_equal, ast.Eq: np.equal, ast.NotEq: np.not_equal, ast.UAdd: np.positive,
    ast.USub: np.negative,
}  # fmt: skip
#: contrasts as R and statsmodels name them; in R, contr.treatment(3) is for 3 levels
_CONTRASTS = re.compile(
    r"(?:contr\.)?(?P<kind>treatment|sas|sum|helmert|diff|poly)|"
    r"(?:contr\.treatment\((?:base=|(?=['\"]))|treatment\((?:base=|reference=)?)(?P<base>.+)\)",
    re.IGNORECASE,
)
#: what to write for functions of R that are not here
_ADVICE = {
    "ns": "write cr(x, df=4, constraints='center')", "s": "write cr(x, df=8, constraints='center')",
    "scale": "write the mean and the deviation, as in I((x - 5) / 2)",
    "cut": "write conditions, as in I(x > 5), or add a column of classes",
}  # fmt: skip
_TEXT = r""""(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'"""
_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.])"
#: columns; names of functions are followed by a bracket
_NAME = r"`[^`]+`|[\w.]*[^\W\d][\w.]*(?![\w.]|\s*\()"
#: what may be written otherwise in Python
_OF_R = re.compile(rf"{_TEXT}|{_NUMBER}|(?P<name>{_NAME})|[\^:]|(?<![\w.])\.(?![\w.])")
#: what begins the names of columns in Python that it does not have
_QUOTED = "quoted_by_backticks_"


def refused(text: str, what: str, *advice: str, code: str = "bad-formula") -> DataError:
    shown = text if len(text) <= 200 else f"{text[:200]}..."
    message = f"The formula has '{shown}', which {what}"
    return DataError(message, *advice, code=code, value=text)


def poly(x: Any, known: dict[str, Any], degree: int = 1, raw: bool = False) -> np.ndarray:
    """Return orthonormal polynomials by their recurrence, or powers if ``raw``."""
    most = 50 if raw or known else min(50, len(np.unique(np.asarray_chkfinite(x))) - 1)
    if not 1 <= degree <= most:
        raise ValueError(f"choose a degree from 1 to {most}, below the number of different values")
    if raw:
        return np.column_stack([np.power(x, k) for k in range(1, degree + 1)])
    alpha, norms2 = known.setdefault("alpha", []), known.setdefault("norms2", [float(x.size)])
    made = [np.zeros_like(x), np.ones_like(x)]
    for k in range(degree):
        if len(alpha) == k:
            alpha.append(float(np.sum(x * made[-1] ** 2)) / norms2[k])
        ratio = norms2[k] / norms2[k - 1] if k else 0.0
        made.append((x - alpha[k]) * made[-1] - ratio * made[-2])
        if len(norms2) == k + 1:
            norms2.append(float(np.sum(made[-1] ** 2)))
    return np.column_stack(made[2:]) / np.sqrt(norms2[1:])


def bs(x: Any, known: dict[str, Any], df: Any = None, knots: Any = None, degree: int = 3) -> Any:
    """Return B-splines without the first, which have no values beyond their knots."""
    if not known:
        low, *inner, high = _knots(x, degree, df, knots)
        known["knots"] = [low] * (degree + 1) + inner + [high] * (degree + 1)
    places = np.array(known["knots"], dtype=np.float64)
    spline = scipy.interpolate.BSpline(
        places, np.eye(len(places) - degree - 1), degree, extrapolate=False
    )
    return _along(spline, x, x.real)[:, 1:]


def cr(
    x: Any, known: dict[str, Any], df: Any = None, knots: Any = None, constraints: Any = None
) -> Any:
    """Return natural cubic splines, which continue beyond their knots as straight lines."""
    if constraints not in (None, "center"):
        raise ValueError("write constraints='center'")
    if learns := not known:
        known["knots"] = _knots(np.unique(x), 2 if constraints is None else 1, df, knots)
    places = np.array(known["knots"], dtype=np.float64)
    spline = scipy.interpolate.CubicSpline(places, np.eye(len(places)), bc_type="natural")
    made = _along(spline, x, np.clip(x.real, places[0], places[-1]))
    if constraints is None:
        return made
    if learns:
        means = made.mean(axis=0)[:, None]
        known["basis"] = np.linalg.qr(means, mode="complete")[0][:, 1:].tolist()
    # Sums in one order for every row, which a matrix product has not.
    return sum(made[:, k, None] * np.array(row) for k, row in enumerate(known["basis"]))


def _along(spline: Any, x: np.ndarray, near: np.ndarray) -> Any:
    """Return splines along a straight line from numbers that are near."""
    return spline(near) + spline(near, 1) * (x - near)[:, None]


def _knots(x: np.ndarray, least: int, df: Any, knots: Any) -> list[float]:
    """Return the ends of some numbers, and knots between them: quantiles, unless they are given."""
    if df is not None and (knots is not None or not least <= df <= 1000):
        raise ValueError(f"choose a df from {least} to 1000, without knots")
    if knots is None:
        between = np.linspace(0, 1, (df or least) - least + 2)[1:-1]
        knots = np.quantile(x, between).tolist()
    return [float(x.min()), *sorted(knots), float(x.max())]


def coding(
    of: list[Any], reduced: bool, contrasts: str = "treatment", *, levels: Any = None
) -> tuple[list[Any], np.ndarray]:
    """Return the names of the columns, ``reduced`` by one, and a row of numbers per level."""
    found, count = _CONTRASTS.fullmatch(contrasts), len(of)
    if found is None or list(levels or of) != of:
        raise ValueError(
            "write contr.treatment(base=...), Treatment(...), contr.SAS, contr.sum, contr.helmert, "
            "contr.diff, contr.poly, or levels=[...]"
        )
    if not reduced:
        return of, np.eye(count)
    kind = (found["kind"] or "treatment").lower()
    rows, steps = np.arange(count)[:, None], np.arange(1, count)
    if kind in ("treatment", "sas"):
        base = ast.literal_eval(found["base"]) if found["base"] else of[-1 if kind == "sas" else 0]
        if base not in of:
            raise ValueError(f"choose one of {', '.join(map(repr, of[:20]))} instead of {base!r}")
        names = [f"T.{level}" for level in of if level != base]
        return names, np.delete(np.eye(count), of.index(base), axis=1)
    if kind == "poly":
        names = [".L", ".Q", ".C", *(f"^{k}" for k in range(4, count))][: count - 1]
        return names, poly(np.arange(float(count)), {}, count - 1)
    matrix = {
        "sum": np.vstack([np.eye(count - 1), -np.ones(count - 1)]),
        "helmert": np.where(rows < steps, -1.0, np.where(rows == steps, steps, 0)),
        "diff": steps / count - (rows < steps),
    }[kind]
    named = of[:-1] if kind == "sum" else of[1:]
    return [f"{kind[0].upper()}.{level}" for level in named], matrix


#: what a factor may be besides arithmetic, with settings
TRANSFORMS: dict[str, Callable[..., Any]] = {
    "poly": poly, "bs": bs, "cr": cr, "offset": lambda x, _: x[:, None],
}  # fmt: skip


@dataclass(eq=False)
class Factor:
    """A factor of a formula."""

    text: str  #: its name in features
    kind: str  #: "column", "number" (arithmetic), "levels" (``C``), or a transformation by its name
    columns: tuple[str, ...]  #: the only one for "column" and "levels"
    node: ast.expr  #: the arithmetic, also inside a transformation
    args: list[Any] = field(default_factory=list)  #: settings of the transformation or of ``C``
    named: dict[str, Any] = field(default_factory=dict)
    constants: dict[str, Any] = field(default_factory=dict)  #: what the transformation has learned
    levels: list[Any] | None = None  #: values of the column, if it has levels
    coding: np.ndarray | None = None  #: a row of numbers for each level

    def values(self, column: Callable[[str], Any]) -> np.ndarray:
        """Return its columns, if it has no levels."""
        x = np.asarray(_value(self.node, column))
        if self.kind not in TRANSFORMS:
            return x[:, None]
        return TRANSFORMS[self.kind](x, self.constants, *self.args, **self.named)

    def coded(self, reduced: bool, column: Callable[[str], Any]) -> tuple["Factor", list[str]]:
        """Return it as it is coded, ``reduced`` by a level, and the names of its columns; learn
        constants from all rows.
        """
        try:
            if self.levels is not None:
                names, matrix = coding(self.levels, reduced, *self.args, **self.named)
                return replace(self, coding=matrix), [f"{self.text}[{name}]" for name in names]
            if self.kind not in TRANSFORMS:
                return self, [self.text]
            count = self.values(column).shape[1]
        except (ValueError, TypeError) as error:
            raise refused(self.text, "cannot be computed from these rows", str(error)) from None
        first = 1 if self.constants else 0
        return self, [f"{self.text}[{k}]" for k in range(first, first + count)]

    def to_json(self) -> dict[str, Any]:
        if self.coding is not None:
            rows = [[np.flatnonzero(row).tolist(), row[row != 0].tolist()] for row in self.coding]
            stored = {"column": self.columns[0], "levels": self.levels, "coding": rows}
            return stored | {"width": self.coding.shape[1]}
        stored = {"column" if self.kind == "column" else "expression": self.text}
        return stored | ({"constants": self.constants} if self.kind in TRANSFORMS else {})

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "Factor":
        """Return the factor of plain JSON; ValueError, LookupError, TypeError if it is damaged."""
        if "expression" in stored:
            factor = factor_of(parse(stored["expression"]))
            if factor.kind in TRANSFORMS:
                factor.constants = dict(stored["constants"])
            factor.values(lambda _: np.zeros(1))  # with these constants
            return factor
        factor = column_factor(str(stored["column"]))
        if "levels" in stored:
            factor.levels, count = list(stored["levels"]), len({*stored["levels"]})
            factor.coding = np.zeros((count, min(int(stored["width"]), count)))
            for row, (places, values) in zip(factor.coding, stored["coding"], strict=True):
                row[places] = values
        return factor


def column_factor(name: str) -> Factor:
    return Factor(name, "column", (name,), ast.Name(f"`{name}`"))


def parse(text: str) -> ast.expr:
    """Return the syntax tree of a text in the notation of R or Python, where ``**~`` stands for a
    colon, and names that Python does not have are in backticks; DataError if there is none.
    """
    try:
        node = ast.parse(f"({_OF_R.sub(_in_python, text)})", mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise refused(text.strip(), "does not parse", "correct it") from None
    for one in ast.walk(node):
        if isinstance(one, ast.Name) and one.id.startswith(_QUOTED):
            one.id = f"`{bytes.fromhex(one.id.removeprefix(_QUOTED)).decode()}`"
    return node


def _in_python(found: re.Match[str]) -> str:
    piece, name = found[0], (found["name"] or "").strip("`")
    if not name:
        return {"^": "**", ":": "**~", ".": "..."}.get(piece, piece)
    known = name.isidentifier() and not (iskeyword(name) and name.islower())
    known &= name == normalize("NFKC", name)  # as Python has it
    return name if known or name.startswith("contr.") else _QUOTED + name.encode().hex()


def factor_of(node: ast.expr) -> Factor:
    """Return the factor that is more than a name; DataError for anything else."""
    text, kind, columns = ast.unparse(node), "number", dict[str, Any]()
    args, named = list[ast.expr](), list[ast.keyword]()
    match node:
        case ast.Call(ast.Name("C" | "factor"), [ast.Name() as inner, *args], named):
            kind, node = "levels", inner
        case ast.Call(ast.Name(name), [inner, *args], named) if name in TRANSFORMS:
            kind, node = name, inner
    with np.errstate(all="ignore"):
        _value(node, lambda name: columns.setdefault(name, np.float64(1.0)))
    if not columns:
        raise refused(text, "names no column", "name one, or leave it out")
    settings = {str(one.arg): _constant(one.value) for one in named}
    return Factor(text, kind, tuple(columns), node, list(map(_constant, args)), settings)


def _constant(node: ast.expr) -> Any:
    """Return a number, a text, a truth, or a list of these; anything else as it is written."""
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError):
        text = ast.unparse(node)
        return {"TRUE": True, "FALSE": False}.get(text, text)


def _value(node: ast.expr, column: Callable[[str], Any]) -> Any:
    """Return the value of arithmetic; DataError for anything else."""
    match node:
        case ast.Name(name):
            return column(name.strip("`"))
        case ast.Constant(number) if type(number) in (int, float):
            return np.float64(number)  # type: ignore[arg-type]
        case ast.UnaryOp(operator, operand) if type(operator) in _OPERATORS:
            return _OPERATORS[type(operator)](_value(operand, column))
        case ast.BinOp(left, operator, right) if type(operator) in _OPERATORS:
            return _OPERATORS[type(operator)](_value(left, column), _value(right, column))
        case ast.Compare(left, [operator], [right]) if type(operator) in _OPERATORS:
            both = (np.real(_value(one, column)) for one in (left, right))
            return 1.0 * _OPERATORS[type(operator)](*both)
        case ast.Call(ast.Name(name), [argument], []) if name in FUNCTIONS:
            return FUNCTIONS[name](_value(argument, column))
    called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
    usual = (
        f"use columns, numbers, +, -, *, /, **, <, >, ==, {', '.join(FUNCTIONS)}, and "
        f"{', '.join(TRANSFORMS)} and C as terms by themselves, with backticks around other names; "
        "text is for levels only, as in C(city, Treatment('Rome'))"
    )
    raise refused(ast.unparse(node)[:40], "is not arithmetic", _ADVICE.get(called, usual))
