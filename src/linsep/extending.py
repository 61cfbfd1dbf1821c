"""What a learner of your own needs; docs/write-your-own-learner.md writes one.

A rule is a NamedTuple of numbers and arrays; ``@step.when(Rule)`` says what it does with an
example. A :class:`Learner` has the rule and whatever lasts from pass to pass. A
:class:`LinearLearner` is the estimator: its parameters, and the learner that they describe.
"""

import inspect
from typing import Any

from linsep.compiled.core.loop import step
from linsep.compiled.core.rows import add, square
from linsep.compiled.core.weights import machine, vectors
from linsep.estimators._common.checking import (
    COMMON,
    INTERCEPT,
    KEEP,
    NORMALIZE,
    Keep,
    Multiclass,
    Parameter,
    Tie,
)
from linsep.learners.classifier import LinearClassifier
from linsep.learners.state import Learner

__all__ = ["Learner", "LinearLearner", "Parameter", "add", "machine", "square", "step", "vectors"]


class LinearLearner(LinearClassifier):
    """Base of the linear learners that you write, with the parameters that all learners share.

    A subclass lists its own parameters in ``own_parameters`` and takes them in ``__init__`` beside
    ``**shared``, which it passes on. It has all else that :class:`linsep.Perceptron` has: several
    classes, sources, weights to keep, early stopping, ``partial_fit``, scikit-learn's rules. It
    has no mistake bounds, as :meth:`bounds` says, and no model files: use pickle.

    Parameters
    ----------
    multiclass, fit_intercept, max_iter, shuffle, random_state, keep, vote_mb, normalize,
    early_stopping, validation_fraction, n_iter_no_change, class_weight, reference, warm_start,
    verbose, tie :
        As of :class:`linsep.Perceptron`.
    """

    #: checked by ``fit``, which raises ValueError for a value that is not accepted
    own_parameters: tuple[Parameter, ...] = ()

    def __init__(
        self,
        *,
        multiclass: Multiclass = "native",
        fit_intercept: bool = True,
        max_iter: int = 1000,
        shuffle: bool = True,
        random_state: Any = 0,
        keep: Keep = "last",
        vote_mb: float = 256.0,
        normalize: bool = False,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        class_weight: Any = None,
        reference: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        tie: Tie = "negative",
    ):
        self.multiclass = multiclass
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state
        self.keep = keep
        self.vote_mb = vote_mb
        self.normalize = normalize
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.reference = reference
        self.warm_start = warm_start
        self.verbose = verbose
        self.tie = tie

    def __init_subclass__(cls, **how: Any) -> None:
        """Put the shared parameters into the subclass's signature, where scikit-learn looks."""
        super().__init_subclass__(**how)
        cls._parameters = (*cls.own_parameters, *COMMON, INTERCEPT, *KEEP, NORMALIZE)
        if "__init__" in cls.__dict__:
            shared = inspect.signature(LinearLearner.__init__).parameters
            own = inspect.signature(cls.__init__).parameters.values()
            named = [p for p in own if p.kind != p.VAR_KEYWORD]
            more = [p for p in shared.values() if p.name not in {p.name for p in named}]
            whole = inspect.Signature([*named, *more])
            cls.__init__.__signature__ = whole  # type: ignore[attr-defined]

    def learner(self) -> Learner:
        """Return the learner of these parameters; raise ValueError if they are incompatible."""
        raise NotImplementedError

    def _learner(self) -> Learner:
        return self.learner()

    def _theorems(self) -> tuple[str, dict[str, Any]]:
        return type(self).__name__, {}

    def _obstacle(self) -> str | None:
        return f"no theorem about {type(self).__name__} is known"
