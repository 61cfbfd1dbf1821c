"""The uncertainty of weights in plain Python: their variances and covariances."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linsep.teaching.textbook.logistic import solve
from linsep.teaching.textbook.machine import (
    Example,
    Machine,
    Number,
    Row,
    Rows,
    dot,
    joined,
    mean_machine,
    ratio,
    total,
)

#: how covariances of weights are kept
COVARIANCE_TYPES = ("diagonal", "diagonal-drop", "full")


def check_type(covariance_type: str) -> None:
    """Raise ValueError unless it is a covariance type."""
    if covariance_type not in COVARIANCE_TYPES:
        known = ", ".join(COVARIANCE_TYPES)
        raise ValueError(f"covariance_type must be one of {known}, got {covariance_type!r}.")


@dataclass(frozen=True)
class Covariance:
    """Sigma, the covariance of the weights of one binary classifier.

    Attributes
    ----------
    kind : "diagonal", "diagonal-drop" or "full"
        The representation of Sigma, and its update by an example z with noise of variance r.
        "full": the matrix, with Sigma^-1 += z z' / r. "diagonal": the variances s_j, with 1 / s_j
        += z_j^2 / r. "diagonal-drop": the variances after the full update of a diagonal matrix, s_j
        -= s_j^2 z_j^2 / (z'Sigma z + r); its covariances are dropped.
    blocks : tuple
        One for each part of an example, the variance of the constant feature last: a list of
        variances, or of rows of a matrix. Weights of different parts are not correlated.
    """

    kind: str
    blocks: tuple[Any, ...]

    @classmethod
    def first(cls, kind: str, example: Example) -> "Covariance":
        """Return the identity, for examples like this one."""
        n = len(example.parts[0])
        whole = [[int(i == j) for j in range(n)] for i in range(n)]
        return cls(kind, tuple(whole if kind == "full" else [1] * n for _ in example.ones))

    @property
    def variances(self) -> list[list]:
        """The variances of the weights of each part."""
        if self.kind != "full":
            return [list(block) for block in self.blocks]
        return [[row[j] for j, row in enumerate(block)] for block in self.blocks]

    def times(self, example: Example) -> Example:
        """Return Sigma z."""
        pairs = zip(self.blocks, example.parts, strict=True)
        return joined([self._times(block, part) for block, part in pairs])

    def _times(self, block: Any, part: Row) -> list:
        if self.kind == "full":
            return [dot(row, part) for row in block]
        return [s * z for s, z in zip(block, part, strict=True)]

    def after(self, example: Example, r: Number) -> "Covariance":
        """Return Sigma after an example with noise of variance r; each part has its own z'Sigma z.

        Parts of zeros are unchanged.
        """
        pairs = zip(self.blocks, example.parts, strict=True)
        return Covariance(
            self.kind, tuple(self._after(b, part, r) if any(part) else b for b, part in pairs)
        )

    def _after(self, block: Any, part: Row, r: Number) -> list:
        if self.kind == "diagonal":
            return [ratio(s * r, r + s * z * z) for s, z in zip(block, part, strict=True)]
        moved = self._times(block, part)
        total = dot(part, moved) + r
        if self.kind == "diagonal-drop":
            return [s - ratio(m * m, total) for s, m in zip(block, moved, strict=True)]
        return [
            [s - ratio(m * other, total) for s, other in zip(row, moved, strict=True)]
            for row, m in zip(block, moved, strict=True)
        ]


def mixed_gaussians(
    kind: str, before: Machine, shards: Sequence[Machine], amounts: Sequence[Number]
) -> Machine:
    """Mix the classifiers of shards whose memories are covariances: precisions, Sigma^-1, add up.

    With variances s_k of the shards, s_0 before, and p_k = 1 / s_k - 1 / s_0: 1 / s = 1 / s_0 + sum
    of p_k, and w is the mean of the w_k weighted by n_k p_k, the amounts times the growth in
    precision. For matrices see :func:`added_information`.
    """
    identity = Covariance.first(kind, Example(before.weights, before.intercept))
    own = [m.memory or before.memory or identity for m in shards]
    first = before.memory or identity
    if kind == "full":
        blocks = zip(first.blocks, *[sigma.blocks for sigma in own], strict=True)
        weights = zip(before.parts, *[m.parts for m in shards], strict=True)
        found = [
            added_information(*[(inverse(S), w) for S, w in zip(group, columns, strict=True)])
            for group, columns in zip(blocks, weights, strict=True)
        ]
        joint = joined([w for _, w in found])
        machine = Machine(joint.x, joint.ones)
        machine.memory = Covariance(kind, tuple(inverse(P) for P, _ in found))
        return machine
    known = [precisions(first), *map(precisions, own)]
    grown = [[q - p for p, q in zip(known[0], after, strict=True)] for after in known[1:]]
    counts = [[n * p for p in one] for n, one in zip(amounts, grown, strict=True)]
    machine = mean_machine(before, shards, counts)
    summed = [total(column) for column in zip(known[0], *grown, strict=True)]
    n = len(before.weights)
    spread = Example([ratio(1, p) for p in summed[:n]], [ratio(1, p) for p in summed[n:]])
    machine.memory = Covariance(kind, tuple(spread.parts))
    return machine


def precisions(sigma: Covariance) -> list:
    """Return 1 / s_j of all variances, the intercepts last."""
    return [ratio(1, s) for s in joined(sigma.blocks).z]


def added_information(
    before: tuple[Rows, Row], *shards: tuple[Rows, Row]
) -> tuple[list[list], list]:
    """Return P = P_0 + sum of (P_k - P_0), and w with P w = P_0 w_0 + sum of (P_k w_k - P_0 w_0).

    Pairs are precision matrices and weights: before the pass, and of each shard. This is the
    product of the normal distributions of the shards, each divided by the distribution before,
    times the distribution before.
    """
    n = len(before[1])
    P = [
        [q + total(own[i][j] - q for own, _ in shards) for j, q in enumerate(row)]
        for i, row in enumerate(before[0])
    ]
    begun = [dot(row, before[1]) for row in before[0]]
    h = [begun[i] + total(dot(own[i], w) - begun[i] for own, w in shards) for i in range(n)]
    return P, solve(P, h)


def inverse(A: Rows) -> list[list]:
    """Return the inverse of a symmetric matrix."""
    n = len(A)
    exact = [[ratio(p, 1) for p in row] for row in A]
    return [solve(exact, [int(i == j) for i in range(n)]) for j in range(n)]
