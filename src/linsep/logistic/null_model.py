"""The model without features, with which a logistic regression is compared."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from linsep.batches import Batch


class Null(NamedTuple):
    """A logistic regression without features, but with the offsets of the rows.

    Attributes
    ----------
    intercepts : array of shape (classes - 1,), zeros without an intercept
    log_likelihood : float
    """

    intercepts: np.ndarray
    log_likelihood: float


def null_of_totals(totals: np.ndarray, intercept: bool) -> Null:
    """Return the model of rows without offsets: of class frequencies with an intercept, else of
    equal probabilities.

    Parameters
    ----------
    totals : array of shape (classes,), summed row weights of each class, the reference last
    intercept : bool
    """
    total, others = totals.sum(), totals[:-1]
    if not intercept:
        return Null(np.zeros(len(others)), -float(total) * float(np.log(len(totals))))
    value = float((totals * np.log(totals / total)).sum())
    return Null(np.log(others / totals[-1]), value)


def null_of_offsets(batches: Iterable[Batch], totals: np.ndarray, intercept: bool) -> Null:
    """Return the model of rows of two classes with offsets.

    The log-likelihood is a concave function of the intercept. Its derivative vanishes between the
    log-odds of all rows less the largest offset, and less the smallest.
    """
    from scipy.optimize import brentq
    from scipy.special import expit

    parts = [(b.y == 0, np.ones(b.size) if b.weights is None else b.weights, b.offset)
             for b in batches]  # fmt: skip
    own, weights, offsets = (np.concatenate(part) for part in zip(*parts, strict=True))
    own, weights, offsets = (part[weights > 0] for part in (own, weights, offsets))

    def slope(b: float) -> float:
        return float((weights * (own - expit(b + offsets))).sum())

    b = 0.0
    if intercept:
        odds = float(np.log(totals[0] / totals[1]))
        b, high = odds - float(offsets.max()), odds - float(offsets.min())
        if slope(b) > 0.0 > slope(high):
            b = brentq(slope, b, high, xtol=1e-14, maxiter=2_000)
        elif slope(b) > 0.0:  # but for rounding it is zero at the other end
            b = high
    scores = np.where(own, 1.0, -1.0) * (b + offsets)
    value = -float((weights * np.logaddexp(0.0, -scores)).sum())
    return Null(np.array([b]), value)
