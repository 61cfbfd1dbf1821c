"""Cross-validation: folds of rows in memory, and predictions for rows that were not used for
training.

Rows are read and parsed once, and a fold is a selection of them. What reading learns from all rows
(means and deviations to scale by, vocabularies, rare values) uses no label and is the same in all
folds; everything else is fitted on the training rows of a fold alone.
"""

import re
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from copy import copy
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, is_classifier

from linsep._system.interrupts import interruption_point, interrupts_deferred, obey
from linsep._system.threads import in_background, thread_count
from linsep.batches import Batch, joined
from linsep.catalog import of_learner
from linsep.errors import DataError, LinsepError, ParameterError, hint
from linsep.estimators.labels import (
    check_two_classes,
    plain_labels,
    source_labels,
    unknown_offsets,
)
from linsep.linear.predictions import numbers
from linsep.scoring import Scored, metrics_of, scored
from linsep.sources.arrays import ArraySource
from linsep.sources.base import Source
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
        if not isinstance(self.cv, int | np.integer) or isinstance(self.cv, bool) or self.cv < 2:
            raise ParameterError(
                f"The number of folds is {self.cv!r}",
                hint("give {} or more", cv=2), option="cv", value=self.cv,
            )  # fmt: skip
        if self.by_time and grouped:
            raise ParameterError(
                "Rows are divided by time or in whole groups, not both",
                hint("leave out {}", by_time=None), hint("{}", group=None),
                code="conflict", option="by_time",
            )  # fmt: skip
        if self.by_time and self.repeats > 1:
            raise ParameterError(
                "Rows in time order can be divided in only one way",
                hint("leave out {}", repeats=None),
                code="conflict", option="repeats", value=self.repeats,
            )  # fmt: skip

    def splits(self, rows: "LabeledRows") -> list[Split]:
        """Return the folds of some rows; DataError if they cannot be made."""
        self.check(rows.groups is not None)
        if hasattr(self.cv, "split"):
            X = np.empty((rows.size, 0))
            return [*self.cv.split(X, rows.outcomes, rows.groups)]
        self._check_rows(rows)
        splits = [*self._splitter(rows).split(np.empty((rows.size, 0)), rows.codes, rows.groups)]
        if rows.groups is not None:
            for again in range(1, self.repeats):
                other = self._replace(random_state=self.random_state + again)
                splits += other._replace(repeats=1).splits(rows)
        return splits

    def _splitter(self, rows: "LabeledRows") -> Any:
        from sklearn import model_selection as ways

        if self.by_time:
            return ways.TimeSeriesSplit(self.cv)
        how = {"n_splits": self.cv, "random_state": self.random_state}
        if rows.groups is not None:
            kind = ways.GroupKFold if rows.classes is None else ways.StratifiedGroupKFold
            return kind(shuffle=True, **how)
        if self.repeats > 1:
            kind = ways.RepeatedKFold if rows.classes is None else ways.RepeatedStratifiedKFold
            return kind(n_repeats=self.repeats, **how)
        kind = ways.KFold if rows.classes is None else ways.StratifiedKFold
        return kind(shuffle=True, **how)

    def _check_rows(self, rows: "LabeledRows") -> None:
        """Raise DataError if there are more folds than rows, groups, or rows of a class."""
        k, what, label = int(self.cv), rows.name, None
        least, unit, advice = rows.size - self.by_time, "row", "add rows"
        if least >= k and not self.by_time and rows.groups is not None:
            least, unit, advice = np.unique(rows.groups).size, "group", "add groups"
        elif least >= k and not self.by_time and rows.classes is not None:
            assert rows.codes is not None
            sizes = np.bincount(rows.codes)
            label, least = plain_labels(rows.classes)[int(sizes.argmin())], int(sizes.min())
            what, advice = (
                f"Class {label} of {rows.name}",
                "add rows of this class, or leave it out",
            )
        if least < k:
            raise DataError(
                f"{what} has {counted(least, unit)}, too few for {k} folds",
                *([hint("choose {}", cv=least)] if least > 1 else []), advice,
                code="too-few-rows", path=rows.name, value=label,
            )  # fmt: skip


class LabeledRows(NamedTuple):
    """All rows of a source with positive weight, in memory.

    Attributes
    ----------
    name : name of the source
    X : array or csr_matrix of shape (rows, features)
    outcomes : array of shape (rows,), labels or numbers
    classes, codes : the sorted labels and the number of the label of each row; None for numbers
    weights, groups, offset : arrays of shape (rows,) or None
    where : function that returns the place of a row in the data as given
    """

    name: str
    X: Any
    outcomes: np.ndarray
    classes: np.ndarray | None
    codes: np.ndarray | None
    weights: np.ndarray | None
    groups: np.ndarray | None
    offset: np.ndarray | None = None
    where: Callable[[int], str] = row_text

    @property
    def size(self) -> int:
        """Number of rows."""
        return int(self.outcomes.size)

    def part(self, chosen: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray | None]:
        """Return the features, outcomes and weights of some rows."""
        weights = None if self.weights is None else self.weights[chosen]
        return self.X[chosen], self.outcomes[chosen], weights

    @contextmanager
    def named(self, chosen: np.ndarray) -> Iterator[None]:
        """Let errors about some rows by themselves name their places in the data as given."""
        try:
            yield
        except LinsepError as problem:
            if problem.row is None:
                raise
            place = self.where(int(chosen[problem.row - 1]))
            said = row_text(problem.row - 1)
            words = re.sub(f"(?i){re.escape(said)}", lambda _: place, problem.message)
            fields = {"row": None} | getattr(place, "fields", {})
            raise problem.with_message(words, problem.hints, **fields) from None


def kept(source: Source) -> tuple[Source, Batch]:
    """Read a source; return it with its rows in memory, and these rows."""
    with interrupts_deferred():
        rows = joined(list(in_background(source.batches())))
    if source.counts and rows.groups is None:  # both rows of one go to the same fold
        rows = rows._replace(groups=np.arange(rows.size, dtype=np.uint64) // 2)
    again = copy(source)
    again.n_rows = rows.size

    def batches() -> Iterator[Batch]:
        yield rows

    vars(again)["batches"] = batches
    return again, rows


def labeled_rows(source: Source, rows: Batch, classify: bool = True) -> LabeledRows:
    """Return the rows of a source with positive weight, for classifiers or regressions of numbers.

    Raises DataError if they have no labels, or if the labels are not classes.
    """
    if classify:
        outcomes = source_labels(source, rows.y, rows.weights)
    else:
        outcomes = numbers(rows.y, source, 0)
    used = np.arange(rows.size)
    if rows.weights is not None and not rows.weights.all():
        used = np.flatnonzero(rows.weights)
        rows, outcomes = rows.rows(used), outcomes[used]
    classes = codes = None
    if classify:
        classes, codes = np.unique(outcomes, return_inverse=True)
        check_two_classes(classes, source.name)
    groups = None if rows.groups is None else np.unique(rows.groups, return_inverse=True)[1]
    return LabeledRows(
        source.name, rows.X, outcomes, classes, codes, rows.weights, groups, rows.offset,
        where=lambda row: source.where(int(used[row])),
    )  # fmt: skip


def predictions_by_fold(
    estimators: Sequence[Any], rows: LabeledRows, splits: Sequence[Split]
) -> list[list[Any]]:
    """Return the predictions of each estimator, fitted on the training rows of each fold, for the
    others.

    Parameters
    ----------
    estimators : need not be fitted, and are not changed
    rows, splits : the folds of some rows

    Returns
    -------
    For each estimator a list of :class:`Scored`, one per fold.

    Raises
    ------
    DataError
        If all training rows of a fold are of one class, or a fit fails.
    """
    _check_splits(rows, splits)
    takes = all("offset" in signature(each.fit).parameters for each in estimators)
    if rows.offset is not None and not takes:
        raise unknown_offsets(rows.name)
    kinds: dict[type, list[int]] = {}
    for number, estimator in enumerate(estimators):
        kinds.setdefault(type(estimator), []).append(number)
    found: list[list[Any]] = [[None] * len(splits) for _ in estimators]

    def work(fold: int, numbers: list[int]) -> None:
        try:
            for number in numbers:
                estimator = BaseEstimator.__sklearn_clone__(estimators[number])
                made = predicted(estimator, rows, splits[fold])
                if (threshold := getattr(estimators[number], "threshold_", None)) is not None:
                    made = made._replace(predicted=threshold.codes(made.scores))
                found[number][fold] = made
        except LinsepError as problem:
            raise problem.at(f"fold {fold + 1} of {len(splits)}: ") from None

    jobs = [(fold, numbers) for fold in range(len(splits)) for numbers in kinds.values()]
    # What a fit of a part warns of, the fit of all rows warns of, too.
    with warnings.catch_warnings(action="ignore"):
        in_threads(work, jobs)
    return found


def predicted(estimator: Any, rows: LabeledRows, split: Split) -> Any:
    """Fit an estimator to the training rows, and return its predictions for the test rows."""
    training, test = split
    X, outcomes, weights = rows.part(training)
    beside = {} if rows.offset is None else {"offset": rows.offset[training]}
    with rows.named(training):
        if getattr(estimator, "covariance", None) is not None:  # which predictions do not need
            estimator.set_params(covariance=None)
        model = estimator.fit(X, outcomes, sample_weight=weights, **beside)
    X, outcomes, weights = rows.part(test)
    offset = None if rows.offset is None else rows.offset[test]
    source = ArraySource(X, outcomes, weights, offset=offset)
    with rows.named(test):
        return _of_all_classes(scored(model, source), rows, test)


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


def _check_splits(rows: LabeledRows, splits: Sequence[Split]) -> None:
    """Raise DataError for a fold whose training rows are of one class, or without rows."""
    for number, (training, test) in enumerate(splits, 1):
        which = f"fold {number} of {len(splits)}"
        if not training.size or not test.size:
            raise DataError(
                f"{which} has no {'test' if training.size else 'training'} row of {rows.name}",
                "choose fewer folds", code="too-few-rows", path=rows.name,
            )  # fmt: skip
        if rows.codes is not None and np.ptp(rows.codes[training]) == 0:
            label = plain_labels(rows.classes)[rows.codes[training[0]]]
            raise DataError(
                f"All rows of {rows.name} to learn from in {which} are of class {label}",
                "choose fewer folds, or folds with rows of all classes",
                code="class-count", path=rows.name,
            )  # fmt: skip


def _of_all_classes(found: Any, rows: LabeledRows, test: np.ndarray) -> Any:
    """Return predictions extended to classes without a training row, and the groups."""
    groups = None if rows.groups is None else rows.groups[test]
    if rows.classes is None or rows.codes is None:
        return found._replace(groups=groups)
    k, places = rows.classes.size, np.searchsorted(rows.classes, found.classes)
    found = found._replace(truth=rows.codes[test], groups=groups)
    if places.size == k:
        return found

    def wide(values: np.ndarray, fill: float) -> np.ndarray:
        whole = np.full((len(values), k), fill)
        whole[:, places] = values
        return whole

    scores = found.scores
    scores = np.column_stack([-scores, scores]) if scores.ndim == 1 else scores
    has = found.probabilities is not None
    return found._replace(
        classes=rows.classes, predicted=places[found.predicted], positive=1,
        scores=wide(scores, -np.inf),
        probabilities=wide(found.probabilities, 0.0) if has else None,
    )  # fmt: skip


def together(parts: Sequence[Any], splits: Sequence[Split]) -> Any:
    """Return the predictions of all folds as one, in the order of the rows."""
    order = np.argsort(np.concatenate([test for _, test in splits]), kind="stable")
    return Scored.joined(parts).rows(order)


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
    return together(parts, splits)


def mean_and_error(values: np.ndarray, n_folds: int) -> tuple[float, float]:
    """Return the mean of one number per fold and its standard error.

    Repeats divide the same rows again, so the standard error is computed as for one repeat: the
    standard deviation between folds divided by the square root of their number, with the variances
    of the repeats averaged.
    """
    by_repeat = values.reshape(-1, n_folds)
    variance = by_repeat.var(axis=1, ddof=1).mean()
    return float(values.mean()), float(np.sqrt(variance / n_folds))


def cross_validated(
    estimator: Any, source: Source, batch: Batch, folds: Folds
) -> dict[str, np.ndarray]:
    """Return metrics of an estimator in each fold of the rows that :func:`kept` returned, with its
    threshold if it has one.

    Returns
    -------
    {name of a metric: array of shape (folds,)}
        The metrics of :func:`linsep.scoring.metrics_of` that are defined in all folds.
    """
    if not batch.X.shape[1]:
        raise DataError(
            "A model without features cannot be cross-validated",
            "add a term to the formula",
            hint("leave out {}", cv=None), code="no-columns", option="cv",
        )  # fmt: skip
    rows = labeled_rows(source, batch, classify=is_classifier(estimator))
    (parts,) = predictions_by_fold([estimator], rows, folds.splits(rows))
    found = [metrics_of(part) for part in parts]
    values = {name: [fold[name] for fold in found] for name in found[0]}
    return {name: np.array(each) for name, each in values.items() if None not in each}
