"""The columns behind the features of a model: numeric columns, and levels of text columns."""

import math
from typing import Any, NamedTuple

import numpy as np

from linsep.errors import DataError
from linsep.estimators._common.labels import label_text, words_and_signs
from linsep.inference.factors import Factor, factors_of
from linsep.sources.feature_names import names_in_recipe

#: names that a message lists
MOST_NAMED = 10
#: the levels of boolean columns in a formula, as files and numbers spell them
_BOOLEANS = {"0": "False", "1": "True", "false": "False", "true": "True"}


class Variable(NamedTuple):
    """A column whose features change together.

    Attributes
    ----------
    name : str
    features : tuple of int
    zero, one, unit : float
        For a numeric column, the value of the feature where the column is 0 and where it is 1, and
        its change per unit: other than 0, 1 and 1 where columns are scaled.
    is_bool : bool
    levels : dict of the name of a level to its features {number: value}, the others being zero;
        None for numbers
    base : the level that others are compared with
    tangled : whether its features also depend on other columns, or are not linear in it; then
        ``levels`` have no features
    cells : of a tangled column, the value of each level in the table
    plain : the feature that is the column itself, which shows zeros and ones; None without one
    """

    name: str
    features: tuple[int, ...]
    zero: float = 0.0
    one: float = 1.0
    unit: float = 1.0
    is_bool: bool = False
    levels: dict[str, dict[int, float]] | None = None
    base: str = ""
    tangled: bool = False
    cells: dict[str, Any] | None = None
    plain: int | None = None

    @property
    def key(self) -> tuple[str, int]:
        """What distinguishes it from others, which may have the same name or share features."""
        return self.name, self.features[0]

    def at(self, value: Any) -> dict[int, float]:
        """Return the features of a value; DataError if there is none."""
        given = dict.fromkeys(self.features, 0.0)
        if self.levels is not None:
            return given | self.levels[self._level(value)]
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            raise DataError(
                f"`at` has {value!r} for '{self.name}': give it a finite number.",
                code="bad-value", option="at", column=self.name, value=value,
            )  # fmt: skip
        return {self.features[0]: self.zero + self.unit * number}

    def _level(self, value: Any) -> str:
        """Return a level by its name, or by its value; DataError if there is none."""
        assert self.levels is not None
        text = label_text(value)
        for level in (str(value), text, _BOOLEANS.get(text.lower(), text)):
            if level in self.levels:
                return level
        known = ", ".join(list(self.levels)[:MOST_NAMED])
        raise DataError(
            f"'{self.name}' has no level '{value}': choose one of {known}.",
            code="unknown-value", option="at", column=self.name, value=value,
        )  # fmt: skip

    def changed(self, source: Any, value: Any) -> Any:
        """Return a source of tables in which a tangled column has one value."""
        if self.cells is not None:
            value = self.cells[self._level(value)]
            if isinstance(value, str):
                return source.changed(self.name, value)
        return source.changed(self.name, lambda values: np.full(values.size, float(value)))


def variables_of(model: Any) -> list[Variable]:
    """Return the columns that the features of a fitted model are made of, in their order."""
    recipe = getattr(model, "recipe_", None) or {}
    names, signs = words_and_signs(model)
    if recipe.get("formula"):
        return _of_formula(model, recipe["formula"], names)
    found, rest = [], set(range(len(names)))
    if recipe.get("format") == "table":
        found = _of_table(model, recipe, names)
        rest -= {j for variable in found for j in variable.features}
        rest -= {j for product in recipe.get("products", ()) for *_, j in product["features"]}
    # a word that is hashed with a negative sign adds minus its feature
    found += [
        Variable(names[j], (j,), 0.0, float(signs[j]), float(signs[j]), plain=j) for j in rest
    ]
    return sorted(found, key=lambda variable: variable.features)


def _of_table(model: Any, recipe: dict[str, Any], names: list[str]) -> list[Variable]:
    """Return the columns of a table, but for those whose features are words or hashed."""
    products = recipe.get("products", ())
    tangled = {name for product in products for name in product["columns"]}
    found = []
    flags = recipe.get("bool", ())
    for j, name in enumerate(recipe["numeric"]):
        center, spread = recipe.get("scale", {}).get(name, (0.0, 1.0))
        ends = -center / spread, (1.0 - center) / spread, 1.0 / spread
        own = Variable(names[j], (j,), *ends, is_bool=name in flags, plain=j)
        found.append(own._replace(name=name, tangled=True) if name in tangled else own)
    shown, factors = names_in_recipe(recipe), factors_of(model)
    for name, places in recipe["text"].items():
        if places and (factor := factors.get(shown[name])) is not None:  # not hashed
            rare = recipe.get("rare", {}).get(name)
            cells = {level: level for level in factor.levels}
            if rare is not None:  # a level is given its name by its values
                cells[rare["level"]] = rare["values"][0]
            own = Variable(name, tuple(places.values()), levels=factor.levels)
            crossed = bool(factor.within)
            found.append(own._replace(base=factor.reference, tangled=crossed, cells=cells))
    return found


def _of_formula(model: Any, stored: dict[str, Any], names: list[str]) -> list[Variable]:
    """Return the columns of a formula: tangled unless their features are the levels of the column,
    or the column itself.
    """
    from linsep.sources.tables.formulas import Formula

    formula = Formula.from_json(stored)
    uses: dict[str, list[int]] = {}
    for j, (_, _, parts) in enumerate(formula.features or ()):
        # each once, in the order of the term: a set would have an order of its own in each process
        for name in dict.fromkeys(c for k, _ in parts for c in formula.blocks[k].factor.columns):
            uses.setdefault(name, []).append(j)
    factors = factors_of(model)
    return [
        _in_formula(formula, name, tuple(features), factors.get(name), names)
        for name, features in uses.items()
    ]


def _in_formula(
    formula: Any, name: str, features: tuple[int, ...], factor: Factor | None, names: list[str]
) -> Variable:
    """Return a column of a formula; ``factor``: of its levels, if they have features."""
    terms = [formula.features[j] for j in features]
    used = {k for _, _, parts in terms for k, _ in parts}
    blocks = [b for b in (formula.blocks[k] for k in sorted(used)) if name in b.factor.columns]
    alone = len(used) == 1 and all(len(parts) == 1 for _, _, parts in terms)
    is_bool, own = formula.inputs[name] == "bool", Variable(name, features)
    if known := [block.levels for block in blocks if block.levels is not None]:
        cells = {str(level): level for level in known[0]}
        base = next(iter(cells)) if factor is None else factor.reference
        levels: dict[str, dict[int, float]] = {level: {} for level in cells}
        if alone and factor is not None:
            return own._replace(levels=factor.levels, base=base)
        return own._replace(tangled=True, levels=levels, base=base, cells=cells)
    if alone and blocks[0].factor.kind == "column":
        (j,), ((_, scale, _),) = features, terms
        return Variable(names[j], (j,), 0.0, scale, scale, is_bool, plain=j)
    return own._replace(tangled=True, is_bool=is_bool)
