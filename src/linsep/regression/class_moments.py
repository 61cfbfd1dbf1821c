"""Class means and pooled within-class variances, batch by batch."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

#: dense rows processed at a time
ROWS = 1 << 14


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


def class_moments(
    batches: Iterable[tuple[Any, np.ndarray, np.ndarray]], n_classes: int
) -> ClassMoments:
    """Return the moments of batches (X, codes, weights), dense or CSR; empty weights are ones.

    Later CSR batches may have more features, which are zero in earlier batches.

    Batches are merged by their differences (Chan, Golub and LeVeque 1983), which keeps accuracy for
    means far from zero.
    """
    found = ClassMoments(np.zeros(n_classes), np.zeros((n_classes, 0)), np.zeros(0))
    for X, codes, weights in batches:
        step = X.shape[0] if sp.issparse(X) else ROWS
        for start in range(0, X.shape[0], max(1, step)):
            rows = slice(start, start + step)
            w = weights[rows] if len(weights) else np.ones(len(codes[rows]))
            with np.errstate(over="ignore", invalid="ignore"):  # overflow is checked at the end
                found = _merged(found, _of(X[rows], codes[rows], w, n_classes))
    return found


def _of(X: Any, codes: np.ndarray, weights: np.ndarray, n_classes: int) -> ClassMoments:
    rows, n_features = np.arange(len(codes)), X.shape[1]
    member = sp.csr_matrix((weights, (codes, rows)), shape=(n_classes, len(codes)))
    totals = np.asarray(member.sum(axis=1)).ravel()
    sums = member @ X
    sums = sums.toarray() if sp.issparse(sums) else np.asarray(sums, dtype=np.float64)
    means = sums / np.where(totals > 0, totals, 1.0)[:, None]
    if not sp.issparse(X):
        return ClassMoments(totals, means, weights @ (X - means[codes]) ** 2)
    # values that are not stored are zero
    X = X.tocsr()
    row = np.repeat(rows, np.diff(X.indptr))
    own = means[codes[row], X.indices]
    w = weights[row]
    squares = np.bincount(X.indices, w * (X.data - own) ** 2, minlength=n_features)
    stored = np.zeros((n_classes, n_features))
    np.add.at(stored, (codes[row], X.indices), w)
    squares = squares + ((totals[:, None] - stored) * means**2).sum(axis=0)
    return ClassMoments(totals, means, squares)


def widened(moments: ClassMoments, width: int) -> ClassMoments:
    """Return the moments with additional features that were zero in all rows."""
    more = max(0, width - moments.squares.size)
    means = np.pad(moments.means, ((0, 0), (0, more)))
    return ClassMoments(moments.totals, means, np.pad(moments.squares, (0, more)))


def _merged(a: ClassMoments, b: ClassMoments) -> ClassMoments:
    width = max(a.squares.size, b.squares.size)
    a, b = widened(a, width), widened(b, width)
    totals = a.totals + b.totals
    share = np.divide(b.totals, totals, out=np.zeros_like(totals), where=totals > 0)[:, None]
    shift = b.means - a.means
    between = (a.totals[:, None] * share * shift**2).sum(axis=0)
    return ClassMoments(totals, a.means + share * shift, a.squares + b.squares + between)
