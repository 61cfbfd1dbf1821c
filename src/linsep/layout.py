"""Tables and sentences as lines of text that fit a width."""

import os
import re
import shutil
import sys
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
    """Pad text with spaces to ``width`` columns, on its left if it goes to the right."""
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

    It is divided at spaces only; a very long word is elided, unless it is a path or a hash. Lines
    after the first begin with ``indent``.
    """
    width = room() if width is None else width
    if width_of(text) <= width:
        return [text]
    lines, line = [], text[: len(text) - len(text.lstrip())]
    for word in text.split():
        short = word if WHOLE.search(word) else elided(word, min(LONGEST, width - len(indent)))
        longer = f"{line} {short}" if line.strip() else line + short
        if line.strip() and width_of(longer) > width:
            lines.append(line)
            longer = indent + short
        line = longer
    return [*lines, line]


def folded(text: str) -> list[str]:
    """Return a sentence in lines that fit the terminal; in a file it is one line."""
    columns = screen()
    return [text] if columns is None else wrapped(text, columns, "  ")


def pair_lines(pairs: Sequence[tuple[str, str]], columns: int | None = None) -> list[str]:
    """Return lines of a heading and a text, aligned; long texts are wrapped, unless they are
    commands, to ``columns`` or the terminal's width. In a file each is one line.
    """
    columns = columns or screen()
    names = [escaped(name) for name, _ in pairs]
    if columns is not None:
        most = columns // 2 if max(map(len, names)) < LONGEST else columns // 3
        names = [elided(name, most) for name in names]
    indent = max(map(width_of, names)) + GAP
    lines = []
    for name, (_, text) in zip(names, pairs, strict=True):
        lines_of_text = [escaped(text)]
        if columns is not None and not text.startswith("linsep "):
            lines_of_text = wrapped(escaped(text), columns - indent)
        first, *others = lines_of_text
        lines.append((padded(name, indent) + first).rstrip())
        lines += [" " * indent + other for other in others]
    return lines


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
    widths = _narrowed([natural[k] for k in shown], [floors[k] for k in shown], width)
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
    """Return how wide a table is if nothing is elided."""
    return _total([max(map(width_of, column)) for column in _columns(lines)])


def _columns(lines: Iterable[Sequence[str]]) -> list[tuple[str, ...]]:
    return list(zip(*([escaped(cell) for cell in line] for line in lines), strict=True))


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * (len(widths) - 1)


def _floor(column: Sequence[str]) -> int:
    """Return the least width of a column, the heading first: the width of its numbers, less for
    texts."""
    heading, *others = column
    numbers = [width_of(cell) for cell in others if NUMBERS.fullmatch(cell)]
    texts = [width_of(cell) for cell in others if not NUMBERS.fullmatch(cell)]
    least = width_of(heading)
    least = HEADING if least > HEADING + 1 else least
    return max(least, *numbers, min(TEXT, max(texts, default=0)), 0)


def _narrowed(natural: Sequence[int], floors: Sequence[int], width: int) -> list[int]:
    """Return widths of columns, the widest narrowed as far as needed."""
    widths = list(natural)
    most = max(widths, default=0)
    while _total(widths) > width and most > 1:
        most -= 1
        widths = [min(size, max(floor, most)) for size, floor in zip(natural, floors, strict=True)]
    return widths
