"""A run as an animation: the boundary before and after every update, with a description."""

from collections.abc import Callable, Sequence
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from linsep.errors import DataError, hint
from linsep.estimators._common.labels import label_text
from linsep.learners.proofs import in_its_fit
from linsep.mistake_bounds.margins import unit_rows
from linsep.plot.display import (
    MOST_POINTS,
    Display,
    check_drawable,
    class_handles,
    colors,
    density_title,
    draw_dots,
    draw_rings,
    draw_rows,
    ink,
    legend,
    limits,
    literal,
    new_axes,
    of_features,
    shortened,
)
from linsep.plot.palettes import COLORS
from linsep.plot.plane import (
    box_around,
    completed,
    grid_around,
    in_units,
    mean_of,
    names_of,
    numbers_of,
    plane_through,
    show_plane,
)
from linsep.plot.story import NAME, Frame, Story, check_repeatable, deciding, is_kernel, run_of
from linsep.teaching import Trace
from linsep.validation.labels import labels_of
from linsep.validation.values import check_columns

#: updates that are drawn by default; of more, so many are chosen evenly
MOST_FRAMES = 40
#: places of the grid in each direction, of kernels and of the regions of several classes
RESOLUTION, FINE = 160, 400
#: rows farther from the boundary than so many times the farthest of the last frame are at the edge
MOST_REACH = 2.0
#: colors of an animation, which all frames share
PALETTE = 64
#: seconds of all frames together, if each is shown between the shortest and the longest time
TOTAL, SHORTEST, LONGEST = 45.0, 0.6, 2.0
#: what is said where no boundary is drawn
OUTSIDE = "The picture has no boundary."
#: seconds of the last frame, before the animation begins again
PAUSE = 5.0


class View(NamedTuple):
    """Where the rows and the scores are drawn.

    Attributes
    ----------
    points : array of shape (rows, 2)
    names : pair of str
    title : str
    basis : array or CSR matrix of shape (rows, weights)
        The terms of the scores: the features of the rows, or their kernel values.
    xs, ys : arrays of the coordinates of the grid
    grid : array of shape (places, weights) or None
        The same for the points of the grid, one per row. None: the first coordinate of a row is its
        distance from the boundary, which each update changes.
    length : function of weights without the intercept: the divisor that turns scores into distances
    """

    points: np.ndarray
    names: tuple[str, str]
    title: str
    basis: Any
    xs: np.ndarray
    ys: np.ndarray
    grid: Any
    length: Callable[[np.ndarray], float]

    def scores(self, weights: np.ndarray, basis: Any = None) -> np.ndarray:
        """Return the scores of the rows or other points: shape (rows,), 2-D for several vectors."""
        found = np.asarray((self.basis if basis is None else basis) @ weights[:, 1:].T)
        found = found + weights[:, 0]
        return found[:, 0] if len(weights) == 1 else found

    def places(self, weights: np.ndarray) -> np.ndarray:
        """Return where the rows are drawn with these weights."""
        if self.grid is not None:
            return self.points
        long = self.length(weights[0, 1:])
        away = self.scores(weights) / long if long else np.zeros(len(self.points))
        return np.column_stack([away, self.points[:, 1]])


class RunDisplay(Display):
    """Animation of the run of an online classifier, with a frame for every update.

    Each frame shows the boundary before the update (dashed) and after it, the regions of the
    classes, a thick ring around the row that caused the update, thin rings around the rows on the
    wrong side after it, and a sentence that describes the step. The first frame is before the first
    row; the last shows why the run ended. Two features are drawn directly; a single feature is
    drawn on a line for each class. With more features, two classes are drawn by their distances
    from the boundary, which every update changes, so each row is on the side of its score. The
    weights are the last ones, regardless of ``keep``. Create it with :meth:`from_estimator`, or
    with the method ``animate`` of a trace.

    Parameters
    ----------
    trace : Trace
        The run.
    view : where rows and scores are drawn
    frames : list of Frame
    y : int array of shape (rows,)
        The index of each row's class among the sorted classes.
    classes : array of labels
    decide : function from scores to class indices; -1 for a row on neither side

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    frame_ : int, the frame that is shown
    points_ : list of PathCollection, one per class; list of PolyCollection, the density, for many
        rows
    line_, old_line_ : ContourSet of the boundary of two classes after and before the update, or
        None
    example_ : PathCollection, the ring around the row of the update, or None
    wrong_ : PathCollection, rings around the rows on the wrong side; over a density, dots for at
        most 1,000 of them
    regions_ : ContourSet or AxesImage of the classes, or None
    legend_ : Legend

    Examples
    --------
    >>> from linsep import Perceptron, datasets, trace
    >>> X, y = datasets.load_four_points(return_X_y=True)
    >>> run = trace(Perceptron(fit_intercept=False, shuffle=False), X, y).animate()
    >>> [frame.after.tolist() for frame in run.frames[:3]]
    [[[0.0, 0.0, 0.0]], [[0.0, 4.0, 0.0]], [[0.0, 3.0, -1.0]]]
    """

    trace: Trace
    view: View
    frames: list[Frame]
    y: np.ndarray
    classes: np.ndarray
    decide: Callable[[np.ndarray], np.ndarray]

    @classmethod
    def from_trace(
        cls,
        trace: Trace,
        X: Any,
        y: Any,
        *,
        feature_names: Sequence[Any] | None = None,
        features: Sequence[int | str] | None = None,
        max_frames: int = MOST_FRAMES,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the run of a trace.

        Parameters
        ----------
        trace : Trace
            What :func:`linsep.trace` returned.
        X, y : its rows and their labels
        feature_names : names of the columns, default None
            None: the columns of a data frame, or x0, x1, ...
        features : two numbers or names, default None
            The features to draw; the others are fixed at their means.
        max_frames : int, default=40
            Maximum number of updates to draw. If there are more, this many are chosen evenly,
            including the last, and the frames say so.
        ax : matplotlib Axes, default None
        **kwargs : passed to :meth:`plot`

        Raises
        ------
        DataError
            For several classes and more than two features, unless ``features`` names two.
        """
        rows, model = numbers_of(X), trace.estimator
        rows = unit_rows(rows) if getattr(model, "normalize", False) else rows
        names = list(map(str, feature_names or names_of(X, rows.shape[1])))
        view = view_of(rows, y, names, features, len(trace.start))
        return cls._of(trace, view, y, max_frames).plot(ax, **kwargs)

    @classmethod
    @of_features
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        coef_init: Any = None,
        intercept_init: Any = None,
        features: Sequence[int | str] | None = None,
        max_frames: int = MOST_FRAMES,
        row_names: Sequence[Any] | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the run that made a fitted model.

        The run is repeated by :func:`linsep.trace` and drawn if it makes the same mistakes in every
        pass and ends with the same weights.

        Parameters
        ----------
        estimator : fitted linear online classifier of this library
        X, y : the training rows in their order, and their labels
        sample_weight, coef_init, intercept_init : as in the fit
        features, max_frames, ax : as for :meth:`from_trace`
        row_names : names of the rows, default None
            None: the index of a data frame, or 0, 1, ...
        **kwargs : passed to :meth:`plot`

        Raises
        ------
        DataError
            For rows other than the training rows, for a run that cannot be repeated, and as in
            :meth:`from_trace`.
        """
        check_drawable(
            estimator, "mistakes_", "makes no updates to show; use an online linear classifier."
        )
        check_repeatable(in_its_fit(estimator))
        check_columns(estimator, X)
        model, names = in_its_fit(estimator), names_of(X, estimator.n_features_in_, estimator)
        start = {"coef_init": coef_init, "intercept_init": intercept_init}
        made = run_of(model, X, y, start | {
            "sample_weight": sample_weight, "row_names": row_names, "feature_names": names,
        })  # fmt: skip
        if is_kernel(model):
            rows = numbers_of(X)
            view = view_of(
                rows, y, names, features, len(made.start), partial(model.kernel_, Y=rows)
            )
            return cls._of(made, view, y, max_frames).plot(ax, **kwargs)
        return cls.from_trace(
            made, X, y, feature_names=names, features=features, max_frames=max_frames, ax=ax,
            **kwargs,
        )  # fmt: skip

    @classmethod
    def _of(cls, trace: Trace, view: View, y: Any, max_frames: int) -> Self:
        """The display of a trace in a view."""
        if max_frames < 1:
            raise DataError(
                f"max_frames is {max_frames}: it must be a whole number of at least 1.",
                code="bad-option",
                option="max_frames",
                value=max_frames,
            )
        classes, codes = np.unique(labels_of(y), return_inverse=True)
        decide = deciding(trace.estimator, classes)
        frames = list(Story(trace, view.basis.shape[1], classes, decide).frames(max_frames))
        return cls(trace=trace, view=view, frames=frames, y=codes, classes=classes, decide=decide)

    def plot(self, ax: Any = None, *, frame: int = -1, size: float = 30.0) -> Self:
        """Draw a frame on ``ax`` or on new axes.

        Parameters
        ----------
        ax : matplotlib Axes, default None
        frame : int, default=-1
            Which frame, counted from 0; negative numbers count from the end.
        size : float, default=30
            Area of a point, in square points.
        """
        self.figure_, self.ax_ = new_axes(ax)
        if ax is None:
            self.figure_.set_size_inches(7.6, 5.4)
        self._size, self._moving = size, list[Any]()
        self._xs, self._ys, self._far = self.view.xs, self.view.ys, False
        if self.view.grid is None:
            self._xs = self._reach() * np.array([-1.08, 1.08])
        self.points_ = draw_rows(
            self.ax_, self._places(self.frames[-1]), self.y, self.classes, size
        )
        show_plane(self.ax_, self.view.names, self._xs, self._ys)
        if self.view.names[1] == "":  # a line for each class
            self.ax_.set_aspect("auto")
            self.ax_.set_yticks(range(len(self.classes)), self._names())
            self.ax_.set_ylabel("class")
        elif self.view.grid is None:
            self.ax_.set_aspect("auto")
            more = ", or more at the edges" * self._far
            self.ax_.set_xlabel(self.view.names[0] + more)
        self.legend_ = legend(self.ax_, self._handles())
        self.show(frame)
        if ax is None:
            self.legend_.get_texts()[-1].set_text(_wrong_side(len(self.y)))
            self.figure_.draw_without_rendering()
            self.figure_.set_layout_engine("none")  # no frame moves the axes
        return self.show(frame)

    def show(self, frame: int) -> Self:
        """Show a frame.

        Parameters
        ----------
        frame : int
            Counted from 0; negative numbers count from the end.
        """
        self.frame_ = range(len(self.frames))[frame]
        for artist in self._moving:
            artist.remove()
        self._moving = []
        now = self.frames[self.frame_]
        places, wrong = self._places(now), self._wrong(now)
        if self.view.grid is None:  # which every update moves
            for artist in self.points_:
                artist.remove()
            self.points_ = draw_rows(self.ax_, places, self.y, self.classes, self._size)
        self._draw_regions(now)
        self._draw_rings(now, places, wrong)
        self.legend_.get_texts()[-1].set_text(_wrong_side(int(np.count_nonzero(wrong))))
        about = "; ".join(filter(None, [self.view.title, density_title(len(self.y))]))
        first, what, change = now.said
        if self._outside:
            change = f"{change} {OUTSIDE}".lstrip()
        title = "\n".join([*filter(None, [about]), first, what, change])
        self.ax_.set_title(literal(title), fontsize="medium", loc="left")
        return self

    def _reach(self) -> float:
        """The largest distance from the boundary drawn; rows farther away are at the edge."""
        found = [float(np.abs(self.view.places(one.after)[:, 0]).max()) for one in self.frames]
        self._far = max(found) > MOST_REACH * found[-1] > 0
        return MOST_REACH * found[-1] if self._far else max(found) or 1.0

    def _places(self, frame: Frame) -> np.ndarray:
        """Where the rows are drawn at the end of a frame."""
        places = self.view.places(frame.after)
        if self.view.grid is None:
            places[:, 0] = np.clip(places[:, 0], *(self._xs / 1.08))
        return places

    def _wrong(self, frame: Frame) -> np.ndarray:
        """Which rows are on the wrong side, or on neither side, at the end of a frame."""
        return self.decide(self.view.scores(frame.after)) != self.y

    def _draw_regions(self, now: Frame) -> None:
        """The regions after an update, and the boundary before and after it."""
        self.regions_: Any = None
        self._outside = False
        self.line_: Any = None
        self.old_line_: Any = None
        if len(self.classes) > 2:
            self._draw_several(now.after)
            return
        self.regions_ = self._halves(now.after)
        self.line_ = self._boundary(now.after, {"linewidths": 1.8})
        self._outside = self.line_ is None and bool(now.after[:, 1:].any())
        if now.rows and self.view.grid is not None:
            self.old_line_ = self._boundary(now.before, {"linewidths": 1.2, "linestyles": "--"})

    def _halves(self, weights: np.ndarray) -> Any:
        """The sides of two classes; None if all weights are zero and there is no boundary."""
        scores = self._on_grid(weights)
        most = float(np.abs(scores).max())
        if not most:
            return None
        low, high = (int(code) for code in self.decide(np.array([-1.0, 1.0])))
        palette = colors(2)
        drawn = self.ax_.contourf(
            self._xs, self._ys, scores, levels=[-1.01 * most, 0.0, 1.01 * most],
            colors=[palette[low], palette[high]], alpha=0.2, zorder=0,
        )  # fmt: skip
        self._moving.append(drawn)
        return drawn

    def _on_grid(self, weights: np.ndarray) -> np.ndarray:
        """The scores of two classes on the grid."""
        if self.view.grid is None:
            across = self._xs if np.any(weights[0, 1:]) else 0 * self._xs
            return np.tile(across, (len(self._ys), 1))
        return self.view.scores(weights, self.view.grid).reshape(len(self._ys), len(self._xs))

    def _boundary(self, weights: np.ndarray, look: dict[str, Any]) -> Any:
        """Where the scores of two classes are zero, or None."""
        scores = self._on_grid(weights)
        if not scores.min() < 0 < scores.max():
            return None
        drawn = self.ax_.contour(
            self._xs, self._ys, scores, levels=[0.0], colors=[ink()], zorder=2.5, **look
        )
        self._moving.append(drawn)
        return drawn

    def _draw_several(self, weights: np.ndarray) -> None:
        """The regions of several classes."""
        from matplotlib.colors import ListedColormap

        n = len(self.classes)
        codes = self.decide(self.view.scores(weights, self.view.grid))
        codes = codes.reshape(len(self._ys), len(self._xs))
        if codes.max() < 0:
            return
        self.regions_ = self.ax_.imshow(
            np.ma.masked_less(codes, 0), cmap=ListedColormap(colors(n)), vmin=-0.5, vmax=n - 0.5,
            extent=(*self._xs[[0, -1]], *self._ys[[0, -1]]), origin="lower", alpha=0.25, zorder=0,
            aspect=self.ax_.get_aspect(), interpolation="nearest",
        )  # fmt: skip
        self._moving.append(self.regions_)

    def _draw_rings(self, now: Frame, places: np.ndarray, wrong: np.ndarray) -> None:
        if len(self.y) > MOST_POINTS:
            self.wrong_ = draw_dots(self.ax_, places[wrong], "")
        else:
            self.wrong_ = draw_rings(self.ax_, places[wrong], 3.2 * self._size, "-", "", width=0.8)
        self._moving.append(self.wrong_)
        self.example_: Any = None
        if now.rows:
            self.example_ = draw_rings(
                self.ax_, places[now.rows], 9.0 * self._size, "-", "", width=2.2
            )
            self.example_.set_edgecolor(COLORS[5])
            self._moving.append(self.example_)

    def _names(self) -> list[str]:
        return [literal(shortened(label_text(label), NAME)) for label in self.classes]

    def _handles(self) -> list[Any]:
        """What the legend names, in every frame."""
        from matplotlib.lines import Line2D

        ring: dict[str, Any] = {"marker": "o", "ls": "", "markerfacecolor": "none"}
        many = len(self.y) > MOST_POINTS
        handles = class_handles(self.points_, len(self.y), self.classes)
        if len(self.classes) == 2:
            handles.append(Line2D([], [], color=ink(), linewidth=1.8, label="boundary"))
            if self.view.grid is not None:
                before = Line2D(
                    [], [], color=ink(), linewidth=1.2, ls="--", label="before the update"
                )
                handles.append(before)
        return [
            *handles,
            Line2D([], [], markeredgecolor=COLORS[5], markersize=13, markeredgewidth=2.2,
                   label="row of the update", **ring),
            Line2D([], [], markeredgecolor=ink(), markersize=3 if many else 8, markeredgewidth=0.8,
                   label=_wrong_side(len(self.y)), **ring),
        ]  # fmt: skip

    def durations(self, seconds: float | None = None) -> list[int]:
        """Return for how many milliseconds each frame is shown."""
        n = len(self.frames)
        each = min(max(TOTAL / n, SHORTEST), LONGEST) if seconds is None else seconds
        return [10 * round(100 * time) for time in [*[each] * (n - 1), max(PAUSE, each)]]

    def images(self, dpi: float = 100.0) -> list[Any]:
        """Return the frames as images of Pillow; the frame that is shown stays the same."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from PIL import Image

        figure, shown, found = self.figure_, self.frame_, []
        before = figure.canvas, figure.dpi
        try:
            figure.dpi, canvas = dpi, FigureCanvasAgg(figure)
            for k in range(len(self.frames)):
                self.show(k)
                canvas.draw()
                found.append(Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB"))
        finally:
            figure.set_canvas(before[0])
            figure.dpi = before[1]
            self.show(shown)
        return found

    def save(  # type: ignore[override]
        self, path: Any, *, format: str | None = None, seconds: float | None = None,
        dpi: float = 100.0,
    ) -> None:  # fmt: skip
        """Save the animation as a GIF, which loops forever.

        Parameters
        ----------
        path : str, Path or binary file
        format : "gif", default None
        seconds : float, default None
            Display time of each frame. None: 45 seconds in total, but between 0.6 and 2 per frame.
            The last frame is shown for at least 5 seconds.
        dpi : float, default=100
            Pixels per inch.

        Raises
        ------
        DataError
            For a file with another extension.
        """
        ending = Path(path).suffix.lower().lstrip(".") if isinstance(path, str | Path) else "gif"
        if (format or ending) != "gif":
            raise DataError(
                "An animation is a .gif file: show(k) draws frame k, and figure_.savefig writes it "
                "as a picture.",
                code="wrong-format",
                option="format",
                value=format or ending,
            )
        made = self._gif(seconds, dpi)
        if hasattr(path, "write"):
            path.write(made)
        else:
            Path(path).write_bytes(made)

    def _gif(self, seconds: float | None, dpi: float) -> bytes:
        """The animation as a GIF."""
        from PIL import Image

        frames, file = self.images(dpi), BytesIO()
        wide, high = frames[0].size
        chosen = [frames[k] for k in sorted({0, len(frames) // 2, len(frames) - 1})]
        sample = Image.new("RGB", (wide, high * len(chosen)))
        for k, one in enumerate(chosen):
            sample.paste(one, (0, k * high))
        palette = sample.quantize(PALETTE, dither=Image.Dither.NONE)
        first, *rest = (one.quantize(palette=palette, dither=Image.Dither.NONE) for one in frames)
        first.save(
            file, format="GIF", save_all=True, append_images=rest, loop=0, optimize=False,
            duration=self.durations(seconds),
        )  # fmt: skip
        return file.getvalue()

    def _repr_html_(self) -> str:
        """The animation in a notebook; only its last frame for readers who prefer less motion."""
        from base64 import b64encode

        still = b64encode(self.show(-1)._repr_png_()).decode()
        moving = b64encode(self._gif(None, 100.0)).decode()
        said = "A run, update by update"
        return (
            '<picture><source media="(prefers-reduced-motion: reduce)" '
            f'srcset="data:image/png;base64,{still}">'
            f'<img alt="{said}" style="max-width:100%" src="data:image/gif;base64,{moving}">'
            "</picture>"
        )


def _wrong_side(count: int) -> str:
    return f"on the wrong side: {count:,}"


def view_of(
    rows: Any, y: Any, names: list[str], features: Sequence[int | str] | None, vectors: int,
    kernel: Callable[[Any], Any] | None = None,
) -> View:  # fmt: skip
    """Return where to draw rows, for a run with this number of weight vectors.

    ``kernel`` returns the kernel values of rows with the rows of the run; None: scores are linear.
    """
    (n, d), codes = rows.shape, np.unique(labels_of(y), return_inverse=True)[1]
    basis = rows if kernel is None else kernel(rows)
    length: Any = np.linalg.norm if kernel is None else partial(_length, basis)
    if d == 1:
        points = np.column_stack([_column(rows), codes])
        xs, ys = (
            np.linspace(*limits(points[:, 0]), 2 * RESOLUTION),
            np.array(limits(points[:, 1], 0.5)),
        )
        grid = np.tile(xs, 2)[:, None]
        grid = grid if kernel is None else kernel(grid)
        return View(points, (names[0], ""), "", basis, xs, ys, grid, length)
    if d == 2 or features is not None:
        plane = plane_through(names, rows, features)
        points = plane.coordinates(rows)
        corners = np.column_stack(box_around(points))
        fine = FINE if vectors > 1 else 2  # of two classes the corners have the scores of all
        (xs, ys), places = grid_around(corners, fine if kernel is None else RESOLUTION, 0.0)
        grid = plane.points(places)
        grid = grid if kernel is None else kernel(grid)
        return View(points, plane.names, plane.title, basis, xs, ys, grid, length)
    if vectors > 1:
        raise DataError(
            f"A run of several classes is drawn in two features, but these rows have {d:,}",
            hint("name two with {}", features=None),
            code="needs-option",
            option="features",
        )
    _, up = completed([], rows)
    points = np.column_stack([np.zeros(n), np.asarray(rows @ up) - mean_of(rows) @ up])
    ends = np.array(limits(points[:, 1]))
    said = f"{d:,} features: the distance from the boundary, and the widest direction"
    names_of_plane = in_units(names, "distance from the boundary", "widest direction")
    return View(points, names_of_plane, said, basis, ends, ends, None, length)


def _column(rows: Any) -> np.ndarray:
    return np.asarray(rows.todense() if hasattr(rows, "todense") else rows).ravel()


def _length(gram: np.ndarray, duals: np.ndarray) -> float:
    """Return the norm of a sum of examples in the feature space of a kernel."""
    return float(np.sqrt(max(0.0, duals @ gram @ duals)))
