"""Questions of separability: the linear inequalities of a separator, and their values.

Every row x of class k stands for one or more *constraints* ``<w, a> > 0``. Two classes: one a row,
``a = y [x; 1]``, the reflected row. The multinomial formulation of several classes: one for each
rival class, ``<w_k, z> > <w_rival, z>``, with the weights of all classes but the last, whose
weights are zero, stacked into one vector. Both are ``a = c (x) [x; 1]``, the Kronecker product with
a vector of -1, 0 and 1 that depends on the classes alone.

Values come in floats, with bounds on their rounding, and in integers times a fraction.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import cache
from math import lcm
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.certificate.integers import Row
from linsep.separability.data import TINY, Data, Piece
from linsep.separability.elimination import Reduced
from linsep.separability.time_limit import check_time

#: half a unit in the last place of 1.0
UNIT = 2.0**-53
EXACT = 2.0**53


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


def whole_numbers(numbers: Any) -> tuple[list[int], int]:
    """Return integers m and an exponent e with ``numbers == m * 2**e`` exactly."""
    numbers = np.asarray(numbers)
    if numbers.dtype.kind in "iu":
        return numbers.tolist(), 0
    if numbers.dtype == object:
        return [int(number) for number in numbers], 0
    mantissas, exponents = np.frexp(numbers.astype(np.float64))
    whole = np.ldexp(mantissas, 53).astype(np.int64)
    used = exponents[whole != 0]
    if not used.size:
        return [0] * len(whole), 0
    lowest = int(used.min())
    shifts = np.where(whole != 0, exponents - lowest, 0)
    pairs = zip(whole.tolist(), shifts.tolist(), strict=True)
    return [m << shift for m, shift in pairs], lowest - 53


@cache
def power_of_two(exponent: int) -> Fraction:
    """Return ``2**exponent`` as a fraction."""
    return Fraction(2) ** exponent


def constraint(question: Question, piece: Piece, row: int, which: int) -> tuple[Row, Fraction]:
    """Return a constraint as integers and the positive fraction to multiply them by."""
    signs = question.coefficients[piece.codes[row]][which]
    return whole_row(*piece.row(row), signs, question.width, question.intercept)


def whole_row(
    columns: np.ndarray, numbers: np.ndarray, signs: np.ndarray, width: int, intercept: bool
) -> tuple[Row, Fraction]:
    """Return ``signs (x) [x; 1]`` for a row x, as integers and a positive fraction."""
    one = [1] if intercept else []
    scale = Fraction(1)
    if numbers.dtype.kind in "iu":
        whole = numbers.tolist() + one
    elif numbers.dtype == object:
        exact = [Fraction(x) for x in (*numbers.tolist(), *one)]
        below = lcm(*(x.denominator for x in exact))
        whole, scale = [int(x * below) for x in exact], Fraction(1, below)
    else:
        whole, exponent = whole_numbers(np.append(numbers.astype(np.float64), one))
        scale = power_of_two(exponent)
    places = [*columns.tolist(), width - 1] if intercept else columns.tolist()
    z = [(j, m) for j, m in zip(places, whole, strict=True) if m]
    blocks = [(b * width, s) for b, s in enumerate(signs.tolist()) if s]
    return {shift + j: s * m for shift, s in blocks for j, m in z}, scale


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
    dense[list(row)] = _floats(row)
    return dense


def sparse_floats(rows: list[Row], size: int) -> sp.csr_matrix:
    """Return rows as floats, each divided by a power of two near its largest entry."""
    starts = np.cumsum([0, *map(len, rows)])
    columns = [j for row in rows for j in row]
    return sp.csr_matrix(
        ([x for row in rows for x in _floats(row)], columns, starts), shape=(len(rows), size)
    )


def _floats(row: Row) -> list[float]:
    top = max((abs(m).bit_length() for m in row.values()), default=0)
    spare = [max(0, abs(m).bit_length() - 128) for m in row.values()]
    return [math.ldexp(m >> k, k - top) for m, k in zip(row.values(), spare, strict=True)]


class Span:
    """A row space, and the test of which constraints of a piece lie outside it."""

    def __init__(self, reduced: Reduced, question: Question) -> None:
        self.reduced, self.question = reduced, question
        self._table, self._whole = _remainders(reduced, question.size)
        self._below, self._lines = reduced.one, reduced.rows

    def outside(self, piece: Piece, values: Values, places: np.ndarray) -> np.ndarray:
        """Return which of the constraints of a piece at ``places`` lie outside the space."""
        if not places.size or self._table.shape[1] == 0:
            return np.zeros(len(places), dtype=bool)
        A = constraints(self.question, piece, values.row[places], values.which[places])

        def whole(k: int) -> Row:
            row, which = int(values.row[places[k]]), int(values.which[places[k]])
            return constraint(self.question, piece, row, which)[0]

        return self.outside_rows(A, whole)

    def outside_rows(self, A: sp.csr_matrix, whole: Callable[[int], Row]) -> np.ndarray:
        """Return which rows of a matrix lie outside; ``whole(k)`` returns row k in integers."""
        if self._exact(A):
            remainders = sp.csr_matrix(A @ self._table)
            remainders.eliminate_zeros()
            return np.diff(remainders.indptr) > 0
        return np.array([self._leaves(whole(k)) for k in range(A.shape[0])], dtype=bool)

    def _leaves(self, a: Row) -> bool:
        """Return whether a row has a nonzero remainder, column by column, in integers."""
        check_time()
        inside = [(m, self._lines[j]) for j, m in a.items() if j in self._lines]
        columns = a.keys() | {j for _, line in inside for j in line}
        return any(
            self._below * a.get(j, 0) != sum(m * line[j] for m, line in inside if j in line)
            for j in columns
            if j not in self._lines
        )

    def _exact(self, A: sp.csr_matrix) -> bool:
        if self.question.rounded:
            return False
        if self._table.nnz == self._table.shape[1] and self._whole == 1:
            return True  # no sums: a remainder is a copy of some entries
        used = np.diff(self._table.indptr) > 0
        numbers = A.data[used[A.indices]]
        if not (np.abs(numbers) < EXACT).all() or not (numbers == np.rint(numbers)).all():
            return False
        most = abs(A[:, used]) @ abs(self._table[used]) if numbers.size else np.zeros(1)
        return bool(most.max() < EXACT)


def constraints(
    question: Question, piece: Piece, rows: np.ndarray, which: np.ndarray
) -> sp.csr_matrix:
    """Return some constraints of a piece as a matrix without stored zeros."""
    X = sp.csr_matrix(piece.X[rows], dtype=np.float64)
    if question.intercept:
        X = sp.hstack([X, np.ones((len(rows), 1))], format="csr")
    starts = np.cumsum([0, *(len(C) for C in question.coefficients)])[:-1]
    signs = np.concatenate(question.coefficients)[starts[piece.codes[rows]] + which]
    A = sp.hstack(
        [sp.diags(signs[:, b].astype(float)) @ X for b in range(question.blocks)], format="csr"
    )
    A.eliminate_zeros()
    return A


def _remainders(reduced: Reduced, size: int) -> tuple[sp.csr_matrix, int]:
    """Return the matrix that maps rows to remainders times an integer, and that integer."""
    whole = reduced.one
    free = [j for j in range(size) if j not in reduced.rows]
    numbers = (x for row in reduced.rows.values() for x in row.values())
    if whole >= EXACT or any(abs(x) >= EXACT for x in numbers):
        whole = 0  # too long for floats: NaN makes the test of exactness fail
    place = {j: k for k, j in enumerate(free)}
    one = float(whole) if whole else np.nan
    entries = [(j, place[j], one) for j in free]
    for pivot, row in reduced.rows.items():
        entries += [(pivot, place[j], -float(x) if whole else one) for j, x in row.items()]
    lines, columns, values = zip(*entries, strict=True) if entries else ((), (), ())
    return sp.csr_matrix((values, (lines, columns)), shape=(size, len(free))), whole
