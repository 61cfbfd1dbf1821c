"""A run as an animation: the boundary before and after every update, with a description."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from io import BytesIO
from pathlib import Path
from textwrap import wrap
from typing import Any, NamedTuple, Self

import numpy as np

from linsep import textbook, trace as traced
from linsep.errors import DataError, Hint, hint
from linsep.estimators.labels import is_turned, label_text, labeled
from linsep.learners.proofs import in_its_fit, why_not_again
from linsep.learners.state import decision, predicted
from linsep.mistake_bounds.margins import unit_rows
from linsep.plot.display import (
    MOST_POINTS,
    Display,
    check_drawable,
    class_handles,
    colors,
    cut,
    density_title,
    draw_mistakes,
    draw_rings,
    draw_rows,
    ink,
    legend,
    limits,
    literal,
    make_readable,
    new_axes,
    of_features,
    with_minus,
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
from linsep.rows.arrays import ArrayStream
from linsep.teaching import (
    MOST_NUMBERS,
    Trace,
    index_of,
    trace_rows,
    vector_names,
    vectors_of,
    visiting_orders,
)
from linsep.validation.checks import check_columns, labels_of

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
#: seconds of the last frame, before the animation begins again
PAUSE = 5.0
#: characters in a line of the text above a picture, and in a name in it
LINE, NAME = 76, 24
#: weights that a sentence lists; of more it gives the length
MOST_LISTED = 4
#: relative difference of weights that are computed in another order
ROUNDING = 1e-9
ARROW = "\N{RIGHTWARDS ARROW}"


class Frame(NamedTuple):
    """One frame of a run.

    Attributes
    ----------
    round : int, number of examples processed when the frame ends; 0 at the start
    rows : list of int
        The rows that correct the weights; empty in the first and the last frame.
    before, after : arrays of shape (weight vectors, weights)
        The weights, the intercept first.
    said : tuple of str, the position in the run, what happened, and what changed
    """

    round: int
    rows: list[int]
    before: np.ndarray
    after: np.ndarray
    said: tuple[str, str, str]


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

    Attributes
    ----------
    trace : Trace, the run
    view : where rows and scores are drawn
    frames : list of Frame
    y, classes : arrays, the index of each row's class among the sorted classes, and the classes
    decide : function from scores to class indices; -1 for a row on neither side
    frame_ : int, the frame that is shown
    points_ : list of PathCollection, one per class; of many rows list of PolyCollection
    line_, old_line_ : ContourSet of the boundary of two classes after and before the update, or
        None
    example_ : PathCollection, the ring around the row of the update, or None
    wrong_ : PathCollection, rings around the rows on the wrong side, or dots in some of many
    regions_ : ContourSet or AxesImage of the classes, or None

    Examples
    --------
    >>> from linsep import Perceptron, datasets, trace
    >>> X, y = datasets.load_four_points(return_X_y=True)
    >>> run = trace(Perceptron(fit_intercept=False, shuffle=False), X, y).animate()
    >>> [frame.after.tolist() for frame in run.frames[:3]]
    [[[0.0, 0.0, 0.0]], [[0.0, 4.0, 0.0]], [[0.0, 3.0, -1.0]]]
    """

    @classmethod
    def from_trace(
        cls, trace: Trace, X: Any, y: Any, *, feature_names: Sequence[Any] | None = None,
        features: Sequence[int | str] | None = None, max_frames: int = MOST_FRAMES, ax: Any = None,
        kernel: Any = None, **kwargs: Any,
    ) -> Self:  # fmt: skip
        """Draw the run of a trace.

        Parameters
        ----------
        trace : Trace, what :func:`linsep.trace` returned
        X, y : its rows and their labels
        feature_names : names of the columns, default those of a data frame, or x0, x1, ...
        features : two numbers or names, default None
            The features to draw; the others are fixed at their means.
        max_frames : int, default=40
            Maximum number of updates to draw. If there are more, this many are chosen evenly,
            including the last, and the frames say so.
        kernel : function of rows, default None
            Their kernel values with the rows of the run, if weights belong to examples.

        Raises
        ------
        DataError
            For several classes and more than two features, unless ``features`` names two.
        """
        if max_frames < 1:
            raise DataError(
                f"max_frames is {max_frames}: it must be a whole number of at least 1.",
                code="bad-option",
                option="max_frames",
                value=max_frames,
            )
        rows, model = numbers_of(X), trace.estimator
        rows = unit_rows(rows) if getattr(model, "normalize", False) else rows
        names = list(map(str, feature_names or names_of(X, rows.shape[1])))
        classes, codes = np.unique(labels_of(y), return_inverse=True)
        view = _view_of(rows, codes, names, features, len(trace.start), kernel)
        decide = deciding(model, classes)
        frames = list(_Story(trace, view.basis.shape[1], classes, decide).frames(max_frames))
        return cls(
            trace=trace, view=view, frames=frames, y=codes, classes=classes, decide=decide
        ).plot(ax, **kwargs)

    @classmethod
    @of_features
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, sample_weight: Any = None, coef_init: Any = None,
        intercept_init: Any = None, row_names: Sequence[Any] | None = None, **kwargs: Any,
    ) -> Self:  # fmt: skip
        """Draw the run that made a fitted model.

        The run is repeated by :func:`linsep.trace` and drawn if it makes the same mistakes in every
        pass and ends with the same weights.

        Parameters
        ----------
        estimator : fitted linear online classifier or kernel perceptron
        X, y : the training rows in their order, and their labels
        sample_weight, coef_init, intercept_init : as in the fit
        row_names : names of the rows, default the index of a data frame, or 0, 1, ...
        **kwargs : as for :meth:`from_trace`

        Raises
        ------
        DataError
            For rows other than the training rows, for a run that cannot be repeated, and as in
            :meth:`from_trace`.
        """
        check_drawable(
            estimator, "mistakes_", "makes no updates to show; use an online linear classifier."
        )
        model = in_its_fit(estimator)
        check_repeatable(model)
        check_columns(estimator, X)
        names = names_of(X, estimator.n_features_in_, estimator)
        made = run_of(model, X, y, sample_weight, row_names, {
            "coef_init": coef_init, "intercept_init": intercept_init, "feature_names": names,
        })  # fmt: skip
        if is_kernel(model):
            kwargs["kernel"] = partial(model.kernel_, Y=numbers_of(X))
        return cls.from_trace(made, X, y, feature_names=names, **kwargs)

    def plot(self, ax: Any = None, *, frame: int = -1, size: float = 30.0) -> Self:
        """Draw a frame on ``ax`` or on new axes.

        Parameters
        ----------
        frame : int, default=-1
            Which frame, counted from 0; negative numbers count from the end.
        """
        self.figure_, self.ax_ = new_axes(ax)
        self._size, self._moving = size, list[Any]()
        self._xs, self._ys, self._lines, far = self.view.xs, self.view.ys, 0, False
        if self.view.grid is None:
            found = [float(np.abs(self.view.places(one.after)[:, 0]).max()) for one in self.frames]
            far = max(found) > MOST_REACH * found[-1] > 0
            reach = MOST_REACH * found[-1] if far else max(found) or 1.0
            self._xs = reach * np.array([-1.08, 1.08])
        self.points_ = draw_rows(
            self.ax_, self._places(self.frames[-1]), self.y, self.classes, size
        )
        show_plane(self.ax_, self.view.names, self._xs, self._ys)
        if self.view.names[1] == "":  # a line for each class
            names = [literal(name) for name in cut(list(map(label_text, self.classes)), NAME)]
            self.ax_.set_aspect("auto")
            self.ax_.set_yticks(range(len(self.classes)), names)
            self.ax_.set_ylabel("class")
        elif self.view.grid is None:
            self.ax_.set_aspect("auto")
            self.ax_.set_xlabel(self.view.names[0] + ", or more at the edges" * far)
        self.legend_ = legend(self.ax_, self._handles())
        if ax is None:  # no frame moves the axes
            self._lines = max(len(self._title(one).split("\n")) for one in self.frames) + 1
            self.show(frame)
            self.legend_.get_texts()[-1].set_text(_wrong_side(len(self.y)))
            self.figure_.draw_without_rendering()
            self.figure_.set_layout_engine("none")
        return self.show(frame)

    def _title(self, now: Frame) -> str:
        """The text above a frame."""
        about = "; ".join(filter(None, [self.view.title, density_title(len(self.y))]))
        return "\n".join(part for line in (about, *now.said) for part in wrap(line, LINE))

    def show(self, frame: int) -> Self:
        """Show a frame, counted from 0; negative numbers count from the end."""
        self.frame_ = range(len(self.frames))[frame]
        for artist in self._moving:
            artist.remove()
        self._moving = []
        now = self.frames[self.frame_]
        places = self._places(now)
        wrong = self.decide(self.view.scores(now.after)) != self.y
        if self.view.grid is None:  # which every update moves
            for artist in self.points_:
                artist.remove()
            self.points_ = draw_rows(self.ax_, places, self.y, self.classes, self._size)
        self.regions_ = self.line_ = self.old_line_ = self.example_ = None
        title = self._title(now)
        if len(self.classes) > 2:
            self._draw_several(now.after)
        else:
            self.regions_ = self._draw_sides(now.after)
            self.line_ = self._boundary(now.after, {"linewidths": 1.8})
            if now.rows and self.view.grid is not None:
                self.old_line_ = self._boundary(now.before, {"linewidths": 1.2, "linestyles": "--"})
            if self.line_ is None and now.after[:, 1:].any():
                title += "\nThe picture has no boundary."
        self.wrong_ = draw_mistakes(self.ax_, places[wrong], len(self.y), 3.2 * self._size, "")
        self._moving.append(self.wrong_)
        if now.rows:
            self.example_ = draw_rings(
                self.ax_, places[now.rows], 9.0 * self._size, "-", "", width=2.2
            )
            self.example_.set_edgecolor(COLORS[5])
            self._moving.append(self.example_)
        self.legend_.get_texts()[-1].set_text(_wrong_side(int(np.count_nonzero(wrong))))
        title += "\n" * (self._lines - 1 - title.count("\n"))
        make_readable(self.ax_.set_title(literal(title), fontsize="medium", loc="left"))
        return self

    def _places(self, frame: Frame) -> np.ndarray:
        """Where the rows are drawn at the end of a frame."""
        places = self.view.places(frame.after)
        if self.view.grid is None:
            places[:, 0] = np.clip(places[:, 0], *(self._xs / 1.08))
        return places

    def _on_grid(self, weights: np.ndarray) -> np.ndarray:
        """The scores of two classes on the grid."""
        if self.view.grid is None:
            across = self._xs if np.any(weights[0, 1:]) else 0 * self._xs
            return np.tile(across, (len(self._ys), 1))
        return self.view.scores(weights, self.view.grid).reshape(len(self._ys), len(self._xs))

    def _draw_sides(self, weights: np.ndarray) -> Any:
        """The sides of two classes; None if all weights are zero and there is no boundary."""
        scores = self._on_grid(weights)
        most = float(np.abs(scores).max())
        if not most:
            return None
        palette = colors(2)
        sides = [palette[int(code)] for code in self.decide(np.array([-1.0, 1.0]))]
        self._moving.append(
            self.ax_.contourf(
                self._xs, self._ys, scores, levels=[-1.01 * most, 0.0, 1.01 * most], colors=sides,
                alpha=0.2, zorder=0,
            )
        )  # fmt: skip
        return self._moving[-1]

    def _boundary(self, weights: np.ndarray, look: dict[str, Any]) -> Any:
        """Where the scores of two classes are zero, or None."""
        scores = self._on_grid(weights)
        if not scores.min() < 0 < scores.max():
            return None
        self._moving.append(
            self.ax_.contour(
                self._xs, self._ys, scores, levels=[0.0], colors=[ink()], zorder=2.5, **look
            )
        )
        return self._moving[-1]

    def _draw_several(self, weights: np.ndarray) -> None:
        """The regions of several classes."""
        from matplotlib.colors import ListedColormap

        n = len(self.classes)
        codes = self.decide(self.view.scores(weights, self.view.grid))
        codes = codes.reshape(len(self._ys), len(self._xs))
        if codes.max() >= 0:
            self.regions_ = self.ax_.imshow(
                np.ma.masked_less(codes, 0), cmap=ListedColormap(colors(n)), vmin=-0.5,
                vmax=n - 0.5, extent=(*self._xs[[0, -1]], *self._ys[[0, -1]]), origin="lower",
                alpha=0.25, zorder=0, aspect=self.ax_.get_aspect(), interpolation="nearest",
            )  # fmt: skip
            self._moving.append(self.regions_)

    def _handles(self) -> list[Any]:
        """What the legend names, in every frame."""
        from matplotlib.lines import Line2D

        ring: dict[str, Any] = {"marker": "o", "ls": "", "markerfacecolor": "none"}
        handles = class_handles(self.points_, len(self.y), self.classes)
        if len(self.classes) == 2:
            handles.append(Line2D([], [], color=ink(), linewidth=1.8, label="boundary"))
        if len(self.classes) == 2 and self.view.grid is not None:
            before = Line2D([], [], color=ink(), linewidth=1.2, ls="--", label="before the update")
            handles.append(before)
        return [
            *handles,
            Line2D([], [], markeredgecolor=COLORS[5], markersize=13, markeredgewidth=2.2,
                   label="row of the update", **ring),
            Line2D([], [], markeredgecolor=ink(), markeredgewidth=0.8,
                   markersize=3 if len(self.y) > MOST_POINTS else 8,
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
        from PIL import Image

        ending = Path(path).suffix.lower().lstrip(".") if isinstance(path, str | Path) else "gif"
        if (format or ending) != "gif":
            raise DataError(
                "An animation is a .gif file: show(k) draws frame k, and figure_.savefig writes it "
                "as a picture.",
                code="wrong-format",
                option="format",
                value=format or ending,
            )
        frames, file = self.images(dpi), BytesIO()
        n, (wide, high) = len(frames), frames[0].size
        chosen = [frames[k] for k in sorted({0, n // 2, n - 1})]
        sample = Image.new("RGB", (wide, high * len(chosen)))
        for k, one in enumerate(chosen):
            sample.paste(one, (0, k * high))
        palette = sample.quantize(PALETTE, dither=Image.Dither.NONE)
        first, *rest = (one.quantize(palette=palette, dither=Image.Dither.NONE) for one in frames)
        how = {"save_all": True, "append_images": rest, "loop": 0, "optimize": False}
        first.save(file, format="GIF", duration=self.durations(seconds), **how)
        if hasattr(path, "write"):
            path.write(file.getvalue())
        else:
            Path(path).write_bytes(file.getvalue())

    def _repr_html_(self) -> str:
        """The animation in a notebook; only its last frame for readers who prefer less motion."""
        from base64 import b64encode

        moving = BytesIO()
        self.save(moving)
        still = b64encode(self.show(-1)._repr_png_()).decode()
        return (
            '<picture><source media="(prefers-reduced-motion: reduce)" '
            f'srcset="data:image/png;base64,{still}">'
            '<img alt="A run, update by update" style="max-width:100%" '
            f'src="data:image/gif;base64,{b64encode(moving.getvalue()).decode()}"></picture>'
        )


def _wrong_side(count: int) -> str:
    return f"on the wrong side: {count:,}"


def _view_of(
    rows: Any, codes: np.ndarray, names: list[str], features: Sequence[int | str] | None,
    vectors: int, kernel: Callable[[Any], Any] | None,
) -> View:  # fmt: skip
    """Return where to draw rows, for a run with this number of weight vectors.

    ``kernel`` returns the kernel values of rows with the rows of the run; None: scores are linear.
    """
    n, d = rows.shape
    terms = kernel or (lambda places: places)
    basis = terms(rows)

    def length(weights: np.ndarray) -> float:
        if kernel is None:
            return float(np.linalg.norm(weights))
        # of a sum of examples in the feature space of the kernel
        return float(np.sqrt(max(0.0, weights @ basis @ weights)))

    if d == 1:
        column = np.asarray(rows.todense() if hasattr(rows, "todense") else rows).ravel()
        points = np.column_stack([column, codes])
        xs, ys = np.linspace(*limits(column), 2 * RESOLUTION), np.array(limits(codes, 0.5))
        grid = terms(np.tile(xs, 2)[:, None])
        return View(points, (names[0], ""), "", basis, xs, ys, grid, length)
    if d == 2 or features is not None:
        plane = plane_through(names, rows, features)
        points = plane.coordinates(rows)
        corners = np.column_stack(box_around(points))
        fine = FINE if vectors > 1 else 2  # of two classes the corners have the scores of all
        (xs, ys), places = grid_around(corners, RESOLUTION if kernel else fine, 0.0)
        grid = terms(plane.points(places))
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
    axes = in_units(names, "distance from the boundary", "widest direction")
    return View(points, axes, said, basis, ends, ends, None, length)


class _Story:
    """The frames of a run, one for every update.

    ``width`` is the number of weights besides the intercept; any others are always zero.
    """

    def __init__(
        self, trace: Trace, width: int, classes: np.ndarray,
        decide: Callable[[np.ndarray], np.ndarray],
    ):  # fmt: skip
        self.trace, self.width, self.decide = trace, width, decide
        self.classes = list(map(with_minus, cut(list(map(label_text, classes)), NAME)))
        model = trace.estimator
        self.vectors = vector_names(self.classes, model.multiclass)
        self.batch = getattr(model, "update", "single") == "batch"
        ends = *trace.start, *trace[-1].weights
        learns = getattr(model, "fit_intercept", False) or any(vector[0] for vector in ends)
        self.listed = slice(0 if learns else 1, None)

    def frames(self, most: int) -> Iterator[Frame]:
        """Yield the start, at most this many updates, and the end."""
        trace = self.trace
        updates = [k for k, one in enumerate(trace) if one.updates]
        chosen = np.unique(np.linspace(1, len(updates), min(most, len(updates))).round())
        shown = f" ({len(chosen):,} drawn)" if len(chosen) < len(updates) else ""

        def where(number: int, k: int) -> str:
            passed = trace[max(k, 0)].pass_number
            return (
                f"Update {number:,} of {len(updates):,}{shown} \N{MIDDLE DOT} pass {passed:,} "
                f"\N{MIDDLE DOT} step {k + 1:,} of {len(trace):,}"
            )

        first, end = self._weights(trace.start), len(trace) - 1
        begin = "all weights are zero, so there is no boundary yet."
        if first.any():
            begin = "only the intercept is not zero, so there is no boundary yet."
        listed = ""
        if first[:, 1:].any():
            begin, listed = "the initial weights.", self._listed(first[0])
        yield Frame(0, [], first, first, (where(0, -1), f"The start: {begin}", listed))
        for number in chosen.astype(int).tolist():
            k = updates[number - 1]
            again = k and trace.steps[k - 1].attempt == trace.steps[k].attempt
            before = self._weights(trace[k - 1].weights) if again else first * bool(not k)
            after = self._weights(trace[k].weights)
            rows = self._rows(k) if self.batch else [trace.steps[k].row]
            what = self._batch(k, rows) if self.batch else self._what(k)
            said = where(number, k), what, self._change(before, after)
            yield Frame(k + 1, rows, before, after, said)
        last = self._weights(trace[end].weights)
        said = where(len(updates), end), f"The end: {trace.stopped}.", ""
        yield Frame(end + 1, [], last, last, said)

    def _weights(self, vectors: Any) -> np.ndarray:
        return np.array(vectors, dtype=np.float64)[:, : self.width + 1]

    def _rows(self, k: int) -> list[int]:
        """The mistakes of the pass that ends with a round."""
        number = self.trace[k].pass_number
        pairs = zip(self.trace, self.trace.steps, strict=True)
        return [step.row for row, step in pairs if row.pass_number == number and row.mistakes]

    def _batch(self, k: int, rows: list[int]) -> str:
        number = self.trace[k].pass_number
        return f"Pass {number:,} ends: its mistakes ({len(rows):,}) are corrected together."

    def _what(self, k: int) -> str:
        """What happened in a round with an update."""
        one, step = self.trace[k], self.trace.steps[k]
        name, label = map(with_minus, (cut([text], NAME)[0] for text in (one.row, one.label)))
        who = f"{'row ' * one.row.lstrip('-').isdigit()}{name} (class {label})"
        score = _short(one.scores[0])
        tested = one.margin and "with a margin of {}, below {}".format(*map(_short, one.margin))
        if self.vectors and not step.error:
            why = tested or "not by every weight vector, or by too little"
            return f"Update: {who} is predicted right, but {why}."
        if self.vectors:
            code = int(self.decide(np.array([one.scores]))[0])
            taken = "has equal scores" if code < 0 else f"is predicted as {self.classes[code]}"
            return f"Mistake: {who} {taken}."
        if one.mistakes and not one.scores[0]:
            return f"Mistake: {who} has the score 0."
        if step.error:
            return f"Mistake: {who} is on the wrong side, with the score {score}."
        return f"Update: {who} is on the right side, {tested or f'with the score {score}'}."

    def _change(self, before: np.ndarray, after: np.ndarray) -> str:
        if self.vectors:
            changed = np.flatnonzero((before != after).any(axis=1)).tolist()
            *others, last = [self.vectors[v] for v in changed]
            return f"The weights of {', '.join(others)}{' and ' * bool(others)}{last} change."
        old, new = before[0, self.listed], after[0, self.listed]
        if is_kernel(self.trace.estimator):
            return f"Support vectors: {np.count_nonzero(new):,}."
        if len(new) > MOST_LISTED:
            lengths = f" {ARROW} ".join(_short(float(np.linalg.norm(w))) for w in (old, new))
            return f"{np.count_nonzero(old != new):,} weights change; their norm: {lengths}."
        return f"{self._listed(before[0])} {ARROW} {_vector(new)}."

    def _listed(self, weights: np.ndarray) -> str:
        named = "Intercept and weights" if self.listed.start == 0 else "Weights"
        few = len(weights) - 1 <= MOST_LISTED
        return f"{named}: {_vector(weights[self.listed])}" if few else ""


def _short(value: float) -> str:
    return with_minus(f"{value + 0.0:.3g}")


def _vector(weights: np.ndarray) -> str:
    return f"[{', '.join(map(_short, weights.tolist()))}]"


def deciding(model: Any, classes: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return the function from scores to class indices: -1 if a score of zero is always a mistake,
    and if all scores of several classes are equal.
    """
    if len(classes) == 2:
        turned = is_turned(model.reference, classes)
        no_side = getattr(model, "zero", "mistake") == "mistake"

        def side(scores: np.ndarray) -> np.ndarray:
            codes = predicted(scores, model.tie).astype(int)
            codes = 1 - codes if turned else codes
            return np.where(no_side & (scores == 0), -1, codes)

        return side
    state = model.new_state(model.learner(), len(classes), 1)

    def best(scores: np.ndarray) -> np.ndarray:
        values = decision(state, scores, model.tie)
        same = (scores == scores[:, :1]).all(axis=1)
        return np.where(same, -1, predicted(values, model.tie))

    return best


def is_kernel(model: Any) -> bool:
    """Return whether the weights of a model belong to examples."""
    return hasattr(model, "kernel_")


def check_repeatable(model: Any) -> None:
    """Raise DataError if the run of a model cannot be repeated row by row."""
    why = why_not_again(model)
    if model.early_stopping:
        why = "rows were held out"
    elif model.fitted_run().mixture is not None:
        why = "several workers were trained, each on a part of the rows"
    elif is_kernel(model) and model.kernel_.takes != "vectors":
        why = "its kernel does not apply to rows of numbers"
    elif getattr(model, "budget", None) is not None:
        why = "support vectors were dropped to stay within the budget"
    if why is not None:
        raise DataError(f"This run cannot be drawn row by row, because {why}.", code="unsupported")


def run_of(
    model: Any, X: Any, y: Any, sample_weight: Any, row_names: Any, given: dict[str, Any]
) -> Trace:
    """Return the trace of the run that trained a model; DataError unless it is the same run.

    ``given`` are further arguments of :func:`linsep.trace`.
    """
    rounds, kernel = len(y) * model.n_iter_, is_kernel(model)
    width = 1 + (len(y) if kernel else model.n_features_in_)
    made = model.fitted_run().state.n_columns * width
    if rounds * made > MOST_NUMBERS:
        raise DataError(
            f"{rounds:,} rounds of {made:,} weights exceed the limit of an animation, "
            f"{MOST_NUMBERS:,} numbers",
            Hint("fit with a smaller {}", {"max_iter": None}, again=True),
            "fit on fewer rows",
            code="too-large",
        )
    if kernel:
        found = _kernel_trace(model, X, y, sample_weight, row_names)
    else:
        given = given | {"sample_weight": sample_weight, "row_names": row_names}
        found = traced(model, X, y, max_rounds=rounds, **given)
    _refuse_another(model, found)
    return found


def _kernel_trace(model: Any, X: Any, y: Any, sample_weight: Any, row_names: Any) -> Trace:
    """Return the run of a kernel perceptron; its weights are the rows' coefficients, then zeros."""
    rows, n = numbers_of(X), len(y)
    classes, codes, importance = labeled(model, labels_of(y), sample_weight)
    stream = ArrayStream(rows, codes, importance, model.draw_seed(), bool(model.shuffle))
    gram, texts = model.kernel_(rows).tolist(), [label_text(label) for label in classes]
    vectors = vector_names(texts, model.multiclass)
    shown = textbook.dual_rows(lambda i, j: gram[i][j], range(n))
    steps = list(textbook.run(
        textbook.KernelPerceptron(n), model.multiclass if vectors else "binary", shown,
        codes.tolist(), classes.size, fit_intercept=False, max_iter=model.n_iter_, tie=model.tie,
        orders=visiting_orders(stream),
        row_weights=importance.tolist() if importance.size else None,
    ))  # fmt: skip
    width, many = 2 * n, max(1, len(vectors))
    start = ([[0.0] * width] * many, [0.0] * many) if vectors else ([0.0] * width, 0.0)
    names = row_names or index_of(X, y) or range(n)
    labels = [label_text(label) for label in labels_of(y)]
    return Trace(
        list(trace_rows(steps, start, names, labels)), range(width), texts, vectors, False,
        model.stop_reason_, model.stop_sentence_, {"estimator": model, "X": X, "y": y}, steps,
        vectors_of(*start),
    )  # fmt: skip


def _refuse_another(model: Any, made: Trace) -> None:
    """Raise DataError unless a trace reproduces the mistakes and the weights of a model."""
    mistakes, passes = np.array([(one.mistakes, one.pass_number) for one in made]).T
    found = np.bincount(passes, mistakes)[1:]
    state = model.fitted_run().state
    coef, intercept = state.split(state.W)
    last = np.array(made[-1].weights)
    if is_kernel(model):  # whose rows without a weight are dropped
        whole = np.zeros((len(coef), last.shape[1] - 1))
        whole[:, model.support_] = coef
        coef = whole
    kept = np.column_stack([intercept.ravel(), coef])
    scale = np.abs(last).max() or 1.0
    if not np.array_equal(found, model.mistakes_) or np.abs(last - kept).max() > ROUNDING * scale:
        raise DataError(
            "These are not the rows that the model learned, in their order: learning from them "
            f"makes {int(found.sum()):,} mistakes in {len(found):,} passes and other weights, the "
            f"fit made {int(model.mistakes_.sum()):,} in {model.n_iter_:,}. Give the rows of the "
            "fit; a run from initial weights, or with random_state=None, can be drawn from its "
            "trace only.",
            code="other-rows",
        )
