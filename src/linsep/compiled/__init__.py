"""Hot loops: numba functions on arrays and scalars, written like the textbook algorithms."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from types import SimpleNamespace

#: whether this process compiles now, and the seconds that compiling has taken in it
WORK = SimpleNamespace(going_on=False, seconds=0.0)


@contextmanager
def counted() -> Iterator[None]:
    """Count the time of the block, which may compile what a loop calls."""
    outer, started = WORK.going_on, perf_counter()
    WORK.going_on = True
    try:
        yield
    finally:
        WORK.going_on = outer
        WORK.seconds += 0.0 if outer else perf_counter() - started
