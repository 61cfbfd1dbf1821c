"""Gaussian naive Bayes: with shared variances the generative counterpart of logistic regression."""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
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
from linsep.estimators._common.fitted_state import (
    Array,
    classes_from,
    count,
    described,
    flag,
    number,
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
    from linsep.logistic.inference import Nearer
    from linsep.rows.source_stream import SourceStream

#: variance of a constant feature, as a share of the largest; scikit-learn adds it to all
NARROW = 1e-9
#: log-odds beyond which rows are scored against their most probable class, not the reference
BEYOND = 2.0**20
#: variance below which squares are subnormal floats
LEAST = float(np.finfo(np.float64).tiny)


class ClassMoments(NamedTuple):
    """Moments of the classes over the rows seen so far.

    Attributes
    ----------
    rows : int, number of rows of positive weight
    totals : array of shape (classes,), summed row weights
    means : array of shape (classes, features)
    squares : array of shape (classes, features), weighted squares around the class means, or of
        shape (features,), their sum over the classes
    """

    rows: int
    totals: np.ndarray
    means: np.ndarray
    squares: np.ndarray

    @property
    def pooled(self) -> np.ndarray:
        """The variances that all classes share."""
        squares = self.squares if self.squares.ndim == 1 else self.squares.sum(axis=0)
        shared: np.ndarray = squares / self.totals.sum()
        return shared

    def widened(self, width: int) -> "ClassMoments":
        """Return the moments with additional features that were zero in all rows."""
        if (more := width - self.means.shape[1]) <= 0:
            return self
        means, squares = (
            np.pad(a, [(0, 0)] * (a.ndim - 1) + [(0, more)]) for a in (self.means, self.squares)
        )
        return self._replace(means=means, squares=squares)


class InClasses(NamedTuple):
    """The moments of a lane, where y holds class codes; squares of each class if they are its
    ``own``.

    They are summed as differences from a row of the class. Differences that are small relative to
    the values are exact, so equal values have zero variance.
    """

    n_classes: int
    own: bool = False

    def __call__(self, lane: Batch) -> ClassMoments:
        """Return the moments of a lane."""
        if lane.weights is not None and not lane.weights.all():  # others may overflow float64
            lane = lane.rows(lane.weights > 0)
        weights = np.ones(lane.size) if lane.weights is None else lane.weights
        with np.errstate(over="ignore", invalid="ignore"):  # overflow is checked at the end
            of = self._of_stored if sp.issparse(lane.X) else self._of_rows
            return ClassMoments(lane.size, *of(lane.X, lane.y, weights))

    def _of_rows(self, X: np.ndarray, codes: np.ndarray, weights: np.ndarray) -> Any:
        shape = (self.n_classes, len(codes))
        member = sp.csr_matrix((weights, (codes, np.arange(len(codes)))), shape=shape)
        totals = np.asarray(member.sum(axis=1)).ravel()
        known, first = np.unique(codes, return_index=True)
        firsts = np.zeros((self.n_classes, X.shape[1]))
        firsts[known] = X[first]
        Z = X - firsts[codes]
        shifts = np.asarray(member @ Z) / np.where(totals > 0, totals, 1.0)[:, None]
        Z -= shifts[codes]
        np.square(Z, out=Z)
        return totals, firsts + shifts, np.asarray(member @ Z) if self.own else weights @ Z

    def _of_stored(self, X: Any, codes: np.ndarray, weights: np.ndarray) -> Any:
        """Return the moments of sparse rows, as differences from zero, or from the first value of a
        column all of whose values in a class are stored.
        """
        X = sp.csr_array(X)  # not to change the given one
        X.sum_duplicates()
        shape = self.n_classes, X.shape[1]
        row = np.repeat(np.arange(len(codes)), np.diff(X.indptr))
        place, w = codes[row] * np.int64(shape[1]) + X.indices, weights[row]

        def summed(values: np.ndarray | None) -> np.ndarray:
            return np.bincount(place, values, minlength=shape[0] * shape[1]).reshape(shape)

        totals = np.bincount(codes, weights, minlength=shape[0])
        all_stored = summed(None) == np.bincount(codes, minlength=shape[0])[:, None]
        firsts = np.zeros(shape)
        firsts.ravel()[place[::-1]] = X.data[::-1]  # the first is written last
        firsts[~all_stored] = 0.0
        Z = X.data - firsts.ravel()[place]
        shifts = summed(w * Z) / np.where(totals > 0, totals, 1.0)[:, None]
        # where each row has a value, the difference of the sums is rounding
        zeros = np.where(all_stored, 0.0, np.maximum(totals[:, None] - summed(w), 0.0))
        own = summed(w * (Z - shifts.ravel()[place]) ** 2) + zeros * shifts**2
        return totals, firsts + shifts, own if self.own else own.sum(axis=0)


def class_moments(rows: Lanes, n_classes: int, own: bool = False) -> ClassMoments:
    """Return the moments of rows, where y holds class codes; ``own`` squares for each class."""
    moments: ClassMoments | None = rows.sum(InClasses(n_classes, own), added_moments)
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
        between = a.totals[:, None] * share * (b.means - a.means) ** 2
        means = np.where(share == 1, b.means, a.means + share * (b.means - a.means))
        squares = a.squares + b.squares + (between if a.squares.ndim == 2 else between.sum(axis=0))
    return ClassMoments(a.rows + b.rows, totals, means, squares)


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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

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
        self._take(classes, self._moments_in_memory(X, codes, classes.size, sample_weight))
        self.__dict__.pop("recipe_", None)
        return self

    def _moments_in_memory(
        self, X: Any, codes: np.ndarray, n_classes: int, sample_weight: Any
    ) -> ClassMoments:
        weights = labels.check_sample_weight(sample_weight, len(codes))
        block = Batch(X, codes, weights=weights if weights.size else None)
        return self._moments_of(Lanes(lambda: iter([block])), n_classes)

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
        own = self.variances == "by_class"
        alike = first or (self._moments.squares.ndim == 2) == own
        if not (alike and (first or np.array_equal(known, self.classes_))):
            name = "classes" if alike else "variances"
            raise DataError(
                f"{name} differ from the first call to partial_fit.",
                code="other-model", option=name,
            )  # fmt: skip
        labels.check_two_classes(known, "classes")
        X = rows_to_fit(X, self, FLOATS, order="C", reset=first)
        codes = labels.encode_with(y := labels.label_a_row(self, y, X.shape[0]), known)
        if codes is None:
            raise DataError(
                f"y has labels that are not in classes: {labels.unknown_labels(y, known)}; "
                "list every label in the first call to partial_fit.",
                code="unknown-label",
            )
        moments = self._moments_in_memory(X, codes, known.size, sample_weight)
        moments = moments if first else added_moments(self._moments, moments)
        self._take(known, moments, told=False)
        return self

    def _moments_of(self, rows: Lanes, n_classes: int) -> ClassMoments:
        return class_moments(rows, n_classes, self.variances == "by_class")

    def _fit_source(self, source: Source) -> None:
        from linsep.learners.from_source import fit_stream

        reading = Reading()

        def read(stream: "SourceStream") -> ClassMoments:
            rows = Lanes(partial(_rows_of, reading, stream))
            return self._moments_of(rows, stream.classes.size)

        def learn(stream: "SourceStream", moments: ClassMoments) -> None:
            self._take(stream.classes, moments.widened(self.n_features_in_))

        fit_stream(self, source, read, learn, reading, keep=False)

    def _take(self, classes: np.ndarray, moments: ClassMoments, told: bool = True) -> None:
        """Set the fitted attributes; ``told`` is whether to warn about classes and features."""
        self.__dict__.pop("threshold_", None)
        if told:
            labels.warn_of_weightless(classes, moments.totals)
        lost = ~np.isfinite([moments.pooled, *moments.means]).all(axis=0)
        if lost.any():
            with labels.features_named(self):
                raise FeatureOverflow(int(np.argmax(lost)))
        shares = moments.totals / moments.totals.sum()
        priors = shares if self.priors is None else checked_priors(self.priors, classes)
        counted, pooled = moments.totals > 0, moments.pooled
        apart = moments.means - moments.means[np.argmax(counted)]
        whole = pooled + shares @ (apart - shares @ apart) ** 2
        differ = (apart[counted] != 0.0).any(axis=0)
        tiny = ((pooled > 0) & (pooled < LEAST)) | (differ & (whole < LEAST))
        if tiny.any():
            name = labels.feature_names(self)[int(np.argmax(tiny))]
            raise DataError(
                f"The variance of {name} underflows float64; scale the features.",
                code="overflow", column=name,
            )  # fmt: skip
        variances, own = pooled, moments.squares.ndim == 2
        if own:
            divisor = np.where(counted, moments.totals, 1.0)[:, None]
            variances = np.where(counted[:, None], moments.squares / divisor, pooled)
        largest = whole.max()
        epsilon = float(self.var_smoothing * largest)
        variances = variances + epsilon if epsilon else variances
        narrow = (variances == 0.0) & (whole > 0.0 if own else differ)
        if narrow.any():
            if told:
                j = int(np.argmax(narrow.reshape(-1, narrow.shape[-1]).any(axis=0)))
                where = "within some class" if own else "within each class"
                warn_caller(
                    SeparationWarning(
                        f"Feature {labels.feature_names(self)[j]} varies, but has zero variance "
                        f"{where}: 1e-9 of the largest variance is used; drop the feature if that "
                        "is not intended."
                    )
                )
            variances = np.where(narrow, NARROW * largest, variances)
        self.classes_, self.priors_, self._epsilon = classes, priors, epsilon
        self.means_, self.variances_, self._moments = moments.means, variances, moments
        self.n_rows_ = moments.rows

    @property
    def _state(self) -> dict[str, Any]:
        """What a model file holds; ``epsilon`` is what smoothing added, ``interrupted`` whether
        Ctrl-C ended the reading, ``totals`` and ``squares`` what :meth:`partial_fit` updates.
        """
        spread = Array("classes, features" if self.variances == "by_class" else "features")
        return {
            "priors": Array("classes"), "means": Array("classes, features"), "variances": spread,
            "totals": Array("classes"), "squares": spread, "classes": classes_from,
            "n_rows": count, "epsilon": number, "interrupted": flag,
        }  # fmt: skip

    def get_state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return the fitted state for model files: arrays, and facts as plain JSON."""
        values = {
            "priors": self.priors_, "variances": self.variances_, "epsilon": self._epsilon,
            "classes": described(self.classes_), "n_rows": self.n_rows_,
            "interrupted": hasattr(self, "stop_reason_"),
        }  # fmt: skip
        return state_of(self._state, self._moments._asdict() | values)

    def set_state(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        """Set the state that :meth:`get_state` returned, after checking it.

        Raises
        ------
        ValueError, LookupError or TypeError
            If something is missing or has the wrong shape or type.
        """
        if "own" in arrays:  # files of before: squares are their sum
            arrays = arrays | {"squares": arrays["own"]}
        sizes = {"classes": len(facts["classes"]["values"])}
        found = restored(self._state, arrays, facts, **sizes)
        priors, totals = found["priors"], found["totals"]
        parts = priors, totals, found["squares"], found["variances"]
        if any((part < 0).any() for part in parts) or not (totals.any() and priors.any()):
            raise ValueError("negative moments, or no class of weight")
        self.classes_, self.priors_, self._epsilon = found["classes"], priors, found["epsilon"]
        self.means_, self.variances_ = found["means"], found["variances"]
        self.n_rows_, self.n_features_in_ = found["n_rows"], found["means"].shape[1]
        self._moments = ClassMoments(self.n_rows_, totals, self.means_, found["squares"])
        if found["interrupted"]:
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
        if self.variances_.ndim == 2:
            raise DataError(
                "Each class of this GaussianNaiveBayes has its own variances, so its boundaries "
                "are curved and it has no weights",
                Hint("retrain the model with {}", {"variances": "shared"}, again=True),
                code="unsupported", option="variances",
            )  # fmt: skip
        return self._implied(reference)

    def _implied(
        self, reference: Any = None, nearer: "Nearer | None" = None
    ) -> "LogisticRegression":
        from linsep.logistic.implied import implied

        how = "Gaussian naive Bayes"
        model = implied(
            self.classes_, self.priors_, reference, how, self.n_rows_, self._weights, nearer
        )
        for name in ("feature_names_in_", "threshold_"):
            if hasattr(self, name):
                setattr(model, name, getattr(self, name))
        return model

    def _weights(self, reference: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return weights of all classes against one, the center, and log-odds at the center.

        The center is the mean of all classes, so means far from zero lose digits only in the raw
        intercept. If each class has its own variances, all weights are zero.
        """
        if self.variances_.ndim == 2:
            k, d = self.means_.shape
            return np.zeros((k, d)), np.zeros(d), np.zeros(k)
        apart = self.means_ - self.means_[reference]
        apart[self.priors_ == 0] = 0.0
        center = self.means_[reference] + self.priors_ @ apart
        coef = np.divide(
            apart, self.variances_, out=np.zeros_like(apart), where=self.variances_ > 0
        )
        # halfway to the reference the log-odds equal the log-odds of the class shares
        halfway = apart / 2 + (self.means_[reference] - center)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.log(self.priors_) - np.log(self.priors_[reference])
        return coef, center, shares - (coef * halfway).sum(axis=1)

    def _scorer(self) -> "LogisticRegression":
        """Return the logistic regression that predicts."""
        check_is_fitted(self)
        far = np.ptp(self.means_, axis=0) ** 2 > BEYOND * self.variances_  # costs others digits
        several = self.variances_.ndim == 2 or (self.classes_.size > 2 and far.any())
        model = self._implied(nearer=self._by_distance if several else None)
        if hasattr(self, "recipe_"):
            model.recipe_ = self.recipe_
        return model

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
        check_is_fitted(self)
        return self._scorer().predictions(source)

    def _scored(self, X: Any, missing: str | None) -> tuple["LogisticRegression", Any]:
        check_is_fitted(self)
        X = to_predict(self, X, missing)
        if isinstance(X, Source):
            return self._scorer(), X
        check_prepared(self)
        X = rows_to_fit(X, self, FLOATS, order="C", reset=False)
        model = self._scorer()
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


def _rows_of(reading: Reading, stream: "SourceStream") -> Iterator[Batch]:
    """Yield the rows of a stream with their codes and weights until interrupted."""
    for row_batch in reading.of(iter(stream.row_batches(0))):
        reading.count(row_batch.codes.size)
        yield row_batch.as_batch()


def checked_priors(given: Any, classes: np.ndarray) -> np.ndarray:
    """Return the probabilities of the classes; raise ParameterError if they are invalid."""
    try:
        priors = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        priors = np.empty(0)
    one_each = priors.shape == classes.shape and (priors >= 0).all()
    if not one_each or abs(priors.sum() - 1.0) > 1e-8:
        raise ParameterError(
            f"priors must be one probability for each of {labels.listed(classes.tolist())}, in "
            f"this order, and add up to 1; got {str(given)[:60]}.", option="priors",
        )  # fmt: skip
    return priors


def scoring_regression(model: GaussianNaiveBayes) -> "LogisticRegression":
    """Return the logistic regression that predicts the same as a naive Bayes classifier."""
    return model._scorer()


def fit_lanes(model: GaussianNaiveBayes, classes: np.ndarray, lanes: Lanes) -> None:
    """Fit naive Bayes to lanes with y as codes of ``classes``."""
    check_parameters(model)
    model._take(classes, model._moments_of(lanes, classes.size))
