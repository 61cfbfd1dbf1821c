"""Inference from linear regressions: the attributes of one target or several, and the summary."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from linsep.estimators.labels import note_of_offset, target_name, words_and_signs
from linsep.estimators.reading import StopReason
from linsep.inference.hypotheses import WithTests
from linsep.inference.robust import NOTHING, robust_words
from linsep.inference.table import Facts
from linsep.linear.several import SeveralTargets, one_target
from linsep.linear.solution import LeastSquares

#: rounding of the root of a covariance, as a share
ROOT_NOISE = 1e-13
#: variance inflation above which a note on the reliable digits is printed
MUCH_INFLATION = 1e8


def _number(name: str) -> Any:
    """Return an attribute of the estimator that its solution computes."""

    def get(self: "LinearResults") -> Any:
        if self._several is not None:
            return np.stack([getattr(one._fitted, name) for one in self._several])
        if "_fitted" not in vars(self):
            check_is_fitted(self)
        return getattr(self._fitted, name)

    get.__doc__ = getattr(LeastSquares, name).__doc__
    return property(get)


class LinearResults(WithTests):
    """Inference from a fitted linear regression."""

    coef_: np.ndarray
    intercept_: Any
    stop_reason_: str
    targets_: list[str]
    _fitted: LeastSquares
    _several: SeveralTargets | None = None
    _equation = "target"

    r_squared_, adjusted_r_squared_ = _number("r_squared"), _number("adjusted_r_squared")
    f_statistic_, f_p_value_ = _number("f"), _number("f_p_value")
    df_residual_, df_model_ = _number("df_residual"), _number("df_model")
    residual_variance_, residual_error_ = _number("residual_variance"), _number("residual_error")
    log_likelihood_, aic_, bic_ = _number("log_likelihood"), _number("aic"), _number("bic")
    correlation_, moments_, rss_ = _number("correlation"), _number("moments"), _number("rss")
    n_parameters_, training_deviation_ = _number("n_parameters"), _number("deviation")
    _params, standard_errors_ = _number("estimates"), _number("standard_errors")

    def _glanced(self) -> dict[str, Any]:
        names = "r_squared adjusted_r_squared residual_error f_statistic f_p_value df_model"
        return {name: getattr(self, f"{name}_") for name in names.split()}

    @property
    def _equations(self) -> list[str]:
        return [] if self._several is None else self.targets_

    @property
    def _first(self) -> LeastSquares:
        check_is_fitted(self)
        return self._fitted if self._several is None else self._several.first.solution_

    @property
    def n_rows_(self) -> int:
        """Number of rows of positive weight, or sum of frequency weights."""
        return self._first.n_rows

    @property
    def solution_(self) -> LeastSquares:
        """The solution for a single target, with all that inference needs."""
        check_is_fitted(self)
        one_target(self, "a solution")
        return self._fitted

    @property
    def _degrees(self) -> float:
        return self._first.degrees

    @property
    def _words(self) -> np.ndarray:
        return np.where(np.isnan(self._params), "dependent", "")

    def _without_errors(self) -> str:
        fit, one = self._first, self._several is None
        reasons = (
            (fit.l2, f"Penalized with l2={fit.l2:g}: standard errors and tests are not known."),
            (one and not fit.y_norm, "y is the same in all rows: there is no variance to explain."),
            (self._degrees <= 0, f"There are as many estimates as rows ({fit.n_rows}), so standard "
             "errors are not known: use more rows or fewer features."),
            (one and fit.perfect, "The fit is perfect, so it has no residual variance and no "
             "standard errors."),
        )  # fmt: skip
        return next((why for applies, why in reasons if applies), "")

    @property
    def _covariance_matrix(self) -> np.ndarray:
        root, out = self._covariance_root()[0], np.isnan(self.standard_errors_.ravel())
        covariance = root.T @ root
        covariance[out] = covariance[:, out] = np.nan
        return covariance

    def _covariance_root(self) -> tuple[np.ndarray, float]:
        if self._several is not None:
            return self._several.covariance_root(), ROOT_NOISE
        fit = self._first
        noise = ROOT_NOISE if fit.robust is None else max(ROOT_NOISE, fit.rounding)
        return fit.error * fit.error_root, noise

    @property
    def rows_signature_(self) -> str | None:
        """A signature of y and the weights in their order; None if it is not known."""
        return self.solution_.signature if self._several is None else None

    def _headed(self) -> tuple[str, Facts, list[str]]:
        if self._several is not None:
            return self._several.headed()
        names, target, fit = words_and_signs(self)[0], target_name(self), self._fitted
        y, notes = target or "y", dependence(fit, names)
        if getattr(self, "stop_reason_", None) == StopReason.INTERRUPTED:
            notes.append(f"The reading was interrupted after {fit.n_rows:,} rows.")
        if fit.two_values is not None and fit.robust is None:
            low, high = fit.two_values
            notes.append(
                f"y has only two values, {low:g} and {high:g}, so residuals are neither normal "
                "nor of equal variance: use robust standard errors, or LogisticRegression."
            )
        x = names[0] if names and names[0] != y else "the feature"
        title = "Linear regression" + f" of {target}" * bool(target)
        notes += note_of_offset(self, f"estimates, R^2 and F refer to {y} minus the offset")
        notes += [why for why in [self._without_errors()] if why] + notes_of(fit)
        return title, header_of(fit, x, y), notes


def header_of(fit: LeastSquares, x: str, y: str) -> Facts:
    """Return the statistics of a fit; x is the name of the first feature, y of the target."""
    facts: Facts = [("rows", fit.n_rows)]
    if fit.robust is not None:
        facts.append(("standard errors", fit.robust.name))
        if fit.robust.clusters is not None:
            facts.append(("clusters", fit.robust.clusters))
    if fit.moments is not None:
        names = f"mean of {x}", f"mean of {y}", f"variance of {x}", f"variance of {y}", "covariance"
        facts += zip(names, fit.moments, strict=True)
    if fit.coef.size == 1 and fit.fit_intercept:
        facts.append(("correlation r", fit.correlation))
    facts.append(("degrees of freedom, residuals", fit.df_residual))
    if fit.l2:
        facts.append(("effective degrees of freedom", fit.n_parameters))
    return [
        *facts,
        ("degrees of freedom, model", fit.df_model), ("residual sum of squares", fit.rss),
        ("residual variance", fit.residual_variance),
        ("residual standard error", fit.residual_error), ("R^2", fit.r_squared),
        ("adjusted R^2", fit.adjusted_r_squared), ("F", fit.f), ("p of F", fit.f_p_value),
        ("log-likelihood", fit.log_likelihood), ("AIC", fit.aic), ("BIC", fit.bic),
    ]  # fmt: skip


def notes_of(fit: LeastSquares) -> list[str]:
    """Return sentences on the limits of the statistics of a fit."""
    notes, inflation = list[str](), np.nanmax(fit.inflation, initial=1.0)
    if fit.robust is not None:
        notes.append(robust_words(fit.robust.name, fit.robust.clusters))
        if fit.df_residual > 0 and not fit.perfect:
            notes += [NOTHING] * bool((fit.standard_errors == 0).any())
            singular = "F is not defined, as with fewer clusters than coefficients."
            notes += [singular] * bool(fit.df_model and np.isnan(fit.f))
    if inflation > MUCH_INFLATION:
        digit = max(1, int(16 - np.log10(np.sqrt(inflation))))
        notes.append(
            "Features are nearly collinear: the variance of an estimate is inflated "
            f"{inflation:.2g} times, and it has about {digit} reliable digits."
        )
    if not fit.fit_intercept:
        notes.append("Without an intercept, R^2 and F are relative to predicting zero.")
    return notes


#: coefficients below this share of the largest are rounding errors
NEGLIGIBLE = 1e-9


def dependence(fit: LeastSquares, names: list[str]) -> list[str]:
    """Return a sentence for each feature that is left out; one for all that are zero."""
    sentences, zeros = list[str](), list[str]()
    length = np.sqrt(fit.total_weight)  # of the intercept's column
    for feature, row in fit.combinations.items():
        sizes = np.abs(row[1:]) * fit.spread
        used = np.flatnonzero(sizes > NEGLIGIBLE * sizes.max())
        if used.size and fit.spread[feature]:
            largest = sizes.max() + length * np.abs(row[1:] * fit.means).max()
            shifted = abs(row[0]) * length > NEGLIGIBLE * largest
            parts = [names[j] for j in used] + ["the intercept"] * bool(shifted)
            repeats = len(parts) == 1 and abs(row[1 + used[0]] - 1) < NEGLIGIBLE
            what = "repeats" if repeats else "is a linear combination of"
            sentences.append(f"{names[feature]} {what} {_listed(parts)}")
        elif fit.fit_intercept and fit.means[feature]:
            sentences.append(f"{names[feature]} is constant, like the intercept")
        else:
            zeros.append(names[feature])
    if zeros:
        sentences.append(f"{_listed(zeros)} {'is' if len(zeros) == 1 else 'are'} zero in all rows")
    return [f"{sentence}: it is dropped (redundant)." for sentence in sentences]


def _listed(names: list[str]) -> str:
    if len(names) > 6:
        return ", ".join(names[:6]) + f" and {len(names) - 6} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
