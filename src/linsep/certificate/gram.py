"""Gram matrices, and whether some of their columns span all."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from linsep.certificate.integers import Row, rank_at_most, rank_found, whole_numbers
from linsep.certificate.numbers import exact_rows

#: differences of values that should be equal, relative to the largest: sums may be rounded
ASYMMETRY = Fraction(1, 2**26)


def gram_of(K: Any, y: Any) -> tuple[np.ndarray, Any]:
    """Return a Gram matrix, its numbers unchanged, and labels; ValueError if it cannot be one.

    Without labels, K is a source of both.
    """
    if y is None and hasattr(K, "exactly"):
        batches = [(X.toarray() if hasattr(X, "toarray") else X, y) for X, y, *_ in K.exactly()]
        K, y = (np.concatenate(parts) for parts in zip(*batches, strict=True))
    K = exact_rows(K)
    if K.shape[0] != K.shape[1]:
        raise ValueError(f"K has shape {K.shape}, which is not square.")
    if not _is_symmetric(K):
        raise ValueError("K is not symmetric.")
    return np.asarray(K), y


def _is_symmetric(K: np.ndarray) -> bool:
    """Return whether K - K.T is zero, up to ASYMMETRY times the largest value."""
    with np.errstate(over="ignore", invalid="ignore"):
        floats = K.astype(np.float64)
        near = np.abs(floats - floats.T) < float(ASYMMETRY) / 2 * np.abs(floats).max()
    if near.all():
        return True
    rows = [list(map(Fraction, row)) for row in K.tolist()]
    most = ASYMMETRY * max(abs(x) for row in rows for x in row)
    return all(abs(rows[i][j] - rows[j][i]) <= most for i, j in np.argwhere(~near).tolist())


def spans(K: np.ndarray, columns: Sequence[int], each: Any) -> bool:
    """Return whether some columns span all; ``each`` wraps the loops that take long."""
    if len(columns) == len(K):
        return True
    rows: list[Row] = []
    for row in each(K):  # a positive factor changes no rank
        rows.append({j: m for j, m in enumerate(whole_numbers(row)[0]) if m})
    return rank_at_most(rows, len(K), rank_found(rows, columns, each), each)
