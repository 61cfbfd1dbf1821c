"""Requests that arrive in the same turn of the loop are read and scored together."""

import asyncio
from itertools import groupby
from typing import Any, NamedTuple

from linsep.errors import LinsepError
from linsep.serving.bodies import Bodies
from linsep.serving.limits import Refused
from linsep.serving.model import Served, Wanted

#: rows of a request that may be joined with others
MOST_ROWS = 16


class Waiting(NamedTuple):
    """Rows of a request that waits for its answer."""

    served: Served
    rows: list[Any]
    wanted: Wanted
    answer: asyncio.Future[tuple[dict[str, Any], str]]

    def kind(self) -> tuple[int, str, Wanted]:
        """Return what requests that are answered together have in common."""
        return id(self.served), type(self.rows[0]).__name__, self.wanted


class Batches:
    """Answers small requests, those that wait at the same time together.

    Parameters
    ----------
    bodies : Bodies
    """

    def __init__(self, bodies: Bodies):
        self._bodies = bodies
        self._waiting: list[Waiting] = []

    async def answer(
        self, served: Served, rows: list[Any], wanted: Wanted
    ) -> tuple[dict[str, Any], str]:
        """Return what :meth:`Served.answer` returns for these rows, or raise what it raises; and
        the version of the model at that moment, which may learn before the answer is sent.
        """
        if not served.by_row or wanted.explanations or len(rows) > MOST_ROWS:
            return self._alone(served, rows, wanted)
        loop = asyncio.get_running_loop()
        waiting = Waiting(served, rows, wanted, loop.create_future())
        if not self._waiting:
            loop.call_soon(self._flush)
        self._waiting.append(waiting)
        return await waiting.answer

    def _alone(self, served: Served, rows: list[Any], wanted: Wanted) -> tuple[dict[str, Any], str]:
        with served.opened(rows, self._bodies) as source:
            return served.answer(source, wanted), served.version

    def _flush(self) -> None:
        waiting, self._waiting = self._waiting, []
        for _, same in groupby(sorted(waiting, key=Waiting.kind), Waiting.kind):
            group = list(same)
            if len(group) == 1 or not self._answered(group):
                for one in group:
                    self._answer_alone(one)

    def _answer_alone(self, one: Waiting) -> None:
        if one.answer.cancelled():
            return
        try:
            one.answer.set_result(self._alone(one.served, one.rows, one.wanted))
        except Exception as problem:
            one.answer.set_exception(problem)

    def _answered(self, group: list[Waiting]) -> bool:
        """Answer requests together; False if one of them must be told apart."""
        rows = [row for one in group for row in one.rows]
        try:
            found, version = self._alone(group[0].served, rows, group[0].wanted)
        except (LinsepError, Refused):
            return False
        if "unknown_values" in found:
            return False
        first = 0
        for one in group:
            part = slice(first, first := first + len(one.rows))
            own = {k: v if k == "classes" else v[part] for k, v in found.items()}
            if not one.answer.cancelled():
                one.answer.set_result((own, version))
        return True
