"""Which part of a split each row belongs to: 0 is the training part, 1, 2 are held out.

Parts depend only on the seed, the order of the rows and their class, group or time: neither on
batches nor on the machine.
"""

from array import array
from fractions import Fraction
from hashlib import blake2b
from typing import Any

import numpy as np

from linsep.errors import DataError

#: most classes to stratify by; further labels are one class, as those of a regression are many
MOST_CLASSES = 100_000


class Draw:
    """Draws one row of each window of 1 / share rows: an exact share, at random.

    Parameters
    ----------
    share : Fraction, above 0 and at most 1
    seed, salt : what the draws depend on
    """

    __slots__ = ("_chosen", "_end", "_key", "_share", "_turn", "_window")

    def __init__(self, share: Fraction, seed: int, salt: bytes):
        self._share, self._key = share, blake2b(b"%d " % seed + salt, digest_size=32).digest()
        self._turn = self._end = 0
        self._window, self._chosen = -1, -1

    def next(self) -> bool:
        """Return whether the next row is drawn."""
        if self._turn == self._end:
            self._window += 1
            start = self._end
            self._end = (self._window + 1) * self._share.denominator // self._share.numerator
            number = blake2b(b"%d" % self._window, digest_size=8, key=self._key).digest()
            self._chosen = start + (int.from_bytes(number, "little") * (self._end - start) >> 64)
        drawn = self._turn == self._chosen
        self._turn += 1
        return drawn


class Draws:
    """Draws for several held-out parts, one after the other."""

    def __init__(self, shares: list[Fraction], seed: int, salt: bytes):
        left, self._draws = Fraction(1), []
        for number, share in enumerate(shares):
            self._draws.append(Draw(share / left, seed, b"%d " % number + salt))
            left -= share

    def next(self) -> int:
        """Return the part of the next row."""
        for part, draw in enumerate(self._draws, 1):
            if draw.next():
                return part
        return 0


class ByClass:
    """The same share of every class, or of all rows if all have the same key."""

    def __init__(self, shares: list[Fraction], seed: int):
        self._shares, self._seed = shares, seed
        self._draws: dict[Any, Draws] = {}

    def part(self, key: Any) -> int:
        """Return the part of the next row, of this class."""
        draws = self._draws.get(key)
        if draws is None:
            if len(self._draws) >= MOST_CLASSES:
                key = None
            salt = b"" if key is None else str(key).encode(errors="surrogateescape")
            draws = self._draws.setdefault(key, Draws(self._shares, self._seed, salt))
        return draws.next()

    def check(self, column: str | None) -> None:
        """Raise DataError if all rows have one label, of a column that was named."""
        if column is not None and len(self._draws) == 1:
            (only,) = self._draws
            raise DataError(
                f"All rows have the label {only} in column '{column}': choose another column, or "
                "none."
            )


class ByGroup:
    """The same share of groups, each as a whole. Memory grows with the number of groups."""

    def __init__(self, shares: list[Fraction], seed: int):
        self._draws, self._parts = Draws(shares, seed, b""), dict[Any, int]()

    def part(self, key: Any) -> int:
        """Return the part of the next row, of this group."""
        found = self._parts.get(key)
        if found is None:
            found = self._parts[key] = self._draws.next()
        return found

    def check(self, column: str | None) -> None:
        """Raise DataError if there are too few groups for all parts to have some."""
        if len(self._parts) < 2:
            (only,) = self._parts
            raise DataError(
                f"All rows are of one group, {only} in column '{column}': a split needs two."
            )


class ByTime:
    """The latest rows are held out. First all times are added, then come the parts.

    Parameters
    ----------
    shares : of the held-out parts; the first is the latest
    """

    def __init__(self, shares: list[Fraction]):
        self._shares, self._times = shares, array("d")
        self._cuts: list[float] = []

    def add(self, time: float) -> None:
        """Add a row of this time."""
        self._times.append(time)

    def cut(self, what: str) -> None:
        """Find the times that part the rows; rows of one time stay together.

        Raises DataError, which names ``what`` the times are, where too few differ.
        """
        times = np.asarray(self._times)  # not a copy
        times.sort()
        if not times.size:
            raise DataError(f"{what} has no rows: give a file with rows.")
        edges = np.flatnonzero(times[1:] != times[:-1])
        edges += 1  # the first row of each later time
        if edges.size < len(self._shares):
            raise DataError(
                f"{what} has {edges.size + 1} different times in {times.size:,} rows, too few for "
                f"{len(self._shares) + 1} parts."
            )
        held, last = Fraction(0), edges.size
        for number, share in enumerate(self._shares, 1):
            held += share
            least = len(self._shares) - number  # edges to leave for the parts before
            among = edges[least:last]
            goal = float((1 - held) * times.size)
            after = int(np.searchsorted(among, goal))
            near = range(max(0, after - 1), min(after + 1, among.size))
            best = min(near, key=lambda k: abs(among[k] - goal)) + least
            self._cuts.append(float(times[edges[best]]))
            last = best
        self._times = array("d")

    def part(self, time: float) -> int:
        """Return the part of a row of this time."""
        for part, cut in enumerate(self._cuts, 1):
            if time >= cut:
                return part
        return 0

    def check(self, column: str | None) -> None:
        """Do nothing: :meth:`cut` has checked the times."""
