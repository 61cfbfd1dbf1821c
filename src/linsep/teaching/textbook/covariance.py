"""The uncertainty of weights in plain Python: their variances."""

from collections.abc import Sequence
from dataclasses import dataclass

from linsep.teaching.textbook.machine import (
    Example,
    Machine,
    Number,
    Rule,
    joined,
    mean_machine,
    ratio,
    total,
)


@dataclass(frozen=True)
class Covariance:
    """Sigma, the covariance of the weights of one binary classifier: diagonal.

    Attributes
    ----------
    variances : tuple of lists
        One for each part of an example, the variance of the constant feature last.
    """

    variances: tuple[list, ...]

    @classmethod
    def first(cls, example: Example) -> "Covariance":
        """Return the identity, for examples like this one."""
        return cls(tuple([1] * len(part) for part in example.parts))

    def times(self, example: Example) -> Example:
        """Return Sigma z."""
        pairs = zip(self.variances, example.parts, strict=True)
        return Example(*joined([[s * z for s, z in zip(*pair, strict=True)] for pair in pairs]))

    def after(self, example: Example, r: Number) -> "Covariance":
        """Return Sigma after an example with noise of variance r: 1 / s_j += z_j^2 / r."""
        pairs = zip(self.variances, example.parts, strict=True)
        return Covariance(
            tuple(
                [ratio(s * r, r + s * z * z) for s, z in zip(*pair, strict=True)] for pair in pairs
            )
        )


class Gaussian(Rule):
    """A rule whose weights have a covariance, its memory: only wrong examples are mistakes."""

    margin_mistakes = False

    def mixed(
        self, before: Machine, shards: Sequence[Machine], amounts: Sequence[Number]
    ) -> Machine:
        """Add precisions, 1 / s_j.

        With variances s_k of the shards, s_0 before, and p_k = 1 / s_k - 1 / s_0: 1 / s = 1 / s_0 +
        sum of p_k, and w is the mean of the w_k weighted by n_k p_k, the amounts times the growth
        in precision.
        """
        first = before.memory or Covariance.first(Example(before.weights, before.intercept))
        known = [precisions(first), *(precisions(m.memory or first) for m in shards)]
        grown = [[q - p for p, q in zip(known[0], after, strict=True)] for after in known[1:]]
        counts = [[n * p for p in one] for n, one in zip(amounts, grown, strict=True)]
        machine = mean_machine(before, shards, counts)
        summed = [total(column) for column in zip(known[0], *grown, strict=True)]
        n = len(before.weights)
        spread = Example([ratio(1, p) for p in summed[:n]], [ratio(1, p) for p in summed[n:]])
        machine.memory = Covariance(tuple(spread.parts))
        return machine


def precisions(sigma: Covariance) -> list:
    """Return 1 / s_j of all variances, the intercepts last."""
    return [ratio(1, s) for s in Example(*joined(sigma.variances)).z]
