"""How text is read as a table: the options of a command or a fit.

A new option of reading is a field of :class:`ReadingOptions` and, with its documentation, an
argument of :func:`linsep.open_source`; the recipe, row caches and every reader get it from here.
"""

import re
from typing import Any, NamedTuple

from linsep.errors import DataError
from linsep.sources.limits import MAX_LINE, bytes_of
from linsep.sources.tables.spellings import Spelling

#: stands for a delimiter: any run of blanks and tabs
WHITESPACE = "whitespace"
#: blanks in cells that are all missing values where an empty cell is said to be one
MOST_BLANKS = 17
#: a quoted field, which stays as it is, or a run
_RUNS = re.compile(rb'("[^"\n]*")|[ \t]+')
_BLANKS = re.compile(rb"[ \t]+")
_ENDS = re.compile(rb"^\t|\t(?=\r?$)", re.MULTILINE)


def check_delimiter(delimiter: Any) -> None:
    """Raise DataError for an invalid delimiter."""
    if delimiter is not None and not is_delimiter(delimiter):
        raise DataError(
            f"delimiter is {delimiter!r}: give one character that is not a letter or digit, or "
            "'whitespace'.",
            code="bad-option", option="delimiter", value=delimiter,
        )  # fmt: skip


def is_delimiter(given: Any) -> bool:
    """Return whether ``given`` is a valid delimiter."""
    if isinstance(given, str) and given == WHITESPACE:
        return True
    one = isinstance(given, str) and len(given) == 1 and given.isascii()
    return one and not given.isalnum() and given not in '"\r\n\0'


#: options of how lines of CSV become cells, and of how numbers are written
OF_CSV = ("delimiter", "quotes", "header", "null_values", "comment", "skip_rows", "encoding")
OF_NUMBERS = ("decimal", "thousands", "units")


class ReadingOptions(NamedTuple):
    """How the fields of CSV are separated, and which of them are missing values.

    Attributes
    ----------
    delimiter : str or None
        One character, or "whitespace": any run of blanks and tabs, which may stand at the ends of
        lines, too. None is a comma, in TSV a tab.
    quotes : bool or None
        Whether double quotes enclose fields, within which delimiters and line breaks are text and
        quotes are doubled; None is True. With False, quotes are ordinary characters.
    header : bool or None
        Whether the first row holds the names of the columns, which otherwise are "column_1",
        "column_2" and so on; None is True unless that row looks like others.
    null_values : tuple of str, or None
        Marks of missing values, in addition to empty cells; a blank may precede them. :meth:`or_of`
        takes a list or a single one, too.
    comment : str or None
        Lines that begin with this text are skipped.
    skip_rows : int or None
        Number of lines to skip before the header.
    encoding : str or None
        Character encoding; None is UTF-8.
    max_line : int
        Bytes that a line, a record or a text may have.
    decimal : str or None
        Decimal mark of numbers; None is a point.
    thousands : str or None
        Separator of groups of three digits.
    units : bool or None
        Whether percent signs, currencies and the like are read as
        :class:`linsep.sources.tables.spellings.Spelling` has it.
    """

    delimiter: str | None = None
    quotes: bool | None = None
    header: bool | None = None
    null_values: Any = None
    comment: str | None = None
    skip_rows: int | None = None
    encoding: str | None = None
    max_line: int = MAX_LINE
    decimal: str | None = None
    thousands: str | None = None
    units: bool | None = None

    @classmethod
    def among(cls, options: dict[str, Any]) -> "ReadingOptions":
        """Return these options among others by name, as they were typed."""
        given = {name: options[name] for name in cls._fields}
        return cls(**given | {"max_line": bytes_of(given["max_line"] or MAX_LINE)})

    @property
    def of_csv(self) -> dict[str, Any]:
        """The options that define cells of CSV, by name: rows depend on them."""
        return {name: getattr(self, name) for name in OF_CSV}

    @property
    def of_whole_files(self) -> bool:
        """Whether a part of a file cannot be read by itself."""
        return bool(self.skip_rows or self.comment or self.encoding)

    @property
    def of_numbers(self) -> dict[str, Any]:
        """The options of the notation of numbers, by name, if given."""
        found = {name: getattr(self, name) for name in OF_NUMBERS}
        return {name: value for name, value in found.items() if value is not None}

    @property
    def spelling(self) -> Spelling:
        """How numbers are written."""
        return Spelling(self.decimal or ".", self.thousands, bool(self.units))

    def or_of(self, recipe: dict[str, Any]) -> "ReadingOptions":
        """Return these options, completed from a recipe; DataError for invalid ones.

        A recipe names the columns, so a first row that looks like data is still a header.
        """
        found: dict[str, Any] = {
            name: recipe.get(name) if value is None else value
            for name, value in (self.of_csv | dict.fromkeys(OF_NUMBERS) | self.of_numbers).items()
        }
        check_delimiter(found["delimiter"])
        _check_numbers(found)
        _check_lines(found)
        for name in ("quotes", "header"):
            if (value := found[name]) not in (None, True, False):
                raise DataError(
                    f"{name} is {value!r}: give True or False.",
                    code="bad-option", option=name, value=value,
                )  # fmt: skip
            found[name] = None if value is None else bool(value)
        found["null_values"] = _null_values(found["null_values"])
        if recipe and found["header"] is None:
            found["header"] = True
        return self._replace(**found)

    def recipe(self) -> dict[str, Any]:
        """Return these options from a recipe."""
        found = {name: False for name, value in self.of_csv.items() if value is False}
        null = {"null_values": list(self.null_values)} if self.null_values else {}
        lines = {name: getattr(self, name) for name in ("comment", "skip_rows", "encoding")}
        lines = {name: value for name, value in lines.items() if value is not None}
        return {"delimiter": self.delimiter} | found | null | lines | self.of_numbers

    def null_cells(self) -> list[str]:
        """Return the marks of missing values other than empty cells."""
        marks = self.null_values or ()
        blanks = [" " * k for k in range(2, MOST_BLANKS)] if "" in marks else []
        return [blank + value for value in marks for blank in ("", " ")] + blanks

    def of(self, format: str) -> "ReadingOptions":
        """Return the same for "csv" or "tsv", with a delimiter and quotes."""
        delimiter = self.delimiter or ("\t" if format == "tsv" else ",")
        return self._replace(delimiter=delimiter, quotes=self.quotes is not False)

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
        if self.quotes:
            return _ENDS.sub(b"", _RUNS.sub(lambda run: run[1] or b"\t", lines))
        return _ENDS.sub(b"", _BLANKS.sub(b"\t", lines))


def _check_lines(given: dict[str, Any]) -> None:
    """Raise DataError for invalid options of lines and characters."""
    comment, skip, encoding = given["comment"], given["skip_rows"], given["encoding"]
    if comment is not None and not (isinstance(comment, str) and comment.strip() == comment != ""):
        raise DataError(
            f"comment is {comment!r}: give the text that such lines begin with, such as '#'.",
            code="bad-option", option="comment", value=comment,
        )  # fmt: skip
    if skip is not None and not (isinstance(skip, int) and skip >= 0):
        raise DataError(
            f"skip_rows is {skip!r}: give a number of lines, 0 or more.",
            code="bad-option", option="skip_rows", value=skip,
        )  # fmt: skip
    if encoding is None:
        return
    try:
        "a".encode(encoding)
    except (LookupError, TypeError):
        raise DataError(
            f"encoding is {encoding!r}: give a name that Python knows, such as latin-1 or utf-16.",
            code="bad-option", option="encoding", value=encoding,
        ) from None  # fmt: skip


def _check_numbers(given: dict[str, Any]) -> None:
    """Raise DataError for invalid or equal marks in numbers."""
    for name in ("decimal", "thousands"):
        mark = given[name]
        one = isinstance(mark, str) and len(mark) == 1 and not mark.isalnum() and mark not in "+-"
        if mark is not None and not one:
            raise DataError(
                f"{name} is {mark!r}: give one character, such as ',' or '.'.",
                code="bad-option", option=name, value=mark,
            )  # fmt: skip
    if given["thousands"] == (given["decimal"] or "."):
        raise DataError(
            f"decimal and thousands are both {given['thousands']!r}",
            "choose two characters",
            code="conflict", option="thousands", value=given["thousands"],
        )  # fmt: skip
    if given["units"] not in (None, True, False):
        raise DataError(
            f"units is {given['units']!r}: give True or False.",
            code="bad-option", option="units", value=given["units"],
        )  # fmt: skip


def _null_values(given: Any) -> tuple[str, ...] | None:
    """Return them as a tuple, or None; DataError for anything but text."""
    values = (given,) if isinstance(given, str) else tuple(given or ())
    for value in values:
        if not isinstance(value, str):
            raise DataError(
                f"null_values has {value!r}: give text.",
                code="bad-option", option="null_values", value=value,
            )  # fmt: skip
    return values or None
