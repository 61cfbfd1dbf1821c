"""How far rows are from the boundary."""

from typing import Any, Self

import numpy as np

from linsep.mistake_bounds.margins import margin_distribution
from linsep.plot.display import COLOURS, Display, ink, legend, new_axes


class MarginDisplay(Display):
    """The cumulative distribution of the geometric margins of rows.

    A row on the wrong side has a negative margin, so the height of a curve at 0 is the error. It is
    best made with :meth:`from_estimator`.

    Parameters
    ----------
    margins : dict of str to array
        The margins of each set of rows, by its name.
    certified : tuple of two floats or None
        The interval that holds the widest margin of the rows, where a verdict has proved one.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    curves_ : list of Line2D, one a set of rows
    zero_ : Line2D at 0
    certified_ : Polygon of the interval of the widest margin, or None
    legend_ : Legend

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linsep import Perceptron
    >>> from linsep.plot import MarginDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = Perceptron(keep="average").fit(X, y == 0)
    >>> display = MarginDisplay.from_estimator(model, X, y == 0)
    >>> float(display.curves_[0].get_xdata()[1].round(3)) > 0
    True
    """

    def __init__(
        self,
        *,
        margins: dict[str, np.ndarray],
        certified: tuple[float, float] | None = None,
    ) -> None:
        self.margins, self.certified = margins, certified

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        X_test: Any = None,
        y_test: Any = None,
        verdict: Any = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the margins that a linear classifier leaves on rows.

        Parameters
        ----------
        estimator : fitted linear classifier
        X, y : the rows of the fit and their classes
        X_test, y_test : other rows, default None
        verdict : what ``linsep.separation(X, y, margin="max")`` returned, default None
            Its interval of the widest margin is drawn.
        ax : matplotlib Axes, default None
        **kwargs : passed to :meth:`plot`

        Raises
        ------
        DataError, ValueError
            As :func:`linsep.margin_distribution`.
        """
        first = "rows" if X_test is None else "training"
        found = {first: margin_distribution(estimator, X, y).rows}
        if X_test is not None:
            found["test"] = margin_distribution(estimator, X_test, y_test).rows
        certified = getattr(verdict, "margin", None)
        return cls(margins=found, certified=certified).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on ``ax``, or on axes of a new figure.

        Parameters
        ----------
        ax : matplotlib Axes, default None
        **kwargs : passed to the curves, such as ``linewidth=2``
        """
        self.figure_, self.ax_ = new_axes(ax)
        self.curves_ = []
        for (name, margins), colour, style in zip(
            self.margins.items(), COLOURS, ("-", "--", ":", "-."), strict=False
        ):
            ordered = np.sort(margins)
            shares = np.arange(len(ordered) + 1) / len(ordered)
            wrong = float((ordered <= 0).mean())
            look = {"color": colour, "ls": style, "drawstyle": "steps-post"} | kwargs
            label = f"{name}: {100 * wrong:.3g} % at most 0"
            self.curves_ += self.ax_.plot(
                np.append(ordered[0], ordered), shares, label=label, **look
            )
        self.zero_ = self.ax_.axvline(0.0, color=ink(), linewidth=0.8)
        self.certified_: Any = None
        handles = [*self.curves_]
        if self.certified is not None:
            low, high = (float(end) for end in self.certified)
            self.certified_ = self.ax_.axvspan(
                low, max(high, np.nextafter(low, np.inf)), color=COLOURS[2], alpha=0.8,
                label=f"widest margin of all: {low:.4g}",
            )  # fmt: skip
            handles.append(self.certified_)
        self.ax_.set(xlabel="geometric margin", ylabel="share of the rows", ylim=(0, 1.02))
        self.legend_ = legend(self.ax_, handles)
        return self
