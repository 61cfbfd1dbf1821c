"""Learning rates: how large step k = 1, 2, ... is."""

from collections.abc import Callable
from math import isfinite, sqrt
from typing import Any


def rate_of(learning_rate: Any | Callable[[int], Any], schedule: str, k: int) -> Any:
    """The learning rate of step k.

    Parameters
    ----------
    learning_rate : number, or function from k to a number
    schedule : "constant", "inverse" (the rate / k) or "inverse_sqrt" (the rate / sqrt(k))
        How a number goes on from step 1; a function decides for itself.
    k : int, counted from 1

    Raises
    ------
    ValueError
        Where a function gives what is no rate: it must be above 0 and finite.
    """
    if callable(learning_rate):
        value = learning_rate(k)
        if not (isfinite(value) and value > 0):
            raise ValueError(f"learning_rate({k}) is {value}; it must be above 0 and finite.")
        return value
    if schedule == "inverse":
        return learning_rate / k
    if schedule == "inverse_sqrt":
        return learning_rate / sqrt(k)
    return learning_rate
