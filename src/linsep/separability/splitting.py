"""The exact split of rows: guessed by a linear program and proved, or by the simplex method.

Goldman and Tucker (1956): any set of rows has a unique partition into *free* and *bound* rows such
that some weights w are positive on the free rows and zero on the bound ones, and a combination with
positive multipliers on all bound rows vanishes. All free: separable. All bound: overlapping. Both:
quasi-separable.

For rows that floats cannot decide the simplex method works in increasing precision. Numbers are
balls that contain the exact value (Johansson, Arb, 2017), so that steps depend only on certain
signs; if balls are too wide, the method continues from the same basis with more bits. The result is
proved in integers: Applegate, Cook, Dash and Espinoza, Exact solutions to linear programming
problems (2007). The program: over multipliers x >= 0 that sum to 1, minimize the sum of absolute
values of ``A^T x``. The optimum is zero if a combination of the rows vanishes. Otherwise the dual
variables are weights with ``A w > 0``.
"""

import random
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from flint import arb, arb_mat, ctx, fmpz_mat

from linsep._system.threads import one_precision
from linsep.certificate.constraints import Question
from linsep.certificate.integers import Row, Space, dot, whole_numbers
from linsep.separability.data import dense_floats
from linsep.separability.elimination import (
    far_apart,
    independent,
    null_combination,
    orthogonal,
    reduced,
    remainders,
    solution,
    vanishing,
)
from linsep.separability.programs import Split, few_rows, split
from linsep.separability.time_limit import TooLarge, Work
from linsep.separability.working_set import Member, WorkingSet, members_outside

PRECISIONS = (128, 512, 2048, 8192, 32768)
#: steps after which the inverse is recomputed
MOST_AGE = 20


class Proof(NamedTuple):
    """Both sides of the theorem.

    Attributes
    ----------
    direction : Row
        Integers, positive on the free rows and zero on the bound ones.
    members : list of Member
        Bound rows that span the space of all of them.
    multipliers : list of Fraction
        Positive; the members times these add up to zero.
    span : Space
        The span of the bound rows.
    """

    direction: Row
    members: list[Member]
    multipliers: list[Fraction]
    span: Space


def proved(working: WorkingSet, guess: Split | None) -> Proof:
    """Return the exact split of the working set, near the guess if it is right.

    Raises
    ------
    TooLarge
        If the guess is wrong and there are too many members for exact arithmetic alone.
    """
    for another in (guess, None):
        near = another or split(working.table())
        proof = None if near is None else _near(working, near)
        if proof is not None:
            return proof
    members = working.members
    direction, multipliers, span = exact_split(
        [member.whole[0] for member in members], working.work
    )
    used = [members[i] for i in multipliers]
    return Proof(direction, used, true_scale(used, list(multipliers.values())), span)


def _near(working: WorkingSet, guess: Split) -> Proof | None:
    table = working.table()
    bound, free = np.flatnonzero(~guess.free), np.flatnonzero(guess.free)
    members = [working.members[i] for i in bound]
    span, basis = spanned(members, table[bound], working.question)
    multipliers = _multipliers(members, table[bound], span, basis) if members else {}
    if multipliers is None:
        return None
    weights = {j: w for j, w in enumerate(guess.w.tolist()) if w and j not in span.rows}
    direction = _direction([working.members[i] for i in free], table[free], weights, span)
    if direction is None:
        return None
    chosen = [members[k] for k in multipliers]
    return Proof(direction, chosen, true_scale(chosen, list(multipliers.values())), span)


def spanned(members: list[Member], A: sp.csr_matrix, question: Question) -> tuple[Space, list[int]]:
    """Return the span of some rows, and the indices of a basis among them."""
    if not members:
        return Space({}), []
    some = A[: 3 * question.size + 8]
    basis = far_apart(some).tolist()
    while True:
        rows = [members[i].whole[0] for i in basis]
        basis = [basis[k] for k in independent(rows)]  # independent in floats only
        span = reduced(rows)
        outside = members_outside(span, question, members, A)
        if not outside.any():
            return span, basis
        basis += np.flatnonzero(outside)[: question.size].tolist()


def _multipliers(
    members: list[Member], A: sp.csr_matrix, span: Space, basis: list[int]
) -> dict[int, Fraction] | None:
    """Return exact multipliers of few rows that span the space, or None if floats fail."""
    if not span.rows:
        return dict.fromkeys(range(len(members)), Fraction(1))  # rows of zeros
    floor = np.zeros(len(members))
    floor[basis] = 1.0
    floats = few_rows(A, floor)
    if floats is None:
        return None
    used = np.flatnonzero(floats).tolist()
    start = [Fraction(floats[i]) * members[i].whole[1] for i in used]
    places = {i: k for k, i in enumerate(used)}
    if not places.keys() >= set(basis):
        return None
    rows = [members[i].whole[0] for i in used]
    exact = vanishing(rows, start, span, [places[i] for i in basis])
    return None if exact is None or min(exact) <= 0 else dict(zip(used, exact, strict=True))


def _direction(
    members: list[Member], A: sp.csr_matrix, weights: dict[int, float], span: Space
) -> Row | None:
    """Return integers near the weights, with the fewest sufficient digits, or None."""
    if not members:
        return {}
    for direction in roundings(weights, span):
        if all_positive(members, A, direction):
            return direction
    return None


def roundings(weights: dict[int, float], span: Space) -> Iterator[Row]:
    """Yield integer vectors ever closer to the weights, orthogonal to a space."""
    columns, floats = list(weights), np.array(list(weights.values()))
    mantissas, exponents = np.frexp(floats)
    for bits in (4, 10, 24, 53):
        rounded = np.ldexp(np.round(np.ldexp(mantissas, bits)), exponents - bits)
        whole, _ = whole_numbers(rounded)
        yield orthogonal(span, {j: m for j, m in zip(columns, whole, strict=True) if m})


def all_positive(members: list[Member], A: sp.csr_matrix, direction: Row) -> bool:
    """Return whether all rows have positive products, decided in floats where they are certain."""
    w, sizes = dense_floats(direction, A.shape[1]), abs(A)
    with np.errstate(all="ignore"):
        value, reach = A @ w, sizes @ np.abs(w)
        # weights that underflow, times the row
        tiny = 2.0**-1000 * (1 + np.asarray(sizes.sum(axis=1)).ravel())
        sure = np.isfinite(value) & (value > 4 * A.shape[1] * 2.0**-53 * reach + tiny)
    return all(dot(members[i].whole[0], direction) > 0 for i in np.flatnonzero(~sure))


def true_scale(members: list[Member], multipliers: list[Fraction]) -> list[Fraction]:
    """Return the multipliers of the rows, from the multipliers of their integers."""
    scaled = zip(members, multipliers, strict=True)
    return [x / member.whole[1] for member, x in scaled]


def crossing(working: WorkingSet, last: np.ndarray) -> Proof | None:
    """Return the proof that nothing separates by one row more than there are weights, which span
    them all: those of the ``last`` multipliers, or by a linear program; None if floats find none.
    """
    size = working.question.size
    everything = Space({j: {j: 1} for j in range(size)})
    start = [Fraction(0)] * size + [Fraction(1)]
    for given in (last, None):
        floats = few_rows(working.table(), np.zeros(len(working))) if given is None else given
        if floats is None or np.count_nonzero(floats) != size + 1:
            continue
        members = [working.members[i] for i in np.flatnonzero(floats)]
        rows = [member.whole[0] for member in members]
        exact = vanishing(rows, start, everything, list(range(size)))
        if exact is not None and min(exact) > 0:
            return Proof({}, members, true_scale(members, exact), everything)
    return None


def witness(proof: Proof, A: sp.csr_matrix, members: list[Member]) -> Proof:
    """Return a proof with few rows that nothing separates: at most one more than weights.

    ``A`` holds the floats of the bound ``members``, among which the rows are chosen.
    """
    if len(members) == len(proof.members) == len(proof.span.rows) + 1:
        return proof  # no other combination of these rows vanishes
    floats = few_rows(A, np.zeros(len(members)))
    if floats is not None:
        used = [members[i] for i in np.flatnonzero(floats)]
        found = signed(null_combination([member.whole[0] for member in used]))
        if found is not None:
            return proof._replace(members=used, multipliers=true_scale(used, found))
    try:
        return _corner(proof, members)
    except TooLarge:
        return _reduced_support(proof)


def _corner(proof: Proof, members: list[Member]) -> Proof:
    """Return the basis of the exact simplex method: at most one more row than weights."""
    empty = [member for member in members if not member.whole[0]]
    if empty:
        return proof._replace(members=empty[:1], multipliers=[Fraction(1)])
    _, found = alternative([member.whole[0] for member in members], Work())
    used = [members[i] for i in found]
    return proof._replace(members=used, multipliers=true_scale(used, list(found.values())))


def signed(multipliers: list[Fraction] | None) -> list[Fraction] | None:
    """Return multipliers of one sign as positive ones, else None."""
    if multipliers is None or not all(multipliers):
        return None
    if all(x < 0 for x in multipliers):
        return [-x for x in multipliers]
    return multipliers if all(x > 0 for x in multipliers) else None


def _reduced_support(proof: Proof) -> Proof:
    """Remove rows one by one, by Caratheodory's theorem (1907)."""
    members, x = list(proof.members), list(proof.multipliers)
    while True:
        rows = [member.whole[0] for member in members]
        first = _first_dependent(rows)
        null = null_combination(rows[: first + 1])
        assert null is not None
        change = true_scale(members[: first + 1], null)
        if len(members) == first + 1:
            return proof._replace(members=members, multipliers=x)
        if max(change) <= 0:
            change = [-c for c in change]
        step = min(x[i] / c for i, c in enumerate(change) if c > 0)
        x = [x[i] - step * c for i, c in enumerate(change)] + x[first + 1 :]
        members = [member for member, m in zip(members, x, strict=True) if m]
        x = [m for m in x if m]


def _first_dependent(rows: list[Row]) -> int:
    """Return the index of the first row in the span of the rows before it."""
    basis = independent(rows)
    return next((i for i, k in enumerate(basis) if i != k), len(basis))


class BallsTooWide(Exception):
    """The balls are too wide to determine signs."""


def alternative(rows: list[Row], work: Work) -> tuple[Row | None, dict[int, Fraction]]:
    """Return a ``w`` that is positive on all rows, or multipliers {row: number} that vanish.

    Raises
    ------
    TooLarge
        If the arithmetic would take too long.
    """
    program = ExactProgram(rows, work)
    for precision in PRECISIONS:
        with one_precision, ctx.workprec(precision):
            try:
                w = program.steps(precision)
            except BallsTooWide:
                continue
        if w is not None and program.positive(w):
            return program.unscaled(w), {}
        multipliers = program.multipliers() if w is None else None
        if multipliers is not None:
            return None, multipliers
    raise TooLarge(f"numbers of {PRECISIONS[-1]:,} bits do not decide")


class ExactProgram:
    """The program over some nonzero rows, which are scaled by powers of two to entries near 1.

    A basis is a list of columns: those from 0 are rows, ``-1 - j`` and ``-1 - j - d`` are the
    positive and negative parts of ``A^T x`` in column j.
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
        #: the number 1 in the scale of the table
        self.unit = -min(min(shift.values()) for shift in shifts)
        entries = [0] * ((self.d + 1) * self.n)
        for i, row in enumerate(rows):
            for j, m in row.items():
                entries[place[j] * self.n + i] = m << (shifts[i][place[j]] + self.unit)
        entries[self.d * self.n :] = [1 << self.unit] * self.n
        self.table = fmpz_mat(self.d + 1, self.n, entries)
        self._begin()

    def steps(self, precision: int) -> list[int] | None:
        """Return weights that are positive on all rows, or None if no step is certain."""
        run = SimplexSteps(self, precision)
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
                raise BallsTooWide
            else:
                return None

    def _begin(self) -> None:
        """Start from the first row alone, and its parts."""
        above = [self.table[j, 0] > 0 for j in range(self.d)]
        missing = [-1 - j - self.d if up else -1 - j for j, up in enumerate(above)]
        self.basis: list[int] = [*missing, 0]

    def column(self, k: int, table: Any, one: Any) -> list[Any]:
        """Return a column of the program, in the number type of ``table``."""
        if k >= 0:
            return [table[i, k] for i in range(self.d + 1)]
        found = [0 * one] * (self.d + 1)
        found[(-1 - k) % self.d] = one if -k <= self.d else -one
        return found

    def basic(self, table: Any, one: Any) -> list[list[Any]]:
        """Return the columns in the basis, as lines of a square matrix."""
        columns = [self.column(k, table, one) for k in self.basis]
        return [list(line) for line in zip(*columns, strict=True)]

    def positive(self, w: list[int]) -> bool:
        """Return whether integer weights of the scaled columns are positive on all rows."""
        values = fmpz_mat(1, self.d + 1, [*w, 0]) * self.table
        return all(value > 0 for value in values.entries())

    def unscaled(self, w: list[int]) -> Row:
        """Return the weights of the unscaled columns."""
        lowest = min(self.column_powers)
        powers = [power - lowest for power in self.column_powers]
        return {j: m << power for j, m, power in zip(self.columns, w, powers, strict=True) if m}

    def multipliers(self) -> dict[int, Fraction] | None:
        """Return the multipliers of the basis if exactly nonnegative and vanishing, else None."""
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


class SimplexSteps:
    """Simplex steps in a given precision, by the inverse of the basis.

    The right-hand side is perturbed from zero to avoid degenerate steps: Charnes, Optimality and
    degeneracy in linear programming (1952).
    """

    def __init__(self, program: ExactProgram, precision: int) -> None:
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
        """Compute the inverse from the columns in the basis."""
        n, d = self.program.n, self.program.d
        price = self.size**3 * (6 + self.precision / 25) * 1e-9
        self.program.work.pay(price, f"{n:,} rows with {d:,} weights")
        self.age = 0
        try:
            self.inverse = arb_mat(self.program.basic(self.balls, self.one)).inv()
        except ZeroDivisionError:
            raise BallsTooWide from None

    def negative(self) -> bool:
        """Return whether lower precision has led to a basis with a negative variable."""
        return any(x < 0 for x in (self.inverse * self.right).entries())

    def prices(self) -> tuple[list[arb], list[arb]]:
        """Return the dual variables, and their products with the rows."""
        n, d = self.program.n, self.program.d
        price = self.size * (n + 4 * self.size) * (20 + self.precision / 25) * 1e-9
        self.program.work.pay(price, f"{n:,} rows with {d:,} weights")
        costs = arb_mat(1, self.size, [int(k < 0) for k in self.program.basis])
        y = costs * self.inverse
        return y.entries(), (y * self.balls).entries()

    def entering(self, values: list[arb], missing: list[arb]) -> int | None:
        """Return the column that lowers the sum most steeply, or None if none certainly does."""
        d = self.program.d
        found = [(float(value), k) for k, value in enumerate(values) if value > 0]
        found += [(float(x) - 1, -1 - j) for j, x in enumerate(missing) if x > 1]
        found += [(float(-x) - 1, -1 - j - d) for j, x in enumerate(missing) if x < -1]
        return max(found)[1] if found else None

    def exchange(self, entering: int) -> bool:
        """Exchange a column with the first basic one to reach zero; return whether there is one."""
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
        """Update the inverse after one column has changed."""
        self.age += 1
        pivot = change[leaving, 0]
        line = [self.inverse[leaving, j] / pivot for j in range(self.size)]
        change[leaving, 0] = pivot - 1
        self.inverse = self.inverse - change * arb_mat(1, self.size, line)


def _powers(rows: list[Row], columns: list[int]) -> tuple[list[int], list[int]]:
    """Return powers of two that scale the largest entry of each row and column to near 1."""
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
    """Return the midpoints of balls, times one power of two, as integers."""
    pairs = [number.mid().man_exp() for number in numbers]
    lowest = min((int(e) for m, e in pairs if m), default=0)
    return [int(m) << (int(e) - lowest) if m else 0 for m, e in pairs]


def exact_split(rows: list[Row], work: Work) -> tuple[Row, dict[int, Fraction], Space]:
    """Return an exact weight vector and combination that split the rows.

    Each round finds a combination that vanishes, and continues in the space orthogonal to its rows:
    facial reduction (Borwein and Wolkowicz, 1981). Returns w, which is positive on every row
    outside the span of the rows with multipliers, the multipliers, and that span.
    """
    multipliers: dict[int, Fraction] = {}
    span = Space({})
    while True:
        left = {i: row for i, row in enumerate(remainders(rows, span)) if row[0]}
        zero = [i for i, row in enumerate(rows) if not row and i not in multipliers]
        multipliers.update((i, Fraction(1)) for i in zero)
        if not left:
            return {}, multipliers, span
        numbers = list(left)
        w, more = alternative([left[i][0] for i in numbers], work)
        if w is not None:
            return orthogonal(span, w), multipliers, span
        # remainders are rows times positive numbers: use the rows themselves
        scaled = {numbers[k]: x * left[numbers[k]][1] for k, x in more.items()}
        multipliers = joined_multipliers(rows, multipliers, scaled)
        span = reduced([rows[i] for i in multipliers])


def joined_multipliers(
    rows: list[Row] | dict[int, Row], old: dict[int, Fraction], new: dict[int, Fraction]
) -> dict[int, Fraction]:
    """Return positive vanishing multipliers of old and new rows; ``new`` vanish modulo the old."""
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
