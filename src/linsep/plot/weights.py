"""Weights with confidence intervals or standard deviations, and weights of pixels as images."""

from dataclasses import replace
from itertools import combinations
from math import isqrt
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from linsep.errors import DataError, hint
from linsep.estimators._common.explaining import deviations, machine_names
from linsep.estimators._common.labels import label_text, words_and_signs
from linsep.inference.summary import ODDS_RATIO, Summary
from linsep.plot.display import (
    COLOURS,
    Display,
    ink,
    literal,
    new_axes,
    new_grid,
    shortened,
    show_title,
)

#: characters of a name
LONGEST_NAME = 40
#: more images than that are too small to look at
MOST_IMAGES = 30


class CoefficientDisplay(Display):
    """The coefficients of a regression with their intervals, arrows where there is no estimate; or
    the weights of a learner that knows how sure they are, with their standard deviations.

    It is best made with :meth:`from_estimator`.

    Parameters
    ----------
    names : list of str
    estimates, low, high : arrays of shape (coefficients,)
        NaN where there is none.
    status : list of str
        Shown in place of an estimate, such as "dependent" or "+inf"; else empty.
    level : float or None
        Of the intervals; None of weights, whose intervals are a standard deviation on either side.
    odds : bool
        Whether the numbers are odds ratios, on a logarithmic axis.
    left_out : int
        How many coefficients are not shown.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    points_ : Line2D of the estimates
    intervals_ : LineCollection
    arrows_ : list of Annotation, of coefficients that run away
    words_ : list of Text, what is status in place of an estimate
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
        """Draw the coefficients of a fitted regression, or weights and their variances.

        Parameters
        ----------
        estimator : fitted regression with a ``summary()``, or classifier with ``variances_``
        odds, top, intercept, ax, **kwargs : as for :meth:`from_summary`; of weights the largest
            are shown

        Raises
        ------
        DataError
            For an estimator that has neither, and for odds ratios of weights.
        """
        name = type(estimator).__name__
        summary = estimator.summary() if hasattr(estimator, "summary") else None
        how: dict[str, Any] = {"top": top, "intercept": intercept, "ax": ax} | kwargs
        if summary is not None:
            return cls.from_summary(summary, odds=odds, **how)
        if deviations(estimator) is None:
            raise DataError(
                f"{name} has no intervals; draw a regression, or a learner with variances."
            )
        if odds:
            raise DataError(
                f"The weights of {name} are no logarithms of odds", hint("leave out {}", odds=None)
            )
        return cls._of_weights(estimator, **how)

    @classmethod
    def _of_weights(
        cls, model: Any, top: int, intercept: bool, ax: Any, **kwargs: Any
    ) -> Self:  # fmt: skip
        """Draw the largest weights of all machines, each with its standard deviation."""
        (names, signs), machines = words_and_signs(model), machine_names(model)
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
            So many are shown: those with the largest statistic, or the largest estimate.
        intercept : bool, default=False
            Whether the intercept is one of them.
        ax : matplotlib Axes, default None
        **kwargs : passed to :meth:`plot`
        """
        rows = [c for c in summary.coefficients if intercept or not _is_intercept(c.name)]
        shown = rows if len(rows) <= top else replace(summary, coefficients=rows).largest(top)
        scale = np.exp if odds else np.asarray
        if summary.heading == ODDS_RATIO:
            odds, scale = True, np.asarray
        estimates, low, high = (
            scale(np.array([getattr(c, field) for c in shown], dtype=np.float64))
            for field in ("estimate", "low", "high")
        )
        return cls(
            names=[c.name for c in shown], estimates=estimates, low=low, high=high,
            status=[
                c.status or (f"exp({c.estimate:.3g})" if odds and value in (0.0, np.inf) else "")
                for c, value in zip(shown, estimates, strict=True)
            ],
            level=summary.level, odds=odds,
            left_out=len(rows) - len(shown),
        ).plot(ax, **kwargs)  # fmt: skip

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on ``ax``, or on axes of a new figure.

        Parameters
        ----------
        ax : matplotlib Axes, default None
        **kwargs : passed to the points, such as ``markersize=8``
        """
        self.figure_, self.ax_ = new_axes(ax)
        places = np.arange(len(self.names))[::-1]  # the first on top
        finite = np.array([not word for word in self.status], dtype=bool)
        neutral = 1.0 if self.odds else 0.0
        self.zero_ = self.ax_.axvline(neutral, color=ink(), linewidth=0.8, ls=":")
        self.intervals_ = self.ax_.hlines(
            places[finite], self.low[finite], self.high[finite], color=COLOURS[0], linewidth=1.5
        )
        look: dict[str, Any] = {"color": COLOURS[0], "marker": "o", "ls": ""} | kwargs
        (self.points_,) = self.ax_.plot(self.estimates[finite], places[finite], **look)
        if self.odds:
            self.ax_.set_xscale("log")
            self._thin_ticks(finite)
        self.ax_.set_yticks(places, [literal(shortened(n, LONGEST_NAME)) for n in self.names])
        self.ax_.set_ylim(-0.7, len(self.names) - 0.3)
        self.arrows_: list[Any] = []
        self.words_: list[Any] = []
        for place, word, low, high in zip(places, self.status, self.low, self.high, strict=True):
            ends = [(low, 1), (high, -1)]  # from where it runs, and to which side
            open_ended = [(float(end), side) for end, side in ends if self._is_drawn(end)]
            if len(open_ended) == 1 and word in ("", "+inf", "-inf"):
                self._arrow_to_edge(int(place), *open_ended[0], COLOURS[5 if word else 0])
                if word:
                    self._word_at_edge(int(place), word, open_ended[0][1])
            elif word:
                self._say(int(place), word, neutral)
        what = "odds ratio" if self.odds else "coefficient"
        some = np.isfinite(self.low).any() or np.isfinite(self.high).any()
        if self.level is None:
            what = "weight, with a standard deviation on either side"
        elif some:
            what = f"{what}, with its {100 * self.level:g} % interval"
        self.ax_.set_xlabel(what)
        what = "weights" if self.level is None else "coefficients"
        show_title(self.ax_, f"{self.left_out:,} {what} not shown" if self.left_out else "")
        return self

    def _thin_ticks(self, finite: np.ndarray) -> None:
        """Few plain numbers on a logarithmic axis of less than two decades."""
        from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

        ends = np.concatenate([part[finite] for part in (self.low, self.high, self.estimates)])
        ends = np.append(ends[np.isfinite(ends) & (ends > 0)], 1.0)
        if ends.max() < 100 * ends.min():
            few: Any = MaxNLocator(4, steps=[1, 2, 5, 10])
            some: Any = LogLocator(subs=(1.0, 2.0, 5.0))
            self.ax_.xaxis.set_major_locator(few if ends.max() < 3 * ends.min() else some)
            self.ax_.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
            self.ax_.xaxis.set_minor_locator(NullLocator())

    def _is_drawn(self, end: float) -> bool:
        """Whether an end of an interval has a place on the axis."""
        return bool(np.isfinite(end) and (end > 0 or not self.odds))

    def _arrow_to_edge(self, place: int, end: float, side: int, colour: str) -> None:
        """An arrow from the only finite end of an interval to the left or right edge, -1 or 1."""
        look = {"color": colour, "linewidth": 1.5}
        self.ax_.plot([end], [place], marker="|", markersize=7, **look)
        self.arrows_.append(
            self.ax_.annotate(
                "", (float(side > 0), place), xycoords=("axes fraction", "data"),
                xytext=(end, place), textcoords="data",
                arrowprops={"arrowstyle": "-|>", "shrinkA": 0, "shrinkB": 0, **look},
            )
        )  # fmt: skip

    def _word_at_edge(self, place: int, word: str, side: int) -> None:
        self.words_.append(
            self.ax_.annotate(
                word, (float(side > 0), place), xycoords=("axes fraction", "data"),
                xytext=(-4 * side, 3), textcoords="offset points", va="bottom",
                ha="right" if side > 0 else "left", color=COLOURS[5],
            )
        )  # fmt: skip

    def _say(self, place: int, word: str, neutral: float) -> None:
        """An arrow in the direction in which a coefficient runs away, and the word for it."""
        side = {"+inf": 1, "-inf": -1}.get(word)
        if side is None:
            at = (neutral, place)
            text = self.ax_.annotate(
                word, at, xytext=(6, 0), textcoords="offset points", va="center", color=ink()
            )
        else:
            text = self.ax_.annotate(
                word, (neutral, place), xytext=(46 * side, 0), textcoords="offset points",
                va="center", ha="left" if side > 0 else "right", color=COLOURS[5],
            )  # fmt: skip
            self.arrows_.append(
                self.ax_.annotate(
                    "", (neutral, place), xytext=(42 * side, 0), textcoords="offset points",
                    arrowprops={"arrowstyle": "<|-", "color": COLOURS[5]},
                )
            )  # fmt: skip
        self.words_.append(text)


def _is_intercept(name: str) -> bool:
    return name == "intercept" or name.endswith(": intercept")


class WeightImageDisplay(Display):
    """The weights of a linear classifier of images, an image for each class or pair of classes.

    Positive and negative weights have colours of their own, on the same scale in all images. It is
    best made with :meth:`from_estimator`.

    Parameters
    ----------
    images : array of shape (machines, height, width)
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
            Of the images, whose rows follow each other; None takes squares.
        **kwargs : passed to :meth:`plot`

        Raises
        ------
        DataError
            If the features are not the pixels of images of this shape, or for a classifier without
            weights of features.
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "coef_") or not hasattr(estimator, "classes_"):
            raise DataError(
                f"{type(estimator).__name__} has no weights of features for classes: draw a linear "
                "classifier."
            )
        coef = np.atleast_2d(estimator.coef_)[:MOST_IMAGES]
        d = coef.shape[1]
        if shape is None:
            if isqrt(d) ** 2 != d:
                raise DataError(f"{d:,} features are no square: give the shape of the images.")
            shape = (isqrt(d), isqrt(d))
        if shape[0] * shape[1] != d:
            raise DataError(
                f"Images of shape {shape} have {shape[0] * shape[1]:,} pixels, not {d:,}."
            )
        made = cls(images=coef.reshape(-1, *shape), titles=_titles(estimator)[: len(coef)])
        return made.plot(**kwargs)

    def plot(self, *, columns: int = 5, cmap: str = "RdBu_r") -> Self:
        """Draw on a new figure.

        Parameters
        ----------
        columns : int, default=5
            How many images stand beside each other.
        cmap : str, default="RdBu_r"
            A colour map of matplotlib, whose middle stands for 0: white between blue for weights
            below 0 and red for those above.
        """
        self.figure_, self.axes_ = new_grid(len(self.images), columns, 1.5, 1.7)
        largest = float(np.abs(self.images).max()) or 1.0
        self.images_ = []
        for ax, image, name in zip(self.axes_, self.images, self.titles, strict=True):
            self.images_.append(ax.imshow(image, cmap=cmap, vmin=-largest, vmax=largest))
            ax.set_axis_off()
            show_title(ax, literal(name))
        self.ax_ = self.axes_[0]
        self.colorbar_ = self.figure_.colorbar(self.images_[0], ax=self.axes_, label="weight")
        return self


def _titles(estimator: Any) -> list[str]:
    """Return what the rows of ``coef_`` decide: classes, or one against another."""
    labels = [label_text(label) for label in estimator.classes_]
    reference = getattr(estimator, "reference_", None)
    if reference is not None or len(labels) == 2:
        against = labels[0] if reference is None else label_text(reference)
        return [f"{label} against {against}" for label in labels if label != against]
    if getattr(estimator, "multiclass", None) == "ovo":
        return [f"{b} against {a}" for a, b in combinations(labels, 2)]
    return labels
