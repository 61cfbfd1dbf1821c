"""Guessing in floats which linear functions have both signs on a recession cone.

The slice holds the weights of the cone whose products with all rows sum to 1. One linear program
per function is solved over it, each from the last corner. All functions are evaluated at every
corner: most show both signs before their own program is solved.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import highspy
import numpy as np
import scipy.sparse as sp

from linsep.separability.exact.spans import constraints
from linsep.separability.problem.data import Data, Pass
from linsep.separability.problem.pieces import Piece
from linsep.separability.problem.questions import Question
from linsep.separability.problem.whole_numbers import Row, sparse_floats
from linsep.separability.programs import FINE, equilibrated, opened, run
from linsep.separability.time_limit import check_time, seconds_left

#: most numbers in the constraints, and most weights: beyond them programs take too long
MOST_NUMBERS, MOST_WEIGHTS = 2_000_000, 100
#: simplex steps for one function; values below this share of the largest count as zero
MOST_STEPS, CLEAR = 2_000, 1e-6


def both_signs(data: Data, question: Question, functions: list[Row]) -> np.ndarray:
    """Guess which linear functions of the weights have both signs on the recession cone.

    Nothing is proved. False if a guess would take too long.

    Parameters
    ----------
    data, question : the constraints of the cone
    functions : {number of a weight: number} each

    Returns
    -------
    array of bool of shape (functions,)
    """
    seen = np.zeros((len(functions), 2), dtype=bool)
    most = data.n_rows * max(map(len, question.coefficients))
    if question.size > MOST_WEIGHTS or most * question.size > MOST_NUMBERS:
        return seen[:, 0] & seen[:, 1]
    table, _, powers = equilibrated(data.ask(Constraints(question)))
    with np.errstate(all="ignore"):
        goals = sparse_floats(functions, question.size).toarray() * np.ldexp(
            1.0, powers.astype(int)
        )
        goals = goals / np.abs(goals).max(axis=1, keepdims=True)
    if not (np.isfinite(goals).all() and np.isfinite(table.data).all()):
        return seen[:, 0] & seen[:, 1]
    normal = np.asarray(table.mean(axis=0))
    rows = np.append(np.zeros(table.shape[0]), 1.0), np.append(np.full(table.shape[0], np.inf), 1.0)
    slices = sp.vstack([table, sp.csr_matrix(normal)])
    solver = opened(np.zeros(question.size), slices, rows, (-np.inf, np.inf), FINE)
    for name, value in (("simplex_strategy", 4), ("simplex_iteration_limit", MOST_STEPS)):
        solver.setOptionValue(name, value)  # the primal method starts from a corner
    solver.setOptionValue("presolve", "off")
    for k, side in np.ndindex(*seen.shape):
        if not seen[k, side] and (side == 0 or seen[k, 0]):
            corner = _corner(solver, goals[k] if side == 0 else -goals[k])
            if corner is not None:
                values = goals @ corner
                clear = CLEAR * np.abs(corner).max()
                seen |= np.column_stack([values < -clear, values > clear])
    return seen[:, 0] & seen[:, 1]


def _corner(solver: highspy.Highs, cost: np.ndarray) -> np.ndarray | None:
    """Return the corner where a function is smallest, or None if the solver gives up."""
    check_time()
    solver.changeColsCost(len(cost), np.arange(len(cost), dtype=np.int32), cost)
    solver.setOptionValue("time_limit", solver.getRunTime() + max(0.0, seconds_left()))
    run(solver)
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    return np.array(solver.getSolution().col_value)


@dataclass(frozen=True)
class Constraints(Pass[sp.csr_matrix]):
    """All constraints as a matrix."""

    question: Question

    def of(self, lanes: Iterable[Piece]) -> sp.csr_matrix:
        """Return those of the lanes."""
        counts = np.array([len(C) for C in self.question.coefficients])
        parts = []
        for piece in lanes:
            check_time()
            each = counts[piece.codes]
            rows = np.repeat(np.arange(len(piece.codes)), each)
            which = np.concatenate([np.arange(count) for count in each])
            parts.append(constraints(self.question, piece, rows, which))
        return self.merged(parts)

    def merged(self, parts: list[sp.csr_matrix]) -> sp.csr_matrix:
        """Return all."""
        return sp.vstack(parts, format="csr")
