"""Cross-validation: folds of rows in memory, and predictions for rows that were not used for
training.

Rows are read and parsed once, and a fold is a selection of them. What reading learns from all rows
(means and deviations to scale by, vocabularies, rare values) uses no label and is the same in all
folds; everything else is fitted on the training rows of a fold alone.
"""

import threading
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, is_classifier

from linsep._system.interrupts import interruption_point, interrupts_deferred, obey
from linsep._system.threads import in_background, thread_count
from linsep.batches import Batch, joined
from linsep.errors import DataError, LinsepError, ParameterError, hint, refuse
from linsep.estimators.labels import check_two_classes, plain_labels, source_labels
from linsep.linear.predictions import numbers
from linsep.scoring import Scored, metrics_of, scored
from linsep.sources.arrays import ArraySource
from linsep.sources.base import Source
from linsep.steps import of_learner
from linsep.words import counted, row_text

#: seconds between looks for Ctrl-C
SECONDS = 0.1
#: rows to learn from and rows to predict, by their numbers
Split = tuple[np.ndarray, np.ndarray]


class Folds(NamedTuple):
    """How rows are divided into folds.

    Each fold is predicted by a model trained on the others. All folds have the same share of every
    class. Groups of rows, if a source has any, are never divided.

    Attributes
    ----------
    cv : int or a splitter of scikit-learn
        The number of folds, or an object whose ``split(X, y, groups)`` yields training and test
        rows.
    repeats : how often all rows are divided, each time in a different way
    by_time : whether the rows are in time order, and each fold is predicted only by models trained
        on earlier rows; the first part of the rows is used only for training
    random_state : seed of the division
    """

    cv: Any = 5
    repeats: int = 1
    by_time: bool = False
    random_state: int = 0

    def check(self, grouped: bool = False) -> None:
        """Raise ParameterError for options that cannot be combined."""
        if hasattr(self.cv, "split"):
            return
        whole = isinstance(self.cv, int | np.integer) and not isinstance(self.cv, bool)
        refuse(
            ParameterError,
            (not whole or self.cv < 2, f"The number of folds is {self.cv!r}", "bad-option", "cv",
             hint("give {} or more", cv=2)),
            (self.by_time and grouped, "Rows are divided by time or in whole groups, not both",
             "conflict", "by_time", hint("leave out {}", by_time=None), hint("{}", group=None)),
            (self.by_time and self.repeats > 1, "Rows in time order can be divided in only one way",
             "conflict", "repeats", hint("leave out {}", repeats=None)),
        )  # fmt: skip

    def splits(self, rows: "LabeledRows") -> list[Split]:
        """Return the folds of some rows; DataError if they cannot be made."""
        from sklearn import model_selection as ways

        groups, numbers = rows.batch.groups, rows.classes is None
        self.check(groups is not None)
        X = np.empty((rows.size, 0))
        if hasattr(self.cv, "split"):
            return [*self.cv.split(X, rows.batch.y, groups)]
        self._check_rows(rows)
        kind: Any
        if self.by_time:
            ones = [ways.TimeSeriesSplit(self.cv)]
        elif groups is not None:
            kind = ways.GroupKFold if numbers else ways.StratifiedGroupKFold
            seeds = range(self.random_state, self.random_state + self.repeats)
            ones = [kind(self.cv, shuffle=True, random_state=seed) for seed in seeds]
        else:
            kind = ways.RepeatedKFold if numbers else ways.RepeatedStratifiedKFold
            how = {"n_splits": self.cv, "n_repeats": self.repeats}
            ones = [kind(**how, random_state=self.random_state)]
        return [split for one in ones for split in one.split(X, rows.codes, groups)]

    def _check_rows(self, rows: "LabeledRows") -> None:
        """Raise DataError if there are more folds than rows, groups, or rows of a class."""
        what, least, unit = rows.name, rows.size - self.by_time, "row"
        if rows.batch.groups is not None:
            least, unit = np.unique(rows.batch.groups).size, "group"
        elif rows.codes is not None and not self.by_time:
            sizes = np.bincount(rows.codes)
            what = f"Class {plain_labels(rows.classes)[int(sizes.argmin())]} of {rows.name}"
            least = int(sizes.min())
        if least < self.cv:
            raise DataError(
                f"{what} has {counted(least, unit)}, too few for {self.cv} folds",
                *([hint("choose {}", cv=least)] if least > 1 else []), f"add {unit}s",
                code="too-few-rows", path=rows.name,
            )  # fmt: skip


class LabeledRows(NamedTuple):
    """All rows of a source with positive weight, in memory: their labels or numbers are ``y`` of
    the batch; ``codes`` count the sorted ``classes``, None for numbers.
    """

    name: str
    batch: Batch
    classes: np.ndarray | None
    codes: np.ndarray | None
    #: returns the place of a row in the data as given
    where: Callable[[int], str] = row_text

    @property
    def size(self) -> int:
        """Number of rows."""
        return self.batch.size


class Fold(ArraySource):
    """Some rows, whose errors name their places in the data as given."""

    def __init__(self, rows: LabeledRows, chosen: np.ndarray):
        part = rows.batch.rows(chosen)
        super().__init__(part.X, part.y, part.weights, offset=part.offset)
        self.name, self._where, self._chosen = rows.name, rows.where, chosen

    def _place(self, row: int) -> str:
        return self._where(int(self._chosen[row]))


def kept(source: Source) -> tuple[Source, Batch]:
    """Read a source; return it with its rows in memory, and these rows."""
    with interrupts_deferred():
        rows = joined(list(in_background(source.batches())))
    if source.counts and rows.groups is None:  # both rows of one go to the same fold
        rows = rows._replace(groups=np.arange(rows.size, dtype=np.uint64) // 2)
    again = copy(source)
    again.n_rows = rows.size
    vars(again)["batches"] = lambda: (batch for batch in [rows])
    return again, rows


def labeled_rows(source: Source, rows: Batch, classify: bool = True) -> LabeledRows:
    """Return the rows of a source with positive weight; DataError for labels that are missing, or
    no classes.
    """
    y = source_labels(source, rows.y, rows.weights) if classify else numbers(rows.y, source, 0)
    rows, used, classes, codes = rows._replace(y=y), np.arange(rows.size), None, None
    if rows.weights is not None and not rows.weights.all():
        used = np.flatnonzero(rows.weights)
        rows = rows.rows(used)
    if classify:
        classes, codes = np.unique(rows.y, return_inverse=True)
        check_two_classes(classes, source.name)
    return LabeledRows(source.name, rows, classes, codes, lambda row: source.where(int(used[row])))


def predictions_by_fold(
    estimators: Sequence[Any], rows: LabeledRows, splits: Sequence[Split]
) -> list[list[Any]]:
    """Return, for each estimator, the :class:`Scored` predictions of the rows of each fold by a
    copy that was fitted on the others. Raises DataError if a fit fails, as one of rows of one
    class.
    """
    found: list[list[Any]] = [[None] * len(splits) for _ in estimators]

    def work(fold: int, number: int) -> None:
        estimator = BaseEstimator.__sklearn_clone__(estimators[number])
        if getattr(estimator, "covariance", None) is not None:  # which predictions do not need
            estimator.set_params(covariance=None)
        training, test = splits[fold]
        try:
            made = scored(estimator.fit(Fold(rows, training)), Fold(rows, test))
        except LinsepError as problem:
            raise problem.at(f"fold {fold + 1} of {len(splits)}: ") from None
        made = _of_all_classes(made, rows, test)
        if (threshold := getattr(estimators[number], "threshold_", None)) is not None:
            made = made._replace(predicted=threshold.codes(made.scores))
        groups = rows.batch.groups
        found[number][fold] = made._replace(groups=None if groups is None else groups[test])

    jobs = [(fold, number) for fold in range(len(splits)) for number in range(len(estimators))]
    # What a fit of a part warns of, the fit of all rows warns of, too.
    with warnings.catch_warnings(action="ignore"):
        in_threads(work, jobs)
    return found


def in_threads(work: Callable[..., None], jobs: Sequence[tuple[Any, ...]]) -> None:
    """Run each job in one of several threads; Ctrl-C and errors end the running jobs."""
    stop = threading.Event()
    with (
        interrupts_deferred(),
        ThreadPoolExecutor(thread_count(), initializer=obey, initargs=(stop,)) as pool,
    ):
        running: set[Future[None]] = {pool.submit(work, *job) for job in jobs}
        try:
            while running:
                done, running = wait(running, SECONDS, return_when="FIRST_COMPLETED")
                interruption_point()
                for future in done:
                    future.result()
        except BaseException:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _of_all_classes(found: Scored, rows: LabeledRows, test: np.ndarray) -> Scored:
    """Return predictions extended to classes without a training row."""
    if rows.classes is None or rows.codes is None or found.n_classes == rows.classes.size:
        return found
    k, places = rows.classes.size, np.searchsorted(rows.classes, found.classes)

    def wide(values: np.ndarray, fill: float) -> np.ndarray:
        whole = np.full((len(values), k), fill)
        whole[:, places] = values
        return whole

    scores, shares = found.scores, found.probabilities
    scores = np.column_stack([-scores, scores]) if scores.ndim == 1 else scores
    return found._replace(
        classes=rows.classes, truth=rows.codes[test], predicted=places[found.predicted], positive=1,
        scores=wide(scores, -np.inf), probabilities=None if shares is None else wide(shares, 0.0),
    )  # fmt: skip


@of_learner
def out_of_fold(estimator: Any, source: Source, folds: Folds | None = None) -> Any:
    """Return out-of-fold predictions for every row that is in a fold.

    Parameters
    ----------
    estimator : classifier or regression; not changed
    source : Source, read once
    folds : :class:`Folds`, by default five

    Returns
    -------
    :class:`linsep.scoring.Scored`
        In the order of the rows, without rows of weight 0. With repeats, each row occurs once per
        repeat; with ``by_time`` the first rows are missing.

    Raises
    ------
    DataError, ParameterError
        If the rows cannot be divided in this way, or a fit fails.
    """
    rows = labeled_rows(*kept(source), classify=is_classifier(estimator))
    splits = (folds or Folds()).splits(rows)
    (parts,) = predictions_by_fold([estimator], rows, splits)
    order = np.argsort(np.concatenate([test for _, test in splits]), kind="stable")
    return Scored.joined(parts).rows(order)


def mean_and_error(values: np.ndarray, n_folds: int) -> tuple[float, float]:
    """Return the mean of one number per fold and its standard error, as for one repeat, for repeats
    divide the same rows again: with the variances of the repeats averaged.
    """
    by_repeat = values.reshape(-1, n_folds)
    variance = by_repeat.var(axis=1, ddof=1).mean()
    return float(values.mean()), float(np.sqrt(variance / n_folds))


def cross_validated(
    estimator: Any, source: Source, batch: Batch, folds: Folds
) -> dict[str, np.ndarray]:
    """Return metrics of an estimator, with its threshold if it has one, in each fold of the rows
    that :func:`kept` returned: those that are defined in all folds, as arrays by name.
    """
    rows = labeled_rows(source, batch, classify=is_classifier(estimator))
    (parts,) = predictions_by_fold([estimator], rows, folds.splits(rows))
    found = [metrics_of(part) for part in parts]
    values = {name: [fold[name] for fold in found] for name in found[0]}
    return {name: np.array(each) for name, each in values.items() if None not in each}
