"""Soft margins: convergence of the gap, and the effect of C on weights and support vectors."""

from typing import Any, Self

import numpy as np

from linsep.estimators.showing import machine_names
from linsep.plot import display
from linsep.plot.display import GRAY, Panels, count_axis, cut, ink, legend, literal, show_title
from linsep.plot.palettes import COLORS
from linsep.soft_margins.path import SoftMarginPath
from linsep.soft_margins.problem import relative_gap

#: weights or machines with a color and a name; others are gray
MOST_NAMED = 7
#: characters of a name
LONGEST_NAME = 24
#: a gap of zero is drawn here, at the precision of floats
LEAST_GAP = float(np.finfo(float).eps)


class GapDisplay(Panels):
    """The objective of a soft margin and its lower bound at every step, with the gap between them.

    With several classes, each binary classifier has one pair of lines.

    Attributes
    ----------
    trace : array of shape (steps, 3), binary classifier, objective and bound
    machines : list of str, the names of the binary classifiers
    tol : float, the requested gap
    gap_ax_ : Axes of the gaps, below those of the objectives
    objectives_, bounds_, gaps_ : lists of Line2D, one per binary classifier
    tol_ : Line2D at the requested gap

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linsep import SoftMargin, plot
    >>> X, y = load_iris(return_X_y=True)
    >>> display = plot.GapDisplay.from_estimator(SoftMargin().fit(X, y == 1))
    >>> bool(display.gaps_[0].get_ydata()[-1] < 1e-6)
    True
    """

    @classmethod
    def from_estimator(cls, estimator: Any) -> Self:
        """Draw the steps of a fitted soft margin."""
        display.check_drawable(estimator, "duality_gap_", "has no gap; use a SoftMargin.")
        names, trace = machine_names(estimator), estimator.trace_
        if len(estimator.n_support_) == 1:  # what comes after the last step is in no trace
            names = names[-1:]
            trace = np.vstack([trace, [0.0, estimator.objective_, estimator.lower_bound_]])
        return cls(trace=trace, machines=names, tol=estimator.tol).plot()

    def _draw(self) -> list[Any]:
        self.figure_, self.ax_, self.gap_ax_ = _two_panels()
        several = len(self.machines) > 1
        self.objectives_: list[Any] = []
        self.bounds_: list[Any] = []
        self.gaps_: list[Any] = []
        for k, name in enumerate(map(literal, cut(self.machines, LONGEST_NAME))):
            own = self.trace[self.trace[:, 0] == k, 1:]
            steps = np.arange(1, len(own) + 1)
            look = {"marker": ".", "markersize": 5, "color": COLORS[k % MOST_NAMED]}
            bounds = np.where(own[:, 1] > 0, own[:, 1], np.nan)  # others say nothing
            label = name if several else "objective"
            self.objectives_ += self.ax_.plot(steps, own[:, 0], label=label, **look)
            self.bounds_ += self.ax_.plot(steps, bounds, ls="--", label="lower bound", **look)
            self.gaps_ += self.gap_ax_.plot(
                steps, [max(relative_gap(*both), LEAST_GAP) for both in own.tolist()], **look
            )
        self.ax_.set(yscale="log", ylabel="objective")
        self.tol_ = self.gap_ax_.axhline(
            self.tol, color=ink(), linewidth=0.8, ls=":", label="requested gap"
        )
        self.gap_ax_.set(yscale="log", xlabel="step", ylabel="relative gap")
        count_axis(self.gap_ax_.xaxis)
        show_title(self.ax_, "dashed: lower bounds" if several else "")
        return [*self.objectives_[:MOST_NAMED], *([] if several else self.bounds_), self.tol_]


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

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linsep import soft_margin_path
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> display = soft_margin_path(X[y < 2], y[y < 2]).plot()
    >>> display.weights_[0].get_label()
    'petal length (cm)'
    """

    @classmethod
    def from_path(cls, path: SoftMarginPath) -> Self:
        """Draw a path, with the names of the seven largest weights."""
        return cls(path=path).plot()

    def _draw(self) -> list[Any]:
        self.figure_, self.ax_, self.count_ax_ = _two_panels()
        path, ax = self.path, self.count_ax_
        names = list(map(literal, cut(path.feature_names, LONGEST_NAME)))
        gray: dict[str, Any] = {"color": GRAY, "linewidth": 0.6, "zorder": 1}
        self.weights_: list[Any] = []
        for place, j in enumerate(np.argsort(-np.abs(path.coef[-1]), kind="stable").tolist()):
            named = place < MOST_NAMED
            look = {"color": COLORS[place], "label": names[j]} if named else gray
            self.weights_ += self.ax_.plot(path.Cs, path.coef[:, j], **look)
        self.ax_.axhline(0.0, color=ink(), linewidth=0.6)
        self.ax_.set(xscale="log", ylabel="weight")
        on = "support vectors"
        if path.models[0].loss == "hinge":
            on, look = "on the margin", {"color": COLORS[4], "alpha": 0.6, "linewidth": 0}
            self.bounded_ = ax.fill_between(
                path.Cs, 0, path.bounded, label="inside the margin", **look
            )
        self.free_ = ax.fill_between(
            path.Cs, path.bounded, path.bounded + path.free, color=COLORS[1], alpha=0.8,
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
        show_title(self.ax_, f"{left:,} smaller weights in gray" if left > 0 else "")
        counts = [self.free_, self.bounded_, self.errors_, *self.final_[1:]]
        self.legends_ = [
            legend(self.ax_, self.weights_[:MOST_NAMED]), legend(ax, list(filter(None, counts))),
        ]  # fmt: skip
        return []


def _two_panels() -> tuple[Any, Any, Any]:
    figure = display.new_figure(6.4, 5.6)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    return figure, upper, lower
