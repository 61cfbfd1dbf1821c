"""Shared code of kernel classifiers: rows of any type, and support vectors."""

import json
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import validate_data

from linsep.compiled.rows import as_rows
from linsep.errors import DataError, ModelFileError, refuse
from linsep.estimators.fitted_state import Array, count
from linsep.estimators.labels import FLOATS
from linsep.kernels.base import Kernel, listed, refuse_text
from linsep.kernels.foreign import GramRows
from linsep.kernels.naming import as_kernel, described, kernel_from_dict
from linsep.learners.online import PredictsOnline
from linsep.validation.checks import as_csr, check_prepared, faults_named


def checked_for_kernel(estimator: Any, kernel: Any, X: Any, *, reset: bool) -> Any:
    """Return X as an array or CSR matrix if its rows are numeric, else as an array of objects."""
    one, numbers = getattr(X, "ndim", 1) == 1, kernel.takes in ("vectors", "gram")
    if kernel.takes == "strings" and not one:
        raise DataError(
            f"X is a table of shape {X.shape}, but {kernel!r} takes a list of strings: pass one "
            "column of it.", code="bad-kernel",
        )  # fmt: skip
    why = "A precomputed Gram matrix must be dense, not sparse: pass X.toarray()."
    refuse(DataError, (kernel.takes == "gram" and sp.issparse(X), why, "bad-kernel", None))
    if numbers and one:
        refuse_text(X, kernel)
    if kernel.takes == "anything":  # a table of numbers, rather than a list of strings or objects
        plain = getattr(getattr(X, "dtype", None), "kind", "O") not in "OSU"
        numbers = plain if one else hasattr(X, "shape") or hasattr(X, "__dataframe__")
    if numbers:
        with faults_named(X, estimator):
            return validate_data(
                estimator, as_csr(X), accept_sparse="csr", dtype=FLOATS, order="C", reset=reset
            )
    rows = listed(X)
    refuse(DataError, (not len(rows), "X has no rows.", "no-rows", None))
    return rows


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

    kernel_: Kernel
    support_: np.ndarray
    _examples: Any
    #: the same in the form of the kernel
    _prepared: Any

    def chosen_kernel(self) -> Kernel:
        return as_kernel(self.kernel, gamma=self.gamma, degree=self.degree, coef0=self.coef0)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        takes = described(self.kernel).takes
        tags.input_tags.pairwise = takes == "gram"
        tags.input_tags.sparse = takes in ("vectors", "anything")
        tags.input_tags.string = takes == "strings"
        return tags

    @property
    def support_vectors_(self) -> Any:
        self.fitted_run()
        return self._examples

    def _support(self, examples: Any, numbers: np.ndarray) -> dict[str, Any]:
        prepared = None
        if self.kernel_.takes == "gram":  # whose rows are not stored
            examples = np.empty((0, 0))
            prepared = GramRows(np.empty((0, self.n_features_in_)), numbers)
        elif numbers.size:
            prepared = self.kernel_.prepare(examples)
        return {"_examples": examples, "_prepared": prepared, "support_": numbers}

    def _rows_to_score(self, X: Any) -> Any:
        check_prepared(self)
        return checked_for_kernel(self, self.kernel_, X, reset=False)

    def machine_scores(self, X: Any, whole: Any) -> np.ndarray:
        if sp.issparse(X):
            X = sp.csr_matrix((X.data, X.indices, X.indptr), (X.shape[0], self.n_features_in_))
            X = X.toarray() if self.kernel_.takes == "gram" else X
        many, parts = self.support_.size, []
        for start in range(0, X.shape[0], at_once := max(1, GRAM_VALUES // max(1, many))):
            some = X[start : start + at_once]
            values = np.empty((some.shape[0], 0))
            if many:
                values = self.kernel_.gram(self.kernel_.prepare(some), self._prepared)
            rows = as_rows(np.ascontiguousarray(values))
            parts.append(self._run.keeping.scores(self._run.state, rows, len(values)))
        return np.concatenate(parts)

    def get_state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        arrays, facts = super().get_state()
        rows, arrays["support.numbers"] = self._examples, self.support_
        facts["kernel"] = self.kernel_.to_dict()
        if hasattr(self, "support_positions_"):
            arrays["support.positions"] = self.support_positions_
        if sp.issparse(rows):
            parts = {"values": rows.data, "columns": rows.indices, "starts": rows.indptr}
            arrays |= {f"support.{name}": part for name, part in parts.items()}
        elif rows.dtype != object:
            arrays["support.rows"] = rows
        else:
            kind = "bytes" if len(rows) and isinstance(rows[0], bytes) else "str"
            plain = [row.decode("latin-1") if kind == "bytes" else row for row in rows]
            if not all(isinstance(row, str) for row in plain):
                raise ModelFileError(
                    "Only support vectors of numbers or strings can be saved.", code="unsupported"
                )
            arrays["support.text"] = np.frombuffer(json.dumps({kind: plain}).encode(), np.uint8)
        return arrays, facts

    def set_state(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        super().set_state(arrays, facts)
        self.__dict__.pop("n_features_in_", None)
        self.kernel_ = kernel_from_dict(facts["kernel"])
        many, width = self._run.state.n_features, facts["features"]
        if width is not None:
            self.n_features_in_ = count(width, 1)
        rows: Any = arrays.get("support.rows")
        if "support.text" in arrays:
            ((kind, texts),) = json.loads(arrays["support.text"].tobytes()).items()
            rows = listed([text.encode("latin-1") if kind == "bytes" else text for text in texts])
        elif "support.values" in arrays:
            parts = (arrays[f"support.{name}"] for name in ("values", "columns", "starts"))
            rows = sp.csr_matrix(tuple(parts), shape=(many, width))
            rows.check_format()
        gram, shapes = self.kernel_.takes == "gram", ((many,), (many, width))
        if not gram and (rows.shape not in shapes or rows.dtype not in (*FLOATS, object)):
            raise ValueError(f"support vectors of {rows.dtype} {rows.shape}")
        numbers = Array("many", np.int64).checked("support.numbers", arrays, {"many": many})
        self.__dict__.update(self._support(rows, numbers))
        if "support.positions" in arrays:
            self.support_positions_ = arrays["support.positions"]
