"""Columns that decide a verdict alone: those whose ranges in the classes do not meet, or touch."""

from dataclasses import replace
from typing import TypeVar

import numpy as np
import scipy.sparse as sp

from linsep.certificate.constraints import question_of
from linsep.certificate.verdicts import DecidingColumns, QuasiSeparable, Separable, Verdict
from linsep.separability.data import Data, sides_of
from linsep.separability.time_limit import TooLarge, within_time

AVerdict = TypeVar("AVerdict", bound=Verdict)


def with_columns_alone(data: Data, verdict: AVerdict) -> AVerdict:
    """Return a separable or quasi-separable verdict with the columns that separate alone.

    Other verdicts, and those on a Gram matrix, are returned as they are, and all of them if the
    time is up.
    """
    subject = verdict.subject
    if subject.columns is not None or not isinstance(verdict, Separable | QuasiSeparable):
        return verdict
    question = question_of(subject)
    if question.blocks == 1:
        group = {1: 0, -1: 1, 0: -1}
        groups = np.array([group[side] for side in sides_of(question).tolist()])
    else:
        groups = np.arange(len(question.signs))
    try:
        kinds = _kinds(data, groups, question.intercept)
    except TooLarge:
        return verdict
    alone, touching = (tuple(np.flatnonzero(kinds == kind).tolist()) for kind in (2, 1))
    columns = DecidingColumns(alone, touching, subject.names)
    return replace(verdict, deciding_columns=columns)


def _kinds(data: Data, groups: np.ndarray, intercept: bool) -> np.ndarray:
    """Return for each column 2 if it separates the groups of classes, 1 if it quasi-separates them,
    or 0.
    """
    low = [np.full(data.n_features, np.inf) for _ in range(groups.max() + 1)]
    high = [-ends for ends in low]
    for lane in within_time(data.lanes()):
        of_row = groups[lane.y]
        for g in np.unique(of_row[of_row >= 0]).tolist():
            own = lane.X if (of_row == g).all() else lane.X[of_row == g]
            ends = own.min(axis=0), own.max(axis=0)
            least, most = (end.toarray().ravel() if sp.issparse(end) else end for end in ends)
            low[g], high[g] = np.minimum(low[g], least), np.maximum(high[g], most)
        if not _apart(np.array(low), np.array(high), intercept).any():
            return np.zeros(data.n_features, dtype=int)
    return _separation(np.array(low), np.array(high), intercept)


def _separation(low: np.ndarray, high: np.ndarray, intercept: bool) -> np.ndarray:
    """Return the kind of every column from the smallest and largest numbers of each group.

    A weight for each group makes its rows score highest if no ranges overlap. Weights that differ
    have no row on the wrong side if some groups lie below all others.
    """
    if intercept:
        low, high = _in_order(low, high)
        strict = (np.maximum.accumulate(high, axis=0)[:-1] < low[1:]).all(axis=0)
        off = low[0] < high.max(axis=0)
    else:  # of more than two groups, two are on the same side of zero
        strict = ((low > 0) | (high < 0)).all(axis=0) & (len(low) == 2)
        off = ((low < 0) | (high > 0)).any(axis=0)
    return np.where(_apart(low, high, intercept) & off, 1 + strict, 0)


def _apart(low: np.ndarray, high: np.ndarray, intercept: bool) -> np.ndarray:
    """Return for each column whether some groups lie below all others, as far as seen."""
    if intercept:
        low, high = _in_order(low, high)
        return np.any(np.maximum.accumulate(high, axis=0)[:-1] <= low[1:], axis=0)
    below, above = high <= 0, low >= 0
    return np.all(below | above, axis=0) & np.any(below, axis=0) & np.any(above, axis=0)


def _in_order(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the ranges of each column from the lowest to the highest."""
    order = np.argsort(high, axis=0, kind="stable")
    second = np.argsort(np.take_along_axis(low, order, axis=0), axis=0, kind="stable")
    order = np.take_along_axis(order, second, axis=0)
    return np.take_along_axis(low, order, axis=0), np.take_along_axis(high, order, axis=0)
