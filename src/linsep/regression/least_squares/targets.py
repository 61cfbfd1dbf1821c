"""What is counted of the rows beside their products: weights, and the values of y."""

from typing import NamedTuple

import numpy as np

from linsep.regression.blocks import Block, no_weight


class Targets(NamedTuple):
    """Counts of some rows.

    Attributes
    ----------
    rows : int
    weight, log_weights : float, sums of the weights and of their logarithms
    mean, spread : float, of y: its weighted mean, and the sum of squares around it
    low, high : float, the smallest and the largest y
    two : bool, whether every y is one of these
    """

    rows: int
    weight: float
    log_weights: float
    mean: float
    spread: float
    low: float
    high: float
    two: bool

    @classmethod
    def of(cls, block: Block) -> "Targets":
        """Count the rows of a block; DataError if all were of weight 0."""
        if not block.y.size:
            raise no_weight()
        y, weights = block.y.astype(np.float64, copy=False), block.weights
        low, high = float(y.min()), float(y.max())
        total, logs = float(y.size), 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            about = y - low
            if weights is None:
                mean = float(about.mean())
                about -= mean
                spread = float(about @ about)
            else:
                total, logs = float(weights.sum()), float(np.log(weights).sum())
                mean = float(weights @ about) / total
                spread = float(weights @ (about - mean) ** 2)
        some = y[:64]  # usually show a third value
        two = bool(((some == low) | (some == high)).all() and ((y == low) | (y == high)).all())
        return cls(y.size, total, logs, low + mean, spread, low, high, two)

    def and_more(self, more: "Targets") -> "Targets":
        """Return the counts of both; means are merged by their difference, for accuracy."""
        weight = self.weight + more.weight
        shift, share = more.mean - self.mean, more.weight / weight
        values = {self.low, self.high, more.low, more.high}
        return Targets(
            self.rows + more.rows, weight, self.log_weights + more.log_weights,
            self.mean + share * shift, self.spread + more.spread + self.weight * share * shift**2,
            min(values), max(values), self.two and more.two and len(values) < 3,
        )  # fmt: skip

    @property
    def deviation(self) -> float:
        """The standard deviation of y, which is the RMS error of predicting its mean."""
        return float(np.sqrt(self.spread / self.weight))

    @property
    def both(self) -> tuple[float, float] | None:
        """The two values of y, if it has no others, else None."""
        return (self.low, self.high) if self.two and self.low < self.high else None
