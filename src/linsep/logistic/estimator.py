"""Logistic regression as a scikit-learn estimator, and what can be inferred from a fit."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from dataclasses import replace
from functools import partial
from operator import add
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from scipy.special import chdtri, expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.callback import CallbackSupportMixin
from sklearn.utils.validation import check_is_fitted

from linsep._system.interrupts import interrupts_deferred
from linsep._system.threads import one_blas_thread
from linsep.batches import Batch
from linsep.checkpoints.saving import as_checkpoint
from linsep.errors import DataError, ParameterError, hint, refuse, warn_caller
from linsep.estimators import fitted_state as stored, labels
from linsep.estimators.frames import to_learn, to_predict
from linsep.estimators.predicting import codes_of, decided, log_probabilities, share_right
from linsep.estimators.showing import PlotsDecision
from linsep.inference import results, robust
from linsep.inference.hypotheses import WithTests
from linsep.inference.table import ODDS_RATIO, Facts, Summary
from linsep.logistic import newton
from linsep.logistic.effects import MOST_NAMED, LogisticPrediction, first_of
from linsep.logistic.task import (
    DOING,
    MOST_WEIGHTS,
    UNINFERRED,
    UNKNOWN,
    UNSIGNED,
    Callbacks,
    FittedClasses,
    Solution,
    State,
    Steps,
    Stopped,
    Task,
    given_counts,
    lane_rows,
    order_of,
    pairs_of,
    refuse_beside_counts,
    task_of_arrays,
    task_of_stream,
)
from linsep.parameters import (
    HasParameters,
    ScheduleName,
    as_fitted,
    check_parameters,
    fitted_parameter,
    parameter,
)
from linsep.sources.base import Source
from linsep.validation.checks import check_prepared, rows_to_fit
from linsep.words import row_text

if TYPE_CHECKING:
    from linsep.inference.diagnostics import Diagnostics

#: columns to rows up to which estimates are hardly biased, and so few columns, whatever the rows
FEW_COLUMNS, FEWEST = 0.05, 9
#: values of ``limits_``, by which files number them
LIMITS = ("finite", "dependent", "+inf", "-inf", "infinite", UNKNOWN, UNSIGNED)
#: numbers of a fit, NaN if there are none
NUMBERS = "log_likelihood_", "null_log_likelihood_", "_gained", "penalized_log_likelihood_"


def _or_none(value: Any) -> float | None:
    return None if value is None else stored.number(value)


#: the attributes in a model file: arrays of the classes but the reference, with the intercept last,
#: and facts; ``limits`` are numbers in :data:`LIMITS`; ``profile`` the ends of intervals, and p
STATE: dict[str, tuple[str, Any]] = {
    "coef": ("coef_", stored.Array("classes, features")),
    "intercept": ("intercept_", stored.Array("classes", finite=False)),
    "limits": ("limits_", stored.Array("classes, weights", np.uint8)),
    "covariance": (
        "_covariance", stored.Array("all weights, all weights", optional=True, finite=False)
    ),
    "classes": ("classes_", stored.classes_from),
    "reference": ("reference_", stored.as_it_is),
    **{f"fit.{name}": (name, _or_none) for name in NUMBERS},
    "n_rows": ("n_rows_", stored.count),
    "total_weight": ("_total_weight", float),
    "n_iter": ("n_iter_", stored.count),
    **{name: (f"{name}_", str) for name in ("method", "stop_reason", "stop_sentence")},
    "profile": ("_profile", stored.Array("3, classes, weights", optional=True, finite=False)),
    "clusters": ("_clusters", stored.as_it_is),
    "separation": ("separation_", stored.as_it_is),
    "signature": ("rows_signature_", results.stored_signature),
    "dependent": ("_depends", stored.as_it_is),
    "offset": ("_with_offset", stored.flag),
    "fractional": ("_fractional", stored.flag),
    "saturated": ("_saturated", _or_none),
    "pearson": ("pearson_chi2_", _or_none),
}  # fmt: skip


PARTS = {name: part for name, (_, part) in STATE.items()}
#: attributes that are set before a fit; it replaces all others that end with "_"
BEFORE = ("n_features_in_", "feature_names_in_", "recipe_")


class LogisticRegression(
    WithTests,
    PlotsDecision,
    CallbackSupportMixin,
    ClassifierMixin,
    HasParameters,
    BaseEstimator,
):
    """Logistic regression by maximum likelihood, with a proof if no maximum exists.

    With two classes P(y = 1 | x) = 1 / (1 + exp(-(b + <w, x>))). With several, P(y = k | x) is
    proportional to exp(b_k + <w_k, x>), where the weights of the reference class are zero.

    Parameters
    ----------
    solver : {"newton", "gradient_ascent"}, default="newton"
        "newton": by a Cholesky factor for up to 2,500 weights, by conjugate gradients for more.
        "gradient_ascent": w += eta sum of x (y - p). Both prove that there is a maximum, or ask
        :func:`linsep.separation`.
    l2 : float, default=0.0
        Maximize the log-likelihood - l2 / 2 times the sum of squared coefficients, without
        intercepts (scikit-learn's C is 1 / l2); for several classes, of all classes, shifted to sum
        to zero.
    penalty : {"firth"} or None, default=None
        "firth": maximize the log-likelihood + ``ln |I| / 2`` with the information I: less bias in
        small samples, finite estimates. For rows in memory and at most 2,500 weights, without l2.
    fit_intercept : bool, default=True
    reference : label or None, default=None
        The class whose weights are zero. None: the smaller label of two, the last of several.
    on_separation : {"warn", "raise"}, default="warn"
        If no maximum exists: issue a :class:`linsep.errors.SeparationWarning` with the verdict and
        estimate the limit, or raise a :class:`linsep.errors.SeparationError`. With a penalty a
        maximum always exists, and separability is not checked.
    intervals : {"wald", "profile"} or None, default=None
        "wald": estimate -+ quantile times standard error. "profile": by the (penalized) likelihood,
        for rows in memory and at most 2,500 weights. None: "profile" with Firth's penalty, else
        "wald".
    level : float, default=0.95
        Confidence level of the intervals in the summary and of profile intervals.
    covariance : {"HC0", "HC1", "CR1"} or None, default=None
        None: the inverse information A. "HC0": A M A with the sum M of s s' over the rows, of
        scores s = w (y - p) x with row weights w. "HC1": HC0 times n / (n - k) for n rows and k
        estimates. "CR1": s summed over each of G clusters, times G / (G - 1) (n - 1) / (n - k),
        with t tests of G - 1 degrees of freedom. Not with l2, Firth's penalty or profiles.
    dispersion : "estimated" or None, default=None
        For counts: multiply the covariance by Pearson's chi-squared per residual degree of freedom,
        as R's quasibinomial; the statistics are then t and F, AIC and BIC NaN. Not with a robust
        covariance, l2, Firth's penalty or profiles.
    class_weight : dict {label: weight}, "balanced" or None, default=None
        Positive factors of the row weights by class. "balanced": total weight of the rows / (number
        of classes * weight of the rows of the class); rows of weight 0 are ignored.
    max_iter : int, default=1000
    tol : float or None, default=None
        "newton": stop when every linear combination of weights is within tol standard errors of
        its maximizer; "gradient_ascent": when the next step is at most tol long. None: 1e-8, or
        1e-3 for more than 2,500 weights, which have no standard errors.
    learning_rate : float, function of k or "auto", default="auto"
        Step size of "gradient_ascent". "auto": 1 / (a bound on the curvature).
    schedule : {"constant", "inverse", "inverse_sqrt"}, default="constant"
        For "gradient_ascent" with a numeric learning_rate: its change with the step number k.
    warm_start : bool, default=False
        Start at the weights of the last fit, which must have the same classes and features. The
        maximum does not depend on it. Not with Firth's penalty.
    trace : bool, default=False
        For "gradient_ascent": store all iterates in ``ascent_``.

    Attributes
    ----------
    classes_ : array of shape (classes,)
    reference_ : label
    coef_ : array of shape (1, features) or (classes - 1, features)
        In the order of ``classes_`` without the reference. Coefficients that diverge have the
        values of a very small ridge penalty: 1e-8 times the total weight of the rows, on squared
        coefficients per standard deviation, or per unit for columns of zeros and ones.
    intercept_ : array of shape (1,) or (classes - 1,)
    limits_ : array of str, of the shape of ``params_``
        "finite", "+inf", "-inf": proved. "infinite": either sign is possible. "sign not checked":
        the work limit ended before the sign was found. "dependent": a linear combination of the
        intercept and earlier features, left out; with more than 2,500 weights only columns of zeros
        are found. "not checked": the likelihood may have no maximum, but there are more than 2,500
        weights and no penalty, or deciding would take too long, or the fit was stopped before.
        Standard errors, tests, AIC and BIC are then NaN.
    dependent_ : dict of the names of dependent features to those that they are combinations of
    log_likelihood_, null_log_likelihood_, deviance_, null_deviance_ : float
        For counts, likelihoods include the binomial coefficients, and deviances are relative to the
        saturated model (one probability per row), as in R's ``glm(cbind(s, t - s) ~ x, binomial)``.
    penalized_log_likelihood_ : float
        Log-likelihood + ``ln |I| / 2`` of Firth, in the units of the data; NaN without the penalty.
    mcfadden_r2_, aic_, bic_ : float
        1 - log-likelihood / log-likelihood without features (McFadden 1974); the criteria without
        Firth's penalty, with ln(n) of the sum of weights, or of ``n_rows_`` for counts; NaN with l2
        or an estimated dispersion, and if neither a maximum nor a limit is proved.
    pearson_chi2_, dispersion_ : float
        For counts, the sum of (successes - trials p)^2 / (trials p (1 - p)), and the factor of
        binomial variances, 1 unless ``dispersion="estimated"``; NaN and 1 for single rows.
    residuals_ : array of shape (rows,), after a fit of single rows in memory, for two classes
    likelihood_ratio_ : (statistic, degrees of freedom, p), against the model without features
        2 (l - l0) and chi-squared (F with a dispersion), NaN where standard errors are not known.
        For separable data l is the supremum, with Firth's penalty the penalized likelihood.
    n_parameters_, df_residual_ : int, the estimated weights, and ``n_rows_`` less these
    params_, standard_errors_, statistics_, p_values_ : arrays
        Of shape (parameters,) for two classes, else (classes - 1, parameters), the intercept first.
        ``params_`` are infinite where an estimate diverges, and NaN where it is unknown; the
        statistics are Wald's z.
    covariance_ : array or frame of shape (parameters, parameters) or None; ``param_names_``: list
    equation_ : the log-odds as an equation in the features, in the units of the data; print it
    separation_ : verdict of :func:`linsep.separation`, None if it was not needed
    method_ : "maximum likelihood", "penalized likelihood" or "Firth"
    ascent_ : :class:`linsep.descent.Descent`, for "gradient_ascent"
    stop_reason_ : "converged", "max_iter", "stuck", "separable", "quasi-separable", "undecided",
        "suspect", "interrupted" (by Ctrl-C) or "early_stop" (by a callback)
    n_rows_ : int, number of rows of positive weight; for counts, of rows with trials
    n_iter_, stop_sentence_, n_features_in_, feature_names_in_

    References
    ----------
    D. Cox, JRSS B 20 (1958). A. Albert and J. Anderson, On the existence of maximum likelihood
    estimates in logistic regression models, Biometrika 71 (1984). D. Firth, Biometrika 80 (1993).
    G. Heinze and M. Schemper, A solution to the problem of separation in logistic regression,
    Statistics in Medicine 21 (2002).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from linsep import LogisticRegression
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LogisticRegression().fit(X[:, :4], y)
    >>> model.n_iter_, round(model.log_likelihood_, 4), model.coef_.round(3).tolist()
    (9, -105.6834, [[9.429, -0.238, -1.151, -0.033]])
    """

    solver: Literal["newton", "gradient_ascent"] = parameter(
        default="newton", help="method: Newton, or gradient ascent"
    )
    l2: float = parameter(default=0.0, at_least=0.0, help="penalty on squared coefficients")
    penalty: Literal["firth"] | None = parameter(
        default=None, help="Firth's penalized likelihood: less bias, finite estimates"
    )
    fit_intercept: bool = parameter(default=True, help="fit an intercept")
    reference: Any = None
    on_separation: Literal["warn", "raise"] = parameter(
        default="warn", help="if the likelihood has no maximum: warn, or raise an error"
    )
    intervals: Literal["wald", "profile"] | None = parameter(
        default=None, help="intervals and tests of weights: Wald or profile likelihood"
    )
    level: float = parameter(
        default=0.95, above=0.0, below=1.0, help="confidence level of these intervals"
    )
    covariance: robust.OfLogistic | None = parameter(default=None, help=robust.HELP)
    dispersion: Literal["estimated"] | None = parameter(
        default=None, help="of counts: 1, or estimated from Pearson's residuals (quasi-binomial)"
    )
    class_weight: Any = None
    max_iter: int = parameter(default=1000, at_least=1, help="maximum number of iterations")
    tol: float | None = parameter(
        default=None, at_least=0.0, help="distance to the maximum, in standard errors, at which to "
        "stop; if not given, 1e-8, or 1e-3 for more than 2,500 weights",
    )  # fmt: skip
    learning_rate: float | Literal["auto"] | Callable[[int], float] = parameter(
        default="auto", above=0.0, called_with="k", help="initial learning rate of gradient ascent"
    )
    schedule: ScheduleName = parameter(
        default="constant",
        help="learning rate of step k: constant, divided by k, or by its square root",
    )
    warm_start: bool = parameter(default=False, help="start at the weights of the last fit")
    trace: bool = parameter(default=False, help="store all iterates of gradient ascent")

    EXCLUDING = (
        ("penalty", "l2", None), ("penalty", "warm_start", None),
        ("penalty", "solver", "gradient_ascent"), ("l2", "intervals", None),
        *((one, *other) for one in ("covariance", "dispersion") for other in (
            ("l2", None), ("penalty", None), ("intervals", "profile"))),
        ("dispersion", "covariance", None), ("class_weight", "covariance", robust.CLUSTERED),
    )  # fmt: skip

    def __sklearn_is_fitted__(self) -> bool:
        return "coef_" in vars(self)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name == "_profile" or (name.endswith("_") and not name.startswith("_")):
                check_is_fitted(self)
            return object.__getattribute__(self, name)

    @stored.calls_back
    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, checkpoint: Any = None,
        clusters: Any = None, offset: Any = None, successes: Any = None, trials: Any = None,
    ) -> Self:  # fmt: skip
        """Fit the weights by maximum likelihood, or find their limit if no maximum exists.

        scikit-learn's callbacks get a model of the weights of each iteration, and may stop the fit.

        Parameters
        ----------
        X : array or sparse matrix of shape (rows, features), or a Source
            Not copied if float32 or float64 and C-contiguous, or CSR. A source
            (:func:`linsep.open_source`) has its own labels, and is read in constant memory, once
            per iteration, and again for a proof of separability.
        y : array of shape (rows,), labels of any type
        sample_weight : array of shape (rows,), default ones
            Number of times that each row is counted.
        checkpoint : path or :class:`linsep.Checkpoint`, default None
            A file from which an interrupted fit resumes, with bit-identical results.
        clusters : array of shape (rows,), labels of any type, default None
            For ``covariance="CR1"``; ``group=`` of linsep.fit and open_source names their column.
        offset : array of shape (rows,), or a number; default None
            A known part of the log-odds of each row, without features, too; for two classes.
        successes, trials : arrays of shape (rows,) of whole numbers, 0 <= successes <= trials
            Counts instead of y and sample_weight: a row stands for its successes, of class 1, and
            for the rest of its trials, of class 0. ``trials`` may be one number for all rows.

        Raises
        ------
        ValueError
            If a parameter, row, label, weight, offset or count is invalid, a class has no weight,
            or gradient ascent diverges.
        SeparationError
            If the data are separable and on_separation="raise".
        KeyboardInterrupt
            On Ctrl-C. The weights of the last iteration are kept, if there was one.

        Warns
        -----
        UserWarning
            If the fit stopped before a maximum.
        """
        check_parameters(self)
        counts = {"successes": successes, "trials": trials}
        counted = successes is not None or trials is not None
        if counted:
            refuse_beside_counts(self, y, sample_weight, counts)
        with self.saving(checkpoint) as saving:
            if self.covariance or clusters is not None:
                robust.check_clusters(self, X, clusters, sample_weight)
                clusters = None if clusters is None else robust.cluster_numbers(X, clusters)
            source = to_learn(
                self, X, y, sample_weight, reference=self.fit_intercept, offsets=True,
                offset=offset, clusters=clusters, **counts,
            )  # fmt: skip
            if source is not None:
                self._fit_source(source, saving)
                return self
            if counted:
                X = rows_to_fit(X, self, labels.FLOATS, order="C")
                X, y, sample_weight, offset, clusters = pairs_of(
                    X, successes, trials, offset, clusters
                )
            self._fit_rows(X, y, sample_weight, offset, clusters, saving, counted)
        return self

    def _fit_rows(
        self, X: Any, y: Any, sample_weight: Any, offset: Any, clusters: Any, saving: Any,
        counted: bool = False,
    ) -> None:  # fmt: skip
        self.__dict__.pop("recipe_", None)
        task, y = task_of_arrays(
            self, X, y, sample_weight, offset, clusters, counted=counted, saving=saving
        )
        beside = (("sample_weight", sample_weight), ("offset", offset))
        self._fit(task, saving, X, y, {name: x for name, x in beside if x is not None} or None)
        if not counted and len(self.classes_) == 2:
            (batch,) = task.batches()
            scores = self._scores(batch.X, batch.offset)
            p = expit(scores if self.reference_ == self.classes_[0] else -scores)
            residuals = (y != self.reference_) - p
            self._residuals = residuals if batch.weights is None else residuals[batch.weights > 0]

    def _fit_source(self, source: Source, saving: Any) -> None:
        from linsep.learners.from_source import fit_stream

        def learn(_: Any, task: Task) -> None:
            source.stage = "fitting"
            self._fit(task, saving)

        if saving is not None:
            saving.check_source(source)
        weight = self.class_weight
        fit_stream(
            self, source, partial(task_of_stream, self), learn, keep=True,
            importance=weight
            if weight is None else partial(labels.weigh_classes, weight, path=source.name),
            counts=weight == "balanced", expected=list(weight) if isinstance(weight, dict) else [],
        )  # fmt: skip
        if source.counts:
            self.training_rows_ //= 2

    def saving(self, checkpoint: Any) -> AbstractContextManager[Any]:
        """Return how a fit is saved; ``checkpoint`` as given to ``fit``."""
        if checkpoint is None:
            return nullcontext()
        from linsep.logistic.checkpointing import SavedAscent

        return SavedAscent(as_checkpoint(checkpoint), self)

    def _fit(
        self, task: Task, saving: Any, X: Any = None, y: Any = None, metadata: Any = None
    ) -> None:
        """Maximize the likelihood; keep the weights so far if stopped early."""
        interrupted, shown = False, task.source or SimpleNamespace()
        with interrupts_deferred(), one_blas_thread:
            refuse(ParameterError, (
                self.dispersion is not None and task.groups is None, "An estimated dispersion "
                "needs counts: pass successes and trials.", "needs-option", "dispersion",
            ))  # fmt: skip
            if self.warm_start and hasattr(self, "coef_"):
                task.start = self._start(task)
            task.journal = saving and saving.journal
            self._begin(task)
            signature = task.lanes.sum(results.Signature.of, add, lane_rows(task.n_features))
            self.rows_signature_, self._fractional = str(signature), not signature.whole
            callbacks = Callbacks(self, {"X": X, "y": y, "metadata": metadata})

            def snapshot() -> dict[str, Any]:
                model, found = copy(self), steps.outcome(self, State.EARLY_STOP)
                assert found is not None
                model._set_attributes(task, found)
                return dict(vars(model))

            steps = Steps(lambda: callbacks.iterated(snapshot))
            shown.doing = lambda: DOING[steps.stage].format(steps.made + 1)
            try:
                with labels.features_named(self):
                    found = self._found(task, steps)
                    self.pearson_chi2_ = newton.pearson_of(task, found)
            except (KeyboardInterrupt, Stopped) as ending:
                interrupted = isinstance(ending, KeyboardInterrupt)
                so_far = steps.outcome(self, State.INTERRUPTED if interrupted else State.EARLY_STOP)
                if so_far is None:
                    raise
                found = so_far
            finally:
                shown.doing = None
            self._set_attributes(task, found)
            if (warning := found.ending(self)[1]) is not None:
                warn_caller(warning)
            if interrupted:
                raise KeyboardInterrupt
            callbacks.ended(lambda: dict(vars(self)))

    def _start(self, task: Task) -> np.ndarray:
        known, d = task.known, task.n_features
        same = np.array_equal(self.classes_, known.classes) and self.coef_.shape[1] == d
        refuse(DataError, (
            not same, "With warm_start, the rows must have the classes and features of the last "
            "fit", "other-model", "warm_start", hint("leave {} out", warm_start=None),
        ))  # fmt: skip
        old = order_of(self.reference_, self.classes_)
        weights = np.zeros((len(old), d + 1))
        weights[old[:-1]] = np.column_stack([self.coef_, self.intercept_])
        return (weights[known.order[:-1]] - weights[known.order[-1]])[:, : task.width]

    def _begin(self, task: Task) -> None:
        """Replace the attributes of an earlier fit by what is known of this one before it."""
        for name in [name for name in vars(self) if name.endswith("_") and name not in BEFORE]:
            delattr(self, name)
        self._residuals = None
        known, groups = task.known, task.groups
        self._learned_with = self.get_params(deep=False)
        self.classes_, self.reference_ = known.classes, known.classes.tolist()[known.order[-1]]
        self.separation_, self.n_rows_ = None, task.n_counted
        self.method_ = "penalized likelihood" if self.l2 else "maximum likelihood"
        self._saturated = None if groups is None else float(groups[2])
        self._total_weight, self._with_offset = task.total, task.offsets
        self._fractional, self.pearson_chi2_ = False, np.nan
        #: log-odds of several classes for rows, from those against the reference and its code
        self._nearer: Callable[[Any, np.ndarray, int], np.ndarray] | None = None
        self.null_log_likelihood_ = newton.null_likelihood(task) + task.constant

    def _found(self, task: Task, steps: Steps) -> Solution:
        """Maximize the (penalized) likelihood, or find its limit if there is no maximum."""
        if self.penalty:
            from linsep.logistic.firth import by_firth

            self.method_ = "Firth"
            return by_firth(self, task, steps)
        if self.solver == "gradient_ascent":
            found, self.ascent_ = newton.gradient_ascent(task, steps)
        else:
            found = newton.fitted(task, steps)
        if found.state is State.SUSPECT:
            from linsep.logistic.limits import outcome_of_suspect, tell_separable

            found = outcome_of_suspect(task, found, steps)
            self.separation_ = found.verdict
            if found.state in results.SEPARATED:
                tell_separable(self, task, found, *self._words_and_signs())
        else:
            found = newton.with_robust(task, found) if found.proved else found.unproved()
        if self.intervals == "profile":
            from linsep.logistic.firth import with_profiles

            found = with_profiles(self, task, found, steps)
        return found

    def _set_attributes(self, task: Task, found: Solution) -> None:
        d, value = task.n_features, float(found.log_likelihood)
        if not d and task.intercept:  # the same model; both are rounded
            self.null_log_likelihood_ = value + task.constant
        little = (self.null_log_likelihood_ - task.constant) * (1.0 - 1e-12)
        if found.state in (State.STUCK, State.SUSPECT, State.UNDECIDED) and value <= little:
            raise DataError(
                "The fit made no progress: rounding errors exceed the gain of the first step",
                "scale the features", "leave out features that nearly depend on others",
                code="not-converged",
            )  # fmt: skip
        self.intercept_ = found.weights[:, d].copy() if task.intercept else np.zeros(task.q)
        self.coef_, self.limits_ = found.weights[:, :d].copy(), self._arranged(found.limits)
        self._profile = None if found.profile is None else self._arranged(found.profile)
        self._covariance, self._gained = None, found.gained
        self.penalized_log_likelihood_ = float(found.penalized) + task.constant
        if found.covariance is not None and not self.l2:
            order = self._arranged(np.arange(found.limits.size).reshape(found.limits.shape)).ravel()
            self._covariance, out = found.covariance[np.ix_(order, order)], self.limits_ != "finite"
            self._covariance[out.ravel()] = self._covariance[:, out.ravel()] = np.nan
        self._depends = {} if found.terms is None else found.terms.dependent
        self.log_likelihood_ = value + task.constant
        self._clusters, self.n_iter_ = found.clusters, found.n_iter
        self.stop_reason_ = str(found.state)
        self.stop_sentence_, _ = found.ending(self)
        self._derive()

    def predictions(self, source: Source) -> LogisticPrediction:
        """Return the predictions for the rows of a source."""
        return LogisticPrediction(self, source)

    def decision_function(
        self, X: Any, missing: str | None = None, offset: Any = None
    ) -> np.ndarray:
        """Return the log-odds.

        Parameters
        ----------
        X : array or sparse matrix of shape (rows, features), or a Source
            Open sources with ``recipe=model.recipe_``.
        missing : None or "skip"
            "skip": return NaN for a row with a missing value, instead of raising an error.
        offset : array of shape (rows,), or a number
            Of a model with offsets; sources, frames and files with the training columns have some.

        Returns
        -------
        array of shape (rows,) for two classes, else (rows, classes)
            The log-odds of the larger class, or of each class against the reference (zeros).
        """
        X = to_predict(self, X, missing, offset)
        if isinstance(X, Source):
            return np.concatenate([scores for _, scores, _ in self.predictions(X).codes()])
        X = self._features(X)
        return self._scores(X, labels.offset_to_predict(self, offset, X.shape[0]))

    def _features(self, X: Any) -> Any:
        check_prepared(self)
        return rows_to_fit(X, self, labels.FLOATS, order="C", reset=False)

    def _scores(self, X: Any, offset: np.ndarray | None = None) -> np.ndarray:
        d = X.shape[1]  # rows of a sparse source may be narrower
        with np.errstate(over="ignore", invalid="ignore"):  # said below
            scores = np.asarray(X @ self.coef_[:, :d].T) + self.intercept_
            if offset is not None:
                scores = scores + offset[:, None]
        bad = ~np.isfinite(scores) & np.isfinite(self.intercept_)  # infinite: see `implied`
        if bad.any():
            row = int(np.argwhere(bad)[0, 0])
            raise DataError(
                f"The score of {row_text(row)} overflows float64; scale the features.",
                code="overflow", row=row + 1,
            )  # fmt: skip
        order = order_of(self.reference_, self.classes_)
        found = np.zeros((len(scores), len(order)))
        found[:, order[:-1]] = scores
        found = found if self._nearer is None else self._nearer(X, found, order[-1])
        return found if len(order) > 2 else found[:, 1] - found[:, 0]

    def predict(self, X: Any, missing: str | None = None, offset: Any = None) -> np.ndarray:
        """Predict the most probable class of each row, and the smaller label at equal odds, or by
        the threshold of :func:`linsep.set_threshold`; with ``missing="skip"`` None for a row with a
        missing value. The parameters are those of :meth:`decision_function`.
        """
        X = to_predict(self, X, missing, offset)
        if isinstance(X, Source):
            return self.predictions(X).labels()
        scores = self.decision_function(X, offset=offset)
        return self.classes_[decided(self, scores, codes_of(scores))]

    def diagnostics(
        self, X: Any, y: Any = None, sample_weight: Any = None, offset: Any = None,
        successes: Any = None, trials: Any = None,
    ) -> "Diagnostics":  # fmt: skip
        """Return residuals, leverages and influences of the rows of the fit, collinearity, and the
        Hosmer-Lemeshow test; for two classes.

        Parameters
        ----------
        X, y, sample_weight, offset, successes, trials : the arguments of the last fit, or the frame
            or file with its columns

        Returns
        -------
        linsep.inference.diagnostics.Diagnostics
            With l2, and without a maximum, leverages and numbers computed from them are NaN.

        Raises
        ------
        ValueError
            If these are not the rows of the fit, and for models of several classes.
        """
        from linsep.inference.diagnostics import logistic_diagnostics

        check_is_fitted(self)
        labels_or_counts = y if successes is None else successes
        with self.fitted_rows(X, labels_or_counts, sample_weight, offset) as fitted:
            rows, given, weights, known, named = fitted
            features, counts, each = self._features(rows), None, 1  # type: Any, Any, int
            offsets = labels.offset_to_predict(self, known, features.shape[0])
            if successes is not None:
                counts = given_counts(successes, trials, features.shape[0])
            elif self._saturated is not None:
                pairs = robust.pairs_joined(Batch(features, given, 0, weights, offset=offsets))
                counts, (features, offsets) = (pairs.y, pairs.weights), (pairs.X, pairs.offset)
                each = 2  # rows of the file
            scores = self._scores(features, offsets)
            return logistic_diagnostics(
                self, features, scores, given, weights, lambda rows: named(each * rows), counts
            )

    def score(self, X: Any, y: Any = None, sample_weight: Any = None, offset: Any = None) -> float:
        """Return the accuracy on X and y, or on a source, frame or file with its own labels."""
        return share_right(self, X, y, sample_weight, offset)

    def predict_proba(
        self, X: Any, missing: str | None = None, interval: str | None = None, level: float = 0.95,
        offset: Any = None,
    ) -> Any:  # fmt: skip
        """Return class probabilities, optionally with confidence intervals.

        Parameters
        ----------
        X, missing, offset : as in :meth:`decision_function`
        interval : None or "confidence"
            "confidence": the log-odds of each class against all others, -+ quantile times their
            delta-method standard error, transformed to probabilities.
        level : float, default=0.95
            Coverage of the intervals, between 0 and 1.

        Returns
        -------
        array of shape (rows, classes), in the order of ``classes_``, or with an interval
            :class:`linsep.inference.results.Bands` of such arrays ``prediction``, ``low`` and
            ``high``, NaN where standard errors are unknown, or log-odds infinite.
        """
        if interval is None:
            return np.exp(self.predict_log_proba(X, missing, offset))
        choice = "choose None or 'confidence'"
        results.check_option(interval == "confidence", "interval", interval, choice)
        source = self._source_of(to_predict(self, X, missing, offset), offset)
        bands_of = self.predictions(source).with_bands(results.check_level(level))
        parts = [bands for *_, bands in bands_of]
        return results.Bands(*map(np.concatenate, zip(*parts, strict=True)))

    def _source_of(self, X: Any, offset: Any = None) -> Source:
        if isinstance(X, Source):
            return X
        from linsep.sources.arrays import ArraySource

        X = self._features(X)
        return ArraySource(X, offset=labels.offset_to_predict(self, offset, X.shape[0]))

    def predict_log_proba(
        self, X: Any, missing: str | None = None, offset: Any = None
    ) -> np.ndarray:
        """Return the logarithms of :meth:`predict_proba`, accurate even where those underflow."""
        return log_probabilities(self.decision_function(X, missing, offset))

    def get_state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return the fitted state for a model file: arrays, and facts as plain JSON."""
        shape = (3, len(self.coef_), -1)
        own: dict[str, Any] = {
            name.rpartition(".")[2]: getattr(self, of, None) for name, (of, _) in STATE.items()
        }
        numbers = {name: own[name] for name in (*NUMBERS, "pearson")}
        values = own | {name: None if np.isnan(x) else x for name, x in numbers.items()}
        values |= {
            "classes": stored.described(self.classes_),
            "limits": np.vectorize(LIMITS.index, otypes=[np.uint8])(np.atleast_2d(self.limits_)),
            "profile": None if self._profile is None else self._profile.reshape(shape),
            "reference": stored.plain(self.reference_),
            "separation": None if self.separation_ is None else self.separation_.to_json(),
            "dependent": {str(j): others for j, others in self._depends.items()},
        }  # fmt: skip
        return stored.state_of(PARTS, values)

    def set_state(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        """Set what :meth:`get_state` returned; ValueError, LookupError or TypeError if damaged."""
        (q, d), more = arrays["coef"].shape, bool(self.fit_intercept)
        sizes = {"weights": d + more, "all weights": q * (d + more)}
        found = stored.restored(PARTS, arrays, facts, **sizes)
        found |= {name: np.nan for name in (*NUMBERS, "pearson") if found[name] is None}
        for name, (attribute, _) in STATE.items():
            setattr(self, attribute, found[name.rpartition(".")[2]])
        known = self.classes_.size == q + 1 and self.reference_ in self.classes_.tolist()
        if not known or np.isnan(self.intercept_).any():
            raise ValueError("other classes than weights, or intercepts that are not numbers")
        self.n_features_in_, self._learned_with = d, self.get_params(deep=False)
        shape = (q, d + more) if q > 1 else (d + more,)
        self.limits_ = np.array(LIMITS, dtype="U16")[self.limits_].reshape(shape)
        self._profile = None if self._profile is None else self._profile.reshape(3, *shape)
        self._nearer = None
        self._depends = {int(j): others for j, others in (self._depends or {}).items()}
        if self._clusters is not None:
            robust.Robust.stored(self.covariance, np.zeros(0), self._clusters)
        if self.separation_ is not None:
            from linsep.certificate.proofs import from_json

            self.separation_ = from_json(self.separation_)
        self._derive()

    def _derive(self) -> None:
        quasi, value = fitted_parameter(self, "dispersion"), self.log_likelihood_
        none, top, reason = self.null_log_likelihood_, self._saturated, self.stop_reason_
        self.deviance_, self.null_deviance_ = (
            0.0 - 2.0 * x if top is None else float(np.maximum(0.0, 2.0 * (top - x)))
            for x in (value, none)
        )
        self.mcfadden_r2_ = 1.0 - value / none if none else np.nan
        self.n_parameters_ = int((self.limits_ != "dependent").sum())
        self.df_residual_ = rest = self.n_rows_ - self.n_parameters_
        self.dispersion_ = self.pearson_chi2_ / (rest if rest > 0 else np.nan) if quasi else 1.0
        unproved = reason not in results.SEPARATED and bool((self.limits_ == UNKNOWN).any())
        # whether the weights (nearly) reach a proved maximum without l2, or the supremum
        missing = self._covariance is None and reason == "quasi-separable"  # a ridge has none
        known = not (fitted_parameter(self, "l2") or reason in UNINFERRED or unproved)
        self._inferable = known and not missing
        self.aic_ = self.bic_ = np.nan
        if self._inferable and quasi is None:
            n = self._total_weight if top is None else self.n_rows_
            self.aic_ = -2.0 * value + 2.0 * self.n_parameters_
            self.bic_ = self.aic_ + (np.log(n) - 2.0) * self.n_parameters_
        constants = self.intercept_.size if fitted_parameter(self, "fit_intercept") else 0
        df, tested, p = self.n_parameters_ - constants, np.nan, np.nan
        if self._inferable and not np.isnan(value):
            tested = self._gained if self.method_ == "Firth" else max(0.0, 2.0 * (value - none))
            if quasi is not None and df:
                tested /= df * self.dispersion_
            p = results.upper_tail(tested, df, np.inf if quasi is None else rest)
        self.likelihood_ratio_ = tested, df, p
        clusters = np.inf if self._clusters is None else self._clusters - 1
        self._degrees = clusters if quasi is None else rest
        self._statistic = "z" if np.isinf(self._degrees) else "t"
        V, shape = self._covariance_matrix, self.limits_.shape
        errors = np.full(shape, np.nan) if V is None else np.sqrt(V.diagonal())
        self.standard_errors_ = errors.reshape(shape)

    def _glanced(self) -> dict[str, Any]:
        penalized = ["penalized_log_likelihood"] * (self.method_ == "Firth")
        names = "null_deviance", "deviance", "mcfadden_r2", *penalized
        tested = zip(("chi2", "df", "p_value"), self.likelihood_ratio_, strict=True)
        return {name: getattr(self, f"{name}_") for name in names} | dict(tested)

    def _arranged(self, weights: np.ndarray) -> np.ndarray:
        """Return weights, which have the intercept last, as attributes show them."""
        if fitted_parameter(self, "fit_intercept"):
            weights = np.roll(weights, 1, axis=-1)
        return weights[..., 0, :] if self.classes_.size == 2 else weights

    @property
    def dependent_(self) -> dict[str, list[str]]:
        """The features left out, by name, with those (and "intercept") they are combinations of."""
        names = [*labels.feature_names(self), "intercept"]
        return {names[j]: [names[k] for k in others] for j, others in self._depends.items()}

    @property
    def _words(self) -> np.ndarray:
        numeric = ["finite"] if self.stop_reason_ in results.SEPARATED else ["finite", UNKNOWN]
        return np.where(np.isin(self.limits_, numeric), "", self.limits_)

    @property
    def _shown(self) -> np.ndarray:
        ones = [self.intercept_] * bool(fitted_parameter(self, "fit_intercept"))
        return self._arranged(np.column_stack([self.coef_, *ones]))

    @property
    def _params(self) -> np.ndarray:
        words = self._words
        signs = np.select([words == "+inf", words == "-inf"], [np.inf, -np.inf], np.nan)
        return np.where(words == "", self._shown, signs)

    @property
    def _covariance_matrix(self) -> np.ndarray | None:
        return None if self._covariance is None else self._covariance * self.dispersion_

    def _held_at_zero(self, X: Any, y: Any, sample_weight: Any, terms: list[list[int]]) -> Any:
        from linsep.logistic.firth import held_at_zero

        return held_at_zero(task_of_arrays(as_fitted(self), X, y, sample_weight)[0], terms)

    def _scored(self, X: Any, y: Any, sample_weight: Any) -> Any:
        from linsep.logistic.firth import scored

        return scored(self, task_of_arrays(as_fitted(self), X, y, sample_weight)[0])

    def _without_errors(self) -> str:
        if fitted_parameter(self, "l2"):
            return 'Standard errors are not known with l2: use Firth\'s penalty (penalty="firth").'
        if self._covariance is not None and self.stop_reason_ not in UNINFERRED:
            return ""
        return f"Standard errors of this fit are not known ({self.stop_reason_}): see summary()."

    @property
    def p_values_(self) -> np.ndarray:
        """p-values of the hypotheses that a parameter is zero: Wald's, two-sided, or by profile."""
        return super().p_values_ if self._profile is None else self._profile[2]

    @property
    def _printed(self) -> tuple[str, np.ndarray]:
        if self._profile is None:
            return super()._printed
        return "chi2", np.asarray(chdtri(1, self.p_values_))  # the likelihood ratio of the profile

    def confidence_intervals(self, level: float | None = None) -> np.ndarray:
        """Return the confidence interval of each parameter, of shape ``params_.shape + (2,)``.

        Wald intervals are NaN without a standard error. Ends of profiles are infinite where these
        do not fall enough, NaN if no maximum was reached, and have the level of the fit.

        Parameters
        ----------
        level : float between 0 and 1, default: the ``level`` of the model
        """
        level = self._level_or(level)
        if self._profile is None:
            return super().confidence_intervals(level)
        if level != self._level:
            raise ParameterError(
                f"Profile intervals were computed during the fit at the level {self._level:g}",
                hint("fit with {}", level=level),
                hint("with {}", intervals="wald"), option="level", value=level,
            )  # fmt: skip
        return np.stack([*self._profile[:2]], axis=-1)

    def odds_ratios(self, level: float | None = None) -> Summary:
        """Return the table of odds ratios: the factors by which the odds of a class against the
        reference change per unit of a feature.

        Estimates and ends are the exponentials of the coefficients', standard errors come from the
        delta method; z and p are the coefficients' own.

        Parameters
        ----------
        level : float between 0 and 1, as for :meth:`confidence_intervals`
        """
        table, each = self.summary(level), max(1, len(self._equations))
        rows, first = table.coefficients, int(fitted_parameter(self, "fit_intercept"))
        width = len(rows) // each
        kept = [row.exponentiated() for k, row in enumerate(rows) if k % width >= first]
        title = table.title.replace("Logistic regression of", "Odds ratios of", 1)
        return replace(table, title=title, coefficients=kept, heading=ODDS_RATIO)

    def marginal_effects(
        self, X: Any, at: Any = "overall", level: float | None = None, sample_weight: Any = None,
        discrete: list[str] | None = None,
    ) -> Summary:  # fmt: skip
        """Return the table of average marginal effects: the change of a class probability per unit
        of a feature, with delta-method standard errors.

        The effect of a numeric feature is the derivative of the probability; of a 0/1 feature the
        probability at 1 minus that at 0; of a level of a text column, a category, ``C(column)`` or
        a boolean column of a formula the probability at this level minus that at the reference, or
        the first, level. A column acts through all terms of a formula; effects of scaled columns
        are per original unit; of two classes, they are on the one that is not the reference.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, features), Source, or name of a file
            The rows to average over, usually of the fit. Frames and files hold the columns used for
            training. A source is read twice, in constant memory.
        at : "overall", "mean" or dict of column to value, default="overall"
            "overall": effects at each row, averaged. "mean": effects at the means of all features.
            ``{"age": 40, "sex": "f"}``: averaged over the rows with these columns set so.
        level : float between 0 and 1, default: the ``level`` of the model
        sample_weight : array of shape (rows,), default ones, or the weights in a file
        discrete : list of names of numeric columns, default None
            Columns whose effects are differences from 0 to 1. None: boolean columns, and columns of
            zeros and ones.

        Returns
        -------
        linsep.inference.table.Summary
            Without errors where the covariance is unknown. Effects of separated classes are limits,
            NaN ("unknown") where these are unknown, without errors ("limit") through coefficients
            that diverge. A column in several terms has NaN at the means, and where X holds features
            instead of columns.

        Raises
        ------
        ValueError
            If ``at``, ``level``, ``discrete`` or the rows are invalid, or all have weight 0.

        References
        ----------
        W. Greene, Econometric Analysis, 5th ed. (2003), section 21.3.
        """
        from linsep.logistic.effects import marginal_effects

        return marginal_effects(self, X, at, level, sample_weight, discrete)

    @property
    def _equations(self) -> list[str]:
        return self._others() if len(self.classes_) > 2 else []

    def _others(self) -> list[str]:
        return [labels.label_text(x) for x in self.classes_.tolist() if x != self.reference_]

    def _headed(self) -> tuple[str, Facts, list[str]]:
        others, quasi = self._others(), fitted_parameter(self, "dispersion")
        named = ", ".join(others)
        if len(others) > MOST_NAMED:
            named = f"{', '.join(others[: MOST_NAMED - 1])}, ... ({len(others)} classes)"
        (statistic, df, p), firth = self.likelihood_ratio_, self.method_ == "Firth"
        tested = "F" if quasi else "penalized " * firth + "likelihood ratio"
        facts: list[tuple[str, Any]] = [
            ("rows", self.n_rows_),
            ("sum of their weights" if self._saturated is None else "trials", self._weight),
            ("parameters", self.n_parameters_),
            ("estimated by", self.method_),
            ("standard errors", self._robust),
            ("clusters", self._robust and self._clusters),
            ("iterations", int(self.n_iter_)),
            ("AIC", float(self.aic_)),
            ("BIC", float(self.bic_)),
            ("log-likelihood", float(self.log_likelihood_)),
            ("deviance", float(self.deviance_)),
            ("null deviance", float(self.null_deviance_)),
        ]
        if not np.isnan(chi2 := self.pearson_chi2_):
            rest = self.df_residual_
            tests = [("p of Pearson chi-squared", chi2), ("p of deviance", self.deviance_)]
            facts += [("degrees of freedom, residuals", rest), ("Pearson chi-squared", chi2)]
            facts += [("dispersion", float(self.dispersion_))] if quasi else [
                (what, results.upper_tail(x, rest)) for what, x in tests
            ]  # fmt: skip
        facts += [
            ("McFadden R2", float(self.mcfadden_r2_)),
            ("penalized log-likelihood", self.penalized_log_likelihood_ if firth else None),
            (f"{tested} ({df} df)", float(statistic)),
            (f"p of {tested}", float(p)),
        ]
        title = f"Logistic regression of {named} against {labels.label_text(self.reference_)}"
        notes = self._notes()
        if self._profile is not None:
            notes += ["Intervals, chi2 (1 df) and p-values by the profile of the "
                      f"{'penalized ' * firth}likelihood."]  # fmt: skip
            bracketed = ~np.isnan(self._profile[:2]).any(axis=0) | (self.limits_ == "dependent")
            if self._inferable and not bracketed.all():
                notes += ["An end that is not shown was not bracketed by values of the profile."]
        return title, [fact for fact in facts if fact[1] is not None], notes

    @property
    def _weight(self) -> float | int | None:
        """The sum of the row weights without rounding errors, None if all are 1."""
        total = float(f"{self._total_weight:.12g}")
        ones = total == self.n_rows_ and not self._fractional and self._saturated is None
        return None if ones else int(total) if total.is_integer() else total

    @property
    def _robust(self) -> str | None:
        return None if self._covariance is None else fitted_parameter(self, "covariance")

    def _notes(self) -> list[str]:
        l2, name = fitted_parameter(self, "l2"), self._robust
        of_classes = fitted_parameter(self, "class_weight") is not None
        weights = "class weights" if of_classes else "weights, some of which are fractions,"
        said = [f"{j} of {' and '.join(k)}" for j, k in self.dependent_.items() if k]
        listed = f": {first_of(said)}" if said else ""
        no_errors = self._covariance is None and not np.isnan(self.log_likelihood_)
        legend = {
            UNKNOWN: "Not checked: it is not proved whether the estimate is finite. Without proof "
            "of a maximum or a limit, standard errors, tests, AIC and BIC are not known.",
            UNSIGNED: "Sign not checked: the coefficient diverges, but the work limit ended before "
            "its sign was found.",
            "dependent": "Dependent: the column is a linear combination of earlier columns and the "
            f"intercept, or zero in all rows: it is dropped (redundant){listed}.",
        }  # fmt: skip
        notes = [self.stop_sentence_] if self.stop_sentence_ else []
        notes += self._notes_of_dimension()
        notes += labels.note_of_offset(self, "added to the log-odds of every row")
        if name is not None:
            notes.append(robust.robust_words(name, self._clusters, "from scores of single rows"))
            notes += [robust.NOTHING] * bool((self.standard_errors_ == 0).any())
            notes.append("The likelihood ratio, AIC and BIC assume independent rows.")
        elif of_classes or (self._fractional and not l2):
            notes.append(
                f"Standard errors and tests treat {weights} as numbers of rows: if they are not, "
                "use a robust covariance, such as HC1."
            )
        if l2:
            notes.append(f"Penalized with l2={l2:g}: standard errors and tests are not known.")
        elif self.limits_.size > MOST_WEIGHTS and no_errors:
            notes.append("There are too many weights to compute standard errors or to find "
                         "dependent columns.")  # fmt: skip
        return notes + [said for word, said in legend.items() if (self.limits_ == word).any()]

    def _notes_of_dimension(self) -> list[str]:
        columns, n = self.likelihood_ratio_[1], self.n_rows_
        if (
            len(self.classes_) > 2 or self._weight is not None or self._with_offset
            or self.method_ == "Firth" or self.stop_reason_ in results.SEPARATED
            or not self._inferable or columns <= max(FEWEST, FEW_COLUMNS * n)
        ):  # fmt: skip
            return []
        from linsep.chance.asymptotics import note_of_bias

        note = note_of_bias(n, columns, self.log_likelihood_ / n, self.null_log_likelihood_ / n)
        return [note] if note else []


def fit_task(model: LogisticRegression, task: Task, saving: Any) -> None:
    """Fit a regression to rows that are checked."""
    model._fit(task, saving)


def implied(
    classes: np.ndarray, totals: np.ndarray, reference: Any, method: str, n_rows: int,
    weights_against: Callable[[int], tuple[np.ndarray, np.ndarray]],
) -> LogisticRegression:  # fmt: skip
    """Return a logistic regression with given weights, which predicts but has no inference.

    A class whose total is 0 has probability 0, and is not the reference, unless there are two;
    ``weights_against(code of a reference)`` are the weights, shape (classes, features), and the
    log-odds of the classes at zero, by the method of this name.
    """
    order, model = order_of(reference, classes), LogisticRegression(reference=reference)
    if len(order) > 2 and not totals[order[-1]]:
        order = order_of(classes[np.flatnonzero(totals)[-1]], classes)
    coef, at = weights_against(order[-1])
    weights = np.column_stack([coef, at])[order[:-1]]
    known = FittedClasses(classes, classes[order[-1]], np.ones(classes.size))
    task = Task(model, known, list, coef.shape[1], n_rows)
    limits = np.full(weights.shape, "finite", dtype="U16")
    model._begin(task)
    model.method_, model.n_features_in_ = method, coef.shape[1]
    model.null_log_likelihood_, model._total_weight = np.nan, float(n_rows)
    model._set_attributes(
        task, Solution(None, None, State.IMPLIED, 0, weights=weights, limits=limits)
    )
    return model
