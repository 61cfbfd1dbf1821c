"""What requests may ask for, and how they are refused."""

from typing import NamedTuple

from linsep.sources.limits import size_text

#: columns that a table may have, if the model does not have more
COLUMNS = 10_000


class Limits(NamedTuple):
    """Limits of one server.

    Attributes
    ----------
    body : int, bytes of the body of a request
    rows : int, rows of a request
    features : int, columns of a table, values of a JSON row or pairs of a line of text
    explained : int, rows of a request with explanations
    header_seconds : float, in which the head of a request must have come
    body_seconds : float, in which its body must have come
    connections : int, open at the same time; beyond it requests are answered by 503
    bodies : int, bytes of unfinished bodies of all requests together
    """

    body: int = 10 << 20
    rows: int = 10_000
    features: int = COLUMNS
    explained: int = 100
    header_seconds: float = 10.0
    body_seconds: float = 60.0
    connections: int = 10_000
    bodies: int = 100 << 20


class Refused(Exception):
    """A request that is not answered: the status and one sentence.

    ``headers`` are sent along.
    """

    def __init__(self, status: int, sentence: str, *headers: tuple[bytes, bytes]):
        super().__init__(sentence)
        self.status, self.sentence, self.headers = status, sentence, headers


def count(number: int, what: str) -> str:
    """Return a count with its noun: 1 row, 1,200 rows."""
    return f"{number:,} {what}" + ("" if number == 1 else "s")


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
        f"The request has more than {count(limit, 'row')}, the limit of this server (--max-rows): "
        "send fewer at once.",
    )


def too_wide(what: str, limit: int) -> Refused:
    """Return the refusal of a row or table, called ``what``, of more than ``limit`` features."""
    return Refused(
        422,
        f"{what} has more than {count(limit, 'feature')}, the limit of this server "
        "(--max-features): send only those of the model.",
    )
