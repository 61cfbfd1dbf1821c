"""Classes of a probabilistic model: those with a row of positive weight are fitted."""

from typing import Any

import numpy as np

from linsep.errors import DataError

#: value of ``limits_`` for the weights of a class without weight
NO_WEIGHT = "no weight"
#: limit of a coefficient that diverges, if the work limit ended before its sign was found
UNSIGNED = "sign not checked"
#: what the weights of all rows add up to at least, so that curvatures and their inverses are finite
LEAST_WEIGHT = 1e-200


class FittedClasses:
    """Classes with weight, in the order of a logistic regression.

    The others stay among the labels, with probability 0.

    Parameters
    ----------
    classes : all labels, sorted
    order : the codes of all classes, that of the reference last
    totals : array of shape (classes,), the summed row weights of each

    Attributes
    ----------
    order : as given; with several classes, a reference without weight is replaced by the last class
        with weight
    codes : the codes of the classes with weight, that of the reference last
    labels, totals : labels and summed weights of these, in this order
    places : int32 array of shape (classes,), the index of each class in ``codes``; 0 for a class
        without weight, whose rows are ignored
    """

    def __init__(self, classes: np.ndarray, order: list[int], totals: np.ndarray):
        counted = totals > 0
        if not counted.any():
            raise DataError("No row is left to learn from: all have weight 0.")
        if totals.sum() < LEAST_WEIGHT:
            raise DataError(
                f"The weights of all rows add up to {totals.sum():.3g}, too little for floating "
                "point: divide the weights by the largest."
            )
        if len(order) > 2 and not counted[order[-1]]:
            last = int(np.flatnonzero(counted)[-1])
            order = [*(code for code in sorted(order) if code != last), last]
        self.classes, self.order = classes, order
        self.codes = [code for code in order if counted[code]]
        self.labels, self.totals = classes[self.codes], totals[self.codes]
        self.places = np.zeros(classes.size, dtype=np.int32)
        self.places[self.codes] = np.arange(len(self.codes))

    @property
    def complete(self) -> bool:
        """Whether every class has weight."""
        return len(self.codes) == len(self.order)

    @property
    def ranks(self) -> list[int]:
        """The codes, renumbered among the classes with weight."""
        return np.argsort(np.argsort(self.codes)).tolist()

    @property
    def _rows(self) -> list[int]:
        """Indices of the fitted rows of weights in a model of all classes."""
        known = set(self.codes)
        return [r for r, code in enumerate(self.order[:-1]) if {code, self.order[-1]} <= known]

    def wide(self, part: np.ndarray, rest: Any) -> np.ndarray:
        """Return ``part``, shape (fitted rows, width), with ``rest`` in all other rows."""
        found = np.full((len(self.order) - 1, part.shape[1]), rest, dtype=part.dtype)
        found[self._rows] = part
        return found

    def wide_square(self, part: np.ndarray, width: int) -> np.ndarray:
        """Return a covariance of the fitted weights, with zeros for all other weights."""
        q, rows = len(self.order) - 1, self._rows
        found = np.zeros((q, width, q, width))
        shape = len(rows), width, len(rows), width
        found[np.ix_(rows, range(width), rows, range(width))] = part.reshape(shape)
        return found.reshape(q * width, q * width)

    def intercepts(self, fitted: np.ndarray) -> np.ndarray:
        """Return the intercepts of all classes, infinite for classes of probability 0.

        Parameters
        ----------
        fitted : array of shape (fitted rows,)

        Returns
        -------
        array of shape (classes - 1,): -inf for a class without weight, +inf against a reference
        without weight (of two classes)
        """
        rest = -np.inf if self.order[-1] in self.codes else np.inf
        return self.wide(fitted[:, None], rest)[:, 0]
