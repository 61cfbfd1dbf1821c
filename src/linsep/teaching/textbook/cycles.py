"""Weights of a perceptron that recur at the start of a pass, in plain Python.

They are detected in floats, up to a relative error of 1e-9, and confirmed in integers: the passes
in between are repeated without rounding.
"""

from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from math import isclose, isfinite, lcm
from typing import Any, NamedTuple

from linsep.teaching.textbook.machine import Number, Rows
from linsep.teaching.textbook.perceptron import BatchPerceptron, Perceptron
from linsep.teaching.textbook.running import Step, run
from linsep.teaching.textbook.schemes import pairs

#: weights are compared in steps of 1 / GRID
GRID = 1e9
#: values with more decimals are not treated as short decimals, nor values with more bits as binary
MOST_DIGITS = {2: 256, 10: 15}
#: recurrences that are not confirmed, after which none is looked for
MOST_FAILURES = 3

#: whether no weights separate rows of these classes: (rows, classes, number of classes)
Inseparable = Callable[[Rows, Sequence[int], int], bool]


class Part(NamedTuple):
    """A binary classifier: its rows, their classes, and its description."""

    rows: list[int]
    codes: list[int]
    vectors: list[int]
    whose: str


class Recurring(NamedTuple):
    """The conclusion from a recurrence, as a sentence."""

    sentence: str


def parts_of(scheme: str, codes: Sequence[int], n_classes: int) -> list[Part]:
    """Return the binary classifiers of a scheme."""
    every = list(range(len(codes)))
    if scheme == "native":
        return [Part(every, list(codes), list(range(n_classes)), "")]
    if scheme == "binary":
        return [Part(every, list(codes), [0], "")]
    if scheme == "ovr":
        return [
            Part(every, [int(code == k) for code in codes], [k],
                 f" of class number {k + 1} against the rest")
            for k in range(n_classes)
        ]  # fmt: skip
    found = []
    for k, (a, b) in enumerate(pairs(n_classes)):
        rows = [row for row, code in enumerate(codes) if code in (a, b)]
        whose = f" of class number {b + 1} against number {a + 1}"
        found.append(Part(rows, [int(codes[row] == b) for row in rows], [k], whose))
    return found


class Recurrence:
    """Detects recurring weights of a perceptron with a constant rate and order.

    Parameters
    ----------
    rule : Perceptron or BatchPerceptron
    scheme, X, codes, n_classes, fit_intercept : as for :func:`linsep.textbook.run`
    start : list of lists, the initial weights of every vector, the intercept first
    inseparable : function
        Returns whether no weights separate the rows. It is called if rows are exact as printed
        decimals but not as stored floats: weights then recur for the stored floats only if no
        weights separate them.
    """

    def __init__(
        self, rule: Perceptron, scheme: str, X: Rows, codes: Sequence[int], n_classes: int,
        fit_intercept: bool, start: Sequence[Sequence[float]], inseparable: Inseparable,
    ):  # fmt: skip
        self._rule, self._X, self._intercept = rule, X, fit_intercept
        self._n_classes = n_classes if scheme == "native" else 2
        self._parts = parts_of(scheme, codes, n_classes)
        self._inseparable, self._failures = inseparable, 0
        self._seen = [{key: 0} for key in self._keys(start)]

    def after(self, vectors: Sequence[Sequence[float]], passes: int) -> Recurring | None:
        """Return the recurrence after this number of passes, or None; ``vectors`` as ``start``."""
        if self._failures == MOST_FAILURES or not all(
            isfinite(w) for line in vectors for w in line
        ):
            return None
        known = list(zip(self._seen, self._keys(vectors), strict=True))
        lengths = [passes - seen.get(key, passes) for seen, key in known]
        found = None
        if 0 not in lengths:
            found = self._confirmed(vectors, lengths, passes)
            self._failures += found is None
        for seen, key in known:
            seen[key] = passes
        return found

    def _keys(self, vectors: Sequence[Sequence[float]]) -> list[tuple[Any, ...]]:
        return [
            tuple(round(w * GRID) if isfinite(w * GRID) else w
                  for k in part.vectors for w in vectors[k])
            for part in self._parts
        ]  # fmt: skip

    def _confirmed(
        self, vectors: Sequence[Sequence[float]], lengths: list[int], again: int
    ) -> Recurring | None:
        for base in (2, 10):
            power = max(digits(v, base) for x in self._X for v in x)
            found = []
            if power > MOST_DIGITS[base]:
                continue
            for part, passes in zip(self._parts, lengths, strict=True):
                mistakes = self._again(
                    [vectors[k] for k in part.vectors], part, passes, base, power
                )
                if mistakes is None:
                    break
                rows = [self._X[row] for row in part.rows]
                sure = base == 2 or not mistakes
                if not sure and not self._inseparable(rows, part.codes, self._n_classes):
                    break
                if mistakes:
                    found.append(
                        f"the weights{part.whose} before pass {again - passes + 1:,} recurred "
                        f"before pass {again + 1:,}"
                    )
            else:
                if found:
                    end = "no number of passes will separate these rows" + (
                        ", with values treated as their printed decimals" if base == 10 else ""
                    )
                    mark = ", so " if len(self._parts) == 1 else ": "
                    return Recurring("; ".join(found) + mark + end)
        return None

    def _again(
        self, vectors: list[Sequence[float]], part: Part, passes: int, base: int, power: int
    ) -> int | None:
        """Return the mistakes of passes that lead back to their weights, in integers; None if they
        do not. The constant feature is an additional column.
        """
        whole = [[int(exact(v, base) * base**power) for v in self._X[row]]
                 + [base**power] * self._intercept for row in part.rows]  # fmt: skip
        rate = exact(self._rule.learning_rate, base)
        placed = [[*w, b][: len(whole[0])] for b, *w in vectors]
        fine = [_on_grid(w, rate, base, power) for w in placed]
        if any(w is None for w in fine):
            return None
        weights: list[list[Fraction]] = [w for w in fine if w is not None]
        moved = rate / base**power
        unit = lcm(moved.denominator, *(w.denominator for line in weights for w in line))
        if unit.bit_length() > 4 * MOST_DIGITS[2]:
            return None
        begun = [[int(w * unit) for w in line] for line in weights]
        batch = isinstance(self._rule, BatchPerceptron)
        one = len(begun) == 1
        steps: list[Step] = list(run(
            (BatchPerceptron if batch else Perceptron)(int(moved * unit)),
            "binary" if one else "native", whole, part.codes, self._n_classes, fit_intercept=False,
            max_iter=passes, weights=begun[0] if one else begun,
            intercept=0 if one else [0] * len(begun),
        ))  # fmt: skip
        after = [steps[-1].weights] if one else steps[-1].weights
        return sum(step.mistakes for step in steps) if after == begun else None


def exact(value: Number, base: int) -> Fraction:
    """Return a number as stored or, with base 10, as its printed decimal."""
    return Fraction(value) if base == 2 else Fraction(str(value))


def digits(value: float, base: int) -> int:
    """Return the number of fractional digits of a number to this base."""
    if base == 2:
        return Fraction(value).denominator.bit_length() - 1
    exponent = Decimal(str(value)).normalize().as_tuple().exponent
    return max(0, -int(exponent))


def _on_grid(
    weights: Sequence[float], rate: Fraction, base: int, power: int
) -> list[Fraction] | None:
    """Return weights without the rounding errors of short decimals; None if they are not short
    decimals.
    """
    if base == 2:
        return [Fraction(w) for w in weights]
    places = power
    while places <= 2 * MOST_DIGITS[10] and (rate * 10**places).denominator != 1:
        places += 1
    places += power
    found = [Fraction(round(Fraction(w) * 10**places), 10**places) for w in weights]
    near = zip(found, weights, strict=True)
    return found if all(isclose(a, w, rel_tol=1e-9, abs_tol=1e-9) for a, w in near) else None
