"""The features of a formula: fitted to all rows of a table, kept as plain data, computed for any
rows.

A feature is the product of columns of blocks. A block is a column of numbers, arithmetic of such
columns, a transformation of it, with constants learned from all rows (recurrences of orthogonal
polynomials, knots), or the levels of a column, such as text or booleans, with a row of numbers for
each. Arithmetic treats booleans as 0 and 1. A recipe holds these data and no code: its expressions
are parsed and checked like expressions of users.

Derivatives are those of a complex step (Squire and Trapp, SIAM Review 40, 1998), right to the last
digit.
"""

import math
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa

from linsep.errors import DataError
from linsep.sources.tables.formula_factors import Factor, factor_of
from linsep.sources.tables.formula_parsing import Parsed, shown
from linsep.sources.tables.spellings import by_spelling, canonical
from linsep.sources.tables.table_file import Place, as_text, numbers_in, text_codes

#: rows of which features are made at once while formulas are learned
_ROWS = 1 << 14
#: levels that a column may have
MOST_LEVELS = 10_000
#: the imaginary part of a complex step, whose square is nothing beside 1
_TINY = 1e-150
#: a factor by name, and whether it is coded with one column fewer than it has levels
Coded = tuple[str, bool]


def full_rank(found: Parsed, factors: dict[str, Factor]) -> list[list[Coded]]:
    """Return products of coded factors: what every term adds to the span of those before it, so
    that no feature is a combination of others.
    """
    coded, known = [], {frozenset[Coded]()} if found.intercept else set()
    for names in found.terms:
        ways = [[[(x, True)], []] if factors[x].levels else [[(x, False)]] for x in names]
        parts = [[one for way in some for one in way] for some in product(*ways)]
        coded += _simplified([part for part in parts if frozenset(part) not in known])
        known |= set(map(frozenset, parts))
    return coded


def _simplified(parts: list[list[Coded]]) -> list[list[Coded]]:
    """Return the fewest parts of the same span: a with all levels of b is a, and a with b."""
    found: list[list[Coded]] = []
    for part in sorted(parts, key=len):
        for other in found:
            more = [one for one in part if one not in other]
            if len(part) == len(other) + 1 and len(more) == 1 and more[0][1]:
                whole = [(one[0], one[1] and one != more[0]) for one in part]
                found = _simplified([one for one in found if one is not other] + [whole])
                break
        else:
            found.append(part)
    return found


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
    blocks : list of Factor, as they are coded
    features : list of names, numbers by which they are multiplied, and parts: block and column of
        it; None before :meth:`learn`
    slope : column in which :meth:`rows` differentiates, None for the features themselves
    shown : column whose numbers :meth:`rows` returns as each feature, or None
    """

    slope: str | None = None
    shown: str | None = None

    def __init__(
        self, text: str, intercept: bool, inputs: dict[str, str],
        parsed: Parsed | None = None, orders: dict[str, list[str]] | None = None,
        offset: Sequence[str] = (),
    ):  # fmt: skip
        self.text, self.intercept, self.inputs, self.parsed = text, intercept, inputs, parsed
        self._orders, self.offset = orders or {}, {one: factor_of(one) for one in offset}
        self.blocks: list[Factor] = []
        self.features: list[tuple[str, float, list[tuple[int, int]]]] | None = None
        self._taken: list[pa.Table] = []

    @property
    def names(self) -> list[str]:
        return [name for name, *_ in self.features or ()]

    def example(self, name: str) -> Any:
        own = (block.levels for block in self.blocks if block.columns == (name,))
        return next((levels[0] for levels in own if levels), None)

    def take(self, table: pa.Table) -> None:
        columns = {
            name: pa.array(numbers_in(table, name))
            if kind != "text"
            else as_text(table.column(name)).combine_chunks()
            for name, kind in self.inputs.items()
        }
        self._taken.append(pa.table(columns))

    def learn(self) -> Iterator[np.ndarray]:
        """Learn levels and constants from the rows taken; return their features, some at a time."""
        rows, found = pa.concat_tables(self._taken), self.parsed
        assert found is not None
        self._taken = []
        factors = dict(found.factors)
        for text, factor in (found.offsets | factors).items():
            name, kinds = factor.columns[0], {self.inputs[name] for name in factor.columns}
            if factor.kind == "levels" or (factor.kind == "column" and kinds != {"number"}):
                factors[text] = factor._replace(levels=self._levels(factor, rows))
            elif "text" in kinds:
                raise DataError(
                    f"'{factor.text}' in the formula cannot be computed, because a column of it "
                    "holds text",
                    "write C(column) by itself",
                    code="column-type",
                    column=next(name for name in factor.columns if self.inputs[name] == "text"),
                )
            elif text in factors:
                factors[text] = factor.learned(lambda name: numbers_in(rows, name))
        coded: dict[Coded, tuple[int, list[str]]] = {}
        self.features = []
        for keys in full_rank(found, factors):
            for key in keys:
                if key not in coded:
                    block, names = factors[key[0]].coded(key[1])
                    coded[key] = len(self.blocks), names
                    self.blocks.append(block)
            # The columns of the first factor change fastest, as in R.
            for places in product(*(range(len(coded[key][1])) for key in reversed(keys))):
                parts = [(*coded[key], at) for key, at in zip(keys, reversed(places), strict=True)]
                name = ":".join(names[at] for _, names, at in parts)
                self.features.append((name, 1.0, [(block, at) for block, _, at in parts]))
        if len({*self.names}) < len(self.names):
            raise DataError(
                f"The formula '{shown(self.text)}' has two features of one name",
                "leave out a term, or rename a column",
                code="duplicate-name",
            )
        return (
            self.rows(rows.slice(start, _ROWS), lambda row: f"row {row + 1}")
            for start in range(0, rows.num_rows, _ROWS)
        )

    def _levels(self, factor: Factor, rows: pa.Table) -> list[Any]:
        name, found = factor.columns[0], factor.settings.get("levels")
        if found is None and self.inputs[name] == "text":
            places = {value: place for place, value in enumerate(self._orders.get(name, ()))}
            found = rows.column(name).unique().to_pylist()
            found.sort(key=lambda value: (places.get(value, len(places)), value))
        elif found is None:
            numbers = np.unique(rows.column(name).to_numpy())
            whole = int if (numbers == np.trunc(numbers)).all() else float
            kind = bool if self.inputs[name] == "bool" else whole
            found = [kind(number) for number in numbers]
        if len(found) > MOST_LEVELS:
            raise DataError(
                f"Column '{name}' has {len(found):,} levels, more than the {MOST_LEVELS:,} that a "
                "formula can have",
                "leave out the formula; without it, they become sparse features",
                code="too-large", column=name,
            )  # fmt: skip
        if len(found) == 1:
            raise DataError(
                f"Column '{name}' is {found[0]!r} in all rows, so the factor '{factor.text}' of "
                "the formula has only one level",
                "leave it out",
                code="bad-formula", column=name, value=found[0],
            )  # fmt: skip
        return list(found)

    def offset_values(self, table: pa.Table) -> list[np.ndarray]:
        with np.errstate(all="ignore"):
            return [f.numbers(lambda name: numbers_in(table, name)) for f in self.offset.values()]

    def rows(self, table: pa.Table, place: Place) -> np.ndarray:
        """Return the features of rows, all of which have all values; none before they are learned.

        Raises DataError, which names the row, for a level that is not known and for a value that
        cannot be computed.
        """
        if not (self.features and table.num_rows):
            return np.empty((table.num_rows, len(self.names)))
        with np.errstate(all="ignore"):
            made = self._made(table, place)
        if not np.isfinite(made).all():
            row, number = np.argwhere(~np.isfinite(made))[0].tolist()
            raise DataError(
                place(row) + f", feature '{self.names[number]}' of the formula is "
                f"{made[row, number]:g}",
                "correct the row", *["leave out the term"] * (self.parsed is not None),
                code="not-finite", column=self.names[number],
            )  # fmt: skip
        return made

    def _made(self, table: pa.Table, where: Place) -> np.ndarray:

        @cache
        def column(name: str) -> np.ndarray:
            x = numbers_in(table, name)
            return x + 1j * _TINY if name == self.slope else x

        features = self.features or []
        if self.shown is not None:
            return np.tile(column(self.shown)[:, None], len(features))
        blocks = []
        for block in self.blocks:
            if block.coding is not None:
                blocks.append(block.coding[self._codes(block, table, where)])
                continue
            if block.kind == "bs":
                _check_bounds(block, block.numbers(column).real, where)
            blocks.append(block.values(column))
        made = np.empty((table.num_rows, len(features)), np.result_type(np.float64, *blocks))
        for number, (_, scale, parts) in enumerate(features):
            made[:, number] = scale
            for k, at in parts:
                made[:, number] *= blocks[k][:, at]
        return made if self.slope is None else made.imag / _TINY

    def _codes(self, block: Factor, table: pa.Table, where: Place) -> np.ndarray:
        """Return the number of the level of each row."""
        name, levels = block.columns[0], block.levels or []
        places = {level: number for number, level in enumerate(levels)}
        if self.inputs[name] == "text":
            codes, distinct = text_codes(table.column(name), name, where)
            written = {str(level): number for level, number in places.items()}
            known = by_spelling(written)  # of other formats
            others = {value: known.get(canonical(value)) for value in distinct}
            places = {v: written[level] for v, level in others.items() if level} | places
        else:
            numbers, codes = np.unique(numbers_in(table, name), return_inverse=True)
            distinct = numbers.tolist()
        found = np.array([places.get(value, -1) for value in distinct], dtype=np.intp)[codes]
        if (found < 0).any():
            row = int(np.argmax(found < 0))
            value, some = distinct[codes[row]], ", ".join(map(str, levels[:20]))
            cell = f"'{value[:60]}'" if isinstance(value, str) else f"{value:g}"
            raise DataError(
                where(row) + f", column '{name}' is {cell}, which is not a level of the formula "
                f"({some}{', ...' if len(levels) > 20 else ''})",
                "correct it", "leave out the row",
                code="unknown-value", column=name, value=value,
            )  # fmt: skip
        return found

    def to_json(self) -> dict[str, Any]:
        stored = {"text": self.text, "intercept": self.intercept, "inputs": dict(self.inputs)}
        if self.offset:
            stored["offset"] = list(self.offset)
        if self.features is not None:
            stored["blocks"] = [block.to_json() for block in self.blocks]
            stored["features"] = [
                [*feature, list(map(list, parts))] for *feature, parts in self.features
            ]
        return stored

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "Formula":
        """Return the formula of plain JSON.

        Raises ValueError, LookupError or TypeError for what :meth:`to_json` could not have made,
        above all for an expression that formulas may not hold.
        """
        offset = [str(one) for one in stored.get("offset", ())]
        formula = cls(str(stored["text"]), stored["intercept"] is True, dict(stored["inputs"]),
                      offset=offset)  # fmt: skip
        kinds = formula.inputs
        if not {*kinds.values()} <= {"number", "bool", "text"}:
            raise ValueError("columns of other kinds")
        for factor in formula.offset.values():
            if factor.kind != "number" or any(kinds[name] == "text" for name in factor.columns):
                raise ValueError("an offset that is not a number")
        if "features" not in stored:
            return formula
        formula.blocks = [Factor.from_json(block) for block in stored["blocks"]]
        for block in formula.blocks:
            if any((kinds[x] == "text") > (block.levels is not None) for x in block.columns):
                raise ValueError("numbers of a column of text")
        widths = [block.width for block in formula.blocks]
        formula.features = [
            (str(name), float(scale), [(int(k), int(at)) for k, at in parts])
            for name, scale, parts in stored["features"]
        ]
        for _, scale, parts in formula.features:
            if not (
                math.isfinite(scale) and all(k >= 0 and 0 <= at < widths[k] for k, at in parts)
            ):
                raise ValueError("features of other blocks")
        return formula


def _check_bounds(block: Factor, x: np.ndarray, where: Place) -> None:
    """Raise DataError for a number beyond the bounds of a B-spline, where it has no value."""
    constants = block.constants or {}
    low, high = constants["lower_bound"], constants["upper_bound"]
    if (beyond := (x < low) | (x > high)).any():
        row = int(np.argmax(beyond))
        raise DataError(
            where(row) + f", '{block.text}' of the formula is evaluated at {x[row]:g}, "
            f"outside its bounds {low:g} and {high:g}",
            "correct it", "retrain with cr instead of bs, which continues as a straight line",
            code="out-of-range", column=block.text,
        )  # fmt: skip
