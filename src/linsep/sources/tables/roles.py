"""Roles of the columns of a table: guessed from the first rows, or taken from a recipe."""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

import pyarrow as pa

from linsep.errors import DataError, Hint, NoRows, hint
from linsep.sources.remote.file import File
from linsep.sources.tables.arrow import TableFile
from linsep.sources.tables.encoding import Columns
from linsep.sources.tables.row_columns import check_first_weights, check_row_columns
from linsep.sources.tables.row_labels import check_feature
from linsep.sources.tables.words import check_kind, counters_of

#: stands for a delimiter: any run of blanks and tabs
WHITESPACE = "whitespace"
#: a quoted field, which stays as it is, or a run
_RUNS = re.compile(rb'("[^"\n]*")|[ \t]+')
_BLANKS = re.compile(rb"[ \t]+")
_ENDS = re.compile(rb"^\t|\t(?=\r?$)", re.MULTILINE)


def squeezed(lines: bytes, quotes: bool) -> bytes:
    """Return lines with each run of blanks and tabs as one tab, and none at the ends of lines;
    ``quotes`` says whether quoted fields stay as they are.
    """
    runs = _RUNS.sub(_tab, lines) if quotes else _BLANKS.sub(b"\t", lines)
    return _ENDS.sub(b"", runs)


def _tab(found: re.Match[bytes]) -> bytes:
    return found[1] or b"\t"


MISSING = ("error", "zero", "drop", "mean")
SCALES = ("none", "standard")
#: the reference level of every text column is its first value
FIRST = "first"


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
        Settings of columns whose words are features; they must be in the file.
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
    columns.words, columns.weight, columns.group = counters_of(text), weight, group
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


def possible(problem: DataError, columns: Columns) -> DataError:
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
    from linsep.sources.text.stored import to_json

    seen = {name: c.seen.listed() for name, c in columns.words.items() if c.seen is not None}
    words = {name: to_json(counter) for name, counter in columns.words.items()}
    return {"words": words, "seen": columns.seen or seen}


def _words_from_recipe(columns: Columns, recipe: dict[str, Any]) -> None:
    if recipe.get("words"):
        from linsep.sources.text.stored import from_json

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
    if reference_level is None or reference_level == FIRST:
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


def check_delimiter(delimiter: Any) -> None:
    """Raise DataError for an invalid delimiter."""
    if delimiter is not None and not is_delimiter(delimiter):
        raise DataError(
            f"delimiter is {delimiter!r}: give one character that is no letter or digit, or "
            "'whitespace'."
        )


def is_delimiter(given: Any) -> bool:
    """Return whether ``given`` is a valid delimiter."""
    if isinstance(given, str) and given == WHITESPACE:
        return True
    one = isinstance(given, str) and len(given) == 1 and given.isascii()
    return one and not given.isalnum() and given not in '"\r\n\0'


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
