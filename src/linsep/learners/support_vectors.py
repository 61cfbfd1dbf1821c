"""Support vectors of a kernel classifier and their weights."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted, validate_data

from linsep.background import elsewhere
from linsep.checkpoints.saving import Saving
from linsep.compiled.core.row_arrays import as_rows
from linsep.errors import DataError
from linsep.estimators._common.checking import check_two_classes
from linsep.interrupts import held, window
from linsep.kernels.base import Kernel
from linsep.kernels.naming import described
from linsep.kernels.rows import listed, refuse_text
from linsep.learners.deciding import numbered, numbered_texts
from linsep.learners.from_source import knows_all_rows
from linsep.learners.keeping import KeepLast
from linsep.learners.predicting import Predicts
from linsep.learnt import check_prepared
from linsep.sources.base import Source
from linsep.sparse_rows import as_csr
from linsep.value_faults import faults_named

FLOATS = (np.float64, np.float32)


def checked(estimator: Any, kernel: Any, X: Any, *, reset: bool) -> Any:
    """Return X as an array or CSR matrix if its rows are numeric, else as an array of objects.

    Raises
    ------
    DataError, ValueError
        If X has NaN, infinity, another number of features than in fit or no rows, or is not of the
        type the kernel takes.
    """
    if kernel.takes in ("vectors", "gram") and getattr(X, "ndim", 1) == 1:
        refuse_text(X, kernel)
    if kernel.takes == "strings" and getattr(X, "ndim", 1) != 1:
        raise DataError(
            f"X is a table of shape {X.shape}, but {kernel!r} takes a list of strings: give one "
            "column of it."
        )
    if kernel.takes in ("vectors", "gram") or (kernel.takes == "anything" and _is_table(X)):
        if kernel.takes == "gram" and sp.issparse(X):
            raise DataError(
                "A precomputed Gram matrix must be dense, not sparse: give X.toarray()."
            )
        if not reset:
            check_prepared(estimator, X)
        with faults_named(X, estimator):
            return validate_data(
                estimator, as_csr(X), accept_sparse="csr", dtype=FLOATS, order="C", reset=reset
            )
    rows = listed(X)
    if not len(rows):
        raise DataError("X has no rows to learn from or to score.")
    return rows


def _is_table(X: Any) -> bool:
    """Return whether X is a table of numbers rather than a list of strings or objects."""
    if getattr(X, "ndim", 0) == 1 and not sp.issparse(X):
        return getattr(getattr(X, "dtype", None), "kind", "") not in "OSU"
    return hasattr(X, "shape") or hasattr(X, "__dataframe__")


def joined(first: Any, second: Any) -> Any:
    """Return the rows of both, concatenated."""
    if sp.issparse(first) or sp.issparse(second):
        return sp.vstack([first, second], format="csr")
    return np.concatenate([first, second])


#: number of kernel values computed at once to score rows
GRAM_VALUES = 1 << 24


class Supported(Predicts):
    """Support vectors as attributes, and scores by kernel values with them.

    ``_examples`` are the rows with a weight; during fit all training rows.
    """

    kernel_: Kernel
    _prepared: Any
    support_: np.ndarray
    _examples: Any
    _rows_seen: int
    n_features_in_: int

    @property
    def dual_coef_(self) -> np.ndarray:
        """Weights of the support vectors used to predict (with ``keep="vote"`` the last version),
        shape (1, support vectors) for two classes, else one row per class (or pair).
        """
        state = self._fitted()
        return state.split(self._keeping.weights(state))[0]

    @property
    def support_vectors_(self) -> Any:
        """The support vectors; empty for a precomputed Gram matrix."""
        self._fitted()
        return np.empty((0, 0)) if self.kernel_.takes == "gram" else self._examples

    @property
    def stop_sentence_(self) -> str:
        """Why the run ended, in one sentence; known after fit, not partial_fit."""
        return super().stop_sentence_.replace("separation(X, y)", "separation(K=K, y=y)")

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the prepared examples."""
        stored: Any = super().__getstate__()
        return {name: value for name, value in stored.items() if name != "_prepared"}

    def __setstate__(self, stored: dict[str, Any]) -> None:
        super().__setstate__(stored)  # type: ignore[misc]
        if "_examples" in stored and self.kernel_.takes != "gram":
            self._prepare_examples()

    def _prepare_examples(self) -> None:
        """Prepare the examples for the kernel; None if there are none."""
        some = self._examples.shape[0] > 0
        self._prepared = self.kernel_.prepare(self._examples) if some else None

    def _add(self, rows: Any, numbers: np.ndarray) -> None:
        """Append these rows, with weight zero."""
        alone = not self._examples.shape[0]
        self._examples = rows if alone else joined(self._examples, rows)
        self._prepare_examples()
        if self.kernel_.takes == "gram":  # the prepared matrix suffices
            self._examples = np.empty((numbers.size, 0))
        self.support_ = np.concatenate([self.support_, numbers])
        self._rows_seen = int(numbers[-1]) + 1 if numbers.size else self._rows_seen
        self._state.grow(self._state.n_features + numbers.size)

    @contextmanager
    def _forgetting(self) -> Iterator[None]:
        """Context manager that drops the rows without a weight in the end."""
        try:
            yield
        finally:
            if hasattr(self, "_state"):
                self._select(self._keeping.features_in_use(self._state), self._keeping)

    def _select(self, used: np.ndarray, keeping: KeepLast) -> None:
        keeping.select(self._state, used)
        self._examples, self.support_ = self._examples[used], self.support_[used]
        if self.kernel_.takes == "gram":
            del self._prepared  # which is the whole matrix
        elif self._prepared is not None:
            self._prepared = self._prepared[used]

    def _snapshot(self) -> dict[str, Any]:
        """Return the attributes of a copy that predicts as if fit had ended here."""
        attributes = super()._snapshot()  # type: ignore[misc]
        used = attributes["_keeping"].features_in_use(attributes["_state"])
        attributes["_keeping"].select(attributes["_state"], used)
        names = ["_examples", "support_"] + ["_prepared"] * (self.kernel_.takes != "gram")
        mine = {name: getattr(self, name)[used] for name in names}
        return attributes | mine | {"kernel_": self.kernel_}

    def _rows_to_score(self, X: Any) -> Any:
        check_is_fitted(self)
        return checked(self, self.kernel_, X, reset=False)

    def _numbered(self, X: Any) -> np.ndarray:
        """Hash numeric rows by their values, strings by their characters and other objects by
        their kernel values.
        """
        if X.ndim > 1:
            return numbered(X, X.shape[1])
        if all(isinstance(row, str | bytes) for row in X):
            return numbered_texts(X)
        return numbered(self._kernel_values(X), self.support_.size)

    def _kernel_values(self, X: Any) -> np.ndarray:
        """Return kernel values, shape (rows, support vectors)."""
        if not self.support_.size:
            return np.empty((X.shape[0], 0))
        if self.kernel_.takes == "gram":
            return X[:, self.support_].astype(np.float64, copy=False)
        return self.kernel_.gram(self.kernel_.prepare(X), self._prepared)

    def _machine_scores(self, X: Any, whole: Any) -> np.ndarray:
        if sp.issparse(X) and X.shape[1] < self.n_features_in_:
            X = X.copy()
            X.resize(X.shape[0], self.n_features_in_)
        if sp.issparse(X) and not self.kernel_.sparse:  # from a source; arrays have been checked
            X = X.toarray()
        at_once = max(1, GRAM_VALUES // max(1, self.support_.size))
        parts = [self._block_scores(X[k : k + at_once]) for k in range(0, X.shape[0], at_once)]
        return np.concatenate(parts)

    def _block_scores(self, X: Any) -> np.ndarray:
        gram = self._kernel_values(X)
        rows = as_rows(np.ascontiguousarray(gram))
        return self._keeping.scores(self._state, rows, len(gram))


def whole(source: Source) -> tuple[Any, np.ndarray, np.ndarray | None, np.ndarray | None]:
    """Return all rows of a source as one array or CSR matrix, their labels, weights and groups."""
    parts: list[Any] = []
    labels: list[Any] = []
    more: list[Any] = []
    for batch in elsewhere(source.batches()):
        parts.append(batch.X)
        labels.append(batch.y)
        more.append(batch[3:])
    own = [None if c[-1] is None else np.concatenate(c) for c in zip(*more, strict=True)]
    width = parts[-1].shape[1]
    if not any(sp.issparse(part) for part in parts):
        wide = [np.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in parts]
        return np.concatenate(wide), np.concatenate(labels), own[0], own[1]
    for part in parts:
        part.resize(part.shape[0], width)
    return sp.vstack(parts, format="csr"), np.concatenate(labels), own[0], own[1]


def fit_source(estimator: Any, source: Source, saving: Saving) -> None:
    """Fit ``estimator`` to a source; also sets ``recipe_`` and the training accuracy."""
    started = perf_counter()
    estimator.training_accuracy_ = None
    with held():
        X, y, weights, estimator._groups = whole(source)
        if sp.issparse(X) and not described(estimator.kernel).sparse:
            X = X.toarray()
        reading = perf_counter() - started
        check_two_classes(np.unique(y), source.name)
        try:
            with window():
                estimator._fit_rows(X, y, weights, saving)
            estimator.progress_.stage = "measuring"
            with window():
                # Before feature names are set, because X is an array without names.
                clean = knows_all_rows(estimator)
                estimator.training_accuracy_ = 1.0 if clean else estimator.score(X, y, weights)
            estimator.training_rows_, estimator.training_sampled_ = len(y), False
            totals = np.bincount(np.unique(y, return_inverse=True)[1], weights)
            estimator.training_baseline_ = float(totals.max() / (totals.sum() or 1.0))
        finally:
            del estimator._groups
            if hasattr(estimator, "progress_"):
                estimator.progress_.reading += reading
            if hasattr(estimator, "_state"):
                _describe(estimator, source)


def _describe(estimator: Any, source: Source) -> None:
    """Set ``recipe_`` and the feature names."""
    estimator.recipe_ = source.recipe()
    estimator.__dict__.pop("feature_names_in_", None)
    if source.feature_names:
        estimator.feature_names_in_ = np.array(source.feature_names, dtype=object)
