"""Problems of the convergence theory: reflected rows, on which separators are positive."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep.certificate.verdicts import Separable
from linsep.errors import DataError
from linsep.mistake_bounds.linear import augmented, checked_rows, lengths, scaled, unit_rows
from linsep.mistake_bounds.rounding import ROUNDING, length, share_of
from linsep.separability.deciding import separation

#: rows within these sizes are not rescaled: their squares neither overflow nor underflow
USUAL = (2.0**-100, 2.0**100)
#: squares of longer rows overflow
LONGEST = 1e150
#: most numbers in the constraints of the joint rule, which has one for every rival
MOST_NUMBERS = 100_000_000


class Problem:
    """The problem of one machine: reflected rows a, with ``<w, a> > 0`` for all if w separates.

    Attributes
    ----------
    A : array or CSR matrix of shape (constraints, weights)
        The constraints over 2**exponent: rows of unusual size are rescaled if that is exact, which
        does not change mistake bounds.
    exponent : int
    rivals : int
        Consecutive constraints that belong to one row of the data: one per rival for the joint
        rule, else 1.
    longest : float
        Upper bound on the length of the rows of A, and of updates at a rate of 1.
    rounding : float
        Bound on the rounding error of a sum over a row, as a share of its terms.
    verdict : str
        Of :func:`linsep.separation`, once ``margin`` has been computed.
    """

    def __init__(self, A: Any, rivals: int = 1) -> None:
        self.A, self.exponent = _of_size_one(A)
        self.rivals, self.verdict = rivals, "separable"
        self.rounding = share_of(A.shape[1])
        self.longest = float(lengths(self.A).max()) * (1 + self.rounding)
        if not self.longest < LONGEST:
            raise DataError("The length of a row is beyond floating point; scale the features.")

    def values(self, w: np.ndarray) -> np.ndarray:
        """Return the smallest <w, a> of each row of the data, rounded down."""
        exact = np.asarray(self.A @ w)
        sure = exact - self.rounding * self.longest * length(w)
        return sure.reshape(-1, self.rivals).min(axis=1)

    @cached_property
    def margin(self) -> tuple[float, float] | None:
        """An interval that contains the widest margin of A; None if no separator is known."""
        if self.A.shape[0] == 1:  # its own direction is the best
            self.separator = np.ravel(self.A.toarray() if sp.issparse(self.A) else self.A)
            alone = self.longest
            return (alone * (1 - 3 * self.rounding), alone) if self.separator.any() else None
        labels = np.ones(self.A.shape[0], dtype=int)
        labels[0], signs = 0, np.ones(self.A.shape[0])
        signs[0] = -1.0  # separation needs two classes
        found = separation(scaled(self.A, signs), labels, fit_intercept=False, margin="max")
        if not isinstance(found, Separable):
            self.verdict = found.kind  # type: ignore[union-attr]
            return None
        coef, top = found.coef[0], max(map(abs, found.coef[0]))
        if isinstance(top, int):  # if floats are too short
            coef = tuple(float(Fraction(weight) / top) for weight in coef)
        self.separator = np.array(coef)
        return found.margin

    def suppose(self, w: np.ndarray) -> None:
        """Use these weights as the separator instead of searching for the best."""
        long = length(w) * (1 + self.rounding)
        low = float(self.values(w).min()) / long * (1 - ROUNDING) if long else 0.0
        self.separator = w
        self.__dict__["margin"] = (low, float("inf")) if low > 0 else None
        self.verdict = "not separated by the weights given" if low <= 0 else "separable"


def seen_rows(X: Any, fit_intercept: bool, unit: bool, unit_augmented: bool) -> Any:
    """Return z for every row, scaled to length 1 before or after adding the constant feature."""
    X = checked_rows(X)
    if unit:
        X = unit_rows(X)
    if fit_intercept:
        X = augmented(X)
    return unit_rows(X) if unit_augmented else X


def _of_size_one(A: Any) -> tuple[Any, int]:
    """Divide rows by a power of two and return its exponent: 0 if not needed or not exact."""
    top = float(abs(A).max()) if A.shape[0] else 0.0
    if not top or USUAL[0] <= top <= USUAL[1] or not np.isfinite(top):
        return A, 0
    exponent = int(np.frexp(top)[1])
    values = A.data if sp.issparse(A) else A
    smaller = np.ldexp(values, -exponent)
    if not np.array_equal(np.ldexp(smaller, exponent), values):
        return A, 0
    if not sp.issparse(A):
        return smaller, exponent
    return sp.csr_matrix((smaller, A.indices, A.indptr), shape=A.shape), exponent


def problems_of(Z: Any, codes: np.ndarray, n_classes: int, multiclass: str) -> list[Problem]:
    """Return the problems of a learner's machines: one, or one per class or pair of classes."""
    if n_classes == 2:
        return [Problem(scaled(Z, np.where(codes == 1, 1.0, -1.0)))]
    if multiclass == "ovr":
        return [Problem(scaled(Z, np.where(codes == k, 1.0, -1.0))) for k in range(n_classes)]
    if multiclass == "ovo":
        found = []
        for a, b in combinations(range(n_classes), 2):
            inside = (codes == a) | (codes == b)
            if not inside.any():
                continue
            signs = np.where(codes[inside] == b, 1.0, -1.0)
            found.append(Problem(scaled(Z[inside], signs)))
        return found
    return [_joint(Z, codes, n_classes)]


def _joint(Z: Any, codes: np.ndarray, k: int) -> Problem:
    """Return the constraints <w_own - w_rival, z> > 0 on all weights at once (Collins 2002)."""
    Z = sp.csr_matrix(Z)
    if 2 * Z.nnz * (k - 1) > MOST_NUMBERS:
        raise DataError(
            "The joint rule of so many classes, rows and features would need too much memory "
            'here; multiclass="ovr" has bounds that need less.'
        )
    width = Z.shape[1]
    blocks = []
    for own in range(k):
        rows = np.flatnonzero(codes == own)
        for place, rival in enumerate(r for r in range(k) if r != own):
            part = Z[rows].tocoo()
            at = rows[part.row] * (k - 1) + place
            blocks.append((part.data, at, part.col + own * width))
            blocks.append((-part.data, at, part.col + rival * width))
    values, rows, columns = (np.concatenate(part) for part in zip(*blocks, strict=True))
    A = sp.csr_matrix((values, (rows, columns)), shape=(len(codes) * (k - 1), k * width))
    return Problem(A, k - 1)
