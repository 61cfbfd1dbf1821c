"""Limits of requests, and the errors of requests beyond them."""

import time
from typing import NamedTuple

from linsep.words import counted, size_text

#: columns that a table may have, if the model does not have more
COLUMNS = 10_000


class Limits(NamedTuple):
    """Limits of one server.

    Attributes
    ----------
    body : int, bytes of the body of a request
    rows : int, rows of a request
    features : int, columns of a table, values of a JSON row or pairs of a line of text
    memory : int, bytes for the rows of a request and its answer, beside the body
    seconds : float, time to read and answer the rows of a large body
    explained : int, rows of a request with explanations
    header_seconds : float, time to receive the head of a request
    body_seconds : float, time to receive the body
    answer_seconds : float, time after which the connection of an unread answer is closed
    connections : int, number of open connections; more are answered with 503
    bodies : int, bytes of all bodies not answered yet
    answers : int, bytes of all answers not read yet by their clients
    """

    body: int = 10 << 20
    rows: int = 10_000
    features: int = COLUMNS
    memory: int = 256 << 20
    seconds: float = 10.0
    explained: int = 100
    header_seconds: float = 10.0
    body_seconds: float = 60.0
    answer_seconds: float = 60.0
    connections: int = 10_000
    bodies: int = 100 << 20
    answers: int = 256 << 20


class Refused(Exception):
    """A refused request: the status and a message.

    ``headers`` are sent along.
    """

    def __init__(self, status: int, sentence: str, *headers: tuple[bytes, bytes]):
        super().__init__(sentence)
        self.status, self.sentence, self.headers = status, sentence, headers


class Budget:
    """The memory and time budget of one request.

    A body of a few kilobytes can expand to gigabytes: rows without values of a wide model, one text
    of an Arrow dictionary in every row, products of long namespaces. Code that allocates memory for
    a request reserves it here first. Compiled code cannot be interrupted, so the time is checked
    between calls.

    Parameters
    ----------
    limits : Limits
    """

    def __init__(self, limits: Limits):
        self._limits, self._held = limits, 0
        self._until = time.monotonic() + limits.seconds

    def check(self, size: int) -> None:
        """Raise Refused if additional bytes exceed the limit, or the time is over."""
        if self._held + size > self._limits.memory:
            raise Refused(
                413,
                f"The rows would need more than {size_text(self._limits.memory)} of memory, the "
                "limit of this server (--max-memory): send fewer rows per request.",
            )
        if time.monotonic() > self._until:
            raise Refused(
                413,
                f"The rows need more than {self._limits.seconds:g} seconds, the limit of this "
                "server (--max-seconds): send fewer rows per request.",
            )

    def hold(self, size: int) -> None:
        """Reserve bytes until the request is answered; raise Refused if they exceed the limit."""
        self.check(size)
        self._held += size

    def end(self) -> None:
        """End the time budget: no client waits for the answer any more."""
        self._until = 0.0


def too_large(limit: int) -> Refused:
    """Return the refusal of a body of more than ``limit`` bytes."""
    return Refused(
        413,
        f"The body has more than {size_text(limit)}, the limit of this server (--max-body): send "
        "fewer rows per request.",
        (b"connection", b"close"),
    )


def too_many_rows(limit: int) -> Refused:
    """Return the refusal of a request of more than ``limit`` rows."""
    return Refused(
        413,
        f"The request has more than {counted(limit, 'row')}, the limit of this server "
        "(--max-rows): send fewer rows per request.",
    )


def too_wide(what: str, limit: int) -> Refused:
    """Return the refusal of a row or table, called ``what``, of more than ``limit`` features."""
    return Refused(
        422,
        f"{what} has more than {counted(limit, 'feature')}, the limit of this server "
        "(--max-features): send only the features of the model.",
    )


def too_busy(why: str, *headers: tuple[bytes, bytes]) -> Refused:
    """Return the refusal of a request that may succeed later."""
    return Refused(503, f"{why}: try again.", (b"retry-after", b"1"), *headers)
