"""Weights of rows, and their sums."""

import numpy as np

from linsep.errors import DataError

#: the weights of rows that all weigh 1
NO_IMPORTANCE = np.empty(0)
#: what the weights of all rows add up to at most, so that sums of products with features are finite
MOST_WEIGHT = 1e200


def check_summable(weights: np.ndarray, name: str = "the weights") -> None:
    """Raise DataError if the sum of the weights of rows, or of classes, is too large."""
    with np.errstate(over="ignore"):
        total = weights.sum()
    if not total <= MOST_WEIGHT:
        raise DataError(
            f"The sum of {name} is above {MOST_WEIGHT:g}: divide the weights by the largest."
        )


def added(totals: np.ndarray, codes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return ``totals`` plus the weights of the rows of each code, extended by new codes.

    Rows are added one after the other, so that no digit depends on the batches. Empty ``weights``
    are ones. DataError if the sum overflows.
    """
    found = np.bincount(codes, minlength=totals.size).astype(totals.dtype)
    if weights.size:
        found[:] = 0
    found[: totals.size] += totals
    if weights.size:
        with np.errstate(over="ignore"):
            np.add.at(found, codes, weights)
        check_summable(found)
    return found
