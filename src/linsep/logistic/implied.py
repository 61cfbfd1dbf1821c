"""Logistic regressions with weights derived from another model."""

from collections.abc import Callable
from typing import Any

import numpy as np

from linsep.logistic.estimator import LogisticRegression
from linsep.logistic.solution import Solution, State, limits_without
from linsep.logistic.task import FittedClasses, Task


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
    weights = np.column_stack([coef, at])[known.codes[:-1]]
    task = Task(model, known, list, coef.shape[1], n_rows)
    limits = limits_without((), weights.shape)
    model._begin(task)
    model._set_attributes(
        task, Solution(None, None, State.IMPLIED, 0, weights=weights, limits=limits)
    )
    model.method_, model.n_features_in_ = method, coef.shape[1]
    model.null_log_likelihood_, model._total_weight = np.nan, float(n_rows)
    model.stop_sentence_ = (
        f"The weights come from {method}: standard errors and tests are not known."
    )
    return model
