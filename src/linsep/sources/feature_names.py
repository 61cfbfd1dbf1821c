"""Names of the features that the columns of a table become."""

from collections.abc import Collection, Iterable, Iterator
from typing import Any

import numpy as np


def shown_names(
    numeric: Iterable[str], text: Collection[str], words: Collection[str] = ()
) -> dict[str, str]:
    """Return the name of each column within the names of its features, which are unique.

    The feature of a numeric column has the name of the column; features of products have the names
    of both columns, joined by a colon. Features of a text column are named ``column=value``, and
    features of words ``column:term``. A column whose name begins like the features of another
    column, such as ``a=b`` beside the text column ``a``, is put in double quotes, with its own
    quotes doubled; so is a name that begins with a quote.

    Parameters
    ----------
    numeric, text, words : names of the columns of each kind

    Returns
    -------
    dict of column to text
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
    """Return :func:`shown_names` of the columns of a table's recipe."""
    return shown_names(recipe["numeric"], recipe["text"], recipe.get("words", ()))


class FeatureNames:
    """Names of the features of a recipe whose text columns are hashed.

    Parameters
    ----------
    recipe : dict as of ``TableSource.recipe``
    """

    def __init__(self, recipe: dict[str, Any]):
        self._recipe = recipe
        self._shown = names_in_recipe(recipe)
        self._seen: dict[str, dict[int, list[str]]] = {}
        for name, (terms, columns) in recipe.get("seen", {}).items():
            own = self._seen.setdefault(name, {})
            for term, column in zip(terms, columns, strict=True):
                own.setdefault(int(column), []).append(term)

    def all(self) -> tuple[list[str], np.ndarray]:
        """Return the names and signs of all features; see :meth:`of`."""
        names, signs = [self._shown[name] for name in self._recipe["numeric"]], []
        for width, name, stored in self._blocks():
            first = len(names)
            if stored is None or stored["terms"] is not None:
                names += [self._in_block(name, stored, at)[0] for at in range(width)]
                continue
            names += [f"{self._shown[name]}:column {at}" for at in range(width)]
            for at in self._seen.get(name, {}):
                names[first + at], sign = self._in_block(name, stored, at)
                if sign < 0:
                    signs.append(first + at)
        found = np.ones(len(names), dtype=np.int64)
        found[signs] = -1
        return names, found

    def of(self, feature: int) -> tuple[str, int]:
        """Return the name of a feature and the sign of its counts: -1 if its term is hashed with a
        negative sign.

        A hashed column is named by the first of its terms seen in training. Other terms, which
        share its weight, follow in parentheses, with a minus if their sign is opposite.
        """
        numeric = self._recipe["numeric"]
        if feature < len(numeric):
            return self._shown[numeric[feature]], 1
        at = feature - len(numeric)
        for width, name, stored in self._blocks():
            if at < width:
                return self._in_block(name, stored, at)
            at -= width
        return f"feature {feature}", 1

    def _blocks(self) -> Iterator[tuple[int, str, Any]]:
        """Yield the width and the name of each group of columns, and its settings if it is text."""
        text, bits = self._recipe["text"], self._recipe["hash_bits"]
        if text and bits is not None:
            yield 1 << bits, "hashed value", None
        else:
            names = {
                place: f"{self._shown[column]}={value}"
                for column, known in text.items()
                for value, place in known.items()
            }
            for product in self._recipe.get("products", ()):
                for *key, place in product["features"]:
                    values = iter(key)
                    names[place] = ":".join(
                        self._shown[name] + (f"={next(values)}" if name in product["texts"] else "")
                        for name in product["columns"]
                    )
            for place in sorted(names):
                yield 1, names[place], None
        for name, stored in self._recipe.get("words", {}).items():
            settings = stored["settings"]
            width = len(stored["terms"] or ()) if settings["vocabulary"] else settings["n_features"]
            yield width, name, stored

    def _in_block(self, name: str, stored: Any, at: int) -> tuple[str, int]:
        if stored is None:
            return name if name != "hashed value" else f"{name} {at}", 1
        shown = self._shown[name]
        if stored["terms"] is not None:
            return f"{shown}:{stored['terms'][at]}", 1
        here = self._seen.get(name, {}).get(at)
        if not here:
            return f"{shown}:column {at}", 1
        signed = stored["settings"]["alternate_sign"]
        signs = [sign_of(term) if signed else 1 for term in here]
        others = [
            ("" if s == signs[0] else "-") + t for t, s in zip(here[1:], signs[1:], strict=True)
        ]
        more = f" (shares its column with {', '.join(others)})" if others else ""
        return f"{shown}:{here[0]}{more}", signs[0]


def sign_of(term: str) -> int:
    """Return what one occurrence of a term adds to its hashed column, 1 or -1."""
    from linsep.compiled.text_counting import hash_of

    data = np.frombuffer(term.encode() + bytes(4), np.uint8)
    return 1 if hash_of(data) < 1 << 31 else -1
