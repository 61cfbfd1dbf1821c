"""A line through points, and how sure it is."""

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from linsep.errors import DataError
from linsep.estimators._common.checking import feature_names, target_name
from linsep.label_faults import check_beside
from linsep.linear.estimator import LinearRegression
from linsep.plot.display import COLOURS, MOST_POINTS, Display, ink, legend, new_axes, wrapped
from linsep.plot.plane import (
    along_feature,
    feature_position,
    frame_like,
    numbers_of,
    others_fixed,
)
from linsep.plot.rows import density_title, draw_rows

#: more sticks than that hide the points
MOST_STICKS = 200


class RegressionDisplay(Display):
    """The rows and the line of a linear regression, with bands and residuals.

    With several features, one is drawn and the others are fixed at their means. Rows are then moved
    by what the others add (partial residuals), so that sticks keep the length of the residuals. It
    is best made with :meth:`from_estimator`.

    Parameters
    ----------
    x, y : arrays of shape (rows,)
        The feature drawn and the target, less what other features add.
    fitted : array of shape (rows,)
        The prediction of each row on the line.
    grid, line : arrays of shape (places,)
    bands : dict of str to pair of arrays
        The ends of the confidence and the prediction interval on the grid.
    names : pair of str
        Of the feature and the target.
    title : str

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    points_ : PathCollection
    line_ : Line2D
    bands_ : dict of str to PolyCollection
    residuals_ : LineCollection of sticks from the points to the line, or None
    squares_ : PatchCollection of the squares of the residuals, or None
    legend_ : Legend

    Examples
    --------
    >>> from linsep import LinearRegression
    >>> from linsep.plot import RegressionDisplay
    >>> X, y = [[1], [2], [-1], [3], [4]], [2, 4, 0, 4, 6]
    >>> display = RegressionDisplay.from_estimator(LinearRegression().fit(X, y), X, y)
    >>> display.fitted.round(3).tolist()
    [2.27, 3.432, -0.054, 4.595, 5.757]
    """

    def __init__(
        self,
        *,
        x: np.ndarray,
        y: np.ndarray,
        fitted: np.ndarray,
        grid: np.ndarray,
        line: np.ndarray,
        bands: dict[str, tuple[np.ndarray, np.ndarray]],
        names: tuple[str, str],
        title: str = "",
    ) -> None:
        self.x, self.y, self.fitted, self.grid, self.line = x, y, fitted, grid, line
        self.bands, self.names, self.title = bands, names, title

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        feature: int | str | None = None,
        level: float = 0.95,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw a fitted linear regression and rows.

        Parameters
        ----------
        estimator : fitted :class:`linsep.LinearRegression`
        X : array, sparse matrix or data frame of shape (rows, features)
        y : array of shape (rows,)
        feature : int or str, default None
            The number or name of the feature to draw; may be left out where there is one.
        level : float, default=0.95
            Of both bands, between 0 and 1.
        ax : matplotlib Axes, default None
        **kwargs : passed to :meth:`plot`

        Raises
        ------
        ValueError
            For another estimator, for rows of another width than those of the fit, and where
            ``feature`` is needed or unknown.
        """
        check_is_fitted(estimator)
        if not isinstance(estimator, LinearRegression):
            raise DataError(f"{type(estimator).__name__} is no line: draw a LinearRegression.")
        predicted = np.asarray(estimator.predict(X))
        check_beside(X, y=y)
        rows, target = numbers_of(X), column_or_1d(y)
        check_consistent_length(rows, target)
        names, d = feature_names(estimator), rows.shape[1]
        if feature is None and d > 1:
            raise DataError(f"There are {d} features: say which to draw, such as {names[0]!r}.")
        j = 0 if feature is None else feature_position(feature, names)
        x, grid, places = along_feature(rows, j, 100)
        mean = np.asarray(rows.mean(axis=0)).ravel()
        drawn = frame_like(X, places)
        line = np.asarray(estimator.predict(drawn))
        at = estimator.coef_[j] * (x - mean[j]) + estimator.intercept_ + estimator.coef_ @ mean
        bands = {}
        for of in ("confidence", "prediction"):
            found = estimator.predict(drawn, interval=of, level=level)
            bands[f"{100 * level:g} % {of} band"] = (found.low, found.high)
        others = f"{others_fixed(d - 1)}; rows moved accordingly"
        return cls(
            x=x, y=target if d == 1 else at + target - predicted, fitted=at, grid=grid,
            line=line, bands=bands,
            names=(names[j], str(getattr(y, "name", None) or target_name(estimator) or "y")),
            title=others if d > 1 else "",
        ).plot(ax, **kwargs)  # fmt: skip

    def plot(self, ax: Any = None, *, residuals: bool | None = None, squares: bool = False) -> Self:
        """Draw on ``ax``, or on axes of a new figure.

        Parameters
        ----------
        ax : matplotlib Axes, default None
        residuals : bool, default None
            Whether a stick joins each row to the line; None draws sticks for up to 200 rows.
        squares : bool, default=False
            Whether the square of each residual is drawn, as least squares adds them up.
        """
        from matplotlib.collections import LineCollection, PatchCollection
        from matplotlib.patches import Rectangle

        self.figure_, self.ax_ = new_axes(ax)
        self.bands_ = {
            name: self.ax_.fill_between(
                self.grid, low, high, color=COLOURS[0], alpha=alpha, linewidth=0, label=name
            )
            for (name, (low, high)), alpha in zip(self.bands.items(), (0.3, 0.12), strict=False)
            if np.isfinite(low).all()
        }
        (self.line_,) = self.ax_.plot(self.grid, self.line, color=COLOURS[0], label="fitted")
        self.residuals_: Any = None
        self.squares_: Any = None
        if residuals if residuals is not None else len(self.x) <= MOST_STICKS:
            ends = np.stack([[self.x, self.fitted], [self.x, self.y]]).transpose(2, 0, 1)
            self.residuals_ = self.ax_.add_collection(
                LineCollection(list(ends), colors=[COLOURS[5]], linewidths=0.8, label="residuals")
            )
        self._draw_points()
        self.ax_.set(
            xlabel=wrapped(self.names[0]), ylabel=wrapped(self.names[1]), xlim=self.grid[[0, -1]]
        )
        said = [self.title] if self.title else []
        self.ax_.set_title("\n".join(said + density_title(len(self.x))), fontsize="medium")
        if squares:
            self.ax_.set_aspect("equal")
            boxes = [
                Rectangle((x, min(y, at)), np.sign(at - y) * abs(y - at), abs(y - at))
                for x, y, at in zip(self.x, self.y, self.fitted, strict=True)
            ]
            self.squares_ = self.ax_.add_collection(
                PatchCollection(boxes, facecolor=COLOURS[5], alpha=0.15, label="squares")
            )
        rows = self.points_ if len(self.x) <= MOST_POINTS else None
        drawn = (rows, self.line_, self.residuals_, *self.bands_.values())
        self.legend_ = legend(self.ax_, [artist for artist in drawn if artist is not None])
        return self

    def _draw_points(self) -> None:
        if len(self.x) <= MOST_POINTS:
            self.points_ = self.ax_.scatter(
                self.x, self.y, s=14, color=[ink()], zorder=3, label="rows"
            )
            return
        places = np.column_stack([self.x, self.y])
        (self.points_,) = draw_rows(self.ax_, places, None, np.empty(0), 14.0)
        self.line_.set_zorder(3)
