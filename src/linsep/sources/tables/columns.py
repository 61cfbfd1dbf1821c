"""The columns of a table: their types, which files state or Arrow infers from the first rows with a
value; text that represents another type, such as numbers with commas; and their roles, from the
first rows or a recipe.
"""

import fnmatch
import re
from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import pyarrow as pa

from linsep.errors import DataError, Hint, NoRows, hint
from linsep.sources.remote.file import File
from linsep.sources.tables.reading_options import ROLES, TableOptions, check_options, names_of
from linsep.sources.tables.spellings import (
    MOST,
    NO_NUMBER,
    PLAIN,
    Spelling,
    by_spelling,
    canonical,
    date_formats,
    number_options,
)
from linsep.sources.tables.table_file import (
    SAMPLE_ROWS,
    TableFile,
    as_text,
    is_text,
    listed,
    text_codes,
    unknown_column,
)

# Text with a leading zero, such as 02134, is a code and not a number.
_NUMBER = re.compile(r"\s*[-+]?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][-+]?\d+)?\s*")
#: marks of missing values among numbers
_MARK = re.compile(r"[^\w\s]+|\\N|#\S+|na|none|missing", re.IGNORECASE)


def family_of(kind: pa.DataType) -> str | None:
    """Return "number", "bool" or "text", also for ordered categories; None for a type that cannot
    be a feature.
    """
    types = pa.types
    if types.is_dictionary(kind):
        family = family_of(kind.value_type)
        return "text" if kind.ordered and family is not None else family
    if types.is_boolean(kind) or is_text(kind):
        return "bool" if types.is_boolean(kind) else "text"
    # A column without any value so far is treated as numeric.
    numbers = (types.is_integer, types.is_floating, types.is_decimal, types.is_null)
    return "number" if any(check(kind) for check in numbers) else None


def is_ordered(kind: pa.DataType) -> bool:
    """Return whether a type is of categories that have an order, not of values that come again."""
    return bool(pa.types.is_dictionary(kind) and kind.ordered)


def first_rows(files: list[TableFile]) -> tuple[TableFile, pa.RecordBatch]:
    for file in files:
        head = file.sample()
        if head.num_rows:
            return file, head
    more = "" if len(files) == 1 else f" and the {len(files) - 1} other files"
    raise NoRows(f"{files[0].path}{more} has no rows: give a file with rows.", path=files[0].path)


def column_types(files: list[TableFile], exclude: Iterable[str] = ()) -> dict[str, pa.DataType]:
    """Return the types of all columns of the first file with rows: what it states or, in text, what
    its first rows show; for columns without a value there, what the first rows with a value show.
    Columns of ``exclude`` are not searched for values.
    """
    file, head = first_rows(files)
    guessed = zip(file.columns().items(), head.schema.types, strict=True)
    found = {name: stored or kind for (name, stored), kind in guessed}
    empty = [n for n, kind in found.items() if pa.types.is_null(kind) and n not in {*exclude}]
    for other in files if empty else ():
        found |= other.later_types(empty)
        empty = [name for name in empty if pa.types.is_null(found[name])]
    return found


def no_feature(
    file: TableFile, name: str, kind: pa.DataType, role: str = "column", code: str = "column-type"
) -> DataError:
    """Return the error for a column whose type has no use in its role."""
    if pa.types.is_binary(kind) and not file.typed:
        for _ in file.chunks({name: "text"}):  # which names the row that is not text
            pass
    what, change = f"values of type {kind}", [hint("convert it to numbers or text")]
    if pa.types.is_temporal(kind):
        what, change = f"dates or times ({kind})", [hint("convert it to numbers")]
        if role == "column" and (pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
            change = [hint("read days with {}", date=[name])]
    elif pa.types.is_nested(kind) and not pa.types.is_run_end_encoded(kind):
        what, change = f"lists or objects ({kind})", [hint("flatten it")]
    if role == "column":
        change.append(hint("leave it out with {}", exclude=[name]))
    return file.error(f", {role} '{name}' holds {what}", *change, code=code, column=name)


def check_may_become(file: TableFile, name: str, kind: pa.DataType, how: str) -> None:
    """Raise DataError for a column whose stated type cannot be read as ``how``: "categorical",
    "number" or "date".
    """
    moments = pa.types.is_date(kind) or pa.types.is_timestamp(kind)
    others = pa.types.is_temporal(kind) and not (moments and how == "date")
    if pa.types.is_nested(kind) or (how != "categorical" and others):
        raise no_feature(file, name, kind)


def text_refusal(
    file: TableFile, name: str, first: pa.Array, hashed: bool = False
) -> DataError | None:
    """Return the error for a text column that cannot be a feature, judged by its first values; or
    None."""
    codes, values = text_codes(pa.chunked_array([first]), name, file.where)

    def refused(what: str, *ways: str | Hint) -> DataError:
        said = f", column '{name}' {what}"
        return file.error(said, *ways, code="column-type", column=name)

    filled = int(np.count_nonzero(codes >= 0))
    odd = [code for code, value in enumerate(values) if value and not _NUMBER.fullmatch(value)]
    leave = hint("leave it out with {}", exclude=[name])
    keep = hint("keep its values as categories with {}", categorical=[name])
    if values and not odd:
        later = hint("name the mark of missing values with {}", null_values=None)
        return refused(
            f"looks like numbers stored as text (such as '{values[0]}')",
            hint("read them with {}", numeric=[name]), *[later] * file.marks_missing, leave,
        )  # fmt: skip
    some = [value for value in values if value.strip() not in NO_NUMBER][:1000]
    tried = pa.array(some, pa.string())
    if (options := number_options(tried)) is not None:
        units = dict(zip(Spelling(units=True).parts(tried)[1].to_pylist(), some, strict=True))
        pair = [repr(text) for sign, text in units.items() if sign][:2]
        if "units" in options and len(pair) > 1:
            what = f"holds numbers with different units (such as {' and '.join(pair)})"
            return refused(what, "convert them to one unit", keep, leave)
        odd_one = next(value for value in some if not _NUMBER.fullmatch(value))
        what = f"holds numbers in a special notation (such as '{odd_one}')"
        return refused(what, hint("read them with {}", **options), keep)
    if some and (formats := date_formats(tried)):
        ways = [f"{name}={format}" if format else name for format in formats[:2]]
        days = [hint("read days with {}", date=[way]) for way in ways]
        return refused(f"holds dates (such as '{some[0]}')", *days, keep, leave)
    rows = np.flatnonzero(np.isin(codes, odd))
    marks = sorted({values[code].strip() for code in odd})
    numbers = len(values) - len(odd)
    # A few others among different numbers: up to three marks, one of a known form, or units.
    few = rows.size <= (1 - MOST) * filled or len(marks) <= max(3, numbers // 10)
    lone = len(marks) == 1 and _MARK.fullmatch(marks[0])
    second = rows.tolist() == [0]  # below the names
    many = numbers >= (1 if lone else 3 if second else 10)
    if marks and ((few and many) or rows[0] >= SAMPLE_ROWS):
        more = f" (one of {rows.size:,} such rows)" if rows.size > 1 else ""
        cell, place = values[codes[rows[0]]], file.where(int(rows[0]))
        told = missing_mark(*(marks if len(marks) <= 6 else [cell]))
        return DataError(
            place + f", column '{name}' holds '{cell[:60]}'{more}, but nearly all other values are "
            "numbers",
            "remove the row if it holds units" if second else "correct it",
            *told * file.marks_missing,
            hint("leave the cell empty and choose {}", missing="mean"), keep,
            hint("leave the column out with {}", exclude=[name]),
            code="not-a-number", path=file.path, column=name,
        )  # fmt: skip
    if len(values) == filled >= 100 and not hashed:
        return refused(
            f"has a different text in each of its first {filled:,} rows, so it looks like an ID or "
            "free text",
            hint("read its words with {}", text=[name]), leave,
            hint("if its values do repeat later, hash them with {}", hash_bits=20),
        )  # fmt: skip
    return None


def missing_mark(*values: str) -> list[Hint]:
    """Return the advice for texts that may mark missing values; empty if one has digits, but for
    the errors of spreadsheets.
    """
    if any(letter.isdigit() for text in values if not text.startswith("#") for letter in text):
        return []
    return [hint("read it as a missing value with {}", null_values=[x.strip() for x in values])]


def matching(patterns: Iterable[str], names: list[str]) -> list[str]:
    """Return the patterns, with the names that match in the place of each glob that any does."""
    found: list[str] = []
    for pattern in patterns:
        glob = pattern not in names and bool(set("*?[") & set(pattern))
        found += (fnmatch.filter(names, pattern) if glob else []) or [pattern]
    return list(dict.fromkeys(found))


#: the place of a missing value or reference level, and of a value not seen in training
NONE, UNKNOWN = -1, -2
#: key of a feature of a product: empty for two numbers, else the text value, or both text values
Key = tuple[Any, ...]


class Product(NamedTuple):
    """The products of each feature of one column with each of another.

    Two columns of numbers have one, the product of their features: of scaled columns, if they are
    scaled, and of what fills missing values. A numeric column and a text column have one feature
    per indicator of the text column. Two text columns have the crossed indicators of the pairs of
    values that occur. A reference level has no indicator. Hashed values share their places.
    """

    columns: tuple[str, str]
    texts: tuple[str, ...]  # which of them are text
    places: dict[Key, int]  # feature of each key, in order; empty where values are hashed

    @property
    def name(self) -> str:
        return ":".join(self.columns)


@dataclass
class Columns:
    """Roles and encoding of the columns of a table, as stored in the recipe."""

    numeric: dict[str, str]  #: "number" or "bool" by name, in the order of features
    #: the feature of each value by name; empty when hashed; numeric ones of which values miss, too
    text: dict[str, dict[Any, int]]
    target: str | None  #: the label column
    target_kind: str | None = None  #: "int", "float", "bool" or "text"
    missing: str = "error"  #: or "zero", "drop", "mean", "indicator", "skip"
    hash_bits: int | None = None  #: text features have 2**hash_bits places; None learns the values
    exclude: list[str] = field(default_factory=list)
    unlabeled: str = "error"  #: or "drop"
    weight: str | None = None
    group: str | None = None
    group_kind: str = "text"  #: or "number", "bool"; empty for what each file holds
    offset: str | None = None
    successes: str | None = None  #: counts take the place of labels
    trials: str | None = None
    dtype: str = "float64"  #: or "float32"
    means: dict[str, float] = field(default_factory=dict)  #: of numeric columns, for "mean"
    #: what is subtracted from numeric columns, which are then divided by the other; or empty
    scale: dict[str, list[float]] = field(default_factory=dict)
    reference: dict[str, str] = field(default_factory=dict)  #: values of text without a feature
    levels: dict[str, list[str]] = field(default_factory=dict)  #: values of categories, in order
    #: the "values" of text that share a "level", as each is in fewer rows than "min_count"
    rare: dict[str, dict[str, Any]] = field(default_factory=dict)
    categorical: list[str] = field(default_factory=list)  #: text columns, whatever they hold
    #: "number", or "date" and perhaps its format, of numeric columns that are read as text
    converted: dict[str, str] = field(default_factory=dict)
    words: dict[str, Any] = field(default_factory=dict)  #: what counts the words of text columns
    seen: dict[str, Any] = field(default_factory=dict)  #: terms of hashed columns in training
    products: list[Product] = field(default_factory=list)  #: features behind those of columns
    formula: Any = None  #: what computes the numeric features from other columns
    _levels: dict[str, Any] = field(default_factory=dict, repr=False)

    def _known(self, name: str) -> tuple[dict[str, str], dict[str, str]]:
        """Return the levels of a text column by the values that have them, and by the canonical
        spellings of these, for other formats.
        """
        if name not in self._levels:
            reference = [self.reference[name]] if name in self.reference else []
            known = {value: value for value in [*self.text[name], *reference]}
            if (rare := self.rare.get(name)) is not None:
                known.pop(rare["level"])
                known |= dict.fromkeys(rare["values"], rare["level"])
            spelled = {same: known[value] for same, value in by_spelling(known).items()}
            self._levels[name] = known, spelled
        return self._levels[name]

    def level(self, name: str, value: str) -> str | None:
        """Return the level that a value of a text column has, None if it can have none."""
        known, spelled = self._known(name)
        return known[value] if value in known else spelled.get(canonical(value))

    def features_of(self, name: str) -> dict[str, int]:
        """Return the feature of each value of a text column, but of the reference level."""
        places, (known, _) = self.text[name], self._known(name)
        return {value: places[level] for value, level in known.items() if level in places}

    def product_of(self, columns: tuple[str, str], places: dict[Key, int]) -> Product:
        return Product(columns, tuple(n for n in columns if n not in self.numeric), places)

    def add_places(self, known: dict[str, set[Key]], place: int) -> None:
        """Give products a feature for each key whose values all have an indicator, in the order of
        these, the first one at ``place``; ``known`` are the keys that occur.
        """
        for number, product in enumerate(self.products):
            ranks = {}
            for values in known.get(product.name, {()}):
                key = tuple(map(self.level, product.texts, values))  # rare ones share one
                indicators = zip(product.texts, key, strict=True)
                ranks[tuple(self.text[name].get(level, NONE) for name, level in indicators)] = key
            keys = [ranks[rank] for rank in sorted(ranks) if NONE not in rank]
            places = {key: place + k for k, key in enumerate(keys)}
            self.products[number] = product._replace(places=places)
            place += len(keys)

    def place_of(self, name: str, value: str) -> int:
        """Return the feature of a value of a text column, NONE or UNKNOWN if it has none."""
        if self.hash_bits is not None:
            return self.hashed(f"{name}={value}")
        level = self.level(name, value)
        return UNKNOWN if level is None else self.text[name].get(level, NONE)

    def place_of_pair(self, product: Product, key: Key) -> int:
        if self.hash_bits is None or not self.text:
            return product.places.get(tuple(map(self.level, product.texts, key)), NONE)
        values = dict(zip(product.texts, key, strict=True))
        parts = (f"{n}={values[n]}" if n in values else n for n in product.columns)
        return self.hashed(":".join(parts))

    def hashed(self, text: str) -> int:
        """Return the feature of hashed text; Python's own hash differs between processes."""
        return len(self.numeric) + (crc32(text.encode()) & ((1 << (self.hash_bits or 0)) - 1))

    @property
    def beside(self) -> dict[str, str]:
        """The columns beside the features and the label of a row, each with what it holds."""
        named = {getattr(self, role): what for role, what in ROLES.items()}
        return {name: what for name, what in named.items() if name is not None}

    @property
    def inputs(self) -> dict[str, str]:
        """The columns of which features are made, and what each is read as."""
        if self.formula is not None:
            return dict(self.formula.inputs)
        return self.numeric | dict.fromkeys([*self.text, *self.words], "text") | self.numeric

    @property
    def indicators_end(self) -> int:
        """Number of features before the features of words."""
        if self.text and self.hash_bits is not None:
            return len(self.numeric) + (1 << self.hash_bits)
        own = len(self.numeric) + sum(map(len, self.text.values()))
        return own + sum(len(product.places) for product in self.products)


def columns_of(types: dict[str, pa.DataType]) -> tuple[Columns, dict[str, pa.DataType]]:
    """Return columns of these types as features, and the types of those that cannot be."""
    families = {name: family_of(kind) for name, kind in types.items()}
    numeric = {name: kind for name, kind in families.items() if kind in ("number", "bool")}
    text: dict[str, Any] = {name: {} for name, kind in families.items() if kind == "text"}
    return Columns(numeric, text, None), {n: t for n, t in types.items() if families[n] is None}


def _declared(options: TableOptions, path: File, names: list[str]) -> dict[str, str]:
    """Return the columns that users declare as "categorical", "number", or "date", perhaps with "="
    and a format; DataError for names and globs that no column has, and for a column of two types.
    """
    patterns = [("categorical", one, "categorical") for one in options.categorical]
    patterns += [("numeric", one, "number") for one in options.numeric]
    for one in options.date:
        pattern, sign, format = one.partition("=")
        patterns.append(("date", pattern, "date" + sign + format))
    declared: dict[str, str] = {}
    for option, pattern, how in patterns:
        for name in matching([pattern], names):
            check_column(path, names, name, option)
            if declared.setdefault(name, how) != how:
                both = [each.partition("=")[0] for each in (declared[name], how)]
                told = " and ".join(both) if len({*both}) > 1 else "date twice"
                raise DataError(
                    f"Column '{name}' is declared as {told}", "choose one of these",
                    code="conflict", column=name,
                )  # fmt: skip
    return declared


def guess_columns(
    files: list[TableFile], columns: Columns, require_target: bool, options: TableOptions,
    levels: Iterable[str] = (),
) -> None:  # fmt: skip
    """Infer the types of the columns without a role, of labels and of groups, from the first rows.
    Raises DataError for columns that cannot be features, such as text that is nearly all numbers,
    or never repeats, unless it is to have ``levels``.
    """
    file, head = first_rows(files)
    names, beside = list(file.columns()), columns.beside
    columns.exclude = matching(columns.exclude, names)
    if require_target:
        check_target(file.path, names, columns.target)
    _check_roles(file, columns)
    declared, only = _declared(options, file.path, names), matching(options.include, names)
    for name in only:
        check_column(file.path, names, name, "include")
    own, refusal = {columns.target, *beside, *columns.words, *columns.exclude, *only}, None
    columns.exclude += [name for name in names if only and name not in own]
    for name, kind in column_types(files, columns.exclude).items():
        if name == columns.group:
            columns.group_kind = family_of(kind) or "text"
        if name in beside or name in columns.exclude:
            continue
        first, how = head.column(name), declared.get(name)
        if name == columns.target:
            columns.target_kind = {None: None, "categorical": "text"}.get(how, "float")
            if how is None:
                decoded = kind.value_type if pa.types.is_dictionary(kind) else kind
                family = _as_written(file, decoded)
                if family is None:
                    raise no_feature(file, name, decoded, "label column", "label-type")
                whole = pa.types.is_integer(decoded) or pa.types.is_null(decoded)
                usual = {"number": "int" if whole else "float"}
                columns.target_kind = usual.get(family, family)
            elif how == "categorical":
                columns.categorical.append(name)
            else:
                columns.converted[name] = how
            continue
        if is_row_label(name):
            raise file.error(
                f" has a column named '{name}', such as row numbers written by pandas",
                "rename it", hint("leave it out with {}", exclude=[name]),
                code="column-type", column=name,
            )  # fmt: skip
        how = how or spelled(file, name, kind, first, options.spelling)
        _add_feature(file, columns, name, kind, how)
        if name in columns.text and is_ordered(first.type):
            columns.levels[name] = as_text(pa.chunked_array([first.dictionary])).to_pylist()
            columns.categorical = list(dict.fromkeys([*columns.categorical, name]))
        elif name in columns.text and name not in {*columns.categorical, *levels}:
            refusal = refusal or text_refusal(file, name, first, columns.hash_bits is not None)
    if refusal is not None:  # now that all are known to be text
        raise refusal
    if columns.words and not columns.text and columns.hash_bits is not None:
        raise DataError(
            f"hash_bits is {columns.hash_bits}, but words are hashed with a separate setting",
            hint("take {}", text_bits=columns.hash_bits),
            code="conflict", option="hash_bits", value=columns.hash_bits,
        )  # fmt: skip
    # If no file holds a wider number, and one holds floats, these are the features' type.
    stored = [other.columns() for other in files]
    kinds = {types.get(name) for types in stored for name in columns.numeric}
    narrow = {pa.float32(), pa.float16()}
    if kinds & narrow and kinds <= narrow | {pa.bool_()}:
        columns.dtype = "float32"


def add_products(columns: Columns, given: list[str], path: File) -> None:
    taken = {*columns.numeric, *columns.text, *(f"{name}:{name}" for name in columns.text)}
    for text in given:
        pair = _split(text, columns, path)
        if ":".join(pair) in taken:
            raise DataError(
                f"products has '{text}', which is twice the same text or a feature already",
                "leave it out, or rename a column",
                code="duplicate-name", option="products", value=text,
            )  # fmt: skip
        taken |= {":".join(pair), ":".join(pair[::-1])}
        columns.products.append(columns.product_of(pair, {}))
    if not columns.text:  # whose values are known after a survey
        columns.add_places({}, len(columns.numeric))


def _split(text: str, columns: Columns, path: File) -> tuple[str, str]:
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


def spelled(
    file: TableFile, name: str, kind: pa.DataType, first: pa.Array, spelling: Spelling
) -> str | None:
    """Return "number" for a column whose first values are numbers in a spelling that users name;
    None for others, and where there is none.
    """
    family = family_of(kind)
    if spelling == PLAIN or is_ordered(kind) or family not in ("text", "number"):
        return None
    if family == "number":  # later ones may be written otherwise
        return None if file.typed else "number"
    _, values = text_codes(pa.chunked_array([first]), name, file.where)
    values = [value for value in values if value.strip() not in NO_NUMBER]
    others = spelling.parts(pa.array(values, pa.string()))[0].null_count
    return "number" if values and not others else None


def _add_feature(
    file: TableFile, columns: Columns, name: str, kind: pa.DataType, how: str | None
) -> None:
    """Take a column of a type as a feature, ``how`` it is read; DataError if it cannot be one."""
    family = family_of(kind)
    if name in columns.words:
        if not pa.types.is_null(kind) and (family := _as_written(file, kind)) != "text":
            if family is None:
                raise no_feature(file, name, kind)
            raise file.error(
                f", column '{name}' holds {family}s, not text", hint("leave out {}", text=[name]),
                "convert it to text", code="column-type", column=name,
            )  # fmt: skip
    elif family is None and (how is None or (how == "categorical" and pa.types.is_nested(kind))):
        raise no_feature(file, name, kind)
    elif how == "categorical" or (how is None and family == "text"):
        columns.text[name] = {}
        columns.categorical += [name] * (how is not None)
    else:
        columns.numeric[name] = str(family) if how is None else "number"
        if how is not None and not (file.typed and how == "number" and family == "number"):
            columns.converted[name] = how


def _as_written(file: TableFile, kind: pa.DataType) -> str | None:
    """Return the family of a type; text for text that Arrow takes for dates."""
    return "text" if pa.types.is_temporal(kind) and not file.typed else family_of(kind)


def _check_roles(file: TableFile, columns: Columns) -> None:
    claims: list[tuple[str | None, str, str | None]] = [
        (getattr(columns, role), f"the column of {what}", None) for role, what in ROLES.items()
    ]
    claims += [(name, "left out", "exclude") for name in columns.exclude]
    claims += [(name, "read as text", "text") for name in columns.words]
    roles = {columns.target: "the label"}
    for name, role, option in claims:
        if name is None:
            continue
        if name in roles:
            raise DataError(
                f"Column '{name}' is {roles[name]} and {role}", "choose one of them",
                code="column-role", column=name,
            )  # fmt: skip
        check_column(file.path, file.columns(), name, option)
        roles[name] = role


def check_target(path: File, names: Iterable[str], target: str | None) -> None:
    if target is None:
        raise DataError(
            f"{path} (columns: {listed(names)}) needs a label column",
            hint("name it with {}", target=None),
            code="no-labels", path=path, option="target",
        )  # fmt: skip
    check_column(path, names, target, "target", "label column")


def check_column(
    path: File, names: Iterable[str], name: str, option: str | None = None, what: str = "column"
) -> None:
    if name not in names:
        raise unknown_column(path, names, name, what, option)


#: what a recipe always has, and what it has where a table has it, as they are
_ALWAYS = (
    "target", "target_kind", "hash_bits", "missing", "dtype", "text", "means", "scale", "reference",
    "exclude",
)  # fmt: skip
_GIVEN = (
    "weight", "offset", "successes", "trials", "categorical", "converted", "unlabeled", "rare",
)  # fmt: skip


def to_recipe(columns: Columns) -> dict[str, Any]:
    bools = [name for name, kind in columns.numeric.items() if kind == "bool"]
    found: dict[str, Any] = {"format": "table", "numeric": list(columns.numeric), "bool": bools}
    found |= {name: copy(getattr(columns, name)) for name in _ALWAYS}
    given = {name: copy(getattr(columns, name)) for name in _GIVEN}
    found |= {name: value for name, value in given.items() if value and value != "error"}
    if columns.products:
        found["products"] = [
            dict(columns=[*pair], texts=[*texts], features=[[*k, at] for k, at in places.items()])
            for pair, texts, places in columns.products
        ]
    if columns.formula is not None:
        found["formula"] = columns.formula.to_json()
    if columns.words:
        seen = {name: c.terms_kept() for name, c in columns.words.items() if c.keeps_terms}
        found["words"] = {name: counter.to_json() for name, counter in columns.words.items()}
        found["seen"] = columns.seen or seen
    return found


def from_recipe(recipe: dict[str, Any]) -> Columns:
    """Return the columns that a recipe describes; DataError if it is damaged."""
    try:
        kinds = {name: "bool" if name in recipe["bool"] else "number" for name in recipe["numeric"]}
        given = {name: recipe[name] for name in (*_GIVEN, "group", "group_kind") if name in recipe}
        columns = Columns(kinds, **{"group_kind": ""} | {n: recipe[n] for n in _ALWAYS} | given)
        roles = [getattr(columns, role) for role in ("target", *ROLES)]
        scales = not columns.scale or columns.scale.keys() == kinds.keys()
        if not scales or not all(isinstance(name, str | None) for name in roles):
            raise ValueError("no columns, or a scale of others")
        columns.text = {name: dict(values) for name, values in columns.text.items()}
        if recipe.get("words"):
            from linsep.sources.text import TextCounter

            columns.words = {n: TextCounter.from_json(one) for n, one in recipe["words"].items()}
            columns.seen = recipe["seen"]
        for one in recipe.get("products", []):
            places = {tuple(map(str, key)): int(place) for *key, place in one["features"]}
            first, second = one["columns"]
            if not {first, second} <= columns.numeric.keys() | columns.text.keys():
                raise ValueError("products of other columns")
            columns.products.append(columns.product_of((first, second), places))
        for name in columns.text:
            columns._known(name)  # or it is damaged
        if "formula" in recipe:
            from linsep.sources.tables.formulas import Formula

            columns.formula = Formula.from_json(recipe["formula"])
        check_options({"missing": columns.missing, "hash_bits": columns.hash_bits})
    except (LookupError, TypeError, AttributeError, ValueError):
        raise DataError(
            "The recipe for reading tables is damaged: train the model again.",
            code="bad-model-file",
        ) from None
    return columns


def word_counters(text: Any) -> dict[str, Any]:
    """Return what counts the words of each text column, and keeps some that are hashed."""
    if not text:
        return {}
    from linsep.sources.text import Text, TextCounter  # compiles loops

    chosen = text if isinstance(text, dict) else {name: Text() for name in names_of(text)}
    return {name: TextCounter(how, keep_terms=True) for name, how in chosen.items()}


def is_row_label(name: str) -> bool:
    return not name.strip() or re.fullmatch(r"__index_level_\d+__", name) is not None


def guess_formula(
    files: list[TableFile], columns: Columns, require_target: bool, options: TableOptions
) -> None:
    """Infer the types of the columns that a formula names, as
    :func:`guess_columns` does; other columns are left out.
    """
    from linsep.sources.tables.formulas import parsed, refused  # loads SciPy's splines

    file, _ = first_rows(files)
    names, others, text = list(file.columns()), columns.beside, str(options.formula)
    found = parsed(text, [name for name in names if name not in others])
    if found.target is None and columns.successes is None:
        advice = "write it before a tilde, as in 'y ~ x'"
        raise refused(text, "has no label", advice, code="no-labels")
    if found.target is not None and columns.successes is not None:
        raise refused(text, "has a label beside successes", "start with a tilde", code="conflict")
    for name in filter(None, [found.target, *found.columns]):
        if name in others:
            what = f"is named for {others[name]}, too"
            raise refused(name, what, "choose one of them", code="column-role")
        if name not in names:
            raise unknown_column(file.path, names, name, "column of the formula")
    if not found.terms and not found.intercept:
        raise refused(text, "has no terms", "add one, such as a column")
    columns.target = found.target
    taken = {found.target, *found.columns, *others}
    columns.exclude = [name for name in names if name not in taken]
    of_numbers = [factor for factor in found.factors if factor.kind != "levels"] + found.offset
    numbers = {name for factor in of_numbers for name in factor.columns}
    levels = {*found.columns} - numbers
    guess_columns(files, columns, require_target, options, levels)
    for factor in of_numbers:
        if factor.kind != "column" and (texts := {*columns.text} & {*factor.columns}):
            what = f"needs numbers, but column '{min(texts)}' holds text"
            raise refused(factor.text, what, "write C(column) by itself")
    kinds = columns.numeric | dict.fromkeys(columns.text, "text")
    found.inputs, found.orders = {name: kinds[name] for name in found.columns}, columns.levels
    columns.formula = found
    columns.numeric, columns.text, columns.dtype = {}, {}, "float64"
