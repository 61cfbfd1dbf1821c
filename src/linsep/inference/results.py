"""Inference about the parameters of fitted regressions."""

import re
from importlib.util import find_spec
from math import inf, isinf, nan
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import chdtrc, fdtrc, softmax, stdtr, stdtrit
from sklearn.utils.validation import check_is_fitted

from linsep.batches import Batch
from linsep.errors import DataError, ParameterError
from linsep.estimators import labels
from linsep.estimators.showing import HasEquation
from linsep.inference import table as tables
from linsep.inference.factors import products_and_factors
from linsep.parameters import fitted_parameter
from linsep.sources.feature_names import names_in_recipe

#: statistics of maketables, by the attributes of a regression
STATISTICS = {
    "N": "n_rows_", "r2": "r_squared_", "adj_r2": "adjusted_r_squared_",
    "pseudo_r2": "mcfadden_r2_", "ll": "log_likelihood_", "llnull": "null_log_likelihood_",
    "aic": "aic_", "bic": "bic_", "df_model": "df_model_", "df_resid": "df_residual_",
    "deviance": "deviance_", "null_deviance": "null_deviance_", "fvalue": "f_statistic_",
    "f_pvalue": "f_p_value_", "rmse": "residual_error_",
}  # fmt: skip

#: states of fits whose likelihood has no maximum
SEPARATED = ("separable", "quasi-separable")
#: B, and the constants of splitmix64
_BASE = 0xD1342543DE82EF95
_FACTOR, _HALF = np.uint64(0xBF58476D1CE4E5B9), np.uint64(30)


def check_option(valid: bool, name: str, value: Any, advice: str) -> None:
    """Raise ParameterError unless the value of an option is valid."""
    if not valid:
        raise ParameterError(f"{name} is {value!r}: {advice}.", option=name, value=value)


def check_rows(same: bool) -> None:
    """Raise DataError unless rows are the same as those of the fit."""
    if not same:
        raise DataError("These are not the rows of the fit with their weights.", code="other-rows")


def check_level(level: Any) -> float:
    """Return the level of an interval as a float; ParameterError unless it is between 0 and 1."""
    valid = isinstance(level, Real) and 0 < float(level) < 1
    check_option(valid, "level", level, "give a number between 0 and 1, such as 0.95")
    return float(level)


def t_tail(t: Any, df: float) -> Any:
    """Return P(|T| > |t|) of Student's t, which is normal for infinite ``df``."""
    return 2.0 * stdtr(df, -abs(t))


def t_reach(level: float, df: float) -> float:
    """Return the t with P(|T| <= t) = level, the half-width of an interval in standard errors."""
    return float(-stdtrit(df, (1.0 - level) / 2.0))


def upper_tail(statistic: float, df: float, residual: float = inf) -> float:
    """Return the p-value of chi-squared, or of F if ``residual`` is finite; NaN if undefined."""
    p = chdtrc(df or nan, statistic) if isinf(residual) else fdtrc(df, residual, statistic)
    return float(p)


class Bands(NamedTuple):
    """Predictions and ends of intervals, of shape (rows,), or of probabilities (rows, classes)."""

    prediction: np.ndarray
    low: np.ndarray
    high: np.ndarray


class HasInference(HasEquation):
    """Mixin of regressions: estimates, standard errors, tests and intervals of the parameters.

    With one equation (one target, or two classes) arrays have the shape (parameters,), with several
    (equations, parameters); the intercept comes first, if there is one.

    A subclass has ``_params``; ``_words``, words shown instead of estimates; ``_degrees`` of
    freedom, infinite for z; ``standard_errors_``, ``df_residual_``, ``_covariance_matrix``;
    ``_without_errors()``, why these are unknown; ``_headed()`` and ``_glanced()``, its statistics.
    """

    _statistic: str = "t"  # or "z", whose distribution the statistics have
    _equation = "class"  # what one of several equations is of
    _residuals: np.ndarray | None = None  # y minus predictions, of rows in memory
    _equations: Any = ()  # the names of several

    @property
    def _shown(self: Any) -> np.ndarray:
        return np.asarray(self._params)

    @property
    def params_(self: Any) -> Any:
        """The estimates, an array, or with names of features and pandas its Series or frame:
        infinite where a coefficient diverges, NaN if it may diverge to either side, and for a
        feature that is left out.
        """
        check_is_fitted(self)
        names = self._with_intercept(labels.feature_names(self))
        return self._named(self._params, *[self._equations] * bool(self._equations), names)

    @property
    def covariance_(self: Any) -> Any:
        """Covariance of the estimates, array or frame as ``params_``; NaN or None if undefined."""
        check_is_fitted(self)
        matrix = self._covariance_matrix
        return None if matrix is None else self._named(matrix, *[self.param_names_] * 2)

    def _named(self, values: np.ndarray, *names: list[str]) -> Any:
        if not hasattr(self, "feature_names_in_") or find_spec("pandas") is None:
            return values
        import pandas as pd

        return pd.Series(values, *names) if values.ndim == 1 else pd.DataFrame(values, *names)

    @property
    def residuals_(self) -> np.ndarray:
        """y minus the predictions (1 or 0 minus the probability of the other than the reference)
        of rows of positive weight in memory, of one target or two classes.
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
        """Return the confidence interval of each parameter, of shape ``params_.shape + (2,)``.

        Parameters
        ----------
        level : float between 0 and 1, default: the ``level`` of the model, or 0.95
        """
        reach = t_reach(self._level_or(level), self._degrees) * self.standard_errors_
        return np.stack([self._shown - reach, self._shown + reach], axis=-1)

    @property
    def _level(self) -> float:
        check_is_fitted(self)
        return float(fitted_parameter(self, "level", 0.95))

    def _level_or(self, level: float | None) -> float:
        return self._level if level is None else check_level(level)

    @property
    def param_names_(self) -> list[str]:
        """The names in the order of ``params_.ravel()``, of several classes or targets ``class:
        feature``; a feature "intercept" is "intercept (column)", a word hashed with a negative sign
        has a minus.
        """
        check_is_fitted(self)
        return self._in_equations(labels.feature_names(self))

    def _with_intercept(self, names: list[str]) -> list[str]:
        return labels.with_intercept(names) if fitted_parameter(self, "fit_intercept") else names

    def _in_equations(self, names: list[str]) -> list[str]:
        names = self._with_intercept(names)
        return [f"{one}: {name}" for one in self._equations for name in names] or names

    def _words_and_signs(self) -> tuple[list[str], np.ndarray]:
        names, signs = labels.words_and_signs(self)
        signs = np.append([1] * bool(fitted_parameter(self, "fit_intercept")), signs)
        return self._in_equations(names), np.tile(signs, max(1, len(self._equations)))

    def _covariance_root(self: Any) -> tuple[np.ndarray, float]:
        """Return R with R'R = ``covariance_``, 0 for NaN, and the relative error of its columns."""
        covariance = np.nan_to_num(self._covariance_matrix)
        errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        scales = np.where(errors > 0.0, errors, 1.0)
        values, vectors = np.linalg.eigh(covariance / scales / scales[:, None])
        root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T * scales
        return root, float(np.sqrt(len(errors) * np.finfo(float).eps))

    @property
    def _printed(self) -> tuple[str, np.ndarray]:
        return self._statistic, self.statistics_

    def summary(self: Any, level: float | None = None) -> tables.Summary:
        """Return the table of the fit.

        Parameters
        ----------
        level : float between 0 and 1, of the intervals, as for :meth:`confidence_intervals`
        """
        check_is_fitted(self)
        (names, signs), (title, header, notes) = self._words_and_signs(), self._headed()
        (letter, statistics), words = self._printed, self._words.ravel()
        ends = self.confidence_intervals(level).reshape(-1, 2)
        # a word that is hashed with a negative sign is minus the feature
        ends = np.where(signs[:, None] < 0, -ends[:, ::-1], ends)
        statistics = np.ravel(statistics) * (1 if letter == "chi2" else signs)
        estimates, errors, p = map(np.ravel, (self._shown, self.standard_errors_, self.p_values_))
        columns = np.stack([estimates * signs, errors, statistics, p, *ends.T]) + 0.0
        columns[:2, words != ""] = np.nan
        words = np.where(signs < 0, [tables.OPPOSITE.get(word, word) for word in words], words)
        rows = list(map(tables.Coefficient, names, *columns.tolist(), words.tolist()))
        scales = (getattr(self, "recipe_", None) or {}).get("scale") or {}
        scaled = labels.feature_names(self)[: len(scales)]  # the first
        said = ", ".join(scaled[:3]) + f" and {len(scaled) - 3} more" * (len(scaled) > 3)
        notes = [f"Estimates are per standard deviation of {said}."] * bool(said) + notes
        return tables.Summary(
            title, header, rows, letter, self._level_or(level), notes,
            equations=self._equations, equation=self._equation, standardized=scaled,
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
            ``f_p_value``, ``df_model``; ``null_deviance``, ``deviance``, ``mcfadden_r2``, ``chi2``,
            ``df``, ``p_value`` (Firth's ``penalized_log_likelihood``); ``df_residual``,
            ``log_likelihood``, ``aic``, ``bic``, ``n_rows``.
        """
        targets, values = self._equations if self._equation == "target" else [], self._glanced()
        for name in ("df_residual", "log_likelihood", "aic", "bic", "n_rows"):
            values[name] = getattr(self, f"{name}_")
        cells = {k: np.broadcast_to(x, len(targets) or 1).tolist() for k, x in values.items()}
        return tables.as_frame(({"target": targets} if targets else {}) | cells)

    @property
    def __maketables_coef_table__(self: Any) -> Any:
        percent, frame = f"{100 * self._level:.6g}", self.tidy()
        names = {
            "estimate": "b", "standard_error": "se", "statistic": "t", "p_value": "p",
            "low": f"ci{percent}l", "high": f"ci{percent}u",
        }  # fmt: skip
        return frame.set_index([self.param_names_])[list(names)].rename(columns=names)

    def __maketables_stat__(self: Any, key: str) -> Any:
        kind = self.__maketables_vcov_info__["vcov_type"]
        own = {"se_type": kind, "n_clusters": int(self._degrees) + 1 if kind == "CR1" else None}
        return own.get(key, getattr(self, STATISTICS.get(key, ""), None))

    @property
    def __maketables_depvar__(self) -> str:
        return labels.target_name(self) or "y"

    @property
    def __maketables_vcov_info__(self) -> dict[str, Any]:
        return {"vcov_type": fitted_parameter(self, "covariance") or "iid", "clustervar": None}

    @property
    def __maketables_default_stat_keys__(self) -> list[str]:
        linear = self._equation == "target"
        return ["N", "r2", "adj_r2"] if linear else ["N", "pseudo_r2", "ll", "aic"]

    def for_marginaleffects(self: Any, data: Any) -> Any:
        """Return the regression as a model of the package marginaleffects, whose functions compute
        adjusted predictions, contrasts and slopes at values; DataError if a coefficient diverges.

        Parameters
        ----------
        data : data frame of pandas or polars, the rows of the fit with the training columns
        """
        check_is_fitted(self)
        import polars as pl
        from marginaleffects.classes import ModelAbstract, ModelVault

        if not np.isin(self._words, ["", "dependent"]).all():
            raise DataError("Some coefficients have no finite estimates.", code="separated")
        linear, constant = self._equation == "target", int(fitted_parameter(self, "fit_intercept"))
        classes = [] if linear else [*map(labels.label_text, self.classes_.tolist())]
        order = [classes.index(name) for name in self._others()] if classes else []
        groups = classes if len(classes) > 2 else [""]
        columns, recipe = labels.feature_names(self), getattr(self, "recipe_", None) or {}
        if recipe.get("format") == "table":
            columns = [*(recipe.get("formula") or {"inputs": names_in_recipe(recipe)})["inputs"]]
        frame = data if isinstance(data, pl.DataFrame) else pl.from_pandas(data)
        levels = {
            name: pl.Enum([*of])
            for name, of in products_and_factors(self)[1].items()
            if not frame[name].dtype.is_numeric()
        }

        class Model(ModelAbstract):
            def get_exog(self, newdata: Any) -> np.ndarray:
                texts = newdata.cast(dict.fromkeys(levels, pl.String))
                X = self.model.features_of(texts.select(columns).to_pandas())
                X = X.toarray() if sp.issparse(X) else np.asarray(X, dtype=np.float64)
                return np.column_stack([np.ones((len(X), constant)), X])

            def get_predict(self, params: np.ndarray, newdata: Any) -> Any:
                means = np.asarray(newdata) @ np.reshape(params, (-1, newdata.shape[1])).T
                if classes:
                    odds = np.zeros((len(means), len(classes)))
                    odds[:, order] = means
                    means = softmax(odds, axis=1)[:, order if len(classes) == 2 else slice(None)]
                rows = np.arange(len(means), dtype=np.int32)
                parts = [
                    pl.DataFrame({"rowid": rows, "group": name, "estimate": mean})
                    for name, mean in zip(groups, means.T, strict=True)
                ]
                return pl.concat(parts) if len(groups) > 1 else parts[0].drop("group")

            def get_vcov(self, vcov: Any = True) -> Any:
                return None if vcov is False else self.vault.vcov

        covariance = None if self._without_errors() else np.nan_to_num(self._covariance_matrix)
        vault = ModelVault(
            coef=np.nan_to_num(np.ravel(self._params)), coefnames=np.array(self.param_names_),
            vcov=covariance, modeldata=frame.cast(levels), package="linsep",
            formula=lambda rows: (None, rows),
            variable_names=[labels.target_name(self) or "y", *columns],
        )  # fmt: skip
        found = Model(self, vault)
        if np.isfinite(self._degrees):
            found.df_resid = float(self._degrees)
        return found


class Signature(NamedTuple):
    """A number of 64 bits of the rows of a fit, without features: the sum of B^i h(y_i, offset_i,
    w_i) modulo 2^64 over rows of positive weight, where h mixes bits (as S. Vigna's splitmix64).
    Neighboring rows are joined like polynomials, so batches do not matter.
    """

    rows: int = 0
    value: int = 0
    whole: bool = True

    @classmethod
    def of(cls, lane: Batch) -> "Signature":
        """Return the signature of the rows of a lane."""
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

    def __str__(self) -> str:
        return f"{self.value:016x}"


def stored_signature(text: Any) -> str | None:
    """Return the signature in a file, or None; raise an error for an invalid one."""
    if text is not None and not re.fullmatch("[0-9a-f]{16}", text):
        raise ValueError("an invalid signature of rows")
    return text
