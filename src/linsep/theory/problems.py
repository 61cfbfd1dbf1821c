"""Rows as the convergence theory sees them: reflected, so that separators are positive on all."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep.certificate.verdicts import Separable
from linsep.errors import DataError
from linsep.theory.deciding import separation
from linsep.theory.linear import augmented, checked_rows, lengths, nonzero, scaled

#: sums of up to 4,000 floats are off by less than this share of their terms
ROUNDING = 1e-12
#: a joint rule of several classes has a constraint for every rival: not more numbers than that
MOST_NUMBERS = 100_000_000


class Problem:
    """What one machine learns: reflected rows, ``<w, a> > 0`` for all of them if w separates.

    Attributes
    ----------
    A : array or CSR matrix of shape (constraints, weights)
    rivals : int
        So many constraints in a row belong to one row of the data, which the joint rule of several
        classes has one of for every rival; else 1.
    longest : float
        No update of the weights is longer, at a rate of 1: max ||a||.
    verdict : str
        Of :func:`linsep.separation`, once ``margin`` has been asked for.
    """

    def __init__(self, A: Any, rivals: int = 1) -> None:
        self.A, self.rivals = A, rivals
        self.longest = float(lengths(A).max()) * (1 + ROUNDING)
        self.verdict = "separable"
        self.rounding = max(ROUNDING, ROUNDING * A.shape[1] / 4000)
        if not np.isfinite(self.longest):
            raise DataError("The length of a row is beyond floating point; scale the features.")

    def values(self, w: np.ndarray) -> np.ndarray:
        """For each row of the data the smallest <w, a>, and no rounding makes it larger."""
        exact = np.asarray(self.A @ w)
        sure = exact - self.rounding * self.longest * float(np.linalg.norm(w))
        return sure.reshape(-1, self.rivals).min(axis=1)

    @cached_property
    def margin(self) -> tuple[float, float] | None:
        """An interval that the widest margin lies in; None if no weights are known to separate."""
        if self.A.shape[0] == 1:  # separation wants two rows, and its own direction is the best
            self.separator = np.ravel(self.A.toarray() if sp.issparse(self.A) else self.A)
            alone = self.longest
            return (alone * (1 - 3 * ROUNDING), alone) if self.separator.any() else None
        labels = np.ones(self.A.shape[0], dtype=int)
        labels[0], signs = 0, np.ones(self.A.shape[0])
        signs[0] = -1.0  # separation wants rows of two classes
        found = separation(scaled(self.A, signs), labels, fit_intercept=False, margin="max")
        if not isinstance(found, Separable):
            self.verdict = found.kind  # type: ignore[union-attr]
            return None
        coef, top = found.coef[0], max(map(abs, found.coef[0]))
        if isinstance(top, int):  # where floats are too short
            coef = tuple(float(Fraction(weight) / top) for weight in coef)
        self.separator = np.array(coef)
        return found.margin

    def suppose(self, w: np.ndarray) -> None:
        """Take these weights for the separator instead of a search for the best."""
        length = float(np.linalg.norm(w)) * (1 + ROUNDING)
        low = float(self.values(w).min()) / length if length else 0.0
        self.separator = w
        self.__dict__["margin"] = (low, float("inf")) if low > 0 else None
        self.verdict = "not separated by the weights given" if low <= 0 else "separable"


def seen_rows(X: Any, fit_intercept: bool, unit: bool, unit_augmented: bool) -> Any:
    """z for every row: of length 1 before or after the constant feature, if it is wanted so."""
    X = checked_rows(X)
    if unit:
        X = scaled(X, 1.0 / nonzero(lengths(X)))
    if fit_intercept:
        X = augmented(X)
    return scaled(X, 1.0 / nonzero(lengths(X))) if unit_augmented else X


def problems_of(Z: Any, codes: np.ndarray, n_classes: int, multiclass: str) -> list[Problem]:
    """The problems that the machines of a learner have: one, one a class or one a pair."""
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
    """Constraints <w_own - w_rival, z> > 0 on all weights at once (Collins 2002)."""
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
