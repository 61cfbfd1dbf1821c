"""Decision regions of a classifier."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.colors import ListedColormap
from matplotlib.patches import Patch

from linsep.catalog import is_margin
from linsep.errors import DataError, refuse
from linsep.estimators.labels import label_text
from linsep.mistake_bounds.margins import codes_of
from linsep.plot import display, planes
from linsep.plot.display import MOST_POINTS, Display, check_drawable, density_title, ink
from linsep.plot.palettes import colors, hue
from linsep.plot.planes import Plane, completed, grid_around, in_units, line_ends, normal_of
from linsep.validation.checks import check_beside
from linsep.words import percent

#: values of the rows of a grid that are asked at a time
GRID_VALUES = 1 << 24
#: share of the rows beyond which a slice of projected rows is not drawn unless it is asked for
MOST_MISPLACED = 0.05
#: what rows inside a soft margin are called, which have squares around them rather than rings
INSIDE = ("inside it", "inside the margin")
SIZE = 28.0


class DecisionDisplay(Display):
    """Decision regions, the boundary, and the rows with the classifier's mistakes.

    With more than two features, two classes are drawn along their scores, so every row lies on the
    side of its prediction. Several classes are projected, and no regions are drawn if more than 5%
    of the rows would lie in another class's color. The title shows which projection is used.

    Attributes
    ----------
    plane : the plane that is drawn
    xs, ys : arrays, the coordinates of a grid in it
    codes, boundary, undecided : arrays of shape (rows, columns) or None
        The class at each point of the grid, the score of two, and where one-vs-rest is undecided.
    classes : array of labels
    line : (normal, offset) or None, the score of a linear classifier in coordinates of the plane
    sides : pair of float or None, the scores at which a soft margin of two classes ends
    points, y, wrong : arrays, the coordinates of the rows, their classes, and which are mistakes
    misplaced : float or None, the share of the rows that lie in another class's color
    regions : bool, whether the regions and the boundary are drawn
    marked : dict of str to int array, the rows that are marked, by kind
    regions_ : QuadMesh of the predicted classes, or None if not drawn
    undecided_ : ContourSet with hatches, or None
    line_ : Line2D of the boundary of a linear classifier of two classes, or None
    curve_ : ContourSet of the boundary of other classifiers of two classes, or None
    borders_ : list of ContourSet, around the region of each of several classes
    margin_lines_ : list of Line2D, at the scores -1 and 1 of a soft margin (a ContourSet for a
        kernel), or around the empty band beside a separating line
    normal_ : Annotation, the weight vector as an arrow from the line, or None
    mistakes_ : PathCollection of rings, or of dots if there are many, or None
    marked_ : list of PathCollection, one for each kind of marked rows
    shifted_ : list of Line2D, the boundary with other intercepts, or empty
    sticks_ : LineCollection of projections, or of what rows lack of a margin, or None
    lengths : array of shape (rows,) or None, the places of the rows along w, or what they lack
    """

    @classmethod
    @display.of_features
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any = None, *,
        features: Sequence[int | str] | None = None, resolution: int = 250,
        regions: bool | None = None, margin: float | None = None, projections: bool = False,
        intercepts: Sequence[float] = (), ax: Any = None,
    ) -> Self:  # fmt: skip
        """Draw a fitted classifier and rows.

        Parameters
        ----------
        estimator : fitted classifier, also of another library
            The boundary of two classes is where ``decision_function`` is 0, else where
            ``predict_proba`` is 1/2; without either, or if ``predict`` disagrees with it, where
            ``predict`` changes.
        X : array, sparse matrix or data frame of shape (rows, features)
        y : array of shape (rows,), default None
            The classes; without them all rows look alike and no mistakes are marked.
        features : two numbers or names, default None
            The features to draw, with the others fixed at their means. None draws two directly; of
            more, two classes by their score (of a linear classifier the distance from the boundary)
            and the direction in which rows vary most, and several classes projected.
        resolution : int, default=250
            Number of grid points in each direction.
        regions : bool, default None
            Whether to draw the regions and their boundary; None decides as said above.
        margin : float, default None
            Draw the lines of the scores -margin and margin, and what each row lacks, max(0, margin
            - y score), as a stick from the row to the line of its side.
        projections : bool, default=False
            Draw the projection of each row on the line along w through the origin.
        intercepts : list of float, default ()
            Draw the boundary with other intercepts, too.
        """
        check_drawable(estimator, "classes_", "has no classes; use a classifier.")
        classes = estimator.classes_
        why = f"{type(estimator).__name__} has several outputs; draw one of its classifiers."
        refuse(DataError, (isinstance(classes, list), why, "unsupported", None))
        said = np.searchsorted(classes, estimator.predict(X))  # refuses other widths by itself
        check_beside(X, y=y)
        rows = planes.numbers_of(X)
        along = None if features is not None else _along_scores(estimator, X, rows, said)
        if along is not None:
            plane, points, line = along
        else:
            plane, line = planes.plane_of(estimator, rows, features), None
            points, normal = plane.coordinates(rows), normal_of(estimator)
            if normal is not None and len(classes) == 2:
                line = plane.line(normal, np.ravel(estimator.intercept_)[0] - _cut(estimator))
                line = line if np.any(line[0]) else None
        codes = None if y is None else codes_of(y, classes, len(points))
        refuse(DataError, (
            (margin or projections or len(intercepts)) and (line is None or along or y is None),
            "Projections, margins and other intercepts need a linear classifier of two classes "
            "and two features, with the labels.", "unsupported", None,
        ))  # fmt: skip
        (xs, ys), places = grid_around(points, resolution)
        shape, misplaced, undecided = (ys.size, xs.size), None, None
        if along is not None:
            boundary = (places @ along[2][0] + along[2][1]).reshape(shape)
            on_grid = (boundary > 0).astype(int)
        else:
            on_grid, boundary, undecided = _predicted_on_grid(estimator, X, plane, places, shape)
            if plane.title:
                starts, steps = np.array([[axis[0], axis[1] - axis[0]] for axis in (xs, ys)]).T
                column, row = np.rint((points - starts) / steps).astype(int).T
                misplaced = float((on_grid[row, column] != said).mean())
        if regions is None:
            regions = features is not None or (misplaced or 0.0) <= MOST_MISPLACED
        return cls(
            plane=plane, xs=xs, ys=ys, codes=on_grid, classes=classes, boundary=boundary,
            undecided=undecided, line=line, points=points, y=codes, margin=margin,
            sides=_sides(estimator) if margin is None else (-margin, margin),
            projections=projections, intercepts=intercepts,
            wrong=np.zeros(len(points), bool) if codes is None else said != codes,
            misplaced=misplaced, regions=regions, marked=_marked(estimator, X, len(points), codes),
        ).plot(ax)  # fmt: skip

    def _draw(self) -> list[Any]:
        self.borders_: list[Any] = []
        self.margin_lines_: list[Any] = []
        if self.regions:
            self._draw_regions()
            self._draw_boundary()
        handles = self._draw_rows(self.points, self.y, self.classes, SIZE)
        handles = handles if self.y is not None or len(self.points) > MOST_POINTS else []
        handles += [*self._draw_rings(), self.sticks_, *(self.shifted_ or ())]
        if self.undecided_ is not None:
            handles.append(
                Patch(facecolor="none", edgecolor=ink(), hatch="////", label="undecided")
            )
        planes.show_plane(self.ax_, self.plane.names, self.xs, self.ys)
        if not np.any(self.plane.across):  # scores have another unit than rows
            self.ax_.set_aspect("auto")
        said = ""
        if self.misplaced:
            said = f"{percent(self.misplaced)} of the rows lie in another class's color"
            said = f"{'' if self.regions else 'no '}regions of the slice: {said}"
        display.show_title(self.ax_, self.plane.title, said, density_title(len(self.points)))
        return handles

    def _draw_sticks(self, normal: np.ndarray, offset: float) -> None:
        box, size = (self.xs[[0, -1]], self.ys[[0, -1]]), float(np.linalg.norm(normal))
        self.shifted_ = [
            self.ax_.plot(
                *line_ends(normal, b, *box), color=hue(k + 2), linewidth=1.2, ls="-.",
                label=f"intercept {b:g}",
            )[0]
            for k, b in enumerate(self.intercepts)
        ]  # fmt: skip
        if not (self.projections or self.margin):
            return
        if self.projections:
            self.lengths, name = self.points @ normal / size, "projections on w"
            feet = np.outer(self.lengths / size, normal)
            self.ax_.axline((0.0, 0.0), tuple(normal), color=hue(2), linewidth=1.0, zorder=2)
        else:
            signs = np.where(self.y == 1, 1.0, -1.0)
            self.lengths = np.maximum(self.margin - signs * (self.points @ normal + offset), 0.0)
            feet = self.points + np.outer(signs * self.lengths / size**2, normal)
            name = f"lacks {self.lengths.sum():.4g} of the margin"
        self.sticks_ = self.ax_.add_collection(
            LineCollection(
                list(np.stack([self.points, feet], axis=1)), colors=[hue(5)], linewidths=1.0,
                label=name, zorder=2.5,
            )
        )  # fmt: skip

    def _draw_regions(self) -> None:
        n = len(self.classes)
        self.regions_ = self.ax_.pcolormesh(
            self.xs, self.ys, self.codes, cmap=ListedColormap(colors(n)), vmin=-0.5, vmax=n - 0.5,
            shading="nearest", alpha=0.25, linewidth=0, rasterized=True, zorder=0,
        )  # fmt: skip
        if self.undecided is not None and self.undecided.any():
            self.undecided_ = self.ax_.contourf(
                self.xs, self.ys, self.undecided.astype(float), levels=[0.5, 1.5], colors="none",
                hatches=["////"], zorder=1,
            )  # fmt: skip

    def _contour(self, values: np.ndarray, levels: list[float], **look: Any) -> Any:
        look = {"colors": [ink()], "linewidths": 1.5, "zorder": 3} | look
        return self.ax_.contour(self.xs, self.ys, values, levels=levels, **look)

    def _draw_boundary(self) -> None:
        if self.line is not None:
            normal, offset = self.line
            scores = np.abs(self.points @ normal + offset)
            exact = self.y is not None and not self.wrong.any() and self.misplaced is None
            margin = float(scores.min()) if exact else 0.0  # of rows that are all on their side
            for score in (0.0, *(self.sides or ((-margin, margin) if margin else ()))):
                ends = line_ends(normal, offset - score, self.xs[[0, -1]], self.ys[[0, -1]])
                look = {"linewidth": 0.8, "ls": "--"} if score else {"linewidth": 1.5, "zorder": 3}
                self.margin_lines_ += self.ax_.plot(*ends, color=ink(), **look)
            self.line_ = self.margin_lines_.pop(0)
            self._draw_normal(normal, offset)
            self._draw_sticks(normal, offset)
        elif len(self.classes) > 2:
            self.borders_ = [
                self._contour((self.codes == k).astype(float), [0.5], linewidths=0.6, zorder=1)
                for k in (np.unique(self.codes) if np.ptp(self.codes) else ())
            ]
        elif self.boundary is not None and self.boundary.min() < 0 < self.boundary.max():
            self.curve_ = self._contour(self.boundary, [0.0])
            ends = self.boundary.min(), self.boundary.max()
            if inner := [side for side in self.sides or () if ends[0] < side < ends[1]]:
                look = {"linewidths": 0.8, "linestyles": "--"}
                self.margin_lines_.append(self._contour(self.boundary, inner, **look))

    def _draw_normal(self, normal: np.ndarray, offset: float) -> None:
        normal, offset = normal / np.abs(normal).max(), offset / np.abs(normal).max()
        center = np.array([self.xs.mean(), self.ys.mean()])
        foot = center - (normal @ center + offset) / (normal @ normal) * normal
        inside = self.xs[0] < foot[0] < self.xs[-1] and self.ys[0] < foot[1] < self.ys[-1]
        if not (inside and np.any(self.plane.across)):
            return  # also along the scores of a classifier without weights
        room = np.array([np.ptp(self.xs), np.ptp(self.ys)]) / 5
        tip = foot + normal * float(np.min(room / np.maximum(np.abs(normal), 1e-300)))
        self.normal_ = self.ax_.annotate(
            "", xy=tuple(tip), xytext=tuple(foot), zorder=4,
            arrowprops={"arrowstyle": "-|>", "color": ink(), "shrinkA": 0, "shrinkB": 0},
        )  # fmt: skip
        self.ax_.annotate(
            "w", xy=tuple(tip), xytext=(5, 5), textcoords="offset points", color=ink(), zorder=4
        )

    def _draw_rings(self) -> list[Any]:
        n, self.marked_ = len(self.points), list[Any]()
        if self.wrong.any():
            self.mistakes_ = display.draw_rings(
                self.ax_, self.points[self.wrong], 3.5 * SIZE, "mistakes ({})", n_rows=n
            )
        for k, (name, rows) in enumerate(self.marked.items() if n <= MOST_POINTS else ()):
            look: dict[str, Any] = {"size": (6 + 3 * k) * SIZE, "style": ":"}
            if name in INSIDE:
                look = {"size": 3.5 * SIZE, "marker": "s", "width": 0.6}
            chosen = self.points[np.sort(rows)]
            self.marked_.append(display.draw_rings(self.ax_, chosen, name=f"{name} ({{}})", **look))
        return [self.mistakes_, *self.marked_]


def _cut(estimator: Any) -> float:
    return float(getattr(getattr(estimator, "threshold_", None), "score", 0.0))


def _along_scores(
    estimator: Any, X: Any, rows: Any, said: np.ndarray
) -> tuple[Plane, np.ndarray, tuple[np.ndarray, float]] | None:
    """Return the plane of the scores of two classes and the widest direction, the places of the
    rows, and the line between the classes; None for others, and if predictions follow no scores.
    """
    d = rows.shape[1]
    if d <= 2 or len(estimator.classes_) != 2:
        return None
    scores, cut = _scores(estimator, X), _cut(estimator)
    low = scores[said == 0].max(initial=-np.inf)
    high = scores[said == 1].min(initial=np.inf)
    if not low <= cut <= high:  # of another library's threshold
        cut = (low + high) / 2
    if not (scores.any() and low <= high and np.isfinite(cut)):
        return None
    normal = normal_of(estimator)
    if normal is not None:
        names = planes.names_of(rows, d, estimator)
        plane = planes.plane_along(normal, rows, names)
        across, offset = plane.line(normal, np.ravel(estimator.intercept_)[0] - cut)
        start = plane.origin - offset / (plane.across @ normal) * plane.across
        axes = in_units(names, "distance from the boundary", "widest direction")
        plane = plane._replace(origin=start, names=axes)
        return plane, plane.coordinates(rows), (across, 0.0)
    what = "score"
    if not hasattr(estimator, "decision_function"):
        what = f"probability of {label_text(estimator.classes_[1])}, less 0.5"
    about, (_, up) = f"{d:,} features: the score, and the widest direction", completed([], rows)
    plane = Plane(planes.mean_of(rows), np.zeros(d), up, (what, "widest direction"), about)
    points = np.column_stack([scores, plane.coordinates(rows)[:, 1]])
    return plane, points, (np.array([1.0, 0.0]), -cut)


def _predicted_on_grid(
    estimator: Any, X: Any, plane: Plane, places: np.ndarray, shape: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    """Return the classes on a grid, the scores of two, and where one-vs-rest is undecided."""
    codes, scores = [], []
    for some in np.array_split(places, max(1, len(places) * plane.origin.size // GRID_VALUES)):
        grid = planes.frame_like(X, plane.points(some))
        codes.append(np.searchsorted(estimator.classes_, estimator.predict(grid)))
        scores.append(_scores(estimator, grid))
    said, found = np.concatenate(codes).reshape(shape), np.concatenate(scores)
    if len(estimator.classes_) == 2:
        found = found.reshape(shape)
        other = np.where(said == 1, found < 0, found > 0).any()  # such as another threshold than 0
        return said, said - 0.5 if other or not found.any() else found, None
    if getattr(estimator, "multiclass", None) != "ovr":
        return said, None, None
    return said, None, ((found > 0).sum(axis=1) != 1).reshape(shape)


def _scores(estimator: Any, rows: Any) -> np.ndarray:
    if hasattr(estimator, "decision_function"):
        return np.asarray(estimator.decision_function(rows))
    if hasattr(estimator, "predict_proba") and len(estimator.classes_) == 2:
        return np.asarray(estimator.predict_proba(rows))[:, 1] - 0.5
    return np.zeros(rows.shape[0])


def _sides(estimator: Any) -> tuple[float, float] | None:
    if not is_margin(estimator) or len(estimator.classes_) != 2:
        return None
    cut = _cut(estimator)
    return -1.0 - cut, 1.0 - cut


def _marked(estimator: Any, X: Any, n: int, codes: np.ndarray | None) -> dict[str, np.ndarray]:
    """Return the rows to mark: support vectors if X may be the training data, on a soft margin or
    inside it (those at their bound are farthest inside); of other rows the ones inside.
    """
    support = getattr(estimator, "support_positions_", getattr(estimator, "support_", None))
    support = np.asarray([] if support is None else support)
    if _sides(estimator) is None:  # RFE's support_ is about features
        whole = support.dtype.kind in "iu" and n > int(np.max(support, initial=-1))
        return {"support vectors": support} if whole else {}
    scores = estimator.decision_function(X)
    if len(support) and n == estimator.n_rows_:
        depth = np.sign(estimator.dual_coef_[0]) * scores[support]
        inside = support[np.argsort(depth, kind="stable")[: int(estimator.n_bounded_[0])]]
        if not len(inside):  # of a separable problem, or of squares
            return {"support vectors": support}
        on = np.setdiff1d(support, inside)
        return {"support vectors on the margin": on, "inside it": inside}
    if codes is None:
        return {}
    return {"inside the margin": np.flatnonzero(np.where(codes == 1, scores, -scores) < 1.0)}
