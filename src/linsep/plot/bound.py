"""Mistakes of a run against their bounds."""

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from linsep.errors import DataError
from linsep.mistake_bounds.bounds import Bounds, whole
from linsep.plot.display import COLOURS, Display, ink, legend, new_axes
from linsep.teaching.trace.tracer import trace

STYLES = ("--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
#: with more between the smallest and the largest number the axis is logarithmic
MOST_RATIO = 30.0


class BoundDisplay(Display):
    """The mistakes made up to the end of each pass or round, and every bound on them.

    Hinge bounds grow with the passes; others hold for any number of them. Bounds of margins are
    left out. It is best made with :meth:`from_estimator`.

    Parameters
    ----------
    mistakes : int array of shape (passes,) or (rounds,)
        In each pass or round.
    bounds : Bounds
        With what was counted.
    passes : int array of shape (rounds,), default None
        The pass of each round, counted from 1; None if mistakes are those of passes.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    mistakes_ : Line2D of the sums of the mistakes
    bounds_ : dict of str to Line2D
    counted_ : dict of str to Line2D, a mark for what was counted where a bound is not on mistakes
    legend_ : Legend

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linsep import Perceptron
    >>> from linsep.plot import BoundDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = Perceptron(max_iter=30).fit(X, y == 1)
    >>> display = BoundDisplay.from_estimator(model, X, y == 1)
    >>> list(display.bounds_)
    ['hinge', 'hinge, sharp', 'squared hinge']
    """

    def __init__(
        self, *, mistakes: np.ndarray, bounds: Bounds, passes: np.ndarray | None = None
    ) -> None:
        self.mistakes, self.bounds, self.passes = mistakes, bounds, passes

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        rounds: bool = False,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the mistakes of a fitted learner and their bounds on its rows.

        Parameters
        ----------
        estimator : fitted online linear learner of this library
        X, y : the rows of the fit in their order, and their labels
            They are learnt again; see the method ``bounds`` of the estimator.
        rounds : bool, default=False
            Whether to draw every round of :func:`linsep.trace`, for small data, instead of passes.
        ax : matplotlib Axes, default None
        **kwargs : passed to :meth:`plot`

        Raises
        ------
        DataError
            For other rows, for an estimator without bounds, and if no bound is known for the run;
            with ``rounds`` for data that are too large for a trace, and for an order drawn with
            ``random_state=None``.
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "bounds"):
            raise DataError(f"{type(estimator).__name__} has no mistake bounds; draw another.")
        found = estimator.bounds(X, y)
        if not rounds:
            return cls(mistakes=estimator.mistakes_, bounds=found).plot(ax, **kwargs)
        made = trace(estimator, X, y, max_rounds=len(y) * estimator.n_iter_)
        mistakes, passes = np.array([(one.mistakes, one.pass_number) for one in made]).T
        if not np.array_equal(np.bincount(passes, mistakes)[1:], estimator.mistakes_):
            raise DataError(
                "The order of these rounds cannot be repeated: fit with a number as random_state."
            )
        return cls(mistakes=mistakes, bounds=found, passes=passes).plot(ax, **kwargs)

    def plot(self, ax: Any = None, *, log: bool | None = None) -> Self:
        """Draw on ``ax``, or on axes of a new figure.

        Parameters
        ----------
        ax : matplotlib Axes, default None
        log : bool, default None
            Whether numbers have a logarithmic axis; None takes one where the largest bound is more
            than thirty times the mistakes.

        Raises
        ------
        DataError
            If no bound on mistakes, updates or errors is known.
        """
        from matplotlib.ticker import MaxNLocator

        shown = [bound for bound in self.bounds if bound.what != "margin"]
        if not shown:
            why = next(iter(self.bounds.left_out.values()), "there is no theorem")
            raise DataError(f"No bound is known for this run: {why}.")
        self.figure_, self.ax_ = new_axes(ax)
        places, total = np.arange(1, len(self.mistakes) + 1), np.cumsum(self.mistakes)
        passes = places if self.passes is None else self.passes
        (self.mistakes_,) = self.ax_.plot(
            places, total, color=ink(), linewidth=2, label=f"mistakes: {total[-1]:,}",
            marker="o" if len(places) <= 50 else None, markersize=3,
        )  # fmt: skip
        self.bounds_: dict[str, Any] = {}
        self.counted_: dict[str, Any] = {}
        for k, bound in enumerate(shown):
            by_pass = bound.by_pass or np.full(passes[-1], bound.value)
            (self.bounds_[bound.name],) = self.ax_.plot(
                places, np.asarray(by_pass)[passes - 1], color=COLOURS[k % 7], ls=STYLES[k % 4],
                drawstyle="default" if self.passes is None else "steps-mid",
                label=f"{bound.name}: {whole(bound.value)}" + " errors" * (bound.what == "errors"),
            )  # fmt: skip
            if bound.what != "mistakes" and bound.counted is not None:
                (self.counted_[bound.what],) = self.ax_.plot(
                    places[-1:], [bound.counted], color=COLOURS[k % 7], marker="D", ls="",
                    label=f"{bound.what}: {whole(bound.counted)}",
                )  # fmt: skip
        largest = max(bound.value for bound in shown)
        if log if log is not None else largest > MOST_RATIO * max(1, total[-1]):
            self.ax_.set_yscale("log")
        else:
            self.ax_.set_ylim(0, 1.05 * largest)
        self.ax_.set(xlabel="pass" if self.passes is None else "round")
        self.ax_.set(ylabel="mistakes so far, and their bounds")
        self.ax_.xaxis.set_major_locator(MaxNLocator(integer=True))
        self.legend_ = legend(self.ax_, self._handles())
        return self

    def _handles(self) -> list[Any]:
        """What the legend names, the largest number on top as in the picture."""
        drawn = [*self.bounds_.values(), self.mistakes_, *self.counted_.values()]
        return sorted(drawn, key=lambda line: -line.get_ydata()[-1])
