"""CSV as text: its records, which may span lines in quotes, and the state of quotes."""

import csv
import io
import re
from collections.abc import Callable, Generator, Iterable, Iterator
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from linsep.errors import DataError, Hint, hint
from linsep.sources.limits import line_too_long, longer_lines
from linsep.sources.remote.file import File
from linsep.sources.tables.reading_options import ReadingOptions
from linsep.words import size_text

#: characters of a name that a message shows
SHOWN = 40
#: the fields of a line behind the last one, a record of its own unless a quote is still open
_END = ["end", "end"]
_FIELDS = Lock()


class CsvRecord(NamedTuple):
    """The line that a record starts on, its fields (none of an empty line), and its text."""

    line: int
    fields: list[str]
    text: str


def csv_records(
    blocks: Iterable[bytes], options: ReadingOptions, path: File
) -> Iterator[CsvRecord]:
    """Yield the records of blocks of whole lines; bytes that are not UTF-8 are half surrogates.

    Raises DataError for a field of more characters than a line may have, and for a quote that is
    never closed.
    """
    ended, taken = False, list[str]()

    def lines_and_end() -> Iterator[str]:
        nonlocal ended
        for block in blocks:
            lines, squeezed = _lines_of(block), options.squeezed(block)
            parsed = lines if squeezed is block else _lines_of(squeezed)
            for line, seen in zip(lines, parsed, strict=True):
                taken.append(line)
                yield seen
        ended = True
        yield options.separator.join(_END)

    quoting: Any = csv.QUOTE_MINIMAL if options.quotes else csv.QUOTE_NONE
    reader, line = csv.reader(lines_and_end(), delimiter=options.separator, quoting=quoting), 1
    while True:
        fields = _next_record(reader, path, line, options.max_line)
        if ended:
            if fields != _END:
                raise unclosed(path, line)
            return
        yield CsvRecord(line, fields, "".join(taken))
        taken.clear()
        line = reader.line_num + 1


def _lines_of(block: bytes) -> list[str]:
    return io.StringIO(block.decode(errors="surrogateescape"), newline="").readlines()


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
                f"{path} line {line} cannot be read ({error}): correct the line.",
                code="bad-line", path=path, row=line,
            ) from error  # fmt: skip
        finally:
            csv.field_size_limit(before)
    return fields


def unclosed(path: File, line: int, within: int | None = None) -> DataError:
    """Return the error for a quote on a line, or in the record that starts there, that is never
    closed, or not within so many bytes.
    """
    where = f"{path} line {line} opens a quote that is"
    if within is None:
        return DataError(f"{where} never closed", *_advice(), code="bad-line", path=path, row=line)
    longer = longer_lines(within)
    return DataError(
        f"{where} not closed within {size_text(within)}",
        *_advice(), *longer,
        code="bad-line", path=path, row=line,
    )  # fmt: skip


def misplaced(path: File, line: int, end: int) -> DataError:
    """Return the error for a quote of one line that is closed in the middle of a field on another
    line.
    """
    where = f"{path} line {line} opens a quote that line {end} closes in the middle of a field"
    return DataError(where, *_advice(), code="bad-line", path=path, row=line)


def _advice() -> list[str | Hint]:
    return [
        "close it where its field ends",
        hint("read quotes as ordinary characters with {}", quotes=False),
    ]


def names_of(width: int) -> list[str]:
    """Return the names of the columns of a file without a header."""
    return [f"column_{number}" for number in range(1, width + 1)]


def no_header(place: str, said: str, *advice: str | Hint, **fields: Any) -> DataError:
    """Return the error for a first row that does not seem to hold names of columns."""
    return DataError(
        f"{place} {said}",
        *advice, hint("read it as data with {}", header=False),
        hint("as column names with {}", header=True),
        code="bad-line", **fields,
    )  # fmt: skip


def no_names(place: str, name: str, **fields: Any) -> DataError:
    """Return the error for a first row with a name that is also a value of its column."""
    shown = name if len(name) <= SHOWN else name[:SHOWN] + "..."
    said = f"does not seem to be a header row: '{shown}' is also a value of its column"
    return no_header(place, said, column=name, **fields)


LINE_END = re.compile(rb"\r\n|\r|\n")
QUOTE, NEWLINE, RETURN = b'"\n\r'


class Followed(NamedTuple):
    """The state of quotes after some lines.

    Attributes
    ----------
    ended, inside : whether a record ends in the text, and whether the text ends within quotes
    opened : the position of the last quote that opened a field, -1 if none did
    bad : the position of a quote that closes in the middle of a field, with more than blanks behind
        it, and on another line than it was opened on, or -1; text after it was not inspected
    """

    ended: bool
    inside: bool
    opened: int = -1
    bad: int = -1


def whole_records(
    blocks: Generator[bytes, None, None], delimiter: str, path: File, max_line: int,
    again: Callable[[], Iterator[bytes]],
) -> Generator[bytes, None, None]:  # fmt: skip
    """Yield blocks of whole lines, joined so that a record ends in each.

    Raises DataError for a quote that is never closed, or closed in the middle of a field some lines
    later; ``again`` reads the blocks again, to find its line.
    """
    held: list[bytes] = []
    read = opened = 0
    inside = False
    for block in blocks:
        found = follow_quotes(block, delimiter, inside)
        inside = found.inside
        opened = read + found.opened if found.opened >= 0 else opened
        if found.bad >= 0:
            raise misplaced(path, _line_of(again(), opened), _line_of(again(), read + found.bad))
        read += len(block)
        held.append(block)
        if found.ended:
            yield block if len(held) == 1 else b"".join(held)
            held = []
        elif sum(map(len, held)) > max_line:
            raise unclosed(path, _line_of(again(), opened), max_line)
    if inside:
        raise unclosed(path, _line_of(again(), opened))


def _line_of(blocks: Iterator[bytes], byte: int) -> int:
    line = 1
    for block in blocks:
        line += len(LINE_END.findall(block[:byte]))
        byte -= len(block)
        if byte <= 0:
            break
    return line


def follow_quotes(text: bytes, delimiter: str, inside: bool) -> Followed:
    """Follow the quotes of whole lines, which begin with a record or ``inside`` quotes."""
    if not inside and b'"' not in text:
        return Followed(ended=True, inside=False)
    codes = np.frombuffer(text, np.uint8)
    quotes = np.flatnonzero(codes == QUOTE)
    return _by_turns(text, codes, quotes, delimiter, inside) or _one_by_one(
        text, quotes.tolist(), delimiter, inside
    )


def _by_turns(
    text: bytes, codes: np.ndarray, quotes: np.ndarray, delimiter: str, inside: bool
) -> Followed | None:
    """Follow quotes that open and close in turn; None if a quote does neither. A doubled quote
    closes and opens again.
    """
    opening, closing = quotes[int(inside) :: 2], quotes[1 - int(inside) :: 2]
    before = codes[opening - 1]
    if opening.size and opening[0] == 0:
        before[0] = NEWLINE
    after = codes[np.minimum(closing + 1, codes.size - 1)]
    if closing.size and closing[-1] == codes.size - 1:
        after[-1] = NEWLINE
    fine = np.zeros(256, np.bool_)
    fine[[QUOTE, NEWLINE, RETURN, ord(delimiter)]] = True
    if not (fine[before].all() and fine[after].all()):
        return None
    fields = np.flatnonzero(before != QUOTE)
    opened = int(opening[fields[-1]]) if fields.size else -1
    if not inside ^ (quotes.size & 1):
        return Followed(ended=True, inside=False, opened=opened)
    ends = np.concatenate([[-1], closing]) if not inside else closing
    gaps = zip(ends[fields[::-1]].tolist(), opening[fields[::-1]].tolist(), strict=True)
    ended = any(_has_line_end(text, end + 1, begin) for end, begin in gaps)
    return Followed(ended, inside=True, opened=opened)


def _one_by_one(text: bytes, quotes: list[int], delimiter: str, inside: bool) -> Followed:
    separators = b"\n\r" + delimiter.encode()
    ended, opened, outside, k = False, -1, 0, 0
    while k < len(quotes):
        at = quotes[k]
        if not inside:
            if at == 0 or text[at - 1] in separators:
                ended = ended or _has_line_end(text, outside, at)
                inside, opened = True, at
        elif k + 1 < len(quotes) and quotes[k + 1] == at + 1:
            k += 1
        else:
            inside, outside = False, at + 1
            after = outside
            while text[after : after + 1] in (b" ", b"\t"):
                after += 1
            goes_on = after < len(text) and text[after] not in separators
            if goes_on and (opened < 0 or _has_line_end(text, opened, at)):
                return Followed(ended, inside, opened, bad=at)
        k += 1
    return Followed(ended or not inside, inside, opened)


def _has_line_end(text: bytes, begin: int, end: int) -> bool:
    return text.find(b"\n", begin, end) >= 0 or text.find(b"\r", begin, end) >= 0
