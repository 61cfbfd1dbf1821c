"""Prediction from scores, for two classes, native, ovr and ovo."""

from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep.estimators._common.labels import pairs
from linsep.learners.state import State

#: function from row numbers to a 64-bit number each
Draws = Callable[[np.ndarray], np.ndarray]

# Constants of SplitMix64: shift and multiply, twice; then shift.
SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))
FACTORS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


def mixed(numbers: np.ndarray) -> np.ndarray:
    """Return uint64 hashes, every bit of which depends on all bits of the input."""
    for shift, factor in zip(SHIFTS, FACTORS, strict=False):
        numbers = (numbers ^ (numbers >> shift)) * factor
    return numbers ^ (numbers >> SHIFTS[-1])


def numbered(X: Any, n_features: int) -> np.ndarray:
    """Hash the first ``n_features`` values of each row; uint64 of shape (rows,)."""
    if sp.issparse(X):
        X = X[:, :n_features].tocsr()
        X.sum_duplicates()
        values, columns, starts = X.data, X.indices, X.indptr
    else:
        X = X[:, :n_features]
        rows, columns = np.nonzero(X)
        values, starts = X[rows, columns], np.searchsorted(rows, np.arange(X.shape[0] + 1))
    values = values.astype(np.float64)
    hashes = mixed(values.view(np.uint64) ^ mixed(columns.astype(np.uint64) + np.uint64(1)))
    hashes[values == 0] = 0  # stored zeros do not matter
    sums = np.append(np.uint64(0), np.cumsum(hashes, dtype=np.uint64))
    return sums[starts[1:]] - sums[starts[:-1]]


def numbered_texts(texts: Iterable[str | bytes]) -> np.ndarray:
    """Hash texts; uint64 of shape (rows,)."""
    plain = (t.encode("utf-8", "surrogatepass") if isinstance(t, str) else t for t in texts)
    digests = b"".join(blake2b(text, digest_size=8).digest() for text in plain)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def seeded(numbers: Callable[[np.ndarray], np.ndarray], seed: int) -> Draws:
    """Return the random draws of rows from their hashes by ``numbers`` and a seed."""
    salt = mixed(np.array([seed], dtype=np.uint64))
    return lambda rows: mixed(numbers(rows) ^ salt)


# Win of the larger class in a one-vs-one match with score zero, and the range of scaled sums of
# scores, smaller than the least difference in wins.
ZERO_MATCH = {"negative": (0.0, 3), "positive": (1.0, 3), "random": (0.5, 6)}


def decision(state: State, scores: np.ndarray, tie: str) -> np.ndarray:
    """Return the decision values: scores, or for one-vs-one matches won.

    One-vs-one counts the matches that a class wins; a score of zero is a win of the class given by
    ``tie``, or half a win for each with "random". The summed scores, scaled into (-1/3, 1/3), or
    (-1/6, 1/6) with half wins, are added to break ties. If sums are too large to differ when
    scaled, the class with the highest is raised above the others by the last bit.
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
    """Return the code of the winning class of each row.

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
