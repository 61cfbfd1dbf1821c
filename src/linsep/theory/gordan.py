"""The simplex method in exact arithmetic, for small sets of rows that floats cannot decide.

Gordan's theorem (1873): either some w has ``<w, a> > 0`` for all rows, or some rows with positive
multipliers add up to zero. Bland's rule (1977) keeps it from going round in circles.
"""

from fractions import Fraction

from flint import fmpq

from linsep.theory.elimination import independent, reduced, vanishing
from linsep.theory.row_space import Reduced, to_whole
from linsep.theory.whole import Row

#: numbers of the largest table that is tried, and how many steps
MOST_CELLS, MOST_STEPS = 60_000, 4_000


class TooLarge(Exception):
    """The rows are too many, or too long, to be decided exactly in reasonable time."""


def alternative(rows: list[Row]) -> tuple[Row | None, dict[int, Fraction]]:
    """A ``w`` that is positive on all rows, or else multipliers, {row: number}, that vanish.

    Minimises the sum of artificial variables z over multipliers x >= 0 subject to
    ``A^T x + z = 0`` and ``sum x + z = 1``.
    """
    columns = sorted({j for row in rows for j in row})
    n, m = len(rows), len(columns) + 1
    if (n + m + 1) * m > MOST_CELLS:
        raise TooLarge(f"{n} rows with {m - 1} weights")
    table = [[fmpq(row.get(j, 0)) for row in rows] for j in columns] + [[fmpq(1)] * n]
    for i in range(m):
        table[i] += [fmpq(int(i == k)) for k in range(m)] + [fmpq(int(i == m - 1))]
    basis = [n + i for i in range(m)]
    costs = [sum((line[k] for line in table), fmpq(0)) for k in range(n)]
    costs += [fmpq(0)] * m + [fmpq(1)]
    _solve(table, costs, basis, n)
    if costs[-1] > 0:
        w = {j: -1 - Fraction(int(c.p), int(c.q)) for j, c in zip(columns, costs[n:], strict=False)}
        return to_whole(w), {}
    inside = [(k, line[-1]) for k, line in zip(basis, table, strict=True) if k < n and line[-1] > 0]
    return None, {k: Fraction(int(x.p), int(x.q)) for k, x in inside}


def _solve(table: list[list[fmpq]], costs: list[fmpq], basis: list[int], n: int) -> None:
    for _ in range(MOST_STEPS):
        entering = next((k for k in range(n) if costs[k] > 0), None)
        if entering is None:
            return
        ratios = [
            (line[-1] / line[entering], basis[i], i)
            for i, line in enumerate(table)
            if line[entering] > 0
        ]
        place = min(ratios)[2]
        basis[place] = entering
        _pivot(table, costs, place, entering)
    raise TooLarge(f"{MOST_STEPS} steps")


def _pivot(table: list[list[fmpq]], costs: list[fmpq], place: int, entering: int) -> None:
    one = 1 / table[place][entering]
    table[place] = turned = [x * one if x else x for x in table[place]]
    for i, line in enumerate([*table, costs]):
        factor = line[entering]
        if i != place and factor:
            for k, x in enumerate(turned):
                if x:
                    line[k] -= factor * x


def exact_split(rows: list[Row]) -> tuple[Row, dict[int, Fraction], Reduced]:
    """One weight vector and one combination that split the rows, both exact.

    Each round finds a combination that vanishes, and goes on in the space orthogonal to its rows:
    facial reduction (Borwein and Wolkowicz, 1981). Returns w, which is positive on every row
    outside the row space of those with multipliers, the multipliers, and that space.
    """
    multipliers: dict[int, Fraction] = {}
    span = Reduced({})
    while True:
        left = {i: to_whole(r) for i, row in enumerate(rows) if (r := span.remainder(row))}
        zero = [i for i, row in enumerate(rows) if not row and i not in multipliers]
        multipliers.update((i, Fraction(1)) for i in zero)
        if not left:
            return {}, multipliers, span
        numbers = list(left)
        w, more = alternative([left[i] for i in numbers])
        if w is not None:
            return span.orthogonal(w), multipliers, span
        # remainders are rows times positive numbers: take the rows as they are
        scaled = {numbers[k]: x * _scale(rows[numbers[k]], span) for k, x in more.items()}
        multipliers = _joined(rows, multipliers, scaled)
        span = reduced([rows[i] for i in multipliers])


def _scale(row: Row, span: Reduced) -> Fraction:
    """How many times the remainder of a row its whole numbers are."""
    remainder = span.remainder(row)
    j = next(iter(remainder))
    return to_whole(remainder)[j] / remainder[j]


def _joined(
    rows: list[Row], old: dict[int, Fraction], new: dict[int, Fraction]
) -> dict[int, Fraction]:
    """Positive multipliers over old rows and new that vanish, as the new do beside the old."""
    inside = [i for i in old if rows[i]]
    if not inside:
        return old | new
    basis = [inside[k] for k in independent([rows[i] for i in inside])]
    numbers = basis + list(new)
    start = [Fraction(0)] * len(basis) + list(new.values())
    span = reduced([rows[i] for i in basis])
    exact = vanishing([rows[i] for i in numbers], start, span, list(range(len(basis))))
    assert exact is not None
    change = dict(zip(basis, exact, strict=False))
    most = max((-x / old[i] for i, x in change.items()), default=Fraction(0))
    factor = max(Fraction(1), most + 1)
    return {i: x * factor + change.get(i, 0) for i, x in old.items()} | new
