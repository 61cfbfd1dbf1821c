"""Lanes: blocks of a fixed number of rows, counted from the first row of the data.

Floats are rounded in an order that depends on the shape of a block. Lanes do not depend on the
batches or shards in which rows come, so neither do sums over them, whoever adds them up.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, Self, TypeVar

#: sums, or what takes their place, that are added at once
FAN = 8


class Rows(Protocol):
    """Neighbouring rows."""

    @property
    def size(self) -> int:
        """Number of rows."""
        ...

    def between(self, start: int, stop: int) -> Self:
        """Return some of the rows."""
        ...


R = TypeVar("R", bound=Rows)
T = TypeVar("T")


def in_lanes(parts: Iterable[R], rows: int, joined: Callable[[list[R]], R]) -> Iterator[R]:
    """Yield the rows of parts in lanes of ``rows`` rows, the last perhaps with fewer.

    The parts follow each other, and the first begins with a lane. ``joined`` returns the rows of
    some as one.
    """
    held: list[R] = []
    count = 0
    for part in parts:
        start = 0
        while count + part.size - start >= rows:
            stop = start + rows - count
            yield joined([*held, part.between(start, stop)])
            held, count, start = [], 0, stop
        if start < part.size:
            held.append(part.between(start, part.size))
            count += part.size - start
    if held:
        yield joined(held)


def in_tree(parts: list[T], add: Callable[[list[T]], T]) -> T:
    """Return the sum of all parts: of groups of :data:`FAN` neighbours, then of groups of these."""
    while len(parts) > 1:
        groups = [parts[k : k + FAN] for k in range(0, len(parts), FAN)]
        parts = [group[0] if len(group) == 1 else add(group) for group in groups]
    return parts[0]
