"""Following the quotes of CSV text, within which delimiters and line ends belong to a field."""

import re
from collections.abc import Callable, Generator, Iterator
from typing import NamedTuple

import numpy as np

from linsep.sources.remote.file import File
from linsep.sources.tables.csv_records import misplaced, unclosed

LINE_END = re.compile(rb"\r\n|\r|\n")
QUOTE, NEWLINE, RETURN = b'"\n\r'


class Followed(NamedTuple):
    """What the quotes of some lines tell.

    Attributes
    ----------
    ended, inside : whether a record ends in the text, and whether the text ends within quotes
    opened : the position of the last quote that opened a field, -1 if none did
    bad : the position of a quote that closes in the middle of a field, with more than blanks behind
        it, and on another line than it was opened on, -1 if none does; what follows was not looked
        at
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
    """Follow quotes that open and close in turn; None if one stands where it does neither.

    One that is written twice closes and opens again.
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
