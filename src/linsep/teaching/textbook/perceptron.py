"""The perceptron in plain Python: in ten lines, and as a rule with parameters.

References: F. Rosenblatt, The perceptron, Psychological Review 65 (1958); for the batch rule
R. Duda and P. Hart, Pattern Classification and Scene Analysis (1973).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from linsep.parameters import rate_of
from linsep.teaching.textbook.machine import Example, Machine, Number, Row, Rows, Rule, dot
from linsep.teaching.textbook.running import Step, run
from linsep.teaching.textbook.schemes import ZEROS, spares


def plain_perceptron(X: Rows, y: Sequence[int], w: Row, max_iter: int = 1000) -> Iterator[Row]:
    """Yield the weights after every row, until a pass makes no mistake: the whole algorithm.

    Labels are -1 and +1; an intercept is the weight of a feature that is always 1. The same with
    learning rates, row weights, several classes and more is :class:`Perceptron`, run by
    :func:`linsep.textbook.run`.

    Examples
    --------
    >>> from linsep.teaching.textbook import plain_perceptron
    >>> X, y = [(4, 0), (1, 1), (0, 1), (-2, -2)], [1, -1, -1, 1]
    >>> list(plain_perceptron(X, y, [0, 0], max_iter=1))
    [[4, 0], [3, -1], [3, -1], [1, -3]]
    """
    for _ in range(max_iter):
        mistakes = 0
        for x, label in zip(X, y, strict=True):
            if label * dot(w, x) <= 0:
                w = [a + label * b for a, b in zip(w, x, strict=True)]
                mistakes += 1
            yield w
        if mistakes == 0:
            return


@dataclass(frozen=True)
class Perceptron(Rule):
    """On a mistake add the example, times its label, to the weights.

    Parameters
    ----------
    learning_rate : number, or function from k to a number
        The factor of update k = 1, 2, ... of a binary classifier; a number changes by ``schedule``.
    schedule : "constant", "inverse" (the rate / k) or "inverse_sqrt" (the rate / sqrt(k))
    zero : "mistake", "negative" or "correct"
        The meaning of a score s of zero: a mistake (y s <= 0 is a mistake); a prediction of -1, and
        so a mistake if y is +1; or correct (y s < 0 is a mistake). The last two apply to binary
        classifiers: native learning compares scores, and refuses them.
    """

    learning_rate: Number | Callable[[int], Number] = 1
    schedule: str = "constant"
    zero: str = "mistake"

    def __post_init__(self) -> None:
        if self.zero not in ZEROS:
            raise ValueError(f"zero must be one of {', '.join(ZEROS)}, got {self.zero!r}.")

    def first(self, n_features: int, joint: bool) -> tuple[Number, Number]:
        if joint and self.zero != "mistake":
            raise ValueError(
                f"zero={self.zero!r} concerns the sign of a score, but native learning compares "
                "the scores of the classes: choose ovr or ovo."
            )
        return super().first(n_features, joint)

    def asks(self, machine: Machine, example: Example) -> bool:
        return example.wrong and not (example.score == 0 and spares(self.zero, example.y))

    def rate(self, k: int) -> Number:
        """Return the learning rate of update k; ValueError if a function returns an invalid one."""
        return rate_of(self.learning_rate, self.schedule, k)

    def update(self, machine: Machine, example: Example) -> bool:
        """W += rate * importance * y * z."""
        machine.add(example, self.rate(machine.updates + 1) * example.importance * example.y)
        return True


@dataclass(frozen=True)
class BatchPerceptron(Perceptron):
    """The perceptron with one update per pass: the sum of all mistakes of the pass's weights."""

    batch = True

    def update(self, machine: Machine, example: Example) -> bool:
        """Add the example to what waits for the end of the pass."""
        if machine.waiting is None:
            machine.waiting = Machine([0] * len(example.x), [0] * len(example.ones))
        machine.waiting.add(example, example.importance * example.y)
        return False

    def end_pass(self, machine: Machine) -> bool:
        """W += rate * (sum of importance * y * z over the mistakes)."""
        total, machine.waiting = machine.waiting, None
        if total is not None:
            machine.updates += 1
            machine.add(Example(total.weights, total.intercept), self.rate(machine.updates))
        return total is not None


def binary_perceptron(
    X: Rows, y: Sequence[int], *, learning_rate: Number = 1, **how: Any
) -> Iterator[Step]:
    """Run the perceptron of two classes, -1 and +1; see :func:`linsep.textbook.run`.

    Other labels, including booleans, raise ValueError.
    """
    for row, label in enumerate(y):
        if type(label).__name__.startswith("bool") or label not in (-1, 1):
            raise ValueError(
                f"Row {row} has the label {label!r}: binary_perceptron needs -1 and +1."
            )
    codes = [int(label == 1) for label in y]
    return run(Perceptron(learning_rate), "binary", X, codes, **how)


def native_perceptron(
    X: Rows, y: Sequence[int], n_classes: int, *, learning_rate: Number = 1, **how: Any
) -> Iterator[Step]:
    """Run the joint perceptron of several classes; see :func:`linsep.textbook.run`.

    On a mistake the example is added to the true class and subtracted from the predicted one.
    """
    return run(Perceptron(learning_rate), "native", X, y, n_classes, **how)


def ovr_perceptron(
    X: Rows, y: Sequence[int], n_classes: int, *, learning_rate: Number = 1, **how: Any
) -> Iterator[Step]:
    """Run one perceptron per class; see :func:`linsep.textbook.run`."""
    return run(Perceptron(learning_rate), "ovr", X, y, n_classes, **how)


def ovo_perceptron(
    X: Rows, y: Sequence[int], n_classes: int, *, learning_rate: Number = 1, **how: Any
) -> Iterator[Step]:
    """Run one perceptron per pair of classes; see :func:`linsep.textbook.run`."""
    return run(Perceptron(learning_rate), "ovo", X, y, n_classes, **how)
