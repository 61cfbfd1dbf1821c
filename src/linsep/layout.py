"""Tables and sentences as lines of text that fit a width."""

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from itertools import zip_longest

from linsep.words import escaped

#: columns of text that goes to a file or a pipe, and the fewest for which text is laid out
USUAL, FEWEST = 80, 40
#: spaces between the columns of a table, and what stands for what is left out
GAP, DOTS = 2, "…"
#: the least widths of a narrowed heading of numbers, a narrowed text and a sentence in a table
HEADING, TEXT, SENTENCE = 7, 12, 16
#: text that holds numbers only; no digit of it may be cut off
NUMBERS = re.compile(r"(?:[-+<≈±.,/%() \d]|e[-+]?\d|to |inf|nan){0,40}")
#: the letters of a long word in a sentence, and words that are never elided: paths and hashes
LONGEST, WHOLE = 32, re.compile(r"/|\\|^[0-9a-f]{40,}$")
#: stands for the second column of a wide character where characters are counted
SECOND = "\ue000"


def width_of(text: str) -> int:
    """Return the columns that text takes on a terminal: two for a wide character, none for one that
    combines with the character before it.
    """
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # which the plain twins need not

    return cell_len(text)


def screen() -> int | None:
    """Return the columns of the terminal that is printed on, or those that the environment variable
    COLUMNS sets; None for a file or a pipe.
    """
    given = os.environ.get("COLUMNS", "")
    if not (given.isdigit() and int(given)) and not (sys.stdout and sys.stdout.isatty()):
        return None
    return max(FEWEST, shutil.get_terminal_size((USUAL, 24)).columns)


def room() -> int:
    """Return the columns of the terminal, or 80 for a file or a pipe."""
    return screen() or USUAL


def padded(text: str, width: int, right: bool = False) -> str:
    space = " " * (width - width_of(text))
    return space + text if right else text + space


def elided(text: str, width: int) -> str:
    """Return text of at most ``width`` columns: its start and its end, with dots for the rest.

    Of a list with commas, whole items are left out as far as that suffices.
    """
    if width_of(text) <= width:
        return text
    items = text.split(", ")
    for kept in range(len(items) - 1, 1, -1):
        shown = ", ".join([*items[: (kept + 1) // 2], DOTS, *items[len(items) - kept // 2 :]])
        if width_of(shown) <= width:
            return shown
    head = tail = text
    while width_of(head) > width // 2:
        head = head[:-1]
    while width_of(tail) > (width - 1) // 2 or width_of(tail[:1]) < len(tail[:1]):
        tail = tail[1:]
    return head + DOTS + tail


def wrapped(text: str, width: int | None = None, indent: str = "") -> list[str]:
    """Return text in lines of at most ``width`` columns, by default the columns of :func:`room`.

    It is divided at spaces only; a very long word is elided, unless it is a path or a hash, and a
    command stays whole. Lines after the first begin with ``indent``.
    """
    width = room() if width is None else width
    if width_of(text) <= width or text.startswith("linsep "):
        return [text]
    most = min(LONGEST, width - len(indent))
    words = [word if WHOLE.search(word) else elided(word, most) for word in text.split(" ")]
    counted = "".join(c + SECOND * (width_of(c) - 1) for c in " ".join(words))
    lines = textwrap.wrap(
        counted, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return [line.replace(SECOND, "") for line in lines]


def folded(text: str) -> list[str]:
    """Return a sentence in lines that fit the terminal; in a file it is one line."""
    return wrapped(text, screen() or sys.maxsize, "  ")


def pair_lines(pairs: Iterable[tuple[str, str]], columns: int | None = None) -> list[str]:
    """Return lines of a heading and a text, aligned; long texts are wrapped, to ``columns`` or the
    terminal's width. In a file each is one line.
    """
    width = columns or screen() or sys.maxsize
    return table_lines(pairs, [False, False], width=width, sentences=True)


def table_lines(
    lines: Iterable[Sequence[str]],
    right: Sequence[bool] | None = None,
    *,
    width: int | None = None,
    first: int = 1,
    least: Sequence[int] = (),
    sentences: bool = False,
) -> list[str]:
    """Return a table as lines of at most ``width`` columns of text.

    If it is wider, first texts and headings are elided, the widest to begin with; then columns are
    hidden, and the last line says how many. Numbers are never cut.

    Parameters
    ----------
    lines : lines of cells, the headings first
    right : which columns are aligned to the right; default: all but the first
    width : int, default: the columns of :func:`room`
    first : number of columns at the start that are hidden after all others but the last
    least : columns that are hidden before others, in this order
    sentences : whether the last column has sentences, which are wrapped, never elided
    """
    columns = _columns(lines)
    width, n = room() if width is None else width, len(columns)
    natural = [max(map(width_of, column)) for column in columns]
    floors = [_floor(column) for column in columns]
    if sentences:
        floors[-1] = min(natural[-1], SENTENCE)
    middle = (first + n - 1) / 2
    order = [*least, *sorted(range(first, n - 1), key=lambda k: abs(k - middle))]
    order += [*range(first - 1, 0, -1), *[n - 1] * (n > 1)]
    shown = list(range(n))
    for k in dict.fromkeys(order):
        if _total([floors[k] for k in shown]) > width:
            shown.remove(k)
    widths, most = [natural[k] for k in shown], max(natural)
    while _total(widths) > width and most > 1:
        most -= 1
        widths = [min(natural[k], max(floors[k], most)) for k in shown]
    aligned = [k > 0 if right is None else right[k] for k in shown]
    cells = [
        [wrapped(text, size) if sentences and k == n - 1 else [elided(text, size)]
         for text in columns[k]]
        for k, size in zip(shown, widths, strict=True)
    ]  # fmt: skip
    hidden = f"... {n - len(shown)} of {n} columns are hidden; COLUMNS={_total(natural)} shows all"
    rows = (row for line in zip(*cells, strict=True) for row in zip_longest(*line, fillvalue=""))
    told = [(" " * GAP).join(map(padded, row, widths, aligned)).rstrip() for row in rows]
    return [*told, *[hidden] * (len(shown) < n)]


def table_width(lines: Iterable[Sequence[str]]) -> int:
    return _total([max(map(width_of, column)) for column in _columns(lines)])


def _columns(lines: Iterable[Sequence[str]]) -> list[tuple[str, ...]]:
    return list(zip(*([escaped(cell) for cell in line] for line in lines), strict=True))


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * (len(widths) - 1)


def _floor(column: Sequence[str]) -> int:
    """Return the least width of a column, the heading first: the width of its numbers, less for
    texts.
    """
    heading, *cells = column
    head = width_of(heading)
    least = [width_of(text) if NUMBERS.fullmatch(text) else min(TEXT, width_of(text))
             for text in cells]  # fmt: skip
    return max(HEADING if head > HEADING + 1 else head, *least, 0)
