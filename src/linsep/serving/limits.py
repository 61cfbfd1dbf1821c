"""What requests may ask for, and how they are refused."""

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
    memory : int, bytes that the rows of a request and its answer may take, beside the body
    seconds : float, in which the rows of a large body must be read and answered
    explained : int, rows of a request with explanations
    header_seconds : float, in which the head of a request must have come
    body_seconds : float, in which its body must have come
    answer_seconds : float, after which an answer of which nothing is read is given up
    connections : int, open at the same time; beyond it requests are answered by 503
    bodies : int, bytes of all bodies that are not answered yet
    answers : int, bytes of all answers that their clients have not read yet
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
    """A request that is not answered: the status and one sentence.

    ``headers`` are sent along.
    """

    def __init__(self, status: int, sentence: str, *headers: tuple[bytes, bytes]):
        super().__init__(sentence)
        self.status, self.sentence, self.headers = status, sentence, headers


class Budget:
    """The memory and the time that one request may take.

    A body of a few kilobytes can stand for gigabytes: rows without values of a wide model, one
    text of an Arrow dictionary in every row, products of long namespaces. Whoever is about to make
    something of a request says so first. Nothing can stop what runs in compiled code, so time is
    looked at between such pieces.

    Parameters
    ----------
    limits : Limits
    """

    def __init__(self, limits: Limits):
        self._limits, self._held = limits, 0
        self._until = time.monotonic() + limits.seconds

    def check(self, size: int) -> None:
        """Raise Refused if so many bytes more are beyond the limit, or the time is over."""
        if self._held + size > self._limits.memory:
            raise Refused(
                413,
                f"The rows would take more than {size_text(self._limits.memory)} of memory, the "
                "limit of this server (--max-memory): send fewer at once.",
            )
        if time.monotonic() > self._until:
            raise Refused(
                413,
                f"The rows take more than {self._limits.seconds:g} seconds, the limit of this "
                "server (--max-seconds): send fewer at once.",
            )

    def hold(self, size: int) -> None:
        """Take so many bytes until the request is answered; Refused if they are too many."""
        self.check(size)
        self._held += size

    def end(self) -> None:
        """Let the time be over: nobody waits for the answer any more."""
        self._until = 0.0


def too_large(limit: int) -> Refused:
    """Return the refusal of a body of more than ``limit`` bytes."""
    return Refused(
        413,
        f"The body has more than {size_text(limit)}, the limit of this server (--max-body): send "
        "fewer rows at once.",
        (b"connection", b"close"),
    )


def too_many_rows(limit: int) -> Refused:
    """Return the refusal of a request of more than ``limit`` rows."""
    return Refused(
        413,
        f"The request has more than {counted(limit, 'row')}, the limit of this server "
        "(--max-rows): send fewer at once.",
    )


def too_wide(what: str, limit: int) -> Refused:
    """Return the refusal of a row or table, called ``what``, of more than ``limit`` features."""
    return Refused(
        422,
        f"{what} has more than {counted(limit, 'feature')}, the limit of this server "
        "(--max-features): send only those of the model.",
    )


def too_busy(why: str, *headers: tuple[bytes, bytes]) -> Refused:
    """Return the refusal of a request that may succeed when it is sent again."""
    return Refused(503, f"{why}: try again.", (b"retry-after", b"1"), *headers)
