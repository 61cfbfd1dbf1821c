"""The features of a formula: fitted to all rows of a table, kept as plain data, computed for any
rows.

A feature is the product of columns of blocks. A block is a column of numbers, arithmetic of such
columns, a transformation of it, with constants learned from all rows (recurrences of orthogonal
polynomials, knots), or the levels of a column, such as text or booleans, with a row of numbers for
each. Arithmetic treats booleans as 0 and 1. A recipe holds these data and no code.

Derivatives are those of a complex step (Squire and Trapp, SIAM Review 40, 1998), right to the last
digit.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import chain, product
from typing import Any

import numpy as np
import pyarrow as pa

from linsep.errors import DataError
from linsep.sources.tables.formula_factors import Factor, factor_of, parse, refused
from linsep.sources.tables.spellings import by_spelling, canonical
from linsep.sources.tables.table_file import Place, as_text, numbers_in, text_codes

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
        """Return the values of a column as text or as numbers."""
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
            many = f"{levels[0]!r} in all rows" if len(levels) == 1 else f"{len(levels):,} levels"
            raise refused(
                factor.text, f"has {many}; factors have from 2 to {MOST_LEVELS:,} levels",
                "leave it out",
            )  # fmt: skip
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
        """Return the coding of the level of each row."""
        name, levels = block.columns[0], block.levels or []
        codes, distinct = text_codes(self._cells(table, name), name, place)
        written = {str(level): number for number, level in enumerate(levels)}
        same = by_spelling(written)  # of other formats
        written |= {str(int(x)): k for k, x in enumerate(levels) if isinstance(x, bool)}
        numbers = [
            written.get(value, written.get(same.get(canonical(value), canonical(value)), -1))
            for value in distinct
        ]
        found = np.array(numbers, dtype=np.intp)[codes]
        if (found < 0).any():
            row = int(np.argmax(found < 0))
            value, some = canonical(distinct[codes[row]]), ", ".join(map(str, levels[:20]))
            raise DataError(
                place(row) + f", column '{name}' is {value[:60]}, which is not a level of the "
                f"formula ({some}{', ...' if len(levels) > 20 else ''})",
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
