"""Limits of requests, and the errors of requests beyond them."""

import math
import sys
import time
from typing import NamedTuple

from linsep.words import counted, size_text


class Limits(NamedTuple):
    """Limits of one server: bytes of a body; rows of a request; bytes of memory for these rows and
    their answer, and seconds to read and answer a large body.
    """

    body: int = 10 << 20
    rows: int = 10_000
    memory: int = 256 << 20
    seconds: float = 10.0


#: for rows that were within the limits when they were sent
NO_LIMITS = Limits(rows=sys.maxsize, memory=sys.maxsize, seconds=math.inf)


class Refused(Exception):
    """A refused request: the status and a message; ``headers`` are sent along."""

    def __init__(self, status: int, sentence: str, *headers: tuple[bytes, bytes]):
        super().__init__(sentence)
        self.status, self.headers = status, headers


def beyond(limit: str, option: str) -> Refused:
    """Return the refusal of a request that exceeds a limit."""
    return Refused(413, f"The request needs more than {limit} ({option}): send fewer rows at once.")


class Budget:
    """The rows, memory and time of one request.

    A small body can stand for gigabytes, such as rows without values of a wide model, so code that
    allocates memory reserves it here first. The time is checked between calls of compiled code.
    """

    def __init__(self, limits: Limits):
        self._limits, self._held = limits, 0
        self._until = time.monotonic() + limits.seconds

    def hold(self, size: int) -> None:
        """Reserve bytes until the request is answered; raise Refused beyond a limit."""
        self._held += size
        if self._held > self._limits.memory:
            raise beyond(f"{size_text(self._limits.memory)} of memory", "--max-memory")
        if time.monotonic() > self._until:
            raise beyond(f"{self._limits.seconds:g} seconds", "--max-seconds")

    def check_rows(self, rows: int) -> None:
        """Raise Refused for too many rows."""
        if rows > self._limits.rows:
            raise beyond(counted(self._limits.rows, "row"), "--max-rows")

    def end(self) -> None:
        """End the time budget: no client waits for the answer any more."""
        self._until = 0.0
