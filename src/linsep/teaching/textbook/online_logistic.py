"""Online logistic regression in plain Python: AdaGrad, normalized, with importance-aware steps.

References: J. Duchi, E. Hazan and Y. Singer, Adaptive subgradient methods for online learning and
stochastic optimization, JMLR 12 (2011), theorem 5; S. Ross, P. Mineiro and J. Langford, Normalized
online learning, UAI (2013), algorithms 1 (NG) and 2 (NAG); N. Karampatziakis and J. Langford,
Online importance weight aware updates, UAI (2011), table 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, expm1, log, log1p, sqrt
from typing import NamedTuple

from linsep.teaching.textbook.machine import (
    Example,
    Machine,
    Number,
    Row,
    Rule,
    dot,
    joined,
    mean_machine,
    square,
)


class Progress(NamedTuple):
    """The state of the rates; the constant feature is the last.

    Attributes
    ----------
    scales : list, s_j, the largest absolute value of each feature
    squares : list of lists, G_j of each part: the sum of the squares of its gradients
    seen : t, the number of examples
    length : N, the sum of x_j^2 / s_j^2 over examples and features
    """

    scales: list
    squares: list[list]
    seen: Number
    length: Number


@dataclass(frozen=True)
class OnlineLogistic(Rule):
    """One step on the logistic loss ln(1 + exp(-m)), m = y s, for every row.

    For a row x (with the constant feature), in this order:

    1. The class is predicted. Where \\|x_j\\| is above the scale s_j, w_j is multiplied by s_j /
       \\|x_j\\| (its square without ``adaptive``), and s_j becomes \\|x_j\\|. (Vowpal Wabbit takes
       the gradient before that.)
    2. The gradient g_j = -y x_j / (1 + exp(m)) is taken at these weights. G_j += g_j^2, t += 1 and
       N += sum of x_j^2 / s_j^2.
    3. The rates are r_j = eta sqrt(t / N) / (s_j sqrt(G_j)); without ``normalized``
       eta / sqrt(G_j); without ``adaptive`` eta (t / N) / s_j^2; without both, eta. A feature with
       G_j = 0 makes no step.
    4. w_j -= r_j g_j; with ``invariant`` the step is the limit of infinitely many small steps along
       the row, w_j += y (d / q) r_j x_j with q = sum of r_j x_j^2 and d + e^m (e^d - 1) = q. The
       margin m grows by d, so no step overshoots.
    5. With ``l2``, w_j is divided by 1 + l2 r_j: the proximal step of l2 w_j^2 / 2, for the
       features of the row without the constant one.

    A row of weight h is equivalent to h rows for G, t, N, the step and ``l2``; with ``invariant``
    and fixed rates, two steps of h equal one step of 2 h. Native learning is the softmax; its step
    is taken along the gradient at the row's scores, see
    :class:`linsep.teaching.textbook.schemes.Softmax`. Only rows that are predicted wrong are
    mistakes. Initial weights are not scaled by the first row.

    Parameters
    ----------
    learning_rate : eta, above 0
    adaptive : whether each weight has the rate of AdaGrad
    normalized : whether rates do not depend on the units of features
    invariant : whether a step is the limit of many small ones
    l2 : penalty of a row on the squared weights of its features, at least 0
    """

    learning_rate: Number = 0.5
    adaptive: bool = True
    normalized: bool = True
    invariant: bool = True
    l2: Number = 0
    margin_mistakes = False
    native = "softmax"

    def __post_init__(self) -> None:
        if not self.learning_rate > 0:
            raise ValueError(f"learning_rate must be above 0, got {self.learning_rate!r}.")
        if not self.l2 >= 0:
            raise ValueError(f"l2 must be at least 0, got {self.l2!r}.")

    def prepare(self, machine: Machine, x: Row, one: int) -> bool:
        """Increase scales, and divide the weights of their features; return whether any scale
        changed.
        """
        if not self.normalized:
            return False
        progress = machine.memory or start(machine.parts)
        scales = [max(s, abs(v)) for s, v in zip(progress.scales, [*x, one], strict=True)]
        grown = self.rescaled(machine, progress.scales, scales)
        machine.weights, machine.intercept = grown.weights, grown.intercept
        machine.memory = progress._replace(scales=scales)
        return scales != progress.scales

    def mixed(
        self, before: Machine, shards: Sequence[Machine], amounts: Sequence[Number]
    ) -> Machine:
        """Return the means, for each feature over the shards that have seen it; scales are the
        largest.

        Weights are divided by the growth of scales, as in training, before their mean is taken.
        """
        first = before.memory or start(before.parts)
        own = [m.memory or first for m in shards]
        scales = [max(column) for column in zip(*[p.scales for p in own], strict=True)]
        squares = [Machine(*joined(p.squares)) for p in own]
        counts = [[n * bool(G) for G in m.z] for n, m in zip(amounts, squares, strict=True)]
        grown = [self.rescaled(m, p.scales, scales) for m, p in zip(shards, own, strict=True)]
        machine = mean_machine(before, grown, counts)
        mean = mean_machine(Machine(*joined(first.squares)), squares, counts)
        machine.memory = Progress(
            scales, mean.parts,
            sum(n * p.seen for n, p in zip(amounts, own, strict=True)) / sum(amounts),
            sum(n * p.length for n, p in zip(amounts, own, strict=True)) / sum(amounts),
        )  # fmt: skip
        return machine

    def rescaled(self, machine: Machine, before: Row, after: Row) -> Machine:
        """Return a binary classifier with increased scales."""
        power = (1 if self.adaptive else 2) if self.normalized else 0
        shrunk = [(s / t) ** power if s else 1.0 for s, t in zip(before, after, strict=True)]
        return Machine(*joined([times(part, shrunk) for part in machine.parts]))

    def asks(self, machine: Machine, example: Example) -> bool:
        return True

    def update(self, machine: Machine, example: Example) -> bool:
        """W_j += y move r_j z_j, with the rates after this example; then W_j /= 1 + l2 r_j."""
        parts, m, importance = example.parts, example.y * example.score, example.importance
        progress = self.counted(machine.memory or start(parts), parts, share(m), importance)
        rates, of_ones = joined(
            [self.rates(progress, *p) for p in zip(progress.squares, parts, strict=True)]
        )
        steps = Example(times(rates, example.x), times(of_ones, example.ones))
        q = dot(steps.z, example.z)
        machine.memory = progress
        if q == 0:
            return False
        move = invariant_step(m, importance * q) / q if self.invariant else importance * share(m)
        machine.add(steps, example.y * move)
        if self.l2:
            h = self.l2 * importance
            shrunk = zip(machine.weights, rates, strict=True)
            machine.weights = [w / (1 + h * rate) for w, rate in shrunk]
        return True

    def counted(
        self, progress: Progress, parts: list[list], share: float, importance: Number
    ) -> Progress:
        """Return the progress after an example with the gradient -y share z."""
        row = [max(abs(v) for v in column) for column in zip(*parts, strict=True)]
        scaled = [v / s for v, s in zip(row, progress.scales, strict=True) if s]
        squares = [
            [G + importance * (share * v) ** 2 for G, v in zip(own, part, strict=True)]
            for own, part in zip(progress.squares, parts, strict=True)
        ]
        length = progress.length + importance * square(scaled)
        return Progress(progress.scales, squares, progress.seen + importance, length)

    def rates(self, progress: Progress, squares: list, part: list) -> list[float]:
        """Return the rates of the features of one part, 0 where no step is made."""
        features = zip(part, squares, progress.scales, strict=True)
        return [self.rate(progress, G, s) if v else 0.0 for v, G, s in features]

    def rate(self, progress: Progress, G: Number, scale: Number) -> float:
        """Return r_j of a feature with the sum of squares G_j and the scale s_j."""
        if self.adaptive and G == 0:
            return 0.0
        rate = self.learning_rate / sqrt(G) if self.adaptive else self.learning_rate
        if self.normalized:
            mean = progress.seen / progress.length
            rate *= sqrt(mean) / scale if self.adaptive else mean / scale**2
        return rate


def start(parts: list[list]) -> Progress:
    """Return the progress before the first example."""
    zeros = [0.0] * len(parts[0])
    return Progress(zeros, [zeros for _ in parts], 0, 0.0)


def times(x: Row, w: Row) -> list:
    """Return the products of the entries of two rows."""
    return [p * q for p, q in zip(x, w, strict=True)]


def share(m: Number) -> float:
    """Return 1 / (1 + exp(m)), the probability of the wrong side."""
    return 1 / (1 + exp(m)) if m < 0 else exp(-m) / (1 + exp(-m))


def invariant_step(m: Number, q: Number) -> float:
    """Return d > 0 with d + e^m (e^d - 1) = q: how far steps of size q in all move a margin m.

    By Newton's method from above: the closed form with Lambert's W cancels and overflows.
    """
    # Both sides times e^-m for a positive m, so that nothing overflows.
    a, b = (exp(-m), 1.0) if m > 0 else (1.0, exp(m))
    d = min(q, log1p(q * exp(-m)) if m > 0 else log(exp(m) + q) - m)
    for _ in range(100):
        grown = b * expm1(d) if d < 1 else exp(d + min(m, 0)) - b
        slope = a + b + grown
        closer = d - (a * (d - q) + grown) / slope
        if abs(closer - d) <= 1e-16 * d:
            return closer
        d = closer
    return d
