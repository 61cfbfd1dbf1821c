"""Weights that recur in floats, proposed as a cycle in integers, which the checker replays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from math import lcm
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.certificate.cycles import Cycle, Cycles, replay, whole_rows
from linsep.certificate.verdicts import Blocked, Separations
from linsep.separability.deciding import separation

#: most stored values for which a verdict is sought: with more it may take longer than the passes
MOST_VALUES = 20_000
#: values with more digits are not treated as short decimals
MOST_DECIMALS = 15
#: binary fractions with more bits would become very long integers
MOST_BITS = 256


class Standing(NamedTuple):
    """A binary classifier whose weights recur in floats after ``passes`` passes.

    ``weights`` has shape (vectors, features + 1), the intercept last, or, for a Gram matrix,
    (vectors, rows) with the scores. ``machine`` is a :class:`Cycle` without numbers.
    """

    machine: Cycle
    weights: np.ndarray
    passes: int


class FloatRow(NamedTuple):
    """A row as stored, and its class code."""

    columns: np.ndarray
    values: np.ndarray
    code: int


def machines(
    multiclass: str, n_classes: int, update: str, tie: str, gram: bool, fit_intercept: bool,
    zero: str = "mistake",
) -> list[Cycle]:  # fmt: skip
    """Return the binary classifiers of a learner in order: one, or one per class or pair of
    classes, with the classes on each side; the joint rule has no sides.
    """
    every = range(n_classes)
    sides: list[tuple[tuple[int, ...], tuple[int, ...]]] = [((), ())]
    if n_classes == 2:
        sides = [((1,), (0,))]
    elif multiclass == "ovr":
        sides = [((k,), tuple(c for c in every if c != k)) for k in every]
    elif multiclass == "ovo":
        sides = [((b,), (a,)) for a, b in combinations(every, 2)]
    return [
        Cycle(
            n_classes, positive, negative, update, tie, gram, fit_intercept, passes=1, weights=(),
            step=1, unit=1, base=2, power=0, n_rows=0, n_features=0, zero=zero,
        )
        for positive, negative in sides
    ]  # fmt: skip


def inseparable(given: Sequence[FloatRow], machine: Cycle, n_features: int) -> bool:
    """Return whether a verdict proves that no weights separate the rows as stored."""
    seen = (*machine.positive, *machine.negative)
    rows = [row for row in given if machine.joint or row.code in seen]
    sizes = [len(row.columns) for row in rows]
    if sum(sizes) > MOST_VALUES:
        return False
    values, columns = (np.concatenate([row[k] for row in rows]) for k in (1, 0))
    X = sp.csr_matrix((values, columns, np.cumsum([0, *sizes])), (len(rows), n_features))
    codes = [row.code if machine.joint else int(row.code in machine.positive) for row in rows]
    found = separation(X, codes, fit_intercept=machine.fit_intercept, formulations=("multinomial",))
    return isinstance(found.multinomial if isinstance(found, Separations) else found, Blocked)


def power_of(given: Sequence[FloatRow], base: int) -> int | None:
    """Return the smallest power of the base that makes all values integers, or None."""
    most, least = MOST_BITS if base == 2 else MOST_DECIMALS, 0
    for row in given:
        for x in row.values if row.values.dtype.kind == "f" else ():
            if base == 2:
                digits = Fraction(float(x)).denominator.bit_length() - 1
            else:  # float32 prints 0.1 as float64 does, though their values differ
                digits = -int(Decimal(str(x)).normalize().as_tuple().exponent)
            least = max(least, digits)
        if least > most:
            return None
    return least


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
        if not np.allclose(np.array(exact, dtype=float), weights, rtol=1e-9, atol=1e-9):
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
        power = power_of(given, base)
        if power is None:
            continue
        rows = whole_rows(given, base, power)
        found = []
        for machine, floats, passes in standing:
            whole = on_grid(floats.ravel(), rate, base, power)
            if whole is None:
                break
            weights, step, unit = whole
            cycle = replace(
                machine, passes=passes, weights=tuple(weights), step=step, unit=unit,
                base=base, power=power, n_rows=len(rows), n_features=n_features,
            )  # fmt: skip
            after, mistakes = replay(cycle, rows)
            if after != cycle.vectors():
                break
            if mistakes and base == 10 and not inseparable(given, machine, n_features):
                break
            found += [cycle] * bool(mistakes)
        else:
            if found:
                return found[0] if len(standing) == 1 else Cycles(found)
    return None
