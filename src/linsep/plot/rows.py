"""Rows as points of their classes, or as a density where there are too many."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length

from linsep.errors import DataError
from linsep.estimators._common.checking import label_text, listed
from linsep.label_faults import labels_of
from linsep.plot.display import MARKERS, MOST_POINTS, colours, ink, limits, wrapped

#: beyond, a legend would be longer than the picture
MOST_IN_LEGEND = 20


def codes_of(y: Any, classes: np.ndarray, n_rows: int) -> np.ndarray:
    """Return the number of each label among the sorted classes; DataError for an unknown label."""
    y = labels_of(y)
    check_consistent_length(y, np.empty(n_rows))
    codes = np.searchsorted(classes, y)
    codes[codes == len(classes)] = 0
    unknown = classes[codes] != y
    if unknown.any():
        row = int(np.argmax(unknown))
        known = listed(classes.tolist())
        raise DataError(
            f"Row {row}: {listed(y[[row]].tolist())} is no class of the fit, which has {known}."
        )
    return codes


def draw_rows(
    ax: Any, points: np.ndarray, codes: np.ndarray | None, classes: np.ndarray, size: float
) -> list[Any]:
    """Draw rows as points, one collection a class, or each class as a density.

    Parameters
    ----------
    ax : matplotlib Axes
    points : array of shape (rows, 2)
    codes : int array of shape (rows,) or None
        The numbers of their classes; None draws all rows alike.
    classes : array of labels
    size : area of a point, in square points
    """
    palette = [ink()] if codes is None else colours(len(classes))
    own = np.zeros(len(points), int) if codes is None else codes
    if len(points) > MOST_POINTS:
        ends = [limits(axis) for axis in points.T]
        return [
            ax.hexbin(
                *points[own == k].T, gridsize=60, bins="log", mincnt=1, linewidths=0, zorder=2,
                extent=(*ends[0], *ends[1]), cmap=_shades(colour, 0.5 if codes is None else 0.8),
            )
            for k, colour in enumerate(palette)
        ]  # fmt: skip
    edge = ax.get_facecolor()
    return [
        ax.scatter(
            *points[own == k].T, s=size, color=[colour], linewidths=0.5,
            marker=MARKERS[k % len(MARKERS)], edgecolors=[edge], zorder=3,
            label=None if codes is None else wrapped(label_text(classes[k])),
        )
        for k, colour in enumerate(palette)
    ]  # fmt: skip


def _shades(colour: Any, most: float) -> Any:
    """Shades of a colour, of this opacity where rows are most dense."""
    from matplotlib.colors import LinearSegmentedColormap, to_rgba

    full = to_rgba(colour)
    ends = [(*full[:3], alpha) for alpha in (0.1, most)]
    return LinearSegmentedColormap.from_list("shades", ends)


def class_handles(drawn: list[Any], n_rows: int, classes: np.ndarray) -> list[Any]:
    """Return what a legend names the classes by: their points, or patches where there are none."""
    from matplotlib.patches import Patch

    if n_rows > MOST_POINTS:
        patches = [
            Patch(facecolor=colour, alpha=0.5, label=wrapped(label_text(label)))
            for label, colour in zip(classes, colours(len(classes)), strict=True)
        ]
        return patches[:MOST_IN_LEGEND]
    return [points for points in drawn if len(points.get_offsets())][:MOST_IN_LEGEND]


def draw_rings(ax: Any, points: np.ndarray, size: float, style: str, name: str) -> Any:
    """Draw rings around points, which a legend names."""
    return ax.scatter(
        *points.T, s=size, facecolors="none", edgecolors=[ink()], linewidths=1.0, linestyles=style,
        zorder=4, label=name,
    )  # fmt: skip


def density_title(n_rows: int) -> list[str]:
    """Return the line of a title that says that rows are drawn as a density, if they are."""
    return [f"density of {n_rows:,} rows"] if n_rows > MOST_POINTS else []
