"""Verdicts of :func:`linsep.separation`: claims with their evidence, as text, HTML and JSON.

A verdict holds everything needed to check it against the data. It refers to rows only by number,
counted from 0. Integers are Python's, of any length.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from html import escape
from typing import Any, ClassVar

import numpy as np

from linsep.certificate import json_fields as json_of
from linsep.certificate.canonical import rows_of
from linsep.certificate.checking import (
    TIME_LIMIT,
    Check,
    Checker,
    OverlappingChecker,
    QuasiSeparableChecker,
    SeparableChecker,
    check,
)
from linsep.certificate.constraints import FORMULATIONS, Combination, Subject
from linsep.certificate.errors import ERRORS, ErrorsChecker, FewestErrors
from linsep.certificate.integers import Space
from linsep.drawing import WithRows, display
from linsep.layout import pair_lines, room, table_lines, told_apart

FORMAT = "linsep proof 3"
#: how numbers of text are interpreted
AS_STORED = "as stored: a float is a binary fraction, not the decimal it prints as"
#: names or row numbers shown before dots
MOST_SHOWN = 12
#: returns the name of a row, given its index
Number = Callable[[int], Any]


class Claims:
    """Base class of single and several verdicts."""

    def verdicts(self) -> list[Verdict]:
        """Return all verdicts, in the order of the formulations."""
        raise NotImplementedError

    def formulations(self) -> tuple[str, ...] | None:
        """Return the formulations that have verdicts; None for a single verdict."""
        raise NotImplementedError

    def verify(
        self, X: Any, y: Any = None, exact: bool = True, time_limit: float | None = TIME_LIMIT
    ) -> Check:
        """Check the claims against data, from the evidence alone, in one pass over the rows.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, features), or source
            For a verdict about a Gram matrix, K.
        y : array of shape (rows,), not for a source
        exact : bool, default=True
            True: check in integer arithmetic, without tolerance, which is a proof. False: check in
            float64, which can refute the claim but never prove it.
        time_limit : float or None, default=60.0
            Time limit for exact arithmetic, in seconds, excluding the reading of rows. None: no
            limit.

        Returns
        -------
        Check
            ``holds`` is True, False or None (unknown), with a ``reason``; ``bool(check)`` is True
            only if the claims hold.
        """
        return check(self.verdicts(), *rows_of(X, y), exact, time_limit)

    def names(self) -> tuple[str, ...] | None:
        """Return the feature names, or None."""
        return self.verdicts()[0].subject.names

    def lines(self) -> list[tuple[str, str]]:
        """Return the claims and their data as pairs of a heading and a text."""
        found = []
        for verdict in self.verdicts():
            found += [("verdict", verdict.answer()), ("classes", _sides(verdict.subject))]
            if isinstance(verdict, Separable) and verdict.margin != (0.0, math.inf):
                low, high = verdict.margin
                ends = f"from {low!r} to at most {high!r} (distance to the nearest row)"
                found.append(("margin", ends))
        return found + _data_lines(self.verdicts()[0].subject)

    def to_json(self, recipe: dict[str, Any] | None = None) -> str:
        """Return the claims as JSON text, which :func:`linsep.from_json` reads.

        ``recipe``: the preprocessing of the data, if they were in files.
        """
        subject = self.verdicts()[0].subject
        plain = {
            "format": FORMAT,
            "recipe": recipe,
            "data": {
                "rows": subject.n_rows,
                "features": subject.n_features,
                "names": subject.names,
                "classes": subject.classes,
                "columns": subject.columns,
                "sha256": subject.sha256,
            },
            "fit_intercept": subject.fit_intercept,
            "formulations": self.formulations(),
            "verdicts": [verdict.plain() for verdict in self.verdicts()],
        }
        return json.dumps(plain, allow_nan=False, indent=1) + "\n"

    def __rich__(self) -> Any:
        from rich.text import Text

        return Text(str(self))  # brackets are not markup


@dataclass(frozen=True)
class DecidingColumns:
    """The columns that decide a separable or quasi-separable verdict, numbered from 0.

    Attributes
    ----------
    alone : tuple of int
        The columns that separate the classes alone.
    touching : tuple of int
        The columns that quasi-separate the classes alone.
    names : tuple of str or None
        The names of all columns.
    """

    alone: tuple[int, ...]
    touching: tuple[int, ...]
    names: tuple[str, ...] | None = field(default=None, repr=False)

    def named(self, columns: tuple[int, ...]) -> list[str]:
        """Return the names of some columns; ``x3`` for column 3 if they have no names."""
        return [f"x{j}" if self.names is None else self.names[j] for j in columns]

    def plain(self) -> dict[str, Any]:
        """Return them as a JSON object, with the names of columns."""
        return {"alone": self.named(self.alone), "touching": self.named(self.touching)}


@dataclass(frozen=True, repr=False)
class Verdict(WithRows, Claims):
    """Base class of all verdicts."""

    subject: Subject
    errors: FewestErrors | None = field(default=None, kw_only=True)
    #: columns that decide a separable or quasi-separable verdict alone; not in the proof
    deciding_columns: DecidingColumns | None = field(default=None, kw_only=True, compare=False)
    #: what a hyperplane does, as a verb
    verb: ClassVar[str] = ""
    kind: ClassVar[str] = ""
    #: what checks a verdict of this kind; None if it claims nothing
    checker: ClassVar[type[Checker] | None] = None
    #: what proves it, in JSON: the attributes in their order, and the field of each
    fields: ClassVar[dict[str, json_of.Field]] = {}
    #: the fields that are left out if they are empty
    optional: ClassVar[tuple[str, ...]] = ()

    def checkers(self) -> list[type[Checker]]:
        """Return the checker of the verdict, and of the fewest errors if known."""
        found = [] if self.checker is None else [self.checker]
        return found if self.errors is None else [*found, ErrorsChecker]

    def verdicts(self) -> list[Verdict]:
        """Return the verdict alone."""
        return [self]

    def formulations(self) -> None:
        """Return None: a single verdict has no formulation."""

    def answer(self) -> str:
        """Return the verdict in one sentence."""
        raise NotImplementedError

    def note(self, number: Number = int) -> str:
        """Return the margin, or the infeasibility certificate, in a few words."""
        return ""

    def described(self, number: Number = int) -> list[tuple[str, str]]:
        """Return the verdict and its consequences as pairs of a heading and a text.

        ``number`` returns the name of a row, given its index.
        """
        subject = self.subject
        features = f"{subject.n_features:,} features"
        if subject.columns is not None:
            features = f"in the space of a kernel, spanned by {len(subject.columns):,} of them"
        return [
            ("verdict", self.answer()),
            ("classes", _sides(subject)),
            ("data", f"{subject.n_rows:,} rows, {features}, numbers as stored"),
            *self._errors_lines(number),
            *self._details(number),
            *self._columns_alone(),
            *self.chance_line(),
        ]

    @property
    def chance(self) -> Any:
        """Whether random labels would be separable: a :class:`linsep.chance.counting.Chance`, with
        ``probability``; ``str`` gives a sentence. None for a verdict that was read from a proof,
        and unless it is separable or overlapping: Cover's count is not of quasi-separable labels.
        """
        return self.subject.chance if self.kind in ("separable", "overlapping") else None

    def chance_line(self) -> list[tuple[str, str]]:
        """Return whether random labels would be separable, if that is known."""
        of = "two classes: " * self.subject.multinomial
        return [] if self.chance is None else [("chance", f"{of}{self.chance}")]

    def plain(self) -> dict[str, Any]:
        """Return the verdict as a JSON object."""
        positive, negative = self.subject.positive, self.subject.negative
        evidence = json_of.write_fields(self, self.fields)
        for name in self.optional:
            if not evidence[name]:
                del evidence[name]
        if self.errors is not None:
            evidence["errors"] = ERRORS.write(self.errors)
        return {"kind": self.kind, "positive": positive, "negative": negative, **evidence}

    def plain_details(self) -> dict[str, Any]:
        """Return the columns that decide alone, if known, as a JSON object."""
        found = self.deciding_columns
        return {} if found is None else {"deciding_columns": found.plain()}

    def plot(self, X: Any, y: Any, **kwargs: Any) -> Any:
        """Plot the verdict and its rows with :meth:`linsep.plot.SeparationDisplay.from_verdict`."""
        return display("SeparationDisplay").from_verdict(self, X, y, **kwargs)

    def __repr__(self) -> str:
        about = self.subject
        sides = f", {about.positive!r} against {about.negative!r}" * (not about.multinomial)
        features = f"{about.n_rows:,} rows, {about.n_features:,} features"
        return f"<{self.kind}: {features}{sides}>"

    def __str__(self) -> str:
        return "\n".join(pair_lines(self.described()))

    def _repr_html_(self) -> str:
        cells = "".join(
            f"<tr><th style='text-align:left'>{escape(heading)}</th>"
            f"<td style='text-align:left'>{escape(line)}</td></tr>"
            for heading, line in self.described()
        )
        return self._beside(f"<table>{cells}</table>")

    def _details(self, number: Number) -> list[tuple[str, str]]:
        """Return the evidence, and the consequence for a logistic regression."""
        return []

    def _columns_alone(self) -> list[tuple[str, str]]:
        """Return the columns that separate, or quasi-separate, without the others."""
        found = self.deciding_columns
        columns = getattr(found, "alone" if self.kind == "separable" else "touching", ())
        if found is None or not columns:
            return []
        each = "each " * (len(columns) > 1)
        text = f"{_some(found.named(columns))}: {each}{self.verb} the classes without the others"
        return [("alone", text)]

    def _errors_lines(self, number: Number) -> list[tuple[str, str]]:
        """Return the fewest errors of any hyperplane, if requested."""
        found = self.errors
        if found is None:
            return []
        what = "rows" if found.weights is None else "(total weight)"
        if found.closed:
            ends = f"{found.ends()} {what}: no hyperplane has fewer"
        else:
            ends = f"from {found.ends()} {what}: both ends are proved"
        if found.weights is None:
            ends = ends.replace(" rows:", f" of {self.subject.n_rows:,} rows:")
        ends += "" if found.strict else " (a row on the hyperplane is not an error)"
        lines = [("errors", ends)]
        if found.rows:
            which = _numbered(found.rows, number)
            lines.append(("wrong rows", f"errors of the hyperplane found: {which}"))
        return lines

    def _found(self) -> str:
        """Return the verdict's kind and finding, as the beginning of a sentence."""
        multinomial = self.subject.multinomial
        what = "some weights have" if multinomial else "a hyperplane has"
        return f"{self.kind}: {what}"


@dataclass(frozen=True, repr=False)
class Separable(Verdict):
    """The data are linearly separable: some weights classify every row correctly.

    Attributes
    ----------
    coef : tuple of tuple of float
        One row of weights; in the multinomial formulation one per class but the last. Python
        integers if floats are not exact enough.
    intercept : tuple of float
    margin : pair of float
        Lower and upper bound of the widest geometric margin (distance from the hyperplane to the
        nearest row); these weights attain the lower one. (0, inf) in the multinomial formulation.
    support : Combination
        Rows whose combination bounds the margin of every separator from above. Multipliers are
        normalized to sum to 1 on each side.
    """

    coef: tuple[tuple[float, ...], ...]
    intercept: tuple[float, ...]
    margin: tuple[float, float]
    support: Combination
    kind: ClassVar[str] = "separable"
    verb: ClassVar[str] = "separates"
    checker: ClassVar[type[Checker] | None] = SeparableChecker
    fields: ClassVar[dict[str, json_of.Field]] = {
        "coef": json_of.list_of(json_of.list_of(json_of.WEIGHT)),
        "intercept": json_of.list_of(json_of.WEIGHT),
        "margin": json_of.MARGIN,
        "support": json_of.COMBINATION,
    }

    def answer(self) -> str:
        """Return the verdict in one sentence."""
        return f"{self._found()} every row on the correct side"

    def note(self, number: Number = int) -> str:
        """Return the margin."""
        low, high = self.margin
        return "" if high == math.inf else f"{low:.4g} to {high:.4g}"

    def _details(self, number: Number) -> list[tuple[str, str]]:
        found = []
        low, high = self.margin
        if high < math.inf:
            found.append(
                ("margin", f"from {low:.7g} to at most {high:.7g} (distance to the nearest row)")
            )
            rows = self.support.rows
            named = _numbered(rows, number)
            found.append(("support", f"{_count(rows)} that rule out a wider margin: {named}"))
        why = "the logistic likelihood has no maximum: every coefficient may diverge"
        return [*found, ("weights", self._shown_weights()), ("likelihood", why)]

    def _shown_weights(self) -> str:
        """Return the largest weights, divided by their length without the intercept."""
        blocks = zip(self.coef, self.intercept, strict=True)
        constant = self.subject.fit_intercept
        weights = [x for row, b in blocks for x in (*row, *([b] if constant else []))]
        top = max(map(abs, weights), default=0) or 1  # integers may exceed all floats
        weights = [float(Fraction(x) / Fraction(top)) for x in weights]
        inner = [float(Fraction(x) / Fraction(top)) for row in self.coef for x in row]
        length = float(np.linalg.norm(inner)) or 1.0
        names = self.subject.coefficient_names()
        order = sorted(range(len(weights)), key=lambda j: -abs(weights[j]))[:MOST_SHOWN]
        shown = [f"{names[j]} {weights[j] / length:.4g}" for j in order]
        return f"of length 1: {_some(shown, len(weights))}"


@dataclass(frozen=True, repr=False)
class Blocked(Verdict):
    """The data are not linearly separable: no weights have every row strictly on its side.

    Attributes
    ----------
    witness : Combination
        An infeasibility certificate: a few rows, at most two more than there are features, that no
        hyperplane separates.
    spanning : Combination
        Rows that lie on the hyperplane of all weights with no row on the wrong side.
    space : Space
        The span of these rows: every row in it lies on these hyperplanes, too.
    """

    witness: Combination
    spanning: Combination
    space: Space
    fields: ClassVar[dict[str, json_of.Field]] = {
        "witness": json_of.COMBINATION,
        "spanning": json_of.COMBINATION,
        "space": json_of.SPACE,
    }
    #: kinds of limits of coefficients, in the order in which they are shown
    shown_limits: ClassVar[tuple[str, ...]] = ("dependent",)

    def limits(self) -> dict[str, str]:
        """Return the kind of maximum likelihood estimate of each logistic coefficient, by name."""
        raise NotImplementedError

    def note(self, number: Number = int) -> str:
        """Return the infeasibility certificate."""
        return f"{len(self.witness.rows)} rows: {_numbered(self.witness.rows, number, 4)}"

    def _witness_line(self, number: Number) -> tuple[str, str]:
        rows = self.witness.rows
        return (
            "witness",
            f"{_count(rows)} that no hyperplane separates: {_numbered(rows, number)} (a positive "
            "combination of the sign-flipped rows is exactly zero)",
        )

    def _limit_lines(self) -> list[tuple[str, str]]:
        found, by_name = [], self.limits().items()
        for limit in self.shown_limits:
            names = [name for name, its_limit in by_name if its_limit == limit]
            if names:
                why = ": linear combinations of the intercept and earlier columns"
                found.append((limit, _some(names) + why * (limit == "dependent")))
        return found


@dataclass(frozen=True, repr=False)
class Overlapping(Blocked):
    """Every hyperplane has a row on the wrong side, unless all rows lie on it."""

    kind: ClassVar[str] = "overlapping"
    checker: ClassVar[type[Checker] | None] = OverlappingChecker

    def limits(self) -> dict[str, str]:
        """Return the kind of maximum likelihood estimate of each logistic coefficient, by name.

        ``finite``, or ``dependent``: see :meth:`QuasiSeparable.limits`.
        """
        kept = self.space.coefficients(self.subject.width, self.subject.fit_intercept)
        names = enumerate(self.subject.coefficient_names())
        return {name: "finite" if j in kept else "dependent" for j, name in names}

    def answer(self) -> str:
        """Return the verdict in one sentence."""
        return "overlapping: every hyperplane has a row on the wrong side"

    def _details(self, number: Number) -> list[tuple[str, str]]:
        full = len(self.space.rows) == len(self.subject.coefficient_names())
        why = "the logistic likelihood has a unique maximum"
        if not full:
            why = "the logistic likelihood has a maximum, not unique because of dependent columns"
        return [self._witness_line(number), *self._limit_lines(), ("likelihood", why)]


@dataclass(frozen=True, repr=False)
class QuasiSeparable(Blocked):
    """Some weights have no row on the wrong side, but some rows, not all, must lie on the boundary.

    Attributes
    ----------
    direction : dict
        Such weights, with as many rows as possible on the correct side: {number of the weight:
        integer}, without zeros.
    boundary : tuple of int
        The rows that lie on the boundary of all such weights.
    everything : Space
        The span of all rows. If it is not the whole space, some columns depend on others.
    basis : tuple of pairs of int
        Rows that span ``everything``, each with the number of one of its constraints.
    signs : dict
        {number of a coefficient: Combination}: rows whose sum, with positive multipliers and modulo
        ``space``, is a multiple of the coefficient, with its sign along ``direction``. So it has
        this sign, or is zero, under all weights with no row on the wrong side.
    unchecked : tuple of int
        The numbers of diverging coefficients whose sign is unknown because the work limit ended.
    """

    direction: dict[int, int]
    boundary: tuple[int, ...]
    everything: Space
    basis: tuple[tuple[int, int], ...]
    signs: dict[int, Combination]
    unchecked: tuple[int, ...] = ()
    kind: ClassVar[str] = "quasi-separable"
    verb: ClassVar[str] = "quasi-separates"
    checker: ClassVar[type[Checker] | None] = QuasiSeparableChecker
    fields: ClassVar[dict[str, json_of.Field]] = Blocked.fields | {
        "direction": json_of.ROW,
        "boundary": json_of.COUNTS,
        "everything": json_of.SPACE,
        "basis": json_of.PAIRS,
        "signs": json_of.by_number(json_of.COMBINATION),
        "unchecked": json_of.COUNTS,
    }
    optional: ClassVar[tuple[str, ...]] = ("unchecked",)
    shown_limits: ClassVar[tuple[str, ...]] = (
        "+inf", "-inf", "infinite", "sign not checked", "finite", "dependent",
    )  # fmt: skip

    def limits(self) -> dict[str, str]:
        """Return the kind of maximum likelihood estimate of each logistic coefficient, by name.

        ``finite``: the estimate is finite. ``+inf`` and ``-inf``: it diverges, and under all
        weights with no row on the wrong side the coefficient has this sign or is zero.
        ``infinite``: it diverges, and such weights have both signs. ``sign not checked``: it
        diverges, but the work limit ended before its sign was found. ``dependent``: the column is a
        linear combination of the intercept and earlier columns; the other codes hold with its
        coefficient fixed at 0.
        """
        found = {}
        kept = self.everything.coefficients(self.subject.width, self.subject.fit_intercept)
        for j, name in enumerate(self.subject.coefficient_names()):
            if j not in kept:
                found[name] = "dependent"
            elif not self.space.remainder(kept[j]):
                found[name] = "finite"
            elif j in self.unchecked:
                found[name] = "sign not checked"
            elif j not in self.signs:
                found[name] = "infinite"
            else:
                value = sum(x * self.direction.get(i, 0) for i, x in kept[j].items())
                found[name] = "+inf" if value > 0 else "-inf"
        return found

    def answer(self) -> str:
        """Return the verdict in one sentence."""
        n = len(self.boundary)
        return (
            f"{self._found()} no row on the wrong side, but "
            f"{n:,} of {self.subject.n_rows:,} rows must lie on the boundary"
        )

    def _details(self, number: Number) -> list[tuple[str, str]]:
        boundary = f"{_count(self.boundary)}: {_numbered(self.boundary, number)}"
        why = "the logistic likelihood has no maximum: some coefficients diverge"
        return [
            self._witness_line(number), ("boundary", boundary), *self._limit_lines(),
            ("likelihood", why),
        ]  # fmt: skip


@dataclass(frozen=True, repr=False)
class Undecided(Verdict):
    """Undecided: floats cannot decide, and exact arithmetic would exceed the time limit.

    Attributes
    ----------
    reason : str
    """

    reason: str
    kind: ClassVar[str] = "undecided"
    fields: ClassVar[dict[str, json_of.Field]] = {"reason": json_of.TEXT}

    def answer(self) -> str:
        """Return the verdict in one sentence."""
        return f"undecided: {self.reason}"


@dataclass(frozen=True)
class Separations(Claims):
    """The verdicts on several classes.

    Attributes
    ----------
    against_rest : dict
        {label: verdict} for each label against all others.
    pairs : dict
        {(label, label): verdict}; the second label is the positive side.
    multinomial : Verdict or None
        Every class above every other, as in multinomial logistic regression.
    """

    against_rest: dict[Any, Verdict]
    pairs: dict[tuple[Any, Any], Verdict]
    multinomial: Verdict | None

    def formulations(self) -> tuple[str, ...]:
        """Return the formulations that have verdicts."""
        given = (self.against_rest, self.pairs, self.multinomial is not None)
        return tuple(name for name, some in zip(FORMULATIONS, given, strict=True) if some)

    def verdicts(self) -> list[Verdict]:
        """Return all verdicts, in the order of the formulations."""
        last = [] if self.multinomial is None else [self.multinomial]
        return [*self.against_rest.values(), *self.pairs.values(), *last]

    def chance_line(self) -> list[tuple[str, str]]:
        """Return whether two classes with random labels would be separable, if known."""
        of_all = [one for one in (*self.against_rest.values(), self.multinomial) if one is not None]
        if not of_all or any(one.chance is None for one in self.verdicts()):
            return []
        return [("chance", f"two classes: {of_all[0].chance}")]

    def table(self, number: Number = int, letters: int | None = None) -> list[list[str]]:
        """Return a heading and one line per verdict: subproblem, answer, and margin or certificate.

        ``number`` returns the name of a row, given its index; names of classes are elided to
        ``letters``, if they are given.
        """
        classes = [str(name) for name in self.verdicts()[0].subject.classes]
        short = dict(zip(classes, told_apart(classes, letters or sys.maxsize), strict=True))
        found = [["subproblem", "verdict", "margin, or rows that no hyperplane separates"]]
        for verdict in self.verdicts():
            subject = verdict.subject
            question = (
                "every class above every other"
                if subject.multinomial
                else f"{short[str(subject.positive[0])]} against "
                + ("the rest" if len(subject.negative) > 1 else short[str(subject.negative[0])])
            )
            note = verdict.note(number)
            if verdict.errors is not None:
                note = f"{verdict.errors.ends()} errors; {note}".removesuffix("; ")
            found.append([question, verdict.kind, note])
        return found

    def __str__(self) -> str:
        lines = table_lines(self.table(letters=letters_of_two()), [False] * 3, sentences=True)
        chance = self.chance_line()
        return "\n".join([*lines, *(["", *pair_lines(chance)] if chance else [])])

    def _repr_html_(self) -> str:
        head, *body = self.table()
        first = "".join(f"<th>{escape(cell)}</th>" for cell in head)
        rest = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in body
        )
        return f"<table><tr>{first}</tr>{rest}</table>"


# Text.


def letters_of_two() -> int:
    """Return how many letters of the names of two classes fit a table of verdicts."""
    return max(6, (room() - 48) // 2)


def _sides(subject: Subject) -> str:
    if subject.multinomial:
        return f"{_some(subject.classes)}, each above every other"
    return f"{_some(subject.positive)} (positive side) against {_some(subject.negative)}"


def _data_lines(subject: Subject) -> list[tuple[str, str]]:
    """Return the data of a claim as pairs of a heading and a text."""
    if subject.columns is not None:
        features = f"{subject.n_features:,} columns of a Gram matrix: {_some(subject.columns)}"
    else:
        features = f"{subject.n_features:,}" + (
            f": {_some(subject.names)}" if subject.names else ""
        )
    return [
        ("labels", _some(subject.classes)),
        ("features", features),
        ("numbers", AS_STORED),
        ("intercept", "yes" if subject.fit_intercept else "no"),
        ("rows", f"{subject.n_rows:,}"),
        ("sha256", subject.sha256),
    ]


def _count(rows: Any) -> str:
    return "1 row" if len(rows) == 1 else f"{len(rows):,} rows"


def _numbered(rows: Sequence[int], number: Number, most: int = MOST_SHOWN) -> str:
    """Return the names of the first few rows: by default counted from 1, with the index."""
    if number is not int:
        return _some([number(row) for row in rows[:most]], len(rows), most)
    counted = _some([row + 1 for row in rows[:most]], len(rows), most)
    return f"{counted} (index {_some(rows[:most], len(rows), most)})"


def _some(items: Any, of: int | None = None, most: int = MOST_SHOWN) -> str:
    """Return a few items, comma separated, with dots if there are more."""
    shown = ", ".join(str(item) for item in list(items)[:most])
    return shown + (", ..." if max(len(items), of or 0) > most else "")
