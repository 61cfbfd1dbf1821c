"""Parameters of fitted models as they were in the fit."""

from typing import Any


def learnt(model: Any, name: str, default: Any = None) -> Any:
    """Return a parameter of a fitted model as it was in the fit, whatever it has been set to since.

    Models of other libraries, which do not store it, and models without it are taken as they are.
    """
    return getattr(model, "_learnt_with", {}).get(name, getattr(model, name, default))
