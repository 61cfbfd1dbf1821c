"""Compare estimators of any kind by cross-validation, on the same folds of rows in memory."""

from collections.abc import Sequence
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
    """A model to compare: its name on the command line, the ``values`` of parameters that differ
    within this learner, and an estimator with these.
    """

    learner: str
    values: dict[str, Any]
    estimator: Any


class Rated(NamedTuple):
    """A candidate, its metric in each fold, their mean and standard error, and how much worse it is
    than the best in the same folds, with the standard error of that difference.
    """

    candidate: Candidate
    values: np.ndarray
    mean: float
    error: float
    behind: float
    behind_error: float

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        return {
            "learner": self.candidate.learner, "parameters": self.candidate.values,
            "mean": self.mean, "standard_error": self.error, "behind": self.behind,
            "behind_standard_error": self.behind_error, "folds": self.values.tolist(),
        }  # fmt: skip


def compare(
    candidates: Sequence[Candidate], rows: LabeledRows, folds: Folds, metric: str, simplest: bool
) -> list[Rated]:
    """Return candidates, the simpler learners given first, from the best to the worst in folds of
    some rows by a metric of :func:`linsep.scoring.metrics_of`; the first is instead the
    ``simplest`` within one standard error of the best (of the difference), if asked for.
    """
    splits = folds.splits(rows)
    found = predictions_by_fold([one.estimator for one in candidates], rows, splits)
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
    if simplest:
        order = list(dict.fromkeys(candidate.learner for candidate in candidates))
        near = (one for one in ranked if one.behind <= one.behind_error * (1 + ROUNDING))
        first = min(near, key=lambda rated: complexity(rated.candidate, order))
        ranked.sort(key=lambda rated: rated is not first)
    return ranked


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
