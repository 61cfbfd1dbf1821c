"""The distinct rows and the space they span: whether random labels would be separable."""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp
from flint import nmod_mat

from linsep.batches import Batch
from linsep.certificate.constraints import Question
from linsep.chance.counting import Chance
from linsep.separability.data import Data
from linsep.separability.evidence import Marks, column_numbers, first_of_each, row_marks

#: prime below 2^31 with which ranks are computed; the order of 2 modulo it is large
PRIME = 2147483629
#: most numbers of rows whose rank is computed
MOST_NUMBERS = 1 << 22
#: distinct rows beside four for each weight that make a separation by chance impossible
ENOUGH = 64
#: least rows that are looked at together
AT_ONCE = 8_192


def chance_of(data: Data, question: Question) -> Chance:
    """Return whether random labels of the rows of a question would be separable.

    Reading stops as soon as the number of distinct rows shows that the probability is nearly 0.
    """
    width = question.width
    most = 4 * width + ENOUGH
    found = _distinct(question.active, most, data.lanes())
    n_distinct, enough = min(len(found.rows), most), len(found.rows) >= most
    d, known, tied = min(width, n_distinct) - question.intercept, enough, False
    if not enough and n_distinct * width <= MOST_NUMBERS:
        X = _dense(data, found.rows)
        d, known = rank(X, question.intercept), True
        tied = n_distinct > d + question.intercept and _is_tied(X)
    return Chance(n_distinct, enough, d, known, tied, question.intercept)


def _distinct(active: np.ndarray, most: int, lanes: Iterable[Batch]) -> Marks:
    found = Marks(np.empty(0, np.uint64), np.empty(0, np.int64))
    odd = None
    for lane in lanes:
        odd = column_numbers(lane.X.shape[1]) if odd is None else odd
        for part in lane.cut(max(most, AT_ONCE)):
            chosen = np.flatnonzero(active[part.y])
            X = part.X if len(chosen) == part.size else part.X[chosen]
            new = Marks(row_marks(X, odd), part.first + chosen)
            found = first_of_each((found, new))
            if len(found.rows) >= most:
                return found
    return found


def _dense(data: Data, numbers: np.ndarray) -> np.ndarray:
    """Return the rows with these numbers as one array."""
    parts = [batch.X for batch in data.some(np.sort(numbers))]
    return np.vstack([X.toarray() if sp.issparse(X) else X for X in parts])


def _is_tied(X: np.ndarray) -> bool:
    """Return whether some column that is not constant has a value in several rows."""
    return any(1 < len(set(column.tolist())) < len(column) for column in X.T)


def rank(X: np.ndarray, intercept: bool) -> int:
    """Return the rank of rows; with an intercept, the rank of ``[X, 1]`` minus 1.

    Modulo a prime it is never more, and less only if the prime divides all largest minors.
    """
    residues = modulo(X)
    if intercept:
        residues = np.hstack([residues, np.ones((len(X), 1), np.int64)])
    lines, width = residues.shape
    found = 0
    for some in (residues[: width + 8], residues):
        found = nmod_mat(len(some), width, some.ravel().tolist(), PRIME).rank()
        if found == width or len(some) == lines:
            break
    return int(found) - intercept


def modulo(X: np.ndarray) -> np.ndarray:
    """Return numbers modulo the prime: floats exactly as stored, as integers times powers of 2."""
    if X.dtype == object:
        return np.array([[_residue(value) for value in row] for row in X.tolist()], np.int64)
    mantissas, exponents = np.frexp(X.astype(np.float64))
    whole = np.ldexp(mantissas, 53).astype(np.int64) % PRIME
    used, place = np.unique(exponents, return_inverse=True)
    powers = np.array([pow(2, int(e) - 53, PRIME) for e in used], np.int64)
    return whole * powers[place].reshape(X.shape) % PRIME


def _residue(value: Any) -> int:
    exact = Fraction(value)
    return exact.numerator * pow(exact.denominator, -1, PRIME) % PRIME
