"""Factors and terms of a regression, from the preprocessing that its model file has, too."""

import re
from typing import Any

from linsep.errors import DataError
from linsep.estimators.labels import feature_names
from linsep.sources.feature_names import names_in_recipe

#: of each level of a factor the numbers of features and their values, none of the reference level
Levels = dict[str, dict[int, float]]


def reference_of(levels: Levels) -> str:
    """Return the level without features; the first level if all have features."""
    return next((name for name, of in levels.items() if not of), next(iter(levels)))


def factor_of(model: Any, name: str) -> tuple[str, Levels]:
    """Return a factor of a fitted regression: ``name`` is its column, or C(column) of a formula."""
    quoted, found = r"C\(\s*(.+?)\s*(?:,.*)?\)", products_and_factors(model)[1]
    wanted = str(name) if str(name) in found else re.sub(f"^{quoted}$", r"\1", str(name))
    if wanted in found:
        return wanted, found[wanted]
    if (getattr(model, "recipe_", None) or {}).get("hash_bits") is not None:
        raise DataError("Hashed features have no factors.", code="unsupported")
    raise DataError(
        f"'{name}' is not a factor: choose among {', '.join(map(repr, found)) or 'none'}.",
        code="unknown-column", column=name,
    )  # fmt: skip


def terms_of(model: Any) -> dict[tuple[str, ...], list[int]]:
    """Return the features that enter or leave a model together, by the columns they multiply."""
    found: dict[tuple[str, ...], list[int]] = {}
    for feature, parts in enumerate(products_and_factors(model)[0]):
        found.setdefault(tuple(parts), []).append(feature)
    return found


def products_and_factors(model: Any) -> tuple[list[list[str]], dict[str, Levels]]:
    """Return the names of what each feature is a product of, and the factors."""
    names, recipe = feature_names(model), getattr(model, "recipe_", None) or {}
    products, factors = [[name] for name in names], dict[str, Levels]()
    if formula := recipe.get("formula"):
        blocks = formula["blocks"]
        for j, (_, scale, made) in enumerate(formula["features"]):
            products[j] = [_name(blocks[k], formula["inputs"]) for k, _ in made]
            (k, at), *more = made
            if more or "levels" not in blocks[k]:
                continue
            levels = factors.setdefault(blocks[k]["column"], {})
            for level, coding in zip(blocks[k]["levels"], blocks[k]["coding"], strict=True):
                coded = levels.setdefault(str(level), {})
                if value := dict(zip(*coding, strict=True)).get(at):
                    coded[j] = scale * value
    elif recipe.get("format") == "table" and recipe.get("hash_bits") is None:
        shown, references = names_in_recipe(recipe), recipe.get("reference", {})
        for column, places in recipe["text"].items():
            if column in recipe["numeric"]:  # of missing numbers
                continue
            levels = {str(references[column]): {}} if references.get(column) is not None else {}
            for level, place in places.items():
                levels[str(level)], products[place] = {place: 1.0}, [shown[column]]
            factors[shown[column]] = levels
        for product in recipe.get("products", ()):
            for *_, place in product["features"]:
                products[place] = [shown[name] for name in product["columns"]]
    return products, factors


def _name(block: dict[str, Any], inputs: dict[str, str]) -> str:
    if "levels" not in block:
        return str(block.get("expression") or block["column"])
    return f"C({block['column']})" if inputs[block["column"]] == "number" else block["column"]
