"""Which rows are held out of learning, to measure the accuracy of what is learnt."""

import numpy as np

NO_IMPORTANCE = np.empty(0)


def hold_out(codes: np.ndarray, fraction: float, start: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Return the mask of the held-out rows: an even sample of every class, drawn in one pass.

    ``start`` (a number in [0, 1) per class) decides which rows are drawn; ``seen`` (int64 per
    class) counts the rows so far and is updated. One call or many calls give the same sample.
    """
    held = np.zeros(codes.size, dtype=bool)
    for code in np.flatnonzero(np.bincount(codes)):  # a batch may hold few of many classes
        members = np.flatnonzero(codes == code)
        turns = np.arange(seen[code], seen[code] + members.size + 1)
        held[members[np.diff(np.floor(start[code] + fraction * turns)) > 0]] = True
        seen[code] += members.size
    return held


def held_groups(groups: np.ndarray, fraction: float, seed: int) -> np.ndarray:
    """Return the mask of the rows of held-out groups: about a ``fraction`` of all groups.

    Each number of ``groups`` (uint64) is mixed with the seed (S. Vigna's SplitMix64) and held out
    if it is small, so that neither batches nor order matter.
    """
    mixed = groups + np.uint64(seed * 0x9E3779B97F4A7C15 % 2**64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ mixed >> np.uint64(shift)) * np.uint64(factor)
    return (mixed ^ mixed >> np.uint64(31)) * 2.0**-64 < fraction


class HoldOut:
    """Draws the held-out rows, independently of the batches.

    ``weights`` are the row weights for scoring the held-out rows, empty if all are 1. ``masks``
    are those of :func:`held_groups`, one after the other, ``groups`` the groups of all
    rows; with neither, every row is drawn by itself.
    """

    def __init__(
        self,
        fraction: float,
        n_classes: int,
        seed: int,
        weights: np.ndarray = NO_IMPORTANCE,
        masks: list[np.ndarray] | None = None,
        groups: np.ndarray | None = None,
    ):
        if groups is not None:
            masks = [held_groups(groups, fraction, seed)]
        self._drawn: list[np.ndarray] = []
        self._masks, self._next, self._rest = masks, 0, np.zeros(0, dtype=bool)
        self.fraction, self.weights = fraction, weights
        self.start = np.random.default_rng([seed, n_classes]).random(n_classes)
        self.seen = np.zeros(n_classes, dtype=np.int64)

    def draw(self, codes: np.ndarray) -> np.ndarray:
        """Return the mask of the held-out rows among the next rows."""
        if self._masks is not None:
            return self._of_groups(codes.size)
        return hold_out(codes, self.fraction, self.start, self.seen)

    def mask(self, codes: np.ndarray, first: int, draw: bool) -> np.ndarray:
        """Return the mask of the rows from ``first`` on, drawn in the first pass and kept."""
        if draw:
            self._drawn.append(self.draw(codes))
            return self._drawn[-1]
        return self.drawn()[first : first + codes.size]

    def drawn(self) -> np.ndarray:
        """Return the mask of all rows that :meth:`mask` drew."""
        if len(self._drawn) > 1:
            self._drawn = [np.concatenate(self._drawn)]
        return self._drawn[0]

    def _of_groups(self, n_rows: int) -> np.ndarray:
        """Return the next rows of the masks, which may still be added to."""
        assert self._masks is not None
        parts = [self._rest]
        while sum(part.size for part in parts) < n_rows:
            parts.append(self._masks[self._next])
            self._next += 1
        found = np.concatenate(parts)
        self._rest = found[n_rows:]
        return found[:n_rows]
