"""Probabilities for classifiers without probabilities, from their scores on held-out rows."""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from linsep.errors import DataError, ParameterError
from linsep.estimators._common.labels import (
    HasReference,
    brings_labels,
    check_sample_weight,
    has_offset,
    known_codes,
    label_a_row,
)
from linsep.estimators._common.predicting import divided

METHODS = ("sigmoid", "isotonic")


class Calibration(NamedTuple):
    """Maps scores to probabilities.

    Attributes
    ----------
    method : "sigmoid" or "isotonic"
    curves : list of arrays, one for two classes, else one per class
        For a sigmoid, a and b in 1 / (1 + exp(a * score + b)); for an isotonic curve, the scores
        and probabilities of its corners, shape (2, corners).
    """

    method: str
    curves: list[np.ndarray]

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Return probabilities, shape (rows, classes), for the output of ``decision_function``.

        For several classes, they are divided by their sum; if all are 0, they become equal.
        """
        columns = scores.reshape(len(scores), -1)
        found = np.column_stack([self._curve(k, columns[:, k]) for k in range(len(self.curves))])
        if len(self.curves) == 1:
            return np.hstack([1.0 - found, found])
        return divided(found)

    def _curve(self, k: int, scores: np.ndarray) -> np.ndarray:
        curve = self.curves[k]
        if self.method == "isotonic":
            return np.interp(scores, *curve)
        return expit(-(curve[0] * scores + curve[1]))


def calibrate(
    model: Any, X: Any, y: Any = None, *, method: str = "sigmoid", sample_weight: Any = None
) -> Any:
    """Calibrate a fitted online classifier in place, adding ``predict_proba``.

    The probabilities are the same as from scikit-learn's ``CalibratedClassifierCV`` with a
    ``FrozenEstimator``. ``predict`` is unchanged, so it may differ from the most probable class.
    The calibration is saved with the model, and dropped when the model is trained further.

    Parameters
    ----------
    model : fitted online classifier
    X : array or sparse matrix of shape (rows, features), or a Source
        Rows not used for training; training scores are over-confident. A source, opened with
        ``recipe=model.recipe_``, has its own labels, so omit y and sample_weight.
    y : array of shape (rows,)
    method : "sigmoid" (Platt 1999) or "isotonic" (Zadrozny and Elkan 2002)
        Isotonic regression overfits with fewer than a few hundred rows.
    sample_weight : array of shape (rows,), default ones

    Returns
    -------
    model

    Raises
    ------
    ParameterError
        If the method is unknown.
    DataError
        If the model already has probabilities, or a class has no rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import linsep
    >>> X, y = load_iris(return_X_y=True)
    >>> model = linsep.Perceptron(keep="average").fit(X[::2], y[::2])
    >>> linsep.calibrate(model, X[1::2], y[1::2]).predict_proba(X[:1]).round(2).tolist()
    [[0.95, 0.03, 0.03]]
    """
    if method not in METHODS:
        raise ParameterError(
            f"method is {method!r}: choose {' or '.join(METHODS)}.", option="method", value=method
        )
    check_is_fitted(model)
    if not isinstance(model, HasReference) or hasattr(type(model), "predict_log_proba"):
        raise DataError(
            f"A {type(model).__name__} cannot be calibrated: only online classifiers can, whose "
            f"scores are not probabilities.",
            code="unsupported",
        )
    scores, codes, weights = seen(model, X, y, sample_weight)
    found = np.bincount(codes, minlength=model.classes_.size)
    if not found.all():
        missing = model.classes_[int(np.argmin(found))]
        raise DataError(
            f"The calibration rows contain no row of class {missing!s}: pass rows of every class.",
            code="class-count", value=missing,
        )  # fmt: skip
    model.calibration_ = Calibration(method, _curves(scores, codes, weights, method))
    return model


def seen(
    model: Any, X: Any, y: Any, sample_weight: Any, offset: Any = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return decision values, class codes and weights of the rows with positive weight; DataError
    for an unknown label.
    """
    if brings_labels(X, y, sample_weight, offset, offsets=has_offset(model)):
        parts = []
        for batch, values in model.predictions(X).decisions():
            labels = label_a_row(model, batch.y, batch.size)
            codes = known_codes(model.classes_, labels, X, batch.first)
            own = np.ones(batch.size) if batch.weights is None else batch.weights
            parts.append((values, codes, own))
        scores, codes, weights = (np.concatenate(part) for part in zip(*parts, strict=True))
    else:
        beside = {} if offset is None else {"offset": offset}
        scores = model.decision_function(X, **beside)
        codes = known_codes(model.classes_, label_a_row(model, y, len(scores)))
        weights = check_sample_weight(sample_weight, codes.size)
        weights = weights if weights.size else np.ones(codes.size)
    counts = weights > 0
    return scores[counts], codes[counts], weights[counts]


def _curves(
    scores: np.ndarray, codes: np.ndarray, weights: np.ndarray, method: str
) -> list[np.ndarray]:
    """Return a curve for the positive class, or for each of several, as scikit-learn fits it."""
    from sklearn.calibration import _SigmoidCalibration
    from sklearn.isotonic import IsotonicRegression

    columns = scores.reshape(len(scores), -1).T
    first, curves = int(len(columns) == 1), []
    for k, column in enumerate(columns, first):
        if method == "isotonic":
            fit = IsotonicRegression(out_of_bounds="clip").fit(column, codes == k, weights)
            curves.append(np.array([fit.X_thresholds_, fit.y_thresholds_]))
        else:
            fit = _SigmoidCalibration().fit(column, (codes == k).astype(int), weights)
            curves.append(np.array([fit.a_, fit.b_]))
    return curves
