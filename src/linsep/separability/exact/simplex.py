"""The simplex method at growing precision, for rows that floats cannot decide.

Every number is a ball that holds the true one (Johansson, Arb, 2017), so steps are only taken on
signs that are certain; where balls are too wide, the method goes on from the same basis with more
bits. What it ends with is proved in whole numbers: Applegate, Cook, Dash and Espinoza, Exact
solutions to linear programming problems (2007).

The program: over multipliers x >= 0 that add up to 1 minimise the sum of absolute values of
``A^T x``. Its optimum is zero where the rows have a combination that vanishes. Otherwise its dual
variables are weights with ``A w > 0``.
"""

import random
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, arb_mat, ctx, fmpz_mat

from linsep.separability.exact.elimination import (
    independent,
    reduced,
    remainders,
    solution,
    vanishing,
)
from linsep.separability.problem.whole_numbers import Reduced, Row
from linsep.separability.time_limit import TooLarge, Work

PRECISIONS = (128, 512, 2048, 8192, 32768)
#: an inverse is computed anew after so many steps
MOST_AGE = 20


class Wide(Exception):
    """The balls are too wide to tell signs."""


def alternative(rows: list[Row], work: Work) -> tuple[Row | None, dict[int, Fraction]]:
    """A ``w`` that is positive on all rows, or else multipliers, {row: number}, that vanish.

    Raises
    ------
    TooLarge
        Where the arithmetic would take too long.
    """
    program = Program(rows, work)
    for precision in PRECISIONS:
        with ctx.workprec(precision):
            try:
                w = program.steps(precision)
            except Wide:
                continue
        if w is not None and program.positive(w):
            return program.unscaled(w), {}
        multipliers = program.multipliers() if w is None else None
        if multipliers is not None:
            return None, multipliers
    raise TooLarge(f"numbers of {PRECISIONS[-1]:,} bits do not decide")


class Program:
    """The program over some rows, which come near 1 by powers of two; none is all zeros.

    A basis names columns: those from 0 are rows, ``-1 - j`` and ``-1 - j - d`` are the two
    directions in which ``A^T x`` may differ from zero in column j.
    """

    def __init__(self, rows: list[Row], work: Work) -> None:
        self.work = work
        self.columns = sorted({j for row in rows for j in row})
        self.rows, self.n, self.d = rows, len(rows), len(self.columns)
        self.row_powers, self.column_powers = _powers(rows, self.columns)
        place = {j: k for k, j in enumerate(self.columns)}
        shifts = [
            {place[j]: self.row_powers[i] + self.column_powers[place[j]] for j in row}
            for i, row in enumerate(rows)
        ]
        #: one in the table
        self.unit = -min(min(shift.values()) for shift in shifts)
        entries = [0] * ((self.d + 1) * self.n)
        for i, row in enumerate(rows):
            for j, m in row.items():
                entries[place[j] * self.n + i] = m << (shifts[i][place[j]] + self.unit)
        entries[self.d * self.n :] = [1 << self.unit] * self.n
        self.table = fmpz_mat(self.d + 1, self.n, entries)
        self._begin()

    def steps(self, precision: int) -> list[int] | None:
        """Weights that balls say are positive on all rows; None where no step is certain."""
        run = Run(self, precision)
        if run.negative():
            self._begin()
            run.refresh()
        while True:
            y, values = run.prices()
            level = y[-1] * run.one
            if all(value < level for value in values):
                return _dyadic([-x for x in y[:-1]])
            entering = run.entering(values, [x * run.one for x in y[:-1]])
            if entering is not None and run.exchange(entering):
                continue
            if run.age:
                run.refresh()
            elif entering is not None or level > 0:
                raise Wide
            else:
                return None

    def _begin(self) -> None:
        """The first row alone, and what is missing to zero."""
        above = [self.table[j, 0] > 0 for j in range(self.d)]
        missing = [-1 - j - self.d if up else -1 - j for j, up in enumerate(above)]
        self.basis: list[int] = [*missing, 0]

    def column(self, k: int, table: Any, one: Any) -> list[Any]:
        """A column of the program, of the kind of numbers that are given."""
        if k >= 0:
            return [table[i, k] for i in range(self.d + 1)]
        found = [0 * one] * (self.d + 1)
        found[(-1 - k) % self.d] = one if -k <= self.d else -one
        return found

    def basic(self, table: Any, one: Any) -> list[list[Any]]:
        """The columns in the basis, as lines of a square."""
        columns = [self.column(k, table, one) for k in self.basis]
        return [list(line) for line in zip(*columns, strict=True)]

    def positive(self, w: list[int]) -> bool:
        """Whether whole numbers, weights of the scaled columns, are positive on all rows."""
        values = fmpz_mat(1, self.d + 1, [*w, 0]) * self.table
        return all(value > 0 for value in values.entries())

    def unscaled(self, w: list[int]) -> Row:
        """Weights of the columns as they are."""
        lowest = min(self.column_powers)
        powers = [power - lowest for power in self.column_powers]
        return {j: m << power for j, m, power in zip(self.columns, w, powers, strict=True) if m}

    def multipliers(self) -> dict[int, Fraction] | None:
        """Those of the rows in the basis, if exactly they are not negative and vanish."""
        size = self.d + 1
        square = fmpz_mat(self.basic(self.table, 1 << self.unit))
        solved = solution(square, fmpz_mat(size, 1, [0] * self.d + [1]))
        if solved is None:
            return None
        shares = {k: int(solved[0][i, 0]) for i, k in enumerate(self.basis)}
        if any(share < 0 or (k < 0 and share != 0) for k, share in shares.items()):
            return None
        return {
            k: Fraction(share) * Fraction(2) ** self.row_powers[k]
            for k, share in shares.items()
            if share != 0
        }


class Run:
    """Steps of a program with numbers of so many bits, by the inverse of its basis.

    The right side is a little off zero, else many steps would lead nowhere: Charnes, Optimality and
    degeneracy in linear programming (1952).
    """

    def __init__(self, program: Program, precision: int) -> None:
        self.program, self.precision = program, precision
        self.size = program.d + 1
        self.balls = arb_mat(program.table)
        self.one = arb(1 << program.unit)
        draw = random.Random(0)
        few = self.one * arb(2) ** (-precision // 3)
        right = [few * (1 + draw.random()) for _ in range(program.d)]
        self.right = arb_mat(self.size, 1, [*right, self.one])
        self.refresh()

    def refresh(self) -> None:
        """The inverse from the columns in the basis."""
        n, d = self.program.n, self.program.d
        price = self.size**3 * (6 + self.precision / 25) * 1e-9
        self.program.work.pay(price, f"{n:,} rows with {d:,} weights")
        self.age = 0
        try:
            self.inverse = arb_mat(self.program.basic(self.balls, self.one)).inv()
        except ZeroDivisionError:
            raise Wide from None

    def negative(self) -> bool:
        """Whether fewer bits have led to a basis with a number below zero."""
        return any(x < 0 for x in (self.inverse * self.right).entries())

    def prices(self) -> tuple[list[arb], list[arb]]:
        """The dual variables, and their products with the rows."""
        n, d = self.program.n, self.program.d
        price = self.size * (n + 4 * self.size) * (20 + self.precision / 25) * 1e-9
        self.program.work.pay(price, f"{n:,} rows with {d:,} weights")
        costs = arb_mat(1, self.size, [int(k < 0) for k in self.program.basis])
        y = costs * self.inverse
        return y.entries(), (y * self.balls).entries()

    def entering(self, values: list[arb], missing: list[arb]) -> int | None:
        """The column that lowers the sum most steeply, None where none does for certain."""
        d = self.program.d
        found = [(float(value), k) for k, value in enumerate(values) if value > 0]
        found += [(float(x) - 1, -1 - j) for j, x in enumerate(missing) if x > 1]
        found += [(float(-x) - 1, -1 - j - d) for j, x in enumerate(missing) if x < -1]
        return max(found)[1] if found else None

    def exchange(self, entering: int) -> bool:
        """Take a column into the basis for the one that is first to come to zero, if any is."""
        column = self.program.column(entering, self.balls, self.one)
        change = self.inverse * arb_mat(self.size, 1, column)
        x = self.inverse * self.right
        leaving, least = -1, arb(0)
        for i in range(self.size):
            if change[i, 0] > 0:
                ratio = max(x[i, 0].mid(), arb(0)) / change[i, 0].mid()
                if leaving < 0 or ratio < least:
                    leaving, least = i, ratio
        if leaving < 0:
            return False
        self.program.basis[leaving] = entering
        if self.age == MOST_AGE:
            self.refresh()
        else:
            self._update(leaving, change)
        return True

    def _update(self, leaving: int, change: arb_mat) -> None:
        """The inverse after one column has changed."""
        self.age += 1
        pivot = change[leaving, 0]
        line = [self.inverse[leaving, j] / pivot for j in range(self.size)]
        change[leaving, 0] = pivot - 1
        self.inverse = self.inverse - change * arb_mat(1, self.size, line)


def _powers(rows: list[Row], columns: list[int]) -> tuple[list[int], list[int]]:
    """Of rows and columns, the powers of two that bring the largest entry of each near 1."""
    place = {j: k for k, j in enumerate(columns)}
    sizes = np.full((len(rows), len(columns)), -np.inf)
    for i, row in enumerate(rows):
        for j, m in row.items():
            sizes[i, place[j]] = m.bit_length()
    of_rows, of_columns = np.zeros((len(rows), 1)), np.zeros((1, len(columns)))
    for _ in range(3):
        of_columns -= (sizes + of_rows + of_columns).max(axis=0, keepdims=True)
        of_rows -= (sizes + of_rows + of_columns).max(axis=1, keepdims=True)
    return of_rows.ravel().astype(int).tolist(), of_columns.ravel().astype(int).tolist()


def _dyadic(numbers: list[arb]) -> list[int]:
    """The middles of some balls, all times one power of two: whole numbers."""
    pairs = [number.mid().man_exp() for number in numbers]
    lowest = min((int(e) for m, e in pairs if m), default=0)
    return [int(m) << (int(e) - lowest) if m else 0 for m, e in pairs]


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
