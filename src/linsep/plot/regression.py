"""A regression line with its confidence bands, tests of its assumptions, and diagnostics."""

from collections.abc import Sequence
from textwrap import fill
from typing import Any, Self

import numpy as np
from matplotlib.collections import LineCollection, PatchCollection
from matplotlib.patches import Rectangle
from scipy.special import ndtri
from scipy.stats import probplot
from sklearn.utils.validation import check_consistent_length, column_or_1d

from linsep.errors import DataError, hint, refuse
from linsep.estimators.labels import target_name
from linsep.inference.diagnostics import DOUBT, Assumptions, Diagnostics, Finding
from linsep.inference.table import Table, p_text
from linsep.parameters import INTERVALS, fitted_parameter
from linsep.plot import display, planes
from linsep.plot.display import MOST_POINTS, Display, Panels, check_drawable, ink, limits, wrapped
from linsep.plot.palettes import hue
from linsep.plot.planes import along_feature, feature_position, frame_like, mean_of, others_fixed
from linsep.validation.checks import check_beside

#: more sticks than that hide the points
MOST_STICKS = 200
#: what the panels show, in their order
PANELS = ("linearity", "equal variance", "normality", "independence", "influence")
#: panels with a line at zero
AROUND_ZERO = ("linearity", "independence", "influence", "residuals")
#: Cook's distances that have a line
DISTANCES = {0.5: "--", 1.0: ":"}
#: where the numbers of the rows with the three largest Cook's distances are, in points
SIDES = ((4, 3, "left", "bottom"), (4, -3, "left", "top"), (4, 12, "left", "bottom"))
#: letters in a line of the sentences below a panel, and of a panel without numbers
LETTERS, NOTE = 54, 40
#: share of the rows that a place of a smooth line is fitted to, and its places
SPAN, PLACES = 2 / 3, 60
#: partial residuals beyond this many times the middle half of them, from it, are cut off
BEYOND = 4.0
LEVEL = 0.95


class RegressionDisplay(Display):
    """The rows and the line of a linear regression, with bands and residuals.

    Of several features, one is drawn with the others at their means, and rows are shifted by the
    contribution of the others (partial residuals), so sticks keep their length.

    Attributes
    ----------
    x, y : arrays of shape (rows,), the feature, and the target less what others contribute
    fitted : array of shape (rows,), the prediction of each row on the line
    grid, line : arrays of shape (places,)
    bands : dict of str to pair of arrays, the ends of the intervals on the grid
        With a robust covariance only those of confidence, not of prediction.
    names : pair of str, of the feature and the target
    title : str
    line_ : Line2D
    bands_ : dict of str to PolyCollection
    residuals_ : LineCollection of sticks from the points to the line, or None
    squares_ : PatchCollection of the squares of the residuals, or None
    normals_ : list of Line2D, the densities of the target along the line, or empty
    """

    @classmethod
    @display.of_features
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, feature: int | str | None = None,
        level: float = 0.95, squares: bool = False, normals: bool = False, ax: Any = None,
    ) -> Self:  # fmt: skip
        """Draw a fitted linear regression and rows.

        Parameters
        ----------
        estimator : fitted :class:`linsep.LinearRegression`
        X, y : rows and their targets
        feature : int or str, default None
            The index or name of the feature to draw; optional if there is only one.
        level : float, default=0.95
            The confidence level of both bands, between 0 and 1.
        squares : bool, default=False
            Whether to draw the square of each residual; least squares minimizes their total area.
        normals : bool, default=False
            Whether to draw what the model assumes: normal densities around the line, all of one
            width, the residual standard error.
        """
        check_drawable(estimator, "assumptions", "has no regression line; use a LinearRegression.")
        predicted = np.asarray(estimator.predict(X))
        check_beside(X, y=y)
        rows, target = planes.numbers_of(X), column_or_1d(y)
        check_consistent_length(rows, target)
        names, d = planes.names_of(rows, rows.shape[1], estimator), rows.shape[1]
        refuse(DataError, (
            feature is None and d > 1, f"There are {d} features",
            "needs-option", "feature", hint("name the one to draw, such as {}", feature=names[0]),
        ))  # fmt: skip
        j = 0 if feature is None else feature_position(feature, names)
        x, grid, places = along_feature(rows, j, 100)
        mean, drawn, bands = mean_of(rows), frame_like(X, places), {}
        at = estimator.coef_[j] * (x - mean[j]) + estimator.intercept_ + estimator.coef_ @ mean
        robust = fitted_parameter(estimator, "covariance") is not None  # of rows, not of new ones
        for of in INTERVALS[: 1 if robust else 2]:
            found = estimator.predict(drawn, interval=of, level=level)
            bands[f"{100 * level:g}% {of} band"] = (found.low, found.high)
        return cls(
            x=x, y=target if d == 1 else at + target - predicted, fitted=at, grid=grid,
            line=np.asarray(estimator.predict(drawn)), bands=bands, squares=squares,
            error=estimator.residual_error_ if normals else None,
            names=(names[j], str(getattr(y, "name", None) or target_name(estimator) or "y")),
            title=f"{others_fixed(d - 1)}; rows shifted accordingly" if d > 1 else "",
        ).plot(ax)  # fmt: skip

    def _draw(self) -> list[Any]:
        n, color = len(self.x), hue(0)
        self.bands_ = {
            name: self.ax_.fill_between(
                self.grid, low, high, color=color, alpha=alpha, linewidth=0, label=name
            )
            for (name, (low, high)), alpha in zip(self.bands.items(), (0.3, 0.12), strict=False)
            if np.isfinite(low).all()
        }
        (self.line_,) = self.ax_.plot(
            self.grid, self.line, color=color, label="fitted", zorder=3 if n > MOST_POINTS else 2
        )
        if n <= MOST_STICKS:
            ends = np.stack([[self.x, self.fitted], [self.x, self.y]]).transpose(2, 0, 1)
            self.residuals_ = self.ax_.add_collection(
                LineCollection(list(ends), colors=[hue(5)], linewidths=0.8, label="residuals")
            )
        (self.points_,) = display.draw_rows(
            self.ax_, np.column_stack([self.x, self.y]), None, np.empty(0), 18.0
        )
        self.points_.set_label("rows")
        self.ax_.set(
            xlabel=wrapped(self.names[0]), ylabel=wrapped(self.names[1]), xlim=self.grid[[0, -1]]
        )
        display.show_title(self.ax_, self.title, display.density_title(n))
        if self.squares:
            self.ax_.set_aspect("equal")
            self.squares_ = self.ax_.add_collection(
                PatchCollection(
                    [
                        Rectangle((x, min(y, at)), at - y, abs(y - at))
                        for x, y, at in zip(self.x, self.y, self.fitted, strict=True)
                    ],
                    facecolor=hue(5), alpha=0.15, label="squares",
                )
            )  # fmt: skip
        self.normals_: list[Any] = []
        if self.error is not None:
            z = np.linspace(-3.0, 3.0, 61)
            bell = 0.12 * np.ptp(self.grid) * np.exp(-z * z / 2)
            for k in range(6, 90, 25):
                up = self.line[k] + z * self.error
                look = {"color": hue(2), "zorder": 4, "label": "normal density"}
                self.normals_ += self.ax_.plot(self.grid[k] + bell, up, **look)
                self.ax_.plot(self.grid[[k, k]], up[[0, -1]], color=hue(2), linewidth=0.8)
        rows = self.points_ if n <= MOST_POINTS else None
        return [rows, self.line_, self.residuals_, *self.bands_.values(), *self.normals_[:1]]


class ResidualPanels(Panels):
    """Base class of panels of the residuals of a regression.

    Smooth lines are local linear regressions on the nearest two thirds of the rows (Cleveland, JASA
    74, 1979, without its iterations, which 0/1 outcomes do not allow).

    Attributes
    ----------
    found : Assumptions or Diagnostics, what is drawn
    axes_ : dict of str to Axes, by panel
    points_ : dict of str to artist
        A PathCollection, or a list of one per class; Line2D of quantiles and groups.
    smooth_ : dict of str to Line2D
    distances_ : dict of float to list of Line2D, contours of Cook's distance
    named_ : list of Annotation, the numbers of the rows with the largest Cook's distance
    """

    def _grid(self, names: Sequence[str], *, cells: int, columns: int, size: Any) -> list[Any]:
        self.figure_, axes = display.new_grid(cells, columns, *size)
        self.axes_, self.ax_ = dict(zip(names, axes, strict=False)), axes[0]
        self.points_: dict[str, Any] = {}
        self.smooth_: dict[str, Any] = {}
        self.distances_: dict[float, list[Any]] = {}
        self.named_: list[Any] = []
        self.figure_.suptitle(display.density_title(self.found.y.size), fontsize="medium")
        return axes

    def _scatter(
        self, panel: str, x: Any, y: np.ndarray, across: str, up: str, *, weights: Any = None,
        labels: Sequence[Any] = (),
    ) -> bool:  # fmt: skip
        """Draw rows, with a smooth line if there are weights; or a note if there are no numbers."""
        ax, known = self.axes_[panel], np.isfinite(x) & np.isfinite(y)
        ax.set(xlabel=across, ylabel=up)
        if panel in AROUND_ZERO:
            ax.axhline(0.0, color=ink(), linewidth=0.8, zorder=1)
        if not known.any():
            text = fill(next(iter(self.found.notes), "These numbers are not defined."), NOTE)
            ax.text(0.5, 0.5, text, transform=ax.transAxes, ha="center", va="center")
            return False
        drawn = display.draw_rows(
            ax, np.column_stack([x[known], y[known]]),
            self.found.y[known].astype(int) if len(labels) else None,
            np.array(labels, dtype=object), 15.0,
        )  # fmt: skip
        self.points_[panel] = drawn if len(labels) else drawn[0]
        places, line = smooth(x, y, np.zeros(y.size) if weights is None else weights)
        if places.size:
            (self.smooth_[panel],) = ax.plot(
                places, line, color=hue(5), linewidth=1.8, zorder=5, label="smooth"
            )
        return True

    def _distances(self, n_weights: int) -> list[Any]:
        """Draw contours of Cook's distance, and numbers of rows; return the contours in sight."""
        ax, found = self.axes_["influence"], self.found
        h, cooks = found.leverage, found.cooks_distance
        ax.margins(0.1)
        ax.locator_params(axis="x", nbins=5)
        (_, right), heights = ax.get_xlim(), ax.get_ylim()
        first = float(h.max()) / 200 or 0.005
        grid = np.linspace(first, min(1.0, max(first, right)), 200)
        for distance, style in DISTANCES.items() if n_weights else ():
            reach = np.sqrt(distance * n_weights * (1 - grid) / grid)
            look = {"color": hue(0), "ls": style, "linewidth": 1.2}
            upper = ax.plot(grid, reach, label=f"Cook's distance {distance:g}", **look)
            self.distances_[distance] = upper + ax.plot(grid, -reach, **look)
        ax.set(xlim=(0.0, right), ylim=heights)
        _, once = np.unique(found.numbers, return_index=True)  # of copies the first
        known = once[cooks[once] > 0]
        largest = known[np.argsort(cooks[known], kind="stable")[::-1]]
        self.named_ = [
            ax.annotate(
                display.literal(f"{found.index[row]}"), (h[row], found.standardized[row]),
                xytext=(x, y), textcoords="offset points", ha=across, va=up, zorder=5,
                fontsize="small", color=ink(),
            )
            for row, (x, y, across, up) in zip(largest, SIDES, strict=False)
        ]  # fmt: skip
        far = max(map(abs, heights))
        return [pair[0] for pair in self.distances_.values() if pair[0].get_ydata().min() < far]


class AssumptionsDisplay(ResidualPanels):
    """A panel for each assumption of a linear regression, with test results below it.

    Linearity: residuals against fitted values. Equal variance: square roots of absolute
    standardized residuals against fitted values. Normality: standardized residuals against normal
    quantiles. Independence: residuals in the order of the rows. Influence: standardized residuals
    against leverages, with lines of equal Cook's distance.

    Attributes
    ----------
    normal_ : Line2D on which quantiles of a normal distribution lie
    conclusions_ : dict of str to Annotation, the results below the panels
    existence_ : Text about the assumption without a panel
    """

    @classmethod
    def from_assumptions(cls, found: Assumptions) -> Self:
        """Draw the result of ``model.assumptions(X, y)``."""
        return cls(found=found).plot()

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, sample_weight: Any = None) -> Self:
        """Draw the assumptions of a fitted :class:`linsep.LinearRegression` from its training data,
        in their order.
        """
        check_drawable(
            estimator, "assumptions", "has no assumptions to draw; use a LinearRegression."
        )
        return cls.from_assumptions(estimator.assumptions(X, y, sample_weight))

    def _draw(self) -> list[Any]:
        axes = self._grid(PANELS, cells=len(PANELS) + 1, columns=3, size=(4.0, 4.2))
        found, ones = self.found, np.ones(self.found.y.size)
        roots, what = np.sqrt(np.abs(found.standardized)), "\N{SQUARE ROOT}|standardized residual|"
        self._scatter("linearity", found.fitted, found.pearson, "fitted", "residual", weights=ones)
        self._scatter("equal variance", found.fitted, roots, "fitted", what, weights=ones)
        self._scatter("independence", found.numbers, found.pearson, "row", "residual", weights=ones)
        scaled = "standardized residual"
        self._scatter("influence", found.leverage, found.standardized, "leverage", scaled)
        shown = self._distances(round(float(found.leverage.sum())))  # the trace of the projection
        ax, finite = self.axes_["normality"], found.standardized[np.isfinite(found.standardized)]
        ax.set(xlabel="normal quantile", ylabel=scaled)
        if finite.size:  # against medians of sorted normal numbers (Filliben 1975)
            many = finite.size > MOST_POINTS
            (self.points_["normality"],) = ax.plot(
                *probplot(finite, fit=False), color=ink(), ls="-" if many else "", zorder=3,
                marker="" if many else "o", markersize=4, markeredgewidth=0,
            )  # fmt: skip
        self.normal_ = display.draw_reference(
            ax, label="normal residuals", color=hue(0), linewidth=1.2, ls="-", zorder=2
        )
        self.conclusions_ = {panel: self._conclude(panel) for panel in PANELS}
        axes[-1].set_axis_off()
        self.legend_ = axes[-1].legend(
            handles=[*list(self.smooth_.values())[:1], self.normal_, *shown], loc="upper left",
            frameon=False, borderaxespad=0.0,
        )  # fmt: skip
        text = "Existence: no data can test that y has a mean and a variance for every x."
        self.existence_ = axes[-1].text(
            0.02, 0.45, fill(text, LETTERS), transform=axes[-1].transAxes, va="top",
            fontsize="small",
        )  # fmt: skip
        return []

    def _conclude(self, panel: str) -> Any:
        found = [finding for finding in self.found.findings if finding.assumption == panel]
        against = any(finding.p_value < DOUBT for finding in found) and panel != "influence"
        self.axes_[panel].set_title(panel + ": contradicted" * against)
        return self.axes_[panel].annotate(
            "\n".join(map(_sentence, found)), (0.0, 0.0),
            xycoords="axes fraction", xytext=(-30, -36), textcoords="offset points", va="top",
            fontsize="small", color=ink(),
        )  # fmt: skip


def _sentence(finding: Finding) -> str:
    numbers = [] if np.isnan(finding.statistic) else [f"{finding.statistic:.4g}"]
    numbers += [] if np.isnan(finding.p_value) else [f"p {p_text(finding.p_value)}"]
    name = finding.test[0].upper() + finding.test[1:]
    text = f"{' '.join([name, ', '.join(numbers)]).strip()}: {finding.conclusion}"
    return fill(text, LETTERS, subsequent_indent="    ")


class DiagnosticsDisplay(ResidualPanels):
    """Diagnostic panels of a regression.

    Residuals: deviance residuals against predictions, of classes log-odds. Influence: standardized
    residuals against leverages, with lines of equal Cook's distance and the most influential rows.
    Partial residuals: of one feature, with fitted and smooth lines. Calibration of classes:
    observed shares against mean probabilities in Hosmer-Lemeshow groups, with 95% Wilson intervals.

    Attributes
    ----------
    feature, name : int, the index of the feature of the partial residuals, and str, its name
    test : linsep.inference.table.Table or None, of Hosmer and Lemeshow
    fitted_ : Line2D of the feature's contribution to the fit, or None
    intervals_ : ErrorbarContainer of the groups, or None
    legends_ : dict of str to Legend
    """

    @classmethod
    def from_diagnostics(
        cls, found: Diagnostics, *, feature: int | str | None = None,
        names: Sequence[str] | None = None,
    ) -> Self:  # fmt: skip
        """Draw the result of ``model.diagnostics(X, y)``.

        Parameters
        ----------
        found : Diagnostics
        feature : int or str, default None
            The index or name of the feature of the partial residuals; None chooses the first one
            with an estimate.
        names : list of str, default None
            What the features are called; None: as in ``found``.
        """
        estimated = ~np.isnan(found.partial).all(axis=0)
        j = int(np.argmax(estimated)) if estimated.size else 0
        if feature is not None:
            j = feature_position(feature, found.collinearity.features)
        return cls(
            found=found, feature=j, test=found.hosmer_lemeshow() if found.labels else None,
            name="".join((names or found.collinearity.features)[j : j + 1]),
        ).plot()  # fmt: skip

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
        """
        check_drawable(
            estimator, "diagnostics",
            "has no residuals to draw; use a LinearRegression or a LogisticRegression.",
        )  # fmt: skip
        found = estimator.diagnostics(X, y, sample_weight)
        return cls.from_diagnostics(
            found, names=planes.said_of(estimator, found.collinearity.features), **kwargs
        )

    def _draw(self) -> list[Any]:
        found, classes = self.found, self.test is not None
        names = ["residuals", "influence"] + ["partial"] * bool(found.partial.shape[1])
        names += ["calibration"] * classes
        n = len(names)
        self._grid(names, cells=n, columns=3 if n == 3 else 2, size=(5.2, 4.4))
        for name, ax in self.axes_.items():
            ax.set_title("partial residuals" if name == "partial" else name)
        self.legends_: dict[str, Any] = {}
        labels = tuple(getattr(found, "labels", ()))
        x, across, residual = found.fitted, "fitted", "residual"
        if classes:
            x, across, residual = log_odds(found), "fitted log-odds", "deviance residual"
        shown = self._scatter(
            "residuals", x, found.deviance, across, residual, weights=found.weights, labels=labels
        )
        if shown and classes:
            handles = display.class_handles(
                self.points_["residuals"], found.y.size, np.array(labels)
            )
            self._legend("residuals", handles)
        what = "standardized Pearson residual" if classes else "standardized residual"
        h, scaled = found.leverage, found.standardized
        if self._scatter("influence", h, scaled, "leverage", what, labels=labels):
            # Firth's distances are of other residuals
            plain = not classes or not np.isnan(found.studentized).all()
            self._legend("influence", self._distances(plain * found.condition_indices.size))
        if "partial" in self.axes_:
            self._draw_partial(labels)
        if self.test is not None:
            self._draw_calibration(self.test)
        return []

    def _legend(self, panel: str, handles: list[Any]) -> None:
        if handles:
            self.legends_[panel] = self.axes_[panel].legend(handles=handles, fontsize="small")

    def _draw_partial(self, labels: Sequence[Any]) -> None:
        found, ax, j = self.found, self.axes_["partial"], self.feature
        x = np.ravel(planes.dense(found.X[:, [j]])).astype(np.float64)
        y, name = found.partial[:, j], wrapped(self.name)
        with np.errstate(divide="ignore", invalid="ignore"):
            roots = found.pearson / found.working  # of the weights of the last step
        weights, up = np.square(np.nan_to_num(roots)), f"partial residual of {name}"
        if not self._scatter("partial", x, y, name, up, weights=weights, labels=labels):
            return
        first = found.params.size - found.partial.shape[1]
        slope, middle = float(found.params[first + j]), float(x.mean()) if first else 0.0
        ends = np.array([x.min(), x.max()])
        (self.fitted_,) = ax.plot(
            ends, slope * (ends - middle), color=hue(0), linewidth=1.5, zorder=4, label="fitted"
        )
        if labels:
            quarters = np.quantile(y, [0.25, 0.75])
            reach = BEYOND * float(np.ptp(quarters))
            shown = y[(y >= quarters[0] - reach) & (y <= quarters[1] + reach)]
            ax.set_ylim(limits(np.concatenate([shown, self.fitted_.get_ydata()])))
            if beyond := y.size - shown.size:
                ax.set_title(f"partial residuals ({beyond:,} outside the picture)")
        self._legend("partial", [self.fitted_, *filter(None, [self.smooth_.get("partial")])])

    def _draw_calibration(self, test: Table) -> None:
        ax, columns = self.axes_["calibration"], list(map(np.array, test.columns.values()))
        _, _, rows, observed, expected = columns
        shares, z = observed / rows, float(ndtri(0.5 + LEVEL / 2))
        middle = (shares + z * z / (2 * rows)) / (1 + z * z / rows)
        half = np.sqrt(shares * (1 - shares) / rows + (z / (2 * rows)) ** 2) * z
        half /= 1 + z * z / rows
        reach = np.maximum([shares - middle + half, middle + half - shares], 0.0)
        display.draw_reference(ax)
        self.intervals_ = ax.errorbar(
            expected / rows, shares, yerr=reach, color=hue(0), ls="", marker="o",
            markersize=5, elinewidth=1.0, capsize=2.0,
        )  # fmt: skip
        self.points_["calibration"] = self.intervals_.lines[0]
        ax.set(xlabel="mean probability of a group", ylabel="observed share")
        ax.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
        text = test.title.replace(": ", "\n").replace(", p ", "\np ")
        ax.text(0.97, 0.04, text, transform=ax.transAxes, ha="right", va="bottom", fontsize="small")


def log_odds(found: Diagnostics) -> np.ndarray:
    """Return log-odds by Pearson residuals, which are exact where probabilities round to 0 or 1."""
    return -2.0 * np.sign(found.pearson) * np.log(np.abs(found.pearson) / np.sqrt(found.weights))


def smooth(x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return quantiles of x and values of local linear regressions there (Cleveland 1979), each of
    the nearest rows with tricube weights; nothing if x has fewer than four values.
    """
    known = np.isfinite(x) & np.isfinite(y) & (weights > 0)
    x, y, weights = x[known], y[known], weights[known]
    if np.unique(x).size < 4:
        return np.zeros(0), np.zeros(0)
    places = np.unique(np.quantile(x, np.linspace(0.0, 1.0, PLACES)))
    nearest = max(3, round(SPAN * x.size))
    line = np.empty(places.size)
    for k, place in enumerate(places):
        away = x - place
        sizes = np.abs(away)
        reach = np.partition(sizes, nearest - 1)[nearest - 1]
        own = weights * np.where(sizes <= reach, (1 - (sizes / (reach or 1.0)) ** 3) ** 3, 0.0)
        own /= own.sum()
        middle = own @ away
        about = away - middle
        spread = own @ about**2
        line[k] = own @ y - middle * (own @ (about * y) / spread if spread > 0 else 0.0)
    return places, line
