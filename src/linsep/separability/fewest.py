"""The fewest errors of any hyperplane: both ends of an interval, each with its proof.

::

  rows ── contradictions ── covers (lower end) ──┐
    └──── hyperplanes (upper end) ───────────────┴── search: until they meet, or the time is up

``certificate/errors.py`` has the claim and its theory, and checks it. A contradiction of low cost
is a corner of a linear program, of at most one more row than weights (Gleeson and Ryan, Identifying
minimally infeasible subsystems of inequalities, 1990); a cover of all contradictions bounds the
errors from below (Amaldi, Pfetsch and Trotter, On the maximum feasible subsystem problem, 2003).

Hyperplanes with few errors are found by exact searches along lines: along ``w + t u`` a row changes
sides at one t, so that sorting gives the best t of all (Nguyen and Sanner, Algorithms for direct
0-1 loss optimization in binary classification, 2013); and in few dimensions by ``sweep.py``, which
tries them all.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import lsqr

from linsep.certificate.constraints import Combination, Row, Subject, in_lowest_terms
from linsep.certificate.errors import (
    MOST_DEPTH,
    MOST_DIMENSIONS,
    Branch,
    Exhaustive,
    FewestErrors,
    Packing,
    Tree,
)
from linsep.separability import sweep
from linsep.separability.data import Data, sparse_floats
from linsep.separability.exact import alternative, corner, exact_split
from linsep.separability.integers import joined_multipliers, orthogonal, reduced, remainders
from linsep.separability.programs import FINE, solved
from linsep.separability.search import quick_weights
from linsep.separability.time_limit import Task, TooLarge, Work, doing, limited, seconds_left
from linsep.separability.weighted_rows import Asked, WeightedRows

#: a search has this many seconds even if the verdict took all of them
SHORTEST = 1e-3
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
#: directions without success after which a hyperplane is left as it is, for each weight
PATIENCE = 6
#: values below this share of the largest are on the hyperplane
ZERO = 1e-12
#: shares below this are zero
TINY = 1e-9
#: largest denominator of a share of an exact packing
MOST_PARTS = 1_000
#: positive multipliers of the whole numbers of groups of rows, whose combination vanishes
Contradiction = dict[int, Fraction]


def fewest_errors(
    data: Data, subject: Subject, asked: Asked, start: Row | None, seconds: float
) -> FewestErrors:
    """Return the interval that was reached, with its proofs.

    All rows are read into memory; ``start`` holds weights in whole numbers to begin with.
    """
    rows = WeightedRows(data, subject, asked)
    search = Search(rows, start)
    with limited(Task(max(seconds, SHORTEST))):
        search.run()
    best, found, copies = search.best, search.pool.found, rows.copies
    parts: dict[int, int] = {}  # the contradictions that are used, with their numbers in the proof
    groups: set[int] = set()

    def of_rows(tree: Tree) -> Tree:
        if isinstance(tree, Branch):
            groups.add(tree.row)
            return Branch(copies[tree.row][0], of_rows(tree.wrong), of_rows(tree.right))
        shares = sorted(tree.shares.items())
        return Packing({parts.setdefault(s, len(parts)): share for s, share in shares})

    def combination(one: Contradiction) -> Combination:
        groups.update(one)
        exact = {copies[g][0]: x / rows.members[g].whole[1] for g, x in one.items()}
        whole = in_lowest_terms(dict(sorted(exact.items())))
        return Combination(tuple(whole), (0,) * len(whole), tuple(whole.values()))

    tree = search.tree if isinstance(search.tree, Exhaustive) else of_rows(search.tree)
    unit = asked.unit
    chosen = tuple(combination(found[s]) for s in parts)
    return FewestErrors(
        asked.strict, unit, None if asked.weights is None else tuple(asked.weights),
        search.low, best.errors, in_lowest_terms(best.weights), best.rows,
        tuple(tuple(copies[g]) for g in sorted(groups) if len(copies[g]) > 1), chosen, tree,
        tuple((when, float(low * unit), float(high * unit)) for when, low, high in search.history),
    )  # fmt: skip


class Search:
    """One search, which ends when both ends meet or the time is up.

    The upper end is ``best``, the lower end ``low``, in the unit of weights, which ``tree`` proves
    by contradictions of the ``pool``. ``history`` has (seconds, low, high) of every change.
    """

    def __init__(self, rows: WeightedRows, start: Row | None = None) -> None:
        self.rows, self.pool = rows, Pool(rows)
        self._rng = np.random.default_rng(0)
        self._began = time.monotonic()
        self.low = 0
        self.tree: Tree | Exhaustive = Packing({})
        self.history: list[tuple[float, int, int]] = []
        last = rows.subject.size - 1
        self.best = rows.judged(start or ({} if rows.strict else {last: 1}))
        self._values = np.zeros(len(rows))
        self._seen()

    @property
    def closed(self) -> bool:
        """Whether both ends are the same."""
        return self.low >= self.best.errors

    def run(self) -> None:
        """Search until both ends meet, or the time is up."""
        every, all_tried = range(len(self.rows)), False
        try:
            if not self.rows.strict:
                self._orthogonal(every)
            if not self.closed:
                w = lsqr(self.rows.table, np.ones(len(every)), iter_lim=100)[0]
                self._take(w if np.isfinite(w).all() else np.zeros(len(w)))
            few = self.rows.subject.size <= MOST_DIMENSIONS and len(every) <= MOST_SWEPT
            if few and not self.closed:
                all_tried = self._sweep()
            self._by_packings()
            while not self.closed and not all_tried:
                self._by_tree()
        except TooLarge:
            packing = self.pool.packed()
            self._raise(self.pool.rounded_up(packing.total()), packing)
        if all_tried:
            self._raise(self.best.errors, Exhaustive())

    def _seen(self) -> None:
        self.history.append((time.monotonic() - self._began, self.low, self.best.errors))

    def _offer(self, weights: Row) -> bool:
        """Keep weights in whole numbers if they are better; return whether they are."""
        found = self.rows.judged(weights)
        if not weights or found.errors >= self.best.errors:
            return False
        self.best = found
        self._seen()
        return True

    def _raise(self, low: int, tree: Tree | Exhaustive) -> None:
        if low > self.low:
            self.low, self.tree = low, tree
            self._seen()

    def _orthogonal(self, groups: Sequence[int]) -> bool:
        """Take weights on whose hyperplane some groups lie; return whether there are any."""
        span = reduced([self.rows.whole(g) for g in groups])
        free = [j for j in range(self.rows.subject.size) if j not in span.rows]
        if free:
            self._offer(orthogonal(span, {free[0]: 1}))
        return bool(free)

    def _sweep(self) -> bool:
        """Take the best of all hyperplanes; return whether all were tried."""
        whole = [self.rows.whole(g) for g in range(len(self.rows))]
        try:
            with limited(Task(min(seconds_left() * SHARE_OF_ALL, MOST_SECONDS))):
                found = sweep.fewest_errors(whole, self.rows.weights, self.rows.strict)
        except TooLarge:
            return False
        if found is not None:
            self._offer(found[1])
        return found is not None

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

    def _by_tree(self) -> None:
        """Prove the next possible lower end by branching, or find a hyperplane or contradiction."""
        doing("branching")
        gap = self.best.errors - self.low
        step = max(self.rows.step, gap // 8 // self.rows.step * self.rows.step)
        try:
            self._raise(self.low + step, self.pool.proof(self.low + step))
        except Unproved as gave_up:
            (cover,), before = gave_up.args, self.best.errors
            if not self._round(cover) and self.best.errors == before:
                self._exactly(cover)

    def _round(self, cover: np.ndarray) -> int:
        """Add contradictions of low cost, remove a row of each until none is left, and take the
        hyperplane that separates the rest; return how many contradictions are new.
        """
        new, alive = 0, cover < 1 - 1e-9
        # of many rows take contradictions without a common row, of few all that are near
        apart = len(self.rows) > MOST_ROWS and not self.pool.found
        removed = ~alive
        while (found := self._contradiction(np.flatnonzero(alive), cover)) is not None:
            groups = np.array(list(found))
            if cover[groups].sum() < 1 - 1e-6:
                new += self.pool.add(found)
            share = cover[groups] + NOISE * self._rng.random(len(groups))
            worst = groups[np.argmax(share / self.rows.costs[groups])]
            alive[groups if apart else worst], removed[worst] = False, True
        w = None if removed.all() else quick_weights(self.rows.table[~removed], None)[0]
        if w is not None:
            self._take(w)
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

    def _take(self, w: np.ndarray) -> None:
        """Take weights of the table if they are better, now or once they are improved."""
        for chosen in (w, self._improved(w)):
            if self._offer(self.rows.unscaled(chosen)):
                self._values = self.rows.table @ chosen

    def _improved(self, w: np.ndarray) -> np.ndarray:
        """Return weights of the table with no more errors than the given ones, by the best steps
        along the axes, rows that are wrong, and random directions.
        """
        until = time.monotonic() + seconds_left() * SHARE
        A, costs, size, rng = self.rows.table, self.rows.costs, len(w), self._rng

        def cost(values: np.ndarray) -> float:
            return float(costs[values <= ZERO * np.abs(values).max(initial=0.0)].sum())

        values, idle = A @ w, 0
        best = cost(values)
        while idle < PATIENCE * size and best > 0 and time.monotonic() < until:
            wrong = np.flatnonzero(values <= 0)
            if idle < size:
                u = np.eye(1, size, idle)[0]
            elif idle % 2 and wrong.size:
                u = np.ravel(A[int(rng.choice(wrong))].toarray())
            else:
                u = rng.standard_normal(size)
            idle += 1
            moved = w + _best_step(values, A @ u, costs) * u
            found = cost(A @ moved)
            # a step that changes nothing is taken too: the next direction starts elsewhere
            if found <= best + 1e-12:
                idle = 0 if found < best - 1e-12 else idle
                w = moved / (np.abs(moved).max() or 1.0)
                values, best = A @ w, found
        return w

    def _exactly(self, cover: np.ndarray) -> None:
        """Decide in whole numbers about the groups that a cover leaves; floats could not."""
        alive = np.flatnonzero(cover < 0.5).tolist()
        whole = [self.rows.whole(g) for g in alive]
        if self.rows.strict:
            weights, found = alternative(whole, Work())
        else:
            weights, found, span = exact_split(whole, Work())
            if not weights and len(span.rows) < self.rows.subject.size:
                self._orthogonal(alive)
                return
        if weights:
            self._offer(weights)
            return
        self.pool.add({alive[k]: found[k] for k in sorted(found)})


def _best_step(values: np.ndarray, slopes: np.ndarray, costs: np.ndarray) -> float:
    """Return the t with the least cost of rows with ``values + t slopes <= 0``, in the middle of
    the widest of the best intervals; 0 if no row depends on t.
    """
    moves = np.abs(slopes) > ZERO
    if not moves.any():
        return 0.0
    at, up = -values[moves] / slopes[moves], slopes[moves] > 0
    order = np.argsort(at, kind="stable")
    at, change = at[order], np.where(up, -1.0, 1.0)[order] * costs[moves][order]
    cost = costs[moves][up].sum() + np.append(0.0, np.cumsum(change))
    reach = np.abs(at).max() + 1.0
    ends = np.concatenate([[-2 * reach], at, [2 * reach]])
    width = np.diff(ends)
    wide = width > ZERO * reach
    k = int(np.argmax(np.where(wide & (cost <= cost[wide].min() + 1e-12), width, -1.0)))
    return float((ends[k] + ends[k + 1]) / 2)


def contradiction(rows: WeightedRows, among: np.ndarray, cost: np.ndarray) -> Contradiction | None:
    """Return a contradiction among some groups, of low cost; None if floats find none.

    If it must span all weights, rows are added that vanish together modulo the span of those
    before; as these have a vanishing positive combination, some multiple of it makes all
    multipliers positive.
    """
    multipliers: dict[int, Fraction] = {}
    if rows.strict:
        found = corner(rows.table[among], cost[among], lambda k: rows.whole(int(among[k])))
        multipliers = {int(among[k]): x for k, x in (found or {}).items()}
    span = reduced([])
    while not rows.strict and len(span.rows) < rows.subject.size:
        left = [g for g in among.tolist() if g not in multipliers]
        rests = zip(left, remainders([rows.whole(g) for g in left], span), strict=True)
        outside = [(g, row, factor) for g, (row, factor) in rests if row]
        table = sparse_floats([row for _, row, _ in outside], rows.subject.size)
        prices = cost[[g for g, *_ in outside]]
        found = corner(table, prices, lambda k: outside[k][1])  # noqa: B023
        if found is None:
            return None
        more = {outside[k][0]: x * outside[k][2] for k, x in found.items()}
        whole = {g: rows.whole(g) for g in (*multipliers, *more)}
        multipliers = joined_multipliers(whole, multipliers, more)
        span = reduced(list(whole.values()))
    return dict(sorted(multipliers.items())) or None


class Unproved(Exception):
    """The argument, a cover in whole rows, is cheaper than the target."""


class Pool:
    """All contradictions that were found, each once."""

    def __init__(self, rows: WeightedRows) -> None:
        self.rows = rows
        self.found: list[Contradiction] = []
        self._known: set[tuple[int, ...]] = set()

    def add(self, new: Contradiction) -> bool:
        """Add a contradiction; return whether it is new."""
        if tuple(new) in self._known:
            return False
        self._known.add(tuple(new))
        self.found.append(new)
        return True

    def packing(
        self, wrong: frozenset[int] = frozenset(), right: frozenset[int] = frozenset()
    ) -> tuple[Packing, np.ndarray]:
        """Return an exact packing, nearly the best, and the cover that is its dual.

        Wrong groups cover their contradictions; right groups cover none.
        """
        cover = np.zeros(len(self.rows))
        cover[list(wrong)] = 1.0
        free = {
            s: [g for g in one if g not in right]
            for s, one in enumerate(self.found)
            if wrong.isdisjoint(one)
        }
        for s, groups in free.items():
            if not groups:  # these rows cannot all be right: any bound holds
                return Packing({s: Fraction(sum(self.rows.weights) + 1)}), cover
        if not free:
            return Packing({}), cover
        columns = [g for groups in free.values() for g in groups]
        starts = np.cumsum([0, *map(len, free.values())])
        M = sp.csr_matrix((np.ones(len(columns)), columns, starts), (len(free), len(cover)))
        used = np.unique(columns)
        result = solved(self.rows.costs[used], M[:, used], (1.0, np.inf), (0.0, np.inf), FINE)
        assert result is not None
        cover[used] = result.x
        return self._exact(dict(zip(free, result.multipliers.tolist(), strict=True)), free), cover

    def packed(self) -> Packing:
        """Return a packing without a linear program: all that has room, one after another."""
        return self._exact({}, dict(enumerate(map(list, self.found))))

    def _exact(self, shares: dict[int, float], free: Mapping[int, Sequence[int]]) -> Packing:
        """Return exact shares near the given ones, the largest first, that no row exceeds."""
        top = max(self.rows.weights, default=0)
        room = {g: Fraction(self.rows.weights[g]) for groups in free.values() for g in groups}
        wanted = [
            (s, Fraction(x).limit_denominator(MOST_PARTS) * top)
            for s, x in sorted(shares.items(), key=lambda pair: -pair[1])
            if x > TINY
        ]
        found: dict[int, Fraction] = {}
        for s, share in (*wanted, *((s, Fraction(top)) for s in free)):
            more = min(share, *(room[g] for g in free[s]))
            if more > 0:
                found[s] = found.get(s, Fraction(0)) + more
                for g in free[s]:
                    room[g] -= more
        return Packing(found)

    def rounded_up(self, bound: Fraction) -> int:
        """Return the least sum of weights that is not below a bound."""
        step = self.rows.step
        return -int(-bound // step) * step

    def proof(
        self, target: int, wrong: frozenset[int] = frozenset(), right: frozenset[int] = frozenset()
    ) -> Tree:
        """Return a tree that proves that no hyperplane's errors weigh less than the target; raise
        :class:`Unproved` if a cover does.
        """
        if len(wrong) + len(right) > MOST_DEPTH:
            raise TooLarge(f"a proof is deeper than {MOST_DEPTH} branches")
        paid = sum(self.rows.weights[g] for g in wrong)
        if paid >= target:
            return Packing({})
        packing, cover = self.packing(wrong, right)
        if self.rounded_up(paid + packing.total()) >= target:
            return packing
        undecided = np.flatnonzero((cover > 1e-6) & (cover < 1 - 1e-6))
        if not undecided.size:
            raise Unproved(cover)
        near = np.abs(cover[undecided] - 0.5) - 1e-3 * self.rows.costs[undecided]
        g = int(undecided[np.argmin(near)])
        first = self.proof(target, wrong | {g}, right)
        return Branch(g, first, self.proof(target, wrong, right | {g}))
