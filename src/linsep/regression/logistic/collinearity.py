"""Columns that are nearly combinations of those before them, replaced by what is left of them.

Newton's method in floats loses the digits that nearly collinear columns share. Any basis of the
space that columns span gives the same likelihood: so a column gives way to its residual after a
regression on the columns before it, worked out in pairs of floats (106 bits), and refined until it
is far from their span (iterated classical Gram and Schmidt: Giraud, Langou, Rozložník and van den
Eshof, Numerische Mathematik 101, 2005). Weights go back to the columns as they are at the end.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import scipy.linalg as sla

from linsep.compiled.pair_sums import pair_sums
from linsep.regression.least_squares.slices import Pair, pairs, two_product, two_sum

#: a column whose residual is a smaller share of its length is replaced
NEAR = 0.03
#: one whose residual is a smaller share of the terms it is made of is left out: its weight would
#: be so large that scores in floats lose their digits
LOST = 2.0**-40
#: and here the residual is the rounding error of pairs: the columns before add up to it
NOTHING = 2.0**-90
#: multiples this close, relatively, to numbers of so many bits are taken for these
BITS, SNAP = 20, 1e-11
MOST_ROUNDS = 100

#: blocks of rows as they are, as float64, those of weight 0 left out
RawBlocks = Callable[[], Iterator[np.ndarray]]


class Straight(NamedTuple):
    """Columns in place of those that nearly depend on others.

    Attributes
    ----------
    columns : tuple of int
        The numbers of the features that are replaced.
    centres : array of shape (features,)
        What is subtracted from the features first; no rounding happens there.
    units : int array of shape (features,)
        The exponents of the powers of two that these differences are divided by.
    parts : Pair of shape (columns, features + 1)
        The multiples of the quotients, and of 1, that add up to each new column.
    """

    columns: tuple[int, ...]
    centres: np.ndarray
    units: np.ndarray
    parts: Pair

    def of(self, X: np.ndarray) -> np.ndarray:
        """The new columns of some rows, shape (rows, columns)."""
        return combined(np.ldexp(X - self.centres, -self.units), self.parts)

    def raw(self, W: np.ndarray) -> np.ndarray:
        """Weights of the features as they are.

        Parameters
        ----------
        W : array of shape (q, features + 1)
            Those of the features, with new columns in place of old ones, and of a constant 1.
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
        """The inverse of :meth:`raw`."""
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
    """Sums of multiples of columns, and of 1, of some rows, rounded once.

    Parameters
    ----------
    D : array of shape (rows, features)
    parts : Pair of shape (sums, features + 1)
    """
    found = np.empty((len(D), len(parts)))
    pair_sums(D, np.ascontiguousarray(parts.hi), np.ascontiguousarray(parts.lo), found)
    return found


def _times(pair: Pair, factor: np.ndarray) -> Pair:
    """A pair times floats, broadcast."""
    hi, error = two_product(*np.broadcast_arrays(pair.hi, factor))
    return Pair(*two_sum(hi, error + pair.lo * factor))


class Columns:
    """The columns of rows on their way to being straight.

    Parameters
    ----------
    blocks : function that reads the rows anew
    n_features : int
    intercept : bool
    lost : float
        The share of their terms below which what is left of columns is left out.
    """

    def __init__(self, blocks: RawBlocks, n_features: int, intercept: bool, lost: float = LOST):
        self.blocks, self.d, self.intercept, self.lost = blocks, n_features, intercept, lost
        self.n_rows, low, high = 0, np.full(n_features, np.inf), np.full(n_features, -np.inf)
        for X in blocks():
            self.n_rows += len(X)
            low, high = np.minimum(low, X.min(axis=0)), np.maximum(high, X.max(axis=0))
        # where all values are this near to one of them, they are subtracted without rounding
        # (Sterbenz)
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
        """The products of the columns as they are now, a constant 1 last."""
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
        """Replace columns until all of those kept are far from the span of those before them.

        Returns the products of the columns that there are then, a constant 1 last.
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
        raise AssertionError("each round makes what is left of a column smaller")

    def _near(
        self, G: np.ndarray, lengths: np.ndarray, sizes: np.ndarray
    ) -> dict[int, tuple[list[int], np.ndarray]]:
        """The columns that those before them nearly explain: by what multiples of which."""
        scale = 1.0 / np.where(lengths > 0, lengths, 1.0)
        C = G * scale * scale[:, None]
        kept: list[int] = []
        factor = np.zeros(G.shape)  # of the columns kept, lower triangular
        near = {}
        for j in [self.d] * self.intercept + [j for j in range(self.d) if j not in self.left_out]:
            n = len(kept)
            if j < self.d and (n == self.n_rows or lengths[j] <= NOTHING * sizes[j]):
                self.left_out[j] = True  # any rows are spanned by as many columns
                continue
            line = sla.solve_triangular(factor[:n, :n], C[kept, j], lower=True)
            square = float(C[j, j] - line @ line)
            if square <= NEAR**2:
                multiples = sla.solve_triangular(factor[:n, :n], line, lower=True, trans="T")
                near[j] = kept[:], multiples * scale[kept] / scale[j]
            elif j in self.replaced and lengths[j] <= self.lost * sizes[j]:
                self.left_out[j] = False
            else:
                factor[n, :n], factor[n, n] = line, np.sqrt(square)
                kept.append(j)
        return near

    def _subtract(self, j: int, columns: list[int], multiples: np.ndarray) -> None:
        """Subtract multiples of columns from one."""
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
        """What replaces columns; None where none is replaced."""
        columns = tuple(sorted(self.replaced))
        if not columns:
            return None
        return Straight(columns, self.centres, self.units, self.parts[list(columns)])
