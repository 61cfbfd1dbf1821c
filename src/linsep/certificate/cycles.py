"""Weights that come back: a proof that a perceptron will never separate the rows.

Were there a separator u, every mistake would add to <w, u>; weights that return after mistakes show
that there is none. That holds for any weights to start from, so a cycle is a proof by itself,
however its weights were reached: it is enough to replay it in whole numbers. It holds for the sum
of the mistakes of a pass, for a joint rule of several classes (u, w and rows as long as all classes
together), and in the space of a kernel, where weights of the span of the rows are the same if they
give all rows the same scores.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from linsep.certificate.checkers import Clock, TooLong
from linsep.certificate.checking import Check
from linsep.certificate.proof_file import FORMAT
from linsep.certificate.rendering import AS_STORED
from linsep.certificate.replay import Rows, read_rows, replay
from linsep.certificate.verdicts import TIME_LIMIT
from linsep.errors import DataError

#: of ``power``: values with more bits behind the point would be very long whole numbers
MOST_BITS = 256
#: bits of a weight: those that are found have fewer
MOST_LONG = 1 << 13
#: rows that a check replays at most, over all passes
MOST_ROUNDS = 10**8


@dataclass(frozen=True)
class Cycle:
    """Weights of a perceptron that come back after some passes over the rows, in their order.

    Whole numbers throughout: a row is its values times ``base ** power``, the weights are in steps
    of ``1 / unit``, and an update adds ``step`` times a row.

    Attributes
    ----------
    n_classes : int
    positive, negative : tuple of int
        The classes on each side, by their numbers among the sorted labels; rows of no side are not
        seen. Both are empty where one joint rule learns all classes, a vector of weights for each.
    update : "single" or "batch"
        At every mistake, or once a pass by the sum of all its mistakes.
    tie : "negative", "positive" or "random"
        Which of equal scores the joint rule predicts: the lowest class, the highest, or any.
    gram : bool
        Whether rows are those of a Gram matrix: a row is scored by no weights but has a score, and
        an update adds kernel values to the scores of all rows.
    fit_intercept : bool
    passes : int
        After so many the weights are the same again.
    weights : tuple of int
        One a feature, the intercept last, for a joint rule class after class. Of a kernel machine
        the scores of the rows, in the unit of weights.
    step, unit : int
    base, power : int
        With base 2 values are read as they are stored, as verdicts read them: floats are binary
        fractions. With base 10 they are taken for the decimals that they print as, 0.1 for one
        tenth: the floats themselves, which are a little off, may be separable by as little.
    n_rows, n_features : int
        With a Gram matrix both count the rows.
    again : int or None
        Of a run, the pass, counted from 0, before which the weights were back; it is no part of
        the proof.
    """

    n_classes: int
    positive: tuple[int, ...]
    negative: tuple[int, ...]
    update: str
    tie: str
    gram: bool
    fit_intercept: bool
    passes: int
    weights: tuple[int, ...]
    step: int
    unit: int
    base: int
    power: int
    n_rows: int
    n_features: int
    again: int | None = field(default=None, compare=False)

    @property
    def first(self) -> int | None:
        """Of a run, the pass, counted from 0, before which the weights were the same before."""
        return None if self.again is None else self.again - self.passes

    @property
    def sentence(self) -> str:
        """What was found, in one sentence that counts passes from 1."""
        return f"{self.what}, so {self.conclusion}"

    @property
    def what(self) -> str:
        """That weights came back, as a phrase."""
        whose = f"{'scores' if self.gram else 'weights'}{self._whose}"
        if self.again is None or self.first is None:
            return f"some {whose} come back after {self.passes:,} pass{'es' * (self.passes > 1)}"
        return (
            f"the {whose} before pass {self.first + 1:,} came back before pass {self.again + 1:,}"
        )

    @property
    def conclusion(self) -> str:
        """What follows from it, as a phrase."""
        decimal = ", values taken for the decimals they print as" if self.base == 10 else ""
        return f"no number of passes will separate these rows{decimal}"

    def of_run(self, again: int) -> Cycle:
        """The same with the pass, counted from 0, before which the weights of a run were back."""
        return replace(self, again=again)

    @property
    def _whose(self) -> str:
        """Of which of several machines they are, as a phrase that counts the classes from 1."""
        if self.joint or self.n_classes == 2:
            return ""
        rest = len(self.negative) == self.n_classes - 1
        against = "the rest" if rest else f"number {self.negative[0] + 1}"
        return f" of class number {self.positive[0] + 1} against {against}"

    def __str__(self) -> str:
        return f"cycle: {self.sentence}"

    def verify(
        self, X: Any, y: Any = None, exact: bool = True, time_limit: float | None = TIME_LIMIT
    ) -> Check:
        """Replay the passes in whole numbers; the same weights must come out, with mistakes made.

        Parameters
        ----------
        X : array or sparse matrix of shape (rows, features), or a source
            Of a kernel machine the Gram matrix.
        y : array of shape (rows,), not for a source
            The labels; of two the larger is the positive side.
        exact : bool
            It is always exact; :meth:`Verdict.verify` has the same switch.
        time_limit : float or None
            Seconds that the replay may take; None: any.

        Returns
        -------
        Check
            True or false, with a ``reason``.
        """
        why = self._senseless()
        if why is not None:
            return self._fails(why)
        given, clock = read_rows(X, y, self.base, self.power), Clock(time_limit)
        why = self._not_about(given)
        if why is not None or given.rows is None:
            return self._fails(why or "the rows have more digits than those that it is about")
        try:
            after, mistakes = replay(self, given.rows, clock.over)
        except TooLong as reason:
            return Check(None, f"Not checked to the end: {reason}. Give it more time.")
        many = f"{self.passes:,} pass{'es' * (self.passes > 1)}"
        if after != self.vectors():
            return self._fails(f"after {many} the weights are others")
        if not mistakes:
            return self._fails("no mistake was made: these weights separate the rows")
        return Check(
            True,
            f"It holds: {mistakes:,} mistakes in {many} over {self.n_rows:,} rows lead back to the "
            "same weights, in exact arithmetic.",
        )

    def _not_about(self, given: Rows) -> str | None:
        """Why it cannot be about these rows, as a phrase."""
        if (given.n_rows, given.n_features) != (self.n_rows, self.n_features):
            whose = "the Gram matrix of " if self.gram else ""
            return (
                f"it is about {whose}{self.n_rows:,} rows of {self.n_features:,} features, these "
                f"are {given.n_rows:,} of {given.n_features:,}"
            )
        if given.n_classes != self.n_classes:
            return f"it is about {self.n_classes} classes, these are {given.n_classes}"
        return None

    def _senseless(self) -> str | None:
        """What is wrong with its numbers, as a phrase."""
        width = self.n_rows if self.gram else self.n_features + 1
        sides = (*self.positive, *self.negative)
        sound = self.step > 0 and self.unit > 0 and self.passes > 0
        sound &= self.base in (2, 10) and 0 <= self.power <= MOST_BITS
        sound &= len(self.weights) == self.n_vectors * width
        sound &= len(set(sides)) == len(sides) and set(sides) <= set(range(self.n_classes))
        sound &= bool(self.positive) == bool(self.negative)
        sound &= self.update in ("single", "batch") and self.tie in (
            "negative",
            "positive",
            "random",
        )
        sound &= not self.gram or (self.n_rows == self.n_features and not self.fit_intercept)
        if not sound:
            return "its numbers make no sense"
        if self.passes * self.n_rows > MOST_ROUNDS:
            return "it has too many passes to replay"
        return None

    def names(self) -> None:
        """A cycle is about columns by number."""

    def lines(self) -> list[tuple[str, str]]:
        """All that is claimed, as pairs of a word and what there is to say of it."""
        return [
            ("cycle", replace(self, again=None).sentence),
            ("update", "at every mistake" if self.update == "single" else "once a pass"),
            ("numbers", AS_STORED if self.base == 2 else "the decimals they print as"),
            ("features", f"{self.n_features:,}"),
            ("intercept", "yes" if self.fit_intercept else "no"),
            ("rows", f"{self.n_rows:,}"),
        ]

    def to_json(self) -> str:
        """The cycle as JSON text; :func:`linsep.from_json` reads it."""
        return _json({"cycle": self.plain()})

    def plain(self) -> dict[str, Any]:
        """The proof as a JSON object."""
        plain = asdict(self) | {
            "weights": [hex(w) for w in self.weights], "step": hex(self.step),
            "unit": hex(self.unit),
        }  # fmt: skip
        del plain["again"]
        return plain

    @property
    def joint(self) -> bool:
        """Whether it learns all classes."""
        return not self.positive

    @property
    def n_vectors(self) -> int:
        """How many vectors of weights it has."""
        return self.n_classes if self.joint else 1

    def vectors(self) -> list[list[int]]:
        """The weights, a list for each vector of them."""
        width = len(self.weights) // self.n_vectors
        return [list(self.weights[k * width : (k + 1) * width]) for k in range(self.n_vectors)]

    @property
    def one(self) -> int:
        """The constant feature in whole numbers; 0 where there is none."""
        return self.base**self.power if self.fit_intercept else 0

    @staticmethod
    def _fails(reason: str) -> Check:
        return Check(False, f"It does not hold: {reason}.")


@dataclass(frozen=True)
class Cycles:
    """The cycles of several machines that learn side by side, one against the rest or in pairs.

    Each that makes mistakes goes in a cycle of its own, so that none will ever separate its rows;
    those that make none are done.

    Attributes
    ----------
    cycles : tuple of Cycle
        At least one, of the machines that make mistakes.
    """

    cycles: tuple[Cycle, ...]

    def __iter__(self) -> Iterator[Cycle]:
        return iter(self.cycles)

    def __len__(self) -> int:
        return len(self.cycles)

    @property
    def again(self) -> int | None:
        """Of a run, the pass, counted from 0, before which all of them had come back."""
        return self.cycles[0].again

    def of_run(self, again: int) -> Cycles:
        """The same with the pass, counted from 0, before which all weights of a run were back."""
        return Cycles(tuple(cycle.of_run(again) for cycle in self.cycles))

    @property
    def sentence(self) -> str:
        """What was found, in one sentence that counts passes from 1."""
        found = "; ".join(cycle.what for cycle in self.cycles)
        return f"{found}: {self.cycles[0].conclusion}"

    def __str__(self) -> str:
        return "\n".join(map(str, self.cycles))

    def verify(
        self, X: Any, y: Any = None, exact: bool = True, time_limit: float | None = TIME_LIMIT
    ) -> Check:
        """Replay the passes of every machine; see :meth:`Cycle.verify`."""
        checks = [cycle.verify(X, y, time_limit=time_limit) for cycle in self.cycles]
        wrong = next((check for check in checks if not check), None)
        if wrong is not None:
            return wrong
        return checks[0] if len(checks) == 1 else Check(
            True, f"All {len(checks)} cycles hold: {checks[0].reason}"
        )  # fmt: skip

    def names(self) -> None:
        """Cycles are about columns by number."""

    def lines(self) -> list[tuple[str, str]]:
        """All that is claimed, as pairs of a word and what there is to say of it."""
        return [line for cycle in self.cycles for line in cycle.lines()]

    def to_json(self) -> str:
        """The cycles as JSON text; :func:`linsep.from_json` reads it."""
        return _json({"cycles": [cycle.plain() for cycle in self.cycles]})


def _json(plain: dict[str, Any]) -> str:
    return json.dumps({"format": FORMAT, **plain}, indent=1) + "\n"


def from_plain(plain: dict[str, Any]) -> Cycle | Cycles:
    """The cycle, or cycles, that ``to_json`` wrote, from its JSON object."""
    if "cycle" in plain:
        return _cycle(plain["cycle"])
    cycles = tuple(_cycle(one) for one in plain["cycles"])
    if not cycles:
        raise DataError("This is no cycle, or a damaged one: there is none.")
    return Cycles(cycles)


def _cycle(plain: dict[str, Any]) -> Cycle:
    names = [name for name in Cycle.__dataclass_fields__ if name != "again"]
    if sorted(plain) != sorted(names):
        raise DataError(f"This is no cycle, or a damaged one: it needs {', '.join(names)}.")
    read: dict[str, Any] = {name: int(plain[name], 16) for name in ("step", "unit")}
    read["weights"] = tuple(int(w, 16) for w in plain["weights"])
    if max(abs(m).bit_length() for m in (read["step"], read["unit"], *read["weights"])) > MOST_LONG:
        raise DataError("This is no cycle, or a damaged one: a number is too long.")
    for name in ("positive", "negative"):
        read[name] = tuple(plain[name])
    kinds = {bool: ("fit_intercept", "gram"), str: ("update", "tie"), int: (
        "passes", "base", "power", "n_rows", "n_features", "n_classes"
    )}  # fmt: skip
    sound = all(type(plain[name]) is kind for kind, those in kinds.items() for name in those)
    if not sound or any(type(code) is not int for code in read["positive"] + read["negative"]):
        raise DataError("This is no cycle, or a damaged one: a number is none.")
    return Cycle(**{**plain, **read})
