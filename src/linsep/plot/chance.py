"""Separability by chance: Cover's probability, and the phase transition."""

from typing import Any, Self

import numpy as np

from linsep.chance.counting import Dichotomies
from linsep.chance.transition import phase_transition
from linsep.errors import DataError
from linsep.plot.display import Display, ink, legend, new_axes, show_title
from linsep.plot.palettes import COLORS
from linsep.words import counted

#: rows for each weight, up to which a curve is drawn at least
MOST_ROWS_A_WEIGHT = 4.0
#: signals that are drawn
SIGNALS = np.linspace(0.0, 6.0, 61)


class ChanceDisplay(Display):
    """The probability that a hyperplane separates random labels, by number of rows (Cover 1965).

    Create it with :meth:`from_verdict`.

    Parameters
    ----------
    n_dimensions : int
        Dimension of the space that the rows span.
    fit_intercept : bool
    n_distinct : int or None
        Number of distinct rows, which is marked.
    bound : bool
        Whether the mark is an upper bound of the probability or a lower bound of the number of
        rows.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    curve_ : Line2D, the probability by number of rows per weight
    place_ : Line2D, a mark at the number of rows, or None
    capacity_ : Line2D at two rows per weight, where the probability is 1/2
    legend_ : Legend

    Examples
    --------
    >>> import numpy as np
    >>> from linsep import separation
    >>> from linsep.plot import ChanceDisplay
    >>> X = np.random.default_rng(0).normal(size=(100, 60))
    >>> display = ChanceDisplay.from_verdict(separation(X, np.arange(100) % 2))
    >>> round(float(display.place_.get_ydata()[0]), 6)
    0.986737
    """

    n_dimensions: int
    fit_intercept: bool = True
    n_distinct: int | None = None
    bound: bool = False

    @classmethod
    def from_verdict(cls, verdict: Any, *, ax: Any = None) -> Self:
        """Draw the probability for the rows of a verdict.

        Parameters
        ----------
        verdict : two-sided verdict of :func:`linsep.separation`
        ax : matplotlib Axes, default None

        Raises
        ------
        DataError
            For a verdict read from a proof, for several verdicts, and if the dimension of the rows
            is not known.
        """
        chance = getattr(verdict, "chance", None)
        if chance is None or not chance.known:
            raise DataError(
                "Only a two-sided verdict returned by linsep.separation has the number and the "
                "dimension of the distinct rows: pass such a verdict.",
                code="unsupported",
            )
        return cls(
            n_dimensions=chance.n_dimensions, fit_intercept=chance.fit_intercept,
            n_distinct=chance.n_distinct, bound=chance.enough or chance.tied,
        ).plot(ax)  # fmt: skip

    def plot(self, ax: Any = None) -> Self:
        """Draw on ``ax`` or on new axes."""
        self.figure_, self.ax_ = new_axes(ax)
        width = max(1, self.n_dimensions + self.fit_intercept)
        most = max(MOST_ROWS_A_WEIGHT * width, 1.2 * (self.n_distinct or 0))
        rows = np.unique(np.linspace(1, most, 400).round().astype(int))
        (self.curve_,) = self.ax_.plot(
            rows / width, [self._probability(n) for n in rows.tolist()], color=COLORS[0],
            label=f"random labels in {counted(self.n_dimensions, 'dimension')}",
        )  # fmt: skip
        self.capacity_ = self.ax_.axvline(
            2.0, color=ink(), linewidth=0.8, ls=":", label="two rows per weight: 1/2"
        )
        self.place_: Any = None
        if self.n_distinct is not None:
            about = ", or less" * self.bound
            (self.place_,) = self.ax_.plot(
                [self.n_distinct / width], [self._probability(self.n_distinct)], "o", ls="",
                color=COLORS[5], zorder=3, clip_on=False,
                label=f"{counted(self.n_distinct, 'distinct row')}{about}",
            )  # fmt: skip
        self.ax_.set(
            xlabel="distinct rows per weight", ylabel="probability that all are separable",
            xlim=(0, None), ylim=(-0.02, 1.02),
        )  # fmt: skip
        show_title(self.ax_, "Separable by chance? (Cover 1965)")
        self.legend_ = legend(self.ax_, [self.curve_, self.capacity_, self.place_])
        return self

    def _probability(self, n_rows: int) -> float:
        return float(Dichotomies(n_rows, self.n_dimensions, self.fit_intercept))


class PhaseTransitionDisplay(Display):
    """Where a logistic regression has a maximum likelihood estimate (Candès and Sur 2020).

    Parameters
    ----------
    intercept : float, default=0.0
        The log-odds of the positive class with all columns at their means.
    ratio : float or None, default=None
        Ratio of columns to rows of some data, which is marked
    signal : float, default=0.0
        at this standard deviation of the log-odds.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    curve_ : Line2D, the largest ratio of columns to rows with an estimate, by the signal
    exists_ : PolyCollection, the area below it
    place_ : Line2D, the mark, or None
    legend_ : Legend

    Examples
    --------
    >>> from linsep.plot import PhaseTransitionDisplay
    >>> display = PhaseTransitionDisplay(ratio=0.2, signal=5**0.5).plot()
    >>> float(display.curve_.get_ydata()[0].round(6))
    0.5
    """

    intercept: float = 0.0
    ratio: float | None = None
    signal: float = 0.0

    def plot(self, ax: Any = None) -> Self:
        """Draw on ``ax`` or on new axes."""
        self.figure_, self.ax_ = new_axes(ax)
        kappa = np.array([phase_transition(self.intercept, gamma) for gamma in SIGNALS])
        (self.curve_,) = self.ax_.plot(
            SIGNALS, kappa, color=COLORS[0], label="phase transition", zorder=3
        )
        self.exists_ = self.ax_.fill_between(
            SIGNALS, 0.0, kappa, color=COLORS[0], alpha=0.15, linewidth=0,
            label="an estimate exists",
        )  # fmt: skip
        self.place_: Any = None
        if self.ratio is not None:
            (self.place_,) = self.ax_.plot(
                [self.signal], [self.ratio], "o", ls="", color=COLORS[5], zorder=4,
                label="the data",
            )  # fmt: skip
        self.ax_.set(
            xlabel="signal (standard deviation of the log-odds)", ylabel="columns / rows",
            xlim=(SIGNALS[0], SIGNALS[-1]), ylim=(0.0, max(0.6, 1.1 * (self.ratio or 0.0))),
        )  # fmt: skip
        intercept = f"intercept {self.intercept:g}" if self.intercept else ""
        show_title(self.ax_, "Maximum likelihood estimates (Candès and Sur 2020)", intercept)
        self.legend_ = legend(self.ax_, [self.curve_, self.exists_, self.place_])
        return self
