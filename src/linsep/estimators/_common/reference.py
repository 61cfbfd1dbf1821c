"""Which of two classes is -1: the smaller, or the one that ``reference`` names.

A learner knows classes by their codes, of which 0 is the class that is -1. If the reference is the
larger class, codes and scores are turned where they go in and come out.
"""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from linsep.errors import DataError
from linsep.estimators._common.checking import listed
from linsep.parameters import fitted_parameter


def place_of(reference: Any, classes: np.ndarray) -> int:
    """Return which of two classes the reference is; DataError if it is neither, or for more."""
    if classes.size > 2:
        raise DataError(f"A reference is for two classes, and these rows have {classes.size}.")
    if reference not in classes.tolist():
        raise DataError(
            f"The reference {reference!r} is no class: the classes are {listed(classes.tolist())}."
        )
    return classes.tolist().index(reference)


def is_turned(reference: Any, classes: np.ndarray) -> bool:
    """Return whether the reference is the larger of two sorted classes, which is then -1."""
    return reference is not None and place_of(reference, classes) == 1


def positive_code(model: Any) -> int:
    """Return which of its two classes positive scores by the ``coef_`` of a classifier mean."""
    return int(getattr(model, "reference_", None) != model.classes_.tolist()[1])


def codes_given(model: Any, classes: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return a learner's codes for those of the sorted classes, before the fit."""
    return 1 - codes if is_turned(getattr(model, "reference", None), classes) else codes


class HasReference:
    """Mixin of the online learners, with what is turned if the reference is the larger class."""

    classes_: np.ndarray
    _learnt_with: dict[str, Any]

    @property
    def reference_(self) -> Any:
        """The class that is -1; None for several classes."""
        check_is_fitted(self)
        classes = self.classes_.tolist()
        return classes[int(self._turned)] if len(classes) == 2 else None

    @property
    def _turned(self) -> bool:
        return is_turned(fitted_parameter(self, "reference"), self.classes_)

    def _codes_turned(self, codes: Any) -> Any:
        """Return a learner's codes for those of the sorted classes, or the reverse."""
        return 1 - codes if self._turned else codes

    def _scores_turned(self, scores: np.ndarray) -> np.ndarray:
        """Return scores that are positive for the larger class, for those of the learner."""
        return 0.0 - scores if self._turned else scores

    def _cycle_turned(self, cycle: Any) -> Any:
        """Return the cycle of a run with the classes of its sides."""
        return cycle.turned() if cycle is not None and self._turned else cycle
