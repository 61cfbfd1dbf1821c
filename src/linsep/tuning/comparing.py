"""Compare estimators of any kind by cross-validation, on the same folds of rows in memory."""

from collections.abc import Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from linsep.cross_validation import (
    Folds,
    LabeledRows,
    mean_and_error,
    predictions_by_fold,
)
from linsep.scoring import metrics_of

#: metrics where less is better
ERRORS = ("log_loss", "brier", "mae", "rmse", "max_error")
#: parameters where less makes a simpler model, and where more does
LESS = ("C", "gamma", "degree", "max_iter", "budget")
MORE = ("l2", "var_smoothing")
#: of one fold that differs, the mean is the standard error up to rounding
ROUNDING = 1e-9


class Candidate(NamedTuple):
    """A model to compare.

    Attributes
    ----------
    learner : its name on the command line
    values : the values of the parameters that differ within this learner
    estimator : an estimator with these
    """

    learner: str
    values: dict[str, Any]
    estimator: Any


class Rated(NamedTuple):
    """A candidate and the metric that it reached in each fold.

    Attributes
    ----------
    candidate : Candidate
    values : array of shape (folds,)
    mean, error : of these, and the standard error
    behind, behind_error : how much worse it is than the best in the same folds, and the standard
        error of that difference
    """

    candidate: Candidate
    values: np.ndarray
    mean: float
    error: float
    behind: float
    behind_error: float

    @property
    def near(self) -> bool:
        """Whether it is within one standard error of the best (the standard error of the
        difference)."""
        return self.behind <= self.behind_error * (1 + ROUNDING)


class Comparison(NamedTuple):
    """Candidates, the best first.

    Attributes
    ----------
    ranked : list of Rated
    simplest : the simplest candidate within one standard error of the best
    metric : name of the metric
    folds : Folds
    seconds : time of all fits
    """

    ranked: list[Rated]
    simplest: Rated
    metric: str
    folds: Folds
    seconds: float


def compare(
    candidates: Sequence[Candidate], rows: LabeledRows, folds: Folds, metric: str
) -> Comparison:
    """Return the metrics of candidates in folds of some rows.

    Parameters
    ----------
    candidates : the simpler learners first
    rows : all rows
    folds : how they are divided, with a number of folds
    metric : a name of :func:`linsep.scoring.metrics_of`

    Raises
    ------
    DataError, ParameterError
        If the rows cannot be divided, a fit fails, or the metric is not defined.
    """
    started, splits = perf_counter(), folds.splits(rows)
    estimators = [one.estimator for one in candidates]
    found = predictions_by_fold(estimators, rows, splits)
    sign = -1.0 if metric in ERRORS else 1.0
    values = [
        np.array([metrics_of(part, [metric])[metric] for part in parts], dtype=float)
        for parts in found
    ]
    best = max(values, key=lambda each: sign * each.mean())
    ranked = []
    for candidate, each in zip(candidates, values, strict=True):
        of_itself = mean_and_error(each, folds.cv)
        behind = mean_and_error(sign * (best - each), folds.cv)
        ranked.append(Rated(candidate, each, *of_itself, *behind))
    ranked.sort(key=lambda rated: rated.behind)
    order = list(dict.fromkeys(candidate.learner for candidate in candidates))
    near = [rated for rated in ranked if rated.near]
    simplest = min(near, key=lambda rated: complexity(rated.candidate, order))
    return Comparison(ranked, simplest, metric, folds, perf_counter() - started)


def complexity(candidate: Candidate, learners: Sequence[str]) -> tuple[Any, ...]:
    """Return the sort key of candidates, from the simplest to the most complex.

    A weight per feature is simpler than a weight per support vector; then learners are in the order
    given. Within a learner, a larger penalty is simpler, and a smaller C, gamma, degree, budget or
    number of passes; the first such parameter decides. Sorting is stable.
    """
    sizes = [
        float(value) if name in LESS else -float(value)
        for name, value in candidate.values.items()
        if name in (*LESS, *MORE) and isinstance(value, int | float)
    ]
    dual = hasattr(type(candidate.estimator), "support_vectors_")
    return dual, learners.index(candidate.learner), sizes
