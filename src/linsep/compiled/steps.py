"""One rule, one step: what a learner does when it has seen one example and its score.

A rule is a NamedTuple of its numbers; its step is chosen by that class while compiling. A step
gets the example (row i, target y = -1 or +1, score y is compared with), whether the prediction
was wrong, and the example's importance; it returns whether it changed the weights.
"""

from typing import NamedTuple

from linsep.compiled.jit import generic
from linsep.compiled.rows import add


class PerceptronRule(NamedTuple):
    """Rosenblatt's perceptron: on a mistake add the example, times its label, to the weights."""

    rate: float


@generic(0)
def step(rule, weights, rows, i, y, score, wrong, importance):
    """Learn from one example by ``rule``; returns whether the weights changed."""


@step.when(PerceptronRule)
def _perceptron(rule, weights, rows, i, y, score, wrong, importance):
    if not wrong:
        return False
    add(rows, i, weights, rule.rate * importance * y)
    return True


class Watch(NamedTuple):
    """Learn nothing: a walk with this rule counts the errors of the weights as they are."""

    rate: float


@step.when(Watch)
def _watch(rule, weights, rows, i, y, score, wrong, importance):
    return False
