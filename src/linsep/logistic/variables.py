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
    zero, unit : float
        For a numeric column, the value of the feature where the column is 0, and its change per
        unit: other than 0 and 1 where columns are scaled.
    is_bool : bool
    levels : dict of the name of a level to its features {number: value}, the others being zero; of
        a tangled column, to its value in the table; None for numbers
    base : the level, or zero, that others are compared with
    tangled : whether its features also depend on other columns, or are not linear in it
    plain : the feature that is the column itself, which shows zeros and ones; None without one
    """

    name: str
    features: tuple[int, ...]
    zero: float = 0.0
    unit: float = 1.0
    is_bool: bool = False
    levels: dict[str, Any] | None = None
    base: str = "0"
    tangled: bool = False
    plain: int | None = None

    def at(self, value: Any) -> Any:
        """Return the features of a value, or the value in the table of a tangled column; DataError
        if there is none.
        """
        if self.levels is not None:
            text, ends = label_text(value), self.ends
            spelled = (str(value), text, _BOOLEANS.get(text.lower(), text))
            level = next((name for name in spelled if name in ends), None)
            if level is None:
                raise DataError(
                    f"'{self.name}' has no level '{value}': choose one of "
                    f"{', '.join(list(ends)[:MOST_NAMED])}.",
                    code="unknown-value", option="at", column=self.name, value=value,
                )  # fmt: skip
            return ends[level]
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            raise DataError(
                f"`at` has {value!r} for '{self.name}': give it a finite number.",
                code="bad-value", option="at", column=self.name, value=value,
            )  # fmt: skip
        return number if self.tangled else {self.features[0]: self.zero + self.unit * number}

    @property
    def ends(self) -> dict[str, Any]:
        """The levels, or zero and one, with what :meth:`at` returns of them."""
        if self.levels is None:
            return {"0": self.at(0), "1": self.at(1)}
        none = dict.fromkeys(self.features, 0.0)
        return self.levels if self.tangled else {x: none | own for x, own in self.levels.items()}

    def changed(self, source: Any, cell: Any) -> Any:
        """Return a source of tables in which the column has one value."""
        if isinstance(cell, str):
            return source.changed(self.name, cell)
        return source.changed(self.name, lambda values: np.full(values.size, float(cell)))


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
    found += [Variable(names[j], (j,), 0.0, float(signs[j]), plain=j) for j in rest]
    return sorted(found, key=lambda variable: variable.features)


def _of_table(model: Any, recipe: dict[str, Any], names: list[str]) -> list[Variable]:
    """Return the columns of a table, but for those whose features are words or hashed."""
    products, found = recipe.get("products", ()), []
    tangled = {name for product in products for name in product["columns"]}
    for j, name in enumerate(recipe["numeric"]):
        center, spread = recipe.get("scale", {}).get(name, (0.0, 1.0))
        is_bool, shown = name in recipe.get("bool", ()), name if name in tangled else names[j]
        ends = -center / spread, 1.0 / spread
        found.append(Variable(shown, (j,), *ends, is_bool, tangled=name in tangled, plain=j))
    shown_as, factors = names_in_recipe(recipe), factors_of(model)
    for name, places in recipe["text"].items():
        factor = factors.get(shown_as[name])
        if not places or factor is None:  # hashed
            continue
        levels: dict[str, Any] = factor.levels
        if factor.within:
            levels = {level: level for level in levels}
            if name in recipe.get("rare", {}):  # whose level has a name of its own
                rare = recipe["rare"][name]
                levels[rare["level"]] = rare["values"][0]
        own = Variable(name, tuple(places.values()), levels=levels, base=factor.reference)
        found.append(own._replace(tangled=bool(factor.within)))
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
    is_bool = formula.inputs[name] == "bool"
    for block in blocks:
        if block.levels is not None:
            cells = {str(level): level for level in block.levels}
            base = next(iter(cells)) if factor is None else factor.reference
            plain = alone and factor is not None
            levels = factor.levels if plain and factor is not None else cells
            return Variable(name, features, levels=levels, base=base, tangled=not plain)
    if alone and blocks[0].factor.kind == "column":
        (j,), ((_, scale, _),) = features, terms
        return Variable(names[j], (j,), 0.0, scale, is_bool, plain=j)
    return Variable(name, features, is_bool=is_bool, tangled=True)
