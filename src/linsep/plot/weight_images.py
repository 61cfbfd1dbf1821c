"""The weights of pixels as images."""

from itertools import combinations
from math import isqrt
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from linsep.errors import DataError
from linsep.estimators._common.checking import label_text
from linsep.plot.display import Display, literal, new_grid

#: more images than that are too small to look at
MOST_IMAGES = 30


class WeightImageDisplay(Display):
    """The weights of a linear classifier of images, an image for each class or pair of classes.

    Positive and negative weights have colours of their own, on the same scale in all images. It is
    best made with :meth:`from_estimator`.

    Parameters
    ----------
    images : array of shape (machines, height, width)
    titles : list of str

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : Axes of the first image
    axes_ : list of Axes
    images_ : list of AxesImage
    colorbar_ : Colorbar

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from linsep import Perceptron
    >>> from linsep.plot import WeightImageDisplay
    >>> X, y = load_digits(return_X_y=True)
    >>> display = WeightImageDisplay.from_estimator(Perceptron(keep="average").fit(X, y))
    >>> display.images.shape
    (10, 8, 8)
    """

    def __init__(self, *, images: np.ndarray, titles: list[str]) -> None:
        self.images, self.titles = images, titles

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, shape: tuple[int, int] | None = None, **kwargs: Any
    ) -> Self:
        """Draw the weights of a fitted linear classifier.

        Parameters
        ----------
        estimator : fitted classifier with a ``coef_``
        shape : (height, width), default None
            Of the images, whose rows follow each other; None takes squares.
        **kwargs : passed to :meth:`plot`

        Raises
        ------
        DataError
            If the features are not the pixels of images of this shape, or for a classifier without
            weights of features.
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "coef_") or not hasattr(estimator, "classes_"):
            raise DataError(
                f"{type(estimator).__name__} has no weights of features for classes: draw a linear "
                "classifier."
            )
        coef = np.atleast_2d(estimator.coef_)[:MOST_IMAGES]
        d = coef.shape[1]
        if shape is None:
            if isqrt(d) ** 2 != d:
                raise DataError(f"{d:,} features are no square: give the shape of the images.")
            shape = (isqrt(d), isqrt(d))
        if shape[0] * shape[1] != d:
            raise DataError(
                f"Images of shape {shape} have {shape[0] * shape[1]:,} pixels, not {d:,}."
            )
        made = cls(images=coef.reshape(-1, *shape), titles=_titles(estimator)[: len(coef)])
        return made.plot(**kwargs)

    def plot(self, *, columns: int = 5, cmap: str = "viridis") -> Self:
        """Draw on a new figure.

        Parameters
        ----------
        columns : int, default=5
            How many images stand beside each other.
        cmap : str, default="viridis"
            A colour map of matplotlib, whose middle stands for 0.
        """
        self.figure_, self.axes_ = new_grid(len(self.images), columns, 1.5, 1.7)
        largest = float(np.abs(self.images).max()) or 1.0
        self.images_ = []
        for ax, image, title in zip(self.axes_, self.images, self.titles, strict=True):
            self.images_.append(ax.imshow(image, cmap=cmap, vmin=-largest, vmax=largest))
            ax.set_axis_off()
            ax.set_title(literal(title), fontsize="medium")
        self.ax_ = self.axes_[0]
        self.colorbar_ = self.figure_.colorbar(self.images_[0], ax=self.axes_, label="weight")
        return self


def _titles(estimator: Any) -> list[str]:
    """Return what the rows of ``coef_`` decide: classes, or one against another."""
    labels = [label_text(label) for label in estimator.classes_]
    reference = getattr(estimator, "reference_", None)
    if reference is not None or len(labels) == 2:
        against = labels[0] if reference is None else label_text(reference)
        return [f"{label} against {against}" for label in labels if label != against]
    if getattr(estimator, "multiclass", None) == "ovo":
        return [f"{b} against {a}" for a, b in combinations(labels, 2)]
    return labels
