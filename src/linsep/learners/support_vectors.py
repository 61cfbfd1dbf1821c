"""Shared code of kernel classifiers: rows of any type, and support vectors."""

import json
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from linsep.compiled.rows import as_rows
from linsep.errors import DataError, ModelFileError
from linsep.estimators._common.fitted_state import Array
from linsep.estimators._common.labels import FLOATS
from linsep.kernels.base import Kernel, listed, refuse_text
from linsep.kernels.naming import as_kernel, described, kernel_from_dict
from linsep.learners.predicting import PredictsOnline, numbered, numbered_texts
from linsep.validation.sparse import as_csr
from linsep.validation.values import check_prepared, faults_named


def checked_for_kernel(estimator: Any, kernel: Any, X: Any, *, reset: bool) -> Any:
    """Return X as an array or CSR matrix if its rows are numeric, else as an array of objects."""
    if kernel.takes in ("vectors", "gram") and getattr(X, "ndim", 1) == 1:
        refuse_text(X, kernel)
    if kernel.takes == "strings" and getattr(X, "ndim", 1) != 1:
        raise DataError(
            f"X is a table of shape {X.shape}, but {kernel!r} takes a list of strings: pass one "
            f"column of it.",
            code="bad-kernel",
        )
    if kernel.takes in ("vectors", "gram") or (kernel.takes == "anything" and _is_table(X)):
        if kernel.takes == "gram" and sp.issparse(X):
            raise DataError(
                "A precomputed Gram matrix must be dense, not sparse: pass X.toarray().",
                code="bad-kernel",
            )
        with faults_named(X, estimator):
            return validate_data(
                estimator, as_csr(X), accept_sparse="csr", dtype=FLOATS, order="C", reset=reset
            )
    rows = listed(X)
    if not len(rows):
        raise DataError("X has no rows.", code="no-rows")
    return rows


def _is_table(X: Any) -> bool:
    """Return whether X is a table of numbers rather than a list of strings or objects."""
    if getattr(X, "ndim", 0) == 1 and not sp.issparse(X):
        return getattr(getattr(X, "dtype", None), "kind", "") not in "OSU"
    return hasattr(X, "shape") or hasattr(X, "__dataframe__")


#: number of kernel values computed at once to score rows
GRAM_VALUES = 1 << 24


class HasSupportVectors(PredictsOnline, ClassifierMixin, BaseEstimator):
    """Base class of a classifier whose features are its examples, represented by kernel values: it
    has the parameters of a kernel, and its run holds the examples with a weight.
    """

    kernel: Any
    degree: int
    gamma: Any
    coef0: float

    _examples: Any
    #: the examples in the form of the kernel; None if there are none
    _prepared: Any
    kernel_: Kernel
    support_: np.ndarray
    #: the same among the rows that were read, which pictures draw
    support_positions_: np.ndarray

    def chosen_kernel(self) -> Kernel:
        """Return the unfitted kernel that the parameters describe."""
        return as_kernel(self.kernel, gamma=self.gamma, degree=self.degree, coef0=self.coef0)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        kernel = described(self.kernel)
        tags.input_tags.pairwise = kernel.takes == "gram"
        tags.input_tags.sparse = kernel.takes in ("vectors", "anything")
        tags.input_tags.string = kernel.takes == "strings"
        return tags

    @property
    def support_vectors_(self) -> Any:
        """The support vectors; empty for a precomputed Gram matrix."""
        self.fitted_run()
        return np.empty((0, 0)) if self.kernel_.takes == "gram" else self._examples

    def __getstate__(self) -> dict[str, Any]:
        """Omit the prepared examples."""
        stored: Any = super().__getstate__()
        return {name: value for name, value in stored.items() if name != "_prepared"}

    def __setstate__(self, stored: dict[str, Any]) -> None:
        super().__setstate__(stored)
        if "_examples" in stored and self.kernel_.takes != "gram":
            self._prepare_examples()

    def _prepare_examples(self) -> None:
        some = self._examples.shape[0] > 0
        self._prepared = self.kernel_.prepare(self._examples) if some else None

    def _rows_to_score(self, X: Any) -> Any:
        check_is_fitted(self)
        check_prepared(self)
        return checked_for_kernel(self, self.kernel_, X, reset=False)

    def _numbered(self, X: Any) -> np.ndarray:
        if X.ndim > 1:
            return numbered(X, X.shape[1])
        if all(isinstance(row, str | bytes) for row in X):
            return numbered_texts(X)
        return numbered(self._kernel_values(X), self.support_.size)

    def _kernel_values(self, X: Any) -> np.ndarray:
        if not self.support_.size:
            return np.empty((X.shape[0], 0))
        if self.kernel_.takes == "gram":
            return X[:, self.support_].astype(np.float64, copy=False)
        return self.kernel_.gram(self.kernel_.prepare(X), self._prepared)

    def machine_scores(self, X: Any, whole: Any) -> np.ndarray:
        if sp.issparse(X) and X.shape[1] < self.n_features_in_:
            X = X.copy()
            X.resize(X.shape[0], self.n_features_in_)
        if sp.issparse(X) and self.kernel_.takes == "gram":  # from a source
            X = X.toarray()
        at_once, parts = max(1, GRAM_VALUES // max(1, self.support_.size)), []
        for start in range(0, X.shape[0], at_once):
            gram = np.ascontiguousarray(self._kernel_values(X[start : start + at_once]))
            parts.append(self._run.keeping.scores(self._run.state, as_rows(gram), len(gram)))
        return np.concatenate(parts)


def supports_of(model: HasSupportVectors) -> dict[str, np.ndarray]:
    """Return the numbers of the support vectors and their rows."""
    rows, found = model.support_vectors_, {"support.numbers": model.support_}
    if "support_positions_" in vars(model):
        found["support.positions"] = model.support_positions_
    if sp.issparse(rows):
        parts = {"values": rows.data, "columns": rows.indices, "starts": rows.indptr}
        return found | {f"support.{name}": part for name, part in parts.items()}
    if rows.dtype != object:
        return found | {"support.rows": rows}
    plain = [row.decode("latin-1") if isinstance(row, bytes) else row for row in rows]
    if not all(isinstance(row, str) for row in plain):
        raise ModelFileError(
            "Only support vectors of numbers or strings can be saved.", code="unsupported"
        )
    kind = "bytes" if len(rows) and isinstance(rows[0], bytes) else "str"
    text = json.dumps({kind: plain}).encode()
    return found | {"support.text": np.frombuffer(text, np.uint8)}


def restore_supports(
    model: HasSupportVectors, arrays: dict[str, np.ndarray], kernel: dict[str, Any],
    width: int | None,
) -> None:  # fmt: skip
    """Restore kernel and support vectors of a model with a state; ValueError if inconsistent."""
    many = model._run.state.n_features
    model.kernel_ = kernel_from_dict(kernel)
    sizes = {"many": many, "width": -1 if width is None else width}
    numbers = Array("many", np.int64).checked("support.numbers", arrays, sizes)
    positions = Array("many", np.int64, optional=True).checked("support.positions", arrays, sizes)
    if "support.text" in arrays:
        ((kind, texts),) = json.loads(arrays["support.text"].tobytes()).items()
        rows: Any = listed([text.encode("latin-1") if kind == "bytes" else text for text in texts])
    elif "support.values" in arrays:
        parts = (arrays[f"support.{name}"] for name in ("values", "columns", "starts"))
        rows = sp.csr_matrix(tuple(parts), shape=(many, width))
        rows.check_format()
    elif model.kernel_.takes == "gram":
        rows = np.empty((many, 0))
    else:
        kind = np.float32 if arrays["support.rows"].dtype == np.float32 else np.float64
        rows = Array("many, width", kind).checked("support.rows", arrays, sizes)
    if rows.shape[0] != many:
        raise ValueError(f"{rows.shape[0]} support vectors for {many} weights")
    model.support_, model._examples = numbers, rows
    model.support_positions_ = numbers if positions is None else positions
    if model.kernel_.takes != "gram":
        model._prepare_examples()
