"""Base classes for your own learner; docs/how-to/write-your-own-learner.md shows an example.

A rule is a NamedTuple of numbers and arrays; ``@step.when(Rule)`` defines its update on an example.
A :class:`Learner` holds the rule and any state kept between passes. A :class:`LinearLearner` is the
estimator: its parameters, and the learner that they describe.
"""

from linsep.compiled.loop import step
from linsep.compiled.rows import add, square
from linsep.compiled.weights import machine, vectors
from linsep.learners import state
from linsep.learners.online import LinearClassifier
from linsep.parameters import parameter

__all__ = ["Learner", "LinearLearner", "add", "machine", "parameter", "square", "step", "vectors"]


class Learner(state.Learner):
    """Base class of your own learners, and the learner itself if its rule never changes.

    Duplicate entries of sparse rows are summed before they are learned, so that :func:`square` is
    the squared length of a row.
    """

    needs_lengths = True


class LinearLearner(LinearClassifier):
    """Base class for your own linear learners, with the parameters that all learners share.

    A subclass declares its own parameters as annotated attributes with :func:`parameter`; they and
    the shared ones become the keyword arguments of its ``__init__``. Everything else is as in
    :class:`linsep.Perceptron`, but for mistake bounds, which there are none of. An entry point of
    your package in the group ``linsep.learners`` gives it a name on the command line, and model
    files.
    """
