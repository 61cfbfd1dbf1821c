"""How sure a learner is of its weights, in plain Python: their variances and covariances."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linsep.teaching.textbook.machine import Example, Number, Row, joined, ratio

#: how covariances of weights are kept
COVARIANCE_TYPES = ("diagonal", "diagonal-drop", "full")


def check_type(covariance_type: str) -> None:
    """Raise ValueError unless it is a covariance type."""
    if covariance_type not in COVARIANCE_TYPES:
        known = ", ".join(COVARIANCE_TYPES)
        raise ValueError(f"covariance_type must be one of {known}, got {covariance_type!r}.")


@dataclass(frozen=True)
class Covariance:
    """Sigma, the covariance of the weights of one machine.

    Attributes
    ----------
    kind : "diagonal", "diagonal-drop" or "full"
        What is kept of Sigma, and what an example z with noise of variance r makes of it. "full":
        the matrix, with Sigma^-1 += z z' / r. "diagonal": the variances s_j, with
        1 / s_j += z_j^2 / r. "diagonal-drop": the variances that the full update of a diagonal
        matrix has, s_j -= s_j^2 z_j^2 / (z'Sigma z + r); its covariances are dropped.
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

        Parts of zeros stay as they are.
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


def dot(x: Sequence[Number], w: Sequence[Number]) -> Number:
    """Return <x, w>."""
    return sum((p * q for p, q in zip(x, w, strict=True)), start=0)
