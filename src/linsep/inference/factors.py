"""Factors and terms of a regression: the features of a column of levels, or of a product.

They are derived from the preprocessing stored in the model, so a loaded model has them, too.
"""

import re
from typing import Any, NamedTuple

from linsep.errors import DataError
from linsep.estimators._common.labels import feature_names
from linsep.sources.feature_names import names_in_recipe
from linsep.words import either

#: a column in C(...), as formulas write it
_IN_FORMULA = re.compile(r"C\(\s*(.+?)\s*(?:,.*)?\)")


class Factor(NamedTuple):
    """A column of levels.

    Attributes
    ----------
    name : str, the column
    levels : dict of level as text to {number of a feature: its value for the level}
        Empty for the reference level, which comes first unless the levels are ordered.
    within : list of str, names of features that are products with other columns
    """

    name: str
    levels: dict[str, dict[int, float]]
    within: list[str]

    @property
    def reference(self) -> str:
        """The level without features; the first level if all have features."""
        return next((name for name, of in self.levels.items() if not of), next(iter(self.levels)))


class Term(NamedTuple):
    """Features that enter or leave a model together.

    Attributes
    ----------
    name : str
    features : list of int, their numbers
    parts : the names of the multiplied columns, factors and numbers separately
    """

    name: str
    features: list[int]
    parts: frozenset[str]


def factor_of(model: Any, name: str) -> Factor:
    """Return a factor of a fitted regression: ``name`` is its column, or C(column) of a formula.

    Raises DataError, which names the factors there are, for anything else.
    """
    recipe, found = getattr(model, "recipe_", None) or {}, factors_of(model)
    quoted = _IN_FORMULA.fullmatch(str(name))
    wanted = quoted[1] if quoted and str(name) not in found else str(name)
    if wanted in found:
        return found[wanted]
    if recipe.get("hash_bits") is not None:
        raise DataError(
            "The model has hashed features, so the levels of columns are unknown",
            _UNHASHED,
            code="unsupported",
        )
    if not found:
        raise DataError(
            f"'{name}' is not a factor. The model has no factors: they are text columns, "
            "categories, or C(column) or boolean columns of a formula.",
            code="unknown-column", column=name,
        )  # fmt: skip
    known = [repr(one) for one in found]
    advice = f"choose {either(known)}" if len(known) > 1 else f"the only factor is {known[0]}"
    raise DataError(f"'{name}' is not a factor: {advice}.", code="unknown-column", column=name)


def factors_of(model: Any) -> dict[str, Factor]:
    """Return the factors of a fitted regression, by name."""
    recipe = getattr(model, "recipe_", None) or {}
    formula = recipe.get("formula")
    return _of_formula(model, formula) if formula else _of_columns(model, recipe)


_UNHASHED = "train without hashing"


def notes_of_one_level(model: Any) -> list[str]:
    """Return a note on the text columns of a model that have no feature, because all rows have the
    same text.
    """
    recipe = getattr(model, "recipe_", None) or {}
    if recipe.get("format") != "table" or recipe.get("hash_bits") is not None:
        return []
    alone = [name for name, places in recipe.get("text", {}).items() if not places]
    if not alone:
        return []
    some = ", ".join(alone[:3]) + (f" and {len(alone) - 3} more" if len(alone) > 3 else "")
    return [f"No feature, because all rows have the same text: {some}."]


def _of_columns(model: Any, recipe: dict[str, Any]) -> dict[str, Factor]:
    """Return the factors of text columns, by name."""
    if recipe.get("hash_bits") is not None or not recipe.get("text"):
        return {}
    shown, names, found = names_in_recipe(recipe), feature_names(model), {}
    for column, places in recipe["text"].items():
        reference = recipe.get("reference", {}).get(column)
        levels: dict[str, dict[int, float]] = {} if reference is None else {str(reference): {}}
        levels |= {str(level): {int(place): 1.0} for level, place in places.items()}
        within = [
            names[int(one[-1])]
            for product in recipe.get("products", ())
            if column in product["columns"]
            for one in product["features"]
        ]
        found[shown[column]] = Factor(shown[column], levels, within)
    return found


def _of_formula(model: Any, formula: dict[str, Any]) -> dict[str, Factor]:
    """Return the factors of a formula, by the name of the column."""
    blocks, names = formula["blocks"], feature_names(model)
    found: dict[str, Factor] = {}
    for number, block in enumerate(blocks):
        if "levels" not in block:
            continue
        own = [
            (feature, scale, parts[0][1])
            for feature, (_, scale, parts) in enumerate(formula["features"])
            if len(parts) == 1 and parts[0][0] == number
        ]
        if not own:
            continue
        levels = {}
        for level, (places, values) in zip(block["levels"], block["coding"], strict=True):
            coding = dict(zip(places, values, strict=True))
            coded = {feature: scale * coding.get(at, 0.0) for feature, scale, at in own}
            levels[str(level)] = {feature: value for feature, value in coded.items() if value}
        within = [
            names[feature]
            for feature, (_, _, parts) in enumerate(formula["features"])
            if len(parts) > 1 and any(_levels_of(blocks[k]) == block["column"] for k, _ in parts)
        ]
        found[block["column"]] = Factor(block["column"], levels, within)
    return found


def _levels_of(block: dict[str, Any]) -> str | None:
    """Return the column whose levels a block has, None for numbers."""
    return block["column"] if "levels" in block else None


def terms_of(model: Any) -> list[Term]:
    """Return the terms of a fitted regression, in the order of their first features."""
    recipe, names = getattr(model, "recipe_", None) or {}, feature_names(model)
    called: list[tuple[str, ...]] = [(name,) for name in names]
    if formula := recipe.get("formula"):
        own = [_called(block, formula["inputs"]) for block in formula["blocks"]]
        for feature, (_, _, parts) in enumerate(formula["features"]):
            called[feature] = tuple(own[block] for block, _ in parts)
    elif recipe.get("format") == "table" and recipe.get("hash_bits") is None:
        shown = names_in_recipe(recipe)
        for column, places in recipe.get("text", {}).items():
            for place in places.values():
                called[int(place)] = (shown[column],)
        for product in recipe.get("products", ()):
            for *_, place in product["features"]:
                called[int(place)] = tuple(shown[column] for column in product["columns"])
    found: dict[tuple[str, ...], list[int]] = {}
    for feature, parts in enumerate(called):
        found.setdefault(parts, []).append(feature)
    return [Term(":".join(parts), some, frozenset(parts)) for parts, some in found.items()]


def _called(block: dict[str, Any], inputs: dict[str, str]) -> str:
    """Return the name of a block of a formula."""
    if "expression" in block:
        return str(block["expression"])
    levels = "levels" in block and inputs[block["column"]] == "number"
    return f"C({block['column']})" if levels else str(block["column"])
