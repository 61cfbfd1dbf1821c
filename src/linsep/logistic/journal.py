"""The passes over all rows that a fit has made, so that another process need not make them again.

An ascent is deterministic: from the results of its passes over the rows, which are all that takes
time, it takes the same steps to the same bits.
"""

from collections.abc import Callable
from hashlib import blake2b
from typing import Any, cast

import numpy as np

from linsep.logistic.likelihood import Likelihood, Moves, Point, Sums

Arrays = list[np.ndarray]


class Journal:
    """Results of passes over the rows, in order.

    Parameters
    ----------
    records : list of (key, arrays), those of an earlier process
    after : function without arguments, called after each new pass
    """

    def __init__(
        self, records: list[tuple[str, Arrays]], after: Callable[[], None] = lambda: None
    ) -> None:
        self.records, self.after, self._next = records, after, 0

    def result(self, what: str, given: np.ndarray, compute: Callable[[], Arrays]) -> Arrays:
        """Return the next result: the recorded one if it is of the same pass, else ``compute()``,
        recorded in the place of all that followed.
        """
        key = f"{what} {blake2b(given.tobytes(), digest_size=16).hexdigest()}"
        if self._next < len(self.records) and self.records[self._next][0] == key:
            self._next += 1
            return self.records[self._next - 1][1]
        arrays = compute()
        self.records[self._next :] = [(key, arrays)]
        self._next += 1
        self.after()
        return arrays


def recalled(likelihood: Likelihood, journal: Journal | None) -> Likelihood:
    """Return a likelihood that looks its results up in a journal; itself without one."""
    return likelihood if journal is None else cast(Likelihood, Recalled(likelihood, journal))


class Shares(list):
    """Class probabilities that are computed again when they are needed, at these weights."""

    def __init__(self, B: np.ndarray) -> None:
        super().__init__()
        self.B = B


class Recalled:
    """A likelihood whose passes over the rows are in a journal."""

    def __init__(self, likelihood: Likelihood, journal: Journal) -> None:
        self._likelihood, self._journal = likelihood, journal

    def __getattr__(self, name: str) -> Any:
        return getattr(self._likelihood, name)

    def at(self, B: np.ndarray, hessian: bool = True, shares: bool = False) -> Point:
        """See :meth:`linsep.logistic.likelihood.Likelihood.at`."""
        kept: Shares | list | None = Shares(np.array(B)) if shares else None

        def compute() -> Arrays:
            nonlocal kept
            point = self._likelihood.at(B, hessian, shares)
            kept = point.shares
            more = [] if point.hessian is None else [point.hessian]
            return [np.array([point.value, *point.sums]), point.gradient, *more]

        found = self._journal.result(f"at {hessian:d}", B, compute)
        (value, *sums), gradient, *more = found
        weight, least, inverses, blocks = map(float, sums)
        bounds = Sums(weight, least, inverses, int(blocks))
        return Point(float(value), gradient.copy(), more[0].copy() if more else None, kept, bounds)

    def moves(self, step: np.ndarray) -> Moves:
        """See :meth:`linsep.logistic.likelihood.Likelihood.moves`."""

        def compute() -> Arrays:
            forward, backward, apart, *more = self._likelihood.moves(step)
            return [np.array([forward, backward, apart]), *more]

        most, *more = self._journal.result("moves", step, compute)
        return Moves(*most.tolist(), *more)

    def curved(self, point: Point, V: np.ndarray) -> np.ndarray:
        """See :meth:`linsep.logistic.likelihood.Likelihood.curved`."""
        found = self._journal.result(
            "curved", V, lambda: [self._likelihood.curved(self._with_shares(point), V)]
        )
        return found[0].copy()

    def diagonal(self, point: Point) -> np.ndarray:
        """See :meth:`linsep.logistic.likelihood.Likelihood.diagonal`."""
        found = self._journal.result(
            "diagonal",
            point.gradient,
            lambda: [self._likelihood.diagonal(self._with_shares(point))],
        )
        return found[0].copy()

    def _with_shares(self, point: Point) -> Point:
        """Return the point with its class probabilities."""
        if isinstance(point.shares, Shares):
            if not point.shares:
                again = self._likelihood.at(point.shares.B, hessian=False, shares=True)
                point.shares.extend(again.shares or ())
            return point._replace(shares=list(point.shares))
        return point
