"""The pass loop: learn from rows in a given order, by any scheme and rule; orders and scores."""

from typing import NamedTuple

import numpy as np

from linsep.compiled.jit import borrow, compiled, generic, inlined
from linsep.compiled.rows import Some, U, ahead, dot, dots, dots_at, inside
from linsep.compiled.weights import Column, Pair, Vector, machine

#: rows in a block: they are stored together, and stay together when a pass is shuffled
BLOCK = 64

MISTAKES, UPDATES, ERRORS, ROWS = 0, 1, 2, 3
# What the learning of a row and a rule's step return to stop a pass before the row.
NO_SCORE = (-1, 0, 0)
NO_STEP = (-1, 0)
# Which of equal scores is predicted: the lowest class, the highest, or a random one (the lowest,
# for counting errors). One-vs-one ties are decided likewise; at random each gets half a win.
LOWEST, HIGHEST, RANDOM = 0, 1, 2


class Binary(NamedTuple):
    """Two classes, one weight vector; a zero score is wrong, and predicted by ``tie``."""

    tie: int


class OneVsRest(NamedTuple):
    """One binary classifier per class, each against all others; ``scores`` is their buffer."""

    classes: int
    tie: int
    scores: np.ndarray


class OneVsOne(NamedTuple):
    """One binary classifier per pair of classes; the larger class is +1.

    ``machines`` and ``sides`` have shape (classes, classes - 1): the binary classifiers of class c
    and its side in each. With ``whole`` every one is scored, to count prediction errors.
    """

    classes: int
    tie: int
    machines: np.ndarray
    sides: np.ndarray
    whole: bool
    rounds: np.ndarray
    scores: np.ndarray
    votes: np.ndarray


class Native(NamedTuple):
    """One weight column per class; predicts the highest score, equal ones by ``tie``.

    With ``tie`` RANDOM it is a mistake if another class scores as high as the true one.
    """

    classes: int
    tie: int
    scores: np.ndarray


@inlined
def best_class(rows, i, W, bias, classes, tie, scores):
    """Score row i for every class; return the best (ties by ``tie``), or -1 if not finite."""
    dots(rows, i, W, scores)
    best, last = 0, W.shape[0] - 1
    for k in range(classes):
        scores[k] += W[last, k] * bias
        if not np.isfinite(scores[k]):
            return -1
        if scores[k] > scores[best] or (tie == HIGHEST and scores[k] == scores[best]):
            best = k
    return best


@inlined
def most_wins(classes, tie, scores, votes):
    """Return the class with most wins; among equals the highest summed score, then by tie.

    ``scores`` are in the order (0,1), (0,2), ..., (1,2), ...; positive is a win of the second
    class, zero goes by tie. ``votes`` is a buffer of shape (2, classes) for wins and summed scores.
    """
    votes[:] = 0.0
    machine = 0
    for a in range(classes):
        for b in range(a + 1, classes):
            score = scores[machine]
            won = 1.0 if score > 0.0 or (score == 0.0 and tie == HIGHEST) else 0.0
            if score == 0.0 and tie == RANDOM:
                won = 0.5
            votes[0, b] += won
            votes[0, a] += 1.0 - won
            votes[1, b] += score
            votes[1, a] -= score
            machine += 1
    best = 0
    for k in range(1, classes):
        ahead, score = votes[0, k] - votes[0, best], votes[1, k] - votes[1, best]
        if ahead > 0 or (ahead == 0 and (score > 0 or (score == 0 and tie == HIGHEST))):
            best = k
    return best


@generic(0)
def learn(scheme, rule, keep, W, bias, rows, i, code, importance, now):
    """Learn from row i of class ``code``; return (mistakes, updates, errors) or NO_SCORE."""


@learn.when(Binary)
def _binary(scheme, rule, keep, W, bias, rows, i, code, importance, now):
    score = dot(rows, i, W) + W[W.shape[0] - 1] * bias
    if not np.isfinite(score):
        return NO_SCORE
    y = 1.0 if code == 1 else -1.0
    wrong = y * score <= 0.0
    error = wrong and (score != 0.0 or (code == 1) != (scheme.tie == HIGHEST))
    weights = Vector(W, bias, keep, now)
    mistake, updated = step(rule, weights, rows, i, y, score, wrong, importance)
    return mistake, updated, int(error)


@learn.when(OneVsRest)
def _one_vs_rest(scheme, rule, keep, W, bias, rows, i, code, importance, now):
    best = best_class(rows, i, W, bias, scheme.classes, scheme.tie, scheme.scores)
    if best < 0:
        return NO_SCORE
    scores = scheme.scores
    mistakes = updates = 0
    for k in range(scheme.classes):
        y = 1.0 if k == code else -1.0
        wrong = y * scores[k] <= 0.0
        weights = Column(W, k, bias, keep, now)
        mistake, updated = step(rule, weights, rows, i, y, scores[k], wrong, importance)
        mistakes, updates = mistakes + mistake, updates + updated
    return mistakes, updates, int(best != code)


@learn.when(OneVsOne)
def _one_vs_one(scheme, rule, keep, W, bias, rows, i, code, importance, now):
    scores, last = scheme.scores, W.shape[0] - 1
    mistakes = updates = errors = 0
    if scheme.whole:
        dots(rows, i, W, scores)
        for k in range(scheme.rounds.size):
            scores[k] += W[last, k] * bias
        errors += most_wins(scheme.classes, scheme.tie, scores, scheme.votes) != code
    machines = scheme.machines[code]
    dots_at(rows, i, W, Some(machines), scores)
    for q in range(machines.size):
        scores[q] += W[last, machines[q]] * bias
        if not np.isfinite(scores[q]):
            return NO_SCORE
    for q in range(machines.size):
        k, y = machines[q], scheme.sides[code, q]
        wrong = y * scores[q] <= 0.0
        weights = Column(W, k, bias, keep, scheme.rounds[k])
        mistake, updated = step(rule, weights, rows, i, y, scores[q], wrong, importance)
        mistakes, updates = mistakes + mistake, updates + updated
        scheme.rounds[k] += int(mistake >= 0)
    return mistakes, updates, errors


@learn.when(Native)
def _native(scheme, rule, keep, W, bias, rows, i, code, importance, now):
    best = best_class(rows, i, W, bias, scheme.classes, scheme.tie, scheme.scores)
    if best < 0:
        return NO_SCORE
    scores, rival = scheme.scores, best
    if best == code:
        rival = int(code == 0)
        for k in range(scheme.classes):
            if k != code and scores[k] > scores[rival]:
                rival = k
    gap = scores[code] - scores[rival]
    wrong = best != code or (scheme.tie == RANDOM and gap == 0.0)
    weights = Pair(W, U(code), U(rival), bias, keep, now, scores)
    mistake, updated = step(rule, weights, rows, i, 1.0, gap, wrong, importance)
    return mistake, updated, int(best != code)


# Rows to prefetch ahead: enough to hide the latency of memory, few enough to stay cached.
AHEAD = 6


@compiled
def pass_loop(scheme, rule, keep, W, bias, rows, codes, importance, order, now, tally):
    """Learn from the rows listed in ``order``; return the number of rows processed.

    Parameters
    ----------
    scheme, rule, keep : NamedTuples of this module, ``compiled.rules`` and ``compiled.weights``
    W : float64 weights, shape (features + 1,) for two classes, else (features + 1, columns)
    bias : float, value of the constant feature whose weight is the last
    rows : Dense, Csr or Unit
    codes : int32 class of each row
    importance : float64 weight of each row, or empty where all are 1
    order : int64 row numbers
    now : number of rows processed before
    tally : int64 counts [mistakes, updates, errors, rows], updated in place

    Returns
    -------
    Fewer than ``order.size`` if the next row has no finite score, or a feature without a weight;
    that row has not changed anything.
    """
    scheme, rule, keep = borrow(scheme), borrow(rule), borrow(keep)
    rows, W = borrow(rows), borrow(W)
    mistakes = updates = errors = done = 0
    for t in range(order.size):
        i = U(order[t])
        ahead(rows, U(order[min(t + AHEAD, order.size - 1)]))
        if not inside(rows, i, W.shape[0] - 1):
            break
        weight = importance[i] if importance.size else 1.0
        counts = learn(scheme, rule, keep, W, bias, rows, i, codes[i], weight, now + t)
        if counts[MISTAKES] < 0:
            break
        mistakes, updates = mistakes + counts[MISTAKES], updates + counts[UPDATES]
        errors, done = errors + counts[ERRORS], t + 1
    tally[MISTAKES] += mistakes
    tally[UPDATES] += updates
    tally[ERRORS] += errors
    tally[ROWS] += done
    return done


@compiled
def score_vector(rows, n_rows, w, bias, scores):
    """Score all rows by one vector, as in learning; NaN where a feature has no weight."""
    rows, last = borrow(rows), w.shape[0] - 1
    for i in range(U(n_rows)):
        scores[i] = dot(rows, i, w) + w[last] * bias if inside(rows, i, last) else np.nan


@compiled
def score_matrix(rows, n_rows, W, bias, scores):
    """Score all rows by every column of W, as :func:`score_vector` does."""
    rows, last = borrow(rows), W.shape[0] - 1
    for i in range(U(n_rows)):
        if not inside(rows, i, last):
            scores[i] = np.nan
            continue
        dots(rows, i, W, scores[i])
        for k in range(W.shape[1]):
            scores[i, k] += W[last, k] * bias


@generic(0)
def step(rule, weights, rows, i, y, score, wrong, importance):
    """Learn from one example by ``rule``; return (mistake, updated), or NO_STEP."""


class Watch(NamedTuple):
    """Learn nothing; sum the importance of the ``mistakes`` of each binary classifier."""

    mistakes: np.ndarray


@step.when(Watch)
def _watch(rule, weights, rows, i, y, score, wrong, importance):
    rule.mistakes[machine(weights)] += importance * wrong
    return int(wrong), 0


@compiled
def interleave(starts, sizes, group_size):
    """Return row numbers in visiting order: ``group_size`` blocks at a time, a row of each in turn.

    Parameters
    ----------
    starts, sizes : int64, first row and number of rows of each block, in the order of the blocks
    group_size : blocks interleaved at a time; the first group takes the remainder, so that a pass
        never ends with a badly mixed one
    """
    rows = np.empty(sizes.sum(), np.int64)
    block = n = 0
    while block < starts.size:
        rest = (starts.size - block) % group_size
        stop = block + (rest if rest else group_size)
        for turn in range(sizes[block:stop].max()):
            for k in range(block, stop):
                if turn < sizes[k]:
                    rows[n] = starts[k] + turn
                    n += 1
        block = stop
    return rows
