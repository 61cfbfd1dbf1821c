"""What commands say of missing values, and of values and fields that a model does not know."""

from collections.abc import Container
from typing import Any

from linsep.cli.screen import count
from linsep.sources.base import Source
from linsep.sources.feature_names import names_in_recipe

#: most columns that are shown; --json has all
MOST_COLUMNS = 8


def gaps_of(source: Source, unread: Container[str] = ()) -> dict[str, Any]:
    """Return what the last reading left out or replaced, as plain JSON; ``unread`` are columns of
    the model that were not to be read.

    A field that the model does not have matters where another is missing: it may be a misspelling.
    """
    gaps = {"rows_dropped": source.dropped, "values_filled": dict(source.filled)}
    ignored = {x: where for x, where in source.ignored.items() if x not in unread}
    return gaps | {"fields_ignored": ignored if any(gaps.values()) else {}}


def gap_pairs(result: dict[str, Any], recipe: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the same as pairs of a heading and a text, if there is something to say."""
    pairs, rows = [], result["rows_dropped"]
    if rows:
        pairs.append(("left out", f"{count(rows, 'row')} with missing values"))
    if filled := result["values_filled"]:
        pairs.append(("missing", filled_text(filled, recipe)))
    if ignored := result["fields_ignored"]:
        pairs.append(("ignored", ignored_text(ignored)))
    return pairs


def filled_text(filled: dict[str, int], recipe: dict[str, Any]) -> str:
    """Return how many values of which columns were missing, and what they were taken for."""
    parts = [
        f"'{name}' in {count(n, 'row')} ({_taken_for(name, recipe)})" for name, n in filled.items()
    ]
    return _listed(parts, "columns")


def _taken_for(name: str, recipe: dict[str, Any]) -> str:
    if name in recipe.get("words", ()):
        return "taken for no words"
    if name in recipe.get("numeric", ()):
        return f"taken for {'the mean' if recipe['missing'] == 'mean' else 'zero'}"
    reference = recipe.get("reference", {}).get(name)
    return "taken for no value" if reference is None else f"taken for {reference}"


def ignored_text(ignored: dict[str, str]) -> str:
    """Return which fields are no columns of the model, each with its first line."""
    parts = [f"'{name}' (first in {where})" for name, where in ignored.items()]
    return f"{_listed(parts, 'fields')}: no column of the model"


def _listed(parts: list[str], what: str) -> str:
    more = f" and {len(parts) - MOST_COLUMNS:,} more {what}" if len(parts) > MOST_COLUMNS else ""
    return ", ".join(parts[:MOST_COLUMNS]) + more


def unknown_text(unknown: dict[str, int], model: Any) -> str:
    """Return the counts of values not seen in training; ``unknown`` is that of a Prediction."""
    recipe = getattr(model, "recipe_", {})
    references = recipe.get("reference", {})
    called = names_in_recipe(recipe) if references else {}
    parts: dict[str, list[str]] = {}
    for name, n in unknown.items():
        if name == "features":
            taken, of = "ignored", "features"
        else:
            taken, of = "predicted as none of the known values", f"column '{name}'"
            if name in references:
                taken = f"predicted as the reference {called[name]}={references[name]}"
        parts.setdefault(taken, []).append(f"{count(n, 'value')} of {of}")
    return ", ".join(
        f"{', '.join(which)} not seen in training; {taken}" for taken, which in parts.items()
    )


def unscored_pairs(result: dict[str, Any], model: Any) -> list[tuple[str, str]]:
    """Return the rows left out of a score, and the values that were missing or that the model does
    not know.
    """
    unknown, recipe = result["unknown_values"], getattr(model, "recipe_", {})
    return gap_pairs(result, recipe) + (
        [("unknown", unknown_text(unknown, model))] if unknown else []
    )
