"""Verdicts of :func:`linsep.separation`: claims with their evidence.

A verdict holds everything that is needed to check it against the data. Of the data it holds only
row numbers, counted from 0. Integers are Python's, of any length.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, ClassVar

from linsep.certificate.integers import Space
from linsep.drawing import WithRows, display
from linsep.escaping import escaped

#: default time limit, in seconds, of the exact arithmetic in a check
TIME_LIMIT = 60.0
#: separability of several classes: each against the rest, each pair, all at once
FORMULATIONS = ("ovr", "ovo", "multinomial")


def sides_of(
    formulation: str, classes: tuple[Any, ...]
) -> list[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """Return the positive and negative side of every verdict of a formulation.

    Both are empty for "multinomial", where every class has weights. Of two classes the second is
    the positive side.
    """
    if formulation == "ovo":
        return [((b,), (a,)) for a, b in combinations(classes, 2)]
    if len(classes) == 2:
        return []
    if formulation == "multinomial":
        return [((), ())]
    return [((k,), tuple(c for c in classes if c != k)) for k in classes]


@dataclass(frozen=True)
class Subject:
    """The data and the question that a verdict is about.

    Attributes
    ----------
    classes : tuple
        All labels of the data, sorted.
    positive, negative : tuple
        The labels of the two sides; empty in the multinomial formulation, where every class has
        weights of its own and those of the last are zero.
    fit_intercept : bool
    n_rows, n_features : int
    names : tuple of str or None
        Feature names.
    sha256 : str
        Hash of rows and labels in the form that ``linsep.certificate.canonical`` describes.
    columns : tuple of int or None
        For a Gram matrix: the weights are the a_j of sum_j a_j K(x, x_j) over these columns, which
        span all columns if the verdict is that nothing separates. No margin is given.
    rounded : bool or None
        For a Gram matrix: whether it holds floats, so that kernel values may be rounded. Not part
        of the proof: None if it was read from one.
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
    rounded: bool | None = field(default=None, compare=False)

    def of_sides(self, positive: tuple[Any, ...], negative: tuple[Any, ...]) -> Subject:
        """Return the subject with other sides."""
        return replace(self, positive=positive, negative=negative)

    def same_data(self, other: Subject) -> bool:
        """Return whether ``other`` is about the same rows, whatever its sides."""
        return self.of_sides((), ()) == other.of_sides((), ())

    @property
    def multinomial(self) -> bool:
        """Whether every class has weights of its own and must score above every other."""
        return not self.positive

    @property
    def width(self) -> int:
        """Number of weights of one class: the features, and the intercept."""
        return self.n_features + self.fit_intercept

    def spanning_rows(self) -> list[str]:
        """Return names of the rows that have dual weights."""
        return [f"row {j}" for j in self.columns or ()]

    def coefficient_names(self) -> list[str]:
        """Return a name for every weight, in order; the intercept comes last within each class."""
        plain = [f"x{j}" for j in range(self.n_features)]
        names = list(self.names or plain) if self.columns is None else self.spanning_rows()
        names += ["intercept"] * self.fit_intercept
        if not self.multinomial:
            return names
        return [f"{label}: {name}" for label in self.classes[:-1] for name in names]


@dataclass(frozen=True, repr=False)
class Combination:
    """Rows whose reflections, times positive integers, add up to exactly zero.

    Attributes
    ----------
    rows : tuple of int
        Row numbers.
    which : tuple of int
        Zeros; in the multinomial formulation the number of the rival class, without the row's own.
    multipliers : tuple of int
    """

    rows: tuple[int, ...]
    which: tuple[int, ...]
    multipliers: tuple[int, ...]

    def __repr__(self) -> str:
        return f"<Combination of {len(self.rows):,} rows>"  # no long integers

    def shares(self) -> list[float]:
        """Return the multipliers divided by their sum."""
        total = sum(self.multipliers)
        return [multiplier / total for multiplier in self.multipliers]


@dataclass(frozen=True, repr=False)
class Verdict(WithRows):
    """Base class of all verdicts."""

    subject: Subject
    kind: ClassVar[str] = ""

    def verify(
        self, X: Any, y: Any = None, exact: bool = True, time_limit: float | None = TIME_LIMIT
    ) -> Any:
        """Check the claim against data, from the evidence alone.

        Parameters
        ----------
        X : array or sparse matrix of shape (rows, features), or source; K if the verdict is about K
        y : array of shape (rows,), not for a source
        exact : bool, default=True
            Check in integer arithmetic, without tolerance: a proof. Otherwise check in float64,
            which can refute the claim but never prove it.
        time_limit : float or None, default=60.0
            Seconds that exact arithmetic may take, without reading the rows. None: no limit.

        Returns
        -------
        Check
            ``holds`` is True, False or None (not known), with a ``reason``; ``bool(check)`` is True
            only if it holds.
        """
        return _checked([self], X, y, exact, time_limit)

    def __repr__(self) -> str:
        about = self.subject
        sides = f", {about.positive!r} against {about.negative!r}" * (not about.multinomial)
        floats = ", kernel values in floats" * bool(about.rounded)
        features = f"{about.n_rows:,} rows, {about.n_features:,} features"
        return f"<{self.kind}: {features}{floats}{sides}>"

    def names(self) -> tuple[str, ...] | None:
        """Return the feature names, or None."""
        return self.subject.names

    def lines(self) -> list[tuple[str, str]]:
        """Return the claim and its data as pairs of a heading and a text."""
        from linsep.certificate.rendering import claim_lines

        return claim_lines([self])

    def plot(self, X: Any, y: Any, **kwargs: Any) -> Any:
        """Draw the verdict with its rows, by :meth:`linsep.plot.SeparationDisplay.from_verdict`."""
        return display("SeparationDisplay").from_verdict(self, X, y, **kwargs)

    def to_json(self) -> str:
        """Return the verdict as JSON text, which :func:`linsep.from_json` reads."""
        from linsep.certificate.proof_file import to_json

        return to_json(self)

    def __str__(self) -> str:
        from linsep.certificate.rendering import text

        return escaped(text(self), lines=True)

    def _repr_html_(self) -> str:
        from linsep.certificate.rendering import html

        return self._beside(html(self))

    def __rich__(self) -> Any:
        from rich.text import Text

        return Text(str(self))  # brackets are no markup


@dataclass(frozen=True, repr=False)
class Separable(Verdict):
    """The data are linearly separable: some weights classify every row correctly.

    Attributes
    ----------
    coef : tuple of tuple of float
        A row of weights; in the multinomial formulation one for each class but the last. Python
        integers if floats are too short.
    intercept : tuple of float
    margin : pair of float
        Lower and upper bound of the widest geometric margin (the distance of the nearest row to the
        hyperplane); these weights reach the lower one. (0, inf) in the multinomial formulation.
    support : Combination
        Rows whose combination bounds the margin of every separator from above; multipliers are
        shares within each side.
    """

    coef: tuple[tuple[float, ...], ...]
    intercept: tuple[float, ...]
    margin: tuple[float, float]
    support: Combination
    kind: ClassVar[str] = "separable"


@dataclass(frozen=True, repr=False)
class Blocked(Verdict):
    """The data are not linearly separable: no weights have every row strictly on its side.

    Attributes
    ----------
    witness : Combination
        A few rows, at most two more than there are features, that no hyperplane separates.
    spanning : Combination
        Rows on the hyperplane of all weights that have no row on the wrong side.
    space : Space
        The span of those rows: every row in it is on that hyperplane too.
    """

    witness: Combination
    spanning: Combination
    space: Space


@dataclass(frozen=True, repr=False)
class Overlapping(Blocked):
    """Every hyperplane has a row on the wrong side, unless all rows lie on it."""

    kind: ClassVar[str] = "overlapping"

    def limits(self) -> dict[str, str]:
        """Return the kind of maximum likelihood estimate of each logistic coefficient, by name.

        ``finite``, or ``dependent``: see :meth:`QuasiSeparable.limits`.
        """
        kept = self.space.coefficients(self.subject.width, self.subject.fit_intercept)
        names = enumerate(self.subject.coefficient_names())
        return {name: "finite" if j in kept else "dependent" for j, name in names}


@dataclass(frozen=True, repr=False)
class QuasiSeparable(Blocked):
    """Some weights have no row on the wrong side; some rows, not all, must lie on the boundary.

    Attributes
    ----------
    direction : dict
        Such weights as integers, {number of the weight: weight}, zeros left out, with as many rows
        as possible on the right side.
    boundary : tuple of int
        The rows that lie on the boundary of all such weights.
    everything : Space
        The span of all rows; if it is not the whole space, some columns depend on others.
    basis : tuple of pairs of int
        Rows that span it, each with the number of one of its constraints.
    signs : dict
        {number of a coefficient: Combination}: rows whose sum, with positive multipliers and modulo
        ``space``, is a multiple of the coefficient, of the sign that it has along ``direction``. So
        it has that sign, or is zero, under all weights with no row on the wrong side.
    unchecked : tuple of int
        The numbers of coefficients that diverge, for which the work limit ended before it was known
        whether they have one sign.
    """

    direction: dict[int, int]
    boundary: tuple[int, ...]
    everything: Space
    basis: tuple[tuple[int, int], ...]
    signs: dict[int, Combination]
    unchecked: tuple[int, ...] = ()
    kind: ClassVar[str] = "quasi-separable"

    def limits(self) -> dict[str, str]:
        """Return the kind of maximum likelihood estimate of each logistic coefficient, by name.

        ``finite``: the estimate is finite. ``+inf`` and ``-inf``: it diverges, and under all
        weights with no row on the wrong side the coefficient has this sign or is zero.
        ``infinite``: it diverges, and such weights have both signs. ``sign not checked``: it
        diverges, and the work limit ended before it was known whether it has one sign.
        ``dependent``: the column is a linear combination of the intercept and the columns before
        it; the others' limits are those with its coefficient 0.
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


@dataclass(frozen=True, repr=False)
class Undecided(Verdict):
    """Floats cannot decide, and exact arithmetic would take longer than the time limit.

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
        {label: verdict} of each label against all others.
    pairs : dict
        {(label, label): verdict}, the second being the positive side.
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

    def verify(
        self, X: Any, y: Any = None, exact: bool = True, time_limit: float | None = TIME_LIMIT
    ) -> Any:
        """Check every verdict, in one reading; see :meth:`Verdict.verify`."""
        return _checked(self.verdicts(), X, y, exact, time_limit)

    def names(self) -> tuple[str, ...] | None:
        """Return the feature names, or None."""
        return self.verdicts()[0].subject.names

    def lines(self) -> list[tuple[str, str]]:
        """Return the claim and its data as pairs of a heading and a text."""
        from linsep.certificate.rendering import claim_lines

        return claim_lines(self.verdicts())

    def to_json(self) -> str:
        """Return all verdicts as JSON text, which :func:`linsep.from_json` reads."""
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

        return Text(str(self))  # brackets are no markup


def _checked(verdicts: list[Verdict], X: Any, y: Any, exact: bool, time_limit: float | None) -> Any:
    """Check verdicts about the same rows, or about columns of the same Gram matrix."""
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
