"""Checking verdicts from their evidence alone, in one reading of the rows.

Nothing here depends on how a verdict was found, and what is hashed is what is checked.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from linsep.certificate.blocks import Block, Reading
from linsep.certificate.checkers import CHECKERS, Clock, Fails, TooLong
from linsep.certificate.gram import spans
from linsep.certificate.verdicts import Blocked, Subject, Undecided, Verdict

#: numbers that a check makes of claimed counts before they are compared with the data
MOST_NUMBERS = 1 << 20


class Check(NamedTuple):
    """Whether a claim holds: True, False or None (not known), with the reason.

    ``bool(check)`` is True only if it holds.
    """

    holds: bool | None
    reason: str

    def __bool__(self) -> bool:
        return self.holds is True


def check(
    verdicts: Sequence[Verdict],
    X: Any,
    y: Any,
    exact: bool,
    time_limit: float | None,
    K: np.ndarray | None = None,
) -> Check:
    """Check whether all verdicts about the same rows hold; undecided ones claim nothing.

    If X holds columns of a Gram matrix K, verdicts that nothing separates are about all of K.
    """
    decided = [verdict for verdict in verdicts if not isinstance(verdict, Undecided)]
    if not decided:
        return Check(None, "Nothing is claimed: undecided.")
    found = _check(decided, X, y, exact, time_limit, K)
    if found and len(decided) < len(verdicts):
        missing = f"{len(verdicts) - len(decided):,} of {len(verdicts):,} questions are undecided"
        return Check(None, f"{missing}, so nothing is claimed there. {found.reason}")
    return found


def _check(
    verdicts: Sequence[Verdict],
    X: Any,
    y: Any,
    exact: bool,
    time_limit: float | None,
    K: np.ndarray | None,
) -> Check:
    """Check verdicts that claim something."""
    clock = Clock(time_limit)
    reading = Reading(X, y)
    try:
        if _size(verdicts) > MOST_NUMBERS:  # what is claimed is compared before it is expanded
            first = Reading(X, y)
            for _ in first.blocks():
                pass
            _same_data(verdicts[0].subject, first)
        _read(verdicts, reading, exact, clock)
        if K is not None and exact:
            _spanned(verdicts, K, clock)
    except Fails as failure:
        return Check(False, f"It does not hold: {failure}.")
    except TooLong as reason:
        return Check(None, f"Not checked to the end: {reason}. Raise the time limit.")
    rows = f"{reading.canonical.n_rows:,} rows"
    many = len(verdicts) > 1
    if not exact:
        what = f"all {len(verdicts)} of them" if many else verdicts[0].kind
        return Check(
            None,
            f"Not contradicted: {what}, checked over {rows} in floats; exact=True proves it.",
        )
    what = f"They hold, all {len(verdicts)}," if many else f"It holds: {verdicts[0].kind},"
    return Check(True, f"{what} checked over {rows} in exact arithmetic.")


def _size(verdicts: Sequence[Verdict]) -> int:
    """Return how many numbers a check makes of counts that a proof claims without evidence."""
    total = 0
    for verdict in verdicts:
        subject = verdict.subject
        blocks = len(subject.classes) - 1 if subject.multinomial else 1
        weights = blocks * subject.width * isinstance(verdict, Blocked)
        total += weights + len(subject.classes) * blocks**2
    return total


def _read(verdicts: Sequence[Verdict], reading: Reading, exact: bool, clock: Clock) -> None:
    """Read the rows once for all verdicts; Fails about the data take precedence."""
    subject = verdicts[0].subject
    checkers = [CHECKERS[type(verdict)](verdict, exact, clock) for verdict in verdicts]
    classes = {(type(label), label): code for code, label in enumerate(subject.classes)}
    failure = _different_subjects(verdicts)
    for block in reading.blocks():
        if failure is not None:
            continue  # the hash may give a better reason
        labels = reading.canonical.labels
        if reading.canonical.n_features > subject.n_features:
            failure = Fails("the rows have more features")
        elif not all((type(label), label) in classes for label in labels):
            failure = Fails("the labels differ")
        else:
            numbers = np.array([classes[type(label), label] for label in labels])
            try:
                for checker in checkers:
                    checker.see(_widened(block, subject.n_features), numbers[block.numbers])
            except Fails as first:
                failure = first
    _same_data(subject, reading)
    if failure is not None:
        raise failure
    for checker in checkers:
        checker.finish()


def _spanned(verdicts: Sequence[Verdict], K: np.ndarray, clock: Clock) -> None:
    """Raise Fails if columns of a Gram matrix do not separate, but do not span the others."""
    blocked = any(isinstance(verdict, Blocked) for verdict in verdicts)
    if blocked and not spans(K, verdicts[0].subject.columns or (), clock.over):
        raise Fails("the named columns of the Gram matrix do not span the others")


def _different_subjects(verdicts: Sequence[Verdict]) -> Fails | None:
    """Return a failure if verdicts are about different data."""
    first = verdicts[0].subject
    same = all(verdict.subject.same_data(first) for verdict in verdicts)
    return None if same else Fails("the verdicts are about different data")


def _widened(block: Block, width: int) -> Block:
    """Return the block with zero columns for features that only later rows have."""
    missing = width - block.X.shape[1]
    if not missing:
        return block
    if hasattr(block.X, "indptr"):
        X = block.X.copy()
        X.resize(X.shape[0], width)
    else:
        X = np.hstack([block.X, np.zeros((block.X.shape[0], missing), block.X.dtype)])
    return Block(X, block.numbers, block.first)


def _same_data(subject: Subject, reading: Reading) -> None:
    """Raise Fails if the rows are not those of the subject."""
    found = reading.canonical
    shape = (subject.n_rows, subject.n_features)
    if (found.n_rows, found.n_features) != shape:
        raise Fails(
            f"it is about {shape[0]:,} rows of {shape[1]:,} features, these are "
            f"{found.n_rows:,} of {found.n_features:,}"
        )
    labels = sorted(found.labels)
    if _typed(labels) != _typed(subject.classes):
        raise Fails("the labels differ")
    if reading.names and subject.names and reading.names != subject.names:
        raise Fails("the features have other names")
    if found.sha256() != subject.sha256:
        rounded = "; some are not doubles, and a proof of rounded rows is about X.astype(float)"
        raise Fails(
            "it is about other rows or labels, or the same in another order"
            + rounded * (not reading.doubles)
        )


def _typed(labels: Sequence[Any]) -> list[tuple[type, Any]]:
    """Return labels with their types, so that 1, 1.0 and True differ."""
    return [(type(label), label) for label in labels]
