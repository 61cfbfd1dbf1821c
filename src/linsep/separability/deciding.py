"""Deciding whether data are linearly separable: the verdict on each question, with the evidence
that a check needs; what readings of all rows tell beside: whether random labels would be separable,
equal rows on different sides, and columns that decide alone; the space of a kernel.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from flint import nmod_mat
from scipy.linalg import eigvalsh

from linsep._system.threads import one_blas_thread
from linsep.certificate.canonical import exact_rows, sha256_of
from linsep.certificate.constraints import (
    FORMULATIONS,
    Combination,
    Subject,
    combination,
    in_lowest_terms,
    squared_bound,
    whole_row,
)
from linsep.certificate.verdicts import (
    TIME_LIMIT,
    DecidingColumns,
    Overlapping,
    QuasiSeparable,
    Separable,
    Separations,
    Undecided,
    Verdict,
)
from linsep.chance.counting import Chance
from linsep.errors import DataError, ParameterError
from linsep.separability.data import Data, data_of, off_boundary, root_above, sides_of, weights_of
from linsep.separability.fewest import fewest_errors
from linsep.separability.integers import independent
from linsep.separability.margin import Separated, lowest_margin, widened
from linsep.separability.recession import Cone, Sign
from linsep.separability.search import Inseparable, Proof, search, witness
from linsep.separability.time_limit import Task, TooLarge, doing, limited, within_time
from linsep.separability.weighted_rows import Asked, asked
from linsep.separability.working_set import Member, WorkingSet, members_outside, separates, table_of
from linsep.validation.checks import warn_of_many_classes

#: advice after a time limit
ADVICE = (
    "a longer time limit, features of similar scale, or leaving out nearly dependent columns may "
    "help"
)
#: relative width of the margin interval that margin="max" aims at
WIDTH = 1e-6
#: most negative eigenvalue of a Gram matrix of unit vectors, per row
ROUNDING = 2.0**-40
#: most pairs of rows with equal hashes that are compared
MOST_PAIRS = 8
#: columns by which dense rows are compared first
FIRST_COLUMNS = 3
#: prime below 2^31 with which ranks are computed; the order of 2 modulo it is large
PRIME = 2147483629
#: most numbers of rows whose rank is computed
MOST_NUMBERS = 1 << 22
#: distinct rows beside four for each weight that make a separation by chance impossible
ENOUGH = 64
#: least rows that are looked at together
AT_ONCE = 8_192

#: margin and support of a separator without a computed margin
NO_MARGIN = (0.0, float("inf")), Combination((), (), ())


def separation(
    X: Any = None,
    y: Any = None,
    *,
    K: Any = None,
    fit_intercept: bool | None = None,
    margin: Literal["max"] | None = None,
    formulations: tuple[str, ...] = FORMULATIONS,
    errors: bool = False,
    strict: bool = True,
    sample_weight: Any = None,
    time_limit: float | None = TIME_LIMIT,
) -> Verdict | Separations:
    """Implement :func:`linsep.separation` for rows of numbers, a source, or a Gram matrix."""
    task = Task(time_limit)
    if sample_weight is not None and not errors:
        raise ParameterError(
            "sample_weight has an effect only with errors=True: pass both",
            code="needs-option", option="sample_weight",
        )  # fmt: skip
    if K is None:
        data = data_of(X, y)
        weights = sample_weight if sample_weight is not None or y is not None else weights_of(X)
        wanted = asked(strict, weights, data.n_rows) if errors else None
        found = decide(data, fit_intercept is not False, margin, formulations, task=task)
        if wanted is not None:
            found = with_fewest_errors(data, found, wanted, task)
        return found.remember(X, y) if isinstance(found, Verdict) else found
    if X is not None or margin is not None:
        raise ParameterError(
            "K replaces X and supports no margin: pass only K and y",
            code="conflict", option="K",
        )  # fmt: skip
    found = _of_kernel(checked_gram(K), y, bool(fit_intercept), formulations, task)
    if errors:
        columns = found.verdicts()[0].subject.columns or ()
        data = data_of(np.asarray(K, dtype=object)[:, list(columns)], y)
        found = with_fewest_errors(data, found, asked(strict, sample_weight, data.n_rows), task)
    return found


def with_fewest_errors(
    data: Data, found: Verdict | Separations, wanted: Asked, task: Task
) -> Verdict | Separations:
    """Return verdicts with the fewest errors of any hyperplane, within the time a task has left.

    Verdicts on two sides share the time that is left; the multinomial formulation has none.
    """
    task.doing = "the fewest errors"
    left = sum(not one.subject.multinomial for one in found.verdicts())

    def added(verdict: Verdict) -> Verdict:
        nonlocal left
        start = verdict.weights().exact if isinstance(verdict, Separable) else None
        share = (task.until - time.monotonic()) / left
        left -= 1
        with one_blas_thread:
            fewest = fewest_errors(data, verdict.subject, wanted, start, share)
        return replace(verdict, errors=fewest)

    if isinstance(found, Verdict):
        return added(found)
    rest = {label: added(one) for label, one in found.against_rest.items()}
    pairs = {labels: added(one) for labels, one in found.pairs.items()}
    return Separations(rest, pairs, found.multinomial)


def _of_kernel(
    K: np.ndarray, y: Any, fit_intercept: bool, formulations: tuple[str, ...], task: Task
) -> Verdict | Separations:
    """Return the verdict on a Gram matrix, from columns that span all of them."""
    one, every = np.ones(1, dtype=np.int8), np.arange(len(K))
    lines = [whole_row(every, row, one, len(K), False) for row in K]
    # by symmetry also columns; the factors do not change the rank
    columns = tuple(independent([row for row, _ in lines])) or (0,)
    data = data_of(K[:, columns], y)
    return decide(data, fit_intercept, None, formulations, columns, task)


def decide(
    data: Data,
    fit_intercept: bool = True,
    margin: str | None = None,
    formulations: tuple[str, ...] = FORMULATIONS,
    columns: tuple[int, ...] | None = None,
    task: Task | None = None,
) -> Verdict | Separations:
    """Run :func:`separation` on open data, within the time limit of a ``task``."""
    if margin not in (None, "max"):
        raise ParameterError(
            f'margin is {margin!r}: it must be "max" or None.', option="margin", value=margin
        )
    if not set(formulations) <= set(FORMULATIONS):
        raise ParameterError(
            f"formulations are {formulations!r}: choose among {', '.join(FORMULATIONS)}.",
            option="formulations", value=formulations,
        )  # fmt: skip
    task = task or Task(None)
    warn_of_many_classes(data.classes, data.n_rows)
    tolerance = WIDTH if margin == "max" else None
    labels, codes = data.labels(), range(len(data.classes))
    # many small factorizations: threads cost more
    with limited(task), one_blas_thread:
        whole = subject_of(data, fit_intercept, columns, sha256_of(data))

        def sides(positive: list[int], negative: list[int]) -> Verdict:
            given = (tuple(labels[k] for k in side) for side in (positive, negative))
            task.question += 1
            return _verdict(data, tolerance, whole.of_sides(*given))

        if len(codes) == 2:
            return sides([1], [0])
        rest = [(k, [c for c in codes if c != k]) for k in codes if "ovr" in formulations]
        pairs = list(combinations(codes, 2)) if "ovo" in formulations else []
        joint = "multinomial" in formulations
        task.questions = len(rest) + len(pairs) + joint
        of_rest = {labels[k]: sides([k], others) for k, others in rest}
        of_pairs = {(labels[a], labels[b]): sides([b], [a]) for a, b in pairs}
        task.question += joint
        return Separations(of_rest, of_pairs, _verdict(data, None, whole) if joint else None)


def separated_by(data: Data, weights: np.ndarray, fit_intercept: bool) -> Separable | None:
    """Return the verdict, without a margin, that weights prove; None unless they are on the right
    side of every row. One pass decides, exactly, and another one hashes the rows.

    The weights, of shape (blocks * width,), are those of the larger of two classes, or of every
    class but the last, whose weights are zero. The intercept comes last in each.
    """
    subject = subject_of(data, fit_intercept)
    if len(data.classes) == 2:
        subject = subject.of_sides(subject.classes[1:], subject.classes[:1])
    with one_blas_thread, np.errstate(over="ignore", invalid="ignore", under="ignore"):
        if not separates(data, subject, weights):
            return None
        found = Separated(weights, [], np.zeros(0))
        chance = chance_of(data, subject)
        subject = replace(subject, sha256=sha256_of(data), chance=chance)
        return with_columns_alone(data, separable_verdict(data, subject, found))


def subject_of(
    data: Data, fit_intercept: bool, columns: tuple[int, ...] | None = None, sha256: str = ""
) -> Subject:
    """Return the subject of all classes."""
    return Subject(
        tuple(data.labels()), (), (), fit_intercept, data.n_rows, data.n_features,
        None if data.names is None else tuple(data.names), sha256, columns,
    )  # fmt: skip


def _verdict(data: Data, tolerance: float | None, subject: Subject) -> Verdict:
    """Decide the question of a subject, with the columns that decide it alone; Undecided if it
    takes too long.
    """
    try:
        subject = replace(subject, chance=chance_of(data, subject))
        # overflow only spoils a guess
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            found = search(data, subject, tolerance)
            if isinstance(found, Inseparable):
                return with_columns_alone(data, blocked_verdict(data, subject, found))
            verdict = separable_verdict(data, subject, found)
            low, high = verdict.margin
            if tolerance is not None and low < high * (1 - tolerance):
                with suppress(TooLarge):
                    found = widened(data, subject, found, tolerance)
                    wider = separable_verdict(data, subject, found)
                    verdict = wider if wider.support.rows else verdict
            return with_columns_alone(data, verdict)
    except TooLarge as reason:
        return Undecided(subject, f"{reason}; {ADVICE}")


# Evidence.


def separable_verdict(data: Data, subject: Subject, found: Separated) -> Separable:
    """Return the verdict of separating weights, with their margin if defined and time allows."""
    W = found.w.reshape(subject.blocks, subject.width)
    d = data.n_features
    try:
        margin, support = _margin(data, subject, found)
    except TooLarge:
        margin, support = NO_MARGIN
    return Separable(
        subject,
        tuple(tuple(row) for row in W[:, :d].tolist()),
        tuple(W[:, d].tolist()) if subject.fit_intercept else (0.0,) * subject.blocks,
        margin,
        support,
    )


def _margin(
    data: Data, subject: Subject, found: Separated
) -> tuple[tuple[float, float], Combination]:
    """Return the margin interval, and the rows that prove its upper end."""
    if subject.blocks > 1 or subject.columns is not None or not found.members:
        return NO_MARGIN
    doing("the margin")
    used = np.flatnonzero(found.multipliers).tolist()
    used.sort(key=lambda i: found.members[i].key)
    members = [found.members[i] for i in used]
    shares = in_lowest_terms({k: Fraction(found.multipliers[i]) for k, i in enumerate(used)})
    support = Combination(
        tuple(member.key[0] for member in members),
        tuple(member.key[1] for member in members),
        tuple(shares.values()),
    )
    high = root_above(squared_bound(subject, [one.whole for one in members], support.multipliers))
    return (min(high, lowest_margin(data, subject, found.w)), high), support


def blocked_verdict(data: Data, subject: Subject, found: Inseparable) -> Verdict:
    """Return the verdict that nothing separates: an infeasibility certificate (witness), and the
    space of the boundary.
    """
    doing("a short proof")
    proof = found.proof
    table = table_of(found.members, subject)
    bound = np.flatnonzero(~members_outside(proof.span, subject, found.members, table))
    contradictory = contradictory_pair(data, subject) if subject.blocks == 1 else None
    if contradictory:
        few = Combination(contradictory, (0, 0), (1, 1))
    else:
        few = _combination(witness(proof, table[bound], [found.members[i] for i in bound]))
    evidence = (few, _combination(proof), proof.span)
    if not proof.direction:
        return Overlapping(subject, *evidence)
    rest, numbers = off_boundary(data, subject, found.boundary)
    cone = Cone(WorkingSet(rest, subject), proof.span, proof.direction)
    everything, more = cone.everything()
    basis = [member.key for member in proof.members]
    basis += [(int(numbers[row]), which) for row, which in (member.key for member in more)]
    kept = everything.coefficients(subject.width, subject.fit_intercept)
    doing("the signs of coefficients")
    signs: dict[int, Combination] = {}
    unchecked = []  # the work limit ended before their signs were known
    for j, function in sorted(kept.items()):
        try:
            sign = cone.sign(function)
            if sign is not None:
                signs[j] = _combination(sign, numbers)
        except TooLarge:
            unchecked.append(j)
    return QuasiSeparable(
        subject, *evidence, in_lowest_terms(proof.direction), found.boundary, everything,
        tuple(sorted(basis)), signs, tuple(unchecked),
    )  # fmt: skip


def _combination(proof: Proof | Sign, numbers: np.ndarray | None = None) -> Combination:
    """Return the rows of a proof in order, with the smallest integer multipliers; ``numbers`` are
    the numbers of the rows that contain the members.
    """
    order = sorted(range(len(proof.members)), key=lambda i: proof.members[i].key)
    whole = in_lowest_terms({i: proof.multipliers[i] for i in order})
    keys = [proof.members[i].key for i in order]
    rows = [row if numbers is None else int(numbers[row]) for row, _ in keys]
    return Combination(tuple(rows), tuple(which for _, which in keys), tuple(whole.values()))


# Equal rows on different sides, found by 64-bit hashes: that different rows share one is unlikely.


def row_marks(X: Any) -> np.ndarray:
    """Return a 64-bit hash of every row; zeros add nothing, so that storage does not matter.

    The bits of floats are mixed first: small integers end in many zero bits, which multiplication
    by the odd number of a column would keep.
    """
    drawn = np.random.default_rng(20261121).integers(2**63, size=X.shape[1], dtype=np.uint64)
    odd = drawn * np.uint64(2) + np.uint64(1)
    numbers = X.data if sp.issparse(X) else X
    bits = (numbers.astype(np.float64) + 0.0).view(np.uint64)
    bits = bits ^ bits >> np.uint64(32)
    bits *= np.uint64(0x9E3779B97F4A7C15)
    bits ^= bits >> np.uint64(29)
    if not sp.issparse(X):
        return np.einsum("ij,j->i", bits, odd)
    total = np.append(np.uint64(0), np.cumsum(bits * odd[X.indices], dtype=np.uint64))
    return total[X.indptr[1:]] - total[X.indptr[:-1]]


def first_of_each(marks: list[np.ndarray], rows: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return each hash once, and the first row that has it."""
    different, first = np.unique(np.concatenate(marks), return_index=True)
    return different, np.concatenate(rows)[first]


def contradictory_pair(data: Data, subject: Subject) -> tuple[int, int] | None:
    """Return the first pair of equal rows on opposite sides, or None; only for two sides."""
    sides = sides_of(subject)
    for columns in (slice(None),) if data.sparse else (slice(FIRST_COLUMNS), slice(None)):
        parts = [(row_marks(lane.X[:, columns]), sides[lane.y]) for lane in data.lanes()]
        marks, of_row = (np.concatenate(both) for both in zip(*parts, strict=True))
        of_sides = [np.flatnonzero(of_row == side) for side in (1, -1)]
        (above, first), (below, second) = (first_of_each([marks[k]], [k]) for k in of_sides)
        _, i, j = np.intersect1d(above, below, assume_unique=True, return_indices=True)
        if not i.size:
            return None
    pairs = np.sort(np.column_stack([first[i], second[j]]), axis=1)
    for pair in pairs[np.argsort(pairs[:, 1])][:MOST_PAIRS]:
        both = [Member(subject, batch, at, 0).whole[0] for _, batch, at in data.rows(pair)]
        if not combination((1, a) for a in both):
            return int(pair[0]), int(pair[1])
    return None


# Chance.


def chance_of(data: Data, subject: Subject) -> Chance:
    """Return whether random labels of the rows of a question would be separable.

    Reading stops as soon as the number of distinct rows shows that the probability is nearly 0.
    """
    width, intercept = subject.width, subject.fit_intercept
    most = 4 * width + ENOUGH
    marks, rows = np.empty(0, np.uint64), np.empty(0, np.int64)
    for part in (part for lane in data.lanes() for part in lane.cut(max(most, AT_ONCE))):
        chosen = np.flatnonzero(subject.active[part.y])
        X = part.X if len(chosen) == part.size else part.X[chosen]
        marks, rows = first_of_each([marks, row_marks(X)], [rows, part.first + chosen])
        if len(rows) >= most:
            return Chance(most, True, min(width, most) - intercept, True, False, intercept)
    d, known, tied = min(width, len(rows)) - intercept, False, False
    if len(rows) * width <= MOST_NUMBERS:
        parts = [batch.X for batch in data.some(np.sort(rows))]
        X = np.vstack([X.toarray() if sp.issparse(X) else X for X in parts])
        d, known = rank(X, intercept), True
        # some column that is not constant has a value in several rows
        tied = any(1 < len(set(column.tolist())) < len(column) for column in X.T)
        tied = tied and len(rows) > d + intercept
    return Chance(len(rows), False, d, known, tied, intercept)


def rank(X: np.ndarray, intercept: bool) -> int:
    """Return the rank of rows; with an intercept, the rank of ``[X, 1]`` minus 1.

    Modulo a prime it is never more, and less only if the prime divides all largest minors.
    """
    residues = np.hstack([modulo(X), np.ones((len(X), int(intercept)), np.int64)])
    return int(nmod_mat(residues.tolist(), PRIME).rank()) - intercept


def modulo(X: np.ndarray) -> np.ndarray:
    """Return numbers modulo the prime: floats exactly as stored, as integers times powers of 2."""
    if X.dtype == object:
        exact = [Fraction(value) for value in X.ravel().tolist()]
        residues = [m.numerator * pow(m.denominator, -1, PRIME) % PRIME for m in exact]
        return np.array(residues, np.int64).reshape(X.shape)
    mantissas, exponents = np.frexp(X.astype(np.float64))
    whole = np.ldexp(mantissas, 53).astype(np.int64) % PRIME
    used, place = np.unique(exponents, return_inverse=True)
    powers = np.array([pow(2, int(e) - 53, PRIME) for e in used], np.int64)
    return whole * powers[place].reshape(X.shape) % PRIME


# Columns.


def with_columns_alone(data: Data, verdict: Any) -> Any:
    """Return a separable or quasi-separable verdict with the columns that separate alone: those
    whose ranges in the classes do not meet, or touch.

    Other verdicts, and those on a Gram matrix, are returned as they are, and all of them if the
    time is up.
    """
    subject = verdict.subject
    if subject.columns is not None or not isinstance(verdict, Separable | QuasiSeparable):
        return verdict
    groups = np.arange(len(subject.signs))
    if subject.blocks == 1:
        groups = np.choose(sides_of(subject) + 1, [1, -1, 0])
    low = np.full((groups.max() + 1, data.n_features), np.inf)
    high = -low
    try:
        for lane in within_time(data.lanes()):
            of_row = groups[lane.y]
            for g in np.unique(of_row[of_row >= 0]).tolist():
                own = lane.X if (of_row == g).all() else lane.X[of_row == g]
                ends = own.min(axis=0), own.max(axis=0)
                least, most = (end.toarray().ravel() if sp.issparse(end) else end for end in ends)
                low[g], high[g] = np.minimum(low[g], least), np.maximum(high[g], most)
            apart, kinds = _kinds(low, high, subject.fit_intercept)
            if not apart.any():
                break
    except TooLarge:
        return verdict
    alone, touching = (tuple(np.flatnonzero(kinds == kind).tolist()) for kind in (2, 1))
    return replace(verdict, deciding_columns=DecidingColumns(alone, touching))


def _kinds(low: np.ndarray, high: np.ndarray, intercept: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return for each column, from the smallest and largest numbers of each group: whether some
    groups lie below all others, as far as seen; and 2 if the column separates the groups, 1 if it
    quasi-separates them, or 0.

    A weight for each group makes its rows score highest if no ranges overlap. Weights that differ
    have no row on the wrong side if some groups lie below all others.
    """
    if intercept:
        order = np.lexsort((high, low), axis=0)
        low, high = (np.take_along_axis(ends, order, axis=0) for ends in (low, high))
        top = np.maximum.accumulate(high, axis=0)
        apart = np.any(top[:-1] <= low[1:], axis=0)
        strict = np.all(top[:-1] < low[1:], axis=0)
        off = low[0] < top[-1]
    else:  # of more than two groups, two are on the same side of zero
        below, above = high <= 0, low >= 0
        apart = np.all(below | above, axis=0) & np.any(below, axis=0) & np.any(above, axis=0)
        strict = np.all((low > 0) | (high < 0), axis=0) & (len(low) == 2)
        off = np.any((low < 0) | (high > 0), axis=0)
    return apart, np.where(apart & off, 1 + strict, 0)


# The space of a kernel.


def checked_gram(K: Any) -> np.ndarray:
    """Return a Gram matrix, its numbers unchanged.

    Raises DataError if it holds floats, or is not square, symmetric and, up to rounding, positive
    semidefinite.
    """
    if sp.issparse(K):
        raise DataError("K is sparse: pass a dense Gram matrix.", code="unsupported", option="K")
    values = np.asarray(K)
    mixed = values.flat if values.dtype == object else ()
    if values.dtype.kind == "f" or any(isinstance(x, float | np.floating) for x in mixed):
        raise DataError(
            "K holds floats, and rounding makes any rows separable: pass integers or fractions, "
            "such as linsep.kernels.Kernel.exact.", code="not-exact", option="K",
        )  # fmt: skip
    K = exact_rows(K)
    if K.shape[0] != K.shape[1]:
        raise DataError(
            f"K has shape {K.shape}, but a Gram matrix has one row and one column per row of the "
            "data: pass K(X, X).", code="shape", option="K", value=K.shape,
        )  # fmt: skip
    floats = K.astype(np.float64)
    scale = np.sqrt(np.abs(floats.diagonal()))
    scale[scale == 0] = 1.0
    unit = floats / np.outer(scale, scale)
    if (K != K.T).any() or eigvalsh(unit).min() < -ROUNDING * len(K):
        raise DataError(
            "K is not symmetric and positive semidefinite, so it is not the Gram matrix of a "
            "kernel: pass K(X, X) of a kernel.", code="bad-kernel", option="K",
        )  # fmt: skip
    return np.asarray(K)
