"""Learners that are the last step of a pipeline of a table, for functions of a model."""

from functools import wraps
from typing import Any, TypeVar, cast

from linsep.validation.checks import of_features

Function = TypeVar("Function")


def learner_of(model: Any) -> Any:
    """Return the learner of a :class:`linsep.TablePipeline`, other models as they are."""
    return model.learner if getattr(type(model), "of_table", False) else model


def of_learner(function: Function) -> Function:
    """Let a function of a model take a :class:`linsep.TablePipeline`, too: its learner is passed,
    and the pipeline returned in its place.
    """
    call: Any = function

    @wraps(call)
    def passed(model: Any, *args: Any, **how: Any) -> Any:
        if (learner := learner_of(model)) is model:
            return call(model, *args, **how)
        with of_features(False):
            answer = call(learner, *args, **how)
        return model if answer is learner else answer

    return cast(Function, passed)
