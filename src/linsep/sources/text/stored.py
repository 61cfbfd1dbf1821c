"""Text columns in a recipe: what was learnt of them, as plain JSON, and names of their columns."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from linsep.sources.feature_names import names_in_recipe
from linsep.sources.text.counting import TextCounter
from linsep.sources.text.settings import Settings


def to_json(counter: TextCounter) -> dict[str, Any]:
    """Return the settings and what was learnt: terms, and in how many of the texts they are."""
    counts = counter.document_frequencies
    return {
        "settings": counter.settings._asdict()
        | {"ngram_range": list(counter.settings.ngram_range)},
        "terms": counter.terms,
        "texts": counter.n_texts,
        "frequencies": counts.tolist() if counter.settings.use_idf else [],
    }


def from_json(stored: dict[str, Any]) -> TextCounter:
    """Return what :func:`to_json` described; raise ValueError, KeyError or TypeError if it is not
    whole.
    """
    settings = Settings(**stored["settings"]).checked()
    counter = TextCounter(settings)
    terms, texts = stored["terms"], stored["texts"]
    counts = np.array(stored["frequencies"], dtype=np.int64)
    if not settings.learns or (settings.vocabulary and terms is None):
        return counter
    if terms is not None and not (
        settings.vocabulary
        and all(isinstance(term, str) and term for term in terms)
        and len(set(terms)) == len(terms) > 0
    ):
        raise ValueError("terms that are no vocabulary")
    width = settings.n_features if terms is None else len(terms)
    if settings.use_idf and not (
        counts.shape == (width,)
        and isinstance(texts, int)
        and 0 <= counts.min() <= counts.max() <= texts
    ):
        raise ValueError("frequencies of other terms")
    counter.restore(terms, counts, texts)
    return counter


def described(words: dict[str, Any]) -> str:
    """Return what the text columns of a recipe become, in a line."""
    ways: dict[str, list[str]] = {}
    for name, stored in words.items():
        ways.setdefault(_way(stored), []).append(name)
    return "; ".join(f"{', '.join(names)}: {way}" for way, names in ways.items())


def _way(stored: dict[str, Any]) -> str:
    how = Settings(**stored["settings"])
    units = {"word": "words", "char": "characters", "char_wb": "characters within words"}
    low, high = how.ngram_range
    parts = [units[how.analyzer]]
    if high > 1:
        parts = [f"n-grams of {low if low == high else f'{low} to {high}'} {parts[0]}"]
    if how.vocabulary:
        parts.append(f"a vocabulary of {len(stored['terms'] or ()):,}")
    else:
        parts.append(f"hashed into {how.n_features:,} columns")
    flags = {"binary": how.binary, "sublinear": how.sublinear_tf, "tf-idf": how.use_idf}
    parts += [name for name, given in flags.items() if given]
    return ", ".join([*parts, f"{how.norm} norm" if how.norm else "no norm"])


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
        """Return the name of a feature, and the sign of what it counts: -1 if its term is hashed
        with a negative sign.

        A hashed column is called by the first of its terms that was seen in training; others,
        which share its weight, follow in parentheses, those of the other sign with a minus.
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
    from linsep.compiled.text_hashing import hash_of

    data = np.frombuffer(term.encode() + bytes(4), np.uint8)
    return 1 if hash_of(data) < 1 << 31 else -1
