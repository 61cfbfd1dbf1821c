"""Is the data linearly separable? An answer with its proof."""

from fractions import Fraction
from itertools import combinations
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from linsep.certificate.blocks import sha256_of
from linsep.certificate.integers import Space, in_lowest_terms
from linsep.certificate.verdicts import (
    SENSES,
    Combination,
    Overlapping,
    QuasiSeparable,
    Separable,
    Separations,
    Subject,
    Undecided,
    Verdict,
)
from linsep.errors import ParameterError
from linsep.theory.data import Data, data_of
from linsep.theory.elimination import reduced
from linsep.theory.grams import checked, spanning
from linsep.theory.questions import Question, multinomial, scans, two_sides
from linsep.theory.recession import Cone, Sign
from linsep.theory.row_space import Reduced
from linsep.theory.search import Blocked as Found
from linsep.theory.search import Separated, exact_rows, search
from linsep.theory.simplex import TooLarge
from linsep.theory.spans import Span
from linsep.theory.splitting import Proof, witness
from linsep.theory.twins import opposite_twins
from linsep.theory.whole import root_above
from linsep.theory.widening import lowest_margin, square_of, widened
from linsep.theory.working_set import WorkingSet, table_of

#: the relative width that margin="max" leaves between the two ends of the margin interval
WIDTH = 1e-6
Keys = tuple[tuple[int, int], ...]
#: the support of a separator without a margin
NOTHING = Combination((), (), ())


def separation(
    X: Any = None,
    y: Any = None,
    *,
    K: Any = None,
    fit_intercept: bool | None = None,
    margin: Literal["max"] | None = None,
    senses: tuple[str, ...] = SENSES,
) -> Verdict | Separations:
    """Decide whether a hyperplane separates the classes, and prove it.

    Parameters
    ----------
    X : array or sparse matrix of shape (rows, features), data frame, or source
        Floats or integers, taken exactly as they are. A source of :mod:`linsep.sources` is read
        several times and brings its own labels.
    y : array of shape (rows,)
        Labels of any kind. With two classes the larger one is the positive side.
    K : array of shape (rows, rows)
        Instead of X, the Gram matrix of a kernel: whether a hyperplane separates the classes in the
        space of the kernel, that of rows which span it but for rounding. Weights are those of the
        rows, sum_j a_j phi(x_j), and no margin is given. For some thousand rows at most.
    fit_intercept : bool, default=True (with K: False)
        Whether the hyperplane may lie off the origin.
    margin : "max" or None, default=None
        With "max" a separator is improved until its margin is within a millionth of the widest, as
        far as floats allow: the interval says what was reached.
    senses : tuple, default=("ovr", "ovo", "multinomial")
        With more than two classes: each against the rest, each pair, every class above every
        other with weights of its own.

    Returns
    -------
    Separable, QuasiSeparable, Overlapping or Undecided; for more classes Separations
        Each with ``verify(X, y, exact=...)``, ``to_json()`` and a text for people.

    Raises
    ------
    ValueError
        For NaN, infinity, one class only, X and y of different lengths.

    Notes
    -----
    A linear program over a working set of rows, which grows by the rows that the last answer got
    wrong, guesses; exact arithmetic decides (Gordan 1873; Goldman and Tucker 1956). The widest
    margin is Wolfe's nearest point (1976). Quasi-separation is that of Albert and Anderson (1984):
    where data are separable or quasi-separable, the likelihood of a logistic regression has no
    maximum. Margins are geometric: distances from the hyperplane, the intercept left out of ||w||.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> verdict = separation(X[50:], y[50:])
    >>> verdict.kind, len(verdict.witness.rows) <= 6
    ('overlapping', True)
    >>> bool(verdict.verify(X[50:], y[50:]))
    True
    """
    if K is None:
        return decide(data_of(X, y), fit_intercept is not False, margin, senses)
    if X is not None or margin is not None:
        raise ParameterError("K stands for X, and margins in its space are not known: give K and y")
    K = checked(K)
    columns = spanning(K)
    return decide(data_of(K[:, columns], y), bool(fit_intercept), None, senses, columns)


def decide(
    data: Data,
    fit_intercept: bool = True,
    margin: str | None = None,
    senses: tuple[str, ...] = SENSES,
    columns: tuple[int, ...] | None = None,
) -> Verdict | Separations:
    """:func:`separation` of data that are open already."""
    if margin not in (None, "max"):
        raise ValueError(f'margin is {margin!r}: it must be "max" or None.')
    if not set(senses) <= set(SENSES):
        raise ValueError(f"senses are {senses!r}: choose among {', '.join(SENSES)}.")
    tolerance = WIDTH if margin == "max" else None
    mark = sha256_of(data)

    def sides(positive: list[int], negative: list[int]) -> Verdict:
        question = two_sides(data, positive, negative, fit_intercept)
        labels = data.labels()
        given = [tuple(labels[k] for k in side) for side in (positive, negative)]
        return _verdict(data, question, tolerance, subject(given))

    def subject(given: list[tuple[Any, ...]]) -> Subject:
        return _subject(data, given, fit_intercept, mark, columns)

    codes = range(len(data.classes))
    if len(codes) == 2:
        return sides([1], [0])
    labels = data.labels()
    rest = {labels[k]: sides([k], [c for c in codes if c != k]) for k in codes if "ovr" in senses}
    pairs = {
        (labels[a], labels[b]): sides([b], [a])
        for a, b in combinations(codes, 2)
        if "ovo" in senses
    }
    every = None
    if "multinomial" in senses:
        question = multinomial(data, fit_intercept)
        every = _verdict(data, question, None, subject([(), ()]))
    return Separations(rest, pairs, every)


def _subject(
    data: Data,
    sides: list[tuple[Any, ...]],
    fit_intercept: bool,
    mark: str,
    columns: tuple[int, ...] | None,
) -> Subject:
    names = None if data.names is None else tuple(data.names)
    shape = (data.n_rows, data.n_features)
    positive, negative = sides
    classes = tuple(data.labels())
    return Subject(classes, positive, negative, fit_intercept, *shape, names, mark, columns)


def _verdict(data: Data, question: Question, tolerance: float | None, subject: Subject) -> Verdict:
    try:
        # numbers may leave the floats here: that only spoils a guess
        with (
            np.errstate(over="ignore", invalid="ignore", under="ignore"),
            threadpool_limits(1, "blas"),  # many small factorisations: threads cost more
        ):
            found = search(data, question, tolerance)
    except TooLarge as too_large:
        return Undecided(
            subject,
            f"floats cannot decide, and {too_large} take too long in exact arithmetic: scale the "
            "features, or leave out columns that nearly depend on others",
        )
    if isinstance(found, Separated):
        verdict = _separable(data, question, found, subject)
        low, high = verdict.margin
        if tolerance is None or low >= high * (1 - tolerance):
            return verdict
        return _separable(data, question, widened(data, question, found, tolerance), subject)
    return _blocked(data, question, found, subject)


def _separable(data: Data, question: Question, found: Separated, subject: Subject) -> Separable:
    W = found.w.reshape(question.blocks, question.width)
    d = data.n_features
    margin, support = (0.0, float("inf")), NOTHING
    if question.blocks == 1 and subject.columns is None:
        used = np.flatnonzero(found.multipliers).tolist()
        used.sort(key=lambda i: found.members[i].key)
        members = [found.members[i] for i in used]
        shares = in_lowest_terms({k: Fraction(found.multipliers[i]) for k, i in enumerate(used)})
        support = Combination(
            tuple(member.key[0] for member in members),
            tuple(member.key[1] for member in members),
            tuple(shares.values()),
        )
        high = root_above(square_of(members, support.multipliers, question))
        margin = (min(high, lowest_margin(data, question, found.w)), high)
    return Separable(
        subject,
        tuple(tuple(row) for row in W[:, :d].tolist()),
        tuple(W[:, d].tolist()) if question.intercept else (0.0,) * question.blocks,
        margin,
        support,
    )


def _blocked(data: Data, question: Question, found: Found, subject: Subject) -> Verdict:
    proof = found.proof
    table = table_of(found.members, question.size)
    outside = Span(proof.span, question).outside_rows(table, lambda k: found.members[k].whole[0])
    bound = np.flatnonzero(~outside)
    twins = opposite_twins(data, question) if question.blocks == 1 else None
    few = _pair(twins) if twins else _witness(found, table, bound)
    evidence = (few, _combination(proof), _space(proof.span))
    if not proof.direction:
        return Overlapping(subject, *evidence)
    everything, basis = _everything(data, question, found)
    boundary = found.boundary or ()
    signs = _signs(data, question, found, everything)
    direction = in_lowest_terms(proof.direction)
    return QuasiSeparable(subject, *evidence, direction, boundary, _space(everything), basis, signs)


def _signs(
    data: Data, question: Question, found: Found, everything: Reduced
) -> dict[int, Combination]:
    """The coefficients that have one sign under all weights with no row on the wrong side."""
    working = WorkingSet(data, question)
    for member in found.members:
        working.include(member)
    cone = Cone(working, found.proof.span, found.proof.direction)
    kept = everything.coefficients(question.width, question.intercept)
    signs = {j: cone.sign(function) for j, function in sorted(kept.items())}
    return {j: _combination(sign) for j, sign in signs.items() if sign is not None}


def _witness(found: Found, table: sp.csr_matrix, bound: np.ndarray) -> Combination:
    return _combination(witness(found.proof, table[bound], [found.members[i] for i in bound]))


def _pair(rows: tuple[int, int]) -> Combination:
    return Combination(rows, (0, 0), (1, 1))


def _everything(data: Data, question: Question, found: Found) -> tuple[Reduced, Keys]:
    """The space of all rows, and rows that span it."""
    space, keys = found.proof.span, [member.key for member in found.proof.members]
    table = table_of(found.members, question.size)
    while len(space.rows) < question.size:
        outside = Span(space, question).outside_rows(table, lambda k: found.members[k].whole[0])
        new = [found.members[i] for i in np.flatnonzero(outside)[: question.size]]
        if not new:
            break
        keys += [member.key for member in new]
        space = reduced(space.basis() + [member.whole[0] for member in new])
    while len(space.rows) < question.size:
        span = Span(space, question)
        more = []
        for piece, values in scans(data, question, np.zeros(question.size)):
            places = np.flatnonzero(span.outside(piece, values, np.arange(len(values.row))))[:100]
            for i, (row, _) in exact_rows(question, piece, values, places):
                more.append(row)
                keys.append((int(piece.numbers[values.row[i]]), int(values.which[i])))
        if not more:
            break
        space = reduced(space.basis() + more)
    return space, tuple(sorted(keys))


def _space(space: Reduced) -> Space:
    return Space({p: in_lowest_terms({p: Fraction(1), **row}) for p, row in space.rows.items()})


def _combination(proof: Proof | Sign) -> Combination:
    """Its rows in order, with the smallest whole multipliers."""
    order = sorted(range(len(proof.members)), key=lambda i: proof.members[i].key)
    whole = in_lowest_terms({i: proof.multipliers[i] for i in order})
    keys = [proof.members[i].key for i in order]
    return Combination(
        tuple(row for row, _ in keys), tuple(which for _, which in keys), tuple(whole.values())
    )
