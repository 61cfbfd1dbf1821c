"""Pictures of a page: drawn by its own code, and identified by what they show."""

import doctest
import hashlib
import re
from itertools import combinations
from unittest import mock

import numpy as np

LINK = re.compile(r"!\[[^]]*\]\(((?:\.\./)?pictures/[\w-]+\.(?:svg|gif))\)")
MANY = 1000
#: smaller beside the largest number of a line, a number is a rounding error of 0
ROUNDING = 1e-12
#: a hyphen for a minus, before a number or in its exponent
HYPHEN = re.compile(r"(^|[\s(,:=])-[\d.]|\de-\d")
DIGEST = re.compile(r"data ([0-9a-f]{16})")


def displays(page):
    """Run all Python of a page; yields the path of each picture and the display before its link."""
    text, known = page.read_text("utf-8"), {}
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(verbose=False)
    start = 0
    for link in [*LINK.finditer(text), None]:
        end = len(text) if link is None else link.start()
        code = parser.get_doctest(text[start:end], known, page.name, str(page), 0)
        assert runner.run(code, clear_globs=False).failed == 0
        known = code.globs
        if link is not None:
            start = link.end()
            yield page.parent / link[1], known["display"]


def digest(display):
    """A hash of the numbers and words that a picture shows, to three digits."""
    from matplotlib.legend import Legend

    found, figure = hashlib.sha256(), display.figure_
    texts = [text for legend in figure.findobj(Legend) for text in legend.get_texts()]
    found.update("|".join(text.get_text() for text in [*texts, *figure.texts]).encode())
    for ax in figure.axes:
        words = [ax.get_title(), ax.get_xlabel(), ax.get_ylabel()]
        words += [text.get_text() for text in ax.texts]
        found.update("|".join(words).encode())
        for artist in [*ax.lines, *ax.collections, *ax.patches, *ax.images]:
            for numbers in _numbers(artist):
                flat = np.ravel(np.ma.filled(numbers, 0.0)) + 0.0
                if flat.size > MANY:  # of a boundary one place may fall to either side
                    flat = np.array([flat.size, round(float(flat.mean()), 1)])
                flat[np.abs(flat) < ROUNDING * np.abs(flat).max(initial=0.0)] = 0.0
                shown = [f"{x:.3g}" for x in flat]
                found.update(f"{type(artist).__name__} {shown}".encode())
    return found.hexdigest()[:16]


def _numbers(artist):
    if hasattr(artist, "get_xydata"):
        yield artist.get_xydata()
    if hasattr(artist, "get_offsets"):
        yield artist.get_offsets()
    if hasattr(artist, "get_array") and artist.get_array() is not None:
        yield artist.get_array()


def faults(display, room=1.0):
    """What cannot be read in a picture: texts that overlap or are cut, legends over texts, hyphens
    as minus signs. Texts are those that are drawn, as their bounding boxes, which say nothing of
    texts that stand aslant.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.legend import Legend
    from matplotlib.text import Text

    figure, drawn, write = display.figure_, [], Text.draw
    canvas = FigureCanvasAgg(figure)
    canvas.draw()  # lays it out
    with mock.patch.object(Text, "draw", lambda text, to: (drawn.append(text), write(text, to))):
        canvas.draw()
    shown = [text for text in drawn if text.get_visible() and text.get_text().strip()]
    found = [f"{_said(text)} has a hyphen" for text in shown if HYPHEN.search(text.get_text())]
    names = {text: one for one in figure.findobj(Legend) for text in one.get_texts()}
    boxes = {
        artist: artist.get_window_extent(canvas.get_renderer())
        for artist in [*shown, *set(names.values())]
        if isinstance(artist, Legend) or artist.get_rotation() % 90 == 0
    }
    whole = figure.bbox.padded(room)
    corners = {artist: box.corners() for artist, box in boxes.items()}
    found += [
        f"{_said(artist)} is cut"
        for artist, four in corners.items()
        if not isinstance(artist, Legend)  # without a frame: its texts are what can be cut
        and not all(whole.contains(*corner) for corner in four)
    ]
    for (one, a), (other, b) in combinations(boxes.items(), 2):
        apart = one is names.get(other) or other is names.get(one)
        if not apart and a.padded(-room).overlaps(b.padded(-room)):
            found.append(f"{_said(one)} overlaps {_said(other)}")
    return found


def _said(artist):
    return repr(artist.get_text()) if hasattr(artist, "get_text") else "the legend"


def draw(path, display, shown):
    """Write the picture of a page, with its digest."""
    from matplotlib import rc_context

    path.parent.mkdir(exist_ok=True)
    if path.suffix == ".gif":
        display.save(path)
        return
    with rc_context({"svg.hashsalt": "linsep", "svg.fonttype": "none"}):
        display.save(path, metadata={"Date": None, "Description": f"data {shown}"})
