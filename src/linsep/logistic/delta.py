"""Predictions of a logistic regression, with standard errors by the delta method.

Classes are in the order of the weights here: first the classes of the equations, then the
reference, whose weights are zero. Parameters are in the order of ``params_``.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import expit, logsumexp, softmax

from linsep.batches import Batch
from linsep.estimators._common.predicting import Prediction, codes_of, decided
from linsep.inference.results import Bands
from linsep.inference.tails import t_reach
from linsep.logistic.solution import SEPARATED, UNKNOWN
from linsep.logistic.task import NO_WEIGHT, order_of_classes
from linsep.parameters import fitted_parameter

#: numbers of an array that is made of some rows at once
MOST = 1 << 22
#: features beyond which rows stay sparse
WIDE = 2_500
#: log-odds of a probability of 0 or 1
HUGE = 1e300
#: signs of estimates that diverge, by their limits; of others the sign is unknown
SIGNS = {"+inf": 1.0, "-inf": -1.0, "finite": 0.0, "dependent": 0.0, NO_WEIGHT: 0.0}
#: a variance that is a smaller share of the sum of its terms' sizes has lost its digits
LOST = 1e-12


def widened_rows(X: Any, d: int) -> Any:
    """Return rows as floats with the ``d`` features of a model: dense unless there are many."""
    if sp.issparse(X):
        X = X[:, :d]
        X = sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], d))
        X = X.toarray() if d <= WIDE else X
    return X.astype(np.float64, copy=False)


def delta_errors(J: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Return the square roots of the diagonal of J V J'; NaN where rounding of the covariance
    leaves no digits.

    Parameters
    ----------
    J : array of shape (numbers, parameters), the gradients of some numbers
    covariance : array of shape (parameters, parameters)
    """
    largest = np.abs(J).max(axis=1, initial=0.0)  # whose square may overflow
    J = J / np.where(largest > 0, largest, 1.0)[:, None]
    found = np.einsum("ij,ij->i", J @ covariance, J)
    sizes = np.einsum("ij,ij->i", np.abs(J) @ np.abs(covariance), np.abs(J))
    return largest * np.sqrt(np.where(found < LOST * sizes, np.nan, found))


class Curves:
    """The probabilities of the classes as functions of the features.

    Attributes
    ----------
    classes : int, the number of classes
    order : list of their codes, as above
    B : array of shape (classes - 1, parameters)
    constant : int, 1 with an intercept, else 0
    covariance : array or None
        The covariance of ``B.ravel()``, zero for weights that were left out and for weights that
        diverge; None if it is unknown.
    in_limit : bool, whether some weight diverges
    signs : array of shape (parameters,)
        For two classes, the sign of each weight that diverges, NaN if it is unknown, and zero for
        the others.
    """

    def __init__(self, model: Any):
        self.model, self.order = model, order_of_classes(model)
        self.classes, self.n_features = len(self.order), model.n_features_in_
        self.constant = int(bool(fitted_parameter(model, "fit_intercept")))
        self.B, limits = np.atleast_2d(model._shown), np.atleast_2d(model.limits_)
        separated, V = model.stop_reason_ in SEPARATED, model._covariance_matrix
        signs = np.vectorize(lambda word: SIGNS.get(word, np.nan), otypes=[float])(limits)
        self.in_limit = bool(separated and (signs != 0.0).any())
        self.signs = signs[0] if self.in_limit and self.classes == 2 else np.zeros(len(signs[0]))
        known = V is not None and (separated or not (limits == UNKNOWN).any())
        self.covariance = np.where(np.isfinite(V), V, 0.0) if known else None

    def with_ones(self, X: Any, constant: float = 1.0) -> Any:
        """Return rows with the constant feature before the others."""
        ones = np.full((X.shape[0], self.constant), constant)
        return sp.hstack([ones, X], format="csr") if sp.issparse(X) else np.hstack([ones, X])

    def log_odds(self, X: Any, offset: np.ndarray | None = None) -> np.ndarray:
        """Return the log-odds of the classes against the reference, shape (rows, classes), zeros
        last; huge instead of infinite for a class without weight.
        """
        scores = self.model._scores(X, offset)
        if scores.ndim == 1:
            scores = np.column_stack([np.zeros(len(scores)), scores])
        return np.clip(scores[:, self.order] - scores[:, self.order[-1:]], -HUGE, HUGE)

    def probabilities(self, X: Any, log_odds: np.ndarray | None = None) -> np.ndarray:
        """Return the probabilities of the classes, shape (rows, classes): in the limit if weights
        diverge, NaN where the limit is unknown.
        """
        found: np.ndarray = softmax(self.log_odds(X) if log_odds is None else log_odds, axis=1)
        if self.in_limit and self.classes > 2:
            found[:] = np.nan
        elif self.in_limit:
            terms = self.diverging(X)
            up, down = (terms > 0).any(axis=1), (terms < 0).any(axis=1)
            found[up], found[down] = (1.0, 0.0), (0.0, 1.0)
            found[(up & down) | np.isnan(terms).any(axis=1)] = np.nan
        return found

    def diverging(self, X: Any, constant: float = 1.0) -> np.ndarray:
        """Return the signs of the terms of the log-odds that diverge, shape (rows, weights that
        diverge): NaN if unknown. ``constant``: the value of the constant feature.
        """
        columns = np.flatnonzero(self.signs)
        part = self.with_ones(X, constant)[:, columns]
        part = part.toarray() if sp.issparse(part) else part
        return np.where(part == 0, 0.0, np.sign(part) * self.signs[columns])

    def bands(self, X: Any, level: float, offset: np.ndarray | None = None) -> Bands:
        """Return the probabilities of all classes with confidence intervals, arrays of shape (rows,
        classes) in the order of ``classes_``; see :meth:`linsep.LogisticRegression.predict_proba`.
        """
        against, inverse = self.log_odds(X, offset), np.argsort(self.order)
        n, K = against.shape
        others = [logsumexp(np.delete(against, k, axis=1), axis=1) for k in range(K)]
        log_odds, reach = against - np.column_stack(others), np.full((n, K), np.nan)
        if self.covariance is not None:
            Z, some = self.with_ones(X), max(1, MOST // self.B.size)
            known: Any = np.ones(n, dtype=bool)
            if self.in_limit:  # a limit of 0 or 1 has no error
                known = (self.probabilities(X, against) > 0).all(axis=1)
            for start in range(0, n, some):
                rows = np.flatnonzero(known[start : start + some]) + start
                for k, total in enumerate(others):
                    shares = -np.exp(np.minimum(against[rows] - total[rows, None], 0.0))
                    shares[:, k] = 1.0  # the derivatives in the log-odds against the reference
                    J = (shares[:, :-1, None] * Z[rows, None, :]).reshape(len(rows), self.B.size)
                    reach[rows, k] = delta_errors(J, self.covariance)
            reach *= t_reach(level, self.model._degrees)
        ends = [expit(side)[:, inverse] for side in (log_odds, log_odds - reach, log_odds + reach)]
        return Bands(*ends)


class LogisticPrediction(Prediction):
    """Predictions of a logistic regression for the rows of a source."""

    def decisions(self) -> Iterator[tuple[Batch, np.ndarray]]:
        """Yield each batch with its log-odds."""
        for batch in self.batches():
            known = self.fitted_width(batch.X, self.model.n_features_in_)
            yield batch, batch.answers(self.model._scores(known, self.offset_of(batch)))

    def codes(self) -> Iterator[tuple[Batch, np.ndarray, np.ndarray]]:
        """Yield each batch with its log-odds and class codes."""
        for batch, scores in self.decisions():
            yield batch, scores, decided(self.model, scores, codes_of(scores))

    def with_bands(self, level: float) -> Iterator[tuple[Batch, np.ndarray, np.ndarray, Bands]]:
        """Yield the same with the probabilities and their confidence intervals."""
        curves = Curves(self.model)
        for batch, scores, codes in self.codes():
            rows = widened_rows(batch.X, curves.n_features)
            bands = curves.bands(rows, level, self.offset_of(batch))
            yield batch, scores, codes, Bands(*map(batch.answers, bands))
