"""Shared parts of all pictures: axes without pyplot, colors and markers of classes, rows as points
or, if there are too many, as a density, saving.
"""

import re
import warnings
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import wraps
from io import BytesIO
from math import ceil
from textwrap import wrap
from typing import Any, dataclass_transform

import numpy as np
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from linsep.errors import DataError, LinsepError, ParameterError
from linsep.estimators._common.labels import label_text, listed
from linsep.plot.palettes import class_colors
from linsep.validation import values
from linsep.validation.labels import labels_of
from linsep.words import escaped, row_text

#: of what has no name
GRAY = "#999999"
MARKERS = "os^DvP*X<>hpd8H"
#: characters in a line of a name
LONGEST_LINE = 34
#: lines of a legend beyond which its entries are small and of so many characters
MANY, SHORT_LINE = 16, 20
#: inches of a square picture without its legend
SQUARE = (5.8, 4.6)
#: a hyphen before a number, as in -1 and 1e-05
HYPHEN = re.compile(r"(?<![\w.)-])-(?=\.?\d|inf)|(?<=\de)-(?=\d)")
#: more points than these are drawn as a density
MOST_POINTS = 20_000
#: points that are drawn over a density; more would hide it
MOST_DOTS = 1_000
#: beyond, a legend would be longer than the picture
MOST_IN_LEGEND = 20
#: more pixels do not fit in memory
MOST_PIXELS = 250_000_000


class NoMatplotlib(LinsepError, ImportError):
    """matplotlib is not installed."""

    code = "missing-package"


def of_features(draw: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator of ``from_estimator``: draws a data frame as the features a model makes of it."""

    @wraps(draw)
    def from_estimator(cls: type, estimator: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        features = estimator.features_of(X) if hasattr(estimator, "features_of") else X
        with nullcontext() if features is X else values.of_features():
            return draw(cls, estimator, features, *args, **kwargs)

    return from_estimator


def new_axes(ax: Any, projection: str | None = None) -> tuple[Any, Any]:
    """Return the figure and axes to draw on: ``ax``, or new ones that are not registered with
    pyplot.
    """
    if ax is not None:
        return ax.figure, ax
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise NoMatplotlib(
            "linsep.plot draws with matplotlib, which is not installed: pip install matplotlib."
        ) from None
    figure = Figure(layout="constrained")
    return figure, figure.add_subplot(projection=projection)


def new_grid(n: int, columns: int, width: float, height: float) -> tuple[Any, list[Any]]:
    """Return a new figure with ``n`` axes of the given size in inches."""
    figure, first = new_axes(None)
    first.remove()
    columns = min(columns, n)
    rows = ceil(n / columns)
    figure.set_size_inches(width * columns + 1.0, height * rows)
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    for ax in grid[n:]:
        ax.set_axis_off()
    return figure, list(grid[:n])


def colors(n: int) -> list[Any]:
    """Return ``n`` colors: up to ten that are safe for color-blind readers, else from the part of
    viridis that is visible on the background of the current style.
    """
    if (found := class_colors(n)) is not None:
        return found
    from matplotlib import colormaps
    from matplotlib.colors import to_rgb

    first, last = (0.3, 1.0) if sum(to_rgb(ink())) > 1.5 else (0.0, 0.9)
    return [colormaps["viridis"](place) for place in np.linspace(first, last, n)]


def ink() -> Any:
    """Return the text color of the current style."""
    from matplotlib import rcParams

    return rcParams["text.color"]


def draw_arrow(ax: Any, tail: Any, tip: Any, *, color: Any, **look: Any) -> Any:
    """Draw an arrow; return the Line2D of its shaft, which a legend can name."""
    look = {"linewidth": 1.5, "zorder": 4} | look
    (shaft,) = ax.plot(*np.column_stack([tail, tip]), color=color, **look)
    head = {
        "arrowstyle": "-|>", "color": color, "linewidth": 0, "shrinkA": 0, "shrinkB": 0,
        "mutation_scale": 14.0,
    }  # fmt: skip
    ax.annotate("", xy=tuple(tip), xytext=tuple(tail), arrowprops=head, zorder=4)
    return shaft


def legend(ax: Any, drawn: Iterable[Any]) -> Any:
    """Draw a legend beside the axes, where it covers no data; use small text for many entries.

    Handles that are None were not drawn and are left out.
    """
    handles = [artist for artist in drawn if artist is not None]
    look: dict[str, Any] = {}
    names = [handle.get_label().replace(r"\$", "$") for handle in handles]
    if sum(1 + name.count("\n") for name in names) > MANY:
        labels = [shortened(name, SHORT_LINE).replace("$", r"\$") for name in names]
        look = {"labels": labels, "fontsize": "x-small", "labelspacing": 0.3}
    return ax.legend(
        handles=handles, loc="upper left", bbox_to_anchor=(1.01, 1.0),
        borderaxespad=0.0, frameon=False, **look,
    )  # fmt: skip


def make_room(figure: Any, beside: Any) -> None:
    """Widen a new figure of one square picture to make room for the legend beside it."""
    figure.set_size_inches(SQUARE[0] + beside.get_window_extent().width / figure.dpi, SQUARE[1])


def show_title(ax: Any, *lines: str) -> None:
    """Set the title to the lines that are not empty."""
    ax.set_title("\n".join(filter(None, lines)), fontsize="medium")


def literal(name: str) -> str:
    """Return a name from the data, escaped so that it is drawn literally."""
    return with_minus(escaped(name, lines=True)).replace("$", r"\$")


def with_minus(text: str) -> str:
    """Return a text in which negative numbers have the minus sign of the axes, not a hyphen."""
    from matplotlib import rcParams

    return HYPHEN.sub("\N{MINUS SIGN}", text) if rcParams["axes.unicode_minus"] else text


def shortened(name: str, most: int) -> str:
    """Return a name in one line of at most ``width`` characters, with the middle of a longer one
    removed.
    """
    line, half = " ".join(name.split()), (most - 3) // 2
    return line if len(line) <= most else f"{line[:half]}...{line[-half:]}"


def wrapped(name: str) -> str:
    """Return a name in lines that fit beside the axes; a very long name is truncated."""
    lines = wrap(escaped(name), LONGEST_LINE, max_lines=3, placeholder=" ...")
    return literal("\n".join(lines) or name)


def limits(values: np.ndarray, share: float = 0.08) -> tuple[float, float]:
    """Return the smallest and the largest value, with some room on both sides."""
    low, high = float(values.min()), float(values.max())
    room = share * (high - low) or share * max(1.0, abs(low))
    return low - room, high + room


@dataclass_transform(kw_only_default=True, eq_default=False)
class Display:
    """Base class of all displays; annotated attributes are the keyword arguments of ``__init__``.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    ax_: Any
    figure_: Any

    def __init_subclass__(cls) -> None:
        """Generate ``__init__`` and wrap ``plot`` so that all texts use the same minus sign."""
        super().__init_subclass__()
        dataclass(kw_only=True, eq=False, repr=False)(cls)
        if "plot" in cls.__dict__:
            cls.plot = _with_one_minus(cls.plot)  # type: ignore[attr-defined]

    def save(
        self, path: Any, *, size: tuple[float, float] | None = None, title: str = "", **kwargs: Any
    ) -> None:
        """Write the picture to a file; the file extension (.png, .svg, .pdf) determines the format.

        Parameters
        ----------
        path : str, Path or binary file
        size : (width, height), default None
            Size of the whole picture in inches. None: the original size, cropped to the content.
        title : str, default ""
            Shown above the picture; text between dollar signs is a matplotlib formula.
        **kwargs : passed to :meth:`matplotlib.figure.Figure.savefig`, such as ``dpi=200``

        Raises
        ------
        ParameterError
            If the picture does not fit the size, its pixels do not fit in memory, or the title is
            not a valid formula.
        """
        how = {"bbox_inches": "tight"} | kwargs
        if size is not None:
            self.figure_.set_size_inches(*size)
            how = {"bbox_inches": None} | kwargs
        if title:
            _entitle(self.figure_, title)
        inches = self.figure_.get_size_inches() * kwargs.get("dpi", self.figure_.dpi)
        if inches.prod() > MOST_PIXELS:
            raise ParameterError(
                f"A picture of {inches[0]:,.0f} x {inches[1]:,.0f} pixels does not fit in memory: "
                "choose a smaller size or resolution.",
                code="too-large",
            )
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message=".*collapsed to zero")
            try:
                self.figure_.savefig(path, **how)
            except UserWarning:
                width, height = self.figure_.get_size_inches()
                raise ParameterError(
                    f"A picture of {width:g} x {height:g} inches is too small for the drawing: "
                    f"choose a larger size."
                ) from None

    def _repr_png_(self) -> bytes:
        """The picture in a notebook."""
        file = BytesIO()
        self.figure_.savefig(file, format="png", dpi=100, bbox_inches="tight")
        return file.getvalue()


def _entitle(figure: Any, title: str) -> None:
    """Write a title above a figure, whose axes keep theirs."""
    from matplotlib.mathtext import MathTextParser

    width = max(20, int(11 * figure.get_size_inches()[0]))
    lines = [title] if "$" in title else wrap(title, width)
    try:
        for line in lines:
            MathTextParser("path").parse(line)
    except ValueError:
        raise ParameterError(
            f"The title {title!r} has a formula that matplotlib cannot parse: write a dollar sign "
            f"as \\$.",
            option="title",
            value=title,
        ) from None
    above = [] if figure._suptitle is None else [figure._suptitle.get_text()]
    figure.suptitle("\n".join([*lines, *above]), fontsize="large")


def _with_one_minus(plot: Any) -> Any:
    """Return a method ``plot`` after which the numbers in all texts have the minus of the axes."""

    @wraps(plot)
    def drawn(self: Any, *args: Any, **kwargs: Any) -> Any:
        from matplotlib.text import Text

        made = plot(self, *args, **kwargs)
        for text in self.figure_.findobj(Text):
            text.set_text(with_minus(text.get_text()))
        return made

    return drawn


def check_drawable(estimator: Any, attribute: str, lacks: str) -> None:
    """Raise unless an estimator is fitted and has the attribute that the picture shows.

    ``lacks`` is the message otherwise: what is missing, and what can be drawn instead.
    """
    check_is_fitted(estimator)
    if not hasattr(estimator, attribute):
        raise DataError(f"{type(estimator).__name__} {lacks}", code="unsupported")


def two_classes(labels: np.ndarray, what: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes and the index of each label among them; DataError unless there are two."""
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) != 2:
        raise DataError(
            f"{what} needs two classes, but there are {len(classes)}.", code="class-count"
        )
    return classes, codes


def codes_of(y: Any, classes: np.ndarray, n_rows: int) -> np.ndarray:
    """Return the index of each label among the sorted classes; DataError for an unknown label."""
    y = labels_of(y)
    check_consistent_length(y, np.empty(n_rows))
    codes = np.searchsorted(classes, y)
    codes[codes == len(classes)] = 0
    unknown = classes[codes] != y
    if unknown.any():
        row = int(np.argmax(unknown))
        known = listed(classes.tolist())
        raise DataError(
            f"{row_text(row).capitalize()}: {listed(y[[row]].tolist())} is not a class of the fit, "
            f"which has {known}.",
            code="unknown-label",
            row=row + 1,
        )
    return codes


def draw_rows(
    ax: Any, points: np.ndarray, codes: np.ndarray | None, classes: np.ndarray, size: float
) -> list[Any]:
    """Draw rows as points, with one collection per class, or each class as a density.

    Parameters
    ----------
    ax : matplotlib Axes
    points : array of shape (rows, 2)
    codes : int array of shape (rows,) or None
        The numbers of their classes; None draws all rows alike.
    classes : array of labels
    size : area of a point, in square points
    """
    palette = [ink()] if codes is None else colors(len(classes))
    own = np.zeros(len(points), int) if codes is None else codes
    if len(points) > MOST_POINTS:
        return _densities(ax, points, own, palette, 0.5 if codes is None else 1.0)
    edge = ax.get_facecolor()
    return [
        ax.scatter(
            *points[own == k].T, s=size, color=[color], linewidths=0.5,
            marker=MARKERS[k % len(MARKERS)], edgecolors=[edge], zorder=3,
            label=None if codes is None else wrapped(label_text(classes[k])),
        )
        for k, color in enumerate(palette)
    ]  # fmt: skip


def _densities(
    ax: Any, points: np.ndarray, own: np.ndarray, palette: list[Any], most: float
) -> list[Any]:
    """Draw the density of each class. Each cell shows the class of which it has the largest share,
    so a rare class is visible where it is concentrated.
    """
    ends = [limits(axis) for axis in points.T]
    drawn = [
        ax.hexbin(
            *points[own == k].T, gridsize=60, bins="log", mincnt=0, linewidths=0, zorder=2,
            extent=(*ends[0], *ends[1]), cmap=_shades(color, most), rasterized=True,
        )
        for k, color in enumerate(palette)
    ]  # fmt: skip
    counts = np.array([cells.get_array() for cells in drawn])
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
    for k, cells in enumerate(drawn):
        hidden = (shares.argmax(axis=0) != k) | (counts[k] == 0)
        cells.set_array(np.ma.masked_where(hidden, counts[k]))
        cells.set_clim(1.0, max(2.0, counts[k].max()))
    return drawn


def _shades(color: Any, most: float) -> Any:
    """Shades of a color, with this opacity where rows are most dense."""
    from matplotlib.colors import LinearSegmentedColormap, to_rgba

    full = to_rgba(color)
    ends = [(*full[:3], alpha) for alpha in (0.1, most)]
    return LinearSegmentedColormap.from_list("shades", ends)


def class_handles(drawn: list[Any], n_rows: int, classes: np.ndarray) -> list[Any]:
    """Return the legend handles of the classes: their points, or patches without points."""
    from matplotlib.patches import Patch

    if n_rows > MOST_POINTS:
        patches = [
            Patch(facecolor=color, alpha=0.5, label=wrapped(label_text(label)))
            for label, color in zip(classes, colors(len(classes)), strict=True)
        ]
        return _first(patches)
    return _first([points for points in drawn if len(points.get_offsets())])


def _first(handles: list[Any]) -> list[Any]:
    """Return the handles that fit in a legend, and one that counts the others."""
    from matplotlib.lines import Line2D

    more = len(handles) - MOST_IN_LEGEND
    if more <= 0:
        return handles
    return [*handles[:MOST_IN_LEGEND], Line2D([], [], ls="none", label=f"and {more:,} more")]


def draw_rings(
    ax: Any, points: np.ndarray, size: float, style: str, name: str, marker: str = "o",
    width: float = 1.0,
) -> Any:  # fmt: skip
    """Draw rings (or another marker) around points, with a legend entry."""
    return ax.scatter(
        *points.T, s=size, facecolors="none", edgecolors=[ink()], linewidths=width,
        linestyles=style, zorder=4, label=name, marker=marker,
    )  # fmt: skip


def draw_dots(ax: Any, points: np.ndarray, name: str) -> Any:
    """Draw some of many points over a density as dots, with a legend entry."""
    n = len(points)
    shown = points[np.linspace(0, n - 1, min(n, MOST_DOTS)).round().astype(int)]
    said = f"{len(shown):,} of {n:,}" if len(shown) < n else f"{n:,}"
    return ax.scatter(
        *shown.T, s=7.0, color=[ink()], linewidths=0, zorder=4, label=f"{name} ({said})"
    )


def density_title(n_rows: int) -> str:
    """Return the title line for rows drawn as a density, if they are."""
    return f"density of {n_rows:,} rows" if n_rows > MOST_POINTS else ""
