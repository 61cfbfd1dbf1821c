"""The parts of every learner: an example, a binary classifier with weights, and an update rule.

If a rule allows it, only sums, products and quotients are used, so a run on fractions is exact.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import reduce
from math import hypot
from numbers import Rational
from operator import add
from typing import Any, NamedTuple

Number = Any
Row = Sequence[Number]
Rows = Sequence[Row]


class Example(NamedTuple):
    """An example for one binary classifier, or a direction to move its weights in.

    For two classes, and for each binary classifier of one-vs-rest and one-vs-one, the features and
    constant features are a row and [1], or [0] without an intercept. The joint rule of native
    learning gets a longer example with one part per class; see
    :class:`linsep.teaching.textbook.schemes.Native`.

    Attributes
    ----------
    x, ones : the features and the constant features
    y : the target label, -1 or +1
    score : before the update
    wrong : whether the class predicted from the score is wrong
    importance : the weight of the row
    machine : the number of the binary classifier
    """

    x: Row
    ones: Row
    y: int = 1
    score: Number = 0
    wrong: bool = False
    importance: Number = 1
    machine: int = 0

    @property
    def z(self) -> list:
        """The whole example: an intercept is the weight of an additional feature."""
        return [*self.x, *self.ones]

    @property
    def parts(self) -> list[list]:
        """The example by constant features: one part, or one per class in native learning."""
        d = len(self.x) // len(self.ones)
        return [[*self.x[k * d : (k + 1) * d], one] for k, one in enumerate(self.ones)]


def joined(parts: Sequence[Row]) -> tuple[list, list]:
    """Return the features and the constant features of these parts."""
    return [v for part in parts for v in part[:-1]], [part[-1] for part in parts]


class Machine:
    """One binary classifier: its weights, the weights of the constant features (``intercept``), its
    number of ``updates``, with the ``total`` and the maximum (``heaviest``) of their importances,
    the sum of ``waiting`` examples of rules that defer updates, and the ``memory`` of rules that
    store more than weights (initially None). A memory is replaced, never changed in place.
    """

    def __init__(self, weights: Row, intercept: Row):
        self.weights, self.intercept = list(weights), list(intercept)
        self.updates = 0
        self.total: Number = 0
        self.heaviest: Number = 0
        self.waiting: Machine | None = None
        self.memory: Any = None

    def add(self, example: Example, amount: Number) -> None:
        """Add ``amount`` times the example to the weights."""
        self.weights = moved(self.weights, example.x, amount)
        self.intercept = moved(self.intercept, example.ones, amount)

    @property
    def z(self) -> list:
        """All weights, with the constant features last."""
        return [*self.weights, *self.intercept]

    @property
    def parts(self) -> list[list]:
        """The weights by constant features, like :attr:`Example.parts`."""
        return Example(self.weights, self.intercept).parts

    @property
    def length(self) -> float:
        """Return ||w||, with the intercept as a weight."""
        return length(self.z)


class Rule:
    """The update of a learner on one example; a subclass is one algorithm with its parameters.

    A rule gets one binary classifier and one example at a time. It does not depend on classes,
    orders or passes.
    """

    #: whether a pass makes one update, at its end
    batch = False
    #: whether the weights of the constant features are learned
    learns_intercept = True
    #: whether an example that asks for an update is a mistake even if its score has the right sign
    margin_mistakes = True
    #: the scheme that shows the rule a row of several classes in native learning; None: it has none
    native: str | None = "native"

    def first(self, n_features: int, joint: bool) -> tuple[Number, Number]:
        """Return the initial weight of every feature and the initial intercept.

        ``joint``: one rule for all classes; ValueError if the rule supports only two classes.
        """
        if joint and self.native is None:
            raise ValueError(
                f"{type(self).__name__} has no joint rule for several classes: choose ovr or ovo."
            )
        return 0, 0

    def prepare(self, machine: Machine, x: Row, one: int) -> bool:
        """Prepare a binary classifier for a row, after the row's class was predicted; return
        whether its scores may have changed.
        """
        return False

    def check(self, row: int, x: Row, one: int) -> None:
        """Raise ValueError if the rule cannot use a row; ``one`` is its constant feature."""

    def asks(self, machine: Machine, example: Example) -> bool:
        """Return whether the example needs an update; it is a mistake if it is wrong or the rule
        counts ``margin_mistakes``.
        """
        return example.wrong

    def margin(self, machine: Machine, example: Example) -> tuple | None:
        """Return what is tested, and its least value without an update; None if it is y s."""
        return None

    def update(self, machine: Machine, example: Example) -> bool:
        """Update on an example that needs it; return whether the weights were changed."""
        raise NotImplementedError

    def end_pass(self, machine: Machine) -> bool:
        """Finish a pass; return whether the weights were changed, after counting the update."""
        return False

    def again(self, machines: list[Machine]) -> "Rule | None":
        """Return, after a pass with mistakes, the rule to restart with from zero, or None."""
        return None

    def mixed(
        self, before: Machine, shards: Sequence[Machine], amounts: Sequence[Number]
    ) -> Machine:
        """Mix the binary classifiers that shards made of ``before``, weighted by ``amounts``."""
        return mean_machine(before, shards, [[n] * len(before.z) for n in amounts])


def mean_machine(before: Machine, shards: Sequence[Machine], counts: Rows) -> Machine:
    """Return a binary classifier with the mean weights of the shards; ``counts`` holds the share of
    each shard in each weight, intercepts last. Weights without shares stay as ``before``.
    """
    each = zip(before.z, zip(*counts, strict=True), zip(*[m.z for m in shards], strict=True),
               strict=True)  # fmt: skip
    found = [dot(n, own) / total(n) if any(n) else first for first, n, own in each]
    n = len(before.weights)
    return Machine(found[:n], found[n:])


def score(x: Row, w: Row, b: Number) -> Number:
    """Return <w, x> + b."""
    return dot(x, w) + b


def scores(x: Row, W: Rows, b: Row) -> list:
    """Return the scores of several weight vectors with their intercepts."""
    return [score(x, *machine) for machine in zip(W, b, strict=True)]


def moved(w: Row, x: Row, amount: Number) -> list:
    """Return w + amount * x."""
    return [p + amount * q for p, q in zip(w, x, strict=True)]


def dot(x: Row, w: Row) -> Number:
    """Return <x, w>."""
    return total(p * q for p, q in zip(x, w, strict=True))


def total(values: Iterable[Number]) -> Number:
    """Return the sum from left to right; sum() rounds differently since Python 3.12."""
    return reduce(add, values, 0)


def ratio(a: Number, b: Number) -> Number:
    """Return a / b, exact for integers and fractions."""
    return Fraction(a) / b if isinstance(a, Rational) else a / b


def square(x: Row) -> Number:
    """||x||^2."""
    return total(v * v for v in x)


def length(x: Row) -> float:
    """Return ||x|| without overflow."""
    return hypot(*x)


def unit_rows(X: Rows) -> list[list]:
    """Return rows scaled to length 1, as ``normalize=True`` does; zero rows stay zero.

    Examples
    --------
    >>> from linsep.teaching.textbook import unit_rows
    >>> unit_rows([[3.0, 4.0], [0.0, 0.0]])
    [[0.6, 0.8], [0.0, 0.0]]
    """
    return [[v / (length(x) or 1) for v in x] for x in X]
