"""Gaussian naive Bayes with shared variances: the generative twin of logistic regression."""

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from linsep.errors import SeparationWarning
from linsep.estimators import labels
from linsep.estimators.logistic import LogisticRegression, implied
from linsep.estimators.logistic_rows import FLOATS, checked, encoded
from linsep.regression.class_moments import ClassMoments, class_moments

#: within classes a column varies no more than its rounding
ROUNDING = 1e-14
#: the share of the largest variance for a feature without any, as scikit-learn gives to all
NARROW = 1e-9


class GaussianNaiveBayes(ClassifierMixin, BaseEstimator):
    """Features are Gaussian in each class, independent, with variances that all classes share.

    P(y = k) = p_k (Bernoulli, for two classes), x_j | y = k ~ N(m_kj, s_j^2), all by maximum
    likelihood: shares, means, and the mean square around the mean of the class. Then P(y | x) is
    that of a logistic regression, whose weights :meth:`to_logistic` gives:
    w_kj = (m_kj - m_rj) / s_j^2 and b_k = ln(p_k / p_r) + sum_j (m_rj^2 - m_kj^2) / (2 s_j^2),
    r being the reference.

    Attributes
    ----------
    classes_ : array of shape (classes,)
    priors_ : array of shape (classes,), p_k
    means_ : array of shape (classes, features)
    variances_ : array of shape (features,), s_j^2
    n_rows_, n_features_in_, feature_names_in_

    References
    ----------
    A. Ng and M. Jordan, On discriminative vs. generative classifiers, NIPS 14 (2002). T. Mitchell,
    Generative and discriminative classifiers: naive Bayes and logistic regression (2005).

    Examples
    --------
    >>> from linsep import GaussianNaiveBayes
    >>> X, y = [[1.0], [3.0], [5.0], [7.0]], ["low", "low", "up", "up"]
    >>> model = GaussianNaiveBayes().fit(X, y)
    >>> model.means_.tolist(), model.variances_.tolist(), model.priors_.tolist()
    ([[2.0], [6.0]], [1.0], [0.5, 0.5])
    >>> model.to_logistic().weights_.tolist()
    [[4.0, -16.0]]
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Take the shares of the classes, their means, and the variances they share.

        Parameters
        ----------
        X : array or sparse matrix of shape (rows, features), not copied
        y : array of shape (rows,), labels of any type
        sample_weight : array of shape (rows,), default ones
            How often each row counts.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For a row, label or weight that cannot be learnt from.

        Warns
        -----
        SeparationWarning
            For a feature that varies between the classes, but within none: its Gaussian has no
            width, and is given a billionth of the largest variance.
        """
        X, y = checked(self, X, y)
        classes, codes = encoded(y)
        labels.check_two_classes(classes)
        weights = labels.check_sample_weight(sample_weight, len(y))
        self._take(classes, class_moments([(X, codes, weights)], classes.size, X.shape[1]))
        self.n_rows_ = int((weights > 0).sum()) if weights.size else len(y)
        return self

    def _take(self, classes: np.ndarray, moments: ClassMoments) -> None:
        """Set the attributes."""
        counted = moments.totals > 0
        if not counted.all():
            label = classes.tolist()[int(np.argmin(counted))]
            raise ValueError(f"All rows of class {label!r} have weight 0: leave the class out.")
        variances = moments.squares / moments.totals.sum()
        largest = np.abs(moments.means).max(axis=0)
        narrow = variances <= (ROUNDING * largest) ** 2
        apart = np.ptp(moments.means, axis=0) > ROUNDING * largest
        if (narrow & apart).any():
            j = int(np.argmax(narrow & apart))
            names = getattr(self, "feature_names_in_", None)
            warnings.warn(
                SeparationWarning(
                    f"Feature {j if names is None else repr(names[j])} varies between the classes, "
                    "but within none, so its Gaussian has no width: it is given a billionth of the "
                    "largest variance; leave it out where that is not meant."
                ),
                stacklevel=3,
            )
            total = variances + self._between(moments)
            variances = np.where(narrow & apart, NARROW * total.max(), variances)
        self.classes_, self.priors_ = classes, moments.totals / moments.totals.sum()
        self.means_, self.variances_ = moments.means, np.where(narrow & ~apart, 0.0, variances)

    def _between(self, moments: ClassMoments) -> np.ndarray:
        """The variance of the means of the classes."""
        shares = moments.totals / moments.totals.sum()
        return shares @ (moments.means - shares @ moments.means) ** 2

    def to_logistic(self, reference: Any = None) -> LogisticRegression:
        """The logistic regression of the same probabilities.

        Parameters
        ----------
        reference : label or None, default=None
            The class whose weights are zero: of two the smaller, of several the last.

        Returns
        -------
        LogisticRegression
            It predicts as this model does; there are no standard errors. A constant feature has
            weight 0.
        """
        check_is_fitted(self)
        precision = np.divide(
            1.0, self.variances_, out=np.zeros_like(self.variances_), where=self.variances_ > 0
        )
        # around one point, so that means far from zero cost no digits until the last sum
        middle = self.priors_ @ self.means_
        apart = self.means_ - middle
        coef = apart * precision
        intercept = np.log(self.priors_) - 0.5 * (apart * coef).sum(axis=1) - coef @ middle
        weights = np.column_stack([coef, intercept])
        model = implied(self.classes_, weights, reference, "Gaussian naive Bayes", self.n_rows_)
        if hasattr(self, "feature_names_in_"):
            model.feature_names_in_ = self.feature_names_in_
        return model

    def _scored(self, X: Any) -> tuple[LogisticRegression, Any]:
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS, order="C", reset=False)
        model = self.to_logistic()
        model.__dict__.pop("feature_names_in_", None)
        return model, X

    def decision_function(self, X: Any) -> np.ndarray:
        """Log-odds, as of :meth:`LogisticRegression.decision_function`."""
        model, X = self._scored(X)
        return model.decision_function(X)

    def predict(self, X: Any) -> np.ndarray:
        """The likeliest class of each row; the smaller at equal odds."""
        model, X = self._scored(X)
        return model.predict(X)

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class, shape (rows, classes), in the order of ``classes_``."""
        model, X = self._scored(X)
        return model.predict_proba(X)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """The logarithms of :meth:`predict_proba`."""
        model, X = self._scored(X)
        return model.predict_log_proba(X)
