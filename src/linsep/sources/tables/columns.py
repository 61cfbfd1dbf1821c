"""What each column of a table is: guessed from the first rows, or taken from a recipe."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

import numpy as np
import pyarrow as pa

from linsep.errors import DataError, Hint, NoRows, hint
from linsep.sources.feature_names import shown_names
from linsep.sources.remote.file import File
from linsep.sources.tables.table_file import TableFile, text_codes

MISSING = ("error", "zero", "drop", "mean")
SCALES = ("none", "standard")
#: the reference level of every text column is its first value
FIRST_LEVEL = "first"
#: names of analyzers, and of norms: None for none
ANALYZERS = ("word", "char", "char_wb")
NORMS = {"l2": "l2", "l1": "l1", "none": None}
#: text columns that users name, alone or with :class:`linsep.Text` objects
WordColumns = str | Iterable[str] | dict[str, Any] | None


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
    means : dict of name to mean; filled for missing="mean"
    scale : dict of numeric name to what is subtracted and then divided by; empty to leave values
        as they are
    reference : dict of text column to the value that has no feature, for columns that have one
    hash_bits : places of the text features are 2**hash_bits; None learns the values
    exclude : names left out
    weight, group : names of the columns of weights and groups, or None
    group_kind : "number", "bool" or "text"
    words : dict of text column whose words are features to what counts them
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
    weight: str | None = None
    group: str | None = None
    group_kind: str = "text"
    dtype: str = "float64"
    means: dict[str, float] = field(default_factory=dict)
    scale: dict[str, list[float]] = field(default_factory=dict)
    reference: dict[str, str] = field(default_factory=dict)
    words: dict[str, Any] = field(default_factory=dict)
    seen: dict[str, Any] = field(default_factory=dict)

    def order_values(self, values: dict[str, set[str]], reference: dict[str, str]) -> None:
        """Give every value of the text columns, but for ``reference``, its feature."""
        self.reference, place = reference, len(self.numeric)
        for name, known in values.items():
            ordered = sorted(known - {reference.get(name, "")} if name in reference else known)
            self.text[name] = {value: place + k for k, value in enumerate(ordered)}
            place += len(ordered)

    @property
    def width(self) -> int:
        """Number of features so far."""
        return self.indicators_end + sum(c.n_columns for c in self.words.values())

    @property
    def indicators_end(self) -> int:
        """Number of features before those of words."""
        if self.text and self.hash_bits is not None:
            return len(self.numeric) + (1 << self.hash_bits)
        return len(self.numeric) + sum(map(len, self.text.values()))

    @property
    def names(self) -> list[str] | None:
        """Names of the features so far; None when text columns are hashed."""
        if self.text and self.hash_bits is not None:
            return None
        if not all(counter.settings.vocabulary for counter in self.words.values()):
            return None
        shown = shown_names(self.numeric, self.text, self.words)
        names = [shown[c] for c in self.numeric] + [""] * (self.indicators_end - len(self.numeric))
        for column, values in self.text.items():
            for value, place in values.items():
                names[place] = f"{shown[column]}={value}"
        for column, counter in self.words.items():
            names += [f"{shown[column]}:{term}" for term in counter.terms or ()]
        return names


def guess_columns(
    files: list[TableFile], target: str | None, exclude: list[str], require_target: bool,
    text: dict[str, Any] | None = None, weight: str | None = None, group: str | None = None,
) -> Columns:  # fmt: skip
    """Guess the columns from the first file with rows, and from the next ones what a column holds
    of which that has no value.

    Parameters
    ----------
    files : list of TableFile
    target : str or None
        Label column; must be in the file if `require_target`.
    exclude : list of str
        Columns left out; must be in the file.
    text : dict or None
        What counts the words of columns whose words are features; they must be in the file.
    weight, group : str or None
        Columns of weights and of groups, which are no features; they must be in the file.

    Raises DataError when there are no rows, no features, or columns that cannot be features.
    """
    file, head = first_rows(files)
    stored = file.columns()
    names = list(stored)
    if require_target or (target is not None and target in exclude):
        check_target(file.path, names, target, exclude)
    for name in exclude:
        if name not in names:
            advice = _closest(name, names) or "check its name."
            raise DataError(f"{file.path} has no column '{name}' to leave out: {advice}")
    columns = Columns(numeric={}, text={}, target=target, target_kind=None, exclude=exclude)
    text = text or {}
    for name in text:
        if name not in names or name in {target, *exclude}:
            raise _no_text_column(file, name, names, target)
    columns.words, columns.weight, columns.group = text, weight, group
    check_row_columns(file, columns)
    for name, kind in column_types(files, exclude).items():
        if name == target:
            columns.target_kind = _label_kind(file, name, kind)
        elif name == weight:
            check_first_weights(file, name, pa.chunked_array([head.column(name)]))
        elif name == group:
            columns.group_kind = family_of(kind) or "text"
        elif name not in exclude:
            check_feature(file.path, name)
            family = family_of(kind)
            if name in text:
                check_kind(file, name, kind, family)
            elif family is None:
                message, change = _unusable(file, kind)
                leave_out = hint("leave it out with {}", exclude=[name])
                raise DataError(f"{file.path}, column '{name}' {message}", change, leave_out)
            elif family == "text":
                columns.text[name] = {}
            else:
                columns.numeric[name] = family
    if not (columns.numeric or columns.text or columns.words):
        raise DataError(
            f"{file.path} has no column to learn from (its columns: {listed(names)}): give a file "
            f"with features."
        )
    columns.dtype = _dtype(files, columns)
    return columns


def _no_text_column(file: TableFile, name: str, names: list[str], target: str | None) -> DataError:
    """Return the error for a text column that is not there, or has another role."""
    if name in names:
        role = "the label column" if name == target else "left out"
        return DataError(f"Column '{name}' is named as text, but is {role}: choose one of the two.")
    advice = _closest(name, names) or f"its columns are {listed(names)}."
    return DataError(f"{file.path} has no column '{name}' to read as text: {advice}")


def check_target(path: File, names: Iterable[str], target: str | None, exclude: list[str]) -> None:
    """Raise DataError unless `target` is one of `names` and not excluded."""
    names = list(names)
    if target is None:
        raise DataError(
            f"{path} (columns: {listed(names)}) needs a label column",
            hint("name it with {}", target=None),
        )
    if target in exclude:
        raise DataError(f"The label column '{target}' is also left out: choose one of the two.")
    if target not in names:
        message = f"{path} has no column '{target}' to learn, only {listed(names)}"
        if advice := _closest(target, names):
            raise DataError(f"{message}: {advice}")
        raise DataError(message, hint("choose one of these with {}", target=None))


def with_possible_advice(problem: DataError, columns: Columns) -> DataError:
    """Return the same error without advice that cannot be followed: to leave out the column of
    labels, weights or groups, or to mark a weight or group as missing.
    """
    hints = [hint for hint in problem.hints if isinstance(hint, Hint)]
    named = {name for hint in hints for name in hint.settings.get("exclude", ())}
    if not named & {columns.target, columns.weight, columns.group}:
        return problem
    idle = {"exclude"} if columns.target in named else {"exclude", "null_values"}
    kept = [h for h in problem.hints if isinstance(h, str) or not idle & h.settings.keys()]
    return DataError(problem.message, *kept)


def check_column(path: File, names: Iterable[str], name: str) -> None:
    """Raise DataError unless a column of this name, whatever it is for, is one of ``names``."""
    names = list(names)
    if name not in names:
        advice = _closest(name, names) or "check its name."
        raise DataError(f"{path} has no column '{name}', only {listed(names)}: {advice}")


def family_of(kind: pa.DataType) -> str | None:
    """Return "number", "bool" or "text"; None for a type that cannot be a feature."""
    types = pa.types
    if types.is_dictionary(kind):
        return family_of(kind.value_type)
    if types.is_boolean(kind):
        return "bool"
    if types.is_string(kind) or types.is_large_string(kind) or kind == pa.string_view():
        return "text"
    # A column without any value yet counts as numbers.
    numbers = (types.is_integer, types.is_floating, types.is_decimal, types.is_null)
    return "number" if any(check(kind) for check in numbers) else None


def to_recipe(columns: Columns) -> dict[str, Any]:
    """Return the columns as plain JSON."""
    return {
        "format": "table",
        "target": columns.target,
        "target_kind": columns.target_kind,
        "numeric": list(columns.numeric),
        "bool": [name for name, kind in columns.numeric.items() if kind == "bool"],
        "text": {name: dict(values) for name, values in columns.text.items()},
        "hash_bits": columns.hash_bits,
        "missing": columns.missing,
        "means": dict(columns.means),
        "scale": {name: list(pair) for name, pair in columns.scale.items()},
        "reference": dict(columns.reference),
        "exclude": list(columns.exclude),
        "dtype": columns.dtype,
        **({} if columns.weight is None else {"weight": columns.weight}),
    } | _words_to_recipe(columns)


def _words_to_recipe(columns: Columns) -> dict[str, Any]:
    """Return what is stored of columns whose words are features, and words of hashed ones."""
    if not columns.words:
        return {}
    from linsep.sources.text import to_json

    seen = {name: c.seen.listed() for name, c in columns.words.items() if c.seen is not None}
    words = {name: to_json(counter) for name, counter in columns.words.items()}
    return {"words": words, "seen": columns.seen or seen}


def _words_from_recipe(columns: Columns, recipe: dict[str, Any]) -> None:
    if recipe.get("words"):
        from linsep.sources.text import from_json

        columns.words = {name: from_json(stored) for name, stored in recipe["words"].items()}
        columns.seen = recipe["seen"]


def from_recipe(recipe: dict[str, Any], target: str | None) -> Columns:
    """Return the columns a recipe describes; `target`, when given, replaces the recipe's.

    Raises DataError when the recipe is not one that :func:`to_recipe` could have made.
    """
    try:
        bools = set(recipe["bool"])
        columns = Columns(
            numeric={name: "bool" if name in bools else "number" for name in recipe["numeric"]},
            text={name: dict(values) for name, values in recipe["text"].items()},
            target=recipe["target"] if target is None else target,
            target_kind=recipe["target_kind"],
            missing=recipe["missing"],
            hash_bits=recipe["hash_bits"],
            exclude=list(recipe["exclude"]),
            dtype=recipe["dtype"],
            means={name: float(mean) for name, mean in recipe["means"].items()},
            scale={name: [float(a), float(b)] for name, (a, b) in recipe.get("scale", {}).items()},
        )
        columns.reference = dict(recipe.get("reference", {}))
        columns.weight = recipe.get("weight")
        _words_from_recipe(columns, recipe)
        check_options(columns.missing, columns.hash_bits)
        places = sorted(place for values in columns.text.values() for place in values.values())
        first = len(columns.numeric)
        whole = (
            recipe["format"] == "table"
            and places == list(range(first, first + len(places)))
            and columns.dtype in {"float32", "float64"}
            and columns.target_kind in {None, "int", "float", "bool", "text"}
            and (not columns.scale or list(columns.scale) == list(columns.numeric))
            and (columns.missing != "mean" or set(columns.means) == set(columns.numeric))
            and all(value not in columns.text[name] for name, value in columns.reference.items())
        )
    except (KeyError, TypeError, AttributeError, ValueError):
        whole = False
    if not whole:
        raise DataError("The recipe for reading tables is damaged: learn the model again.")
    return columns


def check_options(missing: str, hash_bits: int | None, scale: str = "none") -> None:
    """Raise DataError for invalid values of the options."""
    if scale not in SCALES:
        raise DataError(f"scale is {scale!r}: choose none or standard.")
    if missing not in MISSING:
        raise DataError(f"missing is '{missing}': choose {', '.join(MISSING[:-1])} or mean.")
    if hash_bits is not None and not 1 <= hash_bits <= 30:
        raise DataError(f"hash_bits is {hash_bits}: choose a number from 1 to 30.")


def check_reference(reference_level: Any, columns: Columns, name: str) -> None:
    """Raise DataError for a reference level of a column without levels."""
    if reference_level is None or reference_level == FIRST_LEVEL:
        return
    if not isinstance(reference_level, dict):
        raise DataError(
            f"reference_level is {reference_level!r}: give 'first' or a dict of columns and values."
        )
    if columns.hash_bits is not None:
        raise DataError(
            "A reference level needs values that are learnt, not hashed",
            hint("leave out {}", hash_bits=None),
        )
    for column in reference_level:
        if column in columns.numeric:
            raise DataError(
                f"{name}, column '{column}' holds numbers, which have no reference level: write "
                "its values as text, such as level_1."
            )
        if column not in columns.text:
            advice = (
                _closest(column, columns.text) or f"text columns are {listed(list(columns.text))}."
            )
            raise DataError(f"{name} has no text column '{column}' for a reference level: {advice}")


def first_rows(files: list[TableFile]) -> tuple[TableFile, pa.RecordBatch]:
    """Return the first file with rows, and some of them; DataError if there is none."""
    for file in files:
        head = file.sample()
        if head.num_rows:
            return file, head
    more = "" if len(files) == 1 else f" and the {len(files) - 1} other files"
    raise NoRows(f"{files[0].path}{more} has no rows: give a file with rows.")


def column_types(files: list[TableFile], exclude: Iterable[str] = ()) -> dict[str, pa.DataType]:
    """Return the types of all columns of the first file with rows: what it states or, in text, what
    its first rows say; where these have no value, what the first rows with one say. Columns of
    ``exclude`` are not searched for values.
    """
    file, head = first_rows(files)
    guessed = zip(file.columns().items(), head.schema.types, strict=True)
    found = {name: stored or kind for (name, stored), kind in guessed}
    empty = [n for n, kind in found.items() if pa.types.is_null(kind) and n not in exclude]
    for look in (_first_types, lambda other, names: other.later_types(names)):
        for other in files:
            known = look(other, empty) if empty else {}
            found |= known
            empty = [name for name in empty if name not in known]
    return found


def _first_types(file: TableFile, names: list[str]) -> dict[str, pa.DataType]:
    """Return the types of columns of which the first rows of a file have a value."""
    head, stored = file.sample(), file.columns()
    there = [name for name in names if head.num_rows and name in head.schema.names]
    found = {name: stored[name] or head.schema.field(name).type for name in there}
    return {name: kind for name, kind in found.items() if not pa.types.is_null(kind)}


def _label_kind(file: TableFile, name: str, kind: pa.DataType) -> str:
    if pa.types.is_dictionary(kind):
        return _label_kind(file, name, kind.value_type)
    family = family_of(kind)
    if family == "number":
        whole = pa.types.is_integer(kind) or pa.types.is_null(kind)
        return "int" if whole else "float"
    if family is not None:
        return family
    guessed = pa.types.is_temporal(kind) and not file.typed
    if guessed:  # text that looks like a date to Arrow is a name as good as any other
        return "text"
    message, change = _unusable(file, kind)
    raise DataError(f"{file.path}, label column '{name}' {message}", change)


def _unusable(file: TableFile, kind: pa.DataType) -> tuple[str, str]:
    """Return what a column of this type holds, and how to make it usable."""
    if pa.types.is_temporal(kind):
        return f"holds dates or times ({kind})", "make it a number"
    if pa.types.is_nested(kind):
        return f"holds lists or objects ({kind})", "flatten it"
    if pa.types.is_binary(kind) and not file.typed:
        return "is not UTF-8 text", "save the file as UTF-8"
    return f"holds values of type {kind}", "make it a number or text"


def _dtype(files: list[TableFile], columns: Columns) -> str:
    """Return "float32" when no file holds a number wider than that, and one holds floats."""
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


def _closest(name: str, names: Iterable[str]) -> str:
    near = get_close_matches(name, list(names), 1)
    return f"did you mean '{near[0]}'?" if near else ""


def listed(names: list[str]) -> str:
    """Return the first twenty names, for a message."""
    shown = ", ".join(names[:20])
    return f"{shown} and {len(names) - 20} more" if len(names) > 20 else shown


def check_row_columns(file: TableFile, columns: Columns) -> None:
    """Raise DataError unless the columns of weights and groups are in the first file and have no
    other role.
    """
    found = file.columns()
    for role, name in (("weights", columns.weight), ("groups", columns.group)):
        if name is None:
            continue
        others = {} if role == "weights" else {columns.weight: "the column of weights"}
        others |= dict.fromkeys(columns.words, "read as text")
        others |= dict.fromkeys(columns.exclude, "left out")
        if (other := {**others, columns.target: "the label column"}.get(name)) is not None:
            raise DataError(
                f"Column '{name}' is named for {role}, but is {other}: choose one of the two."
            )
        if name not in found:
            raise DataError(
                f"{file.path} has no column '{name}' of {role}, only {listed(list(found))}: check "
                "its name."
            )


def kinds_of_row_columns(
    file: TableFile, columns: Columns, found: dict[str, pa.DataType | None], by_recipe: bool
) -> dict[str, str]:
    """Return the kinds to read the columns of weights and groups as, which were ``found`` with
    their types; DataError if they are not there, or weights not numbers.
    """
    path, kinds = file.path, {}
    if columns.weight is not None:
        if file.absent([columns.weight]):
            of_model = "with which the model learnt" if by_recipe else "as the first file has"
            raise DataError(
                f"{path} has no column '{columns.weight}' of weights, {of_model}: add it, of ones "
                "to count all rows alike."
            )
        stored = found.get(columns.weight)
        if stored is not None and family_of(stored) != "number":
            raise DataError(
                f"{path}, column '{columns.weight}' holds {stored}, but weights are numbers: "
                "convert it, or name another column."
            )
        kinds[columns.weight] = "number"
    if columns.group is not None and not by_recipe:
        if file.absent([columns.group]):
            raise DataError(f"{path} has no column '{columns.group}' of groups: add it.")
        kinds[columns.group] = columns.group_kind
    return kinds


def check_first_weights(file: TableFile, name: str, head: pa.ChunkedArray) -> None:
    """Raise DataError, which names the row, where the first weights are no numbers."""
    kind = file.columns()[name] or head.type
    if family_of(kind) == "number":
        return
    if not pa.types.is_string(kind):
        raise DataError(
            f"{file.path}, column '{name}' holds {kind}, but weights are numbers: name another "
            "column."
        )
    codes, values = text_codes(head, name, file.where)
    odd = [code for code, value in enumerate(values) if not _reads_as_number(value)]
    row = int(np.argmax(np.isin(codes, odd or [0])))
    raise DataError(
        f"{file.where(row)}, column '{name}' holds '{values[codes[row]][:60]}', but weights are "
        "numbers: correct it, or name another column."
    )


def _reads_as_number(text: str) -> bool:
    try:
        return float(text) == float(text)
    except ValueError:
        return False


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


def check_kind(file: TableFile, name: str, kind: pa.DataType, family: str | None) -> None:
    """Raise DataError unless a column may hold text."""
    dates = pa.types.is_temporal(kind) and not file.typed  # text that looks like dates to Arrow
    if family == "text" or dates or pa.types.is_null(kind):
        return
    if pa.types.is_binary(kind) and not file.typed:
        for _ in file.chunks({name: "text"}):  # raises DataError, which names the line
            pass
    what = {"number": "numbers", "bool": "true and false"}.get(
        family or "", f"values of type {kind}"
    )
    raise DataError(
        f"{file.path}, column '{name}' holds {what}, not text",
        hint("leave out {}", text=[name]),
        "convert it to text",
    )


_LEVEL = re.compile(r"__index_level_\d+__")


def is_row_label(name: str) -> bool:
    """Return whether a column of this name seems to hold row numbers or labels."""
    return not name.strip() or _LEVEL.fullmatch(name) is not None


def check_feature(path: File, name: str) -> None:
    """Raise DataError for a column of such a name."""
    if not is_row_label(name):
        return
    leave_out = hint("leave it out with {}", exclude=[name])
    if name.strip():
        said = f"{path}, column '{name}' holds the row labels of a pandas table"
        raise DataError(said, "rename it", leave_out)
    said = f"{path} has a column without a name, such as row numbers that pandas wrote"
    raise DataError(said, "name it", leave_out)


#: rows from which a text column without a repeated value counts as an id
_MANY_ROWS = 100
#: different numbers from which a text column with few other values counts as numeric
_MANY_NUMBERS, _FEW_ODD = 10, 0.1
# Text with a leading zero, such as 02134, is a code and not a number.
NUMBER = r"\s*[-+]?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][-+]?\d+)?\s*"
_NUMBER = re.compile(NUMBER)
#: what stands for a missing value where all others are numbers
_MARK = re.compile(r"[^\w\s]+")
_DECIMAL_COMMA = re.compile(r"\s*[-+]?(\d{1,3}(\.\d{3})+|\d+)(,\d+)?\s*")
_GROUPED = re.compile(r"\s*[-+]?(0|[1-9]\d{0,2}(,\d{3})*)(\.\d+)?\s*")


def check_text_columns(files: list[TableFile], columns: Columns) -> None:
    """Raise DataError for text columns whose first values are numbers, or nearly all, or never
    repeat.

    With hashing, values may be as many as they like.
    """
    if columns.words and not columns.text and columns.hash_bits is not None:
        raise DataError(
            f"hash_bits is {columns.hash_bits}, but words are hashed by a setting of their own",
            hint("take {}", text_bits=columns.hash_bits),
        )
    file, head = first_rows(files)
    for name in columns.text:
        error = text_refusal(file, name, head.column(name), columns.hash_bits is not None)
        if error is not None:
            raise error


def text_refusal(
    file: TableFile, name: str, first: pa.Array, hashed: bool = False
) -> DataError | None:
    """Return why a text column with these first values is no feature; None if it is one."""
    codes, values = text_codes(pa.chunked_array([first]), name, file.where)
    filled = int(np.count_nonzero(codes >= 0))
    odd = [code for code, value in enumerate(values) if not _NUMBER.fullmatch(value)]
    marks = {values[code].strip() for code in odd} if file.marks_missing else set()
    if len(marks) == 1 and len(odd) < len(values) and _MARK.fullmatch(min(marks)):
        return DataError(
            f"{file.path}, column '{name}' holds numbers and '{min(marks)}'",
            *missing_mark(min(marks)),
            hint("leave the column out with {}", exclude=[name]),
        )
    if values and not odd:
        later = [hint("say what stands for a missing value with {}", null_values=None)]
        return DataError(
            f"{file.path}, column '{name}' looks like numbers stored as text (such as "
            f"'{values[0]}')",
            "convert it to numbers",
            *later * file.marks_missing,
            hint("leave it out with {}", exclude=[name]),
        )
    if odd and (message := _commas(values)):
        return DataError(
            f"{file.path}, column '{name}' has {message} (such as '{values[odd[0]]}')",
            "write numbers without them" if "thousands" in message else "write points",
            hint("leave it out with {}", exclude=[name]),
        )
    rows = np.flatnonzero(np.isin(codes, odd))
    if len(values) - len(odd) >= _MANY_NUMBERS and rows.size <= _FEW_ODD * filled:
        more = f" (one of {rows.size:,} such rows)" if rows.size > 1 else ""
        return DataError(
            f"{file.where(int(rows[0]))}, column '{name}' holds "
            f"'{values[codes[rows[0]]][:60]}'{more}, where nearly all others are numbers",
            "correct it",
            hint("leave the cell empty and choose {}", missing="mean"),
            *missing_mark(values[codes[rows[0]]]) * file.marks_missing,
            hint("leave the column out with {}", exclude=[name]),
        )
    if len(values) == filled >= _MANY_ROWS and not hashed:
        return DataError(
            f"{file.path}, column '{name}' has another text in each of its first "
            f"{filled:,} rows, as ids and sentences have, of which nothing can be learnt",
            hint("read its words with {}", text=[name]),
            hint("leave it out with {}", exclude=[name]),
            hint("if its values do come again later, hash them with {}", hash_bits=20),
        )
    return None


def missing_mark(value: str) -> list[Hint]:
    """Return the advice for something that may stand for a missing value; none if it has digits."""
    if any(letter.isdigit() for letter in value):
        return []
    return [hint("take it for a missing value with {}", null_values=[value.strip()])]


def _commas(values: list[str]) -> str | None:
    """Return what commas mean if all values are numbers, some with commas."""
    if not any("," in value or "." in value for value in values):
        return None  # codes with leading zeros
    grouped, decimal = (all(map(p.fullmatch, values)) for p in (_GROUPED, _DECIMAL_COMMA))
    # Commas before three digits, as in 1,234, may be either; more often they separate thousands.
    return "commas between thousands" if grouped else "decimal commas" if decimal else None
