"""Gaussian naive Bayes: with shared variances the generative counterpart of logistic regression."""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.sparsefuncs import mean_variance_axis
from sklearn.utils.validation import check_is_fitted

from linsep.batches import Batch
from linsep.errors import (
    DataError,
    FeatureOverflow,
    Hint,
    ParameterError,
    SeparationWarning,
    warn_caller,
)
from linsep.estimators._common import labels
from linsep.estimators._common.explaining import is_curved
from linsep.estimators._common.fitted_state import (
    Array,
    classes_from,
    count,
    described,
    flag,
    restored,
    state_of,
)
from linsep.estimators._common.frames import adds_rows, to_learn, to_predict
from linsep.estimators._common.labels import FLOATS, brings_labels, checked_rows, encode
from linsep.estimators._common.predicting import Prediction, share_right
from linsep.estimators._common.reading import Reading
from linsep.estimators._common.showing import HasEquation, PlotsProbability
from linsep.estimators._common.stop_reasons import StopReason
from linsep.lanes import Lanes, no_weight
from linsep.parameters import HasParameters, check_parameters, parameter
from linsep.sources.base import Source
from linsep.validation.labels import check_beside, labels_of
from linsep.validation.values import check_prepared, rows_to_fit

if TYPE_CHECKING:
    from linsep.logistic.estimator import LogisticRegression
    from linsep.rows.source_stream import SourceStream

#: variance of a constant feature, as a share of the largest; scikit-learn adds it to all
NARROW = 1e-9
#: deviation of a feature in a class, as a share of its mean, that is a rounding error
CONSTANT = 1e-12
#: log-odds beyond which rows are scored against their most probable class, not the reference
BEYOND = 2.0**20
#: variance below which squares are subnormal floats
LEAST = float(np.finfo(np.float64).tiny)
#: what a model file holds: the moments, and whether Ctrl-C ended the reading
STATE: dict[str, Any] = {
    "totals": Array("classes"),
    "means": Array("classes, features"),
    "squares": Array("classes, features"),
    "classes": classes_from,
    "n_rows": count,
    "interrupted": flag,
}


class ClassMoments(NamedTuple):
    """Moments of the classes over the rows seen so far.

    Attributes
    ----------
    n_rows : int, number of rows of positive weight
    totals : array of shape (classes,), summed row weights
    means : array of shape (classes, features)
    squares : array of shape (classes, features), weighted squares around the class means
    """

    n_rows: int
    totals: np.ndarray
    means: np.ndarray
    squares: np.ndarray

    def widened(self, width: int) -> "ClassMoments":
        """Return the moments with additional features that were zero in all rows."""
        more = ((0, 0), (0, max(0, width - self.means.shape[1])))
        return self._replace(means=np.pad(self.means, more), squares=np.pad(self.squares, more))


def lane_moments(n_classes: int, lane: Batch) -> ClassMoments:
    """Return the moments of a lane whose y are class codes.

    Dense rows are summed as differences from the first row of the class: for values that are equal
    they are zero.
    """
    order = np.argsort(lane.y, kind="stable")
    if lane.weights is not None:
        order = order[lane.weights[order] > 0]  # others may overflow float64
    lane = lane.rows(order)
    X, weights = lane.X.astype(np.float64, copy=False), lane.importance
    ends = np.searchsorted(lane.y, np.arange(n_classes + 1))
    totals, shape = np.zeros(n_classes), (n_classes, X.shape[1])
    means, squares = np.zeros(shape), np.zeros(shape)
    with np.errstate(over="ignore", invalid="ignore"):  # overflow is checked at the end
        for k in np.unique(lane.y):
            span = slice(*ends[k : k + 2])
            Z, w = X[span], weights[span] if weights.size else np.ones(ends[k + 1] - ends[k])
            totals[k] = w.sum()
            if sp.issparse(X):
                Z.sum_duplicates()
                means[k], variances = mean_variance_axis(Z, 0, weights=w)
                squares[k] = variances * totals[k]
            else:
                first = Z[0].copy()
                Z -= first
                shift = w @ Z / totals[k]
                Z -= shift
                means[k], squares[k] = first + shift, w @ np.square(Z, out=Z)
    return ClassMoments(lane.size, totals, means, squares)


def class_moments(rows: Lanes, n_classes: int) -> ClassMoments:
    """Return the moments of rows, where y holds class codes."""
    moments: ClassMoments | None = rows.sum(partial(lane_moments, n_classes), added_moments)
    if moments is None:
        raise no_weight()
    return moments.widened(rows.width)


def added_moments(a: ClassMoments, b: ClassMoments) -> ClassMoments:
    """Return the moments over the rows of both parts, by the differences of their means (Chan,
    Golub and LeVeque 1983), which keeps accuracy for means far from zero.
    """
    a, b = a.widened(b.means.shape[1]), b.widened(a.means.shape[1])
    totals = a.totals + b.totals
    share = np.divide(b.totals, totals, out=np.zeros_like(totals), where=totals > 0)[:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        apart = b.means - a.means
        squares = a.squares + b.squares + a.totals[:, None] * share * apart**2
        return ClassMoments(a.n_rows + b.n_rows, totals, a.means + share * apart, squares)


class GaussianNaiveBayes(
    HasEquation, PlotsProbability, ClassifierMixin, HasParameters, BaseEstimator
):
    """Gaussian naive Bayes: independent Gaussian features, with variances shared by all classes or
    separate for each class.

    P(y = k) = p_k (Bernoulli, for two classes) and x_j | y = k ~ N(m_kj, s_j^2), estimated by
    maximum likelihood: class shares, class means, and mean squares around the class means. P(y | x)
    has the form of a logistic regression, which :meth:`to_logistic` returns: w_kj = (m_kj - m_rj) /
    s_j^2 and b_k = ln(p_k / p_r) + sum_j (m_rj^2 - m_kj^2) / (2 s_j^2), where r is the reference.
    With separate variances for each class, s_kj^2, the log-odds are quadratic, as in scikit-learn's
    ``GaussianNB``; such a model has no weights and cannot be exported.

    Parameters
    ----------
    variances : "shared" or "by_class", default="shared"
        Whether a feature has one variance for all classes, or one for each class.
    var_smoothing : float, default=0.0
        Fraction of the largest feature variance (over all rows) that is added to all variances.
        scikit-learn's default is 1e-9.
    priors : array of shape (classes,), default=None
        Prior probabilities of the classes in the order of ``classes_``; None estimates them from
        the data.

    Attributes
    ----------
    classes_ : array of shape (classes,)
    priors_ : array of shape (classes,), p_k; 0 for a class whose rows all have weight 0
    means_ : array of shape (classes, features); 0 for such a class
    variances_ : array of shape (features,), s_j^2; "by_class" (classes, features), s_kj^2
    equation_ : the log-odds as an equation in the features; print it
    n_rows_, n_features_in_, feature_names_in_
    recipe_ : dict, if fitted to a source
    stop_reason_ : "interrupted" if Ctrl-C ended the reading of a source: the estimates are from the
        rows read before, and ``fit`` raised KeyboardInterrupt; else not set

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
    >>> model.to_logistic().params_.tolist()
    [-16.0, 4.0]
    """

    priors: Any = None
    variances: Literal["shared", "by_class"] = parameter(
        default="shared",
        help="whether classes share the variance of a feature, or each has its own",
    )
    var_smoothing: float = parameter(
        default=0.0, at_least=0.0, help="fraction of the largest variance to add to all variances"
    )

    def later_parameters(self) -> dict[str, Any]:
        """Return the parameters of the fit as plain JSON."""
        return {
            "priors": None if self.priors is None else self.priors_.tolist(),
            "variances": "by_class" if self.variances_.ndim == 2 else "shared",
            "var_smoothing": self.var_smoothing,
        }

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Estimate class probabilities, class means and shared variances.

        Parameters
        ----------
        X : array or sparse matrix of shape (rows, features), or a Source
            Not copied. A source (:func:`linsep.open_source`) is read once, in constant memory; it
            has its own labels, so omit y.
        y : array of shape (rows,), labels of any type
        sample_weight : array of shape (rows,), default ones
            Weight of each row: a weight of 2 is equivalent to repeating the row.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a row, label or weight is invalid.

        Warns
        -----
        SeparationWarning
            If a feature varies between the classes but within no class: its variance would be zero
            and is set to 1e-9 of the largest variance.
        UserWarning
            If all rows of a class have weight 0: its probability is 0.
        """
        check_parameters(self)
        self.__dict__.pop("stop_reason_", None)
        X, y, sample_weight = to_learn(self, X, y, sample_weight)
        if brings_labels(X, y, sample_weight):
            self._fit_source(X)
            return self
        X, y = checked_rows(self, X, y)
        classes, codes = encode(y)
        labels.check_two_classes(classes)
        self._take(classes, class_moments(_in_memory(X, codes, sample_weight), classes.size))
        self.__dict__.pop("recipe_", None)
        return self

    @adds_rows
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Update the model with more rows, which may be split into calls in any way.

        Parameters
        ----------
        X : array or sparse matrix of shape (rows, features), or a batch of a source
        y : array of shape (rows,); None for the labels of a batch
        classes : array of all labels
            Needed in the first call. A class without rows so far has probability 0, unless
            ``priors`` are given.
        sample_weight : array of shape (rows,), default ones

        Returns
        -------
        self
            Fitted to all rows so far, up to rounding.

        Raises
        ------
        ValueError
            If a row, label or weight is invalid, or ``variances`` or the classes differ from the
            first call.
        """
        check_parameters(self)
        check_beside(X, y=y, sample_weight=sample_weight)
        first = not hasattr(self, "classes_")
        if first and classes is None:
            raise DataError(
                "classes must be passed on the first call to partial_fit.",
                code="needs-option", option="classes",
            )  # fmt: skip
        known = self.classes_ if classes is None else np.unique(labels_of(list(classes)))
        for name, alike in (
            ("classes", first or np.array_equal(known, self.classes_)),
            ("variances", first or is_curved(self) == (self.variances == "by_class")),
        ):
            if not alike:
                raise DataError(
                    f"{name} differ from the first call to partial_fit.",
                    code="other-model", option=name,
                )  # fmt: skip
        labels.check_two_classes(known, "classes")
        X = rows_to_fit(X, self, FLOATS, order="C", reset=first)
        y = labels.label_a_row(self, y, X.shape[0])
        if (codes := labels.encode_with(y, known)) is None:
            raise DataError(
                f"y has labels that are not in classes: {labels.unknown_labels(y, known)}; "
                "list every label in the first call to partial_fit.",
                code="unknown-label",
            )
        moments = class_moments(_in_memory(X, codes, sample_weight), known.size)
        moments = moments if first else added_moments(self._moments, moments)
        self._take(known, moments, told=False)
        return self

    def _fit_source(self, source: Source) -> None:
        from linsep.learners.from_source import fit_stream

        reading = Reading()

        def read(stream: "SourceStream") -> ClassMoments:
            rows = Lanes(partial(_rows_of, reading, stream))
            return class_moments(rows, stream.classes.size)

        def learn(stream: "SourceStream", moments: ClassMoments) -> None:
            self._take(stream.classes, moments.widened(self.n_features_in_))

        fit_stream(self, source, read, learn, reading, keep=False)

    def _take(self, classes: np.ndarray, moments: ClassMoments, told: bool = True) -> None:
        """Set the fitted attributes; ``told`` is whether to warn about classes and features."""
        self.__dict__.pop("threshold_", None)
        rows, totals, means, squares = moments
        if told:
            labels.warn_of_weightless(classes, totals)
        shares, counted = totals / totals.sum(), totals > 0
        with np.errstate(over="ignore", invalid="ignore"):
            squares = np.where(squares > totals[:, None] * (CONSTANT * means) ** 2, squares, 0.0)
            pooled = squares.sum(axis=0) / totals.sum()
            apart = means - means[np.argmax(counted)]
            whole = pooled + shares @ (apart - shares @ apart) ** 2
        small = (whole < LEAST) & ((pooled > 0) | (apart[counted] != 0.0).any(axis=0))
        if (lost := small | ~np.isfinite(whole)).any():
            j = int(np.argmax(lost))
            with labels.features_named(self):
                raise FeatureOverflow(j, small=bool(small[j]))
        priors = shares if self.priors is None else checked_priors(self.priors, classes)
        variances, where = pooled, "within each class"
        if self.variances == "by_class":
            each = squares / np.where(counted, totals, 1.0)[:, None]
            variances, where = np.where(counted[:, None], each, pooled), "within some class"
        self._epsilon = float(self.var_smoothing * whole.max())
        variances = variances + self._epsilon
        narrow = (variances == 0.0) & (whole > 0.0)
        if narrow.any() and told:
            j = int(np.argmax(narrow.reshape(-1, whole.size).any(axis=0)))
            warn_caller(
                SeparationWarning(
                    f"Feature {labels.feature_names(self)[j]} varies, but has zero variance "
                    f"{where}: 1e-9 of the largest variance is used; drop the feature if that is "
                    "not intended."
                )
            )
        self.classes_, self.priors_, self.means_, self.n_rows_ = classes, priors, means, rows
        self.variances_ = np.where(narrow, NARROW * whole.max(), variances)
        self._moments = moments

    def get_state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return the fitted state for model files: arrays, and facts as plain JSON."""
        classes, interrupted = described(self.classes_), hasattr(self, "stop_reason_")
        facts = {"classes": classes, "interrupted": interrupted}
        return state_of(STATE, self._moments._asdict() | facts)

    def set_state(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        """Set the state that :meth:`get_state` returned, after checking it.

        Raises
        ------
        ValueError, LookupError or TypeError
            If something is missing or has the wrong shape or type.
        """
        found = restored(STATE, arrays, facts, classes=len(facts["classes"]["values"]))
        interrupted, classes = found.pop("interrupted"), found.pop("classes")
        moments = ClassMoments(**found)
        if (moments.totals < 0).any() or (moments.squares < 0).any() or not moments.totals.any():
            raise ValueError("negative moments, or no class of weight")
        self.n_features_in_ = moments.means.shape[1]
        self._take(classes, moments, told=False)
        if interrupted:
            self.stop_reason_ = StopReason.INTERRUPTED

    def to_logistic(self, reference: Any = None) -> "LogisticRegression":
        """Return the logistic regression with the same class probabilities.

        Parameters
        ----------
        reference : label or None, default=None
            The class whose weights are zero. None: the smaller of two, the last of several.

        Returns
        -------
        LogisticRegression
            It makes the same predictions and has no standard errors. A constant feature has weight
            0.

        Raises
        ------
        DataError
            If each class has its own variances, since the log-odds are then not linear.
        """
        check_is_fitted(self)
        if is_curved(self):
            raise DataError(
                "Each class of this GaussianNaiveBayes has its own variances, so its boundaries "
                "are curved and it has no weights",
                Hint("retrain the model with {}", {"variances": "shared"}, again=True),
                code="unsupported", option="variances",
            )  # fmt: skip
        return self._implied(reference)

    def _implied(self, reference: Any = None) -> "LogisticRegression":
        from linsep.logistic.implied import implied

        how = "Gaussian naive Bayes"
        model = implied(self.classes_, self.priors_, reference, how, self.n_rows_, self._weights)
        for name in ("feature_names_in_", "threshold_"):
            if hasattr(self, name):
                setattr(model, name, getattr(self, name))
        return model

    def _weights(self, reference: int) -> tuple[np.ndarray, np.ndarray]:
        """Return weights of all classes against one, and the log-odds at zero; weights of zero if
        each class has its own variances.
        """
        apart = self.means_ - self.means_[reference]
        apart[self.priors_ == 0] = 0.0
        used = (self.variances_ > 0) & (self.variances_.ndim == 1)
        coef = np.divide(apart, self.variances_, out=np.zeros_like(apart), where=used)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.log(self.priors_) - np.log(self.priors_[reference])
        # halfway to the reference the log-odds equal the log-odds of the class shares
        return coef, shares - (coef * (self.means_[reference] + apart / 2)).sum(axis=1)

    def _by_distance(self, X: Any, scores: np.ndarray, reference: int) -> np.ndarray:
        """Return log-odds by the distances of the means, against the reference; against the most
        probable class where that exceeds it by BEYOND, which would cost the others digits.
        """
        if sp.issparse(X) and self.variances_.ndim == 1:
            return scores
        d, found = X.shape[1], np.empty_like(scores)  # rows of a sparse source may be narrower
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            shares = np.log(self.priors_)
            each = np.broadcast_to(self.variances_, self.means_.shape)
            for k, (mean, variance) in enumerate(zip(self.means_, each, strict=True)):
                used = variance > 0  # a constant feature has no information
                precision = np.divide(1.0, variance, out=np.zeros_like(variance), where=used)
                if sp.issparse(X):
                    squares = X.multiply(X) @ precision[:d] - 2 * (X @ (precision * mean)[:d])
                    squares = squares + precision @ mean**2
                else:
                    squares = (X - mean) ** 2 @ precision
                found[:, k] = shares[k] - (np.log(variance[used]).sum() + squares) / 2
        if not np.isfinite(found[:, self.priors_ > 0]).all():
            raise DataError(
                "The score of a row overflows float64; scale the features.", code="overflow"
            )
        against, best = found[:, [reference]], found.max(axis=1, keepdims=True)
        return found - np.where(against > best - BEYOND, against, best)

    def predictions(self, source: Source) -> Prediction:
        """Return the predictions for the rows of a source."""
        return scoring_regression(self).predictions(source)

    def _scored(self, X: Any, missing: str | None) -> tuple["LogisticRegression", Any]:
        check_is_fitted(self)
        X, model = to_predict(self, X, missing), scoring_regression(self)
        if not isinstance(X, Source):
            check_prepared(self)
            X = rows_to_fit(X, self, FLOATS, order="C", reset=False)
            model.__dict__.pop("feature_names_in_", None)
        return model, X

    def decision_function(self, X: Any, missing: str | None = None) -> np.ndarray:
        """Return the log-odds, as :meth:`LogisticRegression.decision_function`."""
        model, X = self._scored(X, missing)
        return model.decision_function(X)

    def predict(self, X: Any, missing: str | None = None) -> np.ndarray:
        """Predict the most probable class of each row, and the smaller class at equal odds. After
        :func:`linsep.set_threshold`, predict the positive class from the threshold on.

        With ``missing="skip"`` the prediction of a row with a missing value is None.
        """
        model, X = self._scored(X, missing)
        return model.predict(X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy on X and y, or on a source, frame or file with its own labels."""
        return share_right(self, X, y, sample_weight)

    def predict_proba(self, X: Any, missing: str | None = None) -> np.ndarray:
        """Return class probabilities, shape (rows, classes), in the order of ``classes_``.

        With ``missing="skip"``, rows with a missing value have NaN.
        """
        model, X = self._scored(X, missing)
        return model.predict_proba(X)

    def predict_log_proba(self, X: Any, missing: str | None = None) -> np.ndarray:
        """Return the logarithms of :meth:`predict_proba`."""
        model, X = self._scored(X, missing)
        return model.predict_log_proba(X)


def _in_memory(X: Any, codes: np.ndarray, sample_weight: Any) -> Lanes:
    weights = labels.check_sample_weight(sample_weight, len(codes))
    block = Batch(X, codes, weights=weights if weights.size else None)
    return Lanes(lambda: iter([block]))


def _rows_of(reading: Reading, stream: "SourceStream") -> Iterator[Batch]:
    """Yield the rows of a stream with their codes and weights until interrupted."""
    for row_batch in reading.of(iter(stream.row_batches(0))):
        reading.count(row_batch.codes.size)
        yield row_batch.as_batch()


def checked_priors(given: Any, classes: np.ndarray) -> np.ndarray:
    """Return the probabilities of the classes; raise ParameterError if they are invalid."""
    priors = np.asarray(given)
    number = priors.dtype.kind in "biuf" and priors.shape == classes.shape
    if not number or (priors < 0).any() or not abs(priors.sum() - 1.0) <= 1e-8:
        raise ParameterError(
            f"priors must be one probability for each of {labels.listed(classes.tolist())}, in "
            f"this order, and add up to 1; got {str(given)[:60]}.", option="priors",
        )  # fmt: skip
    return priors.astype(np.float64)


def scoring_regression(model: GaussianNaiveBayes) -> "LogisticRegression":
    """Return the logistic regression that predicts the same as a naive Bayes classifier."""
    check_is_fitted(model)
    found = model._implied()
    if is_curved(model) or model.classes_.size > 2:
        found._nearer = model._by_distance
    if hasattr(model, "recipe_"):
        found.recipe_ = model.recipe_
    return found


def fit_lanes(model: GaussianNaiveBayes, classes: np.ndarray, lanes: Lanes) -> None:
    """Fit naive Bayes to lanes with y as codes of ``classes``."""
    model._take(classes, class_moments(lanes, classes.size))
