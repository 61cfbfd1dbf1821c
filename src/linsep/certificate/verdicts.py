"""What :func:`linsep.separation` answers: a claim with its evidence.

A verdict holds everything that is needed to check it against the data, and nothing of the data
but row numbers, counted from 0. Whole numbers are Python's, of any length.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, ClassVar

from linsep.certificate.integers import Space
from linsep.escaping import escaped

#: seconds that exact arithmetic may take in a check
TIME_LIMIT = 60.0
#: in which several classes may be separable: each against the rest, each pair, all together
FORMULATIONS = ("ovr", "ovo", "multinomial")


def sides_of(sense: str, classes: tuple[Any, ...]) -> list[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """Positive and negative side of every verdict in a sense; empty where every class has weights.

    Of two classes the second is the positive side.
    """
    if sense == "ovo":
        return [((b,), (a,)) for a, b in combinations(classes, 2)]
    if len(classes) == 2:
        return []
    if sense == "multinomial":
        return [((), ())]
    return [((k,), tuple(c for c in classes if c != k)) for k in classes]


@dataclass(frozen=True)
class Subject:
    """What a verdict is about.

    Attributes
    ----------
    classes : tuple
        All labels of the data, sorted.
    positive, negative : tuple
        The labels of the two sides; empty in the multinomial sense, where every class has
        weights of its own and those of the last are zero.
    fit_intercept : bool
    n_rows, n_features : int
    names : tuple of str or None
        Of the features.
    sha256 : str
        Of rows and labels in the form that ``linsep.certificate.canonical`` describes.
    columns : tuple of int or None
        Of a Gram matrix: all weights are those a_j of sum_j a_j K(x, x_j) over these columns. They
        span all columns where the verdict is that nothing separates. Margins in that space are not
        those of rows of numbers, so none is given.
    """

    classes: tuple[Any, ...]
    positive: tuple[Any, ...]
    negative: tuple[Any, ...]
    fit_intercept: bool
    n_rows: int
    n_features: int
    names: tuple[str, ...] | None
    sha256: str
    columns: tuple[int, ...] | None = None

    def of_sides(self, positive: tuple[Any, ...], negative: tuple[Any, ...]) -> Subject:
        """The same data, with other sides."""
        return replace(self, positive=positive, negative=negative)

    def same_data(self, other: Subject) -> bool:
        """Whether the other is about the same rows, too, whatever it asks of them."""
        return self.of_sides((), ()) == other.of_sides((), ())

    @property
    def multinomial(self) -> bool:
        """Whether every class is asked to win over every other."""
        return not self.positive

    @property
    def width(self) -> int:
        """Weights of one class: the features, and the intercept."""
        return self.n_features + self.fit_intercept

    def spanning_rows(self) -> list[str]:
        """Names of the examples that have weights in the space of a kernel."""
        return [f"row {j}" for j in self.columns or ()]

    def coefficient_names(self) -> list[str]:
        """A name for every weight, in order; the intercept is last, in each class."""
        plain = [f"x{j}" for j in range(self.n_features)]
        names = list(self.names or plain) if self.columns is None else self.spanning_rows()
        names += ["intercept"] * self.fit_intercept
        if not self.multinomial:
            return names
        return [f"{label}: {name}" for label in self.classes[:-1] for name in names]


@dataclass(frozen=True, repr=False)
class Combination:
    """Rows whose reflections, times positive whole numbers, add up to exactly zero.

    Attributes
    ----------
    rows : tuple of int
        Row numbers.
    which : tuple of int
        Zeros; in the multinomial sense which rival class of the row's own is meant, in order.
    multipliers : tuple of int
    """

    rows: tuple[int, ...]
    which: tuple[int, ...]
    multipliers: tuple[int, ...]

    def __repr__(self) -> str:
        return f"<Combination of {len(self.rows):,} rows>"  # Python may not print long numbers

    def shares(self) -> list[float]:
        """The multipliers as shares of their sum."""
        total = sum(self.multipliers)
        return [multiplier / total for multiplier in self.multipliers]


@dataclass(frozen=True, repr=False)
class Verdict:
    """The common part of all verdicts."""

    subject: Subject
    kind: ClassVar[str] = ""

    def verify(
        self, X: Any, y: Any = None, exact: bool = True, time_limit: float | None = TIME_LIMIT
    ) -> Any:
        """Check the claim against data, from the evidence alone.

        Parameters
        ----------
        X : array or sparse matrix of shape (rows, features), or a source; K where it is about K
        y : array of shape (rows,), not for a source
        exact : bool, default=True
            Decide in whole numbers: no tolerance, a proof. Otherwise only values in float64 are
            looked at, which may contradict the claim and never prove it.
        time_limit : float or None, default=60.0
            Seconds that exact arithmetic may take; reading the rows is not counted. None: any.

        Returns
        -------
        Check
            ``holds`` is True, False, or None where that is not known, with a ``reason``; true in an
            ``if`` where it holds.
        """
        return _checked([self], X, y, exact, time_limit)

    def __repr__(self) -> str:
        about = self.subject
        sides = f", {about.positive!r} against {about.negative!r}" * (not about.multinomial)
        return f"<{self.kind}: {about.n_rows:,} rows, {about.n_features:,} features{sides}>"

    def names(self) -> tuple[str, ...] | None:
        """Of the features; None where they have none."""
        return self.subject.names

    def lines(self) -> list[tuple[str, str]]:
        """All that is claimed, and of which data, as pairs of a word and what is to say of it."""
        from linsep.certificate.rendering import claim_lines

        return claim_lines([self])

    def to_json(self) -> str:
        """The verdict as JSON text; :func:`linsep.from_json` reads it."""
        from linsep.certificate.proof_file import to_json

        return to_json(self)

    def __str__(self) -> str:
        from linsep.certificate.rendering import text

        return escaped(text(self), lines=True)

    def _repr_html_(self) -> str:
        from linsep.certificate.rendering import html

        return html(self)

    def __rich__(self) -> Any:
        from rich.text import Text

        return Text(str(self))  # what stands in brackets is no markup


@dataclass(frozen=True, repr=False)
class Separable(Verdict):
    """Some weights have every row on its side.

    Attributes
    ----------
    coef : tuple of tuple of float
        A row of weights; in the multinomial sense one a class but the last. Whole numbers where
        floats are too short.
    intercept : tuple of float
    margin : pair of float
        No separator has a larger geometric margin than the second, the smallest distance of a row
        to its hyperplane; these weights have at least the first. (0, inf) in the multinomial sense.
    support : Combination
        Rows whose shortest combination bounds the margin of every separator from above; its
        multipliers count within each side.
    """

    coef: tuple[tuple[float, ...], ...]
    intercept: tuple[float, ...]
    margin: tuple[float, float]
    support: Combination
    kind: ClassVar[str] = "separable"


@dataclass(frozen=True, repr=False)
class Blocked(Verdict):
    """No weights have every row strictly on its side.

    Attributes
    ----------
    witness : Combination
        Few rows, at most two more than there are features, that no hyperplane can separate.
    spanning : Combination
        Rows that are zero under all weights that have no row on the wrong side.
    space : Space
        The space those rows span: every row inside is zero under such weights, too.
    """

    witness: Combination
    spanning: Combination
    space: Space


@dataclass(frozen=True, repr=False)
class Overlapping(Blocked):
    """No weights, but those that are zero on all rows, have no row on the wrong side."""

    kind: ClassVar[str] = "overlapping"

    def limits(self) -> dict[str, str]:
        """What becomes of every coefficient of a logistic regression, by name.

        ``finite``, or ``dependent``: see :meth:`QuasiSeparable.limits`.
        """
        kept = self.space.coefficients(self.subject.width, self.subject.fit_intercept)
        names = enumerate(self.subject.coefficient_names())
        return {name: "finite" if j in kept else "dependent" for j, name in names}


@dataclass(frozen=True, repr=False)
class QuasiSeparable(Blocked):
    """Some weights have no row on the wrong side; some rows must lie on the boundary, not all.

    Attributes
    ----------
    direction : dict
        Such weights, whole numbers: {number of the weight: weight}; others are zero. As many rows
        as possible are on the right side.
    boundary : tuple of int
        The rows that lie on the boundary under every such weights.
    everything : Space
        The space that all rows span: where it is not the whole space, columns depend on others.
    basis : tuple of pairs of int
        Rows that span it, each with the number of one of its constraints.
    signs : dict
        {number of a coefficient: Combination}: rows that add up, with positive multipliers and but
        for a row of ``space``, to the coefficient times a number of the sign that it has along the
        direction. So it has that sign, or is zero, under all weights with no row on the wrong side.
    """

    direction: dict[int, int]
    boundary: tuple[int, ...]
    everything: Space
    basis: tuple[tuple[int, int], ...]
    signs: dict[int, Combination]
    kind: ClassVar[str] = "quasi-separable"

    def limits(self) -> dict[str, str]:
        """What becomes of every coefficient of a logistic regression, by name.

        ``finite``: the likelihood has its maximum at a finite value, or at several. ``+inf`` and
        ``-inf``: it grows as the coefficient runs away, and under all weights that have no row on
        the wrong side the coefficient has this sign, or is zero. ``infinite``: it runs away, and
        no sign is claimed, as such weights have both (or exact arithmetic took too long to tell).
        ``dependent``: the column depends on the intercept and the columns before it, so that no
        data tell its coefficient from theirs; the others' limits are those with it at zero.
        """
        found = {}
        kept = self.everything.coefficients(self.subject.width, self.subject.fit_intercept)
        for j, name in enumerate(self.subject.coefficient_names()):
            if j not in kept:
                found[name] = "dependent"
            elif not self.space.remainder(kept[j]):
                found[name] = "finite"
            elif j not in self.signs:
                found[name] = "infinite"
            else:
                value = sum(x * self.direction.get(i, 0) for i, x in kept[j].items())
                found[name] = "+inf" if value > 0 else "-inf"
        return found


@dataclass(frozen=True, repr=False)
class Undecided(Verdict):
    """Floats cannot decide, and exact arithmetic would take too long.

    Attributes
    ----------
    reason : str
    """

    reason: str
    kind: ClassVar[str] = "undecided"


@dataclass(frozen=True)
class Separations:
    """The verdicts on several classes.

    Attributes
    ----------
    against_rest : dict
        {label: verdict}, the label against all others.
    pairs : dict
        {(label, label): verdict}, the second being the positive side.
    multinomial : Verdict or None
        The sense of multinomial logistic regression.
    """

    against_rest: dict[Any, Verdict]
    pairs: dict[tuple[Any, Any], Verdict]
    multinomial: Verdict | None

    def formulations(self) -> tuple[str, ...]:
        """In which senses there are verdicts."""
        given = (self.against_rest, self.pairs, self.multinomial is not None)
        return tuple(sense for sense, some in zip(FORMULATIONS, given, strict=True) if some)

    def verdicts(self) -> list[Verdict]:
        """All of them."""
        last = [] if self.multinomial is None else [self.multinomial]
        return [*self.against_rest.values(), *self.pairs.values(), *last]

    def verify(
        self, X: Any, y: Any = None, exact: bool = True, time_limit: float | None = TIME_LIMIT
    ) -> Any:
        """Check every verdict, in one reading; see :meth:`Verdict.verify`."""
        return _checked(self.verdicts(), X, y, exact, time_limit)

    def names(self) -> tuple[str, ...] | None:
        """Of the features; None where they have none."""
        return self.verdicts()[0].subject.names

    def lines(self) -> list[tuple[str, str]]:
        """All that is claimed, and of which data, as pairs of a word and what is to say of it."""
        from linsep.certificate.rendering import claim_lines

        return claim_lines(self.verdicts())

    def to_json(self) -> str:
        """All verdicts as JSON text; :func:`linsep.from_json` reads it."""
        from linsep.certificate.proof_file import to_json

        return to_json(self)

    def __str__(self) -> str:
        from linsep.certificate.rendering import table

        return escaped(table(self), lines=True)

    def _repr_html_(self) -> str:
        from linsep.certificate.rendering import html_table

        return html_table(self)

    def __rich__(self) -> Any:
        from rich.text import Text

        return Text(str(self))  # what stands in brackets is no markup


def _checked(verdicts: list[Verdict], X: Any, y: Any, exact: bool, time_limit: float | None) -> Any:
    """The check of verdicts about the same rows; of a Gram matrix, about some of its columns."""
    from linsep.certificate.checking import Check, check

    columns, K = verdicts[0].subject.columns, None
    if columns is not None:
        from linsep.certificate.gram import gram_of

        try:
            K, y = gram_of(X, y)
        except (TypeError, ValueError) as problem:
            return Check(False, f"It does not hold: it is about a Gram matrix: {problem}")
        X = K[:, [j for j in columns if j < len(K)]]
    return check(verdicts, X, y, exact, time_limit, K)
