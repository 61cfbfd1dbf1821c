"""The course of a run: mistakes and their bounds, Novikoff's proof, weights in a cycle, updates,
the gap of a soft margin, and the path of a gradient descent.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from matplotlib.patheffects import withStroke
from sklearn.utils.validation import check_is_fitted

from linsep import convergence, trace
from linsep.certificate.cycles import Cycle, Cycles, replay, whole_rows
from linsep.descent import Descent
from linsep.errors import DataError, Hint, refuse
from linsep.estimators.showing import machine_names
from linsep.mistake_bounds.bounds import whole_count
from linsep.mistake_bounds.margins import augmented, unit_rows
from linsep.plot import display, planes
from linsep.plot.display import (
    LONGEST_NAME,
    MARKERS,
    MOST_NAMED,
    Display,
    Panels,
    check_drawable,
    class_handles,
    count_axis,
    cut,
    density_title,
    draw_arrow,
    ink,
    limits,
    literal,
    of_features,
    show_title,
)
from linsep.plot.palettes import color_map, hue
from linsep.plot.planes import (
    Plane,
    box_around,
    completed,
    dense,
    grid_around,
    in_units,
    line_ends,
    names_of,
    numbers_of,
    plane_of_span,
    show_plane,
    weight_of,
)
from linsep.soft_margins.problem import relative_gap
from linsep.teaching import Trace
from linsep.validation.checks import check_columns, labels_of, row_labels
from linsep.words import counted

STYLES = ("--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
#: where the largest bound is so many times the mistakes, the axis is logarithmic
MOST_RATIO_OF_BOUND = 30.0
#: where the limit is so many times the mistakes made, axes are logarithmic
MOST_RATIO_OF_LIMIT = 10.0
#: more steps than that have no numbers, and not all of them arrows
MOST_ARROWS = 40
#: a gap of zero is drawn here, at the precision of floats
LEAST_GAP = float(np.finfo(float).eps)
#: the pictures of one update
STEPS = ("before", "update", "after")
#: area of a point, places of a grid in each direction, and contours
SIZE, RESOLUTION, LEVELS = 28.0, 120, 20


class LearningCurveDisplay(Display):
    """Mistakes in every pass; with held-out rows, the errors on both parts and the pass kept.

    Attributes
    ----------
    mistakes : int array of shape (passes,)
    errors : array of shape (passes, 2) or None, on the training rows and on the held-out rows
    criterion : array of shape (passes,), the perceptron criterion J_p of each pass, or None
    best : int, the pass, counted from 0, from which the weights were kept, or None
    stop : str, why the run ended
    mistakes_ : Line2D
    errors_ : list of Line2D, on the training rows and on the held-out rows
    criterion_ : Line2D or None
    error_ax_ : the Axes of the errors or of J_p, on the right, or None
    kept_ : Line2D at the pass whose weights were kept, or None
    """

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the passes of a fitted online classifier."""
        check_drawable(
            estimator, "mistakes_", "is not trained in passes; use an online classifier."
        )
        errors, best = getattr(estimator, "validation_curve_", None), None
        stop = str(getattr(estimator, "stop_reason_", None) or "")
        if errors is not None:
            # After learning all rows, or a pass without a mistake, the last weights count.
            kept = estimator.fitted_run().trial is None and stop != "converged"
            best = int(np.argmin(errors[:, 1])) if kept else None
            stop += "; errors at score 0" * hasattr(estimator, "threshold_")
        return cls(
            mistakes=estimator.mistakes_, errors=errors, best=best, stop=stop,
            criterion=getattr(estimator, "criterion_", None),
        ).plot(ax)  # fmt: skip

    def _draw(self) -> list[Any]:
        most = max(1, int(self.mistakes.max()))
        self.ax_.set(xlabel="pass", ylabel="mistakes", ylim=(0, 1.05 * most))
        count_axis(self.ax_.xaxis)
        count_axis(self.ax_.yaxis)
        passes = np.arange(1, len(self.mistakes) + 1)
        (self.mistakes_,) = self.ax_.plot(
            passes, self.mistakes, color=hue(0), marker="o", markersize=4, label="mistakes"
        )
        shown: list[tuple[Any, ...]] = []  # the numbers of each pass: more than those of all rows
        if self.errors is not None:
            axis, names = "error", ("error, training rows", "error, held-out rows")
            shown = [*zip(self.errors.T, names, (hue(1), hue(5)), ("-", "--"), strict=True)]
        elif self.criterion is not None:
            axis, shown = "perceptron criterion J_p", [(self.criterion, "J_p", hue(1), "--")]
        show_title(self.ax_, f"stopped: {self.stop}" if self.stop else "")
        if not shown:
            return []
        self._right, self.error_ax_ = 1.16, self.ax_.twinx()
        drawn = [
            self.error_ax_.plot(passes, values, color=color, ls=style, marker=".", label=name)[0]
            for values, name, color, style in shown
        ]
        self.error_ax_.set(ylabel=axis, ylim=(0, None))
        self.errors_: list[Any] = drawn if self.errors is not None else []
        self.criterion_: Any = drawn[0] if self.errors is None else None
        if self.best is not None:
            self.kept_ = self.ax_.axvline(
                self.best + 1, color=ink(), ls=":", linewidth=1, label=f"kept: pass {self.best + 1}"
            )
        return [self.mistakes_, *drawn, self.kept_]


class BoundDisplay(Display):
    """The cumulative mistakes at the end of each pass or step, and every bound on them.

    Hinge bounds grow with the passes; other bounds hold for any number of passes. Margin bounds are
    left out.

    Attributes
    ----------
    mistakes : int array of shape (passes,) or (rounds,), the mistakes in each pass or step
    bounds : Bounds, with the numbers counted
    passes : int array of shape (rounds,) or None, the pass of each step, counted from 1
    mistakes_ : Line2D of the cumulative mistakes
    bounds_ : dict of str to Line2D
    counted_ : dict of str to Line2D, a mark for the number counted if a bound is not on mistakes
    """

    @classmethod
    @of_features
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, rounds: bool = False, ax: Any = None
    ) -> Self:
        """Draw the mistakes of a fitted learner and the bounds on its training rows.

        Parameters
        ----------
        estimator : fitted online linear learner of this library
        X, y : the training rows in their order, and their labels
            The run is repeated; see the method ``bounds`` of the estimator.
        rounds : bool, default=False
            Whether to draw every step of :func:`linsep.trace`, for small data, instead of passes.
        """
        check_drawable(estimator, "bounds", "has no mistake bounds; use an online learner.")
        found, mistakes, passes = estimator.bounds(X, y), estimator.mistakes_, None
        if rounds:
            made = trace(estimator, X, y, max_rounds=len(y) * estimator.n_iter_)
            mistakes, passes = np.array([(one.mistakes, one.pass_number) for one in made]).T
            refuse(DataError, (
                not np.array_equal(np.bincount(passes, mistakes)[1:], estimator.mistakes_),
                "The order of these steps cannot be repeated: fit with an integer "
                "random_state.", "unsupported", None,
            ))  # fmt: skip
        if not any(bound.what != "margin" for bound in found):
            why = next(iter(found.left_out.values()), "there is no theorem")
            raise DataError(f"No bound is known for this run: {why}.", code="unsupported")
        return cls(mistakes=mistakes, bounds=found, passes=passes).plot(ax)

    def _draw(self) -> list[Any]:
        shown = [bound for bound in self.bounds if bound.what != "margin"]
        places, total = np.arange(1, len(self.mistakes) + 1), np.cumsum(self.mistakes)
        passes, steps = (places, "default") if self.passes is None else (self.passes, "steps-mid")
        (self.mistakes_,) = self.ax_.plot(
            places, total, color=ink(), linewidth=2, label=f"mistakes: {total[-1]:,}",
            marker="o" if len(places) <= 50 else None, markersize=4,
        )  # fmt: skip
        self.bounds_: dict[str, Any] = {}
        self.counted_: dict[str, Any] = {}
        for k, bound in enumerate(shown):
            by_pass = np.asarray(bound.by_pass or np.full(passes[-1], bound.value))
            (self.bounds_[bound.name],) = self.ax_.plot(
                places, by_pass[passes - 1], color=hue(k % 7), ls=STYLES[k % 4],
                drawstyle=steps, label=f"{bound.name}: {whole_count(bound.value)}",
            )  # fmt: skip
            if bound.what != "mistakes" and bound.counted is not None:
                (self.counted_[bound.what],) = self.ax_.plot(
                    places[-1:], [bound.counted], color=hue(k % 7), marker="D", ls="",
                    label=f"{bound.what}: {whole_count(bound.counted)}",
                )  # fmt: skip
        largest = max(bound.value for bound in shown)
        far = largest > MOST_RATIO_OF_BOUND * max(1, total[-1])
        self.ax_.set(**({"yscale": "log"} if far else {"ylim": (0, 1.05 * largest)}))
        self.ax_.set_xlabel("pass" if self.passes is None else "round")
        self.ax_.set_ylabel("mistakes so far, and their bounds")
        count_axis(self.ax_.xaxis)
        return sorted(  # as in the picture
            [*self.bounds_.values(), self.mistakes_, *self.counted_.values()],
            key=lambda line: -line.get_ydata()[-1],
        )


class ConvergenceDisplay(Display):
    """The proof that a perceptron converges: <w, u> grows faster than ||w|| can.

    After k mistakes, starting from zero weights, <w, u> is at least k gamma and ||w|| at most
    sqrt(k) R, times the learning rate. Since <w, u> is at most ||w||, both stay in the shaded
    region, which ends at (R / gamma)^2 mistakes.

    Attributes
    ----------
    convergence : Convergence, the result of :func:`linsep.convergence`
    products_, lengths_ : Line2D of <w, u> and ||w||
    least_, most_ : Line2D of their bounds in the proof
    region_ : PolyCollection between the bounds, or None if u does not separate the rows
    limit_ : Line2D at the largest number of mistakes, or None
    """

    @classmethod
    @of_features
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Draw the proof for a run of a perceptron, which need not be fitted; the arguments are
        those of :func:`linsep.convergence`.
        """
        return cls(convergence=convergence(estimator, X, y, **kwargs)).plot(ax)

    def _draw(self) -> list[Any]:
        shown, made = self.convergence, len(self.convergence.rows)
        limit, curves, places = shown.limit, (shown.least, shown.most), np.arange(made + 1.0)
        log = limit is not None and limit > MOST_RATIO_OF_LIMIT * max(1, made)
        if limit is not None:
            places = np.geomspace(1, limit, 200) if log else limit * np.linspace(0, 1, 200) ** 2
            curves = shown.curves(places)
            self.region_ = self.ax_.fill_between(
                places, *curves, color=hue(2), alpha=0.25, linewidth=0,
                label="region allowed by the proof",
            )  # fmt: skip
            self.limit_ = self.ax_.axvline(
                limit, color=ink(), linewidth=0.8, ls=":", label=f"at most {int(limit):,} mistakes"
            )
        first = int(log)  # a logarithmic axis has no 0
        number, size = np.arange(first, made + 1), 4 if made <= 60 else 0
        drawn = [
            self.ax_.plot(x, y, color=color, ls=style, marker=mark, markersize=size, label=label)[0]
            for x, y, color, style, mark, label in (
                (places, curves[1], hue(0), "--", "", "||w|| is at most"),
                (number, shown.lengths[first:], hue(0), "-", "o", "||w||"),
                (number, shown.products[first:], hue(5), "-", "s", "<w, u>"),
                (places, curves[0], hue(5), "-.", "", "<w, u> is at least"),
            )
        ]
        self.most_, self.lengths_, self.products_, self.least_ = drawn
        scale = "log" if log else "linear"
        self.ax_.set(xlabel="mistakes", ylabel="<w, u> and ||w||", xscale=scale, yscale=scale)
        show_title(self.ax_, "" if shown.separates else "u does not separate the rows")
        return [*drawn, self.region_, self.limit_]


class CycleDisplay(Display):
    """The weights of a perceptron in a cycle: a closed path that more passes only repeat.

    Two weights are drawn directly; more are projected onto the two principal components of the
    path, and the title says so.

    Attributes
    ----------
    path : array of shape (updates + 1, weights), at the start and after every update
    ends : int array of shape (passes,), the number of updates up to the end of each pass
    names : list of str, the names of the weights
    path_ : Line2D through the weights
    passes_ : Line2D, the weights at the start of the passes
    start_ : Line2D, the weights that recur
    arrows_ : list of Annotation, the direction of steps
    numbers_ : list of Text, the numbers of the updates at each point; empty for long paths
    """

    @classmethod
    @of_features
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, ax: Any = None) -> Self:
        """Draw the cycle that ended a run, from the training rows in their order."""
        check_is_fitted(estimator)
        cycle = getattr(estimator, "cycle_", None)
        if cycle is None:
            why = getattr(estimator, "stop_reason_", None) or "it made no passes"
            raise DataError(
                f"This {type(estimator).__name__} did not stop in a cycle: {why}.",
                code="unsupported",
            )
        check_columns(estimator, X)
        return cls.from_cycle(
            cycle, X, y, feature_names=names_of(X, estimator.n_features_in_, estimator), ax=ax
        )

    @classmethod
    def from_cycle(
        cls, cycle: Cycle | Cycles, X: Any, y: Any, *, feature_names: Sequence[str] | None = None,
        ax: Any = None,
    ) -> Self:  # fmt: skip
        """Draw a cycle of one binary classifier, or of several classes at once, once verified.

        Parameters
        ----------
        cycle : Cycle
        X, y : the rows of the cycle, and their labels
        feature_names : names of the columns, default those of a data frame, else x0, x1, ...
        """
        if isinstance(cycle, Cycles) and len(cycle) == 1:
            (cycle,) = cycle
        given: Any = cycle
        many = isinstance(given, Cycles)
        one = not many and given.n_features + given.fit_intercept == 1 and not given.joint
        for wrong, why in (
            (many, "These are cycles of several binary classifiers: draw one of them, such as "
             "CycleDisplay.from_cycle(model.cycle_[0], X, y)."),
            (many or given.gram, "A cycle of a kernel classifier has no feature weights to draw."),
            (one, "A cycle needs two or more weights to be drawn; this one has one weight."),
        ):  # fmt: skip
            refuse(DataError, (wrong, why, "unsupported", None))
        assert isinstance(cycle, Cycle)
        if not (check := cycle.verify(X, y)):
            raise DataError(f"This cycle is not drawn: {check.reason}", code="bad-proof")
        classes, codes = np.unique(labels_of(y), return_inverse=True)
        names = list(feature_names or names_of(X, cycle.n_features))
        names += ["intercept"] * cycle.fit_intercept
        if cycle.joint:
            names = [f"{label}: {name}" for label in classes for name in names]
        columns, seen = np.arange(cycle.n_features), [(0, cycle.vectors())]
        given = (
            (columns, row, code) for row, code in zip(dense(numbers_of(X)), codes, strict=True)
        )
        replay(cycle, whole_rows(given, cycle.base, cycle.power), seen=seen)
        passes, vectors = zip(*seen, strict=True)
        path = np.array(vectors)[:, :, : cycle.n_features + cycle.fit_intercept] / cycle.unit
        ends = np.searchsorted(passes[1:], np.arange(cycle.passes), side="right")
        path = path.reshape(len(path), -1).astype(np.float64)
        return cls(path=path, ends=ends, names=names).plot(ax)

    def _draw(self) -> list[Any]:
        points, said = self.path, ""
        labels = [weight_of(name) for name in self.names]
        if len(labels) > 2:
            middle = points.mean(axis=0)
            plane = plane_of_span(points - middle, middle, points, "")
            points = plane.coordinates(points)
            share = 100 * points.var(axis=0).sum() / self.path.var(axis=0).sum()
            said = f"{len(labels):,} weights, projected onto their two principal components\n"
            said += f"({share:.3g}% of their variance)"
            labels = ["first component", "second component"]
        steps, starts = len(points) - 1, np.append(0, self.ends[:-1])
        many = steps > MOST_ARROWS
        (self.path_,) = self.ax_.plot(
            *points.T, marker="" if many else ".", label=counted(steps, "update"), color=hue(5),
            linewidth=0.6, alpha=0.5,
        )  # fmt: skip
        (self.passes_,) = self.ax_.plot(
            *points[starts].T, color=hue(0), marker="o", ls="", markersize=4, zorder=4,
            label=f"start of {len(starts):,} pass{'es' * (len(starts) > 1)}",
        )  # fmt: skip
        (self.start_,) = self.ax_.plot(
            *points[:1].T, color=hue(2), marker="s", ls="", markersize=8, zorder=3,
            label="recurring weights",
        )  # fmt: skip
        show_plane(self.ax_, labels, *box_around(points))
        shown = np.unique(np.linspace(0, steps - 1, min(steps, MOST_ARROWS)).astype(int))
        self.arrows_ = [
            self.ax_.annotate(
                "", tuple(points[k + 1]), tuple(points[k]), zorder=2,
                arrowprops={  # bent, so that opposite steps lie side by side
                    "arrowstyle": "-|>", "color": hue(5), "connectionstyle": "arc3,rad=0.12",
                    "shrinkA": 3, "shrinkB": 3,
                },
            )
            for k in shown.tolist()
        ]  # fmt: skip
        self.numbers_: list[Any] = [] if many else self._draw_numbers(points)
        show_title(self.ax_, said)
        return [self.start_, self.passes_, self.path_]

    def _draw_numbers(self, points: np.ndarray) -> list[Any]:
        edge = [withStroke(linewidth=2.5, foreground=self.ax_.get_facecolor())]
        there: dict[tuple[float, ...], list[str]] = {}
        for k, place in enumerate(points):
            there.setdefault(tuple(np.round(place, 9)), []).append(str(k))
        return [
            self.ax_.annotate(
                ", ".join(numbers), xy=place, xytext=(6, 6), textcoords="offset points",
                fontsize="small", zorder=5, path_effects=edge,
            )
            for place, numbers in there.items()
        ]  # fmt: skip


class GapDisplay(Panels):
    """The objective of a soft margin and its lower bound at every step, with the gap between them.

    With several classes, each binary classifier has one pair of lines.

    Attributes
    ----------
    trace : array of shape (steps, 3), binary classifier, objective and bound
    machines : list of str, the names of the binary classifiers
    tol : float, the requested gap
    gap_ax_ : Axes of the gaps, below those of the objectives
    objectives_, bounds_, gaps_ : lists of Line2D, one per binary classifier
    tol_ : Line2D at the requested gap
    """

    @classmethod
    def from_estimator(cls, estimator: Any) -> Self:
        """Draw the steps of a fitted soft margin."""
        display.check_drawable(estimator, "duality_gap_", "has no gap; use a SoftMargin.")
        names, trace = machine_names(estimator), estimator.trace_
        if len(estimator.n_support_) == 1:  # what comes after the last step is in no trace
            names = names[-1:]
            trace = np.vstack([trace, [0.0, estimator.objective_, estimator.lower_bound_]])
        return cls(trace=trace, machines=names, tol=estimator.tol).plot()

    def _draw(self) -> list[Any]:
        self.figure_, self.ax_, self.gap_ax_ = display.two_panels()
        several = len(self.machines) > 1
        self.objectives_: list[Any] = []
        self.bounds_: list[Any] = []
        self.gaps_: list[Any] = []
        for k, name in enumerate(map(literal, cut(self.machines, LONGEST_NAME))):
            own = self.trace[self.trace[:, 0] == k, 1:]
            steps = np.arange(1, len(own) + 1)
            look = {"marker": ".", "markersize": 5, "color": hue(k % MOST_NAMED)}
            bounds = np.where(own[:, 1] > 0, own[:, 1], np.nan)  # others say nothing
            label = name if several else "objective"
            self.objectives_ += self.ax_.plot(steps, own[:, 0], label=label, **look)
            self.bounds_ += self.ax_.plot(steps, bounds, ls="--", label="lower bound", **look)
            self.gaps_ += self.gap_ax_.plot(
                steps, [max(relative_gap(*both), LEAST_GAP) for both in own.tolist()], **look
            )
        self.ax_.set(yscale="log", ylabel="objective")
        self.tol_ = self.gap_ax_.axhline(
            self.tol, color=ink(), linewidth=0.8, ls=":", label="requested gap"
        )
        self.gap_ax_.set(yscale="log", xlabel="step", ylabel="relative gap")
        count_axis(self.gap_ax_.xaxis)
        show_title(self.ax_, "dashed: lower bounds" if several else "")
        return [*self.objectives_[:MOST_NAMED], *([] if several else self.bounds_), self.tol_]


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
    old_weights_, changes_, new_weights_ : list of Line2D, the shafts of the arrows; from zero
        weights, the update is the arrow of the new
    reflected_ : list of Line2D, the updates from the origin: signed examples times the rate
    old_lines_, new_lines_ : list of Line2D, where the scores are zero; omitted for zero weights
    examples_ : list of PathCollection, rings around the examples
    """

    @classmethod
    @of_features
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
        again = Hint("fit with {} to draw it", {"update": "single"}, again=True)
        batch = getattr(estimator, "update", "single") == "batch"
        refuse(
            DataError,
            (hasattr(estimator, "kernel"), "Its weights belong to rows: animate the run.",
             "unsupported", None),
            (batch, "An update of the batch rule uses many rows", "unsupported", None, again),
        )  # fmt: skip
        rows = numbers_of(X)
        classes, codes = display.two_classes(labels_of(y), "An update")
        found = _updates(run or trace(estimator, X, y, **kwargs), mistake, n_mistakes)
        names = list(feature_names or names_of(X, rows.shape[1], estimator))
        rows = unit_rows(rows) if getattr(estimator, "normalize", False) else rows
        if rows.shape[1] == 1:
            why = "An update needs two or more weights to be drawn; this model has one weight."
            refuse(DataError, (not estimator.fit_intercept, why, "unsupported", None))
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
        refuse(DataError, (
            ax is not None, f"ax holds one picture, not {n}: omit ax.", "conflict", "ax",
        ))  # fmt: skip
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
        handles += {one.get_label(): one for kind in artists.values() for one in kind}.values()
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
        example = display.draw_rings(ax, points[[update.row]], 4 * SIZE, "the example")
        self.examples_.append(example)
        sides = [
            (before, update.before, ink(), "--", "before", self.old_weights_, self.old_lines_),
            (after, update.after, hue(2), "-", "after", self.new_weights_, self.new_lines_),
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
        drawn = step in ("", "update")
        if drawn and np.any(before):  # from the tip of the old weights, and from the origin
            look = {"color": hue(5), "ls": "-.", "label": "update"}
            self.changes_.append(draw_arrow(ax, before, after, **look))
            look |= {"ls": ":", "label": "update, from the origin"}
            self.reflected_.append(draw_arrow(ax, 0 * before, after - before, **look))
        elif drawn and np.any(after):  # one arrow is both
            self.changes_.append(self.new_weights_[-1])
            self.changes_[-1].set(ls="-.", label="w after = update")
        show_plane(ax, plane.names, *box)
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
    shown = [
        (one.round, row, *np.roll([one.change[0], one.weights[0]], -1, axis=1))
        for one, row in made[mistake - 1 :][:n_mistakes]
    ]
    return [
        Update(k, number, row, after - change, change, after)
        for k, (number, row, change, after) in enumerate(shown, start=mistake)
    ]


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
    """The path of one or several descents, on a curve, on contours or on the surface of J.

    The descents need ``trace=True``. A star marks the end of a path.

    Attributes
    ----------
    paths : dict of str to array of shape (steps + 1, 1 or 2), the points of each descent
    grid : list of arrays, coordinates of the points where J is drawn, one array per weight
    values : array of shape (places,) or (rows, columns), J at these points, or None
    heights : dict of str to array of shape (steps + 1,), J at the points of each descent
    labels : dict of str to str, how each descent ended
    whole : bool, whether the axes end where the paths do
    surface : bool, whether J is drawn in space
    curve_ : Line2D of J for one weight, or None
    contours_ : ContourSet of J for two weights, or None
    surface_ : Poly3DCollection of J, or None
    paths_, ends_ : lists of Line2D
    """

    @classmethod
    def from_descent(
        cls, descents: Descent | dict[str, Descent], J: Callable[[np.ndarray], Any] | None, *,
        view: Any = None, surface: bool = False, ax: Any = None,
    ) -> Self:  # fmt: skip
        """Draw descents on the function they minimized.

        Parameters
        ----------
        descents : Descent, or dict of str to Descent
            Of one or two weights with ``trace=True``; several by name, such as their rates
        J : function from an array of shape (weights,) to a number; None for the paths alone
        view : pair of points, default None
            The corners of the part that is drawn, such as ``(-1, 5)`` for one weight; None draws
            all of the paths.
        surface : bool, default=False
            Whether to draw J of two weights as a surface, instead of contours.
        """
        named: Any = {"path": descents} if isinstance(descents, Descent) else descents
        paths, heights, labels, values = {}, {}, {}, None
        for name, one in named.items():
            refuse(DataError, (
                one.values is None
                or one.x.size > 2 or (surface and (J is None or one.x.size == 1)),
                "Only descents of one or two weights with trace=True can be drawn; a surface needs "
                "two, and J.", "unsupported", None,
            ))  # fmt: skip
            path = one.path.reshape(len(one.path), -1)
            finite = np.isfinite(path).all(axis=1) & np.isfinite(one.values)
            paths[name], heights[name] = path[finite], one.values[finite]
            labels[name] = f"{name}: {counted(len(paths[name]) - 1, 'step')}, {one.reason}"
        d = next(iter(paths.values())).shape[1]
        corners = np.concatenate(list(paths.values())) if view is None else np.reshape(view, (2, d))
        grid, places = grid_around(corners, RESOLUTION, 0.25 if view is None else 0.0)
        if J is not None:
            shape = next(iter(named.values())).x.shape
            values = np.array([float(J(place.reshape(shape))) for place in places])
            values = values.reshape([axis.size for axis in grid[::-1]])
        return cls(
            paths=paths, grid=grid, values=values, heights=heights, labels=labels,
            whole=view is None, surface=surface,
        ).plot(ax)  # fmt: skip

    def _open(self, ax: Any) -> None:
        self.figure_, self.ax_ = display.new_axes(ax, "3d" if self.surface else None)

    def _draw(self) -> list[Any]:
        one, flat = len(self.grid) == 1, not self.surface
        names = ("weight", "J") if one else ("first weight", "second weight")
        self.ax_.set(xlabel=names[0], ylabel=names[1])
        if one and self.values is not None:
            (self.curve_,) = self.ax_.plot(self.grid[0], self.values, color=ink(), linewidth=1.0)
        elif self.surface:
            self._right = 1.15
            self.surface_ = self.ax_.plot_surface(
                *np.meshgrid(*self.grid), self.values, cmap=color_map("viridis"), alpha=0.6,
                linewidth=0, rcount=RESOLUTION, ccount=RESOLUTION, rasterized=True,
            )  # fmt: skip
            self.ax_.set(zlabel="J")
            self.ax_.computed_zorder = False  # paths are in front
        elif self.values is not None:  # at equal steps of the root of the height
            low, high = float(self.values.min()), float(self.values.max())
            heights = low + (high - low) * np.linspace(0.0, 1.0, LEVELS + 1)[1:] ** 2
            self.contours_ = self.ax_.contour(
                *self.grid, self.values, levels=heights, cmap=color_map("viridis"), linewidths=0.7
            )
        self.paths_, self.ends_ = [], []
        for k, (name, path) in enumerate(self.paths.items()):
            places = path.T if flat and not one else (*path.T, self.heights[name])
            look = {"color": hue((5, 0, 1, 2)[k % 4]), "zorder": 5}
            self.paths_ += self.ax_.plot(
                *places, linewidth=1.0, markersize=4, marker=MARKERS[k % 4],
                label=self.labels[name], **look,
            )  # fmt: skip
            self.ends_ += self.ax_.plot(*np.array(places)[:, -1:], marker="*", ms=13, ls="", **look)
        if not self.whole and self.values is not None:
            ends = [*(axis[[0, -1]] for axis in self.grid), limits(self.values)]
            self.ax_.set(xlim=ends[0], ylim=ends[1])
        return self.paths_ if len(self.paths) > 1 else []
