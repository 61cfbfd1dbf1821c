"""Logistic regression as a scikit-learn estimator."""

from typing import Any, Literal, get_args

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils.validation import check_is_fitted, validate_data

from linsep.errors import DataError
from linsep.estimators._common import checking as labels
from linsep.estimators._common.checking import INTERCEPT, Parameter, ScheduleName, check_parameters
from linsep.estimators._common.fitted_classes import FittedClasses
from linsep.estimators._common.predicting import brings_labels, share_right
from linsep.estimators._common.predicting_sources import (
    LogisticPrediction,
    codes_of,
    log_probabilities,
)
from linsep.estimators._logistic.fitting import LogisticFitting
from linsep.estimators._logistic.profiles import refuse_together
from linsep.estimators._logistic.results import LogisticResults
from linsep.estimators._logistic.rows import FLOATS, Rows, checked, encoded, fit_source
from linsep.sources.base import Source
from linsep.sparse_rows import as_csr

Solver = Literal["newton", "lbfgs", "gradient_ascent"]
OnSeparation = Literal["warn", "raise"]
Intervals = Literal["wald", "profile"]


class LogisticRegression(
    LogisticFitting, LogisticResults, CallbackSupportMixin, ClassifierMixin, BaseEstimator
):
    """Maximum conditional likelihood, with a proof where there is no maximum.

    P(y = 1 | x) = 1 / (1 + exp(-(b + <w, x>))); of several classes P(y = k | x) is proportional to
    exp(b_k + <w_k, x>), the weights of the reference being zero.

    Parameters
    ----------
    solver : {"newton", "lbfgs", "gradient_ascent"}, default="newton"
        Newton's method: by a Cholesky factor up to 2,500 weights, else by conjugate gradients.
        "lbfgs": limited-memory quasi-Newton, preconditioned; up to 2,500 weights Newton's method
        makes the last steps. "gradient_ascent": w += eta sum of x (y - p) until that step is no
        longer than ``tol``. Whatever the solver and its reason to stop, it is then proved that
        the likelihood has a maximum, or asked of :func:`linsep.separation`.
    l2 : float, default=0.0
        What is maximised is the log-likelihood - l2 / 2 times the sum of squared coefficients,
        intercepts left out. For several classes those of all classes count, as if they added up to
        zero, so that the reference does not matter. (scikit-learn's C is 1 / l2.)
    penalty : {"firth"} or None, default=None
        "firth": what is maximised is Firth's penalised likelihood, the log-likelihood + ln |I| / 2
        with I the information, for rows in memory and up to 2,500 weights, by Newton's method. Its
        estimates are less biased in small samples, and finite whatever the data. Without l2.
    fit_intercept : bool, default=True
    reference : label or None, default=None
        The class whose weights are zero: of two the smaller, of several the last.
    on_separation : {"warn", "raise"}, default="warn"
        Where no maximum exists: a :class:`linsep.errors.SeparationWarning` with the verdict, and
        the limit; or a :class:`linsep.errors.SeparationError`. With l2 or Firth's penalty there
        always is a maximum, and it is not asked whether the data are separable.
    intervals : {"wald", "profile"} or None, default=None
        Intervals and p-values of the weights: Wald's (estimate -+ quantile times standard error),
        or those of the profile of the (penalised) likelihood, for rows in memory and up to 2,500
        weights; a few fits for each. None: "profile" with Firth's penalty, else "wald".
    level : float, default=0.95
        Of the intervals in the summary, and of profile intervals.
    class_weight : dict {label: weight}, "balanced" or None, default=None
        What the weight of each row is multiplied by. "balanced": total weight of the rows /
        (classes * weight of the rows of the class); rows of weight 0 do not count.
    max_iter : int, default=1000
    tol : float or None, default=None
        "newton", "lbfgs": how far from the maximum, in standard errors, the last step may begin
        (the Newton decrement): no linear combination of the weights is further away.
        "gradient_ascent": length of the next step. None: 1e-8; 1e-3 where there are more than 2,500
        weights, of which there are no standard errors.
    learning_rate : float, function of k or "auto", default="auto"
        Of "gradient_ascent". "auto" is 1 / (a bound on the curvature), which never overshoots.
    schedule : {"constant", "inverse", "inverse_sqrt"}, default="constant"
        Of "gradient_ascent": how a number for learning_rate goes on.
    trace : bool, default=False
        Of "gradient_ascent": keep all iterates, in ``ascent_``.

    Attributes
    ----------
    classes_ : array of shape (classes,)
    reference_ : label
    coef_ : array of shape (1, features) or (classes - 1, features), in the order of ``classes_``
        without the reference. Of separable data, where ``limits_`` says so, numbers that are large
        enough to be certain about the rows learnt.
    intercept_ : array of shape (1,) or (classes - 1,)
        -inf for a class whose rows all have weight 0: its probability is 0. (Of two classes +inf if
        that is the reference; of several the last class with weight is then the reference.)
    limits_ : array of str, of the shape of the weights
        "finite", which is proved; or "dependent" on the intercept and the features before it (left
        out), or no finite estimate: "+inf" or "-inf" where that sign is proved, else "infinite"; or
        "not checked": the likelihood may have no maximum, and has more than 2,500 weights and no
        penalty, or a verdict would have taken too long, or the fit was ended before; or "no weight"
        for the weights of a class whose rows all have weight 0.
    log_likelihood_, null_log_likelihood_, deviance_, null_deviance_ : float
    mcfadden_r2_, aic_, bic_ : float
    likelihood_ratio_ : (statistic, degrees of freedom, p), against no features
    covariance_ : array of shape (weights, weights) or None, inverse information; weights by class,
        the intercept last in each
    standard_errors_, z_, p_values_, weights_, estimates_ : arrays of the shape of the weights
    summary_ : :class:`linsep.regression.summary.Summary`
    separation_ : verdict of :func:`linsep.separation`, None where it was not asked
    method_ : "maximum likelihood", "penalised likelihood" or "Firth"
    ascent_ : :class:`linsep.descent.Descent`, of "gradient_ascent"; iterates with ``trace=True``
    stop_reason_ : "converged", "max_iter", "stuck", "separable", "quasi-separable", "undecided",
        "suspect"; "interrupted" by Ctrl-C, or "early_stop", which a callback asked for
    n_iter_, n_rows_, stop_sentence_, n_features_in_, feature_names_in_

    References
    ----------
    D. Cox, The regression analysis of binary sequences, JRSS B 20 (1958). A. Albert and J.
    Anderson, On the existence of maximum likelihood estimates in logistic regression models,
    Biometrika 71 (1984). D. Firth, Bias reduction of maximum likelihood estimates, Biometrika 80
    (1993). G. Heinze and M. Schemper, A solution to the problem of separation in logistic
    regression, Statistics in Medicine 21 (2002).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from linsep import LogisticRegression
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LogisticRegression().fit(X[:, :4], y)
    >>> model.n_iter_, round(model.log_likelihood_, 4), model.coef_.round(3).tolist()
    (9, -105.6834, [[9.429, -0.238, -1.151, -0.033]])
    """

    _parameters = (
        Parameter(
            "solver",
            str,
            "how to climb: second order, quasi-Newton, or as taught",
            choices=get_args(Solver),
        ),
        Parameter("l2", float, "penalty on squared coefficients", low=0.0),
        Parameter(
            "penalty",
            str,
            "Firth's penalised likelihood: less bias, finite estimates",
            choices=("firth",),
            or_none=True,
        ),
        INTERCEPT,
        Parameter(
            "on_separation",
            str,
            "where the likelihood has no maximum: warn, or raise an error",
            choices=get_args(OnSeparation),
        ),
        Parameter(
            "intervals",
            str,
            "intervals and tests of weights: Wald's, or by the profile of the likelihood",
            choices=get_args(Intervals),
            or_none=True,
        ),
        Parameter(
            "level",
            float,
            "level of these intervals",
            low=0.0,
            high=1.0,
            open_low=True,
            open_high=True,
        ),
        Parameter("max_iter", int, "at most this many iterations", low=1),
        Parameter(
            "tol",
            float,
            "how far from the maximum, in standard errors, the last step may begin; if not given, "
            "1e-8, or 1e-3 for more than 2,500 weights",
            low=0.0,
            or_none=True,
        ),
        Parameter(
            "learning_rate",
            float,
            "rate of gradient ascent, at the first step",
            low=0.0,
            open_low=True,
            or_callable=True,
            or_word="auto",
        ),
        Parameter(
            "schedule",
            str,
            "learning rate of step k: constant, divided by k, or by its root",
            choices=get_args(ScheduleName),
        ),
        Parameter("trace", bool, "keep all iterates of gradient ascent"),
    )

    def __init__(
        self,
        *,
        solver: Solver = "newton",
        l2: float = 0.0,
        penalty: Literal["firth"] | None = None,
        fit_intercept: bool = True,
        reference: Any = None,
        on_separation: OnSeparation = "warn",
        intervals: Intervals | None = None,
        level: float = 0.95,
        class_weight: Any = None,
        max_iter: int = 1000,
        tol: float | None = None,
        learning_rate: Any = "auto",
        schedule: ScheduleName = "constant",
        trace: bool = False,
    ):
        self.solver = solver
        self.l2 = l2
        self.penalty = penalty
        self.fit_intercept = fit_intercept
        self.reference = reference
        self.on_separation = on_separation
        self.intervals = intervals
        self.level = level
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.tol = tol
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.trace = trace

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Find the weights of the largest likelihood, or what it comes to where there are none.

        Parameters
        ----------
        X : array or sparse matrix of shape (rows, features), or a Source
            Used without a copy when it is float32 or float64 and C-contiguous, or CSR. A source
            (:func:`linsep.open_source`) is read batch by batch, in flat memory, once an
            iteration; it brings its own labels, so y is left out. Where it is separable and has
            more rows than fit in its memory, it is read again for the proof, and the weights stay
            where the climb was broken off.
        y : array of shape (rows,), labels of any type
        sample_weight : array of shape (rows,), default ones
            How often each row counts.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For a parameter, row, label or weight that cannot be learnt from, and where
            ``solver="gradient_ascent"`` diverges.
        SeparationError
            Where data are separable, if on_separation="raise".

        KeyboardInterrupt
            On Ctrl-C, after the weights so far were kept; ``limits_``, standard errors and
            intervals say what is not known then. Before the first iteration nothing is kept.

        Warns
        -----
        UserWarning
            For a class whose rows all have weight 0, and for a fit that ended before it reached a
            maximum.

        Notes
        -----
        Callbacks of scikit-learn are called at each iteration, by a model of the weights so far,
        and may end the fit.
        """
        refuse_together(self)
        check_parameters(self, self._parameters)
        if brings_labels(X, y, sample_weight):
            fit_source(self, X)
            return self
        self.__dict__.pop("recipe_", None)
        given = X
        X, y = checked(self, X, y)
        classes, codes = encoded(y)
        labels.check_two_classes(classes)
        weights = labels.check_sample_weight(sample_weight, len(y))
        weights = labels.importance(self.class_weight, classes, codes, weights)
        totals = np.bincount(codes, weights if weights.size else None, classes.size)
        labels.warn_of_weightless(classes, totals)
        known = FittedClasses(classes, self._order(classes), totals)
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        self._fit(Rows(given, X, known, codes, weights), {"X": given, "y": y, "metadata": metadata})
        return self

    def _order(self, classes: np.ndarray) -> list[int]:
        """The codes of the classes, that of the reference last."""
        codes = list(range(classes.size))
        if self.reference is None:
            return [1, 0] if classes.size == 2 else codes
        found = np.flatnonzero(classes == self.reference)
        if not found.size:
            known = ", ".join(map(repr, classes.tolist()[:8]))
            raise DataError(f"reference is {self.reference!r}, which is no class of y: {known}.")
        return [code for code in codes if code != found[0]] + [int(found[0])]

    def _prediction(self, source: Source) -> LogisticPrediction:
        """The rows of a source as this model sees them."""
        return LogisticPrediction(self, source)

    def decision_function(self, X: Any) -> np.ndarray:
        """Log-odds.

        Parameters
        ----------
        X : array or sparse matrix of shape (rows, features), or a Source
            A source is read batch by batch; open it with ``recipe=model.recipe_``.

        Returns
        -------
        array of shape (rows,) for two classes: ln of the odds of the larger one; else (rows,
        classes), ln of the odds against the reference, whose column is zero
        """
        check_is_fitted(self)
        if isinstance(X, Source):
            return np.concatenate([scores for _, scores in self._prediction(X).decisions()])
        X = validate_data(
            self, as_csr(X), accept_sparse="csr", dtype=FLOATS, order="C", reset=False
        )
        return self._scores(X)

    def _scores(self, X: Any) -> np.ndarray:
        d = X.shape[1]  # rows of a sparse source may be narrower
        scores = np.asarray(X @ self.coef_[:, :d].T) + self.intercept_
        bad = ~np.isfinite(scores) & np.isfinite(self.intercept_)  # of classes with weight
        if bad.any():
            row = int(np.argwhere(bad)[0, 0])
            raise DataError(f"The score of row {row} is beyond floating point; scale the features.")
        order = self._order_of_classes
        if len(order) == 2:
            return scores[:, 0] if order[0] == 1 else -scores[:, 0]
        found = np.zeros((len(scores), len(order)))
        found[:, order[:-1]] = scores
        return found

    def predict(self, X: Any) -> np.ndarray:
        """The likeliest class of each row; the smaller at equal odds."""
        check_is_fitted(self)
        return self.classes_[codes_of(self.decision_function(X))]

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Share of the rows that are predicted rightly; a source brings its own labels."""
        return share_right(self, X, y, sample_weight)

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class, shape (rows, classes), in the order of ``classes_``."""
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """The logarithms of :meth:`predict_proba`, right far beyond where those become 0."""
        return log_probabilities(self.decision_function(X))
