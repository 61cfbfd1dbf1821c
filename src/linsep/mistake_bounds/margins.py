"""Margins: signed distances of rows from the boundary of any linear classifier."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.certificate.numbers import check_labels, exact_rows, same_as_doubles
from linsep.errors import DataError, ParameterError
from linsep.mistake_bounds.rounding import length
from linsep.parameters import fitted_parameter
from linsep.validation.labels import check_beside, labels_of
from linsep.validation.values import check_columns, faults_named
from linsep.words import row_text


class Margins(NamedTuple):
    """The margin of every row.

    Attributes
    ----------
    rows : array of shape (rows,)
        In the order of the rows; sorted, it is the margin curve.
    quantiles : dict
        {share: margin}: the given share of the rows has at most this margin.
    """

    rows: np.ndarray
    quantiles: dict[float, float]


def functional_margin(estimator: Any, X: Any, y: Any) -> float:
    """Return the functional margin, the smallest ``y (<w, x> + b)``: a score, not a distance.

    Parameters
    ----------
    estimator : fitted linear classifier of any library, or array of weights of shape (features,)
        Only ``coef_``, ``intercept_`` and ``classes_`` of an estimator are used (for linsep
        estimators also ``normalize``, the pairs of classes, and the reference class).
    X : array, sparse matrix or data frame of shape (rows, features)
        Columns of a data frame must have the names and order of the fit, as for ``predict``.
    y : array of shape (rows,)
        Labels; with two classes, the larger is the positive side. With several classes, the margin
        of a row is the score of its class minus the highest other score; for one-vs-one the
        smallest signed score among the binary classifiers of its class.

    Returns
    -------
    float
        Negative if a row is misclassified, zero if a row lies on the boundary.

    Raises
    ------
    DataError
        If the estimator is not linear or not fitted, or a label is not one of its classes.
    ValueError
        For NaN, infinity, X and y of different lengths, and columns with different names.
    """
    return float(_margins(estimator, X, y, lambda w: 1.0).min())


def geometric_margin(estimator: Any, X: Any, y: Any) -> float:
    """Return the geometric margin, the smallest ``y (<w, x> + b) / ||w||``.

    It is the distance, in the units of the features, from the boundary to the nearest row; if a row
    is misclassified, minus the distance of the row farthest on the wrong side. For several classes,
    scores and weights are differences between the row's class and a rival. Two classes with
    identical weights have margin 0; zero weights with an intercept have an infinite margin.

    Parameters
    ----------
    estimator, X, y
        As for :func:`linsep.functional_margin`, and so are the errors. For voting perceptrons
        ``coef_`` is used.

    Returns
    -------
    float

    Examples
    --------
    >>> geometric_margin([1, 0], [[1, -1], [-1, -1], [0.05, 0], [-1, 0]], [1, 1, 1, -1])
    -1.0
    """
    return float(_margins(estimator, X, y, _length).min())


def cosine_margin(estimator: Any, X: Any, y: Any) -> float:
    """Return the cosine margin, the smallest ``y <w, z> / (||w|| ||z||)``, between -1 and 1.

    It is the margin of rows scaled to length 1, as for :class:`linsep.MarginPerceptron` (A. Blum,
    Machine Learning Theory, 15-859B, lecture 4, 2014). With an intercept z = [x; 1], and the
    intercept is the last weight of w. A row of zeros has margin 0.

    Parameters
    ----------
    estimator, X, y
        As for :func:`linsep.functional_margin`, and so are the errors.

    Returns
    -------
    float
    """
    return float(_margins(estimator, X, y, length, lengths).min())


def l1_margin(estimator: Any, X: Any, y: Any) -> float:
    """Return the L1 margin, the smallest ``y <w, z> / (sum |w_j| max |z_j|)``, between -1 and 1.

    It is the margin in the bounds of multiplicative updates.

    Parameters
    ----------
    estimator, X, y
        As for :func:`linsep.functional_margin`, and so are the errors; z is as for
        :func:`linsep.cosine_margin`.

    Returns
    -------
    float

    Examples
    --------
    >>> l1_margin([1, 1, 0], [[1, 1, 1], [0, -2, 1]], [1, -1])
    0.5
    """

    def largest(Z: Any) -> np.ndarray:
        return np.ravel(sp.csr_matrix(abs(Z)).max(axis=1).toarray())

    return float(_margins(estimator, X, y, lambda w: float(np.abs(w).sum()), largest).min())


def margin_distribution(
    estimator: Any,
    X: Any,
    y: Any,
    quantiles: tuple[float, ...] = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0),
) -> Margins:
    """Return the geometric margin of every row, and quantiles.

    Parameters
    ----------
    estimator, X, y
        As for :func:`linsep.functional_margin`, and so are the errors.
    quantiles : shares between 0 and 1

    Returns
    -------
    Margins
    """
    if not all(0 <= share <= 1 for share in quantiles):
        raise ParameterError(
            f"quantiles are {quantiles!r}: they must be between 0 and 1.", option="quantiles",
            value=quantiles,
        )  # fmt: skip
    found = _margins(estimator, X, y, _length)
    values = np.quantile(found, quantiles, method="inverted_cdf").tolist()
    return Margins(found, dict(zip(quantiles, values, strict=True)))


def unsigned_margin(estimator: Any, X: Any) -> float:
    """Return the smallest ``|<w, x> + b| / ||w||`` for two classes, regardless of labels.

    Parameters
    ----------
    estimator, X
        As for :func:`linsep.functional_margin`, and so are the errors; DataError for more than two
        classes.

    Returns
    -------
    float

    Examples
    --------
    >>> unsigned_margin([1, 0], [[1, -1], [-1, -1], [0.05, 0], [-1, 0]])
    0.05
    """
    model = linear_of(estimator)
    if len(model.coef) != 1:
        raise DataError(
            "A margin without labels needs two classes: use geometric_margin for more.",
            code="class-count",
        )
    return float(np.abs(_quotient(model.scores(model.rows(X)), length(model.coef))).min())


def _margins(
    estimator: Any, X: Any, y: Any, size: Callable[[np.ndarray], float],
    size_of_rows: Callable[[Any], Any] = lambda Z: 1.0,
) -> np.ndarray:  # fmt: skip
    """Return the smallest score of each row among the boundaries between its class and the others,
    divided by the sizes of the weights, the intercept last, and of the rows.
    """
    model = linear_of(estimator, y)
    check_beside(X, y=y)
    X = model.rows(X)
    codes, scores = model.codes(y, X.shape[0]), model.scores(X)
    tall = np.broadcast_to(size_of_rows(augmented(X) if model.fit_intercept else X), codes.shape)
    weights = np.column_stack([model.coef, model.intercept])
    found = np.full(len(codes), np.inf)
    for k, (a, b) in enumerate(combinations(range(len(model.classes)), 2)):
        if len(weights) == 1 or model.pairs:
            w, gaps = weights[k], scores[:, k]
        else:
            w, gaps = weights[b] - weights[a], scores[:, b] - scores[:, a]
        for code, sign in ((a, -1.0), (b, 1.0)):
            own = codes == code
            margins = _quotient(sign * gaps[own], size(w) * tall[own])
            found[own] = np.minimum(found[own], margins)
    return found


def _quotient(gap: np.ndarray, long: Any) -> np.ndarray:
    """Divide; 0 / 0 is 0 (identical classes), other numbers over 0 are infinite (no boundary)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(gap == 0, 0.0, gap / long)


def _length(weights: np.ndarray) -> float:
    return length(weights[:-1])


class Linear(NamedTuple):
    """Weights of shape (binary classifiers, features), an intercept for each, and the classes.

    One binary classifier for two classes, with the second class positive; else one per class, or
    with ``pairs`` one per pair of classes in the order (0, 1), (0, 2), ..., (1, 2), ... ``model``
    is the fitted estimator, if any.
    """

    coef: np.ndarray
    intercept: np.ndarray
    classes: np.ndarray
    fit_intercept: bool
    unit: bool
    pairs: bool
    model: Any = None

    def rows(self, X: Any) -> Any:
        """Return X as float64, with rows of length 1 if the model was trained on such rows;
        ValueError if its column names differ from the fit.
        """
        given, X = X, self.model.features_of(X) if hasattr(self.model, "features_of") else X
        rows = checked_rows(X)
        if rows.shape[1] != self.coef.shape[1]:
            raise DataError(
                f"X has {rows.shape[1]} features, but the model has {self.coef.shape[1]}.",
                code="shape",
            )
        if X is given:
            check_columns(self.model, X)
        return unit_rows(rows) if self.unit else rows

    def scores(self, X: Any) -> np.ndarray:
        """Return <w, x> + b of rows prepared by :meth:`rows`, shape (rows, binary classifiers)."""
        return np.asarray(X @ self.coef.T) + self.intercept

    def codes(self, y: Any, n_rows: int) -> np.ndarray:
        """Return the index of each label among the classes."""
        y = labels_of(y)
        check_labels(n_rows, len(y))
        known = np.isin(y, self.classes)
        if not known.all():
            row = int(np.argmin(known))
            raise DataError(
                f"{row_text(row).capitalize()} has the label {y[row]!r}, which is not a class.",
                code="unknown-label", row=row + 1, value=y[row],
            )  # fmt: skip
        return np.searchsorted(self.classes, y)


def linear_of(model: Any, y: Any = None) -> Linear:
    """Return the weights of a fitted linear classifier, or of an array, the larger of two labels
    ``y`` being the positive side; DataError if it has no weights whose classes are known.
    """
    if isinstance(model, Linear):
        return model
    if not hasattr(model, "coef_") and not hasattr(model, "get_params"):
        return _given(model, y)
    kind = type(model).__name__
    if not (hasattr(model, "coef_") and hasattr(model, "classes_")):
        raise DataError(
            f"This {kind} has no coef_ or no classes_: margins need a fitted linear classifier.",
            code="unsupported",
        )
    coef = model.coef_.toarray() if sp.issparse(model.coef_) else np.asarray(model.coef_)
    coef = np.atleast_2d(coef).astype(np.float64)
    classes, reference = np.asarray(model.classes_).tolist(), getattr(model, "reference_", None)
    intercept = np.broadcast_to(np.ravel(model.intercept_), len(coef)).astype(np.float64)
    if not np.isfinite(intercept).all():
        raise DataError(
            f"A class of this {kind} has no weight and so no margin: remove its rows and fit "
            f"again.", code="undefined",
        )  # fmt: skip
    k = len(classes)
    if len(coef) == k - 1 > 1 and reference is not None:
        place = classes.index(reference)
        coef, intercept = np.insert(coef, place, 0.0, axis=0), np.insert(intercept, place, 0.0)
    # Three classes have three pairs: only the estimator knows which of the two the rows are.
    foreign = k > 2 and hasattr(model, "decision_function_shape")
    pairs = k > 2 and fitted_parameter(model, "multiclass") == "ovo"
    if foreign or len(coef) != (1 if k == 2 else k * (k - 1) // 2 if pairs else k):
        raise DataError(
            f"coef_ of this {kind} has {len(coef)} rows for {k} classes: margins need one for two "
            f"classes, else one per class (or per pair, from linsep estimators).",
            code="unsupported",
        )
    if k == 2 and reference == classes[1]:
        coef, intercept = -coef, -intercept  # positive for the smaller class
    constant = bool(fitted_parameter(model, "fit_intercept")) or bool(intercept.any())
    unit = bool(fitted_parameter(model, "normalize"))
    return Linear(coef, intercept, np.asarray(model.classes_), constant, unit, pairs, model)


def _given(weights: Any, y: Any) -> Linear:
    coef = np.atleast_2d(np.asarray(weights, dtype=np.float64))
    classes = np.array([-1, 1]) if y is None else np.unique(labels_of(y))
    if len(classes) == 1 and classes[0] in (-1, 0, 1):  # rows of one side only
        classes = np.array([0, 1]) if classes[0] == 0 else np.array([-1, 1])
    if len(coef) != 1 or len(classes) != 2 or not np.isfinite(coef).all():
        raise DataError(
            f"Weights must be a fitted estimator, or finite numbers of shape (features,) for two "
            f"classes: got shape {np.shape(weights)} for {len(classes)}.", code="bad-value",
        )  # fmt: skip
    return Linear(coef, np.zeros(1), classes, False, False, False)


# Rows.


def checked_rows(X: Any) -> Any:
    """Return X as float64, dense or CSR; DataError if that would round a number."""
    with faults_named(X, exact=True):
        X = exact_rows(X)
    if not same_as_doubles(X):
        raise DataError(
            "X holds numbers that are not representable as float64 and that learners round: pass "
            "X.astype(float).", code="not-exact", option="X",
        )  # fmt: skip
    return X.astype(np.float64, copy=False)


def seen_rows(X: Any, fit_intercept: bool, unit: bool, unit_augmented: bool) -> Any:
    """Return z for every row, scaled to length 1 before or after adding the constant feature."""
    X = checked_rows(X)
    X = unit_rows(X) if unit else X
    X = augmented(X) if fit_intercept else X
    return unit_rows(X) if unit_augmented else X


def lengths(X: Any) -> np.ndarray:
    """Return ||x|| of every row."""
    squares = X.multiply(X).sum(axis=1) if sp.issparse(X) else np.einsum("ij,ij->i", X, X)
    return np.sqrt(np.ravel(squares))


def unit_rows(X: Any) -> Any:
    """Scale every row to length 1; zero rows stay zero."""
    long = lengths(X)
    return scaled(X, 1.0 / np.where(long > 0, long, 1.0))


def scaled(X: Any, factors: np.ndarray) -> Any:
    """Multiply every row by its factor."""
    return sp.csr_matrix(sp.diags(factors) @ X) if sp.issparse(X) else X * factors[:, None]


def augmented(X: Any) -> Any:
    """Return [x; 1] for every row."""
    ones = np.ones((X.shape[0], 1))
    return sp.hstack([X, ones], format="csr") if sp.issparse(X) else np.hstack([X, ones])
