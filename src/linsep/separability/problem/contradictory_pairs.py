"""Equal rows on opposite sides: the shortest proof that nothing separates the classes."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.separability.problem.data import Data, Pass
from linsep.separability.problem.pieces import Piece
from linsep.separability.problem.questions import Question
from linsep.separability.problem.whole_numbers import combination, constraint

#: most pairs with equal hashes that are compared
MOST_PAIRS = 8


class Marks(NamedTuple):
    """Hashes of rows, sorted and different, and the number of the first row with each."""

    marks: np.ndarray
    rows: np.ndarray


@dataclass(frozen=True)
class Marked(Pass[tuple[Marks, ...]]):
    """The hashes of the rows on the positive side, and of those on the negative side."""

    question: Question

    def of(self, lanes: Iterable[Piece]) -> tuple[Marks, ...]:
        """Return those of the lanes."""
        sides = np.array([int(C[0, 0]) if len(C) else 0 for C in self.question.coefficients])
        odd = _column_numbers(self.question.width - self.question.intercept)
        found = []
        for piece in lanes:
            marks, signs = row_marks(piece, odd), sides[piece.codes]
            found.append(
                tuple(Marks(marks[signs == s], piece.numbers[signs == s]) for s in (1, -1))
            )
        return self.merged(found)

    def merged(self, parts: list[tuple[Marks, ...]]) -> tuple[Marks, ...]:
        """Return those of all."""
        return tuple(_first_of_each(of_side) for of_side in zip(*parts, strict=True))


def _first_of_each(parts: tuple[Marks, ...]) -> Marks:
    marks, rows = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    different, first = np.unique(marks, return_index=True)
    return Marks(different, rows[first])


def contradictory_pair(data: Data, question: Question) -> tuple[int, int] | None:
    """Return the first pair of equal rows on opposite sides, or None.

    Only for two sides. Rows are sorted by 64-bit hashes, and one pair per hash is compared number
    by number. If different rows share a hash, which is unlikely, a pair may be missed, and the
    witness is longer than necessary.
    """
    above, below = data.ask(Marked(question))
    _, *places = np.intersect1d(above.marks, below.marks, assume_unique=True, return_indices=True)
    pairs = np.sort(np.column_stack([above.rows[places[0]], below.rows[places[1]]]), axis=1)
    for pair in pairs[np.argsort(pairs[:, 1])][:MOST_PAIRS]:
        found = [constraint(question, piece, at, 0)[0] for _, piece, at in data.rows(pair)]
        if not combination((1, a) for a in found):
            return int(pair[0]), int(pair[1])
    return None


def _column_numbers(n_features: int) -> np.ndarray:
    """Return a fixed pseudorandom odd number for every column."""
    drawn = np.random.default_rng(20261121).integers(2**63, size=n_features, dtype=np.uint64)
    return drawn * np.uint64(2) + np.uint64(1)


def row_marks(piece: Piece, odd: np.ndarray) -> np.ndarray:
    """Return a 64-bit hash of every row; zeros add nothing, so that storage does not matter.

    The bits of floats are mixed first: those of small integers end in many zeros, which
    multiplication would keep.
    """
    X = piece.X
    if sp.issparse(X):
        terms = _mixed(X.data) * odd[X.indices]
        total = np.append(np.uint64(0), np.cumsum(terms, dtype=np.uint64))
        return total[X.indptr[1:]] - total[X.indptr[:-1]]
    return np.einsum("ij,j->i", _mixed(X), odd)


def _mixed(numbers: np.ndarray) -> np.ndarray:
    """Return the mixed bits of float64 numbers; 0 stays 0."""
    bits = (numbers.astype(np.float64) + 0.0).view(np.uint64)
    bits = bits ^ bits >> np.uint64(32)
    bits *= np.uint64(0x9E3779B97F4A7C15)
    bits ^= bits >> np.uint64(29)
    return bits
