"""A regression line with its confidence bands, tests of its assumptions, and diagnostics."""

from collections.abc import Sequence
from textwrap import fill
from typing import Any, Self

import numpy as np
from scipy.special import ndtri
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from linsep.errors import DataError, hint
from linsep.estimators.labels import target_name
from linsep.inference.diagnostics import (
    DOUBT,
    Assumptions,
    Diagnostics,
    Finding,
)
from linsep.inference.table import Table, p_text
from linsep.linear.estimator import LinearRegression
from linsep.parameters import INTERVALS, fitted_parameter
from linsep.plot.display import (
    MOST_POINTS,
    Display,
    check_drawable,
    class_handles,
    density_title,
    draw_reference,
    draw_rows,
    ink,
    legend,
    limits,
    literal,
    new_axes,
    new_grid,
    of_features,
    show_title,
    wrapped,
)
from linsep.plot.palettes import COLORS
from linsep.plot.plane import (
    along_feature,
    feature_position,
    frame_like,
    names_of,
    numbers_of,
    others_fixed,
    said_of,
)
from linsep.validation.checks import check_beside

#: more sticks than that hide the points
MOST_STICKS = 200
#: what the panels show, in their order
PANELS = ("linearity", "equal variance", "normality", "independence", "influence")
#: Cook's distances that have a line
DISTANCES = {0.5: "--", 1.0: ":"}
#: rows of the largest Cook's distance whose numbers are shown
NAMED = 3
#: pixels within which row numbers would overlap, and the sides on which numbers of close rows are
BESIDE = np.array([60.0, 20.0])
SIDES = ((1, "left", 1), (-1, "right", 1), (1, "left", -1))
#: most groups of rows whose means are drawn, and the fewest rows of a group
MOST_GROUPS, GROUP_ROWS = 10, 5
#: letters in a line of the sentences below a panel
LETTERS = 54
#: share of the rows that a place of a smooth line is fitted to, and its places
SPAN, PLACES = 2 / 3, 60
#: rows, or groups of them, that a smooth line is fitted to
MOST_SMOOTHED = 2000
#: partial residuals beyond this many times the middle half of them, from it, are cut off
BEYOND = 4.0
#: letters in a line of a panel without numbers
NOTE = 40
LEVEL = 0.95


class RegressionDisplay(Display):
    """The rows and the line of a linear regression, with bands and residuals.

    With several features, one is drawn and the others are fixed at their means. Rows are then
    shifted by the contribution of the others (partial residuals), so residual sticks keep their
    length. Create it with :meth:`from_estimator`.

    Attributes
    ----------
    x, y : arrays of shape (rows,)
        The feature drawn, and the target minus the contribution of other features.
    fitted : array of shape (rows,), the prediction of each row on the line
    grid, line : arrays of shape (places,)
    bands : dict of str to pair of arrays
        The ends of the confidence and prediction intervals on the grid; with a robust covariance
        only the confidence interval.
    names : pair of str, of the feature and the target
    title : str
    points_ : PathCollection
    line_ : Line2D
    bands_ : dict of str to PolyCollection
    residuals_ : LineCollection of sticks from the points to the line, or None
    squares_ : PatchCollection of the squares of the residuals, or None

    Examples
    --------
    >>> from linsep import LinearRegression
    >>> from linsep.plot import RegressionDisplay
    >>> X, y = [[1], [2], [-1], [3], [4]], [2, 4, 0, 4, 6]
    >>> display = RegressionDisplay.from_estimator(LinearRegression().fit(X, y), X, y)
    >>> display.fitted.round(3).tolist()
    [2.27, 3.432, -0.054, 4.595, 5.757]
    """

    @classmethod
    @of_features
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, feature: int | str | None = None,
        level: float = 0.95, ax: Any = None, **kwargs: Any,
    ) -> Self:  # fmt: skip
        """Draw a fitted linear regression and rows.

        Parameters
        ----------
        estimator : fitted :class:`linsep.LinearRegression`
        X : array, sparse matrix or data frame of shape (rows, features)
        y : array of shape (rows,)
        feature : int or str, default None
            The index or name of the feature to draw; optional if there is only one.
        level : float, default=0.95
            The confidence level of both bands, between 0 and 1.

        Raises
        ------
        ValueError
            For another estimator, for rows whose width differs from the fit, and if ``feature`` is
            needed or unknown.
        """
        check_is_fitted(estimator)
        if not isinstance(estimator, LinearRegression):
            raise DataError(
                f"{type(estimator).__name__} has no regression line; use a LinearRegression.",
                code="unsupported",
            )
        predicted = np.asarray(estimator.predict(X))
        check_beside(X, y=y)
        rows, target = numbers_of(X), column_or_1d(y)
        check_consistent_length(rows, target)
        names, d = names_of(rows, rows.shape[1], estimator), rows.shape[1]
        if feature is None and d > 1:
            raise DataError(
                f"There are {d} features",
                hint("name the one to draw, such as {}", feature=names[0]),
                code="needs-option",
                option="feature",
            )
        j = 0 if feature is None else feature_position(feature, names)
        x, grid, places = along_feature(rows, j, 100)
        mean = np.asarray(rows.mean(axis=0)).ravel()
        drawn = frame_like(X, places)
        line = np.asarray(estimator.predict(drawn))
        at = estimator.coef_[j] * (x - mean[j]) + estimator.intercept_ + estimator.coef_ @ mean
        bands = {}
        robust = fitted_parameter(estimator, "covariance") is not None  # of rows, not of new ones
        for of in INTERVALS[: 1 if robust else 2]:
            found = estimator.predict(drawn, interval=of, level=level)
            bands[f"{100 * level:g}% {of} band"] = (found.low, found.high)
        others = f"{others_fixed(d - 1)}; rows shifted accordingly"
        return cls(
            x=x, y=target if d == 1 else at + target - predicted, fitted=at, grid=grid,
            line=line, bands=bands,
            names=(names[j], str(getattr(y, "name", None) or target_name(estimator) or "y")),
            title=others if d > 1 else "",
        ).plot(ax, **kwargs)  # fmt: skip

    def plot(self, ax: Any = None, *, residuals: bool | None = None, squares: bool = False) -> Self:
        """Draw on ``ax`` or on new axes.

        Parameters
        ----------
        residuals : bool, default None
            Whether to draw a stick from each row to the line; None draws sticks for up to 200 rows.
        squares : bool, default=False
            Whether to draw the square of each residual; least squares minimizes their total area.
        """
        from matplotlib.collections import LineCollection, PatchCollection
        from matplotlib.patches import Rectangle

        self.figure_, self.ax_ = new_axes(ax)
        n, color = len(self.x), COLORS[0]
        self.bands_ = {
            name: self.ax_.fill_between(
                self.grid, low, high, color=color, alpha=alpha, linewidth=0, label=name
            )
            for (name, (low, high)), alpha in zip(self.bands.items(), (0.3, 0.12), strict=False)
            if np.isfinite(low).all()
        }
        order = 3 if n > MOST_POINTS else 2
        (self.line_,) = self.ax_.plot(
            self.grid, self.line, color=color, label="fitted", zorder=order
        )
        if residuals if residuals is not None else n <= MOST_STICKS:
            ends = np.stack([[self.x, self.fitted], [self.x, self.y]]).transpose(2, 0, 1)
            self.residuals_ = self.ax_.add_collection(
                LineCollection(list(ends), colors=[COLORS[5]], linewidths=0.8, label="residuals")
            )
        (self.points_,) = draw_rows(
            self.ax_, np.column_stack([self.x, self.y]), None, np.empty(0), 18.0
        )
        self.points_.set_label("rows")
        self.ax_.set(
            xlabel=wrapped(self.names[0]), ylabel=wrapped(self.names[1]), xlim=self.grid[[0, -1]]
        )
        show_title(self.ax_, self.title, density_title(n))
        if squares:
            self.ax_.set_aspect("equal")
            boxes = [
                Rectangle((x, min(y, at)), at - y, abs(y - at))
                for x, y, at in zip(self.x, self.y, self.fitted, strict=True)
            ]
            self.squares_ = self.ax_.add_collection(
                PatchCollection(boxes, facecolor=COLORS[5], alpha=0.15, label="squares")
            )
        rows = self.points_ if n <= MOST_POINTS else None
        drawn = (rows, self.line_, self.residuals_, *self.bands_.values())
        self.legend_ = legend(self.ax_, drawn)
        return self


class AssumptionsDisplay(Display):
    """A panel for each assumption of a linear regression, with test results below it.

    Linearity: residuals against fitted values. Equal variance: square roots of absolute
    standardized residuals against fitted values. Normality: standardized residuals against normal
    quantiles. Independence: residuals in the order of the rows. Influence: standardized residuals
    against leverages, with lines of equal Cook's distance. Lines join the means of up to ten groups
    of neighboring rows. Create it with :meth:`from_estimator` or :meth:`from_assumptions`.

    Attributes
    ----------
    found : Assumptions
    figure_ : matplotlib Figure
    ax_ : Axes of the first panel
    axes_ : dict of str to Axes, by the assumption
    points_ : dict of str to PathCollection, PolyCollection (many rows), or Line2D (quantiles)
    means_ : dict of str to Line2D, the means of groups of rows
    normal_ : Line2D on which quantiles of a normal distribution lie
    zeros_ : dict of str to Line2D at a residual of zero
    distances_ : dict of float to list of Line2D, contours of Cook's distance
    named_ : list of Annotation, the numbers of the rows with the largest Cook's distance
    conclusions_ : dict of str to Annotation, the results below the panels
    existence_ : Text about the assumption without a panel

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from linsep import LinearRegression
    >>> from linsep.plot import AssumptionsDisplay
    >>> X, y = load_diabetes(return_X_y=True)
    >>> display = AssumptionsDisplay.from_estimator(LinearRegression().fit(X, y), X, y)
    >>> print(display.conclusions_["independence"].get_text())
    Durbin-Watson 2.029: 2 if neighboring rows are
        independent; their correlation is about -0.01
    """

    @classmethod
    def from_assumptions(cls, found: Assumptions, **kwargs: Any) -> Self:
        """Draw the result of ``model.assumptions(X, y)``; ``kwargs`` are passed to :meth:`plot`."""
        return cls(found=found).plot(**kwargs)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, sample_weight: Any = None, **kwargs: Any
    ) -> Self:
        """Draw the assumptions of a fitted linear regression.

        Parameters
        ----------
        estimator : fitted :class:`linsep.LinearRegression`
        X, y, sample_weight : the training data, in their order

        Raises
        ------
        ValueError
            For other models, and for rows whose width or number differs from the fit.
        """
        lacks = "has no assumptions to draw; use a LinearRegression."
        check_drawable(estimator, "assumptions", lacks)
        return cls.from_assumptions(estimator.assumptions(X, y, sample_weight), **kwargs)

    def plot(self, *, size: float = 16.0) -> Self:
        """Draw on a new figure."""
        self.figure_, axes = new_grid(len(PANELS) + 1, 3, 4.0, 4.2)
        self.axes_ = dict(zip(PANELS, axes, strict=False))
        self.ax_, found, scaled = axes[0], self.found, self.found.standardized
        self.points_: dict[str, Any] = {}
        self.means_: dict[str, Any] = {}
        self.zeros_: dict[str, Any] = {}
        self._draw("linearity", found.fitted, found.pearson, size, "fitted", "residual")
        roots = np.sqrt(np.abs(scaled))
        what = "\N{SQUARE ROOT}|standardized residual|"
        self._draw("equal variance", found.fitted, roots, size, "fitted", what)
        self._draw_quantiles(size)
        self._draw("independence", found.numbers, found.pearson, size, "row", "residual")
        self._draw("influence", found.leverage, scaled, size, "leverage", "standardized residual")
        n_weights = round(float(found.leverage.sum()))  # the trace of the projection
        self.distances_, self.named_ = draw_distances(self.axes_["influence"], found, n_weights)
        self.conclusions_ = {panel: self._conclude(panel) for panel in PANELS}
        self._draw_legend(axes[-1])
        self.figure_.suptitle(density_title(found.numbers.size), fontsize="medium")
        return self

    def _draw(self, panel: str, x: Any, y: np.ndarray, size: float, across: str, up: str) -> None:
        """Draw the rows of a panel, the line at zero, and the means of groups of rows."""
        ax, finite = self.axes_[panel], np.isfinite(y)
        points = np.column_stack([x[finite], y[finite]])
        if panel != "equal variance":
            self.zeros_[panel] = ax.axhline(0.0, color=ink(), linewidth=0.8, ls="-", zorder=1)
        (self.points_[panel],) = draw_rows(ax, points, None, np.zeros(0), size)
        groups = min(MOST_GROUPS, len(points) // GROUP_ROWS)
        if panel != "influence" and groups > 1:
            parts = np.array_split(points[np.argsort(points[:, 0], kind="stable")], groups)
            means = np.array([part.mean(axis=0) for part in parts])
            (self.means_[panel],) = ax.plot(
                *means.T, color=COLORS[5], linewidth=1.5, marker="D", markersize=4, zorder=4,
                label="means of groups of neighboring rows",
            )  # fmt: skip
        ax.set(xlabel=across, ylabel=up)

    def _draw_quantiles(self, size: float) -> None:
        """Draw the sorted residuals against medians of sorted normal numbers (Filliben 1975)."""
        from scipy.stats import probplot

        ax, scaled = self.axes_["normality"], self.found.standardized
        finite = scaled[np.isfinite(scaled)]
        if finite.size:
            look: dict[str, Any] = {"markersize": size**0.5, "markeredgewidth": 0, "zorder": 3}
            look |= {"ls": "-"} if finite.size > MOST_POINTS else {"ls": "", "marker": "o"}
            quantiles = probplot(finite, fit=False)
            (self.points_["normality"],) = ax.plot(*quantiles, color=ink(), **look)
        how: dict[str, Any] = {"color": COLORS[0], "linewidth": 1.2, "ls": "-", "zorder": 2}
        self.normal_ = draw_reference(ax, label="normal residuals", **how)
        ax.set(xlabel="normal quantile", ylabel="standardized residual")

    def _conclude(self, panel: str) -> Any:
        """Write the results of the tests of an assumption below its panel."""
        ax = self.axes_[panel]
        found = [finding for finding in self.found.findings if finding.assumption == panel]
        against = any(finding.p_value < DOUBT for finding in found)
        ax.set_title(f"{panel}: contradicted" if against and panel != "influence" else panel)
        return ax.annotate(
            "\n".join(map(_sentence, found)), (0.0, 0.0),
            xycoords="axes fraction", xytext=(-30, -36), textcoords="offset points", va="top",
            fontsize="small", color=ink(),
        )  # fmt: skip

    def _draw_legend(self, ax: Any) -> None:
        """Draw the legend in the last cell of the grid, and the note about the untestable
        assumption.
        """
        ax.set_axis_off()
        far = max(map(abs, self.axes_["influence"].get_ylim()))
        pairs = [pair for pair in self.distances_.values() if pair[0].get_ydata().min() < far]
        lines = [*list(self.means_.values())[:1], self.normal_, *(pair[0] for pair in pairs)]
        self.legend_ = ax.legend(handles=lines, loc="upper left", frameon=False, borderaxespad=0.0)
        text = "Existence: no data can test that y has a mean and a variance for every x."
        self.existence_ = ax.text(
            0.02, 0.45, fill(text, LETTERS), transform=ax.transAxes, va="top", fontsize="small"
        )


def draw_distances(
    ax: Any, found: Any, n_weights: int, contours: bool = True
) -> tuple[dict[float, list[Any]], list[Any]]:
    """Draw contours of Cook's distance at 0.5 and 1, and the numbers of the rows with the largest.

    Parameters
    ----------
    ax : matplotlib Axes, of standardized residuals against leverages
    found : Diagnostics or Assumptions
    n_weights : int, number of estimates
    contours : whether Cook's distances follow from standardized residuals and leverages
    """
    h, cooks, numbers = found.leverage, found.cooks_distance, found.numbers
    lines: dict[float, list[Any]] = {}
    ax.margins(y=0.1)
    ax.locator_params(axis="x", nbins=5)
    limits = ax.get_xlim(), ax.get_ylim()
    first = float(h.max()) / 200 or 0.005
    grid = np.linspace(first, min(1.0, max(first, limits[0][1])), 200)
    for distance, style in DISTANCES.items() if contours else ():
        reach = np.sqrt(distance * n_weights * (1 - grid) / grid)
        look = {"color": COLORS[0], "ls": style, "linewidth": 1.2}
        upper = ax.plot(grid, reach, label=f"Cook's distance {distance:g}", **look)
        lines[distance] = upper + ax.plot(grid, -reach, **look)
    ax.set(xlim=(0.0, limits[0][1]), ylim=limits[1])
    _, once = np.unique(numbers, return_index=True)  # of copies the first
    cooks = np.where(np.isin(np.arange(cooks.size), once), cooks, np.nan)
    largest = np.argsort(np.where(np.isnan(cooks), -1.0, cooks), kind="stable")[::-1][:NAMED]
    named: list[Any] = []
    for row in largest[cooks[largest] > 0]:
        place = h[row], found.standardized[row]
        there = ax.transData.transform([place, *(text.xy for text in named)])
        near = int((np.abs(there[1:] - there[0]) < BESIDE).all(axis=1).sum())
        side, at, up = SIDES[near % len(SIDES)]
        named.append(
            ax.annotate(
                literal(f"{found.index[row]}"), place,
                xytext=(4 * side, 3 * up), textcoords="offset points",
                ha=at, va="bottom" if up > 0 else "top", fontsize="small", zorder=5, color=ink(),
            )
        )  # fmt: skip
    return lines, named


def _sentence(finding: Finding) -> str:
    """Return the name of a test, its numbers and conclusion, in lines."""
    numbers = [] if np.isnan(finding.statistic) else [f"{finding.statistic:.4g}"]
    numbers += [] if np.isnan(finding.p_value) else [f"p {p_text(finding.p_value)}"]
    name = finding.test[0].upper() + finding.test[1:]
    text = f"{' '.join([name, ', '.join(numbers)]).strip()}: {finding.conclusion}"
    return fill(text, LETTERS, subsequent_indent="    ")


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
    test : linsep.inference.table.Table or None, of Hosmer and Lemeshow
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
        if found.labels:
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
        """Draw on a new figure."""
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
            ax.text(0.5, 0.5, fill(text, NOTE), transform=ax.transAxes, ha="center", va="center")
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

    def _draw_calibration(self, test: Table) -> None:
        ax, columns = self.axes_["calibration"], list(map(np.array, test.columns.values()))
        _, _, rows, observed, expected = columns
        shares, z = observed / rows, float(ndtri(0.5 + LEVEL / 2))
        middle = (shares + z * z / (2 * rows)) / (1 + z * z / rows)
        half = np.sqrt(shares * (1 - shares) / rows + (z / (2 * rows)) ** 2) * z
        half /= 1 + z * z / rows
        draw_reference(ax)
        reach = np.maximum([shares - (middle - half), (middle + half) - shares], 0.0)
        self.intervals_ = ax.errorbar(
            expected / rows, shares, yerr=reach, color=COLORS[0], ls="", marker="o",
            markersize=5, elinewidth=1.0, capsize=2.0,
        )  # fmt: skip
        self.points_["calibration"] = self.intervals_.lines[0]
        ax.set(xlabel="mean probability of a group", ylabel="observed share")
        ax.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
        ax.set_title("calibration")
        text = test.title.replace(": ", "\n").replace(", p ", "\np ")
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
