"""Votes of all versions of the weights."""

import numpy as np

from linsep.compiled.jit import exact, inlined
from linsep.compiled.rows import U, entry, plain, scale, span

#: rows at a time, so that a change of a weight is added to all their scores at once
AT_ONCE = 32


@inlined
def _ballots(scores, machine, joint, at_zero, lasted, votes):
    """Add the votes of a version that lasted so many steps: for the class of the highest score, or
    for the sign of a binary classifier.
    """
    for r in range(U(AT_ONCE)):
        if not joint:
            score = scores[machine, r]
            sign = 1.0 if score > 0.0 else -1.0 if score < 0.0 else at_zero + 0.0 * score
            votes[machine, r] += lasted * sign
            continue
        best = 0
        for k in range(1, scores.shape[0]):
            ahead = scores[k, r] - scores[best, r]
            if ahead > 0.0 or (at_zero > 0.0 and ahead == 0.0):
                best = k
        votes[best, r] += lasted


@exact
def count_votes(rows, bias, values, log, first, total, joint, at_zero, votes):
    """Write the votes of all versions for every row to ``votes``.

    The score of a version is the score of the version before it plus the sum of its changes.

    Parameters
    ----------
    values : zeros of shape (features + 1, AT_ONCE), a buffer; the last for the constant feature
    log : the versions, :class:`linsep.compiled.weights.Vote`
    first : array of shape (rows, columns), scores of version 0
    total : the steps of each binary classifier
    joint : whether a version has all columns, not one
    at_zero : vote of a binary classifier whose score is zero
    """
    own, n_rows, columns = plain(rows), first.shape[0], first.shape[1]
    since = np.zeros(total.size, np.int64)
    shape = (columns, AT_ONCE)
    scores, moved, found = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    values[-1] = bias
    for start in range(0, n_rows, AT_ONCE):
        some = min(AT_ONCE, n_rows - start)
        for r in range(some):
            i = U(start + r)
            begin, end = span(own, i)
            for at in range(begin, end):
                j, x = entry(own, i, at)
                values[j, r] += x * scale(rows, i)
            for k in range(columns):
                scores[k, r] = first[i, k]
        since[:], found[:] = 0, 0.0
        for version in range(log.starts.size):
            machine, now = log.machines[version], log.rounds[version]
            _ballots(scores, machine, joint, at_zero, now - since[machine], found)
            since[machine] = now
            last = version + 1 == log.starts.size
            stop = log.amounts.size if last else log.starts[version + 1]
            whole = stop  # the constant feature, which is noted last, is added first
            while whole > log.starts[version] and log.features[whole - 1] < 0:
                whole -= 1
            moved[:] = 0.0
            for at in range(stop - log.starts[version]):
                n = whole + at if whole + at < stop else log.starts[version] + at - stop + whole
                k, j, amount = log.columns[n], log.features[n], log.amounts[n]
                for r in range(U(AT_ONCE)):
                    moved[k, r] += amount * values[j, r]
            scores += moved
        for machine in range(total.size):
            _ballots(scores, machine, joint, at_zero, total[machine] - since[machine], found)
        for r in range(some):
            i = U(start + r)
            begin, end = span(own, i)
            for at in range(begin, end):
                values[entry(own, i, at)[0], r] = 0.0
            for k in range(columns):
                votes[i, k] = found[k, r]
