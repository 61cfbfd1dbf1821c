"""Diagnostics of a regression: residuals, influence, partial residuals, calibration."""

from collections.abc import Sequence
from textwrap import fill
from typing import Any, Self

import numpy as np
from scipy.special import ndtri

from linsep.inference.diagnostics import Diagnostics
from linsep.logistic.diagnostics import LogisticDiagnostics
from linsep.logistic.hosmer_lemeshow import HosmerLemeshow
from linsep.plot.display import (
    Display,
    check_drawable,
    class_handles,
    density_title,
    draw_rows,
    ink,
    limits,
    new_grid,
    wrapped,
)
from linsep.plot.palettes import COLORS
from linsep.plot.plane import feature_position, said_of
from linsep.plot.regression import draw_distances

#: share of the rows that a place of a smooth line is fitted to, and its places
SPAN, PLACES = 2 / 3, 60
#: rows, or groups of them, that a smooth line is fitted to
MOST_SMOOTHED = 2000
#: partial residuals beyond this many times the middle half of them, from it, are cut off
BEYOND = 4.0
#: letters in a line of a panel without numbers
LETTERS = 40
LEVEL = 0.95


class DiagnosticsDisplay(Display):
    """Diagnostic panels of a regression.

    Residuals: deviance residuals against predictions (against the log-odds for classes), with a
    smooth line (local linear regression on the nearest two thirds of the rows; Cleveland, JASA 74,
    1979, without its iterations, which 0/1 outcomes do not allow). Influence: standardized
    residuals against leverages, with lines of equal Cook's distance and the numbers of the most
    influential rows. Partial residuals: for one feature, with the fitted line and a smooth line.
    Calibration (classes only): observed shares against mean probabilities in the groups of Hosmer
    and Lemeshow, with 95% Wilson intervals. Create it with :meth:`from_estimator` or
    :meth:`from_diagnostics`.

    Attributes
    ----------
    found : Diagnostics
    feature : int, the index of the feature of the partial residuals
    test : HosmerLemeshow or None
    name : str, what the feature is called
    figure_ : matplotlib Figure
    ax_ : Axes of the first panel
    axes_ : dict of str to Axes: "residuals", "influence", "partial" and, for classes, "calibration"
    points_ : dict of str to PathCollection, PolyCollection (many rows), or Line2D (groups)
    smooth_ : dict of str to Line2D
    fitted_ : Line2D of the feature's contribution to the fit, or None
    distances_ : dict of float to list of Line2D, contours of Cook's distance
    named_ : list of Annotation, the numbers of rows
    intervals_ : ErrorbarContainer of the groups, or None
    legends_ : dict of str to Legend

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from linsep import LogisticRegression
    >>> from linsep.plot import DiagnosticsDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LogisticRegression().fit(X[:, :4], y)
    >>> display = DiagnosticsDisplay.from_estimator(model, X[:, :4], y)
    >>> list(display.axes_)
    ['residuals', 'influence', 'partial', 'calibration']
    """

    found: Diagnostics
    feature: int = 0
    test: HosmerLemeshow | None = None
    name: str = ""

    @classmethod
    def from_diagnostics(
        cls, found: Diagnostics, *, feature: int | str | None = None, groups: int = 10,
        names: Sequence[str] | None = None, **kwargs: Any,
    ) -> Self:  # fmt: skip
        """Draw the result of ``model.diagnostics(X, y)``.

        Parameters
        ----------
        found : Diagnostics
        feature : int or str, default None
            The index or name of the feature of the partial residuals; None chooses the first one
            with an estimate.
        groups : int, default=10
            Number of groups of the calibration panel.
        names : list of str, default None
            What the features are called; None: as in ``found``.
        **kwargs : passed to :meth:`plot`

        Raises
        ------
        ValueError
            For an unknown feature.
        """
        estimated = ~np.isnan(found.partial).all(axis=0)
        j = int(np.argmax(estimated)) if estimated.size else 0
        if feature is not None:
            j = feature_position(feature, found.collinearity.features)
        test = None
        if isinstance(found, LogisticDiagnostics):
            test = found.hosmer_lemeshow(groups)
        name = "".join((names or found.collinearity.features)[j : j + 1])
        return cls(found=found, feature=j, test=test, name=name).plot(**kwargs)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any = None, *, sample_weight: Any = None, **kwargs: Any
    ) -> Self:
        """Draw the diagnostics of a fitted regression.

        Parameters
        ----------
        estimator : fitted :class:`linsep.LinearRegression` or :class:`linsep.LogisticRegression`
        X, y, sample_weight : the training data, as for ``estimator.diagnostics``
        **kwargs : passed to :meth:`from_diagnostics`

        Raises
        ------
        ValueError
            For models that are not regressions, for several classes, and for rows other than the
            training rows.
        """
        lacks = "has no residuals to draw; use a LinearRegression or a LogisticRegression."
        check_drawable(estimator, "diagnostics", lacks)
        found = estimator.diagnostics(X, y, sample_weight)
        names = said_of(estimator, found.collinearity.features)
        return cls.from_diagnostics(found, names=names, **kwargs)

    def plot(self, *, size: float = 14.0) -> Self:
        """Draw on a new figure.

        Parameters
        ----------
        size : float, default=14
            Area of a point, in square points.
        """
        names = ["residuals", "influence"] + ["partial"] * bool(self.found.partial.shape[1])
        names += ["calibration"] * (self.test is not None)
        self.figure_, axes = new_grid(len(names), 3 if len(names) == 3 else 2, 5.2, 4.4)
        self.axes_ = dict(zip(names, axes, strict=True))
        self.ax_ = axes[0]
        self.points_: dict[str, Any] = {}
        self.smooth_: dict[str, Any] = {}
        self.legends_: dict[str, Any] = {}
        self._draw_residuals(size)
        self._draw_influence(size)
        if "partial" in self.axes_:
            self._draw_partial(size)
        if self.test is not None:
            self._draw_calibration(self.test)
        self.figure_.suptitle(density_title(self.found.y.size), fontsize="medium")
        return self

    def _draw(self, panel: str, x: np.ndarray, y: np.ndarray, size: float) -> bool:
        """Draw the rows of a panel, colored by class, or a note that there are no numbers."""
        ax, known = self.axes_[panel], np.isfinite(x) & np.isfinite(y)
        if not known.any():
            text = next(iter(self.found.notes), "These numbers are not defined.")
            ax.text(0.5, 0.5, fill(text, LETTERS), transform=ax.transAxes, ha="center", va="center")
            return False
        points = np.column_stack([x[known], y[known]])
        codes = None if self.test is None else self.found.y[known].astype(int)
        drawn = draw_rows(ax, points, codes, self._labels, size)
        self.points_[panel] = drawn if codes is not None else drawn[0]
        return True

    @property
    def _labels(self) -> np.ndarray:
        return np.array(getattr(self.found, "labels", ()), dtype=object)

    def _draw_residuals(self, size: float) -> None:
        found, ax = self.found, self.axes_["residuals"]
        x, across = found.fitted, "fitted"
        if self.test is not None:
            x, across = log_odds(found), "fitted log-odds"
        ax.axhline(0.0, color=ink(), linewidth=0.8, zorder=1)
        if self._draw("residuals", x, found.deviance, size):
            self._draw_smooth("residuals", x, found.deviance, found.weights)
            if self.test is not None:
                drawn = class_handles(self.points_["residuals"], found.y.size, self._labels)
                self.legends_["residuals"] = ax.legend(handles=drawn, fontsize="small")
        ax.set(xlabel=across, ylabel="deviance residual" if self.test is not None else "residual")
        ax.set_title("residuals")

    def _draw_smooth(self, panel: str, x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> None:
        places, line = smooth(x, y, weights)
        if places.size:
            (self.smooth_[panel],) = self.axes_[panel].plot(
                places, line, color=COLORS[5], linewidth=1.8, zorder=5, label="smooth"
            )

    def _draw_influence(self, size: float) -> None:
        found, ax = self.found, self.axes_["influence"]
        what = "Pearson residual" if self.test is not None else "residual"
        ax.set(xlabel="leverage", ylabel=f"standardized {what}")
        ax.set_title("influence")
        self.distances_: dict[float, list[Any]] = {}
        self.named_: list[Any] = []
        ax.axhline(0.0, color=ink(), linewidth=0.8, zorder=1)
        if not self._draw("influence", found.leverage, found.standardized, size):
            return
        ax.margins(x=0.1)
        rank = found.condition_indices.size
        # Firth's distances are of other residuals
        plain = self.test is None or not np.isnan(found.studentized).all()
        self.distances_, self.named_ = draw_distances(ax, found, rank, plain)
        far = max(map(abs, ax.get_ylim()))
        pairs = [pair[0] for pair in self.distances_.values() if pair[0].get_ydata().min() < far]
        if pairs:
            self.legends_["influence"] = ax.legend(handles=pairs, fontsize="small")

    def _draw_partial(self, size: float) -> None:
        found, ax, j = self.found, self.axes_["partial"], self.feature
        column = found.X[:, [j]]
        x = np.ravel(column.toarray() if hasattr(column, "toarray") else column).astype(np.float64)
        y, name = found.partial[:, j], wrapped(self.name)
        ax.set(xlabel=name, ylabel=f"partial residual of {name}")
        ax.set_title("partial residuals")
        if not self._draw("partial", x, y, size):
            return
        first = found.params.size - found.partial.shape[1]
        slope, middle = float(found.params[first + j]), float(x.mean()) if first else 0.0
        ends = np.array([x.min(), x.max()])
        (self.fitted_,) = ax.plot(
            ends, slope * (ends - middle), color=COLORS[0], linewidth=1.5, zorder=4, label="fitted"
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            weights = found.pearson / found.working  # roots of the weights of the last step
        self._draw_smooth("partial", x, y, np.square(np.nan_to_num(weights)))
        if self.test is not None:
            quarters = np.quantile(y, [0.25, 0.75])
            reach = BEYOND * float(np.ptp(quarters))
            shown = y[(y >= quarters[0] - reach) & (y <= quarters[1] + reach)]
            ax.set_ylim(limits(np.concatenate([shown, self.fitted_.get_ydata()])))
            if beyond := y.size - shown.size:
                ax.set_title(f"partial residuals ({beyond:,} outside the picture)")
        drawn = [self.fitted_, *([self.smooth_["partial"]] if "partial" in self.smooth_ else [])]
        self.legends_["partial"] = ax.legend(handles=drawn, fontsize="small")

    def _draw_calibration(self, test: HosmerLemeshow) -> None:
        ax, rows = self.axes_["calibration"], test.rows
        shares, z = test.observed / rows, float(ndtri(0.5 + LEVEL / 2))
        middle = (shares + z * z / (2 * rows)) / (1 + z * z / rows)
        half = np.sqrt(shares * (1 - shares) / rows + (z / (2 * rows)) ** 2) * z
        half /= 1 + z * z / rows
        ax.axline((0.0, 0.0), slope=1.0, color=ink(), linewidth=0.8, ls=":")
        reach = np.maximum([shares - (middle - half), (middle + half) - shares], 0.0)
        self.intervals_ = ax.errorbar(
            test.expected / rows, shares, yerr=reach, color=COLORS[0], ls="", marker="o",
            markersize=5, elinewidth=1.0, capsize=2.0,
        )  # fmt: skip
        self.points_["calibration"] = self.intervals_.lines[0]
        ax.set(xlabel="mean probability of a group", ylabel="observed share")
        ax.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
        ax.set_title("calibration")
        text = test.sentence.replace(": ", "\n").replace(", p ", "\np ")
        ax.text(0.97, 0.04, text, transform=ax.transAxes, ha="right", va="bottom", fontsize="small")


def log_odds(found: Diagnostics) -> np.ndarray:
    """Return the log-odds of the rows from their Pearson residuals, which keep their digits where
    probabilities are rounded to 0 or 1.
    """
    return -2.0 * np.sign(found.pearson) * np.log(np.abs(found.pearson) / np.sqrt(found.weights))


def smooth(x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return points and the values of local linear regressions there.

    Each regression is fitted to the nearest two thirds of the rows, with tricube weights (Cleveland
    1979); many rows are first averaged in groups of neighbors. The points are quantiles of x;
    without four values of x, the result is empty.
    """
    known = np.isfinite(x) & np.isfinite(y) & (weights > 0)
    x, y, weights = x[known], y[known], weights[known]
    if x.size > MOST_SMOOTHED:
        order = np.argsort(x, kind="stable")
        starts = np.linspace(0, x.size, MOST_SMOOTHED, endpoint=False).astype(np.intp)
        own, weights = weights[order], np.add.reduceat(weights[order], starts)
        x, y = (np.add.reduceat(own * part[order], starts) / weights for part in (x, y))
    if np.unique(x).size < 4:
        return np.zeros(0), np.zeros(0)
    places = np.unique(np.quantile(x, np.linspace(0.0, 1.0, PLACES)))
    nearest = max(3, round(SPAN * x.size))
    line = np.empty(places.size)
    for k, place in enumerate(places):
        away = x - place
        sizes = np.abs(away)
        reach = np.partition(sizes, nearest - 1)[nearest - 1]
        near = sizes <= reach
        own = weights[near] * (1 - (sizes[near] / (reach or 1.0)) ** 3) ** 3
        own /= own.sum()
        middle = own @ away[near]
        about = away[near] - middle
        spread = own @ about**2
        slope = own @ (about * y[near]) / spread if spread > 0 else 0.0
        line[k] = own @ y[near] - slope * middle
    return places, line
