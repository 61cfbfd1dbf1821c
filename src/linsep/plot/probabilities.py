"""Class probabilities: as curves and regions, and compared with observed frequencies."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import expit
from sklearn.calibration import calibration_curve
from sklearn.utils.validation import check_is_fitted

from linsep.errors import DataError, hint
from linsep.estimators._common.labels import feature_names, label_text
from linsep.inference.summary import check_level
from linsep.logistic.delta import Curves
from linsep.logistic.estimator import LogisticRegression
from linsep.logistic.solution import SEPARATED
from linsep.naive_bayes import GaussianNaiveBayes
from linsep.plot.display import (
    MARKERS,
    Display,
    class_handles,
    codes_of,
    colors,
    density_title,
    draw_rows,
    ink,
    legend,
    literal,
    make_room,
    new_axes,
    of_features,
    show_title,
    wrapped,
)
from linsep.plot.palettes import COLORS
from linsep.plot.plane import (
    along_feature,
    feature_position,
    frame_like,
    grid_around,
    names_of,
    numbers_of,
    others_fixed,
    plane_of,
)
from linsep.validation.labels import check_beside, labels_of

#: probabilities whose contours are drawn
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
#: how far rows lie beyond 0 and 1, at least and at most
BEYOND = (0.04, 0.13)
#: what titles of separable classes say
ADVICE = "Firth's penalty or l2 gives one curve."
#: height of the highest Gaussian
HIGHEST = 0.9


class LogisticDisplay(Display):
    """The probability of one of two classes, and the rows.

    With one feature it is a curve with its confidence band. Rows of the class are drawn above 1 and
    others below 0, with vertical jitter. For Gaussian naive Bayes with one feature, the Gaussians
    that imply the curve are also drawn: the curve is 0.5 where they cross. With two features,
    contours show the probability. Other features are fixed at their means. Create it with
    :meth:`from_estimator`.

    The likelihood of separable classes has no maximum, so the title says that the curve is one of
    many; Firth's penalty or l2 gives a unique one.

    Parameters
    ----------
    points : array of shape (rows, 2)
        Coordinates of the rows; for one feature the second is the height at which they are drawn.
    y : int array of shape (rows,)
        The indices of their classes among the sorted classes.
    classes : array of labels
    shown : int
        The index of the class whose probability is drawn.
    grid : tuple of arrays
        Coordinates of the points where the probability is computed, one array per feature.
    values : array of shape (places,) or (rows, columns)
        The probability at these points.
    names : list of str
        The names of one or two features and of the target.
    band : pair of arrays of shape (places,), or None
        The ends of the confidence interval of the probability.
    level : float
    threshold : float or None
        Where the curve is 0.5.
    gaussians : array of shape (2, places) or None
        The Gaussian of each class times the share of that class, drawn on a separate scale.
    title : str

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    curve_ : Line2D of the probability over one feature, or None
    band_ : PolyCollection, or None
    half_ : Line2D at the probability 0.5, or None
    threshold_ : Line2D where the curve is 0.5, or None
    gaussians_ : list of Line2D, one per class, or empty
    surface_ : QuadMesh of the probability over two features, or None
    contours_ : ContourSet, or None
    points_ : list of PathCollection, one per class, or of PolyCollection, their densities
    legend_ : Legend

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linsep import LogisticRegression
    >>> from linsep.plot import LogisticDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> width, y = X.loc[y > 0, ["petal width (cm)"]], y[y > 0]
    >>> display = LogisticDisplay.from_estimator(LogisticRegression().fit(width, y), width, y)
    >>> round(display.threshold, 3)
    1.637
    """

    points: np.ndarray
    y: np.ndarray
    classes: np.ndarray
    shown: int
    grid: Sequence[np.ndarray]
    values: np.ndarray
    names: list[str]
    band: tuple[np.ndarray, np.ndarray] | None = None
    level: float = 0.95
    threshold: float | None = None
    gaussians: np.ndarray | None = None
    title: str = ""

    @classmethod
    @of_features
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        features: int | str | Sequence[int | str] | None = None,
        level: float = 0.95,
        resolution: int = 200,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw a fitted model of two classes and rows.

        The probability is for the class that the weights describe, not the reference. Its band is
        computed from the covariance of the weights by the delta method for the log-odds; without
        standard errors there is no band.

        Parameters
        ----------
        estimator : fitted :class:`linsep.LogisticRegression` or :class:`linsep.GaussianNaiveBayes`
        X : array, sparse matrix or data frame of shape (rows, features)
        y : array of shape (rows,)
            The classes.
        features : int, str, or two of them, default None
            The indices or names of the features to draw; optional if there are one or two.
        level : float, default=0.95
            The confidence level of the band, between 0 and 1.
        resolution : int, default=200
            Number of grid points in each direction.
        ax : matplotlib Axes, default None
        **kwargs : passed to :meth:`plot`

        Raises
        ------
        ValueError
            For a model without probabilities or of several classes, rows whose width differs from
            the fit, unknown labels, and if ``features`` is needed or unknown.
        """
        model = _log_odds_of(estimator, level)
        model.decision_function(X)  # refuses other widths by itself
        check_beside(X, y=y)
        rows, classes = numbers_of(X), model.classes_
        codes = codes_of(y, classes, rows.shape[0])
        if features is None and rows.shape[1] > 2:
            raise DataError(
                f"There are {rows.shape[1]} features",
                hint("name one or two to draw, such as {}", features=feature_names(model)[0]),
                code="needs-option",
                option="features",
            )
        shown = int(_sign_of_shown(model) > 0)
        if features is None and rows.shape[1] == 1:
            features = 0
        if isinstance(features, int | str):
            found = _over_one(model, X, rows, features, resolution, level)
            heights = np.where(codes == shown, 1 + _spread(codes.size), -_spread(codes.size))
            found["points"] = np.column_stack([found["points"], heights])
        else:
            found = _over_two(model, X, rows, features, resolution)
        if isinstance(estimator, GaussianNaiveBayes) and rows.shape[1] == 1:
            found["gaussians"] = _gaussians(estimator, found["grid"][0])
        target = getattr(estimator, "recipe_", {}).get("target") or getattr(y, "name", None)
        found["names"].append(str(target or "y"))
        return cls(y=codes, classes=classes, shown=shown, level=level, **found).plot(ax, **kwargs)

    def plot(self, ax: Any = None, *, size: float = 18.0) -> Self:
        """Draw on ``ax`` or on new axes.

        Parameters
        ----------
        ax : matplotlib Axes, default None
        size : float, default=18
            Area of a point, in square points.
        """
        self.figure_, self.ax_ = new_axes(ax)
        self.curve_: Any = None
        self.band_: Any = None
        self.half_: Any = None
        self.threshold_: Any = None
        self.gaussians_: list[Any] = []
        self.surface_: Any = None
        self.contours_: Any = None
        probability = f"P({self.names[-1]} = {label_text(self.classes[self.shown])})"
        curve = len(self.grid) == 1
        if curve:
            self._draw_curve(probability)
        else:
            self._draw_contours()
        self.points_ = draw_rows(self.ax_, self.points, self.y, self.classes, size)
        said = "" if curve else wrapped(probability)
        show_title(self.ax_, said, self.title, density_title(len(self.points)))
        classes = class_handles(self.points_, len(self.points), self.classes)
        drawn = self.curve_, self.band_, self.threshold_, *self.gaussians_
        self.legend_ = legend(self.ax_, [*drawn, *classes])
        return self

    def _draw_curve(self, probability: str) -> None:
        """Draw the curve, its band and the Gaussians."""
        (x,) = self.grid
        color = colors(len(self.classes))[self.shown]
        self.half_ = self.ax_.axhline(0.5, color=ink(), linewidth=0.8, ls=":")
        (self.curve_,) = self.ax_.plot(x, self.values, color=ink(), linewidth=1.5, zorder=4)
        self.curve_.set_label(probability)
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
        self._draw_gaussians(x)
        self.ax_.set(xlabel=wrapped(self.names[0]), ylabel=wrapped(probability), xlim=x[[0, -1]])
        self.ax_.set(ylim=(-BEYOND[1] - 0.04, 1.04 + BEYOND[1]), yticks=np.linspace(0, 1, 5))

    def _draw_gaussians(self, x: np.ndarray) -> None:
        if self.gaussians is None:
            return
        scale = HIGHEST / self.gaussians.max()
        looks = zip(self.gaussians, self.classes, COLORS, ("-", "--"), strict=False)
        for heights, label, color, style in looks:
            self.gaussians_ += self.ax_.plot(
                x, scale * heights, color=color, ls=style, linewidth=1.2,
                label=wrapped(f"Gaussian of {label_text(label)}"),
            )  # fmt: skip
            self.ax_.fill_between(x, scale * heights, color=color, alpha=0.15, linewidth=0)

    def _draw_contours(self) -> None:
        """Draw the probability as colors between the class colors, with labeled contours."""
        from matplotlib.colors import LinearSegmentedColormap

        first, second = colors(2)
        ends = (first, second) if self.shown else (second, first)
        shades = [ends[0], self.ax_.get_facecolor(), ends[1]]
        self.surface_ = self.ax_.pcolormesh(
            *self.grid, self.values, cmap=LinearSegmentedColormap.from_list("classes", shades),
            vmin=0, vmax=1, alpha=0.35, shading="nearest", linewidth=0, rasterized=True, zorder=0,
        )  # fmt: skip
        levels = LEVELS if ((self.values > 0) & (self.values < 1)).any() else (0.5,)
        widths = [1.8 if level == 0.5 else 0.9 for level in levels]
        if np.nanmin(self.values) < LEVELS[-1] and np.nanmax(self.values) > LEVELS[0]:
            self.contours_ = self.ax_.contour(
                *self.grid, self.values, levels=levels, colors=[ink()], linewidths=widths, zorder=4
            )
            if len(levels) > 1:
                self.ax_.clabel(self.contours_, fmt="%g", fontsize="small")
        self.ax_.set(xlabel=wrapped(self.names[0]), ylabel=wrapped(self.names[1]))


def _log_odds_of(estimator: Any, level: float) -> LogisticRegression:
    """Return the logistic regression of a model; raise an error if it cannot be drawn."""
    check_is_fitted(estimator)
    name = type(estimator).__name__
    model = estimator.to_logistic() if isinstance(estimator, GaussianNaiveBayes) else estimator
    if not isinstance(model, LogisticRegression):
        raise DataError(
            f"A probability curve needs a LogisticRegression, not a {name}: "
            "draw the regions of its classes with DecisionDisplay or `linsep plot decision`.",
            code="unsupported",
        )
    if len(model.classes_) != 2:
        raise DataError(
            f"A probability curve needs two classes, but this {name} has "
            f"{len(model.classes_)} classes: draw their regions with DecisionDisplay or "
            "`linsep plot decision`.",
            code="class-count",
        )
    check_level(level)
    return model


def _spread(n: int) -> np.ndarray:
    """Return reproducible heights that spread rows: multiples of the golden ratio."""
    shares = np.arange(1, n + 1) * ((5**0.5 - 1) / 2) % 1
    return BEYOND[0] + (BEYOND[1] - BEYOND[0]) * shares


def _over_one(
    model: LogisticRegression, X: Any, rows: Any, feature: int | str, n: int, level: float
) -> dict[str, Any]:
    """Compute the curve over one feature, the others fixed at their means."""
    names, d = names_of(rows, rows.shape[1], model), rows.shape[1]
    j = feature_position(feature, names)
    x, grid, places = along_feature(rows, j, n)
    scores = _scores(model, X, places)
    low, high = scores[[0, -1]].tolist()
    crosses = np.isfinite([low, high]).all() and low != high
    band = _probability_band(model, places, level)
    why = "" if band or model.stop_reason_ == "implied" else model.stop_sentence_
    return {
        "points": x, "grid": [grid], "values": expit(scores), "names": [names[j]], "band": band,
        "title": _title(model, others_fixed(d - 1), why),
        "threshold": float(grid[0] - low / (high - low) * np.ptp(grid)) if crosses else None,
    }  # fmt: skip


def _scores(model: LogisticRegression, X: Any, places: np.ndarray) -> np.ndarray:
    """Return the log-odds of the class that is shown."""
    return np.asarray(model.decision_function(frame_like(X, places))) * _sign_of_shown(model)


def _title(model: LogisticRegression, about: str, why: str = "") -> str:
    """Return the title, which says so if the likelihood has no maximum."""
    if model.stop_reason_ in SEPARATED:
        why = f"The classes are {model.stop_reason_}: the steeper, the better it fits.\n{ADVICE}"
    return "\n".join(filter(None, [about, why]))


def _probability_band(
    model: LogisticRegression, places: np.ndarray, level: float
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the confidence interval of the probability at some points, from the log-odds."""
    found, shown = Curves(model).bands(places, level), int(_sign_of_shown(model) > 0)
    low, high = found.low[:, shown], found.high[:, shown]
    return (low, high) if np.isfinite(low).all() else None


def _over_two(
    model: LogisticRegression, X: Any, rows: Any, features: Any, n: int
) -> dict[str, Any]:
    """Compute the probability over two features, the others fixed at their means."""
    plane = plane_of(model, rows, features)
    points = plane.coordinates(rows)
    grid, places = grid_around(points, n)
    values = expit(_scores(model, X, plane.points(places))).reshape(n, n)
    return {
        "points": points, "grid": grid, "values": values, "names": list(plane.names),
        "title": _title(model, plane.title),
    }  # fmt: skip


def _sign_of_shown(model: LogisticRegression) -> int:
    """Return the sign that turns scores of the larger class into scores of the class shown."""
    return 1 if model.reference_ == model.classes_[0] else -1


def _gaussians(model: GaussianNaiveBayes, grid: np.ndarray) -> np.ndarray | None:
    """Return the share of each class times its Gaussian; None if a variance is zero."""
    variance = float(model.variances_[0])
    if variance == 0:
        return None
    squares = (grid - model.means_[:, :1]) ** 2 / (2 * variance)
    return model.priors_[:, None] * np.exp(-squares) / np.sqrt(2 * np.pi * variance)


class Curve(NamedTuple):
    """Mean predicted probability and observed frequency of a class by bin, and its Brier score."""

    predicted: np.ndarray
    observed: np.ndarray
    brier: float


class ReliabilityDisplay(Display):
    """Calibration curves: mean predicted probability against observed frequency.

    The bins have equal numbers of rows, as in scikit-learn's ``calibration_curve`` with
    ``strategy="quantile"``. There is one curve for two classes, for the larger class, else one per
    class. Create it with :meth:`from_estimator`.

    Parameters
    ----------
    curves : dict of label to Curve

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    curves_ : list of Line2D, one per class
    diagonal_ : Line2D
    legend_ : Legend

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> import linsep
    >>> from linsep.plot import ReliabilityDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = linsep.Perceptron(keep="average").fit(X[:200], y[:200])
    >>> model = linsep.calibrate(model, X[200:400], y[200:400])
    >>> display = ReliabilityDisplay.from_estimator(model, X[400:], y[400:])
    >>> len(display.curves_)
    1
    """

    curves: dict[Any, Curve]

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, sample_weight: Any = None, n_bins: int = 10,
        ax: Any = None, **kwargs: Any,
    ) -> Self:  # fmt: skip
        """Draw the calibration curves of a classifier with probabilities.

        Parameters
        ----------
        estimator : fitted classifier with ``predict_proba``
        X, y : rows not used for training, and their classes
        sample_weight : array of shape (rows,), default ones
        n_bins : int, default 10
        ax : matplotlib Axes, default None
        **kwargs : passed to :meth:`plot`

        Raises
        ------
        DataError
            If the classifier has no probabilities, or a label is not one of its classes.
        """
        if not hasattr(estimator, "predict_proba"):
            raise DataError(
                f"This {type(estimator).__name__} has no probabilities: calibrate its scores with "
                f"linsep.calibrate or `linsep fit --calibrate`.",
                code="unsupported",
            )
        check_beside(X, y=y)
        found, y = estimator.predict_proba(X), labels_of(y)
        classes = estimator.classes_
        if not np.isin(y, classes).all():
            raise DataError(
                "y has a label that is not a class of the model: remove such rows.",
                code="unknown-label",
            )
        curves = {}
        for k, label in enumerate(classes):
            if classes.size == 2 and k == 0:
                continue
            is_class = y == label
            observed, predicted = _calibration_curve(is_class, found[:, k], sample_weight, n_bins)
            brier = float(np.average((found[:, k] - is_class) ** 2, weights=sample_weight))
            curves[label] = Curve(predicted, observed, brier)
        return cls(curves=curves).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on ``ax`` or on new axes.

        Parameters
        ----------
        ax : matplotlib Axes, default None
        **kwargs : passed to the curves, such as ``linewidth=2``
        """
        self.figure_, self.ax_ = new_axes(ax)
        self.diagonal_ = self.ax_.axline(
            (0.0, 0.0), slope=1.0, color=ink(), linewidth=0.8, linestyle=":", label="as predicted"
        )
        self.curves_ = []
        shades = colors(len(self.curves))
        for k, ((label, curve), color) in enumerate(zip(self.curves.items(), shades, strict=True)):
            name = f"{literal(label_text(label))}: Brier score {curve.brier:.3g}"
            mark = MARKERS[k % len(MARKERS)]
            look = {"color": color, "marker": mark, "markersize": 4, "label": name} | kwargs
            self.curves_ += self.ax_.plot(curve.predicted, curve.observed, **look)
        self.ax_.set(
            xlabel="predicted probability", ylabel="observed frequency",
            xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal",
        )  # fmt: skip
        self.legend_ = legend(self.ax_, [*self.curves_, self.diagonal_])
        if ax is None:
            make_room(self.figure_, self.legend_)
        return self


def _calibration_curve(
    is_class: np.ndarray, predicted: np.ndarray, weights: Any, n_bins: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return observed frequencies and mean probabilities of bins with equal numbers of rows, as
    scikit-learn's ``calibration_curve``, which does not support weights.
    """
    if weights is None:
        found: tuple[np.ndarray, np.ndarray] = calibration_curve(
            is_class, predicted, n_bins=n_bins, strategy="quantile", pos_label=True
        )
        return found
    edges = np.quantile(predicted, np.linspace(0.0, 1.0, n_bins + 1))
    bins = np.searchsorted(edges[1:-1], predicted)
    totals, right, sums = (
        np.bincount(bins, np.asarray(weights) * part, n_bins) for part in (1.0, is_class, predicted)
    )
    some = totals > 0
    return right[some] / totals[some], sums[some] / totals[some]
