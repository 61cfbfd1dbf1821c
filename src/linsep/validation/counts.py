"""Counts of binomial groups: successes among trials, whole numbers."""

from collections.abc import Callable

import numpy as np

from linsep.errors import DataError

#: most trials of a row, up to which floats are exact
MOST = 2.0**53


def check_counts(successes: np.ndarray, trials: np.ndarray, place: Callable[[int], str]) -> None:
    """Raise DataError, which names the row, unless counts are whole numbers with
    0 <= successes <= trials.

    Parameters
    ----------
    successes, trials : float64 arrays of shape (rows,), NaN where one is missing
    place : function that names a row
    """
    for name, counts in (("successes", successes), ("trials", trials)):
        good = (counts >= 0) & (counts <= MOST) & (counts == np.floor(counts))
        if not good.all():
            row = int(np.argmin(good))
            number = "no number" if np.isnan(counts[row]) else f"{counts[row]:g}"
            raise DataError(
                place(row) + f" has {number} as {name}: give a whole number of at least 0.",
                code="bad-value", option=name,
            )  # fmt: skip
    if (below := trials < successes).any():
        row = int(np.argmax(below))
        raise DataError(
            place(row) + f" has {trials[row]:g} trials, fewer than its {successes[row]:g} "
            "successes: correct it, or leave the row out.", code="out-of-range", option="trials",
        )  # fmt: skip
