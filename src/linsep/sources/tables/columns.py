"""The role of each column of a table, from the first rows or a recipe."""

import re
from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from zlib import crc32

import pyarrow as pa

from linsep.errors import DataError, hint
from linsep.sources.remote.file import File
from linsep.sources.tables.column_types import (
    check_is_text,
    column_types,
    family_of,
    first_rows,
    is_ordered,
    label_kind,
    no_feature,
    ordered_levels,
    text_refusal,
)
from linsep.sources.tables.conversions import NO_NUMBER, ColumnTypes, matching
from linsep.sources.tables.products import (
    Product,
    from_json as products_from_json,
    to_json as products_to_json,
)
from linsep.sources.tables.reading_options import ROLES, check_options, names_of
from linsep.sources.tables.spellings import PLAIN, Spelling, by_spelling, canonical
from linsep.sources.tables.table_file import TableFile, listed, text_codes, unknown_column

#: the reference level of every text column is its first value
FIRST_LEVEL = "first"
#: text columns that users name, alone or with :class:`linsep.Text` objects
WordColumns = str | Iterable[str] | dict[str, Any] | None


class Rare(NamedTuple):
    """Values of a text column that share one level, because each is in fewer rows than
    ``min_count``; ``level`` is its name.
    """

    level: str
    values: frozenset[str]
    min_count: int


@dataclass
class Columns:
    """Roles and encoding of the columns of a table, as stored in the recipe."""

    numeric: dict[str, str]  #: "number" or "bool" by name, in the order of features
    text: dict[str, dict[str, int]]  #: the feature of each value by name; empty when hashed
    target: str | None  #: the label column
    target_kind: str | None = None  #: "int", "float", "bool" or "text"
    missing: str = "error"  #: or "zero", "drop", "mean", "skip"
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
    rare: dict[str, Rare] = field(default_factory=dict)
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
                known.pop(rare.level)
                known |= dict.fromkeys(sorted(rare.values), rare.level)
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
        return self.numeric | dict.fromkeys([*self.text, *self.words], "text")

    @property
    def indicators_end(self) -> int:
        """Number of features before the features of words."""
        if self.text and self.hash_bits is not None:
            return len(self.numeric) + (1 << self.hash_bits)
        own = len(self.numeric) + sum(map(len, self.text.values()))
        return own + sum(len(product.places) for product in self.products)


def columns_of(types: dict[str, pa.DataType]) -> tuple[Columns, dict[str, pa.DataType]]:
    """Return columns of these types as features, none with another role, and the types of those
    that cannot be features.
    """
    families = {name: family_of(kind) for name, kind in types.items()}
    numeric = {name: kind for name, kind in families.items() if kind in ("number", "bool")}
    text: dict[str, Any] = {name: {} for name, kind in families.items() if kind == "text"}
    return Columns(numeric, text, None), {n: t for n, t in types.items() if families[n] is None}


def guess_columns(
    files: list[TableFile], columns: Columns, require_target: bool, told: ColumnTypes,
    spelling: Spelling, levels: Iterable[str] = (),
) -> None:  # fmt: skip
    """Infer the types of the columns without a role, of labels and of groups, from the first file
    with rows, and from the next files for columns without a value.

    Columns of weights, groups and words must be in the file; the target only if
    ``require_target``. Raises DataError when there are no rows, or columns that cannot be features,
    such as text that is nearly all numbers, or never repeats, unless it is to have ``levels``.
    """
    file, head = first_rows(files)
    names, beside = list(file.columns()), columns.beside
    columns.exclude = matching(columns.exclude, names)
    if require_target:
        check_target(file.path, names, columns.target)
    _check_roles(file, columns)
    told.check_all_there(file.path, names)
    own, refusal = {columns.target, *beside, *columns.words, *columns.exclude}, None
    columns.exclude += [name for name in names if told.left_out(name) and name not in own]
    for name, kind in column_types(files, columns.exclude).items():
        if name == columns.group:
            columns.group_kind = family_of(kind) or "text"
        if name in beside or name in columns.exclude:
            continue
        first, how = head.column(name), told.told(name)
        if name == columns.target:
            columns.target_kind = {None: None, "categorical": "text"}.get(how, "float")
            if how is None:
                columns.target_kind = label_kind(file, name, kind)
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
        _add_feature(file, columns, name, kind, how or spelled(file, name, kind, first, spelling))
        if name in columns.text and (ordered := ordered_levels(first)) is not None:
            columns.levels[name] = ordered
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
    others = spelling.plain(pa.array(values, pa.string())).null_count
    return "number" if values and not others else None


def _add_feature(
    file: TableFile, columns: Columns, name: str, kind: pa.DataType, how: str | None
) -> None:
    """Take a column of a type as a feature, ``how`` it is read; DataError if it cannot be one."""
    family = family_of(kind)
    if name in columns.words:
        check_is_text(file, name, kind, family)
    elif family is None and (how is None or (how == "categorical" and pa.types.is_nested(kind))):
        raise no_feature(file, name, kind)
    elif how == "categorical" or (how is None and family == "text"):
        columns.text[name] = {}
        columns.categorical += [name] * (how is not None)
    else:
        columns.numeric[name] = str(family) if how is None else "number"
        if how is not None and not (file.typed and how == "number" and family == "number"):
            columns.converted[name] = how


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
    if target not in names:
        raise unknown_column(path, names, target, "label column", "target")


def check_column(path: File, names: Iterable[str], name: str, option: str | None = None) -> None:
    """Raise DataError unless a column of this name, whatever it is for, is one of ``names``."""
    if name not in names:
        raise unknown_column(path, names, name, option=option)


#: what a recipe always has, and what it has where a table has it, as they are
_ALWAYS = (
    "target", "target_kind", "hash_bits", "missing", "dtype", "text", "means", "scale", "reference",
    "exclude",
)  # fmt: skip
_GIVEN = (
    "weight", "offset", "successes", "trials", "categorical", "converted", "unlabeled",
)  # fmt: skip


def to_recipe(columns: Columns) -> dict[str, Any]:
    bools = [name for name, kind in columns.numeric.items() if kind == "bool"]
    found: dict[str, Any] = {"format": "table", "numeric": list(columns.numeric), "bool": bools}
    found |= {name: copy(getattr(columns, name)) for name in _ALWAYS}
    given = {name: copy(getattr(columns, name)) for name in _GIVEN}
    found |= {name: value for name, value in given.items() if value and value != "error"}
    if columns.rare:
        found["rare"] = {
            name: rare._asdict() | {"values": sorted(rare.values)}
            for name, rare in columns.rare.items()
        }
    if columns.products:
        found["products"] = products_to_json(columns.products)
    if columns.formula is not None:
        found["formula"] = columns.formula.to_json()
    if columns.words:
        seen = {name: c.seen.listed() for name, c in columns.words.items() if c.seen is not None}
        found["words"] = {name: counter.to_json() for name, counter in columns.words.items()}
        found["seen"] = columns.seen or seen
    return found


def from_recipe(recipe: dict[str, Any]) -> Columns:
    """Return the columns a recipe describes; DataError when the recipe is not one that
    :func:`to_recipe` could have made.
    """
    try:
        kinds = {name: "bool" if name in recipe["bool"] else "number" for name in recipe["numeric"]}
        given = {name: recipe[name] for name in (*_GIVEN, "group", "group_kind") if name in recipe}
        known = {"reference": {}, "scale": {}} | recipe
        columns = Columns(kinds, **{"group_kind": ""} | {n: known[n] for n in _ALWAYS} | given)
        roles = [getattr(columns, role) for role in ("target", *ROLES)]
        scales = not columns.scale or columns.scale.keys() == kinds.keys()
        if not scales or not all(isinstance(name, str | None) for name in roles):
            raise ValueError("no columns, or a scale of others")
        columns.text = {name: dict(values) for name, values in columns.text.items()}
        columns.rare = {
            name: Rare(str(one["level"]), frozenset(one["values"]), int(one["min_count"]))
            for name, one in recipe.get("rare", {}).items()
        }
        if recipe.get("words"):
            from linsep.sources.text import TextCounter

            columns.words = {n: TextCounter.from_json(one) for n, one in recipe["words"].items()}
            columns.seen = recipe["seen"]
        columns.products = products_from_json(recipe.get("products", []), columns)
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


def word_counters(text: WordColumns) -> dict[str, Any]:
    """Return what counts the words of each text column, and keeps some that are hashed.

    Raises ParameterError for invalid settings.
    """
    if not text:
        return {}
    from linsep.sources.text import Text, TextCounter  # compiles loops

    chosen = text if isinstance(text, dict) else {name: Text() for name in names_of(text)}
    return {name: TextCounter(how, keep_terms=True) for name, how in chosen.items()}


_LEVEL = re.compile(r"__index_level_\d+__")


def is_row_label(name: str) -> bool:
    return not name.strip() or _LEVEL.fullmatch(name) is not None
