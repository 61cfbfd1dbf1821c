"""Cycles: recurring weights prove that a perceptron never separates the rows.

With a separator u, every mistake would increase <w, u>, so weights that recur after mistakes prove
that no separator exists. This holds for any initial weights: a cycle is a proof by itself, and a
check replays it in integers. It also holds for the batch rule, for the joint rule of several
classes (with u, w and rows stacked over the classes), and in the space of a kernel, where weights
in the span of the rows are equal if they give all rows the same scores.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from linsep.certificate.canonical import Block, Reading
from linsep.certificate.constraints import Clock, need
from linsep.certificate.json_fields import Long, write_object
from linsep.certificate.verdicts import AS_STORED, FORMAT, Check, Claim
from linsep.drawing import WithRows, display
from linsep.words import counted

#: largest ``power``: values with more binary places would be very long integers
MOST_BITS = 256
#: most binary digits of a number of a cycle; the search finds shorter ones
MOST_DIGITS = 1 << 13
#: what a score of zero is, in words, and the sides on which it is correct
ZEROS: dict[str, tuple[str, tuple[int, ...]]] = {
    "mistake": ("mistakes", ()),
    "negative": ("mistakes of the positive side only", (-1,)),
    "correct": ("no mistakes", (-1, 1)),
}
#: most rows that a check replays, over all passes
MOST_ROUNDS = 10**8
#: columns with whole numbers of a row, and the index of its label among the sorted labels
WholeRow = tuple[list[tuple[int, int]], int]
Replayed = tuple[list[list[int]], int]


class _Cycles(WithRows, Claim):
    """What one cycle and several have in common."""

    parts: Any

    @property
    def sentence(self) -> str:
        """One sentence about the cycle, with passes counted from 1."""
        cycles = self.parts
        decimal = ", with values treated as their printed decimals" * (cycles[0].base == 10)
        ends = ", so " if len(cycles) == 1 else ": "
        found = "; ".join(cycle.what for cycle in cycles)
        return f"{found}{ends}no number of passes will separate these rows{decimal}"

    def verified(self, X: Any, y: Any, exact: bool, clock: Clock) -> Check:
        """Replay the passes in integers: the weights must recur, after at least one mistake."""
        reading, cycles, blocks = Reading(X, y), self.parts, list[Block]()
        about = [(one.n_rows, one.n_features, one.n_classes) for one in cycles]
        base, power = cycles[0].base, cycles[0].power
        for cycle in cycles:
            cycle.check_numbers()
            need((cycle.base, cycle.power) == (base, power), "its cycles read values differently")
        for block in reading.blocks():  # rows of other data are not kept
            if reading.n_rows <= about[0][0] and reading.n_features <= about[0][1]:
                blocks.append(block)
        read = reading.n_rows, reading.n_features, len(reading.labels)
        other = next((own for own in about if own != read), read)
        what = "{:,} rows, {:,} features and {:,} classes"
        need(other == read, f"it is about {what.format(*other)}, not {what.format(*read)}")
        codes = {label: code for code, label in enumerate(sorted(reading.labels))}
        given = [
            (*block.row(place), codes[reading.labels[number]])
            for block in blocks
            for place, number in enumerate(block.numbers.tolist())
        ]
        rows, found = whole_rows(given, base, power, clock.over), []
        for cycle in cycles:
            after, mistakes = replay(cycle, rows, clock.over)
            recur = mistakes and after == cycle.vectors()
            need(recur, "the weights after the passes differ, or there are no mistakes")
            many = f"{cycle.passes:,} pass{'es' * (cycle.passes > 1)}"
            found.append(f"{mistakes:,} mistakes in {many}")
        where = f"over {counted(reading.n_rows, 'row')} lead back to the same weights"
        return Check(True, f"It holds: {', '.join(found)} {where}, in exact arithmetic.")

    def lines(self) -> list[tuple[str, str]]:
        """Return the claim as pairs of a heading and a text."""
        return [line for cycle in self.parts for line in cycle.claim()]

    def __str__(self) -> str:
        return "\n".join(f"cycle: {cycle.sentence}" for cycle in self.parts)

    def _repr_html_(self) -> str:
        text = f"<p>{self}</p>"
        return self._beside(text) if isinstance(self, Cycle) else text

    def to_json(self) -> str:
        """Return the cycle, or cycles, as JSON text, which :func:`linsep.from_json` reads."""
        found = [write_object(cycle) for cycle in self.parts]
        plain = {"cycle": found[0]} if isinstance(self, Cycle) else {"cycles": found}
        return json.dumps({"format": FORMAT, **plain}, indent=1) + "\n"


@dataclass(frozen=True)
class Cycle(_Cycles):
    """Weights of a perceptron that recur after some passes over the rows in order.

    All numbers are integers: a row is its values times ``base ** power``, the weights are multiples
    of ``1 / unit``, and an update adds a row times ``step``.

    Attributes
    ----------
    positive, negative : tuple of int
        The classes on each side, as indices into the sorted labels; rows of other classes are
        skipped. Both are empty for the joint rule, which has one weight vector per class.
    update : "single" or "batch"
        At every mistake, or once per pass by the sum of its mistakes.
    tie : "negative", "positive" or "random"
        The class that the joint rule predicts for equal scores: the first, the last, or any.
    gram : bool
        Whether the rows form a Gram matrix: the state is then the score of every row, and an update
        adds kernel values to all scores.
    passes : int
        Number of passes after which the weights recur.
    weights : tuple of int
        One per feature, then the intercept; class after class for the joint rule. For a Gram matrix
        the scores of the rows, in the unit of weights.
    base, power : int
        With base 10 the values are the decimals that they print as; the stored floats may be
        separable with a tiny margin. With base 2 they are exact.
    zero : "mistake", "negative" or "correct"
        For two sides, whether a score of zero is a mistake, a negative prediction, or correct.
    again : int or None
        In a run, the pass, counted from 0, before which the weights recurred; not in the proof.
    """

    n_classes: int
    positive: tuple[int, ...]
    negative: tuple[int, ...]
    update: str
    tie: str
    gram: bool
    fit_intercept: bool
    passes: int
    weights: tuple[Long, ...]
    step: Long
    unit: Long
    base: int
    power: int
    n_rows: int
    n_features: int
    zero: str = "mistake"
    again: int | None = field(default=None, compare=False)

    @property
    def parts(self) -> tuple[Cycle, ...]:
        """The cycle alone."""
        return (self,)

    @property
    def first(self) -> int | None:
        """In a run, the pass, counted from 0, before which the weights first had these values."""
        return None if self.again is None else self.again - self.passes

    @property
    def what(self) -> str:
        """The recurrence, as a phrase, with classes and passes counted from 1."""
        whose = "scores" if self.gram else "weights"
        if not self.joint and self.n_classes > 2:
            rest = len(self.negative) == self.n_classes - 1
            against = "the rest" if rest else f"number {self.negative[0] + 1}"
            whose += f" of class number {self.positive[0] + 1} against {against}"
        if self.again is None or self.first is None:
            return f"some {whose} recur after {self.passes:,} pass{'es' * (self.passes > 1)}"
        return f"the {whose} before pass {self.first + 1:,} recurred before pass {self.again + 1:,}"

    def of_run(self, again: int) -> Cycle:
        """Return the cycle with the pass, counted from 0, before which its weights recurred."""
        return replace(self, again=again)

    def turned(self) -> Cycle:
        """Return the cycle of a run whose positive class is the smaller of two."""
        return replace(self, positive=self.negative, negative=self.positive)

    def plot(self, X: Any, y: Any, **kwargs: Any) -> Any:
        """Plot the weights of the cycle with :meth:`linsep.plot.CycleDisplay.from_cycle`."""
        return display("CycleDisplay").from_cycle(self, X, y, **kwargs)

    def check_numbers(self) -> None:
        """Raise Fails if the numbers are inconsistent."""
        width = self.n_rows if self.gram else self.n_features + 1
        sides = (*self.positive, *self.negative)
        sound = (
            min(self.step, self.unit, self.passes) > 0
            and self.base in (2, 10)
            and 0 <= self.power <= MOST_BITS
            and len(self.weights) == self.n_vectors * width
            and max(m.bit_length() for m in (*self.weights, self.step, self.unit)) <= MOST_DIGITS
            and len(set(sides)) == len(sides)
            and all(0 <= k < self.n_classes for k in sides)
            and bool(self.positive) == bool(self.negative)
            and self.update in ("single", "batch")
            and self.tie in ("negative", "positive", "random")
            and (self.zero == "mistake" or (self.zero in ZEROS and not self.joint))
            and (not self.gram or (self.n_rows == self.n_features and not self.fit_intercept))
        )
        need(sound, "its numbers are inconsistent")
        need(self.passes * self.n_rows <= MOST_ROUNDS, "it has too many passes to replay")

    def claim(self) -> list[tuple[str, str]]:
        """Return what is claimed, apart from the run, as pairs of a heading and a text."""
        return [
            ("cycle", replace(self, again=None).sentence),
            ("update", "at every mistake" if self.update == "single" else "once per pass"),
            *[("zero scores", ZEROS[self.zero][0])] * (self.zero != "mistake"),
            ("numbers", AS_STORED if self.base == 2 else "the decimals they print as"),
            ("features", f"{self.n_features:,}"),
            ("intercept", "yes" if self.fit_intercept else "no"),
            ("rows", f"{self.n_rows:,}"),
        ]

    @property
    def joint(self) -> bool:
        """Whether one joint rule learns all classes."""
        return not self.positive

    @property
    def n_vectors(self) -> int:
        """Number of weight vectors."""
        return self.n_classes if self.joint else 1

    def vectors(self) -> list[list[int]]:
        """Return the weights, one list for each vector."""
        found: list[list[int]] = np.array(self.weights, object).reshape(self.n_vectors, -1).tolist()
        return found


class Cycles(_Cycles, tuple[Cycle, ...]):
    """The cycles of several binary classifiers of a one-vs-rest or one-vs-one learner, a tuple.

    Every binary classifier that makes mistakes has its own cycle and never separates its rows; the
    others have converged.
    """

    @property
    def parts(self) -> tuple[Cycle, ...]:
        """The cycles."""
        return self

    @property
    def again(self) -> int | None:
        """In a run, the pass, counted from 0, before which all weights had recurred."""
        return self[0].again

    def of_run(self, again: int) -> Cycles:
        """Return the cycles with the pass, counted from 0, before which all weights recurred."""
        return Cycles(cycle.of_run(again) for cycle in self)


# The replay, in integers.


def whole_rows(
    given: Iterable[tuple[np.ndarray, np.ndarray, int]], base: int, power: int, over: Any = iter
) -> list[WholeRow]:
    """Return rows, given as columns, values and code, times ``base ** power``; raise Fails if that
    leaves fractions. Base 10 reads floats as the decimals they print.
    """
    rows = []
    for columns, values, code in over(given):
        exact = values.tolist() if base == 2 or values.dtype.kind in "iu" else map(str, values)
        scaled = [Fraction(x) * base**power for x in exact]
        fine = all(x.denominator == 1 for x in scaled)
        need(fine, "the rows have more digits than the rows of the cycle")
        rows.append((list(zip(columns.tolist(), map(int, scaled), strict=True)), code))
    return rows


def replay(cycle: Cycle, rows: list[WholeRow], over: Any = iter, seen: Any = None) -> Replayed:
    """Replay the passes of a cycle; return the final weights (or scores) and the mistakes. ``over``
    wraps the loop over the rows, and may raise to end it; ``seen`` gets passes and weights.
    """
    vectors, mistakes = cycle.vectors(), 0
    constant = [(-1, cycle.base**cycle.power)] * cycle.fit_intercept
    every = [([*entries, *constant], code) for entries, code in rows]
    for number in range(cycle.passes):
        waiting = []  # updates that are not yet made
        for i, (entries, code) in enumerate(over(every)):
            scores = [v[i] if cycle.gram else sum(x * v[j] for j, x in entries) for v in vectors]
            update = _update(cycle, scores, code)
            mistakes += bool(update)
            waiting += [(entries, k, sign * cycle.step) for k, sign in update.items()]
            if cycle.update == "single" or i == len(every) - 1:
                for added, k, step in waiting:
                    for j, x in added:
                        vectors[k][j] += step * x
                if waiting and seen is not None:
                    seen.append((number, [list(vector) for vector in vectors]))
                waiting.clear()
    return vectors, mistakes


def _update(cycle: Cycle, scores: list[int], code: int) -> dict[int, int]:
    """Return {vector: sign with which the row is added to it}, empty without a mistake."""
    if cycle.positive:
        y = (code in cycle.positive) - (code in cycle.negative)
        right = y * scores[0] > 0 or (not scores[0] and y in ZEROS[cycle.zero][1])
        return {0: y} if y and not right else {}
    best = [k for k in range(len(scores)) if scores[k] == max(scores)]
    if cycle.tie == "random" and code in best:  # a mistake if a wrong class may be drawn
        best.remove(code)
        best = best or [code]
    predicted = best[-1] if cycle.tie == "positive" else best[0]
    return {} if predicted == code else {code: 1, predicted: -1}
