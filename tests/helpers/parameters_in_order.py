"""Parameters of a logistic regression in the order of ``coef_``: two-dimensional, the intercept
last, as most oracles of the tests have them.
"""

import numpy as np


def last(model, name="params_"):
    """Return an attribute, whose first parameter is the intercept, with the intercept last."""
    values = np.atleast_2d(getattr(model, name))
    return np.roll(values, -1, axis=-1) if model.fit_intercept else values


def weights_of(model):
    """Return the weights with which a model predicts."""
    return np.column_stack([model.coef_, *([model.intercept_] if model.fit_intercept else [])])


def ends_of(model, level=None):
    """Return the lower and the upper ends of the intervals."""
    found = model.confidence_intervals(level)
    found = found if found.ndim == 3 else found[None]
    found = np.roll(found, -1, axis=1) if model.fit_intercept else found
    return found[..., 0], found[..., 1]


def covariance(model):
    """Return the covariance matrix with the intercepts last."""
    numbers = np.arange(np.size(model.params_)).reshape(np.shape(np.atleast_2d(model.params_)))
    order = (np.roll(numbers, -1, axis=-1) if model.fit_intercept else numbers).ravel()
    return model.covariance_[np.ix_(order, order)]
