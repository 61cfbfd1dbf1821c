"""Gaussian naive Bayes: with shared variances the generative counterpart of logistic regression."""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.sparsefuncs import mean_variance_axis
from sklearn.utils.validation import check_is_fitted

from linsep import errors
from linsep.batches import Batch
from linsep.estimators import fitted_state, labels
from linsep.estimators.frames import adds_rows, to_learn, to_predict
from linsep.estimators.predicting import Prediction, share_right
from linsep.estimators.reading import Reading, StopReason
from linsep.estimators.showing import HasEquation, PlotsDecision, is_curved
from linsep.lanes import Lanes, no_weight
from linsep.parameters import HasParameters, check_parameters, parameter
from linsep.sources.base import Source
from linsep.validation.checks import check_beside, check_prepared, labels_of, rows_to_fit

if TYPE_CHECKING:
    from linsep.logistic.estimator import LogisticRegression

#: variance of a constant feature as a share of the largest (scikit-learn adds it to all), and
#: deviation of a feature in a class as a share of its mean that is a rounding error
NARROW, CONSTANT = 1e-9, 1e-12
#: log-odds beyond which rows are scored against their most probable class, not the reference
BEYOND = 2.0**20
#: what a model file holds
STATE: dict[str, Any] = {
    "totals": fitted_state.Array("classes"),
    "means": fitted_state.Array("classes, features"),
    "squares": fitted_state.Array("classes, features"),
    "classes": fitted_state.classes_from,
    "n_rows": fitted_state.count,
    "interrupted": fitted_state.flag,
}


class ClassMoments(NamedTuple):
    """Number of rows of positive weight; of each class the weight, means, and squares about it."""

    n_rows: int
    totals: np.ndarray
    means: np.ndarray
    squares: np.ndarray

    def widened(self, width: int) -> "ClassMoments":
        """Return the moments with additional features that were zero in all rows."""
        more = ((0, 0), (0, max(0, width - self.means.shape[1])))
        return self._replace(means=np.pad(self.means, more), squares=np.pad(self.squares, more))


@np.errstate(over="ignore", invalid="ignore")  # overflow is checked at the end
def lane_moments(n_classes: int, lane: Batch) -> ClassMoments:
    """Return the moments of a lane whose y are class codes."""
    X, shape = lane.X.astype(np.float64, copy=False), (n_classes, lane.X.shape[1])
    weights = np.ones(lane.size) if lane.weights is None else lane.weights
    totals, means, squares = np.zeros(n_classes), np.zeros(shape), np.zeros(shape)
    for k in np.unique(lane.y[weights > 0]):
        rows = np.flatnonzero((lane.y == k) & (weights > 0))
        Z, w = X[rows], weights[rows]
        totals[k] = w.sum()
        if sp.issparse(X):
            Z.sum_duplicates()
            means[k], variances = mean_variance_axis(Z, 0, weights=w)
            squares[k] = variances * totals[k]
        else:
            first = Z[0].copy()  # to sum differences: the variance of equal values is zero
            Z -= first
            shift = w @ Z / totals[k]
            Z -= shift
            means[k], squares[k] = first + shift, w @ np.square(Z, out=Z)
    return ClassMoments(int((weights > 0).sum()), totals, means, squares)


def class_moments(rows: Lanes, n_classes: int) -> ClassMoments:
    """Return the moments of rows, where y holds class codes."""
    moments: ClassMoments | None = rows.sum(partial(lane_moments, n_classes), added_moments)
    if moments is None:
        raise no_weight()
    return moments.widened(rows.width)


@np.errstate(over="ignore", invalid="ignore")
def added_moments(a: ClassMoments, b: ClassMoments) -> ClassMoments:
    """Return the moments over the rows of both parts (Chan, Golub and LeVeque 1983)."""
    a, b = a.widened(b.means.shape[1]), b.widened(a.means.shape[1])
    totals = a.totals + b.totals
    share = np.divide(b.totals, totals, out=np.zeros_like(totals), where=totals > 0)[:, None]
    apart = b.means - a.means
    squares = a.squares + b.squares + a.totals[:, None] * share * apart**2
    return ClassMoments(a.n_rows + b.n_rows, totals, a.means + share * apart, squares)


class GaussianNaiveBayes(HasEquation, PlotsDecision, ClassifierMixin, HasParameters, BaseEstimator):
    """Gaussian naive Bayes: independent Gaussian features within each class.

    P(y = k) = p_k and x_j | y = k ~ N(m_kj, s_j^2), estimated by maximum likelihood. P(y | x) is a
    logistic regression (:meth:`to_logistic`): w_kj = (m_kj - m_rj) / s_j^2 and b_k = ln(p_k / p_r)
    + sum_j (m_rj^2 - m_kj^2) / (2 s_j^2), where r is the reference. With separate variances s_kj^2
    the log-odds are quadratic, as in scikit-learn's ``GaussianNB``, without weights or exports.

    Parameters
    ----------
    variances : "shared" or "by_class", default="shared"
        Whether a feature has one variance for all classes, or one for each class.
    var_smoothing : float, default=0.0 (in scikit-learn 1e-9)
        Fraction of the largest feature variance (over all rows) that is added to all variances.
    priors : array of shape (classes,), default: the shares of the classes
        Prior probabilities in the order of ``classes_``.

    Attributes
    ----------
    classes_, priors_ : arrays of shape (classes,); p_k is 0 if all rows of a class have weight 0
    means_ : array of shape (classes, features); 0 for such a class
    variances_ : array of shape (features,), s_j^2; "by_class" (classes, features), s_kj^2
    equation_ : the log-odds as an equation in the features; print it
    n_rows_, n_features_in_, feature_names_in_, recipe_
    stop_reason_ : "interrupted" after Ctrl-C during the reading of a source (``fit`` raised
        KeyboardInterrupt, and the estimates are from the rows before); else not set

    References
    ----------
    A. Ng and M. Jordan, NIPS 14 (2002). T. Mitchell, Generative and discriminative classifiers:
    naive Bayes and logistic regression (2005).

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
            A source (:func:`linsep.open_source`) is read once, in constant memory; omit y.
        y : array of shape (rows,), labels of any type
        sample_weight : array of shape (rows,), default ones; 2 is as good as the row twice

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a row, label or weight is invalid.

        Warns
        -----
        SeparationWarning, UserWarning
            If a feature varies, but not within a class: its variance is 1e-9 of the largest. If all
            rows of a class have weight 0: its probability is 0.
        """
        check_parameters(self)
        self.__dict__.pop("stop_reason_", None)
        if (source := to_learn(self, X, y, sample_weight)) is not None:
            self._fit_source(source)
            return self
        X, y = labels.checked_rows(self, X, y)
        classes, codes = labels.encode(y)
        self._take(classes, _moments_of(X, codes, sample_weight, classes.size))
        self.__dict__.pop("recipe_", None)
        return self

    @adds_rows
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Update the model with more rows, which may be split into calls in any way.

        Parameters
        ----------
        X, y, sample_weight : as in :meth:`fit`; X may also be a batch of a source
        classes : array of all labels, needed in the first call
            A class without rows so far has probability 0, unless ``priors`` are given.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If something is invalid, or the classes differ from the first call.
        """
        check_parameters(self)
        check_beside(X, y=y, sample_weight=sample_weight)
        first = not hasattr(self, "classes_")
        if first and classes is None:
            raise errors.DataError("classes are missing.", code="needs-option", option="classes")
        known = self.classes_ if classes is None else np.unique(labels_of(list(classes)))
        if not first and not np.array_equal(known, self.classes_):
            raise errors.DataError("classes have changed.", code="other-model", option="classes")
        labels.check_two_classes(known, "classes")
        X = rows_to_fit(X, self, labels.FLOATS, order="C", reset=first)
        y = labels.label_a_row(self, y, X.shape[0])
        found = _moments_of(X, labels.known_codes(known, y), sample_weight, known.size)
        self._take(known, found if first else added_moments(self._moments, found), told=False)
        return self

    def _fit_source(self, source: Source) -> None:
        from linsep.learners.from_source import fit_stream

        reading = Reading()

        def blocks(stream: Any) -> Iterator[Batch]:
            for rows in reading.of(iter(stream.row_batches(0))):
                reading.rows += rows.codes.size
                yield rows.as_batch()

        fit_stream(
            self, source,
            lambda stream: class_moments(Lanes(partial(blocks, stream)), stream.classes.size),
            lambda stream, found: self._take(stream.classes, found.widened(self.n_features_in_)),
            reading, keep=False,
        )  # fmt: skip

    def _take(self, classes: np.ndarray, moments: ClassMoments, told: bool = True) -> None:
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
        varies = (pooled > 0) | (apart[counted] != 0.0).any(axis=0)
        lost = varies & (whole < np.finfo(np.float64).tiny) | ~np.isfinite(whole)
        if lost.any():
            j = int(np.argmax(lost))
            raise errors.FeatureOverflow(j, labels.feature_names(self)[j])
        priors = np.asarray(shares if self.priors is None else self.priors)
        number = priors.dtype.kind in "biuf" and priors.shape == classes.shape
        if not number or (priors < 0).any() or not abs(priors.sum() - 1.0) <= 1e-8:
            order = labels.listed(classes.tolist())
            why = f"priors must be a probability for each of {order}, and add up to 1."
            raise errors.ParameterError(why, option="priors", value=self.priors)
        variances = pooled
        if self.variances == "by_class":
            each = squares / np.where(counted, totals, 1.0)[:, None]
            variances = np.where(counted[:, None], each, pooled)
        self._epsilon = float(self.var_smoothing * whole.max())
        variances = variances + self._epsilon
        narrow = (variances == 0.0) & (whole > 0.0)
        if narrow.any() and told:
            j = int(np.argmax(narrow.reshape(-1, whole.size).any(axis=0)))
            why = f"Feature {labels.feature_names(self)[j]} has zero variance within a class"
            errors.warn_caller(errors.SeparationWarning(f"{why}: 1e-9 of the largest is used."))
        self.classes_, self.priors_, self.means_, self.n_rows_ = classes, 1.0 * priors, means, rows
        self.variances_ = np.where(narrow, NARROW * whole.max(), variances)
        self._moments = moments

    def get_state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return the fitted state for model files: arrays, and facts as plain JSON."""
        values = self._moments._asdict() | {"interrupted": hasattr(self, "stop_reason_")}
        values["classes"] = fitted_state.described(self.classes_)
        return fitted_state.state_of(STATE, values)

    def set_state(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        """Set what :meth:`get_state` returned; ValueError, LookupError or TypeError if damaged."""
        found = fitted_state.restored(STATE, arrays, facts, classes=len(facts["classes"]["values"]))
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
        reference : label of the class without weights, default the smaller of two, or the last

        Returns
        -------
        LogisticRegression, without standard errors; a constant feature has weight 0

        Raises
        ------
        DataError
            If each class has its own variances.
        """
        check_is_fitted(self)
        if is_curved(self):
            why = "Each class has its own variances, so boundaries are curved and have no weights"
            how = errors.Hint("retrain the model with {}", {"variances": "shared"}, again=True)
            raise errors.DataError(why, how, code="unsupported", option="variances")
        return self._implied(reference)

    def _implied(self, reference: Any = None) -> "LogisticRegression":
        from linsep.logistic.estimator import implied

        how = "Gaussian naive Bayes"
        model = implied(self.classes_, self.priors_, reference, how, self.n_rows_, self._weights)
        kept = ("feature_names_in_", "threshold_")
        model.__dict__.update({name: own for name, own in vars(self).items() if name in kept})
        return model

    @np.errstate(divide="ignore", invalid="ignore")
    def _weights(self, reference: int) -> tuple[np.ndarray, np.ndarray]:
        """Return weights against a class (zero if curved), and the log-odds at zero."""
        apart = self.means_ - self.means_[reference]
        apart[(self.priors_ == 0) | (self.priors_[reference] == 0)] = 0.0
        used = (self.variances_ > 0) & (self.variances_.ndim == 1)
        coef = np.divide(apart, self.variances_, out=np.zeros_like(apart), where=used)
        shares = np.log(self.priors_) - np.log(self.priors_[reference])
        # halfway to the reference the log-odds equal the log-odds of the class shares
        return coef, shares - (coef * (self.means_[reference] + apart / 2)).sum(axis=1)

    @np.errstate(divide="ignore", over="ignore", invalid="ignore")
    def _by_distance(self, X: Any, scores: np.ndarray, reference: int) -> np.ndarray:
        """Return log-odds by the distances of the means, against the reference; against the most
        probable class where that exceeds it by BEYOND, which would cost the others digits.
        """
        if sp.issparse(X) and self.variances_.ndim == 1:
            return scores
        means, d = self.means_, X.shape[1]  # rows of a sparse source may be narrower
        each = np.broadcast_to(self.variances_, means.shape)
        used = each > 0  # a constant feature has no information
        precision = np.divide(1.0, each, out=np.zeros_like(means), where=used)
        if sp.issparse(X):
            squares = X.multiply(X) @ precision[:, :d].T - 2 * (X @ (precision * means)[:, :d].T)
            squares += (precision * means**2).sum(axis=1)
        else:
            each_class = range(len(means))
            squares = np.column_stack([(X - means[k]) ** 2 @ precision[k] for k in each_class])
        sizes = np.log(np.where(used, each, 1.0)).sum(axis=1)
        found = np.log(self.priors_) - (sizes + squares) / 2
        if not np.isfinite(found[:, self.priors_ > 0]).all():
            raise errors.DataError("The score of a row overflows float64.", code="overflow")
        against, best = found[:, [reference]], found.max(axis=1, keepdims=True)
        return found - np.where(against > best - BEYOND, against, best)

    def predictions(self, source: Source) -> Prediction:
        """Return the predictions for the rows of a source."""
        return scoring_regression(self).predictions(source)

    def _asked(self, method: str, X: Any, missing: str | None) -> np.ndarray:
        model, X = scoring_regression(self), to_predict(self, X, missing)
        if not isinstance(X, Source):
            check_prepared(self)
            X = rows_to_fit(X, self, labels.FLOATS, order="C", reset=False)
            model.__dict__.pop("feature_names_in_", None)
            model.__dict__.pop("recipe_", None)
        answers: np.ndarray = getattr(model, method)(X)
        return answers

    def decision_function(self, X: Any, missing: str | None = None) -> np.ndarray:
        """Return the log-odds, as :meth:`LogisticRegression.decision_function`."""
        return self._asked("decision_function", X, missing)

    def predict(self, X: Any, missing: str | None = None) -> np.ndarray:
        """Return the most probable class of each row, the smaller one at equal odds, or that of a
        threshold (:func:`linsep.set_threshold`); with ``missing="skip"`` None for a row with gaps.
        """
        return self._asked("predict", X, missing)

    def predict_proba(self, X: Any, missing: str | None = None) -> np.ndarray:
        """Return class probabilities of shape (rows, classes), in the order of ``classes_``; with
        ``missing="skip"`` NaN for a row with gaps.
        """
        return self._asked("predict_proba", X, missing)

    def predict_log_proba(self, X: Any, missing: str | None = None) -> np.ndarray:
        """Return the logarithms of :meth:`predict_proba`."""
        return self._asked("predict_log_proba", X, missing)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy on X and y, or on a source, frame or file with its own labels."""
        return share_right(self, X, y, sample_weight)


def _moments_of(X: Any, codes: np.ndarray, sample_weight: Any, n_classes: int) -> ClassMoments:
    weights = labels.check_sample_weight(sample_weight, len(codes))
    block = Batch(X, codes, weights=weights if weights.size else None)
    return class_moments(Lanes(lambda: iter([block])), n_classes)


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
