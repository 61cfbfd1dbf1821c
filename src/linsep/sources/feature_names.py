"""Names of the features that the columns of a table become."""

from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import Any

import numpy as np


def shown_names(
    numeric: Iterable[str], text: Collection[str], words: Collection[str] = ()
) -> dict[str, str]:
    """Return the name of each column within the names of its features, which are unique.

    Features are named ``column``, ``column=value`` (text) and ``column:term`` (words). A column
    whose name begins like the features of another, such as ``a=b`` beside the text column ``a``, is
    put in double quotes, with its own quotes doubled; so is a name that begins with a quote.
    """
    found = {name: name for name in (*numeric, *text, *words)}
    kinds = {"=": text, ":": words}
    like = [
        name
        for name in found
        if any(sign in kinds and name[:k] in kinds[sign] for k, sign in enumerate(name))
    ]
    if like:
        for name in (*like, *(name for name in found if name.startswith('"'))):
            found[name] = '"' + name.replace('"', '""') + '"'
    return found


def names_in_recipe(recipe: dict[str, Any]) -> dict[str, str]:
    return shown_names(recipe["numeric"], recipe["text"], recipe.get("words", ()))


class FeatureNames:
    """Names of the features of a recipe of a table."""

    def __init__(self, recipe: dict[str, Any]):
        self._shown = shown = names_in_recipe(recipe)
        plain = [shown[name] for name in recipe["numeric"]]
        hashed, placed = 0, dict[int, str]()
        if recipe["text"] and recipe["hash_bits"] is not None:
            hashed = 1 << recipe["hash_bits"]
        else:
            for column, known in recipe["text"].items():
                placed |= {place: f"{shown[column]}={value}" for value, place in known.items()}
            for product in recipe.get("products", ()):
                for *key, place in product["features"]:
                    values = iter(key)
                    placed[place] = ":".join(
                        shown[name] + (f"={next(values)}" if name in product["texts"] else "")
                        for name in product["columns"]
                    )
        plain += [placed[place] for place in sorted(placed)]
        #: groups of features: how many, and what returns the name and the sign of one
        self._groups: list[tuple[int, Callable[[int], tuple[str, int]]]] = [
            (len(plain), lambda at: (plain[at], 1)), (hashed, lambda at: (f"hashed value {at}", 1))
        ]  # fmt: skip
        for name, stored in recipe.get("words", {}).items():
            settings, seen = stored["settings"], dict[int, list[str]]()
            width = len(stored["terms"] or ()) if settings["vocabulary"] else settings["n_features"]
            for term, column in zip(*recipe.get("seen", {}).get(name, ((), ())), strict=True):
                seen.setdefault(int(column), []).append(term)
            self._groups.append((width, partial(_name_of_word, shown[name], stored, seen)))

    def all(self) -> tuple[list[str], np.ndarray]:
        """Return the names and signs of all features; see :meth:`of`."""
        found = [name_of(at) for width, name_of in self._groups for at in range(width)]
        return [name for name, _ in found], np.array([sign for _, sign in found], np.int64)

    def of(self, feature: int) -> tuple[str, int]:
        """Return the name of a feature and the sign of its counts: -1 if its term is hashed with a
        negative sign.

        A hashed column is named by the first of its terms seen in training. Other terms, which
        share its weight, follow in parentheses, with a minus if their sign is opposite.
        """
        at = feature
        for width, name_of in self._groups:
            if at < width:
                return name_of(at)
            at -= width
        return f"feature {feature}", 1


def _name_of_word(
    shown: str, stored: dict[str, Any], seen: dict[int, list[str]], at: int
) -> tuple[str, int]:
    if stored["terms"] is not None:
        return f"{shown}:{stored['terms'][at]}", 1
    if at not in seen:
        return f"{shown}:column {at}", 1
    signed = stored["settings"]["alternate_sign"]
    (term, sign), *others = [(term, sign_of(term) if signed else 1) for term in seen[at][:4]]
    same = [("" if other == sign else "-") + name for name, other in others]
    more = f" (shares its column with {', '.join(same)})" if same else ""
    return f"{shown}:{term}{more}", sign


def sign_of(term: str) -> int:
    """Return what one occurrence of a term adds to its hashed column, 1 or -1."""
    from linsep.compiled.text_counting import hash_of

    data = np.frombuffer(term.encode() + bytes(4), np.uint8)
    return 1 if hash_of(data) < 1 << 31 else -1
