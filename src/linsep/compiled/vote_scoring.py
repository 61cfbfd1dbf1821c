"""Let every weight version vote on each row's class."""

import numpy as np

from linsep.compiled.core.jit import compiled
from linsep.compiled.core.loop import HIGHEST, RANDOM


@compiled
def score_votes(moved, starts, columns, machines, survived, joint, tie, scores, votes):
    """Let every version change the scores of every row, and vote.

    Parameters
    ----------
    moved : float64 of shape (rows, parts), the change of the score by each part of a version
    starts : int64, version v has the parts from ``starts[v]`` up to ``starts[v + 1]``
    columns : int, the score that each part changes
    machines : int, the machine of each version
    survived : int64, the rounds that each version lasted: the weight of its vote
    joint : whether one machine votes for a class; else each votes for a sign
    tie : LOWEST, HIGHEST or RANDOM, for scores of zero and equal ones
    scores, votes : float64 of shape (rows, classes or machines), updated in place
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
    """Do the same for versions that change at most one weight of a score, from the rows.

    Parameters
    ----------
    X : float array of shape (rows, features)
    features, amounts, columns : of each change; versions start at ``starts``
    others : as for :func:`score_votes`
    """
    for i in range(X.shape[0]):
        for v in range(survived.size):
            for c in range(starts[v], starts[v + 1]):
                scores[i, columns[c]] += X[i, features[c]] * amounts[c]
            _vote(machines[v], survived[v], joint, tie, scores[i], votes[i])


@compiled
def first_votes(survived, joint, tie, scores, votes):
    """Let the initial weights of each machine vote; ``survived`` has one number per machine."""
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
