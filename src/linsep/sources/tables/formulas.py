"""Formulas: a label, and terms, which are products of factors; their features, fitted to all rows
of a table, kept as plain data, and computed for any rows.

A factor is a column, arithmetic of columns of numbers, ``C(column)`` with contrasts, or a
transformation with constants learned from all rows (recurrences of orthogonal polynomials, knots).
Its text is parsed, never run as Python: what is not in the tables below is refused, in formulas
that users write as in recipes of model files. What is left is evaluated node by node.

Derivatives are those of a complex step (Squire and Trapp, SIAM Review 40, 1998), right to the last
digit.
"""

import ast
import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache, partial, reduce
from itertools import chain, product
from keyword import iskeyword
from typing import Any
from unicodedata import normalize

import numpy as np
import pyarrow as pa
import scipy

from linsep.errors import DataError
from linsep.sources.tables.spellings import by_spelling, canonical
from linsep.sources.tables.table_file import Place, as_text, listed, numbers_in, text_codes
from linsep.words import counted

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
    r"(?:contr\.)?(?P<kind>treatment|sum|helmert|poly)|"
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
    found, count, every = _CONTRASTS.fullmatch(contrasts), len(of), np.eye(len(of))
    if found is None or list(levels or of) != of:
        known = "Treatment(...), contr.sum, contr.helmert, contr.poly or levels=[...]"
        raise ValueError(f"write {known}")
    if not reduced:
        return of, every
    kind = (found["kind"] or "treatment").lower()
    if kind == "treatment":
        base = ast.literal_eval(found["base"]) if found["base"] else of[0]
        if base not in of:
            raise ValueError(f"choose one of {', '.join(map(repr, of[:20]))} instead of {base!r}")
        names = [f"T.{level}" for level in of if level != base]
        return names, np.delete(every, of.index(base), axis=1)
    if kind == "poly":
        names = [".L", ".Q", ".C", *(f"^{k}" for k in range(4, count))][: count - 1]
        return names, poly(np.arange(float(count)), {}, count - 1)
    if kind == "sum":
        return [f"S.{level}" for level in of[:-1]], every[:, :-1] - every[:, -1:]
    below = np.diag(np.arange(1, count), -1)[:, :-1]
    return [f"H.{level}" for level in of[1:]], below - np.tri(count - 1, count).T


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
        x, as_it_is = np.asarray(_value(self.node, column)), TRANSFORMS["offset"]
        return TRANSFORMS.get(self.kind, as_it_is)(x, self.constants, *self.args, **self.named)

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
        return self, [f"{self.text}[{k + bool(self.constants)}]" for k in range(count)]

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
        factor = factor_of(ast.Name(str(stored["column"])))
        if "levels" in stored:
            factor.levels, count = list(stored["levels"]), len({*stored["levels"]})
            factor.coding = np.zeros((count, min(int(stored["width"]), count)))
            for row, (places, values) in zip(factor.coding, stored["coding"], strict=True):
                row[places] = values
        return factor


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
    """Return the factor of a name or a call; DataError for what it may not hold."""
    text, kind, columns = ast.unparse(node), "number", dict[str, Any]()
    args, named = list[ast.expr](), list[ast.keyword]()
    match node:
        case ast.Name(name):
            text, kind = name.strip("`"), "column"
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


#: rows of which features are made at once while formulas are learned
_ROWS = 1 << 14
MOST_LEVELS = 10_000
#: the imaginary part of a complex step, whose square is nothing beside 1
_TINY = 1e-150
#: a factor, and whether it is coded with one column fewer than it has levels
Coded = tuple[Factor, bool]
#: name, a number by which it is multiplied, and parts: block, and column of it
Feature = tuple[str, float, list[tuple[int, int]]]


def full_rank(terms: list[tuple[Factor, ...]], intercept: bool) -> list[list[Coded]]:
    """Return products of coded factors: what every term adds to the span of those before it, so
    that no feature is a combination of others.
    """
    coded, known = [], {frozenset[Coded]()} if intercept else set()
    for factors in terms:
        ways = [[[(x, True)], []] if x.levels else [[(x, False)]] for x in factors]
        parts = [list(chain(*some)) for some in product(*ways)]
        coded += _simplified([part for part in parts if frozenset(part) not in known])
        known |= set(map(frozenset, parts))
    return coded


def _simplified(parts: list[list[Coded]]) -> list[list[Coded]]:
    """Return the fewest parts of the same span: a with all levels of b is a, and a with b."""
    parts = sorted(parts, key=len)
    for k, part in enumerate(parts):
        for other in parts[:k]:
            more = [one for one in part if one not in other]
            if len(part) == len(other) + 1 and len(more) == 1 and more[0][1]:
                whole = [(factor, reduced and factor != more[0][0]) for factor, reduced in part]
                before = [one for one in parts[:k] if one is not other]
                return _simplified([*before, whole, *parts[k + 1 :]])
    return parts


@dataclass
class Formula:
    """A formula for the columns of a table."""

    text: str
    target: str | None  #: the column on the left side
    intercept: bool  #: as there is unless it says ``- 1`` or ``+ 0``
    terms: list[tuple[Factor, ...]]  #: without the intercept, from few factors to many; in training
    offset: list[Factor]  #: added up to the offset of a row
    inputs: dict[str, str] = field(default_factory=dict)  #: columns: "number", "bool" or "text"
    orders: dict[str, list[str]] = field(default_factory=dict)  #: values of columns of categories
    blocks: list[Factor] = field(default_factory=list)  #: the factors as they are coded
    features: list[Feature] = field(default_factory=list)
    slope: str | None = None  #: column in which :meth:`rows` differentiates
    shown: str | None = None  #: column whose numbers :meth:`rows` returns as each feature
    _taken: list[pa.Table] = field(default_factory=list)

    @property
    def factors(self) -> list[Factor]:
        return list(dict.fromkeys(chain(*self.terms)))

    @property
    def columns(self) -> list[str]:
        return list(dict.fromkeys(name for f in self.factors + self.offset for name in f.columns))

    @property
    def names(self) -> list[str]:
        return [name for name, *_ in self.features]

    def example(self, name: str) -> Any:
        own = (block.levels for block in self.blocks if block.columns == (name,))
        return next((levels[0] for levels in own if levels), None)

    def _cells(self, table: pa.Table, name: str) -> pa.ChunkedArray:
        if self.inputs[name] == "text":
            return as_text(table.column(name))
        return pa.chunked_array([numbers_in(table, name)])

    def take(self, table: pa.Table) -> None:
        self._taken.append(pa.table({name: self._cells(table, name) for name in self.inputs}))

    def learn(self) -> Iterator[np.ndarray]:
        """Learn levels and constants from the rows taken; return their features, some at a time."""
        rows, self._taken, self.features = pa.concat_tables(self._taken), [], []
        for factor in self.factors:
            kind = self.inputs[factor.columns[0]]
            if factor.kind == "levels" or (factor.kind == "column" and kind != "number"):
                factor.levels = self._levels(factor, rows)

        @cache
        def columns(factor: Factor, reduced: bool) -> list[tuple[str, tuple[int, int]]]:
            with np.errstate(all="ignore"):
                block, names = factor.coded(reduced, partial(numbers_in, rows))
            self.blocks.append(block)
            return [(name, (len(self.blocks) - 1, at)) for at, name in enumerate(names)]

        for keys in full_rank(self.terms, self.intercept):
            made = [columns(*key) for key in keys]
            # The columns of the first factor change fastest, as in R.
            for parts in product(*reversed(made)):
                names, places = zip(*reversed(parts), strict=True)
                self.features.append((":".join(names), 1.0, list(places)))
        if len({*self.names}) < len(self.names):
            raise refused(self.text, "has two features of one name", "rename a column")
        return (
            self.rows(rows.slice(start, _ROWS), lambda row: f"row {row + 1}")
            for start in range(0, rows.num_rows, _ROWS)
        )

    def _levels(self, factor: Factor, rows: pa.Table) -> list[Any]:
        name, levels = factor.columns[0], factor.named.get("levels")
        if not isinstance(levels, list | tuple):
            values = rows.column(name).unique().to_pylist()
            kind = {"text": str, "bool": bool}.get(self.inputs[name])
            kind = kind or (int if all(map(float.is_integer, values)) else float)
            places = {value: place for place, value in enumerate(self.orders.get(name, ()))}
            levels = sorted(
                {kind(value) for value in values},
                key=lambda value: (places.get(value, len(places)), value),
            )
        if not 1 < len(levels) <= MOST_LEVELS:
            said = f"has {counted(len(levels), 'level')}, not from 2 to {MOST_LEVELS:,}"
            raise refused(factor.text, said, "leave it out")
        return list(levels)

    def offset_values(self, table: pa.Table) -> list[np.ndarray]:
        with np.errstate(all="ignore"):
            return [factor.values(partial(numbers_in, table))[:, 0] for factor in self.offset]

    def rows(self, table: pa.Table, place: Place) -> np.ndarray:
        """Return the features of rows, all of which have all values; DataError names the row of a
        level that is not known, and of a value that cannot be computed.
        """

        @cache
        def column(name: str) -> np.ndarray:
            x = numbers_in(table, name)
            return x + 1j * _TINY if name == self.slope else x

        if self.shown is not None:
            return np.tile(column(self.shown)[:, None], len(self.features))
        with np.errstate(all="ignore"):
            blocks = [
                block.values(column) if block.coding is None else self._coded(block, table, place)
                for block in self.blocks
            ]
            made = np.empty((table.num_rows, len(self.features)), np.result_type(float, *blocks))
            for number, (_, scale, parts) in enumerate(self.features):
                made[:, number] = math.prod((blocks[k][:, at] for k, at in parts), start=scale)
        made = made if self.slope is None else made.imag / _TINY
        if not np.isfinite(made).all():
            row, number = np.argwhere(~np.isfinite(made))[0].tolist()
            name = self.names[number]
            beyond = "retrain with cr, as bs has no values beyond its knots"
            raise DataError(
                place(row) + f", feature '{name}' of the formula is {made[row, number]:g}",
                "correct the row", *[beyond] * ("bs(" in name),
                code="not-finite", column=name,
            )  # fmt: skip
        return made

    def _coded(self, block: Factor, table: pa.Table, place: Place) -> np.ndarray:
        name, levels = block.columns[0], block.levels or []
        codes, distinct = text_codes(self._cells(table, name), name, place)
        places = {str(level): number for number, level in enumerate(levels)}
        places |= {same: places[level] for same, level in by_spelling(places).items()}
        places |= {str(int(x)): k for k, x in enumerate(levels) if isinstance(x, bool)}
        numbers = [places.get(value, places.get(canonical(value), -1)) for value in distinct]
        found = np.array(numbers, dtype=np.intp)[codes]
        if (found < 0).any():
            row = int(np.argmax(found < 0))
            value = canonical(distinct[codes[row]])
            raise DataError(
                place(row) + f", column '{name}' is {value[:60]}, which is not a level of the "
                f"formula ({listed(map(str, levels))})",
                "correct it", "leave out the row",
                code="unknown-value", column=name, value=value,
            )  # fmt: skip
        return np.asarray(block.coding)[found]

    def to_json(self) -> dict[str, Any]:
        stored = {"text": self.text, "intercept": self.intercept, "inputs": dict(self.inputs)}
        if self.offset:
            stored["offset"] = [factor.text.removeprefix("offset(")[:-1] for factor in self.offset]
        parts = [[*feature, list(map(list, parts))] for *feature, parts in self.features]
        return stored | {"blocks": [block.to_json() for block in self.blocks], "features": parts}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "Formula":
        """Return the formula of plain JSON; ValueError, LookupError or TypeError if it is damaged,
        above all if an expression is not one that formulas may hold.
        """
        offset = [factor_of(parse(f"offset({one})")) for one in stored.get("offset", ())]
        inputs, intercept = dict(stored["inputs"]), stored["intercept"] is True
        formula = cls(str(stored["text"]), None, intercept, [], offset, inputs)
        with np.errstate(all="ignore"):
            formula.blocks = [Factor.from_json(block) for block in stored["blocks"]]
        formula.features = [
            (str(name), float(scale), [(int(k), int(at)) for k, at in parts])
            for name, scale, parts in stored["features"]
        ]
        for factor in formula.blocks + offset:
            if any((inputs[x] == "text") > (factor.levels is not None) for x in factor.columns):
                raise ValueError("numbers of a column of text")
        return formula


#: the factors of terms, whatever their order, and in their order; of two terms with the same
#: factors, the first stays (``terms | others | terms``)
Terms = dict[frozenset[Factor], tuple[Factor, ...]]
#: the intercept
_ONE: Terms = {frozenset(): ()}


@dataclass
class _Reader:
    names: list[str]  #: the columns that a dot stands for
    factors: dict[tuple[str, str], Factor] = field(default_factory=dict)  #: each once

    def terms(self, node: ast.expr) -> Terms:
        match node:
            case ast.Constant(1):
                return _ONE
            case ast.Constant(value) if value is ...:
                factors = [factor_of(ast.Name(name)) for name in self.names]
            case ast.Name() | ast.Call():
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
