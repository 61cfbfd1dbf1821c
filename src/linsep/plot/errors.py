"""The fewest errors of any hyperplane: how the interval shrank during the search."""

from typing import Any, Self

import numpy as np

from linsep.certificate.errors import FewestErrors
from linsep.errors import DataError
from linsep.plot.display import GRAY, Display, legend, new_axes, show_title
from linsep.plot.palettes import COLORS


class FewestErrorsDisplay(Display):
    """Both ends of the interval over the time of the search, with the gap between them shaded.

    Create it with :meth:`from_errors`.

    Parameters
    ----------
    seconds, low, high : arrays of shape (changes,)

    Attributes
    ----------
    figure_, ax_ : matplotlib Figure and Axes
    low_, high_ : Line2D
    open_ : the shaded area between the ends
    legend_ : Legend

    Examples
    --------
    >>> import linsep
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> found = linsep.separation(X[50:], y[50:], errors=True).errors
    >>> float(found.plot().high_.get_ydata()[-1])
    1.0
    """

    seconds: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def from_errors(cls, errors: FewestErrors, **kwargs: Any) -> Self:
        """Draw the history of an interval.

        Parameters
        ----------
        errors : the attribute ``errors`` of a verdict
        **kwargs : passed to :meth:`plot`

        Raises
        ------
        DataError
            For an interval read from a proof, which has no history.
        """
        if not errors.history:
            raise DataError(
                "This interval was read from a proof, which has no history to draw.",
                code="unsupported",
            )
        seconds, low, high = np.array(errors.history).T
        return cls(seconds=seconds, low=low, high=high).plot(**kwargs)

    def plot(self, ax: Any = None) -> Self:
        """Draw on ``ax``, or on a new figure."""
        self.figure_, self.ax_ = new_axes(ax)
        # the first weights are those before anything was tried
        shown = slice(1, None) if len(self.seconds) > 2 else slice(None)
        seconds, low, high = self.seconds[shown], self.low[shown], self.high[shown]
        look: dict[str, Any] = {"drawstyle": "steps-post", "marker": ".", "markersize": 5}
        (self.high_,) = self.ax_.plot(
            seconds, high, color=COLORS[5], label="errors of a hyperplane", **look
        )
        (self.low_,) = self.ax_.plot(seconds, low, color=COLORS[0], label="proved least", **look)
        self.open_ = self.ax_.fill_between(
            seconds, low, high, step="post", color=GRAY, alpha=0.25, linewidth=0
        )
        self.ax_.set(xlabel="seconds", ylabel="errors", ylim=(0, None))
        self.legend_ = legend(self.ax_, [self.high_, self.low_])
        last = f"{high[-1]:,.6g}" if low[-1] == high[-1] else f"{low[-1]:,.6g} to {high[-1]:,.6g}"
        show_title(self.ax_, f"fewest errors of any hyperplane: {last}")
        return self
