"""Rows that a logistic regression is learnt from: checked, with their classes."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import assert_all_finite, column_or_1d, validate_data

from linsep.compiled.rows import as_rows
from linsep.estimators import labels
from linsep.regression.likelihood import Batch
from linsep.regression.logistic import MOST_WEIGHTS, Task

FLOATS = (np.float64, np.float32)
#: below this share of values that are not zero, they are copied into a CSR matrix
SPARSE = 0.3


class Rows:
    """Rows in memory with what is known of them.

    Parameters
    ----------
    given : X as it was given, with its names
    X : array or CSR matrix
    classes, codes : labels, and the code of each row
    places : the place of each row's class in ``order``
    weights : array of shape (rows,), empty where all are 1
    order : class codes, that of the reference last
    """

    def __init__(
        self, given: Any, X: Any, classes: np.ndarray, codes: np.ndarray, places: np.ndarray,
        weights: np.ndarray, order: list[int],
    ):  # fmt: skip
        self.given, self.X, self.classes, self.codes = given, X, classes, codes
        self.places, self.weights, self.order = places, weights, order

    def task(self, model: Any) -> Task:
        """What is to be fitted."""
        totals = np.bincount(self.places, self.weights if self.weights.size else None)
        totals = np.pad(totals.astype(np.float64), (0, len(self.order) - len(totals)))
        refuse_weightless(totals, self.classes, self.order)
        q, width = len(self.order) - 1, self.X.shape[1] + bool(model.fit_intercept)
        many = q * width > MOST_WEIGHTS
        seen: Any = as_rows(sp.csr_matrix(self.X) if many and _mostly_zeros(self.X) else self.X)
        batch = Batch(seen, self.places, self.weights)
        n_rows = int((self.weights > 0).sum()) if self.weights.size else len(self.places)
        return Task(
            lambda: [batch], self.X.shape[1], len(self.order) - 1, totals, n_rows,
            bool(model.fit_intercept), float(model.l2), model.solver, float(model.tol),
            int(model.max_iter),
        )  # fmt: skip

    def in_memory(self, task: Task) -> "Rows | None":
        """These rows."""
        return self

    def counted(self) -> np.ndarray:
        """The numbers of the rows whose weight is not 0."""
        return np.flatnonzero(self.weights) if self.weights.size else np.arange(len(self.codes))

    def augmented(self, rows: np.ndarray, kept: np.ndarray, intercept: bool) -> np.ndarray:
        """Some columns of some rows as float64, with a 1 at the end where there is an intercept."""
        X = self.X[rows][:, kept]
        X = X.toarray() if sp.issparse(X) else X
        X = X.astype(np.float64)
        return np.column_stack([X, np.ones(len(X))]) if intercept else X


def _mostly_zeros(X: Any) -> bool:
    """Whether dense rows, such as images, are walked faster without their zeros."""
    return not sp.issparse(X) and np.count_nonzero(X) < SPARSE * X.size


def refuse_weightless(totals: np.ndarray, classes: np.ndarray, order: list[int]) -> None:
    """Raise ValueError where the rows of a class, in this order, count nothing."""
    if not (totals > 0).all():
        label = classes.tolist()[order[int(np.argmin(totals))]]
        raise ValueError(f"All rows of class {label!r} have weight 0: leave the class out.")


def separation_sentence(kind: str, limits: dict[str, str]) -> str:
    """What is said of data whose likelihood has no maximum."""
    shown = [
        f"{name} ({word})" for name, word in limits.items() if word not in ("finite", "dependent")
    ]
    listed = ", ".join(shown[:8]) + (", ..." if len(shown) > 8 else "")
    finite = sum(word == "finite" for word in limits.values())
    rest = f"; the other {finite} are finite" if finite else ""
    return (
        f"The data are {kind}, so the likelihood has no maximum: it grows for ever as these "
        f"coefficients run away: {listed}{rest}"
    )


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
    X = validate_data(estimator, X, accept_sparse="csr", dtype=FLOATS, order="C")
    y = column_or_1d(y, warn=True)
    if y.dtype.kind == "f":
        assert_all_finite(y, input_name="y")
    if X.shape[0] != y.shape[0]:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {X.shape[0]} "
            f"rows, y has {y.shape[0]}."
        )
    return X, y
