"""Cross-validation: folds of rows in memory, and predictions for rows that were not used for
training.

Rows are read and parsed once, and a fold is a selection of them. What reading learns from all rows
(means and deviations to scale by, vocabularies, rare values) uses no label and is the same in all
folds; everything else is fitted on the training rows of a fold alone.
"""

import warnings
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, is_classifier

from linsep._system.interrupts import interrupts_deferred
from linsep._system.threads import in_background, thread_count
from linsep.batches import Batch, joined
from linsep.errors import DataError, LinsepError, ParameterError, hint, refuse
from linsep.estimators.labels import check_two_classes, plain_labels, source_labels
from linsep.linear.predictions import numbers
from linsep.scoring import Scored, metrics_of, scored
from linsep.sources.arrays import ArraySource
from linsep.sources.base import Source
from linsep.steps import of_learner

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
        from sklearn import model_selection as ways

        groups, codes = rows.batch.groups, rows.codes
        self.check(groups is not None)
        if hasattr(self.cv, "split"):
            ones, codes = [self.cv], rows.batch.y
        elif self.by_time:
            ones = [ways.TimeSeriesSplit(self.cv)]
        elif groups is None:
            one: Any = ways.RepeatedKFold if codes is None else ways.RepeatedStratifiedKFold
            how = {"n_splits": self.cv, "n_repeats": self.repeats}
            ones = [one(**how, random_state=self.random_state)]
        else:
            one = ways.GroupKFold if codes is None else ways.StratifiedGroupKFold
            seeds = range(self.random_state, self.random_state + self.repeats)
            ones = [one(self.cv, shuffle=True, random_state=seed) for seed in seeds]
        self._check_size(rows)
        X = np.empty((rows.size, 0))
        return [split for one in ones for split in one.split(X, codes, groups)]

    def _check_size(self, rows: "LabeledRows") -> None:
        least, unit = rows.size - self.by_time, "rows"
        if rows.batch.groups is not None:
            least, unit = np.unique(rows.batch.groups).size, "groups"
        elif rows.codes is not None and not self.by_time:
            sizes = np.bincount(rows.codes)
            rarest = int(sizes.argmin())
            least, unit = sizes[rarest], f"rows of class {plain_labels(rows.classes)[rarest]}"
        if not hasattr(self.cv, "split") and least < self.cv:
            raise DataError(
                f"{rows.name} has {least:,} {unit}, too few for {self.cv} folds",
                hint("choose fewer with {}", cv=None), "add rows",
                code="too-few-rows", path=rows.name,
            )  # fmt: skip


class LabeledRows(NamedTuple):
    """All rows of a source with positive weight, in memory: their labels or numbers are ``y`` of
    the batch; ``codes`` count the sorted ``classes``, None for numbers. ``where`` returns the place
    of a row in the data as given.
    """

    name: str
    batch: Batch
    classes: np.ndarray | None
    codes: np.ndarray | None
    where: Callable[[int], str]

    @property
    def size(self) -> int:
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
) -> list[list[Scored]]:
    """Return, for each estimator, the predictions of the rows of each fold by a copy that was
    fitted on the others. Raises DataError if a fit fails, as one of rows of one class.
    """

    def work(estimator: Any, fold: int) -> Scored:
        one, (training, test) = BaseEstimator.__sklearn_clone__(estimator), splits[fold]
        if getattr(one, "covariance", None) is not None:  # which predictions do not need
            one.set_params(covariance=None)
        try:
            found = scored(one.fit(Fold(rows, training)), Fold(rows, test))
        except LinsepError as problem:
            raise problem.at(f"fold {fold + 1} of {len(splits)}: ") from None
        found = _of_all_classes(found, rows, test)
        if (threshold := getattr(estimator, "threshold_", None)) is not None:
            found = found._replace(predicted=threshold.codes(found.scores))
        groups = rows.batch.groups
        return found._replace(groups=None if groups is None else groups[test])

    # What a fit of a part warns of, the fit of all rows warns of, too.
    with warnings.catch_warnings(action="ignore"):
        found = Parallel(thread_count(), require="sharedmem")(
            delayed(work)(estimator, fold)
            for fold in range(len(splits))
            for estimator in estimators
        )
    return [found[k :: len(estimators)] for k in range(len(estimators))]


def _of_all_classes(found: Scored, rows: LabeledRows, test: np.ndarray) -> Scored:
    if rows.classes is None or rows.codes is None or found.n_classes == rows.classes.size:
        return found
    places = np.searchsorted(rows.classes, found.classes)
    scores, shares = found.scores, found.probabilities
    scores = np.column_stack([-scores, scores]) if scores.ndim == 1 else scores
    size = test.size, rows.classes.size
    wide, whole = np.full(size, -np.inf), None if shares is None else np.zeros(size)
    wide[:, places] = scores
    if whole is not None:
        whole[:, places] = shares
    return found._replace(
        classes=rows.classes, truth=rows.codes[test], predicted=places[found.predicted],
        scores=wide, probabilities=whole, positive=1,
    )  # fmt: skip


@of_learner
def out_of_fold(estimator: Any, source: Source, folds: Folds | None = None) -> Scored:
    """Return out-of-fold predictions, a :class:`linsep.scoring.Scored`, for every row of a source
    with a weight, in their order; ``folds`` are five by default.

    With repeats, each row occurs once per repeat; with ``by_time`` the first rows are missing.
    Raises DataError or ParameterError if the rows cannot be divided in this way, or a fit fails.
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
    variance = values.reshape(-1, n_folds).var(axis=1, ddof=1).mean()
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
