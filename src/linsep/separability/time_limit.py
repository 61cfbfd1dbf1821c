"""The time limit of a verdict, and its current step.

One limit bounds all work on a verdict: linear programs, reading rows, exact arithmetic. It applies
to the code in a ``with`` block, in the same thread.
"""

import math
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from linsep.errors import ParameterError

T = TypeVar("T")


class TooLarge(Exception):
    """The subproblem cannot be decided within the time limit."""


class Task:
    """The current step of a verdict, a phrase for progress bars and errors; its time limit in
    seconds; and the number of the current subproblem, counted from 1, and of all.
    """

    def __init__(self, limit: float | None = None) -> None:
        if limit is not None and not limit > 0:
            raise ParameterError(
                f"time_limit must be above 0 seconds, got {limit:g}.",
                option="time_limit", value=limit,
            )  # fmt: skip
        self.limit = math.inf if limit is None else limit
        self.until = time.monotonic() + self.limit
        self.doing = "the working set"
        self.question, self.questions = 0, 1


_UNLIMITED = Task()
_task: ContextVar[Task] = ContextVar("_task")


@contextmanager
def limited(task: Task) -> Iterator[None]:
    """Apply a task's time limit in the block; an outer limit stays in force."""
    around = _task.get(_UNLIMITED)
    if around.until < task.until:
        task.until, task.limit = around.until, around.limit
    token = _task.set(task)
    try:
        yield
    finally:
        _task.reset(token)


def seconds_left() -> float:
    """Return the time left."""
    return _task.get(_UNLIMITED).until - time.monotonic()


def check_time() -> None:
    """Raise TooLarge if the time is up."""
    task = _task.get(_UNLIMITED)
    if time.monotonic() > task.until:
        raise TooLarge(f"the time limit of {task.limit:g} s ended ({task.doing})")


def within_time(items: Iterable[T]) -> Iterator[T]:
    """Yield the items; raise TooLarge if the time is up before one of them."""
    for item in items:
        check_time()
        yield item


def doing(what: str) -> None:
    """Name the next step; raise TooLarge if the time is up."""
    check_time()
    _task.get(_UNLIMITED).doing = what


class Work:
    """A budget, in estimated seconds, for exact arithmetic within the time limit."""

    def __init__(self, left: float = math.inf) -> None:
        self.left = left

    def pay(self, seconds: float, what: str) -> None:
        """Take the cost of ``what`` from the budget; raise TooLarge if too little is left."""
        check_time()
        self.left -= seconds
        if self.left < 0 or seconds > seconds_left():
            limit = _task.get(_UNLIMITED).limit
            over = f"longer than the time limit of {limit:g} s" if limit < math.inf else "too long"
            raise TooLarge(f"{what} would take {over} in exact arithmetic")
