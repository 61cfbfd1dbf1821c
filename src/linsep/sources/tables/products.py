"""Products of two columns of a table: the products of each feature of one with each of the other.

Two columns of numbers have one, the product of their features: of scaled columns, if they are
scaled, and of what fills missing values. A numeric column and a text column have one feature per
indicator of the text column. Two text columns have the crossed indicators of the pairs of values
that occur. A reference level has no indicator. With hashed values, products share their places.
"""

from typing import Any, NamedTuple

import numpy as np

from linsep.errors import DataError, hint
from linsep.sources.tables.table_file import unknown_column

#: key of a feature of a product: empty for two numbers, else the text value, or both text values
Key = tuple[str, ...]
#: the number of the value of a column of text in each row, -1 where it is missing, and the values
Cells = tuple[np.ndarray, list[Any]]


class Product(NamedTuple):
    """The product of two columns."""

    first: str
    second: str
    texts: tuple[str, ...]  #: which of them are text
    places: dict[Key, int]  #: feature of each key, in order; empty where values are hashed

    @property
    def name(self) -> str:
        return f"{self.first}:{self.second}"


def products_of(given: list[str], columns: Any, path: Any) -> list[Product]:
    """Return the products that users name, as "A:B"."""
    found: list[Product] = []
    taken = {*columns.numeric, *columns.text, *(f"{name}:{name}" for name in columns.text)}
    for text in given:
        first, second = _split(text, columns, path)
        texts = tuple(name for name in (first, second) if name in columns.text)
        found.append(Product(first, second, texts, {}))
        if found[-1].name in taken:
            raise DataError(
                f"products has '{text}', which is twice the same text or a feature already",
                "leave it out, or rename a column",
                code="duplicate-name", option="products", value=text,
            )  # fmt: skip
        taken |= {f"{first}:{second}", f"{second}:{first}"}
    columns.products = found
    # Values of text are known after a survey.
    return found if columns.text else placed(columns, {}, len(columns.numeric))


def _split(text: str, columns: Any, path: Any) -> tuple[str, str]:
    """Return the names of two columns, which may have colons, too."""
    known = {*columns.numeric, *columns.text}
    cuts = [(text[:k], text[k + 1 :]) for k, letter in enumerate(text) if letter == ":"]
    pairs = [pair for pair in cuts if {*pair} <= known]
    if len(pairs) == 1:
        return pairs[0]
    if pairs or not cuts:
        raise DataError(
            f"products has {text!r}, which is {'several products' if pairs else 'none'}",
            hint("name two columns as in {}", products=["age:income"]),
            code="bad-option", option="products", value=text,
        )  # fmt: skip
    missing = next(name for name in cuts[0] if name not in known)
    raise unknown_column(path, sorted(known), missing, "column of features", "products")


def cells_of(product: Product, cells: dict[str, Cells], rows: int) -> Cells:
    """Return the values of the columns of text in each row, together: keys, as cells."""
    codes, keys = np.zeros(rows, np.int64), list[Key]([()])
    for name in product.texts:
        more, values = cells[name]
        width = max(1, len(values))
        pairs = np.where((codes < 0) | (more < 0), -1, codes * width + more)
        known, codes = np.unique(pairs, return_inverse=True)
        codes = codes - (-1 in known)
        keys = [(*keys[k // width], values[k % width]) for k in known.tolist() if k >= 0]
    return codes, keys


def placed(columns: Any, known: dict[str, set[Key]], place: int) -> list[Product]:
    """Return the products with a feature for each key whose values all have an indicator, in the
    order of these, the first one at ``place``; ``known`` are the keys that occur.
    """
    found = []
    for product in columns.products:
        ranks = {}
        for values in known.get(product.name, {()}):
            key = tuple(map(columns.level, product.texts, values))  # rare ones share one
            indicators = zip(product.texts, key, strict=True)
            ranks[tuple(columns.text[name].get(level, -1) for name, level in indicators)] = key
        keys = [ranks[rank] for rank in sorted(ranks) if -1 not in rank]
        found.append(product._replace(places={key: place + k for k, key in enumerate(keys)}))
        place += len(keys)
    return found


def entries(
    product: Product, columns: Any, X: np.ndarray, cells: dict[str, Cells]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the feature of a product that is not zero in each row, and its value. ``X`` are the
    features of the columns of numbers, ``cells`` the values of the columns of text.
    """
    names = list(columns.numeric)
    numbers = [X[:, names.index(n)] for n in (product.first, product.second) if n in names]
    with np.errstate(over="ignore"):
        values = np.prod(numbers, axis=0)
    codes, keys = cells_of(product, cells, X.shape[0])
    # The last entry is what code -1, missing, picks.
    places = np.array([*(_place(product, columns, key) for key in keys), -1], dtype=np.int64)
    found = places[codes]
    return found, np.where(found < 0, 0, values)


def _place(product: Product, columns: Any, key: Key) -> int:
    if columns.hash_bits is None or not columns.text:
        return product.places.get(tuple(map(columns.level, product.texts, key)), -1)
    values = dict(zip(product.texts, key, strict=True))
    both = (product.first, product.second)
    named: int = columns.hashed(":".join(f"{n}={values[n]}" if n in values else n for n in both))
    return named


def to_json(products: list[Product]) -> list[dict[str, Any]]:
    return [
        {"columns": [p.first, p.second], "texts": list(p.texts)}
        | {"features": [[*key, place] for key, place in p.places.items()]}
        for p in products
    ]


def from_json(stored: list[dict[str, Any]], columns: Any) -> list[Product]:
    """Return the products of plain JSON; ValueError unless they are of these columns."""
    found = []
    for one in stored:
        first, second = one["columns"]
        texts = tuple(name for name in (first, second) if name in columns.text)
        places = {tuple(map(str, key)): int(place) for *key, place in one["features"]}
        if not {first, second} <= {*columns.numeric, *columns.text}:
            raise ValueError("products of other columns")
        found.append(Product(first, second, texts, places))
    return found
