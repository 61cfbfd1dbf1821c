"""Derivatives of the features of a formula in one of its columns.

Arithmetic is differentiated to the last digit by a complex step (Squire and Trapp, SIAM Review 40,
1998), transformations, which are piecewise polynomials, by central differences, products by their
rule.
"""

import ast
from typing import Any

import numpy as np

from linsep.sources.tables.formula_terms import TRANSFORMS
from linsep.sources.tables.formulas import Block, FloatColumns, Formula, as_columns, transformed
from linsep.sources.tables.table_file import Place

#: the imaginary part of a complex step, whose square is nothing beside 1
_TINY = 1e-150
#: half of a central difference, as a share of the spread of what is transformed
_STEP = 1e-5


class FormulaSlopes(Formula):
    """A formula whose rows are the derivatives of the features in a column of numbers.

    Parameters
    ----------
    formula : Formula that is learned
    name : str, the column
    """

    def __init__(self, formula: Formula, name: str):
        super().__init__(formula.text, formula.intercept, formula.inputs)
        self.blocks, self.features, self._name = formula.blocks, formula.features, name

    def _products(self, column: FloatColumns, where: Place) -> np.ndarray:
        blocks = [self._block(block, column, where) for block in self.blocks]
        slopes = [
            self._slope(block, column, values)
            for block, values in zip(self.blocks, blocks, strict=True)
        ]
        made = np.zeros((column.table.num_rows, len(self.features or ())))
        for number, (_, scale, parts) in enumerate(self.features or ()):
            for k, (block, at) in enumerate(parts):
                term = scale * slopes[block][:, at]
                for other, place in parts[:k] + parts[k + 1 :]:
                    term = term * blocks[other][:, place]
                made[:, number] += term
        return made

    def _slope(self, block: Block, column: FloatColumns, values: np.ndarray) -> np.ndarray:
        """Return the derivatives of the columns of a block."""
        factor, name = block.factor, self._name
        if block.levels is not None or name not in factor.columns:
            return np.zeros_like(values)
        if factor.kind == "column":
            return np.ones_like(values)

        def stepped(other: str) -> np.ndarray:
            return column(other) + (1j * _TINY if other == name else 0j)

        inner = np.imag(factor.values(stepped))[:, None] / _TINY
        if factor.kind not in TRANSFORMS:
            return np.asarray(inner)
        x = np.asarray(factor.values(column), dtype=np.float64)
        outer = _differences(block, x)[:, block.skip :]
        return np.asarray(outer * inner)


class FormulaColumn(FormulaSlopes):
    """A formula whose features are all the number in one column."""

    def _products(self, column: FloatColumns, where: Place) -> np.ndarray:
        return np.tile(column(self._name)[:, None], len(self.features or ()))


def _differences(block: Block, x: np.ndarray) -> np.ndarray:
    """Return the derivatives of a transformation of numbers."""
    state: dict[str, Any] = block.state or {}
    step = _STEP * _spread(state, x)
    if "upper_bound" in state and block.factor.kind == "bs":  # which has no values beyond
        x = np.clip(x, state["lower_bound"] + step, state["upper_bound"] - step)
    alone = block.factor._replace(node=ast.Name("x"), called={})

    def at(value: np.ndarray) -> np.ndarray:
        return as_columns(transformed(alone, state, lambda _: value))

    low, high = at(x - step), at(x + step)
    return np.asarray((high - low) / ((x + step) - (x - step))[:, None])


def _spread(state: dict[str, Any], x: np.ndarray) -> Any:
    """Return the size of differences that a transformation distinguishes."""
    if "upper_bound" in state:
        return state["upper_bound"] - state["lower_bound"]
    if "norms2" in state:
        return np.sqrt(state["norms2"][1] / state["norms2"][0])
    return np.where(x == 0, 1.0, np.abs(x))
