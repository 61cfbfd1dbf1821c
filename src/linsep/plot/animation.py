"""A run as an animation: the boundary before and after every update, with a description."""

from base64 import b64encode
from collections.abc import Callable, Sequence
from functools import partial
from io import BytesIO
from pathlib import Path
from textwrap import wrap
from typing import Any, NamedTuple, Self

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.lines import Line2D
from PIL import Image

from linsep import trace as traced
from linsep.errors import DataError, hint, refuse
from linsep.estimators.labels import is_turned, label_text
from linsep.learners.proofs import in_its_fit, why_not_again
from linsep.learners.state import decision, predicted
from linsep.mistake_bounds.margins import unit_rows
from linsep.plot import display, planes
from linsep.plot.display import MOST_POINTS, Display, ink, legend, limits, literal, wrapped
from linsep.plot.palettes import colors, hue
from linsep.plot.planes import box_around, completed, in_units, names_of, numbers_of
from linsep.teaching import Trace, kernel_trace
from linsep.validation.checks import check_columns, labels_of

#: updates that are drawn by default; of more, so many are chosen evenly
MOST_FRAMES = 40
#: places of the grid in each direction, of kernels and of the regions of several classes
RESOLUTION, FINE = 160, 400
#: rows farther from the boundary than so many times the farthest of the last frame are at the edge
MOST_REACH = 2.0
#: seconds of all frames together, if each is shown between the shortest and the longest time
TOTAL, SHORTEST, LONGEST = 45.0, 0.6, 2.0
#: seconds of the last frame, before the animation begins again
PAUSE = 5.0
#: characters in a line of the text above a picture
LINE = 76
#: weights that a sentence lists; of more it gives the length
MOST_LISTED = 4
#: relative difference of weights that are computed in another order
ROUNDING = 1e-9
SIZE = 30.0


class Frame(NamedTuple):
    """One frame of a run.

    Attributes
    ----------
    round : int, number of examples processed when the frame ends; 0 at the start
    rows : list of int, those that correct the weights; empty in the first and the last frame
    before, after : weights of shape (weight vectors, weights), the intercept first
    said : str, what happened
    """

    round: int
    rows: list[int]
    before: np.ndarray
    after: np.ndarray
    said: str


class RunDisplay(Display):
    """Animation of the run of an online classifier, with a frame for every update.

    Each frame shows the boundary before the update (dashed) and after it, the regions of the
    classes, a thick ring around the row that caused the update, thin rings around rows on the wrong
    side after it, and a sentence that describes the step. The first frame is before the first row;
    the last says why the run ended. A single feature is drawn on a line for each class. With more
    than two, two classes are drawn by their distances from the boundary, which every update
    changes. The weights are the last ones, regardless of ``keep``.

    Attributes
    ----------
    trace : Trace, the run
    frames : list of Frame
    points : array of shape (rows, 2), where the rows are drawn
    names, about : pair of str, the names of the axes, and str, how the features are drawn
    basis, grid : arrays, the features (or kernel values) of the rows and of places on a grid
    xs, ys : arrays of the coordinates of the grid
    y, classes : arrays, the index of each row's class among the sorted classes, and the classes
    decide : function from scores to class indices; -1 for a row on neither side
    frame_ : int, the frame that is shown
    line_, old_line_ : ContourSet or None, the boundary of two classes after and before the update
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
    ) -> Self:  # fmt: skip
        """Draw the run of a trace.

        Parameters
        ----------
        trace : Trace, what :func:`linsep.trace` returned
        X, y : its rows and their labels
        feature_names : names of the columns, default those of a data frame, or x0, x1, ...
        features : two numbers or names, default None
            The features to draw, with the others fixed at their means. Several classes with more
            than two features need them.
        max_frames : int, default=40
            Of more updates, this many are drawn, chosen evenly, and the frames say so.
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
        kernel = partial(model.kernel_, Y=rows) if is_kernel(model) else None
        made = cls(
            trace=trace, y=codes, classes=classes, kernel=kernel, decide=deciding(model, classes),
        )  # fmt: skip
        made._place(rows, names, features)
        made._tell(max_frames)
        return made.plot(ax)

    @classmethod
    @display.of_features
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, sample_weight: Any = None, coef_init: Any = None,
        intercept_init: Any = None, row_names: Sequence[Any] | None = None, **kwargs: Any,
    ) -> Self:  # fmt: skip
        """Draw the run that made a fitted model.

        The run is repeated, and refused unless its mistakes and last weights are the same.

        Parameters
        ----------
        estimator : fitted linear online classifier or kernel perceptron
        X, y : the training rows in their order, and their labels
        sample_weight, coef_init, intercept_init : as in the fit
        row_names : names of the rows, default the index of a data frame, or 0, 1, ...
        **kwargs : as for :meth:`from_trace`
        """
        display.check_drawable(
            estimator, "mistakes_", "makes no updates to show; use an online linear classifier."
        )
        model = in_its_fit(estimator)
        check_columns(estimator, X)
        why = why_not_again(model)
        if model.early_stopping or model.fitted_run().mixture is not None:
            why = "rows were held out or split"
        elif is_kernel(model) and (model.kernel_.takes != "vectors" or model.budget is not None):
            why = "its rows are not numbers, or support vectors were dropped from a budget"
        if why is not None:
            said = f"This run cannot be drawn row by row, because {why}."
            raise DataError(said, code="unsupported")
        names = names_of(X, estimator.n_features_in_, estimator)
        rounds = len(y) * model.n_iter_
        if is_kernel(model):
            made = kernel_trace(model, X, y, sample_weight, row_names, rounds)
        else:
            made = traced(
                model, X, y, max_rounds=rounds, sample_weight=sample_weight, coef_init=coef_init,
                intercept_init=intercept_init, feature_names=names, row_names=row_names,
            )  # fmt: skip
        _refuse_another(model, made)
        return cls.from_trace(made, X, y, feature_names=names, **kwargs)

    def _place(self, rows: Any, names: list[str], features: Any) -> None:
        n, d = rows.shape
        terms = self.kernel or (lambda places: places)
        several = len(self.trace.start) > 1
        self.basis, self.grid, self.about = terms(rows), None, ""
        if d == 1:
            column = planes.dense(rows).ravel()
            self.points, self.names = np.column_stack([column, self.y]), (names[0], "")
            self.xs = np.linspace(*limits(column), 2 * RESOLUTION)
            self.ys = np.array(limits(self.y, 0.5))
            self.grid = terms(np.tile(self.xs, 2)[:, None])
        elif d == 2 or features is not None:
            plane = planes.plane_through(names, rows, features)
            self.points, self.names, self.about = plane.coordinates(rows), plane.names, plane.title
            fine = FINE if several else 2  # of two classes the corners have the scores of all
            (self.xs, self.ys), places = planes.grid_around(
                np.column_stack(box_around(self.points)), RESOLUTION if self.kernel else fine, 0.0
            )
            self.grid = terms(plane.points(places))
        elif several:
            raise DataError(
                f"A run of several classes is drawn in two features, but these rows have {d:,}",
                hint("name two with {}", features=None),
                code="needs-option",
                option="features",
            )
        else:
            _, up = completed([], rows)
            heights = np.asarray(rows @ up) - planes.mean_of(rows) @ up
            self.points = np.column_stack([np.zeros(n), heights])
            self.ys = np.array(limits(heights))
            self.names = in_units(names, "distance from the boundary", "widest direction")
            self.about = f"{d:,} features: the distance from the boundary, or more at the edges"

    def _scores(self, weights: np.ndarray, basis: Any) -> np.ndarray:
        found = np.asarray(basis @ weights[:, 1:].T) + weights[:, 0]
        return found[:, 0] if len(weights) == 1 else found

    def _distances(self, weights: np.ndarray) -> np.ndarray:
        """Return the distances of the rows from the boundary, in the feature space of a kernel."""
        (w,) = weights[:, 1:]
        length = np.linalg.norm(w)
        if self.kernel is not None:
            length = np.sqrt(max(0.0, w @ self.basis @ w))
        return self._scores(weights, self.basis) / length if length else np.zeros(len(self.points))

    def _tell(self, most: int) -> None:
        trace, steps, end = self.trace, self.trace.steps, len(self.trace) - 1
        updates = [k for k, one in enumerate(trace) if one.updates]
        chosen = np.unique(np.linspace(1, len(updates), min(most, len(updates))).round())
        shown = f" ({len(chosen):,} drawn)" if len(chosen) < len(updates) else ""

        def said(number: int, k: int, *lines: str) -> str:
            where = (
                f"Update {number:,} of {len(updates):,}{shown} \N{MIDDLE DOT} pass "
                f"{trace[max(k, 0)].pass_number:,} \N{MIDDLE DOT} step {k + 1:,} of {len(trace):,}"
            )
            lines = self.about, display.density_title(len(self.y)), where, *lines
            return "\n".join(part for line in lines for part in wrap(line, LINE))

        first, last = np.array(trace.start), np.array(trace[end].weights)
        begin = "the initial weights" if first[:, 1:].any() else "there is no boundary yet"
        self.frames = [Frame(0, [], first, first, said(0, -1, f"The start: {begin}."))]
        for number in chosen.astype(int).tolist():
            k = updates[number - 1]
            again = k and steps[k - 1].attempt == steps[k].attempt
            before = np.array(trace[k - 1].weights) if again else first * bool(not k)
            after, rows = np.array(trace[k].weights), [steps[k].row]
            event = self._event(k)
            if getattr(trace.estimator, "update", "single") == "batch":
                number_of_pass = trace[k].pass_number
                rows = [
                    step.row for one, step in zip(trace, steps, strict=True)
                    if one.pass_number == number_of_pass and one.mistakes
                ]  # fmt: skip
                event = f"Pass {number_of_pass:,} ends: its mistakes are corrected together."
            text = said(number, k, event, self._change(before, after))
            self.frames.append(Frame(k + 1, rows, before, after, text))
        text = said(len(updates), end, f"The end: {trace.stopped}.")
        self.frames.append(Frame(end + 1, [], last, last, text))

    def _event(self, k: int) -> str:
        one = self.trace[k]
        who = f"{'row ' * one.row.lstrip('-').isdigit()}{one.row} (class {one.label})"
        said = f"has the score {_short(one.scores[0])}"
        if len(one.scores) > 1:
            code = int(self.decide(np.array([one.scores]))[0])
            label = label_text(self.classes[code])
            said = "has equal scores" if code < 0 else f"is predicted as {label}"
        if one.margin:
            said += ", with a margin of {}, below {}".format(*map(_short, one.margin))
        return f"{'Mistake' if one.mistakes else 'Update'}: {who} {said}."

    def _change(self, before: np.ndarray, after: np.ndarray) -> str:
        if is_kernel(self.trace.estimator):
            return f"Support vectors: {np.count_nonzero(after[:, 1:].any(axis=0)):,}."
        ends = *self.trace.start, *self.trace[-1].weights
        intercept = self.trace.estimator.fit_intercept or any(vector[0] for vector in ends)
        pair = [weights[:, 0 if intercept else 1 :] for weights in (before, after)]
        what, texts = "Intercept and weights" if intercept else "Weights", list(map(_vector, pair))
        if len(after) > 1 or after.size > MOST_LISTED + 1:
            what, texts = "Norm of the weights", [_short(float(np.linalg.norm(w))) for w in pair]
        return f"{what}: {texts[0]} \N{RIGHTWARDS ARROW} {texts[1]}."

    def plot(self, ax: Any = None) -> Self:
        """Draw the last frame on ``ax`` or on new axes; :meth:`show` draws another."""
        self.figure_, self.ax_ = display.new_axes(ax)
        if self.grid is None:
            far = [float(np.abs(self._distances(one.after)).max()) for one in self.frames]
            self._reach = min(max(far), MOST_REACH * far[-1] or np.inf) or 1.0
            self.xs = self._reach * np.array([-1.08, 1.08])
        self._lines = 0
        if ax is None:  # no frame moves the axes
            self._lines = 1 + max(one.said.count("\n") for one in self.frames)
            self.show(-1)
            self.figure_.draw_without_rendering()
            self.figure_.set_layout_engine("none")
        return self.show(-1)

    def show(self, frame: int) -> Self:
        """Show a frame, counted from 0; negative numbers count from the end."""
        self.frame_ = range(len(self.frames))[frame]
        ax, now, points = self.ax_, self.frames[self.frame_], self.points
        ax.clear()
        if self.grid is None:
            away = np.clip(self._distances(now.after), -self._reach, self._reach)
            points = np.column_stack([away, points[:, 1]])
        self.points_ = display.draw_rows(ax, points, self.y, self.classes, SIZE)
        self.regions_ = self.line_ = self.old_line_ = self.example_ = None
        if len(self.classes) > 2:
            self._draw_several(now.after)
        else:
            self._draw_sides(now)
        wrong = self.decide(self._scores(now.after, self.basis)) != self.y
        self.wrong_ = display.draw_rings(ax, points[wrong], 3.2 * SIZE, "", n_rows=len(self.y))
        if now.rows:
            self.example_ = display.draw_rings(ax, points[now.rows], 9.0 * SIZE, "", width=2.2)
            self.example_.set_edgecolor(hue(5))
        planes.show_plane(ax, self.names, self.xs, self.ys)
        if self.names[1] == "":  # a line for each class
            ax.set(aspect="auto", ylabel="class")
            ax.set_yticks(range(len(self.classes)), map(wrapped, map(label_text, self.classes)))
        elif self.grid is None:
            ax.set_aspect("auto")
        self.legend_ = legend(ax, self._handles(int(np.count_nonzero(wrong))))
        title = now.said + "\n" * (self._lines - 1 - now.said.count("\n"))
        display.make_readable(ax.set_title(literal(title), fontsize="medium", loc="left"))
        return self

    def _draw_sides(self, now: Frame) -> None:
        def on_grid(weights: np.ndarray) -> np.ndarray:
            if self.grid is None:
                return np.tile(self.xs * bool(weights[0, 1:].any()), (len(self.ys), 1))
            return self._scores(weights, self.grid).reshape(len(self.ys), len(self.xs))

        def boundary(scores: np.ndarray, **look: Any) -> Any:
            if scores.min() < 0 < scores.max():
                look |= {"colors": [ink()], "zorder": 2.5}
                return self.ax_.contour(self.xs, self.ys, scores, levels=[0.0], **look)
            return None

        scores, palette = on_grid(now.after), colors(2)
        if most := float(np.abs(scores).max()):
            self.regions_ = self.ax_.contourf(
                self.xs, self.ys, scores, levels=[-1.01 * most, 0.0, 1.01 * most], alpha=0.2,
                colors=[palette[int(code)] for code in self.decide(np.array([-1.0, 1.0]))],
                zorder=0,
            )  # fmt: skip
        self.line_ = boundary(scores, linewidths=1.8)
        if now.rows and self.grid is not None:
            self.old_line_ = boundary(on_grid(now.before), linewidths=1.2, linestyles="--")

    def _draw_several(self, weights: np.ndarray) -> None:
        n, codes = len(self.classes), self.decide(self._scores(weights, self.grid))
        self.regions_ = self.ax_.imshow(
            np.ma.masked_less(codes.reshape(len(self.ys), len(self.xs)), 0),
            cmap=ListedColormap(colors(n)), vmin=-0.5, vmax=n - 0.5, origin="lower", alpha=0.25,
            extent=(*self.xs[[0, -1]], *self.ys[[0, -1]]), zorder=0, interpolation="nearest",
        )  # fmt: skip

    def _handles(self, wrong: int) -> list[Any]:
        two, many = len(self.classes) == 2, len(self.y) > MOST_POINTS
        looks: list[dict[str, Any]] = [{"linewidth": 1.8, "label": "boundary"}] * two
        if two and self.grid is not None:
            looks.append({"linewidth": 1.2, "ls": "--", "label": "before the update"})
        ring: dict[str, Any] = {"marker": "o", "ls": "", "markerfacecolor": "none"}
        looks += [
            ring | {"color": hue(5), "markersize": 13, "markeredgewidth": 2.2,
                    "label": "row of the update"},
            ring | {"markersize": 3 if many else 8, "markeredgewidth": 0.8,
                    "label": f"on the wrong side: {wrong:,}"},
        ]  # fmt: skip
        classes = display.class_handles(self.points_, len(self.y), self.classes)
        return [*classes, *(Line2D([], [], **{"color": ink()} | look) for look in looks)]

    def save(  # type: ignore[override]
        self, path: Any, *, format: str | None = None, dpi: float = 100.0
    ) -> None:
        """Save the animation as a GIF, which loops forever: 45 seconds in total, but 0.6 to 2
        seconds per frame, and 5 for the last.

        Parameters
        ----------
        path : str, Path or binary file
        format : "gif", default None
        dpi : float, default=100
            Pixels per inch.
        """
        if (format or Path(getattr(path, "name", path)).suffix.lower().lstrip(".")) != "gif":
            raise DataError(
                "An animation is a .gif file: show(k) draws frame k, and figure_.savefig writes it "
                "as a picture.",
                code="wrong-format",
                option="format",
                value=format,
            )
        n, shown, drawn = len(self.frames), self.frame_, []
        for k in range(n):
            self.show(k).figure_.savefig(file := BytesIO(), format="png", dpi=dpi)
            drawn.append(Image.open(file).convert("RGB"))
        self.show(shown)
        each = min(max(TOTAL / n, SHORTEST), LONGEST)
        drawn[0].save(
            path, format="gif", save_all=True, append_images=drawn[1:], loop=0,
            duration=[1000 * each] * (n - 1) + [1000 * PAUSE],
        )  # fmt: skip

    def _repr_html_(self) -> str:
        # only the last frame for readers who prefer less motion
        moving = BytesIO()
        self.save(moving, format="gif")
        still = b64encode(self.show(-1)._repr_png_()).decode()
        return (
            '<picture><source media="(prefers-reduced-motion: reduce)" '
            f'srcset="data:image/png;base64,{still}">'
            '<img alt="A run, update by update" style="max-width:100%" '
            f'src="data:image/gif;base64,{b64encode(moving.getvalue()).decode()}"></picture>'
        )


def _short(value: float) -> str:
    return f"{value + 0.0:.3g}"


def _vector(weights: np.ndarray) -> str:
    return f"[{', '.join(map(_short, weights.ravel().tolist()))}]"


def deciding(model: Any, classes: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return the function from scores to class indices: -1 if a score of zero is always a mistake,
    and if all scores of several classes are equal.
    """
    state, two = model.new_state(model.learner(), len(classes), 1), len(classes) == 2
    turned = two and is_turned(model.reference, classes)
    no_side = getattr(model, "zero", "mistake") == "mistake"

    def decide(scores: np.ndarray) -> np.ndarray:
        codes = predicted(decision(state, scores, model.tie), model.tie).astype(int)
        on_none = no_side & (scores == 0) if two else (scores == scores[:, :1]).all(axis=1)
        return np.where(on_none, -1, 1 - codes if turned else codes)

    return decide


def is_kernel(model: Any) -> bool:
    """Whether the weights of a model belong to examples."""
    return hasattr(model, "kernel_")


def _refuse_another(model: Any, made: Trace) -> None:
    mistakes, passes = np.array([(one.mistakes, one.pass_number) for one in made]).T
    found, last = np.bincount(passes, mistakes)[1:], np.array(made[-1].weights)
    state = model.fitted_run().state
    coef, intercept = state.split(state.W)
    kept = np.zeros_like(last)
    kept[:, 0] = intercept.ravel()
    kept[:, 1 + (model.support_ if is_kernel(model) else np.arange(coef.shape[1]))] = coef
    scale = np.abs(last).max() or 1.0
    refuse(DataError, (
        not np.array_equal(found, model.mistakes_) or np.abs(last - kept).max() > ROUNDING * scale,
        "These are not the rows that the model learned, in their order: learning from them "
        f"makes {int(found.sum()):,} mistakes in {len(found):,} passes and other weights, the "
        f"fit made {int(model.mistakes_.sum()):,} in {model.n_iter_:,}. Give the rows of the "
        "fit; a run from initial weights, or with random_state=None, can be drawn from its "
        "trace only.", "other-rows", None,
    ))  # fmt: skip
