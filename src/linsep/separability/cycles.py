"""Weights that recur in floats, turned into a proof in integers.

The passes are replayed from floats, or from the decimals that they print as, without rounding.
This replay shares no code with :mod:`linsep.certificate.cycles`, which checks the proof.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from math import lcm
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.certificate.cycles import Cycle, Cycles
from linsep.certificate.verdicts import Blocked, Separations
from linsep.separability.deciding import separation

#: most stored values for which a verdict is sought: with more it may take longer than the passes
MOST_VALUES = 20_000
#: values with more digits are not treated as short decimals
MOST_DECIMALS = 15
#: binary fractions with more bits would become very long integers
MOST_BITS = 256
#: weight vectors, or score vectors for a Gram matrix
Vectors = list[list[int]]


class Standing(NamedTuple):
    """A binary classifier whose weights recur in floats after ``passes`` passes.

    ``weights`` has shape (vectors, features + 1), the intercept last, or, for a Gram matrix,
    (vectors, rows) with the scores.
    """

    machine: Machine
    weights: np.ndarray
    passes: int


def inseparable(given: Sequence[FloatRow], machine: Machine, n_features: int) -> bool:
    """Return whether a verdict proves that no weights separate the rows as stored."""
    rows = [row for row in given if machine.sees(row.code)]
    sizes = [len(row.columns) for row in rows]
    if sum(sizes) > MOST_VALUES:
        return False
    X = sp.csr_matrix(
        (np.concatenate([row.values for row in rows]),
         np.concatenate([row.columns for row in rows]), np.cumsum([0, *sizes])),
        shape=(len(rows), n_features),
    )  # fmt: skip
    codes = [row.code if machine.joint else int(row.code in machine.positive) for row in rows]
    found = separation(X, codes, fit_intercept=machine.fit_intercept, formulations=("multinomial",))
    return isinstance(found.multinomial if isinstance(found, Separations) else found, Blocked)


class FloatRow(NamedTuple):
    """A row as stored, and its class code."""

    columns: np.ndarray
    values: np.ndarray
    code: int


class IntegerRow(NamedTuple):
    """A row in integers, and its class code."""

    columns: list[int]
    values: list[int]
    code: int


@dataclass(frozen=True)
class Machine:
    """A perceptron at a constant rate, with rows in a fixed order.

    Attributes
    ----------
    n_classes : int
    positive, negative : tuple of int
        The class codes on each side; rows of other classes are skipped. Both are empty for the
        joint rule, which has a weight vector for each class.
    update : "single" or "batch"
        At every mistake, or once per pass by the sum of its mistakes.
    tie : "negative", "positive" or "random"
        The class that the joint rule predicts for equal scores: the first, the last, or any.
    gram : bool
        Whether the rows form a Gram matrix: the state is then the score of every row, and an update
        adds kernel values to all scores.
    fit_intercept : bool
    zero : "mistake", "negative" or "correct"
        For two sides, whether a score of zero is a mistake for every row, for rows of the positive
        side only ("negative"), or for no row ("correct").
    """

    n_classes: int
    positive: tuple[int, ...]
    negative: tuple[int, ...]
    update: str
    tie: str
    gram: bool
    fit_intercept: bool
    zero: str = "mistake"

    @property
    def joint(self) -> bool:
        """Whether one joint rule learns all classes."""
        return not self.positive

    @property
    def n_vectors(self) -> int:
        """How many vectors of weights it has."""
        return self.n_classes if self.joint else 1

    def sees(self, code: int) -> bool:
        """Return whether it learns from rows of this class."""
        return self.joint or code in self.positive or code in self.negative

    def changes(self, scores: list[int], code: int) -> list[tuple[int, int]]:
        """Return (vector, sign) for each vector that a row is added to; empty if no mistake."""
        if not self.joint:
            y = 1 if code in self.positive else -1
            if not scores[0] and (self.zero == "correct" or (self.zero == "negative" and y < 0)):
                return []
            return [(0, y)] if y * scores[0] <= 0 else []
        top = [k for k, score in enumerate(scores) if score == max(scores)]
        if self.tie == "random":  # a mistake if a wrong class may be drawn
            rivals = [k for k in top if k != code]
            rival = rivals[0] if rivals else code
        else:
            rival = top[-1] if self.tie == "positive" else top[0]
        return [] if rival == code else [(code, 1), (rival, -1)]


def machines(
    multiclass: str, n_classes: int, update: str, tie: str, gram: bool, fit_intercept: bool,
    zero: str = "mistake",
) -> list[Machine]:  # fmt: skip
    """Return the binary classifiers of a learner in order: one, or one per class or pair of
    classes.
    """
    common = (update, tie, gram, fit_intercept, zero)
    if n_classes == 2:
        return [Machine(2, (1,), (0,), *common)]
    if multiclass == "ovr":
        others = [tuple(c for c in range(n_classes) if c != k) for k in range(n_classes)]
        return [Machine(n_classes, (k,), rest, *common) for k, rest in enumerate(others)]
    if multiclass == "ovo":
        return [
            Machine(n_classes, (b,), (a,), *common) for a, b in combinations(range(n_classes), 2)
        ]
    return [Machine(n_classes, (), (), *common)]


def replay(
    machine: Machine, rows: Sequence[IntegerRow], weights: Vectors, step: int, one: int, passes: int
) -> tuple[Vectors, int]:  # fmt: skip
    """Learn for some passes; return the weights (or scores) and the number of mistakes.

    ``one`` is the constant feature, whose weight is the last; updates add rows times ``step``.
    """
    vectors, mistakes = [list(vector) for vector in weights], 0
    for _ in range(passes):
        waiting: list[tuple[IntegerRow, list[tuple[int, int]]]] = []
        for i, row in enumerate(rows):
            if not machine.sees(row.code):
                continue
            found = machine.changes(list(_scores(machine, vectors, i, row, one)), row.code)
            if found:
                mistakes += 1
                waiting.append((row, found))
                if machine.update == "single":
                    _make(machine, vectors, waiting, step, one)
        _make(machine, vectors, waiting, step, one)
    return vectors, mistakes


def _scores(machine: Machine, vectors: Vectors, i: int, row: IntegerRow, one: int) -> Iterator[int]:
    for vector in vectors:
        if machine.gram:
            yield vector[i]
        else:
            yield sum(
                (vector[j] * x for j, x in zip(row.columns, row.values, strict=True)),
                start=vector[-1] * one,
            )


def _make(machine: Machine, vectors: Vectors, waiting: list, step: int, one: int) -> None:
    """Make the deferred changes."""
    for row, found in waiting:
        for k, sign in found:
            vector, amount = vectors[k], sign * step
            for j, x in zip(row.columns, row.values, strict=True):
                vector[j] += amount * x
            if one:
                vector[-1] += amount * one
    waiting.clear()


def scale(given: Iterable[FloatRow], base: int) -> int | None:
    """Return the smallest power of the base that makes all values integers, or None."""
    most = MOST_BITS if base == 2 else MOST_DECIMALS
    least = 0
    for row in given:
        if row.values.dtype.kind in "iu":
            continue
        for x in row.values:
            least = max(least, _digits(x, base))
        if least > most:
            return None
    return least


def _digits(x: np.floating, base: int) -> int:
    """Return the number of fractional digits of x to this base."""
    if base == 2:
        return Fraction(float(x)).denominator.bit_length() - 1
    # Shortest decimals: float32 prints 0.1 as float64 does, though their values differ.
    exponent = Decimal(str(x)).normalize().as_tuple().exponent
    return max(0, -int(exponent))


def in_whole_numbers(given: Iterable[FloatRow], base: int, power: int) -> list[IntegerRow] | None:
    """Return the rows times ``base ** power``, or None if some value is not an integer."""
    rows = []
    for columns, values, code in given:
        whole = _as_integers(values, base, power)
        if whole is None:
            return None
        rows.append(IntegerRow(columns.tolist(), whole, code))
    return rows


def _as_integers(values: np.ndarray, base: int, power: int) -> list[int] | None:
    """Return the values times ``base ** power``, or None if one is not an integer."""
    if values.dtype.kind in "iu":
        return [int(x) * base**power for x in values.tolist()]
    exact = map(Fraction, values.tolist() if base == 2 else map(str, values))
    scaled = [x * base**power for x in exact]
    return [int(x) for x in scaled] if all(x.denominator == 1 for x in scaled) else None


def on_grid(
    weights: np.ndarray, rate: float, base: int, power: int
) -> tuple[list[int], int, int] | None:
    """Return weights as multiples of 1/unit, and the step of an update: (weights, step, unit).

    With base 10, rounding errors of the weights are removed: they are short decimals.
    """
    if base == 2:
        exact, eta = [Fraction(w) for w in weights.tolist()], Fraction(rate)
    else:
        eta = Fraction(str(rate))
        digits = power
        while digits <= 2 * MOST_DECIMALS and (eta * 10**digits).denominator != 1:
            digits += 1
        digits += power
        exact = [Fraction(round(Fraction(w) * 10**digits), 10**digits) for w in weights.tolist()]
        near = np.array([float(w) for w in exact])
        if not np.allclose(near, weights, rtol=1e-9, atol=1e-9):
            return None
    moved = eta / base**power
    unit = lcm(moved.denominator, *(w.denominator for w in exact))
    if unit.bit_length() > 4 * MOST_BITS:
        return None
    return [int(w * unit) for w in exact], int(moved * unit), unit


def find_cycles(
    given: Sequence[FloatRow], standing: Sequence[Standing], rate: float, n_features: int
) -> Cycle | Cycles | None:
    """Return the cycles of the binary classifiers, confirmed in exact arithmetic, or None.

    Values are read as stored, or else as the decimals that they print as; then a verdict must also
    prove that the stored values are not separable. None if the weights of some binary classifier do
    not recur exactly, or none makes mistakes.
    """
    for base in (2,) if standing[0].machine.gram else (2, 10):
        power = scale(given, base)
        rows = None if power is None else in_whole_numbers(given, base, power)
        if power is None or rows is None:
            continue
        found = []
        for one in standing:
            whole = on_grid(one.weights.ravel(), rate, base, power)
            if whole is None:
                break
            weights, step, unit = whole
            cycle = Cycle(
                **asdict(one.machine), passes=one.passes, weights=tuple(weights), step=step,
                unit=unit, base=base, power=power, n_rows=len(rows), n_features=n_features,
            )  # fmt: skip
            start = cycle.vectors()
            after, mistakes = replay(one.machine, rows, start, step, cycle.one, one.passes)
            if after != start:
                break
            if mistakes and base == 10 and not inseparable(given, one.machine, n_features):
                break
            found += [cycle] * bool(mistakes)
        else:
            if found:
                return found[0] if len(standing) == 1 else Cycles(tuple(found))
    return None
