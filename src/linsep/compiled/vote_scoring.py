"""Let every weight version vote on each row's class."""

import numpy as np

from linsep.compiled.core.jit import compiled
from linsep.compiled.core.loop import HIGHEST, RANDOM


@compiled
def score_votes(moved, starts, columns, machines, survived, joint, tie, scores, votes):
    """Let every version move the scores of every row, and vote.

    Parameters
    ----------
    moved : float64 of shape (rows, parts), by how much each part of a version moves a score
    starts : int64, version v has the parts from ``starts[v]`` up to ``starts[v + 1]``
    columns : int, which score each part moves
    machines : int, whose version it is
    survived : int64, how many rounds each version lasted: what its vote counts
    joint : whether all classes are one machine, which votes for a class; else for a sign
    tie : LOWEST, HIGHEST or RANDOM, for scores of zero and equal ones
    scores, votes : float64 of shape (rows, classes or machines), gone on with
    """
    for i in range(moved.shape[0]):
        for v in range(survived.size):
            for part in range(starts[v], starts[v + 1]):
                scores[i, columns[part]] += moved[i, part]
            _vote(machines[v], survived[v], joint, tie, scores[i], votes[i])


@compiled
def score_single_votes(
    X, features, amounts, columns, starts, machines, survived, joint, tie, scores, votes
):
    """The same of versions that change one weight of a score at most, straight from the rows.

    Parameters
    ----------
    X : float array of shape (rows, features)
    features, amounts, columns : of each change, whose versions start at ``starts``
    others : as of :func:`score_votes`
    """
    for i in range(X.shape[0]):
        for v in range(survived.size):
            for c in range(starts[v], starts[v + 1]):
                scores[i, columns[c]] += X[i, features[c]] * amounts[c]
            _vote(machines[v], survived[v], joint, tie, scores[i], votes[i])


@compiled
def first_votes(survived, joint, tie, scores, votes):
    """Let the weights that each machine began with vote; ``survived`` has one number a machine."""
    for i in range(scores.shape[0]):
        for machine in range(survived.size):
            _vote(machine, survived[machine], joint, tie, scores[i], votes[i])


@compiled
def _vote(machine, rounds, joint, tie, scores, votes):
    if joint:
        best = 0
        for k in range(1, scores.size):
            if scores[k] > scores[best] or (tie == HIGHEST and scores[k] == scores[best]):
                best = k
        votes[best] += rounds
    elif scores[machine] != 0.0:
        votes[machine] += np.sign(scores[machine]) * rounds
    elif tie != RANDOM:
        votes[machine] += rounds if tie == HIGHEST else -rounds
