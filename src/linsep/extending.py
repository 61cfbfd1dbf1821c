"""What a learner of your own needs; docs/how-to/write-your-own-learner.md writes one.

A rule is a NamedTuple of numbers and arrays; ``@step.when(Rule)`` says what it does with an
example. A :class:`Learner` has the rule and whatever lasts from pass to pass. A
:class:`LinearLearner` is the estimator: its parameters, and the learner that they describe.
"""

from linsep.compiled.loop import step
from linsep.compiled.rows import add, square
from linsep.compiled.weights import machine, vectors
from linsep.learners.classifier import LinearClassifier
from linsep.learners.state import Learner
from linsep.parameters import parameter

__all__ = ["Learner", "LinearLearner", "add", "machine", "parameter", "square", "step", "vectors"]


class LinearLearner(LinearClassifier):
    """Base of the linear learners that you write, with the parameters that all learners share.

    A subclass declares its own parameters as annotated attributes with :func:`parameter`; they and
    the shared ones become the keyword arguments of its ``__init__``. It has all else that
    :class:`linsep.Perceptron` has: several classes, sources, weights to keep, early stopping,
    ``partial_fit``, scikit-learn's rules. It has no mistake bounds, as :meth:`bounds` says, and no
    model files: use pickle.

    Parameters
    ----------
    multiclass, fit_intercept, max_iter, shuffle, random_state, keep, vote_mb, normalize,
    early_stopping, validation_fraction, n_iter_no_change, class_weight, reference, warm_start,
    verbose, tie :
        As of :class:`linsep.Perceptron`.
    """

    def learner(self) -> Learner:
        """Return the learner of these parameters; raise ValueError if they are incompatible."""
        raise NotImplementedError
