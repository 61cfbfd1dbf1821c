"""Factors and terms of a regression: the features of a column of levels, or of a product.

They are derived from the preprocessing stored in the model, so a loaded model has them, too.
"""

import re
from typing import Any, NamedTuple

from linsep.errors import DataError
from linsep.estimators._common.labels import feature_names
from linsep.sources.feature_names import names_in_recipe

#: a column in C(...), as formulas write it
_IN_FORMULA = re.compile(r"C\(\s*(.+?)\s*(?:,.*)?\)")


class Factor(NamedTuple):
    """A column of levels: of each, as text, the numbers of features and their values, none of the
    reference level; and the names of features ``within`` which it is multiplied by other columns.
    """

    name: str
    levels: dict[str, dict[int, float]]
    within: list[str]

    @property
    def reference(self) -> str:
        """The level without features; the first level if all have features."""
        return next((name for name, of in self.levels.items() if not of), next(iter(self.levels)))


class Term(NamedTuple):
    """Features that enter or leave a model together, by their numbers, and the names of the columns
    (``parts``) that are multiplied.
    """

    name: str
    features: list[int]
    parts: frozenset[str]


def factor_of(model: Any, name: str) -> Factor:
    """Return a factor of a fitted regression: ``name`` is its column, or C(column) of a formula."""
    found, quoted = factors_of(model), _IN_FORMULA.fullmatch(str(name))
    wanted = quoted[1] if quoted and str(name) not in found else str(name)
    if wanted in found:
        return found[wanted]
    if _recipe(model).get("hash_bits") is not None:
        raise DataError("Hashed features have no factors.", code="unsupported")
    raise DataError(
        f"'{name}' is not a factor of the model: a text column, categories, or C(column) or a "
        f"boolean column of a formula. Its factors: {', '.join(map(repr, found)) or 'none'}.",
        code="unknown-column", column=name,
    )  # fmt: skip


def factors_of(model: Any) -> dict[str, Factor]:
    """Return the factors of a fitted regression, by name."""
    (parts, levels), names = _read(model), feature_names(model)
    return {
        name: Factor(name, own, [
            names[j] for j, some in enumerate(parts)
            if len(some) > 1 and any(column == name for _, column in some)
        ])
        for name, own in levels.items()
    }  # fmt: skip


def terms_of(model: Any) -> list[Term]:
    """Return the terms of a fitted regression, in the order of their first features."""
    found: dict[tuple[str, ...], list[int]] = {}
    for feature, parts in enumerate(parts_of(model)):
        found.setdefault(parts, []).append(feature)
    return [Term(":".join(parts), some, frozenset(parts)) for parts, some in found.items()]


def parts_of(model: Any) -> list[tuple[str, ...]]:
    """Return the names of the columns and expressions of which each feature is the product."""
    return [tuple(name for name, _ in some) for some in _read(model)[0]]


def notes_of_one_level(model: Any) -> list[str]:
    """Return a note on text columns without a feature, because all rows have the same text."""
    recipe = _recipe(model)
    if recipe.get("format") != "table" or recipe.get("hash_bits") is not None:
        return []
    alone = [name for name, places in recipe.get("text", {}).items() if not places]
    return [f"No feature, because all rows have the same text: {', '.join(alone)}."] * bool(alone)


def _recipe(model: Any) -> dict[str, Any]:
    return getattr(model, "recipe_", None) or {}


Parts = list[tuple[tuple[str, str | None], ...]]
Levels = dict[str, dict[str, dict[int, float]]]


def _read(model: Any) -> tuple[Parts, Levels]:
    """Return what each feature is a product of, by name and the column whose levels it has, and the
    levels of each column.
    """
    recipe, levels = _recipe(model), Levels()
    parts: Parts = [((name, None),) for name in feature_names(model)]
    if formula := recipe.get("formula"):
        blocks = formula["blocks"]
        own = [_named(block, formula["inputs"]) for block in blocks]
        for j, (_, scale, made) in enumerate(formula["features"]):
            parts[j] = tuple(own[block] for block, _ in made)
            (first, at), *more = made
            column = own[first][1]
            if more or column is None:
                continue
            for level, (places, values) in zip(
                blocks[first]["levels"], blocks[first]["coding"], strict=True
            ):
                coded = levels.setdefault(column, {}).setdefault(str(level), {})
                if value := dict(zip(places, values, strict=True)).get(at):
                    coded[j] = scale * value
    elif recipe.get("format") == "table" and recipe.get("hash_bits") is None:
        shown = names_in_recipe(recipe)
        for column, places in recipe.get("text", {}).items():
            name, reference = shown[column], recipe.get("reference", {}).get(column)
            levels[name] = {} if reference is None else {str(reference): {}}
            for level, place in places.items():
                levels[name][str(level)] = {int(place): 1.0}
                parts[int(place)] = ((name, name),)
        for product in recipe.get("products", ()):
            for *_, place in product["features"]:
                parts[int(place)] = tuple((shown[name], shown[name]) for name in product["columns"])
    return parts, levels


def _named(block: dict[str, Any], inputs: dict[str, str]) -> tuple[str, str | None]:
    """Return the name of a block of a formula, and the column whose levels it has."""
    if "expression" in block:
        return str(block["expression"]), None
    column = block["column"]
    if "levels" not in block:
        return column, None
    return f"C({column})" if inputs[column] == "number" else column, column
