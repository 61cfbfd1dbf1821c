"""The course of a run: mistakes per pass and their bounds, Novikoff's proof, weights in a cycle."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, Self

import numpy as np
from matplotlib.patheffects import withStroke
from sklearn.utils.validation import check_is_fitted

from linsep import convergence, trace
from linsep.certificate.cycles import Cycle, Cycles
from linsep.errors import DataError
from linsep.mistake_bounds.bounds import whole_count
from linsep.plot.display import Display, check_drawable, count_axis, ink, of_features, show_title
from linsep.plot.palettes import COLORS
from linsep.plot.planes import box_around, dense, names_of, numbers_of, show_plane, weight_of
from linsep.teaching.textbook.perceptron import BatchPerceptron, Perceptron
from linsep.teaching.textbook.running import run
from linsep.validation.checks import check_columns, labels_of

STYLES = ("--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
#: where the largest bound is so many times the mistakes, the axis is logarithmic
MOST_RATIO_OF_BOUND = 30.0
#: where the limit is so many times the mistakes made, axes are logarithmic
MOST_RATIO_OF_LIMIT = 10.0
#: more steps than that have no numbers, and not all of them arrows
MOST_ARROWS = 40


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

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linsep import Perceptron, plot
    >>> X, y = load_iris(return_X_y=True)
    >>> display = plot.LearningCurveDisplay.from_estimator(Perceptron(max_iter=20).fit(X, y))
    >>> len(display.mistakes_.get_xdata())
    20
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
        (self.mistakes_,) = self.ax_.plot(
            np.arange(1, len(self.mistakes) + 1), self.mistakes, color=COLORS[0], marker="o",
            markersize=4, label="mistakes",
        )  # fmt: skip
        shown: list[tuple[Any, ...]] = []  # the numbers of each pass: more than those of all rows
        if self.errors is not None:
            axis, names = "error", ("error, training rows", "error, held-out rows")
            shown = [*zip(self.errors.T, names, (COLORS[1], COLORS[5]), ("-", "--"), strict=True)]
        elif self.criterion is not None:
            axis, shown = "perceptron criterion J_p", [(self.criterion, "J_p", COLORS[1], "--")]
        show_title(self.ax_, f"stopped: {self.stop}" if self.stop else "")
        if not shown:
            return []
        self._right, self.error_ax_ = 1.16, self.ax_.twinx()
        drawn = [
            self.error_ax_.plot(
                np.arange(1, len(values) + 1), values, color=color, ls=style, marker=".",
                label=name,
            )[0]
            for values, name, color, style in shown
        ]  # fmt: skip
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

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linsep import Perceptron, plot
    >>> X, y = load_iris(return_X_y=True)
    >>> model = Perceptron(max_iter=30).fit(X, y == 1)
    >>> display = plot.BoundDisplay.from_estimator(model, X, y == 1)
    >>> list(display.bounds_)
    ['hinge', 'hinge, sharp']
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
            if not np.array_equal(np.bincount(passes, mistakes)[1:], estimator.mistakes_):
                raise DataError(
                    "The order of these steps cannot be repeated: fit with an integer "
                    "random_state.",
                    code="unsupported",
                )
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
                places, by_pass[passes - 1], color=COLORS[k % 7], ls=STYLES[k % 4],
                drawstyle=steps, label=f"{bound.name}: {whole_count(bound.value)}",
            )  # fmt: skip
            if bound.what != "mistakes" and bound.counted is not None:
                (self.counted_[bound.what],) = self.ax_.plot(
                    places[-1:], [bound.counted], color=COLORS[k % 7], marker="D", ls="",
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

    Examples
    --------
    >>> from linsep import Perceptron, datasets, plot
    >>> X, y = datasets.load_four_points(return_X_y=True)
    >>> model = Perceptron(fit_intercept=False, shuffle=False)
    >>> display = plot.ConvergenceDisplay.from_estimator(model, X, y)
    >>> int(display.limit_.get_xdata()[0])
    26
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
                places, *curves, color=COLORS[2], alpha=0.25, linewidth=0,
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
                (places, curves[1], COLORS[0], "--", "", "||w|| is at most"),
                (number, shown.lengths[first:], COLORS[0], "-", "o", "||w||"),
                (number, shown.products[first:], COLORS[5], "-", "s", "<w, u>"),
                (places, curves[0], COLORS[5], "-.", "", "<w, u> is at least"),
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

    Examples
    --------
    >>> from linsep import Perceptron, datasets, plot
    >>> X, y = datasets.load_exclusive_or(return_X_y=True)
    >>> model = Perceptron(fit_intercept=False, shuffle=False).fit(X, y)
    >>> plot.CycleDisplay.from_estimator(model, X, y).path.tolist()
    [[0.0, 0.0], [1.0, 1.0], [0.0, 2.0], [1.0, 1.0], [0.0, 0.0]]
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
        why = ""
        if isinstance(cycle, Cycles):
            why = (
                f"These are cycles of {len(cycle)} binary classifiers: draw one of them, such as "
                "CycleDisplay.from_cycle(model.cycle_[0], X, y)."
            )
        elif cycle.gram:
            why = "A cycle of a kernel classifier has no feature weights to draw."
        elif cycle.n_features + cycle.fit_intercept == 1 and not cycle.joint:
            why = "A cycle needs two or more weights to be drawn; this one has one weight."
        if why:
            raise DataError(why, code="unsupported")
        assert isinstance(cycle, Cycle)
        if not (check := cycle.verify(X, y)):
            raise DataError(f"This cycle is not drawn: {check.reason}", code="bad-proof")
        classes, codes = np.unique(labels_of(y), return_inverse=True)
        names = list(feature_names or names_of(X, cycle.n_features))
        names += ["intercept"] * cycle.fit_intercept
        if cycle.joint:
            names = [f"{label}: {name}" for label in classes for name in names]
        weights, passes = zip(*_weights_of_cycle(cycle, numbers_of(X), codes), strict=True)
        ends = np.searchsorted(passes[1:], np.arange(cycle.passes), side="right")
        return cls(path=np.array(weights, dtype=np.float64), ends=ends, names=names).plot(ax)

    def _draw(self) -> list[Any]:
        points, said = self.path, ""
        labels = [weight_of(name) for name in self.names]
        if len(labels) > 2:
            centered = self.path - self.path.mean(axis=0)
            _, sizes, directions = np.linalg.svd(centered, full_matrices=False)
            share = float((sizes[:2] ** 2).sum() / (sizes**2).sum())
            said = f"{len(labels):,} weights, projected onto their two principal components"
            said += f"\n({100 * share:.3g}% of their variance)"
            points, labels = centered @ directions[:2].T, ["first component", "second component"]
        steps, starts = len(points) - 1, np.append(0, self.ends[:-1])
        many = steps > MOST_ARROWS
        (self.path_,) = self.ax_.plot(
            *points.T, marker="" if many else ".", label=f"{steps:,} updates", color=COLORS[5],
            linewidth=0.6, alpha=0.5,
        )  # fmt: skip
        (self.passes_,) = self.ax_.plot(
            *points[starts].T, color=COLORS[0], marker="o", ls="", markersize=4, zorder=4,
            label=f"start of {len(starts):,} pass{'es' * (len(starts) > 1)}",
        )  # fmt: skip
        (self.start_,) = self.ax_.plot(
            *points[:1].T, color=COLORS[2], marker="s", ls="", markersize=8, zorder=3,
            label="recurring weights",
        )  # fmt: skip
        show_plane(self.ax_, labels, *box_around(points))
        shown = np.unique(np.linspace(0, steps - 1, min(steps, MOST_ARROWS)).astype(int))
        self.arrows_ = [
            self.ax_.annotate(
                "", tuple(points[k + 1]), tuple(points[k]), zorder=2,
                arrowprops={  # bent, so that opposite steps lie side by side
                    "arrowstyle": "-|>", "color": COLORS[5], "connectionstyle": "arc3,rad=0.12",
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


def _weights_of_cycle(
    cycle: Cycle, X: Any, codes: np.ndarray
) -> Iterator[tuple[list[Fraction], int]]:
    """Yield the exact weights of a cycle, each intercept after the weights of its class, and the
    pass, at the start and after every update, by the textbook perceptron on fractions.
    """
    exact = Fraction if cycle.base == 2 else lambda x: Fraction(str(x))
    rows, sides = [[exact(x) for x in row] for row in dense(X).tolist()], codes.tolist()
    if not cycle.joint:
        kept = [k for k, code in enumerate(sides) if code in cycle.positive + cycle.negative]
        rows, sides = [rows[k] for k in kept], [int(sides[k] in cycle.positive) for k in kept]

    def flat(coef: list, intercept: list) -> list[Fraction]:
        pairs = zip(coef, intercept, strict=True)
        return [w for vector, b in pairs for w in (*vector, *[b] * cycle.fit_intercept)]

    weights = [[Fraction(w, cycle.unit) for w in vector] for vector in cycle.vectors()]
    coef, intercept = [vector[:-1] for vector in weights], [vector[-1] for vector in weights]
    rule = Perceptron if cycle.update == "single" else BatchPerceptron
    joint = cycle.joint
    steps = run(
        rule(Fraction(cycle.step * cycle.base**cycle.power, cycle.unit), zero=cycle.zero),
        "native" if joint else "binary", rows, sides, cycle.n_classes if joint else 2,
        fit_intercept=cycle.fit_intercept, max_iter=cycle.passes, tie=cycle.tie,
        weights=coef if joint else coef[0], intercept=intercept if joint else intercept[0],
    )  # fmt: skip
    yield flat(coef, intercept), 0
    for step in steps:
        if step.updates:
            now = step.weights, step.intercept
            yield flat(*(now if joint else ([now[0]], [now[1]]))), step.pass_number
