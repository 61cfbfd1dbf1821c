"""The values of constraints: in floats, with bounds on their rounding, and in integers times a
fraction. What they are is said in :mod:`linsep.certificate.constraints`.
"""

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.certificate.constraints import UNIT, Membership, Question
from linsep.certificate.integers import Row, floats_of, whole_row
from linsep.separability.data import TINY, Data, Piece
from linsep.separability.time_limit import check_time, within_time


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
            blocks = self.question.signs
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
    C = question.signs[code]
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


def constraint(question: Question, piece: Piece, row: int, which: int) -> tuple[Row, Fraction]:
    """Return a constraint as integers and the positive fraction to multiply them by."""
    signs = question.signs[piece.codes[row]][which]
    return whole_row(*piece.row(row), signs, question.width, question.intercept)


def root_above(square: Fraction) -> float:
    """Return the square root rounded up, for numbers of any size."""
    half = (square.numerator.bit_length() - square.denominator.bit_length()) // 2
    try:
        root = math.ldexp(math.sqrt(square / Fraction(4) ** half) * (1 + 1e-15), half)
    except OverflowError:
        return math.inf
    return math.nextafter(root, math.inf) if square else 0.0


def dense_floats(row: Row, size: int) -> np.ndarray:
    """Return a row as floats, divided by a power of two near the largest entry."""
    dense = np.zeros(size)
    dense[list(row)] = floats_of(row.values())
    return dense


def sparse_floats(rows: list[Row], size: int) -> sp.csr_matrix:
    """Return rows as floats, each divided by a power of two near its largest entry."""
    starts = np.cumsum([0, *map(len, rows)])
    columns = [j for row in rows for j in row]
    return sp.csr_matrix(
        ([x for row in rows for x in floats_of(row.values())], columns, starts),
        shape=(len(rows), size),
    )


def constraints(
    question: Question, piece: Piece, rows: np.ndarray, which: np.ndarray
) -> sp.csr_matrix:
    """Return some constraints of a piece as a matrix without stored zeros."""
    return question.matrix(piece.X[rows], question.signs_of(piece.codes[rows], which))


def outside(
    space: Membership, question: Question, piece: Piece, values: Values, places: np.ndarray
) -> np.ndarray:
    """Return which of the constraints of a piece at ``places`` lie outside a space."""
    if not places.size or space.is_everything:
        return np.zeros(len(places), dtype=bool)
    rows, which = values.row[places], values.which[places]

    def whole(k: int) -> Row:
        return constraint(question, piece, int(rows[k]), int(which[k]))[0]

    A = constraints(question, piece, rows, which)
    return space.outside(A, whole, question.rounded, within_time)
