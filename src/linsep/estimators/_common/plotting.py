"""The method ``plot`` of the classifiers."""

from typing import Any

from sklearn.utils.validation import check_is_fitted

from linsep.drawing import display


class PlotsDecision:
    """Mixin of classifiers without probabilities."""

    classes_: Any
    n_features_in_: int

    def plot(self, X: Any, y: Any = None, *, ax: Any = None, **kwargs: Any) -> Any:
        """Draw the regions of the classes and rows; a single feature with the constant one.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, features)
        y : array of shape (rows,), default None
            The classes, to show mistakes; needed for one feature.
        ax : matplotlib Axes, default None
            Where to draw; None makes a new figure.
        **kwargs : passed to ``from_estimator`` of the picture

        Returns
        -------
        linsep.plot.AugmentationDisplay
            For a linear classifier of two classes and one feature.
        linsep.plot.DecisionDisplay
            Else.
        """
        check_is_fitted(self)
        one = getattr(self, "n_features_in_", 0) == 1 and len(self.classes_) == 2
        name = "AugmentationDisplay" if one and hasattr(self, "coef_") else "DecisionDisplay"
        return display(name).from_estimator(self, X, y, ax=ax, **kwargs)


class PlotsProbability:
    """Mixin of classifiers with probabilities."""

    classes_: Any
    n_features_in_: int

    def plot(self, X: Any, y: Any, *, ax: Any = None, **kwargs: Any) -> Any:
        """Draw the probability of a class, and rows; or the regions of the classes.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, features)
        y : array of shape (rows,)
            The classes.
        ax : matplotlib Axes, default None
            Where to draw; None makes a new figure.
        **kwargs : passed to ``from_estimator`` of the picture

        Returns
        -------
        linsep.plot.LogisticDisplay
            For two classes and one or two features.
        linsep.plot.DecisionDisplay
            Else.
        """
        check_is_fitted(self)
        few = len(self.classes_) == 2 and self.n_features_in_ <= 2
        name = "LogisticDisplay" if few else "DecisionDisplay"
        return display(name).from_estimator(self, X, y, ax=ax, **kwargs)
