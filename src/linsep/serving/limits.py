"""Limits of requests, and the errors of requests beyond them."""

import time
from typing import NamedTuple

from linsep.words import counted, size_text


class Limits(NamedTuple):
    """Limits of one server.

    Attributes
    ----------
    body : int, bytes of the body of a request
    rows : int, rows of a request
    features : int, columns of a table or values of a JSON row, if the model does not have more
    memory : int, bytes for the rows of a request and its answer, beside the body
    seconds : float, time to read and answer the rows of a large body
    explained : int, rows of a request with explanations
    connections : int, number of open connections; more are answered with 503
    """

    body: int = 10 << 20
    rows: int = 10_000
    features: int = 10_000
    memory: int = 256 << 20
    seconds: float = 10.0
    explained: int = 100
    connections: int = 10_000


class Refused(Exception):
    """A refused request: the status and a message; ``headers`` are sent along."""

    def __init__(self, status: int, sentence: str, *headers: tuple[bytes, bytes]):
        super().__init__(sentence)
        self.status, self.sentence, self.headers = status, sentence, headers


def beyond(what: str, limit: str, option: str, status: int = 413) -> Refused:
    """Return the refusal of a request that exceeds a limit."""
    return Refused(
        status,
        f"{what} more than {limit}, the limit of this server ({option}): send fewer rows or "
        "columns per request.",
    )


class Budget:
    """The memory and time budget of one request.

    A body of a few kilobytes can stand for gigabytes, such as rows without values of a wide model.
    Code that allocates memory for a request reserves it here first. Compiled code cannot be
    interrupted, so the time is checked between calls.
    """

    def __init__(self, limits: Limits):
        self._limits, self._held = limits, 0
        self._until = time.monotonic() + limits.seconds

    def hold(self, size: int) -> None:
        """Reserve bytes until the request is answered; raise Refused beyond a limit."""
        self._held += size
        if self._held > self._limits.memory:
            raise beyond("The rows need", size_text(self._limits.memory), "--max-memory")
        if time.monotonic() > self._until:
            raise beyond("The rows need", f"{self._limits.seconds:g} seconds", "--max-seconds")

    def check_rows(self, rows: int) -> None:
        """Raise Refused for too many rows."""
        if rows > self._limits.rows:
            raise beyond("The request has", counted(self._limits.rows, "row"), "--max-rows")

    def check_width(self, what: str, width: int, known: int) -> None:
        """Raise Refused for a row or table, called ``what``, of too many columns."""
        if width > max(self._limits.features, known):
            most = counted(self._limits.features, "feature")
            raise beyond(f"{what} has", most, "--max-features", 422)

    def end(self) -> None:
        """End the time budget: no client waits for the answer any more."""
        self._until = 0.0
