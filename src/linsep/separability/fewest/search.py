"""The search for the fewest errors: both ends of the interval come nearer until they meet."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from linsep.certificate.errors import MOST_DIMENSIONS, Exhaustive, Packing, Tree
from linsep.certificate.integers import Row
from linsep.separability.exact import alternative, exact_split, reduced
from linsep.separability.fewest.contradictions import Contradiction, contradiction
from linsep.separability.fewest.covers import Contradictions, Unproved
from linsep.separability.fewest.hyperplanes import improved, least_squares
from linsep.separability.fewest.rows import Hyperplane, WeightedRows
from linsep.separability.fewest.sweep import fewest_errors
from linsep.separability.search import quick_weights
from linsep.separability.time_limit import Task, TooLarge, Work, doing, limited, seconds_left

#: most rows of a program that looks for a contradiction
MOST_ROWS = 2_000
#: rounds without a better bound after which packings alone are given up
MOST_IDLE = 5
#: most rows for which all hyperplanes are tried in few dimensions, and the share of the time that
#: is left, and the seconds, that this may take
MOST_SWEPT, SHARE_OF_ALL, MOST_SECONDS = 2_000, 0.3, 20.0
#: share of the time that is left in which one hyperplane is improved
SHARE = 0.1
#: costs are changed by this share at random, so that programs find other corners
NOISE = 0.05


class Found(NamedTuple):
    """Both ends: a hyperplane, and a tree that proves the lower end, in the unit of weights.

    ``history`` holds (seconds, low, high) whenever one of them changed.
    """

    best: Hyperplane
    low: int
    tree: Tree
    contradictions: list[Contradiction]
    history: list[tuple[float, int, int]]


class Search:
    """One search, which ends when both ends meet or the time is up.

    Parameters
    ----------
    rows : WeightedRows
    start : Row or None
        Weights to begin with.
    """

    def __init__(self, rows: WeightedRows, start: Row | None = None) -> None:
        self.rows, self.pool = rows, Contradictions(rows)
        self._rng = np.random.default_rng(0)
        self._began = time.monotonic()
        self.low = 0
        self.tree: Tree = Packing({})
        self.history: list[tuple[float, int, int]] = []
        last = rows.question.size - 1
        self.best = rows.judged(start or ({} if rows.strict else {last: 1}))
        self._values = np.zeros(len(rows))
        self._all_tried = False
        self._seen()

    @property
    def closed(self) -> bool:
        """Whether both ends are the same."""
        return self.low >= self.best.errors

    def run(self) -> Found:
        """Search until both ends meet, or the time is up."""
        try:
            if not self.rows.strict:
                self._orthogonal(range(len(self.rows)))
            if not self.closed:
                self._take(least_squares(self.rows))
            few = self.rows.question.size <= MOST_DIMENSIONS
            if few and not self.closed and len(self.rows) <= MOST_SWEPT:
                self._sweep()
            self._by_packings()
            if not self.closed and self._all_tried:
                raise TooLarge("all hyperplanes were tried")
            while not self.closed:
                self._by_tree()
        except TooLarge:
            packing = self.pool.packed()
            self._raise(self.pool.rounded_up(packing.total()), packing)
        if not self.closed and self._all_tried:
            self._raise(self.best.errors, Exhaustive())
        return Found(self.best, self.low, self.tree, self.pool.found, self.history)

    def offer(self, weights: Row) -> bool:
        """Keep weights in whole numbers if they are better; return whether they are."""
        if not weights:
            return False
        found = self.rows.judged(weights)
        if found.errors >= self.best.errors:
            return False
        self.best = found
        self._seen()
        return True

    def _seen(self) -> None:
        self.history.append((time.monotonic() - self._began, self.low, self.best.errors))

    def _raise(self, low: int, tree: Tree) -> None:
        if low > self.low:
            self.low, self.tree = low, tree
            self._seen()

    def _orthogonal(self, groups: Sequence[int]) -> None:
        """Take weights on whose hyperplane some groups lie, if there are any."""
        span = reduced([self.rows.whole(g) for g in groups])
        free = [j for j in range(self.rows.question.size) if j not in span.rows]
        if not free:
            return
        j = free[0]
        one = span.one
        found = {p: -row[j] * (one // row[p]) for p, row in span.rows.items() if j in row}
        self.offer({j: one, **found})

    def _sweep(self) -> None:
        """Take the best hyperplane if rows span so few dimensions that all can be tried."""
        groups = range(len(self.rows))
        try:
            with limited(Task(min(seconds_left() * SHARE_OF_ALL, MOST_SECONDS))):
                found = fewest_errors(
                    [self.rows.whole(g) for g in groups], self.rows.weights, self.rows.strict
                )
        except TooLarge:
            return
        if found is not None:
            self.offer(found[1])
            self._all_tried = True

    def _by_packings(self) -> None:
        """Look for contradictions that the cheapest cover of those found does not cover."""
        doing("contradictions")
        cover, idle = np.zeros(len(self.rows)), 0
        while not self.closed and idle < MOST_IDLE:
            new = self._round(cover)
            packing, cover = self.pool.packing()
            bound = self.pool.rounded_up(packing.total())
            idle = 0 if new and (bound > self.low or idle < 2) else idle + 1
            self._raise(bound, packing)
            if not new:
                return

    def _round(self, cover: np.ndarray) -> int:
        """Add contradictions of low cost, remove a row of each until none is left, and take the
        hyperplane that separates the rest; return how many contradictions are new.
        """
        new, alive = 0, cover < 1 - 1e-9
        # of many rows take contradictions without a common row, of few all that are near
        apart = len(self.rows) > MOST_ROWS and not self.pool.found
        removed = np.zeros(len(self.rows), dtype=bool)
        while True:
            found = self._contradiction(np.flatnonzero(alive), cover)
            if found is None:
                break
            groups = np.array(found.groups)
            if cover[groups].sum() < 1 - 1e-6:
                new += self.pool.add(found)
            share = cover[groups] + NOISE * self._rng.random(len(groups))
            worst = groups[np.argmax(share / self.rows.costs[groups])]
            alive[groups if apart else worst], removed[worst] = False, True
        self._separated(~removed & (cover < 1 - 1e-9))
        return new

    def _contradiction(self, among: np.ndarray, cover: np.ndarray) -> Contradiction | None:
        noise = NOISE * self._rng.random(len(self.rows)) + 1e-3
        # every contradiction has a row that the present weights get wrong
        order = self._values[among] + self._rng.random(len(among)) * np.std(self._values)
        order = np.argsort(order, kind="stable")
        most = MOST_ROWS
        while True:
            found = contradiction(self.rows, among[np.sort(order[:most])], cover + noise)
            if found is not None or most >= len(among):
                return found
            most *= 8

    def _separated(self, alive: np.ndarray) -> None:
        """Take the hyperplane that separates some groups, improved for all of them."""
        table = self.rows.table[np.flatnonzero(alive)]
        if not table.shape[0]:
            return
        w, _ = quick_weights(table, None)
        if w is not None:
            self._take(w)

    def _take(self, w: np.ndarray) -> None:
        """Take weights of the table if they are better once they are improved."""
        self._keep(w)
        w = improved(self.rows, w, self._rng, seconds_left() * SHARE)
        self._keep(w)

    def _keep(self, w: np.ndarray) -> None:
        """Keep weights of the table if they are better."""
        if self.offer(self.rows.unscaled(w)):
            self._values = self.rows.table @ w

    def _by_tree(self) -> None:
        """Prove the next possible lower end by branching, or find a hyperplane or contradiction."""
        doing("branching")
        gap = self.best.errors - self.low
        step = max(self.rows.step, gap // 8 // self.rows.step * self.rows.step)
        try:
            tree = self.pool.proof(self.low + step)
        except Unproved as gave_up:
            before = self.best.errors
            if not self._round(gave_up.cover) and self.best.errors == before:
                self._exactly(gave_up.cover)
            return
        self._raise(self.low + step, tree)

    def _exactly(self, cover: np.ndarray) -> None:
        """Decide in whole numbers about the groups that a cover leaves; floats could not."""
        alive = np.flatnonzero(cover < 0.5).tolist()
        whole = [self.rows.whole(g) for g in alive]
        if self.rows.strict:
            weights, found = alternative(whole, Work())
        else:
            weights, found, span = exact_split(whole, Work())
            if not weights and len(span.rows) < self.rows.question.size:
                self._orthogonal(alive)
                return
        if weights:
            self.offer(weights)
            return
        groups = sorted(found)
        multipliers = tuple(found[k] for k in groups)
        self.pool.add(Contradiction(tuple(alive[k] for k in groups), multipliers))
