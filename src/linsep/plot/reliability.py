"""Calibration curves of classifiers with probabilities."""

from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.calibration import calibration_curve

from linsep.errors import DataError
from linsep.estimators._common.checking import label_text
from linsep.label_faults import check_beside, labels_of
from linsep.plot.display import Display, colours, ink, legend, literal, new_axes


class Curve(NamedTuple):
    """Mean predicted probability and observed frequency of a class by bin, and its Brier score."""

    predicted: np.ndarray
    observed: np.ndarray
    brier: float


class ReliabilityDisplay(Display):
    """Calibration curves: mean predicted probability against observed frequency.

    The bins have equally many rows, as in scikit-learn's ``calibration_curve`` with
    ``strategy="quantile"``. There is one curve for two classes, that of the larger, else one per
    class. It is best made with :meth:`from_estimator`.

    Parameters
    ----------
    curves : dict of label to Curve

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    curves_ : list of Line2D, one a class
    diagonal_ : Line2D
    legend_ : Legend

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> import linsep
    >>> from linsep.plot import ReliabilityDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = linsep.Perceptron(keep="average").fit(X[:200], y[:200])
    >>> model = linsep.calibrate(model, X[200:400], y[200:400])
    >>> display = ReliabilityDisplay.from_estimator(model, X[400:], y[400:])
    >>> len(display.curves_)
    1
    """

    def __init__(self, *, curves: dict[Any, Curve]) -> None:
        self.curves = curves

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, sample_weight: Any = None, n_bins: int = 10,
        ax: Any = None, **kwargs: Any,
    ) -> Self:  # fmt: skip
        """Draw the calibration curves of a classifier with probabilities.

        Parameters
        ----------
        estimator : fitted classifier with ``predict_proba``
        X, y : rows that the model did not learn, and their classes
        sample_weight : array of shape (rows,), default ones
        n_bins : int, default 10
        ax : matplotlib Axes, default None
        **kwargs : passed to :meth:`plot`

        Raises
        ------
        DataError
            If the classifier has no probabilities, or a label is no class of it.
        """
        if not hasattr(estimator, "predict_proba"):
            raise DataError(
                f"This {type(estimator).__name__} has no probabilities: linsep.calibrate learns "
                "some from its scores."
            )
        check_beside(X, y=y)
        found, y = estimator.predict_proba(X), labels_of(y)
        classes = estimator.classes_
        if not np.isin(y, classes).all():
            raise DataError("y has a label that the model never learnt: leave such rows out.")
        curves = {}
        for k, label in enumerate(classes):
            if classes.size == 2 and k == 0:
                continue
            is_class = y == label
            observed, predicted = _curve(is_class, found[:, k], sample_weight, n_bins)
            brier = float(np.average((found[:, k] - is_class) ** 2, weights=sample_weight))
            curves[label] = Curve(predicted, observed, brier)
        return cls(curves=curves).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on ``ax``, or on axes of a new figure.

        Parameters
        ----------
        ax : matplotlib Axes, default None
        **kwargs : passed to the curves, such as ``linewidth=2``
        """
        self.figure_, self.ax_ = new_axes(ax)
        self.diagonal_ = self.ax_.axline(
            (0.0, 0.0), slope=1.0, color=ink(), linewidth=0.8, linestyle=":", label="as predicted"
        )
        self.curves_ = []
        shades = colours(len(self.curves))
        for (label, curve), colour in zip(self.curves.items(), shades, strict=True):
            name = f"{literal(label_text(label))}: Brier score {curve.brier:.3g}"
            look = {"color": colour, "marker": "o", "markersize": 4, "label": name} | kwargs
            self.curves_ += self.ax_.plot(curve.predicted, curve.observed, **look)
        self.ax_.set(
            xlabel="predicted probability", ylabel="observed frequency",
            xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal",
        )  # fmt: skip
        self.legend_ = legend(self.ax_, [*self.curves_, self.diagonal_])
        return self


def _curve(
    is_class: np.ndarray, predicted: np.ndarray, weights: Any, n_bins: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return observed frequencies and mean probabilities of bins of equally many rows, as
    scikit-learn's ``calibration_curve``, which takes no weights.
    """
    if weights is None:
        found: tuple[np.ndarray, np.ndarray] = calibration_curve(
            is_class, predicted, n_bins=n_bins, strategy="quantile", pos_label=True
        )
        return found
    edges = np.quantile(predicted, np.linspace(0.0, 1.0, n_bins + 1))
    bins = np.searchsorted(edges[1:-1], predicted)
    totals, right, sums = (
        np.bincount(bins, np.asarray(weights) * part, n_bins) for part in (1.0, is_class, predicted)
    )
    some = totals > 0
    return right[some] / totals[some], sums[some] / totals[some]
