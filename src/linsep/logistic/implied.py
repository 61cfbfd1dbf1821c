"""Logistic regressions with weights derived from another model."""

from collections.abc import Callable
from typing import Any

import numpy as np

from linsep.logistic.estimator import LogisticRegression
from linsep.logistic.task import NO_WEIGHT, FittedClasses


def implied(
    classes: np.ndarray, totals: np.ndarray, reference: Any, method: str, n_rows: int,
    weights_against: Callable[[int], tuple[np.ndarray, np.ndarray]],
) -> LogisticRegression:  # fmt: skip
    """Return a logistic regression with given weights, which predicts but has no inference.

    Parameters
    ----------
    classes : array, sorted
    totals : array of shape (classes,), summed row weights; 0 leaves a class out
    reference : label or None, as in the regression
    method : name of the method that gave the weights
    n_rows : number of training rows
    weights_against : function of the code of a reference
        Weights of shape (classes, features), and log-odds of the classes at zero.
    """
    model = LogisticRegression(reference=reference)
    known = FittedClasses(classes, reference, totals)
    coef, at = weights_against(known.codes[-1])
    coef, at = known.wide(coef[known.codes[:-1]], 0.0), known.intercepts(at[known.codes[:-1]])
    model.classes_ = classes
    model._learned_with = model.get_params(deep=False)
    model.reference_ = classes.tolist()[known.order[-1]]
    model.coef_, model.intercept_ = coef, at
    finite = np.full((len(known.codes) - 1, coef.shape[1] + 1), "finite", dtype="U9")
    model._limits = known.wide(finite, NO_WEIGHT)
    model._covariance, model.separation_, model.method_ = None, None, method
    model.log_likelihood_ = model.null_log_likelihood_ = np.nan
    model.n_iter_, model.n_rows_, model.n_features_in_ = 0, n_rows, coef.shape[1]
    model._intervals, model._gained, model._total_weight = {}, np.nan, float(n_rows)
    model.stop_reason_, model._with_offset = "implied", False
    model.stop_sentence_ = (
        f"The weights come from {method}: standard errors and tests are not known."
    )
    return model
