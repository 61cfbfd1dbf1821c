"""Factors and terms of a regression, from the preprocessing that its model file has, too."""

import re
from typing import Any, NamedTuple

from linsep.errors import DataError
from linsep.estimators._common.labels import feature_names
from linsep.sources.feature_names import names_in_recipe


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


def factor_of(model: Any, name: str) -> Factor:
    """Return a factor of a fitted regression: ``name`` is its column, or C(column) of a formula."""
    found, quoted = factors_of(model), re.fullmatch(r"C\(\s*(.+?)\s*(?:,.*)?\)", str(name))
    wanted = quoted[1] if quoted and str(name) not in found else str(name)
    if wanted in found:
        return found[wanted]
    if (getattr(model, "recipe_", None) or {}).get("hash_bits") is not None:
        raise DataError("Hashed features have no factors.", code="unsupported")
    raise DataError(
        f"'{name}' is not a factor of the model: a text column, categories, or C(column) or a "
        f"boolean column of a formula. Its factors: {', '.join(map(repr, found)) or 'none'}.",
        code="unknown-column", column=name,
    )  # fmt: skip


def factors_of(model: Any) -> dict[str, Factor]:
    """Return the factors of a fitted regression, by name."""
    return products_and_factors(model)[1]


def terms_of(model: Any) -> dict[tuple[str, ...], list[int]]:
    """Return the features that enter or leave a model together, by the columns they multiply."""
    found: dict[tuple[str, ...], list[int]] = {}
    for feature, parts in enumerate(products_and_factors(model)[0]):
        found.setdefault(tuple(name for name, _ in parts), []).append(feature)
    return found


def products_and_factors(model: Any) -> tuple[list[list[tuple[str, str]]], dict[str, Factor]]:
    """Return what each feature is a product of, by name and the column whose levels it has (or ""),
    and the factors.
    """
    names, recipe = feature_names(model), getattr(model, "recipe_", None) or {}
    products, factors = [[(name, "")] for name in names], dict[str, Factor]()
    if formula := recipe.get("formula"):
        blocks = formula["blocks"]
        named = [_named(block, formula["inputs"]) for block in blocks]
        for j, (_, scale, made) in enumerate(formula["features"]):
            products[j] = [named[k] for k, _ in made]
            (_, column), (k, at) = products[j][0], made[0]
            if len(made) > 1 or not column:
                continue
            levels = factors.setdefault(column, Factor(column, {}, [])).levels
            for level, coding in zip(blocks[k]["levels"], blocks[k]["coding"], strict=True):
                coded = levels.setdefault(str(level), {})
                if value := dict(zip(*coding, strict=True)).get(at):
                    coded[j] = scale * value
    elif recipe.get("format") == "table" and recipe.get("hash_bits") is None:
        shown = {column: (name, name) for column, name in names_in_recipe(recipe).items()}
        for column, places in recipe["text"].items():
            name, reference = shown[column][0], recipe.get("reference", {}).get(column)
            levels = {} if reference is None else {str(reference): {}}
            for level, place in places.items():
                levels[str(level)], products[place] = {place: 1.0}, [shown[column]]
            factors[name] = Factor(name, levels, [])
        for product in recipe.get("products", ()):
            for *_, place in product["features"]:
                products[place] = [shown[name] for name in product["columns"]]
    for name, some in zip(names, products, strict=True):
        for column in {column for _, column in some if len(some) > 1} & factors.keys():
            factors[column].within.append(name)
    return products, factors


def _named(block: dict[str, Any], inputs: dict[str, str]) -> tuple[str, str]:
    if "levels" not in block:
        return block.get("expression") or block["column"], ""
    column = block["column"]
    return f"C({column})" if inputs[column] == "number" else column, column
