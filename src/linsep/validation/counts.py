"""Counts of binomial groups: successes among trials, whole numbers."""

from collections.abc import Callable

import numpy as np

from linsep.errors import DataError

#: most trials of a row, up to which floats are exact
MOST = 2.0**53


def check_counts(successes: np.ndarray, trials: np.ndarray, place: Callable[[int], str]) -> None:
    """Raise DataError, which names the row by ``place``, unless counts, as float64 of shape
    (rows,), are whole numbers with 0 <= successes <= trials; NaN is missing.
    """
    for name, counts in (("successes", successes), ("trials", trials)):
        good = (counts >= 0) & (counts <= MOST) & (counts == np.floor(counts))
        fits = (trials >= successes) | (name == "successes")
        if not (good & fits).all():
            row = int(np.argmin(good & fits))
            raise DataError(
                place(row) + f" has {counts[row]:g} as {name}, but {successes[row]:g} successes: "
                "give whole numbers of at least 0, no more successes than trials.",
                code="out-of-range" if good[row] else "bad-value", option=name,
            )  # fmt: skip
