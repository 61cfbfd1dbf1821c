"""Rows that clearly overlap: one more of them than weights, whose combination vanishes.

Weights that minimize the squared hinge loss, the sum of ``max(0, 1 - A w)^2``, either separate some
rows, or the losses ``max(0, 1 - A w)`` are multipliers of a combination that vanishes: the slope of
the loss at its minimum. Newton's method finds it in few steps (Mangasarian, A finite Newton method
for classification, 2002). By Caratheodory's theorem (1907) rows are removed until one more than
weights is left. Their exact multipliers are the solution of one linear system, which also proves
that they span all weights, so that no other row needs to be looked at.
"""

from fractions import Fraction

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, lu_factor, lu_solve, qr

from linsep.certificate.constraints import Question
from linsep.certificate.integers import Space
from linsep.separability.data import Data, doubles, products, sides_of
from linsep.separability.elimination import vanishing
from linsep.separability.splitting import Proof, true_scale
from linsep.separability.time_limit import check_time, within_time
from linsep.separability.working_set import Member, members_of, shuffled

#: fewer numbers in the rows are decided in other ways, with shorter witnesses; so are more weights
LEAST_NUMBERS, MOST_WEIGHTS = 1 << 18, 1_000
#: rows for each weight: drawn at first, kept of those, added in a round
DRAWN, KEPT, ADDED = 8, 2, 2
#: rounds, Newton steps of each, and the share of the loss below which a step is the last
ROUNDS, STEPS, ENOUGH = 6, 40, 1e-12
#: penalties of weights: of the first guess, and of rows that overlap
SMOOTH, NEARLY = 1.0, 1e-9
#: the shortest step; a row is dependent if less than this share of it is independent
LEAST_STEP, CLEAR = 1e-6, 1e-10


def overlap(data: Data, question: Question) -> tuple[Proof | None, list[Member]]:
    """Return the proof that nothing separates two sides of many dense rows, or None and the rows
    with which a search should begin.

    The proof has one more row than weights, and the same rows are an infeasibility certificate: no
    row can be left out. A search should begin with the rows that bound the weights that were tried,
    and with those that have the lowest values: weights that separate these separate almost all.
    """
    size = question.size
    if question.blocks > 1 or data.sparse or size > MOST_WEIGHTS:
        return None, []
    if data.n_rows * size < LEAST_NUMBERS:
        return None, []
    try:
        overlaps, numbers = _some_overlap(data, question)
    except LinAlgError:  # floats do not decide
        return None, []
    members = members_of(data, question, numbers)
    return (_proved(question, members), []) if overlaps else (None, members)


def _some_overlap(data: Data, question: Question) -> tuple[bool, np.ndarray]:
    """Return whether the combination of one row more than weights seems to vanish, and the numbers
    of these rows, or else of the rows with which a search should begin.
    """
    size = question.size
    number = _lowest(data, question, None, DRAWN * size)[1]
    A = _floats(data, question, number)
    center, scale = _standard(A, question)
    A = _moved(A, center, scale)
    w, losses = squared_hinge(A, np.zeros(size), SMOOTH)
    first = number[:0]
    for _ in range(ROUNDS):
        if losses.max() > 1:  # some are misclassified
            w, losses = squared_hinge(A, w, NEARLY)
        if losses.max() > 1:
            used = corner(A[losses > 0], losses[losses > 0])
            return (False, number[:0]) if used is None else (True, number[losses > 0][used])
        weights = w / scale
        weights[-1] -= center @ weights
        value, more = _lowest(data, question, weights, ADDED * size)
        first = np.union1d(number[losses > 0], more)
        if not value.size or value.min() >= 0:
            break
        kept = slice(KEPT * size if len(A) == DRAWN * size else None)
        more = np.setdiff1d(more, number[kept])
        if not more.size:
            break
        A = np.vstack([A[kept], _moved(_floats(data, question, more), center, scale)])
        number = np.append(number[kept], more)
        losses = np.maximum(0.0, 1.0 - A @ w)
    return False, first


def _lowest(
    data: Data, question: Question, w: np.ndarray | None, most: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return values and numbers of the rows that weights get most wrong, or without weights of a
    sample.
    """
    sides, kept = sides_of(question), (np.zeros(0), np.zeros(0, dtype=np.int64))
    for lane in within_time(data.lanes()):
        number = np.arange(lane.first, lane.first + lane.size)
        if w is None:
            value = shuffled(number) * 2.0**-64
        else:
            X = lane.X if lane.X.dtype.kind == "f" else doubles(lane.X)
            value = sides[lane.y] * products(X, w[None].astype(X.dtype))[:, 0]
        active = sides[lane.y] != 0
        kept = _first(most, [kept, (value[active], number[active])])
    return kept


def _first(most: int, parts: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Return the lowest values of all parts with their numbers, in order; of equal ones the first
    rows, so that the answer does not depend on the parts.
    """
    value, number = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    if len(value) > most:
        near = ~(value > np.partition(value, most - 1)[most - 1])
        value, number = value[near], number[near]
    order = np.lexsort((number, value))[:most]
    return value[order], number[order]


def _floats(data: Data, question: Question, numbers: np.ndarray) -> np.ndarray:
    """Return the constraints of rows in floats, in the order of the numbers."""
    order = np.argsort(numbers)
    found = np.empty((len(numbers), question.size))
    found[:, -1] = 1.0  # unless it is a feature
    batches = data.some(numbers[order])
    X = np.vstack([doubles(batch.X) for batch in batches])
    found[order, : X.shape[1]] = X
    y = np.concatenate([batch.y for batch in batches])
    found[order] *= sides_of(question)[y][:, None]
    return found


def _standard(A: np.ndarray, question: Question) -> tuple[np.ndarray, np.ndarray]:
    """Return what is subtracted from columns, if there is an intercept, and what divides them."""
    X = A * A[:, -1:] if question.intercept else A
    center = X.mean(axis=0) if question.intercept else np.zeros(A.shape[1])
    scale = np.sqrt(((X - center) ** 2).mean(axis=0))
    if question.intercept:
        center[-1] = 0.0
    return center, np.where(scale > 0, scale, 1.0)


def _moved(A: np.ndarray, center: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return constraints of standardized columns; LinAlgError if floats cannot hold them."""
    moved = (A - A[:, -1:] * center) / scale
    if not np.isfinite(moved).all():
        raise LinAlgError("an overflow")
    return moved


def squared_hinge(A: np.ndarray, w: np.ndarray, ridge: float) -> tuple[np.ndarray, np.ndarray]:
    """Return weights of least ``sum max(0, 1 - A w)^2 + ridge |w|^2``, and each row's loss.

    Ends earlier at weights that are positive on all rows. LinAlgError if columns depend on others.
    """
    losses = np.maximum(0.0, 1.0 - A @ w)
    level = losses @ losses + ridge * (w @ w)
    for _ in range(STEPS):
        check_time()
        B = A[losses > 0]
        H = B.T @ B
        H[np.diag_indices(len(w))] += ridge
        slope = B.T @ losses[losses > 0] - ridge * w
        step = cho_solve(cho_factor(H, check_finite=False), slope, check_finite=False)
        size = 1.0
        while True:
            new = w + size * step
            x = np.maximum(0.0, 1.0 - A @ new)
            value = x @ x + ridge * (new @ new)
            if value <= level or size < LEAST_STEP:
                break
            size /= 2
        if not value < level:
            break
        ended = value > level * (1 - ENOUGH)
        w, losses, level = new, x, value
        if ended or losses.max() < 1:
            break
    return w, losses


def corner(A: np.ndarray, x: np.ndarray) -> np.ndarray | None:
    """Return one more row than columns of which positive multiples add up to zero, in floats.

    ``x`` are positive multipliers of all rows, whose sum is zero. A basis of rows with large
    multipliers takes over the others, one by one; if a multiplier of the basis becomes zero first,
    that row leaves it. None if the rows do not span all columns, or the sum is not zero.
    """
    d = A.shape[1]
    if len(A) <= d:
        return None
    triangle, order = qr((A * x[:, None]).T, mode="r", pivoting=True, check_finite=False)
    sizes = np.abs(np.diagonal(triangle))
    if not sizes.min() > CLEAR * sizes.max():
        return None
    basis, others = order[:d].copy(), order[d:].tolist()
    table = lu_solve(lu_factor(A[basis].T), A[others].T)  # the others in terms of the basis
    shares = -table @ x[others]
    if not shares.min() > 0:
        return None
    for k in range(len(others) - 1, 0, -1):
        check_time()
        column, left = table[:, k], x[others[k]]
        with np.errstate(divide="ignore", invalid="ignore"):
            steps = np.where(column < 0, -shares / column, np.inf)
        first = int(steps.argmin())
        shares = shares + min(left, steps[first]) * column
        table = table[:, :k]
        if steps[first] < left:
            shares[first], basis[first] = left - steps[first], others[k]
            line = table[first] / column[first]
            table = table - np.outer(column, line)
            table[first] = line
    return np.append(basis, others[0])


def _proved(question: Question, members: list[Member]) -> Proof | None:
    """Return the proof that has these rows, if their combination that vanishes is positive."""
    size = question.size
    everything = Space({j: {j: 1} for j in range(size)})
    start = [Fraction(0)] * size + [Fraction(1)]
    rows = [member.whole[0] for member in members]
    exact = vanishing(rows, start, everything, list(range(size)))
    if exact is None or min(exact) <= 0:
        return None
    return Proof({}, members, true_scale(members, exact), everything)
