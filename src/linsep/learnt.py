"""Parameters of fitted models as they were in the fit, and the columns that they learnt from."""

from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from linsep.errors import DataError


def learnt(model: Any, name: str, default: Any = None) -> Any:
    """Return a parameter of a fitted model as it was in the fit, whatever it has been set to since.

    Models of other libraries, which do not store it, and models without it are taken as they are.
    """
    return getattr(model, "_learnt_with", {}).get(name, getattr(model, name, default))


def check_prepared(model: Any, X: Any) -> None:
    """Raise DataError for a DataFrame where the model scales the columns of a table: arrays and
    DataFrames are taken as they are, and its values are not scaled.
    """
    if hasattr(X, "columns") and getattr(model, "recipe_", {}).get("scale"):
        raise DataError(
            "The model scales the columns of tables that it reads, but a DataFrame is taken as it "
            "is: write it to a file for linsep.open_source(file, recipe=model.recipe_), or give "
            "rows that are scaled as an array."
        )


def check_columns(model: Any, X: Any) -> None:
    """Check names and number of the columns of X as ``predict`` of a fitted model does, before
    functions that only read its weights.

    Raises
    ------
    ValueError
        If the columns of a DataFrame have other names than those of the fit, or another order.
    DataError
        As :func:`check_prepared`.
    """
    if isinstance(model, BaseEstimator) and hasattr(model, "n_features_in_"):
        check_prepared(model, X)
        validate_data(model, X, reset=False, skip_check_array=True)
