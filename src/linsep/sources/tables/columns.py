"""The role of each column of a table, from the first rows or a recipe."""

import re
from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa

from linsep.errors import DataError, hint
from linsep.sources.feature_names import FeatureNames
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
    Key,
    Product,
    from_json as products_from_json,
    placed,
    to_json as products_to_json,
)
from linsep.sources.tables.reading_options import check_options
from linsep.sources.tables.spellings import PLAIN, Spelling, by_spelling, canonical
from linsep.sources.tables.table_file import TableFile, listed, text_codes, unknown_column

#: the reference level of every text column is its first value
FIRST_LEVEL = "first"
#: the level of all values of few rows
RARE = "(rare)"
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
    """Roles and encoding of the columns of a table, as stored in the recipe.

    Attributes
    ----------
    numeric : dict of name to "number" or "bool", in feature order
    text : dict of name to dict of value to feature (empty when hashed)
    target : name of the label column or None
    target_kind : "int", "float", "bool", "text"; None without a target
    missing : "error", "zero", "drop", "mean"
    unlabeled : "error", "drop"; empty for "error"
    means : dict of name to mean; filled for missing="mean"
    scale : dict of numeric name to what is subtracted and then divided by; empty to leave values
        as they are
    reference : dict of text column to the value that has no feature, for columns that have one
    levels : dict of text column to its values in their order, for columns of categories
    rare : dict of text column to the values that share a level, for columns that have some
    categorical : columns that are text columns whatever they hold
    converted : dict of numeric column that is read as text to "number", or "date" and perhaps
        its format
    hash_bits : places of the text features are 2**hash_bits; None learns the values
    exclude : names left out
    weight, group : names of the columns of weights and groups, or None
    offset : name of the column of offsets, or None
    successes, trials : names of the columns of counts, which take the place of labels, or None
    group_kind : "number", "bool" or "text"; empty for what each file holds
    words : dict of text column whose words are features to what counts them
    products : products of two columns, placed after the features of the columns
    formula : what computes the numeric features from other columns, or None
    seen : terms that training saw in hashed columns, where a recipe has them
    dtype : "float32" or "float64"
    """

    numeric: dict[str, str]
    text: dict[str, dict[str, int]]
    target: str | None
    target_kind: str | None
    missing: str = "error"
    hash_bits: int | None = None
    exclude: list[str] = field(default_factory=list)
    unlabeled: str = ""
    weight: str | None = None
    group: str | None = None
    group_kind: str = "text"
    offset: str | None = None
    successes: str | None = None
    trials: str | None = None
    dtype: str = "float64"
    means: dict[str, float] = field(default_factory=dict)
    scale: dict[str, list[float]] = field(default_factory=dict)
    reference: dict[str, str] = field(default_factory=dict)
    levels: dict[str, list[str]] = field(default_factory=dict)
    rare: dict[str, Rare] = field(default_factory=dict)
    categorical: list[str] = field(default_factory=list)
    converted: dict[str, str] = field(default_factory=dict)
    words: dict[str, Any] = field(default_factory=dict)
    seen: dict[str, Any] = field(default_factory=dict)
    products: list[Product] = field(default_factory=list)
    formula: Any = None
    _spelled: dict[tuple[str, int], Any] = field(default_factory=dict, repr=False)

    def order_values(
        self, levels: dict[str, set[str]], pairs: dict[str, set[Key]], reference: dict[str, str]
    ) -> None:
        """Give every level of the text columns, but for ``reference``, its feature, and their
        products, with the ``pairs`` of values of crossed columns.
        """
        self.reference, place = reference, len(self.numeric)
        for name, known in levels.items():
            ordered = self.in_order(name, known)
            if name in reference:
                ordered.remove(reference[name])
            self.text[name] = {value: place + k for k, value in enumerate(ordered)}
            place += len(ordered)
        self.products = placed(self, pairs, place)

    def in_order(self, name: str, values: Iterable[str]) -> list[str]:
        """Return values of a text column in the order of their features: categories in theirs,
        others by code point, and the rare ones last.
        """
        places = {value: place for place, value in enumerate(self.levels.get(name, ()))}
        last = self.rare[name].level if name in self.rare else None
        return sorted(values, key=lambda v: (v == last, places.get(v, len(places)), v))

    def gather_rare(self, counts: dict[str, dict[str, int]], min_count: int) -> dict[str, set[str]]:
        """Let the values of each text column that are in fewer rows share a level; return all
        levels.
        """
        levels = {name: set(rows) for name, rows in counts.items()}
        for name, rows in counts.items():
            if few := {value for value, n in rows.items() if n < min_count}:
                level = RARE
                while level in rows:
                    level = f"({level})"
                self.rare[name] = Rare(level, frozenset(few), min_count)
                levels[name] = levels[name] - few | {level}
        return levels

    def _levels(self, name: str) -> tuple[dict[str, str], dict[str, str]]:
        """Return the levels of a text column by the values that have them, and by the canonical
        spellings of these, for other formats.
        """
        if (key := (name, len(self.text[name]))) not in self._spelled:
            reference = [self.reference[name]] if name in self.reference else []
            known = {value: value for value in [*self.text[name], *reference]}
            if (rare := self.rare.get(name)) is not None:
                known.pop(rare.level)
                known |= dict.fromkeys(sorted(rare.values), rare.level)
            spelled = {same: known[value] for same, value in by_spelling(known).items()}
            self._spelled[key] = known, spelled
        return self._spelled[key]

    def level(self, name: str, value: str) -> str | None:
        """Return the level that a value of a text column has, None if it can have none."""
        known, spelled = self._levels(name)
        return known[value] if value in known else spelled.get(canonical(value))

    def has_empty(self, name: str) -> bool:
        return self.level(name, "") is not None

    def features_of(self, name: str) -> dict[str, int]:
        """Return the feature of each value of a text column, but of the reference level."""
        places, (known, _) = self.text[name], self._levels(name)
        return {value: places[level] for value, level in known.items() if level in places}

    @property
    def numbers_beside(self) -> list[tuple[str, str]]:
        """The columns of numbers beside the features of a row, each with what it holds."""
        named = ((self.weight, "weights"), (self.offset, "offsets"),
                 (self.successes, "successes"), (self.trials, "trials"))  # fmt: skip
        return [(name, what) for name, what in named if name is not None]

    @property
    def beside(self) -> list[tuple[str, str]]:
        """The columns beside the features and the label of a row, each with what it holds."""
        return self.numbers_beside + ([] if self.group is None else [(self.group, "groups")])

    @property
    def inputs(self) -> dict[str, str]:
        """The columns of which features are made, and what each is read as."""
        if self.formula is not None:
            return dict(self.formula.inputs)
        return self.numeric | dict.fromkeys([*self.text, *self.words], "text")

    @property
    def width(self) -> int:
        return self.indicators_end + sum(c.n_columns for c in self.words.values())

    @property
    def indicators_end(self) -> int:
        """Number of features before the features of words."""
        if self.text and self.hash_bits is not None:
            return len(self.numeric) + (1 << self.hash_bits)
        own = len(self.numeric) + sum(map(len, self.text.values()))
        return own + sum(len(product.places) for product in self.products)

    @property
    def names(self) -> list[str] | None:
        if self.text and self.hash_bits is not None:
            return None
        if not all(counter.settings.vocabulary for counter in self.words.values()):
            return None
        return FeatureNames(to_recipe(self)).all()[0]


def columns_of(types: dict[str, pa.DataType]) -> tuple[Columns, dict[str, pa.DataType]]:
    """Return columns of these types as features, none with another role, and the types of those
    that cannot be features.
    """
    columns, others = Columns(numeric={}, text={}, target=None, target_kind=None), {}
    for name, kind in types.items():
        family = family_of(kind)
        if family is None:
            others[name] = kind
        elif family == "text":
            columns.text[name] = {}
        else:
            columns.numeric[name] = family
    return columns, others


def guess_columns(
    files: list[TableFile], columns: Columns, require_target: bool, told: ColumnTypes,
    spelling: Spelling,
) -> None:  # fmt: skip
    """Infer the types of the columns without a role, of labels and of groups, from the first file
    with rows, and from the next files for columns without a value.

    Columns of weights, groups and words must be in the file; the target only if
    ``require_target``. Raises DataError when there are no rows, or columns that cannot be features.
    """
    file, head = first_rows(files)
    columns.exclude = matching(columns.exclude, list(file.columns()))
    _check_roles(file, columns, require_target)
    told.check_all_there(file.path, list(file.columns()))
    numbers = {name for name, _ in columns.numbers_beside}
    roles = {columns.target, columns.group, *numbers}
    columns.exclude += [
        name for name in file.columns()
        if told.left_out(name) and name not in {*roles, *columns.words, *columns.exclude}
    ]  # fmt: skip
    for name, kind in column_types(files, columns.exclude).items():
        if name == columns.target:
            how = told.told(name)
            columns.target_kind = "text" if how == "categorical" else "float"
            if how is None:
                columns.target_kind = label_kind(file, name, kind)
            elif how == "categorical":
                columns.categorical.append(name)
            else:
                columns.converted[name] = how
        elif name == columns.group:
            columns.group_kind = family_of(kind) or "text"
        elif name not in {*columns.exclude, *numbers}:
            if is_row_label(name):
                raise DataError(
                    f"{file.path} has a column named '{name}', such as row numbers written by "
                    "pandas",
                    "rename it", hint("leave it out with {}", exclude=[name]),
                    code="column-type", path=file.path, column=name,
                )  # fmt: skip
            first = head.column(name)
            how = told.told(name) or spelled(file, name, kind, first, spelling)
            _add_feature(file, columns, name, kind, how)
            if name in columns.text and (levels := ordered_levels(first)) is not None:
                columns.levels[name] = levels
                columns.categorical = list(dict.fromkeys([*columns.categorical, name]))
    columns.dtype = _dtype(files, columns)


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
    elif how == "categorical" and not pa.types.is_nested(kind):
        columns.text[name] = {}
        columns.categorical.append(name)
    elif how is not None and how != "categorical":
        columns.numeric[name] = "number"
        if not (file.typed and how == "number" and family == "number"):
            columns.converted[name] = how
    elif family is None:
        raise no_feature(file, name, kind)
    elif family == "text":
        columns.text[name] = {}
    else:
        columns.numeric[name] = family


def _check_roles(file: TableFile, columns: Columns, require_target: bool) -> None:
    if require_target:
        check_target(file.path, file.columns(), columns.target)
    claims: list[tuple[str | None, str, str | None]] = [(columns.target, "the label", None)]
    claims += [(name, "left out", "exclude") for name in dict.fromkeys(columns.exclude)]
    claims += [(name, "read as text", "text") for name in columns.words]
    claims += [(name, f"the column of {what}", None) for name, what in columns.beside]
    roles: dict[str, str] = {}
    for name, role, option in claims:
        if name is None:
            continue
        if name in roles:
            raise DataError(
                f"Column '{name}' is {roles[name]} and {role}", "choose one of them",
                code="column-role", column=name,
            )  # fmt: skip
        if name not in file.columns() and name != columns.target:
            raise unknown_column(file.path, file.columns(), name, option=option)
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


def check_column(path: File, names: Iterable[str], name: str) -> None:
    """Raise DataError unless a column of this name, whatever it is for, is one of ``names``."""
    if name not in names:
        raise unknown_column(path, names, name)


#: roles of columns beside features and labels that a recipe has
BESIDE = ("weight", "offset", "successes", "trials")


#: what a recipe always has, and what it has where a table has it, as they are
_ALWAYS = (
    "target", "target_kind", "hash_bits", "missing", "dtype", "text", "means", "scale", "reference",
    "exclude",
)  # fmt: skip
_GIVEN = (*BESIDE, "categorical", "converted", "unlabeled")


def to_recipe(columns: Columns) -> dict[str, Any]:
    bools = [name for name, kind in columns.numeric.items() if kind == "bool"]
    found: dict[str, Any] = {"format": "table", "numeric": list(columns.numeric), "bool": bools}
    found |= {name: copy(getattr(columns, name)) for name in _ALWAYS}
    found |= {name: copy(value) for name in _GIVEN if (value := getattr(columns, name))}
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


def from_recipe(recipe: dict[str, Any], target: str | None) -> Columns:
    """Return the columns a recipe describes; `target`, when given, replaces the recipe's.

    Raises DataError when the recipe is not one that :func:`to_recipe` could have made.
    """
    try:
        columns = _read(recipe)
    except (LookupError, TypeError, AttributeError, ValueError):
        raise DataError(
            "The recipe for reading tables is damaged: train the model again.",
            code="bad-model-file",
        ) from None
    columns.target = columns.target if target is None else target
    return columns


def _read(recipe: dict[str, Any]) -> Columns:
    kinds = {name: "bool" if name in recipe["bool"] else "number" for name in recipe["numeric"]}
    given = {name: recipe[name] for name in (*_GIVEN, "group", "group_kind") if name in recipe}
    known = {"reference": {}, "scale": {}} | recipe
    columns = Columns(kinds, **{"group_kind": ""} | {n: known[n] for n in _ALWAYS} | given)
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
    return columns


def check_reference(reference_level: Any, columns: Columns, name: str) -> None:
    """Raise DataError for a reference level of a column without levels."""
    if reference_level is None or reference_level == FIRST_LEVEL:
        return
    if not isinstance(reference_level, dict):
        raise DataError(
            f"reference_level is {reference_level!r}: give 'first' or a dict of columns and "
            "values.",
            code="bad-option", option="reference_level", value=reference_level,
        )  # fmt: skip
    for column in reference_level:
        if column in columns.numeric:
            raise DataError(
                f"{name}, column '{column}' holds numbers, which have no levels: leave it out.",
                code="column-type", column=column, option="reference_level",
            )  # fmt: skip
        if column not in columns.text:
            raise unknown_column(name, columns.text, column, "text column", "reference_level")


def _dtype(files: list[TableFile], columns: Columns) -> str:
    """Return "float32" if no file holds a wider number, and one holds floats."""
    floats = 0
    for file in files:
        types = file.columns()
        for name, family in columns.numeric.items():
            kind = types.get(name)
            if kind in {pa.float32(), pa.float16()}:
                floats += 1
            elif family != "bool" or not file.typed:
                return "float64"
    return "float32" if floats else "float64"


def word_counters(text: WordColumns) -> dict[str, Any]:
    """Return what counts the words of each text column, and keeps some that are hashed.

    Raises ParameterError for invalid settings.
    """
    if not text:
        return {}
    from linsep.sources.text import Text, TextCounter  # compiles loops

    names = [text] if isinstance(text, str) else text
    chosen = {name: text[name] if isinstance(text, dict) else Text() for name in names}
    return {name: TextCounter(how, keep_terms=True) for name, how in chosen.items()}


_LEVEL = re.compile(r"__index_level_\d+__")


def is_row_label(name: str) -> bool:
    return not name.strip() or _LEVEL.fullmatch(name) is not None


def check_text_columns(
    files: list[TableFile], columns: Columns, levels: Iterable[str] = ()
) -> None:
    """Raise DataError for text columns whose first values are all or nearly all numbers, or never
    repeat, except for columns declared as ``levels``. With hashing, the number of values is
    unlimited.
    """
    if columns.words and not columns.text and columns.hash_bits is not None:
        raise DataError(
            f"hash_bits is {columns.hash_bits}, but words are hashed with a separate setting",
            hint("take {}", text_bits=columns.hash_bits),
            code="conflict", option="hash_bits", value=columns.hash_bits,
        )  # fmt: skip
    file, head = first_rows(files)
    for name in columns.text:
        if name in {*columns.categorical, *levels} or is_ordered(head.column(name).type):
            continue
        error = text_refusal(file, name, head.column(name), columns.hash_bits is not None)
        if error is not None:
            raise error
