"""From scores to classes: the rules of prediction for two classes, native, ovr and ovo."""

import numpy as np

from linsep.engine.state import State, pairs
from linsep.engine.ties import Draws

# What a match of one-vs-one at score zero is to its larger class, and into how small a part of the
# least difference in wins summed scores are squeezed.
ZERO_MATCH = {"negative": (0.0, 3), "positive": (1.0, 3), "random": (0.5, 6)}


def decision(state: State, scores: np.ndarray, tie: str) -> np.ndarray:
    """What decision_function returns: scores as they are, or matches won for one-vs-one.

    One-vs-one counts the matches a class wins, a score of zero being a win of the class that
    ``tie`` says, or half a win for each where a draw would decide. It adds the summed scores
    squeezed into (-1/3, 1/3), with half wins (-1/6, 1/6), so that they decide nothing but ties.
    Sums too large to differ when squeezed still decide: the class with the highest is kept above
    the others by the last bit.
    """
    if state.n_classes == 2 or state.multiclass != "ovo":
        return scores
    at_zero, part = ZERO_MATCH[tie]
    won = np.where(scores == 0, at_zero, scores > 0)
    wins = np.zeros((scores.shape[0], state.n_classes))
    sums = np.zeros_like(wins)
    for machine, (a, b) in enumerate(pairs(state.n_classes)):
        score = scores[:, machine]
        wins[:, b] += won[:, machine]
        wins[:, a] += 1 - won[:, machine]
        sums[:, b] += score
        sums[:, a] -= score
    values = wins + sums / (part * (np.abs(sums) + 1))
    most = wins == wins.max(axis=1, keepdims=True)
    winner = most & (sums == np.where(most, sums, -np.inf).max(axis=1, keepdims=True))
    top = np.where(winner, values, -np.inf).max(axis=1, keepdims=True)
    return np.where(winner, values, np.minimum(values, np.nextafter(top, -np.inf)))


def predicted(scores: np.ndarray, tie: str, draws: Draws | None = None) -> np.ndarray:
    """The code of the winning class of each row.

    Equal scores go to the smaller class ("negative"), the larger ("positive"), or by the ``draws``
    of the rows ("random").
    """
    if scores.ndim == 1:
        scores = np.column_stack([np.zeros_like(scores), scores])
    if tie == "negative":
        return scores.argmax(axis=1)
    if tie == "positive":
        return scores.shape[1] - 1 - scores[:, ::-1].argmax(axis=1)
    codes, best = scores.argmax(axis=1), scores == scores.max(axis=1, keepdims=True)
    tied = np.flatnonzero(best.sum(axis=1) > 1)
    if tied.size and draws is not None:
        equals = best[tied]
        chosen = draws(tied) % equals.sum(axis=1).astype(np.uint64)
        codes[tied] = (equals.cumsum(axis=1) > chosen[:, None]).argmax(axis=1)
    return codes
