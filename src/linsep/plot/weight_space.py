"""The weight space: the weights that every row allows, and the intercept as a weight."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.patches import Patch, Polygon
from mpl_toolkits.mplot3d.art3d import Poly3DCollection

from linsep.errors import DataError
from linsep.estimators.labels import label_text
from linsep.mistake_bounds.margins import codes_of, linear_of
from linsep.plot import display
from linsep.plot.display import MARKERS, Display, class_handles, ink, limits, wrapped
from linsep.plot.palettes import COLORS
from linsep.plot.planes import dense, line_ends, names_of, numbers_of, same_scale, weight_of
from linsep.validation.checks import check_beside

#: more lines than that are a gray mass
MOST_LINES = 500
#: rows that are drawn with the constant feature; of more, so many are chosen evenly
MOST_ROWS = 2_000
#: the azimuth of matplotlib's axes in space, in degrees
USUAL_SIDE = -60.0


class WeightSpaceDisplay(Display):
    """The half-plane of weights that each row allows, the solution region, and the path of a run.

    A row z of class y = 1 or -1 (with the constant feature if there is an intercept) allows the
    weights a with ``<a, y z> > 0``. The weights that all rows allow form the solution region, a
    cone: exactly the weights that make no mistake.

    Attributes
    ----------
    reflected : array of shape (rows, 2), the sign-flipped rows ``y z``
    names : pair of str, of the weights
    path : array of shape (rounds, 2), the weights of a run, step by step, or None
    cone : array of two unit vectors that bound the solution region, or None if it is empty
    solvable : bool, whether some weights make no mistake
    lines_ : LineCollection, the boundary of every half-plane
    region_ : Polygon of the solution region, or None if it is empty
    center_ : Line2D along the weights of the largest cosine margin, or None
    path_ : Line2D of the weights of the run, or None
    start_, end_ : Line2D of the first and the last weights, or None

    Examples
    --------
    >>> from linsep import plot
    >>> display = plot.WeightSpaceDisplay.from_data([[2.0, 1.0], [1.0, 3.0]], [1, 0])
    >>> display.solvable
    True
    """

    @classmethod
    def from_data(
        cls, X: Any, y: Any, *, fit_intercept: bool = False, path: Any = None,
        feature_names: Sequence[str] | None = None, ax: Any = None,
    ) -> Self:  # fmt: skip
        """Draw the weight space of rows of two classes.

        Parameters
        ----------
        X : array or sparse matrix of shape (rows, 2), or (rows, 1) with an intercept
        y : array of shape (rows,) of two classes; the larger is the positive side
        fit_intercept : bool, default=False, whether the second weight is the intercept
        path : array of shape (rounds, 2), default None, the weights of a run
        feature_names : list of str, default those of a data frame, or x0, x1, ...
        """
        check_beside(X, y=y)
        rows = dense(numbers_of(X))
        if rows.shape[1] + fit_intercept != 2:
            raise DataError(
                f"A weight space needs two weights, not {rows.shape[1] + fit_intercept}: pass two "
                f"features, or one with fit_intercept=True.",
                code="unsupported",
            )
        _, codes = display.two_classes(np.asarray(y), "A weight space")
        names = list(feature_names or names_of(X, rows.shape[1]))
        if fit_intercept:
            rows, names = np.column_stack([rows, np.ones(len(rows))]), [*names, "intercept"]
        reflected = rows * np.where(codes == 1, 1.0, -1.0)[:, None]
        path = None if path is None else np.asarray(path, dtype=np.float64)
        cone = solutions(reflected)
        return cls(
            reflected=reflected, names=(names[0], names[1]), path=path, cone=cone,
            solvable=cone is not None,
        ).plot(ax)  # fmt: skip

    def _draw(self) -> list[Any]:
        reach = 1.0 if self.path is None else 1.25 * float(np.abs(self.path).max()) or 1.0
        directions = np.column_stack([-self.reflected[:, 1], self.reflected[:, 0]])
        lengths = np.linalg.norm(directions, axis=1)
        ends = 3 * reach * (directions[lengths > 0] / lengths[lengths > 0, None])[:MOST_LINES]
        self.lines_ = self.ax_.add_collection(
            LineCollection(
                list(np.stack([-ends, ends], axis=1)), colors=[ink()], linewidths=0.6, alpha=0.5,
                label="rows",
            )
        )  # fmt: skip
        if self.cone is not None:
            self.region_ = self.ax_.add_patch(
                Polygon(
                    4 * reach * np.array([[0.0, 0.0], *self.cone]), color=COLORS[2], alpha=0.3,
                    linewidth=0, label="solutions",
                )
            )  # fmt: skip
            middle = self.cone.sum(axis=0)  # where the smallest angle with a line is largest
            if np.any(middle):
                x, y = 3 * reach * middle / np.linalg.norm(middle)
                (self.center_,) = self.ax_.plot(
                    [0, x], [0, y], color=COLORS[2], label="largest cosine margin"
                )
        if self.path is not None:
            (self.end_,) = self.ax_.plot(
                *self.path[-1:].T, color=COLORS[5], marker="o", ls="", label="last weights"
            )
            if len(self.path) > 1:
                (self.path_,) = self.ax_.plot(
                    *self.path.T, color=COLORS[5], linewidth=1.0, marker=".", markersize=4,
                    label="weights, step by step",
                )  # fmt: skip
                (self.start_,) = self.ax_.plot(
                    *self.path[:1].T, color=COLORS[0], marker="s", ls="", label="first weights"
                )
        self.ax_.set(
            xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal",
            xlabel=wrapped(weight_of(self.names[0])), ylabel=wrapped(weight_of(self.names[1])),
        )  # fmt: skip
        display.show_title(self.ax_, "" if self.solvable else "no weights satisfy every row")
        return [self.region_, self.lines_, self.center_, self.path_, self.start_, self.end_]


def solutions(rows: np.ndarray) -> np.ndarray | None:
    """Return the two unit vectors that bound the weights with positive products with all rows, or
    None: the half-planes of the rows are intersected as angles relative to the first row.
    """
    if not len(rows) or not np.any(rows, axis=1).all():
        return None  # a row of zeros allows no weights
    angles = np.arctan2(rows[:, 1], rows[:, 0])
    away = np.angle(np.exp(1j * (angles - angles[0])))  # angles from the first row
    low, high = float(away.max()) - np.pi / 2, float(away.min()) + np.pi / 2
    ends = np.array([low, high]) + angles[0]
    return np.column_stack([np.cos(ends), np.sin(ends)]) if low < high else None


class AugmentationDisplay(Display):
    """A classifier with an intercept, drawn with the constant feature that it adds to the rows.

    Rows of one feature lie on a line at height 1, rows of two on a plane. The intercept is the
    weight of the height, so the separator goes through the origin, and cuts them at the boundary.

    Attributes
    ----------
    rows : array of shape (rows, 1 or 2), at most 2,000 of the rows
    y, classes : arrays, the indices of their classes among the sorted classes, and the classes
    weights : array of shape (2 or 3,), the feature weights, then the intercept
    names : list of str, the names of the features
    points_ : list of PathCollection at height 1, one per class
    height_ : Line2D (Poly3DCollection for two features) at height 1, where the rows lie
    line_ : Line2D of the separator for one feature, or None
    plane_ : Poly3DCollection of the separator for two features from the origin to its cut, or None
    cut_ : Line2D of the boundary: a mark, or a line for two features; None outside of the picture
    normal_ : Line2D of the scaled weights; None for two features, or unless axes keep angles
    origin_ : Line2D, a mark

    Examples
    --------
    >>> from linsep import Perceptron, plot
    >>> X, y = [[1.0], [2.0], [4.0]], [0, 0, 1]
    >>> model = Perceptron(shuffle=False).fit(X, y)
    >>> display = plot.AugmentationDisplay.from_estimator(model, X, y)
    >>> float(display.cut_.get_xdata()[0])
    3.0
    """

    @classmethod
    @display.of_features
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, ax: Any = None) -> Self:
        """Draw a linear classifier of two classes and rows.

        Parameters
        ----------
        estimator : fitted linear classifier of any library
        X, y : rows of one or two features, and their classes
        ax : matplotlib Axes, with ``projection="3d"`` for two features; default None
        """
        model = linear_of(estimator)
        if len(model.classes) != 2:
            raise DataError(
                f"The constant feature is drawn for two classes, but there are "
                f"{len(model.classes)}.",
                code="class-count",
            )
        check_beside(X, y=y)
        rows = model.rows(X)
        if rows.shape[1] > 2:
            raise DataError(
                f"{rows.shape[1]:,} features and a constant cannot be drawn: draw the regions of "
                "the classes with DecisionDisplay or `linsep plot decision`.",
                code="unsupported",
            )
        n = rows.shape[0]
        some = np.linspace(0, n - 1, min(n, MOST_ROWS)).astype(int)
        return cls(
            rows=dense(rows[some]), y=codes_of(y, model.classes, n)[some], classes=model.classes,
            weights=model.against(1)[0],
            about=f"{some.size:,} of {n:,} rows, evenly chosen" if n > some.size else "",
            names=names_of(rows if hasattr(estimator, "classes_") else X, rows.shape[1], estimator),
        ).plot(ax)  # fmt: skip

    def _open(self, ax: Any) -> None:
        space = self.rows.shape[1] == 2
        if space and ax is not None and not hasattr(ax, "get_zlim"):
            raise DataError(
                "Two features and a constant need axes with projection='3d'.",
                code="bad-option",
                option="ax",
            )
        self.figure_, self.ax_ = display.new_axes(ax, "3d" if space else None)

    def _draw(self) -> list[Any]:
        space = self.rows.shape[1] == 2
        (self.origin_,) = self.ax_.plot(
            *np.zeros((2 + space, 1)), color=ink(), marker="+", ls="", markersize=10
        )
        display.show_title(self.ax_, self.about)
        return self._draw_space() if space else self._draw_plane()

    def _draw_plane(self) -> list[Any]:
        w, b = self.weights
        cut = np.array([-b / w, 1.0]) if w else np.full(2, np.inf)
        places = np.append(self.rows, 0.0)
        near = abs(cut[0] - places.mean()) <= 2 * np.ptp(places)
        tip = 0.35 * self.weights / (np.linalg.norm(self.weights) or 1.0)
        xs = np.array(limits(np.append(places, [tip[0], cut[0] if near else 0.0])))
        ys = np.array([-0.4, 1.6])
        self.height_ = self.ax_.axhline(1.0, color=ink(), linewidth=0.8, ls=":")
        handles = self._draw_rows(
            np.column_stack([self.rows, np.ones(len(self.rows))]), self.y, self.classes
        )
        if np.any(self.weights):
            ends, look = line_ends(self.weights, 0.0, xs, ys), {"linewidth": 1.5, "zorder": 2}
            (self.line_,) = self.ax_.plot(*ends, color=ink(), label="separator", **look)
        if near:
            (self.cut_,) = self.ax_.plot(
                *cut[:, None], color=COLORS[5], marker="D", ls="", markersize=8, zorder=5,
                fillstyle="none", label=f"boundary: {cut[0]:.4g}",
            )  # fmt: skip
        self.ax_.set(xlim=xs, ylim=ys, xlabel=wrapped(self.names[0]), ylabel="constant feature")
        if same_scale(xs, ys) and np.any(self.weights):
            self.ax_.set_aspect("equal")
            self.normal_ = display.draw_arrow(
                self.ax_, 0 * tip, tip, color=COLORS[2], label="w and the intercept"
            )
        return [*handles, self.line_, self.cut_, self.normal_]

    def _draw_space(self) -> list[Any]:
        self._right = 1.15
        xs, ys = (np.array(limits(axis)) for axis in np.vstack([self.rows, np.zeros(2)]).T)
        corners = [(x, y, 1.0) for x, y in zip(xs[[0, 1, 1, 0]], ys[[0, 0, 1, 1]], strict=True)]
        self.height_ = self.ax_.add_collection3d(
            Poly3DCollection([corners], facecolor=("0.5", 0.12), edgecolor=("0.5", 0.5))
        )
        self.points_ = []
        for k in range(2):
            own = self.rows[self.y == k]
            self.points_.append(
                self.ax_.scatter(
                    *own.T, np.ones(len(own)), s=28.0, color=[COLORS[k]] * len(own),
                    marker=MARKERS[k], depthshade=False,
                    label=wrapped(label_text(self.classes[k])),
                )
            )  # fmt: skip
        drawn: list[Any] = []
        if (ends := self._cut_within(xs, ys)) is not None:
            cut = np.column_stack([ends, np.ones(2)])
            self.plane_ = self.ax_.add_collection3d(
                Poly3DCollection([[(0.0, 0.0, 0.0), *map(tuple, cut)]], facecolor=(COLORS[2], 0.3))
            )
            (self.cut_,) = self.ax_.plot(*cut.T, color=COLORS[5], linewidth=2.0, label="boundary")
            drawn = [Patch(facecolor=COLORS[2], alpha=0.3, label="separator"), self.cut_]
        self.ax_.set(
            xlim=xs, ylim=ys, zlim=(0.0, 1.2), xlabel=wrapped(self.names[0]),
            ylabel=wrapped(self.names[1]), zlabel="constant feature",
        )  # fmt: skip
        for axis in (self.ax_.xaxis, self.ax_.yaxis):
            axis.labelpad = 4.0 + 8.0 * axis.get_label_text().count("\n")
        # from the usual side, unless that looks along the separator
        across = np.degrees(np.arctan2(*(self.weights[:2] * [np.ptp(xs), np.ptp(ys)])[::-1]))
        along = (USUAL_SIDE - across) % 180.0 - 90.0
        turn = np.copysign(30.0, along) - along if abs(along) < 30.0 else 0.0
        self.ax_.view_init(elev=20.0, azim=USUAL_SIDE + turn)
        return [*class_handles(self.points_, len(self.rows), self.classes), *drawn]

    def _cut_within(self, xs: np.ndarray, ys: np.ndarray) -> np.ndarray | None:
        *w, b = self.weights
        if not np.any(w):
            return None
        corners = np.array([(xs[i], ys[j]) for i, j in ((0, 0), (1, 0), (1, 1), (0, 1))])
        scores = corners @ w + b
        crossed = np.flatnonzero((scores > 0) != (np.roll(scores, 1) > 0))  # sides of the rectangle
        if not len(crossed):
            return None
        start, before, after = corners[crossed - 1], scores[crossed - 1], scores[crossed]
        return start + (before / (before - after))[:, None] * (corners[crossed] - start)
