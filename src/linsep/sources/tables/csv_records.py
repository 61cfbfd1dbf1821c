"""The records of CSV text, read in plain Python."""

import csv
from collections.abc import Iterable, Iterator
from threading import Lock
from typing import Any

from linsep.errors import DataError
from linsep.sources.limits import line_too_long, longer_lines, size_text
from linsep.sources.remote.file import File

#: a line behind the last one, which is a record of its own unless a quote is still open
_END = "end"
_FIELDS = Lock()
CLOSE = "close it where its field ends, and write quotes within quotes twice"


def csv_records(
    lines: Iterable[str], delimiter: str, path: File, max_line: int
) -> Iterator[tuple[int, list[str]]]:
    """Yield the fields of each record, none of an empty line, and the line on which it starts.

    Raises DataError for a field that is longer than ``max_line`` characters, and for a quote that
    is never closed.
    """
    ended = False

    def lines_and_end() -> Iterator[str]:
        nonlocal ended
        yield from lines
        ended = True
        yield _END

    reader, line = csv.reader(lines_and_end(), delimiter=delimiter), 1
    while True:
        fields = _next_record(reader, path, line, max_line)
        if ended:
            if fields != [_END]:
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
                raise line_too_long(path, line, max_line) from error
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
        return DataError(f"{where} never closed", CLOSE)
    return DataError(f"{where} not closed within {size_text(within)}", CLOSE, *longer_lines(within))


def misplaced(path: File, line: int, end: int) -> DataError:
    """Return the error for a quote of one line that is closed in the middle of a field of another
    one.
    """
    return DataError(
        f"{path} line {line} opens a quote that line {end} closes in the middle of a field", CLOSE
    )
