"""The weights for prediction, by definition from the weights of every step.

A round of a binary classifier is one of its examples, or a pass for a batch rule; its weights are
taken after the round. Weights between two updates are one version.

References: Y. Freund and R. Schapire, Large margin classification using the perceptron algorithm,
Machine Learning 37 (1999), for average and vote; S. Gallant, Perceptron-based learning algorithms,
IEEE Transactions on Neural Networks 1 (1990), for the pocket.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from math import inf
from typing import Any, NamedTuple

from linsep.teaching.textbook.machine import Machine, Number, Row, Rows, Rule, score
from linsep.teaching.textbook.running import Step, weight_of
from linsep.teaching.textbook.schemes import SCHEMES, Scheme, predict_binary, spares


class Version(NamedTuple):
    """A binary classifier whose weights lasted ``rounds`` rounds."""

    machine: Machine
    rounds: int


class Kept:
    """The weights that a learner uses for prediction.

    Attributes
    ----------
    weights, intercept
        In the same shape as in steps; with "vote" the last weights.
    versions : list of lists of Version
        The voters of each binary classifier: with "vote" all versions, otherwise one.
    """

    def __init__(
        self, scheme: Scheme, machines: list[Machine], versions: list[list[Version]] | None = None
    ):
        self._scheme, self._machines, self._votes = scheme, machines, versions is not None
        self.weights, self.intercept = scheme.weights(machines)
        self.versions = versions or [[Version(machine, 1)] for machine in machines]

    def scores(self, x: Row) -> Any:
        """Return the scores of a row, one per class or pair; with "vote" the shares of the votes.

        A version of a binary classifier votes -1 or +1, or 0 on a score of 0 with tie "random"; a
        version of the joint rule of native learning votes for one class.
        """
        if not self._votes:
            return self._scheme.scores(self._machines, x)
        if self._scheme.joint:
            return self._votes_of_classes(x)
        shares = []
        for versions in self.versions:
            votes = sum(v.rounds * self._vote(v.machine, x) for v in versions)
            shares.append(votes / sum(v.rounds for v in versions))
        return self._scheme.bare(shares)

    def predict(self, x: Row) -> int:
        """Return the class of a row."""
        return self._scheme.predict(self.scores(x))

    def _vote(self, machine: Machine, x: Row) -> int:
        s, tie = score(x, machine.weights, machine.intercept[0]), self._scheme.tie
        return 0 if s == 0 and tie == "random" else predict_binary(s, tie)

    def _votes_of_classes(self, x: Row) -> list:
        votes = [0] * self._scheme.n_classes
        for machine, rounds in self.versions[0]:
            votes[self._scheme.predict(self._scheme.scores([machine], x))] += rounds
        return [v / sum(votes) for v in votes]


def kept(
    steps: Iterable[Step],
    how: str,
    scheme: str,
    n_classes: int = 2,
    *,
    tie: str = "negative",
    X: Rows = (),
    y: Sequence[int] = (),
    row_weights: Sequence[Number] | None = None,
    zero: str = "mistake",
) -> Kept:
    """Return the weights for prediction after steps of :func:`linsep.textbook.run`.

    Parameters
    ----------
    steps : at least one
    how : "last"; "average": the mean over all rounds; "vote": every version votes with the rounds
        it survived; "best": among the longest-surviving version and the last weights of each pass,
        the ones with fewest mistakes on the rows; "longest": the version that survived most rounds,
        equal to "best" if rows are visited only once
    scheme, n_classes, tie : as for ``run``
    X, y, row_weights : for "best", the training rows, their classes and the weight of a mistake on
        each (default 1)
    zero : for "best", the meaning of a score of zero, as for :class:`linsep.textbook.Perceptron`
    """
    made = SCHEMES[scheme](n_classes, tie)
    listed = list(steps)
    # A rule that restarted discards its earlier steps.
    listed = [step for step in listed if step.attempt == listed[-1].attempt]
    last = machines_after(listed[-1], made)
    lives = [versions(rounds(listed, made, k)) for k in range(len(last))]
    if how == "last":
        return Kept(made, last)
    if how == "average":
        return Kept(made, [mean(rounds(listed, made, k), m) for k, m in enumerate(last)])
    if how == "vote":
        return Kept(made, last, [v or [Version(m, 1)] for v, m in zip(lives, last, strict=True)])
    if how == "longest":
        return Kept(made, [longest(v, m) for v, m in zip(lives, last, strict=True)])
    if how == "best":
        return Kept(made, pocket(listed, made, X, y, row_weights, zero))
    raise ValueError(f"how must be last, average, vote, best or longest, got {how!r}.")


def machines_after(step: Step, scheme: Scheme) -> list[Machine]:
    """Return the binary classifiers after a step."""
    return scheme.machines(step.weights, step.intercept)


def rounds(steps: Iterable[Step], scheme: Scheme, number: int) -> Iterator[tuple[Machine, bool]]:
    """Yield one binary classifier after each of its rounds, and whether the round changed it."""
    for _, group in groupby(steps, key=lambda step: step.round):
        parts = list(group)
        changed = any(number in step.updated for step in parts)
        if changed or any(number in step.seen for step in parts):
            yield machines_after(parts[-1], scheme)[number], changed


def versions(
    rounds: Iterable[tuple[Machine, bool]], before: Iterable[Version] = ()
) -> list[Version]:
    """Return the versions of one binary classifier in order, with the rounds that each survived.

    The round that created a version counts: a version replaced in the next round has survived one
    round. ``before`` are the versions of earlier rounds; the last of them may continue.
    """
    found = list(before)
    for machine, changed in rounds:
        if changed or not found:
            found.append(Version(machine, 1))
        else:
            found[-1] = Version(machine, found[-1].rounds + 1)
    return found


def mean(rounds: Iterable[tuple[Machine, bool]], otherwise: Machine) -> Machine:
    """Return the mean of the weights after every round."""
    every = [machine for machine, _ in rounds]
    return Rule().mixed(every[0], every, [1] * len(every)) if every else otherwise


def longest(versions: list[Version], otherwise: Machine) -> Machine:
    """Return the version that survived most rounds, the first in case of ties."""
    return max(versions, key=lambda v: v.rounds).machine if versions else otherwise


def pocket(
    steps: list[Step],
    scheme: Scheme,
    X: Rows,
    y: Sequence[int],
    row_weights: Sequence[Number] | None = None,
    zero: str = "mistake",
) -> list[Machine]:
    """Return the binary classifiers with the fewest mistakes, each counted on its own rows.

    At the end of every pass, two candidates are evaluated: the longest-surviving version of the
    pass, then the last. A candidate with fewer mistakes than the pocket replaces it.
    """
    counted = {row: weight_of(row, row_weights) for row in {step.row for step in steps}}
    best = machines_after(steps[-1], scheme)
    fewest: list[float] = [inf] * len(best)
    lives: list[list[Version]] = [[] for _ in best]
    for _, group in groupby(steps, key=lambda step: step.pass_number):
        parts = list(group)
        last, oldest = machines_after(parts[-1], scheme), []
        for k, life in enumerate(lives):
            running = max(0, len(life) - 1)
            life[:] = versions(rounds(parts, scheme, k), life)
            oldest.append(longest(life[running:], last[k]))
        for candidates in (oldest, last):
            counts = mistakes(candidates, scheme, X, y, counted, zero)
            for k, count in enumerate(counts):
                if count < fewest[k]:
                    best[k], fewest[k] = candidates[k], count
    return best


def mistakes(
    machines: list[Machine],
    scheme: Scheme,
    X: Rows,
    y: Sequence[int],
    counted: dict[int, Number],
    zero: str,
) -> list[Number]:
    """Return each binary classifier's weighted count of mistakes on its own rows."""
    counts = [0] * len(machines)
    for row, weight in counted.items():
        for example in scheme.show(machines, X[row], 1, y[row]):
            spared = example.score == 0 and spares(zero, example.y)
            counts[example.machine] += weight * (example.wrong and not spared)
    return counts
