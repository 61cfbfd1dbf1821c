"""Inference from a fitted logistic regression: standard errors, tests, intervals, summary table."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import chdtrc, chdtri, expit
from sklearn.utils.validation import check_is_fitted

from linsep.errors import DataError, ParameterError, hint
from linsep.estimators._common.fitted_state import (
    Array,
    as_it_is,
    classes_from,
    count,
    described,
    flag,
    number,
    plain,
    restored,
    state_of,
)
from linsep.estimators._common.labels import feature_names, label_text
from linsep.estimators._common.offsets import note_of_offset
from linsep.inference import signatures
from linsep.inference.results import HasInference
from linsep.inference.robust import NOTHING, robust_words, stored_clusters
from linsep.inference.table import ODDS_RATIO, Facts, Summary, check_level
from linsep.inference.tails import f_tail
from linsep.logistic.solution import SEPARATED, UNINFERRED, UNKNOWN, UNSIGNED
from linsep.logistic.task import NO_WEIGHT, has_hessian, task_of_arrays
from linsep.parameters import as_fitted, fitted_parameter

if TYPE_CHECKING:
    from linsep.inference.refitting import FirthTests, Scored

#: most classes that a title names
MOST_NAMED = 10
#: columns to rows up to which estimates are hardly biased
FEW_COLUMNS = 0.05
#: nor of so few columns, whatever the rows: the theory is of many
FEWEST = 9
#: what is missing without a proof of a maximum
UNINFERABLE = "standard errors, tests, AIC and BIC are not known"
#: values of ``limits_``, by which files number them
LIMITS = (
    "finite", "dependent", "+inf", "-inf", "infinite", NO_WEIGHT, UNKNOWN, UNSIGNED,
)  # fmt: skip
ENDS = ("low", "high", "p")
#: numbers of a fit, NaN if there are none
NUMBERS = ("log_likelihood_", "null_log_likelihood_", "_gained")


def _or_nan(value: Any) -> float:
    return float("nan") if value is None else float(value)


def _or_none(value: Any) -> float | None:
    return None if value is None else number(value)


def _dependent(value: dict[str, list[Any]] | None) -> dict[int, list[int]]:
    return {int(j): [count(k) for k in others] for j, others in (value or {}).items()}


#: what a model file holds, for the classes but the reference, weights with the intercept last:
#: ``limits`` as numbers of :data:`LIMITS`; ``levels`` of profile intervals, each of which adds
#: arrays; the verdict of ``separation``; the signature of the rows; dependent features with those
#: they depend on; of counts, the log-likelihood of the saturated model
STATE: dict[str, Any] = {
    "coef": Array("classes, features"),
    "intercept": Array("classes", finite=False),
    "limits": Array("classes, weights", np.uint8),
    "covariance": Array("all weights, all weights", optional=True, finite=False),
    "classes": classes_from,
    "reference": as_it_is,
    **{f"fit.{name}": _or_nan for name in NUMBERS},
    "n_rows": count,
    "total_weight": float,
    "n_iter": count,
    "method": str,
    "stop_reason": str,
    "stop_sentence": str,
    "levels": list,
    "clusters": as_it_is,
    "separation": as_it_is,
    "signature": signatures.checked,
    "dependent": _dependent,
    "offset": flag,
    "fractional": flag,
    "saturated": _or_none,
    "pearson": _or_none,
}
#: the attributes of parts that are stored as they are
ATTRIBUTES = {
    "coef": "coef_", "intercept": "intercept_", "covariance": "_covariance",
    **{name: name for name in NUMBERS}, "classes": "classes_", "clusters": "_clusters",
    "n_rows": "n_rows_", "total_weight": "_total_weight", "n_iter": "n_iter_",
    "method": "method_", "stop_reason": "stop_reason_", "stop_sentence": "stop_sentence_",
    "signature": "rows_signature_", "dependent": "_depends", "offset": "_with_offset",
    "fractional": "_fractional", "saturated": "_saturated", "pearson": "_pearson",
}  # fmt: skip


def _parts(levels: Any) -> dict[str, Any]:
    ends = {f"{name} {level}" for level in levels for name in ENDS}
    return STATE | {name: Array("classes, weights", finite=False) for name in ends}


#: log-odds of several classes for rows, those against the reference, and the code of that
Nearer = Callable[[Any, np.ndarray, int], np.ndarray]


class LogisticResults(HasInference):
    """Inference from a fitted logistic regression.

    Private arrays have the shape of the weights of a fit and of files: (classes but the reference,
    features + intercept), the intercept last.
    """

    classes_: np.ndarray
    reference_: Any
    coef_: np.ndarray
    intercept_: np.ndarray
    _limits: np.ndarray
    _covariance: np.ndarray | None
    _clusters: int | None = None
    log_likelihood_: float
    null_log_likelihood_: float
    n_rows_: int
    fit_intercept: bool
    get_params: Any
    _learned_with: dict[str, Any]
    _total_weight: float
    _fractional: bool = False
    _saturated: float | None = None
    _pearson: float | None = None
    n_iter_: int
    method_: str
    stop_reason_: str
    stop_sentence_: str
    #: whether it was fitted with an offset, which predictions then need, too
    _with_offset: bool = False
    separation_: Any
    _intervals: dict[float, Any]
    _gained: float
    #: the features that each dependent one is a combination of, their number for the intercept
    _depends: dict[int, list[int]] = {}  # noqa: RUF012 - never changed

    _nearer: Nearer | None = None

    def get_state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return the fitted state for a model file: arrays, and facts as plain JSON, of the names
        in :data:`linsep.logistic.inference.STATE`, and the ``low``, ``high`` and ``p`` of each
        level of profile intervals.
        """
        values: dict[str, Any] = {name: getattr(self, of, None) for name, of in ATTRIBUTES.items()}
        values |= {name: None if np.isnan(values[name]) else values[name] for name in NUMBERS}
        for level, ends in self._intervals.items():
            values |= {f"{name} {level}": end for name, end in zip(ENDS, ends, strict=True)}
        values |= {
            "classes": described(self.classes_),
            "limits": np.vectorize(LIMITS.index, otypes=[np.uint8])(self._limits),
            "reference": plain(self.reference_), "levels": list(self._intervals),
            "separation": None if self.separation_ is None else self.separation_.to_json(),
            "dependent": {str(j): others for j, others in self._depends.items()},
        }  # fmt: skip
        return state_of(_parts(self._intervals), values)

    def set_state(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        """Set what :meth:`get_state` returned, after checking it.

        Raises
        ------
        ValueError, LookupError or TypeError
            If a part is missing, or has another shape or type.
        """
        (q, d), more = arrays["coef"].shape, bool(self.fit_intercept)
        sizes = {"weights": d + more, "all weights": q * (d + more)}
        found = restored(_parts(facts["levels"]), arrays, facts, **sizes)
        labels = found["classes"].tolist()
        (self.reference_,) = (label for label in labels if label == found["reference"])
        if len(labels) != q + 1:
            raise ValueError(f"{len(labels)} classes of {q + 1}")
        for name, attribute in ATTRIBUTES.items():
            setattr(self, attribute, found[name])
        self.n_features_in_, self._learned_with = d, self.get_params(deep=False)
        self._limits = np.array(LIMITS, dtype="U16")[found["limits"]]
        without = (self._limits == NO_WEIGHT).any(axis=1)
        if np.isnan(self.intercept_).any() or (np.isinf(self.intercept_) != without).any():
            raise ValueError("infinite intercepts of classes with weight")
        if max((k for j, of in self._depends.items() for k in (j, *of)), default=0) > d:
            raise ValueError("a dependent feature that there is not")
        if self._clusters is not None:
            self._clusters = stored_clusters(self.get_params()["covariance"], self._clusters)
        self._intervals = {
            float(level): tuple(found[f"{name} {level}"] for name in ENDS)
            for level in found["levels"]
        }
        self.separation_ = None
        if found["separation"] is not None:
            from linsep.certificate.proofs import from_json

            self.separation_ = from_json(found["separation"])

    @property
    def deviance_(self) -> float:
        """-2 log-likelihood, without the penalty; for counts, twice the difference between the
        log-likelihoods of the saturated model (one probability per row) and of this one.
        """
        check_is_fitted(self)
        return self._deviance(self.log_likelihood_)

    def _deviance(self, log_likelihood: float) -> float:
        if self._saturated is None:
            return 0.0 - 2.0 * log_likelihood
        return float(np.maximum(0.0, 2.0 * (self._saturated - log_likelihood)))

    @property
    def null_deviance_(self) -> float:
        """The deviance without features."""
        check_is_fitted(self)
        return self._deviance(self.null_log_likelihood_)

    @property
    def pearson_chi2_(self) -> float:
        """Pearson's chi-squared of counts, the sum of (successes - trials p)^2 / (trials p (1 - p))
        over the rows; NaN for single rows, where it tests nothing.
        """
        check_is_fitted(self)
        return np.nan if self._pearson is None else self._pearson

    @property
    def dispersion_(self) -> float:
        """The factor of binomial variances: 1, or with ``dispersion="estimated"`` Pearson's
        chi-squared divided by the residual degrees of freedom.
        """
        check_is_fitted(self)
        if fitted_parameter(self, "dispersion") is None:
            return 1.0
        return self.pearson_chi2_ / self.df_residual_ if self.df_residual_ > 0 else np.nan

    @property
    def mcfadden_r2_(self) -> float:
        """1 - log-likelihood / log-likelihood without features (McFadden 1974)."""
        check_is_fitted(self)
        if not self.null_log_likelihood_:  # only one class has weight
            return np.nan
        return 1.0 - self.log_likelihood_ / self.null_log_likelihood_

    @property
    def n_parameters_(self) -> int:
        """Number of estimated weights, without dependent features and classes of weight 0."""
        return int(self._estimated.sum())

    @property
    def _estimated(self) -> np.ndarray:
        check_is_fitted(self)
        return (self._limits != "dependent") & (self._limits != NO_WEIGHT)

    @property
    def aic_(self) -> float:
        """-2 log-likelihood + 2 parameters, without Firth's penalty. NaN with l2 or an estimated
        dispersion, after an interrupted fit, and if neither a maximum nor a limit of the likelihood
        is proved.
        """
        if not self._inferable or fitted_parameter(self, "dispersion"):
            return np.nan
        return -2.0 * self.log_likelihood_ + 2.0 * self.n_parameters_

    @property
    def bic_(self) -> float:
        """-2 log-likelihood + ln(n) parameters, where n is the sum of the row weights, or
        ``n_rows_`` for counts. NaN where ``aic_`` is.
        """
        check_is_fitted(self)
        n = self._total_weight if self._saturated is None else self.n_rows_
        return self.aic_ + (np.log(n) - 2.0) * self.n_parameters_

    @property
    def _inferable(self) -> bool:
        """Whether the weights (nearly) reach a proved maximum of the plain or of Firth's
        likelihood, or its supremum.
        """
        check_is_fitted(self)
        if fitted_parameter(self, "l2") or self.stop_reason_ in UNINFERRED:
            return False
        if self.stop_reason_ == "quasi-separable":
            return self._covariance is not None  # a ridge has none
        return self.stop_reason_ == "separable" or not self._unproved

    @property
    def _unproved(self) -> bool:
        return self.stop_reason_ not in SEPARATED and bool((self._limits == UNKNOWN).any())

    @property
    def likelihood_ratio_(self) -> tuple[float, int, float]:
        """The test against no features: 2 (l - l0), its degrees of freedom, p from chi-squared.

        NaN where standard errors are not known. For separable data l is the supremum and p only a
        rough guide; with Firth's penalty the penalized likelihoods are compared (Heinze and
        Schemper 2002). With an estimated dispersion it is F, the statistic per degree of freedom
        divided by the dispersion.
        """
        df = int(self._estimated[:, : self.coef_.shape[1]].sum())
        if not self._inferable or np.isnan(self.log_likelihood_):
            return np.nan, df, np.nan
        statistic = max(0.0, 2.0 * (self.log_likelihood_ - self.null_log_likelihood_))
        if self.method_ == "Firth":
            statistic = self._gained
        if fitted_parameter(self, "dispersion") and df:
            f = statistic / df / self.dispersion_
            return f, df, float(f_tail(f, df, self.df_residual_))
        return statistic, df, float(chdtrc(df, statistic)) if df else np.nan

    def _glanced(self) -> dict[str, Any]:
        names = ("null_deviance", "deviance", "mcfadden_r2")
        test = zip(("chi2", "df", "p_value"), self.likelihood_ratio_, strict=True)
        return {name: getattr(self, f"{name}_") for name in names} | dict(test)

    def _residuals_of(self, X: Any, y: np.ndarray, offset: np.ndarray | None) -> np.ndarray:
        own: Any = self
        scores = own._scores(X, offset)
        p = expit(scores if self.reference_ == self.classes_[0] else -scores)
        return np.asarray((y != self.reference_) - p)

    def _arranged(self, weights: np.ndarray) -> np.ndarray:
        """Return weights, which have the intercept last, as attributes show them."""
        if fitted_parameter(self, "fit_intercept"):
            weights = np.roll(weights, 1, axis=-1)
        return weights[0] if self.classes_.size == 2 else weights

    @property
    def limits_(self) -> np.ndarray:
        """The status code of each estimate: "finite", "+inf", "dependent", ..."""
        check_is_fitted(self)
        return self._arranged(self._limits)

    @property
    def dependent_(self) -> dict[str, list[str]]:
        """The features left out because they are linear combinations of others, by name, with these
        others, "intercept" among them; none for a feature that is zero in all rows.
        """
        check_is_fitted(self)
        names, dependent = [*feature_names(self), "intercept"], (self._limits == "dependent").any(0)
        return {
            names[j]: [names[k] for k in others]
            for j, others in self._depends.items()
            if dependent[j]
        }

    @property
    def _params(self) -> np.ndarray:
        limits, found = self.limits_, self._shown.copy()
        found[~np.isin(limits, self._numeric)] = np.nan
        found[limits == "+inf"], found[limits == "-inf"] = np.inf, -np.inf
        return found

    @property
    def _shown(self) -> np.ndarray:
        check_is_fitted(self)
        ones = [self.intercept_] * bool(fitted_parameter(self, "fit_intercept"))
        return self._arranged(np.column_stack([self.coef_, *ones]))

    @property
    def _numeric(self) -> tuple[str, ...]:
        """Values of ``limits_`` for weights whose estimates are shown as numbers."""
        return ("finite",) if self.stop_reason_ in SEPARATED else ("finite", UNKNOWN)

    @property
    def _words(self) -> np.ndarray:
        return np.where(np.isin(self.limits_, self._numeric), "", self.limits_)

    @property
    def _covariance_matrix(self) -> np.ndarray | None:
        if self._covariance is None:
            return None
        order = self._arranged(np.arange(self._limits.size).reshape(self._limits.shape)).ravel()
        found = self._covariance[np.ix_(order, order)] * self.dispersion_
        out = self.limits_.ravel() != "finite"
        found[out], found[:, out] = np.nan, np.nan
        return found

    @property
    def standard_errors_(self) -> np.ndarray:
        """Square roots of the diagonal of ``covariance_``; NaN if there is none."""
        check_is_fitted(self)
        V = self._covariance
        variances = np.nan if V is None else np.diag(V).reshape(self._limits.shape)
        with np.errstate(invalid="ignore"):
            errors = np.sqrt(variances * self.dispersion_)
        return self._arranged(np.where(self._limits == "finite", errors, np.nan))

    @property
    def _statistic(self) -> str:  # type: ignore[override]
        return "z" if np.isinf(self._degrees) else "t"

    @property
    def _degrees(self) -> float:
        if fitted_parameter(self, "dispersion"):
            return self.df_residual_
        return np.inf if self._clusters is None else self._clusters - 1

    def _held_at_zero(
        self, X: Any, y: Any, sample_weight: Any, terms: list[list[int]]
    ) -> "FirthTests":
        from linsep.logistic.firth import held_at_zero

        return held_at_zero(task_of_arrays(as_fitted(self), X, y, sample_weight)[0], terms)

    def _scored(self, X: Any, y: Any, sample_weight: Any) -> "Scored":
        from linsep.logistic.firth import scored

        task, _ = task_of_arrays(as_fitted(self), X, y, sample_weight)
        if task.known.classes.tolist() != self.classes_.tolist() or not task.factored:
            raise DataError(
                "The rows have other classes than the fit, or the larger model has too many "
                "weights: pass the rows of the fit, and few columns.",
                code="other-rows",
            )
        return scored(self, task)

    @property
    def df_residual_(self) -> int:
        """Number of rows of positive weight minus ``n_parameters_``."""
        check_is_fitted(self)
        return self.n_rows_ - self.n_parameters_

    def _without_errors(self) -> str:
        check_is_fitted(self)
        if fitted_parameter(self, "l2"):
            return (
                "Standard errors are not known with l2: fit without it, or with Firth's penalty "
                '(penalty="firth").'
            )
        if self._covariance is None or self.stop_reason_ in UNINFERRED:
            return (
                f"Standard errors of this fit are not known ({self.stop_reason_}): print summary() "
                "for the reason."
            )
        return ""

    @property
    def p_values_(self) -> np.ndarray:
        """p-values of the hypotheses that a parameter is zero: Wald's, two-sided, or by profile."""
        check_is_fitted(self)
        if self._intervals:
            return self._arranged(self._intervals[self._level][2])
        return super().p_values_

    @property
    def _printed(self) -> tuple[str, np.ndarray]:
        if not self._intervals:
            return super()._printed
        return "chi2", np.asarray(chdtri(1, self.p_values_))  # the likelihood ratio of the profile

    def confidence_intervals(self, level: float | None = None) -> np.ndarray:
        """Return the confidence interval of each parameter.

        Wald intervals (estimate -+ quantile times standard error) are NaN without a standard error.
        Ends of profile intervals are infinite where the profile of the (penalized) likelihood does
        not fall enough, and NaN if no maximum was reached.

        Parameters
        ----------
        level : float between 0 and 1, default: the ``level`` of the model

        Returns
        -------
        array of shape ``params_.shape + (2,)``: the lower and the upper ends

        Raises
        ------
        ValueError
            If the level is not between 0 and 1, or is not the one profile intervals were computed
            for.
        """
        check_is_fitted(self)
        level = check_level(self._level if level is None else level)
        if not self._intervals:
            return super().confidence_intervals(level)
        if level not in self._intervals:
            raise ParameterError(
                f"Profile intervals were computed during the fit at the level {self._level:g}",
                hint("fit with {}", level=level),
                hint("with {}", intervals="wald"), option="level", value=level,
            )  # fmt: skip
        return np.stack([self._arranged(end) for end in self._intervals[level][:2]], axis=-1)

    def odds_ratios(self, level: float | None = None) -> Summary:
        """Return the table of odds ratios: the factors by which the odds of a class against the
        reference change per unit of a feature.

        Estimates and interval ends are the exponentials of the coefficients' and standard errors
        come from the delta method; z and p are the coefficients' own. The intercept is left out.
        Where a coefficient diverges, its odds ratio is infinite or 0, with an interval if profiles
        were computed.

        Parameters
        ----------
        level : float between 0 and 1, default: the ``level`` of the model

        Returns
        -------
        linsep.inference.table.Summary
            Print it, or call ``tidy()`` or ``to_dict()``.

        Raises
        ------
        ValueError
            If the level is not between 0 and 1, or is not the one profile intervals were computed
            for.
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

        The effect of a numeric feature is the derivative of the probability. The effect of a 0/1
        feature is the probability at 1 minus the probability at 0. The effect of a level of a text
        column, a category, ``C(column)`` or a boolean column of a formula is the probability at
        this level minus the probability at the reference level, or at the first level, with all
        other features unchanged. Effects of scaled columns are per unit of the original column.
        With two classes the table has effects on the class that is not the reference; with several,
        on each class.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, features), Source, or name of a file
            The rows to average over: usually the rows of the fit. Frames and files hold the columns
            used for training. A source is read twice, in constant memory.
        at : "overall", "mean" or dict of column to value, default="overall"
            "overall": effects at each row, averaged. "mean": effects at the means of all features,
            where the mean of an indicator is a share. ``{"age": 40, "sex": "f"}``: averaged over
            the rows with these columns set to these values, as in R's margins, Stata and
            statsmodels.
        level : float between 0 and 1, default: the ``level`` of the model
            Confidence level of the intervals.
        sample_weight : array of shape (rows,), default ones, or the weights in a file
            Weight of each row in averages.
        discrete : list of names of numeric columns, default None
            Columns whose effects are differences from 0 to 1. None: boolean columns, and columns
            that contain 0 and 1 and no other values.

        Returns
        -------
        linsep.inference.table.Summary
            Print it, or call ``tidy()`` or ``to_dict()``. Standard errors are missing where the
            covariance is unknown, as with l2. If the classes are separable or quasi-separable,
            effects are computed in the limit, and NaN ("unknown") where it is unknown; effects
            through coefficients that diverge have no standard error, test or interval ("limit").
            The effect of a column in several terms of a formula, or in a product, is its total
            effect through all terms. It is NaN at the means of the features, and where X holds
            features instead of columns.

        Raises
        ------
        ValueError
            If ``at``, ``level``, ``discrete`` or the rows are invalid, or all have weight 0.

        References
        ----------
        W. Greene, Econometric Analysis, 5th ed. (2003), section 21.3.

        Examples
        --------
        >>> from linsep import LogisticRegression
        >>> model = LogisticRegression().fit([[0], [0], [0], [0], [1], [1], [1], [1]],
        ...                                  [0, 0, 0, 1, 0, 1, 1, 1])
        >>> row = model.marginal_effects([[0], [1]]).coefficients[0]
        >>> round(row.estimate, 6), round(row.standard_error, 6)
        (0.5, 0.306186)
        """
        from linsep.logistic.effects import marginal_effects

        return marginal_effects(self, X, at, level, sample_weight, discrete)

    @property
    def _equations(self) -> list[str]:
        return self._others() if len(self.classes_) > 2 else []

    def _others(self) -> list[str]:
        return [label_text(x) for x in self.classes_.tolist() if x != self.reference_]

    def _headed(self) -> tuple[str, Facts, list[str]]:
        others, quasi = self._others(), fitted_parameter(self, "dispersion")
        named = ", ".join(others)
        if len(others) > MOST_NAMED:
            named = f"{', '.join(others[: MOST_NAMED - 1])}, ... ({len(others)} classes)"
        (statistic, df, p), tested = self.likelihood_ratio_, "F" if quasi else "likelihood ratio"
        of_weights = "sum of their weights" if self._saturated is None else "trials"
        facts: list[tuple[str, Any]] = [
            ("rows", self.n_rows_),
            (of_weights, self._weight),
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
            *self._tests_of_fit(),
            ("McFadden R2", float(self.mcfadden_r2_)),
            (f"{tested} ({df} df)", float(statistic)),
            (f"p of {tested}", float(p)),
        ]
        title = f"Logistic regression of {named} against {label_text(self.reference_)}"
        return title, [fact for fact in facts if fact[1] is not None], self._notes()

    @property
    def _weight(self) -> float | int | None:
        """The sum of the row weights without rounding errors, None if all are 1."""
        total = float(f"{self._total_weight:.12g}")
        ones = total == self.n_rows_ and not self._fractional and self._saturated is None
        return None if ones else int(total) if total.is_integer() else total

    def _tests_of_fit(self) -> Facts:
        """Return tests of fit of counts, whose residuals are compared with binomial variances."""
        df, chi2 = self.df_residual_, self._pearson
        if self._saturated is None or chi2 is None:
            return []
        facts: Facts = [("degrees of freedom, residuals", df), ("Pearson chi-squared", chi2)]
        if fitted_parameter(self, "dispersion"):
            return [*facts, ("dispersion", float(self.dispersion_))]
        tests = [("p of Pearson chi-squared", chi2), ("p of deviance", self.deviance_)]
        return facts + [(what, float(chdtrc(df, x)) if df > 0 else np.nan) for what, x in tests]

    @property
    def _robust(self) -> str | None:
        name: str | None = fitted_parameter(self, "covariance")
        return None if self._covariance is None else name

    @property
    def _wide(self) -> bool:
        return not has_hessian(int((self._limits != NO_WEIGHT).sum()))

    def _notes(self, profiles: bool = True) -> list[str]:
        """Return sentences on the fit; ``profiles``: whether the table has profile intervals."""
        from linsep.inference.factors import notes_of_one_level

        l2, robust, limits = fitted_parameter(self, "l2"), self._robust, self._limits
        of_classes = fitted_parameter(self, "class_weight") is not None
        weights = "class weights" if of_classes else "weights, some of which are fractions,"
        likelihood = "penalized likelihood" if self.method_ == "Firth" else "likelihood"
        profiles = profiles and bool(self._intervals)
        missing = [np.isnan(ends[:2]).any(axis=0) for ends in self._intervals.values()]
        said = [f"{j} of {' and '.join(k)}" for j, k in self.dependent_.items() if k]
        more = ", ..." if len(said) > MOST_NAMED else ""
        listed = f": {', '.join(said[:MOST_NAMED])}{more}" if said else ""
        no_errors = self._covariance is None and not np.isnan(self.log_likelihood_)
        unproved, unknown = self._unproved, bool((limits == UNKNOWN).any())
        undecided = unproved and self.stop_reason_ == "undecided"
        notes = [self.stop_sentence_] if self.stop_sentence_ else []
        notes += notes_of_one_level(self) + self._notes_of_dimension()
        notes += note_of_offset(self, "added to the log-odds of every row")
        if robust is not None:
            notes.append(robust_words(robust, self._clusters, "from scores of single rows"))
        return notes + [
            sentence
            for sentence, true in (
                (NOTHING, robust is not None and (self.standard_errors_ == 0).any()),
                ("The likelihood ratio, AIC and BIC assume independent rows.", robust is not None),
                (f"Penalized with l2={l2:g}: standard errors and tests are not known.", l2),
                ("There are too many weights to compute standard errors or to find dependent "
                 "columns.", self._wide and no_errors and not l2),
                (f"Intervals, chi2 (1 df) and p-values by the profile of the {likelihood}.",
                 profiles),
                ("An end that is not shown was not bracketed by values of the profile.",
                 profiles and (missing & self._estimated).any() and self._inferable),
                (f"Standard errors and tests treat {weights} as numbers of rows: if they are not, "
                 "use a robust covariance, such as HC1.",
                 robust is None and (of_classes or (self._fractional and not l2))),
                (f"Without a proof of a maximum, {UNINFERABLE}.", undecided),
                (f"Whether a finite maximum exists was not checked, so {UNINFERABLE}.",
                 unproved and not undecided),
                ("Not checked: the time limit ended before this coefficient was checked.",
                 unknown and not unproved),
                ("Sign not checked: the coefficient diverges, but the work limit ended before its "
                 "sign was found.", (limits == UNSIGNED).any()),
                ("Dependent: the column is a linear combination of earlier columns and the "
                 f"intercept, or zero in all rows: it is dropped (redundant){listed}.",
                 (limits == "dependent").any()),
                ("No weight: all rows of a class have weight 0, so its probability is 0.",
                 (limits == NO_WEIGHT).any()),
            )
            if true
        ]  # fmt: skip

    def _notes_of_dimension(self) -> list[str]:
        """Return notes that follow from the numbers of rows and columns of a fit of two classes."""
        columns = int(self._estimated[:, : self.coef_.shape[1]].sum())
        plain = len(self.classes_) == 2 and self._weight is None and not self._with_offset
        plain = plain and self.method_ != "Firth" and self.stop_reason_ not in SEPARATED
        if not plain or not self._inferable or columns <= max(FEWEST, FEW_COLUMNS * self.n_rows_):
            return []
        from linsep.chance.asymptotics import note_of_bias

        logs = self.log_likelihood_, self.null_log_likelihood_
        note = note_of_bias(self.n_rows_, columns, *(x / self.n_rows_ for x in logs))
        return [note] if note else []
