"""The size of an overlap: multipliers of rows, and weights, with nearly the same sums.

The linear program is solved in floats. Its weights give the upper end. Its multipliers, times a
little less than 1, with a little of a combination that is known to vanish and is positive on rows
that span all others, are changed on these rows until their combination vanishes exactly: they give
the lower end.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from linsep.batches import Batch
from linsep.certificate.constraints import UNIT, Question, question_of
from linsep.certificate.details import Overlap
from linsep.certificate.integers import Row
from linsep.certificate.verdicts import Blocked, QuasiSeparable, Verdict
from linsep.separability.data import Data, constraint, doubles, every_constraint, sides_of
from linsep.separability.deciding_columns import all_rows
from linsep.separability.elimination import independent, seconds_of, vanishing
from linsep.separability.programs import FINE, solved
from linsep.separability.time_limit import TooLarge, Work, doing

#: shares of the known combination that are tried
SHARES = (Fraction(1, 10**9), Fraction(1, 10**6), Fraction(1, 10**3))
#: multipliers are rounded to multiples of its inverse
STEP = 2**60


def with_overlap(data: Data, verdict: Verdict) -> Verdict:
    """Return a verdict on two sides that nothing separates with the size of the overlap.

    All rows are read into memory. The interval is wide if the time is up. Other verdicts are
    returned as they are.
    """
    if not isinstance(verdict, Blocked) or verdict.subject.multinomial:
        return verdict
    question = question_of(verdict.subject)._replace(rounded=data.rounded)
    rows = all_rows(data)
    used = np.flatnonzero(question.active[rows.y])
    sides = sides_of(question)[rows.y[used]]
    most = 2 * min((sides > 0).sum(), (sides < 0).sum()) if question.intercept else len(used)
    weights, high = np.zeros(question.size), float(most)
    if (
        question.intercept
    ):  # all rows of the larger class are right, and the rows of the other are 2 off
        weights[-1] = 1.0 if sides.sum() > 0 else -1.0
    multipliers = _known(verdict)
    try:
        guess, w = _guess(question, rows)
        if (found := _sum_above(question, rows, w)) < high:
            weights, high = w, found
        of_row = dict(zip(used.tolist(), guess.tolist(), strict=True))
        multipliers = _exact(question, rows, verdict, of_row) or multipliers
    except TooLarge:
        pass
    total = sum(multipliers.values())
    low = float(total)
    low = math.nextafter(low, -math.inf) if Fraction(low) > total else low
    of_rows = np.zeros(data.n_rows)
    of_rows[list(multipliers)] = [float(x) for x in multipliers.values()]
    return replace(verdict, overlap=Overlap(low, high, int(most), weights, of_rows))


def _guess(question: Question, rows: Batch) -> tuple[np.ndarray, np.ndarray]:
    """Return multipliers of the rows on both sides, and weights, by a linear program in floats."""
    doing("the linear program of the overlap")
    centers = np.zeros(question.width - question.intercept)
    if question.intercept and not sp.issparse(rows.X):
        X = doubles(rows.X)
        centers = X.mean(axis=0)
        rows = rows._replace(X=X - centers)
    table = every_constraint(question, rows)
    top = np.ravel(abs(table).max(axis=0).todense())
    powers = np.where(top > 0, -np.frexp(top)[1], 0)
    table.data = np.ldexp(table.data, powers[table.indices])
    n = table.shape[0]
    found = solved(-np.ones(n), table.T, (0.0, 0.0), (0.0, 1.0), FINE)
    if found is None:
        raise TooLarge("the linear program of the overlap has no solution in floats")
    w = np.ldexp(-found.multipliers, powers)
    if question.intercept:
        w[-1] -= centers @ w[:-1]
    return found.x.clip(0.0, 1.0), w


def _sum_above(question: Question, rows: Batch, w: np.ndarray) -> float:
    """Return the sum of max(0, 1 - y <w, z>) over the rows, rounded up."""
    used = question.active[rows.y]
    X, sides, b = doubles(rows.X[used]), sides_of(question)[rows.y[used]], 0.0
    if question.intercept:
        w, b = w[:-1], w[-1]
    # also of numbers that are rounded to doubles, and of sums in any order
    bound = (len(w) + 8) * UNIT * (abs(X) @ np.abs(w) + abs(b) + 1.0)
    short = np.maximum(0.0, 1.0 - sides * (X @ w + b) + 2 * bound)
    return math.nextafter(math.fsum(short), math.inf) if np.isfinite(short).all() else math.inf


def _known(verdict: Blocked) -> dict[int, Fraction]:
    """Return multipliers from 0 to 1, by row, of the combination in a verdict."""
    known = verdict.spanning
    top = max(known.multipliers)
    return {row: Fraction(m, top) for row, m in zip(known.rows, known.multipliers, strict=True)}


def _exact(
    question: Question, rows: Batch, verdict: Blocked, guess: dict[int, float]
) -> dict[int, Fraction] | None:
    """Return multipliers from 0 to 1 near a guess whose combination vanishes; None if there are
    none so near.
    """
    known = _known(verdict)
    bound = set(verdict.boundary) if isinstance(verdict, QuasiSeparable) else guess.keys()
    some = [*known, *(i for i, x in guess.items() if x * STEP >= 1 and i in bound - known.keys())]
    exact: list[tuple[Row, Fraction]] = [constraint(question, rows, i, 0) for i in some]
    whole = [row for row, _ in exact]
    basis = independent(whole[: len(known)])
    if not basis:  # rows of zeros vanish with any multipliers
        return {i: Fraction(1) for i in guess if i in bound}
    entries = (m for row in whole[: len(known)] for m in row.values())
    bits = max((abs(m).bit_length() for m in entries), default=0)
    Work().pay(seconds_of(len(basis), len(basis), bits), "the overlap")
    for share in SHARES:
        near = [
            Fraction(int(guess[i] * STEP), STEP) * (1 - share) + share * known.get(i, 0)
            for i in some
        ]
        scaled = [x * scale for x, (_, scale) in zip(near, exact, strict=True)]
        found = vanishing(whole, scaled, verdict.space, basis)
        if found is None or min(found) < 0:
            continue
        numbers = [x / scale for x, (_, scale) in zip(found, exact, strict=True)]
        fixed = next(k for k in range(len(some)) if k not in basis)
        factor = max(numbers[fixed] / near[fixed], *numbers)
        return {i: x / factor for i, x in zip(some, numbers, strict=True) if x}
    return None
