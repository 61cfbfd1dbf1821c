"""Weights that come back: a proof that a perceptron will never separate the rows.

Were there a separator u, every update would add to <w, u>; weights that return after updates show
that there is none. That holds for any weights to start from, so a cycle is a proof by itself,
however its weights were reached: it is enough to replay it in whole numbers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from math import lcm
from typing import Any, NamedTuple

import numpy as np

from linsep.certificate.checkers import Clock, TooLong
from linsep.certificate.checking import Check
from linsep.certificate.proof_file import FORMAT
from linsep.certificate.verdicts import TIME_LIMIT
from linsep.errors import DataError
from linsep.theory.data import data_of

#: rows that a check replays at most, over all passes
MOST_ROUNDS = 10**8
#: values with more digits than that are not taken for short decimals
MOST_DECIMALS = 15
#: binary fractions with more bits than that would make whole numbers of great length
MOST_BITS = 256


class Whole(NamedTuple):
    """A row in whole numbers: its columns, its values, and the side it belongs on, 1 or -1."""

    columns: list[int]
    values: list[int]
    side: int


class Given(NamedTuple):
    """A row as it is stored."""

    columns: np.ndarray
    values: np.ndarray
    side: int


@dataclass(frozen=True)
class Cycle:
    """Weights of a perceptron that come back after some passes over the rows, in their order.

    Whole numbers throughout: a row is its values times ``base ** power``, the weights are in steps
    of ``1 / unit``, and an update adds ``step`` times a row.

    Attributes
    ----------
    first, again : int
        The weights at the start of pass ``first`` are those at the start of pass ``again``, passes
        counted from 0.
    weights : tuple of int
        One a feature, the intercept last.
    step, unit : int
    base, power : int
        With base 10 values are taken for the decimals that they print as, 0.1 for one tenth: the
        floats themselves, which are a little off, may be separable by as little.
    fit_intercept : bool
    n_rows, n_features : int
    """

    first: int
    again: int
    weights: tuple[int, ...]
    step: int
    unit: int
    base: int
    power: int
    fit_intercept: bool
    n_rows: int
    n_features: int

    @property
    def sentence(self) -> str:
        """What was found, in one sentence that counts passes from 1."""
        decimal = ", values taken for the decimals they print as" if self.base == 10 else ""
        return (
            f"the weights before pass {self.first + 1:,} came back before pass {self.again + 1:,}, "
            f"so no number of passes will separate these rows{decimal}"
        )

    def __str__(self) -> str:
        return f"cycle: {self.sentence}"

    def verify(
        self, X: Any, y: Any = None, exact: bool = True, time_limit: float | None = TIME_LIMIT
    ) -> Check:
        """Replay the passes in whole numbers; the same weights must come out, with updates made.

        Parameters
        ----------
        X : array or sparse matrix of shape (rows, features), or a source
        y : array of shape (rows,), not for a source
            Two labels; the larger one is the positive side.
        exact : bool
            It is always exact; :meth:`Verdict.verify` has the same switch.
        time_limit : float or None
            Seconds that the replay may take; None: any.

        Returns
        -------
        Check
            True or false, with a ``reason``.
        """
        data = data_of(X, y)
        if (data.n_rows, data.n_features) != (self.n_rows, self.n_features):
            return self._fails(
                f"it is about {self.n_rows:,} rows of {self.n_features:,} features, these are "
                f"{data.n_rows:,} of {data.n_features:,}"
            )
        if len(data.classes) != 2:
            return self._fails("it is about two classes")
        if not (self.step > 0 and 0 <= self.first < self.again) or self.base not in (2, 10):
            return self._fails("its numbers make no sense")
        if len(self.weights) != self.n_features + 1 or not 0 <= self.power <= MOST_BITS:
            return self._fails("its numbers make no sense")
        if (self.again - self.first) * self.n_rows > MOST_ROUNDS:
            return self._fails("it has too many passes to replay")
        given = [
            Given(*piece.row(i), 1 if piece.codes[i] else -1)
            for piece in data.pieces()
            for i in range(len(piece.codes))
        ]
        rows = in_whole_numbers(given, self.base, self.power)
        if rows is None:
            return self._fails("the rows have more digits than those that it is about")
        passes, one = self.again - self.first, self._one()
        clock = Clock(time_limit)
        try:
            after, updates = replay(rows, list(self.weights), one, self.step, passes, clock.over)
        except TooLong as reason:
            return Check(None, f"Not checked to the end: {reason}. Give it a larger time_limit.")
        if after != list(self.weights):
            return self._fails(f"after {passes:,} pass{'es' * (passes > 1)} the weights are others")
        if not updates:
            return self._fails("no update was made: these weights separate the rows")
        return Check(
            True,
            f"It holds: {updates:,} updates in {passes:,} pass{'es' * (passes > 1)} over "
            f"{self.n_rows:,} rows lead back to the same weights, in exact arithmetic.",
        )

    def names(self) -> None:
        """A cycle is about columns by number."""

    def lines(self) -> list[tuple[str, str]]:
        """All that is claimed, as pairs of a word and what there is to say of it."""
        return [
            ("cycle", self.sentence),
            ("features", f"{self.n_features:,}"),
            ("intercept", "yes" if self.fit_intercept else "no"),
            ("rows", f"{self.n_rows:,}"),
        ]

    def to_json(self) -> str:
        """The cycle as JSON text; :func:`linsep.from_json` reads it."""
        plain = asdict(self) | {"weights": [hex(w) for w in self.weights]}
        plain |= {"step": hex(self.step), "unit": hex(self.unit)}
        return json.dumps({"format": FORMAT, "cycle": plain}, indent=1) + "\n"

    def _one(self) -> int:
        """The constant feature in whole numbers; 0 where there is none."""
        return self.base**self.power if self.fit_intercept else 0

    @staticmethod
    def _fails(reason: str) -> Check:
        return Check(False, f"It does not hold: {reason}.")


def from_plain(plain: dict[str, Any]) -> Cycle:
    """The cycle that :meth:`Cycle.to_json` wrote, from its JSON object."""
    names = list(Cycle.__annotations__)
    if sorted(plain) != sorted(names):
        raise DataError(f"This is no cycle, or a damaged one: it needs {', '.join(names)}.")
    whole = {"step": int(plain["step"], 16), "unit": int(plain["unit"], 16)}
    whole["weights"] = tuple(int(w, 16) for w in plain["weights"])  # type: ignore[assignment]
    if type(plain["fit_intercept"]) is not bool or any(
        type(plain[name]) is not int
        for name in ("first", "again", "base", "power", "n_rows", "n_features")
    ):
        raise DataError("This is no cycle, or a damaged one: a number is none.")
    return Cycle(**{**plain, **whole})


def replay(
    rows: Sequence[Whole],
    weights: list[int],
    one: int,
    step: int,
    passes: int,
    each: Any = iter,
) -> tuple[list[int], int]:
    """The perceptron in whole numbers; returns the weights and the number of updates.

    ``one`` is the constant feature, whose weight is the last; on a mistake, a zero score being
    one, ``step`` times the row is added on its side. ``each`` goes over the rows.
    """
    w, updates = list(weights), 0
    for _ in range(passes):
        for columns, values, side in each(rows):
            score = w[-1] * one
            for j, x in zip(columns, values, strict=True):
                score += w[j] * x
            if side * score <= 0:
                updates += 1
                w[-1] += side * step * one
                for j, x in zip(columns, values, strict=True):
                    w[j] += side * step * x
    return w, updates


def find_cycle(
    given: Sequence[Given], weights: np.ndarray, fit_intercept: bool, rate: float,
    first: int, again: int,
) -> Cycle | None:  # fmt: skip
    """A cycle from these weights, which floats have come back to, if exact arithmetic agrees.

    Values are taken as they are, and else as the decimals that they print as.
    """
    width = len(weights) - 1
    for base in (2, 10):
        power = scale(given, base)
        rows = None if power is None else in_whole_numbers(given, base, power)
        if power is None or rows is None:
            continue
        start = on_grid(weights, rate, base, power)
        if start is None:
            continue
        whole, step, unit = start
        one = base**power if fit_intercept else 0
        after, updates = replay(rows, whole, one, step, again - first)
        if after == whole and updates:
            return Cycle(
                first, again, tuple(whole), step, unit, base, power, fit_intercept, len(rows), width
            )
    return None


def scale(given: Iterable[Given], base: int) -> int | None:
    """The smallest power of the base that makes all values whole, None if there is none."""
    least = 0
    for row in given:
        if row.values.dtype.kind in "iu":
            continue
        while _whole(row.values, base, least) is None:
            least += 1
            if least > (MOST_BITS if base == 2 else MOST_DECIMALS):
                return None
    return least


def in_whole_numbers(given: Iterable[Given], base: int, power: int) -> list[Whole] | None:
    """The rows times ``base ** power``; None if some value is not whole then."""
    rows = []
    for columns, values, side in given:
        whole = _whole(values, base, power)
        if whole is None:
            return None
        rows.append(Whole(columns.tolist(), whole, side))
    return rows


def _whole(values: np.ndarray, base: int, power: int) -> list[int] | None:
    """The values times ``base ** power``, if that makes them whole."""
    if values.dtype.kind in "iu":
        return [int(x) * base**power for x in values.tolist()]
    if base == 2:
        scaled = [Fraction(x) * 2**power for x in values.tolist()]
        return [int(x) for x in scaled] if all(x.denominator == 1 for x in scaled) else None
    # Shortest decimals: float32 prints 0.1 as float64 does, though their values differ.
    decimals = [Fraction(str(x)) * 10**power for x in values]
    return [int(x) for x in decimals] if all(x.denominator == 1 for x in decimals) else None


def on_grid(
    weights: np.ndarray, rate: float, base: int, power: int
) -> tuple[list[int], int, int] | None:
    """Weights as multiples of 1/unit, and the update's step: (weights, step, unit).

    With base 10 a weight is the short decimal that it must have been but for rounding.
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
