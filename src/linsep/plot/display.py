"""Shared parts of all pictures: axes without pyplot, rows as points or a density, names, saving."""

import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from functools import cache, partial, wraps
from io import BytesIO
from math import ceil
from textwrap import wrap
from typing import Any, Self

import numpy as np
from matplotlib import rcParams
from matplotlib.colors import LinearSegmentedColormap, to_rgba
from matplotlib.figure import Figure
from matplotlib.font_manager import findfont, fontManager, get_font
from matplotlib.lines import Line2D
from matplotlib.mathtext import MathTextParser
from matplotlib.patches import Patch
from matplotlib.text import Text
from matplotlib.ticker import MaxNLocator
from sklearn.utils.validation import check_is_fitted

from linsep.errors import DataError, ParameterError, refuse
from linsep.estimators.labels import label_text
from linsep.plot.palettes import colors
from linsep.steps import of_learner
from linsep.validation import checks
from linsep.words import escaped

#: of what has no name
GRAY = "#999999"
MARKERS = "os^DvP*X<>hpd8H"
#: characters in a line of a name, and of a title
LONGEST_LINE, TITLE_LINE = 34, 78
#: lines of a legend beyond which its entries are small, of one line each
MANY = 16
#: inches of a new picture beside its legend
WIDE, HIGH = 5.8, 4.6
#: a hyphen before a number, as in -1 and 1e-05
HYPHEN = re.compile(r"(?<![\w.)-])-(?=\.?\d|inf)|(?<=\de)-(?=\d)")
#: installed fonts that may have other letters
FALLBACKS = re.compile(r"cjk|fallback|unifont|unicode|hei|gothic|mincho|song|hiragino", re.I)
#: more points than these are drawn as a density
MOST_POINTS = 20_000
#: points that are drawn over a density, and rings around points; more would hide what is below
MOST_DOTS, MOST_RINGS = 1_000, 300
#: beyond, a legend would be longer than the picture
MOST_IN_LEGEND = 20
#: lines with a color and a name, of which others are gray, and characters of such a name
MOST_NAMED, LONGEST_NAME = 7, 24
#: more pixels do not fit in memory
MOST_PIXELS = 250_000_000


def of_features(draw: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator of ``from_estimator``: draws a data frame as the features a model makes of it."""

    @wraps(draw)
    def from_estimator(cls: type, estimator: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        features = estimator.features_of(X) if hasattr(estimator, "features_of") else X
        with nullcontext() if features is X else checks.of_features():
            return draw(cls, estimator, features, *args, **kwargs)

    return from_estimator


def new_axes(ax: Any, projection: str | None = None) -> tuple[Any, Any]:
    """Return a figure and its axes: new ones are not pyplot's, and grow with their legend."""
    if ax is not None:
        return ax.figure, ax
    figure: Any = Figure(figsize=(WIDE, HIGH), layout="compressed")  # also of equal scales
    figure.grows = True
    return figure, figure.add_subplot(projection=projection)


def new_figure(width: float, height: float) -> Any:
    return Figure(figsize=(width, height), layout="constrained")


def new_grid(n: int, columns: int, width: float, height: float) -> tuple[Any, list[Any]]:
    """Return a new figure with ``n`` axes of the given size in inches."""
    columns = min(columns, n)
    rows = ceil(n / columns)
    figure = new_figure(width * columns + 1.0, height * rows)
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    for ax in grid[n:]:
        ax.set_axis_off()
    return figure, list(grid[:n])


def two_panels() -> tuple[Any, Any, Any]:
    """Return a new figure, and axes above others with the same numbers below them."""
    figure = new_figure(6.4, 5.6)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    return figure, upper, lower


def ink() -> Any:
    return rcParams["text.color"]


def draw_arrow(ax: Any, tail: Any, tip: Any, *, color: Any, **look: Any) -> Any:
    """Draw an arrow; return the Line2D of its shaft, which a legend can name."""
    look = {"linewidth": 1.5, "zorder": 4} | look
    (shaft,) = ax.plot(*np.column_stack([tail, tip]), color=color, **look)
    ax.annotate(
        "", xy=tuple(tip), xytext=tuple(tail), zorder=4,
        arrowprops={
            "arrowstyle": "-|>", "color": color, "linewidth": 0, "shrinkA": 0, "shrinkB": 0,
            "mutation_scale": 14.0,
        },
    )  # fmt: skip
    return shaft


def draw_reference(ax: Any, **look: Any) -> Any:
    """Draw the dotted diagonal of what chance, or a perfect model, would give."""
    return ax.axline((0.0, 0.0), slope=1.0, **{"color": ink(), "linewidth": 0.8, "ls": ":"} | look)


def legend(ax: Any, handles: list[Any], right: float = 1.01) -> Any:
    """Draw a legend beside the axes, where it covers no data; many entries have small text."""
    look: dict[str, Any] = {}
    names = [handle.get_label().replace(r"\$", "$") for handle in handles]
    if sum(1 + name.count("\n") for name in names) > MANY:
        labels = [name.replace("$", r"\$") for name in cut(names, LONGEST_LINE)]
        look = {"labels": labels, "fontsize": "x-small", "labelspacing": 0.3}
    made = ax.legend(
        handles=handles, loc="upper left", bbox_to_anchor=(right, 1.0),
        borderaxespad=0.0, frameon=False, **look,
    )  # fmt: skip
    for text in made.get_texts():
        make_readable(text)
    if getattr(ax.figure, "grows", False):
        width = made.get_window_extent().width / ax.figure.dpi
        ax.figure.set_size_inches(WIDE + width, ax.figure.get_size_inches()[1])
    return made


def count_axis(axis: Any) -> None:
    axis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))


def show_title(ax: Any, *lines: str) -> None:
    shown = [part for line in lines for text in line.split("\n") for part in wrap(text, TITLE_LINE)]
    ax.set_title("\n".join(shown), fontsize="medium")


def literal(name: str) -> str:
    """Return a name from the data, escaped so that it is drawn literally."""
    return with_minus(escaped(name, lines=True)).replace("$", r"\$")


def with_minus(text: str) -> str:
    """Return a text in which negative numbers have the minus sign of the axes, not a hyphen."""
    return HYPHEN.sub("\N{MINUS SIGN}", text) if rcParams["axes.unicode_minus"] else text


def cut(names: Sequence[str], most: int) -> list[str]:
    """Return the beginnings of names in one line each, or their ends if beginnings are alike."""
    broken = re.compile(rf"(?<=^.{{{LONGEST_LINE}}})\n", re.MULTILINE)  # within a word
    lines = [" ".join(broken.sub("", name).split()) for name in names]
    short = [line if len(line) <= most else line[: most - 3] + "..." for line in lines]
    if len(set(short)) < len(set(lines)):
        short = [line if len(line) <= most else "..." + line[3 - most :] for line in lines]
    return short


def wrapped(name: str) -> str:
    """Return a name in lines that fit beside the axes; a very long name is truncated."""
    lines = wrap(
        escaped(name), LONGEST_LINE, max_lines=3, placeholder=" ...", break_on_hyphens=False
    )
    return literal("\n".join(lines) or name)


def limits(values: np.ndarray, share: float = 0.08) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    room = share * (high - low) or share * max(1.0, abs(low))
    return low - room, high + room


class Display:
    """Base class of all displays: what is drawn, as attributes, and the artists that show it.

    Every ``from_...`` method computes what is drawn, and draws it with :meth:`plot` on ``ax``. Rows
    are the usual arrays, sparse matrices or data frames, and labels are arrays of shape (rows,);
    both must match the fit. What cannot be drawn is refused with a ``ValueError``, mostly a
    ``DataError``, that says why.

    Attributes
    ----------
    ax_ : matplotlib Axes, of several the first
    figure_ : matplotlib Figure
    legend_ : matplotlib Legend, or None
    points_ : list of PathCollection
        The rows, one collection per class; more than 20,000 rows are a density, with one
        PolyCollection per class.
    """

    #: where the legend begins, in widths of the axes
    _right = 1.01

    def __init_subclass__(cls, **how: Any) -> None:
        """Let ``from_estimator`` take pipelines of tables, too."""
        super().__init_subclass__(**how)
        if (own := vars(cls).get("from_estimator")) is not None:
            draw = own.__func__

            @wraps(draw)
            def from_estimator(kind: type, estimator: Any, *args: Any, **given: Any) -> Any:
                return of_learner(partial(draw, kind))(estimator, *args, **given)

            cls.from_estimator = classmethod(from_estimator)  # type: ignore[attr-defined]

    def __init__(self, **drawn: Any):
        self.__dict__.update(drawn)

    def __getattr__(self, name: str) -> Any:
        """None for an artist that was not drawn."""
        if name.endswith("_") and not name.startswith("_"):
            return None
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def plot(self, ax: Any = None) -> Self:
        """Draw on ``ax``; None makes a new figure. Pictures of several panels need one."""
        self._open(ax)
        if handles := [artist for artist in self._draw() if artist is not None]:
            self.legend_ = legend(self.ax_, handles, self._right)
        for text in self.figure_.findobj(Text):
            make_readable(text)
        return self

    def _open(self, ax: Any) -> None:
        self.figure_, self.ax_ = new_axes(ax)

    def _draw(self) -> Iterable[Any]:
        """Draw; return the artists that the legend names, None for those not drawn."""
        raise NotImplementedError

    def _draw_rows(
        self, points: np.ndarray, codes: np.ndarray | None, classes: np.ndarray, size: float = 28.0
    ) -> list[Any]:
        self.points_: Any = draw_rows(self.ax_, points, codes, classes, size)
        return class_handles(self.points_, len(points), classes)

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
        if size is not None:
            self.figure_.set_size_inches(*size)
        if title:
            _entitle(self.figure_, title)
        width, height = self.figure_.get_size_inches()
        dots = kwargs.get("dpi", self.figure_.dpi)
        refuse(ParameterError, (
            width * height * dots**2 > MOST_PIXELS,
            f"A picture of {width * dots:,.0f} x {height * dots:,.0f} pixels does not fit in "
            "memory: choose a smaller size or resolution.", "too-large", None,
        ))  # fmt: skip
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message=".*collapsed to zero")
            try:
                box = "tight" if size is None else None
                self.figure_.savefig(path, **{"bbox_inches": box} | kwargs)
            except UserWarning:
                raise ParameterError(
                    f"A picture of {width:g} x {height:g} inches is too small for the drawing: "
                    f"choose a larger size."
                ) from None

    def _repr_png_(self) -> bytes:
        file = BytesIO()
        self.figure_.savefig(file, format="png", dpi=100, bbox_inches="tight")
        return file.getvalue()


class Panels(Display):
    """Base class of displays with several axes, which are drawn on a new figure.

    Attributes
    ----------
    axes_ : list or dict of matplotlib Axes
    """

    def _open(self, ax: Any) -> None:
        pass


def _entitle(figure: Any, title: str) -> None:
    width = max(20, int(11 * figure.get_size_inches()[0]))
    formula = "$" in title
    lines = [title] if formula else wrap(title, width)
    try:
        MathTextParser("path").parse(title * formula)
    except ValueError:
        raise ParameterError(
            f"The title {title!r} has a formula that matplotlib cannot parse: write a dollar sign "
            f"as \\$.",
            option="title",
            value=title,
        ) from None
    above = [] if figure._suptitle is None else [figure._suptitle.get_text()]
    make_readable(figure.suptitle("\n".join([*lines, *above]), fontsize="large"))


def make_readable(text: Any) -> None:
    """Give a text the minus of the axes, and fonts with its letters, or their escapes."""
    words = with_minus(text.get_text())
    if not words.isascii():
        own = _letters(findfont(text.get_fontproperties()))
        if others := {x for x in words if ord(x) not in own and x != "\n"}:
            found = {f.name: f.fname for f in fontManager.ttflist if FALLBACKS.search(f.name)}
            known = set().union(*map(_letters, found.values()))
            lost: Any = {x: ascii(x)[1:-1] for x in others if ord(x) not in known}
            words = words.translate(str.maketrans(lost))
            families = [*text.get_fontfamily(), *sorted(found)]
            text.set_fontfamily(list(dict.fromkeys(families)))
    text.set_text(words)


@cache
def _letters(path: str) -> Any:
    return get_font(path).get_charmap().keys()


def check_drawable(estimator: Any, attribute: str, lacks: str) -> None:
    """Raise unless fitted with the attribute; ``lacks`` says what is missing, and what to use."""
    check_is_fitted(estimator)
    why = f"{type(estimator).__name__} {lacks}"
    refuse(DataError, (not hasattr(estimator, attribute), why, "unsupported", None))


def two_classes(labels: np.ndarray, what: str) -> tuple[np.ndarray, np.ndarray]:
    classes, codes = np.unique(labels, return_inverse=True)
    why = f"{what} needs two classes, but there are {len(classes)}."
    refuse(DataError, (len(classes) != 2, why, "class-count", None))
    return classes, codes


def draw_rows(
    ax: Any, points: np.ndarray, codes: np.ndarray | None, classes: np.ndarray, size: float
) -> list[Any]:
    """Draw rows, one collection per class: points of this area, or a density of many. Without
    ``codes``, the numbers of their classes, all are alike.
    """
    palette = [ink()] if codes is None else colors(len(classes))
    own = np.zeros(len(points), int) if codes is None else codes
    if len(points) > MOST_POINTS:
        return _densities(ax, points, own, palette, 0.5 if codes is None else 1.0)
    return [
        ax.scatter(
            *points[own == k].T, s=size, color=[color], linewidths=0.5,
            marker=MARKERS[k % len(MARKERS)], edgecolors=[ax.get_facecolor()], zorder=3,
            label=None if codes is None else wrapped(label_text(classes[k])),
        )
        for k, color in enumerate(palette)
    ]  # fmt: skip


def draw_in_space(
    ax: Any, points: Any, codes: Any, classes: np.ndarray, height: float, size: float
) -> list[Any]:
    """Draw rows of two classes at a height, one collection per class."""
    return [
        ax.scatter(
            *points[codes == k].T, height, s=size, marker=MARKERS[k], depthshade=False,
            color=[color], label=wrapped(label_text(classes[k])),
        )
        for k, color in enumerate(colors(2))
    ]  # fmt: skip


def _densities(
    ax: Any, points: np.ndarray, own: np.ndarray, palette: list[Any], most: float
) -> list[Any]:
    # each cell shows the class of which it has the largest share, so rare classes are visible
    ends = [end for axis in points.T for end in limits(axis)]
    drawn = []
    for k, color in enumerate(palette):
        solid = to_rgba(color)
        shades = [(*solid[:3], 0.1), (*solid[:3], most)]
        drawn.append(
            ax.hexbin(
                *points[own == k].T, gridsize=60, bins="log", mincnt=0, linewidths=0, zorder=2,
                extent=ends, cmap=LinearSegmentedColormap.from_list("density", shades),
                rasterized=True,
            )
        )  # fmt: skip
    counts = np.array([cells.get_array() for cells in drawn])
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
    for k, cells in enumerate(drawn):
        cells.set_array(
            np.ma.masked_where((shares.argmax(axis=0) != k) | (counts[k] == 0), counts[k])
        )
        cells.set_clim(1.0, max(2.0, counts[k].max()))
    return drawn


def class_handles(drawn: list[Any], n_rows: int, classes: np.ndarray) -> list[Any]:
    """Return the legend entries of the first classes, and one that counts the others."""
    handles = [points for points in drawn if len(points.get_offsets())]
    if n_rows > MOST_POINTS:
        handles = [
            Patch(facecolor=color, alpha=0.5, label=wrapped(label_text(label)))
            for label, color in zip(classes, colors(len(classes)), strict=True)
        ]
    if (more := len(handles) - MOST_IN_LEGEND) > 1:  # one line would hide one line
        handles[MOST_IN_LEGEND:] = [Line2D([], [], ls="none", label=f"and {more:,} more")]
    return handles


def draw_rings(
    ax: Any, points: np.ndarray, size: float, name: str, *, n_rows: int = 0, style: str = "-",
    marker: str = "o", width: float = 1.0,
) -> Any:  # fmt: skip
    """Draw a ring around each of some points; a dot in each of many or of a density, in some of
    very many, which is hollow unless rings are plain. The ``name`` has their number for ``{}``.
    """
    n, color = len(points), [ink()]
    if n_rows <= MOST_POINTS and n <= MOST_RINGS:
        return ax.scatter(
            *points.T, s=size, facecolors="none", edgecolors=color, linewidths=width,
            linestyles=style, zorder=4, label=name.format(f"{n:,}"), marker=marker,
        )  # fmt: skip
    shown = points[np.linspace(0, n - 1, min(n, MOST_DOTS)).round().astype(int)]
    said = f"{len(shown):,} of {n:,}" if len(shown) < n else f"{n:,}"
    inside = color if (style, marker) == ("-", "o") else [ax.get_facecolor()]
    return ax.scatter(
        *shown.T, s=7.0, facecolors=inside, edgecolors=color, linewidths=0.4, zorder=4,
        label=name.format(said), marker=marker,
    )  # fmt: skip


def density_title(n_rows: int) -> str:
    return f"density of {n_rows:,} rows" if n_rows > MOST_POINTS else ""
