"""Novikoff's proof as two curves that cannot cross."""

from typing import Any, Self

import numpy as np

from linsep.plot.display import COLOURS, Display, ink, legend, new_axes
from linsep.teaching.convergence import Convergence, convergence

#: where the limit is so many times the mistakes made, axes are logarithmic
MOST_RATIO = 10.0


class ConvergenceDisplay(Display):
    """The proof that a perceptron converges: <w, u> grows faster than ||w|| can.

    After k mistakes <w, u> is at least k gamma and ||w|| at most sqrt(k) R, times the learning rate
    and from weights of zero. Since <w, u> is at most ||w||, both stay in the shaded region, which
    ends at (R / gamma)^2 mistakes. It is best made with :meth:`from_estimator`.

    Parameters
    ----------
    convergence : Convergence
        What :func:`linsep.convergence` returned.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    products_, lengths_ : Line2D of <w, u> and ||w||
    least_, most_ : Line2D of what the proof says of them
    region_ : PolyCollection between both, or None where u does not separate the rows
    limit_ : Line2D at the largest number of mistakes, or None
    legend_ : Legend

    Examples
    --------
    >>> from linsep import Perceptron, datasets
    >>> from linsep.plot import ConvergenceDisplay
    >>> X, y = datasets.load_four_points(return_X_y=True)
    >>> model = Perceptron(fit_intercept=False, shuffle=False)
    >>> display = ConvergenceDisplay.from_estimator(model, X, y)
    >>> int(display.limit_.get_xdata()[0])
    26
    """

    def __init__(self, *, convergence: Convergence) -> None:
        self.convergence = convergence

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        weights: Any = None,
        coef_init: Any = None,
        intercept_init: Any = None,
        max_rounds: int = 1000,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the proof for a run of a perceptron.

        Parameters
        ----------
        estimator, X, y, weights, coef_init, intercept_init, max_rounds
            As for :func:`linsep.convergence`; the estimator need not be fitted.
        ax : matplotlib Axes, default None
        **kwargs : passed to :meth:`plot`

        Raises
        ------
        TypeError, ValueError
            As :func:`linsep.convergence`.
        """
        found = convergence(
            estimator, X, y, weights=weights, coef_init=coef_init, intercept_init=intercept_init,
            max_rounds=max_rounds,
        )  # fmt: skip
        return cls(convergence=found).plot(ax, **kwargs)

    def plot(self, ax: Any = None, *, log: bool | None = None) -> Self:
        """Draw on ``ax``, or on axes of a new figure.

        Parameters
        ----------
        ax : matplotlib Axes, default None
        log : bool, default None
            Whether both axes are logarithmic; None makes them so where the proof allows more than
            ten times the mistakes made.
        """
        self.figure_, self.ax_ = new_axes(ax)
        shown, made = self.convergence, len(self.convergence.rows)
        limit = shown.limit
        log = log if log is not None else limit is not None and limit > MOST_RATIO * max(1, made)
        self.region_: Any = None
        self.limit_: Any = None
        curves, places = (shown.least, shown.most), np.arange(made + 1.0)
        if limit is not None:
            grid = np.geomspace(1, limit, 200) if log else limit * np.linspace(0, 1, 200) ** 2
            curves, places = shown.curves(grid), grid
            self.region_ = self.ax_.fill_between(
                places,
                *curves,
                color=COLOURS[2],
                alpha=0.25,
                linewidth=0,
                label="where both must be",
            )
            self.limit_ = self.ax_.axvline(
                limit, color=ink(), linewidth=0.8, ls=":", label=f"at most {int(limit):,} mistakes"
            )
        (self.most_,) = self.ax_.plot(
            places, curves[1], color=COLOURS[0], ls="--", label="||w|| is at most"
        )
        marks = {"marker": "o", "markersize": 4} if made <= 60 else {}
        number = np.arange(log, made + 1)  # a logarithmic axis has no 0
        (self.lengths_,) = self.ax_.plot(
            number, shown.lengths[int(log) :], color=COLOURS[0], label="||w||", **marks
        )
        marks = {"marker": "s", "markersize": 4} if made <= 60 else {}
        (self.products_,) = self.ax_.plot(
            number, shown.products[int(log) :], color=COLOURS[5], label="<w, u>", **marks
        )
        (self.least_,) = self.ax_.plot(
            places, curves[0], color=COLOURS[5], ls="-.", label="<w, u> is at least"
        )
        self.ax_.set(xlabel="mistakes", ylabel="<w, u> and ||w||")
        if log:
            self.ax_.set(xscale="log", yscale="log")
        said = "" if shown.separates else "u does not separate the rows"
        self.ax_.set_title(said, fontsize="medium")
        drawn = (
            self.most_, self.lengths_, self.products_, self.least_, self.region_, self.limit_
        )  # fmt: skip
        self.legend_ = legend(self.ax_, [artist for artist in drawn if artist is not None])
        return self
