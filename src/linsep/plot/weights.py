"""Weights with confidence intervals or standard deviations, and pixel weights as images."""

from dataclasses import replace
from itertools import combinations
from math import isqrt
from typing import Any, Self

import numpy as np
from matplotlib.ticker import FuncFormatter, Locator, MaxNLocator, NullLocator
from matplotlib.transforms import ScaledTranslation

from linsep.errors import DataError, hint
from linsep.estimators.labels import label_text, words_and_signs
from linsep.estimators.showing import deviations, machine_names
from linsep.inference.table import DIVERGING, ODDS_RATIO, Summary
from linsep.plot import display
from linsep.plot.display import Display, Panels, check_drawable, cut, ink, literal, show_title
from linsep.plot.palettes import COLORS, color_map
from linsep.plot.planes import STANDARDIZED, said_of

#: characters of a name
LONGEST_NAME = 40
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
#: images in a line
COLUMNS = 5


class CoefficientDisplay(Display):
    """The coefficients of a regression with confidence intervals, or the weights of a learner with
    their standard deviations. Infinite estimates are drawn as arrows.

    Attributes
    ----------
    names : list of str
    estimates, low, high : arrays of shape (coefficients,)
        NaN if undefined; infinite values, and odds ratios of 0, are arrows at the end of the axis
    status : list of str
        Shown instead of an estimate, such as "dependent" or "+inf"; else empty.
    what : str, what the numbers are
    odds : bool, whether they are odds ratios, on a logarithmic axis
    left_out : int, number of coefficients that are not shown
    points_ : Line2D of the estimates
    intervals_ : LineCollection of the intervals with both ends on the axis
    arrows_ : list of Annotation, arrows to an end of the axis for estimates or limits beyond it
    words_ : list of Text, at the end of an arrow, or a status instead of an estimate
    zero_ : Line2D where a feature has no effect

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linsep import LogisticRegression, plot
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = LogisticRegression().fit(X[y > 0], y[y > 0])
    >>> display = plot.CoefficientDisplay.from_estimator(model, odds=True)
    >>> len(display.points_.get_xdata())
    4
    """

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, odds: bool = False, top: int = 30, ax: Any = None
    ) -> Self:  # fmt: skip
        """Draw the coefficients of a fitted regression, or weights with their standard deviations.

        Parameters
        ----------
        estimator : fitted regression with a ``summary()``, or classifier with ``variances_``
        odds, top, ax : as for :meth:`from_summary`; the largest weights are shown
        """
        if hasattr(estimator, "summary"):
            return cls.from_summary(estimator.summary(), odds=odds, top=top, ax=ax)
        name = type(estimator).__name__
        if (spread := deviations(estimator)) is None:
            raise DataError(
                f"{name} has no intervals; use a regression, or a learner with variances.",
                code="unsupported",
            )
        if odds:
            raise DataError(
                f"The weights of {name} are not log-odds",
                hint("leave out {}", odds=None),
                code="unsupported",
                option="odds",
            )
        (words, signs), machines = words_and_signs(estimator), machine_names(estimator)
        names, weights, sure = said_of(estimator, words), signs * estimator.coef_, spread[0]
        order = np.argsort(-np.abs(weights), axis=None, kind="stable")[:top]
        at = np.unravel_index(order, weights.shape)
        w, s, several = weights[at], sure[at], len(machines) > 1
        shown = [f"{machines[k]}: " * several + names[j] for k, j in zip(*at, strict=True)]
        left = weights.size - w.size
        return cls(
            names=shown, estimates=w, low=w - s, high=w + s, status=[""] * w.size, odds=False,
            what="weight ± one standard deviation",
            about=f"{left:,} weights not shown" if left else "",
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
        names = [row.name for row in shown]
        terms = [n.rpartition(": ")[2] if summary.equations else n for n in names]
        scaled = set(summary.standardized)
        names = [n + STANDARDIZED * (t in scaled) for n, t in zip(names, terms, strict=True)]
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
            about=f"{left:,} coefficients not shown" if left else "",
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
            places[whole], *ends[whole, :2].T, color=COLORS[0], linewidth=1.5
        )
        (self.points_,) = self.ax_.plot(
            ends[inside, 2], places[inside], color=COLORS[0], marker="o", ls=""
        )
        self.ax_.set_yticks(places, map(literal, cut(self.names, LONGEST_NAME)))
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
        color = COLORS[5] if np.isinf(estimate) else COLORS[0]
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
        if not self.odds:
            self.ax_.set_xlim(low, high)
            return

        self.ax_.set_xscale("log")
        self.ax_.set_xlim(np.exp(low), np.exp(high))
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


class WeightImageDisplay(Panels):
    """The weights of a linear image classifier as images, one for each class or pair of classes.

    Positive and negative weights have different colors, on the same scale in all images.

    Attributes
    ----------
    images : array of shape (binary classifiers, height, width)
    titles : list of str
    images_ : list of AxesImage
    colorbar_ : Colorbar

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from linsep import Perceptron, plot
    >>> X, y = load_digits(return_X_y=True)
    >>> display = plot.WeightImageDisplay.from_estimator(Perceptron(keep="average").fit(X, y))
    >>> display.images.shape
    (10, 8, 8)
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
        coef = np.atleast_2d(estimator.coef_)[:MOST_IMAGES]
        d = coef.shape[1]
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
        labels = list(map(label_text, estimator.classes_))
        reference = getattr(estimator, "reference_", None)
        titles = labels
        if reference is not None or len(labels) == 2:
            against = labels[0] if reference is None else label_text(reference)
            titles = [f"{label} against {against}" for label in labels if label != against]
        elif getattr(estimator, "multiclass", None) == "ovo":
            titles = [f"{b} against {a}" for a, b in combinations(labels, 2)]
        return cls(images=coef.reshape(-1, height, width), titles=titles[: len(coef)]).plot()

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
        self.colorbar_ = self.figure_.colorbar(self.images_[0], ax=self.axes_, label="weight")
        return []
