"""A descent on the function that it minimises."""

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from linsep.descent import Descent
from linsep.errors import DataError
from linsep.plot.display import COLOURS, Display, ink, legend, limits, new_axes

MARKS = "os^D"


class DescentDisplay(Display):
    """The path of one descent, or of several, on a curve or on contours of J.

    It is best made with :meth:`from_descent`, of descents with ``trace=True``.

    Parameters
    ----------
    paths : dict of str to array of shape (steps + 1, 1 or 2)
        The points of each descent, by its name.
    grid : tuple of arrays
        Coordinates of the places where J is drawn, one array for each of one or two weights.
    values : array of shape (places,) or (rows, columns)
        J at these places.
    heights : dict of str to array of shape (steps + 1,)
        J at the points of each descent.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    curve_ : Line2D of J of one weight, or None
    contours_ : ContourSet of J of two weights, or None
    paths_ : list of Line2D
    legend_ : Legend, or None of a single descent

    Examples
    --------
    >>> from linsep import descent
    >>> from linsep.plot import DescentDisplay
    >>> J, grad = lambda x: float(x @ x), lambda x: 2 * x
    >>> found = descent.minimize(J, [3.0], grad, learning_rate=0.3, trace=True)
    >>> display = DescentDisplay.from_descent(found, J)
    >>> len(display.paths_[0].get_xdata()) == found.n_iter + 1
    True
    """

    def __init__(
        self,
        *,
        paths: dict[str, np.ndarray],
        grid: Sequence[np.ndarray],
        values: np.ndarray,
        heights: dict[str, np.ndarray],
    ) -> None:
        self.paths, self.grid, self.values, self.heights = paths, grid, values, heights

    @classmethod
    def from_descent(
        cls,
        descents: Descent | dict[str, Descent],
        J: Callable[[np.ndarray], Any],
        *,
        resolution: int = 120,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw descents on the function that they minimised.

        Parameters
        ----------
        descents : Descent, or dict of str to Descent
            With ``trace=True``, of one or two weights; several by their names, such as their rates.
        J : function of an array of shape (weights,) to a number
        resolution : int, default=120
            Places in each direction where J is computed.
        ax : matplotlib Axes, default None
        **kwargs : passed to :meth:`plot`

        Raises
        ------
        DataError
            For a descent without a trace, or of more than two weights.
        """
        named = {"path": descents} if isinstance(descents, Descent) else descents
        paths, heights = {}, {}
        for name, one in named.items():
            if one.path is None or one.values is None:
                raise DataError("A descent is drawn from its trace: call minimize with trace=True.")
            paths[name] = one.path.reshape(len(one.path), -1)
            finite = np.isfinite(paths[name]).all(axis=1) & np.isfinite(one.values)
            paths[name], heights[name] = paths[name][finite], one.values[finite]
        points = np.concatenate(list(paths.values()))
        if points.shape[1] > 2:
            raise DataError(
                f"A descent of {points.shape[1]} weights is not drawn: at most two are."
            )
        grid = [np.linspace(*limits(column, 0.25), resolution) for column in points.T]
        shape = next(iter(named.values())).x.shape
        places = np.stack(np.meshgrid(*grid), axis=-1).reshape(-1, points.shape[1])
        values = np.array([float(J(place.reshape(shape))) for place in places])
        values = values.reshape([axis.size for axis in grid[::-1]])
        return cls(paths=paths, grid=grid, values=values, heights=heights).plot(ax, **kwargs)

    def plot(self, ax: Any = None, *, levels: int = 20) -> Self:
        """Draw on ``ax``, or on axes of a new figure.

        Parameters
        ----------
        ax : matplotlib Axes, default None
        levels : int, default=20
            How many contours, at equal steps of the root of the height above the lowest.
        """
        self.figure_, self.ax_ = new_axes(ax)
        self.curve_: Any = None
        self.contours_: Any = None
        if len(self.grid) == 1:
            (self.curve_,) = self.ax_.plot(self.grid[0], self.values, color=ink(), linewidth=1.0)
            self.ax_.set(xlabel="weight", ylabel="J")
        else:
            low, high = float(self.values.min()), float(self.values.max())
            heights = low + (high - low) * np.linspace(0.0, 1.0, levels + 1)[1:] ** 2
            self.contours_ = self.ax_.contour(
                *self.grid, self.values, levels=heights, cmap="viridis", linewidths=0.7
            )
            self.ax_.set(xlabel="first weight", ylabel="second weight")
        self.paths_ = []
        for k, (name, path) in enumerate(self.paths.items()):
            y = self.heights[name] if len(self.grid) == 1 else path[:, 1]
            self.paths_ += self.ax_.plot(
                path[:, 0], y, color=COLOURS[(5, 0, 1, 2)[k % 4]], linewidth=1.0, markersize=4,
                marker=MARKS[k % len(MARKS)], label=f"{name}: {len(path) - 1:,} steps",
            )  # fmt: skip
        self.legend_ = legend(self.ax_, self.paths_) if len(self.paths) > 1 else None
        return self
