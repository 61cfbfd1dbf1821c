"""The fewest errors of any hyperplane, exactly, where rows span at most three dimensions.

Rows are normals of planes through 0, which cut the space of weights into cells of equal errors. In
two dimensions w goes round a circle and crosses one line after another. In three a cell has a side
on one of the planes, where it is a cell of the lines in which the others meet it. Where rows on the
hyperplane are no errors, a corner of a cell is as good as its inside.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import gcd, inf
from operator import mul

from linsep.certificate.constraints import Row
from linsep.separability.integers import reduced
from linsep.separability.time_limit import check_time

#: the most dimensions that rows may span
MOST_RANK = 3
Vector = tuple[int, ...]
#: errors on the positive and the negative side of planes, by their normals in lowest terms, the
#: first number of which that is not zero is positive
Planes = dict[Vector, tuple[int, int]]


def fewest_errors(
    rows: Sequence[Row], amounts: Sequence[int], strict: bool = True
) -> tuple[int, Row] | None:
    """Return the least total amount of errors of any weights, and such weights; None if rows span
    too many dimensions.

    The rows are sign-flipped, each times any positive number. Those with ``<a, w> == 0`` are errors
    if ``strict``; if not, w is not zero, and the rows span the space of all weights.
    """
    columns = sorted(reduced([*rows]).rows)
    if len(columns) > MOST_RANK:
        return None
    planes: Planes = {}
    for row, amount in zip(rows, amounts, strict=True):
        if row:
            _add(planes, tuple(row.get(j, 0) for j in columns), (0, amount))
    errors, w = _least(planes, len(columns), strict)
    zeros = strict * sum(c for row, c in zip(rows, amounts, strict=True) if not row)
    return errors + zeros, {j: m for j, m in zip(columns, w, strict=True) if m}


def _add(planes: Planes, normal: Vector, errors: tuple[int, int]) -> None:
    common = gcd(*normal)
    if not common:
        return
    if next(x for x in normal if x) < 0:
        common, errors = -common, errors[::-1]
    key = tuple(x // common for x in normal)
    there = planes.get(key, (0, 0))
    planes[key] = there[0] + errors[0], there[1] + errors[1]


def _least(planes: Planes, rank: int, strict: bool) -> tuple[int, Vector]:
    """Return the fewest errors of planes that span a space of this rank, and where."""
    if rank == 0:
        return 0, ()
    if rank == 1:
        ((above, below),) = planes.values()
        return min((above, (1,)), (below, (-1,)))
    if rank == 2:
        return _round(planes, strict)
    best = sum(map(sum, planes.values())) + 1, (0,) * rank
    for plane, errors in planes.items():
        check_time()
        pivot = next(j for j, x in enumerate(plane) if x)
        others = [j for j in range(rank) if j != pivot]
        lines: Planes = {}
        for a, of_a in planes.items():
            _add(lines, tuple(plane[pivot] * a[j] - plane[j] * a[pivot] for j in others), of_a)
        found, there = _least(lines, rank - 1, strict)
        found += strict * min(errors)
        if found < best[0]:
            w = [plane[pivot] * x for x in there]
            w.insert(pivot, -sum(plane[j] * x for j, x in zip(others, there, strict=True)))
            if strict:  # off the plane, but on the same side of all others
                rest = [a for a in planes if a != plane]
                values = [(sum(map(mul, a, plane)), sum(map(mul, a, w))) for a in rest]
                times = 1 + max((abs(p) // abs(q) for p, q in values), default=0)
                side = 1 if errors[0] <= errors[1] else -1
                w = [times * x + side * p for x, p in zip(w, plane, strict=True)]
            best = found, tuple(w)
    return best


def _round(planes: Planes, strict: bool) -> tuple[int, Vector]:
    """Return the fewest errors round a circle: between lines (strict), or on one of them."""
    order = sorted(planes, key=lambda a: Fraction(a[1], a[0]) if a[0] else inf)
    total = sum(map(sum, planes.values()))
    now = sum(planes[a][0] for a in order)  # on the positive sides of all of them
    best = total + 1, (0, 0)
    for k, (x, y) in enumerate(order):
        above, below = planes[x, y]
        w, here, opposite = (-y, x), now - above, total - now - below
        now += below - above
        if strict:  # half way to the next line: to the first one's other side after the last
            side = 1 if k + 1 < len(order) else -1
            p, q = order[(k + 1) % len(order)]
            w, here, opposite = (-y - side * q, x + side * p), now, total - now
        best = min(best, (here, w), (opposite, (-w[0], -w[1])))
    return best
