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


def compare(
    candidates: Sequence[Candidate], rows: LabeledRows, folds: Folds, metric: str, simplest: bool
) -> list[tuple[Candidate, dict[str, Any]]]:
    """Return candidates, the simpler learners given first, from the best to the worst in folds of
    some rows by a metric of :func:`linsep.scoring.metrics_of`, each with what was found, as plain
    JSON; the first is instead the ``simplest`` within one standard error of the best (of the
    difference), if asked for.
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
        mean, error = mean_and_error(each, folds.cv)
        behind, behind_error = mean_and_error(sign * (best - each), folds.cv)
        ranked.append((candidate, {
            "learner": candidate.learner, "parameters": candidate.values, "mean": mean,
            "standard_error": error, "behind": behind, "behind_standard_error": behind_error,
            "folds": each.tolist(),
        }))  # fmt: skip
    ranked.sort(key=lambda one: one[1]["behind"])
    if simplest:
        order = list(dict.fromkeys(candidate.learner for candidate in candidates))
        near = (
            candidate
            for candidate, found in ranked
            if found["behind"] <= found["behind_standard_error"] * (1 + ROUNDING)
        )
        first = min(near, key=lambda candidate: complexity(candidate, order))
        ranked.sort(key=lambda one: one[0] is not first)
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
