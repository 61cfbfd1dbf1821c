"""Rows whose labels deserve a second look, as bars."""

from typing import Any, Self

from linsep.errors import DataError
from linsep.estimators._common.labels import label_text
from linsep.plot.display import Display, cut, literal, new_axes, show_title
from linsep.plot.palettes import COLORS
from linsep.suspecting import SuspiciousLabels

#: characters of a label
LONGEST = 18


class SuspiciousLabelsDisplay(Display):
    """The scores of the most suspicious rows as bars, with their row numbers and labels.

    Create it with :meth:`from_labels`.

    Parameters
    ----------
    labels : SuspiciousLabels

    Attributes
    ----------
    figure_, ax_ : matplotlib Figure and Axes
    bars_ : BarContainer

    Examples
    --------
    >>> import linsep
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> found = linsep.suspicious_labels(X[50:], y[50:], time_limit=5)
    >>> float(found.plot().bars_[0].get_width())
    1.0
    """

    labels: SuspiciousLabels

    @classmethod
    def from_labels(cls, labels: SuspiciousLabels, **kwargs: Any) -> Self:
        """Draw the result of :func:`linsep.suspicious_labels`.

        Parameters
        ----------
        labels : SuspiciousLabels
        **kwargs : passed to :meth:`plot`

        Raises
        ------
        DataError
            If no labels are suspicious.
        """
        if not labels:
            raise DataError("No labels are suspicious: there is nothing to draw.", code="no-rows")
        return cls(labels=labels).plot(**kwargs)

    def plot(self, ax: Any = None, *, most: int = 15) -> Self:
        """Draw the first rows on ``ax``, or on a new figure.

        Parameters
        ----------
        ax : matplotlib Axes, or None
        most : int, default=15
            Maximum number of rows.
        """
        self.figure_, self.ax_ = new_axes(ax)
        shown = self.labels[:most]
        labels = [label_text(one.label) for one in shown]
        shorter = map(literal, cut(labels, LONGEST))
        rows = [f"row {literal(self.labels.name(one))}" for one in shown]
        names = [f"{row}: {label}" for row, label in zip(rows, shorter, strict=True)]
        places = range(len(shown))
        self.bars_ = self.ax_.barh(places, [one.score for one in shown], color=COLORS[0])
        self.ax_.set_yticks(places, names)
        self.ax_.invert_yaxis()
        self.ax_.set(xlabel="score", xlim=(0, 1))
        show_title(self.ax_, "labels that deserve a second look")
        return self
