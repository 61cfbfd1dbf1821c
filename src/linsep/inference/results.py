"""Inference about the parameters of fitted regressions."""

import re
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from linsep.batches import Batch
from linsep.estimators._common.explaining import standardized
from linsep.estimators._common.labels import feature_names, with_intercept, words_and_signs
from linsep.estimators._common.showing import HasEquation
from linsep.inference.adapters import ForOtherPackages
from linsep.inference.hypotheses import WithHypotheses
from linsep.inference.refitting import WithRefits
from linsep.inference.table import (
    OPPOSITE,
    Coefficient,
    Summary,
    as_frame,
    check_level,
    t_reach,
    t_tail,
)
from linsep.parameters import fitted_parameter

#: B, and the constants of splitmix64
_BASE = 0xD1342543DE82EF95
_FACTOR, _HALF = np.uint64(0xBF58476D1CE4E5B9), np.uint64(30)


class Bands(NamedTuple):
    """Predictions and the ends of their intervals: numbers of shape (rows,), or probabilities of
    shape (rows, classes).
    """

    prediction: np.ndarray
    low: np.ndarray
    high: np.ndarray


class HasInference(HasEquation, WithHypotheses, WithRefits, ForOtherPackages):
    """Mixin of regressions: estimates, standard errors, tests and intervals of the parameters.

    A regression with one equation (one target, or two classes) has arrays of shape (parameters,);
    with several classes or targets, arrays of shape (equations, parameters). The intercept comes
    first, if there is one, then the features in order.

    A subclass has ``_params``; ``_words``, status codes that are shown instead of estimates;
    ``_degrees`` of freedom of the statistics, infinite for a normal distribution;
    ``standard_errors_``, ``df_residual_`` and ``_covariance_matrix``; ``_without_errors()``, why
    standard errors are unknown, or ""; ``_headed()``, the title of the summary, the statistics of
    the fit, and notes; and ``_glanced()``, the statistics that only it has.
    """

    n_features_in_: int
    #: "t" or "z", whose distribution the statistics have
    _statistic: str = "t"
    #: what one of several equations is of
    _equation = "class"
    #: y minus the predictions, None unless the rows of the fit were in memory
    _residuals: np.ndarray | None = None
    #: the names of several equations; empty if there is one
    _equations: Any = ()

    @property
    def _shown(self: Any) -> np.ndarray:
        return np.asarray(self._params)

    @property
    def params_(self: Any) -> Any:
        """The estimates, an array, or with the names of features a Series or frame of pandas, if
        that is installed: infinite where a coefficient diverges, NaN if it may diverge to either
        side, for a feature that is left out, and for a class of weight 0.
        """
        check_is_fitted(self)
        names = self._with_intercept(feature_names(self))
        return self._named(self._params, self._equations or names, names)

    @property
    def covariance_(self: Any) -> Any:
        """Covariance matrix of the estimates, an array or a frame as ``params_``; NaN where it is
        undefined. None if standard errors are unknown.
        """
        check_is_fitted(self)
        matrix = self._covariance_matrix
        return None if matrix is None else self._named(matrix, *[self.param_names_] * 2)

    def _named(self, values: np.ndarray, rows: list[str], columns: list[str]) -> Any:
        if not hasattr(self, "feature_names_in_") or find_spec("pandas") is None:
            return values
        import pandas as pd

        if values.ndim == 1:
            return pd.Series(values, index=rows)
        return pd.DataFrame(values, index=rows, columns=columns)

    @property
    def residuals_(self) -> np.ndarray:
        """y minus the predictions for the rows of positive weight (for classes 1 or 0 minus the
        probability of the class that is not the reference), after a fit of rows in memory, of one
        target or two classes; ``diagnostics`` computes those of files.
        """
        check_is_fitted(self)
        if self._residuals is None:
            raise AttributeError("residuals_ of files, or several equations: see diagnostics(...).")
        return self._residuals

    @property
    def statistics_(self: Any) -> np.ndarray:
        """Estimates divided by their standard errors: t, or z of a logistic regression (Wald)."""
        errors = self.standard_errors_
        return np.asarray(self._shown / np.where(errors > 0, errors, np.nan))

    @property
    def p_values_(self: Any) -> np.ndarray:
        """Two-sided p-values of the hypotheses that a parameter is zero."""
        return np.asarray(t_tail(self.statistics_, self._degrees))

    def confidence_intervals(self: Any, level: float | None = None) -> np.ndarray:
        """Return the confidence interval of each parameter.

        Parameters
        ----------
        level : float between 0 and 1, default: the ``level`` of the model, or 0.95

        Returns
        -------
        array of shape ``params_.shape + (2,)``: the lower and the upper ends
        """
        level = check_level(self._level if level is None else level)
        reach = t_reach(level, self._degrees) * self.standard_errors_
        return np.stack([self._shown - reach, self._shown + reach], axis=-1)

    @property
    def _level(self) -> float:
        """Level of the intervals, unless one is given."""
        check_is_fitted(self)
        return float(fitted_parameter(self, "level", 0.95))

    @property
    def param_names_(self) -> list[str]:
        """The names of the parameters in the order of ``params_.ravel()``; with several classes or
        targets ``class: feature``. A feature named "intercept" is "intercept (column)"; a hashed
        word that is counted with a negative sign has a minus.
        """
        check_is_fitted(self)
        return self._in_equations(feature_names(self))

    def _with_intercept(self, names: list[str]) -> list[str]:
        return with_intercept(names) if fitted_parameter(self, "fit_intercept") else names

    def _in_equations(self, names: list[str]) -> list[str]:
        names = self._with_intercept(names)
        return [f"{one}: {name}" for one in self._equations for name in names] or names

    def _words_and_signs(self) -> tuple[list[str], np.ndarray]:
        """Return the names of parameters without the minus, and the signs."""
        names, signs = words_and_signs(self)
        more = bool(fitted_parameter(self, "fit_intercept"))
        signs = np.tile(np.append([1] * more, signs), max(1, len(self._equations)))
        return self._in_equations(names), signs

    def _covariance_root(self: Any) -> tuple[np.ndarray, float]:
        """Return a matrix whose transpose times itself is ``covariance_``, with zeros where that
        has NaN, and the relative rounding error of linear functions of its columns.
        """
        covariance = np.nan_to_num(self._covariance_matrix)
        errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        scales = np.where(errors > 0.0, errors, 1.0)
        values, vectors = np.linalg.eigh(covariance / scales / scales[:, None])
        root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T * scales
        return root, float(np.sqrt(len(errors) * np.finfo(float).eps))

    @property
    def _printed(self) -> tuple[str, np.ndarray]:
        """The name and the values of the statistic in the summary."""
        return self._statistic, self.statistics_

    def summary(self: Any, level: float | None = None) -> Summary:
        """Return the table of the fit.

        Parameters
        ----------
        level : float between 0 and 1, default: the ``level`` of the model, or 0.95
            Confidence level of the intervals.
        """
        check_is_fitted(self)
        level = check_level(self._level if level is None else level)
        (names, signs), (title, header, notes) = self._words_and_signs(), self._headed()
        (letter, statistics), words = self._printed, self._words.ravel()
        parts = self._shown, self.standard_errors_, statistics, self.p_values_
        ends = self.confidence_intervals(level).reshape(-1, 2)
        numbers = np.column_stack([*map(np.ravel, parts), ends])
        numbers[words != "", :2] = np.nan
        turned = signs < 0  # a word that is hashed with a negative sign
        sides = [-1, 1, 1 if letter == "chi2" else -1, 1, -1, -1]
        numbers[turned] = numbers[turned][:, [0, 1, 2, 3, 5, 4]] * sides + 0.0
        words = np.where(turned, [OPPOSITE.get(word, word) for word in words], words)
        rows = list(map(Coefficient, names, *numbers.T.tolist(), words.tolist()))
        recipe = getattr(self, "recipe_", None) or {}
        text = recipe.get("text", {}) if recipe.get("hash_bits") is None else {}
        if alone := [name for name, places in text.items() if not places]:
            why = f"No feature, because all rows have the same text: {', '.join(alone)}."
            notes = [why, *notes]
        if scaled := standardized(self):
            said = ", ".join(scaled[:3]) + f" and {len(scaled) - 3} more" * (len(scaled) > 3)
            notes = [f"Standardized, so the estimates are per standard deviation: {said}.", *notes]
        return Summary(
            title, header, rows, letter, level, notes, equations=self._equations,
            equation=self._equation, standardized=scaled,
        )  # fmt: skip

    def tidy(self, level: float | None = None) -> Any:
        """Return the table of :meth:`summary` as a data frame, as its ``tidy`` does."""
        return self.summary(level).tidy()

    def glance(self: Any) -> Any:
        """Return the statistics of the fit as a data frame of one row, or one per target.

        Returns
        -------
        pandas.DataFrame, or pyarrow.Table where pandas is not installed
            ``r_squared``, ``adjusted_r_squared``, ``residual_error``, ``f_statistic``,
            ``f_p_value`` and ``df_model``, or ``null_deviance``, ``deviance``, ``mcfadden_r2``, and
            ``chi2``, ``df`` and ``p_value`` of the likelihood-ratio test; and ``df_residual``,
            ``log_likelihood``, ``aic``, ``bic``, ``n_rows``.
        """
        targets = self._equations if self._equation == "target" else []
        shared = ("df_residual", "log_likelihood", "aic", "bic", "n_rows")
        values = self._glanced() | {name: getattr(self, f"{name}_") for name in shared}
        size = max(1, len(targets))
        columns = {name: np.broadcast_to(value, size).tolist() for name, value in values.items()}
        return as_frame(({"target": targets} if targets else {}) | columns)


class Signature(NamedTuple):
    """The signature of neighboring rows, which shows whether models were fitted to the same rows: a
    number of 64 bits; the number of rows, and whether all weights are whole numbers.

    The signature of rows 0, 1, ... is the sum of B^i h(y_i, offset_i, w_i) modulo 2^64, where y is
    a number or that of a class, and h mixes bits (as S. Vigna's splitmix64). Signatures of
    neighboring rows are joined like polynomials, so the result depends neither on batches nor on
    the process that reads them. Rows of weight 0 are ignored. Features are not included, since
    models of the same rows may have different features.
    """

    rows: int = 0
    value: int = 0
    whole: bool = True

    @classmethod
    def of(cls, lane: Batch) -> "Signature":
        """Return the signature of rows whose y are floats, or codes of classes."""
        weights = lane.weights
        kept = slice(None) if weights is None or weights.all() else weights > 0
        mixed = np.full(lane.y[kept].size, _FACTOR)
        for part, usual in ((lane.y, 0.0), (lane.offset, 0.0), (weights, 1.0)):
            values = np.float64(usual) if part is None else part[kept].astype(np.float64)
            mixed = (mixed ^ (values + 0.0).view(np.uint64)) * _FACTOR  # zeros have one sign
            mixed ^= mixed >> _HALF
        powers = np.full(mixed.size, _BASE, dtype=np.uint64)
        powers[:1] = 1
        value = int((mixed * np.multiply.accumulate(powers)).sum())
        return cls(mixed.size, value, weights is None or bool((weights % 1 == 0).all()))

    def __add__(self, more: "Signature") -> "Signature":  # type: ignore[override]
        value = (self.value + pow(_BASE, self.rows, 1 << 64) * more.value) % (1 << 64)
        return Signature(self.rows + more.rows, value, self.whole and more.whole)

    @property
    def text(self) -> str:
        """The value as hexadecimal digits, for files."""
        return f"{self.value:016x}"


def stored_signature(text: Any) -> str | None:
    """Return the signature in a file, or None; raise an error for an invalid one."""
    if text is not None and not re.fullmatch("[0-9a-f]{16}", text):
        raise ValueError("an invalid signature of rows")
    return text
