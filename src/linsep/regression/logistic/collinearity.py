"""Replace columns that are nearly combinations of earlier ones by their residuals.

Newton's method in floats loses the digits that nearly collinear columns share. Any basis of their
span gives the same likelihood, so a column is replaced by its residual after regression on the
earlier columns, computed in pairs of floats (106 bits) and repeated until it is far from their span
(iterated classical Gram-Schmidt: Giraud, Langou, Rozložník and van den Eshof, Numerische Mathematik
101, 2005). The weights are converted back to the raw columns at the end.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import scipy.linalg as sla

from linsep.compiled.pair_sums import pair_sums
from linsep.regression.least_squares.slices import Pair, pairs, two_product, two_sum

#: a column with a smaller relative residual is replaced
NEAR = 0.03
#: a column whose residual is a smaller share of its terms is left out: with its large weight,
#: scores would lose their digits
LOST = 2.0**-40
#: and below this the residual is a rounding error of pairs: the column is exactly dependent
NOTHING = 2.0**-90
#: relative distance at which coefficients are rounded to numbers of few bits, and their bits
BITS, SNAP = 20, 1e-11
MOST_ROUNDS = 100

#: returns an iterator over blocks of raw rows as float64, without those of weight 0
RawBlocks = Callable[[], Iterator[np.ndarray]]


class Straight(NamedTuple):
    """Replacements of nearly dependent columns.

    Attributes
    ----------
    columns : tuple of int
        Indices of the features replaced.
    centres : array of shape (features,)
        Subtracted from the features first, without rounding.
    units : int array of shape (features,)
        Exponents of the powers of two that then divide them.
    parts : Pair of shape (columns, features + 1)
        Coefficients of these quotients, and of 1, in each new column.
    """

    columns: tuple[int, ...]
    centres: np.ndarray
    units: np.ndarray
    parts: Pair

    def of(self, X: np.ndarray) -> np.ndarray:
        """Return the new columns of some rows, shape (rows, columns)."""
        return combined(np.ldexp(X - self.centres, -self.units), self.parts)

    def raw(self, W: np.ndarray) -> np.ndarray:
        """Convert weights to the raw features.

        Parameters
        ----------
        W : array of shape (q, features + 1)
            Weights of the features, with new columns for replaced ones, and of a constant 1.
        """
        new = pairs(W.shape)
        for k, j in enumerate(self.columns):
            new = new + _times(self.parts[k][None, :], W[:, [j]])
        new.hi[:, :-1] = np.ldexp(new.hi[:, :-1], -self.units)
        new.lo[:, :-1] = np.ldexp(new.lo[:, :-1], -self.units)
        for j in np.flatnonzero(self.centres).tolist():
            new[:, -1] = new[:, -1] + _times(new[:, j], np.full(len(W), -self.centres[j]))
        rest = W.copy()
        rest[:, list(self.columns)] = 0.0
        return (new + rest).hi

    def straight(self, W: np.ndarray) -> np.ndarray:
        """Convert weights of the raw features; the inverse of :meth:`raw`."""
        found = W.copy()
        for k in reversed(range(len(self.columns))):
            j = self.columns[k]
            weight = np.ldexp(found[:, j], self.units[j])
            part = np.ldexp(self.parts.hi[k, :-1], -self.units)
            found[:, :-1] -= weight[:, None] * part
            found[:, -1] -= weight * (self.parts.hi[k, -1] - part @ self.centres)
            found[:, j] = weight
        return found


def combined(D: np.ndarray, parts: Pair) -> np.ndarray:
    """Return linear combinations of columns and 1 for some rows, rounded once.

    Parameters
    ----------
    D : array of shape (rows, features)
    parts : Pair of shape (combinations, features + 1), the coefficients
    """
    found = np.empty((len(D), len(parts)))
    pair_sums(D, np.ascontiguousarray(parts.hi), np.ascontiguousarray(parts.lo), found)
    return found


def _times(pair: Pair, factor: np.ndarray) -> Pair:
    """Return a pair times floats, broadcast."""
    hi, error = two_product(*np.broadcast_arrays(pair.hi, factor))
    return Pair(*two_sum(hi, error + pair.lo * factor))


def _solved(factor: np.ndarray, right: np.ndarray, trans: str = "N") -> np.ndarray:
    """Solve a lower triangular system; of no rows, too, which old releases of scipy refuse."""
    if not right.size:
        return right
    return sla.solve_triangular(factor, right, lower=True, trans=trans)


class Columns:
    """Replaces nearly dependent columns.

    Parameters
    ----------
    blocks : function that returns an iterator over all rows
    n_features : int
    intercept : bool
    lost : float
        Share of its terms below which a residual is left out.
    """

    def __init__(self, blocks: RawBlocks, n_features: int, intercept: bool, lost: float = LOST):
        self.blocks, self.d, self.intercept, self.lost = blocks, n_features, intercept, lost
        self.n_rows, low, high = 0, np.full(n_features, np.inf), np.full(n_features, -np.inf)
        for X in blocks():
            self.n_rows += len(X)
            low, high = np.minimum(low, X.min(axis=0)), np.maximum(high, X.max(axis=0))
        # a column whose values are within a factor of two is centred without rounding (Sterbenz)
        far = (np.sign(low) == np.sign(high)) & (
            np.maximum(abs(low), abs(high)) <= 2.0 * np.minimum(abs(low), abs(high))
        )
        self.centres = np.where(far & intercept, low, 0.0)
        top = np.maximum(abs(low - self.centres), abs(high - self.centres))
        self.units = np.where(top > 0, np.frexp(top)[1], 0)
        self.parts = pairs((n_features, n_features + 1))
        self.parts.hi[:, :n_features] = np.eye(n_features)
        self.first = np.zeros(n_features + 1)
        self.replaced: set[int] = set()
        self.left_out: dict[int, bool] = {}

    def gram(self) -> np.ndarray:
        """Return the products of the current columns, a constant 1 last."""
        G, replaced = np.zeros((self.d + 1,) * 2), sorted(self.replaced)
        for X in self.blocks():
            D = self._differences(X)
            V = np.column_stack([D, np.ones(len(D))])
            if replaced:
                V[:, replaced] = combined(D, self.parts[replaced])
            G += V.T @ V
        return G

    def _differences(self, X: np.ndarray) -> np.ndarray:
        return np.ldexp(X - self.centres, -self.units)

    def straighten(self) -> np.ndarray:
        """Replace columns until all those kept are far from the span of earlier ones.

        Returns the products of the resulting columns, a constant 1 last.
        """
        for n_round in range(MOST_ROUNDS):
            G = self.gram()
            lengths = np.sqrt(np.diag(G))
            if not n_round:
                self.first = lengths
            near = self._near(G, lengths, np.abs(self.parts.hi) @ self.first)
            self.replaced = (self.replaced | near.keys()) - self.left_out.keys()
            if not near:
                return G
            for j, (columns, multiples) in near.items():
                self._subtract(j, columns, multiples)
        raise AssertionError("residuals shrink in every round")

    def _near(
        self, G: np.ndarray, lengths: np.ndarray, sizes: np.ndarray
    ) -> dict[int, tuple[list[int], np.ndarray]]:
        """Return the nearly dependent columns, with the columns and coefficients to subtract."""
        scale = 1.0 / np.where(lengths > 0, lengths, 1.0)
        C = G * scale * scale[:, None]
        kept: list[int] = []
        factor = np.zeros(G.shape)  # Cholesky factor of the columns kept, lower triangular
        near = {}
        for j in [self.d] * self.intercept + [j for j in range(self.d) if j not in self.left_out]:
            n = len(kept)
            if j < self.d and (n == self.n_rows or lengths[j] <= NOTHING * sizes[j]):
                self.left_out[j] = True  # as many columns span any set of rows
                continue
            line = _solved(factor[:n, :n], C[kept, j])
            square = float(C[j, j] - line @ line)
            if square <= NEAR**2:
                multiples = _solved(factor[:n, :n], line, trans="T")
                near[j] = kept[:], multiples * scale[kept] / scale[j]
            elif j in self.replaced and lengths[j] <= self.lost * sizes[j]:
                self.left_out[j] = False
            else:
                factor[n, :n], factor[n, n] = line, np.sqrt(square)
                kept.append(j)
        return near

    def _subtract(self, j: int, columns: list[int], multiples: np.ndarray) -> None:
        """Subtract multiples of columns from column j."""
        mantissas, exponents = np.frexp(multiples)
        short = np.rint(np.ldexp(mantissas, BITS))
        close = np.abs(np.ldexp(mantissas, BITS) - short) <= SNAP * 2.0**BITS
        multiples = np.where(close, np.ldexp(short, exponents - BITS), multiples)
        row = self.parts[j]
        for k, multiple in zip(columns, multiples.tolist(), strict=True):
            if k < self.d:
                row = row + _times(self.parts[k], np.full(self.d + 1, -multiple))
            else:
                row[[k]] = row[[k]] + np.array([-multiple])
        self.parts[j] = row

    def straight(self) -> Straight | None:
        """Return the replacements; None if there are none."""
        columns = tuple(sorted(self.replaced))
        if not columns:
            return None
        return Straight(columns, self.centres, self.units, self.parts[list(columns)])
