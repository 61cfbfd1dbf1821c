"""What other packages read of a regression: maketables, for tables of several models, and
marginaleffects, for adjusted predictions and contrasts at values.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import softmax

from linsep.errors import DataError
from linsep.estimators._common.labels import feature_names, label_text, target_name
from linsep.inference.factors import factors_of
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


class ForOtherPackages:
    """Mixin of regressions: the plug-in format of maketables."""

    @property
    def __maketables_coef_table__(self: Any) -> Any:
        table = self.summary()
        frame = table.tidy().set_index([self.param_names_])
        percent = f"{100 * table.level:.6g}"
        names = {"estimate": "b", "standard_error": "se", "statistic": "t", "p_value": "p"}
        names |= {"low": f"ci{percent}l", "high": f"ci{percent}u"}
        return frame[list(names)].rename(columns=names)

    def __maketables_stat__(self: Any, key: str) -> Any:
        if key == "se_type":
            return self.__maketables_vcov_info__["vcov_type"]
        if key == "n_clusters":
            clustered = fitted_parameter(self, "covariance") == "CR1"
            return int(self._degrees) + 1 if clustered else None
        return getattr(self, STATISTICS.get(key, ""), None)

    @property
    def __maketables_depvar__(self) -> str:
        return target_name(self) or "y"

    @property
    def __maketables_vcov_info__(self) -> dict[str, Any]:
        return {"vcov_type": fitted_parameter(self, "covariance") or "iid", "clustervar": None}

    @property
    def __maketables_default_stat_keys__(self: Any) -> list[str]:
        linear = self._equation == "target"
        return ["N", "r2", "adj_r2"] if linear else ["N", "pseudo_r2", "ll", "aic"]


def for_marginaleffects(model: Any, data: Any) -> Any:
    """Return a model of marginaleffects; see ``HasInference.for_marginaleffects``."""
    import polars as pl
    from marginaleffects.classes import ModelAbstract, ModelVault

    if (model._words == "").sum() < (model._words != "dependent").sum():
        raise DataError("Some coefficients have no finite estimates.", code="separated")
    linear, constant = model._equation == "target", int(fitted_parameter(model, "fit_intercept"))
    classes = [] if linear else [*map(label_text, model.classes_.tolist())]
    order = [k for k, name in enumerate(classes) if name != label_text(model.reference_)]
    groups = classes if len(classes) > 2 else [""]

    class Model(ModelAbstract):
        def get_exog(self, newdata: Any) -> np.ndarray:
            texts = [pl.col(name).cast(pl.String) for name in levels]
            X = model.features_of(newdata.with_columns(texts).select(columns).to_pandas())
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

    recipe = getattr(model, "recipe_", None) or {}
    columns = feature_names(model)
    if recipe.get("format") == "table":
        formula = recipe.get("formula")
        columns = list(formula["inputs"] if formula else names_in_recipe(recipe))
    frame = data if isinstance(data, pl.DataFrame) else pl.from_pandas(data)
    levels = {name: [*of.levels] for name, of in factors_of(model).items()}
    levels = {name: of for name, of in levels.items() if not frame[name].dtype.is_numeric()}
    frame = frame.with_columns([pl.col(x).cast(pl.Enum(of)) for x, of in levels.items()])
    covariance = None if model._without_errors() else np.nan_to_num(model._covariance_matrix)
    vault = ModelVault(
        coef=np.nan_to_num(np.ravel(model._params)), coefnames=np.array(model.param_names_),
        vcov=covariance, modeldata=frame, package="linsep", formula=lambda rows: (None, rows),
        variable_names=[target_name(model) or "y", *columns],
    )  # fmt: skip
    found = Model(model, vault)
    if np.isfinite(model._degrees):
        found.df_resid = float(model._degrees)
    return found
