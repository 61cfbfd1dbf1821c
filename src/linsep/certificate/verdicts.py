"""Verdicts of :func:`linsep.separation`: claims with their evidence, as text, HTML and JSON, and
their check from this evidence alone, in one reading of the rows.

A verdict refers to rows only by number, counted from 0. Integers are Python's, of any length. The
check is independent of the search, and the hash covers exactly the checked rows. Integer arithmetic
decides; floats decide only where the rounding bound of
:meth:`linsep.certificate.constraints.Weights.products` allows it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from html import escape
from pkgutil import resolve_name
from typing import Any, ClassVar, NamedTuple

import numpy as np

import linsep
from linsep.certificate.canonical import Block, Reading, exact_rows, padded, read_whole
from linsep.certificate.constraints import (
    FORMULATIONS,
    Case,
    Checking,
    Clock,
    Combination,
    Direction,
    Fails,
    Space,
    SpaceOfRows,
    Subject,
    TooLong,
    Weights,
    dot,
    in_lowest_terms,
    need,
    refuse,
    squared_bound,
    whole_numbers,
)
from linsep.certificate.errors import FewestErrors
from linsep.certificate.json_fields import Counts, Margin, Pairs, Weight, write_object
from linsep.drawing import WithRows, display
from linsep.layout import pair_lines, table_lines
from linsep.words import counted

FORMAT = "linsep proof 3"
#: how numbers of text are interpreted
AS_STORED = "as stored: a float is a binary fraction, not the decimal it prints as"
#: default time limit, in seconds, of the exact arithmetic in a check
TIME_LIMIT = 60.0
#: numbers that a check makes of claimed counts before they are compared with the data
MOST_NUMBERS = 1 << 20
#: differences of equal values of a Gram matrix, relative to the largest: sums may be rounded
ASYMMETRY = 2.0**-26
#: names or row numbers shown before dots
MOST_SHOWN = 12
#: kinds of limits of coefficients, in the order in which they are shown
LIMITS = ("+inf", "-inf", "infinite", "sign not checked", "finite", "dependent")
#: returns the name of a row, given its index
Number = Callable[[int], Any]
#: headings and texts
Lines = list[tuple[str, str]]


class Check(NamedTuple):
    """Result of a check: True, False or None (unknown), with the reason.

    ``bool(check)`` is True only if it holds.
    """

    holds: bool | None
    reason: str

    def __bool__(self) -> bool:
        return self.holds is True


class Claim:
    """Base class of what can be checked against data."""

    def verify(
        self, X: Any, y: Any = None, exact: bool = True, time_limit: float | None = TIME_LIMIT
    ) -> Check:
        """Check the claims against data, from the evidence alone, in one pass over the rows.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, features), or source
            Of a claim about a Gram matrix, or a kernel perceptron, the matrix.
        y : array of shape (rows,), not for a source
        exact : bool, default=True
            True: check in integer arithmetic, without tolerance, which is a proof. False: check in
            float64, which can refute a verdict but never prove it. Cycles are always exact.
        time_limit : float or None, default=60.0
            Time limit for exact arithmetic, in seconds, excluding the reading of rows. None: no
            limit.

        Returns
        -------
        Check
        """
        try:
            # as they are, or of a frame with text a source: the checker does not read files
            X, y = resolve_name(linsep.TOOLS["frame"])(X, y)
            return self.verified(X, y, exact, Clock(time_limit))  # type: ignore[attr-defined]
        except Fails as failure:
            return Check(False, f"It does not hold: {failure}.")
        except TooLong as reason:
            return Check(None, f"The check is incomplete: {reason}. Raise the time limit.")


class Claims(Claim):
    """Base class of single and several verdicts."""

    verdicts: Callable[[], list[Verdict]]

    def verified(self, X: Any, y: Any, exact: bool, clock: Clock) -> Check:
        """Check all verdicts, on the columns of a Gram matrix that they are about; the claim that
        nothing separates covers the whole matrix.
        """
        verdicts = self.verdicts()
        decided = [verdict for verdict in verdicts if verdict.checks()]
        if not decided:
            return Check(None, "There is no claim: the verdict is undecided.")
        columns = verdicts[0].subject.columns
        if columns is not None:
            K, y = _gram_of(X, y)
            X = K[:, [j for j in columns if j < len(K)]]
        try:
            n_rows = _check(decided, X, y, exact, clock)
        except Fails:
            _same_data(decided[0].subject, read_whole(X, y))  # which may be a better reason
            raise
        if columns is not None and exact and any(isinstance(one, Blocked) for one in decided):
            _check_spanned(K, columns, clock)
        where = f"checked over {n_rows:,} rows in {'exact arithmetic' if exact else 'floats'}."
        if exact and len(decided) == len(verdicts):
            what = decided[0].kind if len(verdicts) == 1 else f"all {len(decided)} verdicts"
            return Check(True, f"It holds: {what}, {where}")
        why = f"{len(verdicts) - len(decided):,} verdicts are undecided, and the others hold"
        return Check(None, f"{why if exact else 'Not refuted (only exact=True proves)'}, {where}")

    def lines(self) -> Lines:
        """Return the claims and their data as pairs of a heading and a text."""
        subject = self.verdicts()[0].subject
        features = f"{subject.n_features:,}"
        if subject.columns is not None:
            features += f" columns of a Gram matrix: {_some(subject.columns)}"
        elif subject.names:
            features += f": {_some(subject.names)}"
        return [
            *(pair for one in self.verdicts() for pair in one.claim()),
            ("labels", _some(subject.classes)), ("features", features), ("numbers", AS_STORED),
            ("intercept", "yes" if subject.fit_intercept else "no"),
            ("rows", f"{subject.n_rows:,}"), ("sha256", subject.sha256),
        ]  # fmt: skip

    def to_json(self, recipe: dict[str, Any] | None = None) -> str:
        """Return the claims as JSON text, which :func:`linsep.from_json` reads, with the
        preprocessing ``recipe`` of data in files.
        """
        subject = self.verdicts()[0].subject
        plain = {
            "format": FORMAT, "recipe": recipe,
            "data": {
                "rows": subject.n_rows, "features": subject.n_features, "names": subject.names,
                "classes": subject.classes, "columns": subject.columns, "sha256": subject.sha256,
            },
            "fit_intercept": subject.fit_intercept,
            "formulations": getattr(self, "formulations", None),
            "verdicts": [verdict.plain() for verdict in self.verdicts()],
        }  # fmt: skip
        return json.dumps(plain, allow_nan=False, indent=1) + "\n"


@dataclass(frozen=True)
class DecidingColumns:
    """The columns that decide a separable or quasi-separable verdict, numbered from 0.

    Attributes
    ----------
    alone, touching : tuple of int
        The columns that separate, and that quasi-separate, the classes alone.
    """

    alone: tuple[int, ...]
    touching: tuple[int, ...]


@dataclass(frozen=True, repr=False)
class Verdict(WithRows, Claims):
    """Base class of all verdicts."""

    subject: Subject
    errors: FewestErrors | None = field(default=None, kw_only=True)
    #: columns that decide a separable or quasi-separable verdict alone; not in the proof
    deciding_columns: DecidingColumns | None = field(default=None, kw_only=True, compare=False)
    kind: ClassVar[str] = ""
    #: the verdict as a sentence, and what it implies for a logistic regression
    finding: ClassVar[str] = ""
    likelihood: ClassVar[str] = ""

    def checks(self) -> list[Callable[[Case], Checking]]:
        """Return the checks of the verdict, if it claims something, and of the fewest errors."""
        owners: list[Any] = [self, self.errors]
        return [one.check for one in owners if hasattr(one, "check")]

    def verdicts(self) -> list[Verdict]:
        """Return the verdict alone."""
        return [self]

    def note(self, number: Number = int) -> str:
        """Return the margin, or the infeasibility certificate, in a few words."""
        return ""

    def _evidence(self, number: Number) -> Lines:
        return []

    def claim(self) -> Lines:
        """Return the verdict, its classes, the fewest errors and the margin as pairs."""
        subject, errors = self.subject, self.errors
        sides = f"{_some(subject.positive)} (positive side) against {_some(subject.negative)}"
        who = "a hyperplane has"
        if subject.multinomial:
            who, sides = "some weights have", f"{_some(subject.classes)}, each above every other"
        on = len(getattr(self, "boundary", ()))
        finding = self.finding.format(who=who, verdict=self, rows=subject.n_rows, boundary=on)
        found = [("verdict", f"{self.kind}: {finding}"), ("classes", sides)]
        if errors is not None:
            of = f"of {subject.n_rows:,} rows" if errors.weights is None else "(total weight)"
            proved = "no hyperplane has fewer" if errors.closed else "both ends are proved"
            ends = f"{'' if errors.closed else 'from '}{errors.ends()} {of}: {proved}"
            ends += "" if errors.strict else " (a row on the hyperplane is not an error)"
            found.append(("errors", ends))
        low, high = getattr(self, "margin", (0.0, math.inf))
        if (low, high) != (0.0, math.inf):
            ends = f"from {low:.7g} to at most {high:.7g} (distance to the nearest row)"
            found.append(("margin", ends))
        return found

    def described(self, number: Number = int) -> Lines:
        """Return the verdict and its consequences as pairs; ``number`` gives names to rows."""
        subject, errors, deciding = self.subject, self.errors, self.deciding_columns
        features = f"{subject.n_features:,} features"
        if subject.columns is not None:
            features = f"in the space of a kernel, spanned by {len(subject.columns):,} of them"
        found = self.claim()
        found.insert(2, ("data", f"{subject.n_rows:,} rows, {features}, numbers as stored"))
        if errors is not None and errors.rows:
            wrong = f"errors of the hyperplane found: {numbered(errors.rows, number)}"
            found.insert(4, ("wrong rows", wrong))
        found += self._evidence(number)
        if self.likelihood:
            found.append(("likelihood", self.likelihood))
        quasi = self.kind != "separable"
        columns = () if deciding is None else deciding.touching if quasi else deciding.alone
        if columns:
            does = "each " * (len(columns) > 1) + "quasi-" * quasi + "separates"
            names = _some([subject.feature_names[j] for j in columns])
            found.append(("alone", f"{names}: {does} the classes without the others"))
        return [*found, *self.chance_line()]

    @property
    def chance(self) -> Any:
        """Whether random labels would be separable, a :class:`linsep.chance.counting.Chance`; None
        of a proof, and unless the verdict is separable or overlapping, which Cover's count is of.
        """
        return self.subject.chance if self.kind in ("separable", "overlapping") else None

    def chance_line(self) -> Lines:
        """Return whether random labels would be separable, if that is known."""
        of = "with two classes, " * self.subject.multinomial
        return [] if self.chance is None else [("chance", f"{of}{self.chance}")]

    def plain(self) -> dict[str, Any]:
        """Return the verdict as a JSON object."""
        sides = {"positive": self.subject.positive, "negative": self.subject.negative}
        return {"kind": self.kind, **sides, **write_object(self)}

    def plain_details(self) -> dict[str, Any]:
        """Return the columns that decide alone, if known, as a JSON object."""
        if (found := self.deciding_columns) is None:
            return {}
        names = self.subject.feature_names
        named = {kind: [names[j] for j in own] for kind, own in vars(found).items()}
        return {"deciding_columns": named}

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
        return self._beside(table_html(self.described()))


@dataclass(frozen=True, repr=False)
class Separable(Verdict):
    """The data are linearly separable: some weights classify every row correctly.

    Attributes
    ----------
    coef, intercept : tuple of tuple of float, and tuple of float
        One row of weights; in the multinomial formulation one per class but the last. Python
        integers if floats are not exact enough.
    margin : pair of float
        Lower and upper bound of the widest geometric margin (distance from the hyperplane to the
        nearest row); these weights attain the lower one. (0, inf) in the multinomial formulation.
    support : Combination
        Rows whose combination bounds the margin of every separator from above. Multipliers are
        normalized to sum to 1 on each side.
    """

    coef: tuple[tuple[Weight, ...], ...]
    intercept: tuple[Weight, ...]
    margin: Margin
    support: Combination
    kind = "separable"
    finding = "{who} every row on the correct side"
    likelihood = "the logistic likelihood has no maximum: every coefficient may diverge"

    def __post_init__(self) -> None:
        about = self.subject
        shape = len(self.coef), {len(row) for row in self.coef}, len(self.intercept)
        if shape != (about.blocks, {about.n_features}, about.blocks):
            raise ValueError("the number of weights does not match the data")

    def weights(self) -> Weights:
        """Return the weights as the smallest integers in proportion."""
        blocks = zip(self.coef, self.intercept, strict=True)
        w = [x for row, b in blocks for x in (*row, *[b] * self.subject.fit_intercept)]
        return Weights(self.subject, in_lowest_terms(dict(enumerate(map(Fraction, w)))))

    def check(self, case: Case) -> Checking:
        """Check that every row is on the correct side by the margin, and that none is wider."""
        about, (low, high) = self.subject, self.margin
        case.keep(self.support)
        weights = self.weights()
        need(weights.exact, "all weights are zero")
        need(about.fit_intercept or not any(self.intercept), "there is an intercept")
        plain = about.blocks == 1 and about.columns is None
        sound = 0 <= low <= high and low < math.inf
        sound = sound and (high < math.inf) == bool(self.support.rows)
        sound = sound and (plain or self.margin == (0.0, math.inf))
        need(sound, "the margin is malformed, has no support rows, or is of no two sides")
        below, above = weights.length
        least, most = low * below * (1 - 1e-15), low * above * (1 + 1e-15) + 2.0**-1000
        while given := (yield):
            value, bound = weights.products(given)
            wrong = (value + bound < least) | (value + bound <= 0)
            unsure = np.flatnonzero(~(value - bound > most) & ~wrong & case.exact)
            for k in case.clock.over(unsure.tolist()):
                row, scale = given.exact(k)
                product = dot(row, weights.exact) * scale
                wrong[k] = product <= 0 or product**2 < Fraction(low) ** 2 * weights.square
            refuse(given, wrong, "is not on the correct side by the margin")
        if high < math.inf:
            sides = {row.get(about.n_features, 0) > 0 for row, _ in case.named(self.support)}
            need(len(sides) == 1 + about.fit_intercept, "the support rows are all on one side")
            square = squared_bound(about, case.named(self.support), self.support.multipliers)
            need(square <= Fraction(high) ** 2, "the support rows allow a wider margin")

    def note(self, number: Number = int) -> str:
        """Return the margin."""
        low, high = self.margin
        return "" if high == math.inf else f"{low:.4g} to {high:.4g}"

    def _evidence(self, number: Number) -> Lines:
        rows, weights = self.support.rows, self.weights().floats
        support = f"{counted(len(rows), 'row')} that rule out a wider margin: "
        length = float(np.linalg.norm(weights[:, : self.subject.n_features]))
        weights = weights.ravel() / (length or 1.0)
        names = self.subject.coefficient_names()
        largest = np.argsort(-np.abs(weights), kind="stable")[:MOST_SHOWN].tolist()
        shown = _some([f"{names[j]} {weights[j]:.4g}" for j in largest], len(weights))
        found = [("support", support + numbered(rows, number))] * bool(rows)
        return [*found, ("weights", f"of length 1: {shown}")]


@dataclass(frozen=True, repr=False)
class Blocked(Verdict):
    """The data are not linearly separable: no weights have every row strictly on its side.

    Attributes
    ----------
    witness : Combination
        At most two rows more than features that no hyperplane separates.
    spanning, space : Combination and Space
        Rows that lie on the hyperplane of all weights with no row on the wrong side, and their
        span: every row in it lies on these hyperplanes, too.
    """

    witness: Combination
    spanning: Combination
    space: SpaceOfRows

    def check(self, case: Case, *parts: Combination) -> Checking:
        """Check that witness and spanning rows add up to zero; the latter span the space of all."""
        case.keep(self.witness, self.spanning, *parts)
        everything = case.space(getattr(self, "everything", self.space))
        while given := (yield):
            if case.exact:
                every = np.arange(len(given.place))
                outside = given.outside(everything, every, case.clock.over)
                refuse(given, outside, "is not in the space")
        case.vanishes(self.witness)
        case.spans(case.vanishes(self.spanning), self.space)

    def limits(self) -> dict[str, str]:
        """Return the kind of maximum likelihood estimate of each logistic coefficient, by name.

        ``finite``; ``+inf`` and ``-inf``: it diverges, and under all weights with no row on the
        wrong side it has this sign or is zero; ``infinite``: it diverges, and such weights have
        both signs; ``sign not checked``: it diverges, and the work limit ended; ``dependent``: the
        column is a linear combination of the intercept and earlier ones; it is fixed at 0.
        """
        own: Any = self
        span: Space = getattr(self, "everything", self.space)  # of all rows
        kept = span.coefficients(self.subject.width, self.subject.fit_intercept)
        found = {}
        for j, name in enumerate(self.subject.coefficient_names()):
            if j not in kept:
                found[name] = "dependent"
            elif not self.space.remainder(kept[j]):
                found[name] = "finite"
            elif j in own.unchecked:
                found[name] = "sign not checked"
            elif j not in own.signs:
                found[name] = "infinite"
            else:
                found[name] = "+inf" if dot(kept[j], own.direction) > 0 else "-inf"
        return found

    def note(self, number: Number = int) -> str:
        """Return the infeasibility certificate."""
        return f"{len(self.witness.rows)} rows: {numbered(self.witness.rows, number, 4)}"

    def _evidence(self, number: Number) -> Lines:
        rows = self.witness.rows
        why = "a positive combination of the sign-flipped rows is exactly zero"
        proof = f"{counted(len(rows), 'row')} that no hyperplane separates: "
        found, limits = [("witness", f"{proof}{numbered(rows, number)} ({why})")], self.limits()
        for limit in LIMITS if {*limits.values()} - {"finite", "dependent"} else ("dependent",):
            if names := [name for name, its_limit in limits.items() if its_limit == limit]:
                why = ": linear combinations of the intercept and earlier columns"
                found.append((limit, _some(names) + why * (limit == "dependent")))
        return found


@dataclass(frozen=True, repr=False)
class Overlapping(Blocked):
    """Every hyperplane has a row on the wrong side, unless all rows lie on it."""

    kind = "overlapping"
    finding = "every hyperplane has a row on the wrong side"

    @property
    def likelihood(self) -> str:  # type: ignore[override]
        """What the verdict implies for a logistic regression."""
        if len(self.space.rows) == len(self.subject.coefficient_names()):
            return "the logistic likelihood has a unique maximum"
        return "the logistic likelihood has a maximum, not unique because of dependent columns"


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
    everything, basis : Space and tuple of pairs of int
        The span of all rows, and rows that span it, each with the number of one of its constraints.
    signs : dict
        {number of a coefficient: Combination}: rows whose sum, with positive multipliers and modulo
        ``space``, is a multiple of the coefficient, with its sign along ``direction``.
    unchecked : tuple of int
        The numbers of diverging coefficients whose sign is unknown because the work limit ended.
    """

    direction: Direction
    boundary: Counts
    everything: SpaceOfRows
    basis: Pairs
    signs: dict[int, Combination]
    unchecked: Counts = ()
    kind = "quasi-separable"
    finding = (
        "{who} no row on the wrong side, but {boundary:,} of {rows:,} rows must lie on the boundary"
    )
    likelihood = "the logistic likelihood has no maximum: some coefficients diverge"

    def check(self, case: Case, *parts: Combination) -> Checking:
        """Check also that the direction is zero on the boundary, and positive on all other rows;
        and that, modulo the space, rows sum to each coefficient with the sign of the direction.
        """
        clock, space = case.clock, self.space
        rows, which = zip(*self.basis, strict=True) if self.basis else ((), ())
        basis = Combination(rows, which, (1,) * len(rows))
        blocked = super().check(case, basis, *self.signs.values())
        next(blocked)
        inside = case.space(space)
        case.check_columns(self.direction)
        turned = any(dot(row, self.direction) for row in clock.over(space.rows.values()))
        need(not turned, "the direction is not zero on the boundary")
        weights, boundary, free = Weights(self.subject, self.direction), set[int](), False
        while given := (yield):
            value, bound = weights.products(given)
            wrong = value < -bound
            if case.exact:
                unsure = np.flatnonzero(~(value > bound) & ~wrong)
                outside = given.outside(inside, unsure, clock.over)
                for k in clock.over(unsure[outside].tolist()):
                    wrong[k] = dot(given.exact(k)[0], self.direction) <= 0
                free |= len(unsure) < len(value) or bool(outside.any())
                boundary.update((given.block.first + given.place[unsure[~outside]]).tolist())
            blocked.send(given)
            refuse(given, wrong, "is on the wrong side")
        next(blocked, None)
        case.spans([row for row, _ in case.named(basis)], self.everything)
        kept = self.everything.coefficients(self.subject.width, self.subject.fit_intercept)
        for j, part in clock.over(self.signs.items()):
            need(j in kept, "a dependent column has a sign")
            wanted, left = space.remainder(kept[j]), space.remainder(case.sum_of(part))
            times = {Fraction(left.get(i, 0), m) for i, m in wanted.items()}
            side = dot(kept[j], self.direction)
            same = left.keys() == wanted.keys() and len(times) == 1 and min(times) * side > 0
            need(same, "rows do not sum to the coefficient whose sign is claimed")
        rest = kept.keys() - self.signs.keys()
        need(rest >= set(self.unchecked), "an unchecked coefficient is dependent, or has a sign")
        if case.exact:
            same = free and sorted(boundary) == list(self.boundary)
            need(same, "the boundary rows differ")

    def _evidence(self, number: Number) -> Lines:
        witness, *limits = super()._evidence(number)
        rows = f"{counted(len(self.boundary), 'row')}: {numbered(self.boundary, number)}"
        return [witness, ("boundary", rows), *limits]


@dataclass(frozen=True, repr=False)
class Undecided(Verdict):
    """Floats cannot decide, and exact arithmetic would exceed the time limit (``reason``)."""

    reason: str
    kind = "undecided"
    finding = "{verdict.reason}"


KINDS = {kind.kind: kind for kind in (Separable, QuasiSeparable, Overlapping, Undecided)}


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

    @property
    def formulations(self) -> tuple[str, ...]:
        """The formulations that have verdicts."""
        given = (self.against_rest, self.pairs, self.multinomial is not None)
        return tuple(name for name, some in zip(FORMULATIONS, given, strict=True) if some)

    def verdicts(self) -> list[Verdict]:
        """Return all verdicts, in the order of the formulations."""
        last = [] if self.multinomial is None else [self.multinomial]
        return [*self.against_rest.values(), *self.pairs.values(), *last]

    def chance_line(self) -> Lines:
        """Return whether two classes with random labels would be separable, if known."""
        of_all = [one for one in (*self.against_rest.values(), self.multinomial) if one is not None]
        if not of_all or any(one.chance is None for one in self.verdicts()):
            return []
        return [("chance", f"with two classes, {of_all[0].chance}")]

    def table(self, number: Number = int) -> list[list[str]]:
        """Return a heading and one line per verdict: subproblem, answer, and margin or certificate;
        ``number`` gives names to rows.
        """
        found = [["subproblem", "verdict", "margin, or rows that no hyperplane separates"]]
        for verdict in self.verdicts():
            subject, question = verdict.subject, "every class above every other"
            if not subject.multinomial:
                others = "the rest" if len(subject.negative) > 1 else subject.negative[0]
                question = f"{subject.positive[0]} against {others}"
            errors = [] if verdict.errors is None else [f"{verdict.errors.ends()} errors"]
            note = "; ".join(filter(None, [*errors, verdict.note(number)]))
            found.append([question, verdict.kind, note])
        return found

    def __str__(self) -> str:
        chance = self.chance_line()
        lines = table_lines(self.table(), [False] * 3, sentences=True)
        return "\n".join([*lines, *(["", *pair_lines(chance)] if chance else [])])

    def _repr_html_(self) -> str:
        return table_html(self.table())


# The check.


def _check(verdicts: Sequence[Any], X: Any, y: Any, exact: bool, clock: Clock) -> int:
    """Raise Fails unless all verdicts hold; return the number of rows."""
    subject = verdicts[0].subject
    data = {verdict.subject.of_sides((), ()) for verdict in verdicts}
    need(len(data) == 1, "the verdicts are about different data")
    # What a check allocates for claimed counts: if much, they are compared with the data before.
    spaces = (one.subject.size for one in verdicts if isinstance(one, Blocked))
    signs = (len(subject.classes) * one.subject.blocks**2 for one in verdicts)
    if sum(spaces) + sum(signs) > MOST_NUMBERS:
        _same_data(subject, read_whole(X, y))
    # One reading for hash and checks: rows that change in between cannot pass.
    reading = Reading(X, y)
    classes = {(type(label), label): code for code, label in enumerate(subject.classes)}
    cases = [Case(one.subject, k, exact, clock) for one in verdicts for k in one.checks()]
    for block in reading.blocks():
        need(block.X.shape[1] <= subject.n_features, "the rows have more features")
        codes = np.array([classes.get((type(k), k), 0) for k in reading.labels])
        wide = Block(padded(block.X, subject.n_features), block.numbers, block.first)
        for case in cases:
            case.see(wide, codes[block.numbers])
    _same_data(subject, reading)
    for case in cases:
        next(case.checking, None)
    return reading.n_rows


def _same_data(subject: Subject, reading: Reading) -> None:
    """Raise Fails if the rows differ from the rows of the subject."""
    size = "{:,} rows of {:,} features".format
    about, found = (size(one.n_rows, one.n_features) for one in (subject, reading))
    need(found == about, f"it is about {about}, but the data have {found}")
    ours = [(type(label), label) for label in sorted(reading.labels)]
    need(ours == [(type(label), label) for label in subject.classes], "the labels differ")
    named = reading.names and subject.names
    need(not named or reading.names == subject.names, "the features have other names")
    need(reading.sha256() == subject.sha256, "the rows or labels differ, or their order does")


def _gram_of(K: Any, y: Any) -> tuple[np.ndarray, Any]:
    """Return a Gram matrix, its numbers unchanged, and labels, of arrays or a source of both."""
    if y is None and hasattr(K, "exactly"):
        batches = [(X.toarray() if hasattr(X, "toarray") else X, y) for X, y, *_ in K.exactly()]
        K, y = (np.concatenate(parts) for parts in zip(*batches, strict=True))
    K = np.asarray(exact_rows(K))
    need(K.shape[0] == K.shape[1], "it is about a Gram matrix, which is square")
    floats = K.astype(np.float64)
    close = (np.abs(floats - floats.T) <= ASYMMETRY * np.abs(floats).max()).all()
    need(close, "it is about a Gram matrix, which is symmetric")
    return K, y


def _check_spanned(K: np.ndarray, columns: Sequence[int], clock: Clock) -> None:
    """Raise Fails if columns of a Gram matrix do not span the others (Bareiss 1968)."""
    # a positive factor of a row changes nothing
    left, last = np.array([whole_numbers(row)[0] for row in clock.over(K)], dtype=object), 1
    for j in clock.over(columns if len(columns) < len(K) else ()):
        places = np.flatnonzero(left[:, j])
        if places.size:
            pivot, left = left[places[0]], np.delete(left, places[0], axis=0)
            left = (left * pivot[j] - np.outer(left[:, j], pivot)) // last
            last = pivot[j]
    spanned = len(columns) == len(K) or not left.any()
    need(spanned, "the named columns of the Gram matrix do not span the others")


# Texts.


def table_html(lines: Sequence[Sequence[str]]) -> str:
    """Return HTML of a table."""
    head = "<tr style='text-align:left'>"
    rows = ["".join(f"<td>{escape(cell)}</td>" for cell in cells) for cells in lines]
    return f"<table>{''.join(f'{head}{row}</tr>' for row in rows)}</table>"


def numbered(rows: Sequence[int], number: Number, most: int = MOST_SHOWN) -> str:
    """Return the names of the first few rows: by default counted from 1, with the index."""
    if number is not int:
        return _some([number(row) for row in rows[:most]], len(rows), most)
    first = _some([row + 1 for row in rows[:most]], len(rows), most)
    return f"{first} (index {_some(rows[:most], len(rows), most)})"


def _some(items: Any, of: int = 0, most: int = MOST_SHOWN) -> str:
    """Return a few items, comma separated, with dots if there are more."""
    shown = ", ".join(str(item) for item in list(items)[:most])
    return shown + ", ..." * (max(len(items), of) > most)
