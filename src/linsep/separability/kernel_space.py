"""The feature space of a kernel, from its Gram matrix in exact arithmetic."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from flint import fmpz_mat
from scipy.linalg import LinAlgError, cholesky, lapack

from linsep.certificate.constraints import Question
from linsep.certificate.integers import Row, whole_row
from linsep.certificate.numbers import exact_rows
from linsep.errors import DataError
from linsep.separability.elimination import common_scale, independent, solution
from linsep.separability.time_limit import check_time, doing

#: tolerance for K - K.T, relative to the largest entry
ASYMMETRY = 1e-8
#: squared length that counts as zero, relative to the largest, per row
ROUNDING = 2.0**-50
#: tolerance for products of unit images, per row: for floats, and for float32
BENT = 2.0**-40, 2.0**-16
#: numbers of binary digits to try for weights; None: all
DIGITS = (8, 24, 53, 160, 640, None)


def checked(K: Any) -> np.ndarray:
    """Return a Gram matrix, its numbers unchanged.

    ValueError if it is not square, not symmetric, not positive semidefinite up to rounding, or has
    NaN.
    """
    if sp.issparse(K):
        raise DataError("K is sparse: give a dense Gram matrix.")
    K = exact_rows(K)
    if K.shape[0] != K.shape[1]:
        raise DataError(
            f"K has shape {K.shape}, but a Gram matrix has a row and a column for every row of the "
            "data: give K(X, X)."
        )
    floats = K.astype(np.float64)
    allowed = ASYMMETRY * float(np.abs(floats).max())
    if (np.abs(floats - floats.T) > allowed).any():
        raise DataError("K is not symmetric, so it is not a Gram matrix: give K(X, X) of a kernel.")
    if not _semidefinite(floats, len(K) * BENT[K.dtype == np.float32]):
        raise DataError(
            "K is not positive semidefinite, even up to rounding, so it is not the Gram matrix of "
            "a kernel: give K(X, X) of a kernel."
        )
    return np.asarray(K)


def in_floats(K: Any) -> bool:
    """Return whether a Gram matrix as it is given holds floats, which may be rounded."""
    values = np.asarray(K)
    if values.dtype == object:
        return any(isinstance(x, float | np.floating) for x in values.flat)
    return values.dtype.kind == "f"


def _semidefinite(K: np.ndarray, rounding: float) -> bool:
    """Return whether K, scaled to unit images, is positive semidefinite up to rounding."""
    diagonal = K.diagonal()
    lengths = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    unit = K / lengths / lengths[:, None]
    if (diagonal < 0).any() or (np.abs(unit) > 1 + rounding).any() or unit[diagonal == 0].any():
        return False
    try:
        cholesky((unit + unit.T) / 2 + (rounding + ROUNDING) * np.eye(len(K)), lower=True)
    except LinAlgError:
        return False
    return True


def spanning(K: np.ndarray) -> tuple[int, ...]:
    """Return rows whose images span the space up to rounding, by pivoted Cholesky factorisation.

    What weights over these rows separate is separable.
    """
    floats = K.astype(np.float64)
    tolerance = len(K) * ROUNDING * float(np.abs(floats.diagonal()).max())
    _, pivots, rank, _ = lapack.dpstrf(floats, tol=tolerance, lower=1)
    return tuple(sorted((pivots[:rank] - 1).tolist())) or (0,)


class Gram:
    """A Gram matrix of integers.

    Attributes
    ----------
    columns : tuple of int
        Columns that span all columns exactly, so that a verdict over them holds for all.
    """

    def __init__(self, K: np.ndarray) -> None:
        doing("the rank of the Gram matrix")
        one, every = np.ones(1, dtype=np.int8), np.arange(len(K))
        self._rows = [whole_row(every, row, one, len(K), False) for row in K]
        self._lines: list[Row] = [{} for _ in every]
        for i, (row, _) in enumerate(self._rows):  # the factors do not change the rank
            check_time()
            for j, m in row.items():
                self._lines[j][i] = m
        self.columns = tuple(independent(self._lines)) or (0,)
        self.is_regular = len(self.columns) == len(K)

    def is_spanned_by(self, columns: tuple[int, ...]) -> bool:
        """Return whether some columns are a basis of the column space."""
        if len(columns) != len(self.columns):
            return False
        return len(independent([self._lines[j] for j in columns])) == len(columns)

    def weights(self, question: Question, codes: np.ndarray) -> np.ndarray | None:
        """Return integer weights that satisfy every constraint of a question, or None.

        A regular matrix has such weights for any labels. None if the matrix is not regular.
        """
        if not self.is_regular:
            return None
        doing("weights of all rows")
        signs = [C.astype(int) for C in question.signs]
        values = np.array([C.sum(axis=0) for C in signs])[codes]
        table, _ = common_scale(self._rows, list(range(len(codes))))
        found = solution(table, fmpz_mat(values.tolist()))
        assert found is not None
        blocks = np.array(found[0].tolist(), dtype=object)
        for digits in DIGITS:
            some = np.column_stack([_rounded(column, digits) for column in blocks.T])
            scores = np.array((table * fmpz_mat(some.tolist())).tolist(), dtype=object)
            if all((signs[code] @ scores[i] > 0).all() for i, code in enumerate(codes.tolist())):
                break
        w = np.zeros((question.blocks, question.width), dtype=object)
        w[:, : len(codes)] = some.T
        return np.array([int(x) for x in w.ravel()], dtype=object)


def _rounded(column: np.ndarray, digits: int | None) -> list[int]:
    """Shorten numbers so that the largest has ``digits`` binary digits."""
    numbers = [int(x) for x in column]
    spare = max(abs(m).bit_length() for m in numbers) - (digits or 0)
    if digits is None or spare <= 0:
        return numbers
    return [(m + (1 << spare - 1)) >> spare for m in numbers]
