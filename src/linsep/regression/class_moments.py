"""Class means and pooled within-class variances, lane by lane."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.regression.blocks import Block, no_weight
from linsep.regression.lanes import Lanes


class ClassMoments(NamedTuple):
    """Moments of the classes over the rows so far.

    Attributes
    ----------
    totals : array of shape (classes,), summed row weights
    means : array of shape (classes, features)
    squares : array of shape (features,), weighted squares around the class means, summed
    """

    totals: np.ndarray
    means: np.ndarray
    squares: np.ndarray


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
    rows = np.arange(len(codes))
    member = sp.csr_matrix((weights, (codes, rows)), shape=(n_classes, len(codes)))
    totals = np.asarray(member.sum(axis=1)).ravel()
    sums = member @ X
    sums = sums.toarray() if sp.issparse(sums) else np.asarray(sums, dtype=np.float64)
    means = sums / np.where(totals > 0, totals, 1.0)[:, None]
    if not sp.issparse(X):
        return ClassMoments(totals, means, weights @ (X - means[codes]) ** 2)
    return ClassMoments(totals, means, _squares_of_stored(X.tocsr(), codes, weights, totals, means))


def _squares_of_stored(
    X: sp.csr_matrix, codes: np.ndarray, weights: np.ndarray, totals: np.ndarray, means: np.ndarray
) -> np.ndarray:
    """Return the weighted squares of sparse rows, whose values that are not stored are zero."""
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    row = np.repeat(np.arange(len(codes)), np.diff(X.indptr))
    of, w = (codes[row], X.indices), weights[row]
    squares = np.bincount(X.indices, w * (X.data - means[of]) ** 2, minlength=X.shape[1])
    stored, count = np.zeros(means.shape), np.zeros(means.shape)
    np.add.at(stored, of, w)
    np.add.at(count, of, w > 0)
    # Where each row has a value, the difference of the sums is rounding, times a large square.
    all_stored = count == np.bincount(codes[weights > 0], minlength=len(means))[:, None]
    zeros = np.where(all_stored, 0.0, np.maximum(totals[:, None] - stored, 0.0))
    return np.asarray(squares + (zeros * means**2).sum(axis=0))


def widened(moments: ClassMoments, width: int) -> ClassMoments:
    """Return the moments with additional features that were zero in all rows."""
    more = max(0, width - moments.squares.size)
    means = np.pad(moments.means, ((0, 0), (0, more)))
    return ClassMoments(moments.totals, means, np.pad(moments.squares, (0, more)))


def added_moments(a: ClassMoments, b: ClassMoments) -> ClassMoments:
    """Return the moments over the rows of both."""
    with np.errstate(over="ignore", invalid="ignore"):
        return _merged(a, b)


def _merged(a: ClassMoments, b: ClassMoments) -> ClassMoments:
    width = max(a.squares.size, b.squares.size)
    a, b = widened(a, width), widened(b, width)
    totals = a.totals + b.totals
    share = np.divide(b.totals, totals, out=np.zeros_like(totals), where=totals > 0)[:, None]
    shift = b.means - a.means
    between = (a.totals[:, None] * share * shift**2).sum(axis=0)
    return ClassMoments(totals, a.means + share * shift, a.squares + b.squares + between)
