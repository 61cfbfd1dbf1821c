"""Margins: signed distances of rows from the boundary of any linear classifier."""

from itertools import combinations
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import row_norms

from linsep.certificate.canonical import check_labels, exact_rows, same_as_doubles
from linsep.errors import DataError
from linsep.parameters import fitted_parameter
from linsep.validation.checks import check_beside, check_columns, labels_of
from linsep.words import row_text


class Margins(NamedTuple):
    """The margin of every row, in the order of ``rows``; sorted, it is the margin curve."""

    rows: np.ndarray


def functional_margin(estimator: Any, X: Any, y: Any) -> float:
    """Return the functional margin, the smallest ``y (<w, x> + b)``: a score, not a distance.

    Parameters
    ----------
    estimator : fitted linear classifier of any library, or array of weights of shape (features,)
        Only ``coef_``, ``intercept_`` and ``classes_`` of an estimator are used (for linsep
        estimators also ``normalize``, the pairs of classes, and the reference class).
    X : array, sparse matrix or data frame of shape (rows, features)
    y : array of shape (rows,)
        With two classes, the larger is the positive side. With several classes, the margin of a row
        is the score of its class minus the highest other score; for one-vs-one the smallest signed
        score among the binary classifiers of its class.

    Returns
    -------
    float
        Negative if a row is misclassified, zero if a row lies on the boundary.

    Raises
    ------
    DataError
        If the estimator is not linear or not fitted, for labels that are not its classes, columns
        with other names, NaN, infinity, and X and y of different lengths.
    """
    return float(_margins(estimator, X, y, lambda W: np.ones(len(W))).min())


def geometric_margin(estimator: Any, X: Any, y: Any) -> float:
    """Return the geometric margin, the smallest ``y (<w, x> + b) / ||w||``, of the arguments of
    :func:`linsep.functional_margin`.

    It is the distance of the nearest row from the boundary, or if rows are misclassified, minus the
    largest of theirs. Two classes with identical weights have margin 0; zero weights with an
    intercept have an infinite margin.

    Examples
    --------
    >>> geometric_margin([1, 0], [[1, -1], [-1, -1], [0.05, 0], [-1, 0]], [1, 1, 1, -1])
    -1.0
    """
    return float(margin_distribution(estimator, X, y).rows.min())


def cosine_margin(estimator: Any, X: Any, y: Any) -> float:
    """Return the cosine margin, the smallest ``y <w, z> / (||w|| ||z||)``, of the arguments of
    :func:`linsep.functional_margin`.

    It is the margin, from -1 to 1, of rows scaled to length 1 (A. Blum, Machine Learning Theory,
    15-859B, lecture 4, 2014). With an intercept, z = [x; 1] and it is the last weight of w. A row
    of zeros has margin 0.
    """
    return float(_margins(estimator, X, y, row_norms, row_norms).min())


def l1_margin(estimator: Any, X: Any, y: Any) -> float:
    """Return the L1 margin, the smallest ``y <w, z> / (sum |w_j| max |z_j|)``, from -1 to 1, of
    bounds of multiplicative updates, with z as for :func:`linsep.cosine_margin`.

    Examples
    --------
    >>> l1_margin([1, 1, 0], [[1, 1, 1], [0, -2, 1]], [1, -1])
    0.5
    """
    return float(_margins(
        estimator, X, y, lambda W: np.abs(W).sum(axis=1),
        lambda Z: np.ravel(sp.csr_matrix(abs(Z)).max(axis=1).toarray()),
    ).min())  # fmt: skip


def margin_distribution(estimator: Any, X: Any, y: Any) -> Margins:
    """Return the :func:`linsep.geometric_margin` of every row."""
    return Margins(_margins(estimator, X, y, lambda W: row_norms(W[:, :-1])))


def unsigned_margin(estimator: Any, X: Any) -> float:
    """Return the smallest ``|<w, x> + b| / ||w||`` for two classes, else DataError."""
    model = linear_of(estimator)
    if len(model.classes) != 2:
        raise DataError("A margin without labels needs two classes.", code="class-count")
    return float(np.abs(margin_distribution(model, X, None).rows).min())


def _margins(estimator: Any, X: Any, y: Any, size: Any, tall: Any = lambda Z: 1.0) -> np.ndarray:
    """Return the smallest score of each row (as of the first class, without ``y``) among the
    boundaries of its class, divided by the sizes of the weights, the intercept last, and the row.
    """
    model = linear_of(estimator, y)
    check_beside(X, y=y)
    X = model.rows(X)
    n = X.shape[0]
    codes = np.zeros(n, dtype=int) if y is None else codes_of(y, model.classes, n)
    long = np.broadcast_to(tall(augmented(X) if model.fit_intercept else X), codes.shape)
    margins = np.empty(len(codes))
    for code in np.unique(codes):
        own, W = codes == code, model.against(code)
        scores = X[own] @ W[:, :-1].T + W[:, -1]
        with np.errstate(divide="ignore", invalid="ignore"):
            quotients = scores / (size(W) * long[own, None])
        margins[own] = np.where(scores == 0, 0.0, quotients).min(axis=1)
    return margins


class Linear(NamedTuple):
    """Weights, the intercept last, of every class (the first of two has zeros), or with ``pairs``
    of every pair of classes, (0, 1), (0, 2), ..., (1, 2), ..., the second positive.
    """

    weights: np.ndarray
    classes: np.ndarray
    fit_intercept: bool
    unit: bool = False
    pairs: bool = False
    model: Any = None

    def rows(self, X: Any) -> Any:
        """Return X as float64, scaled as for the fit; ValueError if column names differ."""
        features = self.model.features_of(X) if hasattr(self.model, "features_of") else X
        rows = checked_rows(features)
        if (n := rows.shape[1]) != (width := self.weights.shape[1] - 1):
            raise DataError(f"X has {n} features, but the model has {width}.", code="shape")
        if features is X:
            check_columns(self.model, X)
        return unit_rows(rows) if self.unit else rows

    def against(self, code: int) -> np.ndarray:
        """Return the weights of the boundaries between a class, as positive, and every other."""
        if not self.pairs:
            return self.weights[code] - np.delete(self.weights, code, axis=0)
        pairs = np.array([*combinations(range(len(self.classes)), 2)])
        signs = (pairs[:, 1] == code) * 1.0 - (pairs[:, 0] == code)
        return (signs[:, None] * self.weights)[signs != 0]


def codes_of(y: Any, classes: np.ndarray, n_rows: int) -> np.ndarray:
    """Return the index of each label among the sorted classes; DataError for an unknown label."""
    y = labels_of(y)
    check_labels(n_rows, len(y))
    if not (known := np.isin(y, classes)).all():
        row = int(np.argmin(known))
        raise DataError(
            f"{row_text(row).capitalize()} has the label {y[row]!r}, which is not a class.",
            code="unknown-label", row=row + 1, value=y[row],
        )  # fmt: skip
    return np.searchsorted(classes, y)


def linear_of(model: Any, y: Any = None) -> Linear:
    """Return the weights of a fitted linear classifier, or of an array for two labels ``y``."""
    if isinstance(model, Linear):
        return model
    kind, code = type(model).__name__, "unsupported"
    if not hasattr(model, "coef_") and not hasattr(model, "get_params"):
        classes, code = np.unique(labels_of([-1, 1] if y is None else y)), "bad-value"
        if len(classes) == 1 and classes[0] in (-1, 0, 1):  # rows of one side only
            classes = np.array([-1 if classes[0] else 0, 1])
        model = SimpleNamespace(coef_=np.asarray(model, np.float64), classes_=classes)
    classes = np.asarray(getattr(model, "classes_", ()))
    coef = getattr(model, "coef_", np.empty((0, 1)))
    weights = np.atleast_2d(coef.toarray() if hasattr(coef, "toarray") else coef)
    n, k, intercept = len(weights), len(classes), np.ravel(getattr(model, "intercept_", 0.0))
    if not np.isfinite(intercept).all():
        raise DataError(f"A class of this {kind} has no weight: fit without it.", code="undefined")
    weights = np.column_stack([weights, np.resize(intercept, n)]).astype(np.float64)
    reference = getattr(model, "reference_", None)
    if n == k - 1 and (k == 2 or reference is not None):  # the weights of a class are zero
        place = 0 if reference is None else classes.tolist().index(reference)
        weights = np.insert(weights, place, 0.0, axis=0)
    # Three classes have three pairs: only the estimator knows which of the two the rows are.
    pairs = k > 2 and fitted_parameter(model, "multiclass") == "ovo"
    unknown = k < 2 or (k > 2 and hasattr(model, "decision_function_shape"))
    needed = k * (k - 1) // 2 if pairs else k
    if unknown or len(weights) != needed or not np.isfinite(weights).all():
        raise DataError(
            f"This {kind} has {n} rows of weights for {k} classes: margins need finite numbers, "
            f"one row for two classes, else one per class or pair.", code=code,
        )  # fmt: skip
    constant = bool(fitted_parameter(model, "fit_intercept")) or bool(intercept.any())
    unit = bool(fitted_parameter(model, "normalize"))
    return Linear(weights, classes, constant, unit, pairs, model)


def checked_rows(X: Any) -> Any:
    """Return X as float64, dense or CSR; DataError if that would round a number."""
    X = exact_rows(X)
    if not same_as_doubles(X):
        raise DataError(
            "X holds numbers that learners round to float64: pass X.astype(float).",
            code="not-exact", option="X",
        )  # fmt: skip
    return X.astype(np.float64, copy=False)


def seen_rows(X: Any, fit_intercept: bool, unit: bool, unit_augmented: bool = False) -> Any:
    """Return z for every row, scaled to length 1 before or after adding the constant feature."""
    X = checked_rows(X)
    X = unit_rows(X) if unit else X
    X = augmented(X) if fit_intercept else X
    return unit_rows(X) if unit_augmented else X


def unit_rows(X: Any) -> Any:
    """Scale every row to length 1; zero rows stay zero."""
    long = row_norms(X)
    return sp.diags(1.0 / np.where(long > 0, long, 1.0)) @ X


def augmented(X: Any) -> Any:
    """Return [x; 1] for every row."""
    ones = np.ones((X.shape[0], 1))
    return sp.hstack([X, ones], format="csr") if sp.issparse(X) else np.hstack([X, ones])
