"""Iterative parameter mixing: shards learn one pass each from the same weights, which are mixed.

R. McDonald, K. Hall and G. Mann, Distributed training strategies for the structured perceptron,
NAACL 2010, Figure 3. Which process learns a shard, and when, changes nothing: what the shards
learnt is summed in a fixed tree over their order.
"""

from functools import reduce
from typing import Any, Literal, NamedTuple

import numpy as np

from linsep.checkpoints.saving import Saving
from linsep.learners.course import Course
from linsep.learners.keeping import KeepAverage
from linsep.learners.passes import Plan, Progress, Run, one_pass
from linsep.rows.arrays import ArrayStream

#: how the weights of shards are mixed
MixingName = Literal["uniform", "mistakes"]


class Mixed(NamedTuple):
    """Weights that every shard starts a pass with.

    Attributes
    ----------
    W : array of the shape of :attr:`linsep.learners.state.State.W`
    average : array of that shape, or None
        The mean over the passes before of the mixed averages; for ``keep="average"``.
    """

    W: np.ndarray
    average: np.ndarray | None


class Counts(NamedTuple):
    """What happened in one pass over a shard. ``amount`` is its share in the mixture, not yet
    divided by the sum of all: 1 or the number of mistakes, 0 without rows. ``zeros`` is 1 if scores
    of zero were left and right.
    """

    rows: int
    mistakes: int
    updates: int
    errors: int
    amount: int
    zeros: int


class Part(NamedTuple):
    """What some shards learnt in a pass: sums of their weights times their amounts.

    Attributes
    ----------
    W, average : arrays of the shape of the weights; average None unless it is kept
    rounds : array, the examples that each machine has seen
    counts : list of Counts, one for each shard, in order
    """

    W: np.ndarray
    average: np.ndarray | None
    rounds: np.ndarray
    counts: list[Counts]


def learn_part(
    run: Run, start: Mixed, stream: ArrayStream | None, plan: Plan, number: int, mixing: str
) -> Part:
    """Learn the rows of a shard once, from the mixed weights.

    Parameters
    ----------
    run : Run
        Its state has never been used.
    stream : ArrayStream or None
        The rows; None if there is none of positive weight.
    number : int, number of the pass, from 0
    mixing : "uniform" or "mistakes"
    """
    state, progress = run.state, Progress()
    state.W[:] = start.W
    if stream is not None:
        one_pass(run, stream, plan, progress, Course(0, number=number), Saving())
        state.n_updates = progress.updates
    mistakes, updates, errors = (int(n) for n in progress.tally)
    amount = mistakes if mixing == "mistakes" else int(stream is not None)
    average = None
    if isinstance(run.keeping, KeepAverage):
        average = amount * run.keeping.weights(state)
    zeros = int(run.learner.leaves_zeros(state))
    counts = Counts(progress.rows, mistakes, updates, errors, amount, zeros)
    return Part(amount * state.W, average, state.machine_rounds().copy(), [counts])


def added(parts: list[Part]) -> Part:
    """Return the sum of parts, from the first to the last."""

    def add(a: Part, b: Part) -> Part:
        average = None if a.average is None or b.average is None else a.average + b.average
        return Part(a.W + b.W, average, a.rounds + b.rounds, a.counts + b.counts)

    return reduce(add, parts)


def mix(before: Mixed, total: Part, number: int) -> Mixed:
    """Return the mixed weights after pass ``number`` (from 0); a pass without a mistake changes no
    weights.
    """
    amounts = sum(counts.amount for counts in total.counts)
    average: np.ndarray | None
    if not sum(counts.mistakes for counts in total.counts):
        W, average = before.W, before.W
    else:
        W = total.W / amounts
        average = None if total.average is None else total.average / amounts
    if before.average is None or average is None:
        return Mixed(W, None)
    return Mixed(W, (number * before.average + average) / (number + 1))


class Mixture(NamedTuple):
    """Counts of a fit by parameter mixing, of every pass (rows) and shard (columns).

    Attributes
    ----------
    mistakes : int array of shape (passes, shards)
    amounts : int array of that shape
        Relative shares of the shards in the mixed weights.
    rows : tuple of int, rows in each shard
    mixing : "uniform" or "mistakes"
    """

    mistakes: np.ndarray
    amounts: np.ndarray
    rows: tuple[int, ...]
    mixing: str

    @property
    def shares(self) -> np.ndarray:
        """Return the mixture coefficients; by mistakes they are 0 in a clean pass, which mixes
        nothing.
        """
        totals = self.amounts.sum(axis=1, keepdims=True)
        return self.amounts / np.maximum(totals, 1)

    @property
    def weighted_mistakes(self) -> float:
        """The mistakes, each times the share of its shard: what theorem 3 of the paper bounds by
        (R / gamma)^2 on separable rows.
        """
        return float((self.shares * self.mistakes).sum())

    @property
    def learning_shards(self) -> int:
        """Number of shards with rows; all mistakes are at most so many times (R / gamma)^2."""
        return sum(1 for rows in self.rows if rows)

    def and_pass(self, counts: list[Counts]) -> "Mixture":
        """Return the mixture with one more pass."""
        more = np.array([[c.mistakes for c in counts]]), np.array([[c.amount for c in counts]])
        return Mixture(
            np.concatenate([self.mistakes, more[0]]), np.concatenate([self.amounts, more[1]]),
            tuple(c.rows for c in counts), self.mixing,
        )  # fmt: skip


def no_passes(n_shards: int, mixing: str) -> Mixture:
    """Return the mixture before the first pass."""
    none: Any = np.zeros((0, n_shards), dtype=np.int64)
    return Mixture(none, none, (0,) * n_shards, mixing)
