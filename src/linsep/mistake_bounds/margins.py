"""Margins: signed distances of rows from the boundary of a linear classifier."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from linsep.errors import DataError
from linsep.label_faults import check_beside
from linsep.mistake_bounds.linear import Linear, lengths, linear_of, nonzero
from linsep.mistake_bounds.rounding import length


class Margins(NamedTuple):
    """The margin of every row.

    Attributes
    ----------
    rows : array of shape (rows,)
        In the order of the rows.
    quantiles : dict
        {share: margin}: this share of the rows has at most this margin.
    """

    rows: np.ndarray
    quantiles: dict[float, float]


def functional_margin(estimator: Any, X: Any, y: Any) -> float:
    """Return the smallest ``y (<w, x> + b)``, a score and not a distance.

    Parameters
    ----------
    estimator : fitted linear classifier of any library, or array of weights of shape (features,)
        Only ``coef_``, ``intercept_`` and ``classes_`` of an estimator are used (for linsep's
        also whether rows are scaled to length 1, the pairs of classes, and the reference, whose
        weights are zero).
    X : array, sparse matrix or data frame of shape (rows, features)
        Columns of a frame have the names and order of the fit, as for ``predict``.
    y : array of shape (rows,)
        Labels; of two the larger is the positive side. For several classes the margin of a row is
        the score of its class minus the highest other score; for one-vs-one the smallest signed
        score among the machines of its class.

    Returns
    -------
    float
        Negative when a row is misclassified, zero when one lies on the boundary.

    Raises
    ------
    DataError
        If the estimator is not linear or not fitted, or a label is not one of its classes.
    ValueError
        For NaN, infinity, X and y of different lengths, and columns with other names.
    """
    return float(_margins(linear_of(estimator, y), X, y, _gaps).min())


def geometric_margin(estimator: Any, X: Any, y: Any) -> float:
    """Return the smallest ``y (<w, x> + b) / ||w||``, negative when a row is misclassified.

    The distance, in the units of the features, from the boundary to the nearest row, or to the row
    farthest on the wrong side. For several classes: the score of the own class minus a rival's,
    over the length of the difference of their weights, the smallest over all rivals. Two classes
    with identical weights have margin 0; zero weights with an intercept have no boundary: infinity.

    Parameters
    ----------
    estimator, X, y
        As for :func:`linsep.functional_margin`; for voting perceptrons ``coef_`` is used.

    Returns
    -------
    float

    Raises
    ------
    DataError, ValueError
        As for :func:`linsep.functional_margin`.

    Examples
    --------
    >>> geometric_margin([1, 0], [[1, -1], [-1, -1], [0.05, 0], [-1, 0]], [1, 1, 1, -1])
    -1.0
    """
    return float(_margins(linear_of(estimator, y), X, y, _distances).min())


def cosine_margin(estimator: Any, X: Any, y: Any) -> float:
    """Return the smallest ``y <w, z> / (||w|| ||z||)``, between -1 and 1.

    The margin of rows scaled to length 1, as in Blum's bounds and for
    :class:`linsep.MarginPerceptron`. With an intercept z = [x; 1], and the intercept is the last
    weight of w.

    Parameters
    ----------
    estimator, X, y
        As for :func:`linsep.functional_margin`. A row of zeros without an intercept has margin 0.

    Returns
    -------
    float

    Raises
    ------
    DataError, ValueError
        As for :func:`linsep.functional_margin`.

    References
    ----------
    A. Blum, Machine Learning Theory (15-859B), lecture 4 (2014).
    """
    model = linear_of(estimator, y)
    return float(_margins(model, X, y, _cosines).min())


def l1_margin(estimator: Any, X: Any, y: Any) -> float:
    """Return the smallest ``y <w, z> / (sum |w_j| max |z_j|)``, between -1 and 1.

    The margin in the bounds of Winnow: the L1 length of the weights and the L-infinity length of
    each row take the place of Euclidean lengths. With an intercept z = [x; 1], and the intercept is
    the last weight of w.

    Parameters
    ----------
    estimator, X, y
        As for :func:`linsep.functional_margin`. A row of zeros without an intercept has margin 0.

    Returns
    -------
    float

    Raises
    ------
    DataError, ValueError
        As for :func:`linsep.functional_margin`.

    References
    ----------
    A. Blum, Machine Learning Theory (15-859B), lecture 4 (2014).

    Examples
    --------
    >>> l1_margin([1, 1, 0], [[1, 1, 1], [0, -2, 1]], [1, -1])
    0.5
    """
    model = linear_of(estimator, y)
    return float(_margins(model, X, y, _l1_margins).min())


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
        As for :func:`linsep.functional_margin`.
    quantiles : shares between 0 and 1

    Returns
    -------
    Margins
        ``rows`` in the order of X, ``quantiles`` as {share: margin}; sorted, ``rows`` is the
        margin curve.

    Raises
    ------
    DataError, ValueError
        As for :func:`linsep.functional_margin`; ValueError for a share outside [0, 1].
    """
    if not all(0 <= share <= 1 for share in quantiles):
        raise ValueError(f"quantiles are {quantiles!r}: they must be between 0 and 1.")
    found = _margins(linear_of(estimator, y), X, y, _distances)
    values = np.quantile(found, quantiles, method="inverted_cdf").tolist()
    return Margins(found, dict(zip(quantiles, values, strict=True)))


def unsigned_margin(estimator: Any, X: Any) -> float:
    """Return the smallest ``|<w, x> + b| / ||w||``, regardless of labels, for two classes.

    Parameters
    ----------
    estimator, X
        As for :func:`linsep.functional_margin`.

    Returns
    -------
    float

    Raises
    ------
    DataError, ValueError
        As for :func:`linsep.functional_margin`; DataError for more than two classes.

    Examples
    --------
    >>> unsigned_margin([1, 0], [[1, -1], [-1, -1], [0.05, 0], [-1, 0]])
    0.05
    """
    model = linear_of(estimator)
    if len(model.coef) != 1:
        raise DataError("A margin without labels needs two classes: use geometric_margin for more.")
    scores = model.scores(model.rows(X))[:, 0]
    return float(np.abs(_quotient(scores, length(model.coef))).min())


def _margins(model: Linear, X: Any, y: Any, measure: Any) -> np.ndarray:
    """Return each row's smallest measure over the rivals of its class."""
    check_beside(X, y=y)
    X = model.rows(X)
    codes = model.codes(y, X.shape[0])
    scores = model.scores(X)
    found = np.full(len(codes), np.inf)
    for code in np.unique(codes).tolist():
        own = codes == code
        for coef, intercept, gap in _rivals(model, code, scores[own]):
            weights = np.append(coef, intercept)
            found[own] = np.minimum(found[own], measure(model, X, own, weights, gap))
    return found


def _rivals(model: Linear, code: int, scores: np.ndarray) -> Any:
    """Yield the weights and scores of each boundary of a class, positive on its side."""
    coef, intercept, k = model.coef, model.intercept, len(model.classes)
    if len(coef) == 1:
        sign = 1.0 if code else -1.0
        yield sign * coef[0], sign * intercept[0], sign * scores[:, 0]
    elif model.pairs:
        matches = [(a, b) for a in range(k) for b in range(a + 1, k)]
        for machine, match in enumerate(matches):
            if code in match:
                sign = 1.0 if match[1] == code else -1.0
                yield sign * coef[machine], sign * intercept[machine], sign * scores[:, machine]
    else:
        for rival in range(k):
            if rival != code:
                weights, offset = coef[code] - coef[rival], intercept[code] - intercept[rival]
                yield weights, offset, scores[:, code] - scores[:, rival]


def _gaps(model: Linear, X: Any, own: np.ndarray, weights: np.ndarray, gap: np.ndarray) -> Any:
    return gap


def _distances(model: Linear, X: Any, own: np.ndarray, weights: np.ndarray, gap: np.ndarray) -> Any:
    return _quotient(gap, length(weights[:-1]))


def _cosines(model: Linear, X: Any, own: np.ndarray, weights: np.ndarray, gap: np.ndarray) -> Any:
    long = length(weights)  # no intercept: its last entry is zero
    return _quotient(gap, long) / nonzero(lengths(X[own], model.fit_intercept))


def _l1_margins(
    model: Linear, X: Any, own: np.ndarray, weights: np.ndarray, gap: np.ndarray
) -> Any:
    largest = abs(X[own]).max(axis=1)
    tall = np.ravel(largest.toarray() if hasattr(largest, "toarray") else largest)
    tall = np.maximum(tall, float(model.fit_intercept))
    return _quotient(gap, np.abs(weights).sum()) / nonzero(tall)


def _quotient(gap: np.ndarray, long: Any) -> np.ndarray:
    """Divide; 0 / 0 is 0 (identical classes), other numbers over 0 are infinite (no boundary)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(gap == 0, 0.0, gap / long)
