"""How text is read as a table: the options of a command or a fit.

A new option of reading is a field of :class:`ReadingOptions` and, with its documentation, an
argument of :func:`linsep.open_source`; the recipe, row caches and every reader get it from here.
"""

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from typing import Any, Self

from linsep.errors import DataError, hint
from linsep.sources.formats import FILLED, MISSING, SCALES, WHITESPACE, is_delimiter
from linsep.sources.limits import MAX_LINE, bytes_of
from linsep.sources.tables.spellings import Spelling

#: a quoted field, which stays as it is, or a run
_RUNS = re.compile(rb'("[^"\n]*")|[ \t]+')
_BLANKS = re.compile(rb"()[ \t]+")
_ENDS = re.compile(rb"^\t|\t(?=\r?$)", re.MULTILINE)


#: options of how lines of CSV become cells, and of how numbers are written
OF_CSV = ("delimiter", "quotes", "header", "null_values", "comment", "skip_rows", "encoding")
OF_NUMBERS = ("decimal", "thousands", "units")


def _is_encoding(value: Any) -> bool:
    with suppress(LookupError, TypeError):
        return bool("a".encode(value))
    return False


def _is_whole(value: Any, least: int, most: float = float("inf")) -> bool:
    return isinstance(value, int) and least <= value <= most


_FLAG = "True or False", lambda value: value in (True, False)
_MARK = (
    "one character, such as ',' or '.'",
    lambda mark: isinstance(mark, str) and bool(re.fullmatch(r"[^\w+-]|_", mark)),
)
#: what each option may be unless it is None, in words and as a function
VALID: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "missing": (f"one of {', '.join(MISSING)}", lambda how: how in (*MISSING, "skip")),
    "unlabeled": ("error or drop", lambda how: how in ("error", "drop")),
    "scale": (" or ".join(SCALES), lambda how: how in SCALES),
    "hash_bits": ("a number from 1 to 30", lambda bits: _is_whole(bits, 1, 30)),
    "min_count": ("a number of rows, 1 or more", lambda rows: _is_whole(rows, 1)),
    "delimiter": ("one character that is not a letter or digit, or 'whitespace'", is_delimiter),
    "quotes": _FLAG, "header": _FLAG, "units": _FLAG, "decimal": _MARK, "thousands": _MARK,
    "comment": (
        "text such as '#'", lambda text: isinstance(text, str) and text.strip() == text != ""
    ),
    "skip_rows": ("a number of lines, 0 or more", lambda lines: _is_whole(lines, 0)),
    "encoding": ("a name that Python knows, such as latin-1 or utf-16", _is_encoding),
    "reference_level": (
        "'first' or a dict of columns and values", lambda x: x == "first" or isinstance(x, dict)
    ),
    "null_values": (
        "text", lambda marks: isinstance(marks, str) or all(isinstance(m, str) for m in marks)
    ),
}  # fmt: skip


def names_of(given: Any) -> list[str]:
    """Return one or several names of columns as text, as columns of frames are named."""
    return [str(name) for name in ([given] if isinstance(given, str | int) else given or ())]


def check_options(options: dict[str, Any]) -> None:
    """Raise DataError for an option with an invalid value, and for two that exclude each other."""
    for name, (wanted, fits) in VALID.items():
        if (value := options.get(name)) is not None and not fits(value):
            raise DataError(
                f"{name} is {value!r}", f"give {wanted}",
                code="bad-option", option=name, value=value,
            )  # fmt: skip
    mark = options.get("thousands")
    if mark is not None and mark == (options.get("decimal") or "."):
        raise DataError(
            f"decimal and thousands are both {mark!r}", "choose two characters",
            code="conflict", option="thousands", value=mark,
        )  # fmt: skip


@dataclass
class ReadingOptions:
    """How the fields of CSV are separated, which of them are missing values, and how numbers are
    written: arguments of :func:`linsep.open_source`, which describes them; DataError for an invalid
    value. None is the default of the format.
    """

    delimiter: str | None = None
    quotes: bool | None = None
    header: bool | None = None
    null_values: Any = None
    comment: str | None = None
    skip_rows: int | None = None
    encoding: str | None = None
    max_line: Any = MAX_LINE
    decimal: str | None = None
    thousands: str | None = None
    units: bool | None = None

    def __post_init__(self) -> None:
        check_options(vars(self))
        self.null_values = names_of(self.null_values) or None
        self.max_line = bytes_of(self.max_line or MAX_LINE)

    @classmethod
    def names(cls) -> list[str]:
        return [one.name for one in fields(cls)]

    @classmethod
    def among(cls, options: dict[str, Any]) -> Self:
        """Return these options among others by name, as they were typed."""
        return cls(**{name: options[name] for name in cls.names() if name in options})

    @property
    def of_csv(self) -> dict[str, Any]:
        """The options that define cells of CSV, by name: rows depend on them."""
        return {name: getattr(self, name) for name in OF_CSV}

    @property
    def of_whole_files(self) -> bool:
        """Whether a part of a file cannot be read by itself."""
        return bool(self.skip_rows or self.comment or self.encoding)

    @property
    def spelling(self) -> Spelling:
        return Spelling(self.decimal or ".", self.thousands, bool(self.units))

    def or_of(self, recipe: dict[str, Any]) -> Self:
        """Return these options, completed from a recipe; DataError for invalid ones.

        A recipe names the columns, so a first row that looks like data is still a header.
        """
        learned = {"header": True} | recipe if recipe else {}
        names = [name for name in (*OF_CSV, *OF_NUMBERS) if getattr(self, name) is None]
        return replace(self, **{name: learned.get(name) for name in names})

    def recipe(self) -> dict[str, Any]:
        each = vars(self) | {name: None for name in ("quotes", "header") if vars(self)[name]}
        each = {name: each[name] for name in (*OF_CSV, *OF_NUMBERS) if each[name] is not None}
        return {"delimiter": None} | each

    def null_cells(self) -> list[str]:
        """Return the marks of missing values; where "" is one, up to 16 blanks are, too."""
        marks = self.null_values or ()
        blanks = [" " * k for k in range(2, 17)] if "" in marks else []
        return [blank + value for value in marks for blank in ("", " ")] + blanks

    def of(self, format: str) -> "ReadingOptions":
        """Return the same for "csv" or "tsv", with a delimiter and quotes."""
        delimiter = self.delimiter or ("\t" if format == "tsv" else ",")
        return replace(self, delimiter=delimiter, quotes=self.quotes is not False)

    @property
    def separator(self) -> str:
        """The character between the fields of lines that are :meth:`squeezed`."""
        return "\t" if self.delimiter == WHITESPACE else self.delimiter or ","

    def squeezed(self, lines: bytes) -> bytes:
        """Return lines with each run of blanks as one tab, and none at their ends, where runs
        separate fields; quoted fields stay as they are.
        """
        if self.delimiter != WHITESPACE:
            return lines
        runs = _RUNS if self.quotes else _BLANKS
        return _ENDS.sub(b"", runs.sub(lambda run: run[1] or b"\t", lines))


AS_USUAL = ReadingOptions()
#: options of columns beside features and labels, and what these hold
ROLES = {
    "weight": "weights", "offset": "offsets", "successes": "successes", "trials": "trials",
    "group": "groups",
}  # fmt: skip
#: options that exclude others
_EXCLUDED = {
    "formula": (
        "target", "exclude", "include", "categorical", "text", "hash_bits", "reference_level",
        "min_count", "products",
    ),
    "successes": ("target", "weight"), "hash_bits": ("min_count",),
}  # fmt: skip


@dataclass
class TableOptions(ReadingOptions):
    """How a table is read: arguments of :func:`linsep.open_source`, which describes them."""

    target: str | None = None
    missing: str = "error"
    unlabeled: str = "error"
    hash_bits: int | None = None
    exclude: Any = ()
    scale: str = "none"
    reference_level: Any = None
    min_count: int | None = None
    text: Any = None
    weight: str | None = None
    group: str | None = None
    offset: str | None = None
    successes: str | None = None
    trials: str | None = None
    products: Any = ()
    formula: str | None = None
    categorical: Any = ()
    numeric: Any = ()
    date: Any = ()
    include: Any = ()

    def __post_init__(self) -> None:
        for name in ("exclude", "products", "categorical", "numeric", "date", "include"):
            names = getattr(self, name)
            if isinstance(names, dict):  # formats of dates
                names = [f"{column}={format}" for column, format in names.items()]
            setattr(self, name, names_of(names))
        super().__post_init__()
        excluded = [(given, name) for given, names in _EXCLUDED.items() for name in names]
        excluded += [("hash_bits", "reference_level")] * isinstance(self.reference_level, dict)
        for given, name in excluded:
            if getattr(self, given) and getattr(self, name):
                one_of = hint("leave out {}", **{name: None}), hint("{}", **{given: None})
                said = "Two options exclude each other"
                raise DataError(said, *one_of, code="conflict", option=name)
        if bool(self.successes) != bool(self.trials):
            missing = "trials" if self.successes else "successes"
            name_both = hint("name both, with {}", **{missing: None})
            said = "Counts need both successes and trials"
            raise DataError(said, name_both, code="needs-option", option=missing)
        if self.formula and self.missing in FILLED:
            raise DataError(
                "A formula needs complete rows",
                hint("leave out rows with missing values with {}", missing="drop"),
                code="conflict", option="missing", value=self.missing,
            )  # fmt: skip

    @property
    def given(self) -> dict[str, Any]:
        return {n: x for n in sorted(DEFAULTS) if (x := getattr(self, n)) not in (None, [])}


#: options of tables with their defaults; ``max_line`` changes no row
DEFAULTS = {one.name: one.default for one in fields(TableOptions) if one.name != "max_line"}
