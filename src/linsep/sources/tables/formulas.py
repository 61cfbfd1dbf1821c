"""The features of a formula: fitted to all rows of a table, kept as plain data, computed for any
rows.

A feature is the product of columns of blocks. A block is a column of numbers, arithmetic of such
columns, a transformation of it, with constants learned from all rows (recurrences of orthogonal
polynomials, knots), or the levels of a column, such as text or booleans, with a row of numbers for
each. Arithmetic treats booleans as 0 and 1. A recipe holds these
data and no code: its expressions are parsed and checked like expressions of users.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from linsep.errors import DataError
from linsep.sources.tables.formula_parsing import Parsed, coded, needs_formulaic
from linsep.sources.tables.formula_terms import TRANSFORMS, Factor, NotAllowed, factor_of
from linsep.sources.tables.spellings import canonical
from linsep.sources.tables.table_file import Place, as_text, numbers_in, plain_values, text_codes

#: rows of which features are made at once while formulas are learned
_ROWS = 1 << 14
#: knots that a transformation may have learned, and as many splines
_MOST_CONSTANTS = 2_000
#: levels that a column may have
MOST_LEVELS = 10_000


class Block(NamedTuple):
    """A factor as it is coded.

    Attributes
    ----------
    text : a column, of a transformation or arithmetic the expression
    factor : Factor
    state : constants of a transformation
    skip : columns of a transformation that are left out, from the first
    levels : values of the column, None if it has no levels
    coding : array, a row of numbers for each level
    """

    text: str
    factor: Factor
    state: dict[str, Any] | None = None
    skip: int = 0
    levels: list[Any] | None = None
    coding: np.ndarray | None = None

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        if self.levels is None:
            more = {} if self.state is None else {"constants": self.state}
            kind = "column" if self.factor.kind == "column" else "expression"
            return {kind: self.text} | more | ({"skip": self.skip} if self.skip else {})
        assert self.coding is not None
        rows = [[np.flatnonzero(row).tolist(), row[row != 0].tolist()] for row in self.coding]
        width = self.coding.shape[1]
        return {"column": self.text, "levels": self.levels, "width": width, "coding": rows}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "Block":
        """Return the block of plain JSON; ValueError or NotAllowed if it is invalid."""
        if "expression" in stored:
            factor, state = factor_of(stored["expression"]), stored.get("constants")
            if (factor.kind in TRANSFORMS) != (state is not None) or factor.kind == "levels":
                raise ValueError(f"{factor.kind} with other constants")
            if state is not None:
                _check_constants(factor, state)
            skip = int(stored.get("skip", 0))
            if skip not in (0, 1):
                raise ValueError(f"{skip} columns left out")
            return cls(stored["expression"], factor, state, skip)
        name, levels = stored["column"], stored.get("levels")
        factor = Factor("column", (str(name),))
        if levels is None:
            return cls(name, factor)
        if not all(type(one) in (int, float, str, bool) for one in levels):
            raise ValueError("levels that are not numbers or texts")
        if not 0 <= int(stored["width"]) <= len(levels):
            raise ValueError("more columns than levels")
        coding = np.zeros((len(levels), int(stored["width"])))
        for row, (places, values) in zip(coding, stored["coding"], strict=True):
            row[np.array(places, dtype=np.intp)] = np.array(values, dtype=np.float64)
        return cls(name, factor, levels=list(levels), coding=coding)


def _check_constants(factor: Factor, state: dict[str, Any]) -> None:
    """Raise ValueError unless these are constants of a transformation: numbers and their lists."""
    for name, value in state.items():
        numbers = np.array(value, dtype=np.float64)
        long = numbers.ndim > 0 and max(numbers.shape, default=0) > _MOST_CONSTANTS
        if long or not np.isfinite(numbers).all():
            raise ValueError(f"{factor.kind} with {name} {value!r}")


class Formula:
    """A formula for the columns of a table.

    Parameters
    ----------
    text : str
    intercept : whether the model has an intercept, for which levels are coded
    inputs : dict of column to "number", "bool" or "text"
    parsed : the formula as it was parsed, to learn it
    orders : dict of text column to its values in their order, for columns of categories
    offset : what is added up to the offset of a row, arithmetic of columns of numbers

    Attributes
    ----------
    blocks : list of Block
    features : list of names, numbers by which they are multiplied, and parts: block and column of
        it; None before :meth:`learn`
    """

    def __init__(
        self, text: str, intercept: bool, inputs: dict[str, str],
        parsed: Parsed | None = None, orders: dict[str, list[str]] | None = None,
        offset: Sequence[str] = (),
    ):  # fmt: skip
        self.text, self.intercept, self.inputs, self.parsed = text, intercept, inputs, parsed
        self._orders, self.offset = orders or {}, {one: factor_of(one) for one in offset}
        self.blocks: list[Block] = []
        self.features: list[tuple[str, float, list[tuple[int, int]]]] | None = None
        self._taken: list[pa.Table] = []

    @property
    def names(self) -> list[str]:
        """Names of the features learned, as formulaic has them."""
        return [name for name, *_ in self.features or ()]

    def example(self, name: str) -> Any:
        """Return a level of a column, None if it has none."""
        known = [block.levels[0] for block in self.blocks if block.text == name and block.levels]
        return known[0] if known else None

    def take(self, table: pa.Table) -> None:
        """Add rows to learn from, in which no value is missing."""
        columns = {
            name: pa.array(numbers_in(table, name))
            if kind != "text"
            else as_text(table.column(name), name).combine_chunks()
            for name, kind in self.inputs.items()
        }
        self._taken.append(pa.table(columns))

    def learn(self) -> Iterator[np.ndarray]:
        """Learn levels and constants from the rows taken; return their features, some at a time."""
        rows, found = pa.concat_tables(self._taken), self.parsed
        assert found is not None
        self._taken = []
        levels = {
            text: self._levels(factor, rows)
            for text, factor in found.factors.items()
            if factor.kind == "levels"
            or (factor.kind == "column" and self.inputs[factor.columns[0]] != "number")
        }
        for text, known in levels.items():
            if len(known) == 1:
                name, value = found.factors[text].columns[0], known[0]
                raise DataError(
                    f"Column '{name}' is {value!r} in all rows, so the factor '{text}' of the "
                    "formula has only one level",
                    "leave it out",
                    code="bad-formula", column=name, value=value,
                )  # fmt: skip
        for text, factor in found.offsets.items():
            self._check_numbers(factor, f"offset({text})")
        states: dict[str, dict[str, Any]] = {}
        first: dict[str, Any] = {}
        for text, factor in found.factors.items():
            if text not in levels:
                self._check_numbers(factor, text)
                states[text] = _constants(factor, text, rows)
                with np.errstate(all="ignore"):
                    first[text] = transformed(factor, states[text], FloatColumns(rows.slice(0, 1)))
        coding = coded(found, first, levels)
        for key in coding.blocks:
            text, reduced = key
            factor, name = found.factors[text], found.factors[text].columns[0]
            if text in levels:
                factor = Factor("column", (name,))
                self.blocks.append(Block(name, factor, None, 0, levels[text], coding.matrices[key]))
            else:
                state = states[text] if factor.kind in TRANSFORMS else None
                self.blocks.append(Block(text, factor, state, int(reduced)))
        self.features = coding.features
        return (
            self.rows(rows.slice(start, _ROWS), lambda row: f"row {row + 1}")
            for start in range(0, rows.num_rows, _ROWS)
        )

    def _levels(self, factor: Factor, rows: pa.Table) -> list[Any]:
        """Return the levels of a column of which a factor is made, in order."""
        name = factor.columns[0]
        kind = self.inputs[name]
        if (said := factor.settings.get("levels")) is not None:
            return list(said)
        if kind == "text":
            places = {value: place for place, value in enumerate(self._orders.get(name, ()))}
            found = rows.column(name).unique().to_pylist()
            found.sort(key=lambda value: (places.get(value, len(places)), value))
        else:
            numbers = np.unique(rows.column(name).to_numpy())
            if kind == "bool":
                found = [bool(number) for number in numbers]
            else:
                whole = bool((numbers == np.trunc(numbers)).all())
                found = [int(number) if whole else float(number) for number in numbers]
        if len(found) > MOST_LEVELS:
            raise DataError(
                f"Column '{name}' has {len(found):,} levels, more than the {MOST_LEVELS:,} that a "
                "formula can have",
                "leave out the formula; without it, they become sparse features",
                code="too-large",
                column=name,
            )
        return found

    def _check_numbers(self, factor: Factor, text: str) -> None:
        for name in factor.columns:
            if self.inputs[name] == "text":
                raise DataError(
                    f"Column '{name}' holds text, so '{text}' in the formula cannot be computed",
                    f"write C({name}) by itself",
                    code="column-type",
                    column=name,
                )

    def holes(self, table: pa.Table) -> dict[str, np.ndarray]:
        """Return, for each column with missing values, in which rows they are."""
        found = {}
        for name in self.inputs:
            column = plain_values(table.column(name), name)
            gaps = column.is_null(nan_is_null=pa.types.is_floating(column.type)).to_numpy()
            if gaps.any():
                found[name] = gaps
        return found

    def offset_values(self, table: pa.Table) -> list[np.ndarray]:
        """Return what is added up to the offsets of rows, each an array of shape (rows,)."""
        column = FloatColumns(table)
        with np.errstate(all="ignore"):
            parts = [np.asarray(f.values(column), np.float64) for f in self.offset.values()]
        return [np.broadcast_to(part, table.num_rows) for part in parts]

    def rows(self, table: pa.Table, place: Place, kept: np.ndarray | None = None) -> np.ndarray:
        """Return the features of rows, NaN in those not ``kept``, all of which have all values; no
        features before they are learned.

        Raises DataError, which names the row, for a level that is not known and for a value that
        cannot be computed.
        """
        features = self.features or []
        X = np.full((table.num_rows, len(features)), np.nan)
        if not features:
            return X
        some = np.arange(table.num_rows) if kept is None else np.flatnonzero(kept)
        if not some.size:
            return X

        def where(row: int) -> str:
            return place(int(some[row]))

        column = FloatColumns(table if kept is None else table.filter(pa.array(kept)))
        with np.errstate(all="ignore"):
            made = self._products(column, where)
        if not np.isfinite(made).all():
            row, number = np.argwhere(~np.isfinite(made))[0].tolist()
            raise DataError(
                where(row) + f", feature '{features[number][0]}' of the formula is "
                f"{made[row, number]:g}",
                "correct the row", *["leave out the term"] * (self.parsed is not None),
                code="not-finite", column=features[number][0],
            )  # fmt: skip
        if kept is None:
            return made
        X[kept] = made
        return X

    def _products(self, column: "FloatColumns", where: Place) -> np.ndarray:
        """Return the features of rows without missing values."""
        features = self.features or []
        made = np.empty((column.table.num_rows, len(features)))
        try:
            blocks = [self._block(block, column, where) for block in self.blocks]
            for number, (_, scale, parts) in enumerate(features):
                made[:, number] = scale
                for block, at in parts:
                    made[:, number] *= blocks[block][:, at]
        except DataError:
            raise
        except (LookupError, ValueError, ArithmeticError, TypeError, np.linalg.LinAlgError):
            # Constants of other transformations than those that this library has written.
            raise DataError(
                "The formula of the model is damaged: train the model again.", code="bad-model-file"
            ) from None
        return made

    def _block(self, block: Block, column: "FloatColumns", where: Place) -> np.ndarray:
        """Return the columns of a block, and refuse a level or a number it does not know."""
        if block.levels is not None:
            assert block.coding is not None
            return np.asarray(block.coding[self._codes(block, column, where)])
        if block.factor.kind == "bs":
            _check_bounds(block, column, where)
        return as_columns(transformed(block.factor, block.state, column))[:, block.skip :]

    def _codes(self, block: Block, column: "FloatColumns", where: Place) -> np.ndarray:
        """Return the number of the level of each row."""
        name, levels = block.text, block.levels or []
        places = {level: number for number, level in enumerate(levels)}
        spelled = Counter(canonical(str(level)) for level in levels)
        if self.inputs[name] == "text":
            codes, distinct = text_codes(column.table.column(name), name, where)
            others = {canonical(str(x)): k for x, k in places.items()}  # of other formats
            places |= {
                value: others[same] for value in distinct
                if value not in places and spelled[same := canonical(value)] == 1
            }  # fmt: skip
        else:
            numbers, codes = np.unique(column(name), return_inverse=True)
            distinct = numbers.tolist()
        found = np.array([places.get(value, -1) for value in distinct], dtype=np.intp)[codes]
        if (found < 0).any():
            row = int(np.argmax(found < 0))
            value, some = distinct[codes[row]], ", ".join(map(str, levels[:20]))
            shown = f"'{value[:60]}'" if isinstance(value, str) else f"{value:g}"
            raise DataError(
                where(row) + f", column '{name}' is {shown}, which is not a level of the formula "
                f"({some}{', ...' if len(levels) > 20 else ''})",
                "correct it", "leave out the row",
                code="unknown-value", column=name, value=value,
            )  # fmt: skip
        return found

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        learned = {
            "blocks": [block.to_json() for block in self.blocks],
            "features": [
                [name, scale, [list(part) for part in parts]]
                for name, scale, parts in self.features or ()
            ],
        }
        return {
            "text": self.text, "intercept": self.intercept, "inputs": dict(self.inputs),
            **({"offset": list(self.offset)} if self.offset else {}),
            **(learned if self.features is not None else {}),
        }  # fmt: skip

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "Formula":
        """Return the formula of plain JSON.

        Raises ValueError, KeyError or TypeError for what :meth:`to_json` could not have made, above
        all for an expression that formulas may not hold.
        """
        text, inputs = str(stored["text"]), dict(stored["inputs"])
        try:
            offset = [str(one) for one in stored.get("offset", ())]
            formula = cls(text, stored["intercept"] is True, inputs, offset=offset)
        except NotAllowed as refused:
            raise ValueError(f"its offset {refused.what}") from None
        for factor in formula.offset.values():
            if factor.kind != "number" or any(inputs[c] == "text" for c in factor.columns):
                raise ValueError("an offset that is not a number")
        if not {*formula.inputs.values()} <= {"number", "bool", "text"}:
            raise ValueError("columns of other kinds")
        if "features" not in stored:
            return formula
        try:
            formula.blocks = [Block.from_json(block) for block in stored["blocks"]]
        except NotAllowed as refused:
            raise ValueError(f"its formula {refused.what}") from None
        except LookupError as problem:
            raise ValueError(f"its formula has no {problem}") from None
        for block in formula.blocks:
            for name in block.factor.columns:
                if (formula.inputs[name] == "text") > (block.levels is not None):
                    raise ValueError(f"numbers of text column {name}")
        formula.features = [
            (str(name), float(scale), [(int(block), int(at)) for block, at in parts])
            for name, scale, parts in stored["features"]
        ]
        for _, scale, parts in formula.features:
            known = all(0 <= k < len(formula.blocks) and at >= 0 for k, at in parts)
            if not (math.isfinite(scale) and known):
                raise ValueError("features of other blocks")
        return formula


class FloatColumns:
    """The columns of a table as floats, by name."""

    def __init__(self, table: pa.Table):
        self.table = table
        self._known: dict[str, np.ndarray] = {}

    def __call__(self, name: str) -> np.ndarray:
        """Return a column."""
        if name not in self._known:
            self._known[name] = numbers_in(self.table, name)
        return self._known[name]


def _constants(factor: Factor, text: str, rows: pa.Table) -> dict[str, Any]:
    """Return the constants of a transformation of all rows, as plain JSON."""
    if factor.kind not in TRANSFORMS:
        return {}
    import formulaic.transforms as known

    functions = {"poly": known.poly, "bs": known.basis_spline, "cr": known.natural_cubic_spline}
    state: dict[str, Any] = {}
    try:
        with np.errstate(all="ignore"):
            x = np.asarray(factor.values(FloatColumns(rows)), dtype=np.float64)
            different = len(np.unique(x))
            if factor.kind == "poly" and different <= factor.settings.get("degree", 1):
                raise ValueError(f"there are {different} different values")
            functions[factor.kind](x, **factor.settings, _state=state)
        stored = _plain(factor.kind, state)
        _check_constants(factor, stored)
    except (ValueError, IndexError, ArithmeticError, np.linalg.LinAlgError) as error:
        reason = str(error).partition("\n")[0].partition(". ")[0].strip().rstrip(".")
        raise DataError(
            f"'{text}' of the formula cannot be computed from these rows ({reason})",
            "choose a lower degree or fewer knots",
            code="bad-formula",
            value=text,
        ) from None
    return stored


def _plain(kind: str, state: dict[str, Any]) -> dict[str, Any]:
    """Return formulaic's state of a transformation as lists of numbers."""
    if kind == "poly":
        return {name: [float(values[k]) for k in sorted(values)] for name, values in state.items()}
    found = {name: state[name] for name in ("lower_bound", "upper_bound", "knots")}
    found["knots"] = [float(knot) for knot in found["knots"]]
    if state.get("constraints") is not None:
        # The basis of the null space of the constraints, in which formulaic writes the splines.
        constraints = np.asarray(state["constraints"], dtype=np.float64)
        basis = np.linalg.qr(constraints.T, mode="complete")[0][:, constraints.shape[0] :]
        found["basis"] = basis.tolist()
    return found


def transformed(
    factor: Factor, state: dict[str, Any] | None, column: Callable[[str], np.ndarray]
) -> Any:
    """Return the values of a factor without levels, as formulaic has them."""
    if factor.kind == "column":
        return column(factor.columns[0])
    x = np.asarray(factor.values(column), dtype=np.float64)
    if factor.kind == "number" or state is None:
        return x
    needs_formulaic()
    import formulaic.transforms as known

    settings = factor.settings
    if factor.kind == "poly":
        by_degree = {name: dict(enumerate(values)) for name, values in state.items()}
        return known.poly(x, **settings, _state=by_degree)
    if factor.kind == "bs":
        # Rows beyond the bounds are refused before.
        return known.basis_spline(x, **settings, _state=dict(state))
    constants = {name: value for name, value in state.items() if name != "basis"}
    constants |= {"constraints": None, "cyclic": False}
    free = known.natural_cubic_spline(x, _state=constants)
    if "basis" not in state:
        return free
    # Sums in one order for every row: a matrix product has another for each number of rows.
    basis, columns = np.array(state["basis"], dtype=np.float64), list(free.values())
    return {
        k + 1: np.sum([c * weight for c, weight in zip(columns, basis[:, k], strict=True)], axis=0)
        for k in range(basis.shape[1])
    }


def as_columns(values: Any) -> np.ndarray:
    """Return the values of a factor as an array with a column for each of its own."""
    if isinstance(values, dict):
        return np.column_stack([np.asarray(value, dtype=np.float64) for value in values.values()])
    found = np.asarray(values, dtype=np.float64)
    return found[:, np.newaxis] if found.ndim == 1 else found


def _check_bounds(block: Block, column: FloatColumns, where: Place) -> None:
    """Raise DataError for a number beyond the bounds of a B-spline, where it has no value."""
    x = np.asarray(block.factor.values(column), dtype=np.float64)
    assert block.state is not None
    low, high = block.state["lower_bound"], block.state["upper_bound"]
    if (beyond := (x < low) | (x > high)).any():
        row = int(np.argmax(beyond))
        raise DataError(
            where(row) + f", '{block.text}' of the formula is evaluated at {x[row]:g}, outside "
            f"its bounds {low:g} and {high:g}",
            "correct it", "retrain with cr instead of bs, which continues as a straight line",
            code="out-of-range", column=block.text,
        )  # fmt: skip
