"""Rows that a logistic regression is learnt from: checked, with their classes."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import assert_all_finite, column_or_1d, validate_data

from linsep.compiled.rows import as_rows
from linsep.estimators import labels
from linsep.estimators.fitted_classes import FittedClasses
from linsep.regression.likelihood import Batch
from linsep.regression.logistic import MOST_WEIGHTS, Task
from linsep.sparse_rows import as_csr

FLOATS = (np.float64, np.float32)
#: below this share of values that are not zero, they are copied into a CSR matrix
SPARSE = 0.3


class Rows:
    """Rows in memory with what is known of them.

    Parameters
    ----------
    given : X as it was given, with its names
    X : array or CSR matrix
    known : FittedClasses
    codes : array of shape (rows,), the code of the class of each row
    weights : array of shape (rows,), empty where all are 1
    """

    def __init__(
        self, given: Any, X: Any, known: FittedClasses, codes: np.ndarray, weights: np.ndarray
    ):
        self.given, self.X, self.known, self.weights = given, X, known, weights
        self.places = known.places[codes]

    def task(self, model: Any) -> Task:
        """What is to be fitted."""
        q, width = len(self.known.codes) - 1, self.X.shape[1] + bool(model.fit_intercept)
        many = q * width > MOST_WEIGHTS
        seen: Any = as_rows(sp.csr_matrix(self.X) if many and _mostly_zeros(self.X) else self.X)
        batch = Batch(seen, self.places, self.weights)
        n_rows = int((self.weights > 0).sum()) if self.weights.size else len(self.places)
        return Task(
            lambda: [batch], self.X.shape[1], q, self.known.totals, n_rows,
            bool(model.fit_intercept), float(model.l2), model.solver, model.tol,
            int(model.max_iter), len(self.known.order) > 2,
        )  # fmt: skip

    def in_memory(self, task: Task) -> "Rows | None":
        """These rows."""
        return self

    def counted(self) -> np.ndarray:
        """The numbers of the rows whose weight is not 0."""
        return np.flatnonzero(self.weights) if self.weights.size else np.arange(len(self.places))

    def augmented(self, rows: np.ndarray, kept: np.ndarray, intercept: bool) -> np.ndarray:
        """Some columns of some rows as float64, with a 1 at the end where there is an intercept."""
        X = self.X[rows][:, kept]
        X = X.toarray() if sp.issparse(X) else X
        X = X.astype(np.float64)
        return np.column_stack([X, np.ones(len(X))]) if intercept else X


def _mostly_zeros(X: Any) -> bool:
    """Whether dense rows, such as images, are walked faster without their zeros."""
    return not sp.issparse(X) and np.count_nonzero(X) < SPARSE * X.size


def encoded(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Classes and codes; a continuous response is refused, with advice."""
    try:
        return labels.encode(y)
    except ValueError as problem:
        if "continuous" not in str(problem):
            raise
        raise ValueError(
            "Unknown label type: continuous. y holds numbers with fractions, but classes are "
            "wanted: take linsep.LinearRegression, or cut y into classes."
        ) from None


def checked(estimator: Any, X: Any, y: Any) -> tuple[Any, np.ndarray]:
    """X and y as fitting takes them; ValueError where it cannot."""
    if y is None:
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the target y "
            "is None."
        )
    X = validate_data(estimator, as_csr(X), accept_sparse="csr", dtype=FLOATS, order="C")
    y = column_or_1d(y, warn=True)
    if y.dtype.kind == "f":
        assert_all_finite(y, input_name="y")
    if X.shape[0] != y.shape[0]:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {X.shape[0]} "
            f"rows, y has {y.shape[0]}."
        )
    return X, y
