"""Labels of classes as numbers, in order of first appearance."""

from collections.abc import Callable
from typing import Any

import numpy as np

from linsep.errors import DataError
from linsep.validation.checks import CONTINUOUS
from linsep.words import row_text

#: limit of the number of classes
MOST_CLASSES = 100_000


class LabelBook:
    """Numbers the labels in order of first appearance.

    Attributes
    ----------
    labels : known labels, in that order
    reference : the class of two that has code 0; None for the smaller
    classes : array of labels in the order of their codes
    codes : int32 array, the code of each number
    """

    def __init__(self, labels: Any = (), reference: Any = None):
        self.labels: list[Any] = list(labels)
        self.reference = reference
        self._sort()

    def _sort(self) -> None:
        labels = np.array(self.labels)
        self._numbers = np.argsort(labels).astype(np.int32)
        self.classes, self.codes = labels[self._numbers], np.argsort(self._numbers).astype(np.int32)
        self._sorted = self.classes
        if len(labels) == 2 and self.classes.tolist()[1] == self.reference:
            self.classes, self.codes = self.classes[::-1], 1 - self.codes

    def numbers(self, y: np.ndarray, where: Callable[[int], str] = row_text) -> np.ndarray:
        """Return the number of each label as int32; new labels get the next numbers.

        Raises DataError for the first invalid label, with its place.
        """
        if y.dtype.kind not in "biufU":  # Python objects
            labels = y.tolist()
            for index, label in enumerate(labels):
                self._check(label, (self.labels or labels)[0], index, where)
            y = np.array(labels)
        if (found := self._look_up(y)) is None:
            self._add(y, where)
            found = self._look_up(y)
        return found

    def _add(self, y: np.ndarray, where: Callable[[int], str]) -> None:
        fresh, first = np.unique(y, return_index=True)
        known = set(self.labels)
        labels = (fresh + 0.0 if fresh.dtype.kind == "f" else fresh).tolist()  # -0.0 is 0.0
        for k in np.argsort(first).tolist():
            if labels[k] in known:
                continue
            self._check(labels[k], (self.labels or labels)[0], int(first[k]), where)
            if len(self.labels) == MOST_CLASSES:
                raise DataError(
                    where(int(first[k])) + ": up to here the labels have more than "
                    f"{MOST_CLASSES:,} different values; a classifier needs few classes, so choose "
                    "another target.", code="class-count",
                )  # fmt: skip
            self.labels.append(labels[k])
        self._sort()

    def _check(self, label: Any, other: Any, index: int, where: Callable[[int], str]) -> None:
        why, text = "", isinstance(other, str)
        if isinstance(label, float) and not label.is_integer():
            why = CONTINUOUS.format(label)
        elif not isinstance(label, str | int | float) or isinstance(label, str) != text:
            why = (
                f"the label {label!r} is of type {type(label).__name__}, an earlier one of type "
                f"{type(other).__name__}; give text, whole numbers or booleans of one type"
            )
        if why:
            raise DataError(where(index) + f": {why}.", code="label-type")

    def _look_up(self, y: np.ndarray) -> Any:
        known = self._sorted
        if not known.size or (known.dtype.kind == "U") != (y.dtype.kind == "U"):
            return None
        ranks = np.searchsorted(known, y)
        ranks[ranks == known.size] = 0
        return self._numbers[ranks] if np.array_equal(known[ranks], y) else None
