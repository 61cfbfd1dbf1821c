"""Products of two columns of a table: the products of each feature of one with each of the other.

Two columns of numbers have one, the product of their features: of scaled columns, if they are
scaled, and of what fills missing values. A numeric column and a text column have one feature per
indicator of the text column. Two text columns have the crossed indicators of the pairs of values
that occur. A reference level has no indicator. With hashed values, products share their places.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from linsep.errors import DataError, hint
from linsep.sources.tables.table_file import unknown_column

#: key of a feature of a product: empty for two numbers, else the text value, or both text values
Key = tuple[str, ...]


class Product(NamedTuple):
    """The product of two columns.

    Attributes
    ----------
    first, second : names of the columns
    texts : which of them are text
    places : feature of each key, in order; empty where values are hashed
    """

    first: str
    second: str
    texts: tuple[str, ...]
    places: dict[Key, int]

    @property
    def name(self) -> str:
        return f"{self.first}:{self.second}"


class Cells(NamedTuple):
    """The values of a column of text in some rows: the number of the value of each, -1 where it is
    missing, and the values.
    """

    codes: np.ndarray
    distinct: list[Any]


def products_of(given: Iterable[str] | None, columns: Any, path: Any) -> list[Product]:
    """Return the products that users name, as "A:B".

    Raises DataError for a column that does not exist or has no features.
    """
    found: list[Product] = []
    for text in given or ():
        pair = _split(text, columns, path)
        product = Product(*pair, tuple(name for name in pair if name in columns.text), {})
        if pair[0] == pair[1] and product.texts:
            raise DataError(
                f"'{text}' crosses column '{pair[0]}', which holds text, with itself",
                "name another column",
                code="column-type", column=pair[0], value=text,
            )  # fmt: skip
        if any({*pair} == {known.first, known.second} for known in found):
            continue  # named twice
        if product.name in {*columns.numeric, *columns.text}:
            raise DataError(
                f"There is already a column '{product.name}', the name of the product of "
                f"'{pair[0]}' and '{pair[1]}'",
                "rename it",
                code="duplicate-name",
                column=product.name,
            )
        found.append(product)
    columns.products = found
    # Values of text are known after a survey.
    return found if columns.text else placed(columns, {}, len(columns.numeric))


def _split(text: Any, columns: Any, path: Any) -> tuple[str, str]:
    """Return the names of two columns, which may have colons, too."""
    known, text = {**columns.numeric, **columns.text}, str(text)
    cuts = [(text[:k], text[k + 1 :]) for k, letter in enumerate(text) if letter == ":"]
    pairs = [pair for pair in cuts if all(name in known for name in pair)]
    if len(pairs) == 1:
        return pairs[0]
    if pairs or not text.strip(":") or ":" not in text[1:-1]:
        raise DataError(
            f"products has {text!r}, which is {'several products' if pairs else 'none'}",
            hint("name two columns as in {}", products=["age:income"]),
            code="bad-option", option="products", value=text,
        )  # fmt: skip
    strangers = [[name for name in pair if name not in known] for pair in cuts]
    missing = min(strangers, key=len)[0]
    roles = {columns.target: "the label", **dict(columns.beside)}
    roles |= dict.fromkeys(columns.words, "text read as words")
    roles |= dict.fromkeys(columns.exclude, "left out")
    if missing in roles:
        raise DataError(
            f"'{text}' names column '{missing}', which is {roles[missing]}",
            "name another column",
            code="column-role",
            column=missing,
        )
    raise unknown_column(path, known, missing, option="products")


def cells_of(product: Product, cells: dict[str, Cells], rows: int) -> Cells:
    """Return the values of the columns of text in each row, together: keys, as cells."""
    codes, keys = np.zeros(rows, np.int64), list[Key]([()])
    for name in product.texts:
        more, values = cells[name]
        missing, width = (codes < 0) | (more < 0), max(1, len(values))
        known, found = np.unique((codes * width + more)[~missing], return_inverse=True)
        codes = np.full(rows, -1)
        codes[~missing] = found
        keys = [(*keys[k // width], values[k % width]) for k in known.tolist()]
    return Cells(codes, keys)


def placed(columns: Any, known: dict[str, set[Key]], place: int) -> list[Product]:
    """Return the products with a feature for each key whose values all have an indicator, in the
    order of these, the first one at ``place``; ``known`` are the keys that occur.
    """
    found = []
    for product in columns.products:
        orders = [{v: k for k, v in enumerate(columns.text[name])} for name in product.texts]
        keys = {_levels(product, columns, key) for key in known.get(product.name, {()})}
        ranks = {key: [order.get(v, -1) for v, order in zip(key, orders, strict=True)]
                 for key in keys}  # fmt: skip
        ordered = sorted((key for key in keys if -1 not in ranks[key]), key=ranks.__getitem__)
        found.append(product._replace(places={key: place + k for k, key in enumerate(ordered)}))
        place += len(ordered)
    return found


def _levels(product: Product, columns: Any, values: Key) -> Key:
    """Return the levels of values of columns of text: rare ones share one."""
    return tuple(map(columns.level, product.texts, values))


def entries(
    product: Product, columns: Any, X: np.ndarray, cells: dict[str, Cells]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the feature of a product that is not zero in each row, and its value. ``X`` are the
    features of the columns of numbers, ``cells`` the values of the columns of text.
    """
    names = list(columns.numeric)
    numbers = [X[:, names.index(n)] for n in (product.first, product.second) if n in names]
    with np.errstate(over="ignore"):
        values = np.prod(numbers, axis=0) if numbers else np.ones(X.shape[0], X.dtype)
    codes, keys = cells_of(product, cells, X.shape[0])
    # The last entry is what code -1, missing, picks.
    places = np.array([*(_place(product, columns, key) for key in keys), -1], dtype=np.int64)
    found = places[codes]
    return found, np.where(found < 0, 0, values)


def _place(product: Product, columns: Any, key: Key) -> int:
    if columns.hash_bits is None or not columns.text:
        return product.places.get(_levels(product, columns, key), -1)
    values = iter(key)
    both = (product.first, product.second)
    name = ":".join(f"{n}={next(values)}" if n in product.texts else n for n in both)
    low = crc32(name.encode()) & ((1 << columns.hash_bits) - 1)
    return len(columns.numeric) + low


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
        (first, second), texts = one["columns"], tuple(one["texts"])
        places = {tuple(map(str, key)): int(place) for *key, place in one["features"]}
        known = {name for name in (first, second) if name in columns.text}
        if {*texts} != known or not {first, second} <= {*columns.numeric, *columns.text}:
            raise ValueError("products of other columns")
        if any(len(key) != len(texts) for key in places):
            raise ValueError("products of other values")
        found.append(Product(first, second, texts, places))
    return found
