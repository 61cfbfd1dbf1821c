"""How long a verdict may take, and what it is doing, for all that is called in it.

One limit bounds a verdict however deep the work is: linear programs, readings of the rows, exact
arithmetic. All of them ask here. It holds for the code in a ``with`` block and no other thread.
"""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from linsep.errors import ParameterError


class TooLarge(Exception):
    """The rows are too many, or too long, to be decided in the time there is."""


class Task:
    """What is being done, and until when it may be.

    Attributes
    ----------
    limit : float
        Seconds, or infinity.
    doing : str
        A phrase, for those who wait.
    question, questions : int
        Which question is being decided, counted from 1, and of how many.
    """

    def __init__(self, limit: float | None = None) -> None:
        if limit is not None and not limit > 0:
            raise ParameterError(f"The time limit is {limit:g} seconds: give more than 0.")
        self.limit = math.inf if limit is None else limit
        self.until = time.monotonic() + self.limit
        self.doing = ""
        self.question, self.questions = 0, 1


_UNLIMITED = Task()
_task: ContextVar[Task] = ContextVar("_task")


@contextmanager
def limited(task: Task) -> Iterator[None]:
    """Bound what is done in the block; a limit around it holds as well."""
    around = _task.get(_UNLIMITED)
    if around.until < task.until:
        task.until, task.limit = around.until, around.limit
    token = _task.set(task)
    try:
        yield
    finally:
        _task.reset(token)


def seconds_left() -> float:
    """How long the work may still take."""
    return _task.get(_UNLIMITED).until - time.monotonic()


def check_time() -> None:
    """Raise TooLarge where the time is over."""
    task = _task.get(_UNLIMITED)
    if time.monotonic() > task.until:
        raise TooLarge(f"the time limit of {task.limit:g} s was over ({task.doing})")


def doing(what: str) -> None:
    """Say what comes next; raises TooLarge where the time is over."""
    check_time()
    _task.get(_UNLIMITED).doing = what


def next_question() -> None:
    """One more question is begun."""
    _task.get(_UNLIMITED).question += 1


class Work:
    """What some exact arithmetic may cost, in seconds or so, and in the time there is."""

    def __init__(self, left: float = math.inf) -> None:
        self.left = left
        self.begun = False

    def pay(self, seconds: float, what: str) -> None:
        """Raise TooLarge, which says what is so dear, where too little is left."""
        check_time()
        self.left -= seconds
        self.begun = True
        if self.left < 0 or seconds > seconds_left():
            limit = _task.get(_UNLIMITED).limit
            over = f"longer than the time limit of {limit:g} s" if limit < math.inf else "too long"
            raise TooLarge(f"{what} would take {over} in exact arithmetic")
