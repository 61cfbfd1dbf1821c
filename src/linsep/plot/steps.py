"""Training steps: the effect of a mistake on the weights, and the path of a gradient descent."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from linsep import trace
from linsep.descent import Descent
from linsep.errors import DataError, Hint
from linsep.mistake_bounds.margins import augmented, unit_rows
from linsep.plot import display, planes
from linsep.plot.display import Display, class_handles, density_title, draw_arrow, ink, show_title
from linsep.plot.palettes import COLORS, color_map
from linsep.plot.planes import Plane, box_around, completed, grid_around, in_units, line_ends
from linsep.teaching import Trace
from linsep.validation.checks import labels_of, row_labels
from linsep.words import counted

#: the pictures of one update
STEPS = ("before", "update", "after")
MARKS = "os^D"
#: area of a point, places of a grid in each direction, and contours
SIZE, RESOLUTION, LEVELS = 28.0, 120, 20


class Update(NamedTuple):
    """One update of a run.

    Attributes
    ----------
    mistake, round : int, its number among the mistakes and among the steps, counted from 1
    row : int
    before, change, after : arrays of shape (features + 1,), weights with the intercept last
    """

    mistake: int
    round: int
    row: int
    before: np.ndarray
    change: np.ndarray
    after: np.ndarray


class UpdateDisplay(Display):
    """A mistake: the weights and their line before the update, the example, and both after it.

    Weights are arrows from the origin, orthogonal to their lines; the update leads from the tip of
    the old weights to the tip of the new. A single feature is drawn with the constant feature. More
    than two are projected onto the plane of the weights and the update, where lines are exact.

    Attributes
    ----------
    updates : list of Update, one picture per update
    rows : array or CSR matrix of shape (rows, features), with the constant feature beside one
    y, classes : arrays, the indices of their classes among the sorted classes, and the classes
    names : list of str, the names of the features
    row_names : sequence of str, or None
    steps : bool, whether each update is drawn as three pictures
    axes_ : list of Axes
    old_weights_, changes_, new_weights_ : list of Line2D, the shafts of the arrows
    reflected_ : list of Line2D, the updates from the origin: signed examples times the rate
    old_lines_, new_lines_ : list of Line2D, where the scores are zero; omitted for zero weights
    examples_ : list of PathCollection, rings around the examples

    Examples
    --------
    >>> from linsep import Perceptron, datasets, plot
    >>> X, y = datasets.load_four_points(return_X_y=True)
    >>> model = Perceptron(fit_intercept=False, shuffle=False)
    >>> display = plot.UpdateDisplay.from_estimator(model, X, y, mistake=2)
    >>> display.updates[0].after.tolist()
    [3.0, -1.0, 0.0]
    """

    @classmethod
    @display.of_features
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, mistake: int = 1, n_mistakes: int = 1,
        steps: bool = False, run: Trace | None = None, feature_names: Sequence[str] | None = None,
        row_names: Sequence[str] | None = None, ax: Any = None, **kwargs: Any,
    ) -> Self:  # fmt: skip
        """Draw mistakes of a learner of two classes, from its trace.

        Parameters
        ----------
        estimator : online linear learner of this library
            Only its parameters are used, as by :func:`linsep.trace`; it need not be fitted.
        X, y : rows, and their classes
        mistake : int, default=1, the first mistake to draw, counted from 1
        n_mistakes : int, default=1
            Number of mistakes to draw, one picture each; fewer if the run has fewer.
        steps : bool, default=False
            Whether to draw each update as three pictures: before, the update, after.
        run : Trace of these rows, default None, which makes it
        feature_names : list of str, default those of a data frame or of a fit, or x0, x1, ...
        row_names : list of str, default the labels of a data frame's index, or row 1, row 2, ...
        **kwargs : passed to :func:`linsep.trace`, such as ``coef_init``
        """
        if getattr(estimator, "update", "single") == "batch":
            raise DataError(
                "An update of the batch rule uses many rows",
                Hint("fit with {} to draw it", {"update": "single"}, again=True),
                code="unsupported",
            )
        rows = planes.numbers_of(X)
        classes, codes = display.two_classes(labels_of(y), "An update")
        found = _updates(run or trace(estimator, X, y, **kwargs), mistake, n_mistakes)
        names = list(feature_names or planes.names_of(X, rows.shape[1], estimator))
        rows = unit_rows(rows) if getattr(estimator, "normalize", False) else rows
        if rows.shape[1] == 1:
            if not estimator.fit_intercept:
                raise DataError(
                    "An update needs two or more weights to be drawn; this model has one weight.",
                    code="unsupported",
                )
            rows, names = augmented(rows), [*names, "constant feature"]
            found = [  # with the intercept as the weight of a feature, and a zero intercept
                Update(*update[:3], *(np.append(part, 0.0) for part in update[3:]))
                for update in found
            ]
        if row_names is None and (labels := row_labels(X)) is not None:
            row_names = [display.literal(f"row {label}") for label in labels]
        return cls(
            updates=found, rows=rows, y=codes, classes=classes, names=names, row_names=row_names,
            steps=steps,
        ).plot(ax)  # fmt: skip

    def _open(self, ax: Any) -> None:
        self._panels = [
            (update, step) for update in self.updates for step in (STEPS if self.steps else ("",))
        ]
        n = len(self._panels)
        if n == 1:
            self.figure_, self.ax_ = display.new_axes(ax)
            self.axes_ = [self.ax_]
            return
        if ax is not None:
            raise DataError(
                f"ax holds one picture, not {n}: omit ax.", code="conflict", option="ax"
            )
        self.figure_, self.axes_ = display.new_grid(n, 3, 3.2, 3.4)
        self.ax_ = self.axes_[0]

    def _draw(self) -> list[Any]:
        kinds = "points examples old_weights old_lines changes reflected new_weights new_lines"
        artists: dict[str, list[Any]] = {f"{kind}_": [] for kind in kinds.split()}
        self.__dict__.update(artists)
        for k, (place, (update, step)) in enumerate(zip(self.axes_, self._panels, strict=True)):
            about = self._draw_update(place, update, step)
            if k % 3 and place.get_ylabel() == self.axes_[k - k % 3].get_ylabel():
                place.set_ylabel("")  # beside an axis of the same name none is needed
        lines = about, density_title(self.rows.shape[0])
        if len(self.axes_) > 1:
            self.figure_.suptitle("\n".join(filter(None, lines)), fontsize="medium")
        else:
            show_title(self.ax_, self.ax_.get_title(), *lines)
        handles = class_handles(artists.pop("points_")[:2], self.rows.shape[0], self.classes)
        handles += [several[-1] for several in artists.values() if several]
        self.legend_ = display.legend(self.axes_[:3][-1], handles)
        return []

    def _draw_update(self, ax: Any, update: Update, step: str) -> str:
        plane = _plane_of(update, self.rows, self.names)
        points = plane.coordinates(self.rows)
        tips = plane.coordinates(np.stack([update.before, update.after])[:, :-1])
        scale = _scale_of(np.vstack([tips, tips[1:] - tips[:1]]), points)
        before, after = scale * tips
        box = box_around(np.vstack([points, np.zeros(2), before, after, after - before]))
        self.points_ += display.draw_rows(ax, points, self.y, self.classes, SIZE)
        self.examples_.append(
            display.draw_rings(ax, points[[update.row]], 4 * SIZE, "-", "the example")
        )
        sides = [
            (before, update.before, ink(), "--", "before", self.old_weights_, self.old_lines_),
            (after, update.after, COLORS[2], "-", "after", self.new_weights_, self.new_lines_),
        ]
        if step in STEPS[::2]:  # one of both
            sides = [sides[step == "after"]]
        for tip, w, color, ls, name, arrows, lines in sides:
            look: dict[str, Any] = {"color": color, "ls": ls}
            if np.any(tip):
                arrows.append(draw_arrow(ax, 0 * tip, tip, label=f"w {name}", **look))
            if step != "update" and np.any(w[:-1]):
                ends = line_ends(*plane.line(w[:-1], w[-1]), *box)
                lines.extend(ax.plot(*ends, linewidth=1.0, label=f"line {name}", **look))
        if step in ("", "update"):  # from the tip of the old weights, and from the origin
            moved = bool(np.any(before))  # else it is wide, to show beside the new weights
            look = {"color": COLORS[5], "linewidth": 1.5 if moved else 4.0, "ls": "-."}
            self.changes_.append(draw_arrow(ax, before, after, label="update", **look))
            if moved:
                look = {"color": COLORS[5], "ls": ":", "label": "update, from the origin"}
                self.reflected_.append(draw_arrow(ax, 0 * before, after - before, **look))
        planes.show_plane(ax, plane.names, *box)
        row = f"row {update.row + 1:,}" if self.row_names is None else self.row_names[update.row]
        said = f"mistake {update.mistake:,}: {step or row}"
        show_title(ax, said, f"arrows × {scale:g}" if scale != 1.0 else "")
        return plane.title


def _updates(trace: Trace, mistake: int, n_mistakes: int) -> list[Update]:
    made = [(one, step.row) for one, step in zip(trace, trace.steps, strict=True) if one.updates]
    if not (1 <= mistake <= len(made) and n_mistakes >= 1):
        raise DataError(
            f"There is no mistake {mistake:,} to draw, or fewer than one of them: "
            f"{counted(len(trace), 'step')} had {len(made):,}.",
            code="bad-option",
            option="mistake",
            value=mistake,
        )
    found = []
    for k, (one, row) in enumerate(made[mistake - 1 :][:n_mistakes], start=mistake):
        change, after = (np.roll(vector[0], -1) for vector in (one.change, one.weights))
        found.append(Update(k, one.round, row, after - change, change, after))
    return found


def _plane_of(update: Update, rows: Any, names: list[str]) -> Plane:
    d = rows.shape[1]
    if d == 2:
        return planes.plane_through(names, rows)
    found: list[np.ndarray] = []
    for vector in (update.before[:-1], update.change[:-1]):
        rest = vector - sum((u @ vector) * u for u in found)
        if np.linalg.norm(rest) > 1e-9 * np.linalg.norm(vector):
            found.append(rest / np.linalg.norm(rest))
    along = "w" if np.any(update.before[:-1]) else "the update"
    return Plane(
        np.zeros(d), *completed(found, rows), in_units(names, f"along {along}", f"across {along}"),
        f"{d:,} features, in the plane of w and the update",
    )  # fmt: skip


def _scale_of(tips: np.ndarray, points: np.ndarray) -> float:
    # a round number that scales arrows to the size of the picture
    longest, reach = float(np.linalg.norm(tips, axis=1).max()), float(np.abs(points).max())
    if not longest or not reach or reach / 5 <= longest <= 2 * reach:
        return 1.0
    power = 10.0 ** np.floor(np.log10(reach / longest))
    return float(power * max(k for k in (1, 2, 5) if k * power <= reach / longest))


class DescentDisplay(Display):
    """The path of one or several descents, on a curve or on contours of J.

    The descents need ``trace=True``.

    Attributes
    ----------
    paths : dict of str to array of shape (steps + 1, 1 or 2), the points of each descent
    grid : list of arrays, coordinates of the points where J is drawn, one array per weight
    values : array of shape (places,) or (rows, columns), J at these points, or None
    heights : dict of str to array of shape (steps + 1,), J at the points of each descent
    curve_ : Line2D of J for one weight, or None
    contours_ : ContourSet of J for two weights, or None
    paths_ : list of Line2D

    Examples
    --------
    >>> from linsep import descent, plot
    >>> J, grad = lambda x: float(x @ x), lambda x: 2 * x
    >>> found = descent.minimize(J, [3.0], grad, learning_rate=0.3, trace=True)
    >>> display = plot.DescentDisplay.from_descent(found, J)
    >>> len(display.paths_[0].get_xdata()) == found.n_iter + 1
    True
    """

    @classmethod
    def from_descent(
        cls, descents: Descent | dict[str, Descent], J: Callable[[np.ndarray], Any] | None, *,
        ax: Any = None,
    ) -> Self:  # fmt: skip
        """Draw descents on the function they minimized.

        Parameters
        ----------
        descents : Descent, or dict of str to Descent
            Of one or two weights with ``trace=True``; several by name, such as their rates
        J : function from an array of shape (weights,) to a number; None for the paths alone
        """
        named = {"path": descents} if isinstance(descents, Descent) else descents
        paths, heights, values = {}, {}, None
        for name, one in named.items():
            if one.path is None or one.values is None or one.x.size > 2:
                raise DataError(
                    "Only descents of one or two weights with trace=True can be drawn.",
                    code="unsupported",
                )
            path = one.path.reshape(len(one.path), -1)
            finite = np.isfinite(path).all(axis=1) & np.isfinite(one.values)
            paths[name], heights[name] = path[finite], one.values[finite]
        grid, places = grid_around(np.concatenate(list(paths.values())), RESOLUTION, 0.25)
        if J is not None:
            shape = next(iter(named.values())).x.shape
            values = np.array([float(J(place.reshape(shape))) for place in places])
            values = values.reshape([axis.size for axis in grid[::-1]])
        return cls(paths=paths, grid=grid, values=values, heights=heights).plot(ax)

    def _draw(self) -> list[Any]:
        one = len(self.grid) == 1
        self.ax_.set_xlabel("weight" if one else "first weight")
        self.ax_.set_ylabel("J" if one else "second weight")
        if one and self.values is not None:
            (self.curve_,) = self.ax_.plot(self.grid[0], self.values, color=ink(), linewidth=1.0)
        elif self.values is not None:  # at equal steps of the root of the height
            low, high = float(self.values.min()), float(self.values.max())
            heights = low + (high - low) * np.linspace(0.0, 1.0, LEVELS + 1)[1:] ** 2
            self.contours_ = self.ax_.contour(
                *self.grid, self.values, levels=heights, cmap=color_map("viridis"), linewidths=0.7
            )
        self.paths_ = []
        for k, (name, path) in enumerate(self.paths.items()):
            self.paths_ += self.ax_.plot(
                path[:, 0], self.heights[name] if one else path[:, 1], linewidth=1.0, markersize=4,
                color=COLORS[(5, 0, 1, 2)[k % 4]], marker=MARKS[k % len(MARKS)],
                label=f"{name}: {len(path) - 1:,} steps",
            )  # fmt: skip
        return self.paths_ if len(self.paths) > 1 else []
