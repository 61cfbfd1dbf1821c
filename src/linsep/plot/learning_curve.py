"""How a run went, pass by pass."""

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from linsep.errors import DataError
from linsep.plot.display import COLOURS, Display, ink, legend, new_axes


class LearningCurveDisplay(Display):
    """Mistakes in every pass; with a held-out part, the errors on both parts and the pass kept.

    It is best made with :meth:`from_estimator`.

    Parameters
    ----------
    mistakes : int array of shape (passes,)
    errors : array of shape (passes, 2) or None
        The share of wrong predictions on the rows learnt and on those held out.
    criterion : array of shape (passes,) or None
        The perceptron criterion J_p at the start of each pass.
    best : int or None
        The pass, counted from 0, whose weights were kept.
    stop : str
        Why the run ended.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    mistakes_ : Line2D
    errors_ : list of Line2D, on the rows learnt and on those held out
    criterion_ : Line2D or None
    error_ax_ : the Axes of the errors or of J_p, on the right, or None
    kept_ : Line2D at the pass whose weights were kept, or None
    legend_ : Legend

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linsep import Perceptron
    >>> from linsep.plot import LearningCurveDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> display = LearningCurveDisplay.from_estimator(Perceptron(max_iter=20).fit(X, y))
    >>> len(display.mistakes_.get_xdata())
    20
    """

    def __init__(
        self,
        *,
        mistakes: np.ndarray,
        errors: np.ndarray | None = None,
        criterion: np.ndarray | None = None,
        best: int | None = None,
        stop: str = "",
    ) -> None:
        self.mistakes, self.errors, self.criterion = mistakes, errors, criterion
        self.best, self.stop = best, stop

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the passes of a fitted online classifier.

        Parameters
        ----------
        estimator : fitted classifier that learns in passes
        ax : matplotlib Axes, default None
        **kwargs : passed to :meth:`plot`

        Raises
        ------
        DataError
            For an estimator that does not learn in passes.
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "mistakes_"):
            raise DataError(f"{type(estimator).__name__} does not learn in passes; draw another.")
        errors, best = getattr(estimator, "validation_curve_", None), None
        if errors is not None:
            best = int(np.argmin(errors[:, 1])) if estimator.stop_reason_ != "converged" else None
        made = cls(
            mistakes=estimator.mistakes_, errors=errors, best=best,
            criterion=getattr(estimator, "criterion_", None),
            stop=str(getattr(estimator, "stop_reason_", None) or ""),
        )  # fmt: skip
        return made.plot(ax, **kwargs)

    def plot(self, ax: Any = None, *, log: bool | None = None) -> Self:
        """Draw on ``ax``, or on axes of a new figure.

        Parameters
        ----------
        ax : matplotlib Axes, default None
        log : bool, default None
            Whether mistakes have a logarithmic axis; None takes one where the largest number is a
            hundred times the smallest, and none is zero.
        """
        from matplotlib.ticker import MaxNLocator

        self.figure_, self.ax_ = new_axes(ax)
        passes = np.arange(1, len(self.mistakes) + 1)
        (self.mistakes_,) = self.ax_.plot(
            passes, self.mistakes, color=COLOURS[0], marker="o", markersize=3, label="mistakes"
        )
        low, high = int(self.mistakes.min()), int(self.mistakes.max())
        if log if log is not None else 0 < 100 * low <= high:
            self.ax_.set_yscale("log")
        else:
            self.ax_.set_ylim(0, 1.05 * max(1, high))
            self.ax_.yaxis.set_major_locator(MaxNLocator(integer=True))
        self.ax_.set(xlabel="pass", ylabel="mistakes")
        self.ax_.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        self.errors_: list[Any] = []
        self.error_ax_: Any = None
        self.criterion_: Any = None
        self.kept_: Any = None
        if self.errors is not None:
            self._draw_errors(passes, self.errors)
        elif self.criterion is not None:
            self._draw_criterion(passes, self.criterion)
        if self.best is not None:
            self.kept_ = self.ax_.axvline(
                self.best + 1, color=ink(), ls=":", linewidth=1, label=f"kept: pass {self.best + 1}"
            )
        self.ax_.set_title(f"stopped: {self.stop}" if self.stop else "", fontsize="medium")
        handles = [self.mistakes_, *self.errors_, self.criterion_, self.kept_]
        self.legend_ = self._legend([handle for handle in handles if handle is not None])
        return self

    def _legend(self, handles: list[Any]) -> Any:
        if len(handles) == 1:  # the label of the axis says it
            return None
        made = legend(self.ax_, handles)
        if self.error_ax_ is not None:
            made.set_bbox_to_anchor((1.16, 1.0), self.ax_.transAxes)
        return made

    def _draw_errors(self, passes: np.ndarray, errors: np.ndarray) -> None:
        self.error_ax_ = self.ax_.twinx()
        for share, colour, style, label in (
            (errors[:, 0], COLOURS[1], "-", "error, rows learnt"),
            (errors[:, 1], COLOURS[5], "--", "error, rows held out"),
        ):
            self.errors_ += self.error_ax_.plot(
                passes, share, color=colour, ls=style, marker=".", label=label
            )
        self.error_ax_.set(ylabel="error", ylim=(0, None))

    def _draw_criterion(self, passes: np.ndarray, criterion: np.ndarray) -> None:
        self.error_ax_ = self.ax_.twinx()
        (self.criterion_,) = self.error_ax_.plot(
            passes[: len(criterion)], criterion, color=COLOURS[1], ls="--", marker=".", label="J_p"
        )
        self.error_ax_.set(ylabel="perceptron criterion J_p", ylim=(0, None))
