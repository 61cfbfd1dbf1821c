"""Learners that are the last step of a pipeline of a table, for functions of a model."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from linsep.validation.checks import of_features

Function = TypeVar("Function", bound=Callable[..., Any])


def learner_of(model: Any) -> Any:
    """Return the learner of a :class:`linsep.TablePipeline`, other models as they are."""
    return model.learner if getattr(type(model), "of_table", False) else model


def of_learner(function: Function) -> Function:
    """Let a function of a model take a :class:`linsep.TablePipeline`, too: its learner is passed,
    and the pipeline returned in its place.
    """

    @wraps(function)
    def passed(model: Any, *args: Any, **how: Any) -> Any:
        if (learner := learner_of(model)) is model:
            return function(model, *args, **how)
        with of_features(False):
            answer = function(learner, *args, **how)
        return model if answer is learner else answer

    return passed  # type: ignore[return-value]
