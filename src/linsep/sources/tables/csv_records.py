"""The records of CSV text, read in plain Python."""

import csv
from collections.abc import Iterable, Iterator
from threading import Lock
from typing import Any, NamedTuple

from linsep.errors import DataError, Hint, hint
from linsep.sources.limits import line_too_long, longer_lines, size_text
from linsep.sources.remote.file import File
from linsep.sources.tables.roles import check_delimiter

#: the fields of a line behind the last one, a record of its own unless a quote is still open
_END = ["end", "end"]
_FIELDS = Lock()


class Fields(NamedTuple):
    """How the fields of CSV are told apart.

    Attributes
    ----------
    delimiter : str or None
        One character, or "whitespace": any run of blanks and tabs, which may stand at the ends of
        lines, too. None is a comma, in TSV a tab.
    quotes : bool or None
        Whether double quotes enclose fields, within which delimiters and line breaks are text and
        quotes are written twice; None is True. False: quotes are characters as others are.
    header : bool or None
        Whether the first row holds the names of the columns, which otherwise are "column_1",
        "column_2" and so on; None is True unless that row looks like others.
    null_values : tuple of str, or None
        What stands for a missing value, beside empty cells; a blank may be before it.
        :meth:`or_of` takes a list or a single one, too.
    """

    delimiter: str | None = None
    quotes: bool | None = None
    header: bool | None = None
    null_values: Any = None

    @classmethod
    def among(cls, options: dict[str, Any]) -> "Fields":
        """Return those among other options by name."""
        return cls(*(options[name] for name in cls._fields))

    def or_of(self, recipe: dict[str, Any]) -> "Fields":
        """Return these, and those of a recipe where none is given; DataError for invalid ones.

        A recipe names the columns, so that a first row that looks like others is a header still.
        """
        found: dict[str, Any] = {
            name: recipe.get(name) if value is None else value
            for name, value in self._asdict().items()
        }
        check_delimiter(found["delimiter"])
        for name in ("quotes", "header"):
            if (value := found[name]) not in (None, True, False):
                raise DataError(f"{name} is {value!r}: give True or False.")
            found[name] = None if value is None else bool(value)
        found["null_values"] = _null_values(found["null_values"])
        if recipe and found["header"] is None:
            found["header"] = True
        return Fields(**found)

    def recipe(self) -> dict[str, Any]:
        """Return what a recipe tells of them."""
        found = {name: False for name, value in self._asdict().items() if value is False}
        null = {"null_values": list(self.null_values)} if self.null_values else {}
        return {"delimiter": self.delimiter} | found | null

    def null_cells(self) -> list[str]:
        """Return the cells that are missing values, but empty ones."""
        return [blank + value for value in self.null_values or () for blank in ("", " ")]

    def of(self, format: str) -> "Fields":
        """Return the same for "csv" or "tsv", with a delimiter and quotes."""
        delimiter = self.delimiter or ("\t" if format == "tsv" else ",")
        return Fields(delimiter, self.quotes is not False, self.header, self.null_values)


def _null_values(given: Any) -> tuple[str, ...] | None:
    """Return them as a tuple, None for none; DataError for something else than text."""
    values = (given,) if isinstance(given, str) else tuple(given or ())
    for value in values:
        if not isinstance(value, str):
            raise DataError(f"null_values has {value!r}: give text.")
    return values or None


def csv_records(
    lines: Iterable[str], written: Fields, path: File, max_line: int
) -> Iterator[tuple[int, list[str]]]:
    """Yield the fields of each record, none of an empty line, and the line on which it starts.

    Raises DataError for a field that is longer than ``max_line`` characters, and for a quote that
    is never closed.
    """
    ended, delimiter = False, written.delimiter or ","

    def lines_and_end() -> Iterator[str]:
        nonlocal ended
        yield from lines
        ended = True
        yield delimiter.join(_END)

    quoting: Any = csv.QUOTE_MINIMAL if written.quotes else csv.QUOTE_NONE
    reader, line = csv.reader(lines_and_end(), delimiter=delimiter, quoting=quoting), 1
    while True:
        fields = _next_record(reader, path, line, max_line)
        if ended:
            if fields != _END:
                raise unclosed(path, line)
            return
        yield line, fields
        line = reader.line_num + 1


def _next_record(reader: Any, path: File, line: int, max_line: int) -> list[str]:
    with _FIELDS:  # the limit is one for all readers of the process, so it is put back
        before = csv.field_size_limit(max_line)
        try:
            fields: list[str] = next(reader)
        except csv.Error as error:
            if "limit" in str(error):
                many = reader.line_num > line
                too_long = unclosed if many else line_too_long
                raise too_long(path, line, max_line) from error
            raise DataError(
                f"{path} line {line} cannot be read ({error}): correct the line."
            ) from error
        finally:
            csv.field_size_limit(before)
    return fields


def unclosed(path: File, line: int, within: int | None = None) -> DataError:
    """Return the error for a quote on a line, or in the record that starts there, that is never
    closed, or not within so many bytes.
    """
    where = f"{path} line {line} opens a quote that is"
    if within is None:
        return DataError(f"{where} never closed", *_advice())
    longer = longer_lines(within)
    return DataError(f"{where} not closed within {size_text(within)}", *_advice(), *longer)


def misplaced(path: File, line: int, end: int) -> DataError:
    """Return the error for a quote of one line that is closed in the middle of a field of another
    one.
    """
    where = f"{path} line {line} opens a quote that line {end} closes in the middle of a field"
    return DataError(where, *_advice())


def _advice() -> list[str | Hint]:
    return ["close it where its field ends", hint("take quotes for text with {}", quotes=False)]


def names_of(width: int) -> list[str]:
    """Return the names of the columns of a file that does not tell them."""
    return [f"column_{number}" for number in range(1, width + 1)]


def no_header(path: File, said: str, *advice: str | Hint) -> DataError:
    """Return the error for a first row that does not seem to hold names of columns."""
    return DataError(
        f"{path} line 1 {said}",
        *advice,
        hint("read it as a row with {}", header=False),
        hint("as names of columns with {}", header=True),
    )
