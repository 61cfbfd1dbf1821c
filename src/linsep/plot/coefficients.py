"""Estimates with their confidence intervals."""

from typing import Any, Self

import numpy as np

from linsep.errors import DataError
from linsep.plot.display import COLOURS, Display, ink, literal, new_axes
from linsep.regression.summary import Summary


class CoefficientDisplay(Display):
    """The coefficients of a regression with their intervals; arrows where there is no estimate.

    It is best made with :meth:`from_estimator`.

    Parameters
    ----------
    names : list of str
    estimates, low, high : arrays of shape (coefficients,)
        NaN where there is none.
    status : list of str
        Shown in place of an estimate, such as "dependent" or "+inf"; else empty.
    level : float
    odds : bool
        Whether the numbers are odds ratios, on a logarithmic axis.
    left_out : int
        How many coefficients are not shown.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    points_ : Line2D of the estimates
    intervals_ : LineCollection
    arrows_ : list of Annotation, of coefficients that run away
    words_ : list of Text, what is status in place of an estimate
    zero_ : Line2D where a feature has no effect

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linsep import LogisticRegression
    >>> from linsep.plot import CoefficientDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = LogisticRegression().fit(X[y > 0], y[y > 0])
    >>> display = CoefficientDisplay.from_estimator(model, odds=True)
    >>> len(display.points_.get_xdata())
    4
    """

    def __init__(
        self,
        *,
        names: list[str],
        estimates: np.ndarray,
        low: np.ndarray,
        high: np.ndarray,
        status: list[str],
        level: float = 0.95,
        odds: bool = False,
        left_out: int = 0,
    ) -> None:
        self.names, self.estimates, self.low, self.high = names, estimates, low, high
        self.status, self.level, self.odds, self.left_out = status, level, odds, left_out

    @classmethod
    def from_estimator(cls, estimator: Any, **kwargs: Any) -> Self:
        """Draw the coefficients of a fitted regression.

        Parameters
        ----------
        estimator : fitted regression with a ``summary_``
        **kwargs : passed to :meth:`from_summary`

        Raises
        ------
        DataError
            For an estimator that has no summary.
        """
        summary = getattr(estimator, "summary_", None)
        if summary is None:
            raise DataError(f"{type(estimator).__name__} has no intervals; draw a regression.")
        return cls.from_summary(summary, **kwargs)

    @classmethod
    def from_summary(
        cls,
        summary: Summary,
        *,
        odds: bool = False,
        top: int = 30,
        intercept: bool = False,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the coefficients of a summary.

        Parameters
        ----------
        summary : :class:`linsep.regression.summary.Summary`
        odds : bool, default=False
            Whether to draw odds ratios, exp of the coefficients of a logistic regression.
        top : int, default=30
            So many are shown: those with the largest statistic, or the largest estimate.
        intercept : bool, default=False
            Whether the intercept is one of them.
        ax : matplotlib Axes, default None
        **kwargs : passed to :meth:`plot`
        """
        rows = [c for c in summary.coefficients if intercept or "intercept" not in c.name.split()]
        size = [np.inf if c.status else abs(np.nan_to_num(c.statistic)) for c in rows]
        if not any(np.isfinite(c.statistic) for c in rows):
            size = [abs(np.nan_to_num(c.estimate)) for c in rows]
        largest = np.sort(np.argsort(size, kind="stable")[::-1][:top])
        shown = [rows[k] for k in largest]
        scale = np.exp if odds else np.asarray
        estimates, low, high = (
            scale(np.array([getattr(c, field) for c in shown], dtype=np.float64))
            for field in ("estimate", "low", "high")
        )
        return cls(
            names=[c.name for c in shown], estimates=estimates, low=low, high=high,
            status=[c.status for c in shown], level=summary.level, odds=odds,
            left_out=len(rows) - len(shown),
        ).plot(ax, **kwargs)  # fmt: skip

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on ``ax``, or on axes of a new figure.

        Parameters
        ----------
        ax : matplotlib Axes, default None
        **kwargs : passed to the points, such as ``markersize=8``
        """
        self.figure_, self.ax_ = new_axes(ax)
        places = np.arange(len(self.names))[::-1]  # the first on top
        finite = np.array([not word for word in self.status], dtype=bool)
        neutral = 1.0 if self.odds else 0.0
        self.zero_ = self.ax_.axvline(neutral, color=ink(), linewidth=0.8, ls=":")
        self.intervals_ = self.ax_.hlines(
            places[finite], self.low[finite], self.high[finite], color=COLOURS[0], linewidth=1.5
        )
        look: dict[str, Any] = {"color": COLOURS[0], "marker": "o", "ls": ""} | kwargs
        (self.points_,) = self.ax_.plot(self.estimates[finite], places[finite], **look)
        if self.odds:
            self.ax_.set_xscale("log")
        self.ax_.set_yticks(places, [literal(name) for name in self.names])
        self.ax_.set_ylim(-0.7, len(self.names) - 0.3)
        self.arrows_: list[Any] = []
        self.words_: list[Any] = []
        for place, word in zip(places, self.status, strict=True):
            if word:
                self._say(int(place), word, neutral)
        what = "odds ratio" if self.odds else "coefficient"
        self.ax_.set_xlabel(f"{what}, with its {100 * self.level:g} % interval")
        more = f"{self.left_out:,} smaller coefficients not shown" if self.left_out else ""
        self.ax_.set_title(more, fontsize="medium")
        return self

    def _say(self, place: int, word: str, neutral: float) -> None:
        """An arrow in the direction in which a coefficient runs away, and the word for it."""
        side = {"+inf": 1, "-inf": -1}.get(word)
        if side is None:
            at = (neutral, place)
            text = self.ax_.annotate(
                word, at, xytext=(6, 0), textcoords="offset points", va="center", color=ink()
            )
        else:
            text = self.ax_.annotate(
                word, (neutral, place), xytext=(46 * side, 0), textcoords="offset points",
                va="center", ha="left" if side > 0 else "right", color=COLOURS[5],
            )  # fmt: skip
            self.arrows_.append(
                self.ax_.annotate(
                    "", (neutral, place), xytext=(42 * side, 0), textcoords="offset points",
                    arrowprops={"arrowstyle": "<|-", "color": COLOURS[5]},
                )
            )  # fmt: skip
        self.words_.append(text)
