"""The colors of pictures: a color-blind-safe palette by default, or a palette of your choice."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np
from matplotlib import colormaps, rcParams
from matplotlib.colors import LinearSegmentedColormap, ListedColormap, is_color_like, to_rgb

from linsep.errors import ParameterError

#: ten color-blind-safe colors: seven of Okabe and Ito (2008) and three darker ones, chosen so that
#: no pair is nearer than 15 in CIELAB to anyone
DISTINCT = (
    "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#8B5A2B",
    "#7000D0", "#555555",
)  # fmt: skip
#: a color map of more colors is not a list of them
MOST_LISTED = 20


class Palette(NamedTuple):
    """Colors, their map, and whether they are listed: of a fixed number."""

    name: str
    colors: tuple[Any, ...]
    map: Any
    listed: bool


_chosen: ContextVar[Palette | None] = ContextVar("palette", default=None)


@contextmanager
def palette(colors: str | Sequence[Any]) -> Iterator[None]:
    """Draw pictures with other colors in a ``with`` block.

    Parameters
    ----------
    colors : str or list of colors
        A matplotlib color map, such as "tab10", "Set2" or "viridis" (classes get evenly spaced
        colors of a continuous map), or colors such as ["black", "#E69F00"], also as a string
        separated by commas. Pictures of numbers, such as weights of pixels, use its color map.

    Raises
    ------
    ParameterError
        If a name is neither a color nor a color map; when a picture is drawn, if there are fewer
        colors than classes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linsep import Perceptron, plot
    >>> X, y = load_iris(return_X_y=True)
    >>> with plot.palette("Set2"):
    ...     display = Perceptron().fit(X[:, :2], y).plot(X[:, :2], y)
    """
    token = _chosen.set(read_palette(colors))
    try:
        yield
    finally:
        _chosen.reset(token)


def read_palette(colors: str | Sequence[Any]) -> Palette:
    """Return a palette given by name or as colors; ParameterError if it is neither."""
    if isinstance(colors, str) and colors in colormaps:
        found = colormaps[colors]
        listed = isinstance(found, ListedColormap) and found.N <= MOST_LISTED
        places = range(found.N) if listed else np.linspace(0.0, 1.0, len(DISTINCT))
        return Palette(colors, tuple(map(found, places)), found, listed)
    given = [word.strip() for word in colors.split(",")] if isinstance(colors, str) else [*colors]
    wrong = [one for one in given if not is_color_like(one)] if given else [""]
    if wrong:
        near = get_close_matches(str(wrong[0]), list(colormaps), 1)
        advice = near or ["tab10", "Set2", "viridis"]
        raise ParameterError(
            f"{wrong[0]!r} is neither a color nor a color map of matplotlib: name one such as "
            f"{' or '.join(advice)}, or colors such as #0072B2.",
            option="colors",
            value=wrong[0],
        )
    return Palette(
        ",".join(map(str, given)), tuple(given),
        LinearSegmentedColormap.from_list("palette", given if given[1:] else given * 2), True,
    )  # fmt: skip


def hue(k: int) -> Any:
    """Return color ``k`` of the palette in use, whose colors are repeated."""
    chosen = _chosen.get()
    own = DISTINCT if chosen is None else chosen.colors
    return own[k % len(own)]


def colors(n: int) -> list[Any]:
    """Return ``n`` colors of the palette, or of the visible part of viridis if it has too few."""
    chosen = _chosen.get()
    if n <= len(DISTINCT if chosen is None else chosen.colors * chosen.listed):
        return list(map(hue, range(n)))
    if chosen is None:
        dark = sum(to_rgb(rcParams["text.color"])) > 1.5
        ends = (0.3, 1.0) if dark else (0.0, 0.9)
        return list(map(colormaps["viridis"], np.linspace(*ends, n)))
    if not chosen.listed:
        return list(map(chosen.map, np.linspace(0.0, 1.0, n)))
    raise ParameterError(
        f"The palette {chosen.name} has too few colors ({n} are needed): choose a color map such "
        "as viridis."
    )


def color_map(usual: str) -> Any:
    """Return the color map of the palette in use, or the named default."""
    chosen = _chosen.get()
    return usual if chosen is None else chosen.map
