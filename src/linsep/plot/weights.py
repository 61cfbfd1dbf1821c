"""Weights with confidence intervals or standard deviations, and pixel weights as images."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from math import isqrt
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from linsep.errors import DataError, hint
from linsep.estimators._common.explaining import deviations, machine_names
from linsep.estimators._common.labels import label_text, words_and_signs
from linsep.inference.summary import DIVERGING, ODDS_RATIO, Coefficient, Summary
from linsep.plot.display import (
    Display,
    ink,
    literal,
    new_axes,
    new_grid,
    shortened,
    show_title,
    with_minus,
)
from linsep.plot.palettes import COLORS, color_map
from linsep.plot.plane import said_of

#: characters of a name
LONGEST_NAME = 40
#: inches of a line of a name
LINE = 0.26
#: points of an arrow to an end of the axis that begins nowhere
SHORT = 40.0
#: numbers on an axis of odds ratios
MOST_TICKS = 7
#: share of the width of the numbers that is left for arrows to an end
ROOM = 0.25
#: a smaller odds ratio, or a larger one than its inverse, is beyond the ends of the axis
LEAST_RATIO = 1e-250
#: texts at both ends of the axis of coefficients, and of the axis of odds ratios
ENDS = (("\N{MINUS SIGN}\N{INFINITY}", "\N{INFINITY}"), ("0", "\N{INFINITY}"))
#: estimates that diverge, nobody knows to which end
EITHER = tuple(" or ".join(ends) for ends in ENDS)
#: more images than that are too small to look at
MOST_IMAGES = 30


class CoefficientDisplay(Display):
    """The coefficients of a regression with confidence intervals, or the weights of a learner with
    their standard deviations. Infinite estimates are drawn as arrows.

    Create it with :meth:`from_estimator`.

    Parameters
    ----------
    names : list of str
    estimates, low, high : arrays of shape (coefficients,)
        NaN if undefined. Infinite values, and odds ratios of 0, are arrows at the end of the axis.
    status : list of str
        Shown instead of an estimate, such as "dependent" or "+inf"; else empty.
    level : float or None
        The confidence level of the intervals; None for weights, with intervals of one standard
        deviation on either side.
    odds : bool
        Whether the numbers are odds ratios, on a logarithmic axis.
    left_out : int
        Number of coefficients that are not shown.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    points_ : Line2D of the estimates
    intervals_ : LineCollection of the intervals with both ends on the axis
    arrows_ : list of Annotation, arrows to an end of the axis for estimates or limits beyond it
    words_ : list of Text, at the end of an arrow, or a status instead of an estimate
    zero_ : Line2D where a feature has no effect

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linsep import LogisticRegression
    >>> from linsep.plot import CoefficientDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = LogisticRegression().fit(X[y > 0], y[y > 0])
    >>> display = CoefficientDisplay.from_estimator(model, odds=True)
    >>> len(display.points_.get_xdata())
    4
    """

    names: list[str]
    estimates: np.ndarray
    low: np.ndarray
    high: np.ndarray
    status: list[str]
    level: float | None = 0.95
    odds: bool = False
    left_out: int = 0

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, odds: bool = False, top: int = 30, intercept: bool = False,
        ax: Any = None, **kwargs: Any,
    ) -> Self:  # fmt: skip
        """Draw the coefficients of a fitted regression, or weights with their standard deviations.

        Parameters
        ----------
        estimator : fitted regression with a ``summary()``, or classifier with ``variances_``
        odds, top, intercept, ax, **kwargs : as for :meth:`from_summary`; the largest weights are
            shown

        Raises
        ------
        DataError
            For an estimator with neither, and for odds ratios of weights.
        """
        name = type(estimator).__name__
        summary = estimator.summary() if hasattr(estimator, "summary") else None
        how: dict[str, Any] = {"top": top, "intercept": intercept, "ax": ax} | kwargs
        if summary is not None:
            return cls.from_summary(summary, odds=odds, **how)
        if deviations(estimator) is None:
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
        return cls._of_weights(estimator, **how)

    @classmethod
    def _of_weights(
        cls, model: Any, top: int, intercept: bool, ax: Any, **kwargs: Any
    ) -> Self:  # fmt: skip
        """Draw the largest weights of all binary classifiers, each with its standard deviation."""
        (names, signs), machines = words_and_signs(model), machine_names(model)
        names = said_of(model, names)
        weights, spread = signs * np.atleast_2d(model.coef_), deviations(model)
        assert spread is not None
        sure, more = spread[0], np.atleast_1d(model.intercept_)[:, None]
        if intercept:
            names, weights = ["intercept", *names], np.hstack([more, weights])
            sure = np.hstack([spread[1][:, None], sure])
        order = np.argsort(-np.abs(weights), axis=None, kind="stable")[:top]
        at = np.unravel_index(order, weights.shape)
        w, s, several = weights[at], sure[at], len(machines) > 1
        return cls(
            names=[
                f"{machines[k]}: {names[j]}" if several else names[j]
                for k, j in zip(*at, strict=True)
            ],
            estimates=w, low=w - s, high=w + s, status=[""] * w.size, level=None,
            left_out=weights.size - w.size,
        ).plot(ax, **kwargs)  # fmt: skip

    @classmethod
    def from_summary(
        cls,
        summary: Summary,
        *,
        odds: bool = False,
        top: int = 30,
        intercept: bool = False,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the coefficients of a summary.

        Parameters
        ----------
        summary : :class:`linsep.inference.summary.Summary`
        odds : bool, default=False
            Whether to draw odds ratios, exp of the coefficients of a logistic regression.
        top : int, default=30
            Number of coefficients to show: the ones with the largest statistics, or the largest
            estimates.
        intercept : bool, default=False
            Whether to include the intercept.
        ax : matplotlib Axes, default None
        **kwargs : passed to :meth:`plot`
        """
        rows = [c for c in summary.coefficients if intercept or not _is_intercept(c.name)]
        shown = rows if len(rows) <= top else replace(summary, coefficients=rows).largest(top)
        if odds and summary.heading != ODDS_RATIO:
            shown = [_ratio(row) for row in shown]
        estimates, low, high = (
            np.array([getattr(row, field) for row in shown], dtype=np.float64)
            for field in ("estimate", "low", "high")
        )
        return cls(
            names=[row.name for row in shown], estimates=estimates, low=low, high=high,
            status=[row.status for row in shown], level=summary.level,
            odds=odds or summary.heading == ODDS_RATIO, left_out=len(rows) - len(shown),
        ).plot(ax, **kwargs)  # fmt: skip

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on ``ax`` or on new axes.

        Parameters
        ----------
        ax : matplotlib Axes, default None
        **kwargs : passed to the points, such as ``markersize=8``
        """
        self.figure_, self.ax_ = new_axes(ax)
        if ax is None:
            width, height = self.figure_.get_size_inches()
            self.figure_.set_size_inches(width, max(height, 1.0 + LINE * len(self.names)))
        neutral = 1.0 if self.odds else 0.0
        self.zero_ = self.ax_.axvline(neutral, color=ink(), linewidth=0.8, ls=":")
        estimates, low, high = map(self._placed, (self._with_diverging(), self.low, self.high))
        places = np.arange(len(self.names))[::-1]  # the first on top
        inside, whole = np.isfinite(estimates), np.isfinite(low) & np.isfinite(high)
        self.intervals_ = self.ax_.hlines(
            places[whole], low[whole], high[whole], color=COLORS[0], linewidth=1.5
        )
        look: dict[str, Any] = {"color": COLORS[0], "marker": "o", "ls": ""} | kwargs
        (self.points_,) = self.ax_.plot(estimates[inside], places[inside], **look)
        self.ax_.set_yticks(places, [literal(shortened(n, LONGEST_NAME)) for n in self.names])
        self.ax_.set_ylim(-0.7, len(self.names) - 0.3)
        self.arrows_: list[Any] = []
        self.words_: list[Any] = []
        ends = np.column_stack([low, high, estimates])
        for place, word, own in zip(places.tolist(), self.status, ends.tolist(), strict=True):
            if word and np.isnan(own[2]):
                self._say(place, EITHER[self.odds] if word == "infinite" else word, neutral)
            else:
                self._arrows(place, word, own, neutral)
        self._scale_axis(np.append(ends[np.isfinite(ends)], neutral), np.isinf(ends) * ends)
        self._name_axis()
        what = "weights" if self.level is None else "coefficients"
        show_title(self.ax_, f"{self.left_out:,} {what} not shown" if self.left_out else "")
        return self

    def _with_diverging(self) -> np.ndarray:
        """Return the estimates, which status may say are infinite or 0."""
        pairs = zip(self.status, self.estimates.tolist(), strict=True)
        return np.array([
            DIVERGING.get(word, np.nan) if np.isnan(number) else number
            for word, number in pairs
        ], dtype=np.float64)  # fmt: skip

    def _placed(self, numbers: np.ndarray) -> np.ndarray:
        """Return numbers, infinite if they are beyond an end of the axis."""
        if not self.odds:
            return numbers
        return np.where(
            numbers < LEAST_RATIO, -np.inf, np.where(numbers > 1 / LEAST_RATIO, np.inf, numbers)
        )

    def _arrows(self, place: int, word: str, ends: list[float], neutral: float) -> None:
        """Draw arrows to the ends of the axis reached by an interval and its estimate."""
        low, high, estimate = ends
        color = COLORS[5] if np.isinf(estimate) else COLORS[0]
        sides = {int(np.sign(x)) for x in (low, high, estimate) if np.isinf(x)}
        tails = [x for x in (low, high) if np.isfinite(x)]
        if tails and sides:
            look = {"color": color, "marker": "|", "markersize": 7}
            self.ax_.plot(tails, [place] * len(tails), **look)
        elif np.isfinite(estimate):
            tails = [estimate]
        elif np.isinf(low) and np.isinf(high) and low < high:
            tails = [neutral]
        for side in sorted(sides):
            said = ENDS[self.odds][side > 0]
            if word.startswith("exp(") and estimate == side * np.inf:
                said = word
            tip = self._inset(side, 8.0 + 8.0 * len(said))
            head = "-|>" if estimate == side * np.inf else "->"
            look = {"arrowstyle": head, "color": color, "linewidth": 1.5}
            whence = (tails[0], place) if tails else (-SHORT * side, 0.0)
            self.arrows_.append(
                self.ax_.annotate(
                    "", (float(side > 0), place), xycoords=tip, xytext=whence,
                    textcoords="data" if tails else "offset points",
                    arrowprops={"shrinkA": 0, "shrinkB": 0, **look},
                )
            )  # fmt: skip
            self.words_.append(
                self.ax_.annotate(
                    said, (float(side > 0), place), xycoords=self.ax_.get_yaxis_transform(),
                    xytext=(-4 * side, 0), textcoords="offset points", va="center",
                    ha="right" if side > 0 else "left", color=color, size="large",
                )
            )  # fmt: skip

    def _inset(self, side: int, points: float) -> Any:
        """Return coordinates: shares of the width, shifted by points from an end, and rows."""
        from matplotlib.transforms import ScaledTranslation

        shift = ScaledTranslation(-side * points / 72, 0.0, self.figure_.dpi_scale_trans)
        return self.ax_.get_yaxis_transform() + shift

    def _scale_axis(self, numbers: np.ndarray, beyond: np.ndarray) -> None:
        """Set the limits of the axis, with room for arrows; logarithmic for odds ratios."""
        scaled = np.log(numbers) if self.odds else numbers
        low, high = scaled.min(), scaled.max()
        size = high - low
        low -= size * (ROOM if (beyond < 0).any() else 0.05) or 1.0
        high += size * (ROOM if (beyond > 0).any() else 0.05) or 1.0
        if not self.odds:
            self.ax_.set_xlim(low, high)
            return
        from matplotlib.ticker import FuncFormatter, Locator, NullLocator

        class Ratios(Locator):
            """Set ticks at round odds ratios, as many as fit the axis."""

            def __call__(self) -> Any:
                low, high = np.log(self.axis.get_view_interval())  # type: ignore[union-attr]
                room = int(0.8 * self.axis.get_tick_space())  # type: ignore[union-attr]
                return _ticks(low, high, min(max(room, 2), MOST_TICKS))

        self.ax_.set_xscale("log")
        self.ax_.set_xlim(np.exp(low), np.exp(high))
        self.ax_.xaxis.set_major_locator(Ratios())
        self.ax_.xaxis.set_major_formatter(FuncFormatter(lambda x, _: with_minus(f"{x:g}")))
        self.ax_.xaxis.set_minor_locator(NullLocator())

    def _name_axis(self) -> None:
        what = "odds ratio" if self.odds else "coefficient"
        some = np.isfinite(self.low).any() or np.isfinite(self.high).any()
        if self.level is None:
            what = "weight ± one standard deviation"
        elif some:
            what = f"{what}, with its {100 * self.level:g}% interval"
        self.ax_.set_xlabel(what)

    def _say(self, place: int, word: str, neutral: float) -> None:
        """Write why there is no estimate, at the value of no effect."""
        self.words_.append(
            self.ax_.annotate(
                word, (neutral, place), xytext=(6, 0), textcoords="offset points", va="center",
                color=ink(),
            )
        )  # fmt: skip


def _ratio(row: Coefficient) -> Coefficient:
    """Return the odds ratio of a coefficient; if it overflows, its status is the exponent."""
    found = row.exponentiated()
    beyond = not row.status and not LEAST_RATIO <= found.estimate <= 1 / LEAST_RATIO
    return found._replace(status=f"exp({row.estimate:.3g})") if beyond else found


def _ticks(low: float, high: float, most: int) -> Sequence[float]:
    """Return at most about ``most`` round odds ratios, including 1, given the logarithms of both
    ends of the axis.
    """
    decades = (high - low) / np.log(10.0)
    if decades < 0.5:
        from matplotlib.ticker import MaxNLocator

        return MaxNLocator(min(most, 6), steps=[1, 2, 5, 10]).tick_values(np.exp(low), np.exp(high))
    step = max(1.0, np.ceil(decades / most))
    first, last = np.floor(low / np.log(10.0) / step), np.ceil(high / np.log(10.0) / step)
    powers = 10.0 ** (step * np.arange(first, last + 1))
    digits = [1.0, 2.0, 5.0] if 3 * decades < most else [1.0]
    ticks: list[float] = np.outer(powers, digits).ravel().tolist()
    return ticks


def _is_intercept(name: str) -> bool:
    return name == "intercept" or name.endswith(": intercept")


class WeightImageDisplay(Display):
    """The weights of a linear image classifier as images, one for each class or pair of classes.

    Positive and negative weights have different colors, on the same scale in all images. Create it
    with :meth:`from_estimator`.

    Parameters
    ----------
    images : array of shape (binary classifiers, height, width)
    titles : list of str

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : Axes of the first image
    axes_ : list of Axes
    images_ : list of AxesImage
    colorbar_ : Colorbar

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from linsep import Perceptron
    >>> from linsep.plot import WeightImageDisplay
    >>> X, y = load_digits(return_X_y=True)
    >>> display = WeightImageDisplay.from_estimator(Perceptron(keep="average").fit(X, y))
    >>> display.images.shape
    (10, 8, 8)
    """

    images: np.ndarray
    titles: list[str]

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, shape: tuple[int, int] | None = None, **kwargs: Any
    ) -> Self:
        """Draw the weights of a fitted linear classifier.

        Parameters
        ----------
        estimator : fitted classifier with a ``coef_``
        shape : (height, width), default None
            The size of the images, stored row by row; None assumes squares.
        **kwargs : passed to :meth:`plot`

        Raises
        ------
        DataError
            If the features are not the pixels of images of this shape, or for a classifier without
            feature weights.
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "coef_") or not hasattr(estimator, "classes_"):
            raise DataError(
                f"{type(estimator).__name__} has no feature weights for classes; use a linear "
                f"classifier.",
                code="unsupported",
            )
        coef = np.atleast_2d(estimator.coef_)[:MOST_IMAGES]
        d = coef.shape[1]
        if shape is None:
            if isqrt(d) ** 2 != d:
                raise DataError(
                    f"{d:,} features do not form a square image",
                    hint("pass the height and width of the images with {}", shape=None),
                    code="needs-option",
                    option="shape",
                )
            shape = (isqrt(d), isqrt(d))
        if shape[0] * shape[1] != d:
            raise DataError(
                f"Images of {shape[0]:,} x {shape[1]:,} pixels have {shape[0] * shape[1]:,} "
                f"pixels, but there are {d:,} features.",
                code="shape",
                option="shape",
                value=shape,
            )
        made = cls(images=coef.reshape(-1, *shape), titles=_titles(estimator)[: len(coef)])
        return made.plot(**kwargs)

    def plot(self, *, columns: int = 5, cmap: Any = None) -> Self:
        """Draw on a new figure.

        Parameters
        ----------
        columns : int, default=5
            Number of images per line.
        cmap : str or Colormap, default None
            A matplotlib color map, whose middle stands for 0. None: the map of the current palette,
            else blue for negative weights, white, and red for positive weights.
        """
        self.figure_, self.axes_ = new_grid(len(self.images), columns, 1.5, 1.7)
        largest = float(np.abs(self.images).max()) or 1.0
        self.images_ = []
        cmap = color_map("RdBu_r") if cmap is None else cmap
        for ax, image, name in zip(self.axes_, self.images, self.titles, strict=True):
            self.images_.append(ax.imshow(image, cmap=cmap, vmin=-largest, vmax=largest))
            ax.set_axis_off()
            show_title(ax, literal(name))
        self.ax_ = self.axes_[0]
        self.colorbar_ = self.figure_.colorbar(self.images_[0], ax=self.axes_, label="weight")
        return self


def _titles(estimator: Any) -> list[str]:
    """Return the meaning of the rows of ``coef_``: classes, or one class against another."""
    labels = [label_text(label) for label in estimator.classes_]
    reference = getattr(estimator, "reference_", None)
    if reference is not None or len(labels) == 2:
        against = labels[0] if reference is None else label_text(reference)
        return [f"{label} against {against}" for label in labels if label != against]
    if getattr(estimator, "multiclass", None) == "ovo":
        return [f"{b} against {a}" for a, b in combinations(labels, 2)]
    return labels
