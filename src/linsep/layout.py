"""Tables, sentences and commands as lines of text that fit a width."""

import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from itertools import takewhile

from linsep.words import escaped

#: columns of text that goes to a file or a pipe, and the fewest for which text is laid out
USUAL, FEWEST = 80, 40
#: spaces between the columns of a table, and what stands for what is left out
GAP, DOTS = 2, "…"
#: the least widths of a narrowed heading of numbers, a narrowed text and a sentence in a table
HEADING, TEXT, SENTENCE = 7, 12, 22
#: the columns that names give up for sentences beside them to stay on one line
FEW = 8
#: text that holds numbers only; no digit of it may be cut off
NUMBERS = re.compile(r"(?:[-+<≈±.,/%() \d]|e[-+]?\d|to |inf|nan){0,40}")
#: the letters of a long word in a sentence, and words that are never elided: paths and hashes
LONGEST, WHOLE = 32, re.compile(r"/|\\|^[0-9a-f]{40,}$")
#: words of a command, quoted text as one
WORDS = re.compile(r"""(?:[^\s'"]|'[^']*'|"[^"]*")+""")


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


def width_of(text: str) -> int:
    """Return the columns that text takes on a terminal: two for a wide character, none for one that
    combines with the character before it.
    """
    return len(text) if text.isascii() else sum(map(_width, text))


def _width(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 1 + (unicodedata.east_asian_width(character) in "WF")


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
    head, tail = _ends(items, width - 3, 2)
    if head and tail:
        return ", ".join([*items[:head], DOTS, *items[-tail:]])
    head, tail = _ends(_characters(text), width - 1, 0)
    shown = _characters(text)
    return "".join([*shown[:head], DOTS, *shown[len(shown) - tail :]])


def told_apart(texts: Sequence[str], width: int) -> list[str]:
    """Return texts elided to ``width`` columns so that different ones still differ, if possible:
    without the start and the end that the long ones have in common.
    """
    found = [elided(text, width) for text in texts]
    if len(set(found)) == len(set(texts)):
        return found
    long = [text for text in texts if width_of(text) > width]
    start = _shared(long)
    end = _shared([text[:start:-1] for text in long])
    for k, text in enumerate(texts):
        if width_of(text) > width:
            rest = DOTS + text[start : len(text) - end] + DOTS * bool(end)
            before = _characters(text[:start])
            while before and width_of(before[-1] + rest) <= width:
                rest = DOTS + before.pop() + rest[1:]
            found[k] = elided(rest, width)
    return found


def _shared(texts: Sequence[str]) -> int:
    """Return the number of characters with which all texts begin."""
    return sum(1 for _ in takewhile(lambda some: len(set(some)) == 1, zip(*texts, strict=False)))


def _ends(parts: list[str], width: int, between: int) -> tuple[int, int]:
    """Return how many parts of the start, and of the end, fit a width, taken in turns."""
    taken = [0, 0]
    while sum(taken) < len(parts):
        end = taken[1] < taken[0]
        width -= width_of(parts[-1 - taken[1] if end else taken[0]]) + between
        if width < 0:
            break
        taken[end] += 1
    return taken[0], taken[1]


def _characters(text: str) -> list[str]:
    """Return the characters of a text, each with those that combine with it."""
    found: list[str] = []
    for character in text:
        if found and not _width(character):
            found[-1] += character
        else:
            found.append(character)
    return found


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


def command_lines(command: str, width: int) -> list[str]:
    """Return a command in lines that a shell reads as one, divided before options."""
    if width_of(command) <= width:
        return [command]
    lines, line = [], ""
    for words in re.split(r"\s(?=-)", " ".join(WORDS.findall(command))):
        longer = f"{line} {words}" if line else words
        if line and width_of(longer) > width - 2:
            lines.append(line + " \\")
            longer = "  " + words
        line = longer
    return [*lines, line]


def pair_lines(
    pairs: Sequence[tuple[str, str]],
    heading: Callable[[str], str] = str,
    columns: int | None = None,
) -> list[str]:
    """Return lines of a heading and a text, aligned; long texts are wrapped, or continued if they
    are commands, to ``columns`` or the terminal's width. In a file each is one line.

    ``heading`` changes how a heading looks, such as to bold.
    """
    columns = columns or screen()
    names = [escaped(name) for name, _ in pairs]
    if columns is not None:
        names = told_apart(names, columns // 2 if max(map(len, names)) < LONGEST else columns // 3)
    indent = max(map(width_of, names)) + GAP
    lines = []
    for name, (_, text) in zip(names, pairs, strict=True):
        texts = [escaped(text)]
        if columns is not None:
            fold = command_lines if text.startswith("linsep ") else wrapped
            texts = fold(texts[0], columns - indent)
        first, *others = texts
        lines.append((heading(padded(name, indent)) + first).rstrip())
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
    cells = [[escaped(cell) for cell in line] for line in lines]
    width = room() if width is None else width
    right = [k > 0 for k in range(len(cells[0]))] if right is None else right
    if sentences:
        return _beside_sentences(cells, right, width, first)
    natural = _natural(cells)
    total = _total(natural)
    if total <= width:
        return _rows(cells, natural, right)
    floors = [_floor([line[k] for line in cells]) for k in range(len(natural))]
    hidden: set[int] = set()
    if _total(floors) > width:
        hidden = _hidden(floors, width, first, least)
    places = [k for k in range(len(natural)) if k not in hidden]
    widths = _narrowed([natural[k] for k in places], [floors[k] for k in places],
                       width - (GAP + 1) * _runs(hidden))  # fmt: skip
    shown: list[list[str]] = [[] for _ in cells]
    aligned, sizes = [], []
    for k in range(len(natural)):
        if k in hidden and k - 1 in hidden:
            continue
        size = 1 if k in hidden else widths[places.index(k)]
        for line, found in zip(cells, shown, strict=True):
            found.append(DOTS if k in hidden else line[k])
        aligned.append(right[k])
        sizes.append(size)
    said = f"... {len(hidden)} of {len(natural)} columns are hidden; COLUMNS={total} shows all"
    return [*_rows(_elided(shown, sizes), sizes, aligned), *[said] * bool(hidden)]


def _elided(cells: Sequence[Sequence[str]], widths: Sequence[int]) -> list[Sequence[str]]:
    """Return the cells of a table, those that are too long elided."""
    columns = zip(zip(*cells, strict=True), widths, strict=True)
    shown = [[elided(head, width), *told_apart(texts, width)] for (head, *texts), width in columns]
    return list(zip(*shown, strict=True))


def table_width(lines: Iterable[Sequence[str]]) -> int:
    """Return how wide a table is if nothing is elided."""
    return _total(_natural([[escaped(cell) for cell in line] for line in lines]))


def _natural(cells: Sequence[Sequence[str]]) -> list[int]:
    """Return the width of each column."""
    return [max(map(width_of, column)) for column in zip(*cells, strict=True)]


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * (len(widths) - 1)


def _rows(
    cells: Sequence[Sequence[str]], widths: Sequence[int], right: Sequence[bool]
) -> list[str]:
    """Return lines of cells, each column as wide as it has to be."""
    space = " " * GAP
    return [space.join(map(padded, line, widths, right)).rstrip() for line in cells]


def _floor(column: Sequence[str]) -> int:
    """Return the least width of a column, the heading first: the width of its numbers, less for
    texts."""
    heading, *others = column
    numbers = [width_of(cell) for cell in others if NUMBERS.fullmatch(cell)]
    texts = [width_of(cell) for cell in others if not NUMBERS.fullmatch(cell)]
    least = width_of(heading)
    least = HEADING if least > HEADING + 1 else least
    return max(least, *numbers, min(TEXT, max(texts, default=0)), 0)


def _hidden(floors: Sequence[int], width: int, first: int, least: Sequence[int]) -> set[int]:
    """Return the columns to hide: ``least``, those in the middle, then the first ones."""
    n = len(floors)
    middle = (first + n - 1) / 2
    order = [*least, *sorted(range(first, n - 1), key=lambda k: abs(k - middle))]
    order += [*range(first - 1, 0, -1), *[n - 1] * (n > 1)]
    total, hidden = _total(floors), set[int]()
    for k in dict.fromkeys(order):
        if total + (GAP + 1) * _runs(hidden) <= width:
            break
        hidden.add(k)
        total -= floors[k] + GAP
    return hidden


def _runs(hidden: set[int]) -> int:
    """Return in how many places columns are hidden."""
    return sum(k - 1 not in hidden for k in hidden)


def _narrowed(natural: Sequence[int], floors: Sequence[int], width: int) -> list[int]:
    """Return widths of columns, the widest narrowed as far as needed."""
    widths = list(natural)
    most = max(widths, default=0)
    while _total(widths) > width and most > 1:
        most -= 1
        widths = [min(size, max(floor, most)) for size, floor in zip(natural, floors, strict=True)]
    return widths


def _beside_sentences(
    cells: Sequence[Sequence[str]], right: Sequence[bool], width: int, first: int
) -> list[str]:
    """Return a table whose last cells are sentences: beside the others, or else below them."""
    others, sentences = [line[:-1] for line in cells], [line[-1] for line in cells]
    longest = max(map(width_of, sentences))
    natural, space = _natural(others), " " * GAP
    floors = [_floor([line[k] for line in others]) for k in range(len(natural))]
    left = width - GAP - longest
    if _total(floors) > left or _total(natural) > left + FEW:
        left = width - GAP - min(longest, SENTENCE)
    if _total(floors) > left:
        beside = table_lines(others, right[:-1], width=width, first=first)
        lines = [beside[0], *wrapped(2 * space + sentences[0], width, 2 * space)]
        for start, sentence in zip(beside[1:], sentences[1:], strict=False):
            lines += [start, *wrapped(2 * space + sentence, width, 2 * space)]
        return lines + beside[len(cells) :]
    widths = _narrowed(natural, floors, left)
    lines = []
    for line, sentence in zip(_elided(others, widths), sentences, strict=True):
        start = space.join(map(padded, line, widths, right))
        parts = wrapped(sentence, width - GAP - _total(widths))
        lines.append((start + space + parts[0]).rstrip())
        lines += [" " * (_total(widths) + GAP) + part for part in parts[1:]]
    return lines
