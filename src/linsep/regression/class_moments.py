"""Class means and pooled within-class variances, lane by lane."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.regression.blocks import Block, no_weight
from linsep.regression.lanes import Lanes
from linsep.regression.least_squares.slices import two_sum


class ClassMoments(NamedTuple):
    """Moments of the classes over the rows so far.

    Attributes
    ----------
    totals : array of shape (classes,), summed row weights
    means : array of shape (classes, features)
    rest : array of shape (classes, features)
        Rounding errors of the means: that of 1.7e15, 1.7e15 + 1, ... has more digits than a float.
    squares : array of shape (features,), weighted squares around the class means, summed
    """

    totals: np.ndarray
    means: np.ndarray
    rest: np.ndarray
    squares: np.ndarray

    def apart(self) -> np.ndarray:
        """Return the means less that of the first class with weight."""
        first = int(np.argmax(self.totals > 0))
        return (self.means - self.means[first]) + (self.rest - self.rest[first])


class InClasses(NamedTuple):
    """The moments of a lane, whose y are class codes."""

    n_classes: int

    def __call__(self, lane: Block) -> ClassMoments:
        """Return them."""
        X, codes = lane.X, lane.y
        weights = np.ones(codes.size) if lane.weights is None else lane.weights
        if not weights.all():  # others may be beyond floating point
            X, codes, weights = X[weights > 0], codes[weights > 0], weights[weights > 0]
        with np.errstate(over="ignore", invalid="ignore"):  # overflow is checked at the end
            return _of(X, codes, weights, self.n_classes)


def class_moments(rows: Lanes, n_classes: int) -> ClassMoments:
    """Return the moments of rows, whose y are class codes.

    Lanes are merged by their differences (Chan, Golub and LeVeque 1983), which keeps accuracy for
    means far from zero.
    """
    moments = rows.sum(InClasses(n_classes), added_moments)
    if moments is None:
        raise no_weight()
    return widened(moments, rows.width)


def _of(X: Any, codes: np.ndarray, weights: np.ndarray, n_classes: int) -> ClassMoments:
    """Return the moments of rows, summed as differences from a row of the class, which are exact
    wherever they are small against the values: so those of equal values are zero.
    """
    rows = np.arange(len(codes))
    member = sp.csr_matrix((weights, (codes, rows)), shape=(n_classes, len(codes)))
    totals = np.asarray(member.sum(axis=1)).ravel()
    if sp.issparse(X):
        return _of_stored(X.tocsr(), codes, weights, totals)
    firsts = np.zeros((n_classes, X.shape[1]))
    known, first = np.unique(codes, return_index=True)
    firsts[known] = X[first]
    Z = X - firsts[codes]
    shifts = np.asarray(member @ Z) / np.where(totals > 0, totals, 1.0)[:, None]
    Z -= shifts[codes]
    return ClassMoments(totals, *two_sum(firsts, shifts), weights @ np.square(Z, out=Z))


def _of_stored(
    X: sp.csr_matrix, codes: np.ndarray, weights: np.ndarray, totals: np.ndarray
) -> ClassMoments:
    """Return the moments of sparse rows, whose values that are not stored are zero.

    Differences are from zero, or from the first value of a column all of whose values in a class
    are stored.
    """
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    shape = totals.size, X.shape[1]
    row = np.repeat(np.arange(len(codes)), np.diff(X.indptr))
    place, w = codes[row] * np.int64(shape[1]) + X.indices, weights[row]

    def summed(values: np.ndarray | None) -> np.ndarray:
        return np.bincount(place, values, minlength=shape[0] * shape[1]).reshape(shape)

    all_stored = summed(None) == np.bincount(codes, minlength=shape[0])[:, None]
    firsts = np.zeros(shape)
    firsts.ravel()[place[::-1]] = X.data[::-1]  # the first is written last
    firsts[~all_stored] = 0.0
    Z = X.data - firsts.ravel()[place]
    shifts = summed(w * Z) / np.where(totals > 0, totals, 1.0)[:, None]
    squares = np.bincount(X.indices, w * (Z - shifts.ravel()[place]) ** 2, minlength=shape[1])
    # Where each row has a value, the difference of the sums is rounding, times a large square.
    zeros = np.where(all_stored, 0.0, np.maximum(totals[:, None] - summed(w), 0.0))
    squares = np.asarray(squares + (zeros * shifts**2).sum(axis=0))
    return ClassMoments(totals, *two_sum(firsts, shifts), squares)


def widened(moments: ClassMoments, width: int) -> ClassMoments:
    """Return the moments with additional features that were zero in all rows."""
    more = (0, 0), (0, max(0, width - moments.squares.size))
    means, rest = np.pad(moments.means, more), np.pad(moments.rest, more)
    return ClassMoments(moments.totals, means, rest, np.pad(moments.squares, more[1]))


def added_moments(a: ClassMoments, b: ClassMoments) -> ClassMoments:
    """Return the moments over the rows of both."""
    with np.errstate(over="ignore", invalid="ignore"):
        return _merged(a, b)


def _merged(a: ClassMoments, b: ClassMoments) -> ClassMoments:
    width = max(a.squares.size, b.squares.size)
    a, b = widened(a, width), widened(b, width)
    totals = a.totals + b.totals
    share = np.divide(b.totals, totals, out=np.zeros_like(totals), where=totals > 0)[:, None]
    shift = (b.means - a.means) + (b.rest - a.rest)
    between = (a.totals[:, None] * share * shift**2).sum(axis=0)
    means, rest = two_sum(a.means, share * shift + a.rest)
    new = (a.totals == 0)[:, None]
    means, rest = np.where(new, b.means, means), np.where(new, b.rest, rest)
    return ClassMoments(totals, means, rest, a.squares + b.squares + between)
