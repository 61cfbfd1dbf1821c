"""What every learner is made of: an example, a machine that has weights, a rule that moves them.

Only sums, products and quotients are taken where a rule allows it, so a run on fractions is exact.
"""

from collections.abc import Sequence
from math import hypot
from typing import Any, NamedTuple

Number = Any
Row = Sequence[Number]
Rows = Sequence[Row]


class Example(NamedTuple):
    """What a machine is shown: the features ``x`` and its constant features ``ones``.

    For two classes, and for each machine of one-vs-rest and one-vs-one, that is a row and [1], or
    [0] without an intercept. The joint machine of native learning is shown a longer example with
    one part a class; see :class:`linsep.textbook.schemes.Native`.
    """

    x: Row
    ones: Row

    @property
    def z(self) -> list:
        """All of it: learning an intercept is learning the weight of one more feature."""
        return [*self.x, *self.ones]


class Machine:
    """One binary learner: its weights, those of the constant features (``intercept``), and the
    number of ``updates`` it has made, with the ``total`` of their importances and the ``heaviest``.
    ``waiting`` is for rules that put updates off.
    """

    def __init__(self, weights: Row, intercept: Row):
        self.weights, self.intercept = list(weights), list(intercept)
        self.updates = 0
        self.total: Number = 0
        self.heaviest: Number = 0
        self.waiting: list[tuple[Number, Example]] = []

    def add(self, example: Example, amount: Number) -> None:
        """Add ``amount`` times the example to the weights."""
        self.weights = moved(self.weights, example.x, amount)
        self.intercept = moved(self.intercept, example.ones, amount)

    @property
    def length(self) -> float:
        """||w||, the intercept counted as a weight."""
        return length([*self.weights, *self.intercept])


class Rule:
    """What a learner does with one example; a subclass is one algorithm and holds its numbers.

    A rule sees one machine and one example at a time, with the label y = -1 or +1 that this
    machine should give it, the score s it gave, and whether that was ``wrong``. It knows nothing of
    classes, orders or passes.
    """

    #: whether a pass makes one update, at its end
    batch = False
    #: whether the weights of the constant features are learnt
    learns_intercept = True

    def first(self, n_features: int, joint: bool) -> tuple[Number, Number]:
        """The weight of every feature and the intercept to start from.

        ``joint`` says that one machine learns all classes.
        """
        return 0, 0

    def check(self, row: int, x: Row, one: int) -> None:
        """Raise ValueError for a row this rule cannot learn; ``one`` is its constant feature."""

    def asks(self, machine: Machine, example: Example, y: int, s: Number, wrong: bool) -> bool:
        """Whether the example asks for an update: that is what counts as a mistake."""
        return wrong

    def update(
        self, machine: Machine, example: Example, y: int, s: Number, importance: Number
    ) -> bool:
        """Learn from an example that asked for it; returns whether the weights were changed."""
        raise NotImplementedError

    def end_pass(self, machine: Machine) -> bool:
        """All rows have been seen; returns whether the weights were changed."""
        return False

    def again(self, machines: list[Machine]) -> "Rule | None":
        """After a pass with mistakes: the rule to start anew with, from zero; None to go on."""
        return None


def score(x: Row, w: Row, b: Number) -> Number:
    """<w, x> + b."""
    return sum((p * q for p, q in zip(w, x, strict=True)), start=0) + b


def scores(x: Row, W: Rows, b: Row) -> list:
    """The scores of several weight vectors with their intercepts."""
    return [score(x, *machine) for machine in zip(W, b, strict=True)]


def moved(w: Row, x: Row, amount: Number) -> list:
    """Return w + amount * x."""
    return [p + amount * q for p, q in zip(w, x, strict=True)]


def square(x: Row) -> Number:
    """||x||^2."""
    return sum((v * v for v in x), start=0)


def length(x: Row) -> float:
    """||x||, also where its square is beyond floating point."""
    return hypot(*x)


def unit_rows(X: Rows) -> list[list]:
    """Every row scaled to length 1 (``normalize=True``); a row of zeros stays as it is."""
    return [[v / (length(x) or 1) for v in x] for x in X]
