"""Questions of separability: the linear inequalities of a separator, and their values.

Every row x of class k stands for one or more *constraints* ``<w, a> > 0``. Two classes: one a row,
``a = y [x; 1]``, the reflected row. The multinomial formulation of several classes: one for each
rival class, ``<w_k, z> > <w_rival, z>``, with the weights of all classes but the last, whose
weights are zero, stacked into one vector. Both are ``a = c (x) [x; 1]``, the Kronecker product with
a vector of -1, 0 and 1 that depends on the classes alone.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from linsep.separability.problem.data import Data
from linsep.separability.problem.pieces import TINY, Piece
from linsep.separability.time_limit import check_time

#: half a unit in the last place of 1.0
UNIT = 2.0**-53


class Question(NamedTuple):
    """The linear inequalities that a separator of the classes must satisfy.

    Attributes
    ----------
    coefficients : tuple of int8 arrays of shape (constraints of a row, blocks)
        One for each class; a class that is not part of the question has no constraints.
    width : int
        Number of weights of one block: the features, and the intercept.
    intercept : bool
    rounded : bool
        Whether the floats of the rows are rounded.
    """

    coefficients: tuple[np.ndarray, ...]
    width: int
    intercept: bool
    rounded: bool = False

    @property
    def blocks(self) -> int:
        """Number of weight vectors."""
        return self.coefficients[0].shape[1]

    @property
    def size(self) -> int:
        """Number of weights."""
        return self.blocks * self.width

    @property
    def active(self) -> np.ndarray:
        """For every code, whether its class has constraints."""
        return np.array([len(C) > 0 for C in self.coefficients])


class Values(NamedTuple):
    """The values ``<w, a>`` of the constraints of a piece.

    Attributes
    ----------
    row, which : int arrays
        The row of the piece, and the number of the constraint within the row.
    value, bound : float arrays
        The exact value lies within ``bound`` of ``value``.
    norm : float array
        The length of [x; 1].
    """

    row: np.ndarray
    which: np.ndarray
    value: np.ndarray
    bound: np.ndarray
    norm: np.ndarray


def two_sides(data: Data, positive: Any, negative: Any, fit_intercept: bool) -> Question:
    """Return the question of some classes (codes) against others; the rest is left out."""
    sign = {code: 1 for code in positive} | {code: -1 for code in negative}
    blocks = tuple(
        np.array([[sign[code]]] if code in sign else np.empty((0, 1)), dtype=np.int8)
        for code in range(len(data.classes))
    )
    return Question(blocks, data.n_features + fit_intercept, fit_intercept, data.rounded)


def multinomial(data: Data, fit_intercept: bool) -> Question:
    """Return the multinomial question: every class above every other, weights of the last zero."""
    K = len(data.classes)
    one = np.eye(K, dtype=np.int8)[:, : K - 1]
    blocks = tuple(
        np.array([one[own] - one[rival] for rival in range(K) if rival != own]) for own in range(K)
    )
    return Question(blocks, data.n_features + fit_intercept, fit_intercept, data.rounded)


class Scan(NamedTuple):
    """The weights at which all constraints are looked at.

    Attributes
    ----------
    question : Question
    w : array of shape (size,)
    above : float
        Rows whose values are surely above it are left out,
    longest : float or None
        which takes an upper bound on the length of every row; None leaves out none.
    """

    question: Question
    w: np.ndarray
    above: float = np.inf
    longest: float | None = None

    def values(self, lanes: Iterable[Piece]) -> Iterator[tuple[Piece, Values]]:
        """Yield the values of the constraints of each lane; the pieces hold the remaining rows."""
        active = self.question.active
        for lane in lanes:
            check_time()
            piece = lane.of_classes(active)
            if self.longest is not None:
                piece = piece.only(~self._surely_above(piece, self.longest))
            if piece.X.shape[0]:
                yield piece, values(self.question, piece, self.w)

    def _surely_above(self, piece: Piece, longest: float) -> np.ndarray:
        """Return which rows of a piece surely have values above the number.

        The bound is that of :func:`values`, with the length of the longest row for every row. A
        value that overflows does not count as above.
        """
        n = self.question.width + 5
        reach = (longest + 1) * float(np.linalg.norm(self.w))
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            scores = piece.products(self.w[None])[:, 0]
            blocks = self.question.coefficients
            signs = np.array([float(C[0, 0]) if len(C) else 0.0 for C in blocks])
            slack = n * UNIT / (1 - n * UNIT) * 1.001 * reach + 4 * n * TINY * (longest + 1)
            return np.isfinite(scores) & (scores * signs[piece.codes] > self.above + slack)


def scan_below(data: Data, question: Question, w: np.ndarray, above: float) -> Scan:
    """Return the scan of all constraints that are not surely above a number."""
    few = question.blocks == 1 and not data.sparse and np.isfinite(above)
    return Scan(question, w, above, data.longest if few else None)


def values(question: Question, piece: Piece, w: np.ndarray) -> Values:
    """Return ``<w, a>`` for every constraint of a piece, with a bound on the rounding of each.

    The bound is that of Higham, Accuracy and Stability of Numerical Algorithms (2002), section
    3.1: a sum of n products in any order is off by at most n u / (1 - n u) times the sum of
    their absolute values, here at most the product of the two lengths. Two more roundings are added
    for the weights and for long integers.
    """
    W = w.reshape(question.blocks, question.width)
    with np.errstate(over="ignore", invalid="ignore"):
        products = piece.products(W).reshape(piece.X.shape[0], -1)
        norm = np.hypot(piece.lengths(), float(question.intercept))
        W_lengths = np.sqrt(np.einsum("ij,ij->i", W, W) + W.shape[1] * TINY)
        found = [
            _of_class(question, code, piece, products, norm, W_lengths)
            for code in np.flatnonzero(np.bincount(piece.codes)).tolist()
        ]
    return Values(*(np.concatenate(part) for part in zip(*found, strict=True)))


def _of_class(
    question: Question,
    code: int,
    piece: Piece,
    products: np.ndarray,
    norm: np.ndarray,
    W_lengths: np.ndarray,
) -> Values:
    C = question.coefficients[code]
    rows = np.flatnonzero(piece.codes == code)
    value = products[rows] @ C.T
    n = question.width + question.blocks + 3
    reach = norm[rows, None] * (np.abs(C) @ W_lengths)
    tiny = 4 * n * TINY * (1 + norm[rows, None])  # weights that underflow, times the row
    bound = n * UNIT / (1 - n * UNIT) * (1 + 1e-9) * reach + tiny
    known = np.isfinite(value) & np.isfinite(bound)
    return Values(
        np.repeat(rows, len(C)),
        np.tile(np.arange(len(C)), len(rows)),
        np.where(known, value, 0.0).ravel(),  # NaN would compare as neither wrong nor unsure
        np.where(known, bound, np.inf).ravel(),
        np.repeat(norm[rows], len(C)),
    )
