"""Weights: with intervals, as images, over C, in the space of weights, and as normals in space."""

from collections.abc import Sequence
from dataclasses import replace
from math import isqrt
from typing import Any, Self

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.patches import Patch, Polygon
from matplotlib.ticker import FuncFormatter, Locator, MaxNLocator, NullLocator
from matplotlib.transforms import ScaledTranslation
from mpl_toolkits.mplot3d.art3d import Poly3DCollection

from linsep.errors import DataError, hint, refuse
from linsep.estimators.labels import words_and_signs
from linsep.estimators.showing import deviations, machine_names
from linsep.inference.table import DIVERGING, ODDS_RATIO, Summary
from linsep.mistake_bounds.margins import codes_of, linear_of
from linsep.plot import display
from linsep.plot.display import (
    GRAY,
    LONGEST_NAME,
    MOST_NAMED,
    Display,
    Panels,
    check_drawable,
    class_handles,
    count_axis,
    cut,
    ink,
    legend,
    limits,
    literal,
    of_features,
    show_title,
    wrapped,
)
from linsep.plot.palettes import color_map, hue
from linsep.plot.planes import (
    STANDARDIZED,
    dense,
    line_ends,
    names_of,
    numbers_of,
    said_of,
    same_scale,
    weight_of,
)
from linsep.soft_margins.path import SoftMarginPath
from linsep.validation.checks import check_beside
from linsep.words import counted

#: characters of a name beside the coefficients
LONGEST_TERM = 40
#: inches of a line of a name
LINE = 0.26
#: points of an arrow to an end of the axis that begins nowhere
SHORT = 40.0
#: numbers on an axis of odds ratios
MOST_TICKS = 7
#: decades of odds ratios below which ticks are also at 2 and 5, and evenly spaced
FINE_DECADES, LINEAR_DECADES = 1.6, 0.5
#: share of the width of the numbers that is left for arrows to an end
ROOM = 0.25
#: a smaller odds ratio, or a larger one than its inverse, is beyond the ends of the axis
LEAST_RATIO = 1e-100
#: texts at both ends of the axis of coefficients, and of the axis of odds ratios
ENDS = (("\N{MINUS SIGN}\N{INFINITY}", "\N{INFINITY}"), ("0", "\N{INFINITY}"))
#: more images than that are too small to look at
MOST_IMAGES = 30
#: inputs of a neuron that is drawn
MOST_INPUTS = 15
#: images in a line
COLUMNS = 5
#: more lines than that are a gray mass
MOST_LINES = 500
#: rows that are drawn with the constant feature; of more, so many are chosen evenly
MOST_ROWS = 2_000
#: the azimuth of matplotlib's axes in space, in degrees, the slope of the view, the cosine of the
#: angle with a normal from which a plane is seen well, and turns in the order of preference
USUAL_SIDE, SLOPE, ENOUGH = -60.0, float(np.tan(np.radians(20.0))), 0.6
TURNS = tuple(sign * turn for turn in range(0, 100, 10) for sign in (1, -1))


class CoefficientDisplay(Display):
    """The coefficients of a regression with confidence intervals, the weights of a learner with
    their standard deviations, or weights as bars. Infinite estimates are drawn as arrows.

    Attributes
    ----------
    names : list of str
    estimates, low, high : arrays of shape (coefficients,)
        NaN if undefined; infinite values, and odds ratios of 0, are arrows at the end of the axis
    status : list of str
        Shown instead of an estimate, such as "dependent" or "+inf"; else empty.
    what : str, what the numbers are
    odds : bool, whether they are odds ratios, on a logarithmic axis
    bars : bool, whether the intervals are bars from 0 to the weights
    about : str, how many coefficients are not shown, or empty
    points_ : Line2D of the estimates
    intervals_ : LineCollection of the intervals with both ends on the axis
    arrows_ : list of Annotation, arrows to an end of the axis for estimates or limits beyond it
    words_ : list of Text, at the end of an arrow, or a status instead of an estimate
    zero_ : Line2D where a feature has no effect
    """

    bars = False

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, odds: bool = False, top: int = 30, ax: Any = None
    ) -> Self:  # fmt: skip
        """Draw the coefficients of a fitted regression, or the weights of a linear classifier.

        Parameters
        ----------
        estimator : fitted regression with a ``summary()``, or linear classifier
        odds, top, ax : as for :meth:`from_summary`; the largest weights are shown
        """
        if hasattr(estimator, "summary"):
            return cls.from_summary(estimator.summary(), odds=odds, top=top, ax=ax)
        check_drawable(estimator, "coef_", "has no weights of features; use a linear model.")
        refuse(DataError, (
            odds, f"The weights of {type(estimator).__name__} are not log-odds",
            "unsupported", "odds", hint("leave out {}", odds=None),
        ))  # fmt: skip
        (words, signs), machines = words_and_signs(estimator), machine_names(estimator)
        names, spread = said_of(estimator, words), deviations(estimator)
        known = spread is not None
        weights = signs * np.atleast_2d(dense(estimator.coef_))
        sure = spread[0] if spread else weights  # a bar is from 0 to the weight
        order = np.argsort(-np.abs(weights), axis=None, kind="stable")[:top]
        at = np.unravel_index(order, weights.shape)
        w, s, several = weights[at], sure[at], len(machines) > 1
        shown = [f"{machines[k]}: " * several + names[j] for k, j in zip(*at, strict=True)]
        left = weights.size - w.size
        return cls(
            names=shown, estimates=w, low=w - s, high=w + s * known, status=[""] * w.size,
            odds=False, bars=not known, what="weight" + " ± one standard deviation" * known,
            about=f"{counted(left, 'weight')} not shown" if left else "",
        ).plot(ax)  # fmt: skip

    @classmethod
    def from_summary(
        cls, summary: Summary, *, odds: bool = False, top: int = 30, ax: Any = None
    ) -> Self:  # fmt: skip
        """Draw the coefficients of a summary.

        Parameters
        ----------
        summary : :class:`linsep.inference.table.Summary`
        odds : bool, default=False
            Whether to draw odds ratios, exp of the coefficients of a logistic regression.
        top : int, default=30, how many are shown: of the largest statistics, else estimates
        """
        rows = [
            row for row in summary.coefficients
            if row.name.rpartition(": ")[2] != "intercept"
        ]  # fmt: skip
        shown = rows if len(rows) <= top else replace(summary, coefficients=rows).largest(top)
        if odds and summary.heading != ODDS_RATIO:
            shown = [row.exponentiated() for row in shown]
        scaled, several = {*summary.standardized}, bool(summary.equations)
        names = [
            name + STANDARDIZED * ((name.rpartition(": ")[2] if several else name) in scaled)
            for name in (row.name for row in shown)
        ]
        estimates, low, high = np.array(
            [(row.estimate, row.low, row.high) for row in shown], dtype=np.float64
        ).reshape(-1, 3).T  # fmt: skip
        odds = odds or summary.heading == ODDS_RATIO
        what = "marginal effect" if summary.heading == "effect" else "coefficient"
        what, left = "odds ratio" if odds else what, len(rows) - len(shown)
        if np.isfinite([low, high]).any():
            what = f"{what}, with its {100 * summary.level:g}% interval"
        return cls(
            names=names, estimates=estimates, low=low, high=high, what=what, odds=odds,
            status=[row.status for row in shown],
            about=f"{counted(left, 'coefficient')} not shown" if left else "",
        ).plot(ax)  # fmt: skip

    def _draw(self) -> list[Any]:
        n, neutral, places = len(self.names), float(self.odds), np.arange(len(self.names))[::-1]
        if getattr(self.figure_, "grows", False):
            self.figure_.set_size_inches(6.4, max(4.8, 1.0 + LINE * n))
        self.zero_ = self.ax_.axvline(neutral, color=ink(), linewidth=0.8, ls=":")
        words = np.array([DIVERGING.get(word, np.nan) for word in self.status], dtype=np.float64)
        ends = np.column_stack([self.low, self.high, self.estimates])
        ends[:, 2] = np.where(np.isnan(ends[:, 2]), words, ends[:, 2])
        if self.odds:  # beyond the ends of the axis
            ends[ends < LEAST_RATIO] = -np.inf
            ends[ends > 1 / LEAST_RATIO] = np.inf
        inside, whole = np.isfinite(ends[:, 2]), np.isfinite(ends[:, :2]).all(axis=1)
        self.intervals_ = self.ax_.hlines(
            places[whole], *ends[whole, :2].T, color=hue(0), linewidth=9.0 if self.bars else 1.5
        )
        (self.points_,) = self.ax_.plot(
            ends[inside, 2], places[inside], color=hue(0), marker="" if self.bars else "o", ls=""
        )
        self.ax_.set_yticks(places, map(literal, cut(self.names, LONGEST_TERM)))
        self.ax_.set(xlabel=self.what, ylim=(-0.7, n - 0.3))
        self.arrows_: list[Any] = []
        self.words_: list[Any] = []
        for place, word, own in zip(places.tolist(), self.status, ends.tolist(), strict=True):
            if word and np.isnan(own[2]):  # why there is no estimate
                said = " or ".join(ENDS[self.odds]) if word == "infinite" else word
                self._say(said, (neutral, place), self.ax_.transData, 6, ink())
            else:
                self._arrows(place, own, neutral)
        self._scale_axis(np.append(ends[np.isfinite(ends)], neutral), ends)
        show_title(self.ax_, self.about)
        return []

    def _say(self, word: str, at: Any, coordinates: Any, across: float, color: Any) -> None:
        self.words_.append(
            self.ax_.annotate(
                word, at, xycoords=coordinates, xytext=(across, 0), textcoords="offset points",
                va="center", ha="left" if across > 0 else "right", color=color, size="large",
            )
        )  # fmt: skip

    def _arrows(self, place: int, ends: list[float], neutral: float) -> None:
        low, high, estimate = ends
        color = hue(5) if np.isinf(estimate) else hue(0)
        sides = {int(np.sign(x)) for x in ends if np.isinf(x)}
        tails = [x for x in (low, high) if np.isfinite(x)]
        if sides:
            self.ax_.plot(tails, [place] * len(tails), color=color, marker="|", markersize=7)
        if not tails and sides:
            tails = [estimate] if np.isfinite(estimate) else [neutral] * (low < high)
        edges = self.ax_.get_yaxis_transform()  # shares of the width, and rows
        for side in sorted(sides):
            reached = estimate == side * np.inf
            said = ENDS[self.odds][side > 0]
            inset = -side * (8.0 + 8.0 * len(said)) / 72
            tip = edges + ScaledTranslation(inset, 0.0, self.figure_.dpi_scale_trans)
            at = float(side > 0), place
            self.arrows_.append(
                self.ax_.annotate(
                    "", at, xycoords=tip, xytext=(tails[0], place) if tails else (-SHORT * side, 0),
                    textcoords="data" if tails else "offset points",
                    arrowprops={
                        "arrowstyle": "-|>" if reached else "->", "color": color, "shrinkA": 0,
                        "linewidth": 1.5, "shrinkB": 0,
                    },
                )
            )  # fmt: skip
            self._say(said, at, edges, -4 * side, color)

    def _scale_axis(self, numbers: np.ndarray, ends: np.ndarray) -> None:
        scaled = np.log(numbers) if self.odds else numbers
        low, high = scaled.min(), scaled.max()
        size = high - low
        low -= size * (ROOM if (ends == -np.inf).any() else 0.05) or 1.0
        high += size * (ROOM if (ends == np.inf).any() else 0.05) or 1.0
        self.ax_.set_xlim(np.exp([low, high]) if self.odds else (low, high))
        if not self.odds:
            return
        self.ax_.set_xscale("log")
        self.ax_.xaxis.set_major_locator(Ratios())
        self.ax_.xaxis.set_major_formatter(FuncFormatter(lambda x, _: display.with_minus(f"{x:g}")))
        self.ax_.xaxis.set_minor_locator(NullLocator())


class Ratios(Locator):
    """Ticks at round odds ratios."""

    def __call__(self) -> Any:
        """Return as many as fit the axis, 1 among them."""
        low, high = np.log10(self.axis.get_view_interval())  # type: ignore[union-attr]
        room = 0.8 * self.axis.get_tick_space()  # type: ignore[union-attr]
        most = int(np.clip(room, 2, MOST_TICKS))
        if high - low < LINEAR_DECADES:
            return MaxNLocator(most, steps=[1, 2, 5, 10]).tick_values(10**low, 10**high)
        ticks = MaxNLocator(most).tick_values(np.floor(low), np.ceil(high))
        powers = 10.0 ** np.unique(np.round(ticks))
        return np.outer(powers, [1.0, 2.0, 5.0] if high - low < FINE_DECADES else [1.0]).ravel()


class NeuronDisplay(Display):
    """A linear classifier as neurons: inputs with the constant 1, weights, and weighted sums.

    Attributes
    ----------
    weights : array of shape (sums, 1 + features), intercepts first
    inputs, outputs : list of str, names at both sides
    lines_, texts_ : lists of Line2D and of Text, a line and a number for every weight
    """

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw a fitted linear classifier of at most 15 features and 7 sums."""
        check_drawable(estimator, "coef_", "has no weights of features; use a linear classifier.")
        coef = np.atleast_2d(dense(estimator.coef_))
        many = coef.shape[1] > MOST_INPUTS or len(coef) > MOST_NAMED
        refuse(DataError, (many, "These are too many weights: draw bars.", "too-large", None))
        said = "sum for {}" if len(coef) > 1 else "sign of the sum:\n{}"
        return cls(
            weights=np.column_stack([np.resize(estimator.intercept_, len(coef)), coef]),
            inputs=["1", *names_of(None, coef.shape[1], estimator)],
            outputs=[said.format(name) for name in machine_names(estimator)],
        ).plot(ax)

    def _draw(self) -> list[Any]:
        n, paper = self.weights.shape[1], self.ax_.get_facecolor()
        left, right = ((np.arange(k) - (k - 1) / 2) * -n / k for k in (n, len(self.weights)))
        self.lines_, self.texts_ = [], []
        for (k, j), w in np.ndenumerate(self.weights):
            color, x = hue(0 if w > 0 else 5) if w else GRAY, 0.3 + 0.12 * k
            width = 0.5 + 4.0 * abs(w) / (float(np.abs(self.weights).max()) or 1.0)
            self.lines_ += self.ax_.plot(
                [0, 1], [left[j], right[k]], color=color, linewidth=width, marker="o",
                markersize=16, markerfacecolor=paper, markeredgecolor=ink(), markeredgewidth=1.0,
            )  # fmt: skip
            at, look = (x, left[j] + x * (right[k] - left[j])), {"facecolor": paper, "pad": 1.0}
            self.texts_.append(
                self.ax_.text(*at, f"{w:.4g}", color=color, ha="center", va="center", zorder=5,
                              bbox=look | {"edgecolor": "none"})
            )  # fmt: skip
        self.ax_.set_yticks(left, map(literal, self.inputs))
        said = list(map(literal, self.outputs))
        self.ax_.secondary_yaxis("right").set(yticks=right, yticklabels=said, frame_on=False)
        self.ax_.set(xlim=(-0.1, 1.1), ylim=(-n / 2, n / 2), xticks=[], frame_on=False)
        return []


class WeightImageDisplay(Panels):
    """The weights of a linear image classifier as images, one for each class or pair of classes.

    Positive and negative weights have different colors, on the same scale in all images.

    Attributes
    ----------
    images : array of shape (binary classifiers, height, width)
    titles : list of str
    about : str, how many of them are drawn, or empty
    images_ : list of AxesImage
    colorbar_ : Colorbar
    """

    @classmethod
    def from_estimator(cls, estimator: Any, *, shape: tuple[int, int] | None = None) -> Self:
        """Draw the weights of a fitted linear classifier.

        Parameters
        ----------
        estimator : fitted classifier with a ``coef_``
        shape : (height, width), default None
            The size of the images, stored row by row; None assumes squares.
        """
        for needed in ("coef_", "classes_"):
            check_drawable(
                estimator, needed,
                "has no feature weights for classes; use a linear classifier.",
            )  # fmt: skip
        coef = np.atleast_2d(estimator.coef_)
        n, d = coef.shape
        height, width = shape or (isqrt(d), isqrt(d))
        if height * width != d:
            raise DataError(
                f"Images of {height:,} x {width:,} pixels have {height * width:,} pixels, but "
                f"there are {d:,} features",
                hint("pass the height and width of the images with {}", shape=None),
                code="shape" if shape else "needs-option",
                option="shape",
                value=shape,
            )
        titles = machine_names(estimator)
        return cls(
            images=coef[:MOST_IMAGES].reshape(-1, height, width), titles=titles[:MOST_IMAGES],
            about=f"the first {MOST_IMAGES} of {n:,}" if n > MOST_IMAGES else "",
        ).plot()  # fmt: skip

    def _draw(self) -> list[Any]:
        self.figure_, self.axes_ = display.new_grid(len(self.images), COLUMNS, 1.5, 1.7)
        self.ax_, largest = self.axes_[0], float(np.abs(self.images).max()) or 1.0
        self.images_ = []
        for ax, image, name in zip(self.axes_, self.images, self.titles, strict=True):
            self.images_.append(
                ax.imshow(image, cmap=color_map("RdBu_r"), vmin=-largest, vmax=largest)
            )
            ax.set_axis_off()
            show_title(ax, literal(name))
        self.figure_.suptitle(self.about, fontsize="medium")
        self.colorbar_ = self.figure_.colorbar(self.images_[0], ax=self.axes_, label="weight")
        return []


class SoftMarginPathDisplay(Panels):
    """Weights and support vectors of the soft margin over C.

    Attributes
    ----------
    path : SoftMarginPath, the result of :func:`linsep.soft_margin_path`
    count_ax_ : Axes of the row counts, below those of the weights
    weights_ : list of Line2D, the largest first, at most seven of them in color
    bounded_, free_ : PolyCollection of the numbers of support vectors, with free ones on top
    errors_ : Line2D of the rows that are predicted wrongly
    final_ : list of Line2D at the C beyond which nothing changes, or empty
    legends_ : list of Legend, one for each Axes
    """

    @classmethod
    def from_path(cls, path: SoftMarginPath) -> Self:
        """Draw a path, with the names of the seven largest weights."""
        return cls(path=path).plot()

    def _draw(self) -> list[Any]:
        self.figure_, self.ax_, self.count_ax_ = display.two_panels()
        path, ax = self.path, self.count_ax_
        names = list(map(literal, cut(path.feature_names, LONGEST_NAME)))
        order = np.argsort(-np.abs(path.coef[-1]), kind="stable")
        self.weights_: list[Any] = []
        for place, j in enumerate(order[:MOST_NAMED]):
            self.weights_ += self.ax_.plot(
                path.Cs, path.coef[:, j], color=hue(place), label=names[j]
            )
        look: dict[str, Any] = {"color": GRAY, "linewidth": 0.6, "zorder": 1}
        self.weights_ += self.ax_.plot(path.Cs, path.coef[:, order[MOST_NAMED:]], **look)
        self.ax_.axhline(0.0, color=ink(), linewidth=0.6)
        self.ax_.set(xscale="log", ylabel="weight")
        on = "support vectors"
        if path.models[0].loss == "hinge":
            on, look = "on the margin", {"color": hue(4), "alpha": 0.6, "linewidth": 0}
            self.bounded_ = ax.fill_between(
                path.Cs, 0, path.bounded, label="inside the margin", **look
            )
        self.free_ = ax.fill_between(
            path.Cs, path.bounded, path.bounded + path.free, color=hue(1), alpha=0.8,
            linewidth=0, label=on,
        )  # fmt: skip
        (self.errors_,) = ax.plot(path.Cs, path.errors, color=ink(), linewidth=1.2, label="errors")
        ax.set(xlabel="C", ylabel="rows", ylim=(0, None), xscale="log")
        count_axis(ax.yaxis)
        self.final_: list[Any] = []
        if path.final is not None and len(path.Cs) > 1:
            look = {"color": ink(), "linewidth": 0.8, "ls": ":", "label": "constant from here on"}
            self.final_ = [one.axvline(path.Cs[path.final], **look) for one in (self.ax_, ax)]
        left = len(names) - MOST_NAMED
        show_title(self.ax_, f"{counted(left, 'smaller weight')} in gray" if left > 0 else "")
        counts = [self.free_, self.bounded_, self.errors_, *self.final_[1:]]
        self.legends_ = [
            legend(self.ax_, self.weights_[:MOST_NAMED]), legend(ax, list(filter(None, counts))),
        ]  # fmt: skip
        return []


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
        refuse(DataError, (
            rows.shape[1] + fit_intercept != 2,
            f"A weight space needs two weights, not {rows.shape[1] + fit_intercept}: pass two "
            f"features, or one with fit_intercept=True.", "unsupported", None,
        ))  # fmt: skip
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
                    4 * reach * np.array([[0.0, 0.0], *self.cone]), color=hue(2), alpha=0.3,
                    linewidth=0, label="solutions",
                )
            )  # fmt: skip
            middle = self.cone.sum(axis=0)  # where the smallest angle with a line is largest
            if np.any(middle):
                x, y = 3 * reach * middle / np.linalg.norm(middle)
                (self.center_,) = self.ax_.plot(
                    [0, x], [0, y], color=hue(2), label="largest cosine margin"
                )
        if self.path is not None:
            (self.end_,) = self.ax_.plot(
                *self.path[-1:].T, color=hue(5), marker="o", ls="", label="last weights"
            )
            if len(self.path) > 1:
                (self.path_,) = self.ax_.plot(
                    *self.path.T, color=hue(5), linewidth=1.0, marker=".", markersize=4,
                    label="weights, step by step",
                )  # fmt: skip
                (self.start_,) = self.ax_.plot(
                    *self.path[:1].T, color=hue(0), marker="s", ls="", label="first weights"
                )
        self.ax_.set(
            xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal",
            xlabel=wrapped(weight_of(self.names[0])), ylabel=wrapped(weight_of(self.names[1])),
        )  # fmt: skip
        show_title(self.ax_, "" if self.solvable else "no weights satisfy every row")
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
    """

    @classmethod
    @of_features
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, ax: Any = None) -> Self:
        """Draw a linear classifier of two classes and rows.

        Parameters
        ----------
        estimator : fitted linear classifier of any library
        X, y : rows of one or two features, and their classes
        ax : matplotlib Axes, with ``projection="3d"`` for two features; default None
        """
        model = linear_of(estimator)
        refuse(DataError, (
            len(model.classes) != 2,
            f"The constant feature is drawn for two classes, but there are "
            f"{len(model.classes)}.", "class-count", None,
        ))  # fmt: skip
        check_beside(X, y=y)
        rows = model.rows(X)
        refuse(DataError, (
            rows.shape[1] > 2,
            f"{rows.shape[1]:,} features and a constant cannot be drawn: draw the regions of "
            "the classes with DecisionDisplay or `linsep plot decision`.", "unsupported", None,
        ))  # fmt: skip
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
        refuse(DataError, (
            space and ax is not None and not hasattr(ax, "get_zlim"),
            "Two features and a constant need axes with projection='3d'.", "bad-option", "ax",
        ))  # fmt: skip
        self.figure_, self.ax_ = display.new_axes(ax, "3d" if space else None)

    def _draw(self) -> list[Any]:
        space = self.rows.shape[1] == 2
        (self.origin_,) = self.ax_.plot(
            *np.zeros((2 + space, 1)), color=ink(), marker="+", ls="", markersize=10
        )
        show_title(self.ax_, self.about)
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
                *cut[:, None], color=hue(5), marker="D", ls="", markersize=8, zorder=5,
                fillstyle="none", label=f"boundary: {cut[0]:.4g}",
            )  # fmt: skip
        self.ax_.set(xlim=xs, ylim=ys, xlabel=wrapped(self.names[0]), ylabel="constant feature")
        if same_scale(xs, ys) and np.any(self.weights):
            self.ax_.set_aspect("equal")
            self.normal_ = display.draw_arrow(
                self.ax_, 0 * tip, tip, color=hue(2), label="w and the intercept"
            )
        return [*handles, self.line_, self.cut_, self.normal_]

    def _draw_space(self) -> list[Any]:
        self._right = 1.15
        xs, ys = (np.array(limits(axis)) for axis in np.vstack([self.rows, np.zeros(2)]).T)
        corners = [(x, y, 1.0) for x, y in zip(xs[[0, 1, 1, 0]], ys[[0, 0, 1, 1]], strict=True)]
        self.height_ = self.ax_.add_collection3d(
            Poly3DCollection([corners], facecolor=("0.5", 0.12), edgecolor=("0.5", 0.5))
        )
        self.points_ = display.draw_in_space(self.ax_, self.rows, self.y, self.classes, 1.0, 28.0)
        drawn: list[Any] = []
        if (ends := self._cut_within(xs, ys)) is not None:
            cut = np.column_stack([ends, np.ones(2)])
            self.plane_ = self.ax_.add_collection3d(
                Poly3DCollection([[(0.0, 0.0, 0.0), *map(tuple, cut)]], facecolor=(hue(2), 0.3))
            )
            (self.cut_,) = self.ax_.plot(*cut.T, color=hue(5), linewidth=2.0, label="boundary")
            drawn = [Patch(facecolor=hue(2), alpha=0.3, label="separator"), self.cut_]
        self.ax_.set(
            xlim=xs, ylim=ys, zlim=(0.0, 1.2), xlabel=wrapped(self.names[0]),
            ylabel=wrapped(self.names[1]), zlabel="constant feature",
        )  # fmt: skip
        for axis in (self.ax_.xaxis, self.ax_.yaxis):
            axis.labelpad = 4.0 + 8.0 * axis.get_label_text().count("\n")
        # from the side nearest to the usual one that looks at the separator, not along it
        sides = np.radians(USUAL_SIDE + np.array(TURNS))
        looks = np.column_stack([np.cos(sides), np.sin(sides), np.full(len(sides), SLOPE)])
        normal = self.weights * [np.ptp(xs), np.ptp(ys), 1.2] / np.array([4.0, 4.0, 3.0])
        seen = np.abs(looks @ normal) / (np.linalg.norm(normal) or 1.0)
        turn = TURNS[int(np.argmax(np.minimum(seen, ENOUGH)))]
        self.ax_.view_init(elev=20.0, azim=USUAL_SIDE + turn)
        return [*class_handles(self.points_, len(self.rows), self.classes), *drawn]

    def _cut_within(self, xs: np.ndarray, ys: np.ndarray) -> np.ndarray | None:
        v, w, b = self.weights
        with np.errstate(divide="ignore", invalid="ignore"):  # of lines along an edge
            ends = np.array([[xs, -(v * xs + b) / w], [-(w * ys + b) / v, ys]])
        ends = ends.transpose(0, 2, 1).reshape(4, 2)
        low, high = np.stack([xs, ys], axis=1)
        found = np.unique(ends[((ends >= low) & (ends <= high)).all(axis=1)], axis=0)
        return found[[0, -1]] if len(found) > 1 else None
