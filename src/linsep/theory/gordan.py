"""Exact splits of small sets of rows that floats cannot decide: Gordan's theorem, again and again.

Gordan (1873): either some w has ``<w, a> > 0`` for all rows, or some rows with positive multipliers
add up to zero.
"""

from fractions import Fraction

from linsep.theory.elimination import independent, reduced, remainders, vanishing
from linsep.theory.row_space import Reduced
from linsep.theory.simplex import alternative
from linsep.theory.whole import Row
from linsep.theory.work import Work


def exact_split(rows: list[Row], work: Work) -> tuple[Row, dict[int, Fraction], Reduced]:
    """One weight vector and one combination that split the rows, both exact.

    Each round finds a combination that vanishes, and goes on in the space orthogonal to its rows:
    facial reduction (Borwein and Wolkowicz, 1981). Returns w, which is positive on every row
    outside the row space of those with multipliers, the multipliers, and that space.
    """
    multipliers: dict[int, Fraction] = {}
    span = Reduced({})
    while True:
        left = {i: row for i, row in enumerate(remainders(rows, span)) if row[0]}
        zero = [i for i, row in enumerate(rows) if not row and i not in multipliers]
        multipliers.update((i, Fraction(1)) for i in zero)
        if not left:
            return {}, multipliers, span
        numbers = list(left)
        w, more = alternative([left[i][0] for i in numbers], work)
        if w is not None:
            return span.orthogonal(w), multipliers, span
        # remainders are rows times positive numbers: take the rows as they are
        scaled = {numbers[k]: x * left[numbers[k]][1] for k, x in more.items()}
        multipliers = _joined(rows, multipliers, scaled)
        span = reduced([rows[i] for i in multipliers])


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
    more = dict(zip(new, exact[len(basis) :], strict=True))
    most = max((-x / old[i] for i, x in change.items()), default=Fraction(0))
    factor = max(Fraction(1), most + 1)
    return {i: x * factor + change.get(i, 0) for i, x in old.items()} | more
