"""Class probabilities as curves and as contours."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from scipy.special import expit
from scipy.stats import norm
from sklearn.utils.validation import check_is_fitted

from linsep.errors import DataError, hint, refuse
from linsep.estimators.labels import feature_names, label_text
from linsep.inference.results import SEPARATED, check_level
from linsep.logistic.effects import Curves
from linsep.logistic.estimator import LogisticRegression
from linsep.mistake_bounds.margins import codes_of
from linsep.naive_bayes import GaussianNaiveBayes
from linsep.plot import display, planes
from linsep.plot.display import Display, density_title, ink, of_features, wrapped
from linsep.plot.palettes import colors, hue
from linsep.plot.planes import along_feature, feature_position, frame_like, names_of, others_fixed
from linsep.validation.checks import check_beside

#: probabilities whose contours are drawn
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
#: how far rows lie beyond 0 and 1, at least and at most
BEYOND = (0.04, 0.13)
GOLDEN = (5**0.5 - 1) / 2
#: height of the highest Gaussian
HIGHEST = 0.9


class LogisticDisplay(Display):
    """The probability of one of two classes, and the rows.

    One feature gives a curve with its confidence band: rows of the class are above 1 and others
    below 0, with vertical jitter. The Gaussians of naive Bayes cross where it is 0.5. Two features
    give contours. Other features are fixed at their means.

    The likelihood of separable classes has no maximum, so the title says that the curve is one of
    many; Firth's penalty or l2 gives a unique one.

    Attributes
    ----------
    points : array of shape (rows, 2), where the rows are drawn
    y : int array of shape (rows,), the indices of their classes among the sorted classes
    classes : array of labels
    shown : int, the index of the class whose probability is drawn
    grid : list of arrays, coordinates of the points where it is computed, one array per feature
    values : array of shape (places,) or (rows, columns), the probability at these points
    names : list of str, of one or two features and of the target
    band : pair of arrays of shape (places,), the confidence interval of the probability, or None
    level : float
    threshold : float, where the curve is 0.5, or None
    gaussians : array of shape (2, places) or None, each times the share of its class
    title : str
    curve_ : Line2D of the probability over one feature, or None
    band_ : PolyCollection, or None
    half_, threshold_ : Line2D at the probability 0.5, and where the curve is there, or None
    gaussians_ : list of Line2D, one per class, or empty
    surface_ : QuadMesh of the probability over two features, or None
    contours_ : ContourSet, or None
    """

    @classmethod
    @of_features
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *,
        features: int | str | Sequence[int | str] | None = None, level: float = 0.95,
        resolution: int = 200, ax: Any = None,
    ) -> Self:  # fmt: skip
        """Draw a fitted model of two classes and rows.

        The probability is of the class that is not the reference. Its band is from the covariance
        of the weights, by the delta method for the log-odds; without standard errors there is none.

        Parameters
        ----------
        estimator : fitted :class:`linsep.LogisticRegression` or :class:`linsep.GaussianNaiveBayes`
        X, y : rows, and their classes
        features : int, str, or two of them, default None
            The indices or names of the features to draw; optional if there are one or two.
        level : float, default=0.95
            The confidence level of the band, between 0 and 1.
        resolution : int, default=200
            Number of grid points in each direction.
        """
        model = _log_odds_of(estimator, level)
        model.decision_function(X)  # refuses other widths by itself
        check_beside(X, y=y)
        rows, classes = planes.numbers_of(X), model.classes_
        codes, d = codes_of(y, classes, rows.shape[0]), rows.shape[1]
        refuse(DataError, (
            features is None and d > 2, f"There are {d} features", "needs-option", "features",
            hint("name one or two to draw, such as {}", features=feature_names(model)[0]),
        ))  # fmt: skip
        features = 0 if features is None and d == 1 else features
        shown = int(model.reference_ == classes[0])
        gaussians = threshold = band = None
        why = ""
        if isinstance(features, int | str):
            names = names_of(rows, d, model)
            j = feature_position(features, names)
            x, line, places = along_feature(rows, j, resolution)
            named, grid = [names[j]], [line]
            spread = np.arange(1, codes.size + 1) * GOLDEN % 1  # the same each time
            beyond = BEYOND[0] + (BEYOND[1] - BEYOND[0]) * spread
            points = np.column_stack([x, np.where(codes == shown, 1 + beyond, -beyond)])
            found = Curves(model).bands(places, level)
            if np.isfinite(found.low[:, shown]).all():
                band = found.low[:, shown], found.high[:, shown]
            elif model.stop_reason_ != "implied":
                why = model.stop_sentence_
            if isinstance(estimator, GaussianNaiveBayes) and d == 1:
                gaussians = _gaussians(estimator, line)
        else:
            plane = planes.plane_of(model, rows, features)
            points, named = plane.coordinates(rows), list(plane.names)
            grid, there = planes.grid_around(points, resolution)
            places = plane.points(there)
        scores = np.asarray(model.decision_function(frame_like(X, places))) * (2 * shown - 1)
        ends = scores[[0, -1]]
        if len(grid) == 1 and np.isfinite(ends).all() and ends[0] != ends[1]:
            threshold = float(line[0] - ends[0] / (ends[1] - ends[0]) * np.ptp(line))
        if model.stop_reason_ in SEPARATED:
            why = (
                f"The classes are {model.stop_reason_}: the steeper, the better it fits.\n"
                "Firth's penalty or l2 gives one curve."
            )
        target = getattr(estimator, "recipe_", {}).get("target") or getattr(y, "name", None)
        return cls(
            points=points, y=codes, classes=classes, shown=shown, grid=grid, band=band,
            values=expit(scores).reshape([axis.size for axis in grid[::-1]]),
            names=[*named, str(target or "y")], level=level, threshold=threshold,
            gaussians=gaussians, title=f"{others_fixed(d - len(grid))}\n{why}".strip(),
        ).plot(ax)  # fmt: skip

    def _draw(self) -> list[Any]:
        self.gaussians_: list[Any] = []
        probability = f"P({self.names[-1]} = {label_text(self.classes[self.shown])})"
        curve = len(self.grid) == 1
        if curve:
            self._draw_curve(probability)
        else:
            self._draw_contours()
        classes = self._draw_rows(self.points, self.y, self.classes, 18.0)
        said = "" if curve else wrapped(probability)
        display.show_title(self.ax_, said, self.title, density_title(len(self.points)))
        return [self.curve_, self.band_, self.threshold_, *self.gaussians_, *classes]

    def _draw_curve(self, probability: str) -> None:
        (x,) = self.grid
        color = colors(len(self.classes))[self.shown]
        self.half_ = self.ax_.axhline(0.5, color=ink(), linewidth=0.8, ls=":")
        (self.curve_,) = self.ax_.plot(
            x, self.values, color=ink(), linewidth=1.5, zorder=4, label=wrapped(probability)
        )
        if self.band is not None:
            self.band_ = self.ax_.fill_between(
                x, *self.band, color=color, alpha=0.3, linewidth=0,
                label=f"{100 * self.level:g}% confidence band",
            )  # fmt: skip
        if self.threshold is not None and x[0] < self.threshold < x[-1]:
            (self.threshold_,) = self.ax_.plot(
                [self.threshold] * 2, [0, 0.5], color=ink(), linewidth=1.0, ls="--",
                label=f"0.5 at {self.threshold:.4g}",
            )  # fmt: skip
        if self.gaussians is not None:
            scaled = HIGHEST / self.gaussians.max() * self.gaussians
            for k, (heights, label) in enumerate(zip(scaled, self.classes, strict=True)):
                self.gaussians_ += self.ax_.plot(
                    x, heights, color=hue(k), ls=("-", "--")[k],
                    label=wrapped(f"Gaussian of {label_text(label)}"),
                )  # fmt: skip
                self.ax_.fill_between(x, heights, color=hue(k), alpha=0.15, linewidth=0)
        self.ax_.set(
            xlabel=wrapped(self.names[0]), ylabel=wrapped(probability), xlim=x[[0, -1]],
            ylim=(-BEYOND[1] - 0.04, 1.04 + BEYOND[1]), yticks=np.linspace(0, 1, 5),
        )  # fmt: skip

    def _draw_contours(self) -> None:
        first, second = colors(2)[:: 1 if self.shown else -1]
        shades = [first, self.ax_.get_facecolor(), second]
        self.surface_ = self.ax_.pcolormesh(
            *self.grid, self.values, cmap=LinearSegmentedColormap.from_list("classes", shades),
            vmin=0, vmax=1, alpha=0.35, shading="nearest", linewidth=0, rasterized=True, zorder=0,
        )  # fmt: skip
        if self.values.min() < LEVELS[-1] and self.values.max() > LEVELS[0]:
            widths = [1.8 if level == 0.5 else 0.9 for level in LEVELS]
            self.contours_ = self.ax_.contour(
                *self.grid, self.values, levels=LEVELS, colors=[ink()], linewidths=widths, zorder=4
            )
            self.ax_.clabel(self.contours_, fmt="%g", fontsize="small")
        self.ax_.set(xlabel=wrapped(self.names[0]), ylabel=wrapped(self.names[1]))


def _log_odds_of(estimator: Any, level: float) -> LogisticRegression:
    check_is_fitted(estimator)
    model = estimator.to_logistic() if isinstance(estimator, GaussianNaiveBayes) else estimator
    known = isinstance(model, LogisticRegression)
    refuse(DataError, (
        not known or len(model.classes_) != 2,
        "A probability curve needs a LogisticRegression or GaussianNaiveBayes of two classes: "
        "draw the regions of classes with DecisionDisplay or `linsep plot decision`.",
        "class-count" if known else "unsupported", None,
    ))  # fmt: skip
    check_level(level)
    return model


def _gaussians(model: GaussianNaiveBayes, grid: np.ndarray) -> np.ndarray | None:
    if not (variance := float(model.variances_[0])):
        return None
    return model.priors_[:, None] * norm.pdf(grid, model.means_[:, :1], np.sqrt(variance))
