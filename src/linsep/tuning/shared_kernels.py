"""Kernel classifiers in folds: the kernel values of all pairs of rows are computed once."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from linsep.cross_validation import LabeledRows, Split, predicted
from linsep.estimators.labels import positive_code
from linsep.kernels.foreign import GramRows, Precomputed
from linsep.learners.kernel import KernelPerceptron
from linsep.learners.support_vectors import HasSupportVectors
from linsep.scoring import Scored

#: most bytes of kernel values in memory
MOST_BYTES = 1 << 30


@dataclass(frozen=True, eq=False)
class KnownRows(Precomputed):
    """Rows given by their numbers among rows whose kernel values are known."""

    takes: ClassVar[str] = "anything"
    values: Any = None

    def prepare(self, X: Any) -> Any:
        """Return the rows of these numbers."""
        return GramRows(self.values, np.asarray(X, dtype=np.int64))


class SharedKernels:
    """Predicts test rows by kernel classifiers, whose kernel values all folds share.

    A model is fitted to all rows, with weight 0 for the test rows. Kernel parameters that depend on
    the data, such as ``gamma="scale"``, use all rows.
    """

    def __init__(self, estimators: Sequence[Any], rows: LabeledRows):
        self._rows, self._size = rows, 8 * rows.size**2
        self._grams: dict[str, np.ndarray] = {}
        self._locks: dict[str, threading.Lock] = {}
        for estimator in estimators:
            if self._may_share(estimator):
                self._locks.setdefault(repr(estimator.chosen_kernel()), threading.Lock())
        if self._size * len(self._locks) > MOST_BYTES:
            self._locks = {}

    def _may_share(self, estimator: Any) -> bool:
        """Return whether an estimator learns from cached values of numeric rows."""
        if not isinstance(estimator, HasSupportVectors) or self._rows.classes is None:
            return False
        if isinstance(estimator, KernelPerceptron):
            once = estimator.max_iter == 1
            if once or estimator.budget is not None or estimator.early_stopping:
                return False
        cached = self._size <= estimator.cache_mb * 1e6
        return cached and estimator.chosen_kernel().takes == "vectors"

    def predict(self, estimator: Any, rows: LabeledRows, split: Split) -> Any:
        """Fit an estimator to the training rows, and return its predictions for the test rows."""
        if rows.classes is None or rows.codes is None:
            return predicted(estimator, rows, split)
        if not self._may_share(estimator) or not self._locks:
            return predicted(estimator, rows, split)
        training, test = split
        weights = np.zeros(rows.size)
        weights[training] = 1.0 if rows.weights is None else rows.weights[training]
        numbers = np.empty(rows.size, dtype=object)
        numbers[:] = range(rows.size)
        gram = self._gram(estimator.chosen_kernel())
        model = estimator.set_params(kernel=KnownRows(values=gram))
        model.fit(numbers, rows.outcomes, sample_weight=weights)
        scores = model.decision_function(numbers[test])
        codes: np.ndarray = np.searchsorted(rows.classes, model.predict(numbers[test]))
        counted = np.ones(test.size) if rows.weights is None else rows.weights[test]
        groups = None if rows.groups is None else rows.groups[test]
        positive = positive_code(model) if rows.classes.size == 2 else 1
        return Scored(
            rows.classes, rows.codes[test], codes, counted, scores, None, groups, positive
        )  # fmt: skip

    def _gram(self, kernel: Any) -> np.ndarray:
        """Return the kernel values of all pairs of rows, which the first thread computes."""
        name = repr(kernel)
        with self._locks[name]:
            if name not in self._grams:
                fitted = kernel.fitted(self._rows.X)
                self._grams[name] = np.ascontiguousarray(fitted(self._rows.X))
            return self._grams[name]
