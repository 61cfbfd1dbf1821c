"""Inference about the parameters of fitted regressions."""

from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from sklearn.utils.validation import check_is_fitted

from linsep.estimators._common.explaining import standardized
from linsep.estimators._common.labels import feature_names, with_intercept, words_and_signs
from linsep.estimators._common.showing import HasEquation
from linsep.inference.adapters import ForMaketables
from linsep.inference.table import OPPOSITE, Coefficient, Summary, as_frame, check_level
from linsep.inference.tails import t_reach, t_tail
from linsep.parameters import fitted_parameter

if TYPE_CHECKING:
    from linsep.inference.hypotheses import Contrasts, WaldTest
    from linsep.inference.refitting import LikelihoodRatioTests, ScoreTest


class Bands(NamedTuple):
    """Predictions and the ends of their intervals: numbers of shape (rows,), or probabilities of
    shape (rows, classes).
    """

    prediction: np.ndarray
    low: np.ndarray
    high: np.ndarray


class Estimated(Protocol):
    """What tests, tables and diagnostics of fitted regressions ask of them.

    ``_degrees`` are those of the statistics, infinite for a normal distribution; ``_words`` are
    status codes that are shown instead of estimates; ``_without_errors()`` says why standard errors
    are unknown, or "". From ``_limits`` on they are of logistic regressions.
    """

    _params: np.ndarray
    _words: np.ndarray
    _degrees: float
    _covariance_matrix: np.ndarray | None
    _without_errors: Callable[[], str]
    _limits: np.ndarray
    _covariance: np.ndarray | None
    _inferable: bool
    _wide: bool
    _others: Callable[[], list[str]]
    _scores: Callable[..., np.ndarray]
    _held_at_zero: Callable[..., Any]
    _scored: Callable[..., Any]


class HasInference(HasEquation, ForMaketables):
    """Mixin of regressions: estimates, standard errors, tests and intervals of the parameters.

    A regression with one equation (one target, or two classes) has arrays of shape (parameters,);
    with several classes or targets, arrays of shape (equations, parameters). The intercept comes
    first, if there is one, then the features in order. A subclass has what :class:`Estimated`
    lists, ``standard_errors_`` and ``df_residual_``; ``_headed()``: the title of the summary, the
    statistics of the fit, and notes; and ``_glanced()``: the statistics that only it has.
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
        """Return a matrix whose transpose times itself is ``covariance_``, and the relative
        rounding error of linear functions of its columns.
        """
        from linsep.inference.hypotheses import root_of

        return root_of(self._covariance_matrix)

    def wald_test(self, hypotheses: Any, q: Any = None, *, test: str | None = None) -> "WaldTest":
        """Test linear hypotheses about the parameters jointly (Wald test).

        Parameters
        ----------
        hypotheses : str, list of str, or array of shape (restrictions, parameters)
            Restrictions separated by commas, such as ``"x1 = x2, 2 * x3 - x4 = 1"``: sums of
            numbers and names of ``param_names_`` (the longest that match; any may be in backticks),
            joined by ``=``; a sum without ``=`` is compared with zero. Or the matrix R of the
            hypothesis R b = q, with columns in the order of ``param_names_``.
        q : float or array of shape (restrictions,), default zeros
            Right sides, for a matrix.
        test : "F" or "chi2", default: "F" for least squares and clusters, else "chi2"
            The distribution of the statistic. "F" has ``df_residual_`` degrees of freedom, with
            clusters (CR1) their number - 1.

        Raises
        ------
        ParameterError
            If a name is unknown, or a restriction follows from earlier ones.
        DataError
            If a parameter has no finite estimate, standard errors are unknown, or the covariance of
            the restrictions is singular.
        """
        check_is_fitted(self)
        from linsep.inference.hypotheses import wald

        return wald(self, hypotheses, q, test)

    def contrasts(
        self, factor: str, compare: Any = "pairs", *, adjust: str | None = "holm",
        level: float | None = None,
    ) -> "Contrasts":  # fmt: skip
        """Compare levels of a factor: a text column, categories, or ``C(column)`` or a boolean
        column of a formula.

        Parameters
        ----------
        factor : str, name of the column
        compare : "pairs", "reference" or list, default="pairs"
            Each level minus each earlier level, or minus the reference level, whose parameter is
            zero; or contrasts such as ``["b - a", "(b + c) / 2 - a"]``, or pairs ``[("b", "a")]``.
        adjust : "holm" or None, default="holm"
            Adjustment of the p-values for all contrasts of all classes.
        level : float between 0 and 1, default: the ``level`` of the model, or 0.95
            Confidence level of each individual interval.

        Raises
        ------
        ParameterError
            If a level is unknown, or the coefficients of a contrast do not sum to zero.
        DataError
            If there is no such factor, or standard errors are unknown.
        """
        check_is_fitted(self)
        from linsep.inference.hypotheses import contrasts

        return contrasts(self, factor, compare, adjust, level)

    def likelihood_ratio_tests(
        self, X: Any, y: Any = None, sample_weight: Any = None, offset: Any = None,
        successes: Any = None, trials: Any = None,
    ) -> "LikelihoodRatioTests":  # fmt: skip
        """Test each feature or factor by leaving it out, as R's ``drop1``.

        Linear regressions, and counts with an estimated dispersion, have F tests; other logistic
        regressions have likelihood-ratio tests, approximately chi-squared. All features of a
        factor, or of another term of a formula, are left out together. A term that is part of a
        product in the model is not tested. With Firth's penalty the penalized likelihoods are
        compared, with the coefficients of the term held at zero, as in logistf; for separated
        classes the supremum of the log-likelihood, and p is only a rough guide.

        Parameters
        ----------
        X, y, sample_weight, offset, successes, trials : the arguments of the fit
            Or a source, a file or a data frame with the training columns. The rows are read into
            memory.

        Raises
        ------
        DataError
            If these are not the rows of the fit, if the maximum of the likelihood is unknown, or
            with l2 or a robust covariance.
        """
        from linsep.inference.refitting import likelihood_ratio_tests

        counts = {} if successes is None else {"successes": successes, "trials": trials}
        more = {"sample_weight": sample_weight, "offset": offset} | counts
        return likelihood_ratio_tests(self, X, y, **more)

    def score_test(
        self, X: Any, y: Any = None, more: Any = None, sample_weight: Any = None
    ) -> "ScoreTest":
        """Test whether additional columns would improve the model (Rao's score test).

        The larger model is not fitted, and its likelihood need not have a maximum. The statistic is
        approximately chi-squared; of least squares the number of rows times the share of the
        residual sum of squares that the larger model explains.

        Parameters
        ----------
        X, y, sample_weight : the rows of the fit, as for :meth:`likelihood_ratio_tests`
        more : array or sparse matrix of shape (rows,) or (rows, columns)
            The columns to add, tested jointly.

        Raises
        ------
        DataError
            If these are not the rows of the fit, if the model has no finite estimates, or with l2,
            Firth's penalty or a robust covariance.
        """
        from linsep.inference.refitting import score_test

        return score_test(self, X, y, more, sample_weight)

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
        letter, statistics = self._printed
        parts = self._shown, self.standard_errors_, statistics, self.p_values_
        ends = self.confidence_intervals(level).reshape(-1, 2)
        numbers, words = np.column_stack([*map(np.ravel, parts), ends]), self._words.ravel()
        numbers[words != "", :2] = np.nan
        turned = signs < 0  # a word that is hashed with a negative sign
        sides = [-1, 1, 1 if letter == "chi2" else -1, 1, -1, -1]
        numbers[turned] = numbers[turned][:, [0, 1, 2, 3, 5, 4]] * sides + 0.0
        words = np.where(turned, [OPPOSITE.get(word, word) for word in words], words)
        columns = map(np.ndarray.tolist, (*numbers.T, words))
        rows = list(map(Coefficient, names, *columns))
        scaled = standardized(self)
        if scaled:
            more = f" and {len(scaled) - 3} more" * (len(scaled) > 3)
            names = ", ".join(scaled[:3]) + more
            notes = [f"Standardized, so the estimates are per standard deviation: {names}.", *notes]
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
        rows = self._equations if self._equation == "target" else []
        shared = ("df_residual", "log_likelihood", "aic", "bic", "n_rows")
        values = self._glanced() | {name: getattr(self, f"{name}_") for name in shared}
        columns: dict[str, list[Any]] = {"target": rows} if rows else {}
        for name, value in values.items():
            columns[name] = np.broadcast_to(value, max(1, len(rows))).tolist()
        return as_frame(columns)

    def for_marginaleffects(self, data: Any) -> Any:
        """Return the regression as a model of the package marginaleffects, whose functions compute
        adjusted predictions, contrasts and slopes at values, by groups, with delta-method errors.

        Parameters
        ----------
        data : data frame of pandas or polars
            The rows of the fit, with the columns used for training.

        Raises
        ------
        DataError
            If a coefficient diverges.
        """
        check_is_fitted(self)
        from linsep.inference.adapters import for_marginaleffects

        return for_marginaleffects(self, data)
