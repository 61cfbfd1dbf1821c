"""linsep's regressions behind the classes of statsmodels, so that its own tests run on them.

``OLS``, ``WLS``, ``Logit``, ``MNLogit`` and ``GLM`` (of binomial outcomes and counts with log-odds;
the original for other families) take what those of statsmodels take. Numbers are those of a fitted
:class:`linsep.LinearRegression` or :class:`linsep.LogisticRegression`, or sums, differences and
ratios of two of them; what linsep does not have is missing here, too.
"""

import json
import os
from functools import cached_property
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from statsmodels.genmod.generalized_linear_model import GLM as TheirGLM

import linsep
from linsep.inference.results import t_reach

#: how often a test asked for something of this file
asked = [0]
#: options of theirs that are about steps and what they print
STEPS = {
    *("disp", "warn_convergence", "maxiter", "tol", "full_output", "start_params", "gtol", "pgtol"),
    *("xtol", "ftol", "epsilon", "m", "callback", "retall", "atol", "rtol"),
}


def ours(name):
    """A property that is an attribute of the fitted estimator."""
    return property(lambda self: getattr(self.fitted, name))


class Refused(NotImplementedError):
    """linsep has no such option."""


class Model:
    """Rows and options, and what is known before a fit.

    Columns of equal values become the intercept, the first of them only.
    """

    def __init__(self, endog, exog=None, missing="none", hasconst=None, **options):
        asked[0] += 1
        if missing != "none":
            raise Refused(f"missing={missing!r}")
        self.options = options
        self.data = SimpleNamespace(orig_endog=endog, orig_exog=exog)
        self.names = list(exog.columns) if isinstance(exog, pd.DataFrame) else None
        self.exog = np.asarray(exog, dtype=float)
        self.exog = self.exog[:, None] if self.exog.ndim == 1 else self.exog
        self.endog = np.asarray(endog)
        self.endog = self.endog[:, 0] if self.endog.shape[1:] == (1,) else self.endog
        first = np.flatnonzero((self.exog == self.exog[:1]).all(0) & (self.exog[0] != 0))
        self.constant = None if hasconst is False or not first.size else int(first[0])
        self.k_constant = int(self.constant is not None)
        self.exog_names = self.names or self._numbered()
        self.endog_names = getattr(endog, "name", None) or "y"

    @classmethod
    def from_formula(cls, formula, data, **options):
        """Return a model of the columns that statsmodels makes of a formula."""
        theirs = cls.original.from_formula(formula, data)
        exog = pd.DataFrame(theirs.exog, columns=theirs.exog_names, index=data.index)
        return cls(pd.Series(theirs.endog, index=data.index, name=theirs.endog_names), exog,
                   **options)  # fmt: skip

    def _numbered(self):
        names = [f"x{i + 1 - self.k_constant * (self.constant == 0)}"
                 for i in range(self.exog.shape[1])]  # fmt: skip
        if self.constant is not None:
            names[self.constant] = "const"
        return names

    def features(self, exog=None):
        """Return the columns without the constant, which is the intercept's."""
        exog = self.exog if exog is None else np.asarray(exog, dtype=float)
        exog = exog if exog.ndim > 1 else exog.reshape(-1, self.exog.shape[1])
        kept = exog if self.constant is None else np.delete(exog, self.constant, axis=1)
        names = [name for i, name in enumerate(self.exog_names) if i != self.constant]
        return pd.DataFrame(kept, columns=[str(name) for name in names])

    @property
    def order(self):
        """Where each parameter of theirs is among ours, whose first is the intercept."""
        width = self.exog.shape[1]
        if self.constant is None:
            return np.arange(width)
        order = np.arange(1, width + 1)
        order[self.constant + 1 :] -= 1
        order[self.constant] = 0
        return order

    @cached_property
    def fitted(self):
        """The estimator, fitted with the usual covariance."""
        return self.estimated({}, {})

    def fit(self, cov_type="nonrobust", cov_kwds=None, use_t=None, method=None, **how):
        """Fit; how it is computed is linsep's choice."""
        if set(how) - STEPS:
            raise Refused(", ".join(sorted(set(how) - STEPS)))
        cov_kwds = dict(cov_kwds or {})
        use_t = cov_kwds.pop("use_t", use_t)
        fitted = self.estimated(*robust(cov_type, cov_kwds))
        if use_t is not None and use_t != (fitted._statistic == "t"):
            raise Refused(f"use_t={use_t}")
        return self.results(self, fitted)

    def predict(self, params, exog=None, which=None, **options):
        """Predict with given parameters; those of a fitted estimator may be changed."""
        if options:
            raise Refused(", ".join(options))
        return self.results(self, self.changed(params)).predict(exog, which=which)

    def score_test(self, params, exog_extra=None, **options):
        at = self.results(self, self.fitted).params
        if options or exog_extra is None or not np.array_equal(params, at):
            raise Refused("score tests other than of more columns at the estimates")
        extra = np.asarray(exog_extra)
        found = self.fitted.score_test(self.features(), self.endog, extra.reshape(len(extra), -1))
        return np.float64(found.statistic), np.float64(found.p_value), found.df

    def changed(self, params):
        """Return the fitted estimator with other numbers."""
        from copy import copy

        other, params = copy(self.fitted), np.asarray(params)
        ours = np.empty(params.shape)
        ours[self.order] = params
        ours = ours.T.reshape(-1, self.exog.shape[1])
        if self.k_constant:
            other.intercept_, other.coef_ = ours[:, 0], ours[:, 1:]
        else:
            other.coef_ = ours
        if self.original_is_linear:
            other.coef_ = ours[0, self.k_constant :]
            other.intercept_ = float(ours[0, 0]) if self.k_constant else 0.0
        return other

    original_is_linear = False


def robust(cov_type, more):
    """Return linsep's name of a covariance, and what the fit takes with it."""
    name = {"nonrobust": None, "cluster": "CR1"}.get(cov_type, cov_type)
    beside = {}
    if name == "CR1":
        groups = more.pop("groups")
        if isinstance(groups, tuple) or np.shape(groups)[1:] not in ((), (1,)):
            raise Refused("clusters of two kinds")
        beside = {"clusters": np.asarray(groups).ravel()}
        if not more.pop("use_correction", True):
            raise Refused("clusters without the correction")
        more.pop("df_correction", None)
    if more or name not in (None, "HC0", "HC1", "HC2", "HC3", "CR1"):
        raise Refused(f"cov_type={cov_type!r}, {', '.join(more)}")
    return ({} if name is None else {"covariance": name}), beside


class Results:
    """Numbers of a fit, arranged as those of statsmodels."""

    def __init__(self, model, fitted):
        self.model, self.fitted = model, fitted

    def __getattribute__(self, name):
        asked[0] += 1
        return object.__getattribute__(self, name)

    def _arranged(self, ours):
        """Return an array of (equations, parameters) or (parameters,) in their order."""
        ours = np.asarray(ours)[..., self.model.order].T
        if not self.model.names:
            return ours
        as_pandas = pd.Series if ours.ndim == 1 else pd.DataFrame
        return as_pandas(ours, index=self.model.names)

    @property
    def params(self):
        return self._arranged(np.asarray(self.fitted.params_))

    @property
    def bse(self):
        return self._arranged(self.fitted.standard_errors_)

    @property
    def tvalues(self):
        return self._arranged(self.fitted.statistics_)

    @property
    def pvalues(self):
        return self._arranged(self.fitted.p_values_)

    def conf_int(self, alpha=0.05, cols=None):
        found = self.fitted.confidence_intervals(1 - alpha)[..., self.model.order, :]
        if found.ndim == 2 and self.model.names:
            return pd.DataFrame(found, index=self.model.names)
        return found if cols is None else found[cols]

    @property
    def _everywhere(self):
        """The order of all parameters of all equations."""
        width = self.model.exog.shape[1]
        equations = np.size(self.fitted.params_) // width
        return np.concatenate([self.model.order + i * width for i in range(equations)])

    def cov_params(self, r_matrix=None, cov_p=None):
        if r_matrix is not None:
            raise Refused("covariances of combinations")
        order = self._everywhere
        found = np.asarray(self.fitted.covariance_)[np.ix_(order, order)]
        if self.model.names and found.shape[0] == len(self.model.names):
            return pd.DataFrame(found, index=self.model.names, columns=self.model.names)
        return found

    llf, aic, bic = map(ours, ("log_likelihood_", "aic_", "bic_"))
    nobs = property(lambda self: float(self.fitted.n_rows_))

    def info_criteria(self, crit, **options):
        if crit.lower() not in ("aic", "bic") or options:
            raise Refused(f"criterion {crit}")
        return getattr(self, crit.lower())

    @property
    def _names(self):
        return [str(name) for name in self.model.exog_names]

    def _hypotheses(self, given):
        """Return hypotheses as linsep takes them, and right sides."""
        if isinstance(given, str):
            names = [name.strip() for name in given.split(",")]
            if not set(names) <= set(self._names):
                return given.replace("const", "intercept"), None
            given = np.eye(len(self._names))[[self._names.index(name) for name in names]]
        given, right = given if isinstance(given, tuple) else (given, None)
        theirs = np.atleast_2d(np.asarray(given, dtype=float))
        ours = np.zeros_like(theirs)
        ours[:, self._everywhere] = theirs
        return ours, right

    def wald_test(self, r_matrix, cov_p=None, invcov=None, use_f=None, scalar=True, **other):
        if invcov is not None or other:
            raise Refused("a covariance of the caller's")
        fitted = self._with_covariance(cov_p)
        use_f = self.fitted._statistic == "t" if use_f is None else use_f
        hypotheses, right = self._hypotheses(r_matrix)
        found = fitted.wald_test(hypotheses, right, test="F" if use_f else "chi2")
        return SimpleNamespace(
            statistic=found.statistic, fvalue=found.statistic, pvalue=found.p_value,
            df_num=found.df, df_constraint=found.df, distribution="F" if use_f else "chi2",
            df_denom=dict(found.header).get("degrees of freedom, residuals", np.inf),
            summary=lambda: str(found),
        )  # fmt: skip

    def f_test(self, r_matrix, cov_p=None):
        return self.wald_test(r_matrix, cov_p, use_f=True)

    def t_test(self, r_matrix, cov_p=None, use_t=None):
        if use_t is not None:
            raise Refused(f"use_t={use_t}")
        fitted, (hypotheses, right) = self._with_covariance(cov_p), self._hypotheses(r_matrix)
        found = fitted.wald_test(hypotheses, right)
        columns = {name: np.array(values) for name, values in found.columns.items()
                   if name != "hypothesis"}  # fmt: skip
        effect = columns["estimate"] + (0.0 if right is None else np.asarray(right))
        statistic = columns["t" if "t" in columns else "z"]
        reach = t_reach(0.95, fitted._degrees) * columns["standard_error"]
        return SimpleNamespace(
            effect=effect, sd=columns["standard_error"], tvalue=statistic, statistic=statistic,
            pvalue=columns["p_value"], df_denom=fitted.df_residual_,
            conf_int=lambda: np.column_stack([effect - reach, effect + reach]),
            summary=lambda: str(found), summary_frame=found.tidy,
        )  # fmt: skip

    def _with_covariance(self, given):
        """Return the estimator whose covariance was given, of those of the same estimates."""
        if given is None or np.array_equal(given, self.cov_params()):
            return self.fitted
        for name in ("HC0", "HC1", "HC2", "HC3"):
            other = self.results(self.model, self.model.estimated({"covariance": name}, {}))
            if np.array_equal(given, other.cov_params()):
                return other.fitted
        raise Refused("a covariance of the caller's")

    @property
    def results(self):
        return type(self)

    def summary(self, **options):
        if options:
            raise Refused(", ".join(options))
        return self.fitted.summary()


class LinearResults(Results):
    """Least squares."""

    scale, rsquared, rsquared_adj, fvalue = map(
        ours, ("residual_variance_", "r_squared_", "adjusted_r_squared_", "f_statistic_")
    )
    f_pvalue = ours("f_p_value_")
    ssr = property(lambda self: self.fitted.solution_.rss)
    centered_tss = property(lambda self: self.fitted.solution_.y_norm**2)
    ess = property(lambda self: self.centered_tss - self.ssr)
    df_resid, df_model, mse_resid = map(ours, ("df_residual_", "df_model_", "residual_variance_"))
    mse_model = property(lambda self: self.ess / self.df_model)

    @property
    def mse_total(self):
        return self.centered_tss / (self.df_resid + self.df_model)

    def predict(self, exog=None, which=None, **options):
        if options:
            raise Refused(", ".join(options))
        return self.fitted.predict(self.model.features(exog))

    fittedvalues = property(lambda self: self.predict())

    @property
    def resid(self):
        return self.model.endog - self.predict()

    @property
    def normalized_cov_params(self):
        return self.cov_params() / self.scale

    @property
    def wresid(self):
        return self.resid * np.sqrt(self.model.weights)

    @property
    def resid_pearson(self):
        return self._diagnosed.pearson / self.fitted.residual_error_

    @property
    def _diagnosed(self):
        model = self.model
        weights = None if model.original_weights is None else model.weights
        return self.fitted.diagnostics(model.features(), model.endog, weights)

    def _with(self, covariance):
        return LinearResults(self.model, self.model.estimated({"covariance": covariance}, {}))

    HC0_se, HC1_se, HC2_se, HC3_se = (
        property(lambda self, name=name: self._with(name).bse)
        for name in ("HC0", "HC1", "HC2", "HC3")
    )
    cov_HC0, cov_HC1, cov_HC2, cov_HC3 = (
        property(lambda self, name=name: self._with(name).cov_params())
        for name in ("HC0", "HC1", "HC2", "HC3")
    )

    def get_robustcov_results(self, cov_type="HC1", use_t=None, **more):
        return self.model.fit(cov_type=cov_type, use_t=use_t, cov_kwds=more)

    def compare_f_test(self, restricted):
        test = linsep.compare(restricted.fitted, self.fitted).tests[1]
        return test.statistic, test.p_value, test.df

    def compare_lm_test(self, restricted, **options):
        if options or self.fitted.covariance is not None:
            raise Refused("score tests other than of more columns at the estimates")
        rest, columns = restricted.model, self.model.exog.T
        more = [one for one in columns if not (one == rest.exog.T).all(1).any()]
        return rest.score_test(restricted.params, np.array(more).T)

    def get_prediction(self, exog=None, **options):
        rows = self.model.features(exog)
        mean = self.fitted.predict(rows, interval="confidence", level=0.95)
        new = self.fitted.predict(rows, interval="prediction", level=0.95)
        return SimpleNamespace(
            predicted_mean=mean.prediction,
            conf_int=lambda obs=False: np.column_stack((new if obs else mean)[1:]),
        )


class Tested:
    """A test that is unpacked as its statistic and its p-value."""

    def __init__(self, statistic, pvalue, k_constraint):
        self.statistic, self.pvalue, self.k_constraint = statistic, pvalue, k_constraint

    def __iter__(self):
        return iter((self.statistic, self.pvalue))


class LogisticResults(Results):
    """Outcomes of two classes."""

    llnull = ours("null_log_likelihood_")
    llr = property(lambda self: self.fitted.likelihood_ratio_[0])
    llr_pvalue = property(lambda self: self.fitted.likelihood_ratio_[2])
    prsquared, df_resid = map(ours, ("mcfadden_r2_", "df_residual_"))
    df_model = property(lambda self: float(self.fitted.likelihood_ratio_[1]))
    deviance, null_deviance = map(ours, ("deviance_", "null_deviance_"))

    def predict(self, exog=None, which=None, linear=None, **options):
        if options:
            raise Refused(", ".join(options))
        rows = self.model.features(exog)
        if which == "linear" or linear:
            return self.fitted.decision_function(rows)
        if which not in (None, "mean"):
            raise Refused(f"which={which!r}")
        return self.fitted.predict_proba(rows)[:, 1]

    @property
    def fittedvalues(self):
        return self.predict(which="linear")

    def pred_table(self, threshold=0.5):
        from sklearn.metrics import confusion_matrix

        found = self.fitted.predict(self.model.features())
        return confusion_matrix(self.model.endog, found).astype(float)

    @property
    def _diagnosed(self):
        return self.fitted.diagnostics(self.model.features(), self.model.endog)

    resid_dev = property(lambda self: self._diagnosed.deviance)
    resid_pearson = property(lambda self: self._diagnosed.pearson)
    resid_response = property(lambda self: self._diagnosed.y - self._diagnosed.fitted)

    def score_test(self, exog_extra=None, **options):
        return Tested(*self.model.score_test(self.params, exog_extra, **options))

    def get_margeff(self, at="overall", method="dydx", atexog=None, dummy=False, count=False):
        if method != "dydx" or count or at == "all":
            raise Refused(f"effects: {method}, {at}" + ", of counts" * count)
        return Effects(self, at, atexog, dummy)

    def get_prediction(self, exog=None, **options):
        if options:
            raise Refused(", ".join(options))
        found = self.fitted.predict_proba(self.model.features(exog), interval="confidence")
        return found


class Effects:
    """Marginal effects of a fit, an array of (features,), or (features, classes) of several."""

    def __init__(self, results, at, atexog, dummy):
        model, rows = results.model, results.model.features()
        names = list(rows.columns)
        if at == "zero":
            at = dict.fromkeys(names, 0.0)
        elif at == "median":
            at = dict(zip(names, np.median(rows, axis=0), strict=True))
        if atexog:
            others = dict(zip(names, rows.mean(), strict=True)) if at == "mean" else {}
            places = {i: value for i, value in atexog.items() if i != model.constant}
            at = others | {model.exog_names[i]: value for i, value in places.items()}
        discrete = None if dummy else []
        table = results.fitted.marginal_effects(rows, at, discrete=discrete).tidy()
        shape = (-1, len(names)) if "class" in table else (len(names),)
        self.margeff = table["estimate"].to_numpy().reshape(shape).T
        self.margeff_se = table["standard_error"].to_numpy().reshape(shape).T
        self.tvalues, self.pvalues = self.margeff / self.margeff_se, table["p_value"].to_numpy()
        self.table = table

    def summary_frame(self):
        frame = self.table.rename(columns={"estimate": "dy/dx"})
        return frame.set_index("term")[
            ["dy/dx", "standard_error", "statistic", "p_value", "low", "high"]
        ]


class MultinomialResults(LogisticResults):
    """Outcomes of several classes."""

    @property
    def _names(self):
        classes = [f"y{label:g}" for label in self.fitted.classes_[1:]]
        return [f"{label}_{name}" for label in classes for name in self.model.exog_names]

    def predict(self, exog=None, which=None, **options):
        rows = self.model.features(exog)
        if which == "linear":
            return self.fitted.decision_function(rows)
        return self.fitted.predict_proba(rows)


class GLMResults(LogisticResults):
    """Outcomes or counts, as a generalized linear model."""

    scale = 1.0
    family = property(lambda self: self.model.family)
    mu = property(lambda self: self.predict())
    fittedvalues = property(lambda self: self.predict())
    resid_deviance = property(lambda self: self._diagnosed.deviance)
    resid_working = property(lambda self: self._diagnosed.working)
    pearson_chi2 = property(lambda self: float((self._diagnosed.pearson**2).sum()))
    bic_llf = ours("bic_")

    def pseudo_rsquared(self, kind="cs"):
        if kind != "mcf":
            raise Refused(f"pseudo R^2: {kind}")
        return self.fitted.mcfadden_r2_


class OLS(Model):
    from statsmodels.regression.linear_model import OLS as original

    results, original_is_linear = LinearResults, True
    original_weights = None

    @property
    def weights(self):
        return np.ones(len(self.endog))

    def estimated(self, covariance, beside):
        if self.options:
            raise Refused(", ".join(self.options))
        self.model = linsep.LinearRegression(fit_intercept=self.constant is not None, **covariance)
        return self.model.fit(self.features(), self.endog, **beside)

    nobs = property(lambda self: float(len(self.endog)))
    wexog = property(lambda self: self.exog * np.sqrt(self.weights)[:, None])
    wendog = property(lambda self: self.endog * np.sqrt(self.weights))
    df_model = cached_property(lambda self: float(self.fitted.df_model_))
    df_resid = cached_property(lambda self: float(self.fitted.df_residual_))
    rank = cached_property(lambda self: self.fitted.solution_.rank)


class WLS(OLS):
    from statsmodels.regression.linear_model import WLS as original

    def __init__(self, endog, exog, weights=1.0, **options):
        super().__init__(endog, exog, **options)
        self.original_weights = weights
        self._weights = np.asarray(weights, dtype=float)

    @property
    def weights(self):
        scalar = not self._weights.ndim
        return np.full(len(self.endog), float(self._weights)) if scalar else self._weights

    def estimated(self, covariance, beside):
        self.model = linsep.LinearRegression(fit_intercept=self.constant is not None, **covariance)
        return self.model.fit(self.features(), self.endog, self.weights, **beside)


class Logit(Model):
    from statsmodels.discrete.discrete_model import Logit as original

    results = LogisticResults
    df_model = cached_property(lambda self: self.results(self, self.fitted).df_model)
    df_resid = cached_property(lambda self: float(self.fitted.df_residual_))

    def estimated(self, covariance, beside):
        for name in ("offset",):
            if name in self.options:
                beside[name] = np.asarray(self.options.pop(name))
        if self.options:
            raise Refused(", ".join(self.options))
        model = linsep.LogisticRegression(fit_intercept=self.constant is not None, **covariance,
                                          **self.classes())  # fmt: skip
        return model.fit(self.features(), self.endog, **beside)

    def classes(self):
        return {}


class MNLogit(Logit):
    from statsmodels.discrete.discrete_model import MNLogit as original

    results = MultinomialResults

    def classes(self):
        return {"reference": np.unique(self.endog)[0]}

    J = property(lambda self: len(self.fitted.classes_))
    K = property(lambda self: self.exog.shape[1])


class GLM(Logit):
    original, results = TheirGLM, GLMResults

    def __new__(cls, endog, exog=None, family=None, **options):
        if not binomial(family):
            return TheirGLM(endog, exog, family=family, **options)
        return super().__new__(cls)

    def __init__(self, endog, exog, family=None, **options):
        super().__init__(endog, exog, **options)
        self.family = family

    def estimated(self, covariance, beside):
        if self.endog.ndim == 2:
            beside |= {"successes": self.endog[:, 0], "trials": self.endog.sum(axis=1)}
            model = linsep.LogisticRegression(fit_intercept=self.constant is not None, **covariance)
            return model.fit(self.features(), **beside)
        for theirs in ("freq_weights",):
            if theirs in self.options:
                beside["sample_weight"] = np.asarray(self.options.pop(theirs))
        return super().estimated(covariance, beside)


def binomial(family):
    """Whether a family is binomial with log-odds."""
    from statsmodels.genmod import families

    known = isinstance(family, families.Binomial)
    return known and type(family.link) is families.links.Logit


#: the classes by the names that tests know them by
ADAPTERS = {cls.__name__: cls for cls in (OLS, WLS, Logit, MNLogit, GLM)}


class Api:
    """``statsmodels.api`` with these classes."""

    def __init__(self, theirs):
        self.theirs = theirs

    def __getattr__(self, name):
        return ADAPTERS.get(name) or getattr(self.theirs, name)


# The plugin of pytest: ``-p statsmodels_adapter``, with the name of a file in ``SUITES_OUTCOMES``
# for JSON of test to [outcome, message], of tests that asked something of linsep.

outcomes, asking = {}, set()


def pytest_collection_modifyitems(items):
    for module in {item.module for item in items}:
        for name, cls in ADAPTERS.items():
            if hasattr(module, name):
                setattr(module, name, cls)
        if hasattr(module, "sm"):
            module.sm = Api(module.sm)
        if hasattr(module, "discrete"):
            module.discrete = Api(module.discrete)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if call.when == "setup":
        before = asked[0]
        if item.cls is not None and before > getattr(item.config, "asked_so_far", 0):
            asking.add(item.cls)
        item.config.asked_so_far = before
        if report.failed and item.cls in asking:
            outcomes[item.nodeid] = ["setup", _message(call)]
    if call.when == "call":
        now = asked[0]
        if now > item.config.asked_so_far and not hasattr(report, "wasxfail"):
            outcomes[item.nodeid] = [report.outcome, _message(call) if report.failed else ""]
        item.config.asked_so_far = now
    return report


def _message(call):
    lines = [line for line in str(call.excinfo.value).splitlines() if line.strip()]
    return f"{call.excinfo.typename}: {' '.join(lines[:6])[:300]}"


def pytest_sessionfinish():
    with open(os.environ["SUITES_OUTCOMES"], "w", encoding="utf-8") as file:
        json.dump(outcomes, file, indent=1)
