"""Labels as they turn up in a stream: numbered by first appearance, sorted into classes."""

from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from linsep.errors import DataError

MOST_CLASSES = 100_000


class LabelBook:
    """Gives every label a number, in order of first appearance.

    Parameters
    ----------
    labels : labels known beforehand, in that order
    """

    def __init__(self, labels: Any = ()):
        self.labels: list[Any] = list(labels)
        self._sort()

    def _sort(self) -> None:
        self.classes = np.array(sorted(self.labels))
        #: class code (rank) of each number
        self.codes = np.array(
            np.argsort(np.argsort(np.array(self.labels))) if self.labels else [], dtype=np.int32
        )
        self._numbers = np.argsort(self.codes).astype(np.int32)

    def numbers(self, y: np.ndarray) -> np.ndarray:
        """Number of each label, int32; labels not seen before get the next numbers."""
        found = self._look_up(y)
        if found is None:
            fresh, first = np.unique(y, return_index=True)
            known = set(self.labels)
            order = np.argsort(first)
            self.labels += [label for label in fresh[order].tolist() if label not in known]
            if len(self.labels) > MOST_CLASSES:
                raise DataError(
                    f"The labels have more than {MOST_CLASSES:,} different values; a classifier "
                    "learns a few classes, so choose another target column."
                )
            check_classification_targets(np.array(self.labels))
            self._sort()
            found = self._look_up(y)
            assert found is not None
        return found

    def _look_up(self, y: np.ndarray) -> np.ndarray | None:
        if not self.classes.size:
            return None
        ranks = np.searchsorted(self.classes, y)
        ranks[ranks == self.classes.size] = 0
        return self._numbers[ranks] if np.array_equal(self.classes[ranks], y) else None
