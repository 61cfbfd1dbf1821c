"""Outcome of a logistic regression, in particular if its likelihood seems to have no maximum."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep._system.interrupts import interrupts_allowed
from linsep.certificate.checking import TIME_LIMIT
from linsep.certificate.verdicts import Separable, Separations, Undecided
from linsep.logistic.centered import FAR
from linsep.logistic.classes import UNSIGNED
from linsep.logistic.fitting import Fit, Task, climbed_on, sharpened
from linsep.logistic.limits import Contrasts, limit, proves, question_weights
from linsep.logistic.outcomes import FitOutcome, outcome_of, without_proof
from linsep.logistic.rows import BatchRows, Rows, matrix_of
from linsep.logistic.steps import Steps
from linsep.separability.data import Data, LocalData, Piece, data_of, padded, piece_of
from linsep.separability.deciding import separated_by, separation
from linsep.separability.search import MOST_WEIGHTS
from linsep.separability.time_limit import Task as Timed, limited


class Asked(NamedTuple):
    """The data of a verdict on a likelihood that seems to have no maximum.

    Attributes
    ----------
    task : Task
    data : Data
    columns : int array, the numbers of the weights of each class that the verdict is about
    order : class codes of the data in the order of the regression, the reference last
    rows : the rows in memory, or None
    dependent : bool, whether some of the columns are exact linear combinations of others
    """

    task: Task
    data: Data
    columns: np.ndarray
    order: list[int]
    rows: Rows | None
    dependent: bool

    @property
    def quick(self) -> bool:
        """Whether the search for a separator is quick; it also bounds the margin."""
        few = self.task.q == 1 and len(self.columns) <= MOST_WEIGHTS
        return self.rows is not None and few

    def contrasts(self, verdict: Any) -> Contrasts:
        """Return the converter from the weights of a verdict."""
        return Contrasts(verdict, self.data, self.order, len(self.columns))

    def by_weights(self, fit: Fit) -> Any:
        """Return the verdict that the weights of the fit prove, or None."""
        weights = question_weights(fit.weights[:, self.columns], self.order)
        with interrupts_allowed():
            return separated_by(self.data, weights, self.task.intercept)

    def by_search(self) -> Any:
        """Return the multinomial verdict; Ctrl-C takes effect at any time."""
        joint = ("multinomial",)
        with interrupts_allowed():
            answer: Any = separation(
                self.data, fit_intercept=self.task.intercept, formulations=joint
            )
        return answer.multinomial if isinstance(answer, Separations) else answer


def outcome_of_suspect(
    task: Task, given: Rows | BatchRows, fit: Fit, limits: np.ndarray, steps: Steps
) -> FitOutcome:
    """Decide separability; if there is a maximum, go on maximising, else compute the limit.

    With too many weights for a Hessian, or more rows than a source may keep in memory, the weights
    of the last iteration stay. Exactly dependent features are left out of the verdict; nearly
    dependent ones are not, because they may separate the classes.

    Unless a search is quick, the weights at hand are checked exactly first, in one pass. The
    search, with the limit of the weights, takes no longer than the time limit of a verdict.
    """
    steps.suspect = fit, limits
    asked = _asked(task, given, fit)
    if asked is None:
        return without_proof(fit, limits)
    verdict = None if asked.quick else asked.by_weights(fit)
    if verdict is None and asked.dependent:
        return without_proof(fit, limits)
    with limited(Timed(TIME_LIMIT)):
        verdict = verdict or asked.by_search()
        if proves(verdict):
            return _without_maximum(asked, fit, limits, verdict)
    steps.suspect = None
    if fit.reason == "suspect":
        fit = climbed_on(task, fit, steps)
    if not isinstance(verdict, Undecided):
        sharp = None
        if task.factored and fit.reason in ("converged", "stuck"):
            fit, sharp = sharpened(task, fit)
        return replace(outcome_of(fit, limits), verdict=verdict, sharpness=sharp)
    separated = asked.by_weights(fit)
    if separated is None:
        return replace(without_proof(fit, limits), verdict=verdict, reason="undecided")
    with limited(Timed(TIME_LIMIT)):
        return _without_maximum(asked, fit, limits, separated)


def _asked(task: Task, given: Rows | BatchRows, fit: Fit) -> Asked | None:
    """Return the data to decide about; None if they are not those of the fit."""
    rows, order = given.in_memory(task), given.known.ranks
    dependent = exactly_dependent(fit)
    if rows is not None:
        counted = rows.counted()
        kept = np.setdiff1d(np.arange(task.n_features), dependent)
        everything = len(counted) == len(rows.places) and len(kept) == task.n_features
        # keeps the names of a data frame
        named = everything and hasattr(rows.given, "columns")
        X = rows.given if named else rows.X if everything else rows.X[counted][:, kept]
        data = data_of(X, rows.known.labels[rows.places[counted]])
        columns = np.concatenate([kept, [task.n_features] * task.intercept]).astype(int)
        return Asked(task, data, columns, order, rows, False)
    assert isinstance(given, BatchRows)
    with interrupts_allowed():
        data = data_of_batches(given) if given.source is None else data_of(given.source)
    if len(data.classes) != len(order):  # a weight of 0 leaves out a class that the data have
        return None
    # columns of a source cannot be left out; those of zeros, as in very many, need not be
    return Asked(task, data, np.arange(task.width), order, None, task.factored and bool(dependent))


def _around(task: Task, fit: Fit, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights of some columns around a centre, which is zero but for columns that are
    far from zero against their spread.
    """
    weights, kept = fit.weights[:, columns], columns[: len(columns) - task.intercept]
    if fit.around is None:
        return weights, np.zeros(len(kept))
    (middle, at), scales = fit.around, fit.standardization.scales
    centre = np.where(np.abs(middle * scales) > FAR, middle, 0.0)
    near = np.where(centre, 0.0, middle)
    if centre.any():
        weights[:, -1] = at - fit.weights[:, : task.n_features] @ near
    return weights, centre[kept]


def exactly_dependent(fit: Fit) -> list[int]:
    """Return the features that are exact linear combinations of others."""
    return sorted(set(fit.standardization.dependent) - set(fit.standardization.nearly))


def _without_maximum(asked: Asked, fit: Fit, limits: np.ndarray, verdict: Any) -> FitOutcome:
    """Return the limit for a likelihood that has no maximum, by the verdict.

    Rows that are not in memory, and too many weights, keep the weights of the last iteration.
    """
    task, rows, columns = asked.task, asked.rows, asked.columns
    contrasts, lost = asked.contrasts(verdict), limits.astype("U16")
    if rows is None or not task.factored:
        found = _of_last_iteration(fit, verdict)
        with interrupts_allowed():
            lost[:, columns] = UNSIGNED if asked.dependent else contrasts.limits()
        lost[limits == "dependent"] = "dependent"
        return replace(found, limits=lost)
    counted = rows.counted()
    kept = columns[columns < task.n_features]
    Z = rows.augmented(counted, kept, task.intercept)
    weights = rows.weights[counted] if rows.weights.size else np.ones(len(counted))
    last, centre = _around(task, fit, columns)
    Z[:, : len(kept)] -= centre
    with interrupts_allowed():
        end = limit(contrasts, Z, rows.places[counted], weights, last, centre)
    wide, middle = Wide(task, columns), np.zeros(task.n_features)
    middle[kept] = centre
    lost[:, columns] = end.limits
    return FitOutcome(
        wide.flat(end.weights), lost, end.log_likelihood, wide.square(end.covariance),
        str(verdict.kind), fit.n_iter, verdict, around=(middle, end.at) if middle.any() else None,
    )  # fmt: skip


def _of_last_iteration(fit: Fit, verdict: Any) -> FitOutcome:
    """Return the weights of the last iteration; the supremum is known of separable classes only."""
    value = 0.0 if isinstance(verdict, Separable) else fit.log_likelihood
    return replace(
        outcome_of(fit, np.zeros(0)), log_likelihood=value, covariance=None, verdict=verdict,
        reason=str(verdict.kind), at_limit=False,
    )  # fmt: skip


class Wide:
    """Embeds arrays of the estimated weights into arrays of all weights."""

    def __init__(self, task: Task, columns: np.ndarray):
        self.task, self.columns = task, columns

    def flat(self, some: np.ndarray, rest: float = 0.0) -> np.ndarray:
        """Return an array of shape (q, width)."""
        found = np.full((self.task.q, self.task.width), rest)
        found[:, self.columns] = some
        return found

    def square(self, some: np.ndarray) -> np.ndarray:
        """Return an array of shape (q width, q width)."""
        found = np.zeros((self.task.q * self.task.width,) * 2)
        places = (np.arange(self.task.q)[:, None] * self.task.width + self.columns).ravel()
        found[np.ix_(places, places)] = some
        return found


def data_of_batches(given: BatchRows) -> Data:
    """Return the rows with weight as data of a verdict, which reads them again in every pass."""
    codes = np.array(given.known.ranks, dtype=np.int64)

    def parts() -> Iterator[Piece]:
        first = 0
        for batch in given.batches():
            counted = batch.weights > 0 if batch.weights.size else slice(None)
            X, places = matrix_of(batch, given.n_features)[counted], batch.codes[counted]
            yield piece_of(padded(X, given.n_features), codes[places], first)
            first += len(places)

    shape = given._n_rows, given.n_features
    data = LocalData(parts, np.sort(given.known.labels), shape, None)
    data.sparse = sp.issparse(next(parts()).X)
    return data
